/* Dense tensors: up to five axes, row-major, of cp_real. Images are (N, H, W, C).
 *
 * A tensor either belongs to a tape (made by an op, cp_constant or cp_variable; gone when the tape is reset) or is persistent
 * (cp_tensor_new ... cp_tensor_free: parameters, running statistics, data). Fields may be read freely; `data` may be written,
 * but not between recording a computation and asking for its gradient. */
#ifndef CP_TENSOR_H
#define CP_TENSOR_H

#include "core/error.h"
#include "core/real.h"

#include <stdio.h>

#define CP_MAX_RANK 5

typedef struct cp_tensor {
    int         rank;              /* 0 (a scalar) to CP_MAX_RANK */
    int         dims[CP_MAX_RANK]; /* sizes, each >= 0 */
    size_t      size;              /* number of values: the product of dims */
    cp_real    *data;
    const char *name;    /* for listings and messages; may be NULL; not owned */
    bool        tracked; /* gradients flow to it */

    /* The engine's own. */
    struct cp_tape   *tape; /* NULL: persistent */
    int               id;   /* its place among the tape's tracked values, or -1 */
    struct cp_tensor *base; /* the tensor whose memory it shares, or NULL */
    int               holds;
    struct cp_tensor *made_before;
} cp_tensor;

/* Class labels or row numbers for the ops that take integers. */
typedef struct cp_labels {
    const int *at;
    int        count;
} cp_labels;

/* A persistent tensor of zeros, a constant unless its `tracked` is set. NULL (after the error handler) for a bad shape. */
cp_tensor *cp_tensor_new(cp_at at, int rank, const int *dims);
#define cp_tensor_new(...) cp_tensor_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

/* The same, with the values copied from `data`, and tracked: a parameter. */
cp_tensor *cp_parameter_new(cp_at at, const cp_real *data, int rank, const int *dims);
#define cp_parameter_new(...) cp_parameter_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

void cp_tensor_free(cp_tensor *t); /* NULL is fine */

/* Writes name, shape, type and values; long axes are shortened in the middle:
 *     w (2, 3) float
 *     [[ 1 2 3 ]
 *      [ 4 5 6 ]] */
void cp_tensor_print(FILE *file, const cp_tensor *t);

cp_real cp_item(const cp_tensor *t); /* the value of a tensor of size 1; NaN for anything else */

#endif
