/* Figures: where panels, axes, texts and legend go. What is inside the axes is figure_marks.c's. */
#include "experiments/kit/figure_marks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TEXT = 12, TITLE = 13, HEADING = 16, LINE_GAP = 1.25, EDGE = 12, GAP = 22;
enum { TITLE_LINES = 3, LEGEND_MOST = 24, PANELS_ABREAST = 3 };

/* ---- ranges ---- */

typedef struct range {
    double least, most;
} range;

static void include(range *r, double value, bool log) {
    if (!isfinite(value) || (log && value <= 0)) return;
    r->least = fmin(r->least, value);
    r->most = fmax(r->most, value);
}

static void include_series(const cp_panel_config *c, const cp_series *s, range *x, range *y) {
    bool boxed = s->kind == CP_SERIES_BOX, wide = s->kind == CP_SERIES_BARS || boxed;
    if (s->kind == CP_SERIES_NOTE) return;
    if (s->grid.nx > 0) {
        include(x, s->grid.x0, c->x_log), include(x, s->grid.x1, c->x_log);
        include(y, s->grid.y0, c->y_log), include(y, s->grid.y1, c->y_log);
        return;
    }
    for (int i = 0; i < s->n && s->y; i++) {
        double at = s->x[boxed ? 0 : i], error = s->error && isfinite(s->error[i]) ? s->error[i] : 0;
        if (s->kind != CP_SERIES_LEVEL && !isfinite(s->y[i])) continue;
        include(x, at - (wide ? 0.5 : 0), c->x_log);
        include(x, at + s->width + (wide ? 0.5 : 0), c->x_log);
        include(y, s->y[i] - error, c->y_log);
        include(y, s->y[i] + error, c->y_log);
    }
    if (s->kind == CP_SERIES_BARS || s->kind == CP_SERIES_HISTOGRAM) include(y, 0, c->y_log);
}

/* Air around the data, but none below a floor that bars stand on. */
static void widen(range *r, bool log, bool floor_at_zero) {
    if (r->least > r->most) return;
    if (log) {
        double factor = pow(r->most / r->least, 0.05);
        factor = factor < 1.05 ? 1.05 : factor;
        r->least /= factor, r->most *= factor;
    } else {
        double margin = 0.05 * (r->most - r->least);
        if (!(floor_at_zero && r->least == 0)) r->least -= margin;
        r->most += margin;
    }
}

/* A unit of the same length on both axes, by the height of the drawing area; where that would become too low or too
 * high, the range of the shorter axis grows. */
static void equalize(range *x, range *y, cp_frame *f) {
    f->h = fmin(fmax(f->w * (y->most - y->least) / (x->most - x->least), 0.5 * f->w), 1.5 * f->w);
    double unit = fmax((x->most - x->least) / f->w, (y->most - y->least) / f->h);
    double mx = (x->least + x->most) / 2, my = (y->least + y->most) / 2;
    *x = (range){mx - unit * f->w / 2, mx + unit * f->w / 2};
    *y = (range){my - unit * f->h / 2, my + unit * f->h / 2};
}

static void make_axes(const cp_panel *p, cp_frame *f) {
    const cp_panel_config *c = &p->config;
    range                  x = {INFINITY, -INFINITY}, y = x;
    bool                   gridded = false, standing = false, placed = false;
    for (const cp_series *s = p->first; s; s = s->next) {
        include_series(c, s, &x, &y);
        gridded |= s->grid.nx > 0;
        standing |= s->kind == CP_SERIES_BARS || s->kind == CP_SERIES_HISTOGRAM;
        placed |= s->kind == CP_SERIES_BARS || s->kind == CP_SERIES_BOX;
    }
    if (!gridded && !placed) widen(&x, c->x_log, false);
    if (!gridded) widen(&y, c->y_log, standing);
    if (c->x_name_count > 0) include(&x, -0.5, false), include(&x, c->x_name_count - 0.5, false);
    if (c->x_least != 0 || c->x_most != 0) x = (range){c->x_least, c->x_most};
    if (c->y_least != 0 || c->y_most != 0) y = (range){c->y_least, c->y_most};
    if (c->equal && x.least < x.most && y.least < y.most) equalize(&x, &y, f);
    f->y = cp_axis_make(y.least, y.most, c->y_log, (int)fmax(2, f->h / 40));
    for (int most = (int)fmax(2, f->w / 45); most >= 2; most--) {
        double widest = 0;
        f->x = cp_axis_make(x.least, x.most, c->x_log, most);
        for (int i = 0; i < f->x.ticks; i++) widest = fmax(widest, cp_text_width(f->x.text[i], TEXT));
        if (widest + 10 < f->w / fmax(1, f->x.ticks)) break;
    }
}

/* ---- texts ---- */

