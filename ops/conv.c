/* Convolution of images and its two gradients: three ops whose gradients are again these ops. With y = conv(x, w):
 *     conv(x, w):         dx = input_grad(g, w),   dw = weight_grad(x, g)
 *     input_grad(g, w):   dg = conv(h, w),         dw = weight_grad(h, g)     (h its incoming gradient, an image)
 *     weight_grad(x, g):  dx = input_grad(g, h),   dg = conv(x, h)            (h its incoming gradient, a kernel) */
#include "core/export.h"
#include "core/kernels/kernels.h"
#include "ops/ops.h"

#include <string.h>

static int or_one(int value) { return value ? value : 1; }

/* -1 when the kernel does not fit or the result is too large. */
static int out_size(int size, int before, int after, int kernel, int dilation, int stride) {
    int64_t room = (int64_t)size + before + after - (int64_t)dilation * (kernel - 1) - 1;
    return room < 0 || room / stride >= INT32_MAX ? -1 : (int)(room / stride) + 1;
}

/* Checks everything about a convolution except the number of rows of g. */
static bool conv_plan(cp_at at, const char *op, const int *x, const int *w, cp_conv2d_config c, cp_conv_shape *s) {
    if (!cp_shape_check(at, op, cp_shape_of(4, x)) || !cp_shape_check(at, op, cp_shape_of(4, w))) return false;
    *s = (cp_conv_shape){.n = x[0],
                         .h = x[1],
                         .w = x[2],
                         .c = x[3],
                         .kh = w[0],
                         .kw = w[1],
                         .k = w[3],
                         .stride_h = or_one(c.stride_h),
                         .stride_w = or_one(c.stride_w),
                         .pad_top = c.pad_top,
                         .pad_left = c.pad_left,
                         .dilation_h = or_one(c.dilation_h),
                         .dilation_w = or_one(c.dilation_w),
                         .groups = or_one(c.groups)};
    if (s->stride_h < 0 || s->stride_w < 0 || s->dilation_h < 0 || s->dilation_w < 0 || s->groups < 0 || c.pad_top < 0 ||
        c.pad_bottom < 0 || c.pad_left < 0 || c.pad_right < 0)
        return cp_misuse(at, op, "stride, padding, dilation and groups must not be negative");
    if (s->c % s->groups || s->k % s->groups || w[2] != s->c / s->groups)
        return cp_misuse(at, op, "image %s and kernel %s (kh, kw, C/groups, K) do not fit with %d group%s%s",
                         cp_dims_text(cp_shape_of(4, x)).s, cp_dims_text(cp_shape_of(4, w)).s, s->groups, s->groups == 1 ? "" : "s",
                         x[1] == w[2] * s->groups ? "; images are (N, H, W, C), this looks like (N, C, H, W)" : "");
    s->oh = out_size(s->h, c.pad_top, c.pad_bottom, s->kh, s->dilation_h, s->stride_h);
    s->ow = out_size(s->w, c.pad_left, c.pad_right, s->kw, s->dilation_w, s->stride_w);
    if (s->kh < 1 || s->kw < 1 || s->oh < 0 || s->ow < 0)
        return cp_misuse(at, op, "kernel %s does not fit into the padded image %s", cp_dims_text(cp_shape_of(4, w)).s,
                         cp_dims_text(cp_shape_of(4, x)).s);
    return true;
}

/* Checks two tensors of this rank, each named by a letter. */
static bool has_axes(cp_at at, const char *op, const char *names, cp_tensor *const *in, int rank) {
    if (!cp_check(at, op, 2, in)) return false;
    for (int i = 0; i < 2; i++)
        if (in[i]->rank != rank)
            return cp_misuse(at, op, "%c has shape %s; it needs %d axes", names[i], cp_shape_text(in[i]).s, rank);
    return true;
}

static bool is_pair(cp_at at, const char *op, const char *names, cp_tensor *const *in) { return has_axes(at, op, names, in, 4); }

