/* Changing shapes: views, permutations, slices and their inverses. */
#include "core/export.h"
#include "ops/ops.h"
#include "ops/walk.h"

#include <string.h>

/* Checks arrays with one entry per axis; a scalar needs none. */
static bool has_arrays(cp_at at, const char *op, const cp_tensor *a, int n, const int *const *arrays) {
    for (int i = 0; i < n && a->rank; i++)
        if (!arrays[i]) return cp_misuse(at, op, "an array with one entry per axis of shape %s is NULL", cp_shape_text(a).s);
    return true;
}

/* ---- reshape ---- */

static void reshape_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_reshape(at, g, node->in[0]->shape);
}

static int reshape_to_onnx(cp_export *e, const cp_node *node) {
    int dims[CP_MAX_RANK];
    cp_export_out_dims(e, dims);
    return cp_export_reshape(e, cp_export_in(e, 0), node->out->rank, dims);
}

CP_OP(reshape, .to_onnx = reshape_to_onnx, .formula = "the same values in another shape", .rule = "g in the shape of a",
      .words = "The same gradient in the input's shape; nothing is computed.");

cp_tensor *(cp_reshape)(cp_at at, cp_tensor *a, cp_shape shape) {
    int      wild = -1;
    cp_shape full = shape;
    size_t   size, known = 1;
    if (!cp_check(at, "reshape", 1, &a)) return NULL;
    for (int i = 0; i < shape.rank && i < CP_MAX_RANK; i++) {
        if (shape.dims[i] == -1 && wild < 0)
            wild = i;
        else
            known *= shape.dims[i] > 0 ? (size_t)shape.dims[i] : 0;
    }
    if (wild >= 0) full.dims[wild] = known ? (int)(a->size / known) : 0;
    if (shape.rank < 0 || shape.rank > CP_MAX_RANK) return cp_null(cp_shape_check(at, "reshape", shape));
    if (!cp_shape_size(full, &size) || size != a->size)
        return cp_refuse(at, "reshape", "%s does not hold the values of %s", cp_dims_text(shape).s, cp_shape_text(a).s);
    if (cp_shape_is(a, full)) return a;
    return cp_record(at, &cp_op_reshape, cp_view(at, a, full), NULL, 1, &a);
}

/* ---- permute ---- */

static void permute_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const int *order = node->attr;
    int        inverse[CP_MAX_RANK] = {0};
    for (int i = 0; i < g->rank; i++) inverse[order[i]] = i;
    gin[0] = cp_permute(at, g, inverse);
}

static int permute_to_onnx(cp_export *e, const cp_node *node) {
    return cp_export_transpose(e, cp_export_in(e, 0), node->out->rank, node->attr);
}

CP_OP(permute, .to_onnx = permute_to_onnx, .formula = "axes in another order", .rule = "g with the axes in the old order",
      .words = "The gradient with its axes put back in the input's order.");

cp_tensor *(cp_permute)(cp_at at, cp_tensor *a, const int *order) {
    cp_shape shape = a ? a->shape : CP_SCALAR;
    bool     seen[CP_MAX_RANK] = {0};
    if (!cp_check(at, "permute", 1, &a) || !has_arrays(at, "permute", a, 1, &order)) return NULL;
    for (int i = 0; i < a->rank; i++) {
        if (order[i] < 0 || order[i] >= a->rank || seen[order[i]])
            return cp_refuse(at, "permute", "%s is not an order of the axes of %s", cp_dims_text(cp_shape_of(a->rank, order)).s,
                             cp_shape_text(a).s);
        seen[order[i]] = true;
        shape.dims[i] = a->dims[order[i]];
    }
    cp_tensor *out = cp_out(at, shape);
    if (!out) return NULL;
    ptrdiff_t own[CP_MAX_RANK];
    cp_walk_strides(&a->shape, own);
    cp_walk walk = cp_walk_over(out);
    walk.operands = 2;
    walk.at[1] = a->data;
    for (int i = 0; i < a->rank; i++) walk.stride[1][i] = own[order[i]];
    cp_walk_run(&walk, cp_row_copy, NULL);
    return cp_record_with(at, &cp_op_permute, out, order, (size_t)a->rank * sizeof *order, 1, &a);
}

/* ---- broadcast_to and sum_to ---- */

static void broadcast_to_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_sum_to(at, g, node->in[0]->shape);
}

