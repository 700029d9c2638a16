/* Reductions over sets of axes, and the softmax family. */
#include "core/kernels/reduce.h"
#include "core/export.h"
#include "core/io/json.h"
#include "core/kernels/kernels.h"
#include "core/threads.h"
#include "ops/ops.h"

#include <string.h>
#include <tgmath.h>

typedef struct reduction {
    bool     flags[CP_MAX_RANK];
    cp_shape kept;  /* with reduced axes at size 1, so that it broadcasts against what was reduced */
    cp_shape shape; /* of the result */
    cp_axes  axes;
} reduction;

static bool reduction_plan(cp_at at, const char *op, cp_tensor *a, cp_axes axes, bool keepdim, reduction *r) {
    if (!cp_check(at, op, 1, &a) || !cp_axes_flags(at, op, axes, a, r->flags)) return false;
    r->axes = axes;
    r->kept = a->shape;
    r->shape = CP_SCALAR;
    for (int i = 0; i < a->rank; i++) {
        if (r->flags[i]) r->kept.dims[i] = 1;
        if (keepdim || !r->flags[i]) r->shape.dims[r->shape.rank++] = r->kept.dims[i];
    }
    return true;
}

static size_t product(const int *dims, int from, int to) {
    size_t p = 1;
    for (int i = from; i < to; i++) p *= (size_t)dims[i];
    return p;
}

/* Reduces each run of neighboring axes, from the last to the first: (outer, count, inner) -> (outer, inner). */
static cp_tensor *reduce(cp_at at, const reduction *r, const cp_tensor *a, bool maximum) {
    cp_tensor *out = cp_out(at, r->shape);
    cp_arena  *arena = cp_scratch(at);
    cp_real   *from = a->data;
    bool       ok = out, first = true;
    int        dims[CP_MAX_RANK];
    memcpy(dims, a->dims, sizeof dims);
    for (int end = a->rank; end > 0 && ok; end--) {
        int begin = end;
        while (begin > 0 && r->flags[begin - 1]) begin--;
        if (begin == end) continue;
        size_t outer = product(dims, 0, begin), count = product(dims, begin, end), inner = product(dims, end, a->rank);
        bool   last = true;
        for (int i = 0; i < begin; i++) last &= !r->flags[i];
        cp_real *to = last ? out->data : cp_arena_alloc(arena, outer * inner * sizeof *to);
        if (!to)
            ok = false;
        else if (maximum)
            cp_kernel_max(outer, count, inner, from, to);
        else
            ok = cp_kernel_sum(arena, outer, count, inner, from, to);
        if (!first) cp_arena_release(arena, from);
        from = to;
        first = false;
        for (int i = begin; i < end; i++) dims[i] = 1;
        end = begin + 1; /* the loop continues at begin */
    }
    if (ok && first && a->size) memcpy(out->data, a->data, a->size * sizeof *from); /* a scalar: nothing to reduce */
    return ok ? out : NULL;
}

/* In the 13th opset the axes are an input of ReduceSum, and an attribute of the others. */
static int reduce_to_onnx(cp_export *e, const cp_node *node) {
    const reduction *r = node->attr;
    const char      *type = node->op->onnx;
    bool             as_input = strcmp(type, "ReduceSum") == 0;
    cp_onnx_attr     keep = {"keepdims", CP_ONNX_INT, .ints = {node->out->rank == node->in[0]->rank}};
    cp_onnx_attr     axes = {as_input ? NULL : "axes", .kind = CP_ONNX_INTS};
    for (int i = 0; i < node->in[0]->rank; i++)
        if (r->flags[i]) axes.ints[axes.count++] = i;
    int in[] = {cp_export_in(e, 0), as_input ? cp_onnx_ints(e->graph, axes.count, axes.ints) : 0};
    return cp_onnx_node(e->graph, type, as_input ? 2 : 1, in, (cp_onnx_attr[]){keep, axes, {0}});
}

static void axes_put(cp_json_writer *w, const cp_node *node) {
    cp_json_put_array(w, "axes");
    for (int i = 0; i < node->in[0]->rank; i++)
        if (((const reduction *)node->attr)->flags[i]) cp_json_put_integer(w, NULL, i);
    cp_json_put_end(w);
}

