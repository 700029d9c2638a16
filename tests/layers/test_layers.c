/* Layers compared with their definitions: the classic residual block, the initializers' slope, long sequences. */
#include "layers/layers.h"

#include "optim/grads.h"
#include "tests/support/setup_layers.h"

#include <math.h>

static cp_tensor *noise(cp_shape shape) {
    cp_tensor *t = cp_full(tape, 0, shape);
    cp_rng_fill_normal(&rng, t->data, t->size, 0, 1);
    return t;
}

static void equal(const cp_tensor *a, const cp_tensor *b) {
    TEST_ASSERT_TRUE(a && b && cp_shape_same(a, b));
    for (size_t i = 0; i < a->size; i++) TEST_ASSERT_DOUBLE_WITHIN(1e-4, (double)a->data[i], (double)b->data[i]);
}

/* ---- residual blocks ---- */

static cp_tensor *convolved(const cp_conv *conv, cp_tensor *x, int stride, int padding) {
    cp_conv2d_config config = {CP_STRIDE(stride), CP_PAD(padding)};
    return cp_conv2d(tape, x, conv->weight, conv->bias, config);
}

static cp_tensor *normed(const cp_norm *norm, cp_tensor *x) {
    return norm->config.kind == CP_NORM_GROUP ? cp_group_norm(tape, x, norm->weight, norm->bias, norm->config.groups, (cp_real)1e-5)
                                              : cp_layer_norm(tape, x, norm->weight, norm->bias, (cp_real)1e-5);
}

/* The block from plain ops; the sizes decide whether there is a shortcut. */
static cp_tensor *composed(const cp_block *b, cp_tensor *x) {
    bool       classic = b->config.layout == CP_BLOCK_CLASSIC;
    int        stride = b->config.stride;
    cp_tensor *active = cp_activate(tape, normed(&b->norm1, x), b->config.activation), *side = x;
    cp_tensor *h = convolved(&b->conv1, active, classic ? stride : 1, 1);
    h = convolved(&b->conv2, cp_activate(tape, normed(&b->norm2, h), b->config.activation), classic ? 1 : stride, 1);
    if (b->shortcut.weight) side = convolved(&b->shortcut, classic ? active : x, stride, 0);
    return cp_add(tape, h, side);
}

static cp_block block_of(cp_block_config config) {
    char path[32];
    snprintf(path, sizeof path, "block%d", params->count);
    cp_block block = cp_block_make(params, path, config, &rng);
    TEST_ASSERT_EQUAL_INT(config.stride != 1 || config.out != 3, block.shortcut.weight != NULL);
    cp_rng_fill_normal(&rng, block.norm1.bias->data, block.norm1.bias->size, 0, 1);
    return block;
}

static void residual_blocks_follow_their_layout(void) {
    const cp_activation activations[] = {CP_LEAKY_RELU, CP_RELU, CP_SWISH};
    for (int layout = CP_BLOCK_JEM; layout <= CP_BLOCK_CLASSIC; layout++)
        for (int k = 0; k < 6; k++)
            for (int stride = 1; stride <= 2; stride++)
                for (int out = 3; out <= 5; out += 2) {
                    cp_block   block = block_of((cp_block_config){.in = 3,
                                                                  .out = out,
                                                                  .stride = stride,
                                                                  .norm = k % 2 ? CP_NORM_GROUP : CP_NORM_LAYER,
                                                                  .activation = activations[k / 2],
                                                                  .layout = (cp_block_layout)layout});
                    cp_tensor *x = noise(CP_SHAPE(2, 7, 6, 3)), *expected = composed(&block, x);
                    equal(expected, cp_block_forward(tape, &block, x, CP_TRAINING));
                    cp_tape_reset(tape);
                }
}

/* dE/dx of E = sum(block(x)^2), by kernels or by ops. */
static cp_tensor *slope_at(const cp_block *block, cp_tensor *x, bool recorded) {
    cp_tensor *y = cp_block_forward(tape, block, x, CP_EVALUATION), *energy = cp_sum(tape, cp_square(tape, y), CP_ALL, false), *dx;
    TEST_ASSERT_TRUE(recorded ? cp_grad_recorded(tape, energy, &x, 1, &dx) : cp_grad(tape, energy, &x, 1, &dx));
    return dx;
}

static double penalty_at(const cp_block *block, const cp_tensor *x) {
    cp_tensor *dx = slope_at(block, cp_variable(tape, x->data, x->shape), false);
    return (double)cp_item(cp_sum(tape, cp_square(tape, dx), CP_ALL, false));
}

