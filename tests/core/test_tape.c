/* Tests of the tape and the reverse sweep: basic identities of gradients, each as a sentence, and the engine's guarantees
 * about pruning, constants, results and memory. */
#include "couplet.h"

#include "core/op.h"

#include "tests/support/setup_tape.h"

#include <math.h>
#include <string.h>

static double tolerance(void) { return 16 * (double)CP_REAL_EPSILON; }

static void expect_values(int n, const double *expected, const cp_tensor *t) {
    TEST_ASSERT_NOT_NULL(t);
    TEST_ASSERT_EQUAL_UINT64(n, t->size);
    for (int i = 0; i < n; i++) TEST_ASSERT_DOUBLE_WITHIN(tolerance() * (1 + fabs(expected[i])), expected[i], (double)t->data[i]);
}

#define EXPECT(t, ...) expect_values((int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__}, t)

static cp_tensor *vector(int n, const double *values) {
    cp_real data[16];
    for (int i = 0; i < n; i++) data[i] = (cp_real)values[i];
    return cp_variable(tape, data, CP_SHAPE(n));
}

#define VECTOR(...) vector((int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

static cp_tensor *total(cp_tensor *t) { return cp_sum(tape, t, CP_ALL, false); }

static cp_tensor *gradient(cp_tensor *loss, cp_tensor *wrt) {
    cp_tensor *out = NULL;
    TEST_ASSERT_TRUE(cp_grad(tape, loss, &wrt, 1, &out));
    return out;
}

static cp_tensor *recorded_gradient(cp_tensor *loss, cp_tensor *wrt) {
    cp_tensor *out = NULL;
    TEST_ASSERT_TRUE(cp_grad_recorded(tape, loss, &wrt, 1, &out));
    return out;
}

/* ---- an op that counts: out = a b, with the gradients of a and b counted separately ---- */

static int rule_calls, a_rules, b_rules;

static void counted_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    rule_calls++;
    if (cp_needs(node, 0)) {
        a_rules++;
        gin[0] = cp_mul(at, g, node->in[1]);
    }
    if (cp_needs(node, 1)) {
        b_rules++;
        gin[1] = cp_mul(at, g, node->in[0]);
    }
}

static const cp_op counted_op = {.name = "counted", .grad = counted_grad};

static cp_tensor *counted(cp_tensor *a, cp_tensor *b) {
    cp_at      at = CP_AT(tape);
    cp_tensor *out = cp_out(at, a->shape);
    for (size_t i = 0; i < out->size; i++) out->data[i] = a->data[i] * b->data[i];
    return cp_record(at, &counted_op, out, NULL, 2, (cp_tensor *[]){a, b});
}

/* ---- an op whose rule passes on tensors that it did not make: out = sum(a b) ---- */

static void dot_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    (void)at, (void)g;
    gin[0] = node->in[1];
    gin[1] = node->in[0];
}

static const cp_op dot_op = {.name = "dot", .grad = dot_grad};

static cp_tensor *dot(cp_tensor *a, cp_tensor *b) {
    cp_at      at = CP_AT(tape);
    cp_tensor *out = cp_out(at, CP_SCALAR);
    out->data[0] = 0;
    for (size_t i = 0; i < a->size; i++) out->data[0] += a->data[i] * b->data[i];
    return cp_record(at, &dot_op, out, NULL, 2, (cp_tensor *[]){a, b});
}

/* ---- the identities ---- */

static void a_value_used_twice_gets_both_gradients(void) {
    cp_tensor *x = VECTOR(3, -1);
    EXPECT(gradient(total(cp_mul(tape, x, x)), x), 6, -2);
    EXPECT(gradient(total(cp_add(tape, x, x)), x), 2, 2);
    EXPECT(gradient(total(cp_sub(tape, x, x)), x), 0, 0);
}

