/* Tests of core/random: known answers, distributions, streams, and that neither threads nor resuming change a number. The
 * seeds are fixed, so a statistical test always passes or always fails; limits are five standard errors. */
#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"

#include "tests/support/errors.h"
#include "unity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 1000000, VALUES_PER_BLOCK = sizeof(cp_real) == 8 ? 2 : 4 };

static cp_real values[DRAWS], others[DRAWS];

void setUp(void) { cp_threads_set(2); }

void tearDown(void) { errors_release(); }

static void check_near(double expected, double actual, double tolerance, const char *what) {
    char message[160];
    snprintf(message, sizeof message, "%s: expected %.9g within %.3g, got %.9g", what, expected, tolerance, actual);
    TEST_ASSERT_TRUE_MESSAGE(fabs(actual - expected) <= tolerance, message);
}

/* ---- the generator ---- */

static void check_philox(const uint32_t counter[4], const uint32_t key[2], const uint32_t expected[4]) {
    uint32_t out[4];
    cp_philox(counter, key, out);
    TEST_ASSERT_EQUAL_HEX32_ARRAY(expected, out, 4);
}

static void philox_gives_the_known_answers_of_random123(void) {
    check_philox((uint32_t[]){0, 0, 0, 0}, (uint32_t[]){0, 0}, (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    const uint32_t ones = 0xffffffff;
    check_philox((uint32_t[]){ones, ones, ones, ones}, (uint32_t[]){ones, ones},
                 (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check_philox((uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, (uint32_t[]){0xa4093822, 0x299f31d0},
                 (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

static void words_come_from_the_block_and_index_of_the_position(void) {
    cp_rng rng = cp_rng_named(3, "words");
    for (uint64_t start = 0; start < 2; start++) {
        rng.position = start ? ((uint64_t)1 << 34) - 3 : 0; /* the second run crosses into the counter's second word */
        for (int i = 0; i < 9; i++) {
            uint64_t block = rng.position / 4;
            uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), rng.stream[0], rng.stream[1]}, out[4];
            cp_philox(counter, rng.key, out);
            uint32_t expected = out[rng.position % 4];
            TEST_ASSERT_EQUAL_HEX32(expected, cp_rng_u32(&rng));
        }
    }
}

static void streams_with_other_names_or_seeds_differ(void) {
    static const char *names[] = {"", "init", "inis", "data", "sgld", "labels", "a", "b", "aa", "init "};
    enum { NAMES = sizeof names / sizeof *names, SEEDS = 3, STREAMS = NAMES * SEEDS };
    static const uint64_t seeds[SEEDS] = {0, 1, (uint64_t)1 << 63};
    cp_rng                streams[STREAMS];
    for (int i = 0; i < STREAMS; i++) streams[i] = cp_rng_named(seeds[i / NAMES], names[i % NAMES]);
    for (int i = 0; i < STREAMS; i++) {
        for (int j = 0; j < i; j++) {
            cp_rng a = streams[i], b = streams[j];
            int    same = 0;
            for (int k = 0; k < 64; k++) same += cp_rng_u32(&a) == cp_rng_u32(&b);
            TEST_ASSERT_TRUE(same <= 1);
        }
    }
}

static void neighboring_seeds_are_uncorrelated(void) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        cp_rng a = cp_rng_named(seed, "x"), b = cp_rng_named(seed + 1, "x");
        sum += (cp_rng_uniform(&a) - 0.5) * (cp_rng_uniform(&b) - 0.5);
    }
    check_near(0, sum / 20000 * 12, 5 / sqrt(20000), "correlation");
}

static void a_saved_stream_resumes_exactly(void) {
    cp_rng rng = cp_rng_named(5, "resume");
    for (int i = 0; i < 7; i++) cp_rng_u32(&rng);
    cp_rng_fill_normal(&rng, values, 1001, 0, 1);
    cp_rng saved = rng;
    double first = cp_rng_normal(&rng);
    cp_rng_fill_uniform(&rng, values, 99, -1, 1);
    uint64_t below = cp_rng_below(&rng, 1000);
    TEST_ASSERT_TRUE(first == cp_rng_normal(&saved));
    cp_rng_fill_uniform(&saved, others, 99, -1, 1);
    TEST_ASSERT_EQUAL_MEMORY(values, others, 99 * sizeof *values);
    TEST_ASSERT_EQUAL_UINT64(below, cp_rng_below(&saved, 1000));
    TEST_ASSERT_EQUAL_UINT64(rng.position, saved.position);
}

/* ---- distributions ---- */

typedef struct moments {
    double mean, variance, skew, kurtosis;
} moments;

static moments moments_of(const cp_real *x, size_t n) {
    moments m = {0};
    for (size_t i = 0; i < n; i++) m.mean += (double)x[i] / (double)n;
    double third = 0, fourth = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)x[i] - m.mean;
        m.variance += d * d / (double)n;
        third += d * d * d / (double)n;
        fourth += d * d * d * d / (double)n;
    }
    m.skew = third / pow(m.variance, 1.5);
    m.kurtosis = fourth / (m.variance * m.variance);
    return m;
}

static void check_normal_moments(const cp_real *x) {
    const double error = 5 / sqrt(DRAWS);
    moments      m = moments_of(x, DRAWS);
    check_near(0, m.mean, error, "mean");
    check_near(1, m.variance, error * sqrt(2), "variance");
    check_near(0, m.skew, error * sqrt(6), "skew");
    check_near(3, m.kurtosis, error * sqrt(24), "kurtosis");
}

static void check_uniform_bins(const cp_real *x) {
    enum { BINS = 1000 };
    static int counts[BINS];
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < DRAWS; i++) counts[(int)((double)x[i] * BINS)]++;
    double chi_square = 0, expected = (double)DRAWS / BINS;
    for (int i = 0; i < BINS; i++) chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    check_near(BINS - 1, chi_square, 5 * sqrt(2 * (BINS - 1)), "chi-square");
}

static void single_uniforms_are_uniform(void) {
    cp_rng rng = cp_rng_named(11, "uniform");
    for (int i = 0; i < DRAWS; i++) {
        double u = cp_rng_uniform(&rng);
        TEST_ASSERT_TRUE(u >= 0 && u < 1);
        values[i] = (cp_real)(u * 0.999999); /* below 1 in float too */
    }
    check_uniform_bins(values);
}

static void filled_uniforms_are_uniform(void) {
    cp_rng rng = cp_rng_named(12, "uniform");
    cp_rng_fill_uniform(&rng, values, DRAWS, 0, 1);
    check_uniform_bins(values);
    moments m = moments_of(values, DRAWS);
    check_near(0.5, m.mean, 5 * sqrt(1.0 / 12 / DRAWS), "mean");
    check_near(1.0 / 12, m.variance, 5 * sqrt(1.0 / 180 / DRAWS), "variance");
    check_near(0, m.skew, 0.02, "skew");
    check_near(1.8, m.kurtosis, 0.02, "kurtosis");
}

static void single_normals_are_normal(void) {
    cp_rng rng = cp_rng_named(13, "normal");
    for (int i = 0; i < DRAWS; i++) values[i] = (cp_real)cp_rng_normal(&rng);
    check_normal_moments(values);
}

static int compare(const void *a, const void *b) {
    cp_real x = *(const cp_real *)a, y = *(const cp_real *)b;
    return (x > y) - (x < y);
}

static void filled_normals_are_normal(void) {
    cp_rng rng = cp_rng_named(14, "normal");
    cp_rng_fill_normal(&rng, values, DRAWS, 0, 1);
    check_normal_moments(values);
    qsort(values, DRAWS, sizeof *values, compare);
    double distance = 0; /* Kolmogorov-Smirnov */
    for (int i = 0; i < DRAWS; i++) {
        double cdf = 0.5 * erfc(-(double)values[i] / sqrt(2));
        distance = fmax(distance, fmax(fabs(cdf - (double)i / DRAWS), fabs(cdf - (double)(i + 1) / DRAWS)));
    }
    check_near(0, distance, 2.2 / sqrt(DRAWS), "distance of the distribution functions");
    int beyond_4 = 0;
    for (int i = 0; i < DRAWS; i++) beyond_4 += fabs((double)values[i]) > 4;
    check_near(63.3, beyond_4, 5 * sqrt(63.3), "draws beyond 4 standard deviations");
}

static void neighbors_in_a_normal_fill_are_independent(void) {
    cp_rng rng = cp_rng_named(15, "normal");
    cp_rng_fill_normal(&rng, values, DRAWS, 0, 1);
    for (int lag = 1; lag <= 8; lag++) {
        double product = 0, squares = 0;
        for (int i = 0; i + lag < DRAWS; i++) {
            double a = (double)values[i], b = (double)values[i + lag];
            product += a * b / DRAWS;
            squares += (a * a - 1) * (b * b - 1) / DRAWS;
        }
        check_near(0, product, 5 / sqrt(DRAWS), "correlation");
        check_near(0, squares, 5 * 2 / sqrt(DRAWS), "correlation of the squares");
    }
}

/* Box-Muller in double from the same words; the logarithm, root, sine and cosine of the float version must agree with it. */
static void filled_normals_match_the_formula(void) {
    cp_rng rng = cp_rng_named(16, "formula");
    cp_rng_fill_normal(&rng, values, DRAWS, 0, 1);
    const double turn = 2 * acos(-1.0);
    double       worst = 0;
    for (uint64_t block = 0; block < DRAWS / VALUES_PER_BLOCK; block++) {
        uint32_t counter[4] = {(uint32_t)block, 0, rng.stream[0], rng.stream[1]}, w[4];
        cp_philox(counter, rng.key, w);
        for (int pair = 0; pair < VALUES_PER_BLOCK / 2; pair++) {
            double u, angle;
            if (VALUES_PER_BLOCK == 2) {
                u = ((double)((((uint64_t)w[1] << 32) | w[0]) >> 11) + 1) * 0x1p-53;
                angle = turn * (double)((((uint64_t)w[3] << 32) | w[2]) >> 11) * 0x1p-53;
            } else {
                uint32_t low = w[2 * pair + 1] << 2;
                u = (double)((float)(w[2 * pair] >> 1) * 0x1p-31f + 0x1p-32f); /* rounded near 1 */
                angle = turn / 4 * (w[2 * pair + 1] >> 30) + turn / 4 * (double)(int32_t)low * 0x1p-32;
            }
            double         radius = sqrt(-2 * log(u));
            const cp_real *x = values + block * VALUES_PER_BLOCK + 2 * pair;
            worst = fmax(worst, fabs((double)x[0] - radius * cos(angle)));
            worst = fmax(worst, fabs((double)x[1] - radius * sin(angle)));
        }
    }
    check_near(0, worst, VALUES_PER_BLOCK == 2 ? 1e-13 : 3e-6, "largest difference");
}

static void mean_and_sd_scale_and_shift_the_same_draws(void) {
    cp_rng a = cp_rng_named(17, "scale"), b = a;
    cp_rng_fill_normal(&a, values, 1000, 0, 1);
    cp_rng_fill_normal(&b, others, 1000, 3, 2);
    for (int i = 0; i < 1000; i++) check_near(3 + 2 * (double)values[i], (double)others[i], 1e-5, "value");
    cp_rng_fill_normal(&b, others, 1000, 3, 0);
    for (int i = 0; i < 1000; i++) TEST_ASSERT_TRUE(others[i] == 3);
}

static void every_normal_is_finite(void) {
    cp_rng rng = cp_rng_named(18, "finite");
    double largest = 0;
    for (int turn = 0; turn < 20; turn++) {
        cp_rng_fill_normal(&rng, values, DRAWS, 0, 1);
        for (int i = 0; i < DRAWS; i++) {
            if (!isfinite(values[i])) TEST_FAIL_MESSAGE("not finite");
            largest = fmax(largest, fabs((double)values[i]));
        }
    }
    TEST_ASSERT_TRUE(largest > 4.5 && largest < 8.7);
}

static uint32_t inverse(uint32_t odd) {
    uint32_t x = odd; /* right in 3 bits; each Newton step doubles them */
    for (int i = 0; i < 4; i++) x *= 2 - odd * x;
    return x;
}

/* The counter whose block under key 0 is w. */
static void philox_backwards(uint32_t w[4]) {
    const uint32_t m0 = 0xD2511F53u, m1 = 0xCD9E8D57u;
    for (uint32_t round = 10; round-- > 0;) {
        uint32_t c0 = w[3] * inverse(m0), c2 = w[1] * inverse(m1);
        uint32_t c1 = w[0] ^ (uint32_t)((uint64_t)m1 * c2 >> 32) ^ round * 0x9E3779B9u;
        uint32_t c3 = w[2] ^ (uint32_t)((uint64_t)m0 * c0 >> 32) ^ round * 0xBB67AE85u;
        w[0] = c0, w[1] = c1, w[2] = c2, w[3] = c3;
    }
}

/* A stream at the start of a block whose words are all `word`, except for the lowest bits of the last. */
static cp_rng before_block_of(uint32_t word) {
    for (uint32_t low = 0;; low++) {
        uint32_t w[4] = {word, word, word, word ^ low};
        philox_backwards(w);
        if (w[1] < 1u << 30) return (cp_rng){{0, 0}, {w[2], w[3]}, 4 * ((uint64_t)w[1] << 32 | w[0])};
    }
}

static void the_most_extreme_words_give_finite_normals_and_uniforms_in_bounds(void) {
    static const uint32_t words[] = {0, 0xffffffff, 0x80000000, 0x7fffffff};
    for (int i = 0; i < 4; i++) {
        cp_rng rng = before_block_of(words[i]), normal = rng, single = rng, uniform = rng;
        TEST_ASSERT_EQUAL_HEX32(words[i], cp_rng_u32(&rng));
        cp_rng_fill_normal(&normal, values, VALUES_PER_BLOCK, 0, 1);
        cp_rng_fill_uniform(&uniform, others, VALUES_PER_BLOCK, 0, 1);
        TEST_ASSERT_TRUE(isfinite(cp_rng_normal(&single)));
        for (int k = 0; k < VALUES_PER_BLOCK; k++) {
            TEST_ASSERT_TRUE(isfinite(values[k]));
            TEST_ASSERT_TRUE(others[k] >= 0 && others[k] < 1);
        }
        double radius = sqrt((double)values[0] * (double)values[0] + (double)values[1] * (double)values[1]);
        double max = sqrt(2 * log(VALUES_PER_BLOCK == 2 ? 0x1p53 : 0x1p32));
        if (words[i] == 0) check_near(max, radius, 1e-5, "the largest radius");
        if (words[i] == 0xffffffff) check_near(0, radius, 1e-3, "the smallest radius");
    }
}

static void uniforms_stay_below_the_upper_bound_after_rounding(void) {
    cp_rng        rng = cp_rng_named(19, "bounds");
    const cp_real low[] = {0, -1, 1000, (cp_real)0.1, 1};
    const cp_real high[] = {1, 1, 1001, (cp_real)0.3, 1 + 2 * CP_REAL_EPSILON};
    for (int k = 0; k < 5; k++) {
        cp_rng_fill_uniform(&rng, values, DRAWS, low[k], high[k]);
        for (int i = 0; i < DRAWS; i++) {
            if (!(values[i] >= low[k] && values[i] < high[k])) TEST_FAIL_MESSAGE("out of bounds");
        }
    }
    cp_rng_fill_uniform(&rng, values, 10, 2, 2);
    for (int i = 0; i < 10; i++) TEST_ASSERT_TRUE(values[i] == 2);
}

static void bounds_out_of_order_or_not_finite_are_misuse_and_draw_nothing(void) {
    cp_rng rng = cp_rng_named(20, "misuse");
    values[0] = 42;
    errors_catch();
    cp_rng_fill_uniform(&rng, values, 1, 1, 0);
    cp_rng_fill_uniform(&rng, values, 1, 0, (cp_real)INFINITY);
    cp_rng_fill_uniform(&rng, values, 1, (cp_real)NAN, 1);
    cp_rng_fill_uniform(&rng, values, 1, -CP_REAL_MAX, CP_REAL_MAX);
    TEST_ASSERT_EQUAL_INT(4, errors);
    TEST_ASSERT_TRUE(values[0] == 42);
    TEST_ASSERT_EQUAL_UINT64(0, rng.position);
}

static void a_null_name_is_misuse(void) {
    errors_catch();
    cp_rng_named(1, NULL);
    TEST_ASSERT_EQUAL_INT(1, errors);
}

/* ---- whole numbers ---- */

static void below_is_unbiased_for_three(void) {
    cp_rng rng = cp_rng_named(21, "below");
    int    counts[3] = {0};
    for (int i = 0; i < DRAWS; i++) counts[cp_rng_below(&rng, 3)]++;
    for (int i = 0; i < 3; i++) check_near(DRAWS / 3.0, counts[i], 5 * sqrt(DRAWS * 2.0 / 9), "count");
}

/* Without rejection the lower half of the values would be twice as frequent as the rest. */
static void below_is_unbiased_for_three_quarters_of_the_range(void) {
    cp_rng         rng = cp_rng_named(22, "below");
    const uint64_t n = (uint64_t)3 << 62;
    int            thirds = 0, draws = 100000;
    for (int i = 0; i < draws; i++) thirds += cp_rng_below(&rng, n) < (uint64_t)1 << 62;
    check_near(draws / 3.0, thirds, 5 * sqrt(draws * 2.0 / 9), "count");
}

static void below_works_for_small_and_large_ranges(void) {
    cp_rng   rng = cp_rng_named(23, "below");
    uint64_t n = ((uint64_t)1 << 63) + 1, largest = 0;
    TEST_ASSERT_EQUAL_UINT64(0, cp_rng_below(&rng, 0));
    TEST_ASSERT_EQUAL_UINT64(0, cp_rng_below(&rng, 1));
    for (int i = 0; i < 1000; i++) {
        uint64_t value = cp_rng_below(&rng, n);
        TEST_ASSERT_TRUE(value < n);
        largest = value > largest ? value : largest;
        TEST_ASSERT_TRUE(cp_rng_below(&rng, UINT64_MAX) < UINT64_MAX);
    }
    TEST_ASSERT_TRUE(largest > n / 10 * 9);
}

static void a_permutation_has_every_number_once(void) {
    enum { N = 1000 };
    cp_rng rng = cp_rng_named(24, "order");
    int    order[N + 1], moved = 0;
    for (int n = 0; n <= N; n += n < 10 ? 1 : 99) {
        bool seen[N] = {false};
        order[n] = -7;
        cp_rng_permutation(&rng, order, n);
        TEST_ASSERT_EQUAL_INT(-7, order[n]);
        for (int i = 0; i < n; i++) {
            TEST_ASSERT_TRUE(order[i] >= 0 && order[i] < n && !seen[order[i]]);
            seen[order[i]] = true;
            moved += order[i] != i;
        }
    }
    TEST_ASSERT_TRUE(moved > N);
}

static void all_orders_of_three_are_equally_likely(void) {
    enum { TURNS = 120000 };
    cp_rng rng = cp_rng_named(25, "order");
    int    counts[27] = {0}, order[3];
    for (int i = 0; i < TURNS; i++) {
        cp_rng_permutation(&rng, order, 3);
        counts[order[0] * 9 + order[1] * 3 + order[2]]++;
    }
    static const int orders[6] = {5, 7, 11, 15, 19, 21}; /* 012 021 102 120 201 210 in base 3 */
    for (int i = 0; i < 6; i++) check_near(TURNS / 6.0, counts[orders[i]], 5 * sqrt(TURNS * 5.0 / 36), "count");
}

/* ---- the same numbers from any sequence of calls ---- */

typedef void (*fill_fn)(cp_rng *rng, cp_real *out, size_t n, cp_real first, cp_real second);

static void fills_have_the_same_bits_for_any_number_of_threads(void) {
    static const int    threads[] = {2, 3, 7};
    static const size_t counts[] = {1, 5, 255, 256, 257, 16384, 16385, 100003};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (int normal = 0; normal < 2; normal++) {
            fill_fn fill = normal ? cp_rng_fill_normal : cp_rng_fill_uniform;
            cp_rng  expected = cp_rng_named(26, "threads");
            cp_threads_set(1);
            fill(&expected, values, counts[c], -1, 1);
            for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
                cp_rng rng = cp_rng_named(26, "threads");
                memset(others, 0, counts[c] * sizeof *others);
                cp_threads_set(threads[t]);
                fill(&rng, others, counts[c], -1, 1);
                TEST_ASSERT_EQUAL_MEMORY(values, others, counts[c] * sizeof *values);
                TEST_ASSERT_EQUAL_UINT64(expected.position, rng.position);
            }
        }
    }
}

