/* A run's folder. */
#include "experiments/kit/run.h"

#include "core/io/file.h"
#include "core/real.h"
#include "core/threads.h"
#include "experiments/kit/progress.h"
#include "experiments/kit/report.h"
#include "experiments/kit/table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char config_name[] = "config.json", log_name[] = "log.jsonl", result_name[] = "result.json";
enum { LOG_LIMIT = 1 << 30 };

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

bool cp_interrupted(void) {
    return interrupted;
}

/* ---- folders ---- */

cp_run_name cp_run_path(const cp_run *run, const char *name) {
    cp_run_name path;
    snprintf(path.s, sizeof path.s, "%s/%s", run->folder, name);
    return path;
}

static bool exists(const cp_run *run, const char *name) {
    return access(cp_run_path(run, name).s, F_OK) == 0;
}

static bool fail_folder(cp_status *status, const char *path, int error) {
    const char *advice = error == EROFS || error == EACCES ? "; choose an --out that can be written"
                         : error == ENOSPC                 ? "; the disk is full"
                                                           : "";
    return cp_fail(status, "%.300s: the folder cannot be made: %s%s", path, strerror(error), advice);
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

static bool is_empty(const char *folder, cp_status *status) {
    DIR *handle = opendir(folder);
    if (!handle) return cp_fail(status, "%.300s cannot be looked into: %s", folder, strerror(errno));
    bool empty = true;
    for (struct dirent *entry; empty && (entry = readdir(handle));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(handle);
    return empty;
}

/* runs/NAME-20260131-235959, with a number behind when two begin in the same second. */
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

static bool make_folder(cp_run *run) {
    const char *out = cp_option_text(run->options, "out");
    if (!out) return make_default_folder(run, cp_options_command(run->options)->name);
    run->folder = strdup(out);
    size_t length = run->folder ? strlen(run->folder) : 0;
    if (!run->folder) return cp_fail(&run->status, "not enough memory");
    while (length > 1 && run->folder[length - 1] == '/') run->folder[--length] = '\0';
    return cp_folder_make(run->folder, &run->status);
}

/* ---- the configuration ---- */

static void put_option(cp_json_writer *w, const cp_options *options, const cp_option *o) {
    cp_reals list;
    switch (o->kind) {
    case CP_OPTION_FLAG: cp_json_put_bool(w, o->name, cp_option_flag(options, o->name)); break;
    case CP_OPTION_INT: cp_json_put_integer(w, o->name, cp_option_int(options, o->name)); break;
    case CP_OPTION_REAL: cp_json_put_number(w, o->name, cp_option_real(options, o->name)); break;
    case CP_OPTION_REALS:
        list = cp_option_reals(options, o->name);
        cp_json_put_array(w, o->name);
        for (int i = 0; i < list.count; i++) cp_json_put_number(w, NULL, list.at[i]);
        cp_json_put_end(w);
        break;
    default: cp_json_put_string(w, o->name, cp_option_text(options, o->name));
    }
}

static void put_config(cp_json_writer *w, const cp_options *options) {
    const cp_option *o;
    cp_json_put_object(w, NULL);
    cp_json_put_string(w, "experiment", cp_options_command(options)->name);
    cp_json_put_string(w, "version", CP_VERSION);
    cp_json_put_string(w, "number", CP_REAL_NAME);
    cp_json_put_object(w, "options");
    for (int i = 0; (o = cp_options_at(options, i)); i++)
        if (!o->incidental) put_option(w, options, o);
    cp_json_put_end(w);
    if (cp_argument_count(options) > 0) {
        cp_json_put_array(w, "arguments");
        for (int i = 0; i < cp_argument_count(options); i++) cp_json_put_string(w, NULL, cp_argument(options, i));
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

static bool same_json(const cp_json *a, const cp_json *b) {
    if (!a || !b || a->kind != b->kind || a->count != b->count) return a == b;
    if (a->kind == CP_JSON_BOOL) return a->truth == b->truth;
    if (a->kind == CP_JSON_NUMBER) return a->number == b->number;
    if (a->kind == CP_JSON_STRING) return strcmp(a->text, b->text) == 0;
    for (const cp_json *x = a->first, *y = b->first; x; x = x->next, y = y->next)
        if ((x->key && strcmp(x->key, y->key) != 0) || !same_json(x, y)) return false;
    return true;
}

/* The first member of one that is not so in the other. */
static const char *first_difference(const cp_json *a, const cp_json *b) {
    for (const cp_json *m = a ? a->first : NULL; m; m = m->next)
        if (!same_json(m, cp_json_get(b, m->key))) return m->key;
    for (const cp_json *m = b ? b->first : NULL; m; m = m->next)
        if (!cp_json_get(a, m->key)) return m->key;
    return NULL;
}

static bool compare_config(cp_run *run, const cp_json *found, const cp_json *wanted) {
    const char *what = first_difference(found, wanted);
    if (!what) return true;
    bool        option = strcmp(what, "options") == 0;
    const char *name = option ? first_difference(cp_json_get(found, what), cp_json_get(wanted, what)) : what;
    return cp_fail(&run->status,
                   "%.200s holds %s run of %.40s with another %s%s (see its %s); give another --out, or "
                   "remove the folder",
                   run->folder, exists(run, result_name) ? "a finished" : "an unfinished",
                   cp_json_string(cp_json_get(found, "experiment"), "?"), option ? "--" : "", name ? name : what, config_name);
}

static bool check_config(cp_run *run) {
    cp_json_writer w = {0};
    cp_json       *found = cp_json_read(cp_run_path(run, config_name).s, &run->status), *wanted = NULL;
    put_config(&w, run->options);
    if (found && cp_json_writer_finish(&w, &run->status)) wanted = cp_json_parse(w.out.data, w.out.size, config_name, &run->status);
    bool same = wanted && compare_config(run, found, wanted);
    cp_json_writer_free(&w);
    cp_json_free(found);
    cp_json_free(wanted);
    return same;
}

/* ---- the log ---- */

static bool fail_log(cp_run *run, const char *what, int error) {
    return cp_fail(&run->status, "%s: %s: %s%s", cp_run_path(run, log_name).s, what, strerror(error),
                   error == ENOSPC ? "; make room on the disk and run the same command again: it continues" : "");
}

/* Two processes in one folder would mix their lines. */
static bool open_log(cp_run *run) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    run->log = open(cp_run_path(run, log_name).s, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (run->log < 0) return fail_log(run, "cannot open it for writing", errno);
    if (fcntl(run->log, F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN))
        return cp_fail(&run->status, "%.300s: another process is running in this folder; wait for it or give another --out",
                       run->folder);
    return true;
}

static bool append(cp_run *run, const unsigned char *data, size_t size) {
    off_t before = lseek(run->log, 0, SEEK_END);
    while (size > 0) {
        ssize_t put = write(run->log, data, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            int error = put < 0 ? errno : ENOSPC;
            /* No half a line stays; should that fail as well, the next run drops it. */
            if (before >= 0 && ftruncate(run->log, before) != 0) error = errno;
            return fail_log(run, "writing failed", error);
        }
        data += put;
        size -= (size_t)put;
    }
    return true;
}

bool cp_run_log(cp_run *run, cp_json_writer *line) {
    bool fine = !run->status.message[0] && cp_json_writer_finish(line, &run->status);
    if (fine) {
        line->out.data[line->out.size] = '\n'; /* in the place of the NUL */
        fine = append(run, line->out.data, line->out.size + 1);
    }
    cp_json_writer_free(line);
    return fine;
}

/* What is no part of the result but good to know: when, with what, how long. */
static bool log_event(cp_run *run, const char *event) {
    cp_json_writer w = {0};
    char           stamp[32];
    time_t         clock = time(NULL);
    struct tm      utc;
    gmtime_r(&clock, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "event", event);
    cp_json_put_string(&w, "time", stamp);
    cp_json_put_integer(&w, "threads", cp_threads());
    cp_json_put_number(&w, "seconds", 1e-3 * (double)(int64_t)(1e3 * (cp_clock() - run->started)));
    cp_json_put_end(&w);
    return cp_run_log(run, &w);
}

static bool keep_line(cp_run *run, const char *text, size_t size) {
    char name[1100];
    snprintf(name, sizeof name, "%s, line %d", cp_run_path(run, log_name).s, run->past_count + 1);
    cp_json **more = realloc(run->past, ((size_t)run->past_count + 1) * sizeof *more);
    if (!more) return cp_fail(&run->status, "%.200s: not enough memory", run->folder);
    run->past = more;
    run->past[run->past_count] = cp_json_parse(text, size, name, &run->status);
    return run->past[run->past_count] && ++run->past_count;
}

/* Reads what is there; half a line at the end, from a process that was killed, is dropped. */
static bool read_past(cp_run *run) {
    cp_bytes text = {0};
    if (!cp_file_read(cp_run_path(run, log_name).s, LOG_LIMIT, &text, &run->status)) return false;
    size_t at = 0;
    bool   fine = true;
    while (fine && at < text.size) {
        const unsigned char *end = memchr(text.data + at, '\n', text.size - at);
        if (!end) break;
        size_t length = (size_t)(end - text.data) - at;
        fine = keep_line(run, (const char *)text.data + at, length);
        at += length + 1;
    }
    if (fine && at < text.size && ftruncate(run->log, (off_t)at) != 0)
        fine = fail_log(run, "cannot drop a broken last line", errno);
    cp_bytes_free(&text);
    return fine;
}

const cp_json *cp_run_past(const cp_run *run, const char *key, double value) {
    for (int i = run->past_count - 1; i >= 0; i--) {
        const cp_json *node = cp_json_get(run->past[i], key);
        if (node && node->kind == CP_JSON_NUMBER && node->number == value) return run->past[i];
    }
    return NULL;
}

/* ---- opening ---- */

static bool start_new(cp_run *run) {
    cp_json_writer w = {.pretty = true};
    bool           empty = is_empty(run->folder, &run->status);
    if (!empty)
        return cp_fail(&run->status, "%.300s is not empty and holds no run (no %s); give another --out", run->folder, config_name);
    put_config(&w, run->options);
    return cp_json_writer_save(&w, cp_run_path(run, config_name).s, &run->status) && open_log(run) && log_event(run, "start");
}

static bool open_folder(cp_run *run) {
    if (!make_folder(run)) return false;
    if (!exists(run, config_name)) return start_new(run);
    if (!check_config(run)) return false;
    if (exists(run, result_name)) {
        run->state = CP_RUN_FINISHED;
        run->finished = true;
        return true;
    }
    run->state = CP_RUN_CONTINUED;
    return open_log(run) && read_past(run) && log_event(run, "continue");
}

static void free_run(cp_run *run) {
    if (run->log >= 0) close(run->log);
    for (int i = 0; i < run->past_count; i++) cp_json_free(run->past[i]);
    free(run->past);
    free(run->folder);
    free(run);
}

cp_run *cp_run_open(const cp_options *options) {
    cp_run *run = calloc(1, sizeof *run);
    if (!run) {
        cp_complain(options, "not enough memory");
        return NULL;
    }
    *run = (cp_run){.options = options,
                    .log = -1,
                    .started = cp_clock(),
                    .quiet = cp_option_flag(options, "quiet"),
                    .json = cp_option_flag(options, "json")};
    if (!open_folder(run)) {
        cp_complain(run->options, "%s", run->status.message);
        free_run(run);
        return NULL;
    }
    if (run->state == CP_RUN_CONTINUED && !run->quiet)
        fprintf(stderr, "continuing the run in %s (%d lines in its log)\n", run->folder, run->past_count);
    cp_interrupts_watch();
    return run;
}

/* ---- the end ---- */

/* A command that describes --out itself may still keep a run, and has no --report. */
static bool wants_report(const cp_options *options) {
    const cp_option *o;
    for (int i = 0; (o = cp_options_at(options, i)); i++)
        if (strcmp(o->name, "report") == 0) return cp_option_flag(options, "report");
    return false;
}

bool cp_run_goes_on(const cp_run *run) {
    return !cp_interrupted() && !run->status.message[0];
}

bool cp_run_finish(cp_run *run, cp_json_writer *result) {
    bool fine = !run->status.message[0] && cp_json_writer_finish(result, &run->status);
    if (fine && run->json) printf("%s\n", (const char *)result->out.data);
    run->finished = fine && log_event(run, "finish") && cp_json_writer_save(result, cp_run_path(run, result_name).s, &run->status);
    cp_json_writer_free(result);
    return run->finished;
}

static void show_tables(const cp_json *result) {
    int shown = 0;
    for (const cp_json *table = result->first; table; table = table->next) {
        const cp_json *columns = cp_json_get(table, "columns");
        cp_table      *text = columns && columns->count > 0 ? cp_table_new(0) : NULL;
        if (!text) continue;
        if (shown++) printf("\n");
        cp_table_read(text, table);
        cp_table_print(text, stdout);
        cp_table_free(text);
    }
}

static void show_notes(const cp_json *notes) {
    for (const cp_json *note = notes ? notes->first : NULL; note; note = note->next)
        printf("%s%s\n", note == notes->first ? "\n" : "", cp_json_string(note, ""));
}

int cp_run_show(cp_run *run) {
    cp_bytes    text = {0};
    cp_json    *result = NULL;
    cp_run_name path = cp_run_path(run, result_name);
    if (cp_file_read(path.s, LOG_LIMIT, &text, &run->status)) result = cp_json_parse(text.data, text.size, path.s, &run->status);
    if (result) fprintf(stderr, "%s holds this run already, finished; nothing was computed. What was found:\n", run->folder);
    if (result && run->json)
        fwrite(text.data, 1, text.size, stdout);
    else if (result) {
        show_tables(result);
        show_notes(cp_json_get(result, "notes"));
    }
    cp_json_free(result);
    cp_bytes_free(&text);
    return cp_run_close(run);
}

/* A run that ended with a complaint is reported too; whichever came first is told. */
static void write_report(cp_run *run) {
    cp_run_name path = cp_run_path(run, "report.html");
    cp_status   trouble = {0};
    if (!cp_report_write((const char *[]){run->folder}, 1, path.s, &trouble))
        cp_fail(&run->status, "%s", trouble.message);
    else if (!run->quiet)
        fprintf(run->json ? stderr : stdout, "Report: %s\n", path.s);
}

int cp_run_close(cp_run *run) {
    int code = CP_EXIT_FINE;
    if (run->finished && wants_report(run->options)) write_report(run);
    if (run->status.message[0]) {
        cp_complain(run->options, "%s", run->status.message);
        code = CP_EXIT_FAILED;
    } else if (!run->finished && cp_interrupted()) {
        log_event(run, "interrupt");
        cp_complain(run->options, "interrupted; what was finished is in %s, and the same command with --out %s continues",
                    run->folder, run->folder);
        code = CP_EXIT_INTERRUPTED;
    }
    free_run(run);
    return code;
}
