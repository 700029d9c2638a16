/* Shapes: checking, comparing, broadcasting, and writing them into messages. */
#pragma once

#include "core/tensor.h"

/* A set of axes. Negative axes count from the end; an empty set means all axes. */
typedef struct cp_axes {
    int count;
    int at[CP_MAX_RANK];
} cp_axes;
#define CP_AXES(...) ((cp_axes){(int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}})
#define CP_ALL ((cp_axes){0})

cp_text cp_shape_text(const cp_tensor *t); /* "(3, 4)", "()" , "NULL" */
cp_text cp_dims_text(cp_shape shape);
cp_text cp_index_text(cp_shape shape, size_t i); /* of value i in row-major order: "[2, 0]"; empty for a scalar */

/* The shape with these sizes. An impossible rank, or NULL for the sizes, fails every check. */
cp_shape cp_shape_of(int rank, const int *dims);
cp_shape cp_shape_rows(int count, cp_shape row); /* (count, row...) */

/* The number of values, or false when the rank or a size is out of range or the product of the nonzero sizes (so that
 * strides are safe in empty tensors too) does not fit into memory. */
bool cp_shape_size(cp_shape shape, size_t *size);
bool cp_shape_check(cp_at at, const char *op, cp_shape shape); /* false after cp_misuse: the shape is impossible */
bool cp_shape_same(const cp_tensor *a, const cp_tensor *b);
bool cp_shape_is(const cp_tensor *a, cp_shape shape);
bool cp_shapes_equal(cp_shape a, cp_shape b);

/* The common shape of two under broadcasting (aligned at the last axis, sizes equal or 1); `common` may be a or b. */
bool cp_shape_broadcast(const cp_shape *a, const cp_shape *b, cp_shape *common);

/* Converts a set of axes to flags; false after cp_misuse when one is out of range or appears twice. */
bool cp_axes_flags(cp_at at, const char *op, cp_axes axes, const cp_tensor *a, bool flags[CP_MAX_RANK]);

/* Converts an axis, which may be negative, to 0..rank-1; false after cp_misuse when out of range. */
bool cp_axis_resolve(cp_at at, const char *op, const cp_tensor *a, int *axis);
