/* Reports: the page. */
#include "experiments/kit/report/report.h"

#include "core/io/file.h"
#include "core/real.h"
#include "experiments/kit/report/report_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The colors are those of the figures, cp_paper and cp_ink. */
static const char style[] =
    ":root{color-scheme:light dark;--ink:#222222;--soft:#5c6470;--page:#f4f5f6;--card:#ffffff;--line:#dfe2e6;--accent:#0068a3;"
    "--bad:#b3261e}\n"
    "@media screen and (prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a2a9b3;--page:#15171a;--card:#1e2125;"
    "--line:#363b42;--accent:#6cb8f0;--bad:#ff8a80}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;"
    "overflow-wrap:anywhere}\n"
    "main{max-width:80rem;margin:0 auto;padding:1.2rem 1rem 4rem}\n"
    "h1{font-size:1.7rem;line-height:1.2;margin:.6rem 0}h2{font-size:1.35rem;margin:2rem 0 .2rem}h3{font-size:1.2rem;margin:0 0 "
    ".3rem}\n"
    ".soft{color:var(--soft)}.bad{color:var(--bad)}a{color:var(--accent)}\n"
    "section>p:first-child{margin-top:0}section{background:var(--card);border:1px solid "
    "var(--line);border-radius:10px;padding:1.1rem;margin:1.2rem 0}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;margin:.8rem 0;font-size:.94rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.35rem .9rem .35rem 0;text-align:right;vertical-align:top;white-space:nowrap;border-bottom:1px solid "
    "var(--line)}\n"
    "th{color:var(--soft);font-weight:600;vertical-align:bottom;white-space:normal;overflow-wrap:normal}\n"
    "tr>:first-child,.left{text-align:left}thead tr+tr>:first-child{text-align:right}\n"
    ".compare thead tr+tr th{min-width:4.5rem}.compare th[colspan]{text-align:center}\n"
    ".compare td:first-child,.compare th[rowspan]{position:sticky;left:0;background:var(--page);white-space:normal;min-width:7rem;"
    "max-width:min(20rem,40vw);text-align:left}\n"
    "figure{margin:1.4rem 0}figure svg,figure img{display:block;margin:0 auto;max-width:100%;height:auto}\n"
    "figure img{image-rendering:pixelated;border-radius:4px}\n"
    ".narrow{display:none}@media(max-width:45rem){section{padding:.8rem}table{font-size:.8rem}"
    "th,td{padding-right:.5rem}.narrow{display:block}.at-large{display:none}}\n"
    "figcaption{font-size:.9rem;max-width:60rem;margin:.4rem auto 0}figcaption p{margin:.2rem 0}\n"
    "pre,code{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}\n"
    "pre{overflow:auto;max-height:28rem;background:var(--page);border:1px solid var(--line);border-radius:6px;padding:.7rem}\n"
    ".command{white-space:pre-wrap}.command span{display:inline-block}summary{cursor:pointer;color:var(--accent)}\n"
    "@media print{section{break-inside:avoid;border:0}details{display:none}}\n";

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

/* Of one run its own title, of several what was run if it is the same. */
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

static bool read_runs(cp_report_run *runs, const char *const *folders, int count, cp_report_tally *tally, cp_status *status) {
    for (int i = 0; i < count; i++) {
        runs[i].folder = folders[i];
        if (access(folders[i], F_OK) != 0) return cp_fail(status, "%.300s: there is no such folder", folders[i]);
        cp_report_read(&runs[i]);
        bool damaged = runs[i].trouble.message[0] != '\0';
        tally->unfinished += runs[i].config && !runs[i].result && !damaged;
        tally->damaged += damaged;
        if (damaged) cp_fail(&tally->first_damage, "%s", runs[i].trouble.message);
    }
    for (int i = 0; i < count; i++)
        if (runs[i].config) return true;
    return cp_fail(status, "%s", count > 0 ? tally->first_damage.message : "no folder of a run was named");
}

bool cp_report_make(const char *const *folders, int count, const char *path, cp_report_tally *tally, cp_status *status) {
    if (!may_replace(path, status)) return false;
    cp_report_run *runs = calloc((size_t)(count > 0 ? count : 1), sizeof *runs);
    cp_bytes       page = {0};
    bool           ok = runs || cp_fail(status, "not enough memory for %d runs", count);
    *tally = (cp_report_tally){0};
    ok = ok && read_runs(runs, folders, count, tally, status) && put_page(&page, runs, count, status);
    if (ok && page.failed) ok = cp_fail(status, "%.300s: not enough memory for the page", path);
    ok = ok && cp_file_write(path, page.data, page.size, status);
    for (int i = 0; runs && i < count; i++) cp_report_free(&runs[i]);
    free(runs);
    cp_bytes_free(&page);
    return ok;
}

bool cp_report_write(const char *const *folders, int count, const char *path, cp_status *status) {
    cp_report_tally tally;
    return cp_report_make(folders, count, path, &tally, status);
}
