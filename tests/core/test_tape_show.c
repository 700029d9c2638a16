/* Tests of the listing and the Graphviz output of a tape. */
#include "couplet.h"

#include "core/op.h"

#include "tests/support/errors.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static cp_tape *tape;
static char    *text;

void setUp(void) {
    tape = cp_tape_new();
    text = NULL;
}

void tearDown(void) {
    cp_tape_free(tape);
    free(text);
}

static void read_back(FILE *file) {
    long size = ftell(file);
    TEST_ASSERT_GREATER_OR_EQUAL_INT64(0, size);
    rewind(file);
    free(text);
    text = malloc((size_t)size + 1);
    text[fread(text, 1, (size_t)size, file)] = '\0';
    fclose(file);
}

static const char *listing(void) {
    FILE *file = tmpfile();
    cp_tape_print(tape, file);
    read_back(file);
    return text;
}

static const char *graph(cp_tensor *loss) {
    FILE *file = tmpfile();
    cp_tape_dot(tape, file, loss);
    read_back(file);
    return text;
}

static int occurrences(const char *in, const char *what) {
    int    n = 0;
    size_t length = strlen(what);
    for (; *in; in++) n += *in == *what && strncmp(in, what, length) == 0; /* strstr in a loop is slow under a sanitizer */
    return n;
}

/* The words of the line that starts with `start`, with one space between them. */
static void expect_line(const char *start, const char *expected) {
    char words[512] = "";
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, start, strlen(start)) != 0 || line[strlen(start)] != ' ') continue;
        char copy[600];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
            if (*words) strcat(words, " ");
            strcat(words, word);
        }
        break;
    }
    TEST_ASSERT_EQUAL_STRING(expected, words);
}

static cp_tensor *example(cp_tensor **w) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(1, 2));
    *w = cp_parameter_new((cp_real[]){3, 4}, CP_SHAPE(2, 1));
    (*w)->name = "w";
    cp_tensor *y = cp_matmul(tape, x, *w, 0);
    cp_tensor *z = cp_exp(tape, cp_scale(tape, y, (cp_real)0.1));
    z->name = "z";
    return cp_sum(tape, cp_mul(tape, z, cp_scalar(tape, 2)), CP_ALL, false);
}

static void a_listing_has_op_shape_bytes_keeps_inputs_and_leaves(void) {
    cp_tensor *w;
    example(&w);
    listing();
    char line[200];
    int  size = (int)sizeof(cp_real);
    snprintf(line, sizeof line, "%%0 variable (1, 2) %d", 2 * size);
    expect_line("%0", line);
    snprintf(line, sizeof line, "w parameter (2, 1) %d", 2 * size);
    expect_line("w", line);
    snprintf(line, sizeof line, "%%2 matmul (1, 1) %d %%0 w %%0 (1, 2), w (2, 1) %%0 w", size);
    expect_line("%2", line);
    snprintf(line, sizeof line, "%%3 affine (1, 1) %d - %%2 (1, 1) %%0 w", size);
    expect_line("%3", line);
    snprintf(line, sizeof line, "z exp (1, 1) %d out %%3 (1, 1) %%0 w", size);
    expect_line("z", line);
    snprintf(line, sizeof line, "%%5 mul (1, 1) %d constant z (1, 1), constant () %%0 w", size);
    expect_line("%5", line);
    TEST_ASSERT_NOT_NULL(strstr(text, "\n5 nodes, "));
    cp_tensor_free(w);
}

static void columns_stay_aligned_with_long_names(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), *y = cp_mul(tape, x, x);
    x->name = "block3.residual.convolution.weight", y->name = "y";
    cp_exp(tape, y);
    listing();
    const char *header = text, *line = strchr(text, '\n') + 1;
    int         bytes = (int)(strstr(header, "bytes") - header) + 5;
    for (int i = 0; i < 3; i++, line = strchr(line, '\n') + 1) {
        size_t name = strcspn(line, " ");
        TEST_ASSERT_EQUAL_INT((int)(strstr(header, "op ") - header), (int)(name + strspn(line + name, " ")));
        TEST_ASSERT_EQUAL_INT(sizeof(cp_real) == 8 ? '6' : '8', line[bytes - 1]);
    }
}

