/* Reports, and the command that makes one. */
#include "experiments/kit/report.h"

#include "core/io/file.h"
#include "core/io/json.h"
#include "core/real.h"
#include "experiments/kit/progress.h"
#include "experiments/kit/svg.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_LIMIT = 64 << 20, SHOWN_JSON = 200 << 10, FIGURES_MOST = 256 };

static const char style[] =
    ":root{color-scheme:light "
    "dark;--ink:#1c1e21;--soft:#5c6470;--paper:#fafafa;--card:#fff;--line:#dfe2e6;--accent:#0072b2}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a2a9b3;--paper:#15171a;--card:#1e2125;--line:#"
    "363b42;--accent:#56b4e9}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe "
    "UI',Roboto,sans-serif}\n"
    "main{max-width:72rem;margin:0 auto;padding:1.2rem 1rem 4rem}\n"
    "h1{font-size:1.7rem;line-height:1.2;margin:.6rem 0}h2{font-size:1.3rem;margin:0 0 .4rem}\n"
    ".soft{color:var(--soft)}a{color:var(--accent)}\n"
    "section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1.1rem;margin:1.4rem 0}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;margin:.8rem 0;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.35rem .9rem .35rem 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}\n"
    "th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:600}\n"
    "figure{margin:1.2rem 0;overflow-x:auto;background:#fff;border-radius:8px;border:1px solid "
    "var(--line);text-align:center}\n"
    "figure svg,figure img{display:block;margin:0 auto;max-width:100%;height:auto}\n"
    "@media(max-width:45rem){.broad svg{min-width:38rem}}\n"
    "figcaption{color:#5c6470;font-size:.85rem;padding:.2rem .6rem .6rem}\n"
    "pre,code{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}\n"
    "pre{overflow:auto;max-height:28rem;background:var(--paper);border:1px solid "
    "var(--line);border-radius:6px;padding:.7rem}\n"
    ".command{white-space:pre-wrap}.command span{white-space:nowrap}summary{cursor:pointer;color:var(--accent)}\n"
    "@media print{section{break-inside:avoid;border:0}details{display:none}}\n";

/* ---- one run, as read from its folder ---- */

typedef struct run_files {
    const char *folder;
    cp_json    *config, *result; /* the result may be NULL: not finished */
    char        started[40];
    double      seconds; /* NaN: unknown */
    int         threads;
    char       *figures[FIGURES_MOST];
    int         figure_count;
} run_files;

typedef struct path_text {
    char s[1400];
} path_text;

static path_text path_in(const char *folder, const char *name) {
    path_text path;
    snprintf(path.s, sizeof path.s, "%.1000s/%.255s", folder, name);
    return path;
}

static bool ends_with(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool list_figures(run_files *run, cp_status *status) {
    DIR *handle = opendir(run->folder);
    if (!handle) return cp_fail(status, "%.300s cannot be looked into: %s", run->folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(handle)) && run->figure_count < FIGURES_MOST;) {
        const char *name = entry->d_name;
        if (name[0] == '.' || !(ends_with(name, ".svg") || ends_with(name, ".png"))) continue;
        if ((run->figures[run->figure_count] = strdup(name))) run->figure_count++;
    }
    closedir(handle);
    qsort(run->figures, (size_t)run->figure_count, sizeof *run->figures, by_name);
    return true;
}

