/* Metrics of predictions in groups, such as slices of patients: resampled together, and reported by group. */
#include "experiments/kit/metrics/metrics.h"

#include "core/random.h"
#include "core/threads.h"

#include "unity.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 300, CLASSES = 4, PATIENTS = 120, REPEATS = 12, MAX = PATIENTS * REPEATS };

static double         logits[N * CLASSES], other[MAX * CLASSES];
static int            labels[N], groups[N], other_labels[MAX], other_groups[N];
static cp_predictions made, written;
static cp_status      status;

/* Patients of one to four slices. Patients with few slices are harder, so all metrics by patient are worse. */
void setUp(void) {
    status = (cp_status){0};
    cp_rng rng = cp_rng_named(7, "metrics");
    for (int i = 0, patient = 0, left = 1; i < N; i++) {
        int size = 1 + patient % 4;
        groups[i] = patient;
        labels[i] = (int)cp_rng_below(&rng, CLASSES);
        for (int c = 0; c < CLASSES; c++) logits[i * CLASSES + c] = 4 * (cp_rng_normal(&rng) + 0.4 * size * (c == labels[i]));
        if (--left == 0) left = 1 + ++patient % 4;
    }
    made = (cp_predictions){.n = N, .classes = CLASSES, .values = logits, .logits = true, .labels = labels, .groups = groups};
    written = (cp_predictions){.n = 0, .classes = CLASSES, .values = other, .logits = true, .labels = other_labels};
}

void tearDown(void) { cp_threads_set(0); }

static cp_metrics *measure(const cp_predictions *p, int resamples, uint64_t seed) {
    cp_metrics *m = cp_metrics_new(p, (cp_metrics_config){.resamples = resamples, .seed = seed}, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(m, status.message);
    return m;
}

static void same_bits(const cp_estimate *a, const cp_estimate *b, int count) {
    for (int k = 0; k < count; k++) TEST_ASSERT_EQUAL_MEMORY(&a[k], &b[k], sizeof a[k]);
}

static void near(const cp_estimate *a, const cp_estimate *b, int count) {
    for (int k = 0; k < count; k++) {
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, a[k].value, b[k].value);
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, a[k].low, b[k].low);
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, a[k].high, b[k].high);
    }
}

/* Appends prediction i to `written`. */
static void write_out(int i, int times) {
    for (; times > 0; times--, written.n++) {
        memcpy(other + written.n * CLASSES, logits + i * CLASSES, CLASSES * sizeof *other);
        other_labels[written.n] = labels[i];
    }
}

static int size_of(int group) {
    int size = 0;
    for (int i = 0; i < N; i++) size += groups[i] == group;
    return size;
}

/* ---- resampled together ---- */

static void groups_of_one_change_nothing(void) {
    for (int i = 0; i < N; i++)
        groups[i] = 5000 - 7 * i; /* any numbers, here in reverse order, so the results are equal but not bit by bit */
    made.groups = NULL;
    cp_metrics *alone = measure(&made, 2000, 3);
    made.groups = groups;
    cp_metrics *grouped = measure(&made, 2000, 3);
    TEST_ASSERT_EQUAL_INT(N, grouped->groups);
    TEST_ASSERT_TRUE(alone->of[CP_ACCURACY].value == grouped->of[CP_ACCURACY].value);
    TEST_ASSERT_DOUBLE_WITHIN(0.01, alone->of[CP_ACCURACY].low, grouped->of[CP_ACCURACY].low);
    cp_metrics_free(alone), cp_metrics_free(grouped);
    for (int i = 0; i < N; i++) groups[i] = i;
    made.groups = NULL;
    alone = measure(&made, 50, 3);
    made.groups = groups;
    grouped = measure(&made, 50, 3);
    same_bits(alone->of, grouped->of, CP_METRICS);
    same_bits(grouped->of, grouped->by_group, CP_METRICS_BY_GROUP);
    cp_metrics_free(alone), cp_metrics_free(grouped);
}

