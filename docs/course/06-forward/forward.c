/* Forward mode: slopes computed together with the values, compared with the sweep of chapter 1, and the cost of both. */
#include "01-scalar-tape/engine.h"
#include "dual.h"

/* tanh(w x + b) at x = 0.5, in both ways: the neuron of chapter 1. */
static void neuron(void) {
    tape t = {.length = 0};
    int  w = leaf(&t, 0.8), b = leaf(&t, -0.2), x = leaf(&t, 0.5);
    backward(&t, tanh_of(&t, add(&t, mul(&t, w, x), b)));
    printf("tanh(w x + b)    value    slope  by a sweep\n");
    for (int k = 0; k < 2; k++) { /* one pass for each direction */
        dual dw = dual_make(0.8, k == 0), db = dual_make(-0.2, k == 1), dx = dual_make(0.5, 0);
        dual y = dual_tanh(dual_add(dual_mul(dw, dx), db));
        printf("along %s      %9.6f %8.6f    %8.6f\n", k ? "b" : "w", y.value, y.slope, t.nodes[k ? b : w].grad);
    }
}

/* ---- the cost of all slopes of m results with respect to n inputs ---- */

enum { MAX = 64 };

/* A ring of numbers, each of which is multiplied by the next, for so many steps. The inputs are the first n numbers of the ring, the
 * results the first m. One column of J in each pass. */
static long forward_products(int ring, int n, int steps) {
    dual x[MAX];
    dual_products = 0;
    for (int pass = 0; pass < n; pass++) {
        for (int i = 0; i < ring; i++) x[i] = dual_make(1 + 0.01 * i, i == pass);
        for (int s = 0; s < steps; s++) x[s % ring] = dual_mul(x[s % ring], x[(s + 1) % ring]);
    }
    return dual_products;
}

/* The same with chapter 1's engine. One row of J in each sweep: two products for each node. */
static long reverse_products(int ring, int m, int steps, int *length) {
    static tape t;
    int         x[MAX];
    t.length = 0;
    for (int i = 0; i < ring; i++) x[i] = leaf(&t, 1 + 0.01 * i);
    for (int s = 0; s < steps; s++) x[s % ring] = mul(&t, x[s % ring], x[(s + 1) % ring]);
    for (int sweep = 0; sweep < m; sweep++) backward(&t, x[sweep]);
    *length = t.length;
    return steps + 2L * steps * m;
}

int main(void) {
    static const int sizes[][2] = {{1, 1}, {1, 32}, {4, 4}, {32, 32}, {32, 1}, {64, 1}};
    int              length;
    neuron();
    printf("\ninputs  results  forward  reverse  (multiplications for all slopes of 100 products)\n");
    for (int k = 0; k < 6; k++) {
        int n = sizes[k][0], m = sizes[k][1], ring = n > m ? n : m;
        printf("%6d  %7d  %7ld  %7ld\n", n, m, forward_products(ring, n, 100), reverse_products(ring, m, 100, &length));
    }
    printf("\nproducts  values kept: forward  reverse\n");
    for (int steps = 100; steps <= 400; steps *= 2) {
        reverse_products(4, 1, steps, &length);
        printf("%8d  %20d  %7d\n", steps, 4, length);
    }
    return 0;
}
