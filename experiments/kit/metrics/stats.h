/* Means, quantiles and the Cholesky factor. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Mean and standard deviation (n - 1 below) of values; with fewer than two the sd is NaN. */
typedef struct cp_mean_sd {
    double mean, sd;
} cp_mean_sd;
cp_mean_sd cp_mean_sd_of(const double *values, int count);

void   cp_values_sort(double *values, int count); /* ascending; none may be NaN */
double cp_values_quantile(const double *sorted, int count,
                          double share); /* linear between neighbors, as numpy's default; count >= 1 */

/* The indices of values in ascending order, equal values by index, into order (count). False: not enough memory. */
bool cp_values_order(const double *values, int count, int *order);

/* The percentile `share` (0 to 100) of those numbers that are finite and above `above`, exact and without a copy of them: of n
 * numbers the one with floor(share / 100 (n - 1)) others before it in their order. False when there are none. */
bool cp_percentile_above(const float *values, size_t count, float above, double share, float *percentile);

/* The lower triangle of a symmetric matrix (n, n) becomes that of L, with the matrix = L L'. A column without variance becomes zero. */
void cp_cholesky(double *matrix, size_t n);
void cp_cholesky_solve(const double *l, size_t n, double *x); /* x becomes L^-1 x */
