/* Whole models: shapes and names, gradients of everything, and learning. */
#include "models/model.h"
#include "optim/optim.h"

#include "tests/support/errors.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cp_tape *tape;

void setUp(void) {
    tape = cp_tape_new();
    errors_catch();
}

void tearDown(void) {
    cp_tape_free(tape);
    errors_release();
}

static cp_model *model_of(cp_model_config config) {
    cp_rng    rng = cp_rng_named(1, "init");
    cp_model *model = cp_model_new(config, &rng);
    TEST_ASSERT_NOT_NULL_MESSAGE(model, last_error);
    return model;
}

static cp_tensor *noise(bool variable, cp_shape shape) {
    cp_rng     rng = cp_rng_named(2, "data");
    cp_tensor *t = cp_tensor_new(shape);
    cp_rng_fill_uniform(&rng, t->data, t->size, -1, 1);
    cp_tensor *x = variable ? cp_variable(tape, t->data, shape) : cp_constant(tape, t->data, shape);
    cp_tensor_free(t);
    return x;
}

/* ---- shapes, names, misuse ---- */

static void a_wide_resnet_has_the_documented_names_and_takes_any_size_from_8x8(void) {
    cp_model *m = model_of((cp_model_config){.classes = 5, .wrn = {.depth = 16, .width = 2, .channels = 3, .norm = CP_NORM_BATCH}});
    TEST_ASSERT_EQUAL_INT(128, m->net->features);
    const char *names[] = {"stem.weight",
                           "stem.bias",
                           "stage0.block0.norm1.running_var",
                           "stage0.block0.shortcut.weight",
                           "stage1.block1.conv2.bias",
                           "stage2.block0.shortcut.bias",
                           "norm.weight",
                           "head.weight",
                           "head.bias"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        TEST_ASSERT_NOT_NULL_MESSAGE(cp_params_find(m->params, names[i]), names[i]);
    TEST_ASSERT_NULL(cp_params_find(m->params, "stage0.block1.shortcut.weight"));
    for (int side = 8; side < 40; side += 7) {
        cp_tensor *x = noise(false, CP_SHAPE(2, side, side + 1, 3));
        TEST_ASSERT_TRUE(cp_shape_is(cp_model_logits(tape, m, x, CP_TRAINING), CP_SHAPE(2, 5)));
        TEST_ASSERT_TRUE(cp_shape_is(cp_model_energy(tape, m, x, CP_EVALUATION), CP_SHAPE(2)));
        cp_tape_reset(tape);
    }
    TEST_ASSERT_NULL(cp_model_logits(tape, m, noise(false, CP_SHAPE(2, 7, 8, 3)), CP_EVALUATION));
    TEST_ASSERT_EQUAL_STRING("wrn: x has shape (2, 7, 8, 3); (N, H, W, 3) with H, W >= 8 is needed", last_error);
    cp_model_free(m);
}

static void every_norm_activation_and_layout_gives_finite_posteriors_that_sum_to_one(void) {
    for (int norm = CP_NORM_NONE; norm <= CP_NORM_LAYER; norm++)
        for (int activation = CP_LEAKY_RELU; activation <= CP_TANH; activation++)
            for (int layout = CP_BLOCK_JEM; layout <= CP_BLOCK_CLASSIC; layout++) {
                cp_model  *m = model_of((cp_model_config){.classes = 4,
                                                          .head = "hybrid",
                                                          .wrn = {.norm = (cp_norm_kind)norm,
                                                                  .activation = (cp_activation)activation,
                                                                  .layout = (cp_block_layout)layout}});
                cp_tensor *p = cp_model_posterior(tape, m, noise(false, CP_SHAPE(2, 9, 8, 1)), CP_TRAINING);
                for (int n = 0; n < 2; n++) {
                    double sum = 0;
                    for (int c = 0; c < 4; c++) sum += (double)p->data[n * 4 + c];
                    TEST_ASSERT_DOUBLE_WITHIN(1e-5, 1, sum);
                }
                cp_tape_reset(tape);
                cp_model_free(m);
            }
}

static void an_impossible_model_is_refused_with_a_reason(void) {
    cp_rng rng = cp_rng_named(1, "init");
    TEST_ASSERT_NULL(cp_model_new((cp_model_config){.classes = 2, .wrn = {.depth = 12}}, &rng));
    TEST_ASSERT_NOT_NULL(strstr(last_error, "depth is 12; it must be one of 10, 16, 22, ... up to 1000"));
    TEST_ASSERT_NULL(cp_model_new((cp_model_config){.classes = 2, .model = "transformer"}, &rng));
    TEST_ASSERT_NOT_NULL(strstr(last_error, "transformer"));
    TEST_ASSERT_NULL(cp_model_new((cp_model_config){.classes = 0}, &rng));
}

static void an_mlp_of_one_size_passes_its_inputs_to_the_head(void) {
    cp_model *m = model_of(
        (cp_model_config){.model = "mlp", .head = "hybrid", .hybrid = {.precision = CP_FULL}, .classes = 2, .mlp = {.sizes = {2}}});
    cp_tensor *x = noise(false, CP_SHAPE(3, 2));
    cp_tensor *z = cp_net_forward(tape, m->net, x, CP_TRAINING);
    TEST_ASSERT_EQUAL_MEMORY(x->data, z->data, 6 * sizeof(cp_real));
    cp_model_free(m);
}

/* ---- heads ---- */

static void the_total_energy_is_minus_logsumexp_of_minus_the_class_energies(void) {
    const char *heads[] = {"softmax", "jem", "hybrid"};
    for (int h = 0; h < 3; h++) {
        cp_model *m = model_of(
            (cp_model_config){.model = "mlp", .head = heads[h], .classes = 3, .mlp = {.sizes = {4, 6}}, .hybrid = {.apart = true}});
        cp_tensor *x = noise(false, CP_SHAPE(5, 4));
        cp_tensor *e = cp_model_class_energy(tape, m, x, CP_EVALUATION), *total = cp_model_energy(tape, m, x, CP_EVALUATION);
        cp_tensor *logits = cp_model_logits(tape, m, x, CP_EVALUATION);
        for (int n = 0; n < 5; n++) {
            double sum = 0;
            for (int c = 0; c < 3; c++) {
                sum += exp(-(double)e->data[n * 3 + c]);
                if (h < 2) TEST_ASSERT_EQUAL_DOUBLE((double)-logits->data[n * 3 + c], (double)e->data[n * 3 + c]);
            }
            TEST_ASSERT_DOUBLE_WITHIN(1e-5, -log(sum), (double)total->data[n]);
        }
        TEST_ASSERT_EQUAL_INT(h == 2, cp_item(cp_head_penalty(tape, m->head)) > 0);
        TEST_ASSERT_EQUAL_INT(h == 2, cp_head_gaussian_softmax(m->head) != NULL);
        cp_tape_reset(tape);
        cp_model_free(m);
    }
}

static void the_samplers_energy_is_the_total_one_or_that_of_the_given_classes(void) {
    cp_model  *m = model_of((cp_model_config){.model = "mlp", .head = "jem", .classes = 3, .mlp = {.sizes = {4, 6}}});
    cp_tensor *x = noise(true, CP_SHAPE(2, 4)), *e = cp_model_class_energy(tape, m, x, CP_EVALUATION);
    cp_tensor *total = cp_model_energy_of(CP_AT(tape), &(cp_model_target){.model = m}, x);
    cp_tensor *asked = cp_model_energy_of(CP_AT(tape), &(cp_model_target){m, {(int[]){2, 0}, 2}}, x);
    TEST_ASSERT_EQUAL_DOUBLE((double)cp_model_energy(tape, m, x, CP_EVALUATION)->data[1], (double)total->data[1]);
    TEST_ASSERT_EQUAL_DOUBLE((double)e->data[2], (double)asked->data[0]);
    TEST_ASSERT_EQUAL_DOUBLE((double)e->data[3], (double)asked->data[1]);
    TEST_ASSERT_NULL(cp_model_energy_of(CP_AT(tape), &(cp_model_target){m, {(int[]){2, 3}, 2}}, x));
    TEST_ASSERT_NOT_NULL(strstr(last_error, "label 3 at row 1 is outside 0..2"));
    cp_model_free(m);
}

/* ---- gradients of whole models ---- */

static const int labels[] = {0, 2, 1};

/* All loss terms of a hybrid: cross entropy, energies of labeled and unlabeled data, penalty. */
static cp_tensor *hybrid_loss(const cp_model *m, cp_tensor *x, cp_mode mode) {
    cp_tensor *z = cp_net_forward(tape, m->net, x, mode);
    cp_tensor *loss = cp_cross_entropy(tape, cp_head_logits(tape, m->head, z), (cp_labels){labels, 3});
    loss = cp_add(tape, loss, cp_mean(tape, cp_head_energy(tape, m->head, z), CP_ALL, false));
    return cp_add(tape, loss, cp_scale(tape, cp_head_penalty(tape, m->head), (cp_real)0.05));
}

/* The derivative of the loss along a step on one number, by fourth-order differences. */
static double slope(const cp_model *m, const cp_tensor *start, cp_real *number, cp_mode mode) {
    const double h = 1e-4, weight[] = {1, -8, 8, -1}, at[] = {-2, -1, 1, 2};
    double       sum = 0;
    cp_real      kept = *number;
    for (int k = 0; k < 4; k++) {
        *number = kept + (cp_real)(at[k] * h);
        bool was = cp_tape_pause(tape, true);
        sum += weight[k] * (double)cp_item(hybrid_loss(m, cp_constant(tape, start->data, start->shape), mode));
        cp_tape_pause(tape, was);
        cp_tape_reset(tape);
    }
    *number = kept;
    return sum / (12 * h);
}

static void check_gradients(cp_norm_kind norm, cp_mode mode, cp_precision precision) {
    cp_model  *m = model_of((cp_model_config){.classes = 3,
                                              .head = "hybrid",
                                              .hybrid = {.precision = precision, .learn_prior = true},
                                              .wrn = {.width = 1, .channels = 2, .norm = norm, .activation = CP_SWISH}});
    cp_tensor *start = cp_tensor_new(CP_SHAPE(3, 8, 9, 2));
    cp_rng     rng = cp_rng_named(4, "pick");
    cp_rng_fill_uniform(&rng, start->data, start->size, -1, 1);
    for (int k = 0; k < 40; k++) {
        cp_param  *entry = &m->params->at[cp_rng_below(&rng, (uint64_t)m->params->count)];
        size_t     place = (size_t)cp_rng_below(&rng, entry->value->size);
        cp_tensor *x = cp_variable(tape, start->data, start->shape), *dx;
        cp_tensor *loss = hybrid_loss(m, x, mode);
        double     got;
        cp_real   *number;
        if (k % 4 == 0 || entry->buffer) { /* an input instead */
            place = (size_t)cp_rng_below(&rng, start->size);
            TEST_ASSERT_TRUE(cp_grad(tape, loss, &x, 1, &dx));
            got = (double)dx->data[place];
            number = &start->data[place];
        } else {
            TEST_ASSERT_TRUE(cp_backward(tape, loss, m->params));
            got = (double)entry->grad->data[place];
            number = &entry->value->data[place];
        }
        cp_tape_reset(tape);
        double expected = slope(m, start, number, mode);
        TEST_ASSERT_DOUBLE_WITHIN(1e-6 * (fabs(expected) + 1e-2), expected, got);
    }
    cp_tensor_free(start);
    cp_model_free(m);
}

static void the_gradient_of_a_whole_hybrid_is_right_in_both_modes(void) {
    if (!CP_DOUBLE) TEST_IGNORE_MESSAGE("differences need double precision");
    check_gradients(CP_NORM_NONE, CP_TRAINING, CP_DIAGONAL);
    check_gradients(CP_NORM_BATCH, CP_TRAINING, CP_SPHERICAL);
    check_gradients(CP_NORM_BATCH, CP_EVALUATION, CP_FULL);
    check_gradients(CP_NORM_GROUP, CP_TRAINING, CP_DIAGONAL);
}

/* ---- learning ---- */

enum { MANY = 32 };

static double accuracy(const cp_model *m, const cp_tensor *x, const int *label) {
    bool       was = cp_tape_pause(tape, true);
    cp_tensor *p = cp_model_posterior(tape, m, cp_constant(tape, x->data, x->shape), CP_EVALUATION);
    int        classes = p->dims[1], right = 0;
    for (int n = 0; n < MANY; n++) {
        int best = 0;
        for (int c = 1; c < classes; c++)
            if (p->data[n * classes + c] > p->data[n * classes + best]) best = c;
        right += best == label[n];
    }
    cp_tape_pause(tape, was);
    cp_tape_reset(tape);
    return (double)right / MANY;
}

static void overfit(cp_model_config config, cp_shape shape, int max_steps) {
    cp_model  *m = model_of(config);
    cp_tensor *x = cp_tensor_new(shape);
    cp_rng     rng = cp_rng_named(6, "data");
    int        label[MANY], steps = 0;
    cp_rng_fill_uniform(&rng, x->data, x->size, -1, 1);
    for (int i = 0; i < MANY; i++) label[i] = (int)cp_rng_below(&rng, (uint64_t)config.classes);
    cp_optim *adam = cp_adam_new(m->params, (cp_adam_config){.rate = 3e-3});
    while (steps < max_steps && (steps % 10 || accuracy(m, x, label) < 1)) {
        cp_tensor *batch = cp_constant(tape, x->data, x->shape);
        cp_tensor *loss = cp_cross_entropy(tape, cp_model_logits(tape, m, batch, CP_TRAINING), (cp_labels){label, MANY});
        TEST_ASSERT_TRUE(cp_backward(tape, loss, m->params));
        cp_optim_step(adam);
        cp_tape_reset(tape);
        steps++;
    }
    TEST_ASSERT_EQUAL_DOUBLE(1, accuracy(m, x, label));
    cp_optim_free(adam);
    cp_tensor_free(x);
    cp_model_free(m);
}

static void a_wide_resnet_overfits_32_random_images(void) {
    overfit((cp_model_config){.classes = 4, .wrn = {.channels = 1}}, CP_SHAPE(MANY, 8, 8, 1), 400);
    overfit(
        (cp_model_config){
            .classes = 4, .head = "hybrid", .hybrid = {.precision = CP_DIAGONAL}, .wrn = {.channels = 3, .norm = CP_NORM_GROUP}},
        CP_SHAPE(MANY, 8, 8, 3), 400);
}

static void a_wide_resnet_with_batch_norm_overfits_and_its_running_statistics_follow(void) {
    overfit((cp_model_config){.classes = 4, .head = "jem", .wrn = {.channels = 1, .norm = CP_NORM_BATCH}}, CP_SHAPE(MANY, 8, 8, 1),
            400);
}

static void a_perceptron_overfits_32_random_images(void) {
    overfit((cp_model_config){.model = "mlp", .classes = 4, .mlp = {.sizes = {64, 48}, .activation = CP_TANH}},
            CP_SHAPE(MANY, 8, 8, 1), 600);
}

static void a_bidirectional_lstm_overfits_32_random_sequences(void) {
    overfit((cp_model_config){.model = "lstm", .classes = 3, .lstm = {.in = 6, .hidden = 16, .layers = 2, .bidirectional = true}},
            CP_SHAPE(MANY, 5, 6), 600);
}

/* ---- memory ---- */

static size_t peak_of(const cp_model *m, bool record, bool frozen) {
    cp_tape *own = cp_tape_new();
    cp_real *data = calloc(8 * 28 * 28, sizeof *data);
    int      dims[] = {8, 28, 28, 1};
    cp_tape_pause(own, !record);
    cp_tape_freeze(own, frozen);
    cp_tensor *x = cp_variable(own, data, cp_shape_of(4, dims)), *dx;
    cp_tensor *energy = cp_sum(own, cp_model_energy(own, m, x, CP_EVALUATION), CP_ALL, false);
    if (record) {
        TEST_ASSERT_TRUE(cp_grad(own, energy, &x, 1, &dx));
    }
    size_t peak = cp_tape_peak(own);
    cp_tape_free(own);
    free(data);
    return peak;
}

static void inference_and_sampling_release_values_that_no_rule_will_read(void) {
    const cp_norm_kind norms[] = {CP_NORM_NONE, CP_NORM_BATCH};
    for (int i = 0; i < 2; i++) {
        cp_model *m = model_of((cp_model_config){.classes = 4, .head = "jem", .wrn = {.depth = 16, .width = 2, .norm = norms[i]}});
        size_t    inference = peak_of(m, false, false), sampling = peak_of(m, true, true), training = peak_of(m, true, false);
        TEST_ASSERT_TRUE(inference < sampling);
        TEST_ASSERT_TRUE(sampling < training / 2);
        cp_model_free(m);
    }
}

enum { IMAGES = 2 * 9 * 8 };

/* Norms and biases without the initial values of a new model: a factor of 1 or a shift of 0 could be omitted without any effect. */
static void shake(cp_params *params, cp_rng *rng) {
    for (int i = 0; i < params->count; i++) {
        cp_tensor *t = params->at[i].value;
        for (size_t j = 0; j < t->size && t->rank == 1; j++) t->data[j] += (cp_real)(0.1 + 0.3 * cp_rng_uniform(rng));
    }
}

/* The gradient of the energy at the inputs, and that of its square sum, through a recorded sweep. */
static void input_gradients(const cp_model *m, const cp_real *data, cp_mode mode, bool frozen, cp_real *first, cp_real *second) {
    cp_tape *own = cp_tape_new();
    cp_tape_freeze(own, frozen);
    cp_tensor *x = cp_variable(own, data, CP_SHAPE(2, 9, 8, 1)), *dx, *ddx;
    cp_tensor *energy = cp_sum(own, cp_model_energy(own, m, x, mode), CP_ALL, false);
    TEST_ASSERT_TRUE(cp_grad(own, energy, &x, 1, &dx));
    memcpy(first, dx->data, IMAGES * sizeof *first);
    TEST_ASSERT_TRUE(cp_grad_recorded(own, energy, &x, 1, &dx));
    TEST_ASSERT_TRUE(cp_grad(own, cp_sum(own, cp_square(own, dx), CP_ALL, false), &x, 1, &ddx));
    memcpy(second, ddx->data, IMAGES * sizeof *second);
    cp_tape_free(own);
}

/* The released values are really not needed: with every kind of network, in both modes, the gradients have the same bits as
 * those of a tape that keeps everything. */
static void the_gradients_at_the_inputs_are_the_same_with_fixed_weights(void) {
    for (int i = 0; i < 4 * 5 * 2; i++) {
        cp_wrn_config   wrn = {.depth = 16,
                               .width = 1,
                               .norm = (cp_norm_kind)(i % 4),
                               .activation = (cp_activation)(i / 4 % 5),
                               .layout = i / 20 ? CP_BLOCK_CLASSIC : CP_BLOCK_JEM};
        cp_model_config config = {.classes = 3, .head = "jem", .wrn = wrn};
        cp_model       *m = model_of(config), *copy = model_of(config);
        cp_rng          rng = cp_rng_named(7, "images");
        cp_real         data[IMAGES], first[2][IMAGES], second[2][IMAGES];
        cp_rng_fill_normal(&rng, data, IMAGES, 0, 1);
        shake(m->params, &rng);
        for (int mode = 0; mode < 2; mode++) {
            for (int frozen = 0; frozen < 2; frozen++) {
                TEST_ASSERT_TRUE(cp_params_copy(copy->params, m->params)); /* including running statistics */
                input_gradients(copy, data, mode ? CP_TRAINING : CP_EVALUATION, frozen, first[frozen], second[frozen]);
            }
            TEST_ASSERT_TRUE(isfinite(first[0][IMAGES / 2]) && first[0][IMAGES / 2] != 0 && isfinite(second[0][IMAGES / 2]));
            TEST_ASSERT_EQUAL_MEMORY(first[0], first[1], sizeof first[0]);
            TEST_ASSERT_EQUAL_MEMORY(second[0], second[1], sizeof second[0]);
        }
        cp_model_free(m);
        cp_model_free(copy);
    }
}

/* ---- descriptions ---- */

static void a_description_reads_back_as_the_same_model(void) {
    cp_model_config configs[] = {
        {.classes = 8, .wrn = {.depth = 10, .width = 2, .channels = 3, .norm = CP_NORM_BATCH}},
        {.classes = 2,
         .head = "hybrid",
         .hybrid = {.precision = CP_FULL, .learn_prior = true},
         .wrn = {.depth = 16, .activation = CP_SWISH, .norm = CP_NORM_GROUP, .layout = CP_BLOCK_CLASSIC}},
        {.model = "mlp", .head = "jem", .classes = 3, .mlp = {.sizes = {4, 5, 6}, .activation = CP_TANH}},
        {.model = "lstm", .classes = 3, .lstm = {.in = 4, .hidden = 7, .layers = 2, .bidirectional = true}},
    };
    for (int i = 0; i < 4; i++) {
        cp_model_config back;
        cp_status       status = {0};
        char           *text = cp_model_config_text(&configs[i]);
        TEST_ASSERT_TRUE_MESSAGE(cp_model_config_parse(text, "text", &back, &status), status.message);
        char *again = cp_model_config_text(&back);
        TEST_ASSERT_EQUAL_STRING(text, again);
        cp_model *a = model_of(configs[i]), *b = model_of(back);
        TEST_ASSERT_TRUE(cp_params_copy(a->params, b->params));
        cp_model_free(a);
        cp_model_free(b);
        free(text);
        free(again);
    }
}

static void the_example_description_is_understood(void) {
    cp_model_config c;
    cp_status       status = {0};
    TEST_ASSERT_TRUE(cp_model_config_parse(
        "{\"model\":\"wrn\",\"depth\":10,\"width\":2,\"channels\":3,\"classes\":8,\"norm\":\"batch\",\"head\":\"softmax\"}", "text",
        &c, &status));
    TEST_ASSERT_EQUAL_INT(10, c.wrn.depth);
    TEST_ASSERT_EQUAL_INT(3, c.wrn.channels);
    TEST_ASSERT_EQUAL_INT(CP_NORM_BATCH, c.wrn.norm);
    TEST_ASSERT_EQUAL_INT(CP_LEAKY_RELU, c.wrn.activation);
}

static void bad_descriptions_are_refused_and_the_key_is_named(void) {
    const char *bad[][2] = {
        {"{\"classes\":2,\"model\":\"vgg\"}", "\"model\" is \"vgg\""},
        {"{\"model\":\"wrn\"}", "\"classes\" is missing"},
        {"{\"classes\":0}", "\"classes\" is 0; it must be a whole number from 1 to 1048576"},
        {"{\"classes\":2.5}", "\"classes\" is 2.5; it must be"},
        {"{\"classes\":2,\"depth\":11}", "\"depth\" is 11"},
        {"{\"classes\":2,\"norm\":3}", "\"norm\""},
        {"{\"classes\":2,\"model\":\"mlp\"}", "\"sizes\" is missing; it must be 1 to 16 whole numbers"},
        {"{\"classes\":2,\"model\":\"mlp\",\"sizes\":[3,-1]}", "\"sizes\" must be"},
        {"{\"classes\":2,\"model\":\"lstm\",\"in\":3}", "\"hidden\" is missing"},
        {"{\"classes\":2", "text"},
        {"[]", "must be an object"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cp_model_config c = {.classes = 77};
        cp_status       status = {0};
        TEST_ASSERT_FALSE_MESSAGE(cp_model_config_parse(bad[i][0], "text", &c, &status), bad[i][0]);
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, bad[i][1]), status.message);
        TEST_ASSERT_EQUAL_INT(77, c.classes);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_wide_resnet_has_the_documented_names_and_takes_any_size_from_8x8);
    RUN_TEST(every_norm_activation_and_layout_gives_finite_posteriors_that_sum_to_one);
    RUN_TEST(an_impossible_model_is_refused_with_a_reason);
    RUN_TEST(an_mlp_of_one_size_passes_its_inputs_to_the_head);
    RUN_TEST(the_total_energy_is_minus_logsumexp_of_minus_the_class_energies);
    RUN_TEST(the_samplers_energy_is_the_total_one_or_that_of_the_given_classes);
    RUN_TEST(the_gradient_of_a_whole_hybrid_is_right_in_both_modes);
    RUN_TEST(a_wide_resnet_overfits_32_random_images);
    RUN_TEST(a_wide_resnet_with_batch_norm_overfits_and_its_running_statistics_follow);
    RUN_TEST(a_perceptron_overfits_32_random_images);
    RUN_TEST(a_bidirectional_lstm_overfits_32_random_sequences);
    RUN_TEST(inference_and_sampling_release_values_that_no_rule_will_read);
    RUN_TEST(the_gradients_at_the_inputs_are_the_same_with_fixed_weights);
    RUN_TEST(a_description_reads_back_as_the_same_model);
    RUN_TEST(the_example_description_is_understood);
    RUN_TEST(bad_descriptions_are_refused_and_the_key_is_named);
    return UNITY_END();
}
