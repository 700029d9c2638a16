/* A small record and several sweeps over it: for all leaves, for one leaf, and for another. */
#include <couplet.h>

static cp_tensor *named(cp_tensor *t, const char *name) {
    t->name = name;
    return t;
}

int main(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *x = named(cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), "x");
    cp_tensor *w = named(cp_variable(tape, (cp_real[]){3, -1}, CP_SHAPE(2)), "w");
    cp_tensor *b = named(cp_variable(tape, (cp_real[]){1}, CP_SCALAR), "b");
    cp_tensor *u = named(cp_mul(tape, w, x), "u");                   /* (2) */
    cp_tensor *v = named(cp_add(tape, u, b), "v");                   /* (2) */
    cp_tensor *p = named(cp_mul(tape, u, v), "p");                   /* (2), u is used a second time */
    cp_tensor *loss = named(cp_sum(tape, p, CP_ALL, false), "loss"); /* () */

    printf("The record\n");
    cp_tape_print_values(tape, stdout);

    printf("\nThe sweep for x, w and b\n");
    cp_tape_trace(tape, stdout, loss, (cp_tensor *[]){x, w, b}, 3);

    printf("\nThe sweep for x alone\n");
    cp_tape_trace(tape, stdout, loss, &x, 1);

    printf("\nThe sweep for b alone\n");
    cp_tape_trace(tape, stdout, loss, &b, 1);

    printf("\nThe sweep for u, a value between\n");
    cp_tape_trace(tape, stdout, loss, &u, 1);
    cp_tape_free(tape);
    return 0;
}
