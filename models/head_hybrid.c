/* The hybrid head: the Gaussian-coupled softmax layer. */
#include "models/head.h"

#include <limits.h>

typedef struct hybrid_head {
    cp_head             head;
    cp_gaussian_softmax layer;
} hybrid_head;

static bool associate(cp_at at, cp_gaussian_softmax *layer) {
    cp_tape *tape = cp_tape_new();
    bool     done = tape && (cp_gaussian_softmax_associate)((cp_at){tape, at.file, at.line}, layer);
    cp_tape_free(tape);
    return done;
}

static bool hybrid_make(cp_at at, cp_head *head, cp_params *params, const char *path, const void *options, cp_rng *rng) {
    hybrid_head               *h = (hybrid_head *)head;
    const cp_hybrid_config    *c = options;
    cp_gaussian_softmax_config config = {.features = head->features,
                                         .classes = head->classes,
                                         .precision = c->precision,
                                         .learn_prior = c->learn_prior,
                                         .mean_sd = (cp_real)c->mean_sd};
    h->layer = (cp_gaussian_softmax_make)(at, params, path, config, rng);
    return h->layer.weight && (c->apart || associate(at, &h->layer));
}

static const cp_gaussian_softmax *layer_of(const cp_head *head) { return &((const hybrid_head *)head)->layer; }

static cp_tensor *hybrid_logits(cp_at at, const cp_head *head, cp_tensor *z) {
    return cp_gaussian_softmax_logits(at, layer_of(head), z);
}

static cp_tensor *hybrid_class_energy(cp_at at, const cp_head *head, cp_tensor *z) {
    return cp_gaussian_softmax_class_energy(at, layer_of(head), z);
}

static cp_tensor *hybrid_penalty(cp_at at, const cp_head *head) { return cp_gaussian_softmax_penalty(at, layer_of(head)); }

/* Shrinks halfway toward the mean variance: the variance of a single feature is poorly estimated from few labels. */
static bool hybrid_fit(cp_at at, cp_head *head, int n, const cp_real *z, const cp_real *weights) {
    cp_gaussian_softmax *layer = &((hybrid_head *)head)->layer;
    return (cp_gaussian_softmax_fit)(at, layer, n, z, weights, 0.5) && associate(at, layer);
}

static bool hybrid_scale(cp_at at, cp_head *head, double factor) {
    cp_gaussian_softmax *layer = &((hybrid_head *)head)->layer;
    if (!(cp_gaussian_softmax_scale)(at, layer, factor)) return false;
    cp_tensor_multiply(layer->weight, (cp_real)factor);
    cp_tensor_multiply(layer->bias, (cp_real)factor);
    return true;
}

static int hybrid_max_features(const void *options) {
    return ((const cp_hybrid_config *)options)->precision == CP_FULL ? CP_GAUSSIAN_MAX_FULL : INT_MAX;
}

static const cp_choice precisions[] = {{"spherical", CP_SPHERICAL}, {"diagonal", CP_DIAGONAL}, {"full", CP_FULL}, {0}};

static const cp_key keys[] = {
    {"precision", CP_KEY_CHOICE, .offset = offsetof(cp_hybrid_config, precision), .choices = precisions, .fallback = CP_DIAGONAL},
    {"learn_prior", CP_KEY_BOOL, .offset = offsetof(cp_hybrid_config, learn_prior)},
    {"mean_sd", CP_KEY_NUMBER, .offset = offsetof(cp_hybrid_config, mean_sd), .min = 1e-6, .max = 1e6, .fallback = 0.6},
    {"apart", CP_KEY_BOOL, .offset = offsetof(cp_hybrid_config, apart)},
    {0},
};

const cp_head_kind cp_head_hybrid = {.base = {"hybrid", sizeof(hybrid_head), sizeof(cp_hybrid_config), keys},
                                     .generative = true,
                                     .make = hybrid_make,
                                     .logits = hybrid_logits,
                                     .class_energy = hybrid_class_energy,
                                     .penalty = hybrid_penalty,
                                     .fit = hybrid_fit,
                                     .scale = hybrid_scale,
                                     .max_features = hybrid_max_features};

cp_gaussian_softmax *cp_head_gaussian_softmax(cp_head *head) {
    return head && head->kind == &cp_head_hybrid ? &((hybrid_head *)head)->layer : NULL;
}
