/* Ops compared with a second implementation of their formulas: plain loops in double, on odd shapes and on shapes with fast
 * kernels, and sums and exponentials for which a careless computation loses its digits. */
#include "ops/ops.h"
#include "tests/support/golden.h"

#include "unity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static cp_tape *tape;

void setUp(void) { tape = cp_tape_new(); }

void tearDown(void) { cp_tape_free(tape); }

/* ---- tools ---- */

#if CP_DOUBLE
#define TOLERANCE 1e-12
#else
#define TOLERANCE 1e-5
#endif

static cp_tensor *filled(const char *name, cp_shape shape) {
    cp_tensor *zeros = cp_full(tape, 0, shape);
    golden_synthetic_reals(name, zeros->data, zeros->size);
    return cp_variable(tape, zeros->data, shape);
}

static double *doubles(size_t count) {
    double *values = calloc(count + 1, sizeof *values);
    TEST_ASSERT_NOT_NULL(values);
    return values;
}

/* Each value within tolerance times the largest expected one. Frees `expected`. */
static void equals(const char *what, const cp_tensor *got, double *expected, double tolerance) {
    TEST_ASSERT_NOT_NULL_MESSAGE(got, what);
    double largest = 0, worst = 0;
    for (size_t i = 0; i < got->size; i++) {
        double error = fabs((double)got->data[i] - expected[i]);
        largest = fmax(largest, fabs(expected[i]));
        worst = error > worst || isnan(error) ? error : worst;
    }
    free(expected);
    char text[200];
    snprintf(text, sizeof text, "%s: off by %.3g of %.3g", what, worst, largest);
    TEST_ASSERT_TRUE_MESSAGE(worst <= tolerance * largest, text);
}

/* ---- matmul ---- */

static void check_matmul(int m, int k, int n, unsigned transpose) {
    bool       ta = transpose & CP_TRANSPOSE_A, tb = transpose & CP_TRANSPOSE_B;
    cp_tensor *a = filled("a", cp_shape_of(2, ta ? (int[]){k, m} : (int[]){m, k}));
    cp_tensor *b = filled("b", cp_shape_of(2, tb ? (int[]){n, k} : (int[]){k, n}));
    double    *c = doubles((size_t)m * (size_t)n);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int p = 0; p < k; p++)
                c[i * n + j] += (double)a->data[ta ? p * m + i : i * k + p] * (double)b->data[tb ? j * k + p : p * n + j];
    char what[64];
    snprintf(what, sizeof what, "(%d, %d, %d), transpose %u", m, k, n, transpose);
    equals(what, cp_matmul(tape, a, b, transpose), c, TOLERANCE);
    cp_tape_reset(tape);
}

static void matmul_is_a_triple_loop(void) {
    static const int sizes[][3] = {{1, 1, 1},   {1, 5, 1},    {3, 1, 2},     {7, 13, 5},   {16, 16, 16},  {17, 33, 31},
                                   {64, 7, 65}, {65, 129, 3}, {100, 1, 100}, {1, 300, 65}, {33, 260, 47}, {130, 70, 121}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned transpose = 0; transpose < 4; transpose++) check_matmul(sizes[s][0], sizes[s][1], sizes[s][2], transpose);
}

static void matmul_of_no_terms_is_zero(void) {
    cp_tensor *c = cp_matmul(tape, filled("a", CP_SHAPE(3, 0)), filled("b", CP_SHAPE(0, 2)), 0);
    equals("(3, 0) x (0, 2)", c, doubles(6), 0);
}

/* ---- conv2d ---- */

typedef struct conv_case {
    int              x[4], w[4];
    cp_conv2d_config c;
} conv_case;

