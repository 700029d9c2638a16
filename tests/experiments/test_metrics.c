/* Metrics: intervals, properties that hold for any predictions, and what is refused. test_golden_metrics.c tests the
 * values, test_metrics_by_group.c the metrics by group. The program is linked with -Wl,--wrap for the memory calls, to make
 * them fail. */
#include "experiments/kit/metrics/metrics.h"

#include "core/random.h"
#include "core/threads.h"
#include "experiments/kit/metrics/stats.h"

#include "core/scratch.h"
#include "models/predict.h"
#include "support/wrapped_memory.h"
#include "tests/support/errors.h"

#include <math.h>

enum { N = 300, CLASSES = 4 };

static double         logits[N * CLASSES], other[N * CLASSES];
static int            labels[N], other_labels[N], groups[N];
static cp_predictions made;
static cp_status      status;

/* Logits that depend on the labels and are overconfident, like those of a classifier trained on few labels. */
void setUp(void) {
    status = (cp_status){0};
    calls_allowed = -1;
    errors_catch();
    cp_rng rng = cp_rng_named(6, "metrics");
    for (int i = 0; i < N; i++) {
        labels[i] = (int)cp_rng_below(&rng, CLASSES);
        for (int c = 0; c < CLASSES; c++) logits[i * CLASSES + c] = 4 * (cp_rng_normal(&rng) + (c == labels[i]));
    }
    made = (cp_predictions){.n = N, .classes = CLASSES, .values = logits, .logits = true, .labels = labels};
}

void tearDown(void) {
    cp_threads_set(0);
    errors_release();
}

static cp_metrics *measure(const cp_predictions *p, int resamples, uint64_t seed) {
    cp_metrics *m = cp_metrics_new(p, (cp_metrics_config){.resamples = resamples, .seed = seed}, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(m, status.message);
    return m;
}

static void same_measures(const cp_metrics *a, const cp_metrics *b) {
    for (int k = 0; k < CP_METRICS; k++) TEST_ASSERT_EQUAL_MEMORY(&a->of[k], &b->of[k], sizeof a->of[k]);
}

/* ---- values ---- */

static void the_order_of_predictions_does_not_matter(void) {
    int order[N];
    for (int i = 0; i < N * CLASSES; i++) logits[i] = floor(logits[i] / 4); /* ties in confidence and score */
    for (uint64_t seed = 0; seed < 5; seed++) {
        cp_rng rng = cp_rng_named(seed, "order");
        cp_rng_permutation(&rng, order, N);
        for (int i = 0; i < N; i++) {
            memcpy(other + i * CLASSES, logits + order[i] * CLASSES, CLASSES * sizeof *other);
            other_labels[i] = labels[order[i]];
        }
        cp_predictions mixed = made;
        mixed.values = other, mixed.labels = other_labels;
        cp_metrics *a = measure(&made, -1, 0), *b = measure(&mixed, -1, 0);
        for (int k = 0; k < CP_METRICS; k++) TEST_ASSERT_DOUBLE_WITHIN(1e-13, a->of[k].value, b->of[k].value);
        TEST_ASSERT_EQUAL_INT_ARRAY(a->confusion, b->confusion, CLASSES * CLASSES);
        cp_metrics_free(a), cp_metrics_free(b);
    }
}

static void logits_and_their_probabilities_give_the_same_metrics(void) {
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int c = 0; c < CLASSES; c++) sum += other[i * CLASSES + c] = exp(logits[i * CLASSES + c]);
        for (int c = 0; c < CLASSES; c++) other[i * CLASSES + c] /= sum;
    }
    cp_predictions p = {.n = N, .classes = CLASSES, .values = other, .labels = labels};
    cp_metrics    *a = measure(&made, -1, 0), *b = measure(&p, -1, 0);
    for (int k = 0; k < CP_METRICS; k++) TEST_ASSERT_DOUBLE_WITHIN(1e-12, a->of[k].value, b->of[k].value);
    cp_metrics_free(a), cp_metrics_free(b);
}

