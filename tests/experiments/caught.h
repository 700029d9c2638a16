/* Misuse that a test provokes: the last message is remembered instead of ending the program. */
#ifndef CP_TESTS_CAUGHT_H
#define CP_TESTS_CAUGHT_H

#include "core/error.h"

#include "unity.h"

#include <stdio.h>
#include <string.h>

static int  caught_count;
static char caught_message[640];

static inline void caught_remember(const cp_error *error, void *user) {
    (void)user;
    caught_count++;
    snprintf(caught_message, sizeof caught_message, "%s: %s (%s)", error->op, error->message,
             error->file ? error->file : "nowhere");
}

static inline void caught_start(void) {
    caught_count = 0;
    cp_error_handler(caught_remember, NULL);
}

/* Exactly one message since the last call, with these words in it and this file as the caller's. */
static inline void caught_one(const char *op, const char *part, const char *file) {
    TEST_ASSERT_EQUAL_INT_MESSAGE(1, caught_count, caught_message);
    if (!strstr(caught_message, op) || !strstr(caught_message, part) || !strstr(caught_message, file)) {
        char text[900];
        snprintf(text, sizeof text, "expected \"%s\", \"%s\" in: %s", op, part, caught_message);
        TEST_FAIL_MESSAGE(text);
    }
    caught_count = 0;
}
#define CAUGHT(op, part) caught_one(op, part, __FILE__)

#endif
