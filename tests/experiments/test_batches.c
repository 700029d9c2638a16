/* Batches: every row once per epoch, the ways to end an epoch, and a position that is one number. */
#include "experiments/kit/data/batches.h"

#include "core/scratch.h"
#include "tests/support/errors.h"

enum { ROWS = 10 };

static uint8_t         pixels[2 * ROWS];
static int             labels[ROWS];
static cp_dataset     *set;
static const cp_split *train;
static cp_status       status;
static cp_tape        *tape;

void setUp(void) {
    status = (cp_status){0};
    errors_catch();
    scratch_make();
    for (int i = 0; i < ROWS; i++) pixels[2 * i] = (uint8_t)i, pixels[2 * i + 1] = (uint8_t)(100 + i), labels[i] = i % 2;
    set = cp_dataset_new((cp_dataset_config){.dtype = CP_U8, .shape = CP_SHAPE(2)});
    cp_dataset_add(set, (cp_split_config){"train", ROWS, pixels, labels, false}, &status);
    train = cp_dataset_split(set, "train", &status);
    tape = cp_tape_new();
}

void tearDown(void) {
    cp_dataset_free(set);
    cp_tape_free(tape);
    errors_release();
    scratch_remove();
}

static cp_batches *batches_of(cp_last last, int size, uint64_t seed) {
    cp_batches *b = cp_batches_new((cp_batches_config){.split = train, .size = size, .last = last, .seed = seed});
    TEST_ASSERT_NOT_NULL_MESSAGE(b, last_error);
    return b;
}

/* Takes `count` batches; adds to `times`, unless it is NULL, how often each row appeared. Returns the total number of rows. */
static int take(cp_batches *b, int count, int *times) {
    int total = 0;
    for (int i = 0; i < count; i++) {
        cp_batch batch = cp_batches_next((cp_tape *)NULL, b);
        TEST_ASSERT_TRUE(batch.count > 0);
        for (int r = 0; times && r < batch.count; r++) times[batch.rows[r]]++;
        total += batch.count;
    }
    return total;
}

static void each_came_up(const int *times, int min, int max) {
    for (int i = 0; i < ROWS; i++) TEST_ASSERT_TRUE(times[i] >= min && times[i] <= max);
}

static void a_batch_has_the_inputs_and_labels_of_its_rows(void) {
    cp_batches *b = batches_of(CP_LAST_SHORT, 4, 1);
    cp_batch    batch = cp_batches_next(tape, b);
    TEST_ASSERT_EQUAL_INT(4, batch.count);
    TEST_ASSERT_EQUAL_INT(4, batch.labels.count);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){4, 2}), batch.x->dims, 2);
    for (int i = 0; i < 4; i++) {
        TEST_ASSERT_EQUAL_INT(labels[batch.rows[i]], batch.labels.at[i]);
        TEST_ASSERT_TRUE(batch.x->data[2 * i] == (cp_real)batch.rows[i] / (cp_real)127.5 - 1);
    }
    cp_batches_free(b);
}

static void the_default_is_batches_of_32_and_a_short_last_one(void) {
    cp_batches *b = cp_batches_new((cp_batches_config){.split = train});
    cp_batch    batch = cp_batches_next(tape, b);
    TEST_ASSERT_EQUAL_INT(32, b->size);
    TEST_ASSERT_EQUAL_INT(ROWS, batch.count);
    TEST_ASSERT_EQUAL_INT(1, cp_batches_per_epoch(b));
    cp_batches_free(b);
}

static void an_epoch_with_a_short_last_batch_has_every_row_once(void) {
    cp_batches *b = batches_of(CP_LAST_SHORT, 4, 1);
    TEST_ASSERT_EQUAL_INT(3, cp_batches_per_epoch(b));
    for (int epoch = 0; epoch < 3; epoch++) {
        int times[ROWS] = {0};
        TEST_ASSERT_EQUAL_INT(ROWS, take(b, 3, times));
        each_came_up(times, 1, 1);
    }
    TEST_ASSERT_EQUAL_INT64(3, cp_batches_next(tape, b).epoch);
    cp_batches_free(b);
}

