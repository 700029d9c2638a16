/* Where chains start: uniform noise, or a Gaussian of the pixels of each class, fitted to data. */
#pragma once

#include "core/error.h"
#include "core/random.h"
#include "optim/state.h"

/* ---- Gaussians of pixels, one per class ---- */

typedef struct cp_class_gaussian cp_class_gaussian;

typedef struct cp_class_gaussian_config {
    int    classes;
    size_t size; /* values of a sample */

    /* 0: diagonal covariance. Otherwise full: a start is mean + sum_j e_j (x_j - mean) / sqrt(k - 1), e ~ N(0, I),
     * over the k samples of the class. This is exactly the Gaussian with their covariance, of rank k - 1, without a
     * size x size matrix and its factor. At most `directions` samples are used, spread evenly over those of the class (then
     * the divisor is sqrt(k), since the mean is that of all samples): 256 are enough and take 256 size classes values. */
    int directions;

    double jitter; /* independent noise of this sd on every value, in both cases; 0: 0.01; below 0: none */
} cp_class_gaussian_config;

cp_class_gaussian *cp_class_gaussian_new(cp_at at, cp_class_gaussian_config config); /* all zero until fitted or restored */
void               cp_class_gaussian_free(cp_class_gaussian *gaussian);              /* NULL is allowed */

/* data (count, size), labels (count) in 0..classes-1, or negative for samples to ignore. Means and variances (n - 1 in the divisor)
 * are accumulated in double, in two passes. A class without samples is misuse: false, and nothing changes. */
bool cp_class_gaussian_fit(cp_at at, cp_class_gaussian *gaussian, const cp_real *data, const int *labels, size_t count);

int cp_class_gaussian_classes(const cp_class_gaussian *gaussian); /* 0 for NULL */

/* Draws a start of `size` values. label < 0: of a random class. A label out of range is misuse. */
void cp_class_gaussian_draw(const cp_class_gaussian *gaussian, cp_rng *rng, int label, cp_real *out);

/* "mean" (classes, size); "sd" (classes, size) or "directions" (classes, directions, size), scaled and padded with zeros. */
bool cp_class_gaussian_state(cp_class_gaussian *gaussian, int i, cp_state *state);

/* ---- any start ---- */

typedef enum cp_start_kind {
    CP_START_UNIFORM,        /* on [low, high); both 0: [-1, 1) */
    CP_START_CLASS_GAUSSIAN, /* `gaussian`, which must outlive the start */
} cp_start_kind;

typedef struct cp_start {
    cp_start_kind            kind;
    double                   low, high; /* of a Gaussian: values are clamped to this range when low < high */
    const cp_class_gaussian *gaussian;
} cp_start;

bool cp_start_check(cp_at at, const char *op, const cp_start *start,
                    size_t size); /* false after misuse, if it is not for `size` values */
void cp_start_draw(const cp_start *start, cp_rng *rng, int label, cp_real *out, size_t size);

#define cp_class_gaussian_new(...) cp_class_gaussian_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_class_gaussian_fit(...) cp_class_gaussian_fit(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
