/* Parameter sets: names, order, initial values. */
#include "layers/layers.h"
#include "layers/params_file.h"

#include "tests/support/errors.h"
#include "unity.h"

#include <math.h>
#include <string.h>

static cp_params *params;
static cp_rng     rng;

void setUp(void) {
    params = cp_params_new();
    rng = cp_rng_named(5, "test");
    errors_catch();
}

void tearDown(void) {
    cp_params_free(params);
    errors_release();
}

static void parameters_are_kept_in_the_order_and_under_the_names_they_were_added(void) {
    cp_block_make(params, "stage2.block0", (cp_block_config){.in = 4, .out = 8, .norm = CP_NORM_BATCH}, &rng);
    const char *names[] = {"stage2.block0.norm1.weight",      "stage2.block0.norm1.bias",   "stage2.block0.norm1.running_mean",
                           "stage2.block0.norm1.running_var", "stage2.block0.conv1.weight", "stage2.block0.conv1.bias",
                           "stage2.block0.norm2.weight",      "stage2.block0.norm2.bias",   "stage2.block0.norm2.running_mean",
                           "stage2.block0.norm2.running_var", "stage2.block0.conv2.weight", "stage2.block0.conv2.bias",
                           "stage2.block0.shortcut.weight",   "stage2.block0.shortcut.bias"};
    TEST_ASSERT_EQUAL_INT(14, params->count);
    for (int i = 0; i < 14; i++) TEST_ASSERT_EQUAL_STRING(names[i], params->at[i].name);
    TEST_ASSERT_EQUAL_PTR(&params->at[4], cp_params_find(params, "stage2.block0.conv1.weight"));
    TEST_ASSERT_NULL(cp_params_find(params, "stage2.block0.conv3.weight"));
}

static void buffers_are_kept_but_not_counted_as_trained(void) {
    cp_norm_make(params, "norm", (cp_norm_config){.kind = CP_NORM_BATCH, .channels = 6});
    TEST_ASSERT_EQUAL_INT(4, params->count);
    TEST_ASSERT_EQUAL_UINT64(12, cp_params_size(params));
    TEST_ASSERT_TRUE(cp_params_find(params, "norm.running_var")->buffer);
    TEST_ASSERT_FALSE(cp_params_find(params, "norm.running_var")->value->tracked);
    TEST_ASSERT_EQUAL_DOUBLE(1, (double)cp_params_find(params, "norm.running_var")->value->data[5]);
}

static void a_name_can_be_used_only_once(void) {
    int three = 3;
    TEST_ASSERT_NOT_NULL(cp_params_add(params, "a", "b", CP_LAYOUT_PLAIN, CP_SHAPE(three)));
    TEST_ASSERT_NULL(cp_params_add(params, "a", "b", CP_LAYOUT_PLAIN, CP_SHAPE(three)));
    TEST_ASSERT_EQUAL_STRING("params_add: the name a.b is taken", last_error);
    TEST_ASSERT_EQUAL_INT(1, params->count);
}

static void an_empty_path_adds_no_dot(void) {
    TEST_ASSERT_EQUAL_STRING("weight", cp_path_join("", "weight").s);
    TEST_ASSERT_EQUAL_STRING("weight", cp_path_join(NULL, "weight").s);
    TEST_ASSERT_EQUAL_STRING("net.layer3", cp_path_index("net", "layer", 3).s);
}

/* Mean and variance of an initializer's draws, and the largest value. */
static void check_init(cp_init init, double variance, double bound) {
    cp_tensor *t = cp_tensor_new(CP_SHAPE(200, 300));
    double     mean = 0, square = 0, max = 0;
    cp_init_weight(t, init, 200, 300, (cp_real)0.2, &rng);
    for (size_t i = 0; i < t->size; i++) {
        mean += (double)t->data[i] / (double)t->size;
        square += pow((double)t->data[i], 2) / (double)t->size;
        max = fmax(max, fabs((double)t->data[i]));
    }
    TEST_ASSERT_DOUBLE_WITHIN(5 * sqrt(variance / (double)t->size), 0, mean);
    TEST_ASSERT_DOUBLE_WITHIN(0.03 * variance, variance, square);
    TEST_ASSERT_TRUE(max <= bound * (1 + 1e-6));
    cp_tensor_free(t);
}

