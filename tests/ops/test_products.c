/* Products with Jacobians and Hessians: compared with known matrices and, for every op, with each other; and misuse. */
#include "couplet.h"

#include "tests/support/cases.h"
#include "tests/support/setup_tape.h"

#include <math.h>

#if CP_DOUBLE
#define CLOSE 1e-10
#else
#define CLOSE 2e-4
#endif

static void expect_values(int n, const double *expected, const cp_tensor *t) {
    TEST_ASSERT_NOT_NULL(t);
    TEST_ASSERT_EQUAL_UINT64((size_t)n, t->size);
    for (int i = 0; i < n; i++) TEST_ASSERT_DOUBLE_WITHIN(CLOSE, expected[i], (double)t->data[i]);
}

static cp_tensor *vector(double a, double b) { return cp_variable(tape, ((cp_real[]){(cp_real)a, (cp_real)b}), CP_SHAPE(2)); }

/* out = (x0 x1, x0^2): the Jacobian at (2, 3) is [[3, 2], [4, 0]]. */
static cp_tensor *two_of(cp_tensor *x) {
    cp_tensor *first = cp_slice(tape, x, (int[]){0}, (int[]){1}, NULL), *second = cp_slice(tape, x, (int[]){1}, (int[]){2}, NULL);
    return cp_concat(tape, (cp_tensor *[]){cp_mul(tape, first, second), cp_square(tape, first)}, 2, 0);
}

static void a_vector_times_a_jacobian_weighs_its_rows(void) {
    cp_tensor *x = vector(2, 3), *out = two_of(x), *product;
    TEST_ASSERT_TRUE(cp_vjp(tape, out, vector(10, 1), &x, 1, &product));
    expect_values(2, (double[]){34, 20}, product);
}

static void a_jacobian_times_a_vector_weighs_its_columns(void) {
    cp_tensor *x = vector(2, 3), *out = two_of(x), *u = vector(10, 1);
    expect_values(2, (double[]){32, 40}, cp_jvp(tape, out, &x, &u, 1));
}

static void ops_of_one_value_at_a_time_use_dual_numbers_and_others_a_double_reverse(void) {
    cp_tensor  *x = vector(2, 3), *u = vector(10, 1), *w = cp_parameter_new(((cp_real[]){1, 2, 3, 4}), CP_SHAPE(2, 2));
    cp_jvp_ways ways;
    cp_tensor  *y = cp_add(tape, cp_square(tape, x), cp_mul(tape, x, x)); /* 2 x^2 */
    expect_values(2, (double[]){80, 12}, cp_jvp_counted(tape, y, &x, &u, 1, &ways));
    TEST_ASSERT_EQUAL_INT(5, ways.dual); /* both inputs of add and mul */
    TEST_ASSERT_EQUAL_INT(0, ways.reverse);
    int        length = cp_tape_length(tape);
    cp_tensor *row = cp_matmul(tape, cp_reshape(tape, x, CP_SHAPE(1, 2)), w, 0);
    expect_values(2, (double[]){13, 24}, cp_jvp_counted(tape, row, &x, &u, 1, &ways));
    TEST_ASSERT_EQUAL_INT(2, ways.dual); /* and nothing of y, which does not lead to the result */
    TEST_ASSERT_EQUAL_INT(0, ways.reverse);
    TEST_ASSERT_EQUAL_INT(length + 2, cp_tape_length(tape)); /* reshape and matmul themselves */
    cp_tensor *total = cp_sum(tape, row, CP_ALL, false);
    expect_values(1, (double[]){37}, cp_jvp_counted(tape, total, &x, &u, 1, &ways));
    TEST_ASSERT_EQUAL_INT(2, ways.dual);
    TEST_ASSERT_EQUAL_INT(1, ways.reverse);
    cp_tensor_fill(w, 1);
    TEST_ASSERT_NULL(cp_jvp(tape, row, &x, &u, 1));
    expect_error("jvp: the rule of matmul");
    cp_tensor_free(w);
}

