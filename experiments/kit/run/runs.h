/* A list of runs: commands of this program, each with a folder of its own, which processes here, other machines that see the
 * folder, or a cluster may work on at the same time.
 *
 *     STUDY/study.json         the list, for --status
 *     STUDY/runs/NAME/         a run (see run.h); one with config.json and result.json alone is done, too
 *     STUDY/failed/NAME.txt    what a run that failed has said
 *     STUDY/slurm/             what was submitted
 *
 * How far a run is follows from looking at its folder. Whoever works on a run holds the lock of its log.jsonl, which the system
 * lets go of when that process ends, however it ends: no run is made twice, and none stays blocked. */
#ifndef CP_KIT_RUNS_H
#define CP_KIT_RUNS_H

#include "experiments/kit/run/run.h"

/* ---- words of a command ---- */

typedef struct cp_words {
    char **at; /* (count), and NULL */
    int    count;
    bool   failed; /* there was not enough memory */
} cp_words;

void cp_words_add(cp_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cp_words_free(cp_words *words);

/* This command again: its name, unless it is the whole program, its arguments and the options that were given; not those of
 * `without`, a list that ends with NULL. */
void cp_words_add_command(cp_words *words, const cp_options *options, const char *const *without);
bool cp_command_is_subcommand(const cp_options *options); /* of a program with several */

/* One option as it was given: --name=value, or --name of a flag. */
void cp_words_add_option(cp_words *words, const cp_options *options, const cp_option *option);

/* The word as sh reads it back: as it is, or in quotes. */
void cp_shell_quote(cp_bytes *out, const char *word);

/* ---- the list ---- */

typedef enum cp_run_stage {
    CP_STAGE_PENDING,  /* nobody works on it: not begun, or begun and to be continued */
    CP_STAGE_FAILED,   /* the same, after a failure that is told in failed/ */
    CP_STAGE_RUNNING,  /* a process holds it */
    CP_STAGE_DAMAGED,  /* a file of it is not whole */
    CP_STAGE_DONE,     /* it has a result */
    CP_STAGE_DIVERGED, /* the same, and the result says so */
    CP_STAGES,
} cp_run_stage;

typedef struct cp_planned_run {
    char    *name;         /* of its folder */
    char    *group;        /* runs of a group take about as long as each other */
    cp_words words;        /* of the command, without --out */
    bool     without_data; /* it cannot be made here, for want of its data; should it be done, it counts */
} cp_planned_run;

typedef struct cp_runs {
    char            folder[700];   /* of the study */
    char            program[1024]; /* this one, as commands name it */
    const char     *executable;    /* and as the system does: the same file, even when another has its name by now */
    cp_planned_run *at;
    int             count;
} cp_runs;

/* An empty list; `folder` is made. NULL with a message. */
cp_runs *cp_runs_new(const char *folder, cp_status *status);
void     cp_runs_free(cp_runs *runs); /* NULL is allowed */

/* Takes the words over. */
bool cp_runs_add(cp_runs *runs, const char *name, const char *group, cp_words *words, cp_status *status);

/* Once all are there: two of one name are refused, for they would share a folder, and so is a folder with things that are no study. */
bool cp_runs_check(const cp_runs *runs, cp_status *status);

bool     cp_runs_save(const cp_runs *runs, cp_status *status); /* study.json */
cp_runs *cp_runs_load(const char *folder, cp_status *status);  /* from there */
cp_json *cp_runs_result(const cp_runs *runs, int i);           /* NULL: there is none */

/* Whether each command is one line: none of its words, and not the folder, has a newline. */
bool cp_runs_check_lines(const cp_runs *runs, cp_status *status);

/* Its command as a line for sh, with --out, --quiet and --threads, which is 1 for 0: others run beside it. */
void cp_runs_put_command(const cp_runs *runs, int i, int threads, cp_bytes *out);

cp_file_path cp_runs_folder(const cp_runs *runs, int i); /* its folder */
cp_file_path cp_runs_failure_path(const cp_runs *runs, int i);

cp_run_stage cp_runs_stage(const cp_runs *runs, int i);

int cp_runs_count_others(const cp_runs *runs); /* how many runs the folder has that are not in the list: of other commands */

/* Moves what is damaged aside, into NAME.damaged-1 and so on, and tells it on stderr: it is made again. Here the weights and
 * checkpoints of runs that nobody works on are read through, too. */
bool cp_runs_quarantine(const cp_runs *runs, cp_status *status);

/* ---- doing them ---- */

typedef struct cp_runs_config {
    int         jobs;    /* processes; 0: as many as the machine has room for */
    int         threads; /* of each; 0: what `jobs` leaves room for */
    bool        quiet;
    const char *called; /* messages begin with it: "couplet study" */
} cp_runs_config;

/* Whether somebody should make it: left, or failed before, and not without_data. */
bool cp_runs_is_pending(const cp_runs *runs, int i);

/* Makes all that are open, and waits for those that others are making; those whose owner has died are taken over. Ctrl-C ends
 * the processes, which save what they have. True when all are done; what failed has been told on stderr. */
bool cp_runs_execute(const cp_runs *runs, cp_runs_config config, cp_status *status);

/* `couplet study --status DIR`: an exit code. */
int cp_runs_status(const cp_options *options);

/* Submits what is left and not queued yet; `merge` is the command that makes the tables afterward, `called` the name of the study's
 * command in what is told. */
bool cp_runs_submit(const cp_runs *runs, const char *sbatch_options, int threads, const cp_words *merge, const char *called,
                    cp_status *status);

#endif
