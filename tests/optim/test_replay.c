/* Tests of the replay buffer and of the distributions that chains start from. The program is linked with -Wl,--wrap for
 * the memory calls, to count them and make them fail. */
#include "optim/replay.h"

#include "core/shape.h"

#include "support/wrapped_memory.h"
#include "tests/support/errors.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cp_rng rng;

void setUp(void) {
    calls_allowed = -1;
    errors_catch();
    rng = cp_rng_named(21, "replay");
}

void tearDown(void) { errors_release(); }

/* Every entry gets a chain: all its values are its number plus `offset`. */
static void fill_all(cp_replay *replay, double offset) {
    int        capacity = cp_replay_capacity(replay), index;
    cp_tensor *x = cp_tensor_new(CP_SHAPE(1, 2));
    for (index = 0; index < capacity; index++) {
        x->data[0] = x->data[1] = (cp_real)(index + offset);
        TEST_ASSERT_EQUAL_INT(1, cp_replay_return(replay, &index, x, NULL));
    }
    cp_tensor_free(x);
}

/* ---- drawing and returning ---- */

static void the_defaults_are_ten_thousand_entries_and_five_percent(void) {
    cp_replay *replay = cp_replay_new((cp_replay_config){.shape = CP_SHAPE(2)});
    cp_tensor *x = cp_tensor_new(CP_SHAPE(500, 2));
    int        index[500];
    TEST_ASSERT_EQUAL_INT(10000, cp_replay_capacity(replay));
    TEST_ASSERT_EQUAL_INT(0, cp_replay_filled(replay));
    fill_all(replay, 2);
    TEST_ASSERT_EQUAL_INT(10000, cp_replay_filled(replay));
    int fresh = 0;
    for (int draw = 0; draw < 40; draw++) {
        TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, NULL, x, index, NULL));
        for (int n = 0; n < 500; n++) fresh += x->data[2 * n] < 1; /* the start is U(-1, 1), the chains are >= 2 */
    }
    TEST_ASSERT_EQUAL_INT64(20000, cp_replay_counted(replay).drawn);
    TEST_ASSERT_EQUAL_INT64(fresh, cp_replay_counted(replay).fresh);
    TEST_ASSERT_INT_WITHIN(124, 1000, fresh); /* 4 sigmas of 20,000 draws */
    cp_tensor_free(x);
    cp_replay_free(replay);
}

static void the_fresh_share_may_be_zero_or_one(void) {
    for (int all = 0; all < 2; all++) {
        cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 50, .shape = CP_SHAPE(2), .fresh_share = all ? 1 : -1});
        cp_tensor *x = cp_tensor_new(CP_SHAPE(50, 2));
        int        index[50];
        fill_all(replay, 2);
        TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, NULL, x, index, NULL));
        for (int n = 0; n < 50; n++) TEST_ASSERT_TRUE(all ? x->data[2 * n] < 1 : x->data[2 * n] == index[n] + 2);
        cp_tensor_free(x);
        cp_replay_free(replay);
    }
}

static void empty_entries_start_fresh_until_a_chain_is_returned(void) {
    cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 20, .shape = CP_SHAPE(2), .fresh_share = -1});
    cp_tensor *x = cp_tensor_new(CP_SHAPE(10, 2));
    int        index[10];
    cp_real    sample[2] = {77, 77};
    TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, NULL, x, index, NULL));
    for (int i = 0; i < 20; i++) TEST_ASSERT_TRUE(x->data[i] >= -1 && x->data[i] < 1);
    TEST_ASSERT_FALSE(cp_replay_sample(replay, index[0], sample));
    TEST_ASSERT_TRUE(sample[0] == 77);
    cp_tensor_free(x);
    x = cp_tensor_new(CP_SHAPE(1, 2));
    x->data[0] = 5, x->data[1] = 6;
    TEST_ASSERT_EQUAL_INT(1, cp_replay_return(replay, index, x, NULL));
    TEST_ASSERT_TRUE(cp_replay_sample(replay, index[0], sample));
    TEST_ASSERT_TRUE(sample[0] == 5 && sample[1] == 6);
    TEST_ASSERT_EQUAL_INT(1, cp_replay_filled(replay));
    cp_tensor_free(x);
    cp_replay_free(replay);
}

