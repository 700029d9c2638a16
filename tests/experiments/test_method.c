/* Methods: the list, and the losses: their values compared with sums by hand of logits and energies, their gradients compared with differences. */
#include "experiments/kit/train/method.h"
#include "experiments/kit/train/trainer_parts.h"

#include "core/shape.h"
#include "ops/ops.h"
#include "optim/grads.h"
#include "tests/support/errors.h"

#include "core/scratch.h"

#include "unity.h"

#include <math.h>
#include <string.h>

enum { INPUTS = 5, CLASSES = 3, LABELED = 4, UNLABELED = 6, SAMPLES = 5 };

#if CP_DOUBLE
#define VALUE_TOLERANCE 1e-8
#define GRADIENT_TOLERANCE 1e-6
#define DIFFERENCE 1e-3
#else /* differences of float values are inaccurate */
#define VALUE_TOLERANCE 2e-3
#define GRADIENT_TOLERANCE 5e-2
#define DIFFERENCE 1e-2
#endif

static cp_tape           *tape;
static cp_model          *model;
static cp_tensor         *labeled, *unlabeled, *samples;
static cp_objective_terms terms;

static const int labels[LABELED] = {2, 0, 1, 1}, sample_labels[SAMPLES] = {0, 1, 2, 0, 1};

void setUp(void) {
    errors_catch();
    tape = cp_tape_new();
}

void tearDown(void) {
    cp_tensor_free(labeled);
    cp_tensor_free(unlabeled);
    cp_tensor_free(samples);
    cp_model_free(model);
    cp_tape_free(tape);
    labeled = unlabeled = samples = NULL;
    model = NULL;
    errors_release();
    TEST_ASSERT_EQUAL_STRING_MESSAGE("", last_error, "a test left an error unexplained");
}

static cp_tensor *random_tensor(cp_rng *rng, cp_shape shape) {
    cp_tensor *x = cp_tensor_new(shape);
    cp_rng_fill_uniform(rng, x->data, x->size, -1, 1);
    return x;
}

static void make(cp_model_config config, cp_shape input) {
    cp_rng rng = cp_rng_named(5, "objective");
    config.classes = CLASSES;
    model = cp_model_new(config, &rng);
    TEST_ASSERT_NOT_NULL_MESSAGE(model, last_error);
    labeled = random_tensor(&rng, cp_shape_rows(LABELED, input));
    unlabeled = random_tensor(&rng, cp_shape_rows(UNLABELED, input));
    samples = random_tensor(&rng, cp_shape_rows(SAMPLES, input));
    for (int p = 0; p < model->params->count; p++) /* heads that start associated have no penalty, so the weights are changed */
        for (size_t i = 0; i < model->params->at[p].value->size; i++)
            model->params->at[p].value->data[i] += (cp_real)(0.1 * cp_rng_normal(&rng));
}

static void make_mlp(const char *head) {
    make((cp_model_config){.model = "mlp", .head = head, .mlp = {.sizes = {INPUTS, 6, 4}, .activation = CP_TANH}},
         CP_SHAPE(INPUTS));
}

static cp_objective_batch whole_batch(void) {
    return (cp_objective_batch){.labeled = labeled,
                                .unlabeled = unlabeled,
                                .samples = samples,
                                .labels = {labels, LABELED},
                                .sample_labels = {sample_labels, SAMPLES}};
}

/* The built-in methods are called by their heads. */
static const cp_method *method(void) { return cp_method_find(model->config.head); }

static double loss_of(cp_objective objective) {
    cp_objective_batch batch = whole_batch();
    cp_tensor         *loss = cp_method_loss(tape, method(), &objective, model, &batch, &terms);
    TEST_ASSERT_NOT_NULL_MESSAGE(loss, last_error);
    double value = (double)cp_item(loss);
    TEST_ASSERT_TRUE(terms.loss == value);
    cp_tape_reset(tape);
    return value;
}

/* ---- by hand ---- */

typedef struct outputs {
    double logits[UNLABELED][CLASSES], energies[UNLABELED][CLASSES], total[UNLABELED];
} outputs;

static outputs outputs_at(const cp_tensor *images) {
    outputs    o;
    cp_tensor *x = cp_constant(tape, images->data, cp_shape_of(images->rank, images->dims));
    cp_tensor *logits = cp_model_logits(tape, model, x, CP_EVALUATION);
    cp_tensor *energies = cp_model_class_energy(tape, model, x, CP_EVALUATION);
    for (int i = 0; i < images->dims[0]; i++) {
        double sum = 0;
        for (int c = 0; c < CLASSES; c++) {
            o.logits[i][c] = (double)logits->data[i * CLASSES + c];
            o.energies[i][c] = (double)energies->data[i * CLASSES + c];
            sum += exp(-o.energies[i][c]);
        }
        o.total[i] = -log(sum);
    }
    cp_tape_reset(tape);
    return o;
}

