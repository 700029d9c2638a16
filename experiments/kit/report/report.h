/* A report: one self-contained HTML page about the folders of runs.
 *
 * What it reads of a run (see run.h): config.json; result.json, with its "title" and "notes" (an array of sentences)
 * and "table" (see cp_table_put) or, without one, "methods": {name: {measure: {"mean":, "sd":}}}; the start and end
 * in log.jsonl; all figures and pictures (see figure.h; *.svg and *.png of other programs too), by name.
 *
 * Runs of one experiment are grouped, with a table of the options in which they differ and of their results; their figures of the same
 * name have the same axes. Runs that are unfinished or cannot be read are marked. */
#pragma once

#include "core/io/bytes.h"
#include "experiments/kit/cli/options.h"

/* False when there is no such folder, none of them holds a run that can be read, or the page cannot be written. */
bool cp_report_write(const char *const *folders, int count, const char *path, cp_status *status);

/* The same for one run. A process that holds the lock of its log.jsonl gives the text of that file, since opening and closing it
 * again would release the lock; NULL: the file is read. */
bool cp_report_write_run(const char *folder, const cp_bytes *log, const char *path, cp_status *status);

extern const cp_command cp_command_report;
