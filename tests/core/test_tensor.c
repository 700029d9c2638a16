/* Tests of core/tensor: persistent tensors, single values, and the exact text of a printed tensor. */
#include "couplet.h"

#include "tests/support/errors.h"

#include "unity.h"

#include <math.h>
#include <string.h>

void setUp(void) {}

void tearDown(void) {}

static void expect_text(const cp_tensor *t, const char *expected) {
    char  text[4096];
    FILE *file = tmpfile();
    TEST_ASSERT_NOT_NULL(file);
    cp_tensor_print(file, t);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    TEST_ASSERT_EQUAL_STRING(expected, text);
}

static cp_tensor *counting(cp_shape shape) {
    cp_tensor *t = cp_tensor_new(shape);
    for (size_t i = 0; i < t->size; i++) t->data[i] = (cp_real)(i + 1);
    return t;
}

static void a_new_tensor_is_zero_constant_and_belongs_to_no_tape(void) {
    cp_tensor *t = cp_tensor_new(CP_SHAPE(2, 3, 4));
    TEST_ASSERT_EQUAL_INT(3, t->rank);
    TEST_ASSERT_EQUAL_UINT64(24, t->size);
    for (size_t i = 0; i < t->size; i++) TEST_ASSERT_TRUE(t->data[i] == 0);
    TEST_ASSERT_FALSE(t->tracked);
    TEST_ASSERT_NULL(t->tape);
    TEST_ASSERT_NULL(t->name);
    cp_tensor_free(t);
}

static void a_parameter_copies_its_values_and_is_tracked(void) {
    cp_real    values[] = {1, 2, 3};
    cp_tensor *t = cp_parameter_new(values, CP_SHAPE(3));
    values[0] = 9;
    TEST_ASSERT_TRUE(t->tracked);
    TEST_ASSERT_TRUE(t->data[0] == 1 && t->data[2] == 3);
    cp_tensor_free(t);
}

static void empty_and_scalar_tensors_can_be_made_and_freed(void) {
    cp_tensor *empty = cp_tensor_new(CP_SHAPE(0, 5)), *scalar = cp_tensor_new(CP_SCALAR);
    TEST_ASSERT_EQUAL_UINT64(0, empty->size);
    TEST_ASSERT_NOT_NULL(empty->data);
    TEST_ASSERT_EQUAL_UINT64(1, scalar->size);
    cp_tensor_free(empty);
    cp_tensor_free(scalar);
    cp_tensor_free(NULL);
}

static void freeing_a_tensor_of_a_tape_is_left_to_the_tape(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *t = cp_scalar(tape, 4);
    cp_tensor_free(t);
    TEST_ASSERT_TRUE(cp_item(t) == 4);
    cp_tape_free(tape);
}

static void an_item_is_the_only_value_of_a_tensor_and_otherwise_misuse(void) {
    cp_tensor *one = counting(CP_SHAPE(1, 1, 1)), *two = counting(CP_SHAPE(2)), *none = counting(CP_SHAPE(0));
    TEST_ASSERT_TRUE(cp_item(one) == 1);
    TEST_ASSERT_TRUE(isnan(cp_item(NULL)));
    errors_catch();
    TEST_ASSERT_TRUE(isnan(cp_item(two)));
    expect_error_at("item", "shape (2) has 2 values, one is needed", __FILE__, __LINE__ - 1);
    TEST_ASSERT_TRUE(isnan(cp_item(none)));
    expect_error_at("item", "shape (0) has 0 values", __FILE__, __LINE__ - 1);
    errors_release();
    cp_tensor_free(one);
    cp_tensor_free(two);
    cp_tensor_free(none);
}

