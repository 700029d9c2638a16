/* Operating points, curves and paired tests: rules as text, intervals over resamples and patients, bits on any number of threads. Their
 * values are in test_golden_judging.c. */
#include "experiments/kit/metrics/bootstrap.h"
#include "experiments/kit/metrics/curves.h"
#include "experiments/kit/metrics/operating.h"
#include "experiments/kit/metrics/paired.h"

#include "core/random.h"
#include "core/threads.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 240 };

static double    scores[N];
static bool      marked[N];
static int       patients[N];
static cp_status status;

/* Six rows of each patient are nearly the same. */
void setUp(void) {
    cp_rng rng = cp_rng_named(3, "judging");
    status = (cp_status){0};
    for (int i = 0; i < N; i++) {
        patients[i] = 1000 - i / 6;
        marked[i] = patients[i] % 3 == 0;
        scores[i] = i % 6 ? scores[i - i % 6] + 0.01 * cp_rng_normal(&rng) : cp_rng_normal(&rng) + marked[i];
    }
}

void tearDown(void) { cp_threads_set(0); }

/* ---- operating points ---- */

static void texts_that_are_no_rules_are_refused(void) {
    static const char *const bad[] = {
        "",     "sensitivity", "sensitivity=", "sensitivity=1.1", "specificity=-0.1", "specificity=x", "Youden", "youden=1",
        "0.5x", "1.01",        "nan",          "sensitivity=nan", "sensitivity=0.9 "};
    cp_operating_rule rule;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_ASSERT_FALSE_MESSAGE(cp_operating_read(bad[i], &rule, &status), bad[i]);
        TEST_ASSERT_NOT_NULL(strstr(status.message, "is not sensitivity=S"));
        status = (cp_status){0};
    }
    TEST_ASSERT_TRUE(cp_operating_read("0.25", &rule, &status));
    TEST_ASSERT_EQUAL_INT(CP_AT_THRESHOLD, rule.kind);
    TEST_ASSERT_EQUAL_DOUBLE(0.25, rule.value);
}

static cp_operating measured(const int *groups, double prevalence) {
    cp_operating p = {.n = N, .scores = scores, .positive = marked, .groups = groups, .threshold = 0.4, .prevalence = prevalence};
    TEST_ASSERT_TRUE_MESSAGE(cp_operating_measure(&p, &status), status.message);
    return p;
}

static void no_threshold_is_chosen_where_all_are_of_one_class(void) {
    double threshold;
    bool   none[3] = {false}, all[3] = {true, true, true};
    TEST_ASSERT_FALSE(cp_operating_choose((cp_operating_rule){CP_AT_YOUDEN, NAN}, 3, scores, none, &threshold, &status));
    TEST_ASSERT_NOT_NULL(strstr(status.message, "none are of the class"));
    TEST_ASSERT_FALSE(cp_operating_choose((cp_operating_rule){CP_AT_SENSITIVITY, 0.9}, 3, scores, all, &threshold, NULL));
    TEST_ASSERT_TRUE(cp_operating_choose((cp_operating_rule){CP_AT_THRESHOLD, 0.3}, 3, scores, all, &threshold, NULL));
    TEST_ASSERT_EQUAL_DOUBLE(0.3, threshold);
}

static void the_chosen_threshold_keeps_its_promise(void) {
    for (int k = 0; k <= 20; k++) {
        cp_operating p = {.n = N, .scores = scores, .positive = marked, .resamples = -1};
        TEST_ASSERT_TRUE(
            cp_operating_choose((cp_operating_rule){CP_AT_SENSITIVITY, k / 20.0}, N, scores, marked, &p.threshold, NULL));
        TEST_ASSERT_TRUE(cp_operating_measure(&p, NULL));
        TEST_ASSERT_TRUE(p.of[CP_SENSITIVITY].value >= k / 20.0);
        TEST_ASSERT_TRUE(
            cp_operating_choose((cp_operating_rule){CP_AT_SPECIFICITY, k / 20.0}, N, scores, marked, &p.threshold, NULL));
        TEST_ASSERT_TRUE(cp_operating_measure(&p, NULL));
        TEST_ASSERT_TRUE(p.of[CP_SPECIFICITY].value >= k / 20.0);
    }
}

