/* Tests of the ops at the edges: empty tensors, single values, rank 0 and 5, huge, tiny and infinite values, NaN. */
#include "couplet.h"

#include "tests/support/setup_tape.h"

#include <math.h>
#include <string.h>

#define INTS(...) ((int[]){__VA_ARGS__})

static cp_tensor *filled(cp_shape shape) {
    static cp_real values[1024];
    for (int i = 0; i < 1024; i++) values[i] = (cp_real)(i % 5 + 1) / 4;
    return cp_variable(tape, values, shape);
}

static cp_tensor *vector(int n, const double *values) {
    cp_real data[32];
    for (int i = 0; i < n; i++) data[i] = (cp_real)values[i];
    return cp_variable(tape, data, CP_SHAPE(n));
}

#define VECTOR(...) vector((int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

static cp_tensor *gradient(cp_tensor *out, cp_tensor *x) {
    cp_tensor *dx = NULL;
    TEST_ASSERT_NOT_NULL_MESSAGE(out, last_error);
    TEST_ASSERT_TRUE_MESSAGE(cp_grad(tape, cp_sum(tape, out, CP_ALL, false), &x, 1, &dx), last_error);
    return dx;
}

static void expect_near(double expected, double actual) {
    if (actual == expected) return; /* infinities among them */
    TEST_ASSERT_DOUBLE_WITHIN(4 * (double)CP_REAL_EPSILON * fabs(expected) + 1e-37, expected, actual);
}

static void expect_values(const cp_tensor *t, int n, const double *expected) {
    TEST_ASSERT_NOT_NULL_MESSAGE(t, last_error);
    TEST_ASSERT_EQUAL_UINT64(n, t->size);
    for (int i = 0; i < n; i++) expect_near(expected[i], (double)t->data[i]);
}

#define EXPECT(t, ...) expect_values(t, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

/* ---- empty tensors through every family, with their gradients ---- */

static void expect_shape(cp_tensor *out, cp_tensor *x, const char *shape) {
    TEST_ASSERT_NOT_NULL_MESSAGE(out, last_error);
    TEST_ASSERT_EQUAL_STRING(shape, cp_shape_text(out).s);
    TEST_ASSERT_EQUAL_STRING(cp_shape_text(x).s, cp_shape_text(gradient(out, x)).s);
}

typedef cp_tensor *(*unary_fn)(cp_at at, cp_tensor *a);
static const unary_fn unary[] = {(cp_neg),    (cp_exp), (cp_log),  (cp_log1p),   (cp_sqrt),     (cp_rsqrt),
                                 (cp_square), (cp_abs), (cp_tanh), (cp_sigmoid), (cp_softplus), (cp_relu),
                                 (cp_swish),  (cp_sin), (cp_cos),  (cp_erf),     (cp_gelu),     (cp_gelu_tanh)};
typedef cp_tensor *(*binary_fn)(cp_at at, cp_tensor *a, cp_tensor *b);
static const binary_fn binary[] = {(cp_add), (cp_sub), (cp_mul), (cp_div), (cp_minimum), (cp_maximum)};
enum { UNARY = sizeof unary / sizeof *unary, BINARY = sizeof binary / sizeof *binary };

static void empty_tensors_pass_through_elementwise_ops(void) {
    cp_tensor *x = filled(CP_SHAPE(3, 0, 2)), *row = filled(CP_SHAPE(1, 2)), *one = filled(CP_SCALAR);
    for (int i = 0; i < UNARY; i++) expect_shape(unary[i](CP_AT(tape), x), x, "(3, 0, 2)");
    for (int i = 0; i < BINARY; i++) {
        expect_shape(binary[i](CP_AT(tape), x, row), x, "(3, 0, 2)");
        expect_shape(binary[i](CP_AT(tape), x, row), row, "(3, 0, 2)");
        expect_shape(binary[i](CP_AT(tape), one, x), one, "(3, 0, 2)");
    }
    expect_shape(cp_where(tape, row, x, one), x, "(3, 0, 2)");
    expect_shape(cp_affine(tape, x, 2, 1), x, "(3, 0, 2)");
    expect_shape(cp_pow(tape, x, 3), x, "(3, 0, 2)");
    expect_shape(cp_leaky_relu(tape, x, 2), x, "(3, 0, 2)");
    expect_shape(cp_clamp(tape, x, 0, 1), x, "(3, 0, 2)");
    expect_shape(cp_gate(tape, x, x, 0), x, "(3, 0, 2)");
    cp_rng rng = cp_rng_named(1, "dropout");
    expect_shape(cp_dropout(tape, x, (cp_real)0.5, &rng, true), x, "(3, 0, 2)");
}