static void a_value_used_in_three_places_gets_the_sum_of_three_gradients(void) {
    cp_tensor *x = VECTOR(2), *y = cp_square(tape, x);
    cp_tensor *loss = total(cp_add(tape, cp_add(tape, cp_scale(tape, y, 3), cp_mul(tape, y, y)), x));
    EXPECT(gradient(loss, x), 3 * 4 + 4 * 8 + 1);
}

static void a_diamond_of_sums_doubles_at_every_level(void) {
    cp_tensor *x = VECTOR(1), *y = x;
    for (int i = 0; i < 20; i++) y = cp_add(tape, y, y);
    EXPECT(gradient(total(y), x), 1 << 20);
}

static void asking_twice_gives_the_same_gradient_twice(void) {
    cp_tensor *x = VECTOR(1, 2, 3), *loss = total(cp_mul(tape, cp_square(tape, x), cp_exp(tape, x)));
    cp_tensor *once = gradient(loss, x), *twice = gradient(loss, x);
    TEST_ASSERT_NOT_EQUAL(once->data, twice->data);
    TEST_ASSERT_EQUAL_MEMORY(once->data, twice->data, 3 * sizeof(cp_real));
    int length = cp_tape_length(tape);
    gradient(loss, x);
    TEST_ASSERT_EQUAL_INT(length, cp_tape_length(tape));
}

static void a_recorded_sweep_gives_the_same_numbers_as_an_unrecorded_one(void) {
    cp_tensor *x = VECTOR(1, 2, 3), *loss = total(cp_mul(tape, cp_square(tape, x), cp_tanh(tape, x)));
    cp_tensor *plain = gradient(loss, x), *recorded = recorded_gradient(loss, x);
    TEST_ASSERT_EQUAL_MEMORY(plain->data, recorded->data, 3 * sizeof(cp_real));
    EXPECT(gradient(loss, x), (double)plain->data[0], (double)plain->data[1], (double)plain->data[2]);
}

static void a_chain_of_100000_ops_does_not_overflow_the_stack(void) {
    cp_tensor *x = VECTOR(1), *y = x;
    for (int i = 0; i < 100000; i++) y = cp_affine(tape, y, i % 2 ? 2 : (cp_real)0.5, 0);
    TEST_ASSERT_EQUAL_INT(100000, cp_tape_length(tape));
    EXPECT(gradient(total(y), x), 1);
}

static void the_gradient_of_a_variable_with_respect_to_itself_is_one(void) {
    cp_tensor *x = VECTOR(7);
    EXPECT(gradient(x, x), 1);
}

static void a_loss_of_shape_1_1_is_a_single_value_too(void) {
    cp_tensor *x = VECTOR(1, 2), *loss = cp_sum(tape, cp_reshape(tape, cp_square(tape, x), CP_SHAPE(1, 2)), CP_ALL, true);
    TEST_ASSERT_EQUAL_INT(2, loss->rank);
    EXPECT(gradient(loss, x), 2, 4);
}

static void a_gradient_with_respect_to_an_intermediate_value_is_right(void) {
    cp_tensor *x = VECTOR(2, 3), *y = cp_square(tape, x), *loss = total(cp_square(tape, y));
    cp_tensor *wrt[] = {y, x, loss}, *out[3];
    TEST_ASSERT_TRUE(cp_grad(tape, loss, wrt, 3, out));
    EXPECT(out[0], 8, 18);
    EXPECT(out[1], 32, 108);
    EXPECT(out[2], 1);
    EXPECT(gradient(loss, y), 8, 18);
}

static void nodes_before_a_wanted_intermediate_value_are_not_visited(void) {
    rule_calls = 0;
    cp_tensor *x = VECTOR(2), *y = counted(x, VECTOR(5)), *loss = total(cp_square(tape, y));
    EXPECT(gradient(loss, y), 20);
    TEST_ASSERT_EQUAL_INT(0, rule_calls);
}

