/* Tests of core/pool: every item once, the same chunks for any number of threads, nesting, several callers, restarts, the
 * environment and fork. */
#include "core/error.h"
#include "core/threads.h"

#include "tests/core/child.h"
#include "tests/support/errors.h"
#include "unity.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ITEMS = 5000 };

static bool no_new_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    return no_new_threads ? EAGAIN : __real_pthread_create(thread, attributes, start, argument);
}

typedef struct visits {
    atomic_int times[ITEMS];
    size_t     count, grain;
    atomic_int bad_chunks;
} visits;

static void visit(void *context, size_t begin, size_t end) {
    visits *v = context;
    size_t  grain = v->grain ? v->grain : 1;
    bool    right = begin % grain == 0 && begin < end && end - begin <= grain;
    if (!right || (end - begin < grain && end != v->count)) atomic_fetch_add(&v->bad_chunks, 1);
    for (size_t i = begin; i < end; i++) atomic_fetch_add(&v->times[i], 1);
}

static bool each_item_once(size_t count, size_t grain) {
    visits *v = calloc(1, sizeof *v);
    if (!v) return false;
    v->count = count;
    v->grain = grain;
    cp_parallel(count, grain, visit, v);
    bool once = v->bad_chunks == 0;
    for (size_t i = 0; i < ITEMS; i++) once = once && v->times[i] == (i < count);
    free(v);
    return once;
}

void setUp(void) { cp_threads_set(3); }

void tearDown(void) {
    unsetenv("COUPLET_THREADS");
    errors_release();
}

static void every_item_is_visited_exactly_once(void) {
    static const size_t counts[] = {1, 2, 3, 7, 64, 1000, 4999, ITEMS};
    static const size_t grains[] = {0, 1, 2, 3, 64, 999, 5000, SIZE_MAX};
    for (int threads = 1; threads <= 8; threads++) {
        cp_threads_set(threads);
        TEST_ASSERT_EQUAL_INT(threads, cp_threads());
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (size_t j = 0; j < sizeof grains / sizeof *grains; j++) {
                if (!each_item_once(counts[i], grains[j])) {
                    char message[100];
                    snprintf(message, sizeof message, "count %zu grain %zu threads %d", counts[i], grains[j], threads);
                    TEST_FAIL_MESSAGE(message);
                }
            }
        }
    }
}

static void must_not_run(void *context, size_t begin, size_t end) {
    (void)begin, (void)end;
    atomic_store((atomic_int *)context, 1);
}

static void an_empty_loop_runs_nothing(void) {
    atomic_int ran = 0;
    cp_parallel(0, 10, must_not_run, &ran);
    cp_parallel(0, 0, must_not_run, &ran);
    TEST_ASSERT_EQUAL_INT(0, ran);
}

static void add_up(void *context, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) atomic_fetch_add((atomic_size_t *)context, i);
}

static void many_short_loops_in_a_row_are_all_complete(void) {
    for (int i = 0; i < 20000; i++) {
        atomic_size_t sum = 0;
        cp_parallel(4, 1, add_up, &sum);
        TEST_ASSERT_EQUAL_UINT64(6, sum);
    }
}

typedef struct nested {
    atomic_size_t sums[40];
    atomic_int    strayed;
} nested;

typedef struct inner {
    nested   *all;
    size_t    index;
    pthread_t thread;
} inner;

static void inner_body(void *context, size_t begin, size_t end) {
    inner *in = context;
    if (!pthread_equal(in->thread, pthread_self())) atomic_fetch_add(&in->all->strayed, 1);
    for (size_t i = begin; i < end; i++) atomic_fetch_add(&in->all->sums[in->index], i);
}

static void outer_body(void *context, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        inner in = {context, i, pthread_self()};
        cp_parallel(100, 7, inner_body, &in);
    }
}

static void a_loop_inside_a_loop_runs_on_the_calling_thread(void) {
    nested n = {0};
    cp_parallel(40, 1, outer_body, &n);
    TEST_ASSERT_EQUAL_INT(0, n.strayed);
    for (int i = 0; i < 40; i++) TEST_ASSERT_EQUAL_UINT64(4950, n.sums[i]);
}

static void *caller(void *failures) {
    for (int i = 0; i < 100; i++) {
        if (!each_item_once(1 + (size_t)i * 13, 5)) atomic_fetch_add((atomic_int *)failures, 1);
    }
    return NULL;
}

static void four_threads_may_run_loops_at_the_same_time(void) {
    pthread_t  callers[4];
    atomic_int failures = 0;
    for (int i = 0; i < 4; i++) TEST_ASSERT_EQUAL_INT(0, pthread_create(&callers[i], NULL, caller, &failures));
    for (int i = 0; i < 4; i++) pthread_join(callers[i], NULL);
    TEST_ASSERT_EQUAL_INT(0, failures);
}

