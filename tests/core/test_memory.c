/* Tests of the engine's memory: no malloc in a steady step, memory that does not grow, running out of memory at every
 * single allocation, from the system and from the arena, and no leaks. The program is linked with -Wl,--wrap for
 * malloc, calloc, realloc, aligned_alloc, posix_memalign, cp_arena_try and cp_arena_alloc, so that calls can be counted
 * and made to fail. */
#include "couplet.h"

#include "core/op.h"

#include "support/wrapped_memory.h"
#include "tests/support/errors.h"
#include "unity.h"

#include <stdlib.h>
#include <string.h>

/* The arena gets only large chunks from the system. To test every caller of the arena, calls of the arena fail too. */
void *__real_cp_arena_try(cp_arena *arena, size_t bytes);
void *__real_cp_arena_alloc(cp_arena *arena, size_t bytes);
void *__wrap_cp_arena_try(cp_arena *arena, size_t bytes);
void *__wrap_cp_arena_alloc(cp_arena *arena, size_t bytes);

static long arena_calls, arena_fail_at = -1;

static size_t or_impossible(size_t bytes) { return arena_calls++ == arena_fail_at ? SIZE_MAX : bytes; }

void *__wrap_cp_arena_try(cp_arena *arena, size_t bytes) { return __real_cp_arena_try(arena, or_impossible(bytes)); }

void *__wrap_cp_arena_alloc(cp_arena *arena, size_t bytes) { return __real_cp_arena_alloc(arena, or_impossible(bytes)); }

void setUp(void) {
    calls_allowed = arena_fail_at = -1;
    memory_stays_out = false;
    errors_catch();
}

void tearDown(void) {
    calls_allowed = arena_fail_at = -1;
    cp_threads_set(0);
    errors_release();
}

/* ---- a small network with every kind of layer ---- */

enum { BATCH = 8, SIDE = 12, CLASSES = 5, PARAMETERS = 8 };

typedef struct network {
    cp_tensor *p[PARAMETERS]; /* conv, its bias, gamma, beta, conv, gamma, beta, matrix */
    cp_tensor *mean, *var;
} network;

static cp_tensor *parameter(cp_rng *rng, cp_shape shape) {
    static cp_real values[4096];
    cp_rng_fill_normal(rng, values, 4096, 0, (cp_real)0.2);
    return cp_parameter_new(values, shape);
}

static void network_free(network *net) {
    for (int i = 0; i < PARAMETERS; i++) cp_tensor_free(net->p[i]);
    cp_tensor_free(net->mean);
    cp_tensor_free(net->var);
}

static bool network_make(network *net) {
    cp_rng rng = cp_rng_named(3, "init");
    *net = (network){.p = {parameter(&rng, CP_SHAPE(3, 3, 3, 8)), parameter(&rng, CP_SHAPE(8)), parameter(&rng, CP_SHAPE(8)),
                           parameter(&rng, CP_SHAPE(8)), parameter(&rng, CP_SHAPE(3, 3, 8, 16)), parameter(&rng, CP_SHAPE(16)),
                           parameter(&rng, CP_SHAPE(16)), parameter(&rng, CP_SHAPE(16, CLASSES))}};
    net->mean = cp_tensor_new(CP_SHAPE(16));
    net->var = cp_tensor_new(CP_SHAPE(16));
    bool ok = net->mean && net->var;
    for (int i = 0; i < PARAMETERS; i++) ok = ok && net->p[i];
    return ok;
}

