/* Tables and sequences from files: how they are standardized, lengths, and what is refused. */
#include "core/io/npz.h"
#include "experiments/kit/data/batches.h"
#include "experiments/kit/data/images.h"

#include "core/scratch.h"
#include "support/wrapped_memory.h"
#include "tests/support/errors.h"

#include <math.h>

enum { ROWS = 4, STEPS = 3, FEATURES = 2, VALUES = STEPS * FEATURES, TRAIN = CP_IMAGES_TRAIN, TEST = CP_IMAGES_TEST };

static const char *const inputs[] = {"train_x", "val_x", "test_x"}, *const labels[] = {"train_labels", "val_labels", "test_labels"};
static const char *const lengths[] = {"train_length", "val_length", "test_length"};
static const int32_t     classes[ROWS] = {0, 1, 1, 0};
static float             values[3][ROWS * VALUES];
static int32_t           steps[3][ROWS];
static bool              with_lengths, with_subjects;
static int               rank, count;
static int64_t           dims[3][3];
static cp_status         status;

void setUp(void) {
    status = (cp_status){0};
    calls_allowed = -1;
    with_lengths = with_subjects = false;
    rank = 3;
    count = ROWS;
    for (int s = 0; s < 3; s++) {
        memcpy(dims[s], (int64_t[]){ROWS, STEPS, FEATURES}, sizeof dims[s]);
        for (int i = 0; i < ROWS; i++) steps[s][i] = 1 + i % STEPS;
        for (int i = 0; i < ROWS * VALUES; i++) values[s][i] = (float)(i * 7 % 11) * (i % 2 ? 100.f : 1.f) + (float)s;
    }
    errors_catch();
    scratch_make();
}

void tearDown(void) {
    calls_allowed = -1;
    scratch_remove();
    errors_release();
}

static void write_set(void) {
    cp_npz_writer *w = cp_npz_writer_new(scratch("set.npz"), &status);
    for (int s = 0; s < 3; s++) {
        cp_npz_writer_add(w, inputs[s], CP_F32, rank, dims[s], values[s]);
        cp_npz_writer_add(w, labels[s], CP_I32, 1, (int64_t[]){count}, classes);
        if (with_lengths) cp_npz_writer_add(w, lengths[s], CP_I32, 1, (int64_t[]){count}, steps[s]);
    }
    if (with_subjects) cp_npz_writer_add(w, "train_subject", CP_I32, 1, (int64_t[]){count}, (int32_t[]){5, 5, 6, 6});
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(w, &status), status.message);
}

