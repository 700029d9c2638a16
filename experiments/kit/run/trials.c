/* Trials: side by side, into the log, and back from there. */
#include "experiments/kit/run/trials_parts.h"

#include "core/threads.h"
#include "experiments/kit/run/progress.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int find_measure(const cp_trials *t, const char *name) {
    for (int i = 0; i < t->measures; i++)
        if (strcmp(t->config.measures[i].name, name) == 0) return i;
    cp_misuse((cp_at){0}, "trials", "there is no measure \"%s\" among those of this study", name);
    return -1;
}

int cp_trials_count(const cp_trials *t) {
    return t->cases * t->config.repeats;
}

cp_trials *cp_trials_new(cp_trials_config config) {
    cp_trials *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->config = config;
    while (config.cases && config.cases[t->cases].name) t->cases++;
    while (config.measures && config.measures[t->measures].name) t->measures++;
    if (t->cases < 1 || t->measures < 1 || config.repeats < 1) {
        cp_misuse((cp_at){0}, "trials_new", "%d cases, %d measures, %d repetitions: expected one of each at least", t->cases,
                  t->measures, config.repeats);
        free(t);
        return NULL;
    }
    size_t trials = (size_t)cp_trials_count(t), values = trials * (size_t)t->measures;
    t->values = malloc(values * sizeof *t->values);
    t->ends = calloc(trials, sizeof *t->ends);
    if (!t->values || !t->ends) {
        cp_trials_free(t);
        return NULL;
    }
    for (size_t i = 0; i < values; i++) t->values[i] = NAN;
    return t;
}

void cp_trials_free(cp_trials *t) {
    if (!t) return;
    free(t->values);
    free(t->ends);
    free(t);
}

/* ---- one trial ---- */

void cp_trial_put(cp_trial *trial, const char *measure, double value) {
    int i = find_measure(trial->trials, measure);
    if (i >= 0) trial->values[i] = value;
}

cp_rng cp_trial_stream(const cp_trial *trial, const char *name) {
    char numbered[64];
    snprintf(numbered, sizeof numbered, "%.40s.%d", name, trial->repeat);
    return cp_rng_named((uint64_t)cp_option_int(trial->options, "seed"), numbered);
}

/* ---- the log ---- */

void cp_trials_keep(cp_trials *t, int trial, cp_trial_end end, const double *values) {
    for (int m = 0; m < t->measures; m++)
        *cp_trials_value(t, cp_trials_case(t, trial), m, cp_trials_repeat(t, trial)) = end == CP_TRIAL_DONE ? values[m] : NAN;
    t->ends[trial] = end;
}

static bool log_trial(const cp_trials *t, cp_run *run, int trial, double seconds) {
    cp_json_writer line = {0};
    int            of_case = cp_trials_case(t, trial), repeat = cp_trials_repeat(t, trial);
    cp_json_put_object(&line, NULL);
    cp_json_put_integer(&line, "trial", trial);
    cp_json_put_string(&line, "case", t->config.cases[of_case].name);
    cp_json_put_integer(&line, "repeat", repeat);
    for (int i = 0; i < t->measures; i++)
        cp_json_put_number(&line, t->config.measures[i].name, *cp_trials_value(t, of_case, i, repeat));
    if (t->ends[trial] == CP_TRIAL_DIVERGED) cp_json_put_bool(&line, "diverged", true);
    cp_json_put_number(&line, "seconds", 1e-3 * round(1e3 * seconds));
    cp_json_put_end(&line);
    return cp_run_log(run, &line);
}

static void recall(cp_trials *t, const cp_run *run) {
    for (int i = 0; i < run->past_count; i++) {
        const cp_json *line = run->past[i];
        int64_t        trial = cp_json_integer(cp_json_get(line, "trial"), -1);
        const char    *name = cp_json_string(cp_json_get(line, "case"), "");
        if (trial < 0 || trial >= cp_trials_count(t) || strcmp(name, t->config.cases[cp_trials_case(t, (int)trial)].name) != 0 ||
            cp_json_integer(cp_json_get(line, "repeat"), -1) != cp_trials_repeat(t, (int)trial))
            continue; /* of another list of cases: it is computed again */
        for (int m = 0; m < t->measures; m++)
            *cp_trials_value(t, cp_trials_case(t, (int)trial), m, cp_trials_repeat(t, (int)trial)) =
                cp_json_number(cp_json_get(line, t->config.measures[m].name), NAN);
        t->ends[trial] = cp_json_bool(cp_json_get(line, "diverged"), false) ? CP_TRIAL_DIVERGED : CP_TRIAL_DONE;
    }
}

