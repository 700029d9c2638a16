/* ONNX files of models, read back by a small reader of protobuf: fields have valid kinds and lengths, every value is defined once
 * and before its use, and constants have as many bytes as their shapes say. tests/models/test_export_onnx.js runs them. */
#include "core/export.h"
#include "couplet.h"

#include "tests/support/errors.h"
#include "tests/support/setup_files.h"

/* ---- reading protobuf ---- */

typedef struct message {
    const unsigned char *at, *end;
} message;

typedef struct field {
    int      number, kind;
    uint64_t value;
    message  inside; /* of kind 2 */
} field;

static uint64_t read_varint(message *m) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        TEST_ASSERT_TRUE(m->at < m->end && shift < 64);
        value |= (uint64_t)(*m->at & 127) << shift;
        if (!(*m->at++ & 128)) return value;
    }
}

/* false at the end, which must be exactly there. */
static bool next(message *m, field *f) {
    if (m->at == m->end) return false;
    uint64_t tag = read_varint(m);
    *f = (field){.number = (int)(tag >> 3), .kind = (int)(tag & 7)};
    TEST_ASSERT_TRUE_MESSAGE(f->kind == 0 || f->kind == 2 || f->kind == 5, "an unknown kind of field");
    if (f->kind == 0) f->value = read_varint(m);
    size_t size = f->kind == 2 ? (size_t)read_varint(m) : f->kind == 5 ? 4 : 0;
    TEST_ASSERT_TRUE_MESSAGE(size <= (size_t)(m->end - m->at), "a field is longer than its message");
    f->inside = (message){m->at, m->at + size};
    m->at += size;
    return true;
}

/* ---- the graph ---- */

enum { VALUES_MAX = 4000 };

typedef struct graph {
    char     names[VALUES_MAX][16];
    int      count, inputs, outputs;
    uint64_t real_bytes;
    int      found[11]; /* operators, in the order of `operators` */
} graph;

static const char *const operators[] = {
    "Conv", "Transpose", "InstanceNormalization", "MatMul", "Slice", "Concat", "Softmax", "Cast", "Clip", "Sub", "Div"};
enum { CONV, TRANSPOSE, INSTANCE, MATMUL, SLICE, CONCAT, SOFTMAX, CAST, CLIP, SUB, DIV };

static graph g;

static const char *text_of(message m) {
    static char text[4][64];
    static int  turn;
    char       *to = text[turn++ % 4];
    TEST_ASSERT_LESS_THAN(sizeof *text, m.end - m.at);
    memcpy(to, m.at, (size_t)(m.end - m.at));
    to[m.end - m.at] = 0;
    return to;
}

static bool is_defined(const char *name) {
    for (int i = 0; i < g.count; i++)
        if (strcmp(g.names[i], name) == 0) return true;
    return false;
}

static void define(const char *name) {
    TEST_ASSERT_FALSE_MESSAGE(is_defined(name), name);
    TEST_ASSERT_LESS_THAN(VALUES_MAX, g.count);
    TEST_ASSERT_TRUE(*name && strlen(name) < sizeof *g.names);
    strcpy(g.names[g.count++], name);
}

static void read_node(message m) {
    const char *made = NULL;
    int         type = 0;
    for (field f; next(&m, &f);) {
        const char *name = f.kind == 2 && f.number == 1 ? text_of(f.inside) : "";
        TEST_ASSERT_TRUE_MESSAGE(!*name || is_defined(name), name); /* an optional input has no name */
        if (f.number == 2) define(made = text_of(f.inside));
        if (f.number != 4) continue;
        type++;
        for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
            g.found[i] += strcmp(text_of(f.inside), operators[i]) == 0;
    }
    TEST_ASSERT_TRUE(made && type == 1);
}

static void read_constant(message m) {
    uint64_t size = 0, count = 1;
    for (field f; next(&m, &f);) {
        if (f.number == 1) count *= f.value;
        if (f.number == 2) size = f.value == 1 ? 4 : f.value == 7 ? 8 : 0;
        if (f.number == 8) define(text_of(f.inside));
        if (f.number == 9) TEST_ASSERT_EQUAL_UINT64(count * size, f.inside.end - f.inside.at);
    }
    TEST_ASSERT_TRUE(size && count);
    if (size == 4 && count > 1) g.real_bytes += 4 * count;
}

