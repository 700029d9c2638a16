/* Objectives: what a network with a softmax, jem or hybrid head minimizes on labeled and unlabeled images.
 *
 *     cp_objective objective = {.energy = 0.3, .lambda = 1, .square = 0.001, .slope = 0.05};
 *     cp_tensor   *loss = cp_objective_loss(tape, &objective, model, &(cp_objective_batch){...}, &terms);
 *     cp_backward(tape, loss, model->params);
 *
 * With x_l, c the labeled images, x_u the unlabeled ones, x' the samples, E(x) = -logsumexp_c(-E(x; c)), and means over a batch:
 *
 *     softmax   CE(x_l, c)
 *     jem       CE(x_l, c) + energy [E(x_u) - E(x')] + R
 *     hybrid    CE(x_l, c) + energy [E(x_l; c) - E(x') + E(x_u) - E(x')] + R + lambda penalty
 *     R       = square [E(x_u)^2 + E(x')^2] + slope [|dE/dx_u|^2 + |dE/dx'|^2]
 *
 * penalty is minus the log of the joint prior of the two heads at lambda = 1 (cp_head_penalty). With `conditional`, the samples that
 * belong to the labeled images' term are those of a class each: E(x_l; c) - E(x'; c').
 *
 * CE alone uses CP_TRAINING, the statistics of the batch. As soon as there are energies, all terms use CP_EVALUATION: data, samples and
 * the sampler must see one and the same function, and running statistics must not learn from samples. */
#ifndef CP_KIT_OBJECTIVE_H
#define CP_KIT_OBJECTIVE_H

#include "models/model.h"

typedef struct cp_objective {
    double energy, lambda, square, slope;
    bool   conditional;
    bool   classify; /* CE(x_l, c) alone, whatever the head */
} cp_objective;

/* Images (N, H, W, C) each; what a head does not use may be NULL. Data of persistent tensors is copied onto the tape. */
typedef struct cp_objective_batch {
    const cp_tensor *labeled, *unlabeled, *samples;
    cp_labels        labels, sample_labels; /* the latter for `conditional` */
} cp_objective_batch;

/* The parts of the loss as numbers, unweighted; NaN where there is none. */
typedef struct cp_objective_terms {
    double     loss, cross_entropy;
    double     data, gap;                 /* E(x_u), E(x_u) - E(x') */
    double     slope_data, slope_samples; /* |dE/dx|^2; NaN when `slope` is 0 */
    double     penalty;
    cp_tensor *sample_energies; /* E(x') (N), on the tape; NULL without samples */
} cp_objective_terms;

/* The loss (), or NULL after misuse. The terms may be NULL. */
cp_tensor *cp_objective_loss(cp_at at, const cp_objective *objective, const cp_model *model, const cp_objective_batch *batch,
                             cp_objective_terms *terms);
#define cp_objective_loss(t, ...) cp_objective_loss(CP_AT(t), __VA_ARGS__)

#endif
