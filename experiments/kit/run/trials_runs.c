/* Trials that are runs of their own: their commands, and the numbers from their results. */
#include "experiments/kit/run/trials_parts.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static cp_trial trial_of(const cp_trials *t, const cp_options *options, int trial, double *values) {
    return (cp_trial){.options = options,
                      .study_case = &t->config.cases[cp_trials_case(t, trial)],
                      .repeat = cp_trials_repeat(t, trial),
                      .trials = t,
                      .values = values};
}

/* ---- names and words ---- */

typedef struct run_name {
    char s[200];
} run_name;

/* What a folder may be called everywhere. */
static run_name name_of(const char *of_case, int64_t number) {
    run_name name;
    int      used = snprintf(name.s, 170, "%s", of_case);
    used = used < 170 ? used : 169;
    for (char *c = name.s; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._=+-", *c)) *c = '_';
    snprintf(name.s + used, sizeof name.s - (size_t)used, "-%lld", (long long)number);
    return name;
}

/* The study's own command, for one trial of it. */
static void put_own_words(const cp_options *o, int trial, cp_words *words) {
    cp_words_add_command(words, o,
                         (const char *[]){"jobs", "list", "slurm", "status", "threads", "out", "quiet", "json", "report", NULL});
    cp_words_add(words, "--trial=%d", trial);
}

/* ---- the plan ---- */

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
        cp_trial trial = trial_of(t, options, i, NULL);
        int64_t  number = t->config.numbers ? t->config.numbers[trial.repeat] : trial.repeat + 1;
        cp_words words = {0};
        if (t->config.words) {
            if (part) cp_words_add(&words, "%s", command->name);
            t->config.words(&trial, &words);
        } else {
            put_own_words(options, i, &words);
        }
        ok = cp_runs_add(runs, name_of(trial.study_case->name, number).s, trial.study_case->name, &words, status);
        if (ok) runs->at[runs->count - 1].without_data = trial.study_case->without_data;
    }
    ok = ok && cp_runs_check(runs, status);
    for (int i = 0; ok && i < runs->count; i++) ok = check_run(command, runs, i, part, status);
    return ok;
}

/* ---- what they found ---- */

void cp_trials_put_one(const cp_trials *t, cp_json_writer *w, int trial) {
    int of_case = cp_trials_case(t, trial), repeat = cp_trials_repeat(t, trial);
    cp_json_put_string(w, "case", t->config.cases[of_case].name);
    cp_json_put_integer(w, "repeat", repeat);
    cp_json_put_object(w, "values");
    for (int m = 0; m < t->measures; m++)
        cp_json_put_number(w, t->config.measures[m].name, *cp_trials_value(t, of_case, m, repeat));
    cp_json_put_end(w);
    if (t->ends[trial] == CP_TRIAL_DIVERGED) cp_json_put_bool(w, "diverged", true);
}

static void read_own(cp_trial *trial, const cp_json *result) {
    const cp_json *values = cp_json_get(result, "values");
    for (const cp_measure *m = trial->trials->config.measures; m->name; m++)
        cp_trial_put(trial, m->name, cp_json_number(cp_json_get(values, m->name), NAN));
}

bool cp_trials_collect(cp_trials *t, const cp_options *options, const cp_runs *runs, int *missing, cp_status *status) {
    double *values = malloc((size_t)t->measures * sizeof *values);
    bool    ok = values || cp_fail(status, "not enough memory");
    *missing = 0;
    for (int i = 0; ok && i < cp_trials_count(t); i++) {
        cp_run_stage stage = cp_runs_stage(runs, i);
        cp_json     *result =
            stage == CP_STAGE_DONE || stage == CP_STAGE_DIVERGED ? cp_runs_read(runs, runs->at[i].name, CP_RUN_RESULT) : NULL;
        cp_trial     trial = trial_of(t, options, i, values);
        cp_trial_end end = !result ? CP_TRIAL_STOPPED : stage == CP_STAGE_DONE ? CP_TRIAL_DONE : CP_TRIAL_DIVERGED;
        for (int m = 0; m < t->measures; m++) values[m] = NAN;
        if (result) (t->config.read ? t->config.read : read_own)(&trial, result);
        if (trial.status.message[0]) ok = cp_fail(status, "%.300s: %.150s", cp_runs_folder(runs, i).s, trial.status.message);
        cp_trials_keep(t, i, end, values);
        *missing += !result;
        cp_json_free(result);
    }
    free(values);
    return ok;
}