static void asking_for_the_input_gradient_never_runs_the_weight_rule(void) {
    cp_tensor *w = cp_parameter_new((cp_real[]){3, 4}, CP_SHAPE(2));
    cp_tensor *x = VECTOR(1, 2), *loss = total(counted(x, w));
    rule_calls = a_rules = b_rules = 0;
    EXPECT(gradient(loss, x), 3, 4);
    TEST_ASSERT_EQUAL_INT(1, a_rules);
    TEST_ASSERT_EQUAL_INT(0, b_rules);
    EXPECT(gradient(loss, w), 1, 2);
    TEST_ASSERT_EQUAL_INT(1, a_rules);
    TEST_ASSERT_EQUAL_INT(1, b_rules);
    cp_tensor_free(w);
}

static void a_branch_that_leads_to_nothing_wanted_is_not_visited(void) {
    cp_tensor *x = VECTOR(2), *other = VECTOR(3), *branch = counted(other, other);
    cp_tensor *loss = total(cp_add(tape, cp_square(tape, x), branch));
    rule_calls = 0;
    EXPECT(gradient(loss, x), 4);
    TEST_ASSERT_EQUAL_INT(0, rule_calls);
    EXPECT(gradient(loss, other), 6);
    TEST_ASSERT_EQUAL_INT(1, rule_calls);
}

static void ops_after_the_loss_are_not_visited(void) {
    cp_tensor *x = VECTOR(2), *loss = total(cp_square(tape, x));
    counted(x, loss);
    rule_calls = 0;
    EXPECT(gradient(loss, x), 4);
    TEST_ASSERT_EQUAL_INT(0, rule_calls);
}

static void constants_and_detached_values_record_nothing(void) {
    cp_tensor *c = cp_constant(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), *x = VECTOR(1, 2);
    cp_mul(tape, c, cp_exp(tape, c));
    cp_tensor *persistent = cp_tensor_new(CP_SHAPE(2));
    cp_add(tape, persistent, c);
    TEST_ASSERT_EQUAL_INT(0, cp_tape_length(tape));
    cp_tensor *detached = cp_detach(tape, x);
    TEST_ASSERT_EQUAL_PTR(x->data, detached->data);
    TEST_ASSERT_FALSE(cp_exp(tape, detached)->tracked);
    TEST_ASSERT_EQUAL_INT(0, cp_tape_length(tape));
    EXPECT(gradient(total(cp_mul(tape, x, detached)), x), 1, 2);
    cp_tensor_free(persistent);
}

static void the_results_of_comparisons_are_constants(void) {
    cp_tensor *x = VECTOR(1, -2), *y = VECTOR(1, 5);
    TEST_ASSERT_FALSE(cp_greater(tape, x, y)->tracked);
    TEST_ASSERT_FALSE(cp_equal(tape, x, y)->tracked);
    TEST_ASSERT_FALSE(cp_sign(tape, x)->tracked);
    TEST_ASSERT_EQUAL_INT(0, cp_tape_length(tape));
}

static void with_recording_off_nothing_is_recorded(void) {
    cp_tensor *x = VECTOR(1, 2);
    TEST_ASSERT_FALSE(cp_tape_pause(tape, true));
    cp_tensor *y = total(cp_softmax(tape, cp_square(tape, x), 0));
    TEST_ASSERT_TRUE(cp_tape_pause(tape, false));
    TEST_ASSERT_EQUAL_INT(0, cp_tape_length(tape));
    TEST_ASSERT_FALSE(y->tracked);
    cp_tensor *out;
    TEST_ASSERT_FALSE(cp_grad(tape, y, &x, 1, &out));
    expect_error("was not recorded");
}

static void a_sweep_leaves_recording_off_or_on(void) {
    cp_tensor *x = VECTOR(1, 2), *loss = total(cp_square(tape, x));
    cp_tape_pause(tape, true);
    EXPECT(recorded_gradient(loss, x), 2, 4);
    TEST_ASSERT_TRUE(cp_tape_pause(tape, false));
    gradient(loss, x);
    TEST_ASSERT_FALSE(cp_tape_pause(tape, false));
}

