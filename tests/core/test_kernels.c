/* The kernels: the reference against loops written here, every fast family and method against the reference. */
#include "core/kernels/fast.h"
#include "core/pool.h"
#include "unity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cp_arena *scratch;
static uint64_t  random_state;

void setUp(void) {
    random_state = 0x9E3779B97F4A7C15u;
    scratch      = cp_arena_new();
}

void tearDown(void) {
    TEST_ASSERT_EQUAL_MESSAGE(0, cp_arena_used(scratch), "a kernel kept some of its scratch memory");
    cp_arena_free(scratch);
    cp_kernels_force(NULL, CP_CONV_AUTO);
    cp_threads_set(0);
}

static uint32_t random_u32(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

static int random_between(int low, int high) {
    return low + (int)(random_u32() % (uint32_t)(high - low + 1));
}

/* Exactly `count` numbers on the heap, so that the address sanitizer sees a step beyond them; filled with [-1, 1). */
static cp_real *numbers(size_t count) {
    cp_real *p = malloc(count * sizeof(cp_real) + (count == 0));
    TEST_ASSERT_NOT_NULL(p);
    for (size_t i = 0; i < count; i++) {
        p[i] = (cp_real)((double)random_u32() / 2147483648.0 - 1.0);
    }
    return p;
}

static size_t x_size(const cp_conv_shape *s) {
    return (size_t)s->n * (size_t)s->h * (size_t)s->w * (size_t)s->c;
}

static size_t y_size(const cp_conv_shape *s) {
    return (size_t)s->n * (size_t)s->oh * (size_t)s->ow * (size_t)s->k;
}

static size_t w_size(const cp_conv_shape *s) {
    return (size_t)s->kh * (size_t)s->kw * (size_t)(s->c / s->groups) * (size_t)s->k;
}

static const char *named(const cp_conv_shape *s, const char *what) {
    static char text[256];
    snprintf(text, sizeof text,
             "%s %s: n %d, %dx%dx%d -> %dx%dx%d, kernel %dx%d, stride %d,%d pad %d,%d dilation %d,%d groups %d",
             cp_kernels_family(), what, s->n, s->h, s->w, s->c, s->oh, s->ow, s->k, s->kh, s->kw, s->stride_h,
             s->stride_w, s->pad_top, s->pad_left, s->dilation_h, s->dilation_w, s->groups);
    return text;
}

/* The largest difference, relative to the largest expected number or, where all cancel, to the size a sum of `depth`
 * products of numbers in [-1, 1] has. */
static double distance(size_t count, const cp_real *got, const cp_real *expected, size_t depth) {
    double scale = sqrt((double)depth) / 3, worst = 0;
    for (size_t i = 0; i < count; i++) {
        scale = fmax(scale, fabs((double)expected[i]));
    }
    for (size_t i = 0; i < count; i++) {
        const double difference = fabs((double)got[i] - (double)expected[i]);
        if (isnan(difference)) {
            return INFINITY;
        }
        worst = fmax(worst, difference);
    }
    return worst == 0 ? 0 : worst / scale;
}

static void assert_close(size_t count, const cp_real *got, const cp_real *expected, size_t depth, double tolerance,
                         const char *message) {
    const double d = distance(count, got, expected, depth);
    if (!(d <= tolerance)) {
        char text[400];
        snprintf(text, sizeof text, "%s differs by %g, allowed %g", message, d, tolerance);
        TEST_FAIL_MESSAGE(text);
    }
}

static cp_conv_shape with_output(cp_conv_shape s) {
    const int room_h = s.h + 2 * s.pad_top - (s.kh - 1) * s.dilation_h - 1;
    const int room_w = s.w + 2 * s.pad_left - (s.kw - 1) * s.dilation_w - 1;
    s.oh             = room_h < 0 ? 0 : room_h / s.stride_h + 1;
    s.ow             = room_w < 0 ? 0 : room_w / s.stride_w + 1;
    return s;
}

static cp_conv_shape plain(int n, int side, int c, int k, int kernel, int stride, int pad) {
    return with_output((cp_conv_shape){.n          = n,
                                       .h          = side,
                                       .w          = side,
                                       .c          = c,
                                       .kh         = kernel,
                                       .kw         = kernel,
                                       .k          = k,
                                       .stride_h   = stride,
                                       .stride_w   = stride,
                                       .pad_top    = pad,
                                       .pad_left   = pad,
                                       .dilation_h = 1,
                                       .dilation_w = 1,
                                       .groups     = 1});
}

static cp_conv_shape random_shape(void) {
    cp_conv_shape s = {.n          = random_between(1, 3),
                       .kh         = random_between(1, 4),
                       .kw         = random_between(1, 4),
                       .stride_h   = random_between(1, 2),
                       .stride_w   = random_between(1, 2),
                       .pad_top    = random_between(0, 2),
                       .pad_left   = random_between(0, 2),
                       .dilation_h = 1,
                       .dilation_w = 1,
                       .groups     = 1};
    if (random_between(0, 1)) { /* what Winograd takes */
        s.kh = s.kw = 3;
        s.stride_h = s.stride_w = 1;
    }
    if (random_between(0, 5) == 0) {
        s.dilation_h = random_between(1, 3), s.dilation_w = random_between(1, 3);
    }
    if (random_between(0, 5) == 0) {
        s.groups = random_between(2, 4);
    }
    s.h = random_between(1, 33), s.w = random_between(1, 33);
    s.c = s.groups * random_between(1, 65 / s.groups), s.k = s.groups * random_between(1, 65 / s.groups);
    s = with_output(s);
    if (s.oh > 0 && s.ow > 0 && random_between(0, 3) == 0) { /* more, or fewer, zeros behind than before */
        s.oh = random_between(1, s.oh + 1), s.ow = random_between(1, s.ow + 1);
    }
    return s;
}

typedef void (*visit_fn)(const cp_conv_shape *s, int n, int i, int j, int u, int v, int y, int x, void *context);

static void each_tap(const cp_conv_shape *s, visit_fn visit, void *context) {
    for (int n = 0; n < s->n; n++) {
        for (int i = 0; i < s->oh; i++) {
            for (int j = 0; j < s->ow; j++) {
                for (int u = 0; u < s->kh; u++) {
                    for (int v = 0; v < s->kw; v++) {
                        const int y = i * s->stride_h + u * s->dilation_h - s->pad_top;
                        const int x = j * s->stride_w + v * s->dilation_w - s->pad_left;
                        if (y >= 0 && y < s->h && x >= 0 && x < s->w) {
                            visit(s, n, i, j, u, v, y, x, context);
                        }
                    }
                }
            }
        }
    }
}

typedef struct naive {
    const cp_real *x, *w, *gy;
    double        *y, *gx, *gw;
} naive;

static void naive_visit(const cp_conv_shape *s, int n, int i, int j, int u, int v, int y, int x, void *context) {
    const naive *m  = context;
    const int    cg = s->c / s->groups, kg = s->k / s->groups;
    for (int o = 0; o < s->k; o++) {
        for (int c = 0; c < cg; c++) {
            const int in     = ((n * s->h + y) * s->w + x) * s->c + o / kg * cg + c,
                      out    = ((n * s->oh + i) * s->ow + j) * s->k + o;
            const int weight = ((u * s->kw + v) * cg + c) * s->k + o;
            m->y[out] += (double)m->x[in] * (double)m->w[weight];
            m->gx[in] += (double)m->gy[out] * (double)m->w[weight];
            m->gw[weight] += (double)m->gy[out] * (double)m->x[in];
        }
    }
}

static void assert_equals_naive(size_t count, const cp_real *got, const double *expected, const char *message) {
    const double tolerance = sizeof(cp_real) == 4 ? 2e-7 : 1e-13;
    for (size_t i = 0; i < count; i++) {
        if (!(fabs((double)got[i] - expected[i]) <= tolerance * (1 + fabs(expected[i])))) {
            TEST_FAIL_MESSAGE(message);
        }
    }
}

static void the_reference_convolutions_equal_loops_over_every_tap(void) {
    for (int trial = 0; trial < 60; trial++) {
        cp_conv_shape s = random_shape();
        s.h = 1 + s.h % 9, s.w = 1 + s.w % 9;
        s          = with_output(s);
        naive    m = {numbers(x_size(&s)),
                      numbers(w_size(&s)),
                      numbers(y_size(&s)),
                      calloc(y_size(&s) + 1, sizeof(double)),
                      calloc(x_size(&s) + 1, sizeof(double)),
                      calloc(w_size(&s) + 1, sizeof(double))};
        cp_real *y = numbers(y_size(&s)), *gx = numbers(x_size(&s)), *gw = numbers(w_size(&s));
        each_tap(&s, naive_visit, &m);
        cp_ref_conv2d(&s, m.x, m.w, NULL, y);
        cp_ref_conv2d_input_grad(&s, m.gy, m.w, gx);
        cp_ref_conv2d_weight_grad(&s, m.x, m.gy, gw);
        assert_equals_naive(y_size(&s), y, m.y, named(&s, "forward"));
        assert_equals_naive(x_size(&s), gx, m.gx, named(&s, "input gradient"));
        assert_equals_naive(w_size(&s), gw, m.gw, named(&s, "weight gradient"));
        free((void *)m.x), free((void *)m.w), free((void *)m.gy), free(m.y), free(m.gx), free(m.gw), free(y), free(gx),
            free(gw);
    }
}

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
                    expected[i * n + j] +=
                        (double)a[trans_a ? p * m + i : i * k + p] * (double)b[trans_b ? j * k + p : p * n + j];
                }
            }
        }
        cp_ref_gemm(trans_a, trans_b, (size_t)m, (size_t)n, (size_t)k, a, b, c, accumulate);
        assert_equals_naive((size_t)(m * n), c, expected, "gemm");
        free(a), free(b), free(c), free(expected);
    }
}

