/* For tests of convolution kernels: shapes, and everything that one shape can be asked for. */
#ifndef CP_TESTS_CONV_PROBLEM_H
#define CP_TESTS_CONV_PROBLEM_H

#include "tests/support/kernel_calls.h"

size_t x_size(const cp_conv_shape *s);
size_t y_size(const cp_conv_shape *s);
size_t w_size(const cp_conv_shape *s);

cp_conv_shape with_output(cp_conv_shape s); /* as many outputs as there is room for */
cp_conv_shape square(int n, int side, int c, int k, int kernel, int stride, int pad);
const char   *named(const cp_conv_shape *s, const char *what); /* for messages; kept until the next call */

/* What is fused; SCALE brings LEAKY with it. */
enum { LEAKY = 1, SCALE = 2, BIAS = 4, GATE = 8, GAIN = 16, RESIDUAL = 32, ALL_FUSED = 63 };

typedef struct problem {
    cp_conv_shape  s;
    cp_real       *x, *w, *gy;
    cp_conv_fusion forward, backward, weights; /* for y, gx and gw */
} problem;

typedef struct outcome {
    cp_real *y, *gx, *gw, *gb;
} outcome;

/* Random numbers of the exact sizes, each in memory of its own. */
problem problem_of(cp_conv_shape s, unsigned fused);
void    problem_free(problem *p);

outcome outcome_of(cp_arena *scratch, const problem *p); /* by the kernels in use */
void    outcome_free(outcome *o);

#endif