static bool is_response(cp_at at, const char *op, const char *what, const cp_tensor *g, const cp_conv_shape *s) {
    int dims[] = {s->n, s->oh, s->ow, s->k};
    return cp_shape_is(g, cp_shape_of(4, dims)) || cp_misuse(at, op, "%s has shape %s; the convolution gives %s", what,
                                                             cp_shape_text(g).s, cp_dims_text(cp_shape_of(4, dims)).s);
}

static bool is_bias(cp_at at, const char *op, const cp_tensor *bias, const cp_conv_shape *s) {
    return !bias || cp_shape_is(bias, CP_SHAPE(s->k)) ||
           cp_misuse(at, op, "bias has shape %s; the kernel gives %d channels", cp_shape_text(bias).s, s->k);
}

static const cp_real *values(const cp_tensor *t) { return t ? t->data : NULL; }

/* ONNX has images (N, C, H, W) and kernels (K, C/groups, kh, kw). */
static void conv_attrs(cp_conv2d_config c, cp_onnx_attr *attrs) {
    const cp_onnx_attr all[] = {
        {"pads", CP_ONNX_INTS, .count = 4, .ints = {c.pad_top, c.pad_left, c.pad_bottom, c.pad_right}},
        {"strides", CP_ONNX_INTS, .count = 2, .ints = {or_one(c.stride_h), or_one(c.stride_w)}},
        {"dilations", CP_ONNX_INTS, .count = 2, .ints = {or_one(c.dilation_h), or_one(c.dilation_w)}},
        {"group", CP_ONNX_INT, .ints = {or_one(c.groups)}},
        {0},
    };
    memcpy(attrs, all, sizeof all);
}

static int conv_to_onnx(cp_export *e, int x, int bias, cp_conv2d_config c) {
    cp_tensor   *w = cp_permute(e->at, e->node->in[1], (int[]){3, 2, 0, 1});
    int          in[] = {x, cp_export_constant(e, w), cp_export_in(e, bias)};
    cp_onnx_attr attrs[5];
    conv_attrs(c, attrs);
    e->channels_first = true;
    return cp_onnx_node(e->graph, "Conv", in[2] ? 3 : 2, in, attrs);
}

/* ---- conv2d ---- */

static int conv2d_to_onnx(cp_export *e, const cp_node *node) {
    return conv_to_onnx(e, cp_export_in_channels_first(e, 0), 2, *(const cp_conv2d_config *)node->attr);
}

static void conv2d_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor              *x = node->in[0], *w = node->in[1];
    const cp_conv2d_config *c = node->attr;
    if (cp_needs(node, 0)) gin[0] = cp_conv2d_input_grad(at, g, w, x->dims, *c);
    if (cp_needs(node, 1)) gin[1] = cp_conv2d_weight_grad(at, x, g, w->dims, *c);
    if (cp_needs(node, 2)) gin[2] = cp_sum(at, g, CP_AXES(0, 1, 2), false);
}

CP_OP(conv2d, .formula = "y[n,i,j,o] = bias[o] + sum x[n, i s + u d - p, j s + v d - p, c] w[u,v,c,o]",
      .rule = "x: conv2d_input_grad(g, w); w: conv2d_weight_grad(x, g); bias: sum of g over n, i, j",
      .words = "Each pixel of the image gets the gradients of all windows that contain it, weighted by the kernel; the kernel "
               "gets, summed over all windows, the gradient times the pixel.",
      .keeps = {CP_KEEPS_IN(1), CP_KEEPS_IN(0)}, .to_onnx = conv2d_to_onnx);

/* ---- conv2d fused with its neighbors in a pre-activation network ---- */

enum { X, W, SCALE, SHIFT, BIAS, RESIDUAL, INPUTS };

typedef struct leaky_attr {
    cp_conv2d_config     config;
    cp_conv_shape        shape;
    cp_real              slope;
    const unsigned char *signs; /* of the leaky ReLU's input; NULL when the rule does not need them */
} leaky_attr;