/* A convolution with fixed weights reads only the weights, so the image can be released and takes no bytes. */
static void a_listing_shows_what_a_node_keeps_and_what_was_released(void) {
    cp_tensor *image = cp_variable(tape, (cp_real[]){1, -2}, CP_SHAPE(1, 1, 2, 1)), *x = cp_scale(tape, image, 2);
    cp_tensor *w = cp_constant(tape, (cp_real[]){3}, CP_SHAPE(1, 1, 1, 1)), *one = cp_constant(tape, (cp_real[]){1}, CP_SHAPE(1));
    cp_leaky_conv2d(tape, x, w, (cp_conv_extras){0}, (cp_conv2d_config){0});
    cp_leaky_conv2d(tape, x, w, ((cp_conv_extras){.scale = one, .shift = one}), (cp_conv2d_config){0});
    cp_conv2d(tape, x, w, NULL, (cp_conv2d_config){0});
    cp_leaky_conv2d(tape, x, w, (cp_conv_extras){.slope = 1}, (cp_conv2d_config){0});
    cp_release(CP_AT(tape), x);
    listing();
    expect_line("%1", "%1 affine (1, 1, 2, 1) 0 - %0 (1, 1, 2, 1) %0");
    char line[200];
    int  size = 2 * (int)sizeof(cp_real);
    snprintf(line, sizeof line, "%%2 leaky_conv2d (1, 1, 2, 1) %d constant +saved %%1 (1, 1, 2, 1), constant (1, 1, 1, 1) %%0",
             size);
    expect_line("%2", line);
    snprintf(line, sizeof line,
             "%%3 leaky_conv2d (1, 1, 2, 1) %d constant constant +saved %%1 (1, 1, 2, 1), constant (1, 1, 1, 1), constant (1), "
             "constant (1) %%0",
             size);
    expect_line("%3", line);
    snprintf(line, sizeof line, "%%4 conv2d (1, 1, 2, 1) %d constant %%1 (1, 1, 2, 1), constant (1, 1, 1, 1) %%0", size);
    expect_line("%4", line);
    snprintf(line, sizeof line, "%%5 leaky_conv2d (1, 1, 2, 1) %d constant %%1 (1, 1, 2, 1), constant (1, 1, 1, 1) %%0", size);
    expect_line("%5", line); /* without a leaky ReLU there are no signs to save */
}

static void values_that_an_op_saved_besides_its_inputs_are_marked(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, -2}, CP_SHAPE(1, 2));
    cp_tensor *open = cp_constant(tape, (cp_real[]){1, 0}, CP_SHAPE(1, 2));
    cp_where(tape, open, x, open);
    cp_gate(tape, x, open, 0);
    cp_cross_entropy(tape, x, (cp_labels){(int[]){1}, 1});
    cp_layer_norm(tape, x, NULL, NULL, 1);
    listing();
    char line[100];
    int  size = (int)sizeof(cp_real);
    snprintf(line, sizeof line, "%%1 where (1, 2) %d constant constant (1, 2), %%0 (1, 2), constant (1, 2) %%0", 2 * size);
    expect_line("%1", line);
    snprintf(line, sizeof line, "%%2 gate (1, 2) %d constant %%0 (1, 2), constant (1, 2) %%0", 2 * size);
    expect_line("%2", line);
    snprintf(line, sizeof line, "%%3 cross_entropy () %d %%0 +saved %%0 (1, 2) %%0", size);
    expect_line("%3", line);
    snprintf(line, sizeof line,
             "%%4 layer_norm (1, 2) %d %%0 mean 1/sqrt(var+eps) %%0 (1, 2), mean (1, 1), 1/sqrt(var+eps) (1, 1) %%0", 2 * size);
    expect_line("%4", line);
}

static void more_than_three_leaves_on_a_line_are_counted(void) {
    cp_tensor *sum = cp_scalar(tape, 0);
    for (int i = 0; i < 4; i++) sum = cp_add(tape, sum, cp_variable(tape, (cp_real[]){1}, CP_SCALAR));
    listing();
    char line[100];
    snprintf(line, sizeof line, "%%5 add () %d - %%3 (), %%4 () %%0 %%2 %%4", (int)sizeof(cp_real));
    expect_line("%5", line);
    snprintf(line, sizeof line, "%%7 add () %d - %%5 (), %%6 () 4 leaves", (int)sizeof(cp_real));
    expect_line("%7", line);
}

static void a_view_is_listed_without_bytes(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2));
    cp_reshape(tape, x, CP_SHAPE(2, 1));
    listing();
    expect_line("%1", "%1 reshape (2, 1) 0 - %0 (2) %0");
}