static void an_epoch_without_the_last_rows_has_only_full_batches(void) {
    cp_batches *b = batches_of(CP_LAST_DROP, 4, 1);
    int         times[ROWS] = {0}, all[ROWS] = {0};
    TEST_ASSERT_EQUAL_INT(2, cp_batches_per_epoch(b));
    TEST_ASSERT_EQUAL_INT(8, take(b, 2, times));
    each_came_up(times, 0, 1);
    take(b, 40, all); /* other rows are left out each time */
    each_came_up(all, 1, 20);
    cp_batches_free(b);
}

static void wrapped_epochs_continue_without_a_short_batch(void) {
    cp_batches *b = batches_of(CP_LAST_WRAP, 4, 1);
    int         times[ROWS] = {0};
    TEST_ASSERT_EQUAL_INT(ROWS * 2, take(b, 5, times)); /* two epochs in five batches */
    each_came_up(times, 2, 2);
    cp_batches_free(b);
}

static void a_small_set_fills_large_batches_evenly(void) {
    cp_batches *b = cp_batches_new((cp_batches_config){
        .split = train, .rows = (int[]){7, 2, 5}, .row_count = 3, .size = 32, .last = CP_LAST_WRAP, .stream = "labeled"});
    int         times[ROWS] = {0};
    TEST_ASSERT_EQUAL_INT(32, take(b, 1, times));
    TEST_ASSERT_EQUAL_INT(32, times[2] + times[5] + times[7]);
    TEST_ASSERT_TRUE(times[2] >= 10 && times[5] >= 10 && times[7] >= 10);
    TEST_ASSERT_EQUAL_INT(1, cp_batches_per_epoch(b));
    TEST_ASSERT_EQUAL_INT(64, take(b, 2, times));
    TEST_ASSERT_TRUE(times[2] == 32 && times[5] == 32 && times[7] == 32);
    cp_batches_free(b);
}

static void one_row_is_enough(void) {
    for (cp_last last = CP_LAST_SHORT; last <= CP_LAST_WRAP; last++) {
        cp_batches *b =
            cp_batches_new((cp_batches_config){.split = train, .rows = (int[]){9}, .row_count = 1, .size = 1, .last = last});
        int times[ROWS] = {0};
        TEST_ASSERT_EQUAL_INT(5, take(b, 5, times));
        TEST_ASSERT_EQUAL_INT(5, times[9]);
        cp_batches_free(b);
    }
}

static void rows_in_order_keep_their_given_order(void) {
    int         given[] = {4, 1, 8, 0};
    cp_batches *b = cp_batches_new((cp_batches_config){.split = train, .rows = given, .row_count = 4, .size = 3, .in_order = true});
    for (int epoch = 0; epoch < 2; epoch++) {
        cp_batch first = cp_batches_next(tape, b);
        TEST_ASSERT_EQUAL_INT_ARRAY(given, first.rows, 3);
        cp_batch second = cp_batches_next(tape, b);
        TEST_ASSERT_EQUAL_INT(1, second.count);
        TEST_ASSERT_EQUAL_INT(0, second.rows[0]);
    }
    cp_batches_free(b);
}

static void epochs_seeds_and_streams_have_different_orders(void) {
    cp_batches *b = batches_of(CP_LAST_SHORT, ROWS, 1), *other = batches_of(CP_LAST_SHORT, ROWS, 2);
    cp_batches *named = cp_batches_new((cp_batches_config){.split = train, .size = ROWS, .seed = 1, .stream = "other"});
    int         first[ROWS];
    memcpy(first, cp_batches_next(tape, b).rows, sizeof first);
    TEST_ASSERT_TRUE(memcmp(first, cp_batches_next(tape, b).rows, sizeof first) != 0);
    TEST_ASSERT_TRUE(memcmp(first, cp_batches_next(tape, other).rows, sizeof first) != 0);
    TEST_ASSERT_TRUE(memcmp(first, cp_batches_next(tape, named).rows, sizeof first) != 0);
    cp_batches_free(b), cp_batches_free(other), cp_batches_free(named);
}

