/* The built-in set of images, sheets of sets, and the list of MedMNIST's files. */
#include "core/io/deflate.h"
#include "core/threads.h"
#include "experiments/kit/data/medmnist.h"
#include "experiments/kit/data/sheet.h"
#include "experiments/kit/figure/figure.h"

#include "core/scratch.h"

enum { VALUES = CP_PHANTOM_SIZE * CP_PHANTOM_SIZE * CP_PHANTOM_CHANNELS, FEW = 50 };

static cp_status status;

void setUp(void) {
    status = (cp_status){0};
    scratch_make();
}

void tearDown(void) {
    cp_threads_set(0);
    scratch_remove();
}

/* ---- phantom ---- */

static void phantom_has_three_splits_of_bytes_in_four_classes(void) {
    cp_images *images = cp_images_load("phantom", &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(images, status.message);
    TEST_ASSERT_TRUE(images->set->dtype == CP_U8 && images->height == 28 && images->width == 28 && images->channels == 3);
    TEST_ASSERT_EQUAL_INT(4, images->classes);
    TEST_ASSERT_EQUAL_STRING("phantom", images->name);
    TEST_ASSERT_EQUAL_STRING("built in", cp_images_origin(images));
    TEST_ASSERT_TRUE(!*images->md5 && !images->official && strcmp(images->class_names[3], "band") == 0);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        const cp_split *split = &images->set->splits[s];
        int             counts[CP_PHANTOM_CLASSES];
        TEST_ASSERT_EQUAL_INT(cp_phantom_counts[s], split->count);
        cp_split_class_counts(split, counts);
        for (int c = 0; c < CP_PHANTOM_CLASSES; c++)
            TEST_ASSERT_TRUE(counts[c] > split->count / 5 && counts[c] < split->count * 3 / 10);
    }
    cp_images_free(images);
}

/* Results are compared between machines and versions; these are the pixels and labels that they depend on. */
static void phantom_is_the_same_everywhere(void) {
    cp_images *images = cp_images_load("phantom", &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(images, status.message);
    static const uint32_t pixels[] = {0x8a61f6a0, 0xe1660227, 0x00b84a00}, labels[] = {0x7015409c, 0xed62ba30, 0x592b8130};
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        const cp_split *split = &images->set->splits[s];
        uint32_t        sum = 0;
        for (int i = 0; i < split->count; i++) sum = sum * 31 + (uint32_t)split->labels[i];
        TEST_ASSERT_EQUAL_HEX32(pixels[s], cp_crc32(0, split->inputs, (size_t)split->count * VALUES));
        TEST_ASSERT_EQUAL_HEX32(labels[s], sum);
    }
    cp_images_free(images);
}

static void an_image_does_not_depend_on_how_many_are_drawn_or_by_how_many_threads(void) {
    static uint8_t few[FEW * VALUES], more[2 * FEW * VALUES];
    int            few_labels[FEW], more_labels[2 * FEW];
    cp_threads_set(1);
    cp_phantom_draw("val", FEW, few, few_labels);
    cp_threads_set(3);
    cp_phantom_draw("val", 2 * FEW, more, more_labels);
    TEST_ASSERT_EQUAL_UINT8_ARRAY(few, more, FEW * VALUES);
    TEST_ASSERT_EQUAL_INT_ARRAY(few_labels, more_labels, FEW);
    cp_phantom_draw("test", FEW, few, few_labels);
    TEST_ASSERT_TRUE(memcmp(few, more, sizeof few) != 0);
}

/* ---- MedMNIST's list ---- */

static void official_files_are_recognized_by_their_md5(void) {
    bool before = true;
    TEST_ASSERT_EQUAL_STRING("pneumoniamnist", cp_medmnist_of_md5("28209eda62fecd6e6a2d98b1501bb15f", &before)->name);
    TEST_ASSERT_FALSE(before);
    TEST_ASSERT_EQUAL_STRING("organsmnist", cp_medmnist_of_md5("e5c39f1af030238290b9557d9503af9d", &before)->name);
    TEST_ASSERT_TRUE(before);
    TEST_ASSERT_NULL(cp_medmnist_of_md5("", &before));
    TEST_ASSERT_FALSE(before);
    TEST_ASSERT_NULL(cp_medmnist_find("chestmnist"));
}

static void the_list_is_complete(void) {
    for (int i = 0; i < CP_MEDMNIST_SETS; i++) {
        const cp_medmnist *set = &cp_medmnist_sets[i];
        bool               before;
        TEST_ASSERT_TRUE(strlen(set->md5) == 32 && strspn(set->md5, "0123456789abcdef") == 32);
        TEST_ASSERT_TRUE(cp_medmnist_of_md5(set->md5, &before) == set && cp_medmnist_find(set->name) == set);
        for (int c = 0; c < set->classes; c++) TEST_ASSERT_TRUE(*set->class_names[c]);
    }
}