static double cross_entropy(void) {
    outputs o = outputs_at(labeled);
    double  mean = 0;
    for (int i = 0; i < LABELED; i++) {
        double sum = 0;
        for (int c = 0; c < CLASSES; c++) sum += exp(o.logits[i][c]);
        mean += (log(sum) - o.logits[i][labels[i]]) / LABELED;
    }
    return mean;
}

static double mean_energy(const cp_tensor *images) {
    outputs o = outputs_at(images);
    double  mean = 0;
    for (int i = 0; i < images->dims[0]; i++) mean += o.total[i] / images->dims[0];
    return mean;
}

static double mean_square(const cp_tensor *images) {
    outputs o = outputs_at(images);
    double  mean = 0;
    for (int i = 0; i < images->dims[0]; i++) mean += o.total[i] * o.total[i] / images->dims[0];
    return mean;
}

static double mean_of_class(const cp_tensor *images, const int *classes) {
    outputs o = outputs_at(images);
    double  mean = 0;
    for (int i = 0; i < images->dims[0]; i++) mean += o.energies[i][classes[i]] / images->dims[0];
    return mean;
}

/* |dE/dx|^2 by differences of fourth order. */
static double mean_slope(cp_tensor *images) {
    double sum = 0, at[4];
    int    values = (int)images->size / images->dims[0];
    for (int i = 0; i < images->dims[0]; i++)
        for (int v = 0; v < values; v++) {
            cp_real *x = &images->data[i * values + v], kept = *x;
            for (int k = 0; k < 4; k++) {
                *x = kept + (cp_real)((double[]){-2, -1, 1, 2}[k] * DIFFERENCE);
                at[k] = outputs_at(images).total[i];
            }
            *x = kept;
            double slope = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * DIFFERENCE);
            sum += slope * slope / images->dims[0];
        }
    return sum;
}

static double penalty(void) {
    double value = (double)cp_item(cp_head_penalty(tape, model->head));
    cp_tape_reset(tape);
    return value;
}

static void near(double expected, double found) {
    char text[100];
    snprintf(text, sizeof text, "%.12g was expected, %.12g found", expected, found);
    TEST_ASSERT_TRUE_MESSAGE(fabs(found - expected) <= VALUE_TOLERANCE * (1 + fabs(expected)), text);
}

/* ---- values ---- */

static const cp_objective all_terms = {.energy = 0.3, .lambda = 2, .square = 0.05, .slope = 0.7};

static void softmax_has_only_the_cross_entropy(void) {
    make_mlp("softmax");
    cp_objective_batch only = {.labeled = labeled, .labels = {labels, LABELED}};
    near(cross_entropy(), loss_of(all_terms));
    near(cross_entropy(), terms.cross_entropy);
    TEST_ASSERT_TRUE(isnan(terms.gap) && isnan(terms.data) && isnan(terms.slope_data) && isnan(terms.penalty));
    TEST_ASSERT_NULL(terms.sample_energies);
    near(cross_entropy(), (double)cp_item(cp_method_loss(tape, method(), &all_terms, model, &only, NULL)));
}

static void jem_adds_energies_of_unlabeled_images_and_samples(void) {
    make_mlp("jem");
    double gap = mean_energy(unlabeled) - mean_energy(samples);
    near(cross_entropy() + 0.3 * gap, loss_of((cp_objective){.energy = 0.3}));
    near(cross_entropy() + 0.3 * gap + 0.05 * (mean_square(unlabeled) + mean_square(samples)) +
             0.7 * (mean_slope(unlabeled) + mean_slope(samples)),
         loss_of(all_terms));
}

static void hybrid_also_adds_the_energy_of_labeled_images_and_the_penalty_of_the_head(void) {
    make_mlp("hybrid");
    double from_all = mean_energy(unlabeled) - mean_energy(samples),
           from_labeled = mean_of_class(labeled, labels) - mean_energy(samples);
    double regular = 0.05 * (mean_square(unlabeled) + mean_square(samples)) + 0.7 * (mean_slope(unlabeled) + mean_slope(samples));
    TEST_ASSERT_TRUE(penalty() > 0.01);
    near(cross_entropy() + 0.3 * (from_all + from_labeled) + regular + 2 * penalty(), loss_of(all_terms));
}

