/* Lists of runs: the plan, what is stored in the folder, and the state of each run. */
#include "experiments/kit/run/runs.h"

#include "core/io/file.h"
#include "core/io/safetensors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST "study.json"
#define PACKED "runs.jsonl"

/* ---- words ---- */

void cp_words_add_list(cp_words *w, const char *format, va_list values) {
    va_list again;
    va_copy(again, values);
    int    length = vsnprintf(NULL, 0, format, values);
    char **more = w->failed ? NULL : realloc(w->at, ((size_t)w->count + 2) * sizeof *more);
    char  *word = malloc((size_t)length + 1);
    if (more) w->at = more;
    if (more && word) {
        vsnprintf(word, (size_t)length + 1, format, again);
        more[w->count++] = word;
        more[w->count] = NULL;
    } else {
        free(word);
        w->failed = true;
    }
    va_end(again);
}

void cp_words_add(cp_words *w, const char *format, ...) {
    va_list values;
    va_start(values, format);
    cp_words_add_list(w, format, values);
    va_end(values);
}

bool cp_words_have(const cp_words *w, const char *word) {
    for (int i = 0; i < w->count; i++)
        if (strcmp(w->at[i], word) == 0) return true;
    return false;
}

void cp_words_free(cp_words *w) {
    for (int i = 0; i < w->count; i++) free(w->at[i]);
    free(w->at);
    *w = (cp_words){0};
}

bool cp_command_is_subcommand(const cp_options *o) { return strcmp(cp_options_called(o), cp_options_command(o)->name) != 0; }

static bool is_among(const char *word, const char *const *words) {
    while (*words && strcmp(*words, word) != 0) words++;
    return *words != NULL;
}

void cp_words_add_option(cp_words *w, const cp_options *o, const cp_option *option) {
    if (option->kind == CP_OPTION_FLAG)
        cp_words_add(w, "--%s", option->name);
    else
        cp_words_add(w, "--%s=%s", option->name, cp_option_text(o, option->name));
}

void cp_words_add_command(cp_words *w, const cp_options *o, const char *const *without) {
    const cp_option *option;
    if (cp_command_is_subcommand(o)) cp_words_add(w, "%s", cp_options_command(o)->name);
    for (int i = 0; i < cp_argument_count(o); i++) cp_words_add(w, "%s", cp_argument(o, i));
    for (int i = 0; (option = cp_options_at(o, i)); i++) {
        if (cp_option_given(o, option->name) && !is_among(option->name, without)) cp_words_add_option(w, o, option);
    }
}

void cp_shell_quote(cp_bytes *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        cp_bytes_text(out, word);
        return;
    }
    cp_bytes_text(out, "'");
    for (; *word; word++) cp_bytes_text(out, *word == '\'' ? "'\\''" : (char[]){*word, '\0'});
    cp_bytes_text(out, "'");
}

void cp_words_put(const cp_words *w, cp_json_writer *writer, const char *key) {
    cp_json_put_strings(writer, key, (const char *const *)w->at, (size_t)w->count);
}

void cp_words_put_line(const cp_words *w, cp_bytes *out) {
    for (int i = 0; i < w->count; i++) {
        cp_shell_quote(out, w->at[i]);
        cp_bytes_text(out, i + 1 < w->count ? " " : "\n");
    }
    out->failed = out->failed || w->failed;
}

/* ---- the list ---- */

cp_file_path cp_runs_folder(const cp_runs *r, int i) {
    cp_file_path path;
    snprintf(path.s, sizeof path.s, "%s/runs/%.250s", r->folder, r->at[i].name);
    return path;
}

cp_file_path cp_runs_failure_path(const cp_runs *r, int i) {
    cp_file_path path;
    snprintf(path.s, sizeof path.s, "%s/failed/%.250s.txt", r->folder, r->at[i].name);
    return path;
}

cp_file_path cp_runs_file(const cp_runs *r, int i, const char *file) { return cp_folder_path(cp_runs_folder(r, i).s, file); }

static void find_program(cp_runs *r) {
    r->executable = "/proc/self/exe";
    ssize_t length = readlink(r->executable, r->program, sizeof r->program - 1);
    r->program[length > 0 ? length : 0] = '\0';
}

/* ---- runs.jsonl ---- */

