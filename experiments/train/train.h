/* What the files of `couplet train` share: train.c reads the settings, train_run.c trains, train_result.c tells what came out. */
#ifndef CP_EXPERIMENTS_TRAIN_H
#define CP_EXPERIMENTS_TRAIN_H

#include "experiments/kit/train/trainer.h"

enum { CP_TRAIN_LAMBDAS = 3 };
extern const double cp_train_lambdas[CP_TRAIN_LAMBDAS]; /* that --lambda auto tries */

/* What a result is about. */
typedef struct cp_train {
    const cp_options *options;
    const cp_method  *method;
    cp_images        *images;
    int              *drawn; /* the labeled rows of the training split */
    int               drawn_count;
    cp_run           *run;
    double            lambda; /* of the training that counts */
    bool              lambda_chosen;
    double            lambda_nll[CP_TRAIN_LAMBDAS]; /* then of each: validation, scaled; infinite: it diverged */
    bool              diverged;                     /* so it was reported */
} cp_train;

/* Measures the weights that the trainer left in the run's folder on both splits, draws the figures, writes result.json and prints
 * the tables. False with a message in the run's status. */
bool cp_train_conclude(cp_train *train, const cp_trainer *trainer);

/* The result of a training that the guard gave up: what happened, and no figures of merit. */
bool cp_train_report_divergence(cp_train *train, const cp_trainer *trainer);

/* Whether `couplet train` would begin with these options and images; what is wrong is told. An exit code. */
int cp_train_check(const cp_options *options, cp_images *images);

/* ---- train_run.c ---- */

/* Trains, concludes and closes the run; an exit code. With `each_lambda`, one training for each of cp_train_lambdas. */
int cp_train_run(cp_train *train, cp_trainer_config *config, bool each_lambda);

/* Removes the checkpoints of a finished run, and the weights of one that diverged. */
void cp_train_clean_up(const cp_train *train);

#endif
