/* Checks exercise 4: known gradients of first and second order, the gradient check, and what the rule keeps. */
#include "expect.h"
#include <core/op.h>
#include <couplet.h>

cp_tensor *my_hypot(cp_at at, cp_tensor *a, cp_tensor *b);

static cp_tensor *build(cp_tape *tape, cp_tensor *const *in, const void *user) {
    return my_hypot(CP_AT(tape), in[0], in[1]);
}

static void expect_check(const char *what, const cp_gradcheck_input *in, cp_gradcheck_config config) {
    cp_gradcheck_result r = cp_gradcheck(build, NULL, in, 2, config);
    if (!r.passed) printf("%s: %s\n", what, r.message);
    expect_count(!r.passed, 1);
}

/* At (3, 4), where the result is 5, and at (-5, 12), where it is 13. */
static void expect_known(cp_tape *tape) {
    cp_tensor *a = cp_variable(tape, (cp_real[]){3, -5}, CP_SHAPE(2)), *b = cp_variable(tape, (cp_real[]){4, 12}, CP_SHAPE(2));
    cp_tensor *seed = cp_constant(tape, (cp_real[]){1, 10}, CP_SHAPE(2)), *ab[] = {a, b}, *first[2], *second[2];
    cp_tensor *out = my_hypot(CP_AT(tape), a, b);
    if (!cp_vjp_recorded(tape, out, seed, ab, 2, first)) return;
    expect_tensor("from g = (1, 10): gradient at a", CP_SHAPE(2), (double[]){0.6, -50.0 / 13}, first[0], 1e-5);
    expect_tensor("from g = (1, 10): gradient at b", CP_SHAPE(2), (double[]){0.8, 120.0 / 13}, first[1], 1e-5);
    if (!first[0]->tracked) { /* it does not depend on a and b at all, so there is nothing to ask for */
        expect_tensor("gradient at a of the gradient at a", CP_SHAPE(2), (double[]){0.128, 1440.0 / 2197},
                      cp_full(tape, 0, CP_SHAPE(2)), 1e-5);
        return;
    }
    if (!cp_grad(tape, cp_sum(tape, first[0], CP_ALL, false), ab, 2, second)) return;
    expect_tensor("gradient at a of the gradient at a", CP_SHAPE(2), (double[]){0.128, 1440.0 / 2197}, second[0], 1e-5);
    expect_tensor("gradient at b of the gradient at a", CP_SHAPE(2), (double[]){-0.096, 600.0 / 2197}, second[1], 1e-5);
}

/* Gives everything back that no rule has claimed, and asks for the gradients then. */
static void told(const cp_error *error, void *user) {
    printf("the rule reads what .keeps does not name: %s: %s\n", error->op, error->message);
}

static void expect_kept(cp_tape *tape) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){3, 5}, CP_SHAPE(2)), *y = cp_variable(tape, (cp_real[]){4, 12}, CP_SHAPE(2));
    cp_tensor *a = cp_scale(tape, x, 1), *b = cp_scale(tape, y, 1), *out = my_hypot(CP_AT(tape), a, b), *grads[2];
    cp_tensor *loss = cp_sum(tape, out, CP_ALL, false), *values[] = {a, b, out};
    for (int i = 0; i < 3; i++) cp_release(CP_AT(tape), values[i]);
    cp_error_handler(told, NULL);
    bool fine = cp_grad(tape, loss, (cp_tensor *[]){x, y}, 2, grads);
    cp_error_handler(NULL, NULL);
    expect_count(!fine, 1);
}

int main(void) {
    cp_real            a[] = {(cp_real)0.75, -2, (cp_real)1.5}, b[] = {1, (cp_real)0.5, (cp_real)-1.25};
    cp_gradcheck_input in[] = {{.name = "a", .data = a, .shape = CP_SHAPE(3)}, {.name = "b", .data = b, .shape = CP_SHAPE(3)}};
    cp_tape           *tape = cp_tape_new();
    expect_known(tape);
    cp_tape_reset(tape);
    expect_check("cp_gradcheck of the first order", in, (cp_gradcheck_config){.first_only = true});
    expect_check("cp_gradcheck of both orders", in, (cp_gradcheck_config){0});
    expect_kept(tape);
    cp_tape_free(tape);
    return expect_end();
}
