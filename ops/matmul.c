/* Matrix products, and the triangular helpers for a full precision matrix. */
#include "core/export.h"
#include "core/io/json.h"
#include "core/kernels/kernels.h"
#include "ops/ops.h"

/* ---- matmul ---- */

/* With C = op(A) op(B), G its gradient: dop(A) = G op(B)^T, dop(B) = op(A)^T G, each transposed if the flag says so. */
static void matmul_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor *a = node->in[0], *b = node->in[1];
    unsigned   flags = *(const unsigned *)node->attr;
    bool       ta = flags & CP_TRANSPOSE_A, tb = flags & CP_TRANSPOSE_B;
    if (cp_needs(node, 0)) {
        cp_tensor *ga =
            ta ? cp_matmul(at, b, g, (tb ? CP_TRANSPOSE_A : 0) | CP_TRANSPOSE_B) : cp_matmul(at, g, b, tb ? 0 : CP_TRANSPOSE_B);
        gin[0] = cp_sum_to(at, ga, a->shape);
    }
    if (cp_needs(node, 1)) {
        cp_tensor *gb =
            tb ? cp_matmul(at, g, a, CP_TRANSPOSE_A | (ta ? CP_TRANSPOSE_B : 0)) : cp_matmul(at, a, g, ta ? 0 : CP_TRANSPOSE_A);
        gin[1] = cp_sum_to(at, gb, b->shape);
    }
}

static int matmul_to_onnx(cp_export *e, const cp_node *node) {
    unsigned flags = *(const unsigned *)node->attr;
    int      in[2];
    for (int i = 0; i < 2; i++) {
        int rank = node->in[i]->rank, order[CP_MAX_RANK] = {0, 1, 2, 3, 4};
        order[rank - 1] = rank - 2, order[rank - 2] = rank - 1;
        in[i] = cp_export_in(e, i);
        if (flags & (i ? CP_TRANSPOSE_B : CP_TRANSPOSE_A)) in[i] = cp_export_transpose(e, in[i], rank, order);
    }
    return cp_export_pair(e, "MatMul", in[0], in[1]);
}

static void transposed_put(cp_json_writer *w, const cp_node *node) {
    unsigned flags = *(const unsigned *)node->attr;
    cp_json_put_integers(w, "transposed", (int[]){flags & CP_TRANSPOSE_A ? 1 : 0, flags & CP_TRANSPOSE_B ? 1 : 0}, 2);
}

CP_OP(matmul, .to_onnx = matmul_to_onnx, .attributes = transposed_put, .formula = "op(a) op(b)",
      .keeps = {CP_KEEPS_IN(1), CP_KEEPS_IN(0)}, .rule = "op(a): g op(b)^T; op(b): op(a)^T g",
      .words = "Each matrix gets the incoming gradient multiplied by the other matrix, transposed, on the "
               "side of that matrix; leading axes that were repeated are summed.");

typedef struct product {
    size_t   m, n, k, batch;
    cp_shape shape;
} product;

static bool product_plan(cp_at at, const cp_tensor *a, const cp_tensor *b, unsigned flags, product *p) {
    const char *op = "matmul", *ta = flags & CP_TRANSPOSE_A ? "^T" : "", *tb = flags & CP_TRANSPOSE_B ? "^T" : "";
    if (a->rank < 2 || b->rank < 2)
        return cp_misuse(at, op, "%s by %s: both need at least two axes", cp_shape_text(a).s, cp_shape_text(b).s);
    int m = a->dims[a->rank - (*ta ? 1 : 2)], ka = a->dims[a->rank - (*ta ? 2 : 1)];
    int n = b->dims[b->rank - (*tb ? 2 : 1)], kb = b->dims[b->rank - (*tb ? 1 : 2)];
    if (ka != kb)
        return cp_misuse(at, op, "cannot multiply %s%s by %s%s: inner sizes %d and %d differ", cp_shape_text(a).s, ta,
                         cp_shape_text(b).s, tb, ka, kb);
    cp_shape of_a = cp_shape_of(a->rank - 2, a->dims), of_b = cp_shape_of(b->rank - 2, b->dims);
    if (!cp_shape_broadcast(&of_a, &of_b, &p->shape))
        return cp_misuse(at, op, "leading axes of %s and %s do not broadcast", cp_shape_text(a).s, cp_shape_text(b).s);
    p->batch = 1;
    for (int i = 0; i < p->shape.rank; i++) p->batch *= (size_t)p->shape.dims[i];
    p->shape.dims[p->shape.rank++] = m;
    p->shape.dims[p->shape.rank++] = n;
    p->m = (size_t)m, p->n = (size_t)n, p->k = (size_t)ka;
    return true;
}

