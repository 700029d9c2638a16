/* Gradients of parameter sets: where cp_backward stores them, and how long they are valid. */
#include "optim/grads.h"

#include "layers/layers.h"
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

static void a_set_that_is_null_is_misuse(void) {
    TEST_ASSERT_FALSE(cp_grads_check((cp_at){0}, "test", NULL));
    TEST_ASSERT_EQUAL_STRING("test: the parameter set is NULL", last_error);
    errors_forget();
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(backward_leaves_a_gradient_at_every_trained_parameter);
    RUN_TEST(a_gradient_from_before_a_reset_is_refused_by_name);
    RUN_TEST(a_set_that_is_null_is_misuse);
    return UNITY_END();
}
