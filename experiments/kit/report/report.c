/* Reports: runs as read from their folders, the page, and couplet report. */
#include "experiments/kit/report/report.h"

#include "core/io/file.h"
#include "core/real.h"
#include "experiments/kit/report/report_parts.h"
#include "experiments/kit/run/run.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_LIMIT = 100 << 20, PICTURES_MAX = 256 };

/* ---- a run, as read from its folder ---- */

cp_report_path cp_report_file(const cp_report_run *run, const char *name, const char *end) {
    cp_report_path path;
    snprintf(path.s, sizeof path.s, "%.1000s/%.255s%s", run->folder, name, end);
    return path;
}

bool cp_report_has(const cp_report_run *run, const char *name, const char *end) {
    struct stat info;
    return lstat(cp_report_file(run, name, end).s, &info) == 0;
}

bool cp_report_read_file(const cp_report_run *run, const char *name, const char *end, cp_bytes *out, cp_status *status) {
    char file[300];
    snprintf(file, sizeof file, "%.255s%s", name, end);
    return cp_file_read_inside(run->folder, file, FILE_LIMIT, out, status);
}

static cp_json *read_json(const cp_report_run *run, const char *name, const char *end, cp_status *status) {
    cp_bytes text;
    if (!cp_report_read_file(run, name, end, &text, status)) return NULL;
    cp_json *json = cp_json_parse(text.data, text.size, cp_report_file(run, name, end).s, status);
    cp_bytes_free(&text);
    return json;
}

/* ---- pictures ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const cp_report_picture *)a)->name, ((const cp_report_picture *)b)->name);
}

/* The length of the name without the ending of a picture or its description; 0: it is none. */
static size_t picture_name(const char *file) {
    static const char *const ends[] = {".figure.json", ".svg", ".png"};
    size_t                   n = strlen(file);
    for (int i = 0; i < 3; i++) {
        size_t m = strlen(ends[i]);
        if (file[0] != '.' && n > m && strcmp(file + n - m, ends[i]) == 0) return n - m;
    }
    return 0;
}

static void add_picture(cp_report_run *run, const char *file) {
    size_t length = picture_name(file);
    for (int i = 0; i < run->picture_count; i++)
        if (strlen(run->pictures[i].name) == length && strncmp(run->pictures[i].name, file, length) == 0) return;
    if (length == 0 || run->picture_count == PICTURES_MAX) return;
    if (!run->pictures) run->pictures = calloc(PICTURES_MAX, sizeof *run->pictures);
    if (!run->pictures) {
        cp_fail(&run->error, "%.300s: not enough memory for its figures", run->folder);
        return;
    }
    snprintf(run->pictures[run->picture_count++].name, sizeof run->pictures->name, "%.*s", (int)length, file);
}

static void read_description(const cp_report_run *run, cp_report_picture *picture) {
    const char *end = ".figure.json";
    cp_json    *description = cp_report_has(run, picture->name, end) ? read_json(run, picture->name, end, &picture->error) : NULL;
    if (description) picture->figure = cp_figure_read(description, cp_report_file(run, picture->name, end).s, &picture->error);
    cp_json_free(description);
}

static void read_pictures(cp_report_run *run) {
    DIR *handle = opendir(run->folder);
    if (!handle) {
        cp_fail(&run->error, "%.300s: cannot read the folder: %s", run->folder, strerror(errno));
        return;
    }
    for (struct dirent *entry; (entry = readdir(handle));) add_picture(run, entry->d_name);
    closedir(handle);
    if (run->pictures) qsort(run->pictures, (size_t)run->picture_count, sizeof *run->pictures, by_name);
    for (int i = 0; i < run->picture_count; i++) read_description(run, &run->pictures[i]);
}

/* ---- the run ---- */

