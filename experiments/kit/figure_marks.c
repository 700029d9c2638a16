/* What is drawn inside a panel's axes. */
#include "experiments/kit/figure_marks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FAR = 1e5; /* coordinates beyond are cut: some viewers mishandle very large ones */

double cp_frame_x(const cp_frame *f, double value) {
    return f->left + f->w * cp_axis_share(&f->x, value);
}

double cp_frame_y(const cp_frame *f, double value) {
    return f->top + f->h * (1 - cp_axis_share(&f->y, value));
}

static bool visible(double x, double y) {
    return isfinite(x) && isfinite(y) && fabs(x) < FAR && fabs(y) < FAR;
}

static cp_color_text color_of(const cp_series *s) {
    return cp_color_hex(cp_palette(s->style.color));
}

/* ---- points ---- */

static cp_marker marker_of(const cp_series *s) {
    return s->style.marker ? s->style.marker : (cp_marker)(CP_CIRCLE + s->style.color % 6);
}

static void put_point(cp_bytes *out, cp_marker marker, double x, double y, double r) {
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
    bool      open = s->style.ring || m == CP_PLUS || m == CP_CROSS;
    double    opacity = s->style.opacity > 0 ? s->style.opacity : 1;
    cp_svg_put(out, "<g class=\"points\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%g\"%s opacity=\"%g\">\n",
               open ? "none" : color_of(s).s, open ? color_of(s).s : "#ffffff", open ? 1.2 : 1.0,
               open ? "" : " paint-order=\"stroke\"", opacity);
}

static double radius_of(const cp_series *s) {
    return s->style.size > 0 && s->kind == CP_SERIES_POINTS ? s->style.size : 3;
}

static void put_points(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    open_points(out, s);
    for (int i = 0; i < s->n; i++) {
        double x = cp_frame_x(f, s->x[i]), y = cp_frame_y(f, s->y[i]);
        if (visible(x, y)) put_point(out, marker_of(s), x, y, radius_of(s));
    }
    cp_svg_put(out, "</g>\n");
}

/* ---- lines ---- */

static const char *dash_of(const cp_series *s) {
    static const char *const dashes[] = {"", "", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"1.5 3.5\"",
                                         " stroke-dasharray=\"8 3 2 3\""};
    cp_dash                  dash = s->style.dash ? s->style.dash : (cp_dash)(CP_SOLID + s->style.color % 4);
    return dashes[dash];
}

static void open_stroke(cp_bytes *out, const cp_series *s, const char *class) {
    cp_svg_put(out,
               "<g class=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" stroke-linejoin=\"round\" "
               "stroke-linecap=\"%s\" opacity=\"%g\"%s>\n",
               class, color_of(s).s, s->style.size > 0 ? s->style.size : 1.8, *dash_of(s) ? "butt" : "round",
               s->style.opacity > 0 ? s->style.opacity : 1, dash_of(s));
}

static void put_polyline(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    bool drawing = false;
    open_stroke(out, s, "line");
    cp_svg_put(out, "<path d=\"");
    for (int i = 0; i < s->n; i++) {
        double x = cp_frame_x(f, s->x[i]), y = cp_frame_y(f, s->y[i]);
        bool   shown = visible(x, y);
        if (shown) cp_svg_put(out, "%c%.2f %.2f", drawing ? 'L' : 'M', x, y);
        drawing = shown;
    }
    cp_svg_put(out, drawing || s->n > 0 ? "\"/>\n</g>\n" : "M0 0\"/>\n</g>\n");
}

static void put_error_bar(cp_bytes *out, const cp_frame *f, double x, double value, double error, double cap) {
    double low = cp_frame_y(f, value - error), high = cp_frame_y(f, value + error);
    if (!isfinite(low)) low = f->top + f->h; /* below what a log axis can show */
    if (!visible(x, low) || !visible(x, high)) return;
    cp_svg_put(out, "<path d=\"M%.2f %.2fV%.2fM%.2f %.2fh%.2fM%.2f %.2fh%.2f\"/>\n", x, low, high, x - cap, low, 2 * cap, x - cap,
               high, 2 * cap);
}

