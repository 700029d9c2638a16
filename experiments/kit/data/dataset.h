/* Data sets: inputs of one shape with integer labels, in named splits, stored as they were given: as bytes or as numbers.
 *
 *     cp_dataset *set = cp_dataset_new((cp_dataset_config){.name = "blood", .dtype = CP_U8, .shape = CP_SHAPE(28, 28, 3)});
 *     cp_dataset_add(set, (cp_split_config){"train", 12000, images, labels, .owned = true}, &status);
 *     const cp_split *train = cp_dataset_split(set, "train", &status);
 *     int *drawn = cp_split_draw(train, 10, seed, &status);       // 10 images of each class: the labeled ones
 *     cp_tensor *x = cp_split_gather(tape, train, drawn, 10 * set->classes);   // (10 classes, 28, 28, 3), scaled
 *     ...
 *     free(drawn);
 *     cp_dataset_free(set);
 *
 * Only the rows of a batch are ever copied or converted: a set of 12,000 x 28 x 28 x 3 bytes takes its 28 MB.
 *
 * THE SCALING CONVENTION is cp_preprocess (models/about.h) with nothing known: bytes (CP_U8) are pixels and become
 * x / 127.5 - 1, that is [-1, 1]; numbers (CP_F32, CP_F64) are taken as they are. */
#pragma once

#include "core/error.h"
#include "core/io/dtype.h"
#include "core/tensor.h"

enum { CP_SPLITS = 8, CP_SPLIT_NAME = 32 };

typedef struct cp_dataset_config {
    const char *name;    /* for messages; NULL: "data set" */
    cp_dtype    dtype;   /* of the inputs: CP_U8, CP_F32 or CP_F64 */
    cp_shape    shape;   /* of one input: (H, W, C) of an image, (D) of a vector, (T, D) of a sequence */
    int         classes; /* 0: the largest label of all splits, plus one */
} cp_dataset_config;

typedef struct cp_dataset cp_dataset;

typedef struct cp_split {
    char              name[CP_SPLIT_NAME];
    int               count;   /* inputs: row 0 to row count - 1 */
    const void       *inputs;  /* (count, dims...) of the set's dtype, in this machine's byte order */
    const int        *labels;  /* (count): 0..classes-1, below 0 where it is not known; NULL: no label is known */
    const int        *lengths; /* (count): of sequences, the steps that count, 1..T; NULL: all */
    bool              owned;
    const cp_dataset *set;
} cp_split;

/* Fields are for reading. */
struct cp_dataset {
    char     name[64];
    cp_dtype dtype;
    cp_shape shape;  /* of one input */
    size_t   values; /* of one input */
    int      classes;
    bool     classes_given;
    cp_split splits[CP_SPLITS];
    int      split_count;
};

/* Without splits. NULL (misuse) when dtype, shape or number of classes is invalid. */
cp_dataset *cp_dataset_new(cp_at at, cp_dataset_config config);
void        cp_dataset_free(cp_dataset *set); /* NULL is allowed; owned arrays go with it */

typedef struct cp_split_config {
    const char *name;  /* "train", "val", "test" or any other, shorter than CP_SPLIT_NAME */
    int         count; /* may be 0 */
    const void *inputs;
    const int  *labels; /* may be NULL */
    bool        owned;  /* false: the caller's, and they must outlive the set; true: the set frees them by free() */
} cp_split_config;

/* Adds a split. False with a message when a label is not below the number of classes that was given, or an input has a
 * number that is not finite or that cp_real cannot hold; owned arrays are then still the caller's. NULL or repeated names, a negative count, missing
 * inputs and more than CP_SPLITS splits are misuse. */
bool cp_dataset_add(cp_at at, cp_dataset *set, cp_split_config config, cp_status *status);

/* Sets the lengths of a split's sequences, numbers from 1 to T; they are owned as the split's other arrays are. False after misuse. */
bool cp_dataset_set_lengths(cp_at at, cp_dataset *set, const char *split, const int *lengths);

/* The split of that name; NULL with a message that lists the names there are. It is valid as long as the set. */
const cp_split *cp_dataset_split(const cp_dataset *set, const char *name, cp_status *status);

void cp_split_class_counts(const cp_split *split, int *counts); /* (classes): labeled inputs of each class */

/* `per_class` inputs of each class, drawn without replacement from the random stream "labels" of the seed: their row
 * numbers, per_class * classes of them, in ascending order; to be freed. The draw of n per class is part of the draw of n + 1
 * with the same seed. NULL with a message when a class has too few. */
int *cp_split_draw(const cp_split *split, int per_class, uint64_t seed, cp_status *status);

/* The same, but a class with fewer gives all of its labeled inputs; *count is the number of rows. NULL when a class has none. */
int *cp_split_draw_some(const cp_split *split, int per_class, uint64_t seed, int *count, cp_status *status);

/* Rows of the split, scaled, as a constant (count, dims...) on the tape, with their lengths. A row that the split does not have is misuse:
 * NULL. */
cp_tensor *cp_split_gather(cp_at at, const cp_split *split, const int *rows, int count);

/* The same into memory for count * set->values numbers, such as a persistent tensor's data. */
bool cp_split_read(cp_at at, const cp_split *split, const int *rows, int count, cp_real *out);

/* The rows' lengths into `lengths` (count), which is returned, for cp_tensor.lengths; NULL when all have the same length. */
const int *cp_split_lengths(const cp_split *split, const int *rows, int count, int *lengths);

/* Back to pixels: the nearest byte; values outside [-1, 1] are clamped, NaN becomes 0. */
void cp_pixels_of(const cp_real *values, size_t count, uint8_t *pixels);

#define cp_dataset_new(...) cp_dataset_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_dataset_add(...) cp_dataset_add(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_dataset_set_lengths(...) cp_dataset_set_lengths(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_split_gather(t, ...) cp_split_gather(CP_AT(t), __VA_ARGS__)
#define cp_split_read(...) cp_split_read(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
