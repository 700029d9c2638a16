/* Functions that the checks of all exercises share. The program that contains your code only reports what your code gave;
 * another program, judge.c, compares the report with the chapter's key.txt. `docs/course/check` runs both. */
#ifndef COURSE_EXPECT_H
#define COURSE_EXPECT_H

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#if __has_include(<couplet.h>) /* not all chapters need it */
#include <couplet.h>
#endif

/* The report goes to file descriptor 3. If that is not open, as in a debugger, it goes to the standard output. */
static inline int expect_report(void) {
    static int report;
    if (!report) report = fcntl(3, F_GETFD) < 0 ? 1 : 3;
    return report;
}

/* Begins a group of checks, whose result is also given separately. */
static inline void expect_part(const char *name) {
    dprintf(expect_report(), "part\t%s\n", name);
}

/* Begins a check. Its values follow. */
static inline void expect_begin(const char *what) {
    dprintf(expect_report(), "check\t%s\n", what);
}

/* A value of the check and its place, such as [2]. The tolerance is relative for values above 1. */
static inline void expect_value(const char *place, double expected, double received, double tolerance) {
    dprintf(expect_report(), "value\t%s\t%.17g\t%g\t%.17g\n", place, expected, tolerance, received);
}

/* A sentence that is printed if the check before it fails. */
static inline void expect_note(const char *note) {
    dprintf(expect_report(), "note\t%s\n", note);
}

static inline void expect_number(const char *what, double expected, double received, double tolerance) {
    expect_begin(what);
    expect_value("", expected, received, tolerance);
}

/* A condition: 1 if it holds, otherwise 0. */
static inline void expect_true(const char *what, int is) {
    expect_number(what, 1, is != 0, 0);
}

static inline void expect_numbers(const char *what, size_t n, const double *expected, const double *received, double tolerance) {
    expect_begin(what);
    for (size_t i = 0; i < n; i++) {
        char place[32];
        snprintf(place, sizeof place, "[%zu]", i);
        expect_value(place, expected[i], received[i], tolerance);
    }
}

#if __has_include(<couplet.h>)
/* Compares a tensor with the expected values, in row-major order; reports NULL or another shape. */
static inline void expect_tensor(const char *what, cp_shape shape, const double *expected, const cp_tensor *received,
                                 double tolerance) {
    char   note[500] = "";
    size_t size = 1;
    int    same = received && received->rank == shape.rank;
    for (int axis = 0; axis < shape.rank; axis++) {
        size *= (size_t)shape.dims[axis];
        same = same && received->dims[axis] == shape.dims[axis];
    }
    expect_begin(what);
    if (!received)
        snprintf(note, sizeof note, "expected a tensor of shape %s, received NULL", cp_dims_text(shape).s);
    else if (!same)
        snprintf(note, sizeof note, "expected a tensor of shape %s, received %s", cp_dims_text(shape).s, cp_shape_text(received).s);
    for (size_t i = 0; i < size; i++)
        expect_value(cp_index_text(shape, i).s, expected[i], same ? received->data[i] : NAN, tolerance);
    if (!same) expect_note(note);
}
#endif

/* What main returns. */
static inline int expect_end(void) {
    dprintf(expect_report(), "end\n");
    return 0;
}

#endif