static void put_error_bars(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    if (!s->error) return;
    cp_svg_put(out, "<g class=\"errors\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.2\">\n", color_of(s).s);
    for (int i = 0; i < s->n; i++) put_error_bar(out, f, cp_frame_x(f, s->x[i]), s->y[i], s->error[i], 4);
    cp_svg_put(out, "</g>\n");
}

static void put_line(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    if (s->n == 0) return;
    put_polyline(out, s, f);
    put_error_bars(out, s, f);
    if (marker_of(s) != CP_NO_MARK) put_points(out, s, f);
}

static void put_level(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    double y = s->n ? cp_frame_y(f, s->y[0]) : NAN;
    if (!visible(0, y)) return;
    open_stroke(out, s, "level");
    cp_svg_put(out, "<path d=\"M%.2f %.2fH%.2f\"/>\n</g>\n", f->left, y, f->left + f->w);
}

/* ---- bars, histograms, boxes ---- */

static void put_bar(cp_bytes *out, const cp_frame *f, double left, double right, double value) {
    double top = cp_frame_y(f, value), floor_y = cp_frame_y(f, 0);
    if (!isfinite(floor_y) || floor_y > f->top + f->h) floor_y = f->top + f->h;
    if (!visible(left, top) || !visible(right, floor_y)) return;
    cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", left, fmin(top, floor_y), right - left,
               fabs(floor_y - top));
}

/* The room of one of several things that stand side by side at x, as a share of a unit. */
static void slot(const cp_series *s, const cp_frame *f, double x, double *left, double *right) {
    double width = 0.76 / s->places, from = x - 0.38 + width * s->place;
    *left = cp_frame_x(f, from + 0.04 * width);
    *right = cp_frame_x(f, from + 0.96 * width);
}

static void open_area(cp_bytes *out, const cp_series *s, const char *class) {
    cp_svg_put(out, "<g class=\"%s\" fill=\"%s\" fill-opacity=\"%g\" stroke=\"%s\" stroke-width=\"1\">\n", class, color_of(s).s,
               s->style.opacity > 0 ? s->style.opacity : 0.8, color_of(s).s);
}

static void put_bars(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    double left, right;
    open_area(out, s, "bars");
    for (int i = 0; i < s->n; i++) {
        slot(s, f, s->x[i], &left, &right);
        put_bar(out, f, left, right, s->y[i]);
    }
    cp_svg_put(out, "</g>\n");
    if (!s->error) return;
    cp_svg_put(out, "<g class=\"errors\" fill=\"none\" stroke=\"#222222\" stroke-width=\"1.2\">\n");
    for (int i = 0; i < s->n; i++) {
        slot(s, f, s->x[i], &left, &right);
        put_error_bar(out, f, (left + right) / 2, s->y[i], s->error[i], fmin(5, (right - left) / 4));
    }
    cp_svg_put(out, "</g>\n");
}