/* One training step; false if a call failed. */
static bool step(cp_tape *tape, network *net, cp_rng *rng) {
    static cp_real image[BATCH * SIDE * SIDE * 3];
    int            labels[BATCH];
    cp_tensor     *gradients[PARAMETERS] = {0}, **p = net->p;
    cp_rng_fill_uniform(rng, image, sizeof image / sizeof *image, -1, 1);
    for (int i = 0; i < BATCH; i++) labels[i] = i % CLASSES;
    cp_batch_norm_config norm = {.training = true, .running_mean = net->mean, .running_var = net->var};
    cp_tensor           *x = cp_constant(tape, image, CP_SHAPE(BATCH, SIDE, SIDE, 3));
    x = x ? cp_conv2d(tape, x, p[0], p[1], (cp_conv2d_config){CP_PAD(1)}) : NULL;
    x = x ? cp_leaky_relu(tape, cp_group_norm(tape, x, p[2], p[3], 2, (cp_real)1e-5), (cp_real)0.2) : NULL;
    x = x ? cp_max_pool(tape, x, (cp_pool2d_config){CP_WINDOW(2)}) : NULL;
    x = x ? cp_leaky_conv2d(tape, x, p[4], (cp_conv_extras){.slope = (cp_real)0.2}, (cp_conv2d_config){CP_PAD(1), CP_STRIDE(2)})
          : NULL;
    x = x ? cp_relu(tape, cp_batch_norm(tape, x, p[5], p[6], norm)) : NULL;
    x = x ? cp_dropout(tape, cp_global_avg_pool(tape, x), (cp_real)0.25, rng, true) : NULL;
    x = x ? cp_matmul(tape, x, p[7], 0) : NULL;
    x = x ? cp_add(tape, cp_cross_entropy(tape, x, (cp_labels){labels, BATCH}),
                   cp_scale(tape, cp_mean(tape, cp_logsumexp(tape, x, CP_AXES(1), false), CP_ALL, false), (cp_real)0.1))
          : NULL;
    if (!x || !cp_grad(tape, x, p, PARAMETERS, gradients)) return false;
    for (int i = 0; i < PARAMETERS; i++)
        for (size_t k = 0; k < p[i]->size; k++) p[i]->data[k] -= (cp_real)0.01 * gradients[i]->data[k];
    return true;
}

static bool train(cp_tape *tape, network *net, cp_rng *rng, int steps) {
    bool ok = true;
    for (int i = 0; i < steps && ok; i++) {
        ok = step(tape, net, rng);
        cp_tape_reset(tape);
    }
    return ok;
}

/* ---- steady steps ---- */

static void expect_no_malloc_in_steady_steps(int threads) {
    network  net;
    cp_rng   rng = cp_rng_named(5, "data");
    cp_tape *tape = cp_tape_new();
    cp_threads_set(threads);
    TEST_ASSERT_TRUE(network_make(&net));
    memory_calls = 0;
    TEST_ASSERT_TRUE(train(tape, &net, &rng, 3));
    TEST_ASSERT_GREATER_THAN_INT64(0, memory_calls); /* the counting works */
    size_t peak = cp_tape_peak(tape);
    memory_calls = 0;
    TEST_ASSERT_TRUE(train(tape, &net, &rng, 50));
    TEST_ASSERT_EQUAL_INT64(0, memory_calls);
    TEST_ASSERT_EQUAL_UINT64(peak, cp_tape_peak(tape));
    cp_tape_free(tape);
    network_free(&net);
}

static void a_steady_training_step_calls_malloc_zero_times(void) { expect_no_malloc_in_steady_steps(1); }

static void a_steady_training_step_calls_malloc_zero_times_with_two_threads(void) { expect_no_malloc_in_steady_steps(2); }

static void a_steady_second_order_step_calls_malloc_zero_times(void) {
    cp_tape *tape = cp_tape_new();
    for (int i = 0; i < 20; i++) {
        if (i == 3) memory_calls = 0;
        cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2, 3, 4}, CP_SHAPE(2, 2)), *dx, *dw;
        cp_tensor *energy = cp_sum(tape, cp_tanh(tape, cp_matmul(tape, x, x, CP_TRANSPOSE_B)), CP_ALL, false);
        TEST_ASSERT_TRUE(cp_grad_recorded(tape, energy, &x, 1, &dx));
        TEST_ASSERT_TRUE(cp_grad(tape, cp_sum(tape, cp_square(tape, dx), CP_ALL, false), &x, 1, &dw));
        cp_tape_reset(tape);
    }
    TEST_ASSERT_EQUAL_INT64(0, memory_calls);
    cp_tape_free(tape);
}

/* A sampler's loop: the energy of x, its gradient, an update, a reset. */
static void memory_does_not_grow_over_10000_sampling_steps(void) {
    cp_tape   *tape = cp_tape_new();
    cp_rng     rng = cp_rng_named(5, "sgld");
    cp_tensor *w = parameter(&rng, CP_SHAPE(6, CLASSES));
    cp_real    chains[4 * 6];
    size_t     peak = 0, reserved = 0;
    cp_arena  *arena = cp_scratch(CP_AT(tape));
    cp_rng_fill_uniform(&rng, chains, 24, -1, 1);
    cp_tape_freeze(tape, true);
    for (int i = 0; i < 10000; i++) {
        cp_tensor *x = cp_variable(tape, chains, CP_SHAPE(4, 6)), *dx;
        cp_tensor *logits = cp_matmul(tape, cp_swish(tape, x), w, 0);
        cp_tensor *energy = cp_neg(tape, cp_sum(tape, cp_logsumexp(tape, logits, CP_AXES(1), false), CP_ALL, false));
        TEST_ASSERT_TRUE(cp_grad(tape, energy, &x, 1, &dx));
        for (int k = 0; k < 24; k++) chains[k] -= (cp_real)0.01 * dx->data[k];
        if (i == 3) {
            memory_calls = 0;
            peak = cp_tape_peak(tape);
            reserved = cp_arena_reserved(arena);
        }
        cp_tape_reset(tape);
    }
    TEST_ASSERT_EQUAL_INT64(0, memory_calls);
    TEST_ASSERT_EQUAL_UINT64(peak, cp_tape_peak(tape));
    TEST_ASSERT_EQUAL_UINT64(reserved, cp_arena_reserved(arena));
    cp_tensor_free(w);
    cp_tape_free(tape);
}

