/* setUp and tearDown of tests of kernels: the same random numbers for each test, and scratch memory that must come back.
 * Included by the one file of a program. */
#ifndef CP_TESTS_SETUP_KERNELS_H
#define CP_TESTS_SETUP_KERNELS_H

#include "core/arena.h"
#include "core/threads.h"
#include "tests/support/kernel_calls.h"

#include "unity.h"

static cp_arena *scratch;

void setUp(void) {
    random_restart();
    scratch = cp_arena_new();
}

void tearDown(void) {
    TEST_ASSERT_EQUAL_MESSAGE(0, cp_arena_used(scratch), "a kernel kept some of its scratch memory");
    cp_arena_free(scratch);
    kernels_default();
    cp_threads_set(0);
}

#endif
