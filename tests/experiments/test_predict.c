/* couplet predict writes what the model computes. */
#include "couplet.h"
#include "experiments/commands.h"
#include "experiments/kit/data/dataset.h"
#include "models/checkpoint.h"

#include "core/child.h"
#include "tests/support/setup_files.h"

#include <math.h>

/* Runs the command, which writes p.npy. Returns the exit code. */
static int predict_files(const char *from, const char *x, const char *first, const char *second) {
    char model[544], input[544], out[544];
    bool help;
    snprintf(model, sizeof model, "%s", from);
    snprintf(input, sizeof input, "%s", x);
    snprintf(out, sizeof out, "%s", scratch("p.npy"));
    char       *words[] = {model, input, "--out", out, "--quiet", (char *)first, (char *)second};
    cp_options *options = cp_options_parse("couplet", &cp_command_predict, second ? 7 : first ? 6 : 5, words, &help, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(options, status.message);
    int code = cp_command_predict.run(options);
    cp_options_free(options);
    return code;
}

/* On m.safetensors and x.npy. */
static int predict(const char *first, const char *second) {
    return predict_files(scratch("m.safetensors"), scratch("x.npy"), first, second);
}

static void compare(const cp_model *model, int rank, const int *dims, const cp_real *x) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *want = cp_model_posterior(tape, model, cp_constant(tape, x, cp_shape_of(rank, dims)), CP_EVALUATION);
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

/* Saves a model of that configuration and n random inputs in the layout of memory, and checks the output. */
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
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, predict(first, second));
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

static void vectors_and_sequences_are_used_unchanged(void) {
    check((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {6, 8}}}, 2, (int[]){130, 6}, NULL, NULL);
    check((cp_model_config){.model = "mlp", .head = "hybrid", .classes = 3, .mlp = {.sizes = {6}}}, 2, (int[]){1, 6}, NULL, NULL);
    check((cp_model_config){.model = "lstm", .classes = 3, .lstm = {.in = 2, .hidden = 5, .layers = 2}}, 3, (int[]){9, 4, 2},
          "--batch=4", NULL);
}

/* There is one scaling convention: predict scales pixels like a batch of a data set. */
static void pixels_are_scaled_as_in_training(void) {
    enum { ROWS = 3, VALUES = 6 };
    uint8_t     pixels[ROWS * VALUES];
    cp_rng      rng = cp_rng_named(3, "model");
    cp_model   *model = cp_model_new((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {VALUES, 8}}}, &rng);
    cp_dataset *set = cp_dataset_new((cp_dataset_config){.dtype = CP_U8, .shape = CP_SHAPE(VALUES)});
    cp_real     batch[ROWS * VALUES];
    for (int i = 0; i < ROWS * VALUES; i++) pixels[i] = (uint8_t)(i * 15);
    TEST_ASSERT_TRUE_MESSAGE(cp_dataset_add(set, (cp_split_config){"all", ROWS, pixels, NULL, false}, &status), status.message);
    TEST_ASSERT_TRUE(cp_split_read(cp_dataset_split(set, "all", &status), (int[]){0, 1, 2}, ROWS, batch));
    TEST_ASSERT_TRUE_MESSAGE(cp_model_save(model, scratch("m.safetensors"), &status), status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_npy_write(scratch("x.npy"), CP_U8, 2, (int64_t[]){ROWS, VALUES}, pixels, &status), status.message);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, predict(NULL, NULL));
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

static void an_input_of_the_wrong_shape_leaves_no_output(void) {
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
    cp_options *options = cp_options_parse("couplet", &cp_command_predict, 5, words, &help, &status);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, cp_command_predict.run(options));
    cp_options_free(options);
}

/* ---- what must not pass as a result ---- */

typedef struct files {
    const char *model, *input;
} files;

static int predict_child(void *context) {
    const files *f = context;
    return predict_files(f->model, f->input, NULL, NULL);
}

/* The command fails and says this on stderr. */
static void fails(const char *model, const char *input, const char *words) {
    char said[2000];
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, child_run(predict_child, &(files){model, input}, said, sizeof said));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said, words), said);
}

