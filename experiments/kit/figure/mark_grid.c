/* Marks of two variables: bands of color, contours, and heat maps with numbers. */
#include "experiments/kit/figure/figure_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct path_out {
    cp_bytes       *out;
    const cp_frame *frame;
    int             paths;
} path_out;

static void put_path(void *user, const double *xy, int corners, bool closed) {
    path_out *p = user;
    for (int i = 0; i < corners; i++) {
        double x = cp_frame_x(p->frame, xy[2 * i]), y = cp_frame_y(p->frame, xy[2 * i + 1]);
        if (!cp_frame_shows(x, y)) return;
        cp_svg_put(p->out, "%c%.1f %.1f", i ? 'L' : 'M', x, y);
    }
    if (closed) cp_svg_put(p->out, "Z");
    p->paths++;
}

static bool can_be_drawn(const cp_grid *g) { return g->nx >= 2 && g->ny >= 2; }

/* All paths of a level as one element; nothing when there are none. */
static void put_paths(cp_bytes *out, const cp_series *s, const cp_frame *f, double level, const cp_paint *fill,
                      bool (*paths)(const cp_grid *, double, cp_path_fn, void *)) {
    path_out p = {out, f, 0};
    size_t   before = out->size;
    cp_svg_put(out, "<path");
    if (fill) cp_svg_paint(out, fill, NULL);
    cp_svg_put(out, " d=\"");
    if (!paths(&s->grid, level, put_path, &p)) out->failed = true;
    cp_svg_put(out, "\"/>\n");
    if (p.paths == 0 && !out->failed) out->size = before;
}

/* ---- bands ---- */

static cp_paint band_paint(const cp_series *s, int band) {
    double share = s->bands > 1 ? (double)band / (s->bands - 1) : 0;
    if (s->ramp == CP_RAMP_ONE) return cp_paint_mix(cp_paper, cp_series_paint(s), 0.75 * share);
    return cp_paint_mix(cp_paper, cp_palette(share < 0.5 ? 0 : 1), 0.42 * fabs(2 * share - 1));
}

static void put_rect(cp_bytes *out, double x, double y, double w, double h, cp_paint paint) {
    cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", x, y, w, h);
    cp_svg_paint(out, &paint, NULL);
    cp_svg_put(out, "/>\n");
}

static void put_fill(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    double left = cp_frame_x(f, s->grid.x0), right = cp_frame_x(f, s->grid.x1), top = cp_frame_y(f, s->grid.y1),
           bottom = cp_frame_y(f, s->grid.y0);
    if (!can_be_drawn(&s->grid) || !cp_frame_shows(left, top) || !cp_frame_shows(right, bottom)) return;
    cp_svg_put(out, "<g class=\"bands\" fill-rule=\"evenodd\">\n");
    put_rect(out, left, top, right - left, bottom - top, band_paint(s, 0));
    for (int band = 1; band < s->bands; band++) {
        cp_paint paint = band_paint(s, band);
        put_paths(out, s, f, s->low + (s->high - s->low) * band / s->bands, &paint, cp_contour_regions);
    }
    cp_svg_put(out, "</g>\n");
}

static void sample_ramp(cp_bytes *out, const cp_series *s, double x, double y) {
    double width = s->mark->sample_width / s->bands;
    for (int i = 0; i < s->bands; i++) put_rect(out, x + width * i, y - 5, width + 0.3, 10, band_paint(s, i));
}

const cp_mark cp_mark_fill = {"grid", CP_NEEDS_GRID, cp_range_grid, put_fill, 60, sample_ramp, true};

void cp_panel_fill(cp_panel *p, cp_style style, const cp_grid *grid, cp_ramp ramp, int bands, double low, double high) {
    cp_series *s = cp_series_add(p, &cp_mark_fill, style);
    if (!s) return;
    cp_series_set_grid(p, s, grid);
    s->ramp = ramp;
    s->bands = bands < 2 ? 2 : bands;
    s->low = low;
    s->high = high;
}

/* ---- contours ---- */

static void put_contours(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    if (!can_be_drawn(&s->grid)) return;
    cp_open_stroke(out, s, "contours");
    for (int i = 0; i < s->n; i++) put_paths(out, s, f, s->x[i], NULL, cp_contour_lines);
    cp_svg_put(out, "</g>\n");
}

const cp_mark cp_mark_contours = {"contours", CP_NEEDS_X | CP_NEEDS_GRID, cp_range_grid, put_contours, 26, cp_sample_line, false};

void cp_panel_contours(cp_panel *p, cp_style style, const cp_grid *grid, int n, const double *levels) {
    cp_series *s = cp_series_add_data(p, &cp_mark_contours, style, n, levels, NULL, NULL);
    if (s) cp_series_set_grid(p, s, grid);
}

/* ---- cells ---- */

enum { CELL_BANDS = 20 };

static void range_cells(const cp_series *s, cp_range *x, cp_range *y) {
    cp_range_include(x, -0.5), cp_range_include(x, s->grid.nx - 0.5);
    cp_range_include(y, -0.5), cp_range_include(y, s->grid.ny - 0.5);
    x->tight = y->tight = true;
}