typedef struct lines {
    char text[TITLE_LINES][160];
    int  count;
} lines;

/* Words into at most TITLE_LINES lines of that width; what does not fit is cut with an ellipsis. */
static lines wrap(const char *text, double width, double size) {
    lines l = {.count = 0};
    while (text && *text && l.count < TITLE_LINES) {
        char  *line = l.text[l.count++];
        size_t used = 0;
        for (;;) {
            size_t word = strcspn(text, " ");
            if (used + word + 2 >= sizeof l.text[0]) word = sizeof l.text[0] - 2 - used;
            size_t before = used;
            if (used) line[used++] = ' ';
            memcpy(line + used, text, word);
            line[used + word] = '\0';
            if (before && cp_text_width(line, size) > width) {
                line[before] = '\0';
                break;
            }
            used += word;
            text += word;
            while (*text == ' ') text++;
            if (!*text) break;
        }
    }
    if (text && *text && l.count > 0) {
        char  *line = l.text[l.count - 1];
        size_t end = strlen(line);
        memcpy(line + (end < 156 ? end : 156), "\xE2\x80\xA6", 4);
    }
    return l;
}

static void put_lines(cp_bytes *out, const lines *l, double x, double y, double size, cp_anchor anchor) {
    for (int i = 0; i < l->count; i++) cp_svg_text(out, x, y + i * size * LINE_GAP, size, anchor, 0, true, l->text[i]);
}

/* ---- margins ---- */

static bool names_turned(const cp_panel *p, double w) {
    double widest = 0;
    for (int i = 0; i < p->config.x_name_count; i++) widest = fmax(widest, cp_text_width(p->config.x_names[i], TEXT));
    return p->config.x_name_count > 0 && widest + 8 > w / p->config.x_name_count;
}

static double names_height(const cp_panel *p, double w) {
    double widest = 0;
    if (!names_turned(p, w)) return TEXT * 1.5;
    for (int i = 0; i < p->config.x_name_count; i++) widest = fmax(widest, cp_text_width(p->config.x_names[i], TEXT));
    return 0.6 * widest + TEXT;
}

typedef struct margins {
    double left, right, top, bottom;
} margins;

static margins measure(const cp_panel *p, const cp_frame *f) {
    margins m = {.left = 4, .right = 6, .top = 8, .bottom = 8};
    lines   title = wrap(p->config.title, f->w, TITLE);
    if (title.count) m.top = title.count * TITLE * LINE_GAP + 8;
    if (p->config.no_axes) return m;
    double widest = 0;
    for (int i = 0; i < f->y.ticks; i++) widest = fmax(widest, cp_text_width(f->y.text[i], TEXT));
    m.left = widest + 12 + (p->config.y_label ? TEXT * 1.6 : 0);
    m.bottom = 8 + names_height(p, f->w) + (p->config.x_label ? TEXT * 1.6 : 0);
    m.right = 12;
    return m;
}

/* ---- axes ---- */

static void put_grid_lines(cp_bytes *out, const cp_panel *p, const cp_frame *f) {
    cp_svg_put(out, "<g class=\"grid\" stroke=\"#e3e3e3\" stroke-width=\"1\">\n");
    for (int i = 0; i < f->y.ticks; i++) {
        double y = cp_frame_y(f, f->y.tick[i]);
        cp_svg_put(out, "<path d=\"M%.2f %.2fH%.2f\"/>\n", f->left, y, f->left + f->w);
    }
    for (int i = 0; i < f->x.ticks && p->config.x_name_count == 0; i++) {
        double x = cp_frame_x(f, f->x.tick[i]);
        cp_svg_put(out, "<path d=\"M%.2f %.2fV%.2f\"/>\n", x, f->top, f->top + f->h);
    }
    cp_svg_put(out, "</g>\n");
}

static void put_names(cp_bytes *out, const cp_panel *p, const cp_frame *f) {
    bool   turned = names_turned(p, f->w);
    double y = f->top + f->h + TEXT + 6;
    for (int i = 0; i < p->config.x_name_count; i++)
        cp_svg_text(out, cp_frame_x(f, i) + (turned ? 4 : 0), y, TEXT, turned ? CP_ANCHOR_END : CP_ANCHOR_MIDDLE, turned ? -35 : 0,
                    false, p->config.x_names[i]);
}