static void the_random_stream_does_not_depend_on_the_filled_entries(void) {
    cp_replay_config config = {.capacity = 40, .shape = CP_SHAPE(2), .fresh_share = 0.5};
    cp_replay       *empty = cp_replay_new(config), *full = cp_replay_new(config);
    cp_tensor       *x = cp_tensor_new(CP_SHAPE(20, 2));
    cp_rng           one = rng, two = rng;
    int              index[2][20];
    fill_all(full, 2);
    for (int draw = 0; draw < 3; draw++) {
        TEST_ASSERT_TRUE(cp_replay_draw(empty, &one, NULL, x, index[0], NULL));
        TEST_ASSERT_TRUE(cp_replay_draw(full, &two, NULL, x, index[1], NULL));
        TEST_ASSERT_EQUAL_INT_ARRAY(index[0], index[1], 20);
        TEST_ASSERT_EQUAL_MEMORY(&one, &two, sizeof one);
    }
    cp_tensor_free(x);
    cp_replay_free(empty);
    cp_replay_free(full);
}

static void a_draw_has_distinct_equally_likely_entries(void) {
    enum { ENTRIES = 25, DRAWS = 4000, CHAINS = 10 };
    cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = ENTRIES, .shape = CP_SHAPE(2)});
    cp_tensor *x = cp_tensor_new(CP_SHAPE(CHAINS, 2));
    int        index[CHAINS], counts[ENTRIES] = {0};
    for (int draw = 0; draw < DRAWS; draw++) {
        bool seen[ENTRIES] = {0};
        TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, NULL, x, index, NULL));
        for (int n = 0; n < CHAINS; n++) {
            TEST_ASSERT_FALSE(seen[index[n]]);
            seen[index[n]] = true;
            counts[index[n]]++;
        }
    }
    for (int e = 0; e < ENTRIES; e++) /* p = 0.4: 4.5 sigmas of 4000 draws */
        TEST_ASSERT_INT_WITHIN(140, DRAWS * CHAINS / ENTRIES, counts[e]);
    cp_tensor_free(x);
    cp_replay_free(replay);
}

static void a_cleared_buffer_restarts_every_chain_and_keeps_its_counts(void) {
    cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 20, .shape = CP_SHAPE(2), .fresh_share = -1});
    cp_tensor *x = cp_tensor_new(CP_SHAPE(20, 2));
    int        index[20];
    cp_real    sample[2];
    fill_all(replay, 2);
    cp_replay_draw(replay, &rng, NULL, x, index, NULL);
    cp_replay_clear(replay);
    TEST_ASSERT_EQUAL_INT(0, cp_replay_filled(replay));
    TEST_ASSERT_EQUAL_INT(20, cp_replay_capacity(replay));
    TEST_ASSERT_EQUAL_INT64(20, cp_replay_counted(replay).drawn);
    TEST_ASSERT_FALSE(cp_replay_sample(replay, 3, sample));
    TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, NULL, x, index, NULL));
    for (int i = 0; i < 40; i++) TEST_ASSERT_TRUE(x->data[i] >= -1 && x->data[i] < 1); /* the chains were >= 2 */
    TEST_ASSERT_EQUAL_INT(20, cp_replay_return(replay, index, x, NULL));
    TEST_ASSERT_EQUAL_INT(20, cp_replay_filled(replay));
    cp_replay_clear(NULL);
    cp_tensor_free(x);
    cp_replay_free(replay);
}

static void a_buffer_of_one_entry_works(void) {
    cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 1, .shape = CP_SHAPE(2), .fresh_share = -1});
    cp_tensor *x = cp_tensor_new(CP_SHAPE(1, 2));
    int        index = -1, label = 5;
    TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, NULL, x, &index, &label));
    TEST_ASSERT_EQUAL_INT(0, index);
    TEST_ASSERT_EQUAL_INT(-1, label);
    x->data[0] = 0.5;
    TEST_ASSERT_EQUAL_INT(1, cp_replay_return(replay, &index, x, NULL));
    x->data[0] = 9;
    TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, NULL, x, &index, NULL));
    TEST_ASSERT_TRUE(x->data[0] == (cp_real)0.5);
    cp_tensor_free(x);
    cp_replay_free(replay);
}

