/* Tests of tensors as pictures: which part of a large one is shown, and that unusual values are visible. */
#include "couplet.h"

#include "core/show/value.h"

#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cp_json *picture;

void setUp(void) { picture = NULL; }

void tearDown(void) { cp_json_free(picture); }

static void draw(const cp_tensor *t, size_t cells) {
    cp_json_writer w = {0};
    cp_status      status = {0};
    cp_picture_put(&w, NULL, t, cells);
    TEST_ASSERT_TRUE_MESSAGE(cp_json_writer_finish(&w, &status), status.message);
    cp_json_free(picture);
    picture = cp_json_parse(w.out.data, w.out.size, "the picture", &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(picture, status.message);
    cp_json_writer_free(&w);
}

static const char *text(const char *key) { return cp_json_string(cp_json_get(picture, key), ""); }

static int64_t integer(const char *key) { return cp_json_integer(cp_json_get(picture, key), 0); }

static void a_small_tensor_is_shown_as_numbers(void) {
    cp_tensor *t =
        cp_parameter_new((cp_real[]){(cp_real)NAN, (cp_real)INFINITY, (cp_real)-INFINITY, (cp_real)1.23456}, CP_SHAPE(2, 2));
    static const char *const expected[] = {"nan", "inf", "-inf", "1.235"};
    t->data[0] = -t->data[0]; /* its sign does not matter */
    draw(t, CP_PICTURE_CELLS);
    TEST_ASSERT_EQUAL_UINT64(2, cp_json_get(picture, "dims")->count);
    for (size_t i = 0; i < 4; i++)
        TEST_ASSERT_EQUAL_STRING(expected[i], cp_json_string(cp_json_at(cp_json_get(picture, "values"), i), ""));
    TEST_ASSERT_NULL(cp_json_get(picture, "cells"));
    cp_tensor_free(t);
}

static void nans_and_infinities_of_a_large_tensor_are_shown(void) {
    cp_tensor *t = cp_tensor_new(CP_SHAPE(100));
    t->data[0] = (cp_real)NAN, t->data[1] = (cp_real)INFINITY, t->data[2] = (cp_real)-INFINITY, t->data[3] = -2, t->data[4] = 1;
    draw(t, CP_PICTURE_CELLS);
    TEST_ASSERT_EQUAL_INT64(1, integer("nan"));
    TEST_ASSERT_EQUAL_INT64(2, integer("infinite"));
    TEST_ASSERT_EQUAL_STRING("-2", text("low"));
    TEST_ASSERT_EQUAL_STRING("1", text("high"));
    TEST_ASSERT_EQUAL_STRING("2", text("scale"));
    TEST_ASSERT_EQUAL_STRING_LEN("AP8BAr+A", text("cells"), 8); /* 0 255 1 2 191 128 */
    for (size_t i = 0; i < t->size; i++) t->data[i] = (cp_real)NAN;
    draw(t, CP_PICTURE_CELLS);
    TEST_ASSERT_EQUAL_INT64(100, integer("nan"));
    TEST_ASSERT_EQUAL_STRING("nan", text("mean"));
    cp_tensor_free(t);
}

/* A line of text has the same contents as the picture. */
static void a_line_has_the_same_numbers_as_a_picture(void) {
    cp_tensor *t = cp_tensor_new(CP_SHAPE(100));
    char       expected[100];
    t->data[0] = -(cp_real)NAN, t->data[1] = (cp_real)INFINITY, t->data[2] = (cp_real)-INFINITY, t->data[3] = -2, t->data[4] = 99;
    draw(t, 0);
    snprintf(expected, sizeof expected, "%s .. %s, mean %s, 1 NaN, 2 infinite", text("low"), text("high"), text("mean"));
    TEST_ASSERT_EQUAL_STRING("-2 .. 99, mean 1, 1 NaN, 2 infinite", expected);
    TEST_ASSERT_EQUAL_STRING(expected, cp_values_text(t, CP_VALUES_MAX).s);
    for (int i = 0; i < 100; i++) t->data[i] = (cp_real)NAN;
    TEST_ASSERT_EQUAL_STRING("nan .. nan, mean nan, 100 NaN", cp_values_text(t, CP_VALUES_MAX).s);
    cp_tensor_free(t);
}

static void a_line_has_room_for_all_values_that_are_shown_as_numbers(void) {
    cp_tensor *t = cp_tensor_new(CP_SHAPE(CP_VALUES_MAX));
    for (int i = 0; i < CP_VALUES_MAX; i++) t->data[i] = (cp_real)-1.2344e-30;
    t->data[CP_VALUES_MAX - 1] = -(cp_real)NAN;
    cp_values_line line = cp_values_text(t, CP_VALUES_MAX);
    TEST_ASSERT_EQUAL_STRING(" nan", strrchr(line.s, ' '));
    TEST_ASSERT_EQUAL_STRING_LEN("-1.234e-30 -1.234e-30 ", line.s, 22);
    cp_tensor_free(t);
}

static void expect_layout(cp_shape shape, const char *layout) {
    cp_tensor *t = cp_tensor_new(shape);
    draw(t, CP_PICTURE_CELLS);
    TEST_ASSERT_EQUAL_STRING(layout, text("layout"));
    cp_tensor_free(t);
}

static void a_small_tensor_says_how_its_values_are_arranged(void) {
    expect_layout(CP_SCALAR, "");
    expect_layout(CP_SHAPE(4, 4, 4), "");
    expect_layout(CP_SHAPE(1, 1, 4, 4), "");
    expect_layout(CP_SHAPE(2, 2, 4, 4), "windows");
    expect_layout(CP_SHAPE(1, 4, 4, 4), "images");
    expect_layout(CP_SHAPE(12, 12, 0, 1), "images"); /* larger than any kernel */
    expect_layout(CP_SHAPE(1, 2, 2, 4, 4), "images");
}

static void expect_part(cp_shape shape, const char *part, int cells) {
    cp_tensor *t = cp_tensor_new(shape);
    draw(t, CP_PICTURE_CELLS);
    TEST_ASSERT_EQUAL_STRING(part, text("part"));
    TEST_ASSERT_EQUAL_INT64(cells, integer("tiles") * integer("rows") * integer("columns"));
    TEST_ASSERT_EQUAL_INT((cells + 2) / 3 * 4, strlen(text("cells")));
    cp_tensor_free(t);
}

static void a_large_tensor_says_which_part_is_shown(void) {
    expect_part(CP_SHAPE(65), "values 1 to 65 of 65", 65);
    expect_part(CP_SHAPE(5000), "values 1 to 2048 of 5000", 2048);
    expect_part(CP_SHAPE(20, 30), "rows 1 to 20 of 20, columns 1 to 30 of 30", 600);
    expect_part(CP_SHAPE(128, 784), "rows 1 to 32 of 128, columns 1 to 64 of 784", 2048);
    expect_part(CP_SHAPE(1, 3000), "rows 1 to 1 of 1, columns 1 to 64 of 3000", 64);
    expect_part(CP_SHAPE(9, 20, 30), "matrices 1 to 3 of 9, rows 1 to 20 of 20, columns 1 to 30 of 30", 1800);
    expect_part(CP_SHAPE(4, 28, 28, 16), "image 1 of 4, channels 1 to 2 of 16", 1568);
    expect_part(CP_SHAPE(2, 64, 64, 3), "image 1 of 2, channels 1 to 2 of 3, one of 2 pixels in each direction", 2048);
    expect_part(CP_SHAPE(2, 3, 4, 5, 6), "image 1 of 6, channels 1 to 6 of 6", 120);
    expect_part(CP_SHAPE(3, 3, 16, 32), "windows 1 to 227 of 512", 2043);
    expect_part(CP_SHAPE(1, 1, 16, 32), "rows 1 to 16 of 16, columns 1 to 32 of 32", 512);
}

/* Byte i of the data that `text` contains in base64. */
static int byte_at(const char *text, int i) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned          four = 0;
    for (int k = 0; k < 4; k++) four = four << 6 | (unsigned)(strchr(digits, text[i / 3 * 4 + k]) - digits);
    return (int)(four >> (16 - 8 * (i % 3)) & 255);
}

