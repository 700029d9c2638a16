/* Percentiles of many numbers, exact and without a copy of them. The percentile q of n numbers is the one with
 * floor(q / 100 (n - 1)) others before it in their order. */
#ifndef CP_KIT_PERCENTILE_H
#define CP_KIT_PERCENTILE_H

#include <stdbool.h>
#include <stddef.h>

/* The percentile `share` (0 to 100) of those numbers that are finite and above `above`; false when there are none. */
bool cp_percentile_above(const float *values, size_t count, float above, double share, float *percentile);

#endif
