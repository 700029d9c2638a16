/* Marks: bars, spans, histograms, bands, box plots, and the reliability diagram that is made of them. */
#include "experiments/kit/figure/figure_parts.h"
#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <stdlib.h>

/* ---- what they share ---- */

static void open_area(cp_bytes *out, const cp_series *s, const char *class) {
    cp_paint paint = cp_series_paint(s);
    cp_svg_put(out, "<g class=\"%s\"", class);
    cp_svg_paint(out, &paint, &paint);
    cp_svg_put(out, " fill-opacity=\"%g\" stroke-width=\"1\">\n", s->style.opacity > 0 ? s->style.opacity : 0.8);
}

static void sample_area(cp_bytes *out, const cp_series *s, double x, double y) {
    open_area(out, s, "area");
    cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"10\"/>\n</g>\n", x, y - 5, s->mark->sample_width);
}

static void put_bar(cp_bytes *out, const cp_frame *f, double left, double right, double from, double to) {
    double top = cp_frame_y(f, to), foot = cp_frame_y(f, from);
    if (!isfinite(foot) || foot > f->top + f->h) foot = f->top + f->h;
    if (!cp_frame_shows(left, top) || !cp_frame_shows(right, foot)) return;
    cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", left, fmin(top, foot), right - left,
               fabs(foot - top));
}

/* The part of the unit around x that belongs to one of several series side by side. */
static void slot(const cp_series *s, const cp_frame *f, double x, double *left, double *right) {
    double width = 0.76 / s->places, from = x - 0.38 + width * s->place;
    *left = cp_frame_x(f, from + 0.04 * width);
    *right = cp_frame_x(f, from + 0.96 * width);
}

static void range_slots(const cp_series *s, cp_range *x, cp_range *y) {
    cp_range_points(s, x, y);
    for (int i = 0; i < s->n; i++) cp_range_include(x, s->x[i] - 0.5), cp_range_include(x, s->x[i] + 0.5);
    x->tight = true;
}

static void set_slot(cp_series *s, int place, int places) {
    s->places = places > 0 ? places : 1;
    s->place = place > 0 && place < s->places ? place : 0;
}

/* ---- bars ---- */

static void range_bars(const cp_series *s, cp_range *x, cp_range *y) {
    range_slots(s, x, y);
    cp_range_include(y, 0);
    y->from_zero = true;
}

static void put_bars(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    double left, right;
    open_area(out, s, "bars");
    for (int i = 0; i < s->n; i++) {
        slot(s, f, s->x[i], &left, &right);
        put_bar(out, f, left, right, 0, s->y[i]);
    }
    cp_svg_put(out, "</g>\n");
    if (!s->error) return;
    cp_svg_put(out, "<g class=\"errors\"");
    cp_svg_paint(out, NULL, &cp_ink);
    cp_svg_put(out, " stroke-width=\"1.2\">\n");
    for (int i = 0; i < s->n; i++) {
        slot(s, f, s->x[i], &left, &right);
        cp_put_error_bar(out, f, (left + right) / 2, s->y[i], s->error[i], fmin(5, (right - left) / 4));
    }
    cp_svg_put(out, "</g>\n");
}

const cp_mark cp_mark_bars = {"bars", CP_NEEDS_X | CP_NEEDS_Y, range_bars, put_bars, 12, sample_area, false};

void cp_panel_bars(cp_panel *p, cp_style style, int n, const double *heights, const double *error, int place, int places) {
    double *x = calloc((size_t)(n > 0 ? n : 1), sizeof *x);
    for (int i = 0; x && i < n; i++) x[i] = i;
    cp_series *s = x ? cp_series_add_data(p, &cp_mark_bars, style, n, x, heights, error) : NULL;
    if (s)
        set_slot(s, place, places);
    else if (p)
        p->figure->failed = true;
    free(x);
}

/* ---- spans and histograms ---- */

static void range_spans(const cp_series *s, cp_range *x, cp_range *y) {
    cp_range_points(s, x, y);
    for (int i = 0; i < s->n; i++) {
        if (isfinite(s->y[i])) cp_range_include(x, s->x[i] + s->width);
        if (s->from) cp_range_include(y, s->from[i]);
    }
    if (!s->from) cp_range_include(y, 0);
    y->from_zero = true;
}

static void put_spans(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    open_area(out, s, s->mark->name);
    for (int i = 0; i < s->n; i++)
        put_bar(out, f, cp_frame_x(f, s->x[i]), cp_frame_x(f, s->x[i] + s->width), s->from ? s->from[i] : 0, s->y[i]);
    cp_svg_put(out, "</g>\n");
}