/* Everything one shape can be asked for, by whatever is forced now. */
typedef struct outcome {
    cp_real *y, *gx, *gw;
} outcome;

typedef struct problem {
    cp_conv_shape  s;
    cp_real       *x, *w, *gy;
    cp_conv_fusion forward, backward, weights;
} problem;

static problem problem_of(cp_conv_shape s, bool fused) {
    problem p      = {.s = s, .x = numbers(x_size(&s)), .w = numbers(w_size(&s)), .gy = numbers(y_size(&s))};
    p.forward.bias = numbers((size_t)s.k);
    if (fused) {
        p.forward = (cp_conv_fusion){p.forward.bias, numbers(y_size(&s)), numbers(y_size(&s)), true, (cp_real)0.2};
        p.backward =
            (cp_conv_fusion){numbers((size_t)s.c), numbers(x_size(&s)), numbers(x_size(&s)), true, (cp_real)0.3};
        p.weights = (cp_conv_fusion){NULL, NULL, NULL, true, (cp_real)0.2};
    }
    return p;
}

static void problem_free(problem *p) {
    free(p->x), free(p->w), free(p->gy);
    free((void *)p->forward.bias), free((void *)p->forward.gate), free((void *)p->forward.residual);
    free((void *)p->backward.bias), free((void *)p->backward.gate), free((void *)p->backward.residual);
}