static void a_frozen_tape_treats_parameters_as_constants(void) {
    cp_tensor *w = cp_parameter_new((cp_real[]){3, 4}, CP_SHAPE(2)), *out;
    TEST_ASSERT_FALSE(cp_tape_freeze(tape, true));
    cp_square(tape, w);
    TEST_ASSERT_EQUAL_INT(0, cp_tape_length(tape));
    cp_tensor *x = VECTOR(1, 2), *loss = total(cp_mul(tape, x, w));
    EXPECT(gradient(loss, x), 3, 4);
    TEST_ASSERT_FALSE(cp_grad(tape, loss, &w, 1, &out));
    TEST_ASSERT_NULL(out);
    expect_error("frozen");
    TEST_ASSERT_TRUE(cp_tape_freeze(tape, false));
    EXPECT(gradient(total(cp_mul(tape, x, w)), w), 1, 2);
    cp_tensor_free(w);
}

static void a_parameter_can_be_used_on_two_tapes_at_once(void) {
    cp_tape   *other = cp_tape_new();
    cp_tensor *w = cp_parameter_new((cp_real[]){3}, CP_SHAPE(1)), *dw, *x = VECTOR(1);
    cp_tensor *y = cp_variable(other, (cp_real[]){5}, CP_SHAPE(1)), *z = cp_variable(other, (cp_real[]){2}, CP_SHAPE(1));
    cp_tensor *here = total(cp_mul(tape, x, w));
    cp_tensor *there = cp_sum(other, cp_mul(other, cp_mul(other, z, y), cp_square(other, w)), CP_ALL, false);
    EXPECT(gradient(here, w), 1);
    TEST_ASSERT_TRUE(cp_grad(other, there, &w, 1, &dw));
    EXPECT(dw, 60);
    cp_tape_reset(tape);
    TEST_ASSERT_TRUE(cp_grad(other, there, &w, 1, &dw));
    EXPECT(dw, 60);
    cp_tape_free(other);
    cp_tensor_free(w);
}

static void hundreds_of_parameters_keep_their_own_gradients(void) {
    enum { N = 500 };
    cp_tensor *w[N], *out[N];
    for (int i = 0; i < N; i++) w[i] = cp_parameter_new(&(cp_real){(cp_real)i}, CP_SCALAR);
    for (int step = 0; step < 3; step++) {
        cp_tensor *loss = cp_scalar(tape, 0);
        for (int i = 0; i < N; i++) loss = cp_add(tape, loss, cp_scale(tape, w[(i * 7 + step) % N], (cp_real)(i * 7 % N)));
        TEST_ASSERT_TRUE(cp_grad(tape, loss, w, N, out));
        for (int i = 0; i < N; i++) EXPECT(out[(i * 7 + step) % N], i * 7 % N);
        cp_tape_reset(tape);
    }
    for (int i = 0; i < N; i++) cp_tensor_free(w[i]);
}

static void an_unreached_wrt_gets_zeros(void) {
    cp_tensor *x = VECTOR(1), *unused = VECTOR(1, 2, 3), *never = cp_parameter_new((cp_real[]){1, 2}, CP_SHAPE(2, 1));
    cp_tensor *loss = total(cp_square(tape, x)), *wrt[] = {unused, never, x}, *out[3];
    TEST_ASSERT_TRUE(cp_grad(tape, loss, wrt, 3, out));
    EXPECT(out[0], 0, 0, 0);
    EXPECT(out[1], 0, 0);
    TEST_ASSERT_EQUAL_INT(2, out[1]->rank);
    EXPECT(out[2], 2);
    cp_tensor_free(never);
}

