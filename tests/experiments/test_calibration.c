/* Temperature scaling finds the minimum, or a bound if there is no minimum. */
#include "experiments/kit/metrics/calibration.h"

#include "core/random.h"

#include "core/scratch.h"
#include "tests/support/errors.h"

#include <math.h>

enum { N = 1000, CLASSES = 3 };

static double         logits[N * CLASSES];
static int            labels[N];
static cp_predictions made;
static cp_status      status;
static cp_temperature fitted;

/* Labels drawn from softmax(logits): a temperature near 1 is right. */
void setUp(void) {
    status = (cp_status){0};
    errors_catch();
    cp_rng rng = cp_rng_named(4, "calibration");
    for (int i = 0; i < N; i++) {
        double e[CLASSES], sum = 0;
        for (int c = 0; c < CLASSES; c++) {
            logits[i * CLASSES + c] = 2 * cp_rng_normal(&rng);
            sum += e[c] = exp(logits[i * CLASSES + c]);
        }
        double u = cp_rng_uniform(&rng) * sum;
        labels[i] = u < e[0] ? 0 : u < e[0] + e[1] ? 1 : 2;
    }
    made = (cp_predictions){.n = N, .classes = CLASSES, .values = logits, .logits = true, .labels = labels};
}

void tearDown(void) { errors_release(); }

static double fit(const cp_predictions *p) {
    TEST_ASSERT_TRUE_MESSAGE(cp_temperature_fit(p, &fitted, &status), status.message);
    return fitted.temperature;
}

static cp_metrics *measure_at(double temperature) {
    cp_predictions p = made;
    p.temperature = temperature;
    cp_metrics *m = cp_metrics_new(&p, (cp_metrics_config){.resamples = -1}, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(m, status.message);
    return m;
}

static double nll_at(double temperature) {
    cp_metrics *m = measure_at(temperature);
    double      nll = m->of[CP_NLL].value;
    cp_metrics_free(m);
    return nll;
}

static void scale_logits(double factor) {
    for (int i = 0; i < N * CLASSES; i++) logits[i] *= factor;
}

static void calibrated_logits_need_a_temperature_near_one(void) {
    TEST_ASSERT_DOUBLE_WITHIN(0.15, 1, fit(&made));
    TEST_ASSERT_FALSE(fitted.at_bound);
}

static void no_other_temperature_has_a_lower_nll(void) {
    double best = fit(&made), lowest = nll_at(best);
    for (double t = 0.05; t < 20; t *= 1.05) TEST_ASSERT_TRUE(nll_at(t) >= lowest);
    TEST_ASSERT_TRUE(nll_at(best * 1.001) > lowest && nll_at(best / 1.001) > lowest);
}

static void logits_times_a_factor_have_a_temperature_times_it(void) {
    double t = fit(&made);
    scale_logits(7);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 7 * t, fit(&made));
    scale_logits(1 / 140.0);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, t / 20, fit(&made));
}

static void a_temperature_of_one_changes_nothing(void) {
    cp_metrics *plain = measure_at(0), *one = measure_at(1);
    TEST_ASSERT_EQUAL_MEMORY(plain->bins, one->bins, sizeof one->bins);
    for (int k = 0; k < CP_METRICS; k++) TEST_ASSERT_TRUE(plain->of[k].value == one->of[k].value);
    cp_metrics_free(plain), cp_metrics_free(one);
}

static void a_temperature_changes_confidence_but_no_prediction(void) {
    cp_metrics *plain = measure_at(1), *hot = measure_at(5);
    TEST_ASSERT_TRUE(hot->mean_confidence < plain->mean_confidence);
    TEST_ASSERT_EQUAL_INT_ARRAY(plain->confusion, hot->confusion, CLASSES * CLASSES);
    cp_metrics_free(plain), cp_metrics_free(hot);
}

static void logits_that_hardly_differ_stay_distinct_at_any_temperature(void) {
    logits[0] = 1, logits[1] = 1 + 1e-15, logits[2] = 0;
    made.n = 1, labels[0] = 1;
    cp_metrics *hot = measure_at(100);
    TEST_ASSERT_TRUE(hot->of[CP_ACCURACY].value == 1);
    cp_metrics_free(hot);
}

static void an_earlier_temperature_does_not_affect_the_fit(void) {
    double t = fit(&made);
    made.temperature = 9;
    TEST_ASSERT_TRUE(fit(&made) == t);
}

static void without_a_minimum_the_temperature_is_at_its_bound(void) {
    for (int i = 0; i < N; i++) { /* all correct */
        int best = 0;
        for (int c = 1; c < CLASSES; c++)
            if (logits[i * CLASSES + c] > logits[i * CLASSES + best]) best = c;
        labels[i] = best;
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.01, fit(&made));
    TEST_ASSERT_TRUE(fitted.at_bound);
    scale_logits(-1); /* the right class is now the last of three in every row */
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 100, fit(&made));
    TEST_ASSERT_TRUE(fitted.at_bound);
}

static void equal_logits_keep_a_temperature_of_one(void) {
    for (int i = 0; i < N * CLASSES; i++) logits[i] = 3;
    TEST_ASSERT_TRUE(fit(&made) == 1 && !fitted.at_bound);
    made.n = 1, made.classes = 1, labels[0] = 0;
    TEST_ASSERT_TRUE(fit(&made) == 1 && !fitted.at_bound);
}

static void one_prediction_and_huge_logits_can_be_fitted(void) {
    made.n = 1;
    logits[0] = 1e308, logits[1] = -1e308, logits[2] = 0;
    for (labels[0] = 0; labels[0] < CLASSES; labels[0]++) {
        double t = fit(&made);
        TEST_ASSERT_TRUE(t >= 0.01 - 1e-12 && t <= 100 + 1e-12);
    }
}

static void predictions_that_cannot_be_fitted_are_refused(void) {
    made.n = 0;
    TEST_ASSERT_FALSE(cp_temperature_fit(&made, &fitted, &status));
    says(&status, "no predictions");
    made.n = N, logits[5] = NAN;
    TEST_ASSERT_FALSE(cp_temperature_fit(&made, &fitted, &status));
    says(&status, "prediction 1 of 1000 is not finite");
    made.logits = false;
    TEST_ASSERT_FALSE(cp_temperature_fit(&made, &fitted, &status));
    expect_error_in("temperature_fit", "not to probabilities", __FILE__);
    TEST_ASSERT_FALSE(cp_temperature_fit(NULL, &fitted, &status));
    expect_error_in("temperature_fit", "NULL", __FILE__);
    TEST_ASSERT_FALSE(cp_temperature_fit(&made, NULL, &status));
    expect_error_in("temperature_fit", "NULL", __FILE__);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(calibrated_logits_need_a_temperature_near_one);
    RUN_TEST(no_other_temperature_has_a_lower_nll);
    RUN_TEST(logits_times_a_factor_have_a_temperature_times_it);
    RUN_TEST(a_temperature_of_one_changes_nothing);
    RUN_TEST(a_temperature_changes_confidence_but_no_prediction);
    RUN_TEST(logits_that_hardly_differ_stay_distinct_at_any_temperature);
    RUN_TEST(an_earlier_temperature_does_not_affect_the_fit);
    RUN_TEST(without_a_minimum_the_temperature_is_at_its_bound);
    RUN_TEST(equal_logits_keep_a_temperature_of_one);
    RUN_TEST(one_prediction_and_huge_logits_can_be_fitted);
    RUN_TEST(predictions_that_cannot_be_fitted_are_refused);
    return UNITY_END();
}
