/* Class-conditional Gaussians with a shared precision. To avoid cancellation far from the origin, differences are computed first: z - mu_c
 * for every pair, and then the product with the precision. */
#include "ops/gaussian.h"

#include "core/op.h"

#include <math.h>

const cp_op cp_op_gaussian_energy = {.name = "gaussian_energy", .formula = "(z - mu_c)^T P (z - mu_c) / 2"};
const cp_op cp_op_gaussian_log_joint = {.name = "gaussian_log_joint", .formula = "ln pi_c N(z; mu_c, P^-1)"};
const cp_op cp_op_gaussian_log_density = {.name = "gaussian_log_density", .formula = "ln sum_c pi_c N(z; mu_c, P^-1)"};
const cp_op cp_op_gaussian_weight = {.name = "gaussian_weight", .formula = "P mu_c"};
const cp_op cp_op_gaussian_bias = {.name = "gaussian_bias", .formula = "ln pi_c - mu_c^T P mu_c / 2"};
const cp_op cp_op_gaussian_penalty = {.name = "gaussian_penalty",
                                      .formula = "sum_c (|w_c - P mu_c|^2 + (b_c - ln pi_c + mu_c^T P mu_c / 2)^2) / 2"};

int cp_precision_size(cp_precision kind, int d) {
    if (kind != CP_FULL) return kind == CP_SPHERICAL ? 1 : d;
    int64_t size = (int64_t)d * ((int64_t)d + 1) / 2;
    return size <= INT32_MAX ? (int)size : -1;
}

static bool fit(cp_at at, const char *op, cp_gaussians g) {
    if (!cp_check(at, op, 2, (cp_tensor *[]){g.mean, g.precision}) ||
        !cp_check_optional(at, op, 1, &g.log_prior, (const char *[]){"log_prior"}))
        return false;
    if (g.mean->rank != 2 || g.mean->size == 0)
        return cp_misuse(at, op, "mean has shape %s; it is (classes, features)", cp_shape_text(g.mean).s);
    if (g.kind < CP_SPHERICAL || g.kind > CP_FULL)
        return cp_misuse(at, op, "kind is %d; set CP_SPHERICAL, CP_DIAGONAL or CP_FULL", (int)g.kind);
    int c = g.mean->dims[0], size = cp_precision_size(g.kind, g.mean->dims[1]);
    if (size < 0) return cp_misuse(at, op, "mean %s has too many features for a full precision", cp_shape_text(g.mean).s);
    if (!cp_shape_is(g.precision, CP_SHAPE(size)))
        return cp_misuse(at, op, "precision has shape %s; mean %s needs (%d) of this kind", cp_shape_text(g.precision).s,
                         cp_shape_text(g.mean).s, size);
    if (g.log_prior && !cp_shape_is(g.log_prior, CP_SHAPE(c)))
        return cp_misuse(at, op, "log_prior has shape %s; mean %s has %d classes", cp_shape_text(g.log_prior).s,
                         cp_shape_text(g.mean).s, c);
    return true;
}

/* The factor F with P = F F^T: a number, a row, or L. */
static cp_tensor *factor(cp_at at, cp_gaussians g) {
    if (g.kind == CP_FULL) return cp_tril_exp(at, g.precision, g.mean->dims[1]);
    return cp_exp(at, cp_scale(at, g.precision, (cp_real)0.5));
}

/* x F for each row of x. */
static cp_tensor *whiten(cp_at at, cp_gaussians g, cp_tensor *f, cp_tensor *x) {
    return g.kind == CP_FULL ? cp_matmul(at, x, f, 0) : cp_mul(at, x, f);
}

static cp_tensor *log_prior(cp_at at, cp_gaussians g) {
    return g.log_prior ? g.log_prior : cp_full(at, (cp_real)-log(g.mean->dims[0]), CP_SHAPE(g.mean->dims[0]));
}

static cp_tensor *log_determinant(cp_at at, cp_gaussians g) {
    int d = g.mean->dims[1];
    if (g.kind == CP_FULL) return cp_tril_logdet(at, g.precision, d);
    return cp_scale(at, cp_sum(at, g.precision, CP_ALL, false), g.kind == CP_SPHERICAL ? (cp_real)d : 1);
}

