/* Methods: what a network with a head minimizes on labeled and unlabeled images, and what else programs need to know about it.
 *
 *     const cp_method *method = cp_method_find("hybrid");
 *     cp_objective     weights = {.energy = 0.3, .lambda = 1, .square = 0.001, .slope = 0.05};
 *     cp_tensor       *loss = cp_method_loss(tape, method, &weights, model, &(cp_objective_batch){...}, &terms);
 *     cp_backward(tape, loss, model->params);
 *
 * With x_l, c the labeled images, x_u the unlabeled ones, x' the samples, E(x) = -logsumexp_c(-E(x; c)), and means over a batch:
 *
 *     softmax   CE(x_l, c)
 *     pseudo    CE(x_l, c) + P
 *     jem       CE(x_l, c) + P + energy [E(x_u) - E(x')] + R
 *     hybrid    CE(x_l, c) + P + energy [E(x_l; c) - E(x') + E(x_u) - E(x')] + R + lambda penalty
 *     R       = square [E(x_u)^2 + E(x')^2] + slope [h(|dE/dx_u|^2) + h(|dE/dx'|^2)],  h(s) = max(0, s - slope_max)
 *     P       = pseudo CE(x_a, g), where the guess g for an unlabeled image is confident enough; x_a is the image augmented
 *
 * penalty is minus the log of the joint prior of the two heads at lambda = 1 (cp_head_penalty). With `conditional`, each sample in
 * the labeled images' term is drawn for a class: E(x_l; c) - E(x'; c').
 *
 * CE alone uses CP_TRAINING, the statistics of the batch. With any other term all use CP_EVALUATION: labeled and unlabeled images, samples
 * and the sampler must see one and the same function, and running statistics must not learn from samples.
 *
 * A new method is a cp_method in a file of its own and a word in CP_METHODS below; a program adds its own with cp_method_add. */
#pragma once

#include "experiments/kit/cli/options.h"
#include "models/model.h"

enum { CP_METHODS_MAX = 16, CP_METHOD_OPTIONS = 8 };

/* The weights of the terms above. */
typedef struct cp_objective {
    double energy, lambda, square, slope, slope_max, pseudo;
    bool   conditional;
    double own[CP_METHOD_OPTIONS]; /* the values of the method's own options */
} cp_objective;

/* Images (N, H, W, C) each; what a method does not use may be NULL. Data of persistent tensors is copied onto the tape. */
typedef struct cp_objective_batch {
    const cp_tensor *labeled, *unlabeled, *samples;
    cp_labels        labels, sample_labels; /* the latter for `conditional` */
    const cp_tensor *augmented;             /* for P; NULL: there is none */
    cp_labels        guesses;               /* of the augmented images; -1: not confident enough */
} cp_objective_batch;

/* The parts of the loss as numbers, unweighted; NaN where there is none. */
typedef struct cp_objective_terms {
    double     loss, cross_entropy, guessed; /* guessed: share of the images whose guess is confident enough */
    double     data, gap;                    /* E(x_u), E(x_u) - E(x') */
    double     slope_data, slope_samples;    /* |dE/dx|^2; NaN when `slope` is 0 */
    double     penalty;
    cp_tensor *sample_energies; /* E(x') (N), on the tape; NULL without samples */
} cp_objective_terms;

typedef struct cp_method {
    const char *name;               /* of --method, of runs and of result.json: "hybrid" */
    const char *title;              /* in tables and figures; NULL: the name */
    const char *about;              /* for help: "the classifier alone" */
    int         color;              /* in figures: see cp_style */
    const char *head;               /* the kind of head that it trains */
    bool        unlabeled, samples; /* its batches have unlabeled images, samples of the model's density */

    /* Options of `couplet train` that it reads and some other method does not: "energy|lambda"; NULL: none. Options that no method
     * lists here are read by all. */
    const char *reads;

    /* Numbers and flags that it adds to the options of `couplet train`; {0} ends them, NULL: none. Their values are in `own`. */
    const cp_option *options;

    /* Fills in the terms that it has, except loss. NULL on failure, after cp_misuse. */
    cp_tensor *(*loss)(cp_at at, const cp_objective *objective, const cp_model *model, const cp_objective_batch *batch,
                       cp_objective_terms *terms);
} cp_method;

/* ---- the list of all methods; the first is the one that others are compared with ---- */

#define CP_METHODS(METHOD) METHOD(softmax) METHOD(jem) METHOD(hybrid) METHOD(pseudo)

#define CP_METHOD_DECLARE(name) extern const cp_method cp_method_##name;
CP_METHODS(CP_METHOD_DECLARE)

/* Registers a method for `couplet train`, `couplet study` and everything else. Call it first, from one thread; adding one twice is
 * allowed. false (misuse) when another one has the name, it cannot be a word of the command line, or there are too many. */
bool cp_method_add(cp_at at, const cp_method *method);

const cp_method *cp_method_at(int i);              /* 0, 1, ... until NULL */
const cp_method *cp_method_find(const char *name); /* NULL: there is none */
const char      *cp_method_title(const cp_method *method);

bool             cp_method_reads(const cp_method *method, const char *option); /* whether the option can change what it trains */
const cp_option *cp_method_option(int i); /* those that the methods add: 0, 1, ... until NULL */

/* "softmax|jem|hybrid" and those added: for .choices of an option, which must be a constant. */
extern char cp_method_names[256];
#define CP_METHOD_CHOICES (cp_method_names + 1)

/* ---- the loss ---- */

/* The loss (), or NULL after misuse. The terms may be NULL. */
cp_tensor *cp_method_loss(cp_at at, const cp_method *method, const cp_objective *objective, const cp_model *model,
                          const cp_objective_batch *batch, cp_objective_terms *terms);

/* For methods: CE(x_l, c), which is also put into the terms; and the features of the labeled images, if *features is wanted. */
cp_tensor *cp_method_cross_entropy(cp_at at, const cp_model *model, const cp_objective_batch *batch, cp_mode mode,
                                   cp_tensor **features, cp_objective_terms *terms);

/* For methods: the loss with P, where the batch has augmented images. */
cp_tensor *cp_method_add_guesses(cp_at at, cp_tensor *loss, const cp_objective *objective, const cp_model *model,
                                 const cp_objective_batch *batch, cp_objective_terms *terms);

#define cp_method_add(...) cp_method_add(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_method_loss(t, ...) cp_method_loss(CP_AT(t), __VA_ARGS__)
#define cp_method_add_guesses(t, ...) cp_method_add_guesses(CP_AT(t), __VA_ARGS__)
#define cp_method_cross_entropy(t, ...) cp_method_cross_entropy(CP_AT(t), __VA_ARGS__)
