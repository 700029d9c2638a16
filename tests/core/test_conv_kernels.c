/* The convolution kernels: the reference against loops written here, every fast family and method against the reference,
 * with all fusions. */
#include "tests/support/conv_problem.h"
#include "tests/support/setup_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The program is linked with this in place of the arena's function, so that a call can be made to fail. */
void *__real_cp_arena_alloc(cp_arena *arena, size_t bytes);
void *__wrap_cp_arena_alloc(cp_arena *arena, size_t bytes);

static int calls_allowed = -1; /* before one fails; below 0: any number */

void *__wrap_cp_arena_alloc(cp_arena *arena, size_t bytes) {
    return calls_allowed >= 0 && calls_allowed-- == 0 ? NULL : __real_cp_arena_alloc(arena, bytes);
}

/* ---- shapes ---- */

/* One in three is an end of the range, where kernels are most often wrong. */
static int random_size(int low, int high) {
    return random_between(0, 2) ? random_between(low, high) : random_between(0, 1) ? low : high;
}

enum { SIDE_MAX = 33, CHANNELS_MAX = 65, STRIDE_MAX = 2, PAD_MAX = 2, TRIALS = 200 };

static cp_conv_shape random_shape(void) {
    cp_conv_shape s = {.n = random_between(1, 3),
                       .kh = random_between(1, 4),
                       .kw = random_between(1, 4),
                       .stride_h = random_between(1, STRIDE_MAX),
                       .stride_w = random_between(1, STRIDE_MAX),
                       .pad_top = random_between(0, PAD_MAX),
                       .pad_left = random_between(0, PAD_MAX),
                       .dilation_h = 1,
                       .dilation_w = 1,
                       .groups = 1};
    if (random_between(0, 1)) { /* a shape that Winograd supports */
        s.kh = s.kw = 3;
        s.stride_w = s.stride_h;
        if (s.stride_h == 2) {
            s.pad_top = s.pad_left = 1;
        }
    }
    if (random_between(0, 5) == 0) {
        s.dilation_h = random_between(1, 3), s.dilation_w = random_between(1, 3);
    }
    if (random_between(0, 5) == 0) {
        s.groups = random_between(2, 4);
    }
    s.h = random_size(1, SIDE_MAX), s.w = random_size(1, SIDE_MAX);
    s.c = s.groups * random_size(1, CHANNELS_MAX / s.groups), s.k = s.groups * random_size(1, CHANNELS_MAX / s.groups);
    s = with_output(s);
    if (y_size(&s) * (w_size(&s) / (size_t)s.k) > 3000000) { /* the reference is slow */
        s.n = 1;
        s.h = s.h < 13 ? s.h : 13;
        s = with_output(s);
    }
    if (s.oh > 0 && s.ow > 0 && random_between(0, 3) == 0) { /* more, or fewer, zeros after the image than before it */
        s.oh = random_between(1, s.oh + 1), s.ow = random_between(1, s.ow + 1);
    }
    return s;
}

typedef struct range {
    int min, max;
} range;

static void range_take(range *r, int value) {
    r->min = value < r->min ? value : r->min;
    r->max = value > r->max ? value : r->max;
}

static void assert_range(int min, int max, range got) {
    TEST_ASSERT_EQUAL_INT(min, got.min);
    TEST_ASSERT_EQUAL_INT(max, got.max);
}

/* Does Winograd support the shape, with this stride? */
static bool fits_winograd(const cp_conv_shape *s, int stride) {
    return s->kh == 3 && s->kw == 3 && s->dilation_h * s->dilation_w * s->groups == 1 && s->stride_h == stride &&
           s->stride_w == stride && (stride == 1 || (s->pad_top == 1 && s->pad_left == 1));
}

/* Of the shapes with outputs, or only of those that Winograd supports with a stride: h and w together, c and k separately. */
static void assert_random_shapes_reach_all_ends(int winograd_stride) {
    range side = {99, 0}, c = side, k = side, stride = side, pad = side;
    random_restart();
    for (int trial = 0; trial < TRIALS; trial++) {
        const cp_conv_shape s = random_shape();
        if (y_size(&s) > 0 && (!winograd_stride || fits_winograd(&s, winograd_stride))) {
            range_take(&side, s.h), range_take(&side, s.w);
            range_take(&c, s.c), range_take(&k, s.k);
            range_take(&stride, s.stride_h), range_take(&stride, s.stride_w);
            range_take(&pad, s.pad_top), range_take(&pad, s.pad_left);
        }
    }
    assert_range(1, SIDE_MAX, side);
    assert_range(1, CHANNELS_MAX, c);
    assert_range(1, CHANNELS_MAX, k);
    assert_range(winograd_stride ? winograd_stride : 1, winograd_stride ? winograd_stride : STRIDE_MAX, stride);
    assert_range(winograd_stride == 2 ? 1 : 0, winograd_stride == 2 ? 1 : PAD_MAX, pad);
}