static void a_fill_in_two_calls_equals_one_call_if_cut_at_a_multiple_of_four(void) {
    cp_rng whole = cp_rng_named(27, "cut");
    cp_rng_fill_normal(&whole, values, 3001, 0, 1);
    for (size_t cut = 0; cut <= 3000; cut += 500) {
        cp_rng parts = cp_rng_named(27, "cut");
        cp_rng_fill_normal(&parts, others, cut, 0, 1);
        cp_rng_fill_normal(&parts, others + cut, 3001 - cut, 0, 1);
        TEST_ASSERT_EQUAL_MEMORY(values, others, 3001 * sizeof *values);
        TEST_ASSERT_EQUAL_UINT64(whole.position, parts.position);
    }
}

static void a_fill_writes_exactly_its_values_and_advances_by_whole_blocks(void) {
    for (size_t n = 0; n < 600; n++) {
        cp_rng rng = cp_rng_named(28, "ends");
        rng.position = 5;
        for (size_t i = 0; i <= n; i++) values[i] = 77;
        cp_rng_fill_uniform(&rng, values, n, 0, 1);
        for (size_t i = 0; i < n; i++) TEST_ASSERT_TRUE(values[i] < 1);
        TEST_ASSERT_TRUE(values[n] == 77);
        uint64_t blocks = (n + VALUES_PER_BLOCK - 1) / VALUES_PER_BLOCK;
        TEST_ASSERT_EQUAL_UINT64(n ? 8 + 4 * blocks : 5, rng.position);
    }
}

