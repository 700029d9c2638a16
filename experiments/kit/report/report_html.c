/* Reports: the section of one run in HTML, and the table in which runs of one experiment are compared. */
#include "experiments/kit/report/report_parts.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_JSON = 200 << 10 }; /* bytes */

/* ---- pieces ---- */

void cp_html_tag(cp_bytes *out, const char *tag, const char *text) {
    cp_svg_put(out, "<%s>", tag);
    cp_svg_escape(out, text);
    cp_svg_put(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

void cp_html_value(cp_bytes *out, const cp_json *node) {
    if (node->kind == CP_JSON_NUMBER || node->kind == CP_JSON_STRING) cp_svg_escape(out, node->text);
    for (const cp_json *m = node->kind == CP_JSON_ARRAY ? node->first : NULL; m; m = m->next) {
        cp_html_value(out, m);
        if (m->next) cp_svg_put(out, ",");
    }
}

/* Large numbers with two decimals, small ones with more. */
void cp_html_mean_sd(cp_bytes *out, const cp_json *measure) {
    double mean = cp_json_number(cp_json_get(measure, "mean"), NAN), sd = cp_json_number(cp_json_get(measure, "sd"), NAN);
    int    decimals = fabs(mean) >= 10 ? 2 : fabs(mean) >= 1 ? 3 : 4;
    if (!isfinite(mean))
        cp_svg_put(out, "\xE2\x80\x93");
    else if (isfinite(sd))
        cp_svg_put(out, "%.*f (%.*f)", decimals, mean, decimals, sd);
    else
        cp_svg_put(out, "%.*f", decimals, mean);
}

/* The command line that gives this run again. */
static void put_command(cp_bytes *out, const cp_report_run *run) {
    const cp_json *options = cp_json_get(run->config, "options"), *arguments = cp_json_get(run->config, "arguments");
    cp_svg_put(out, "<details><summary>Command</summary><pre class=\"command\">");
    cp_svg_escape(out, run->command);
    for (const cp_json *a = arguments ? arguments->first : NULL; a; a = a->next) {
        cp_svg_put(out, " ");
        cp_svg_escape(out, cp_json_string(a, ""));
    }
    for (const cp_json *o = options ? options->first : NULL; o; o = o->next) {
        if (!o->key || o->kind == CP_JSON_NULL || (o->kind == CP_JSON_BOOL && !o->boolean)) continue;
        cp_svg_put(out, " <span>--");
        cp_svg_escape(out, o->key);
        if (o->kind != CP_JSON_BOOL) cp_svg_put(out, " ");
        cp_html_value(out, o);
        cp_svg_put(out, "</span>");
    }
    cp_svg_put(out, "</pre></details>\n");
}

/* ---- tables ---- */

static void put_row(cp_bytes *out, const cp_json *cells, const char *tag, const cp_table_look *look, size_t columns) {
    char   left[20];
    size_t column = 0; /* a row from outside may have more */
    snprintf(left, sizeof left, "%s class=\"left\"", tag);
    cp_svg_put(out, "<tr>");
    for (const cp_json *c = cells ? cells->first : NULL; c; c = c->next, column++)
        cp_html_tag(out, column && column < columns && look[column].words ? left : tag, c->text ? c->text : "");
    cp_svg_put(out, "</tr>\n");
}

static void put_table(cp_bytes *out, const cp_json *json) {
    const cp_json *titles = cp_json_get(json, "columns"), *rows = cp_json_get(json, "rows");
    cp_table      *table = cp_table_new(0);
    cp_table_read(table, json);
    cp_table_look *look = cp_table_looks(table);
    size_t         columns = look ? titles->count : 0;
    cp_svg_put(out, "<div class=\"wide\"><table>\n<thead>");
    put_row(out, titles, "th", look, columns);
    cp_svg_put(out, "</thead><tbody>\n");
    for (const cp_json *row = rows ? rows->first : NULL; row; row = row->next) put_row(out, row, "td", look, columns);
    cp_svg_put(out, "</tbody></table></div>\n");
    free(look);
    cp_table_free(table);
}

/* "Table: validation", closed, for the table with the key "validation_table"; for "table" it has the title of the first column. */
static void put_folded_table(cp_bytes *out, const cp_json *table) {
    const char *name =
        strcmp(table->key, "table") == 0 ? cp_json_string(cp_json_at(cp_json_get(table, "columns"), 0), "") : table->key;
    size_t length = strlen(name), end = length > 6 && strcmp(name + length - 6, "_table") == 0 ? length - 6 : length;
    char   title[120];
    snprintf(title, sizeof title, "Table: %.*s", (int)(end < 100 ? end : 100), name);
    for (char *c = title; *c; c++)
        if (*c == '_') *c = ' ';
    cp_svg_put(out, "<details>");
    cp_html_tag(out, "summary", title);
    put_table(out, table);
    cp_svg_put(out, "</details>\n");
}

/* A table of means (and standard deviations) for a result that brings none of its own. */
static void put_methods(cp_bytes *out, const cp_json *methods) {
    if (!methods || !methods->first) return;
    cp_svg_put(out, "<div class=\"wide\"><table>\n<thead><tr><th>method</th>");
    for (const cp_json *m = methods->first->first; m; m = m->next) cp_html_tag(out, "th", m->key ? m->key : "");
    cp_svg_put(out, "</tr></thead><tbody>\n");
    for (const cp_json *method = methods->first; method; method = method->next) {
        cp_svg_put(out, "<tr>");
        cp_html_tag(out, "td", method->key ? method->key : "");
        for (const cp_json *m = methods->first->first; m; m = m->next) {
            cp_svg_put(out, "<td>");
            cp_html_mean_sd(out, m->key ? cp_json_get(method, m->key) : NULL);
            cp_svg_put(out, "</td>");
        }
        cp_svg_put(out, "</tr>\n");
    }
    cp_svg_put(out, "</tbody></table></div>\n");
}

/* ---- figures ---- */

/* A figure of several panels is drawn twice: as it is, and with one panel below the other for narrow screens. */
static void put_drawing(cp_bytes *out, const cp_report_picture *picture, int number) {
    char      name[300];
    cp_figure narrow = *picture->figure;
    bool      two = narrow.panels > 1 && narrow.config.columns != 1;
    snprintf(name, sizeof name, "run%d-%.255s", number, picture->name);
    cp_svg_put(out, two ? "<div class=\"at-large\">\n" : "<div>\n");
    cp_figure_draw(picture->figure, name, out);
    cp_svg_put(out, "</div>\n");
    if (!two) return;
    narrow.config.columns = 1;
    snprintf(name, sizeof name, "run%d-narrow-%.255s", number, picture->name);
    cp_svg_put(out, "<div class=\"narrow\">\n");
    cp_figure_draw(&narrow, name, out);
    cp_svg_put(out, "</div>\n");
}

/* The first element of an SVG file comes after white space, declarations and comments. */
static bool is_svg(const cp_bytes *file) {
    const char *text = (const char *)file->data, *end = text + file->size;
    if (file->size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3;
    for (;;) {
        while (text < end && strchr(" \t\r\n", *text) && *text) text++;
        size_t left = (size_t)(end - text);
        if (left > 5 && memcmp(text, "<svg", 4) == 0) return strchr(" \t\r\n>", text[4]) && text[4];
        bool comment = left > 4 && memcmp(text, "<!--", 4) == 0;
        if (!comment && (left < 3 || (memcmp(text, "<?", 2) != 0 && memcmp(text, "<!", 2) != 0))) return false;
        do text = memchr(text + 1, '>', (size_t)(end - text) - 1);
        while (comment && text && memcmp(text - 2, "--", 2) != 0);
        if (!text++) return false;
    }
}

/* By its contents, not by its name. NULL: neither PNG nor SVG. */
static const char *image_type(const cp_bytes *file) {
    static const char png[] = "\x89PNG\r\n\x1A\n\0\0\0\rIHDR";
    if (file->size >= sizeof png && memcmp(file->data, png, sizeof png - 1) == 0) return "png";
    return is_svg(file) ? "svg+xml" : NULL;
}

/* Pictures without a description are embedded as images: unlike markup, an image cannot run anything. */
static bool put_image(cp_bytes *out, const cp_report_run *run, const char *name, const char *caption, cp_status *status) {
    const char *end = cp_report_has(run, name, ".svg") ? ".svg" : ".png";
    cp_bytes    data;
    if (!cp_report_read_file(run, name, end, &data, status)) return false;
    const char *type = image_type(&data);
    if (type) {
        cp_svg_put(out, "<img alt=\"");
        cp_svg_escape(out, caption ? caption : name);
        cp_svg_put(out, "\" src=\"data:image/%s;base64,", type);
        cp_base64(out, data.data, data.size);
        cp_svg_put(out, "\">\n");
    }
    cp_bytes_free(&data);
    return type || cp_fail(status, "%.300s: this is neither a PNG nor an SVG file", cp_report_file(run, name, end).s);
}

/* The endings of a picture's files, for its caption. */
static const char *ends_of(const cp_report_run *run, const cp_report_picture *picture) {
    if (!cp_report_has(run, picture->name, ".svg")) return ".png";
    return cp_report_has(run, picture->name, ".csv") ? ".svg, its numbers as .csv" : ".svg";
}

static void put_picture(cp_bytes *out, const cp_report_run *run, const cp_report_picture *picture, int number) {
    const char *caption = picture->figure ? picture->figure->config.caption : NULL;
    cp_status   error = {0};
    cp_svg_put(out, "<figure>\n");
    if (picture->figure && picture->figure->panels > 0)
        put_drawing(out, picture, number);
    else
        put_image(out, run, picture->name, caption, &error);
    if (picture->error.message[0]) error = picture->error; /* the first */
    cp_svg_put(out, "<figcaption>");
    if (caption) {
        cp_svg_escape(out, caption);
        cp_svg_put(out, " ");
    }
    cp_svg_put(out, "<span class=\"soft\">Saved as ");
    cp_svg_escape(out, picture->name);
    cp_svg_put(out, "%s", ends_of(run, picture));
    cp_svg_put(out, "</span>");
    if (error.message[0]) cp_html_tag(out, "p class=\"bad\"", error.message);
    cp_svg_put(out, "</figcaption>\n</figure>\n");
}

/* ---- runs of one experiment compared ---- */

typedef struct column {
    char     *name;
    cp_bytes *cells; /* (rows) */
} column;

/* A row for each run; columns are found by their names. */
typedef struct columns {
    int     rows, count;
    column *at;
    bool    failed;
} columns;

static void columns_free(columns *c) {
    for (int i = 0; i < c->count; i++) {
        for (int row = 0; row < c->rows; row++) cp_bytes_free(&c->at[i].cells[row]);
        free(c->at[i].name), free(c->at[i].cells);
    }
    free(c->at);
}

/* The cell of a row in the column of that name, which is made when it is not there; NULL: not enough memory. */
static cp_bytes *cell(columns *c, int row, const char *name) {
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->at[i].name, name) == 0) return &c->at[i].cells[row];
    column  added = {strdup(name), calloc((size_t)c->rows, sizeof *added.cells)};
    column *more = added.name && added.cells ? realloc(c->at, ((size_t)c->count + 1) * sizeof *more) : NULL;
    if (!more) {
        free(added.name), free(added.cells);
        c->failed = true;
        return NULL;
    }
    c->at = more;
    more[c->count++] = added;
    return &added.cells[row];
}

static bool same(const cp_bytes *a, const cp_bytes *b) {
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool differs(const columns *c, int i) {
    for (int row = 1; row < c->rows; row++)
        if (!same(&c->at[i].cells[0], &c->at[i].cells[row])) return true;
    return false;
}

/* ---- the first table: one row per run, with the measures that matter ---- */

typedef struct view {
    const char *all, *plain, *scaled, *words; /* the members of result.json that have the metrics */
} view;

static const view views[] = {
    {"test", "end", "scaled",
     "Weights at the end of training, on the test split; scaled: the selected weights, with the temperature fitted on the "
     "validation split."},
    {"metrics", "plain", "scaled", "Posterior of the softmax; scaled: with the temperature that the training fitted."}};

static const struct merit {
    const char *key, *title;
    bool        scaled;
    int         decimals;
} merits_shown[] = {{"accuracy", "accuracy, %", false, 1},
                    {"balanced_accuracy", "balanced accuracy, %", false, 1},
                    {"auc", "AUC", false, 3},
                    {"ece", "ECE, %", false, 1},
                    {"ece", "ECE, % (scaled)", true, 1},
                    {"nll", "NLL", false, 3}};
enum { MERITS = sizeof merits_shown / sizeof *merits_shown };

/* NULL: a run without such metrics. */
static const view *view_of(const cp_report_run *run) {
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (cp_json_get(cp_json_get(cp_json_get(run->result, views[i].all), views[i].plain), "intervals")) return &views[i];
    return NULL;
}

static bool has_merits(const cp_report_run *run) { return view_of(run) != NULL; }

/* The folder, broken only behind its slashes. */
static void put_name(cp_bytes *out, const cp_report_run *run, int number) {
    cp_svg_put(out, "<a href=\"#run%d\">", number);
    for (const char *part = run->folder; *part;) {
        char   piece[1100];
        size_t length = strcspn(part, "/"), all = length + strspn(part + length, "/");
        snprintf(piece, sizeof piece, "%.*s", (int)(all < 1000 ? all : 1000), part);
        cp_html_tag(out, "span", piece);
        part += all;
        if (*part) cp_svg_put(out, "<wbr/>");
    }
    cp_svg_put(out, "</a>%s%s", run->result ? "" : "<div class=\"soft\">not finished</div>",
               run->error.message[0] ? "<div class=\"bad\">damaged</div>" : "");
}

/* "54.3" above "51.2-57.4". */
static void put_merit(cp_bytes *out, const cp_json *metrics, const struct merit *m) {
    const cp_json *interval = cp_json_get(cp_json_get(metrics, "intervals"), m->key);
    double         value = cp_json_number(cp_json_get(metrics, m->key), NAN), low = cp_json_number(cp_json_at(interval, 0), NAN),
           high = cp_json_number(cp_json_at(interval, 1), NAN);
    if (!isfinite(value)) {
        cp_svg_put(out, "<td>\xE2\x80\x93</td>");
        return;
    }
    cp_svg_put(out, "<td>%.*f", m->decimals, value);
    if (isfinite(low) && isfinite(high))
        cp_svg_put(out, "<div class=\"soft\">%.*f\xE2\x80\x93%.*f</div>", m->decimals, low, m->decimals, high);
    cp_svg_put(out, "</td>");
}

/* "lambda 10, seed 2", below the name of a run. */
static void put_options(cp_bytes *out, const columns *options, int row) {
    const char *before = "<div class=\"soft\">";
    for (int i = 0; i < options->count; i++) {
        const cp_bytes *text = &options->at[i].cells[row];
        if (!differs(options, i)) continue;
        cp_svg_put(out, "%s<span>", before);
        cp_svg_escape(out, options->at[i].name);
        cp_svg_put(out, " ");
        cp_bytes_append(out, text->size ? (const char *)text->data : "\xE2\x80\x93", text->size ? text->size : 3);
        cp_svg_put(out, "</span>");
        before = ", ";
    }
    if (*before == ',') cp_svg_put(out, "</div>");
}

/* options: those of the runs, or NULL. */
static void put_merits(cp_bytes *out, const cp_report_run *runs, const int *numbers, int count, const columns *options) {
    const view *words = NULL;
    cp_svg_put(out, "<div class=\"wide\"><table>\n<thead><tr><th>run</th>");
    for (int m = 0; m < MERITS; m++) cp_html_tag(out, "th", merits_shown[m].title);
    cp_svg_put(out, "</tr></thead><tbody>\n");
    for (int row = 0; row < count; row++) {
        const cp_report_run *run = options ? &runs[numbers[row]] : runs;
        const view          *v = view_of(run);
        cp_svg_put(out, "<tr><td>");
        put_name(out, run, numbers[row]);
        if (options) put_options(out, options, row);
        cp_svg_put(out, "</td>");
        for (int m = 0; m < MERITS; m++) {
            const cp_json *all = v ? cp_json_get(run->result, v->all) : NULL;
            put_merit(out, v ? cp_json_get(all, merits_shown[m].scaled ? v->scaled : v->plain) : NULL, &merits_shown[m]);
        }
        cp_svg_put(out, "</tr>\n");
        words = v ? v : words;
    }
    cp_svg_put(out, "</tbody></table></div>\n<p class=\"soft\">%s Below the numbers are 95 %% intervals.</p>\n",
               words ? words->words : "");
}

/* ---- the section ---- */

static void put_file(cp_bytes *out, const cp_report_run *run, const char *name) {
    cp_bytes text;
    if (!cp_report_read_file(run, name, "", &text, NULL)) return; /* it has been removed since */
    bool cut = text.size > SHOWN_JSON;
    if (cut) text.size = SHOWN_JSON;
    cp_svg_put(out, "<details class=\"unprinted\"><summary>%s</summary><pre>", name);
    if (cp_bytes_append(&text, "", 1)) cp_svg_escape(out, (const char *)text.data);
    cp_svg_put(out, "%s</pre></details>\n", cut ? "\n..." : "");
    cp_bytes_free(&text);
}

static void put_state(cp_bytes *out, const cp_report_run *run) {
    cp_svg_put(out, "<p class=\"soft\"><code>");
    cp_svg_escape(out, run->folder);
    bool study = run->result && cp_report_has(run, "study.json", ""); /* its time is that of the tables alone */
    cp_svg_put(out, "</code>%s", !run->started[0] ? "" : study ? ", tables made " : ", started ");
    cp_svg_escape(out, run->started);
    if (study) {
        cp_svg_put(out, "</p>\n");
        return;
    }
    cp_svg_put(out, ", %s", run->result ? "finished" : "not finished");
    if (!run->result && run->trials > 0) cp_svg_put(out, " (%d trial%s done)", run->trials, run->trials == 1 ? "" : "s");
    if (isfinite(run->seconds) && run->seconds > 0) cp_svg_put(out, ", %s", cp_duration_text(run->seconds).s);
    if (run->threads > 0) cp_svg_put(out, ", %d thread%s", run->threads, run->threads == 1 ? "" : "s");
    cp_svg_put(out, "</p>\n");
}

void cp_html_run(cp_bytes *out, const cp_report_run *run, int number, bool titled) {
    const cp_json *notes = cp_json_get(run->result, "notes");
    bool           merits = has_merits(run);
    cp_svg_put(out, "<section id=\"run%d\">\n", number);
    if (titled) cp_html_tag(out, "h3", cp_report_title(run));
    put_state(out, run);
    if (run->error.message[0]) {
        cp_html_tag(out, "p class=\"bad\"", run->error.message);
        cp_svg_put(out, "\n");
    }
    if (!titled && merits) put_merits(out, run, &number, 1, NULL);
    if (run->config) put_command(out, run);
    for (const cp_json *note = notes ? notes->first : NULL; note; note = note->next)
        cp_html_tag(out, "p", cp_json_string(note, ""));
    if (!cp_json_get(run->result, "table")) put_methods(out, cp_json_get(run->result, "methods"));
    for (const cp_json *table = run->result ? run->result->first : NULL; table; table = table->next)
        if (cp_json_get(table, "columns") && cp_json_get(table, "rows"))
            (table->key && (merits || (run->picture_count && strcmp(table->key, "table") != 0)) ? put_folded_table
                                                                                                : put_table)(out, table);
    for (int i = 0; i < run->picture_count; i++) put_picture(out, run, &run->pictures[i], number);
    if (run->config) put_file(out, run, "config.json");
    if (run->result) put_file(out, run, "result.json");
    cp_svg_put(out, "</section>\n");
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

enum { RESULTS_MAX = 24 }; /* more do not fit side by side; the runs' own sections have them */

static int put_titles(cp_bytes *out, const columns *c, bool only_different, int max) {
    int shown = 0;
    for (int i = 0; i < c->count && shown < max; i++) {
        if (only_different && !differs(c, i)) continue;
        cp_html_tag(out, "th", c->at[i].name);
        shown++;
    }
    return shown;
}

static void put_cells(cp_bytes *out, const columns *c, int row, bool only_different, int max) {
    for (int i = 0, shown = 0; i < c->count && shown < max; i++) {
        const cp_bytes *text = &c->at[i].cells[row];
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
        const cp_bytes      *text = &results->at[i / results->rows].cells[i % results->rows];
        const unsigned char *open = text->size > 0 ? memchr(text->data, '(', text->size) : NULL;
        bool                 interval = open && memchr(open, 't', text->size - (size_t)(open - text->data)); /* (33.8 to 41.3) */
        if (open && !interval) return true;
    }
    return false;
}

static void put_comparison(cp_bytes *out, const cp_report_run *runs, const int *numbers, const columns *options,
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
        cp_svg_put(out, "<td>");
        put_name(out, &runs[numbers[row]], numbers[row]);
        cp_svg_put(out, "</td>");
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
    bool merits = false;
    for (int row = 0; row < count; row++) merits = merits || has_merits(&runs[numbers[row]]);
    if (merits) put_merits(out, runs, numbers, count, &options);
    if (merits) cp_svg_put(out, "<details class=\"unprinted\"><summary>All results</summary>\n");
    put_comparison(out, runs, numbers, &options, &results);
    if (merits) cp_svg_put(out, "</details>\n");
    columns_free(&options);
    columns_free(&results);
}
