/* What the metrics' own files share: predictions scored once, and the metrics of any resample of them. */
#ifndef CP_KIT_METRICS_PARTS_H
#define CP_KIT_METRICS_PARTS_H

#include "experiments/kit/metrics.h"

/* Row i as doubles. */
void cp_predictions_row(const cp_predictions *predictions, int i, double *row);

/* Whether predictions can be used at all: false after cp_misuse or with a message; see metrics.h. */
bool cp_predictions_check(cp_at at, const char *op, const cp_predictions *predictions, cp_status *status);

/* The metrics' view of predictions. An `order` lists them by ascending score. */
typedef struct cp_scored {
    int        n, classes;
    const int *labels;
    int       *predicted;                /* (n) */
    double    *confidence, *nll, *brier; /* (n) */
    int       *by_confidence;            /* (n) */
    int        first_auc, auc_classes;   /* the classes whose AUC is wanted */
    double    *scores;                   /* (auc_classes, n) */
    int       *by_score;                 /* (auc_classes, n) */
} cp_scored;

bool cp_scored_make(cp_scored *scored, const cp_predictions *predictions); /* false: out of memory; free it in any case */
void cp_scored_free(cp_scored *scored);

/* The metrics when prediction i is there weights[i] times. `tally` has room for 2 * classes. */
void cp_scored_measure(const cp_scored *scored, const int *weights, double *tally, double values[CP_METRICS],
                       cp_bin bins[CP_CALIBRATION_BINS]);

/* Fills low and high of each measure, and the number of groups; false: out of memory. */
bool cp_bootstrap(const cp_scored *scored, const int *groups, cp_metrics_config config, cp_metrics *metrics);

#endif
