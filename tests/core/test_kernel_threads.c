/* Every kernel gives the same bits for any number of threads: all families, all methods of convolution. The program is
 * linked with its own cp_parallel and cp_tasks_run, which record how work is split before they pass it on. A test whose
 * work does not occupy all threads fails, because it would prove nothing. */
#include "core/kernels/channels.h"
#include "core/kernels/reduce.h"
#include "core/kernels/tasks.h"
#include "tests/support/conv_problem.h"
#include "tests/support/setup_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how work is split ---- */

void __real_cp_parallel(size_t count, size_t grain, cp_loop_fn body, void *context);
void __real_cp_tasks_run(size_t items, size_t slots, cp_task_fn body, const void *context);
void __wrap_cp_parallel(size_t count, size_t grain, cp_loop_fn body, void *context);
void __wrap_cp_tasks_run(size_t items, size_t slots, cp_task_fn body, const void *context);

static size_t max_chunks, max_slots; /* of any one loop, since they were last set to 0 */

void __wrap_cp_parallel(size_t count, size_t grain, cp_loop_fn body, void *context) {
    const size_t chunks = grain ? (count + grain - 1) / grain : count;
    max_chunks = chunks > max_chunks ? chunks : max_chunks;
    __real_cp_parallel(count, grain, body, context);
}

void __wrap_cp_tasks_run(size_t items, size_t slots, cp_task_fn body, const void *context) {
    max_slots = slots > max_slots ? slots : max_slots;
    __real_cp_tasks_run(items, slots, body, context);
}

/* Where a kernel runs tasks, its other loops only prepare them. */
static size_t threads_occupied(void) { return max_slots ? max_slots : max_chunks; }

/* ---- the same bits ---- */

typedef void (*work_fn)(const void *context, void *out);

/* out starts as `start`. */
static void run_on(int threads, work_fn work, const void *context, const void *start, size_t bytes, void *out) {
    max_chunks = max_slots = 0;
    cp_threads_set(threads);
    memcpy(out, start, bytes);
    work(context, out);
}

/* `bytes` of the result are compared; the memory after them has room for spare signs. */
static void assert_same_bits(work_fn work, const void *context, size_t bytes, bool splits, const char *name) {
    static const int many[] = {2, 3, 5};
    const size_t     room = cp_signs_bytes(8 * bytes);
    cp_real         *start = numbers(room / sizeof(cp_real) + 1), *expected = malloc(room), *got = malloc(room);
    TEST_ASSERT_TRUE(expected && got);
    run_on(1, work, context, start, room, expected);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        char text[400];
        run_on(many[i], work, context, start, room, got);
        snprintf(text, sizeof text, "%s: %zu of %d threads occupied", name, threads_occupied(), many[i]);
        TEST_ASSERT_TRUE_MESSAGE(!splits || threads_occupied() >= (size_t)many[i], text);
        TEST_ASSERT_EQUAL_MEMORY_MESSAGE(expected, got, bytes, text);
    }
    free(start), free(expected), free(got);
}

/* For messages; valid until the next call. */
static const char *by_family(const char *what) {
    static char text[100];
    snprintf(text, sizeof text, "%s %s", cp_kernels()->name, what);
    return text;
}

/* ---- convolutions ---- */

static void forward(const void *context, void *out) {
    const problem *p = context;
    TEST_ASSERT_TRUE(cp_kernels()->conv2d(scratch, &p->s, p->x, p->w, &p->forward, out));
}

static void input_grad(const void *context, void *out) {
    const problem *p = context;
    TEST_ASSERT_TRUE(cp_kernels()->conv2d_input_grad(scratch, &p->s, p->gy, p->w, &p->backward, out));
}

static void weight_grad(const void *context, void *out) {
    const problem *p = context;
    TEST_ASSERT_TRUE(
        cp_kernels()->conv2d_weight_grad(scratch, &p->s, p->x, p->gy, &p->weights, out, (cp_real *)out + w_size(&p->s)));
}

static void assert_conv_has_same_bits(cp_conv_shape s, unsigned fused) {
    problem p = problem_of(s, fused);
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        const bool fast = next > FAMILY_FAST; /* `next` is already the one after */
        for (int method = fast ? CP_CONV_DIRECT : CP_CONV_AUTO; method <= (fast ? CP_CONV_WINOGRAD_4 : CP_CONV_AUTO); method++) {
            kernels_method((cp_conv_method)method);
            assert_same_bits(forward, &p, y_size(&s) * sizeof(cp_real), true, named(&s, "forward"));
            assert_same_bits(input_grad, &p, x_size(&s) * sizeof(cp_real), true, named(&s, "input gradient"));
            assert_same_bits(weight_grad, &p, (w_size(&s) + (size_t)s.k) * sizeof(cp_real), true,
                             named(&s, "weight and bias gradient"));
        }
    }
    problem_free(&p);
}

