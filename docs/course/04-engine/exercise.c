/* Exercise 4: a tensor engine, in five stages. `docs/course/check 4` checks all of them; the first message is the one to work on. */
#include "04-engine/engine.h"

/* ---- stage 1: add ---- */

/* Adds to out->in[0]->grad and out->in[1]->grad what they get from out->grad. */
static void add_rule(tensor *out) {
    (void)out; /* not yet */
}

/* a + b for two tensors of the same shape. */
tensor *add(tape *tape, tensor *a, tensor *b) {
    tensor *out = record(tape, a->rows, a->columns, a, b, add_rule);
    /* not yet: fill out->data */
    return out;
}

/* ---- stage 2: matmul ---- */

static void matmul_rule(tensor *out) {
    (void)out; /* not yet */
}

/* a b with a (n, k) and b (k, m): out (n, m). */
tensor *matmul(tape *tape, tensor *a, tensor *b) {
    if (a->columns != b->rows) shapes_differ("matmul", a, b);
    tensor *out = record(tape, a->rows, b->columns, a, b, matmul_rule);
    /* not yet */
    return out;
}

/* ---- stage 3: sum to shape ---- */

/* The index in small->data that is used at row i, column j of a larger table: an axis of size 1 is repeated. */
int place(const tensor *small, int i, int j) {
    (void)small, (void)i, (void)j;
    return 0; /* not yet */
}

static void mul_rule(tensor *out) {
    (void)out; /* not yet */
}

/* a b, elementwise, with broadcasting; shapes_differ for shapes that do not fit. Now change add and add_rule, too. */
tensor *mul(tape *tape, tensor *a, tensor *b) {
    tensor *out = record(tape, a->rows, a->columns, a, b, mul_rule);
    /* not yet */
    return out;
}

/* ---- stage 4: the sweep ---- */

static void tanh_rule(tensor *out) {
    (void)out; /* not yet */
}

tensor *tanh_of(tape *tape, tensor *a) {
    tensor *out = record(tape, a->rows, a->columns, a, NULL, tanh_rule);
    /* not yet */
    return out;
}

static void mean_rule(tensor *out) {
    (void)out; /* not yet */
}

/* The mean of all numbers of a. */
tensor *mean(tape *tape, tensor *a) {
    tensor *out = record(tape, 1, 1, a, NULL, mean_rule);
    /* not yet */
    return out;
}

/* The gradients of the result, which has one number, at all values on the tape and at the weights that they were made from. */
void backward(tape *tape, tensor *result) {
    (void)tape, (void)result; /* not yet: clear, set the first gradient, go through the tape from its end */
}

/* ---- stage 5: SGD ---- */

/* Moves each number of the weights against its gradient. */
void sgd(tensor *const *weights, int count, double rate) {
    (void)weights, (void)count, (void)rate; /* not yet */
}
