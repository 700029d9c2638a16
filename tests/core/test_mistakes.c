/* Mistakes that programs make with tapes: each is reported, and names what to do. */
#include "couplet.h"

#include "core/op.h"
#include "tests/support/setup_layers.h"

#include <pthread.h>
#include <string.h>

/* ---- a loop without cp_tape_reset ---- */

static int  warnings;
static char last_warning[600], warned_file[256];

static void note_warning(const cp_error *warning, void *user) {
    (void)user;
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%s: %s", warning->op, warning->message);
    snprintf(warned_file, sizeof warned_file, "%s", warning->file ? warning->file : "");
}

typedef enum how { RESET, NO_RESET, TWO_LOSSES, ROWS, UNROLLED, PRODUCTS, RECORDED } how;

/* Runs `steps` steps of a loop on the tape and returns the number of warnings. */
static int warnings_of(how loop, int steps) {
    cp_tensor *w = params->count ? params->at[0].value : cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(2)), *dx;
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), *y = cp_square(tape, x), *state = x;
    warnings = 0;
    cp_warning_handler(note_warning, NULL);
    for (int i = 0; i < steps; i++) {
        cp_tensor *input =
            loop == RESET || loop == NO_RESET || loop == TWO_LOSSES ? cp_constant(tape, (cp_real[]){1, 2}, CP_SHAPE(2)) : x;
        cp_tensor *loss = cp_sum(tape, cp_mul(tape, w, input), CP_ALL, false);
        switch (loop) {
        case RESET:
            cp_backward(tape, loss, params);
            cp_tape_reset(tape);
            break;
        case NO_RESET: cp_backward(tape, loss, params); break;
        case TWO_LOSSES:
            cp_backward(tape, loss, params);
            cp_backward(tape, cp_sum(tape, cp_square(tape, cp_mul(tape, w, input)), CP_ALL, false), params);
            break;
        case ROWS: cp_vjp(tape, y, cp_constant(tape, (cp_real[]){1, 0}, CP_SHAPE(2)), &x, 1, &dx); break;
        case UNROLLED:
            state = cp_scale(tape, cp_mul(tape, state, state), (cp_real)0.5);
            cp_grad(tape, cp_sum(tape, state, CP_ALL, false), &x, 1, &dx);
            break;
        case PRODUCTS: cp_hvp(tape, cp_sum(tape, y, CP_ALL, false), &x, &x, 1, &dx); break;
        case RECORDED: cp_grad_recorded(tape, loss, &w, 1, &dx); break;
        }
    }
    cp_warning_handler(NULL, NULL);
    cp_tape_reset(tape);
    return warnings;
}

static void a_loop_of_a_hundred_equal_steps_without_a_reset_is_warned_of_once(void) {
    TEST_ASSERT_EQUAL_INT(0, warnings_of(NO_RESET, 100));
    TEST_ASSERT_EQUAL_INT(1, warnings_of(NO_RESET, 400));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(last_warning, "backward: 100 steps in a row recorded 2 nodes each on this tape, which has"),
                                 last_warning);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(last_warning, "is a cp_tape_reset missing at the end of the step?"), last_warning);
    TEST_ASSERT_EQUAL_STRING(__FILE__, warned_file);
    TEST_ASSERT_EQUAL_INT(0, warnings_of(NO_RESET, 400)); /* once per tape */
    cp_tape_free(tape);
    tape = cp_tape_new();
    TEST_ASSERT_EQUAL_INT(1, warnings_of(TWO_LOSSES, 400)); /* as in a GAN */
}

static void loops_that_reset_or_that_use_earlier_steps_are_not_warned_of(void) {
    static const how loops[] = {RESET, ROWS, UNROLLED, PRODUCTS, RECORDED};
    for (int i = 0; i < 5; i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, warnings_of(loops[i], 300), i == 1 ? "rows" : i == 2 ? "unrolled" : "");
}

