/* Operating points, curves, agreement and paired tests equal those of scikit-learn, statsmodels and the formulas of the literature
 * (tests/golden/make_judging.py) to 1e-9, in both precisions, on random inputs and on difficult ones: ties, one class, one row, infinite
 * thresholds. */
#include "experiments/kit/metrics/curves.h"
#include "experiments/kit/metrics/metrics.h"
#include "experiments/kit/metrics/operating.h"
#include "experiments/kit/metrics/outliers.h"
#include "experiments/kit/metrics/paired.h"

#include "support/golden.h"
#include "unity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 512 };

static const double tolerance = 1e-9;
static golden      *file;
static cp_status    status;
static double       a[ROWS], b[ROWS];
static bool         marked[ROWS];

void setUp(void) {
    file = golden_open("judging.safetensors");
    status = (cp_status){0};
}

void tearDown(void) { golden_close(file); }

static void equal(double expected, double got, const char *name, const char *what) {
    if (isnan(expected) ? isnan(got) : expected == got || fabs(expected - got) <= tolerance) return;
    char text[300];
    snprintf(text, sizeof text, "%s, %s: expected %.17g, got %.17g", name, what, expected, got);
    TEST_FAIL_MESSAGE(text);
}

/* Calls `compare` for each array KIND.NAME. */
static int each(const char *kind, void (*compare)(const cp_st_entry *, const char *)) {
    int    cases = 0;
    size_t length = strlen(kind);
    for (size_t i = 0; i < golden_count(file); i++) {
        const char *name = golden_name(file, i);
        if (strncmp(name, kind, length) != 0 || name[length] != '.' || strchr(name + length + 1, '.')) continue;
        compare(golden_need(file, "%s", name), name);
        cases++;
    }
    return cases;
}

/* Rows of `columns` numbers; the last says which are marked. */
static int read_rows(const cp_st_entry *e) {
    int n = (int)e->dims[0], columns = (int)e->dims[1];
    TEST_ASSERT_LESS_OR_EQUAL_INT(ROWS, n);
    for (int i = 0; i < n; i++) {
        a[i] = golden_value(e, (size_t)(i * columns));
        b[i] = golden_value(e, (size_t)(i * columns + 1));
        marked[i] = golden_value(e, (size_t)(i * columns + columns - 1)) != 0;
    }
    return n;
}

/* ---- a score ---- */

static void compare_thresholds(int n, const char *name) {
    static const char *const rules[] = {"sensitivity=0.95", "sensitivity=1", "sensitivity=0", "specificity=0.9",
                                        "specificity=1.0",  "specificity=0", "youden"};
    const cp_st_entry       *expected = golden_find(file, "%s.thresholds", name);
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        cp_operating_rule rule;
        double            threshold;
        TEST_ASSERT_TRUE_MESSAGE(cp_operating_read(rules[k], &rule, &status), status.message);
        bool chosen = cp_operating_choose(rule, n, a, marked, &threshold, &status);
        TEST_ASSERT_EQUAL_MESSAGE(expected != NULL, chosen, name);
        if (expected) equal(golden_value(expected, k), threshold, name, rules[k]);
    }
}

static void compare_points(int n, const char *name) {
    const cp_st_entry *points = golden_need(file, "%s.points", name);
    size_t             columns = (size_t)points->dims[1];
    for (size_t k = 0; k < points->count; k += columns) {
        cp_operating p = {
            .n = n, .scores = a, .positive = marked, .threshold = golden_value(points, k), .prevalence = 0.03, .resamples = 5};
        TEST_ASSERT_TRUE_MESSAGE(cp_operating_measure(&p, &status), status.message);
        for (size_t r = 0; r < 4; r++) {
            equal(golden_value(points, k + 1 + 3 * r), p.of[r].value, name, cp_rate_names[r]);
            equal(golden_value(points, k + 2 + 3 * r), p.of[r].low, name, "lower end");
            equal(golden_value(points, k + 3 + 3 * r), p.of[r].high, name, "upper end");
        }
        for (size_t r = 4; r < CP_RATES; r++) equal(golden_value(points, k + 9 + r), p.of[r].value, name, cp_rate_names[r]);
    }
}

static void compare_ranking(const cp_st_entry *e, const char *name) {
    int                n = read_rows(e);
    cp_ranking         r = {.n = n, .scores = a, .marked = marked, .resamples = 5}, answers = r;
    const cp_st_entry *numbers = golden_need(file, "%s.numbers", name), *curves = golden_need(file, "%s.curves", name);
    answers.abstention = true;
    TEST_ASSERT_TRUE_MESSAGE(cp_ranking_measure(&r, &status) && cp_ranking_measure(&answers, &status), status.message);
    for (size_t k = 0; k < CP_RANKING_NUMBERS; k++)
        equal(golden_value(numbers, k), (k < CP_RANKING_AURC ? &r : &answers)->of[k].value, name, cp_ranking_names[k]);
    for (size_t k = 0; k < curves->count; k++) {
        const cp_ranking *from = k / CP_CURVE_POINTS < CP_CURVE_RISK ? &r : &answers;
        equal(golden_value(curves, k), from->curves[k / CP_CURVE_POINTS][k % CP_CURVE_POINTS].value, name, "a point of a curve");
    }
    compare_thresholds(n, name);
    compare_points(n, name);
}

static void scores_agree(void) { TEST_ASSERT_EQUAL_INT(17, each("rank", compare_ranking)); }