static void *changer(void *stop) {
    for (int i = 0; !atomic_load((atomic_int *)stop); i++) {
        cp_threads_set(1 + i % 4);
        if (i % 5 == 0) cp_threads_stop();
    }
    return NULL;
}

static void the_number_of_threads_may_change_while_loops_run(void) {
    pthread_t  thread;
    atomic_int stop = 0, failures = 0;
    TEST_ASSERT_EQUAL_INT(0, pthread_create(&thread, NULL, changer, &stop));
    caller(&failures);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    TEST_ASSERT_EQUAL_INT(0, failures);
}

enum { NUMBERS = 10007, GRAIN = 64, CHUNKS = (NUMBERS + GRAIN - 1) / GRAIN };

typedef struct partial {
    float numbers[NUMBERS];
    float sums[CHUNKS];
} partial;

static void sum_chunk(void *context, size_t begin, size_t end) {
    partial *p = context;
    float    sum = 0;
    for (size_t i = begin; i < end; i++) sum += p->numbers[i];
    p->sums[begin / GRAIN] = sum;
}

static float total(partial *p) {
    cp_parallel(NUMBERS, GRAIN, sum_chunk, p);
    float sum = 0;
    for (int i = 0; i < CHUNKS; i++) sum += p->sums[i];
    return sum;
}

static void sums_by_chunks_have_the_same_bits_for_any_number_of_threads(void) {
    static partial p;
    for (int i = 0; i < NUMBERS; i++) p.numbers[i] = 1.0f / (float)(1 + i * 7919 % NUMBERS);
    cp_threads_set(1);
    float expected = total(&p);
    for (int threads = 2; threads <= 5; threads++) {
        cp_threads_set(threads);
        memset(p.sums, 0, sizeof p.sums);
        float sum = total(&p);
        TEST_ASSERT_EQUAL_MEMORY(&expected, &sum, sizeof sum);
    }
}

typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t  all_here;
    int             present;
} meeting;