static cp_paint cell_paint(const cp_series *s, double value) {
    double share = s->high > s->low ? (value - s->low) / (s->high - s->low) : 0;
    return cp_paint_mix(cp_paper, cp_series_paint(s), isnan(share) ? 0 : fmin(fmax(share, 0), 1));
}

/* The ink or the paper's color, whichever contrasts more with this background, on light and on dark screens. */
static cp_paint readable_on(cp_paint back) {
    cp_paint ink = cp_ink;
    if (cp_contrast(cp_paper.light, back.light) > cp_contrast(ink.light, back.light)) ink.light = cp_paper.light;
    if (cp_contrast(cp_paper.dark, back.dark) > cp_contrast(ink.dark, back.dark)) ink.dark = cp_paper.dark;
    return ink;
}

static void put_text(cp_bytes *out, const char *text, double x, double y, double size, double room, cp_paint back) {
    cp_paint ink = readable_on(back);
    size *= fmin(1, room / cp_text_width(text, size));
    if (size < 5) return; /* too small to be read */
    cp_svg_put(out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\" text-anchor=\"middle\"", x, y + 0.35 * size, size);
    cp_svg_paint(out, &ink, NULL);
    cp_svg_put(out, ">%s</text>\n", text);
}

/* The number of a cell, and below it its share of the row. */
static void put_numbers(cp_bytes *out, const cp_series *s, int i, double x, double y, double width, double height, cp_paint back) {
    const double size = CP_TEXT_SIZE, small = 9;
    char         text[400];
    bool         shares = s->shares && height >= size + small + 8 && width >= 28;
    snprintf(text, sizeof text, "%.*f", s->decimals, s->y[i]);
    if (isfinite(s->y[i])) put_text(out, text, x, shares ? y - 0.45 * size : y, size, width - 4, back);
    snprintf(text, sizeof text, "%.0f %%", 100 * s->grid.values[i]);
    if (shares && isfinite(s->grid.values[i])) put_text(out, text, x, y + 0.85 * small, small, width - 4, back);
}

static void put_cells(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    double width = cp_frame_x(f, 1) - cp_frame_x(f, 0), height = fabs(cp_frame_y(f, 1) - cp_frame_y(f, 0));
    cp_svg_put(out, "<g class=\"cells\">\n");
    for (int row = 0; row < s->grid.ny; row++)
        for (int column = 0; column < s->grid.nx; column++) {
            int      i = row * s->grid.nx + column;
            double   x = cp_frame_x(f, column), y = cp_frame_y(f, row);
            cp_paint paint = cell_paint(s, s->grid.values[i]);
            if (!cp_frame_shows(x, y) || !cp_frame_shows(width, height)) continue;
            put_rect(out, x - width / 2, y - height / 2, width, height, paint);
            if (s->decimals >= 0) put_numbers(out, s, i, x, y, width, height, paint);
        }
    cp_svg_put(out, "</g>\n");
}

static void sample_cells(cp_bytes *out, const cp_series *s, double x, double y) {
    double width = s->mark->sample_width / CELL_BANDS;
    for (int i = 0; i < CELL_BANDS; i++)
        put_rect(out, x + width * i, y - 5, width + 0.3, 10, cell_paint(s, s->low + (s->high - s->low) * i / (CELL_BANDS - 1)));
}

const cp_mark cp_mark_cells = {"cells", CP_NEEDS_Y | CP_NEEDS_GRID, range_cells, put_cells, 60, sample_cells, true};

/* Cells with `numbers` in them, colored by `values`. */
static cp_series *add_cells(cp_panel *p, cp_style style, int rows, int columns, const double *numbers, const double *values,
                            double low, double high, int decimals) {
    cp_series *s =
        rows > 0 && columns > 0 ? cp_series_add_data(p, &cp_mark_cells, style, rows * columns, NULL, numbers, NULL) : NULL;
    if (!s) return NULL;
    cp_series_set_grid(p, s, &(cp_grid){columns, rows, 0, columns - 1, 0, rows - 1, values});
    s->low = low;
    s->high = high;
    s->decimals = decimals < 0 ? -1 : decimals > 12 ? 12 : decimals;
    return s;
}

void cp_panel_cells(cp_panel *p, cp_style style, int rows, int columns, const double *values, double low, double high,
                    int decimals) {
    add_cells(p, style, rows, columns, values, values, low, high, decimals);
}

void cp_panel_confusion(cp_panel *p, cp_style style, int classes, const double *counts) {
    if (!cp_numbers_given("confusion", classes, counts)) return;
    size_t  n = classes > 0 ? (size_t)classes : 0;
    double *share = malloc((n * n + 1) * sizeof *share);
    if (!share && p) p->figure->failed = true;
    for (size_t row = 0; share && row < n; row++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++) sum += counts[row * n + k];
        for (size_t k = 0; k < n; k++) share[row * n + k] = sum > 0 ? counts[row * n + k] / sum : 0;
    }
    cp_series *s = share ? add_cells(p, style, classes, classes, counts, share, 0, 1, 0) : NULL;
    if (s) s->shares = true;
    free(share);
}