/* The command, the start, the duration of all parts and the number of finished trials. A log that cannot be read is ignored. */
static void read_events(cp_report_run *run) {
    cp_bytes text = {0};
    double   before = 0, latest = NAN;
    if (!run->log && !cp_report_read_file(run, "log.jsonl", "", &text, NULL)) return;
    size_t at = 0;
    for (cp_line found; cp_bytes_line(run->log ? run->log : &text, &at, &found);) {
        cp_json    *line = cp_json_parse(found.text, found.length, "log.jsonl", NULL);
        const char *event = cp_json_string(cp_json_get(line, "event"), NULL);
        bool        of_process = event && !cp_json_get(line, "step"); /* others are of a training within it */
        if (of_process && strcmp(event, "start") == 0)
            snprintf(run->started, sizeof run->started, "%s", cp_json_string(cp_json_get(line, "time"), ""));
        if (cp_json_get(line, "command"))
            snprintf(run->command, sizeof run->command, "%s", cp_json_string(cp_json_get(line, "command"), ""));
        run->trials += cp_json_get(line, "trial") != NULL;
        if (event && strcmp(event, "continue") == 0) before += isfinite(latest) ? latest : 0;
        if (of_process) {
            latest = cp_json_number(cp_json_get(line, "seconds"), NAN);
            run->threads = (int)cp_json_integer(cp_json_get(line, "threads"), run->threads);
        }
        cp_json_free(line);
    }
    cp_bytes_free(&text);
    run->seconds = before + latest;
}

static void read_run(cp_report_run *run) {
    run->seconds = NAN;
    if (!cp_report_has(run, "config.json", "")) {
        cp_fail(&run->error, "%.300s is not a run: it has no config.json", run->folder);
        return;
    }
    run->config = read_json(run, "config.json", "", &run->error);
    if (!run->config) return;
    if (cp_report_has(run, "result.json", "")) run->result = read_json(run, "result.json", "", &run->error);
    snprintf(run->command, sizeof run->command, "couplet %.90s", cp_report_experiment(run)); /* for logs that do not name it */
    read_events(run);
    read_pictures(run);
}

static void free_run(cp_report_run *run) {
    cp_json_free(run->config);
    cp_json_free(run->result);
    for (int i = 0; i < run->picture_count; i++) cp_figure_free(run->pictures[i].figure);
    free(run->pictures);
}

const char *cp_report_experiment(const cp_report_run *run) {
    return run->config ? cp_json_string(cp_json_get(run->config, "experiment"), "run") : "";
}

const char *cp_report_title(const cp_report_run *run) {
    return cp_json_string(cp_json_get(run->result, "title"), run->config ? cp_report_experiment(run) : "A run that cannot be read");
}

/* The colors are those of the figures, cp_paper and cp_ink. */
static const char style[] =
    ":root{color-scheme:light dark;--ink:#222222;--soft:#5c6470;--page:#f4f5f6;--card:#ffffff;--line:#dfe2e6;--accent:#0068a3;"
    "--bad:#b3261e;--shade:#0004;--back:var(--page)}\n"
    "@media screen and (prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a2a9b3;--page:#15171a;--card:#1e2125;"
    "--line:#363b42;--accent:#6cb8f0;--bad:#ff8a80;--shade:#fff4}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;"
    "overflow-wrap:anywhere}\n"
    "main{max-width:80rem;margin:0 auto;padding:1.2rem 1rem 4rem}\n"
    "h1{font-size:1.7rem;line-height:1.2;margin:.6rem 0}h2{font-size:1.35rem;margin:2rem 0 .2rem}h3{font-size:1.2rem;margin:0 0 "
    ".3rem}\n"
    ".soft{color:var(--soft)}.bad{color:var(--bad)}a{color:var(--accent)}\n"
    "section>p:first-child{margin-top:0}section{background:var(--card);border:1px solid "
    "var(--line);border-radius:10px;padding:1.1rem;margin:1.2rem 0;--back:var(--card)}\n"
    ".wide{overflow-x:auto;background:linear-gradient(to right,var(--back) 70%,transparent) -1px 0,linear-gradient(to "
    "left,var(--back) 70%,transparent) calc(100% + 1px) 0,linear-gradient(to right,var(--shade),transparent),linear-gradient(to "
    "left,var(--shade),transparent) 100% 0;background-repeat:no-repeat;background-size:1.6rem 100%,1.6rem 100%,1rem 100%,1rem "
    "100%;background-attachment:local,local,scroll,scroll}\n"
    "table{border-collapse:collapse;margin:.8rem 0;font-size:.94rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.35rem .9rem .35rem 0;text-align:right;vertical-align:top;white-space:nowrap;border-bottom:1px solid "
    "var(--line)}\n"
    "th{color:var(--soft);font-weight:600;vertical-align:bottom;white-space:normal;overflow-wrap:normal}\n"
    "td div{font-size:.82rem;line-height:1.3}td:first-child div{white-space:normal;overflow-wrap:break-word;max-width:26rem}td "
    "span{display:inline-block}\n"
    "tr>:first-child,.left{text-align:left}thead tr+tr>:first-child{text-align:right}\n"
    ".compare thead tr+tr th{min-width:4.5rem}.compare th[colspan]{text-align:center}\n"
    "figure{margin:1.4rem 0;break-inside:avoid}figure svg,figure img{display:block;margin:0 auto;max-width:100%;height:auto}\n"
    "figure img{border-radius:4px}\n"
    ".narrow{display:none}@media screen and (max-width:45rem){section{padding:.8rem}table{font-size:.8rem}"
    "th,td{padding-right:.5rem}td:first-child div{max-width:14rem}.narrow{display:block}.at-large{display:none}}\n"
    "figcaption{font-size:.9rem;max-width:60rem;margin:.4rem auto 0}figcaption p{margin:.2rem 0}\n"
    "pre,code{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}\n"
    "pre{overflow:auto;max-height:28rem;white-space:pre-wrap;background:var(--page);border:1px solid "
    "var(--line);border-radius:6px;padding:.7rem}\n"
    ".command span{display:inline-block}summary{cursor:pointer;color:var(--accent);margin:.3rem 0}\n"
    "@media "
    "print{:root{--page:#ffffff}body{font-size:11px}table{font-size:9px}section{border:0;padding:0}.unprinted,summary{display:none}"
    "."
    "wide{overflow:visible;background:none}"
    "details::details-content{content-visibility:visible;display:block;height:auto}}\n";