static void more_chains_than_entries_are_misuse(void) {
    cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 5, .shape = CP_SHAPE(2), .classes = 2});
    cp_tensor *x = cp_tensor_new(CP_SHAPE(6, 2)), *fits = cp_tensor_new(CP_SHAPE(5, 2));
    int        index[6];
    TEST_ASSERT_FALSE(cp_replay_draw(replay, &rng, NULL, x, index, NULL));
    TEST_ASSERT_NOT_NULL(strstr(last_error, "6 chains"));
    TEST_ASSERT_FALSE(cp_replay_draw(replay, &rng, (int[]){1, 1, 0, 1, -1}, fits, index, NULL)); /* class 1: entries 1, 3 */
    TEST_ASSERT_NOT_NULL(strstr(last_error, "class 1"));
    TEST_ASSERT_FALSE(cp_replay_draw(replay, &rng, (int[]){2, -1, -1, -1, -1}, fits, index, NULL));
    TEST_ASSERT_EQUAL_INT(3, errors);
    TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, (int[]){-1, 1, 0, 1, -1}, fits, index, NULL)); /* all of them */
    TEST_ASSERT_EQUAL_INT64(5, cp_replay_counted(replay).drawn);
    cp_tensor_free(x);
    cp_tensor_free(fits);
    cp_replay_free(replay);
}

static void chains_are_drawn_by_class(void) {
    cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 31, .shape = CP_SHAPE(2), .classes = 3, .fresh_share = -1});
    cp_tensor *x = cp_tensor_new(CP_SHAPE(6, 2));
    int        index[6], labels[6], wanted[6] = {2, 0, -1, 1, 2, 2};
    bool       met[31] = {0};
    fill_all(replay, 0);
    for (int draw = 0; draw < 300; draw++) {
        TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, wanted, x, index, labels));
        for (int n = 0; n < 6; n++) {
            TEST_ASSERT_EQUAL_INT(index[n] % 3, labels[n]);
            TEST_ASSERT_EQUAL_INT(labels[n], cp_replay_label(replay, index[n]));
            if (wanted[n] >= 0) TEST_ASSERT_EQUAL_INT(wanted[n], labels[n]);
            TEST_ASSERT_TRUE(x->data[2 * n] == index[n]);
            met[index[n]] = true;
        }
    }
    for (int e = 0; e < 31; e++) TEST_ASSERT_TRUE(met[e]);
    cp_tensor_free(x);
    cp_replay_free(replay);
}

static void unusable_chains_empty_their_entries(void) {
    cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 4, .shape = CP_SHAPE(2)});
    cp_tensor *x = cp_tensor_new(CP_SHAPE(4, 2));
    cp_real    sample[2];
    fill_all(replay, 2);
    x->data[1] = (cp_real)NAN;
    x->data[2] = (cp_real)INFINITY;
    TEST_ASSERT_EQUAL_INT(1, cp_replay_return(replay, (int[]){0, 1, 2, 3}, x, (bool[]){false, false, true, false}));
    TEST_ASSERT_EQUAL_INT(1, cp_replay_filled(replay));
    TEST_ASSERT_TRUE(cp_replay_sample(replay, 3, sample));
    TEST_ASSERT_FALSE(cp_replay_sample(replay, 0, sample));
    TEST_ASSERT_EQUAL_INT64(3, cp_replay_counted(replay).dropped);
    cp_tensor_free(x);
    cp_replay_free(replay);
}

static void drawing_and_returning_call_malloc_zero_times(void) {
    cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 100, .shape = CP_SHAPE(2)});
    cp_tensor *x = cp_tensor_new(CP_SHAPE(10, 2));
    int        index[10];
    long       before = memory_calls;
    TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, NULL, x, index, NULL));
    TEST_ASSERT_EQUAL_INT(10, cp_replay_return(replay, index, x, NULL));
    TEST_ASSERT_EQUAL_INT(0, memory_calls - before);
    cp_tensor_free(x);
    cp_replay_free(replay);
}

/* ---- storage ---- */

static cp_real stored_as(cp_real value) {
    cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 1}); /* samples are scalars */
    cp_tensor *x = cp_tensor_new(CP_SHAPE(1));
    cp_real    sample = 99;
    x->data[0] = value;
    TEST_ASSERT_EQUAL_INT(1, cp_replay_return(replay, (int[]){0}, x, NULL));
    TEST_ASSERT_TRUE(cp_replay_sample(replay, 0, &sample));
    cp_tensor_free(x);
    cp_replay_free(replay);
    return sample;
}

