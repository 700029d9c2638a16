/* The gradient check as programs call it: its results for right rules, wrong rules, kinks and bad input.
 * test_gradcheck_mutation.c tests that it finds the possible mistakes in rules. */
#include "couplet.h"

#include "core/op.h"
#include "tests/support/setup_tape.h"

#include <math.h>
#include <string.h>

static const cp_real numbers[] = {(cp_real)0.5, -1, 2, (cp_real)1.5, (cp_real)-0.25, 1};

static cp_gradcheck_input six(const char *name) {
    return (cp_gradcheck_input){.name = name, .data = numbers, .shape = CP_SHAPE(2, 3)};
}

static cp_gradcheck_result check_one(cp_gradcheck_fn build, cp_gradcheck_input in) {
    return cp_gradcheck(build, NULL, &in, 1, (cp_gradcheck_config){0});
}

/* ---- functions ---- */

static cp_tensor *right(cp_tape *t, cp_tensor *const *in, const void *user) {
    (void)user;
    return cp_mul(t, cp_tanh(t, in[0]), cp_exp(t, in[0]));
}

static cp_tensor *absolute(cp_tape *t, cp_tensor *const *in, const void *user) {
    (void)user;
    return cp_abs(t, in[0]);
}

static cp_tensor *nothing(cp_tape *t, cp_tensor *const *in, const void *user) {
    (void)t, (void)in, (void)user;
    return NULL;
}

static cp_tensor *product(cp_tape *t, cp_tensor *const *in, const void *user) {
    (void)user;
    return cp_mul(t, in[0], in[1]);
}

static cp_tensor *product_of_absolutes(cp_tape *t, cp_tensor *const *in, const void *user) {
    (void)user;
    return cp_mul(t, cp_abs(t, in[0]), cp_abs(t, in[1]));
}

static cp_tensor *sum_of_twelve(cp_tape *t, cp_tensor *const *in, const void *user) {
    cp_tensor *sum = in[0];
    (void)user;
    for (int i = 1; i < 12; i++) sum = cp_add(t, cp_mul(t, sum, in[i]), in[i]);
    return sum;
}

static cp_tensor *another_each_time(cp_tape *t, cp_tensor *const *in, const void *user) {
    static int calls;
    (void)user;
    return cp_scale(t, in[0], (cp_real)++calls);
}

/* e^(80 a) times a factor that only its rule has. */
static cp_real factor;
static void    steep_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
       gin[0] = cp_mul(at, g, cp_scale(at, cp_exp(at, cp_scale(at, node->in[0], 80)), 80 * factor));
}
static const cp_op steep_op = {.name = "steep", .formula = "e^(80 a)", .grad = steep_grad};

static cp_tensor *steep(cp_tape *t, cp_tensor *const *in, const void *user) {
    cp_tensor *out = cp_out(CP_AT(t), in[0]->shape);
    (void)user;
    for (size_t i = 0; i < out->size; i++) out->data[i] = (cp_real)exp(80 * (double)in[0]->data[i]);
    return cp_record(CP_AT(t), &steep_op, out, NULL, 1, in);
}

/* An op that is right everywhere except at value number 4. */
static cp_real at_4 = 3;
static void    wrong_at_4_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
       gin[0] = cp_mul(at, g, cp_scale(at, node->in[0], 2));
       gin[0]->data[4] *= at_4;
}
static const cp_op wrong_at_4_op = {.name = "wrong_at_4", .formula = "a^2", .grad = wrong_at_4_grad};

static cp_tensor *wrong_at_4(cp_tape *t, cp_tensor *const *in, const void *user) {
    cp_tensor *out = cp_out(CP_AT(t), in[0]->shape);
    (void)user;
    for (size_t i = 0; i < out->size; i++) out->data[i] = in[0]->data[i] * in[0]->data[i];
    return cp_record(CP_AT(t), &wrong_at_4_op, out, NULL, 1, in);
}

