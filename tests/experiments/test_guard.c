/* The divergence guard: each signal, the reactions to it and their order, and saving its state in a checkpoint. */
#include "experiments/kit/train/guard.h"

#include "core/io/safetensors.h"
#include "core/scratch.h"

#include <math.h>

static cp_status status;
static cp_guard  guard;

void setUp(void) {
    status = (cp_status){0};
    guard = (cp_guard){0};
    scratch_make();
}

void tearDown(void) { scratch_remove(); }

typedef struct signs {
    double of[CP_GUARD_SIGNS];
} signs;

static const signs healthy = {
    {[CP_GUARD_LOSS] = 2, [CP_GUARD_GRADIENT] = 60, [CP_GUARD_GAP] = 0.3, [CP_GUARD_SLOPE] = 0.4, [CP_GUARD_CHAINS] = 0.1}};

static signs with(signs s, cp_guard_sign sign, double value) {
    s.of[sign] = value;
    return s;
}

static cp_guard_verdict judge(signs s) {
    static int64_t step;
    return cp_guard_judge(&guard, step++, s.of);
}

static void go_well(int steps) {
    for (int i = 0; i < steps; i++) TEST_ASSERT_EQUAL_INT(CP_GUARD_OK, judge(healthy));
}

static cp_guard_event last_event(void) {
    cp_guard_event event;
    TEST_ASSERT_TRUE(cp_guard_last_event(&guard, &event));
    return event;
}

static void is_bad(cp_guard_sign sign, double value) {
    cp_guard before = guard;
    TEST_ASSERT_NOT_EQUAL(CP_GUARD_OK, judge(with(healthy, sign, value)));
    TEST_ASSERT_EQUAL_INT(sign, last_event().sign);
    guard = before;
}

static void is_ok(cp_guard_sign sign, double value) {
    cp_guard before = guard;
    TEST_ASSERT_EQUAL_INT(CP_GUARD_OK, judge(with(healthy, sign, value)));
    guard = before;
}

/* ---- signs ---- */

static void nonfinite_values_are_bad_at_once(void) {
    for (int steps = 0; steps <= 20; steps += 20) {
        go_well(steps);
        static const cp_guard_sign all[] = {CP_GUARD_LOSS, CP_GUARD_GRADIENT, CP_GUARD_WEIGHTS};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) is_bad(all[i], NAN), is_bad(all[i], INFINITY);
        is_bad(CP_GUARD_LOSS, -INFINITY);
        is_bad(CP_GUARD_GAP, -INFINITY);
        is_bad(CP_GUARD_SLOPE, INFINITY);
        is_bad(CP_GUARD_WEIGHTS, 1);
        is_bad(CP_GUARD_OUTPUTS, 1);
    }
}

static void signals_that_a_method_lacks_are_ignored(void) {
    signs softmax = healthy;
    softmax.of[CP_GUARD_GAP] = softmax.of[CP_GUARD_SLOPE] = softmax.of[CP_GUARD_CHAINS] = NAN;
    for (int i = 0; i < 100; i++) TEST_ASSERT_EQUAL_INT(CP_GUARD_OK, judge(softmax));
    TEST_ASSERT_EQUAL_INT64(0, guard.event_count);
}

static void without_a_history_only_the_bounds_count(void) {
    is_ok(CP_GUARD_LOSS, 9e3);
    is_bad(CP_GUARD_LOSS, 1.1e4);
    is_ok(CP_GUARD_GRADIENT, 9e6);
    is_bad(CP_GUARD_GRADIENT, 1.1e7);
    is_ok(CP_GUARD_GAP, -19);
    is_bad(CP_GUARD_GAP, -21);
    is_ok(CP_GUARD_SLOPE, 990);
    is_bad(CP_GUARD_SLOPE, 1010);
    is_ok(CP_GUARD_CHAINS, 0.5);
    is_bad(CP_GUARD_CHAINS, 0.51);
}

static void with_a_history_twenty_times_the_median_is_bad(void) {
    go_well(8);
    is_ok(CP_GUARD_GRADIENT, 1190); /* 20 times 60 */
    is_bad(CP_GUARD_GRADIENT, 1210);
    is_ok(CP_GUARD_GAP, -5.9); /* 20 times 0.3 */
    is_bad(CP_GUARD_GAP, -6.1);
    is_ok(CP_GUARD_SLOPE, 7.9);
    is_bad(CP_GUARD_SLOPE, 8.1);
    is_bad(CP_GUARD_LOSS, 51);
    guard.factor = 3;
    is_bad(CP_GUARD_GRADIENT, 1010);
    is_bad(CP_GUARD_SLOPE, 5.1);
}

