/* Gradients of parameter sets: where cp_backward stores them, and how long they are valid. */
#include "optim/grads.h"

#include "layers/layers.h"
#include "optim/optim.h"
#include "tests/support/setup_layers.h"

static void backward_leaves_a_gradient_at_every_trained_parameter(void) {
    cp_linear used = cp_linear_make(params, "used", (cp_linear_config){.in = 2, .out = 1}, &rng);
    cp_linear_make(params, "unused", (cp_linear_config){.in = 2, .out = 1}, &rng);
    cp_norm_make(params, "norm", (cp_norm_config){.kind = CP_NORM_BATCH, .channels = 2});
    cp_tensor *x = cp_constant(tape, (cp_real[]){2, 3}, CP_SHAPE(1, 2));
    TEST_ASSERT_TRUE(cp_backward(tape, cp_sum(tape, cp_linear_forward(tape, &used, x), CP_ALL, false), params));
    TEST_ASSERT_EQUAL_DOUBLE(3, (double)cp_params_find(params, "used.weight")->grad->data[1]);
    TEST_ASSERT_EQUAL_DOUBLE(1, (double)cp_params_find(params, "used.bias")->grad->data[0]);
    TEST_ASSERT_EQUAL_DOUBLE(0, (double)cp_params_find(params, "unused.weight")->grad->data[1]);
    TEST_ASSERT_NULL(cp_params_find(params, "norm.running_mean")->grad);
}

static void a_gradient_from_before_a_reset_is_refused_by_name(void) {
    cp_tensor *w = cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    TEST_ASSERT_TRUE(cp_grads_check((cp_at){0}, "test", params)); /* none yet */
    TEST_ASSERT_TRUE(cp_backward(tape, cp_sum(tape, w, CP_ALL, false), params));
    TEST_ASSERT_TRUE(cp_grads_check((cp_at){0}, "test", params));
    cp_tape_reset(tape);
    TEST_ASSERT_FALSE(cp_grads_check((cp_at){0}, "test", params));
    TEST_ASSERT_EQUAL_STRING("test: the gradient of w is from before cp_tape_reset; call cp_backward again", last_error);
    errors_forget();
    params->at[0].grad = w; /* not the tape's */
    TEST_ASSERT_TRUE(cp_grads_check((cp_at){0}, "test", params));
    TEST_ASSERT_TRUE(cp_backward(tape, cp_sum(tape, w, CP_ALL, false), params));
    TEST_ASSERT_TRUE(cp_grads_check((cp_at){0}, "test", params));
    cp_grads_clear(params);
    cp_tape_free(tape); /* nothing refers to it any more */
    tape = NULL;
    TEST_ASSERT_TRUE(cp_grads_check((cp_at){0}, "test", params));
    TEST_ASSERT_NULL(params->at[0].grad);
}

/* Half the sum of w x over the given half of x, as a loss; its gradient is half of that x. */
static cp_tensor *piece(cp_tensor *w, const cp_real *x) {
    return cp_scale(tape, cp_sum(tape, cp_mul(tape, w, cp_constant(tape, x, CP_SHAPE(2))), CP_ALL, false), (cp_real)0.5);
}

static void backward_add_sums_over_resets_until_the_step(void) {
    cp_tensor *w = cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    cp_params_add_buffer(params, "", "b", CP_SHAPE(1));
    cp_optim *sgd = cp_sgd_new(params, (cp_sgd_config){.rate = 1});
    for (int round = 1; round <= 2; round++) {
        TEST_ASSERT_TRUE(cp_backward_add(tape, piece(w, (cp_real[]){2, 4}), params));
        cp_tape_reset(tape);
        TEST_ASSERT_TRUE(cp_backward_add(tape, piece(w, (cp_real[]){6, 10}), params));
        cp_tape_reset(tape);
        TEST_ASSERT_TRUE(params->at[0].grad->data[0] == 4 && params->at[0].grad->data[1] == 7);
        TEST_ASSERT_NULL(params->at[1].grad);
        TEST_ASSERT_TRUE(cp_grads_finite(params));
        TEST_ASSERT_TRUE(cp_optim_step(sgd));
        TEST_ASSERT_TRUE(w->data[0] == -4 * round && w->data[1] == -7 * round);
        TEST_ASSERT_NULL(params->at[0].grad);
    }
    cp_optim_free(sgd);
}

