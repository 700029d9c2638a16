/* What a score says of a mark, over all thresholds: ROC and precision-recall curves, and risk over coverage, with bands.
 *
 *     cp_ranking r = {.n = n, .scores = p, .marked = is_ill};
 *     if (cp_ranking_measure(&r, &status)) printf("%.3f\n", r.of[CP_RANKING_AUROC].value);
 *
 * DETECTION. A prediction is called marked when its score reaches a threshold, which goes from the highest score down:
 *
 *   auroc    the probability that a marked one has a higher score than another, equal ones counting half
 *   aupr     average precision: sum over the thresholds of precision x gain of recall, as scikit-learn's average_precision_score
 *   aupr_out the same of those that are not marked, with the negative score
 *   fpr95    the false-positive rate at the first threshold that finds 95 % or more of the marked
 *
 *   roc      sensitivity over the false-positive rate, linear between the thresholds, the highest where it is steep
 *   pr       precision over recall: that of the first threshold that reaches the recall
 *
 * ABSTENTION. The predictions are answered from the highest score down, and `marked` are the right ones. Among equal scores the right
 * ones are spread evenly, so that their order does not matter:
 *
 *   aurc     mean over k = 1..n of the share of wrong ones among the first k (Geifman and El-Yaniv 2017)
 *   covered  the accuracy of the first 80 %: ceil(0.8 n)
 *   risk     the share of wrong ones among the first ceil(coverage n), at least one
 *
 * Without marked ones, or without others, what needs them is NaN. The intervals are from the bootstrap (bootstrap.h). */
#pragma once

#include "experiments/kit/metrics/metrics.h"

enum { CP_CURVE_POINTS = 101 }; /* at 0, 0.01, ..., 1 of the horizontal axis */
typedef enum cp_curve { CP_CURVE_ROC, CP_CURVE_PR, CP_CURVE_RISK, CP_CURVES } cp_curve;

typedef enum cp_ranking_number {
    CP_RANKING_AUROC,
    CP_RANKING_AUPR,
    CP_RANKING_AUPR_OUT,
    CP_RANKING_FPR95,
    CP_RANKING_AURC,
    CP_RANKING_COVERED,
    CP_RANKING_NUMBERS
} cp_ranking_number;
extern const char *const cp_ranking_names[CP_RANKING_NUMBERS];

typedef struct cp_ranking {
    int           n;
    const double *scores; /* (n), none NaN */
    const bool   *marked; /* (n) */
    const int    *groups; /* (n), any numbers: see cp_predictions; NULL: none */
    bool          abstention;
    int           resamples; /* 0: 1,000; below 0: none */
    uint64_t      seed;

    cp_estimate of[CP_RANKING_NUMBERS]; /* measured: detection or abstention, and the others NaN */
    cp_estimate curves[CP_CURVES][CP_CURVE_POINTS];
} cp_ranking;

bool cp_ranking_measure(cp_ranking *ranking, cp_status *status); /* false: out of memory */