/* The type and shape of an input or output as text: "x 1 (N, 28, 28, 3)". */
static const char *about(message m) {
    static char text[200];
    field       name, type, tensor, f;
    TEST_ASSERT_TRUE(next(&m, &name) && next(&m, &type) && next(&type.inside, &tensor));
    int used = sprintf(text, "%s", text_of(name.inside));
    while (next(&tensor.inside, &f)) {
        if (f.number == 1) used += sprintf(text + used, " %d", (int)f.value);
        if (f.number != 2) continue;
        for (field axis, dim; next(&f.inside, &axis);) {
            TEST_ASSERT_TRUE(next(&axis.inside, &dim));
            used +=
                dim.number == 1 ? sprintf(text + used, " %d", (int)dim.value) : sprintf(text + used, " %s", text_of(dim.inside));
        }
    }
    return text;
}

static void read_graph(message m, const char *input, const char *const *outputs) {
    for (field f; next(&m, &f);) {
        if (f.number == 1) read_node(f.inside);
        if (f.number == 5) read_constant(f.inside);
        if (f.number == 11) {
            TEST_ASSERT_EQUAL_STRING(input, about(f.inside));
            define("x");
            g.inputs++;
        }
        if (f.number == 12) {
            TEST_ASSERT_NOT_NULL(outputs[g.outputs]);
            TEST_ASSERT_EQUAL_STRING(outputs[g.outputs++], about(f.inside));
        }
    }
    TEST_ASSERT_EQUAL_INT(1, g.inputs);
    TEST_ASSERT_NULL(outputs[g.outputs]);
    TEST_ASSERT_TRUE(is_defined("posterior"));
}

/* Reads the file into g. */
static void read_file(const char *name, const char *input, const char *const *outputs) {
    cp_bytes bytes;
    int      graphs = 0;
    TEST_ASSERT_TRUE(cp_file_read(scratch(name), SIZE_MAX, &bytes, &status));
    message m = {bytes.data, bytes.data + bytes.size};
    g = (graph){0};
    for (field f; next(&m, &f);) {
        if (f.number == 1) TEST_ASSERT_EQUAL_UINT64(7, f.value);
        if (f.number != 7) continue;
        read_graph(f.inside, input, outputs);
        graphs++;
    }
    TEST_ASSERT_EQUAL_INT(1, graphs);
    cp_bytes_free(&bytes);
}

static void export(const char *net, const char *head, cp_shape row, const char *input, const char *const *outputs) {
    cp_model_config config = {.head = head, .classes = 5};
    cp_rng          rng = cp_rng_named(1, "export");
    TEST_ASSERT_TRUE_MESSAGE(cp_model_config_net(&config, net, row, "net", &status), status.message);
    cp_model        *model = cp_model_new(config, &rng);
    cp_preprocessing given = {.shape = row};
    TEST_ASSERT_TRUE_MESSAGE(cp_model_export_onnx(model, &given, false, scratch("m.onnx"), &status), status.message);
    read_file("m.onnx", input, outputs);
    cp_model_free(model);
}

static const char *const posterior[] = {"posterior 1 N 5", NULL};
static const char *const energies[] = {"posterior 1 N 5", "energy 1 N", "density 1 N", NULL};

static void a_wide_resnet_transposes_only_at_its_ends(void) {
    export("wrn", "softmax", CP_SHAPE(28, 28, 3), "x 1 N 28 28 3", posterior);
    TEST_ASSERT_EQUAL_INT(9, g.found[CONV]);
    TEST_ASSERT_EQUAL_INT(2, g.found[TRANSPOSE]);
    TEST_ASSERT_EQUAL_INT(1, g.found[SOFTMAX]);
    export("wrn:norm=batch", "hybrid", CP_SHAPE(9, 12, 1), "x 1 N 9 12 1", energies);
    TEST_ASSERT_EQUAL_INT(2, g.found[TRANSPOSE]);
    export("wrn:norm=group", "jem", CP_SHAPE(8, 8, 1), "x 1 N 8 8 1", energies);
    TEST_ASSERT_EQUAL_INT(7, g.found[INSTANCE]);
    TEST_ASSERT_EQUAL_INT(2, g.found[TRANSPOSE]);
    export("wrn:norm=layer", "jem", CP_SHAPE(8, 8, 1), "x 1 N 8 8 1", energies);
    TEST_ASSERT_EQUAL_INT(7, g.found[INSTANCE]);
}