static void missing_labels_are_minus_one(void) {
    TEST_ASSERT_TRUE(cp_dataset_add(set, (cp_split_config){"bare", ROWS, pixels, NULL, false}, &status));
    cp_batches *b = cp_batches_new((cp_batches_config){.split = cp_dataset_split(set, "bare", &status), .size = 2});
    cp_batch    batch = cp_batches_next(tape, b);
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){-1, -1}), batch.labels.at, 2);
    cp_batches_free(b);
}

/* ---- position ---- */

static void any_position_can_be_set_by_one_number(void) {
    for (cp_last last = CP_LAST_SHORT; last <= CP_LAST_WRAP; last++) {
        cp_batches *b = batches_of(last, 4, 5), *late = batches_of(last, 4, 5);
        for (int64_t step = 0; step < 20; step++) {
            cp_batch from_start = cp_batches_next(tape, b);
            late->step = 19, cp_batches_next(tape, late); /* at another position first */
            late->step = step;
            cp_batch jumped = cp_batches_next(tape, late);
            TEST_ASSERT_EQUAL_INT64(step, jumped.step);
            TEST_ASSERT_EQUAL_INT64(from_start.epoch, jumped.epoch);
            TEST_ASSERT_EQUAL_INT(from_start.count, jumped.count);
            TEST_ASSERT_EQUAL_INT_ARRAY(from_start.rows, jumped.rows, jumped.count);
        }
        cp_batches_free(b), cp_batches_free(late);
    }
}

static void a_checkpoint_continues_where_it_was_saved(void) {
    cp_batches        *b = batches_of(CP_LAST_WRAP, 4, 5), *again = batches_of(CP_LAST_WRAP, 4, 5);
    cp_checkpoint_part part = cp_part_batches("labeled", b), restored = cp_part_batches("labeled", again);
    take(b, 7, NULL);
    TEST_ASSERT_TRUE_MESSAGE(
        cp_checkpoint_save(&(cp_checkpoint){.parts = &part, .part_count = 1}, scratch("c.safetensors"), &status), status.message);
    TEST_ASSERT_TRUE_MESSAGE(
        cp_checkpoint_load(&(cp_checkpoint){.parts = &restored, .part_count = 1}, scratch("c.safetensors"), &status),
        status.message);
    for (int i = 0; i < 9; i++) {
        cp_batch x = cp_batches_next(tape, b), y = cp_batches_next(tape, again);
        TEST_ASSERT_EQUAL_INT_ARRAY(x.rows, y.rows, 4);
        TEST_ASSERT_EQUAL_MEMORY(x.x->data, y.x->data, x.x->size * sizeof *x.x->data);
    }
    cp_batches_free(b), cp_batches_free(again);
}

static void a_checkpoint_of_other_batches_is_refused(void) {
    cp_batches        *b = batches_of(CP_LAST_WRAP, 4, 5);
    cp_checkpoint_part part = cp_part_batches("labeled", b);
    TEST_ASSERT_TRUE(cp_checkpoint_save(&(cp_checkpoint){.parts = &part, .part_count = 1}, scratch("c.safetensors"), &status));
    cp_batches *others[] = {batches_of(CP_LAST_WRAP, 4, 6), batches_of(CP_LAST_WRAP, 3, 5), batches_of(CP_LAST_SHORT, 4, 5)};
    const char *names[] = {"labeled.seed", "labeled.size", "labeled.last"};
    for (int i = 0; i < 3; i++) {
        cp_checkpoint_part other = cp_part_batches("labeled", others[i]);
        others[i]->step = 11;
        TEST_ASSERT_FALSE(
            cp_checkpoint_load(&(cp_checkpoint){.parts = &other, .part_count = 1}, scratch("c.safetensors"), &status));
        says(&status, names[i]);
        TEST_ASSERT_EQUAL_INT64(11, others[i]->step);
        cp_batches_free(others[i]);
    }
    cp_batches_free(b);
}