static void the_random_shapes_cover_the_ends_of_their_ranges(void) {
    assert_random_shapes_reach_all_ends(0);
    assert_random_shapes_reach_all_ends(1);
    assert_random_shapes_reach_all_ends(2);
}

/* ---- against loops ---- */

typedef struct naive {
    const cp_real *x, *w, *gy;
    double        *y, *gx, *gw;
} naive;

static void naive_tap(const cp_conv_shape *s, const naive *m, size_t in_pixel, size_t out_pixel, size_t tap) {
    const size_t c = (size_t)s->c, k = (size_t)s->k, groups = (size_t)s->groups, cg = c / groups, kg = k / groups;
    for (size_t o = 0; o < k; o++) {
        for (size_t i = 0; i < cg; i++) {
            const size_t in = in_pixel * c + o / kg * cg + i, out = out_pixel * k + o, weight = (tap * cg + i) * k + o;
            m->y[out] += (double)m->x[in] * (double)m->w[weight];
            m->gx[in] += (double)m->gy[out] * (double)m->w[weight];
            m->gw[weight] += (double)m->gy[out] * (double)m->x[in];
        }
    }
}

static void naive_run(const cp_conv_shape *s, const naive *m) {
    for (int out = 0; out < s->n * s->oh * s->ow; out++) {
        const int n = out / (s->oh * s->ow), i = out / s->ow % s->oh, j = out % s->ow;
        for (int tap = 0; tap < s->kh * s->kw; tap++) {
            const int y = i * s->stride_h + tap / s->kw * s->dilation_h - s->pad_top;
            const int x = j * s->stride_w + tap % s->kw * s->dilation_w - s->pad_left;
            if (y >= 0 && y < s->h && x >= 0 && x < s->w) {
                naive_tap(s, m, (size_t)((n * s->h + y) * s->w + x), (size_t)out, (size_t)tap);
            }
        }
    }
}

static naive naive_of(const cp_conv_shape *s, const cp_real *x, const cp_real *w, const cp_real *gy) {
    naive m = {x,
               w,
               gy,
               calloc(y_size(s) + 1, sizeof(double)),
               calloc(x_size(s) + 1, sizeof(double)),
               calloc(w_size(s) + 1, sizeof(double))};
    TEST_ASSERT_TRUE(m.y && m.gx && m.gw);
    naive_run(s, &m);
    return m;
}

static void naive_free(naive *m) { free(m->y), free(m->gx), free(m->gw); }

static void the_reference_convolutions_equal_loops_over_every_tap(void) {
    for (int trial = 0; trial < 60; trial++) {
        cp_conv_shape s = random_shape();
        s.h = 1 + s.h % 9, s.w = 1 + s.w % 9;
        s = with_output(s);
        problem p = problem_of(s, 0);
        naive   m = naive_of(&s, p.x, p.w, p.gy);
        kernels_reference();
        outcome o = outcome_of(scratch, &p);
        assert_rounded(y_size(&s), o.y, m.y, named(&s, "forward"));
        assert_rounded(x_size(&s), o.gx, m.gx, named(&s, "input gradient"));
        assert_rounded(w_size(&s), o.gw, m.gw, named(&s, "weight gradient"));
        naive_free(&m), outcome_free(&o), problem_free(&p);
    }
}

static double tolerance_of(cp_conv_method method) { return method == CP_CONV_DIRECT ? 1e-5 : 1e-4; }

/* leaky(scale x + 1), pixel by pixel; the fusion's shift becomes 1. */
static cp_real *shifted_by_one(const cp_conv_fusion *f, size_t count, size_t channels, const cp_real *x) {
    cp_real *v = numbers(count);
    for (size_t c = 0; c < channels; c++) {
        ((cp_real *)f->shift)[c] = 1;
    }
    for (size_t i = 0; i < count; i++) {
        const double value = (double)f->scale[i % channels] * (double)x[i] + 1;
        v[i] = (cp_real)(value > 0 ? value : (double)f->slope * value);
    }
    return v;
}

