/* Tests of core/arena. The program is linked with -Wl,--wrap for malloc, calloc, realloc, aligned_alloc and
 * posix_memalign, so that calls can be counted and made to fail. */
#include "core/arena.h"
#include "core/error.h"
#include "core/random.h"

#include "support/wrapped_memory.h"
#include "tests/support/errors.h"
#include "unity.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#endif

static cp_arena *arena;

void setUp(void) {
    errors_catch();
    arena = cp_arena_new();
}

void tearDown(void) {
    largest_allowed = SIZE_MAX;
    cp_arena_free(arena);
    errors_release();
}

/* An arena does not know the caller's line. */
static void expect_errors_without_place(int count) {
    TEST_ASSERT_EQUAL_INT(count, errors);
    TEST_ASSERT_EQUAL_STRING("", last_error_file);
}

static void blocks_of_all_sizes_are_aligned_and_writable_to_the_last_byte(void) {
    for (size_t bytes = 0; bytes < 3000; bytes++) {
        char *block = cp_arena_alloc(arena, bytes);
        TEST_ASSERT_NOT_NULL(block);
        TEST_ASSERT_EQUAL_UINT64(0, (uintptr_t)block % 64);
        memset(block, 0xab, bytes);
    }
}

static void blocks_of_zero_bytes_are_distinct(void) {
    void *a = cp_arena_alloc(arena, 0), *b = cp_arena_alloc(arena, 0);
    TEST_ASSERT_NOT_NULL(a);
    TEST_ASSERT_NOT_NULL(b);
    TEST_ASSERT_TRUE(a != b);
    cp_arena_release(arena, a);
    cp_arena_release(arena, b);
    TEST_ASSERT_EQUAL_UINT64(0, cp_arena_used(arena));
}

enum { LIVE = 300 };

typedef struct live {
    unsigned char *block;
    size_t         bytes;
    unsigned char  pattern;
} live;

static void live_check(const live *l) {
    for (size_t i = 0; i < l->bytes; i++) {
        if (l->block[i] != l->pattern) TEST_FAIL_MESSAGE("a block was overwritten by another");
    }
}

static void live_make(live *l, cp_rng *rng) {
    size_t scale = (size_t)1 << cp_rng_below(rng, 18);
    l->bytes = cp_rng_below(rng, scale + 1);
    l->pattern = (unsigned char)cp_rng_u32(rng);
    l->block = cp_arena_alloc(arena, l->bytes);
    TEST_ASSERT_NOT_NULL(l->block);
    TEST_ASSERT_EQUAL_UINT64(0, (uintptr_t)l->block % 64);
    memset(l->block, l->pattern, l->bytes);
}

static void blocks_never_overlap_in_any_order_of_allocation_and_release(void) {
    cp_rng rng = cp_rng_named(1, "arena");
    for (int step = 0; step < 3; step++) {
        live all[LIVE] = {0};
        for (int turn = 0; turn < 6000; turn++) {
            live *l = &all[cp_rng_below(&rng, LIVE)];
            if (l->block) {
                live_check(l);
                cp_arena_release(arena, l->block);
                l->block = NULL;
            } else {
                live_make(l, &rng);
            }
        }
        for (int i = 0; i < LIVE; i++) {
            if (all[i].block) live_check(&all[i]);
        }
        if (step == 1) {
            for (int i = 0; i < LIVE; i++) cp_arena_release(arena, all[i].block);
            TEST_ASSERT_EQUAL_UINT64(0, cp_arena_used(arena));
        }
        cp_arena_reset(arena);
        TEST_ASSERT_EQUAL_UINT64(0, cp_arena_used(arena));
    }
    TEST_ASSERT_EQUAL_INT(0, errors);
}

static void a_reset_reuses_the_same_memory(void) {
    void *first[100];
    for (int i = 0; i < 100; i++) first[i] = cp_arena_alloc(arena, (size_t)i * 37);
    cp_arena_reset(arena);
    for (int i = 0; i < 100; i++) TEST_ASSERT_EQUAL_PTR(first[i], cp_arena_alloc(arena, (size_t)i * 37));
}