/* ---- groups: the runs of one experiment ---- */

typedef struct group {
    int *numbers; /* of its runs, among all */
    int  count;
} group;

/* The runs of the same experiment as the run `first`, when that is the first of them; else none. */
static group group_from(const cp_report_run *runs, int count, int first, int *room) {
    group       g = {room, 0};
    const char *name = cp_report_experiment(&runs[first]);
    for (int i = 0; i < count; i++)
        if (strcmp(cp_report_experiment(&runs[i]), name) == 0) g.numbers[g.count++] = i;
    if (g.numbers[0] != first) g.count = 0;
    return g;
}

static cp_figure *figure_named(const cp_report_run *run, const char *name) {
    for (int i = 0; i < run->picture_count; i++)
        if (strcmp(run->pictures[i].name, name) == 0) return run->pictures[i].figure;
    return NULL;
}

/* Figures of one name have the same axes in all runs of a group. A figure whose turn comes again has its limits by then. */
static bool share_axes(const cp_report_run *runs, const group *g) {
    cp_figure **same = malloc((size_t)g->count * sizeof *same);
    if (!same) return false;
    for (int i = 0; i < g->count; i++) {
        const cp_report_run *run = &runs[g->numbers[i]];
        for (int k = 0; k < run->picture_count; k++) {
            for (int j = 0; j < g->count; j++) same[j] = figure_named(&runs[g->numbers[j]], run->pictures[k].name);
            cp_figures_share_axes(same, g->count);
        }
    }
    free(same);
    return true;
}

static void put_group(cp_bytes *out, const cp_report_run *runs, const group *g, int all) {
    const char *name = cp_report_experiment(&runs[g->numbers[0]]);
    if (!share_axes(runs, g)) out->failed = true;
    if (all > 1) {
        cp_html_tag(out, "h2", *name ? name : "Folders that cannot be read");
        cp_svg_put(out, "\n");
        if (*name) cp_html_compare(out, runs, g->numbers, g->count);
        if (*name && g->count > 1)
            cp_svg_put(out,
                       "<p class=\"soft\">In the sections below, figures of the same name have the same axes in all runs, so that "
                       "they can be compared by eye.</p>\n");
    }
    for (int i = 0; i < g->count; i++) cp_html_run(out, &runs[g->numbers[i]], g->numbers[i], all > 1);
}

