/* Linear, convolution, normalization, activations. */
#include "layers/layers.h"

#include "core/op.h"

#include <limits.h>
#include <string.h>

cp_real cp_activation_slope(cp_activation activation) {
    return activation == CP_LEAKY_RELU ? (cp_real)0.2 : activation == CP_IDENTITY ? 1 : 0;
}

cp_tensor *(cp_activate)(cp_at at, cp_tensor *x, cp_activation activation) {
    switch (activation) {
    case CP_LEAKY_RELU: return cp_leaky_relu(at, x, cp_activation_slope(activation));
    case CP_RELU: return cp_relu(at, x);
    case CP_SWISH: return cp_swish(at, x);
    case CP_TANH: return cp_tanh(at, x);
    case CP_IDENTITY: return x;
    }
    return cp_refuse(at, "activate", "%d is not an activation", (int)activation);
}

void cp_scope_begin_at(cp_at at, const cp_tensor *parameter, int parts) {
    if (!at.tape) return; /* the layer's op reports it */
    cp_path path = cp_path_join(parameter->name, "");
    for (char *dot; parts > 0 && (dot = strrchr(path.s, '.')); parts--) *dot = '\0';
    (cp_scope_begin)(at, path.s);
}

/* Ends the scope of a layer that gives y. */
static cp_tensor *scope_end(cp_at at, cp_tensor *y) {
    if (at.tape) (cp_scope_end)(at);
    return y;
}

/* ---- linear ---- */

cp_linear(cp_linear_make)(cp_at at, cp_params *params, const char *path, cp_linear_config c, cp_rng *rng) {
    cp_linear layer = {0}, none = {0};
    if (!cp_make_ready(at, "linear_make", params, rng)) return none;
    if (c.in < 1 || c.out < 1) {
        cp_misuse(at, "linear_make", "in is %d and out is %d; both must be positive", c.in, c.out);
        return none;
    }
    layer.weight = (cp_params_add)(at, params, path, "weight", CP_LAYOUT_LINEAR, CP_SHAPE(c.in, c.out));
    if (!layer.weight) return none;
    cp_init_weight(layer.weight, c.init, c.in, c.out, cp_activation_slope(c.activation), rng);
    if (c.no_bias) return layer;
    layer.bias = (cp_params_add)(at, params, path, "bias", CP_LAYOUT_PLAIN, CP_SHAPE(c.out));
    if (!layer.bias) return none;
    cp_init_bias(layer.bias, c.init, c.in, rng);
    return layer;
}

cp_tensor *(cp_linear_forward)(cp_at at, const cp_linear *layer, cp_tensor *x) {
    if (!layer || !layer->weight)
        return cp_refuse(at, "linear", layer ? "the layer has no weight (did cp_linear_make fail?)" : "the layer is NULL");
    if (!cp_check(at, "linear", 1, &x)) return NULL;
    if (x->rank < 2 || x->dims[x->rank - 1] != layer->weight->dims[0])
        return cp_refuse(at, "linear", "x has shape %s; %s %s needs (..., %d)", cp_shape_text(x).s,
                         layer->weight->name ? layer->weight->name : "the weight", cp_shape_text(layer->weight).s,
                         layer->weight->dims[0]);
    cp_scope_begin_at(at, layer->weight, 1);
    cp_tensor *y = cp_matmul(at, x, layer->weight, 0);
    return scope_end(at, layer->bias ? cp_add(at, y, layer->bias) : y);
}

/* ---- convolution ---- */

static bool conv_possible(cp_at at, const char *op, const cp_conv_config *c) {
    if (c->in < 1 || c->out < 1) return cp_misuse(at, op, "in is %d and out is %d; both must be positive", c->in, c->out);
    if (c->kernel_h < 1 || c->kernel_w < 1 || c->stride < 0 || c->padding_h < 0 || c->padding_w < 0 || c->dilation < 0)
        return cp_misuse(at, op, "kernel %d by %d, stride %d, padding %d by %d and dilation %d: none may be negative", c->kernel_h,
                         c->kernel_w, c->stride, c->padding_h, c->padding_w, c->dilation);
    if (c->groups < 1 || c->in % c->groups || c->out % c->groups)
        return cp_misuse(at, op, "groups is %d; it must divide in, %d, and out, %d", c->groups, c->in, c->out);
    double area = (double)c->kernel_h * c->kernel_w;
    return (area * c->in <= INT_MAX && area * c->out <= INT_MAX) ||
           cp_misuse(at, op, "a kernel of %d by %d for in %d and out %d is too large", c->kernel_h, c->kernel_w, c->in, c->out);
}

