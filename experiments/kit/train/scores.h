/* Scores: a model's outputs for every image of a split, in the split's order. */
#pragma once

#include "experiments/kit/data/dataset.h"
#include "experiments/kit/metrics/metrics.h"
#include "models/model.h"

typedef struct cp_scores {
    int        n, classes;
    double    *logits;   /* (n, classes) */
    double    *bayes;    /* (n, classes): minus the class energies, the logits of the Gaussians' posterior; NULL: softmax head */
    double    *energies; /* (n); NULL: softmax head */
    const int *labels;   /* (n), the split's */
    const int *groups;   /* (n), for metrics: see cp_predictions; NULL, and the caller may set it */
    bool       finite;   /* all values are finite; otherwise they are meaningless */
} cp_scores;

/* By the model in evaluation mode. False with a message when there is not enough memory or the model does not fit the images. The tape is
 * left empty, paused if it was. */
bool cp_scores_make(cp_tape *tape, const cp_model *model, const cp_split *split, cp_scores *scores, cp_status *status);
void cp_scores_free(cp_scores *scores); /* back to {0} */

/* For metrics: of the logits with a temperature, or with `bayes` of the Gaussians' posterior at 1. */
cp_predictions cp_scores_predictions(const cp_scores *scores, bool bayes, double temperature);