/* The only nonzero value is at the right index among the cells. */
static void expect_cell(cp_shape shape, size_t place, int cell) {
    cp_tensor *t = cp_tensor_new(shape);
    t->data[place] = 1;
    draw(t, CP_PICTURE_CELLS);
    for (int i = 0; i < integer("tiles") * integer("rows") * integer("columns"); i++)
        TEST_ASSERT_EQUAL_INT(i == cell ? 254 : 128, byte_at(text("cells"), i));
    cp_tensor_free(t);
}

static void cells_are_arranged_tile_by_tile_and_row_by_row(void) {
    expect_cell(CP_SHAPE(100), 7, 7);
    expect_cell(CP_SHAPE(10, 20), 3 * 20 + 5, 3 * 20 + 5);
    expect_cell(CP_SHAPE(2, 8, 10, 4), (3 * 10 + 5) * 4 + 2, (2 * 8 + 3) * 10 + 5); /* pixel (3, 5) of channel 2 */
    expect_cell(CP_SHAPE(2, 8, 10, 4), 8 * 10 * 4 + 1, -1);                         /* of the other image */
    expect_cell(CP_SHAPE(3, 3, 4, 4), (1 * 3 + 2) * 16 + 6, (6 * 3 + 1) * 3 + 2);   /* weight (1, 2) of window 6 */
}

static void a_limit_on_the_cells_gives_fewer_or_none(void) {
    cp_tensor *t = cp_tensor_new(CP_SHAPE(5, 5, 10, 10));
    draw(t, 24);
    TEST_ASSERT_LESS_OR_EQUAL_INT64(24, integer("tiles") * integer("rows") * integer("columns"));
    TEST_ASSERT_GREATER_THAN_INT64(0, integer("tiles"));
    draw(t, 1);
    TEST_ASSERT_EQUAL_INT64(1, integer("tiles") * integer("rows") * integer("columns"));
    draw(t, 0);
    TEST_ASSERT_NULL(cp_json_get(picture, "cells"));
    TEST_ASSERT_EQUAL_STRING("0", text("mean"));
    cp_tensor_free(t);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_small_tensor_is_shown_as_numbers);
    RUN_TEST(nans_and_infinities_of_a_large_tensor_are_shown);
    RUN_TEST(a_line_has_the_same_numbers_as_a_picture);
    RUN_TEST(a_line_has_room_for_all_values_that_are_shown_as_numbers);
    RUN_TEST(a_small_tensor_says_how_its_values_are_arranged);
    RUN_TEST(a_large_tensor_says_which_part_is_shown);
    RUN_TEST(cells_are_arranged_tile_by_tile_and_row_by_row);
    RUN_TEST(a_limit_on_the_cells_gives_fewer_or_none);
    return UNITY_END();
}
