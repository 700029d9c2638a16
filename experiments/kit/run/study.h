/* A study: cases, trials of them, and what a run of that leaves. It opens the folder, makes the trials or recalls them,
 * and at its end prints the tables, writes result.json, tells what diverged and, with --report, makes the page.
 *
 *     static int run(const cp_options *o) {
 *         cp_study *study = cp_study_new(
 *             o, "Two moons",
 *             (cp_trials_config){.cases = (cp_case[]){{.name = "perceptron"}, {0}},
 *                                .measures = (cp_measure[]){{"accuracy", "accuracy, %", 2}, {0}},
 *                                .repeats = (int)cp_option_int(o, "repeats"),
 *                                .trial = train});
 *         if (cp_study_run(study)) {
 *             ... figures, notes, more numbers: what the study adds to what it has by itself ...
 *         }
 *         return cp_study_close(study);
 *     }
 *
 * A command that says .study = true has the options --jobs, --list, --slurm, --status and --trial: its trials can be runs of their
 * own (see runs.h), made by several processes, machines or a cluster, and the result is the same. Where the config has a `command`,
 * they always are; then tables are made of those that are there, should some be missing.
 *
 * result.json: "experiment", "title", "notes", then what cp_study_result was given or else "methods": {CASE: ...} with
 * all that is not secondary, then the tables. */
#ifndef CP_KIT_STUDY_H
#define CP_KIT_STUDY_H

#include "experiments/kit/figure/figure.h"
#include "experiments/kit/run/trials.h"

typedef struct cp_study {
    cp_run    *run;
    cp_trials *trials;

    struct cp_study_parts *parts;
} cp_study;

/* NULL, with a message on stderr, when the folder cannot be had or memory is short; the functions below take that. */
cp_study *cp_study_new(const cp_options *options, const char *title, cp_trials_config config);

/* Makes the trials that the folder does not have yet. True when all are there and something is left to do; false also
 * for a run that was finished before. */
bool cp_study_run(cp_study *study);

/* Closes and frees. Returns the exit code: 1 also when a case that is not secondary diverged, though its results are saved. */
int cp_study_close(cp_study *study);

/* ---- between run and close ---- */

/* A sentence above the tables, for whoever has started the run. */
void cp_study_say(cp_study *study, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A sentence that a reader must know beside the numbers: below the tables, in result.json and in reports. */
void cp_study_add_note(cp_study *study, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The notes so far, a line each, behind `before`. */
void cp_study_print_notes(const cp_study *study, FILE *file, const char *before);

/* A table of one's own, under this key of result.json; the study frees it. With none there is one row per case, one column
 * a measure, as "table". */
void cp_study_add_table(cp_study *study, const char *key, cp_table *table);

/* Saves a figure as NAME.svg, NAME.csv and NAME.figure.json in the folder, and frees it. */
bool cp_study_add_figure(cp_study *study, cp_figure *figure, const char *name);

/* Tells of a file in the folder that is written otherwise: "table.txt". Where the trials are runs of their own, another command
 * that makes tables in the folder removes it, unless it leaves one of that name, too. */
void cp_study_add_file(cp_study *study, const char *file);

/* The folder of a trial that is a run of its own. */
cp_file_path cp_study_run_folder(const cp_study *study, int of_case, int repeat);

/* Its result, wherever it is stored; to be freed. NULL when it is missing. */
cp_json *cp_study_run_result(const cp_study *study, int of_case, int repeat);

/* result.json, open for members of one's own; notes come before. */
cp_json_writer *cp_study_result(cp_study *study);

#endif
