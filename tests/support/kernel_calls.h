/* For tests of the kernels: random numbers, comparisons, and calls of a chosen family, which may be one that the
 * library's own choice does not know. */
#ifndef CP_TESTS_KERNEL_CALLS_H
#define CP_TESTS_KERNEL_CALLS_H

#include "core/kernels/fast.h"

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
bool        kernels_next(int *next);
void        kernels_reference(void);
void        kernels_default(void); /* the library's own choice */
void        kernels_method(cp_conv_method method);
const char *kernels_used(void);

/* The kernels of the family in use; the same as cp_kernel_... */
void   call_gemm(cp_arena *scratch, bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const cp_real *a, const cp_real *b,
                 cp_real *c, bool accumulate);
void   call_conv2d(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *w, const cp_conv_fusion *fusion,
                   cp_real *y);
void   call_conv2d_input_grad(cp_arena *scratch, const cp_conv_shape *s, const cp_real *gy, const cp_real *w,
                              const cp_conv_fusion *fusion, cp_real *gx);
void   call_conv2d_weight_grad(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *gy,
                               const cp_conv_fusion *fusion, cp_real *gw, cp_real *gb);
void   call_exp(size_t n, const cp_real *x, cp_real *y);
void   call_log(size_t n, const cp_real *x, cp_real *y);
void   call_tanh(size_t n, const cp_real *x, cp_real *y);
void   call_sigmoid(size_t n, const cp_real *x, cp_real *y);
void   call_add(size_t n, const cp_real *a, const cp_real *b, cp_real *y);
void   call_leaky(size_t n, const cp_real *x, cp_real slope, cp_real *y);
void   call_gate(size_t n, const cp_real *g, const cp_real *a, cp_real slope, cp_real *y);
void   call_signs(size_t rows, size_t channels, const cp_real *x, const cp_real *scale, const cp_real *shift, unsigned char *signs);
double call_fma_peak(void);

#if !CP_DOUBLE
const cp_kernel_family *family_wide(void);
#endif

#endif
