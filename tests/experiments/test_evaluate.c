/* couplet evaluate, on small runs of couplet train. */
#include "tests/experiments/small_runs.h"

#include "experiments/kit/data/corrupt.h"

static void an_evaluation_finds_what_the_training_found(void) {
    expect_ok(&cp_command_evaluate, "hybrid set.npz --out e1");
    cp_json       *trained = result_of("hybrid"), *found = result_of("e1");
    const cp_json *test = cp_json_get(trained, "test"), *metrics = cp_json_get(found, "metrics");
    expect_same_metrics(cp_json_get(test, "selected"), cp_json_get(metrics, "plain"));
    expect_same_metrics(cp_json_get(test, "scaled"), cp_json_get(metrics, "scaled"));
    expect_same_metrics(cp_json_get(test, "bayes"), cp_json_get(metrics, "bayes"));
    TEST_ASSERT_TRUE(isfinite(cp_json_number(cp_json_get(cp_json_get(found, "mean_energy"), "chains"), NAN)));
    cp_json_free(found);
    expect_ok(&cp_command_evaluate, "hybrid set.npz --weights end --split val --out e2");
    found = result_of("e2");
    expect_same_metrics(cp_json_get(cp_json_get(trained, "validation"), "end"),
                        cp_json_get(cp_json_get(found, "metrics"), "plain"));
    cp_json_free(found);
    cp_json_free(trained);
    static const char *const figures[] = {"reliability.svg", "confusion.svg", "energies.svg"};
    for (int i = 0; i < 3; i++) {
        char path[60];
        snprintf(path, sizeof path, "e1/%s", figures[i]);
        TEST_ASSERT_TRUE_MESSAGE(there(path), path);
    }
}

static void a_model_file_alone_has_its_temperature_but_no_chains(void) {
    expect_ok(&cp_command_evaluate, "hybrid/selected.safetensors set.npz --out alone");
    cp_json *found = result_of("alone"), *trained = result_of("hybrid");
    expect_same_metrics(cp_json_get(cp_json_get(trained, "test"), "selected"), cp_json_get(cp_json_get(found, "metrics"), "plain"));
    expect_same_metrics(cp_json_get(cp_json_get(trained, "test"), "scaled"), cp_json_get(cp_json_get(found, "metrics"), "scaled"));
    TEST_ASSERT_EQUAL_DOUBLE(cp_json_number(cp_json_get(trained, "temperature"), NAN),
                             cp_json_number(cp_json_get(cp_json_get(found, "model"), "temperature"), NAN));
    TEST_ASSERT_TRUE(has_note(found, "without chains"));
    TEST_ASSERT_TRUE(there("alone/energies.svg"));
    cp_json_free(found);
    cp_json_free(trained);
}

static void energy_results_are_left_out_for_a_softmax_model_with_a_note(void) {
    expect_ok(&cp_command_evaluate, "softmax set.npz --ood other.npz --out soft");
    cp_json *found = result_of("soft");
    TEST_ASSERT_TRUE(has_note(found, "has no energies"));
    TEST_ASSERT_NULL(cp_json_get(found, "mean_energy"));
    TEST_ASSERT_NULL(cp_json_get(cp_json_at(cp_json_get(found, "ood"), 0), "density"));
    TEST_ASSERT_NOT_NULL(cp_json_get(cp_json_at(cp_json_get(found, "ood"), 0), "energy"));
    TEST_ASSERT_FALSE(there("soft/energies.svg"));
    cp_json_free(found);
}