const cp_mark cp_mark_spans = {"spans", CP_NEEDS_X | CP_NEEDS_Y, range_spans, put_spans, 12, sample_area, false};
const cp_mark cp_mark_histogram = {"histogram", CP_NEEDS_X | CP_NEEDS_Y, range_spans, put_spans, 12, sample_area, false};

void cp_panel_spans(cp_panel *p, cp_style style, int n, const double *left, double width, const double *from, const double *to) {
    cp_series *s = cp_series_add_data(p, &cp_mark_spans, style, n, left, to, NULL);
    if (!s) return;
    s->width = width;
    s->from = cp_figure_copy_numbers(p->figure, from, n);
}

cp_bins cp_bins_over(cp_bins bins, int n, const double *values) {
    bool   empty = bins.min == 0 && bins.max == 0;
    double min = empty ? INFINITY : bins.min, max = empty ? -INFINITY : bins.max;
    for (int i = 0; i < n; i++)
        if (isfinite(values[i])) min = fmin(min, values[i]), max = fmax(max, values[i]);
    if (min <= max) bins.min = min, bins.max = max;
    return bins;
}

void cp_panel_histogram(cp_panel *p, cp_style style, int n, const double *values, cp_bins bins) {
    if (!cp_numbers_given("histogram", n, values)) return;
    int     count = bins.count > 0 ? bins.count : 20, finite = 0;
    double *left = calloc((size_t)count, sizeof *left), *height = calloc((size_t)count, sizeof *height);
    if (bins.min == 0 && bins.max == 0) bins = cp_bins_over(bins, n, values);
    if (bins.min == bins.max) bins.min -= 0.5, bins.max += 0.5;
    double width = (bins.max - bins.min) / count;
    for (int i = 0; left && height && i < n; i++) {
        finite += isfinite(values[i]) != 0;
        if (values[i] >= bins.min && values[i] <= bins.max) height[(int)fmin(floor((values[i] - bins.min) / width), count - 1)]++;
    }
    for (int i = 0; left && height && i < count; i++) {
        left[i] = bins.min + i * width;
        if (bins.share && finite > 0) height[i] /= finite;
    }
    cp_series *s = left && height ? cp_series_add_data(p, &cp_mark_histogram, style, count, left, height, NULL) : NULL;
    if (s)
        s->width = width;
    else if (p)
        p->figure->failed = true;
    free(left);
    free(height);
}

/* ---- bands ---- */

/* From the first to the last of neighbors that can be shown, along the upper values and back along the lower ones. */
static void put_band_part(cp_bytes *out, const cp_series *s, const cp_frame *f, int first, int last) {
    cp_svg_put(out, "<path d=\"");
    for (int i = first; i <= last; i++)
        cp_svg_put(out, "%c%.2f %.2f", i > first ? 'L' : 'M', cp_frame_x(f, s->x[i]), cp_frame_y(f, s->y[i]));
    for (int i = last; i >= first; i--) cp_svg_put(out, "L%.2f %.2f", cp_frame_x(f, s->x[i]), cp_frame_y(f, s->from[i]));
    cp_svg_put(out, "Z\"/>\n");
}

static void open_band(cp_bytes *out, const cp_series *s) {
    cp_paint paint = cp_series_paint(s);
    cp_svg_put(out, "<g class=\"band\"");
    cp_svg_paint(out, &paint, NULL);
    cp_svg_put(out, " fill-opacity=\"%g\">\n", s->style.opacity > 0 ? s->style.opacity : 0.22);
}

static void put_band(cp_bytes *out, const cp_series *s, const cp_frame *f) {
    int first = 0;
    open_band(out, s);
    for (int i = 0; s->from && i <= s->n; i++) {
        double x = i < s->n ? cp_frame_x(f, s->x[i]) : NAN;
        if (i < s->n && cp_frame_shows(x, cp_frame_y(f, s->y[i])) && cp_frame_shows(x, cp_frame_y(f, s->from[i]))) continue;
        if (i > first + 1) put_band_part(out, s, f, first, i - 1);
        first = i + 1;
    }
    cp_svg_put(out, "</g>\n");
}

static void sample_band(cp_bytes *out, const cp_series *s, double x, double y) {
    open_band(out, s);
    cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"10\"/>\n</g>\n", x, y - 5, s->mark->sample_width);
}

const cp_mark cp_mark_band = {"band", CP_NEEDS_X | CP_NEEDS_Y, range_spans, put_band, 20, sample_band, false};

void cp_panel_band(cp_panel *p, cp_style style, int n, const double *x, const double *low, const double *high) {
    cp_series *s = cp_numbers_given("band", n, low) ? cp_series_add_data(p, &cp_mark_band, style, n, x, high, NULL) : NULL;
    if (s) s->from = cp_figure_copy_numbers(p->figure, low, n);
}

