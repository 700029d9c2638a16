/* Files as PyTorch's users export them, compared with PyTorch's results: tests/golden/make_predict.py made both, so nothing
 * here needs PyTorch. */
#include "core/io/npy.h"
#include "models/checkpoint.h"

#include "unity.h"

#include <math.h>
#include <stdlib.h>

#define TOLERANCE 1e-5

static cp_tape *tape;

void setUp(void) { tape = cp_tape_new(); }

void tearDown(void) { cp_tape_free(tape); }

typedef struct file_name {
    char s[512];
} file_name;

static file_name golden_path(const char *norm, const char *end) {
    file_name name;
    snprintf(name.s, sizeof name.s, "%s/pytorch_%s%s", CP_TEST_DATA, norm, end);
    return name;
}

/* An array of a .npy file with its sizes; the caller frees it. */
static cp_real *array_read(const char *path, int rank, int *dims) {
    cp_npy    npy;
    cp_status status = {0};
    TEST_ASSERT_TRUE_MESSAGE(cp_npy_read(path, &npy, &status), status.message);
    TEST_ASSERT_EQUAL_INT(rank, npy.rank);
    for (int i = 0; i < rank; i++) dims[i] = (int)npy.dims[i];
    cp_real *values = cp_npy_to_real(&npy, path, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(values, status.message);
    cp_npy_free(&npy);
    return values;
}

/* PyTorch's images have the channels before the rows. */
static cp_tensor *images(void) {
    int        d[4];
    cp_real   *from = array_read(golden_path("x", ".npy").s, 4, d);
    cp_tensor *x = cp_full(tape, 0, CP_SHAPE(d[0], d[2], d[3], d[1]));
    for (int n = 0; n < d[0]; n++)
        for (int c = 0; c < d[1]; c++)
            for (int place = 0; place < d[2] * d[3]; place++)
                x->data[(n * d[2] * d[3] + place) * d[1] + c] = from[(n * d[1] + c) * d[2] * d[3] + place];
    free(from);
    return x;
}

static void equals(const char *norm, const char *end, const cp_tensor *got) {
    int       dims[2];
    file_name path = golden_path(norm, end);
    cp_real  *expected = array_read(path.s, 2, dims);
    TEST_ASSERT_NOT_NULL(got);
    TEST_ASSERT_EQUAL_INT(dims[0], got->dims[0]);
    TEST_ASSERT_EQUAL_INT(dims[1], got->dims[1]);
    for (size_t i = 0; i < got->size; i++)
        TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(TOLERANCE, (double)expected[i], (double)got->data[i], path.s);
    free(expected);
}

static void predicts_as_pytorch(const char *norm) {
    cp_status status = {0};
    cp_model *model = cp_model_load(golden_path(norm, ".safetensors").s, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(model, status.message);
    cp_tensor *x = images();
    equals(norm, "_logits.npy", cp_model_logits(tape, model, x, CP_EVALUATION));
    equals(norm, "_posterior.npy", cp_model_posterior(tape, model, x, CP_EVALUATION));
    cp_model_free(model);
}

static void a_file_without_norms_gives_pytorchs_logits_and_posteriors(void) { predicts_as_pytorch("none"); }

static void a_file_with_batch_norms_gives_pytorchs_logits_and_posteriors(void) { predicts_as_pytorch("batch"); }

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_file_without_norms_gives_pytorchs_logits_and_posteriors);
    RUN_TEST(a_file_with_batch_norms_gives_pytorchs_logits_and_posteriors);
    return UNITY_END();
}
