/* Lists of runs: what is planned, and how far it is. */
#include "experiments/kit/run/runs_parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
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

bool cp_command_is_subcommand(const cp_options *o) {
    return strcmp(cp_options_called(o), cp_options_command(o)->name) != 0;
}

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

/* ---- the list ---- */

cp_file_path cp_runs_path_in(const cp_runs *r, const char *part, const char *name, const char *end) {
    cp_file_path path;
    snprintf(path.s, sizeof path.s, "%.699s/%s%s%.250s%s", r->folder, part, *part ? "/" : "", name, end);
    return path;
}

cp_file_path cp_runs_folder(const cp_runs *r, int i) {
    return cp_runs_path_in(r, "runs", r->at[i].name, "");
}

cp_file_path cp_runs_failure_path(const cp_runs *r, int i) {
    return cp_runs_path_in(r, "failed", r->at[i].name, ".txt");
}

bool cp_runs_is_there(const char *path) {
    return access(path, F_OK) == 0;
}

cp_file_path cp_runs_file(const cp_runs *r, int i, const char *file) {
    cp_file_path path = cp_runs_folder(r, i);
    size_t       used = strlen(path.s);
    snprintf(path.s + used, sizeof path.s - used, "/%s", file);
    return path;
}

static void find_program(cp_runs *r) {
    r->executable = "/proc/self/exe";
    ssize_t length = readlink(r->executable, r->program, sizeof r->program - 1);
    r->program[length > 0 ? length : 0] = '\0';
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
    if (r && cp_folder_make(r->folder, status)) return r;
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

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char **sorted_names(const cp_runs *r) {
    const char **names = malloc(((size_t)r->count + 1) * sizeof *names);
    for (int i = 0; names && i < r->count; i++) names[i] = r->at[i].name;
    if (names) qsort(names, (size_t)r->count, sizeof *names, compare_names);
    return names;
}

int cp_runs_count_others(const cp_runs *r) {
    const char **names = sorted_names(r);
    DIR         *handle = names ? opendir(cp_runs_path_in(r, "", "runs", "").s) : NULL;
    int          others = 0;
    for (struct dirent *entry; handle && (entry = readdir(handle));) {
        const char *name = entry->d_name;
        bool        planned = bsearch(&name, names, (size_t)r->count, sizeof *names, compare_names);
        others += !planned && name[0] != '.' && !strstr(name, ".damaged-") &&
                  cp_runs_is_there(cp_runs_path_in(r, "runs", name, "/config.json").s);
    }
    if (handle) closedir(handle);
    free(names);
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

/* A study that has begun, runs of it that were brought here, or nothing. Runs of others may lie in a runs/, too. */
static bool is_fit(const cp_runs *r, cp_status *status) {
    DIR *handle = opendir(r->folder);
    bool fit = true;
    if (!handle) return cp_fail(status, "%.300s cannot be looked into: %s", r->folder, strerror(errno));
    for (struct dirent *entry; fit && (entry = readdir(handle));) fit = entry->d_name[0] == '.';
    closedir(handle);
    fit = fit || cp_runs_is_there(cp_runs_path_in(r, "", LIST, "").s);
    for (int i = 0; !fit && i < r->count; i++) fit = cp_runs_is_there(cp_runs_folder(r, i).s);
    return fit || cp_fail(status, "%.300s is not empty and holds no study (no %s, and none of these runs); give another --out",
                          r->folder, LIST);
}

bool cp_runs_check(const cp_runs *r, cp_status *status) {
    return names_differ(r, status) && is_fit(r, status);
}

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
        cp_json_put_array(&w, "command");
        for (int k = 0; k < r->at[i].words.count; k++) cp_json_put_string(&w, NULL, r->at[i].words.at[k]);
        cp_json_put_end(&w);
        if (r->at[i].without_data) cp_json_put_bool(&w, "without_data", true);
        cp_json_put_end(&w);
    }
    cp_json_put_end(&w);
    cp_json_put_end(&w);
    return cp_json_writer_save(&w, cp_runs_path_in(r, "", LIST, "").s, status);
}

cp_runs *cp_runs_load(const char *folder, cp_status *status) {
    cp_runs *r = runs_of(folder, status);
    cp_json *list = NULL;
    bool     ok = r != NULL;
    if (ok && !cp_runs_is_there(cp_runs_path_in(r, "", LIST, "").s))
        ok = cp_fail(status, "%.300s holds no study: it has no %s", r->folder, LIST);
    ok = ok && (list = cp_json_read(cp_runs_path_in(r, "", LIST, "").s, status));
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

void cp_runs_put_command(const cp_runs *r, int i, int threads, cp_bytes *out) {
    char number[40];
    cp_shell_quote(out, r->program);
    for (int k = 0; k < r->at[i].words.count; k++) {
        cp_bytes_text(out, " ");
        cp_shell_quote(out, r->at[i].words.at[k]);
    }
    cp_bytes_text(out, " --out=");
    cp_shell_quote(out, cp_runs_folder(r, i).s);
    snprintf(number, sizeof number, " --threads %d", threads > 0 ? threads : 1);
    cp_bytes_text(out, number);
    cp_bytes_text(out, " --quiet\n");
}
