/* Tests of misuse: each op with each kind of bad input. With a handler that returns, there is exactly one message, it
 * names the op, what is wrong and the caller's file and line, and the op returns NULL. With the default handler, a child
 * process prints one line and exits with status 2. */
#include "couplet.h"

#include "core/op.h"
#include "ops/gaussian.h"

#include "tests/core/child.h"
#include "tests/support/errors.h"
#include "unity.h"

#include <limits.h>
#include <string.h>

/* The address sanitizer must refuse the same allocations as malloc. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static cp_tape *tape, *other;

void setUp(void) {
    errors_catch();
    tape = cp_tape_new();
    other = cp_tape_new();
}

void tearDown(void) {
    errors_release();
    cp_tape_free(tape);
    cp_tape_free(other);
}

static cp_tensor *filled(cp_tape *t, cp_shape shape) {
    cp_real values[512];
    for (int i = 0; i < 512; i++) values[i] = (cp_real)(i % 7 + 1) / 8;
    return cp_variable(t, values, shape);
}

#define TENSOR(...) filled(tape, CP_SHAPE(__VA_ARGS__))
#define INTS(...) ((int[]){__VA_ARGS__})
#define PLACES(...) ((cp_indices){(int[]){__VA_ARGS__}, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int))})
#define LABELS(...) ((cp_labels){(int[]){__VA_ARGS__}, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int))})

/* A child process with the default handler, whose stderr comes through a pipe. */
typedef struct child {
    pid_t id;
    int   ends[2];
} child;

static child child_start(void) {
    child c;
    TEST_ASSERT_EQUAL_INT(0, pipe(c.ends));
    fflush(stdout);
    c.id = fork();
    if (c.id == 0) {
        dup2(c.ends[1], STDERR_FILENO);
        errors_release();
    }
    return c;
}

static void expect_one_line_and_status_2(child c, const char *op, const char *part, int line) {
    char text[2000], begin[80], end[300];
    int  status = child_end(c.id, c.ends, text, sizeof text);
    snprintf(begin, sizeof begin, "couplet: %s: ", op);
    snprintf(end, sizeof end, " (%s:%d)\n", __FILE__, line);
    TEST_ASSERT_EQUAL_INT_MESSAGE(2, status, text);
    TEST_ASSERT_EQUAL_STRING_LEN_MESSAGE(begin, text, strlen(begin), text);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, part), text);
    const char *rest = strchr(text, '\n') + 1; /* a sanitizer's output at exit does not count */
    TEST_ASSERT_EQUAL_STRING_LEN(end, rest - strlen(end), strlen(end));
    TEST_ASSERT_NULL_MESSAGE(strstr(rest, "couplet:"), text);
}

static void expect_refusal(bool refused, const char *call, const char *op, const char *part, int line) {
    if (!refused) TEST_FAIL_MESSAGE(call);
    expect_error_at(op, part, __FILE__, line);
    errors_forgive(tape);
    TEST_ASSERT_EQUAL_INT(0, cp_tape_length(tape));
}

/* The call is refused with a message by `op` that contains `part`, and nothing is recorded. Write calls on one line,
 * because compilers number the lines of a macro's arguments in different ways. */
#define REFUSED_HERE(op, part, ...) expect_refusal(!(__VA_ARGS__), "not refused: " #__VA_ARGS__, op, part, __LINE__)

/* The same, and then once more in a child with the default handler. */
#define REFUSED(op, part, ...)                                                                                                     \
    do {                                                                                                                           \
        REFUSED_HERE(op, part, __VA_ARGS__);                                                                                       \
        child process = child_start();                                                                                             \
        if (process.id == 0) {                                                                                                     \
            (void)!(__VA_ARGS__);                                                                                                  \
            _exit(0);                                                                                                              \
        }                                                                                                                          \
        expect_one_line_and_status_2(process, op, part, __LINE__);                                                                 \
    } while (0)

/* ---- every op: no tape, no tensor, a tensor of another tape ---- */

typedef cp_tensor *(*call_fn)(cp_tape *t, cp_tensor *a, cp_tensor *b);

static cp_tensor *squared(cp_at at, void *context, cp_tensor *const *in) {
    (void)context;
    return cp_square(at, in[0]);
}

/* A valid call of an op on a and b; each on a separate line, so that the line in messages can be checked. */
#define CALL(NAME, ...)                                                                                                            \
    enum { line_##NAME = __LINE__ };                                                                                               \
    static cp_tensor *call_##NAME(cp_tape *t, cp_tensor *a, cp_tensor *b) {                                                        \
        (void)b;                                                                                                                   \
        return __VA_ARGS__;                                                                                                        \
    }

static const cp_conv2d_config plain = {0};
static const cp_pool2d_config two = {CP_WINDOW(2)};
static cp_rng                 rng;
static cp_tensor             *three; /* (3), persistent */
static cp_tensor             *split_parts[3];

static cp_gaussians around(cp_tensor *mean) { return (cp_gaussians){mean, three, CP_DIAGONAL, NULL}; }

static cp_tensor *first_part(bool split) { return split ? split_parts[0] : NULL; }

CALL(abs, cp_abs(t, a))
CALL(add, cp_add(t, a, b))
CALL(affine, cp_affine(t, a, 2, 1))
CALL(avg_pool, cp_avg_pool(t, a, two))
CALL(avg_unpool, cp_avg_unpool(t, a, INTS(1, 8, 8, 2), two))
CALL(batch_norm, cp_batch_norm(t, a, b, b, (cp_batch_norm_config){.training = true}))
CALL(binary_cross_entropy, cp_binary_cross_entropy(t, a, b))
CALL(broadcast_to, cp_broadcast_to(t, a, CP_SHAPE(2, 2, 3)))
CALL(chunk, first_part(cp_chunk(t, a, 3, 1, split_parts)))
CALL(clamp, cp_clamp(t, a, 0, 1))
CALL(concat, cp_concat(t, (cp_tensor *[]){a, b}, 2, 0))
CALL(conv1d, cp_conv1d(t, a, b, NULL, plain))
CALL(conv2d, cp_conv2d(t, a, b, NULL, plain))
CALL(conv2d_input_grad, cp_conv2d_input_grad(t, a, b, INTS(1, 6, 6, 2), plain))
CALL(conv2d_weight_grad, cp_conv2d_weight_grad(t, a, b, INTS(2, 2, 2, 2), plain))
CALL(conv_transpose, cp_conv_transpose(t, a, b, NULL, plain, 0))
CALL(cos, cp_cos(t, a))
CALL(cross_entropy, cp_cross_entropy(t, a, LABELS(0, 2)))
CALL(cross_entropy_with, cp_cross_entropy_with(t, a, LABELS(0, -1), (cp_cross_entropy_config){.skip_unlabeled = true}))
CALL(cumsum, cp_cumsum(t, a, 1))
CALL(detach, cp_detach(t, a))
CALL(div, cp_div(t, a, b))
CALL(dropout, cp_dropout(t, a, (cp_real)0.5, &rng, true))
CALL(embed, cp_embed(t, a, INTS(3, 4), INTS(1, 1), NULL, 0))
CALL(equal, cp_equal(t, a, b))
CALL(erf, cp_erf(t, a))
CALL(exp, cp_exp(t, a))
CALL(flip, cp_flip(t, a, CP_ALL))
CALL(gate, cp_gate(t, a, b, 0))
CALL(gather_rows, cp_gather_rows(t, a, PLACES(1, 0, 1)))
CALL(gaussian_bias, cp_gaussian_bias(t, around(a)))
CALL(gaussian_energy, cp_gaussian_energy(t, a, around(b)))
CALL(gaussian_log_density, cp_gaussian_log_density(t, a, around(b)))
CALL(gaussian_log_joint, cp_gaussian_log_joint(t, a, around(b)))
CALL(gaussian_penalty, cp_gaussian_penalty(t, a, three, around(b)))
CALL(gaussian_weight, cp_gaussian_weight(t, around(a)))
CALL(gelu, cp_gelu(t, a))
CALL(gelu_tanh, cp_gelu_tanh(t, a))
CALL(global_avg_pool, cp_global_avg_pool(t, a))
CALL(greater, cp_greater(t, a, b))
CALL(group_norm, cp_group_norm(t, a, b, b, 1, 1))
CALL(huber, cp_huber(t, a, b, 1))
CALL(kl_divergence, cp_kl_divergence(t, a, b))
CALL(layer_norm, cp_layer_norm(t, a, b, b, 1))
CALL(leaky_conv2d, cp_leaky_conv2d(t, a, b, (cp_conv_extras){0}, plain))
CALL(leaky_norm, cp_leaky_norm(t, a, b, b, 1, 1, 1))
CALL(leaky_relu, cp_leaky_relu(t, a, 2))
CALL(log, cp_log(t, a))
CALL(log1p, cp_log1p(t, a))
CALL(log_softmax, cp_log_softmax(t, a, 1))
CALL(logsumexp, cp_logsumexp(t, a, CP_ALL, false))
CALL(masked_fill, cp_masked_fill(t, a, b, 1))
CALL(matmul, cp_matmul(t, a, b, CP_TRANSPOSE_B))
CALL(max, cp_max(t, a, CP_ALL, false))
CALL(max_pool, cp_max_pool(t, a, two))
CALL(maximum, cp_maximum(t, a, b))
CALL(mean, cp_mean(t, a, CP_ALL, false))
CALL(min, cp_min(t, a, CP_ALL, false))
CALL(minimum, cp_minimum(t, a, b))
CALL(mse, cp_mse(t, a, b))
CALL(mul, cp_mul(t, a, b))
CALL(neg, cp_neg(t, a))
CALL(normalize, cp_normalize(t, a, CP_ALL, 1))
CALL(pad, cp_pad(t, a, INTS(1, 1), INTS(0, 2), 0))
CALL(pad_reflect, cp_pad_reflect(t, a, INTS(1, 1), INTS(0, 2)))
CALL(permute, cp_permute(t, a, INTS(1, 0)))
CALL(pick, cp_pick(t, a, LABELS(2, 0)))
CALL(pow, cp_pow(t, a, 2))
CALL(put, cp_put(t, a, PLACES(5, 4, 3, 2, 1, 0), CP_SHAPE(6)))
CALL(relu, cp_relu(t, a))
CALL(recompute, cp_recompute(t, squared, NULL, &a, 1, NULL))
CALL(reshape, cp_reshape(t, a, CP_SHAPE(-1)))
CALL(rsqrt, cp_rsqrt(t, a))
CALL(scale, cp_scale(t, a, 3))
CALL(scale_shift, cp_scale_shift(t, a, b, three))
CALL(scatter_rows, cp_scatter_rows(t, a, PLACES(1, 3), 4))
CALL(sigmoid, cp_sigmoid(t, a))
CALL(sign, cp_sign(t, a))
CALL(sin, cp_sin(t, a))
CALL(slice, cp_slice(t, a, INTS(0, 1), INTS(CP_END, 3), NULL))
CALL(soft_cross_entropy, cp_soft_cross_entropy(t, a, b))
CALL(softmax, cp_softmax(t, a, 1))
CALL(softplus, cp_softplus(t, a))
CALL(sqrt, cp_sqrt(t, a))
CALL(square, cp_square(t, a))
CALL(stack, cp_stack(t, (cp_tensor *[]){a, b}, 2, 0))
CALL(sub, cp_sub(t, a, b))
CALL(sum, cp_sum(t, a, CP_ALL, false))
CALL(sum_to, cp_sum_to(t, a, CP_SHAPE(3)))
CALL(swish, cp_swish(t, a))
CALL(take, cp_take(t, a, PLACES(5, 0), CP_SHAPE(2)))
CALL(tanh, cp_tanh(t, a))
CALL(topk, cp_topk(t, a, 2, NULL))
CALL(tril_exp, cp_tril_exp(t, a, 2))
CALL(tril_logdet, cp_tril_logdet(t, a, 2))
CALL(upsample_bilinear, cp_upsample_bilinear(t, a, 2, 2))
CALL(upsample_nearest, cp_upsample_nearest(t, a, 2, 2))
CALL(variance, cp_variance(t, a, CP_ALL, 0, false))
CALL(where, cp_where(t, a, a, b))

