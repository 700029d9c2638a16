/* Why accumulate: the results of a sweep that sets a gradient instead of adding to it. */
#include "engine.h"

/* The sweep of engine.h with one change: = in place of +=. */
static void assigning(tape *t, int result) {
    for (int i = 0; i < t->length; i++) t->nodes[i].grad = 0;
    t->nodes[result].grad = 1;
    for (int i = result; i >= 0; i--) {
        node *n = &t->nodes[i];
        for (int k = 0; k < 2; k++)
            if (n->in[k] >= 0) t->nodes[n->in[k]].grad = n->slope[k] * n->grad;
    }
}

static void compare(const char *what, tape *t, int result) {
    assigning(t, result);
    double wrong = t->nodes[0].grad;
    backward(t, result);
    printf("%-20s  %8g  %8g\n", what, wrong, t->nodes[0].grad);
}

int main(void) {
    printf("d/dx at x = 3         assigned     added\n");

    tape chain = {.length = 0}; /* each value is used once */
    int  x = leaf(&chain, 3);
    compare("5 (x + 1)", &chain, mul(&chain, leaf(&chain, 5), add(&chain, x, leaf(&chain, 1))));

    tape twice = {.length = 0}; /* x is used three times */
    x = leaf(&twice, 3);
    compare("x x + x", &twice, add(&twice, mul(&twice, x, x), x));

    tape same = {.length = 0}; /* one op uses x on both sides */
    x = leaf(&same, 3);
    compare("x + x", &same, add(&same, x, x));
    return 0;
}
