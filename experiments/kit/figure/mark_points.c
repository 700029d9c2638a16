/* Marks: points, lines with error bars, and straight lines across the panel. */
#include "experiments/kit/figure/figure_parts.h"

#include <math.h>

cp_paint cp_series_paint(const cp_series *s) { return cp_palette(s->style.color); }

static double opacity_of(const cp_series *s) { return s->style.opacity > 0 ? s->style.opacity : 1; }

/* ---- points ---- */

static cp_marker marker_of(const cp_series *s) {
    return s->style.marker ? s->style.marker : (cp_marker)(CP_CIRCLE + (s->style.color % 6 + 6) % 6);
}

void cp_put_point(cp_bytes *out, cp_marker marker, double x, double y, double r) {
    double q = r * 0.886, t = r * 1.2; /* squares and triangles of about the circle's area */
    switch (marker) {
    case CP_SQUARE:
        cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", x - q, y - q, 2 * q, 2 * q);
        break;
    case CP_TRIANGLE: cp_svg_put(out, "<path d=\"M%.2f %.2fl%.2f %.2fh%.2fz\"/>\n", x, y - t, t, 1.8 * t, -2 * t); break;
    case CP_DIAMOND:
        cp_svg_put(out, "<path d=\"M%.2f %.2fl%.2f %.2fl%.2f %.2fl%.2f %.2fz\"/>\n", x, y - t, t, t, -t, t, -t, -t);
        break;
    case CP_PLUS: cp_svg_put(out, "<path d=\"M%.2f %.2fh%.2fM%.2f %.2fv%.2f\"/>\n", x - t, y, 2 * t, x, y - t, 2 * t); break;
    case CP_CROSS:
        cp_svg_put(out, "<path d=\"M%.2f %.2fl%.2f %.2fm0 %.2fl%.2f %.2f\"/>\n", x - r, y - r, 2 * r, 2 * r, -2 * r, -2 * r, 2 * r);
        break;
    case CP_NO_MARK: break;
    default: cp_svg_put(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"/>\n", x, y, r);
    }
}

static void open_points(cp_bytes *out, const cp_series *s) {
    cp_marker m = marker_of(s);
    cp_paint  paint = cp_series_paint(s);
    bool      open = s->style.ring || m == CP_PLUS || m == CP_CROSS;
    cp_svg_put(out, "<g class=\"points\"");
    cp_svg_paint(out, open ? NULL : &paint, open ? &paint : &cp_paper);
    cp_svg_put(out, " stroke-width=\"%g\"%s opacity=\"%g\">\n", open ? 1.2 : 1.0, open ? "" : " paint-order=\"stroke\"",
               opacity_of(s));
}

static double radius_of(const cp_series *s) { return s->style.size > 0 && s->mark == &cp_mark_points ? s->style.size : 3; }

static void put_points(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    open_points(out, s);
    for (int i = 0; i < s->n; i++) {
        double x = cp_frame_x(f, s->x[i]), y = cp_frame_y(f, s->y[i]);
        if (cp_frame_shows(x, y)) cp_put_point(out, marker_of(s), x, y, radius_of(s));
    }
    cp_svg_put(out, "</g>\n");
}

static void sample_point(cp_bytes *out, const cp_series *s, double x, double y) {
    open_points(out, s);
    cp_put_point(out, marker_of(s), x + s->mark->sample_width / 2, y, fmax(radius_of(s), 3.2));
    cp_svg_put(out, "</g>\n");
}

const cp_mark cp_mark_points = {"points", CP_NEEDS_X | CP_NEEDS_Y, cp_range_points, put_points, 8, sample_point, false};

void cp_panel_points(cp_panel *p, cp_style style, int n, const double *x, const double *y) {
    cp_series_add_data(p, &cp_mark_points, style, n, x, y, NULL);
}

/* ---- lines ---- */

static const char *dash_of(const cp_series *s) {
    static const char *const dashes[] = {"", "", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"1.5 3.5\"",
                                         " stroke-dasharray=\"8 3 2 3\""};
    int                      turn = (s->style.color % 4 + 4) % 4;
    return dashes[s->style.dash ? s->style.dash : (cp_dash)(CP_SOLID + turn)];
}

void cp_open_stroke(cp_bytes *out, const cp_series *s, const char *class) {
    cp_paint paint = cp_series_paint(s);
    cp_svg_put(out, "<g class=\"%s\"", class);
    cp_svg_paint(out, NULL, &paint);
    cp_svg_put(out, " stroke-width=\"%g\" stroke-linejoin=\"round\" stroke-linecap=\"%s\" opacity=\"%g\"%s>\n",
               s->style.size > 0 ? s->style.size : 1.8, *dash_of(s) ? "butt" : "round", opacity_of(s), dash_of(s));
}

static void put_polyline(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    bool drawing = false;
    cp_open_stroke(out, s, "line");
    cp_svg_put(out, "<path d=\"");
    for (int i = 0; i < s->n; i++) {
        double x = cp_frame_x(f, s->x[i]), y = cp_frame_y(f, s->y[i]);
        bool   shown = cp_frame_shows(x, y);
        if (shown) cp_svg_put(out, "%c%.2f %.2f", drawing ? 'L' : 'M', x, y);
        drawing = shown;
    }
    cp_svg_put(out, "\"/>\n</g>\n");
}