static outcome outcome_of(const problem *p) {
    outcome o = {numbers(y_size(&p->s)), numbers(x_size(&p->s)), numbers(w_size(&p->s))};
    cp_kernel_conv2d_fused(scratch, &p->s, p->x, p->w, &p->forward, o.y);
    cp_kernel_conv2d_input_grad_fused(scratch, &p->s, p->gy, p->w, &p->backward, o.gx);
    cp_kernel_conv2d_weight_grad_fused(scratch, &p->s, p->x, p->gy, &p->weights, o.gw);
    return o;
}

static void outcome_free(outcome *o) {
    free(o->y), free(o->gx), free(o->gw);
}

static void assert_agrees(const problem *p, const outcome *expected, double tolerance) {
    const cp_conv_shape *s    = &p->s;
    const size_t         taps = (size_t)s->kh * (size_t)s->kw;
    outcome              got  = outcome_of(p);
    assert_close(y_size(s), got.y, expected->y, taps * (size_t)(s->c / s->groups), tolerance, named(s, "forward"));
    assert_close(x_size(s), got.gx, expected->gx, taps * (size_t)(s->k / s->groups), tolerance,
                 named(s, "input gradient"));
    assert_close(w_size(s), got.gw, expected->gw, (size_t)(s->n * s->oh * s->ow), tolerance,
                 named(s, "weight gradient"));
    outcome_free(&got);
}