static void backward_add_takes_over_a_gradient_to_which_nothing_is_added(void) {
    cp_tensor *w = cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    cp_tensor *v = cp_params_add(params, "", "v", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    TEST_ASSERT_TRUE(cp_backward(tape, cp_add(tape, piece(w, (cp_real[]){2, 4}), piece(v, (cp_real[]){6, 8})), params));
    w->tracked = false;
    for (int i = 1; i <= 2; i++) {
        TEST_ASSERT_TRUE(cp_backward_add(tape, piece(v, (cp_real[]){6, 8}), params));
        cp_tape_reset(tape);
        cp_full(tape, 9, CP_SHAPE(2)); /* may take the memory of a gradient that was on the tape */
        cp_full(tape, 9, CP_SHAPE(2));
        TEST_ASSERT_TRUE(cp_grads_finite(params));
        TEST_ASSERT_TRUE(params->at[0].grad->data[0] == 1 && params->at[0].grad->data[1] == 2);
        TEST_ASSERT_TRUE(params->at[1].grad->data[0] == 3 * (i + 1) && params->at[1].grad->data[1] == 4 * (i + 1));
    }
}

static void backward_replaces_and_backward_add_adds_to_what_is_there(void) {
    cp_tensor *w = cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    TEST_ASSERT_TRUE(cp_backward(tape, piece(w, (cp_real[]){2, 4}), params));
    TEST_ASSERT_TRUE(cp_backward_add(tape, piece(w, (cp_real[]){6, 10}), params));
    TEST_ASSERT_TRUE(params->at[0].grad->data[0] == 4);
    TEST_ASSERT_TRUE(cp_backward(tape, piece(w, (cp_real[]){2, 4}), params));
    TEST_ASSERT_TRUE(params->at[0].grad->data[0] == 1);
    cp_tape_reset(tape);
    TEST_ASSERT_FALSE(cp_backward_add(tape, piece(w, (cp_real[]){6, 10}), params)); /* what is there is stale */
    expect_error("backward_add: the gradient of w is from before cp_tape_reset; call cp_backward again");
    errors_forgive(tape);
    cp_grads_clear(params);
    TEST_ASSERT_TRUE(cp_backward_add(tape, piece(w, (cp_real[]){6, 10}), params));
    TEST_ASSERT_FALSE(cp_backward_add(tape, cp_square(tape, w), params));
    expect_error("backward_add: loss has shape (2)");
    TEST_ASSERT_TRUE(params->at[0].grad->data[0] == 3); /* unchanged */
    params->at[0].grad = cp_scalar(tape, 1);
    TEST_ASSERT_FALSE(cp_backward_add(tape, cp_sum(tape, w, CP_ALL, false), params));
    expect_error("backward_add: w (2) has a gradient of shape ()");
    TEST_ASSERT_FALSE(cp_backward_add(tape, w, NULL));
    expect_error("backward_add: the parameter set is NULL");
}

static void a_parameter_that_is_no_longer_tracked_gets_no_gradient_and_no_step(void) {
    cp_tensor *w = cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    cp_tensor *v = cp_params_add(params, "", "v", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    cp_optim  *adam = cp_adam_new(params, (cp_adam_config){.rate = 1, .weight_decay = 1});
    w->data[0] = 5;
    w->tracked = false;
    TEST_ASSERT_TRUE(cp_backward(tape, cp_sum(tape, cp_add(tape, w, v), CP_ALL, false), params));
    TEST_ASSERT_NULL(params->at[0].grad);
    TEST_ASSERT_TRUE(cp_optim_step(adam));
    TEST_ASSERT_TRUE(w->data[0] == 5 && v->data[0] != 0);
    cp_optim_free(adam);
}

static void a_set_that_is_null_is_misuse(void) {
    TEST_ASSERT_FALSE(cp_grads_check((cp_at){0}, "test", NULL));
    TEST_ASSERT_EQUAL_STRING("test: the parameter set is NULL", last_error);
    errors_forget();
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(backward_leaves_a_gradient_at_every_trained_parameter);
    RUN_TEST(a_gradient_from_before_a_reset_is_refused_by_name);
    RUN_TEST(backward_add_sums_over_resets_until_the_step);
    RUN_TEST(backward_add_takes_over_a_gradient_to_which_nothing_is_added);
    RUN_TEST(backward_replaces_and_backward_add_adds_to_what_is_there);
    RUN_TEST(a_parameter_that_is_no_longer_tracked_gets_no_gradient_and_no_step);
    RUN_TEST(a_set_that_is_null_is_misuse);
    return UNITY_END();
}