enum { NONE = -1, MATRIX, IMAGE, KERNEL, RESPONSE, VECTOR, SQUARE, SEQUENCE, TAPS, SHAPES };
static const int ranks[SHAPES] = {2, 4, 4, 4, 1, 2, 3, 3};
static const int shapes[SHAPES][4] = {{2, 3}, {1, 4, 4, 2}, {3, 3, 2, 2}, {1, 3, 3, 2}, {3}, {3, 3}, {2, 5, 2}, {3, 2, 4}};

typedef struct call {
    const char *op;
    call_fn     run;
    int         line, a, b; /* which shapes the arguments have */
} call;

#define ROW(NAME, A, B)                                                                                                            \
    { #NAME, call_##NAME, line_##NAME, A, B }
static const call calls[] = {
    ROW(abs, MATRIX, NONE),
    ROW(add, MATRIX, MATRIX),
    ROW(affine, MATRIX, NONE),
    ROW(avg_pool, IMAGE, NONE),
    ROW(avg_unpool, IMAGE, NONE),
    ROW(batch_norm, MATRIX, VECTOR),
    ROW(binary_cross_entropy, MATRIX, MATRIX),
    ROW(broadcast_to, MATRIX, NONE),
    ROW(chunk, MATRIX, NONE),
    ROW(clamp, MATRIX, NONE),
    ROW(concat, MATRIX, MATRIX),
    ROW(conv1d, SEQUENCE, TAPS),
    ROW(conv2d, IMAGE, KERNEL),
    ROW(conv2d_input_grad, IMAGE, KERNEL),
    ROW(conv2d_weight_grad, IMAGE, RESPONSE),
    ROW(conv_transpose, IMAGE, KERNEL),
    ROW(cos, MATRIX, NONE),
    ROW(cross_entropy, MATRIX, NONE),
    ROW(cross_entropy_with, MATRIX, NONE),
    ROW(cumsum, MATRIX, NONE),
    ROW(detach, MATRIX, NONE),
    ROW(div, MATRIX, MATRIX),
    ROW(dropout, MATRIX, NONE),
    ROW(embed, MATRIX, NONE),
    ROW(equal, MATRIX, MATRIX),
    ROW(erf, MATRIX, NONE),
    ROW(exp, MATRIX, NONE),
    ROW(flip, MATRIX, NONE),
    ROW(gate, MATRIX, MATRIX),
    ROW(gather_rows, MATRIX, NONE),
    ROW(gelu, MATRIX, NONE),
    ROW(gelu_tanh, MATRIX, NONE),
    ROW(global_avg_pool, IMAGE, NONE),
    ROW(greater, MATRIX, MATRIX),
    ROW(group_norm, MATRIX, VECTOR),
    ROW(huber, MATRIX, MATRIX),
    ROW(kl_divergence, MATRIX, MATRIX),
    ROW(layer_norm, MATRIX, VECTOR),
    ROW(gaussian_bias, SQUARE, NONE),
    ROW(gaussian_energy, MATRIX, SQUARE),
    ROW(gaussian_log_density, MATRIX, SQUARE),
    ROW(gaussian_log_joint, MATRIX, SQUARE),
    ROW(gaussian_penalty, SQUARE, SQUARE),
    ROW(gaussian_weight, SQUARE, NONE),
    ROW(leaky_conv2d, IMAGE, KERNEL),
    ROW(leaky_norm, MATRIX, VECTOR),
    ROW(leaky_relu, MATRIX, NONE),
    ROW(log, MATRIX, NONE),
    ROW(log1p, MATRIX, NONE),
    ROW(log_softmax, MATRIX, NONE),
    ROW(logsumexp, MATRIX, NONE),
    ROW(masked_fill, MATRIX, MATRIX),
    ROW(matmul, MATRIX, MATRIX),
    ROW(max, MATRIX, NONE),
    ROW(max_pool, IMAGE, NONE),
    ROW(maximum, MATRIX, MATRIX),
    ROW(mean, MATRIX, NONE),
    ROW(min, MATRIX, NONE),
    ROW(minimum, MATRIX, MATRIX),
    ROW(mse, MATRIX, MATRIX),
    ROW(mul, MATRIX, MATRIX),
    ROW(neg, MATRIX, NONE),
    ROW(normalize, MATRIX, NONE),
    ROW(pad, MATRIX, NONE),
    ROW(pad_reflect, MATRIX, NONE),
    ROW(permute, MATRIX, NONE),
    ROW(pick, MATRIX, NONE),
    ROW(pow, MATRIX, NONE),
    ROW(put, MATRIX, NONE),
    ROW(recompute, MATRIX, NONE),
    ROW(relu, MATRIX, NONE),
    ROW(reshape, MATRIX, NONE),
    ROW(rsqrt, MATRIX, NONE),
    ROW(scale, MATRIX, NONE),
    ROW(scatter_rows, MATRIX, NONE),
    ROW(scale_shift, MATRIX, VECTOR),
    ROW(sigmoid, MATRIX, NONE),
    ROW(sign, MATRIX, NONE),
    ROW(sin, MATRIX, NONE),
    ROW(slice, MATRIX, NONE),
    ROW(soft_cross_entropy, MATRIX, MATRIX),
    ROW(softmax, MATRIX, NONE),
    ROW(softplus, MATRIX, NONE),
    ROW(sqrt, MATRIX, NONE),
    ROW(square, MATRIX, NONE),
    ROW(stack, MATRIX, MATRIX),
    ROW(sub, MATRIX, MATRIX),
    ROW(sum, MATRIX, NONE),
    ROW(sum_to, MATRIX, NONE),
    ROW(swish, MATRIX, NONE),
    ROW(take, MATRIX, NONE),
    ROW(tanh, MATRIX, NONE),
    ROW(topk, MATRIX, NONE),
    ROW(tril_exp, VECTOR, NONE),
    ROW(tril_logdet, VECTOR, NONE),
    ROW(upsample_bilinear, IMAGE, NONE),
    ROW(upsample_nearest, IMAGE, NONE),
    ROW(variance, MATRIX, NONE),
    ROW(where, MATRIX, MATRIX),
};
enum { CALLS = sizeof calls / sizeof *calls };

static cp_tensor *argument(cp_tape *t, int shape) {
    return shape == NONE ? NULL : filled(t, cp_shape_of(ranks[shape], shapes[shape]));
}

/* Messages use the name that the user knows: cp_scale is another name for affine. */
static const char *named(const call *c) { return strcmp(c->op, "scale") == 0 ? "affine" : c->op; }

static void every_op_of_the_library_is_in_the_table(void) {
    int                       count;
    const cp_op *const *const list = cp_op_list(&count);
    for (int i = 0; i < count; i++) {
        bool found = strcmp(list[i]->name, "accumulate") == 0; /* used only by the sweep, not callable */
        for (int k = 0; k < CALLS; k++) found |= strcmp(calls[k].op, list[i]->name) == 0;
        TEST_ASSERT_TRUE_MESSAGE(found, list[i]->name);
    }
}

static void every_call_in_the_table_is_valid(void) {
    for (int k = 0; k < CALLS; k++) {
        cp_tensor *out = calls[k].run(tape, argument(tape, calls[k].a), argument(tape, calls[k].b));
        TEST_ASSERT_NOT_NULL_MESSAGE(out, calls[k].op);
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, errors, last_error);
    }
}