static void each_value_is_listed_with_only_its_own_leaves(void) {
    cp_tensor *a = cp_variable(tape, (cp_real[]){1}, CP_SCALAR), *b = cp_variable(tape, (cp_real[]){1}, CP_SCALAR);
    a->name = "a", b->name = "b";
    cp_tensor *p = cp_neg(tape, a), *q = cp_neg(tape, b), *r = cp_add(tape, p, q);
    p->name = "p", q->name = "q", r->name = "r";
    char line[100];
    listing();
    snprintf(line, sizeof line, "q neg () %d - b () b", (int)sizeof(cp_real));
    expect_line("q", line);
    snprintf(line, sizeof line, "r add () %d - p (), q () a b", (int)sizeof(cp_real));
    expect_line("r", line);
}

static void leaves_beyond_the_limit_are_counted(void) {
    cp_tensor *sum = cp_scalar(tape, 0);
    for (int i = 0; i < 70; i++) sum = cp_add(tape, sum, cp_variable(tape, (cp_real[]){1}, CP_SCALAR));
    TEST_ASSERT_NOT_NULL(strstr(listing(), "... and 7 more leaves\n"));
    TEST_ASSERT_NOT_NULL(strstr(text, "\n70 nodes"));
}

static void an_empty_tape_lists_no_nodes(void) {
    TEST_ASSERT_NOT_NULL(strstr(listing(), "\n0 nodes, "));
    TEST_ASSERT_EQUAL_INT(2, occurrences(text, "\n"));
    TEST_ASSERT_EQUAL_STRING_LEN("digraph", graph(NULL), 7);
}

static void a_listing_releases_its_memory(void) {
    cp_tensor *w;
    example(&w);
    size_t before = cp_tape_bytes(tape);
    listing();
    TEST_ASSERT_EQUAL_UINT64(before, cp_tape_bytes(tape));
    graph(NULL);
    TEST_ASSERT_EQUAL_UINT64(before, cp_tape_bytes(tape));
    cp_tensor_free(w);
}

/* Outside quotes, braces and brackets are balanced; quotes end; each statement except the braces ends with a semicolon. */
static void expect_parsable(const char *dot) {
    bool quoted = false;
    int  braces = 0, brackets = 0;
    for (const char *c = dot; *c; c++) {
        if (quoted && *c == '\\') {
            TEST_ASSERT_TRUE_MESSAGE(c[1], "ends in a backslash");
            c++;
            continue;
        }
        if (*c == '"') quoted = !quoted;
        if (quoted) continue;
        braces += (*c == '{') - (*c == '}');
        brackets += (*c == '[') - (*c == ']');
        TEST_ASSERT_TRUE(braces >= 0 && brackets >= 0 && brackets <= 1);
        TEST_ASSERT_TRUE(*c != '\n' || c == dot || strchr("{};", c[-1]));
    }
    TEST_ASSERT_FALSE_MESSAGE(quoted, "a quote is not ended");
    TEST_ASSERT_EQUAL_INT(0, braces);
    TEST_ASSERT_EQUAL_INT(0, brackets);
}

static void a_graph_has_a_box_for_each_value_with_values_and_gradients(void) {
    cp_tensor *w, *loss = example(&w);
    expect_parsable(graph(loss));
    TEST_ASSERT_NOT_NULL(strstr(text, "v0 [style=filled fillcolor=\"#dce9f5\" label=\"%0 (1, 2)\\lvalue 1 2\\lgrad "));
    TEST_ASSERT_NOT_NULL(strstr(text, "label=\"w (2, 1)\\lvalue 3 4\\lgrad "));
    TEST_ASSERT_NOT_NULL(strstr(text, "label=\"z exp (1, 1)\\lvalue 3.004\\lgrad 2\\l\""));
    TEST_ASSERT_NOT_NULL(strstr(text, "v0 -> v2;"));
    TEST_ASSERT_NOT_NULL(strstr(text, "v1 -> v2;"));
    TEST_ASSERT_EQUAL_INT(1, occurrences(text, "constant ()\\lvalue 2"));
    TEST_ASSERT_EQUAL_INT(7, occurrences(text, "\\lgrad "));
    TEST_ASSERT_EQUAL_INT(0, occurrences(graph(NULL), "grad"));
    expect_parsable(text);
    cp_tensor_free(w);
}

static void a_loss_without_a_gradient_is_reported_and_the_graph_written_without(void) {
    cp_tensor *w, *bad = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2));
    example(&w);
    errors_catch();
    graph(bad);
    errors_release();
    expect_error("grad: loss has shape (2)");
    expect_parsable(text);
    TEST_ASSERT_NOT_NULL(strstr(text, "z exp"));
    TEST_ASSERT_EQUAL_INT(0, occurrences(text, "\\lgrad "));
    cp_tensor_free(w);
}