static void predictions_are_named_and_written_as_medmnist_does(void) {
    TEST_ASSERT_EQUAL_INT(0, link("set.npz", "my-mnist.npz")); /* other sets have no such file */
    expect_ok(&cp_command_evaluate, "hybrid my-mnist.npz --out csv");
    cp_json       *found = result_of("csv");
    const cp_json *scaled = cp_json_get(cp_json_get(found, "metrics"), "scaled");
    char           name[300], path[400];
    double         accuracy = cp_json_number(cp_json_get(scaled, "accuracy"), NAN) / 100;
    snprintf(name, sizeof name, "my-mnist_test_[AUC]%.3f_[ACC]%.3f@hybrid.csv", cp_json_number(cp_json_get(scaled, "auc"), NAN),
             accuracy);
    TEST_ASSERT_EQUAL_STRING(name, cp_json_string(cp_json_get(found, "medmnist_predictions"), ""));
    snprintf(path, sizeof path, "csv/%s", name);
    FILE *file = fopen(path, "r");
    TEST_ASSERT_NOT_NULL(file);
    int    rows = 0, right = 0, index;
    double p[CLASSES];
    for (; fscanf(file, "%d,%lf,%lf,%lf\n", &index, &p[0], &p[1], &p[2]) == 1 + CLASSES; rows++) {
        int best = p[1] > p[0] ? 1 : 0;
        if (p[2] > p[best]) best = 2;
        right += best == rows % CLASSES;
        TEST_ASSERT_EQUAL_INT(rows, index);
        TEST_ASSERT_DOUBLE_WITHIN(1e-8, 1, p[0] + p[1] + p[2]);
    }
    fclose(file);
    TEST_ASSERT_EQUAL_INT(REST, rows);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, accuracy, (double)right / rows);
    cp_json_free(found);
    found = result_of("e1");
    TEST_ASSERT_NULL(cp_json_get(found, "medmnist_predictions"));
    TEST_ASSERT_EQUAL_STRING("predictions.csv", cp_json_string(cp_json_get(found, "predictions"), ""));
    cp_json_free(found);
}

static void tables_name_metrics_as_those_of_the_training(void) {
    cp_json *trained = result_of("hybrid"), *found = result_of("e1");
    for (const cp_json *c = cp_json_get(cp_json_get(trained, "table"), "columns")->first->next; c; c = c->next) {
        const cp_json *row = cp_json_get(cp_json_get(found, "table"), "rows")->first;
        while (row && strcmp(cp_json_string(row->first, ""), c->text) != 0) row = row->next;
        TEST_ASSERT_NOT_NULL_MESSAGE(row, c->text);
    }
    cp_json_free(found);
    cp_json_free(trained);
}

/* ---- operating points, classes, groups ---- */

/* A set with a test split only, whose rows have a site (text), a grade (numbers) and a column that does not fit. */
static void write_cohort(void) {
    static unsigned char pixels[REST * SIDE * SIDE], labels[REST];
    static const char   *sites[REST];
    int32_t              grades[REST];
    cp_rng               rng = cp_rng_named(5, "cohort");
    cp_npz_writer       *npz = cp_npz_writer_new("cohort.npz", &status);
    draw(pixels, labels, REST, SIDE, 1, CLASSES, &rng);
    for (int i = 0; i < REST; i++) sites[i] = i % 5 == 0 ? "" : i % 2 ? "north" : "east", grades[i] = 10 - i % 4;
    cp_npz_writer_add(npz, "test_images", CP_U8, 3, (int64_t[]){REST, SIDE, SIDE}, pixels);
    cp_npz_writer_add(npz, "test_labels", CP_U8, 1, (int64_t[]){REST}, labels);
    cp_npz_writer_add_texts(npz, "test_group_site", REST, sites);
    cp_npz_writer_add(npz, "test_grade", CP_I32, 1, (int64_t[]){REST}, grades);
    cp_npz_writer_add(npz, "test_short", CP_I32, 1, (int64_t[]){REST - 1}, grades);
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(npz, &status), status.message);
}