/* Without scale, a slope of 1 leaves x unchanged before the convolution. */
static bool is_plain(cp_real slope, const cp_tensor *scale) { return slope == 1 && !scale; }

/* gain cp_gate(cp_conv2d_input_grad) and cp_conv2d_weight_grad(cp_leaky_relu(scale x + shift)), in one pass. */
static cp_tensor *leaky_input_grad(cp_at at, const cp_node *node, cp_tensor *g, const cp_real *gain) {
    const leaky_attr    *a = node->attr;
    cp_tensor           *w = node->in[W], *out = cp_out(at, node->in[X]->shape);
    const cp_conv_fusion fusion = {.gate = a->signs, .gain = gain, .slope = a->slope};
    bool ok = out && cp_kernels()->conv2d_input_grad(cp_scratch(at), &a->shape, g->data, w->data, &fusion, out->data);
    return ok ? out : NULL;
}

static cp_tensor *leaky_weight_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor *bias_grad) {
    const leaky_attr    *a = node->attr;
    cp_tensor           *x = node->in[X], *out = cp_out(at, node->in[W]->shape);
    const cp_conv_fusion fusion = {.scale = values(node->in[SCALE]),
                                   .shift = values(node->in[SHIFT]),
                                   .leaky_input = !is_plain(a->slope, node->in[SCALE]),
                                   .slope = a->slope};
    cp_real             *gb = bias_grad ? bias_grad->data : NULL;
    bool ok = out && cp_kernels()->conv2d_weight_grad(cp_scratch(at), &a->shape, x->data, g->data, &fusion, out->data, gb);
    return ok ? out : NULL;
}

/* A tensor with the signs of the leaky ReLU's input: x itself if it was kept, otherwise numbers made from the signs. */
static cp_tensor *signs_tensor(cp_at at, const cp_node *node) {
    cp_tensor *x = node->in[X];
    if (!node->in[SCALE] && node->keeps & CP_KEEPS_IN(X)) return x;
    const unsigned char *signs = ((const leaky_attr *)node->attr)->signs;
    cp_tensor           *out = cp_out(at, x->shape);
    for (size_t i = 0; out && i < out->size; i++) out->data[i] = cp_signs_get(signs, i) ? 1 : -1;
    return out;
}

/* The gradient at the leaky ReLU's input, and from there those of x, scale and shift. */
static void leaky_before_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const leaky_attr *a = node->attr;
    cp_tensor        *x = node->in[0], *scale = node->in[SCALE], *before;
    if (cp_recording(at)) {
        before = cp_conv2d_input_grad(at, g, node->in[1], x->dims, a->config);
        if (a->signs) {
            cp_tensor *after = before;
            before = cp_gate(at, after, signs_tensor(at, node), a->slope);
            cp_release(at, after);
        }
    } else {
        before = leaky_input_grad(at, node, g, NULL);
    }
    if (!before) return;
    if (cp_needs(node, 0)) gin[0] = scale ? cp_mul(at, before, scale) : before;
    if (cp_needs(node, SCALE)) gin[SCALE] = cp_sum(at, cp_mul(at, before, x), CP_AXES(0, 1, 2), false);
    if (cp_needs(node, SHIFT)) gin[SHIFT] = cp_sum(at, before, CP_AXES(0, 1, 2), false);
}

