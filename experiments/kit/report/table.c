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

/* ---- LaTeX ---- */

static void print_latex_text(FILE *file, const char *text) {
    if ((*text == '-' || *text == '+') && isdigit((unsigned char)text[1])) fprintf(file, "$%c$", *text++);
    if (strcmp(text, "-") == 0) text = "--";
    for (; *text; text++) {
        if (strchr("&%$#_{}", *text)) fputc('\\', file);
        if (*text == '\\')
            fputs("\\textbackslash{}", file);
        else if (*text == '~' || *text == '^')
            fprintf(file, "\\%c{}", *text);
        else if (strchr("<>|", *text))
            fprintf(file, "$%c$", *text);
        else
            fputc(*text, file);
    }
}

/* "52.87 (5.43), 5 of 10". */
typedef struct parts {
    char value[CELL], deviation[CELL], remark[CELL]; /* "52.87", "(5.43)", "5 of 10" */
} parts;

static parts split(const char *cell) {
    const char *open = strstr(cell, " ("), *close = open ? strchr(open, ')') : NULL, *comma = strstr(close ? close : cell, ", ");
    const char *end = close ? open : comma ? comma : cell + strlen(cell);
    parts       p = {"", "", ""};
    snprintf(p.value, CELL, "%.*s", (int)(end - cell), cell);
    if (close) snprintf(p.deviation, CELL, "%.*s", (int)(close - open), open + 1);
    if (comma) snprintf(p.remark, CELL, "%s", comma + 2);
    return p;
}

static const char *cell_at(const cp_table *t, int row, int column) { return t->cell[row * t->columns + column]; }

/* How many of the first cells are the same in both rows; 0 for the titles. */
static int count_same(const cp_table *t, int groups, int a, int b) {
    int same = 0;
    while (a > 0 && b > 0 && same < groups && strcmp(cell_at(t, a, same), cell_at(t, b, same)) == 0) same++;
    return same;
}

/* What stands behind the numbers of a row, such as how many runs there are; how often. file may be NULL. */
static int print_remarks(const cp_table *t, const cp_table_look *look, int row, FILE *file) {
    int count = 0;
    for (int c = 0; c < t->columns; c++) {
        parts p = split(cell_at(t, row, c));
        if (look[c].words || !*p.remark) continue;
        if (file) fputs(", ", file), print_latex_text(file, p.remark);
        count++;
    }
    return count;
}

/* Numbers of a row with a remark, such as that runs are missing, are not compared. */
static bool read_value(const cp_table *t, const cp_table_look *look, int row, int column, double *value) {
    char *end;
    if (print_remarks(t, look, row, NULL)) return false;
    *value = strtod(cell_at(t, row, column), &end);
    return end != cell_at(t, row, column) && isfinite(*value);
}

/* Whether no row of the same group has a better number, and another has one at all. */
static bool is_best(const cp_table *t, cp_table_groups g, const cp_table_look *look, int row, int column) {
    double mine, other;
    bool   rivals = false;
    if (!g.better || !g.better[column] || !read_value(t, look, row, column, &mine)) return false;
    for (int r = 1; (r + 1) * t->columns <= t->count; r++) {
        if (r == row || count_same(t, g.columns, r, row) < g.columns || !read_value(t, look, r, column, &other)) continue;
        if (g.better[column] * (other - mine) > 0) return false;
        rivals = true;
    }
    return rivals;
}

/* A number in two columns, so that numbers and what stands in parentheses are aligned. */
static void print_latex_number(const cp_table *t, cp_table_groups g, const cp_table_look *look, int row, int column, bool two,
                               FILE *file) {
    parts p = split(cell_at(t, row, column));
    bool  best = is_best(t, g, look, row, column);
    if (best) fputs("\\textbf{", file);
    print_latex_text(file, p.value);
    if (best) fputc('}', file);
    if (two) fputs(" & ", file);
    print_latex_text(file, p.deviation);
}

/* "accuracy, % (end)" in two lines. */
static void print_latex_title(const char *title, bool words, bool two, FILE *file) {
    const char *open = words ? NULL : strstr(title, " (");
    char        first[CELL];
    snprintf(first, CELL, "%.*s", open ? (int)(open - title) : CELL - 1, title);
    if (two) fputs("\\multicolumn{2}{r}{", file);
    if (open) fputs("\\shortstack[r]{", file);
    print_latex_text(file, first);
    if (open) fputs("\\\\", file);
    if (open) print_latex_text(file, open + 1);
    fprintf(file, "%s%s", open ? "}" : "", two ? "}" : "");
}

void cp_table_latex(const cp_table *t, cp_table_groups g, FILE *file) {
    cp_table_look *look = cp_table_looks(t);
    bool          *two = look ? calloc((size_t)t->columns, sizeof *two) : NULL;
    int            name = 0, rows = t ? t->count / t->columns : 0;
    for (int c = 0; two && c < t->columns; c++) {
        for (int row = 1; row < rows; row++) two[c] = two[c] || (!look[c].words && *split(cell_at(t, row, c)).deviation);
        if (look[c].words) name = c;
    }
    if (two) fputs("% needs \\usepackage{booktabs}\n\\begin{tabular}{", file);
    for (int c = 0; two && c < t->columns; c++) fputs(two[c] ? "r@{ }r" : look[c].words ? "l" : "r", file);
    if (two) fputs("}\n\\toprule\n", file);
    for (int row = 0; two && row < rows; row++) {
        int same = row ? count_same(t, g.columns, row, row - 1) : 0;
        if (row > 1 && g.columns && same < g.columns) fputs(same ? "\\addlinespace\n" : "\\midrule\n", file);
        for (int c = 0; c < t->columns; c++) {
            fputs(c ? " & " : "", file);
            if (row == 0)
                print_latex_title(cell_at(t, 0, c), look[c].words, two[c], file);
            else if (c >= same && look[c].words)
                print_latex_text(file, cell_at(t, row, c));
            else if (c >= same)
                print_latex_number(t, g, look, row, c, two[c], file);
            if (row && c == name) print_remarks(t, look, row, file);
        }
        fprintf(file, " \\\\\n%s", row ? "" : "\\midrule\n");
    }
    if (two) fputs("\\bottomrule\n\\end{tabular}\n", file);
    free(two);
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
