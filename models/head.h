/* Heads: what turns features into posteriors and energies. Three exist, behind one interface, so that an experiment swaps one
 * word; a new one is a cp_head_kind in a file of its own.
 *
 *     cp_head_softmax   a linear layer; class energies are minus its logits, but nothing trains them as a density
 *     cp_head_jem       the same layer for both: E(x; c) = -logit_c
 *     cp_head_hybrid    the Gaussian-coupled softmax layer: logits w_c.z + b_c, E(x; c) = (z - mu_c)^T P (z - mu_c) / 2 */
#ifndef CP_HEAD_H
#define CP_HEAD_H

#include "layers/gaussian_softmax.h"
#include "layers/layers.h"

typedef struct cp_head cp_head;

typedef struct cp_head_config {
    int          classes;
    cp_precision precision;   /* hybrid; CP_PRECISION_DEFAULT: CP_DIAGONAL */
    bool         learn_prior; /* hybrid */
    cp_at        at;          /* set by cp_head_new: the caller's place, for the maker's errors */
} cp_head_config;

typedef struct cp_head_kind {
    const char *name;
    bool        generative; /* its energies are meant as a density */
    /* NULL when that fails; sizes, params and rng have been checked. */
    cp_head *(*make)(cp_params *params, const char *path, int features, const cp_head_config *config, cp_rng *rng);
    cp_tensor *(*logits)(cp_at at, const cp_head *head, cp_tensor *z);       /* (N, C) */
    cp_tensor *(*class_energy)(cp_at at, const cp_head *head, cp_tensor *z); /* (N, C); NULL: minus the logits */
    cp_tensor *(*penalty)(cp_at at, const cp_head *head);                    /* (); NULL: none */
    void (*free)(cp_head *head);
} cp_head_kind;

/* A head's struct begins with this. */
struct cp_head {
    const cp_head_kind *kind;
    int                 classes;
};

extern const cp_head_kind cp_head_softmax, cp_head_jem, cp_head_hybrid;
const cp_head_kind       *cp_head_kind_named(const char *name); /* "softmax", "jem", "hybrid"; NULL when unknown */

/* NULL, after the error handler, when it cannot be made. */
cp_head *cp_head_new(cp_at at, const cp_head_kind *kind, cp_params *params, const char *path, int features, cp_head_config config,
                     cp_rng *rng);
void     cp_head_free(cp_head *head); /* NULL is fine */

cp_tensor *cp_head_logits(cp_at at, const cp_head *head, cp_tensor *z);       /* (N, C) */
cp_tensor *cp_head_posterior(cp_at at, const cp_head *head, cp_tensor *z);    /* softmax of the logits: (N, C) */
cp_tensor *cp_head_class_energy(cp_at at, const cp_head *head, cp_tensor *z); /* E(x; c): (N, C) */
cp_tensor *cp_head_energy(cp_at at, const cp_head *head, cp_tensor *z);       /* -logsumexp_c(-E(x; c)): (N) */
cp_tensor *cp_head_penalty(cp_at at, const cp_head *head); /* times lambda: minus the log prior; a constant 0 without one */

/* The layer inside a hybrid head, or NULL. */
cp_gaussian_softmax *cp_head_gaussian_softmax(cp_head *head);

#define cp_head_new(...) cp_head_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_head_logits(t, ...) cp_head_logits(CP_AT(t), __VA_ARGS__)
#define cp_head_posterior(t, ...) cp_head_posterior(CP_AT(t), __VA_ARGS__)
#define cp_head_class_energy(t, ...) cp_head_class_energy(CP_AT(t), __VA_ARGS__)
#define cp_head_energy(t, ...) cp_head_energy(CP_AT(t), __VA_ARGS__)
#define cp_head_penalty(t, ...) cp_head_penalty(CP_AT(t), __VA_ARGS__)

#endif
