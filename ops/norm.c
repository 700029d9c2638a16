/* Normalization over any axes, batch norm, group and layer norm, and dropout. Group and layer norm, with or without a leaky ReLU behind
 * them, have one kernel for the value and one for the gradient. */
#include "core/export.h"
#include "core/kernels/channels.h"
#include "core/kernels/kernels.h"
#include "ops/ops.h"

#include <limits.h>
#include <string.h>
#include <tgmath.h>

#define DEFAULT_EPS ((cp_real)1e-5)

/* The gradient rule as text; xhat is x normalized, and h the gradient at xhat. */
#define NORM_RULE "x: (h - mean(h) - xhat mean(h xhat)) / sqrt(var + eps) with h = gamma g; gamma: sum g xhat; beta: sum g"
#define RSTD_NAME "1/sqrt(var+eps)" /* the name of the input that has it */
#define NORM_WORDS                                                                                                                 \
    "The gradient loses its mean and its component along the normalized values, because normalizing removes shift and scale; "     \
    "gamma and beta get sums over all values that they were applied to."

/* The inputs of batch, group and layer norm. Mean and rstd = 1 / sqrt(variance + eps) have a value for each channel or, of group and layer
 * norm, for each image and group: (images, groups). */
enum { X, GAMMA, BETA, MEAN, RSTD, INPUTS };

static int     channels_of(const cp_tensor *x) { return x->dims[x->rank - 1]; }
static cp_axes all_but_last(const cp_tensor *x) { return (cp_axes){.count = x->rank - 1, .at = {0, 1, 2, 3}}; }

static bool is_per_channel(cp_at at, const char *op, const char *what, cp_tensor *t, const cp_tensor *x) {
    int c = channels_of(x);
    if (!cp_check_optional(at, op, 1, &t, &what)) return false;
    return !t || cp_shape_is(t, CP_SHAPE(c)) ||
           cp_misuse(at, op, "%s has shape %s; x %s has %d channels", what, cp_shape_text(t).s, cp_shape_text(x).s, c);
}

static bool norm_fits(cp_at at, const char *op, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta) {
    if (!cp_check(at, op, 1, &x)) return false;
    if (x->rank < 2) return cp_misuse(at, op, "x has shape %s; it needs at least two axes", cp_shape_text(x).s);
    return is_per_channel(at, op, "gamma", gamma, x) && is_per_channel(at, op, "beta", beta, x);
}

/* ---- normalize ---- */

/* Computed by ops, so that a recorded sweep can differentiate them again; reduced axes are kept. */
typedef struct statistics {
    cp_tensor *centered, *rstd;
} statistics;

static statistics measure(cp_at at, cp_tensor *a, cp_axes axes, cp_real eps) {
    cp_tensor *centered = cp_sub(at, a, cp_mean(at, a, axes, true));
    cp_tensor *variance = cp_mean(at, cp_square(at, centered), axes, true);
    return (statistics){centered, cp_rsqrt(at, cp_affine(at, variance, 1, eps))};
}

/* rstd (g - mean(g) - hat mean(g hat)): the part of g that changes neither mean nor variance. */
static cp_tensor *project(cp_at at, cp_tensor *g, cp_tensor *hat, cp_tensor *rstd, cp_axes axes) {
    cp_tensor *along = cp_mul(at, hat, cp_mean(at, cp_mul(at, g, hat), axes, true));
    cp_tensor *rest = cp_sub(at, cp_sub(at, g, cp_mean(at, g, axes, true)), along);
    return cp_mul(at, rest, rstd);
}

const cp_op cp_op_normalize = {.name = "normalize", .formula = "(a - mean) / sqrt(variance + eps)"};

cp_tensor *(cp_normalize)(cp_at at, cp_tensor *a, cp_axes axes, cp_real eps) {
    bool flags[CP_MAX_RANK];
    if (!cp_check(at, "normalize", 1, &a) || !cp_axes_flags(at, "normalize", axes, a, flags)) return NULL;
    statistics s = measure(at, a, axes, eps ? eps : DEFAULT_EPS);
    return cp_mul(at, s.centered, s.rstd);
}

/* ---- scale and shift by channel ---- */

static void scale_shift_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor *a = node->in[0], *scale = node->in[1];
    if (cp_needs(node, 0)) gin[0] = cp_mul(at, g, scale);
    if (cp_needs(node, 1)) gin[1] = cp_sum_to(at, cp_mul(at, g, a), scale->shape);
    if (cp_needs(node, 2)) gin[2] = cp_sum_to(at, g, scale->shape);
}

