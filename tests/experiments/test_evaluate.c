/* couplet evaluate, on small runs of couplet train. */
#include "tests/experiments/small_runs.h"

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
    TEST_ASSERT_NULL(cp_json_get(cp_json_get(found, "ood"), "density"));
    TEST_ASSERT_NOT_NULL(cp_json_get(cp_json_get(found, "ood"), "energy"));
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

/* Over all pairs, from a model's scores. */
static double auroc_by_pairs(const double *here, const double *there, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) sum += here[i] > there[k] ? 1 : here[i] == there[k] ? 0.5 : 0;
    return sum / n / n;
}

static double found_auroc(const cp_json *result, const char *score) {
    return cp_json_number(cp_json_get(cp_json_get(cp_json_get(result, "ood"), score), "auroc"), NAN);
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
    TEST_ASSERT_NULL(cp_json_get(cp_json_get(found, "ood"), "density"));
    TEST_ASSERT_NULL(cp_json_get(cp_json_get(found, "metrics"), "bayes"));
    cp_json_free(found);
}

static void models_and_sets_that_do_not_match_are_refused(void) {
    const cp_command *e = &cp_command_evaluate;
    expect_refusal(e, "hybrid color.npz --out no", CP_EXIT_FAILED, "12, 3); the model hybrid takes");
    expect_refusal(e, "hybrid many.npz --out no", CP_EXIT_FAILED, "5 classes; the model hybrid has 3");
    expect_refusal(e, "hybrid set.npz --ood color.npz --out no", CP_EXIT_FAILED, "nothing is resized");
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
    RUN_TEST(the_auroc_is_the_fraction_of_pairs_in_order);
    RUN_TEST(models_and_sets_that_do_not_match_are_refused);
    remove_small_runs();
    return UNITY_END();
}