static void conditional_samples_use_the_energy_of_their_class(void) {
    make_mlp("hybrid");
    double from_all = mean_energy(unlabeled) - mean_energy(samples);
    double from_labeled = mean_of_class(labeled, labels) - mean_of_class(samples, sample_labels);
    near(cross_entropy() + 0.3 * (from_all + from_labeled), loss_of((cp_objective){.energy = 0.3, .conditional = true}));
}

static void terms_are_unweighted(void) {
    make_mlp("hybrid");
    loss_of(all_terms);
    near(cross_entropy(), terms.cross_entropy);
    near(mean_energy(unlabeled), terms.data);
    near(mean_energy(unlabeled) - mean_energy(samples), terms.gap);
    near(mean_slope(unlabeled), terms.slope_data);
    near(mean_slope(samples), terms.slope_samples);
    near(penalty(), terms.penalty);
}

static void sample_energies_stay_until_the_tape_is_reset(void) {
    make_mlp("hybrid");
    outputs            expected = outputs_at(samples);
    cp_objective_batch batch = whole_batch();
    TEST_ASSERT_NOT_NULL(cp_method_loss(tape, method(), &all_terms, model, &batch, &terms));
    TEST_ASSERT_EQUAL_UINT64(SAMPLES, terms.sample_energies->size);
    for (int i = 0; i < SAMPLES; i++) near(expected.total[i], (double)terms.sample_energies->data[i]);
}

static void terms_with_zero_weight_are_still_reported(void) {
    make_mlp("hybrid");
    near(cross_entropy(), loss_of((cp_objective){0}));
    near(mean_energy(unlabeled) - mean_energy(samples), terms.gap);
    TEST_ASSERT_TRUE(isnan(terms.slope_data) && isnan(terms.slope_samples));
}

/* Minus the mean over all guesses of ln p(guess|x), where -1 counts as nothing. */
static double guessed_loss(const cp_tensor *images, const int *guesses) {
    outputs o = outputs_at(images);
    double  mean = 0;
    for (int i = 0; i < images->dims[0]; i++) {
        double sum = 0;
        for (int c = 0; c < CLASSES; c++) sum += exp(o.logits[i][c]);
        if (guesses[i] >= 0) mean += (log(sum) - o.logits[i][guesses[i]]) / images->dims[0];
    }
    return mean;
}

static const int some_guesses[UNLABELED] = {1, -1, 0, -1, -1, 2}, no_guesses[UNLABELED] = {-1, -1, -1, -1, -1, -1};

static void pseudo_labels_add_the_cross_entropy_of_sure_guesses(void) {
    static const char *const methods[] = {"pseudo", "jem", "hybrid"};
    for (int m = 0; m < 3; m++) {
        if (model) tearDown(), setUp();
        make_mlp(m == 0 ? "softmax" : methods[m]);
        cp_objective       with = {.energy = 0.3, .lambda = 2, .pseudo = 0.5}, without = {.energy = 0.3, .lambda = 2};
        cp_objective_batch batch = whole_batch();
        batch.augmented = unlabeled;
        batch.guesses = (cp_labels){some_guesses, UNLABELED};
        const cp_method *method = cp_method_find(methods[m]);
        double           more = (double)cp_item(cp_method_loss(tape, method, &with, model, &batch, &terms));
        near(0.5, terms.guessed);
        double less = (double)cp_item(cp_method_loss(tape, method, &without, model, &batch, &terms));
        cp_tape_reset(tape);
        near(0.5 * guessed_loss(unlabeled, some_guesses), more - less);
    }
}

static void guesses_that_are_not_sure_leave_the_loss_as_it_is(void) {
    make_mlp("hybrid");
    cp_objective       objective = {.energy = 0.3, .pseudo = 0.5};
    cp_objective_batch batch = whole_batch();
    batch.augmented = unlabeled;
    batch.guesses = (cp_labels){no_guesses, UNLABELED};
    double loss = (double)cp_item(cp_method_loss(tape, method(), &objective, model, &batch, &terms));
    cp_tape_reset(tape);
    near(loss_of((cp_objective){.energy = 0.3}), loss);
}