static int scale_shift_to_onnx(cp_export *e, const cp_node *node) {
    (void)node;
    return cp_export_scale_shift(e, cp_export_in(e, 0), 1, 2, false);
}

CP_OP(
    scale_shift, .to_onnx = scale_shift_to_onnx, .formula = "scale a + shift", .keeps = {CP_KEEPS_IN(1), CP_KEEPS_IN(0)},
    .rule = "a: g scale; scale: g a; shift: g",
    .words =
        "The values get the gradient times the scale of their channel; scale and shift get sums over everything but the channel.");

cp_tensor *(cp_scale_shift)(cp_at at, cp_tensor *a, cp_tensor *scale, cp_tensor *shift) {
    cp_tensor *in[] = {a, scale, shift};
    if (!cp_check(at, "scale_shift", 3, in)) return NULL;
    if (a->rank < 1 || !cp_shape_is(scale, CP_SHAPE(a->dims[a->rank - 1])) || !cp_shape_same(scale, shift))
        return cp_refuse(at, "scale_shift", "scale %s and shift %s do not fit the last axis of %s", cp_shape_text(scale).s,
                         cp_shape_text(shift).s, cp_shape_text(a).s);
    cp_tensor *out = cp_out(at, a->shape);
    if (!out) return NULL;
    size_t c = scale->size;
    cp_kernel_scale_shift(c ? a->size / c : 0, c, a->data, NULL, scale->data, shift->data, out->data);
    return cp_record(at, &cp_op_scale_shift, out, NULL, 3, in);
}

/* ---- batch norm ---- */

/* running = (1 - momentum) running + momentum scale batch */
static void running_update(cp_at at, cp_tensor *running, const cp_tensor *batch, cp_real momentum, cp_real scale) {
    if (!running || !batch) return;
    for (size_t i = 0; i < running->size; i++)
        running->data[i] = (1 - momentum) * running->data[i] + momentum * scale * batch->data[i];
    (cp_tensor_changed)(at, running, "cp_batch_norm");
}

/* With xhat = (x - mean) rstd: dbeta = sum g, dgamma = sum g xhat, dx = gamma rstd (g - dbeta / n - xhat dgamma / n); in two passes. */
static void batch_norm_sweep(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor     *x = node->in[X];
    int            c = channels_of(x);
    size_t         rows = x->size / (size_t)c;
    const cp_real *gamma = node->in[GAMMA] ? node->in[GAMMA]->data : NULL, *mean = node->in[MEAN]->data;
    const cp_real *rstd = node->in[RSTD]->data;
    cp_tensor     *beta_grad = cp_out(at, CP_SHAPE(c)), *gamma_grad = cp_out(at, CP_SHAPE(c)), *out = cp_out(at, x->shape);
    cp_tensor     *factors = cp_out(at, CP_SHAPE(3, c));
    if (!beta_grad || !gamma_grad || !out || !factors ||
        !cp_kernel_norm_sums(cp_scratch(at), rows, (size_t)c, g->data, x->data, mean, rstd, beta_grad->data, gamma_grad->data))
        return;
    gin[GAMMA] = gamma_grad;
    gin[BETA] = beta_grad;
    if (!cp_needs(node, X)) return;
    cp_real *of_g = factors->data, *of_x = of_g + c, *level = of_x + c;
    for (int k = 0; k < c; k++) {
        of_g[k] = (gamma ? gamma[k] : 1) * rstd[k];
        of_x[k] = -of_g[k] * rstd[k] * gamma_grad->data[k] / (cp_real)rows;
        level[k] = -of_g[k] * beta_grad->data[k] / (cp_real)rows;
    }
    cp_kernel_norm_grad(rows, (size_t)c, g->data, of_g, x->data, mean, of_x, level, out->data);
    gin[0] = out;
}

/* The same of any norm with ops, so that it can be differentiated again: x in the shape `grouped` has statistics over the axes `together`. */
static void recorded_sweep(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin, cp_shape grouped, cp_axes together,
                           cp_real eps, cp_real slope) {
    cp_tensor *x = node->in[X], *gamma = node->in[GAMMA], *beta = node->in[BETA];
    cp_axes    rows = all_but_last(x);
    statistics s = measure(at, cp_reshape(at, x, grouped), together, eps);
    cp_tensor *flat = cp_mul(at, s.centered, s.rstd), *hat = cp_reshape(at, flat, x->shape);
    if (slope != 1) {
        cp_tensor *y = gamma ? cp_mul(at, hat, gamma) : hat;
        g = cp_gate(at, g, beta ? cp_add(at, y, beta) : y, slope);
    }
    if (cp_needs(node, BETA)) gin[BETA] = cp_sum(at, g, rows, false);
    if (cp_needs(node, GAMMA)) gin[GAMMA] = cp_sum(at, cp_mul(at, g, hat), rows, false);
    if (!cp_needs(node, X)) return;
    if (gamma) g = cp_mul(at, g, gamma);
    gin[X] = cp_reshape(at, project(at, cp_reshape(at, g, grouped), flat, s.rstd, together), x->shape);
}

