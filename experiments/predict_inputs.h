/* The inputs of couplet predict: arrays of npz and npy files, pictures, and folders of pictures. */
#pragma once

#include "core/io/npy.h"
#include "experiments/kit/cli/options.h"
#include "models/predict.h"

/* Inputs of one shape and type. */
typedef struct cp_input_block {
    cp_npy      npy; /* images have their channels last */
    cp_inputs   inputs;
    int        *lengths; /* of sequences, or NULL */
    char      **files;   /* (inputs.count): of pictures, a path each; NULL: the rows of an array, in `name` */
    const char *name;    /* the argument */
} cp_input_block;

typedef struct cp_input_blocks {
    cp_input_block *at;
    int             count;
    int             inputs; /* in all */
} cp_input_blocks;

/* --layout for images of four axes in npy and npz files: CP_LAYOUT_AUTO is the order of the training, or NCHW when that is not known. */
enum { CP_LAYOUT_AUTO, CP_LAYOUT_NCHW, CP_LAYOUT_NHWC };
/* --split for npz files: auto is test, or the only array of inputs. */
enum { CP_SPLIT_AUTO, CP_SPLIT_TRAIN, CP_SPLIT_VAL, CP_SPLIT_TEST, CP_SPLIT_ALL };

/* Reads the arguments from `first` on. False with a message, and then there is something to free too. */
bool cp_input_blocks_read(const cp_options *options, int first, const cp_model *model, cp_input_blocks *blocks, cp_status *status);
void cp_input_blocks_free(cp_input_blocks *blocks);