static const conv_case convolutions[] = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}, {0}},
    {{2, 28, 28, 1}, {3, 3, 1, 16}, {CP_PAD(1)}},
    {{1, 28, 28, 3}, {3, 3, 3, 16}, {CP_PAD(1)}},
    {{2, 9, 11, 16}, {3, 3, 16, 16}, {CP_PAD(1)}},
    {{1, 14, 13, 32}, {3, 3, 32, 48}, {CP_PAD(1)}},
    {{3, 7, 7, 40}, {3, 3, 40, 24}, {CP_PAD(1)}},
    {{1, 14, 14, 16}, {3, 3, 16, 32}, {CP_PAD(1), CP_STRIDE(2)}},
    {{2, 7, 7, 32}, {3, 3, 32, 32}, {CP_PAD(1), CP_STRIDE(2)}},
    {{1, 14, 14, 16}, {1, 1, 16, 32}, {CP_STRIDE(2)}},
    {{2, 5, 7, 17}, {1, 1, 17, 19}, {0}},
    {{1, 12, 12, 16}, {3, 3, 16, 16}, {0}},
    {{1, 8, 9, 5}, {5, 5, 5, 7}, {CP_PAD(2)}},
    {{1, 9, 8, 6}, {3, 2, 6, 5}, {.pad_top = 2, .pad_right = 1}},
    {{1, 9, 10, 6}, {3, 3, 6, 9}, {.stride_h = 2, .stride_w = 3, .pad_bottom = 1, .pad_left = 2}},
    {{1, 11, 10, 16}, {3, 3, 16, 16}, {CP_PAD(2), CP_DILATION(2)}},
    {{1, 12, 9, 4}, {2, 3, 4, 3}, {.dilation_h = 3, .dilation_w = 2, .stride_h = 2, .pad_left = 1}},
    {{2, 6, 7, 8}, {3, 3, 4, 6}, {CP_PAD(1), .groups = 2}},
    {{1, 7, 6, 32}, {3, 3, 16, 32}, {CP_PAD(1), .groups = 2}},
    {{2, 7, 5, 12}, {3, 3, 1, 12}, {CP_PAD(1), CP_STRIDE(2), .groups = 12}},
    {{1, 5, 5, 6}, {3, 3, 2, 9}, {CP_PAD(1), CP_DILATION(2), .stride_w = 2, .groups = 3}},
    {{0, 5, 5, 3}, {3, 3, 3, 4}, {CP_PAD(1)}},
};

static int at_min_one(int value) { return value ? value : 1; }

static void conv_dims(const conv_case *k, int *y) {
    int dh = at_min_one(k->c.dilation_h), dw = at_min_one(k->c.dilation_w);
    y[0] = k->x[0], y[3] = k->w[3];
    y[1] = (k->x[1] + k->c.pad_top + k->c.pad_bottom - dh * (k->w[0] - 1) - 1) / at_min_one(k->c.stride_h) + 1;
    y[2] = (k->x[2] + k->c.pad_left + k->c.pad_right - dw * (k->w[1] - 1) - 1) / at_min_one(k->c.stride_w) + 1;
}

static size_t size4(const int *d) { return (size_t)d[0] * (size_t)d[1] * (size_t)d[2] * (size_t)d[3]; }

static size_t place4(const int *d, int a, int b, int c, int e) {
    return (((size_t)a * (size_t)d[1] + (size_t)b) * (size_t)d[2] + (size_t)c) * (size_t)d[3] + (size_t)e;
}

/* Every product of the convolution, as the indices of its three factors. */
typedef void (*conv_visit)(void *user, size_t x, size_t w, size_t y);

typedef struct conv_pixel {
    int n, i, j; /* of the result */
    int u, v;    /* of the window */
    int row, column;
} conv_pixel;

static void conv_channels(const conv_case *k, const int *y, conv_pixel p, conv_visit visit, void *user) {
    int groups = at_min_one(k->c.groups), ins = k->w[2], outs = k->w[3] / groups;
    for (int o = 0; o < k->w[3]; o++)
        for (int c = 0; c < ins; c++)
            visit(user, place4(k->x, p.n, p.row, p.column, o / outs * ins + c), place4(k->w, p.u, p.v, c, o),
                  place4(y, p.n, p.i, p.j, o));
}

