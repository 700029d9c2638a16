/* Tests of core/error: the handler for misuse, its default, and status messages. */
#include "core/error.h"

#include "tests/core/child.h"
#include "unity.h"

#include <stdio.h>
#include <string.h>

typedef struct seen {
    int  calls;
    char op[32], message[600], file[64];
    int  line;
} seen;

static void remember(const cp_error *error, void *user) {
    seen *s = user;
    s->calls++;
    snprintf(s->op, sizeof s->op, "%s", error->op);
    snprintf(s->message, sizeof s->message, "%s", error->message);
    snprintf(s->file, sizeof s->file, "%s", error->file ? error->file : "(none)");
    s->line = error->line;
}

void setUp(void) {}

void tearDown(void) { cp_error_handler(NULL, NULL); }

static int misuse_with_place(void *unused) {
    (void)unused;
    cp_misuse((cp_at){NULL, "train.c", 12}, "matmul", "cannot multiply (%d, %d) by (%d, %d)", 3, 4, 5, 2);
    return 0;
}

static int misuse_without_place(void *unused) {
    (void)unused;
    cp_misuse((cp_at){0}, "arena", "out of memory");
    return 0;
}

static int misuse_after_default_returns(void *unused) {
    cp_error_handler(remember, unused);
    cp_error_handler(NULL, NULL);
    return misuse_with_place(NULL);
}

static void the_default_handler_prints_one_line_and_exits_with_2(void) {
    char errors[1024];
    TEST_ASSERT_EQUAL_INT(2, child_run(misuse_with_place, NULL, errors, sizeof errors));
    TEST_ASSERT_EQUAL_STRING("couplet: matmul: cannot multiply (3, 4) by (5, 2) (train.c:12)\n", errors);
}

static void a_misuse_without_a_source_line_prints_none(void) {
    char errors[1024];
    TEST_ASSERT_EQUAL_INT(2, child_run(misuse_without_place, NULL, errors, sizeof errors));
    TEST_ASSERT_EQUAL_STRING("couplet: arena: out of memory\n", errors);
}

static void a_null_handler_restores_the_default(void) {
    char errors[1024];
    TEST_ASSERT_EQUAL_INT(2, child_run(misuse_after_default_returns, NULL, errors, sizeof errors));
}

static void an_installed_handler_gets_all_fields_and_misuse_returns_false(void) {
    seen s = {0};
    cp_error_handler(remember, &s);
    TEST_ASSERT_FALSE(cp_misuse((cp_at){NULL, "model.c", 7}, "sum", "axis %d of %d", 7, 2));
    TEST_ASSERT_EQUAL_INT(1, s.calls);
    TEST_ASSERT_EQUAL_STRING("sum", s.op);
    TEST_ASSERT_EQUAL_STRING("axis 7 of 2", s.message);
    TEST_ASSERT_EQUAL_STRING("model.c", s.file);
    TEST_ASSERT_EQUAL_INT(7, s.line);
}

static void a_message_that_is_too_long_is_truncated(void) {
    seen s = {0};
    char text[2000];
    memset(text, 'z', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cp_error_handler(remember, &s);
    cp_misuse((cp_at){0}, "op", "begin %s", text);
    TEST_ASSERT_EQUAL_UINT64(511, strlen(s.message));
    TEST_ASSERT_EQUAL_STRING_LEN("begin zzz", s.message, 9);
    TEST_ASSERT_EQUAL_INT('z', s.message[510]);
}

static void a_cp_at_is_built_from_a_tape_and_kept_when_passed_on(void) {
    struct cp_tape *tape = NULL;
    cp_at           here = CP_AT(tape);
    TEST_ASSERT_EQUAL_INT(__LINE__ - 1, here.line);
    TEST_ASSERT_EQUAL_STRING(__FILE__, here.file);
    cp_at same = CP_AT(here);
    TEST_ASSERT_EQUAL_INT(here.line, same.line);
    cp_at given = CP_AT(((cp_at){NULL, "user.c", 3}));
    TEST_ASSERT_EQUAL_STRING("user.c", given.file);
    TEST_ASSERT_EQUAL_INT(3, given.line);
}

static void a_status_keeps_the_first_message(void) {
    cp_status status = {0};
    TEST_ASSERT_FALSE(cp_fail(&status, "%s: byte %d: expected a comma", "a.json", 17));
    TEST_ASSERT_FALSE(cp_fail(&status, "later"));
    TEST_ASSERT_EQUAL_STRING("a.json: byte 17: expected a comma", status.message);
}

static void a_status_may_be_null_and_a_failure_never_leaves_it_empty(void) {
    TEST_ASSERT_FALSE(cp_fail(NULL, "nobody listens"));
    cp_status status = {0};
    TEST_ASSERT_FALSE(cp_fail(&status, "%s", ""));
    TEST_ASSERT_NOT_EQUAL(0, status.message[0]);
}

static void a_status_message_that_is_too_long_is_truncated(void) {
    struct {
        cp_status status;
        char      guard;
    } s = {.guard = 'g'};
    cp_fail(&s.status, "%0700d", 1);
    TEST_ASSERT_EQUAL_UINT64(sizeof s.status.message - 1, strlen(s.status.message));
    TEST_ASSERT_EQUAL_INT('g', s.guard);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_default_handler_prints_one_line_and_exits_with_2);
    RUN_TEST(a_misuse_without_a_source_line_prints_none);
    RUN_TEST(a_null_handler_restores_the_default);
    RUN_TEST(an_installed_handler_gets_all_fields_and_misuse_returns_false);
    RUN_TEST(a_message_that_is_too_long_is_truncated);
    RUN_TEST(a_cp_at_is_built_from_a_tape_and_kept_when_passed_on);
    RUN_TEST(a_status_keeps_the_first_message);
    RUN_TEST(a_status_may_be_null_and_a_failure_never_leaves_it_empty);
    RUN_TEST(a_status_message_that_is_too_long_is_truncated);
    return UNITY_END();
}
