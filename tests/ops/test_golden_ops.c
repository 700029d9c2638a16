/* Every op against PyTorch: values and gradients, from tests/golden/ops.safetensors. make_ops.py made that file and
 * documents its contents. */
#include "core/op.h"
#include "ops/gaussian.h"
#include "ops/ops.h"
#include "tests/support/golden.h"
#include "tests/support/setup_tape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static golden *file;

/* ---- passing a case's arguments to the op ---- */

enum { INPUTS = 6, INTS = 24, REALS = 4, LABELS = 16 };

typedef struct arguments {
    cp_tensor *in[INPUTS]; /* NULL where there is none */
    int        inputs;
    int        ints[INTS], ints_count;
    cp_real    reals[REALS];
    cp_labels  labels;
    cp_indices places; /* the same numbers */
    int        numbers[LABELS];
    cp_tensor *running_mean, *running_var;
} arguments;

typedef cp_tensor *(*op_call)(const arguments *a);

/* clang-format off */
#define ONE_INPUT(X)                                                                                               \
    X(sign) X(neg) X(exp) X(log) X(log1p) X(sqrt) X(rsqrt) X(square) X(abs) X(tanh) X(sigmoid) X(softplus) X(relu) \
    X(swish) X(global_avg_pool) X(sin) X(cos) X(erf) X(gelu) X(gelu_tanh)
#define TWO_INPUTS(X)                                                                                              \
    X(add) X(sub) X(mul) X(div) X(minimum) X(maximum) X(greater) X(equal) X(mse) X(soft_cross_entropy) X(binary_cross_entropy) X(kl_divergence)
#define ONE_REAL(X) X(scale) X(pow) X(leaky_relu)
#define TWO_REALS(X) X(affine) X(clamp)
#define REDUCTIONS(X) X(sum) X(mean) X(max) X(min) X(logsumexp)
#define ONE_INT(X) X(softmax) X(log_softmax) X(tril_exp) X(tril_logdet) X(cumsum)
#define TO_SHAPE(X) X(reshape) X(broadcast_to) X(sum_to)
#define PLACES(X) X(take) X(put)
#define LABELED(X) X(cross_entropy) X(pick)
#define POOLS(X) X(max_pool) X(avg_pool)
#define GAUSSIAN(X) X(gaussian_energy) X(gaussian_log_joint) X(gaussian_log_density)
#define ASSOCIATED(X) X(gaussian_weight) X(gaussian_bias)
#define THE_REST(X)                                                                                                \
    X(where) X(gate) X(matmul) X(permute) X(slice) X(embed) X(pad) X(concat) X(gather_rows) X(scatter_rows) X(conv2d) X(leaky_conv2d) X(scale_shift)             \
    X(conv2d_input_grad) X(conv2d_weight_grad) X(avg_unpool) X(normalize) X(batch_norm) X(layer_norm)              \
    X(group_norm) X(leaky_norm) X(gaussian_penalty) X(variance) X(masked_fill) X(pad_reflect) X(flip) X(stack) X(chunk) X(topk) X(conv1d) X(conv_transpose) X(upsample_nearest) X(upsample_bilinear) X(huber) X(cross_entropy_with)
#define EVERY(X)                                                                                                   \
    ONE_INPUT(X) TWO_INPUTS(X) ONE_REAL(X) TWO_REALS(X) REDUCTIONS(X) ONE_INT(X) TO_SHAPE(X) PLACES(X) LABELED(X)  \
    POOLS(X) GAUSSIAN(X) ASSOCIATED(X) THE_REST(X)

#define CALL(op, ...) static cp_tensor *call_##op(const arguments *a) { return cp_##op(tape, a->in[0], __VA_ARGS__); }
#define CALL_ONE_INPUT(op) static cp_tensor *call_##op(const arguments *a) { return cp_##op(tape, a->in[0]); }
#define CALL_TWO_INPUTS(op) CALL(op, a->in[1])
#define CALL_ONE_REAL(op) CALL(op, a->reals[0])
#define CALL_TWO_REALS(op) CALL(op, a->reals[0], a->reals[1])
#define CALL_REDUCTION(op) CALL(op, axes_after(a, 1), a->ints[0] != 0)
#define CALL_ONE_INT(op) CALL(op, a->ints[0])
#define CALL_TO_SHAPE(op) CALL(op, cp_shape_of(a->ints_count, a->ints))
#define CALL_PLACES(op) CALL(op, a->places, cp_shape_of(a->ints_count, a->ints))
#define CALL_LABELED(op) CALL(op, a->labels)
#define CALL_POOL(op) CALL(op, pooling(a))
#define CALL_GAUSSIAN(op) CALL(op, gaussians(a, 1))
#define CALL_ASSOCIATED(op) static cp_tensor *call_##op(const arguments *a) { return cp_##op(tape, gaussians(a, 0)); }
/* clang-format on */