/* Its ops without dual numbers have sweeps of their own, which record the same number of nodes each. */
static void a_jacobian_times_a_vector_through_many_ops_is_no_loop(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), *y = x;
    for (int i = 0; i < 300; i++) y = cp_cumsum(tape, y, 0);
    warnings = 0;
    cp_warning_handler(note_warning, NULL);
    cp_tensor *step = cp_jvp(tape, y, &x, (cp_tensor *[]){cp_constant(tape, (cp_real[]){1, 1}, CP_SHAPE(2))}, 1);
    cp_warning_handler(NULL, NULL);
    TEST_ASSERT_TRUE(step->data[0] == 1 && step->data[1] == 301);
    TEST_ASSERT_EQUAL_INT(0, warnings);
    TEST_ASSERT_EQUAL_INT(1, warnings_of(NO_RESET, 400)); /* of real loops there is a warning still */
}

static void out_of_memory_says_how_much_was_recorded_since_the_reset(void) {
    if (sizeof(size_t) < 8) TEST_IGNORE_MESSAGE("no shape of a 32-bit machine is possible and yet surely too large");
    cp_tensor *w = cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(1)), *dw;
    for (int i = 0; i < 3; i++) cp_grad(tape, cp_square(tape, w), &w, 1, &dw);
    const char *grown =
        "; the tape has recorded 3 nodes and computed 3 gradients since its last cp_tape_reset: is one missing at the end of "
        "the step?";
    TEST_ASSERT_NULL(cp_full(tape, 0, CP_SHAPE(INT32_MAX, CP_DOUBLE ? 1 << 29 : 1 << 30)));
    int line = __LINE__ - 1;
    expect_error_at("full", grown, __FILE__, line);
    TEST_ASSERT_NULL(cp_arena_alloc(cp_scratch((cp_at){tape, NULL, 0}), SIZE_MAX / 2)); /* as a kernel does */
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(last_error, grown), last_error);
    expect_error_at("full", "out of memory for scratch: cannot get", __FILE__, line);
}

/* ---- ops, tapes and status ---- */

static const cp_op no_rule = {.name = "no_rule"};

static void a_recorded_op_without_a_rule_is_refused(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), *c = cp_constant(tape, (cp_real[]){1, 2}, CP_SHAPE(2));
    cp_at      here = {tape, __FILE__, __LINE__};
    cp_tensor *fixed = cp_record(here, &no_rule, cp_out(here, c->shape), NULL, 1, &c);
    TEST_ASSERT_NOT_NULL(fixed); /* no gradient flows */
    TEST_ASSERT_NULL(cp_record(here, &no_rule, cp_out(here, x->shape), NULL, 1, &x));
    expect_error_in("no_rule", "the op has no gradient rule (.grad; CP_OP sets it), and gradients flow to its inputs", __FILE__);
    errors_forgive(tape);
    cp_tape_pause(tape, true);
    TEST_ASSERT_NOT_NULL(cp_record(here, &no_rule, cp_out(here, x->shape), NULL, 1, &x));
}

static void a_vector_loss_is_reported_by_cp_backward(void) {
    cp_tensor *w = cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    TEST_ASSERT_FALSE(cp_backward(tape, cp_square(tape, w), params));
    expect_error_at("backward", "loss has shape (2); only a single value has a gradient", __FILE__, __LINE__ - 1);
}

static void a_status_that_is_used_again_has_the_message_of_the_last_failure(void) {
    cp_status status = {0};
    TEST_ASSERT_NULL(cp_st_read("/nonexistent/one", &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "one"), status.message);
    TEST_ASSERT_NULL(cp_st_read("/nonexistent/two", &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "two"), status.message);
    TEST_ASSERT_NULL(cp_json_parse("{", 1, "three", &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "three"), status.message);
    TEST_ASSERT_FALSE(cp_params_read(NULL, NULL, &status));
    TEST_ASSERT_EQUAL_STRING("params_read: the path is NULL", status.message);
    TEST_ASSERT_NULL(cp_model_load("/nonexistent/four", &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "four"), status.message);
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
    cp_fail(&status, "within one operation"); /* the first error is kept */
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "four"), status.message);
}

/* ---- empty batches, forgotten kinds, too many axes ---- */