static void a_graph_of_a_frozen_tape_has_gradients_at_variables_and_values_computed_from_them(void) {
    cp_tensor *w, *loss = example(&w);
    cp_tape_freeze(tape, true);
    expect_parsable(graph(loss));
    TEST_ASSERT_EQUAL_INT(6, occurrences(text, "\\lgrad ")); /* w has none */
    TEST_ASSERT_NOT_NULL(strstr(text, "label=\"w (2, 1)\\lvalue 3 4\\l\""));
    cp_tensor_free(w);
}

static void large_values_are_summarized_and_a_nan_among_them_is_shown(void) {
    cp_real    values[10] = {-1, 2, 3, 4, 5, 6, 7, 8, 9, 7};
    cp_tensor *x = cp_variable(tape, values, CP_SHAPE(10));
    cp_exp(tape, x);
    TEST_ASSERT_NOT_NULL(strstr(graph(NULL), "value -1 .. 9, mean 5\\l"));
    x->data[4] = (cp_real)NAN;
    TEST_ASSERT_NOT_NULL(strstr(graph(NULL), "value -1 .. 9, mean 5, 1 NaN\\l"));
}

static void quotes_and_backslashes_in_names_are_escaped(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1}, CP_SCALAR), *y = cp_exp(tape, x);
    x->name = "the \"x\" \\";
    y->name = "\"; }";
    expect_parsable(graph(NULL));
    TEST_ASSERT_NOT_NULL(strstr(text, "label=\"the \\\"x\\\" \\\\ ()"));
    TEST_ASSERT_NOT_NULL(strstr(text, "label=\"\\\"; } exp ()"));
}

static void a_very_long_name_is_truncated(void) {
    char name[400];
    memset(name, '"', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    cp_tensor *x = cp_variable(tape, (cp_real[]){1}, CP_SCALAR), *y = cp_exp(tape, x);
    x->name = y->name = name;
    expect_parsable(graph(y));
    TEST_ASSERT_NOT_NULL(strstr(listing(), "exp"));
    x->name = y->name = NULL;
}

static void graphviz_accepts_the_graph(void) {
    if (system("dot -V >/dev/null 2>&1") != 0) TEST_IGNORE_MESSAGE("Graphviz is not installed");
    cp_tensor *w, *loss = example(&w);
    FILE      *dot = popen("dot -Tsvg >/dev/null", "w");
    cp_tape_dot(tape, dot, loss);
    TEST_ASSERT_EQUAL_INT(0, pclose(dot));
    cp_tensor_free(w);
}

static double processor_time_to_show(int nodes) {
    cp_tape_reset(tape);
    cp_tensor *x = cp_variable(tape, (cp_real[]){1}, CP_SCALAR);
    for (int i = 0; i < nodes; i++) x = cp_neg(tape, x);
    char words[40];
    snprintf(words, sizeof words, "\n%d nodes", nodes);
    clock_t start = clock();
    TEST_ASSERT_NOT_NULL(strstr(listing(), words));
    TEST_ASSERT_EQUAL_INT(nodes, occurrences(graph(x), " -> "));
    return (double)(clock() - start);
}

/* If time grew with the square of the number of nodes, it would be a hundred times as long. Other processes may slow down one attempt. */
static void a_tape_of_100000_nodes_takes_as_long_to_show_as_100_of_1000(void) {
    bool linear = false;
    for (int attempt = 0; attempt < 5 && !linear; attempt++) {
        double small = 0;
        for (int i = 0; i < 100; i++) small += processor_time_to_show(1000);
        linear = processor_time_to_show(100000) < 20 * small;
    }
    TEST_ASSERT_TRUE(linear);
}

/* ---- scopes ---- */

static void a_scope_is_a_column_of_the_listing_and_layers_open_one(void) {
    cp_params *params = cp_params_new();
    cp_rng     rng = cp_rng_named(1, "init");
    cp_linear  layer = cp_linear_make(params, "net.layer0", (cp_linear_config){.in = 2, .out = 1, .no_bias = true}, &rng);
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(1, 2));
    x->name = "x";
    cp_scope_begin(tape, "outer");
    cp_tensor *y = cp_linear_forward(tape, &layer, x), *z = cp_exp(tape, y);
    cp_scope_end(tape);
    cp_tensor *after = cp_exp(tape, z);
    y->name = "y", z->name = "z", after->name = "after";
    listing();
    expect_line("value", "value op shape bytes keeps from needed for scope");
    char last[64];
    snprintf(last, sizeof last, "%zu", sizeof(cp_real));
    char expected[200];
    snprintf(expected, sizeof expected,
             "y matmul (1, 1) %s x net.layer0.weight x (1, 2), net.layer0.weight (2, 1) x net.layer0.weight net.layer0", last);
    expect_line("y", expected);
    snprintf(expected, sizeof expected, "z exp (1, 1) %s out y (1, 1) x net.layer0.weight outer", last);
    expect_line("z", expected);
    snprintf(expected, sizeof expected, "after exp (1, 1) %s out z (1, 1) x net.layer0.weight", last);
    expect_line("after", expected);
    cp_params_free(params);
}

