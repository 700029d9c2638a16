/* Every op and its gradients, on sizes large enough to be split: bit-identical with 1, 2, 3 and 5 threads. */
#include "couplet.h"

#include "unity.h"

#include <string.h>

enum { ROWS = 300, COLUMNS = 257 };

static cp_tape *tape;
static cp_rng   rng;

void setUp(void) { tape = cp_tape_new(); }

void tearDown(void) {
    cp_tape_free(tape);
    cp_threads_set(0);
}

typedef struct inputs {
    cp_tensor *a, *b;         /* (ROWS, COLUMNS) */
    cp_tensor *row, *column;  /* (COLUMNS), (ROWS, 1) */
    cp_tensor *image, *other; /* (5, 20, 18, 16) */
    cp_tensor *kernel, *grouped, *bias;
    cp_tensor *square, *channels, *batch, *taps;
} inputs;

/* Positive values, so that every function is defined. */
static cp_tensor *drawn(cp_shape shape) {
    cp_tensor *t = cp_tensor_new(shape);
    cp_rng_fill_uniform(&rng, t->data, t->size, (cp_real)0.1, (cp_real)1.5);
    t->tracked = true;
    return t;
}

#define DRAWN(...) drawn(CP_SHAPE(__VA_ARGS__))
#define INTS(...) ((int[]){__VA_ARGS__})

static inputs in;
static int    labels[ROWS];

typedef cp_tensor *(*case_fn)(void);
#define CASE(NAME, ...)                                                                                                            \
    static cp_tensor *case_##NAME(void) { return __VA_ARGS__; }

static const cp_conv2d_config padded = {CP_PAD(1)}, strided = {CP_PAD(1), CP_STRIDE(2)}, groups = {CP_PAD(1), .groups = 4};
static const cp_pool2d_config overlapping = {CP_WINDOW(3), CP_STRIDE(2), CP_PAD(1)};

