/* Tests of core/shape: sizes, comparing, broadcasting, axes, and shapes as text. */
#include "core/shape.h"

#include "tests/support/errors.h"
#include "unity.h"

#include <limits.h>
#include <string.h>

void setUp(void) { errors_catch(); }

void tearDown(void) { errors_release(); }

static cp_tensor shaped(cp_shape shape) { return (cp_tensor){.shape = shape}; }

static void shapes_are_written_like_tuples(void) {
    cp_tensor t = shaped(CP_SHAPE(3, 4)), scalar = {0};
    TEST_ASSERT_EQUAL_STRING("(3, 4)", cp_shape_text(&t).s);
    TEST_ASSERT_EQUAL_STRING("()", cp_shape_text(&scalar).s);
    TEST_ASSERT_EQUAL_STRING("NULL", cp_shape_text(NULL).s);
    TEST_ASSERT_EQUAL_STRING("(7)", cp_dims_text(CP_SHAPE(7)).s);
    TEST_ASSERT_EQUAL_STRING("()", cp_dims_text(CP_SCALAR).s);
    TEST_ASSERT_EQUAL_STRING("NULL", cp_dims_text(cp_shape_of(2, NULL)).s);
    TEST_ASSERT_EQUAL_STRING("(6 axes)", cp_dims_text(cp_shape_of(6, (int[]){1})).s);
    TEST_ASSERT_EQUAL_STRING("(-1 axes)", cp_dims_text(cp_shape_of(-1, (int[]){1})).s);
}

static void the_text_has_room_for_the_longest_shape(void) {
    TEST_ASSERT_EQUAL_STRING("(-2147483648, -2147483648, -2147483648, -2147483648, -2147483648)",
                             cp_dims_text(CP_SHAPE(INT_MIN, INT_MIN, INT_MIN, INT_MIN, INT_MIN)).s);
}

static void the_size_is_the_product_of_the_dims(void) {
    size_t size = 99;
    TEST_ASSERT_TRUE(cp_shape_size(CP_SCALAR, &size));
    TEST_ASSERT_EQUAL_UINT64(1, size);
    TEST_ASSERT_TRUE(cp_shape_size(CP_SHAPE(2, 3, 4, 5, 6), &size));
    TEST_ASSERT_EQUAL_UINT64(720, size);
    TEST_ASSERT_TRUE(cp_shape_size(CP_SHAPE(2, 0, 4), &size));
    TEST_ASSERT_EQUAL_UINT64(0, size);
    TEST_ASSERT_TRUE(cp_shape_size(CP_SHAPE(1 << 14, 1 << 13), &size));
    TEST_ASSERT_EQUAL_UINT64(1 << 27, size);
    if (sizeof size < 8) return; /* a 32-bit machine has no memory for the next one */
    TEST_ASSERT_TRUE(cp_shape_size(CP_SHAPE(INT_MAX, 2), &size));
    TEST_ASSERT_EQUAL_UINT64(2 * (uint64_t)INT_MAX, size);
}

static void shapes_too_large_for_memory_have_no_size(void) {
    size_t size;
    TEST_ASSERT_FALSE(cp_shape_size(CP_SHAPE(2, -1), &size));
    TEST_ASSERT_FALSE(cp_shape_size(cp_shape_of(6, (int[]){1, 1, 1, 1, 1, 1}), &size));
    TEST_ASSERT_FALSE(cp_shape_size(cp_shape_of(-1, NULL), &size));
    TEST_ASSERT_FALSE(cp_shape_size(cp_shape_of(1, NULL), &size));
    TEST_ASSERT_FALSE(cp_shape_size(CP_SHAPE(INT_MAX, INT_MAX, INT_MAX), &size));
    TEST_ASSERT_FALSE(cp_shape_size(CP_SHAPE(INT_MAX, INT_MAX, 4), &size));
    TEST_ASSERT_FALSE(cp_shape_size(CP_SHAPE(1 << 16, 1 << 16, 1 << 16, 1 << 16), &size)); /* 2^64: 0 if it wraps */
}

static void an_empty_shape_is_checked_by_its_other_sizes_in_any_order(void) {
    size_t size;
    TEST_ASSERT_FALSE(cp_shape_size(CP_SHAPE(0, INT_MAX, INT_MAX, INT_MAX), &size));
    TEST_ASSERT_FALSE(cp_shape_size(CP_SHAPE(INT_MAX, INT_MAX, INT_MAX, 0), &size));
    TEST_ASSERT_FALSE(cp_shape_size(CP_SHAPE(0, -1), &size));
    TEST_ASSERT_TRUE(cp_shape_size(CP_SHAPE(1 << 27, 0), &size));
    TEST_ASSERT_EQUAL_UINT64(0, size);
}

static void an_impossible_shape_is_reported_with_the_op_and_the_shape(void) {
    cp_at here = {NULL, "user.c", 3};
    TEST_ASSERT_TRUE(cp_shape_check(here, "full", CP_SHAPE(2, 0)));
    TEST_ASSERT_EQUAL_INT(0, errors);
    TEST_ASSERT_FALSE(cp_shape_check(here, "full", CP_SHAPE(2, -3)));
    TEST_ASSERT_EQUAL_INT(1, errors);
    TEST_ASSERT_EQUAL_STRING_LEN("full: the shape (2, -3) is not possible", last_error, 39);
}