static void the_nll_of_logits_is_not_limited(void) {
    double         z[] = {0, 1000}, p[] = {0, 1};
    cp_predictions from_logits = {.n = 1, .classes = 2, .values = z, .logits = true, .labels = (int[]){0}};
    cp_predictions from_probabilities = {.n = 1, .classes = 2, .values = p, .labels = (int[]){0}};
    cp_metrics    *a = measure(&from_logits, -1, 0), *b = measure(&from_probabilities, -1, 0);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1000, a->of[CP_NLL].value);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 52 * log(2), b->of[CP_NLL].value);
    cp_metrics_free(a), cp_metrics_free(b);
}

static void the_bins_of_the_table_add_up(void) {
    cp_metrics *m = measure(&made, -1, 0);
    double      count = 0, confidence = 0, right = 0;
    int         predicted = 0, diagonal = 0;
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) {
        if (m->bins[b].count == 0) {
            TEST_ASSERT_TRUE(isnan(m->bins[b].confidence) && isnan(m->bins[b].accuracy));
            continue;
        }
        count += m->bins[b].count;
        confidence += m->bins[b].count * m->bins[b].confidence;
        right += m->bins[b].count * m->bins[b].accuracy;
        TEST_ASSERT_TRUE(m->bins[b].confidence > b / 15.0 && m->bins[b].confidence <= (b + 1) / 15.0 + 1e-12);
    }
    for (int i = 0; i < CLASSES * CLASSES; i++) predicted += m->confusion[i], diagonal += i % (CLASSES + 1) ? 0 : m->confusion[i];
    TEST_ASSERT_EQUAL_INT(N, predicted);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, (double)diagonal / N, m->of[CP_ACCURACY].value);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, N, count);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, m->mean_confidence, confidence / N);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, m->of[CP_ACCURACY].value, right / N);
    cp_metrics_free(m);
}

/* ---- intervals ---- */

static void intervals_contain_the_estimate(void) {
    cp_metrics *m = measure(&made, 0, 3);
    for (cp_metric k = 0; k < CP_METRICS; k++) {
        if (k == CP_MCE) continue; /* a maximum of noise, which is larger in resamples */
        char text[160];
        snprintf(text, sizeof text, "%s %g, interval %g to %g", cp_metric_name(k), m->of[k].value, m->of[k].low, m->of[k].high);
        TEST_ASSERT_TRUE_MESSAGE(m->of[k].low < m->of[k].value && m->of[k].value < m->of[k].high, text);
    }
    TEST_ASSERT_EQUAL_INT(N, m->groups);
    cp_metrics_free(m);
}

/* The sd of a fraction is sqrt(p (1 - p) / n), and 95 % of a normal distribution is within 1.96 sd. */
static void the_interval_of_accuracy_is_as_wide_as_theory_predicts(void) {
    cp_metrics *m = measure(&made, 4000, 3);
    cp_estimate a = m->of[CP_ACCURACY];
    double      half = 1.96 * sqrt(a.value * (1 - a.value) / N);
    TEST_ASSERT_DOUBLE_WITHIN(0.08 * half + 1.0 / N, 2 * half, a.high - a.low);
    TEST_ASSERT_DOUBLE_WITHIN(0.1 * half, a.value, (a.low + a.high) / 2);
    cp_metrics_free(m);
}

static void the_same_seed_gives_the_same_interval_and_another_seed_does_not(void) {
    cp_metrics *a = measure(&made, 200, 3), *b = measure(&made, 200, 3), *c = measure(&made, 200, 4);
    same_measures(a, b);
    TEST_ASSERT_TRUE(a->of[CP_NLL].low != c->of[CP_NLL].low && a->of[CP_NLL].high != c->of[CP_NLL].high);
    TEST_ASSERT_TRUE(a->of[CP_NLL].value == c->of[CP_NLL].value);
    cp_metrics_free(a), cp_metrics_free(b), cp_metrics_free(c);
}

