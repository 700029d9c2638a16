/* Checks exercise 5: known gradients of first and second order, the gradient check, and what the rule keeps. */
#include "expect.h"
#include <core/op.h>
#include <couplet.h>
#include <string.h>

cp_tensor *my_hypot(cp_at at, cp_tensor *a, cp_tensor *b);

static cp_tensor *build(cp_tape *tape, cp_tensor *const *in, const void *user) {
    return my_hypot(CP_AT(tape), in[0], in[1]);
}

static void expect_check(const char *what, const cp_gradcheck_input *in, cp_gradcheck_config config) {
    cp_gradcheck_result r = cp_gradcheck(build, NULL, in, 2, config);
    expect_true(what, r.passed);
    if (!r.passed) expect_note(r.message);
}

/* At (3, 4), where the result is 5, and at (-5, 12), where it is 13. */
static void expect_known(cp_tape *tape) {
    cp_tensor *a = cp_variable(tape, (cp_real[]){3, -5}, CP_SHAPE(2)), *b = cp_variable(tape, (cp_real[]){4, 12}, CP_SHAPE(2));
    cp_tensor *seed = cp_constant(tape, (cp_real[]){1, 10}, CP_SHAPE(2)), *ab[] = {a, b}, *first[2], *second[2];
    cp_tensor *out = my_hypot(CP_AT(tape), a, b);
    if (!cp_vjp_recorded(tape, out, seed, ab, 2, first)) return;
    expect_tensor("from g = (1, 10): gradient at a", CP_SHAPE(2), (double[]){0.6, -50.0 / 13}, first[0], 1e-9);
    expect_tensor("from g = (1, 10): gradient at b", CP_SHAPE(2), (double[]){0.8, 120.0 / 13}, first[1], 1e-9);
    second[0] = second[1] = cp_full(tape, 0, CP_SHAPE(2));
    if (first[0]->tracked) /* otherwise it does not depend on a and b: its gradient is 0 */
        cp_grad(tape, cp_sum(tape, first[0], CP_ALL, false), ab, 2, second);
    expect_tensor("gradient at a of the gradient at a", CP_SHAPE(2), (double[]){0.128, 1440.0 / 2197}, second[0], 1e-9);
    expect_tensor("gradient at b of the gradient at a", CP_SHAPE(2), (double[]){-0.096, 600.0 / 2197}, second[1], 1e-9);
}

typedef struct released {
    cp_tensor *values[3]; /* a, b, the result; without data if they were released */
} released;

static char reported[600];

static void note_error(const cp_error *error, void *user) {
    static const char *const names[] = {"a", "b", "the result"};
    const released          *r = user;
    snprintf(reported, sizeof reported, "%s: %s. Released:", error->op, error->message);
    for (int i = 0; i < 3; i++)
        if (!r->values[i]->data) strcat(strcat(reported, " "), names[i]);
}

/* Releases every value that no rule keeps, and then computes the gradients; an input whose gradient is not wanted is a constant. */
static void expect_kept(cp_tape *tape, const char *wanted, bool at_a, bool at_b) {
    cp_real    three[] = {3, 5}, four[] = {4, 12};
    cp_tensor *x = at_a ? cp_variable(tape, three, CP_SHAPE(2)) : cp_constant(tape, three, CP_SHAPE(2));
    cp_tensor *y = at_b ? cp_variable(tape, four, CP_SHAPE(2)) : cp_constant(tape, four, CP_SHAPE(2));
    cp_tensor *a = cp_scale(tape, x, 1), *b = cp_scale(tape, y, 1), *out = my_hypot(CP_AT(tape), a, b), *grads[2];
    cp_tensor *loss = cp_sum(tape, out, CP_ALL, false), *wrt[2];
    int        n = 0;
    released   r = {{a, b, out}};
    if (at_a) wrt[n++] = x;
    if (at_b) wrt[n++] = y;
    for (int i = 0; i < 3; i++) cp_release(CP_AT(tape), r.values[i]);
    cp_error_handler(note_error, &r);
    bool ok = cp_grad(tape, loss, wrt, n, grads);
    cp_error_handler(NULL, NULL);
    char what[100];
    snprintf(what, sizeof what, "gradient at %s: .keeps names the values that the rule reads", wanted);
    expect_true(what, ok);
    if (!ok) expect_note(reported);
    cp_tape_reset(tape);
}

int main(void) {
    cp_real            a[] = {0.75, -2, 1.5}, b[] = {1, 0.5, -1.25};
    cp_gradcheck_input in[] = {{.name = "a", .data = a, .shape = CP_SHAPE(3)}, {.name = "b", .data = b, .shape = CP_SHAPE(3)}};
    cp_tape           *tape = cp_tape_new();
    expect_known(tape);
    cp_tape_reset(tape);
    expect_check("cp_gradcheck of the first order", in, (cp_gradcheck_config){.first_only = true});
    expect_check("cp_gradcheck of both orders", in, (cp_gradcheck_config){0});
    expect_kept(tape, "a and b", true, true);
    expect_kept(tape, "a alone", true, false);
    expect_kept(tape, "b alone", false, true);
    cp_tape_free(tape);
    return expect_end();
}
