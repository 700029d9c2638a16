/* The record of exercise 3: like the library's, but with single numbers in place of tensors. */
#ifndef COURSE_RECORD_H
#define COURSE_RECORD_H

#include <stdbool.h>

typedef enum op { ADD, MUL, SQUARE } op;

typedef struct node {
    op  op;
    int in[2]; /* the numbers of the input values; SQUARE has one input, and -1 in place of the other */
    int out;   /* the number of the value that it made */
} node;

/* Values have numbers: leaves and results of nodes, in the order in which they were made. */
typedef struct record {
    const double *value; /* by number */
    int           values;
    const node   *nodes;
    int           count;
} record;

#endif
