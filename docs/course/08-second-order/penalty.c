/* A gradient penalty: the loss contains |dE/dx|^2, and training needs its gradient with respect to the weight w. With
 * E(x) = w x^2 / 2 everything can be computed by hand: dE/dx = w x, the penalty is the mean of w^2 x^2, and its
 * gradient 2 w times the mean of x^2. */
#include <couplet.h>

static cp_tensor *energies(cp_tape *tape, cp_tensor *x, cp_tensor *w) {
    return cp_mul(tape, cp_scale(tape, cp_square(tape, x), 0.5), w); /* one for each row of x */
}

static void print_error(const cp_error *error, void *user) {
    (void)user;
    printf("misuse in %s: %s\n", error->op, error->message);
}

int main(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *w = cp_parameter_new((cp_real[]){3}, CP_SHAPE(1));
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2));
    cp_tensor *e = energies(tape, x, w), *dx, *dw;

    cp_grad_recorded(tape, cp_sum(tape, e, CP_ALL, false), &x, 1, &dx); /* row n of dx is dE(x_n)/dx_n */
    cp_tensor *penalty = cp_mean(tape, cp_square(tape, dx), CP_ALL, false);
    cp_grad(tape, penalty, &w, 1, &dw);
    printf("penalty %.1f, its gradient at w %.1f\n", cp_item(penalty), cp_item(dw));

    penalty = cp_mean(tape, cp_gradient_squares(tape, e, x), CP_ALL, false); /* the same in one call */
    cp_grad(tape, penalty, &w, 1, &dw);
    printf("penalty %.1f, its gradient at w %.1f\n", cp_item(penalty), cp_item(dw));

    cp_error_handler(print_error, NULL);
    cp_grad(tape, cp_sum(tape, e, CP_ALL, false), &x, 1, &dx); /* not recorded */
    penalty = cp_mean(tape, cp_square(tape, dx), CP_ALL, false);
    cp_grad(tape, penalty, &w, 1, &dw);
    cp_tensor_free(w);
    cp_tape_free(tape);
    return 0;
}
