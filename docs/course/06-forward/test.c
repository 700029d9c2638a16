/* Checks exercise 6: division, a root that is computed by a loop, and slopes along one direction and along all. */
#include "06-forward/dual.h"
#include "expect.h"

dual   dual_div(dual a, dual b);
dual   dual_root(dual a);
double along(dual_function *f, int n, const double *x, const double *u);
void   all_slopes(dual_function *f, int n, const double *x, double *slopes);

static int calls;

static void expect_dual(const char *what, double value, double slope, dual received) {
    char text[100];
    snprintf(text, sizeof text, "%s: value", what);
    expect_number(text, value, received.value, 1e-9);
    snprintf(text, sizeof text, "%s: slope", what);
    expect_number(text, slope, received.slope, 1e-9);
}

/* x y + tanh(x) z */
static dual mixed(int n, const dual *x) {
    calls++;
    (void)n;
    return dual_add(dual_mul(x[0], x[1]), dual_mul(dual_tanh(x[0]), x[2]));
}

/* The product of all. */
static dual product(int n, const dual *x) {
    dual y = x[0];
    calls++;
    for (int i = 1; i < n; i++) y = dual_mul(y, x[i]);
    return y;
}

int main(void) {
    expect_dual("6 / 3 with slope 1 at the 6", 2, 1.0 / 3, dual_div(dual_make(6, 1), dual_make(3, 0)));
    expect_dual("6 / 3 with slope 1 at the 3", 2, -2.0 / 3, dual_div(dual_make(6, 0), dual_make(3, 1)));
    expect_dual("x / x with slope 5", 1, 0, dual_div(dual_make(-4, 5), dual_make(-4, 5)));
    expect_dual("root of 9 with slope 1", 3, 1.0 / 6, dual_root(dual_make(9, 1)));
    expect_dual("root of 0.25 with slope 4", 0.5, 4, dual_root(dual_make(0.25, 4)));

    const double x[] = {0.5, -1, 2}, u[] = {1, 3, -1}, t = tanh(0.5), slopes[] = {-1 + 2 * (1 - t * t), 0.5, t};
    double       received[8];
    calls = 0;
    expect_number("x y + tanh(x) z along (1, 3, -1)", slopes[0] + 3 * slopes[1] - slopes[2], along(mixed, 3, x, u), 1e-9);
    expect_number("calls of f for one direction", 1, calls, 0);
    calls = 0;
    all_slopes(mixed, 3, x, received);
    expect_numbers("all slopes of x y + tanh(x) z", 3, slopes, received, 1e-9);
    expect_number("calls of f for three slopes", 3, calls, 0);
    const double many[] = {1, 2, -1, 0.5, 4, 3, 1, -2}, expected[] = {24, 12, -24, 48, 6, 8, 24, -12};
    all_slopes(product, 8, many, received);
    expect_numbers("all slopes of a product of eight", 8, expected, received, 1e-9);
    return expect_end();
}
