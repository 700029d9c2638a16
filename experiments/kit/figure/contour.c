/* Marching squares: every side of a cell that the level crosses is a corner of a path, every cell links the crossed
 * sides in pairs, and paths are walks along the links. */
#include "experiments/kit/figure/contour.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct tracer {
    const cp_grid *grid;
    double         level;
    int            pad;           /* 1: a ring of "below" around the grid, at the places of its border */
    int            width, height; /* nodes */
    int (*link)[2];               /* by side: the sides it is linked with, plus one; 0: none */
    bool      *done;
    double    *corners;
    cp_path_fn path;
    void      *user;
} tracer;

static double node_value(const tracer *t, int i, int j) {
    i -= t->pad, j -= t->pad;
    if (i < 0 || j < 0 || i >= t->grid->nx || j >= t->grid->ny) return -INFINITY;
    return t->grid->values[(size_t)j * (size_t)t->grid->nx + (size_t)i];
}

static bool inside(const tracer *t, int i, int j) { return node_value(t, i, j) >= t->level; }

static double place(double a, double b, int index, int count) {
    index = index < 0 ? 0 : index >= count ? count - 1 : index;
    return a + (b - a) * index / (count - 1);
}

/* Side 2k goes right from node k, side 2k + 1 up. */
static int side_of(const tracer *t, int i, int j, int up) { return 2 * (j * t->width + i) + up; }

static void side_crossing(const tracer *t, int side, double *xy) {
    const cp_grid *g = t->grid;
    int            i = side / 2 % t->width, j = side / 2 / t->width, up = side & 1;
    double         a = node_value(t, i, j), b = node_value(t, i + !up, j + up);
    double         share = isfinite(a) && isfinite(b) && a != b ? (t->level - a) / (b - a) : 0.5;
    double         x0 = place(g->x0, g->x1, i - t->pad, g->nx), x1 = place(g->x0, g->x1, i - t->pad + !up, g->nx);
    double         y0 = place(g->y0, g->y1, j - t->pad, g->ny), y1 = place(g->y0, g->y1, j - t->pad + up, g->ny);
    xy[0] = x0 + share * (x1 - x0);
    xy[1] = y0 + share * (y1 - y0);
}

static void link_one(tracer *t, int from, int to) { t->link[from][t->link[from][0] != 0] = to + 1; }

static void link_sides(tracer *t, int a, int b) {
    link_one(t, a, b);
    link_one(t, b, a);
}

static void link_cell(tracer *t, int i, int j) {
    bool in[4] = {inside(t, i, j), inside(t, i + 1, j), inside(t, i + 1, j + 1), inside(t, i, j + 1)};
    int  side[4] = {side_of(t, i, j, 0), side_of(t, i + 1, j, 1), side_of(t, i, j + 1, 0), side_of(t, i, j, 1)};
    int  crossed[4], count = 0;
    for (int k = 0; k < 4; k++)
        if (in[k] != in[(k + 1) % 4]) crossed[count++] = side[k];
    if (count == 2) {
        link_sides(t, crossed[0], crossed[1]);
    } else if (count == 4) { /* a saddle: the middle decides which corners belong together */
        double middle = node_value(t, i, j) + node_value(t, i + 1, j) + node_value(t, i + 1, j + 1) + node_value(t, i, j + 1);
        bool   with_first = (middle / 4 >= t->level) == in[0];
        link_sides(t, side[0], side[with_first ? 1 : 3]);
        link_sides(t, side[2], side[with_first ? 3 : 1]);
    }
}

static void walk(tracer *t, int start) {
    int count = 0, side = start, came = -1;
    for (;;) {
        side_crossing(t, side, t->corners + 2 * count++);
        t->done[side] = true;
        int a = t->link[side][0] - 1, b = t->link[side][1] - 1;
        int next = a >= 0 && a != came && !t->done[a] ? a : b >= 0 && b != came && !t->done[b] ? b : -1;
        if (next < 0) break;
        came = side;
        side = next;
    }
    bool closed = count > 2 && (t->link[side][0] - 1 == start || t->link[side][1] - 1 == start);
    if (count > 1) t->path(t->user, t->corners, count, closed);
}

static bool trace(const cp_grid *grid, double level, int pad, cp_path_fn path, void *user) {
    if (grid->nx < 2 || grid->ny < 2 || isnan(level)) return true;
    tracer t = {.grid = grid,
                .level = level,
                .pad = pad,
                .width = grid->nx + 2 * pad,
                .height = grid->ny + 2 * pad,
                .path = path,
                .user = user};
    size_t sides = 2 * (size_t)t.width * (size_t)t.height;
    t.link = calloc(sides, sizeof *t.link);
    t.done = calloc(sides, sizeof *t.done);
    t.corners = malloc(2 * sides * sizeof *t.corners);
    bool enough = t.link && t.done && t.corners;
    if (enough) {
        for (int j = 0; j + 1 < t.height; j++)
            for (int i = 0; i + 1 < t.width; i++) link_cell(&t, i, j);
        for (int open = 1; open >= 0; open--) /* paths with ends first, then the loops */
            for (size_t s = 0; s < sides; s++)
                if (!t.done[s] && t.link[s][0] && (!open || !t.link[s][1])) walk(&t, (int)s);
    }
    free(t.link);
    free(t.done);
    free(t.corners);
    return enough;
}

bool cp_contour_lines(const cp_grid *grid, double level, cp_path_fn path, void *user) { return trace(grid, level, 0, path, user); }

bool cp_contour_regions(const cp_grid *grid, double level, cp_path_fn path, void *user) {
    return trace(grid, level, 1, path, user);
}
