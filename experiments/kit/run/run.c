/* A run's folder: its config.json, its log.jsonl, its result.json, and how it is opened and closed. */
#include "experiments/kit/run/run.h"

#include "core/io/file.h"
#include "core/real.h"
#include "core/threads.h"
#include "experiments/kit/report/report.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/progress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REPORT "report.html"

/* ---- Ctrl-C ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

void cp_interrupts_watch(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    interrupted = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool cp_interrupted(void) { return interrupted; }

/* ---- folders ---- */

cp_file_path cp_folder_path(const char *folder, const char *name) {
    cp_file_path path;
    int          length = snprintf(path.s, sizeof path.s, "%s/%s", folder, name);
    if (length >= (int)sizeof path.s) *path.s = '\0';
    return path;
}

cp_file_path cp_run_path(const cp_run *run, const char *name) { return cp_folder_path(run->folder, name); }

bool cp_file_exists(const char *path) { return access(path, F_OK) == 0; }

static bool run_has(const cp_run *run, const char *name) { return cp_file_exists(cp_run_path(run, name).s); }

static bool fail_folder(cp_status *status, const char *path, int error) {
    const char *advice = error == EROFS || error == EACCES ? "; choose an --out that can be written"
                         : error == ENOSPC                 ? "; the disk is full"
                                                           : "";
    return cp_fail(status, "%.300s: cannot create the folder: %s%s", path, strerror(error), advice);
}

static bool make_one(const char *path, cp_status *status) {
    struct stat info;
    if (mkdir(path, 0777) == 0) return true;
    int error = errno;
    if (stat(path, &info) != 0) return fail_folder(status, path, error);
    return S_ISDIR(info.st_mode) || cp_fail(status, "%.300s is a file; a folder was expected", path);
}

bool cp_folder_make(const char *path, cp_status *status) {
    char copy[1024];
    if (strlen(path) >= sizeof copy - 64) return cp_fail(status, "%.100s...: the path is too long", path);
    snprintf(copy, sizeof copy, "%s", path);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!make_one(copy, status)) return false;
        *slash = '/';
    }
    return make_one(copy, status);
}

/* Left by a process that was killed while it wrote config.json (see core/io/file.h). */
static bool is_leftover(const char *name) { return strncmp(name, ".couplet-", 9) == 0 && cp_path_ends_in(name + 9, ".tmp"); }

/* Left by a process that was killed just after it began. */
static bool is_empty_log(const char *folder, const char *name) {
    struct stat info;
    return strcmp(name, CP_RUN_LOG) == 0 && stat(cp_folder_path(folder, name).s, &info) == 0 && info.st_size == 0;
}