static void a_larger_batch_in_between_does_not_disturb_the_steady_state(void) {
    static cp_real zeros[100000];
    cp_tape       *tape = cp_tape_new();
    for (int i = 0; i < 40; i++) {
        int n = i == 10 ? 100000 : 1000;
        if (i == 14) memory_calls = 0;
        cp_tensor *x = cp_variable(tape, zeros, CP_SHAPE(n)), *dx;
        TEST_ASSERT_TRUE(cp_grad(tape, cp_sum(tape, cp_exp(tape, cp_square(tape, x)), CP_ALL, false), &x, 1, &dx));
        cp_tape_reset(tape);
    }
    TEST_ASSERT_EQUAL_INT64(0, memory_calls);
    cp_tape_free(tape);
}

/* ---- out of memory ---- */

/* A small complete program. With enough memory it returns true without a message; otherwise there is a message, and no
 * crash or leak. */
static bool small_program(void) {
    network  net = {0};
    cp_rng   rng = cp_rng_named(5, "data");
    bool     ok = network_make(&net);
    cp_tape *tape = ok ? cp_tape_new() : NULL;
    ok = ok && tape && train(tape, &net, &rng, 2);
    if (tape && !ok) { /* the tape stays usable once there is memory again */
        long allowed = calls_allowed;
        calls_allowed = -1;
        cp_tape_reset(tape);
        cp_tensor *x = cp_variable(tape, (cp_real[]){3}, CP_SHAPE(1)), *dx = NULL;
        TEST_ASSERT_TRUE(cp_grad(tape, cp_sum(tape, cp_square(tape, x), CP_ALL, false), &x, 1, &dx));
        TEST_ASSERT_EQUAL_DOUBLE(6, (double)dx->data[0]);
        calls_allowed = allowed;
    }
    cp_tape_free(tape);
    network_free(&net);
    return ok;
}

static void expect_survival_of_every_failure(bool and_all_later) {
    long failures = 0;
    cp_threads_set(1);
    memory_stays_out = and_all_later;
    for (long n = 0;; n++) {
        errors_forget();
        memory_calls = 0;
        calls_allowed = n;
        bool ok = small_program();
        bool reached = memory_calls > n;
        calls_allowed = -1;
        if (!reached) {
            TEST_ASSERT_TRUE(ok);
            TEST_ASSERT_EQUAL_INT(0, errors);
            break;
        }
        /* The arena may recover from one failed call by asking for less, but it must not fail silently. */
        if (!ok) TEST_ASSERT_GREATER_THAN_INT_MESSAGE(0, errors, "refused without a message");
        if (errors) {
            TEST_ASSERT_FALSE_MESSAGE(ok, first_error);
            TEST_ASSERT_NOT_NULL_MESSAGE(strstr(first_error, "out of memory"), first_error);
            failures++;
        }
    }
    TEST_ASSERT_GREATER_THAN_INT64(20, failures);
}

static void out_of_memory_at_any_single_call_is_reported_and_survived(void) { expect_survival_of_every_failure(false); }

static void out_of_memory_from_any_call_on_is_reported_and_survived(void) { expect_survival_of_every_failure(true); }

static void a_failed_arena_allocation_at_any_call_is_reported_and_survived(void) {
    cp_threads_set(1);
    long n = 0;
    for (;; n++) {
        errors_forget();
        arena_calls = 0;
        arena_fail_at = n;
        bool ok = small_program(), reached = arena_calls > n;
        arena_fail_at = -1;
        TEST_ASSERT_TRUE_MESSAGE(ok == !reached, "a step continued without the memory it requested");
        TEST_ASSERT_TRUE_MESSAGE((errors > 0) == reached, first_error);
        if (!reached) break;
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(first_error, "out of memory"), first_error);
    }
    TEST_ASSERT_GREATER_THAN_INT64(120, n);
}