/* ---- misuse ---- */

static void impossible_batches_are_misuse(void) {
    TEST_ASSERT_NULL(cp_batches_new((cp_batches_config){.size = 4}));
    expect_error_in("batches_new", "the split is NULL", __FILE__);
    TEST_ASSERT_NULL(cp_batches_new((cp_batches_config){.split = train, .size = -1}));
    expect_error_in("batches_new", "-1 rows", __FILE__);
    TEST_ASSERT_NULL(cp_batches_new((cp_batches_config){.split = train, .size = 11, .last = CP_LAST_DROP}));
    expect_error_in("batches_new", "10 rows make no batch of 11", __FILE__);
    TEST_ASSERT_NULL(cp_batches_new((cp_batches_config){.split = train, .rows = (int[]){3, 10}, .row_count = 2}));
    expect_error_in("batches_new", "no row 10", __FILE__);
    TEST_ASSERT_NULL(cp_batches_new((cp_batches_config){.split = train, .rows = (int[]){3}, .row_count = 0}));
    expect_error_in("batches_new", "no rows to take from split \"train\"", __FILE__);
    TEST_ASSERT_NULL(cp_batches_new((cp_batches_config){.split = train, .last = (cp_last)7}));
    expect_error_in("batches_new", "kind 7", __FILE__);
    TEST_ASSERT_TRUE(cp_dataset_add(set, (cp_split_config){"empty", 0, NULL, NULL, false}, &status));
    TEST_ASSERT_NULL(cp_batches_new((cp_batches_config){.split = cp_dataset_split(set, "empty", &status)}));
    expect_error_in("batches_new", "no rows to take from split \"empty\"", __FILE__);
}

static void an_impossible_position_is_misuse(void) {
    cp_batches *b = batches_of(CP_LAST_WRAP, 4, 1);
    int64_t     bad[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX / 4};
    for (int i = 0; i < 4; i++) {
        b->step = bad[i];
        TEST_ASSERT_EQUAL_INT(0, cp_batches_next(tape, b).count);
        expect_error_in("batches_next", "no batch number", __FILE__);
    }
    b->step = INT64_MAX / 4 - 1;
    TEST_ASSERT_EQUAL_INT(4, cp_batches_next(tape, b).count);
    TEST_ASSERT_EQUAL_INT(0, cp_batches_next(tape, NULL).count);
    expect_error_in("batches_next", "NULL", __FILE__);
    cp_batches_free(b);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_batch_has_the_inputs_and_labels_of_its_rows);
    RUN_TEST(the_default_is_batches_of_32_and_a_short_last_one);
    RUN_TEST(an_epoch_with_a_short_last_batch_has_every_row_once);
    RUN_TEST(an_epoch_without_the_last_rows_has_only_full_batches);
    RUN_TEST(wrapped_epochs_continue_without_a_short_batch);
    RUN_TEST(a_small_set_fills_large_batches_evenly);
    RUN_TEST(one_row_is_enough);
    RUN_TEST(rows_in_order_keep_their_given_order);
    RUN_TEST(epochs_seeds_and_streams_have_different_orders);
    RUN_TEST(missing_labels_are_minus_one);
    RUN_TEST(any_position_can_be_set_by_one_number);
    RUN_TEST(a_checkpoint_continues_where_it_was_saved);
    RUN_TEST(a_checkpoint_of_other_batches_is_refused);
    RUN_TEST(impossible_batches_are_misuse);
    RUN_TEST(an_impossible_position_is_misuse);
    return UNITY_END();
}
