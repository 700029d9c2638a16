/* What the parts of `couplet import` share: the set that is being made. */
#pragma once

#include "core/io/csv.h"
#include "core/io/npz.h"
#include "experiments/kit/data/images.h"
#include "experiments/kit/data/names.h"

typedef enum cp_import_fit { CP_IMPORT_CROP, CP_IMPORT_PAD, CP_IMPORT_STRETCH } cp_import_fit;
typedef enum cp_import_color { CP_IMPORT_AUTO, CP_IMPORT_GRAY, CP_IMPORT_RGB } cp_import_color;

typedef struct cp_import_config {
    const char     *source;
    const char     *label; /* the column of a CSV file with the classes */
    int             size;
    cp_import_fit   fit;
    cp_import_color color;
    int             shares[CP_IMAGES_SPLITS];
    uint64_t        seed;
} cp_import_config;

/* An image or a row of a table. */
typedef struct cp_import_row {
    char       *path;    /* of the picture; NULL in a table */
    const char *file;    /* the same as the source names it */
    const char *patient; /* NULL or "": not known */
    size_t      row;     /* of the CSV file */
    int         label;   /* -1: not known */
    int         split;   /* -1: not chosen yet */
    int         group;   /* rows of one group are of one patient or the same image: they go to the same split */
} cp_import_row;

typedef struct cp_import {
    cp_import_config config;
    cp_import_row   *rows;
    int              count;
    cp_names         classes, patients; /* patients: that an npz file has as numbers */
    cp_csv           csv;               /* or {0} */
    cp_images       *images;            /* of an npz file; NULL: another source */
    int             *kept;              /* numbers of its columns that are kept as groups */
    int              kept_count;
    int             *features; /* numbers of the columns of a table; NULL: images */
    int              feature_count, missing;
    bool             has_patients;
    int              left_out; /* files that are no pictures */
    int              channels; /* of the images */
    size_t           width;    /* bytes of a row of inputs */
    cp_dtype         dtype;
    unsigned char   *inputs;             /* (count, width) */
    int              copies, mislabeled; /* images that are also elsewhere in the set, and those of them with another class */
} cp_import;

bool cp_import_read(cp_import *import, cp_status *status); /* the inputs of the rows */
bool cp_import_split(cp_import *import, cp_status *status);

/* All arrays of the file; errors wait for the writer's commit, but for a lack of memory. */
bool cp_import_add_arrays(const cp_import *import, cp_npz_writer *writer, cp_status *status);
int  cp_import_count(const cp_import *import, int split, int label); /* label: of a class, -1 of the unlabeled rows, -2 of all */
