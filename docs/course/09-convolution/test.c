/* The check of exercise 9: compares every element with the library's conv2d_input_grad and conv2d_weight_grad, and
 * checks the memory around the results and the inner products. */
#include <couplet.h>

#include "expect.h"

enum { MAX = 16, MARGIN = 8, ROOM = MAX + 2 * MARGIN };

void conv1d(int width, int kernel, int stride, int pad, const double *x, const double *w, double *y);
void conv1d_input_grad(int width, int kernel, int stride, int pad, const double *g, const double *w, double *dx);
void conv1d_weight_grad(int width, int kernel, int stride, int pad, const double *x, const double *g, double *dw);

static double inner(int n, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static cp_tensor *tensor(cp_tape *tape, const double *from, cp_shape shape) {
    cp_tensor *t = cp_full(tape, 0, shape);
    for (size_t i = 0; i < t->size; i++) t->data[i] = from[i];
    return t;
}

/* The result is in the middle of an array of nines, which must not change. */
static void expect_result(const char *name, const char *what, const cp_tensor *right, const double *array) {
    double expected[MAX];
    char   text[120];
    int    n = (int)right->size, touched = 0;
    for (int i = 0; i < n; i++) expected[i] = right->data[i];
    snprintf(text, sizeof text, "%s: %s", name, what);
    expect_numbers(text, (size_t)n, expected, array + MARGIN, 1e-9);
    for (int i = 0; i < ROOM; i++) touched += (i < MARGIN || i >= MARGIN + n) && array[i] != 9;
    snprintf(text, sizeof text, "%s: %s is written from 0 to %d only", name, what, n - 1);
    expect_true(text, !touched);
}

static void check(const char *name, int width, int kernel, int stride, int pad) {
    static const double x[MAX] = {1, 2, -1, 3, 0.5, -2, 4, 1, 2, -3}, w[MAX] = {2, -1, 3, 0.5},
                        g[MAX] = {1, -2, 3, 0.5, 2, -1, 4, 1};
    double dx[ROOM], dw[ROOM], y[MAX];
    int    out = (width + 2 * pad - kernel) / stride + 1, x_dims[] = {1, 1, width, 1}, w_dims[] = {1, kernel, 1, 1};
    for (int i = 0; i < ROOM; i++) dx[i] = dw[i] = 9;
    conv1d(width, kernel, stride, pad, x, w, y);
    conv1d_input_grad(width, kernel, stride, pad, g, w, dx + MARGIN);
    conv1d_weight_grad(width, kernel, stride, pad, x, g, dw + MARGIN);

    cp_tape         *tape = cp_tape_new();
    cp_conv2d_config config = {.stride_w = stride, .pad_left = pad, .pad_right = pad};
    cp_tensor       *xs = tensor(tape, x, CP_SHAPE(1, 1, width, 1)), *ws = tensor(tape, w, CP_SHAPE(1, kernel, 1, 1));
    cp_tensor       *gs = tensor(tape, g, CP_SHAPE(1, 1, out, 1));
    expect_result(name, "dx", cp_conv2d_input_grad(tape, gs, ws, x_dims, config), dx);
    expect_result(name, "dw", cp_conv2d_weight_grad(tape, xs, gs, w_dims, config), dw);
    cp_tape_free(tape);

    char text[120];
    snprintf(text, sizeof text, "%s: <x, dx>, which should be <y, g>", name);
    expect_number(text, inner(out, y, g), inner(width, x, dx + MARGIN), 1e-9);
    snprintf(text, sizeof text, "%s: <w, dw>, which should be <y, g>", name);
    expect_number(text, inner(out, y, g), inner(kernel, w, dw + MARGIN), 1e-9);
}

int main(void) {
    check("stride 1, no padding", 5, 3, 1, 0);
    check("stride 1, padding 2", 5, 3, 1, 2);
    check("stride 2, padding 1", 5, 3, 2, 1);
    check("stride 3, kernel 2 (some x are never read)", 8, 2, 3, 0);
    check("stride 3, kernel 4, padding 3", 9, 4, 3, 3);
    return expect_end();
}