static const char *const families[] = {"portable", "avx2", "avx512"};
enum { FAMILIES = sizeof families / sizeof *families };

static double tolerance_of(cp_conv_method method) {
    return method == CP_CONV_DIRECT ? 1e-5 : 1e-4;
}

static void all_families_agree_on(cp_conv_shape s, bool fused) {
    problem p = problem_of(s, fused);
    TEST_ASSERT_TRUE(cp_kernels_force("reference", CP_CONV_AUTO));
    outcome expected = outcome_of(&p);
    for (int family = 0; family < FAMILIES; family++) {
        for (int method = CP_CONV_AUTO; method <= CP_CONV_WINOGRAD_4; method++) {
            if (cp_kernels_force(families[family], (cp_conv_method)method)) {
                assert_agrees(&p, &expected, tolerance_of((cp_conv_method)method));
            }
        }
    }
    outcome_free(&expected);
    problem_free(&p);
}

static void fast_convolutions_agree_with_the_reference_on_random_shapes(void) {
    for (int trial = 0; trial < 120; trial++) {
        all_families_agree_on(random_shape(), trial % 3 == 0);
    }
}

static void fast_convolutions_agree_with_the_reference_on_shapes_at_the_edge(void) {
    const cp_conv_shape edges[] = {
        plain(1, 1, 1, 1, 1, 1, 0),      plain(1, 1, 1, 1, 3, 1, 1),    plain(2, 2, 16, 16, 3, 1, 1),
        plain(1, 3, 65, 33, 3, 1, 0),    plain(3, 33, 1, 16, 3, 1, 1),  plain(2, 28, 3, 16, 3, 1, 1),
        plain(2, 28, 16, 17, 3, 1, 1),   plain(2, 14, 32, 64, 1, 2, 0), plain(2, 15, 32, 64, 1, 2, 0),
        plain(5, 7, 64, 64, 3, 1, 1),    plain(2, 28, 24, 40, 3, 2, 1), plain(2, 29, 16, 16, 3, 2, 1),
        plain(1, 5, 8, 8, 5, 1, 2),      plain(1, 4, 8, 8, 7, 1, 3),    plain(1, 9, 7, 5, 2, 3, 0),
        plain(1, 8, 4, 4, 1, 1, 2),      plain(1, 6, 16, 16, 3, 1, 5),  plain(1, 2, 3, 4, 5, 1, 0),
        plain(1, 40, 130, 8, 3, 1, 1),   plain(1, 6, 16, 130, 3, 1, 2), plain(70, 4, 16, 16, 3, 1, 1),
        plain(1, 12, 128, 128, 3, 1, 1),
    };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        all_families_agree_on(edges[i], i % 2 == 1);
    }
}

static void convolutions_of_nothing_touch_nothing_and_give_zeros(void) {
    const char *const all[] = {"reference", "portable", "avx2", "avx512"};
    for (int family = 0; family < 4; family++) {
        for (int empty = 0; empty < 4; empty++) {
            if (!cp_kernels_force(all[family], CP_CONV_AUTO)) {
                continue;
            }
            cp_conv_shape s =
                plain(empty == 0 ? 0 : 2, 5, empty == 1 ? 0 : 3, empty == 2 ? 0 : 4, 3, 1, empty == 3 ? 0 : 1);
            if (empty == 3) {
                s.oh = 0;
            }
            problem p = problem_of(s, false);
            outcome o = outcome_of(&p);
            for (size_t i = 0; i < w_size(&s); i++) {
                TEST_ASSERT_TRUE_MESSAGE(o.gw[i] == 0, named(&s, "weight gradient of no pixels"));
            }
            for (size_t i = 0; i < x_size(&s) && y_size(&s) == 0; i++) {
                TEST_ASSERT_TRUE_MESSAGE(o.gx[i] == 0, named(&s, "input gradient of no outputs"));
            }
            for (size_t i = 0; i < y_size(&s) && s.c == 0; i++) {
                TEST_ASSERT_TRUE_MESSAGE(o.y[i] == p.forward.bias[i % 4], named(&s, "bias without channels"));
            }
            outcome_free(&o);
            problem_free(&p);
        }
    }
}

