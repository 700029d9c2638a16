/* Number crunching on raw arrays: what the ops call, as cp_kernels()->gemm(...).
 *
 * A family is one version of every kernel. The reference is plain, readable C for float and double, tested against plain loops; the
 * fast families of the float build (the fast_*.inc files, compiled once for each kind of processor) are tested against it. Images
 * are (N,H,W,C), convolution weights (kh,kw,C/groups,K). Kernels run on the pool (core/threads.h), except functions of one value,
 * which ops call for parts of an array; results do not depend on the number of threads. Kernels allocate temporary memory from
 * `scratch` and release all of it; when out of memory they return false, after cp_misuse. */
#pragma once

#include "core/arena.h"
#include "core/real.h"

typedef struct cp_conv_shape {
    int n, h, w, c;             /* input (n,h,w,c) */
    int kh, kw, k;              /* weight (kh,kw,c/groups,k) */
    int oh, ow;                 /* output (n,oh,ow,k) */
    int stride_h, stride_w;     /* >= 1 */
    int pad_top, pad_left;      /* zeros before; those after follow from oh, ow */
    int dilation_h, dilation_w; /* >= 1 */
    int groups;                 /* divides c and k */
} cp_conv_shape;

/* Operations fused into a convolution, without another pass over memory; {0} for none. For conv2d and its input gradient:
 *     out = gain gate(conv(leaky(scale in + shift)) + bias) + residual
 * where leaky(v) = v > 0 ? v : slope v, applied when leaky_input is set, scale and shift before it, and gate(v) = v
 * where `gate` has a 1 and slope v elsewhere. `gate` (see signs below) and `residual` have the shape of the output;
 * residual may be the output array itself. The weight gradient uses only the members for the input, on x. */
typedef struct cp_conv_fusion {
    const cp_real       *scale, *shift; /* (input channels), both or neither; only with leaky_input */
    const cp_real       *bias;          /* (output channels) or NULL */
    const unsigned char *gate;          /* or NULL */
    const cp_real       *gain;          /* (output channels) or NULL */
    const cp_real       *residual;      /* or NULL */
    bool                 leaky_input;
    cp_real              slope;
} cp_conv_fusion;

/* Group norm followed by a leaky ReLU, on x (images, pixels, channels): with the mean and the (biased) variance of each image's
 * groups of channels, xhat = (x - mean) rstd, rstd = 1 / sqrt(variance + eps), y = leaky(gamma xhat + beta). Layer norm is group norm of
 * images with one pixel and one group. */
typedef struct cp_norm_problem {
    size_t         images, pixels, channels, groups; /* groups divides channels */
    const cp_real *gamma, *beta;                     /* (channels) or NULL: 1 and 0 */
    cp_real        slope, eps;                       /* slope 1: no activation */
} cp_norm_problem;

