/* The commands that exist. A new experiment is one file with one cp_command, a line here and a line in couplet.c. */
#ifndef CP_EXPERIMENTS_COMMANDS_H
#define CP_EXPERIMENTS_COMMANDS_H

#include "experiments/kit/cli/options.h"

extern const cp_command cp_command_fetch, cp_command_brats, cp_command_data, cp_command_train, cp_command_evaluate,
    cp_command_generate, cp_command_impute, cp_command_study, cp_command_synthetic, cp_command_predict, cp_command_bench,
    cp_command_tape;

#endif