void cp_put_error_bar(cp_bytes *out, const cp_frame *f, double x, double value, double error, double cap) {
    double low = cp_frame_y(f, value - error), high = cp_frame_y(f, value + error);
    if (!isfinite(low)) low = f->top + f->h; /* below what a log axis can show */
    if (!cp_frame_shows(x, low) || !cp_frame_shows(x, high)) return;
    cp_svg_put(out, "<path d=\"M%.2f %.2fV%.2fM%.2f %.2fh%.2fM%.2f %.2fh%.2f\"/>\n", x, low, high, x - cap, low, 2 * cap, x - cap,
               high, 2 * cap);
}

/* From the first point's upper end to the last one's, and back along the lower ends. */
static void put_band(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    cp_paint paint = cp_series_paint(s);
    char     command = 'M';
    cp_svg_put(out, "<g class=\"errors\"");
    cp_svg_paint(out, &paint, NULL);
    cp_svg_put(out, " opacity=\"0.15\">\n<path d=\"");
    for (int i = 0; i < 2 * s->n; i++) {
        int    k = i < s->n ? i : 2 * s->n - 1 - i;
        double x = cp_frame_x(f, s->x[k]), y = cp_frame_y(f, s->y[k] + (i < s->n ? s->error[k] : -s->error[k]));
        if (!cp_frame_shows(x, y)) continue;
        cp_svg_put(out, "%c%.2f %.2f", command, x, y);
        command = 'L';
    }
    cp_svg_put(out, "Z\"/>\n</g>\n");
}

static void put_line(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    if (s->n == 0) return;
    if (s->error && s->style.band) put_band(out, s, f);
    put_polyline(out, s, f);
    if (s->error && !s->style.band) {
        cp_paint paint = cp_series_paint(s);
        cp_svg_put(out, "<g class=\"errors\"");
        cp_svg_paint(out, NULL, &paint);
        cp_svg_put(out, " stroke-width=\"1.2\">\n");
        for (int i = 0; i < s->n; i++) cp_put_error_bar(out, f, cp_frame_x(f, s->x[i]), s->y[i], s->error[i], 4);
        cp_svg_put(out, "</g>\n");
    }
    if (marker_of(s) != CP_NO_MARK) put_points(out, s, f);
}

void cp_sample_line(cp_bytes *out, const cp_series *s, double x, double y) {
    cp_open_stroke(out, s, "line");
    cp_svg_put(out, "<path d=\"M%.2f %.2fh%.2f\"/>\n</g>\n", x, y, s->mark->sample_width);
}

static void sample_marked_line(cp_bytes *out, const cp_series *s, double x, double y) {
    cp_sample_line(out, s, x, y);
    if (marker_of(s) != CP_NO_MARK) sample_point(out, s, x, y);
}

const cp_mark cp_mark_line = {"line", CP_NEEDS_X | CP_NEEDS_Y, cp_range_points, put_line, 26, sample_marked_line, false};

void cp_panel_line(cp_panel *p, cp_style style, int n, const double *x, const double *y, const double *error) {
    cp_series_add_data(p, &cp_mark_line, style, n, x, y, error);
}

/* ---- straight across, straight down ---- */

static void range_level(const cp_series *s, cp_range *x, cp_range *y) {
    (void)x;
    if (s->n) cp_range_include(y, s->y[0]);
}

static void put_level(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    double y = s->n ? cp_frame_y(f, s->y[0]) : NAN;
    if (!cp_frame_shows(0, y)) return;
    cp_open_stroke(out, s, "level");
    cp_svg_put(out, "<path d=\"M%.2f %.2fH%.2f\"/>\n</g>\n", f->left, y, f->left + f->w);
}

const cp_mark cp_mark_level = {"level", CP_NEEDS_Y, range_level, put_level, 26, cp_sample_line, false};

void cp_panel_level(cp_panel *p, cp_style style, double y) { cp_series_add_data(p, &cp_mark_level, style, 1, NULL, &y, NULL); }

static void range_vertical(const cp_series *s, cp_range *x, cp_range *y) {
    (void)y;
    if (s->n) cp_range_include(x, s->x[0]);
}

static void put_vertical(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    double x = s->n ? cp_frame_x(f, s->x[0]) : NAN;
    if (!cp_frame_shows(x, 0)) return;
    cp_open_stroke(out, s, "vertical");
    cp_svg_put(out, "<path d=\"M%.2f %.2fV%.2f\"/>\n</g>\n", x, f->top, f->top + f->h);
}

const cp_mark cp_mark_vertical = {"vertical", CP_NEEDS_X, range_vertical, put_vertical, 26, cp_sample_line, false};

void cp_panel_vertical(cp_panel *p, cp_style style, double x) {
    cp_series_add_data(p, &cp_mark_vertical, style, 1, &x, NULL, NULL);
}