/* The posterior of the hybrid's selected weights; freed by the caller. */
static double *posterior_of(const char *set, int split, int *labels) {
    cp_run_model *trained = cp_run_model_open("hybrid", CP_WEIGHTS_SELECTED, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(trained, status.message);
    cp_tape   *tape = cp_tape_new();
    cp_images *images = cp_run_model_load(trained, set, &status);
    cp_scores  scores;
    TEST_ASSERT_TRUE(cp_scores_make(tape, trained->model, &images->set->splits[split], &scores, &status));
    double *posterior = cp_scores_posterior(&scores, trained->temperature);
    memcpy(labels, scores.labels, REST * sizeof *labels);
    cp_scores_free(&scores);
    cp_images_free(images);
    cp_tape_free(tape);
    cp_run_model_free(trained);
    return posterior;
}

static double first_of(const cp_json *object, const char *key) {
    return cp_json_number(cp_json_at(cp_json_get(object, key), 0), NAN);
}

static void thresholds_are_chosen_on_validation_and_measured_on_test(void) {
    expect_ok(&cp_command_evaluate, "hybrid set.npz --at sensitivity=0.8 --out points");
    cp_json *found = result_of("points");
    int      labels[REST];
    double  *val = posterior_of("set.npz", CP_IMAGES_VAL, labels);
    for (int c = 0; c < CLASSES; c++) {
        char name[20];
        snprintf(name, sizeof name, "class %d", c);
        const cp_json *point = cp_json_get(cp_json_get(cp_json_get(found, "operating_points"), "of"), name);
        double         threshold = cp_json_number(cp_json_get(point, "threshold"), NAN), reached = 0, above = 0, ill = 0;
        for (int i = 0; i < REST; i++) {
            if (labels[i] != c) continue;
            ill++;
            reached += val[i * CLASSES + c] >= threshold;
            above += val[i * CLASSES + c] > threshold;
        }
        TEST_ASSERT_TRUE(reached / ill >= 0.8 && above / ill < 0.8); /* the highest one that suffices */
        int     test_labels[REST], counts[2][2] = {{0}};
        double *test = posterior_of("set.npz", CP_IMAGES_TEST, test_labels);
        for (int i = 0; i < REST; i++) counts[test_labels[i] == c][test[i * CLASSES + c] >= threshold]++;
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, 100.0 * counts[1][1] / (counts[1][0] + counts[1][1]), first_of(point, "sensitivity"));
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, 100.0 * counts[0][0] / (counts[0][0] + counts[0][1]), first_of(point, "specificity"));
        free(test);
    }
    free(val);
    TEST_ASSERT_TRUE(has_note(found, "on the 30 images of the validation split"));
    TEST_ASSERT_TRUE(there("points/curves.svg"));
    const cp_json *mean = cp_json_get(cp_json_get(found, "classes"), "mean of the classes");
    TEST_ASSERT_DOUBLE_WITHIN(
        1e-9, cp_json_number(cp_json_get(cp_json_get(cp_json_get(found, "metrics"), "plain"), "balanced_accuracy"), NAN),
        first_of(mean, "recall"));
    TEST_ASSERT_TRUE(first_of(cp_json_get(cp_json_get(found, "abstention"), "density"), "accuracy_80") >= 0);
    cp_json_free(found);
}

static void without_validation_images_a_threshold_must_be_given(void) {
    const cp_command *e = &cp_command_evaluate;
    write_cohort();
    expect_refusal(e, "hybrid cohort.npz --at youden --out no", CP_EXIT_FAILED, "give the threshold that it prints: --at NUMBER");
    expect_refusal(e, "hybrid set.npz --at most --out no", CP_EXIT_FAILED, "is not sensitivity=S");
    expect_refusal(e, "hybrid set.npz --prevalence 0.1 --out no", CP_EXIT_FAILED, "without --at");
    expect_refusal(e, "hybrid set.npz --at 0.5 --prevalence 0.1 --out no", CP_EXIT_FAILED, "is for two classes");
    expect_ok(e, "hybrid cohort.npz --at 0.5 --ordered --out given");
    cp_json *found = result_of("given");
    TEST_ASSERT_TRUE(has_note(found, "The threshold 0.5"));
    cp_json_free(found);
    expect_ok(e, "softmax set.npz --at youden --split val --out same");
    found = result_of("same");
    TEST_ASSERT_TRUE(has_note(found, "so the table is too good"));
    TEST_ASSERT_NULL(cp_json_get(cp_json_get(found, "abstention"), "density"));
    cp_json_free(found);
}