/* Each prediction appears ten times, as slices of one patient: intervals are those of the patients, not a third as wide. */
static void copies_in_a_group_do_not_narrow_the_interval(void) {
    enum { FEW = N / 10 };
    cp_predictions patients = made;
    patients.n = FEW, patients.groups = NULL;
    for (int i = 0; i < N; i++) {
        memcpy(other + i * CLASSES, logits + i / 10 * CLASSES, CLASSES * sizeof *other);
        other_labels[i] = labels[i / 10];
        groups[i] = i / 10;
    }
    cp_predictions slices = made;
    slices.values = other, slices.labels = other_labels, slices.groups = groups;
    cp_metrics *few = measure(&patients, 500, 3), *many = measure(&slices, 500, 3);
    TEST_ASSERT_EQUAL_INT(FEW, many->groups);
    for (int k = 0; k < CP_ADAPTIVE_ECE; k++) {
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, few->of[k].value, many->of[k].value);
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, few->of[k].low, many->of[k].low);
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, few->of[k].high, many->of[k].high);
    }
    cp_metrics_free(few), cp_metrics_free(many);
}

/* ---- by group ---- */

/* Patient 7 has one slice, patient -2 two, patient 5 three. */
static void a_small_case_agrees_with_a_calculation_by_hand(void) {
    static const double p[][2] = {{0.9, 0.1}, {0.3, 0.7}, {0.6, 0.4}, {0.15, 0.85}, {0.25, 0.75}, {0.4, 0.6}};
    cp_predictions      six = {.n = 6, .classes = 2, .values = p[0]};
    six.labels = (int[]){1, 1, 1, 0, 1, 0};
    six.groups = (int[]){7, -2, -2, 5, 5, 5};
    cp_metrics *m = measure(&six, -1, 0);
    double      nll = (-log(0.1) - (log(0.7) + log(0.4)) / 2 - (log(0.15) + log(0.75) + log(0.4)) / 3) / 3;
    double      brier = 2 * (0.81 + (0.09 + 0.36) / 2 + (0.7225 + 0.0625 + 0.36) / 3) / 3;
    TEST_ASSERT_EQUAL_INT(3, m->groups);
    TEST_ASSERT_DOUBLE_WITHIN(1e-14, 2 / 6.0, m->of[CP_ACCURACY].value);
    TEST_ASSERT_DOUBLE_WITHIN(1e-14, (0 + 1 / 2.0 + 1 / 3.0) / 3, m->by_group[CP_ACCURACY].value);
    /* Weights in sixths: 6; 3, 3; 2, 2, 2. Label 0 has 4 with none right, label 1 has 14 with 5 right. */
    TEST_ASSERT_DOUBLE_WITHIN(1e-14, 5 / 14.0 / 2, m->by_group[CP_BALANCED_ACCURACY].value);
    /* Only 0.7 and 0.75 of label 1 are above the 0.6 of label 0, and none is above its 0.85. */
    TEST_ASSERT_DOUBLE_WITHIN(1e-14, (3 + 2) * 2 / (14.0 * 4), m->by_group[CP_AUC].value);
    TEST_ASSERT_DOUBLE_WITHIN(1e-14, nll, m->by_group[CP_NLL].value);
    TEST_ASSERT_DOUBLE_WITHIN(1e-14, brier, m->by_group[CP_BRIER].value);
    /* The 0.6 of weights 3 and 2 share a bin, (8/15, 9/15]; every other confidence has its own. */
    double ece = (6 * 0.9 + 3 * 0.3 + (3 + 2) * 0.6 + 2 * 0.85 + 2 * 0.25) / 18;
    TEST_ASSERT_DOUBLE_WITHIN(1e-14, ece, m->by_group[CP_ECE].value);
    TEST_ASSERT_DOUBLE_WITHIN(1e-14, 0.9, m->by_group[CP_MCE].value);
    TEST_ASSERT_TRUE(isnan(m->by_group[CP_ADAPTIVE_ECE].value));
    cp_metrics_free(m);
}

