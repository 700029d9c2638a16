/* Metrics of a classifier on one split, each with a bootstrap interval.
 *
 *     cp_predictions predictions = {.n = test->count, .classes = 8, .values = logits, .logits = true, .labels = test->labels};
 *     cp_metrics *m = cp_metrics_new(&predictions, (cp_metrics_config){.seed = seed}, &status);
 *     printf("%.2f %% (%.2f to %.2f)\n", 100 * m->of[CP_ACCURACY].value, 100 * m->of[CP_ACCURACY].low, 100 * m->of[CP_ACCURACY].high);
 *     cp_metrics_free(m);
 *
 * For prediction i let p_ic be the probability of class c, y_i the label, k_i = argmax_c p_ic the predicted class (the lowest
 * of equal ones), q_i = p_i,k_i the confidence. Everything is computed in double, whatever cp_real is.
 *
 *     accuracy            share of k_i = y_i
 *     balanced_accuracy   mean over the classes that occur as labels of the share of k_i = c among those with y_i = c
 *     auc                 for class c: the probability that p_ic of an i with label c is above p_jc of a j without, equal ones
 *                         counting half. Two classes: that of class 1. Otherwise the mean over the classes that some but not
 *                         all labels are. NaN when there is no such class, as with one label only
 *     nll                 mean of -ln p_i,y_i, natural logarithm. A probability counts as at least 2^-52, as in scikit-learn,
 *                         so that a certain mistake costs 36.04; logits need no such floor, and their NLL is exact
 *     brier               mean of sum_c (p_ic - [y_i = c])^2: 0 to 2. With two classes twice scikit-learn's brier_score_loss
 *     ece                 expected calibration error: sum_b n_b / n |accuracy_b - confidence_b| over 15 bins of the confidence,
 *                         bin b being (b / 15, (b + 1) / 15]: b = ceil(15 q) - 1, kept within 0..14
 *     mce                 maximum calibration error: the largest |accuracy_b - confidence_b| of those bins that hold any
 *     adaptive_ece        the same sum as ece over 15 bins of equal mass: the predictions in the order of their confidence are
 *                         cut into 15 runs, of which the first n mod 15 have floor(n / 15) + 1 members and the others
 *                         floor(n / 15). Predictions of equal confidence that a cut separates count on both sides with their
 *                         common mean accuracy, so that their order does not affect the result
 *
 * Both ECEs are strongly biased upward on small sets: noise within a bin adds to the sum. Resampling adds the same noise
 * once more, so that the interval of a well calibrated model's ECE lies high and may lie above the estimate. `ece_debiased` subtracts the
 * noise that is expected (Kumar et al. 2019, in closed form): 2 ece - sum_b n_b / n E|N(accuracy_b - confidence_b, accuracy_b (1 -
 * accuracy_b) / n_b)|, and 0 when that is negative; its interval is that of ece reflected at ece.
 *
 * BY CLASS, one against the rest: recall, precision (NaN of a class that is never predicted), F1 = 2 right / (labels + predictions), AUC; and
 * the means over the classes in which they are not NaN. `kappa` is Cohen's, 1 - disagreement / that expected by chance, with all
 * disagreements equal, and with the squared distance of the classes' numbers as weight, for classes that are ordered;
 * for these too, the mean absolute error of those numbers.
 *
 * BY GROUP. Where predictions come in `groups`, as slices of patients, all of these but adaptive_ece are also given with every group
 * counting the same, whatever its size: prediction i has the weight w_i = n / (groups * size of its group), and shares, means and
 * pairs are weighted by it, as by scikit-learn's sample_weight. So accuracy, nll and brier by group are the means over the groups
 * of the means within each. Groups of one size change nothing, to the bit. adaptive_ece is left out: its bins are cut by the number
 * of predictions.
 *
 * The interval is from the 2.5th to the 97.5th percentile (linear between neighbors) of the metric over resamples of n
 * predictions drawn with replacement, or, with `groups`, of as many whole groups as there are (all predictions of a patient
 * together); those by group are of the same resamples (bootstrap.h), in which every group counts as often as it was drawn. Resamples in
 * which the metric is NaN are left out; when there are no others, both ends are NaN. A single group has no intervals. */
#pragma once

#include "core/error.h"
#include "core/io/json.h"
#include "core/real.h"