static void a_perceptron_takes_rows_of_any_shape(void) {
    export("mlp:sizes=16/8", "hybrid", CP_SHAPE(6), "x 1 N 6", energies);
    TEST_ASSERT_EQUAL_INT(3, g.found[MATMUL]);
    export("mlp:sizes=16", "softmax", CP_SHAPE(2, 3), "x 1 N 2 3", posterior);
}

static void an_lstm_has_its_weights_once(void) {
    export("lstm:hidden=4", "softmax", CP_SHAPE(3, 2), "x 1 N 3 2", posterior);
    uint64_t real_bytes = g.real_bytes;
    TEST_ASSERT_EQUAL_INT(0, g.found[CONCAT]); /* the list of all states is not needed */
    export("lstm:hidden=4", "softmax", CP_SHAPE(30, 2), "x 1 N 30 2", posterior);
    TEST_ASSERT_EQUAL_UINT64(real_bytes, g.real_bytes);
    export("lstm:hidden=4,layers=2,bidirectional=true", "jem", CP_SHAPE(5, 2), "x 1 N 5 2", energies);
    TEST_ASSERT_EQUAL_INT(4, g.found[CONCAT]);
}

/* ---- what cannot be exported ---- */

typedef cp_tensor *one_output(cp_at at, cp_tensor *x);

static bool compute_one(cp_at at, void *context, cp_tensor *x, cp_tensor **out) {
    return (out[0] = (*(one_output **)context)(at, x));
}

static bool try_one(one_output *compute, cp_shape row) {
    cp_onnx        graph = {0};
    cp_export_plan plan = {
        .compute = compute_one, .context = &compute, .input = "x", .dtype = CP_F32, .row = row, .outputs = 1, .names = {"y"}};
    bool ok = cp_export_onnx(&graph, &plan, &status);
    cp_onnx_free(&graph);
    return ok;
}

static void refuse(one_output *compute, const char *part) {
    TEST_ASSERT_FALSE(try_one(compute, CP_SHAPE(3)));
    says(&status, part);
}

static cp_tensor *logarithm(cp_at at, cp_tensor *x) { return cp_log1p(at, x); }
static cp_tensor *above(cp_at at, cp_tensor *x) { return cp_mul(at, x, cp_greater(at, x, cp_scalar(at, 0))); }
static cp_tensor *detached(cp_at at, cp_tensor *x) { return cp_add(at, x, cp_detach(at, x)); }
static cp_tensor *batch_mean(cp_at at, cp_tensor *x) { return cp_sub(at, x, cp_mean(at, x, CP_AXES(0), true)); }
static cp_tensor *only_mean(cp_at at, cp_tensor *x) { return cp_sum(at, x, CP_AXES(0), false); }
static cp_tensor *constant(cp_at at, cp_tensor *x) { return cp_full(at, 1, x->shape); }
static cp_tensor *column(cp_at at, cp_tensor *x) {
    return cp_concat(at, (cp_tensor *[]){x, cp_full(at, 1, CP_SHAPE(x->dims[0], 1))}, 2, 1);
}
static cp_tensor *by_rows(cp_at at, cp_tensor *x) { return x->dims[0] == 2 ? cp_neg(at, x) : cp_abs(at, x); }
static cp_tensor *more_by_rows(cp_at at, cp_tensor *x) { return cp_neg(at, x->dims[0] == 2 ? x : cp_neg(at, x)); }
static cp_tensor *nothing(cp_at at, cp_tensor *x) { return cp_matmul(at, x, x, 0); }
static cp_tensor *repeated(cp_at at, cp_tensor *x) { return cp_mul(at, x, cp_full(at, 2, x->shape)); }
static cp_tensor *row_numbers(cp_at at, cp_tensor *x) {
    cp_tensor *t = cp_full(at, 0, x->shape);
    for (size_t i = 0; i < t->size; i++) t->data[i] = (cp_real)i;
    return cp_mul(at, x, t);
}

