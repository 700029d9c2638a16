/* Tests of the page that replays a tape: it is complete for any tape, shows the sweep as it ran, and does not change the
 * tape. The program is linked with -Wl,--wrap for malloc, calloc, realloc, aligned_alloc and posix_memalign. */
#include "couplet.h"

#include "core/io/json.h"
#include "core/op.h"

#include "support/wrapped_memory.h"
#include "tests/support/errors.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cp_tape *tape;
static char    *page;
static cp_json *replay;

void setUp(void) {
    calls_allowed = -1;
    memory_stays_out = false;
    errors_catch();
    tape = cp_tape_new();
    page = NULL;
    replay = NULL;
}

void tearDown(void) {
    calls_allowed = -1;
    cp_tape_free(tape);
    cp_json_free(replay);
    free(page);
    errors_release();
}

/* ---- reading a page ---- */

static int occurrences(const char *what) {
    int n = 0;
    for (const char *at = page; (at = strstr(at, what)); at += strlen(what)) n++;
    return n;
}

static void read_replay(FILE *file) {
    static const char start[] = "<script id=\"replay\" type=\"application/json\">";
    long              size = ftell(file);
    TEST_ASSERT_GREATER_THAN_INT64(0, size);
    rewind(file);
    page = malloc((size_t)size + 1);
    page[fread(page, 1, (size_t)size, file)] = '\0';
    fclose(file);
    TEST_ASSERT_EQUAL_INT(1, occurrences(start));
    const char *json = strstr(page, start) + strlen(start), *end = strstr(json, "</script>");
    cp_status   status = {0};
    replay = cp_json_parse(json, (size_t)(end - json), "the replay", &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(replay, status.message);
}

static void write_page(cp_tensor *loss) {
    FILE *file = tmpfile();
    TEST_ASSERT_TRUE(cp_tape_html(tape, file, loss));
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, errors, last_error);
    read_replay(file);
}

static const cp_json *value(int id) { return cp_json_at(cp_json_get(replay, "values"), (size_t)id); }

static const char *text(const cp_json *object, const char *key) { return cp_json_string(cp_json_get(object, key), ""); }

static const cp_json *picture(int id) { return cp_json_get(value(id), "picture"); }

/* The final gradient in the replay for the value with this id, or NULL. */
static const cp_json *replayed(int id) {
    const cp_json *found = NULL;
    for (const cp_json *leaf = cp_json_get(replay, "untouched")->first; leaf; leaf = leaf->next)
        if (cp_json_integer(cp_json_get(leaf, "id"), -1) == id) found = cp_json_get(leaf, "picture");
    for (const cp_json *rule = cp_json_get(replay, "sweep")->first; rule; rule = rule->next) {
        const cp_json *inputs = cp_json_get(value((int)cp_json_integer(cp_json_get(rule, "id"), -1)), "inputs");
        for (const cp_json *part = cp_json_get(rule, "parts")->first; part; part = part->next) {
            const cp_json *input = cp_json_at(inputs, (size_t)cp_json_integer(cp_json_get(part, "input"), 99));
            const cp_json *sum = cp_json_get(part, "sum");
            if (cp_json_integer(input, -1) == id) found = sum ? sum : cp_json_get(part, "picture");
        }
    }
    return found;
}

static void expect_number(double expected, const char *found) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.4g", expected);
    TEST_ASSERT_EQUAL_STRING(digits, found);
}

/* Checks that the page's gradients of these leaves are those of cp_grad, to the digits shown. */
static void expect_gradients(cp_tensor *loss, cp_tensor *const *leaves, int n) {
    cp_tensor *grads[8];
    TEST_ASSERT_TRUE(cp_grad(tape, loss, leaves, n, grads));
    for (int i = 0; i < n; i++) {
        const cp_json *found = replayed(leaves[i]->tape ? leaves[i]->id : i), *values = cp_json_get(found, "values");
        TEST_ASSERT_NOT_NULL(found);
        if (!values) {
            double low = INFINITY;
            for (size_t k = 0; k < grads[i]->size; k++) low = fmin(low, (double)grads[i]->data[k]);
            expect_number(low, text(found, "low"));
            continue;
        }
        TEST_ASSERT_EQUAL_UINT64(grads[i]->size, values->count);
        for (size_t k = 0; k < grads[i]->size; k++)
            expect_number((double)grads[i]->data[k], cp_json_string(cp_json_at(values, k), ""));
    }
}

