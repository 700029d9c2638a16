/* The differentiable operations. This header is their manual: what each computes, on which shapes.
 *
 * Every function takes a tape first and returns a tensor on it, or NULL after the error handler. Inputs may be tensors of that
 * tape or persistent ones. Gradients flow to all tensor arguments unless said otherwise, and, since each gradient rule is
 * written with these same ops, so do gradients of gradients (cp_grad_recorded).
 *
 * Broadcasting: shapes are aligned at their last axes; an axis of size 1 (or absent) is repeated.
 * Every op propagates NaN, except comparisons (greater, equal, the conditions of where and gate) and a^0 = 1. */
#pragma once

#include "core/random.h"
#include "core/tape.h"

/* ==== arithmetic, with broadcasting ==== */

cp_tensor *cp_add(cp_at at, cp_tensor *a, cp_tensor *b);                         /* a + b */
cp_tensor *cp_sub(cp_at at, cp_tensor *a, cp_tensor *b);                         /* a - b */
cp_tensor *cp_mul(cp_at at, cp_tensor *a, cp_tensor *b);                         /* a b */
cp_tensor *cp_div(cp_at at, cp_tensor *a, cp_tensor *b);                         /* a / b */
cp_tensor *cp_minimum(cp_at at, cp_tensor *a, cp_tensor *b);                     /* the smaller; equal values share the gradient */
cp_tensor *cp_maximum(cp_at at, cp_tensor *a, cp_tensor *b);                     /* the larger; equal values share the gradient */
cp_tensor *cp_where(cp_at at, cp_tensor *condition, cp_tensor *a, cp_tensor *b); /* condition != 0 ? a : b; a and b get gradients */
cp_tensor *cp_masked_fill(cp_at at, cp_tensor *a, cp_tensor *mask, cp_real value); /* mask != 0 ? value : a */
cp_tensor *cp_affine(cp_at at, cp_tensor *a, cp_real scale, cp_real shift);        /* scale a + shift */
cp_tensor *cp_scale(cp_at at, cp_tensor *a, cp_real scale);                        /* scale a */

cp_tensor *cp_scale_shift(cp_at at, cp_tensor *a, cp_tensor *scale,
                          cp_tensor *shift); /* scale a + shift; a (..., C), the others (C) */

/* Constants: no gradient flows through these. */
cp_tensor *cp_greater(cp_at at, cp_tensor *a, cp_tensor *b); /* a > b ? 1 : 0 */
cp_tensor *cp_equal(cp_at at, cp_tensor *a, cp_tensor *b);   /* a == b ? 1 : 0 */
cp_tensor *cp_sign(cp_at at, cp_tensor *a);                  /* -1, 0, 1 */

/* ==== one value at a time ==== */

cp_tensor *cp_neg(cp_at at, cp_tensor *a);                       /* -a */
cp_tensor *cp_exp(cp_at at, cp_tensor *a);                       /* e^a */
cp_tensor *cp_log(cp_at at, cp_tensor *a);                       /* ln a */
cp_tensor *cp_log1p(cp_at at, cp_tensor *a);                     /* ln(1 + a), exact for small a */
cp_tensor *cp_sqrt(cp_at at, cp_tensor *a);                      /* a^(1/2) */
cp_tensor *cp_rsqrt(cp_at at, cp_tensor *a);                     /* a^(-1/2) */
cp_tensor *cp_square(cp_at at, cp_tensor *a);                    /* a^2 */
cp_tensor *cp_abs(cp_at at, cp_tensor *a);                       /* |a|; gradient 0 at 0 */
cp_tensor *cp_tanh(cp_at at, cp_tensor *a);                      /* tanh a */
cp_tensor *cp_sigmoid(cp_at at, cp_tensor *a);                   /* 1 / (1 + e^-a) */
cp_tensor *cp_softplus(cp_at at, cp_tensor *a);                  /* ln(1 + e^a), exact for large |a| */
cp_tensor *cp_relu(cp_at at, cp_tensor *a);                      /* max(a, 0); gradient 0 at 0 */
cp_tensor *cp_swish(cp_at at, cp_tensor *a);                     /* a sigmoid(a), also called SiLU */
cp_tensor *cp_gelu(cp_at at, cp_tensor *a);                      /* a (1 + erf(a / sqrt 2)) / 2 */
cp_tensor *cp_gelu_tanh(cp_at at, cp_tensor *a);                 /* a (1 + tanh(sqrt(2 / pi) (a + 0.044715 a^3))) / 2 */
cp_tensor *cp_sin(cp_at at, cp_tensor *a);                       /* sin a */
cp_tensor *cp_cos(cp_at at, cp_tensor *a);                       /* cos a */
cp_tensor *cp_erf(cp_at at, cp_tensor *a);                       /* 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to a */
cp_tensor *cp_pow(cp_at at, cp_tensor *a, cp_real power);        /* a^power */
cp_tensor *cp_leaky_relu(cp_at at, cp_tensor *a, cp_real slope); /* a > 0 ? a : slope a */
cp_tensor *cp_clamp(cp_at at, cp_tensor *a, cp_real low, cp_real high);  /* gradient 1 inside and at the ends, else 0 */
cp_tensor *cp_gate(cp_at at, cp_tensor *g, cp_tensor *a, cp_real slope); /* a > 0 ? g : slope g; no gradient flows to a */

