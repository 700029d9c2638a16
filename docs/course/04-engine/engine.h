/* The tensor engine of chapter 4: what is given. You write the functions in the lower half, in exercise.c. */
#ifndef COURSE_TENSOR_ENGINE_H
#define COURSE_TENSOR_ENGINE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A table of numbers: the value at row i, column j is data[i * columns + j]. A single number is a table of 1 row and 1 column. */
typedef struct tensor tensor;
struct tensor {
    int     rows, columns;
    double *data;
    double *grad;              /* of the same size: by how much the result of a sweep grows with each number */
    tensor *in[2];             /* the inputs of the op that made it; NULL: there is none */
    void (*rule)(tensor *out); /* adds to the gradients of the inputs what they get from out->grad; NULL: a leaf has no rule */
};

enum { TAPE_ROOM = 1000 };

/* All values in the order in which they were made. */
typedef struct tape {
    tensor *values[TAPE_ROOM];
    int     length;
} tape;

/* A tensor that is not on a tape, filled with zeros, such as a weight; free it with tensor_free. */
static inline tensor *tensor_new(int rows, int columns) {
    tensor *t = calloc(1, sizeof *t);
    *t = (tensor){.rows = rows, .columns = columns};
    t->data = calloc((size_t)(rows * columns), sizeof(double));
    t->grad = calloc((size_t)(rows * columns), sizeof(double));
    return t;
}

static inline void tensor_free(tensor *t) {
    free(t->data), free(t->grad), free(t);
}

/* The result of an op, filled with zeros, at the end of the tape. */
static inline tensor *record(tape *tape, int rows, int columns, tensor *a, tensor *b, void (*rule)(tensor *out)) {
    if (tape->length == TAPE_ROOM) fprintf(stderr, "the tape is full\n"), exit(2);
    tensor *t = tape->values[tape->length++] = tensor_new(rows, columns);
    t->in[0] = a, t->in[1] = b, t->rule = rule;
    return t;
}

/* Empties the tape, for the next step. Weights are not on it and stay. */
static inline void tape_clear(tape *tape) {
    while (tape->length) tensor_free(tape->values[--tape->length]);
}

static inline void shapes_differ(const char *op, const tensor *a, const tensor *b) {
    fprintf(stderr, "%s: cannot combine (%d, %d) and (%d, %d)\n", op, a->rows, a->columns, b->rows, b->columns);
    exit(2);
}

/* ---- yours, in exercise.c ---- */

tensor *add(tape *tape, tensor *a, tensor *b);               /* stage 1: a + b; stage 3: with broadcasting */
tensor *matmul(tape *tape, tensor *a, tensor *b);            /* stage 2: the product of matrices */
int     place(const tensor *small, int i, int j);            /* stage 3: where `small`, broadcast, has row i, column j */
tensor *mul(tape *tape, tensor *a, tensor *b);               /* stage 3: a b, elementwise, with broadcasting */
tensor *tanh_of(tape *tape, tensor *a);                      /* stage 4 */
tensor *mean(tape *tape, tensor *a);                         /* stage 4: of all numbers: (1, 1) */
void    backward(tape *tape, tensor *result);                /* stage 4: the sweep */
void    sgd(tensor *const *weights, int count, double rate); /* stage 5: one step downhill */

#endif
