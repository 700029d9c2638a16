/* The check of exercise 8: Hessians whose largest eigenvalue and its direction are known. */
#include <couplet.h>

#include "expect.h"

typedef cp_tensor *function(cp_tape *tape, cp_tensor *x);

double largest_curvature(cp_tape *tape, function *f, const cp_real *x, int n, int rounds, cp_real *direction);

/* x^T M x / 2, whose Hessian is M everywhere. */
static cp_tensor *quadratic(cp_tape *tape, cp_tensor *x, const cp_real *matrix) {
    int        n = x->dims[0];
    cp_tensor *row = cp_reshape(tape, x, CP_SHAPE(1, n));
    cp_tensor *product = cp_matmul(tape, row, cp_constant(tape, matrix, CP_SHAPE(n, n)), 0);
    return cp_scale(tape, cp_sum(tape, cp_mul(tape, product, row), CP_ALL, false), 0.5);
}

static cp_tensor *bowl(cp_tape *tape, cp_tensor *x) { /* eigenvalues 4 along (1, 1), 2 along (1, -1) */
    return quadratic(tape, x, (cp_real[]){3, 1, 1, 3});
}

static cp_tensor *saddle(cp_tape *tape, cp_tensor *x) { /* -6 along the middle axis, 3 and 1 along the others */
    return quadratic(tape, x, (cp_real[]){3, 0, 0, 0, -6, 0, 0, 0, 1});
}

/* Rosenbrock's valley; at its bottom (1, 1) the Hessian is 802 -400, -400 200. */
static cp_tensor *valley(cp_tape *tape, cp_tensor *x) {
    cp_tensor *a = cp_slice(tape, x, (int[]){0}, (int[]){1}, NULL), *b = cp_slice(tape, x, (int[]){1}, (int[]){2}, NULL);
    cp_tensor *along = cp_square(tape, cp_affine(tape, a, -1, 1)), *across = cp_square(tape, cp_sub(tape, b, cp_square(tape, a)));
    return cp_sum(tape, cp_add(tape, along, cp_scale(tape, across, 100)), CP_ALL, false);
}

/* A direction and its opposite are the same answer: the sign is that of the number with the largest magnitude. */
static void check(const char *name, function *f, const cp_real *x, int n, double curvature, const double *expected) {
    cp_real  direction[3] = {2, 1, 0.5};
    double   received[3], sign = 1;
    char     what[80];
    cp_tape *tape = cp_tape_new();
    double   found = largest_curvature(tape, f, x, n, 60, direction);
    for (int i = 0; i < n; i++)
        if (fabs(expected[i]) > 0.7) sign = expected[i] * direction[i] < 0 ? -1 : 1;
    for (int i = 0; i < n; i++) received[i] = sign * direction[i];
    snprintf(what, sizeof what, "%s: curvature", name);
    expect_number(what, curvature, found, 1e-9);
    snprintf(what, sizeof what, "%s: direction", name);
    expect_numbers(what, (size_t)n, expected, received, 1e-9);
    cp_tape_free(tape);
}

int main(void) {
    double root = sqrt(0.5), far = 501 + sqrt(501.0 * 501 - 400), length = hypot(far - 200, 400);
    check("bowl", bowl, (cp_real[]){1, -2}, 2, 4, (double[]){root, root});
    check("saddle", saddle, (cp_real[]){1, 1, 1}, 3, -6, (double[]){0, 1, 0});
    check("valley at (1, 1)", valley, (cp_real[]){1, 1}, 2, far, (double[]){(far - 200) / length, -400 / length});
    check("valley at (0, 2)", valley, (cp_real[]){0, 2}, 2, -798, (double[]){1, 0}); /* the Hessian is -798 0, 0 200 */
    return expect_end();
}
