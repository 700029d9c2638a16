/* A study: cases, their trials, and the run with its results. It opens the folder, makes the trials that are missing there,
 * and at its end prints the tables, writes result.json, reports what diverged and, with --report, makes the page.
 *
 *     static int run(const cp_options *o) {
 *         cp_study *study = cp_study_new(
 *             o, "Two moons",
 *             (cp_trials_config){.cases = (cp_case[]){{.name = "perceptron"}, {0}},
 *                                .measures = (cp_measure[]){{"accuracy", "accuracy, %", 2}, {0}},
 *                                .repeats = (int)cp_option_int(o, "repeats"),
 *                                .trial = train});
 *         if (cp_study_run(study)) {
 *             ... figures, notes, numbers beyond those that every study has ...
 *         }
 *         return cp_study_close(study);
 *     }
 *
 * A command that says .study = true has the options --jobs, --list, --slurm, --status and --trial: its trials can be runs of their
 * own (see runs.h), made by several processes, machines or a cluster, and the result is the same. Where the config has a `command`,
 * they always are; then tables are made of the existing ones if some are missing.
 *
 * result.json: "experiment", "title", "notes", then what cp_study_result was given or else "methods": {CASE: ...} with
 * all that is not secondary, then the tables. */
#pragma once

#include "experiments/kit/figure/figure.h"
#include "experiments/kit/run/trials.h"

typedef struct cp_study {
    cp_run    *run;
    cp_trials *trials;

    /* The study's own. */
    const cp_options *options;
    const char       *title;
    cp_trials_config  config;
    int               mode;
    cp_runs          *runs;
    cp_status         error;    /* with the runs; reported last */
    int               code;     /* exit code if there is no result to make */
    bool              complete; /* there are trials to make the result of */
    cp_words          sentences, notes, files;
    cp_json_writer    result;
    bool              result_started;
    struct {
        const char *key;
        cp_table   *table;
    } tables[8];
    int table_count;
} cp_study;

/* NULL, with a message on stderr, when the folder cannot be opened or memory is short; run and close accept that. */
cp_study *cp_study_new(cp_at at, const cp_options *options, const char *title, cp_trials_config config);

/* Makes the trials that the folder does not have yet. True when all exist and something is left to do; false also
 * for a run that was finished before. */
bool cp_study_run(cp_study *study);

/* Closes and frees. Returns the exit code: 1 also when a case that is not secondary diverged, though its results are saved. */
int cp_study_close(cp_study *study);

/* ---- between run and close ---- */

/* A sentence above the tables, printed and not kept. */
void cp_study_say(cp_study *study, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A sentence that a reader of the numbers must know: below the tables, in result.json and in reports. */
void cp_study_add_note(cp_at at, cp_study *study, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The notes so far, one per line, each after `before`. */
void cp_study_print_notes(const cp_study *study, FILE *file, const char *before);

/* A table under this key of result.json; the study frees it. Without any, "table" has one row per case and one column per
 * measure. */
void cp_study_add_table(cp_at at, cp_study *study, const char *key, cp_table *table);

/* Saves a figure as NAME.svg, NAME.csv and NAME.figure.json in the folder, and frees it. */
bool cp_study_add_figure(cp_study *study, cp_figure *figure, const char *name);

/* Registers another file that was written to the folder: "table.txt". Where the trials are runs of their own, the next command
 * that makes tables in the folder removes it, unless it writes one with that name too. */
void cp_study_add_file(cp_study *study, const char *file);

/* The folder of a trial, where cp_trial_folder has put its files: the same call on threads and with --jobs. */
cp_file_path cp_study_trial_folder(const cp_study *study, int of_case, int repeat);

/* The result of a trial that is a run of its own, wherever it is stored; to be freed. NULL when there is none. */
cp_json *cp_study_run_result(const cp_study *study, int of_case, int repeat);

/* result.json, open for more members; notes come before. */
cp_json_writer *cp_study_result(cp_study *study);

#define cp_study_new(...) cp_study_new(CP_OPTION_HERE, __VA_ARGS__)
#define cp_study_add_note(...) cp_study_add_note(CP_OPTION_HERE, __VA_ARGS__)
#define cp_study_add_table(...) cp_study_add_table(CP_OPTION_HERE, __VA_ARGS__)
