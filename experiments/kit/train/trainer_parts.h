/* What the files of the trainer share: trainer.c runs it, trainer_step.c makes a step, trainer_state.c saves and restores. */
#pragma once

#include "experiments/kit/data/batches.h"
#include "experiments/kit/run/progress.h"
#include "experiments/kit/train/trainer.h"

/* What COUPLET_INJECT can do, see trainer.h. */
typedef enum cp_fault { CP_FAULT_WEIGHTS, CP_FAULT_GRADIENTS, CP_FAULT_CHAINS, CP_FAULT_STOP, CP_FAULTS } cp_fault;

struct cp_trainer {
    cp_trainer_config config;
    const cp_images  *images;
    cp_run           *run;
    int              *drawn; /* the labeled rows of the training split */
    int               drawn_count;
    const double  *tried; /* the scaled validation NLL of each of cp_train_lambdas, infinite where it diverged; NULL: one lambda */
    cp_trainer_end end;
    char           folder[960]; /* with room for the name of a file in a cp_file_path */
    cp_model      *model;
    cp_optim      *adam;
    cp_ema        *ema;
    cp_class_gaussian *gaussian; /* of the chains' start, or NULL */
    cp_start           start;
    cp_replay         *replay; /* NULL: the method needs no samples */
    cp_batches        *labeled, *unlabeled;
    cp_tape           *tape;
    cp_tensor         *labeled_x, *unlabeled_x, *augmented_x, *samples; /* (batch, H, W, C) each */
    int    *labeled_lengths, *unlabeled_lengths, *sample_lengths; /* of their rows, where these are sequences of several lengths */
    int    *guesses;                                              /* (unlabeled): pseudo-labels, or -1 */
    int    *entries, *sample_labels;                              /* (chains) */
    bool   *stuck, *drop;
    cp_rng  chain_noise;
    int64_t fault_at[CP_FAULTS]; /* the step; below 0: none */

    /* State, saved with the objects above. */
    int64_t  step;
    double   rate_scale;                /* halved by every rollback */
    int64_t  injected;                  /* bits of the faults that have been made */
    int64_t  pretraining;               /* 1: in the first of two stages */
    int64_t  stopped;                   /* 1: the checkpoint is of a stop, and the last good state is a file of its own */
    double   begin_slope, begin_energy; /* for the log: mean |dE/dx|^2 and energy of training images when the second stage began, */
    double   start_slope;               /* and the slope where chains start, before the scale was limited by it */
    cp_guard guard;
    double  *traces; /* (trace_room, CP_TRACES) */
    int      trace_room;
    int64_t  trace_count;
    int64_t  selected; /* the step; 0: none yet */
    double   selected_nll;

    double  sums[CP_TRACES]; /* of the steps since the last measurement */
    int64_t summed, summed_slopes;

    bool        saved; /* the checkpoint is this state */
    cp_progress progress;
};

/* Whether the fault is due now, for the first time. A stop may be due again, after a rollback. */
bool cp_trainer_injects(cp_trainer *t, cp_fault fault);

/* Makes a step, or leaves one out; t->step increases in both cases. */
cp_guard_verdict cp_trainer_step(cp_trainer *t);

/* Begins the second stage. */
bool cp_trainer_begin_joint(cp_trainer *t, cp_status *status);

/* The state becomes the checkpoint, and the last good state, to which the guard rolls back. */
bool cp_trainer_save(cp_trainer *t, cp_status *status);

/* The state becomes the checkpoint, good or not; the last good state stays as it is, as a file of its own. */
bool cp_trainer_save_stopped(cp_trainer *t, cp_status *status);
bool cp_trainer_load(cp_trainer *t, cp_status *status); /* true also when there is none: the training begins */

/* To the last good state, with half the rate and fresh chains, which is then the checkpoint. */
bool cp_trainer_roll_back(cp_trainer *t, cp_status *status);

/* The model's weights as they are now, as a file in the folder, with their temperature. */
bool cp_trainer_save_model(cp_trainer *t, const char *name, double temperature, cp_status *status);

/* The temperature of the averaged weights, if they have been measured at this step; otherwise 0. */
double cp_trainer_temperature(const cp_trainer *t);
bool   cp_trainer_save_chains(cp_trainer *t, cp_status *status);

/* Removes the checkpoints of a finished training, and the weights of one that diverged. */
void cp_trainer_clean_up(const char *folder, bool diverged);

cp_file_path cp_trainer_file(const cp_trainer *t, const char *name);
