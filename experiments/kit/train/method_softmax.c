/* The methods softmax, a classifier of the labeled images, and pseudo, which also learns from its confident guesses for unlabeled ones. */
#include "experiments/kit/train/method.h"

static cp_tensor *loss(cp_at at, const cp_objective *o, const cp_model *model, const cp_objective_batch *b,
                       cp_objective_terms *terms) {
    (void)o;
    return (cp_method_cross_entropy)(at, model, b, CP_TRAINING, NULL, terms);
}

static cp_tensor *pseudo_loss(cp_at at, const cp_objective *o, const cp_model *model, const cp_objective_batch *b,
                              cp_objective_terms *terms) {
    cp_tensor *cross_entropy = (cp_method_cross_entropy)(at, model, b, CP_EVALUATION, NULL, terms);
    return (cp_method_add_guesses)(at, cross_entropy, o, model, b, terms);
}

const cp_method cp_method_softmax = {
    .name = "softmax", .about = "the classifier alone", .color = 0, .head = "softmax", .loss = loss};

const cp_method cp_method_pseudo = {.name = "pseudo",
                                    .title = "pseudo-labels",
                                    .about = "the classifier, also trained on its own confident guesses for unlabeled images",
                                    .color = 3,
                                    .head = "softmax",
                                    .unlabeled = true,
                                    .reads = "joint-steps|joint-rate|pseudo|threshold",
                                    .loss = pseudo_loss};
