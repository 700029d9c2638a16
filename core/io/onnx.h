/* ONNX: a computation as a graph of operators, which other programs run (onnxruntime and many more). The file is one message of
 * protobuf. It is written from the input on, operator by operator; values have numbers from 1, the first input's, and 0 stands for a
 * missing one.
 *
 *     cp_onnx graph = {0};
 *     int x = cp_onnx_input(&graph, "x", CP_F32, 2, (int[]){-1, 3});                        // (N, 3)
 *     int y = cp_onnx_node(&graph, "Softmax", 1, &x, (cp_onnx_attr[]){{"axis", CP_ONNX_INT, .ints = {1}}, {0}});
 *     cp_onnx_output(&graph, "y", y, 2, (int[]){-1, 3});
 *     bool saved = cp_onnx_save(&graph, "softmax.onnx", &status);
 *     cp_onnx_free(&graph); */
#pragma once

#include "core/io/bytes.h"
#include "core/io/dtype.h"

enum { CP_ONNX_OPSET = 13, CP_ONNX_INTS_MAX = 8, CP_ONNX_INPUTS = 2 };

typedef struct cp_onnx_attr {
    const char *name;                                                   /* NULL ends a list */
    enum { CP_ONNX_FLOAT = 1, CP_ONNX_INT = 2, CP_ONNX_INTS = 7 } kind; /* the format's own numbers */
    int    count;                                                       /* of CP_ONNX_INTS */
    int    ints[CP_ONNX_INTS_MAX];
    double number;
} cp_onnx_attr;

/* Initialize it with {0}. Once memory runs out, the functions do nothing, and save reports it. */
typedef struct cp_onnx {
    cp_bytes    graph, metadata;
    const char *inputs[CP_ONNX_INPUTS]; /* their names */
    int         input_count, values;
} cp_onnx;

void cp_onnx_free(cp_onnx *graph);

/* An input, one of at most CP_ONNX_INPUTS before everything else. Names are not copied; a size of -1 stands for any number of rows. */
int  cp_onnx_input(cp_onnx *graph, const char *name, cp_dtype dtype, int rank, const int *dims);
int  cp_onnx_reals(cp_onnx *graph, int rank, const int *dims, const cp_real *values); /* a constant, float32 in the file */
int  cp_onnx_ints(cp_onnx *graph, int count, const int *values);                      /* a constant, int64 of shape (count) */
int  cp_onnx_node(cp_onnx *graph, const char *type, int n, const int *in, const cp_onnx_attr *attrs); /* attrs NULL: none */
int  cp_onnx_cast(cp_onnx *graph, int value, cp_dtype dtype);
void cp_onnx_output(cp_onnx *graph, const char *name, int value, int rank, const int *dims); /* float32 */
void cp_onnx_metadata(cp_onnx *graph, const char *key, const char *value);

bool cp_onnx_save(const cp_onnx *graph, const char *path, cp_status *status);