static void accuracy_nll_and_brier_are_means_over_patients_of_means_over_slices(void) {
    static const cp_metric means[] = {CP_ACCURACY, CP_NLL, CP_BRIER};
    double                 sums[3] = {0};
    cp_metrics            *m = measure(&made, -1, 0);
    TEST_ASSERT_EQUAL_INT(PATIENTS, m->groups);
    for (int group = 0; group < PATIENTS; group++) {
        written.n = 0;
        for (int i = 0; i < N; i++)
            if (groups[i] == group) write_out(i, 1);
        cp_metrics *one = measure(&written, -1, 0);
        for (int k = 0; k < 3; k++) sums[k] += one->of[means[k]].value;
        cp_metrics_free(one);
    }
    for (int k = 0; k < 3; k++) TEST_ASSERT_DOUBLE_WITHIN(1e-12, sums[k] / PATIENTS, m->by_group[means[k]].value);
    TEST_ASSERT_TRUE(m->by_group[CP_ACCURACY].value < m->of[CP_ACCURACY].value - 0.02); /* because of how the patients were made */
    cp_metrics_free(m);
}

/* Each slice of a patient with m slices is repeated 12 / m times, so that all patients have twelve. */
static void all_metrics_equal_those_of_patients_repeated_to_one_size(void) {
    for (int i = 0; i < N; i++) write_out(i, REPEATS / size_of(groups[i]));
    TEST_ASSERT_EQUAL_INT(MAX, written.n);
    cp_metrics *m = measure(&made, -1, 0), *even = measure(&written, -1, 0);
    for (int k = 0; k < CP_METRICS_BY_GROUP; k++) TEST_ASSERT_DOUBLE_WITHIN(1e-12, even->of[k].value, m->by_group[k].value);
    cp_metrics_free(m), cp_metrics_free(even);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of 41 sorted values the 2.5th percentile is the second, the 97.5th the second to last. */
static void intervals_equal_those_of_explicitly_resampled_patients(void) {
    enum { RESAMPLES = 41 };
    static double values[CP_METRICS][RESAMPLES];
    cp_metrics   *m = measure(&made, RESAMPLES, 9);
    for (int r = 0; r < RESAMPLES; r++) {
        cp_rng rng = cp_rng_named(9, "bootstrap");
        rng.position = (uint64_t)r << 33;
        written.n = 0;
        for (int draw = 0; draw < PATIENTS; draw++) {
            int group = (int)cp_rng_below(&rng, PATIENTS);
            for (int i = 0; i < N; i++)
                if (groups[i] == group) write_out(i, REPEATS / size_of(group));
        }
        cp_metrics *one = measure(&written, -1, 0);
        for (int k = 0; k < CP_METRICS; k++) values[k][r] = one->of[k].value;
        cp_metrics_free(one);
    }
    for (int k = 0; k < CP_METRICS_BY_GROUP; k++) {
        qsort(values[k], RESAMPLES, sizeof values[k][0], ascending);
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, values[k][1], m->by_group[k].low);
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, values[k][RESAMPLES - 2], m->by_group[k].high);
    }
    cp_metrics_free(m);
}

static void patients_of_one_size_give_the_same_bits_as_slices(void) {
    for (int size = 1; size <= N; size++) {
        if (N % size) continue;
        for (int i = 0; i < N; i++) groups[i] = i % (N / size);
        cp_metrics *m = measure(&made, 20, 3);
        TEST_ASSERT_EQUAL_INT(N / size, m->groups);
        same_bits(m->of, m->by_group, CP_METRICS_BY_GROUP);
        cp_metrics_free(m);
    }
}

/* Shuffled rows with their patients; scores with ties. */
static void the_order_of_rows_does_not_matter(void) {
    int order[N];
    for (int i = 0; i < N * CLASSES; i++) logits[i] = floor(logits[i] / 4);
    cp_metrics *a = measure(&made, 40, 3);
    for (uint64_t seed = 0; seed < 5; seed++) {
        cp_rng rng = cp_rng_named(seed, "order");
        cp_rng_permutation(&rng, order, N);
        written.n = 0, written.groups = other_groups;
        for (int i = 0; i < N; i++) write_out(order[i], 1), other_groups[i] = groups[order[i]];
        cp_metrics *b = measure(&written, 40, 3);
        near(a->of, b->of, CP_METRICS);
        near(a->by_group, b->by_group, CP_METRICS_BY_GROUP);
        cp_metrics_free(b);
    }
    cp_metrics_free(a);
}

