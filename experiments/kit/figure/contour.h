/* Contours of a grid of numbers by marching squares. */
#pragma once

#include <stdbool.h>

typedef struct cp_grid {
    int           nx, ny; /* at least 2 each */
    double        x0, x1, y0, y1;
    const double *values; /* ny rows of nx; the first row is at y0, its first value at x0 */
} cp_grid;

/* Gets the corners of one path, x and y in turn, in the grid's coordinates. */
typedef void (*cp_path_fn)(void *user, const double *xy, int corners, bool closed);

/* The lines where the value is `level`. false: not enough memory. */
bool cp_contour_lines(const cp_grid *grid, double level, cp_path_fn path, void *user);

/* The borders of the regions where the value is at least `level`, all closed, holes included: fill them by the
 * even-odd rule. NaN counts as below. */
bool cp_contour_regions(const cp_grid *grid, double level, cp_path_fn path, void *user);
