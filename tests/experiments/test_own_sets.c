/* Data sets of one's own: unlabeled rows, text for classes and patients, missing splits, draws from rare classes, and what is suspicious
 * about a set. */
#include "core/io/npz.h"
#include "experiments/kit/data/check.h"

#include "support/setup_files.h"

enum { ROWS = 6 };

static uint8_t        pixels[10][4];
static cp_npz_writer *file;
static cp_images     *images;

static void begin(void) {
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < 4; k++) pixels[i][k] = (uint8_t)(10 * i + k);
    cp_images_free(images);
    images = NULL;
    status = (cp_status){0};
    file = cp_npz_writer_new(scratch("set.npz"), &status);
}

static void add_images(const char *name, int first, int count) {
    cp_npz_writer_add(file, name, CP_U8, 3, (int64_t[]){count, 2, 2}, pixels[first]);
}

static void add_numbers(const char *name, int count, const int32_t *numbers) {
    cp_npz_writer_add(file, name, CP_I32, 1, (int64_t[]){count}, numbers);
}

/* Two images for validation and two for a test. */
static void add_others(void) {
    add_images("val_images", 6, 2), add_images("test_images", 8, 2);
    add_numbers("val_labels", 2, (int32_t[]){0, 1}), add_numbers("test_labels", 2, (int32_t[]){1, 0});
}

static void load(bool any) {
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(file, &status), status.message);
    images = any ? cp_images_load_any(scratch("set.npz"), &status) : cp_images_load(scratch("set.npz"), &status);
}

static void loads(bool any) {
    load(any);
    TEST_ASSERT_NOT_NULL_MESSAGE(images, status.message);
}

static void refuses(const char *message) {
    load(false);
    TEST_ASSERT_NULL_MESSAGE(images, message);
    says(&status, message);
}

/* ---- unlabeled rows ---- */

static void training_rows_may_be_without_a_label(void) {
    static const int32_t labels[ROWS] = {0, -1, 1, -1, 0, -1};
    int                  counts[2], count, *drawn;
    begin();
    add_images("train_images", 0, ROWS), add_numbers("train_labels", ROWS, labels), add_others();
    loads(false);
    const cp_split *train = &images->set->splits[CP_IMAGES_TRAIN];
    TEST_ASSERT_EQUAL_INT_ARRAY(labels, train->labels, ROWS);
    cp_split_class_counts(train, counts);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){2, 1}), counts, 2);
    drawn = cp_split_draw_some(train, 100, 1, &count, &status);
    TEST_ASSERT_EQUAL_INT(3, count);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){0, 2, 4}), drawn, 3);
    free(drawn);
}

static void unlabeled_rows_may_be_in_an_array_of_their_own(void) {
    begin();
    add_images("train_images", 0, 4), add_numbers("train_labels", 4, (int32_t[]){0, 1, 0, 1}), add_others();
    add_numbers("train_patients", 4, (int32_t[]){5, 5, 6, 7});
    add_images("unlabeled_images", 4, 2);
    loads(false);
    const cp_split *train = &images->set->splits[CP_IMAGES_TRAIN];
    TEST_ASSERT_EQUAL_INT(6, train->count);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){0, 1, 0, 1, -1, -1}), train->labels, 6);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){5, 5, 6, 7, -1, -1}), images->groups[CP_IMAGES_TRAIN], 6);
    TEST_ASSERT_EQUAL_MEMORY(pixels, train->inputs, 24);
}

static void other_splits_need_labels_and_training_needs_every_class(void) {
    begin();
    add_images("train_images", 0, 2), add_numbers("train_labels", 2, (int32_t[]){0, 1});
    add_images("val_images", 6, 2), add_images("test_images", 8, 2);
    add_numbers("val_labels", 2, (int32_t[]){0, 1}), add_numbers("test_labels", 2, (int32_t[]){1, -1});
    refuses(
        "test_labels has label -1 in row 1; classes are numbered 0, 1, ..., and at most 1000 are supported; only training images");
    begin();
    add_images("train_images", 0, 2), add_numbers("train_labels", 2, (int32_t[]){0, -1}), add_others();
    refuses("no training image has class 1");
    begin();
    add_images("train_images", 0, 2), add_numbers("train_labels", 2, (int32_t[]){0, -2}), add_others();
    refuses("train_labels has label -2 in row 1");
}

