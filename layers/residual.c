/* The pre-activation residual block. */
#include "layers/layers.h"

#include "core/op.h"
#include "layers/make.h"

static bool possible(cp_at at, const cp_block_config *c) {
    if (c->in < 1 || c->out < 1) return cp_misuse(at, "block_make", "in is %d and out is %d; both must be positive", c->in, c->out);
    if (c->stride < 1) return cp_misuse(at, "block_make", "stride is %d; it must not be negative", c->stride);
    return (c->layout == CP_BLOCK_JEM || c->layout == CP_BLOCK_CLASSIC) ||
           cp_misuse(at, "block_make", "there is no layout number %d", (int)c->layout);
}

static bool make_norm(cp_at at, cp_norm *norm, cp_params *params, cp_path path, cp_norm_config c) {
    *norm = (cp_norm_make)(at, params, path.s, c);
    return c.kind == CP_NORM_NONE || norm->weight;
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

static bool rectifies(const cp_block *b) {
    return b->config.activation == CP_LEAKY_RELU || b->config.activation == CP_RELU;
}

/* Gives a value between two steps back when nothing was recorded that would read it, or what was will not. */
static void give_back(cp_at at, cp_tensor *value, const cp_tensor *result, bool read_again) {
    if (result && !(result->tracked && read_again)) cp_release(at, value);
}

/* Whether a step's rule will read its input: not with fixed weights and statistics, when the signs are enough. */
static bool step_keeps_input(cp_at at, const cp_block *b, const cp_norm *norm, const cp_conv *conv, cp_mode mode) {
    bool fixed = norm->config.kind == CP_NORM_NONE || (cp_norm_fixed(norm, mode) && !cp_tracked(at, norm->weight));
    return !rectifies(b) || !fixed || cp_tracked(at, conv->weight);
}

/* conv(act(norm(x))) + residual: in one pass when the activation is a (leaky) ReLU. */
static cp_tensor *step(cp_at at, const cp_block *b, const cp_norm *norm, const cp_conv *conv, cp_tensor *x, cp_tensor *residual,
                       cp_mode mode) {
    cp_conv_extras around = {.bias = conv->bias, .residual = residual, .slope = cp_activation_slope(b->config.activation)};
    bool           fused = rectifies(b) && cp_norm_fixed(norm, mode);
    if (fused && !cp_norm_factors(at, norm, &around.scale, &around.shift)) return NULL;
    cp_tensor *y = fused ? x : cp_norm_forward(at, norm, x, mode), *out;
    if (!y) return NULL;
    if (rectifies(b)) {
        out = cp_leaky_conv2d(at, y, conv->weight, around, conv->config);
    } else {
        cp_tensor *active = cp_activate(at, y, b->config.activation);
        out = active ? cp_conv_forward(at, conv, active) : NULL;
        if (out && residual) out = cp_add(at, out, residual);
    }
    if (y != x) give_back(at, y, out, !rectifies(b) || cp_tracked(at, conv->weight)); /* no norm's own rule reads its result */
    return out;
}

/* A classic block with a shortcut has an activation of its own, whose rule reads x. */
bool(cp_block_keeps_input)(cp_at at, const cp_block *b, cp_mode mode) {
    if (!b || !b->conv1.weight || !cp_check(at, "block_keeps_input", 0, NULL))
        return true; /* nothing is known, nothing to be given back */
    bool side = b->shortcut.weight && (b->config.layout == CP_BLOCK_CLASSIC || cp_tracked(at, b->shortcut.weight));
    return cp_recording(at) && (side || step_keeps_input(at, b, &b->norm1, &b->conv1, mode));
}

cp_tensor *(cp_block_forward)(cp_at at, const cp_block *b, cp_tensor *x, cp_mode mode) {
    if (!b || !b->conv1.weight) {
        cp_misuse(at, "block", b ? "the block has no weights (did cp_block_make fail?)" : "the block is NULL");
        return NULL;
    }
    if (!cp_check(at, "block", 1, &x)) return NULL;
    cp_tensor *h, *side = x;
    if (b->config.layout == CP_BLOCK_CLASSIC && b->shortcut.weight) { /* both ways start at the activated x */
        cp_tensor *y = cp_norm_forward(at, &b->norm1, x, mode);
        x = y ? cp_activate(at, y, b->config.activation) : NULL;
        h = x ? cp_conv_forward(at, &b->conv1, x) : NULL;
    } else {
        h = step(at, b, &b->norm1, &b->conv1, x, NULL, mode);
    }
    if (!h) return NULL;
    if (b->shortcut.weight) side = cp_conv_forward(at, &b->shortcut, x);
    cp_tensor *out = side ? step(at, b, &b->norm2, &b->conv2, h, side, mode) : NULL;
    if (side && b->shortcut.weight) cp_release(at, side); /* neither the convolution that made it nor the sum keeps it */
    give_back(at, h, out, step_keeps_input(at, b, &b->norm2, &b->conv2, mode));
    return out;
}
