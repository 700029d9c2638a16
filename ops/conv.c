/* Convolution of images and its two gradients: three ops, closed under differentiation. With y = conv(x, w):
 *     conv(x, w):         dx = input_grad(g, w),   dw = weight_grad(x, g)
 *     input_grad(g, w):   dg = conv(h, w),         dw = weight_grad(h, g)     (h its incoming gradient, an image)
 *     weight_grad(x, g):  dx = input_grad(g, h),   dg = conv(x, h)            (h its incoming gradient, a kernel) */
#include "core/kernels/kernels.h"
#include "core/op.h"
#include "ops/ops.h"

static int or_one(int value) {
    return value ? value : 1;
}

/* -1 when the kernel does not fit or the result is too large. */
static int out_size(int size, int before, int after, int kernel, int dilation, int stride) {
    int64_t room = (int64_t)size + before + after - (int64_t)dilation * (kernel - 1) - 1;
    return room < 0 || room / stride >= INT32_MAX ? -1 : (int)(room / stride) + 1;
}

/* Checks everything about a convolution but the number of rows of g. */
static bool conv_plan(cp_at at, const char *op, const int *x, const int *w, cp_conv2d_config c, cp_conv_shape *s) {
    if (!cp_shape_check(at, op, 4, x) || !cp_shape_check(at, op, 4, w)) return false;
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
        return cp_misuse(at, op, "image %s and kernel %s (kh, kw, C/groups, K) do not fit with %d group%s", cp_dims_text(4, x).s,
                         cp_dims_text(4, w).s, s->groups, s->groups == 1 ? "" : "s");
    s->oh = out_size(s->h, c.pad_top, c.pad_bottom, s->kh, s->dilation_h, s->stride_h);
    s->ow = out_size(s->w, c.pad_left, c.pad_right, s->kw, s->dilation_w, s->stride_w);
    if (s->kh < 1 || s->kw < 1 || s->oh < 0 || s->ow < 0)
        return cp_misuse(at, op, "kernel %s does not fit into the padded image %s", cp_dims_text(4, w).s, cp_dims_text(4, x).s);
    return true;
}

static bool is_rank(cp_at at, const char *op, const char *what, const cp_tensor *t, int rank) {
    return t->rank == rank || cp_misuse(at, op, "%s has shape %s; it needs %d axes", what, cp_shape_text(t).s, rank);
}

static bool is_response(cp_at at, const char *op, const char *what, const cp_tensor *g, const cp_conv_shape *s) {
    int dims[] = {s->n, s->oh, s->ow, s->k};
    return cp_shape_is(g, 4, dims) ||
           cp_misuse(at, op, "%s has shape %s; the convolution gives %s", what, cp_shape_text(g).s, cp_dims_text(4, dims).s);
}

static bool is_bias(cp_at at, const char *op, const cp_tensor *bias, const cp_conv_shape *s) {
    return !bias || cp_shape_is(bias, 1, &s->k) ||
           cp_misuse(at, op, "bias has shape %s; the kernel gives %d channels", cp_shape_text(bias).s, s->k);
}

/* ---- conv2d ---- */

static void conv2d_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor              *x = node->in[0], *w = node->in[1];
    const cp_conv2d_config *c = node->attr;
    if (cp_needs(node, 0)) gin[0] = cp_conv2d_input_grad(at, g, w, x->dims, *c);
    if (cp_needs(node, 1)) gin[1] = cp_conv2d_weight_grad(at, x, g, w->dims, *c);
    if (node->inputs == 3 && cp_needs(node, 2)) gin[2] = cp_sum(at, g, CP_AXES(0, 1, 2), false);
}

const cp_op cp_op_conv2d = {.name = "conv2d",
                            .formula = "y[n,i,j,o] = bias[o] + sum x[n, i s + u d - p, j s + v d - p, c] w[u,v,c,o]",
                            .grad = conv2d_grad,
                            .keeps = CP_KEEPS_IN(0) | CP_KEEPS_IN(1)};

cp_tensor *(cp_conv2d)(cp_at at, cp_tensor *x, cp_tensor *w, cp_tensor *bias, cp_conv2d_config config) {
    const char   *op = "conv2d";
    cp_tensor    *in[] = {x, w, bias};
    cp_conv_shape s;
    if (!cp_check(at, op, bias ? 3 : 2, in) || !is_rank(at, op, "x", x, 4) || !is_rank(at, op, "w", w, 4) ||
        !conv_plan(at, op, x->dims, w->dims, config, &s))
        return NULL;
    if (!is_bias(at, op, bias, &s)) return NULL;
    cp_tensor  *out = cp_out(at, 4, (int[]){s.n, s.oh, s.ow, s.k});
    const void *attr = cp_attr(at, &config, sizeof config);
    if (!out || !attr) return NULL;
    const cp_conv_fusion fusion = {.bias = bias ? bias->data : NULL};
    if (!cp_kernels()->conv2d(cp_scratch(at), &s, x->data, w->data, &fusion, out->data)) return NULL;
    unsigned keeps = (cp_tracked(at, w) ? CP_KEEPS_IN(0) : 0) | (cp_tracked(at, x) ? CP_KEEPS_IN(1) : 0);
    return cp_record_keeping(at, &cp_op_conv2d, keeps, out, attr, bias ? 3 : 2, in);
}