/* The gradient of |dE/dx|^2 at the weights, by a recorded sweep, compared with differences of the kernels' results. */
static void a_gradient_penalty_works_through_blocks_with_norms(void) {
    const cp_real h = CP_DOUBLE ? (cp_real)1e-6 : (cp_real)1e-3;
    for (cp_norm_kind kind = CP_NORM_GROUP; kind <= CP_NORM_LAYER; kind++) {
        cp_block   block = block_of((cp_block_config){.in = 3, .out = 4, .stride = 2, .norm = kind});
        cp_tensor *x = cp_tensor_new(CP_SHAPE(2, 5, 4, 3)), *at = block.norm2.weight, *gradient;
        cp_rng_fill_normal(&rng, x->data, x->size, 0, 1);
        cp_tensor *here = cp_variable(tape, x->data, x->shape), *dx = slope_at(&block, here, true);
        equal(slope_at(&block, here, false), dx);
        TEST_ASSERT_TRUE(cp_grad(tape, cp_sum(tape, cp_square(tape, dx), CP_ALL, false), &at, 1, &gradient));
        for (size_t i = 0; i < at->size; i++) {
            const cp_real was = at->data[i];
            at->data[i] = was + h;
            const double above = penalty_at(&block, x);
            at->data[i] = was - h;
            const double below = penalty_at(&block, x), slope = (above - below) / (2 * (double)h);
            at->data[i] = was;
            TEST_ASSERT_DOUBLE_WITHIN((CP_DOUBLE ? 1e-5 : 0.03) * (1 + fabs(slope)), slope, (double)gradient->data[i]);
        }
        cp_tensor_free(x);
        cp_tape_reset(tape);
    }
}

/* ---- initializers ---- */

static double variance(const cp_tensor *t) {
    double sum = 0;
    for (size_t i = 0; i < t->size; i++) sum += (double)t->data[i] * (double)t->data[i];
    return sum / (double)t->size;
}

static void kaiming_initializers_follow_the_slope_of_the_activation(void) {
    const cp_activation activations[] = {CP_LEAKY_RELU, CP_RELU, CP_IDENTITY};
    const double        gain[] = {2 / 1.04, 2, 1};
    for (int k = 0; k < 3; k++) {
        cp_linear_config linear = {.in = 400, .out = 300, .init = CP_INIT_KAIMING_NORMAL, .activation = activations[k]};
        cp_conv_config   conv = {.in = 64, .out = 128, .init = CP_INIT_KAIMING_UNIFORM, .activation = activations[k]};
        cp_path          path = cp_path_index("", "layer", k);
        TEST_ASSERT_DOUBLE_WITHIN(0.015 * gain[k], gain[k], 400 * variance(cp_linear_make(params, path.s, linear, &rng).weight));
        path = cp_path_index("", "conv", k);
        TEST_ASSERT_DOUBLE_WITHIN(0.015 * gain[k], gain[k], 9 * 64 * variance(cp_conv_make(params, path.s, conv, &rng).weight));
    }
}

/* ---- long sequences ---- */

/* The mean square of the first weight's gradient after T steps. */
static double gradient_after(const cp_lstm *lstm, int time) {
    cp_tensor *last, *x = noise(CP_SHAPE(2, time, 4)), *out = cp_lstm_forward(tape, lstm, x, &last);
    TEST_ASSERT_TRUE(cp_shape_is(out, CP_SHAPE(2, time, 12)));
    TEST_ASSERT_TRUE(cp_backward(tape, cp_sum(tape, last, CP_ALL, false), params));
    double gradient = variance(params->at[0].grad);
    cp_tape_reset(tape);
    return gradient;
}

static void an_lstm_has_gradients_for_sequences_of_any_length(void) {
    cp_lstm lstm = cp_lstm_make(params, "", (cp_lstm_config){.in = 4, .hidden = 6, .layers = 2, .bidirectional = true}, &rng);
    for (int time = 1; time <= 1025; time = 2 * time + (time < 8)) TEST_ASSERT_TRUE(gradient_after(&lstm, time) > 0);
}

/* ---- sequences of several lengths ---- */