static cp_real *rounded(const double *values, size_t count) {
    cp_real *r = numbers(count);
    for (size_t i = 0; i < count; i++) {
        r[i] = (cp_real)values[i];
    }
    return r;
}

static void assert_border_is_zero(cp_conv_shape s) {
    problem        p = problem_of(s, SCALE);
    cp_real       *x = shifted_by_one(&p.forward, x_size(&s), (size_t)s.c, p.x);
    cp_real       *gy = shifted_by_one(&p.backward, y_size(&s), (size_t)s.k, p.gy);
    naive          m = naive_of(&s, x, p.w, gy), of_weights = naive_of(&s, x, p.w, p.gy);
    cp_real       *y = rounded(m.y, y_size(&s)), *gx = rounded(m.gx, x_size(&s)), *gw = rounded(of_weights.gw, w_size(&s));
    cp_conv_fusion weights = p.weights;
    weights.scale = p.forward.scale, weights.shift = p.forward.shift;
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        for (int method = CP_CONV_AUTO; method <= CP_CONV_WINOGRAD_4; method++) {
            kernels_method((cp_conv_method)method);
            outcome      o = {numbers(y_size(&s)), numbers(x_size(&s)), numbers(w_size(&s)), NULL};
            const double tolerance = tolerance_of((cp_conv_method)method);
            TEST_ASSERT_TRUE(cp_kernels()->conv2d(scratch, &s, p.x, p.w, &p.forward, o.y));
            TEST_ASSERT_TRUE(cp_kernels()->conv2d_input_grad(scratch, &s, p.gy, p.w, &p.backward, o.gx));
            TEST_ASSERT_TRUE(cp_kernels()->conv2d_weight_grad(scratch, &s, p.x, p.gy, &weights, o.gw, NULL));
            assert_close(y_size(&s), o.y, y, 1, tolerance, named(&s, "shifted forward"));
            assert_close(x_size(&s), o.gx, gx, 1, tolerance, named(&s, "shifted input gradient"));
            assert_close(w_size(&s), o.gw, gw, 1, tolerance, named(&s, "shifted weight gradient"));
            outcome_free(&o);
        }
    }
    free(x), free(gy), free(y), free(gx), free(gw);
    naive_free(&m), naive_free(&of_weights), problem_free(&p);
}

static void a_shift_of_the_input_does_not_leak_into_the_padding(void) {
    const cp_conv_shape shapes[] = {square(1, 1, 1, 1, 3, 1, 1),   square(2, 5, 3, 4, 3, 1, 1),  square(1, 4, 17, 16, 3, 1, 2),
                                    square(1, 6, 16, 3, 3, 1, 1),  square(1, 7, 5, 33, 5, 2, 2), square(1, 3, 9, 2, 1, 1, 2),
                                    square(1, 9, 17, 16, 3, 2, 1), square(2, 2, 8, 3, 3, 2, 1)};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_border_is_zero(shapes[i]);
    }
}

/* ---- against the reference ---- */

static void assert_agrees(const problem *p, const outcome *expected, double tolerance) {
    const cp_conv_shape *s = &p->s;
    const size_t         taps = (size_t)s->kh * (size_t)s->kw;
    outcome              got = outcome_of(scratch, p);
    assert_close(y_size(s), got.y, expected->y, taps * (size_t)(s->c / s->groups), tolerance, named(s, "forward"));
    assert_close(x_size(s), got.gx, expected->gx, taps * (size_t)(s->k / s->groups), tolerance, named(s, "input gradient"));
    assert_close(w_size(s), got.gw, expected->gw, (size_t)(s->n * s->oh * s->ow), tolerance, named(s, "weight gradient"));
    assert_close((size_t)s->k, got.gb, expected->gb, (size_t)(s->n * s->oh * s->ow), tolerance, named(s, "bias gradient"));
    outcome_free(&got);
}

static void all_families_agree_on(cp_conv_shape s, unsigned fused) {
    problem p = problem_of(s, fused);
    kernels_reference();
    outcome expected = outcome_of(scratch, &p);
    for (int next = FAMILY_FAST; kernels_next(&next);) {
        for (int method = CP_CONV_AUTO; method <= CP_CONV_WINOGRAD_4; method++) {
            kernels_method((cp_conv_method)method);
            assert_agrees(&p, &expected, tolerance_of((cp_conv_method)method));
        }
    }
    outcome_free(&expected);
    problem_free(&p);
}

