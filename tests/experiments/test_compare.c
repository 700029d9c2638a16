/* couplet compare, on small runs of couplet train. */
#include "tests/experiments/small_runs.h"

#include "experiments/kit/metrics/paired.h"

enum { METRICS = 6 };

static const cp_json *difference(const cp_json *result, int i) { return cp_json_at(cp_json_get(result, "differences"), (size_t)i); }
static double         number(const cp_json *object, const char *key) { return cp_json_number(cp_json_get(object, key), NAN); }
static double end_of(const cp_json *d, int k) { return cp_json_number(cp_json_at(cp_json_get(d, "difference"), (size_t)k), NAN); }
static const char *text(const cp_json *object, const char *key) { return cp_json_string(cp_json_get(object, key), ""); }

/* The classes that `couplet evaluate` found. */
static void predicted(const char *folder, int *classes) {
    char path[60], line[300];
    snprintf(path, sizeof path, "%s/predictions.csv", folder);
    FILE *file = fopen(path, "r");
    TEST_ASSERT_NOT_NULL(file);
    TEST_ASSERT_NOT_NULL(fgets(line, sizeof line, file));
    for (int i = 0; i < REST; i++) {
        int row;
        TEST_ASSERT_NOT_NULL(fgets(line, sizeof line, file));
        TEST_ASSERT_EQUAL_INT(2, sscanf(line, "%d,%d,", &row, &classes[i]));
    }
    fclose(file);
}

static void differences_are_those_of_two_evaluations(void) {
    expect_ok(&cp_command_evaluate, "softmax set.npz --out e-softmax");
    expect_ok(&cp_command_evaluate, "hybrid set.npz --out e-hybrid");
    expect_ok(&cp_command_compare, "softmax hybrid jem --out all");
    cp_json *a = result_of("e-softmax"), *b = result_of("e-hybrid"), *found = result_of("all");
    TEST_ASSERT_EQUAL_UINT64(2 * METRICS, cp_json_get(found, "differences")->count);
    double smallest = 1;
    for (int i = 0; i < 2 * METRICS; i++) {
        const cp_json *d = difference(found, i);
        double         first = number(cp_json_get(cp_json_get(a, "metrics"), "scaled"), text(d, "metric"));
        double         second = number(cp_json_get(cp_json_get(b, "metrics"), "scaled"), text(d, "metric"));
        TEST_ASSERT_EQUAL_STRING(i < METRICS ? "hybrid" : "jem", text(d, "run"));
        TEST_ASSERT_EQUAL_DOUBLE(first, number(d, "first"));
        if (i < METRICS) TEST_ASSERT_EQUAL_DOUBLE(second, number(d, "own"));
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, number(d, "own") - number(d, "first"), end_of(d, 0));
        TEST_ASSERT_TRUE(end_of(d, 1) <= end_of(d, 2));
        TEST_ASSERT_TRUE(number(d, "p") > 0 && number(d, "p") <= number(d, "p_holm") && number(d, "p_holm") <= 1);
        TEST_ASSERT_EQUAL_STRING(i % METRICS ? "bootstrap" : "McNemar", text(d, "test")); /* DeLong's is for two classes */
        smallest = fmin(smallest, number(d, "p"));
    }
    for (int i = 0; i < 2 * METRICS; i++)
        if (number(difference(found, i), "p") == smallest)
            TEST_ASSERT_DOUBLE_WITHIN(1e-12, fmin(1, 2 * METRICS * smallest), number(difference(found, i), "p_holm"));
    int first[REST], second[REST], won = 0, lost = 0;
    predicted("e-softmax", first), predicted("e-hybrid", second);
    for (int i = 0; i < REST; i++) {
        won += second[i] == i % CLASSES && first[i] != i % CLASSES;
        lost += first[i] == i % CLASSES && second[i] != i % CLASSES;
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, cp_sign_test(won, lost), number(difference(found, 0), "p"));
    TEST_ASSERT_TRUE(has_note(found, "over the 12 tests"));
    cp_json_free(a), cp_json_free(b), cp_json_free(found);
}

static void a_run_does_not_differ_from_itself(void) {
    expect_ok(&cp_command_compare, "hybrid hybrid set.npz --out self");
    cp_json *found = result_of("self");
    for (int i = 0; i < METRICS; i++) {
        for (int k = 0; k < 3; k++) TEST_ASSERT_EQUAL_DOUBLE(0, end_of(difference(found, i), k));
        TEST_ASSERT_EQUAL_DOUBLE(1, number(difference(found, i), "p"));
    }
    cp_json_free(found);
}

static void of_two_classes_the_auc_has_delong_s_test(void) {
    write_set("two.npz", SIDE, 1, 2);
    expect_ok(&cp_command_train, "two.npz " SMALL "--method softmax --out two-a");
    expect_ok(&cp_command_train, "two.npz " SMALL "--method softmax --seed 2 --out two-b");
    expect_ok(&cp_command_compare, "two-a two-b --weights end --out two");
    cp_json *found = result_of("two");
    TEST_ASSERT_EQUAL_STRING("auc", text(difference(found, 2), "metric"));
    TEST_ASSERT_EQUAL_STRING("DeLong", text(difference(found, 2), "test"));
    TEST_ASSERT_TRUE(has_note(found, "DeLong's for the AUC"));
    cp_json_free(found);
}