static void a_loss_of_nothing_is_misuse_and_a_sum_of_nothing_zero(void) {
    cp_tensor *none = cp_constant(tape, (cp_real[]){0}, CP_SHAPE(0, 3)), *flat = cp_constant(tape, (cp_real[]){0}, CP_SHAPE(0));
    TEST_ASSERT_NULL(cp_mean(tape, none, CP_ALL, false));
    expect_error_at("mean", "shape (0, 3) has no values along axis 0 (was nothing selected?)", __FILE__, __LINE__ - 1);
    errors_forgive(tape);
    TEST_ASSERT_NULL(cp_mse(tape, flat, flat));
    expect_error("shape (0) has no values along axis 0");
    errors_forgive(tape);
    TEST_ASSERT_NULL(cp_max(tape, none, CP_ALL, false));
    expect_error("shape (0, 3) has no values along axis 0");
    errors_forgive(tape);
    TEST_ASSERT_NULL(cp_cross_entropy(tape, none, (cp_labels){0}));
    expect_error("cross_entropy: logits of shape (0, 3) have no mean");
    errors_forgive(tape);
    TEST_ASSERT_EQUAL_INT(0, cp_mean(tape, none, CP_AXES(1), false)->dims[0]); /* no rows, no means */
    TEST_ASSERT_TRUE(cp_item(cp_sum(tape, none, CP_ALL, false)) == 0);
    TEST_ASSERT_TRUE(cp_item(cp_logsumexp(tape, none, CP_ALL, false)) < -CP_REAL_MAX);
}

static void a_norm_without_a_kind_and_a_shape_of_six_axes_are_misuse(void) {
    TEST_ASSERT_NULL(cp_norm_make(params, "n", (cp_norm_config){.channels = 3}).weight);
    expect_error_in("norm_make", "no kind is set, such as .kind = CP_NORM_BATCH; a layer without a norm is (cp_norm){0}", __FILE__);
    cp_tensor *x = cp_constant(tape, (cp_real[]){1}, CP_SHAPE(1, 1));
    cp_norm    without = {0};
    TEST_ASSERT_EQUAL_PTR(x, cp_norm_forward(tape, &without, x, CP_TRAINING));
    TEST_ASSERT_NULL(cp_reshape(tape, x, ((cp_shape){6, {1, 1, 1, 1, 1}})));
    expect_error("reshape: the shape (6 axes) is not possible (up to 5 axes");
}

static void *use(void *result) {
    *(cp_tensor **)result = cp_scalar(tape, 1);
    return NULL;
}

static cp_tensor *used_by_another_thread(void) {
    pthread_t  thread;
    cp_tensor *made = NULL;
    TEST_ASSERT_EQUAL_INT(0, pthread_create(&thread, NULL, use, &made));
    TEST_ASSERT_EQUAL_INT(0, pthread_join(thread, NULL));
    return made;
}

static void a_tape_that_two_threads_use_is_reported_unless_it_was_handed_over(void) {
    TEST_ASSERT_NOT_NULL(used_by_another_thread()); /* a new tape is anybody's */
    TEST_ASSERT_NULL(cp_scalar(tape, 1));
    expect_error("full: another thread uses this tape; each thread needs its own, or the other calls cp_tape_hand_over first");
    cp_tape_hand_over(tape);
    TEST_ASSERT_NOT_NULL(cp_scalar(tape, 1));
    TEST_ASSERT_NULL(used_by_another_thread());
    expect_error("another thread uses this tape");
    cp_tape_reset(tape);
    TEST_ASSERT_NOT_NULL(used_by_another_thread());
    cp_tape_reset(tape);
    TEST_ASSERT_NOT_NULL(cp_scalar(tape, 1));
    cp_tape_hand_over(NULL); /* ignored */
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_loop_of_a_hundred_equal_steps_without_a_reset_is_warned_of_once);
    RUN_TEST(loops_that_reset_or_that_use_earlier_steps_are_not_warned_of);
    RUN_TEST(a_jacobian_times_a_vector_through_many_ops_is_no_loop);
    RUN_TEST(out_of_memory_says_how_much_was_recorded_since_the_reset);
    RUN_TEST(a_recorded_op_without_a_rule_is_refused);
    RUN_TEST(a_vector_loss_is_reported_by_cp_backward);
    RUN_TEST(a_status_that_is_used_again_has_the_message_of_the_last_failure);
    RUN_TEST(a_loss_of_nothing_is_misuse_and_a_sum_of_nothing_zero);
    RUN_TEST(a_norm_without_a_kind_and_a_shape_of_six_axes_are_misuse);
    RUN_TEST(a_tape_that_two_threads_use_is_reported_unless_it_was_handed_over);
    return UNITY_END();
}