/* The largest difference, relative to the root mean square of the expected values. */
static double largest_error(size_t count, const cp_real *got, const cp_real *expected) {
    double largest = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)got[i] - (double)expected[i]));
        squares += (double)expected[i] * (double)expected[i];
    }
    return largest / sqrt(squares / (double)count);
}

/* With the points 0, 1, -1, 2, -2 and infinity, the errors are three times as large. */
static void winograd4_errs_by_less_than_some_hundred_roundings(void) {
    const cp_conv_shape shapes[] = {square(2, 16, 64, 64, 3, 1, 1), square(2, 8, 256, 256, 3, 1, 1)};
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        problem              p = problem_of(shapes[shape], 0);
        const cp_conv_shape *s = &p.s;
        kernels_reference();
        outcome expected = outcome_of(scratch, &p);
        for (int next = FAMILY_FAST; kernels_next(&next);) {
            kernels_method(CP_CONV_WINOGRAD_4);
            outcome o = outcome_of(scratch, &p);
            TEST_ASSERT_TRUE_MESSAGE(largest_error(y_size(s), o.y, expected.y) < 1.5e-5, named(s, "forward"));
            TEST_ASSERT_TRUE_MESSAGE(largest_error(x_size(s), o.gx, expected.gx) < 1.5e-5, named(s, "input gradient"));
            TEST_ASSERT_TRUE_MESSAGE(largest_error(w_size(s), o.gw, expected.gw) < 6e-6, named(s, "weight gradient"));
            outcome_free(&o);
        }
        outcome_free(&expected), problem_free(&p);
    }
}

static unsigned random_fusion(void) { return random_between(0, 2) ? (unsigned)random_between(0, ALL_FUSED) : 0; }

static void fast_convolutions_agree_with_the_reference_on_random_shapes(void) {
    cp_conv_shape shapes[TRIALS]; /* drawn first: the same shapes that the test of their ranges sees */
    for (int trial = 0; trial < TRIALS; trial++) {
        shapes[trial] = random_shape();
    }
    for (int trial = 0; trial < TRIALS; trial++) {
        all_families_agree_on(shapes[trial], random_fusion());
    }
}

static void fast_convolutions_agree_with_the_reference_on_shapes_at_the_edge(void) {
    const cp_conv_shape edges[] = {
        square(1, 1, 1, 1, 1, 1, 0),      square(1, 1, 1, 1, 3, 1, 1),    square(2, 2, 16, 16, 3, 1, 1),
        square(1, 3, 65, 33, 3, 1, 0),    square(3, 33, 1, 16, 3, 1, 1),  square(2, 28, 3, 16, 3, 1, 1),
        square(2, 28, 16, 17, 3, 1, 1),   square(2, 14, 32, 64, 1, 2, 0), square(2, 15, 32, 64, 1, 2, 0),
        square(5, 7, 64, 64, 3, 1, 1),    square(2, 28, 24, 40, 3, 2, 1), square(2, 29, 16, 16, 3, 2, 1),
        square(1, 5, 8, 8, 5, 1, 2),      square(1, 4, 8, 8, 7, 1, 3),    square(1, 9, 7, 5, 2, 3, 0),
        square(1, 8, 4, 4, 1, 1, 2),      square(1, 6, 16, 16, 3, 1, 5),  square(1, 2, 3, 4, 5, 1, 0),
        square(1, 40, 130, 8, 3, 1, 1),   square(1, 6, 16, 130, 3, 1, 2), square(70, 4, 16, 16, 3, 1, 1),
        square(1, 12, 128, 128, 3, 1, 1), square(1, 1, 8, 8, 3, 2, 1),    square(3, 2, 16, 5, 3, 2, 1),
        square(40, 8, 16, 16, 3, 2, 1),   square(1, 33, 130, 9, 3, 2, 1), square(1, 16, 128, 128, 3, 2, 1),
    };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        all_families_agree_on(edges[i], i % 2 ? ALL_FUSED : random_fusion());
    }
}

/* Where the stride is larger than the kernel, or the dilation shares a divisor with it, some pixels of the input gradient
 * read no output at all; their position in the narrower image of outputs must not be computed either. */
