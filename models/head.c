/* Heads: what all kinds share. */
#include "models/head.h"

#include "core/op.h"
#include "models/internal.h"

#include <stdlib.h>

cp_head *(cp_head_new)(cp_at at, const cp_head_kind *kind, cp_params *params, const char *path, int features, int classes,
                       const void *given, cp_rng *rng) {
    cp_kind_options options;
    if (!kind) return cp_refuse(at, "head_new", "the kind of head is NULL");
    if (features < 1 || classes < 1)
        return cp_refuse(at, "head_new", "features is %d and classes is %d; both must be positive", features, classes);
    cp_head *head = cp_kind_alloc(at, &kind->base, params, given, &options, rng);
    if (!head) return NULL;
    *head = (cp_head){kind, classes, features};
    if (kind->make(at, head, params, path, &options, rng)) return head;
    cp_head_free(head);
    return NULL;
}

void cp_head_free(cp_head *head) {
    if (head && head->kind->free) head->kind->free(head);
    free(head);
}

static bool usable(cp_at at, const char *op, const cp_head *head) {
    if (!head) return cp_misuse(at, op, "the head is NULL (did cp_head_new fail?)");
    return cp_check(at, op, 0, NULL);
}

static bool applicable(cp_at at, const char *op, const cp_head *head, cp_tensor *z) {
    return usable(at, op, head) && cp_check(at, op, 1, &z);
}

/* A function of the head, in a scope of its own. */
static cp_tensor *scoped(cp_at at, const cp_head *head, cp_tensor *z,
                         cp_tensor *(*function)(cp_at at, const cp_head *head, cp_tensor *z)) {
    (cp_scope_begin)(at, "head");
    cp_tensor *y = function(at, head, z);
    (cp_scope_end)(at);
    return y;
}

cp_tensor *(cp_head_logits)(cp_at at, const cp_head *head, cp_tensor *z) {
    if (!applicable(at, "head_logits", head, z)) return NULL;
    cp_tensor *logits = scoped(at, head, z, head->kind->logits);
    if (!logits || cp_shape_is(logits, CP_SHAPE(z->dims[0], head->classes))) return logits;
    return cp_refuse(at, head->kind->base.name, "the head gives logits of shape %s for %d classes", cp_shape_text(logits).s,
                     head->classes);
}

cp_tensor *(cp_head_posterior)(cp_at at, const cp_head *head, cp_tensor *z) {
    return applicable(at, "head_posterior", head, z) ? cp_softmax(at, cp_head_logits(at, head, z), 1) : NULL;
}

cp_tensor *(cp_head_class_energy)(cp_at at, const cp_head *head, cp_tensor *z) {
    if (!applicable(at, "head_class_energy", head, z)) return NULL;
    if (head->kind->class_energy) return scoped(at, head, z, head->kind->class_energy);
    return cp_neg(at, cp_head_logits(at, head, z));
}

static cp_tensor *energy(cp_at at, const cp_head *head, cp_tensor *z) {
    cp_tensor *of_classes =
        head->kind->class_energy ? head->kind->class_energy(at, head, z) : cp_neg(at, cp_head_logits(at, head, z));
    return cp_neg(at, cp_logsumexp(at, cp_neg(at, of_classes), CP_AXES(1), false));
}

cp_tensor *(cp_head_energy)(cp_at at, const cp_head *head, cp_tensor *z) {
    if (!applicable(at, "head_energy", head, z)) return NULL;
    return scoped(at, head, z, energy);
}

cp_tensor *(cp_head_penalty)(cp_at at, const cp_head *head) {
    if (!usable(at, "head_penalty", head)) return NULL;
    return head->kind->penalty ? head->kind->penalty(at, head) : cp_scalar(at, 0);
}

bool(cp_head_fit)(cp_at at, cp_head *head, int n, const cp_real *z, const cp_real *weights) {
    if (!head) return cp_misuse(at, "head_fit", "the head is NULL (did cp_head_new fail?)");
    return !head->kind->fit || head->kind->fit(at, head, n, z, weights);
}

bool(cp_head_scale)(cp_at at, cp_head *head, double factor) {
    if (!head) return cp_misuse(at, "head_scale", "the head is NULL (did cp_head_new fail?)");
    if (!head->kind->scale) return cp_misuse(at, "head_scale", "a %s head cannot be scaled", head->kind->base.name);
    return head->kind->scale(at, head, factor);
}
