/* Data sets: what they contain and refuse, the scaling convention, gathering rows, drawing labeled rows. The program is
 * linked with -Wl,--wrap for the memory calls, to count them and make them fail. */
#include "experiments/kit/data/dataset.h"
#include "models/about.h"

#include "core/tape.h"

#include "core/scratch.h"
#include "support/wrapped_memory.h"
#include "tests/support/errors.h"

#include <limits.h>
#include <math.h>

enum { ROWS = 12, VALUES = 4 };

static uint8_t     pixels[ROWS * VALUES];
static int         labels[ROWS];
static cp_dataset *set;
static cp_status   status;
static cp_tape    *tape;

static const cp_dataset_config small = {.name = "small", .dtype = CP_U8, .shape = {3, {2, 2, 1}}};

/* Row i has pixels 16 i ... 16 i + 3 and label i % 3. */
void setUp(void) {
    status = (cp_status){0};
    calls_allowed = -1;
    errors_catch();
    for (int i = 0; i < ROWS * VALUES; i++) pixels[i] = (uint8_t)(i / VALUES * 16 + i % VALUES);
    for (int i = 0; i < ROWS; i++) labels[i] = i % 3;
    set = cp_dataset_new(small);
    tape = cp_tape_new();
}

void tearDown(void) {
    cp_dataset_free(set);
    cp_tape_free(tape);
    errors_release();
}

static const cp_split *add(const char *name, int count) {
    TEST_ASSERT_TRUE_MESSAGE(cp_dataset_add(set, (cp_split_config){name, count, pixels, labels, false}, &status), status.message);
    return cp_dataset_split(set, name, &status);
}

/* ---- scaling ---- */

static void pixels_are_scaled_to_minus_one_to_one_and_back(void) {
    uint8_t all[256], back[256];
    cp_real scaled[256];
    for (int i = 0; i < 256; i++) all[i] = (uint8_t)i;
    TEST_ASSERT_TRUE(cp_preprocess(NULL, CP_U8, all, 256, scaled, "all", &status));
    TEST_ASSERT_TRUE(scaled[0] == -1 && scaled[255] == 1 && scaled[51] == (cp_real)51 / (cp_real)127.5 - 1);
    cp_pixels_of(scaled, 256, back);
    TEST_ASSERT_EQUAL_UINT8_ARRAY(all, back, 256);
}

static void values_beyond_the_range_become_the_nearest_pixels(void) {
    cp_real values[] = {(cp_real)-7, (cp_real)INFINITY, (cp_real)-INFINITY, (cp_real)1.01, (cp_real)NAN, 0};
    uint8_t back[6], expected[] = {0, 255, 0, 255, 0, 128};
    cp_pixels_of(values, 6, back);
    TEST_ASSERT_EQUAL_UINT8_ARRAY(expected, back, 6);
}

static void numbers_are_taken_as_they_are(void) {
    float   f[] = {-3.5f, 0, 255};
    double  d[] = {-3.5, 0, 255}, huge = 1e300;
    cp_real from_float[3], from_double[3];
    TEST_ASSERT_TRUE(cp_preprocess(NULL, CP_F32, f, 3, from_float, "f", &status));
    TEST_ASSERT_TRUE(cp_preprocess(NULL, CP_F64, d, 3, from_double, "d", &status));
    for (int i = 0; i < 3; i++) TEST_ASSERT_TRUE(from_float[i] == (cp_real)f[i] && from_double[i] == (cp_real)d[i]);
    TEST_ASSERT_EQUAL_INT(CP_DOUBLE, cp_preprocess(NULL, CP_F64, &huge, 1, from_double, "d", &status));
    if (!CP_DOUBLE) says(&status, "d");
}

/* ---- sets and splits ---- */

static void a_set_counts_its_classes_and_keeps_its_splits(void) {
    const cp_split *train = add("train", ROWS);
    labels[1] = 6; /* borrowed: the set sees the program's changes; the classes of val are counted now */
    const cp_split *val = add("val", 5);
    TEST_ASSERT_EQUAL_INT(7, set->classes);
    TEST_ASSERT_EQUAL_INT(2, set->split_count);
    TEST_ASSERT_EQUAL_PTR(train, cp_dataset_split(set, "train", &status));
    TEST_ASSERT_EQUAL_INT(ROWS, train->count);
    TEST_ASSERT_EQUAL_INT(5, val->count);
    TEST_ASSERT_EQUAL_PTR(pixels, val->inputs);
}

static void a_split_that_is_not_there_is_answered_with_those_that_are(void) {
    TEST_ASSERT_NULL(cp_dataset_split(set, "train", &status));
    says(&status, "small has no split \"train\"; it has none");
    add("train", 2), add("val", 2);
    TEST_ASSERT_NULL(cp_dataset_split(set, "test", &status));
    says(&status, "no split \"test\"; it has train, val");
    TEST_ASSERT_NULL(cp_dataset_split(NULL, NULL, &status));
    says(&status, "NULL");
}

