/* Trials: one measurement, made for every case of a study (a method, a setting) in every repetition.
 *
 * Trials do not depend on each other, so they run in parallel, one per thread or, with --jobs, one per process. A finished trial
 * is a line of the run's log, and a continued run does not repeat it. A trial yields named numbers and series (a loss by steps),
 * or it diverges. A case that diverged in some repetitions has no mean, since the remaining ones are the lucky ones. */
#pragma once

#include "core/random.h"
#include "experiments/kit/metrics/stats.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/runs.h"

typedef struct cp_case {
    const char *name;         /* NULL ends a list */
    const void *data;         /* for the trial, or NULL */
    const char *advice;       /* after "NAME diverged": " with rate 10: take a smaller --rate"; NULL: none */
    bool        without_data; /* its runs cannot be made here; the finished ones count (see runs.h) */
    int         after; /* its runs start when those of this case, counted from 1, are done in the same repetition; 0: at once */
    bool secondary;    /* in addition to the main ones (a point of a sweep): in no default table, and no failure when it diverges */
} cp_case;

typedef struct cp_measure {
    const char *name;      /* its key in log and result; NULL ends a list */
    const char *title;     /* of its column: "accuracy, %" */
    int         decimals;  /* in tables */
    bool        secondary; /* logged, and left out of the default table and cp_trials_put_case */
} cp_measure;

typedef enum cp_trial_end {
    CP_TRIAL_STOPPED, /* by Ctrl-C (cp_interrupted), or by an error, which is in trial->status */
    CP_TRIAL_DONE,
    CP_TRIAL_DIVERGED,
} cp_trial_end;

typedef struct cp_trial {
    const cp_options *options;
    const cp_run     *run; /* other trials may be using it at the same time */
    const cp_case    *study_case;
    int               repeat; /* 0, 1, ... */
    cp_status         status;

    const struct cp_trials *trials;
    double                 *values; /* by measure */
    struct cp_trial_series *series;
} cp_trial;

typedef cp_trial_end (*cp_trial_fn)(cp_trial *trial);

/* Records a number; a measure without one is NaN. */
void cp_trial_put(cp_at at, cp_trial *trial, const char *measure, double value);

/* Appends a point to the measure's series, such as a loss to those of earlier steps. The measure's number becomes y, so it is that
 * of the last point unless cp_trial_put gives another one afterward. */
void cp_trial_put_point(cp_at at, cp_trial *trial, const char *measure, double x, double y);

/* The trial's own folder, made by the first call: for checkpoints and pictures. It is the same for the trial when the run is
 * continued, whether trials run on threads or as processes. If it cannot be made, trial->status has the reason. */
cp_file_path cp_trial_folder(cp_trial *trial);

/* The random stream of this name, seed and repetition: the same for all cases, so that they can be compared. */
cp_rng cp_trial_stream(const cp_trial *trial, const char *name);

typedef struct cp_trials_config {
    const cp_case    *cases;
    const cp_measure *measures;
    int               repeats;
    cp_trial_fn       trial;
    bool              one_at_a_time; /* a trial uses all threads, or much memory */

    /* Instead of `trial`: every trial is a run of this command, a process with a folder of its own. `words` adds what follows
     * the command's name, without --out; `read` puts the numbers of its result. */
    const cp_command *command;
    void (*words)(const cp_trial *trial, cp_words *words);
    void (*read)(cp_trial *trial, const cp_json *result);
    bool (*prepare)(const cp_trial *trial, const char *before,
                    cp_status *status); /* a run of a case with `after`: the other's folder */
    const int64_t *numbers;             /* of the repetitions, in the names of folders; NULL: 1, 2, ... */
} cp_trials_config;

typedef struct cp_trials cp_trials;

cp_trials *cp_trials_new(cp_at at, cp_trials_config config); /* NULL: no memory. The lists must outlive it */
void       cp_trials_free(cp_trials *trials);                /* NULL is allowed */

/* Reads the trials in the run's log and makes the others. True when all are done; if not, run->status has the reason,
 * or the user has stopped the run. */