static void input_gradients_of_pixels_that_no_output_reads_are_zero_or_the_bias(void) {
    for (int stride = 2; stride <= 4; stride++) {
        for (int dilation = 1; dilation <= 4; dilation++) {
            for (int kernel = 1; kernel <= 3; kernel++) {
                cp_conv_shape s = square(2, 13, 5, 18, kernel, stride, 0);
                s.dilation_h = s.dilation_w = dilation;
                all_families_agree_on(with_output(s), stride % 2 ? 0 : BIAS);
                s.stride_h = 1, s.c = 16, s.k = 3;
                all_families_agree_on(with_output(s), stride % 2 ? BIAS : 0);
            }
        }
    }
}

/* Few and many, odd and whole vectors of channels; with strides, with groups, with fewer channels than a vector. */
static void fast_convolutions_agree_with_the_reference_for_all_fusions(void) {
    cp_conv_shape grouped = square(1, 5, 6, 9, 3, 1, 1);
    grouped.groups = 3;
    const cp_conv_shape shapes[] = {square(2, 6, 19, 37, 3, 1, 1), square(1, 7, 16, 32, 3, 1, 0), square(1, 9, 16, 3, 3, 2, 1),
                                    square(2, 7, 17, 20, 3, 2, 1), square(2, 5, 3, 16, 3, 1, 2),  grouped};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (unsigned fused = 0; fused <= ALL_FUSED; fused++) {
            all_families_agree_on(shapes[i], fused);
        }
    }
}

static void the_gradient_of_a_bias_is_the_sum_over_the_pixels_and_changes_nothing_else(void) {
    const cp_conv_shape shapes[] = {square(3, 9, 16, 20, 3, 1, 1), square(40, 8, 16, 16, 3, 2, 1), square(2, 6, 5, 33, 3, 2, 0),
                                    square(1, 1, 1, 1, 1, 1, 0), square(70, 4, 8, 8, 3, 1, 1)};
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        const cp_conv_shape *s = &shapes[shape];
        problem              p = problem_of(*s, LEAKY);
        double               sums[64] = {0};
        for (size_t i = 0; i < y_size(s); i++) {
            sums[i % (size_t)s->k] += (double)p.gy[i];
        }
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            for (int method = CP_CONV_AUTO; method <= CP_CONV_WINOGRAD_4; method++) {
                kernels_method((cp_conv_method)method);
                outcome  o = outcome_of(scratch, &p);
                cp_real *gw = numbers(w_size(s));
                TEST_ASSERT_TRUE(cp_kernels()->conv2d_weight_grad(scratch, s, p.x, p.gy, &p.weights, gw, NULL));
                TEST_ASSERT_EQUAL_MEMORY_MESSAGE(gw, o.gw, w_size(s) * sizeof(cp_real), named(s, "weight gradient"));
                for (int i = 0; i < s->k; i++) {
                    TEST_ASSERT_TRUE_MESSAGE(fabs((double)o.gb[i] - sums[i]) < 1e-4, named(s, "bias gradient"));
                }
                free(gw);
                outcome_free(&o);
            }
        }
        problem_free(&p);
    }
}

/* ---- special cases ---- */

static void empty_convolutions_write_nothing_else_and_give_the_bias_or_zeros(void) {
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        for (int empty = 0; empty < 4; empty++) {
            cp_conv_shape s = square(empty == 0 ? 0 : 2, 5, empty == 1 ? 0 : 3, empty == 2 ? 0 : 4, 3, 1, empty == 3 ? 0 : 1);
            if (empty == 3) {
                s.oh = 0;
            }
            problem p = problem_of(s, BIAS | SCALE);
            outcome o = outcome_of(scratch, &p);
            for (size_t i = 0; i < w_size(&s); i++) {
                TEST_ASSERT_TRUE_MESSAGE(o.gw[i] == 0, named(&s, "weight gradient of no pixels"));
            }
            for (int o_channel = 0; o_channel < s.k; o_channel++) {
                double sum = 0;
                for (size_t i = (size_t)o_channel; i < y_size(&s); i += (size_t)s.k) {
                    sum += (double)p.gy[i];
                }
                TEST_ASSERT_TRUE_MESSAGE(fabs((double)o.gb[o_channel] - sum) < 1e-4, named(&s, "bias gradient"));
            }
            for (size_t i = 0; i < x_size(&s) && y_size(&s) == 0; i++) {
                TEST_ASSERT_TRUE_MESSAGE(o.gx[i] == p.backward.bias[i % 3], named(&s, "bias without outputs"));
            }
            for (size_t i = 0; i < y_size(&s) && s.c == 0; i++) {
                TEST_ASSERT_TRUE_MESSAGE(o.y[i] == p.forward.bias[i % 4], named(&s, "bias without channels"));
            }
            outcome_free(&o);
            problem_free(&p);
        }
    }
}