/* ---- text ---- */

static void classes_and_patients_may_be_text(void) {
    begin();
    add_images("train_images", 0, 4), add_images("val_images", 6, 1), add_images("test_images", 8, 2);
    cp_npz_writer_add_texts(file, "train_labels", 4, (const char *const[]){"dog", "cat", "", "dog"});
    cp_npz_writer_add_texts(file, "val_labels", 1, (const char *const[]){"cat"});
    cp_npz_writer_add_texts(file, "test_labels", 2, (const char *const[]){"cat", "dog"});
    cp_npz_writer_add_texts(file, "train_patients", 4, (const char *const[]){"B", "A", "A", ""});
    cp_npz_writer_add_texts(file, "test_patients", 2, (const char *const[]){"C", "A"});
    loads(false);
    TEST_ASSERT_EQUAL_INT(2, images->classes);
    TEST_ASSERT_EQUAL_STRING("cat", images->class_names[0]);
    TEST_ASSERT_EQUAL_STRING("dog", images->class_names[1]);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){1, 0, -1, 1}), images->set->splits[CP_IMAGES_TRAIN].labels, 4);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){0, 1, 1, -1}), images->groups[CP_IMAGES_TRAIN], 4);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){2, 1}), images->groups[CP_IMAGES_TEST], 2);
    TEST_ASSERT_EQUAL_STRING("C", images->patients_named.at[2]);
    TEST_ASSERT_TRUE_MESSAGE(cp_images_write(images, scratch("copy.npz"), &status), status.message);
    cp_images *copy = cp_images_load(scratch("copy.npz"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(copy, status.message);
    TEST_ASSERT_EQUAL_STRING("dog", copy->class_names[1]);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){0, 1, 1, -1}), copy->groups[CP_IMAGES_TRAIN], 4);
    cp_images_free(copy);
}

static void an_array_of_class_names_gives_their_order(void) {
    static const char *const names[] = {"dog", "ca\033t"};
    begin();
    add_images("train_images", 0, 2), add_others(), add_numbers("train_labels", 2, (int32_t[]){0, 1});
    cp_npz_writer_add_texts(file, "class_names", 2, names);
    loads(false);
    TEST_ASSERT_EQUAL_STRING("ca?t", images->class_names[1]);
    begin();
    add_images("train_images", 0, 2), add_others(), add_numbers("train_labels", 2, (int32_t[]){0, 1});
    cp_npz_writer_add_texts(file, "class_names", 1, names); /* too few are no names */
    loads(false);
    TEST_ASSERT_NULL(images->class_names);
}

static void text_that_does_not_fit_is_refused(void) {
    begin();
    add_images("train_images", 0, 2), add_others();
    cp_npz_writer_add_texts(file, "train_labels", 2, (const char *const[]){"a", "b"});
    refuses("val_labels is text, or numbers, unlike in another split");
    begin();
    add_images("train_images", 0, 2), add_others();
    cp_npz_writer_add_texts(file, "train_labels", 3, (const char *const[]){"a", "b", "b"});
    refuses("train_labels has shape (3,); one text an image is expected, (2) or (2, 1)");
    begin();
    add_images("train_images", 0, 1), add_images("val_images", 6, 1), add_images("test_images", 8, 1);
    cp_npz_writer_add_texts(file, "train_labels", 1, (const char *const[]){"a"});
    cp_npz_writer_add_texts(file, "val_labels", 1, (const char *const[]){"b"});
    cp_npz_writer_add_texts(file, "test_labels", 1, (const char *const[]){"b"});
    cp_npz_writer_add_texts(file, "class_names", 1, (const char *const[]){"a"});
    refuses("there is a label \"b\", which class_names does not have");
}

/* ---- missing splits ---- */

static void a_missing_split_is_refused_with_what_to_do(void) {
    begin();
    add_images("train_images", 0, 2), add_numbers("train_labels", 2, (int32_t[]){0, 1});
    refuses("has no array val_images; couplet import");
}