static void initializers_have_the_variance_of_their_formula(void) {
    check_init(CP_INIT_DEFAULT, 1.0 / 200 / 3, sqrt(1.0 / 200));
    check_init(CP_INIT_KAIMING_UNIFORM, 2 / 1.04 / 200, sqrt(6 / 1.04 / 200));
    check_init(CP_INIT_KAIMING_NORMAL, 2 / 1.04 / 200, 1);
    check_init(CP_INIT_XAVIER_UNIFORM, 2.0 / 500, sqrt(6.0 / 500));
    check_init(CP_INIT_XAVIER_NORMAL, 2.0 / 500, 1);
}

static void the_same_stream_gives_the_same_weights(void) {
    cp_rng    one = cp_rng_named(9, "init"), two = cp_rng_named(9, "init");
    cp_linear a = cp_linear_make(params, "a", (cp_linear_config){.in = 5, .out = 4}, &one);
    cp_linear b = cp_linear_make(params, "b", (cp_linear_config){.in = 5, .out = 4}, &two);
    TEST_ASSERT_EQUAL_MEMORY(a.weight->data, b.weight->data, 20 * sizeof(cp_real));
    TEST_ASSERT_EQUAL_MEMORY(a.bias->data, b.bias->data, 4 * sizeof(cp_real));
}

static void a_set_that_is_null_is_empty_or_misuse(void) {
    TEST_ASSERT_EQUAL_UINT64(0, cp_params_size(NULL));
    TEST_ASSERT_NULL(cp_params_find(NULL, "w"));
    TEST_ASSERT_NULL(cp_params_find(params, NULL));
    cp_params_print(NULL, params);
    TEST_ASSERT_FALSE(cp_params_copy(params, NULL));
    TEST_ASSERT_FALSE(cp_params_copy(NULL, params));
    TEST_ASSERT_EQUAL_STRING("params_copy: a parameter set is NULL", last_error);
}

static void copying_needs_the_same_names_and_shapes(void) {
    cp_params *other = cp_params_new();
    cp_linear_make(params, "a", (cp_linear_config){.in = 2, .out = 3}, &rng);
    cp_linear_make(other, "a", (cp_linear_config){.in = 3, .out = 2, .no_bias = true}, &rng);
    TEST_ASSERT_FALSE(cp_params_copy(params, other));
    TEST_ASSERT_EQUAL_STRING("params_copy: the sets have 2 and 1 entries", last_error);
    cp_params_add(other, "a", "bias", CP_LAYOUT_PLAIN, CP_SHAPE(3));
    TEST_ASSERT_FALSE(cp_params_copy(params, other));
    TEST_ASSERT_EQUAL_STRING("params_copy: a.weight (2, 3) and a.weight (3, 2) differ", last_error);
    cp_params_free(other);
}

static void the_listing_names_shapes_and_the_total(void) {
    cp_linear_make(params, "fc", (cp_linear_config){.in = 2, .out = 3}, &rng);
    char  text[512] = {0};
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    cp_params_print(file, params);
    fclose(file);
    TEST_ASSERT_NOT_NULL(strstr(text, "fc.weight "));
    TEST_ASSERT_NOT_NULL(strstr(text, "(2, 3)\n"));
    TEST_ASSERT_NOT_NULL(strstr(text, "9 trained values\n"));
}

static void a_set_is_finite_until_any_of_its_values_is_not(void) {
    cp_params *params = cp_params_new();
    cp_tensor *weight = cp_params_add(params, "fc", "weight", CP_LAYOUT_PLAIN, CP_SHAPE(19));
    cp_tensor *buffer = cp_params_add_buffer(params, "fc", "mean", CP_SHAPE(3));
    TEST_ASSERT_TRUE(cp_params_finite(params) && cp_params_finite(NULL));
    cp_tensor_fill(weight, CP_REAL_MAX);
    TEST_ASSERT_TRUE(cp_params_finite(params));
    for (size_t i = 0; i < weight->size; i++) {
        const cp_real bad[] = {(cp_real)NAN, (cp_real)INFINITY, (cp_real)-INFINITY};
        weight->data[i] = bad[i % 3];
        TEST_ASSERT_FALSE(cp_params_finite(params));
        weight->data[i] = -1;
    }
    buffer->data[2] = (cp_real)NAN;
    TEST_ASSERT_FALSE(cp_params_finite(params));
    cp_params_free(params);
}

/* ---- files by name ---- */

static const char path[] = "params_test.safetensors";