enum { CP_CALIBRATION_BINS = 15 };

typedef enum cp_metric {
    CP_ACCURACY,
    CP_BALANCED_ACCURACY,
    CP_AUC,
    CP_NLL,
    CP_BRIER,
    CP_ECE,
    CP_MCE,
    CP_ADAPTIVE_ECE,
    CP_METRICS,
    CP_METRICS_BY_GROUP = CP_ADAPTIVE_ECE /* those before it are given by group too */
} cp_metric;

const char *cp_metric_name(cp_metric metric);     /* as in the list above: "balanced_accuracy" */
const char *cp_metric_title(cp_metric metric);    /* in tables: "balanced" */
bool        cp_metric_is_share(cp_metric metric); /* shown in percent: all but auc, nll and brier */

typedef enum cp_class_metric { CP_RECALL, CP_PRECISION, CP_F1, CP_CLASS_AUC, CP_CLASS_METRICS } cp_class_metric;
enum { CP_KAPPA, CP_KAPPA_QUADRATIC, CP_MAE, CP_AGREEMENTS };

/* The predictions for a split; all arrays are the caller's. */
typedef struct cp_predictions {
    int            n, classes;
    const double  *values; /* (n, classes): probabilities, or logits */
    const cp_real *reals;  /* the same as cp_real; used when `values` is NULL */
    bool           logits;
    double         temperature; /* p = softmax(logits / temperature); 0: 1. Probabilities have none */
    const int     *labels;      /* (n), 0..classes-1 */
    const int     *groups;      /* (n), any numbers: predictions of one are of one group; NULL: each is on its own */
} cp_predictions;

typedef struct cp_metrics_config {
    int      resamples; /* 0: 1,000; below 0: none, and the intervals are NaN */
    uint64_t seed;
    bool     keep; /* the metrics of each resample */
} cp_metrics_config;

typedef struct cp_estimate {
    double value, low, high;
} cp_estimate;

/* A row of the reliability table; confidence and accuracy are means, NaN when count is 0. */
typedef struct cp_bin {
    int    count;
    double confidence, accuracy;
} cp_bin;

typedef struct cp_metrics {
    int          n, classes;
    int          groups;               /* n when there are none */
    bool         grouped;              /* there are groups */
    cp_estimate  of[CP_METRICS];       /* values as in the formulas above: shares are not yet percent */
    cp_estimate  by_group[CP_METRICS]; /* NaN when there are no groups; adaptive_ece always */
    cp_bin       bins[CP_CALIBRATION_BINS];
    double       mean_confidence;
    int         *confusion; /* (classes, classes): [label][predicted] */
    cp_estimate  ece_debiased, agreement[CP_AGREEMENTS];
    cp_estimate *by_class;  /* (classes + 1, CP_CLASS_METRICS): the last row has the means */
    double      *resampled; /* (CP_METRICS or more, resamples), in their order; NULL: not kept */
    int          resamples;
} cp_metrics;

/* NULL with a message, naming the row: no predictions, a value that is not finite, a probability outside [0, 1] or a row of
 * them whose sum is off 1 by more than 1e-3 (smaller differences are rounding: the values are taken as they are), a label that is not
 * a class. NULL arrays, sizes below 1, a temperature of probabilities or one that is not above 0 are misuse. */
cp_metrics *cp_metrics_new(cp_at at, const cp_predictions *predictions, cp_metrics_config config, cp_status *status);
void        cp_metrics_free(cp_metrics *metrics); /* NULL is allowed */

/* Numbers groups 0, 1, ... in the ascending order of their own numbers: (n), to be freed; NULL: out of memory. */
int *cp_groups_number(const int *groups, int n, int *count);

/* For result.json: {"n": 624, "accuracy": 86.7, ..., "intervals": {"accuracy": [83.9, 89.3], ...}}, shares in percent, and "bins":
 * {"count": [...], "confidence": [...], "accuracy": [...]}, where the means are shares of 1 or, of an empty bin, null. Where
 * there are groups, also "by_patient": {"n": groups, "accuracy": 85.1, ..., "intervals": {...}}. */
void cp_metrics_put(const cp_metrics *metrics, cp_json_writer *writer, const char *key);

#define cp_metrics_new(...) cp_metrics_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
