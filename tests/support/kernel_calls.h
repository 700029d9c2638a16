/* For tests of the kernels: random numbers, comparisons, and a loop over all families, including one that the library never
 * chooses. */
#ifndef CP_TESTS_KERNEL_CALLS_H
#define CP_TESTS_KERNEL_CALLS_H

#include "core/kernels/kernels.h"

void     random_restart(void);
uint32_t random_u32(void);
int      random_between(int low, int high); /* both included */

/* Exactly `count` numbers on the heap, so that the address sanitizer detects an access beyond them; filled with [-1, 1). */
cp_real *numbers(size_t count);

/* Fails if the largest difference is above `tolerance`, relative to the largest expected number or, if all cancel, to the
 * size of a sum of `depth` products of numbers in [-1, 1]. */
void assert_close(size_t count, const cp_real *got, const cp_real *expected, size_t depth, double tolerance, const char *message);
/* Fails if a difference is above the rounding of one number, for results that were summed in double. */
void assert_rounded(size_t count, const cp_real *got, const double *expected, const char *message);

/* for (int next = FAMILY_REFERENCE; kernels_next(&next);) uses all families that run here, one after the other: the
 * reference, the library's own and `wide` (family_wide.c). From FAMILY_FAST on it skips the reference. */
enum { FAMILY_REFERENCE, FAMILY_FAST };
bool kernels_next(int *next);
void kernels_reference(void);
void kernels_default(void); /* the library's own choice */
void kernels_method(cp_conv_method method);

/* Setup and teardown of tests of kernels: the random numbers from their start, and scratch memory, which must be released. */
cp_arena *kernels_begin(void);
void      kernels_end(void);

#if !CP_DOUBLE
extern const cp_kernel_family cp_family_wide;
#endif

#endif
