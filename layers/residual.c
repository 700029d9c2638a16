/* The pre-activation residual block. */
#include "layers/layers.h"

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

cp_tensor *(cp_block_forward)(cp_at at, const cp_block *b, cp_tensor *x, cp_mode mode) {
    cp_tensor *start = cp_activate(at, cp_norm_forward(at, &b->norm1, x, mode), b->config.activation);
    cp_tensor *h = cp_conv_forward(at, &b->conv1, start);
    h = cp_conv_forward(at, &b->conv2, cp_activate(at, cp_norm_forward(at, &b->norm2, h, mode), b->config.activation));
    if (b->shortcut.weight) x = cp_conv_forward(at, &b->shortcut, b->config.layout == CP_BLOCK_CLASSIC ? start : x);
    return cp_add(at, h, x);
}
