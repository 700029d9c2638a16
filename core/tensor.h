/* Dense tensors: up to five axes, row-major, of cp_real. Images are (N, H, W, C).
 *
 * A tensor either belongs to a tape (made by an op, cp_constant or cp_variable; invalid after the tape's reset) or is persistent
 * (cp_tensor_new ... cp_tensor_free: parameters, running statistics, data). Fields may be read freely; `data` may be written,
 * but not between recording a computation and asking for its gradient: after writing a persistent tensor call cp_tensor_changed, so that
 * such a gradient is misuse. Functions of the library that write persistent tensors do. */
#pragma once

#include "core/error.h"
#include "core/real.h"

#include <stdio.h>

#define CP_MAX_RANK 5

/* The sizes of a tensor's axes. CP_SHAPE(4, 2) is the shape of four rows of two, CP_SCALAR that of a single number. */
typedef struct cp_shape {
    int rank;              /* 0 (a scalar) to CP_MAX_RANK */
    int dims[CP_MAX_RANK]; /* sizes, each >= 0 */
} cp_shape;
#define CP_SHAPE(...) ((cp_shape){(int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}})
#define CP_SCALAR ((cp_shape){0})

/* The last change of a persistent tensor: the function, and its caller's place. */
typedef struct cp_change {
    const char *by, *file; /* not owned; file may be NULL */
    int         line;
} cp_change;

typedef struct cp_tensor {
    union {
        cp_shape shape;
        struct {
            int rank, dims[CP_MAX_RANK];
        };
    };
    size_t      size; /* number of values: the product of dims */
    cp_real    *data;
    const char *name;    /* for listings and messages; may be NULL; not owned */
    bool        tracked; /* gradients flow to it */
    const int
        *lengths; /* (N) of sequences (N, T, ...), for networks: the steps that count, 1..T; NULL: all; not owned, not passed on */
    struct cp_tensor *length; /* the same as a value (N, 1) on the tape, for an export; NULL: none */

    /* Internal. */
    union {
        unsigned step;    /* of the tape when the tensor was made: a reset makes it stale */
        unsigned version; /* of a persistent tensor: a number that no other values have */
    };
    struct cp_tape   *tape;  /* NULL: persistent */
    struct cp_tensor *base;  /* the tensor whose memory it shares, or NULL */
    int               id;    /* among the tape's tracked values, or -1 */
    int               kept;  /* number of nodes whose rules will read it, and of its views */
    int               holds; /* references from a sweep's gradient slots; -1: the sweep must not release it */
    cp_real           small; /* the value of a tensor of size 1 */
    union {
        struct cp_tensor *next_made;
        cp_change        *change; /* of a persistent tensor; NULL: not from cp_tensor_new */
    };
} cp_tensor;

/* Indices into a tensor: of rows, or of values in row-major order. */
typedef struct cp_indices {
    const int *at;
    int        count;
} cp_indices;
typedef cp_indices cp_labels; /* the classes of rows */

/* A persistent tensor of zeros, a constant unless its `tracked` is set. NULL (after the error handler) for a bad shape. */
cp_tensor *cp_tensor_new(cp_at at, cp_shape shape);
#define cp_tensor_new(...) cp_tensor_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

/* The same, with the values copied from `data`, and tracked: a parameter. */
cp_tensor *cp_parameter_new(cp_at at, cp_reals_in data, cp_shape shape);
#define cp_parameter_new(...) cp_parameter_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

void cp_tensor_free(cp_tensor *t); /* NULL is allowed */

/* Notes that `by`, a string that must last, has written the values of t. Gradients of ops that were recorded before, and whose rules read
 * t, are then misuse that names the op, t and `by`. NULL and tensors of a tape are ignored. */
void cp_tensor_changed(cp_at at, cp_tensor *t, const char *by);
#define cp_tensor_changed(...) cp_tensor_changed(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

/* Writes name, shape, type and values; long axes are shortened in the middle:
 *     w (2, 3) float
 *     [[ 1 2 3 ]
 *      [ 4 5 6 ]] */
void cp_tensor_print(cp_at at, FILE *file, const cp_tensor *t);
#define cp_tensor_print(...) cp_tensor_print(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

cp_real cp_item(cp_at            at,
                const cp_tensor *t); /* the value of a tensor of size 1; NaN for NULL and, after misuse, for other sizes */
#define cp_item(...) cp_item(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