static void batch_norm_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const cp_tensor *x = node->in[X];
    if (cp_recording(at))
        recorded_sweep(at, node, g, gin, x->shape, all_but_last(x), *(const cp_real *)node->attr, 1);
    else
        batch_norm_sweep(at, node, g, gin);
}

enum { READ = CP_KEEPS_IN(X) | CP_KEEPS_IN(MEAN) | CP_KEEPS_IN(RSTD) };
CP_OP(batch_norm, .formula = "gamma (x - mean) / sqrt(var + eps) + beta over all but the last axis", .rule = NORM_RULE,
      .words = NORM_WORDS, .keeps = {[X] = READ | CP_KEEPS_IN(GAMMA), [GAMMA] = READ, [BETA] = READ});

static cp_tensor *batch_norm_training(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta,
                                      const cp_batch_norm_config *config) {
    int     c = channels_of(x);
    size_t  rows = c ? x->size / (size_t)c : 0;
    cp_real eps = config->eps ? config->eps : DEFAULT_EPS;
    if (rows < 2)
        return cp_refuse(at, "batch_norm", "training on %s: a variance needs more than one value per channel", cp_shape_text(x).s);
    cp_tensor *out = cp_out(at, x->shape), *mean = cp_out(at, CP_SHAPE(c)), *rstd = cp_out(at, CP_SHAPE(c));
    cp_tensor *variance = cp_out(at, CP_SHAPE(c)), *factors = cp_out(at, CP_SHAPE(2, c));
    if (!out || !mean || !rstd || !variance || !factors ||
        !cp_kernel_moments(cp_scratch(at), rows, (size_t)c, x->data, mean->data, variance->data))
        return NULL;
    mean->name = "mean";
    rstd->name = RSTD_NAME;
    cp_real *scale = factors->data, *shift = scale + c;
    for (int k = 0; k < c; k++) {
        rstd->data[k] = 1 / sqrt(variance->data[k] + eps);
        scale[k] = (gamma ? gamma->data[k] : 1) * rstd->data[k];
        shift[k] = beta ? beta->data[k] : 0;
    }
    cp_kernel_scale_shift(rows, (size_t)c, x->data, mean->data, scale, shift, out->data);
    cp_tensor *in[] = {x, gamma, beta, mean, rstd};
    if (!cp_record_with(at, &cp_op_batch_norm, out, &eps, sizeof eps, INPUTS, in)) return NULL;
    if (cp_recomputing(at)) return out;
    running_update(at, config->running_mean, mean, config->momentum, 1); /* last, so that a call that fails changes nothing */
    running_update(at, config->running_var, variance, config->momentum, (cp_real)rows / (cp_real)(rows - 1));
    return out;
}

bool(cp_batch_norm_factors)(cp_at at, cp_tensor *gamma, cp_tensor *beta, cp_batch_norm_config c, cp_tensor **scale,
                            cp_tensor **shift) {
    const char *op = "batch_norm_factors";
    if (!scale || !shift) return cp_misuse(at, op, "scale or shift is NULL");
    *scale = *shift = NULL;
    if (!c.running_mean || !c.running_var) return cp_misuse(at, "batch_norm", "evaluation needs running_mean and running_var");
    if (!cp_check(at, op, 1, &c.running_var)) return false;
    if (c.running_var->rank != 1)
        return cp_misuse(at, op, "running_var has shape %s; it needs one axis", cp_shape_text(c.running_var).s);
    if (!is_per_channel(at, op, "running_mean", c.running_mean, c.running_var) ||
        !is_per_channel(at, op, "gamma", gamma, c.running_var) || !is_per_channel(at, op, "beta", beta, c.running_var))
        return false;
    cp_tensor *factor = cp_rsqrt(at, cp_affine(at, cp_detach(at, c.running_var), 1, c.eps ? c.eps : DEFAULT_EPS));
    if (gamma) factor = cp_mul(at, gamma, factor);
    cp_tensor *level = cp_mul(at, cp_detach(at, c.running_mean), factor);
    *shift = beta ? cp_sub(at, beta, level) : cp_neg(at, level);
    *scale = *shift ? factor : NULL;
    return *shift;
}