static void a_nan_in_an_image_reaches_every_output_it_touches_with_stride_2(void) {
    problem p = problem_of(square(1, 12, 16, 16, 3, 2, 1), 0);
    p.x[(7 * 12 + 7) * 16 + 3] = (cp_real)NAN; /* read by the outputs 3 and 4 in both directions, through the outer taps */
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        for (int method = CP_CONV_AUTO; method <= CP_CONV_WINOGRAD_4; method++) {
            kernels_method((cp_conv_method)method);
            outcome o = outcome_of(scratch, &p);
            for (int corner = 0; corner < 4; corner++) {
                const int pixel = (3 + corner / 2) * 6 + 3 + corner % 2, tap = corner / 2 * 6 + corner % 2 * 2;
                TEST_ASSERT_TRUE_MESSAGE(isnan(o.y[pixel * 16]), named(&p.s, "forward"));
                TEST_ASSERT_TRUE_MESSAGE(isnan(o.gw[(tap * 16 + 3) * 16]), named(&p.s, "weight gradient"));
            }
            outcome_free(&o);
        }
    }
    problem_free(&p);
}

static void a_nan_in_an_image_reaches_every_output_it_touches(void) {
    problem p = problem_of(square(1, 12, 16, 16, 3, 1, 1), 0);
    p.x[(6 * 12 + 6) * 16 + 3] = (cp_real)NAN;
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        for (int method = CP_CONV_AUTO; method <= CP_CONV_WINOGRAD_4; method++) {
            kernels_method((cp_conv_method)method);
            outcome o = outcome_of(scratch, &p);
            for (int tap = 0; tap < 9; tap++) {
                const int pixel = (5 + tap / 3) * 12 + 5 + tap % 3;
                TEST_ASSERT_TRUE_MESSAGE(isnan(o.y[pixel * 16]), named(&p.s, "forward"));
                TEST_ASSERT_TRUE_MESSAGE(isnan(o.gw[(tap * 16 + 3) * 16]), named(&p.s, "weight gradient"));
            }
            outcome_free(&o);
        }
    }
    problem_free(&p);
}

/* Winograd's methods spread an infinite pixel over the tiles that read it, but not further. */
static void an_infinite_pixel_spreads_to_the_outputs_that_read_it_and_not_beyond_their_tiles(void) {
    problem p = problem_of(square(1, 12, 16, 16, 3, 1, 1), 0);
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        for (int method = CP_CONV_DIRECT; method <= CP_CONV_WINOGRAD_4; method++) {
            kernels_method((cp_conv_method)method);
            cp_real *pixel = &p.x[(6 * 12 + 6) * 16 + 3], before = *pixel;
            outcome  clean = outcome_of(scratch, &p);
            *pixel = (cp_real)INFINITY;
            outcome o = outcome_of(scratch, &p);
            *pixel = before;
            for (int i = 0; i < 12 * 12; i++) {
                const int row = i / 12, column = i % 12;
                if (row >= 5 && row <= 7 && column >= 5 && column <= 7) {
                    TEST_ASSERT_FALSE_MESSAGE(isfinite(o.y[i * 16]), named(&p.s, "forward"));
                } else if (row < 4 || row > 7 || column < 4 || column > 7) {
                    TEST_ASSERT_EQUAL_MEMORY_MESSAGE(&clean.y[i * 16], &o.y[i * 16], 16 * sizeof(cp_real), named(&p.s, "forward"));
                }
            }
            outcome_free(&clean), outcome_free(&o);
        }
    }
    problem_free(&p);
}

static void assert_scaled(size_t count, const cp_real *got, const cp_real *base, cp_real scale, const char *message) {
    for (size_t i = 0; i < count; i++) {
        TEST_ASSERT_TRUE_MESSAGE(got[i] == base[i] * scale, message);
    }
}

