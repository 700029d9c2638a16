/* The kernels of group and layer norm: the reference against the definition (its gradient is checked by
 * differences with the ops), every fast family against the reference, and the
 * edges. */
#include "tests/support/setup_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__real_cp_arena_alloc(cp_arena *arena, size_t bytes);
void *__wrap_cp_arena_alloc(cp_arena *arena, size_t bytes);

static int calls_allowed = -1; /* before one fails; below 0: any number */

void *__wrap_cp_arena_alloc(cp_arena *arena, size_t bytes) {
    return calls_allowed >= 0 && calls_allowed-- == 0 ? NULL : __real_cp_arena_alloc(arena, bytes);
}

typedef struct problem {
    cp_norm_problem p;
    size_t          size, groups; /* numbers of x and of mean */
    cp_real        *x, *g, *gamma, *beta;
} problem;

enum { GAMMA = 1, BETA = 2, BOTH = GAMMA | BETA };

static problem problem_of(size_t images, size_t pixels, size_t channels, size_t groups, int given) {
    problem v = {.p = {images, pixels, channels, groups, NULL, NULL, (cp_real)0.2, (cp_real)1e-3},
                 .size = images * pixels * channels,
                 .groups = images * groups};
    v.x = numbers(v.size), v.g = numbers(v.size), v.gamma = numbers(channels), v.beta = numbers(channels);
    v.p.gamma = given & GAMMA ? v.gamma : NULL;
    v.p.beta = given & BETA ? v.beta : NULL;
    return v;
}

static void problem_free(problem *v) { free(v->x), free(v->g), free(v->gamma), free(v->beta); }

typedef struct results {
    cp_real *y, *mean, *rstd, *gx, *of_gamma, *of_beta;
} results;

static results results_of(const problem *v) {
    results r = {numbers(v->size), numbers(v->groups),     numbers(v->groups),
                 numbers(v->size), numbers(v->p.channels), numbers(v->p.channels)};
    TEST_ASSERT_TRUE(cp_kernels()->group_norm(scratch, &v->p, v->x, r.y, r.mean, r.rstd));
    TEST_ASSERT_TRUE(cp_kernels()->group_norm_grad(scratch, &v->p, v->x, r.mean, r.rstd, v->g, r.gx, r.of_gamma, r.of_beta));
    return r;
}

static void results_free(results *r) { free(r->y), free(r->mean), free(r->rstd), free(r->gx), free(r->of_gamma), free(r->of_beta); }

/* For messages; valid until the next call. */
static const char *named(const problem *v, const char *what) {
    static char text[200];
    snprintf(text, sizeof text, "%s %s of %zu images, %zu pixels, %zu channels, %zu groups", cp_kernels()->name, what, v->p.images,
             v->p.pixels, v->p.channels, v->p.groups);
    return text;
}

/* ---- the definition ---- */

/* Value k of a group. */
static size_t place(const problem *v, size_t image, size_t group, size_t k) {
    const size_t wide = v->p.channels / v->p.groups;
    return (image * v->p.pixels + k / wide) * v->p.channels + group * wide + k % wide;
}

static void the_reference_norm_follows_its_definition(void) {
    problem v = problem_of(3, 5, 12, 3, BOTH);
    kernels_reference();
    results      r = results_of(&v);
    double      *y = calloc(v.size, sizeof *y);
    const size_t count = 5 * 4;
    for (size_t image = 0; image < 3; image++) {
        for (size_t group = 0; group < 3; group++) {
            double mean = 0, variance = 0;
            for (size_t k = 0; k < count; k++) mean += (double)v.x[place(&v, image, group, k)] / (double)count;
            for (size_t k = 0; k < count; k++) variance += pow((double)v.x[place(&v, image, group, k)] - mean, 2) / (double)count;
            for (size_t k = 0; k < count; k++) {
                const size_t i = place(&v, image, group, k), c = i % 12;
                const double u = (double)v.gamma[c] * ((double)v.x[i] - mean) / sqrt(variance + 1e-3) + (double)v.beta[c];
                y[i] = u > 0 ? u : 0.2 * u;
            }
        }
    }
    for (size_t i = 0; i < v.size; i++) TEST_ASSERT_DOUBLE_WITHIN(CP_DOUBLE ? 1e-13 : 1e-6, y[i], (double)r.y[i]);
    free(y);
    results_free(&r);
    problem_free(&v);
}

/* ---- families ---- */