/* ---- tests ---- */

static void a_right_function_passes_without_a_message(void) {
    cp_gradcheck_result r = check_one(right, six("a"));
    TEST_ASSERT_TRUE_MESSAGE(r.passed && r.made && r.tracked, r.message);
    TEST_ASSERT_EQUAL_STRING("", r.message);
    TEST_ASSERT_EQUAL_INT(0, r.kinks);
    TEST_ASSERT_TRUE(r.first <= CP_GRADCHECK_FIRST && r.second <= CP_GRADCHECK_SECOND);
}

static void a_wrong_element_is_named_with_the_expected_and_received_values(void) {
    cp_gradcheck_result r = check_one(wrong_at_4, six("a"));
    TEST_ASSERT_FALSE(r.passed);
    TEST_ASSERT_TRUE(r.made);
    TEST_ASSERT_EQUAL_INT(1, r.order);
    TEST_ASSERT_EQUAL_INT(0, r.input);
    TEST_ASSERT_EQUAL_UINT64(4, r.index);
    TEST_ASSERT_DOUBLE_WITHIN(0.02 * fabs(r.expected), 3 * r.expected, r.received);
    TEST_ASSERT_EQUAL_STRING_LEN("first order, a[1, 1]: expected ", r.message, 31);
    TEST_ASSERT_NOT_NULL(strstr(r.message, " by differences, received "));
}

static void an_input_without_a_name_is_named_by_its_number(void) {
    cp_gradcheck_result r = check_one(wrong_at_4, six(NULL));
    TEST_ASSERT_EQUAL_STRING_LEN("first order, input 1[1, 1]: ", r.message, 28);
}

/* |a| has a kink at 0, where differences give the mean of both slopes. */
static void a_kink_is_left_out_and_counted(void) {
    cp_real             values[] = {1, 0, -2, (cp_real)CP_GRADCHECK_STEP / 3};
    cp_gradcheck_result r = check_one(absolute, (cp_gradcheck_input){.data = values, .shape = CP_SHAPE(4)});
    TEST_ASSERT_TRUE_MESSAGE(r.passed, r.message);
    TEST_ASSERT_EQUAL_INT(2, r.kinks);
}

/* The kink is at a distance d from the point, for d over the whole range of the differences. */
static void a_kink_is_detected_at_any_position(void) {
    for (int i = -20; i <= 20; i++) {
        cp_real             values[] = {(cp_real)(i * CP_GRADCHECK_STEP / 10), 1};
        cp_gradcheck_result r = check_one(absolute, (cp_gradcheck_input){.data = values, .shape = CP_SHAPE(2)});
        TEST_ASSERT_TRUE_MESSAGE(r.passed, r.message);
    }
}

static void a_wrong_element_next_to_a_kink_is_still_found(void) {
    cp_real             values[] = {0, 1, 2, 3, 4};
    cp_gradcheck_input  in = {.name = "a", .data = values, .shape = CP_SHAPE(5)};
    cp_gradcheck_result r = check_one(wrong_at_4, in);
    TEST_ASSERT_EQUAL_STRING_LEN("first order, a[4]: expected ", r.message, 28);
}

static void only_kinks_is_a_failed_check(void) {
    cp_real             values[] = {0, 0};
    cp_gradcheck_result r = check_one(absolute, (cp_gradcheck_input){.data = values, .shape = CP_SHAPE(2)});
    TEST_ASSERT_FALSE(r.passed || r.made);
    TEST_ASSERT_EQUAL_STRING("nothing was compared: every element of an input is at a kink or too steep for the step", r.message);
}

static void an_input_with_only_kinks_fails_even_if_another_passes(void) {
    cp_real             zeros[] = {0, 0};
    cp_gradcheck_input  in[] = {{.data = zeros, .shape = CP_SHAPE(2)}, {.data = numbers, .shape = CP_SHAPE(2)}};
    cp_gradcheck_result r = cp_gradcheck(product_of_absolutes, NULL, in, 2, (cp_gradcheck_config){0});
    TEST_ASSERT_FALSE(r.passed || r.made);
}

