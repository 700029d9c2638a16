/* Contact sheets: images of one shape in rows, as a PNG file.
 *
 *     cp_sheet *sheet = cp_sheet_new(classes, 16, CP_SHAPE(28, 28, 3));
 *     cp_sheet_put(sheet, 0, 0, pixels);                                  // (28, 28, 3), numbers in [-1, 1]
 *     cp_sheet_name_row(sheet, 0, "class %d", 0);
 *     cp_sheet_save(sheet, cp_run_path(run, "samples").s, "Samples.", &status);
 *     cp_sheet_free(sheet);
 *
 * Of two channels the first is shown, of four the first three. */
#pragma once

#include "experiments/kit/data/images.h"

typedef struct cp_sheet cp_sheet;

cp_sheet *cp_sheet_new(int rows, int columns, cp_shape shape);                       /* (H, W, C); NULL: not enough memory */
void      cp_sheet_put(cp_sheet *sheet, int row, int column, const cp_real *values); /* tiles without an image stay gray */
void      cp_sheet_name_row(cp_sheet *sheet, int row, const char *format, ...) __attribute__((format(printf, 3, 4)));
void      cp_sheet_name_column(cp_sheet *sheet, int column, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool cp_sheet_save(const cp_sheet *sheet, const char *path, const char *caption, cp_status *status); /* path.png, for the report */
void cp_sheet_free(cp_sheet *sheet);                                                                 /* NULL is allowed */

/* A sheet of a split as a PNG file, class by class from the top, with their names. */
typedef struct cp_sheet_plan {
    int  rows, columns; /* for each class */
    bool spread; /* images from all over the split, of as many patients as possible, and an empty row between classes; else the
                           first ones */
} cp_sheet_plan;
bool cp_images_sheet(const cp_images *images, int split, const cp_sheet_plan *plan, const char *path, cp_status *status);
