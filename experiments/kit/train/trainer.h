/* Trains one model on images: the loop, and all state that changes from step to step.
 *
 *     cp_trainer *t = cp_trainer_new(&config, images, run);
 *     if (t && cp_trainer_run(t) != CP_TRAINER_STOPPED) cp_trainer_conclude(t);
 *     cp_trainer_free(t);
 *
 * A step: a labeled batch, augmented; for an energy model also an unlabeled batch and chains from the replay buffer, walked by SGLD;
 * the gradient of the method's loss; the guard's verdict; Adam; the average of the weights.
 *
 * With `pretrain`, a training has two stages. The first trains the classifier alone, its norms by the statistics of each batch. Then the
 * statistics are frozen, the head is fitted in closed form to the network's features, and the second stage learns energies too, on one
 * and the same function for data, samples and sampler.
 *
 * Every `every` steps the averaged weights are measured on the validation split, and the state becomes the checkpoint: the last good
 * state, from which a stopped run resumes, and to which the guard rolls back. On Ctrl-C or SIGTERM the state at the end of
 * the step becomes the checkpoint too; until the next measurement the last good state is then last-good.safetensors. All of it is a
 * function of the settings: a training that is stopped at any moment and started again ends with the same bytes.
 *
 * Tests make faults with the environment variable COUPLET_INJECT: weights@100 (also gradients or chains; several with commas between)
 * makes a NaN there once, at step 100; stop@100 raises SIGTERM before step 100.
 *
 * Files in the run's folder: checkpoint.safetensors; selected.safetensors, the averaged weights with the minimum validation NLL after
 * temperature scaling; end.safetensors, those at the end; pretrained.safetensors, those at the end of the first of two stages;
 * chains.safetensors, where chains start and the replay buffer at the end. */
#pragma once

#include "experiments/kit/data/augment.h"
#include "experiments/kit/data/images.h"
#include "experiments/kit/run/run.h"
#include "experiments/kit/train/guard.h"
#include "experiments/kit/train/method.h"
#include "optim/sgld.h"

#define CP_TRAINER_CHECKPOINT "checkpoint.safetensors"
#define CP_TRAINER_GOOD "last-good.safetensors"
#define CP_TRAINER_SELECTED "selected.safetensors"
#define CP_TRAINER_END "end.safetensors"
#define CP_TRAINER_PRETRAINED "pretrained.safetensors"
#define CP_TRAINER_CHAINS "chains.safetensors"

typedef struct cp_trainer_config {
    const cp_method *method;
    cp_model_config  model;
    uint64_t         seed;
    int              labels;         /* labeled images per class, drawn by the seed, or all of a class with fewer; 0: all */
    const char      *labeled_rows;   /* a file with the labeled rows instead; NULL: none */
    int64_t          steps, every;   /* steps: of both stages */
    int64_t          pretrain;       /* steps of the first stage; 0: there is none */
    cp_schedule      first_schedule; /* of the first stage */
    cp_schedule      schedule;       /* of the second, or of all; its step 0 is the stage's first */
    double           scale;          /* of the fitted precision when the second stage begins; 0: by rule */
    double           threshold;      /* posterior from which a guess is a pseudo-label */
    double           weight_decay, clip, average; /* clip: norm of the gradients; 0: none. average: decay of the weights' average */
    int              batch, unlabeled, chains;    /* of a step */
    cp_augment       augment;
    cp_objective     objective;
    int              slope_every; /* steps from one gradient penalty to the next, which then weighs as much more */
    cp_sgld_config   sgld;
    int              buffer;
    double           fresh;
    bool             gaussian_start; /* chains start from the Gaussian of the training pixels; false: uniform noise */
    double           restart_above;  /* restart chains whose energy exceeds the data's by this; 0: never */
    cp_guard         guard;          /* its settings */
    bool             each_lambda;    /* for cp_train: a training for each of cp_train_lambdas, the best of which counts */
    const char      *folder;         /* of the files; NULL: the run's */
} cp_trainer_config;

/* What is measured at every `every` steps: means over the steps since the last time, then validation figures. */
typedef enum cp_trace {
    CP_TRACE_STEP,
    CP_TRACE_RATE,
    CP_TRACE_LOSS,
    CP_TRACE_CROSS_ENTROPY,
    CP_TRACE_GAP,
    CP_TRACE_SLOPE_DATA,
    CP_TRACE_SLOPE_SAMPLES,
    CP_TRACE_PENALTY,
    CP_TRACE_GRADIENT,
    CP_TRACE_RESTARTED, /* share of chains */
    CP_TRACE_GUESSED,   /* share of unlabeled images with a pseudo-label */
    CP_TRACE_ACCURACY,  /* of the validation split, percent */
    CP_TRACE_ECE,       /* percent */
    CP_TRACE_NLL,
    CP_TRACE_SCALED_NLL, /* after temperature scaling: what selection goes by */
    CP_TRACE_TEMPERATURE,
    CP_TRACES
} cp_trace;
extern const char *const cp_trace_names[CP_TRACES]; /* "step", "rate", "loss", ... */

typedef enum cp_trainer_end { CP_TRAINER_STOPPED, CP_TRAINER_DONE, CP_TRAINER_DIVERGED } cp_trainer_end;

typedef struct cp_trainer cp_trainer;

/* The images and the run must outlive the trainer. NULL with a message in the run's status. */
cp_trainer *cp_trainer_new(const cp_trainer_config *config, const cp_images *images, cp_run *run);
void        cp_trainer_free(cp_trainer *trainer); /* NULL is allowed */

/* Resumes from the folder's checkpoint, if there is one, and trains to the end. Stopped: by Ctrl-C or SIGTERM, with what was done
 * saved, or with a message. */
cp_trainer_end cp_trainer_run(cp_trainer *trainer);

/* Measures the weights on the validation and test split, draws the figures, writes result.json and prints its tables; or, if the
 * training diverged, reports what happened; this measurement may be the first to show it. False with a message in the run's status. */
bool cp_trainer_conclude(cp_trainer *trainer);

/* The labeled rows of the training split, in ascending order, by labels and labeled_rows of the configuration; to be freed. NULL with a
 * message. */
int *cp_trainer_draw(const cp_trainer_config *config, const cp_images *images, int *count, cp_status *status);
