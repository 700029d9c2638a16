/* Loops over several arrays in step. */
#include "ops/walk.h"

#include "core/threads.h"

#include <string.h>

enum { GRAIN = 16384 }; /* values per chunk: some microseconds of work */

void cp_walk_strides(const cp_shape *shape, ptrdiff_t *stride) {
    ptrdiff_t step = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape->dims[i];
    }
}

cp_walk cp_walk_over(cp_tensor *out) {
    cp_walk walk; /* the rest is not read, and clearing it would take longer than a small op */
    walk.operands = 1;
    walk.rank = out->rank;
    walk.at[0] = out->data;
    for (int i = 0; i < out->rank; i++) walk.dims[i] = (size_t)out->dims[i];
    cp_walk_strides(&out->shape, walk.stride[0]);
    return walk;
}

void cp_walk_add(cp_walk *walk, const cp_tensor *operand) {
    int       k = walk->operands++, lead = walk->rank - operand->rank;
    ptrdiff_t own[CP_MAX_RANK];
    cp_walk_strides(&operand->shape, own);
    walk->at[k] = operand->data;
    for (int i = 0; i < lead; i++) walk->stride[k][i] = 0;
    for (int i = 0; i < operand->rank; i++) walk->stride[k][lead + i] = operand->dims[i] == 1 ? 0 : own[i];
}

static bool mergeable(const cp_walk *walk, int outer, int inner) {
    for (int k = 0; k < walk->operands; k++)
        if (walk->stride[k][outer] != walk->stride[k][inner] * (ptrdiff_t)walk->dims[inner]) return false;
    return true;
}

/* Drops axes of size 1 and merges neighbors that are contiguous in every operand. */
static void merge(cp_walk *walk) {
    int kept = 0;
    for (int i = 0; i < walk->rank; i++) {
        if (walk->dims[i] == 1) continue;
        if (kept && mergeable(walk, kept - 1, i)) {
            walk->dims[kept - 1] *= walk->dims[i];
            for (int k = 0; k < walk->operands; k++) walk->stride[k][kept - 1] = walk->stride[k][i];
            continue;
        }
        walk->dims[kept] = walk->dims[i];
        for (int k = 0; k < walk->operands; k++) walk->stride[k][kept] = walk->stride[k][i];
        kept++;
    }
    if (!kept) {
        walk->dims[0] = 1;
        for (int k = 0; k < walk->operands; k++) walk->stride[k][0] = 1;
        kept = 1;
    }
    walk->rank = kept;
}

typedef struct run {
    const cp_walk *walk;
    cp_row_fn      row;
    const void    *context;
} run;

static void walk_part(void *context, size_t begin, size_t end) {
    const run     *r = context;
    const cp_walk *walk = r->walk;
    int            last = walk->rank - 1;
    size_t         index[CP_MAX_RANK], inner = walk->dims[last], rest = begin;
    ptrdiff_t      step[CP_WALK_MAX] = {0};
    cp_real       *at[CP_WALK_MAX];
    for (int i = last; i >= 0; i--) {
        index[i] = rest % walk->dims[i];
        rest /= walk->dims[i];
    }
    for (int k = 0; k < walk->operands; k++) step[k] = walk->stride[k][last];
    for (size_t done = begin; done < end;) {
        size_t n = inner - index[last] < end - done ? inner - index[last] : end - done;
        for (int k = 0; k < walk->operands; k++) {
            at[k] = walk->at[k];
            for (int i = 0; i <= last; i++) at[k] += (ptrdiff_t)index[i] * walk->stride[k][i];
        }
        r->row(r->context, n, at, step);
        done += n;
        index[last] += n;
        for (int i = last; i > 0 && index[i] == walk->dims[i]; i--) {
            index[i] = 0;
            index[i - 1]++;
        }
    }
}

void cp_walk_run(cp_walk *walk, cp_row_fn row, const void *context) {
    size_t total = 1;
    for (int i = 0; i < walk->rank; i++) total *= walk->dims[i];
    if (!total) return;
    merge(walk);
    cp_parallel(total, GRAIN, walk_part, &(run){walk, row, context});
}

cp_tensor *cp_walk_combine(cp_at at, const char *op, cp_row_fn row, const void *context, int n, cp_tensor *const *in) {
    cp_shape common = CP_SCALAR;
    if (!cp_check(at, op, n, in)) return NULL;
    for (int i = 0; i < n; i++)
        if (!cp_shape_broadcast(&common, &in[i]->shape, &common))
            return cp_refuse(at, op, "shapes %s%s%s and %s do not broadcast", cp_shape_text(in[0]).s, n == 3 ? ", " : "",
                             n == 3 ? cp_shape_text(in[1]).s : "", cp_shape_text(in[n - 1]).s);
    cp_tensor *out = cp_out(at, common);
    if (!out) return NULL;
    cp_walk walk = cp_walk_over(out);
    for (int i = 0; i < n; i++) cp_walk_add(&walk, in[i]);
    cp_walk_run(&walk, row, context);
    return out;
}

void cp_row_copy(const void *context, size_t n, cp_real *const *at, const ptrdiff_t *step) {
    (void)context;
    cp_real       *out = at[0];
    const cp_real *in = at[1];
    if (step[0] == 1 && step[1] == 1)
        memcpy(out, in, n * sizeof *out);
    else
        for (size_t i = 0; i < n; i++) out[(ptrdiff_t)i * step[0]] = in[(ptrdiff_t)i * step[1]];
}