static void owned_arrays_go_with_the_set(void) {
    uint8_t *own = malloc(sizeof pixels);
    int     *own_labels = malloc(sizeof labels);
    memcpy(own, pixels, sizeof pixels);
    memcpy(own_labels, labels, sizeof labels);
    TEST_ASSERT_TRUE(cp_dataset_add(set, (cp_split_config){"train", ROWS, own, own_labels, .owned = true}, &status));
    TEST_ASSERT_EQUAL_INT(3, set->classes); /* the leak checker does the rest */
}

static void a_set_takes_no_memory_beyond_its_arrays(void) {
    long before = memory_calls;
    add("train", ROWS);
    TEST_ASSERT_EQUAL_INT(before, memory_calls);
}

static void bad_labels_and_numbers_are_reported_with_their_row(void) {
    cp_dataset *numbers =
        cp_dataset_new((cp_dataset_config){.name = "numbers", .dtype = CP_F64, .shape = CP_SHAPE(3), .classes = 3});
    double x[] = {0, 1, 2, 3, 4, 5};
    labels[1] = 3;
    TEST_ASSERT_FALSE(cp_dataset_add(numbers, (cp_split_config){"a", 2, x, labels, false}, &status));
    says(&status, "numbers, split \"a\": label 3 of row 1 is not below the number of classes, 3");
    x[4] = NAN, labels[1] = -1;
    TEST_ASSERT_FALSE(cp_dataset_add(numbers, (cp_split_config){"a", 2, x, labels, false}, &status));
    says(&status, "value 1 of row 1 is nan");
    x[4] = 1e300;
    TEST_ASSERT_EQUAL_INT(CP_DOUBLE, cp_dataset_add(numbers, (cp_split_config){"b", 2, x, NULL, false}, &status));
    if (!CP_DOUBLE) says(&status, "1e+300, not a finite float");
    labels[1] = INT_MAX;
    TEST_ASSERT_FALSE(cp_dataset_add(set, (cp_split_config){"c", 2, pixels, labels, false}, &status));
    says(&status, "too large");
    TEST_ASSERT_EQUAL_INT(0, set->split_count);
    TEST_ASSERT_EQUAL_INT(0, set->classes);
    cp_dataset_free(numbers);
}

static void an_impossible_set_is_misuse(void) {
    TEST_ASSERT_NULL(cp_dataset_new((cp_dataset_config){.dtype = CP_I64, .shape = CP_SHAPE(3)}));
    expect_error_in("dataset_new", "CP_U8, CP_F32 or CP_F64", __FILE__);
    TEST_ASSERT_NULL(cp_dataset_new((cp_dataset_config){.dtype = CP_U8, .shape = CP_SHAPE(3, 3, 3, 3, 3)}));
    expect_error_in("dataset_new", "rank 5", __FILE__);
    TEST_ASSERT_NULL(cp_dataset_new((cp_dataset_config){.dtype = CP_U8, .shape = CP_SHAPE(3, 0)}));
    expect_error_in("dataset_new", "without a 0", __FILE__);
    TEST_ASSERT_NULL(cp_dataset_new((cp_dataset_config){.dtype = CP_U8, .shape = CP_SHAPE(3), .classes = -1}));
    expect_error_in("dataset_new", "-1 classes", __FILE__);
}

static void an_impossible_split_is_misuse(void) {
    add("train", 3);
    TEST_ASSERT_FALSE(cp_dataset_add(NULL, (cp_split_config){"a", 1, pixels, labels, false}, &status));
    expect_error_in("dataset_add", "NULL", __FILE__);
    TEST_ASSERT_FALSE(cp_dataset_add(set, (cp_split_config){"train", 1, pixels, labels, false}, &status));
    expect_error_in("dataset_add", "has a split \"train\" already", __FILE__);
    TEST_ASSERT_FALSE(cp_dataset_add(set, (cp_split_config){NULL, 1, pixels, labels, false}, &status));
    expect_error_in("dataset_add", "1 to 31 characters", __FILE__);
    TEST_ASSERT_FALSE(
        cp_dataset_add(set, (cp_split_config){"a-name-that-is-longer-than-the-room", 1, pixels, labels, false}, &status));
    expect_error_in("dataset_add", "1 to 31 characters", __FILE__);
    TEST_ASSERT_FALSE(cp_dataset_add(set, (cp_split_config){"a", -1, pixels, labels, false}, &status));
    expect_error_in("dataset_add", "-1 inputs", __FILE__);
    TEST_ASSERT_FALSE(cp_dataset_add(set, (cp_split_config){"a", 1, NULL, labels, false}, &status));
    expect_error_in("dataset_add", "at NULL", __FILE__);
    for (int i = 1; i < CP_SPLITS; i++) add((char[]){(char)('0' + i), '\0'}, 0);
    TEST_ASSERT_FALSE(cp_dataset_add(set, (cp_split_config){"a", 1, pixels, labels, false}, &status));
    expect_error_in("dataset_add", "8 splits already", __FILE__);
}