static void only_the_order_of_patient_numbers_matters(void) {
    cp_metrics *a = measure(&made, 40, 3);
    for (int i = 0; i < N; i++)
        other_groups[i] = groups[i] == PATIENTS - 1 ? INT_MAX : groups[i] < PATIENTS / 2 ? INT_MIN + groups[i] : 3 * groups[i];
    made.groups = other_groups;
    cp_metrics *b = measure(&made, 40, 3);
    same_bits(a->of, b->of, CP_METRICS);
    same_bits(a->by_group, b->by_group, CP_METRICS_BY_GROUP);
    cp_metrics_free(a), cp_metrics_free(b);
}

static void the_number_of_threads_does_not_matter(void) {
    cp_threads_set(1);
    cp_metrics *one = measure(&made, 203, 3);
    cp_threads_set(4);
    cp_metrics *four = measure(&made, 203, 3);
    same_bits(one->of, four->of, CP_METRICS);
    same_bits(one->by_group, four->by_group, CP_METRICS_BY_GROUP);
    cp_metrics_free(one), cp_metrics_free(four);
}

/* ---- edges ---- */

static void one_patient_has_no_intervals(void) {
    memset(groups, 0, sizeof groups);
    cp_metrics *m = measure(&made, 30, 1);
    TEST_ASSERT_EQUAL_INT(1, m->groups);
    for (int k = 0; k < CP_METRICS_BY_GROUP; k++) {
        TEST_ASSERT_TRUE(m->by_group[k].value == m->of[k].value && isnan(m->by_group[k].low) && isnan(m->by_group[k].high));
        TEST_ASSERT_TRUE(isnan(m->of[k].low) && isnan(m->of[k].high));
    }
    cp_metrics_free(m);
}

/* Rounded sums of weights must not make a fraction larger than 1. */
static void perfect_separation_has_an_auc_of_one(void) {
    cp_rng rng = cp_rng_named(3, "perfect");
    made.classes = 2;
    for (int n = 2; n < 80; n++) {
        made.n = n;
        for (int i = 0; i < n; i++) {
            labels[i] = i < 2 ? i : (int)cp_rng_below(&rng, 2);
            logits[2 * i] = 0, logits[2 * i + 1] = (2 * labels[i] - 1) * (1 + cp_rng_uniform(&rng));
            groups[i] = (int)cp_rng_below(&rng, 7);
        }
        cp_metrics *m = measure(&made, 50, 1);
        TEST_ASSERT_TRUE(m->by_group[CP_AUC].value <= 1 && m->by_group[CP_AUC].high <= 1);
        TEST_ASSERT_DOUBLE_WITHIN(1e-14, 1, m->by_group[CP_AUC].value);
        TEST_ASSERT_TRUE(m->by_group[CP_ACCURACY].value == 1 && m->by_group[CP_BALANCED_ACCURACY].value == 1);
        cp_metrics_free(m);
    }
}

static void an_infinite_nll_stays_infinite_and_affects_nothing_else(void) {
    logits[0] = 1e308, logits[1] = logits[2] = logits[3] = -1e308, labels[0] = 1;
    cp_metrics *m = measure(&made, 100, 1);
    TEST_ASSERT_TRUE(isinf(m->by_group[CP_NLL].value) && isinf(m->by_group[CP_NLL].high) && !isnan(m->by_group[CP_NLL].low));
    TEST_ASSERT_TRUE(isfinite(m->by_group[CP_BRIER].value) && isfinite(m->by_group[CP_ECE].value));
    cp_metrics_free(m);
}

