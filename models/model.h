/* A model: a feature network, a head, and their parameters, made from a description that can be written into a file. */
#ifndef CP_MODEL_H
#define CP_MODEL_H

#include "models/head.h"
#include "models/net.h"

typedef struct cp_model_config {
    const char *model; /* the network's kind: "wrn", "mlp", "lstm" or one that was added; NULL: "wrn" */
    const char *head;  /* "softmax", "jem", "hybrid" or one that was added; NULL: "softmax" */
    int         classes;

    /* Options; those of other kinds than the two above are not looked at. */
    cp_wrn_config    wrn;
    cp_mlp_config    mlp;
    cp_lstm_config   lstm;
    cp_hybrid_config hybrid;
    cp_kind_options  own_net, own_head; /* of kinds that a program has added: memcpy the struct here, or parse a description */
} cp_model_config;

typedef struct cp_model {
    cp_model_config config; /* with the defaults filled in; its strings are the kinds' names */
    cp_params      *params;
    cp_net         *net;  /* tensors at the top: stem.weight, ... */
    cp_head        *head; /* head.weight, head.bias, ... */
} cp_model;

/* NULL (after the error handler) when the configuration is not possible. */
cp_model *cp_model_new(cp_at at, cp_model_config config, cp_rng *rng);
#define cp_model_new(...) cp_model_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
void cp_model_free(cp_model *model); /* NULL is allowed */

/* The description as JSON: {"model":"wrn","depth":10,"width":2,"channels":3,"classes":8,"norm":"batch","head":"softmax"}. Missing
 * keys mean the default; a key that the model does not have, or a value of another kind, is refused.
 *
 *   of    key            values                                      default   tensors, as a file names them
 *   all   model          wrn, mlp, lstm                              wrn
 *         classes        1 to 2^20                                   needed
 *         head           softmax, jem, hybrid                        softmax   head.weight, head.bias
 *   hybrid precision     spherical, diagonal, full                   diagonal  also head.mean, head.precision
 *         learn_prior    true, false                                 false     head.prior
 *         mean_sd        1e-6 to 1e6: the means start at N(0, sd^2)  0.6
 *         apart          true: softmax has a start of its own        false
 *   wrn   depth          10, 16, 22, ... (6n + 4)                    10        stem.weight, stem.bias, stage0.block0.conv1.weight,
 *         width          1 to 1000                                   1         ...conv1.bias, ...conv2..., ...shortcut..., to
 *         channels       of the images, 1 to 4096                    1         stage2.blockN...: see models/net.h
 *         norm           none, batch, group, layer                   none      stage0.block0.norm1.weight, ..., norm.weight, ...
 *         activation     leaky (0.2), relu, swish, tanh, identity    leaky
 *         layout         jem, classic                                jem
 *   mlp   sizes          [inputs, hidden, ..., features], up to 16   needed    layer0.weight, layer0.bias, layer1.weight, ...
 *         activation     as above                                    leaky
 *   lstm  in, hidden     1 to 2^20, 1 to 2^16                        needed    weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0,
 *         layers         1 to 8                                      1         weight_ih_l1, ...
 *         bidirectional  true, false                                 false     weight_ih_l0_reverse, ...
 *
 * All convolutions of a wrn have biases; they are 3x3 with padding 1, and the shortcuts 1x1 with padding 0. Text to free, or NULL
 * when out of memory or not possible; false and a message for a description that is not possible. Kinds that a program has added
 * have the keys that they describe. */
char *cp_model_config_text(const cp_model_config *config);
bool  cp_model_config_parse(const char *text, const char *name, cp_model_config *config, cp_status *status);

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
