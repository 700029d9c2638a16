/* A figure's axes: their ranges, which of them show the same quantity, and the position of a value on them. */
#include "experiments/kit/figure/figure_parts.h"

#include <math.h>
#include <string.h>

/* ---- ranges ---- */

void cp_range_include(cp_range *r, double value) {
    if (!isfinite(value) || (r->log && value <= 0)) return;
    r->min = fmin(r->min, value);
    r->max = fmax(r->max, value);
}

void cp_range_points(const cp_series *s, cp_range *x, cp_range *y) {
    for (int i = 0; i < s->n; i++) {
        double error = s->error && isfinite(s->error[i]) ? s->error[i] : 0;
        if (!isfinite(s->y[i])) continue;
        cp_range_include(x, s->x[i]);
        cp_range_include(y, s->y[i] - error);
        cp_range_include(y, s->y[i] + error);
    }
}

void cp_range_grid(const cp_series *s, cp_range *x, cp_range *y) {
    cp_range_include(x, s->grid.x0), cp_range_include(x, s->grid.x1);
    cp_range_include(y, s->grid.y0), cp_range_include(y, s->grid.y1);
    x->tight = y->tight = true;
}

/* Adds a margin around the data, except below zero where bars begin. */
static void widen(cp_range *r) {
    if (r->min > r->max || r->tight) return;
    if (r->log) {
        double factor = fmax(pow(r->max / r->min, 0.05), 1.05);
        r->min /= factor, r->max *= factor;
    } else {
        double margin = 0.05 * (r->max - r->min);
        if (!(r->from_zero && r->min == 0)) r->min -= margin;
        r->max += margin;
    }
}

static void data_ranges(const cp_panel *p, cp_range *x, cp_range *y) {
    const cp_panel_config *c = &p->config;
    *x = (cp_range){INFINITY, -INFINITY, .log = c->x_log};
    *y = (cp_range){INFINITY, -INFINITY, .log = c->y_log};
    for (const cp_series *s = p->first; s; s = s->next)
        if (s->mark->range) s->mark->range(s, x, y);
    x->tight = x->tight || c->x_name_count > 0, y->tight = y->tight || c->y_name_count > 0;
    widen(x);
    widen(y);
    if (c->x_name_count > 0) cp_range_include(x, -0.5), cp_range_include(x, c->x_name_count - 0.5);
    if (c->y_name_count > 0) cp_range_include(y, -0.5), cp_range_include(y, c->y_name_count - 0.5);
}

/* ---- the same quantity, the same limits ---- */

/* One of a panel's two axes, as its panel's configuration has it. */
typedef struct axis_view {
    const char        *label;
    int                place; /* of its panel in the figure */
    bool               log;
    const char *const *names;
    int                name_count;
    double            *min, *max;
} axis_view;

static int place_of(const cp_panel *p) {
    int place = 0;
    for (const cp_panel *before = p->figure->first; before != p; before = before->next) place++;
    return place;
}

static axis_view view_of(cp_panel *p, bool vertical) {
    cp_panel_config *c = &p->config;
    int              place = place_of(p);
    return vertical ? (axis_view){c->y_label, place, c->y_log, c->y_names, c->y_name_count, &c->y_min, &c->y_max}
                    : (axis_view){c->x_label, place, c->x_log, c->x_names, c->x_name_count, &c->x_min, &c->x_max};
}

static bool is_given(const axis_view *a) { return *a->min != 0 || *a->max != 0; }

/* By their labels; without any, by their places: the figures that are given together are versions of one. */
static bool same_quantity(const axis_view *a, const axis_view *b) {
    bool same = a->label && b->label ? strcmp(a->label, b->label) == 0 : !a->label && !b->label && a->place == b->place;
    same = same && a->log == b->log && a->name_count == b->name_count;
    for (int i = 0; same && i < a->name_count; i++) same = strcmp(a->names[i], b->names[i]) == 0;
    return same;
}

/* Finds where all data of this axis's quantity lie, among the panels whose limits are not given, and sets the limits there. */
static void share_axis(cp_figure *const *figures, int count, axis_view a, bool vertical) {
    cp_range all = {INFINITY, -INFINITY, .log = a.log};
    for (int set = 0; set < 2 && (!set || all.min < all.max); set++)
        for (int i = 0; i < count; i++)
            for (cp_panel *p = figures[i] ? figures[i]->first : NULL; p; p = p->next) {
                axis_view other = view_of(p, vertical);
                cp_range  x, y;
                if (is_given(&other) || !same_quantity(&a, &other)) continue;
                if (set) {
                    *other.min = all.min, *other.max = all.max;
                } else {
                    data_ranges(p, &x, &y);
                    cp_range_include(&all, vertical ? y.min : x.min);
                    cp_range_include(&all, vertical ? y.max : x.max);
                }
            }
}

void cp_figures_share_axes(cp_figure *const *figures, int count) {
    for (int i = 0; i < count; i++)
        for (cp_panel *p = figures[i] ? figures[i]->first : NULL; p; p = p->next)
            for (int vertical = 0; vertical < 2; vertical++) {
                axis_view a = view_of(p, vertical);
                if (!is_given(&a)) share_axis(figures, count, a, vertical);
            }
}

/* ---- places ---- */

static const double FAR = 1e5; /* coordinates beyond are cut: some viewers mishandle very large ones */

double cp_frame_x(const cp_frame *f, double value) { return f->left + f->w * cp_axis_share(&f->x, value); }

double cp_frame_y(const cp_frame *f, double value) {
    double share = cp_axis_share(&f->y, value);
    return f->top + f->h * (f->y_down ? share : 1 - share);
}

bool cp_frame_shows(double x, double y) { return isfinite(x) && isfinite(y) && fabs(x) < FAR && fabs(y) < FAR; }

/* A unit of the same length on both axes, by the height of the drawing area; where that would become too low or too
 * high, the range of the shorter axis grows. */
static void equalize(cp_range *x, cp_range *y, cp_frame *f) {
    f->h = fmin(fmax(f->w * (y->max - y->min) / (x->max - x->min), 0.5 * f->w), 1.5 * f->w);
    double unit = fmax((x->max - x->min) / f->w, (y->max - y->min) / f->h);
    double mx = (x->min + x->max) / 2, my = (y->min + y->max) / 2;
    x->min = mx - unit * f->w / 2, x->max = mx + unit * f->w / 2;
    y->min = my - unit * f->h / 2, y->max = my + unit * f->h / 2;
}

void cp_frame_axes(const cp_panel *p, cp_frame *f) {
    const cp_panel_config *c = &p->config;
    cp_range               x, y;
    data_ranges(p, &x, &y);
    if (c->x_min != 0 || c->x_max != 0) x.min = c->x_min, x.max = c->x_max;
    if (c->y_min != 0 || c->y_max != 0) y.min = c->y_min, y.max = c->y_max;
    if (c->equal && x.min < x.max && y.min < y.max) equalize(&x, &y, f);
    f->y_down = c->y_name_count > 0;
    for (int max = (int)fmax(2, f->h / 40), tries = 0; tries < 4 && (!tries || f->y.ticks < 2); tries++, max++)
        f->y = cp_axis_make(y.min, y.max, c->y_log, max);
    for (int max = (int)fmax(2, f->w / 45); max >= 2; max--) {
        double widest = 0;
        f->x = cp_axis_make(x.min, x.max, c->x_log, max);
        for (int i = 0; i < f->x.ticks; i++) widest = fmax(widest, cp_text_width(f->x.text[i], CP_TEXT_SIZE));
        if (widest + 10 < f->w / fmax(1, f->x.ticks)) break;
    }
}