static void empty_tensors_pass_through_reductions(void) {
    cp_tensor *x = filled(CP_SHAPE(3, 0, 2));
    expect_shape(cp_sum(tape, x, CP_AXES(0), false), x, "(0, 2)");
    expect_shape(cp_sum(tape, x, CP_AXES(1), true), x, "(3, 1, 2)");
    TEST_ASSERT_TRUE(cp_item(cp_sum(tape, x, CP_ALL, false)) == 0);
    TEST_ASSERT_NULL(cp_mean(tape, x, CP_ALL, false)); /* as every reduction that nothing has no value of */
    expect_error_in("mean", "shape (3, 0, 2) has no values along axis 1", __FILE__);
    errors_forgive(tape);
    expect_shape(cp_mean(tape, x, CP_AXES(0, 2), false), x, "(0)");
    expect_shape(cp_max(tape, x, CP_AXES(0), false), x, "(0, 2)");
    expect_shape(cp_logsumexp(tape, x, CP_AXES(0), false), x, "(0, 2)");
    cp_tensor *nothing = cp_logsumexp(tape, x, CP_AXES(1), false);
    TEST_ASSERT_EQUAL_STRING("(3, 2)", cp_shape_text(nothing).s);
    TEST_ASSERT_TRUE(nothing->data[0] == (cp_real)-INFINITY && nothing->data[5] == (cp_real)-INFINITY);
    expect_shape(nothing, x, "(3, 2)");
    for (int axis = 0; axis < 3; axis++) {
        expect_shape(cp_softmax(tape, x, axis), x, "(3, 0, 2)");
        expect_shape(cp_log_softmax(tape, x, axis), x, "(3, 0, 2)");
    }
}

static void empty_tensors_pass_through_matmul(void) {
    cp_tensor *a = filled(CP_SHAPE(0, 3)), *b = filled(CP_SHAPE(3, 4)), *none = filled(CP_SHAPE(2, 0)),
              *flat = filled(CP_SHAPE(0, 4));
    expect_shape(cp_matmul(tape, a, b, 0), a, "(0, 4)");
    expect_shape(cp_matmul(tape, a, b, 0), b, "(0, 4)");
    cp_tensor *zeros = cp_matmul(tape, none, flat, 0);
    expect_shape(zeros, none, "(2, 4)");
    for (int i = 0; i < 8; i++) TEST_ASSERT_TRUE(zeros->data[i] == 0);
    expect_shape(cp_matmul(tape, filled(CP_SHAPE(0, 2, 3)), b, 0), b, "(0, 2, 4)");
    expect_shape(cp_matmul(tape, filled(CP_SHAPE(5, 2, 0)), flat, 0), flat, "(5, 2, 4)");
    expect_shape(cp_matmul(tape, filled(CP_SHAPE(0, 2, 3)), filled(CP_SHAPE(1, 3, 4)), 0), b = filled(CP_SHAPE(1)), "(0, 2, 4)");
}

static void empty_tensors_pass_through_shape_ops(void) {
    cp_tensor *x = filled(CP_SHAPE(3, 0, 2)), *rows = filled(CP_SHAPE(0, 4)), *parts[] = {rows, filled(CP_SHAPE(2, 4))};
    expect_shape(cp_reshape(tape, x, CP_SHAPE(0, 7)), x, "(0, 7)");
    expect_shape(cp_reshape(tape, x, CP_SHAPE(-1, 7)), x, "(0, 7)");
    expect_shape(cp_permute(tape, x, INTS(2, 0, 1)), x, "(2, 3, 0)");
    expect_shape(cp_broadcast_to(tape, x, CP_SHAPE(5, 3, 0, 2)), x, "(5, 3, 0, 2)");
    expect_shape(cp_sum_to(tape, x, CP_SHAPE(1, 2)), x, "(1, 2)");
    expect_shape(cp_slice(tape, parts[1], INTS(1, 2), INTS(1, 4), NULL), parts[1], "(0, 2)");
    expect_shape(cp_slice(tape, rows, INTS(0, 0), INTS(CP_END, 3), INTS(2, 2)), rows, "(0, 2)");
    expect_shape(cp_embed(tape, rows, INTS(3, 4), INTS(1, 0), NULL, 1), rows, "(3, 4)");
    expect_shape(cp_pad(tape, rows, INTS(1, 0), INTS(1, 1), 7), rows, "(2, 5)");
    expect_shape(cp_concat(tape, parts, 2, 0), rows, "(2, 4)");
    expect_shape(cp_gather_rows(tape, parts[1], (cp_indices){NULL, 0}), parts[1], "(0, 4)");
    expect_shape(cp_scatter_rows(tape, rows, (cp_indices){NULL, 0}, 3), rows, "(3, 4)");
    expect_shape(cp_take(tape, parts[1], (cp_indices){NULL, 0}, CP_SHAPE(0)), parts[1], "(0)");
    expect_shape(cp_put(tape, rows, (cp_indices){NULL, 0}, CP_SHAPE(3)), rows, "(3)");
}

static void an_empty_batch_passes_through_image_ops_and_norms(void) {
    cp_tensor       *x = filled(CP_SHAPE(0, 4, 4, 2)), *w = filled(CP_SHAPE(3, 3, 2, 4)), *c = filled(CP_SHAPE(2));
    cp_pool2d_config two = {CP_WINDOW(2)};
    expect_shape(cp_conv2d(tape, x, w, NULL, (cp_conv2d_config){0}), x, "(0, 2, 2, 4)");
    cp_tensor *dw = gradient(cp_conv2d(tape, x, w, NULL, (cp_conv2d_config){0}), w);
    for (size_t i = 0; i < dw->size; i++) TEST_ASSERT_TRUE(dw->data[i] == 0);
    expect_shape(cp_max_pool(tape, x, two), x, "(0, 2, 2, 2)");
    expect_shape(cp_avg_pool(tape, x, two), x, "(0, 2, 2, 2)");
    expect_shape(cp_global_avg_pool(tape, x), x, "(0, 2)");
    expect_shape(cp_layer_norm(tape, x, c, c, 1), x, "(0, 4, 4, 2)");
    expect_shape(cp_group_norm(tape, x, c, c, 2, 1), c, "(0, 4, 4, 2)");
    cp_tensor *running = cp_tensor_new(CP_SHAPE(2));
    expect_shape(cp_batch_norm(tape, x, c, c, (cp_batch_norm_config){.running_mean = running, .running_var = running}), x,
                 "(0, 4, 4, 2)");
    cp_tensor_free(running);
}

