/* A list of runs: commands of this program, each with a folder of its own. Processes here, other machines that see the folder,
 * and a cluster may work on them at the same time.
 *
 *     STUDY/study.json         the list, for --status
 *     STUDY/runs/NAME/         a run (see run.h); config.json and result.json alone make a finished one
 *     STUDY/runs.jsonl         finished runs, one per line: {"name": ..., "config": {...}, "result": {...}}
 *     STUDY/failed/NAME.txt    the output of a run that failed
 *     STUDY/slurm/             what was submitted
 *
 * The state of a run follows from its folder or, without one, from its line in runs.jsonl. The process that works on a run holds
 * the lock of its log.jsonl, which the system releases when that process ends, however it ends: no run is made twice, and none
 * stays blocked. */
#pragma once

#include "experiments/kit/run/run.h"

#include <stdarg.h>

/* ---- words of a command ---- */

typedef struct cp_words {
    char **at; /* (count), and NULL */
    int    count;
    bool   failed; /* there was not enough memory */
} cp_words;

void cp_words_add(cp_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cp_words_add_list(cp_words *words, const char *format, va_list values);
bool cp_words_have(const cp_words *words, const char *word);
void cp_words_put(const cp_words *words, cp_json_writer *writer, const char *key); /* an array */
void cp_words_free(cp_words *words);

/* This command again: its name, unless it is the whole program, its arguments and the given options, except those in `without`,
 * a list that ends with NULL. */
void cp_words_add_command(cp_words *words, const cp_options *options, const char *const *without);
bool cp_command_is_subcommand(const cp_options *options); /* of a program with several */

/* One option as it was given: --name=value, or --name of a flag. */
void cp_words_add_option(cp_words *words, const cp_options *options, const cp_option *option);

/* The word for sh, in quotes if it needs them. */
void cp_shell_quote(cp_bytes *out, const char *word);
void cp_words_put_line(const cp_words *words, cp_bytes *out); /* the words in one line for sh */

/* ---- the list ---- */

typedef enum cp_run_stage {
    CP_STAGE_PENDING,  /* not started, or unfinished */
    CP_STAGE_FAILED,   /* the same, after a failure, which is in failed/ */
    CP_STAGE_RUNNING,  /* a process holds its lock */
    CP_STAGE_DAMAGED,  /* one of its files is damaged */
    CP_STAGE_DONE,     /* it has a result */
    CP_STAGE_DIVERGED, /* the same, and the result says so */
    CP_STAGES,
} cp_run_stage;

typedef struct cp_planned_run {
    char    *name;         /* of its folder */
    char    *group;        /* runs of a group take about the same time */
    cp_words words;        /* of the command, without --out */
    bool     without_data; /* its data are missing here, so it cannot be run; it counts if it is finished */
    int      after;        /* it starts when this run of the list, counted from 1, is done; 0: at once */
} cp_planned_run;

typedef struct cp_packed_run cp_packed_run;

typedef struct cp_runs {
    char            folder[700];   /* of the study */
    char            program[1024]; /* this program, as commands name it */
    const char     *executable;    /* the path that opens this very file, even if another has taken its name */
    cp_planned_run *at;
    int             count;
    cp_packed_run  *packed; /* the lines of runs.jsonl, by name */
    int             packed_count;
} cp_runs;

/* An empty list. NULL with a message, also when a line of runs.jsonl is damaged. */
cp_runs *cp_runs_open(const char *folder, cp_status *status);
cp_runs *cp_runs_new(const char *folder, cp_status *status); /* the same; the folder is made */
void     cp_runs_free(cp_runs *runs);                        /* NULL is allowed */

/* Takes ownership of the words. */
bool cp_runs_add(cp_runs *runs, const char *name, const char *group, cp_words *words, cp_status *status);

/* After all were added: refuses two runs with the same name, which would share a folder, and a folder with other things. */
bool cp_runs_check(const cp_runs *runs, cp_status *status);

bool     cp_runs_save(const cp_runs *runs, cp_status *status); /* study.json */
cp_runs *cp_runs_load(const char *folder, cp_status *status);  /* from there */

/* Refuses newlines in commands and in the folder's name, for --list and --slurm. */
bool cp_runs_check_lines(const cp_runs *runs, cp_status *status);

/* The whole command of a run, with --out, --threads (1 for 0) and --quiet. */
cp_words cp_runs_command(const cp_runs *runs, int i, int threads);

cp_file_path cp_runs_folder(const cp_runs *runs, int i);
cp_file_path cp_runs_file(const cp_runs *runs, int i, const char *name); /* in its folder */
cp_file_path cp_runs_failure_path(const cp_runs *runs, int i);

cp_run_stage cp_runs_stage(const cp_runs *runs, int i);
bool         cp_runs_has_result(cp_run_stage stage);             /* CP_STAGE_DONE or CP_STAGE_DIVERGED */
void         cp_runs_forget_failure(const cp_runs *runs, int i); /* removes its file from failed/ */

/* The names of all runs that are stored there, in folders or lines, whatever command made them. */
cp_words cp_runs_stored(const cp_runs *runs);
int      cp_runs_count_others(const cp_runs *runs); /* how many of these are not in the list */

/* The CP_RUN_CONFIG or CP_RUN_RESULT of a stored run, from its folder or its line; NULL when there is none. To be freed. */
cp_json *cp_runs_read(const cp_runs *runs, const char *name, const char *file);

/* `couplet study --pack DIR`: writes all finished runs of the folder to its runs.jsonl, in one step, by name. Lines of runs that
 * have no folder any more are kept. Returns an exit code. */
int cp_runs_pack(const cp_options *options);

/* Renames damaged runs to NAME.damaged-1 and so on, with a message on stderr, so that they are run again. The weights
 * and checkpoints of runs that no process works on are checked, too. */
bool cp_runs_quarantine(const cp_runs *runs, cp_status *status);

/* ---- running them ---- */

typedef struct cp_runs_config {
    int         jobs;    /* processes; 0: as many as the processors allow */
    int         threads; /* of each; 0: as many as `jobs` leaves */
    bool        quiet;
    const char *called; /* messages begin with it: "couplet study" */

    /* Called before a run with `after` starts; NULL: nothing is to be done. */
    bool (*prepare)(void *context, int run, cp_status *status);
    void *context;
} cp_runs_config;

/* Whether it should be run: pending or failed, and not without_data. */
bool cp_runs_is_pending(const cp_runs *runs, int i);

/* Makes all that are pending, and waits for those that other processes are making; if such a process dies, its runs are taken
 * over. Ctrl-C ends the processes, which save what they have. True when all are done; failures have been reported on stderr. */
bool cp_runs_execute(const cp_runs *runs, cp_runs_config config, cp_status *status);

/* `couplet study --status DIR`: an exit code. */
int cp_runs_status(const cp_options *options);

/* Marks the runs that wait or run as Slurm tasks, by the files that cp_runs_submit has left. False with a message when Slurm does
 * not answer; it is not asked about a study that was never submitted. */
bool cp_runs_queued(const cp_runs *runs, bool *queued, cp_status *status);

/* Submits what is left and not queued yet; `merge` is the command that makes the tables afterward, `called` the study's command as
 * messages name it. */
bool cp_runs_submit(const cp_runs *runs, const char *sbatch_options, int threads, const cp_words *merge, const char *called,
                    cp_status *status);