/* ==== reductions over any set of axes: CP_AXES(0, -1), or CP_ALL; keepdim leaves them with size 1. The sum of no values is 0 and their
 * logsumexp -infinity; any other reduction of no values, and so the loss of an empty batch, is misuse ==== */

cp_tensor *cp_sum(cp_at at, cp_tensor *a, cp_axes axes, bool keepdim);
cp_tensor *cp_mean(cp_at at, cp_tensor *a, cp_axes axes, bool keepdim);
cp_tensor *cp_max(cp_at at, cp_tensor *a, cp_axes axes,
                  bool keepdim); /* equal largest values share the gradient; a NaN is the largest, and its gradient NaN */
cp_tensor *cp_min(cp_at at, cp_tensor *a, cp_axes axes, bool keepdim); /* as cp_max; a NaN is the smallest */
/* sum (a - mean)^2 / (count - correction): correction 0 for the biased variance, 1 for the unbiased one. */
cp_tensor *cp_variance(cp_at at, cp_tensor *a, cp_axes axes, int correction, bool keepdim);
cp_tensor *cp_cumsum(cp_at at, cp_tensor *a, int axis); /* out[i] = a[0] + ... + a[i] along one axis, in double */
cp_tensor *cp_logsumexp(cp_at at, cp_tensor *a, cp_axes axes,
                        bool keepdim); /* ln sum e^a, exact for large |a|; the gradient at an infinite entry is NaN */
cp_tensor *cp_softmax(cp_at at, cp_tensor *a, int axis);     /* e^a / sum e^a along one axis */
cp_tensor *cp_log_softmax(cp_at at, cp_tensor *a, int axis); /* a - ln sum e^a */

/* ==== matrices ==== */

enum { CP_TRANSPOSE_A = 1, CP_TRANSPOSE_B = 2 };
/* op(a) op(b) over the last two axes, (..., M, K) x (..., K, N) -> (..., M, N); leading axes broadcast. */
cp_tensor *cp_matmul(cp_at at, cp_tensor *a, cp_tensor *b, unsigned transpose);

/* Lower-triangular matrices from free parameters: L (D,D) from v (D(D+1)/2), filled row by row, with exp() on the diagonal, so
 * that P = L L^T is positive definite for any v. */
cp_tensor *cp_tril_exp(cp_at at, cp_tensor *v, int d);
cp_tensor *cp_tril_logdet(cp_at at, cp_tensor *v, int d); /* ln det P = 2 sum of v's diagonal entries; a scalar */

/* ==== shape ==== */

cp_tensor *cp_reshape(cp_at at, cp_tensor *a, cp_shape shape);   /* one size may be -1: the rest; no copy */
cp_tensor *cp_permute(cp_at at, cp_tensor *a, const int *order); /* out axis i is a's axis order[i] */
cp_tensor *cp_broadcast_to(cp_at at, cp_tensor *a, cp_shape shape);
cp_tensor *cp_sum_to(cp_at at, cp_tensor *a, cp_shape shape); /* the inverse: sums over the repetitions */

#define CP_END INT32_MAX
/* a[start:stop:step] on every axis; arrays of a's rank. stop may be CP_END; step may be NULL (all 1). A step below 0 goes backward from
 * start, which is then included, and CP_END is one before the first value. */
