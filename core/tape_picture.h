/* A tensor as a picture for a page: its numbers while they are few, else cells to color. */
#ifndef CP_TAPE_PICTURE_H
#define CP_TAPE_PICTURE_H

#include "core/io/json.h"
#include "core/tensor.h"

enum { CP_PICTURE_CELLS = 2048 }; /* the most that one picture may have */

/* Puts one of
 *     {"dims": [2, 3], "values": ["0.5", "-inf", ...]}                           of at most 64 values, all of them
 *     {"dims": [9, 28, 28, 16], "low": "-1", "high": "2", "mean": "0.1", ...}    of more; "nan" and "infinite" count them
 *     {"dims": [2, 3], "gone": true}                                             of one whose values were given back
 * The second has, when `cells` allow for some, "tiles", "rows", "columns", "cells" (tile by tile, row by row, a byte each, in
 * base64: 0 NaN, 1 and 255 the infinities, between them the value relative to "scale", with 128 for 0) and "part", which tells what
 * part of the tensor they are. */
void cp_picture_put(cp_json_writer *writer, const char *key, const cp_tensor *t, size_t cells);

#endif
