/* What the files of a run's folder share: run.c opens and closes it, run_config.c and run_log.c know a file each. */
#ifndef CP_KIT_RUN_PARTS_H
#define CP_KIT_RUN_PARTS_H

#include "experiments/kit/run/run.h"

#define CP_RUN_CONFIG "config.json"
#define CP_RUN_LOG "log.jsonl"
#define CP_RUN_RESULT "result.json"
#define CP_RUN_HELD "another process is running in this folder" /* as messages say it */
enum { CP_RUN_FILE_LIMIT = 1 << 30 };

bool cp_run_has(const cp_run *run, const char *name); /* a file in its folder */

void cp_run_put_config(cp_json_writer *writer, const cp_options *options);
bool cp_run_check_config(cp_run *run); /* fails, with the first option that differs */

bool cp_run_open_log(cp_run *run);
bool cp_run_read_past(cp_run *run);
bool cp_run_log_event(cp_run *run, const char *event); /* with time, host, threads and seconds: no part of the result */

#endif