static void wilson_s_intervals_agree(void) {
    const cp_st_entry *e = golden_need(file, "wilson");
    for (size_t i = 0; i < e->count; i += 4) {
        cp_estimate found = cp_wilson(golden_value(e, i), golden_value(e, i + 1));
        equal(golden_value(e, i + 2), found.low, "wilson", "lower end");
        equal(golden_value(e, i + 3), found.high, "wilson", "upper end");
    }
}

/* ---- two classifiers ---- */

static void compare_delong(const cp_st_entry *e, const char *name) {
    int                n = read_rows(e);
    cp_delong          found;
    const cp_st_entry *expected = golden_need(file, "%s.delong", name);
    TEST_ASSERT_TRUE(cp_delong_test(n, a, b, marked, &found));
    equal(golden_value(expected, 0), found.auc[0], name, "first AUC");
    equal(golden_value(expected, 1), found.auc[1], name, "second AUC");
    equal(golden_value(expected, 2), found.variance, name, "variance");
    equal(golden_value(expected, 3), found.p, name, "p");
}

static void delong_s_test_agrees(void) { TEST_ASSERT_EQUAL_INT(12, each("two", compare_delong)); }

static void mcnemar_s_test_agrees(void) {
    const cp_st_entry *e = golden_need(file, "mcnemar");
    for (size_t i = 0; i < e->count; i += 3)
        equal(golden_value(e, i + 2), cp_sign_test((int)golden_value(e, i), (int)golden_value(e, i + 1)), "mcnemar", "p");
}

static void compare_holm(const cp_st_entry *e, const char *name) {
    const cp_st_entry *expected = golden_need(file, "%s.adjusted", name);
    for (size_t i = 0; i < e->count; i++) a[i] = golden_value(e, i);
    TEST_ASSERT_TRUE(cp_holm((int)e->count, a, b));
    for (size_t i = 0; i < e->count; i++) equal(golden_value(expected, i), b[i], name, "p");
}

static void holm_s_correction_agrees(void) { TEST_ASSERT_EQUAL_INT(5, each("holm", compare_holm)); }

/* ---- several classes ---- */

static void compare_classes(const cp_st_entry *e, const char *name) {
    int     labels[ROWS], n = golden_ints(golden_need(file, "%s.labels", name), labels, ROWS), classes = (int)e->dims[1];
    double *values = malloc(e->count * sizeof *values);
    for (size_t i = 0; i < e->count; i++) values[i] = golden_value(e, i);
    cp_predictions     p = {.n = n, .classes = classes, .values = values, .labels = labels};
    cp_metrics        *m = cp_metrics_new(&p, (cp_metrics_config){.resamples = 5}, &status);
    const cp_st_entry *table = golden_need(file, "%s.table", name), *kappa = golden_need(file, "%s.kappa", name);
    TEST_ASSERT_NOT_NULL_MESSAGE(m, status.message);
    TEST_ASSERT_EQUAL_UINT64(CP_CLASS_METRICS * (classes + 1), table->count);
    for (size_t i = 0; i < table->count; i++) equal(golden_value(table, i), m->by_class[i].value, name, "a number of the table");
    for (size_t i = 0; i < CP_AGREEMENTS; i++) equal(golden_value(kappa, i), m->agreement[i].value, name, "agreement");
    equal(golden_value(golden_need(file, "%s.debiased", name), 0), m->ece_debiased.value, name, "debiased ECE");
    cp_metrics_free(m);
    free(values);
}

static void tables_of_classes_agree(void) { TEST_ASSERT_EQUAL_INT(12, each("classes", compare_classes)); }

/* ---- features ---- */

static double *values_of(const cp_st_entry *e) {
    double *values = malloc(e->count * sizeof *values);
    for (size_t i = 0; i < e->count; i++) values[i] = golden_value(e, i);
    return values;
}

static void compare_features(const cp_st_entry *e, const char *name) {
    const cp_st_entry *test = golden_need(file, "%s.test", name), *expected = golden_need(file, "%s.scores", name);
    int labels[ROWS], classes, n = golden_ints(golden_need(file, "%s.labels", name), labels, ROWS), tested = (int)test->dims[0];
    golden_ints(golden_need(file, "%s.classes", name), &classes, 1);
    double      *train = values_of(e), *z = values_of(test);
    cp_reference r;
    TEST_ASSERT_TRUE_MESSAGE(cp_reference_make(&r, n, (int)e->dims[1], train, classes, labels, &status), status.message);
    TEST_ASSERT_TRUE(cp_reference_scores(&r, tested, z, a, b));
    for (int i = 0; i < tested; i++) {
        double large = golden_value(expected, (size_t)i);
        equal(1, a[i] == large ? 1 : a[i] / large, name, "Mahalanobis, in proportion");
        equal(golden_value(expected, (size_t)(tested + i)), b[i], name, "neighbors");
    }
    cp_reference_free(&r);
    free(train), free(z);
}

static void scores_of_features_agree(void) { TEST_ASSERT_EQUAL_INT(5, each("features", compare_features)); }

static void every_array_was_compared(void) {
    each("rank", compare_ranking), each("two", compare_delong), each("holm", compare_holm), each("classes", compare_classes),
        each("features", compare_features);
    golden_need(file, "wilson"), golden_need(file, "mcnemar");
    TEST_ASSERT_NULL(golden_not_looked_at(file));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(scores_agree);
    RUN_TEST(wilson_s_intervals_agree);
    RUN_TEST(delong_s_test_agrees);
    RUN_TEST(mcnemar_s_test_agrees);
    RUN_TEST(holm_s_correction_agrees);
    RUN_TEST(tables_of_classes_agree);
    RUN_TEST(scores_of_features_agree);
    RUN_TEST(every_array_was_compared);
    return UNITY_END();
}
