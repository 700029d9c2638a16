/* Tests of values that a reset or a release made unusable: every use is reported in one line, with the op, the argument and
 * the caller's line. */
#include "couplet.h"

#include "core/op.h"
#include "tests/support/setup_tape.h"

#include <math.h>
#include <stdlib.h>

static cp_tensor *made(void) { return cp_variable(tape, (cp_real[]){1, 2, 3, 4}, CP_SHAPE(2, 2)); }

/* A tensor from before `resets` resets; each step in between made some tensors too. */
static cp_tensor *stale_by(int resets) {
    cp_tensor *t = made();
    for (int i = 0; i < resets; i++) {
        cp_tape_reset(tape);
        for (int k = 0; k < 20; k++) made();
    }
    return t;
}

#define STALE "is from before cp_tape_reset"
/* The call returns NULL or false, and reports one line of `op` that contains `part`. Write the call on one line. */
#define REFUSED(op, part, ...)                                                                                                     \
    do {                                                                                                                           \
        TEST_ASSERT_FALSE((__VA_ARGS__) != 0);                                                                                     \
        expect_error_at(op, part, __FILE__, __LINE__);                                                                             \
        errors_forgive(tape);                                                                                                      \
    } while (0)

/* A classic beginner's mistake: x is made once and used in every step. */
static void an_input_made_before_the_loop_works_in_the_first_step_and_is_one_error_in_the_second(void) {
    cp_tensor *w = cp_parameter_new((cp_real[]){2}, CP_SHAPE(1)), *x = cp_constant(tape, (cp_real[]){10}, CP_SHAPE(1)), *dw = NULL;
    int        line = 0;
    for (int step = 0; step < 3; step++) {
        cp_tensor *y = cp_mul(tape, x, w);
        line = __LINE__ - 1;
        bool ok = cp_grad(tape, cp_sum(tape, y, CP_ALL, false), &w, 1, &dw);
        TEST_ASSERT_TRUE(ok == (step == 0));
        if (ok) {
            TEST_ASSERT_TRUE(cp_item(dw) == 10);
        } else {
            expect_error_at("mul", "argument 1, of shape (1), is from before cp_tape_reset", __FILE__, line);
        }
        cp_tape_reset(tape);
    }
    cp_tensor_free(w);
}

static void logits_made_before_the_loop_are_reported_by_the_loss(void) {
    cp_tensor *logits = stale_by(1);
    REFUSED("cross_entropy", STALE, cp_cross_entropy(tape, logits, (cp_labels){(int[]){0, 1}, 2}));
}

static void a_gradient_kept_over_a_reset_is_reported_by_op_item_and_print(void) {
    cp_tensor *x = made(), *loss = cp_sum(tape, x, CP_ALL, false), *dx, *dloss;
    TEST_ASSERT_TRUE(cp_grad(tape, loss, &x, 1, &dx) && cp_grad(tape, loss, &loss, 1, &dloss));
    cp_tape_reset(tape);
    cp_tensor *now = made();
    REFUSED("add", "argument 2, of shape (2, 2), " STALE, cp_add(tape, now, dx));
    TEST_ASSERT_TRUE(isnan(cp_item(dloss)));
    expect_error_at("item", STALE, __FILE__, __LINE__ - 1);
    cp_tensor_print(stdout, dx);
    expect_error_at("tensor_print", STALE, __FILE__, __LINE__ - 1);
}

static void a_stale_tensor_in_a_list_is_reported_with_its_number(void) {
    cp_tensor *old = stale_by(1), *parts[] = {made(), made(), old};
    REFUSED("concat", "argument 3, of shape (2, 2), " STALE, cp_concat(tape, parts, 3, 0));
}

