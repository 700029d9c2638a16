/* Linear, convolution, normalization, dropout, activations. */
#include "layers/layers.h"

cp_real cp_activation_slope(cp_activation activation) {
    return activation == CP_LEAKY_RELU ? (cp_real)0.2 : 0;
}

cp_tensor *(cp_activate)(cp_at at, cp_tensor *x, cp_activation activation) {
    switch (activation) {
    case CP_LEAKY_RELU: return cp_leaky_relu(at, x, cp_activation_slope(activation));
    case CP_RELU: return cp_relu(at, x);
    case CP_SWISH: return cp_swish(at, x);
    case CP_TANH: return cp_tanh(at, x);
    case CP_IDENTITY: return x;
    }
    cp_misuse(at, "activate", "there is no activation number %d", (int)activation);
    return NULL;
}

/* ---- linear ---- */

cp_linear cp_linear_make(cp_params *params, const char *path, cp_linear_config c, cp_rng *rng) {
    cp_linear layer = {.weight = cp_params_add(params, path, "weight", CP_LAYOUT_LINEAR, 2, (int[]){c.in, c.out})};
    if (layer.weight) cp_init_weight(layer.weight, c.init, c.in, c.out, (cp_real)0.2, rng);
    if (!c.no_bias) layer.bias = cp_params_add(params, path, "bias", CP_LAYOUT_PLAIN, 1, &c.out);
    if (layer.bias) cp_init_bias(layer.bias, c.init, c.in, rng);
    return layer;
}

cp_tensor *(cp_linear_forward)(cp_at at, const cp_linear *layer, cp_tensor *x) {
    cp_tensor *y = cp_matmul(at, x, layer->weight, 0);
    return y && layer->bias ? cp_add(at, y, layer->bias) : y;
}

/* ---- convolution ---- */

cp_conv cp_conv_make(cp_params *params, const char *path, cp_conv_config c, cp_rng *rng) {
    int     kernel = c.kernel ? c.kernel : 3, groups = c.groups ? c.groups : 1, area = kernel * kernel;
    cp_conv layer = {.config = {CP_STRIDE(c.stride), CP_PAD(c.padding), CP_DILATION(c.dilation), .groups = groups}};
    layer.weight = cp_params_add(params, path, "weight", CP_LAYOUT_CONV, 4, (int[]){kernel, kernel, c.in / groups, c.out});
    if (layer.weight) cp_init_weight(layer.weight, c.init, area * c.in / groups, area * c.out / groups, (cp_real)0.2, rng);
    if (!c.no_bias) layer.bias = cp_params_add(params, path, "bias", CP_LAYOUT_PLAIN, 1, &c.out);
    if (layer.bias) cp_init_bias(layer.bias, c.init, area * c.in / groups, rng);
    return layer;
}

cp_tensor *(cp_conv_forward)(cp_at at, const cp_conv *layer, cp_tensor *x) {
    return cp_conv2d(at, x, layer->weight, layer->bias, layer->config);
}

/* ---- normalization ---- */

cp_norm cp_norm_make(cp_params *params, const char *path, cp_norm_config c) {
    if (c.eps == 0) c.eps = (cp_real)1e-5;
    for (int groups = 8; c.groups == 0; groups /= 2)
        if (c.channels % groups == 0) c.groups = groups;
    cp_norm layer = {.config = c};
    if (c.kind == CP_NORM_NONE) return layer;
    layer.weight = cp_params_add(params, path, "weight", CP_LAYOUT_PLAIN, 1, &c.channels);
    layer.bias = cp_params_add(params, path, "bias", CP_LAYOUT_PLAIN, 1, &c.channels);
    if (layer.weight) cp_tensor_fill(layer.weight, 1);
    if (c.kind == CP_NORM_BATCH) {
        layer.running_mean = cp_params_add_buffer(params, path, "running_mean", 1, &c.channels);
        layer.running_var = cp_params_add_buffer(params, path, "running_var", 1, &c.channels);
        if (layer.running_var) cp_tensor_fill(layer.running_var, 1);
    }
    return layer;
}

cp_tensor *(cp_norm_forward)(cp_at at, const cp_norm *layer, cp_tensor *x, cp_mode mode) {
    const cp_norm_config *c = &layer->config;
    switch (c->kind) {
    case CP_NORM_NONE: return x;
    case CP_NORM_BATCH:
        return cp_batch_norm(at, x, layer->weight, layer->bias,
                             (cp_batch_norm_config){.training = mode == CP_TRAINING,
                                                    .running_mean = layer->running_mean,
                                                    .running_var = layer->running_var,
                                                    .momentum = c->momentum,
                                                    .eps = c->eps});
    case CP_NORM_GROUP: return cp_group_norm(at, x, layer->weight, layer->bias, c->groups, c->eps);
    case CP_NORM_LAYER: return cp_layer_norm(at, x, layer->weight, layer->bias, c->eps);
    }
    cp_misuse(at, "norm", "there is no normalization number %d", (int)c->kind);
    return NULL;
}

/* ---- dropout ---- */

cp_dropout_layer cp_dropout_make(cp_real rate, cp_rng rng) {
    return (cp_dropout_layer){rate, rng};
}

cp_tensor *(cp_dropout_forward)(cp_at at, cp_dropout_layer *layer, cp_tensor *x, cp_mode mode) {
    return cp_dropout(at, x, layer->rate, &layer->rng, mode == CP_TRAINING);
}
