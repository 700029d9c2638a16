/* The kernels other than convolutions: the reference against loops written here, every fast family against the reference or
 * against exact results. */
#include "tests/support/setup_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void the_reference_gemm_equals_three_loops_in_all_orders(void) {
    for (int trial = 0; trial < 200; trial++) {
        const int  m = random_between(1, 70), n = random_between(1, 70), k = random_between(0, 40), orders = trial % 8;
        const bool trans_a = orders & 1, trans_b = orders & 2, accumulate = orders & 4;
        cp_real   *a = numbers((size_t)(m * k)), *b = numbers((size_t)(k * n)), *c = numbers((size_t)(m * n));
        double    *expected = calloc((size_t)(m * n), sizeof(double));
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) {
                expected[i * n + j] = accumulate ? (double)c[i * n + j] : 0;
                for (int p = 0; p < k; p++) {
                    expected[i * n + j] += (double)a[trans_a ? p * m + i : i * k + p] * (double)b[trans_b ? j * k + p : p * n + j];
                }
            }
        }
        cp_family_reference.gemm(scratch, trans_a, trans_b, (size_t)m, (size_t)n, (size_t)k, a, b, c, accumulate);
        assert_rounded((size_t)(m * n), c, expected, "gemm");
        free(a), free(b), free(c), free(expected);
    }
}

static void gemm_agrees(size_t m, size_t n, size_t k, int orders) {
    const bool trans_a = orders & 1, trans_b = orders & 2, accumulate = orders & 4;
    cp_real   *a = numbers(m * k), *b = numbers(k * n), *start = numbers(m * n), *expected = numbers(m * n), *got = numbers(m * n);
    memcpy(expected, start, m * n * sizeof(cp_real));
    cp_family_reference.gemm(scratch, trans_a, trans_b, m, n, k, a, b, expected, accumulate);
    for (int next = FAMILY_FAST; kernels_next(&next);) {
        for (int threads = 1; threads <= 3; threads += 2) {
            char message[100];
            snprintf(message, sizeof message, "%s gemm %zux%zux%zu orders %d", cp_kernels()->name, m, n, k, orders);
            cp_threads_set(threads);
            memcpy(got, start, m * n * sizeof(cp_real));
            TEST_ASSERT_TRUE(cp_kernels()->gemm(scratch, trans_a, trans_b, m, n, k, a, b, got, accumulate));
            assert_close(m * n, got, expected, k, 1e-5, message);
        }
    }
    free(a), free(b), free(start), free(expected), free(got);
}

static void fast_gemm_agrees_with_the_reference_in_all_orders_and_sizes(void) {
    const size_t edges[][3] = {{1, 1, 1},   {2, 2, 2},   {0, 3, 3},    {3, 0, 3},      {3, 3, 0},      {64, 8, 128},
                               {1, 700, 5}, {700, 1, 5}, {5, 5, 1000}, {130, 70, 385}, {61, 1100, 20}, {6, 16, 384}};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        for (int orders = 0; orders < 8; orders++) {
            gemm_agrees(edges[i][0], edges[i][1], edges[i][2], orders);
        }
    }
    for (int trial = 0; trial < 150; trial++) {
        gemm_agrees((size_t)random_between(1, 80), (size_t)random_between(1, 80), (size_t)random_between(1, 60), trial % 8);
    }
}

static double sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

