/* A tensor for those who look at it: in a line of text, and as a picture for a page. */
#ifndef CP_TAPE_PICTURE_H
#define CP_TAPE_PICTURE_H

#include "core/io/json.h"
#include "core/tensor.h"

enum {
    CP_VALUES_FEW = 6,      /* told one by one in a listing */
    CP_VALUES_MAX = 64,     /* on a page */
    CP_PICTURE_CELLS = 2048 /* the most that one picture may have */
};

/* The values in a line: one by one up to `few`, at most CP_VALUES_MAX; of more, the lowest, the highest and the mean of the finite
 * ones, and how many are not. */
typedef struct cp_values_line {
    char s[12 * CP_VALUES_MAX];
} cp_values_line;
cp_values_line cp_values_text(const cp_tensor *t, size_t few);

/* Puts one of
 *     {"dims": [2, 3], "values": ["0.5", "-inf", ...]}                           of at most CP_VALUES_MAX, all of them
 *     {"dims": [9, 28, 28, 16], "low": "-1", "high": "2", "mean": "0.1", ...}    of more; "nan" and "infinite" count them
 *     {"dims": [2, 3], "gone": true}                                             of one whose values were given back
 * The second has, when `cells` allow for some, "tiles", "rows", "columns", "cells" (tile by tile, row by row, a byte each, in
 * base64: 0 NaN, 1 and 255 the infinities, between them the value relative to "scale", with 128 for 0) and "part", which tells what
 * part of the tensor they are. The first has "layout" when its values are not matrices one after the other: "windows" of a kernel (kh,
 * kw, in, out), or "images" (..., H, W, C). */
void cp_picture_put(cp_json_writer *writer, const char *key, const cp_tensor *t, size_t cells);

#endif
