/* Misuse of layers, networks, heads and models: refused in one line that names this file, without leaving anything half-made. */
#include "models/model.h"

#include "tests/support/setup_layers.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* There was one message with this text, from this file, since the last call. */
static void refused(const char *text) {
    TEST_ASSERT_EQUAL_STRING(__FILE__, last_error_file);
    expect_error(text);
}

/* The same, and the set is still empty. */
static void not_made(const void *made, const char *text) {
    TEST_ASSERT_NULL(made);
    refused(text);
    TEST_ASSERT_EQUAL_INT(0, params->count);
}

#define LINEAR(...) cp_linear_make(params, "a", (cp_linear_config){__VA_ARGS__}, &rng).weight
#define CONV(...) cp_conv_make(params, "a", (cp_conv_config){__VA_ARGS__}, &rng).weight
#define NORM(...) cp_norm_make(params, "a", (cp_norm_config){__VA_ARGS__}).weight
#define BLOCK(...) cp_block_make(params, "a", (cp_block_config){__VA_ARGS__}, &rng).conv1.weight
#define LSTM(...) cp_lstm_make(params, "a", (cp_lstm_config){__VA_ARGS__}, &rng).cell[0][0].weight_ih
#define GAUSSIAN(...) cp_gaussian_softmax_make(params, "a", (cp_gaussian_softmax_config){__VA_ARGS__}, &rng).weight

static void layers_of_impossible_sizes_are_not_made(void) {
    not_made(LINEAR(.out = 4), "linear_make: in is 0 and out is 4; both must be positive");
    not_made(LINEAR(.in = 2, .out = -1), "out is -1");
    not_made(CONV(.in = 0, .out = 4), "conv_make: in is 0 and out is 4");
    not_made(CONV(.in = 3, .out = 4, .kernel = -3), "kernel -3");
    not_made(CONV(.in = 3, .out = 4, .padding = -1), "padding -1");
    not_made(CONV(.in = 4, .out = 6, .groups = 4), "groups is 4; it must divide in, 4, and out, 6");
    not_made(CONV(.in = 4, .out = 4, .groups = -1), "groups is -1");
    not_made(CONV(.in = 4, .out = 4, .kernel = 46341), "too large");
    not_made(NORM(.kind = CP_NORM_BATCH), "norm_make: channels is 0; it must be positive");
    not_made(NORM(.kind = CP_NORM_GROUP, .channels = 6, .groups = 4), "groups is 4; it must divide channels, 6");
    not_made(NORM(.kind = (cp_norm_kind)9, .channels = 6), "9 is not a normalization");
    not_made(BLOCK(.in = 3), "block_make: in is 3 and out is 0");
    not_made(BLOCK(.in = 3, .out = 3, .stride = -2), "stride is -2");
    not_made(LSTM(.in = 3), "lstm_make: in is 3 and hidden is 0");
    not_made(LSTM(.in = 3, .hidden = INT_MAX / 4), "and hidden smaller");
    not_made(LSTM(.in = 3, .hidden = 2, .layers = 9), "layers is 9; 1 to 8 are possible");
    not_made(LSTM(.in = 3, .hidden = 2, .layers = -1), "layers is -1");
    not_made(GAUSSIAN(.features = 3), "gaussian_softmax_make: features is 3 and classes is 0");
    not_made(GAUSSIAN(.features = 46341, .classes = 2), "a full precision matrix can have 46340");
    not_made(GAUSSIAN(.features = 2, .classes = 2, .precision = (cp_precision)7), "7 is not a precision");
}