/* A power of two changes no digit, unless an intermediate value overflows. */
static void convolutions_of_numbers_up_to_1e36_do_not_overflow(void) {
    const cp_real       scale = (cp_real)0x1p119; /* 6.6e35 */
    const cp_conv_shape shapes[] = {square(1, 9, 8, 8, 3, 1, 1), square(1, 9, 8, 8, 3, 2, 1)};
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        problem              p = problem_of(shapes[shape], 0), large = p;
        const cp_conv_shape *s = &p.s;
        large.x = numbers(x_size(s)), large.gy = numbers(y_size(s));
        for (size_t i = 0; i < x_size(s); i++) {
            large.x[i] = p.x[i] * scale;
        }
        for (size_t i = 0; i < y_size(s); i++) {
            large.gy[i] = p.gy[i] * scale;
        }
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            for (int method = CP_CONV_AUTO; method <= CP_CONV_WINOGRAD_4; method++) {
                kernels_method((cp_conv_method)method);
                outcome base = outcome_of(scratch, &p), o = {numbers(y_size(s)), numbers(x_size(s)), numbers(w_size(s)), NULL};
                TEST_ASSERT_TRUE(cp_kernels()->conv2d(scratch, s, large.x, p.w, &p.forward, o.y));
                TEST_ASSERT_TRUE(cp_kernels()->conv2d_input_grad(scratch, s, large.gy, p.w, &p.backward, o.gx));
                TEST_ASSERT_TRUE(cp_kernels()->conv2d_weight_grad(scratch, s, large.x, p.gy, &p.weights, o.gw, NULL));
                assert_scaled(y_size(s), o.y, base.y, scale, named(s, "forward"));
                assert_scaled(x_size(s), o.gx, base.gx, scale, named(s, "input gradient"));
                assert_scaled(w_size(s), o.gw, base.gw, scale, named(s, "weight gradient"));
                outcome_free(&base), outcome_free(&o);
            }
        }
        free(large.x), free(large.gy), problem_free(&p);
    }
}

static void assert_residual_may_be_output(cp_conv_shape s) {
    problem      p = problem_of(s, ALL_FUSED);
    const size_t size = y_size(&p.s) * sizeof(cp_real), back = x_size(&p.s) * sizeof(cp_real);
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        for (int method = CP_CONV_AUTO; method <= CP_CONV_WINOGRAD_4; method++) {
            kernels_method((cp_conv_method)method);
            outcome        expected = outcome_of(scratch, &p);
            cp_real       *y = numbers(y_size(&p.s)), *gx = numbers(x_size(&p.s));
            cp_conv_fusion forward = p.forward, backward = p.backward;
            forward.residual = memcpy(y, p.forward.residual, size);
            backward.residual = memcpy(gx, p.backward.residual, back);
            TEST_ASSERT_TRUE(cp_kernels()->conv2d(scratch, &p.s, p.x, p.w, &forward, y));
            TEST_ASSERT_TRUE(cp_kernels()->conv2d_input_grad(scratch, &p.s, p.gy, p.w, &backward, gx));
            TEST_ASSERT_EQUAL_MEMORY_MESSAGE(expected.y, y, size, named(&p.s, "forward"));
            TEST_ASSERT_EQUAL_MEMORY_MESSAGE(expected.gx, gx, back, named(&p.s, "input gradient"));
            free(y), free(gx);
            outcome_free(&expected);
        }
    }
    problem_free(&p);
}

static void the_residual_may_be_the_output_itself(void) {
    assert_residual_may_be_output(square(2, 9, 16, 20, 3, 1, 1));
    assert_residual_may_be_output(square(2, 9, 16, 20, 3, 2, 1));
}

/* A 1x1 convolution with the identity shows the input of the leaky ReLU. The shift cancels the product except for its
 * rounding, so the sign depends on how scale x + shift is computed: saved signs must be computed in the same way. */
static void signs_are_those_of_the_convolutions_input(void) {
    for (int channels = 1; channels <= 35; channels++) {
        const cp_conv_shape s = square(1, 7, channels, channels, 1, 1, 0);
        cp_real            *x = numbers(x_size(&s)), *w = numbers(w_size(&s)), *y = numbers(y_size(&s));
        cp_real            *scale = numbers((size_t)channels), *shift = numbers((size_t)channels);
        for (int i = 0; i < channels * channels; i++) {
            w[i] = i % channels == i / channels;
        }
        for (size_t i = 0; i < x_size(&s); i++) {
            x[i] = x[i % (size_t)channels]; /* the same in every pixel */
        }
        for (int i = 0; i < channels; i++) {
            shift[i] = -(scale[i] * x[i]);
        }
        unsigned char *signs = malloc(cp_signs_bytes(x_size(&s)));
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            cp_kernels()->signs(49, (size_t)channels, x, scale, shift, signs);
            TEST_ASSERT_TRUE(cp_kernels()->conv2d(
                scratch, &s, x, w, &(cp_conv_fusion){.scale = scale, .shift = shift, .leaky_input = true, .slope = 1}, y));
            for (size_t i = 0; i < y_size(&s); i++) {
                TEST_ASSERT_EQUAL_MESSAGE(y[i] > 0, cp_signs_get(signs, i), cp_kernels()->name);
            }
        }
        free(x), free(w), free(y), free(scale), free(shift), free(signs);
    }
}

