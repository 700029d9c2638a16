/* A model: a feature network, a head, and their parameters, made from a configuration that files hold as text. */
#pragma once

#include "models/about.h"
#include "models/head.h"
#include "models/net.h"

typedef struct cp_model_config {
    const char *model; /* kind of network: "wrn", "mlp", "lstm" or one that the program added; NULL: "wrn" */
    const char *head;  /* kind of head: "softmax", "jem", "hybrid" or one that the program added; NULL: "softmax" */
    int         classes;

    /* Options; those of kinds other than the two above are ignored. */
    cp_wrn_config    wrn;
    cp_mlp_config    mlp;
    cp_lstm_config   lstm;
    cp_hybrid_config hybrid;
    cp_kind_options  own_net, own_head; /* of kinds that the program added: memcpy the struct here, or parse a description */
} cp_model_config;

typedef struct cp_model {
    cp_model_config config; /* with the defaults filled in; its strings are the kinds' names */
    cp_params      *params;
    cp_net         *net;   /* tensors at the top: stem.weight, ... */
    cp_head        *head;  /* head.weight, head.bias, ... */
    cp_about        about; /* what is known of its inputs, classes and training; temperature may be changed */

    /* Internal: what `about` points to. */
    struct cp_json *about_kept;
    const char    **about_names;
    double         *about_numbers;
} cp_model;

/* NULL, after the error handler, when the configuration is not possible. */
cp_model *cp_model_new(cp_at at, cp_model_config config, cp_rng *rng);
#define cp_model_new(...) cp_model_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
void cp_model_free(cp_model *model); /* NULL is allowed */

/* Copies all of `about` into the model, for cp_model_save and cp_model_predict. False with a message: a name that cannot be printed, a
 * range without an end, a size below 1. */
bool cp_model_about_set(cp_model *model, const cp_about *about, cp_status *status);

/* The description as JSON: {"model":"wrn","depth":10,"width":2,"channels":3,"classes":8,"norm":"batch","head":"softmax"}. The tables in
 * docs/formats.md have all keys, with their values and defaults, and the names of the tensors; kinds that a program adds have the keys that
 * they list. Missing keys get their defaults; a key that the model does not have, or a value of another type, is an error.
 *
 * Text to free, or NULL when out of memory or when the configuration is not possible; false and a message for a bad description, in which
 * messages call it `name`. */
char *cp_model_config_text(const cp_model_config *config);
bool  cp_model_config_parse(const char *text, const char *name, cp_model_config *config, cp_status *status);

/* One part of a model in words: a kind of network or head, and keys of its description, as in "mlp", "wrn:depth=16,norm=group",
 * "mlp:sizes=64/64,activation=relu" or "hybrid:precision=full". Sets it in `config`, with the other keys at their defaults. What follows
 * from inputs of the given shape is filled in: a wide ResNet's channels, an LSTM's inputs, the first of a perceptron's sizes. Messages
 * begin with `name`. */
bool cp_model_config_net(cp_model_config *config, const char *words, cp_shape input, const char *name, cp_status *status);
bool cp_model_config_head(cp_model_config *config, const char *words, const char *name, cp_status *status);

/* Whether the network or head has the key and the words do not set it. */
bool cp_model_part_has_key(const char *words, const char *key);

/* Whether such a model can be made and accepts inputs of that shape, without a batch's first axis. */
bool cp_model_config_check(const cp_model_config *config, cp_shape input, cp_status *status);

cp_tensor *cp_model_logits(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode);       /* (N, C) */
cp_tensor *cp_model_posterior(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode);    /* (N, C) */
cp_tensor *cp_model_class_energy(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode); /* (N, C) */
cp_tensor *cp_model_energy(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode);       /* (N) */

/* The energy that a sampler descends, in evaluation mode: of the classes in labels, or the total energy when labels.at is NULL. Pass the
 * target's address as the context of cp_model_energy_of, a cp_energy_fn. */
typedef struct cp_model_target {
    const cp_model *model;
    cp_labels       labels;
} cp_model_target;
cp_tensor *cp_model_energy_of(cp_at at, void *target, cp_tensor *x);

#define cp_model_logits(t, ...) cp_model_logits(CP_AT(t), __VA_ARGS__)
#define cp_model_posterior(t, ...) cp_model_posterior(CP_AT(t), __VA_ARGS__)
#define cp_model_class_energy(t, ...) cp_model_class_energy(CP_AT(t), __VA_ARGS__)
#define cp_model_energy(t, ...) cp_model_energy(CP_AT(t), __VA_ARGS__)
