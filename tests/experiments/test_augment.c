/* Augmentation: an image becomes one of the requested views, all equally likely, and determined only by seed, step and index. */
#include "experiments/kit/data/augment.h"

#include "core/tape.h"
#include "tests/support/errors.h"

#include "unity.h"

#include <math.h>
#include <string.h>

void setUp(void) { errors_catch(); }

void tearDown(void) {
    errors_release();
    TEST_ASSERT_EQUAL_STRING_MESSAGE("", last_error, "a test left an error unexplained");
}

enum { MAX = 2 * 7 * 7 };

/* All images are the same, with a different value at every pixel. */
static cp_tensor *images_of(int n, int height, int width, int channels) {
    cp_tensor *x = cp_tensor_new(CP_SHAPE(n, height, width, channels));
    int        size = height * width * channels;
    for (int i = 0; i < n * size; i++) x->data[i] = (cp_real)(i % size) / (cp_real)128 - (cp_real)0.5;
    return x;
}

/* A view by its definition: the turned and flipped image, whose border extends forever, moved by (dx, dy). */
static void expected_view(int height, int width, int channels, int dx, int dy, int flips, cp_real *out) {
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int row = y - dy, column = x - dx;
            row = row < 0 ? 0 : row > height - 1 ? height - 1 : row;
            column = column < 0 ? 0 : column > width - 1 ? width - 1 : column;
            if (flips & 2) row = height - 1 - row;
            if (flips & 1) column = width - 1 - column;
            int place = flips & 4 ? column * width + row : row * width + column;
            for (int c = 0; c < channels; c++)
                out[(y * width + x) * channels + c] = (cp_real)(place * channels + c) / (cp_real)128 - (cp_real)0.5;
        }
}

/* Counts how often each view appeared among the images: counts[flips][dy + shift][dx + shift]. */
static void count_views(const cp_tensor *x, int shift, int (*counts)[5][5]) {
    int    height = x->dims[1], width = x->dims[2], channels = x->dims[3];
    size_t size = (size_t)(height * width * channels);
    memset(counts, 0, 8 * sizeof *counts);
    for (int i = 0; i < x->dims[0]; i++) {
        bool found = false;
        for (int flips = 0; flips < 8 && !found; flips++)
            for (int dy = -shift; dy <= shift && !found; dy++)
                for (int dx = -shift; dx <= shift && !found; dx++) {
                    cp_real view[MAX];
                    if ((flips & 4) && height != width) continue;
                    expected_view(height, width, channels, dx, dy, flips, view);
                    found = memcmp(view, x->data + (size_t)i * size, size * sizeof *view) == 0;
                    counts[flips][dy + shift][dx + shift] += found;
                }
        TEST_ASSERT_TRUE_MESSAGE(found, "an image is none of the requested views");
    }
}

static void all_shift_distances_are_equally_likely_and_shifts_repeat_the_border(void) {
    int        counts[8][5][5];
    cp_augment augment = {.shift = 2};
    cp_tensor *x = images_of(2500, 7, 6, 2);
    TEST_ASSERT_TRUE(cp_augment_images(&augment, x, 4, 9));
    count_views(x, 2, counts);
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++) TEST_ASSERT_INT_WITHIN(40, 100, counts[0][dy][dx]); /* four sigmas of 2,500 / 25 */
    cp_tensor_free(x);
}

static void flips_happen_to_half_of_the_images(void) {
    int        counts[8][5][5];
    cp_tensor *x = images_of(1000, 4, 5, 1);
    TEST_ASSERT_TRUE(cp_augment_images(&(cp_augment){.flip_x = true}, x, 1, 0));
    count_views(x, 0, counts);
    TEST_ASSERT_INT_WITHIN(64, 500, counts[0][0][0]);
    TEST_ASSERT_EQUAL_INT(1000, counts[0][0][0] + counts[1][0][0]);
    cp_tensor_free(x);

    x = images_of(1000, 4, 5, 1);
    TEST_ASSERT_TRUE(cp_augment_images(&(cp_augment){.flip_x = true, .flip_y = true}, x, 1, 0));
    count_views(x, 0, counts);
    for (int flips = 0; flips < 4; flips++) TEST_ASSERT_INT_WITHIN(55, 250, counts[flips][0][0]);
    cp_tensor_free(x);
}

static void quarter_turns_with_flips_give_all_eight_positions_of_a_square(void) {
    int        counts[8][5][5];
    cp_augment augment = {.flip_x = true, .flip_y = true, .turn = true};
    cp_tensor *x = images_of(1600, 5, 5, 3);
    TEST_ASSERT_TRUE(cp_augment_images(&augment, x, 2, 0));
    count_views(x, 0, counts);
    for (int flips = 0; flips < 8; flips++) TEST_ASSERT_INT_WITHIN(53, 200, counts[flips][0][0]);
    cp_tensor_free(x);
}

