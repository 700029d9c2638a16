/* A trained model as other commands open it: the folder of a run of `couplet train`, or a model's file alone.
 *
 *     cp_run_model *trained = cp_run_model_open("runs/blood", CP_WEIGHTS_SELECTED, &status);
 *     if (trained && cp_run_model_chains(trained, &status)) ... trained->replay, trained->gaussian ...
 *     cp_run_model_free(trained); */
#pragma once

#include "core/io/md5.h"
#include "experiments/kit/data/images.h"
#include "experiments/kit/run/run.h"
#include "models/checkpoint.h"
#include "optim/sgld.h"

typedef enum cp_weights { CP_WEIGHTS_SELECTED, CP_WEIGHTS_END } cp_weights;

/* The option --weights, for tables of options; cp_option_choice returns a cp_weights. Weights are selected as a classifier, often long
 * before the density is learned, so what uses energies takes those at the end. */
#define CP_OPTION_WEIGHTS(DEFAULT)                                                                                                 \
    {                                                                                                                              \
        .name = "weights", .kind = CP_OPTION_CHOICE, .choices = "selected|end", .fallback = DEFAULT,                               \
        .help = "weights of a run: those with the minimum validation NLL after temperature scaling, or those at the end"           \
    }

/* Fields are for reading. */
typedef struct cp_run_model {
    cp_model          *model;
    char               folder[1024]; /* of the run; "" of a file alone */
    char               name[64];     /* the folder's or file's, without path and ending */
    cp_weights         weights;
    char               md5[CP_MD5_TEXT];        /* of the weights' file; "" of a pipe */
    char               result_md5[CP_MD5_TEXT]; /* of the run's result.json; "": a file alone, or a run that is not finished */
    double             temperature;             /* of the weights, fitted on validation; 1 when it is not known */
    cp_json           *config, *found; /* the run's config.json and result.json; NULL: a file alone, a run that is not finished */
    cp_shape           shape;          /* of an input: (H, W, C), (D) or (T, D); rank 0: not known */
    size_t             values;         /* of an image; known with the chains */
    cp_class_gaussian *gaussian;       /* where the run's chains started; NULL: not loaded, or from uniform noise */
    cp_replay         *replay;         /* the chains at the end; NULL: not loaded */
} cp_run_model;

/* NULL with a message. */
cp_run_model *cp_run_model_open(const char *path, cp_weights weights, cp_status *status);
void          cp_run_model_free(cp_run_model *trained); /* NULL is allowed */

bool cp_run_model_generative(const cp_run_model *trained); /* it has energies */

bool cp_run_model_unfinished(const cp_run_model *trained); /* a run without a result: its weights are half-trained */

/* "model": {"name":, "head":, "weights":, "finished":, "temperature":, "md5":, "result_md5":}. */
void cp_run_model_put(const cp_run_model *trained, cp_json_writer *writer);

/* A note when the run is not finished; file may be NULL. */
void cp_run_model_note(const cp_run_model *trained, cp_json_writer *writer, FILE *file);

/* For cp_run_show_unchanged: the members of cp_run_model_put that must be unchanged. */
#define CP_RUN_MODEL_SOURCES(trained)                                                                                              \
    {"the model", "model/md5", (trained)->md5}, { "the training", "model/result_md5", (trained)->result_md5 }

/* Images on which the model is measured, scaled as those of the training. NULL with a message: images or classes that do not fit;
 * images->warning has what is suspicious, such as other names of the classes. */
cp_images *cp_run_model_load(const cp_run_model *trained, const char *file_or_name, cp_status *status);

/* The images that the run was trained on. NULL with a message when they are not where they were, or have changed. */
cp_images *cp_run_model_images(const cp_run_model *trained, cp_status *status);

/* The mean training image into (values): that of the Gaussian where chains started, or else of the run's images. The chains are
 * loaded. */
bool cp_run_model_mean(const cp_run_model *trained, cp_real *mean, cp_status *status);

/* Loads the chains that the run left, and the shape of its images. False with a message: a softmax model, a file alone, or a
 * chains file that is not there or damaged. */
bool cp_run_model_chains(cp_run_model *trained, cp_status *status);

/* The samples of up to `max` chains, evenly spread over the filled ones: (*count, values) to be freed; NULL with a message. */
cp_real *cp_run_model_samples(const cp_run_model *trained, int max, int *count, cp_status *status);

/* Whether inputs of that shape, with that many classes (0: any), fit the model. Messages call their set `name`. */
bool cp_run_model_fits(const cp_run_model *trained, const char *name, cp_shape input, int classes, cp_status *status);

/* ---- the sampler's settings: the run's, unless given ---- */

/* --alpha, --noise and --clamp for a table of options; each command has its own --steps, a number or "run". */
/* clang-format off */
#define CP_OPTIONS_SAMPLER \
    {.name = "alpha", .kind = CP_OPTION_REAL, .word = "run", .fallback = "run", .min = 1e-12, .max = 1e9, \
     .help = "step size: a move is alpha / 2 times the gradient; run: as in training"}, \
    {.name = "noise", .kind = CP_OPTION_REAL, .word = "run", .fallback = "run", .max = 1e9, \
     .help = "standard deviation of the noise of each move; run: as in training"}, \
    {.name = "clamp", .kind = CP_OPTION_REAL, .word = "run", .fallback = "run", .max = 1e9, \
     .help = "limit of the gradient at each pixel, in either direction; 0: none; run: as in training"}
/* clang-format on */

enum { CP_SAMPLER_STEPS_MAX = 1000000 }; /* of --steps */

double cp_run_model_option(const cp_run_model *trained, const char *name); /* a number of the run's options; NaN: not known */
double cp_run_model_moves(const cp_run_model *trained); /* average number of moves of the training's chains, which are loaded */

/* `moves` is the value of --steps run. */
bool cp_run_model_sampler(const cp_run_model *trained, const cp_options *options, double moves, cp_sgld_config *sgld,
                          cp_status *status);
void cp_sampler_put(const cp_sgld_config *sgld, cp_json_writer *writer, const char *key); /* {"steps":, "alpha":, ...} */