/* ---- sum and mean ---- */

static void sum_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_broadcast_to(at, cp_reshape(at, g, ((const reduction *)node->attr)->kept), node->in[0]->shape);
}

CP_OP(sum, .attributes = axes_put, .onnx = "ReduceSum", .to_onnx = reduce_to_onnx, .formula = "sum over axes",
      .rule = "g, repeated", .words = "Every summand gets the incoming gradient of its sum.");
const cp_op cp_op_mean = {.name = "mean", .formula = "sum over axes / count"};

cp_tensor *(cp_sum)(cp_at at, cp_tensor *a, cp_axes axes, bool keepdim) {
    reduction r;
    if (!reduction_plan(at, "sum", a, axes, keepdim, &r)) return NULL;
    return cp_record_with(at, &cp_op_sum, reduce(at, &r, a, false), &r, sizeof r, 1, &a);
}

/* reduction_plan for a reduction that nothing has no value of, as mean and max; the sum of nothing is 0, its logsumexp -infinity. */
static bool values_plan(cp_at at, const char *op, cp_tensor *a, cp_axes axes, bool keepdim, reduction *r) {
    if (!reduction_plan(at, op, a, axes, keepdim, r)) return false;
    for (int i = 0; i < a->rank; i++)
        if (r->flags[i] && a->dims[i] == 0)
            return cp_misuse(at, op, "shape %s has no values along axis %d (was nothing selected?)", cp_shape_text(a).s, i);
    return true;
}

cp_tensor *(cp_mean)(cp_at at, cp_tensor *a, cp_axes axes, bool keepdim) {
    reduction r;
    if (!values_plan(at, "mean", a, axes, keepdim, &r)) return NULL;
    cp_real count = 1;
    for (int i = 0; i < a->rank; i++)
        if (r.flags[i]) count *= (cp_real)a->dims[i];
    return cp_scale(at, cp_sum(at, a, axes, keepdim), 1 / count);
}

/* ---- max ---- */

static void max_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const reduction *r = node->attr;
    cp_tensor       *largest = cp_equal(at, node->in[0], cp_reshape(at, cp_detach(at, node->out), r->kept));
    cp_tensor       *share = cp_div(at, largest, cp_sum(at, largest, r->axes, true));
    gin[0] = cp_mul(at, share, cp_reshape(at, g, r->kept));
}

CP_OP(max, .attributes = axes_put, .onnx = "ReduceMax", .to_onnx = reduce_to_onnx, .formula = "max over axes",
      .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_OUT}, .kinked = true, .rule = "a == out ? g / (how many are largest) : 0",
      .words = "The largest value gets the incoming gradient, all others 0; several that are equally large share it.");

cp_tensor *(cp_max)(cp_at at, cp_tensor *a, cp_axes axes, bool keepdim) {
    reduction r;
    if (!values_plan(at, "max", a, axes, keepdim, &r)) return NULL;
    return cp_record_with(at, &cp_op_max, reduce(at, &r, a, true), &r, sizeof r, 1, &a);
}

/* ---- min and variance, from other ops ---- */

const cp_op cp_op_min = {.name = "min", .formula = "-max(-a) over axes"};
const cp_op cp_op_variance = {.name = "variance", .formula = "sum (a - mean)^2 / (count - correction) over axes"};

cp_tensor *(cp_min)(cp_at at, cp_tensor *a, cp_axes axes, bool keepdim) {
    reduction r;
    if (!values_plan(at, "min", a, axes, keepdim, &r)) return NULL;
    return cp_neg(at, cp_max(at, cp_neg(at, a), axes, keepdim));
}

cp_tensor *(cp_variance)(cp_at at, cp_tensor *a, cp_axes axes, int correction, bool keepdim) {
    reduction r;
    if (!values_plan(at, "variance", a, axes, keepdim, &r)) return NULL;
    double count = 1;
    for (int i = 0; i < a->rank; i++)
        if (r.flags[i]) count *= a->dims[i];
    if (correction < 0 || count <= correction)
        return cp_refuse(at, "variance", "%g values of %s with a correction of %d have no variance", count, cp_shape_text(a).s,
                         correction);
    cp_tensor *apart = cp_sub(at, a, cp_mean(at, a, axes, true));
    return cp_scale(at, cp_sum(at, cp_square(at, apart), axes, keepdim), (cp_real)(1 / (count - correction)));
}