static void put_histogram(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    open_area(out, s, "histogram");
    for (int i = 0; i < s->n; i++) put_bar(out, f, cp_frame_x(f, s->x[i]), cp_frame_x(f, s->x[i] + s->width), s->y[i]);
    cp_svg_put(out, "</g>\n");
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double share) {
    double at = share * (n - 1);
    int    i = (int)at;
    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

static void put_box_of(cp_bytes *out, const cp_series *s, const cp_frame *f, const double *v, int n) {
    double low = quantile(v, n, 0.25), middle = quantile(v, n, 0.5), high = quantile(v, n, 0.75), reach = 1.5 * (high - low), left,
           right;
    int first = 0, last = n - 1;
    while (v[first] < low - reach) first++;
    while (v[last] > high + reach) last--;
    slot(s, f, s->x[0], &left, &right);
    double center = (left + right) / 2, y_low = cp_frame_y(f, low), y_high = cp_frame_y(f, high), y_middle = cp_frame_y(f, middle);
    double y_first = cp_frame_y(f, v[first]), y_last = cp_frame_y(f, v[last]), cap = (right - left) / 4;
    if (!visible(left, y_low) || !visible(right, y_high) || !visible(center, y_first) || !visible(center, y_last)) return;
    cp_svg_put(out, "<g class=\"box\" fill=\"%s\" stroke=\"%s\" stroke-width=\"1.2\">\n",
               cp_color_hex(cp_color_mix((cp_color){255, 255, 255}, cp_palette(s->style.color), 0.35)).s, color_of(s).s);
    cp_svg_put(out, "<path d=\"M%.2f %.2fV%.2fM%.2f %.2fV%.2fM%.2f %.2fh%.2fM%.2f %.2fh%.2f\"/>\n", center, y_first, y_low, center,
               y_high, y_last, center - cap, y_first, 2 * cap, center - cap, y_last, 2 * cap);
    cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", left, y_high, right - left, y_low - y_high);
    cp_svg_put(out, "<path d=\"M%.2f %.2fH%.2f\" stroke=\"#222222\" stroke-width=\"2\"/>\n", left, y_middle, right);
    for (int i = 0; i < n; i++) {
        double y = cp_frame_y(f, v[i]);
        if ((i < first || i > last) && visible(center, y)) put_point(out, CP_CIRCLE, center, y, 2.5);
    }
    cp_svg_put(out, "</g>\n");
}

static void put_box(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    double *sorted = malloc((size_t)(s->n + 1) * sizeof *sorted);
    int     n = 0;
    if (!sorted) out->failed = true;
    for (int i = 0; sorted && i < s->n; i++)
        if (isfinite(s->y[i])) sorted[n++] = s->y[i];
    if (n > 0) {
        qsort(sorted, (size_t)n, sizeof *sorted, ascending);
        put_box_of(out, s, f, sorted, n);
    }
    free(sorted);
}

/* ---- grids ---- */

typedef struct path_out {
    cp_bytes       *out;
    const cp_frame *frame;
    int             paths;
} path_out;

static void put_path(void *user, const double *xy, int corners, bool closed) {
    path_out *p = user;
    for (int i = 0; i < corners; i++) {
        double x = cp_frame_x(p->frame, xy[2 * i]), y = cp_frame_y(p->frame, xy[2 * i + 1]);
        if (!visible(x, y)) return;
        cp_svg_put(p->out, "%c%.1f %.1f", i ? 'L' : 'M', x, y);
    }
    if (closed) cp_svg_put(p->out, "Z");
    p->paths++;
}

static cp_color band_color(const cp_series *s, int band) {
    const cp_color white = {255, 255, 255};
    double         share = s->bands > 1 ? (double)band / (s->bands - 1) : 0;
    if (s->ramp == CP_RAMP_ONE) return cp_color_mix(white, cp_palette(s->style.color), 0.75 * share);
    cp_color end = cp_palette(share < 0.5 ? 0 : 1);
    return cp_color_mix(white, end, 0.42 * fabs(2 * share - 1));
}

static void put_fill(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    double left = cp_frame_x(f, s->grid.x0), right = cp_frame_x(f, s->grid.x1), top = cp_frame_y(f, s->grid.y1),
           bottom = cp_frame_y(f, s->grid.y0);
    if (s->grid.nx < 2 || s->grid.ny < 2 || !visible(left, top) || !visible(right, bottom)) return;
    cp_svg_put(out,
               "<g class=\"bands\" fill-rule=\"evenodd\">\n<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
               "fill=\"%s\"/>\n",
               left, top, right - left, bottom - top, cp_color_hex(band_color(s, 0)).s);
    for (int band = 1; band < s->bands; band++) {
        path_out p = {out, f, 0};
        size_t   before = out->size;
        cp_svg_put(out, "<path fill=\"%s\" d=\"", cp_color_hex(band_color(s, band)).s);
        if (!cp_contour_regions(&s->grid, s->low + (s->high - s->low) * band / s->bands, put_path, &p)) out->failed = true;
        cp_svg_put(out, "\"/>\n");
        if (p.paths == 0 && !out->failed) out->size = before;
    }
    cp_svg_put(out, "</g>\n");
}

static void put_contours(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    if (s->grid.nx < 2 || s->grid.ny < 2) return;
    open_stroke(out, s, "contours");
    for (int i = 0; i < s->n; i++) {
        path_out p = {out, f, 0};
        size_t   before = out->size;
        cp_svg_put(out, "<path d=\"");
        if (!cp_contour_lines(&s->grid, s->x[i], put_path, &p)) out->failed = true;
        cp_svg_put(out, "\"/>\n");
        if (p.paths == 0 && !out->failed) out->size = before;
    }
    cp_svg_put(out, "</g>\n");
}

static void put_tiles(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    double scale = fmin(f->w / s->image_width, f->h / s->image_height), w = scale * s->image_width, h = scale * s->image_height;
    cp_svg_put(out,
               "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" style=\"image-rendering:pixelated\" "
               "href=\"data:image/png;base64,",
               f->left + (f->w - w) / 2, f->top + (f->h - h) / 2, w, h);
    cp_base64(out, s->png.data, s->png.size);
    cp_svg_put(out, "\"/>\n");
}

/* ---- all of a panel ---- */

typedef void (*put_fn)(cp_bytes *out, const cp_series *s, const cp_frame *f);

static const put_fn put_kind[CP_SERIES_KINDS] = {
    [CP_SERIES_FILL] = put_fill,   [CP_SERIES_TILES] = put_tiles,         [CP_SERIES_CONTOURS] = put_contours,
    [CP_SERIES_BARS] = put_bars,   [CP_SERIES_HISTOGRAM] = put_histogram, [CP_SERIES_BOX] = put_box,
    [CP_SERIES_LEVEL] = put_level, [CP_SERIES_LINE] = put_line,           [CP_SERIES_POINTS] = put_points,
};

static void put_kinds(cp_bytes *out, const cp_panel *p, const cp_frame *f, int first, int last) {
    for (const cp_series *s = p->first; s; s = s->next)
        if ((int)s->kind >= first && (int)s->kind <= last && put_kind[s->kind]) put_kind[s->kind](out, s, f);
}

void cp_marks_back(cp_bytes *out, const cp_panel *p, const cp_frame *f) {
    put_kinds(out, p, f, CP_SERIES_FILL, CP_SERIES_TILES);
}

/* In the order in which they were added, so that the caller decides what lies on top. */
void cp_marks_front(cp_bytes *out, const cp_panel *p, const cp_frame *f) {
    put_kinds(out, p, f, CP_SERIES_CONTOURS, CP_SERIES_POINTS);
}

/* ---- the legend ---- */

double cp_marks_sample_width(const cp_series *s) {
    switch (s->kind) {
    case CP_SERIES_FILL: return 60;
    case CP_SERIES_POINTS: return 8;
    case CP_SERIES_BARS:
    case CP_SERIES_HISTOGRAM:
    case CP_SERIES_BOX: return 12;
    default: return 26;
    }
}

void cp_marks_sample(cp_bytes *out, const cp_series *s, double x, double y) {
    double width = cp_marks_sample_width(s);
    cp_svg_put(out, "<g class=\"sample\">\n");
    switch (s->kind) {
    case CP_SERIES_FILL:
        for (int i = 0; i < s->bands; i++)
            cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"10\" fill=\"%s\"/>\n", x + width * i / s->bands,
                       y - 5, width / s->bands + 0.3, cp_color_hex(band_color(s, i)).s);
        break;
    case CP_SERIES_BARS:
    case CP_SERIES_HISTOGRAM:
    case CP_SERIES_BOX:
        open_area(out, s, "area");
        cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"10\"/>\n</g>\n", x, y - 5, width);
        break;
    default:
        if (s->kind != CP_SERIES_POINTS) {
            open_stroke(out, s, "line");
            cp_svg_put(out, "<path d=\"M%.2f %.2fh%.2f\"/>\n</g>\n", x, y, width);
        }
        if (s->kind == CP_SERIES_POINTS || (s->kind == CP_SERIES_LINE && marker_of(s) != CP_NO_MARK)) {
            open_points(out, s);
            put_point(out, marker_of(s), x + width / 2, y, fmax(radius_of(s), 3.2));
            cp_svg_put(out, "</g>\n");
        }
    }
    cp_svg_put(out, "</g>\n");
}
