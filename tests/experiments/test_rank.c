/* What to label next: the order of rows by each of the scores, rows to leave out, and what is refused. */
#include "experiments/kit/train/rank.h"

#include "tests/support/errors.h"

#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, CLASSES = 3 };

/* Posteriors: sure of 0; between 0 and 1; unsure of all; sure of 2; as row 1. */
static double       logits[] = {5, 0, 0, 2, 2, -9, 0, 0, 0, 0, 0, 9, 2, 2, -9}, energies[] = {4, 1, 5, 2, 3};
static cp_scores    scores;
static cp_status    status;
static cp_rank_row *ranked;
static int          count;

void setUp(void) {
    errors_catch();
    status = (cp_status){0};
    scores = (cp_scores){.n = ROWS, .classes = CLASSES, .logits = logits, .energies = energies, .finite = true};
}

void tearDown(void) {
    free(ranked);
    ranked = NULL;
    errors_release();
}

static void ranks(cp_rank_by by, double temperature, const bool *skip, int expected, const int *rows) {
    free(ranked);
    ranked = cp_rank(&scores, temperature, skip, by, 1, &count, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(ranked, status.message);
    TEST_ASSERT_EQUAL_INT(expected, count);
    for (int i = 0; rows && i < count; i++) TEST_ASSERT_EQUAL_INT(rows[i], ranked[i].row);
    for (int i = 1; i < count; i++) TEST_ASSERT_TRUE(ranked[i - 1].score >= ranked[i].score);
}

static void doubtful_rows_come_first_by_entropy(void) {
    ranks(CP_RANK_ENTROPY, 1, NULL, ROWS, (int[]){2, 1, 4, 0, 3});
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, log(3), ranked[0].score);
    double p = exp(5) / (exp(5) + 2), q = 1 / (exp(5) + 2);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, -p * log(p) - 2 * q * log(q), ranked[3].entropy);
    TEST_ASSERT_TRUE(ranked[3].best == 0 && fabs(ranked[3].p - p) < 1e-9);
    TEST_ASSERT_TRUE(ranked[4].best == 2);
}

static void two_classes_that_are_as_likely_come_first_by_margin(void) {
    ranks(CP_RANK_MARGIN, 1, NULL, ROWS, (int[]){1, 2, 4, 0, 3}); /* equal scores by their number */
    TEST_ASSERT_TRUE(ranked[0].score == 1 && ranked[2].score == 1);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1 - (exp(5) - 1) / (exp(5) + 2), ranked[3].score);
}

static void a_temperature_scales_the_posterior(void) {
    ranks(CP_RANK_MARGIN, 5, NULL, ROWS, NULL);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1 - (exp(1) - 1) / (exp(1) + 2), ranked[3].score);
}

static void usual_rows_come_first_by_density(void) {
    ranks(CP_RANK_DENSITY, 1, NULL, ROWS, (int[]){1, 3, 4, 0, 2});
    TEST_ASSERT_EQUAL_DOUBLE(-1, ranked[0].score);
}

static void mixed_is_the_mean_of_both_shares(void) {
    ranks(CP_RANK_MIXED, 1, NULL, ROWS, (int[]){1, 2, 4, 3, 0});
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.5 * (2 + 4) / ROWS, ranked[0].score); /* two have a lower entropy, four a lower density */
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.5 * 4 / ROWS, ranked[1].score);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.5 * (2 + 2) / ROWS, ranked[2].score);
}

static void rows_with_labels_are_left_out(void) {
    ranks(CP_RANK_ENTROPY, 1, (bool[]){false, true, true, false, false}, 3, (int[]){4, 0, 3});
    ranks(CP_RANK_MIXED, 1, (bool[]){true, true, true, true, true}, 0, NULL);
}

static void a_random_order_follows_from_the_seed_and_skips_change_nothing_else(void) {
    int all[ROWS], left = 0;
    ranks(CP_RANK_RANDOM, 1, NULL, ROWS, NULL);
    for (int i = 0; i < ROWS; i++)
        if (ranked[i].row != 2) all[left++] = ranked[i].row;
    ranks(CP_RANK_RANDOM, 1, (bool[]){false, false, true, false, false}, ROWS - 1, all);
}

static void a_density_that_there_is_not_and_outputs_that_are_not_finite_are_refused(void) {
    scores.energies = NULL;
    for (int k = 0; k < 2; k++) {
        TEST_ASSERT_NULL(cp_rank(&scores, 1, NULL, k ? CP_RANK_MIXED : CP_RANK_DENSITY, 1, &count, &status));
        TEST_ASSERT_NOT_NULL(strstr(status.message, "a softmax model has no density"));
        status = (cp_status){0};
    }
    ranks(CP_RANK_MARGIN, 1, NULL, ROWS, NULL);
    TEST_ASSERT_TRUE(isnan(ranked[0].density));
    scores.finite = false;
    TEST_ASSERT_NULL(cp_rank(&scores, 1, NULL, CP_RANK_ENTROPY, 1, &count, &status));
    TEST_ASSERT_NOT_NULL(strstr(status.message, "not finite"));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(doubtful_rows_come_first_by_entropy);
    RUN_TEST(two_classes_that_are_as_likely_come_first_by_margin);
    RUN_TEST(a_temperature_scales_the_posterior);
    RUN_TEST(usual_rows_come_first_by_density);
    RUN_TEST(mixed_is_the_mean_of_both_shares);
    RUN_TEST(rows_with_labels_are_left_out);
    RUN_TEST(a_random_order_follows_from_the_seed_and_skips_change_nothing_else);
    RUN_TEST(a_density_that_there_is_not_and_outputs_that_are_not_finite_are_refused);
    return UNITY_END();
}