CASE(add, cp_add(tape, in.a, in.row))
CASE(sub, cp_sub(tape, in.column, in.a))
CASE(mul, cp_mul(tape, in.a, in.b))
CASE(div, cp_div(tape, in.a, in.column))
CASE(minimum, cp_minimum(tape, in.a, in.b))
CASE(maximum, cp_maximum(tape, in.a, in.row))
CASE(where, cp_where(tape, cp_greater(tape, in.a, in.b), in.a, in.row))
CASE(equal, cp_equal(tape, in.a, in.row))
CASE(affine, cp_affine(tape, in.a, 3, 1))
CASE(neg, cp_neg(tape, in.a))
CASE(exp, cp_exp(tape, in.a))
CASE(log, cp_log(tape, in.a))
CASE(log1p, cp_log1p(tape, in.a))
CASE(sqrt, cp_sqrt(tape, in.a))
CASE(rsqrt, cp_rsqrt(tape, in.a))
CASE(square, cp_square(tape, in.a))
CASE(abs, cp_abs(tape, in.a))
CASE(sign, cp_sign(tape, in.a))
CASE(tanh, cp_tanh(tape, in.a))
CASE(sigmoid, cp_sigmoid(tape, in.a))
CASE(softplus, cp_softplus(tape, in.a))
CASE(relu, cp_relu(tape, cp_affine(tape, in.a, 1, -1)))
CASE(leaky_relu, cp_leaky_relu(tape, cp_affine(tape, in.a, 1, -1), (cp_real)0.2))
CASE(sin, cp_sin(tape, in.a))
CASE(cos, cp_cos(tape, in.a))
CASE(erf, cp_erf(tape, in.a))
CASE(gelu, cp_gelu(tape, in.a))
CASE(gelu_tanh, cp_gelu_tanh(tape, in.a))
CASE(min, cp_min(tape, in.a, CP_AXES(1), false))
CASE(variance, cp_variance(tape, in.image, CP_AXES(0, 1, 2), 1, false))
CASE(cumsum, cp_cumsum(tape, in.a, 0))
CASE(topk, cp_topk(tape, in.a, 5, NULL))
CASE(flip, cp_flip(tape, in.a, CP_AXES(0)))
CASE(pad_reflect, cp_pad_reflect(tape, in.a, INTS(3, 1), INTS(2, 4)))
CASE(stack, cp_stack(tape, (cp_tensor *[]){in.a, in.b}, 2, 2))
CASE(masked_fill, cp_masked_fill(tape, in.a, cp_greater(tape, in.b, in.row), 2))
CASE(swish, cp_swish(tape, in.a))
CASE(pow, cp_pow(tape, in.a, (cp_real)1.7))
CASE(clamp, cp_clamp(tape, in.a, (cp_real)0.4, 1))
CASE(gate, cp_gate(tape, in.a, cp_sub(tape, in.b, in.row), (cp_real)0.2))
CASE(sum_all, cp_sum(tape, in.a, CP_ALL, false))
CASE(sum_rows, cp_sum(tape, in.a, CP_AXES(0), false))
CASE(sum_columns, cp_sum(tape, in.a, CP_AXES(1), false))
CASE(sum_outer_inner, cp_sum(tape, in.image, CP_AXES(0, 2), false))
CASE(mean, cp_mean(tape, in.image, CP_AXES(0, 1, 2), false))
CASE(max, cp_max(tape, in.a, CP_AXES(0), false))
CASE(logsumexp, cp_logsumexp(tape, in.a, CP_AXES(1), false))
CASE(logsumexp_all, cp_logsumexp(tape, in.a, CP_ALL, false))
CASE(softmax, cp_softmax(tape, in.a, 1))
CASE(softmax_rows, cp_softmax(tape, in.a, 0))
CASE(log_softmax, cp_log_softmax(tape, in.a, 1))
CASE(matmul, cp_matmul(tape, in.a, in.b, CP_TRANSPOSE_B))
CASE(matmul_long, cp_matmul(tape, in.a, in.b, CP_TRANSPOSE_A))
CASE(matmul_square, cp_matmul(tape, in.a, in.square, 0))
CASE(matmul_batch, cp_matmul(tape, in.batch, in.batch, CP_TRANSPOSE_B))
CASE(reshape, cp_reshape(tape, in.a, CP_SHAPE(-1)))
CASE(permute, cp_permute(tape, in.image, INTS(3, 0, 2, 1)))
CASE(broadcast_to, cp_broadcast_to(tape, in.row, CP_SHAPE(3, ROWS, COLUMNS)))
CASE(sum_to, cp_sum_to(tape, in.image, CP_SHAPE(18, 1)))
CASE(slice, cp_slice(tape, in.a, INTS(1, 2), INTS(CP_END, CP_END), INTS(1, 2)))
CASE(pad, cp_pad(tape, in.a, INTS(1, 2), INTS(3, 4), 7))
CASE(concat, cp_concat(tape, (cp_tensor *[]){in.a, in.b, in.a}, 3, 1))
CASE(gather_rows, cp_gather_rows(tape, in.a, (cp_indices){labels, ROWS}))
CASE(scatter_rows, cp_scatter_rows(tape, in.a, (cp_indices){labels, ROWS}, COLUMNS))
CASE(conv2d, cp_conv2d(tape, in.image, in.kernel, in.bias, padded))
CASE(conv2d_strided, cp_conv2d(tape, in.image, in.kernel, in.bias, strided))
CASE(conv2d_grouped, cp_conv2d(tape, in.image, in.grouped, NULL, groups))
CASE(conv2d_input_grad, cp_conv2d_input_grad(tape, in.image, in.kernel, INTS(5, 20, 18, 16), padded))
CASE(conv2d_weight_grad, cp_conv2d_weight_grad(tape, in.image, in.other, INTS(3, 3, 16, 16), padded))
CASE(conv_transpose, cp_conv_transpose(tape, in.image, in.kernel, in.bias, strided, 1))
CASE(upsample_nearest, cp_upsample_nearest(tape, in.image, 2, 3))
CASE(upsample_bilinear, cp_upsample_bilinear(tape, in.image, 2, 3))
CASE(conv1d, cp_conv1d(tape, in.batch, in.taps, NULL, padded))
CASE(leaky_conv2d, cp_leaky_conv2d(tape, in.image, in.kernel,
                                   ((cp_conv_extras){.bias = in.bias, .residual = in.other, .slope = (cp_real)0.2}), padded))
