/* The error handler that records what was reported. */
#include "tests/support/errors.h"

#include "core/tape_internal.h"

#include "unity.h"

#include <stdio.h>
#include <string.h>

int  errors, last_error_line;
char first_error[600], last_error[600], last_error_op[48], last_error_file[256];

static void keep(const cp_error *error, void *user) {
    (void)user;
    snprintf(last_error, sizeof last_error, "%s: %s", error->op, error->message);
    if (errors++ == 0) memcpy(first_error, last_error, sizeof first_error);
    snprintf(last_error_op, sizeof last_error_op, "%s", error->op);
    snprintf(last_error_file, sizeof last_error_file, "%s", error->file ? error->file : "");
    last_error_line = error->line;
}

void errors_forget(void) {
    errors = last_error_line = 0;
    first_error[0] = last_error[0] = last_error_op[0] = last_error_file[0] = '\0';
}

void errors_catch(void) {
    errors_forget();
    cp_error_handler(keep, NULL);
}

void errors_release(void) { cp_error_handler(NULL, NULL); }

void expect_error(const char *part) {
    TEST_ASSERT_EQUAL_INT_MESSAGE(1, errors, last_error);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(last_error, part), last_error);
    TEST_ASSERT_NULL_MESSAGE(strchr(last_error, '\n'), last_error);
    errors_forget();
}

void expect_error_at(const char *op, const char *part, const char *file, int line) {
    TEST_ASSERT_EQUAL_INT_MESSAGE(line, last_error_line, last_error);
    expect_error_in(op, part, file);
}

void expect_error_in(const char *op, const char *part, const char *file) {
    TEST_ASSERT_EQUAL_STRING_MESSAGE(op, last_error_op, last_error);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(last_error + strlen(op), part), last_error);
    TEST_ASSERT_EQUAL_STRING_MESSAGE(file, last_error_file, last_error);
    expect_error(part);
}

void errors_forgive(cp_tape *tape) { tape->failed = false; }