static void stale_inputs_of_a_convolution_are_reported_by_name(void) {
    cp_tensor *old = cp_full(tape, 1, CP_SHAPE(1, 2, 2, 1)), *bias = cp_full(tape, 1, CP_SHAPE(1));
    cp_tape_reset(tape);
    cp_tensor       *x = cp_full(tape, 1, CP_SHAPE(1, 2, 2, 1)), *w = cp_full(tape, 1, CP_SHAPE(1, 1, 1, 1));
    cp_conv_extras   residual = {.residual = old}, biased = {.bias = bias};
    cp_conv2d_config plain = {0};
    REFUSED("leaky_conv2d", "residual, of shape (1, 2, 2, 1), " STALE, cp_leaky_conv2d(tape, x, w, residual, plain));
    REFUSED("leaky_conv2d", "bias, of shape (1), " STALE, cp_leaky_conv2d(tape, x, w, biased, plain));
    REFUSED("conv2d", "bias, of shape (1), " STALE, cp_conv2d(tape, x, w, bias, plain));
}

static void stale_optional_factors_of_a_norm_are_reported_by_name(void) {
    cp_tensor *old = cp_full(tape, 1, CP_SHAPE(2));
    cp_tape_reset(tape);
    REFUSED("layer_norm", "gamma, of shape (2), " STALE, cp_layer_norm(tape, made(), old, NULL, 0));
}

static void a_stale_tensor_is_reported_in_wrt_and_as_loss(void) {
    cp_tensor *old_loss = cp_sum(tape, made(), CP_ALL, false), *old = stale_by(1), *loss, *dx;
    loss = cp_sum(tape, cp_square(tape, made()), CP_ALL, false);
    REFUSED("grad", "wrt[0], of shape (2, 2), " STALE, cp_grad(tape, loss, &old, 1, &dx));
    REFUSED("grad", "argument 1, of shape (), " STALE, cp_grad(tape, old_loss, &loss, 1, &dx));
    REFUSED("grad", STALE, cp_grad_recorded(tape, old_loss, &loss, 1, &dx));
}

static void layers_and_backward_report_stale_tensors(void) {
    cp_rng     rng = cp_rng_named(1, "init");
    cp_params *params = cp_params_new();
    cp_linear  layer = cp_linear_make(params, "layer", (cp_linear_config){.in = 2, .out = 2}, &rng);
    cp_tensor *old = stale_by(1);
    REFUSED("linear", STALE, cp_linear_forward(tape, &layer, old));
    cp_tensor *loss = cp_sum(tape, cp_linear_forward(tape, &layer, made()), CP_ALL, false);
    cp_tape_reset(tape);
    REFUSED("backward", STALE, cp_backward(tape, loss, params));
    cp_params_free(params);
}

static void an_optimizer_reports_gradients_from_before_a_reset(void) {
    cp_rng     rng = cp_rng_named(1, "init");
    cp_params *params = cp_params_new();
    cp_linear  layer = cp_linear_make(params, "layer", (cp_linear_config){.in = 2, .out = 2}, &rng);
    cp_optim  *sgd = cp_sgd_new(params, (cp_sgd_config){.rate = 1});
    TEST_ASSERT_TRUE(cp_backward(tape, cp_sum(tape, cp_linear_forward(tape, &layer, made()), CP_ALL, false), params));
    cp_tape_reset(tape);
    TEST_ASSERT_FALSE(cp_optim_step(sgd));
    expect_error_at("optim_step", "is from before cp_tape_reset", __FILE__, __LINE__ - 1);
    cp_optim_free(sgd);
    cp_params_free(params);
}

static void a_stale_tensor_is_still_reported_some_resets_later(void) {
    for (int resets = 1; resets <= 50; resets++) {
        cp_tensor *old = stale_by(resets);
        REFUSED("neg", STALE, cp_neg(tape, old));
    }
}

/* A step that makes more tensors than the quarantine holds still keeps those of the step before in quarantine. */
static void a_stale_tensor_is_reported_in_the_first_step_after_a_reset_however_long(void) {
    cp_tensor **old = malloc(5000 * sizeof *old);
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 5000; i++) {
            if (step) {
                REFUSED("neg", STALE, cp_neg(tape, old[i]));
            }
            old[i] = made();
        }
        cp_tape_reset(tape);
    }
    free(old);
}