static bool points_fit(cp_at at, const char *op, cp_tensor *z, cp_gaussians g) {
    if (!cp_check(at, op, 1, &z) || !fit(at, op, g)) return false;
    return (z->rank == 2 && z->dims[1] == g.mean->dims[1]) ||
           cp_misuse(at, op, "z has shape %s; mean %s needs (N, %d)", cp_shape_text(z).s, cp_shape_text(g.mean).s, g.mean->dims[1]);
}

cp_tensor *(cp_gaussian_energy)(cp_at at, cp_tensor *z, cp_gaussians g) {
    if (!points_fit(at, "gaussian_energy", z, g)) return NULL;
    cp_tensor *difference = cp_sub(at, cp_reshape(at, z, CP_SHAPE(z->dims[0], 1, z->dims[1])), g.mean); /* (N, C, D) */
    cp_tensor *squares = cp_square(at, whiten(at, g, factor(at, g), difference));
    return cp_scale(at, cp_sum(at, squares, CP_AXES(2), false), (cp_real)0.5);
}

cp_tensor *(cp_gaussian_log_joint)(cp_at at, cp_tensor *z, cp_gaussians g) {
    if (!points_fit(at, "gaussian_log_joint", z, g)) return NULL;
    cp_real    constant = (cp_real)(-0.5 * g.mean->dims[1] * log(2 * 3.14159265358979323846));
    cp_tensor *level = cp_affine(at, log_determinant(at, g), (cp_real)0.5, constant);
    return cp_sub(at, cp_add(at, log_prior(at, g), level), cp_gaussian_energy(at, z, g));
}

cp_tensor *(cp_gaussian_log_density)(cp_at at, cp_tensor *z, cp_gaussians g) {
    if (!points_fit(at, "gaussian_log_density", z, g)) return NULL;
    return cp_logsumexp(at, cp_gaussian_log_joint(at, z, g), CP_AXES(1), false);
}

cp_tensor *(cp_gaussian_weight)(cp_at at, cp_gaussians g) {
    if (!fit(at, "gaussian_weight", g)) return NULL;
    cp_tensor *f = factor(at, g), *m = whiten(at, g, f, g.mean);                                  /* (C, D) */
    cp_tensor *rows = g.kind == CP_FULL ? cp_matmul(at, m, f, CP_TRANSPOSE_B) : cp_mul(at, m, f); /* mu^T P */
    return cp_permute(at, rows, (int[]){1, 0});                                                   /* (D, C) */
}

cp_tensor *(cp_gaussian_bias)(cp_at at, cp_gaussians g) {
    if (!fit(at, "gaussian_bias", g)) return NULL;
    cp_tensor *m = whiten(at, g, factor(at, g), g.mean);
    cp_tensor *half = cp_scale(at, cp_sum(at, cp_square(at, m), CP_AXES(1), false), (cp_real)0.5);
    return cp_sub(at, log_prior(at, g), half);
}

cp_tensor *(cp_gaussian_penalty)(cp_at at, cp_tensor *w, cp_tensor *b, cp_gaussians g) {
    const char *op = "gaussian_penalty";
    if (!cp_check(at, op, 2, (cp_tensor *[]){w, b}) || !fit(at, op, g)) return NULL;
    int c = g.mean->dims[0], d = g.mean->dims[1];
    if (!cp_shape_is(w, CP_SHAPE(d, c)) || !cp_shape_is(b, CP_SHAPE(c)))
        return cp_refuse(at, op, "w %s and b %s do not fit mean %s; they are (D, C) and (C)", cp_shape_text(w).s,
                         cp_shape_text(b).s, cp_shape_text(g.mean).s);
    cp_tensor *weights = cp_square(at, cp_sub(at, w, cp_gaussian_weight(at, g)));
    cp_tensor *biases = cp_square(at, cp_sub(at, b, cp_gaussian_bias(at, g)));
    return cp_scale(at, cp_add(at, cp_sum(at, weights, CP_ALL, false), cp_sum(at, biases, CP_ALL, false)), (cp_real)0.5);
}