static cp_axes axes_after(const arguments *a, int first) {
    cp_axes axes = {.count = a->ints_count - first};
    for (int i = 0; i < axes.count; i++) axes.at[i] = a->ints[first + i];
    return axes;
}

static cp_pool2d_config pooling(const arguments *a) {
    const int *n = a->ints;
    return (cp_pool2d_config){n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]};
}

enum { CONVOLUTION_INTS = 9 };
static cp_conv2d_config convolution(const arguments *a) {
    const int *n = a->ints;
    return (cp_conv2d_config){n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]};
}

/* Bias and residual, then perhaps scale and shift. */
static cp_conv_extras around(const arguments *a) {
    return (cp_conv_extras){.bias = a->in[2], .residual = a->in[3], .scale = a->in[4], .shift = a->in[5], .slope = a->reals[0]};
}

/* Mean, precision and perhaps log_prior, from input number `first` on. */
static cp_gaussians gaussians(const arguments *a, int first) {
    cp_tensor *prior = first + 2 < INPUTS ? a->in[first + 2] : NULL;
    return (cp_gaussians){a->in[first], a->in[first + 1], (cp_precision)((int)CP_SPHERICAL + a->ints[0]), prior};
}

/* Called as many times as the case says, so that the running statistics change more than once. */
static cp_tensor *batch_norm(const arguments *a) {
    cp_tensor           *out = NULL;
    cp_batch_norm_config config = {a->ints[0] != 0, a->running_mean, a->running_var, a->reals[0], a->reals[1]};
    for (int i = 0; i < a->ints[1]; i++) out = cp_batch_norm(tape, a->in[0], a->in[1], a->in[2], config);
    return out;
}

static cp_tensor *concat(const arguments *a) { return cp_concat(tape, a->in, a->inputs, a->ints[0]); }

/* reals: the smoothing, then the weights of three classes unless the first is 0. */
static cp_tensor *cross_entropy_with(const arguments *a) {
    cp_cross_entropy_config config = {.smoothing = a->reals[0], .skip_unlabeled = true};
    if (a->reals[1] > 0) config.weights = a->reals + 1;
    return cp_cross_entropy_with(tape, a->in[0], a->labels, config);
}

static cp_tensor *stack(const arguments *a) { return cp_stack(tape, a->in, a->inputs, a->ints[0]); }

/* Part number ints[2] of ints[0] along axis ints[1]. */
static cp_tensor *chunk(const arguments *a) {
    cp_tensor *parts[8];
    return cp_chunk(tape, a->in[0], a->ints[0], a->ints[1], parts) ? parts[a->ints[2]] : NULL;
}

/* The values; ints[1]: the indices, as numbers. */
static cp_tensor *topk(const arguments *a) {
    cp_indices which;
    cp_tensor *out = cp_topk(tape, a->in[0], a->ints[0], &which);
    if (!a->ints[1] || !out) return out;
    cp_tensor *numbers = cp_full(tape, 0, out->shape);
    for (int i = 0; i < which.count; i++) numbers->data[i] = (cp_real)which.at[i];
    return numbers;
}

