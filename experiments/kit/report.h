/* A report: one HTML page, complete in itself, from the folders of runs.
 *
 * What it reads of a run (see run.h): config.json; result.json, with its "title" and "notes" (an array of sentences)
 * and "table" (see cp_table_put) or, without one, "methods": {name: {measure: {"mean":, "sd":}}}; the start and end
 * in log.jsonl; all figures *.svg and pictures *.png, by name. A run that is not finished is shown as that. */
#ifndef CP_KIT_REPORT_H
#define CP_KIT_REPORT_H

#include "experiments/kit/options.h"

bool cp_report_write(const char *const *folders, int count, const char *path, cp_status *status);

extern const cp_command cp_command_report;

#endif