static void every_op_refuses_a_null_tape(void) {
    for (int k = 0; k < CALLS; k++) {
        TEST_ASSERT_NULL(calls[k].run(NULL, argument(tape, calls[k].a), argument(tape, calls[k].b)));
        expect_error_at(named(&calls[k]), "the tape is NULL", __FILE__, calls[k].line);
    }
}

/* gamma and beta may be NULL. */
static bool second_is_optional(const call *c) { return c->b == VECTOR && strcmp(c->op, "scale_shift") != 0; }

static void every_op_refuses_a_null_argument(void) {
    for (int k = 0; k < CALLS; k++) {
        errors_forgive(tape);
        TEST_ASSERT_NULL(calls[k].run(tape, NULL, argument(tape, calls[k].b)));
        expect_error_at(named(&calls[k]), "argument 1 is NULL", __FILE__, calls[k].line);
        if (calls[k].b == NONE || second_is_optional(&calls[k])) continue;
        errors_forgive(tape);
        TEST_ASSERT_NULL(calls[k].run(tape, argument(tape, calls[k].a), NULL));
        expect_error_at(named(&calls[k]), "is NULL", __FILE__, calls[k].line);
    }
}

static void every_op_refuses_a_tensor_of_another_tape(void) {
    for (int k = 0; k < CALLS; k++) {
        TEST_ASSERT_NULL(calls[k].run(tape, argument(other, calls[k].a), argument(tape, calls[k].b)));
        expect_error_at(named(&calls[k]), "belongs to another tape", __FILE__, calls[k].line);
        if (calls[k].b == NONE) continue;
        TEST_ASSERT_NULL(calls[k].run(tape, argument(tape, calls[k].a), argument(other, calls[k].b)));
        expect_error_at(named(&calls[k]), "belongs to another tape", __FILE__, calls[k].line);
    }
}

/* ---- leaves, persistent tensors, the tape ---- */

static void bad_leaves_are_refused(void) {
    cp_real  one = 1, *no_data = NULL;
    cp_tape *none = NULL;
    REFUSED("constant", "the tape is NULL", cp_constant(none, &one, CP_SCALAR));
    REFUSED("variable", "the tape is NULL", cp_variable(none, &one, CP_SCALAR));
    REFUSED("full", "the tape is NULL", cp_full(none, 1, CP_SCALAR));
    REFUSED("full", "the tape is NULL", cp_scalar(none, 1));
    REFUSED("constant", "data is NULL", cp_constant(tape, no_data, CP_SHAPE(3)));
    REFUSED("variable", "data is NULL", cp_variable(tape, no_data, CP_SHAPE(3)));
    REFUSED("constant", "the shape (6 axes) is not possible", cp_constant(tape, &one, cp_shape_of(6, INTS(1, 1, 1, 1, 1, 1))));
    REFUSED("constant", "the shape (-1 axes) is not possible", cp_constant(tape, &one, cp_shape_of(-1, INTS(1))));
    REFUSED("variable", "the shape (2, -3) is not possible", cp_variable(tape, &one, CP_SHAPE(2, -3)));
    REFUSED("variable", "the shape NULL is not possible", cp_variable(tape, &one, cp_shape_of(2, NULL)));
    REFUSED("full", "is not possible", cp_full(tape, 1, CP_SHAPE(INT_MAX, INT_MAX, INT_MAX)));
    REFUSED("full", "is not possible", cp_full(tape, 1, CP_SHAPE(INT_MAX, INT_MAX, INT_MAX, 0)));
    REFUSED("full", "is not possible", cp_full(tape, 1, CP_SHAPE(0, INT_MAX, INT_MAX, INT_MAX)));
    REFUSED("tensor_new", "the shape (2, -3) is not possible", cp_tensor_new(CP_SHAPE(2, -3)));
    REFUSED("tensor_new", "the shape NULL is not possible", cp_tensor_new(cp_shape_of(1, NULL)));
    REFUSED("parameter_new", "data is NULL", cp_parameter_new(no_data, CP_SHAPE(3)));
    REFUSED("parameter_new", "the shape (9 axes) is not possible", cp_parameter_new(&one, cp_shape_of(9, INTS(3))));
}

/* On 32-bit machines, an axis that is possible in a shape without elements. */
enum { WORD_64 = sizeof(size_t) >= 8, LONG_AXIS = WORD_64 ? INT_MAX : 1 << 20 };

/* Valid shapes that are too large for any machine's memory. */
static void too_large_a_shape_is_refused_with_the_shape_and_the_line(void) {
    if (!WORD_64) TEST_IGNORE_MESSAGE("no shape of a 32-bit machine is possible and yet surely too large");
    cp_tensor *column = TENSOR(3, 1);
    const int  far[] = {8388608, 9999999, 3, 9};
    REFUSED_HERE("full", "memory for (1000000, 1000000, 1000)", cp_full(tape, 1, CP_SHAPE(1000000, 1000000, 1000)));
    REFUSED_HERE("broadcast_to", "memory for (8388608, 9999999, 3, 9)", cp_broadcast_to(tape, column, cp_shape_of(4, far)));
    TEST_ASSERT_NOT_NULL(cp_exp(tape, column));
}

static void bad_requests_for_gradients_are_refused(void) {
    cp_tensor *x = TENSOR(2, 3), *foreign = filled(other, CP_SHAPE(1)), *none = NULL, *out[2] = {x, x};
    cp_tensor *constant = cp_scalar(tape, 1), *one = TENSOR(1), **no_list = NULL;
    cp_tape   *no_tape = NULL;
    REFUSED("grad", "shape (2, 3); only a single value", cp_grad(tape, x, &x, 1, out));
    TEST_ASSERT_NULL(out[0]);
    REFUSED("grad", "only a single value", cp_grad_recorded(tape, x, &x, 1, out));
    REFUSED("grad", "shape (0, 3); only a single value", cp_grad(tape, TENSOR(0, 3), &x, 1, out));
    REFUSED("grad", "argument 1 is NULL", cp_grad(tape, none, &x, 1, out));
    REFUSED("grad", "wrt[0] is NULL", cp_grad(tape, one, &none, 1, out));
    REFUSED("grad", "wrt[1], of shape (), is a constant", cp_grad(tape, one, ((cp_tensor *[]){x, constant}), 2, out));
    REFUSED("grad", "the tape is NULL", cp_grad(no_tape, one, &x, 1, out));
    REFUSED("grad", "wrt or out is NULL", cp_grad(tape, one, no_list, 1, out));
    REFUSED("grad", "wrt or out is NULL", cp_grad(tape, one, &x, 1, no_list));
    REFUSED("grad", "n = -1 is negative", cp_grad(tape, one, &x, -1, out));
    REFUSED("grad", "belongs to another tape", cp_grad(tape, foreign, &x, 1, out));
    REFUSED("grad", "wrt[0], of shape (1), belongs to another tape", cp_grad(tape, one, &foreign, 1, out));
    REFUSED("grad", "loss was not recorded", cp_grad(tape, constant, &x, 1, out));
}