static void a_step_of_a_value_in_between_is_added_to_its_own(void) {
    cp_tensor *x = vector(2, 3), *u = vector(1, 1), *y = cp_square(tape, x),
              *out = cp_square(tape, y); /* dout = 2 y dy, dy = 2 x dx + u */
    expect_values(2, (double[]){40, 126}, cp_jvp(tape, out, (cp_tensor *[]){x, y}, (cp_tensor *[]){u, u}, 2));
    cp_tensor *same = cp_jvp(tape, x, &x, &u, 1);
    expect_values(2, (double[]){1, 1}, same);
    same->data[0] = 7;
    TEST_ASSERT_TRUE(u->data[0] == 1 && !same->tracked);
}

static void the_seed_one_gives_the_gradient(void) {
    cp_tensor *x = vector(2, 3), *loss = cp_sum(tape, two_of(x), CP_ALL, false), *one = cp_scalar(tape, 1), *a, *b;
    TEST_ASSERT_TRUE(cp_grad(tape, loss, &x, 1, &a) && cp_vjp(tape, loss, one, &x, 1, &b));
    expect_values(2, (double[]){(double)a->data[0], (double)a->data[1]}, b);
}

static void a_seed_stays_as_it_was(void) {
    cp_tensor *x = vector(2, 3), *seed = vector(5, 7), *out = cp_add(tape, x, x), *product[2];
    TEST_ASSERT_TRUE(cp_vjp(tape, out, seed, (cp_tensor *[]){x, out}, 2, product));
    expect_values(2, (double[]){10, 14}, product[0]);
    expect_values(2, (double[]){5, 7}, product[1]);
    product[1]->data[0] = 0;
    expect_values(2, (double[]){5, 7}, seed);
}

static void a_parameter_can_be_a_seed(void) {
    cp_tensor *x = vector(2, 3), *seed = cp_parameter_new(((cp_real[]){5, 7}), CP_SHAPE(2)), *product;
    TEST_ASSERT_TRUE(cp_vjp(tape, cp_square(tape, x), seed, &x, 1, &product));
    expect_values(2, (double[]){20, 42}, product);
    cp_tensor_free(seed);
}

static void a_recorded_product_has_a_gradient_with_respect_to_its_seed(void) {
    cp_tensor *x = vector(2, 3), *seed = vector(5, 7), *product, *by_seed;
    TEST_ASSERT_TRUE(cp_vjp_recorded(tape, cp_square(tape, x), seed, &x, 1, &product));
    TEST_ASSERT_TRUE(cp_grad(tape, cp_sum(tape, product, CP_ALL, false), &seed, 1, &by_seed));
    expect_values(2, (double[]){4, 6}, by_seed);
}

/* loss = x0^2 x1 + w x1^2 with w = 4: the Hessian at (2, 3, 4) over x0, x1, w. */
static void a_hessian_times_a_vector_goes_over_several_inputs(void) {
    cp_tensor *x = vector(2, 3), *w = cp_variable(tape, ((cp_real[]){4}), CP_SCALAR);
    cp_tensor *first = cp_slice(tape, x, (int[]){0}, (int[]){1}, NULL), *second = cp_slice(tape, x, (int[]){1}, (int[]){2}, NULL);
    cp_tensor *loss = cp_sum(
        tape, cp_add(tape, cp_mul(tape, cp_square(tape, first), second), cp_mul(tape, w, cp_square(tape, second))), CP_ALL, false);
    cp_tensor *u = vector(1, 10), *uw = cp_scalar(tape, 100), *product[2];
    TEST_ASSERT_TRUE(cp_hvp(tape, loss, (cp_tensor *[]){x, w}, (cp_tensor *[]){u, uw}, 2, product));
    expect_values(2, (double[]){2 * 3 + 10 * 4, 4 + 10 * 8 + 100 * 6}, product[0]);
    expect_values(1, (double[]){10 * 6}, product[1]);
}

static void a_linear_loss_has_a_hessian_of_zeros(void) {
    cp_tensor *x = vector(2, 3), *u = vector(1, 1), *product;
    TEST_ASSERT_TRUE(cp_hvp(tape, cp_sum(tape, x, CP_ALL, false), &x, &u, 1, &product));
    expect_values(2, (double[]){0, 0}, product);
}

static void a_result_that_does_not_depend_on_the_input_has_a_jacobian_of_zeros(void) {
    cp_tensor *x = vector(2, 3), *other = vector(1, 1), *u = vector(1, 1);
    expect_values(2, (double[]){0, 0}, cp_jvp(tape, cp_square(tape, other), &x, &u, 1));
}

