/* Persistent tensors, and how a tensor shows itself. */
#include "core/tensor.h"

#include "core/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cp_tensor *tensor_new(cp_at at, const char *op, int rank, const int *dims) {
    size_t size;
    if (!cp_shape_check(at, op, rank, dims) || !cp_shape_size(rank, dims, &size)) return NULL;
    cp_tensor *t = calloc(1, sizeof *t);
    cp_real   *data = calloc(size ? size : 1, sizeof *data);
    if (!t || !data) {
        cp_misuse(at, op, "out of memory for shape %s", cp_dims_text(rank, dims).s);
        free(t);
        free(data);
        return NULL;
    }
    t->rank = rank;
    if (rank) memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
    t->size = size;
    t->data = data;
    t->id = -1;
    t->holds = -1; /* never a sweep's to give back */
    return t;
}

cp_tensor *(cp_tensor_new)(cp_at at, int rank, const int *dims) {
    return tensor_new(at, "tensor_new", rank, dims);
}

cp_tensor *(cp_parameter_new)(cp_at at, const cp_real *data, int rank, const int *dims) {
    if (!data) {
        cp_misuse(at, "parameter_new", "data is NULL");
        return NULL;
    }
    cp_tensor *t = tensor_new(at, "parameter_new", rank, dims);
    if (!t) return NULL;
    if (t->size) memcpy(t->data, data, t->size * sizeof *data);
    t->tracked = true;
    return t;
}

void cp_tensor_free(cp_tensor *t) {
    if (!t || t->tape) return; /* a tape's tensor goes with its tape */
    free(t->data);
    free(t);
}

cp_real cp_item(const cp_tensor *t) {
    return t && t->size == 1 ? t->data[0] : (cp_real)NAN;
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

void cp_tensor_print(FILE *file, const cp_tensor *t) {
    if (!t) {
        fprintf(file, "NULL\n");
        return;
    }
    fprintf(file, "%s%s%s %s\n", t->name ? t->name : "", t->name ? " " : "", cp_shape_text(t).s, CP_REAL_NAME);
    print_axis(file, t, 0, 0, t->size);
    fprintf(file, "\n");
}
