/* What a model's file says besides its description and weights: how raw inputs become numbers, what its classes are called, how
 * confident it is, and what it was trained on. cp_model_save writes it as metadata `about`; files without it are loaded, and then
 * nothing is known.
 *
 * PREPROCESSING. A network takes numbers in [-1, 1]: the value x of a file becomes 2 (x - low) / (high - low) - 1, clamped to [-1,
 * 1]. The range is chosen once, from the training data, and travels with the model. Each feature of a table or sequence becomes (x
 * - mean) / sd. */
#pragma once

#include "core/io/dtype.h"
#include "core/tensor.h"

typedef struct cp_preprocessing {
    cp_dtype dtype;     /* of the training's files: CP_U8, CP_F32, ... */
    double   low, high; /* these become -1 and 1; equal: not known, then bytes are pixels (0 to 255), numbers taken as they are */
    cp_shape shape;     /* of one input, (H, W, C) of an image; rank 0: not known */
    const double *mean, *sd; /* (last axis): tables and sequences have no range but become (x - mean) / sd; NULL: others */
} cp_preprocessing;

static inline bool cp_preprocessing_known(const cp_preprocessing *input) { return input->mean || input->high > input->low; }

/* All zeros: nothing is known. */
typedef struct cp_about {
    cp_preprocessing   input;
    const char *const *class_names; /* (classes) */
    double             temperature; /* posterior = softmax(logits / temperature), fitted on validation; 0: not known, 1 is taken */
    const char        *data, *md5;  /* of the training set: its name, and the md5 of its file in hexadecimal */
    const char        *version;     /* of Couplet, which wrote the file; filled in by the library */
} cp_about;

/* The range for values from min to max: the first of [-1, 1], [0, 1] and [0, 255] that holds them (the first only when some are
 * negative), or else, and then false is returned, their own. */
bool cp_preprocessing_choose(cp_preprocessing *input, double min, double max);

/* Elements of a file, whole inputs, as a network takes them. NULL: nothing is known of the preprocessing. False with a message,
 * which names `what`, for a number beyond the range of cp_real. */
bool   cp_preprocess(const cp_preprocessing *input, cp_dtype dtype, const void *elements, size_t count, cp_real *out,
                     const char *what, cp_status *status);
double cp_preprocess_undo(const cp_preprocessing *input, size_t i,
                          double value); /* back to the training's numbers, of value i of all */

/* Whether elements have the range that the model was trained on. False with a message when they certainly do not: more than a tenth
 * of them lie outside, or one does and bytes stand for floats or the reverse, or none is above 1 where 0 to 255 is expected.
 * `warning` says what is only suspicious: a few values outside, which are clamped, or a much narrower range; or more than a tenth
 * of the features of a table at 20 standard deviations from their mean. NaN are left out. */
bool cp_preprocessing_check(const cp_preprocessing *input, cp_dtype dtype, const void *elements, size_t count, const char *what,
                            cp_status *warning, cp_status *status);