static void a_metric_missing_for_slices_is_missing_for_patients(void) {
    memset(labels, 0, sizeof labels);
    cp_metrics *m = measure(&made, 20, 1);
    TEST_ASSERT_TRUE(isnan(m->by_group[CP_AUC].value) && isnan(m->by_group[CP_AUC].low));
    cp_metrics_free(m);
    made.groups = NULL;
    m = measure(&made, 20, 1);
    TEST_ASSERT_FALSE(m->grouped);
    for (int k = 0; k < CP_METRICS; k++) TEST_ASSERT_TRUE(isnan(m->by_group[k].value) && isnan(m->by_group[k].low));
    cp_metrics_free(m);
}

static void groups_are_numbered_in_order(void) {
    int  count, expected[] = {2, 0, 1, 2, 3};
    int *number = cp_groups_number((int[]){7, INT_MIN, -2, 7, INT_MAX}, 5, &count);
    TEST_ASSERT_EQUAL_INT(4, count);
    TEST_ASSERT_EQUAL_INT_ARRAY(expected, number, 5);
    free(number);
}

/* ---- output ---- */

static cp_json *put(const cp_metrics *m) {
    cp_json_writer w = {0};
    cp_metrics_put(m, &w, NULL);
    TEST_ASSERT_TRUE_MESSAGE(cp_json_writer_finish(&w, &status), status.message);
    cp_json *json = cp_json_parse((const char *)w.out.data, w.out.size, "metrics", &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(json, status.message);
    cp_json_writer_free(&w);
    return json;
}

static void a_result_has_metrics_by_patient_if_there_are_patients(void) {
    cp_metrics    *m = measure(&made, 50, 1);
    cp_json       *json = put(m);
    const cp_json *by_patient = cp_json_get(json, "by_patient"), *pair = cp_json_get(cp_json_get(by_patient, "intervals"), "ece");
    TEST_ASSERT_EQUAL_INT64(N, cp_json_integer(cp_json_get(json, "n"), 0));
    TEST_ASSERT_EQUAL_INT64(PATIENTS, cp_json_integer(cp_json_get(by_patient, "n"), 0));
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(by_patient, "accuracy"), 0) == 100 * m->by_group[CP_ACCURACY].value);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(by_patient, "nll"), 0) == m->by_group[CP_NLL].value);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_at(pair, 0), 0) == 100 * m->by_group[CP_ECE].low);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_at(pair, 1), 0) == 100 * m->by_group[CP_ECE].high);
    TEST_ASSERT_NULL(cp_json_get(by_patient, "adaptive_ece"));
    cp_json_free(json);
    cp_metrics_free(m);
    made.groups = NULL;
    m = measure(&made, 50, 1);
    json = put(m);
    TEST_ASSERT_NULL(cp_json_get(json, "by_patient"));
    cp_json_free(json);
    cp_metrics_free(m);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(groups_of_one_change_nothing);
    RUN_TEST(copies_in_a_group_do_not_narrow_the_interval);
    RUN_TEST(a_small_case_agrees_with_a_calculation_by_hand);
    RUN_TEST(accuracy_nll_and_brier_are_means_over_patients_of_means_over_slices);
    RUN_TEST(all_metrics_equal_those_of_patients_repeated_to_one_size);
    RUN_TEST(intervals_equal_those_of_explicitly_resampled_patients);
    RUN_TEST(patients_of_one_size_give_the_same_bits_as_slices);
    RUN_TEST(the_order_of_rows_does_not_matter);
    RUN_TEST(only_the_order_of_patient_numbers_matters);
    RUN_TEST(the_number_of_threads_does_not_matter);
    RUN_TEST(one_patient_has_no_intervals);
    RUN_TEST(perfect_separation_has_an_auc_of_one);
    RUN_TEST(an_infinite_nll_stays_infinite_and_affects_nothing_else);
    RUN_TEST(a_metric_missing_for_slices_is_missing_for_patients);
    RUN_TEST(groups_are_numbered_in_order);
    RUN_TEST(a_result_has_metrics_by_patient_if_there_are_patients);
    return UNITY_END();
}