static void conv_products(const conv_case *k, const int *y, conv_visit visit, void *user) {
    const cp_conv2d_config *c = &k->c;
    conv_pixel              p;
    for (p.n = 0; p.n < y[0]; p.n++)
        for (p.i = 0; p.i < y[1]; p.i++)
            for (p.j = 0; p.j < y[2]; p.j++)
                for (p.u = 0; p.u < k->w[0]; p.u++)
                    for (p.v = 0; p.v < k->w[1]; p.v++) {
                        p.row = p.i * at_min_one(c->stride_h) + p.u * at_min_one(c->dilation_h) - c->pad_top;
                        p.column = p.j * at_min_one(c->stride_w) + p.v * at_min_one(c->dilation_w) - c->pad_left;
                        if (p.row >= 0 && p.row < k->x[1] && p.column >= 0 && p.column < k->x[2])
                            conv_channels(k, y, p, visit, user);
                    }
}

typedef struct conv_sums {
    const cp_real *x, *w, *g;
    double        *y, *dx, *dw;
} conv_sums;

static void conv_add(void *user, size_t x, size_t w, size_t y) {
    const conv_sums *s = user;
    s->y[y] += (double)s->x[x] * (double)s->w[w];
    s->dx[x] += (double)s->g[y] * (double)s->w[w];
    s->dw[w] += (double)s->x[x] * (double)s->g[y];
}

static void check_conv2d(const conv_case *k) {
    int y[4];
    conv_dims(k, y);
    cp_tensor *x = filled("x", cp_shape_of(4, k->x)), *w = filled("w", cp_shape_of(4, k->w)), *g = filled("g", cp_shape_of(4, y));
    cp_tensor *bias = filled("bias", CP_SHAPE(k->w[3]));
    conv_sums  s = {x->data, w->data, g->data, doubles(size4(y)), doubles(size4(k->x)), doubles(size4(k->w))};
    conv_products(k, y, conv_add, &s);
    char what[100];
    snprintf(what, sizeof what, "x (%d, %d, %d, %d), w (%d, %d, %d, %d)", k->x[0], k->x[1], k->x[2], k->x[3], k->w[0], k->w[1],
             k->w[2], k->w[3]);
    double *biased = doubles(size4(y));
    for (size_t i = 0; i < size4(y); i++) biased[i] = s.y[i] + (double)bias->data[i % (size_t)k->w[3]];
    equals(what, cp_conv2d(tape, x, w, NULL, k->c), s.y, TOLERANCE);
    equals(what, cp_conv2d(tape, x, w, bias, k->c), biased, TOLERANCE);
    equals(what, cp_conv2d_input_grad(tape, g, w, k->x, k->c), s.dx, TOLERANCE);
    equals(what, cp_conv2d_weight_grad(tape, x, g, k->w, k->c), s.dw, TOLERANCE);
    cp_tape_reset(tape);
}

static void conv2d_and_its_gradients_are_seven_loops(void) {
    for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++) check_conv2d(&convolutions[i]);
}

/* ---- pooling ---- */

typedef struct pool_case {
    int              x[4];
    cp_pool2d_config c;
} pool_case;

static const pool_case poolings[] = {
    {{2, 6, 8, 3}, {CP_WINDOW(2)}},
    {{1, 7, 7, 5}, {CP_WINDOW(3), CP_STRIDE(2), CP_PAD(1)}},
    {{2, 5, 9, 1}, {.window_h = 2, .window_w = 4, .stride_h = 1, .stride_w = 3, .pad_top = 1, .pad_right = 3}},
    {{1, 1, 1, 2}, {CP_WINDOW(1)}},
    {{1, 9, 4, 17}, {.window_h = 4, .window_w = 1, .stride_h = 5}},
};

/* The largest and the mean value of the window whose first corner is (top, left); padding has no value, or zero. */
static void pool_window(const pool_case *k, const cp_real *x, int n, int top, int left, int c, double *max, double *mean) {
    *max = -INFINITY, *mean = 0;
    for (int u = top; u < top + k->c.window_h; u++)
        for (int v = left; v < left + k->c.window_w; v++) {
            if (u < 0 || u >= k->x[1] || v < 0 || v >= k->x[2]) continue;
            double value = (double)x[place4(k->x, n, u, v, c)];
            *max = fmax(*max, value);
            *mean += value / (k->c.window_h * k->c.window_w);
        }
}