/* A small network's step: records between large values, some values released before the end. */
static void step_like_a_network(size_t scale) {
    void *values[40];
    for (int i = 0; i < 40; i++) {
        for (int record = 0; record < 20; record++) memset(cp_arena_alloc(arena, 128), 1, 128);
        values[i] = cp_arena_alloc(arena, (size_t)(1 + i % 3) * scale);
        memset(values[i], 1, scale);
        if (i > 1 && i % 4) cp_arena_release(arena, values[i - 1]), values[i - 1] = NULL;
    }
    for (int i = 39; i >= 0; i--) cp_arena_release(arena, values[i]);
}

static void after_warm_up_a_step_calls_malloc_zero_times(void) {
    for (int step = 0; step < 3; step++) {
        step_like_a_network(200000);
        cp_arena_reset(arena);
    }
    size_t reserved = cp_arena_reserved(arena), peak = cp_arena_peak(arena);
    long   before = memory_calls;
    TEST_ASSERT_TRUE_MESSAGE(before > 0, "calls are not counted: the program was not linked with --wrap");
    for (int step = 0; step < 100; step++) {
        step_like_a_network(200000);
        cp_arena_reset(arena);
    }
    TEST_ASSERT_EQUAL_INT64(before, memory_calls);
    TEST_ASSERT_EQUAL_UINT64(reserved, cp_arena_reserved(arena));
    TEST_ASSERT_EQUAL_UINT64(peak, cp_arena_peak(arena));
}

static void warm_up_is_over_after_two_steps(void) {
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 100000; i++) TEST_ASSERT_NOT_NULL(cp_arena_alloc(arena, 128));
        cp_arena_reset(arena);
    }
    long before = memory_calls;
    for (int i = 0; i < 100000; i++) TEST_ASSERT_NOT_NULL(cp_arena_alloc(arena, 128));
    TEST_ASSERT_EQUAL_INT64(before, memory_calls);
}

static void used_and_peak_follow_the_blocks(void) {
    TEST_ASSERT_EQUAL_UINT64(0, cp_arena_used(arena));
    void *a = cp_arena_alloc(arena, 1000);
    void *b = cp_arena_alloc(arena, 64);
    TEST_ASSERT_EQUAL_UINT64(1024 + 64, cp_arena_used(arena));
    cp_arena_release(arena, a);
    TEST_ASSERT_EQUAL_UINT64(64, cp_arena_used(arena));
    TEST_ASSERT_EQUAL_UINT64(1024 + 64, cp_arena_peak(arena));
    cp_arena_release(arena, b);
    cp_arena_reset(arena);
    TEST_ASSERT_EQUAL_UINT64(0, cp_arena_used(arena));
    TEST_ASSERT_EQUAL_UINT64(1024 + 64, cp_arena_peak(arena));
    TEST_ASSERT_TRUE(cp_arena_reserved(arena) >= 1024 + 64);
}

static void a_released_block_is_reused_for_one_of_similar_size(void) {
    void *large = cp_arena_alloc(arena, 100000);
    void *after = cp_arena_alloc(arena, 64);
    TEST_ASSERT_NOT_NULL(after);
    cp_arena_release(arena, large);
    TEST_ASSERT_EQUAL_PTR(large, cp_arena_alloc(arena, 90000));
}

static void the_best_fitting_hole_is_used(void) {
    static const size_t sizes[] = {400000, 105000, 200000};
    void               *holes[3];
    for (int i = 0; i < 3; i++) {
        holes[i] = cp_arena_alloc(arena, sizes[i]);
        TEST_ASSERT_NOT_NULL(cp_arena_alloc(arena, 64));
    }
    for (int i = 0; i < 3; i++) cp_arena_release(arena, holes[i]);
    TEST_ASSERT_EQUAL_PTR(holes[1], cp_arena_alloc(arena, 100000));
    TEST_ASSERT_EQUAL_PTR(holes[2], cp_arena_alloc(arena, 100000)); /* no other is close: split */
    TEST_ASSERT_EQUAL_PTR(holes[0], cp_arena_alloc(arena, 399000));
}