static void an_image_without_channels_convolves_to_the_bias(void) {
    cp_tensor *x = filled(CP_SHAPE(1, 3, 3, 0)), *w = filled(CP_SHAPE(3, 3, 0, 2)), *bias = VECTOR(5, 7);
    EXPECT(cp_conv2d(tape, x, w, bias, (cp_conv2d_config){0}), 5, 7);
    EXPECT(cp_conv2d(tape, x, w, NULL, (cp_conv2d_config){0}), 0, 0);
    expect_shape(cp_conv2d(tape, x, w, bias, (cp_conv2d_config){0}), x, "(1, 1, 1, 2)");
    expect_shape(cp_conv2d(tape, filled(CP_SHAPE(1, 3, 3, 2)), filled(CP_SHAPE(3, 3, 2, 0)), NULL, (cp_conv2d_config){0}), w,
                 "(1, 1, 1, 0)");
}

/* ---- the smallest and the highest rank ---- */

static void single_values_work_in_every_reduction(void) {
    cp_tensor *x = filled(CP_SCALAR), *one = filled(CP_SHAPE(1, 1));
    x->data[0] = one->data[0] = 3;
    EXPECT(cp_sum(tape, x, CP_ALL, false), 3);
    EXPECT(cp_mean(tape, x, CP_ALL, true), 3);
    EXPECT(cp_max(tape, x, CP_ALL, false), 3);
    EXPECT(cp_logsumexp(tape, x, CP_ALL, false), 3);
    EXPECT(gradient(cp_max(tape, x, CP_ALL, false), x), 1);
    EXPECT(cp_softmax(tape, one, -1), 1);
    EXPECT(cp_log_softmax(tape, one, 0), 0);
    EXPECT(cp_matmul(tape, one, one, 0), 9);
    EXPECT(cp_cross_entropy(tape, one, (cp_labels){INTS(0), 1}), 0);
    EXPECT(gradient(cp_cross_entropy(tape, one, (cp_labels){INTS(0), 1}), one), 0);
    EXPECT(cp_mse(tape, one, one), 0);
    EXPECT(cp_permute(tape, x, NULL), 3);
    EXPECT(cp_slice(tape, x, NULL, NULL, NULL), 3);
    EXPECT(cp_reshape(tape, x, CP_SHAPE(1, 1, 1, 1, -1)), 3);
    EXPECT(cp_layer_norm(tape, one, NULL, NULL, 1), 0);
}

static void five_axes_work(void) {
    cp_tensor *x = filled(CP_SHAPE(2, 1, 3, 2, 2)), *row = filled(CP_SHAPE(5, 1, 1, 2));
    expect_shape(cp_mul(tape, x, row), x, "(2, 5, 3, 2, 2)");
    expect_shape(cp_mul(tape, x, row), row, "(2, 5, 3, 2, 2)");
    expect_shape(cp_sum(tape, x, CP_AXES(0, 2, 4), false), x, "(1, 2)");
    expect_shape(cp_max(tape, x, CP_AXES(1, 3), true), x, "(2, 1, 3, 1, 2)");
    expect_shape(cp_permute(tape, x, INTS(4, 2, 0, 3, 1)), x, "(2, 3, 2, 2, 1)");
    expect_shape(cp_matmul(tape, x, x, CP_TRANSPOSE_B), x, "(2, 1, 3, 2, 2)");
    expect_shape(cp_batch_norm(tape, x, NULL, NULL, (cp_batch_norm_config){.training = true}), x, "(2, 1, 3, 2, 2)");
    expect_shape(cp_softmax(tape, x, 2), x, "(2, 1, 3, 2, 2)");
    expect_shape(cp_slice(tape, x, INTS(1, 0, 0, 1, 0), INTS(2, 1, CP_END, 2, CP_END), INTS(1, 1, 2, 1, 1)), x, "(1, 1, 2, 1, 2)");
}

static void a_step_as_large_as_an_int_takes_one_value(void) {
    cp_tensor *x = VECTOR(4, 5, 6);
    EXPECT(cp_slice(tape, x, INTS(1), INTS(CP_END), INTS(INT32_MAX)), 5);
    EXPECT(gradient(cp_slice(tape, x, INTS(1), INTS(CP_END), INTS(INT32_MAX)), x), 0, 1, 0);
}

/* ---- huge and infinite values ---- */

static void logsumexp_is_exact_for_huge_values(void) {
    EXPECT(cp_logsumexp(tape, VECTOR(1e4, 1e4), CP_ALL, false), 1e4 + log(2));
    EXPECT(cp_logsumexp(tape, VECTOR(-1e4, -1e4), CP_ALL, false), -1e4 + log(2));
    EXPECT(cp_logsumexp(tape, VECTOR(1e4, -1e4), CP_ALL, false), 1e4);
    EXPECT(cp_logsumexp(tape, VECTOR(-INFINITY, 2, -INFINITY), CP_ALL, false), 2);
    EXPECT(cp_logsumexp(tape, VECTOR(-INFINITY, -INFINITY), CP_ALL, false), -INFINITY);
    EXPECT(cp_logsumexp(tape, VECTOR(INFINITY, 2), CP_ALL, false), INFINITY);
    cp_tensor *x = VECTOR(1e4, -INFINITY, 1e4);
    EXPECT(gradient(cp_logsumexp(tape, x, CP_ALL, false), x), 0.5, 0, 0.5);
}

