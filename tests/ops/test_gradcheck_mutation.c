/* Proof that the gradient check can fail: ops whose rules are broken on purpose are checked like the real ones. */
#include "tests/support/gradcheck.h"

#include "unity.h"

void setUp(void) {}
void tearDown(void) {}

/* ---- values: a^3 for one argument; a b, a - b and a + b for two ---- */

typedef double (*number_fn)(double a, double b);

static double cube(double a, double b) {
    (void)b;
    return a * a * a;
}

static double product(double a, double b) { return a * b; }

static double minus(double a, double b) { return a - b; }

static double plus(double a, double b) { return a + b; }

/* out has a's shape; b has the same shape or only the last axis. */
static cp_tensor *apply(cp_at at, const cp_op *op, number_fn value, int n, cp_tensor **in) {
    cp_tensor *out = cp_out(at, in[0]->shape);
    if (!out) return NULL;
    for (size_t i = 0; i < out->size; i++)
        out->data[i] = (cp_real)value((double)in[0]->data[i], n > 1 ? (double)in[1]->data[i % in[1]->size] : 0);
    return op ? cp_record(at, op, out, NULL, n, in) : out;
}

/* An op under test: its rule, and the function that calls it. */
#define TEST_OP(NAME, VALUE, INPUTS)                                                                                               \
    static const cp_op op_##NAME = {.name = #NAME, .formula = "for the test only", .grad = NAME##_grad};                           \
    static cp_tensor  *build_##NAME(cp_tape *tape, cp_tensor **in, const op_case *c) {                                             \
         (void)c;                                                                                                                  \
         return apply(CP_AT(tape), &op_##NAME, VALUE, INPUTS, in);                                                                 \
    }
#define RULE(NAME) static void NAME##_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin)

static cp_tensor *three_squares(cp_at at, cp_tensor *a) { return cp_scale(at, cp_square(at, a), 3); }

/* ---- right rules ---- */

RULE(right_cube) { gin[0] = cp_mul(at, g, three_squares(at, node->in[0])); }
TEST_OP(right_cube, cube, 1)

RULE(right_product) {
    cp_tensor *a = node->in[0], *b = node->in[1];
    if (cp_needs(node, 0)) gin[0] = cp_mul(at, g, b);
    if (cp_needs(node, 1)) gin[1] = cp_sum_to(at, cp_mul(at, g, a), b->shape);
}
TEST_OP(right_product, product, 2)

/* ---- wrong rules ---- */

RULE(wrong_factor) { gin[0] = cp_mul(at, g, cp_scale(at, cp_square(at, node->in[0]), 2)); }
TEST_OP(wrong_factor, cube, 1)

RULE(slightly_wrong_factor) {
    gin[0] = cp_scale(at, cp_mul(at, g, three_squares(at, node->in[0])), (cp_real)(1 + 3 * CP_GRADCHECK_FIRST));
}
TEST_OP(slightly_wrong_factor, cube, 1)

RULE(wrong_sign) {
    (void)at, (void)node;
    gin[0] = g;
    gin[1] = g; /* of a - b */
}
TEST_OP(wrong_sign, minus, 2)

RULE(sum_forgotten) {
    (void)at, (void)node;
    gin[0] = gin[1] = g; /* b was broadcast: its gradient has a's shape */
}
TEST_OP(sum_forgotten, plus, 2)

RULE(one_row_for_the_sum) {
    cp_tensor *b = node->in[1], *row = cp_slice(at, g, (int[]){0, 0}, (int[]){1, CP_END}, NULL);
    if (cp_needs(node, 0)) gin[0] = g;
    if (cp_needs(node, 1)) gin[1] = cp_reshape(at, row, b->shape);
}
TEST_OP(one_row_for_the_sum, plus, 2)

RULE(swapped_when_both_are_needed) {
    bool       both = cp_needs(node, 0) && cp_needs(node, 1);
    cp_tensor *a = node->in[0], *b = node->in[1];
    if (cp_needs(node, 0)) gin[0] = cp_mul(at, g, both ? a : b);
    if (cp_needs(node, 1)) gin[1] = cp_mul(at, g, both ? b : a);
}
TEST_OP(swapped_when_both_are_needed, product, 2)

RULE(second_order_detached) { gin[0] = cp_mul(at, g, three_squares(at, cp_detach(at, node->in[0]))); }
TEST_OP(second_order_detached, cube, 1)

RULE(incoming_gradient_detached) { gin[0] = cp_mul(at, cp_detach(at, g), three_squares(at, node->in[0])); }
TEST_OP(incoming_gradient_detached, cube, 1)

RULE(wrong_when_recorded) { gin[0] = cp_mul(at, g, cp_scale(at, cp_square(at, node->in[0]), cp_recording(at) ? 4 : 3)); }
TEST_OP(wrong_when_recorded, cube, 1)

RULE(zero_gradient) {
    gin[0] = cp_scale(at, g, 0);
    (void)node;
}
TEST_OP(zero_gradient, cube, 1)

RULE(no_gradient) { (void)at, (void)node, (void)g, (void)gin; }
TEST_OP(no_gradient, cube, 1)

static cp_tensor *build_not_recorded(cp_tape *tape, cp_tensor **in, const op_case *c) {
    (void)c;
    return apply(CP_AT(tape), NULL, cube, 1, in);
}

/* ---- the tests ---- */

static gradcheck one(const char *name, case_build build) {
    return gradcheck_case(&(op_case){name, "one argument", build, .in = {ANY(3, 5)}});
}

static gradcheck two(const char *name, case_build build) {
    return gradcheck_case(&(op_case){name, "two arguments", build, .in = {ANY(3, 5), ANY(3, 5)}});
}

