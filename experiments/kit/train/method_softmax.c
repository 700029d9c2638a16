/* The method softmax: a classifier of the labeled images. */
#include "experiments/kit/train/method.h"

static cp_tensor *loss(cp_at at, const cp_objective *o, const cp_model *model, const cp_objective_batch *b,
                       cp_objective_terms *terms) {
    (void)o;
    return (cp_method_cross_entropy)(at, model, b, CP_TRAINING, NULL, terms);
}

const cp_method cp_method_softmax = {
    .name = "softmax", .about = "the classifier alone", .color = 0, .head = "softmax", .loss = loss};