bool cp_trials_run(cp_trials *trials, cp_run *run);

/* The same for one trial alone: its log, its result. */
bool cp_trials_run_one(cp_trials *trials, cp_run *run, int trial);

/* "case":, "repeat":, "values": {MEASURE: number}, "series": {MEASURE: {"x": [], "y": []}} where there are any, "diverged": true */
void cp_trials_put_one(const cp_trials *trials, cp_json_writer *writer, int trial);

/* ---- trials that are runs; they are counted by repetition, then by case ---- */

int cp_trials_count(const cp_trials *trials);

/* Plans the runs of all trials, with the name CASE-NUMBER. A command that cannot be parsed, or a folder that holds another run, is
 * refused. */
bool cp_trials_plan(const cp_trials *trials, const cp_options *options, cp_runs *runs, cp_status *status);

/* Reads the results of those that are done, removes what earlier attempts left in failed/, and counts those that are not done.
 * False when `read` has put a message into trial->status: a result exists, but of something else. */
bool cp_trials_collect(cp_trials *trials, const cp_options *options, const cp_runs *runs, int *missing, cp_status *status);

/* ---- the results; cases are counted from 0 ---- */

typedef struct cp_trial_series {
    int     count;
    double *x, *y; /* NULL when there are none */
} cp_trial_series;

int           cp_trials_repeats(const cp_trials *trials);
const double *cp_trials_values(cp_at at, const cp_trials *trials, int of_case,
                               const char *measure); /* by repetition; diverged: NaN */
cp_mean_sd cp_trials_mean_sd(cp_at at, const cp_trials *trials, int of_case, const char *measure); /* over those that were made */
cp_trial_series cp_trials_series(cp_at at, const cp_trials *trials, int of_case, int repeat,
                                 const char *measure); /* also of a trial that diverged */
cp_trial_end    cp_trials_end(const cp_trials *trials, int of_case, int repeat);
bool            cp_trials_has(const cp_trials *trials, int of_case, int repeat);
int             cp_trials_diverged(cp_at at, const cp_trials *trials, int of_case); /* in how many repetitions */

/* The folder of a trial on threads, whether it has been made or not; cp_study_trial_folder knows them all. */
cp_file_path cp_trials_folder(const cp_trials *trials, const cp_run *run, int of_case, int repeat);

/* The next cell: "97.68 (0.61)", with one repetition "97.68", "diverged (2 of 10)", or "-"; where some are still to be made,
 * "97.68 (0.61), 7 of 10" or "97.68, 1 of 10". */
void cp_trials_put_cell(cp_at at, const cp_trials *trials, cp_table *table, int of_case, const char *measure);

/* KEY: {MEASURE: {"mean":, "sd":, "each": [...], "series": [{"x": [...], "y": [...]}, ...]}, ..., "diverged": 2}, series and
 * diverged only where there are any. */
void cp_trials_put_case(cp_at at, const cp_trials *trials, cp_json_writer *writer, const char *key, int of_case);

#define cp_trials_new(...) cp_trials_new(CP_OPTION_HERE, __VA_ARGS__)
#define cp_trial_put(...) cp_trial_put(CP_OPTION_HERE, __VA_ARGS__)
#define cp_trial_put_point(...) cp_trial_put_point(CP_OPTION_HERE, __VA_ARGS__)
#define cp_trials_values(...) cp_trials_values(CP_OPTION_HERE, __VA_ARGS__)
#define cp_trials_mean_sd(...) cp_trials_mean_sd(CP_OPTION_HERE, __VA_ARGS__)
#define cp_trials_series(...) cp_trials_series(CP_OPTION_HERE, __VA_ARGS__)
#define cp_trials_diverged(...) cp_trials_diverged(CP_OPTION_HERE, __VA_ARGS__)
#define cp_trials_put_cell(...) cp_trials_put_cell(CP_OPTION_HERE, __VA_ARGS__)
#define cp_trials_put_case(...) cp_trials_put_case(CP_OPTION_HERE, __VA_ARGS__)
