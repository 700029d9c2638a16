/* Why clear: the results of a sweep that adds to the gradients of an earlier one. */
#include "engine.h"

/* The sweep of engine.h without its first line. */
static void not_clearing(tape *t, int result) {
    t->nodes[result].grad = 1;
    for (int i = result; i >= 0; i--) {
        node *n = &t->nodes[i];
        for (int k = 0; k < 2; k++)
            if (n->in[k] >= 0) t->nodes[n->in[k]].grad += n->slope[k] * n->grad;
    }
}

/* 2 p with p = x x, at x = 3: the gradient is 4 x = 12, however often it is computed. */
static void sweeps_over_one_tape(void) {
    tape t = {.length = 0}, right = {.length = 0};
    int  x = leaf(&t, 3), p = mul(&t, x, x), result = mul(&t, p, leaf(&t, 2));
    right = t;
    printf("sweep    at p    at x    cleared: at p    at x\n");
    for (int sweep = 1; sweep <= 3; sweep++) {
        not_clearing(&t, result);
        backward(&right, result);
        printf("%5d  %6g  %6g  %15g  %6g\n", sweep, t.nodes[p].grad, t.nodes[x].grad, right.nodes[p].grad, right.nodes[x].grad);
    }
}

/* d(x - 4)^2 / dx, with a new tape in each step. */
static double slope_at(double x_value) {
    tape t = {.length = 0};
    int  x = leaf(&t, x_value), error = add(&t, x, leaf(&t, -4));
    backward(&t, mul(&t, error, error));
    return t.nodes[x].grad;
}

/* Steps downhill to x = 4, once without clearing, so that each gradient is added to those of the steps before. */
static void descent(void) {
    double wrong = 0, right = 0, kept = 0;
    printf("\nstep  not cleared  cleared\n");
    for (int step = 0; step <= 40; step++) {
        if (step % 5 == 0) printf("%4d  %11.3f  %7.3f\n", step, wrong, right);
        kept += slope_at(wrong);
        wrong -= 0.1 * kept;
        right -= 0.1 * slope_at(right);
    }
}

int main(void) {
    sweeps_over_one_tape();
    descent();
    return 0;
}