static void a_lack_of_memory_for_a_set_is_reported(void) {
    calls_allowed = 0;
    TEST_ASSERT_NULL(cp_dataset_new(small));
    expect_error_in("dataset_new", "out of memory", __FILE__);
}

/* ---- rows ---- */

static void gathered_rows_are_scaled_constants_in_the_given_order(void) {
    const cp_split *train = add("train", ROWS);
    int             rows[] = {11, 0, 11};
    cp_tensor      *x = cp_split_gather(tape, train, rows, 3); /* (3, 2, 2, 1) */
    TEST_ASSERT_NOT_NULL(x);
    TEST_ASSERT_EQUAL_INT(4, x->rank);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){3, 2, 2, 1}), x->dims, 4);
    TEST_ASSERT_FALSE(x->tracked);
    for (int i = 0; i < 3 * VALUES; i++)
        TEST_ASSERT_TRUE(x->data[i] == (cp_real)pixels[rows[i / VALUES] * VALUES + i % VALUES] / (cp_real)127.5 - 1);
}

static void rows_can_be_gathered_into_a_persistent_tensor(void) {
    const cp_split *train = add("train", ROWS);
    cp_tensor      *x = cp_tensor_new(CP_SHAPE(2, 2, 2, 1));
    TEST_ASSERT_TRUE(cp_split_read(train, (int[]){3, 4}, 2, x->data));
    cp_tensor *same = cp_split_gather(tape, train, (int[]){3, 4}, 2);
    TEST_ASSERT_EQUAL_MEMORY(same->data, x->data, x->size * sizeof *x->data);
    cp_tensor_free(x);
}

static void no_rows_give_an_empty_tensor(void) {
    cp_tensor *x = cp_split_gather(tape, add("train", ROWS), NULL, 0);
    TEST_ASSERT_NOT_NULL(x);
    TEST_ASSERT_EQUAL_INT(0, x->dims[0]);
    TEST_ASSERT_EQUAL_INT(0, errors);
}

static void missing_rows_are_misuse(void) {
    const cp_split *train = add("train", 5);
    cp_real         out[2 * VALUES];
    TEST_ASSERT_NULL(cp_split_gather(tape, train, (int[]){4, 5}, 2));
    expect_error_in("split_gather", "no row 5 among the 5 of split \"train\"", __FILE__);
    TEST_ASSERT_FALSE(cp_split_read(train, (int[]){-1}, 1, out));
    expect_error_in("split_read", "no row -1", __FILE__);
    TEST_ASSERT_FALSE(cp_split_read(train, (int[]){1}, 1, NULL));
    expect_error_in("split_read", "memory for 1 rows is NULL", __FILE__);
    TEST_ASSERT_NULL(cp_split_gather(tape, NULL, (int[]){1}, 1));
    expect_error_in("split_gather", "NULL", __FILE__);
    TEST_ASSERT_NULL(cp_split_gather((cp_tape *)NULL, train, (int[]){1}, 1));
    expect_error_in("split_gather", "the tape is NULL", __FILE__);
}

/* ---- draws ---- */

static void a_draw_has_the_given_number_of_each_class_in_ascending_order(void) {
    const cp_split *train = add("train", ROWS);
    int            *drawn = cp_split_draw(train, 2, 7, &status), found[3] = {0};
    TEST_ASSERT_NOT_NULL_MESSAGE(drawn, status.message);
    for (int i = 0; i < 6; i++) {
        TEST_ASSERT_TRUE(i == 0 || drawn[i] > drawn[i - 1]);
        found[labels[drawn[i]]]++;
    }
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){2, 2, 2}), found, 3);
    free(drawn);
}

static void draws_depend_on_the_seed_and_contain_the_smaller_ones(void) {
    const cp_split *train = add("train", ROWS);
    bool            differs = false;
    for (uint64_t seed = 0; seed < 20; seed++) {
        int *one = cp_split_draw(train, 1, seed, &status), *again = cp_split_draw(train, 1, seed, &status);
        int *three = cp_split_draw(train, 3, seed, &status), *other = cp_split_draw(train, 1, seed + 1, &status);
        TEST_ASSERT_EQUAL_INT_ARRAY(one, again, 3);
        differs |= memcmp(one, other, 3 * sizeof *one) != 0;
        for (int i = 0; i < 3; i++) {
            bool there = false;
            for (int j = 0; j < 9; j++) there |= three[j] == one[i];
            TEST_ASSERT_TRUE(there);
        }
        free(one), free(again), free(three), free(other);
    }
    TEST_ASSERT_TRUE(differs);
}

