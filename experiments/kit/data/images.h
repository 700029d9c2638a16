/* Data sets from files: images in the layout of MedMNIST's files, tables, sequences; and the built-in set "phantom".
 *
 *     cp_images *images = cp_images_load("pneumoniamnist.npz", &status);      // or "phantom"
 *     const cp_split *train = &images->set->splits[CP_IMAGES_TRAIN];
 *     ...
 *     cp_images_free(images);
 *
 * A FILE is an npz with the arrays {train,val,test}_images and {train,val,test}_labels:
 *
 *   images   {split}_images (N, H, W), gray, or (N, H, W, C) with C from 1 to 4; any size, the same in all splits; integers or floats
 *   labels   (N) or (N, 1), whole numbers from 0, or text; every class has training images. -1, or an empty text: a training image
 *            without a label; such images may also be in unlabeled_images, without labels, and become the last of the training split
 *   patients (N) whole numbers, or text, {split}_patients or {split}_subject: optional, kept as groups; images of one patient share a number. An
 *            empty text is a patient who is not known: each such image has a number below 0 of its own
 *   lengths  (N) whole numbers, {split}_length: optional, how many steps of each sequence count; what is behind them is ignored
 *   class_names (classes) text: optional
 *   made     optional, bytes: a JSON object that describes how the set was made, such as by `couplet brats`; "class_names" in it
 *            are the classes' names
 *
 * PIXELS become numbers in [-1, 1]: a pixel x becomes 2 (x - low) / (high - low) - 1. Bytes (uint8) stay bytes in memory, and
 * low = 0, high = 255: x / 127.5 - 1, the convention of dataset.h. For other types low and high follow from the training
 * split: the first of [-1, 1], [0, 1] and [0, 255] that holds its pixels (the first only when some are negative), or else its
 * own range. They are scaled once, into floats, and pixels of the other splits outside the range are clamped.
 *
 * TABLES AND SEQUENCES are in the arrays {split}_x instead of {split}_images: (N, D), a table of D features, or (N, T, D), sequences of T
 * steps. Each feature is standardized: its mean over the training split (and over the steps within each sequence's length) is
 * subtracted, and it is divided by its standard deviation there. */
#pragma once

#include "core/io/json.h"
#include "experiments/kit/data/dataset.h"
#include "experiments/kit/data/names.h"
#include "models/model.h"

enum { CP_IMAGES_TRAIN, CP_IMAGES_VAL, CP_IMAGES_TEST, CP_IMAGES_SPLITS };
extern const char *const cp_images_splits[CP_IMAGES_SPLITS + 1]; /* "train", "val", "test"; "all", see cp_images_rows */

enum { CP_IMAGES_CHANNELS = 4, CP_IMAGES_CLASSES = 1000 }; /* maximum */

/* Fields are for reading. */
typedef struct cp_images {
    cp_dataset *set; /* its splits are cp_images_splits in that order, its inputs (H, W, C) of bytes or float32; (D), (T, D) */
    int         height, width, channels; /* 0 of tables and sequences */
    int         classes;
    double     *mean, *sd;                           /* (D), of the features of tables and sequences; NULL of images */
    const char *const *class_names;                  /* (classes); NULL when they are not known */
    int               *groups[CP_IMAGES_SPLITS + 1]; /* (count of the split): the patients; NULL when the file has none */
    char               name[64];                     /* "pneumoniamnist", "phantom", or the file's name without its ending */
    char               md5[33];                      /* of the file, in hexadecimal; "" of a built-in set */
    bool               official;                     /* the md5 is that of a MedMNIST file */
    bool               superseded;                   /* of one that MedMNIST has replaced since (before 2024) */
    cp_dtype           stored;                       /* type of the pixels in the file */
    double             low, high;                    /* the pixels that become -1 and 1: see the top */
    size_t             clamped;                      /* pixels of val and test that lay beyond them */
    cp_json           *made;                         /* how the set was made; NULL when the file does not say */
    cp_names           classes_named;                /* class_names, when the file has them */
    cp_names           patients_named;               /* the patients' names by their numbers in groups, when they are text */
    cp_status          warning;                      /* of cp_preprocessing_check, when the images are for a model */
} cp_images;

/* A path, or "phantom" (a file of that name is "./phantom"). NULL with a message that names file and array. */
cp_images *cp_images_load(const char *file_or_name, cp_status *status);
void       cp_images_free(cp_images *images); /* NULL is allowed */

/* The same, but splits and labels may be missing: a split without images then has count 0, one without labels labels NULL. */
cp_images *cp_images_load_any(const char *file_or_name, cp_status *status);

/* Inputs are taken to lie between minus this and this: 1 of images; 4 standard deviations of tables and sequences, which may lie beyond. */
double cp_images_range(const cp_images *images);
double cp_shape_range(cp_shape input); /* the same, by the shape of an input */

/* The same for a trained model, which must outlive the images: its preprocessing, not that of the file, scales the pixels; any split may be
 * missing, and labels too; classes that the file does not name have the model's names. Images of another range are refused, or there is a
 * warning. A model that knows no preprocessing takes that of the file's first split. */
cp_images *cp_images_load_for(const char *file_or_name, const cp_model *model, cp_status *status);

/* What a column says of each row of a split (or of all, CP_IMAGES_SPLITS), as numbers of `names`, which is sorted: the arrays
 * {split}_group_COLUMN, in which `couplet import` keeps columns, or {split}_COLUMN, text or whole numbers. NULL with a message. */
int *cp_images_column(const cp_images *images, const char *file, int split, const char *column, cp_names *names, cp_status *status);

/* A split, or for CP_IMAGES_SPLITS the added split "all" with the images of all others; NULL with a message when it has no images or, if
 * labels are needed, an image without. */
const cp_split *cp_images_rows(cp_images *images, int split, bool labeled, cp_status *status);

cp_about cp_images_about(const cp_images *images); /* for the model that is trained on them */

/* How pixels become numbers, as a sentence's end: "uint8, x / 127.5 - 1". */
cp_text     cp_images_scaling(const cp_images *images);
bool        cp_images_as_medmnist(const cp_images *images); /* the name says that it is one of MedMNIST's sets */
const char *cp_images_origin(const cp_images *images);      /* "the official file", "not the official file", "your own file", ... */

/* Writes the set as such a file: bytes as they are, other pixels as float32 with the values that they had. */
bool cp_images_write(const cp_images *images, const char *path, cp_status *status);

/* ---- phantom: images of stained cells, drawn by a formula ----
 *
 * 28 x 28 x 3 bytes, four classes by the shape of the nucleus: one round lobe, two lobes, a chain of small lobes, a bent band. Place,
 * size, direction, stain, focus, light, noise, neighbors and debris vary from image to image, and the shapes overlap.
 * The same images on every machine and in every precision. */
enum { CP_PHANTOM_SIZE = 28, CP_PHANTOM_CHANNELS = 3, CP_PHANTOM_CLASSES = 4 };
extern const int         cp_phantom_counts[CP_IMAGES_SPLITS];
extern const char *const cp_phantom_class_names[CP_PHANTOM_CLASSES];

/* The images of a split into pixels (count, 28, 28, 3) and labels (count). Image i is the same whatever the count. */
void cp_phantom_draw(const char *split, int count, uint8_t *pixels, int *labels);