static void a_fill_in_pieces_equals_one_fill_and_skipping_it_advances_as_far(void) {
    for (size_t start = 0; start < 5; start++) {
        cp_rng before = cp_rng_named(29, "pieces"), whole, skipping;
        before.position = start;
        whole = skipping = before;
        cp_rng_fill_normal(&whole, values, 2003, 0, 1);
        cp_rng_skip_fill(&skipping, 2003);
        TEST_ASSERT_EQUAL_UINT64(whole.position, skipping.position);
        for (size_t first = 0; first < 2003; first += 125 * CP_FILL_UNIT) {
            cp_rng       inside = cp_rng_inside_fill(before, first);
            const size_t count = 2003 - first < 125 * CP_FILL_UNIT ? 2003 - first : 125 * CP_FILL_UNIT;
            cp_rng_fill_normal(&inside, others + first, count, 0, 1);
        }
        TEST_ASSERT_EQUAL_MEMORY(values, others, 2003 * sizeof *values);
        cp_rng_skip_fill(&before, 0);
        TEST_ASSERT_EQUAL_UINT64(start, before.position);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(philox_gives_the_known_answers_of_random123);
    RUN_TEST(words_come_from_the_block_and_index_of_the_position);
    RUN_TEST(streams_with_other_names_or_seeds_differ);
    RUN_TEST(neighboring_seeds_are_uncorrelated);
    RUN_TEST(a_saved_stream_resumes_exactly);
    RUN_TEST(single_uniforms_are_uniform);
    RUN_TEST(filled_uniforms_are_uniform);
    RUN_TEST(single_normals_are_normal);
    RUN_TEST(filled_normals_are_normal);
    RUN_TEST(neighbors_in_a_normal_fill_are_independent);
    RUN_TEST(filled_normals_match_the_formula);
    RUN_TEST(mean_and_sd_scale_and_shift_the_same_draws);
    RUN_TEST(every_normal_is_finite);
    RUN_TEST(the_most_extreme_words_give_finite_normals_and_uniforms_in_bounds);
    RUN_TEST(uniforms_stay_below_the_upper_bound_after_rounding);
    RUN_TEST(bounds_out_of_order_or_not_finite_are_misuse_and_draw_nothing);
    RUN_TEST(a_null_name_is_misuse);
    RUN_TEST(below_is_unbiased_for_three);
    RUN_TEST(below_is_unbiased_for_three_quarters_of_the_range);
    RUN_TEST(below_works_for_small_and_large_ranges);
    RUN_TEST(a_permutation_has_every_number_once);
    RUN_TEST(all_orders_of_three_are_equally_likely);
    RUN_TEST(fills_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(a_fill_in_two_calls_equals_one_call_if_cut_at_a_multiple_of_four);
    RUN_TEST(a_fill_writes_exactly_its_values_and_advances_by_whole_blocks);
    RUN_TEST(a_fill_in_pieces_equals_one_fill_and_skipping_it_advances_as_far);
    return UNITY_END();
}