/* ---- cumsum ---- */

static void cumsum_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    int axis = *(const int *)node->attr;
    gin[0] = cp_flip(at, cp_cumsum(at, cp_flip(at, g, CP_AXES(axis)), axis), CP_AXES(axis));
}

static int cumsum_to_onnx(cp_export *e, const cp_node *node) {
    return cp_export_pair(e, "CumSum", cp_export_in(e, 0), cp_onnx_ints(e->graph, 1, node->attr));
}

CP_OP(cumsum, .to_onnx = cumsum_to_onnx, .formula = "out[i] = a[0] + ... + a[i] along an axis",
      .rule = "g[i] + g[i + 1] + ... along the axis", .words = "Each value gets the sum of the gradients from its own index on.");

cp_tensor *(cp_cumsum)(cp_at at, cp_tensor *a, int axis) {
    if (!cp_check(at, "cumsum", 1, &a) || !cp_axis_resolve(at, "cumsum", a, &axis)) return NULL;
    cp_tensor *out = cp_out(at, a->shape);
    size_t     count = (size_t)a->dims[axis], inner = product(a->dims, axis + 1, a->rank);
    for (size_t row = 0; out && out->size && row < a->size / count; row++) {
        size_t first = row / inner * count * inner + row % inner;
        double sum = 0;
        for (size_t i = first; i < first + count * inner; i += inner) out->data[i] = (cp_real)(sum += (double)a->data[i]);
    }
    return cp_record_with(at, &cp_op_cumsum, out, &axis, sizeof axis, 1, &a);
}

/* ---- logsumexp ---- */

static void logsumexp_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const reduction *r = node->attr;
    cp_tensor       *share = cp_exp(at, cp_sub(at, node->in[0], cp_reshape(at, node->out, r->kept)));
    cp_tensor       *total = cp_sum(at, share, r->axes, true); /* nearly 1: dividing by it cancels the rounding of out */
    total = cp_where(at, cp_equal(at, total, total), total, cp_scalar(at, 1)); /* NaN where out is infinite: finite entries get 0 */
    gin[0] = cp_mul(at, cp_div(at, share, total), cp_reshape(at, g, r->kept));
}

CP_OP(logsumexp, .attributes = axes_put, .onnx = "ReduceLogSumExp", .to_onnx = reduce_to_onnx, .formula = "ln sum e^a over axes",
      .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_OUT}, .rule = "g e^(a - out) = g softmax(a)",
      .words = "The incoming gradient is distributed in proportion to the softmax of the values.");

/* max + ln sum e^(a - max), by ops that are not recorded. An infinite maximum is not subtracted. -infinity for an empty sum. */
static cp_tensor *logsumexp_value(cp_at at, cp_tensor *a, const reduction *r) {
    if (!a->size) return cp_full(at, (cp_real)-INFINITY, r->shape);
    cp_tensor *top = cp_max(at, a, r->axes, true);
    if (!top) return NULL;
    for (size_t i = 0; i < top->size; i++)
        if (!isfinite(top->data[i])) top->data[i] = 0;
    cp_tensor *sum = cp_sum(at, cp_exp(at, cp_sub(at, a, top)), r->axes, true);
    cp_tensor *out = cp_add(at, top, cp_log(at, sum));
    return out ? cp_view(at, out, r->shape) : NULL;
}

cp_tensor *(cp_logsumexp)(cp_at at, cp_tensor *a, cp_axes axes, bool keepdim) {
    reduction r;
    if (!reduction_plan(at, "logsumexp", a, axes, keepdim, &r)) return NULL;
    bool       was = cp_tape_pause(at.tape, true);
    cp_tensor *out = logsumexp_value(at, a, &r);
    cp_tape_pause(at.tape, was);
    return cp_record_with(at, &cp_op_logsumexp, out, &r, sizeof r, 1, &a);
}

/* ---- softmax and log_softmax ---- */

typedef struct rows_job {
    size_t         count, inner;
    const cp_real *x;
    cp_real       *y;
    bool           logarithm;
} rows_job;

