/* The synthetic experiment's parts, apart from the command: its data, its objective, its training. */
#pragma once

#include "couplet.h"
#include "experiments/kit/run/study.h"

/* Two Gaussian classes in the plane, half of the points each. As reported: means (-0.5, 0) and (0.5, 0), standard
 * deviation 0.25. As printed in the paper: means (0, -0.5) and (0, 0.5), covariance 0.5 I. */
typedef enum cp_geometry { CP_GEOMETRY_REPORTED, CP_GEOMETRY_PRINTED } cp_geometry;

typedef struct cp_plane_data {
    int      count;   /* points, those of class 0 first */
    int      labeled; /* of each class: the highest y of class 0, the lowest y of class 1 */
    cp_real *x;       /* (count, 2) */
    int     *label;   /* (count) */
    int     *known;   /* the points whose label is known: 2 labeled places */
    int     *unknown; /* the others: count - 2 labeled places */
} cp_plane_data;

double cp_geometry_bayes(cp_geometry geometry); /* the accuracy of the best possible classifier, in percent */

/* false when out of memory. labeled is per class, at most half of count. */
bool cp_plane_make(cp_plane_data *data, cp_geometry geometry, int count, int labeled, cp_rng *rng);
void cp_plane_free(cp_plane_data *data);

typedef enum cp_plane_method {
    CP_METHOD_LABELED,    /* a softmax layer on the labeled points */
    CP_METHOD_HYBRID,     /* the Gaussian-coupled softmax layer on all points, few labels */
    CP_METHOD_SUPERVISED, /* a softmax layer on all points with all labels */
    CP_METHODS
} cp_plane_method;

const char *cp_plane_method_name(cp_plane_method method); /* "labeled", "hybrid", "supervised" */

typedef struct cp_plane_model {
    cp_plane_method     method;
    cp_params          *params;
    cp_gaussian_softmax layer; /* for the softmax methods only weight and bias take part */
} cp_plane_model;

bool cp_plane_model_new(cp_plane_model *model, cp_plane_method method, cp_precision precision, cp_rng *rng);
void cp_plane_model_free(cp_plane_model *model);

/* The loss: minus the log of the semi-supervised objective, summed over the points, the prior once. */
cp_tensor *cp_plane_loss(cp_at at, const cp_plane_model *model, const cp_plane_data *data, double lambda);

typedef struct cp_plane_training {
    double lambda, rate;
    int    steps;
    bool (*stop)(void); /* asked after every step; NULL: never */
} cp_plane_training;

typedef enum cp_training_end {
    CP_TRAINING_SETTLED,
    CP_TRAINING_SWINGS,   /* the loss still goes up and down at the end: the rate is too large to come to rest */
    CP_TRAINING_DIVERGED, /* the loss is no longer finite */
    CP_TRAINING_STOPPED,
} cp_training_end;

/* Plain gradient descent on all points. */
cp_training_end cp_plane_train(cp_tape *tape, cp_plane_model *model, const cp_plane_data *data, cp_plane_training training);

double cp_plane_accuracy(cp_tape *tape, const cp_plane_model *model, const cp_plane_data *data); /* percent */

/* ---- a trial of the study ---- */

typedef struct cp_plane_variant {
    cp_plane_method method;
    double          lambda;
    char            name[32], advice[120];
} cp_plane_variant;

/* The data of a trial's repetition, and the training of its variant; the model must be freed in any case. */
bool            cp_plane_trial_data(const cp_trial *trial, cp_plane_data *train, cp_plane_data *test);
cp_training_end cp_plane_trial_train(const cp_trial *trial, const cp_plane_data *train, cp_tape *tape, cp_plane_model *model);
