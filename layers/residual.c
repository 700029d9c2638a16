/* The pre-activation residual block. */
#include "layers/layers.h"

#include "core/op.h"

cp_block cp_block_make(cp_params *params, const char *path, cp_block_config c, cp_rng *rng) {
    if (!c.stride) c.stride = 1;
    cp_block block = {.config = c};
    int      first = c.layout == CP_BLOCK_CLASSIC ? c.stride : 1, second = c.layout == CP_BLOCK_CLASSIC ? 1 : c.stride;
    block.norm1 = cp_norm_make(params, cp_path_join(path, "norm1").s, (cp_norm_config){.kind = c.norm, .channels = c.in});
    block.conv1 = cp_conv_make(params, cp_path_join(path, "conv1").s,
                               (cp_conv_config){.in = c.in, .out = c.out, .stride = first, .padding = 1, .init = c.init}, rng);
    block.norm2 = cp_norm_make(params, cp_path_join(path, "norm2").s, (cp_norm_config){.kind = c.norm, .channels = c.out});
    block.conv2 = cp_conv_make(params, cp_path_join(path, "conv2").s,
                               (cp_conv_config){.in = c.out, .out = c.out, .stride = second, .padding = 1, .init = c.init}, rng);
    if (c.stride != 1 || c.in != c.out)
        block.shortcut = cp_conv_make(params, cp_path_join(path, "shortcut").s,
                                      (cp_conv_config){.in = c.in, .out = c.out, .kernel = 1, .stride = c.stride, .init = c.init}, rng);
    return block;
}

/* conv(act(norm(x))) + residual: in one pass when the activation is a (leaky) ReLU. */
static cp_tensor *step(cp_at at, const cp_block *b, const cp_norm *norm, const cp_conv *conv, cp_tensor *x, cp_tensor *residual,
                       cp_mode mode) {
    x = cp_norm_forward(at, norm, x, mode);
    if (b->config.activation == CP_LEAKY_RELU || b->config.activation == CP_RELU)
        return cp_leaky_conv2d(at, x, conv->weight, conv->bias, residual, cp_activation_slope(b->config.activation), conv->config);
    x = cp_conv_forward(at, conv, cp_activate(at, x, b->config.activation));
    return residual ? cp_add(at, x, residual) : x;
}

cp_tensor *(cp_block_forward)(cp_at at, const cp_block *b, cp_tensor *x, cp_mode mode) {
    if (!cp_check(at, "block", 1, &x)) return NULL;
    if (b->config.layout == CP_BLOCK_CLASSIC && b->shortcut.weight) { /* both ways start at the activated x */
        x = cp_activate(at, cp_norm_forward(at, &b->norm1, x, mode), b->config.activation);
        cp_tensor *h = cp_conv_forward(at, &b->conv1, x);
        return h ? step(at, b, &b->norm2, &b->conv2, h, cp_conv_forward(at, &b->shortcut, x), mode) : NULL;
    }
    cp_tensor *h = step(at, b, &b->norm1, &b->conv1, x, NULL, mode);
    if (!h) return NULL;
    if (b->shortcut.weight) x = cp_conv_forward(at, &b->shortcut, x);
    return step(at, b, &b->norm2, &b->conv2, h, x, mode);
}
