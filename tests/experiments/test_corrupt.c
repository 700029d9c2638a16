/* Corrupted copies of images. */
#include "experiments/kit/data/corrupt.h"

#include "unity.h"

#include <math.h>
#include <string.h>

enum { H = 9, W = 9, C = 2, SIZE = H * W * C };

static cp_real        image[SIZE], out[SIZE], more[SIZE];
static const cp_shape shape = {.rank = 3, .dims = {H, W, C}};

void setUp(void) {
    cp_rng rng = cp_rng_named(1, "images");
    cp_rng_fill_uniform(&rng, image, SIZE, -1, 1);
}

void tearDown(void) {}

static void corrupt(cp_corruption kind, int strength, cp_real *to) {
    cp_rng rng = cp_rng_named(2, "noise");
    cp_corrupt(kind, strength, image, shape, &rng, to);
}

static double distance(const cp_real *a, const cp_real *b) {
    double sum = 0;
    for (int i = 0; i < SIZE; i++) sum += pow((double)a[i] - (double)b[i], 2);
    return sqrt(sum);
}

static void all_stay_in_range_and_noise_blur_and_contrast_grow_with_the_strength(void) {
    for (int kind = 0; kind < CP_CORRUPTIONS; kind++) {
        double before = 0;
        for (int strength = 1; strength <= CP_STRENGTHS; strength++) {
            corrupt((cp_corruption)kind, strength, out);
            for (int i = 0; i < SIZE; i++) TEST_ASSERT_TRUE(out[i] >= -1 && out[i] <= 1);
            double now = distance(out, image);
            TEST_ASSERT_TRUE_MESSAGE(kind == CP_ROTATION ? now > 0 : now > before, cp_corruption_names[kind]);
            before = now;
        }
    }
}

static void a_quarter_turn_moves_pixels_exactly(void) {
    corrupt(CP_ROTATION, 5, out);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < C; c++)
                TEST_ASSERT_DOUBLE_WITHIN(1e-6, image[((W - 1 - x) * W + y) * C + c], out[(y * W + x) * C + c]);
}

static void contrast_keeps_the_mean_and_an_even_image_only_gets_noise(void) {
    double mean = 0, same = 0;
    corrupt(CP_CONTRAST, 5, out);
    for (int i = 0; i < SIZE; i++) mean += (double)image[i] / SIZE, same += (double)out[i] / SIZE;
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, mean, same);
    for (int i = 0; i < SIZE; i++) TEST_ASSERT_DOUBLE_WITHIN(1e-6, mean + 0.1 * ((double)image[i] - mean), out[i]);
    for (int i = 0; i < SIZE; i++) image[i] = (cp_real)0.25;
    for (int kind = CP_BLUR; kind < CP_CORRUPTIONS; kind++) {
        corrupt((cp_corruption)kind, 3, out);
        TEST_ASSERT_DOUBLE_WITHIN(1e-5, 0, distance(out, image));
    }
}

static void noise_has_its_standard_deviation_and_comes_from_the_stream(void) {
    memset(image, 0, sizeof image);
    corrupt(CP_NOISE, 1, out);
    corrupt(CP_NOISE, 1, more);
    TEST_ASSERT_EQUAL_MEMORY(out, more, sizeof out);
    TEST_ASSERT_DOUBLE_WITHIN(0.02, 0.08, distance(out, image) / sqrt(SIZE));
}

static void an_image_of_one_pixel_is_allowed(void) {
    cp_rng rng = cp_rng_named(2, "noise");
    for (int kind = CP_BLUR; kind < CP_CORRUPTIONS; kind++) {
        cp_corrupt((cp_corruption)kind, 5, image, (cp_shape){.rank = 3, .dims = {1, 1, 1}}, &rng, out);
        TEST_ASSERT_DOUBLE_WITHIN(1e-6, image[0], out[0]);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(all_stay_in_range_and_noise_blur_and_contrast_grow_with_the_strength);
    RUN_TEST(a_quarter_turn_moves_pixels_exactly);
    RUN_TEST(contrast_keeps_the_mean_and_an_even_image_only_gets_noise);
    RUN_TEST(noise_has_its_standard_deviation_and_comes_from_the_stream);
    RUN_TEST(an_image_of_one_pixel_is_allowed);
    return UNITY_END();
}
