/* The Gaussian-coupled softmax layer: a softmax head and class-conditional Gaussians over the same features, coupled by a joint
 * prior on their parameters. Applied to the data itself it is a complete hybrid model with an exact density; behind a
 * network it is the last layer of the hybrid head. */
#pragma once

#include "layers/params.h"
#include "ops/gaussian.h"

enum { CP_GAUSSIAN_MAX_FULL = 46340 }; /* the maximum number of features, for which D(D+1)/2 fits an int */

typedef struct cp_gaussian_softmax_config {
    int          features, classes;
    cp_precision precision;   /* CP_PRECISION_DEFAULT: CP_FULL */
    bool         learn_prior; /* pi = softmax of trained logits; else uniform */
    cp_real      mean_sd;     /* the means start at N(0, mean_sd^2); 0: 0.1 */
} cp_gaussian_softmax_config;

typedef struct cp_gaussian_softmax {
    cp_gaussian_softmax_config config;
    cp_tensor                 *weight, *bias; /* discriminative: (D, C), (C) */
    cp_tensor                 *mean;          /* generative: (C, D) */
    cp_tensor                 *precision;     /* see cp_precision; starts at P = I */
    cp_tensor                 *prior;         /* logits of pi (C), or NULL */
} cp_gaussian_softmax;

/* Tensors path.weight, path.bias, path.mean, path.precision, path.prior. All zeros after a failure. */
cp_gaussian_softmax cp_gaussian_softmax_make(cp_at at, cp_params *params, const char *path, cp_gaussian_softmax_config config,
                                             cp_rng *rng);
#define cp_gaussian_softmax_make(...) cp_gaussian_softmax_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

/* The generative parameters as arguments of the ops. */
cp_gaussians cp_gaussian_softmax_gaussians(cp_at at, const cp_gaussian_softmax *layer);

cp_tensor *cp_gaussian_softmax_logits(cp_at at, const cp_gaussian_softmax *layer, cp_tensor *z);    /* discriminative, (N, C) */
cp_tensor *cp_gaussian_softmax_posterior(cp_at at, const cp_gaussian_softmax *layer, cp_tensor *z); /* discriminative, (N, C) */
cp_tensor *cp_gaussian_softmax_bayes_posterior(cp_at at, const cp_gaussian_softmax *layer, cp_tensor *z); /* generative, (N, C) */

/* E(z; c) = (z - mu_c)^T P (z - mu_c) / 2 - ln pi_c, the last term only with a learned prior: (N, C). */
cp_tensor *cp_gaussian_softmax_class_energy(cp_at at, const cp_gaussian_softmax *layer, cp_tensor *z);
cp_tensor *cp_gaussian_softmax_energy(cp_at at, const cp_gaussian_softmax *layer, cp_tensor *z); /* -logsumexp_c(-E(z; c)): (N) */
cp_tensor *cp_gaussian_softmax_log_density(cp_at at, const cp_gaussian_softmax *layer, cp_tensor *z); /* exact ln p(z): (N) */
cp_tensor *cp_gaussian_softmax_penalty(cp_at at, const cp_gaussian_softmax *layer); /* times lambda: -ln prior; () */

/* Association: the softmax head is set to the Gaussians' posterior. */
bool cp_gaussian_softmax_associate(cp_at at, cp_gaussian_softmax *layer);

/* Fits the Gaussians in closed form to features z (n, D) with soft labels weights (n, C), none of them negative:
 *
 *     mu_c = the weighted mean of class c;  S = the pooled within-class covariance, the weighted squares over the total weight
 *     P = ((1 - shrinkage) S + shrinkage v I)^-1,  v = tr S / D
 *
 * A diagonal precision takes the diagonal of S, a spherical one v; a learned prior the classes' shares. A class without weight gets
 * the mean of all features. Variances are at least 1e-6 v, and if a full S is still singular, multiples of that are added to its
 * diagonal; without any variance (one point, or equal ones) P is the identity. The softmax head does not change. False when out of
 * memory or, after misuse, when the weights sum to 0. */
bool cp_gaussian_softmax_fit(cp_at at, cp_gaussian_softmax *layer, int n, const cp_real *z, const cp_real *weights,
                             double shrinkage);
/* Multiplies the precision, and so all energies except the term of a learned prior, by a factor above 0. */
bool cp_gaussian_softmax_scale(cp_at at, cp_gaussian_softmax *layer, double factor);

/* The distance between the heads: the root mean square difference of the associated parameters. */
double cp_gaussian_softmax_distance(cp_at at, const cp_gaussian_softmax *layer);

#define cp_gaussian_softmax_gaussians(t, ...) cp_gaussian_softmax_gaussians(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_softmax_logits(t, ...) cp_gaussian_softmax_logits(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_softmax_posterior(t, ...) cp_gaussian_softmax_posterior(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_softmax_bayes_posterior(t, ...) cp_gaussian_softmax_bayes_posterior(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_softmax_class_energy(t, ...) cp_gaussian_softmax_class_energy(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_softmax_energy(t, ...) cp_gaussian_softmax_energy(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_softmax_log_density(t, ...) cp_gaussian_softmax_log_density(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_softmax_penalty(t, ...) cp_gaussian_softmax_penalty(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_softmax_associate(t, ...) cp_gaussian_softmax_associate(CP_AT(t), __VA_ARGS__)
#define cp_gaussian_softmax_fit(...) cp_gaussian_softmax_fit(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_gaussian_softmax_scale(...) cp_gaussian_softmax_scale(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_gaussian_softmax_distance(t, ...) cp_gaussian_softmax_distance(CP_AT(t), __VA_ARGS__)