static void a_rule_that_gives_an_infinity_is_caught_at_its_element(void) {
    at_4 = (cp_real)INFINITY;
    cp_gradcheck_input  in = six("a");
    cp_gradcheck_result r = cp_gradcheck(wrong_at_4, NULL, &in, 1, (cp_gradcheck_config){.first_only = true});
    at_4 = 3;
    TEST_ASSERT_FALSE(r.passed);
    TEST_ASSERT_EQUAL_STRING_LEN("first order, a[1, 1]: expected ", r.message, 31);
}

/* A steep function is not a kink: a rule that is wrong by one percent (in float: 20 percent) must not be taken for a kink. */
static void a_wrong_rule_of_a_steep_function_is_caught(void) {
    cp_real            values[] = {(cp_real)0.01, (cp_real)0.02};
    cp_gradcheck_input in = {.data = values, .shape = CP_SHAPE(2)};
    factor = (cp_real)(1 + (sizeof(cp_real) == 8 ? 0.01 : 0.2));
    cp_gradcheck_result r = cp_gradcheck(steep, NULL, &in, 1, (cp_gradcheck_config){.first_only = true});
    TEST_ASSERT_FALSE(r.passed);
    TEST_ASSERT_EQUAL_INT(0, r.kinks);
}

static void a_gradient_of_zeros_is_caught_for_large_inputs_too(void) {
    cp_real values[] = {30000, 1, 1, 1, (cp_real)-1e5};
    at_4 = 0;
    cp_gradcheck_result r = check_one(wrong_at_4, (cp_gradcheck_input){.name = "a", .data = values, .shape = CP_SHAPE(5)});
    at_4 = 3;
    TEST_ASSERT_FALSE(r.passed);
    TEST_ASSERT_EQUAL_STRING_LEN("first order, a[4]: expected ", r.message, 28);
}

static void twelve_inputs_are_checked_one_by_one_and_together(void) {
    cp_gradcheck_input in[12];
    for (int i = 0; i < 12; i++) in[i] = six(NULL);
    cp_gradcheck_result r = cp_gradcheck(sum_of_twelve, NULL, in, 12, (cp_gradcheck_config){.first = 0.1, .second = 0.1});
    TEST_ASSERT_TRUE_MESSAGE(r.passed, r.message);
}

static void a_function_whose_result_changes_is_an_error(void) {
    cp_gradcheck_result r = check_one(another_each_time, six("a"));
    TEST_ASSERT_FALSE(r.passed || r.made);
    TEST_ASSERT_EQUAL_STRING("the function gives a different value on its second call", r.message);
}

static void only_constants_is_a_failed_check(void) {
    cp_gradcheck_input in = six("a");
    in.constant = true;
    cp_gradcheck_result r = check_one(right, in);
    TEST_ASSERT_FALSE(r.passed || r.made);
    TEST_ASSERT_EQUAL_STRING("no gradient can be checked: all inputs are constants", r.message);
}

static void a_constant_is_never_asked_for_its_gradient(void) {
    cp_gradcheck_input in[] = {six("a"), six("b")};
    in[1].constant = true;
    cp_gradcheck_result r = cp_gradcheck(product, NULL, in, 2, (cp_gradcheck_config){0});
    TEST_ASSERT_TRUE_MESSAGE(r.passed, r.message);
}

static void a_gradient_with_respect_to_indices_is_an_error(void) {
    cp_gradcheck_input in[] = {six("a"), six("b")};
    in[1].whole = true;
    cp_gradcheck_result r = cp_gradcheck(product, NULL, in, 2, (cp_gradcheck_config){0});
    TEST_ASSERT_FALSE(r.passed);
    TEST_ASSERT_EQUAL_STRING_LEN("first order, b[0, 0]: expected 0 ", r.message, 33);
}

