/* The three ops of a convolution are closed under differentiation: the record of a gradient of a gradient has no fourth op. */
#include <couplet.h>

int main(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2, 3, 4, 5}, CP_SHAPE(1, 1, 5, 1));
    cp_tensor *w = cp_variable(tape, (cp_real[]){1, 2, 3}, CP_SHAPE(1, 3, 1, 1));
    x->name = "x", w->name = "w";

    cp_tensor *y = cp_conv2d(tape, x, w, NULL, (cp_conv2d_config){CP_STRIDE(2), .pad_left = 1, .pad_right = 1});
    cp_tensor *energy = cp_sum(tape, cp_square(tape, y), CP_ALL, false), *dx, *dw;
    y->name = "y", energy->name = "energy";
    cp_grad_recorded(tape, energy, &x, 1, &dx);
    cp_tensor *steep = cp_sum(tape, cp_square(tape, dx), CP_ALL, false);
    dx->name = "dx", steep->name = "steep";
    cp_grad_recorded(tape, steep, &w, 1, &dw); /* recorded only to be listed */
    dw->name = "dw";
    cp_tape_print(tape, stdout);
    cp_tensor_print(stdout, dw);
    cp_tape_free(tape);
    return 0;
}
