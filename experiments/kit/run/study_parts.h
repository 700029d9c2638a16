/* What the files of studies share: study.c makes tables and result, study_runs.c has trials that are runs of their own. */
#ifndef CP_KIT_STUDY_PARTS_H
#define CP_KIT_STUDY_PARTS_H

#include "experiments/kit/run/study.h"

typedef enum cp_study_way {
    CP_STUDY_THREADS, /* all trials in this process */
    CP_STUDY_RUNS,    /* each in a folder of its own, by other processes */
    CP_STUDY_ONE,     /* this process is one of those */
} cp_study_way;

typedef struct cp_study_parts {
    const cp_options *options;
    const char       *title;
    cp_trials_config  config;
    cp_study_way      way;
    cp_runs          *runs;
    cp_status         trouble;            /* with the runs */
    int               code;               /* to end with, where there is no result to make */
    bool              complete;           /* all trials are there, or all that are to be told of */
    cp_bytes          said, notes, files; /* texts, each with its NUL */
    cp_json_writer    result;
    bool              result_begun;
    struct {
        const char *key;
        cp_table   *table;
    } tables[8];
    int table_count;
} cp_study_parts;

bool cp_study_plan(cp_study *study);      /* false: it has been told on stderr; without runs, the study ends with its code */
bool cp_study_make_runs(cp_study *study); /* true: there is a result to make, and study->run is open */
bool cp_study_make_one(cp_study *study);  /* false: its result is all there is */

#endif