static void sweeps_and_samplers_do_not_exhaust_the_quarantine(void) {
    cp_tensor *old = made();
    cp_tape_reset(tape);
    cp_tensor *x = made(), *y = x, *dx;
    for (int i = 0; i < 20; i++) y = cp_tanh(tape, y);
    for (int i = 0; i < 1000; i++) TEST_ASSERT_TRUE(cp_grad(tape, cp_sum(tape, y, CP_ALL, false), &x, 1, &dx));
    REFUSED("neg", STALE, cp_neg(tape, old));
}

static void after_the_first_error_of_a_step_null_arguments_are_silent(void) {
    cp_tensor *old = stale_by(1), *x = made(), *dx;
    cp_tensor *y = cp_exp(tape, cp_add(tape, x, cp_tanh(tape, old)));
    TEST_ASSERT_NULL(y);
    TEST_ASSERT_FALSE(cp_grad(tape, cp_sum(tape, y, CP_ALL, false), &x, 1, &dx));
    TEST_ASSERT_TRUE(isnan(cp_item(y)));
    expect_error("tanh: argument 1, of shape (2, 2), is from before cp_tape_reset");
    cp_tape_reset(tape);
    TEST_ASSERT_NULL(cp_neg(tape, NULL)); /* in a new step, a NULL is reported again */
    expect_error("neg: argument 1 is NULL");
}

static void a_released_tensor_is_reported_and_one_that_a_rule_will_read_is_not_released(void) {
    cp_tensor *x = made(), *y = cp_scale(tape, x, 2), *z = cp_tanh(tape, y), *dx; /* tanh keeps its result, not its input */
    cp_release(CP_AT(tape), y);
    cp_release(CP_AT(tape), z);
    TEST_ASSERT_NULL(y->data);
    TEST_ASSERT_NOT_NULL(z->data);
    REFUSED("neg", "argument 1, of shape (2, 2), was given back by cp_release", cp_neg(tape, y));
    TEST_ASSERT_TRUE(isnan(cp_item(y)));
    expect_error("item: the tensor, of shape (2, 2), was given back");
    cp_tensor *sum = cp_sum(tape, z, CP_ALL, false);
    TEST_ASSERT_TRUE(cp_grad(tape, sum, &x, 1, &dx));
    TEST_ASSERT_TRUE(dx->data[0] < 1 && dx->data[0] > 0);
    cp_tensor *seen = cp_scale(tape, x, 3), *view = cp_reshape(tape, seen, CP_SHAPE(4));
    cp_release(CP_AT(tape), seen);
    TEST_ASSERT_TRUE(view->data && view->data[3] == 12);
}

/* A sweep in which no rule runs must not leave its list behind, or the next recorded sweep would release live tensors. */
static void a_sweep_without_a_rule_leaves_nothing_for_the_next_one(void) {
    cp_tensor *x = made(), *y = made(), *g, *dx;
    TEST_ASSERT_TRUE(cp_grad(tape, cp_sum(tape, x, CP_ALL, false), &y, 1, &g));
    cp_tensor *h = cp_neg(tape, x), *u = cp_neg(tape, h);
    cp_release(CP_AT(tape), h);
    TEST_ASSERT_TRUE(cp_grad_recorded(tape, cp_sum(tape, cp_square(tape, u), CP_ALL, false), &x, 1, &dx));
    TEST_ASSERT_TRUE(dx->data[3] == 8 && g->data[0] == 0);
}