/* The values of x are needed for the gradients of w and scale only; the rest of the rule uses their signs. */
static void leaky_conv2d_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor        *x = node->in[0], *w = node->in[1];
    const leaky_attr *a = node->attr;
    cp_tensor        *scale = node->in[SCALE], *shift = node->in[SHIFT];
    bool              recorded = cp_recording(at), affine = cp_needs(node, SCALE) || cp_needs(node, SHIFT);
    if (affine || (cp_needs(node, 0) && recorded))
        leaky_before_grad(at, node, g, gin);
    else if (cp_needs(node, 0))
        gin[0] = leaky_input_grad(at, node, g, values(scale));
    if (cp_needs(node, 1) && recorded)
        gin[1] = cp_conv2d_weight_grad(at, cp_leaky_relu(at, scale ? cp_scale_shift(at, x, scale, shift) : x, a->slope), g, w->dims,
                                       a->config);
    if (cp_needs(node, 1) && !recorded) {
        cp_tensor *bias_grad =
            cp_needs(node, BIAS) ? cp_out(at, CP_SHAPE(w->dims[3])) : NULL; /* computed in the same pass over g */
        gin[1] = leaky_weight_grad(at, node, g, bias_grad);
        if (bias_grad) gin[BIAS] = bias_grad;
    }
    if (cp_needs(node, BIAS) && !gin[BIAS]) gin[BIAS] = cp_sum(at, g, CP_AXES(0, 1, 2), false);
    if (cp_needs(node, RESIDUAL)) gin[RESIDUAL] = g;
}

static int leaky_conv2d_to_onnx(cp_export *e, const cp_node *node) {
    const leaky_attr *a = node->attr;
    int               x = cp_export_scale_shift(e, cp_export_in_channels_first(e, X), SCALE, SHIFT, true);
    int               y = conv_to_onnx(e, cp_export_leaky(e, x, a->slope), BIAS, a->config);
    int               residual = cp_export_in_channels_first(e, RESIDUAL);
    return residual ? cp_export_pair(e, "Add", y, residual) : y;
}

/* Where the slope is 1 there is no leaky ReLU, and the rule needs no signs. */
#define LEAKY_CONV(OP, FORMULA, BACK, WORDS, SIGNS, KINKED)                                                                        \
    OP = {.name = "leaky_conv2d",                                                                                                  \
          .formula = "conv2d(" FORMULA ", w) + bias + residual",                                                                   \
          .grad = leaky_conv2d_grad,                                                                                               \
          .to_onnx = leaky_conv2d_to_onnx,                                                                                         \
          .rule = "x: scale d with d = " BACK "; w: conv2d_weight_grad(" FORMULA                                                   \
                  ", g); scale: sum d x; shift: sum d; bias: sum g; residual: g",                                                  \
          .words = "The gradient goes back through the convolution" WORDS ", and the residual gets the gradient unchanged.",       \
          .keeps = {[X] = CP_KEEPS_IN(W) | CP_KEEPS_IN(SCALE) | SIGNS,                                                             \
                    [W] = CP_KEEPS_IN(X) | CP_KEEPS_IN(SCALE) | CP_KEEPS_IN(SHIFT),                                                \
                    [SCALE] = CP_KEEPS_IN(X) | CP_KEEPS_IN(W) | SIGNS,                                                             \
                    [SHIFT] = CP_KEEPS_IN(W) | SIGNS},                                                                             \
          .kinked = KINKED}
LEAKY_CONV(const cp_op cp_op_leaky_conv2d, "leaky_relu(scale x + shift)", "gate(conv2d_input_grad(g, w))",
           ", then through the leaky ReLU, whose signs were kept, to the image and its scale and shift; the kernel gets its "
           "gradient from the activated image",
           CP_KEEPS_SAVED, true);
LEAKY_CONV(static const cp_op without_relu, "scale x + shift", "conv2d_input_grad(g, w)",
           " to the image and its scale and shift; the kernel gets its gradient from the image", 0, false);

static bool is_channels(cp_at at, const char *op, const char *what, const cp_tensor *t, const cp_tensor *x) {
    return cp_shape_is(t, CP_SHAPE(x->dims[3])) ||
           cp_misuse(at, op, "%s has shape %s; x %s has %d channels", what, cp_shape_text(t).s, cp_shape_text(x).s, x->dims[3]);
}

/* Saves the signs if the rule will need them. */
static bool signs_keep(cp_at at, const cp_op *op, cp_tensor *const *in, const unsigned char **signs) {
    const cp_tensor *x = in[X];
    size_t           c = (size_t)x->dims[3];
    if (!(cp_keeps(at, op, INPUTS, in) & CP_KEEPS_SAVED)) return true;
    unsigned char *bits = cp_tape_alloc(at, cp_signs_bytes(x->size));
    if (bits) cp_kernels()->signs(c ? x->size / c : 0, c, x->data, values(in[SCALE]), values(in[SHIFT]), bits);
    *signs = bits;
    return bits;
}