ONE_INPUT(CALL_ONE_INPUT)
TWO_INPUTS(CALL_TWO_INPUTS)
ONE_REAL(CALL_ONE_REAL)
TWO_REALS(CALL_TWO_REALS)
REDUCTIONS(CALL_REDUCTION)
ONE_INT(CALL_ONE_INT)
TO_SHAPE(CALL_TO_SHAPE)
PLACES(CALL_PLACES)
LABELED(CALL_LABELED)
POOLS(CALL_POOL)
GAUSSIAN(CALL_GAUSSIAN)
ASSOCIATED(CALL_ASSOCIATED)
CALL(where, a->in[1], a->in[2])
CALL(gate, a->in[1], a->reals[0])
CALL(matmul, a->in[1], (unsigned)a->ints[0])
CALL(permute, a->ints)
CALL(slice, a->ints, a->ints + a->in[0]->rank, a->ints + 2 * a->in[0]->rank)
CALL(embed, a->ints, a->ints + a->in[0]->rank, a->ints + 2 * a->in[0]->rank, a->reals[0])
CALL(pad, a->ints, a->ints + a->in[0]->rank, a->reals[0])
CALL(gather_rows, a->places)
CALL(scatter_rows, a->places, a->ints[0])
CALL(conv2d, a->in[1], a->in[2], convolution(a))
CALL(leaky_conv2d, a->in[1], around(a), convolution(a))
CALL(scale_shift, a->in[1], a->in[2])
CALL(conv2d_input_grad, a->in[1], a->ints + CONVOLUTION_INTS, convolution(a))
CALL(conv2d_weight_grad, a->in[1], a->ints + CONVOLUTION_INTS, convolution(a))
CALL(variance, axes_after(a, 2), a->ints[1], a->ints[0] != 0)
CALL(masked_fill, a->in[1], a->reals[0])
CALL(pad_reflect, a->ints, a->ints + a->in[0]->rank)
CALL(flip, axes_after(a, 0))
CALL(conv1d, a->in[1], a->in[2], convolution(a))
CALL(conv_transpose, a->in[1], a->in[2], convolution(a), a->ints[CONVOLUTION_INTS])
CALL(upsample_nearest, a->ints[0], a->ints[1])
CALL(upsample_bilinear, a->ints[0], a->ints[1])
CALL(huber, a->in[1], a->reals[0])
CALL(avg_unpool, a->ints + 8, pooling(a))
CALL(normalize, axes_after(a, 0), a->reals[0])
CALL(layer_norm, a->in[1], a->in[2], a->reals[0])
CALL(gaussian_penalty, a->in[1], gaussians(a, 2))
CALL(group_norm, a->in[1], a->in[2], a->ints[0], a->reals[0])
CALL(leaky_norm, a->in[1], a->in[2], a->ints[0], a->reals[0], a->reals[1])
#define call_batch_norm batch_norm
#define call_concat concat
#define call_stack stack
#define call_chunk chunk
#define call_topk topk
#define call_cross_entropy_with cross_entropy_with

#define ROW(op) {#op, call_##op},
static const struct op_row {
    const char *name;
    op_call     call;
} rows[] = {EVERY(ROW)};
enum { ROWS = sizeof rows / sizeof *rows };

/* The part of a case's name before the '/'. */
static size_t op_length(const char *name) { return strcspn(name, "/"); }

static op_call call_of(const char *name) {
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == op_length(name) && strncmp(rows[i].name, name, op_length(name)) == 0) return rows[i].call;
    TEST_FAIL_MESSAGE(name);
    return NULL;
}

/* ---- reading a case ---- */

static cp_tensor *stored(const cp_st_entry *entry) {
    int      dims[CP_MAX_RANK], rank = golden_dims(entry, dims);
    cp_real *data = malloc((entry->count + 1) * sizeof *data);
    TEST_ASSERT_NOT_NULL(data);
    golden_reals(entry, data);
    cp_tensor *tensor = cp_variable(tape, data, cp_shape_of(rank, dims));
    free(data);
    return tensor;
}

static cp_tensor *synthetic(const char *name, const cp_st_entry *shape) {
    int        dims[CP_MAX_RANK], rank = golden_dims(shape, dims);
    cp_tensor *tensor = cp_full(tape, 0, cp_shape_of(rank, dims));
    golden_synthetic_reals(name, tensor->data, tensor->size);
    return cp_variable(tape, tensor->data, cp_shape_of(rank, dims));
}

/* Input number i: from the file, or synthetic numbers in its gradient's shape, or NULL. */
static cp_tensor *input(const char *name, int i) {
    char full[256];
    snprintf(full, sizeof full, "%s/in%d", name, i);
    const cp_st_entry *entry = golden_find(file, "%s", full);
    if (entry) return stored(entry);
    const cp_st_entry *gradient = golden_find(file, "%s/grad%d", name, i);
    return gradient ? synthetic(full, gradient) : NULL;
}

/* batch_norm starts where make_ops.py does, and the op updates persistent tensors. */
static cp_tensor *statistic(const char *name, bool positive) {
    cp_tensor *tensor = cp_tensor_new(CP_SHAPE(3));
    golden_synthetic_reals(name, tensor->data, 3);
    for (int i = 0; positive && i < 3; i++)
        tensor->data[i] = (tensor->data[i] < 0 ? -tensor->data[i] : tensor->data[i]) + (cp_real)0.5;
    return tensor;
}

static void arguments_read(const char *name, arguments *a) {
    *a = (arguments){0};
    while (a->inputs < INPUTS && (a->in[a->inputs] = input(name, a->inputs))) a->inputs++;
    const cp_st_entry *ints = golden_find(file, "%s/ints", name), *reals = golden_find(file, "%s/reals", name);
    const cp_st_entry *labels = golden_find(file, "%s/labels", name);
    if (ints) a->ints_count = golden_ints(ints, a->ints, INTS);
    TEST_ASSERT_TRUE(!reals || reals->count <= REALS);
    if (reals) golden_reals(reals, a->reals);
    if (labels) a->labels = (cp_labels){a->numbers, golden_ints(labels, a->numbers, LABELS)};
    a->places = (cp_indices){a->labels.at, a->labels.count};
    if (golden_find(file, "%s/running_mean", name)) {
        a->running_mean = statistic("running_mean", false);
        a->running_var = statistic("running_var", true);
    }
}