static void half_precision_rounds_to_the_nearest_half(void) {
    const double cases[][2] = {
        {0, 0},
        {1, 1},
        {-0.5, -0.5},
        {1 + 0x1p-11, 1},                   /* a tie: to even, down */
        {1 + 3 * 0x1p-11, 1 + 4 * 0x1p-11}, /* a tie: to even, up */
        {1 + 0x1p-11 + 0x1p-20, 1 + 0x1p-10},
        {2 - 0x1p-12, 2}, /* into the next power of two */
        {65504, 65504},
        {65519, 65504},
        {65520, 65504}, /* would be infinite */
        {-1e30, -65504},
        {0x1p-14, 0x1p-14},
        {0x1p-24, 0x1p-24},
        {0x1p-25, 0}, /* a tie with zero */
        {-0x1.8p-25, -0x1p-24},
        {1023.75 * 0x1p-24, 0x1p-14}, /* subnormal, up to normal */
        {5.5 * 0x1p-24, 6 * 0x1p-24},
        {1e-30, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        TEST_ASSERT_EQUAL_DOUBLE(cases[i][1], (double)stored_as((cp_real)cases[i][0]));
}

static void half_precisions_error_on_images_is_as_documented(void) {
    double worst = 0;
    for (int i = 0; i < 5000; i++) {
        cp_real value = (cp_real)(2 * cp_rng_uniform(&rng) - 1), kept = stored_as(value);
        worst = fmax(worst, fabs((double)value - (double)kept));
        TEST_ASSERT_TRUE(stored_as(kept) == kept);
    }
    TEST_ASSERT_TRUE(worst <= 2.5e-4 && worst > 2e-4);
}

/* ---- saving ---- */

static void run_some(cp_replay *replay, cp_rng *stream, cp_real *trace) {
    cp_tensor *x = cp_tensor_new(CP_SHAPE(8, 3, 2));
    int        index[8];
    for (int step = 0; step < 50; step++) {
        TEST_ASSERT_TRUE(cp_replay_draw(replay, stream, NULL, x, index, NULL));
        for (size_t i = 0; i < x->size; i++) x->data[i] = x->data[i] * (cp_real)1.01 + (cp_real)0.1;
        TEST_ASSERT_EQUAL_INT(8, cp_replay_return(replay, index, x, NULL));
    }
    memcpy(trace, x->data, x->size * sizeof *trace);
    cp_tensor_free(x);
}

static void a_restored_buffer_continues_bit_for_bit(void) {
    cp_replay_config config = {.capacity = 60, .shape = CP_SHAPE(3, 2), .classes = 4};
    cp_replay       *first = cp_replay_new(config), *second = cp_replay_new(config);
    cp_real          traces[2][48];
    cp_state         from, to;
    int              pieces = 0;
    run_some(first, &rng, traces[0]);
    for (; cp_replay_state(first, pieces, &from); pieces++) {
        TEST_ASSERT_TRUE(cp_replay_state(second, pieces, &to));
        TEST_ASSERT_EQUAL_STRING(from.name, to.name);
        TEST_ASSERT_TRUE(from.bytes == to.bytes);
        memcpy(to.data, from.data, from.bytes);
    }
    TEST_ASSERT_EQUAL_INT(6, pieces);
    TEST_ASSERT_TRUE(cp_replay_state(first, 0, &from));
    TEST_ASSERT_EQUAL_STRING("samples", from.name);
    TEST_ASSERT_EQUAL_INT(CP_F16, from.dtype);
    TEST_ASSERT_EQUAL_INT(3, from.rank);
    TEST_ASSERT_TRUE(from.dims[0] == 60 && from.dims[1] == 3 && from.dims[2] == 2);
    cp_rng same = rng;
    run_some(first, &rng, traces[0]);
    run_some(second, &same, traces[1]);
    TEST_ASSERT_EQUAL_MEMORY(traces[0], traces[1], sizeof traces[0]);
    TEST_ASSERT_EQUAL_INT64(cp_replay_counted(first).fresh, cp_replay_counted(second).fresh);
    cp_replay_free(first);
    cp_replay_free(second);
}

/* ---- start distributions ---- */

typedef struct moments {
    double mean, sd, lowest, highest;
} moments;

static moments moments_of(const cp_real *values, int count, int stride) {
    moments m = {0, 0, (double)values[0], (double)values[0]};
    for (int i = 0; i < count; i++) {
        double value = (double)values[i * stride];
        m.mean += value / count;
        m.lowest = fmin(m.lowest, value);
        m.highest = fmax(m.highest, value);
    }
    for (int i = 0; i < count; i++) m.sd += pow((double)values[i * stride] - m.mean, 2) / (count - 1);
    m.sd = sqrt(m.sd);
    return m;
}

enum { STARTS = 20000 };
static cp_real starts[STARTS * 3];

static void uniform_starts_fill_their_range(void) {
    cp_start_draw(&(cp_start){.low = 2, .high = 6}, &rng, -1, starts, STARTS);
    moments m = moments_of(starts, STARTS, 1);
    TEST_ASSERT_TRUE(m.lowest >= 2 && m.lowest < 2.01 && m.highest < 6 && m.highest > 5.99);
    TEST_ASSERT_DOUBLE_WITHIN(0.035, 4, m.mean);
    TEST_ASSERT_DOUBLE_WITHIN(0.02, 4 / sqrt(12), m.sd);
}

/* Two classes of correlated points in three dimensions, the labels mixed, some without. */
enum { POINTS = 600 };
static cp_real points[POINTS * 3];
static int     point_labels[POINTS];

static void points_make(void) {
    cp_rng data = cp_rng_named(8, "data");
    for (int i = 0; i < POINTS; i++) {
        double a = cp_rng_normal(&data), b = cp_rng_normal(&data);
        point_labels[i] = i % 3 - 1;
        points[3 * i] = (cp_real)(10 * point_labels[i] + a);
        points[3 * i + 1] = (cp_real)(-1 + 0.5 * a + 0.2 * b);
        points[3 * i + 2] = (cp_real)(4 - 2 * point_labels[i] * b);
    }
}

static double sample_covariance(const cp_real *values, const int *labels, int label, int count, int p, int q) {
    double mean[2] = {0}, sum = 0, n = 0;
    for (int i = 0; i < count; i++)
        if (!labels || labels[i] == label) mean[0] += (double)values[3 * i + p], mean[1] += (double)values[3 * i + q], n++;
    for (int i = 0; i < count; i++)
        if (!labels || labels[i] == label)
            sum += ((double)values[3 * i + p] - mean[0] / n) * ((double)values[3 * i + q] - mean[1] / n);
    return sum / (n - 1);
}

static void expect_class_moments(int directions, int label) {
    cp_class_gaussian *gaussian =
        cp_class_gaussian_new((cp_class_gaussian_config){.classes = 2, .size = 3, .directions = directions, .jitter = -1});
    TEST_ASSERT_TRUE(cp_class_gaussian_fit(gaussian, points, point_labels, POINTS));
    for (int i = 0; i < STARTS; i++) cp_class_gaussian_draw(gaussian, &rng, label, starts + 3 * i);
    double mean[3] = {0};
    for (int i = 0; i < POINTS; i++)
        for (int j = 0; j < 3 && point_labels[i] == label; j++) mean[j] += (double)points[3 * i + j] / (POINTS / 3);
    for (int j = 0; j < 3; j++) {
        double variance = sample_covariance(points, point_labels, label, POINTS, j, j);
        TEST_ASSERT_DOUBLE_WITHIN(4.5 * sqrt(variance / STARTS) + 1e-5, mean[j], moments_of(starts + j, STARTS, 3).mean);
        for (int k = 0; k < 3; k++) {
            double other = sample_covariance(points, point_labels, label, POINTS, k, k);
            double expected = j == k || directions ? sample_covariance(points, point_labels, label, POINTS, j, k) : 0;
            double error = sqrt((variance * other + expected * expected) / STARTS);
            TEST_ASSERT_DOUBLE_WITHIN(4.5 * error + 1e-5, expected, sample_covariance(starts, NULL, 0, STARTS, j, k));
        }
    }
    cp_class_gaussian_free(gaussian);
}

static void a_class_gaussian_has_its_classes_means_and_variances(void) {
    points_make();
    expect_class_moments(0, 0);
    expect_class_moments(0, 1);
}

static void a_gaussian_with_directions_has_the_full_covariance(void) {
    points_make();
    expect_class_moments(200, 0);
    expect_class_moments(200, 1);
    expect_class_moments(300, 1); /* more directions than samples */
}

static void fewer_directions_than_samples_keep_the_scale(void) {
    points_make();
    cp_class_gaussian *gaussian =
        cp_class_gaussian_new((cp_class_gaussian_config){.classes = 2, .size = 3, .directions = 70, .jitter = -1});
    TEST_ASSERT_TRUE(cp_class_gaussian_fit(gaussian, points, point_labels, POINTS));
    for (int i = 0; i < STARTS; i++) cp_class_gaussian_draw(gaussian, &rng, 1, starts + 3 * i);
    double expected = sample_covariance(points, point_labels, 1, POINTS, 0, 0);
    TEST_ASSERT_DOUBLE_WITHIN(0.5 * expected, expected, sample_covariance(starts, NULL, 0, STARTS, 0, 0)); /* 70 of 200 */
    cp_class_gaussian_free(gaussian);
}

static void a_class_of_one_sample_spreads_by_the_jitter(void) {
    const cp_real one[3] = {1, -2, 0.5};
    for (int directions = 0; directions < 2; directions++) {
        cp_class_gaussian *gaussian =
            cp_class_gaussian_new((cp_class_gaussian_config){.classes = 1, .size = 3, .directions = 4 * directions});
        TEST_ASSERT_TRUE(cp_class_gaussian_fit(gaussian, one, (int[]){0}, 1));
        for (int i = 0; i < STARTS; i++) cp_class_gaussian_draw(gaussian, &rng, -1, starts + 3 * i);
        for (int j = 0; j < 3; j++) {
            moments m = moments_of(starts + j, STARTS, 3);
            TEST_ASSERT_DOUBLE_WITHIN(0.0004, (double)one[j], m.mean);
            TEST_ASSERT_DOUBLE_WITHIN(0.0003, 0.01, m.sd);
        }
        cp_class_gaussian_free(gaussian);
    }
}

static void starts_of_a_gaussian_are_clamped_to_the_range(void) {
    cp_class_gaussian *gaussian = cp_class_gaussian_new((cp_class_gaussian_config){.classes = 1, .size = 1, .jitter = 0.5});
    TEST_ASSERT_TRUE(cp_class_gaussian_fit(gaussian, (cp_real[]){3}, (int[]){0}, 1));
    cp_start start = {.kind = CP_START_CLASS_GAUSSIAN, .gaussian = gaussian, .low = 2.75, .high = 3.5};
    for (int i = 0; i < STARTS; i++) cp_start_draw(&start, &rng, 0, starts + i, 1);
    moments m = moments_of(starts, STARTS, 1);
    TEST_ASSERT_TRUE(m.lowest == 2.75 && m.highest == 3.5);
    cp_class_gaussian_free(gaussian);
}

static void fresh_chains_start_from_the_gaussian_of_their_entrys_class(void) {
    points_make();
    cp_class_gaussian *gaussian = cp_class_gaussian_new((cp_class_gaussian_config){.classes = 2, .size = 3});
    TEST_ASSERT_TRUE(cp_class_gaussian_fit(gaussian, points, point_labels, POINTS));
    cp_replay_config config = {
        .capacity = 40, .shape = CP_SHAPE(3), .classes = 2, .start = {.kind = CP_START_CLASS_GAUSSIAN, .gaussian = gaussian}};
    cp_tensor *x = cp_tensor_new(CP_SHAPE(40, 3));
    int        index[40], labels[40], high = 0;
    cp_replay *replay = cp_replay_new(config);
    TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, NULL, x, index, labels));
    for (int n = 0; n < 40; n++) TEST_ASSERT_TRUE((x->data[3 * n] > 5) == (labels[n] == 1)); /* means 0 and 10 */
    cp_replay_free(replay);
    config.classes = 0; /* now a chain may be of any class */
    replay = cp_replay_new(config);
    TEST_ASSERT_TRUE(cp_replay_draw(replay, &rng, NULL, x, index, labels));
    for (int n = 0; n < 40; n++) high += x->data[3 * n] > 5;
    TEST_ASSERT_INT_WITHIN(13, 20, high);
    cp_replay_free(replay);
    cp_tensor_free(x);
    cp_class_gaussian_free(gaussian);
}

