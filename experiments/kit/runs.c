/* Lists of runs: what is planned, and how far it is. */
#include "experiments/kit/runs.h"

#include "core/io/file.h"
#include "experiments/kit/run_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST "study.json"

/* ---- words ---- */

void cp_words_add(cp_words *w, const char *format, ...) {
    va_list values, again;
    va_start(values, format);
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
    va_end(values);
}

void cp_words_free(cp_words *w) {
    for (int i = 0; i < w->count; i++) free(w->at[i]);
    free(w->at);
    *w = (cp_words){0};
}

bool cp_command_is_part(const cp_options *o) {
    return strcmp(cp_options_called(o), cp_options_command(o)->name) != 0;
}

static bool is_among(const char *word, const char *const *words) {
    while (*words && strcmp(*words, word) != 0) words++;
    return *words != NULL;
}

void cp_words_add_command(cp_words *w, const cp_options *o, const char *const *without) {
    const cp_option *option;
    if (cp_command_is_part(o)) cp_words_add(w, "%s", cp_options_command(o)->name);
    for (int i = 0; i < cp_argument_count(o); i++) cp_words_add(w, "%s", cp_argument(o, i));
    for (int i = 0; (option = cp_options_at(o, i)); i++) {
        if (!cp_option_given(o, option->name) || is_among(option->name, without)) continue;
        if (option->kind == CP_OPTION_FLAG)
            cp_words_add(w, "--%s", option->name);
        else
            cp_words_add(w, "--%s=%s", option->name, cp_option_text(o, option->name));
    }
}

void cp_words_quote(cp_bytes *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        cp_bytes_text(out, word);
        return;
    }
    cp_bytes_text(out, "'");
    for (; *word; word++) cp_bytes_text(out, *word == '\'' ? "'\\''" : (char[]){*word, '\0'});
    cp_bytes_text(out, "'");
}

/* ---- the list ---- */

static cp_runs_path path_in(const cp_runs *r, const char *part, const char *name, const char *end) {
    cp_runs_path path;
    snprintf(path.s, sizeof path.s, "%.699s/%s%s%.250s%s", r->folder, part, *part ? "/" : "", name, end);
    return path;
}

cp_runs_path cp_runs_at(const cp_runs *r, int i) {
    return path_in(r, "runs", r->at[i].name, "");
}

cp_runs_path cp_runs_failure(const cp_runs *r, int i) {
    return path_in(r, "failed", r->at[i].name, ".txt");
}

static cp_runs_path file_of(const cp_runs *r, int i, const char *file) {
    cp_runs_path path = cp_runs_at(r, i);
    size_t       used = strlen(path.s);
    snprintf(path.s + used, sizeof path.s - used, "/%s", file);
    return path;
}

static void find_program(cp_runs *r) {
    r->executable = "/proc/self/exe";
    ssize_t length = readlink(r->executable, r->program, sizeof r->program - 1);
    r->program[length > 0 ? length : 0] = '\0';
}

static bool is_there(const char *path) {
    return access(path, F_OK) == 0;
}

/* A study that has begun, runs that were brought here, or nothing. */
static bool is_fit(const cp_runs *r, cp_status *status) {
    DIR *handle = opendir(r->folder);
    bool empty = true;
    if (!handle) return cp_fail(status, "%.300s cannot be looked into: %s", r->folder, strerror(errno));
    for (struct dirent *entry; empty && (entry = readdir(handle));) empty = entry->d_name[0] == '.';
    closedir(handle);
    return empty || is_there(path_in(r, "", LIST, "").s) || is_there(path_in(r, "", "runs", "").s) ||
           cp_fail(status, "%.300s is not empty and holds no study (no %s); give another --out", r->folder, LIST);
}

static cp_runs *runs_of(const char *folder, cp_status *status) {
    cp_runs *r = calloc(1, sizeof *r);
    if (!r) return cp_null(cp_fail(status, "not enough memory"));
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    snprintf(r->folder, sizeof r->folder, "%.*s", (int)length, folder);
    find_program(r);
    if (length < sizeof r->folder) return r;
    free(r);
    return cp_null(cp_fail(status, "%.100s...: the path is too long", folder));
}

