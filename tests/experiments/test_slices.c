/* Slices of volumes: percentiles, the brain, orientation, labels, padding, and files that do not match. The program is
 * linked with -Wl,--wrap for the memory calls, to make them fail. */
#include "experiments/kit/metrics/stats.h"
#include "experiments/kit/volumes/slices.h"

#include "core/random.h"
#include "support/brain_volume.h"
#include "support/wrapped_memory.h"
#include "tests/core/scratch.h"

static cp_status        status;
static cp_slices        slices;
static cp_subject       subject;
static char             paths[CP_SCANS][544];
static brain_volume     head;
static cp_slices_config config;

void setUp(void) {
    status = (cp_status){0};
    slices = (cp_slices){0};
    head = (brain_volume){{24, 30, 16}, {1, 1, 1}, "RAS", 3, 0, 700, false, false};
    config = (cp_slices_config){
        .channels = 1, .scans = {CP_SCAN_FLAIR, CP_SCAN_T1CE}, .size = 20, .tumor = 1, .brain = 0, .low = 1, .high = 99.5};
    scratch_make();
    for (int s = 0; s < CP_SCANS; s++) {
        char name[40];
        snprintf(name, sizeof name, "a_%s.nii", cp_scan_names[s]);
        snprintf(paths[s], sizeof paths[s], "%s", scratch(name));
        subject.paths[s] = paths[s];
    }
    subject.name = "a";
}

void tearDown(void) {
    cp_slices_free(&slices);
    scratch_remove();
}

static void write_scan(cp_scan scan) {
    head.seg = scan == CP_SCAN_SEG;
    TEST_ASSERT_TRUE(brain_write(paths[scan], &head));
}

static void write_pair(void) { write_scan(CP_SCAN_FLAIR), write_scan(CP_SCAN_SEG); }

static void read_slices(void) {
    cp_slices_free(&slices);
    TEST_ASSERT_TRUE_MESSAGE(cp_slices_read(&subject, &config, &slices, &status), status.message);
}

static void refuses(const char *part) {
    cp_slices_free(&slices);
    TEST_ASSERT_FALSE(cp_slices_read(&subject, &config, &slices, &status));
    TEST_ASSERT_TRUE(!slices.pixels && !slices.labels && !slices.levels && slices.count == 0);
    says(&status, part);
}

/* ---- numbers ---- */

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void percentiles_are_numbers_of_their_rank(void) {
    enum { N = 5000 };
    static float values[N], sorted[N];
    cp_rng       rng = cp_rng_named(1, "percentile");
    for (int round = 0; round < 4; round++) {
        int n = round == 0 ? 1 : round == 1 ? 2 : N;
        for (int i = 0; i < n; i++) {
            double x = cp_rng_normal(&rng);
            values[i] = round == 3 ? (float)floor(3 * x) : (float)(x * x * x * 1e4);
        }
        memcpy(sorted, values, sizeof values);
        qsort(sorted, (size_t)n, sizeof *sorted, ascending);
        for (int share = 0; share <= 1000; share++) {
            float found;
            TEST_ASSERT_TRUE(cp_percentile_above(values, (size_t)n, -INFINITY, share / 10.0, &found));
            TEST_ASSERT_TRUE(found == sorted[(size_t)(share / 10.0 / 100 * (n - 1))]);
        }
    }
}

static void percentiles_ignore_values_below_the_limit_or_not_finite(void) {
    const float values[] = {NAN, 3, -1, INFINITY, 2, -INFINITY, 1, 0};
    float       found = 7;
    TEST_ASSERT_TRUE(cp_percentile_above(values, 8, -INFINITY, 0, &found) && found == -1);
    TEST_ASSERT_TRUE(cp_percentile_above(values, 8, -INFINITY, 100, &found) && found == 3);
    TEST_ASSERT_TRUE(cp_percentile_above(values, 8, 1, 0, &found) && found == 2);
    TEST_ASSERT_FALSE(cp_percentile_above(values, 8, 3, 50, &found));
    TEST_ASSERT_FALSE(cp_percentile_above(values, 1, -INFINITY, 50, &found));
    TEST_ASSERT_FALSE(cp_percentile_above(values, 0, -INFINITY, 50, &found));
}