static void check_pooling(const pool_case *k) {
    int        sh = k->c.stride_h ? k->c.stride_h : k->c.window_h, sw = k->c.stride_w ? k->c.stride_w : k->c.window_w;
    int        y[4] = {k->x[0], (k->x[1] + k->c.pad_top + k->c.pad_bottom - k->c.window_h) / sh + 1,
                       (k->x[2] + k->c.pad_left + k->c.pad_right - k->c.window_w) / sw + 1, k->x[3]};
    cp_tensor *x = filled("x", cp_shape_of(4, k->x));
    double    *max = doubles(size4(y)), *mean = doubles(size4(y));
    for (int n = 0; n < y[0]; n++)
        for (int i = 0; i < y[1]; i++)
            for (int j = 0; j < y[2]; j++)
                for (int c = 0; c < y[3]; c++) {
                    size_t place = place4(y, n, i, j, c);
                    int    top = i * sh - k->c.pad_top, left = j * sw - k->c.pad_left;
                    pool_window(k, x->data, n, top, left, c, &max[place], &mean[place]);
                }
    equals("max_pool", cp_max_pool(tape, x, k->c), max, 0);
    equals("avg_pool", cp_avg_pool(tape, x, k->c), mean, TOLERANCE);
    cp_tape_reset(tape);
}

static void pooling_is_the_maximum_or_the_mean_of_each_window(void) {
    for (size_t i = 0; i < sizeof poolings / sizeof *poolings; i++) check_pooling(&poolings[i]);
}

/* ---- batch norm ---- */

static void batch_norm_centers_and_scales_each_channel(void) {
    enum { N = 3, PIXELS = 35, C = 7, ROWS = N * PIXELS };
    cp_tensor *x = filled("x", CP_SHAPE(N, 5, 7, C)), *gamma = filled("gamma", CP_SHAPE(C));
    cp_tensor *beta = filled("beta", CP_SHAPE(C));
    cp_tensor *mean = cp_tensor_new(CP_SHAPE(C)), *var = cp_tensor_new(CP_SHAPE(C));
    double    *out = doubles(x->size), *means = doubles(C), *vars = doubles(C);
    for (int c = 0; c < C; c++) {
        double m = 0, v = 0, scale = (double)gamma->data[c], shift = (double)beta->data[c];
        for (int i = 0; i < ROWS; i++) m += (double)x->data[i * C + c] / ROWS;
        for (int i = 0; i < ROWS; i++) v += pow((double)x->data[i * C + c] - m, 2);
        means[c] = 0.3 * m, vars[c] = 0.3 * v / (ROWS - 1);
        for (int i = 0; i < ROWS; i++) out[i * C + c] = ((double)x->data[i * C + c] - m) / sqrt(v / ROWS + 1e-3) * scale + shift;
    }
    cp_batch_norm_config config = {true, mean, var, (cp_real)0.3, (cp_real)1e-3};
    equals("output", cp_batch_norm(tape, x, gamma, beta, config), out, TOLERANCE);
    equals("running mean", mean, means, TOLERANCE);
    equals("running variance", var, vars, TOLERANCE);
    cp_tensor_free(mean);
    cp_tensor_free(var);
}

/* The data are 10^4 + noise of size one, rounded to cp_real before the reference sees them. The mean of a squared minus
 * the squared mean would have no digit left in float. The output may be off by half a unit in the mean's last place. */
static void the_variance_of_data_far_from_zero_is_kept(void) {
    enum { N = 4097 };
    cp_tensor *x = filled("noise", CP_SHAPE(N, 1));
    cp_tensor *mean = cp_tensor_new(CP_SHAPE(1)), *var = cp_tensor_new(CP_SHAPE(1));
    double     m = 0, v = 0, *out = doubles(N), *vars = doubles(1), *out2 = doubles(N);
    for (int i = 0; i < N; i++) x->data[i] += 10000;
    for (int i = 0; i < N; i++) m += ((double)x->data[i] - 10000) / N;
    for (int i = 0; i < N; i++) v += pow((double)x->data[i] - 10000 - m, 2) / N;
    for (int i = 0; i < N; i++) out[i] = out2[i] = ((double)x->data[i] - 10000 - m) / sqrt(v);
    vars[0] = v * N / (N - 1);
    cp_batch_norm_config config = {true, mean, var, 1, (cp_real)1e-12};
    double               mean_rounding = 10000 * (double)CP_REAL_EPSILON;
    equals("batch_norm", cp_batch_norm(tape, x, NULL, NULL, config), out, mean_rounding);
    equals("normalize", cp_normalize(tape, x, CP_ALL, (cp_real)1e-12), out2, mean_rounding);
    equals("variance", var, vars, CP_DOUBLE ? 1e-11 : 1e-5);
    cp_tensor_free(mean);
    cp_tensor_free(var);
}