/* ---- all of them ---- */

typedef struct work {
    cp_trials      *trials;
    cp_run         *run;
    int            *pending; /* the trials that are not in the log */
    int             done;
    cp_progress     progress;
    pthread_mutex_t lock; /* of run, done and progress */
} work;

static bool goes_on(work *w) {
    pthread_mutex_lock(&w->lock);
    bool on = cp_run_should_continue(w->run);
    pthread_mutex_unlock(&w->lock);
    return on;
}

static void keep(work *w, int trial, cp_trial *ended, cp_trial_end end, const double *values, double seconds) {
    cp_trials *t = w->trials;
    bool       told = ended->status.message[0] != '\0';
    pthread_mutex_lock(&w->lock);
    if (told || (end == CP_TRIAL_STOPPED && !cp_interrupted()))
        cp_fail(&w->run->status, "%.60s, repetition %d: %s", ended->study_case->name, ended->repeat + 1,
                told ? ended->status.message : "it could not be completed; is there enough memory?");
    if (!told && end != CP_TRIAL_STOPPED) {
        cp_trials_keep(t, trial, end, values);
        if (log_trial(t, w->run, trial, seconds)) cp_progress_show(&w->progress, ++w->done, NAN);
    }
    pthread_mutex_unlock(&w->lock);
}

static void make_trials(void *context, size_t begin, size_t end) {
    work      *w = context;
    cp_trials *t = w->trials;
    double    *values = malloc((size_t)t->measures * sizeof *values);
    for (size_t i = begin; i < end && goes_on(w); i++) {
        int      number = w->pending[i];
        cp_trial trial = {.options = w->run->options,
                          .run = w->run,
                          .study_case = &t->config.cases[cp_trials_case(t, number)],
                          .repeat = cp_trials_repeat(t, number),
                          .trials = t,
                          .values = values};
        double   started = cp_clock();
        for (int m = 0; values && m < t->measures; m++) values[m] = NAN;
        cp_trial_end how = values ? t->config.trial(&trial) : CP_TRIAL_STOPPED;
        keep(w, number, &trial, how, values, cp_clock() - started);
    }
    free(values);
}

/* Makes those from `first` to `last` that the log does not have, and tells whether all of these are there now. */
static bool run_range(cp_trials *t, cp_run *run, int first, int last) {
    int  all = last - first + 1, pending = 0;
    work w = {.trials = t, .run = run, .pending = malloc((size_t)all * sizeof(int)), .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!w.pending) return cp_fail(&run->status, "not enough memory for %d trials", all);
    recall(t, run);
    for (int i = first; i <= last; i++)
        if (t->ends[i] == CP_TRIAL_STOPPED) w.pending[pending++] = i;
    w.done = all - pending;
    w.progress = (cp_progress){
        .label = cp_options_command(run->options)->name, .unit = "trials", .total = all, .skipped = w.done, .quiet = run->quiet};
    cp_progress_start(&w.progress);
    cp_progress_show(&w.progress, w.done, NAN);
    if (t->config.one_at_a_time)
        make_trials(&w, 0, (size_t)pending);
    else
        cp_parallel((size_t)pending, 1, make_trials, &w);
    cp_progress_end(&w.progress);
    free(w.pending);
    return w.done == all;
}

bool cp_trials_run(cp_trials *t, cp_run *run) {
    return run_range(t, run, 0, cp_trials_count(t) - 1);
}

bool cp_trials_run_one(cp_trials *t, cp_run *run, int trial) {
    return run_range(t, run, trial, trial);
}

/* ---- what was found ---- */