static void a_small_block_does_not_break_up_a_large_hole(void) {
    void *large = cp_arena_alloc(arena, 100000);
    void *after = cp_arena_alloc(arena, 64);
    TEST_ASSERT_NOT_NULL(after);
    cp_arena_release(arena, large);
    for (size_t bytes = 128; bytes < 60000; bytes *= 2) TEST_ASSERT_NOT_NULL(cp_arena_alloc(arena, bytes));
    TEST_ASSERT_EQUAL_PTR(large, cp_arena_alloc(arena, 100000));
}

static void released_neighbors_merge_into_one_hole_in_any_order(void) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int order = 0; order < 6; order++) {
        void *parts[3];
        for (int i = 0; i < 3; i++) parts[i] = cp_arena_alloc(arena, 100000);
        void *after = cp_arena_alloc(arena, 64);
        for (int i = 0; i < 3; i++) cp_arena_release(arena, parts[orders[order][i]]);
        TEST_ASSERT_EQUAL_PTR(parts[0], cp_arena_alloc(arena, 300000));
        TEST_ASSERT_TRUE((char *)cp_arena_alloc(arena, 300000) > (char *)after);
        cp_arena_reset(arena);
    }
}

static void the_last_block_returns_to_the_unused_end(void) {
    void *first = cp_arena_alloc(arena, 64);
    void *large = cp_arena_alloc(arena, 500000);
    cp_arena_release(arena, large);
    TEST_ASSERT_EQUAL_PTR(large, cp_arena_alloc(arena, 64));
    TEST_ASSERT_TRUE(first != large);
}

static void scratch_that_is_always_released_does_not_grow(void) {
    for (int i = 0; i < 1000; i++) {
        void *a = cp_arena_alloc(arena, (size_t)(1 + i % 7) * 300000);
        void *b = cp_arena_alloc(arena, (size_t)(1 + i % 5) * 200000);
        cp_arena_release(arena, i % 2 ? a : b);
        cp_arena_release(arena, i % 2 ? b : a);
    }
    TEST_ASSERT_TRUE(cp_arena_reserved(arena) < 2 * cp_arena_peak(arena));
}

static void releasing_null_does_nothing(void) {
    cp_arena_release(arena, NULL);
    cp_arena_free(NULL);
    TEST_ASSERT_EQUAL_INT(0, errors);
}

static void releasing_a_block_twice_is_reported(void) {
#ifdef WITH_ASAN
    TEST_IGNORE_MESSAGE("the address sanitizer reports it itself");
#endif
    void *block = cp_arena_alloc(arena, 100000);
    void *after = cp_arena_alloc(arena, 64);
    cp_arena_release(arena, block);
    cp_arena_release(arena, block);
    expect_errors_without_place(1);
    cp_arena_release(arena, after);
    cp_arena_release(arena, after);
    expect_errors_without_place(2);
    TEST_ASSERT_EQUAL_UINT64(0, cp_arena_used(arena));
}

static void a_size_that_overflows_is_out_of_memory(void) {
    TEST_ASSERT_NULL(cp_arena_alloc(arena, SIZE_MAX));
    TEST_ASSERT_NULL(cp_arena_alloc(arena, SIZE_MAX - 100));
    TEST_ASSERT_NULL(cp_arena_alloc(arena, SIZE_MAX / 2));
    expect_errors_without_place(3);
    TEST_ASSERT_NOT_NULL(cp_arena_alloc(arena, 10));
}