/* A convolution to `wide` channels from `narrow` in each group; a transposed one is that which it is the gradient of. */
static cp_conv conv_make(cp_at at, const char *op, cp_params *params, const char *path, cp_conv_config c, bool transposed,
                         cp_rng *rng) {
    if (!c.kernel) c.kernel = 3;
    if (!c.kernel_h) c.kernel_h = c.kernel;
    if (!c.kernel_w) c.kernel_w = c.kernel;
    if (!c.padding_h) c.padding_h = c.padding;
    if (!c.padding_w) c.padding_w = c.padding;
    if (!c.groups) c.groups = 1;
    if (!cp_make_ready(at, op, params, rng) || !conv_possible(at, op, &c)) return (cp_conv){0};
    int     area = c.kernel_h * c.kernel_w, narrow = (transposed ? c.out : c.in) / c.groups, wide = transposed ? c.in : c.out;
    cp_conv layer = {.output_pad = c.output_pad};
    layer.config =
        (cp_conv2d_config){CP_STRIDE(c.stride),      .pad_top = c.padding_h,  .pad_bottom = c.padding_h, .pad_left = c.padding_w,
                           .pad_right = c.padding_w, CP_DILATION(c.dilation), .groups = c.groups};
    layer.weight = (cp_params_add)(at, params, path, "weight", CP_LAYOUT_CONV, CP_SHAPE(c.kernel_h, c.kernel_w, narrow, wide));
    if (!layer.weight) return (cp_conv){0};
    cp_init_weight(layer.weight, c.init, area * narrow, area * (wide / c.groups), cp_activation_slope(c.activation), rng);
    if (c.no_bias) return layer;
    layer.bias = (cp_params_add)(at, params, path, "bias", CP_LAYOUT_PLAIN, CP_SHAPE(c.out));
    if (!layer.bias) return (cp_conv){0};
    cp_init_bias(layer.bias, c.init, area * narrow, rng);
    return layer;
}

cp_conv(cp_conv_make)(cp_at at, cp_params *params, const char *path, cp_conv_config c, cp_rng *rng) {
    return conv_make(at, "conv_make", params, path, c, false, rng);
}

cp_conv(cp_conv_transpose_make)(cp_at at, cp_params *params, const char *path, cp_conv_config c, cp_rng *rng) {
    return conv_make(at, "conv_transpose_make", params, path, c, true, rng);
}

cp_tensor *(cp_conv_forward)(cp_at at, const cp_conv *layer, cp_tensor *x) {
    if (!layer || !layer->weight)
        return cp_refuse(at, "conv", layer ? "the layer has no weight (did cp_conv_make fail?)" : "the layer is NULL");
    const cp_tensor *w = layer->weight;
    cp_scope_begin_at(at, w, 1);
    if (!x || x->rank != 3 || w->dims[0] != 1) return scope_end(at, cp_conv2d(at, x, layer->weight, layer->bias, layer->config));
    cp_tensor *kernel = cp_reshape(at, layer->weight, CP_SHAPE(w->dims[1], w->dims[2], w->dims[3]));
    return scope_end(at, cp_conv1d(at, x, kernel, layer->bias, layer->config));
}

cp_tensor *(cp_conv_transpose_forward)(cp_at at, const cp_conv *layer, cp_tensor *x) {
    if (!layer || !layer->weight)
        return cp_refuse(at, "conv_transpose",
                         layer ? "the layer has no weight (did cp_conv_transpose_make fail?)" : "the layer is NULL");
    cp_scope_begin_at(at, layer->weight, 1);
    return scope_end(at, cp_conv_transpose(at, x, layer->weight, layer->bias, layer->config, layer->output_pad));
}

/* ---- normalization ---- */

static bool norm_possible(cp_at at, const cp_params *params, const cp_norm_config *c) {
    if (!params) return cp_misuse(at, "norm_make", "the parameter set is NULL; cp_params_new makes one");
    if (c->kind == CP_NORM_NONE)
        return cp_misuse(at, "norm_make", "no kind is set, such as .kind = CP_NORM_BATCH; a layer without a norm is (cp_norm){0}");
    if (c->kind < CP_NORM_NONE || c->kind > CP_NORM_LAYER)
        return cp_misuse(at, "norm_make", "%d is not a normalization", (int)c->kind);
    if (c->channels < 1) return cp_misuse(at, "norm_make", "channels is %d; it must be positive", c->channels);
    return (c->groups >= 0 && (c->groups == 0 || c->channels % c->groups == 0)) ||
           cp_misuse(at, "norm_make", "groups is %d; it must divide channels, %d", c->groups, c->channels);
}