static void no_wrt_at_all_is_ok(void) {
    cp_tensor *x = VECTOR(1);
    TEST_ASSERT_TRUE(cp_grad(tape, total(x), NULL, 0, NULL));
}

static void two_results_never_share_memory(void) {
    cp_tensor *x = VECTOR(1, 2), *y = VECTOR(3, 4), *sum = cp_add(tape, x, y);
    cp_tensor *flat = cp_reshape(tape, sum, CP_SHAPE(1, 2));
    cp_tensor *loss = total(flat), *wrt[] = {x, y, sum, flat, x, x}, *out[6];
    TEST_ASSERT_TRUE(cp_grad(tape, loss, wrt, 6, out));
    for (int i = 0; i < 6; i++) {
        EXPECT(out[i], 1, 1);
        for (int j = 0; j < i; j++) TEST_ASSERT_NOT_EQUAL(out[i]->data, out[j]->data);
    }
}

static void a_result_never_shares_memory_with_a_value_on_the_record_or_a_parameter(void) {
    cp_tensor *w = cp_parameter_new((cp_real[]){3, 4}, CP_SHAPE(2)), *x = VECTOR(1, 2);
    cp_tensor *loss = dot(x, w), *wrt[] = {x, w}, *out[2];
    for (int again = 0; again < 3; again++) {
        TEST_ASSERT_TRUE(cp_grad(tape, loss, wrt, 2, out));
        EXPECT(out[0], 3, 4);
        EXPECT(out[1], 1, 2);
        TEST_ASSERT_NOT_EQUAL(w->data, out[0]->data);
        TEST_ASSERT_NOT_EQUAL(x->data, out[1]->data);
    }
    TEST_ASSERT_TRUE(cp_grad(tape, cp_add(tape, loss, dot(x, w)), wrt, 2, out));
    EXPECT(out[0], 6, 8);
    EXPECT(w, 3, 4);
    cp_tensor_free(w);
}

static void writing_into_a_gradient_does_not_change_another_answer(void) {
    cp_tensor *x = VECTOR(1, 2), *y = VECTOR(3, 4), *loss = total(cp_mul(tape, cp_add(tape, x, y), x));
    cp_tensor *first = gradient(loss, x);
    first->data[0] = first->data[1] = 77;
    EXPECT(gradient(loss, x), 5, 8);
}

static void an_earlier_gradient_survives_later_sweeps(void) {
    cp_tensor *x = VECTOR(1, 2), *loss = total(cp_square(tape, x)), *first = gradient(loss, x);
    for (int i = 0; i < 50; i++) gradient(total(cp_exp(tape, cp_mul(tape, cp_square(tape, x), first))), x);
    EXPECT(first, 2, 4);
}

/* ---- gradients of gradients ---- */

static void the_derivatives_of_x_cubed_are_3x2_6x_6_and_0(void) {
    cp_tensor *x = VECTOR(5), *d = cp_mul(tape, cp_mul(tape, x, x), x);
    double     expected[] = {75, 30, 6, 0};
    for (int order = 0; order < 4; order++) {
        d = recorded_gradient(total(d), x);
        EXPECT(d, expected[order]);
        if (!d->tracked) break; /* 6 does not depend on x */
    }
    EXPECT(recorded_gradient(total(recorded_gradient(total(cp_pow(tape, x, 3)), x)), x), 30);
}

static void a_recorded_gradient_that_does_not_depend_on_the_variable_is_a_constant(void) {
    cp_tensor *x = VECTOR(5), *d = recorded_gradient(total(cp_scale(tape, x, 3)), x), *out;
    EXPECT(d, 3);
    TEST_ASSERT_FALSE(cp_grad(tape, total(d), &x, 1, &out));
    expect_error("depends on no variable");
}