static void the_number_of_threads_does_not_matter(void) {
    cp_threads_set(1);
    cp_metrics *one = measure(&made, 203, 3);
    cp_threads_set(4);
    cp_metrics *four = measure(&made, 203, 3);
    same_measures(one, four);
    cp_metrics_free(one), cp_metrics_free(four);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Explicit resamples, one prediction after another, measured without weights. Of 41 sorted values the 2.5th percentile is
 * the second, the 97.5th the second to last. */
static void intervals_equal_those_of_explicit_resamples(void) {
    enum { RESAMPLES = 41 };
    double      values[CP_METRICS][RESAMPLES];
    cp_metrics *m = measure(&made, RESAMPLES, 9);
    for (int r = 0; r < RESAMPLES; r++) {
        cp_rng rng = cp_rng_named(9, "bootstrap");
        rng.position = (uint64_t)r << 33;
        for (int i = 0; i < N; i++) {
            int from = (int)cp_rng_below(&rng, N);
            memcpy(other + i * CLASSES, logits + from * CLASSES, CLASSES * sizeof *other);
            other_labels[i] = labels[from];
        }
        cp_predictions drawn = made;
        drawn.values = other, drawn.labels = other_labels;
        cp_metrics *one = measure(&drawn, -1, 0);
        for (int k = 0; k < CP_METRICS; k++) values[k][r] = one->of[k].value;
        cp_metrics_free(one);
    }
    for (int k = 0; k < CP_METRICS; k++) {
        qsort(values[k], RESAMPLES, sizeof values[k][0], ascending);
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, values[k][1], m->of[k].low);
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, values[k][RESAMPLES - 2], m->of[k].high);
    }
    cp_metrics_free(m);
}

static void without_resamples_there_is_no_interval(void) {
    cp_metrics *m = measure(&made, -1, 3);
    for (int k = 0; k < CP_METRICS; k++) TEST_ASSERT_TRUE(isfinite(m->of[k].value) && isnan(m->of[k].low) && isnan(m->of[k].high));
    cp_metrics_free(m);
}

/* ---- edges ---- */

static void a_single_prediction_has_an_interval_of_zero_width(void) {
    made.n = 1;
    cp_metrics *m = measure(&made, 30, 1);
    TEST_ASSERT_TRUE(isnan(m->of[CP_AUC].value) && isnan(m->of[CP_AUC].low) && isnan(m->of[CP_AUC].high));
    TEST_ASSERT_TRUE(m->of[CP_NLL].low == m->of[CP_NLL].value && m->of[CP_NLL].high == m->of[CP_NLL].value);
    cp_metrics_free(m);
}

/* With two labels, half of the resamples have only one of them, and no AUC. */
static void resamples_without_a_metric_are_left_out(void) {
    made.n = 2, labels[0] = 0, labels[1] = 1;
    cp_metrics *m = measure(&made, 100, 1);
    TEST_ASSERT_TRUE(isfinite(m->of[CP_AUC].low) && isfinite(m->of[CP_AUC].high));
    cp_metrics_free(m);
}

static void an_infinite_nll_stays_infinite_and_affects_nothing_else(void) {
    logits[0] = 1e308, logits[1] = logits[2] = logits[3] = -1e308, labels[0] = 1;
    cp_metrics *m = measure(&made, 100, 1);
    TEST_ASSERT_TRUE(isinf(m->of[CP_NLL].value) && isinf(m->of[CP_NLL].high) && !isnan(m->of[CP_NLL].low));
    TEST_ASSERT_TRUE(isfinite(m->of[CP_BRIER].value) && isfinite(m->of[CP_ECE].value));
    cp_metrics_free(m);
}

static void turned_down(const cp_predictions *p, const char *part) {
    TEST_ASSERT_NULL(cp_metrics_new(p, (cp_metrics_config){0}, &status));
    says(&status, part);
    TEST_ASSERT_EQUAL_INT(0, errors);
}

