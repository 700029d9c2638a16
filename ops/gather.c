/* Selecting values by index: rows of the first axis, or row-major indices, and the inverse ops; the largest values of rows. */
#include "core/op.h"
#include "ops/ops.h"

#include <string.h>

/* Checks each index against 0..limit-1 and copies the indices to the tape. */
static const cp_indices *indices_copy(cp_at at, const char *op, cp_indices places, int limit) {
    if (places.count < 0 || (places.count > 0 && !places.at))
        return cp_refuse(at, op, "the list of indices is NULL or its count %d is negative", places.count);
    for (int i = 0; i < places.count; i++)
        if (places.at[i] < 0 || places.at[i] >= limit)
            return cp_refuse(at, op, "index %d at position %d is outside 0..%d", places.at[i], i, limit - 1);
    int        *copy = cp_tape_copy(at, places.at, (size_t)places.count * sizeof *copy);
    cp_indices *kept = cp_tape_alloc(at, sizeof *kept);
    if (!copy || !kept) return NULL;
    *kept = (cp_indices){copy, places.count};
    return kept;
}

static size_t row_size(const cp_tensor *a) { return a->dims[0] ? a->size / (size_t)a->dims[0] : 0; }

/* ---- rows ---- */

static void gather_rows_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_scatter_rows(at, g, *(const cp_indices *)node->attr, node->in[0]->dims[0]);
}

static void scatter_rows_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_gather_rows(at, g, *(const cp_indices *)node->attr);
}

CP_OP(gather_rows, .formula = "out[i] = a[rows[i]]", .keeps = {CP_KEEPS_SAVED}, .rule = "a[rows[i]] += g[i]",
      .words = "Each row of the gradient goes back to the row that it was taken from; a row that was taken twice gets the sum.");
CP_OP(scatter_rows, .formula = "out[rows[i]] += a[i]", .keeps = {CP_KEEPS_SAVED}, .rule = "a[i] = g[rows[i]]",
      .words = "Each row gets the gradient of the row that it was added to.");

static bool has_rows(cp_at at, const char *op, cp_tensor *a) {
    if (!cp_check(at, op, 1, &a)) return false;
    return a->rank > 0 || cp_misuse(at, op, "a scalar has no rows");
}

cp_tensor *(cp_gather_rows)(cp_at at, cp_tensor *a, cp_indices rows) {
    if (!has_rows(at, "gather_rows", a)) return NULL;
    const cp_indices *kept = indices_copy(at, "gather_rows", rows, a->dims[0]);
    if (!kept) return NULL;
    cp_shape shape = a->shape;
    shape.dims[0] = rows.count;
    cp_tensor *out = cp_out(at, shape);
    if (!out) return NULL;
    size_t n = row_size(a);
    for (int i = 0; i < rows.count; i++)
        if (n) memcpy(out->data + (size_t)i * n, a->data + (size_t)rows.at[i] * n, n * sizeof *out->data);
    return cp_record(at, &cp_op_gather_rows, out, kept, 1, &a);
}

cp_tensor *(cp_scatter_rows)(cp_at at, cp_tensor *a, cp_indices rows, int count) {
    if (!has_rows(at, "scatter_rows", a)) return NULL;
    if (rows.count != a->dims[0] || count < 0)
        return cp_refuse(at, "scatter_rows", "%d indices, among %d rows, for the rows of %s", rows.count, count,
                         cp_shape_text(a).s);
    const cp_indices *kept = indices_copy(at, "scatter_rows", rows, count);
    if (!kept) return NULL;
    cp_shape shape = a->shape;
    shape.dims[0] = count;
    cp_tensor *out = cp_out(at, shape);
    double    *sums = out ? cp_arena_alloc(cp_scratch(at), out->size * sizeof *sums) : NULL;
    if (!sums) return NULL;
    size_t n = row_size(a);
    for (size_t j = 0; j < out->size; j++) sums[j] = 0;
    for (int i = 0; i < rows.count; i++)
        for (size_t j = 0; j < n; j++) sums[(size_t)rows.at[i] * n + j] += (double)a->data[(size_t)i * n + j];
    for (size_t j = 0; j < out->size; j++) out->data[j] = (cp_real)sums[j];
    cp_arena_release(cp_scratch(at), sums);
    return cp_record(at, &cp_op_scatter_rows, out, kept, 1, &a);
}

/* ---- row-major indices ---- */

static void take_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_put(at, g, *(const cp_indices *)node->attr, node->in[0]->shape);
}

static void put_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_take(at, g, *(const cp_indices *)node->attr, node->in[0]->shape);
}

CP_OP(take, .formula = "out[i] = a[places[i]]", .keeps = {CP_KEEPS_SAVED}, .rule = "a[places[i]] += g[i]",
      .words = "Each gradient goes back to the index that its value was taken from; an index that was taken "
               "twice gets the sum, and one that was not taken gets 0.");
CP_OP(put, .formula = "out[places[i]] += a[i]", .keeps = {CP_KEEPS_SAVED}, .rule = "a[i] = g[places[i]]",
      .words = "Each value gets the gradient of the index that it was put at.");