/* Every row of a class is equally likely: 4 rows, one drawn, 4,000 draws give 1,000 each, sd 27. */
static void draws_are_uniform_within_a_class(void) {
    const cp_split *train = add("train", ROWS);
    int             times[ROWS] = {0};
    for (uint64_t seed = 0; seed < 4000; seed++) {
        int *drawn = cp_split_draw(train, 1, seed, &status);
        for (int i = 0; i < 3; i++) times[drawn[i]]++;
        free(drawn);
    }
    for (int i = 0; i < ROWS; i++) TEST_ASSERT_INT_WITHIN(140, 1000, times[i]);
}

static void unlabeled_rows_are_never_drawn(void) {
    labels[0] = labels[3] = labels[6] = -1; /* only row 9 of class 0 stays labeled */
    const cp_split *train = add("train", ROWS);
    int             counts[3], *drawn = cp_split_draw(train, 1, 3, &status);
    cp_split_class_counts(train, counts);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){1, 4, 4}), counts, 3);
    int nines = 0;
    for (int i = 0; i < 3; i++) nines += drawn[i] == 9;
    TEST_ASSERT_EQUAL_INT(1, nines);
    free(drawn);
}

static void all_rows_can_be_drawn_and_no_more(void) {
    const cp_split *train = add("train", ROWS);
    int            *drawn = cp_split_draw(train, 4, 1, &status);
    for (int i = 0; i < ROWS; i++) TEST_ASSERT_EQUAL_INT(i, drawn[i]);
    free(drawn);
    TEST_ASSERT_NULL(cp_split_draw(train, 5, 1, &status));
    says(&status, "split \"train\" has 4 labeled rows of class 0; 5 per class were requested");
    TEST_ASSERT_NULL(cp_split_draw(train, INT_MAX, 1, &status));
    says(&status, "2147483647 per class");
    TEST_ASSERT_NULL(cp_split_draw(train, 0, 1, &status));
    says(&status, "0 rows of each class");
}

static void a_draw_without_labels_or_memory_is_reported(void) {
    TEST_ASSERT_TRUE(cp_dataset_add(set, (cp_split_config){"bare", 3, pixels, NULL, false}, &status));
    TEST_ASSERT_NULL(cp_split_draw(cp_dataset_split(set, "bare", &status), 1, 1, &status));
    says(&status, "no labels");
    const cp_split *train = add("train", ROWS);
    TEST_ASSERT_NULL(cp_split_draw(cp_dataset_split(set, "bare", &status), 1, 1, &status));
    says(&status, "0 labeled rows of class 0");
    for (long allowed = 0; allowed < 2; allowed++) {
        calls_allowed = allowed;
        TEST_ASSERT_NULL(cp_split_draw(train, 2, 1, &status));
        says(&status, "out of memory");
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(pixels_are_scaled_to_minus_one_to_one_and_back);
    RUN_TEST(values_beyond_the_range_become_the_nearest_pixels);
    RUN_TEST(numbers_are_taken_as_they_are);
    RUN_TEST(a_set_counts_its_classes_and_keeps_its_splits);
    RUN_TEST(a_split_that_is_not_there_is_answered_with_those_that_are);
    RUN_TEST(owned_arrays_go_with_the_set);
    RUN_TEST(a_set_takes_no_memory_beyond_its_arrays);
    RUN_TEST(bad_labels_and_numbers_are_reported_with_their_row);
    RUN_TEST(an_impossible_set_is_misuse);
    RUN_TEST(an_impossible_split_is_misuse);
    RUN_TEST(a_lack_of_memory_for_a_set_is_reported);
    RUN_TEST(gathered_rows_are_scaled_constants_in_the_given_order);
    RUN_TEST(rows_can_be_gathered_into_a_persistent_tensor);
    RUN_TEST(no_rows_give_an_empty_tensor);
    RUN_TEST(missing_rows_are_misuse);
    RUN_TEST(a_draw_has_the_given_number_of_each_class_in_ascending_order);
    RUN_TEST(draws_depend_on_the_seed_and_contain_the_smaller_ones);
    RUN_TEST(draws_are_uniform_within_a_class);
    RUN_TEST(unlabeled_rows_are_never_drawn);
    RUN_TEST(all_rows_can_be_drawn_and_no_more);
    RUN_TEST(a_draw_without_labels_or_memory_is_reported);
    return UNITY_END();
}