/* Moves values away from a kink if they are so close that rounding decides on which side they are. */
static void leave_the_kink(problem *v) {
    v->p.slope = 1; /* shows the input of the leaky ReLU */
    for (int pass = 0; pass < 20; pass++) {
        results r = results_of(v);
        bool    moved = false;
        for (size_t i = 0; i < v->size; i++) {
            if (v->p.pixels * v->p.channels > v->p.groups && fabs((double)r.y[i]) < 1e-4) {
                v->x[i] += (cp_real)(0.01 * random_between(1, 9));
                moved = true;
            }
        }
        results_free(&r);
        if (!moved) break;
    }
    v->p.slope = (cp_real)0.2;
}

static void families_agree(problem *v) {
    const size_t depth = v->p.pixels * v->p.channels / v->p.groups;
    kernels_reference();
    leave_the_kink(v);
    results expected = results_of(v);
    for (int next = FAMILY_FAST; kernels_next(&next);) {
        results r = results_of(v);
        assert_close(v->size, r.y, expected.y, 1, 1e-5, named(v, "norm"));
        assert_close(v->groups, r.mean, expected.mean, 1, 1e-6, named(v, "mean"));
        assert_close(v->groups, r.rstd, expected.rstd, 1, 1e-5, named(v, "1 / deviation"));
        assert_close(v->size, r.gx, expected.gx, depth, 3e-5, named(v, "gradient"));
        assert_close(v->p.channels, r.of_gamma, expected.of_gamma, v->p.images * v->p.pixels, 3e-5, named(v, "gradient at gamma"));
        assert_close(v->p.channels, r.of_beta, expected.of_beta, v->p.images * v->p.pixels, 3e-5, named(v, "gradient at beta"));
        results_free(&r);
    }
    results_free(&expected);
}

static void fast_norms_agree_with_the_reference(void) {
    static const size_t shapes[][4] = {{2, 784, 16, 8}, {3, 49, 64, 8},  {1, 1, 1, 1},    {1, 1, 64, 4},
                                       {5, 1, 12, 12},  {300, 1, 16, 1}, {129, 1, 5, 1},  {7, 1, 70, 1},
                                       {1, 1, 33, 1},   {2, 9, 3, 1},    {4, 255, 1, 1},  {2, 257, 17, 17},
                                       {2, 15, 48, 3},  {3, 4, 20, 5},   {1, 3000, 2, 1}, {2, 16, 130, 13}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int given = 0; given <= BOTH; given++) {
            problem v = problem_of(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], given);
            families_agree(&v);
            problem_free(&v);
        }
    }
    for (int trial = 0; trial < 100; trial++) {
        const size_t groups = (size_t)random_between(1, 6), wide = (size_t)random_between(1, 12);
        problem      v = problem_of((size_t)random_between(1, 6), trial % 3 ? (size_t)random_between(1, 40) : 1, groups * wide,
                               trial % 2 ? groups : 1, trial % 4);
        families_agree(&v);
        problem_free(&v);
    }
}

static void unwanted_gradients_are_not_written(void) {
    static const size_t shapes[][4] = {{3, 9, 20, 4}, {140, 1, 20, 1}};
    for (size_t i = 0; i < 2; i++) {
        problem v = problem_of(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], BOTH);
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            results r = results_of(&v), part = results_of(&v);
            memset(part.gx, 0, v.size * sizeof(cp_real));
            memset(part.of_gamma, 0, v.p.channels * sizeof(cp_real)), memset(part.of_beta, 0, v.p.channels * sizeof(cp_real));
            const cp_kernel_family *k = cp_kernels();
            TEST_ASSERT_TRUE(k->group_norm_grad(scratch, &v.p, v.x, r.mean, r.rstd, v.g, part.gx, NULL, NULL));
            TEST_ASSERT_TRUE(k->group_norm_grad(scratch, &v.p, v.x, r.mean, r.rstd, v.g, NULL, part.of_gamma, part.of_beta));
            TEST_ASSERT_EQUAL_MEMORY(r.gx, part.gx, v.size * sizeof(cp_real));
            TEST_ASSERT_EQUAL_MEMORY(r.of_gamma, part.of_gamma, v.p.channels * sizeof(cp_real));
            TEST_ASSERT_EQUAL_MEMORY(r.of_beta, part.of_beta, v.p.channels * sizeof(cp_real));
            results_free(&r), results_free(&part);
        }
        problem_free(&v);
    }
}

/* ---- edges ---- */

static void equal_values_give_exactly_beta(void) {
    static const size_t shapes[][4] = {{2, 7, 20, 4}, {9, 1, 20, 1}, {1, 1, 3, 3}, {2, 600, 3, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        problem v = problem_of(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], BOTH);
        v.p.slope = 1;
        for (size_t k = 0; k < v.size; k++) v.x[k] = (cp_real)1234.1;
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            results r = results_of(&v);
            for (size_t k = 0; k < v.size; k++)
                TEST_ASSERT_TRUE_MESSAGE(r.y[k] == v.beta[k % v.p.channels] && isfinite(r.gx[k]), named(&v, "norm"));
            results_free(&r);
        }
        problem_free(&v);
    }
}

