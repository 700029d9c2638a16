/* Float results against double ones, for every case of the table: values and gradients. This is the double build; its
 * argument is tests/ops/dump_cases.c built for float, whose output it reads. Inputs are numbers that float holds exactly,
 * so the results differ only by rounding. The tolerance is relative to the largest value of an array. Cases that move their
 * inputs to +-1000 round them by up to 3e-5, and a softmax passes that on; all others stay below 1e-5. A computation that
 * loses half its digits is far outside. */
#include "tests/support/case_results.h"

#include "unity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TOLERANCE 4e-5

static const char    *float_program;
static FILE          *floats;
static const op_case *current;
static double         worst;

void setUp(void) {}

void tearDown(void) {}

/* The largest difference relative to the largest value; NaN if either is NaN. */
static double difference(const double *expected, const double *got, size_t count) {
    double largest = 0, max = 0;
    for (size_t i = 0; i < count; i++) {
        double apart = fabs(expected[i] - got[i]);
        largest = fmax(largest, fabs(expected[i]));
        max = apart > max || isnan(apart) ? apart : max;
    }
    return max == 0 ? 0 : max / largest;
}

/* Reads the whole case before it compares anything, so that after a failure the next case is read correctly. */
static bool read_floats(const case_results *like, case_results *got) {
    *got = (case_results){0};
    bool ok = true;
    for (int a = 0; a < like->arrays && ok; a++) {
        got->sizes[a] = like->sizes[a];
        got->values[got->arrays++] = malloc((like->sizes[a] + 1) * sizeof(double));
        ok = got->values[a] && fread(got->values[a], sizeof(double), like->sizes[a], floats) == like->sizes[a];
    }
    return ok;
}

static void the_case_is_the_same_in_float(void) {
    case_results expected, got = {0};
    int          bad = -1;
    double       apart = 0;
    bool         ok = case_results_make(current, &expected) && read_floats(&expected, &got);
    for (int a = 0; ok && a < expected.arrays && bad < 0; a++) {
        apart = difference(expected.values[a], got.values[a], expected.sizes[a]);
        worst = fmax(worst, apart);
        if (!(apart <= TOLERANCE)) bad = a;
    }
    case_results_free(&expected);
    case_results_free(&got);
    char text[100];
    snprintf(text, sizeof text, "array %d (0: the result, 1 + i: the gradient of input i) is off by %.2e", bad, apart);
    TEST_ASSERT_TRUE_MESSAGE(ok, "the op refused, or the float build's results end here");
    TEST_ASSERT_TRUE_MESSAGE(bad < 0, text);
}

static void every_case_is_the_same_in_float(void) {
    for (int i = 0; i < case_count(); i++) {
        char sentence[200];
        current = case_at(i);
        if (!case_compares(current)) continue;
        snprintf(sentence, sizeof sentence, "%s, %s: float_equals_double", current->op, current->mode);
        UnityDefaultTestRun(the_case_is_the_same_in_float, sentence, __LINE__);
    }
}

static void the_float_program_can_be_started(void) {
    char command[1100];
    TEST_ASSERT_NOT_NULL_MESSAGE(float_program, "usage: test_float_double DUMP_CASES_OF_THE_FLOAT_BUILD");
    snprintf(command, sizeof command, "'%.1000s'", float_program);
    floats = popen(command, "r");
    TEST_ASSERT_NOT_NULL(floats);
}

static void the_float_program_prints_nothing_more(void) {
    TEST_ASSERT_EQUAL_INT(EOF, fgetc(floats));
    TEST_ASSERT_EQUAL_INT(0, pclose(floats));
}

static void float_is_not_double(void) { TEST_ASSERT_TRUE_MESSAGE(worst > 1e-9, "both programs are of the same precision"); }

int main(int count, char **arguments) {
    float_program = count > 1 ? arguments[1] : NULL;
    UNITY_BEGIN();
    RUN_TEST(the_float_program_can_be_started);
    if (floats) {
        every_case_is_the_same_in_float();
        RUN_TEST(the_float_program_prints_nothing_more);
        RUN_TEST(float_is_not_double);
        printf("worst relative difference between float and double: %.1e\n", worst);
    }
    return UNITY_END();
}
