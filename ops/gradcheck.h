/* Checks gradients against finite differences.
 *
 *     static cp_tensor *build(cp_tape *tape, cp_tensor *const *in, const void *user) {
 *         return my_op(CP_AT(tape), in[0], in[1]);                         // of any shape
 *     }
 *     cp_gradcheck_input in[] = {{.name = "a", .data = a, .shape = CP_SHAPE(3, 4)}, {.name = "b", .data = b, .shape = CP_SHAPE(4)}};
 *     cp_gradcheck_result r = cp_gradcheck(build, NULL, in, 2, (cp_gradcheck_config){0});
 *     if (!r.passed) puts(r.message);        // first order, b[2]: expected -1.25 by differences, received 0.3
 *
 * What is checked is f = sum out (w + c out), with fixed random w and c: then the gradient that reaches a rule differs from place to
 * element, so that a rule which ignores it fails, and depends on the inputs, so that a rule which loses that dependence fails at second
 * order. Gradients are requested for each input alone and for all together, in recorded and plain sweeps, along random directions.
 *
 * Differences are of fourth order, (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h. With h = 1e-3 in double both their truncation and their
 * rounding are near 1e-12 of f. Hence errors are relative to the derivative, or to 1e-5 of f's terms if that is larger: differences
 * cannot distinguish smaller derivatives from zero. Float can only find gross errors: check rules in a double build. Inputs above 4 move by
 * a quarter of their size times h.
 *
 * When a check fails, single elements are checked. Where f has a kink within 2h (relu at 0), or is so steep that differences at h and at
 * h/4 disagree completely, differences say nothing about a rule: the element is excluded and counted, and the check repeated without it. */
#pragma once

#include "core/tape.h"

#if CP_DOUBLE
#define CP_GRADCHECK_STEP 1e-3  /* h; no value moves by more than 2h */
#define CP_GRADCHECK_FIRST 1e-6 /* relative errors that pass */
#define CP_GRADCHECK_SECOND 1e-5
#define CP_GRADCHECK_FLOOR 1e-5 /* of f's terms: smaller values count as zero */
#else
#define CP_GRADCHECK_STEP 4e-3
#define CP_GRADCHECK_FIRST 5e-2
#define CP_GRADCHECK_SECOND 5e-2
#define CP_GRADCHECK_FLOOR 3e-2
#endif

/* Computes a value from the inputs, the same one on every call. Returns NULL after a failure. */
typedef cp_tensor *(*cp_gradcheck_fn)(cp_tape *tape, cp_tensor *const *in, const void *user);

typedef struct cp_gradcheck_input {
    const char    *name; /* for messages; NULL: "input 1" */
    const cp_real *data;
    cp_shape       shape;
    bool           constant; /* no gradient is requested */
    bool           whole;    /* indices and the like: never moved, and no gradient may flow to them */
} cp_gradcheck_input;

/* Zero means the default. */
typedef struct cp_gradcheck_config {
    double step, first, second; /* CP_GRADCHECK_STEP and so on */
    bool   first_only;          /* skip the second order */
} cp_gradcheck_config;

typedef struct cp_gradcheck_result {
    bool   passed;
    bool   made;          /* false: an error, a function that is not finite or not reproducible, or all elements were excluded */
    bool   tracked;       /* gradients flow to the result */
    double first, second; /* the worst relative errors along a direction, elements at kinks excluded */
    int    kinks;         /* elements that were excluded */

    /* The first failure: */
    int    order;              /* 1 or 2 */
    int    asked;              /* the input whose gradient was requested alone; -1: all together */
    int    input;              /* -1: no single element */
    size_t index;              /* the element of that input, row-major */
    double expected, received; /* by differences; by the rules */

    char message[320]; /* the failure in one line, else empty */
} cp_gradcheck_result;

cp_gradcheck_result cp_gradcheck(cp_at at, cp_gradcheck_fn build, const void *user, const cp_gradcheck_input *in, int n,
                                 cp_gradcheck_config config);

#define cp_gradcheck(...) cp_gradcheck(CP_AT((cp_tape *)NULL), __VA_ARGS__)
