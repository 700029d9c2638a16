/* The results of a case of tests/support/cases.h, as doubles in any build, for the comparison of the two precisions. The
 * float build writes its results to a pipe (tests/ops/dump_cases.c), the double build computes its own. */
#ifndef CP_TESTS_CASE_RESULTS_H
#define CP_TESTS_CASE_RESULTS_H

#include "tests/support/cases.h"

/* Array 0 is the op's result; array 1 + i is the gradient of sum(result weight), with a fixed weight, with respect to input
 * i. An op without gradients has only the result. */
typedef struct case_results {
    int     arrays;
    size_t  sizes[1 + CASE_INPUTS];
    double *values[1 + CASE_INPUTS];
} case_results;

bool case_results_make(const op_case *c, case_results *results); /* false if the op failed */
void case_results_free(case_results *results);

/* Random numbers differ between the precisions by design. */
bool case_compares(const op_case *c);

#endif
