/* setUp and tearDown of tests of files: a status and a temporary folder. Include it in only one file of a program. */
#ifndef CP_TESTS_SETUP_FILES_H
#define CP_TESTS_SETUP_FILES_H

#include "tests/core/scratch.h"

static cp_status status;

void setUp(void) {
    status = (cp_status){0};
    scratch_make();
}

void tearDown(void) { scratch_remove(); }

#endif