cp_tensor *(cp_batch_norm)(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, cp_batch_norm_config c) {
    const char *op = "batch_norm";
    if (!norm_fits(at, op, x, gamma, beta) || !is_per_channel(at, op, "running_mean", c.running_mean, x) ||
        !is_per_channel(at, op, "running_var", c.running_var, x))
        return NULL;
    if (c.momentum == 0) c.momentum = (cp_real)0.1;
    if (c.training) return batch_norm_training(at, x, gamma, beta, &c);
    cp_tensor *scale, *shift;
    return cp_batch_norm_factors(at, gamma, beta, c, &scale, &shift) ? cp_scale_shift(at, x, scale, shift) : NULL;
}

/* ---- group norm and layer norm ---- */

typedef struct norm_attr {
    int     images, pixels, groups; /* layer norm: as many images as rows, of one pixel and one group */
    cp_real slope, eps;
} norm_attr;

static cp_norm_problem problem_of(const norm_attr *a, cp_tensor *const *in) {
    return (cp_norm_problem){.images = (size_t)a->images,
                             .pixels = (size_t)a->pixels,
                             .channels = (size_t)channels_of(in[X]),
                             .groups = (size_t)a->groups,
                             .gamma = in[GAMMA] ? in[GAMMA]->data : NULL,
                             .beta = in[BETA] ? in[BETA]->data : NULL,
                             .slope = a->slope,
                             .eps = a->eps};
}

static void norm_sweep(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor            *x = node->in[X], *gx = NULL, *of_gamma = NULL, *of_beta = NULL;
    const cp_norm_problem p = problem_of(node->attr, node->in);
    const bool            of_x = cp_needs(node, X), of_params = cp_needs(node, GAMMA) || cp_needs(node, BETA);
    if (of_x && !(gx = cp_out(at, x->shape))) return;
    if (of_params && (!(of_gamma = cp_out(at, CP_SHAPE(channels_of(x)))) || !(of_beta = cp_out(at, of_gamma->shape)))) return;
    if (!cp_kernels()->group_norm_grad(cp_scratch(at), &p, x->data, node->in[MEAN]->data, node->in[RSTD]->data, g->data,
                                       of_x ? gx->data : NULL, of_params ? of_gamma->data : NULL, of_params ? of_beta->data : NULL))
        return;
    gin[X] = gx;
    gin[GAMMA] = of_gamma;
    gin[BETA] = of_beta;
}

static void norm_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const norm_attr *a = node->attr;
    cp_shape         grouped = CP_SHAPE(a->images, a->pixels, a->groups, channels_of(node->in[X]) / a->groups);
    if (cp_recording(at))
        recorded_sweep(at, node, g, gin, grouped, CP_AXES(1, 3), a->eps, a->slope);
    else
        norm_sweep(at, node, g, gin);
}

/* With channels first, the values of a group lie together, as ONNX's instance norm takes them; those of a layer norm do anyway. */
static int norm_to_onnx(cp_export *e, const cp_node *node) {
    const norm_attr *a = node->attr;
    const cp_tensor *x = node->in[X];
    int              c = channels_of(x), dims[CP_MAX_RANK], grouped[] = {-1, a->groups, c / a->groups * a->pixels};
    cp_tensor       *one = cp_full(e->at, 1, CP_SHAPE(a->groups)), *zero = cp_full(e->at, 0, CP_SHAPE(a->groups));
    e->channels_first = a->images == x->dims[0];
    int in[] = {e->channels_first ? cp_export_in_channels_first(e, X) : cp_export_in(e, X), cp_export_constant(e, one),
                cp_export_constant(e, zero)};
    in[0] = cp_export_reshape(e, in[0], 3, grouped);
    int y = cp_onnx_node(e->graph, "InstanceNormalization", 3, in,
                         (cp_onnx_attr[]){{"epsilon", CP_ONNX_FLOAT, .number = (double)a->eps}, {0}});
    cp_export_out_dims(e, dims);
    if (e->channels_first) {
        memmove(dims + 2, dims + 1, (size_t)(x->rank - 2) * sizeof *dims);
        dims[1] = c;
    }
    y = cp_export_reshape(e, y, x->rank, dims);
    return cp_export_leaky(e, cp_export_scale_shift(e, y, GAMMA, BETA, e->channels_first), (double)a->slope);
}