static void put_axes(cp_bytes *out, const cp_panel *p, const cp_frame *f, const margins *m) {
    double bottom = f->top + f->h;
    cp_svg_put(out,
               "<g class=\"axes\" fill=\"none\" stroke=\"#555555\">\n<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
               "height=\"%.2f\"/>\n",
               f->left, f->top, f->w, f->h);
    for (int i = 0; i < f->x.ticks && p->config.x_name_count == 0; i++)
        cp_svg_put(out, "<path d=\"M%.2f %.2fv4\"/>\n", cp_frame_x(f, f->x.tick[i]), bottom);
    for (int i = 0; i < f->y.ticks; i++) cp_svg_put(out, "<path d=\"M%.2f %.2fh-4\"/>\n", f->left, cp_frame_y(f, f->y.tick[i]));
    cp_svg_put(out, "</g>\n");
    for (int i = 0; i < f->x.ticks && p->config.x_name_count == 0; i++)
        cp_svg_text(out, cp_frame_x(f, f->x.tick[i]), bottom + TEXT + 6, TEXT, CP_ANCHOR_MIDDLE, 0, false, f->x.text[i]);
    for (int i = 0; i < f->y.ticks; i++)
        cp_svg_text(out, f->left - 8, cp_frame_y(f, f->y.tick[i]) + 0.35 * TEXT, TEXT, CP_ANCHOR_END, 0, false, f->y.text[i]);
    put_names(out, p, f);
    if (p->config.x_label)
        cp_svg_text(out, f->left + f->w / 2, bottom + 6 + names_height(p, f->w) + TEXT, TEXT, CP_ANCHOR_MIDDLE, 0, false,
                    p->config.x_label);
    if (p->config.y_label)
        cp_svg_text(out, f->left - m->left + TEXT, f->top + f->h / 2, TEXT, CP_ANCHOR_MIDDLE, -90, false, p->config.y_label);
}

static bool has_grid(const cp_panel *p) {
    for (const cp_series *s = p->first; s; s = s->next)
        if (s->kind == CP_SERIES_FILL) return true;
    return false;
}

static void put_panel(cp_bytes *out, const cp_panel *p, const cp_frame *f, const margins *m, const char *clip) {
    lines title = wrap(p->config.title, f->w, TITLE);
    cp_svg_put(out,
               "<g class=\"panel\">\n<clipPath id=\"%s\"><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
               "height=\"%.2f\"/></clipPath>\n",
               clip, f->left, f->top, f->w, f->h);
    put_lines(out, &title, f->left + f->w / 2, f->top - 8 - (title.count - 1) * TITLE * LINE_GAP, TITLE, CP_ANCHOR_MIDDLE);
    cp_svg_put(out, "<g clip-path=\"url(#%s)\">\n", clip);
    cp_marks_back(out, p, f);
    if (!p->config.no_axes && !has_grid(p)) put_grid_lines(out, p, f);
    cp_marks_front(out, p, f);
    cp_svg_put(out, "</g>\n");
    if (!p->config.no_axes) put_axes(out, p, f, m);
    cp_svg_put(out, "</g>\n");
}

/* ---- the legend: below all panels, where it can hide nothing ---- */

typedef struct legend {
    const cp_series *entry[LEGEND_MOST];
    double           width[LEGEND_MOST];
    int              count;
} legend;

static legend make_legend(const cp_figure *f) {
    legend l = {.count = 0};
    for (const cp_panel *p = f->first; p; p = p->next)
        for (const cp_series *s = p->first; s; s = s->next) {
            bool known = !s->style.label || s->kind == CP_SERIES_NOTE || l.count == LEGEND_MOST;
            for (int i = 0; i < l.count && !known; i++) known = strcmp(l.entry[i]->style.label, s->style.label) == 0;
            if (known) continue;
            l.width[l.count] = cp_marks_sample_width(s) + 8 + cp_text_width(s->style.label, TEXT) + 20;
            l.entry[l.count++] = s;
        }
    return l;
}

/* The entry behind the last one that fits in a row of that width from `first` on; the row's own width. */
static int legend_row(const legend *l, int first, double limit, double *row) {
    int last = first;
    for (*row = 0; last < l->count && (last == first || *row + l->width[last] <= limit); last++) *row += l->width[last];
    return last;
}

static int legend_rows(const legend *l, double limit) {
    int    rows = 0;
    double row;
    for (int first = 0; first < l->count; rows++) first = legend_row(l, first, limit, &row);
    return rows;
}

/* Rows as even as they can be, without more of them than needed. */
static double legend_limit(const legend *l, double width) {
    double limit = width - 2 * EDGE;
    int    rows = legend_rows(l, limit);
    while (limit > 60 && legend_rows(l, limit - 10) == rows) limit -= 10;
    return limit;
}

static const double LEGEND_LINE = 20;

static void put_legend(cp_bytes *out, const legend *l, double width, double y) {
    double limit = legend_limit(l, width), row;
    for (int first = 0, last; first < l->count; first = last, y += LEGEND_LINE) {
        last = legend_row(l, first, limit, &row);
        double x = (width - row) / 2 + 10;
        for (int i = first; i < last; i++) {
            cp_marks_sample(out, l->entry[i], x, y + TEXT * 0.65);
            cp_svg_text(out, x + cp_marks_sample_width(l->entry[i]) + 8, y + TEXT, TEXT, CP_ANCHOR_START, 0, false,
                        l->entry[i]->style.label);
            x += l->width[i];
        }
    }
}

