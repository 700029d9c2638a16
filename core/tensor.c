/* Persistent tensors, and printing. */
#include "core/tape_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char cp_built_for[] = CP_REAL_NAME;

/* x - x is 0 for finite x, otherwise NaN. */
bool cp_reals_finite(const cp_real *values, size_t count) {
    cp_real sum[8] = {0};
    size_t  i = 0;
    for (; i + 8 <= count; i += 8)
        for (size_t k = 0; k < 8; k++) sum[k] += values[i + k] - values[i + k];
    for (; i < count; i++) sum[0] += values[i] - values[i];
    for (size_t k = 1; k < 8; k++) sum[0] += sum[k];
    return sum[0] == 0;
}

/* Four interleaved sums: an order the compiler may vectorize. */
double cp_reals_squares(const cp_real *values, size_t count, double scale) {
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; k++) sum[k] += (double)values[i + k] * scale * ((double)values[i + k] * scale);
    for (; i < count; i++) sum[0] += (double)values[i] * scale * ((double)values[i] * scale);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

typedef struct persistent {
    cp_tensor tensor;
    cp_change change;
} persistent;

static cp_tensor *tensor_new(cp_at at, const char *op, cp_shape shape) {
    size_t size;
    if (!cp_shape_check(at, op, shape) || !cp_shape_size(shape, &size)) return NULL;
    persistent *made = calloc(1, sizeof *made);
    cp_real    *data = calloc(size ? size : 1, sizeof *data);
    if (!made || !data) {
        cp_misuse(at, op, "out of memory for shape %s", cp_dims_text(shape).s);
        free(made);
        free(data);
        return NULL;
    }
    cp_tensor *t = &made->tensor;
    t->change = &made->change;
    t->shape = shape;
    t->size = size;
    t->data = data;
    t->id = -1;
    t->holds = -1; /* a sweep never releases it */
    return t;
}

cp_tensor *(cp_tensor_new)(cp_at at, cp_shape shape) { return tensor_new(at, "tensor_new", shape); }

cp_tensor *(cp_parameter_new)(cp_at at, cp_reals_in data, cp_shape shape) {
    if (!data.at) return cp_refuse(at, "parameter_new", "data is NULL");
    cp_tensor *t = tensor_new(at, "parameter_new", shape);
    if (!t) return NULL;
    if (t->size) memcpy(t->data, data.at, t->size * sizeof *t->data);
    t->tracked = true;
    return t;
}

void cp_tensor_free(cp_tensor *t) {
    if (!t || t->tape) return; /* the tape frees its tensors */
    free(t->data);
    free(t);
}

void(cp_tensor_changed)(cp_at at, cp_tensor *t, const char *by) {
    if (!t || t->tape) return;
    static _Atomic unsigned versions;
    t->version = ++versions;
    if (t->change) *t->change = (cp_change){by, at.file, at.line};
}

cp_real(cp_item)(cp_at at, const cp_tensor *t) {
    if (!t || !cp_tensor_usable(at, "item", "the tensor", t)) return (cp_real)NAN;
    if (t->size != 1)
        cp_misuse(at, "item", "shape %s has %zu values, one is needed: take cp_mean or cp_sum, or read ->data[i]",
                  cp_shape_text(t).s, t->size);
    return t->size == 1 ? t->data[0] : (cp_real)NAN;
}

enum { EDGE = 3, LONG_AXIS = 8 }; /* an axis longer than LONG_AXIS shows EDGE values at each end */

static void print_axis(FILE *file, const cp_tensor *t, int axis, size_t offset, size_t block) {
    if (axis == t->rank) {
        fprintf(file, " %.5g", (double)t->data[offset]);
        return;
    }
    int n = t->dims[axis];
    block = n ? block / (size_t)n : 0;
    bool innermost = axis == t->rank - 1;
    fprintf(file, "[");
    for (int i = 0; i < n; i++) {
        if (i && !innermost) fprintf(file, "\n%*s", axis + 1, "");
        if (n > LONG_AXIS && i == EDGE) {
            fprintf(file, innermost ? " ..." : "...");
            i = n - EDGE - 1;
            continue;
        }
        print_axis(file, t, axis + 1, offset + (size_t)i * block, block);
    }
    fprintf(file, innermost ? " ]" : "]");
}

void(cp_tensor_print)(cp_at at, FILE *file, const cp_tensor *t) {
    if (t && !cp_tensor_usable(at, "tensor_print", "the tensor", t)) return;
    if (!t) {
        fprintf(file, "NULL\n");
        return;
    }
    fprintf(file, "%s%s%s %s\n", t->name ? t->name : "", t->name ? " " : "", cp_shape_text(t).s, CP_REAL_NAME);
    print_axis(file, t, 0, 0, t->size);
    fprintf(file, "\n");
}