/* When it began and how long all its parts took; a log that cannot be read has nothing to tell. */
static void read_events(run_files *run) {
    cp_bytes text = {0};
    double   before = 0, latest = NAN;
    if (!cp_file_read(path_in(run->folder, "log.jsonl").s, FILE_LIMIT, &text, NULL)) return;
    for (size_t at = 0; at < text.size;) {
        const unsigned char *end = memchr(text.data + at, '\n', text.size - at);
        size_t               length = end ? (size_t)(end - text.data) - at : text.size - at;
        cp_json             *line = cp_json_parse(text.data + at, length, "log.jsonl", NULL);
        const char          *event = cp_json_string(cp_json_get(line, "event"), NULL);
        if (event && strcmp(event, "start") == 0)
            snprintf(run->started, sizeof run->started, "%s", cp_json_string(cp_json_get(line, "time"), ""));
        if (event && strcmp(event, "continue") == 0) before += isfinite(latest) ? latest : 0;
        if (event)
            latest = cp_json_number(cp_json_get(line, "seconds"), NAN),
            run->threads = (int)cp_json_integer(cp_json_get(line, "threads"), 0);
        cp_json_free(line);
        at += length + 1;
    }
    cp_bytes_free(&text);
    run->seconds = before + latest;
}

static bool read_run(run_files *run, cp_status *status) {
    run->seconds = NAN;
    if (access(run->folder, F_OK) != 0) return cp_fail(status, "%.300s: there is no such folder", run->folder);
    if (access(path_in(run->folder, "config.json").s, F_OK) != 0)
        return cp_fail(status, "%.300s holds no run: it has no config.json", run->folder);
    run->config = cp_json_read(path_in(run->folder, "config.json").s, status);
    if (!run->config) return false;
    path_text result = path_in(run->folder, "result.json");
    if (access(result.s, F_OK) == 0 && !(run->result = cp_json_read(result.s, status))) return false;
    read_events(run);
    return list_figures(run, status);
}

static void free_run(run_files *run) {
    cp_json_free(run->config);
    cp_json_free(run->result);
    for (int i = 0; i < run->figure_count; i++) free(run->figures[i]);
}

static const char *title_of(const run_files *run) {
    const char *name = cp_json_string(cp_json_get(run->config, "experiment"), "run");
    return cp_json_string(cp_json_get(run->result, "title"), name);
}

/* ---- its parts in HTML ---- */