/* The brain is the same whether its surroundings are 0, the minimum of z-scores, noise, or 0 among z-scores. */
static void the_brain_does_not_depend_on_the_background(void) {
    enum { N = 10000, INSIDE = 1700 };
    static float values[N];
    for (int kind = 0; kind < 4; kind++) {
        cp_rng   rng = cp_rng_named(1, "brain");
        cp_brain brain;
        int      right = 0;
        for (int i = 0; i < N; i++) {
            double tissue = 90 + 20 * cp_rng_uniform(&rng), noise = 6 * cp_rng_uniform(&rng);
            double inside = kind == 1 ? tissue / 25 - 4.5 : kind == 3 ? tissue / 10 - 10 : tissue;
            values[i] = (float)(i < INSIDE ? inside : kind == 1 ? -4.5 : kind == 2 ? noise : 0);
        }
        TEST_ASSERT_TRUE(cp_brain_find(values, N, 0, 100, &brain));
        for (int i = 0; i < N; i++) right += (values[i] > brain.threshold) == (i < INSIDE);
        TEST_ASSERT_EQUAL_INT(N, right);
        TEST_ASSERT_TRUE(brain.low < brain.high && brain.low > brain.threshold);
    }
}

static void a_volume_of_one_value_has_no_brain(void) {
    float    same[] = {2, 2, 2, 2}, none[] = {NAN, NAN};
    cp_brain brain;
    TEST_ASSERT_FALSE(cp_brain_find(same, 4, 1, 99, &brain));
    TEST_ASSERT_FALSE(cp_brain_find(none, 2, 1, 99, &brain));
}

/* ---- slices ---- */

static void all_orientations_give_the_same_slices(void) {
    static const char axes[3][3] = {"RL", "AP", "SI"};
    static const int  orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    write_pair();
    cp_slices canonical;
    TEST_ASSERT_TRUE(cp_slices_read(&subject, &config, &canonical, &status));
    TEST_ASSERT_EQUAL_INT(16, canonical.count);
    for (int o = 0; o < 6; o++)
        for (int f = 0; f < 8; f++) {
            char orientation[4] = {axes[orders[o][0]][f & 1], axes[orders[o][1]][f >> 1 & 1], axes[orders[o][2]][f >> 2], 0};
            head.orientation = orientation;
            write_scan(CP_SCAN_FLAIR);
            head.orientation = f % 2 ? "LPS" : orientation; /* the two may differ */
            write_scan(CP_SCAN_SEG);
            read_slices();
            TEST_ASSERT_EQUAL_INT(16, slices.count);
            TEST_ASSERT_EQUAL_MEMORY_MESSAGE(canonical.pixels, slices.pixels, 16 * 20 * 20, orientation);
            TEST_ASSERT_EQUAL_MEMORY(canonical.labels, slices.labels, 16);
        }
    cp_slices_free(&canonical);
}

/* The tumor, the brightest part, is at the patient's right (the image's left) and at the front (the top). */
static void slices_are_upright_with_the_right_at_the_left(void) {
    int brightest = 0, at = 0;
    head.seed = 0;
    write_pair();
    read_slices();
    for (int i = 0; i < slices.count * 400; i++)
        if (slices.pixels[i] > brightest) brightest = slices.pixels[i], at = i % 400;
    TEST_ASSERT_TRUE(at % 20 < 9);
    TEST_ASSERT_TRUE(at / 20 < 9);
    TEST_ASSERT_TRUE(slices.upright > 0.01);
}

static void a_turn_moves_every_pixel_to_the_opposite_position(void) {
    config.channels = 2;
    config.scans[1] = CP_SCAN_T2;
    write_pair();
    write_scan(CP_SCAN_T2);
    read_slices();
    double   upright = slices.upright;
    size_t   bytes = (size_t)slices.count * 800;
    uint8_t *before = malloc(bytes);
    TEST_ASSERT_NOT_NULL(before);
    memcpy(before, slices.pixels, bytes);
    cp_slices_turn(&slices, &config);
    for (int k = 0; k < slices.count; k++)
        for (int i = 0; i < 400; i++)
            TEST_ASSERT_EQUAL_MEMORY(before + 800 * k + 2 * i, slices.pixels + 800 * k + 2 * (399 - i), 2);
    free(before);
    TEST_ASSERT_TRUE(slices.upright == -upright);
}

