/* A run's folder. */
#include "experiments/kit/run/run_parts.h"

#include "core/io/file.h"
#include "experiments/kit/report/report.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/progress.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
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

bool cp_interrupted(void) {
    return interrupted;
}

/* ---- folders ---- */

cp_file_path cp_run_path(const cp_run *run, const char *name) {
    cp_file_path path;
    snprintf(path.s, sizeof path.s, "%s/%s", run->folder, name);
    return path;
}

bool cp_run_has(const cp_run *run, const char *name) {
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

/* What a process that was killed while it wrote config.json has left counts for nothing (see core/io/file.h). */
static bool is_leftover(const char *name) {
    size_t length = strlen(name);
    return strncmp(name, ".couplet-", 9) == 0 && length > 13 && strcmp(name + length - 4, ".tmp") == 0;
}

/* The same holds for the log of one that has only just begun. */
static bool is_empty_log(const char *folder, const char *name) {
    struct stat info;
    char        path[sizeof(cp_file_path)];
    snprintf(path, sizeof path, "%s/%s", folder, CP_RUN_LOG);
    return strcmp(name, CP_RUN_LOG) == 0 && stat(path, &info) == 0 && info.st_size == 0;
}

static bool is_empty(const char *folder, cp_status *status) {
    DIR *handle = opendir(folder);
    if (!handle) return cp_fail(status, "%.300s cannot be looked into: %s", folder, strerror(errno));
    bool empty = true;
    for (struct dirent *entry; empty && (entry = readdir(handle));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || is_leftover(entry->d_name) ||
                is_empty_log(folder, entry->d_name);
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

/* ---- opening ---- */

static bool write_config(cp_run *run) {
    cp_json_writer w = {.pretty = true};
    cp_run_put_config(&w, run->options);
    return cp_json_writer_save(&w, cp_run_path(run, CP_RUN_CONFIG).s, &run->status);
}

static bool is_run_or_empty(cp_run *run) {
    bool empty = is_empty(run->folder, &run->status);
    return empty || cp_run_has(run, CP_RUN_CONFIG) || /* another process has begun it since */
           cp_fail(&run->status, "%.300s is not empty and holds no run (no %s); give another --out", run->folder, CP_RUN_CONFIG);
}

/* Whether the run is finished, with these settings; fails with others. */
static bool find_finished(cp_run *run, bool *finished) {
    *finished = cp_run_has(run, CP_RUN_CONFIG);
    if (*finished && !cp_run_check_config(run)) return false;
    *finished = *finished && cp_run_has(run, CP_RUN_RESULT);
    return true;
}

/* The lock comes before the second look: what another process did until it let go of the folder counts. */
static bool open_folder(cp_run *run) {
    bool finished;
    if (!make_folder(run) || (!cp_run_has(run, CP_RUN_CONFIG) && !is_run_or_empty(run)) || !find_finished(run, &finished))
        return false;
    if (!finished && !(cp_run_open_log(run) && find_finished(run, &finished))) return false;
    if (finished) {
        run->state = CP_RUN_FINISHED;
        run->finished = true;
        return true;
    }
    if (!cp_run_has(run, CP_RUN_CONFIG) && !write_config(run)) return false;
    if (!cp_run_read_past(run)) return false;
    run->state = run->past_count ? CP_RUN_CONTINUED : CP_RUN_NEW;
    return cp_run_log_event(run, run->past_count ? "continue" : "start");
}

static void free_run(cp_run *run) {
    if (run->log >= 0) close(run->log);
    for (int i = 0; i < run->past_count; i++) cp_json_free(run->past[i]);
    free(run->past);
    free(run->folder);
    free(run);
}

static bool replace_folder(cp_run *run) {
    return make_folder(run) && cp_run_open_log(run) && write_config(run) && cp_run_log_event(run, "start");
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

cp_run *cp_run_open(const cp_options *options) {
    return open_by(options, open_folder, false);
}

cp_run *cp_run_replace(const cp_options *options) {
    return open_by(options, replace_folder, true);
}

/* ---- the end ---- */

/* A command that describes --out itself may still keep a run, and has no --report. */
static bool wants_report(const cp_options *options) {
    const cp_option *o;
    for (int i = 0; (o = cp_options_at(options, i)); i++)
        if (strcmp(o->name, "report") == 0) return cp_option_flag(options, "report");
    return false;
}

bool cp_run_should_continue(const cp_run *run) {
    return !cp_interrupted() && !run->status.message[0];
}

bool cp_run_finish(cp_run *run, cp_json_writer *result) {
    bool ok = !run->status.message[0] && cp_json_writer_finish(result, &run->status);
    if (ok && run->json) printf("%s\n", (const char *)result->out.data);
    run->finished =
        ok && cp_run_log_event(run, "finish") && cp_json_writer_save(result, cp_run_path(run, CP_RUN_RESULT).s, &run->status);
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
            return cp_fail(
                &run->status,
                "%.300s holds this run already, finished, but of another file: %s has changed since (%s of its %s is not "
                "the md5 now); give another --out, or remove the folder",
                run->folder, sources->what, sources->at, CP_RUN_RESULT);
    return true;
}

int cp_run_show(cp_run *run) {
    return cp_run_show_unchanged(run, &(cp_run_source){0});
}

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

/* A run that ended with a complaint is reported too; whichever came first is told. */
static void write_report(cp_run *run) {
    cp_file_path path = cp_run_path(run, REPORT);
    cp_status    trouble = {0};
    if (!cp_report_write((const char *[]){run->folder}, 1, path.s, &trouble))
        cp_fail(&run->status, "%s", trouble.message);
    else if (!run->quiet)
        fprintf(run->json ? stderr : stdout, "Report: %s\n", path.s);
}

int cp_run_close(cp_run *run) {
    int  code = CP_EXIT_OK;
    bool outdated = run->replaced && cp_run_has(run, REPORT); /* it tells of the result that was there before */
    if (run->finished && (outdated || wants_report(run->options))) write_report(run);
    if (run->status.message[0]) {
        cp_complain(run->options, "%s", run->status.message);
        code = CP_EXIT_FAILED;
    } else if (!run->finished && cp_interrupted()) {
        cp_run_log_event(run, "interrupt");
        cp_complain(run->options, "interrupted; what was finished is in %s, and the same command with --out %s continues",
                    run->folder, run->folder);
        code = CP_EXIT_INTERRUPTED;
    }
    free_run(run);
    return code;
}
