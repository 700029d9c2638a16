/* A model: a feature network, a head, and their parameters, made from a description that can be written into a file. */
#ifndef CP_MODEL_H
#define CP_MODEL_H

#include "models/head.h"
#include "models/net.h"

typedef struct cp_model_config {
    const char *model; /* "wrn", "mlp" or "lstm"; NULL: "wrn" */
    const char *head;  /* "softmax", "jem" or "hybrid"; NULL: "softmax" */
    int         classes;

    cp_wrn_config  wrn;
    cp_mlp_config  mlp;
    cp_lstm_config lstm;

    cp_precision precision; /* hybrid; note that zero is CP_SPHERICAL */
    bool         learn_prior;
} cp_model_config;

typedef struct cp_model {
    cp_model_config config; /* its strings are static names */
    cp_params      *params;
    cp_net         *net;  /* tensors at the top: stem.weight, ... */
    cp_head        *head; /* head.weight, head.bias, ... */
} cp_model;

/* NULL (after the error handler) when the configuration is not possible. */
cp_model *cp_model_new(cp_model_config config, cp_rng *rng);
void      cp_model_free(cp_model *model); /* NULL is fine */

/* The description as JSON: {"model":"wrn","depth":10,"width":2,"channels":3,"classes":8,"norm":"batch","head":"softmax"}. Missing
 * keys mean the default. Text to free, or NULL when out of memory; false and a message for a description that is not possible. */
char *cp_model_config_text(const cp_model_config *config);
bool  cp_model_config_parse(const char *text, const char *name, cp_model_config *config, cp_status *status);

/* The number of values in the largest tensor that such a model has: what a file must hold before memory is taken for it. */
double cp_model_config_largest(const cp_model_config *config);

cp_tensor *cp_model_logits(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode);       /* (N, C) */
cp_tensor *cp_model_posterior(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode);    /* (N, C) */
cp_tensor *cp_model_class_energy(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode); /* (N, C) */
cp_tensor *cp_model_energy(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode);       /* (N) */

/* The energy that a sampler descends, in evaluation mode: of the classes in labels, or the total one when labels.at is NULL. Its
 * address is the context of cp_model_energy_of, which fits cp_energy_fn. */
typedef struct cp_model_target {
    const cp_model *model;
    cp_labels       labels;
} cp_model_target;
cp_tensor *cp_model_energy_of(cp_at at, void *target, cp_tensor *x);

#define cp_model_logits(t, ...) cp_model_logits(CP_AT(t), __VA_ARGS__)
#define cp_model_posterior(t, ...) cp_model_posterior(CP_AT(t), __VA_ARGS__)
#define cp_model_class_energy(t, ...) cp_model_class_energy(CP_AT(t), __VA_ARGS__)
#define cp_model_energy(t, ...) cp_model_energy(CP_AT(t), __VA_ARGS__)

#endif