/* Outputs of the LSTM for sequences alone, without padding, must be those in a padded batch. */
static void an_lstm_ends_where_each_sequence_does(void) {
    enum { N = 3, T = 5, D = 4 };
    static const int lengths[N] = {5, 1, 3};
    for (int directions = 1; directions <= 2; directions++) {
        char path[16];
        snprintf(path, sizeof path, "d%d", directions);
        cp_lstm_config config = {.in = D, .hidden = 6, .layers = 2, .bidirectional = directions == 2};
        cp_lstm        lstm = cp_lstm_make(params, path, config, &rng);
        cp_tensor     *x = noise(CP_SHAPE(N, T, D)), *last, *alone;
        x->lengths = lengths;
        TEST_ASSERT_NOT_NULL(cp_lstm_forward(tape, &lstm, x, &last));
        TEST_ASSERT_TRUE(cp_shape_is(last, CP_SHAPE(N, 6 * directions)));
        for (int n = 0; n < N; n++) {
            cp_tensor *part = cp_constant(tape, x->data + n * T * D, CP_SHAPE(1, lengths[n], D));
            TEST_ASSERT_NOT_NULL(cp_lstm_forward(tape, &lstm, part, &alone));
            for (int i = 0; i < alone->dims[1]; i++)
                TEST_ASSERT_TRUE(fabs((double)alone->data[i] - (double)last->data[n * alone->dims[1] + i]) < 1e-6);
        }
        cp_tape_reset(tape);
    }
}

static void a_padded_sequence_passes_through_transformer_blocks_as_it_does_alone(void) {
    enum { N = 3, T = 5, D = 4 };
    static const int lengths[N] = {5, 1, 3};
    cp_transformer   blocks[2];
    for (int k = 0; k < 2; k++)
        blocks[k] =
            cp_transformer_make(params, cp_path_index("", "block", k).s, (cp_transformer_config){.size = D, .heads = 2}, &rng);
    cp_tensor *x = noise(CP_SHAPE(N, T, D)), *both = x;
    x->lengths = lengths;
    for (int k = 0; k < 2; k++) both = cp_transformer_forward(tape, &blocks[k], both);
    for (int n = 0; n < N; n++) {
        cp_tensor *alone = cp_constant(tape, x->data + n * T * D, CP_SHAPE(1, lengths[n], D));
        for (int k = 0; k < 2; k++) alone = cp_transformer_forward(tape, &blocks[k], alone);
        for (int i = 0; i < lengths[n] * D; i++)
            TEST_ASSERT_DOUBLE_WITHIN(1e-5, (double)alone->data[i], (double)both->data[n * T * D + i]);
    }
}

static void causal_attention_does_not_see_later_steps(void) {
    cp_attention layer = cp_attention_make(params, "", (cp_attention_config){.size = 4, .causal = true}, &rng);
    cp_tensor   *x = cp_variable_of(tape, noise(CP_SHAPE(1, 5, 4))), *dx;
    cp_tensor   *y = cp_attention_forward(tape, &layer, x, NULL);
    cp_tensor   *third = cp_slice(tape, y, (int[]){0, 2, 0}, (int[]){1, 3, 4}, NULL);
    TEST_ASSERT_TRUE(cp_grad(tape, cp_sum(tape, cp_square(tape, third), CP_ALL, false), &x, 1, &dx));
    for (int i = 0; i < 20; i++) TEST_ASSERT_TRUE((dx->data[i] != 0) == (i < 12));
}

static void an_lstm_refuses_lengths_out_of_range(void) {
    cp_lstm lstm = cp_lstm_make(params, "", (cp_lstm_config){.in = 4, .hidden = 6}, &rng);
    for (int k = 0; k < 2; k++) {
        cp_tensor *x = noise(CP_SHAPE(2, 3, 4));
        x->lengths = k ? (int[]){3, 4} : (int[]){3, 0};
        TEST_ASSERT_NULL(cp_lstm_forward(tape, &lstm, x, NULL));
        expect_error(k ? "sequence 1 has length 4; 1 to 3 are possible" : "sequence 1 has length 0");
        cp_tape_reset(tape);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(residual_blocks_follow_their_layout);
    RUN_TEST(a_gradient_penalty_works_through_blocks_with_norms);
    RUN_TEST(kaiming_initializers_follow_the_slope_of_the_activation);
    RUN_TEST(an_lstm_has_gradients_for_sequences_of_any_length);
    RUN_TEST(an_lstm_ends_where_each_sequence_does);
    RUN_TEST(a_padded_sequence_passes_through_transformer_blocks_as_it_does_alone);
    RUN_TEST(causal_attention_does_not_see_later_steps);
    RUN_TEST(an_lstm_refuses_lengths_out_of_range);
    return UNITY_END();
}