cp_tensor *cp_slice(cp_at at, cp_tensor *a, const int *start, const int *stop, const int *step);
/* The inverse: a tensor of shape dims filled with `fill`, with a at [start::step]. */
cp_tensor *cp_embed(cp_at at, cp_tensor *a, const int *dims, const int *start, const int *step, cp_real fill);
cp_tensor *cp_pad(cp_at at, cp_tensor *a, const int *before, const int *after, cp_real fill);
/* The values around an edge mirrored at it, without the edge itself: before and after are less than the axis's size. */
cp_tensor *cp_pad_reflect(cp_at at, cp_tensor *a, const int *before, const int *after);
cp_tensor *cp_flip(cp_at at, cp_tensor *a, cp_axes axes); /* the other way round along these axes */
cp_tensor *cp_concat(cp_at at, cp_tensor *const *parts, int count, int axis);
cp_tensor *cp_stack(cp_at at, cp_tensor *const *parts, int count, int axis); /* along a new axis */
/* Splits a into `count` parts of equal size, the inverse of cp_concat: out[0 .. count-1]. false after cp_misuse. */
bool cp_chunk(cp_at at, cp_tensor *a, int count, int axis, cp_tensor **out);

cp_tensor *cp_gather_rows(cp_at at, cp_tensor *a, cp_indices rows);             /* out[i] = a[rows[i]] */
cp_tensor *cp_scatter_rows(cp_at at, cp_tensor *a, cp_indices rows, int count); /* (count, ...): out[rows[i]] += a[i], in double */
cp_tensor *cp_take(cp_at at, cp_tensor *a, cp_indices places, cp_shape shape);  /* out[i] = a[places[i]], row-major indices */
/* out[places[i]] += a[i], row-major indices; in cp_real, in order */
cp_tensor *cp_put(cp_at at, cp_tensor *a, cp_indices places, cp_shape shape);
cp_tensor *cp_pick(cp_at at, cp_tensor *a, cp_labels labels); /* out[i] = a[i, labels[i]]; (N,C) -> (N) */
/* The k largest values along the last axis, largest first, (..., C) -> (..., k); of equal ones the first, and NaN before all. Unless
 * `which` is NULL, it gets the k indices of each row, which live on the tape and have no gradient. */
cp_tensor *cp_topk(cp_at at, cp_tensor *a, int k, cp_indices *which);
cp_labels  cp_argmax(cp_at at, cp_tensor *a); /* the index of each row's largest value, as in cp_topk; {NULL, 0} after cp_misuse */
cp_tensor *cp_one_hot(cp_at at, cp_labels labels, int classes); /* a constant (N, classes): 1 at each row's label, else 0 */

/* ==== images, (N,H,W,C) ==== */

#define CP_STRIDE(s) .stride_h = (s), .stride_w = (s)
#define CP_PAD(p) .pad_top = (p), .pad_bottom = (p), .pad_left = (p), .pad_right = (p)
#define CP_DILATION(d) .dilation_h = (d), .dilation_w = (d)
#define CP_WINDOW(k) .window_h = (k), .window_w = (k)

typedef struct cp_conv2d_config {
    int stride_h, stride_w;                       /* 0: 1 */
    int pad_top, pad_bottom, pad_left, pad_right; /* zeros around the image */
    int dilation_h, dilation_w;                   /* 0: 1 */
    int groups;                                   /* 0: 1; divides C and K */
} cp_conv2d_config;

/* Cross-correlation: x (N,H,W,C), w (kh,kw,C/groups,K), bias (K) or NULL -> (N,OH,OW,K),
 * OH = (H + pad_top + pad_bottom - dilation_h (kh - 1) - 1) / stride_h + 1, rounded down. */
cp_tensor *cp_conv2d(cp_at at, cp_tensor *x, cp_tensor *w, cp_tensor *bias, cp_conv2d_config config);
/* Its two gradients as ops: g (N,OH,OW,K) and w -> (N,H,W,C) = x_dims; x and g -> (kh,kw,C/groups,K) = w_dims. */
cp_tensor *cp_conv2d_input_grad(cp_at at, cp_tensor *g, cp_tensor *w, const int x_dims[4], cp_conv2d_config config);
cp_tensor *cp_conv2d_weight_grad(cp_at at, cp_tensor *x, cp_tensor *g, const int w_dims[4], cp_conv2d_config config);
/* The same for sequences: x (N,T,C), w (k,C/groups,K), bias (K) or NULL -> (N,OT,K); stride_w, pad_left, pad_right and dilation_w count. */
cp_tensor *cp_conv1d(cp_at at, cp_tensor *x, cp_tensor *w, cp_tensor *bias, cp_conv2d_config config);
/* The transposed convolution, conv2d_input_grad with a bias: x (N,H,W,K), w (kh,kw,C/groups,K), bias (C) or NULL -> (N,OH,OW,C),
 * OH = (H - 1) stride_h - pad_top - pad_bottom + dilation_h (kh - 1) + 1 + output_pad, 0 <= output_pad < stride. */
