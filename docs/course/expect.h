/* Functions that the checks of all exercises share. They print which index differs, what was expected there and what
 * was received. */
#ifndef COURSE_EXPECT_H
#define COURSE_EXPECT_H

#include <math.h>
#include <stdio.h>
#if __has_include(<couplet.h>) /* chapter 1 does not need it */
#include <couplet.h>
#endif

static int expect_right, expect_asked; /* counted by the functions below */

enum { EXPECT_PRINTED = 3 }; /* the number of differences that one check prints */

static inline void expect_count(int wrong, size_t places) {
    expect_asked++;
    expect_right += wrong == 0;
    if (wrong > EXPECT_PRINTED) printf("  ... and %d more of %zu places\n", wrong - EXPECT_PRINTED, places);
}

/* Returns 1 if the two differ by more than the tolerance (relative for values above 1); prints the first few differences. */
static inline int expect_differs(const char *what, const char *place, double expected, double received, double tolerance,
                                 int printed) {
    if (fabs(expected - received) <= tolerance * fmax(1, fabs(expected))) return 0;
    if (printed < EXPECT_PRINTED) printf("%s%s: expected %.6g, received %.6g\n", what, place, expected, received);
    return 1;
}

static inline void expect_number(const char *what, double expected, double received, double tolerance) {
    expect_count(expect_differs(what, "", expected, received, tolerance, 0), 1);
}

static inline void expect_true(const char *what, int is) {
    if (!is) printf("%s: this does not hold\n", what);
    expect_count(!is, 1);
}

static inline void expect_numbers(const char *what, size_t n, const double *expected, const double *received, double tolerance) {
    int wrong = 0;
    for (size_t i = 0; i < n; i++) {
        char place[32];
        snprintf(place, sizeof place, "[%zu]", i);
        wrong += expect_differs(what, place, expected[i], received[i], tolerance, wrong);
    }
    expect_count(wrong, n);
}

#if __has_include(<couplet.h>)
/* Compares a tensor with the expected values, in row-major order; reports NULL or another shape. */
static inline void expect_tensor(const char *what, cp_shape shape, const double *expected, const cp_tensor *received,
                                 double tolerance) {
    int wrong = 0, same = received && received->rank == shape.rank;
    for (int axis = 0; axis < shape.rank && same; axis++) same = received->dims[axis] == shape.dims[axis];
    if (!received)
        printf("%s: expected a tensor of shape %s, received NULL\n", what, cp_dims_text(shape).s);
    else if (!same)
        printf("%s: expected a tensor of shape %s, received %s\n", what, cp_dims_text(shape).s, cp_shape_text(received).s);
    for (size_t i = 0; same && i < received->size; i++) {
        wrong += expect_differs(what, cp_index_text(shape, i).s, expected[i], (double)received->data[i], tolerance, wrong);
    }
    expect_count(same ? wrong : 1, same ? received->size : 1);
}
#endif

/* What main returns. If something is wrong, only the failures are printed, because later checks may not have run. */
static inline int expect_end(void) {
    if (expect_right == expect_asked)
        printf("all %d right\n", expect_asked);
    else
        printf("%d wrong\n", expect_asked - expect_right);
    return expect_right == expect_asked ? 0 : 1;
}

#endif