static int compare_names(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

struct cp_packed_run {
    char *name;
    char *config, *result; /* JSON texts */
    bool  diverged;
};

static char *text_of(const cp_json *value) {
    cp_json_writer w = {0};
    cp_json_put_copy(&w, NULL, value);
    bool  ok = cp_json_writer_finish(&w, NULL);
    char *text = ok ? strdup((const char *)w.out.data) : NULL;
    cp_json_writer_free(&w);
    return text;
}

static bool is_object(const cp_json *json) { return json && json->kind == CP_JSON_OBJECT; }

static int compare_packed(const void *a, const void *b) {
    return strcmp(((const cp_packed_run *)a)->name, ((const cp_packed_run *)b)->name);
}

static bool add_packed(cp_runs *r, const cp_json *line, const char *where, cp_status *status) {
    const char    *name = cp_json_string(cp_json_get(line, "name"), "");
    const cp_json *config = cp_json_get(line, "config"), *result = cp_json_get(line, "result");
    if (!*name || !is_object(config) || !is_object(result) || !result->first)
        return cp_damaged(status, "%s: expected a finished run: {\"name\": ..., \"config\": {...}, \"result\": {...}}", where);
    cp_packed_run *more = realloc(r->packed, ((size_t)r->packed_count + 1) * sizeof *more);
    if (!more) return cp_fail(status, "%s: not enough memory", where);
    r->packed = more;
    r->packed[r->packed_count] = (cp_packed_run){.name = strdup(name),
                                                 .config = text_of(config),
                                                 .result = text_of(result),
                                                 .diverged = cp_json_bool(cp_json_get(result, "diverged"), false)};
    const cp_packed_run *added = &r->packed[r->packed_count++];
    return (added->name && added->config && added->result) || cp_fail(status, "%s: not enough memory", where);
}

static bool load_packed(cp_runs *r, cp_status *status) {
    cp_file_path path = cp_folder_path(r->folder, PACKED);
    cp_bytes     text = {0};
    size_t       at = 0;
    bool         ok = true;
    if (!cp_file_exists(path.s)) return true;
    if (!cp_file_read(path.s, CP_RUN_FILE_LIMIT, &text, status)) return false;
    for (cp_line line; ok && cp_bytes_line(&text, &at, &line);) {
        char      where[sizeof path.s + 32];
        cp_status damage = {0};
        snprintf(where, sizeof where, "%s, line %d", path.s, r->packed_count + 1);
        cp_json *json = cp_json_parse(line.text, line.length, where, &damage);
        ok = json && add_packed(r, json, where, &damage);
        if (!ok) cp_damaged(status, "%.400s; restore the file, or remove the line: then its run is made again", damage.message);
        cp_json_free(json);
    }
    if (ok && r->packed_count) qsort(r->packed, (size_t)r->packed_count, sizeof *r->packed, compare_packed);
    for (int i = 1; ok && i < r->packed_count; i++)
        if (compare_packed(&r->packed[i - 1], &r->packed[i]) == 0)
            ok = cp_damaged(status, "%.300s: the run %.100s appears twice; remove one of the two lines", path.s, r->packed[i].name);
    cp_bytes_free(&text);
    return ok;
}

static cp_file_path stored_file(const cp_runs *r, const char *name, const char *file) {
    cp_file_path path;
    int          length = snprintf(path.s, sizeof path.s, "%s/runs/%s/%s", r->folder, name, file);
    if (length >= (int)sizeof path.s) *path.s = '\0';
    return path;
}

/* NULL for a run that has a folder: only the folder counts. */
static const cp_packed_run *find_packed(const cp_runs *r, const char *name) {
    const cp_packed_run  wanted = {.name = (char *)name};
    const cp_packed_run *found =
        r->packed_count ? bsearch(&wanted, r->packed, (size_t)r->packed_count, sizeof wanted, compare_packed) : NULL;
    return found && !cp_file_exists(stored_file(r, name, "").s) ? found : NULL;
}

cp_json *cp_runs_read(const cp_runs *r, const char *name, const char *file) {
    const cp_packed_run *packed = find_packed(r, name);
    const char          *text = !packed ? NULL : strcmp(file, CP_RUN_CONFIG) == 0 ? packed->config : packed->result;
    if (packed) return cp_json_parse(text, strlen(text), file, NULL);
    return cp_json_read(stored_file(r, name, file).s, NULL);
}

cp_words cp_runs_stored(const cp_runs *r) {
    cp_words       names = {0};
    DIR           *handle = opendir(cp_folder_path(r->folder, "runs").s);
    struct dirent *entry;
    while (handle && (entry = readdir(handle)))
        if (entry->d_name[0] != '.' && !strstr(entry->d_name, ".damaged-")) cp_words_add(&names, "%s", entry->d_name);
    if (handle) closedir(handle);
    for (int i = 0; i < r->packed_count; i++)
        if (find_packed(r, r->packed[i].name)) cp_words_add(&names, "%s", r->packed[i].name);
    return names;
}

/* One line of runs.jsonl; false for a run that is not finished. */
static bool put_packed(const cp_runs *r, const char *name, cp_json_writer *w) {
    cp_json *config = cp_runs_read(r, name, CP_RUN_CONFIG), *result = cp_runs_read(r, name, CP_RUN_RESULT);
    bool     finished = is_object(config) && is_object(result) && result->first;
    if (finished) {
        cp_json_put_object(w, NULL);
        cp_json_put_string(w, "name", name);
        cp_json_put_copy(w, "config", config);
        cp_json_put_copy(w, "result", result);
        cp_json_put_end(w);
    }
    cp_json_free(config);
    cp_json_free(result);
    return finished;
}

/* The lines of runs without a folder are kept. */
static bool pack(const cp_runs *r, const char *path, int *finished, int *others, cp_status *status) {
    cp_words        names = cp_runs_stored(r);
    cp_file_writer *file = names.failed ? NULL : cp_file_writer_new(path, status);
    bool            ok = file || cp_fail(status, "not enough memory");
    if (names.count) qsort(names.at, (size_t)names.count, sizeof *names.at, compare_names);
    for (int i = 0; ok && i < names.count; i++) {
        cp_json_writer line = {0};
        if (!put_packed(r, names.at[i], &line)) {
            *others += cp_file_exists(stored_file(r, names.at[i], CP_RUN_CONFIG).s);
            continue;
        }
        ok = cp_json_writer_finish(&line, status);
        if (ok) cp_file_writer_append(file, line.out.data, line.out.size);
        if (ok) cp_file_writer_append(file, "\n", 1);
        cp_json_writer_free(&line);
        ++*finished;
    }
    if (ok && !*finished) ok = cp_fail(status, "%.300s holds no finished runs", r->folder);
    cp_words_free(&names);
    if (ok) return cp_file_writer_commit(file, status);
    cp_file_writer_cancel(file);
    return false;
}

int cp_runs_pack(const cp_options *o) {
    cp_status    status = {0};
    int          finished = 0, others = 0;
    cp_runs     *r = cp_runs_open(cp_option_text(o, "pack"), &status);
    cp_file_path path = cp_folder_path(r ? r->folder : "", PACKED);
    bool         ok = r && pack(r, path.s, &finished, &others, &status);
    if (ok) printf("%s: %d finished run%s\n", path.s, finished, finished == 1 ? "" : "s");
    if (ok && others) printf("%d run%s not finished and not in it\n", others, others == 1 ? " is" : "s are");
    if (!ok) cp_complain(o, "%s", status.message);
    cp_runs_free(r);
    return ok ? CP_EXIT_OK : CP_EXIT_FAILED;
}

/* ---- opening and planning ---- */

cp_runs *cp_runs_open(const char *folder, cp_status *status) {
    cp_runs *r = calloc(1, sizeof *r);
    if (!r) return cp_null(cp_fail(status, "not enough memory"));
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    snprintf(r->folder, sizeof r->folder, "%.*s", (int)length, folder);
    find_program(r);
    bool ok = length < sizeof r->folder || cp_fail(status, "%.100s...: the path is too long", folder);
    if (ok && load_packed(r, status)) return r;
    cp_runs_free(r);
    return NULL;
}

cp_runs *cp_runs_new(const char *folder, cp_status *status) {
    cp_runs *r = cp_runs_open(folder, status);
    if (r && cp_folder_make(r->folder, status)) return r;
    cp_runs_free(r);
    return NULL;
}

void cp_runs_free(cp_runs *r) {
    if (!r) return;
    for (int i = 0; i < r->count; i++) {
        free(r->at[i].name);
        free(r->at[i].group);
        cp_words_free(&r->at[i].words);
    }
    for (int i = 0; i < r->packed_count; i++) {
        free(r->packed[i].name);
        free(r->packed[i].config);
        free(r->packed[i].result);
    }
    free(r->at);
    free(r->packed);
    free(r);
}

bool cp_runs_add(cp_runs *r, const char *name, const char *group, cp_words *words, cp_status *status) {
    cp_planned_run *more = realloc(r->at, ((size_t)r->count + 1) * sizeof *more);
    if (more) r->at = more;
    cp_planned_run run = {.name = strdup(name), .group = strdup(group), .words = *words};
    bool           ok = more && run.name && run.group && !words->failed;
    *words = (cp_words){0};
    if (ok) {
        r->at[r->count++] = run;
        return true;
    }
    free(run.name);
    free(run.group);
    cp_words_free(&run.words);
    return cp_fail(status, "not enough memory for %d runs", r->count + 1);
}

static const char **sorted_names(const cp_runs *r) {
    const char **names = malloc(((size_t)r->count + 1) * sizeof *names);
    for (int i = 0; names && i < r->count; i++) names[i] = r->at[i].name;
    if (names) qsort(names, (size_t)r->count, sizeof *names, compare_names);
    return names;
}

int cp_runs_count_others(const cp_runs *r) {
    const char **planned = sorted_names(r);
    cp_words     stored = cp_runs_stored(r);
    int          others = 0;
    for (int i = 0; planned && i < stored.count; i++) {
        others += !bsearch(&stored.at[i], planned, (size_t)r->count, sizeof *planned, compare_names) &&
                  (cp_file_exists(stored_file(r, stored.at[i], CP_RUN_CONFIG).s) || find_packed(r, stored.at[i]));
    }
    cp_words_free(&stored);
    free(planned);
    return others;
}

static bool names_differ(const cp_runs *r, cp_status *status) {
    const char **names = sorted_names(r);
    bool         ok = names || cp_fail(status, "not enough memory for %d runs", r->count);
    for (int i = 1; ok && i < r->count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            ok = cp_fail(status,
                         "two runs would both be called %.250s, for which long values are cut and characters such as / "
                         "become _; give values or files that differ in more, or make two studies of them",
                         names[i]);
    free(names);
    return ok;
}

/* A study that was started, runs of it that were copied here, or nothing. A runs/ alone may hold runs of something else. */
static bool holds_study_or_nothing(const cp_runs *r, cp_status *status) {
    DIR *handle = opendir(r->folder);
    bool ok = true;
    if (!handle) return cp_fail(status, "%.300s cannot be read: %s", r->folder, strerror(errno));
    for (struct dirent *entry; ok && (entry = readdir(handle));) ok = entry->d_name[0] == '.';
    closedir(handle);
    ok = ok || cp_file_exists(cp_folder_path(r->folder, LIST).s) || cp_file_exists(cp_folder_path(r->folder, PACKED).s);
    for (int i = 0; !ok && i < r->count; i++) ok = cp_file_exists(cp_runs_folder(r, i).s);
    return ok || cp_fail(status, "%.300s is not empty and is not a study (no %s, and none of these runs); give another --out",
                         r->folder, LIST);
}

bool cp_runs_check(const cp_runs *r, cp_status *status) { return names_differ(r, status) && holds_study_or_nothing(r, status); }

bool cp_runs_check_lines(const cp_runs *r, cp_status *status) {
    const char *broken = strchr(r->folder, '\n') ? r->folder : NULL;
    for (int i = 0; i < r->count; i++)
        for (int k = 0; k < r->at[i].words.count; k++)
            if (strchr(r->at[i].words.at[k], '\n')) broken = r->at[i].words.at[k];
    return !broken || cp_fail(status, "\"%.200s\" has a newline, which --list and --slurm cannot have in a command", broken);
}

bool cp_runs_save(const cp_runs *r, cp_status *status) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_array(&w, "runs");
    for (int i = 0; i < r->count; i++) {
        cp_json_put_object(&w, NULL);
        cp_json_put_string(&w, "name", r->at[i].name);
        cp_json_put_string(&w, "group", r->at[i].group);
        cp_words_put(&r->at[i].words, &w, "command");
        if (r->at[i].without_data) cp_json_put_bool(&w, "without_data", true);
        cp_json_put_end(&w);
    }
    cp_json_put_end(&w);
    cp_json_put_end(&w);
    return cp_json_writer_save(&w, cp_folder_path(r->folder, LIST).s, status);
}

cp_runs *cp_runs_load(const char *folder, cp_status *status) {
    cp_runs *r = cp_runs_open(folder, status);
    cp_json *list = NULL;
    bool     ok = r != NULL;
    if (ok && !cp_file_exists(cp_folder_path(r->folder, LIST).s))
        ok = cp_fail(status, "%.300s is not a study: it has no %s", r->folder, LIST);
    ok = ok && (list = cp_json_read(cp_folder_path(r->folder, LIST).s, status));
    const cp_json *runs = cp_json_get(list, "runs");
    for (const cp_json *m = runs ? runs->first : NULL; ok && m; m = m->next) {
        const char    *name = cp_json_string(cp_json_get(m, "name"), "");
        const cp_json *command = cp_json_get(m, "command");
        cp_words       words = {0};
        for (const cp_json *word = command ? command->first : NULL; word; word = word->next)
            cp_words_add(&words, "%s", cp_json_string(word, ""));
        ok = cp_runs_add(r, name, cp_json_string(cp_json_get(m, "group"), name), &words, status);
        if (ok) r->at[r->count - 1].without_data = cp_json_bool(cp_json_get(m, "without_data"), false);
    }
    cp_json_free(list);
    if (ok) return r;
    cp_runs_free(r);
    return NULL;
}

cp_words cp_runs_command(const cp_runs *r, int i, int threads) {
    cp_words words = {0};
    cp_words_add(&words, "%s", r->program);
    for (int k = 0; k < r->at[i].words.count; k++) cp_words_add(&words, "%s", r->at[i].words.at[k]);
    cp_words_add(&words, "--out=%s", cp_runs_folder(r, i).s);
    cp_words_add(&words, "--threads=%d", threads > 0 ? threads : 1);
    cp_words_add(&words, "--quiet");
    return words;
}

/* ---- the state of runs ---- */

/* Asks for the lock without taking it. */
static bool is_held(const cp_runs *r, int i) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int          log = open(cp_runs_file(r, i, CP_RUN_LOG).s, O_RDONLY | O_CLOEXEC);
    bool         held = log >= 0 && fcntl(log, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (log >= 0) close(log);
    return held;
}

/* Damage is text that is not a JSON object. A file that cannot be read may be whole; the run reports the reason. */
static cp_json *read_object(const char *path, bool *damaged) {
    cp_status status = {0};
    cp_json  *json = cp_json_read(path, &status);
    *damaged = json ? json->kind != CP_JSON_OBJECT : status.kind == CP_STATUS_DAMAGED;
    return json;
}

static bool is_damaged(const char *path) {
    bool damaged;
    cp_json_free(read_object(path, &damaged));
    return damaged;
}

/* A partial last line is not damage: a process that was killed may have left it. */
static bool is_damaged_log(const char *path) {
    cp_bytes text = {0};
    bool     whole = true;
    if (!cp_file_read(path, CP_RUN_FILE_LIMIT, &text, NULL)) return false;
    size_t at = 0;
    for (cp_line line; whole && cp_bytes_line(&text, &at, &line) && line.whole;) {
        cp_json *json = cp_json_parse(line.text, line.length, path, NULL);
        whole = json != NULL;
        cp_json_free(json);
    }
    cp_bytes_free(&text);
    return !whole;
}

cp_run_stage cp_runs_stage(const cp_runs *r, int i) {
    const cp_packed_run *packed = find_packed(r, r->at[i].name);
    if (packed) return packed->diverged ? CP_STAGE_DIVERGED : CP_STAGE_DONE;
    cp_file_path config = cp_runs_file(r, i, CP_RUN_CONFIG), result = cp_runs_file(r, i, CP_RUN_RESULT),
                 log = cp_runs_file(r, i, CP_RUN_LOG);
    bool ended = cp_file_exists(config.s) && cp_file_exists(result.s);
    if (ended) {
        bool     damaged, there, diverged;
        cp_json *found = read_object(result.s, &damaged);
        there = found, diverged = cp_json_bool(cp_json_get(found, "diverged"), false);
        damaged = damaged || (there && !found->first); /* an empty one is damage too */
        cp_json_free(found);
        if (damaged || is_damaged(config.s)) return CP_STAGE_DAMAGED;
        if (there) return diverged ? CP_STAGE_DIVERGED : CP_STAGE_DONE;
    }
    if (is_held(r, i)) return CP_STAGE_RUNNING;
    if (!ended && cp_file_exists(result.s))
        return cp_file_exists(config.s) ? cp_runs_stage(r, i) : CP_STAGE_DAMAGED; /* it has just ended, or is damaged */
    if (is_damaged(config.s) || is_damaged_log(log.s)) return CP_STAGE_DAMAGED;
    return cp_file_exists(cp_runs_failure_path(r, i).s) ? CP_STAGE_FAILED : CP_STAGE_PENDING;
}

bool cp_runs_has_result(cp_run_stage stage) { return stage == CP_STAGE_DONE || stage == CP_STAGE_DIVERGED; }

void cp_runs_forget_failure(const cp_runs *r, int i) {
    if (unlink(cp_runs_failure_path(r, i).s) == 0) rmdir(cp_folder_path(r->folder, "failed").s); /* once it is empty */
}

bool cp_runs_is_pending(const cp_runs *r, int i) {
    cp_run_stage stage = r->at[i].without_data ? CP_STAGE_DONE : cp_runs_stage(r, i);
    return stage == CP_STAGE_PENDING || stage == CP_STAGE_FAILED;
}

/* ---- damage ---- */

/* Whether weights or a checkpoint are cut off or changed, here or in a folder of this one: no run could continue from them. */
static bool has_damaged_weights(const char *folder, int depth) {
    DIR *handle = opendir(folder);
    bool damaged = false;
    for (struct dirent *entry; handle && !damaged && (entry = readdir(handle));) {
        cp_status   status = {0};
        struct stat info;
        char        path[1300];
        snprintf(path, sizeof path, "%.1000s/%.255s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || stat(path, &info) != 0) continue;
        if (S_ISDIR(info.st_mode)) {
            damaged = depth > 0 && has_damaged_weights(path, depth - 1);
        } else if (cp_path_ends_in(path, ".safetensors")) {
            cp_st_free(cp_st_read(path, &status));
            damaged = status.kind == CP_STATUS_DAMAGED;
        }
    }
    if (handle) closedir(handle);
    return damaged;
}

static bool needs_repair(const cp_runs *r, int i) {
    return cp_runs_stage(r, i) == CP_STAGE_DAMAGED || (cp_runs_is_pending(r, i) && has_damaged_weights(cp_runs_folder(r, i).s, 1));
}

static bool move_aside(const cp_runs *r, int i, cp_status *status) {
    cp_file_path from = cp_runs_folder(r, i), to;
    int          number = 1;
    do snprintf(to.s, sizeof to.s, "%.900s.damaged-%d", from.s, number);
    while (cp_file_exists(to.s) && ++number < 1000);
    if (rename(from.s, to.s) != 0)
        return cp_fail(status, "%.300s is damaged and cannot be moved aside: %s", from.s, strerror(errno));
    fprintf(stderr, "%s is damaged; it is made again, and what was there is now %s\n", from.s, to.s);
    return true;
}

/* One process at a time: the new run of one must not be taken for the damaged run of another. */
bool cp_runs_quarantine(const cp_runs *r, cp_status *status) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    cp_file_path path = cp_folder_path(r->folder, ".lock");
    int          file = open(path.s, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return cp_fail(status, "%.300s cannot be opened: %s; choose an --out that can be written", path.s, strerror(errno));
    bool ok = fcntl(file, F_SETLKW, &lock) == 0 ||
              cp_fail(status,
                      "%.300s cannot be locked (%s), so two processes might make the same run; choose an --out on a file "
                      "system with locks",
                      path.s, strerror(errno));
    for (int i = 0; ok && i < r->count; i++)
        if (!r->at[i].without_data && needs_repair(r, i)) ok = move_aside(r, i, status);
    close(file);
    return ok;
}
