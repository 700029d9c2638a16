/* Per-channel work on arrays seen as (rows, channels): the parts of batch normalization, each in one pass over memory.
 *
 * Statistics are gathered in blocks of fixed length and combined in order, so that they do not depend on the number of threads;
 * variances are sums of squared deviations from a mean (Chan's combination), never differences of large sums. */
#pragma once

#include "core/arena.h"
#include "core/real.h"

/* Mean and biased variance of each channel; rows >= 1. false when out of memory. */
bool cp_kernel_moments(cp_arena *scratch, size_t rows, size_t channels, const cp_real *x, cp_real *mean, cp_real *variance);

/* sum_g[c] = sum of g, sum_gx[c] = sum of g (x - mean[c]) rstd[c]. false when out of memory. */
bool cp_kernel_norm_sums(cp_arena *scratch, size_t rows, size_t channels, const cp_real *g, const cp_real *x, const cp_real *mean,
                         const cp_real *rstd, cp_real *sum_g, cp_real *sum_gx);

/* y = scale[c] (x - center[c]) + shift[c]; center may be NULL: 0. */
void cp_kernel_scale_shift(size_t rows, size_t channels, const cp_real *x, const cp_real *center, const cp_real *scale,
                           const cp_real *shift, cp_real *y);

/* y = of_g[c] g + scale[c] (x - center[c]) + shift[c] */
void cp_kernel_norm_grad(size_t rows, size_t channels, const cp_real *g, const cp_real *of_g, const cp_real *x,
                         const cp_real *center, const cp_real *scale, const cp_real *shift, cp_real *y);
