/* Image sets that say how they were made, and contact sheets with images from the whole split. */
#include "experiments/kit/data/sheet.h"

#include "core/io/npz.h"
#include "experiments/kit/figure/figure.h"

#include "core/scratch.h"

enum { IMAGES = 21 };

typedef struct array {
    cp_dtype    dtype;
    int64_t     size;
    const void *data;
} array;

static uint8_t   shades[IMAGES * 4], labels[IMAGES]; /* all pixels of image i have the value 10 i; classes alternate */
static array     made;                               /* the array with this name in the file; without data it is left out */
static cp_status status;

static void use_classes(int classes) {
    for (int i = 0; i < IMAGES * 4; i++) shades[i] = (uint8_t)(i / 4 * 10), labels[i / 4] = (uint8_t)(i / 4 % classes);
}

void setUp(void) {
    status = (cp_status){0};
    made = (array){0};
    use_classes(3);
    scratch_make();
}

void tearDown(void) { scratch_remove(); }

static cp_images *load(void) {
    cp_npz_writer *w = cp_npz_writer_new(scratch("set.npz"), &status);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        char name[32];
        snprintf(name, sizeof name, "%s_images", cp_images_splits[s]);
        cp_npz_writer_add(w, name, CP_U8, 3, (int64_t[]){IMAGES, 2, 2}, shades);
        snprintf(name, sizeof name, "%s_labels", cp_images_splits[s]);
        cp_npz_writer_add(w, name, CP_U8, 1, (int64_t[]){IMAGES}, labels);
    }
    if (made.data) cp_npz_writer_add(w, "made", made.dtype, 1, &made.size, made.data);
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(w, &status), status.message);
    cp_images *images = cp_images_load(scratch("set.npz"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(images, status.message);
    return images;
}

static void add_made(const char *text) { made = (array){CP_U8, (int64_t)strlen(text), text}; }

static void a_file_may_say_how_it_was_made_and_name_its_classes(void) {
    add_made("{\"command\": \"brats\", \"class_names\": [\"none\", \"some\", \"all\"]}");
    cp_images *images = load();
    TEST_ASSERT_EQUAL_STRING("brats", cp_json_string(cp_json_get(images->made, "command"), ""));
    TEST_ASSERT_EQUAL_STRING("all", images->class_names[2]);
    TEST_ASSERT_TRUE_MESSAGE(cp_images_write(images, scratch("copy.npz"), &status), status.message);
    cp_images_free(images);
    images = cp_images_load(scratch("copy.npz"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(images, status.message);
    TEST_ASSERT_EQUAL_STRING("some", images->class_names[1]);
    cp_images_free(images);
}

static void other_metadata_are_ignored(void) {
    static const char *const texts[] = {"",
                                        "made",
                                        "[1]",
                                        "{\"class_names\": [\"none\", \"some\"]}",
                                        "{\"class_names\": [\"none\", \"some\", 3]}",
                                        "{\"class_names\": \"none\"}",
                                        "{\"class_names\": [\"none\", \"some\", \"\\u001b[2J\"]}"};
    for (int i = 0; i < 7; i++) {
        add_made(texts[i]);
        cp_images *images = load();
        TEST_ASSERT_NULL(images->class_names);
        TEST_ASSERT_EQUAL_INT(i >= 3, images->made != NULL);
        cp_images_free(images);
    }
    made = (array){CP_F64, 2, (double[]){1, 2}};
    cp_images *images = load();
    TEST_ASSERT_NULL(images->made);
    cp_images_free(images);
}

static void a_sheet_shows_images_from_the_whole_split(void) {
    use_classes(2);
    cp_images  *images = load();
    cp_bytes    spread = {0}, expected = {0};
    uint8_t     tiles[10][4];
    const char *names[] = {"class 0", NULL, NULL, "class 1", NULL};
    cp_image    sheet[10];
    /* Eleven and ten images of the two classes in four cells each: the middle image of each quarter, with an empty row
     * between the classes. */
    static const int shown[] = {2, 8, 12, 18, -1, -1, 3, 7, 13, 17};
    for (int i = 0; i < 10; i++) {
        memset(tiles[i], shown[i] < 0 ? 150 : shown[i] * 10, 4);
        sheet[i] = (cp_image){2, 2, 1, tiles[i]};
    }
    TEST_ASSERT_TRUE_MESSAGE(cp_images_sheet(images, CP_IMAGES_TRAIN, &(cp_sheet_plan){2, 2, true}, scratch("sheet.png"), &status),
                             status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_tiles_write(scratch("expected.png"), &(cp_tiles){10, 2, sheet, names, NULL}, &status),
                             status.message);
    TEST_ASSERT_TRUE(cp_file_read(scratch("sheet.png"), SIZE_MAX, &spread, &status));
    TEST_ASSERT_TRUE(cp_file_read(scratch("expected.png"), SIZE_MAX, &expected, &status));
    TEST_ASSERT_TRUE(spread.size == expected.size && memcmp(spread.data, expected.data, spread.size) == 0);
    cp_bytes_free(&spread), cp_bytes_free(&expected);
    TEST_ASSERT_TRUE_MESSAGE(cp_images_sheet(images, CP_IMAGES_TEST, &(cp_sheet_plan){3, 7, true}, scratch("sheet.png"), &status),
                             status.message);
    TEST_ASSERT_FALSE(cp_images_sheet(images, CP_IMAGES_TEST, &(cp_sheet_plan){0, 7, true}, scratch("sheet.png"), &status));
    cp_images_free(images);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_file_may_say_how_it_was_made_and_name_its_classes);
    RUN_TEST(other_metadata_are_ignored);
    RUN_TEST(a_sheet_shows_images_from_the_whole_split);
    return UNITY_END();
}
