/* The pre-activation residual block. */
#include "layers/layers.h"

#include "core/op.h"

static bool possible(cp_at at, const cp_block_config *c) {
    if (c->in < 1 || c->out < 1) return cp_misuse(at, "block_make", "in is %d and out is %d; both must be positive", c->in, c->out);
    if (c->stride < 1) return cp_misuse(at, "block_make", "stride is %d; it must not be negative", c->stride);
    return (c->layout == CP_BLOCK_JEM || c->layout == CP_BLOCK_CLASSIC) ||
           cp_misuse(at, "block_make", "%d is not a layout", (int)c->layout);
}

static bool make_norm(cp_at at, cp_norm *norm, cp_params *params, cp_path path, cp_norm_config c) {
    if (c.kind == CP_NORM_NONE) return true;
    *norm = (cp_norm_make)(at, params, path.s, c);
    return norm->weight;
}

static bool make_conv(cp_at at, cp_conv *conv, cp_params *params, cp_path path, cp_conv_config c, cp_rng *rng) {
    *conv = (cp_conv_make)(at, params, path.s, c, rng);
    return conv->weight;
}

cp_block(cp_block_make)(cp_at at, cp_params *params, const char *path, cp_block_config c, cp_rng *rng) {
    if (!c.stride) c.stride = 1;
    if (!cp_make_ready(at, "block_make", params, rng) || !possible(at, &c)) return (cp_block){0};
    bool           classic = c.layout == CP_BLOCK_CLASSIC, shortcut = c.stride != 1 || c.in != c.out;
    cp_norm_config norm1 = {.kind = c.norm, .channels = c.in}, norm2 = {.kind = c.norm, .channels = c.out};
    cp_conv_config conv1 = {
        .in = c.in, .out = c.out, .stride = classic ? c.stride : 1, .padding = 1, .init = c.init, .activation = c.activation};
    cp_conv_config conv2 = conv1, side = conv1;
    conv2.in = c.out;
    conv2.stride = classic ? 1 : c.stride;
    side.kernel = 1;
    side.stride = c.stride;
    side.padding = 0;
    cp_block block = {.config = c};
    bool     made = make_norm(at, &block.norm1, params, cp_path_join(path, "norm1"), norm1) &&
                make_conv(at, &block.conv1, params, cp_path_join(path, "conv1"), conv1, rng) &&
                make_norm(at, &block.norm2, params, cp_path_join(path, "norm2"), norm2) &&
                make_conv(at, &block.conv2, params, cp_path_join(path, "conv2"), conv2, rng) &&
                (!shortcut || make_conv(at, &block.shortcut, params, cp_path_join(path, "shortcut"), side, rng));
    return made ? block : (cp_block){0};
}

static bool rectifies(const cp_block *b) { return b->config.activation == CP_LEAKY_RELU || b->config.activation == CP_RELU; }

/* conv(act(norm(x))) + residual. A (leaky) ReLU is fused with the norm or, like the sum and fixed factors, with the convolution. */
static cp_tensor *step(cp_at at, const cp_block *b, const cp_norm *norm, const cp_conv *conv, cp_tensor *x, cp_tensor *residual,
                       cp_mode mode) {
    bool           left = rectifies(b) && !cp_norm_fuses(norm, b->config.activation), fixed = left && cp_norm_fixed(norm, mode);
    cp_real        slope = left ? cp_activation_slope(b->config.activation) : 1;
    cp_conv_extras extras = {.bias = conv->bias, .residual = residual, .slope = slope};
    if (fixed && !cp_norm_factors(at, norm, &extras.scale, &extras.shift)) return NULL;
    cp_tensor *y = fixed ? x : cp_norm_activate(at, norm, x, left ? CP_IDENTITY : b->config.activation, mode);
    cp_tensor *out = cp_leaky_conv2d(at, y, conv->weight, extras, conv->config);
    if (y != x) cp_release(at, y);
    return out;
}

cp_tensor *(cp_block_forward)(cp_at at, const cp_block *b, cp_tensor *x, cp_mode mode) {
    if (!b || !b->conv1.weight)
        return cp_refuse(at, "block", b ? "the block has no weights (did cp_block_make fail?)" : "the block is NULL");
    if (!cp_check(at, "block", 1, &x)) return NULL;
    cp_scope_begin_at(at, b->conv1.weight, 2);
    cp_tensor *h, *side = x;
    if (b->config.layout == CP_BLOCK_CLASSIC && b->shortcut.weight) { /* both paths start at the activated x */
        x = cp_norm_activate(at, &b->norm1, x, b->config.activation, mode);
        h = cp_conv_forward(at, &b->conv1, x);
    } else {
        h = step(at, b, &b->norm1, &b->conv1, x, NULL, mode);
    }
    if (b->shortcut.weight) side = cp_conv_forward(at, &b->shortcut, x);
    cp_tensor *out = side ? step(at, b, &b->norm2, &b->conv2, h, side, mode) : NULL;
    if (b->shortcut.weight) cp_release(at, side);
    cp_release(at, h);
    (cp_scope_end)(at);
    return out;
}
