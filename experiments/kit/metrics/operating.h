/* Operating points of a score: a prediction counts as positive when its score reaches a threshold, which is chosen on one split and measured
 * on another:
 *
 *     cp_operating_rule rule;
 *     cp_operating      point = {.n = test->count, .scores = p, .positive = is_ill, .prevalence = 0.02};
 *     if (cp_operating_read("sensitivity=0.95", &rule, &status) &&
 *         cp_operating_choose(rule, val->count, val_p, val_is_ill, &point.threshold, &status) && cp_operating_measure(&point, &status))
 *         printf("%.3f (%.3f to %.3f)\n", point.of[CP_SPECIFICITY].value, point.of[CP_SPECIFICITY].low, point.of[CP_SPECIFICITY].high);
 *
 * The RULE is a number, the threshold itself, or chooses among the scores and infinity, which nothing reaches:
 *
 *   sensitivity=S   the highest threshold at which the sensitivity is at least S
 *   specificity=S   the lowest threshold at which the specificity is at least S
 *   youden          the threshold with the largest sensitivity + specificity; the highest of equal ones
 *
 * With t+, f+, t-, f- the true and false positives and negatives:
 *
 *   sensitivity  t+ / (t+ + f-)        PPV  t+ / (t+ + f+)        F1  2 t+ / (2 t+ + f+ + f-)
 *   specificity  t- / (t- + f+)        NPV  t- / (t- + f-)
 *   PPV and NPV at a prevalence q: q sens / (q sens + (1 - q)(1 - spec)), (1 - q) spec / ((1 - q) spec + q (1 - sens))
 *
 * The intervals of 95 % are Wilson's for sensitivity, specificity, PPV and NPV. Those of the others, and with groups of all, are from the
 * bootstrap (bootstrap.h). A rate without a denominator is NaN. */
#pragma once

#include "experiments/kit/metrics/metrics.h"

typedef enum cp_operating_kind { CP_AT_THRESHOLD, CP_AT_SENSITIVITY, CP_AT_SPECIFICITY, CP_AT_YOUDEN } cp_operating_kind;

typedef struct cp_operating_rule {
    cp_operating_kind kind;
    double            value;
} cp_operating_rule;

typedef enum cp_rate { CP_SENSITIVITY, CP_SPECIFICITY, CP_PPV, CP_NPV, CP_RATE_F1, CP_PPV_AT, CP_NPV_AT, CP_RATES } cp_rate;

typedef struct cp_operating {
    int           n;
    const double *scores;                /* (n), none NaN */
    const bool   *positive;              /* (n) */
    const int    *groups;                /* (n), any numbers: see cp_predictions; NULL: none */
    double        threshold, prevalence; /* prevalence: 0: not known, and its two rates are NaN */
    int           resamples;             /* 0: 1,000; below 0: none */
    uint64_t      seed;

    int         counts[2][2]; /* measured: [positive][score reaches the threshold] */
    cp_estimate of[CP_RATES];
} cp_operating;

extern const char *const cp_rate_names[CP_RATES], *const cp_rate_titles[CP_RATES]; /* "ppv_at", "PPV" */

/* False with a message for another text, or a share outside 0 to 1. */
bool cp_operating_read(const char *text, cp_operating_rule *rule, cp_status *status);

/* False with a message when all are positive, or none is, unless the rule is a number. */
bool cp_operating_choose(cp_operating_rule rule, int n, const double *scores, const bool *positive, double *threshold,
                         cp_status *status);

bool cp_operating_measure(cp_operating *point, cp_status *status); /* false: out of memory */

/* Wilson's interval of 95 % of the share hits / n, which is its value; NaN for n = 0. */
cp_estimate cp_wilson(double hits, double n);
