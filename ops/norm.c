/* Normalization, and dropout. Batch, layer and group norm are one op, normalize, over different axes. */
#include "core/op.h"
#include "ops/ops.h"

/* ---- normalize ---- */

typedef struct normalize_attr {
    cp_axes    axes;
    cp_real    eps;
    cp_tensor *rstd; /* 1 / sqrt(variance + eps), reduced axes kept */
} normalize_attr;

typedef struct statistics {
    cp_tensor *centered, *variance, *rstd, *mean;
} statistics;

static statistics measure(cp_at at, cp_tensor *a, cp_axes axes, cp_real eps) {
    statistics s = {.mean = cp_mean(at, a, axes, true)};
    s.centered = cp_sub(at, a, s.mean);
    s.variance = cp_mean(at, cp_square(at, s.centered), axes, true);
    s.rstd = cp_rsqrt(at, cp_affine(at, s.variance, 1, eps));
    return s;
}

/* dx = rstd (g - mean(g) - out mean(g out)); a recorded sweep sees rstd as the function of x that it is. */
static void normalize_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const normalize_attr *attr = node->attr;
    cp_tensor *rstd = cp_recording(at) ? measure(at, node->in[0], attr->axes, attr->eps).rstd : attr->rstd;
    cp_tensor *along = cp_mul(at, node->out, cp_mean(at, cp_mul(at, g, node->out), attr->axes, true));
    cp_tensor *rest = cp_sub(at, cp_sub(at, g, cp_mean(at, g, attr->axes, true)), along);
    gin[0] = cp_mul(at, rest, rstd);
}

const cp_op cp_op_normalize = {.name = "normalize",
                               .formula = "(a - mean) / sqrt(variance + eps)",
                               .grad = normalize_grad,
                               .keeps = CP_KEEPS_IN(0) | CP_KEEPS_OUT};

static cp_tensor *normalize(cp_at at, cp_tensor *a, cp_axes axes, cp_real eps, statistics *s) {
    bool was = cp_tape_record(at.tape, false);
    *s = measure(at, a, axes, eps);
    cp_tensor *out = cp_mul(at, s->centered, s->rstd);
    cp_tape_record(at.tape, was);
    if (!out) return NULL;
    const void *attr = cp_attr(at, &(normalize_attr){axes, eps, s->rstd}, sizeof(normalize_attr));
    return attr ? cp_record(at, &cp_op_normalize, out, attr, 1, &a) : NULL;
}

cp_tensor *(cp_normalize)(cp_at at, cp_tensor *a, cp_axes axes, cp_real eps) {
    bool       flags[CP_MAX_RANK];
    statistics s;
    if (!cp_check(at, "normalize", 1, &a) || !cp_axes_flags(at, "normalize", axes, a, flags)) return NULL;
    return normalize(at, a, axes, eps, &s);
}

/* ---- the three norms ---- */

const cp_op cp_op_batch_norm = {.name = "batch_norm", .formula = "gamma (x - mean) / sqrt(var + eps) + beta over all but the last axis"};
const cp_op cp_op_layer_norm = {.name = "layer_norm", .formula = "gamma (x - mean) / sqrt(var + eps) + beta over the last axis"};
const cp_op cp_op_group_norm = {.name = "group_norm", .formula = "gamma (x - mean) / sqrt(var + eps) + beta over groups of channels"};

static int channels(const cp_tensor *x) {
    return x->dims[x->rank - 1];
}

static bool is_per_channel(cp_at at, const char *op, const char *what, cp_tensor *t, const cp_tensor *x) {
    int c = channels(x);
    return !t || (cp_check(at, op, 1, &t) && (cp_shape_is(t, 1, &c) || cp_misuse(at, op, "%s has shape %s; x %s has %d channels", what,
                                                                                 cp_shape_text(t).s, cp_shape_text(x).s, c)));
}

static bool fits(cp_at at, const char *op, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta) {
    if (!cp_check(at, op, 1, &x)) return false;
    if (x->rank < 2) return cp_misuse(at, op, "x has shape %s; it needs at least two axes", cp_shape_text(x).s);
    return is_per_channel(at, op, "gamma", gamma, x) && is_per_channel(at, op, "beta", beta, x);
}

static cp_tensor *scale_shift(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta) {
    if (x && gamma) x = cp_mul(at, x, gamma);
    if (x && beta) x = cp_add(at, x, beta);
    return x;
}

