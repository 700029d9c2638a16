/* Image sets from files in MedMNIST's layout: what is accepted, how pixels are scaled, what is refused with which message,
 * and copies. The program is linked with -Wl,--wrap for the memory calls, to make them fail. */
#include "experiments/kit/data/images.h"

#include "core/io/npz.h"

#include "core/scratch.h"
#include "support/wrapped_memory.h"
#include "tests/support/errors.h"

#include <math.h>

enum { TRAIN, VAL, TEST, LABELS = 6, ARRAYS = 9, MAX = 2048 };

/* The file to write: an array without a name is left out. */
typedef struct array {
    const char *name;
    cp_dtype    dtype;
    int         rank;
    int64_t     dims[CP_NPY_RANK];
    const void *data;
} array;

static uint8_t   bytes[MAX], labels[] = {0, 1, 2, 0, 1, 2};
static float     floats[3][24];
static array     arrays[ARRAYS]; /* images and labels of train, val and test, then arrays added by a test */
static cp_status status;

/* Six images of 2 x 2 gray pixels per split, two of each class. */
void setUp(void) {
    static const char *const names[] = {"train_images", "val_images", "test_images", "train_labels", "val_labels", "test_labels"};
    status = (cp_status){0};
    calls_allowed = -1;
    errors_catch();
    scratch_make();
    memset(arrays, 0, sizeof arrays);
    for (int i = 0; i < MAX; i++) bytes[i] = (uint8_t)(i * 37);
    for (int s = 0; s < 3; s++) {
        arrays[s] = (array){names[s], CP_U8, 3, {6, 2, 2}, bytes + 100 * s};
        arrays[3 + s] = (array){names[3 + s], CP_U8, 2, {6, 1}, labels};
    }
}

void tearDown(void) {
    calls_allowed = -1;
    scratch_remove();
    errors_release();
}

static void write_set(void) {
    cp_npz_writer *w = cp_npz_writer_new(scratch("set.npz"), &status);
    for (int i = 0; i < ARRAYS; i++)
        if (arrays[i].name) cp_npz_writer_add(w, arrays[i].name, arrays[i].dtype, arrays[i].rank, arrays[i].dims, arrays[i].data);
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
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "set.npz"), status.message);
    says(&status, part);
}

static void set_images(cp_dtype dtype, int rank, const int64_t *dims) {
    for (int s = 0; s < 3; s++) {
        arrays[s].dtype = dtype;
        arrays[s].rank = rank;
        memcpy(arrays[s].dims, dims, (size_t)rank * sizeof *dims);
    }
}

/* The images as float32: numbers from `min` to `max` in equal steps, the same in all splits. */
static void set_floats(double min, double max) {
    set_images(CP_F32, 3, (int64_t[]){6, 2, 2});
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < 24; i++) floats[s][i] = (float)(min + (max - min) * i / 23);
        arrays[s].data = floats[s];
    }
}

static double pixel(const cp_images *images, int split, int place) {
    return (double)((const float *)images->set->splits[split].inputs)[place];
}

/* ---- what is taken ---- */

static void bytes_stay_bytes(void) {
    cp_images *images = load();
    TEST_ASSERT_TRUE(images->set->dtype == CP_U8 && images->stored == CP_U8 && images->set->split_count == CP_IMAGES_SPLITS);
    TEST_ASSERT_TRUE(images->height == 2 && images->width == 2 && images->channels == 1 && images->classes == 3);
    TEST_ASSERT_EQUAL_STRING("set", images->name);
    TEST_ASSERT_EQUAL_STRING("set", images->set->name);
    TEST_ASSERT_EQUAL_STRING("uint8 in [0, 255], x / 127.5 - 1", cp_images_scaling(images).s);
    for (int s = 0; s < 3; s++) {
        const cp_split *split = &images->set->splits[s];
        TEST_ASSERT_EQUAL_STRING(cp_images_splits[s], split->name);
        TEST_ASSERT_EQUAL_INT(6, split->count);
        TEST_ASSERT_EQUAL_UINT8_ARRAY(bytes + 100 * s, split->inputs, 24);
        for (int i = 0; i < 6; i++) TEST_ASSERT_EQUAL_INT(labels[i], split->labels[i]);
        TEST_ASSERT_NULL(images->groups[s]);
    }
    cp_images_free(images);
}

static void a_user_file_is_not_the_official_one_and_has_its_md5(void) {
    cp_images *images = load();
    TEST_ASSERT_FALSE(images->official);
    TEST_ASSERT_EQUAL_STRING("your own file", cp_images_origin(images));
    strcpy(images->name, "bloodmnist_rebuilt"); /* such a name claims more */
    TEST_ASSERT_EQUAL_STRING("not the official file", cp_images_origin(images));
    TEST_ASSERT_EQUAL_UINT64(32, strspn(images->md5, "0123456789abcdef"));
    TEST_ASSERT_NULL(images->class_names);
    cp_images_free(images);
}