/* ---- the page ---- */

/* The title of a single run; for several, the command if they share one. */
static void put_title(cp_bytes *out, const cp_report_run *runs, int count) {
    const char *command = NULL;
    bool        same = true;
    for (int i = 0; i < count; i++) {
        if (!runs[i].config) continue;
        same = same && (!command || strcmp(command, runs[i].command) == 0);
        command = runs[i].command;
    }
    if (count == 1)
        cp_svg_escape(out, cp_report_title(&runs[0]));
    else if (same && command)
        cp_svg_escape(out, command), cp_svg_put(out, ": %d runs", count);
    else
        cp_svg_put(out, "%d runs", count);
}

static bool put_page(cp_bytes *out, const cp_report_run *runs, int count, cp_status *status) {
    int *room = malloc((size_t)count * sizeof *room);
    if (!room) return cp_fail(status, "not enough memory for %d runs", count);
    cp_bytes_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    put_title(out, runs, count);
    cp_bytes_text(out, "</title>\n<style>\n");
    cp_bytes_text(out, style);
    cp_bytes_text(out, "</style>\n</head>\n<body>\n<main>\n<h1>");
    put_title(out, runs, count);
    cp_bytes_text(out, "</h1>\n");
    for (int i = 0; i < count; i++) {
        group g = group_from(runs, count, i, room);
        if (g.count > 0) put_group(out, runs, &g, count);
    }
    cp_svg_put(out, "<p class=\"soft\">Made by Couplet %s from the folders named above.</p>\n</main>\n</body>\n</html>\n",
               CP_VERSION);
    free(room);
    return true;
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
    return page || cp_fail(status, "%.300s exists and is not an HTML page; choose another --out", path);
}

typedef struct tally {
    int       unfinished, damaged;
    cp_status first_damage;
} tally;

static bool read_runs(cp_report_run *runs, const char *const *folders, int count, const cp_bytes *log, tally *found,
                      cp_status *status) {
    for (int i = 0; i < count; i++) {
        runs[i].folder = folders[i];
        runs[i].log = log;
        if (access(folders[i], F_OK) != 0) return cp_fail(status, "%.300s: there is no such folder", folders[i]);
        read_run(&runs[i]);
        bool damaged = runs[i].error.message[0] != '\0';
        found->unfinished += runs[i].config && !runs[i].result && !damaged;
        found->damaged += damaged;
        if (damaged) cp_fail(&found->first_damage, "%s", runs[i].error.message);
    }
    for (int i = 0; i < count; i++)
        if (runs[i].config) return true;
    return cp_fail(status, "%s", count > 0 ? found->first_damage.message : "no folder of a run was named");
}

/* ---- figures for paper ---- */

/* Every figure in the widths of one and of two columns, with axes shared as on the page. Of several runs, the number comes first. */
static bool write_figure(cp_figure *figure, const char *folder, const char *prefix, const char *name, cp_status *status) {
    static const double widths[] = {85, 178};
    bool                ok = true;
    for (int i = 0; ok && i < 2; i++) {
        cp_bytes svg = {0};
        char     path[1600];
        snprintf(path, sizeof path, "%.1000s/%s%.255s-%gmm.svg", folder, prefix, name, widths[i]);
        figure->paper = widths[i];
        cp_figure_draw(figure, name, &svg);
        ok = !svg.failed || cp_fail(status, "%.300s: not enough memory to draw the figure", path);
        ok = ok && cp_file_write(path, svg.data, svg.size, status);
        cp_bytes_free(&svg);
    }
    figure->paper = 0;
    return ok;
}

static bool write_figures(const cp_report_run *runs, int count, const char *folder, cp_status *status) {
    bool ok = cp_folder_make(folder, status);
    for (int i = 0; ok && i < count; i++) {
        char prefix[20] = "";
        if (count > 1) snprintf(prefix, sizeof prefix, "%d-", i + 1);
        for (int k = 0; ok && k < runs[i].picture_count; k++) {
            const cp_report_picture *p = &runs[i].pictures[k];
            if (p->figure && p->figure->panels > 0) ok = write_figure(p->figure, folder, prefix, p->name, status);
        }
    }
    return ok;
}