static void ppv_and_npv_at_the_prevalence_of_the_rows_are_the_plain_ones(void) {
    double share = 0;
    for (int i = 0; i < N; i++) share += marked[i] / (double)N;
    cp_operating p = measured(NULL, share), rare = measured(NULL, 0.001);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, p.of[CP_PPV].value, p.of[CP_PPV_AT].value);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, p.of[CP_NPV].value, p.of[CP_NPV_AT].value);
    TEST_ASSERT_TRUE(rare.of[CP_PPV_AT].value < 0.01 && rare.of[CP_NPV_AT].value > 0.999);
    TEST_ASSERT_TRUE(isnan(measured(NULL, 0).of[CP_PPV_AT].value));
}

static double width(cp_estimate e) {
    TEST_ASSERT_TRUE(e.low <= e.value && e.value <= e.high);
    return e.high - e.low;
}

static void intervals_over_patients_are_wider_where_their_rows_are_alike(void) {
    cp_operating by_row = measured(NULL, 0.1), by_patient = measured(patients, 0.1);
    for (int k = 0; k < CP_RATES; k++) {
        TEST_ASSERT_EQUAL_DOUBLE(by_row.of[k].value, by_patient.of[k].value);
        TEST_ASSERT_TRUE_MESSAGE(width(by_patient.of[k]) > 1.5 * width(by_row.of[k]), cp_rate_names[k]);
    }
    int one[N] = {0};
    TEST_ASSERT_TRUE(isnan(measured(one, 0).of[CP_SENSITIVITY].low)); /* of one patient there are no intervals */
}

/* ---- curves ---- */

static cp_ranking ranked(bool abstention, const int *groups) {
    cp_ranking r = {.n = N, .scores = scores, .marked = marked, .groups = groups, .abstention = abstention, .seed = 5};
    TEST_ASSERT_TRUE_MESSAGE(cp_ranking_measure(&r, &status), status.message);
    return r;
}

static void bands_contain_their_curves_and_are_the_same_on_any_number_of_threads(void) {
    for (int k = 0; k < 4; k++) {
        cp_threads_set(1);
        cp_ranking r = ranked(k & 1, k & 2 ? patients : NULL);
        cp_threads_set(3);
        cp_ranking again = ranked(k & 1, k & 2 ? patients : NULL);
        TEST_ASSERT_EQUAL_MEMORY(r.of, again.of, sizeof r.of);
        TEST_ASSERT_EQUAL_MEMORY(r.curves, again.curves, sizeof r.curves);
        for (int i = 0; i < CP_CURVE_POINTS; i++) {
            TEST_ASSERT_TRUE(isnan(r.curves[CP_CURVE_RISK][i].value) == !(k & 1));
            for (int c = 0; c < CP_CURVES; c++) {
                cp_estimate e = r.curves[c][i];
                TEST_ASSERT_TRUE(isnan(e.value) || e.low <= e.high);
            }
        }
        width(r.of[k & 1 ? CP_RANKING_AURC : CP_RANKING_AUROC]);
    }
}

