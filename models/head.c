/* The heads. */
#include "models/head.h"

#include "core/op.h"
#include "layers/make.h"

#include <stdlib.h>
#include <string.h>

static void *head_alloc(cp_at at, size_t bytes) {
    void *head = calloc(1, bytes);
    if (!head) cp_misuse(at, "head_new", "out of memory");
    return head;
}

static cp_head *head_if(bool made, cp_head *head) {
    if (made) return head;
    free(head);
    return NULL;
}

/* ---- softmax and JEM: one linear layer ---- */

typedef struct linear_head {
    cp_head   head;
    cp_linear layer;
} linear_head;

static cp_head *linear_make(const cp_head_kind *kind, cp_params *params, const char *path, int features, const cp_head_config *c,
                            cp_rng *rng) {
    linear_head *h = head_alloc(c->at, sizeof *h);
    if (!h) return NULL;
    h->head = (cp_head){kind, c->classes};
    h->layer = (cp_linear_make)(c->at, params, path, (cp_linear_config){.in = features, .out = c->classes}, rng);
    return head_if(h->layer.weight, &h->head);
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
const cp_head_kind cp_head_jem = {.name = "jem", .generative = true, .make = jem_make, .logits = linear_logits, .free = plain_free};

/* ---- hybrid ---- */

typedef struct hybrid_head {
    cp_head             head;
    cp_gaussian_softmax layer;
} hybrid_head;

static cp_head *hybrid_make(cp_params *params, const char *path, int features, const cp_head_config *c, cp_rng *rng) {
    hybrid_head *h = head_alloc(c->at, sizeof *h);
    if (!h) return NULL;
    cp_gaussian_softmax_config config = {
        .features = features, .classes = c->classes, .precision = c->precision, .learn_prior = c->learn_prior};
    if (config.precision == CP_PRECISION_DEFAULT) config.precision = CP_DIAGONAL;
    h->head = (cp_head){&cp_head_hybrid, c->classes};
    h->layer = (cp_gaussian_softmax_make)(c->at, params, path, config, rng);
    return head_if(h->layer.weight, &h->head);
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

cp_head *(cp_head_new)(cp_at at, const cp_head_kind *kind, cp_params *params, const char *path, int features, cp_head_config config,
                       cp_rng *rng) {
    if (!cp_make_ready(at, "head_new", params, rng)) return NULL;
    if (!kind || features < 1 || config.classes < 1) {
        if (!kind)
            cp_misuse(at, "head_new", "the kind of head is NULL");
        else
            cp_misuse(at, "head_new", "features is %d and classes is %d; both must be positive", features, config.classes);
        return NULL;
    }
    config.at = at;
    cp_head *head = kind->make(params, path, features, &config, rng);
    bool     told = cp_head_kind_named(kind->name) == kind; /* the heads of this file say what was wrong themselves */
    if (!head && !told) cp_misuse(at, "head_new", "the head \"%s\" could not be made", kind->name);
    return head;
}

void cp_head_free(cp_head *head) {
    if (head) head->kind->free(head);
}

static bool usable(cp_at at, const char *op, const cp_head *head) {
    if (!head) return cp_misuse(at, op, "the head is NULL (did cp_head_new fail?)");
    return cp_check(at, op, 0, NULL);
}

static bool applicable(cp_at at, const char *op, const cp_head *head, cp_tensor *z) {
    return usable(at, op, head) && cp_check(at, op, 1, &z);
}

cp_tensor *(cp_head_logits)(cp_at at, const cp_head *head, cp_tensor *z) {
    return applicable(at, "head_logits", head, z) ? head->kind->logits(at, head, z) : NULL;
}

cp_tensor *(cp_head_posterior)(cp_at at, const cp_head *head, cp_tensor *z) {
    return applicable(at, "head_posterior", head, z) ? cp_softmax(at, cp_head_logits(at, head, z), 1) : NULL;
}

cp_tensor *(cp_head_class_energy)(cp_at at, const cp_head *head, cp_tensor *z) {
    if (!applicable(at, "head_class_energy", head, z)) return NULL;
    if (head->kind->class_energy) return head->kind->class_energy(at, head, z);
    return cp_neg(at, cp_head_logits(at, head, z));
}

cp_tensor *(cp_head_energy)(cp_at at, const cp_head *head, cp_tensor *z) {
    if (!applicable(at, "head_energy", head, z)) return NULL;
    return cp_neg(at, cp_logsumexp(at, cp_neg(at, cp_head_class_energy(at, head, z)), CP_AXES(1), false));
}

cp_tensor *(cp_head_penalty)(cp_at at, const cp_head *head) {
    if (!usable(at, "head_penalty", head)) return NULL;
    return head->kind->penalty ? head->kind->penalty(at, head) : cp_scalar(at, 0);
}