static void layers_need_a_parameter_set_and_a_stream(void) {
    cp_linear_make(NULL, "a", (cp_linear_config){.in = 2, .out = 2}, &rng);
    refused("linear_make: the parameter set is NULL");
    cp_norm_make(NULL, "a", (cp_norm_config){.kind = CP_NORM_BATCH, .channels = 2});
    refused("norm_make: the parameter set is NULL");
    not_made(cp_linear_make(params, "a", (cp_linear_config){.in = 2, .out = 2}, NULL).weight, "linear_make: rng is NULL");
    not_made(cp_conv_make(params, "a", (cp_conv_config){.in = 2, .out = 2}, NULL).weight, "conv_make: rng is NULL");
    not_made(cp_lstm_make(params, "a", (cp_lstm_config){.in = 2, .hidden = 2}, NULL).cell[0][0].bias_hh, "lstm_make: rng is NULL");
    not_made(cp_net_new(&cp_net_wrn, params, "", &(cp_wrn_config){0}, NULL), "wrn_new: rng is NULL");
}

static void a_layer_whose_name_is_taken_adds_nothing(void) {
    cp_params_add(params, "a", "bias", CP_LAYOUT_PLAIN, CP_SHAPE(3));
    TEST_ASSERT_NULL(LINEAR(.in = 2, .out = 3));
    refused("a.bias is taken");
    cp_linear none = cp_linear_make(params, "b", (cp_linear_config){0}, &rng);
    refused("in is 0");
    cp_tensor *x = cp_full(tape, 1, CP_SHAPE(1, 2));
    TEST_ASSERT_NULL(cp_linear_forward(tape, &none, x));
    refused("linear: the layer has no weight (did cp_linear_make fail?)");
    cp_params_add(params, "norm", "bias", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    cp_norm norm = cp_norm_make(params, "norm", (cp_norm_config){.kind = CP_NORM_LAYER, .channels = 2});
    refused("norm.bias is taken");
    TEST_ASSERT_NULL(cp_norm_forward(tape, &norm, x, CP_TRAINING));
    refused("norm: the layer has no weight");
    cp_params_add(params, "block.conv2", "weight", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    TEST_ASSERT_NULL(cp_block_make(params, "block", (cp_block_config){.in = 2, .out = 2}, &rng).conv1.weight);
    refused("block.conv2.weight is taken");
}

static void networks_and_heads_that_cannot_be_made_are_null(void) {
    not_made(cp_net_new(&cp_net_wrn, params, "", &(cp_wrn_config){.depth = 12}, &rng), "wrn_new: depth is 12");
    not_made(cp_net_new(&cp_net_wrn, params, "", &(cp_wrn_config){.width = -1}, &rng), "width is -1");
    not_made(cp_net_new(&cp_net_mlp, params, "", &(cp_mlp_config){.sizes = {0, 3}}, &rng),
             "sizes[0] is 0; sizes must be 1 to 16 whole numbers from 1 to 1048576, then zeros");
    not_made(cp_net_new(&cp_net_mlp, params, "", &(cp_mlp_config){.sizes = {2, -3}}, &rng),
             "mlp_new: sizes[1] is -3; sizes must be");
    not_made(cp_net_new(&cp_net_mlp, params, "", &(cp_mlp_config){.sizes = {2, 0, 3}}, &rng), "sizes[2] is 3; sizes must be");
    not_made(cp_net_new(&cp_net_lstm, params, "", &(cp_lstm_config){.in = 2}, &rng), "hidden is 0");
    not_made(cp_head_new(NULL, params, "head", 2, 2, NULL, &rng), "head_new: the kind of head is NULL");
    not_made(cp_head_new(&cp_head_jem, params, "head", 0, 2, NULL, &rng), "features is 0 and classes is 2");
    cp_params_add(params, "layer1", "weight", CP_LAYOUT_PLAIN, CP_SHAPE(3));
    TEST_ASSERT_NULL(cp_net_new(&cp_net_mlp, params, "", &(cp_mlp_config){.sizes = {2, 3, 4}}, &rng));
    refused("layer1.weight is taken");
    cp_params_add(params, "head", "bias", CP_LAYOUT_PLAIN, CP_SHAPE(3));
    TEST_ASSERT_NULL(cp_head_new(&cp_head_hybrid, params, "head", 3, 3, NULL, &rng));
    refused("head.bias is taken");
}

static void models_that_cannot_be_made_are_null(void) {
    TEST_ASSERT_NULL(cp_model_new((cp_model_config){.model = "vit", .classes = 2}, &rng));
    refused("model_new: \"model\" is \"vit\"; it must be one of wrn, mlp, lstm");
    TEST_ASSERT_NULL(cp_model_new((cp_model_config){.head = "sigmoid", .classes = 2}, &rng));
    refused("model_new: \"head\" is \"sigmoid\"; it must be one of softmax, jem, hybrid");
    TEST_ASSERT_NULL(cp_model_new((cp_model_config){0}, &rng));
    refused("classes is 0; it must be a whole number from 1 to 1048576");
    TEST_ASSERT_NULL(cp_model_new((cp_model_config){.classes = 2}, NULL));
    refused("rng is NULL");
    cp_model_config deep = {.classes = 2, .model = "lstm", .lstm = {.in = 2, .hidden = 3, .layers = 9}};
    TEST_ASSERT_NULL(cp_model_new(deep, &rng));
    refused("layers is 9; it must be a whole number from 1 to 8");
    cp_model_config huge = {
        .classes = 2, .model = "mlp", .head = "hybrid", .hybrid = {.precision = CP_FULL}, .mlp = {.sizes = {50000}}};
    TEST_ASSERT_NULL(cp_model_new(huge, &rng));
    refused("the network has 50000 features; with these options a hybrid head can have 46340");
}

static void null_layers_tapes_and_inputs_are_refused_in_one_line(void) {
    const cp_gaussian_softmax_config two = {.features = 2, .classes = 2};

    cp_tape            *none = NULL;
    cp_tensor          *x = cp_full(tape, 1, CP_SHAPE(1, 2)), *images = cp_full(tape, 1, CP_SHAPE(1, 4, 4, 2));
    cp_linear           linear = cp_linear_make(params, "linear", (cp_linear_config){.in = 2, .out = 2}, &rng);
    cp_conv             conv = cp_conv_make(params, "conv", (cp_conv_config){.in = 2, .out = 2}, &rng);
    cp_block            block = cp_block_make(params, "block", (cp_block_config){.in = 2, .out = 2}, &rng);
    cp_lstm             lstm = cp_lstm_make(params, "lstm", (cp_lstm_config){.in = 2, .hidden = 2}, &rng);
    cp_gaussian_softmax gaussian = cp_gaussian_softmax_make(params, "g", two, &rng);
    cp_norm             norm = {0};
#define REFUSED(call, text)                                                                                                        \
    do {                                                                                                                           \
        errors_forgive(tape);                                                                                                      \
        TEST_ASSERT_NULL(call);                                                                                                    \
        refused(text);                                                                                                             \
    } while (0)
    REFUSED(cp_linear_forward(tape, NULL, x), "linear: the layer is NULL");
    REFUSED(cp_linear_forward(none, &linear, x), "the tape is NULL");
    REFUSED(cp_linear_forward(tape, &linear, NULL), "is NULL");
    REFUSED(cp_conv_forward(tape, NULL, images), "conv: the layer is NULL");
    REFUSED(cp_conv_forward(none, &conv, images), "the tape is NULL");
    REFUSED(cp_conv_forward(tape, &conv, NULL), "is NULL");
    REFUSED(cp_norm_forward(tape, NULL, x, CP_TRAINING), "norm: the layer is NULL");
    REFUSED(cp_norm_forward(tape, &norm, NULL, CP_TRAINING), "is NULL");
    REFUSED(cp_block_forward(tape, NULL, images, CP_TRAINING), "block: the block is NULL");
    REFUSED(cp_block_forward(none, &block, images, CP_TRAINING), "the tape is NULL");
    REFUSED(cp_block_forward(tape, &block, x, CP_TRAINING), "");
    REFUSED(cp_lstm_forward(tape, NULL, x, NULL), "lstm: the layer is NULL");
    REFUSED(cp_lstm_forward(none, &lstm, x, NULL), "the tape is NULL");
    REFUSED(cp_lstm_forward(tape, &lstm, NULL, NULL), "is NULL");
    REFUSED(cp_lstm_forward(tape, &(cp_lstm){0}, x, NULL), "lstm: the layer has no weights");
    REFUSED(cp_gaussian_softmax_logits(tape, NULL, x), "gaussian_softmax: the layer is NULL");
    REFUSED(cp_gaussian_softmax_posterior(tape, NULL, x), "the layer is NULL");
    REFUSED(cp_gaussian_softmax_bayes_posterior(tape, NULL, x), "the layer is NULL");
    REFUSED(cp_gaussian_softmax_energy(none, &gaussian, x), "the tape is NULL");
    REFUSED(cp_gaussian_softmax_energy(tape, &gaussian, NULL), "is NULL");
    REFUSED(cp_gaussian_softmax_log_density(tape, &(cp_gaussian_softmax){0}, x), "did cp_gaussian_softmax_make fail?");
    REFUSED(cp_gaussian_softmax_penalty(tape, NULL), "the layer is NULL");
    TEST_ASSERT_FALSE(cp_gaussian_softmax_associate(none, &gaussian));
    refused("the tape is NULL");
    REFUSED(cp_net_forward(tape, NULL, x, CP_TRAINING), "the network is NULL");
    REFUSED(cp_model_energy_of(CP_AT(tape), NULL, x), "model_energy_of: the target is NULL");
    REFUSED(cp_model_energy_of(CP_AT(tape), &(cp_model_target){0}, x), "the model is NULL");
}

static void layers_of_sequences_and_transposed_convolutions_refuse_what_does_not_fit(void) {
    cp_conv        up = cp_conv_transpose_make(params, "up", (cp_conv_config){.in = 2, .out = 3, .stride = 2}, &rng);
    cp_conv        taps = cp_conv_make(params, "taps", (cp_conv_config){.in = 2, .out = 3, .kernel_h = 1}, &rng);
    cp_gru         gru = cp_gru_make(params, "gru", (cp_gru_config){.in = 2, .hidden = 2}, &rng);
    cp_embedding   table = cp_embedding_make(params, "table", (cp_embedding_config){.count = 4, .size = 2}, &rng);
    cp_attention   attention = cp_attention_make(params, "attention", (cp_attention_config){.size = 2}, &rng);
    cp_transformer block = cp_transformer_make(params, "transformer", (cp_transformer_config){.size = 2, .heads = 2}, &rng);
    TEST_ASSERT_TRUE(up.bias && taps.bias && gru.cell[0][0].bias_hh && table.weight && attention.out.bias && block.norm2.bias);
    TEST_ASSERT_EQUAL_INT(8, block.linear1.weight->dims[1]);
    cp_tape   *none = NULL;
    cp_tensor *x = cp_full(tape, 1, CP_SHAPE(2, 3, 2)), *wide = cp_full(tape, 1, CP_SHAPE(2, 3, 5)),
              *one = cp_full(tape, 1, CP_SHAPE(1, 3, 2));
    REFUSED(cp_conv_transpose_forward(tape, NULL, x), "conv_transpose: the layer is NULL");
    REFUSED(cp_conv_transpose_forward(tape, &(cp_conv){0}, x), "conv_transpose: the layer has no weight");
    REFUSED(cp_conv_transpose_forward(tape, &up, x), "conv_transpose: x has shape (2, 3, 2); it needs 4 axes");
    REFUSED(cp_conv_forward(tape, &taps, wide), "conv1d: image (2, 1, 3, 5)");
    REFUSED(cp_gru_forward(tape, NULL, x, NULL), "gru: the layer is NULL");
    REFUSED(cp_gru_forward(tape, &(cp_gru){0}, x, NULL), "gru: the layer has no weights (did cp_gru_make fail?)");
    REFUSED(cp_gru_forward(tape, &gru, wide, NULL), "gru: x has shape (2, 3, 5); (N, T, 2) with T >= 1 is needed");
    REFUSED(cp_gru_forward(none, &gru, x, NULL), "the tape is NULL");
    REFUSED(cp_embedding_forward(tape, NULL, (cp_indices){0}, CP_SHAPE(0)), "embedding: the layer is NULL");
    REFUSED(cp_embedding_forward(tape, &table, ((cp_indices){(int[]){1, 4}, 2}), CP_SHAPE(2)),
            "index 4 at position 1 is outside 0..3");
    REFUSED(cp_embedding_forward(tape, &table, ((cp_indices){(int[]){1, 2}, 2}), CP_SHAPE(3)), "2 indices do not fill shape (3)");
    REFUSED(cp_attention_forward(tape, NULL, x, NULL), "attention: the layer is NULL");
    REFUSED(cp_attention_forward(tape, &attention, NULL, NULL), "argument 1 is NULL");
    REFUSED(cp_attention_forward(tape, &attention, wide, NULL), "attention: x has shape (2, 3, 5); (N, T, 2)");
    REFUSED(cp_attention_forward(tape, &attention, x, wide), "attention: context has shape (2, 3, 5)");
    REFUSED(cp_attention_forward(tape, &attention, x, one),
            "x (2, 3, 2) and context (1, 3, 2) have different numbers of sequences");
    REFUSED(cp_transformer_forward(tape, NULL, x), "transformer: the block is NULL");
    REFUSED(cp_transformer_forward(tape, &(cp_transformer){0}, x), "the block has no weights (did cp_transformer_make fail?)");
    REFUSED(cp_transformer_forward(tape, &block, NULL), "transformer: argument 1 is NULL");
    REFUSED(cp_transformer_forward(tape, &block, wide), "");
    x->lengths = (int[]){3, 0};
    REFUSED(cp_attention_forward(tape, &attention, x, NULL), "attention: sequence 1 has length 0; 1 to 3 are possible");
    errors_forgive(tape);
    int count = params->count;
    TEST_ASSERT_NULL(cp_conv_transpose_make(params, "bad", (cp_conv_config){.in = 2, .out = 3, .groups = 2}, &rng).weight);
    refused("conv_transpose_make: groups is 2; it must divide in, 2, and out, 3");
    TEST_ASSERT_NULL(cp_gru_make(params, "bad", (cp_gru_config){.in = 2}, &rng).cell[0][0].weight_ih);
    refused("gru_make: in is 2 and hidden is 0");
    TEST_ASSERT_NULL(cp_embedding_make(params, "bad", (cp_embedding_config){.count = 2}, &rng).weight);
    refused("embedding_make: count is 2 and size is 0; both must be positive");
    TEST_ASSERT_NULL(cp_attention_make(params, "bad", (cp_attention_config){.size = 5, .heads = 2}, &rng).weight);
    refused("attention_make: size is 5 and heads is 2; both must be positive, and heads divide size");
    TEST_ASSERT_NULL(cp_transformer_make(params, "bad", (cp_transformer_config){.size = 4, .hidden = -1}, &rng).norm2.weight);
    refused("transformer_make: hidden is -1");
    TEST_ASSERT_NULL(cp_transformer_make(params, "bad", (cp_transformer_config){.size = INT_MIN}, &rng).norm2.weight);
    refused("transformer_make: hidden is 0 and size is -2147483648");
    TEST_ASSERT_EQUAL_INT(count, params->count);
}

static void a_wrong_input_of_a_linear_layer_is_named_and_channels_first_images_are_recognized(void) {
    cp_linear  linear = cp_linear_make(params, "hidden", (cp_linear_config){.in = 8, .out = 4}, &rng);
    cp_tensor *x = cp_full(tape, 1, CP_SHAPE(2, 7)), *planes = cp_full(tape, 1, CP_SHAPE(2, 3, 9, 9));
    cp_conv    conv = cp_conv_make(params, "stem", (cp_conv_config){.in = 3, .out = 4}, &rng);
    REFUSED(cp_linear_forward(tape, &linear, x), "linear: x has shape (2, 7); hidden.weight (8, 4) needs (..., 8)");
    REFUSED(cp_conv_forward(tape, &conv, planes), "images are (N, H, W, C), this looks like (N, C, H, W)");
    cp_net *net = cp_net_new(&cp_net_wrn, params, "net", &(cp_wrn_config){.channels = 3}, &rng);
    REFUSED(cp_net_forward(tape, net, planes, CP_EVALUATION), "the channels of an image come last");
    cp_net_free(net);
}

static void heads_report_one_error_when_they_fail(void) {
    const cp_head_kind *kinds[] = {&cp_head_softmax, &cp_head_jem, &cp_head_hybrid};
    cp_tape            *none = NULL;
    cp_tensor          *z = cp_full(tape, 1, CP_SHAPE(1, 3)), *wide = cp_full(tape, 1, CP_SHAPE(1, 5));
    for (int k = 0; k < 3; k++) {
        cp_head *head = cp_head_new(kinds[k], params, kinds[k]->base.name, 3, 2, NULL, &rng);
        REFUSED(cp_head_energy(tape, head, wide), "(1, 5)");
        REFUSED(cp_head_posterior(tape, head, wide), "(1, 5)");
        REFUSED(cp_head_energy(tape, head, NULL), "head_energy: argument 1 is NULL");
        REFUSED(cp_head_energy(none, head, z), "head_energy: the tape is NULL");
        REFUSED(cp_head_penalty(none, head), "head_penalty: the tape is NULL");
        cp_head_free(head);
    }
    REFUSED(cp_head_logits(tape, NULL, z), "head_logits: the head is NULL");
    REFUSED(cp_head_posterior(tape, NULL, z), "head_posterior: the head is NULL");
    REFUSED(cp_head_class_energy(tape, NULL, z), "head_class_energy: the head is NULL");
    REFUSED(cp_head_energy(tape, NULL, z), "head_energy: the head is NULL");
    REFUSED(cp_head_penalty(tape, NULL), "head_penalty: the head is NULL");
}

static void the_precision_is_full_without_and_diagonal_with_a_network(void) {
    cp_gaussian_softmax_config four = {.features = 4, .classes = 2};
    cp_gaussian_softmax        alone = cp_gaussian_softmax_make(params, "g", four, &rng);
    TEST_ASSERT_EQUAL_INT(CP_FULL, alone.config.precision);
    TEST_ASSERT_EQUAL_INT(10, alone.precision->size);
    cp_head *head = cp_head_new(&cp_head_hybrid, params, "head", 4, 2, NULL, &rng);
    TEST_ASSERT_EQUAL_INT(CP_DIAGONAL, cp_head_gaussian_softmax(head)->config.precision);
    cp_head_free(head);
    cp_model_config config = {.model = "mlp", .head = "hybrid", .classes = 2, .mlp = {.sizes = {4, 5}}};
    char           *text = cp_model_config_text(&config);
    TEST_ASSERT_NOT_NULL(strstr(text, "\"precision\":\"diagonal\""));
    free(text);
    cp_model *model = cp_model_new(config, &rng);
    TEST_ASSERT_EQUAL_INT(CP_DIAGONAL, model->config.hybrid.precision);
    TEST_ASSERT_EQUAL_INT(5, cp_params_find(model->params, "head.precision")->value->size);
    cp_model_free(model);
    cp_gaussians g = {.mean = alone.mean, .precision = alone.precision};
    REFUSED(cp_gaussian_weight(tape, g), "gaussian_weight: kind is 0; set CP_SPHERICAL, CP_DIAGONAL or CP_FULL");
}

static void unknown_keys_and_wrong_values_are_refused_with_the_allowed_ones(void) {
    const char *bad[][2] = {
        {"{\"classes\":2,\"witdh\":3}",
         "text: a wrn with a softmax head has no key \"witdh\"; the keys are model, head, classes, depth, width, "
         "channels, norm, layout, activation"},
        {"{\"classes\":2,\"wi\\u001bdth\":3}", "has no key \"wi?dth\""},
        {"{\"classes\":2,\"sizes\":[3]}", "a wrn with a softmax head has no key \"sizes\""},
        {"{\"model\":\"mlp\",\"sizes\":[3],\"classes\":2,\"depth\":10}", "a mlp with a softmax head has no key \"depth\""},
        {"{\"model\":\"lstm\",\"in\":3,\"hidden\":2,\"classes\":2,\"activation\":\"tanh\"}", "has no key \"activation\""},
        {"{\"classes\":2,\"precision\":\"full\"}", "a wrn with a softmax head has no key \"precision\""},
        {"{\"classes\":2,\"head\":\"jem\",\"learn_prior\":false}", "a wrn with a jem head has no key \"learn_prior\""},
        {"{\"classes\":2,\"head\":\"hybrid\",\"learn_prior\":\"yes\"}", "\"learn_prior\" is \"yes\"; it must be true or false"},
        {"{\"classes\":2,\"head\":\"hybrid\",\"mean_sd\":0}", "\"mean_sd\" is 0; it must be a number from 1e-06 to 1e+06"},
        {"{\"classes\":2,\"head\":\"hybrid\",\"mean_sd\":[]}", "\"mean_sd\" must be a number"},
        {"{\"model\":\"lstm\",\"in\":3,\"hidden\":2,\"classes\":2,\"bidirectional\":1}", "\"bidirectional\" is 1; it must be true"},
        {"{\"classes\":2,\"norm\":\"instance\"}", "\"norm\" is \"instance\"; it must be one of none, batch, group, layer"},
        {"{\"classes\":2,\"norm\":3}", "\"norm\" is 3; it must be one of none, batch, group, layer"},
        {"{\"classes\":2,\"model\":\"vit\"}",
         "text: \"model\" is \"vit\"; it must be one of wrn, mlp, lstm, or a kind that this program adds"},
        {"{\"classes\":2,\"model\":3}", "\"model\" must be a string"},
        {"{\"classes\":2,\"head\":\"hybrid\",\"precision\":\"default\"}",
         "\"precision\" is \"default\"; it must be one of spherical"},
        {"3", "must be an object"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cp_model_config c;
        cp_status       status = {0};
        TEST_ASSERT_FALSE_MESSAGE(cp_model_config_parse(bad[i][0], "text", &c, &status), bad[i][0]);
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, bad[i][1]), status.message);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(layers_of_impossible_sizes_are_not_made);
    RUN_TEST(layers_need_a_parameter_set_and_a_stream);
    RUN_TEST(a_layer_whose_name_is_taken_adds_nothing);
    RUN_TEST(networks_and_heads_that_cannot_be_made_are_null);
    RUN_TEST(models_that_cannot_be_made_are_null);
    RUN_TEST(null_layers_tapes_and_inputs_are_refused_in_one_line);
    RUN_TEST(layers_of_sequences_and_transposed_convolutions_refuse_what_does_not_fit);
    RUN_TEST(a_wrong_input_of_a_linear_layer_is_named_and_channels_first_images_are_recognized);
    RUN_TEST(heads_report_one_error_when_they_fail);
    RUN_TEST(the_precision_is_full_without_and_diagonal_with_a_network);
    RUN_TEST(unknown_keys_and_wrong_values_are_refused_with_the_allowed_ones);
    return UNITY_END();
}