static void functions_of_the_tape_refuse_a_null_tape_or_treat_it_as_empty(void) {
    cp_tape_reset(NULL);
    cp_tape_free(NULL);
    TEST_ASSERT_EQUAL_INT(0, cp_tape_length(NULL));
    TEST_ASSERT_EQUAL_UINT64(0, cp_tape_bytes(NULL) + cp_tape_peak(NULL));
    TEST_ASSERT_EQUAL_INT(0, errors);
    TEST_ASSERT_FALSE(cp_tape_pause(NULL, false));
    TEST_ASSERT_EQUAL_STRING("tape_pause", last_error_op);
    TEST_ASSERT_FALSE(cp_tape_freeze(NULL, true));
    TEST_ASSERT_EQUAL_STRING("tape_freeze", last_error_op);
    cp_tape_print(NULL, stdout);
    TEST_ASSERT_EQUAL_STRING("tape_print", last_error_op);
    cp_tape_dot((cp_tape *)NULL, stdout, NULL);
    TEST_ASSERT_EQUAL_STRING("tape_dot", last_error_op);
    TEST_ASSERT_EQUAL_INT(4, errors);
    cp_tape_print(tape, NULL);
    cp_tape_dot(tape, NULL, NULL);
    TEST_ASSERT_EQUAL_INT(6, errors);
}

/* ---- shapes that do not fit ---- */

static void shapes_that_do_not_broadcast_are_refused(void) {
    cp_tensor *a = TENSOR(2, 3), *b = TENSOR(4), *c = TENSOR(1);
    REFUSED("add", "shapes (2, 3) and (4) do not broadcast", cp_add(tape, a, b));
    REFUSED("sub", "shapes (2, 3) and (4) do not broadcast", cp_sub(tape, a, b));
    REFUSED("mul", "shapes (2, 3) and (4) do not broadcast", cp_mul(tape, a, b));
    REFUSED("div", "shapes (2, 3) and (4) do not broadcast", cp_div(tape, a, b));
    REFUSED("minimum", "shapes (2, 3) and (4) do not broadcast", cp_minimum(tape, a, b));
    REFUSED("maximum", "shapes (2, 3) and (4) do not broadcast", cp_maximum(tape, a, b));
    REFUSED("greater", "shapes (2, 3) and (4) do not broadcast", cp_greater(tape, a, b));
    REFUSED("equal", "shapes (2, 3) and (4) do not broadcast", cp_equal(tape, a, b));
    REFUSED("where", "shapes (1), (2, 3) and (4) do not broadcast", cp_where(tape, c, a, b));
    REFUSED("where", "shapes (4), (2, 3) and (1) do not broadcast", cp_where(tape, b, a, c));
    REFUSED("gate", "shapes (2, 3) and (4) differ", cp_gate(tape, a, b, 0));
    REFUSED("mse", "shapes (2, 3) and (1) differ", cp_mse(tape, a, c));
    REFUSED("masked_fill", "the mask (4) does not broadcast to (2, 3)", cp_masked_fill(tape, a, b, 1));
    REFUSED("masked_fill", "the mask (2, 3) does not broadcast to (1)", cp_masked_fill(tape, c, a, 1));
    REFUSED("broadcast_to", "(2, 3) does not broadcast to (3, 3)", cp_broadcast_to(tape, a, CP_SHAPE(3, 3)));
    REFUSED("broadcast_to", "(2, 3) does not broadcast to (3)", cp_broadcast_to(tape, a, CP_SHAPE(3)));
    REFUSED("broadcast_to", "(2, 3) does not broadcast to NULL", cp_broadcast_to(tape, a, cp_shape_of(2, NULL)));
    REFUSED("broadcast_to", "(1) does not broadcast to (-1)", cp_broadcast_to(tape, c, CP_SHAPE(-1)));
    REFUSED("broadcast_to", "(1) does not broadcast to (7 axes)", cp_broadcast_to(tape, c, cp_shape_of(7, INTS(1))));
    REFUSED("sum_to", "(2, 3) is not what (2) broadcasts to", cp_sum_to(tape, a, CP_SHAPE(2)));
    REFUSED("sum_to", "NULL", cp_sum_to(tape, a, cp_shape_of(1, NULL)));
    REFUSED("sum_to", "(1, 1, 1)", cp_sum_to(tape, a, CP_SHAPE(1, 1, 1)));
    cp_tensor *wide = cp_full(tape, 1, CP_SHAPE(1, 0, LONG_AXIS)), *high = cp_full(tape, 1, CP_SHAPE(LONG_AXIS, 0, 1));
    REFUSED("mul", "is not possible", cp_mul(tape, wide, high));
}

static void matrices_that_do_not_fit_are_refused(void) {
    cp_tensor *a = TENSOR(3, 4), *b = TENSOR(5, 2), *v = TENSOR(4);
    REFUSED("matmul", "cannot multiply (3, 4) by (5, 2): inner sizes 4 and 5 differ", cp_matmul(tape, a, b, 0));
    REFUSED("matmul", "(3, 4)^T by (5, 2)^T: inner sizes 3", cp_matmul(tape, a, b, CP_TRANSPOSE_A | CP_TRANSPOSE_B));
    REFUSED("matmul", "(3, 4) by (4): both need at least two axes", cp_matmul(tape, a, v, 0));
    REFUSED("matmul", "both need at least two axes", cp_matmul(tape, v, a, 0));
    REFUSED("matmul", "do not broadcast", cp_matmul(tape, TENSOR(2, 3, 4), TENSOR(3, 4, 5), 0));
    cp_tensor *high = cp_full(tape, 1, CP_SHAPE(LONG_AXIS, 0));
    REFUSED("matmul", "is not possible", cp_matmul(tape, high, high, CP_TRANSPOSE_B));
    REFUSED("tril_exp", "(4) does not hold", cp_tril_exp(tape, v, 2));
    REFUSED("tril_exp", "D = 0", cp_tril_exp(tape, v, 0));
    REFUSED("tril_exp", "D = -3", cp_tril_exp(tape, TENSOR(3), -3));
    REFUSED("tril_exp", "D = 2147483647", cp_tril_exp(tape, v, INT_MAX));
    REFUSED("tril_logdet", "(3, 4) does not hold", cp_tril_logdet(tape, a, 3));
}

static void axes_that_do_not_exist_are_refused(void) {
    cp_tensor *a = TENSOR(2, 3), *scalar = cp_scalar(tape, 1);
    REFUSED("sum", "axis 7 does not exist in shape (2, 3)", cp_sum(tape, a, CP_AXES(7), false));
    REFUSED("sum", "axis -9 does not exist in shape (2, 3)", cp_sum(tape, a, CP_AXES(0, -9), true));
    REFUSED("sum", "axis 1 of shape (2, 3) appears twice", cp_sum(tape, a, CP_AXES(1, -1), true));
    REFUSED("sum", "6 axes were given", cp_sum(tape, a, ((cp_axes){.count = 6}), true));
    REFUSED("sum", "-1 axes were given", cp_sum(tape, a, ((cp_axes){.count = -1}), true));
    REFUSED("mean", "axis 7 does not exist", cp_mean(tape, a, CP_AXES(7), false));
    REFUSED("max", "axis 7 does not exist", cp_max(tape, a, CP_AXES(7), false));
    REFUSED("logsumexp", "axis 2 does not exist", cp_logsumexp(tape, a, CP_AXES(2), false));
    REFUSED("logsumexp", "appears twice", cp_logsumexp(tape, a, CP_AXES(0, 0), false));
    REFUSED("softmax", "axis 7 does not exist", cp_softmax(tape, a, 7));
    REFUSED("softmax", "axis 0 does not exist in shape ()", cp_softmax(tape, scalar, 0));
    REFUSED("log_softmax", "axis -2147483648 does not exist", cp_log_softmax(tape, a, INT_MIN));
    REFUSED("normalize", "axis 7 does not exist", cp_normalize(tape, a, CP_AXES(7), 1));
    REFUSED("min", "axis 7 does not exist", cp_min(tape, a, CP_AXES(7), false));
    REFUSED("min", "(2, 0) has no values along axis 1 (was nothing selected?)", cp_min(tape, TENSOR(2, 0), CP_AXES(1), false));
    REFUSED("variance", "axis 7 does not exist", cp_variance(tape, a, CP_AXES(7), 0, false));
    REFUSED("variance", "2 values of (2, 3) with a correction of 2", cp_variance(tape, a, CP_AXES(0), 2, false));
    REFUSED("variance", "a correction of -1", cp_variance(tape, a, CP_ALL, -1, false));
    REFUSED("variance", "shape (0) has no values along axis 0", cp_variance(tape, TENSOR(0), CP_ALL, 0, false));
    REFUSED("cumsum", "axis 7 does not exist", cp_cumsum(tape, a, 7));
    REFUSED("cumsum", "axis 0 does not exist in shape ()", cp_cumsum(tape, scalar, 0));
    REFUSED("flip", "axis 7 does not exist", cp_flip(tape, a, CP_AXES(7)));
    REFUSED("flip", "appears twice", cp_flip(tape, a, CP_AXES(1, -1)));
    REFUSED("stack", "axis 3 is not possible for tensors of shape (2, 3)", cp_stack(tape, &a, 1, 3));
    REFUSED("stack", "axis -4 is not possible", cp_stack(tape, &a, 1, -4));
    REFUSED("chunk", "axis 7 does not exist", cp_chunk(tape, a, 1, 7, split_parts));
    REFUSED("chunk", "axis 1 of (2, 3) has no 2 equal parts", cp_chunk(tape, a, 2, 1, split_parts));
    REFUSED("chunk", "has no 0 equal parts", cp_chunk(tape, a, 0, 1, split_parts));
    REFUSED("chunk", "out is NULL", cp_chunk(tape, a, 3, 1, NULL));
    REFUSED("topk", "the last axis of (2, 3) has no 4 largest values", cp_topk(tape, a, 4, NULL));
    REFUSED("topk", "no 0 largest values", cp_topk(tape, a, 0, NULL));
    REFUSED("topk", "the last axis of ()", cp_topk(tape, scalar, 1, NULL));
    REFUSED("argmax", "the last axis of (2, 0)", cp_argmax(tape, TENSOR(2, 0)).at);
    REFUSED("argmax", "argument 1 is NULL", cp_argmax(tape, NULL).at);
    REFUSED("one_hot", "label 3 at row 1 is outside 0..2", cp_one_hot(tape, LABELS(0, 3), 3));
    REFUSED("one_hot", "2 labels and 0 classes", cp_one_hot(tape, LABELS(0, 0), 0));
    REFUSED("one_hot", "the labels are NULL", cp_one_hot(tape, ((cp_labels){NULL, 1}), 2));
    REFUSED("concat", "axis 7 does not exist", cp_concat(tape, &a, 1, 7));
    REFUSED("concat", "axis 0 does not exist in shape ()", cp_concat(tape, &scalar, 1, 0));
    REFUSED("max", "(2, 0) has no values along axis 1 (was nothing selected?)", cp_max(tape, TENSOR(2, 0), CP_AXES(1), false));
}