static void a_scalar_and_an_empty_input_are_ok(void) {
    cp_gradcheck_result r = check_one(right, (cp_gradcheck_input){.data = numbers, .shape = CP_SCALAR});
    TEST_ASSERT_TRUE_MESSAGE(r.passed, r.message);
    r = check_one(right, (cp_gradcheck_input){.data = numbers, .shape = CP_SHAPE(0, 3)});
    TEST_ASSERT_TRUE_MESSAGE(r.passed, r.message);
}

static void a_nan_does_not_pass(void) {
    cp_real             values[] = {1, (cp_real)NAN};
    cp_gradcheck_result r = check_one(right, (cp_gradcheck_input){.name = "a", .data = values, .shape = CP_SHAPE(2)});
    TEST_ASSERT_FALSE(r.passed || r.made);
    TEST_ASSERT_EQUAL_STRING("the function is not finite at this point", r.message);
}

static void a_function_without_a_result_is_reported(void) {
    cp_gradcheck_result r = check_one(nothing, six("a"));
    TEST_ASSERT_FALSE(r.passed || r.made);
    TEST_ASSERT_EQUAL_STRING("the function gave no result", r.message);
}

static void bad_calls_are_misuse(void) {
    TEST_ASSERT_FALSE(cp_gradcheck(right, NULL, NULL, 1, (cp_gradcheck_config){0}).made);
    expect_error_in("gradcheck", "the inputs are NULL", __FILE__);
    TEST_ASSERT_FALSE(cp_gradcheck(NULL, NULL, &(cp_gradcheck_input){0}, 1, (cp_gradcheck_config){0}).made);
    expect_error_in("gradcheck", "the function is NULL", __FILE__);
    TEST_ASSERT_FALSE(cp_gradcheck(right, NULL, &(cp_gradcheck_input){0}, 0, (cp_gradcheck_config){0}).made);
    expect_error_in("gradcheck", "n = 0 is below 1", __FILE__);
    TEST_ASSERT_FALSE(check_one(right, (cp_gradcheck_input){.shape = CP_SHAPE(2)}).made);
    expect_error("gradcheck: the data of input 1 is NULL");
    TEST_ASSERT_FALSE(check_one(right, (cp_gradcheck_input){.data = numbers, .shape = CP_SHAPE(-2)}).made);
    expect_error("gradcheck: ");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_right_function_passes_without_a_message);
    RUN_TEST(a_wrong_element_is_named_with_the_expected_and_received_values);
    RUN_TEST(an_input_without_a_name_is_named_by_its_number);
    RUN_TEST(a_kink_is_left_out_and_counted);
    RUN_TEST(a_kink_is_detected_at_any_position);
    RUN_TEST(a_wrong_element_next_to_a_kink_is_still_found);
    RUN_TEST(only_kinks_is_a_failed_check);
    RUN_TEST(an_input_with_only_kinks_fails_even_if_another_passes);
    RUN_TEST(a_rule_that_gives_an_infinity_is_caught_at_its_element);
    RUN_TEST(a_wrong_rule_of_a_steep_function_is_caught);
    RUN_TEST(a_gradient_of_zeros_is_caught_for_large_inputs_too);
    RUN_TEST(twelve_inputs_are_checked_one_by_one_and_together);
    RUN_TEST(a_function_whose_result_changes_is_an_error);
    RUN_TEST(only_constants_is_a_failed_check);
    RUN_TEST(a_constant_is_never_asked_for_its_gradient);
    RUN_TEST(a_gradient_with_respect_to_indices_is_an_error);
    RUN_TEST(a_scalar_and_an_empty_input_are_ok);
    RUN_TEST(a_nan_does_not_pass);
    RUN_TEST(a_function_without_a_result_is_reported);
    RUN_TEST(bad_calls_are_misuse);
    return UNITY_END();
}
