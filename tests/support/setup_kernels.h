/* setUp and tearDown of tests of kernels: the same random numbers for each test, and scratch memory that must be released.
 * Include it in only one file of a program. */
#ifndef CP_TESTS_SETUP_KERNELS_H
#define CP_TESTS_SETUP_KERNELS_H

#include "core/threads.h"
#include "tests/support/kernel_calls.h"

#include "unity.h"

static cp_arena *scratch;

void setUp(void) { scratch = kernels_begin(); }

void tearDown(void) { kernels_end(); }

#endif