static void harmless_values_are_ok_whatever_the_history(void) {
    for (int i = 0; i < 70; i++) {
        signs tiny = {{[CP_GUARD_LOSS] = 1e-6, [CP_GUARD_GRADIENT] = 1e-6, [CP_GUARD_GAP] = 1e-6, [CP_GUARD_SLOPE] = 1e-6}};
        TEST_ASSERT_EQUAL_INT(CP_GUARD_OK, judge(tiny));
    }
    is_ok(CP_GUARD_LOSS, 49);
    is_ok(CP_GUARD_LOSS, -1e9); /* energies may be far below zero */
    is_ok(CP_GUARD_GRADIENT, 999);
    is_ok(CP_GUARD_GAP, -4.9);
    is_ok(CP_GUARD_GAP, 1e6); /* samples below the data are the sampler's success */
    is_ok(CP_GUARD_SLOPE, 2.9);
}

static void the_median_forgets_values_older_than_its_history(void) {
    for (int i = 0; i < 100; i++) judge(with(healthy, CP_GUARD_SLOPE, 40));
    is_ok(CP_GUARD_SLOPE, 700);
    go_well(CP_GUARD_HISTORY);
    is_bad(CP_GUARD_SLOPE, 700);
}

static void a_history_of_lost_chains_does_not_make_them_ok(void) {
    for (int i = 0; i < 7; i++) TEST_ASSERT_EQUAL_INT(CP_GUARD_OK, judge(with(healthy, CP_GUARD_GAP, -8)));
    judge(with(healthy, CP_GUARD_GAP, -8));
    is_bad(CP_GUARD_GAP, -8); /* the median is beyond -5 now */
    is_ok(CP_GUARD_GAP, -4);
    guard = (cp_guard){0};
    for (int i = 0; i < 8; i++) judge(with(healthy, CP_GUARD_SLOPE, 60));
    is_bad(CP_GUARD_SLOPE, 60);
}

static void bad_steps_are_not_part_of_the_history(void) {
    go_well(10);
    guard.patience = 1000;
    for (int i = 0; i < 100; i++) TEST_ASSERT_EQUAL_INT(CP_GUARD_SKIP, judge(with(healthy, CP_GUARD_SLOPE, 900)));
}

static void bad_weights_are_reported_before_their_consequences(void) {
    signs all = healthy;
    for (int i = 0; i < CP_GUARD_OUTPUTS; i++) all.of[i] = i == CP_GUARD_WEIGHTS ? 1 : NAN;
    judge(all);
    TEST_ASSERT_EQUAL_INT(CP_GUARD_WEIGHTS, guard.events.sign[0]);
}

/* ---- verdicts ---- */

static void three_bad_steps_are_skipped_and_the_fourth_rolls_back(void) {
    signs bad = with(healthy, CP_GUARD_LOSS, NAN);
    go_well(5);
    TEST_ASSERT_TRUE(cp_guard_calm(&guard));
    for (int i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL_INT(CP_GUARD_SKIP, judge(bad));
        TEST_ASSERT_FALSE(cp_guard_calm(&guard));
    }
    TEST_ASSERT_EQUAL_INT(CP_GUARD_ROLL_BACK, judge(bad));
    TEST_ASSERT_EQUAL_INT64(3, guard.skipped);
    TEST_ASSERT_EQUAL_INT64(1, guard.rolled_back);
    TEST_ASSERT_EQUAL_INT64(4, guard.event_count);
}

static void four_ok_steps_cancel_a_bad_step(void) {
    signs bad = with(healthy, CP_GUARD_LOSS, NAN);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 3; i++) TEST_ASSERT_EQUAL_INT(CP_GUARD_SKIP, judge(bad));
        go_well(1);
        TEST_ASSERT_TRUE(cp_guard_calm(&guard));
        TEST_ASSERT_FALSE(cp_guard_steady(&guard));
        go_well(11);
        TEST_ASSERT_TRUE(cp_guard_steady(&guard));
    }
    TEST_ASSERT_EQUAL_INT64(0, guard.rolled_back);
}