/* ---- all together ---- */

typedef struct layout {
    int       columns, rows;
    cp_frame *frame;
    margins  *margin;
    double   *left, *right, *top, *bottom; /* by column, by row: the largest margins */
    double   *memory;
} layout;

static bool make_layout(const cp_figure *f, layout *l) {
    int n = f->panels > 0 ? f->panels : 1;
    l->columns = f->config.columns > 0 ? f->config.columns : n < PANELS_ABREAST ? n : n == 4 ? 2 : PANELS_ABREAST;
    l->columns = l->columns > n ? n : l->columns;
    l->rows = (n + l->columns - 1) / l->columns;
    l->frame = calloc((size_t)n, sizeof *l->frame);
    l->margin = calloc((size_t)n, sizeof *l->margin);
    l->memory = calloc(4 * (size_t)n, sizeof *l->memory);
    if (!l->frame || !l->margin || !l->memory) return false;
    l->left = l->memory, l->right = l->left + n, l->top = l->right + n, l->bottom = l->top + n;
    int i = 0;
    for (const cp_panel *p = f->first; p; p = p->next, i++) {
        cp_frame *frame = &l->frame[i];
        margins  *m = &l->margin[i];
        int       column = i % l->columns, row = i / l->columns;
        frame->w = f->config.width > 0 ? f->config.width : 300;
        frame->h = f->config.height > 0 ? f->config.height : 240;
        make_axes(p, frame);
        *m = measure(p, frame);
        l->left[column] = fmax(l->left[column], m->left);
        l->right[column] = fmax(l->right[column], m->right);
        l->top[row] = fmax(l->top[row], m->top);
        l->bottom[row] = fmax(l->bottom[row], m->bottom);
    }
    return true;
}

/* Gives every panel its place; returns the width and height of all. */
static void place_panels(const cp_figure *f, layout *l, double top, double *width, double *height) {
    double y = top;
    for (int row = 0; row < l->rows; row++) {
        double x = EDGE, h = 0;
        y += l->top[row];
        for (int column = 0; column < l->columns && row * l->columns + column < f->panels; column++) {
            cp_frame *frame = &l->frame[row * l->columns + column];
            x += l->left[column];
            frame->left = x, frame->top = y;
            x += frame->w + l->right[column] + (column + 1 < l->columns ? GAP : 0);
            h = fmax(h, frame->h);
        }
        *width = fmax(*width, x + EDGE);
        y += h + l->bottom[row] + (row + 1 < l->rows ? GAP / 2 : 0);
    }
    *height = y;
}

static unsigned hash_of(const char *text) {
    unsigned hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

static void put_figure(const cp_figure *f, layout *l, const char *name, cp_bytes *out) {
    double width = 2 * EDGE, height = 0, panels = 0;
    place_panels(f, l, 0, &panels, &height);
    width = fmax(panels, 240);
    lines  title = wrap(f->config.title, width - 2 * EDGE, HEADING);
    double top = EDGE / 2 + title.count * HEADING * LINE_GAP + (title.count ? 8 : 0);
    legend legends = make_legend(f);
    place_panels(f, l, top, &panels, &height);
    double legend_top = height + 6;
    height = legend_top + LEGEND_LINE * legend_rows(&legends, width - 2 * EDGE) + EDGE;
    cp_svg_put(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
               "role=\"img\" "
               "font-family=\"'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" "
               "fill=\"#222222\">\n<title>",
               ceil(width), ceil(height), ceil(width), ceil(height));
    cp_svg_escape(out, f->config.title ? f->config.title : name);
    cp_svg_put(out, "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
    put_lines(out, &title, width / 2, EDGE / 2 + HEADING, HEADING, CP_ANCHOR_MIDDLE);
    int i = 0;
    for (const cp_panel *p = f->first; p; p = p->next, i++) {
        char clip[48];
        snprintf(clip, sizeof clip, "clip-%08x-%d", hash_of(name), i);
        margins m = l->margin[i];
        m.left = fmax(m.left, p->config.no_axes ? 0 : l->left[i % l->columns]);
        put_panel(out, p, &l->frame[i], &m, clip);
    }
    put_legend(out, &legends, width, legend_top);
    cp_svg_put(out, "</svg>\n");
}

void cp_figure_draw(const cp_figure *f, const char *name, cp_bytes *out) {
    layout l = {0};
    if (make_layout(f, &l))
        put_figure(f, &l, name, out);
    else
        out->failed = true;
    free(l.frame);
    free(l.margin);
    free(l.memory);
}