/* The mean over images of what |dE/dx|^2 has above the limit is that of the images by themselves. */
static void slopes_below_the_limit_are_not_penalized(void) {
    make_mlp("hybrid");
    cp_objective objective = {.slope = 0.7};
    double       data = mean_slope(unlabeled), all = loss_of(objective);
    near(cross_entropy() + 0.7 * (data + mean_slope(samples)), all);
    objective.slope_max = 1e6;
    near(cross_entropy(), loss_of(objective));
    near(data, terms.slope_data);
    double expected = 0, limit = data;
    for (int s = 0; s < 2; s++) {
        const cp_tensor *images = s ? samples : unlabeled;
        int              values = (int)images->size / images->dims[0];
        for (int i = 0; i < images->dims[0]; i++) {
            cp_tensor *one = cp_tensor_new(CP_SHAPE(1, values));
            memcpy(one->data, images->data + i * values, (size_t)values * sizeof *one->data);
            expected += fmax(0, mean_slope(one) - limit) / images->dims[0];
            cp_tensor_free(one);
        }
    }
    TEST_ASSERT_TRUE(expected > 0.001);
    objective.slope_max = limit;
    near(cross_entropy() + 0.7 * expected, loss_of(objective));
}

/* ---- gradients ---- */

static void move(const cp_tensor *const *directions, double by) {
    for (int p = 0; p < model->params->count; p++)
        for (size_t i = 0; i < model->params->at[p].value->size; i++)
            model->params->at[p].value->data[i] += (cp_real)by * directions[p]->data[i];
}

/* Along random directions of all parameters. */
static void gradient_is_that_of_the_differences(cp_objective objective, double step) {
    enum { MAX = 200, DIRECTIONS = 3 };
    cp_tensor         *directions[MAX];
    cp_rng             rng = cp_rng_named(6, "directions");
    cp_objective_batch batch = whole_batch();
    TEST_ASSERT_TRUE(model->params->count <= MAX);
    for (int d = 0; d < DIRECTIONS; d++) {
        double     expected = 0, at[4], norm = 0;
        cp_tensor *loss = cp_method_loss(tape, method(), &objective, model, &batch, NULL);
        TEST_ASSERT_TRUE_MESSAGE(loss && cp_backward(tape, loss, model->params), last_error);
        for (int p = 0; p < model->params->count; p++) {
            const cp_param *param = &model->params->at[p];
            directions[p] = random_tensor(&rng, cp_shape_of(param->value->rank, param->value->dims));
            for (size_t i = 0; i < param->value->size; i++) {
                expected += (double)param->grad->data[i] * (double)directions[p]->data[i];
                norm += fabs((double)param->grad->data[i] * (double)directions[p]->data[i]);
            }
        }
        cp_grads_clear(model->params);
        cp_tape_reset(tape);
        static const double places[4] = {-2, -1, 1, 2};
        for (int k = 0; k < 4; k++) {
            move((const cp_tensor *const *)directions, places[k] * step);
            at[k] = loss_of(objective);
            move((const cp_tensor *const *)directions, -places[k] * step);
        }
        double found = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * step);
        char   text[120];
        snprintf(text, sizeof text, "gradient %.10g, differences %.10g", expected, found);
        TEST_ASSERT_TRUE_MESSAGE(fabs(expected - found) <= GRADIENT_TOLERANCE * (fabs(expected) + 0.1 * norm), text);
        for (int p = 0; p < model->params->count; p++) cp_tensor_free(directions[p]);
    }
}

static void gradients_of_all_methods_are_right(void) {
    static const char *const heads[] = {"softmax", "jem", "hybrid"};
    for (int h = 0; h < 3; h++)
        for (int conditional = 0; conditional < 2; conditional++) {
            cp_objective objective = all_terms;
            objective.conditional = conditional;
            if (model) tearDown(), setUp();
            make_mlp(heads[h]);
            gradient_is_that_of_the_differences(objective, DIFFERENCE);
        }
}

static void gradients_of_a_wide_resnet_are_right(void) {
#if CP_DOUBLE
    static const cp_norm_kind norms[] = {CP_NORM_NONE, CP_NORM_GROUP};
    for (int n = 0; n < 2; n++) {
        if (model) tearDown(), setUp();
        make((cp_model_config){.model = "wrn", .head = "hybrid", .wrn = {.channels = 2, .activation = CP_SWISH, .norm = norms[n]}},
             CP_SHAPE(8, 8, 2));
        gradient_is_that_of_the_differences(all_terms, 1e-4);
    }
#else
    TEST_IGNORE_MESSAGE("differences of a deep network's float values are too inaccurate");
#endif
}

/* ---- misuse ---- */

