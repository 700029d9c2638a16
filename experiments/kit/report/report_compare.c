/* Reports: the table in which runs of one experiment are compared. */
#include "experiments/kit/report/report_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A grid of texts that grows by columns: one row for each run, columns found by their names. */
typedef struct columns {
    int       rows, count, limit;
    char    **names;
    cp_bytes *cells; /* column by column */
    bool      failed;
} columns;

static void columns_free(columns *c) {
    for (int i = 0; i < c->count; i++) free(c->names[i]);
    for (int i = 0; i < c->count * c->rows; i++) cp_bytes_free(&c->cells[i]);
    free(c->names);
    free(c->cells);
}

static bool columns_grow(columns *c) {
    int   limit = c->limit ? 2 * c->limit : 16;
    void *names = realloc(c->names, (size_t)limit * sizeof *c->names);
    if (names) c->names = names;
    cp_bytes *cells = calloc((size_t)limit * (size_t)c->rows, sizeof *cells);
    if (!names || !cells) {
        free(cells);
        c->failed = true;
        return false;
    }
    if (c->count > 0) memcpy(cells, c->cells, (size_t)c->count * (size_t)c->rows * sizeof *cells);
    free(c->cells);
    c->cells = cells;
    c->limit = limit;
    return true;
}

/* The cell of a row in the column of that name, which is made when it is not there; NULL: not enough memory. */
static cp_bytes *cell(columns *c, int row, const char *name) {
    int i = 0;
    while (i < c->count && strcmp(c->names[i], name) != 0) i++;
    if (i == c->limit && !columns_grow(c)) return NULL;
    if (i == c->count) {
        c->names[i] = strdup(name);
        if (!c->names[i]) {
            c->failed = true;
            return NULL;
        }
        c->count++;
    }
    return &c->cells[(size_t)i * (size_t)c->rows + (size_t)row];
}

