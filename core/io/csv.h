/* CSV: rows of text, with a separator between the cells (RFC 4180, and what spreadsheets write).
 *
 *     cp_csv csv;
 *     if (cp_csv_read("cells.csv", &csv, &status)) {
 *         int label = cp_csv_column(&csv, "label");
 *         for (size_t row = 1; row < csv.rows; row++) puts(cp_csv_cell(&csv, row, (size_t)label));
 *     }
 *     cp_csv_free(&csv);
 *
 * The separator is a comma, a semicolon or a tab: the most frequent in the first line. Cells in double quotes may contain separators,
 * newlines, and quotes written twice; blanks around other cells are dropped. Lines end in LF or CRLF; blank lines are skipped. */
#pragma once

#include "core/error.h"
#include "core/io/bytes.h"

typedef struct cp_csv {
    size_t       rows, columns; /* every row has the same number of cells, at least 1 */
    const char **cells;         /* (rows, columns) */
    size_t      *lines;         /* (rows): where each row begins, from 1 */
    char        *text;          /* what the cells point into */
} cp_csv;

/* False with the line, and a csv of {0}, for text that is not CSV: zeros, an open quote, a row of another length than the first, nothing
 * at all. `name` is what messages call it. */
bool cp_csv_parse(const void *bytes, size_t size, const char *name, cp_csv *csv, cp_status *status);
bool cp_csv_read(const char *path, cp_csv *csv, cp_status *status);
void cp_csv_free(cp_csv *csv); /* resets it to {0} */

static inline const char *cp_csv_cell(const cp_csv *csv, size_t row, size_t column) {
    return csv->cells[row * csv->columns + column];
}
int cp_csv_column(const cp_csv *csv, const char *name); /* of the first row, in upper or lower case; -1: there is none */