static void impossible_shapes_are_refused(void) {
    cp_tensor *a = TENSOR(2, 3);
    REFUSED("reshape", "(4, 2) does not hold the values of (2, 3)", cp_reshape(tape, a, CP_SHAPE(4, 2)));
    REFUSED("reshape", "(-1, 4) does not hold", cp_reshape(tape, a, CP_SHAPE(-1, 4)));
    REFUSED("reshape", "(-1, -1) does not hold", cp_reshape(tape, a, CP_SHAPE(-1, -1)));
    REFUSED("reshape", "(-2, -3) does not hold", cp_reshape(tape, a, CP_SHAPE(-2, -3)));
    REFUSED("reshape", "(-1, 0) does not hold", cp_reshape(tape, a, CP_SHAPE(-1, 0)));
    REFUSED("reshape", "does not hold", cp_reshape(tape, a, CP_SHAPE(1 << 16, 1 << 16, 1 << 16, 1 << 16, 6)));
    REFUSED("reshape", "(6 axes)", cp_reshape(tape, a, cp_shape_of(6, INTS(1, 1, 1, 1, 2, 3))));
    REFUSED("reshape", "(-1 axes)", cp_reshape(tape, a, cp_shape_of(-1, INTS(6))));
    REFUSED("reshape", "NULL", cp_reshape(tape, a, cp_shape_of(2, NULL)));
    REFUSED("permute", "(0, 0) is not an order of the axes of (2, 3)", cp_permute(tape, a, INTS(0, 0)));
    REFUSED("permute", "(0, 2) is not an order", cp_permute(tape, a, INTS(0, 2)));
    REFUSED("permute", "(-1, 0) is not an order", cp_permute(tape, a, INTS(-1, 0)));
    REFUSED("permute", "is NULL", cp_permute(tape, a, NULL));
}

static void regions_that_do_not_fit_are_refused(void) {
    cp_tensor *a = TENSOR(2, 3);
    REFUSED("slice", "0:3:1 is not within axis 0 of shape (2, 3)", cp_slice(tape, a, INTS(0, 0), INTS(3, 3), NULL));
    REFUSED("slice", "-1:2:1 is not within axis 0", cp_slice(tape, a, INTS(-1, 0), INTS(2, 3), NULL));
    REFUSED("slice", "2:1:1 is not within axis 1", cp_slice(tape, a, INTS(0, 2), INTS(2, 1), NULL));
    REFUSED("slice", "3:2:1 is not within axis 0", cp_slice(tape, a, INTS(3, 0), INTS(CP_END, CP_END), NULL));
    REFUSED("slice", "0:2:0 is not within axis 0", cp_slice(tape, a, INTS(0, 0), INTS(2, 3), INTS(0, 1)));
    REFUSED("slice", "is NULL", cp_slice(tape, a, NULL, INTS(2, 3), NULL));
    REFUSED("slice", "is NULL", cp_slice(tape, a, INTS(0, 0), NULL, NULL));
    REFUSED("slice", "2:-1:-1 is not within axis 0", cp_slice(tape, a, INTS(2, 0), INTS(CP_END, 3), INTS(-1, 1)));
    REFUSED("slice", "1:-2:-1 is not within axis 0", cp_slice(tape, a, INTS(1, 0), INTS(-2, 3), INTS(-1, 1)));
    REFUSED("slice", "0:1:-1 is not within axis 0", cp_slice(tape, a, INTS(0, 0), INTS(1, 3), INTS(-1, 1)));
    REFUSED("slice", "-1:-1:-1 is not within axis 0", cp_slice(tape, a, INTS(-1, 0), INTS(CP_END, 3), INTS(-1, 1)));
    REFUSED("embed", "step -1, does not fit", cp_embed(tape, a, INTS(4, 3), INTS(0, 0), INTS(-1, 1), 0));
    REFUSED("embed", "at 4, step -1", cp_embed(tape, a, INTS(4, 3), INTS(4, 0), INTS(-1, 1), 0));
    REFUSED("embed", "step -2147483648", cp_embed(tape, a, INTS(4, 3), INTS(3, 0), INTS(INT_MIN, 1), 0));
    REFUSED("embed", "at -1, step -1", cp_embed(tape, TENSOR(0, 3), INTS(4, 3), INTS(-1, 0), INTS(-1, 1), 0));
    REFUSED("pad_reflect", "padding 2 and 0 of axis 0 of (2, 3)", cp_pad_reflect(tape, a, INTS(2, 0), INTS(0, 0)));
    REFUSED("pad_reflect", "padding 0 and -1 of axis 1", cp_pad_reflect(tape, a, INTS(0, 0), INTS(0, -1)));
    REFUSED("pad_reflect", "is NULL", cp_pad_reflect(tape, a, NULL, INTS(0, 0)));
    REFUSED("pad_reflect", "is NULL", cp_pad_reflect(tape, a, INTS(0, 0), NULL));
    REFUSED("embed", "(2, 3) at 1, step 1, does not fit into axis", cp_embed(tape, a, INTS(2, 4), INTS(1, 0), NULL, 0));
    REFUSED("embed", "step 2147483647, does not fit", cp_embed(tape, a, INTS(2, 3), INTS(0, 0), INTS(INT_MAX, 1), 0));
    REFUSED("embed", "step 0, does not fit", cp_embed(tape, a, INTS(2, 3), INTS(0, 0), INTS(1, 0), 0));
    REFUSED("embed", "at -1", cp_embed(tape, a, INTS(4, 3), INTS(-1, 0), NULL, 0));
    REFUSED("embed", "(2, -3) is not possible", cp_embed(tape, a, INTS(2, -3), INTS(0, 0), NULL, 0));
    REFUSED("embed", "is NULL", cp_embed(tape, a, NULL, INTS(0, 0), NULL, 0));
    REFUSED("embed", "is NULL", cp_embed(tape, a, INTS(2, 3), NULL, NULL, 0));
    REFUSED("pad", "padding -1 and 0 of axis 0 of (2, 3)", cp_pad(tape, a, INTS(-1, 0), INTS(0, 0), 0));
    REFUSED("pad", "too large", cp_pad(tape, a, INTS(INT_MAX, 0), INTS(INT_MAX, 0), 0));
    REFUSED("pad", "is not possible", cp_pad(tape, TENSOR(1, 1, 1), INTS(1 << 30, 1 << 30, 1 << 30), INTS(0, 0, 0), 0));
    REFUSED("pad", "is NULL", cp_pad(tape, a, NULL, INTS(0, 0), 0));
    REFUSED("pad", "is NULL", cp_pad(tape, a, INTS(0, 0), NULL, 0));
}