static void a_restored_gaussian_draws_the_same(void) {
    points_make();
    for (int directions = 0; directions <= 9; directions += 9) {
        cp_class_gaussian_config config = {.classes = 2, .size = 3, .directions = directions};
        cp_class_gaussian       *first = cp_class_gaussian_new(config), *second = cp_class_gaussian_new(config);
        cp_state                 from, to;
        cp_real                  a[3], b[3];
        cp_rng                   same = rng;
        TEST_ASSERT_TRUE(cp_class_gaussian_fit(first, points, point_labels, POINTS));
        for (int i = 0; cp_class_gaussian_state(first, i, &from); i++) {
            TEST_ASSERT_TRUE(cp_class_gaussian_state(second, i, &to));
            TEST_ASSERT_TRUE(from.bytes == to.bytes);
            memcpy(to.data, from.data, from.bytes);
        }
        cp_class_gaussian_draw(first, &rng, 1, a);
        cp_class_gaussian_draw(second, &same, 1, b);
        TEST_ASSERT_EQUAL_MEMORY(a, b, sizeof a);
        cp_class_gaussian_free(first);
        cp_class_gaussian_free(second);
    }
}

/* ---- misuse ---- */

static void invalid_configs_are_misuse(void) {
    cp_class_gaussian *gaussian = cp_class_gaussian_new((cp_class_gaussian_config){.classes = 1, .size = 7});
    cp_start           wrong = {.kind = CP_START_CLASS_GAUSSIAN, .gaussian = gaussian};
    TEST_ASSERT_NULL(cp_replay_new((cp_replay_config){.capacity = -1}));
    TEST_ASSERT_NULL(cp_replay_new((cp_replay_config){.shape = {.rank = CP_MAX_RANK}}));
    TEST_ASSERT_NULL(cp_replay_new((cp_replay_config){.shape = CP_SHAPE(-4)}));
    TEST_ASSERT_NULL(cp_replay_new((cp_replay_config){.shape = CP_SHAPE(1 << 30, 1 << 30, 1 << 30, 1 << 30)}));
    TEST_ASSERT_NULL(cp_replay_new((cp_replay_config){.fresh_share = 1.5}));
    TEST_ASSERT_NULL(cp_replay_new((cp_replay_config){.capacity = 3, .classes = 4}));
    TEST_ASSERT_NULL(cp_replay_new((cp_replay_config){.start = {.low = 2, .high = 1}}));
    TEST_ASSERT_NULL(cp_replay_new((cp_replay_config){.start = {.kind = CP_START_CLASS_GAUSSIAN}}));
    TEST_ASSERT_NULL(cp_replay_new((cp_replay_config){.shape = CP_SHAPE(3), .start = wrong}));
    TEST_ASSERT_NULL(cp_class_gaussian_new((cp_class_gaussian_config){.size = 3}));
    TEST_ASSERT_NULL(cp_class_gaussian_new((cp_class_gaussian_config){.classes = 1 << 30, .size = 1 << 30, .directions = 16}));
    TEST_ASSERT_EQUAL_INT(11, errors);
    cp_class_gaussian_free(gaussian);
}