static void bad_steps_with_too_few_ok_steps_between_also_roll_back(void) {
    int skipped = 0;
    while (judge(with(healthy, CP_GUARD_LOSS, NAN)) == CP_GUARD_SKIP && ++skipped < 50) go_well(2);
    TEST_ASSERT_EQUAL_INT(5, skipped); /* each adds two strikes: 2, 4, 6, 8, 10, and the sixth makes 14 of 12 */
    TEST_ASSERT_EQUAL_INT64(1, guard.rolled_back);
}

static void patience_is_a_setting(void) {
    guard.patience = 1;
    TEST_ASSERT_EQUAL_INT(CP_GUARD_SKIP, judge(with(healthy, CP_GUARD_LOSS, NAN)));
    TEST_ASSERT_EQUAL_INT(CP_GUARD_ROLL_BACK, judge(with(healthy, CP_GUARD_LOSS, NAN)));
}

static void broken_weights_and_outputs_roll_back_without_skipping(void) {
    TEST_ASSERT_EQUAL_INT(CP_GUARD_ROLL_BACK, judge(with(healthy, CP_GUARD_WEIGHTS, 1)));
    TEST_ASSERT_EQUAL_INT(CP_GUARD_ROLL_BACK, cp_guard_judge_outputs(&guard, 70));
    TEST_ASSERT_EQUAL_INT(CP_GUARD_OUTPUTS, guard.events.sign[1]);
    TEST_ASSERT_EQUAL_INT64(70, guard.events.step[1]);
    TEST_ASSERT_EQUAL_INT64(0, guard.skipped);
}

static void the_guard_gives_up_after_the_allowed_rollbacks(void) {
    static const struct { int setting, rollbacks; } cases[] = {{0, 8}, {3, 3}, {-1, 0}};
    for (int c = 0; c < 3; c++) {
        guard = (cp_guard){.rollbacks = cases[c].setting};
        for (int i = 0; i < cases[c].rollbacks; i++) {
            TEST_ASSERT_EQUAL_INT(CP_GUARD_ROLL_BACK, judge(with(healthy, CP_GUARD_WEIGHTS, 1)));
            go_well(30); /* good steps in between do not restore any */
        }
        TEST_ASSERT_EQUAL_INT(CP_GUARD_GIVE_UP, judge(with(healthy, CP_GUARD_WEIGHTS, 1)));
        TEST_ASSERT_EQUAL_INT64(cases[c].rollbacks, guard.rolled_back);
        TEST_ASSERT_EQUAL_INT(CP_GUARD_GIVE_UP, last_event().verdict);
    }
}

static void a_rollback_restores_the_history_and_keeps_the_events(void) {
    go_well(20);
    cp_guard checkpoint = guard;
    for (int i = 0; i < 64; i++) judge(with(healthy, CP_GUARD_SLOPE, 7));
    is_ok(CP_GUARD_SLOPE, 100);
    judge(with(healthy, CP_GUARD_WEIGHTS, 1));
    cp_guard before = guard;
    guard = checkpoint;
    cp_guard_return(&guard, &before);
    is_bad(CP_GUARD_SLOPE, 100);
    TEST_ASSERT_EQUAL_INT64(1, guard.rolled_back);
    TEST_ASSERT_EQUAL_INT64(1, guard.event_count);
    TEST_ASSERT_EQUAL_INT(CP_GUARD_WEIGHTS, last_event().sign);
    TEST_ASSERT_TRUE(cp_guard_calm(&guard) && cp_guard_steady(&guard));
}

/* ---- output ---- */

static void events_read_as_sentences(void) {
    cp_guard_event event = {412, CP_GUARD_SLOPE, CP_GUARD_ROLL_BACK, 53.1, 0.12};
    TEST_ASSERT_EQUAL_STRING("step 412: |dE/dx|^2 at samples 53.1, usually 0.12: rolled back", cp_guard_event_text(&event).s);
    event = (cp_guard_event){3, CP_GUARD_LOSS, CP_GUARD_SKIP, NAN, NAN};
    TEST_ASSERT_EQUAL_STRING("step 3: loss nan: skipped", cp_guard_event_text(&event).s);
    event = (cp_guard_event){-1, 77, 99, 1, 1}; /* of a damaged file */
    TEST_ASSERT_EQUAL_STRING("step -1: ? 1, usually 1: ?", cp_guard_event_text(&event).s);
    go_well(20);
    judge(with(healthy, CP_GUARD_GAP, -40));
    event = last_event();
    TEST_ASSERT_NOT_NULL(strstr(cp_guard_event_text(&event).s, "samples' energy above the data's by 40, usually -0.3: skipped"));
}