/* f = sum x^2 y over neighbors: a Hessian that is not diagonal. H v against the formula. */
static void a_hessian_vector_product_is_the_gradient_of_the_gradient_along_v(void) {
    cp_tensor *x = VECTOR(1, 2, 3);
    cp_tensor *head = cp_slice(tape, x, (int[]){0}, (int[]){2}, NULL);
    cp_tensor *tail = cp_slice(tape, x, (int[]){1}, (int[]){3}, NULL);
    cp_tensor *f = total(cp_mul(tape, cp_square(tape, head), tail)); /* x0^2 x1 + x1^2 x2 */
    cp_tensor *v = cp_constant(tape, (cp_real[]){1, -1, 2}, CP_SHAPE(3));
    cp_tensor *g = recorded_gradient(f, x);
    EXPECT(g, 2 * 1 * 2, 1 + 2 * 2 * 3, 4);
    cp_tensor *hv = gradient(total(cp_mul(tape, g, v)), x);
    EXPECT(hv, 2 * 2 * 1 + 2 * 1 * -1, 2 * 1 * 1 + 2 * 3 * -1 + 2 * 2 * 2, 2 * 2 * -1);
}

static void a_gradient_penalty_reaches_the_weights(void) {
    cp_tensor *w = cp_parameter_new((cp_real[]){2, 3}, CP_SHAPE(2)), *x = VECTOR(1, 1);
    cp_tensor *dx = recorded_gradient(total(cp_mul(tape, w, cp_square(tape, x))), x); /* 2 w x */
    EXPECT(gradient(total(cp_square(tape, dx)), w), 8 * 2, 8 * 3);                    /* d 4 w^2 x^2 */
    cp_tensor_free(w);
}

/* ---- the record and its memory ---- */

static void a_reset_tape_uses_the_same_memory_again(void) {
    cp_real *data = NULL;
    size_t   peak = 0;
    for (int step = 0; step < 10; step++) {
        cp_tensor *x = VECTOR(1, 2, 3), *dx = gradient(total(cp_exp(tape, cp_square(tape, x))), x);
        TEST_ASSERT_TRUE(cp_tape_bytes(tape) > 0);
        if (step == 5) {
            data = dx->data;
            peak = cp_tape_peak(tape);
        }
        if (step > 5) {
            TEST_ASSERT_EQUAL_PTR(data, dx->data);
            TEST_ASSERT_EQUAL_UINT64(peak, cp_tape_peak(tape));
        }
        cp_tape_reset(tape);
        TEST_ASSERT_EQUAL_INT(0, cp_tape_length(tape));
        TEST_ASSERT_EQUAL_UINT64(0, cp_tape_bytes(tape));
    }
}

/* A chain of 1000 ops on tensors of 4096 values. The values stay for the sweep, but gradients must not: a sweep that kept
 * them would need the same memory again. */
static void a_sweep_releases_gradients_as_it_goes(void) {
    enum { OPS = 1000, N = 4096 };
    static cp_real zeros[N];
    cp_tensor     *x = cp_variable(tape, zeros, CP_SHAPE(N)), *y = x;
    for (int i = 0; i < OPS; i++) y = cp_tanh(tape, y);
    cp_tensor *loss = total(y);
    size_t     forward = cp_tape_peak(tape), one = N * sizeof(cp_real);
    TEST_ASSERT_TRUE(forward > OPS * one);
    cp_tensor *dx = gradient(loss, x);
    for (int i = 0; i < N; i += 511) TEST_ASSERT_EQUAL_DOUBLE(1, (double)dx->data[i]);
    size_t records = (size_t)OPS * 8 * 256; /* tensor structs and small records, a few hundred bytes per op at most */
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(forward + 10 * one + records, cp_tape_peak(tape));
    size_t before = cp_tape_peak(tape);
    gradient(loss, x);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(before + 2 * one + records, cp_tape_peak(tape));
}

