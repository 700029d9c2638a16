/* The memory of a tape, counted in tensors of SIZE numbers: while it records, after a sweep, from step to step with and
 * without a reset, and in its three modes. Then the error for a pointer from before a reset. */
#include <core/op.h> /* cp_release */
#include <couplet.h>

enum { SIZE = 1 << 14, LAYERS = 20 };
static cp_real data[SIZE];

static int in_tensors(size_t bytes) {
    return (int)((double)bytes / (SIZE * sizeof(cp_real)) + 0.5); /* the structs that describe the tensors are rounded away */
}

/* ---- one step, and three steps ---- */

static cp_tensor *chain(cp_tape *tape, cp_tensor *x, int length) {
    for (int i = 0; i < length; i++) x = cp_softplus(tape, x);
    return cp_sum(tape, x, CP_ALL, false);
}

static void one_sweep(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *x = cp_variable(tape, data, CP_SHAPE(SIZE)), *dx;
    cp_tensor *loss = chain(tape, x, 10);
    printf("a chain of 10 ops holds %d tensors", in_tensors(cp_tape_bytes(tape)));
    cp_grad(tape, loss, &x, 1, &dx);
    printf(", its sweep at most %d, and %d stay\n", in_tensors(cp_tape_peak(tape)), in_tensors(cp_tape_bytes(tape)));
    cp_tape_free(tape);
}

static void three_steps(bool reset) {
    cp_tape *tape = cp_tape_new();
    printf("%-16s", reset ? "with a reset" : "without a reset");
    for (int step = 0; step < 3; step++) {
        cp_tensor *x = cp_variable(tape, data, CP_SHAPE(SIZE)), *dx;
        cp_grad(tape, chain(tape, x, 10), &x, 1, &dx);
        printf("  step %d: %2d", step, in_tensors(cp_tape_bytes(tape)));
        if (reset) cp_tape_reset(tape);
    }
    printf("\n");
    cp_tape_free(tape);
}

/* ---- three modes ---- */

/* w softplus(x), as a layer that releases the values that nobody will read. */
static cp_tensor *layer(cp_tape *tape, cp_tensor *x, cp_tensor *w) {
    cp_tensor *active = cp_softplus(tape, x);
    cp_tensor *out = cp_mul(tape, active, w);
    cp_release(CP_AT(tape), active);
    cp_release(CP_AT(tape), x);
    return out;
}

static void mode(const char *name, bool frozen, bool paused) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *w = cp_parameter_new(data, CP_SHAPE(SIZE));
    cp_tape_freeze(tape, frozen);
    cp_tape_pause(tape, paused);
    cp_tensor *x = cp_variable(tape, data, CP_SHAPE(SIZE));
    for (int i = 0; i < LAYERS; i++) x = layer(tape, x, w);
    printf("%-10s nodes: %2d  tensors: %2d\n", name, cp_tape_length(tape), in_tensors(cp_tape_bytes(tape)));
    cp_tape_free(tape);
    cp_tensor_free(w);
}

/* ---- what a layer keeps ---- */

static void listing(bool frozen) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *w = cp_parameter_new((cp_real[]){1, 2}, CP_SHAPE(2));
    cp_tape_freeze(tape, frozen);
    cp_tensor *x = cp_variable(tape, (cp_real[]){3, 4}, CP_SHAPE(2));
    w->name = "w", x->name = "x";
    cp_tensor *active = cp_softplus(tape, x);
    active->name = "active";
    cp_sum(tape, cp_mul(tape, active, w), CP_ALL, false);
    cp_tape_print(tape, stdout);
    cp_tape_free(tape);
    cp_tensor_free(w);
}

/* ---- a pointer from before a reset ---- */

static void print_error(const cp_error *error, void *user) {
    (void)user;
    printf("misuse in %s: %s\n", error->op, error->message);
}

static void stale_pointer(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *x = cp_variable(tape, data, CP_SHAPE(SIZE));
    cp_error_handler(print_error, NULL); /* instead of ending the program */
    cp_tape_reset(tape);
    cp_tensor *y = cp_softplus(tape, x);
    printf("the op returned %s\n", y ? "a tensor" : "NULL");
    cp_error_handler(NULL, NULL);
    cp_tape_free(tape);
}

int main(void) {
    one_sweep();
    printf("\n");
    three_steps(false);
    three_steps(true);
    printf("\n");
    mode("recording", false, false);
    mode("frozen", true, false);
    mode("paused", false, true);
    printf("\n");
    listing(false);
    printf("and frozen:\n");
    listing(true);
    printf("\n");
    stale_pointer();
    return 0;
}