static void softmax_and_log_softmax_are_exact_for_huge_values(void) {
    EXPECT(cp_softmax(tape, VECTOR(1e4, 1e4), 0), 0.5, 0.5);
    EXPECT(cp_softmax(tape, VECTOR(-1e4, 1e4), 0), 0, 1);
    EXPECT(cp_softmax(tape, VECTOR(-INFINITY, 3), 0), 0, 1);
    EXPECT(cp_log_softmax(tape, VECTOR(1e4, 1e4), 0), -log(2), -log(2));
    EXPECT(cp_log_softmax(tape, VECTOR(-1e4, -1e4), 0), -log(2), -log(2));
    EXPECT(cp_log_softmax(tape, VECTOR(-1e4, 1e4), 0), -2e4, 0);
    EXPECT(cp_log_softmax(tape, VECTOR(-INFINITY, 3), 0), -INFINITY, 0);
}

static void the_smooth_steps_are_exact_at_both_ends(void) {
    cp_tensor *x = VECTOR(-INFINITY, -1e4, 1e4, INFINITY);
    EXPECT(cp_softplus(tape, x), 0, 0, 1e4, INFINITY);
    EXPECT(gradient(cp_softplus(tape, x), x), 0, 0, 1, 1);
    EXPECT(cp_sigmoid(tape, x), 0, 0, 1, 1);
    EXPECT(cp_tanh(tape, x), -1, -1, 1, 1);
    EXPECT(gradient(cp_tanh(tape, x), x), 0, 0, 0, 0);
    EXPECT(cp_relu(tape, x), 0, 0, 1e4, INFINITY);
    EXPECT(cp_clamp(tape, x, -1, 1), -1, -1, 1, 1);
    EXPECT(cp_exp(tape, x), 0, 0, INFINITY, INFINITY);
    EXPECT(cp_swish(tape, VECTOR(-1e4, 1e4)), 0, 1e4);
    EXPECT(cp_softplus(tape, VECTOR(-20)), log1p(exp(-20)));
    EXPECT(cp_sigmoid(tape, VECTOR(-50)), 1 / (1 + exp(50)));
}

static void cross_entropy_is_exact_for_huge_logits(void) {
    cp_real    values[] = {(cp_real)1e4, (cp_real)-1e4, (cp_real)-1e4, (cp_real)1e4};
    cp_tensor *logits = cp_variable(tape, values, CP_SHAPE(2, 2));
    EXPECT(cp_cross_entropy(tape, logits, (cp_labels){INTS(0, 1), 2}), 0);
    cp_tensor *wrong = cp_cross_entropy(tape, logits, (cp_labels){INTS(1, 0), 2});
    EXPECT(wrong, 2e4);
    EXPECT(gradient(wrong, logits), 0.5, -0.5, -0.5, 0.5);
    logits->data[1] = logits->data[2] = (cp_real)-INFINITY;
    EXPECT(cp_cross_entropy(tape, logits, (cp_labels){INTS(0, 1), 2}), 0);
    EXPECT(cp_cross_entropy(tape, logits, (cp_labels){INTS(1, 1), 2}), INFINITY);
}

static void sums_and_variances_of_large_numbers_keep_their_digits(void) {
    static cp_real values[100000];
    for (int i = 0; i < 100000; i++) values[i] = (cp_real)(1024 + (i % 2 ? 0.25 : -0.25));
    cp_tensor *x = cp_constant(tape, values, CP_SHAPE(100000, 1));
    EXPECT(cp_mean(tape, x, CP_ALL, false), 1024);
    cp_tensor *normal = cp_normalize(tape, x, CP_AXES(0), (cp_real)1e-12);
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, -1, (double)normal->data[0]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, 1, (double)normal->data[1]);
}

static void logsumexp_with_one_infinity_has_zero_gradients_at_the_finite_entries(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, (cp_real)INFINITY, 2, 3, 4, 5}, CP_SHAPE(2, 3));
    cp_tensor *out = cp_logsumexp(tape, x, CP_AXES(1), false), *dx = gradient(cp_sum(tape, out, CP_ALL, false), x);
    TEST_ASSERT_TRUE(isinf(out->data[0]));
    TEST_ASSERT_TRUE(dx->data[0] == 0 && isnan(dx->data[1]) && dx->data[2] == 0);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 1, (double)(dx->data[3] + dx->data[4] + dx->data[5]));
}

/* As in PyTorch: if one of the two is NaN neither is preferred, and both get the gradient. */
static void maximum_and_minimum_pass_the_gradient_on_where_one_side_is_nan(void) {
    cp_tensor *a = cp_variable(tape, (cp_real[]){(cp_real)NAN, 1, 2}, CP_SHAPE(3));
    cp_tensor *b = cp_variable(tape, (cp_real[]){5, (cp_real)NAN, 1}, CP_SHAPE(3));
    EXPECT(gradient(cp_sum(tape, cp_maximum(tape, a, b), CP_ALL, false), a), 1, 1, 1);
    EXPECT(gradient(cp_sum(tape, cp_maximum(tape, a, b), CP_ALL, false), b), 1, 1, 0);
    EXPECT(gradient(cp_sum(tape, cp_minimum(tape, a, b), CP_ALL, false), a), 1, 1, 0);
    EXPECT(gradient(cp_sum(tape, cp_minimum(tape, a, b), CP_ALL, false), b), 1, 1, 1);
}