static void images_that_are_not_square_are_not_turned(void) {
    cp_tensor *x = images_of(20, 3, 4, 2), *before = images_of(20, 3, 4, 2);
    TEST_ASSERT_TRUE(cp_augment_images(&(cp_augment){.turn = true}, x, 2, 0));
    TEST_ASSERT_EQUAL_MEMORY(before->data, x->data, x->size * sizeof *x->data);
    cp_tensor_free(x);
    cp_tensor_free(before);
}

static void without_options_images_stay_unchanged(void) {
    cp_tensor *x = images_of(20, 7, 4, 2), *before = images_of(20, 7, 4, 2);
    TEST_ASSERT_TRUE(cp_augment_images(&(cp_augment){0}, x, 2, 0));
    TEST_ASSERT_EQUAL_MEMORY(before->data, x->data, x->size * sizeof *x->data);
    cp_tensor_free(x);
    cp_tensor_free(before);
}

static void an_image_of_one_pixel_keeps_it_however_far_it_is_shifted(void) {
    cp_augment augment = {.shift = 1000, .flip_x = true, .flip_y = true, .turn = true};
    cp_tensor *x = images_of(9, 1, 1, 4), *before = images_of(9, 1, 1, 4);
    TEST_ASSERT_TRUE(cp_augment_images(&augment, x, 2, 0));
    TEST_ASSERT_EQUAL_MEMORY(before->data, x->data, x->size * sizeof *x->data);
    cp_tensor_free(x);
    cp_tensor_free(before);
}

static void a_shift_beyond_the_image_leaves_its_border(void) {
    cp_tensor *x = images_of(200, 2, 3, 1);
    TEST_ASSERT_TRUE(cp_augment_images(&(cp_augment){.shift = 100}, x, 5, 0));
    for (size_t i = 0; i < x->size; i++) TEST_ASSERT_TRUE(x->data[i] >= (cp_real)-0.5 && x->data[i] <= (cp_real)5 / 128);
    cp_tensor_free(x);
}

static void contrast_changes_spread_and_mean_within_the_pixels_range(void) {
    enum { N = 2000, SIZE = 16 };
    const double sd = 0.2;
    cp_tensor   *x = cp_tensor_new(CP_SHAPE(N, 4, 4, 1));
    double       log_gain = 0, log_gain_squared = 0, offset = 0, offset_squared = 0;
    for (int i = 0; i < N * SIZE; i++) x->data[i] = (cp_real)((i % 2 ? 0.05 : -0.05) + 0.1);
    TEST_ASSERT_TRUE(cp_augment_images(&(cp_augment){.contrast = sd}, x, 3, 1));
    for (int i = 0; i < N; i++) {
        double low = (double)x->data[i * SIZE], high = (double)x->data[i * SIZE + 1];
        double gain = log((high - low) / 0.1), moved = (high + low) / 2 - 0.1;
        log_gain += gain / N, log_gain_squared += gain * gain / N;
        offset += moved / N, offset_squared += moved * moved / N;
        for (int p = 0; p < SIZE; p++) TEST_ASSERT_TRUE(x->data[i * SIZE + p] == x->data[i * SIZE + p % 2]);
    }
    TEST_ASSERT_TRUE(fabs(log_gain) < 4 * sd / sqrt(N) && fabs(offset) < 4 * sd / sqrt(N));
    TEST_ASSERT_TRUE(fabs(sqrt(log_gain_squared) / sd - 1) < 0.07 && fabs(sqrt(offset_squared) / sd - 1) < 0.07);

    for (int i = 0; i < N * SIZE; i++) x->data[i] = (cp_real)(i % 3 - 1);
    TEST_ASSERT_TRUE(cp_augment_images(&(cp_augment){.contrast = 5}, x, 3, 1));
    for (int i = 0; i < N * SIZE; i++) TEST_ASSERT_TRUE(x->data[i] >= -1 && x->data[i] <= 1);
    cp_tensor_free(x);
}

