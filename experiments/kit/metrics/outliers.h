/* Scores of outliers from the features of training images, which should be higher for inputs like them:
 *
 *   Mahalanobis   -min_c (z - m_c)' S^-1 (z - m_c), with the mean m_c of each class and the covariance S that all share (Lee et al. 2018)
 *   neighbors     -|z/|z| - the k-th nearest of the training images' z/|z||, k = 50 or all (Sun et al. 2022)
 *
 * S has the mean of its diagonal times 1e-6 added, since features may depend on each other; a class without images is left out. */
#pragma once

#include "core/error.h"

enum { CP_NEIGHBORS = 50 };

typedef struct cp_reference {
    int     n, features, classes;
    double *unit;   /* (n, features), each of length 1 */
    double *means;  /* (classes, features); NaN without images */
    double *factor; /* (features, features): lower triangular, S = L L' */
} cp_reference;

/* From features (n, features) and the class of each. False with a message: none, or not enough memory. */
bool cp_reference_make(cp_reference *reference, int n, int features, const double *z, int classes, const int *labels,
                       cp_status *status);
void cp_reference_free(cp_reference *reference); /* back to {0} */

/* Both scores of features (n, features), each (n). False: not enough memory. */
bool cp_reference_scores(const cp_reference *reference, int n, const double *z, double *mahalanobis, double *neighbors);