/* A size of 1 keeps that of the input, so that an axis that is not repeated may be the batch's. */
static int broadcast_to_onnx(cp_export *e, const cp_node *node) {
    const cp_tensor *a = node->in[0], *out = node->out;
    int              dims[CP_MAX_RANK], lead = out->rank - a->rank;
    for (int i = 0; i < out->rank; i++) dims[i] = i >= lead && a->dims[i - lead] == out->dims[i] ? 1 : out->dims[i];
    return cp_export_pair(e, "Expand", cp_export_in(e, 0), cp_onnx_ints(e->graph, out->rank, dims));
}

CP_OP(broadcast_to, .to_onnx = broadcast_to_onnx, .formula = "repeated along axes of size 1",
      .rule = "g summed over the repeated axes",
      .words = "A value that was repeated gets the sum of the gradients of all its copies.");
const cp_op cp_op_sum_to = {.name = "sum_to", .formula = "summed along the axes that were repeated"};

/* true when `from` broadcasts to exactly `to`. */
static bool broadcasts(cp_shape from, cp_shape to) {
    cp_shape common;
    return cp_shape_broadcast(&from, &to, &common) && common.rank == to.rank &&
           memcmp(common.dims, to.dims, (size_t)to.rank * sizeof *to.dims) == 0;
}

cp_tensor *(cp_broadcast_to)(cp_at at, cp_tensor *a, cp_shape shape) {
    size_t size;
    if (!cp_check(at, "broadcast_to", 1, &a)) return NULL;
    if (!cp_shape_size(shape, &size) || !broadcasts(a->shape, shape))
        return cp_refuse(at, "broadcast_to", "%s does not broadcast to %s", cp_shape_text(a).s, cp_dims_text(shape).s);
    if (cp_shape_is(a, shape)) return a;
    cp_tensor *out = cp_out(at, shape);
    if (!out) return NULL;
    cp_walk walk = cp_walk_over(out);
    cp_walk_add(&walk, a);
    cp_walk_run(&walk, cp_row_copy, NULL);
    return cp_record(at, &cp_op_broadcast_to, out, NULL, 1, &a);
}

cp_tensor *(cp_sum_to)(cp_at at, cp_tensor *a, cp_shape shape) {
    size_t size;
    if (!cp_check(at, "sum_to", 1, &a)) return NULL;
    if (!cp_shape_size(shape, &size) || !broadcasts(shape, a->shape))
        return cp_refuse(at, "sum_to", "%s is not what %s broadcasts to", cp_shape_text(a).s, cp_dims_text(shape).s);
    cp_axes repeated = {0};
    int     lead = a->rank - shape.rank;
    for (int i = 0; i < a->rank; i++)
        if (i < lead || shape.dims[i - lead] != a->dims[i]) repeated.at[repeated.count++] = i;
    if (repeated.count) a = cp_sum(at, a, repeated, true);
    return cp_reshape(at, a, shape);
}

/* ---- slice, and its inverse embed ---- */

typedef struct region {
    int start[CP_MAX_RANK], step[CP_MAX_RANK];
} region;

/* Copies between a dense small tensor and a region of a large one. */
static void region_copy(const cp_tensor *small, const cp_tensor *large, const region *at, bool into_large) {
    int       s = into_large ? 1 : 0, l = 1 - s;
    ptrdiff_t own[CP_MAX_RANK];
    cp_walk   walk = {.operands = 2, .rank = small->rank};
    cp_walk_strides(&large->shape, own);
    cp_walk_strides(&small->shape, walk.stride[s]);
    walk.at[s] = small->data;
    walk.at[l] = large->data;
    for (int i = 0; i < small->rank; i++) {
        walk.dims[i] = (size_t)small->dims[i];
        walk.stride[l][i] = own[i] * at->step[i];
        if (small->size) walk.at[l] += own[i] * at->start[i];
    }
    cp_walk_run(&walk, cp_row_copy, NULL);
}

static void slice_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const region *r = node->attr;
    gin[0] = cp_embed(at, g, node->in[0]->dims, r->start, r->step, 0);
}

/* One after the last of n values in steps; CP_END where that is before the first value. */
static int after_last(int start, int n, int step) {
    int stop = n ? start + (n - 1) * step + (step > 0 ? 1 : -1) : start;
    return stop < 0 ? CP_END : stop;
}

