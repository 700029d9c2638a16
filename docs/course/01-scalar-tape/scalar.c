/* The engine at work: an example to follow on paper, and a neuron whose gradient is compared with differences of its values. */
#include "engine.h"

/* (x + y) y, in which y is used twice. */
static void example_on_paper(void) {
    tape        t = {.length = 0};
    const char *names[] = {"x", "y", "x + y", "(x + y) y"};
    int         x = leaf(&t, 2), y = leaf(&t, 3);
    int         result = mul(&t, add(&t, x, y), y);
    backward(&t, result);
    printf("node               value  gradient\n");
    for (int i = 0; i < t.length; i++) printf("%d  %-12s  %6g  %8g\n", i, names[i], t.nodes[i].value, t.nodes[i].grad);
}

/* The error of a neuron: (tanh(w x + b) - 1)^2 at x = 0.5. */
static int neuron(tape *t, double w_value, double b_value) {
    int w = leaf(t, w_value), b = leaf(t, b_value), x = leaf(t, 0.5);
    int error = add(t, tanh_of(t, add(t, mul(t, w, x), b)), leaf(t, -1));
    return mul(t, error, error);
}

static double loss(double w, double b) {
    tape t = {.length = 0};
    int  result = neuron(&t, w, b);
    return t.nodes[result].value;
}

int main(void) {
    example_on_paper();

    tape t = {.length = 0};
    backward(&t, neuron(&t, 0.8, -0.2));
    double h = 1e-4;
    printf("\nneuron  gradient  by differences\n");
    printf("w       %8.5f  %14.5f\n", t.nodes[0].grad, (loss(0.8 + h, -0.2) - loss(0.8 - h, -0.2)) / (2 * h));
    printf("b       %8.5f  %14.5f\n", t.nodes[1].grad, (loss(0.8, -0.2 + h) - loss(0.8, -0.2 - h)) / (2 * h));
    return 0;
}
