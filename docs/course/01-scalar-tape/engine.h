/* The engine of chapter 1: automatic differentiation of single numbers, in plain C. */
#ifndef COURSE_ENGINE_H
#define COURSE_ENGINE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct node {
    int    in[2];    /* the inputs' places on the tape; -1: there is none */
    double slope[2]; /* by how much the value grows with each input */
    double value;
    double grad; /* by how much the result of a sweep grows with this value */
} node;

enum { TAPE_ROOM = 1000 };

typedef struct tape {
    node nodes[TAPE_ROOM];
    int  length;
} tape;

static inline int record(tape *t, double value, int a, double slope_a, int b, double slope_b) {
    if (t->length == TAPE_ROOM) fprintf(stderr, "the tape is full\n"), exit(1);
    t->nodes[t->length] = (node){{a, b}, {slope_a, slope_b}, value, 0};
    return t->length++;
}

static inline int leaf(tape *t, double value) {
    return record(t, value, -1, 0, -1, 0);
}

static inline int add(tape *t, int a, int b) {
    return record(t, t->nodes[a].value + t->nodes[b].value, a, 1, b, 1);
}

static inline int mul(tape *t, int a, int b) {
    return record(t, t->nodes[a].value * t->nodes[b].value, a, t->nodes[b].value, b, t->nodes[a].value);
}

static inline int tanh_of(tape *t, int a) {
    double value = tanh(t->nodes[a].value);
    return record(t, value, a, 1 - value * value, -1, 0);
}

/* The gradient of one value with respect to all values before it. */
static inline void backward(tape *t, int result) {
    for (int i = 0; i < t->length; i++) t->nodes[i].grad = 0; /* clear */
    t->nodes[result].grad = 1;
    for (int i = result; i >= 0; i--) { /* from the last to the first: the order */
        node *n = &t->nodes[i];
        for (int k = 0; k < 2; k++)
            if (n->in[k] >= 0) t->nodes[n->in[k]].grad += n->slope[k] * n->grad; /* accumulate */
    }
}

#endif