CASE(max_pool, cp_max_pool(tape, in.image, overlapping))
CASE(avg_pool, cp_avg_pool(tape, in.image, overlapping))
CASE(avg_unpool, cp_avg_unpool(tape, in.image, INTS(5, 40, 36, 16), (cp_pool2d_config){CP_WINDOW(2)}))
CASE(global_avg_pool, cp_global_avg_pool(tape, in.image))
CASE(normalize, cp_normalize(tape, in.a, CP_AXES(1), (cp_real)1e-5))
CASE(batch_norm, cp_batch_norm(tape, in.image, in.channels, in.bias, (cp_batch_norm_config){.training = true}))
CASE(scale_shift, cp_scale_shift(tape, in.a, in.row, in.row))
CASE(layer_norm, cp_layer_norm(tape, in.a, in.row, in.row, (cp_real)1e-5))
CASE(group_norm, cp_group_norm(tape, in.image, in.channels, in.bias, 4, (cp_real)1e-5))
CASE(leaky_norm, cp_leaky_norm(tape, in.image, in.channels, in.bias, 8, (cp_real)0.2, 0))
CASE(leaky_norm_layers, cp_leaky_norm(tape, in.image, in.channels, in.bias, 0, (cp_real)0.2, 0))
CASE(dropout, cp_dropout(tape, in.a, (cp_real)0.3, &(cp_rng){{1, 2}, {3, 4}, 0}, true))
CASE(pick, cp_pick(tape, in.a, (cp_labels){labels, ROWS}))
CASE(cross_entropy, cp_cross_entropy(tape, in.a, (cp_labels){labels, ROWS}))
CASE(huber, cp_huber(tape, in.a, in.b, (cp_real)0.3))
CASE(binary_cross_entropy, cp_binary_cross_entropy(tape, in.a, in.b))
CASE(soft_cross_entropy, cp_soft_cross_entropy(tape, in.a, in.b))
CASE(kl_divergence, cp_kl_divergence(tape, in.a, in.b))
CASE(cross_entropy_with,
     cp_cross_entropy_with(tape, in.a, (cp_labels){labels, ROWS}, (cp_cross_entropy_config){.smoothing = (cp_real)0.1}))
CASE(mse, cp_mse(tape, in.a, in.b))