/* For any size of the images. */
static void a_head_that_is_narrower_at_the_back_is_upside_down(void) {
    write_pair();
    read_slices();
    double upright = slices.upright;
    head.turned = true;
    config.size = 1;
    write_pair();
    read_slices();
    TEST_ASSERT_FLOAT_WITHIN(1e-3f, (float)-upright, (float)slices.upright);
}

/* If the third axis of a file's header points downward by mistake, the annotation belongs to other slices. */
static void a_scan_at_a_different_position_from_the_annotation_is_refused(void) {
    write_pair();
    head.orientation = "RAI";
    write_scan(CP_SCAN_SEG);
    read_slices(); /* written in the opposite direction, but at the same position */
    const float down = -1;
    FILE       *file = fopen(paths[CP_SCAN_SEG], "r+b");
    TEST_ASSERT_NOT_NULL(file);
    head.orientation = "RAS";
    write_scan(CP_SCAN_SEG);
    fseek(file, 280 + 4 * 10, SEEK_SET); /* srow_z[2] */
    fwrite(&down, 4, 1, file);
    fclose(file);
    cp_slices_free(&slices);
    refuses("flair and seg lie in different places by their headers");
}

static void labels_follow_the_number_of_annotated_voxels(void) {
    write_pair();
    read_slices();
    cp_nifti seg;
    TEST_ASSERT_TRUE(cp_nifti_read(paths[CP_SCAN_SEG], &seg, &status));
    int counts[16] = {0}, tumor = 0, largest = 0;
    for (int i = 0; i < 16 * 24 * 30; i++) counts[i / 720] += seg.values[i] != 0;
    cp_nifti_free(&seg);
    for (int z = 0; z < 16; z++) {
        TEST_ASSERT_EQUAL_INT(counts[z] > 0, slices.labels[z]);
        TEST_ASSERT_EQUAL_INT(z, slices.levels[z]);
        tumor += counts[z] > 0;
        if (counts[z] > largest) largest = counts[z];
    }
    TEST_ASSERT_TRUE(tumor > 2 && tumor < 14 && slices.all == 16 && slices.all_tumor == tumor);
    config.tumor = largest;
    read_slices();
    for (int z = 0; z < 16; z++) TEST_ASSERT_EQUAL_INT(counts[z] >= largest, slices.labels[z]);
}

static void slices_with_little_brain_are_left_out(void) {
    write_pair();
    config.brain = 30;
    read_slices();
    TEST_ASSERT_TRUE(slices.count > 2 && slices.count < 14 && slices.all == 16);
    TEST_ASSERT_TRUE(slices.levels[0] > 0 && slices.levels[slices.count - 1] < 15);
    config.brain = 100;
    refuses("no slice consists of 100 % brain or more");
}

/* A slice of 12 x 30 voxels of 2 x 1 millimeters is nearly a square, one of 12 x 30 of 1 x 1 is a narrow one. */
static void slices_become_squares_in_millimeters(void) {
    head.dims[0] = 12;
    config.size = 30;
    write_pair();
    read_slices();
    const uint8_t *middle = slices.pixels + 8 * 900;
    for (int y = 0; y < 30; y++)
        for (int x = 0; x < 30; x++)
            if (x < 9 || x >= 21) TEST_ASSERT_EQUAL_INT(0, middle[30 * y + x]);
    TEST_ASSERT_TRUE(middle[30 * 15 + 12] > 0 && middle[30 * 15 + 17] > 0);
    head.spacing[0] = 2.5;
    write_pair();
    read_slices();
    TEST_ASSERT_TRUE(slices.pixels[8 * 900 + 30 * 15 + 6] > 0 && slices.pixels[8 * 900 + 30 * 15 + 23] > 0);
}

static void several_scans_become_channels(void) {
    write_pair();
    head.background = -3, head.scale = 2;
    write_scan(CP_SCAN_T1CE);
    read_slices();
    cp_slices gray = slices;
    slices = (cp_slices){0};
    config.channels = 2;
    read_slices();
    for (int i = 0; i < 16 * 400; i++) {
        TEST_ASSERT_EQUAL_INT(gray.pixels[i], slices.pixels[2 * i]);
        TEST_ASSERT_INT_WITHIN(1, gray.pixels[i], slices.pixels[2 * i + 1]); /* the same head in other units */
    }
    cp_slices_free(&gray);
}