cp_norm(cp_norm_make)(cp_at at, cp_params *params, const char *path, cp_norm_config c) {
    cp_norm layer = {.config = c}, none = {.config.kind = c.kind};
    if (!norm_possible(at, params, &c)) return none;
    for (int groups = 8; c.groups == 0; groups /= 2)
        if (c.channels % groups == 0) c.groups = groups;
    layer.config = c;
    layer.weight = (cp_params_add)(at, params, path, "weight", CP_LAYOUT_PLAIN, CP_SHAPE(c.channels));
    layer.bias = layer.weight ? (cp_params_add)(at, params, path, "bias", CP_LAYOUT_PLAIN, CP_SHAPE(c.channels)) : NULL;
    if (!layer.bias) return none;
    cp_tensor_fill(layer.weight, 1);
    if (c.kind != CP_NORM_BATCH) return layer;
    layer.running_mean = (cp_params_add_buffer)(at, params, path, "running_mean", CP_SHAPE(c.channels));
    if (layer.running_mean) layer.running_var = (cp_params_add_buffer)(at, params, path, "running_var", CP_SHAPE(c.channels));
    if (!layer.running_var) return none;
    cp_tensor_fill(layer.running_var, 1);
    return layer;
}

static cp_batch_norm_config batch_norm_config(const cp_norm *layer, cp_mode mode) {
    return (cp_batch_norm_config){.training = mode == CP_TRAINING,
                                  .running_mean = layer->running_mean,
                                  .running_var = layer->running_var,
                                  .momentum = layer->config.momentum,
                                  .eps = layer->config.eps};
}

bool cp_norm_fixed(const cp_norm *layer, cp_mode mode) {
    return layer && layer->config.kind == CP_NORM_BATCH && mode == CP_EVALUATION;
}

bool(cp_norm_factors)(cp_at at, const cp_norm *layer, cp_tensor **scale, cp_tensor **shift) {
    if (!scale || !shift) return cp_misuse(at, "norm_factors", "scale or shift is NULL");
    *scale = *shift = NULL;
    if (!cp_norm_fixed(layer, CP_EVALUATION) || !layer->running_var)
        return cp_misuse(at, "norm_factors",
                         !layer                                ? "the layer is NULL"
                         : layer->config.kind != CP_NORM_BATCH ? "only a batch norm has fixed factors"
                                                               : "the layer has no weight (did cp_norm_make fail?)");
    return cp_batch_norm_factors(at, layer->weight, layer->bias, batch_norm_config(layer, CP_EVALUATION), scale, shift);
}

cp_tensor *(cp_norm_forward)(cp_at at, const cp_norm *layer, cp_tensor *x, cp_mode mode) {
    if (!layer || (layer->config.kind != CP_NORM_NONE && !layer->weight))
        return cp_refuse(at, "norm", layer ? "the layer has no weight (did cp_norm_make fail?)" : "the layer is NULL");
    if (!cp_check(at, "norm", 1, &x)) return NULL;
    const cp_norm_config *c = &layer->config;
    if (c->kind == CP_NORM_NONE) return x;
    cp_scope_begin_at(at, layer->weight, 1);
    switch (c->kind) {
    case CP_NORM_BATCH: return scope_end(at, cp_batch_norm(at, x, layer->weight, layer->bias, batch_norm_config(layer, mode)));
    case CP_NORM_GROUP: return scope_end(at, cp_group_norm(at, x, layer->weight, layer->bias, c->groups, c->eps));
    case CP_NORM_LAYER: return scope_end(at, cp_layer_norm(at, x, layer->weight, layer->bias, c->eps));
    default: return scope_end(at, cp_refuse(at, "norm", "%d is not a normalization", (int)c->kind));
    }
}

bool cp_norm_fuses(const cp_norm *layer, cp_activation activation) {
    return layer && layer->weight && (layer->config.kind == CP_NORM_GROUP || layer->config.kind == CP_NORM_LAYER) &&
           (activation == CP_LEAKY_RELU || activation == CP_RELU);
}

cp_tensor *(cp_norm_activate)(cp_at at, const cp_norm *layer, cp_tensor *x, cp_activation activation, cp_mode mode) {
    if (!cp_norm_fuses(layer, activation)) return cp_activate(at, cp_norm_forward(at, layer, x, mode), activation);
    const cp_norm_config *c = &layer->config;
    return cp_leaky_norm(at, x, layer->weight, layer->bias, c->kind == CP_NORM_GROUP ? c->groups : 0,
                         cp_activation_slope(activation), c->eps);
}
