/* The CSV reader: reads the input, and what is written from its cells, which must give the same cells. */
#include "core/io/csv.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static void write_cells(const cp_csv *csv, cp_bytes *out) {
    for (size_t i = 0; i < csv->rows * csv->columns; i++) {
        cp_bytes_text(out, "\"");
        for (const char *c = csv->cells[i]; *c; c++) cp_bytes_append(out, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
        cp_bytes_text(out, (i + 1) % csv->columns ? "\"," : "\"\n");
    }
    if (out->failed) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cp_status status = {0};
    cp_csv    csv, again;
    cp_bytes  text = {0};
    bool      done = cp_csv_parse(data, size, "fuzz", &csv, &status);
    if (done != !status.message[0] || done != (csv.cells != NULL) || (done && (csv.rows < 1 || csv.columns < 1))) __builtin_trap();
    if (!done) return 0;
    for (size_t row = 1; row < csv.rows; row++)
        if (csv.lines[row] <= csv.lines[row - 1]) __builtin_trap();
    write_cells(&csv, &text);
    if (!cp_csv_parse(text.data, text.size, "written", &again, &status)) __builtin_trap();
    if (again.rows != csv.rows || again.columns != csv.columns) __builtin_trap();
    for (size_t i = 0; i < csv.rows * csv.columns; i++)
        if (strcmp(csv.cells[i], again.cells[i]) != 0) __builtin_trap();
    cp_bytes_free(&text);
    cp_csv_free(&csv), cp_csv_free(&again);
    return 0;
}