/* Without a leaky ReLU the gradient does not depend on beta, but beta is small, and there is one kernel for all. */
enum { READ_ALL = READ | CP_KEEPS_IN(GAMMA) | CP_KEEPS_IN(BETA) };
#define NORM(op, text, first, before, ...)                                                                                         \
    const cp_op cp_op_##op = {.name = #op,                                                                                         \
                              .formula = text,                                                                                     \
                              .to_onnx = norm_to_onnx,                                                                             \
                              .grad = norm_grad,                                                                                   \
                              .keeps = {[X] = READ_ALL, [GAMMA] = READ_ALL, [BETA] = READ_ALL},                                    \
                              .rule = first   NORM_RULE,                                                                           \
                              .words = before NORM_WORDS,                                                                          \
                              __VA_ARGS__}
NORM(layer_norm, "gamma (x - mean) / sqrt(var + eps) + beta over the last axis", "", "", .kinked = false);
NORM(group_norm, "gamma (x - mean) / sqrt(var + eps) + beta over groups of channels", "", "", .kinked = false);
NORM(leaky_norm, "leaky_relu(group_norm) or leaky_relu(layer_norm)", "g through the gate of the leaky ReLU, then ",
     "The leaky ReLU comes first: it multiplies the gradient of negative values by its slope. ", .kinked = true);

/* Group norm or, for 0 groups, layer norm. */
static cp_tensor *norm(cp_at at, const cp_op *op, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, int groups, cp_real slope,
                       cp_real eps) {
    if (!norm_fits(at, op->name, x, gamma, beta)) return NULL;
    int    c = channels_of(x), images = groups ? x->dims[0] : 1;
    size_t count = images && c ? x->size / (size_t)images / (size_t)c : 0;
    if (groups < 0 || (groups ? c % groups != 0 : op == &cp_op_group_norm))
        return cp_refuse(at, op->name, "%d groups do not divide the %d channels of %s", groups, c, cp_shape_text(x).s);
    if (count > INT_MAX) return cp_refuse(at, op->name, "x %s is too large: more than %d rows", cp_shape_text(x).s, INT_MAX);
    norm_attr attr = {images, (int)count, groups, slope, eps ? eps : DEFAULT_EPS};
    if (!groups) attr = (norm_attr){(int)count, 1, 1, slope, attr.eps};
    cp_tensor *mean = cp_out(at, CP_SHAPE(attr.images, attr.groups)), *rstd = cp_out(at, CP_SHAPE(attr.images, attr.groups));
    cp_tensor *out = cp_out(at, x->shape), *in[] = {x, gamma, beta, mean, rstd};
    if (!mean || !rstd || !out) return NULL;
    mean->name = "mean";
    rstd->name = RSTD_NAME;
    const cp_norm_problem p = problem_of(&attr, in);
    if (!cp_kernels()->group_norm(cp_scratch(at), &p, x->data, out->data, mean->data, rstd->data)) return NULL;
    return cp_record_with(at, op, out, &attr, sizeof attr, INPUTS, in);
}

cp_tensor *(cp_layer_norm)(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, cp_real eps) {
    return norm(at, &cp_op_layer_norm, x, gamma, beta, 0, 1, eps);
}

cp_tensor *(cp_group_norm)(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, int groups, cp_real eps) {
    return norm(at, &cp_op_group_norm, x, gamma, beta, groups, 1, eps);
}

cp_tensor *(cp_leaky_norm)(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, int groups, cp_real slope, cp_real eps) {
    return norm(at, &cp_op_leaky_norm, x, gamma, beta, groups, slope, eps);
}

/* ---- dropout ---- */

const cp_op cp_op_dropout = {.name = "dropout", .formula = "a mask / (1 - rate)"};

cp_tensor *(cp_dropout)(cp_at at, cp_tensor *x, cp_real rate, cp_rng *rng, bool training) {
    if (!cp_check(at, "dropout", 1, &x)) return NULL;
    if (!(rate >= 0 && rate < 1)) return cp_refuse(at, "dropout", "rate %g is not in [0, 1)", (double)rate);
    if (!training || rate == 0) return x;
    if (!rng) return cp_refuse(at, "dropout", "rng is NULL");
    cp_tensor *mask = cp_out(at, x->shape);
    if (!mask) return NULL;
    cp_rng_fill_uniform(rng, mask->data, mask->size, 0, 1);
    for (size_t i = 0; i < mask->size; i++) mask->data[i] = mask->data[i] < rate ? 0 : 1 / (1 - rate);
    return cp_mul(at, x, mask);
}
