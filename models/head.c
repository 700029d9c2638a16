/* The heads. */
#include "models/head.h"

#include <stdlib.h>
#include <string.h>

/* ---- softmax and JEM: one linear layer ---- */

typedef struct linear_head {
    cp_head   head;
    cp_linear layer;
} linear_head;

static cp_head *linear_make(const cp_head_kind *kind, cp_params *params, const char *path, int features, const cp_head_config *c,
                            cp_rng *rng) {
    linear_head *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->head = (cp_head){kind, c->classes};
    h->layer = cp_linear_make(params, path, (cp_linear_config){.in = features, .out = c->classes}, rng);
    return &h->head;
}

static cp_head *softmax_make(cp_params *params, const char *path, int features, const cp_head_config *c, cp_rng *rng) {
    return linear_make(&cp_head_softmax, params, path, features, c, rng);
}

static cp_head *jem_make(cp_params *params, const char *path, int features, const cp_head_config *c, cp_rng *rng) {
    return linear_make(&cp_head_jem, params, path, features, c, rng);
}

static cp_tensor *linear_logits(cp_at at, const cp_head *head, cp_tensor *z) {
    return cp_linear_forward(at, &((const linear_head *)head)->layer, z);
}

static void plain_free(cp_head *head) {
    free(head);
}

const cp_head_kind cp_head_softmax = {.name = "softmax", .make = softmax_make, .logits = linear_logits, .free = plain_free};
const cp_head_kind cp_head_jem = {
    .name = "jem", .generative = true, .make = jem_make, .logits = linear_logits, .free = plain_free};

/* ---- hybrid ---- */

typedef struct hybrid_head {
    cp_head             head;
    cp_gaussian_softmax layer;
} hybrid_head;

static cp_head *hybrid_make(cp_params *params, const char *path, int features, const cp_head_config *c, cp_rng *rng) {
    hybrid_head *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    cp_gaussian_softmax_config config = {
        .features = features, .classes = c->classes, .precision = c->precision, .learn_prior = c->learn_prior};
    h->head = (cp_head){&cp_head_hybrid, c->classes};
    h->layer = cp_gaussian_softmax_make(params, path, config, rng);
    return &h->head;
}

static const cp_gaussian_softmax *layer_of(const cp_head *head) {
    return &((const hybrid_head *)head)->layer;
}

static cp_tensor *hybrid_logits(cp_at at, const cp_head *head, cp_tensor *z) {
    return cp_gaussian_softmax_logits(at, layer_of(head), z);
}

static cp_tensor *hybrid_class_energy(cp_at at, const cp_head *head, cp_tensor *z) {
    return cp_gaussian_softmax_class_energy(at, layer_of(head), z);
}

static cp_tensor *hybrid_penalty(cp_at at, const cp_head *head) {
    return cp_gaussian_softmax_penalty(at, layer_of(head));
}

const cp_head_kind cp_head_hybrid = {.name = "hybrid",
                                     .generative = true,
                                     .make = hybrid_make,
                                     .logits = hybrid_logits,
                                     .class_energy = hybrid_class_energy,
                                     .penalty = hybrid_penalty,
                                     .free = plain_free};

cp_gaussian_softmax *cp_head_gaussian_softmax(cp_head *head) {
    return head && head->kind == &cp_head_hybrid ? &((hybrid_head *)head)->layer : NULL;
}

/* ---- the interface ---- */

const cp_head_kind *cp_head_kind_named(const char *name) {
    const cp_head_kind *kinds[] = {&cp_head_softmax, &cp_head_jem, &cp_head_hybrid};
    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
    return NULL;
}

cp_head *cp_head_new(const cp_head_kind *kind, cp_params *params, const char *path, int features, cp_head_config config, cp_rng *rng) {
    if (!kind || features < 1 || config.classes < 1) {
        cp_misuse((cp_at){0}, "head_new", kind ? "%d features and %d classes must be positive" : "the kind of head is NULL", features,
                  config.classes);
        return NULL;
    }
    cp_head *head = kind->make(params, path, features, &config, rng);
    if (!head) cp_misuse((cp_at){0}, "head_new", "out of memory");
    return head;
}

void cp_head_free(cp_head *head) {
    if (head) head->kind->free(head);
}

cp_tensor *(cp_head_logits)(cp_at at, const cp_head *head, cp_tensor *z) {
    return head->kind->logits(at, head, z);
}

cp_tensor *(cp_head_posterior)(cp_at at, const cp_head *head, cp_tensor *z) {
    return cp_softmax(at, cp_head_logits(at, head, z), 1);
}

cp_tensor *(cp_head_class_energy)(cp_at at, const cp_head *head, cp_tensor *z) {
    if (head->kind->class_energy) return head->kind->class_energy(at, head, z);
    return cp_neg(at, cp_head_logits(at, head, z));
}

cp_tensor *(cp_head_energy)(cp_at at, const cp_head *head, cp_tensor *z) {
    return cp_neg(at, cp_logsumexp(at, cp_neg(at, cp_head_class_energy(at, head, z)), CP_AXES(1), false));
}

cp_tensor *(cp_head_penalty)(cp_at at, const cp_head *head) {
    return head->kind->penalty ? head->kind->penalty(at, head) : cp_scalar(at, 0);
}
