/* Predictions as a file: one line per input, for `couplet predict` and `couplet evaluate`, which therefore write the same bytes.
 *
 *     row,class,p_round,p_band,energy,density
 *     0,band,0.0210463,0.978953683,-4.25,4.25
 *
 * The columns energy and density are there for models with energies: E(x), and -E(x), which is ln p(x) plus a constant. Numbers have nine
 * digits; names with commas or quotes are in quotes. A row that is not finite has no class. */
#pragma once

#include "core/io/json.h"
#include "models/model.h"

/* A class as text: its name, or its number without names; "" for -1. */
cp_text cp_class_text(const char *const *class_names, const char *prefix, int c);

/* The most probable class after that one, or of all for -1; of equal ones the lowest. -1 when a posterior is not finite. */
int cp_prediction_next(const double *posterior, int classes, int after);

/* The rows of an array, or pictures. */
typedef struct cp_prediction_lines {
    int           n;
    const double *posterior; /* (n, classes) */
    const double *energy;    /* (n); NULL: the model has none */
    const char   *file;      /* of the array: a column if there are several arrays */
    char *const  *files;     /* (n): the pictures' files; NULL: an array, whose rows have numbers */
} cp_prediction_lines;

typedef struct cp_prediction_table {
    const cp_prediction_lines *lines; /* (count) */
    int                        count, classes;
    const char *const         *class_names; /* (classes); NULL: their numbers */
    int                        top; /* number of most probable classes, with class_1, p_1, ... as columns; 0: all, in their order */
    bool                       bare; /* CSV as MedMNIST's evaluator reads it: the row and the posterior alone, without a header */
} cp_prediction_table;

bool cp_predictions_save(const cp_prediction_table *table, const char *path, cp_status *status); /* as CSV; NULL: to stdout */

/* An array of objects: {"file":, "row":, "class":, "p": [...], "energy":, "density":}; with top, "classes" has the names of p. */
void cp_predictions_put(const cp_prediction_table *table, cp_json_writer *writer, const char *key);
