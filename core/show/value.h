/* How a value of a tape is shown: its name, its numbers in one line of text, and a picture for a page. */
#pragma once

#include "core/io/json.h"
#include "core/op.h"

typedef struct cp_label {
    char s[64];
} cp_label;
cp_label cp_label_of(const char *name);                                   /* cuts a long name */
cp_label cp_value_label(const cp_tape *tape, int id);                     /* a value's name, or %3 for the one with id 3 */
cp_label cp_input_label(const cp_tape *tape, const cp_node *node, int i); /* the same for a node's input, or "constant" */

cp_label cp_number_text(cp_real value); /* with the fewest digits that read back as the value */

/* Whether a value is a leaf. Call it for all ids in turn: the other values are the results of the nodes, in order, and *node counts
 * these. */
bool cp_is_leaf(const cp_tape *tape, int id, int *node);

/* Whether cp_grad can return a gradient for this value; for a parameter it cannot while the tape is frozen. */
bool cp_has_gradient(const cp_tape *tape, const cp_tensor *value);

/* Whether both the tape and the file are given; false after cp_misuse. */
bool cp_show_check(cp_at at, const char *op, const FILE *file);

enum {
    CP_VALUES_FEW = 6,      /* listed one by one in text */
    CP_VALUES_MAX = 64,     /* listed one by one on a page */
    CP_PICTURE_CELLS = 2048 /* the largest picture */
};

/* The values in one line: one by one up to `few`, at most CP_VALUES_MAX; of more, minimum, maximum and mean of the finite ones, and
 * the number of NaNs and infinities. */
typedef struct cp_values_line {
    char s[12 * CP_VALUES_MAX];
} cp_values_line;
cp_values_line cp_values_text(const cp_tensor *t, size_t few);

/* Writes a tensor as one of
 *     {"dims": [2, 3], "values": ["0.5", "-inf", ...]}                           up to CP_VALUES_MAX values
 *     {"dims": [9, 28, 28, 16], "low": "-1", "high": "2", "mean": "0.1", ...}    more values; "nan" and "infinite" count those
 *     {"dims": [2, 3], "released": true}                                         the values were released
 * The second form has a heat map when `cells` is not 0: "tiles", "rows", "columns", "cells" (tile by tile, row by row, one byte each,
 * in base64: 0 NaN, 1 and 255 the infinities, otherwise the value relative to "scale", with 128 for 0) and "part", the part of the
 * tensor shown. The first form has "layout" unless its values are a list of matrices: "windows" of a kernel (kh, kw, in, out), or
 * "images" (..., H, W, C). */
void cp_picture_put(cp_json_writer *writer, const char *key, const cp_tensor *t, size_t cells);
