/* The commands that exist. A new experiment is one file with one cp_command, a line here and a line in couplet.c.
 *
 * Those in couplet-kit work in any program with its own networks, heads and methods, by a line in its list of commands:
 *
 *     static const cp_command *const commands[] = {&cp_command_train, &cp_command_evaluate, &cp_command_report, NULL}; */
#pragma once

#include "experiments/kit/cli/options.h"
#include "experiments/kit/report/report.h"

/* In couplet-kit, as cp_command_report. `study` makes its runs with train and its samples with generate, so it needs these too. */
extern const cp_command cp_command_data, cp_command_train, cp_command_evaluate, cp_command_compare, cp_command_generate,
    cp_command_study, cp_command_predict, cp_command_rank, cp_command_export;

/* In the program couplet only. */
extern const cp_command cp_command_fetch, cp_command_import, cp_command_brats, cp_command_impute, cp_command_synthetic,
    cp_command_bench, cp_command_tape;