static void a_sweep_over_a_fan_out_also_releases_gradients(void) {
    enum { OPS = 300, N = 4096 };
    static cp_real zeros[N];
    cp_tensor     *x = cp_variable(tape, zeros, CP_SHAPE(N)), *y = x;
    for (int i = 0; i < OPS; i++) y = cp_add(tape, cp_scale(tape, y, (cp_real)0.5), cp_mul(tape, y, x));
    cp_tensor *loss = total(y);
    size_t     forward = cp_tape_peak(tape), one = N * sizeof(cp_real);
    gradient(loss, x);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(forward + 12 * one + (size_t)OPS * 16 * 256, cp_tape_peak(tape));
}

/* Only the results of a sweep stay: here two tensor structs and two times two values, in blocks of 64 bytes; the hole that
 * a struct is put into may have 64 spare bytes. */
static void thousands_of_sweeps_over_one_record_leave_only_their_results(void) {
    cp_tensor *x = VECTOR(0.5, -1), *y = VECTOR(2, 3), *wrt[] = {x, y}, *out[2];
    cp_tensor *both = cp_concat(tape, wrt, 2, 0), *m = cp_reshape(tape, cp_mul(tape, both, both), CP_SHAPE(2, 2));
    cp_tensor *scores = cp_matmul(tape, cp_softmax(tape, m, 1), m, CP_TRANSPOSE_B);
    cp_tensor *loss = cp_cross_entropy(tape, scores, (cp_labels){(int[]){0, 1}, 2});
    loss = cp_add(tape, loss, cp_add(tape, total(cp_add(tape, x, y)), total(cp_where(tape, x, y, x))));
    TEST_ASSERT_TRUE(cp_grad(tape, loss, wrt, 2, out));
    size_t       before = cp_tape_bytes(tape), peak = cp_tape_peak(tape);
    const size_t count = 10000, results = 2 * ((sizeof(cp_tensor) + 63) / 64 * 64 + 64);
    for (size_t i = 0; i < count; i++) TEST_ASSERT_TRUE(cp_grad(tape, loss, wrt, 2, out));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(before + count * (results + 2 * 64), cp_tape_bytes(tape));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(peak + count * (results + 2 * 64), cp_tape_peak(tape));
}

static void a_sweep_for_nothing_leaves_nothing(void) {
    cp_tensor *x = VECTOR(1, 2), *loss = total(cp_square(tape, x));
    size_t     before = cp_tape_bytes(tape);
    TEST_ASSERT_TRUE(cp_grad(tape, loss, NULL, 0, NULL));
    TEST_ASSERT_EQUAL_UINT64(before, cp_tape_bytes(tape));
}

static void the_gradient_of_an_unrecorded_gradient_is_refused_with_advice(void) {
    cp_tensor *x = VECTOR(1, 2), *dx = gradient(total(cp_square(tape, x)), x), *out;
    TEST_ASSERT_FALSE(cp_grad(tape, total(dx), &x, 1, &out));
    expect_error("cp_grad_recorded records it");
}

static cp_tensor *wrong_gradient;
static void       wrong_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
          (void)at, (void)node, (void)g;
          gin[0] = wrong_gradient;
}
static const cp_op wrong_op = {.name = "wrong", .grad = wrong_grad};

static void a_rule_that_gives_the_wrong_shape_or_nothing_is_reported(void) {
    cp_tensor *x = VECTOR(1, 2), *out = x, *y = cp_out(CP_AT(tape), CP_SCALAR);
    y->data[0] = 1;
    cp_record(CP_AT(tape), &wrong_op, y, NULL, 1, &x);
    wrong_gradient = NULL;
    TEST_ASSERT_FALSE(cp_grad(tape, y, &x, 1, &out));
    TEST_ASSERT_NULL(out);
    expect_error("wrong: its gradient rule gave NULL for input 1 of shape (2)");
    wrong_gradient = cp_scalar(tape, 1);
    TEST_ASSERT_FALSE(cp_grad(tape, y, &x, 1, &out));
    expect_error("wrong: its gradient rule gave () for input 1 of shape (2)");
    EXPECT(gradient(total(cp_square(tape, x)), x), 2, 4);
}

