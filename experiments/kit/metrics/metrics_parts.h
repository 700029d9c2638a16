/* What the metrics' own files share: predictions scored once, and the metrics of any resample of them. */
#ifndef CP_KIT_METRICS_PARTS_H
#define CP_KIT_METRICS_PARTS_H

#include "experiments/kit/metrics/metrics.h"

/* Row i as doubles. */
void cp_predictions_row(const cp_predictions *predictions, int i, double *row);

/* Whether predictions can be used at all: false after cp_misuse or with a message; see metrics.h. */
bool cp_predictions_check(cp_at at, const char *op, const cp_predictions *predictions, cp_status *status);

/* The metrics' view of predictions; by_confidence and by_score list them in ascending order. */
typedef struct cp_scored {
    int        n, classes;
    const int *labels;
    int       *predicted;                /* (n) */
    double    *confidence, *nll, *brier; /* (n) */
    int       *by_confidence;            /* (n) */
    int        first_auc, auc_classes;   /* the classes whose AUC is wanted */
    double    *scores;                   /* (auc_classes, n) */
    int       *by_score;                 /* (auc_classes, n) */
    int        groups;                   /* how many; n when there are none */
    int       *group;                    /* (n): 0..groups-1; NULL: there are none */
    double    *by_group;                 /* (n): the weights of metrics by group; NULL: there are none */
} cp_scored;

bool cp_scored_make(cp_scored *scored, const cp_predictions *predictions); /* false: out of memory; free it in any case */
void cp_scored_free(cp_scored *scored);

/* The metrics when prediction i is there weights[i] times, which need not be a whole number: adaptive_ece is NaN unless all are
 * `whole`. `tally` has room for 2 * classes. */
void cp_scored_measure(const cp_scored *scored, const double *weights, bool whole, double *tally, double values[CP_METRICS],
                       cp_bin bins[CP_CALIBRATION_BINS]);

/* Fills low and high of each measure; false: out of memory. */
bool cp_bootstrap(const cp_scored *scored, cp_metrics_config config, cp_metrics *metrics);

#endif