/* A direction counts as plain numbers, whatever it was computed from: with u = x and, as in a power iteration, u = the gradient. */
static void a_direction_that_depends_on_the_input_is_held_fixed(void) {
    cp_tensor *x = vector(2, 3), *loss = cp_sum(tape, cp_square(tape, x), CP_ALL, false), *gradient, *product;
    TEST_ASSERT_TRUE(cp_hvp(tape, loss, &x, &x, 1, &product));
    expect_values(2, (double[]){4, 6}, product);
    TEST_ASSERT_TRUE(cp_grad_recorded(tape, loss, &x, 1, &gradient) && cp_hvp(tape, loss, &x, &gradient, 1, &product));
    expect_values(2, (double[]){8, 12}, product);
    TEST_ASSERT_TRUE(cp_hvp(tape, cp_sum(tape, x, CP_ALL, false), &x, &x, 1, &product));
    expect_values(2, (double[]){0, 0}, product);
}

static void a_direction_can_be_replaced_by_its_product(void) {
    cp_tensor *x = vector(2, 3), *u = vector(1, 10), *loss = cp_sum(tape, cp_square(tape, x), CP_ALL, false);
    TEST_ASSERT_TRUE(cp_hvp(tape, loss, &x, &u, 1, &u));
    expect_values(2, (double[]){2, 20}, u);
}

static void a_paused_tape_gives_the_same_products(void) {
    cp_tensor *x = vector(2, 3), *out = cp_square(tape, x), *loss = cp_sum(tape, out, CP_ALL, false), *u = vector(1, 1), *product;
    cp_tape_pause(tape, true);
    expect_values(2, (double[]){4, 6}, cp_jvp(tape, out, &x, &u, 1));
    TEST_ASSERT_TRUE(cp_hvp(tape, loss, &x, &u, 1, &product));
    expect_values(2, (double[]){2, 2}, product);
    TEST_ASSERT_TRUE(cp_tape_pause(tape, false));
}

static void a_frozen_tape_gives_the_products_of_its_variables(void) {
    cp_tensor *w = cp_parameter_new(((cp_real[]){5, 7}), CP_SHAPE(2)), *x = vector(2, 3), *u = vector(1, 1);
    cp_tape_freeze(tape, true);
    expect_values(2, (double[]){5, 7}, cp_jvp(tape, cp_mul(tape, w, x), &x, &u, 1));
    cp_tape_freeze(tape, false);
    cp_tensor_free(w);
}

/* It gets its number on the tape while the sweep runs, and has no slot in the sweep. */
static void a_parameter_can_be_a_seed_and_wanted_at_once(void) {
    static cp_real values[64];
    cp_tensor     *seed = cp_parameter_new(values, CP_SHAPE(64)), *x = cp_variable(tape, values, CP_SHAPE(64)), *products[2];
    TEST_ASSERT_TRUE(cp_vjp_recorded(tape, cp_square(tape, x), seed, (cp_tensor *[]){x, seed}, 2, products));
    for (int i = 0; i < 64; i++) TEST_ASSERT_TRUE(products[1]->data[i] == 0);
    cp_tensor_free(seed);
}

static void direction_fill(cp_tensor *t, cp_rng *rng) {
    for (size_t i = 0; i < t->size; i++) t->data[i] = (cp_real)(cp_rng_uniform(rng) - 0.5);
}

static double inner(const cp_tensor *a, const cp_tensor *b, double *terms) {
    double sum = 0;
    for (size_t i = 0; i < a->size; i++) {
        sum += (double)a->data[i] * (double)b->data[i];
        *terms += fabs((double)a->data[i] * (double)b->data[i]);
    }
    return sum;
}

