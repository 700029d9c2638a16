/* What the files of `couplet evaluate` share. */
#pragma once

#include "experiments/kit/data/corrupt.h"
#include "experiments/kit/figure/figure.h"
#include "experiments/kit/metrics/curves.h"
#include "experiments/kit/metrics/operating.h"
#include "experiments/kit/train/run_model.h"
#include "experiments/kit/train/scores.h"

/* How predictions are computed from the scores. */
typedef enum cp_reading { CP_READING_PLAIN, CP_READING_SCALED, CP_READING_BAYES, CP_READINGS } cp_reading;

/* Numbers that should be higher for images of this set than for outliers. */
typedef enum cp_outlier_kind {
    CP_OUTLIER_POSTERIOR,
    CP_OUTLIER_ENERGY,
    CP_OUTLIER_DENSITY,
    CP_OUTLIER_MAHALANOBIS,
    CP_OUTLIER_NEIGHBORS,
    CP_OUTLIERS
} cp_outlier_kind;

/* A set of --ood, or a corrupted copy of the images. */
typedef struct cp_outlier_set {
    cp_text         name;
    cp_images      *images; /* NULL: a copy, of this kind and strength */
    const cp_split *rows;
    cp_corruption   corruption;
    int             strength, n;
    double          accuracy;             /* of a copy: its labels are known */
    double         *scores[CP_OUTLIERS];  /* (n); NULL: the model has no such score */
    cp_ranking      against[CP_OUTLIERS]; /* the images, which are marked, and the outliers */
} cp_outlier_set;

typedef struct cp_energies {
    double *at; /* NULL: not known */
    int     count;
} cp_energies;

/* One class against the rest, by its posterior. */
typedef struct cp_one {
    double      *scores; /* (n) */
    bool        *marked; /* (n): the label is this class */
    cp_operating point;  /* of --at */
    cp_ranking   ranking;
} cp_one;

/* What the answers are ordered by, where the last are not given: the largest posterior, and the density. */
enum { CP_BY_CONFIDENCE, CP_BY_DENSITY, CP_ABSTENTIONS };

/* The rows by what a column says of them. */
typedef struct cp_groups {
    cp_names     names;
    int         *of;      /* (n): which name; NULL: no --by */
    int         *count;   /* (names): rows; */
    cp_metrics **metrics; /* of those with rows */
} cp_groups;

typedef struct cp_evaluation {
    const cp_options *options;
    cp_run           *run;
    cp_run_model     *trained;
    cp_images        *images;
    int               split;
    uint64_t          seed;
    const cp_split   *rows;
    cp_scores         scores;
    cp_measured       measured[CP_READINGS];
    double           *posterior; /* (n, classes), of the softmax with the run's temperature: what couplet predict writes */
    cp_one           *ones;      /* (classes): each against the rest */
    cp_operating_rule rule;      /* of --at; ones have points if it is given */
    cp_ranking        abstention[CP_ABSTENTIONS];
    cp_groups         by;            /* of --by */
    cp_energies       chains, noise; /* of the run's chains, of uniform noise */
    cp_status         no_chains;     /* the reason if there are none */
    cp_outlier_set   *outliers;      /* (outlier_count) */
    int               outlier_count;
    double           *usual[CP_OUTLIERS]; /* (n): the scores of the images themselves */
    char             *outliers_md5;       /* of the files of --ood, one after another */
    cp_status         no_reference;       /* why there are no training images to compare features with */
} cp_evaluation;

/* ---- operating points, classes and curves: each class against the rest; of two classes the second has all, the first no curve ---- */

bool cp_points_read(cp_evaluation *e, cp_status *status); /* the options, before anything is measured */
bool cp_points_measure(cp_evaluation *e, cp_tape *tape, cp_status *status);
bool cp_points_draw(const cp_evaluation *e, cp_status *status);
void cp_points_put(const cp_evaluation *e, cp_json_writer *writer, FILE *file);
void cp_points_put_notes(const cp_evaluation *e, cp_json_writer *writer, FILE *file);
void cp_points_free(cp_evaluation *e);

/* ---- groups of --by ---- */

bool cp_groups_read(cp_evaluation *e, cp_status *status); /* the column, before anything is measured */
bool cp_groups_measure(cp_evaluation *e, cp_status *status);
void cp_groups_put(const cp_evaluation *e, cp_json_writer *writer, FILE *file);
void cp_groups_put_notes(const cp_evaluation *e, cp_json_writer *writer, FILE *file);
void cp_groups_free(cp_groups *groups);

/* ---- outlier detection: scores, and how well each distinguishes the images of one set from another's ----
 *
 *   posterior     max_c p(c|x) of the softmax, with the run's temperature
 *   energy        logsumexp_c of the logits, the classifier's negative free energy (Liu et al. 2020); a softmax model has it too
 *   density       -E(x) = log p(x) + a constant, of the generative model. A jem model's is the energy itself, and is left out
 *   mahalanobis, neighbors   of features, see outliers.h, from the images of the run's training with the classes that the softmax gives them */

bool cp_outliers_open(cp_evaluation *e, cp_status *status); /* --ood and --corrupt, before anything is measured */
bool cp_outliers_measure(cp_evaluation *e, cp_tape *tape, cp_status *status);
bool cp_outliers_draw(const cp_evaluation *e, cp_status *status);
void cp_outliers_put(const cp_evaluation *e, cp_json_writer *writer, FILE *file);
void cp_outliers_put_notes(const cp_evaluation *e, cp_json_writer *writer, FILE *file);
void cp_outliers_free(cp_evaluation *e);

/* A curve of cp_ranking, with its band, if it has one. */
void cp_curve_draw(cp_panel *panel, int color, const char *label, bool band, const cp_estimate curve[CP_CURVE_POINTS]);

/* Bins that hold these too, all but the outermost hundredth on either side, so that a few outliers do not squeeze the rest. */
cp_bins cp_bins_for(cp_bins bins, int n, const double *values);
