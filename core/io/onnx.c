/* ONNX. A protobuf message is a sequence of fields. Each begins with a number for the field and its kind, followed by a whole number, four
 * bytes, or a length and that many bytes. The field numbers are those of onnx.proto. */
#include "core/io/onnx.h"

#include "core/io/file.h"
#include "couplet_config.h"

#include <stdio.h>
#include <string.h>

/* ---- protobuf ---- */

enum { VARINT = 0, LENGTH = 2, FOUR_BYTES = 5 };

static void put_varint(cp_bytes *out, uint64_t value) {
    do {
        unsigned char byte = (unsigned char)(value & 127) | (value > 127 ? 128 : 0);
        cp_bytes_append(out, &byte, 1);
    } while (value >>= 7);
}

static void put_integer(cp_bytes *out, int field, int64_t value) {
    put_varint(out, (unsigned)field << 3 | VARINT);
    put_varint(out, (uint64_t)value);
}

static void put_bytes(cp_bytes *out, int field, const void *data, size_t size) {
    put_varint(out, (unsigned)field << 3 | LENGTH);
    put_varint(out, size);
    cp_bytes_append(out, data, size);
}

static void put_text(cp_bytes *out, int field, const char *text) { put_bytes(out, field, text, strlen(text)); }

/* Appends a message inside another, and frees it. */
static void put_message(cp_bytes *out, int field, cp_bytes *message) {
    put_bytes(out, field, message->data, message->size);
    out->failed |= message->failed;
    cp_bytes_free(message);
}

static void append_real(cp_bytes *out, double value) {
    float         number = (float)value;
    uint32_t      bits;
    unsigned char bytes[4];
    memcpy(&bits, &number, sizeof bits);
    cp_put_le32(bytes, bits);
    cp_bytes_append(out, bytes, sizeof bytes);
}

/* ---- the graph ---- */

enum { GRAPH_NODE = 1, GRAPH_NAME, GRAPH_CONSTANT = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT };

static const int types[CP_DTYPES] = {
    [CP_F32] = 1,  [CP_U8] = 2,   [CP_I8] = 3,   [CP_U16] = 4,  [CP_I16] = 5,  [CP_I32] = 6,  [CP_I64] = 7,
    [CP_BOOL] = 9, [CP_F16] = 10, [CP_F64] = 11, [CP_U32] = 12, [CP_U64] = 13, [CP_BF16] = 16};

void cp_onnx_free(cp_onnx *g) {
    cp_bytes_free(&g->graph);
    cp_bytes_free(&g->metadata);
    *g = (cp_onnx){0};
}

static void put_value(const cp_onnx *g, cp_bytes *out, int field, int value) {
    char name[16] = "";
    if (value) snprintf(name, sizeof name, "%d", value);
    put_text(out, field, value && value <= g->input_count ? g->inputs[value - 1] : name);
}

/* The name, type and shape of an input or output. */
static void put_about(cp_onnx *g, int field, const char *name, cp_dtype dtype, int rank, const int *dims) {
    cp_bytes about = {0}, type = {0}, tensor = {0}, shape = {0};
    for (int i = 0; i < rank; i++) {
        cp_bytes dim = {0};
        if (dims[i] < 0)
            put_text(&dim, 2, "N");
        else
            put_integer(&dim, 1, dims[i]);
        put_message(&shape, 1, &dim);
    }
    put_integer(&tensor, 1, types[dtype]);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&about, 1, name);
    put_message(&about, 2, &type);
    put_message(&g->graph, field, &about);
}

int cp_onnx_input(cp_onnx *g, const char *name, cp_dtype dtype, int rank, const int *dims) {
    if (!g->input_count) put_text(&g->graph, GRAPH_NAME, "couplet");
    g->inputs[g->input_count++] = name;
    put_about(g, GRAPH_INPUT, name, dtype, rank, dims);
    return ++g->values;
}

static int put_constant(cp_onnx *g, int rank, const int *dims, cp_dtype dtype, cp_bytes *elements) {
    cp_bytes tensor = {0};
    for (int i = 0; i < rank; i++) put_integer(&tensor, 1, dims[i]);
    put_integer(&tensor, 2, types[dtype]);
    put_value(g, &tensor, 8, ++g->values);
    put_message(&tensor, 9, elements);
    put_message(&g->graph, GRAPH_CONSTANT, &tensor);
    return g->values;
}

