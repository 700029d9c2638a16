/* Progress on stderr: on a terminal one line that updates itself,
 *     training [#########...........]  45 %  1200 steps/s  loss 0.3412  12 s left
 * elsewhere plain lines, at most one every ten seconds and every ten percent. */
#pragma once

#include "core/error.h"

#include <stdint.h>
#include <stdio.h>

typedef struct cp_progress {
    const char *label, *unit; /* "training", "steps" */
    int64_t     total;
    int64_t     skipped; /* done before, by a run that is continued: not in the rate */
    bool        quiet;
    FILE       *file;      /* NULL: stderr */
    double (*clock)(void); /* seconds; NULL: cp_clock */

    double started, shown; /* the progress's own */
    int    tenth;
    bool   terminal, open;
} cp_progress;

void cp_progress_start(cp_progress *progress); /* the settings filled in, the rest zero */
void cp_progress_update(cp_progress *progress, int64_t done,
                        const char *state);  /* after the rate: "gap 0.31  accuracy 78.4 %", or "" */
void cp_progress_end(cp_progress *progress); /* clears the line on a terminal */

double cp_clock(void); /* seconds since some moment; never goes back */

/* "12 s", "3 min 20 s", "2 h 05 min". */
cp_text cp_duration_text(double seconds);