static void a_guard_without_bad_steps_has_no_last_event(void) {
    go_well(3);
    cp_guard_event event;
    TEST_ASSERT_FALSE(cp_guard_last_event(&guard, &event));
}

static void only_the_first_and_the_last_of_many_events_are_kept(void) {
    guard.patience = 1000;
    for (int i = 0; i < 2 * CP_GUARD_EVENTS; i++) cp_guard_judge(&guard, 10 + i, with(healthy, CP_GUARD_LOSS, NAN).of);
    TEST_ASSERT_EQUAL_INT64(2 * CP_GUARD_EVENTS, guard.event_count);
    for (int i = 0; i < CP_GUARD_EVENTS - 1; i++) TEST_ASSERT_EQUAL_INT64(10 + i, guard.events.step[i]);
    TEST_ASSERT_EQUAL_INT64(9 + 2 * CP_GUARD_EVENTS, last_event().step);
}

static void the_guard_is_written_as_json(void) {
    cp_json_writer w = {0};
    go_well(2);
    cp_guard_judge(&guard, 5, with(healthy, CP_GUARD_LOSS, INFINITY).of);
    cp_guard_judge(&guard, 6, with(healthy, CP_GUARD_WEIGHTS, 1).of);
    cp_json_put_object(&w, NULL);
    cp_guard_put(&guard, &w, "guard");
    cp_json_put_end(&w);
    TEST_ASSERT_TRUE_MESSAGE(cp_json_writer_finish(&w, &status), status.message);
    TEST_ASSERT_EQUAL_STRING("{\"guard\":{\"events\":2,\"skipped\":1,\"rollbacks\":1,\"list\":[\"step 5: loss inf: skipped\","
                             "\"step 6: parameters that are not finite 1: rolled back\"]}}",
                             (const char *)w.out.data);
    cp_json_writer_free(&w);
}

/* ---- state ---- */

static bool pass(cp_guard *g, bool save) {
    cp_checkpoint_part part = cp_part_guard(g);
    cp_checkpoint      all = {.parts = &part, .part_count = 1};
    return save ? cp_checkpoint_save(&all, scratch("guard.safetensors"), &status)
                : cp_checkpoint_load(&all, scratch("guard.safetensors"), &status);
}

static void a_restored_guard_decides_like_the_saved_one(void) {
    go_well(100);
    judge(with(healthy, CP_GUARD_LOSS, NAN));
    judge(with(healthy, CP_GUARD_SLOPE, INFINITY));
    TEST_ASSERT_TRUE_MESSAGE(pass(&guard, true), status.message);
    cp_guard other = {0};
    TEST_ASSERT_TRUE_MESSAGE(pass(&other, false), status.message);
    TEST_ASSERT_EQUAL_MEMORY(&guard, &other, sizeof guard);
    for (int i = 0; i < 4; i++) {
        signs s = with(healthy, CP_GUARD_GRADIENT, 1e3 * (i + 1));
        TEST_ASSERT_EQUAL_INT(cp_guard_judge(&guard, i, s.of), cp_guard_judge(&other, i, s.of));
    }
    TEST_ASSERT_EQUAL_MEMORY(&guard, &other, sizeof guard);
}

static void a_restored_guard_keeps_its_own_settings(void) {
    TEST_ASSERT_TRUE(pass(&guard, true));
    cp_guard other = {.patience = 7, .rollbacks = 2, .factor = 5};
    TEST_ASSERT_TRUE(pass(&other, false));
    TEST_ASSERT_TRUE(other.patience == 7 && other.rollbacks == 2 && other.factor == 5);
}

static void impossible_counts_are_refused(void) {
    int64_t *const counts[] = {&guard.seen, &guard.bad, &guard.skipped, &guard.rolled_back, &guard.event_count};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        *counts[i] = -1;
        TEST_ASSERT_FALSE(pass(&guard, true));
        says(&status, "couplet.guard.");
        *counts[i] = 0;
    }
}

