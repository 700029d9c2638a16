/* What the files of lists of runs share. */
#ifndef CP_KIT_RUNS_PARTS_H
#define CP_KIT_RUNS_PARTS_H

#include "experiments/kit/run/runs.h"

/* FOLDER/PART/NAMEend; an empty part is none. */
cp_file_path cp_runs_path_in(const cp_runs *runs, const char *part, const char *name, const char *end);
cp_file_path cp_runs_file(const cp_runs *runs, int i, const char *file); /* of a run */
bool         cp_runs_is_there(const char *path);

/* Marks the runs that wait or run as tasks of Slurm, by the files that cp_runs_submit has left. False with a message when Slurm
 * does not answer; a study that was never submitted is not asked about. */
bool cp_runs_queued(const cp_runs *runs, bool *queued, cp_status *status);

#endif
