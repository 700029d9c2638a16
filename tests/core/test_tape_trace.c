/* Traces of sweeps, and listings with numbers. */
#include "couplet.h"

#include "core/op.h"
#include "tests/support/setup_tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char text[4000];

/* The contents of the file, which is closed. */
static const char *written(FILE *file) {
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static const char *traced(cp_tensor *loss, cp_tensor *const *wrt, int n) {
    FILE *file = tmpfile();
    TEST_ASSERT_TRUE(cp_tape_trace(tape, file, loss, wrt, n));
    return written(file);
}

static cp_tensor *number(const char *name, double value) {
    cp_tensor *t = cp_variable(tape, (cp_real[]){(cp_real)value}, CP_SCALAR);
    t->name = name;
    return t;
}

static void each_rule_is_a_line_with_the_incoming_and_outgoing_gradients(void) {
    cp_tensor *x = number("x", 3), *w = number("w", 2), *loss = cp_square(tape, cp_mul(tape, w, x));
    loss->name = "loss";
    TEST_ASSERT_EQUAL_STRING("loss   square     in: 1  out: %2 12\n"
                             "%2     mul        in: 12  out: w 36; x 24\n",
                             traced(loss, (cp_tensor *[]){w, x}, 2));
}

static void gradients_added_at_a_fan_out_are_marked_with_the_sum(void) {
    cp_tensor *x = number("x", 3), *twice = cp_add(tape, x, x), *loss = cp_mul(tape, twice, x);
    TEST_ASSERT_EQUAL_STRING("%2     mul        in: 1  out: %1 3; x 6\n"
                             "%1     add        in: 3  out: x + 3 = 9; x + 3 = 12\n",
                             traced(loss, &x, 1));
}

static void rules_that_lead_to_nothing_wanted_are_not_shown(void) {
    cp_tensor *x = number("x", 3), *w = number("w", 2), *loss = cp_mul(tape, cp_exp(tape, w), x);
    TEST_ASSERT_EQUAL_STRING("%3     mul        in: 1  out: x 7.389\n", traced(loss, &x, 1));
    TEST_ASSERT_NOT_NULL(strstr(traced(loss, &w, 1), "%2     exp        in: 3  out: w 22.17\n"));
}

static void the_rule_of_a_wanted_value_itself_does_not_run(void) {
    cp_tensor *x = number("x", 3), *y = cp_exp(tape, x), *loss = cp_square(tape, y);
    TEST_ASSERT_EQUAL_STRING("%2     square     in: 1  out: %1 40.17\n", traced(loss, &y, 1));
}

static void a_traced_sweep_leaves_the_tape_as_cp_grad_does(void) {
    cp_tensor *x = number("x", 3), *loss = cp_square(tape, x), *before, *after;
    TEST_ASSERT_TRUE(cp_grad(tape, loss, &x, 1, &before));
    int nodes = cp_tape_length(tape);
    traced(loss, &x, 1);
    TEST_ASSERT_EQUAL_INT(nodes, cp_tape_length(tape));
    TEST_ASSERT_TRUE(cp_grad(tape, loss, &x, 1, &after)); /* and prints nothing any more */
    TEST_ASSERT_EQUAL_DOUBLE(6, (double)cp_item(after));
}

static void many_values_are_summarized(void) {
    cp_real    values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    cp_tensor *x = cp_variable(tape, values, CP_SHAPE(8)), *loss = cp_sum(tape, cp_square(tape, x), CP_ALL, false);
    TEST_ASSERT_NOT_NULL(strstr(traced(loss, &x, 1), "out: %0 2 .. 16, mean 9\n"));
}

static void refusing_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    (void)at, (void)node, (void)g, (void)gin;
}
static const cp_op refusing = {.name = "refusing", .formula = "for the test only", .grad = refusing_grad};

static void a_rule_that_fails_ends_its_line(void) {
    cp_tensor *x = number("x", 3), *y = cp_record(CP_AT(tape), &refusing, cp_out(CP_AT(tape), CP_SCALAR), NULL, 1, &x);
    FILE      *file = tmpfile();
    TEST_ASSERT_FALSE(cp_tape_trace(tape, file, cp_exp(tape, cp_scale(tape, y, 0)), &x, 1));
    expect_error("refusing: its gradient rule gave NULL");
    const char *found = written(file);
    TEST_ASSERT_TRUE(found[strlen(found) - 1] == '\n');
}

static void misuse_is_reported_and_nothing_is_printed(void) {
    cp_tensor *x = number("x", 3), *loss = cp_square(tape, x);
    FILE      *file = tmpfile();
    TEST_ASSERT_FALSE(cp_tape_trace(tape, NULL, loss, &x, 1));
    expect_error_in("tape_trace", "the file is NULL", __FILE__);
    TEST_ASSERT_FALSE(cp_tape_trace(tape, file, loss, &x, 0));
    expect_error_in("tape_trace", "n = 0", __FILE__);
    cp_tensor *wide = cp_variable(tape, ((cp_real[]){1, 2}), CP_SHAPE(2));
    TEST_ASSERT_FALSE(cp_tape_trace(tape, file, cp_square(tape, wide), &wide, 1));
    expect_error_in("grad", "loss has shape (2)", __FILE__);
    TEST_ASSERT_EQUAL_STRING("", written(file));
}

static void a_listing_has_numbers_on_demand(void) {
    cp_tensor *x = number("x", 3), *y = cp_exp(tape, x);
    FILE      *file = tmpfile();
    y->name = "y";
    cp_tape_print_values(tape, file);
    const char *found = written(file);
    TEST_ASSERT_NOT_NULL(strstr(found, "needed for  numbers\n"));
    TEST_ASSERT_NOT_NULL(strstr(found, "x           20.09\n"));
    file = tmpfile();
    cp_tape_print(tape, file);
    TEST_ASSERT_NULL(strstr(written(file), "20.09"));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(each_rule_is_a_line_with_the_incoming_and_outgoing_gradients);
    RUN_TEST(gradients_added_at_a_fan_out_are_marked_with_the_sum);
    RUN_TEST(rules_that_lead_to_nothing_wanted_are_not_shown);
    RUN_TEST(the_rule_of_a_wanted_value_itself_does_not_run);
    RUN_TEST(a_traced_sweep_leaves_the_tape_as_cp_grad_does);
    RUN_TEST(many_values_are_summarized);
    RUN_TEST(a_rule_that_fails_ends_its_line);
    RUN_TEST(misuse_is_reported_and_nothing_is_printed);
    RUN_TEST(a_listing_has_numbers_on_demand);
    return UNITY_END();
}
