/* Segments that the sweep computes again: the same bits as without, less memory, and what is refused. */
#include "couplet.h"

#include "tests/support/setup_layers.h"

#include <string.h>

enum { ROWS = 6, WIDTH = 8, DEPTH = 4 };

typedef struct layer {
    cp_linear a, b;
    cp_norm   norm;
    cp_rng   *rng;
} layer;

static layer  layers[DEPTH];
static cp_rng drops;

static void make_layers(cp_norm_kind norm) {
    for (int i = 0; i < DEPTH; i++) {
        char path[] = {'l', (char)('0' + i), 0};
        layers[i].a = cp_linear_make(params, cp_path_join(path, "a").s, (cp_linear_config){.in = WIDTH, .out = 4 * WIDTH}, &rng);
        layers[i].b = cp_linear_make(params, cp_path_join(path, "b").s, (cp_linear_config){.in = 4 * WIDTH, .out = WIDTH}, &rng);
        layers[i].norm = cp_norm_make(params, cp_path_join(path, "n").s, (cp_norm_config){.kind = norm, .channels = 4 * WIDTH});
        layers[i].rng = &drops;
    }
}

/* x + b(dropout(tanh(norm(a(x))))) */
static cp_tensor *residual(cp_at at, void *context, cp_tensor *const *in) {
    const layer *l = context;
    cp_tensor   *h = cp_norm_forward(at, &l->norm, cp_linear_forward(at, &l->a, in[0]), CP_TRAINING);
    h = cp_dropout(at, cp_tanh(at, h), (cp_real)0.25, l->rng, true);
    return cp_add(at, in[0], cp_linear_forward(at, &l->b, h));
}

static const cp_real *input(void) {
    static cp_real values[ROWS * WIDTH];
    cp_rng         stream = cp_rng_named(1, "x");
    cp_rng_fill_normal(&stream, values, ROWS * WIDTH, 0, 1);
    return values;
}

/* The loss of all layers, at x. */
static cp_tensor *loss_of(cp_tensor *x, bool again) {
    drops = cp_rng_named(2, "drops");
    for (int i = 0; i < DEPTH; i++)
        x = again ? cp_recompute(tape, residual, &layers[i], &x, 1, &drops) : residual(CP_AT(tape), &layers[i], &x);
    return cp_mean(tape, cp_square(tape, x), CP_ALL, false);
}

enum { VALUES = 4096 };

/* Gradients at x and all parameters, then all buffers, and the state of the stream, as one array; returns how many. */
static int gradients_of(bool again, cp_real values[VALUES]) {
    cp_tensor *x = cp_variable(tape, input(), CP_SHAPE(ROWS, WIDTH)), *dx, *loss = loss_of(x, again);
    int        n = 0;
    TEST_ASSERT_TRUE(cp_grad(tape, loss, &x, 1, &dx) && cp_backward(tape, loss, params));
    for (int i = -1; i < params->count; i++) {
        const cp_tensor *t = i < 0 ? dx : params->at[i].buffer ? params->at[i].value : params->at[i].grad;
        memcpy(values + n, t->data, t->size * sizeof *t->data);
        n += (int)t->size;
    }
    values[n++] = cp_item(loss);
    values[n++] = (cp_real)drops.position;
    cp_tape_reset(tape);
    TEST_ASSERT_LESS_THAN(VALUES, n);
    return n;
}

static void start_over(cp_norm_kind norm) {
    cp_params_free(params);
    params = cp_params_new();
    rng = cp_rng_named(3, "test");
    make_layers(norm);
}

static void gradients_and_running_statistics_have_the_bits_of_the_plain_computation(void) {
    static cp_real            plain[VALUES], again[VALUES];
    static const cp_norm_kind norms[] = {CP_NORM_BATCH, CP_NORM_LAYER, CP_NORM_GROUP};
    for (int k = 0; k < 3; k++) {
        start_over(norms[k]);
        int n = gradients_of(false, plain);
        start_over(norms[k]);
        TEST_ASSERT_EQUAL_INT(n, gradients_of(true, again));
        TEST_ASSERT_EQUAL_MEMORY(plain, again, (size_t)n * sizeof *plain);
    }
}

