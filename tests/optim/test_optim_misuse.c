/* What optimizers, schedules and clipping refuse: gradients from before a reset, NULLs, impossible settings. */
#include "optim/ema.h"
#include "optim/optim.h"
#include "optim/replay.h"
#include "optim/schedule.h"
#include "optim/sgld.h"

#include "ops/ops.h"

#include "tests/support/errors.h"
#include "unity.h"

#include <math.h>
#include <string.h>

static cp_params *params;
static cp_tensor *weight;
static cp_tape   *tape;

void setUp(void) {
    errors_catch();
    tape = cp_tape_new();
    params = cp_params_new();
    weight = cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    weight->data[0] = 3;
    weight->data[1] = 4;
}

void tearDown(void) {
    errors_release();
    cp_params_free(params);
    cp_tape_free(tape);
}

static void backward(void) { TEST_ASSERT_TRUE(cp_backward(tape, cp_sum(tape, cp_square(tape, weight), CP_ALL, false), params)); }

/* ---- gradients ---- */

static const char stale[] = "the gradient of w is from before cp_tape_reset; call cp_backward again";

static void a_step_after_a_reset_is_misuse_and_changes_nothing(void) {
    cp_optim *optim = cp_adam_new(params, (cp_adam_config){.rate = 0.5, .skip_nonfinite = true});
    backward();
    cp_tape_reset(tape);
    TEST_ASSERT_FALSE(cp_optim_step(optim));
    expect_error(stale);
    TEST_ASSERT_TRUE(weight->data[0] == 3 && weight->data[1] == 4);
    TEST_ASSERT_TRUE(cp_optim_steps(optim) == 0 && cp_optim_skipped(optim) == 0);
    backward();
    TEST_ASSERT_TRUE(cp_optim_step(optim));
    TEST_ASSERT_TRUE(weight->data[0] < 3);
    cp_optim_free(optim);
}

static void clipping_and_reading_norms_after_a_reset_are_misuse(void) {
    backward();
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, 10, cp_grads_clip(params, (double)INFINITY));
    cp_tape_reset(tape);
    TEST_ASSERT_TRUE(isnan(cp_grads_clip(params, 1)));
    expect_error(stale);
    TEST_ASSERT_FALSE(cp_grads_finite(params));
    expect_error(stale);
}

static cp_tensor *row_squares(cp_at at, void *context, cp_tensor *x) {
    (void)context;
    return cp_sum(at, cp_square(at, x), CP_AXES(1), false);
}

static void sampling_between_backward_and_the_step_is_misuse(void) {
    cp_optim      *optim = cp_sgd_new(params, (cp_sgd_config){.rate = 0.5});
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(1, 2));
    cp_sgld_config config = {.step_size = 1, .steps = 1};
    backward();
    TEST_ASSERT_TRUE(cp_sgld_run(tape, row_squares, NULL, x, &config, NULL, NULL));
    TEST_ASSERT_FALSE(cp_optim_step(optim));
    expect_error(stale);
    TEST_ASSERT_TRUE(weight->data[0] == 3);
    cp_tensor_free(x);
    cp_optim_free(optim);
}

static void after_a_step_the_tape_may_be_freed(void) {
    cp_optim  *optim = cp_sgd_new(params, (cp_sgd_config){.rate = 1});
    cp_tensor *grad = cp_tensor_new(CP_SHAPE(2));
    backward();
    TEST_ASSERT_TRUE(cp_optim_step(optim));
    cp_tape_free(tape);
    tape = NULL;
    params->at[0].grad = grad; /* made by hand */
    TEST_ASSERT_TRUE(cp_grads_finite(params) && cp_optim_step(optim));
    TEST_ASSERT_EQUAL_INT(0, errors);
    cp_tensor_free(grad);
    cp_optim_free(optim);
}

/* ---- settings ---- */

static void betas_below_zero_are_zero(void) {
    cp_optim *optim = cp_adam_new(params, (cp_adam_config){.rate = 0.5, .beta1 = -1, .beta2 = -1});
    for (int step = 1; step <= 2; step++) { /* without memory every step is of length `rate` against the sign */
        backward();
        TEST_ASSERT_TRUE(cp_optim_step(optim));
        TEST_ASSERT_DOUBLE_WITHIN(1e-5, 3 - 0.5 * step, (double)weight->data[0]);
        cp_tape_reset(tape);
    }
    cp_optim_free(optim);
}