static const struct {
    const char *name;
    double (*exact)(double);
} functions[] = {{"exp", exp}, {"log", log}, {"tanh", tanh}, {"sigmoid", sigmoid}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void on_array(int function, size_t n, const cp_real *x, cp_real *y) {
    const cp_kernel_family *k = cp_kernels();
    void (*const of[])(size_t n, const cp_real *x, cp_real *y) = {k->exps, k->logs, k->tanhs, k->sigmoids};
    of[function](n, x, y);
}

/* The difference in units in the last place of a float; infinite if only one is NaN or infinite. */
static double float_ulps(double got, double exact) {
    const double rounded = (double)(float)exact;
    if (isnan(exact) || isnan(got)) {
        return isnan(exact) && isnan(got) ? 0 : INFINITY;
    }
    if (isinf(rounded) || isinf(got)) {
        return got == rounded || fabs(fmin(fabs(got), fabs(exact))) > 3.4028233e38 ? 0 : INFINITY;
    }
    int exponent;
    frexp(exact, &exponent);
    return fabs(got - exact) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static void exp_log_tanh_and_sigmoid_are_within_two_ulp_over_the_whole_range(void) {
    enum { COUNT = 4099 };
    cp_real *x = numbers(COUNT), *y = numbers(COUNT);
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        for (int f = 0; f < FUNCTIONS; f++) {
            for (uint64_t bits = 0; bits < (uint64_t)1 << 32;) { /* every 4,001st float */
                for (int i = 0; i < COUNT; i++, bits += 4001) {
                    const uint32_t pattern = (uint32_t)bits;
                    float          value;
                    memcpy(&value, &pattern, sizeof value);
                    x[i] = (cp_real)value;
                }
                on_array(f, COUNT, x, y);
                for (int i = 0; i < COUNT; i++) {
                    const double ulps = float_ulps((double)y[i], functions[f].exact((double)x[i]));
                    if (ulps > 2) {
                        char text[120];
                        snprintf(text, sizeof text, "%s %s(%a) is off by %g ulp", cp_kernels()->name, functions[f].name,
                                 (double)x[i], ulps);
                        TEST_FAIL_MESSAGE(text);
                    }
                }
            }
        }
    }
    free(x), free(y);
}

static void exp_log_tanh_and_sigmoid_have_the_right_limits(void) {
    const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-45, -1e-45, 88.72, 88.73, -87.33, -103.9, -104.1, 1.0};
    enum { COUNT = sizeof special / sizeof *special };
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        for (int f = 0; f < FUNCTIONS; f++) {
            cp_real *x = numbers(COUNT), *y = numbers(COUNT);
            for (int i = 0; i < COUNT; i++) {
                x[i] = (cp_real)special[i];
            }
            on_array(f, COUNT, x, y);
            for (int i = 0; i < COUNT; i++) {
                const double exact = functions[f].exact((double)x[i]);
                TEST_ASSERT_TRUE_MESSAGE(float_ulps((double)y[i], exact) <= 2, functions[f].name);
                TEST_ASSERT_TRUE_MESSAGE(isnan(exact) || !signbit(y[i]) == !signbit(exact), functions[f].name);
            }
            on_array(f, COUNT, x, x);
            TEST_ASSERT_EQUAL_MEMORY(y, x, COUNT * sizeof(cp_real));
            on_array(f, 0, NULL, NULL);
            free(x), free(y);
        }
    }
}

/* Each array starts at a multiple of a vector's size, and then one number after it. */
static void elementwise_is_exact(size_t n, size_t offset) {
    const cp_real  slope = (cp_real)0.25; /* a power of two: the products are exact */
    cp_real *const arrays[] = {numbers(n + offset), numbers(n + offset), numbers(n + offset)};
    cp_real       *a = arrays[0] + offset, *b = arrays[1] + offset, *y = arrays[2] + offset;
    if (n > 2) {
        a[0] = (cp_real)NAN;
        a[1] = b[2] = 0;
    }
    cp_kernels()->add(n, a, b, y);
    for (size_t i = 0; i < n; i++) {
        TEST_ASSERT_TRUE_MESSAGE(y[i] == a[i] + b[i] || (isnan(y[i]) && isnan(a[i])), cp_kernels()->name);
    }
    cp_kernels()->gate(n, b, a, slope, y);
    for (size_t i = 0; i < n; i++) {
        TEST_ASSERT_TRUE_MESSAGE(y[i] == (a[i] > 0 ? b[i] : slope * b[i]), cp_kernels()->name);
    }
    cp_kernels()->leaky(n, a, slope, a);
    cp_kernels()->leaky(n, b, slope, y);
    for (size_t i = 0; i < n; i++) {
        TEST_ASSERT_TRUE_MESSAGE(y[i] == (b[i] > 0 ? b[i] : slope * b[i]), cp_kernels()->name);
    }
    TEST_ASSERT_TRUE_MESSAGE(n <= 2 || isnan(a[0]), cp_kernels()->name);
    free(arrays[0]), free(arrays[1]), free(arrays[2]);
}

static void sums_leaky_relus_and_gates_are_exact_for_every_length(void) {
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        for (size_t n = 0; n <= 70; n++) {
            elementwise_is_exact(n, 0);
            elementwise_is_exact(n, 1);
        }
    }
}

/* Multiples of 1/8: with such scales and shifts results are exact, and sometimes exactly zero. */
static cp_real *eighths(size_t count) {
    cp_real *p = numbers(count);
    for (size_t i = 0; i < count; i++) {
        p[i] = (cp_real)(random_between(-8, 8) / 8.0);
    }
    return p;
}

/* One in four is an edge case. */
static cp_real *eighths_and_specials(size_t count) {
    const cp_real special[] = {(cp_real)NAN, (cp_real)-NAN,         (cp_real)INFINITY,      (cp_real)-INFINITY, 0,
                               (cp_real)-0., (cp_real)FLT_TRUE_MIN, (cp_real)-FLT_TRUE_MIN, CP_REAL_MAX,        -CP_REAL_MAX};
    cp_real      *p = eighths(count);
    for (size_t i = 0; i < count; i++) {
        if (random_between(0, 3) == 0) {
            p[i] = special[random_between(0, sizeof special / sizeof *special - 1)];
        }
    }
    return p;
}