/* running = (1 - momentum) running + momentum scale batch */
static void running_update(cp_tensor *running, const cp_tensor *batch, cp_real momentum, cp_real scale) {
    if (!running || !batch) return;
    for (size_t i = 0; i < running->size; i++)
        running->data[i] = (1 - momentum) * running->data[i] + momentum * scale * batch->data[i];
}

static cp_tensor *batch_norm_training(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, const cp_batch_norm_config *c) {
    size_t  count = channels(x) ? x->size / (size_t)channels(x) : 0;
    cp_axes axes = {.count = x->rank - 1, .at = {0, 1, 2, 3}};
    if (count < 2) {
        cp_misuse(at, "batch_norm", "training on %s: a variance needs more than one value a channel", cp_shape_text(x).s);
        return NULL;
    }
    statistics s;
    cp_tensor *out = scale_shift(at, normalize(at, x, axes, c->eps, &s), gamma, beta);
    if (!out) return NULL;
    running_update(c->running_mean, s.mean, c->momentum, 1);
    running_update(c->running_var, s.variance, c->momentum, (cp_real)count / (cp_real)(count - 1));
    return out;
}

static cp_tensor *batch_norm_evaluation(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, const cp_batch_norm_config *c) {
    if (!c->running_mean || !c->running_var) {
        cp_misuse(at, "batch_norm", "evaluation needs running_mean and running_var");
        return NULL;
    }
    cp_tensor *scale = cp_rsqrt(at, cp_affine(at, cp_detach(at, c->running_var), 1, c->eps));
    if (gamma) scale = cp_mul(at, gamma, scale);
    cp_tensor *shift = cp_mul(at, cp_detach(at, c->running_mean), scale);
    shift = beta ? cp_sub(at, beta, shift) : cp_neg(at, shift);
    return scale_shift(at, x, scale, shift);
}

cp_tensor *(cp_batch_norm)(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, cp_batch_norm_config c) {
    const char *op = "batch_norm";
    if (!fits(at, op, x, gamma, beta) || !is_per_channel(at, op, "running_mean", c.running_mean, x) ||
        !is_per_channel(at, op, "running_var", c.running_var, x))
        return NULL;
    if (c.momentum == 0) c.momentum = (cp_real)0.1;
    if (c.eps == 0) c.eps = (cp_real)1e-5;
    return c.training ? batch_norm_training(at, x, gamma, beta, &c) : batch_norm_evaluation(at, x, gamma, beta, &c);
}

cp_tensor *(cp_layer_norm)(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, cp_real eps) {
    if (!fits(at, "layer_norm", x, gamma, beta)) return NULL;
    return scale_shift(at, cp_normalize(at, x, CP_AXES(-1), eps), gamma, beta);
}

cp_tensor *(cp_group_norm)(cp_at at, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta, int groups, cp_real eps) {
    if (!fits(at, "group_norm", x, gamma, beta)) return NULL;
    int n = x->dims[0], c = channels(x);
    if (groups < 1 || c % groups) {
        cp_misuse(at, "group_norm", "%d groups do not divide the %d channels of %s", groups, c, cp_shape_text(x).s);
        return NULL;
    }
    int        pixels = n && c ? (int)(x->size / (size_t)n / (size_t)c) : 0;
    cp_tensor *split = cp_reshape(at, x, 4, (int[]){n, pixels, groups, c / groups});
    cp_tensor *flat = cp_normalize(at, split, CP_AXES(1, 3), eps);
    return flat ? scale_shift(at, cp_reshape(at, flat, x->rank, x->dims), gamma, beta) : NULL;
}

/* ---- dropout ---- */

const cp_op cp_op_dropout = {.name = "dropout", .formula = "a mask / (1 - rate)"};

cp_tensor *(cp_dropout)(cp_at at, cp_tensor *x, cp_real rate, cp_rng *rng, bool training) {
    if (!cp_check(at, "dropout", 1, &x)) return NULL;
    if (!(rate >= 0 && rate < 1)) {
        cp_misuse(at, "dropout", "rate %g is not in [0, 1)", (double)rate);
        return NULL;
    }
    if (!training || rate == 0) return x;
    if (!rng) {
        cp_misuse(at, "dropout", "rng is NULL");
        return NULL;
    }
    cp_tensor *mask = cp_out(at, x->rank, x->dims);
    if (!mask) return NULL;
    cp_rng_fill_uniform(rng, mask->data, mask->size, 0, 1);
    for (size_t i = 0; i < mask->size; i++) mask->data[i] = mask->data[i] < rate ? 0 : 1 / (1 - rate);
    return cp_mul(at, x, mask);
}
