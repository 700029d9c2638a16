/* For tests of convolution kernels: shapes, and all the arrays and fusions for one shape. */
#ifndef CP_TESTS_CONV_PROBLEM_H
#define CP_TESTS_CONV_PROBLEM_H

#include "tests/support/kernel_calls.h"

size_t x_size(const cp_conv_shape *s);
size_t y_size(const cp_conv_shape *s);
size_t w_size(const cp_conv_shape *s);

cp_conv_shape with_output(cp_conv_shape s); /* with the largest possible number of outputs */
cp_conv_shape square(int n, int side, int c, int k, int kernel, int stride, int pad);
const char   *named(const cp_conv_shape *s, const char *what); /* for messages; valid until the next call */

/* The fusions; SCALE includes LEAKY. */
enum { LEAKY = 1, SCALE = 2, BIAS = 4, GATE = 8, GAIN = 16, RESIDUAL = 32, ALL_FUSED = 63 };

typedef struct problem {
    cp_conv_shape  s;
    cp_real       *x, *w, *gy;
    cp_conv_fusion forward, backward, weights; /* for y, gx and gw */
} problem;

typedef struct outcome {
    cp_real *y, *gx, *gw, *gb;
} outcome;

/* Random numbers in separate blocks of exactly the needed sizes. */
problem problem_of(cp_conv_shape s, unsigned fused);
void    problem_free(problem *p);

outcome outcome_of(cp_arena *scratch, const problem *p); /* by the kernels in use */
void    outcome_free(outcome *o);

#endif
