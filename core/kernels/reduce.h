/* Sums and maxima along one axis of an array seen as (outer, count, inner). */
#pragma once

#include "core/arena.h"
#include "core/real.h"

/* y (outer, inner) = sum over the middle axis of x, accumulated in double. false when out of memory. */
bool cp_kernel_sum(cp_arena *scratch, size_t outer, size_t count, size_t inner, const cp_real *x, cp_real *y);

/* y (outer, inner) = maximum over the middle axis, count >= 1; a NaN wins. */
void cp_kernel_max(size_t outer, size_t count, size_t inner, const cp_real *x, cp_real *y);