static cp_tensor *variable(int n, const char *name) {
    cp_real values[512];
    for (int i = 0; i < n; i++) values[i] = (cp_real)0.1 * (cp_real)(i % 17 - 8);
    cp_tensor *t = cp_variable(tape, values, CP_SHAPE(n));
    t->name = name;
    return t;
}

static cp_tensor *sum(cp_tensor *t) { return cp_sum(tape, t, CP_ALL, false); }

/* ---- contents ---- */

static void a_page_shows_ops_rules_and_the_callers_line(void) {
    cp_tensor *x = variable(3, "x"), *y = cp_tanh(tape, x);
    int        line = __LINE__ - 1;
    cp_tensor *loss = sum(y);
    write_page(loss);
    const cp_json *node = value(y->id);
    TEST_ASSERT_EQUAL_STRING("variable", text(value(x->id), "kind"));
    TEST_ASSERT_EQUAL_STRING("tanh", text(node, "op"));
    TEST_ASSERT_EQUAL_STRING("tanh a", text(node, "formula"));
    TEST_ASSERT_EQUAL_STRING("g (1 - out^2)", text(node, "rule"));
    TEST_ASSERT_NOT_EQUAL(0, *text(node, "words"));
    TEST_ASSERT_EQUAL_STRING("out", cp_json_string(cp_json_get(node, "keeps")->first, ""));
    TEST_ASSERT_EQUAL_STRING(__FILE__, text(node, "file"));
    TEST_ASSERT_EQUAL_INT(line, cp_json_integer(cp_json_get(node, "line"), 0));
    TEST_ASSERT_EQUAL_INT(loss->id, cp_json_integer(cp_json_get(replay, "loss"), -1));
    TEST_ASSERT_GREATER_THAN_INT64(0, cp_json_integer(cp_json_get(node, "bytes"), 0));
    expect_gradients(loss, &x, 1);
}

static void a_given_source_text_is_quoted(void) {
    cp_tensor   *x = variable(2, "x");
    FILE        *file = tmpfile();
    cp_tape_page about = {.title = "A title", .file = "no/such/file.c", .source = "first\n\tsecond(1);  \r\nthird"};
    cp_tensor   *a = (cp_exp)((cp_at){tape, about.file, 2}, x), *b = (cp_exp)((cp_at){tape, about.file, 3}, a);
    cp_tensor   *c = (cp_exp)((cp_at){tape, about.file, 4}, b), *d = (cp_exp)((cp_at){tape, "no/other.c", 1}, c);
    TEST_ASSERT_TRUE(cp_tape_html_with(tape, file, sum(d), about));
    read_replay(file);
    TEST_ASSERT_EQUAL_STRING("A title", text(replay, "title"));
    TEST_ASSERT_EQUAL_STRING("second(1);", text(value(a->id), "source"));
    TEST_ASSERT_EQUAL_STRING("third", text(value(b->id), "source"));
    TEST_ASSERT_EQUAL_STRING("", text(value(c->id), "source"));
    TEST_ASSERT_EQUAL_STRING("", text(value(d->id), "source"));
}

static void gradients_that_are_added_are_shown_with_their_sum(void) {
    cp_tensor *x = variable(1, "x"), *e = cp_exp(tape, x), *loss = sum(cp_add(tape, e, cp_mul(tape, e, x)));
    write_page(loss);
    int sums = occurrences("\"sum\":{");
    TEST_ASSERT_EQUAL_INT(2, sums); /* at e and at x */
    expect_gradients(loss, &x, 1);
}