static bool extras_fit(cp_at at, const char *op, cp_tensor *const *in, const cp_conv_shape *s) {
    const cp_tensor *scale = in[SCALE], *shift = in[SHIFT], *residual = in[RESIDUAL];
    if (!is_bias(at, op, in[BIAS], s) || (residual && !is_response(at, op, "residual", residual, s))) return false;
    if (!scale != !shift)
        return cp_misuse(at, op, "a %s was given without a %s", scale ? "scale" : "shift", scale ? "shift" : "scale");
    return !scale || (is_channels(at, op, "scale", scale, in[X]) && is_channels(at, op, "shift", shift, in[X]));
}

/* The value of a convolution with these inputs, and in *attr what its rule needs. */
static cp_tensor *convolve(cp_at at, const cp_op *op, cp_tensor *const *in, leaky_attr *attr) {
    const char    *name = op->name;
    cp_conv_shape *s = &attr->shape;
    if (!is_pair(at, name, "xw", in) ||
        !cp_check_optional(at, name, INPUTS - 2, in + 2, (const char *[]){"scale", "shift", "bias", "residual"}) ||
        !conv_plan(at, name, in[X]->dims, in[W]->dims, attr->config, s) || !extras_fit(at, name, in, s))
        return NULL;
    cp_tensor *out = cp_out(at, CP_SHAPE(s->n, s->oh, s->ow, s->k));
    if (!out || !signs_keep(at, op, in, &attr->signs)) return NULL;
    const cp_conv_fusion fusion = {.scale = values(in[SCALE]),
                                   .shift = values(in[SHIFT]),
                                   .bias = values(in[BIAS]),
                                   .residual = values(in[RESIDUAL]),
                                   .leaky_input = !is_plain(attr->slope, in[SCALE]),
                                   .slope = attr->slope};
    return cp_kernels()->conv2d(cp_scratch(at), s, in[X]->data, in[W]->data, &fusion, out->data) ? out : NULL;
}

cp_tensor *(cp_conv2d)(cp_at at, cp_tensor *x, cp_tensor *w, cp_tensor *bias, cp_conv2d_config config) {
    leaky_attr attr = {.config = config, .slope = 1};
    cp_tensor *out = convolve(at, &cp_op_conv2d, (cp_tensor *[INPUTS]){[X] = x, [W] = w, [BIAS] = bias}, &attr);
    return cp_record_with(at, &cp_op_conv2d, out, &config, sizeof config, 3, (cp_tensor *[]){x, w, bias});
}

cp_tensor *(cp_leaky_conv2d)(cp_at at, cp_tensor *x, cp_tensor *w, cp_conv_extras extras, cp_conv2d_config config) {
    const cp_op *op = extras.slope == 1 ? &without_relu : &cp_op_leaky_conv2d;
    cp_tensor   *in[] = {x, w, extras.scale, extras.shift, extras.bias, extras.residual};
    leaky_attr   attr = {.config = config, .slope = extras.slope};
    return cp_record_with(at, op, convolve(at, op, in, &attr), &attr, sizeof attr, INPUTS, in);
}

/* ---- its gradient with respect to the image ---- */

/* The rows of an image that no window of the convolution reaches. */
static int left_over(int size, int pads, int kernel, int dilation, int stride) {
    return (size + pads - or_one(dilation) * (kernel - 1) - 1) % or_one(stride);
}