static cp_images *load(void) {
    write_set();
    cp_images *images = cp_images_load(scratch("set.npz"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(images, status.message);
    return images;
}

static void refuses(const char *part) {
    write_set();
    TEST_ASSERT_NULL(cp_images_load(scratch("set.npz"), &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, part), status.message);
    status = (cp_status){0};
}

static double value(const cp_images *images, int split, int i) {
    return (double)((const float *)images->set->splits[split].inputs)[i];
}

/* ---- standardizing ---- */

static void features_are_standardized_by_the_training_split(void) {
    cp_images *images = load();
    TEST_ASSERT_TRUE(images->set->shape.rank == 2 && images->set->shape.dims[0] == STEPS && images->set->shape.dims[1] == FEATURES);
    TEST_ASSERT_TRUE(images->height == 0 && images->classes == 2 && cp_images_range(images) == 4);
    for (int f = 0; f < FEATURES; f++) {
        double mean = 0, square = 0, n = ROWS * STEPS;
        for (int i = f; i < ROWS * VALUES; i += FEATURES) mean += (double)values[TRAIN][i] / n;
        for (int i = f; i < ROWS * VALUES; i += FEATURES) square += pow((double)values[TRAIN][i] - mean, 2) / n;
        TEST_ASSERT_TRUE(fabs(images->mean[f] - mean) < 1e-9 && fabs(images->sd[f] - sqrt(square)) < 1e-9);
        for (int s = 0; s < 3; s++)
            for (int i = f; i < ROWS * VALUES; i += FEATURES)
                TEST_ASSERT_TRUE(fabs(value(images, s, i) - ((double)values[s][i] - mean) / sqrt(square)) < 1e-6);
    }
    cp_images_free(images);
}

static void a_table_has_rows_of_features(void) {
    rank = 2;
    for (int s = 0; s < 3; s++) dims[s][1] = VALUES;
    cp_images *images = load();
    TEST_ASSERT_TRUE(images->set->shape.rank == 1 && images->set->shape.dims[0] == VALUES && images->set->values == VALUES);
    double sum = 0;
    for (int i = 0; i < ROWS; i++) sum += value(images, TRAIN, i * VALUES + 3);
    TEST_ASSERT_TRUE(fabs(sum) < 1e-5);
    cp_images_free(images);
}

static void a_feature_that_never_changes_is_only_moved(void) {
    for (int i = 0; i < ROWS * VALUES; i += 2) values[TRAIN][i] = 7;
    cp_images *images = load();
    TEST_ASSERT_TRUE(images->sd[0] == 1 && value(images, TRAIN, 0) == 0);
    TEST_ASSERT_TRUE(fabs(value(images, TEST, 0) - ((double)values[TEST][0] - 7)) < 1e-6);
    cp_images_free(images);
}

static void one_step_one_feature_and_one_row_are_enough(void) {
    static const int64_t small[][3] = {{ROWS, 1, 1}, {ROWS, 1, 6}, {ROWS, 6, 1}};
    for (int i = 0; i < 3; i++) {
        for (int s = 0; s < 3; s++) memcpy(dims[s], small[i], sizeof small[i]);
        cp_images *images = load();
        TEST_ASSERT_EQUAL_UINT64((size_t)(small[i][1] * small[i][2]), images->set->values);
        cp_images_free(images);
    }
    rank = 2;
    for (int s = 0; s < 3; s++) dims[s][1] = 1;
    cp_images_free(load());
}

/* ---- lengths ---- */

static void what_is_beyond_a_length_is_zero_and_counts_for_nothing(void) {
    with_lengths = true;
    cp_images *all = load();
    for (int i = 0; i < ROWS; i++)
        for (int v = steps[TRAIN][i] * FEATURES; v < VALUES; v++) {
            TEST_ASSERT_TRUE(value(all, TRAIN, i * VALUES + v) == 0);
            values[TRAIN][i * VALUES + v] = NAN;
        }
    cp_images *padded = load();
    for (int f = 0; f < FEATURES; f++) TEST_ASSERT_TRUE(all->mean[f] == padded->mean[f] && all->sd[f] == padded->sd[f]);
    for (int i = 0; i < ROWS * VALUES; i++) TEST_ASSERT_TRUE(value(all, TRAIN, i) == value(padded, TRAIN, i));
    cp_images_free(all);
    cp_images_free(padded);
}

static void batches_bring_the_lengths_of_their_rows(void) {
    with_lengths = true;
    cp_images  *images = load();
    cp_tape    *tape = cp_tape_new();
    cp_batches *b = cp_batches_new((cp_batches_config){.split = &images->set->splits[TRAIN], .size = 3});
    for (int k = 0; k < 4; k++) {
        cp_batch batch = cp_batches_next(tape, b);
        for (int i = 0; i < batch.count; i++) TEST_ASSERT_EQUAL_INT(steps[TRAIN][batch.rows[i]], batch.x->lengths[i]);
    }
    cp_batches_free(b);
    cp_tape_free(tape);
    cp_images_free(images);
}

static void lengths_out_of_range_are_refused_with_their_row(void) {
    with_lengths = true;
    steps[TEST][2] = 0;
    refuses("test_length is 0 in row 2; a sequence here has 1 to 3 steps");
    steps[TEST][2] = STEPS + 1;
    refuses("test_length is 4 in row 2");
}

/* ---- other arrays ---- */

static void subjects_are_groups(void) {
    with_subjects = true;
    cp_images *images = load();
    TEST_ASSERT_TRUE(images->groups[TRAIN] && images->groups[TRAIN][2] == 6 && !images->groups[TEST]);
    cp_images_free(images);
}

/* ---- what is refused ---- */

static void values_that_are_not_finite_are_refused_with_their_place(void) {
    values[TRAIN][VALUES + 3] = NAN;
    refuses("train_x has nan in row 1, step 1, feature 1; all must be finite (couplet impute fills in what is missing)");
    rank = 2;
    for (int s = 0; s < 3; s++) dims[s][1] = VALUES;
    refuses("train_x has nan in row 1, feature 3");
}

static void shapes_that_are_neither_tables_nor_sequences_are_refused(void) {
    rank = 1;
    refuses("train_x has shape (4,); a table is (N, D), sequences are (N, T, D)");
}

static void splits_of_different_shapes_are_refused(void) {
    dims[TEST][1] = 2, dims[TEST][2] = 3;
    refuses("test_x has shape (4, 2, 3); a training row has shape (3, 2)");
}

static void a_lack_of_memory_is_reported_at_every_allocation(void) {
    with_lengths = with_subjects = true;
    write_set();
    for (int allowed = 0;; allowed++) {
        status = (cp_status){0};
        calls_allowed = allowed;
        cp_images *images = cp_images_load(scratch("set.npz"), &status);
        calls_allowed = -1;
        if (images) {
            cp_images_free(images);
            TEST_ASSERT_TRUE(allowed > 20);
            return;
        }
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "memory"), status.message);
    }
}

static void a_written_set_is_read_back(void) {
    with_lengths = true;
    cp_images *images = load();
    TEST_ASSERT_TRUE(cp_images_write(images, scratch("copy.npz"), &status));
    cp_images *copy = cp_images_load(scratch("copy.npz"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(copy, status.message);
    for (int s = 0; s < 3; s++) {
        TEST_ASSERT_EQUAL_INT_ARRAY(steps[s], copy->set->splits[s].lengths, ROWS);
        for (int i = 0; i < ROWS * VALUES; i++) TEST_ASSERT_TRUE(fabs(value(images, s, i) - value(copy, s, i)) < 1e-5);
    }
    cp_images_free(images);
    cp_images_free(copy);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(features_are_standardized_by_the_training_split);
    RUN_TEST(a_table_has_rows_of_features);
    RUN_TEST(a_feature_that_never_changes_is_only_moved);
    RUN_TEST(one_step_one_feature_and_one_row_are_enough);
    RUN_TEST(what_is_beyond_a_length_is_zero_and_counts_for_nothing);
    RUN_TEST(batches_bring_the_lengths_of_their_rows);
    RUN_TEST(lengths_out_of_range_are_refused_with_their_row);
    RUN_TEST(subjects_are_groups);
    RUN_TEST(values_that_are_not_finite_are_refused_with_their_place);
    RUN_TEST(shapes_that_are_neither_tables_nor_sequences_are_refused);
    RUN_TEST(splits_of_different_shapes_are_refused);
    RUN_TEST(a_lack_of_memory_is_reported_at_every_allocation);
    RUN_TEST(a_written_set_is_read_back);
    return UNITY_END();
}