static void images_of_one_pixel_and_large_ones_are_made(void) {
    write_pair();
    config.size = 1;
    read_slices();
    TEST_ASSERT_TRUE(slices.pixels[8] > 0);
    config.size = 100;
    read_slices();
    TEST_ASSERT_EQUAL_INT(16, slices.count);
    config.size = 1;
    head.dims[0] = head.dims[1] = head.dims[2] = 2;
    write_pair();
    refuses("nothing above its background");
}

/* Changes a value of the flair file, whose values begin at byte 352. */
static void set_values(int first, int count, float value) {
    FILE *file = fopen(paths[CP_SCAN_FLAIR], "r+b");
    TEST_ASSERT_NOT_NULL(file);
    fseek(file, 352 + 4L * first, SEEK_SET);
    for (int i = 0; i < count; i++) fwrite(&value, sizeof value, 1, file);
    fclose(file);
}

static void voxels_that_are_not_finite_are_background(void) {
    write_pair();
    read_slices();
    cp_slices before = slices;
    slices = (cp_slices){0};
    set_values(0, 720, NAN); /* the lowest slice, which is background */
    set_values(720 * 15, 360, INFINITY);
    read_slices();
    TEST_ASSERT_EQUAL_INT(16, slices.count);
    int differ = 0; /* percentiles over fewer voxels may change slightly */
    for (int i = 0; i < 16 * 400; i++) differ += abs(before.pixels[i] - slices.pixels[i]) > 2;
    TEST_ASSERT_EQUAL_INT(0, differ);
    cp_slices_free(&before);
    set_values(0, 720 * 16, NAN);
    refuses("flair has nothing above its background");
}

static void extreme_values_do_not_overflow(void) {
    write_pair();
    set_values(0, 720 * 8, -3.4e38f);
    set_values(720 * 8, 720 * 4, 3.4e38f);
    read_slices();
    TEST_ASSERT_TRUE(slices.pixels[0] == 0 && slices.pixels[400 * 9 + 210] == 255);
}

static void files_that_do_not_match_are_reported(void) {
    write_pair();
    head.dims[0] = 23;
    write_scan(CP_SCAN_FLAIR);
    refuses("flair has shape (23, 30, 16), but seg (24, 30, 16)");
    TEST_ASSERT_EQUAL_INT(0, truncate(paths[CP_SCAN_FLAIR], 500));
    refuses("a_flair.nii");
    TEST_ASSERT_EQUAL_INT(0, remove(paths[CP_SCAN_SEG]));
    refuses("a_seg.nii");
}

static void a_lack_of_memory_is_reported_at_every_allocation(void) {
    write_pair(), write_scan(CP_SCAN_T1CE);
    config.channels = 2;
    for (long allowed = 0;; allowed++) {
        calls_allowed = allowed;
        bool ok = cp_slices_read(&subject, &config, &slices, &status), failed = calls_allowed < 0;
        calls_allowed = -1;
        if (ok) {
            TEST_ASSERT_FALSE_MESSAGE(failed, "the failed allocation was not reported");
            TEST_ASSERT_TRUE(allowed >= 10);
            return;
        }
        says(&status, "memory");
        TEST_ASSERT_TRUE(!slices.pixels && !slices.labels && !slices.levels);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(percentiles_are_numbers_of_their_rank);
    RUN_TEST(percentiles_ignore_values_below_the_limit_or_not_finite);
    RUN_TEST(the_brain_does_not_depend_on_the_background);
    RUN_TEST(a_volume_of_one_value_has_no_brain);
    RUN_TEST(all_orientations_give_the_same_slices);
    RUN_TEST(slices_are_upright_with_the_right_at_the_left);
    RUN_TEST(a_turn_moves_every_pixel_to_the_opposite_position);
    RUN_TEST(a_head_that_is_narrower_at_the_back_is_upside_down);
    RUN_TEST(a_scan_at_a_different_position_from_the_annotation_is_refused);
    RUN_TEST(labels_follow_the_number_of_annotated_voxels);
    RUN_TEST(slices_with_little_brain_are_left_out);
    RUN_TEST(slices_become_squares_in_millimeters);
    RUN_TEST(several_scans_become_channels);
    RUN_TEST(images_of_one_pixel_and_large_ones_are_made);
    RUN_TEST(voxels_that_are_not_finite_are_background);
    RUN_TEST(extreme_values_do_not_overflow);
    RUN_TEST(files_that_do_not_match_are_reported);
    RUN_TEST(a_lack_of_memory_is_reported_at_every_allocation);
    return UNITY_END();
}
