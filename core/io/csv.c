/* CSV: the text is cut into cells in place. */
#include "core/io/csv.h"
#include "core/io/file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct reader {
    cp_csv     *csv;
    char       *at, *end; /* of what is left; *end is a newline */
    char        separator;
    size_t      line, room; /* room: rows for which there is memory */
    const char *name;
    cp_status  *status;
} reader;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static char find_separator(const char *text) {
    static const char marks[] = ",;\t";
    size_t            counts[3] = {0}, best = 0;
    bool              quoted = false;
    for (; *text != '\n' || quoted; text++) {
        const char *mark = *text ? strchr(marks, *text) : NULL;
        if (!*text) break;
        quoted ^= *text == '"';
        if (mark && !quoted) counts[mark - marks]++;
    }
    for (size_t i = 1; i < 3; i++)
        if (counts[i] > counts[best]) best = i;
    return marks[best];
}

/* Cuts out the cell in quotes that begins at r->at: without the quotes, and what is written twice once. */
static bool take_quoted(reader *r, const char **cell) {
    size_t line = r->line;
    char  *to = r->at;
    *cell = to;
    for (r->at++; r->at < r->end; r->at++) {
        if (*r->at == '"' && *++r->at != '"') {
            while (is_blank(*r->at) && *r->at != r->separator) r->at++;
            if (*r->at != r->separator && *r->at != '\n')
                return cp_damaged(r->status, "%.300s, line %zu: text follows the closing quote of a cell", r->name, r->line);
            *to = '\0';
            return true;
        }
        r->line += *r->at == '\n';
        *to++ = *r->at;
    }
    return cp_damaged(r->status, "%.300s, line %zu: a cell begins with a quote that is never closed", r->name, line);
}

/* Cuts out the next cell; `*last` is set if it ends its row. */
static bool take_cell(reader *r, const char **cell, bool *last) {
    while (is_blank(*r->at) && *r->at != r->separator) r->at++;
    char *stop = r->at;
    if (*r->at == '"') {
        if (!take_quoted(r, cell)) return false;
        stop = NULL;
    } else {
        *cell = r->at;
        while (*r->at != r->separator && *r->at != '\n') r->at++;
        stop = r->at;
        while (stop > *cell && is_blank(stop[-1])) stop--;
    }
    *last = *r->at++ == '\n';
    if (stop) *stop = '\0';
    return true;
}

/* Memory for one row more. The number of columns is that of the first row, once it is known. */
static bool make_room(reader *r) {
    cp_csv *csv = r->csv;
    size_t  cells, room = 2 * r->room + 16;
    if (csv->rows < r->room) return true;
    if (cp_size_mul(room, csv->columns * sizeof *csv->cells, &cells)) {
        const char **more = realloc(csv->cells, cells);
        size_t      *lines = realloc(csv->lines, room * sizeof *lines);
        if (more) csv->cells = more;
        if (lines) csv->lines = lines;
        r->room = room;
        if (more && lines) return true;
    }
    return cp_fail(r->status, "%.300s: not enough memory for its rows", r->name);
}

static bool take_row(reader *r) {
    cp_csv *csv = r->csv;
    size_t  line = r->line, count = 0;
    bool    last = false;
    if (csv->rows && !make_room(r)) return false;
    while (!last) {
        const char *cell;
        if (!take_cell(r, &cell, &last)) return false;
        if (csv->rows == 0) { /* the first row sets the number of columns */
            const char **more = realloc(csv->cells, (count + 1) * sizeof *more);
            if (!more) return cp_fail(r->status, "%.300s: not enough memory for its columns", r->name);
            csv->cells = more;
            csv->cells[count++] = cell;
            continue;
        }
        if (count < csv->columns) csv->cells[csv->rows * csv->columns + count] = cell;
        count++;
    }
    if (csv->rows == 0) {
        csv->columns = count;
        if (!make_room(r)) return false;
    }
    if (count != csv->columns)
        return cp_damaged(r->status, "%.300s, line %zu: %zu cells were found, %zu were expected as in the first row", r->name, line,
                          count, csv->columns);
    csv->lines[csv->rows++] = line;
    r->line++;
    return true;
}

static bool skip_blank_line(reader *r) {
    const char *c = r->at;
    while (is_blank(*c) && *c != r->separator) c++;
    if (*c != '\n') return false;
    r->at += c + 1 - r->at;
    r->line++;
    return true;
}

bool cp_csv_parse(const void *bytes, size_t size, const char *name, cp_csv *csv, cp_status *status) {
    cp_status_begin(status);
    reader r = {.csv = csv, .line = 1, .name = name, .status = status};
    *csv = (cp_csv){0};
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) bytes = (const char *)bytes + 3, size -= 3; /* as some programs begin */
    if (size && memchr(bytes, '\0', size)) return cp_damaged(status, "%.300s is not a text file: it has zeros", name);
    csv->text = malloc(size + 2);
    if (!csv->text) return cp_fail(status, "%.300s: not enough memory for %zu bytes", name, size);
    if (size) memcpy(csv->text, bytes, size);
    strcpy(csv->text + size, "\n");
    r.at = csv->text;
    r.end = csv->text + size;
    while (r.at < r.end && skip_blank_line(&r)) {}
    r.separator = find_separator(r.at);
    bool ok = true;
    while (ok && r.at < r.end) ok = skip_blank_line(&r) || take_row(&r);
    ok = ok && (csv->rows || cp_damaged(status, "%.300s: the file is empty; rows of cells were expected", name));
    if (!ok) cp_csv_free(csv);
    return ok;
}

bool cp_csv_read(const char *path, cp_csv *csv, cp_status *status) {
    cp_bytes file;
    *csv = (cp_csv){0};
    if (!cp_file_read(path, PTRDIFF_MAX, &file, status)) return false;
    bool ok = cp_csv_parse(file.data, file.size, path, csv, status);
    cp_bytes_free(&file);
    return ok;
}

void cp_csv_free(cp_csv *csv) {
    free(csv->cells);
    free(csv->lines);
    free(csv->text);
    *csv = (cp_csv){0};
}

int cp_csv_column(const cp_csv *csv, const char *name) {
    for (size_t i = 0; i < csv->columns; i++)
        if (strcasecmp(cp_csv_cell(csv, 0, i), name) == 0) return (int)i;
    return -1;
}