/* Axes that are taken whole are left out, so that one of them may be the batch's. */
static int slice_to_onnx(cp_export *e, const cp_node *node) {
    const region *r = node->attr;
    int           from[CP_MAX_RANK], to[CP_MAX_RANK], axes[CP_MAX_RANK], steps[CP_MAX_RANK], count = 0;
    for (int i = 0; i < node->out->rank; i++) {
        if (node->out->dims[i] == node->in[0]->dims[i] && r->step[i] > 0) continue;
        axes[count] = i;
        from[count] = r->start[i];
        steps[count] = r->step[i];
        to[count] = after_last(r->start[i], node->out->dims[i], r->step[i]);
        if (to[count++] == CP_END) to[count - 1] = -INT32_MAX; /* ONNX counts from the end; far enough means the first value */
    }
    const int *lists[] = {from, to, axes, steps};
    int        in[5] = {cp_export_in(e, 0)};
    for (int k = 0; k < 4; k++) in[k + 1] = cp_onnx_ints(e->graph, count, lists[k]);
    return cp_onnx_node(e->graph, "Slice", 5, in, NULL);
}

CP_OP(slice, .to_onnx = slice_to_onnx, .formula = "a[start:stop:step]", .rule = "0, with g at [start:stop:step]",
      .words = "The values of the slice get the gradient, the others 0.");

cp_tensor *(cp_slice)(cp_at at, cp_tensor *a, const int *start, const int *stop, const int *step) {
    region r = {0};
    int    dims[CP_MAX_RANK] = {0};
    if (!cp_check(at, "slice", 1, &a) || !has_arrays(at, "slice", a, 2, (const int *[]){start, stop})) return NULL;
    for (int i = 0; i < a->rank; i++) {
        int64_t by = r.step[i] = step ? step[i] : 1, end = stop[i], span;
        r.start[i] = start[i];
        if (stop[i] == CP_END) end = by > 0 ? a->dims[i] : -1;
        span = by > 0 ? end - start[i] : start[i] - end;
        bool within = by > 0 ? start[i] >= 0 && end <= a->dims[i]
                             : start[i] >= -!a->dims[i] && start[i] < a->dims[i] && (end >= 0 || stop[i] == CP_END);
        if (!within || span < 0 || !by)
            return cp_refuse(at, "slice", "%d:%d:%d is not within axis %d of shape %s", start[i], (int)end, r.step[i], i,
                             cp_shape_text(a).s);
        dims[i] = span ? (int)((span - 1) / (by > 0 ? by : -by)) + 1 : 0;
    }
    cp_tensor *out = cp_out(at, cp_shape_of(a->rank, dims));
    if (out) region_copy(out, a, &r, false);
    return cp_record_with(at, &cp_op_slice, out, &r, sizeof r, 1, &a);
}

static void embed_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const region *r = node->attr;
    int           stop[CP_MAX_RANK] = {0};
    for (int i = 0; i < g->rank; i++) stop[i] = after_last(r->start[i], node->in[0]->dims[i], r->step[i]);
    gin[0] = cp_slice(at, g, r->start, stop, r->step);
}

CP_OP(embed, .formula = "fill, with a at [start::step]", .rule = "g[start::step]",
      .words = "The input gets the slice of the gradient where its values were put.");
const cp_op cp_op_pad = {.name = "pad", .formula = "a with fill around it"};

cp_tensor *(cp_embed)(cp_at at, cp_tensor *a, const int *dims, const int *start, const int *step, cp_real fill) {
    region r = {0};
    if (!cp_check(at, "embed", 1, &a) || !has_arrays(at, "embed", a, 2, (const int *[]){dims, start}) ||
        !cp_shape_check(at, "embed", cp_shape_of(a->rank, dims)))
        return NULL;
    for (int i = 0; i < a->rank; i++) {
        r.start[i] = start[i];
        r.step[i] = step ? step[i] : 1;
        int64_t last = a->dims[i] ? start[i] + (int64_t)(a->dims[i] - 1) * r.step[i] : start[i] - (r.step[i] > 0);
        bool    fits = r.step[i] > 0 ? start[i] >= 0 && last < dims[i] : start[i] < dims[i] && last >= -(!a->dims[i] && !dims[i]);
        if (!fits || !r.step[i])
            return cp_refuse(at, "embed", "%s at %d, step %d, does not fit into axis %d of %s", cp_shape_text(a).s, start[i],
                             r.step[i], i, cp_dims_text(cp_shape_of(a->rank, dims)).s);
    }
    cp_tensor *out = cp_full(at, fill, cp_shape_of(a->rank, dims));
    if (out) region_copy(a, out, &r, true);
    return cp_record_with(at, &cp_op_embed, out, &r, sizeof r, 1, &a);
}

