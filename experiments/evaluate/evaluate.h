/* What the files of `couplet evaluate` share. */
#pragma once

#include "experiments/kit/train/run_model.h"
#include "experiments/kit/train/scores.h"

/* How predictions are computed from the scores. */
typedef enum cp_reading { CP_READING_PLAIN, CP_READING_SCALED, CP_READING_BAYES, CP_READINGS } cp_reading;

/* A number that should be higher for images of this set than for those of another. */
typedef struct cp_outlier_score {
    const char *name, *title, *meaning;
    double     *here, *there; /* of this set's images, of the other's */
    cp_estimate auroc;        /* the probability that it is higher here */
} cp_outlier_score;

typedef enum cp_outlier_kind { CP_OUTLIER_POSTERIOR, CP_OUTLIER_ENERGY, CP_OUTLIER_DENSITY, CP_OUTLIERS } cp_outlier_kind;

typedef struct cp_energies {
    double *at; /* NULL: not known */
    int     count;
} cp_energies;

typedef struct cp_evaluation {
    const cp_options *options;
    cp_run           *run;
    cp_run_model     *trained;
    cp_images        *images, *other; /* other: of --ood, or NULL */
    int               split;
    const cp_split   *rows, *other_rows;
    cp_scores         scores, other_scores;
    cp_measured       measured[CP_READINGS];
    cp_energies       chains, noise;         /* of the run's chains, of uniform noise */
    cp_status         no_chains;             /* the reason if there are none */
    cp_outlier_score  outliers[CP_OUTLIERS]; /* here: NULL when the model has no such score */
} cp_evaluation;

/* ---- outlier detection: three scores, and how well each distinguishes the images of one set from another's ----
 *
 *   posterior   max_c p(c|x) of the softmax, with the run's temperature
 *   energy      logsumexp_c of the logits, the classifier's negative free energy (Liu et al. 2020); a softmax model has it too
 *   density     -E(x) = log p(x) + a constant, of the generative model. A jem model's is the energy itself, and is left out */

bool cp_outliers_measure(cp_evaluation *e, cp_status *status); /* from both sets' scores */

void cp_outliers_put(const cp_evaluation *e, cp_json_writer *writer, FILE *file);       /* "ood" and its table */
void cp_outliers_put_notes(const cp_evaluation *e, cp_json_writer *writer, FILE *file); /* the directions */
