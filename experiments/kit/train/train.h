/* A complete training, as `couplet train` runs it.
 *
 *     static int run(const cp_options *o) {
 *         cp_status         status = {0};
 *         cp_trainer_config config;
 *         cp_images        *images = cp_images_load(cp_argument(o, 0), &status);
 *         int               code = images ? cp_train_read(o, images, &config) : CP_EXIT_FAILED;
 *         if (code == CP_EXIT_OK) code = cp_train(o, images, &config);
 *         ...
 *
 * The command's table of options is cp_train_options with cp_train_presets, or its own table, with .forwards_to = &cp_command_train. */
#pragma once

#include "experiments/kit/train/trainer.h"

extern const cp_option  cp_train_options[];
extern const cp_default cp_train_presets[];

enum { CP_TRAIN_LAMBDAS = 3 };
extern const double cp_train_lambdas[CP_TRAIN_LAMBDAS]; /* that --lambda auto tries */

/* Reads the options into a configuration, which may then be changed, and checks them against the images. An exit code: errors have been
 * printed. */
int cp_train_read(const cp_options *options, const cp_images *images, cp_trainer_config *config);

/* Opens the run's folder; trains, or continues; measures, draws, writes result.json and prints the tables. An exit code. */
int cp_train(const cp_options *options, const cp_images *images, const cp_trainer_config *config);