static void images_may_have_any_size_and_up_to_four_channels(void) {
    static const int64_t shapes[][4] = {{6, 5, 7, 1}, {6, 1, 1, 2}, {6, 3, 1, 3}, {6, 2, 9, 4}};
    for (int i = 0; i < 4; i++) {
        set_images(CP_U8, 4, shapes[i]);
        cp_images *images = load();
        TEST_ASSERT_TRUE(images->height == shapes[i][1] && images->width == shapes[i][2] && images->channels == shapes[i][3]);
        TEST_ASSERT_EQUAL_UINT8_ARRAY(bytes + 200, images->set->splits[TEST].inputs, images->set->values * 6);
        cp_images_free(images);
    }
}

static void splits_may_have_different_numbers_of_images(void) {
    arrays[VAL].dims[0] = arrays[3 + VAL].dims[0] = 1;
    cp_images *images = load();
    TEST_ASSERT_EQUAL_INT(1, images->set->splits[VAL].count);
    TEST_ASSERT_EQUAL_INT(6, images->set->splits[TEST].count);
    cp_images_free(images);
}

static void labels_may_be_whole_numbers_of_any_type(void) {
    static const int64_t  wide[] = {2, 1, 0, 0, 1, 2};
    static const int16_t  narrow[] = {2, 1, 0, 0, 1, 2};
    static const double   real[] = {2, 1, 0, 0, 1, 2};
    static const uint64_t large[] = {2, 1, 0, 0, 1, 2};
    const array           types[] = {{NULL, CP_I64, 1, {6}, wide},
                                     {NULL, CP_I16, 2, {6, 1}, narrow},
                                     {NULL, CP_F64, 1, {6}, real},
                                     {NULL, CP_U64, 1, {6}, large}};
    for (int i = 0; i < 4; i++) {
        for (int s = 0; s < 3; s++) {
            const char *name = arrays[3 + s].name;
            arrays[3 + s] = types[i];
            arrays[3 + s].name = name;
        }
        cp_images *images = load();
        for (int k = 0; k < 6; k++) TEST_ASSERT_EQUAL_INT(narrow[k], images->set->splits[VAL].labels[k]);
        cp_images_free(images);
    }
}

static void patients_are_kept_as_groups(void) {
    static const int32_t patients[] = {7, 7, 7, 8, 8, 9};
    arrays[LABELS] = (array){"test_patients", CP_I32, 1, {6}, patients};
    cp_images *images = load();
    TEST_ASSERT_NULL(images->groups[TRAIN]);
    TEST_ASSERT_EQUAL_INT_ARRAY(patients, images->groups[TEST], 6);
    cp_images_free(images);
    arrays[LABELS].dims[0] = 5;
    refuses("test_patients has shape (5,); one number an image is expected, (6) or (6, 1)");
}

static void other_arrays_are_ignored(void) {
    arrays[LABELS] = (array){"notes", CP_F64, 1, {2}, (double[]){1, 2}};
    cp_images_free(load());
}

/* ---- scaling ---- */

static void scales(double min, double max, double low, double high, const char *text) {
    set_floats(min, max);
    cp_images *images = load();
    TEST_ASSERT_TRUE(images->set->dtype == CP_F32 && images->stored == CP_F32 && images->clamped == 0);
    TEST_ASSERT_EQUAL_STRING(text, cp_images_scaling(images).s);
    for (int i = 0; i < 24; i++) {
        double expected = 2 * ((double)floats[TRAIN][i] - low) / (high - low) - 1;
        TEST_ASSERT_TRUE(fabs(pixel(images, TRAIN, i) - expected) < 1e-6);
        TEST_ASSERT_TRUE(pixel(images, TRAIN, i) == pixel(images, TEST, i));
    }
    cp_images_free(images);
}

static void floats_are_scaled_by_the_range_of_the_training_images(void) {
    scales(-1, 1, -1, 1, "float32 in [-1, 1], as they are");
    scales(-0.25, 0.5, -1, 1, "float32 in [-1, 1], as they are");
    scales(0, 1, 0, 1, "float32 in [0, 1], 2 x - 1");
    scales(0.25, 0.5, 0, 1, "float32 in [0, 1], 2 x - 1");
    scales(0, 255, 0, 255, "float32 in [0, 255], x / 127.5 - 1");
    scales(0.5, 1.5, 0, 255, "float32 in [0, 255], x / 127.5 - 1");
    scales(-3, 5, -3, 5, "float32, from the training split's [-3, 5] to [-1, 1]");
    scales(0, 4095, 0, 4095, "float32, from the training split's [0, 4095] to [-1, 1]");
}

