/* Images with missing pixels, and rows of tables and sequences with missing values, for `couplet impute`: from files, or with holes made in
 * those of a set. */
#pragma once

#include "core/io/npy.h"
#include "experiments/kit/data/images.h"
#include "models/about.h"

/* The middle, the lower half, half of all pixels at random. Of sequences the steps in the middle, or the later half; of tables the
 * features. */
typedef enum cp_hole { CP_HOLE_CENTER, CP_HOLE_HALF, CP_HOLE_RANDOM } cp_hole;

/* Fields are for reading. */
typedef struct cp_holes {
    int              count;
    cp_shape         shape;          /* (H, W, C), or (D), (T, D) */
    size_t           unit;           /* values that are missing together: C of images, 1 of rows */
    size_t           pixels, values; /* H W, and H W C; of rows both are the number of values */
    cp_real         *images;         /* (count, H, W, C) as the network takes them; 0 where it is not known */
    bool            *missing;        /* (count, H, W) */
    int             *lengths;        /* (count): of sequences, the steps that count; NULL: all */
    bool             truth;          /* the images are known where pixels are missing too: errors can be measured */
    size_t           missing_pixels; /* in all */
    int              untouched;      /* images without a missing pixel */
    int              unknown;        /* images without a known one */
    cp_dtype         dtype;          /* for a file of the same kind: CP_U8, CP_F32 or CP_F64 */
    int              rank;           /* and the same axes: (count, H, W) or (count, H, W, C) */
    cp_npy           given;          /* the file's own numbers; {0}: from a set */
    cp_preprocessing input;          /* the model's */
    cp_status        warning;        /* of cp_preprocessing_check */
} cp_holes;

/* IMAGES is a .npy of uint8 or floats, (N, H, W, C) or, gray, (N, H, W), of the given shape, in the units of the model's training; floats
 * are in [-1, 1] when these are not known. MASK, a .npy with 1 where a pixel is missing and 0 elsewhere, is (N, H, W) or, for all images,
 * (H, W). Without it (NULL), NaN mark the missing pixels; with it, they may only be in the holes, and there is no truth. Rows are float32
 * or float64 (N, D) or (N, T, D), and their mask has the same shape, or that of one row. LENGTHS, a .npy of (N) whole numbers or NULL, has
 * the steps of each sequence that count. False with a message, and nothing to free: a shape or value that does not fit, a NaN that the mask
 * has as known, nothing missing at all. */
bool cp_holes_read(const char *images, const char *mask, const char *lengths, const cp_preprocessing *input, cp_shape shape,
                   cp_holes *holes, cp_status *status);

/* Holes in `count` images of a split, evenly spread over it. The random ones come from the seed. */
bool cp_holes_make(const cp_split *split, const cp_preprocessing *input, int count, cp_hole kind, uint64_t seed, cp_holes *holes,
                   cp_status *status);

void cp_holes_free(cp_holes *holes); /* back to {0} */

/* Values (count, H, W, C) in [-1, 1] as a .npy of the holes' dtype, axes and units; pixels that are not missing are as they were given. */
bool cp_holes_write(const cp_holes *holes, const cp_real *values, const char *path, cp_status *status);
