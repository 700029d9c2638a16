/* Number crunching on raw arrays: what the ops call.
 *
 * Each kernel has a plain-C reference (cp_ref_...), for float and double, readable, tested against nothing but
 * arithmetic; and, in the float build, fast versions that are tested against it. The functions without `ref` choose at
 * run time by the processor's features and the shape; the environment variable COUPLET_KERNELS forces one family
 * (reference, portable, avx2, avx512), COUPLET_CONV one method for the 3x3 convolutions that it applies to (direct,
 * winograd2, winograd4). Images are (N,H,W,C), convolution weights (kh,kw,C/groups,K). Kernels run on
 * the pool (core/threads.h); results do not depend on the number of threads. `scratch` is where a kernel takes temporary
 * memory from; it gives all of it back. */
#ifndef CP_KERNELS_H
#define CP_KERNELS_H

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

/* y[n,i,j,o] = bias[o] + sum_{u,v,c} x[n, i*stride_h + u*dilation_h - pad_top, j*stride_w + v*dilation_w - pad_left,
 * c] w[u,v,c,o]; bias may be NULL. */
void cp_kernel_conv2d(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *w, const cp_real *bias,
                      cp_real *y);
/* gx = the gradient of sum(y * gy) with respect to x. */
void cp_kernel_conv2d_input_grad(cp_arena *scratch, const cp_conv_shape *s, const cp_real *gy, const cp_real *w, cp_real *gx);
/* gw = the gradient of sum(y * gy) with respect to w. */
void cp_kernel_conv2d_weight_grad(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *gy, cp_real *gw);

/* c (m,n) = op(a) op(b), or += when accumulate; op(a) is (m,k), op(b) is (k,n); all row-major and dense: a is stored
 * (k,m) when trans_a, b is stored (n,k) when trans_b. k = 0 gives zeros. */
void cp_kernel_gemm(cp_arena *scratch, bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const cp_real *a, const cp_real *b,
                    cp_real *c, bool accumulate);

/* What can be done on the way through a convolution, without another pass over memory; {0} for nothing. For conv2d and
 * its input gradient:
 *     out = gain gate(conv(leaky(scale in + shift)) + bias) + residual
 * where leaky(v) = v > 0 ? v : slope v, applied when leaky_input is set, scale and shift before it, and gate(v) = v
 * where `gate` has a 1 and slope v elsewhere. `gate` (see cp_kernel_signs) and `residual` have the shape of the output;
 * residual may be the output array itself. The weight gradient uses what concerns the input only, on x. */
typedef struct cp_conv_fusion {
    const cp_real       *scale, *shift; /* (input channels), both or neither; only with leaky_input */
    const cp_real       *bias;          /* (output channels) or NULL */
    const unsigned char *gate;          /* or NULL */
    const cp_real       *gain;          /* (output channels) or NULL */
    const cp_real       *residual;      /* or NULL */
    bool                 leaky_input;
    cp_real              slope;
} cp_conv_fusion;

/* One bit a value, the lowest of a byte first: scale x + shift > 0. x is (rows, channels); scale and shift (channels)
 * or both NULL. `signs` has cp_signs_bytes(rows * channels) bytes: some more than the bits need, to be read in words. */
void                 cp_kernel_signs(size_t rows, size_t channels, const cp_real *x, const cp_real *scale, const cp_real *shift,
                                     unsigned char *signs);
static inline size_t cp_signs_bytes(size_t count) {
    return count / 8 + 4;
}
static inline bool cp_signs_get(const unsigned char *signs, size_t i) {
    return signs[i / 8] >> i % 8 & 1;
}

void cp_kernel_conv2d_fused(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *w,
                            const cp_conv_fusion *fusion, cp_real *y);
void cp_kernel_conv2d_input_grad_fused(cp_arena *scratch, const cp_conv_shape *s, const cp_real *gy, const cp_real *w,
                                       const cp_conv_fusion *fusion, cp_real *gx);
/* Also gb (k) = the gradient with respect to the bias, gy summed over the pixels, unless gb is NULL. */
void cp_kernel_conv2d_weight_grad_fused(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *gy,
                                        const cp_conv_fusion *fusion, cp_real *gw, cp_real *gb);

/* y[i] = f(x[i]); y may be x. The fast versions are within 2 ulp over the whole range, denormals, infinities and NaN
 * included. */
void cp_kernel_exp(size_t n, const cp_real *x, cp_real *y);
void cp_kernel_log(size_t n, const cp_real *x, cp_real *y);
void cp_kernel_tanh(size_t n, const cp_real *x, cp_real *y);
void cp_kernel_sigmoid(size_t n, const cp_real *x, cp_real *y);

/* y may be one of the inputs. */
void cp_kernel_add(size_t n, const cp_real *a, const cp_real *b, cp_real *y);                 /* a + b */
void cp_kernel_leaky(size_t n, const cp_real *x, cp_real slope, cp_real *y);                  /* x > 0 ? x : slope x */
void cp_kernel_gate(size_t n, const cp_real *g, const cp_real *a, cp_real slope, cp_real *y); /* a > 0 ? g : slope g */

void cp_ref_conv2d(const cp_conv_shape *s, const cp_real *x, const cp_real *w, const cp_real *bias, cp_real *y);
void cp_ref_conv2d_input_grad(const cp_conv_shape *s, const cp_real *gy, const cp_real *w, cp_real *gx);
void cp_ref_conv2d_weight_grad(const cp_conv_shape *s, const cp_real *x, const cp_real *gy, cp_real *gw);
void cp_ref_gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const cp_real *a, const cp_real *b, cp_real *c,
                 bool accumulate);

#endif
