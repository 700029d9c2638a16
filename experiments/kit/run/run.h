/* A run's folder: config.json (what determines the result), log.jsonl (one line per measurement), result.json (when
 * finished) and figures. Nothing of another run is ever overwritten:
 * - a folder that is new or empty: a new run;
 * - an unfinished run with the same settings: it is continued, its log is in run->past;
 * - a finished run with the same settings: there is nothing to do, cp_run_show prints its result;
 * - anything else is refused, with a message that says what the folder contains and what to do.
 *
 *     static int run(const cp_options *o) {
 *         cp_run *run = cp_run_open(o);
 *         if (!run) return CP_EXIT_FAILED;
 *         if (run->state == CP_RUN_FINISHED) return cp_run_show(run);
 *         for (int i = 0; i < repeats && cp_run_should_continue(run); i++) {
 *             cp_json_writer line = {0};
 *             ... measure; cp_json_put_object(&line, NULL); ...
 *             cp_run_log(run, &line);
 *         }
 *         if (cp_run_should_continue(run)) {
 *             cp_json_writer result = {.pretty = true};
 *             ...
 *             cp_run_finish(run, &result);
 *         }
 *         return cp_run_close(run);
 *     } */
#pragma once

#include "core/io/json.h"
#include "experiments/kit/cli/options.h"

typedef enum cp_run_state { CP_RUN_NEW, CP_RUN_CONTINUED, CP_RUN_FINISHED } cp_run_state;

typedef struct cp_run {
    const cp_options *options;
    cp_run_state      state;
    char             *folder; /* without a final slash */
    cp_json         **past;   /* the lines of a continued run's log, oldest first */
    int               past_count;
    bool              quiet, json;
    cp_status         status; /* the first error */

    int    log; /* file descriptor */
    double started;
    bool   finished, replaced;
} cp_run;

/* Opens the folder of --out, or a new one in runs/, and starts to watch for Ctrl-C. NULL, with a message on stderr, if it cannot
 * be opened. */
cp_run *cp_run_open(const cp_options *options);

/* The same for a result that is made again from other files in the folder of --out: an existing result is replaced, with its
 * settings. Waits while another process does so. */
cp_run *cp_run_replace(const cp_options *options);

/* False after Ctrl-C or an error (a full disk): stop computing and close. */
bool cp_run_should_continue(const cp_run *run);

/* Appends a line; the writer's text must be one object, and is freed. */
bool cp_run_log(cp_run *run, cp_json_writer *line);

/* Appends {"event": EVENT, "step": STEP, ...} with time, host, threads and seconds; step: below 0: none. */
bool cp_run_log_event(cp_run *run, const char *event, int64_t step);

/* Writes result.json in one step, prints it with --json, and frees the writer. */
bool cp_run_finish(cp_run *run, cp_json_writer *result);

/* The same, and prints where the results are. */
bool cp_run_conclude(cp_run *run, cp_json_writer *result);

/* Begins a result with "experiment" and "title". Returns the stream for its tables and notes: stdout, or NULL with --quiet or --json. */
FILE *cp_run_begin_result(const cp_run *run, cp_json_writer *result, const char *title, ...) __attribute__((format(printf, 3, 4)));

/* Adds a sentence to an array of the result and prints it; file may be NULL. */
void cp_note_put(cp_json_writer *writer, FILE *file, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A file that a result was made from. */
typedef struct cp_run_source {
    const char *what; /* its name in messages: "the data" */
    const char *at;   /* where result.json has its md5: "data/md5" */
    const char *md5;  /* of the file now; "": there is none, or it is built in */
} cp_run_source;

/* Prints the result of a finished run (its table, or with --json all of it), and closes. Returns the exit code, which is that of a
 * failure when the result has "diverged": true. */
int cp_run_show(cp_run *run);

/* The same, unless one of the sources, whose list ends with {0}, has changed since: then it is refused. */
int cp_run_show_unchanged(cp_run *run, const cp_run_source *sources);

/* Frees everything, and prints on stderr what failed or is unfinished. Returns the exit code. */
int cp_run_close(cp_run *run);

/* A path; paths of runs are checked to fit. */
typedef struct cp_file_path {
    char s[1024];
} cp_file_path;
cp_file_path cp_folder_path(const char *folder, const char *name); /* FOLDER/NAME; "" when that is too long */
cp_file_path cp_run_path(const cp_run *run, const char *name);     /* of a file in the run's folder */

/* SIGINT and SIGTERM set a flag; a second one ends the process at once. */
void cp_interrupts_watch(void);
bool cp_interrupted(void);

bool cp_file_exists(const char *path);

/* Creates a folder and its parents; true also when it exists. */
bool cp_folder_make(const char *path, cp_status *status);

/* Prints text from outside, of one line or several: other control characters, and bytes that are not UTF-8, become '?'. */
void cp_text_print(FILE *file, const char *text, size_t length);

/* ---- for lists of runs (runs.h) ---- */

#define CP_RUN_CONFIG "config.json"
#define CP_RUN_LOG "log.jsonl"
#define CP_RUN_RESULT "result.json"
#define CP_RUN_HELD "another process is running in this folder" /* in the message of a run that could not have its folder */
enum { CP_RUN_FILE_LIMIT = 1 << 30 };

/* Whether a run with this config.json is the one that the options ask for. If not, the message names the first option that
 * differs: "HOLDER run of train with another --rate (see its config.json); give another --out, or REMEDY", where HOLDER is
 * "FOLDER holds a finished", say. */
bool cp_run_check_config(const cp_options *options, const cp_json *config, const char *holder, const char *remedy,
                         cp_status *status);