static bool is_empty(const char *folder, cp_status *status) {
    DIR *handle = opendir(folder);
    if (!handle) return cp_fail(status, "%.300s cannot be read: %s", folder, strerror(errno));
    bool empty = true;
    for (struct dirent *entry; empty && (entry = readdir(handle));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || is_leftover(entry->d_name) ||
                is_empty_log(folder, entry->d_name);
    closedir(handle);
    return empty;
}

/* runs/NAME-20260131-235959, with a number if two begin in the same second. */
static bool make_default_folder(cp_run *run, const char *name) {
    char      stamp[32], path[256];
    time_t    now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    if (!cp_folder_make("runs", &run->status)) return false;
    for (int i = 1; i < 1000; i++) {
        int length = snprintf(path, sizeof path, "runs/%.100s-%s", name, stamp);
        if (i > 1) snprintf(path + length, sizeof path - (size_t)length, "-%d", i);
        if (mkdir(path, 0777) == 0) return (run->folder = strdup(path)) || cp_fail(&run->status, "not enough memory");
        if (errno != EEXIST) break;
    }
    return fail_folder(&run->status, path, errno);
}

enum { NAME_MAX = 300 }; /* of a file in the folder, with the slash */

static bool make_folder(cp_run *run) {
    const char *out = cp_option_text(run->options, "out");
    if (!out) return make_default_folder(run, cp_options_command(run->options)->name);
    run->folder = strdup(out);
    size_t length = run->folder ? strlen(run->folder) : 0;
    if (!run->folder) return cp_fail(&run->status, "not enough memory");
    while (length > 1 && run->folder[length - 1] == '/') run->folder[--length] = '\0';
    if (length + NAME_MAX >= sizeof(cp_file_path))
        return cp_fail(&run->status, "--out %.100s...: the path is too long; at most %d bytes are possible", run->folder,
                       (int)sizeof(cp_file_path) - NAME_MAX - 1);
    return cp_folder_make(run->folder, &run->status);
}

/* ---- config.json: what determines the result ---- */

/* The name of a file, or with 2 parts also that of its folder. */
static const char *last_parts(const char *path, int parts) {
    const char *at = path + strlen(path);
    while (at > path && !(at[-1] == '/' && --parts == 0)) at--;
    return at;
}

static void put_option(cp_json_writer *w, const cp_options *options, const cp_option *o, const cp_json *found) {
    cp_reals       list;
    const cp_json *same = found && o->path ? cp_json_get(cp_json_get(found, "options"), o->name) : NULL;
    if (same && cp_option_given(options, o->name) &&
        strcmp(last_parts(cp_json_string(same, ""), 2), last_parts(cp_option_text(options, o->name), 2)) == 0) {
        cp_json_put_copy(w, o->name, same);
        return;
    }
    bool number = o->kind == CP_OPTION_INT || o->kind == CP_OPTION_REAL;
    if (number && !cp_option_text(options, o->name)) return; /* not given, and without a default */
    switch (o->word ? CP_OPTION_TEXT : o->kind) {            /* where a word is possible, numbers are texts too */
    case CP_OPTION_FLAG: cp_json_put_bool(w, o->name, cp_option_flag(options, o->name)); break;
    case CP_OPTION_INT: cp_json_put_integer(w, o->name, cp_option_int(options, o->name)); break;
    case CP_OPTION_REAL: cp_json_put_number(w, o->name, cp_option_real(options, o->name)); break;
    case CP_OPTION_REALS:
        list = cp_option_reals(options, o->name);
        cp_json_put_numbers(w, o->name, list.at, (size_t)list.count);
        break;
    default: cp_json_put_string(w, o->name, cp_option_text(options, o->name));
    }
}

static bool has_default(const cp_options *options, const cp_option *o) {
    if (!cp_option_given(options, o->name)) return true;
    return o->fallback && strcmp(cp_option_text(options, o->name), o->fallback) == 0;
}

/* `found` is a config.json to compare with: a run from before an option existed was made with what is now its default. */
static void put_config(cp_json_writer *w, const cp_options *options, const cp_json *found) {
    const cp_option *o, *own[CP_OPTIONS_MAX];
    int              own_count = cp_command_own_options(cp_options_command(options), own);
    cp_json_put_object(w, NULL);
    cp_json_put_string(w, "experiment", cp_options_command(options)->name);
    cp_json_put_string(w, "version", CP_VERSION);
    cp_json_put_string(w, "number", CP_REAL_NAME);
    cp_json_put_object(w, "options");
    for (int i = 0; (o = cp_options_at(options, i)); i++)
        if (!o->incidental && (i < own_count || !cp_options_command(options)->study || cp_option_given(options, o->name)) &&
            !(found && !cp_json_get(cp_json_get(found, "options"), o->name) && has_default(options, o)))
            put_option(w, options, o, found);
    cp_json_put_end(w);
    int arguments = cp_argument_count(options);
    if (arguments > 0) cp_json_put_strings(w, "arguments", cp_arguments(options), (size_t)arguments);
    cp_json_put_end(w);
}

/* A number is the same as its text: an option writes its numbers as text since it also takes a word. */
static bool same_json(const cp_json *a, const cp_json *b) {
    if (a && b && a->kind == CP_JSON_NUMBER && b->kind == CP_JSON_STRING) return strcmp(a->text, b->text) == 0;
    if (!a || !b || a->kind != b->kind || a->count != b->count) return a == b;
    if (a->kind == CP_JSON_BOOL) return a->boolean == b->boolean;
    if (a->kind == CP_JSON_NUMBER) return a->number == b->number;
    if (a->kind == CP_JSON_STRING) return strcmp(a->text, b->text) == 0;
    for (const cp_json *x = a->first, *y = b->first; x; x = x->next, y = y->next)
        if ((x->key && strcmp(x->key, y->key) != 0) || !same_json(x, y)) return false;
    return true;
}

/* Arguments with an md5 in the result may be moved: their names count, not their folders. */
static bool same_names(const cp_json *a, const cp_json *b) {
    if (!a || !b || a->count != b->count) return a == b;
    for (const cp_json *x = a->first, *y = b->first; x; x = x->next, y = y->next) {
        if (strcmp(last_parts(cp_json_string(x, ""), 1), last_parts(cp_json_string(y, ""), 1)) != 0) return false;
    }
    return true;
}

/* The first member in which two objects differ; NULL if there is none, or one is not an object. */
static const char *first_difference(const cp_json *a, const cp_json *b) {
    if (!a || !b || a->kind != CP_JSON_OBJECT || b->kind != CP_JSON_OBJECT) return NULL;
    for (const cp_json *m = a->first; m; m = m->next)
        if (!same_json(m, cp_json_get(b, m->key))) return m->key;
    for (const cp_json *m = b->first; m; m = m->next)
        if (!cp_json_get(a, m->key)) return m->key;
    return NULL;
}

bool cp_run_check_config(const cp_options *options, const cp_json *found, const char *holder, const char *remedy,
                         cp_status *status) {
    cp_json_writer w = {0};
    put_config(&w, options, found);
    cp_json    *wanted = cp_json_writer_finish(&w, status) ? cp_json_parse(w.out.data, w.out.size, CP_RUN_CONFIG, status) : NULL;
    const char *what = first_difference(found, wanted);
    bool        moved = what && strcmp(what, "arguments") == 0 && cp_options_command(options)->arguments_by_md5 &&
                 same_names(cp_json_get(found, what), cp_json_get(wanted, what));
    bool same = wanted && (!what || moved);
    if (wanted && !same) {
        bool        option = strcmp(what, "options") == 0;
        const char *name = option ? first_difference(cp_json_get(found, what), cp_json_get(wanted, what)) : what;
        cp_fail(status, "%.240s run of %.40s with another %s%s (see its %s); give another --out, or %s", holder,
                cp_json_string(cp_json_get(found, "experiment"), "?"), option ? "--" : "", name ? name : what, CP_RUN_CONFIG,
                remedy);
    }
    cp_json_writer_free(&w);
    cp_json_free(wanted);
    return same;
}

static bool check_config(cp_run *run) {
    cp_file_path path = cp_run_path(run, CP_RUN_CONFIG);
    cp_json     *found = cp_json_read(path.s, &run->status);
    char         holder[300];
    snprintf(holder, sizeof holder, "%.200s holds %s", run->folder, run_has(run, CP_RUN_RESULT) ? "a finished" : "an unfinished");
    bool same = found && found->kind == CP_JSON_OBJECT &&
                cp_run_check_config(run->options, found, holder, "remove the folder", &run->status);
    if (found && found->kind != CP_JSON_OBJECT)
        cp_damaged(&run->status, "%.300s is no JSON object; give another --out, or remove the folder", path.s);
    cp_json_free(found);
    return same;
}

/* ---- log.jsonl: whole lines, of one process at a time ---- */

static bool fail_log(cp_run *run, const char *what, int error, cp_status *status) {
    return cp_fail(status, "%s: %s: %s%s", cp_run_path(run, CP_RUN_LOG).s, what, strerror(error),
                   error == ENOSPC ? "; make room on the disk and run the same command again: it continues" : "");
}

/* The lock keeps two processes from mixing their lines. */
static bool open_log(cp_run *run) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    run->log = open(cp_run_path(run, CP_RUN_LOG).s, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (run->log < 0) return fail_log(run, "cannot open it for writing", errno, &run->status);
    if (run->replaced)
        return (fcntl(run->log, F_SETLKW, &lock) == 0 && ftruncate(run->log, 0) == 0) ||
               fail_log(run, "cannot lock it", errno, &run->status);
    if (fcntl(run->log, F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN))
        return cp_fail(&run->status, "%.300s: " CP_RUN_HELD "; wait for it or give another --out", run->folder);
    return true;
}

static bool append(cp_run *run, const unsigned char *data, size_t size) {
    off_t before = lseek(run->log, 0, SEEK_END);
    while (size > 0) {
        ssize_t put = write(run->log, data, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            int error = put < 0 ? errno : ENOSPC;
            /* Remove the partial line; if that fails too, the next run drops it. */
            if (before >= 0 && ftruncate(run->log, before) != 0) error = errno;
            return fail_log(run, "writing failed", error, &run->status);
        }
        data += put;
        size -= (size_t)put;
    }
    return true;
}

bool cp_run_log(cp_run *run, cp_json_writer *line) {
    bool ok = !run->status.message[0] && cp_json_writer_finish(line, &run->status);
    if (ok) {
        line->out.data[line->out.size] = '\n'; /* replaces the NUL */
        ok = append(run, line->out.data, line->out.size + 1);
    }
    cp_json_writer_free(line);
    return ok;
}

/* Not part of the result: when, where, with how many threads, for how long. */
bool cp_run_log_event(cp_run *run, const char *event, int64_t step) {
    cp_json_writer w = {0};
    char           stamp[32], host[256] = "";
    time_t         clock = time(NULL);
    struct tm      utc;
    gmtime_r(&clock, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
    cp_json_put_object(&w, NULL);
    gethostname(host, sizeof host - 1);
    cp_json_put_string(&w, "event", event);
    if (step >= 0) cp_json_put_integer(&w, "step", step);
    cp_json_put_string(&w, "time", stamp);
    cp_json_put_string(&w, "command", cp_options_called(run->options));
    cp_json_put_string(&w, "host", host);
    cp_json_put_integer(&w, "process", getpid());
    cp_json_put_integer(&w, "threads", cp_threads());
    cp_json_put_number(&w, "seconds", floor(1e3 * (cp_clock() - run->started)) / 1e3);
    cp_json_put_end(&w);
    return cp_run_log(run, &w);
}

static bool keep_line(cp_run *run, const char *text, size_t size) {
    char name[1100];
    snprintf(name, sizeof name, "%s, line %d", cp_run_path(run, CP_RUN_LOG).s, run->past_count + 1);
    cp_json **more = realloc(run->past, ((size_t)run->past_count + 1) * sizeof *more);
    if (!more) return cp_fail(&run->status, "%.200s: not enough memory", run->folder);
    run->past = more;
    run->past[run->past_count] = cp_json_parse(text, size, name, &run->status);
    return run->past[run->past_count] && ++run->past_count;
}

/* Through the descriptor that holds the lock: opening and closing the file again would release it. */
static bool read_log(cp_run *run, cp_bytes *text, cp_status *status) {
    char    block[1 << 16];
    ssize_t got;
    for (off_t at = 0; (got = pread(run->log, block, sizeof block, at)) != 0; at += got) {
        if (got < 0) return fail_log(run, "reading failed", errno, status);
        if (text->size > CP_RUN_FILE_LIMIT || !cp_bytes_append(text, block, (size_t)got))
            return cp_fail(status, "%s is too long", cp_run_path(run, CP_RUN_LOG).s);
    }
    return true;
}

/* A partial line at the end, from a process that was killed, is dropped. */
static bool read_past(cp_run *run) {
    cp_bytes text = {0};
    size_t   at = 0;
    bool     ok = read_log(run, &text, &run->status);
    for (cp_line line; ok && cp_bytes_line(&text, &at, &line);) {
        if (line.whole)
            ok = keep_line(run, line.text, line.length);
        else if (ftruncate(run->log, (off_t)(at - line.length)) != 0)
            ok = fail_log(run, "cannot drop a broken last line", errno, &run->status);
    }
    cp_bytes_free(&text);
    return ok;
}

/* ---- opening ---- */

static bool write_config(cp_run *run) {
    cp_json_writer w = {.pretty = true};
    put_config(&w, run->options, NULL);
    return cp_json_writer_save(&w, cp_run_path(run, CP_RUN_CONFIG).s, &run->status);
}

static bool is_run_or_empty(cp_run *run) {
    bool empty = is_empty(run->folder, &run->status);
    return empty || run_has(run, CP_RUN_CONFIG) || /* another process has just started it */
           cp_fail(&run->status, "%.300s is not empty and is not a run (no %s); give another --out", run->folder, CP_RUN_CONFIG);
}

/* Whether the run is finished, with these settings; fails with others. */
static bool find_finished(cp_run *run, bool *finished) {
    *finished = run_has(run, CP_RUN_CONFIG);
    if (*finished && !check_config(run)) return false;
    *finished = *finished && run_has(run, CP_RUN_RESULT);
    return true;
}

/* Checks again under the lock, since another process may have finished the run before it released the lock. */
static bool open_folder(cp_run *run) {
    bool finished;
    if (!make_folder(run) || (!run_has(run, CP_RUN_CONFIG) && !is_run_or_empty(run)) || !find_finished(run, &finished))
        return false;
    if (!finished && !(open_log(run) && find_finished(run, &finished))) return false;
    if (finished) {
        run->state = CP_RUN_FINISHED;
        run->finished = true;
        return true;
    }
    if (!run_has(run, CP_RUN_CONFIG) && !write_config(run)) return false;
    if (!read_past(run)) return false;
    run->state = run->past_count ? CP_RUN_CONTINUED : CP_RUN_NEW;
    return cp_run_log_event(run, run->past_count ? "continue" : "start", -1);
}

static void free_run(cp_run *run) {
    if (run->log >= 0) close(run->log);
    for (int i = 0; i < run->past_count; i++) cp_json_free(run->past[i]);
    free(run->past);
    free(run->folder);
    free(run);
}

static bool replace_folder(cp_run *run) {
    return make_folder(run) && open_log(run) && write_config(run) && cp_run_log_event(run, "start", -1);
}

static cp_run *open_by(const cp_options *options, bool (*way)(cp_run *run), bool replaced) {
    cp_run *run = calloc(1, sizeof *run);
    if (!run) {
        cp_complain(options, "not enough memory");
        return NULL;
    }
    *run = (cp_run){.options = options,
                    .replaced = replaced,
                    .log = -1,
                    .started = cp_clock(),
                    .quiet = cp_option_flag(options, "quiet"),
                    .json = cp_option_flag(options, "json")};
    if (!way(run)) {
        cp_complain(run->options, "%s", run->status.message);
        free_run(run);
        return NULL;
    }
    if (run->state == CP_RUN_CONTINUED && !run->quiet)
        fprintf(stderr, "continuing the run in %s (%d lines in its log)\n", run->folder, run->past_count);
    cp_interrupts_watch();
    return run;
}

cp_run *cp_run_open(const cp_options *options) { return open_by(options, open_folder, false); }

cp_run *cp_run_replace(const cp_options *options) { return open_by(options, replace_folder, true); }

/* ---- the end ---- */

/* A command with an --out of its own has no --report. */
static bool wants_report(const cp_options *options) {
    const cp_option *o;
    for (int i = 0; (o = cp_options_at(options, i)); i++)
        if (strcmp(o->name, "report") == 0) return cp_option_flag(options, "report");
    return false;
}

bool cp_run_should_continue(const cp_run *run) { return !cp_interrupted() && !run->status.message[0]; }

bool cp_run_finish(cp_run *run, cp_json_writer *result) {
    bool ok = !run->status.message[0] && cp_json_writer_finish(result, &run->status);
    if (ok && run->json) printf("%s\n", (const char *)result->out.data);
    run->finished =
        ok && cp_run_log_event(run, "finish", -1) && cp_json_writer_save(result, cp_run_path(run, CP_RUN_RESULT).s, &run->status);
    cp_json_writer_free(result);
    return run->finished;
}

bool cp_run_conclude(cp_run *run, cp_json_writer *result) {
    if (!cp_run_finish(run, result)) return false;
    if (!run->quiet) fprintf(run->json ? stderr : stdout, "%sResults: %s/\n", run->json ? "" : "\n", run->folder);
    return true;
}

FILE *cp_run_begin_result(const cp_run *run, cp_json_writer *w, const char *title, ...) {
    char    text[300];
    va_list words;
    va_start(words, title);
    vsnprintf(text, sizeof text, title, words);
    va_end(words);
    cp_json_put_object(w, NULL);
    cp_json_put_string(w, "experiment", cp_options_command(run->options)->name);
    cp_json_put_string(w, "title", text);
    return run->quiet || run->json ? NULL : stdout;
}

void cp_note_put(cp_json_writer *w, FILE *file, const char *format, ...) {
    char    note[600];
    va_list words;
    va_start(words, format);
    vsnprintf(note, sizeof note, format, words);
    va_end(words);
    cp_text_printable(note); /* names of files may be in it */
    cp_json_put_string(w, NULL, note);
    if (file) fprintf(file, "%s\n", note);
}

static void show_tables(const cp_json *result) {
    int shown = 0;
    for (const cp_json *table = result->first; table; table = table->next) {
        const cp_json *columns = cp_json_get(table, "columns");
        cp_table      *text = columns && columns->count > 0 ? cp_table_new(0) : NULL;
        if (!text) continue;
        if (shown++) printf("\n");
        cp_table_read(text, table);
        cp_table_conclude(text, NULL, NULL, stdout);
    }
}

void cp_text_print(FILE *file, const char *text, size_t length) {
    while (length) {
        char        part[256];
        const char *newline = memchr(text, '\n', length);
        size_t      line = newline ? (size_t)(newline - text) : length, size = cp_text_cut(text, line, sizeof part - 1);
        memcpy(part, text, size);
        part[size] = '\0';
        cp_text_printable(part);
        fputs(part, file);
        if (size == line && newline) fputc('\n', file), size++;
        text += size, length -= size;
    }
}

static void show_notes(const cp_json *notes) {
    for (const cp_json *note = notes ? notes->first : NULL; note; note = note->next) {
        const char *text = cp_json_string(note, "");
        if (note == notes->first) printf("\n");
        cp_text_print(stdout, text, strlen(text));
        printf("\n");
    }
}

static const char *text_at(const cp_json *result, const char *at) {
    char part[64];
    while (*at) {
        size_t length = strcspn(at, "/");
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        result = cp_json_get(result, part);
        at += length + (at[length] == '/');
    }
    return cp_json_string(result, "");
}

static bool is_of(cp_run *run, const cp_json *result, const cp_run_source *sources) {
    for (; sources->what; sources++)
        if (strcmp(text_at(result, sources->at), sources->md5) != 0)
            return cp_fail(&run->status,
                           "%.300s holds this run already, finished, but of another file: %s has changed since (%s of its %s is "
                           "not the md5 now); give another --out, or remove the folder",
                           run->folder, sources->what, sources->at, CP_RUN_RESULT);
    return true;
}

int cp_run_show(cp_run *run) { return cp_run_show_unchanged(run, &(cp_run_source){0}); }

int cp_run_show_unchanged(cp_run *run, const cp_run_source *sources) {
    cp_bytes     text = {0};
    cp_json     *result = NULL;
    cp_status    damage = {0};
    cp_file_path path = cp_run_path(run, CP_RUN_RESULT);
    if (cp_file_read(path.s, CP_RUN_FILE_LIMIT, &text, &run->status)) result = cp_json_parse(text.data, text.size, path.s, &damage);
    if (damage.message[0])
        cp_fail(&run->status, "%s; remove the file and run the same command to finish the run again", damage.message);
    bool shown = result && is_of(run, result, sources);
    if (shown && !run->quiet)
        fprintf(stderr, "%s holds this run already, finished; nothing was computed. What was found:\n", run->folder);
    if (shown && run->json)
        fwrite(text.data, 1, text.size, stdout);
    else if (shown && !run->quiet) {
        show_tables(result);
        show_notes(cp_json_get(result, "notes"));
    }
    if (shown && cp_json_bool(cp_json_get(result, "diverged"), false))
        cp_fail(&run->status, "the training in %.300s diverged; what happened is in its %s", run->folder, CP_RUN_RESULT);
    if (result && !shown) run->finished = false; /* no report of it either */
    cp_json_free(result);
    cp_bytes_free(&text);
    return cp_run_close(run);
}

/* Reports are written after errors too; the first message is kept. */
static void write_report(cp_run *run) {
    cp_file_path path = cp_run_path(run, REPORT);
    cp_status    error = {0};
    cp_bytes     log = {0};
    bool         locked = run->log >= 0;
    if ((locked && !read_log(run, &log, &error)) || !cp_report_write_run(run->folder, locked ? &log : NULL, path.s, &error))
        cp_fail(&run->status, "%s", error.message);
    else if (!run->quiet)
        fprintf(run->json ? stderr : stdout, "Report: %s\n", path.s);
    cp_bytes_free(&log);
}

int cp_run_close(cp_run *run) {
    int  code = CP_EXIT_OK;
    bool outdated = run->replaced && run_has(run, REPORT); /* it shows the previous result */
    if (run->finished && (outdated || wants_report(run->options))) write_report(run);
    if (run->status.message[0]) {
        cp_complain(run->options, "%s", run->status.message);
        code = CP_EXIT_FAILED;
    } else if (!run->finished && cp_interrupted()) {
        cp_run_log_event(run, "interrupt", -1);
        cp_complain(run->options, "interrupted; what was finished is in %s, and the same command with --out %s continues",
                    run->folder, run->folder);
        code = CP_EXIT_INTERRUPTED;
    }
    free_run(run);
    return code;
}