static void groups_have_the_metrics_of_their_images(void) {
    const cp_command *e = &cp_command_evaluate;
    expect_ok(e, "hybrid cohort.npz --by site --out sites");
    cp_json *found = result_of("sites");
    int      labels[REST], right[3] = {0}, count[3] = {0};
    double  *p = posterior_of("cohort.npz", CP_IMAGES_TEST, labels), highest = 0, lowest = 100;
    for (int i = 0; i < REST; i++) {
        const double *row = p + i * CLASSES;
        int           group = i % 5 == 0 ? 0 : i % 2 ? 2 : 1, best = row[1] > row[0];
        if (row[2] > row[best]) best = 2;
        count[group]++;
        right[group] += best == labels[i];
    }
    free(p);
    const cp_json *groups = cp_json_get(found, "groups"), *of = cp_json_get(groups, "of");
    for (int g = 0; g < 3; g++) {
        const cp_json *own = cp_json_get(of, (const char *const[]){"(empty)", "east", "north"}[g]);
        double         accuracy = 100.0 * right[g] / count[g];
        TEST_ASSERT_EQUAL_INT64(count[g], cp_json_integer(cp_json_get(own, "n"), -1));
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, accuracy, cp_json_number(cp_json_get(own, "accuracy"), NAN));
        highest = fmax(highest, accuracy), lowest = fmin(lowest, accuracy);
    }
    const cp_json *gap = cp_json_get(cp_json_get(cp_json_get(groups, "gaps"), "accuracy"), "gap");
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, highest - lowest, cp_json_number(cp_json_at(gap, 0), NAN));
    TEST_ASSERT_TRUE(cp_json_number(cp_json_at(gap, 1), NAN) <= cp_json_number(cp_json_at(gap, 2), NAN));
    cp_json_free(found);
    expect_ok(
        e, "hybrid cohort.npz --by grade --split all --out grades"); /* numbers, in their order; splits without rows do not count */
    found = result_of("grades");
    TEST_ASSERT_EQUAL_STRING("7", cp_json_get(cp_json_get(found, "groups"), "of")->first->key);
    cp_json_free(found);
    expect_refusal(e, "hybrid cohort.npz --by side --out no", CP_EXIT_FAILED,
                   "no column side for its test split; its columns are site");
    expect_refusal(e, "hybrid cohort.npz --by short --out no", CP_EXIT_FAILED, "one number an image is expected, (30) or (30, 1)");
    expect_refusal(e, "hybrid set.npz --by images --out no", CP_EXIT_FAILED, "one number an image is expected");
    expect_refusal(e, "hybrid set.npz --by site --out no", CP_EXIT_FAILED, "couplet import keeps those of a CSV file");
}

/* Over all pairs, from a model's scores. */
static double auroc_by_pairs(const double *here, const double *there, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) sum += here[i] > there[k] ? 1 : here[i] == there[k] ? 0.5 : 0;
    return sum / n / n;
}

static double found_of(const cp_json *result, int set, const char *score, const char *number) {
    return first_of(cp_json_get(cp_json_at(cp_json_get(result, "ood"), (size_t)set), score), number);
}

static double found_auroc(const cp_json *result, const char *score) { return found_of(result, 0, score, "auroc"); }

static void outliers_of_one_patient_give_values_without_intervals(void) {
    int32_t zeros[REST] = {0};
    copy_set("other.npz", "one-patient.npz", "test_patients", zeros);
    expect_ok(&cp_command_evaluate, "hybrid set.npz --ood one-patient.npz --out one-patient");
    cp_json       *result = result_of("one-patient");
    const cp_json *auroc = cp_json_get(cp_json_get(cp_json_at(cp_json_get(result, "ood"), 0), "density"), "auroc");
    TEST_ASSERT_EQUAL_INT(CP_JSON_NUMBER, cp_json_at(auroc, 0)->kind);
    for (size_t k = 1; k < 3; k++) TEST_ASSERT_EQUAL_INT(CP_JSON_NULL, cp_json_at(auroc, k)->kind);
    cp_json_free(result);
}