static void take_and_put_check_the_number_of_indices_before_they_allocate(void) {
    cp_tensor *x = VECTOR(1, 2);
    size_t     before = cp_tape_bytes(tape);
    TEST_ASSERT_NULL(cp_take(tape, x, (cp_indices){INTS(0), 1}, CP_SHAPE(1 << 20, 1 << 8)));
    expect_error("take: 1 indices for 268435456 values");
    TEST_ASSERT_NULL(cp_put(tape, x, (cp_indices){INTS(0), 1}, CP_SHAPE(1 << 20, 1 << 8)));
    expect_error("put: 1 indices for 2 values");
    TEST_ASSERT_TRUE(cp_tape_bytes(tape) == before);
}

static void an_eps_of_zero_is_the_same_default_in_every_norm(void) {
    cp_tensor *x =
        cp_constant(tape, (cp_real[]){1, 1, 1, 1}, CP_SHAPE(2, 2)); /* zero variance: 0 / sqrt(eps), or NaN without eps */
    EXPECT(cp_layer_norm(tape, x, NULL, NULL, 0), 0, 0, 0, 0);
    EXPECT(cp_group_norm(tape, x, NULL, NULL, 1, 0), 0, 0, 0, 0);
    EXPECT(cp_normalize(tape, x, CP_ALL, 0), 0, 0, 0, 0);
    EXPECT(cp_batch_norm(tape, x, NULL, NULL, (cp_batch_norm_config){.training = true}), 0, 0, 0, 0);
    cp_tensor *y = cp_constant(tape, (cp_real[]){0, (cp_real)0.01}, CP_SHAPE(1, 2));
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, -0.005 / sqrt(0.005 * 0.005 + 1e-5), (double)cp_layer_norm(tape, y, NULL, NULL, 0)->data[0]);
}

/* Means 1,000 apart, a point near one of them: the distance must not depend on the position of the origin. */
static void gaussian_energies_far_from_the_origin_keep_their_digits(void) {
    const double offset[] = {0.25, -0.5, 0.125};
    for (int kind = CP_SPHERICAL; kind <= CP_FULL; kind++) {
        cp_real mean[] = {1000, 1000, 1000, -1000, -1000, -1000}, z[3], precision[6] = {0};
        for (int i = 0; i < 3; i++) z[i] = (cp_real)(1000 + offset[i]);
        for (int i = 0; i < 6; i++) precision[i] = (cp_real)0.3;
        int          size = cp_precision_size((cp_precision)kind, 3);
        cp_gaussians g = {.mean = cp_constant(tape, mean, CP_SHAPE(2, 3)),
                          .precision = cp_constant(tape, precision, CP_SHAPE(size)),
                          .kind = (cp_precision)kind};
        double       near = (double)cp_gaussian_energy(tape, cp_constant(tape, z, CP_SHAPE(1, 3)), g)->data[0], expected = 0;
        cp_real      at_origin[] = {0, 0, 0, -2000, -2000, -2000}, shift[3];
        for (int i = 0; i < 3; i++) shift[i] = (cp_real)offset[i];
        g.mean = cp_constant(tape, at_origin, CP_SHAPE(2, 3));
        expected = (double)cp_gaussian_energy(tape, cp_constant(tape, shift, CP_SHAPE(1, 3)), g)->data[0];
        TEST_ASSERT_DOUBLE_WITHIN(1e-6 * expected, expected, near);
    }
}

static void denormals_and_negative_zero_survive(void) {
    cp_real    tiny = sizeof(cp_real) == sizeof(float) ? (cp_real)1e-40 : (cp_real)1e-310;
    cp_tensor *x = cp_constant(tape, (cp_real[]){tiny, -tiny, (cp_real)-0.0}, CP_SHAPE(3));
    cp_tensor *y = cp_add(tape, x, cp_scalar(tape, 0));
    TEST_ASSERT_TRUE(y->data[0] == tiny && y->data[0] > 0 && y->data[1] == -tiny);
    TEST_ASSERT_TRUE(cp_sum(tape, x, CP_ALL, false)->data[0] == 0);
    TEST_ASSERT_TRUE(cp_max(tape, x, CP_ALL, false)->data[0] == tiny);
    TEST_ASSERT_TRUE(cp_relu(tape, x)->data[0] == tiny);
    TEST_ASSERT_TRUE(signbit(cp_neg(tape, cp_scalar(tape, 0))->data[0]));
    TEST_ASSERT_TRUE(signbit(cp_reshape(tape, x, CP_SHAPE(3, 1))->data[2]));
    TEST_ASSERT_TRUE(cp_relu(tape, x)->data[2] == 0 && cp_abs(tape, x)->data[2] == 0 && cp_sign(tape, x)->data[2] == 0);
    TEST_ASSERT_TRUE(cp_sqrt(tape, x)->data[0] > 0);
    TEST_ASSERT_TRUE(cp_log(tape, x)->data[0] > -800 && cp_log(tape, x)->data[0] < -80);
}