static void a_gradient_that_is_passed_on_names_the_values_that_receive_it(void) {
    cp_tensor *x = variable(4, "x"), *y = variable(4, "y"), *s = cp_add(tape, cp_exp(tape, x), cp_exp(tape, y)), *loss = sum(s);
    write_page(loss);
    const cp_json *of_sum = cp_json_at(cp_json_get(replay, "sweep"), 1);
    TEST_ASSERT_EQUAL_INT(s->id, cp_json_integer(cp_json_get(of_sum, "id"), -1));
    TEST_ASSERT_EQUAL_UINT64(2, cp_json_get(of_sum, "shared_with")->count);
    for (size_t i = 1; i < 4; i++) { /* the first exp passes it on to the other, which has it last */
        const cp_json *rule = cp_json_at(cp_json_get(replay, "sweep"), i);
        TEST_ASSERT_EQUAL_INT(i == 3, cp_json_bool(cp_json_get(rule, "released"), i != 3));
        TEST_ASSERT_EQUAL_UINT64(i == 1 ? 2 : 0, cp_json_get(rule, "shared_with")->count);
    }
}

/* The text of a rule does not grow with the tape: all these leaves have the same gradient. */
static void a_gradient_shared_by_many_values_keeps_the_page_small(void) {
    enum { LEAVES = 1000 };
    cp_tensor *total = variable(1, "x");
    for (int i = 0; i < LEAVES; i++) total = cp_add(tape, total, variable(1, "x"));
    write_page(total);
    for (const cp_json *rule = cp_json_get(replay, "sweep")->first; rule; rule = rule->next)
        TEST_ASSERT_EQUAL_UINT64(2, cp_json_get(rule, "shared_with")->count);
}

static void values_that_the_loss_does_not_need_are_skipped(void) {
    cp_tensor *x = variable(3, "x"), *aside = variable(3, "aside"), *loss = sum(cp_exp(tape, x));
    cp_exp(tape, aside);
    cp_tensor *leaves[] = {x, aside};
    write_page(loss);
    TEST_ASSERT_EQUAL_UINT64(2, cp_json_get(replay, "sweep")->count);
    TEST_ASSERT_EQUAL_UINT64(1, cp_json_get(replay, "untouched")->count);
    expect_gradients(loss, leaves, 2);
}

static void a_frozen_tape_is_shown_with_the_gradients_of_its_variables(void) {
    cp_tensor *w = cp_parameter_new((cp_real[]){2, 3}, CP_SHAPE(2)), *x = variable(2, "x");
    w->name = "w";
    cp_tape_freeze(tape, true);
    cp_tensor *product = cp_mul(tape, w, x), *loss = sum(product);
    write_page(loss);
    TEST_ASSERT_TRUE(cp_json_bool(cp_json_get(replay, "frozen"), false));
    TEST_ASSERT_EQUAL_UINT64(3, cp_json_get(replay, "values")->count);
    TEST_ASSERT_EQUAL_STRING("w", text(cp_json_at(cp_json_get(value(product->id), "inputs"), 0), "name"));
    expect_gradients(loss, &x, 1);
    cp_tensor_free(w);
}

static void parameters_are_leaves_and_a_tape_frozen_later_ignores_them(void) {
    cp_tensor *w = cp_parameter_new((cp_real[]){2}, CP_SHAPE(1)), *loss = cp_exp(tape, w);
    write_page(loss);
    TEST_ASSERT_EQUAL_STRING("parameter", text(value(0), "kind"));
    expect_gradients(loss, &w, 1);
    cp_json_free(replay);
    free(page);
    cp_tape_freeze(tape, true);
    write_page(loss);
    TEST_ASSERT_FALSE(cp_json_bool(cp_json_get(value(0), "requested"), true));
    TEST_ASSERT_NULL(replayed(0));
    cp_tensor_free(w);
}

