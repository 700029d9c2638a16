/* Gradients of gradients at a point of Rosenbrock's valley, f(x, y) = (1 - x)^2 + 100 (y - x^2)^2: the Hessian, its
 * product with a vector, the product of a Jacobian with a vector, and Newton's method with them. */
#include <couplet.h>

/* The two residuals 1 - x and 10 (y - x^2); f is the sum of their squares. */
static cp_tensor *residuals(cp_tape *tape, cp_tensor *xy) {
    cp_tensor *x = cp_slice(tape, xy, (int[]){0}, (int[]){1}, NULL), *y = cp_slice(tape, xy, (int[]){1}, (int[]){2}, NULL);
    cp_tensor *first = cp_affine(tape, x, -1, 1), *second = cp_scale(tape, cp_sub(tape, y, cp_square(tape, x)), 10);
    return cp_concat(tape, (cp_tensor *[]){first, second}, 2, 0);
}

static cp_tensor *valley(cp_tape *tape, cp_tensor *xy) {
    return cp_sum(tape, cp_square(tape, residuals(tape, xy)), CP_ALL, false);
}

static void show(const char *what, const cp_tensor *t) {
    printf("%-34s %8.3f %8.3f\n", what, t->data[0], t->data[1]);
}

static cp_tensor *pair(cp_tape *tape, double a, double b) {
    return cp_constant(tape, (cp_real[]){a, b}, CP_SHAPE(2));
}

static void second_derivatives(cp_tape *tape) {
    cp_tensor *xy = cp_variable(tape, (cp_real[]){-1, 2}, CP_SHAPE(2)), *u = pair(tape, 3, 1);
    cp_tensor *f = valley(tape, xy), *g, *row, *hu;
    cp_grad_recorded(tape, f, &xy, 1, &g);
    show("gradient g", g);

    for (int i = 0; i < 2; i++) { /* g is a value like any other: ask for the gradient of g[i] */
        cp_vjp(tape, g, pair(tape, i == 0, i == 1), &xy, 1, &row);
        show(i ? "" : "Hessian, row by row", row);
    }
    cp_tensor *gu = cp_sum(tape, cp_mul(tape, g, u), CP_ALL, false);
    cp_grad(tape, gu, &xy, 1, &hu);
    show("gradient of <g, u>, u = (3, 1)", hu);
    cp_hvp(tape, f, &xy, &u, 1, &hu);
    show("cp_hvp", hu);
}

static void forward_product(cp_tape *tape) {
    cp_tensor *xy = cp_variable(tape, (cp_real[]){-1, 2}, CP_SHAPE(2)), *u = pair(tape, 3, 1);
    cp_tensor *v = cp_variable(tape, (cp_real[]){0, 0}, CP_SHAPE(2)); /* any numbers will do */
    cp_tensor *r = residuals(tape, xy), *back, *ju;
    cp_vjp_recorded(tape, r, v, &xy, 1, &back); /* J^T v */
    cp_vjp(tape, back, u, &v, 1, &ju);          /* its gradient with respect to v, along u */
    show("J u by two sweeps", ju);
    show("cp_jvp", cp_jvp(tape, r, &xy, &u, 1));
}

/* ---- minimizing ---- */

static void newton(cp_tape *tape, int steps) {
    cp_real at[2] = {-1.2, 1};
    for (int step = 0; step <= steps; step++) {
        cp_tensor *xy = cp_variable(tape, at, CP_SHAPE(2)), *f = valley(tape, xy), *g, *column[2];
        cp_grad(tape, f, &xy, 1, &g);
        for (int i = 0; i < 2; i++) {
            cp_tensor *unit = pair(tape, i == 0, i == 1);
            cp_hvp(tape, f, &xy, &unit, 1, &column[i]);
        }
        printf("Newton, step %d: (%6.3f, %6.3f)\n", step, at[0], at[1]);
        double a = column[0]->data[0], b = column[1]->data[0], c = column[1]->data[1];
        double p = g->data[0], q = g->data[1], det = a * c - b * b;
        at[0] -= (c * p - b * q) / det; /* minus the inverse of the Hessian times the gradient */
        at[1] -= (a * q - b * p) / det;
        cp_tape_reset(tape);
    }
}

static void descend(cp_tape *tape, int steps, double rate) {
    cp_real at[2] = {-1.2, 1};
    for (int step = 0; step < steps; step++) {
        cp_tensor *xy = cp_variable(tape, at, CP_SHAPE(2)), *g;
        cp_grad(tape, valley(tape, xy), &xy, 1, &g);
        for (int i = 0; i < 2; i++) at[i] -= rate * g->data[i];
        cp_tape_reset(tape);
    }
    printf("downhill, %d steps of %g: (%.2f, %.2f)\n", steps, rate, at[0], at[1]);
}

int main(void) {
    cp_tape *tape = cp_tape_new();
    second_derivatives(tape);
    forward_product(tape);
    cp_tape_reset(tape);
    printf("\n");
    newton(tape, 6);
    descend(tape, 1000, 0.001);
    cp_tape_free(tape);
    return 0;
}