cp_tensor *(cp_pad)(cp_at at, cp_tensor *a, const int *before, const int *after, cp_real fill) {
    int dims[CP_MAX_RANK] = {0};
    if (!cp_check(at, "pad", 1, &a) || !has_arrays(at, "pad", a, 2, (const int *[]){before, after})) return NULL;
    for (int i = 0; i < a->rank; i++) {
        int64_t size = (int64_t)a->dims[i] + before[i] + after[i];
        if (before[i] < 0 || after[i] < 0 || size > INT32_MAX)
            return cp_refuse(at, "pad", "padding %d and %d of axis %d of %s is negative or too large", before[i], after[i], i,
                             cp_shape_text(a).s);
        dims[i] = (int)size;
    }
    if (!cp_shape_check(at, "pad", cp_shape_of(a->rank, dims))) return NULL;
    return cp_embed(at, a, dims, before, NULL, fill);
}

/* ---- flip and pad_reflect, from slices ---- */

const cp_op cp_op_flip = {.name = "flip", .formula = "a[::-1] along axes"};
const cp_op cp_op_pad_reflect = {.name = "pad_reflect", .formula = "a with its mirrored values around it"};

cp_tensor *(cp_flip)(cp_at at, cp_tensor *a, cp_axes axes) {
    bool flags[CP_MAX_RANK];
    int  start[CP_MAX_RANK], stop[CP_MAX_RANK], step[CP_MAX_RANK];
    if (!cp_check(at, "flip", 1, &a) || !cp_axes_flags(at, "flip", axes, a, flags)) return NULL;
    for (int i = 0; i < a->rank; i++) {
        start[i] = flags[i] ? a->dims[i] - 1 : 0;
        stop[i] = CP_END;
        step[i] = flags[i] ? -1 : 1;
    }
    return cp_slice(at, a, start, stop, step);
}

cp_tensor *(cp_pad_reflect)(cp_at at, cp_tensor *a, const int *before, const int *after) {
    if (!cp_check(at, "pad_reflect", 1, &a) || !has_arrays(at, "pad_reflect", a, 2, (const int *[]){before, after})) return NULL;
    for (int i = 0; i < a->rank; i++)
        if (before[i] < 0 || after[i] < 0 || ((before[i] || after[i]) && (before[i] >= a->dims[i] || after[i] >= a->dims[i])))
            return cp_refuse(at, "pad_reflect", "padding %d and %d of axis %d of %s must be at least 0 and less than its size",
                             before[i], after[i], i, cp_shape_text(a).s);
    for (int i = 0; a && i < a->rank; i++) {
        int        start[CP_MAX_RANK] = {0}, stop[CP_MAX_RANK], step[CP_MAX_RANK], size = a->dims[i], count = 0;
        cp_tensor *parts[3];
        for (int k = 0; k < a->rank; k++) stop[k] = CP_END, step[k] = 1;
        if (!before[i] && !after[i]) continue;
        step[i] = -1;
        start[i] = before[i], stop[i] = 0;
        if (before[i]) parts[count++] = cp_slice(at, a, start, stop, step);
        parts[count++] = a;
        start[i] = size - 2, stop[i] = size - 2 - after[i] < 0 ? CP_END : size - 2 - after[i];
        if (after[i]) parts[count++] = cp_slice(at, a, start, stop, step);
        a = cp_concat(at, parts, count, i);
    }
    return a;
}

/* ---- concat ---- */

static void concat_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    int axis = *(const int *)node->attr, start[CP_MAX_RANK] = {0}, stop[CP_MAX_RANK];
    memcpy(stop, g->dims, sizeof stop);
    for (int k = 0; k < node->inputs; k++) {
        stop[axis] = start[axis] + node->in[k]->dims[axis];
        if (cp_needs(node, k)) gin[k] = cp_slice(at, g, start, stop, NULL);
        start[axis] = stop[axis];
    }
}

static int concat_to_onnx(cp_export *e, const cp_node *node) {
    int *in = cp_tape_alloc(e->at, (size_t)node->inputs * sizeof *in);
    for (int i = 0; in && i < node->inputs; i++) in[i] = cp_export_in(e, i);
    cp_onnx_attr axis = {"axis", CP_ONNX_INT, .ints = {*(const int *)node->attr}};
    return in ? cp_onnx_node(e->graph, "Concat", node->inputs, in, (cp_onnx_attr[]){axis, {0}}) : 0;
}

CP_OP(concat, .to_onnx = concat_to_onnx, .formula = "one after the other along an axis", .rule = "each input: its piece of g",
      .words = "The gradient is cut into the pieces that were joined.");