static void parts_that_do_not_join_are_refused(void) {
    cp_tensor *parts[] = {TENSOR(2, 3), TENSOR(3, 2), TENSOR(2)}, **none = NULL;
    REFUSED("concat", "no tensors to join", cp_concat(tape, parts, 0, 0));
    REFUSED("concat", "no tensors to join", cp_concat(tape, parts, -1, 0));
    REFUSED("concat", "no tensors to join", cp_concat(tape, none, 2, 0));
    REFUSED("concat", "(2, 3) and (3, 2) do not join along axis 0", cp_concat(tape, parts, 2, 0));
    REFUSED("concat", "(3, 2) and (2) do not join", cp_concat(tape, parts + 1, 2, 0));
    REFUSED("stack", "no tensors to join", cp_stack(tape, parts, 0, 0));
    REFUSED("stack", "no tensors to join", cp_stack(tape, none, 2, 0));
    REFUSED("stack", "shapes (2, 3) and (3, 2) differ", cp_stack(tape, parts, 2, 0));
    cp_tensor *five = TENSOR(1, 1, 1, 1, 1);
    REFUSED("stack", "at most 5 axes", cp_stack(tape, &five, 1, 0));
    if (!WORD_64) return; /* no two axes of possible shapes are too long together */
    cp_tensor *long_one = cp_full(tape, 0, CP_SHAPE(INT_MAX, 0)), *twice[] = {long_one, long_one};
    REFUSED("concat", "do not join", cp_concat(tape, twice, 2, 0));
}

static void indices_out_of_range_are_refused(void) {
    cp_tensor *a = TENSOR(2, 3), *scalar = cp_scalar(tape, 1);
    REFUSED("gather_rows", "index 2 at position 1 is outside 0..1", cp_gather_rows(tape, a, PLACES(0, 2)));
    REFUSED("gather_rows", "index -1 at position 0", cp_gather_rows(tape, a, PLACES(-1)));
    REFUSED("gather_rows", "NULL", cp_gather_rows(tape, a, ((cp_indices){NULL, 2})));
    REFUSED("gather_rows", "count -2", cp_gather_rows(tape, a, ((cp_indices){INTS(0), -2})));
    REFUSED("gather_rows", "a scalar has no rows", cp_gather_rows(tape, scalar, PLACES(0)));
    REFUSED("scatter_rows", "index 4 at position 1 is outside 0..3", cp_scatter_rows(tape, a, PLACES(0, 4), 4));
    REFUSED("scatter_rows", "3 indices", cp_scatter_rows(tape, a, PLACES(0, 1, 2), 4));
    REFUSED("scatter_rows", "(0, 3)", cp_scatter_rows(tape, TENSOR(0, 3), ((cp_indices){NULL, 0}), -1));
    REFUSED("scatter_rows", "NULL", cp_scatter_rows(tape, a, ((cp_indices){NULL, 2}), 4));
    REFUSED("scatter_rows", "a scalar has no rows", cp_scatter_rows(tape, scalar, PLACES(0), 1));
    REFUSED("take", "index 6 at position 0 is outside 0..5", cp_take(tape, a, PLACES(6), CP_SHAPE(1)));
    REFUSED("take", "2 indices for 1 values", cp_take(tape, a, PLACES(0, 1), CP_SHAPE(1)));
    REFUSED("take", "-1 indices", cp_take(tape, a, ((cp_indices){NULL, -1}), CP_SHAPE(1)));
    REFUSED("take", "(-1) is not possible", cp_take(tape, a, PLACES(0), CP_SHAPE(-1)));
    REFUSED("take", "NULL", cp_take(tape, a, PLACES(0), cp_shape_of(1, NULL)));
    REFUSED("take", "outside 0..-1", cp_take(tape, TENSOR(0), PLACES(0), CP_SHAPE(1)));
    REFUSED("put", "index 5 at position 5 is outside 0..4", cp_put(tape, a, PLACES(0, 1, 2, 3, 4, 5), CP_SHAPE(5)));
    REFUSED("put", "1 indices for 6 values", cp_put(tape, a, PLACES(0), CP_SHAPE(5)));
    REFUSED("put", "(5, -1) is not possible", cp_put(tape, a, PLACES(0), CP_SHAPE(5, -1)));
    REFUSED("put", "NULL", cp_put(tape, a, PLACES(0), cp_shape_of(2, NULL)));
}

static void labels_that_do_not_fit_are_refused(void) {
    cp_tensor *logits = TENSOR(2, 3);
    REFUSED("cross_entropy", "label 3 at row 1 is outside 0..2", cp_cross_entropy(tape, logits, LABELS(0, 3)));
    REFUSED("cross_entropy", "the classes of (2, 3)", cp_cross_entropy(tape, logits, LABELS(0, 3)));
    REFUSED("cross_entropy", "label -1 at row 0 is outside 0..2", cp_cross_entropy(tape, logits, LABELS(-1, 0)));
    REFUSED("cross_entropy", "3 labels for the rows of (2, 3)", cp_cross_entropy(tape, logits, LABELS(0, 1, 2)));
    REFUSED("cross_entropy", "for the rows of (2, 3) are NULL", cp_cross_entropy(tape, logits, ((cp_labels){NULL, 2})));
    REFUSED("cross_entropy", "(6)", cp_cross_entropy(tape, TENSOR(6), LABELS(0)));
    REFUSED("cross_entropy", "(0, 3)", cp_cross_entropy(tape, TENSOR(0, 3), ((cp_labels){INTS(0), 0})));
    REFUSED("cross_entropy", "(2, 0)", cp_cross_entropy(tape, TENSOR(2, 0), LABELS(0, 0)));
}

/* ---- images ---- */