static void batches_of_the_wrong_shape_are_misuse(void) {
    cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 4, .shape = CP_SHAPE(2)});
    cp_tensor *x = cp_tensor_new(CP_SHAPE(2, 3)), *fits = cp_tensor_new(CP_SHAPE(2, 2));
    int        index[2] = {0, 4};
    TEST_ASSERT_FALSE(cp_replay_draw(replay, &rng, NULL, x, index, NULL));
    TEST_ASSERT_EQUAL_INT(-1, cp_replay_return(replay, index, x, NULL));
    TEST_ASSERT_EQUAL_INT(-1, cp_replay_return(replay, index, fits, NULL));
    TEST_ASSERT_NOT_NULL(strstr(last_error, "no entry 4"));
    TEST_ASSERT_EQUAL_INT(0, cp_replay_filled(replay)); /* nor was the first chain stored */
    TEST_ASSERT_FALSE(cp_replay_draw(replay, NULL, NULL, fits, index, NULL));
    TEST_ASSERT_FALSE(cp_replay_draw(NULL, &rng, NULL, fits, index, NULL));
    TEST_ASSERT_EQUAL_INT(5, errors);
    cp_tensor_free(x);
    cp_tensor_free(fits);
    cp_replay_free(replay);
}

static void a_class_without_samples_is_misuse_and_changes_nothing(void) {
    cp_class_gaussian *gaussian = cp_class_gaussian_new((cp_class_gaussian_config){.classes = 3, .size = 3});
    cp_state           mean;
    points_make(); /* has two classes */
    TEST_ASSERT_FALSE(cp_class_gaussian_fit(gaussian, points, point_labels, POINTS));
    TEST_ASSERT_NOT_NULL(strstr(last_error, "class 2 has no samples"));
    point_labels[5] = 3;
    TEST_ASSERT_FALSE(cp_class_gaussian_fit(gaussian, points, point_labels, POINTS));
    TEST_ASSERT_NOT_NULL(strstr(last_error, "label 3 of sample 5"));
    TEST_ASSERT_TRUE(cp_class_gaussian_state(gaussian, 0, &mean));
    TEST_ASSERT_TRUE(((cp_real *)mean.data)[0] == 0);
    cp_class_gaussian_free(gaussian);
}

