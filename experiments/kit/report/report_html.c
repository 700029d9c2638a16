/* Reports: the section of one run in HTML. */
#include "core/io/file.h"
#include "experiments/kit/report/report_parts.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_LIMIT = 64 << 20, SHOWN_JSON = 200 << 10 };

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
    cp_svg_put(out, "<pre class=\"command\">");
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
    cp_svg_put(out, "</pre>\n");
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

/* A figure of several panels is there twice: as it is, and with one panel below the other for narrow screens. */
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

/* Pictures without a description go in as images: unlike markup, an image can do nothing but be looked at. */
static bool put_image(cp_bytes *out, const cp_report_run *run, const char *name, const char *caption, cp_status *status) {
    bool     svg = access(cp_report_file(run, name, ".svg").s, F_OK) == 0;
    cp_bytes data = {0};
    if (!cp_file_read(cp_report_file(run, name, svg ? ".svg" : ".png").s, FILE_LIMIT, &data, status)) return false;
    cp_svg_put(out, "<img alt=\"");
    cp_svg_escape(out, caption ? caption : name);
    cp_svg_put(out, "\" src=\"data:image/%s;base64,", svg ? "svg+xml" : "png");
    cp_base64(out, data.data, data.size);
    cp_svg_put(out, "\">\n");
    cp_bytes_free(&data);
    return true;
}

/* What the files of a picture end with. */
static const char *ends_of(const cp_report_run *run, const cp_report_picture *picture) {
    bool svg = access(cp_report_file(run, picture->name, ".svg").s, F_OK) == 0;
    bool csv = access(cp_report_file(run, picture->name, ".csv").s, F_OK) == 0;
    return !svg ? ".png" : csv ? ".svg, its numbers as .csv" : ".svg";
}

static void put_picture(cp_bytes *out, const cp_report_run *run, const cp_report_picture *picture, int number) {
    const char *caption = picture->figure ? picture->figure->config.caption : NULL;
    cp_status   trouble = picture->trouble;
    cp_svg_put(out, "<figure>\n");
    if (picture->figure && picture->figure->panels > 0)
        put_drawing(out, picture, number);
    else
        put_image(out, run, picture->name, caption, &trouble);
    cp_svg_put(out, "<figcaption>");
    if (caption) {
        cp_svg_escape(out, caption);
        cp_svg_put(out, " ");
    }
    cp_svg_put(out, "<span class=\"soft\">Saved as ");
    cp_svg_escape(out, picture->name);
    cp_svg_put(out, "%s", ends_of(run, picture));
    cp_svg_put(out, "</span>");
    if (trouble.message[0]) cp_html_tag(out, "p class=\"bad\"", trouble.message);
    cp_svg_put(out, "</figcaption>\n</figure>\n");
}

/* ---- the section ---- */

static void put_file(cp_bytes *out, const cp_report_run *run, const char *name) {
    cp_bytes text = {0};
    if (!cp_file_read(cp_report_file(run, name, "").s, FILE_LIMIT, &text, NULL)) return; /* it was there a moment ago */
    bool cut = text.size > SHOWN_JSON;
    if (cut) text.size = SHOWN_JSON;
    cp_svg_put(out, "<details><summary>%s</summary><pre>", name);
    if (cp_bytes_append(&text, "", 1)) cp_svg_escape(out, (const char *)text.data);
    cp_svg_put(out, "%s</pre></details>\n", cut ? "\n..." : "");
    cp_bytes_free(&text);
}

static void put_state(cp_bytes *out, const cp_report_run *run) {
    cp_svg_put(out, "<p class=\"soft\"><code>");
    cp_svg_escape(out, run->folder);
    bool study =
        run->result && access(cp_report_file(run, "study.json", "").s, F_OK) == 0; /* its time is that of the tables alone */
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
    cp_svg_put(out, "<section id=\"run%d\">\n", number);
    if (titled) cp_html_tag(out, "h3", cp_report_title(run));
    put_state(out, run);
    if (run->trouble.message[0]) {
        cp_html_tag(out, "p class=\"bad\"", run->trouble.message);
        cp_svg_put(out, "\n");
    }
    if (run->config) put_command(out, run);
    for (const cp_json *note = notes ? notes->first : NULL; note; note = note->next)
        cp_html_tag(out, "p", cp_json_string(note, ""));
    if (!cp_json_get(run->result, "table")) put_methods(out, cp_json_get(run->result, "methods"));
    for (const cp_json *table = run->result ? run->result->first : NULL; table; table = table->next)
        if (cp_json_get(table, "columns") && cp_json_get(table, "rows")) put_table(out, table);
    for (int i = 0; i < run->picture_count; i++) put_picture(out, run, &run->pictures[i], number);
    if (run->config) put_file(out, run, "config.json");
    if (run->result) put_file(out, run, "result.json");
    cp_svg_put(out, "</section>\n");
}