static bool same(const cp_bytes *a, const cp_bytes *b) {
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool differs(const columns *c, int column) {
    const cp_bytes *first = &c->cells[(size_t)column * (size_t)c->rows];
    for (int row = 1; row < c->rows; row++)
        if (!same(first, first + row)) return true;
    return false;
}

/* ---- what is compared ---- */

static void add_options(columns *c, int row, const cp_json *config) {
    const cp_json *options = cp_json_get(config, "options");
    for (const cp_json *o = options ? options->first : NULL; o; o = o->next) {
        cp_bytes *to = o->key ? cell(c, row, o->key) : NULL;
        if (to && o->kind == CP_JSON_BOOL)
            cp_bytes_text(to, o->boolean ? "yes" : "no");
        else if (to)
            cp_html_value(to, o);
    }
    const cp_json *arguments = cp_json_get(config, "arguments");
    cp_bytes      *to = arguments ? cell(c, row, "arguments") : NULL;
    if (to) cp_html_value(to, arguments);
}

static cp_bytes *result_cell(columns *c, int row, const char *what, const char *measure) {
    char name[400];
    snprintf(name, sizeof name, "%.190s%s%.190s", what, *what ? ": " : "", measure);
    return cell(c, row, name);
}

static void add_methods(columns *c, int row, const cp_json *methods) {
    for (const cp_json *method = methods->first; method; method = method->next)
        for (const cp_json *m = method->first; m; m = m->next) {
            cp_bytes *to =
                cp_json_get(m, "mean") ? result_cell(c, row, method->key ? method->key : "", m->key ? m->key : "") : NULL;
            if (to) cp_html_mean_sd(to, m);
        }
}

static void add_table(columns *c, int row, const cp_json *table) {
    const cp_json *rows = cp_json_get(table, "rows"), *titles = cp_json_get(table, "columns");
    for (const cp_json *r = rows ? rows->first : NULL; r; r = r->next) {
        const cp_json *title = titles ? titles->first : NULL;
        for (const cp_json *m = r->first; m && title; m = m->next, title = title->next) {
            cp_bytes *to = m != r->first ? result_cell(c, row, cp_json_string(r->first, ""), cp_json_string(title, "")) : NULL;
            if (to) cp_html_value(to, m);
        }
    }
}

static void add_results(columns *c, int row, const cp_json *result) {
    const cp_json *methods = cp_json_get(result, "methods"), *table = cp_json_get(result, "table");
    if (methods) {
        add_methods(c, row, methods);
    } else if (table) {
        add_table(c, row, table);
    } else {
        for (const cp_json *m = result ? result->first : NULL; m; m = m->next) {
            cp_bytes *to = m->kind == CP_JSON_NUMBER && m->key ? result_cell(c, row, "", m->key) : NULL;
            if (to) cp_html_value(to, m);
        }
    }
}

/* ---- the table ---- */

enum { RESULTS_MAX = 24 }; /* more are not taken in side by side; the runs' own sections have them */

static int put_titles(cp_bytes *out, const columns *c, bool only_different, int max) {
    int shown = 0;
    for (int i = 0; i < c->count && shown < max; i++) {
        if (only_different && !differs(c, i)) continue;
        cp_html_tag(out, "th", c->names[i]);
        shown++;
    }
    return shown;
}

static void put_cells(cp_bytes *out, const columns *c, int row, bool only_different, int max) {
    for (int i = 0, shown = 0; i < c->count && shown < max; i++) {
        const cp_bytes *text = &c->cells[(size_t)i * (size_t)c->rows + (size_t)row];
        if (only_different && !differs(c, i)) continue;
        cp_svg_put(out, "<td>");
        if (text->size)
            cp_bytes_append(out, text->data, text->size);
        else
            cp_svg_put(out, "\xE2\x80\x93");
        cp_svg_put(out, "</td>");
        shown++;
    }
}

static bool has_deviations(const columns *results) {
    for (int i = 0; i < results->count * results->rows; i++) {
        const cp_bytes      *text = &results->cells[i];
        const unsigned char *open = text->size > 0 ? memchr(text->data, '(', text->size) : NULL;
        bool                 interval = open && memchr(open, 't', text->size - (size_t)(open - text->data)); /* (33.8 to 41.3) */
        if (open && !interval) return true;
    }
    return false;
}

static void put_name(cp_bytes *out, const cp_report_run *run, int number) {
    cp_svg_put(out, "<td><a href=\"#run%d\">", number);
    cp_svg_escape(out, run->folder);
    cp_svg_put(out, "</a>%s%s</td>", run->result ? "" : "<div class=\"soft\">not finished</div>",
               run->trouble.message[0] ? "<div class=\"bad\">damaged</div>" : "");
}

static void put_table(cp_bytes *out, const cp_report_run *runs, const int *numbers, const columns *options,
                      const columns *results) {
    cp_bytes option_titles = {0}, result_titles = {0};
    int      option_count = put_titles(&option_titles, options, true, options->count);
    int      result_count = put_titles(&result_titles, results, false, RESULTS_MAX);
    cp_svg_put(out, "<div class=\"wide compare\"><table>\n<thead><tr><th rowspan=\"2\">run</th>");
    if (option_count > 0) cp_svg_put(out, "<th colspan=\"%d\">options that differ</th>", option_count);
    if (result_count > 0) cp_svg_put(out, "<th colspan=\"%d\">results</th>", result_count);
    cp_svg_put(out, "</tr>\n<tr>");
    cp_bytes_append(out, option_titles.data, option_titles.size);
    cp_bytes_append(out, result_titles.data, result_titles.size);
    cp_svg_put(out, "</tr></thead><tbody>\n");
    for (int row = 0; row < options->rows; row++) {
        cp_svg_put(out, "<tr>");
        put_name(out, &runs[numbers[row]], numbers[row]);
        put_cells(out, options, row, true, options->count);
        put_cells(out, results, row, false, RESULTS_MAX);
        cp_svg_put(out, "</tr>\n");
    }
    cp_svg_put(out, "</tbody></table></div>\n");
    if (has_deviations(results)) cp_svg_put(out, "<p class=\"soft\">Numbers in parentheses are standard deviations.</p>\n");
    if (results->count > RESULTS_MAX)
        cp_svg_put(out, "<p class=\"soft\">%d more results are in the sections of the runs.</p>\n", results->count - RESULTS_MAX);
    if (options->rows > 1 && option_count == 0) cp_svg_put(out, "<p class=\"soft\">These runs have the same options.</p>\n");
    out->failed |= option_titles.failed || result_titles.failed || options->failed || results->failed;
    cp_bytes_free(&option_titles);
    cp_bytes_free(&result_titles);
}

void cp_html_compare(cp_bytes *out, const cp_report_run *runs, const int *numbers, int count) {
    columns options = {.rows = count}, results = {.rows = count};
    for (int row = 0; row < count; row++) {
        add_options(&options, row, runs[numbers[row]].config);
        add_results(&results, row, runs[numbers[row]].result);
    }
    put_table(out, runs, numbers, &options, &results);
    columns_free(&options);
    columns_free(&results);
}