/* ---- NaN in, NaN out ---- */

static bool has_nan(const cp_tensor *t) {
    TEST_ASSERT_NOT_NULL_MESSAGE(t, last_error);
    for (size_t i = 0; i < t->size; i++)
        if (isnan(t->data[i])) return true;
    return false;
}

static cp_tensor *poisoned(cp_shape shape, size_t at) {
    cp_tensor *t = filled(shape);
    t->data[at] = (cp_real)NAN;
    return t;
}

#define NAN_IN_NAN_OUT(...) TEST_ASSERT_TRUE_MESSAGE(has_nan(__VA_ARGS__), #__VA_ARGS__)

static void nan_passes_through_elementwise_ops(void) {
    for (size_t at = 0; at < 19; at++) { /* at each index: vector loops and their remainders */
        cp_tensor *x = poisoned(CP_SHAPE(19), at), *y = filled(CP_SHAPE(19));
        for (int i = 0; i < UNARY; i++) TEST_ASSERT_TRUE_MESSAGE(isnan(unary[i](CP_AT(tape), x)->data[at]), "a unary op");
        for (int i = 0; i < BINARY; i++) {
            TEST_ASSERT_TRUE_MESSAGE(isnan(binary[i](CP_AT(tape), x, y)->data[at]), "a binary op, left");
            TEST_ASSERT_TRUE_MESSAGE(isnan(binary[i](CP_AT(tape), y, x)->data[at]), "a binary op, right");
        }
        NAN_IN_NAN_OUT(cp_leaky_relu(tape, x, 0));
        NAN_IN_NAN_OUT(cp_clamp(tape, x, 0, 1));
        NAN_IN_NAN_OUT(cp_pow(tape, x, 2));
        NAN_IN_NAN_OUT(cp_scale(tape, x, 0));
        NAN_IN_NAN_OUT(cp_sign(tape, x));
        NAN_IN_NAN_OUT(cp_gate(tape, x, y, 0));
        NAN_IN_NAN_OUT(cp_where(tape, y, x, y));
        cp_tape_reset(tape);
    }
}

static void nan_passes_through_reductions_from_any_element(void) {
    for (size_t at = 0; at < 12; at++) {
        cp_tensor *x = poisoned(CP_SHAPE(3, 4), at);
        for (int axis = 0; axis < 2; axis++) {
            NAN_IN_NAN_OUT(cp_sum(tape, x, CP_AXES(axis), false));
            NAN_IN_NAN_OUT(cp_mean(tape, x, CP_AXES(axis), false));
            NAN_IN_NAN_OUT(cp_max(tape, x, CP_AXES(axis), false));
            NAN_IN_NAN_OUT(cp_logsumexp(tape, x, CP_AXES(axis), false));
            NAN_IN_NAN_OUT(cp_softmax(tape, x, axis));
            NAN_IN_NAN_OUT(cp_log_softmax(tape, x, axis));
            NAN_IN_NAN_OUT(cp_normalize(tape, x, CP_AXES(axis), 1));
        }
        NAN_IN_NAN_OUT(cp_max(tape, x, CP_ALL, false));
        NAN_IN_NAN_OUT(cp_logsumexp(tape, x, CP_ALL, false));
        NAN_IN_NAN_OUT(cp_cross_entropy(tape, x, (cp_labels){INTS(0, 1, 2), 3}));
        NAN_IN_NAN_OUT(cp_mse(tape, x, filled(CP_SHAPE(3, 4))));
        NAN_IN_NAN_OUT(cp_batch_norm(tape, x, NULL, NULL, (cp_batch_norm_config){.training = true}));
        NAN_IN_NAN_OUT(cp_matmul(tape, x, filled(CP_SHAPE(4, 2)), 0));
        NAN_IN_NAN_OUT(cp_matmul(tape, cp_full(tape, 0, CP_SHAPE(2, 3)), x, 0)); /* 0 times NaN is NaN */
        cp_tape_reset(tape);
    }
}

static void nan_among_minus_infinities_is_the_maximum(void) {
    cp_tensor *x = VECTOR(-INFINITY, NAN, -INFINITY);
    NAN_IN_NAN_OUT(cp_max(tape, x, CP_ALL, false));
    NAN_IN_NAN_OUT(cp_logsumexp(tape, x, CP_ALL, false));
    NAN_IN_NAN_OUT(cp_softmax(tape, x, 0));
}

static void nan_passes_through_image_ops_from_any_pixel(void) {
    for (size_t at = 0; at < 32; at++) {
        cp_tensor *x = poisoned(CP_SHAPE(1, 4, 4, 2), at);
        NAN_IN_NAN_OUT(cp_max_pool(tape, x, (cp_pool2d_config){CP_WINDOW(2)}));
        NAN_IN_NAN_OUT(cp_max_pool(tape, x, (cp_pool2d_config){CP_WINDOW(3), CP_STRIDE(1), CP_PAD(1)}));
        NAN_IN_NAN_OUT(cp_avg_pool(tape, x, (cp_pool2d_config){CP_WINDOW(2)}));
        NAN_IN_NAN_OUT(cp_global_avg_pool(tape, x));
        NAN_IN_NAN_OUT(cp_conv2d(tape, x, filled(CP_SHAPE(3, 3, 2, 4)), NULL, (cp_conv2d_config){CP_PAD(1)}));
        NAN_IN_NAN_OUT(cp_leaky_conv2d(tape, x, filled(CP_SHAPE(3, 3, 2, 4)), (cp_conv_extras){0}, (cp_conv2d_config){CP_PAD(1)}));
        NAN_IN_NAN_OUT(cp_group_norm(tape, x, NULL, NULL, 2, 1));
        NAN_IN_NAN_OUT(cp_layer_norm(tape, x, NULL, NULL, 1));
        cp_tape_reset(tape);
    }
}