/* ---- boxes ---- */

enum { FEW = 8 }; /* quartiles of fewer values say little: all of them are shown */

static void put_box_of(cp_bytes *out, const cp_series *s, const cp_frame *f, const double *v, int n) {
    double low = cp_values_quantile(v, n, 0.25), middle = cp_values_quantile(v, n, 0.5), high = cp_values_quantile(v, n, 0.75),
           reach = 1.5 * (high - low), left, right;
    int first = 0, last = n - 1;
    while (v[first] < low - reach) first++;
    while (v[last] > high + reach) last--;
    slot(s, f, s->x[0], &left, &right);
    double center = (left + right) / 2, y_low = cp_frame_y(f, low), y_high = cp_frame_y(f, high), y_middle = cp_frame_y(f, middle);
    double y_first = cp_frame_y(f, v[first]), y_last = cp_frame_y(f, v[last]), cap = (right - left) / 4;
    if (!cp_frame_shows(left, y_low) || !cp_frame_shows(right, y_high) || !cp_frame_shows(center, y_first) ||
        !cp_frame_shows(center, y_last))
        return;
    cp_paint edge = cp_series_paint(s), inside = cp_paint_mix(cp_paper, edge, 0.35);
    cp_svg_put(out, "<g class=\"box\"");
    cp_svg_paint(out, &inside, &edge);
    cp_svg_put(out, " stroke-width=\"1.2\">\n<path d=\"M%.2f %.2fV%.2fM%.2f %.2fV%.2fM%.2f %.2fh%.2fM%.2f %.2fh%.2f\"/>\n", center,
               y_first, y_low, center, y_high, y_last, center - cap, y_first, 2 * cap, center - cap, y_last, 2 * cap);
    cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n<path d=\"M%.2f %.2fH%.2f\"", left, y_high,
               right - left, y_low - y_high, left, y_middle, right);
    cp_svg_paint(out, NULL, &cp_ink);
    cp_svg_put(out, " stroke-width=\"2\"/>\n");
    double step = n < FEW ? fmin(7, 0.8 * (right - left) / n) : 0;
    for (int i = 0; i < n; i++) {
        double y = cp_frame_y(f, v[i]);
        if ((n < FEW || i < first || i > last) && cp_frame_shows(center, y))
            cp_put_point(out, CP_CIRCLE, center + step * (i - 0.5 * (n - 1)), y, 2.5);
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
        cp_values_sort(sorted, n);
        put_box_of(out, s, f, sorted, n);
    }
    free(sorted);
}

const cp_mark cp_mark_box = {"box", CP_NEEDS_X | CP_NEEDS_Y, range_slots, put_box, 12, sample_area, false};

void cp_panel_box(cp_panel *p, cp_style style, double x, int n, const double *values, int place, int places) {
    cp_series *s = cp_series_add_data(p, &cp_mark_box, style, n, values, values, NULL);
    if (!s) return;
    for (int i = 0; i < s->n; i++) s->x[i] = x;
    set_slot(s, place, places);
}

/* ---- the reliability diagram ---- */

/* The gap is drawn above the accuracy of overconfident bins, and inside the accuracy of underconfident ones. */
void cp_panel_reliability(cp_panel *p, int n, const double *confidence, const double *accuracy) {
    if (!cp_numbers_given("reliability", n, confidence) || !cp_numbers_given("reliability", n, accuracy)) return;
    size_t  count = n > 0 ? (size_t)n : 1;
    double *left = calloc(3 * count, sizeof *left), ends[] = {0, 1};
    if (!left && p) p->figure->failed = true;
    if (left && n > 0) {
        double *over = left + count, *under = over + count;
        for (int i = 0; i < n; i++) {
            left[i] = (double)i / n;
            over[i] = confidence[i] > accuracy[i] ? confidence[i] : NAN;
            under[i] = confidence[i] < accuracy[i] ? confidence[i] : NAN;
        }
        cp_panel_spans(p, (cp_style){.color = 0, .opacity = 0.75, .label = "accuracy"}, n, left, 1.0 / n, NULL, accuracy);
        cp_panel_spans(p, (cp_style){.color = 1, .opacity = 0.45, .label = "confidence above it"}, n, left, 1.0 / n, accuracy,
                       over);
        cp_panel_spans(p, (cp_style){.color = 2, .opacity = 0.9, .label = "confidence below it"}, n, left, 1.0 / n, accuracy,
                       under);
    }
    cp_panel_line(p, (cp_style){.color = 6, .dash = CP_DASHED, .marker = CP_NO_MARK, .size = 1.3, .label = "perfect calibration"},
                  2, ends, ends, NULL);
    free(left);
}
