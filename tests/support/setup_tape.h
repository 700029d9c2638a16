/* setUp and tearDown of tests that record: a tape; an unexpected error fails the test. Include it in only one file of a program. */
#ifndef CP_TESTS_SETUP_TAPE_H
#define CP_TESTS_SETUP_TAPE_H

#include "core/tape.h"
#include "tests/support/errors.h"

#include "unity.h"

static cp_tape *tape;

void setUp(void) {
    errors_catch();
    tape = cp_tape_new();
}

void tearDown(void) {
    cp_tape_free(tape);
    errors_release();
    TEST_ASSERT_EQUAL_STRING_MESSAGE("", last_error, "a test left an error unexplained");
}

#endif
