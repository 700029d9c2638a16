/* The check of exercise 13. */
#include "expect.h"

double times(double a, double b);
void   correlate(int n, const double *x, const double g[3], double *y);

static int products;

double times(double a, double b) {
    products++;
    return a * b;
}

enum { MAX = 33, GUARD = 4 };

/* Values around x are NaN, and values around y must not change, so reading or writing too far is detected. */
static void check(int n, const double g[3]) {
    double x[MAX + 2 + 2 * GUARD], y[MAX + 2 * GUARD], expected[MAX];
    char   what[80];
    for (int i = 0; i < MAX + 2 + 2 * GUARD; i++) x[i] = NAN;
    for (int i = 0; i < MAX + 2 * GUARD; i++) y[i] = -1000;
    for (int i = 0; i < n + 2; i++) x[GUARD + i] = (i * i * 7 + 3 * i) % 11 - 4; /* whole numbers without a pattern */
    for (int i = 0; i < n; i++) expected[i] = g[0] * x[GUARD + i] + g[1] * x[GUARD + i + 1] + g[2] * x[GUARD + i + 2];
    products = 0;
    correlate(n, x + GUARD, g, y + GUARD);
    snprintf(what, sizeof what, "n = %d, weights %g %g %g: y", n, g[0], g[1], g[2]);
    expect_numbers(what, (size_t)n, expected, y + GUARD, 1e-9);
    snprintf(what, sizeof what, "n = %d: y[-1], which is not yours", n);
    expect_number(what, -1000, y[GUARD - 1], 0);
    snprintf(what, sizeof what, "n = %d: y[%d], which is not yours", n, n);
    expect_number(what, -1000, y[GUARD + n], 0);
    int max = n / 2 * 4 + n % 2 * 3;
    snprintf(what, sizeof what, "n = %d: products (%d by the formula)", n, 3 * n);
    expect_number(what, max, products > 0 && products < max ? max : products, 0);
}

int main(void) {
    static const double weights[][3] = {{1, 2, 3}, {-1, 0, 1}, {0.5, -3, 0.25}};
    check(2, weights[0]);
    check(2, weights[2]);
    check(8, weights[1]);
    check(1, weights[0]);
    check(7, weights[2]);
    check(MAX, weights[0]);
    return expect_end();
}
