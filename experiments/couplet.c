/* The `couplet` command: its list of commands. */
#include "experiments/commands.h"
#include "experiments/kit/cli/program.h"

int main(int count, char **words) {
    static const cp_command *const commands[] = {
        &cp_command_fetch,   &cp_command_import,    &cp_command_brats,
        &cp_command_data,    &cp_command_train,     &cp_command_evaluate,
        &cp_command_compare, &cp_command_generate,  &cp_command_impute,
        &cp_command_study,   &cp_command_synthetic, &cp_command_predict,
        &cp_command_export,  &cp_command_rank,      &cp_command_report,
        &cp_command_tape,    &cp_command_bench,     NULL,
    };
    static const cp_program couplet = {
        .name = "couplet", .purpose = "hybrid generative and discriminative classifiers", .commands = commands};
    return cp_program_main(&couplet, count, words);
}