static void a_set_is_saved_and_read_by_name(void) {
    cp_params *other = cp_params_new();
    cp_status  status = {0};
    cp_conv_make(params, "conv", (cp_conv_config){.in = 2, .out = 3}, &rng);
    cp_conv_make(other, "conv", (cp_conv_config){.in = 2, .out = 3}, &rng);
    TEST_ASSERT_TRUE_MESSAGE(cp_params_save(params, path, &status), status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_params_read(other, path, &status), status.message);
    for (int i = 0; i < 2; i++)
        TEST_ASSERT_EQUAL_MEMORY(params->at[i].value->data, other->at[i].value->data, params->at[i].value->size * sizeof(cp_real));
    cp_params_add(other, "", "more", CP_LAYOUT_PLAIN, CP_SHAPE(1));
    TEST_ASSERT_FALSE(cp_params_read(other, path, &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "more"), status.message);
    TEST_ASSERT_FALSE(cp_params_save(NULL, path, &status));
    TEST_ASSERT_EQUAL_STRING("params_save: the parameter set is NULL", status.message);
    cp_params_free(other);
    remove(path);
}

static void a_partial_load_reports_every_entry(void) {
    cp_params     *other = cp_params_new(), *strangers = cp_params_new();
    cp_status      status = {0};
    cp_load_report report;
    char           text[512] = {0};
    cp_linear_make(params, "body", (cp_linear_config){.in = 2, .out = 3}, &rng);
    cp_linear_make(params, "head", (cp_linear_config){.in = 3, .out = 5}, &rng);
    cp_params_add(params, "old", "scale", CP_LAYOUT_PLAIN, CP_SHAPE(1));
    TEST_ASSERT_TRUE(cp_params_save(params, path, &status));
    cp_linear_make(other, "body", (cp_linear_config){.in = 2, .out = 3}, &rng);
    cp_linear  head = cp_linear_make(other, "head", (cp_linear_config){.in = 3, .out = 4}, &rng);
    cp_tensor *gate = cp_params_add(other, "new", "gate", CP_LAYOUT_PLAIN, CP_SHAPE(1));
    cp_real    before = head.weight->data[0];
    gate->data[0] = 9;
    TEST_ASSERT_TRUE_MESSAGE(cp_params_load_some(other, path, &report, &status), status.message);
    TEST_ASSERT_EQUAL_MEMORY(params->at[0].value->data, other->at[0].value->data, 6 * sizeof(cp_real));
    TEST_ASSERT_TRUE(head.weight->data[0] == before && gate->data[0] == 9);
    const int counts[CP_MATCHES] = {2, 1, 2, 1};
    TEST_ASSERT_EQUAL_INT_ARRAY(counts, report.counts, CP_MATCHES);
    TEST_ASSERT_EQUAL_INT(6, report.count);
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    cp_load_report_print(file, &report);
    fclose(file);
    TEST_ASSERT_EQUAL_STRING("2 loaded, 1 not in the file, 2 another shape, 1 not in the set\n  head.weight: another shape\n"
                             "  head.bias: another shape\n  new.gate: not in the file\n  old.scale: not in the set\n",
                             text);
    cp_load_report_free(&report);
    cp_load_report_free(NULL);
    TEST_ASSERT_TRUE(cp_params_load_some(other, path, NULL, &status));
    cp_params_add(strangers, "", "x", CP_LAYOUT_PLAIN, CP_SHAPE(1));
    TEST_ASSERT_FALSE(cp_params_load_some(strangers, path, &report, &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "no tensor has the name and the shape of a parameter"), status.message);
    TEST_ASSERT_NULL(report.lines);
    TEST_ASSERT_FALSE(cp_params_load_some(other, "/nonexistent/file", &report, &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
    cp_params_free(other);
    cp_params_free(strangers);
    remove(path);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(parameters_are_kept_in_the_order_and_under_the_names_they_were_added);
    RUN_TEST(buffers_are_kept_but_not_counted_as_trained);
    RUN_TEST(a_name_can_be_used_only_once);
    RUN_TEST(an_empty_path_adds_no_dot);
    RUN_TEST(initializers_have_the_variance_of_their_formula);
    RUN_TEST(the_same_stream_gives_the_same_weights);
    RUN_TEST(a_set_that_is_null_is_empty_or_misuse);
    RUN_TEST(copying_needs_the_same_names_and_shapes);
    RUN_TEST(a_set_is_finite_until_any_of_its_values_is_not);
    RUN_TEST(the_listing_names_shapes_and_the_total);
    RUN_TEST(a_set_is_saved_and_read_by_name);
    RUN_TEST(a_partial_load_reports_every_entry);
    return UNITY_END();
}