static void a_set_may_have_only_one_split_where_that_is_enough(void) {
    begin();
    add_images("test_images", 8, 2);
    cp_npz_writer_add_texts(file, "test_patients", 2, (const char *const[]){"C", "A"});
    loads(true);
    TEST_ASSERT_EQUAL_INT(0, images->set->splits[CP_IMAGES_TRAIN].count);
    TEST_ASSERT_EQUAL_INT(2, images->set->splits[CP_IMAGES_TEST].count);
    TEST_ASSERT_NULL(images->set->splits[CP_IMAGES_TEST].labels);
    begin();
    cp_npz_writer_add(file, "val_x", CP_F64, 2, (int64_t[]){2, 1}, (double[]){1, 3});
    add_numbers("val_labels", 2, (int32_t[]){0, 1});
    loads(true);
    TEST_ASSERT_EQUAL_FLOAT(-1, ((const float *)images->set->splits[CP_IMAGES_VAL].inputs)[0]);
    TEST_ASSERT_TRUE_MESSAGE(cp_images_write(images, scratch("copy.npz"), &status), status.message);
    begin();
    add_numbers("test_labels", 2, (int32_t[]){0, 1});
    load(true);
    TEST_ASSERT_NULL(images);
    says(&status, "has no array train_images");
}

/* ---- what is suspicious ---- */

static void images_of_unknown_patients_are_not_those_of_one(void) {
    for (int named = 0; named < 2; named++) {
        begin();
        add_images("train_images", 0, 4), add_images("val_images", 6, 1), add_images("test_images", 7, 3);
        add_numbers("train_labels", 4, (int32_t[]){0, 1, 0, 1}), add_numbers("val_labels", 1, (int32_t[]){0});
        add_numbers("test_labels", 3, (int32_t[]){0, 1, 1});
        cp_npz_writer_add_texts(file, "val_patients", 1, (const char *const[]){""});
        cp_npz_writer_add_texts(file, "test_patients", 3, (const char *const[]){"", named ? "A" : "", ""});
        loads(false);
        TEST_ASSERT_EQUAL_INT(-1, images->groups[CP_IMAGES_VAL][0]);
        TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){-2, named ? 0 : -3, named ? -3 : -4}), images->groups[CP_IMAGES_TEST], 3);
    }
}

static void patients_and_copies_in_two_splits_are_found(void) {
    cp_set_check check;
    begin();
    memcpy(pixels[9], pixels[1], 4), memcpy(pixels[8], pixels[1], 4);
    add_images("train_images", 0, 4), add_others(), add_numbers("train_labels", 4, (int32_t[]){0, 1, 0, 1});
    add_numbers("train_patients", 4, (int32_t[]){7, 7, 8, -1});
    add_numbers("val_patients", 2, (int32_t[]){8, 9}), add_numbers("test_patients", 2, (int32_t[]){-1, 9});
    loads(false);
    TEST_ASSERT_TRUE(cp_images_check(images, &check, &status));
    TEST_ASSERT_EQUAL_INT(3, check.count);
    TEST_ASSERT_EQUAL_STRING("1 patient is in train and in val, such as 8", check.lines[0]);
    TEST_ASSERT_EQUAL_STRING("1 patient is in val and in test, such as 9", check.lines[1]);
    TEST_ASSERT_EQUAL_STRING("2 of the 2 rows of test are copies of some of train, such as row 0 of row 1", check.lines[2]);
}

/* Also when the first of them are in the training split. */
static void what_is_in_all_splits_is_found_in_every_two(void) {
    cp_set_check check;
    begin();
    memcpy(pixels[9], pixels[1], 4), memcpy(pixels[6], pixels[1], 4);
    add_images("train_images", 0, 4), add_others(), add_numbers("train_labels", 4, (int32_t[]){0, 1, 0, 1});
    add_numbers("train_patients", 4, (int32_t[]){7, 7, 8, 7});
    add_numbers("val_patients", 2, (int32_t[]){7, 7}), add_numbers("test_patients", 2, (int32_t[]){9, 7});
    loads(false);
    TEST_ASSERT_TRUE(cp_images_check(images, &check, &status));
    TEST_ASSERT_EQUAL_INT(6, check.count);
    TEST_ASSERT_EQUAL_STRING("1 patient is in val and in test, such as 7", check.lines[2]);
    TEST_ASSERT_EQUAL_STRING("1 of the 2 rows of test is a copy of one of val, such as row 1 of row 0", check.lines[5]);
}