static void a_matrix_prints_its_name_shape_type_and_rows(void) {
    cp_tensor *t = counting(CP_SHAPE(2, 3));
    t->name = "w";
    expect_text(t, "w (2, 3) " CP_REAL_NAME "\n[[ 1 2 3 ]\n [ 4 5 6 ]]\n");
    t->name = NULL;
    expect_text(t, "(2, 3) " CP_REAL_NAME "\n[[ 1 2 3 ]\n [ 4 5 6 ]]\n");
    cp_tensor_free(t);
}

static void a_scalar_prints_one_number(void) {
    cp_tensor *t = counting(CP_SCALAR);
    t->data[0] = (cp_real)-0.5;
    expect_text(t, "() " CP_REAL_NAME "\n -0.5\n");
    cp_tensor_free(t);
}

static void no_tensor_prints_null(void) { expect_text(NULL, "NULL\n"); }

static void empty_tensors_print_empty_brackets(void) {
    cp_tensor *none = counting(CP_SHAPE(0)), *rows = counting(CP_SHAPE(2, 0)), *no_rows = counting(CP_SHAPE(0, 2));
    expect_text(none, "(0) " CP_REAL_NAME "\n[ ]\n");
    expect_text(rows, "(2, 0) " CP_REAL_NAME "\n[[ ]\n [ ]]\n");
    expect_text(no_rows, "(0, 2) " CP_REAL_NAME "\n[]\n");
    cp_tensor_free(none);
    cp_tensor_free(rows);
    cp_tensor_free(no_rows);
}

static void long_axes_are_shortened_in_the_middle(void) {
    cp_tensor *eight = counting(CP_SHAPE(8)), *nine = counting(CP_SHAPE(9)), *tall = counting(CP_SHAPE(100, 1));
    expect_text(eight, "(8) " CP_REAL_NAME "\n[ 1 2 3 4 5 6 7 8 ]\n");
    expect_text(nine, "(9) " CP_REAL_NAME "\n[ 1 2 3 ... 7 8 9 ]\n");
    expect_text(tall, "(100, 1) " CP_REAL_NAME "\n[[ 1 ]\n [ 2 ]\n [ 3 ]\n ...\n [ 98 ]\n [ 99 ]\n [ 100 ]]\n");
    cp_tensor_free(eight);
    cp_tensor_free(nine);
    cp_tensor_free(tall);
}

static void five_axes_print_nested(void) {
    cp_tensor *t = counting(CP_SHAPE(1, 1, 2, 1, 2));
    expect_text(t, "(1, 1, 2, 1, 2) " CP_REAL_NAME "\n[[[[[ 1 2 ]]\n   [[ 3 4 ]]]]]\n");
    cp_tensor_free(t);
}

static void values_that_are_not_finite_print_as_words(void) {
    cp_tensor *t = counting(CP_SHAPE(4));
    t->data[0] = (cp_real)NAN;
    t->data[1] = (cp_real)INFINITY;
    t->data[2] = (cp_real)-INFINITY;
    t->data[3] = (cp_real)-0.0;
    expect_text(t, "(4) " CP_REAL_NAME "\n[ nan inf -inf -0 ]\n");
    cp_tensor_free(t);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_new_tensor_is_zero_constant_and_belongs_to_no_tape);
    RUN_TEST(a_parameter_copies_its_values_and_is_tracked);
    RUN_TEST(empty_and_scalar_tensors_can_be_made_and_freed);
    RUN_TEST(freeing_a_tensor_of_a_tape_is_left_to_the_tape);
    RUN_TEST(an_item_is_the_only_value_of_a_tensor_and_otherwise_misuse);
    RUN_TEST(a_matrix_prints_its_name_shape_type_and_rows);
    RUN_TEST(a_scalar_prints_one_number);
    RUN_TEST(no_tensor_prints_null);
    RUN_TEST(empty_tensors_print_empty_brackets);
    RUN_TEST(long_axes_are_shortened_in_the_middle);
    RUN_TEST(five_axes_print_nested);
    RUN_TEST(values_that_are_not_finite_print_as_words);
    return UNITY_END();
}