static void a_nan_in_an_image_reaches_every_output_it_touches(void) {
    cp_conv_shape s            = plain(1, 12, 16, 16, 3, 1, 1);
    problem       p            = problem_of(s, false);
    p.x[(6 * 12 + 6) * 16 + 3] = (cp_real)NAN;
    outcome o                  = outcome_of(&p);
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            TEST_ASSERT_TRUE(isnan(o.y[((6 + dy) * 12 + 6 + dx) * 16]));
        }
    }
    outcome_free(&o);
    problem_free(&p);
}

static void the_residual_may_be_the_output_itself(void) {
    for (int family = -1; family < FAMILIES; family++) {
        if (!cp_kernels_force(family < 0 ? "reference" : families[family], CP_CONV_AUTO)) {
            continue;
        }
        problem  p        = problem_of(plain(2, 9, 16, 20, 3, 1, 1), true);
        outcome  expected = outcome_of(&p);
        cp_real *y        = numbers(y_size(&p.s));
        memcpy(y, p.forward.residual, y_size(&p.s) * sizeof(cp_real));
        cp_conv_fusion in_place = p.forward;
        in_place.residual       = y;
        cp_kernel_conv2d_fused(scratch, &p.s, p.x, p.w, &in_place, y);
        TEST_ASSERT_EQUAL_MEMORY(expected.y, y, y_size(&p.s) * sizeof(cp_real));
        free(y);
        outcome_free(&expected);
        problem_free(&p);
    }
}

static void results_are_bit_identical_for_one_two_and_three_threads(void) {
    const cp_conv_shape shapes[] = {plain(9, 14, 32, 32, 3, 1, 1), plain(9, 15, 16, 48, 3, 2, 1),
                                    plain(33, 7, 65, 64, 3, 1, 1), plain(5, 28, 3, 16, 3, 1, 1),
                                    plain(7, 14, 32, 64, 1, 2, 0)};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int method = CP_CONV_AUTO; method <= CP_CONV_WINOGRAD_4; method++) {
            problem p = problem_of(shapes[i], false);
            cp_kernels_force(NULL, (cp_conv_method)method);
            cp_threads_set(1);
            outcome expected = outcome_of(&p);
            for (int threads = 2; threads <= 3; threads++) {
                cp_threads_set(threads);
                outcome got = outcome_of(&p);
                TEST_ASSERT_EQUAL_MEMORY(expected.y, got.y, y_size(&p.s) * sizeof(cp_real));
                TEST_ASSERT_EQUAL_MEMORY(expected.gx, got.gx, x_size(&p.s) * sizeof(cp_real));
                TEST_ASSERT_EQUAL_MEMORY(expected.gw, got.gw, w_size(&p.s) * sizeof(cp_real));
                outcome_free(&got);
            }
            outcome_free(&expected);
            problem_free(&p);
        }
    }
}