static void bad_predictions_are_refused_with_their_row(void) {
    double         p[] = {0.5, 0.5, 0.25, 0.75};
    int            y[] = {0, 1};
    cp_predictions two = {.n = 2, .classes = 2, .values = p, .labels = y};
    p[3] = NAN, turned_down(&two, "prediction 1 of 2 is not finite: class 1 has nan");
    p[3] = INFINITY, turned_down(&two, "has the model diverged?");
    p[3] = -0.25, turned_down(&two, "the probability of class 1 is -0.25; are these logits?");
    p[3] = 1.5, turned_down(&two, "the probability of class 1 is 1.5");
    p[3] = 0.5, turned_down(&two, "prediction 1 of 2: the probabilities sum to 0.75, not 1");
    p[3] = 0.75, y[0] = 2, turned_down(&two, "label 2 of prediction 0 is not one of 2 classes");
    y[0] = -1, turned_down(&two, "label -1");
    two.n = 0, turned_down(&two, "no predictions");
}

static void rounded_rows_are_accepted(void) {
    double         p[] = {0.3331, 0.3333, 0.3334};
    cp_predictions one = {.n = 1, .classes = 3, .values = p, .labels = (int[]){0}};
    cp_metrics    *m = measure(&one, -1, 0);
    TEST_ASSERT_DOUBLE_WITHIN(1e-15, -log(0.3331), m->of[CP_NLL].value);
    TEST_ASSERT_TRUE(m->mean_confidence == 0.3334);
    cp_metrics_free(m);
}

static void misused(cp_predictions p, const char *part) {
    TEST_ASSERT_NULL(cp_metrics_new(&p, (cp_metrics_config){0}, &status));
    expect_error_in("metrics_new", part, __FILE__);
}

static void impossible_predictions_are_misuse(void) {
    TEST_ASSERT_NULL(cp_metrics_new(NULL, (cp_metrics_config){0}, &status));
    expect_error_in("metrics_new", "NULL", __FILE__);
    cp_predictions p = made;
    p.n = -3, misused(p, "-3 predictions");
    p = made, p.classes = 0, misused(p, "0 classes");
    p = made, p.values = NULL, misused(p, "NULL");
    p = made, p.labels = NULL, misused(p, "NULL");
    p = made, p.temperature = -1, misused(p, "temperature of -1 does not fit logits");
    p = made, p.temperature = NAN, misused(p, "temperature of nan");
    p = made, p.temperature = 2, p.logits = false, misused(p, "temperature of 2 does not fit probabilities");
}

static void a_lack_of_memory_is_reported_at_every_allocation(void) {
    int allowed = 0;
    made.n = 20, made.groups = groups;
    cp_threads_set(1);
    for (; allowed < 100; allowed++) {
        calls_allowed = allowed;
        cp_metrics *m = cp_metrics_new(&made, (cp_metrics_config){.resamples = 20}, &status);
        cp_metrics_free(m);
        if (m) break;
        says(&status, "out of memory");
    }
    TEST_ASSERT_TRUE(allowed > 10 && allowed < 100);
}

/* ---- output ---- */

static void a_result_has_fractions_in_percent_with_intervals(void) {
    cp_metrics    *m = measure(&made, 50, 1);
    cp_json_writer w = {0};
    cp_metrics_put(m, &w, NULL);
    TEST_ASSERT_TRUE_MESSAGE(cp_json_writer_finish(&w, &status), status.message);
    cp_json *json = cp_json_parse((const char *)w.out.data, w.out.size, "metrics", &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(json, status.message);
    TEST_ASSERT_EQUAL_INT64(N, cp_json_integer(cp_json_get(json, "n"), 0));
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(json, "accuracy"), 0) == 100 * m->of[CP_ACCURACY].value);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(json, "auc"), 0) == m->of[CP_AUC].value);
    const cp_json *pair = cp_json_get(cp_json_get(json, "intervals"), "ece");
    TEST_ASSERT_TRUE(cp_json_number(cp_json_at(pair, 0), 0) == 100 * m->of[CP_ECE].low);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_at(pair, 1), 0) == 100 * m->of[CP_ECE].high);
    const cp_json *bins = cp_json_get(json, "bins");
    for (size_t b = 0; b < CP_CALIBRATION_BINS; b++) {
        double accuracy = cp_json_number(cp_json_at(cp_json_get(bins, "accuracy"), b), -1);
        TEST_ASSERT_EQUAL_INT64(m->bins[b].count, cp_json_integer(cp_json_at(cp_json_get(bins, "count"), b), -1));
        TEST_ASSERT_TRUE(accuracy == (m->bins[b].count ? m->bins[b].accuracy : -1));
        TEST_ASSERT_EQUAL_INT(m->bins[b].count ? CP_JSON_NUMBER : CP_JSON_NULL,
                              cp_json_at(cp_json_get(bins, "confidence"), b)->kind);
    }
    cp_json_free(json);
    cp_json_writer_free(&w);
    cp_metrics_free(m);
}