/* A fake curl that downloads the word "cells", whose md5 is known. */
static void a_file_with_the_right_md5_gets_its_name_and_is_not_fetched_again(void) {
    static const char script[] = "#!/bin/sh\nprintf cells >\"$4\"\n";
    cp_medmnist       set = {.name = "cellsmnist", .md5 = "5c203840dfcdf51dd7e33a72ea2f484f"};
    bool              already = true;
    char              path[600], before[4096];
    const char       *usual = getenv("PATH");
    snprintf(before, sizeof before, "%s", usual ? usual : "");
    snprintf(path, sizeof path, "%s", scratch_folder);
    scratch_write("curl", script, strlen(script));
    TEST_ASSERT_EQUAL_INT(0, chmod(scratch("curl"), 0700));
    setenv("PATH", path, 1);
    bool fetched = cp_medmnist_fetch(&set, scratch("cellsmnist.npz"), &already, &status);
    setenv("PATH", before, 1);
    TEST_ASSERT_TRUE_MESSAGE(fetched, status.message);
    TEST_ASSERT_FALSE(already);
    scratch_holds("cellsmnist.npz", "cells", 5);
    TEST_ASSERT_EQUAL_INT(2, scratch_files(false));
    TEST_ASSERT_EQUAL_INT(0, remove(scratch("curl")));
    TEST_ASSERT_TRUE_MESSAGE(cp_medmnist_fetch(&set, scratch("cellsmnist.npz"), &already, &status), status.message);
    TEST_ASSERT_TRUE(already);
    set.md5_before_2024 = set.md5;
    set.md5 = "00000000000000000000000000000000";
    TEST_ASSERT_FALSE(cp_medmnist_fetch(&set, scratch("cellsmnist.npz"), &already, &status));
    says(&status, "is not the official file of today but that from before 2024");
}

/* ---- sheets ---- */

/* Six images of 2 x 2 in three classes. */
static cp_images *make_set(cp_dtype dtype, int channels) {
    static const float   floats[24];
    static const uint8_t bytes[96];
    static const int     labels[] = {0, 1, 2, 0, 1, 2};
    static cp_images     images;
    images = (cp_images){.height = 2, .width = 2, .channels = channels, .classes = 3};
    images.set = cp_dataset_new((cp_dataset_config){.dtype = dtype, .shape = CP_SHAPE(2, 2, channels), .classes = 3});
    const void *inputs = dtype == CP_U8 ? (const void *)bytes : floats;
    TEST_ASSERT_TRUE(cp_dataset_add(images.set, (cp_split_config){"train", 6, inputs, labels, false}, &status));
    return &images;
}