static void the_nodes_of_a_recorded_sweep_have_the_scopes_of_their_nodes(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), *slope;
    cp_scope_begin(tape, "squares");
    cp_tensor *y = cp_square(tape, x);
    cp_scope_end(tape);
    cp_tensor *loss = cp_sum(tape, cp_exp(tape, y), CP_ALL, false);
    TEST_ASSERT_TRUE(cp_grad_recorded(tape, loss, &x, 1, &slope));
    slope->name = "slope";
    listing();
    TEST_ASSERT_EQUAL_INT(3, occurrences(text, " squares\n")); /* the square, and its rule's scale and product */
    TEST_ASSERT_GREATER_THAN_INT(0, occurrences(text, " gradient\n"));
}

static void scopes_must_match_and_a_reset_closes_them(void) {
    errors_catch();
    cp_scope_end(tape);
    expect_error("no scope is open");
    cp_scope_begin(tape, NULL);
    expect_error("the name is NULL");
    cp_scope_begin((cp_tape *)NULL, "a");
    expect_error("the tape is NULL");
    cp_scope_end((cp_tape *)NULL);
    expect_error("the tape is NULL");
    cp_tape_reset(tape);
    cp_scope_begin(tape, "a");
    cp_tape_reset(tape);
    cp_scope_end(tape);
    expect_error("no scope is open");
    errors_release();
}

static void a_paused_tape_keeps_no_scopes_and_long_names_are_cut(void) {
    size_t bytes = cp_tape_bytes(tape);
    cp_tape_pause(tape, true);
    for (int i = 0; i < 1000; i++) {
        cp_scope_begin(tape, "a");
        cp_scope_begin(tape, "b");
        cp_scope_end(tape);
        cp_scope_end(tape);
    }
    cp_tape_pause(tape, false);
    TEST_ASSERT_EQUAL_UINT64(bytes, cp_tape_bytes(tape));
    char name[2 * CP_SCOPE_NAME];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    cp_scope_begin(tape, name);
    cp_exp(tape, cp_variable(tape, (cp_real[]){1}, CP_SHAPE(1)));
    listing();
    const char *end = strchr(strstr(text, "nnn"), '\n');
    TEST_ASSERT_EQUAL_INT64(CP_SCOPE_NAME - 1, end - strstr(text, "nnn"));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_listing_has_op_shape_bytes_keeps_inputs_and_leaves);
    RUN_TEST(a_listing_shows_what_a_node_keeps_and_what_was_released);
    RUN_TEST(columns_stay_aligned_with_long_names);
    RUN_TEST(values_that_an_op_saved_besides_its_inputs_are_marked);
    RUN_TEST(more_than_three_leaves_on_a_line_are_counted);
    RUN_TEST(a_view_is_listed_without_bytes);
    RUN_TEST(each_value_is_listed_with_only_its_own_leaves);
    RUN_TEST(leaves_beyond_the_limit_are_counted);
    RUN_TEST(an_empty_tape_lists_no_nodes);
    RUN_TEST(a_listing_releases_its_memory);
    RUN_TEST(a_graph_has_a_box_for_each_value_with_values_and_gradients);
    RUN_TEST(a_loss_without_a_gradient_is_reported_and_the_graph_written_without);
    RUN_TEST(a_graph_of_a_frozen_tape_has_gradients_at_variables_and_values_computed_from_them);
    RUN_TEST(large_values_are_summarized_and_a_nan_among_them_is_shown);
    RUN_TEST(quotes_and_backslashes_in_names_are_escaped);
    RUN_TEST(a_very_long_name_is_truncated);
    RUN_TEST(graphviz_accepts_the_graph);
    RUN_TEST(a_tape_of_100000_nodes_takes_as_long_to_show_as_100_of_1000);
    RUN_TEST(a_scope_is_a_column_of_the_listing_and_layers_open_one);
    RUN_TEST(the_nodes_of_a_recorded_sweep_have_the_scopes_of_their_nodes);
    RUN_TEST(scopes_must_match_and_a_reset_closes_them);
    RUN_TEST(a_paused_tape_keeps_no_scopes_and_long_names_are_cut);
    return UNITY_END();
}