static void convolutions_that_do_not_fit_are_refused(void) {
    cp_tensor *x = TENSOR(1, 4, 4, 2), *w = TENSOR(3, 3, 2, 4), *g = TENSOR(1, 2, 2, 4), *bias = TENSOR(3);
    REFUSED("conv2d", "x has shape (2, 3); it needs 4 axes", cp_conv2d(tape, TENSOR(2, 3), w, NULL, plain));
    REFUSED("conv2d", "w has shape (3); it needs 4 axes", cp_conv2d(tape, x, bias, NULL, plain));
    const char *too_large = "kernel (5, 5, 2, 1) does not fit into the padded image (1, 4, 4, 2)";
    REFUSED("conv2d", too_large, cp_conv2d(tape, x, TENSOR(5, 5, 2, 1), NULL, plain));
    REFUSED("conv2d", "does not fit", cp_conv2d(tape, x, TENSOR(0, 3, 2, 4), NULL, plain));
    REFUSED("conv2d", "image (1, 4, 4, 2) and kernel (3, 3, 3", cp_conv2d(tape, x, TENSOR(3, 3, 3, 1), NULL, plain));
    REFUSED("conv2d", "with 3 groups", cp_conv2d(tape, x, w, NULL, ((cp_conv2d_config){.groups = 3})));
    REFUSED("conv2d", "not be negative", cp_conv2d(tape, x, w, NULL, ((cp_conv2d_config){.groups = -1})));
    REFUSED("conv2d", "not be negative", cp_conv2d(tape, x, w, NULL, ((cp_conv2d_config){.pad_left = -1})));
    REFUSED("conv2d", "not be negative", cp_conv2d(tape, x, w, NULL, ((cp_conv2d_config){.stride_w = -2})));
    REFUSED("conv2d", "not be negative", cp_conv2d(tape, x, w, NULL, ((cp_conv2d_config){.dilation_h = -2})));
    REFUSED("conv2d", "does not fit", cp_conv2d(tape, x, w, NULL, ((cp_conv2d_config){CP_DILATION(INT_MAX)})));
    REFUSED("conv2d", "does not fit", cp_conv2d(tape, x, w, NULL, ((cp_conv2d_config){CP_PAD(INT_MAX)})));
    REFUSED("conv2d", "is not possible", cp_conv2d(tape, x, w, NULL, ((cp_conv2d_config){CP_PAD(1 << 29)})));
    REFUSED("conv2d", "bias has shape (3); the kernel gives 4 channels", cp_conv2d(tape, x, w, bias, plain));
    const char *misfit = "g has shape (1, 2, 2, 4); the convolution gives (1, 3, 3, 4)";
    REFUSED("conv2d_input_grad", misfit, cp_conv2d_input_grad(tape, g, w, INTS(1, 5, 5, 2), plain));
    REFUSED("conv2d_input_grad", "(1, -4, 4, 2)", cp_conv2d_input_grad(tape, g, w, INTS(1, -4, 4, 2), plain));
    REFUSED("conv2d_input_grad", "NULL", cp_conv2d_input_grad(tape, g, w, NULL, plain));
    REFUSED("conv2d_input_grad", "g has shape (3)", cp_conv2d_input_grad(tape, bias, w, INTS(1, 4, 4, 2), plain));
    REFUSED("conv2d_weight_grad", misfit, cp_conv2d_weight_grad(tape, x, g, INTS(2, 2, 2, 4), plain));
    REFUSED("conv2d_weight_grad", "is not possible", cp_conv2d_weight_grad(tape, x, g, INTS(3, 3, 2, -4), plain));
    REFUSED("leaky_conv2d", too_large, cp_leaky_conv2d(tape, x, TENSOR(5, 5, 2, 1), (cp_conv_extras){0}, plain));
    REFUSED("leaky_conv2d", "bias has shape (3)", cp_leaky_conv2d(tape, x, w, (cp_conv_extras){.bias = bias}, plain));
    REFUSED("leaky_conv2d", "residual has shape (3)", cp_leaky_conv2d(tape, x, w, (cp_conv_extras){.residual = bias}, plain));
    cp_conv2d_config three = {.groups = 3};
    REFUSED("leaky_conv2d", "with 3 groups", cp_leaky_conv2d(tape, x, w, (cp_conv_extras){.residual = g}, three));
    REFUSED("leaky_conv2d", "scale was given without a shift", cp_leaky_conv2d(tape, x, w, (cp_conv_extras){.scale = bias}, plain));
    REFUSED("leaky_conv2d", "shift was given without a scale", cp_leaky_conv2d(tape, x, w, (cp_conv_extras){.shift = bias}, plain));
    cp_conv_extras too_many = {.scale = bias, .shift = bias};
    REFUSED("leaky_conv2d", "scale has shape (3); x (1, 4, 4, 2) has 2 ch", cp_leaky_conv2d(tape, x, w, too_many, plain));
    REFUSED("conv2d_weight_grad", "NULL", cp_conv2d_weight_grad(tape, x, g, NULL, plain));
    cp_tensor *steps = TENSOR(1, 4, 2), *taps = TENSOR(3, 2, 4);
    REFUSED("conv1d", "x has shape (1, 4, 4, 2); it needs 3 axes", cp_conv1d(tape, x, taps, NULL, plain));
    REFUSED("conv1d", "w has shape (3, 3, 2, 4); it needs 3 axes", cp_conv1d(tape, steps, w, NULL, plain));
    REFUSED("conv1d", "bias has shape (3); the kernel gives 4", cp_conv1d(tape, steps, taps, bias, plain));
    REFUSED("conv1d", "does not fit", cp_conv1d(tape, TENSOR(1, 2, 2), taps, NULL, plain));
    REFUSED("conv_transpose", "x has shape (3); it needs 4 axes", cp_conv_transpose(tape, bias, w, NULL, plain, 0));
    REFUSED("conv_transpose", "bias has shape (3); the kernel gives 2", cp_conv_transpose(tape, g, w, bias, plain, 0));
    REFUSED("conv_transpose", "x has shape (1, 4, 4, 2); the convolution gives", cp_conv_transpose(tape, x, w, NULL, plain, 0));
    REFUSED("conv_transpose", "output_pad is 1", cp_conv_transpose(tape, g, w, NULL, plain, 1));
    REFUSED("conv_transpose", "output_pad is -1", cp_conv_transpose(tape, g, w, NULL, plain, -1));
    cp_conv2d_config padded = {CP_PAD(3)};
    REFUSED("conv_transpose", "no image of a possible size", cp_conv_transpose(tape, g, w, NULL, padded, 0));
    REFUSED("conv_transpose", "not be negative", cp_conv_transpose(tape, g, w, NULL, ((cp_conv2d_config){.stride_w = -2}), 0));
    REFUSED("upsample_nearest", "x has shape (3); it needs 4 axes", cp_upsample_nearest(tape, bias, 2, 2));
    REFUSED("upsample_nearest", "the factors 0 and 2", cp_upsample_nearest(tape, x, 0, 2));
    REFUSED("upsample_nearest", "is too large", cp_upsample_nearest(tape, x, 1 << 20, 1 << 20));
    REFUSED("upsample_nearest", "is too large", cp_upsample_nearest(tape, TENSOR(0, 2, 2, 1), INT32_MAX, 1));
    REFUSED("upsample_bilinear", "is too large", cp_upsample_bilinear(tape, TENSOR(1, 1 << 16, 1 << 16, 0), 1, 1));
    REFUSED("upsample_bilinear", "x has shape (3); it needs 4 axes", cp_upsample_bilinear(tape, bias, 2, 2));
    REFUSED("upsample_bilinear", "the factors 2 and -1", cp_upsample_bilinear(tape, x, 2, -1));
}

#define POOL(...) ((cp_pool2d_config){__VA_ARGS__})

static void pooling_that_does_not_fit_is_refused(void) {
    cp_tensor *x = TENSOR(1, 4, 4, 2);
    REFUSED("max_pool", "x has shape (4)", cp_max_pool(tape, TENSOR(4), two));
    REFUSED("max_pool", "window (0, 0)", cp_max_pool(tape, x, POOL(0)));
    REFUSED("max_pool", "window (-2, -2)", cp_max_pool(tape, x, POOL(CP_WINDOW(-2))));
    REFUSED("max_pool", "stride (-1, -1)", cp_max_pool(tape, x, POOL(CP_WINDOW(2), CP_STRIDE(-1))));
    REFUSED("max_pool", "smaller than the window (2, 2)", cp_max_pool(tape, x, POOL(CP_WINDOW(2), CP_PAD(2))));
    REFUSED("max_pool", "not negative", cp_max_pool(tape, x, POOL(CP_WINDOW(2), CP_PAD(-1))));
    REFUSED("max_pool", "window (5, 5) does not fit into the padded image", cp_max_pool(tape, x, POOL(CP_WINDOW(5))));
    REFUSED("max_pool", "does not fit", cp_max_pool(tape, TENSOR(1, 0, 4, 2), two));
    cp_pool2d_config huge = {CP_WINDOW(1 << 30), CP_STRIDE(1), CP_PAD((1 << 30) - 1)};
    REFUSED("max_pool", "max_pool can count", cp_max_pool(tape, x, huge));
    REFUSED("avg_pool", "smaller than the window", cp_avg_pool(tape, x, POOL(CP_WINDOW(3), CP_PAD(3))));
    REFUSED("avg_pool", "x has shape (4)", cp_avg_pool(tape, TENSOR(4), two));
    REFUSED("avg_pool", "does not fit", cp_avg_pool(tape, x, POOL(CP_WINDOW(INT_MAX), CP_STRIDE(1))));
    REFUSED("avg_unpool", "g has shape (1, 4, 4, 2); pooling gives", cp_avg_unpool(tape, x, INTS(1, 4, 4, 2), two));
    REFUSED("avg_unpool", "(1, 8, -8, 2) is not possible", cp_avg_unpool(tape, x, INTS(1, 8, -8, 2), two));
    REFUSED("avg_unpool", "NULL", cp_avg_unpool(tape, x, NULL, two));
    REFUSED("global_avg_pool", "x has shape (4)", cp_global_avg_pool(tape, TENSOR(4)));
}

/* ---- norms and the rest ---- */

static cp_tensor *factors(bool made) { return made ? three : NULL; }