cp_tensor *cp_conv_transpose(cp_at at, cp_tensor *x, cp_tensor *w, cp_tensor *bias, cp_conv2d_config config, int output_pad);

/* conv2d(leaky_relu(scale x + shift), w) + bias + residual in one pass that stores one bit per value: the pre-activation block's
 * step. The padding is added after the leaky ReLU. All inputs get gradients; the rule reads x only for those of w and scale. */
typedef struct cp_conv_extras { /* the inputs besides image and kernel */
    cp_tensor *scale, *shift;   /* (C), both or neither: of a norm with fixed statistics (cp_batch_norm_factors) */
    cp_tensor *bias;            /* (K) or NULL */
    cp_tensor *residual;        /* the result's shape, or NULL */
    cp_real    slope;           /* 0: ReLU; 1: none */
} cp_conv_extras;
cp_tensor *cp_leaky_conv2d(cp_at at, cp_tensor *x, cp_tensor *w, cp_conv_extras extras, cp_conv2d_config config);

typedef struct cp_pool2d_config {
    int window_h, window_w;
    int stride_h, stride_w;                       /* 0: the window's size */
    int pad_top, pad_bottom, pad_left, pad_right; /* each less than the window */
} cp_pool2d_config;

cp_tensor *cp_max_pool(cp_at at, cp_tensor *x, cp_pool2d_config config); /* padding counts as -infinity; ties: the first */
cp_tensor *cp_avg_pool(cp_at at, cp_tensor *x, cp_pool2d_config config); /* padding counts as zeros in the mean */
cp_tensor *cp_avg_unpool(cp_at at, cp_tensor *g, const int x_dims[4], cp_pool2d_config config); /* avg_pool's gradient */
cp_tensor *cp_global_avg_pool(cp_at at, cp_tensor *x);                                          /* (N,H,W,C) -> (N,C) */

/* Enlarged by whole factors: pixels repeated, or interpolated between their centers (PyTorch's align_corners=False). */
cp_tensor *cp_upsample_nearest(cp_at at, cp_tensor *x, int factor_h, int factor_w);
cp_tensor *cp_upsample_bilinear(cp_at at, cp_tensor *x, int factor_h, int factor_w);

/* ==== normalization; gamma and beta may be NULL (1 and 0) ==== */

/* (a - mean) / sqrt(variance + eps), with the (biased) statistics over the given axes. */
cp_tensor *cp_normalize(cp_at at, cp_tensor *a, cp_axes axes, cp_real eps);

typedef struct cp_batch_norm_config {
    bool       training;
    cp_tensor *running_mean, *running_var; /* (C), persistent; needed in evaluation, updated in training unless NULL */
    cp_real    momentum; /* the weight of the NEW value: running = (1 - momentum) running + momentum batch; 0: 0.1 */
    cp_real    eps;      /* 0: 1e-5 */
} cp_batch_norm_config;

/* x (..., C), gamma and beta (C). Training: batch statistics, gradients flow through them; running_var gets the unbiased variance.
 * Every call with training set updates the running statistics, whether the tape records or not, after everything else succeeded.
 * Evaluation: gamma (x - running_mean) / sqrt(running_var + eps) + beta, with the running statistics as constants. */
cp_tensor *cp_batch_norm(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, cp_batch_norm_config config);
/* The scale and shift of each channel in evaluation; false after cp_misuse. config.training is ignored. */
bool       cp_batch_norm_factors(cp_at at, cp_tensor *gamma, cp_tensor *beta, cp_batch_norm_config config, cp_tensor **scale,
                                 cp_tensor **shift);
cp_tensor *cp_layer_norm(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, cp_real eps); /* over the last axis */
cp_tensor *cp_group_norm(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, int groups, cp_real eps); /* x (N, ..., C) */
/* leaky_relu of the group norm, or of the layer norm when groups is 0, in one pass; slope 1: no activation. */
cp_tensor *cp_leaky_norm(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, int groups, cp_real slope, cp_real eps);

