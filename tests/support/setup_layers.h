/* setUp and tearDown of tests of layers: a tape, a parameter set, a stream of random numbers; an unexpected error fails the
 * test. Include it in only one file of a program. */
#ifndef CP_TESTS_SETUP_LAYERS_H
#define CP_TESTS_SETUP_LAYERS_H

#include "layers/params.h"
#include "tests/support/errors.h"

#include "unity.h"

static cp_tape   *tape;
static cp_params *params;
static cp_rng     rng;

void setUp(void) {
    errors_catch();
    tape = cp_tape_new();
    params = cp_params_new();
    rng = cp_rng_named(3, "test");
}

void tearDown(void) {
    cp_tape_free(tape);
    cp_params_free(params);
    errors_release();
    TEST_ASSERT_EQUAL_STRING_MESSAGE("", last_error, "a test left an error unexplained");
}

#endif