static void nonfinite_posteriors_fail_and_the_first_row_is_named(void) {
    enum { ROWS = 40, BAD = 35, WIDTH = 6 };
    float  x[ROWS * WIDTH] = {0};
    cp_npy got = {0};
    check((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {WIDTH, 8}}}, 2, (int[]){4, WIDTH}, NULL, NULL);
    for (int i = 0; i < BAD; i++) x[(ROWS - BAD + i) * WIDTH] = i % 2 ? NAN : INFINITY;
    TEST_ASSERT_TRUE(cp_npy_write(scratch("x.npy"), CP_F32, 2, (int64_t[]){ROWS, WIDTH}, x, &status));
    fails(scratch("m.safetensors"), scratch("x.npy"),
          "35 of 40 inputs gave posteriors or energies that are not finite, the first of them row 5 of the predictions");
    TEST_ASSERT_TRUE(cp_npy_read(scratch("p.npy"), &got, &status)); /* so that the others can be inspected */
    TEST_ASSERT_TRUE(isfinite(((float *)got.data)[0]) && !isfinite(((float *)got.data)[5 * 3]));
    cp_npy_free(&got);
}

static void devices_that_never_end_are_refused_at_once(void) {
    check((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {6, 8}}}, 2, (int[]){4, 6}, NULL, NULL);
    fails("/dev/zero", scratch("x.npy"), "/dev/zero: this is a device");
    fails(scratch("m.safetensors"), "/dev/zero", "/dev/zero: this is a device");
}

static void an_input_may_be_a_pipe_of_the_shell(void) {
    int  ends[2];
    char path[32];
    check((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {6, 8}}}, 2, (int[]){4, 6}, NULL, NULL);
    TEST_ASSERT_EQUAL_INT(0, pipe(ends));
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    pid_t child = fork();
    if (child == 0) {
        cp_bytes bytes;
        bool     read = cp_file_read(scratch("x.npy"), SIZE_MAX, &bytes, &status);
        _exit(read && write(ends[1], bytes.data, bytes.size) == (ssize_t)bytes.size ? 0 : 1);
    }
    close(ends[1]);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, predict_files(scratch("m.safetensors"), path, NULL, NULL));
    close(ends[0]);
    waitpid(child, NULL, 0);
}

static void a_fifo_without_a_writer_is_refused_at_once(void) {
    check((cp_model_config){.model = "mlp", .classes = 3, .mlp = {.sizes = {6, 8}}}, 2, (int[]){4, 6}, NULL, NULL);
    TEST_ASSERT_EQUAL_INT(0, mkfifo(scratch("fifo"), 0600));
    fails(scratch("m.safetensors"), scratch("fifo"), "fifo: this is a pipe; a regular file was expected");
    fails(scratch("fifo"), scratch("x.npy"), "fifo: this is a pipe; a regular file was expected");
}

static void for_an_input_of_another_shape_the_message_says_what_the_network_takes(void) {
    check((cp_model_config){.model = "wrn", .classes = 2, .wrn = {.channels = 3}}, 4, (int[]){2, 8, 9, 3}, "--layout=nhwc", NULL);
    fails(scratch("m.safetensors"), scratch("x.npy"),
          "has shape (2, 8, 9, 3); this model takes (N, H, W, 3) with H, W >= 8, with the channels first unless you give --layout "
          "nhwc");
    check((cp_model_config){.model = "lstm", .classes = 3, .lstm = {.in = 2, .hidden = 5}}, 3, (int[]){3, 4, 2}, NULL, NULL);
    TEST_ASSERT_TRUE(cp_npy_write(scratch("x.npy"), CP_F32, 3, (int64_t[]){1, 0, 2}, (float[1]){0}, &status));
    fails(scratch("m.safetensors"), scratch("x.npy"), "an input has shape (0, 2); this model takes (N, T, 2) with T >= 1");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(nonfinite_posteriors_fail_and_the_first_row_is_named);
    RUN_TEST(devices_that_never_end_are_refused_at_once);
    RUN_TEST(an_input_may_be_a_pipe_of_the_shell);
    RUN_TEST(a_fifo_without_a_writer_is_refused_at_once);
    RUN_TEST(for_an_input_of_another_shape_the_message_says_what_the_network_takes);
    RUN_TEST(a_wide_resnet_gives_its_own_posteriors);
    RUN_TEST(gray_images_have_the_same_order_in_both_layouts);
    RUN_TEST(vectors_and_sequences_are_used_unchanged);
    RUN_TEST(pixels_are_scaled_as_in_training);
    RUN_TEST(no_inputs_give_no_posteriors);
    RUN_TEST(an_input_of_the_wrong_shape_leaves_no_output);
    RUN_TEST(an_input_is_never_overwritten);
    return UNITY_END();
}
