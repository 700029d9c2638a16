/* Generated images judged by a classifier: how many it gives the class for which they were drawn, and how far its features of them are
 * from those of test images. Training images, as many of each class as there are samples if the set has them, are judged for
 * comparison.
 *
 * FRECHET DISTANCE between the Gaussians N(m, S) and N(n, T): |m - n|^2 + tr S + tr T - 2 tr (S T)^(1/2). Means and covariances are
 * those of the features in front of the classifier's head, with every class counting the same, whatever the number of its images.
 * Where there are no more samples, training or test images than features, the covariances of all three are diagonal. */
#pragma once

#include "experiments/kit/train/run_model.h"
#include "experiments/kit/train/scores.h"

typedef struct cp_judged {
    int     n, classes;                   /* images, and classes that have any */
    int    *labels, *count;               /* (n); by class: images */
    double *right, share;                 /* by class: given their class, in percent, NaN: there are none; the mean of these */
    double *features, *mean, *covariance; /* (n, d), (d), (d, d) */
    double  frechet, nearest;             /* distance to the test images, mean distance to the nearest; NaN for these themselves */
} cp_judged;

enum { CP_JUDGED_SAMPLES, CP_JUDGED_TRAINING, CP_JUDGED_TEST, CP_JUDGED };

typedef struct cp_judge {
    cp_run_model *model; /* NULL: no judge */
    cp_images    *images;
    int           features;
    bool          diagonal; /* the covariances */
    cp_judged     of[CP_JUDGED];
} cp_judge;

/* Opens the run or model file `path` as the judge of samples of `trained`, and the images of the file `set`, or NULL: those of its
 * training. The judge is {0} before; it must be freed after an error too. */
bool cp_judge_open(cp_judge *judge, const char *path, const char *set, const cp_run_model *trained, cp_status *status);
void cp_judge_free(cp_judge *judge);

/* Judges n samples, as bytes, and the class of each. The seed draws the training images. */
bool cp_judge_measure(cp_judge *judge, const uint8_t *pixels, const int *labels, int n, uint64_t seed, cp_status *status);

/* "judge": {...} and "judge_table", which is printed too, and notes for the result's array; file may be NULL. */
void cp_judge_put(const cp_judge *judge, cp_json_writer *writer, FILE *file);
void cp_judge_put_notes(const cp_judge *judge, cp_json_writer *writer, FILE *file);

/* Covariances (d, d) are symmetric and may be singular. NaN: not enough memory. */
double cp_frechet_distance(int d, const double *mean, const double *covariance, const double *mean2, const double *covariance2);

int cp_best_class(const cp_tensor *logits, int row); /* the lowest of equal ones */