static cp_tensor *waves(cp_at at, cp_tensor *x) { return cp_gelu_tanh(at, cp_gelu(at, cp_add(at, cp_sin(at, x), cp_cos(at, x)))); }
static cp_tensor *turned(cp_at at, cp_tensor *x) { return cp_cumsum(at, cp_flip(at, x, CP_AXES(1)), 2); }
static cp_tensor *mirrored(cp_at at, cp_tensor *x) { return cp_pad_reflect(at, x, (int[]){0, 2, 0, 0}, (int[]){0, 1, 2, 0}); }
static cp_tensor *enlarged(cp_at at, cp_tensor *x) { return cp_upsample_nearest(at, cp_upsample_bilinear(at, x, 2, 1), 1, 3); }
static cp_tensor *transposed(cp_at at, cp_tensor *x) {
    cp_tensor *w = cp_full(at, (cp_real)0.5, CP_SHAPE(3, 3, 2, 4));
    return cp_conv_transpose(at, x, w, cp_full(at, 1, CP_SHAPE(2)), (cp_conv2d_config){CP_STRIDE(2), CP_PAD(1)}, 1);
}
static cp_attention attention;
static cp_tensor   *attended(cp_at at, cp_tensor *x) {
      return cp_attention_forward(at, &attention, cp_reshape(at, x, CP_SHAPE(-1, 12, 4)), NULL);
}

static void ops_for_images_and_sequences_are_exported(void) {
    one_output *const all[] = {waves, turned, mirrored, enlarged, transposed, attended};
    cp_rng            rng = cp_rng_named(1, "init");
    cp_params        *params = cp_params_new();
    attention = cp_attention_make(params, "", (cp_attention_config){.size = 4, .heads = 2}, &rng);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        TEST_ASSERT_TRUE_MESSAGE(try_one(all[i], CP_SHAPE(3, 4, 4)), status.message);
    cp_params_free(params);
}

static void what_depends_on_the_batch_or_hides_the_input_is_refused(void) {
    refuse(logarithm, "cannot export the op log1p: it has no form in ONNX");
    refuse(above, "the op mul: one of its inputs is a constant with a row");
    refuse(detached, "a constant with a row");
    refuse(batch_mean, "the op affine: its constants depend on the batch");
    refuse(only_mean, "the output y has no row for each input");
    refuse(constant, "the output y does not depend on the input");
    refuse(column, "the op concat: one of its inputs");
    refuse(row_numbers, "a constant with a row");
    refuse(by_rows, "other ops follow");
    refuse(more_by_rows, "another number of ops");
    TEST_ASSERT_TRUE_MESSAGE(try_one(repeated, CP_SHAPE(3)), status.message);
    TEST_ASSERT_TRUE_MESSAGE(try_one(waves, CP_SCALAR), status.message);
    errors_catch();
    refuse(nothing, "cannot compute the outputs for a batch of 2");
    expect_error("cannot multiply");
    errors_release();
}

