/* Gradients against what a derivative is: differences of values.
 *
 *     static cp_tensor *build(cp_tape *tape, cp_tensor *const *in, const void *user) {
 *         return my_op(CP_AT(tape), in[0], in[1]);                         // of any shape
 *     }
 *     cp_gradcheck_input in[] = {{.name = "a", .data = a, .shape = CP_SHAPE(3, 4)}, {.name = "b", .data = b, .shape = CP_SHAPE(4)}};
 *     cp_gradcheck_result r = cp_gradcheck(build, NULL, in, 2, (cp_gradcheck_config){0});
 *     if (!r.passed) puts(r.message);        // first order, b[2]: expected -1.25 by differences, received 0.3
 *
 * What is checked is f = sum out (w + c out), with fixed random w and c: then the gradient that reaches a rule differs from place to
 * place, so that a rule which forgets it fails, and depends on the inputs, so that a rule which loses that dependence fails at second
 * order. Inputs are asked for one by one and all together, by sweeps that are recorded and that are not, along random directions.
 *
 * Differences are of fourth order, (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h. With h = 1e-3 in double both their truncation and their
 * rounding are near 1e-12 of f. Hence errors are relative to the derivative, or to 1e-5 of f's terms if that is larger: what is smaller is
 * zero as far as differences can tell. In float only gross errors can be found: check rules in a double build. Inputs of more than 4 are
 * moved by a quarter of their size times h.
 *
 * When a check fails, single places are looked at. One where f has a kink within 2h (relu at 0), or is so steep that differences at h and
 * at h/4 have nothing in common, tells nothing about a rule: it is left out, counted, and the check is made again without it. */
#ifndef CP_GRADCHECK_H
#define CP_GRADCHECK_H

#include "core/tape.h"

#if CP_DOUBLE
#define CP_GRADCHECK_STEP 1e-3  /* h; no value moves by more than 2h */
#define CP_GRADCHECK_FIRST 1e-6 /* relative errors that pass */
#define CP_GRADCHECK_SECOND 1e-5
#define CP_GRADCHECK_FLOOR 1e-5 /* of f's terms: what is smaller is zero */
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
    bool           constant; /* never asked for a gradient */
    bool           whole;    /* numbers that choose rather than count: never moved, and no gradient may flow to them */
} cp_gradcheck_input;

/* Zero means the default. */
typedef struct cp_gradcheck_config {
    double step, first, second; /* CP_GRADCHECK_STEP and so on */
    bool   first_only;          /* the second order is left out */
} cp_gradcheck_config;

typedef struct cp_gradcheck_result {
    bool   passed;
    bool   made;    /* false: something refused, the function is not finite or not the same twice, or all places were left out */
    bool   tracked; /* gradients flow to the result */
    double first, second; /* the worst relative errors along a direction; what lies at a kink does not count */
    int    kinks;         /* places that were left out */

    /* Where the first failure is: */
    int    order;              /* 1 or 2 */
    int    asked;              /* the input whose gradient was asked for on its own; -1: all together */
    int    input;              /* -1: at no place alone */
    size_t index;              /* the place in that input, row-major */
    double expected, received; /* by differences; by the rules */

    char message[320]; /* the failure in one line, else empty */
} cp_gradcheck_result;

cp_gradcheck_result cp_gradcheck(cp_at at, cp_gradcheck_fn build, const void *user, const cp_gradcheck_input *in, int n,
                                 cp_gradcheck_config config);

#define cp_gradcheck(...) cp_gradcheck(CP_AT((cp_tape *)NULL), __VA_ARGS__)

#endif