int cp_onnx_reals(cp_onnx *g, int rank, const int *dims, const cp_real *values) {
    cp_bytes elements = {0};
    size_t   count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    for (size_t i = 0; i < count; i++) append_real(&elements, (double)values[i]);
    return put_constant(g, rank, dims, CP_F32, &elements);
}

int cp_onnx_ints(cp_onnx *g, int count, const int *values) {
    cp_bytes elements = {0};
    for (int i = 0; i < count; i++) {
        unsigned char bytes[8];
        cp_put_le64(bytes, (uint64_t)(int64_t)values[i]);
        cp_bytes_append(&elements, bytes, sizeof bytes);
    }
    return put_constant(g, 1, &count, CP_I64, &elements);
}

static void put_attr(cp_bytes *node, const cp_onnx_attr *a) {
    cp_bytes attr = {0};
    put_text(&attr, 1, a->name);
    if (a->kind == CP_ONNX_FLOAT) {
        put_varint(&attr, 2 << 3 | FOUR_BYTES);
        append_real(&attr, a->number);
    }
    if (a->kind == CP_ONNX_INT) put_integer(&attr, 3, a->ints[0]);
    for (int i = 0; i < a->count; i++) put_integer(&attr, 8, a->ints[i]);
    put_integer(&attr, 20, a->kind);
    put_message(node, 5, &attr);
}

int cp_onnx_node(cp_onnx *g, const char *type, int n, const int *in, const cp_onnx_attr *attrs) {
    cp_bytes node = {0};
    for (int i = 0; i < n; i++) put_value(g, &node, 1, in[i]);
    put_value(g, &node, 2, ++g->values);
    put_value(g, &node, 3, g->values); /* the node's name: ONNX Runtime confuses nodes without one */
    put_text(&node, 4, type);
    for (; attrs && attrs->name; attrs++) put_attr(&node, attrs);
    put_message(&g->graph, GRAPH_NODE, &node);
    return g->values;
}

int cp_onnx_cast(cp_onnx *g, int value, cp_dtype dtype) {
    return cp_onnx_node(g, "Cast", 1, &value, (cp_onnx_attr[]){{"to", CP_ONNX_INT, .ints = {types[dtype]}}, {0}});
}

void cp_onnx_output(cp_onnx *g, const char *name, int value, int rank, const int *dims) {
    cp_bytes node = {0};
    put_value(g, &node, 1, value);
    put_text(&node, 2, name);
    put_text(&node, 4, "Identity");
    put_message(&g->graph, GRAPH_NODE, &node);
    put_about(g, GRAPH_OUTPUT, name, CP_F32, rank, dims);
}

/* ---- the file ---- */

void cp_onnx_metadata(cp_onnx *g, const char *key, const char *value) {
    cp_bytes entry = {0};
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(&g->metadata, 14, &entry);
}

bool cp_onnx_save(const cp_onnx *g, const char *path, cp_status *status) {
    cp_bytes head = {0}, opset = {0};
    put_integer(&head, 1, 7); /* the version of the format that came with the opset */
    put_text(&head, 2, "couplet");
    put_text(&head, 3, CP_VERSION);
    put_text(&opset, 1, "");
    put_integer(&opset, 2, CP_ONNX_OPSET);
    put_message(&head, 8, &opset);
    put_varint(&head, 7 << 3 | LENGTH);
    put_varint(&head, g->graph.size);
    cp_file_writer *file = NULL;
    if (head.failed || g->graph.failed || g->metadata.failed)
        cp_fail(status, "%.200s: not enough memory for the graph", path);
    else if (g->graph.size + g->metadata.size > INT32_MAX - head.size)
        cp_fail(status, "%.200s: the model has %zu bytes; an ONNX file can have 2 GiB", path, g->graph.size);
    else
        file = cp_file_writer_new(path, status);
    const cp_bytes *parts[] = {&head, &g->graph, &g->metadata};
    for (int i = 0; file && i < 3; i++) cp_file_writer_append(file, parts[i]->data, parts[i]->size);
    cp_bytes_free(&head);
    return file && cp_file_writer_commit(file, status);
}