/* <v, J u> = <J^T v, u>: the two sides are computed by different rules. */
static void the_two_products_agree_for_every_op(void) {
    static double values[CASE_VALUES];
    cp_rng        rng = cp_rng_named(5, "directions");
    int           compared = 0;
    for (int i = 0; i < case_count(); i++) {
        const op_case *c = case_at(i);
        int            n = case_inputs(c);
        cp_tensor     *in[CASE_INPUTS], *u[CASE_INPUTS], *back[CASE_INPUTS];
        if (c->constant || c->draws || (c->double_only && sizeof(cp_real) == sizeof(float))) continue;
        cp_tape_reset(tape);
        case_fill(c, values);
        case_leaves(tape, c, values, (1u << n) - 1, in);
        cp_tensor *out = c->build(tape, in, c);
        if (!out || !out->tracked) continue;
        cp_tensor *v = cp_full(tape, 0, out->shape);
        direction_fill(v, &rng);
        for (int j = 0; j < n; j++) direction_fill(u[j] = cp_full(tape, 0, in[j]->shape), &rng);
        cp_tensor *forward = cp_jvp(tape, out, in, u, n);
        TEST_ASSERT_TRUE_MESSAGE(forward && cp_vjp(tape, out, v, in, n, back), c->mode);
        double terms = 1e-3, left = inner(v, forward, &terms), right = 0;
        for (int j = 0; j < n; j++) right += inner(back[j], u[j], &terms);
        TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(CLOSE * terms, left, right, c->mode);
        compared++;
    }
    TEST_ASSERT_GREATER_THAN_INT(400, compared);
}

static void seeds_and_directions_of_other_shapes_are_refused(void) {
    cp_tensor *x = vector(2, 3), *out = cp_square(tape, x), *one = cp_scalar(tape, 1), *product = out;
    TEST_ASSERT_FALSE(cp_vjp(tape, out, one, &x, 1, &product));
    TEST_ASSERT_NULL(product);
    expect_error_in("vjp", "the seed has shape (), and the result (2)", __FILE__);
    TEST_ASSERT_NULL(cp_jvp(tape, out, &x, &one, 1));
    expect_error_in("jvp", "directions[0] has shape (), and wrt[0] (2)", __FILE__);
    TEST_ASSERT_FALSE(cp_hvp(tape, cp_sum(tape, out, CP_ALL, false), &x, &one, 1, &product));
    expect_error_in("hvp", "directions[0] has shape (), and wrt[0] (2)", __FILE__);
    TEST_ASSERT_NULL(cp_jvp(tape, out, &x, &x, 0));
    expect_error_in("jvp", "n = 0 is below 1", __FILE__);
}

static void unrecorded_values_are_refused(void) {
    cp_tensor *x = vector(2, 3), *constant = cp_detach(tape, x), *product;
    TEST_ASSERT_FALSE(cp_vjp(tape, constant, x, &x, 1, &product));
    expect_error_in("vjp", "the result was not recorded", __FILE__);
    TEST_ASSERT_NULL(cp_jvp(tape, constant, &x, &x, 1));
    expect_error("the result was not recorded");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_vector_times_a_jacobian_weighs_its_rows);
    RUN_TEST(a_jacobian_times_a_vector_weighs_its_columns);
    RUN_TEST(ops_of_one_value_at_a_time_use_dual_numbers_and_others_a_double_reverse);
    RUN_TEST(a_step_of_a_value_in_between_is_added_to_its_own);
    RUN_TEST(the_seed_one_gives_the_gradient);
    RUN_TEST(a_seed_stays_as_it_was);
    RUN_TEST(a_parameter_can_be_a_seed);
    RUN_TEST(a_recorded_product_has_a_gradient_with_respect_to_its_seed);
    RUN_TEST(a_hessian_times_a_vector_goes_over_several_inputs);
    RUN_TEST(a_linear_loss_has_a_hessian_of_zeros);
    RUN_TEST(a_result_that_does_not_depend_on_the_input_has_a_jacobian_of_zeros);
    RUN_TEST(a_direction_that_depends_on_the_input_is_held_fixed);
    RUN_TEST(a_direction_can_be_replaced_by_its_product);
    RUN_TEST(a_paused_tape_gives_the_same_products);
    RUN_TEST(a_frozen_tape_gives_the_products_of_its_variables);
    RUN_TEST(a_parameter_can_be_a_seed_and_wanted_at_once);
    RUN_TEST(the_two_products_agree_for_every_op);
    RUN_TEST(seeds_and_directions_of_other_shapes_are_refused);
    RUN_TEST(unrecorded_values_are_refused);
    return UNITY_END();
}