static void a_null_from_a_failed_op_is_not_an_absent_option(void) {
    cp_tensor *x = cp_full(tape, 1, CP_SHAPE(1, 2, 2, 1)), *w = cp_full(tape, 1, CP_SHAPE(1, 1, 1, 1)), *rows = made();
    cp_tensor *bias = cp_add(tape, cp_full(tape, 1, CP_SHAPE(2)), cp_full(tape, 1, CP_SHAPE(3)));
    expect_error("add: shapes (2) and (3) do not broadcast");
    TEST_ASSERT_NULL(cp_conv2d(tape, x, w, bias, (cp_conv2d_config){0}));
    TEST_ASSERT_NULL(cp_layer_norm(tape, rows, bias, NULL, 0));
    TEST_ASSERT_EQUAL_INT(0, errors);
    errors_forgive(tape);
    TEST_ASSERT_NOT_NULL(cp_conv2d(tape, x, w, NULL, (cp_conv2d_config){0}));
}

static void a_stale_or_released_gradient_in_place_of_backwards_is_reported(void) {
    cp_rng     rng = cp_rng_named(1, "init");
    cp_params *params = cp_params_new();
    cp_linear  layer = cp_linear_make(params, "layer", (cp_linear_config){.in = 2, .out = 2}, &rng);
    cp_optim  *sgd = cp_sgd_new(params, (cp_sgd_config){.rate = 1});
    cp_param  *weight = cp_params_find(params, "layer.weight");
    TEST_ASSERT_NOT_NULL(layer.weight);
    weight->grad = stale_by(1);
    TEST_ASSERT_FALSE(cp_optim_step(sgd));
    expect_error("a gradient, of shape (2, 2), is from before cp_tape_reset");
    weight->grad = cp_scale(tape, made(), 2);
    cp_release(CP_AT(tape), weight->grad);
    TEST_ASSERT_FALSE(cp_optim_step(sgd));
    expect_error("a gradient, of shape (2, 2), was given back by cp_release");
    cp_optim_free(sgd);
    cp_params_free(params);
}

/* d/dw of d(w^3 x^2)/dx = 6 w^2 x, for any state of the tape when the sweep is recorded. */
static void a_recorded_sweep_treats_parameters_as_the_record_did(void) {
    cp_tensor *w = cp_parameter_new((cp_real[]){2}, CP_SCALAR), *x = cp_variable(tape, (cp_real[]){1}, CP_SCALAR), *dx, *dw;
    cp_tensor *y = cp_mul(tape, cp_mul(tape, w, cp_mul(tape, w, w)), cp_square(tape, x));
    cp_tape_freeze(tape, true);
    TEST_ASSERT_TRUE(cp_grad_recorded(tape, y, &x, 1, &dx));
    cp_tape_freeze(tape, false);
    TEST_ASSERT_TRUE(cp_grad(tape, dx, &w, 1, &dw));
    TEST_ASSERT_TRUE(cp_item(dw) == 24);
    cp_tape_reset(tape);
    cp_tape_freeze(tape, true);
    x = cp_variable(tape, (cp_real[]){1}, CP_SCALAR);
    y = cp_mul(tape, w, cp_square(tape, x));
    cp_tape_freeze(tape, false);
    TEST_ASSERT_TRUE(cp_grad_recorded(tape, y, &x, 1, &dx));
    TEST_ASSERT_FALSE(cp_grad(tape, dx, &w, 1, &dw));
    expect_error("used only while the tape was frozen");
    cp_tensor_free(w);
}

/* ---- parameters without a gradient ---- */

static void backward_reports_that_the_tape_was_frozen_when_the_loss_was_recorded(void) {
    cp_rng     rng = cp_rng_named(1, "init");
    cp_params *params = cp_params_new();
    cp_linear  layer = cp_linear_make(params, "layer", (cp_linear_config){.in = 2, .out = 2}, &rng);
    cp_tape_freeze(tape, true);
    cp_tensor *loss = cp_sum(tape, cp_linear_forward(tape, &layer, made()), CP_ALL, false), *dw;
    cp_tape_freeze(tape, false);
    REFUSED("backward", "which were constants while the tape was frozen", cp_backward(tape, loss, params));
    REFUSED("grad", "wrt[0], of shape (2, 2), is a parameter that was used only", cp_grad(tape, loss, &layer.weight, 1, &dw));
    cp_params_free(params);
}

