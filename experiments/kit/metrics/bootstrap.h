/* The bootstrap: what numbers become over resamples of the predictions, drawn with replacement, or of whole groups of them.
 *
 * Resample r takes its numbers from position r 2^33 of the random stream "bootstrap" of the seed: the same bits on any number of threads,
 * and with one seed the same resamples for whatever is measured, so that differences between two models on the same rows are paired. */
#pragma once

#include "experiments/kit/metrics/metrics.h"

typedef struct cp_resampling {
    int         n;
    const int  *groups;    /* (n), any numbers: see cp_predictions; NULL: every prediction is on its own */
    int         resamples; /* 0: 1,000; below 0: none */
    uint64_t    seed;
    size_t      values, scratch; /* numbers that `measure` writes for a resample, and that it has as memory of its own */
    const void *context;

    /* times (n): how often the resample has each prediction; all 1 for the predictions themselves. Called by several threads. */
    void (*measure)(const void *context, const double *times, double *scratch, double *values);
} cp_resampling;

/* Into `to` (values) what the predictions themselves give, with intervals. Returns (values, *count) of the resamples, in their order, to be
 * freed; NULL: out of memory. A single group has no resamples. */
double *cp_resample(const cp_resampling *resampling, cp_estimate *to, int *count);

/* The interval of 95 % into an estimate: percentiles, linear between neighbors, of the values that are not NaN, which are sorted. Without
 * any, or of a NaN, it is left as it is. */
void cp_estimate_interval(cp_estimate *estimate, double *values, int count);