static void pixels_beyond_the_training_range_are_clamped_and_counted(void) {
    set_floats(0, 1);
    floats[VAL][3] = 1.5f, floats[TEST][4] = -7, floats[TEST][5] = 2;
    cp_images *images = load();
    TEST_ASSERT_EQUAL_UINT64(3, images->clamped);
    TEST_ASSERT_TRUE(pixel(images, VAL, 3) == 1 && pixel(images, TEST, 4) == -1 && pixel(images, TEST, 5) == 1);
    cp_images_free(images);
}

static void other_types_of_pixels_are_scaled_by_their_range(void) {
    static const uint16_t deep[24] = {0, 1000, 4095, 2000};
    static const int16_t  hounsfield[24] = {-1000, 0, 1000, 500};
    static const uint8_t  yes[24] = {0, 1, 1};
    static const double   huge[24] = {-1.5e308, 0, 1.5e308};
    const array           types[] = {{NULL, CP_U16, 3, {6, 2, 2}, deep},
                                     {NULL, CP_I16, 3, {6, 2, 2}, hounsfield},
                                     {NULL, CP_BOOL, 3, {6, 2, 2}, yes},
                                     {NULL, CP_F64, 3, {6, 2, 2}, huge}};
    static const double   second[] = {-1 + 2000.0 / 4095, 0, 1, 0}, third[] = {1, 1, 1, 1};
    for (int i = 0; i < 4; i++) {
        for (int s = 0; s < 3; s++) {
            const char *name = arrays[s].name;
            arrays[s] = types[i];
            arrays[s].name = name;
        }
        cp_images *images = load();
        TEST_ASSERT_TRUE(fabs(pixel(images, TRAIN, 1) - second[i]) < 1e-6 && pixel(images, TRAIN, 2) == third[i]);
        cp_images_free(images);
    }
}

static void pixels_that_are_not_finite_are_refused_with_split_and_row(void) {
    set_floats(0, 1);
    floats[TRAIN][9] = NAN;
    refuses("train_images has a pixel that is nan in row 2");
    floats[TRAIN][9] = 0;
    floats[TEST][23] = INFINITY;
    refuses("test_images has a pixel that is inf in row 5");
}

static void images_of_one_color_are_refused(void) {
    set_floats(300, 300);
    refuses("all pixels of the training images are 300");
}

/* ---- what is refused ---- */

static void a_missing_array_is_reported_with_the_existing_ones(void) {
    arrays[3 + VAL].name = "valid_labels";
    refuses("has no array val_labels; an image set has {train,val,test}_images and {train,val,test}_labels, this file has "
            "train_images");
    for (int i = 0; i < LABELS; i++) arrays[i].name = NULL;
    refuses("this file has none");
}

static void shapes_that_are_not_images_are_reported(void) {
    set_images(CP_U8, 2, (int64_t[]){6, 4});
    refuses("train_images has shape (6, 4); images are (N, H, W) or (N, H, W, C)");
    set_images(CP_U8, 4, (int64_t[]){6, 5, 5, 5});
    refuses(
        "train_images has shape (6, 5, 5, 5); images are (N, H, W) or (N, H, W, C), the channels last and 1 to 4 of them; volumes");
    set_images(CP_U8, 5, (int64_t[]){6, 2, 2, 2, 1});
    refuses("train_images has shape (6, 2, 2, 2, 1); images are");
    set_images(CP_U8, 4, (int64_t[]){6, 2, 2, 0});
    refuses("train_images has shape (6, 2, 2, 0)");
    set_images(CP_U8, 3, (int64_t[]){6, 0, 2});
    refuses("train_images has shape (6, 0, 2)");
}

static void splits_with_different_images_are_reported(void) {
    arrays[VAL].dims[1] = 3;
    refuses("val_images has shape (6, 3, 2); the training images are 2 x 2 with 1 channel");
    arrays[VAL].dims[1] = 2;
    arrays[TEST].dtype = CP_I8;
    refuses("test_images has elements of type int8, but train_images uint8");
}

static void an_empty_split_is_refused(void) {
    arrays[TEST].dims[0] = arrays[3 + TEST].dims[0] = 0;
    refuses("test_images has shape (0, 2, 2); every split needs images");
}

static void labels_that_do_not_match_the_images_are_reported(void) {
    arrays[3 + TEST].dims[0] = 5;
    refuses("test_labels has shape (5, 1); one number an image is expected, (6) or (6, 1)");
    arrays[3 + TEST] = (array){"test_labels", CP_U8, 2, {6, 14}, bytes};
    refuses("test_labels has shape (6, 14); several labels an image are not supported");
    arrays[3 + TEST] = (array){"test_labels", CP_U8, 0, {0}, labels};
    refuses("test_labels has shape (); one number an image");
}

