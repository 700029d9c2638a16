/* Two tapes as one ONNX graph. */
#include "core/export.h"

#include "core/random.h"
#include "core/tape_internal.h"

#include <stdlib.h>
#include <string.h>

/* A tracked value, by its id; or a constant that was written. 0: not yet. */
typedef struct cp_export_value {
    const cp_tensor *tensor;
    int              as_is, channels_first;
    bool             needed; /* for the outputs */
} value;

static int refuse(cp_export *e, const char *why_not) {
    e->why_not = why_not;
    return 0;
}

/* ---- what rules call ---- */

int cp_export_constant(cp_export *e, const cp_tensor *t) {
    if (!t || !t->data) return refuse(e, "a constant was released before the export");
    for (int i = 0; i < e->constant_count; i++)
        if (e->constants[i].tensor == t) return e->constants[i].as_is;
    value *grown = realloc(e->constants, ((size_t)e->constant_count + 1) * sizeof *grown);
    if (!grown) return refuse(e, "out of memory");
    e->constants = grown;
    grown[e->constant_count] = (value){.tensor = t, .as_is = cp_onnx_reals(e->graph, t->rank, t->dims, t->data)};
    return grown[e->constant_count++].as_is;
}

int cp_export_number(cp_export *e, cp_real number) { return cp_onnx_reals(e->graph, 0, NULL, &number); }

int cp_export_pair(cp_export *e, const char *type, int a, int b) { return cp_onnx_node(e->graph, type, 2, (int[]){a, b}, NULL); }

/* An input of an elementwise op that has a row for each input of the batch, all equal: one row, which is repeated. */
static int repeated_row(cp_export *e, const cp_tensor *t, const cp_tensor *other) {
    cp_shape one = t->shape;
    size_t   size = t->dims[0] ? t->size / (size_t)t->dims[0] : 0;
    bool     equal = e->node->op->onnx && !e->node->op->to_onnx && t->rank == other->rank && t->data;
    for (int i = 1; i < t->rank; i++) equal = equal && t->dims[i] == other->dims[i];
    for (size_t i = size; equal && i < t->size; i++) equal = t->data[i] == t->data[i - size];
    if (!equal) return refuse(e, "one of its inputs is a constant with a row for each input of the batch");
    one.dims[0] = 1;
    return cp_onnx_reals(e->graph, one.rank, one.dims, t->data);
}

int cp_export_transpose(cp_export *e, int from, int rank, const int *order) {
    cp_onnx_attr perm = {"perm", CP_ONNX_INTS, .count = rank};
    memcpy(perm.ints, order, (size_t)rank * sizeof *order);
    return cp_onnx_node(e->graph, "Transpose", 1, &from, (cp_onnx_attr[]){perm, {0}});
}

static int move_channels(cp_export *e, int from, int rank, bool first) {
    int order[CP_MAX_RANK] = {0};
    for (int i = 1; i < rank; i++) order[i] = first ? (i == 1 ? rank - 1 : i - 1) : i == rank - 1 ? 1 : i + 1;
    return rank < 3 ? from : cp_export_transpose(e, from, rank, order);
}

static int as_is(cp_export *e, const cp_tensor *t, int id) {
    value *v = &e->values[id];
    if (!v->as_is) v->as_is = move_channels(e, v->channels_first, t->rank, false);
    return v->as_is;
}

int cp_export_in(cp_export *e, int i) {
    const cp_tensor *t = e->node->in[i], *other = e->peer->node->in[i];
    int              id = e->node->ids[i];
    if (!t) return 0;
    if (id < 0) return cp_shape_same(t, other) ? cp_export_constant(e, t) : repeated_row(e, t, other);
    return as_is(e, t, id);
}

int cp_export_in_channels_first(cp_export *e, int i) {
    const cp_tensor *t = e->node->in[i];
    int              id = e->node->ids[i], constant = t && id < 0 ? cp_export_in(e, i) : 0;
    if (!t || id < 0) return constant ? move_channels(e, constant, t->rank, true) : 0;
    value *v = &e->values[id];
    if (!v->channels_first) v->channels_first = move_channels(e, v->as_is, t->rank, true);
    return v->channels_first;
}