static void everything_that_a_method_needs_must_be_given(void) {
    make_mlp("hybrid");
    cp_objective_batch batch = whole_batch();
    batch.samples = NULL;
    TEST_ASSERT_NULL(cp_method_loss(tape, method(), &all_terms, model, &batch, &terms));
    expect_error_in("method_loss", "the method hybrid needs unlabeled images and samples", __FILE__);
    TEST_ASSERT_TRUE(isnan(terms.loss));
    batch = whole_batch();
    batch.unlabeled = NULL;
    TEST_ASSERT_NULL(cp_method_loss(tape, method(), &all_terms, model, &batch, &terms));
    expect_error("needs unlabeled images");
    batch = whole_batch();
    batch.labeled = NULL;
    TEST_ASSERT_NULL(cp_method_loss(tape, method(), &all_terms, model, &batch, &terms));
    expect_error("the labeled images are NULL");
    batch = whole_batch();
    TEST_ASSERT_NULL(cp_method_loss(tape, method(), NULL, model, &batch, &terms));
    expect_error("weights");
    TEST_ASSERT_NULL(cp_method_loss(tape, &cp_method_hybrid, &all_terms, NULL, &batch, &terms));
    expect_error("the model");
    TEST_ASSERT_NULL(cp_method_loss(tape, method(), &all_terms, model, NULL, &terms));
    expect_error("labeled");
}

static void invalid_labels_are_refused_without_numbers(void) {
    cp_objective objective = all_terms;
    make_mlp("hybrid");
    cp_objective_batch batch = whole_batch();
    batch.labels.count = LABELED - 1;
    TEST_ASSERT_NULL(cp_method_loss(tape, method(), &objective, model, &batch, &terms));
    TEST_ASSERT_TRUE(errors > 0 && isnan(terms.loss));
    errors_forget();
    errors_forgive(tape);
    objective.conditional = true;
    batch = whole_batch();
    batch.sample_labels = (cp_labels){0};
    TEST_ASSERT_NULL(cp_method_loss(tape, method(), &objective, model, &batch, &terms));
    TEST_ASSERT_TRUE(errors > 0 && isnan(terms.loss));
    errors_forget();
}

/* ---- the second stage of a training ---- */

static cp_tensor *no_features(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    (void)net, (void)x, (void)mode;
    return cp_refuse(at, "no_features", "on purpose");
}

static void a_network_that_fails_leaves_the_head_unfitted(void) {
    cp_status   status = {0};
    cp_images  *images = cp_images_load("phantom", &status);
    cp_net_kind broken = cp_net_wrn;
    broken.forward = no_features;
    make((cp_model_config){.head = "hybrid", .wrn.channels = CP_PHANTOM_CHANNELS}, images->set->shape);
    model->net->kind = &broken;
    scratch_make();
    cp_trainer t = {.images = images, .model = model, .tape = tape};
    snprintf(t.folder, sizeof t.folder, "%s", scratch_folder);
    t.adam = cp_adam_new(model->params, (cp_adam_config){.rate = 0.1});
    t.ema = cp_ema_new(model->params, 0.9);
    t.labeled = cp_batches_new((cp_batches_config){.split = &images->set->splits[CP_IMAGES_TRAIN], .size = 8});
    cp_tape_pause(tape, true);
    TEST_ASSERT_FALSE(cp_trainer_begin_joint(&t, &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "the head could not be fitted"), status.message);
    expect_error("on purpose");
    TEST_ASSERT_TRUE(cp_tape_pause(tape, false)); /* the tape is as paused as it was */
    model->net->kind = &cp_net_wrn;
    cp_batches_free(t.labeled);
    cp_ema_free(t.ema);
    cp_optim_free(t.adam);
    cp_images_free(images);
    scratch_remove();
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(softmax_has_only_the_cross_entropy);
    RUN_TEST(jem_adds_energies_of_unlabeled_images_and_samples);
    RUN_TEST(hybrid_also_adds_the_energy_of_labeled_images_and_the_penalty_of_the_head);
    RUN_TEST(conditional_samples_use_the_energy_of_their_class);
    RUN_TEST(terms_are_unweighted);
    RUN_TEST(sample_energies_stay_until_the_tape_is_reset);
    RUN_TEST(terms_with_zero_weight_are_still_reported);
    RUN_TEST(pseudo_labels_add_the_cross_entropy_of_sure_guesses);
    RUN_TEST(guesses_that_are_not_sure_leave_the_loss_as_it_is);
    RUN_TEST(slopes_below_the_limit_are_not_penalized);
    RUN_TEST(gradients_of_all_methods_are_right);
    RUN_TEST(gradients_of_a_wide_resnet_are_right);
    RUN_TEST(everything_that_a_method_needs_must_be_given);
    RUN_TEST(invalid_labels_are_refused_without_numbers);
    RUN_TEST(a_network_that_fails_leaves_the_head_unfitted);
    return UNITY_END();
}