/* Makes the first allocation fail, then the second, and so on until the kernel needs no more. */
#define ASSERT_TELLS_EVERY_REFUSAL(CALL, what)                                                                                     \
    do {                                                                                                                           \
        bool ok_ = false;                                                                                                          \
        for (int allowed_ = 0; !ok_; allowed_++) {                                                                                 \
            calls_allowed = allowed_;                                                                                              \
            ok_ = cp_kernels()->CALL;                                                                                              \
            TEST_ASSERT_TRUE_MESSAGE(ok_ == (calls_allowed >= 0), what);                                                           \
            TEST_ASSERT_EQUAL_MESSAGE(0, cp_arena_used(scratch), what);                                                            \
            calls_allowed = -1;                                                                                                    \
        }                                                                                                                          \
    } while (0)

static void a_kernel_that_gets_no_scratch_memory_reports_it_and_leaks_nothing(void) {
    const cp_conv_shape shapes[] = {square(8, 9, 16, 20, 3, 1, 1), square(8, 9, 16, 20, 3, 2, 1), square(2, 9, 5, 3, 5, 1, 2)};
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        problem              p = problem_of(shapes[shape], ALL_FUSED);
        outcome              o = outcome_of(scratch, &p);
        const cp_conv_shape *s = &p.s;
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            for (int method = CP_CONV_AUTO; method <= CP_CONV_WINOGRAD_4; method++) {
                kernels_method((cp_conv_method)method);
                ASSERT_TELLS_EVERY_REFUSAL(conv2d(scratch, s, p.x, p.w, &p.forward, o.y), named(s, "forward"));
                ASSERT_TELLS_EVERY_REFUSAL(conv2d_input_grad(scratch, s, p.gy, p.w, &p.backward, o.gx), named(s, "input gradient"));
                ASSERT_TELLS_EVERY_REFUSAL(conv2d_weight_grad(scratch, s, p.x, p.gy, &p.weights, o.gw, o.gb),
                                           named(s, "weight gradient"));
            }
            ASSERT_TELLS_EVERY_REFUSAL(gemm(scratch, false, false, 3, 3, 3, p.x, p.w, o.y, false), named(s, "product"));
        }
        outcome_free(&o), problem_free(&p);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_random_shapes_cover_the_ends_of_their_ranges);
    RUN_TEST(the_reference_convolutions_equal_loops_over_every_tap);
    RUN_TEST(a_shift_of_the_input_does_not_leak_into_the_padding);
    RUN_TEST(fast_convolutions_agree_with_the_reference_on_shapes_at_the_edge);
    RUN_TEST(fast_convolutions_agree_with_the_reference_on_random_shapes);
    RUN_TEST(input_gradients_of_pixels_that_no_output_reads_are_zero_or_the_bias);
    RUN_TEST(fast_convolutions_agree_with_the_reference_for_all_fusions);
    RUN_TEST(winograd4_errs_by_less_than_some_hundred_roundings);
    RUN_TEST(the_gradient_of_a_bias_is_the_sum_over_the_pixels_and_changes_nothing_else);
    RUN_TEST(empty_convolutions_write_nothing_else_and_give_the_bias_or_zeros);
    RUN_TEST(a_nan_in_an_image_reaches_every_output_it_touches);
    RUN_TEST(a_nan_in_an_image_reaches_every_output_it_touches_with_stride_2);
    RUN_TEST(an_infinite_pixel_spreads_to_the_outputs_that_read_it_and_not_beyond_their_tiles);
    RUN_TEST(convolutions_of_numbers_up_to_1e36_do_not_overflow);
    RUN_TEST(signs_are_those_of_the_convolutions_input);
    RUN_TEST(the_residual_may_be_the_output_itself);
    RUN_TEST(a_kernel_that_gets_no_scratch_memory_reports_it_and_leaks_nothing);
    return UNITY_END();
}