static void the_same_seed_and_step_give_the_same_and_others_do_not(void) {
    cp_augment augment = {.shift = 2, .flip_x = true, .flip_y = true, .contrast = 0.1};
    cp_tensor *x[4];
    for (int i = 0; i < 4; i++) {
        x[i] = images_of(i == 3 ? 3 : 8, 7, 7, 1);
        TEST_ASSERT_TRUE(cp_augment_images(&augment, x[i], i == 1 ? 12 : 11, i == 2 ? 6 : 5));
    }
    cp_tensor *again = images_of(8, 7, 7, 1);
    cp_augment_images(&augment, again, 11, 5);
    TEST_ASSERT_EQUAL_MEMORY(x[0]->data, again->data, again->size * sizeof *again->data);
    TEST_ASSERT_TRUE(memcmp(x[0]->data, x[1]->data, again->size * sizeof *again->data) != 0);
    TEST_ASSERT_TRUE(memcmp(x[0]->data, x[2]->data, again->size * sizeof *again->data) != 0);
    TEST_ASSERT_EQUAL_MEMORY(x[0]->data, x[3]->data, x[3]->size * sizeof *again->data); /* for any batch size */
    for (int i = 0; i < 4; i++) cp_tensor_free(x[i]);
    cp_tensor_free(again);
}

static void other_rows_get_noise_and_nothing_else(void) {
    cp_tensor *x[2] = {cp_tensor_new(CP_SHAPE(500, 8)), cp_tensor_new(CP_SHAPE(50, 10, 8))};
    for (int k = 0; k < 2; k++) {
        double square = 0;
        TEST_ASSERT_TRUE(cp_augment_images(&(cp_augment){.shift = 2, .flip_x = true}, x[k], 1, 1));
        for (size_t i = 0; i < x[k]->size; i++) TEST_ASSERT_TRUE(x[k]->data[i] == 0);
        TEST_ASSERT_TRUE(cp_augment_images(&(cp_augment){.contrast = 0.2}, x[k], 1, 1));
        for (size_t i = 0; i < x[k]->size; i++) square += pow((double)x[k]->data[i], 2) / (double)x[k]->size;
        TEST_ASSERT_DOUBLE_WITHIN(0.01, 0.2, sqrt(square)); /* 4 standard deviations */
    }
    TEST_ASSERT_EQUAL_MEMORY(x[0]->data, x[1]->data, x[0]->size * sizeof(cp_real)); /* the same stream */
    cp_tensor_free(x[0]);
    cp_tensor_free(x[1]);
}

static void augmenting_unsuitable_batches_is_misuse(void) {
    cp_augment augment = {.shift = 1};
    cp_tape   *tape = cp_tape_new();
    cp_tensor *flat = cp_tensor_new(CP_SHAPE(6)), *x = images_of(2, 3, 3, 1);
    cp_tensor *recorded = cp_constant(tape, x->data, CP_SHAPE(2, 3, 3, 1));
    TEST_ASSERT_FALSE(cp_augment_images(&augment, flat, 1, 1));
    expect_error_in("augment_images", "images (N, H, W, C) of your own", __FILE__);
    TEST_ASSERT_FALSE(cp_augment_images(&augment, recorded, 1, 1));
    expect_error("of your own");
    TEST_ASSERT_FALSE(cp_augment_images(&augment, NULL, 1, 1));
    expect_error("of your own");
    TEST_ASSERT_FALSE(cp_augment_images(NULL, x, 1, 1));
    expect_error("of your own");
    TEST_ASSERT_FALSE(cp_augment_images(&(cp_augment){.shift = -1}, x, 1, 1));
    expect_error("a shift of -1");
    TEST_ASSERT_FALSE(cp_augment_images(&(cp_augment){.contrast = NAN}, x, 1, 1));
    expect_error("contrast of nan");
    TEST_ASSERT_FALSE(cp_augment_images(&(cp_augment){.contrast = -0.5}, x, 1, 1));
    expect_error("contrast of -0.5");
    cp_tensor_free(flat);
    cp_tensor_free(x);
    cp_tape_free(tape);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(all_shift_distances_are_equally_likely_and_shifts_repeat_the_border);
    RUN_TEST(flips_happen_to_half_of_the_images);
    RUN_TEST(quarter_turns_with_flips_give_all_eight_positions_of_a_square);
    RUN_TEST(images_that_are_not_square_are_not_turned);
    RUN_TEST(without_options_images_stay_unchanged);
    RUN_TEST(an_image_of_one_pixel_keeps_it_however_far_it_is_shifted);
    RUN_TEST(a_shift_beyond_the_image_leaves_its_border);
    RUN_TEST(contrast_changes_spread_and_mean_within_the_pixels_range);
    RUN_TEST(the_same_seed_and_step_give_the_same_and_others_do_not);
    RUN_TEST(other_rows_get_noise_and_nothing_else);
    RUN_TEST(augmenting_unsuitable_batches_is_misuse);
    return UNITY_END();
}
