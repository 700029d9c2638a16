/* Text tables. */
#include "experiments/kit/report/table.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 160 };

struct cp_table {
    int columns;
    int count, room; /* cells, the titles first */
    char (*cell)[CELL];
};

static char *next_cell(cp_table *t) {
    if (t->count == t->room) {
        int   room = t->room ? 2 * t->room : 32;
        void *more = realloc(t->cell, (size_t)room * sizeof *t->cell);
        if (!more) return NULL;
        t->cell = more;
        t->room = room;
    }
    char *cell = t->cell[t->count++];
    *cell = '\0';
    return cell;
}

cp_table *cp_table_new(int columns, ...) {
    cp_table *t = calloc(1, sizeof *t);
    va_list   titles;
    if (!t) return NULL;
    t->columns = columns;
    va_start(titles, columns);
    for (int i = 0; i < columns; i++) cp_table_text(t, "%s", va_arg(titles, const char *));
    va_end(titles);
    return t;
}

void cp_table_free(cp_table *t) {
    if (t) free(t->cell);
    free(t);
}

void cp_table_column(cp_table *t, const char *title) {
    cp_table_text(t, "%s", title);
    if (t) t->columns++;
}

void cp_table_text(cp_table *t, const char *format, ...) {
    char   *cell = t ? next_cell(t) : NULL;
    va_list values;
    if (!cell) return;
    va_start(values, format);
    vsnprintf(cell, CELL, format, values);
    va_end(values);
    cp_text_printable(cell);
}

void cp_table_number(cp_table *t, double value, int decimals) {
    if (isfinite(value))
        cp_table_text(t, "%.*f", decimals, value);
    else
        cp_table_text(t, "-");
}

void cp_table_interval(cp_table *t, double value, double low, double high, int decimals) {
    if (isfinite(value) && isfinite(low) && isfinite(high))
        cp_table_text(t, "%.*f (%.*f to %.*f)", decimals, value, decimals, low, decimals, high);
    else
        cp_table_number(t, value, decimals);
}

void cp_table_mean_sd(cp_table *t, double mean, double sd, int decimals) {
    if (isfinite(mean) && isfinite(sd))
        cp_table_text(t, "%.*f (%.*f)", decimals, mean, decimals, sd);
    else
        cp_table_number(t, mean, decimals);
}

/* Characters, not bytes: the bytes of UTF-8 that do not continue one. */
static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

cp_table_look *cp_table_looks(const cp_table *t) {
    cp_table_look *look = t && t->columns > 0 ? calloc((size_t)t->columns, sizeof *look) : NULL;
    for (int c = 0; look && c < t->columns; c++) {
        bool words = false, numbers = false;
        for (int i = c; i < t->count; i += t->columns) {
            const char *cell = t->cell[i];
            int         width = width_of(cell);
            look[c].width = width > look[c].width ? width : look[c].width;
            if (i == c) continue; /* the title */
            numbers = numbers || isdigit((unsigned char)cell[*cell == '+' || *cell == '-']);
            words = words || (*cell && strcmp(cell, "-") != 0);
        }
        look[c].words = c == 0 || (words && !numbers);
    }
    return look;
}

static void print_cell(FILE *file, const char *text, int pad, bool left, bool last) {
    fprintf(file, "%*s%s%*s", left ? 0 : pad, "", text, left && !last ? pad : 0, "");
}

static void print_rule(FILE *file, int width) {
    for (int i = 0; i < width; i++) fputc('-', file);
}

void cp_table_print(const cp_table *t, FILE *file) {
    cp_table_look *look = cp_table_looks(t);
    for (int i = 0; look && i < t->count; i++) {
        int  column = i % t->columns;
        bool last = column == t->columns - 1 || i == t->count - 1;
        fputs(column ? "  " : "", file);
        print_cell(file, t->cell[i], look[column].width - width_of(t->cell[i]), look[column].words, last);
        if (last) fputc('\n', file);
        if (i == t->columns - 1) {
            for (int c = 0; c < t->columns; c++) {
                fputs(c ? "  " : "", file);
                print_rule(file, look[c].width);
            }
            fputc('\n', file);
        }
    }
    free(look);
}

void cp_csv_text(FILE *file, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, file);
    fputc('"', file);
}

static void print_latex_cell(FILE *file, const char *text) {
    for (; *text; text++) {
        if (strchr("&%$#_{}", *text)) fputc('\\', file);
        if (*text == '\\')
            fputs("\\textbackslash{}", file);
        else if (*text == '~' || *text == '^')
            fprintf(file, "\\%c{}", *text);
        else
            fputc(*text, file);
    }
}

void cp_table_latex(const cp_table *t, FILE *file) {
    cp_table_look *look = cp_table_looks(t);
    if (!look) return;
    fputs("% needs \\usepackage{booktabs}\n\\begin{tabular}{", file);
    for (int c = 0; c < t->columns; c++) fputc(look[c].words ? 'l' : 'r', file);
    fputs("}\n\\toprule\n", file);
    for (int i = 0; i < t->count; i++) {
        bool last = i % t->columns == t->columns - 1 || i == t->count - 1;
        print_latex_cell(file, t->cell[i]);
        fputs(last ? " \\\\\n" : " & ", file);
        if (i == t->columns - 1) fputs("\\midrule\n", file);
    }
    fputs("\\bottomrule\n\\end{tabular}\n", file);
    free(look);
}

void cp_table_put(const cp_table *t, cp_json_writer *w, const char *key) {
    cp_json_put_object(w, key);
    cp_json_put_array(w, "columns");
    for (int i = 0; t && i < t->columns && i < t->count; i++) cp_json_put_string(w, NULL, t->cell[i]);
    cp_json_put_end(w);
    cp_json_put_array(w, "rows");
    for (int row = 1; t && row * t->columns < t->count; row++) {
        cp_json_put_array(w, NULL);
        for (int i = row * t->columns; i < (row + 1) * t->columns && i < t->count; i++) cp_json_put_string(w, NULL, t->cell[i]);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
    cp_json_put_end(w);
}

void cp_table_conclude(cp_table *table, cp_json_writer *w, const char *key, FILE *file) {
    if (w) cp_table_put(table, w, key);
    if (file) cp_table_print(table, file);
    cp_table_free(table);
}

void cp_table_read(cp_table *t, const cp_json *json) {
    const cp_json *columns = cp_json_get(json, "columns"), *rows = cp_json_get(json, "rows");
    if (!t || !columns) return;
    t->columns = (int)columns->count;
    for (const cp_json *title = columns->first; title; title = title->next) cp_table_text(t, "%s", cp_json_string(title, ""));
    for (const cp_json *row = rows ? rows->first : NULL; row; row = row->next)
        for (int i = 0; i < t->columns; i++) cp_table_text(t, "%s", cp_json_string(cp_json_at(row, (size_t)i), ""));
}
