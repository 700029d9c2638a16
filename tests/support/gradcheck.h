/* The gradient check: an op's gradients against differences of its values, and the gradients of its gradients against
 * differences of its gradients, along random directions.
 *
 * The scalar is f = sum out (w + c out), with fixed random w and c. The square makes the gradient that reaches the op's
 * rule depend on the inputs, so that a rule which loses that dependence is found at second order.
 *
 * Differences are of fourth order, (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h. With h = 1e-3 in double both their
 * truncation and their rounding are near 1e-12 of f. Hence errors are relative to the derivative, or to 1e-5 of f's
 * terms if that is larger: what is smaller is zero as far as differences can tell to the tolerances asked for. */
#ifndef CP_TESTS_GRADCHECK_H
#define CP_TESTS_GRADCHECK_H

#include "tests/support/cases.h"

#if CP_DOUBLE
#define GRADCHECK_STEP 1e-3 /* h; no value moves by more than 2h */
#define GRADCHECK_FIRST 1e-6
#define GRADCHECK_SECOND 1e-5
#else /* differences of float values tell little: only gross errors are found */
#define GRADCHECK_STEP 4e-3
#define GRADCHECK_FIRST 5e-2
#define GRADCHECK_SECOND 5e-2
#endif

typedef struct gradcheck {
    double first, second;       /* the worst relative errors */
    int    first_at, second_at; /* the argument checked when they came up; CASE_INPUTS: all together */
    double parameters;          /* the largest difference between gradients of parameters and of variables; 0 is expected */
    bool   tracked;             /* gradients flow through the op */
    bool   reached;             /* an op of the case's name was on the record */
    bool   failed;              /* something refused; `message` says what */
    char   message[256];
} gradcheck;

/* Checks each argument on its own, the others being constants, and all together. While it runs the error handler is its
 * own; afterwards it is the default. */
gradcheck gradcheck_case(const op_case *c);

bool gradcheck_passed(const gradcheck *result); /* at the tolerances above */

#endif