static void a_recorded_sweep_is_part_of_the_record(void) {
    cp_tensor *x = variable(3, "x"), *slope;
    TEST_ASSERT_TRUE(cp_grad_recorded(tape, sum(cp_tanh(tape, x)), &x, 1, &slope));
    cp_tensor *loss = sum(cp_square(tape, slope));
    write_page(loss);
    expect_gradients(loss, &x, 1);
}

static void a_value_that_an_op_takes_as_a_constant_keeps_its_name(void) {
    cp_tensor *x = variable(3, "x"), *e = cp_exp(tape, x), *gated = cp_gate(tape, x, e, 0);
    write_page(sum(gated));
    TEST_ASSERT_EQUAL_STRING("%1", text(cp_json_at(cp_json_get(value(gated->id), "inputs"), 1), "name"));
}

static void what_an_op_saved_is_on_the_page(void) {
    cp_tensor *x = cp_reshape(tape, variable(6, "x"), CP_SHAPE(2, 3)), *scaled = cp_affine(tape, x, (cp_real)0.1, -3);
    cp_tensor *product = cp_matmul(tape, scaled, scaled, CP_TRANSPOSE_B),
              *loss = cp_cross_entropy(tape, product, (cp_labels){(int[]){1, 0}, 2});
    write_page(loss);
    const cp_json *saved = cp_json_get(value(scaled->id), "attributes");
    TEST_ASSERT_EQUAL_STRING("0.1", text(saved, "scale"));
    TEST_ASSERT_EQUAL_STRING("-3", text(saved, "shift"));
    TEST_ASSERT_EQUAL_INT64(
        1, cp_json_integer(cp_json_at(cp_json_get(cp_json_get(value(product->id), "attributes"), "transposed"), 1), -1));
    const cp_json *labels = cp_json_get(cp_json_get(value(loss->id), "attributes"), "labels");
    TEST_ASSERT_EQUAL_UINT64(2, labels->count);
    TEST_ASSERT_EQUAL_INT64(1, cp_json_integer(cp_json_at(labels, 0), -1));
}

/* For computing with them: cp_real values read back as they were. */
static void leaves_have_all_their_digits_if_all_tensors_are_small(void) {
    cp_real    third = (cp_real)1 / 3;
    cp_tensor *x = cp_variable(tape, (cp_real[]){third, (cp_real)0.1, (cp_real)-INFINITY, (cp_real)NAN}, CP_SHAPE(4)),
              *loss = sum(cp_exp(tape, x));
    write_page(loss);
    const cp_json *exact = cp_json_get(value(0), "exact");
    TEST_ASSERT_EQUAL_UINT64(4, exact->count);
    TEST_ASSERT_TRUE((cp_real)strtod(cp_json_string(cp_json_at(exact, 0), ""), NULL) == third);
    TEST_ASSERT_EQUAL_STRING("0.1", cp_json_string(cp_json_at(exact, 1), ""));
    TEST_ASSERT_EQUAL_STRING("-inf", cp_json_string(cp_json_at(exact, 2), ""));
    TEST_ASSERT_EQUAL_STRING("nan", cp_json_string(cp_json_at(exact, 3), ""));
    TEST_ASSERT_NULL(cp_json_get(value(loss->id), "exact"));
    cp_json_free(replay);
    free(page);
    write_page(cp_add(tape, loss, sum(variable(65, "many"))));
    TEST_ASSERT_NULL(cp_json_get(value(0), "exact"));
}