static void running_out_of_memory_is_reported_and_leaks_nothing(void) {
    int refusals = 0;
    for (int allowed = 0; allowed < 6; allowed++) {
        errors_forget();
        calls_allowed = allowed;
        cp_replay *replay = cp_replay_new((cp_replay_config){.capacity = 10, .shape = CP_SHAPE(2)});
        calls_allowed = allowed;
        cp_class_gaussian *gaussian = cp_class_gaussian_new((cp_class_gaussian_config){.classes = 3, .size = 3});
        calls_allowed = -1;
        TEST_ASSERT_EQUAL_INT(!replay + !gaussian, errors);
        refusals += errors;
        cp_replay_free(replay);
        cp_class_gaussian_free(gaussian);
    }
    TEST_ASSERT_EQUAL_INT(5 + 3, refusals);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_defaults_are_ten_thousand_entries_and_five_percent);
    RUN_TEST(the_fresh_share_may_be_zero_or_one);
    RUN_TEST(empty_entries_start_fresh_until_a_chain_is_returned);
    RUN_TEST(the_random_stream_does_not_depend_on_the_filled_entries);
    RUN_TEST(a_draw_has_distinct_equally_likely_entries);
    RUN_TEST(a_cleared_buffer_restarts_every_chain_and_keeps_its_counts);
    RUN_TEST(a_buffer_of_one_entry_works);
    RUN_TEST(more_chains_than_entries_are_misuse);
    RUN_TEST(chains_are_drawn_by_class);
    RUN_TEST(unusable_chains_empty_their_entries);
    RUN_TEST(drawing_and_returning_call_malloc_zero_times);
    RUN_TEST(half_precision_rounds_to_the_nearest_half);
    RUN_TEST(half_precisions_error_on_images_is_as_documented);
    RUN_TEST(a_restored_buffer_continues_bit_for_bit);
    RUN_TEST(uniform_starts_fill_their_range);
    RUN_TEST(a_class_gaussian_has_its_classes_means_and_variances);
    RUN_TEST(a_gaussian_with_directions_has_the_full_covariance);
    RUN_TEST(fewer_directions_than_samples_keep_the_scale);
    RUN_TEST(a_class_of_one_sample_spreads_by_the_jitter);
    RUN_TEST(starts_of_a_gaussian_are_clamped_to_the_range);
    RUN_TEST(fresh_chains_start_from_the_gaussian_of_their_entrys_class);
    RUN_TEST(a_restored_gaussian_draws_the_same);
    RUN_TEST(invalid_configs_are_misuse);
    RUN_TEST(batches_of_the_wrong_shape_are_misuse);
    RUN_TEST(a_class_without_samples_is_misuse_and_changes_nothing);
    RUN_TEST(running_out_of_memory_is_reported_and_leaks_nothing);
    return UNITY_END();
}