/* Returns only when both chunks run at the same time, that is, on two threads. */
static void meet(void *context, size_t begin, size_t end) {
    (void)begin, (void)end;
    meeting *m = context;
    pthread_mutex_lock(&m->lock);
    m->present++;
    pthread_cond_broadcast(&m->all_here);
    while (m->present < 2) pthread_cond_wait(&m->all_here, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

static bool two_threads_meet(void) {
    meeting m = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    cp_threads_set(2);
    cp_parallel(2, 1, meet, &m);
    return m.present == 2;
}

static void chunks_really_run_at_the_same_time(void) { TEST_ASSERT_TRUE(two_threads_meet()); }

static void workers_that_fell_asleep_wake_up(void) {
    for (int i = 0; i < 20; i++) {
        TEST_ASSERT_TRUE(two_threads_meet());
        struct timespec pause = {0, 2000000};
        nanosleep(&pause, NULL);
    }
}

static void the_pool_can_be_stopped_and_starts_again(void) {
    cp_threads_stop();
    for (int i = 0; i < 20; i++) {
        TEST_ASSERT_TRUE(two_threads_meet());
        cp_threads_stop();
        cp_threads_stop();
    }
}

/* ---- the environment ---- */

static int threads_from_environment(void *text) {
    setenv("COUPLET_THREADS", text, 1);
    cp_threads_set(0);
    int threads = cp_threads();
    cp_threads_set(0);
    return threads;
}

static int threads_without_environment(void *unused) {
    (void)unused;
    unsetenv("COUPLET_THREADS");
    cp_threads_set(0);
    return cp_threads();
}

static void the_environment_sets_the_number_of_threads(void) {
    char errors[512];
    TEST_ASSERT_EQUAL_INT(1, child_run(threads_from_environment, "1", errors, sizeof errors));
    TEST_ASSERT_EQUAL_INT(5, child_run(threads_from_environment, "5", errors, sizeof errors));
    TEST_ASSERT_EQUAL_STRING("", errors);
}

static void a_malformed_environment_is_ignored_with_one_line_of_warning(void) {
    char errors[512];
    int  usual = child_run(threads_without_environment, NULL, errors, sizeof errors);
    TEST_ASSERT_TRUE(usual >= 1);
    static char *malformed[] = {"abc", "0", "-3", "2x", "1.5", "99999999999999999999"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        TEST_ASSERT_EQUAL_INT(usual, child_run(threads_from_environment, malformed[i], errors, sizeof errors));
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(errors, malformed[i]), "the warning repeats the value");
        TEST_ASSERT_EQUAL_PTR(strchr(errors, '\0') - 1, strchr(errors, '\n'));
    }
}

static int threads_when_far_too_many(void *unused) {
    (void)unused;
    setenv("COUPLET_THREADS", "100000", 1);
    cp_threads_set(0);
    int from_environment = cp_threads();
    cp_threads_set(100000);
    return from_environment == 256 && cp_threads() == 256 ? 0 : 1;
}

static void the_number_of_threads_is_limited_to_256(void) {
    char errors[512];
    TEST_ASSERT_EQUAL_INT(0, child_run(threads_when_far_too_many, NULL, errors, sizeof errors));
    TEST_ASSERT_NOT_NULL(strstr(errors, "COUPLET_THREADS=100000 is too many; using 256"));
}

static void a_negative_number_of_threads_is_misuse_and_changes_nothing(void) {
    errors_catch();
    cp_threads_set(-1);
    TEST_ASSERT_EQUAL_INT(1, errors);
    TEST_ASSERT_EQUAL_INT(3, cp_threads());
}

/* ---- fork and exit ---- */

static int loops_in_child(void *unused) {
    (void)unused;
    if (!two_threads_meet()) return 1;
    cp_threads_set(3);
    for (int i = 0; i < 50; i++) {
        if (!each_item_once(1000, 3)) return 1;
    }
    cp_threads_stop();
    return 0;
}

static void loops_work_in_a_child_process(void) {
    if (!CHILD_MAY_START_THREADS) TEST_IGNORE_MESSAGE("the thread sanitizer allows no threads after fork");
    char errors[512];
    TEST_ASSERT_TRUE(two_threads_meet()); /* as many as in the child, which must notice that they no longer run */
    for (int i = 0; i < 20; i++) TEST_ASSERT_EQUAL_INT(0, child_run(loops_in_child, NULL, errors, sizeof errors));
    TEST_ASSERT_TRUE(each_item_once(1000, 3));
}

static void exit_in_body(void *context, size_t begin, size_t end) {
    (void)context, (void)end;
    if (begin == 77) exit(9);
}

static void misuse_in_body(void *context, size_t begin, size_t end) {
    (void)context, (void)end;
    if (begin == 77) cp_misuse((cp_at){0}, "body", "chunk %zu is refused", begin);
}

static int exit_inside_a_loop(void *unused) {
    (void)unused;
    each_item_once(100, 1);
    cp_parallel(200, 1, exit_in_body, NULL);
    return 0;
}

static void a_body_may_end_the_program(void) {
    if (!CHILD_MAY_START_THREADS) TEST_IGNORE_MESSAGE("the thread sanitizer allows no threads after fork");
    char errors[512];
    for (int i = 0; i < 20; i++) TEST_ASSERT_EQUAL_INT(9, child_run(exit_inside_a_loop, NULL, errors, sizeof errors));
}

static int loops_without_workers(void *unused) {
    (void)unused;
    cp_threads_stop();
    no_new_threads = true;
    return each_item_once(1000, 3) && each_item_once(1000, 3) ? 0 : 1;
}

static int misuse_in_body_without_workers(void *unused) {
    loops_without_workers(unused);
    cp_parallel(200, 1, misuse_in_body, NULL);
    return 0;
}

static void loops_run_on_the_caller_when_no_thread_can_be_started(void) {
    char errors[512];
    TEST_ASSERT_EQUAL_INT(0, child_run(loops_without_workers, NULL, errors, sizeof errors));
}

static void a_body_may_end_the_program_when_no_thread_can_be_started(void) {
    char errors[512];
    TEST_ASSERT_EQUAL_INT(2, child_run(misuse_in_body_without_workers, NULL, errors, sizeof errors));
    TEST_ASSERT_NOT_NULL(strstr(errors, "chunk 77 is refused"));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(every_item_is_visited_exactly_once);
    RUN_TEST(an_empty_loop_runs_nothing);
    RUN_TEST(many_short_loops_in_a_row_are_all_complete);
    RUN_TEST(a_loop_inside_a_loop_runs_on_the_calling_thread);
    RUN_TEST(four_threads_may_run_loops_at_the_same_time);
    RUN_TEST(the_number_of_threads_may_change_while_loops_run);
    RUN_TEST(sums_by_chunks_have_the_same_bits_for_any_number_of_threads);
    RUN_TEST(chunks_really_run_at_the_same_time);
    RUN_TEST(workers_that_fell_asleep_wake_up);
    RUN_TEST(the_pool_can_be_stopped_and_starts_again);
    RUN_TEST(the_environment_sets_the_number_of_threads);
    RUN_TEST(a_malformed_environment_is_ignored_with_one_line_of_warning);
    RUN_TEST(the_number_of_threads_is_limited_to_256);
    RUN_TEST(a_negative_number_of_threads_is_misuse_and_changes_nothing);
    RUN_TEST(loops_work_in_a_child_process);
    RUN_TEST(a_body_may_end_the_program);
    RUN_TEST(loops_run_on_the_caller_when_no_thread_can_be_started);
    RUN_TEST(a_body_may_end_the_program_when_no_thread_can_be_started);
    return UNITY_END();
}