static void shapes_are_the_same_only_with_the_same_rank_and_sizes(void) {
    cp_tensor a = shaped(CP_SHAPE(2, 3)), b = shaped(CP_SHAPE(2, 3)), c = shaped(CP_SHAPE(3, 2)), d = shaped(CP_SHAPE(2, 3, 1)),
              e = {0};
    TEST_ASSERT_TRUE(cp_shape_same(&a, &b));
    TEST_ASSERT_FALSE(cp_shape_same(&a, &c));
    TEST_ASSERT_FALSE(cp_shape_same(&a, &d));
    TEST_ASSERT_FALSE(cp_shape_same(&a, &e));
    TEST_ASSERT_TRUE(cp_shape_is(&e, CP_SCALAR));
}

static void expect_broadcast(cp_shape a, cp_shape b, const char *expected) {
    cp_shape common;
    for (int turn = 0; turn < 2; turn++) {
        bool fits = turn ? cp_shape_broadcast(&b, &a, &common) : cp_shape_broadcast(&a, &b, &common);
        TEST_ASSERT_EQUAL_STRING(expected, fits ? cp_dims_text(common).s : "no");
    }
}

static void broadcasting_aligns_at_the_last_axis_and_repeats_ones(void) {
    expect_broadcast(CP_SHAPE(2, 3), CP_SHAPE(3), "(2, 3)");
    expect_broadcast(CP_SHAPE(2, 1), CP_SHAPE(1, 3), "(2, 3)");
    expect_broadcast(CP_SCALAR, CP_SHAPE(4, 5), "(4, 5)");
    expect_broadcast(CP_SCALAR, CP_SCALAR, "()");
    expect_broadcast(CP_SHAPE(1), CP_SHAPE(2, 3, 4, 5, 6), "(2, 3, 4, 5, 6)");
    expect_broadcast(CP_SHAPE(2, 3), CP_SHAPE(2), "no");
    expect_broadcast(CP_SHAPE(2, 3), CP_SHAPE(4, 3), "no");
}

static void an_empty_axis_broadcasts_with_one_and_with_itself_only(void) {
    expect_broadcast(CP_SHAPE(0, 3), CP_SHAPE(1, 3), "(0, 3)");
    expect_broadcast(CP_SHAPE(0), CP_SHAPE(0), "(0)");
    expect_broadcast(CP_SHAPE(0), CP_SCALAR, "(0)");
    expect_broadcast(CP_SHAPE(0), CP_SHAPE(2), "no");
}

static void negative_axes_count_from_the_end(void) {
    cp_tensor t = shaped(CP_SHAPE(4, 5, 6));
    bool      flags[CP_MAX_RANK];
    TEST_ASSERT_TRUE(cp_axes_flags((cp_at){0}, "sum", CP_AXES(-1, 0), &t, flags));
    TEST_ASSERT_TRUE(flags[0] && !flags[1] && flags[2] && !flags[3] && !flags[4]);
    int axis = -3;
    TEST_ASSERT_TRUE(cp_axis_resolve((cp_at){0}, "sum", &t, &axis));
    TEST_ASSERT_EQUAL_INT(0, axis);
}

static void no_axes_means_every_axis(void) {
    cp_tensor t = shaped(CP_SHAPE(4, 5));
    bool      flags[CP_MAX_RANK];
    TEST_ASSERT_TRUE(cp_axes_flags((cp_at){0}, "sum", CP_ALL, &t, flags));
    TEST_ASSERT_TRUE(flags[0] && flags[1] && !flags[2] && !flags[3] && !flags[4]);
}

static void missing_or_repeated_axes_are_reported(void) {
    cp_tensor t = shaped(CP_SHAPE(4, 5));
    bool      flags[CP_MAX_RANK];
    TEST_ASSERT_FALSE(cp_axes_flags((cp_at){0}, "sum", CP_AXES(2), &t, flags));
    TEST_ASSERT_EQUAL_STRING("sum: axis 2 does not exist in shape (4, 5)", last_error);
    TEST_ASSERT_FALSE(cp_axes_flags((cp_at){0}, "sum", CP_AXES(-3), &t, flags));
    TEST_ASSERT_EQUAL_STRING("sum: axis -3 does not exist in shape (4, 5)", last_error);
    TEST_ASSERT_FALSE(cp_axes_flags((cp_at){0}, "sum", CP_AXES(0, -2), &t, flags));
    TEST_ASSERT_EQUAL_STRING("sum: axis 0 of shape (4, 5) appears twice", last_error);
    TEST_ASSERT_EQUAL_INT(3, errors);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(shapes_are_written_like_tuples);
    RUN_TEST(the_text_has_room_for_the_longest_shape);
    RUN_TEST(the_size_is_the_product_of_the_dims);
    RUN_TEST(shapes_too_large_for_memory_have_no_size);
    RUN_TEST(an_empty_shape_is_checked_by_its_other_sizes_in_any_order);
    RUN_TEST(an_impossible_shape_is_reported_with_the_op_and_the_shape);
    RUN_TEST(shapes_are_the_same_only_with_the_same_rank_and_sizes);
    RUN_TEST(broadcasting_aligns_at_the_last_axis_and_repeats_ones);
    RUN_TEST(an_empty_axis_broadcasts_with_one_and_with_itself_only);
    RUN_TEST(negative_axes_count_from_the_end);
    RUN_TEST(no_axes_means_every_axis);
    RUN_TEST(missing_or_repeated_axes_are_reported);
    return UNITY_END();
}