static void nodes_name_their_scopes(void) {
    cp_tensor *x = variable(3, "x");
    cp_scope_begin(tape, "outer");
    cp_scope_begin(tape, "inner <");
    cp_tensor *inner = cp_exp(tape, x);
    cp_scope_end(tape);
    cp_tensor *outer = cp_exp(tape, inner);
    cp_scope_end(tape);
    cp_tensor *loss = sum(outer);
    write_page(loss);
    const cp_json *scopes = cp_json_get(replay, "scopes");
    TEST_ASSERT_EQUAL_UINT64(2, scopes->count);
    TEST_ASSERT_EQUAL_STRING("inner <", text(cp_json_at(scopes, 1), "name"));
    TEST_ASSERT_EQUAL_INT64(1, cp_json_integer(cp_json_get(cp_json_at(scopes, 1), "parent"), -1));
    TEST_ASSERT_EQUAL_INT64(2, cp_json_integer(cp_json_get(value(inner->id), "scope"), 0));
    TEST_ASSERT_EQUAL_INT64(1, cp_json_integer(cp_json_get(value(outer->id), "scope"), 0));
    TEST_ASSERT_NULL(cp_json_get(value(loss->id), "scope"));
}

static void a_norm_shows_its_statistics_by_name(void) {
    cp_tensor *x = cp_reshape(tape, variable(12, "x"), CP_SHAPE(3, 4)), *y = cp_layer_norm(tape, x, NULL, NULL, 0);
    write_page(sum(y));
    const cp_json *inputs = cp_json_get(value(y->id), "inputs");
    TEST_ASSERT_EQUAL_STRING("mean", text(cp_json_at(inputs, 3), "name"));
    TEST_ASSERT_EQUAL_STRING("1/sqrt(var+eps)", text(cp_json_at(inputs, 4), "name"));
}

static void a_value_used_many_times_keeps_the_page_small(void) {
    cp_tensor *x = variable(500, "x"), *often[2000];
    for (int i = 0; i < 2000; i++) often[i] = x;
    write_page(sum(cp_concat(tape, often, 2000, 0)));
    TEST_ASSERT_LESS_THAN_UINT64(3 << 20, strlen(page));
}

static void a_loss_that_is_a_leaf_has_no_rules(void) {
    cp_tensor *x = variable(1, "x");
    write_page(x);
    TEST_ASSERT_EQUAL_UINT64(0, cp_json_get(replay, "sweep")->count);
    TEST_ASSERT_EQUAL_UINT64(0, cp_json_get(replay, "untouched")->count);
}

static void scalars_empty_tensors_and_released_values_are_shown(void) {
    cp_tensor *s = cp_variable(tape, (cp_real[]){2}, CP_SCALAR), *none = cp_variable(tape, (cp_real[]){0}, CP_SHAPE(0, 3));
    cp_tensor *doubled = cp_scale(tape, variable(70, "x"), 2), *loss = cp_add(tape, cp_add(tape, s, sum(none)), sum(doubled));
    cp_release(CP_AT(tape), doubled);
    write_page(loss);
    TEST_ASSERT_EQUAL_UINT64(0, cp_json_get(picture(s->id), "dims")->count);
    TEST_ASSERT_EQUAL_STRING("2", cp_json_string(cp_json_get(picture(s->id), "values")->first, ""));
    TEST_ASSERT_EQUAL_UINT64(0, cp_json_get(picture(none->id), "values")->count);
    TEST_ASSERT_TRUE(cp_json_bool(cp_json_get(picture(doubled->id), "released"), false));
    cp_tensor *leaves[] = {s, none};
    expect_gradients(loss, leaves, 2);
}

static void a_long_tape_is_shown_without_cells_and_stays_small(void) {
    enum { NODES = 4000 };
    cp_tensor *x = variable(100, "x"), *y = x;
    for (int i = 0; i < NODES; i++) y = cp_neg(tape, y);
    write_page(sum(y));
    TEST_ASSERT_TRUE(cp_json_bool(cp_json_get(replay, "brief"), false));
    TEST_ASSERT_EQUAL_INT(0, occurrences("\"cells\":\""));
    TEST_ASSERT_EQUAL_UINT64(NODES + 1, cp_json_get(replay, "sweep")->count);
    TEST_ASSERT_LESS_THAN_UINT64(3 << 20, strlen(page));
}

/* ---- robustness ---- */