/* ---- conv2d with what stands around it in a pre-activation network, in one pass ---- */

typedef struct leaky_attr {
    cp_conv2d_config     config;
    cp_real              slope;
    int                  scale, shift, bias, residual; /* places among the inputs, or -1 */
    const unsigned char *signs;                        /* of what the leaky ReLU saw; NULL when the rule will not ask */
} leaky_attr;

static cp_tensor *input_at(const cp_node *node, int place) {
    return place > 0 ? node->in[place] : NULL;
}

static const cp_real *values(const cp_tensor *t) {
    return t ? t->data : NULL;
}

static bool needs_at(const cp_node *node, int place) {
    return place > 0 && cp_needs(node, place);
}

/* gain cp_gate(cp_conv2d_input_grad) and cp_conv2d_weight_grad(cp_leaky_relu(scale x + shift)), without the passes between. */
static cp_tensor *leaky_input_grad(cp_at at, const cp_node *node, cp_tensor *g, const cp_real *gain) {
    const leaky_attr *a = node->attr;
    cp_tensor        *x = node->in[0], *w = node->in[1], *out = cp_out(at, 4, x->dims);
    cp_conv_shape     s;
    if (!out || !conv_plan(at, "leaky_conv2d", x->dims, w->dims, a->config, &s)) return NULL;
    const cp_conv_fusion fusion = {.gate = a->signs, .gain = gain, .slope = a->slope};
    return cp_kernels()->conv2d_input_grad(cp_scratch(at), &s, g->data, w->data, &fusion, out->data) ? out : NULL;
}

static cp_tensor *leaky_weight_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor *bias_grad) {
    const leaky_attr *a = node->attr;
    cp_tensor        *x = node->in[0], *w = node->in[1], *out = cp_out(at, 4, w->dims);
    cp_conv_shape     s;
    if (!out || !conv_plan(at, "leaky_conv2d", x->dims, w->dims, a->config, &s)) return NULL;
    const cp_conv_fusion fusion = {.scale = values(input_at(node, a->scale)),
                                   .shift = values(input_at(node, a->shift)),
                                   .leaky_input = true,
                                   .slope = a->slope};
    cp_real             *gb = bias_grad ? bias_grad->data : NULL;
    return cp_kernels()->conv2d_weight_grad(cp_scratch(at), &s, x->data, g->data, &fusion, out->data, gb) ? out : NULL;
}

/* The signs as numbers, for ops. */
static cp_tensor *signs_tensor(cp_at at, const unsigned char *signs, const cp_tensor *like) {
    cp_tensor *out = cp_out(at, like->rank, like->dims);
    for (size_t i = 0; out && i < out->size; i++) out->data[i] = cp_signs_get(signs, i) ? 1 : -1;
    return out;
}

/* The gradient with respect to what the leaky ReLU sees, and from there to x, scale and shift. */
static void leaky_before_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const leaky_attr *a = node->attr;
    cp_tensor        *x = node->in[0], *scale = input_at(node, a->scale), *before;
    if (cp_recording(at))
        before = cp_gate(at, cp_conv2d_input_grad(at, g, node->in[1], x->dims, a->config), signs_tensor(at, a->signs, x), a->slope);
    else
        before = leaky_input_grad(at, node, g, NULL);
    if (!before) return;
    if (cp_needs(node, 0)) gin[0] = scale ? cp_mul(at, before, scale) : before;
    if (needs_at(node, a->scale)) gin[a->scale] = cp_sum(at, cp_mul(at, before, x), CP_AXES(0, 1, 2), false);
    if (needs_at(node, a->shift)) gin[a->shift] = cp_sum(at, before, CP_AXES(0, 1, 2), false);
}