static int conv2d_input_grad_to_onnx(cp_export *e, const cp_node *node) {
    const cp_conv2d_config *c = node->attr;
    const int              *w = node->in[1]->dims, *out = node->out->dims;
    cp_tensor              *kernel = cp_permute(e->at, node->in[1], (int[]){3, 2, 0, 1});
    int                     in[] = {cp_export_in_channels_first(e, 0), cp_export_constant(e, kernel)};
    int                     rest_h = left_over(out[1], c->pad_top + c->pad_bottom, w[0], c->dilation_h, c->stride_h);
    int                     rest_w = left_over(out[2], c->pad_left + c->pad_right, w[1], c->dilation_w, c->stride_w);
    cp_onnx_attr            attrs[6];
    conv_attrs(*c, attrs);
    attrs[4] = (cp_onnx_attr){"output_padding", CP_ONNX_INTS, .count = 2, .ints = {rest_h, rest_w}};
    attrs[5] = (cp_onnx_attr){0};
    e->channels_first = true;
    return cp_onnx_node(e->graph, "ConvTranspose", 2, in, attrs);
}

static void conv2d_input_grad_grad(cp_at at, const cp_node *node, cp_tensor *h, cp_tensor **gin) {
    cp_tensor              *g = node->in[0], *w = node->in[1];
    const cp_conv2d_config *c = node->attr;
    if (cp_needs(node, 0)) gin[0] = cp_conv2d(at, h, w, NULL, *c);
    if (cp_needs(node, 1)) gin[1] = cp_conv2d_weight_grad(at, h, g, w->dims, *c);
}

CP_OP(conv2d_input_grad, .formula = "d sum(a conv2d(x, b)) / dx", .rule = "a: conv2d(g, b); b: conv2d_weight_grad(g, a)",
      .words = "The op is linear in both inputs: the incoming gradient, an image, is convolved for the first, and combined with "
               "the first for the kernel.",
      .keeps = {CP_KEEPS_IN(1), CP_KEEPS_IN(0)}, .to_onnx = conv2d_input_grad_to_onnx);

cp_tensor *(cp_conv2d_input_grad)(cp_at at, cp_tensor *g, cp_tensor *w, const int x_dims[4], cp_conv2d_config config) {
    const char   *op = "conv2d_input_grad";
    cp_tensor    *in[] = {g, w};
    cp_conv_shape s;
    if (!is_pair(at, op, "gw", in) || !conv_plan(at, op, x_dims, w->dims, config, &s) || !is_response(at, op, "g", g, &s))
        return NULL;
    cp_tensor *out = cp_out(at, cp_shape_of(4, x_dims));
    if (!out || !cp_kernels()->conv2d_input_grad(cp_scratch(at), &s, g->data, w->data, &(cp_conv_fusion){0}, out->data))
        return NULL;
    return cp_record_with(at, &cp_op_conv2d_input_grad, out, &config, sizeof config, 2, in);
}

/* ---- its gradient with respect to the kernel ---- */

static void conv2d_weight_grad_grad(cp_at at, const cp_node *node, cp_tensor *h, cp_tensor **gin) {
    cp_tensor              *x = node->in[0], *g = node->in[1];
    const cp_conv2d_config *c = node->attr;
    if (cp_needs(node, 0)) gin[0] = cp_conv2d_input_grad(at, g, h, x->dims, *c);
    if (cp_needs(node, 1)) gin[1] = cp_conv2d(at, x, h, NULL, *c);
}

CP_OP(conv2d_weight_grad, .formula = "d sum(b conv2d(a, w)) / dw", .rule = "a: conv2d_input_grad(b, g); b: conv2d(a, g)",
      .words = "The op is linear in both inputs: the incoming gradient, a kernel, takes the place of the weights.",
      .keeps = {CP_KEEPS_IN(1), CP_KEEPS_IN(0)});

cp_tensor *(cp_conv2d_weight_grad)(cp_at at, cp_tensor *x, cp_tensor *g, const int w_dims[4], cp_conv2d_config config) {
    const char   *op = "conv2d_weight_grad";
    cp_tensor    *in[] = {x, g};
    cp_conv_shape s;
    if (!is_pair(at, op, "xg", in) || !conv_plan(at, op, x->dims, w_dims, config, &s) || !is_response(at, op, "g", g, &s))
        return NULL;
    cp_tensor *out = cp_out(at, cp_shape_of(4, w_dims));
    if (!out || !cp_kernels()->conv2d_weight_grad(cp_scratch(at), &s, x->data, g->data, &(cp_conv_fusion){0}, out->data, NULL))
        return NULL;
    return cp_record_with(at, &cp_op_conv2d_weight_grad, out, &config, sizeof config, 2, in);
}