static void wrong_labels_are_reported_with_their_row(void) {
    double values[6] = {0, 1, 2, 0, 1, 2};
    arrays[3 + VAL] = (array){"val_labels", CP_F64, 1, {6}, values};
    values[4] = 0.5;
    refuses("val_labels");
    values[4] = -1;
    refuses("val_labels has label -1 in row 4; classes are numbered 0, 1, ...");
    values[4] = 1000;
    refuses("val_labels has label 1000 in row 4");
    values[4] = NAN;
    refuses("val_labels");
    values[4] = 1e300;
    refuses("val_labels");
    values[4] = 4;
    refuses("no training image has class 3, but labels reach from 0 to 4");
}

static void one_class_is_not_enough(void) {
    static const uint8_t none[6];
    for (int s = 0; s < 3; s++) arrays[3 + s].data = none;
    refuses("all labels are 0; at least two classes are needed");
}

static void files_other_than_npz_are_reported(void) {
    scratch_write("set.npz", "hello", 5);
    TEST_ASSERT_NULL(cp_images_load(scratch("set.npz"), &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_DAMAGED, status.kind);
    says(&status, "set.npz");
    TEST_ASSERT_NULL(cp_images_load(scratch("nowhere.npz"), &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
    says(&status, "nowhere.npz");
}

static void a_lack_of_memory_is_reported_at_every_allocation(void) {
    set_floats(-3, 5);
    write_set();
    for (long allowed = 0;; allowed++) {
        TEST_ASSERT_TRUE(allowed < 1000);
        calls_allowed = allowed;
        cp_images *images = cp_images_load(scratch("set.npz"), &status);
        calls_allowed = -1;
        if (images) {
            cp_images_free(images);
            return;
        }
        says(&status, "memory");
    }
}

/* ---- copies ---- */

static void a_written_set_is_read_back(void) {
    static const int32_t patients[] = {7, 7, 7, 8, 8, 9};
    arrays[LABELS] = (array){"val_patients", CP_I32, 1, {6}, patients};
    for (int real = 0; real < 2; real++) {
        if (real) set_floats(-3, 5);
        cp_images *images = load(), *copy = NULL;
        TEST_ASSERT_TRUE_MESSAGE(cp_images_write(images, scratch("copy.npz"), &status), status.message);
        copy = cp_images_load(scratch("copy.npz"), &status);
        TEST_ASSERT_NOT_NULL_MESSAGE(copy, status.message);
        TEST_ASSERT_TRUE(copy->low == images->low && copy->high == images->high && copy->classes == 3);
        for (int s = 0; s < 3; s++) {
            const cp_split *a = &images->set->splits[s], *b = &copy->set->splits[s];
            TEST_ASSERT_EQUAL_INT_ARRAY(a->labels, b->labels, 6);
            for (int i = 0; i < 24 && real; i++) TEST_ASSERT_TRUE(fabs(pixel(images, s, i) - pixel(copy, s, i)) < 1e-6);
            if (!real) TEST_ASSERT_EQUAL_UINT8_ARRAY(a->inputs, b->inputs, 24);
        }
        TEST_ASSERT_EQUAL_INT_ARRAY(patients, copy->groups[VAL], 6);
        TEST_ASSERT_NULL(copy->groups[TRAIN]);
        cp_images_free(images), cp_images_free(copy);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(bytes_stay_bytes);
    RUN_TEST(a_user_file_is_not_the_official_one_and_has_its_md5);
    RUN_TEST(images_may_have_any_size_and_up_to_four_channels);
    RUN_TEST(splits_may_have_different_numbers_of_images);
    RUN_TEST(labels_may_be_whole_numbers_of_any_type);
    RUN_TEST(patients_are_kept_as_groups);
    RUN_TEST(other_arrays_are_ignored);
    RUN_TEST(floats_are_scaled_by_the_range_of_the_training_images);
    RUN_TEST(pixels_beyond_the_training_range_are_clamped_and_counted);
    RUN_TEST(other_types_of_pixels_are_scaled_by_their_range);
    RUN_TEST(pixels_that_are_not_finite_are_refused_with_split_and_row);
    RUN_TEST(images_of_one_color_are_refused);
    RUN_TEST(a_missing_array_is_reported_with_the_existing_ones);
    RUN_TEST(shapes_that_are_not_images_are_reported);
    RUN_TEST(splits_with_different_images_are_reported);
    RUN_TEST(an_empty_split_is_refused);
    RUN_TEST(labels_that_do_not_match_the_images_are_reported);
    RUN_TEST(wrong_labels_are_reported_with_their_row);
    RUN_TEST(one_class_is_not_enough);
    RUN_TEST(files_other_than_npz_are_reported);
    RUN_TEST(a_lack_of_memory_is_reported_at_every_allocation);
    RUN_TEST(a_written_set_is_read_back);
    return UNITY_END();
}