int cp_trials_repeats(const cp_trials *t) {
    return t->config.repeats;
}

static bool is_case(const cp_trials *t, int of_case) {
    return (of_case >= 0 && of_case < t->cases) ||
           cp_misuse((cp_at){0}, "trials", "there is no case %d among the %d of this study", of_case, t->cases);
}

const double *cp_trials_values(const cp_trials *t, int of_case, const char *measure) {
    int m = find_measure(t, measure);
    return m >= 0 && is_case(t, of_case) ? cp_trials_value(t, of_case, m, 0) : NULL;
}

cp_trial_end cp_trials_end(const cp_trials *t, int of_case, int repeat) {
    return t->ends[repeat * t->cases + of_case];
}

bool cp_trials_has(const cp_trials *t, int of_case, int repeat) {
    return cp_trials_end(t, of_case, repeat) != CP_TRIAL_STOPPED;
}

static int made(const cp_trials *t, int of_case) {
    int n = 0;
    for (int r = 0; r < t->config.repeats; r++) n += cp_trials_has(t, of_case, r);
    return n;
}

cp_mean_sd cp_trials_mean_sd(const cp_trials *t, int of_case, const char *measure) {
    const double *each = cp_trials_values(t, of_case, measure);
    double       *those = each ? malloc((size_t)t->config.repeats * sizeof *those) : NULL;
    cp_mean_sd    found = {NAN, NAN};
    int           n = 0;
    for (int r = 0; those && r < t->config.repeats; r++)
        if (cp_trials_has(t, of_case, r)) those[n++] = each[r];
    if (n && !cp_trials_diverged(t, of_case)) found = cp_mean_sd_of(those, n);
    free(those);
    return found;
}

int cp_trials_diverged(const cp_trials *t, int of_case) {
    int n = 0;
    if (!is_case(t, of_case)) return 0;
    for (int r = 0; r < t->config.repeats; r++) n += cp_trials_end(t, of_case, r) == CP_TRIAL_DIVERGED;
    return n;
}

void cp_trials_put_cell(const cp_trials *t, cp_table *table, int of_case, const char *measure) {
    int m = find_measure(t, measure), lost = cp_trials_diverged(t, of_case), decimals = m < 0 ? 0 : t->config.measures[m].decimals;
    cp_mean_sd found = cp_trials_mean_sd(t, of_case, measure);
    int        found_in = is_case(t, of_case) ? made(t, of_case) : 0;
    if (lost)
        cp_table_text(table, "diverged (%d of %d)", lost, t->config.repeats);
    else if (!isfinite(found.mean))
        cp_table_text(table, "-");
    else if (found_in > 1 && found_in < t->config.repeats)
        cp_table_text(table, "%.*f (%.*f), %d of %d", decimals, found.mean, decimals, found.sd, found_in, t->config.repeats);
    else if (found_in && found_in < t->config.repeats)
        cp_table_text(table, "%.*f, %d of %d", decimals, found.mean, found_in, t->config.repeats);
    else
        cp_table_mean_sd(table, found.mean, found.sd, decimals);
}

static void put_measure(const cp_trials *t, cp_json_writer *w, int of_case, const char *measure) {
    cp_mean_sd    found = cp_trials_mean_sd(t, of_case, measure);
    const double *each = cp_trials_values(t, of_case, measure);
    cp_json_put_object(w, measure);
    cp_json_put_number(w, "mean", found.mean);
    cp_json_put_number(w, "sd", found.sd);
    cp_json_put_array(w, "each");
    for (int r = 0; each && r < t->config.repeats; r++) cp_json_put_number(w, NULL, each[r]);
    cp_json_put_end(w);
    cp_json_put_end(w);
}

void cp_trials_put_case(const cp_trials *t, cp_json_writer *w, const char *key, int of_case) {
    int lost = cp_trials_diverged(t, of_case);
    cp_json_put_object(w, key);
    for (int m = 0; m < t->measures; m++)
        if (!t->config.measures[m].secondary) put_measure(t, w, of_case, t->config.measures[m].name);
    if (lost) cp_json_put_integer(w, "diverged", lost);
    cp_json_put_end(w);
}