static void put_tag(cp_bytes *out, const char *tag, const char *text) {
    cp_svg_put(out, "<%s>", tag);
    cp_svg_escape(out, text);
    cp_svg_put(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

static void put_value(cp_bytes *out, const cp_json *node) {
    if (node->kind == CP_JSON_NUMBER || node->kind == CP_JSON_STRING) cp_svg_escape(out, node->text);
    for (const cp_json *m = node->kind == CP_JSON_ARRAY ? node->first : NULL; m; m = m->next) {
        put_value(out, m);
        if (m->next) cp_svg_put(out, ",");
    }
}

/* The command line that gives this run again. */
static void put_command(cp_bytes *out, const cp_json *config) {
    const cp_json *options = cp_json_get(config, "options"), *arguments = cp_json_get(config, "arguments");
    cp_svg_put(out, "<pre class=\"command\">couplet ");
    cp_svg_escape(out, cp_json_string(cp_json_get(config, "experiment"), ""));
    for (const cp_json *a = arguments ? arguments->first : NULL; a; a = a->next) {
        cp_svg_put(out, " ");
        cp_svg_escape(out, cp_json_string(a, ""));
    }
    for (const cp_json *o = options ? options->first : NULL; o; o = o->next) {
        if (o->kind == CP_JSON_NULL || (o->kind == CP_JSON_BOOL && !o->truth)) continue;
        cp_svg_put(out, " <span>--");
        cp_svg_escape(out, o->key);
        if (o->kind != CP_JSON_BOOL) cp_svg_put(out, " ");
        put_value(out, o);
        cp_svg_put(out, "</span>");
    }
    cp_svg_put(out, "</pre>\n");
}

static void put_row(cp_bytes *out, const cp_json *cells, const char *tag) {
    cp_svg_put(out, "<tr>");
    for (const cp_json *c = cells ? cells->first : NULL; c; c = c->next) put_tag(out, tag, c->text ? c->text : "");
    cp_svg_put(out, "</tr>\n");
}

static void put_table(cp_bytes *out, const cp_json *table) {
    const cp_json *rows = cp_json_get(table, "rows");
    cp_svg_put(out, "<div class=\"wide\"><table>\n<thead>");
    put_row(out, cp_json_get(table, "columns"), "th");
    cp_svg_put(out, "</thead><tbody>\n");
    for (const cp_json *row = rows ? rows->first : NULL; row; row = row->next) put_row(out, row, "td");
    cp_svg_put(out, "</tbody></table></div>\n");
}

/* A table of means (and standard deviations) for a result that brings none of its own. */
static void put_methods(cp_bytes *out, const cp_json *methods) {
    if (!methods || !methods->first) return;
    cp_svg_put(out, "<div class=\"wide\"><table>\n<thead><tr><th>method</th>");
    for (const cp_json *m = methods->first->first; m; m = m->next) put_tag(out, "th", m->key ? m->key : "");
    cp_svg_put(out, "</tr></thead><tbody>\n");
    for (const cp_json *method = methods->first; method; method = method->next) {
        cp_svg_put(out, "<tr>");
        put_tag(out, "td", method->key ? method->key : "");
        for (const cp_json *m = methods->first->first; m; m = m->next) {
            const cp_json *value = cp_json_get(method, m->key);
            double mean = cp_json_number(cp_json_get(value, "mean"), NAN), sd = cp_json_number(cp_json_get(value, "sd"), NAN);
            if (isfinite(mean) && isfinite(sd))
                cp_svg_put(out, "<td>%.2f (%.2f)</td>", mean, sd);
            else
                cp_svg_put(out, "<td>\xE2\x80\x93</td>");
        }
        cp_svg_put(out, "</tr>\n");
    }
    cp_svg_put(out, "</tbody></table></div>\n");
}

static bool begins(const unsigned char *p, size_t left, const char *word) {
    size_t length = strlen(word);
    return left >= length && strncasecmp((const char *)p, word, length) == 0;
}

/* Our figures go into the page as they are; an SVG that could do more than be looked at (scripts, handlers, foreign
 * markup) goes in as an image, which cannot. */
static bool is_plain_svg(const cp_bytes *text) {
    const unsigned char *p = text->data;
    bool                 tag = false;
    char                 mark = 0; /* the quote that is open within a tag */
    if (!begins(p, text->size, "<svg")) return false;
    for (size_t left = text->size; left > 0; p++, left--) {
        if (!tag && (begins(p, left, "<script") || begins(p, left, "<foreign") || begins(p, left, "<!") || begins(p, left, "<?")))
            return false;
        if (tag && (begins(p, left, "javascript:") || (!mark && (p[-1] <= ' ' || p[-1] == '/') && begins(p, left, "on"))))
            return false;
        if (!tag && *p == '<')
            tag = true;
        else if (tag && mark)
            mark = *p == (unsigned char)mark ? 0 : mark;
        else if (tag && (*p == '"' || *p == '\''))
            mark = (char)*p;
        else if (tag && *p == '>')
            tag = false;
    }
    return !tag;
}

/* Too wide to be read when it is shrunk to a phone: such a figure is scrolled there. */
static bool is_broad(const cp_bytes *svg) {
    char head[200];
    snprintf(head, sizeof head, "%.*s", (int)(svg->size < sizeof head ? svg->size : sizeof head - 1), (const char *)svg->data);
    const char *width = strstr(head, " width=\"");
    return width && strtod(width + 8, NULL) > 500;
}

static bool put_figure(cp_bytes *out, const run_files *run, const char *name, cp_status *status) {
    cp_bytes text = {0};
    if (!cp_file_read(path_in(run->folder, name).s, FILE_LIMIT, &text, status)) return false;
    bool svg = ends_with(name, ".svg");
    cp_svg_put(out, "<figure%s>\n", svg && is_broad(&text) ? " class=\"broad\"" : "");
    if (svg && is_plain_svg(&text)) {
        cp_bytes_append(out, text.data, text.size);
    } else {
        cp_svg_put(out, "<img alt=\"");
        cp_svg_escape(out, name);
        cp_svg_put(out, "\" src=\"data:image/%s;base64,", svg ? "svg+xml" : "png");
        cp_base64(out, text.data, text.size);
        cp_svg_put(out, "\">\n");
    }
    put_tag(out, "figcaption", name);
    cp_svg_put(out, "</figure>\n");
    cp_bytes_free(&text);
    return true;
}

static bool put_file(cp_bytes *out, const run_files *run, const char *name, cp_status *status) {
    cp_bytes text = {0};
    if (!cp_file_read(path_in(run->folder, name).s, FILE_LIMIT, &text, status)) return false;
    cp_svg_put(out, "<details><summary>%s</summary><pre>", name);
    if (text.size > SHOWN_JSON) text.size = SHOWN_JSON;
    if (cp_bytes_append(&text, "", 1)) cp_svg_escape(out, (const char *)text.data);
    cp_svg_put(out, "%s</pre></details>\n", text.size > SHOWN_JSON ? "\n..." : "");
    cp_bytes_free(&text);
    return true;
}

static void put_state(cp_bytes *out, const run_files *run) {
    cp_svg_put(out, "%s", run->result ? "finished" : "not finished");
    if (isfinite(run->seconds) && run->seconds > 0) cp_svg_put(out, ", %s", cp_duration_text(run->seconds).s);
    if (run->threads > 0) cp_svg_put(out, ", %d thread%s", run->threads, run->threads == 1 ? "" : "s");
}

static bool put_run(cp_bytes *out, const run_files *run, int number, cp_status *status) {
    const cp_json *notes = cp_json_get(run->result, "notes");
    cp_svg_put(out, "<section id=\"run%d\">\n", number);
    put_tag(out, "h2", title_of(run));
    cp_svg_put(out, "<p class=\"soft\"><code>");
    cp_svg_escape(out, run->folder);
    cp_svg_put(out, "</code>%s", run->started[0] ? ", started " : "");
    cp_svg_escape(out, run->started);
    cp_svg_put(out, ", ");
    put_state(out, run);
    cp_svg_put(out, "</p>\n");
    put_command(out, run->config);
    for (const cp_json *note = notes ? notes->first : NULL; note; note = note->next) put_tag(out, "p", cp_json_string(note, ""));
    if (!cp_json_get(run->result, "table")) put_methods(out, cp_json_get(run->result, "methods"));
    for (const cp_json *table = run->result ? run->result->first : NULL; table; table = table->next)
        if (cp_json_get(table, "columns") && cp_json_get(table, "rows")) put_table(out, table);
    bool fine = true;
    for (int i = 0; fine && i < run->figure_count; i++) fine = put_figure(out, run, run->figures[i], status);
    fine = fine && put_file(out, run, "config.json", status) && (!run->result || put_file(out, run, "result.json", status));
    cp_svg_put(out, "</section>\n");
    return fine;
}

/* ---- the page ---- */

static void put_overview(cp_bytes *out, const run_files *runs, int count) {
    cp_svg_put(out, "<div class=\"wide\"><table>\n<thead><tr><th>run</th><th>folder</th><th>state</th></tr></thead><tbody>\n");
    for (int i = 0; i < count; i++) {
        cp_svg_put(out, "<tr><td><a href=\"#run%d\">", i);
        cp_svg_escape(out, title_of(&runs[i]));
        cp_svg_put(out, "</a></td>");
        put_tag(out, "td", runs[i].folder);
        cp_svg_put(out, "<td>");
        put_state(out, &runs[i]);
        cp_svg_put(out, "</td></tr>\n");
    }
    cp_svg_put(out, "</tbody></table></div>\n");
}

static bool put_page(cp_bytes *out, const run_files *runs, int count, cp_status *status) {
    char title[200];
    if (count == 1)
        snprintf(title, sizeof title, "Couplet: %.150s", title_of(&runs[0]));
    else
        snprintf(title, sizeof title, "Couplet: %d runs", count);
    cp_bytes_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    cp_svg_escape(out, title);
    cp_bytes_text(out, "</title>\n<style>\n");
    cp_bytes_text(out, style);
    cp_bytes_text(out, "</style>\n</head>\n<body>\n<main>\n");
    put_tag(out, "h1", title);
    if (count > 1) put_overview(out, runs, count);
    bool fine = true;
    for (int i = 0; fine && i < count; i++) fine = put_run(out, &runs[i], i, status);
    cp_svg_put(out,
               "<p class=\"soft\">Made by Couplet %s from the folders named above; each figure's numbers are beside it "
               "there, as CSV.</p>\n"
               "</main>\n</body>\n</html>\n",
               CP_VERSION);
    return fine;
}

/* Only a page may be written over: a mistyped --out must not cost a run its files. */
static bool may_replace(const char *path, cp_status *status) {
    static const char start[] = "<!DOCTYPE html>";
    char              first[sizeof start] = {0};
    struct stat       info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return true;
    FILE *file = fopen(path, "rb");
    bool  page = file && fread(first, 1, sizeof start - 1, file) > 0 && strcmp(first, start) == 0;
    if (file) fclose(file);
    return page || cp_fail(status, "%.300s is there and is no HTML page; choose another --out", path);
}

bool cp_report_write(const char *const *folders, int count, const char *path, cp_status *status) {
    if (!may_replace(path, status)) return false;
    run_files *runs = calloc((size_t)(count > 0 ? count : 1), sizeof *runs);
    cp_bytes   page = {0};
    bool       fine = runs || cp_fail(status, "not enough memory for %d runs", count);
    for (int i = 0; fine && i < count; i++) {
        runs[i].folder = folders[i];
        fine = read_run(&runs[i], status);
    }
    fine = fine && put_page(&page, runs, count, status);
    if (fine && page.failed) fine = cp_fail(status, "%.300s: not enough memory for the page", path);
    fine = fine && cp_file_write(path, page.data, page.size, status);
    for (int i = 0; runs && i < count; i++) free_run(&runs[i]);
    free(runs);
    cp_bytes_free(&page);
    return fine;
}

/* ---- the command ---- */

static const cp_option options[] = {{.name = "out",
                                     .kind = CP_OPTION_TEXT,
                                     .value = "FILE.html",
                                     .incidental = true,
                                     .help = "the page to write, an older one is replaced; default: report.html, in "
                                             "the run's folder when there is one run"},
                                    {0}};

static int run(const cp_options *o) {
    enum { MOST = 1000 };
    cp_status   status = {0};
    const char *folders[MOST], *out = cp_option_text(o, "out");
    int         count = cp_argument_count(o);
    for (int i = 0; i < count; i++) folders[i] = cp_argument(o, i);
    path_text path = count == 1 ? path_in(folders[0], "report.html") : (path_text){"report.html"};
    if (!out) out = path.s;
    if (!cp_report_write(folders, count, out, &status)) {
        cp_complain(o, "%s", status.message);
        return CP_EXIT_FAILED;
    }
    if (cp_option_flag(o, "json")) {
        cp_json_writer w = {0};
        cp_json_put_object(&w, NULL);
        cp_json_put_string(&w, "report", out);
        cp_json_put_integer(&w, "runs", count);
        cp_json_put_end(&w);
        if (cp_json_writer_finish(&w, &status)) printf("%s\n", (const char *)w.out.data);
        cp_json_writer_free(&w);
    } else if (!cp_option_flag(o, "quiet")) {
        printf("report of %d run%s: %s\n", count, count == 1 ? "" : "s", out);
    }
    return CP_EXIT_FINE;
}

const cp_command cp_command_report = {
    .name = "report",
    .purpose = "one HTML page from the folders of runs",
    .arguments = "DIR...",
    .details = "The page shows what was run, the table and the figures of each run, and needs no network.",
    .example = "runs/synthetic-* --out report.html",
    .options = options,
    .least_arguments = 1,
    .most_arguments = 1000,
    .run = run,
};