/* At least five images, each at least one task, and enough tiles for five of Winograd's blocks. */
static void convolutions_have_the_same_bits_for_any_number_of_threads(void) {
    assert_conv_has_same_bits(square(5, 12, 8, 16, 3, 1, 1), 0);
    assert_conv_has_same_bits(square(1, 28, 3, 16, 3, 1, 1), 0);
}

static void fused_convolutions_have_the_same_bits_for_any_number_of_threads(void) {
    assert_conv_has_same_bits(square(5, 12, 17, 19, 3, 1, 1), ALL_FUSED);
    assert_conv_has_same_bits(square(7, 14, 16, 3, 3, 1, 2), ALL_FUSED);
}

static void strided_convolutions_have_the_same_bits_for_any_number_of_threads(void) {
    assert_conv_has_same_bits(square(12, 15, 16, 20, 3, 2, 1), ALL_FUSED);
    assert_conv_has_same_bits(square(9, 14, 32, 33, 1, 2, 0), 0);
}

/* The copies of gw, 9 x 9 x 260 numbers, are added by several threads too, and its channels are split. */
static void large_weight_gradients_have_the_same_bits_for_any_number_of_threads(void) {
    assert_conv_has_same_bits(square(5, 10, 9, 260, 3, 1, 1), LEAKY);
}

/* ---- matrices ---- */

typedef struct matrices {
    bool     trans_a, trans_b, accumulate;
    size_t   m, n, k;
    cp_real *a, *b;
} matrices;

static void gemm(const void *context, void *out) {
    const matrices *g = context;
    TEST_ASSERT_TRUE(cp_kernels()->gemm(scratch, g->trans_a, g->trans_b, g->m, g->n, g->k, g->a, g->b, out, g->accumulate));
}

/* 20 columns are one chunk of panels to pack; the blocks of rows occupy five threads. */
static void matrix_products_have_the_same_bits_for_any_number_of_threads(void) {
    for (int orders = 0; orders < 8; orders++) {
        matrices g = {orders & 1, orders & 2, orders & 4, 330, 20, orders ? 50 : 390, NULL, NULL};
        g.a = numbers(g.m * g.k), g.b = numbers(g.k * g.n);
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            assert_same_bits(gemm, &g, g.m * g.n * sizeof(cp_real), true, by_family("gemm"));
        }
        free(g.a), free(g.b);
    }
}

/* ---- one value at a time ---- */

enum { GRAIN = 1 << 14, VALUES = 5 * GRAIN + 8 }; /* GRAIN: of all kernels here */

typedef struct arrays {
    size_t   channels;
    cp_real *a, *b, *scale, *shift;
} arrays;

static arrays arrays_of(size_t channels) {
    return (arrays){channels, numbers(VALUES), numbers(VALUES), numbers(channels), numbers(channels)};
}

static void arrays_free(arrays *v) { free(v->a), free(v->b), free(v->scale), free(v->shift); }

static size_t rows_of(const arrays *v) { return VALUES / v->channels; }

#define WORK(name, CALL)                                                                                                           \
    static void name(const void *context, void *out) {                                                                             \
        const arrays *v = context;                                                                                                 \
        CALL;                                                                                                                      \
    }
WORK(adds, cp_kernels()->add(VALUES, v->a, v->b, out))
WORK(signs, cp_kernels()->signs(1, VALUES, v->a, NULL, NULL, out))
WORK(scaled_signs, cp_kernels()->signs(rows_of(v), v->channels, v->a, v->scale, v->shift, out))

static void sums_of_two_arrays_have_the_same_bits_for_any_number_of_threads(void) {
    arrays v = arrays_of(1);
    for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
        assert_same_bits(adds, &v, VALUES * sizeof(cp_real), true, by_family("add"));
    }
    arrays_free(&v);
}

/* Threads that write bits into the same byte would show here. The reference is for one thread. */
static void signs_have_the_same_bits_for_any_number_of_threads(void) {
    static const size_t channels[] = {31, 48}; /* neither divides the chunk; 48 is a multiple of the vector */
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        arrays v = arrays_of(channels[i]);
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            const bool fast = next > FAMILY_FAST;
            assert_same_bits(signs, &v, VALUES / 8, fast, by_family("signs"));
            assert_same_bits(scaled_signs, &v, rows_of(&v) * v.channels / 8, fast, by_family("scaled signs"));
        }
        arrays_free(&v);
    }
}

/* ---- channels ---- */