/* The matrix of t for matrix `index` of the batch, with the leading axes broadcast. */
static const cp_real *matrix_at(const cp_tensor *t, const product *p, size_t index) {
    size_t offset = 0, step = 1;
    for (int i = 3; i <= p->shape.rank; i++) {
        size_t size = (size_t)p->shape.dims[p->shape.rank - i], own = i <= t->rank ? (size_t)t->dims[t->rank - i] : 1;
        if (own > 1) offset += index % size * step;
        step *= own;
        index /= size;
    }
    return t->data + offset * (size_t)t->dims[t->rank - 1] * (size_t)t->dims[t->rank - 2];
}

cp_tensor *(cp_matmul)(cp_at at, cp_tensor *a, cp_tensor *b, unsigned flags) {
    product    p;
    cp_tensor *in[] = {a, b};
    if (!cp_check(at, "matmul", 2, in) || !product_plan(at, a, b, flags, &p)) return NULL;
    if (a->rank > 2 && b->rank == 2 && !(flags & CP_TRANSPOSE_A)) { /* one large product instead of many small ones */
        int        rows = a->dims[a->rank - 1] ? -1 : (int)(p.batch * p.m);
        cp_tensor *flat = cp_reshape(at, a, CP_SHAPE(rows, a->dims[a->rank - 1]));
        return cp_reshape(at, cp_matmul(at, flat, b, flags), p.shape);
    }
    cp_tensor *out = cp_out(at, p.shape);
    if (!out) return NULL;
    for (size_t i = 0; i < p.batch; i++)
        if (!cp_kernels()->gemm(cp_scratch(at), flags & CP_TRANSPOSE_A, flags & CP_TRANSPOSE_B, p.m, p.n, p.k, matrix_at(a, &p, i),
                                matrix_at(b, &p, i), out->data + i * p.m * p.n, false))
            return NULL;
    return cp_record_with(at, &cp_op_matmul, out, &flags, sizeof flags, 2, in);
}

/* ---- lower-triangular matrices, from other ops ---- */

const cp_op cp_op_tril_exp = {.name = "tril_exp", .formula = "L from v, exp() on the diagonal"};
const cp_op cp_op_tril_logdet = {.name = "tril_logdet", .formula = "ln det L L^T = 2 sum of v's diagonal"};

static bool is_triangle(cp_at at, const char *op, cp_tensor *v, int d) {
    if (!cp_check(at, op, 1, &v)) return false;
    if (d < 1 || d > 46340 || v->rank != 1 || v->dims[0] != d * (d + 1) / 2)
        return cp_misuse(at, op, "%s does not hold the D(D+1)/2 entries of a triangle with D = %d", cp_shape_text(v).s, d);
    return true;
}

cp_tensor *(cp_tril_exp)(cp_at at, cp_tensor *v, int d) {
    if (!is_triangle(at, "tril_exp", v, d)) return NULL;
    int       *places = cp_tape_alloc(at, v->size * sizeof *places);
    cp_tensor *diagonal = cp_full(at, 0, v->shape);
    if (!places || !diagonal) return NULL;
    for (int row = 0, i = 0; row < d; row++)
        for (int column = 0; column <= row; column++, i++) {
            places[i] = row * d + column;
            diagonal->data[i] = row == column;
        }
    /* exp only on the diagonal: a large entry elsewhere must not become infinite */
    cp_tensor *safe = cp_where(at, diagonal, v, cp_scalar(at, 0));
    cp_tensor *entries = cp_where(at, diagonal, cp_exp(at, safe), v);
    return cp_put(at, entries, (cp_indices){places, (int)v->size}, CP_SHAPE(d, d));
}

cp_tensor *(cp_tril_logdet)(cp_at at, cp_tensor *v, int d) {
    if (!is_triangle(at, "tril_logdet", v, d)) return NULL;
    int *places = cp_tape_alloc(at, (size_t)d * sizeof *places);
    if (!places) return NULL;
    for (int row = 0; row < d; row++) places[row] = row * (row + 3) / 2;
    return cp_scale(at, cp_sum(at, cp_take(at, v, (cp_indices){places, d}, CP_SHAPE(d)), CP_ALL, false), 2);
}