int cp_export_leaky(cp_export *e, int from, double slope) {
    if (slope == 1) return from;
    return cp_onnx_node(e->graph, "LeakyRelu", 1, &from, (cp_onnx_attr[]){{"alpha", CP_ONNX_FLOAT, .number = slope}, {0}});
}

int cp_export_scale_shift(cp_export *e, int from, int scale, int shift, bool channels_first) {
    const int inputs[] = {scale, shift};
    for (int k = 0; k < 2; k++) {
        const cp_tensor *t = e->node->in[inputs[k]];
        cp_shape         shape = {channels_first ? e->node->in[0]->rank - 1 : 1, {t ? t->dims[0] : 0, 1, 1, 1}};
        int              value = t ? cp_export_constant(e, channels_first ? cp_view(e->at, (cp_tensor *)t, shape) : t) : 0;
        if (t) from = cp_export_pair(e, k ? "Add" : "Mul", from, value);
    }
    return from;
}

int cp_export_reshape(cp_export *e, int from, int rank, const int *dims) {
    int open = 0;
    for (int i = 0; i < rank; i++) open += dims[i] < 0;
    if (open > 1) return refuse(e, "two axes depend on the size of the batch");
    return cp_export_pair(e, "Reshape", from, cp_onnx_ints(e->graph, rank, dims));
}

void cp_export_out_dims(const cp_export *e, int *dims) {
    const cp_tensor *out = e->node->out, *other = e->peer->node->out;
    for (int i = 0; i < out->rank; i++) dims[i] = out->dims[i] == other->dims[i] ? out->dims[i] : -1;
}

/* ---- nodes ---- */

/* cp_op.onnx: operators one after the other, the first of the inputs; "*" adds the first input to those of its operator. */
static int by_names(cp_export *e) {
    int in[CP_OP_MAX + 1], n = e->node->inputs, first;
    for (int i = 0; i < n; i++) in[i] = cp_export_in(e, i);
    first = in[0];
    for (const char *name = e->node->op->onnx; *name; name += strspn(name, " ")) {
        char   type[24];
        bool   with_first = *name == '*';
        size_t length = strcspn(name, " ");
        snprintf(type, sizeof type, "%.*s", (int)length - with_first, name + with_first);
        if (with_first) in[n++] = first;
        in[0] = cp_onnx_node(e->graph, type, n, in, NULL);
        name += length;
        n = 1;
    }
    return in[0];
}

static bool put_node(cp_export *e) {
    const cp_node *node = e->node;
    e->channels_first = false;
    e->why_not = NULL;
    int    made = node->op->to_onnx ? node->op->to_onnx(e, node) : node->op->onnx ? by_names(e) : 0;
    value *v = &e->values[node->out->id];
    *(e->channels_first ? &v->channels_first : &v->as_is) = made;
    if (!made && !e->why_not) e->why_not = "it has no form in ONNX";
    return !e->why_not;
}

static bool same_since(const cp_bytes *a, const cp_bytes *b, size_t start) {
    return a->size == b->size && memcmp(a->data + start, b->data + start, a->size - start) == 0;
}

static bool fail_node(const cp_node *node, const char *why_not, cp_status *status) {
    return cp_fail(status, "cannot export the op %s: %s", node->op->name, why_not);
}

/* Node i of both tapes, if an output needs it. */
static bool put_nodes(cp_export *side, int i, cp_status *status) {
    const cp_node  *a = side[0].node = side[0].at.tape->nodes[i], *b = side[1].node = side[1].at.tape->nodes[i];
    const cp_bytes *written = &side[0].graph->graph;
    size_t          start = written->size;
    bool            same = a->op == b->op && a->inputs == b->inputs;
    for (int k = 0; same && k < a->inputs; k++) same = a->ids[k] == b->ids[k] && !a->in[k] == !b->in[k];
    if (!same) return fail_node(a, "other ops follow for another batch", status);
    if (!side[0].values[a->out->id].needed) return true;
    if (!put_node(&side[0])) return fail_node(a, side[0].why_not, status);
    if (!put_node(&side[1])) return fail_node(b, side[1].why_not, status);
    return written->failed || side[1].graph->graph.failed || same_since(written, &side[1].graph->graph, start) ||
           fail_node(a, "its constants depend on the batch", status);
}

/* ---- both tapes ---- */