/* y = e^(x - top) for values `step` apart, in pieces, since the kernel needs contiguous values. Returns the sum. */
static double exp_row(size_t count, size_t step, const cp_real *x, cp_real top, cp_real *y) {
    enum { PIECE = 128 };
    cp_real piece[PIECE];
    double  sum = 0;
    for (size_t first = 0; first < count; first += PIECE) {
        size_t n = count - first < PIECE ? count - first : PIECE;
        for (size_t i = 0; i < n; i++) piece[i] = x[(first + i) * step] - top;
        cp_kernels()->exps(n, piece, piece);
        for (size_t i = 0; i < n; i++) sum += (double)(y[(first + i) * step] = piece[i]);
    }
    return sum;
}

static void softmax_rows(void *context, size_t begin, size_t end) {
    const rows_job *job = context;
    for (size_t row = begin; row < end; row++) {
        size_t         first = row / job->inner * job->count * job->inner + row % job->inner, step = job->inner;
        const cp_real *x = job->x + first;
        cp_real       *y = job->y + first, top = -INFINITY;
        for (size_t i = 0; i < job->count; i++) top = x[i * step] > top ? x[i * step] : top;
        cp_real sum = (cp_real)exp_row(job->count, step, x, top, y);
        cp_real spread = log(sum); /* not added to top: its digits would be lost next to a large top */
        for (size_t i = 0; i < job->count; i++) y[i * step] = job->logarithm ? x[i * step] - top - spread : y[i * step] / sum;
    }
}

static void softmax_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor *weighted = cp_mul(at, g, node->out);
    cp_tensor *total = cp_sum(at, weighted, CP_AXES(*(const int *)node->attr), true);
    gin[0] = cp_sub(at, weighted, cp_mul(at, node->out, total));
}

static void log_softmax_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor *total = cp_sum(at, g, CP_AXES(*(const int *)node->attr), true);
    gin[0] = cp_sub(at, g, cp_mul(at, cp_exp(at, node->out), total));
}

static int softmax_to_onnx(cp_export *e, const cp_node *node) {
    cp_onnx_attr axis = {"axis", CP_ONNX_INT, .ints = {*(const int *)node->attr}};
    return cp_onnx_node(e->graph, node->op->onnx, 1, (int[]){cp_export_in(e, 0)}, (cp_onnx_attr[]){axis, {0}});
}

static void axis_put(cp_json_writer *w, const cp_node *node) { cp_json_put_integers(w, "axes", node->attr, 1); }

CP_OP(softmax, .attributes = axis_put, .onnx = "Softmax", .to_onnx = softmax_to_onnx, .formula = "e^a / sum e^a",
      .keeps = {CP_KEEPS_OUT}, .rule = "out (g - sum(g out))",
      .words = "Each probability times the difference of its gradient from the average gradient, weighted "
               "by the probabilities: their sum stays 1.");
CP_OP(log_softmax, .attributes = axis_put, .onnx = "LogSoftmax", .to_onnx = softmax_to_onnx, .formula = "a - ln sum e^a",
      .keeps = {CP_KEEPS_OUT}, .rule = "g - e^out sum(g)",
      .words = "The gradient minus its sum, distributed in proportion to the probabilities.");

static cp_tensor *softmax(cp_at at, const cp_op *op, cp_tensor *a, int axis, bool logarithm) {
    if (!cp_check(at, op->name, 1, &a) || !cp_axis_resolve(at, op->name, a, &axis)) return NULL;
    cp_tensor *out = cp_out(at, a->shape);
    if (out && out->size) {
        rows_job job = {(size_t)a->dims[axis], product(a->dims, axis + 1, a->rank), a->data, out->data, logarithm};
        cp_parallel(a->size / job.count, 4096 / job.count + 1, softmax_rows, &job);
    }
    return cp_record_with(at, op, out, &axis, sizeof axis, 1, &a);
}

cp_tensor *(cp_softmax)(cp_at at, cp_tensor *a, int axis) { return softmax(at, &cp_op_softmax, a, axis, false); }
cp_tensor *(cp_log_softmax)(cp_at at, cp_tensor *a, int axis) { return softmax(at, &cp_op_log_softmax, a, axis, true); }