/* The gradient of a gradient penalty. */
static int second_order(bool again, cp_real values[VALUES]) {
    cp_tensor *x = cp_variable(tape, input(), CP_SHAPE(ROWS, WIDTH)), *dx;
    TEST_ASSERT_TRUE(cp_grad_recorded(tape, loss_of(x, again), &x, 1, &dx));
    TEST_ASSERT_TRUE(cp_backward(tape, cp_sum(tape, cp_square(tape, dx), CP_ALL, false), params));
    int n = 0;
    for (int i = 0; i < params->count; i++) {
        const cp_tensor *t = params->at[i].grad;
        for (size_t k = 0; t && k < t->size; k++) values[n++] = t->data[k];
    }
    cp_tape_reset(tape);
    return n;
}

static void second_order_equals_the_plain_computation(void) {
    static cp_real plain[VALUES], again[VALUES];
    start_over(CP_NORM_LAYER);
    int n = second_order(false, plain);
    TEST_ASSERT_EQUAL_INT(n, second_order(true, again));
    for (int i = 0; i < n; i++) TEST_ASSERT_DOUBLE_WITHIN(CP_DOUBLE ? 1e-12 : 1e-4, (double)plain[i], (double)again[i]);
}

static void less_memory_is_in_use(void) {
    static cp_real values[VALUES];
    start_over(CP_NORM_LAYER);
    gradients_of(false, values);
    size_t plain = cp_tape_peak(tape);
    cp_tape_free(tape);
    tape = cp_tape_new();
    gradients_of(true, values);
    TEST_ASSERT_LESS_THAN(plain, cp_tape_peak(tape));
}

static void a_frozen_or_paused_tape_works_too(void) {
    start_over(CP_NORM_LAYER);
    cp_tensor *dx[2];
    cp_tape_freeze(tape, true);
    for (int again = 0; again < 2; again++) {
        cp_tensor *x = cp_variable(tape, input(), CP_SHAPE(ROWS, WIDTH));
        TEST_ASSERT_TRUE(cp_grad(tape, loss_of(x, again), &x, 1, &dx[again]));
    }
    TEST_ASSERT_EQUAL_MEMORY(dx[0]->data, dx[1]->data, dx[0]->size * sizeof(cp_real));
    cp_tape_pause(tape, true);
    int length = cp_tape_length(tape);
    TEST_ASSERT_FALSE(loss_of(cp_variable(tape, input(), CP_SHAPE(ROWS, WIDTH)), true)->tracked);
    TEST_ASSERT_EQUAL_INT(length, cp_tape_length(tape));
}

/* in[0] in[1] in[0], and a segment in a segment. */
static cp_tensor *product(cp_at at, void *context, cp_tensor *const *in) {
    (void)context;
    return cp_mul(at, cp_mul(at, in[0], in[1]), in[0]);
}

static cp_tensor *nested(cp_at at, void *context, cp_tensor *const *in) {
    return cp_square(at, cp_recompute(at, product, context, in, 2, NULL));
}

