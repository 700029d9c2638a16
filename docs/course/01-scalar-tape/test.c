/* Checks exercise 1: values and gradients of divide and power, alone and combined. */
#include "01-scalar-tape/engine.h"
#include "expect.h"

int divide(tape *t, int a, int b);
int power(tape *t, int a, int n);

/* Sweeps from the result; checks its value and the gradients at the first leaves. */
static void expect_node(const char *what, tape *t, int result, double value, int leaves, const double *grads) {
    char text[100];
    snprintf(text, sizeof text, "%s: its place on the tape", what);
    if (result < 0 || result >= t->length) {
        expect_number(text, t->length - 1, result, 0);
        return;
    }
    snprintf(text, sizeof text, "%s: value", what);
    expect_number(text, value, t->nodes[result].value, 1e-9);
    backward(t, result);
    for (int i = 0; i < leaves; i++) {
        snprintf(text, sizeof text, "%s: gradient at %c", what, "xy"[i]);
        expect_number(text, grads[i], t->nodes[i].grad, 1e-9);
    }
}

static void expect_quotient(const char *what, double x_value, double y_value, double value, double dx, double dy) {
    tape t = {.length = 0};
    int  x = leaf(&t, x_value), y = leaf(&t, y_value);
    expect_node(what, &t, divide(&t, x, y), value, 2, (double[]){dx, dy});
}

static void expect_power(const char *what, double x_value, int n, double value, double dx) {
    tape t = {.length = 0};
    int  x = leaf(&t, x_value);
    expect_node(what, &t, power(&t, x, n), value, 1, &dx);
}

static void expect_one_value_used_twice(void) {
    tape t = {.length = 0};
    int  x = leaf(&t, 4);
    expect_node("x / x at 4", &t, divide(&t, x, x), 1, 1, (double[]){0});

    t.length = 0;
    x = leaf(&t, 2);
    int y = leaf(&t, 4), sum = add(&t, x, y), product = mul(&t, x, y);
    expect_node("(x + y) / (x y) at 2 and 4", &t, divide(&t, sum, product), 0.75, 2, (double[]){-0.25, -0.0625});

    t.length = 0;
    x = leaf(&t, 2);
    int cube = power(&t, x, 3), square = power(&t, x, 2);
    if (cube < 0 || square < 0 || cube >= t.length || square >= t.length) return; /* already reported */
    int quotient = divide(&t, cube, square);
    if (quotient < 0 || quotient >= t.length) return;
    expect_node("x^3 / x^2 + x^3 at 2", &t, add(&t, quotient, cube), 10, 1, (double[]){13});
}

int main(void) {
    expect_quotient("x / y at 6 and 3", 6, 3, 2, 1.0 / 3, -2.0 / 3);
    expect_quotient("x / y at 1 and -2", 1, -2, -0.5, -0.5, -0.25);
    expect_power("x^3 at 2", 2, 3, 8, 12);
    expect_power("x^2 at -3", -3, 2, 9, -6);
    expect_power("x^1 at 0", 0, 1, 0, 1);
    expect_one_value_used_twice();
    return expect_end();
}