static void a_nan_in_max_pool_stays_in_its_windows(void) {
    cp_tensor *y = cp_max_pool(tape, poisoned(CP_SHAPE(1, 4, 4, 2), 0), (cp_pool2d_config){CP_WINDOW(2)});
    for (size_t i = 0; i < y->size; i++) TEST_ASSERT_EQUAL_INT(i == 0, isnan(y->data[i]) != 0);
}

static void padding_never_wins_a_maximum(void) {
    cp_tensor *x = filled(CP_SHAPE(1, 3, 3, 1));
    for (int i = 0; i < 9; i++) x->data[i] = (cp_real)(-10 - i);
    EXPECT(cp_max_pool(tape, x, (cp_pool2d_config){CP_WINDOW(2), CP_PAD(1)}), -10, -11, -13, -14);
    x->data[0] = (cp_real)-INFINITY;
    EXPECT(
        cp_slice(tape, cp_max_pool(tape, x, (cp_pool2d_config){CP_WINDOW(2), CP_PAD(1)}), INTS(0, 0, 0, 0), INTS(1, 1, 1, 1), NULL),
        -INFINITY);
}

/* Two classes and four points about `offset`: the energies, and the gradients of a weighted sum of them. */
typedef struct energies {
    double energy[8], point_grad[12], mean_grad[6];
} energies;

static energies energies_at(double offset, cp_precision kind) {
    const double where[12] = {0.5, -1, 0.25, 1, 0, -0.75, 2, 0.5, 1.5, -1, -0.5, 0.125};
    const double means[6] = {0, 1, -0.5, 0.75, -0.25, 2}, weights[8] = {1, -2, 0.5, 3, -1, 0.25, 2, -0.5};
    cp_real      z[12], mu[6], w[8], s[6] = {0.25f, -0.125f, 0.75f, 0.875f, -0.5f, 0.0625f};
    for (int i = 0; i < 12; i++) z[i] = (cp_real)(where[i] + offset);
    for (int i = 0; i < 6; i++) mu[i] = (cp_real)(means[i] + offset);
    for (int i = 0; i < 8; i++) w[i] = (cp_real)weights[i];
    int          size = cp_precision_size(kind, 3);
    cp_tensor   *leaves[2] = {cp_variable(tape, z, CP_SHAPE(4, 3)), cp_variable(tape, mu, CP_SHAPE(2, 3))}, *grads[2];
    cp_gaussians g = {.mean = leaves[1], .precision = cp_constant(tape, s, CP_SHAPE(size)), .kind = kind};
    cp_tensor   *energy = cp_gaussian_energy(tape, leaves[0], g);
    cp_tensor   *loss = cp_sum(tape, cp_mul(tape, energy, cp_constant(tape, w, CP_SHAPE(4, 2))), CP_ALL, false);
    TEST_ASSERT_TRUE_MESSAGE(cp_grad(tape, loss, leaves, 2, grads), last_error);
    energies e;
    for (int i = 0; i < 8; i++) e.energy[i] = (double)energy->data[i];
    for (int i = 0; i < 12; i++) e.point_grad[i] = (double)grads[0]->data[i];
    for (int i = 0; i < 6; i++) e.mean_grad[i] = (double)grads[1]->data[i];
    return e;
}

static void gaussian_energies_and_gradients_are_the_same_far_from_the_origin(void) {
    for (cp_precision kind = CP_SPHERICAL; kind <= CP_FULL; kind++) {
        const energies here = energies_at(0, kind), there = energies_at(16384, kind); /* where eighths are exact */
        for (int i = 0; i < 8; i++) TEST_ASSERT_DOUBLE_WITHIN(1e-5, here.energy[i] / there.energy[i], 1);
        for (int i = 0; i < 12; i++) TEST_ASSERT_DOUBLE_WITHIN(2e-5, here.point_grad[i], there.point_grad[i]);
        for (int i = 0; i < 6; i++) TEST_ASSERT_DOUBLE_WITHIN(2e-5, here.mean_grad[i], there.mean_grad[i]);
    }
}

static void batch_norm_finds_mean_and_variance_of_values_far_from_zero(void) {
    enum { ROWS = 65536 };
    cp_tensor *x = cp_tensor_new(CP_SHAPE(ROWS, 1)), *mean = cp_tensor_new(CP_SHAPE(1)), *variance = cp_tensor_new(CP_SHAPE(1));
    cp_rng     rng = cp_rng_named(5, "rows");
    cp_rng_fill_normal(&rng, x->data, ROWS, 1000, 1);
    double sum = 0, square = 0;
    for (int i = 0; i < ROWS; i++) sum += (double)x->data[i] / ROWS;
    for (int i = 0; i < ROWS; i++) square += ((double)x->data[i] - sum) * ((double)x->data[i] - sum) / (ROWS - 1);
    cp_batch_norm_config config = {.training = true, .running_mean = mean, .running_var = variance, .momentum = 1};
    cp_batch_norm(tape, x, NULL, NULL, config);
    TEST_ASSERT_DOUBLE_WITHIN(3.1e-5, sum, (double)mean->data[0]); /* half a unit in the last place of a float 1000 */
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, square, (double)variance->data[0]);
    cp_tensor_free(x), cp_tensor_free(mean), cp_tensor_free(variance);
}

