/* Loops over several arrays in step, for every elementwise, broadcasting, permuting and slicing op.
 *
 * Operand 0 is the output. Each operand has a stride per axis (0 where it is repeated). Contiguous axes are merged, and
 * the row function gets runs along the innermost axis. Large walks run on the pool. */
#pragma once

#include "core/op.h"

enum { CP_WALK_MAX = 4 };

typedef struct cp_walk {
    int       operands, rank;
    size_t    dims[CP_MAX_RANK];
    ptrdiff_t stride[CP_WALK_MAX][CP_MAX_RANK];
    cp_real  *at[CP_WALK_MAX];
} cp_walk;

/* n values of each operand k at at[k], at[k] + step[k], ... */
typedef void (*cp_row_fn)(const void *context, size_t n, cp_real *const *at, const ptrdiff_t *step);

/* A walk over out's shape; add operands that broadcast to it, then run. */
cp_walk cp_walk_over(cp_tensor *out);
void    cp_walk_add(cp_walk *walk, const cp_tensor *operand);
void    cp_walk_run(cp_walk *walk, cp_row_fn row, const void *context);

/* A new tensor of the shape that n tensors broadcast to, filled by row; NULL after cp_misuse when they do not. */
cp_tensor *cp_walk_combine(cp_at at, const char *op, cp_row_fn row, const void *context, int n, cp_tensor *const *in);

void cp_row_copy(const void *context, size_t n, cp_real *const *at, const ptrdiff_t *step); /* operand 1 into operand 0 */

/* Row-major strides of a shape. */
void cp_walk_strides(const cp_shape *shape, ptrdiff_t *stride);