/* ---- means, quantiles, probabilities ---- */

static void means_and_standard_deviations_are_those_of_a_sample(void) {
    cp_mean_sd m = cp_mean_sd_of((double[]){1, 2, 3, 4}, 4);
    TEST_ASSERT_TRUE(fabs(m.mean - 2.5) < 1e-12 && fabs(m.sd - sqrt(5.0 / 3)) < 1e-12);
    TEST_ASSERT_TRUE(cp_mean_sd_of((double[]){7}, 1).mean == 7 && isnan(cp_mean_sd_of((double[]){7}, 1).sd));
    TEST_ASSERT_TRUE(isnan(cp_mean_sd_of(NULL, 0).mean));
}

static void quantiles_interpolate_between_neighbors(void) {
    double values[] = {3, 1, 2, 10}, infinite[] = {INFINITY, 1, INFINITY};
    cp_values_sort(values, 4);
    TEST_ASSERT_TRUE(values[0] == 1 && values[1] == 2 && values[2] == 3 && values[3] == 10);
    TEST_ASSERT_TRUE(cp_values_quantile(values, 4, 0) == 1 && cp_values_quantile(values, 4, 1) == 10);
    TEST_ASSERT_TRUE(cp_values_quantile(values, 4, 0.5) == 2.5 && cp_values_quantile(values, 4, 0.75) == 4.75);
    TEST_ASSERT_TRUE(cp_values_quantile(values + 3, 1, 0.3) == 10);
    cp_values_sort(infinite, 3);
    TEST_ASSERT_TRUE(isinf(cp_values_quantile(infinite, 3, 0.8)));
}

static void a_softmax_does_not_overflow_and_returns_its_logarithm(void) {
    double row[] = {1000, 1000 - log(3), -INFINITY}, even[] = {-5, -5};
    double rest = cp_softmax_row(row, 3, 1);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.75, row[0]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.25, row[1]);
    TEST_ASSERT_TRUE(row[2] == 0);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, log(4.0 / 3), rest);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, log(2), cp_softmax_row(even, 2, 100));
    TEST_ASSERT_TRUE(even[0] == 0.5 && even[1] == 0.5);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_order_of_predictions_does_not_matter);
    RUN_TEST(logits_and_their_probabilities_give_the_same_metrics);
    RUN_TEST(the_nll_of_logits_is_not_limited);
    RUN_TEST(the_bins_of_the_table_add_up);
    RUN_TEST(intervals_contain_the_estimate);
    RUN_TEST(the_interval_of_accuracy_is_as_wide_as_theory_predicts);
    RUN_TEST(the_same_seed_gives_the_same_interval_and_another_seed_does_not);
    RUN_TEST(the_number_of_threads_does_not_matter);
    RUN_TEST(intervals_equal_those_of_explicit_resamples);
    RUN_TEST(without_resamples_there_is_no_interval);
    RUN_TEST(a_single_prediction_has_an_interval_of_zero_width);
    RUN_TEST(resamples_without_a_metric_are_left_out);
    RUN_TEST(an_infinite_nll_stays_infinite_and_affects_nothing_else);
    RUN_TEST(bad_predictions_are_refused_with_their_row);
    RUN_TEST(rounded_rows_are_accepted);
    RUN_TEST(impossible_predictions_are_misuse);
    RUN_TEST(a_lack_of_memory_is_reported_at_every_allocation);
    RUN_TEST(a_result_has_fractions_in_percent_with_intervals);
    RUN_TEST(means_and_standard_deviations_are_those_of_a_sample);
    RUN_TEST(quantiles_interpolate_between_neighbors);
    RUN_TEST(a_softmax_does_not_overflow_and_returns_its_logarithm);
    return UNITY_END();
}
