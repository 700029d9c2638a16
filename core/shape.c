/* Shapes: checking, comparing, broadcasting, and writing them into messages. */
#include "core/shape.h"

#include <string.h>

cp_text cp_dims_text(int rank, const int *dims) {
    cp_text text = {"("};
    size_t  used = 1;
    if (rank < 0 || rank > CP_MAX_RANK) {
        snprintf(text.s, sizeof text.s, "(%d axes)", rank);
        return text;
    }
    if (rank && !dims) return (cp_text){"NULL"};
    for (int i = 0; i < rank; i++) used += (size_t)snprintf(text.s + used, sizeof text.s - used, "%s%d", i ? ", " : "", dims[i]);
    snprintf(text.s + used, sizeof text.s - used, ")");
    return text;
}

cp_text cp_shape_text(const cp_tensor *t) {
    return t ? cp_dims_text(t->rank, t->dims) : (cp_text){"NULL"};
}

bool cp_shape_size(int rank, const int *dims, size_t *size) {
    if (rank < 0 || rank > CP_MAX_RANK || (rank > 0 && !dims)) return false;
    size_t limit = (size_t)PTRDIFF_MAX / sizeof(cp_real), total = 1;
    bool   empty = false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) return false;
        if (dims[i] == 0) {
            empty = true;
            continue;
        }
        if (total > limit / (size_t)dims[i]) return false;
        total *= (size_t)dims[i];
    }
    *size = empty ? 0 : total;
    return true;
}

bool cp_shape_check(cp_at at, const char *op, int rank, const int *dims) {
    size_t size;
    return cp_shape_size(rank, dims, &size) ||
           cp_misuse(at, op, "the shape %s is not possible (up to %d axes, sizes >= 0, a product that fits into memory)",
                     cp_dims_text(rank, dims).s, CP_MAX_RANK);
}

bool cp_shape_is(const cp_tensor *a, int rank, const int *dims) {
    return a->rank == rank && (rank == 0 || memcmp(a->dims, dims, (size_t)rank * sizeof *dims) == 0);
}

bool cp_shape_same(const cp_tensor *a, const cp_tensor *b) {
    return cp_shape_is(a, b->rank, b->dims);
}

bool cp_shape_broadcast(int rank_a, const int *a, int rank_b, const int *b, int *rank, int *dims) {
    *rank = rank_a > rank_b ? rank_a : rank_b;
    for (int i = 1; i <= *rank; i++) {
        int da = i <= rank_a ? a[rank_a - i] : 1, db = i <= rank_b ? b[rank_b - i] : 1;
        if (da != db && da != 1 && db != 1) return false;
        dims[*rank - i] = da == 1 ? db : da;
    }
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
        if (flags[axis]) return cp_misuse(at, op, "axis %d of shape %s is named twice", axis, cp_shape_text(a).s);
        flags[axis] = true;
    }
    return true;
}