static void sheet_has(const cp_images *images, int columns, uint32_t width, uint32_t height) {
    cp_bytes png = {0};
    TEST_ASSERT_TRUE_MESSAGE(
        cp_images_sheet(images, CP_IMAGES_TRAIN, &(cp_sheet_plan){1, columns, false}, scratch("sheet.png"), &status),
        status.message);
    TEST_ASSERT_TRUE(cp_file_read(scratch("sheet.png"), 1 << 20, &png, &status));
    const unsigned char *at = (const unsigned char *)png.data + 16;
    TEST_ASSERT_EQUAL_UINT32(width, (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
    TEST_ASSERT_EQUAL_UINT32(height, (uint32_t)at[4] << 24 | (uint32_t)at[5] << 16 | (uint32_t)at[6] << 8 | at[7]);
    TEST_ASSERT_EQUAL_INT(1, scratch_files(false));
    cp_bytes_free(&png);
    cp_dataset_free(images->set);
}

/* Tiles of 2 x 2 are enlarged 32 times, with gaps of 32, beside the names of the classes; there are only two images per class. */
static void a_sheet_has_a_row_for_each_class(void) {
    enum { NAMES = 2 * 32 + 2 * 38 }; /* "class 0" is 38 pixels wide, each twice as large */
    sheet_has(make_set(CP_U8, 1), 1, NAMES + 64, 3 * 96 - 32);
    sheet_has(make_set(CP_U8, 1), 4, NAMES + 4 * 96 - 32, 3 * 96 - 32);
    sheet_has(make_set(CP_U8, 2), 2, NAMES + 2 * 96 - 32, 3 * 96 - 32);
    sheet_has(make_set(CP_U8, 3), 2, NAMES + 2 * 96 - 32, 3 * 96 - 32);
    sheet_has(make_set(CP_U8, 4), 2, NAMES + 2 * 96 - 32, 3 * 96 - 32);
    sheet_has(make_set(CP_F32, 1), 2, NAMES + 2 * 96 - 32, 3 * 96 - 32);
}

/* One class of 24 images, each of one gray; `shown` has the expected images of a sheet of so many tiles, -1 at the end. */
static void sheet_shows(const int *patients, int tiles, const int *shown) {
    static uint8_t pixels[24 * 4], paper[4] = {150, 150, 150, 150};
    static int     labels[24], groups[24];
    const char    *names[] = {"class 0"};
    cp_image       images[24];
    cp_images      set = {.height = 2, .width = 2, .channels = 1, .classes = 1};
    cp_bytes       found = {0}, expected = {0};
    for (int i = 0; i < 24; i++) memset(pixels + 4 * i, 10 * i, 4), groups[i] = patients ? patients[i] : 0;
    for (int i = 0, left = false; i < tiles; i++) {
        left = left || shown[i] < 0;
        images[i] = (cp_image){2, 2, 1, left ? paper : pixels + (size_t)(4 * shown[i])};
    }
    set.set = cp_dataset_new((cp_dataset_config){.dtype = CP_U8, .shape = CP_SHAPE(2, 2, 1), .classes = 1});
    set.groups[CP_IMAGES_TRAIN] = patients ? groups : NULL;
    TEST_ASSERT_TRUE(cp_dataset_add(set.set, (cp_split_config){"train", 24, pixels, labels, false}, &status));
    TEST_ASSERT_TRUE_MESSAGE(
        cp_images_sheet(&set, CP_IMAGES_TRAIN, &(cp_sheet_plan){1, tiles, true}, scratch("sheet.png"), &status), status.message);
    TEST_ASSERT_TRUE(cp_tiles_write(scratch("expected.png"), &(cp_tiles){tiles, tiles, images, names, NULL}, &status));
    TEST_ASSERT_TRUE(cp_file_read(scratch("sheet.png"), 1 << 20, &found, &status));
    TEST_ASSERT_TRUE(cp_file_read(scratch("expected.png"), 1 << 20, &expected, &status));
    TEST_ASSERT_TRUE(found.size == expected.size && memcmp(found.data, expected.data, found.size) == 0);
    cp_bytes_free(&found), cp_bytes_free(&expected);
    cp_dataset_free(set.set);
}

static void sheets_are_spread_over_patients_and_their_images(void) {
    int large[24], many[24];
    for (int i = 0; i < 24; i++) large[i] = i < 20 ? 7 : i < 23 ? 2 : 5, many[i] = i / 2;
    sheet_shows(NULL, 4, (int[]){3, 9, 15, 21});
    sheet_shows(large, 6, (int[]){20, 22, 23, 5, 15, -1}); /* two images each, but patient 5 has only one */
    sheet_shows(many, 3, (int[]){4, 13, 20});
}

static void a_sheet_that_cannot_be_made_is_reported(void) {
    cp_images *images = make_set(CP_U8, 1);
    TEST_ASSERT_FALSE(cp_images_sheet(images, CP_IMAGES_TRAIN, &(cp_sheet_plan){1, 1 << 30, false}, scratch("sheet.png"), &status));
    says(&status, "would be too large");
    TEST_ASSERT_FALSE(cp_images_sheet(images, CP_IMAGES_TRAIN, &(cp_sheet_plan){1, 0, false}, scratch("sheet.png"), &status));
    says(&status, "0 images");
    TEST_ASSERT_FALSE(
        cp_images_sheet(images, CP_IMAGES_TRAIN, &(cp_sheet_plan){1, 1, false}, scratch("nowhere/sheet.png"), &status));
    says(&status, "nowhere");
    cp_dataset_free(images->set);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(phantom_has_three_splits_of_bytes_in_four_classes);
    RUN_TEST(phantom_is_the_same_everywhere);
    RUN_TEST(an_image_does_not_depend_on_how_many_are_drawn_or_by_how_many_threads);
    RUN_TEST(official_files_are_recognized_by_their_md5);
    RUN_TEST(the_list_is_complete);
    RUN_TEST(a_file_with_the_right_md5_gets_its_name_and_is_not_fetched_again);
    RUN_TEST(a_sheet_has_a_row_for_each_class);
    RUN_TEST(sheets_are_spread_over_patients_and_their_images);
    RUN_TEST(a_sheet_that_cannot_be_made_is_reported);
    return UNITY_END();
}
