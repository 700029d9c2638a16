/* The list of all ops, for tools and for the test of all gradients. */
#include "core/op.h"
#include "ops/ops.h"

/* clang-format off */
#define OPS(X)                                                                                               \
    X(abs) X(accumulate) X(add) X(affine) X(avg_pool) X(avg_unpool) X(batch_norm)                            \
    X(binary_cross_entropy) X(broadcast_to) X(chunk) X(clamp) X(concat) X(conv1d) X(conv2d)                  \
    X(conv2d_input_grad) X(conv2d_weight_grad) X(conv_transpose) X(cos) X(cross_entropy)                     \
    X(cross_entropy_with) X(cumsum) X(div) X(dropout) X(embed) X(equal) X(erf) X(exp) X(flip) X(gate)        \
    X(gather_rows) X(gaussian_bias) X(gaussian_energy) X(gaussian_log_density) X(gaussian_log_joint)         \
    X(gaussian_penalty) X(gaussian_weight) X(gelu) X(gelu_tanh) X(global_avg_pool) X(greater)                \
    X(group_norm) X(huber) X(kl_divergence) X(layer_norm) X(leaky_conv2d) X(leaky_norm) X(leaky_relu)        \
    X(log) X(log1p) X(log_softmax) X(logsumexp) X(masked_fill) X(matmul) X(max) X(max_pool) X(maximum)       \
    X(mean) X(min) X(minimum) X(mse) X(mul) X(neg) X(normalize) X(pad) X(pad_reflect) X(permute) X(pick)     \
    X(pow) X(put) X(recompute) X(relu) X(reshape) X(rsqrt) X(scale_shift) X(scatter_rows) X(sigmoid) X(sign) X(sin)       \
    X(slice) X(soft_cross_entropy) X(softmax) X(softplus) X(sqrt) X(square) X(stack) X(sub) X(sum)           \
    X(sum_to) X(swish) X(take) X(tanh) X(topk) X(tril_exp) X(tril_logdet) X(upsample_bilinear)               \
    X(upsample_nearest) X(variance) X(where)
/* clang-format on */

#define DECLARE(name) extern const cp_op cp_op_##name;
OPS(DECLARE)

#define POINTER(name) &cp_op_##name,
static const cp_op *const list[] = {OPS(POINTER)};

const cp_op *const *cp_op_list(int *count) {
    if (count) *count = (int)(sizeof list / sizeof *list);
    return list;
}