/* ---- exponentials ---- */

static void softmax_divides_exponentials_by_their_sum(void) {
    enum { OUTER = 5, COUNT = 11, INNER = 3 };
    cp_tensor *a = filled("a", CP_SHAPE(OUTER, COUNT, INNER));
    double    *share = doubles(a->size), *logarithm = doubles(a->size), *total = doubles(OUTER * INNER);
    for (int i = 0; i < OUTER * INNER; i++) {
        int    first = i / INNER * COUNT * INNER + i % INNER;
        double sum = 0;
        for (int j = 0; j < COUNT; j++) sum += exp((double)a->data[first + j * INNER]);
        for (int j = 0; j < COUNT; j++) {
            share[first + j * INNER] = exp((double)a->data[first + j * INNER]) / sum;
            logarithm[first + j * INNER] = (double)a->data[first + j * INNER] - log(sum);
        }
        total[i] = log(sum);
    }
    equals("softmax", cp_softmax(tape, a, 1), share, TOLERANCE);
    equals("log_softmax", cp_log_softmax(tape, a, -2), logarithm, TOLERANCE);
    equals("logsumexp", cp_logsumexp(tape, a, CP_AXES(1), false), total, TOLERANCE);
}

static void cross_entropy_is_the_mean_of_the_negative_log_probabilities(void) {
    enum { N = 13, C = 7 };
    cp_tensor *logits = filled("logits", CP_SHAPE(N, C));
    int        labels[N];
    double    *loss = doubles(1), *gradient = doubles(N * C);
    for (int i = 0; i < N; i++) {
        const cp_real *row = logits->data + i * C;
        double         sum = 0;
        labels[i] = (3 * i + 1) % C;
        for (int c = 0; c < C; c++) sum += exp((double)row[c]);
        loss[0] += (log(sum) - (double)row[labels[i]]) / N;
        for (int c = 0; c < C; c++) gradient[i * C + c] = (exp((double)row[c]) / sum - (c == labels[i])) / N;
    }
    cp_tensor *dlogits, *got = cp_cross_entropy(tape, logits, (cp_labels){labels, N});
    equals("loss", got, loss, TOLERANCE);
    TEST_ASSERT_TRUE(cp_grad(tape, got, &logits, 1, &dlogits));
    equals("gradient", dlogits, gradient, TOLERANCE);
}

/* ln(e^(s + a) + e^(s + b)) = s + ln(e^a + e^b) for s = +-10^4: within a unit in the result's last place. */
static void logsumexp_at_plus_and_minus_ten_thousand_is_exact_to_rounding(void) {
    for (int sign = -1; sign <= 1; sign += 2) {
        cp_real    data[] = {(cp_real)(sign * 10000), (cp_real)(sign * 10000 + 1), (cp_real)(sign * 10000 - 3)};
        cp_tensor *a = cp_constant(tape, data, CP_SHAPE(3));
        double    *expected = doubles(1), *shares = doubles(3), sum = 1 + exp(1) + exp(-3);
        expected[0] = sign * 10000 + log(sum);
        equals("logsumexp", cp_logsumexp(tape, a, CP_ALL, false), expected, (double)CP_REAL_EPSILON);
        shares[0] = 1 / sum, shares[1] = exp(1) / sum, shares[2] = exp(-3) / sum;
        equals("softmax", cp_softmax(tape, a, 0), shares, 4 * (double)CP_REAL_EPSILON);
        double *logs = doubles(3);
        logs[0] = -log(sum), logs[1] = 1 - log(sum), logs[2] = -3 - log(sum);
        equals("log_softmax", cp_log_softmax(tape, a, 0), logs, 4 * (double)CP_REAL_EPSILON);
    }
}