static void names_cannot_break_out_of_the_page(void) {
    static const char hostile[] = "</script><b>\"\\'&\n\x01 \xC3\xA9 \xFF<!--";
    cp_tensor        *x = variable(2, hostile);
    FILE             *file = tmpfile();
    int               plain;
    write_page(sum(x));
    plain = occurrences("<script") + occurrences("</script>") + occurrences("<!--");
    TEST_ASSERT_EQUAL_STRING("</script><b>\"\\'&\n\x01 \xC3\xA9 \xEF\xBF\xBD<!--", text(value(0), "name"));
    cp_json_free(replay);
    free(page);
    TEST_ASSERT_TRUE(cp_tape_html_with(tape, file, sum(x), (cp_tape_page){.title = hostile}));
    read_replay(file);
    TEST_ASSERT_EQUAL_INT(plain, occurrences("<script") + occurrences("</script>") + occurrences("<!--"));
    TEST_ASSERT_EQUAL_INT(4, plain);
}

/* The text as a name, as the name of a source file and as a line of source. */
static void expect_cut_between_characters(const char *text_of_all) {
    FILE      *file = tmpfile();
    cp_tensor *y = (cp_exp)((cp_at){tape, "line.c", 1}, variable(1, text_of_all));
    TEST_ASSERT_TRUE((cp_tape_html_with)((cp_at){tape, text_of_all, 1}, file, y, (cp_tape_page){NULL, "line.c", text_of_all}));
    read_replay(file);
    TEST_ASSERT_EQUAL_INT(0, occurrences("\xEF\xBF\xBD"));
    TEST_ASSERT_GREATER_THAN_UINT64(190, strlen(text(value(y->id), "source")));
    cp_json_free(replay);
    free(page);
    page = NULL, replay = NULL;
}

static void long_texts_are_cut_between_characters(void) {
    char accents[402] = "e";
    for (size_t i = 1; i < 401; i += 2) memcpy(accents + i, "\xC3\xA9", 2);
    expect_cut_between_characters(accents);
    expect_cut_between_characters(accents + 1); /* one of the two cuts would be within a character */
}

static void a_page_refers_to_no_other_files(void) {
    write_page(sum(variable(2, "x")));
    TEST_ASSERT_EQUAL_INT(0, occurrences("@include"));
    TEST_ASSERT_EQUAL_INT(0, occurrences("src="));
    TEST_ASSERT_EQUAL_INT(0, occurrences("https:"));
    TEST_ASSERT_EQUAL_INT(occurrences("\"http://www.w3.org/2000/svg\""), occurrences("http:"));
    TEST_ASSERT_EQUAL_STRING("</html>\n", strstr(page, "</html>"));
}

static void the_tape_is_as_it_was(void) {
    cp_tensor *x = variable(100, "x"), *loss = sum(cp_square(tape, cp_tanh(tape, x)));
    size_t     bytes = cp_tape_bytes(tape);
    int        length = cp_tape_length(tape);
    for (int i = 0; i < 3; i++) {
        FILE *file = tmpfile();
        TEST_ASSERT_TRUE(cp_tape_html(tape, file, loss));
        fclose(file);
        TEST_ASSERT_EQUAL_UINT64(bytes, cp_tape_bytes(tape));
        TEST_ASSERT_EQUAL_INT(length, cp_tape_length(tape));
    }
    write_page(loss);
    expect_gradients(loss, &x, 1);
}

static void misuse_is_reported_and_nothing_is_written(void) {
    cp_tensor *x = variable(3, "x"), *y = cp_exp(tape, x), *constant = cp_scalar(tape, 1);
    FILE      *file = tmpfile();
    TEST_ASSERT_FALSE(cp_tape_html((cp_tape *)NULL, file, x));
    expect_error("the tape is NULL");
    TEST_ASSERT_FALSE(cp_tape_html(tape, NULL, x));
    expect_error("the file is NULL");
    errors_forgive(tape);
    TEST_ASSERT_FALSE(cp_tape_html(tape, file, NULL));
    expect_error("argument 1 is NULL");
    TEST_ASSERT_FALSE(cp_tape_html(tape, file, y));
    expect_error("loss has shape (3)");
    TEST_ASSERT_FALSE(cp_tape_html(tape, file, constant));
    expect_error("loss was not recorded");
    TEST_ASSERT_EQUAL_INT64(0, ftell(file));
    fclose(file);
}