#define ROW(NAME)                                                                                                                  \
    { #NAME, case_##NAME }
static const struct {
    const char *name;
    case_fn     run;
} cases[] = {
    ROW(add),
    ROW(sub),
    ROW(mul),
    ROW(div),
    ROW(minimum),
    ROW(maximum),
    ROW(where),
    ROW(equal),
    ROW(affine),
    ROW(neg),
    ROW(exp),
    ROW(log),
    ROW(log1p),
    ROW(sqrt),
    ROW(rsqrt),
    ROW(square),
    ROW(abs),
    ROW(sign),
    ROW(tanh),
    ROW(sigmoid),
    ROW(softplus),
    ROW(relu),
    ROW(leaky_relu),
    ROW(sin),
    ROW(cos),
    ROW(erf),
    ROW(gelu),
    ROW(gelu_tanh),
    ROW(min),
    ROW(variance),
    ROW(cumsum),
    ROW(topk),
    ROW(flip),
    ROW(pad_reflect),
    ROW(stack),
    ROW(masked_fill),
    ROW(swish),
    ROW(pow),
    ROW(clamp),
    ROW(gate),
    ROW(sum_all),
    ROW(sum_rows),
    ROW(sum_columns),
    ROW(sum_outer_inner),
    ROW(mean),
    ROW(max),
    ROW(logsumexp),
    ROW(logsumexp_all),
    ROW(softmax),
    ROW(softmax_rows),
    ROW(log_softmax),
    ROW(matmul),
    ROW(matmul_long),
    ROW(matmul_square),
    ROW(matmul_batch),
    ROW(reshape),
    ROW(permute),
    ROW(broadcast_to),
    ROW(sum_to),
    ROW(slice),
    ROW(pad),
    ROW(concat),
    ROW(gather_rows),
    ROW(scatter_rows),
    ROW(conv2d),
    ROW(conv2d_strided),
    ROW(conv2d_grouped),
    ROW(conv2d_input_grad),
    ROW(conv2d_weight_grad),
    ROW(conv_transpose),
    ROW(upsample_nearest),
    ROW(upsample_bilinear),
    ROW(conv1d),
    ROW(leaky_conv2d),
    ROW(max_pool),
    ROW(avg_pool),
    ROW(avg_unpool),
    ROW(global_avg_pool),
    ROW(normalize),
    ROW(batch_norm),
    ROW(scale_shift),
    ROW(layer_norm),
    ROW(group_norm),
    ROW(leaky_norm),
    ROW(leaky_norm_layers),
    ROW(dropout),
    ROW(pick),
    ROW(cross_entropy),
    ROW(huber),
    ROW(binary_cross_entropy),
    ROW(soft_cross_entropy),
    ROW(kl_divergence),
    ROW(cross_entropy_with),
    ROW(mse),
};
enum { CASES = sizeof cases / sizeof *cases };

/* FNV-1a over the bytes: equal for equal bits. */
static uint64_t fingerprint(uint64_t hash, const cp_tensor *t) {
    const unsigned char *bytes = (const unsigned char *)t->data;
    for (size_t i = 0; i < t->size * sizeof *t->data; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

/* Of the value and of the gradients of its weighted sum with respect to all inputs. */
static uint64_t outcome(case_fn run) {
    cp_tensor *leaves[sizeof in / sizeof(cp_tensor *)], *gradients[sizeof in / sizeof(cp_tensor *)];
    enum { LEAVES = sizeof leaves / sizeof *leaves };
    memcpy(leaves, &in, sizeof in);
    cp_tensor *out = run();
    TEST_ASSERT_NOT_NULL(out);
    uint64_t hash = fingerprint(14695981039346656037u, out);
    if (out->tracked) {
        cp_tensor *loss = cp_sum(tape, cp_mul(tape, cp_tanh(tape, out), out), CP_ALL, false);
        TEST_ASSERT_TRUE(cp_grad(tape, loss, leaves, LEAVES, gradients));
        for (int i = 0; i < LEAVES; i++) hash = fingerprint(hash, gradients[i]);
    }
    cp_tape_reset(tape);
    return hash;
}

static void every_op_and_its_gradients_are_bit_identical_for_any_number_of_threads(void) {
    const int threads[] = {1, 2, 3, 5};
    for (int k = 0; k < CASES; k++) {
        uint64_t expected = 0;
        for (int i = 0; i < 4; i++) {
            cp_threads_set(threads[i]);
            uint64_t got = outcome(cases[k].run);
            if (i == 0) expected = got;
            TEST_ASSERT_EQUAL_HEX64_MESSAGE(expected, got, cases[k].name);
        }
    }
}

static void the_fingerprint_changes_with_a_single_bit(void) {
    cp_tensor *t = cp_full(tape, 1, CP_SHAPE(100));
    uint64_t   before = fingerprint(0, t);
    ((unsigned char *)t->data)[399] ^= 1;
    TEST_ASSERT_TRUE(before != fingerprint(0, t));
}

static void repeating_an_op_repeats_its_bits(void) {
    cp_threads_set(3);
    for (int i = 0; i < 10; i++) {
        TEST_ASSERT_EQUAL_HEX64(outcome(case_conv2d), outcome(case_conv2d));
        TEST_ASSERT_EQUAL_HEX64(outcome(case_sum_rows), outcome(case_sum_rows));
    }
}

int main(void) {
    rng = cp_rng_named(11, "threads");
    in = (inputs){DRAWN(ROWS, COLUMNS),
                  DRAWN(ROWS, COLUMNS),
                  DRAWN(COLUMNS),
                  DRAWN(ROWS, 1),
                  DRAWN(5, 20, 18, 16),
                  DRAWN(5, 20, 18, 16),
                  DRAWN(3, 3, 16, 16),
                  DRAWN(3, 3, 4, 16),
                  DRAWN(16),
                  DRAWN(COLUMNS, COLUMNS),
                  DRAWN(16),
                  DRAWN(7, 40, 33),
                  DRAWN(3, 33, 16)};
    for (int i = 0; i < ROWS; i++) labels[i] = i * 7 % COLUMNS;
    UNITY_BEGIN();
    RUN_TEST(the_fingerprint_changes_with_a_single_bit);
    RUN_TEST(every_op_and_its_gradients_are_bit_identical_for_any_number_of_threads);
    RUN_TEST(repeating_an_op_repeats_its_bits);
    int        failed = UNITY_END();
    cp_tensor *leaves[sizeof in / sizeof(cp_tensor *)];
    memcpy(leaves, &in, sizeof in);
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) cp_tensor_free(leaves[i]);
    return failed;
}
