/* Shapes: checking, comparing, broadcasting, and writing them into messages. */
#include "core/shape.h"

#include "core/io/bytes.h"

#include <limits.h>
#include <string.h>

cp_shape cp_shape_of(int rank, const int *dims) {
    cp_shape shape = {.rank = rank && !dims ? INT_MIN : rank};
    if (shape.rank > 0 && rank <= CP_MAX_RANK) memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
    return shape;
}

cp_shape cp_shape_rows(int count, cp_shape row) {
    cp_shape all = {.rank = 1 + row.rank, .dims = {count}};
    for (int i = 0; i < row.rank && i + 1 < CP_MAX_RANK; i++) all.dims[i + 1] = row.dims[i];
    return all;
}

cp_text cp_dims_text(cp_shape shape) {
    cp_text text = {"("};
    size_t  used = 1;
    if (shape.rank == INT_MIN) return (cp_text){"NULL"};
    if (shape.rank < 0 || shape.rank > CP_MAX_RANK) {
        snprintf(text.s, sizeof text.s, "(%d axes)", shape.rank);
        return text;
    }
    for (int i = 0; i < shape.rank; i++)
        used += (size_t)snprintf(text.s + used, sizeof text.s - used, "%s%d", i ? ", " : "", shape.dims[i]);
    snprintf(text.s + used, sizeof text.s - used, ")");
    return text;
}

cp_text cp_shape_text(const cp_tensor *t) { return t ? cp_dims_text(t->shape) : (cp_text){"NULL"}; }

cp_text cp_index_text(cp_shape shape, size_t i) {
    cp_text text = {""};
    size_t  used = 0, at[CP_MAX_RANK];
    for (int axis = shape.rank - 1; axis >= 0; i /= (size_t)shape.dims[axis--]) at[axis] = i % (size_t)shape.dims[axis];
    for (int axis = 0; axis < shape.rank; axis++)
        used += (size_t)snprintf(text.s + used, sizeof text.s - used, "%s%zu", axis ? ", " : "[", at[axis]);
    if (shape.rank) snprintf(text.s + used, sizeof text.s - used, "]");
    return text;
}

bool cp_shape_size(cp_shape shape, size_t *size) {
    int64_t dims[CP_MAX_RANK];
    if (shape.rank < 0 || shape.rank > CP_MAX_RANK) return false;
    for (int i = 0; i < shape.rank; i++) dims[i] = shape.dims[i];
    return cp_shape_count(shape.rank, dims, sizeof(cp_real), size);
}

bool cp_shape_check(cp_at at, const char *op, cp_shape shape) {
    size_t size;
    return cp_shape_size(shape, &size) ||
           cp_misuse(at, op, "the shape %s is not possible (up to %d axes, sizes >= 0, a product that fits into memory)",
                     cp_dims_text(shape).s, CP_MAX_RANK);
}

bool cp_shapes_equal(cp_shape a, cp_shape b) {
    return a.rank == b.rank && memcmp(a.dims, b.dims, (size_t)a.rank * sizeof *a.dims) == 0;
}

bool cp_shape_is(const cp_tensor *a, cp_shape shape) { return cp_shapes_equal(a->shape, shape); }

bool cp_shape_same(const cp_tensor *a, const cp_tensor *b) { return cp_shape_is(a, b->shape); }

/* From the last axis on, so that `common` overwrites only sizes that were read already. */
bool cp_shape_broadcast(const cp_shape *a, const cp_shape *b, cp_shape *common) {
    int rank_a = a->rank, rank_b = b->rank, rank = rank_a > rank_b ? rank_a : rank_b;
    for (int i = 1; i <= rank; i++) {
        int da = i <= rank_a ? a->dims[rank_a - i] : 1, db = i <= rank_b ? b->dims[rank_b - i] : 1;
        if (da != db && da != 1 && db != 1) return false;
        common->dims[rank - i] = da == 1 ? db : da;
    }
    common->rank = rank;
    return true;
}

bool cp_axis_resolve(cp_at at, const char *op, const cp_tensor *a, int *axis) {
    if (*axis < -a->rank || *axis >= a->rank)
        return cp_misuse(at, op, "axis %d does not exist in shape %s", *axis, cp_shape_text(a).s);
    if (*axis < 0) *axis += a->rank;
    return true;
}

bool cp_axes_flags(cp_at at, const char *op, cp_axes axes, const cp_tensor *a, bool flags[CP_MAX_RANK]) {
    if (axes.count < 0 || axes.count > CP_MAX_RANK)
        return cp_misuse(at, op, "%d axes were given, at most %d exist", axes.count, CP_MAX_RANK);
    for (int i = 0; i < CP_MAX_RANK; i++) flags[i] = axes.count == 0 && i < a->rank;
    for (int i = 0; i < axes.count; i++) {
        int axis = axes.at[i];
        if (!cp_axis_resolve(at, op, a, &axis)) return false;
        if (flags[axis]) return cp_misuse(at, op, "axis %d of shape %s appears twice", axis, cp_shape_text(a).s);
        flags[axis] = true;
    }
    return true;
}
