/* Checks project 2: values, gradients of both orders, misuse, and what the rule keeps. */
#include "expect.h"
#include <core/op.h>
#include <couplet.h>

cp_tensor *huber(cp_at at, cp_tensor *a, cp_tensor *s);

enum { N = 3, M = 2 };
static const double a_data[N * M] = {3, -5, 0, 0.75, -4, 12}, s_data[M] = {4, 1};

/* The same with the library's ops: s sqrt(a^2 + s^2) - s^2. */
static cp_tensor *with_ops(cp_at at, cp_tensor *a, cp_tensor *s) {
    cp_tensor *squares = cp_square(at, s), *r = cp_sqrt(at, cp_add(at, cp_square(at, a), squares));
    return cp_sub(at, cp_mul(at, r, s), squares);
}

static int reported;

static void count_errors(const cp_error *error, void *user) {
    (void)error, (void)user;
    reported++;
}

static void part_1(cp_tape *tape) {
    expect_part("part 1: values");
    cp_tensor *a = cp_variable(tape, a_data, CP_SHAPE(N, M)), *s = cp_variable(tape, s_data, CP_SHAPE(M));
    expect_tensor("value", CP_SHAPE(N, M), with_ops(CP_AT(tape), a, s)->data, huber(CP_AT(tape), a, s), 1e-9);
    cp_error_handler(count_errors, NULL);
    bool refused = !huber(CP_AT(tape), a, cp_variable(tape, a_data, CP_SHAPE(N)));
    refused = refused && !huber(CP_AT(tape), s, s);
    cp_error_handler(NULL, NULL);
    expect_true("shapes that do not fit are refused", refused);
    expect_number("errors reported for the two", 2, reported, 0);
    cp_tape_reset(tape);
}

/* The gradients of both, for the seed 1 2 3 ..., and then the gradient at both of sum(da^2) + sum(ds^2). */
static void orders(cp_tape *tape, bool theirs, double (*first)[N * M], double (*second)[N * M]) {
    const double seed[] = {1, 2, 3, 4, 5, 6};
    cp_tensor   *in[] = {cp_variable(tape, a_data, CP_SHAPE(N, M)), cp_variable(tape, s_data, CP_SHAPE(M))}, *d[2], *dd[2];
    cp_tensor   *y = theirs ? with_ops(CP_AT(tape), in[0], in[1]) : huber(CP_AT(tape), in[0], in[1]);
    if (y && cp_vjp_recorded(tape, y, cp_constant(tape, seed, CP_SHAPE(N, M)), in, 2, d)) {
        for (int k = 0; k < 2; k++)
            for (size_t i = 0; i < d[k]->size; i++) first[k][i] = d[k]->data[i];
        cp_tensor *sum =
            cp_add(tape, cp_sum(tape, cp_square(tape, d[0]), CP_ALL, false), cp_sum(tape, cp_square(tape, d[1]), CP_ALL, false));
        if (sum->tracked && cp_grad(tape, sum, in, 2, dd))
            for (int k = 0; k < 2; k++)
                for (size_t i = 0; i < dd[k]->size; i++) second[k][i] = dd[k]->data[i];
    }
    cp_tape_reset(tape);
}

static cp_tensor *build(cp_tape *tape, cp_tensor *const *in, const void *user) {
    (void)user;
    return huber(CP_AT(tape), in[0], in[1]);
}

static void expect_check(const char *what, cp_gradcheck_config config) {
    cp_gradcheck_input  in[] = {{.name = "a", .data = a_data, .shape = CP_SHAPE(N, M)},
                                {.name = "s", .data = s_data, .shape = CP_SHAPE(M)}};
    cp_gradcheck_result r = cp_gradcheck(build, NULL, in, 2, config);
    expect_true(what, r.passed);
    if (!r.passed) expect_note(r.message);
}

static void parts_2_and_3(cp_tape *tape) {
    double first[2][N * M] = {{0}}, second[2][N * M] = {{0}}, right[2][N * M] = {{0}}, right_second[2][N * M] = {{0}};
    orders(tape, true, right, right_second);
    orders(tape, false, first, second);
    expect_part("part 2: first order");
    expect_numbers("gradient at a", N * M, right[0], first[0], 1e-9);
    expect_numbers("gradient at s", M, right[1], first[1], 1e-9);
    expect_check("cp_gradcheck of the first order", (cp_gradcheck_config){.first_only = true});
    expect_part("part 3: second order");
    expect_numbers("gradient at a of the squares of both gradients", N * M, right_second[0], second[0], 1e-9);
    expect_numbers("gradient at s of the squares of both gradients", M, right_second[1], second[1], 1e-9);
    expect_check("cp_gradcheck of both orders", (cp_gradcheck_config){0});
}

/* The gradients of the sum at a and s, in out, one after the other. `release` gives back a, s and the result before the sweep; what .keeps
 * names stays. Returns whether the result stayed. */
static bool gradients(cp_tape *tape, bool theirs, bool at_a, bool at_s, bool release, double *out) {
    cp_tensor *x = at_a ? cp_variable(tape, a_data, CP_SHAPE(N, M)) : cp_constant(tape, a_data, CP_SHAPE(N, M));
    cp_tensor *t = at_s ? cp_variable(tape, s_data, CP_SHAPE(M)) : cp_constant(tape, s_data, CP_SHAPE(M));
    cp_tensor *a = cp_scale(tape, x, 1), *s = cp_scale(tape, t, 1), *wrt[2], *grads[2];
    cp_tensor *y = theirs ? with_ops(CP_AT(tape), a, s) : huber(CP_AT(tape), a, s), *loss = cp_sum(tape, y, CP_ALL, false);
    int        n = 0;
    if (at_a) wrt[n++] = x;
    if (at_s) wrt[n++] = t;
    if (release) cp_release(CP_AT(tape), a), cp_release(CP_AT(tape), s), cp_release(CP_AT(tape), y);
    bool stayed = y->data != NULL;
    cp_error_handler(count_errors, NULL);
    if (cp_grad(tape, loss, wrt, n, grads))
        for (int k = 0; k < n; k++)
            for (size_t i = 0; i < grads[k]->size; i++) *out++ = grads[k]->data[i];
    cp_error_handler(NULL, NULL);
    cp_tape_reset(tape);
    return stayed;
}

static void released(cp_tape *tape, const char *wanted, bool at_a, bool at_s) {
    double expected[N * M + M] = {0}, received[N * M + M] = {0};
    char   what[100];
    gradients(tape, true, at_a, at_s, false, expected);
    bool stayed = gradients(tape, false, at_a, at_s, true, received);
    snprintf(what, sizeof what, "gradient at %s, after releasing what .keeps does not name", wanted);
    expect_numbers(what, (size_t)(at_a * N * M + at_s * M), expected, received, 1e-9);
    snprintf(what, sizeof what, "gradient at %s: the result is not kept", wanted);
    expect_true(what, !stayed);
}

int main(void) {
    cp_tape *tape = cp_tape_new();
    part_1(tape);
    parts_2_and_3(tape);
    expect_part("part 4: memory");
    released(tape, "a and s", true, true);
    released(tape, "a alone", true, false);
    released(tape, "s alone", false, true);
    cp_tape_free(tape);
    return expect_end();
}
