/* Class-conditional Gaussians with a shared precision. Points and means are mapped to where P is the identity; there an energy
 * is half a squared distance, formed from differences.
 *
 * Far from the origin, products lose in rounding what differences need. So the middle of the means is subtracted from both
 * sides before anything is multiplied: a constant that changes nothing in the mathematics, its derivatives included. */
#include "ops/gaussian.h"

#include "core/op.h"
#include "core/threads.h"

#include <math.h>

/* ---- half distances ---- */

typedef struct pairs {
    const cp_real *a, *b;
    cp_real       *out;
    size_t         classes, d;
} pairs;

static void distance_rows(void *context, size_t begin, size_t end) {
    const pairs *p = context;
    for (size_t n = begin; n < end; n++)
        for (size_t c = 0; c < p->classes; c++) {
            const cp_real *a = p->a + n * p->d, *b = p->b + c * p->d;
            cp_real        sum[8] = {0}, total = 0; /* several sums: the compiler may keep them in one vector */
            size_t         i = 0;
            for (; i + 8 <= p->d; i += 8)
                for (size_t k = 0; k < 8; k++) {
                    cp_real difference = a[i + k] - b[i + k];
                    sum[k] += difference * difference;
                }
            for (; i < p->d; i++) total += (a[i] - b[i]) * (a[i] - b[i]);
            for (size_t k = 0; k < 8; k++) total += sum[k];
            p->out[n * p->classes + c] = total / 2;
        }
}

/* The mean of the rows of b: (1, D), a constant; of no rows, 0. */
static cp_tensor *middle(cp_at at, cp_tensor *b) {
    if (!b->dims[0]) return cp_full(at, 0, 2, (int[]){1, b->dims[1]});
    return cp_mean(at, cp_detach(at, b), CP_AXES(0), true);
}

/* da_n = a_n sum_c g_nc - sum_c g_nc b_c, and the same with the roles exchanged; both about the middle of b. */
static void half_distance_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor *center = middle(at, node->in[1]), *a = cp_sub(at, node->in[0], center), *b = cp_sub(at, node->in[1], center);
    if (!a || !b) return;
    if (cp_needs(node, 0)) gin[0] = cp_sub(at, cp_mul(at, a, cp_sum(at, g, CP_AXES(1), true)), cp_matmul(at, g, b, 0));
    if (cp_needs(node, 1)) {
        cp_tensor *total = cp_reshape(at, cp_sum(at, g, CP_AXES(0), false), 2, (int[]){b->dims[0], 1});
        gin[1] = cp_sub(at, cp_mul(at, b, total), cp_matmul(at, g, a, CP_TRANSPOSE_A));
    }
}

const cp_op cp_op_half_distance = {
    .name = "half_distance", .formula = "|a_n - b_c|^2 / 2", .grad = half_distance_grad, .keeps = CP_KEEPS_IN(0) | CP_KEEPS_IN(1)};

cp_tensor *(cp_half_distance)(cp_at at, cp_tensor *a, cp_tensor *b) {
    cp_tensor *in[] = {a, b};
    if (!cp_check(at, "half_distance", 2, in)) return NULL;
    if (a->rank != 2 || b->rank != 2 || a->dims[1] != b->dims[1]) {
        cp_misuse(at, "half_distance", "%s and %s are not (N, D) and (C, D)", cp_shape_text(a).s, cp_shape_text(b).s);
        return NULL;
    }
    cp_tensor *out = cp_out(at, 2, (int[]){a->dims[0], b->dims[0]});
    if (!out) return NULL;
    pairs job = {a->data, b->data, out->data, (size_t)b->dims[0], (size_t)a->dims[1]};
    cp_parallel((size_t)a->dims[0], 16, distance_rows, &job);
    return cp_record(at, &cp_op_half_distance, out, NULL, 2, in);
}

/* ---- Gaussians, made of other ops ---- */

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
    if (!cp_check(at, op, g.log_prior ? 3 : 2, (cp_tensor *[]){g.mean, g.precision, g.log_prior})) return false;
    if (g.mean->rank != 2 || g.mean->size == 0)
        return cp_misuse(at, op, "mean has shape %s; it is (classes, features)", cp_shape_text(g.mean).s);
    if (g.kind < CP_SPHERICAL || g.kind > CP_FULL)
        return cp_misuse(at, op, "kind is %d; set CP_SPHERICAL, CP_DIAGONAL or CP_FULL", (int)g.kind);
    int c = g.mean->dims[0], size = cp_precision_size(g.kind, g.mean->dims[1]);
    if (size < 0) return cp_misuse(at, op, "mean %s has too many features for a full precision", cp_shape_text(g.mean).s);
    if (!cp_shape_is(g.precision, 1, &size))
        return cp_misuse(at, op, "precision has shape %s; mean %s needs (%d) of this kind", cp_shape_text(g.precision).s,
                         cp_shape_text(g.mean).s, size);
    if (g.log_prior && !cp_shape_is(g.log_prior, 1, &c))
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
    return g.log_prior ? g.log_prior : cp_full(at, (cp_real)-log(g.mean->dims[0]), 1, g.mean->dims);
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
    cp_tensor *f = factor(at, g), *center = middle(at, g.mean);
    return cp_half_distance(at, whiten(at, g, f, cp_sub(at, z, center)), whiten(at, g, f, cp_sub(at, g.mean, center)));
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
    if (!cp_shape_is(w, 2, (int[]){d, c}) || !cp_shape_is(b, 1, &c)) {
        cp_misuse(at, op, "w %s and b %s do not fit mean %s; they are (D, C) and (C)", cp_shape_text(w).s, cp_shape_text(b).s,
                  cp_shape_text(g.mean).s);
        return NULL;
    }
    cp_tensor *weights = cp_square(at, cp_sub(at, w, cp_gaussian_weight(at, g)));
    cp_tensor *biases = cp_square(at, cp_sub(at, b, cp_gaussian_bias(at, g)));
    return cp_scale(at, cp_add(at, cp_sum(at, weights, CP_ALL, false), cp_sum(at, biases, CP_ALL, false)), (cp_real)0.5);
}
