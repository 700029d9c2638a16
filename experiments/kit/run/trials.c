/* Trials: on threads or as runs of their own, in the log, and their results. */
#include "experiments/kit/run/trials.h"

#include "core/threads.h"
#include "experiments/kit/run/progress.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Trials are counted by repetition, then by case. */
struct cp_trials {
    cp_trials_config config;
    int              cases, measures;
    bool             alone;  /* the run is that of one trial */
    double          *values; /* by case, measure and repetition, the last fastest */
    cp_trial_series *series; /* by trial and measure */
    cp_trial_end    *ends;   /* by trial */
};

static int find_measure(cp_at at, const char *op, const cp_trials *t, const char *name) {
    const char *names[64], *near;
    for (int i = 0; i < t->measures; i++)
        if (strcmp(t->config.measures[i].name, name) == 0) return i;
    int count = t->measures < 64 ? t->measures : 64;
    for (int i = 0; i < count; i++) names[i] = t->config.measures[i].name;
    near = cp_nearest_word(name, names, count);
    cp_misuse(at, op, "there is no measure \"%s\" among those of this study%s%s%s", name, near ? "; did you mean \"" : "",
              near ? near : "", near ? "\"?" : "");
    return -1;
}

static bool is_case(cp_at at, const char *op, const cp_trials *t, int of_case) {
    return (of_case >= 0 && of_case < t->cases) ||
           cp_misuse(at, op, "there is no case %d among the %d of this study", of_case, t->cases);
}

int cp_trials_count(const cp_trials *t) { return t->cases * t->config.repeats; }

static double *value_of(const cp_trials *t, int trial, int measure) {
    size_t of_case = (size_t)(trial % t->cases);
    return t->values + (of_case * (size_t)t->measures + (size_t)measure) * (size_t)t->config.repeats + trial / t->cases;
}

static cp_trial_series *series_of(const cp_trials *t, int trial, int measure) {
    return t->series + (size_t)trial * (size_t)t->measures + measure;
}

cp_trials *(cp_trials_new)(cp_at at, cp_trials_config config) {
    cp_trials *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->config = config;
    while (config.cases && config.cases[t->cases].name) t->cases++;
    while (config.measures && config.measures[t->measures].name) t->measures++;
    if (t->cases < 1 || t->measures < 1 || config.repeats < 1) {
        cp_misuse(at, "trials_new", "%d cases, %d measures, %d repetitions: expected at least one of each", t->cases, t->measures,
                  config.repeats);
        free(t);
        return NULL;
    }
    size_t trials = (size_t)cp_trials_count(t), values = trials * (size_t)t->measures;
    t->values = malloc(values * sizeof *t->values);
    t->series = calloc(values, sizeof *t->series);
    t->ends = calloc(trials, sizeof *t->ends);
    if (!t->values || !t->series || !t->ends) {
        cp_trials_free(t);
        return NULL;
    }
    for (size_t i = 0; i < values; i++) t->values[i] = NAN;
    return t;
}

static void free_series(cp_trial_series *series, size_t count) {
    for (size_t i = 0; series && i < count; i++) free(series[i].x), free(series[i].y);
    free(series);
}

void cp_trials_free(cp_trials *t) {
    if (!t) return;
    free_series(t->series, (size_t)cp_trials_count(t) * (size_t)t->measures);
    free(t->values);
    free(t->ends);
    free(t);
}

/* ---- one trial ---- */

/* A trial without numbers; false: not enough memory. It ends with finish_trial or drop_trial. */
static bool begin_trial(cp_trial *trial, const cp_trials *t, const cp_options *options, const cp_run *run, int number) {
    *trial = (cp_trial){.options = options,
                        .run = run,
                        .study_case = &t->config.cases[number % t->cases],
                        .repeat = number / t->cases,
                        .trials = t,
                        .values = malloc((size_t)t->measures * sizeof *trial->values),
                        .series = calloc((size_t)t->measures, sizeof *trial->series)};
    for (int m = 0; trial->values && m < t->measures; m++) trial->values[m] = NAN;
    return trial->values && trial->series;
}