/* Training: each value is zeroed with probability rate, the others are divided by 1 - rate. Else x itself. */
cp_tensor *cp_dropout(cp_at at, cp_tensor *x, cp_real rate, cp_rng *rng, bool training);

/* ==== losses ==== */

cp_tensor *cp_cross_entropy(cp_at at, cp_tensor *logits,
                            cp_labels labels);           /* mean over rows of -log_softmax(logits)[label]; (N,C) -> () */
cp_tensor *cp_mse(cp_at at, cp_tensor *a, cp_tensor *b); /* mean (a - b)^2, same shapes -> () */
cp_tensor *cp_huber(cp_at at, cp_tensor *a, cp_tensor *b,
                    cp_real delta); /* mean of d^2 / 2 for d = |a - b| up to delta, then of delta (d - delta / 2); -> () */

typedef struct cp_cross_entropy_config {
    cp_real        smoothing;      /* in [0, 1): the label's class counts 1 - smoothing, and each class smoothing / C more */
    const cp_real *weights;        /* (C) of the classes, at least 0; NULL: 1 */
    bool           skip_unlabeled; /* rows with a label below 0 do not count; otherwise they are misuse */
} cp_cross_entropy_config;

/* sum_i sum_c q_ic w_c (-log_softmax(logits)_ic) / sum_i w_label(i), with q the smoothed labels: PyTorch's; (N,C) -> (). At least one row
 * must count. */
cp_tensor *cp_cross_entropy_with(cp_at at, cp_tensor *logits, cp_labels labels, cp_cross_entropy_config config);
/* Mean over rows of sum_c -targets_c log_softmax(logits)_c, for targets that are probabilities; (N,C), (N,C) -> () */
cp_tensor *cp_soft_cross_entropy(cp_at at, cp_tensor *logits, cp_tensor *targets);
/* Mean of softplus(logit) - target logit, the negative log likelihood of a target 1 or 0, or between; same shapes -> () */
cp_tensor *cp_binary_cross_entropy(cp_at at, cp_tensor *logits, cp_tensor *targets);
/* Mean over rows of KL(p || q) = sum p (ln p - ln q), for p and q by the softmax of the last axis; same shapes -> () */
cp_tensor *cp_kl_divergence(cp_at at, cp_tensor *p_logits, cp_tensor *q_logits);

/* The squared gradient of each row: |d y_n / d x_n|^2 for y (N), each computed from its own row x_n of x (N, ...) -> (N). The mean is the
 * gradient penalty of energy models. x is a cp_variable, and the y of the loss can be used:
 *     cp_tensor *x = cp_variable(tape, images, CP_SHAPE(32, 28, 28, 3)), *energies = cp_model_energy(tape, model, x, CP_TRAINING);
 *     cp_tensor *penalty = cp_mean(tape, cp_gradient_squares(tape, energies, x), CP_ALL, false);
 * The sweep from y to x is recorded (cp_grad_recorded), so that the result has gradients of its own, with respect to parameters too. */
cp_tensor *cp_gradient_squares(cp_at at, cp_tensor *y, cp_tensor *x);

/* ==== the list of all ops ==== */

struct cp_op;
const struct cp_op *const *cp_op_list(int *count);