/* Checks and copies an index for each of `count` values, each below `limit`. */
static const cp_indices *indices_for(cp_at at, const char *op, cp_indices places, size_t count, size_t limit) {
    if ((size_t)places.count != count) return cp_refuse(at, op, "%d indices for %zu values", places.count, count);
    return indices_copy(at, op, places, limit > INT32_MAX ? INT32_MAX : (int)limit);
}

cp_tensor *(cp_take)(cp_at at, cp_tensor *a, cp_indices places, cp_shape shape) {
    size_t size;
    if (!cp_check(at, "take", 1, &a) || !cp_shape_check(at, "take", shape) || !cp_shape_size(shape, &size)) return NULL;
    const cp_indices *kept = indices_for(at, "take", places, size, a->size);
    cp_tensor        *out = kept ? cp_out(at, shape) : NULL;
    if (!out) return NULL;
    for (size_t i = 0; i < out->size; i++) out->data[i] = a->data[places.at[i]];
    return cp_record(at, &cp_op_take, out, kept, 1, &a);
}

cp_tensor *(cp_put)(cp_at at, cp_tensor *a, cp_indices places, cp_shape shape) {
    size_t size;
    if (!cp_check(at, "put", 1, &a) || !cp_shape_check(at, "put", shape) || !cp_shape_size(shape, &size)) return NULL;
    const cp_indices *kept = indices_for(at, "put", places, a->size, size);
    cp_tensor        *out = kept ? cp_full(at, 0, shape) : NULL;
    if (!out) return NULL;
    for (size_t i = 0; i < a->size; i++) out->data[places.at[i]] += a->data[i];
    return cp_record(at, &cp_op_put, out, kept, 1, &a);
}

/* ---- the largest values of each row ---- */

const cp_op cp_op_topk = {.name = "topk", .formula = "the k largest values along the last axis"};

/* Whether value j of a row goes before value i < j. */
static bool overtakes(const cp_real *row, int j, int i) { return row[j] > row[i] || (row[j] != row[j] && row[i] == row[i]); }

/* The indices within each row of the k largest values, in order. */
static int *largest(cp_at at, const char *op, cp_tensor *a, int k) {
    if (!cp_check(at, op, 1, &a)) return NULL;
    int size = a->rank ? a->dims[a->rank - 1] : 0;
    if (k < 1 || k > size) return cp_refuse(at, op, "the last axis of %s has no %d largest values", cp_shape_text(a).s, k);
    size_t rows = a->size / (size_t)size;
    if (a->size > INT32_MAX) return cp_refuse(at, op, "%s has too many values for an index", cp_shape_text(a).s);
    int *out = cp_tape_alloc(at, (rows * (size_t)k + 1) * sizeof *out);
    for (size_t r = 0; out && r < rows; r++) {
        const cp_real *row = a->data + r * (size_t)size;
        int           *best = out + r * (size_t)k;
        for (int j = 0, found = 0; j < size; j++) {
            int place = found;
            while (place > 0 && overtakes(row, j, best[place - 1])) place--;
            if (place == k) continue;
            if (found < k) found++;
            memmove(best + place + 1, best + place, (size_t)(found - 1 - place) * sizeof *best);
            best[place] = j;
        }
    }
    return out;
}

cp_tensor *(cp_topk)(cp_at at, cp_tensor *a, int k, cp_indices *which) {
    int *within = largest(at, "topk", a, k);
    if (which) *which = (cp_indices){0};
    if (!within) return NULL;
    cp_shape shape = a->shape;
    int      size = a->dims[a->rank - 1], count = (int)(a->size / (size_t)size) * k;
    shape.dims[a->rank - 1] = k;
    int *places = cp_tape_alloc(at, ((size_t)count + 1) * sizeof *places);
    if (!places) return NULL;
    for (int i = 0; i < count; i++) places[i] = i / k * size + within[i];
    if (which) *which = (cp_indices){within, count};
    return cp_take(at, a, (cp_indices){places, count}, shape);
}

cp_labels(cp_argmax)(cp_at at, cp_tensor *a) {
    int *at_largest = largest(at, "argmax", a, 1);
    return (cp_labels){at_largest, at_largest ? (int)(a->size / (size_t)a->dims[a->rank - 1]) : 0};
}

cp_tensor *(cp_one_hot)(cp_at at, cp_labels labels, int classes) {
    if (labels.count < 0 || (labels.count && !labels.at) || classes < 1)
        return cp_refuse(at, "one_hot", "%d labels and %d classes, or the labels are NULL", labels.count, classes);
    for (int i = 0; i < labels.count; i++)
        if (labels.at[i] < 0 || labels.at[i] >= classes)
            return cp_refuse(at, "one_hot", "label %d at row %d is outside 0..%d", labels.at[i], i, classes - 1);
    cp_tensor *out = cp_full(at, 0, CP_SHAPE(labels.count, classes));
    for (int i = 0; out && i < labels.count; i++) out->data[(size_t)i * (size_t)classes + (size_t)labels.at[i]] = 1;
    return out;
}