static void signs_are_exact(size_t rows, size_t channels, bool scaled) {
    const size_t   count = rows * channels;
    cp_real       *x = eighths_and_specials(count), *scale = eighths(channels), *shift = eighths(channels);
    unsigned char *signs = malloc(cp_signs_bytes(count));
    TEST_ASSERT_NOT_NULL(signs);
    for (int before = 0; before <= 0xFF; before += 0xFF) {
        memset(signs, before, cp_signs_bytes(count));
        cp_kernels()->signs(rows, channels, x, scaled ? scale : NULL, scaled ? shift : NULL, signs);
        for (size_t i = 0; i < count; i++) {
            const cp_real value = scaled ? scale[i % channels] * x[i] + shift[i % channels] : x[i];
            if (cp_signs_get(signs, i) != (value > 0)) {
                char text[120];
                snprintf(text, sizeof text, "%s: bit %zu of %zu rows, %zu channels: the sign of %g", cp_kernels()->name, i, rows,
                         channels, (double)value);
                TEST_FAIL_MESSAGE(text);
            }
        }
    }
    free(x), free(scale), free(shift), free(signs);
}

static void signs_are_exact_for_every_count_and_number_of_channels(void) {
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        for (size_t count = 0; count <= 70; count++) {
            signs_are_exact(1, count, false), signs_are_exact(count, 1, false);
            signs_are_exact(1, count, true), signs_are_exact(count, 1, true);
        }
        for (size_t channels = 1; channels <= 35; channels++) {
            for (size_t rows = 0; rows <= 9; rows++) {
                signs_are_exact(rows, channels, false), signs_are_exact(rows, channels, true);
            }
        }
        /* several tasks, whose first channels differ */
        signs_are_exact(3001, 17, true), signs_are_exact(1000, 48, true), signs_are_exact(700, 65, false);
    }
}

static void the_peak_is_a_plausible_rate_for_one_core(void) {
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        const double peak = cp_kernels()->fma_peak();
        TEST_ASSERT_TRUE(peak > 0.01 && peak < 2000);
    }
}

static void known_families_are_found_by_name_and_unknown_ones_are_not(void) {
    TEST_ASSERT_NULL(cp_kernels_named("abacus"));
    TEST_ASSERT_NULL(cp_kernels_named(""));
    TEST_ASSERT_EQUAL_PTR(&cp_family_reference, cp_kernels_named("reference"));
    TEST_ASSERT_EQUAL_PTR(cp_kernels(), cp_kernels_named(cp_kernels()->name));
}

static const char *family_by(const char *environment) {
    environment ? setenv("COUPLET_KERNELS", environment, 1) : unsetenv("COUPLET_KERNELS");
    kernels_default();
    return cp_kernels()->name;
}

static void the_environment_chooses_the_family_and_a_wrong_name_falls_back(void) {
    const char *automatic = family_by(NULL);
    TEST_ASSERT_EQUAL_STRING("reference", family_by("reference"));
    TEST_ASSERT_EQUAL_STRING(automatic, family_by("abacus"));
    TEST_ASSERT_EQUAL_STRING(automatic, family_by(""));
    TEST_ASSERT_EQUAL_STRING(automatic, family_by(NULL));
}

static cp_conv_method method_by(const char *environment) {
    setenv("COUPLET_CONV", environment, 1);
    kernels_default();
    const cp_conv_method method = cp_kernels_method();
    unsetenv("COUPLET_CONV");
    return method;
}

static void the_environment_chooses_the_method_and_a_wrong_name_falls_back(void) {
    TEST_ASSERT_EQUAL_INT(CP_CONV_DIRECT, method_by("direct"));
    TEST_ASSERT_EQUAL_INT(CP_CONV_WINOGRAD_2, method_by("winograd2"));
    TEST_ASSERT_EQUAL_INT(CP_CONV_WINOGRAD_4, method_by("winograd4"));
    TEST_ASSERT_EQUAL_INT(CP_CONV_AUTO, method_by("auto"));
    TEST_ASSERT_EQUAL_INT(CP_CONV_AUTO, method_by("winograd3"));
    TEST_ASSERT_EQUAL_INT(CP_CONV_AUTO, method_by(""));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_reference_gemm_equals_three_loops_in_all_orders);
    RUN_TEST(fast_gemm_agrees_with_the_reference_in_all_orders_and_sizes);
    RUN_TEST(exp_log_tanh_and_sigmoid_are_within_two_ulp_over_the_whole_range);
    RUN_TEST(exp_log_tanh_and_sigmoid_have_the_right_limits);
    RUN_TEST(sums_leaky_relus_and_gates_are_exact_for_every_length);
    RUN_TEST(signs_are_exact_for_every_count_and_number_of_channels);
    RUN_TEST(the_peak_is_a_plausible_rate_for_one_core);
    RUN_TEST(known_families_are_found_by_name_and_unknown_ones_are_not);
    RUN_TEST(the_environment_chooses_the_family_and_a_wrong_name_falls_back);
    RUN_TEST(the_environment_chooses_the_method_and_a_wrong_name_falls_back);
    return UNITY_END();
}
