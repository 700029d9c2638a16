/* For tests of the kernels: random numbers, comparisons, and one family after the other, also one that the library's own
 * choice does not know. */
#ifndef CP_TESTS_KERNEL_CALLS_H
#define CP_TESTS_KERNEL_CALLS_H

#include "core/kernels/kernels.h"

void     random_restart(void);
uint32_t random_u32(void);
int      random_between(int low, int high); /* both included */

/* Exactly `count` numbers on the heap, so that the address sanitizer sees a step beyond them; filled with [-1, 1). */
cp_real *numbers(size_t count);

/* Fails when the largest difference is above `tolerance`, relative to the largest expected number or, where all cancel,
 * to the size that a sum of `depth` products of numbers in [-1, 1] has. */
void assert_close(size_t count, const cp_real *got, const cp_real *expected, size_t depth, double tolerance, const char *message);
/* Fails when a difference is above the rounding of one number: what was summed in double. */
void assert_rounded(size_t count, const cp_real *got, const double *expected, const char *message);

/* for (int next = FAMILY_REFERENCE; kernels_next(&next);) uses one family after the other that runs here: the
 * reference, the library's own and `wide` (family_wide.c). From FAMILY_FAST on it leaves out the reference. */
enum { FAMILY_REFERENCE, FAMILY_FAST };
bool kernels_next(int *next);
void kernels_reference(void);
void kernels_default(void); /* the library's own choice */
void kernels_method(cp_conv_method method);

/* What a test of kernels sets up and, in the end, checks and takes back: random numbers from their start, and scratch memory. */
cp_arena *kernels_begin(void);
void      kernels_end(void);

#if !CP_DOUBLE
extern const cp_kernel_family cp_family_wide;
#endif

#endif