static void norms_that_do_not_fit_are_refused(void) {
    cp_tensor           *x = TENSOR(4, 3), *c = TENSOR(3), *wrong = TENSOR(2), *stale = cp_tensor_new(CP_SHAPE(2));
    cp_batch_norm_config training = {.training = true}, evaluation = {0}, misfit = {.running_mean = stale};
    REFUSED("batch_norm", "training on (1, 3): a variance needs", cp_batch_norm(tape, TENSOR(1, 3), c, c, training));
    REFUSED("batch_norm", "training on (0, 3)", cp_batch_norm(tape, TENSOR(0, 3), c, c, training));
    REFUSED("batch_norm", "x has shape (3); it needs at least two axes", cp_batch_norm(tape, c, c, c, training));
    REFUSED("batch_norm", "gamma has shape (2); x (4, 3) has 3 channels", cp_batch_norm(tape, x, wrong, c, training));
    REFUSED("batch_norm", "beta has shape (2)", cp_batch_norm(tape, x, c, wrong, training));
    REFUSED("batch_norm", "evaluation needs running_mean", cp_batch_norm(tape, x, c, c, evaluation));
    REFUSED("batch_norm", "running_mean has shape (2)", cp_batch_norm(tape, x, c, c, misfit));
    cp_tensor           *scale, *shift;
    cp_batch_norm_config fixed = {.running_mean = c, .running_var = c}, uneven = {.running_mean = wrong, .running_var = c};
    REFUSED("batch_norm", "evaluation needs running_mean", factors(cp_batch_norm_factors(tape, c, c, evaluation, &scale, &shift)));
    REFUSED("batch_norm_factors", "running_mean has shape (2)", factors(cp_batch_norm_factors(tape, c, c, uneven, &scale, &shift)));
    REFUSED("batch_norm_factors", "scale or shift is NULL", factors(cp_batch_norm_factors(tape, c, c, fixed, NULL, &shift)));
    REFUSED("batch_norm_factors", "gamma has shape (2)", factors(cp_batch_norm_factors(tape, wrong, c, fixed, &scale, &shift)));
    REFUSED("batch_norm_factors", "beta has shape (2)", factors(cp_batch_norm_factors(tape, c, wrong, fixed, &scale, &shift)));
    REFUSED("scale_shift", "do not fit the last axis of (4, 3)", cp_scale_shift(tape, x, wrong, c));
    REFUSED("scale_shift", "do not fit the last axis of (4, 3)", cp_scale_shift(tape, x, c, wrong));
    REFUSED("scale_shift", "do not fit the last axis of ()", cp_scale_shift(tape, cp_scalar(tape, 1), c, c));
    REFUSED("layer_norm", "gamma has shape (2)", cp_layer_norm(tape, x, wrong, c, 1));
    REFUSED("layer_norm", "at least two axes", cp_layer_norm(tape, c, c, c, 1));
    REFUSED("group_norm", "2 groups do not divide the 3 channels of (4, 3)", cp_group_norm(tape, x, c, c, 2, 1));
    REFUSED("group_norm", "0 groups", cp_group_norm(tape, x, c, c, 0, 1));
    REFUSED("group_norm", "-1 groups", cp_group_norm(tape, x, c, c, -1, 1));
    REFUSED("leaky_norm", "2 groups do not divide the 3 channels of (4, 3)", cp_leaky_norm(tape, x, c, c, 2, 1, 1));
    REFUSED("leaky_norm", "-1 groups", cp_leaky_norm(tape, x, c, c, -1, 1, 1));
    REFUSED("leaky_norm", "gamma has shape (2)", cp_leaky_norm(tape, x, wrong, c, 0, 1, 1));
    REFUSED("leaky_norm", "at least two axes", cp_leaky_norm(tape, c, c, c, 1, 1, 1));
    cp_tensor_free(stale);
}

static void numbers_out_of_range_are_refused(void) {
    cp_tensor *x = TENSOR(2, 3);
    REFUSED("dropout", "rate 1 is not in [0, 1)", cp_dropout(tape, x, 1, &rng, true));
    REFUSED("dropout", "rate -0.5 is not in", cp_dropout(tape, x, (cp_real)-0.5, &rng, true));
    REFUSED("dropout", "nan is not in", cp_dropout(tape, x, (cp_real)__builtin_nan(""), &rng, false));
    REFUSED("dropout", "rng is NULL", cp_dropout(tape, x, (cp_real)0.5, NULL, true));
    REFUSED("clamp", "low 2 is not below high 1", cp_clamp(tape, x, 2, 1));
    REFUSED("clamp", "nan", cp_clamp(tape, x, (cp_real)__builtin_nan(""), 1));
}

#define SETTINGS(...) ((cp_cross_entropy_config){__VA_ARGS__})

static void losses_of_nothing_and_of_bad_settings_are_refused(void) {
    cp_tensor              *x = TENSOR(2, 3), *y = TENSOR(3, 2), *empty = TENSOR(0, 3), *one = cp_scalar(tape, 1);
    const cp_real           bad[] = {1, -1, 1}, zero[] = {1, 0, 1};
    cp_cross_entropy_config weighed = SETTINGS(.weights = bad), unweighed = SETTINGS(.weights = zero);
    REFUSED("huber", "delta is 0; it must be positive", cp_huber(tape, x, x, 0));
    REFUSED("huber", "delta is nan", cp_huber(tape, x, x, (cp_real)__builtin_nan("")));
    REFUSED("huber", "shapes (2, 3) and (3, 2) differ", cp_huber(tape, x, y, 1));
    REFUSED("huber", "values of shape (0, 3) have no mean", cp_huber(tape, empty, empty, 1));
    REFUSED("binary_cross_entropy", "shapes (2, 3) and (3, 2) differ", cp_binary_cross_entropy(tape, x, y));
    REFUSED("binary_cross_entropy", "(0, 3) have no mean", cp_binary_cross_entropy(tape, empty, empty));
    REFUSED("soft_cross_entropy", "shapes (2, 3) and (3, 2) differ", cp_soft_cross_entropy(tape, x, y));
    REFUSED("soft_cross_entropy", "values of shape () have no mean", cp_soft_cross_entropy(tape, one, one));
    REFUSED("kl_divergence", "shapes (2, 3) and (3, 2) differ", cp_kl_divergence(tape, x, y));
    REFUSED("kl_divergence", "(0, 3) have no mean", cp_kl_divergence(tape, empty, empty));
    REFUSED("cross_entropy_with", "label -1 at row 1", cp_cross_entropy_with(tape, x, LABELS(0, -1), SETTINGS(0)));
    REFUSED("cross_entropy_with", "label 3 at row 0", cp_cross_entropy_with(tape, x, LABELS(3, 0), SETTINGS(0)));
    REFUSED("cross_entropy_with", "1 labels", cp_cross_entropy_with(tape, x, LABELS(1), SETTINGS(0)));
    REFUSED("cross_entropy_with", "smoothing is 1", cp_cross_entropy_with(tape, x, LABELS(1, 0), SETTINGS(.smoothing = 1)));
    REFUSED("cross_entropy_with", "smoothing is -1", cp_cross_entropy_with(tape, x, LABELS(1, 0), SETTINGS(.smoothing = -1)));
    REFUSED("cross_entropy_with", "class 1 is -1", cp_cross_entropy_with(tape, x, LABELS(1, 0), weighed));
    REFUSED("cross_entropy_with", "no row of (2, 3) counts", cp_cross_entropy_with(tape, x, LABELS(1, 1), unweighed));
    cp_cross_entropy_config skip = {.skip_unlabeled = true};
    REFUSED("cross_entropy_with", "no row of (2, 3) counts", cp_cross_entropy_with(tape, x, LABELS(-1, -2), skip));
    REFUSED("cross_entropy_with", "no row of (0, 3)", cp_cross_entropy_with(tape, empty, ((cp_labels){0}), skip));
}

static void after_all_refusals_the_tape_still_works(void) {
    cp_tensor *x = TENSOR(3, 4), *dx;
    for (int k = 0; k < CALLS; k++) calls[k].run(tape, NULL, NULL);
    errors_forget();
    TEST_ASSERT_NULL(cp_matmul(tape, x, x, 0));
    cp_tensor *chain = cp_sum(tape, cp_exp(tape, cp_matmul(tape, x, x, 0)), CP_ALL, false);
    TEST_ASSERT_NULL(chain);
    TEST_ASSERT_TRUE(cp_grad(tape, cp_sum(tape, x, CP_ALL, false), &x, 1, &dx));
    TEST_ASSERT_EQUAL_DOUBLE(1, (double)dx->data[11]);
}

int main(void) {
    rng = cp_rng_named(1, "misuse");
    three = cp_tensor_new(CP_SHAPE(3));
    UNITY_BEGIN();
    RUN_TEST(every_op_of_the_library_is_in_the_table);
    RUN_TEST(every_call_in_the_table_is_valid);
    RUN_TEST(every_op_refuses_a_null_tape);
    RUN_TEST(every_op_refuses_a_null_argument);
    RUN_TEST(every_op_refuses_a_tensor_of_another_tape);
    RUN_TEST(bad_leaves_are_refused);
    RUN_TEST(too_large_a_shape_is_refused_with_the_shape_and_the_line);
    RUN_TEST(bad_requests_for_gradients_are_refused);
    RUN_TEST(functions_of_the_tape_refuse_a_null_tape_or_treat_it_as_empty);
    RUN_TEST(shapes_that_do_not_broadcast_are_refused);
    RUN_TEST(matrices_that_do_not_fit_are_refused);
    RUN_TEST(axes_that_do_not_exist_are_refused);
    RUN_TEST(impossible_shapes_are_refused);
    RUN_TEST(regions_that_do_not_fit_are_refused);
    RUN_TEST(parts_that_do_not_join_are_refused);
    RUN_TEST(indices_out_of_range_are_refused);
    RUN_TEST(labels_that_do_not_fit_are_refused);
    RUN_TEST(convolutions_that_do_not_fit_are_refused);
    RUN_TEST(pooling_that_does_not_fit_is_refused);
    RUN_TEST(norms_that_do_not_fit_are_refused);
    RUN_TEST(numbers_out_of_range_are_refused);
    RUN_TEST(losses_of_nothing_and_of_bad_settings_are_refused);
    RUN_TEST(after_all_refusals_the_tape_still_works);
    cp_tensor_free(three);
    return UNITY_END();
}