/* Every op can be called with a tape, and gets the caller's file and line. */
#define cp_add(t, ...) cp_add(CP_AT(t), __VA_ARGS__)
#define cp_sub(t, ...) cp_sub(CP_AT(t), __VA_ARGS__)
#define cp_mul(t, ...) cp_mul(CP_AT(t), __VA_ARGS__)
#define cp_div(t, ...) cp_div(CP_AT(t), __VA_ARGS__)
#define cp_minimum(t, ...) cp_minimum(CP_AT(t), __VA_ARGS__)
#define cp_maximum(t, ...) cp_maximum(CP_AT(t), __VA_ARGS__)
#define cp_where(t, ...) cp_where(CP_AT(t), __VA_ARGS__)
#define cp_masked_fill(t, ...) cp_masked_fill(CP_AT(t), __VA_ARGS__)
#define cp_scale_shift(t, ...) cp_scale_shift(CP_AT(t), __VA_ARGS__)
#define cp_affine(t, ...) cp_affine(CP_AT(t), __VA_ARGS__)
#define cp_scale(t, ...) cp_scale(CP_AT(t), __VA_ARGS__)
#define cp_greater(t, ...) cp_greater(CP_AT(t), __VA_ARGS__)
#define cp_equal(t, ...) cp_equal(CP_AT(t), __VA_ARGS__)
#define cp_sign(t, ...) cp_sign(CP_AT(t), __VA_ARGS__)
#define cp_neg(t, ...) cp_neg(CP_AT(t), __VA_ARGS__)
#define cp_exp(t, ...) cp_exp(CP_AT(t), __VA_ARGS__)
#define cp_log(t, ...) cp_log(CP_AT(t), __VA_ARGS__)
#define cp_log1p(t, ...) cp_log1p(CP_AT(t), __VA_ARGS__)
#define cp_sqrt(t, ...) cp_sqrt(CP_AT(t), __VA_ARGS__)
#define cp_rsqrt(t, ...) cp_rsqrt(CP_AT(t), __VA_ARGS__)
#define cp_square(t, ...) cp_square(CP_AT(t), __VA_ARGS__)
#define cp_abs(t, ...) cp_abs(CP_AT(t), __VA_ARGS__)
#define cp_tanh(t, ...) cp_tanh(CP_AT(t), __VA_ARGS__)
#define cp_sigmoid(t, ...) cp_sigmoid(CP_AT(t), __VA_ARGS__)
#define cp_softplus(t, ...) cp_softplus(CP_AT(t), __VA_ARGS__)
#define cp_relu(t, ...) cp_relu(CP_AT(t), __VA_ARGS__)
#define cp_swish(t, ...) cp_swish(CP_AT(t), __VA_ARGS__)
#define cp_gelu(t, ...) cp_gelu(CP_AT(t), __VA_ARGS__)
#define cp_gelu_tanh(t, ...) cp_gelu_tanh(CP_AT(t), __VA_ARGS__)
#define cp_sin(t, ...) cp_sin(CP_AT(t), __VA_ARGS__)
#define cp_cos(t, ...) cp_cos(CP_AT(t), __VA_ARGS__)
#define cp_erf(t, ...) cp_erf(CP_AT(t), __VA_ARGS__)
#define cp_pow(t, ...) cp_pow(CP_AT(t), __VA_ARGS__)
#define cp_leaky_relu(t, ...) cp_leaky_relu(CP_AT(t), __VA_ARGS__)
#define cp_clamp(t, ...) cp_clamp(CP_AT(t), __VA_ARGS__)
#define cp_gate(t, ...) cp_gate(CP_AT(t), __VA_ARGS__)
#define cp_sum(t, ...) cp_sum(CP_AT(t), __VA_ARGS__)
#define cp_mean(t, ...) cp_mean(CP_AT(t), __VA_ARGS__)
#define cp_max(t, ...) cp_max(CP_AT(t), __VA_ARGS__)
#define cp_min(t, ...) cp_min(CP_AT(t), __VA_ARGS__)
#define cp_variance(t, ...) cp_variance(CP_AT(t), __VA_ARGS__)
#define cp_cumsum(t, ...) cp_cumsum(CP_AT(t), __VA_ARGS__)
#define cp_logsumexp(t, ...) cp_logsumexp(CP_AT(t), __VA_ARGS__)
#define cp_softmax(t, ...) cp_softmax(CP_AT(t), __VA_ARGS__)
#define cp_log_softmax(t, ...) cp_log_softmax(CP_AT(t), __VA_ARGS__)
#define cp_matmul(t, ...) cp_matmul(CP_AT(t), __VA_ARGS__)
#define cp_tril_exp(t, ...) cp_tril_exp(CP_AT(t), __VA_ARGS__)
#define cp_tril_logdet(t, ...) cp_tril_logdet(CP_AT(t), __VA_ARGS__)
#define cp_reshape(t, ...) cp_reshape(CP_AT(t), __VA_ARGS__)
#define cp_permute(t, ...) cp_permute(CP_AT(t), __VA_ARGS__)
#define cp_broadcast_to(t, ...) cp_broadcast_to(CP_AT(t), __VA_ARGS__)
#define cp_sum_to(t, ...) cp_sum_to(CP_AT(t), __VA_ARGS__)
#define cp_slice(t, ...) cp_slice(CP_AT(t), __VA_ARGS__)
#define cp_embed(t, ...) cp_embed(CP_AT(t), __VA_ARGS__)
#define cp_pad(t, ...) cp_pad(CP_AT(t), __VA_ARGS__)
#define cp_pad_reflect(t, ...) cp_pad_reflect(CP_AT(t), __VA_ARGS__)
#define cp_flip(t, ...) cp_flip(CP_AT(t), __VA_ARGS__)
#define cp_concat(t, ...) cp_concat(CP_AT(t), __VA_ARGS__)
#define cp_stack(t, ...) cp_stack(CP_AT(t), __VA_ARGS__)
#define cp_chunk(t, ...) cp_chunk(CP_AT(t), __VA_ARGS__)
#define cp_gather_rows(t, ...) cp_gather_rows(CP_AT(t), __VA_ARGS__)
#define cp_scatter_rows(t, ...) cp_scatter_rows(CP_AT(t), __VA_ARGS__)
#define cp_take(t, ...) cp_take(CP_AT(t), __VA_ARGS__)
#define cp_put(t, ...) cp_put(CP_AT(t), __VA_ARGS__)
#define cp_pick(t, ...) cp_pick(CP_AT(t), __VA_ARGS__)
#define cp_topk(t, ...) cp_topk(CP_AT(t), __VA_ARGS__)
#define cp_argmax(t, ...) cp_argmax(CP_AT(t), __VA_ARGS__)
#define cp_one_hot(t, ...) cp_one_hot(CP_AT(t), __VA_ARGS__)
#define cp_conv1d(t, ...) cp_conv1d(CP_AT(t), __VA_ARGS__)
#define cp_conv_transpose(t, ...) cp_conv_transpose(CP_AT(t), __VA_ARGS__)
#define cp_upsample_nearest(t, ...) cp_upsample_nearest(CP_AT(t), __VA_ARGS__)
#define cp_upsample_bilinear(t, ...) cp_upsample_bilinear(CP_AT(t), __VA_ARGS__)
#define cp_leaky_conv2d(t, ...) cp_leaky_conv2d(CP_AT(t), __VA_ARGS__)
#define cp_conv2d(t, ...) cp_conv2d(CP_AT(t), __VA_ARGS__)
#define cp_conv2d_input_grad(t, ...) cp_conv2d_input_grad(CP_AT(t), __VA_ARGS__)
#define cp_conv2d_weight_grad(t, ...) cp_conv2d_weight_grad(CP_AT(t), __VA_ARGS__)
#define cp_max_pool(t, ...) cp_max_pool(CP_AT(t), __VA_ARGS__)
#define cp_avg_pool(t, ...) cp_avg_pool(CP_AT(t), __VA_ARGS__)
#define cp_avg_unpool(t, ...) cp_avg_unpool(CP_AT(t), __VA_ARGS__)
#define cp_global_avg_pool(t, ...) cp_global_avg_pool(CP_AT(t), __VA_ARGS__)
#define cp_normalize(t, ...) cp_normalize(CP_AT(t), __VA_ARGS__)
#define cp_batch_norm(t, ...) cp_batch_norm(CP_AT(t), __VA_ARGS__)
#define cp_batch_norm_factors(t, ...) cp_batch_norm_factors(CP_AT(t), __VA_ARGS__)
#define cp_layer_norm(t, ...) cp_layer_norm(CP_AT(t), __VA_ARGS__)
#define cp_group_norm(t, ...) cp_group_norm(CP_AT(t), __VA_ARGS__)
#define cp_leaky_norm(t, ...) cp_leaky_norm(CP_AT(t), __VA_ARGS__)
#define cp_dropout(t, ...) cp_dropout(CP_AT(t), __VA_ARGS__)
#define cp_cross_entropy(t, ...) cp_cross_entropy(CP_AT(t), __VA_ARGS__)
#define cp_mse(t, ...) cp_mse(CP_AT(t), __VA_ARGS__)
#define cp_huber(t, ...) cp_huber(CP_AT(t), __VA_ARGS__)
#define cp_cross_entropy_with(t, ...) cp_cross_entropy_with(CP_AT(t), __VA_ARGS__)
#define cp_soft_cross_entropy(t, ...) cp_soft_cross_entropy(CP_AT(t), __VA_ARGS__)
#define cp_binary_cross_entropy(t, ...) cp_binary_cross_entropy(CP_AT(t), __VA_ARGS__)
#define cp_kl_divergence(t, ...) cp_kl_divergence(CP_AT(t), __VA_ARGS__)
#define cp_gradient_squares(t, ...) cp_gradient_squares(CP_AT(t), __VA_ARGS__)
