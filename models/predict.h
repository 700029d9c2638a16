/* Predictions for inputs as files have them: bytes, or numbers in the units of the training.
 *
 *     cp_predicted p = {0};
 *     cp_inputs    images = {.dtype = CP_U8, .elements = pixels, .count = 100, .shape = CP_SHAPE(28, 28, 3), .name = "my cells"};
 *     if (cp_model_predict(model, &images, &p, &status)) printf("%g\n", p.posterior[0]);
 *     if (*p.warning.message) fprintf(stderr, "%s\n", p.warning.message);
 *     cp_predicted_free(&p);
 *
 * The model's own preprocessing and temperature are used (models/about.h), so the numbers are those of `couplet evaluate` and `couplet
 * predict`, bit for bit. */
#pragma once

#include "models/model.h"

typedef struct cp_inputs {
    cp_dtype    dtype;
    const void *elements; /* (count, shape...), in this machine's byte order, aligned or not */
    int         count;
    cp_shape    shape;   /* of one input: (H, W, C), (D) or (T, D) */
    const int  *lengths; /* (count) of sequences: the steps that count, 1..T; NULL: all */
    const char *name;    /* for messages; NULL: "the inputs" */
    int         batch;   /* inputs computed at once; 0: 64 */
} cp_inputs;

typedef struct cp_predicted {
    double   *posterior; /* (count, classes): softmax(logits / temperature) */
    double   *energy;    /* (count): E(x); NULL: the head has no energies */
    double   *density;   /* (count): -E(x), which is ln p(x) plus a constant: the higher, the more usual is the input; or NULL */
    int       bad;       /* inputs whose numbers are not all finite; */
    int       first_bad; /* the first of them */
    cp_status warning;   /* of cp_preprocessing_check, or about another size than in the training; empty: all is well */
} cp_predicted;

/* False with a message, and nothing to free: inputs of another shape or range than the model takes, or not enough memory. */
bool cp_model_predict(const cp_model *model, const cp_inputs *inputs, cp_predicted *out, cp_status *status);
void cp_predicted_free(cp_predicted *predicted); /* back to {0} */

/* What a batch x gives, in double, into rows of memory; NULL: not wanted. False after misuse. */
typedef struct cp_outputs {
    double *logits;       /* (N, classes) */
    double *class_logits; /* (N, classes): minus the class energies */
    double *energy;       /* (N) */
    double *features;     /* (N, features): what the head sees */
} cp_outputs;
bool cp_model_outputs(cp_tape *tape, const cp_model *model, cp_tensor *x, cp_outputs to);

/* softmax(row / temperature), in place. Returns ln sum_c exp((row_c - max row) / temperature). */
double cp_softmax_row(double *row, int classes, double temperature);

double cp_model_temperature(const cp_model *model); /* 1 when it is not known */