static void impossible_events_are_refused(void) {
    judge(with(healthy, CP_GUARD_LOSS, NAN));
    guard.events.sign[0] = CP_GUARD_SIGNS;
    TEST_ASSERT_FALSE(pass(&guard, true));
    says(&status, "couplet.guard.event.sign");
    guard.events.sign[0] = CP_GUARD_LOSS, guard.events.verdict[0] = -1;
    TEST_ASSERT_FALSE(pass(&guard, true));
    says(&status, "couplet.guard.event.verdict");
}

static void the_state_has_a_name_and_a_type_for_every_member(void) {
    static const struct {
        const char *name;
        cp_dtype    dtype;
    } members[] = {{"history", CP_F64},    {"seen", CP_I64},          {"bad", CP_I64},         {"strikes", CP_I64},
                   {"skipped", CP_I64},    {"rolled_back", CP_I64},   {"event_count", CP_I64}, {"event.step", CP_I64},
                   {"event.sign", CP_I32}, {"event.verdict", CP_I32}, {"event.value", CP_F64}, {"event.usual", CP_F64}};
    go_well(2);
    cp_guard_judge(&guard, 7, with(healthy, CP_GUARD_GRADIENT, INFINITY).of);
    TEST_ASSERT_TRUE_MESSAGE(pass(&guard, true), status.message);
    cp_safetensors *file = cp_st_read(scratch("guard.safetensors"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(file, status.message);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char name[80];
        snprintf(name, sizeof name, "couplet.guard.%s", members[i].name);
        const cp_st_entry *entry = cp_st_find(file, name);
        TEST_ASSERT_NOT_NULL_MESSAGE(entry, name);
        bool as_float = CP_REAL_DTYPE == CP_F64 && entry->dtype == CP_F32; /* reals that a float holds are saved as one */
        TEST_ASSERT_EQUAL_INT_MESSAGE(members[i].dtype, as_float ? CP_F64 : entry->dtype, name);
    }
    TEST_ASSERT_EQUAL_INT(7, ((const int64_t *)cp_st_find(file, "couplet.guard.event.step")->data)[0]);
    TEST_ASSERT_EQUAL_INT(CP_GUARD_GRADIENT, ((const int32_t *)cp_st_find(file, "couplet.guard.event.sign")->data)[0]);
    cp_st_free(file);
}

static void a_slope_up_to_the_setting_is_harmless(void) {
    go_well(20);
    is_bad(CP_GUARD_SLOPE, 12);
    guard.slope = 15;
    is_ok(CP_GUARD_SLOPE, 12);
    is_bad(CP_GUARD_SLOPE, 16);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(nonfinite_values_are_bad_at_once);
    RUN_TEST(signals_that_a_method_lacks_are_ignored);
    RUN_TEST(without_a_history_only_the_bounds_count);
    RUN_TEST(with_a_history_twenty_times_the_median_is_bad);
    RUN_TEST(harmless_values_are_ok_whatever_the_history);
    RUN_TEST(the_median_forgets_values_older_than_its_history);
    RUN_TEST(a_history_of_lost_chains_does_not_make_them_ok);
    RUN_TEST(bad_steps_are_not_part_of_the_history);
    RUN_TEST(bad_weights_are_reported_before_their_consequences);
    RUN_TEST(three_bad_steps_are_skipped_and_the_fourth_rolls_back);
    RUN_TEST(four_ok_steps_cancel_a_bad_step);
    RUN_TEST(bad_steps_with_too_few_ok_steps_between_also_roll_back);
    RUN_TEST(patience_is_a_setting);
    RUN_TEST(broken_weights_and_outputs_roll_back_without_skipping);
    RUN_TEST(the_guard_gives_up_after_the_allowed_rollbacks);
    RUN_TEST(a_rollback_restores_the_history_and_keeps_the_events);
    RUN_TEST(events_read_as_sentences);
    RUN_TEST(a_guard_without_bad_steps_has_no_last_event);
    RUN_TEST(only_the_first_and_the_last_of_many_events_are_kept);
    RUN_TEST(the_guard_is_written_as_json);
    RUN_TEST(a_restored_guard_decides_like_the_saved_one);
    RUN_TEST(a_restored_guard_keeps_its_own_settings);
    RUN_TEST(impossible_counts_are_refused);
    RUN_TEST(impossible_events_are_refused);
    RUN_TEST(the_state_has_a_name_and_a_type_for_every_member);
    RUN_TEST(a_slope_up_to_the_setting_is_harmless);
    return UNITY_END();
}