cp_runs *cp_runs_new(const char *folder, cp_status *status) {
    cp_runs *r = runs_of(folder, status);
    if (r && cp_folder_make(r->folder, status) && is_fit(r, status)) return r;
    cp_runs_free(r);
    return NULL;
}

void cp_runs_free(cp_runs *r) {
    for (int i = 0; r && i < r->count; i++) {
        free(r->at[i].name);
        free(r->at[i].group);
        cp_words_free(&r->at[i].words);
    }
    if (r) free(r->at);
    free(r);
}

bool cp_runs_add(cp_runs *r, const char *name, const char *group, cp_words *words, cp_status *status) {
    cp_planned *more = realloc(r->at, ((size_t)r->count + 1) * sizeof *more);
    if (more) r->at = more;
    cp_planned run = {strdup(name), strdup(group), *words};
    bool       fine = more && run.name && run.group && !words->failed;
    *words = (cp_words){0};
    if (fine) {
        r->at[r->count++] = run;
        return true;
    }
    free(run.name);
    free(run.group);
    cp_words_free(&run.words);
    return cp_fail(status, "not enough memory for %d runs", r->count + 1);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool cp_runs_differ(const cp_runs *r, cp_status *status) {
    const char **names = malloc(((size_t)r->count + 1) * sizeof *names);
    bool         fine = names || cp_fail(status, "not enough memory for %d runs", r->count);
    for (int i = 0; fine && i < r->count; i++) names[i] = r->at[i].name;
    if (fine) qsort(names, (size_t)r->count, sizeof *names, compare_names);
    for (int i = 1; fine && i < r->count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            fine = cp_fail(status,
                           "two runs would both be called %.250s, for which long values are cut and characters such as / "
                           "become _; give values or files that differ in more, or make two studies of them",
                           names[i]);
    free(names);
    return fine;
}

bool cp_runs_save(const cp_runs *r, cp_status *status) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_array(&w, "runs");
    for (int i = 0; i < r->count; i++) {
        cp_json_put_object(&w, NULL);
        cp_json_put_string(&w, "name", r->at[i].name);
        cp_json_put_string(&w, "group", r->at[i].group);
        cp_json_put_array(&w, "command");
        for (int k = 0; k < r->at[i].words.count; k++) cp_json_put_string(&w, NULL, r->at[i].words.at[k]);
        cp_json_put_end(&w);
        cp_json_put_end(&w);
    }
    cp_json_put_end(&w);
    cp_json_put_end(&w);
    return cp_json_writer_save(&w, path_in(r, "", LIST, "").s, status);
}

cp_runs *cp_runs_load(const char *folder, cp_status *status) {
    cp_runs *r = runs_of(folder, status);
    cp_json *list = NULL;
    bool     fine = r != NULL;
    if (fine && !is_there(path_in(r, "", LIST, "").s))
        fine = cp_fail(status, "%.300s holds no study: it has no %s", r->folder, LIST);
    fine = fine && (list = cp_json_read(path_in(r, "", LIST, "").s, status));
    const cp_json *runs = cp_json_get(list, "runs");
    for (const cp_json *m = runs ? runs->first : NULL; fine && m; m = m->next) {
        const char    *name = cp_json_string(cp_json_get(m, "name"), "");
        const cp_json *command = cp_json_get(m, "command");
        cp_words       words = {0};
        for (const cp_json *word = command ? command->first : NULL; word; word = word->next)
            cp_words_add(&words, "%s", cp_json_string(word, ""));
        fine = cp_runs_add(r, name, cp_json_string(cp_json_get(m, "group"), name), &words, status);
    }
    cp_json_free(list);
    if (fine) return r;
    cp_runs_free(r);
    return NULL;
}

void cp_runs_put_line(const cp_runs *r, int i, int threads, cp_bytes *out) {
    char number[40];
    cp_words_quote(out, r->program);
    for (int k = 0; k < r->at[i].words.count; k++) {
        cp_bytes_text(out, " ");
        cp_words_quote(out, r->at[i].words.at[k]);
    }
    cp_bytes_text(out, " --out ");
    cp_words_quote(out, cp_runs_at(r, i).s);
    snprintf(number, sizeof number, " --threads %d", threads > 0 ? threads : 1);
    cp_bytes_text(out, number);
    cp_bytes_text(out, " --quiet\n");
}

/* ---- looking ---- */

cp_json *cp_runs_result(const cp_runs *r, int i) {
    return cp_json_read(file_of(r, i, CP_RUN_RESULT).s, NULL);
}

/* Asks without taking it: F_GETLK tells who would be in the way. */
static bool is_held(const cp_runs *r, int i) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int          log = open(file_of(r, i, CP_RUN_LOG).s, O_RDWR | O_CLOEXEC);
    bool         held = log >= 0 && fcntl(log, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (log >= 0) close(log);
    return held;
}

static bool is_whole(const char *path) {
    cp_json *json = cp_json_read(path, NULL);
    bool     whole = json && json->kind == CP_JSON_OBJECT;
    cp_json_free(json);
    return whole;
}

/* Lines that are whole, but for the last, which a process that was killed may have left. */
static bool is_whole_log(const char *path) {
    cp_bytes text = {0};
    bool     whole = true;
    if (!cp_file_read(path, CP_RUN_FILE_LIMIT, &text, NULL)) return false;
    for (size_t at = 0; whole && at < text.size;) {
        const unsigned char *end = memchr(text.data + at, '\n', text.size - at);
        if (!end) break;
        size_t   length = (size_t)(end - text.data) - at;
        cp_json *line = cp_json_parse(text.data + at, length, path, NULL);
        whole = line != NULL;
        cp_json_free(line);
        at += length + 1;
    }
    cp_bytes_free(&text);
    return whole;
}

cp_run_stage cp_runs_look(const cp_runs *r, int i) {
    cp_runs_path config = file_of(r, i, CP_RUN_CONFIG), result = file_of(r, i, CP_RUN_RESULT), log = file_of(r, i, CP_RUN_LOG);
    bool         begun = is_there(config.s);
    if (begun && is_there(result.s)) {
        cp_json     *found = cp_runs_result(r, i);
        bool         diverged = cp_json_bool(cp_json_get(found, "diverged"), false);
        cp_run_stage stage = !found || !is_whole(config.s) ? CP_STAGE_DAMAGED : diverged ? CP_STAGE_DIVERGED : CP_STAGE_DONE;
        cp_json_free(found);
        return stage;
    }
    if (is_held(r, i)) return CP_STAGE_RUNNING;
    if (is_there(result.s)) return is_there(config.s) ? cp_runs_look(r, i) : CP_STAGE_DAMAGED; /* finished since, or torn */
    if ((begun && !is_whole(config.s)) || (is_there(log.s) && !is_whole_log(log.s))) return CP_STAGE_DAMAGED;
    return is_there(cp_runs_failure(r, i).s) ? CP_STAGE_FAILED : CP_STAGE_LEFT;
}

static bool move_aside(const cp_runs *r, int i, cp_status *status) {
    cp_runs_path from = cp_runs_at(r, i), to;
    int          number = 1;
    do snprintf(to.s, sizeof to.s, "%.900s.damaged-%d", from.s, number);
    while (is_there(to.s) && ++number < 1000);
    if (rename(from.s, to.s) != 0)
        return cp_fail(status, "%.300s is damaged and cannot be moved aside: %s", from.s, strerror(errno));
    fprintf(stderr, "%s is damaged; it is made again, and what was there is now %s\n", from.s, to.s);
    return true;
}

/* One process at a time, lest the new run of one is taken for the damaged one by another. Where files cannot be locked, two
 * processes might make the same run. */
bool cp_runs_mend(const cp_runs *r, cp_status *status) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    cp_runs_path path = path_in(r, "", ".lock", "");
    int          file = open(path.s, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return cp_fail(status, "%.300s cannot be opened: %s; choose an --out that can be written", path.s, strerror(errno));
    bool fine = fcntl(file, F_SETLKW, &lock) == 0 ||
                cp_fail(status,
                        "%.300s cannot be locked (%s), so two processes might make the same run; choose an --out on a file "
                        "system with locks",
                        path.s, strerror(errno));
    for (int i = 0; fine && i < r->count; i++)
        if (cp_runs_look(r, i) == CP_STAGE_DAMAGED) fine = move_aside(r, i, status);
    close(file);
    return fine;
}