/* The memory per node of a chain of scalars: its tensor, its value, its entry on the tape. */
static void a_node_of_a_scalar_chain_takes_at_max_500_bytes_its_sweep_included(void) {
    enum { LENGTH = 20000 };
    cp_tape   *tape = cp_tape_new();
    cp_tensor *w = cp_parameter_new((cp_real[]){1}, CP_SCALAR), *y = w, *dw;
    for (int i = 0; i < LENGTH; i++) y = cp_mul(tape, y, w);
    TEST_ASSERT_EQUAL_INT(LENGTH, cp_tape_length(tape));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(300, cp_tape_bytes(tape) / LENGTH);
    TEST_ASSERT_TRUE(cp_grad(tape, y, &w, 1, &dw));
    TEST_ASSERT_TRUE(cp_item(dw) == LENGTH + 1);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(500, cp_tape_peak(tape) / LENGTH);
    cp_tape_free(tape);
    cp_tensor_free(w);
}

/* ---- leaks: found by the leak sanitizer, or valgrind, when the program ends ---- */

static void a_program_that_never_asks_for_a_gradient_leaks_nothing(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2, 3}, CP_SHAPE(3));
    for (int i = 0; i < 1000; i++) x = cp_tanh(tape, x);
    TEST_ASSERT_EQUAL_INT(1000, cp_tape_length(tape));
    cp_tape_free(tape);
}

static void a_tape_that_is_never_reset_leaks_nothing(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *w = cp_parameter_new((cp_real[]){1, 2, 3}, CP_SHAPE(3)), *dw;
    for (int i = 0; i < 100; i++) TEST_ASSERT_TRUE(cp_grad(tape, cp_sum(tape, cp_square(tape, w), CP_ALL, false), &w, 1, &dw));
    cp_tape_free(tape);
    cp_tensor_free(w);
}

static void an_empty_tape_and_a_tape_reset_many_times_leak_nothing(void) {
    cp_tape_free(cp_tape_new());
    cp_tape *tape = cp_tape_new();
    for (int i = 0; i < 10; i++) cp_tape_reset(tape);
    cp_tape_free(tape);
}

static void batch_norm_without_memory_leaves_the_running_statistics_unchanged(void) {
    cp_real              values[6] = {1, 2, 3, 4, 5, 6};
    cp_tensor           *gamma = cp_parameter_new(values, CP_SHAPE(2)), *mean = cp_tensor_new(CP_SHAPE(2));
    cp_tensor           *variance = cp_tensor_new(CP_SHAPE(2)), *out = NULL;
    cp_batch_norm_config norm = {.training = true, .running_mean = mean, .running_var = variance};
    for (long at = 0; at < 100 && !out; at++) {
        cp_tape   *tape = cp_tape_new();
        cp_tensor *x = cp_constant(tape, values, CP_SHAPE(3, 2));
        TEST_ASSERT_TRUE(mean->data[0] == 0 && variance->data[0] == 0);
        errors_forget();
        arena_calls = 0, arena_fail_at = at;
        out = cp_batch_norm(tape, x, gamma, NULL, norm);
        arena_fail_at = -1;
        TEST_ASSERT_TRUE(out || (at < 20 && errors));
        cp_tape_free(tape);
    }
    TEST_ASSERT_TRUE(mean->data[0] != 0 && variance->data[0] != 0);
    cp_tensor_free(gamma), cp_tensor_free(mean), cp_tensor_free(variance);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_steady_training_step_calls_malloc_zero_times);
    RUN_TEST(a_steady_training_step_calls_malloc_zero_times_with_two_threads);
    RUN_TEST(a_steady_second_order_step_calls_malloc_zero_times);
    RUN_TEST(memory_does_not_grow_over_10000_sampling_steps);
    RUN_TEST(a_larger_batch_in_between_does_not_disturb_the_steady_state);
    RUN_TEST(out_of_memory_at_any_single_call_is_reported_and_survived);
    RUN_TEST(out_of_memory_from_any_call_on_is_reported_and_survived);
    RUN_TEST(a_failed_arena_allocation_at_any_call_is_reported_and_survived);
    RUN_TEST(a_node_of_a_scalar_chain_takes_at_max_500_bytes_its_sweep_included);
    RUN_TEST(a_program_that_never_asks_for_a_gradient_leaks_nothing);
    RUN_TEST(a_tape_that_is_never_reset_leaks_nothing);
    RUN_TEST(an_empty_tape_and_a_tape_reset_many_times_leak_nothing);
    RUN_TEST(batch_norm_without_memory_leaves_the_running_statistics_unchanged);
    return UNITY_END();
}