/* The values of x are read for the gradients of w and scale only; the rest of the rule has their signs. */
static void leaky_conv2d_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor        *x = node->in[0], *w = node->in[1];
    const leaky_attr *a = node->attr;
    cp_tensor        *scale = input_at(node, a->scale), *shift = input_at(node, a->shift);
    bool              recorded = cp_recording(at), affine = needs_at(node, a->scale) || needs_at(node, a->shift);
    if (affine || (cp_needs(node, 0) && recorded))
        leaky_before_grad(at, node, g, gin);
    else if (cp_needs(node, 0))
        gin[0] = leaky_input_grad(at, node, g, values(scale));
    if (cp_needs(node, 1) && recorded)
        gin[1] = cp_conv2d_weight_grad(at, cp_leaky_relu(at, scale ? cp_scale_shift(at, x, scale, shift) : x, a->slope), g, w->dims,
                                       a->config);
    if (cp_needs(node, 1) && !recorded) {
        cp_tensor *bias_grad = needs_at(node, a->bias) ? cp_out(at, 1, &w->dims[3]) : NULL; /* comes with the same pass over g */
        gin[1] = leaky_weight_grad(at, node, g, bias_grad);
        if (bias_grad) gin[a->bias] = bias_grad;
    }
    if (needs_at(node, a->bias) && !gin[a->bias]) gin[a->bias] = cp_sum(at, g, CP_AXES(0, 1, 2), false);
    if (needs_at(node, a->residual)) gin[a->residual] = g;
}

const cp_op cp_op_leaky_conv2d = {.name = "leaky_conv2d",
                                  .formula = "conv2d(leaky_relu(scale x + shift), w) + bias + residual",
                                  .grad = leaky_conv2d_grad,
                                  .keeps = CP_KEEPS_IN(0) | CP_KEEPS_IN(1) | CP_KEEPS_IN(2) | CP_KEEPS_IN(3) | CP_KEEPS_SAVED,
                                  .kinked = true};

static bool is_channels(cp_at at, const char *op, const char *what, const cp_tensor *t, const cp_tensor *x) {
    return cp_shape_is(t, 1, &x->dims[3]) ||
           cp_misuse(at, op, "%s has shape %s; x %s has %d channels", what, cp_shape_text(t).s, cp_shape_text(x).s, x->dims[3]);
}

/* What the rule will read for the gradients that may be asked of it; scale and shift, if any, are inputs 2 and 3. */
static unsigned leaky_keeps(cp_at at, const cp_tensor *x, const cp_tensor *w, const cp_conv_extras *around) {
    bool     scaled = around->scale, to_x = cp_tracked(at, x), to_w = cp_tracked(at, w);
    bool     to_scale = scaled && cp_tracked(at, around->scale), to_shift = scaled && cp_tracked(at, around->shift);
    unsigned keeps = 0;
    if (to_w || to_scale) keeps |= CP_KEEPS_IN(0);
    if (to_x || to_scale || to_shift) keeps |= CP_KEEPS_IN(1) | CP_KEEPS_SAVED;
    if (scaled && (to_x || to_w)) keeps |= CP_KEEPS_IN(2);
    if (scaled && to_w) keeps |= CP_KEEPS_IN(3);
    return keeps;
}

/* The signs, when the rule will read them. */
static bool signs_keep(cp_at at, const cp_tensor *x, const cp_conv_extras *around, unsigned keeps, const unsigned char **signs) {
    const cp_tensor *scale = around->scale, *shift = around->shift;
    size_t           c = (size_t)x->dims[3];
    if (!(keeps & CP_KEEPS_SAVED)) return true;
    unsigned char *bits = cp_keep(at, cp_signs_bytes(x->size));
    if (bits) cp_kernels()->signs(c ? x->size / c : 0, c, x->data, scale ? scale->data : NULL, shift ? shift->data : NULL, bits);
    *signs = bits;
    return bits;
}

cp_tensor *(cp_leaky_conv2d)(cp_at at, cp_tensor *x, cp_tensor *w, cp_conv_extras around, cp_conv2d_config config) {
    const char   *op = "leaky_conv2d";
    cp_tensor    *in[6] = {x, w};
    int           inputs = 2;
    leaky_attr    attr = {.config = config, .slope = around.slope, .scale = -1, .shift = -1, .bias = -1, .residual = -1};
    cp_conv_shape s;
    if (around.scale) in[attr.scale = inputs++] = around.scale;
    if (around.shift) in[attr.shift = inputs++] = around.shift;
    if (around.bias) in[attr.bias = inputs++] = around.bias;
    if (around.residual) in[attr.residual = inputs++] = around.residual;
    if (!cp_check(at, op, inputs, in) || !is_rank(at, op, "x", x, 4) || !is_rank(at, op, "w", w, 4) ||
        !conv_plan(at, op, x->dims, w->dims, config, &s) || !is_bias(at, op, around.bias, &s) ||
        (around.residual && !is_response(at, op, "residual", around.residual, &s)))
        return NULL;
    if (!around.scale != !around.shift) {
        cp_misuse(at, op, "there is a %s without a %s", around.scale ? "scale" : "shift", around.scale ? "shift" : "scale");
        return NULL;
    }
    if (around.scale && (!is_channels(at, op, "scale", around.scale, x) || !is_channels(at, op, "shift", around.shift, x)))
        return NULL;
    cp_tensor *out = cp_out(at, 4, (int[]){s.n, s.oh, s.ow, s.k});
    unsigned   keeps = leaky_keeps(at, x, w, &around);
    if (!out || !signs_keep(at, x, &around, keeps, &attr.signs)) return NULL;
    const void *kept = cp_attr(at, &attr, sizeof attr);
    if (!kept) return NULL;
    const cp_conv_fusion fusion = {.scale = values(around.scale),
                                   .shift = values(around.shift),
                                   .bias = values(around.bias),
                                   .residual = values(around.residual),
                                   .leaky_input = true,
                                   .slope = around.slope};
    if (!cp_kernels()->conv2d(cp_scratch(at), &s, x->data, w->data, &fusion, out->data)) return NULL;
    return cp_record_keeping(at, &cp_op_leaky_conv2d, keeps, out, kept, inputs, in);
}