static void the_band_of_the_area_is_that_of_the_metrics(void) {
    double p[2 * N];
    int    labels[N];
    for (int i = 0; i < N; i++) p[2 * i] = 0, p[2 * i + 1] = scores[i], labels[i] = marked[i];
    cp_predictions two = {.n = N, .classes = 2, .values = p, .logits = true, .labels = labels, .groups = patients};
    cp_metrics    *m = cp_metrics_new(&two, (cp_metrics_config){.seed = 5, .keep = true}, &status);
    cp_ranking     r = ranked(false, patients);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, m->of[CP_AUC].value, r.of[CP_RANKING_AUROC].value);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, m->of[CP_AUC].low, r.of[CP_RANKING_AUROC].low);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, m->of[CP_AUC].high, r.of[CP_RANKING_AUROC].high);
    double     *kept = m->resampled + CP_AUC * m->resamples;
    cp_estimate from_kept = {m->of[CP_AUC].value, NAN, NAN};
    TEST_ASSERT_EQUAL_INT(1000, m->resamples);
    cp_estimate_interval(&from_kept, kept, m->resamples);
    TEST_ASSERT_EQUAL_MEMORY(&m->of[CP_AUC], &from_kept, sizeof from_kept);
    TEST_ASSERT_TRUE(m->ece_debiased.value < m->of[CP_ECE].value);
    TEST_ASSERT_TRUE(m->ece_debiased.low <= m->ece_debiased.value && m->ece_debiased.value <= m->ece_debiased.high);
    cp_metrics_free(m);
}

static void abstaining_by_a_perfect_score_leaves_only_mistakes_to_the_end(void) {
    for (int i = 0; i < N; i++) scores[i] = marked[i];
    cp_ranking r = ranked(true, NULL);
    TEST_ASSERT_EQUAL_DOUBLE(0, r.curves[CP_CURVE_RISK][20].value);
    for (int i = 0; i < N; i++) scores[i] = 0; /* and a constant one does nothing */
    r = ranked(true, NULL);
    for (int i = 0; i < CP_CURVE_POINTS; i++)
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, r.curves[CP_CURVE_RISK][100].value, r.curves[CP_CURVE_RISK][i].value);
}

/* ---- paired tests ---- */

static void a_p_over_resamples_counts_the_fewer_side(void) {
    double d[99];
    for (int i = 0; i < 99; i++) d[i] = i - 4.5;
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 2 * 6 / 100.0, cp_bootstrap_p(d, 99));
    for (int i = 0; i < 99; i++) d[i] = 0;
    TEST_ASSERT_EQUAL_DOUBLE(1, cp_bootstrap_p(d, 99));
    for (int i = 0; i < 99; i++) d[i] = NAN;
    TEST_ASSERT_TRUE(isnan(cp_bootstrap_p(d, 99)) && isnan(cp_bootstrap_p(d, 0)));
}

static void holm_leaves_out_what_is_not_a_number(void) {
    double p[] = {0.02, NAN, 0.03, NAN}, q[4];
    TEST_ASSERT_TRUE(cp_holm(4, p, q));
    TEST_ASSERT_EQUAL_DOUBLE(0.04, q[0]);
    TEST_ASSERT_EQUAL_DOUBLE(0.04, q[2]);
    TEST_ASSERT_TRUE(isnan(q[1]) && isnan(q[3]) && cp_holm(0, p, p));
    TEST_ASSERT_TRUE(cp_holm(4, p, p)); /* in place */
    TEST_ASSERT_EQUAL_MEMORY(q, p, sizeof p);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(texts_that_are_no_rules_are_refused);
    RUN_TEST(no_threshold_is_chosen_where_all_are_of_one_class);
    RUN_TEST(the_chosen_threshold_keeps_its_promise);
    RUN_TEST(ppv_and_npv_at_the_prevalence_of_the_rows_are_the_plain_ones);
    RUN_TEST(intervals_over_patients_are_wider_where_their_rows_are_alike);
    RUN_TEST(bands_contain_their_curves_and_are_the_same_on_any_number_of_threads);
    RUN_TEST(the_band_of_the_area_is_that_of_the_metrics);
    RUN_TEST(abstaining_by_a_perfect_score_leaves_only_mistakes_to_the_end);
    RUN_TEST(a_p_over_resamples_counts_the_fewer_side);
    RUN_TEST(holm_leaves_out_what_is_not_a_number);
    return UNITY_END();
}
