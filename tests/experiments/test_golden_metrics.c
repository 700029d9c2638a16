/* Metrics equal scikit-learn's and numpy's (tests/golden/make_metrics.py) to 1e-9, in both precisions, on random
 * predictions and on difficult ones: ties, bin edges, one class, a confidence of 1, a single prediction. */
#include "experiments/kit/metrics/calibration.h"
#include "experiments/kit/metrics/metrics.h"

#include "support/golden.h"
#include "unity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-9;
static golden      *file;

void setUp(void) { file = golden_open("metrics.safetensors"); }

void tearDown(void) { golden_close(file); }

static void equal(double expected, double got, const char *name, const char *what) {
    if (isnan(expected) ? isnan(got) : fabs(expected - got) <= tolerance) return;
    char text[300];
    snprintf(text, sizeof text, "%s, %s: expected %.17g, got %.17g", name, what, expected, got);
    TEST_FAIL_MESSAGE(text);
}

typedef struct example {
    cp_predictions predictions;
    double        *values;
    int           *labels, *groups;
} example;

static example read_example(const char *name, const char *given) {
    const cp_st_entry *entry = golden_need(file, "%s.%s", name, given);
    example            e = {.values = malloc(entry->count * sizeof(double)),
                            .labels = malloc(entry->count * sizeof(int)),
                            .groups = malloc(entry->count * sizeof(int))};
    for (size_t i = 0; i < entry->count; i++) e.values[i] = golden_value(entry, i);
    golden_ints(golden_need(file, "%s.labels", name), e.labels, (int)entry->count);
    golden_ints(golden_need(file, "%s.groups", name), e.groups, (int)entry->count);
    e.predictions = (cp_predictions){.n = (int)entry->dims[0],
                                     .classes = (int)entry->dims[1],
                                     .values = e.values,
                                     .logits = strcmp(given, "logits") == 0,
                                     .labels = e.labels};
    return e;
}

static void free_example(example *e) {
    free(e->values);
    free(e->labels);
    free(e->groups);
}

static cp_metrics *measure(const cp_predictions *p) {
    cp_status   status = {0};
    cp_metrics *m = cp_metrics_new(p, (cp_metrics_config){.resamples = 20}, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(m, status.message);
    return m;
}

static void compare_values(const cp_estimate *of, int count, const cp_st_entry *expected) {
    TEST_ASSERT_EQUAL_UINT64(count, expected->count);
    for (int k = 0; k < count; k++)
        equal(golden_value(expected, (size_t)k), of[k].value, expected->name, cp_metric_name((cp_metric)k));
}

static void compare_tables(const cp_metrics *m, const char *name) {
    const cp_st_entry *bins = golden_need(file, "%s.bins", name);
    for (size_t b = 0; b < CP_CALIBRATION_BINS; b++) {
        equal(golden_value(bins, 3 * b), m->bins[b].count, name, "count of a bin");
        equal(golden_value(bins, 3 * b + 1), m->bins[b].confidence, name, "confidence of a bin");
        equal(golden_value(bins, 3 * b + 2), m->bins[b].accuracy, name, "accuracy of a bin");
    }
    int confusion[256], count = golden_ints(golden_need(file, "%s.confusion", name), confusion, 256);
    TEST_ASSERT_EQUAL_INT(m->classes * m->classes, count);
    TEST_ASSERT_EQUAL_INT_ARRAY_MESSAGE(confusion, m->confusion, count, name);
}

static void compare_temperature(const example *e, const char *name) {
    cp_temperature fitted;
    cp_status      status = {0};
    TEST_ASSERT_TRUE_MESSAGE(cp_temperature_fit(&e->predictions, &fitted, &status), status.message);
    TEST_ASSERT_FALSE(fitted.at_bound);
    equal(golden_value(golden_need(file, "%s.temperature", name), 0), fitted.temperature, name, "temperature");
    cp_predictions scaled = e->predictions;
    scaled.temperature = fitted.temperature;
    cp_metrics *m = measure(&scaled);
    compare_values(m->of, CP_METRICS, golden_need(file, "%s.scaled", name));
    cp_metrics_free(m);
}

static void compare_by_group(const example *e, const char *name) {
    cp_predictions grouped = e->predictions;
    grouped.groups = e->groups;
    cp_metrics *m = measure(&grouped);
    compare_values(m->of, CP_METRICS, golden_need(file, "%s.values", name));
    compare_values(m->by_group, CP_METRICS_BY_GROUP, golden_need(file, "%s.by_group", name));
    cp_metrics_free(m);
}

static void all_cases_agree(void) {
    int cases = 0;
    for (size_t i = 0; i < golden_count(file); i++) {
        char  name[64];
        char *dot;
        snprintf(name, sizeof name, "%s", golden_name(file, i));
        if (!(dot = strrchr(name, '.')) || (strcmp(dot, ".p") != 0 && strcmp(dot, ".logits") != 0)) continue;
        *dot = '\0';
        example     e = read_example(name, dot + 1);
        cp_metrics *m = measure(&e.predictions);
        compare_values(m->of, CP_METRICS, golden_need(file, "%s.values", name));
        compare_tables(m, name);
        compare_by_group(&e, name);
        if (e.predictions.logits) compare_temperature(&e, name);
        cp_metrics_free(m);
        free_example(&e);
        cases++;
    }
    TEST_ASSERT_EQUAL_INT(33, cases);
    TEST_ASSERT_NULL(golden_not_looked_at(file));
}

/* Predictions given as cp_real have the same metrics to its precision, if no bin edge is near. */
static void reals_give_the_same(void) {
    example  e = read_example("random_100_8", "p");
    size_t   count = (size_t)e.predictions.n * (size_t)e.predictions.classes;
    cp_real *reals = malloc(count * sizeof *reals);
    for (size_t i = 0; i < count; i++) reals[i] = (cp_real)e.values[i];
    cp_predictions p = e.predictions;
    p.values = NULL, p.reals = reals;
    cp_metrics *m = measure(&p), *exact = measure(&e.predictions);
    for (int k = 0; k < CP_METRICS; k++) TEST_ASSERT_DOUBLE_WITHIN(CP_DOUBLE ? 0 : 1e-6, exact->of[k].value, m->of[k].value);
    cp_metrics_free(m), cp_metrics_free(exact);
    free(reals);
    free_example(&e);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(all_cases_agree);
    RUN_TEST(reals_give_the_same);
    return UNITY_END();
}
