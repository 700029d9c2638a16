/* What the files of trials share: trials.c makes them on threads, trials_runs.c as runs of their own. */
#ifndef CP_KIT_TRIALS_PARTS_H
#define CP_KIT_TRIALS_PARTS_H

#include "experiments/kit/run/trials.h"

struct cp_trials {
    cp_trials_config config;
    int              cases, measures;
    double          *values; /* by case, measure and repetition, the last fastest */
    cp_trial_end    *ends;   /* by repetition and case: the order of the trials */
};

static inline int cp_trials_case(const cp_trials *t, int trial) {
    return trial % t->cases;
}

static inline int cp_trials_repeat(const cp_trials *t, int trial) {
    return trial / t->cases;
}

static inline double *cp_trials_value(const cp_trials *t, int of_case, int measure, int repeat) {
    return t->values + ((size_t)of_case * (size_t)t->measures + (size_t)measure) * (size_t)t->config.repeats + repeat;
}

/* Keeps how a trial ended, with a value for each measure. */
void cp_trials_keep(cp_trials *trials, int trial, cp_trial_end end, const double *values);

#endif