/* ---- checking a case ---- */

static bool has_gradients(const char *name) { return golden_find(file, "%s/grad0", name) != NULL; }

static void check_gradients(const char *name, const arguments *a, cp_tensor *out) {
    char       full[256];
    cp_tensor *gradients[INPUTS];
    snprintf(full, sizeof full, "%s/weight", name);
    cp_tensor *weight = synthetic(full, golden_need(file, "%s/out", name));
    cp_tensor *loss = cp_sum(tape, cp_mul(tape, out, weight), CP_ALL, false);
    TEST_ASSERT_TRUE(cp_grad(tape, loss, a->in, a->inputs, gradients));
    for (int i = 0; i < a->inputs; i++) golden_equals(golden_need(file, "%s/grad%d", name, i), gradients[i], GOLDEN_TOLERANCE);
}

static void check_statistics(const char *name, arguments *a) {
    if (!a->running_mean) return;
    golden_equals(golden_need(file, "%s/running_mean", name), a->running_mean, GOLDEN_TOLERANCE);
    golden_equals(golden_need(file, "%s/running_var", name), a->running_var, GOLDEN_TOLERANCE);
    cp_tensor_free(a->running_mean);
    cp_tensor_free(a->running_var);
}

/* Single values must agree to a few units in the last place. */
#define EACH_TOLERANCE (16 * (double)CP_REAL_EPSILON)

static void check_case(const char *name) {
    arguments a;
    arguments_read(name, &a);
    cp_tensor         *out = call_of(name)(&a);
    const cp_st_entry *expected = golden_need(file, "%s/out", name);
    if (has_gradients(name)) {
        golden_equals(expected, out, GOLDEN_TOLERANCE);
        check_gradients(name, &a, out);
    } else {
        golden_equals_each(expected, out, EACH_TOLERANCE);
    }
    check_statistics(name, &a);
}

static const char *current;

static void the_case_equals_pytorch(void) { check_case(current); }

/* The name of the case whose result entry i is; false for other entries. */
static bool case_name(size_t i, char *name, size_t size) {
    const char *entry = golden_name(file, i), *end = strrchr(entry, '/');
    if (!end || strcmp(end, "/out") != 0) return false;
    snprintf(name, size, "%.*s", (int)(end - entry), entry);
    return true;
}

/* Variants called double... contain numbers that a float cannot represent. */
static bool beyond_float(const char *name) { return strncmp(name + op_length(name), "/double", 7) == 0; }

static void every_case_equals_pytorch(void) {
    for (size_t i = 0; i < golden_count(file); i++) {
        char name[256], sentence[300];
        if (!case_name(i, name, sizeof name)) continue;
        if (!CP_DOUBLE && beyond_float(name)) {
            golden_need(file, "%s/in0", name), golden_need(file, "%s/out", name);
            continue;
        }
        current = name;
        snprintf(sentence, sizeof sentence, "%s_equals_pytorch", name);
        UnityDefaultTestRun(the_case_equals_pytorch, sentence, __LINE__);
    }
}

static void every_array_of_the_golden_file_was_used(void) {
    const char *forgotten = golden_not_looked_at(file);
    TEST_ASSERT_NULL_MESSAGE(forgotten, forgotten);
}

/* PyTorch has no equivalent: the mask of dropout is Couplet's own, accumulate is the sweep's addition, and recompute has other ops' values. */
static bool is_excused(const char *op) {
    return strcmp(op, "dropout") == 0 || strcmp(op, "accumulate") == 0 || strcmp(op, "recompute") == 0;
}

static bool has_case(const char *op) {
    size_t length = strlen(op);
    for (size_t i = 0; i < golden_count(file); i++)
        if (strncmp(golden_name(file, i), op, length) == 0 && golden_name(file, i)[length] == '/') return true;
    return false;
}

static void every_op_has_a_golden_case(void) {
    int                        count;
    const struct cp_op *const *ops = cp_op_list(&count);
    for (int i = 0; i < count; i++) TEST_ASSERT_TRUE_MESSAGE(is_excused(ops[i]->name) || has_case(ops[i]->name), ops[i]->name);
}

static void the_golden_file_can_be_read(void) { file = golden_open("ops.safetensors"); }

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_golden_file_can_be_read);
    if (file) {
        every_case_equals_pytorch();
        RUN_TEST(every_array_of_the_golden_file_was_used);
        RUN_TEST(every_op_has_a_golden_case);
        golden_close(file);
    }
    return UNITY_END();
}