static bool record(cp_export *e, const cp_export_plan *plan, int batch, cp_tensor **out, cp_status *status) {
    cp_rng     rng = cp_rng_named((uint64_t)batch, "export");
    cp_tensor *x = cp_tensor_new(cp_shape_rows(batch, plan->row));
    cp_real    lengths[4];
    bool       ok = x && (e->at = CP_AT(cp_tape_new())).tape;
    if (ok) {
        cp_rng_fill_normal(&rng, x->data, x->size, 0, 1);
        cp_tape_freeze(e->at.tape, true);
        cp_tensor *input = cp_variable(e->at, x->data, x->shape);
        for (int i = 0; i < batch && plan->lengths; i++) lengths[i] = (cp_real)(1 + i % plan->row.dims[0]);
        if (input && plan->lengths) input->length = cp_variable(e->at, lengths, CP_SHAPE(batch, 1));
        ok = input && plan->compute(e->at, plan->context, input, out);
    }
    cp_tensor_free(x);
    if (ok) e->values = calloc((size_t)e->at.tape->value_count, sizeof *e->values);
    return (ok && e->values) || cp_fail(status, "cannot compute the outputs for a batch of %d", batch);
}

static void mark_needed(cp_export *e, int outputs, cp_tensor *const *out) {
    for (int i = 0; i < outputs; i++) e->values[out[i]->id].needed = true;
    for (int i = e->at.tape->node_count - 1; i >= 0; i--) {
        const cp_node *node = e->at.tape->nodes[i];
        for (int k = 0; k < node->inputs && e->values[node->out->id].needed; k++)
            if (node->ids[k] >= 0) e->values[node->ids[k]].needed = true;
    }
}

static void put_input(cp_export *e, const cp_export_plan *plan) {
    int dims[CP_MAX_RANK + 1] = {-1};
    memcpy(dims + 1, plan->row.dims, sizeof plan->row.dims);
    e->values[0].as_is = cp_onnx_input(e->graph, plan->input, plan->dtype, plan->row.rank + 1, dims);
    int length = plan->lengths ? cp_onnx_input(e->graph, plan->lengths, CP_I64, 1, dims) : 0;
    if (length) e->values[1].as_is = cp_export_reshape(e, cp_onnx_cast(e->graph, length, CP_F32), 2, (int[]){-1, 1});
    if (plan->dtype != CP_F32) e->values[0].as_is = cp_onnx_cast(e->graph, e->values[0].as_is, CP_F32);
}

static bool put_all(cp_export *side, const cp_export_plan *plan, cp_tensor *const *out, cp_status *status) {
    int count = side[0].at.tape->node_count;
    if (count != side[1].at.tape->node_count) return cp_fail(status, "another number of ops follows for another batch");
    for (int i = 0; i < plan->outputs; i++)
        if (out[i]->id < 0) return cp_fail(status, "the output %s does not depend on the input", plan->names[i]);
    mark_needed(&side[0], plan->outputs, out);
    put_input(&side[0], plan);
    put_input(&side[1], plan);
    for (int i = 0; i < count; i++)
        if (!put_nodes(side, i, status)) return false;
    for (int i = 0; i < plan->outputs; i++) {
        cp_shape shape = out[i]->shape;
        if (shape.dims[0] != 2) return cp_fail(status, "the output %s has no row for each input", plan->names[i]);
        shape.dims[0] = -1;
        cp_onnx_output(side[0].graph, plan->names[i], as_is(&side[0], out[i], out[i]->id), shape.rank, shape.dims);
    }
    return true;
}

bool cp_export_onnx(cp_onnx *graph, const cp_export_plan *plan, cp_status *status) {
    cp_onnx    second = {0};
    cp_export  side[2] = {{.graph = graph, .peer = &side[1]}, {.graph = &second, .peer = &side[0]}};
    cp_tensor *out[CP_EXPORT_OUTPUTS], *unused[CP_EXPORT_OUTPUTS];
    bool       ok =
        record(&side[0], plan, 2, out, status) && record(&side[1], plan, 3, unused, status) && put_all(side, plan, out, status);
    for (int i = 0; i < 2; i++) {
        cp_tape_free(side[i].at.tape);
        free(side[i].values);
        free(side[i].constants);
    }
    cp_onnx_free(&second);
    return ok;
}
