/* Corrupted copies of images in [-1, 1], at strengths 1 to 5, as of a bad scanner or patient:
 *
 *   noise     N(0, s^2) on every value, s = 0.08, 0.16, 0.24, 0.36, 0.52
 *   blur      Gaussian, standard deviation 0.5, 1, 1.5, 2, 3 pixels
 *   contrast  times 0.8, 0.6, 0.4, 0.25, 0.1 about the image's mean
 *   rotation  by 10, 20, 40, 60, 90 degrees about the middle, bilinear
 *
 * The border is repeated outside, and values are clamped to [-1, 1]. */
#pragma once

#include "core/random.h"
#include "core/tensor.h"

typedef enum cp_corruption { CP_NOISE, CP_BLUR, CP_CONTRAST, CP_ROTATION, CP_CORRUPTIONS } cp_corruption;
enum { CP_STRENGTHS = 5 };
extern const char *const cp_corruption_names[CP_CORRUPTIONS];

/* Of an image (H, W, C) into another; the stream is for noise. */
void cp_corrupt(cp_corruption kind, int strength, const cp_real *image, cp_shape shape, cp_rng *rng, cp_real *out);
