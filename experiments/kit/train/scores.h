/* Scores: a model's outputs for every image of a split, in the split's order; and metrics of them as a table and as diagrams. */
#pragma once

#include "experiments/kit/data/images.h"
#include "experiments/kit/metrics/metrics.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/run.h"
#include "models/model.h"

typedef struct cp_scores {
    int        n, classes;
    double    *logits;   /* (n, classes) */
    double    *bayes;    /* (n, classes): minus the class energies, the logits of the Gaussians' posterior; NULL: softmax head */
    double    *energies; /* (n); NULL: softmax head */
    double    *features; /* (n, features of the model's head); NULL: not asked for */
    const int *labels;   /* (n), the split's */
    const int *groups;   /* (n), for metrics: see cp_predictions; NULL, and the caller may set it */
    bool       finite;   /* all values are finite; otherwise they are meaningless */
} cp_scores;

/* By the model in evaluation mode. False with a message when there is not enough memory or the model does not fit the images. The tape is
 * left empty, paused if it was. */
bool cp_scores_make(cp_tape *tape, const cp_model *model, const cp_split *split, cp_scores *scores, cp_status *status);
bool cp_scores_make_features(cp_tape *tape, const cp_model *model, const cp_split *split, cp_scores *scores, cp_status *status);
void cp_scores_free(cp_scores *scores); /* back to {0} */

/* softmax(logits / temperature), (n, classes), to be freed; NULL: out of memory. */
double *cp_scores_posterior(const cp_scores *scores, double temperature);

/* For metrics: of the logits with a temperature, or with `bayes` of the Gaussians' posterior at 1. */
cp_predictions cp_scores_predictions(const cp_scores *scores, bool bayes, double temperature);

/* ---- results ---- */

/* One way to predict, measured on a split: a row of the table, a column of the diagram. */
typedef struct cp_measured {
    const char *name;    /* of its object in result.json: "scaled" */
    const char *title;   /* for people: "selected, scaled" */
    cp_metrics *metrics; /* NULL: it is left out everywhere */
} cp_measured;

void cp_measured_put(int count, const cp_measured *all, cp_json_writer *writer, const char *key); /* an object each */

/* The next cell of a table and, unless the writer is NULL, "KEY": [value, low, high]: shares in percent, other numbers as they are. */
void cp_estimate_cell(cp_table *table, cp_json_writer *writer, const char *key, cp_estimate estimate, bool share);

/* Point estimates, one row for each way; where there are patients, followed by a row by patient. */
cp_table *cp_measured_table(int count, const cp_measured *all, const char *split);

/* Of metrics by patient, for a sentence: "44 patients", "1 patient"; and what "by patient" means, as a sentence. */
cp_text     cp_patients_of(const cp_metrics *metrics);
const char *cp_patients_few(const cp_metrics *metrics); /* behind a sentence about intervals; "" from ten patients on */
#define CP_BY_PATIENT                                                                                                              \
    "By image every image counts the same, by patient every patient, whatever the number of its images; intervals are over "       \
    "patients."

#define CP_BRIER_OF_TWO "With two classes the Brier score is the sum over both, twice scikit-learn's brier_score_loss."

/* The reliability diagrams next to each other, and below each the histogram of the confidence with lines at its mean and at the
 * accuracy, as figure "reliability" of the run. */
bool cp_measured_draw(int count, const cp_measured *all, const char *split, const cp_run *run, cp_status *status);

/* "data": {"name":, "md5":, "official":, "origin":, "classes":, "shape": [H, W, C] (or [D], [T, D]), "train":, "val":, "test":}. */
void cp_images_put(const cp_images *images, cp_json_writer *writer, const char *key);
