/* The main function of a program that is made of commands, or of one experiment.
 *
 *     int main(int count, char **words) {
 *         return cp_experiment_main(&moons, count, words);
 *     }
 *
 * All of them answer --help and --version, name the nearest word when one is mistyped, and end with an exit code of
 * options.h. The same tables give a manual page (--man) and shell completions (--completion bash, zsh or fish), which
 * can be installed where man and the shell look for them. */
#pragma once

#include "experiments/kit/cli/options.h"

typedef struct cp_program {
    const char              *name;
    const char              *purpose;    /* one line */
    const cp_command        *experiment; /* what runs when no command is named; NULL: one must be named */
    const cp_command *const *commands;   /* NULL ends them */
} cp_program;

int cp_program_main(const cp_program *program, int count, char *const *words);

/* A program that is the experiment, with its name; `NAME report DIR...` is the report (see report.h). */
int cp_experiment_main(const cp_command *experiment, int count, char *const *words);

/* Writes those texts. False: there is no such shell. */
void cp_program_manual(FILE *file, const cp_program *program);
bool cp_program_completion(FILE *file, const cp_program *program, const char *shell);

extern const char cp_program_exits[]; /* what the exit codes mean */
