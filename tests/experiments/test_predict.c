/* couplet predict: what it writes is what the model computes. */
#include "couplet.h"
#include "experiments/commands.h"
#include "experiments/kit/dataset.h"
#include "models/checkpoint.h"

#include "core/scratch.h"

#include <math.h>

static cp_status status;

void setUp(void) {
    status = (cp_status){0};
    scratch_make();
}
void tearDown(void) {
    scratch_remove();
}

/* Runs the command on m.safetensors and x.npy; p.npy comes out. Returns the exit code. */
static int predict(const char *first, const char *second) {
    char model[544], input[544], out[544];
    bool help;
    snprintf(model, sizeof model, "%s", scratch("m.safetensors"));
    snprintf(input, sizeof input, "%s", scratch("x.npy"));
    snprintf(out, sizeof out, "%s", scratch("p.npy"));
    char       *words[] = {model, input, "--out", out, "--quiet", (char *)first, (char *)second};
    cp_options *options = cp_options_parse(&cp_command_predict, second ? 7 : first ? 6 : 5, words, &help, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(options, status.message);
    int code = cp_command_predict.run(options);
    cp_options_free(options);
    return code;
}

static void compare(const cp_model *model, int rank, const int *dims, const cp_real *x) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *want = cp_model_posterior(tape, model, cp_constant(tape, x, rank, dims), CP_EVALUATION);
    cp_npy     got = {0};
    TEST_ASSERT_TRUE_MESSAGE(cp_npy_read(scratch("p.npy"), &got, &status), status.message);
    TEST_ASSERT_EQUAL_INT(CP_F32, got.dtype);
    TEST_ASSERT_EQUAL_INT(2, got.rank);
    TEST_ASSERT_EQUAL_INT64(dims[0], got.dims[0]);
    TEST_ASSERT_EQUAL_INT64(model->config.classes, got.dims[1]);
    for (size_t i = 0; i < got.size; i++) TEST_ASSERT_FLOAT_WITHIN(2e-6f, (float)want->data[i], ((float *)got.data)[i]);
    cp_npy_free(&got);
    cp_tape_free(tape);
}

/* Saves a model of that configuration and n random inputs as they lie in memory, and looks at what comes out. */
static void check(cp_model_config config, int rank, const int *dims, const char *first, const char *second) {
    cp_rng    rng = cp_rng_named(3, "model");
    cp_model *model = cp_model_new(config, &rng);
    int64_t   shape[CP_MAX_RANK];
    size_t    size = 1;
    for (int i = 0; i < rank; i++) shape[i] = dims[i], size *= (size_t)dims[i];
    cp_real *x = malloc((size + 1) * sizeof *x);
    cp_rng_fill_normal(&rng, x, size, 0, 1);
    TEST_ASSERT_TRUE_MESSAGE(cp_model_save(model, scratch("m.safetensors"), &status), status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_npy_write(scratch("x.npy"), CP_REAL_DTYPE, rank, shape, x, &status), status.message);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FINE, predict(first, second));
    if (dims[0] > 0) compare(model, rank, dims, x);
    free(x);
    cp_model_free(model);
}

static void a_wide_resnet_gives_its_own_posteriors(void) {
    cp_model_config c = {.model = "wrn", .classes = 5, .wrn = {.depth = 10, .width = 1, .channels = 3, .norm = CP_NORM_BATCH}};
    check(c, 4, (int[]){7, 12, 9, 3}, "--layout=nhwc", NULL);
    check(c, 4, (int[]){7, 12, 9, 3}, "--layout=nhwc", "--batch=3");
    c.head = "hybrid";
    check(c, 4, (int[]){2, 8, 8, 3}, "--layout=nhwc", "--batch=1");
}

static void gray_images_have_the_same_order_in_both_layouts(void) {
    cp_model_config c = {.model = "wrn", .classes = 2, .wrn = {.depth = 10, .width = 1, .channels = 1}};
    check(c, 4, (int[]){3, 10, 14, 1}, "--layout=nhwc", NULL);
}

