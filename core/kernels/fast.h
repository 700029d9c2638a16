/* Inside core/kernels: the families of fast float kernels and what the dispatcher and the tests need to choose among
 * them. One family is the same source (the fast_*.inc files) compiled for one kind of processor. */
#ifndef CP_KERNELS_FAST_H
#define CP_KERNELS_FAST_H

#include "core/kernels/kernels.h"

/* How a convolution is computed. AUTO is what COUPLET_CONV says, and without that the cheapest that applies; a method
 * that does not apply falls back to DIRECT. */
typedef enum cp_conv_method { CP_CONV_AUTO, CP_CONV_DIRECT, CP_CONV_WINOGRAD_2, CP_CONV_WINOGRAD_4 } cp_conv_method;

#if !CP_DOUBLE
typedef struct cp_kernel_family {
    const char *name;
    void (*gemm)(cp_arena *scratch, bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const float *a, const float *b,
                 float *c, bool accumulate);
    void (*conv2d)(cp_arena *scratch, const cp_conv_shape *s, cp_conv_method method, const float *x, const float *w,
                   const cp_conv_fusion *fusion, float *y);
    void (*conv2d_input_grad)(cp_arena *scratch, const cp_conv_shape *s, cp_conv_method method, const float *gy, const float *w,
                              const cp_conv_fusion *fusion, float *gx);
    void (*conv2d_weight_grad)(cp_arena *scratch, const cp_conv_shape *s, cp_conv_method method, const float *x, const float *gy,
                               const cp_conv_fusion *fusion, float *gw, float *gb);
    void (*exp)(size_t n, const float *x, float *y);
    void (*log)(size_t n, const float *x, float *y);
    void (*tanh)(size_t n, const float *x, float *y);
    void (*sigmoid)(size_t n, const float *x, float *y);
    void (*add)(size_t n, const float *a, const float *b, float *y);
    void (*leaky)(size_t n, const float *x, float slope, float *y);
    void (*gate)(size_t n, const float *g, const float *a, float slope, float *y);
    void (*signs)(size_t rows, size_t channels, const float *x, const float *scale, const float *shift, unsigned char *signs);
    double (*fma_peak)(void);
} cp_kernel_family;

/* NULL when the library was built for another kind of processor. Whether this one can run it is not asked here. */
const cp_kernel_family *cp_family_portable(void);
const cp_kernel_family *cp_family_avx2(void);
const cp_kernel_family *cp_family_avx512(void);
#endif

/* For tests and benchmarks: forces a family by its name (NULL: the automatic choice) and a method. False, and nothing
 * is changed, when the family is unknown or does not run here. */
bool        cp_kernels_force(const char *family, cp_conv_method method);
const char *cp_kernels_family(void);

/* GFLOP/s of one core in multiplications and additions on registers, with the vectors of the family that runs; measured for
 * 20 ms at each call. With the reference kernels: of plain C on cp_real. */
double cp_kernel_fma_peak(void);

#endif
