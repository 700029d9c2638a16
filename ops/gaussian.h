/* The mathematics of the Gaussian-coupled softmax layer: class-conditional Gaussians with a shared precision matrix, as ops.
 *
 * p(z, c) = pi_c N(z; mu_c, P^-1), with the precision P in a form that stays positive definite under any gradient step. */
#pragma once

#include "ops/ops.h"

typedef enum cp_precision {
    CP_PRECISION_DEFAULT, /* CP_FULL for a stand-alone layer, CP_DIAGONAL behind a network */
    CP_SPHERICAL,         /* P = e^s I; one number s, shape (1) */
    CP_DIAGONAL,          /* P = diag(e^s); s (D) */
    CP_FULL,              /* P = L L^T, L lower-triangular with exp() diagonal (cp_tril_exp); D(D+1)/2 numbers */
} cp_precision;

typedef struct cp_gaussians {
    cp_tensor   *mean;      /* mu (C, D) */
    cp_tensor   *precision; /* see cp_precision */
    cp_precision kind;
    cp_tensor   *log_prior; /* ln pi (C), or NULL: uniform, ln pi_c = -ln C */
} cp_gaussians;

/* The number of parameters of the precision in D dimensions; -1 when out of the range of int. */
int cp_precision_size(cp_precision kind, int d);

/* E(z; c) = (z - mu_c)^T P (z - mu_c) / 2, z (N, D) -> (N, C). The prior is not part of it. */
cp_tensor *cp_gaussian_energy(cp_at at, cp_tensor *z, cp_gaussians g);

/* ln p(z, c) = ln pi_c + (ln det P - D ln 2 pi) / 2 - E(z; c): (N, C). */
cp_tensor *cp_gaussian_log_joint(cp_at at, cp_tensor *z, cp_gaussians g);

/* ln p(z) = logsumexp_c ln p(z, c): (N). */
cp_tensor *cp_gaussian_log_density(cp_at at, cp_tensor *z, cp_gaussians g);

/* The softmax parameters with the same posterior: P mu_c in the columns of (D, C), and ln pi_c - mu_c^T P mu_c / 2 in (C). */
cp_tensor *cp_gaussian_weight(cp_at at, cp_gaussians g);
cp_tensor *cp_gaussian_bias(cp_at at, cp_gaussians g);

/* The distance of a softmax head w (D, C), b (C) from them: sum_c (|w_c - P mu_c|^2 + (b_c - ln pi_c + mu_c^T P mu_c / 2)^2) / 2.
 * Times lambda it is minus the log joint prior. */
cp_tensor *cp_gaussian_penalty(cp_at at, cp_tensor *w, cp_tensor *b, cp_gaussians g);

#define cp_gaussian_energy(t, ...) cp_gaussian_energy(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_log_joint(t, ...) cp_gaussian_log_joint(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_log_density(t, ...) cp_gaussian_log_density(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_weight(t, ...) cp_gaussian_weight(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_bias(t, ...) cp_gaussian_bias(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_penalty(t, ...) cp_gaussian_penalty(CP_AT(t), __VA_ARGS__)