static void drop_trial(cp_trial *trial) {
    free(trial->values);
    free_series(trial->series, (size_t)trial->trials->measures);
}

/* Keeps the numbers and series of the trial. */
static void finish_trial(cp_trials *t, cp_trial *trial, int number, cp_trial_end end) {
    for (int m = 0; m < t->measures; m++) {
        cp_trial_series *kept = series_of(t, number, m), before = *kept;
        *value_of(t, number, m) = end == CP_TRIAL_DONE ? trial->values[m] : NAN;
        *kept = trial->series[m];
        trial->series[m] = before;
    }
    t->ends[number] = end;
    drop_trial(trial);
}

void(cp_trial_put)(cp_at at, cp_trial *trial, const char *measure, double value) {
    int i = find_measure(at, "trial_put", trial->trials, measure);
    if (i >= 0) trial->values[i] = value;
}

/* There is room for a power of two of points. */
static bool append(cp_trial_series *s, double x, double y) {
    if ((s->count & (s->count - 1)) == 0) {
        size_t  room = s->count ? 2 * (size_t)s->count : 1;
        double *more_x = realloc(s->x, room * sizeof *more_x);
        if (more_x) s->x = more_x;
        double *more_y = realloc(s->y, room * sizeof *more_y);
        if (more_y) s->y = more_y;
        if (!more_x || !more_y) return false;
    }
    s->x[s->count] = x;
    s->y[s->count++] = y;
    return true;
}

void(cp_trial_put_point)(cp_at at, cp_trial *trial, const char *measure, double x, double y) {
    int i = find_measure(at, "trial_put_point", trial->trials, measure);
    if (i < 0) return;
    trial->values[i] = y;
    if (!append(&trial->series[i], x, y)) cp_fail(&trial->status, "not enough memory for a point of %.60s", measure);
}

cp_rng cp_trial_stream(const cp_trial *trial, const char *name) {
    char numbered[64];
    snprintf(numbered, sizeof numbered, "%.40s.%d", name, trial->repeat);
    return cp_rng_named((uint64_t)cp_option_int(trial->options, "seed"), numbered);
}

/* ---- folders ---- */