static void what_a_model_knows_of_its_inputs_is_in_its_file(void) {
    static const char *const names[] = {"cat", "dog"};
    cp_rng                   rng = cp_rng_named(1, "export");
    cp_model                *model = cp_model_new((cp_model_config){.classes = 2, .wrn = {.channels = 3}}, &rng);
    cp_preprocessing         input = {0};
    cp_bytes                 bytes;
    cp_about about = {.input = {CP_F32, 0, 1, CP_SHAPE(9, 8, 3)}, .class_names = names, .temperature = 1.5, .data = "pets"};
    TEST_ASSERT_TRUE_MESSAGE(cp_model_about_set(model, &about, &status), status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_model_export_onnx(model, &input, false, scratch("m.onnx"), &status), status.message);
    read_file("m.onnx", "x 1 N 9 8 3", (const char *[]){"posterior 1 N 2", NULL});
    TEST_ASSERT_EQUAL_INT(1, g.found[CLIP]);
    TEST_ASSERT_EQUAL_INT(0, g.found[CAST]);
    TEST_ASSERT_EQUAL_DOUBLE(1, input.high);
    TEST_ASSERT_TRUE(cp_file_read(scratch("m.onnx"), SIZE_MAX, &bytes, &status));
    char *text = calloc(bytes.size + 1, 1);
    for (size_t i = 0; i < bytes.size; i++) text[i] = bytes.data[i] ? (char)bytes.data[i] : ' ';
    TEST_ASSERT_NOT_NULL(strstr(text, "\"classes\":[\"cat\",\"dog\"]"));
    free(text);
    cp_bytes_free(&bytes);
    about.input = (cp_preprocessing){.dtype = CP_U8, .high = 255, .shape = CP_SHAPE(8, 8, 3)};
    input = (cp_preprocessing){0};
    TEST_ASSERT_TRUE_MESSAGE(cp_model_about_set(model, &about, &status), status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_model_export_onnx(model, &input, false, scratch("m.onnx"), &status), status.message);
    read_file("m.onnx", "x 2 N 8 8 3", (const char *[]){"posterior 1 N 2", NULL});
    TEST_ASSERT_EQUAL_INT(0, g.found[CLIP]);
    TEST_ASSERT_EQUAL_INT(1, g.found[CAST]);
    about.input.high = 100; /* bytes may lie beyond it */
    input = (cp_preprocessing){0};
    TEST_ASSERT_TRUE_MESSAGE(cp_model_about_set(model, &about, &status), status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_model_export_onnx(model, &input, false, scratch("m.onnx"), &status), status.message);
    read_file("m.onnx", "x 2 N 8 8 3", (const char *[]){"posterior 1 N 2", NULL});
    TEST_ASSERT_EQUAL_INT(1, g.found[CLIP]);
    cp_model_free(model);
}

static void features_are_standardized_in_the_file(void) {
    cp_rng           rng = cp_rng_named(1, "export");
    cp_model        *model = cp_model_new((cp_model_config){.model = "mlp", .classes = 2, .mlp = {.sizes = {3, 4}}}, &rng);
    cp_preprocessing input = {0};
    cp_about about = {.input = {.dtype = CP_I64, .shape = CP_SHAPE(3), .mean = (double[]){1, 2, 3}, .sd = (double[]){4, 5, 6}}};
    TEST_ASSERT_TRUE_MESSAGE(cp_model_about_set(model, &about, &status), status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_model_export_onnx(model, &input, false, scratch("m.onnx"), &status), status.message);
    read_file("m.onnx", "x 7 N 3", (const char *[]){"posterior 1 N 2", NULL});
    TEST_ASSERT_EQUAL_INT(1, g.found[CAST]);
    TEST_ASSERT_EQUAL_INT(1, g.found[SUB]);
    TEST_ASSERT_EQUAL_INT(1, g.found[DIV]);
    cp_model_free(model);
}

static void inputs_that_the_model_does_not_take_are_refused(void) {
    cp_rng           rng = cp_rng_named(1, "export");
    cp_model        *model = cp_model_new((cp_model_config){.classes = 2, .wrn = {.channels = 3}}, &rng);
    cp_preprocessing input = {.shape = CP_SHAPE(28, 28, 1)};
    TEST_ASSERT_FALSE(cp_model_export_onnx(model, &input, false, scratch("m.onnx"), &status));
    says(&status, "(28, 28, 1)");
    input.shape = CP_SCALAR;
    TEST_ASSERT_FALSE(cp_model_export_onnx(model, &input, false, scratch("m.onnx"), &status));
    says(&status, "the shape of an input is needed");
    input.shape = CP_SHAPE(28, 28, 3), status = (cp_status){0};
    TEST_ASSERT_FALSE(cp_model_export_onnx(model, &input, true, scratch("m.onnx"), &status));
    says(&status, "lengths are for sequences (T, D); an input has shape (28, 28, 3)");
    TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
    cp_model_free(model);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_wide_resnet_transposes_only_at_its_ends);
    RUN_TEST(a_perceptron_takes_rows_of_any_shape);
    RUN_TEST(an_lstm_has_its_weights_once);
    RUN_TEST(ops_for_images_and_sequences_are_exported);
    RUN_TEST(what_depends_on_the_batch_or_hides_the_input_is_refused);
    RUN_TEST(what_a_model_knows_of_its_inputs_is_in_its_file);
    RUN_TEST(features_are_standardized_in_the_file);
    RUN_TEST(inputs_that_the_model_does_not_take_are_refused);
    return UNITY_END();
}