static void a_file_that_cannot_be_written_is_reported(void) {
    FILE *file = fopen("/dev/full", "w");
    if (!file) TEST_IGNORE_MESSAGE("there is no /dev/full");
    TEST_ASSERT_FALSE(cp_tape_html(tape, file, sum(variable(3, "x"))));
    TEST_ASSERT_EQUAL_INT(0, errors);
    fclose(file);
}

static void expect_no_page_without_memory(bool stays_out) {
    cp_tensor *x = variable(100, "x"), *loss = sum(cp_square(tape, cp_tanh(tape, x)));
    size_t     bytes = cp_tape_bytes(tape);
    int        failures = 0;
    long       left = 0;
    memory_stays_out = stays_out;
    for (long allowed = 0; left == 0; allowed++) {
        FILE *file = tmpfile();
        errors_forget();
        calls_allowed = allowed;
        bool ok = cp_tape_html(tape, file, loss);
        left = calls_allowed > 0 ? calls_allowed : 0; /* none failed */
        calls_allowed = -1;
        TEST_ASSERT_EQUAL_INT(!ok, errors > 0);
        TEST_ASSERT_TRUE(ok || ftell(file) == 0);
        TEST_ASSERT_EQUAL_UINT64(bytes, cp_tape_bytes(tape));
        TEST_ASSERT_LESS_THAN_INT64(10000, allowed);
        fclose(file);
        failures += !ok;
    }
    TEST_ASSERT_GREATER_THAN_INT(3, failures);
}

static void without_memory_it_fails_with_a_message(void) { expect_no_page_without_memory(true); }

static void a_single_failed_allocation_gives_a_page_or_a_message(void) { expect_no_page_without_memory(false); }

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_page_shows_ops_rules_and_the_callers_line);
    RUN_TEST(a_given_source_text_is_quoted);
    RUN_TEST(gradients_that_are_added_are_shown_with_their_sum);
    RUN_TEST(a_gradient_that_is_passed_on_names_the_values_that_receive_it);
    RUN_TEST(a_gradient_shared_by_many_values_keeps_the_page_small);
    RUN_TEST(values_that_the_loss_does_not_need_are_skipped);
    RUN_TEST(a_frozen_tape_is_shown_with_the_gradients_of_its_variables);
    RUN_TEST(parameters_are_leaves_and_a_tape_frozen_later_ignores_them);
    RUN_TEST(a_recorded_sweep_is_part_of_the_record);
    RUN_TEST(a_value_that_an_op_takes_as_a_constant_keeps_its_name);
    RUN_TEST(what_an_op_saved_is_on_the_page);
    RUN_TEST(leaves_have_all_their_digits_if_all_tensors_are_small);
    RUN_TEST(nodes_name_their_scopes);
    RUN_TEST(a_norm_shows_its_statistics_by_name);
    RUN_TEST(a_value_used_many_times_keeps_the_page_small);
    RUN_TEST(a_loss_that_is_a_leaf_has_no_rules);
    RUN_TEST(scalars_empty_tensors_and_released_values_are_shown);
    RUN_TEST(a_long_tape_is_shown_without_cells_and_stays_small);
    RUN_TEST(names_cannot_break_out_of_the_page);
    RUN_TEST(long_texts_are_cut_between_characters);
    RUN_TEST(a_page_refers_to_no_other_files);
    RUN_TEST(the_tape_is_as_it_was);
    RUN_TEST(misuse_is_reported_and_nothing_is_written);
    RUN_TEST(a_file_that_cannot_be_written_is_reported);
    RUN_TEST(without_memory_it_fails_with_a_message);
    RUN_TEST(a_single_failed_allocation_gives_a_page_or_a_message);
    return UNITY_END();
}
