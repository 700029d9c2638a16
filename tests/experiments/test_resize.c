/* Area averaging: its definition, that it keeps the mean, and known patterns. */
#include "experiments/kit/data/resize.h"

#include "core/random.h"
#include "tests/core/scratch.h"

#include <math.h>

enum { MAX = 300 };

static float     from[MAX * MAX], to[MAX * MAX];
static cp_status status;

void setUp(void) { status = (cp_status){0}; }
void tearDown(void) {}

static void draw(int rows, int columns) {
    cp_rng rng = cp_rng_named(1, "resize");
    for (int i = 0; i < rows * columns; i++) from[i] = (float)(100 + 50 * cp_rng_uniform(&rng));
}

static void resize(cp_resize_axis down, cp_resize_axis across) {
    TEST_ASSERT_TRUE_MESSAGE(cp_resize_area(from, down, across, to, &status), status.message);
}

static double mean_of(const float *values, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += (double)values[i];
    return sum / count;
}

/* Everything except the middle of such a wide field is empty, and the middle nearly so. */
static void a_field_beyond_the_range_of_integers_is_dark(void) {
    draw(4, 4);
    for (int size = 1; size < 5; size++) {
        resize((cp_resize_axis){4, size, 1e12}, (cp_resize_axis){4, size, 0});
        for (int i = 0; i < size * size; i++) TEST_ASSERT_TRUE(to[i] >= 0 && to[i] < 1e-8f);
    }
}

static void resizing_keeps_the_mean_for_any_sizes(void) {
    static const int sizes[] = {1, 2, 3, 5, 7, 31, 32, 128, 155, 240, 299};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    draw(299, 299);
    for (int a = 0; a < SIZES; a++)
        for (int b = 0; b < SIZES; b++) {
            int rows = sizes[a], columns = sizes[SIZES - 1 - a], size = sizes[b], other = sizes[(b + 3) % SIZES];
            resize((cp_resize_axis){.from = rows, .to = size}, (cp_resize_axis){.from = columns, .to = other});
            double before = mean_of(from, rows * columns), after = mean_of(to, size * other);
            TEST_ASSERT_TRUE_MESSAGE(fabs(after / before - 1) < 1e-6, "the mean changed");
        }
}

static void the_same_size_is_the_same_image(void) {
    draw(32, 45);
    resize((cp_resize_axis){.from = 32, .to = 32}, (cp_resize_axis){.from = 45, .to = 45});
    TEST_ASSERT_EQUAL_MEMORY(from, to, 32 * 45 * sizeof *from);
}

static void pixels_that_divide_evenly_are_plain_means(void) {
    for (int i = 0; i < 24; i++) from[i] = (float)(i * i); /* 4 x 6 to 2 x 3 */
    resize((cp_resize_axis){.from = 4, .to = 2}, (cp_resize_axis){.from = 6, .to = 3});
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 3; x++) {
            const float *p = from + 12 * y + 2 * x;
            TEST_ASSERT_TRUE(fabsf(to[3 * y + x] - (p[0] + p[1] + p[6] + p[7]) / 4) < 1e-4f);
        }
}

static void pixels_that_do_not_divide_are_shared(void) {
    static const float row[7] = {3, 0, 0, 6, 0, 0, 9}; /* 7 to 3: each new pixel covers 7/3 old ones */
    memcpy(from, row, sizeof row);
    resize((cp_resize_axis){.from = 1, .to = 1}, (cp_resize_axis){.from = 7, .to = 3});
    TEST_ASSERT_TRUE(fabsf(to[0] - 9.0f / 7) < 1e-6f && fabsf(to[1] - 18.0f / 7) < 1e-6f && fabsf(to[2] - 27.0f / 7) < 1e-6f);
    from[0] = 5; /* 1 to 5 */
    resize((cp_resize_axis){.from = 1, .to = 5}, (cp_resize_axis){.from = 1, .to = 5});
    for (int i = 0; i < 25; i++) TEST_ASSERT_TRUE(to[i] == 5);
}

static void a_bright_pixel_keeps_its_position(void) {
    for (int i = 0; i < 240 * 240; i++) from[i] = 0;
    from[100 * 240 + 37] = 56.25f; /* the area of a new pixel: 7.5 x 7.5 */
    resize((cp_resize_axis){.from = 240, .to = 32}, (cp_resize_axis){.from = 240, .to = 32});
    for (int i = 0; i < 32 * 32; i++) {
        double expected = i == 13 * 32 + 4 ? 0.5 : i == 13 * 32 + 5 ? 0.5 : 0; /* column 37 is cut in two, row 100 is not */
        TEST_ASSERT_TRUE(fabs((double)to[i] - expected) < 1e-6);
    }
}

static void a_larger_field_pads_both_ends_with_zeros(void) {
    for (int i = 0; i < 8; i++) from[i] = 1; /* 4 rows of 2 columns in a square of 4 */
    resize((cp_resize_axis){.from = 4, .to = 4}, (cp_resize_axis){.from = 2, .to = 4, .field = 4});
    for (int i = 0; i < 16; i++) TEST_ASSERT_TRUE(to[i] == (i % 4 == 1 || i % 4 == 2 ? 1 : 0));
    resize((cp_resize_axis){.from = 4, .to = 1}, (cp_resize_axis){.from = 2, .to = 1, .field = 1000});
    TEST_ASSERT_TRUE(fabsf(to[0] - 0.002f) < 1e-8f);
    resize((cp_resize_axis){.from = 4, .to = 3}, (cp_resize_axis){.from = 2, .to = 9, .field = 6});
    TEST_ASSERT_TRUE(fabs(mean_of(to, 27) - 1.0 / 3) < 1e-7);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(resizing_keeps_the_mean_for_any_sizes);
    RUN_TEST(a_field_beyond_the_range_of_integers_is_dark);
    RUN_TEST(the_same_size_is_the_same_image);
    RUN_TEST(pixels_that_divide_evenly_are_plain_means);
    RUN_TEST(pixels_that_do_not_divide_are_shared);
    RUN_TEST(a_bright_pixel_keeps_its_position);
    RUN_TEST(a_larger_field_pads_both_ends_with_zeros);
    return UNITY_END();
}
