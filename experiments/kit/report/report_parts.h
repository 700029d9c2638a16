/* What the files of the report share: a run as read from its folder, and pieces of HTML. */
#pragma once

#include "core/io/json.h"
#include "experiments/kit/figure/figure_parts.h"

/* ---- a run ---- */

typedef struct cp_report_picture {
    char       name[256]; /* without its ending */
    cp_figure *figure;    /* from NAME.figure.json; NULL when there is none */
    cp_status  error;     /* why it cannot be read */
} cp_report_picture;

typedef struct cp_report_run {
    const char        *folder;
    const cp_bytes    *log;                       /* the text of log.jsonl, or NULL */
    cp_json           *config, *result;           /* either may be NULL: cannot be read, not finished */
    cp_status          error;                     /* the first file that cannot be read */
    char               started[40], command[100]; /* "couplet synthetic", "moons" */
    double             seconds;                   /* NaN: unknown */
    int                threads, trials;           /* trials: those in the log */
    cp_report_picture *pictures;                  /* by name */
    int                picture_count;
} cp_report_run;

typedef struct cp_report_path {
    char s[1400];
} cp_report_path;
cp_report_path cp_report_file(const cp_report_run *run, const char *name, const char *end);
bool           cp_report_has(const cp_report_run *run, const char *name, const char *end); /* a file, a folder or a link */

/* Folders may be untrusted: only regular files in the folder itself are read (cp_file_read_inside). */
bool cp_report_read_file(const cp_report_run *run, const char *name, const char *end, cp_bytes *out, cp_status *status);

const char *cp_report_experiment(const cp_report_run *run); /* "" for a run that cannot be read */
const char *cp_report_title(const cp_report_run *run);

/* ---- HTML ---- */

void cp_html_tag(cp_bytes *out, const char *tag, const char *text); /* <tag>text</tag> */
void cp_html_value(cp_bytes *out, const cp_json *value);            /* as it is typed on a command line */
void cp_html_mean_sd(cp_bytes *out, const cp_json *measure);        /* {"mean":, "sd":} */
void cp_html_run(cp_bytes *out, const cp_report_run *run, int number,
                 bool titled); /* its whole section; titled: false where the page's heading is its title already */

/* A table of some runs of one experiment, one row per run: the options in which they differ, and their results. numbers[i] is the run's
 * number among all. */
void cp_html_compare(cp_bytes *out, const cp_report_run *runs, const int *numbers, int count);
