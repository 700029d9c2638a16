/* All parts together, as in the comment at the top of batches.h: a set of bytes, few labeled rows, training with
 * checkpoints, evaluation with a temperature fitted on the validation split. */
#include "couplet.h"
#include "experiments/kit/data/batches.h"
#include "experiments/kit/metrics/calibration.h"

#include "core/scratch.h"

enum { ROWS = 240, VALUES = 4, CLASSES = 3, PER_CLASS = 5, STEPS = 120 };

static uint8_t     pixels[3][ROWS * VALUES];
static int         labels[3][ROWS];
static cp_dataset *set;
static cp_status   status;

/* Value c of class c is brighter than the others. */
void setUp(void) {
    static const char *const names[] = {"train", "val", "test"};
    status = (cp_status){0};
    scratch_make();
    cp_rng rng = cp_rng_named(8, "pixels");
    set = cp_dataset_new((cp_dataset_config){.name = "bright", .dtype = CP_U8, .shape = CP_SHAPE(VALUES)});
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < ROWS; i++) {
            labels[s][i] = i % CLASSES;
            for (int v = 0; v < VALUES; v++)
                pixels[s][i * VALUES + v] = (uint8_t)(cp_rng_below(&rng, 170) + (v == labels[s][i] ? 85 : 0));
        }
        TEST_ASSERT_TRUE(cp_dataset_add(set, (cp_split_config){names[s], ROWS, pixels[s], labels[s], false}, &status));
    }
}

void tearDown(void) {
    cp_dataset_free(set);
    scratch_remove();
}

/* A linear classifier and the objects to train it. */
typedef struct training {
    cp_params  *params;
    cp_linear   layer;
    cp_optim   *adam;
    cp_batches *labeled;
    cp_tape    *tape;
} training;

static training start(uint64_t seed) {
    training        t = {.params = cp_params_new(), .tape = cp_tape_new()};
    cp_rng          init = cp_rng_named(seed, "init");
    const cp_split *train = cp_dataset_split(set, "train", &status);
    int            *drawn = cp_split_draw(train, PER_CLASS, seed, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(drawn, status.message);
    t.layer = cp_linear_make(t.params, "layer", (cp_linear_config){.in = VALUES, .out = CLASSES}, &init);
    t.adam = cp_adam_new(t.params, (cp_adam_config){.rate = 0.05});
    t.labeled = cp_batches_new((cp_batches_config){.split = train,
                                                   .rows = drawn,
                                                   .row_count = PER_CLASS * CLASSES,
                                                   .size = 8,
                                                   .last = CP_LAST_WRAP,
                                                   .seed = seed,
                                                   .stream = "labeled"});
    free(drawn);
    return t;
}

static void end(training *t) {
    cp_batches_free(t->labeled);
    cp_optim_free(t->adam);
    cp_params_free(t->params);
    cp_tape_free(t->tape);
}

static void train_until(training *t, int64_t step) {
    while (t->labeled->step < step) {
        cp_batch   batch = cp_batches_next(t->tape, t->labeled); /* batch.x (8, 4) */
        cp_tensor *logits = cp_linear_forward(t->tape, &t->layer, batch.x);
        cp_backward(t->tape, cp_cross_entropy(t->tape, logits, batch.labels), t->params);
        cp_optim_step(t->adam);
        cp_tape_reset(t->tape);
    }
}

/* The logits of all rows of a split, (ROWS, CLASSES). */
static void evaluate(training *t, const cp_split *split, double *out) {
    cp_batches *all = cp_batches_new((cp_batches_config){.split = split, .size = 64, .in_order = true});
    for (int64_t left = cp_batches_per_epoch(all); left > 0; left--) {
        cp_tensor *logits = cp_linear_forward(t->tape, &t->layer, cp_batches_next(t->tape, all).x);
        for (size_t i = 0; i < logits->size; i++) *out++ = (double)logits->data[i];
        cp_tape_reset(t->tape);
    }
    cp_batches_free(all);
}

static void few_labels_are_learned_and_the_temperature_helps(void) {
    double          val_logits[ROWS * CLASSES], test_logits[ROWS * CLASSES];
    const cp_split *val = cp_dataset_split(set, "val", &status), *test = cp_dataset_split(set, "test", &status);
    training        t = start(1);
    train_until(&t, 10 * STEPS); /* far too long for fifteen labels: overconfident */
    evaluate(&t, val, val_logits);
    evaluate(&t, test, test_logits);

    cp_predictions on_val = {.n = val->count, .classes = CLASSES, .values = val_logits, .logits = true, .labels = val->labels};
    cp_predictions on_test = {.n = test->count, .classes = CLASSES, .values = test_logits, .logits = true, .labels = test->labels};
    cp_temperature fitted;
    cp_metrics    *plain = cp_metrics_new(&on_test, (cp_metrics_config){.seed = 1}, &status);
    TEST_ASSERT_TRUE_MESSAGE(cp_temperature_fit(&on_val, &fitted, &status), status.message);
    on_test.temperature = fitted.temperature;
    cp_metrics *scaled = cp_metrics_new(&on_test, (cp_metrics_config){.seed = 1}, &status);

    TEST_ASSERT_TRUE(plain->of[CP_ACCURACY].low > 0.5); /* chance is 1/3 */
    TEST_ASSERT_TRUE(fitted.temperature > 1 && !fitted.at_bound);
    TEST_ASSERT_TRUE(scaled->of[CP_ACCURACY].value == plain->of[CP_ACCURACY].value);
    TEST_ASSERT_TRUE(scaled->of[CP_NLL].value < plain->of[CP_NLL].value);
    TEST_ASSERT_TRUE(scaled->of[CP_ECE].value < plain->of[CP_ECE].value);
    cp_metrics_free(plain), cp_metrics_free(scaled);
    end(&t);
}

static bool save_or_load(training *t, bool load) {
    cp_checkpoint_part parts[] = {cp_part_optim(t->adam), cp_part_batches("labeled", t->labeled)};
    cp_checkpoint      all = {.params = t->params, .parts = parts, .part_count = 2};
    return load ? cp_checkpoint_load(&all, scratch("run.safetensors"), &status)
                : cp_checkpoint_save(&all, scratch("run.safetensors"), &status);
}

static void a_continued_training_ends_with_the_same_bits(void) {
    training whole = start(1), first = start(1), second = start(1);
    train_until(&whole, STEPS);
    train_until(&first, STEPS / 3 + 1); /* within an epoch */
    TEST_ASSERT_TRUE_MESSAGE(save_or_load(&first, false), status.message);
    TEST_ASSERT_TRUE_MESSAGE(save_or_load(&second, true), status.message);
    train_until(&second, STEPS);
    TEST_ASSERT_EQUAL_MEMORY(whole.layer.weight->data, second.layer.weight->data, whole.layer.weight->size * sizeof(cp_real));
    TEST_ASSERT_EQUAL_MEMORY(whole.layer.bias->data, second.layer.bias->data, whole.layer.bias->size * sizeof(cp_real));
    end(&whole), end(&first), end(&second);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(few_labels_are_learned_and_the_temperature_helps);
    RUN_TEST(a_continued_training_ends_with_the_same_bits);
    return UNITY_END();
}
