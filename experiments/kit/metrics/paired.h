/* Tests for two classifiers on the same rows: McNemar for accuracy, DeLong for the AUC, the bootstrap for anything, and Holm's correction.
 * All p-values are two-sided. */
#pragma once

#include "experiments/kit/metrics/metrics.h"

/* The sign test: the probability that of wins + losses fair coins at most the smaller or at least the larger number would be heads. 1 when there are
 * none; ties count as neither. Of the rows that only one of two classifiers gets right it is McNemar's exact test. */
double cp_sign_test(int wins, int losses);

/* DeLong's test for two correlated AUCs (DeLong, DeLong and Clarke-Pearson 1988; by midranks, as Sun and Xu 2014). The variance is NaN with
 * fewer than two rows of either kind, and p then too, and where the variance is 0 but the AUCs differ. */
typedef struct cp_delong {
    double auc[2], variance, p; /* variance of their difference */
} cp_delong;

/* Scores (n), none NaN; rows are marked or not. False: out of memory. */
bool cp_delong_test(int n, const double *first, const double *second, const bool *marked, cp_delong *test);

/* Of differences over resamples, ascending or not: 2 (1 + the fewer of those at most 0 and at least 0) / (1 + all), at most 1. NaN are left
 * out; NaN without others. */
double cp_bootstrap_p(const double *differences, int count);

/* A metric of `a` less that of `b`, with the interval over the resamples that both kept, in their order, and their p as above. The resamples
 * are the same ones with one seed on the same rows, otherwise independent. A single row or group on either side gives neither
 * interval nor p. False: out of memory. */
bool cp_metrics_subtract(const cp_metrics *a, const cp_metrics *b, cp_metric metric, cp_estimate *difference, double *p);

/* Holm's correction into `adjusted`, which may be p: the i-th smallest of m p-values is multiplied by m - i + 1; none is below a smaller one's,
 * or above 1. NaN stay, and do not count. */
bool cp_holm(int count, const double *p, double *adjusted); /* false: out of memory */