static void the_auroc_is_the_fraction_of_pairs_in_order(void) {
    double        density[2][REST], energy[2][REST], posterior[2][REST];
    cp_run_model *trained = cp_run_model_open("hybrid", CP_WEIGHTS_END, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(trained, status.message);
    for (int s = 0; s < 2; s++) {
        cp_tape   *tape = cp_tape_new();
        cp_images *images = cp_images_load(s ? "other.npz" : "set.npz", &status);
        cp_scores  scores;
        TEST_ASSERT_TRUE(cp_scores_make(tape, trained->model, &images->set->splits[CP_IMAGES_TEST], &scores, &status));
        for (int i = 0; i < REST; i++) {
            const double *z = scores.logits + i * CLASSES;
            double        sum = exp(z[0]) + exp(z[1]) + exp(z[2]), t = trained->temperature;
            density[s][i] = -scores.energies[i];
            energy[s][i] = log(sum);
            posterior[s][i] = exp(fmax(z[0], fmax(z[1], z[2])) / t) / (exp(z[0] / t) + exp(z[1] / t) + exp(z[2] / t));
        }
        cp_scores_free(&scores);
        cp_images_free(images);
        cp_tape_free(tape);
    }
    cp_run_model_free(trained);
    expect_ok(&cp_command_evaluate, "hybrid set.npz --ood other.npz --out ood");
    cp_json *found = result_of("ood");
    TEST_ASSERT_DOUBLE_WITHIN(2e-3, auroc_by_pairs(density[0], density[1], REST), found_auroc(found, "density"));
    TEST_ASSERT_DOUBLE_WITHIN(2e-3, auroc_by_pairs(energy[0], energy[1], REST), found_auroc(found, "energy"));
    TEST_ASSERT_DOUBLE_WITHIN(2e-3, auroc_by_pairs(posterior[0], posterior[1], REST), found_auroc(found, "posterior"));
    TEST_ASSERT_TRUE(has_note(found, "AUROC is the probability"));
    TEST_ASSERT_TRUE(there("ood/outliers.svg"));
    cp_json_free(found);
    expect_ok(&cp_command_evaluate, "jem set.npz --ood set.npz --out self");
    found = result_of("self");
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.5, found_auroc(found, "energy"));
    TEST_ASSERT_NULL(cp_json_get(cp_json_at(cp_json_get(found, "ood"), 0), "density"));
    TEST_ASSERT_NULL(cp_json_get(cp_json_get(found, "metrics"), "bayes"));
    cp_json_free(found);
}

static void several_sets_and_corrupted_copies_are_in_one_result(void) {
    expect_ok(&cp_command_evaluate, "hybrid set.npz --ood other.npz,many.npz --corrupt --out several");
    cp_json       *found = result_of("several"), *one = result_of("ood");
    const cp_json *sets = cp_json_get(found, "ood");
    TEST_ASSERT_EQUAL_UINT64(2 + CP_CORRUPTIONS * CP_STRENGTHS, sets->count);
    TEST_ASSERT_EQUAL_STRING("many", cp_json_string(cp_json_get(cp_json_at(sets, 1), "name"), ""));
    TEST_ASSERT_EQUAL_STRING("rotation 5", cp_json_string(cp_json_get(cp_json_at(sets, 21), "name"), ""));
    TEST_ASSERT_EQUAL_DOUBLE(found_auroc(one, "density"), found_auroc(found, "density"));
    for (int i = 0; i < 22; i++)
        for (int k = 0; k < 5; k++) {
            static const char *const scores[] = {"posterior", "energy", "density", "mahalanobis", "neighbors"};
            static const char *const numbers[] = {"auroc", "aupr", "aupr_out", "fpr95"};
            for (int n = 0; n < 4; n++) {
                double value = found_of(found, i, scores[k], numbers[n]);
                TEST_ASSERT_TRUE(value >= 0 && value <= 1);
            }
        }
    TEST_ASSERT_TRUE(found_of(found, 6, "neighbors", "auroc") > 0.9); /* noise at the highest strength is no image */
    TEST_ASSERT_EQUAL_STRING("end", cp_json_string(cp_json_get(cp_json_get(found, "model"), "weights"), ""));
    TEST_ASSERT_TRUE(there("several/outlier-scores.svg"));
    cp_json_free(found), cp_json_free(one);
    expect_ok(&cp_command_evaluate, "hybrid/end.safetensors set.npz --ood many.npz --out no-training");
    found = result_of("no-training");
    TEST_ASSERT_NULL(cp_json_get(cp_json_at(cp_json_get(found, "ood"), 0), "mahalanobis"));
    TEST_ASSERT_TRUE(has_note(found, "The scores of features are left out"));
    cp_json_free(found);
    expect_refusal(&cp_command_evaluate, "hybrid set.npz --ood other.npz,color.npz --out no", CP_EXIT_FAILED, "nothing is resized");
}