static gradcheck two_broadcast(const char *name, case_build build) {
    return gradcheck_case(&(op_case){name, "the second is broadcast", build, .in = {ANY(3, 5), ANY(5)}});
}

static void assert_first_order_is_caught(gradcheck r) {
    TEST_ASSERT_TRUE_MESSAGE(r.of.made, r.of.message);
    TEST_ASSERT_FALSE(r.of.first <= CP_GRADCHECK_FIRST);
    TEST_ASSERT_EQUAL_INT(1, r.of.order);
    TEST_ASSERT_FALSE(gradcheck_passed(&r));
}

static void assert_only_second_order_is_caught(gradcheck r) {
    TEST_ASSERT_TRUE_MESSAGE(r.of.made, r.of.message);
    TEST_ASSERT_TRUE(r.of.first <= CP_GRADCHECK_FIRST);
    TEST_ASSERT_FALSE(r.of.second <= CP_GRADCHECK_SECOND);
    TEST_ASSERT_EQUAL_INT(2, r.of.order);
    TEST_ASSERT_FALSE(gradcheck_passed(&r));
}

static void right_rules_pass(void) {
    gradcheck r = one("right_cube", build_right_cube);
    TEST_ASSERT_TRUE_MESSAGE(gradcheck_passed(&r), r.of.message);
    TEST_ASSERT_TRUE(r.of.tracked && r.reached);
    r = two("right_product", build_right_product);
    TEST_ASSERT_TRUE_MESSAGE(gradcheck_passed(&r), r.of.message);
    r = two_broadcast("right_product", build_right_product);
    TEST_ASSERT_TRUE_MESSAGE(gradcheck_passed(&r), r.of.message);
}

static void a_wrong_factor_is_caught(void) {
    gradcheck r = one("wrong_factor", build_wrong_factor);
    assert_first_order_is_caught(r);
    TEST_ASSERT_FLOAT_WITHIN(0.03f, 1 / 3.0f, (float)r.of.first);
}

static void a_factor_that_is_wrong_by_three_times_the_tolerance_is_caught(void) {
    assert_first_order_is_caught(one("slightly_wrong_factor", build_slightly_wrong_factor));
}

static void a_wrong_sign_for_one_argument_only_is_caught(void) {
    gradcheck r = two("wrong_sign", build_wrong_sign);
    assert_first_order_is_caught(r);
    TEST_ASSERT_TRUE(r.of.asked != 0); /* a on its own is right */
}

static void a_gradient_of_the_wrong_shape_is_reported(void) {
    gradcheck r = two_broadcast("sum_forgotten", build_sum_forgotten);
    TEST_ASSERT_FALSE(r.of.made);
    TEST_ASSERT_FALSE(gradcheck_passed(&r));
    TEST_ASSERT_EQUAL_STRING("sum_forgotten: its gradient rule gave (3, 5) for input 2 of shape (5)", r.of.message);
}

static void one_row_in_place_of_the_sum_over_a_broadcast_is_caught(void) {
    assert_first_order_is_caught(two_broadcast("one_row_for_the_sum", build_one_row_for_the_sum));
}

static void a_rule_that_is_wrong_only_when_both_gradients_are_wanted_is_caught(void) {
    gradcheck r = two("swapped_when_both_are_needed", build_swapped_when_both_are_needed);
    assert_first_order_is_caught(r);
    TEST_ASSERT_EQUAL_INT(-1, r.of.asked);
}

static void a_rule_that_is_right_but_cannot_be_differentiated_again_is_caught(void) {
    assert_only_second_order_is_caught(one("second_order_detached", build_second_order_detached));
}

static void a_rule_that_cuts_off_its_incoming_gradient_is_caught(void) {
    assert_only_second_order_is_caught(one("incoming_gradient_detached", build_incoming_gradient_detached));
}

static void a_rule_that_is_wrong_only_when_the_sweep_is_recorded_is_caught(void) {
    assert_first_order_is_caught(one("wrong_when_recorded", build_wrong_when_recorded));
}

static void a_gradient_of_zeros_is_caught(void) { assert_first_order_is_caught(one("zero_gradient", build_zero_gradient)); }

static void a_rule_that_gives_nothing_is_reported(void) {
    gradcheck r = one("no_gradient", build_no_gradient);
    TEST_ASSERT_FALSE(r.of.made);
    TEST_ASSERT_FALSE(gradcheck_passed(&r));
}

static void an_op_that_forgets_to_record_itself_is_caught(void) {
    gradcheck r = one("not_recorded", build_not_recorded);
    assert_first_order_is_caught(r);
    TEST_ASSERT_FALSE(r.of.tracked);
    TEST_ASSERT_FALSE(r.reached);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(right_rules_pass);
    RUN_TEST(a_wrong_factor_is_caught);
    RUN_TEST(a_factor_that_is_wrong_by_three_times_the_tolerance_is_caught);
    RUN_TEST(a_wrong_sign_for_one_argument_only_is_caught);
    RUN_TEST(a_gradient_of_the_wrong_shape_is_reported);
    RUN_TEST(one_row_in_place_of_the_sum_over_a_broadcast_is_caught);
    RUN_TEST(a_rule_that_is_wrong_only_when_both_gradients_are_wanted_is_caught);
    RUN_TEST(a_rule_that_is_right_but_cannot_be_differentiated_again_is_caught);
    RUN_TEST(a_rule_that_cuts_off_its_incoming_gradient_is_caught);
    RUN_TEST(a_rule_that_is_wrong_only_when_the_sweep_is_recorded_is_caught);
    RUN_TEST(a_gradient_of_zeros_is_caught);
    RUN_TEST(a_rule_that_gives_nothing_is_reported);
    RUN_TEST(an_op_that_forgets_to_record_itself_is_caught);
    return UNITY_END();
}
