/* The missing values of an image given the known ones, by a Gaussian of pixels.
 *
 * The Gaussian is x = mean + D^T e + grain, e ~ N(0, I) with the rows of D (directions, values), grain ~ N(0, CP_CONDITIONAL_GRAIN^2)
 * for what those directions leave out. With K the known columns of D and r the known values minus their prediction,
 *     e given them = e + (K K^T + grain^2 I)^-1 K r
 * is a draw from the conditional distribution (Matheron's rule), and their conditional mean for e = 0 and no grain. */
#pragma once

#include "optim/start.h"

#define CP_CONDITIONAL_GRAIN 0.2

typedef struct cp_conditional cp_conditional;

/* The Gaussian must have one class and directions, and outlive this; draws are clamped to +- range. NULL: not enough memory, or the
 * Gaussian does not. */
cp_conditional *cp_conditional_new(cp_class_gaussian *gaussian, double range);
void            cp_conditional_free(cp_conditional *conditional); /* NULL is allowed */

/* Sets which pixels (size / channels) are missing, with all their channels; needed before draws, and again after a change. */
void cp_conditional_set(cp_conditional *conditional, const bool *missing, size_t channels);

/* A draw of mean + D^T e, without grain, into out (size), or with rng NULL the conditional mean. Only the known values of the
 * image are used. */
void cp_conditional_draw(cp_conditional *conditional, const cp_real *image, cp_rng *rng, cp_real *out);
