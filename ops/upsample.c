/* Images enlarged by whole factors, from other ops. */
#include "core/op.h"
#include "ops/ops.h"

const cp_op cp_op_upsample_nearest = {.name = "upsample_nearest", .formula = "y[n,i,j,c] = x[n, i / factor_h, j / factor_w, c]"};
const cp_op cp_op_upsample_bilinear = {.name = "upsample_bilinear", .formula = "weighted means of the nearest two by two pixels"};

static bool plan(cp_at at, const char *op, cp_tensor *x, int factor_h, int factor_w) {
    if (!cp_check(at, op, 1, &x)) return false;
    if (x->rank != 4) return cp_misuse(at, op, "x has shape %s; it needs 4 axes", cp_shape_text(x).s);
    if (factor_h < 1 || factor_w < 1) return cp_misuse(at, op, "the factors %d and %d must be positive", factor_h, factor_w);
    double values = (double)factor_h * factor_w; /* of no axis 0, so that all products of sizes are possible */
    for (int i = 0; i < 4; i++) values *= x->dims[i] ? x->dims[i] : 1;
    return values <= INT32_MAX || cp_misuse(at, op, "%s times %d by %d is too large", cp_shape_text(x).s, factor_h, factor_w);
}

cp_tensor *(cp_upsample_nearest)(cp_at at, cp_tensor *x, int factor_h, int factor_w) {
    if (!plan(at, "upsample_nearest", x, factor_h, factor_w)) return NULL;
    int        n = x->dims[0], h = x->dims[1], w = x->dims[2], c = x->dims[3];
    cp_tensor *apart = cp_reshape(at, x, CP_SHAPE(n * h, 1, w, 1, c));
    return cp_reshape(at, cp_broadcast_to(at, apart, CP_SHAPE(n * h, factor_h, w, factor_w, c)),
                      CP_SHAPE(n, h * factor_h, w * factor_w, c));
}

/* (factor size, size): the weights of the pixels in each new one, whose center is where it lies in the old image, inside its border. */
static cp_tensor *weights(cp_at at, int size, int factor) {
    cp_tensor *m = cp_full(at, 0, CP_SHAPE(factor * size, size));
    for (int i = 0; m && i < factor * size; i++) {
        double from = (i + 0.5) / factor - 0.5;
        if (from < 0) from = 0;
        int first = (int)from, next = first + 1 < size ? first + 1 : first;
        m->data[(size_t)i * (size_t)size + (size_t)first] += (cp_real)(1 - (from - first));
        m->data[(size_t)i * (size_t)size + (size_t)next] += (cp_real)(from - first);
    }
    return m;
}

cp_tensor *(cp_upsample_bilinear)(cp_at at, cp_tensor *x, int factor_h, int factor_w) {
    if (!plan(at, "upsample_bilinear", x, factor_h, factor_w)) return NULL;
    int        n = x->dims[0], h = x->dims[1], w = x->dims[2], c = x->dims[3], height = h * factor_h;
    cp_tensor *rows = cp_matmul(at, weights(at, h, factor_h), cp_reshape(at, x, CP_SHAPE(n, h, w * c)), 0);
    cp_tensor *both = cp_matmul(at, weights(at, w, factor_w), cp_reshape(at, rows, CP_SHAPE(n * height, w, c)), 0);
    return cp_reshape(at, both, CP_SHAPE(n, height, w * factor_w, c));
}