static void a_sound_set_gives_no_warning(void) {
    cp_set_check check;
    begin();
    add_images("train_images", 0, 4), add_others(), add_numbers("train_labels", 4, (int32_t[]){0, 1, 0, 1});
    loads(false);
    TEST_ASSERT_TRUE(cp_images_check(images, &check, &status));
    cp_images_check_classes(images, &check);
    TEST_ASSERT_EQUAL_INT(0, check.count);
}

static void rare_and_missing_classes_and_splits_are_found(void) {
    cp_set_check check = {.count = 0};
    int32_t      labels[12] = {1};
    uint8_t      many[12][4];
    memset(many, 3, sizeof many);
    begin();
    cp_npz_writer_add(file, "train_images", CP_U8, 3, (int64_t[]){12, 2, 2}, many);
    add_numbers("train_labels", 12, labels);
    loads(true);
    cp_images_check_classes(images, &check);
    TEST_ASSERT_EQUAL_INT(3, check.count);
    TEST_ASSERT_EQUAL_STRING("there is no val split; a training needs all three, and couplet import makes them", check.lines[0]);
    TEST_ASSERT_EQUAL_STRING("class 0 has 11 labeled training rows, class 1 has 1: look at the balanced accuracy", check.lines[2]);
    begin();
    add_images("train_images", 0, 2), add_others(), add_numbers("train_labels", 2, (int32_t[]){0, 0});
    loads(true);
    check.count = 0;
    cp_images_check_classes(images, &check);
    TEST_ASSERT_EQUAL_STRING("class 1 has no labeled training rows", check.lines[0]);
}

/* ---- names ---- */

static void names_are_numbered_and_sorted(void) {
    cp_names names = {0};
    for (int i = 0; i < 3000; i++) {
        char text[20];
        snprintf(text, sizeof text, "%d", (2999 - i) * 7);
        TEST_ASSERT_EQUAL_INT(i, cp_names_add(&names, text));
        TEST_ASSERT_EQUAL_INT(i, cp_names_add(&names, text));
    }
    int *numbers = cp_names_sort(&names, true);
    for (int i = 0; i < 3000; i++) TEST_ASSERT_EQUAL_INT(2999 - i, numbers[i]);
    TEST_ASSERT_EQUAL_STRING("14", names.at[2]);
    TEST_ASSERT_EQUAL_INT(2, cp_names_add(&names, "14"));
    free(numbers);
    cp_names_free(&names);
    TEST_ASSERT_EQUAL_INT(0, cp_names_add(&names, "10"));
    TEST_ASSERT_EQUAL_INT(1, cp_names_add(&names, "9"));
    TEST_ASSERT_EQUAL_INT(2, cp_names_add(&names, "x"));
    numbers = cp_names_sort(&names, true); /* by their bytes, since one is no number */
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){0, 1, 2}), numbers, 3);
    free(numbers);
    cp_names_free(&names);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(training_rows_may_be_without_a_label);
    RUN_TEST(unlabeled_rows_may_be_in_an_array_of_their_own);
    RUN_TEST(other_splits_need_labels_and_training_needs_every_class);
    RUN_TEST(classes_and_patients_may_be_text);
    RUN_TEST(an_array_of_class_names_gives_their_order);
    RUN_TEST(text_that_does_not_fit_is_refused);
    RUN_TEST(a_missing_split_is_refused_with_what_to_do);
    RUN_TEST(a_set_may_have_only_one_split_where_that_is_enough);
    RUN_TEST(images_of_unknown_patients_are_not_those_of_one);
    RUN_TEST(patients_and_copies_in_two_splits_are_found);
    RUN_TEST(what_is_in_all_splits_is_found_in_every_two);
    RUN_TEST(a_sound_set_gives_no_warning);
    RUN_TEST(rare_and_missing_classes_and_splits_are_found);
    RUN_TEST(names_are_numbered_and_sorted);
    cp_images_free(images);
    return UNITY_END();
}
