/* Predictions as a file: one line per input, for `couplet predict` and `couplet evaluate`, which therefore write the same bytes.
 *
 *     row,class,p_round,p_band,energy,density
 *     0,band,0.0210463,0.978953683,-4.25,4.25
 *
 * The columns energy and density are there for models with energies: E(x), and -E(x), which is ln p(x) plus a constant. Numbers have nine
 * digits; names with commas or quotes are in quotes. A row that is not finite has no class. */
#pragma once

#include "core/io/json.h"

typedef struct cp_prediction_lines {
    int                n, classes;
    const double      *posterior;   /* (n, classes) */
    const double      *energy;      /* (n); NULL: the model has none */
    const char *const *class_names; /* (classes); NULL: their numbers */
    const char *const *files;       /* (n): the input's file; NULL: no such column */
    const int         *rows;        /* (n): the row in the file, -1: the file has one input only; NULL: 0 to n - 1 */
    int                top; /* so many of the most probable classes, with class_1, p_1, ... as columns; 0: all, in their order */
} cp_prediction_lines;

bool cp_predictions_csv(const cp_prediction_lines *lines, cp_bytes *out, cp_status *status);

/* An array of objects: {"file":, "row":, "class":, "p": [...], "energy":, "density":}; with top, "classes" has the names of p. */
void cp_predictions_put(const cp_prediction_lines *lines, cp_json_writer *writer, const char *key);