/* CASE-NUMBER, with characters that every file system allows. */
static cp_text name_of(const cp_trials *t, int of_case, int repeat) {
    cp_text name;
    int64_t number = t->config.numbers ? t->config.numbers[repeat] : repeat + 1;
    int     used = snprintf(name.s, 170, "%s", t->config.cases[of_case].name);
    used = used < 170 ? used : 169;
    for (char *c = name.s; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._=+-", *c)) *c = '_';
    snprintf(name.s + used, sizeof name.s - (size_t)used, "-%lld", (long long)number);
    return name;
}

cp_file_path cp_trials_folder(const cp_trials *t, const cp_run *run, int of_case, int repeat) {
    return t->alone ? cp_run_path(run, ".") : cp_folder_path(cp_run_path(run, "trials").s, name_of(t, of_case, repeat).s);
}

cp_file_path cp_trial_folder(cp_trial *trial) {
    const cp_trials *t = trial->trials;
    cp_file_path     folder = cp_trials_folder(t, trial->run, (int)(trial->study_case - t->config.cases), trial->repeat);
    cp_folder_make(folder.s, &trial->status);
    return folder;
}

/* ---- as JSON: in the log, in the result of a run of its own ---- */

static void put_series(cp_json_writer *w, const char *key, const cp_trial_series *s) {
    cp_json_put_object(w, key);
    cp_json_put_numbers(w, "x", s->x, (size_t)s->count);
    cp_json_put_numbers(w, "y", s->y, (size_t)s->count);
    cp_json_put_end(w);
}

void cp_trials_put_one(const cp_trials *t, cp_json_writer *w, int trial) {
    const cp_measure *measures = t->config.measures;
    bool              started = false;
    cp_json_put_string(w, "case", t->config.cases[trial % t->cases].name);
    cp_json_put_integer(w, "repeat", trial / t->cases);
    cp_json_put_object(w, "values");
    for (int m = 0; m < t->measures; m++) cp_json_put_number(w, measures[m].name, *value_of(t, trial, m));
    cp_json_put_end(w);
    for (int m = 0; m < t->measures; m++) {
        const cp_trial_series *series = series_of(t, trial, m);
        if (!series->count) continue;
        if (!started) cp_json_put_object(w, "series");
        put_series(w, measures[m].name, series);
        started = true;
    }
    if (started) cp_json_put_end(w);
    if (t->ends[trial] == CP_TRIAL_DIVERGED) cp_json_put_bool(w, "diverged", true);
}

static void read_one(cp_trial *trial, const cp_json *json) {
    const cp_measure *measures = trial->trials->config.measures;
    for (int m = 0; measures[m].name; m++) {
        const cp_json *series = cp_json_get(cp_json_get(json, "series"), measures[m].name), *x = cp_json_get(series, "x"),
                      *y = cp_json_get(series, "y");
        x = x ? x->first : NULL, y = y ? y->first : NULL;
        for (; x && y; x = x->next, y = y->next)
            cp_trial_put_point(trial, measures[m].name, cp_json_number(x, NAN), cp_json_number(y, NAN));
        trial->values[m] = cp_json_number(cp_json_get(cp_json_get(json, "values"), measures[m].name), NAN);
    }
}

static bool log_trial(const cp_trials *t, cp_run *run, int trial, double seconds) {
    cp_json_writer line = {0};
    cp_json_put_object(&line, NULL);
    cp_json_put_integer(&line, "trial", trial);
    cp_trials_put_one(t, &line, trial);
    cp_json_put_number(&line, "seconds", round(1e3 * seconds) / 1e3);
    cp_json_put_end(&line);
    return cp_run_log(run, &line);
}

/* A line of another list of cases is skipped; the trial is made again. */
static bool is_line_of(const cp_trials *t, const cp_json *line) {
    int64_t     trial = cp_json_integer(cp_json_get(line, "trial"), -1);
    const char *name = cp_json_string(cp_json_get(line, "case"), "");
    return trial >= 0 && trial < cp_trials_count(t) && cp_json_get(line, "values") &&
           strcmp(name, t->config.cases[trial % t->cases].name) == 0 &&
           cp_json_integer(cp_json_get(line, "repeat"), -1) == trial / t->cases;
}

static void read_log(cp_trials *t, cp_run *run) {
    for (int i = 0; i < run->past_count; i++) {
        const cp_json *line = run->past[i];
        int            number = (int)cp_json_integer(cp_json_get(line, "trial"), -1);
        cp_trial       trial;
        if (!is_line_of(t, line)) continue;
        bool ok = begin_trial(&trial, t, run->options, run, number);
        if (ok) read_one(&trial, line);
        if (!ok || trial.status.message[0]) {
            cp_fail(&run->status, "not enough memory for the trials in the log");
            drop_trial(&trial);
            return;
        }
        bool diverged = cp_json_bool(cp_json_get(line, "diverged"), false);
        finish_trial(t, &trial, number, diverged ? CP_TRIAL_DIVERGED : CP_TRIAL_DONE);
    }
}

/* ---- on threads ---- */

typedef struct work {
    cp_trials      *trials;
    cp_run         *run;
    int            *pending; /* the trials that are not in the log */
    int             done;
    cp_progress     progress;
    pthread_mutex_t lock; /* of run, done and progress */
} work;

static bool should_continue(work *w) {
    pthread_mutex_lock(&w->lock);
    bool on = cp_run_should_continue(w->run);
    pthread_mutex_unlock(&w->lock);
    return on;
}

static void keep(work *w, int number, cp_trial *trial, cp_trial_end end, double seconds) {
    bool failed = trial->status.message[0] != '\0';
    pthread_mutex_lock(&w->lock);
    if (failed || (end == CP_TRIAL_STOPPED && !cp_interrupted()))
        cp_fail(&w->run->status, "%.60s, repetition %d: %s", trial->study_case->name, trial->repeat + 1,
                failed ? trial->status.message : "it could not be completed; is there enough memory?");
    if (!failed && end != CP_TRIAL_STOPPED) {
        finish_trial(w->trials, trial, number, end);
        if (log_trial(w->trials, w->run, number, seconds)) cp_progress_update(&w->progress, ++w->done, "");
    } else {
        drop_trial(trial);
    }
    pthread_mutex_unlock(&w->lock);
}

static void make_trials(void *context, size_t begin, size_t end) {
    work *w = context;
    for (size_t i = begin; i < end && should_continue(w); i++) {
        cp_trial     trial;
        double       started = cp_clock();
        bool         ok = begin_trial(&trial, w->trials, w->run->options, w->run, w->pending[i]);
        cp_trial_end how = ok ? w->trials->config.trial(&trial) : CP_TRIAL_STOPPED;
        keep(w, w->pending[i], &trial, how, cp_clock() - started);
    }
}

/* Runs the trials from `first` to `last` that the log lacks. True when all of them are done. */
static bool run_range(cp_trials *t, cp_run *run, int first, int last) {
    int  all = last - first + 1, pending = 0;
    work w = {.trials = t, .run = run, .pending = malloc((size_t)all * sizeof(int)), .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!w.pending) return cp_fail(&run->status, "not enough memory for %d trials", all);
    read_log(t, run);
    for (int i = first; i <= last; i++)
        if (t->ends[i] == CP_TRIAL_STOPPED) w.pending[pending++] = i;
    w.done = all - pending;
    w.progress = (cp_progress){
        .label = cp_options_command(run->options)->name, .unit = "trials", .total = all, .skipped = w.done, .quiet = run->quiet};
    cp_progress_start(&w.progress);
    cp_progress_update(&w.progress, w.done, "");
    if (t->config.one_at_a_time)
        make_trials(&w, 0, (size_t)pending);
    else
        cp_parallel((size_t)pending, 1, make_trials, &w);
    cp_progress_end(&w.progress);
    free(w.pending);
    return w.done == all;
}

bool cp_trials_run(cp_trials *t, cp_run *run) { return run_range(t, run, 0, cp_trials_count(t) - 1); }

bool cp_trials_run_one(cp_trials *t, cp_run *run, int trial) {
    t->alone = true;
    return run_range(t, run, trial, trial);
}

/* ---- as runs of their own: the plan ---- */

/* The study's own command, for one trial of it. */
static void put_own_words(const cp_options *o, int trial, cp_words *words) {
    cp_words_add_command(words, o, (const char *[]){"jobs", "list", "slurm", "threads", "out", "quiet", "json", "report", NULL});
    cp_words_add(words, "--trial=%d", trial);
}

/* Whether nothing is stored under the run's name yet, or this run. A config.json that is no JSON object is damage, which is
 * moved aside later. */
static bool is_free(const cp_options *o, const cp_runs *runs, int i, cp_status *status) {
    cp_file_path folder = cp_runs_folder(runs, i);
    cp_json     *config = cp_runs_read(runs, runs->at[i].name, CP_RUN_CONFIG);
    bool         packed = !cp_file_exists(folder.s), finished = packed || cp_file_exists(cp_runs_file(runs, i, CP_RUN_RESULT).s);
    char         holder[900];
    if (packed)
        snprintf(holder, sizeof holder, "runs.jsonl of %.200s holds %.100s, a finished", runs->folder, runs->at[i].name);
    else
        snprintf(holder, sizeof holder, "%.200s holds %s", folder.s, finished ? "a finished" : "an unfinished");
    bool same = !config || config->kind != CP_JSON_OBJECT ||
                cp_run_check_config(o, config, holder, packed ? "remove its line" : "remove the folder", status);
    cp_json_free(config);
    return same;
}

static bool check_run(const cp_command *command, const cp_runs *runs, int i, bool part, cp_status *status) {
    const cp_planned_run *run = &runs->at[i];
    bool                  help;
    cp_options           *o = cp_options_parse(NULL, command, run->words.count - part, run->words.at + part, &help, status);
    bool                  ok = o && is_free(o, runs, i, status);
    cp_options_free(o);
    return ok;
}

bool cp_trials_plan(const cp_trials *t, const cp_options *options, cp_runs *runs, cp_status *status) {
    const cp_command *command = t->config.command ? t->config.command : cp_options_command(options);
    bool              part = cp_command_is_subcommand(options), ok = true;
    for (int i = 0; ok && i < cp_trials_count(t); i++) {
        const cp_case *of = &t->config.cases[i % t->cases];
        cp_words       words = {0};
        if (t->config.words) {
            if (part) cp_words_add(&words, "%s", command->name);
            t->config.words(&(cp_trial){.options = options, .study_case = of, .repeat = i / t->cases, .trials = t}, &words);
        } else {
            put_own_words(options, i, &words);
        }
        ok = cp_runs_add(runs, name_of(t, i % t->cases, i / t->cases).s, of->name, &words, status);
        if (ok) runs->at[i].without_data = of->without_data;
        if (ok && of->after) runs->at[i].after = i - i % t->cases + of->after;
    }
    ok = ok && cp_runs_check(runs, status);
    for (int i = 0; ok && i < runs->count; i++) ok = check_run(command, runs, i, part, status);
    return ok;
}

/* ---- as runs of their own: collecting the results ---- */

bool cp_trials_collect(cp_trials *t, const cp_options *options, const cp_runs *runs, int *missing, cp_status *status) {
    bool ok = true;
    *missing = 0;
    for (int i = 0; ok && i < cp_trials_count(t); i++) {
        cp_run_stage stage = cp_runs_stage(runs, i);
        cp_json     *result = cp_runs_has_result(stage) ? cp_runs_read(runs, runs->at[i].name, CP_RUN_RESULT) : NULL;
        cp_trial     trial;
        cp_trial_end end = !result ? CP_TRIAL_STOPPED : stage == CP_STAGE_DONE ? CP_TRIAL_DONE : CP_TRIAL_DIVERGED;
        ok = begin_trial(&trial, t, options, NULL, i) || cp_fail(status, "not enough memory");
        if (ok && result) (t->config.read ? t->config.read : read_one)(&trial, result);
        if (ok && trial.status.message[0]) ok = cp_fail(status, "%.300s: %.150s", cp_runs_folder(runs, i).s, trial.status.message);
        if (ok)
            finish_trial(t, &trial, i, end);
        else
            drop_trial(&trial);
        if (result) cp_runs_forget_failure(runs, i);
        *missing += !result;
        cp_json_free(result);
    }
    return ok;
}

/* ---- the results ---- */

int cp_trials_repeats(const cp_trials *t) { return t->config.repeats; }

const double *(cp_trials_values)(cp_at at, const cp_trials *t, int of_case, const char *measure) {
    int m = find_measure(at, "trials_values", t, measure);
    return m >= 0 && is_case(at, "trials_values", t, of_case) ? value_of(t, of_case, m) : NULL;
}

cp_trial_series(cp_trials_series)(cp_at at, const cp_trials *t, int of_case, int repeat, const char *measure) {
    int m = find_measure(at, "trials_series", t, measure);
    return m >= 0 && is_case(at, "trials_series", t, of_case) ? *series_of(t, repeat * t->cases + of_case, m)
                                                              : (cp_trial_series){0};
}

cp_trial_end cp_trials_end(const cp_trials *t, int of_case, int repeat) { return t->ends[repeat * t->cases + of_case]; }

bool cp_trials_has(const cp_trials *t, int of_case, int repeat) { return cp_trials_end(t, of_case, repeat) != CP_TRIAL_STOPPED; }

int(cp_trials_diverged)(cp_at at, const cp_trials *t, int of_case) {
    int n = 0;
    if (!is_case(at, "trials_diverged", t, of_case)) return 0;
    for (int r = 0; r < t->config.repeats; r++) n += cp_trials_end(t, of_case, r) == CP_TRIAL_DIVERGED;
    return n;
}

cp_mean_sd(cp_trials_mean_sd)(cp_at at, const cp_trials *t, int of_case, const char *measure) {
    const double *each = (cp_trials_values)(at, t, of_case, measure);
    double       *those = each ? malloc((size_t)t->config.repeats * sizeof *those) : NULL;
    cp_mean_sd    found = {NAN, NAN};
    int           n = 0;
    for (int r = 0; those && r < t->config.repeats; r++)
        if (cp_trials_has(t, of_case, r)) those[n++] = each[r];
    if (n && !(cp_trials_diverged)(at, t, of_case)) found = cp_mean_sd_of(those, n);
    free(those);
    return found;
}

void(cp_trials_put_cell)(cp_at at, const cp_trials *t, cp_table *table, int of_case, const char *measure) {
    cp_mean_sd found = (cp_trials_mean_sd)(at, t, of_case, measure);
    int        lost = (cp_trials_diverged)(at, t, of_case), made = 0, repeats = t->config.repeats, decimals = 0;
    for (int r = 0; of_case >= 0 && of_case < t->cases && r < repeats; r++) made += cp_trials_has(t, of_case, r);
    for (const cp_measure *m = t->config.measures; m->name; m++)
        if (strcmp(m->name, measure) == 0) decimals = m->decimals;
    if (lost)
        cp_table_text(table, "diverged (%d of %d)", lost, repeats);
    else if (!isfinite(found.mean))
        cp_table_text(table, "-");
    else if (made > 1 && made < repeats)
        cp_table_text(table, "%.*f (%.*f), %d of %d", decimals, found.mean, decimals, found.sd, made, repeats);
    else if (made && made < repeats)
        cp_table_text(table, "%.*f, %d of %d", decimals, found.mean, made, repeats);
    else
        cp_table_mean_sd(table, found.mean, found.sd, decimals);
}

static void put_measure(cp_at at, const cp_trials *t, cp_json_writer *w, int of_case, int m) {
    const char *measure = t->config.measures[m].name;
    cp_mean_sd  found = (cp_trials_mean_sd)(at, t, of_case, measure);
    bool        series = false;
    cp_json_put_object(w, measure);
    cp_json_put_number(w, "mean", found.mean);
    cp_json_put_number(w, "sd", found.sd);
    cp_json_put_numbers(w, "each", value_of(t, of_case, m), (size_t)t->config.repeats);
    for (int r = 0; r < t->config.repeats; r++) series = series || series_of(t, r * t->cases + of_case, m)->count;
    if (series) cp_json_put_array(w, "series");
    for (int r = 0; series && r < t->config.repeats; r++) put_series(w, NULL, series_of(t, r * t->cases + of_case, m));
    if (series) cp_json_put_end(w);
    cp_json_put_end(w);
}

void(cp_trials_put_case)(cp_at at, const cp_trials *t, cp_json_writer *w, const char *key, int of_case) {
    int lost = (cp_trials_diverged)(at, t, of_case);
    cp_json_put_object(w, key);
    for (int m = 0; of_case >= 0 && of_case < t->cases && m < t->measures; m++)
        if (!t->config.measures[m].secondary) put_measure(at, t, w, of_case, m);
    if (lost) cp_json_put_integer(w, "diverged", lost);
    cp_json_put_end(w);
}