typedef struct cp_kernel_family {
    const char *name;
    bool (*supported)(void); /* NULL: the library was built for another kind of processor */

    /* c (m,n) = op(a) op(b), or += when accumulate; op(a) is (m,k), op(b) is (k,n); all row-major and dense: a is stored
     * (k,m) when trans_a, b is stored (n,k) when trans_b. k = 0 gives zeros. */
    bool (*gemm)(cp_arena *scratch, bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const cp_real *a, const cp_real *b,
                 cp_real *c, bool accumulate);

    /* y[n,i,j,o] = sum_{u,v,c} x[n, i*stride_h + u*dilation_h - pad_top, j*stride_w + v*dilation_w - pad_left, c] w[u,v,c,o];
     * gx and gw are the gradients of sum(y * gy) with respect to x and w; gb (k), unless NULL, that with respect to a bias: gy
     * summed over the pixels. */
    bool (*conv2d)(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *w, const cp_conv_fusion *fusion,
                   cp_real *y);
    bool (*conv2d_input_grad)(cp_arena *scratch, const cp_conv_shape *s, const cp_real *gy, const cp_real *w,
                              const cp_conv_fusion *fusion, cp_real *gx);
    bool (*conv2d_weight_grad)(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *gy,
                               const cp_conv_fusion *fusion, cp_real *gw, cp_real *gb);

    /* y, and for the gradient mean and rstd (images, groups). */
    bool (*group_norm)(cp_arena *scratch, const cp_norm_problem *p, const cp_real *x, cp_real *y, cp_real *mean, cp_real *rstd);
    /* The gradients of sum(y * g) with respect to x, unless gx is NULL, and to gamma and beta (channels), unless both are NULL. */
    bool (*group_norm_grad)(cp_arena *scratch, const cp_norm_problem *p, const cp_real *x, const cp_real *mean, const cp_real *rstd,
                            const cp_real *g, cp_real *gx, cp_real *of_gamma, cp_real *of_beta);

    /* y[i] = f(x[i]), on the calling thread; y may be x. The fast versions are within 2 ulp over the whole range, denormals, infinities and NaN
     * included. */
    void (*exps)(size_t n, const cp_real *x, cp_real *y);
    void (*logs)(size_t n, const cp_real *x, cp_real *y);
    void (*tanhs)(size_t n, const cp_real *x, cp_real *y);
    void (*sigmoids)(size_t n, const cp_real *x, cp_real *y);

    /* y may be one of the inputs. The last two run on the calling thread. */
    void (*add)(size_t n, const cp_real *a, const cp_real *b, cp_real *y);                 /* a + b */
    void (*leaky)(size_t n, const cp_real *x, cp_real slope, cp_real *y);                  /* x > 0 ? x : slope x */
    void (*gate)(size_t n, const cp_real *g, const cp_real *a, cp_real slope, cp_real *y); /* a > 0 ? g : slope g */

    /* One bit per value, the lowest of a byte first: scale x + shift > 0. x is (rows, channels); scale and shift (channels)
     * or both NULL. `signs` has cp_signs_bytes(rows * channels) bytes: more than the bits need, so that they can be read in words. */
    void (*signs)(size_t rows, size_t channels, const cp_real *x, const cp_real *scale, const cp_real *shift, unsigned char *signs);

    /* GFLOP/s of one core in multiplications and additions on registers, with this family's vectors; measured for 20 ms. */
    double (*fma_peak)(void);
} cp_kernel_family;

/* The kernels of a family whose functions have names with that prefix. */
#define CP_KERNELS_OF(PREFIX)                                                                                                      \
    .gemm = PREFIX##_gemm, .conv2d = PREFIX##_conv2d, .conv2d_input_grad = PREFIX##_conv2d_input_grad,                             \
    .conv2d_weight_grad = PREFIX##_conv2d_weight_grad, .group_norm = PREFIX##_group_norm,                                          \
    .group_norm_grad = PREFIX##_group_norm_grad, .exps = PREFIX##_exp, .logs = PREFIX##_log, .tanhs = PREFIX##_tanh,               \
    .sigmoids = PREFIX##_sigmoid, .add = PREFIX##_add, .leaky = PREFIX##_leaky, .gate = PREFIX##_gate, .signs = PREFIX##_signs,    \
    .fma_peak = fma_peak

static inline size_t cp_signs_bytes(size_t count) { return count / 8 + 4; }
static inline bool   cp_signs_get(const unsigned char *signs, size_t i) { return signs[i / 8] >> i % 8 & 1; }

extern const cp_kernel_family cp_family_reference;
#if !CP_DOUBLE
extern const cp_kernel_family cp_family_portable, cp_family_avx2, cp_family_avx512;
#endif

/* How the fast families compute a 3x3 convolution. AUTO is the cheapest method that applies; a method that does not apply
 * falls back to DIRECT. Winograd's methods add and subtract neighbors before they multiply: an infinite pixel makes the whole
 * tile (2x2 or 4x4 outputs) that reads it infinite or NaN, and WINOGRAD_4 overflows from inputs of about 1e37 on. */
typedef enum cp_conv_method { CP_CONV_AUTO, CP_CONV_DIRECT, CP_CONV_WINOGRAD_2, CP_CONV_WINOGRAD_4 } cp_conv_method;

/* The family and the method in use: initially those of the environment variables COUPLET_KERNELS (reference, portable, avx2,
 * avx512) and COUPLET_CONV (direct, winograd2, winograd4), or else the best for this processor. */
const cp_kernel_family *cp_kernels(void);
cp_conv_method          cp_kernels_method(void);

/* For tests and benchmarks. NULL and AUTO: the initial values, with the environment read again. */
void cp_kernels_use(const cp_kernel_family *family, cp_conv_method method);
/* The best for this processor when name is NULL. NULL when the family is unknown or does not run here. */
const cp_kernel_family *cp_kernels_named(const char *name);
