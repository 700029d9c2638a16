/* Exporting a computation as an ONNX graph. The computation is recorded on two tapes, with batches of different sizes and values. A
 * size that differs between them is the batch's, and what an op writes must be the same for both. So the file works for any batch,
 * and a computation that cannot be exported is refused instead of being written with constants of one batch. */
#pragma once

#include "core/io/onnx.h"
#include "core/op.h"

enum { CP_EXPORT_OUTPUTS = 4 };

typedef struct cp_export_plan {
    /* Computes the outputs of x (N, row...), the file's input, on a frozen tape. false after an error that was reported. */
    bool (*compute)(cp_at at, void *context, cp_tensor *x, cp_tensor **out);
    void       *context;
    const char *input;   /* its name */
    const char *lengths; /* name of a second input (N), int64: the steps of each sequence that count, in x->length; NULL: none */
    cp_dtype    dtype;   /* of the input in the file */
    cp_shape    row;     /* of one input, without the batch's axis */
    int         outputs;
    const char *names[CP_EXPORT_OUTPUTS];
} cp_export_plan;

/* Writes the computation into a graph that is {0}. */
bool cp_export_onnx(cp_onnx *graph, const cp_export_plan *plan, cp_status *status);

/* ---- for cp_op.to_onnx ---- */

struct cp_export {
    cp_onnx       *graph;
    cp_at          at;             /* for ops on constants, which are not recorded */
    const cp_node *node;           /* the one to export */
    bool           channels_first; /* set by the rule: its value is (N, C, ...) where the tensor is (N, ..., C) */
    const char    *why_not;        /* set by the rule or a function below when the node cannot be exported */

    /* Internal. */
    struct cp_export       *peer; /* with the other batch */
    struct cp_export_value *values, *constants;
    int                     constant_count;
};

/* Input i of the node; 0 for one that was omitted. Channels first is how ONNX convolves. */
int cp_export_in(cp_export *e, int i);
int cp_export_in_channels_first(cp_export *e, int i);

/* A constant, which must not depend on the batch, with its values in the order in which ONNX wants them. */
int cp_export_constant(cp_export *e, const cp_tensor *t);
int cp_export_number(cp_export *e, cp_real number);

int cp_export_pair(cp_export *e, const char *type, int a, int b); /* an operator of two inputs and no attributes */

/* leaky_relu(value); a slope of 1 changes nothing, and 0 is ReLU. */
int cp_export_leaky(cp_export *e, int value, double slope);
/* scale value + shift, each of them (C) and an input of the node that may be omitted. */
int cp_export_scale_shift(cp_export *e, int value, int scale, int shift, bool channels_first);
int cp_export_transpose(cp_export *e, int value, int rank, const int *order);
/* The value in the shape of `rank` axes, of which one may be -1. */
int cp_export_reshape(cp_export *e, int value, int rank, const int *dims);
/* The axes of the node's result, -1 for the batch's. */
void cp_export_out_dims(const cp_export *e, int *dims);