WORK(scale_shifts, cp_kernel_scale_shift(rows_of(v), v->channels, v->a, v->shift, v->scale, v->shift, out))
WORK(norm_grads, cp_kernel_norm_grad(rows_of(v), v->channels, v->a, v->scale, v->b, v->shift, v->scale, v->shift, out))
WORK(moments, TEST_ASSERT_TRUE(cp_kernel_moments(scratch, rows_of(v), v->channels, v->a, out, (cp_real *)out + v->channels)))
WORK(norm_sums, TEST_ASSERT_TRUE(cp_kernel_norm_sums(scratch, rows_of(v), v->channels, v->a, v->b, v->shift, v->scale, out,
                                                     (cp_real *)out + v->channels)))

static void norms_have_the_same_bits_for_any_number_of_threads(void) {
    static const size_t channels[] = {1, 16, 37};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        arrays       v = arrays_of(channels[i]);
        const size_t size = rows_of(&v) * v.channels * sizeof(cp_real), sums = 2 * v.channels * sizeof(cp_real);
        assert_same_bits(scale_shifts, &v, size, true, "scale and shift");
        assert_same_bits(norm_grads, &v, size, true, "gradient of a norm");
        assert_same_bits(moments, &v, sums, true, "moments");
        assert_same_bits(norm_sums, &v, sums, true, "sums for a norm");
        arrays_free(&v);
    }
}

typedef struct norm_arrays {
    cp_norm_problem p;
    cp_real        *x, *g, *mean, *rstd;
} norm_arrays;

static void group_norm(const void *context, void *out) {
    const norm_arrays *v = context;
    TEST_ASSERT_TRUE(cp_kernels()->group_norm(scratch, &v->p, v->x, out, v->mean, v->rstd));
}

static void group_norm_grad(const void *context, void *out) {
    const norm_arrays *v = context;
    cp_real           *gx = out, *of_gamma = gx + v->p.images * v->p.pixels * v->p.channels;
    TEST_ASSERT_TRUE(
        cp_kernels()->group_norm_grad(scratch, &v->p, v->x, v->mean, v->rstd, v->g, gx, of_gamma, of_gamma + v->p.channels));
}

/* Images for five threads; blocks of rows for them; and images for the reference, which processes several groups at a time. */
static void group_norms_have_the_same_bits_for_any_number_of_threads(void) {
    static const size_t shapes[][4] = {{11, 2048, 16, 2}, {6000, 1, 19, 1}, {5, 5000, 7, 7}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t images = shapes[i][0], channels = shapes[i][2], groups = shapes[i][3], size = images * shapes[i][1] * channels;
        norm_arrays v = {{images, shapes[i][1], channels, groups, NULL, NULL, (cp_real)0.2, (cp_real)1e-3}, NULL, NULL, NULL, NULL};
        v.x = numbers(size), v.g = numbers(size), v.mean = numbers(images * groups), v.rstd = numbers(images * groups);
        for (int next = FAMILY_REFERENCE; kernels_next(&next);) {
            assert_same_bits(group_norm, &v, size * sizeof(cp_real), true, by_family("norm"));
            assert_same_bits(group_norm_grad, &v, (size + 2 * channels) * sizeof(cp_real), true, by_family("gradient of a norm"));
        }
        free(v.x), free(v.g), free(v.mean), free(v.rstd);
    }
}

typedef struct reduction {
    size_t         outer, count, inner;
    const cp_real *x;
} reduction;

static void sum(const void *context, void *out) {
    const reduction *r = context;
    TEST_ASSERT_TRUE(cp_kernel_sum(scratch, r->outer, r->count, r->inner, r->x, out));
}

static void maximum(const void *context, void *out) {
    const reduction *r = context;
    cp_kernel_max(r->outer, r->count, r->inner, r->x, out);
}

/* A long axis is summed in blocks; for a maximum only different rows are different tasks. */
static void reductions_have_the_same_bits_for_any_number_of_threads(void) {
    cp_real        *x = numbers(VALUES + GRAIN);
    const reduction all[] = {
        {1, VALUES, 1, x}, {1, VALUES / 37, 37, x}, {10, GRAIN / 2, 1, x}, {VALUES / 7, 7, 1, x}, {10, 64, 128, x}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t bytes = all[i].outer * all[i].inner * sizeof(cp_real);
        assert_same_bits(sum, &all[i], bytes, true, "sum");
        assert_same_bits(maximum, &all[i], bytes, all[i].outer > 1, "maximum");
    }
    free(x);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(convolutions_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(fused_convolutions_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(strided_convolutions_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(large_weight_gradients_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(matrix_products_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(sums_of_two_arrays_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(signs_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(norms_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(group_norms_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(reductions_have_the_same_bits_for_any_number_of_threads);
    return UNITY_END();
}
