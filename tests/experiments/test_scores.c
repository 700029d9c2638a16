/* Scores of a split: every image once, in order, and a message about values that are not finite. */
#include "experiments/kit/train/scores.h"

#include "core/scratch.h"
#include "tests/support/errors.h"

#include <math.h>

enum { ROWS = 130, VALUES = 3, CLASSES = 4 }; /* two batches and a short one */

static uint8_t         pixels[ROWS * VALUES];
static int             labels[ROWS];
static cp_dataset     *set;
static const cp_split *split;
static cp_model       *model;
static cp_tape        *tape;
static cp_status       status;
static cp_scores       scores;

void setUp(void) {
    errors_catch();
    status = (cp_status){0};
    tape = cp_tape_new();
    for (int i = 0; i < ROWS * VALUES; i++) pixels[i] = (uint8_t)(i * 37), labels[i / VALUES] = i / VALUES % CLASSES;
    set = cp_dataset_new((cp_dataset_config){.dtype = CP_U8, .shape = CP_SHAPE(VALUES)});
    cp_dataset_add(set, (cp_split_config){"test", ROWS, pixels, labels, false}, &status);
    split = cp_dataset_split(set, "test", &status);
}

void tearDown(void) {
    cp_scores_free(&scores);
    cp_model_free(model);
    model = NULL;
    cp_dataset_free(set);
    cp_tape_free(tape);
    errors_release();
    TEST_ASSERT_EQUAL_STRING_MESSAGE("", last_error, "a test left an error unexplained");
}

static void score(const char *head) {
    cp_rng rng = cp_rng_named(4, "scores");
    if (!model)
        model =
            cp_model_new((cp_model_config){.model = "mlp", .head = head, .classes = CLASSES, .mlp = {.sizes = {VALUES, 5}}}, &rng);
    TEST_ASSERT_NOT_NULL_MESSAGE(model, last_error);
    TEST_ASSERT_TRUE_MESSAGE(cp_scores_make(tape, model, split, &scores, &status), status.message);
}

/* The model's result for a single row. */
static void expect_row(int row) {
    cp_real x[VALUES];
    TEST_ASSERT_TRUE(cp_split_read(split, &row, 1, x));
    cp_tensor *input = cp_constant(tape, x, CP_SHAPE(1, VALUES));
    cp_tensor *logits = cp_model_logits(tape, model, input, CP_EVALUATION);
    cp_tensor *by_class = cp_model_class_energy(tape, model, input, CP_EVALUATION);
    cp_tensor *energy = cp_model_energy(tape, model, input, CP_EVALUATION);
    for (int c = 0; c < CLASSES; c++) {
        TEST_ASSERT_TRUE(fabs((double)logits->data[c] - scores.logits[row * CLASSES + c]) < 1e-5);
        TEST_ASSERT_TRUE(!scores.bayes || fabs((double)by_class->data[c] + scores.bayes[row * CLASSES + c]) < 1e-5);
    }
    TEST_ASSERT_TRUE(!scores.energies || fabs((double)energy->data[0] - scores.energies[row]) < 1e-5);
    cp_tape_reset(tape);
}

static void scores_are_the_models_outputs_row_by_row(void) {
    score("hybrid");
    TEST_ASSERT_EQUAL_INT(ROWS, scores.n);
    TEST_ASSERT_EQUAL_INT(CLASSES, scores.classes);
    TEST_ASSERT_TRUE(scores.finite && scores.bayes && scores.energies && scores.labels == split->labels);
    for (int i = 0; i < ROWS; i++) expect_row(i);
}

static void a_softmax_head_has_no_energies(void) {
    score("softmax");
    TEST_ASSERT_NULL(scores.bayes);
    TEST_ASSERT_NULL(scores.energies);
    expect_row(ROWS - 1);
}

static void nonfinite_outputs_are_reported(void) {
    static const char *const heads[] = {"softmax", "jem", "hybrid"};
    for (int h = 0; h < 3; h++) {
        score(heads[h]);
        TEST_ASSERT_TRUE(scores.finite);
        cp_scores_free(&scores);
        cp_params_find(model->params, "layer0.weight")->value->data[0] = (cp_real)NAN;
        score(heads[h]);
        TEST_ASSERT_FALSE(scores.finite);
        cp_scores_free(&scores);
        cp_model_free(model);
        model = NULL;
    }
}

static void an_energy_that_overflows_is_reported_even_if_the_logits_are_finite(void) {
    score("hybrid");
    cp_scores_free(&scores);
    cp_tensor *mean = cp_params_find(model->params, "head.mean")->value;
    for (size_t i = 0; i < mean->size; i++) mean->data[i] = (cp_real)(CP_DOUBLE ? 1e300 : 1e30);
    score("hybrid");
    bool logits_finite = true;
    for (int i = 0; i < ROWS * CLASSES; i++) logits_finite = logits_finite && isfinite(scores.logits[i]);
    TEST_ASSERT_TRUE(logits_finite);
    TEST_ASSERT_FALSE(scores.finite);
}

static void predictions_are_of_logits_with_a_temperature_or_of_the_gaussians(void) {
    score("hybrid");
    cp_predictions plain = cp_scores_predictions(&scores, false, 2.5), bayes = cp_scores_predictions(&scores, true, 1);
    TEST_ASSERT_TRUE(plain.values == scores.logits && plain.logits && plain.temperature == 2.5 && plain.n == ROWS);
    TEST_ASSERT_TRUE(bayes.values == scores.bayes && bayes.logits && bayes.labels == split->labels && bayes.classes == CLASSES);
}

static void freed_scores_may_be_freed_again(void) {
    score("jem");
    cp_scores_free(&scores);
    TEST_ASSERT_NULL(scores.logits);
    cp_scores_free(&scores);
}

static void a_paused_tape_stays_paused(void) {
    cp_tape_pause(tape, true);
    score("hybrid");
    TEST_ASSERT_TRUE(cp_tape_pause(tape, false));
    cp_scores_free(&scores);
    score("hybrid");
    TEST_ASSERT_FALSE(cp_tape_pause(tape, false));
}

static void a_model_that_does_not_match_the_images_is_an_error(void) {
    cp_rng rng = cp_rng_named(4, "scores");
    for (int h = 0; h < 2; h++) {
        model = cp_model_new(
            (cp_model_config){
                .model = "mlp", .head = h ? "hybrid" : "softmax", .classes = CLASSES, .mlp = {.sizes = {VALUES + 1, 5}}},
            &rng);
        status = (cp_status){0};
        TEST_ASSERT_FALSE(cp_scores_make(tape, model, split, &scores, &status));
        expect_error("4");
        says(&status, "the model does not fit them");
        TEST_ASSERT_NULL(scores.logits);
        TEST_ASSERT_FALSE(cp_tape_pause(tape, false));
        cp_model_free(model);
        model = NULL;
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(scores_are_the_models_outputs_row_by_row);
    RUN_TEST(a_softmax_head_has_no_energies);
    RUN_TEST(nonfinite_outputs_are_reported);
    RUN_TEST(an_energy_that_overflows_is_reported_even_if_the_logits_are_finite);
    RUN_TEST(predictions_are_of_logits_with_a_temperature_or_of_the_gaussians);
    RUN_TEST(freed_scores_may_be_freed_again);
    RUN_TEST(a_paused_tape_stays_paused);
    RUN_TEST(a_model_that_does_not_match_the_images_is_an_error);
    return UNITY_END();
}