static void patients_are_resampled_as_wholes(void) {
    int32_t patients[REST];
    for (int i = 0; i < REST; i++) patients[i] = i / 2;
    copy_set("set.npz", "patients.npz", "test_patients", patients);
    expect_ok(&cp_command_compare, "softmax hybrid patients.npz --out by-patient");
    cp_json *found = result_of("by-patient");
    for (int i = 0; i < METRICS; i++) TEST_ASSERT_EQUAL_STRING("bootstrap", text(difference(found, i), "test"));
    TEST_ASSERT_TRUE(has_note(found, "over 15 patients"));
    TEST_ASSERT_TRUE(has_note(found, "take images for independent"));
    cp_json_free(found);
}

static void tests_without_a_p_value_are_neither_counted_nor_corrected(void) {
    int32_t zeros[REST] = {0};
    copy_set("set.npz", "one-class.npz", "test_labels", zeros);
    copy_set("set.npz", "one-patient.npz", "test_patients", zeros);
    expect_ok(&cp_command_compare, "softmax hybrid one-class.npz --out one-class");
    expect_ok(&cp_command_compare, "softmax hybrid one-patient.npz --out one-patient");
    cp_json *class = result_of("one-class"), *patient = result_of("one-patient");
    TEST_ASSERT_TRUE(isnan(number(difference(class, 2), "p")) && isnan(number(difference(class, 2), "p_holm")));
    TEST_ASSERT_TRUE(has_note(class, "over the 5 tests"));
    TEST_ASSERT_TRUE(isnan(number(difference(patient, 0), "p")) && isnan(end_of(difference(patient, 0), 1)));
    TEST_ASSERT_TRUE(has_note(patient, "One patient gives no intervals"));
    TEST_ASSERT_FALSE(has_note(patient, "Holm"));
    cp_json_free(class), cp_json_free(patient);
}

static void one_row_has_neither_an_interval_nor_a_p_value_of_the_bootstrap(void) {
    double         z[] = {2, 0, 1, 1.5}, p;
    cp_predictions of = {.n = 1, .classes = 2, .values = z, .logits = true, .labels = (int[]){0, 1}}, other = of;
    other.values = z + 2;
    for (; of.n <= 2; of.n++, other.n++, other.values = (double[]){1, 1.5, 0, 3}) {
        cp_metrics *a = cp_metrics_new(&of, (cp_metrics_config){.keep = true}, &status);
        cp_metrics *b = cp_metrics_new(&other, (cp_metrics_config){.keep = true}, &status);
        cp_estimate d;
        TEST_ASSERT_TRUE(cp_metrics_subtract(b, a, CP_NLL, &d, &p));
        TEST_ASSERT_EQUAL_DOUBLE(b->of[CP_NLL].value - a->of[CP_NLL].value, d.value);
        TEST_ASSERT_TRUE(isnan(d.low) == (of.n == 1) && isnan(d.high) == (of.n == 1) && isnan(p) == (of.n == 1));
        cp_metrics_free(a), cp_metrics_free(b);
    }
}

static void runs_of_other_rows_are_refused(void) {
    const cp_command *c = &cp_command_compare;
    int32_t           nothing[REST] = {0};
    copy_set("set.npz", "renamed.npz", "nothing", nothing); /* another file with the same rows */
    expect_ok(&cp_command_train, "renamed.npz " SMALL "--method softmax --out renamed");
    expect_ok(c, "softmax renamed --out same-rows");
    expect_refusal(c, "softmax two-a --out no", CP_EXIT_FAILED, "whose test splits have other rows; give the set");
    expect_refusal(c, "softmax two-a set.npz --out no", CP_EXIT_FAILED, "3 classes; the model two-a has 2");
    expect_refusal(c, "softmax set.npz --out no", CP_EXIT_FAILED, "two runs or more are needed");
    expect_refusal(c, "softmax hybrid/selected.safetensors --out no", CP_EXIT_FAILED, "does not say what it was trained on");
    expect_refusal(c, "set.npz softmax hybrid --out no", CP_EXIT_FAILED, "set.npz is a set of images; give it last");
    expect_refusal(c, "softmax nowhere --out no", CP_EXIT_FAILED, "nowhere");
    TEST_ASSERT_FALSE(there("no"));
    expect_ok(c, "softmax hybrid/selected.safetensors set.npz --out file");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(make_small_runs);
    RUN_TEST(differences_are_those_of_two_evaluations);
    RUN_TEST(a_run_does_not_differ_from_itself);
    RUN_TEST(of_two_classes_the_auc_has_delong_s_test);
    RUN_TEST(patients_are_resampled_as_wholes);
    RUN_TEST(tests_without_a_p_value_are_neither_counted_nor_corrected);
    RUN_TEST(one_row_has_neither_an_interval_nor_a_p_value_of_the_bootstrap);
    RUN_TEST(runs_of_other_rows_are_refused);
    remove_small_runs();
    return UNITY_END();
}