static void the_gradient_of_logsumexp_at_ten_thousand_sums_to_one(void) {
    cp_real    data[] = {10000, 10000, 9999, 9998};
    cp_tensor *gradient, *a = cp_variable(tape, data, CP_SHAPE(4));
    TEST_ASSERT_TRUE(cp_grad(tape, cp_logsumexp(tape, a, CP_ALL, false), &a, 1, &gradient));
    double *shares = doubles(4), sum = 2 + exp(-1) + exp(-2);
    shares[0] = shares[1] = 1 / sum, shares[2] = exp(-1) / sum, shares[3] = exp(-2) / sum;
    equals("gradient", gradient, shares, 8 * (double)CP_REAL_EPSILON);
}

/* ---- long sums ---- */

enum { MILLION = 1000000 };

static cp_tensor *tenths(cp_shape shape) {
    cp_tensor *a = cp_full(tape, (cp_real)0.1, shape);
    for (size_t i = 0; i < a->size; i++) a->data[i] += (cp_real)(i % 7) / 64;
    return a;
}

static double sum_every(const cp_tensor *a, size_t first, size_t step) {
    double sum = 0;
    for (size_t i = first; i < a->size; i += step) sum += (double)a->data[i];
    return sum;
}

static void the_sum_of_a_million_values_is_accurate_to_one_in_a_million(void) {
    cp_tensor *a = tenths(CP_SHAPE(MILLION));
    double    *sum = doubles(1), *mean = doubles(1);
    sum[0] = sum_every(a, 0, 1), mean[0] = sum[0] / MILLION;
    equals("sum", cp_sum(tape, a, CP_ALL, false), sum, 1e-6);
    equals("mean", cp_mean(tape, a, CP_ALL, false), mean, 1e-6);
}

static void the_sums_of_a_million_rows_are_accurate_to_one_in_a_million(void) {
    enum { COLUMNS = 3 };
    cp_tensor *a = tenths(CP_SHAPE(MILLION, COLUMNS));
    double    *sums = doubles(COLUMNS), *again = doubles(COLUMNS);
    for (size_t c = 0; c < COLUMNS; c++) sums[c] = again[c] = sum_every(a, c, COLUMNS);
    equals("first axis", cp_sum(tape, a, CP_AXES(0), false), sums, 1e-6);
    equals("sum_to", cp_sum_to(tape, a, CP_SHAPE(COLUMNS)), again, 1e-6);
}

static void a_small_value_survives_in_a_sum_of_large_ones_that_cancel(void) {
    enum { N = 999 };
    cp_tensor *a = cp_full(tape, 0, CP_SHAPE(N));
    for (int i = 0; i < N; i++) a->data[i] = (cp_real)(i == N - 1 ? 1 : i % 2 ? -1000 : 1000);
    double *expected = doubles(1);
    expected[0] = 1;
    equals("sum", cp_sum(tape, a, CP_ALL, false), expected, 1e-6);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(matmul_is_a_triple_loop);
    RUN_TEST(matmul_of_no_terms_is_zero);
    RUN_TEST(conv2d_and_its_gradients_are_seven_loops);
    RUN_TEST(pooling_is_the_maximum_or_the_mean_of_each_window);
    RUN_TEST(batch_norm_centers_and_scales_each_channel);
    RUN_TEST(the_variance_of_data_far_from_zero_is_kept);
    RUN_TEST(softmax_divides_exponentials_by_their_sum);
    RUN_TEST(cross_entropy_is_the_mean_of_the_negative_log_probabilities);
    RUN_TEST(logsumexp_at_plus_and_minus_ten_thousand_is_exact_to_rounding);
    RUN_TEST(the_gradient_of_logsumexp_at_ten_thousand_sums_to_one);
    RUN_TEST(the_sum_of_a_million_values_is_accurate_to_one_in_a_million);
    RUN_TEST(the_sums_of_a_million_rows_are_accurate_to_one_in_a_million);
    RUN_TEST(a_small_value_survives_in_a_sum_of_large_ones_that_cancel);
    return UNITY_END();
}