static void impossible_schedules_are_misuse(void) {
    cp_schedule s = {.kind = CP_SCHEDULE_COSINE, .rate = 1};
    TEST_ASSERT_EQUAL_DOUBLE(0, cp_schedule_rate(&s, 0));
    expect_error("total is 0; a cosine needs a total above its warmup and hold of 0");
    s.warmup = s.total = 5;
    TEST_ASSERT_EQUAL_DOUBLE(0, cp_schedule_rate(&s, 0)); /* at once, not when the warm-up is over */
    expect_error("total is 5");
    s.total = 6;
    TEST_ASSERT_EQUAL_DOUBLE(0.2, cp_schedule_rate(&s, 0));
    s.warmup = -1;
    TEST_ASSERT_EQUAL_DOUBLE(0, cp_schedule_rate(&s, 0));
    expect_error("warmup is -1");
    TEST_ASSERT_EQUAL_DOUBLE(0, cp_schedule_rate(NULL, 0));
    expect_error("NULL");
    TEST_ASSERT_EQUAL_INT(0, errors);
}

/* ---- NULL ---- */

static void null_optimizers_are_reported_or_empty(void) {
    cp_state state;
    TEST_ASSERT_FALSE(cp_optim_step(NULL));
    expect_error("NULL");
    TEST_ASSERT_FALSE(cp_optim_rate_set(NULL, 1));
    expect_error("NULL");
    TEST_ASSERT_EQUAL_DOUBLE(0, cp_optim_rate(NULL));
    TEST_ASSERT_TRUE(cp_optim_steps(NULL) == 0 && cp_optim_skipped(NULL) == 0);
    TEST_ASSERT_FALSE(cp_optim_state(NULL, 0, &state));
    TEST_ASSERT_FALSE(cp_grads_finite(NULL));
    expect_error("NULL");
    TEST_ASSERT_TRUE(isnan(cp_grads_clip(NULL, 1)));
    expect_error("NULL");
    TEST_ASSERT_FALSE(cp_ema_swapped(NULL));
    TEST_ASSERT_FALSE(cp_ema_state(NULL, 0, &state));
    TEST_ASSERT_FALSE(cp_ema_update(NULL));
    expect_error("NULL");
}

static void null_buffers_are_reported_or_empty(void) {
    cp_state   state;
    cp_real    out[2];
    int        index = 0;
    cp_tensor *x = cp_tensor_new(CP_SHAPE(1, 2));
    cp_rng     rng = cp_rng_named(1, "null");
    TEST_ASSERT_FALSE(cp_replay_draw(NULL, &rng, NULL, x, &index, NULL));
    expect_error("NULL");
    TEST_ASSERT_EQUAL_INT(-1, cp_replay_return(NULL, &index, x, NULL));
    expect_error("NULL");
    TEST_ASSERT_TRUE(cp_replay_capacity(NULL) == 0 && cp_replay_filled(NULL) == 0);
    TEST_ASSERT_EQUAL_INT(-1, cp_replay_label(NULL, 0));
    TEST_ASSERT_FALSE(cp_replay_sample(NULL, 0, out));
    TEST_ASSERT_EQUAL_INT64(0, cp_replay_counted(NULL).drawn);
    TEST_ASSERT_FALSE(cp_replay_state(NULL, 0, &state));
    TEST_ASSERT_FALSE(cp_class_gaussian_state(NULL, 0, &state));
    cp_tensor_free(x);
}

static void unknown_classes_of_a_gaussian_are_misuse(void) {
    cp_class_gaussian *gaussian = cp_class_gaussian_new((cp_class_gaussian_config){.classes = 3, .size = 2});
    cp_replay_config   config = {
          .capacity = 8, .shape = CP_SHAPE(2), .classes = 4, .start = {.kind = CP_START_CLASS_GAUSSIAN, .gaussian = gaussian}};
    cp_rng  rng = cp_rng_named(1, "draw");
    cp_real out[2] = {7, 7};
    TEST_ASSERT_NULL(cp_replay_new(config));
    expect_error("4 classes start from a Gaussian of 3");
    cp_class_gaussian_draw(gaussian, &rng, 3, out);
    expect_error("class 3 of 3");
    TEST_ASSERT_TRUE(out[0] == 7 && out[1] == 7);
    config.classes = 3;
    cp_replay_free(cp_replay_new(config));
    TEST_ASSERT_EQUAL_INT(0, errors);
    cp_class_gaussian_free(gaussian);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_step_after_a_reset_is_misuse_and_changes_nothing);
    RUN_TEST(clipping_and_reading_norms_after_a_reset_are_misuse);
    RUN_TEST(sampling_between_backward_and_the_step_is_misuse);
    RUN_TEST(after_a_step_the_tape_may_be_freed);
    RUN_TEST(betas_below_zero_are_zero);
    RUN_TEST(impossible_schedules_are_misuse);
    RUN_TEST(null_optimizers_are_reported_or_empty);
    RUN_TEST(null_buffers_are_reported_or_empty);
    RUN_TEST(unknown_classes_of_a_gaussian_are_misuse);
    return UNITY_END();
}