static void gemm_agrees(size_t m, size_t n, size_t k, int orders) {
    const bool trans_a = orders & 1, trans_b = orders & 2, accumulate = orders & 4;
    cp_real   *a = numbers(m * k), *b = numbers(k * n), *start = numbers(m * n), *expected = numbers(m * n),
            *got = numbers(m * n);
    memcpy(expected, start, m * n * sizeof(cp_real));
    cp_ref_gemm(trans_a, trans_b, m, n, k, a, b, expected, accumulate);
    for (int family = 0; family < FAMILIES; family++) {
        for (int threads = 1; threads <= 3; threads += 2) {
            if (cp_kernels_force(families[family], CP_CONV_AUTO)) {
                char message[100];
                snprintf(message, sizeof message, "%s gemm %zux%zux%zu orders %d", families[family], m, n, k, orders);
                cp_threads_set(threads);
                memcpy(got, start, m * n * sizeof(cp_real));
                cp_kernel_gemm(scratch, trans_a, trans_b, m, n, k, a, b, got, accumulate);
                assert_close(m * n, got, expected, k, 1e-5, message);
            }
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
        gemm_agrees((size_t)random_between(1, 80), (size_t)random_between(1, 80), (size_t)random_between(1, 60),
                    trial % 8);
    }
}

typedef void (*array_fn)(size_t n, const cp_real *x, cp_real *y);

typedef struct math_function {
    const char *name;
    array_fn    on_array;
    double (*exact)(double);
} math_function;

static double sigmoid(double x) {
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static const math_function functions[] = {{"exp", cp_kernel_exp, exp},
                                          {"log", cp_kernel_log, log},
                                          {"tanh", cp_kernel_tanh, tanh},
                                          {"sigmoid", cp_kernel_sigmoid, sigmoid}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* How many units in the last place of a float lie between; infinite when only one is NaN or infinite. */
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
    for (int family = -1; family < FAMILIES; family++) {
        if (!cp_kernels_force(family < 0 ? "reference" : families[family], CP_CONV_AUTO)) {
            continue;
        }
        for (int f = 0; f < FUNCTIONS; f++) {
            for (uint64_t bits = 0; bits < (uint64_t)1 << 32;) { /* every 4,001st float there is */
                for (int i = 0; i < COUNT; i++, bits += 4001) {
                    const uint32_t pattern = (uint32_t)bits;
                    float          value;
                    memcpy(&value, &pattern, sizeof value);
                    x[i] = (cp_real)value;
                }
                functions[f].on_array(COUNT, x, y);
                for (int i = 0; i < COUNT; i++) {
                    const double ulps = float_ulps((double)y[i], functions[f].exact((double)x[i]));
                    if (ulps > 2) {
                        char text[120];
                        snprintf(text, sizeof text, "%s %s(%a) is off by %g ulp", cp_kernels_family(),
                                 functions[f].name, (double)x[i], ulps);
                        TEST_FAIL_MESSAGE(text);
                    }
                }
            }
        }
    }
    free(x), free(y);
}

static void exp_log_tanh_and_sigmoid_know_their_limits(void) {
    const double special[] = {0.0,   -0.0,  INFINITY, -INFINITY, NAN,    1e-45, -1e-45,
                              88.72, 88.73, -87.33,   -103.9,    -104.1, 1.0};
    enum { COUNT = sizeof special / sizeof *special };
    for (int family = -1; family < FAMILIES; family++) {
        if (!cp_kernels_force(family < 0 ? "reference" : families[family], CP_CONV_AUTO)) {
            continue;
        }
        for (int f = 0; f < FUNCTIONS; f++) {
            cp_real *x = numbers(COUNT), *y = numbers(COUNT);
            for (int i = 0; i < COUNT; i++) {
                x[i] = (cp_real)special[i];
            }
            functions[f].on_array(COUNT, x, y);
            for (int i = 0; i < COUNT; i++) {
                const double exact = functions[f].exact((double)x[i]);
                TEST_ASSERT_TRUE_MESSAGE(float_ulps((double)y[i], exact) <= 2, functions[f].name);
                TEST_ASSERT_TRUE_MESSAGE(isnan(exact) || !signbit(y[i]) == !signbit(exact), functions[f].name);
            }
            functions[f].on_array(COUNT, x, x);
            TEST_ASSERT_EQUAL_MEMORY(y, x, COUNT * sizeof(cp_real));
            functions[f].on_array(0, NULL, NULL);
            free(x), free(y);
        }
    }
}

static void sums_leaky_relus_and_gates_are_exact_for_every_length(void) {
    for (int family = -1; family < FAMILIES; family++) {
        if (!cp_kernels_force(family < 0 ? "reference" : families[family], CP_CONV_AUTO)) {
            continue;
        }
        for (size_t n = 0; n <= 70; n++) {
            cp_real *a = numbers(n), *b = numbers(n), *y = numbers(n);
            if (n > 2) {
                a[0] = (cp_real)NAN;
                a[1] = b[2] = 0;
            }
            const cp_real slope = (cp_real)0.25; /* a power of two: the products are exact */
            cp_kernel_add(n, a, b, y);
            for (size_t i = 0; i < n; i++) {
                TEST_ASSERT_TRUE(y[i] == a[i] + b[i] || (isnan(y[i]) && isnan(a[i])));
            }
            cp_kernel_gate(n, b, a, slope, y);
            for (size_t i = 0; i < n; i++) {
                TEST_ASSERT_TRUE(y[i] == (a[i] > 0 ? b[i] : slope * b[i]));
            }
            cp_kernel_leaky(n, a, slope, a);
            cp_kernel_leaky(n, b, slope, y);
            for (size_t i = 0; i < n; i++) {
                TEST_ASSERT_TRUE(y[i] == (b[i] > 0 ? b[i] : slope * b[i]));
            }
            TEST_ASSERT_TRUE(n <= 2 || isnan(a[0]));
            free(a), free(b), free(y);
        }
    }
}

static void the_peak_is_a_rate_that_a_core_can_have(void) {
    for (int family = -1; family < FAMILIES; family++) {
        if (cp_kernels_force(family < 0 ? "reference" : families[family], CP_CONV_AUTO)) {
            const double peak = cp_kernel_fma_peak();
            TEST_ASSERT_TRUE(peak > 0.01 && peak < 2000);
        }
    }
}

static void an_unknown_family_is_refused_and_nothing_changes(void) {
    TEST_ASSERT_TRUE(cp_kernels_force("reference", CP_CONV_AUTO));
    TEST_ASSERT_FALSE(cp_kernels_force("abacus", CP_CONV_AUTO));
    TEST_ASSERT_EQUAL_STRING("reference", cp_kernels_family());
}

static void the_environment_chooses_the_family_and_a_wrong_name_falls_back(void) {
    unsetenv("COUPLET_KERNELS");
    TEST_ASSERT_TRUE(cp_kernels_force(NULL, CP_CONV_AUTO));
    const char *automatic = cp_kernels_family();
    setenv("COUPLET_KERNELS", "reference", 1);
    TEST_ASSERT_TRUE(cp_kernels_force(NULL, CP_CONV_AUTO));
    TEST_ASSERT_EQUAL_STRING("reference", cp_kernels_family());
    setenv("COUPLET_KERNELS", "abacus", 1);
    TEST_ASSERT_TRUE(cp_kernels_force(NULL, CP_CONV_AUTO));
    TEST_ASSERT_EQUAL_STRING(automatic, cp_kernels_family());
    unsetenv("COUPLET_KERNELS");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_reference_convolutions_equal_loops_over_every_tap);
    RUN_TEST(the_reference_gemm_equals_three_loops_in_all_orders);
    RUN_TEST(fast_gemm_agrees_with_the_reference_in_all_orders_and_sizes);
    RUN_TEST(fast_convolutions_agree_with_the_reference_on_shapes_at_the_edge);
    RUN_TEST(fast_convolutions_agree_with_the_reference_on_random_shapes);
    RUN_TEST(convolutions_of_nothing_touch_nothing_and_give_zeros);
    RUN_TEST(a_nan_in_an_image_reaches_every_output_it_touches);
    RUN_TEST(the_residual_may_be_the_output_itself);
    RUN_TEST(results_are_bit_identical_for_one_two_and_three_threads);
    RUN_TEST(exp_log_tanh_and_sigmoid_are_within_two_ulp_over_the_whole_range);
    RUN_TEST(exp_log_tanh_and_sigmoid_know_their_limits);
    RUN_TEST(sums_leaky_relus_and_gates_are_exact_for_every_length);
    RUN_TEST(the_peak_is_a_rate_that_a_core_can_have);
    RUN_TEST(an_unknown_family_is_refused_and_nothing_changes);
    RUN_TEST(the_environment_chooses_the_family_and_a_wrong_name_falls_back);
    return UNITY_END();
}
