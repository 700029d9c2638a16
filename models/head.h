/* Heads turn features into posteriors and energies. All have one interface, so an experiment changes one word to swap them; a new one is a
 * cp_head_kind in a file of its own.
 *
 *     cp_head_softmax   a linear layer; class energies are minus its logits, not trained as a density
 *     cp_head_jem       the same layer for both: E(x; c) = -logit_c
 *     cp_head_hybrid    the Gaussian-coupled softmax layer: logits w_c.z + b_c, E(x; c) = (z - mu_c)^T P (z - mu_c) / 2 */
#pragma once

#include "layers/gaussian_softmax.h"
#include "layers/layers.h"
#include "models/kind.h"

typedef struct cp_head cp_head;

typedef struct cp_head_kind {
    cp_kind base;
    bool    generative; /* its energies define a density */
    /* Adds the parameters under the path and fills in the members after head->features. Params and rng are not NULL; the options are
     * complete and in range. false on failure, after cp_misuse; cp_params_add and the layers report their own errors. */
    bool (*make)(cp_at at, cp_head *head, cp_params *params, const char *path, const void *options, cp_rng *rng);
    cp_tensor *(*logits)(cp_at at, const cp_head *head, cp_tensor *z);       /* (N, C) */
    cp_tensor *(*class_energy)(cp_at at, const cp_head *head, cp_tensor *z); /* (N, C); NULL: minus the logits */
    cp_tensor *(*penalty)(cp_at at, const cp_head *head);                    /* (); NULL: none */
    /* Fits energies and logits in closed form to features (n, D) with soft labels (n, C); NULL: not supported, nothing changes. */
    bool (*fit)(cp_at at, cp_head *head, int n, const cp_real *z, const cp_real *weights);
    bool (*scale)(cp_at at, cp_head *head, double factor); /* multiplies logits and class energies; NULL: not supported */
    int (*max_features)(const void *options);              /* NULL: no limit */
    void (*free)(cp_head *head);                           /* what make allocated besides the struct; NULL: nothing */
} cp_head_kind;

/* A head's struct begins with this. */
struct cp_head {
    const cp_head_kind *kind;
    int                 classes, features;
};

/* The options of the hybrid head. */
typedef struct cp_hybrid_config {
    cp_precision precision; /* CP_PRECISION_DEFAULT: CP_DIAGONAL */
    bool         learn_prior;
    double       mean_sd; /* the means start at N(0, mean_sd^2); 0: 0.6 */
    bool         apart;   /* the softmax head starts with random weights instead of the Gaussians' posterior */
} cp_hybrid_config;

/* Options NULL: the defaults. NULL, after the error handler, when it cannot be made. */
cp_head *cp_head_new(cp_at at, const cp_head_kind *kind, cp_params *params, const char *path, int features, int classes,
                     const void *options, cp_rng *rng);
void     cp_head_free(cp_head *head); /* NULL is allowed */

cp_tensor *cp_head_logits(cp_at at, const cp_head *head, cp_tensor *z);       /* (N, C) */
cp_tensor *cp_head_posterior(cp_at at, const cp_head *head, cp_tensor *z);    /* softmax of the logits: (N, C) */
cp_tensor *cp_head_class_energy(cp_at at, const cp_head *head, cp_tensor *z); /* E(x; c): (N, C) */
cp_tensor *cp_head_energy(cp_at at, const cp_head *head, cp_tensor *z);       /* -logsumexp_c(-E(x; c)): (N) */
cp_tensor *cp_head_penalty(cp_at at, const cp_head *head); /* times lambda: minus the log prior; a constant 0 if it has none */

/* Fits a head with a closed form, such as the hybrid head, to features z (n, D) with soft labels weights (n, C); its logits are then those
 * of the fitted energies. Other heads do not change. */
bool cp_head_fit(cp_at at, cp_head *head, int n, const cp_real *z, const cp_real *weights);
/* Multiplies logits and class energies by a factor above 0: confidence changes, the order of the classes does not. */
bool cp_head_scale(cp_at at, cp_head *head, double factor);

/* The layer inside a hybrid head, or NULL. */
cp_gaussian_softmax *cp_head_gaussian_softmax(cp_head *head);

/* As cp_net_kind_add. */
bool cp_head_kind_add(cp_at at, const cp_head_kind *kind);

extern const cp_head_kind cp_head_softmax, cp_head_jem, cp_head_hybrid;

#define cp_head_new(...) cp_head_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_head_logits(t, ...) cp_head_logits(CP_AT(t), __VA_ARGS__)
#define cp_head_posterior(t, ...) cp_head_posterior(CP_AT(t), __VA_ARGS__)
#define cp_head_class_energy(t, ...) cp_head_class_energy(CP_AT(t), __VA_ARGS__)
#define cp_head_energy(t, ...) cp_head_energy(CP_AT(t), __VA_ARGS__)
#define cp_head_penalty(t, ...) cp_head_penalty(CP_AT(t), __VA_ARGS__)
#define cp_head_fit(...) cp_head_fit(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_head_scale(...) cp_head_scale(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_head_kind_add(...) cp_head_kind_add(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
