/* Group norm and layer norm, with or without a leaky ReLU behind them: one kernel for the value and one for its gradient. */
#include "core/kernels/kernels.h"
#include "ops/norm_parts.h"

#include <limits.h>

enum { X, GAMMA, BETA, MEAN, RSTD, INPUTS }; /* mean and rstd = 1 / sqrt(variance + eps) are (images, groups) */

typedef struct norm_attr {
    int     images, pixels, groups; /* layer norm: as many images as rows, of one pixel and one group */
    cp_real slope, eps;
} norm_attr;

static cp_norm_problem problem_of(const norm_attr *a, cp_tensor *const *in) {
    return (cp_norm_problem){.images = (size_t)a->images,
                             .pixels = (size_t)a->pixels,
                             .channels = (size_t)cp_norm_channels(in[X]),
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
    if (of_params && (!(of_gamma = cp_out(at, CP_SHAPE(cp_norm_channels(x)))) || !(of_beta = cp_out(at, of_gamma->shape)))) return;
    if (!cp_kernels()->group_norm_grad(cp_scratch(at), &p, x->data, node->in[MEAN]->data, node->in[RSTD]->data, g->data,
                                       of_x ? gx->data : NULL, of_params ? of_gamma->data : NULL, of_params ? of_beta->data : NULL))
        return;
    gin[X] = gx;
    gin[GAMMA] = of_gamma;
    gin[BETA] = of_beta;
}

/* The same with ops, so that it can be differentiated again. */
static void norm_recorded_sweep(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const norm_attr *a = node->attr;
    cp_tensor       *x = node->in[X], *gamma = node->in[GAMMA], *beta = node->in[BETA];
    cp_shape         grouped = CP_SHAPE(a->images, a->pixels, a->groups, cp_norm_channels(x) / a->groups);
    cp_axes          together = CP_AXES(1, 3), rows = cp_norm_all_but_last(x);
    cp_statistics    s = cp_norm_measure(at, cp_reshape(at, x, grouped), together, a->eps);
    cp_tensor       *flat = cp_mul(at, s.centered, s.rstd), *hat = cp_reshape(at, flat, x->shape);
    if (a->slope != 1) {
        cp_tensor *y = gamma ? cp_mul(at, hat, gamma) : hat;
        g = cp_gate(at, g, beta ? cp_add(at, y, beta) : y, a->slope);
    }
    if (cp_needs(node, BETA)) gin[BETA] = cp_sum(at, g, rows, false);
    if (cp_needs(node, GAMMA)) gin[GAMMA] = cp_sum(at, cp_mul(at, g, hat), rows, false);
    if (!cp_needs(node, X)) return;
    if (gamma) g = cp_mul(at, g, gamma);
    gin[X] = cp_reshape(at, cp_norm_project(at, cp_reshape(at, g, grouped), flat, s.rstd, together), x->shape);
}

static void norm_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    if (cp_recording(at))
        norm_recorded_sweep(at, node, g, gin);
    else
        norm_sweep(at, node, g, gin);
}

/* Without a leaky ReLU the gradient does not depend on beta, but beta is small, and one kernel does all. */
enum { READ = CP_KEEPS_IN(X) | CP_KEEPS_IN(GAMMA) | CP_KEEPS_IN(BETA) | CP_KEEPS_IN(MEAN) | CP_KEEPS_IN(RSTD) };
#define NORM(op, text, first, before, ...)                                                                                         \
    const cp_op cp_op_##op = {.name = #op,                                                                                         \
                              .formula = text,                                                                                     \
                              .grad = norm_grad,                                                                                   \
                              .keeps = {[X] = READ, [GAMMA] = READ, [BETA] = READ},                                                \
                              .rule = first   CP_NORM_RULE,                                                                        \
                              .words = before CP_NORM_WORDS,                                                                       \
                              __VA_ARGS__}
NORM(layer_norm, "gamma (x - mean) / sqrt(var + eps) + beta over the last axis", "", "", .kinked = false);
NORM(group_norm, "gamma (x - mean) / sqrt(var + eps) + beta over groups of channels", "", "", .kinked = false);
NORM(leaky_norm, "leaky_relu(group_norm) or leaky_relu(layer_norm)", "g through the gate of the leaky ReLU, then ",
     "The leaky ReLU comes first: where it saw a negative value, it weakens the gradient by its slope. ", .kinked = true);

static cp_tensor *norm(cp_at at, const cp_op *op, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, norm_attr attr) {
    cp_tensor *mean = cp_out(at, CP_SHAPE(attr.images, attr.groups)), *rstd = cp_out(at, CP_SHAPE(attr.images, attr.groups));
    cp_tensor *out = cp_out(at, x->shape), *in[] = {x, gamma, beta, mean, rstd};
    if (!mean || !rstd || !out) return NULL;
    mean->name = "mean";
    rstd->name = CP_NORM_RSTD;
    const cp_norm_problem p = problem_of(&attr, in);
    if (!cp_kernels()->group_norm(cp_scratch(at), &p, x->data, out->data, mean->data, rstd->data)) return NULL;
    return cp_record_with(at, op, out, &attr, sizeof attr, INPUTS, in);
}

/* x as images of some pixels. */
static bool counted(cp_at at, const char *op, const cp_tensor *x, int images, int *pixels) {
    size_t c = (size_t)cp_norm_channels(x), count = images && c ? x->size / (size_t)images / c : 0;
    *pixels = (int)count;
    return count <= INT_MAX || cp_misuse(at, op, "x %s is too large: more than %d rows", cp_shape_text(x).s, INT_MAX);
}

static cp_tensor *norm_of_groups(cp_at at, const cp_op *op, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, int groups,
                                 cp_real slope, cp_real eps) {
    if (!cp_norm_fits(at, op->name, x, gamma, beta)) return NULL;
    norm_attr attr = {.images = x->dims[0], .groups = groups, .slope = slope, .eps = eps ? eps : CP_NORM_EPS};
    if (groups < 1 || cp_norm_channels(x) % groups)
        return cp_refuse(at, op->name, "%d groups do not divide the %d channels of %s", groups, cp_norm_channels(x),
                         cp_shape_text(x).s);
    return counted(at, op->name, x, x->dims[0], &attr.pixels) ? norm(at, op, x, gamma, beta, attr) : NULL;
}

static cp_tensor *norm_of_rows(cp_at at, const cp_op *op, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, cp_real slope,
                               cp_real eps) {
    if (!cp_norm_fits(at, op->name, x, gamma, beta)) return NULL;
    norm_attr attr = {.pixels = 1, .groups = 1, .slope = slope, .eps = eps ? eps : CP_NORM_EPS};
    return counted(at, op->name, x, 1, &attr.images) ? norm(at, op, x, gamma, beta, attr) : NULL;
}

cp_tensor *(cp_layer_norm)(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, cp_real eps) {
    return norm_of_rows(at, &cp_op_layer_norm, x, gamma, beta, 1, eps);
}

cp_tensor *(cp_group_norm)(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, int groups, cp_real eps) {
    return norm_of_groups(at, &cp_op_group_norm, x, gamma, beta, groups, 1, eps);
}

cp_tensor *(cp_leaky_norm)(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, int groups, cp_real slope, cp_real eps) {
    return groups ? norm_of_groups(at, &cp_op_leaky_norm, x, gamma, beta, groups, slope, eps)
                  : norm_of_rows(at, &cp_op_leaky_norm, x, gamma, beta, slope, eps);
}