cp_tensor *(cp_concat)(cp_at at, cp_tensor *const *parts, int count, int axis) {
    if (count < 1 || !parts) return cp_refuse(at, "concat", "there are no tensors to join");
    if (!cp_check(at, "concat", count, parts) || !cp_axis_resolve(at, "concat", parts[0], &axis)) return NULL;
    int dims[CP_MAX_RANK];
    memcpy(dims, parts[0]->dims, sizeof dims);
    for (int k = 1; k < count; k++) {
        bool fits = parts[k]->rank == parts[0]->rank;
        for (int i = 0; fits && i < parts[0]->rank; i++) fits = i == axis || parts[k]->dims[i] == dims[i];
        fits = fits && parts[k]->dims[axis] <= INT32_MAX - dims[axis];
        if (!fits)
            return cp_refuse(at, "concat", "%s and %s do not join along axis %d", cp_shape_text(parts[0]).s,
                             cp_shape_text(parts[k]).s, axis);
        dims[axis] += parts[k]->dims[axis];
    }
    cp_tensor *out = cp_out(at, cp_shape_of(parts[0]->rank, dims));
    if (!out) return NULL;
    region r = {.step = {1, 1, 1, 1, 1}};
    for (int k = 0; k < count; k++) {
        region_copy(parts[k], out, &r, true);
        r.start[axis] += parts[k]->dims[axis];
    }
    return cp_record_with(at, &cp_op_concat, out, &axis, sizeof axis, count, parts);
}

/* ---- stack and split, from concat and slice ---- */

const cp_op cp_op_stack = {.name = "stack", .formula = "one after the other along a new axis"};
const cp_op cp_op_chunk = {.name = "chunk", .formula = "equal parts along an axis"};

cp_tensor *(cp_stack)(cp_at at, cp_tensor *const *parts, int count, int axis) {
    if (count < 1 || !parts) return cp_refuse(at, "stack", "there are no tensors to join");
    if (!cp_check(at, "stack", count, parts)) return NULL;
    int rank = parts[0]->rank, place = axis < 0 ? axis + rank + 1 : axis;
    for (int k = 1; k < count; k++)
        if (!cp_shape_same(parts[0], parts[k]))
            return cp_refuse(at, "stack", "shapes %s and %s differ", cp_shape_text(parts[0]).s, cp_shape_text(parts[k]).s);
    if (rank == CP_MAX_RANK || place < 0 || place > rank)
        return cp_refuse(at, "stack", "axis %d is not possible for tensors of shape %s; at most %d axes are", axis,
                         cp_shape_text(parts[0]).s, CP_MAX_RANK);
    cp_shape    shape = {.rank = rank + 1};
    cp_tensor **wide = cp_tape_alloc(at, (size_t)count * sizeof *wide);
    for (int i = 0; i <= rank; i++) shape.dims[i] = i == place ? 1 : parts[0]->dims[i - (i > place)];
    for (int k = 0; wide && k < count; k++) wide[k] = cp_reshape(at, parts[k], shape);
    return wide ? cp_concat(at, wide, count, place) : NULL;
}

/* In halves: the gradient of a slice is as large as its input, so `count` slices of the whole would make the cost of the sweep grow
 * with the square of count. */
static bool halve(cp_at at, cp_tensor *a, bool own, int count, int axis, cp_tensor **out) {
    int start[CP_MAX_RANK] = {0}, stop[CP_MAX_RANK], half = count / 2;
    if (count == 1) return (out[0] = a);
    for (int i = 0; i < CP_MAX_RANK; i++) stop[i] = CP_END;
    int        middle = stop[axis] = a->dims[axis] / count * half;
    cp_tensor *first = cp_slice(at, a, start, stop, NULL);
    start[axis] = middle, stop[axis] = CP_END;
    cp_tensor *rest = cp_slice(at, a, start, stop, NULL);
    if (!first || !rest) return false;
    if (own) cp_release(at, a);
    return halve(at, first, true, half, axis, out) && halve(at, rest, true, count - half, axis, out + half);
}

bool(cp_chunk)(cp_at at, cp_tensor *a, int count, int axis, cp_tensor **out) {
    if (!cp_check(at, "chunk", 1, &a) || !cp_axis_resolve(at, "chunk", a, &axis)) return false;
    if (count < 1 || a->dims[axis] % count || !out)
        return cp_misuse(at, "chunk", out ? "axis %d of %s has no %d equal parts" : "out is NULL for axis %d of %s and %d parts",
                         axis, cp_shape_text(a).s, count);
    return halve(at, a, false, count, axis, out);
}