/* In float, E[x^2] - E[x]^2 would have no digit left. */
static void values_far_from_zero_keep_their_variance(void) {
    static const size_t shapes[][4] = {{2, 784, 16, 8}, {50, 1, 16, 1}, {1, 5000, 3, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        problem near = problem_of(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], 0), far = near;
        near.p.slope = far.p.slope = 1;
        far.x = numbers(far.size);
        for (size_t k = 0; k < near.size; k++) { /* multiples of 2^-6: the sum is exact */
            near.x[k] = (cp_real)(random_between(-64, 64) / 64.0);
            far.x[k] = near.x[k] + 65536;
        }
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            results a = results_of(&near), b = results_of(&far);
            assert_close(near.groups, b.rstd, a.rstd, 1, 1e-4, named(&far, "1 / deviation"));
            assert_close(near.size, b.y, a.y, 1, 0.02, named(&far, "norm")); /* the mean's last place: 2^-7, over 0.58 */
            results_free(&a), results_free(&b);
        }
        free(far.x);
        problem_free(&near);
    }
}

static void a_nan_or_an_infinity_affects_only_its_own_group(void) {
    static const size_t shapes[][4] = {{3, 7, 20, 4}, {3, 1, 20, 1}};
    const cp_real       bad[] = {(cp_real)NAN, (cp_real)INFINITY};
    for (size_t i = 0; i < 4; i++) {
        problem      v = problem_of(shapes[i % 2][0], shapes[i % 2][1], shapes[i % 2][2], shapes[i % 2][3], BOTH);
        const size_t wide = v.p.channels / v.p.groups, image = v.p.pixels * v.p.channels;
        v.x[image + v.p.channels - 1] = bad[i / 2]; /* the first pixel's last channel, in image 1 */
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            results r = results_of(&v);
            for (size_t k = 0; k < v.size; k++) {
                const bool inside = k / image == 1 && k % v.p.channels / wide == v.p.groups - 1;
                TEST_ASSERT_TRUE_MESSAGE(isfinite(r.gx[k]) == !inside, named(&v, "gradient"));
                TEST_ASSERT_TRUE_MESSAGE(isfinite(r.y[k]) == !inside || (i >= 2 && inside), named(&v, "norm"));
            }
            results_free(&r);
        }
        problem_free(&v);
    }
}

static void empty_input_writes_nothing(void) {
    static const size_t shapes[][4] = {{0, 7, 20, 4}, {0, 1, 20, 1}, {3, 0, 4, 2}};
    for (size_t i = 0; i < 3; i++) {
        problem v = problem_of(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], BOTH);
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            results r = results_of(&v);
            for (size_t c = 0; c < v.p.channels; c++)
                TEST_ASSERT_TRUE_MESSAGE(r.of_gamma[c] == 0 && r.of_beta[c] == 0, named(&v, "gradient"));
            results_free(&r);
        }
        problem_free(&v);
    }
}

/* Scratch memory must be released, or tearDown fails. */
static void a_norm_without_memory_reports_it(void) {
    problem v = problem_of(3, 9, 20, 4, BOTH);
    for (int next = FAMILY_FAST; kernels_next(&next);) {
        results r = results_of(&v);
        int     refused = 0;
        for (calls_allowed = 0; !cp_kernels()->group_norm(scratch, &v.p, v.x, r.y, r.mean, r.rstd); calls_allowed = ++refused)
            continue;
        TEST_ASSERT_GREATER_THAN(0, refused);
        int more = 0;
        for (calls_allowed = 0;
             !cp_kernels()->group_norm_grad(scratch, &v.p, v.x, r.mean, r.rstd, v.g, r.gx, r.of_gamma, r.of_beta);
             calls_allowed = ++more)
            continue;
        TEST_ASSERT_GREATER_THAN(refused, more);
        calls_allowed = -1;
        results_free(&r);
    }
    problem_free(&v);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_reference_norm_follows_its_definition);
    RUN_TEST(fast_norms_agree_with_the_reference);
    RUN_TEST(unwanted_gradients_are_not_written);
    RUN_TEST(equal_values_give_exactly_beta);
    RUN_TEST(values_far_from_zero_keep_their_variance);
    RUN_TEST(a_nan_or_an_infinity_affects_only_its_own_group);
    RUN_TEST(empty_input_writes_nothing);
    RUN_TEST(a_norm_without_memory_reports_it);
    return UNITY_END();
}