static void models_and_sets_that_do_not_match_are_refused(void) {
    const cp_command *e = &cp_command_evaluate;
    expect_refusal(e, "hybrid color.npz --out no", CP_EXIT_FAILED, "12, 3); the model hybrid takes");
    expect_refusal(e, "hybrid many.npz --out no", CP_EXIT_FAILED, "5 classes; the model hybrid has 3");
    expect_refusal(e, "hybrid set.npz --ood color.npz --out no", CP_EXIT_FAILED, "nothing is resized");
    expect_refusal(e, "hybrid set.npz --ood , --out no", CP_EXIT_FAILED, "--ood , names no set");
    expect_refusal(e, "hybrid set.npz --ood wide.npz --out no", CP_EXIT_FAILED, "inputs of shape (16, 16, 1)");
    expect_refusal(e, "nowhere set.npz --out no", CP_EXIT_FAILED, "nowhere");
    expect_refusal(e, "hybrid nowhere.npz --out no", CP_EXIT_FAILED, "nowhere.npz");
    expect_refusal(e, ". set.npz --out no", CP_EXIT_FAILED, "is not a run of couplet train");
    TEST_ASSERT_EQUAL_INT(0, rename("softmax/end.safetensors", "kept"));
    TEST_ASSERT_EQUAL_INT(0, rename("softmax/result.json", "kept.json"));
    expect_refusal(e, "softmax set.npz --weights end --out no", CP_EXIT_FAILED, "the training is not finished");
    rename("kept", "softmax/end.safetensors");
    rename("kept.json", "softmax/result.json");
    TEST_ASSERT_FALSE(there("no"));
    expect_ok(e, "hybrid wide.npz --out wide"); /* a convolutional network accepts any size */
    cp_json *found = result_of("wide");
    TEST_ASSERT_TRUE(has_note(found, "trained on images of 12 x 12; these are of 16 x 16"));
    cp_json_free(found);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(make_small_runs);
    RUN_TEST(an_evaluation_finds_what_the_training_found);
    RUN_TEST(a_model_file_alone_has_its_temperature_but_no_chains);
    RUN_TEST(energy_results_are_left_out_for_a_softmax_model_with_a_note);
    RUN_TEST(predictions_are_named_and_written_as_medmnist_does);
    RUN_TEST(tables_name_metrics_as_those_of_the_training);
    RUN_TEST(thresholds_are_chosen_on_validation_and_measured_on_test);
    RUN_TEST(without_validation_images_a_threshold_must_be_given);
    RUN_TEST(groups_have_the_metrics_of_their_images);
    RUN_TEST(the_auroc_is_the_fraction_of_pairs_in_order);
    RUN_TEST(several_sets_and_corrupted_copies_are_in_one_result);
    RUN_TEST(models_and_sets_that_do_not_match_are_refused);
    RUN_TEST(outliers_of_one_patient_give_values_without_intervals);
    remove_small_runs();
    return UNITY_END();
}