/* ---- its gradient with respect to the image ---- */

static void conv2d_input_grad_grad(cp_at at, const cp_node *node, cp_tensor *h, cp_tensor **gin) {
    cp_tensor              *g = node->in[0], *w = node->in[1];
    const cp_conv2d_config *c = node->attr;
    if (cp_needs(node, 0)) gin[0] = cp_conv2d(at, h, w, NULL, *c);
    if (cp_needs(node, 1)) gin[1] = cp_conv2d_weight_grad(at, h, g, w->dims, *c);
}

const cp_op cp_op_conv2d_input_grad = {.name = "conv2d_input_grad",
                                       .formula = "d sum(g conv2d(x, w)) / dx",
                                       .grad = conv2d_input_grad_grad,
                                       .keeps = CP_KEEPS_IN(0) | CP_KEEPS_IN(1)};

cp_tensor *(cp_conv2d_input_grad)(cp_at at, cp_tensor *g, cp_tensor *w, const int x_dims[4], cp_conv2d_config config) {
    const char   *op = "conv2d_input_grad";
    cp_tensor    *in[] = {g, w};
    cp_conv_shape s;
    if (!cp_check(at, op, 2, in) || !is_rank(at, op, "g", g, 4) || !is_rank(at, op, "w", w, 4) ||
        !conv_plan(at, op, x_dims, w->dims, config, &s) || !is_response(at, op, "g", g, &s))
        return NULL;
    cp_tensor  *out = cp_out(at, 4, x_dims);
    const void *attr = cp_attr(at, &config, sizeof config);
    if (!out || !attr) return NULL;
    if (!cp_kernels()->conv2d_input_grad(cp_scratch(at), &s, g->data, w->data, &(cp_conv_fusion){0}, out->data)) return NULL;
    return cp_record(at, &cp_op_conv2d_input_grad, out, attr, 2, in);
}

/* ---- its gradient with respect to the kernel ---- */

static void conv2d_weight_grad_grad(cp_at at, const cp_node *node, cp_tensor *h, cp_tensor **gin) {
    cp_tensor              *x = node->in[0], *g = node->in[1];
    const cp_conv2d_config *c = node->attr;
    if (cp_needs(node, 0)) gin[0] = cp_conv2d_input_grad(at, g, h, x->dims, *c);
    if (cp_needs(node, 1)) gin[1] = cp_conv2d(at, x, h, NULL, *c);
}

const cp_op cp_op_conv2d_weight_grad = {.name = "conv2d_weight_grad",
                                        .formula = "d sum(g conv2d(x, w)) / dw",
                                        .grad = conv2d_weight_grad_grad,
                                        .keeps = CP_KEEPS_IN(0) | CP_KEEPS_IN(1)};

cp_tensor *(cp_conv2d_weight_grad)(cp_at at, cp_tensor *x, cp_tensor *g, const int w_dims[4], cp_conv2d_config config) {
    const char   *op = "conv2d_weight_grad";
    cp_tensor    *in[] = {x, g};
    cp_conv_shape s;
    if (!cp_check(at, op, 2, in) || !is_rank(at, op, "x", x, 4) || !is_rank(at, op, "g", g, 4) ||
        !conv_plan(at, op, x->dims, w_dims, config, &s) || !is_response(at, op, "g", g, &s))
        return NULL;
    cp_tensor  *out = cp_out(at, 4, w_dims);
    const void *attr = cp_attr(at, &config, sizeof config);
    if (!out || !attr) return NULL;
    if (!cp_kernels()->conv2d_weight_grad(cp_scratch(at), &s, x->data, g->data, &(cp_conv_fusion){0}, out->data, NULL)) return NULL;
    return cp_record(at, &cp_op_conv2d_weight_grad, out, attr, 2, in);
}