static void out_of_memory_gives_a_message_and_null_and_leaves_the_arena_usable(void) {
    unsigned char *kept = cp_arena_alloc(arena, 1000);
    memset(kept, 7, 1000);
    largest_allowed = 1000;
    TEST_ASSERT_NULL(cp_arena_alloc(arena, 50000000));
    expect_errors_without_place(1);
    TEST_ASSERT_EQUAL_STRING("arena: out of memory for scratch: cannot get 50000000 bytes beyond the 1024 in use", last_error);
    TEST_ASSERT_EQUAL_UINT64(1024, cp_arena_used(arena));
    TEST_ASSERT_NOT_NULL(cp_arena_alloc(arena, 1000));
    largest_allowed = SIZE_MAX;
    TEST_ASSERT_NOT_NULL(cp_arena_alloc(arena, 50000000));
    for (int i = 0; i < 1000; i++) TEST_ASSERT_EQUAL_UINT8(7, kept[i]);
}

static void a_chunk_that_fails_at_its_preferred_size_is_allocated_at_the_needed_size(void) {
    largest_allowed = 200000;
    TEST_ASSERT_NOT_NULL(cp_arena_alloc(arena, 100000));
    TEST_ASSERT_EQUAL_INT(0, errors);
    cp_arena_reset(arena);
    TEST_ASSERT_NOT_NULL(cp_arena_alloc(arena, 150000));
    cp_arena_reset(arena);
    TEST_ASSERT_NOT_NULL(cp_arena_alloc(arena, 150000));
}

static void no_memory_for_the_arena_itself_gives_null(void) {
    largest_allowed = 0;
    TEST_ASSERT_NULL(cp_arena_new());
    expect_errors_without_place(1);
}

static void released_memory_is_poisoned_for_the_address_sanitizer(void) {
#ifdef WITH_ASAN
    char *a = cp_arena_alloc(arena, 1000), *b = cp_arena_alloc(arena, 100);
    TEST_ASSERT_NULL(__asan_region_is_poisoned(a, 1000));
    TEST_ASSERT_TRUE(__asan_address_is_poisoned(a + 1000));
    cp_arena_release(arena, a);
    TEST_ASSERT_TRUE(__asan_address_is_poisoned(a));
    TEST_ASSERT_TRUE(__asan_address_is_poisoned(a + 999));
    TEST_ASSERT_EQUAL_PTR(a, cp_arena_alloc(arena, 990));
    TEST_ASSERT_NULL(__asan_region_is_poisoned(a, 990));
    TEST_ASSERT_NULL(__asan_region_is_poisoned(b, 100));
    cp_arena_reset(arena);
    TEST_ASSERT_TRUE(__asan_address_is_poisoned(a));
    TEST_ASSERT_TRUE(__asan_address_is_poisoned(b + 99));
#else
    TEST_IGNORE_MESSAGE("built without the address sanitizer");
#endif
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(blocks_of_all_sizes_are_aligned_and_writable_to_the_last_byte);
    RUN_TEST(blocks_of_zero_bytes_are_distinct);
    RUN_TEST(blocks_never_overlap_in_any_order_of_allocation_and_release);
    RUN_TEST(a_reset_reuses_the_same_memory);
    RUN_TEST(after_warm_up_a_step_calls_malloc_zero_times);
    RUN_TEST(warm_up_is_over_after_two_steps);
    RUN_TEST(used_and_peak_follow_the_blocks);
    RUN_TEST(a_released_block_is_reused_for_one_of_similar_size);
    RUN_TEST(the_best_fitting_hole_is_used);
    RUN_TEST(a_small_block_does_not_break_up_a_large_hole);
    RUN_TEST(released_neighbors_merge_into_one_hole_in_any_order);
    RUN_TEST(the_last_block_returns_to_the_unused_end);
    RUN_TEST(scratch_that_is_always_released_does_not_grow);
    RUN_TEST(releasing_null_does_nothing);
    RUN_TEST(releasing_a_block_twice_is_reported);
    RUN_TEST(a_size_that_overflows_is_out_of_memory);
    RUN_TEST(out_of_memory_gives_a_message_and_null_and_leaves_the_arena_usable);
    RUN_TEST(a_chunk_that_fails_at_its_preferred_size_is_allocated_at_the_needed_size);
    RUN_TEST(no_memory_for_the_arena_itself_gives_null);
    RUN_TEST(released_memory_is_poisoned_for_the_address_sanitizer);
    return UNITY_END();
}