/* ---- sequences, and the transposed convolution ---- */

const cp_op cp_op_conv1d = {.name = "conv1d", .formula = "conv2d of images of one row"};
const cp_op cp_op_conv_transpose = {.name = "conv_transpose", .formula = "conv2d_input_grad(x, w) + bias"};

cp_tensor *(cp_conv1d)(cp_at at, cp_tensor *x, cp_tensor *w, cp_tensor *bias, cp_conv2d_config c) {
    const char   *op = "conv1d";
    cp_conv_shape s;
    c.stride_h = c.pad_top = c.pad_bottom = c.dilation_h = 0;
    if (!has_axes(at, op, "xw", (cp_tensor *[]){x, w}, 3) || !cp_check_optional(at, op, 1, &bias, (const char *[]){"bias"}))
        return NULL;
    cp_shape image = CP_SHAPE(x->dims[0], 1, x->dims[1], x->dims[2]), kernel = CP_SHAPE(1, w->dims[0], w->dims[1], w->dims[2]);
    if (!conv_plan(at, op, image.dims, kernel.dims, c, &s) || !is_bias(at, op, bias, &s)) return NULL;
    cp_tensor *y = cp_conv2d(at, cp_reshape(at, x, image), cp_reshape(at, w, kernel), bias, c);
    return cp_reshape(at, y, CP_SHAPE(s.n, s.ow, s.k));
}

cp_tensor *(cp_conv_transpose)(cp_at at, cp_tensor *x, cp_tensor *w, cp_tensor *bias, cp_conv2d_config c, int output_pad) {
    const char   *op = "conv_transpose";
    cp_conv_shape s;
    if (!is_pair(at, op, "xw", (cp_tensor *[]){x, w}) || !cp_check_optional(at, op, 1, &bias, (const char *[]){"bias"}))
        return NULL;
    if (output_pad < 0 || (output_pad && (output_pad >= or_one(c.stride_h) || output_pad >= or_one(c.stride_w))))
        return cp_refuse(at, op, "output_pad is %d; it must be at least 0 and less than the strides", output_pad);
    int64_t h = ((int64_t)x->dims[1] - 1) * or_one(c.stride_h) - c.pad_top - c.pad_bottom +
                (int64_t)or_one(c.dilation_h) * (w->dims[0] - 1) + 1 + output_pad;
    int64_t width = ((int64_t)x->dims[2] - 1) * or_one(c.stride_w) - c.pad_left - c.pad_right +
                    (int64_t)or_one(c.dilation_w) * (w->dims[1] - 1) + 1 + output_pad;
    int64_t channels = (int64_t)w->dims[2] * or_one(c.groups);
    if (h < 0 || h > INT32_MAX || width < 0 || width > INT32_MAX || channels < 0 || channels > INT32_MAX)
        return cp_refuse(at, op, "image %s, kernel %s and %d groups give no image of a possible size", cp_shape_text(x).s,
                         cp_shape_text(w).s, or_one(c.groups));
    int dims[] = {x->dims[0], (int)h, (int)width, (int)channels};
    if (!conv_plan(at, op, dims, w->dims, c, &s) || !is_response(at, op, "x", x, &s)) return NULL;
    if (bias && !cp_shape_is(bias, CP_SHAPE(s.c)))
        return cp_refuse(at, op, "bias has shape %s; the kernel gives %d channels", cp_shape_text(bias).s, s.c);
    cp_tensor *y = cp_conv2d_input_grad(at, x, w, dims, c);
    return bias ? cp_add(at, y, bias) : y;
}
