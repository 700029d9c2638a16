/* Text tables: columns as wide as their widest cell; the first and those of words to the left, numbers to the right. Cells may
 * hold text from outside: control characters, which could drive a terminal, become '?'.
 *
 *     cp_table *t = cp_table_new(3, "method", "ours", "paper");
 *     cp_table_text(t, "hybrid");
 *     cp_table_mean_sd(t, 97.68, 0.61, 2);
 *     cp_table_text(t, "%.2f (%.2f)", 97.54, 0.35);
 *     cp_table_print(t, stdout);
 *     cp_table_free(t);
 *
 *     method            ours         paper
 *     ------  --------------  ------------
 *     hybrid    97.68 (0.61)  97.54 (0.35)
 *
 * When memory runs out, the table is empty; no call needs a check. */
#pragma once

#include "core/io/json.h"

#include <stdio.h>

typedef struct cp_table cp_table;

cp_table *cp_table_new(int columns, ...); /* the titles, const char * each */
void      cp_table_free(cp_table *table); /* NULL is allowed */

void cp_table_column(cp_table *table, const char *title); /* one more, before the first row */

/* The next cell, row by row. */
void cp_table_text(cp_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cp_table_mean_sd(cp_table *table, double mean, double sd, int decimals); /* "97.68 (0.61)", "97.68" without an sd, "-" */
void cp_table_interval(cp_table *table, double value, double low, double high, int decimals); /* "97.7 (96.1 to 98.9)" */
void cp_table_number(cp_table *table, double value, int decimals);                            /* not finite: "-" */

/* The layout of each column; to be freed. NULL: out of memory, or no table. */
typedef struct cp_table_look {
    int  width; /* of the widest cell, in characters */
    bool words; /* left-aligned: no cell begins with a number; always true for the first column */
} cp_table_look;
cp_table_look *cp_table_looks(const cp_table *table);

void cp_table_print(const cp_table *table, FILE *file);

/* A tabular with booktabs' rules. Rows with the same cells in the first columns are a group: these are written once, and rules or gaps
 * separate groups. The best number of a group is bold. */
typedef struct cp_table_groups {
    int        columns; /* that groups have in common; 0: all rows are one group */
    const int *better;  /* for each column 1: larger is better; -1: smaller is; 0: neither. NULL: nothing is bold */
} cp_table_groups;
void cp_table_latex(const cp_table *table, cp_table_groups groups, FILE *file);

/* Writes a text as a CSV field (RFC 4180), in quotes if it has a comma, a quote or a newline. */
void cp_csv_text(FILE *file, const char *text);

/* {"columns": [...], "rows": [[...], ...]}, all of them texts, for result.json, from which a report shows the table. */
void cp_table_put(const cp_table *table, cp_json_writer *writer, const char *key);

void cp_table_conclude(cp_table *table, cp_json_writer *writer, const char *key,
                       FILE *file); /* the same, printed (file may be NULL) and freed */

void cp_table_read(cp_table *table, const cp_json *json); /* what cp_table_put wrote, into a table of 0 columns */