static void backward_reports_that_the_loss_depends_on_no_parameter_of_the_set(void) {
    cp_rng     rng = cp_rng_named(1, "init");
    cp_params *used = cp_params_new(), *unused = cp_params_new();
    cp_linear  layer = cp_linear_make(used, "layer", (cp_linear_config){.in = 2, .out = 2}, &rng);
    cp_linear_make(unused, "layer", (cp_linear_config){.in = 2, .out = 2}, &rng);
    cp_tensor *loss = cp_sum(tape, cp_linear_forward(tape, &layer, made()), CP_ALL, false);
    REFUSED("backward", "the loss depends on none of the 2 parameters of this set", cp_backward(tape, loss, unused));
    TEST_ASSERT_TRUE(cp_backward(tape, loss, used));
    cp_params_free(used);
    cp_params_free(unused);
}

static void parameters_used_while_frozen_have_no_gradient_and_the_others_do(void) {
    cp_rng     rng = cp_rng_named(1, "init");
    cp_params *params = cp_params_new();
    cp_linear  fixed = cp_linear_make(params, "fixed", (cp_linear_config){.in = 2, .out = 2}, &rng);
    cp_linear  trained = cp_linear_make(params, "trained", (cp_linear_config){.in = 2, .out = 2}, &rng);
    cp_tape_freeze(tape, true);
    cp_tensor *features = cp_linear_forward(tape, &fixed, made());
    cp_tape_freeze(tape, false);
    TEST_ASSERT_TRUE(cp_backward(tape, cp_sum(tape, cp_linear_forward(tape, &trained, features), CP_ALL, false), params));
    TEST_ASSERT_NULL(cp_params_find(params, "fixed.weight")->grad);
    TEST_ASSERT_TRUE(cp_params_find(params, "trained.bias")->grad->data[0] == 2);
    cp_params_free(params);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(an_input_made_before_the_loop_works_in_the_first_step_and_is_one_error_in_the_second);
    RUN_TEST(logits_made_before_the_loop_are_reported_by_the_loss);
    RUN_TEST(a_gradient_kept_over_a_reset_is_reported_by_op_item_and_print);
    RUN_TEST(a_stale_tensor_in_a_list_is_reported_with_its_number);
    RUN_TEST(stale_inputs_of_a_convolution_are_reported_by_name);
    RUN_TEST(stale_optional_factors_of_a_norm_are_reported_by_name);
    RUN_TEST(a_stale_tensor_is_reported_in_wrt_and_as_loss);
    RUN_TEST(layers_and_backward_report_stale_tensors);
    RUN_TEST(an_optimizer_reports_gradients_from_before_a_reset);
    RUN_TEST(a_stale_tensor_is_still_reported_some_resets_later);
    RUN_TEST(a_stale_tensor_is_reported_in_the_first_step_after_a_reset_however_long);
    RUN_TEST(sweeps_and_samplers_do_not_exhaust_the_quarantine);
    RUN_TEST(after_the_first_error_of_a_step_null_arguments_are_silent);
    RUN_TEST(a_released_tensor_is_reported_and_one_that_a_rule_will_read_is_not_released);
    RUN_TEST(a_sweep_without_a_rule_leaves_nothing_for_the_next_one);
    RUN_TEST(a_null_from_a_failed_op_is_not_an_absent_option);
    RUN_TEST(a_stale_or_released_gradient_in_place_of_backwards_is_reported);
    RUN_TEST(a_recorded_sweep_treats_parameters_as_the_record_did);
    RUN_TEST(backward_reports_that_the_tape_was_frozen_when_the_loss_was_recorded);
    RUN_TEST(backward_reports_that_the_loss_depends_on_no_parameter_of_the_set);
    RUN_TEST(parameters_used_while_frozen_have_no_gradient_and_the_others_do);
    return UNITY_END();
}