static void the_first_of_equal_values_and_before_all_a_nan_is_the_largest(void) {
    cp_indices which;
    cp_tensor *x = cp_reshape(tape, VECTOR(1, 3, 3, 2, NAN, NAN, -INFINITY, 7), CP_SHAPE(2, 4));
    cp_labels  top = cp_argmax(tape, x);
    TEST_ASSERT_EQUAL_INT(2, top.count);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){1, 0}), top.at, 2);
    TEST_ASSERT_NOT_NULL(cp_topk(tape, x, 3, &which));
    TEST_ASSERT_EQUAL_INT(6, which.count);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){1, 2, 3, 0, 1, 3}), which.at, 6);
    EXPECT(cp_one_hot(tape, top, 3), 0, 1, 0, 1, 0, 0);
    TEST_ASSERT_EQUAL_INT(0, cp_argmax(tape, cp_full(tape, 0, CP_SHAPE(0, 3))).count);
    TEST_ASSERT_EQUAL_STRING("(0, 3)", cp_shape_text(cp_one_hot(tape, (cp_labels){NULL, 0}, 3)).s);
}

static void the_parts_of_a_chunk_share_one_gradient(void) {
    cp_tensor *x = cp_reshape(tape, VECTOR(1, 2, 3, 4, 5, 6), CP_SHAPE(2, 3)), *parts[3];
    TEST_ASSERT_TRUE(cp_chunk(tape, x, 3, 1, parts));
    EXPECT(parts[1], 2, 5);
    EXPECT(gradient(cp_mul(tape, parts[0], parts[2]), x), 3, 0, 1, 6, 0, 4);
    TEST_ASSERT_TRUE(cp_chunk(tape, x, 1, 0, parts));
    TEST_ASSERT_EQUAL_PTR(x, parts[0]);
}

static void many_values_at_one_index_are_summed_exactly(void) {
    enum { SIDE = 512 };
    cp_tensor *x = cp_full(tape, (cp_real)0.1f, CP_SHAPE(1, SIDE, SIDE, 1));
    expect_near((double)0.1f, (double)cp_item(cp_avg_pool(tape, x, (cp_pool2d_config){CP_WINDOW(SIDE)})));
    static int rows[SIDE * SIDE];
    cp_tensor *column = cp_reshape(tape, x, CP_SHAPE(SIDE * SIDE, 1));
    cp_tensor *sum = cp_scatter_rows(tape, column, (cp_indices){rows, SIDE * SIDE}, 1);
    expect_near(SIDE * SIDE * (double)0.1f, (double)cp_item(sum));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(empty_tensors_pass_through_elementwise_ops);
    RUN_TEST(empty_tensors_pass_through_reductions);
    RUN_TEST(empty_tensors_pass_through_matmul);
    RUN_TEST(empty_tensors_pass_through_shape_ops);
    RUN_TEST(an_empty_batch_passes_through_image_ops_and_norms);
    RUN_TEST(an_image_without_channels_convolves_to_the_bias);
    RUN_TEST(single_values_work_in_every_reduction);
    RUN_TEST(five_axes_work);
    RUN_TEST(a_step_as_large_as_an_int_takes_one_value);
    RUN_TEST(logsumexp_is_exact_for_huge_values);
    RUN_TEST(softmax_and_log_softmax_are_exact_for_huge_values);
    RUN_TEST(the_smooth_steps_are_exact_at_both_ends);
    RUN_TEST(cross_entropy_is_exact_for_huge_logits);
    RUN_TEST(sums_and_variances_of_large_numbers_keep_their_digits);
    RUN_TEST(logsumexp_with_one_infinity_has_zero_gradients_at_the_finite_entries);
    RUN_TEST(maximum_and_minimum_pass_the_gradient_on_where_one_side_is_nan);
    RUN_TEST(take_and_put_check_the_number_of_indices_before_they_allocate);
    RUN_TEST(an_eps_of_zero_is_the_same_default_in_every_norm);
    RUN_TEST(gaussian_energies_far_from_the_origin_keep_their_digits);
    RUN_TEST(denormals_and_negative_zero_survive);
    RUN_TEST(nan_passes_through_elementwise_ops);
    RUN_TEST(nan_passes_through_reductions_from_any_element);
    RUN_TEST(nan_among_minus_infinities_is_the_maximum);
    RUN_TEST(nan_passes_through_image_ops_from_any_pixel);
    RUN_TEST(a_nan_in_max_pool_stays_in_its_windows);
    RUN_TEST(padding_never_wins_a_maximum);
    RUN_TEST(gaussian_energies_and_gradients_are_the_same_far_from_the_origin);
    RUN_TEST(batch_norm_finds_mean_and_variance_of_values_far_from_zero);
    RUN_TEST(the_first_of_equal_values_and_before_all_a_nan_is_the_largest);
    RUN_TEST(the_parts_of_a_chunk_share_one_gradient);
    RUN_TEST(many_values_at_one_index_are_summed_exactly);
    return UNITY_END();
}