static bool make_report(const char *const *folders, int count, const cp_bytes *log, const char *path, const char *figures,
                        tally *found, cp_status *status) {
    if (!may_replace(path, status)) return false;
    cp_report_run *runs = calloc((size_t)(count > 0 ? count : 1), sizeof *runs);
    cp_bytes       page = {0};
    bool           ok = runs || cp_fail(status, "not enough memory for %d runs", count);
    *found = (tally){0};
    ok = ok && read_runs(runs, folders, count, log, found, status) && put_page(&page, runs, count, status);
    if (ok && page.failed) ok = cp_fail(status, "%.300s: not enough memory for the page", path);
    ok = ok && cp_file_write(path, page.data, page.size, status);
    ok = ok && (!figures || write_figures(runs, count, figures, status));
    for (int i = 0; runs && i < count; i++) free_run(&runs[i]);
    free(runs);
    cp_bytes_free(&page);
    return ok;
}

bool cp_report_write(const char *const *folders, int count, const char *path, cp_status *status) {
    tally found;
    return make_report(folders, count, NULL, path, NULL, &found, status);
}

bool cp_report_write_run(const char *folder, const cp_bytes *log, const char *path, cp_status *status) {
    tally found;
    return make_report(&folder, 1, log, path, NULL, &found, status);
}

/* ---- the command ---- */

/* clang-format off */
static const cp_option options[] = {
    {.name = "out", .kind = CP_OPTION_TEXT, .value = "FILE.html", .incidental = true,
     .help = "file for the page; an older one is replaced; default: report.html, in the run's folder when there is one run"},
    {.name = "figures", .kind = CP_OPTION_TEXT, .value = "DIR", .incidental = true,
     .help = "folder for the figures in two widths for papers, NAME-85mm.svg and NAME-178mm.svg, with texts of 8 points"},
    {0}};
/* clang-format on */

static void print_json(const char *out, int count, const tally *found) {
    cp_json_writer w = {0};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "report", out);
    cp_json_put_integer(&w, "runs", count);
    cp_json_put_integer(&w, "unfinished", found->unfinished);
    cp_json_put_integer(&w, "damaged", found->damaged);
    cp_json_put_end(&w);
    cp_json_writer_print(&w, stdout, NULL);
}

static void print_summary(const char *out, int count, const tally *found) {
    if (count == 1) {
        const char *state = found->unfinished ? ", which is not finished" : found->damaged ? ", which is damaged" : "";
        printf("Report of one run%s: %s\n", state, out);
        return;
    }
    printf("Report of %d runs", count);
    if (found->unfinished) printf(", %d not finished", found->unfinished);
    if (found->damaged) printf(", %d damaged", found->damaged);
    printf(": %s\n", out);
}

static int run(const cp_options *o) {
    cp_status      status = {0};
    tally          found;
    const char    *out = cp_option_text(o, "out");
    int            count = cp_argument_count(o);
    cp_report_path path = {"report.html"};
    if (count == 1) path = cp_report_file(&(cp_report_run){.folder = cp_argument(o, 0)}, "report.html", "");
    if (!out) out = path.s;
    if (!make_report(cp_arguments(o), count, NULL, out, cp_option_text(o, "figures"), &found, &status)) {
        cp_complain(o, "%s", status.message);
        return CP_EXIT_FAILED;
    }
    if (cp_option_flag(o, "json"))
        print_json(out, count, &found);
    else if (!cp_option_flag(o, "quiet"))
        print_summary(out, count, &found);
    if (found.damaged == 0) return CP_EXIT_OK;
    cp_complain(o, "the page is written, but a run is damaged: %s", found.first_damage.message);
    return CP_EXIT_FAILED;
}

const cp_command cp_command_report = {
    .name = "report",
    .purpose = "make one HTML page from the folders of runs",
    .arguments = "DIR...",
    .details = "The page shows what was run, the table and the figures of each run, and needs no network. Several runs "
               "of one experiment are compared: a table shows the options in which they differ and their results, and figures of "
               "the same name have the same axes. Runs that are unfinished or cannot be read are marked; if any run is damaged, "
               "the exit code is 1.",
    .example = "runs/synthetic-* --out report.html",
    .options = options,
    .without = "seed",
    .run = run,
};