static void inputs_may_be_parameters_constants_or_the_same_and_segments_may_be_nested(void) {
    cp_tensor *w = cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(2)), *dx, *dw;
    w->data[0] = 3, w->data[1] = 5;
    for (int recorded = 0; recorded < 2; recorded++) {
        cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), *in[] = {x, w}, *same[] = {x, x}, *twice[] = {w, w};
        cp_tensor *loss = cp_sum(tape, cp_recompute(tape, nested, NULL, in, 2, NULL), CP_ALL, false); /* sum (x^2 w)^2 */
        bool (*grad)(cp_at, cp_tensor *, cp_tensor *const *, int, cp_tensor **) = recorded ? (cp_grad_recorded) : (cp_grad);
        TEST_ASSERT_TRUE(grad(CP_AT(tape), loss, &x, 1, &dx) && grad(CP_AT(tape), loss, &w, 1, &dw));
        TEST_ASSERT_TRUE(dx->data[0] == 36 && dx->data[1] == 800 && dw->data[0] == 6 && dw->data[1] == 160);
        loss = cp_sum(tape, cp_recompute(tape, product, NULL, same, 2, NULL), CP_ALL, false); /* sum x^3 */
        TEST_ASSERT_TRUE(grad(CP_AT(tape), loss, &x, 1, &dx));
        TEST_ASSERT_TRUE(dx->data[0] == 3 && dx->data[1] == 12);
        loss = cp_sum(tape, cp_recompute(tape, product, NULL, twice, 2, NULL), CP_ALL, false); /* sum w^3 */
        TEST_ASSERT_TRUE(grad(CP_AT(tape), loss, &w, 1, &dw));
        TEST_ASSERT_TRUE(dw->data[0] == 27 && dw->data[1] == 75);
        cp_tensor *fixed[] = {cp_constant(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), w};
        TEST_ASSERT_TRUE(
            grad(CP_AT(tape), cp_sum(tape, cp_recompute(tape, product, NULL, fixed, 2, NULL), CP_ALL, false), &w, 1, &dw));
        TEST_ASSERT_TRUE(dw->data[0] == 1 && dw->data[1] == 4);
    }
}

static cp_tensor *draws(cp_at at, void *context, cp_tensor *const *in) {
    return cp_dropout(at, in[0], (cp_real)0.5, context, true);
}

static cp_tensor *escapes(cp_at at, void *context, cp_tensor *const *in) {
    (void)at, (void)in;
    return context;
}

static cp_tensor *fails(cp_at at, void *context, cp_tensor *const *in) {
    (void)context;
    return cp_add(at, in[0], NULL);
}

static void a_second_run_with_other_values_and_bad_calls_are_misuse(void) {
    cp_tensor *w = cp_params_add(params, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(64)), *x, *dx;
    x = cp_variable(tape, (cp_real[64]){1}, CP_SHAPE(64));
    cp_tensor_fill(x, 1);
    cp_tensor *loss = cp_sum(tape, cp_recompute(tape, draws, &rng, &x, 1, NULL), CP_ALL, false);
    TEST_ASSERT_FALSE(cp_grad(tape, loss, &x, 1, &dx));
    expect_error_in("recompute", "the segment gave other values when it was computed again", __FILE__);
    cp_tape_reset(tape);

    cp_tensor_fill(w, 1);
    x = cp_variable_of(tape, w);
    loss = cp_sum(tape, cp_recompute(tape, product, NULL, (cp_tensor *[]){x, w}, 2, NULL), CP_ALL, false);
    cp_tensor_fill(w, 2);
    TEST_ASSERT_FALSE(cp_grad(tape, loss, &x, 1, &dx));
    expect_error("a parameter or its context has changed");
    cp_tape_reset(tape);

    x = cp_variable_of(tape, w);
    TEST_ASSERT_NULL(cp_recompute(tape, escapes, cp_square(tape, x), &x, 1, NULL));
    expect_error("the segment's result is not on the tape that it was given");
    errors_forgive(tape);
    TEST_ASSERT_NULL(cp_recompute(tape, fails, NULL, &x, 1, NULL));
    expect_error("add: argument 2 is NULL");
    errors_forgive(tape);
    TEST_ASSERT_NULL(cp_recompute(tape, NULL, NULL, &x, 1, NULL));
    expect_error("recompute: the segment or its inputs are NULL");
    TEST_ASSERT_NULL(cp_recompute(tape, product, NULL, NULL, 1, NULL));
    expect_error("recompute: the segment or its inputs are NULL");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(gradients_and_running_statistics_have_the_bits_of_the_plain_computation);
    RUN_TEST(second_order_equals_the_plain_computation);
    RUN_TEST(less_memory_is_in_use);
    RUN_TEST(a_frozen_or_paused_tape_works_too);
    RUN_TEST(inputs_may_be_parameters_constants_or_the_same_and_segments_may_be_nested);
    RUN_TEST(a_second_run_with_other_values_and_bad_calls_are_misuse);
    return UNITY_END();
}