static void an_op_with_more_than_eight_inputs_gets_all_its_gradients(void) {
    cp_tensor *parts[20], *out[20];
    for (int i = 0; i < 20; i++) parts[i] = VECTOR(i, i + 0.5);
    cp_tensor *loss = total(cp_square(tape, cp_concat(tape, parts, 20, 0)));
    TEST_ASSERT_TRUE(cp_grad(tape, loss, parts, 20, out));
    for (int i = 0; i < 20; i++) EXPECT(out[i], 2 * i, 2 * i + 1);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_value_used_twice_gets_both_gradients);
    RUN_TEST(a_value_used_in_three_places_gets_the_sum_of_three_gradients);
    RUN_TEST(a_diamond_of_sums_doubles_at_every_level);
    RUN_TEST(asking_twice_gives_the_same_gradient_twice);
    RUN_TEST(a_recorded_sweep_gives_the_same_numbers_as_an_unrecorded_one);
    RUN_TEST(a_chain_of_100000_ops_does_not_overflow_the_stack);
    RUN_TEST(the_gradient_of_a_variable_with_respect_to_itself_is_one);
    RUN_TEST(a_loss_of_shape_1_1_is_a_single_value_too);
    RUN_TEST(a_gradient_with_respect_to_an_intermediate_value_is_right);
    RUN_TEST(nodes_before_a_wanted_intermediate_value_are_not_visited);
    RUN_TEST(asking_for_the_input_gradient_never_runs_the_weight_rule);
    RUN_TEST(a_branch_that_leads_to_nothing_wanted_is_not_visited);
    RUN_TEST(ops_after_the_loss_are_not_visited);
    RUN_TEST(constants_and_detached_values_record_nothing);
    RUN_TEST(the_results_of_comparisons_are_constants);
    RUN_TEST(with_recording_off_nothing_is_recorded);
    RUN_TEST(a_sweep_leaves_recording_off_or_on);
    RUN_TEST(a_frozen_tape_treats_parameters_as_constants);
    RUN_TEST(a_parameter_can_be_used_on_two_tapes_at_once);
    RUN_TEST(hundreds_of_parameters_keep_their_own_gradients);
    RUN_TEST(an_unreached_wrt_gets_zeros);
    RUN_TEST(no_wrt_at_all_is_ok);
    RUN_TEST(two_results_never_share_memory);
    RUN_TEST(a_result_never_shares_memory_with_a_value_on_the_record_or_a_parameter);
    RUN_TEST(writing_into_a_gradient_does_not_change_another_answer);
    RUN_TEST(an_earlier_gradient_survives_later_sweeps);
    RUN_TEST(the_derivatives_of_x_cubed_are_3x2_6x_6_and_0);
    RUN_TEST(a_recorded_gradient_that_does_not_depend_on_the_variable_is_a_constant);
    RUN_TEST(a_hessian_vector_product_is_the_gradient_of_the_gradient_along_v);
    RUN_TEST(a_gradient_penalty_reaches_the_weights);
    RUN_TEST(a_reset_tape_uses_the_same_memory_again);
    RUN_TEST(a_sweep_releases_gradients_as_it_goes);
    RUN_TEST(a_sweep_over_a_fan_out_also_releases_gradients);
    RUN_TEST(thousands_of_sweeps_over_one_record_leave_only_their_results);
    RUN_TEST(a_sweep_for_nothing_leaves_nothing);
    RUN_TEST(the_gradient_of_an_unrecorded_gradient_is_refused_with_advice);
    RUN_TEST(a_rule_that_gives_the_wrong_shape_or_nothing_is_reported);
    RUN_TEST(an_op_with_more_than_eight_inputs_gets_all_its_gradients);
    return UNITY_END();
}