static void vectors_and_sequences_go_in_as_they_are(void) {
    check((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {6, 8}}}, 2, (int[]){130, 6}, NULL, NULL);
    check((cp_model_config){.model = "mlp", .head = "hybrid", .classes = 3, .mlp = {.sizes = {6}}}, 2, (int[]){1, 6}, NULL, NULL);
    check((cp_model_config){.model = "lstm", .classes = 3, .lstm = {.in = 2, .hidden = 5, .layers = 2}}, 3, (int[]){9, 4, 2},
          "--batch=4", NULL);
}

/* The one scaling convention: predict sees pixels as a batch of a data set has them. */
static void pixels_go_in_as_in_training(void) {
    enum { ROWS = 3, VALUES = 6 };
    uint8_t     pixels[ROWS * VALUES];
    cp_rng      rng = cp_rng_named(3, "model");
    cp_model   *model = cp_model_new((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {VALUES, 8}}}, &rng);
    cp_dataset *set = cp_dataset_new((cp_dataset_config){.dtype = CP_U8, .rank = 1, .dims = {VALUES}});
    cp_real     batch[ROWS * VALUES];
    for (int i = 0; i < ROWS * VALUES; i++) pixels[i] = (uint8_t)(i * 15);
    TEST_ASSERT_TRUE_MESSAGE(cp_dataset_add(set, (cp_split_config){"all", ROWS, pixels, NULL, false}, &status), status.message);
    TEST_ASSERT_TRUE(cp_split_read(cp_dataset_split(set, "all", &status), (int[]){0, 1, 2}, ROWS, batch));
    TEST_ASSERT_TRUE_MESSAGE(cp_model_save(model, scratch("m.safetensors"), &status), status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_npy_write(scratch("x.npy"), CP_U8, 2, (int64_t[]){ROWS, VALUES}, pixels, &status), status.message);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FINE, predict(NULL, NULL));
    compare(model, 2, (int[]){ROWS, VALUES}, batch);
    cp_dataset_free(set);
    cp_model_free(model);
}

static void no_inputs_give_no_posteriors(void) {
    cp_npy got = {0};
    check((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {6, 8}}}, 2, (int[]){0, 6}, NULL, NULL);
    TEST_ASSERT_TRUE(cp_npy_read(scratch("p.npy"), &got, &status));
    TEST_ASSERT_EQUAL_INT64(0, got.dims[0]);
    TEST_ASSERT_EQUAL_INT64(3, got.dims[1]);
    cp_npy_free(&got);
}

static void an_input_that_does_not_fit_leaves_no_output(void) {
    check((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {6, 8}}}, 2, (int[]){4, 6}, NULL, NULL);
    remove(scratch("p.npy"));
    TEST_ASSERT_TRUE(cp_npy_write(scratch("x.npy"), CP_F32, 2, (int64_t[]){2, 5}, (float[10]){0}, &status));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, predict(NULL, NULL));
    TEST_ASSERT_EQUAL_INT(2, scratch_files(false));
}

static void an_input_is_never_overwritten(void) {
    bool help;
    char model[544], input[544];
    snprintf(model, sizeof model, "%s", scratch("m.safetensors"));
    snprintf(input, sizeof input, "%s", scratch("x.npy"));
    check((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {6, 8}}}, 2, (int[]){4, 6}, NULL, NULL);
    char       *words[] = {model, input, "--out", input, "--quiet"};
    cp_options *options = cp_options_parse(&cp_command_predict, 5, words, &help, &status);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, cp_command_predict.run(options));
    cp_options_free(options);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_wide_resnet_gives_its_own_posteriors);
    RUN_TEST(gray_images_have_the_same_order_in_both_layouts);
    RUN_TEST(vectors_and_sequences_go_in_as_they_are);
    RUN_TEST(pixels_go_in_as_in_training);
    RUN_TEST(no_inputs_give_no_posteriors);
    RUN_TEST(an_input_that_does_not_fit_leaves_no_output);
    RUN_TEST(an_input_is_never_overwritten);
    return UNITY_END();
}
