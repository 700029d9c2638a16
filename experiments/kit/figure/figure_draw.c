/* Figures: the layout of panels, axes, texts and legend. The marks draw what is inside the axes. */
#include "experiments/kit/figure/figure_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TEXT = CP_TEXT_SIZE, TITLE = 13, HEADING = 16, LINE_GAP = 1.25, EDGE = 12, GAP = 22;
enum { TITLE_LINES = 3, LINE_BYTES = 156, LEGEND_MAX = 24, PANELS_ABREAST = 3 };

/* ---- texts ---- */

typedef struct lines {
    char text[TITLE_LINES][LINE_BYTES + 4]; /* an ellipsis may follow */
    int  count;
} lines;

static const double BOLD = 1.15; /* width relative to normal text */

/* Words in bold into at most TITLE_LINES lines of that width; what does not fit is cut with an ellipsis. */
static lines wrap(const char *text, double width, double size) {
    lines l = {.count = 0};
    while (text && *text && l.count < TITLE_LINES) {
        char *line = l.text[l.count++];
        for (size_t used = 0; *text;) {
            size_t word = strcspn(text, " "), before = used;
            if (used > 0 && used + 1 + word > LINE_BYTES) break;
            if (used > 0) line[used++] = ' ';
            if (word > LINE_BYTES) word = LINE_BYTES; /* too long for any line: the rest starts the next line */
            memcpy(line + used, text, word);
            line[used + word] = '\0';
            if (before > 0 && BOLD * cp_text_width(line, size) > width) {
                line[before] = '\0';
                break;
            }
            used += word;
            text += word;
            while (*text == ' ') text++;
        }
    }
    if (text && *text && l.count > 0) strcat(l.text[l.count - 1], "\xE2\x80\xA6");
    return l;
}

static void put_lines(cp_bytes *out, const lines *l, double x, double y, double size, cp_anchor anchor) {
    for (int i = 0; i < l->count; i++) cp_svg_text(out, x, y + i * size * LINE_GAP, size, anchor, 0, true, l->text[i]);
}

/* ---- margins ---- */

static double widest_name(const char *const *names, int count) {
    double widest = 0;
    for (int i = 0; i < count; i++) widest = fmax(widest, cp_text_width(names[i], TEXT));
    return widest;
}

static bool names_turned(const cp_panel_config *c, double w) {
    return c->x_name_count > 0 && widest_name(c->x_names, c->x_name_count) + 8 > w / c->x_name_count;
}

static double names_height(const cp_panel_config *c, double w) {
    return names_turned(c, w) ? 0.6 * widest_name(c->x_names, c->x_name_count) + TEXT : TEXT * 1.5;
}

typedef struct margins {
    double left, right, top, bottom, legend; /* legend: where the panel's own begins, below the drawing area */
} margins;

static margins measure(const cp_panel *p, const cp_frame *f) {
    margins m = {.left = 4, .right = 6, .top = 8, .bottom = 8};
    lines   title = wrap(p->config.title, f->w, TITLE);
    if (title.count) m.top = title.count * TITLE * LINE_GAP + 8;
    double widest = widest_name(p->config.y_names, p->config.y_name_count);
    for (int i = 0; i < f->y.ticks && p->config.y_name_count == 0; i++) widest = fmax(widest, cp_text_width(f->y.text[i], TEXT));
    m.left = widest + 12 + (p->config.y_label ? TEXT * 1.6 : 0);
    m.bottom = 8 + names_height(&p->config, f->w) + (p->config.x_label ? TEXT * 1.6 : 0);
    m.right = 12;
    return m;
}

/* ---- axes ---- */

static void open_lines(cp_bytes *out, const char *class, const cp_paint *paint) {
    cp_svg_put(out, "<g class=\"%s\"", class);
    cp_svg_paint(out, NULL, paint);
    cp_svg_put(out, " stroke-width=\"1\">\n");
}

static void put_grid_lines(cp_bytes *out, const cp_panel *p, const cp_frame *f) {
    open_lines(out, "grid", &cp_rule);
    for (int i = 0; i < f->y.ticks && p->config.y_name_count == 0; i++)
        cp_svg_put(out, "<path d=\"M%.2f %.2fH%.2f\"/>\n", f->left, cp_frame_y(f, f->y.tick[i]), f->left + f->w);
    for (int i = 0; i < f->x.ticks && p->config.x_name_count == 0; i++)
        cp_svg_put(out, "<path d=\"M%.2f %.2fV%.2f\"/>\n", cp_frame_x(f, f->x.tick[i]), f->top, f->top + f->h);
    cp_svg_put(out, "</g>\n");
}

static void put_x_texts(cp_bytes *out, const cp_panel_config *c, const cp_frame *f) {
    bool   turned = names_turned(c, f->w);
    double y = f->top + f->h + TEXT + 6;
    for (int i = 0; i < f->x.ticks && c->x_name_count == 0; i++)
        cp_svg_text(out, cp_frame_x(f, f->x.tick[i]), y, TEXT, CP_ANCHOR_MIDDLE, 0, false, f->x.text[i]);
    for (int i = 0; i < c->x_name_count; i++)
        cp_svg_text(out, cp_frame_x(f, i) + (turned ? 4 : 0), y, TEXT, turned ? CP_ANCHOR_END : CP_ANCHOR_MIDDLE, turned ? -35 : 0,
                    false, c->x_names[i]);
}

static void put_y_texts(cp_bytes *out, const cp_panel_config *c, const cp_frame *f) {
    bool named = c->y_name_count > 0;
    for (int i = 0; i < (named ? c->y_name_count : f->y.ticks); i++)
        cp_svg_text(out, f->left - 8, cp_frame_y(f, named ? i : f->y.tick[i]) + 0.35 * TEXT, TEXT, CP_ANCHOR_END, 0, false,
                    named ? c->y_names[i] : f->y.text[i]);
}

/* The places of 2 to 9 times the powers of ten. */
static void put_log_ticks(cp_bytes *out, const cp_frame *f, bool vertical) {
    const cp_axis *a = vertical ? &f->y : &f->x;
    for (double power = pow(10, floor(log10(a->min))); a->log && power < a->max && a->max / a->min < 1e12; power *= 10)
        for (int i = 2; i < 10; i++) {
            if (i * power < a->min || i * power > a->max) continue;
            if (vertical)
                cp_svg_put(out, "<path d=\"M%.2f %.2fh-2\"/>\n", f->left, cp_frame_y(f, i * power));
            else
                cp_svg_put(out, "<path d=\"M%.2f %.2fv2\"/>\n", cp_frame_x(f, i * power), f->top + f->h);
        }
}

/* The label of an axis, which says when its scale is logarithmic. */
static void put_label(cp_bytes *out, double x, double y, double angle, const char *label, bool log) {
    char text[400];
    snprintf(text, sizeof text, "%.380s%s", label, log ? " (log scale)" : "");
    cp_svg_text(out, x, y, TEXT, CP_ANCHOR_MIDDLE, angle, false, text);
}

static void put_axes(cp_bytes *out, const cp_panel *p, const cp_frame *f, const margins *m) {
    const cp_panel_config *c = &p->config;
    double                 bottom = f->top + f->h;
    open_lines(out, "axes", &cp_frame_ink);
    cp_svg_put(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", f->left, f->top, f->w, f->h);
    for (int i = 0; i < f->x.ticks && c->x_name_count == 0; i++)
        cp_svg_put(out, "<path d=\"M%.2f %.2fv4\"/>\n", cp_frame_x(f, f->x.tick[i]), bottom);
    for (int i = 0; i < f->y.ticks && c->y_name_count == 0; i++)
        cp_svg_put(out, "<path d=\"M%.2f %.2fh-4\"/>\n", f->left, cp_frame_y(f, f->y.tick[i]));
    put_log_ticks(out, f, false);
    put_log_ticks(out, f, true);
    cp_svg_put(out, "</g>\n");
    put_x_texts(out, c, f);
    put_y_texts(out, c, f);
    if (c->x_label) put_label(out, f->left + f->w / 2, bottom + 6 + names_height(c, f->w) + TEXT, 0, c->x_label, c->x_log);
    if (c->y_label) put_label(out, f->left - m->left + TEXT, f->top + f->h / 2, -90, c->y_label, c->y_log);
}

/* In the order in which they were added, so that the caller decides what lies on top. Returns how many there were. */
static int put_marks(cp_bytes *out, const cp_panel *p, const cp_frame *f, bool covering) {
    int count = 0;
    for (const cp_series *s = p->first; s; s = s->next) {
        if (!s->mark->draw || s->mark->covers != covering) continue;
        s->mark->draw(out, s, f);
        count++;
    }
    return count;
}

static void put_panel(cp_bytes *out, const cp_panel *p, const cp_frame *f, const margins *m, const char *clip) {
    lines title = wrap(p->config.title, f->w, TITLE);
    cp_svg_put(out,
               "<g class=\"panel\">\n<clipPath id=\"%s\"><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/></clipPath>\n",
               clip, f->left, f->top, f->w, f->h);
    put_lines(out, &title, f->left + f->w / 2, f->top - 8 - (title.count - 1) * TITLE * LINE_GAP, TITLE, CP_ANCHOR_MIDDLE);
    cp_svg_put(out, "<g clip-path=\"url(#%s)\">\n", clip);
    if (put_marks(out, p, f, true) == 0) put_grid_lines(out, p, f);
    put_marks(out, p, f, false);
    cp_svg_put(out, "</g>\n");
    put_axes(out, p, f, m);
    cp_svg_put(out, "</g>\n");
}

/* ---- legends: below the panel that alone has these labels, and below all panels what several have; there they hide nothing ---- */

typedef struct legend {
    const cp_series *entry[LEGEND_MAX];
    double           width[LEGEND_MAX];
    int              count;
} legend;

static bool has_label(const cp_panel *p, const char *label) {
    for (const cp_series *s = p->first; s; s = s->next)
        if (s->style.label && s->mark->sample && strcmp(s->style.label, label) == 0) return true;
    return false;
}

static bool is_shared(const cp_figure *f, const char *label) {
    int panels = 0;
    for (const cp_panel *p = f->first; p; p = p->next) panels += has_label(p, label);
    return panels > 1 || f->panels == 1;
}

/* That of one panel, or with NULL that of the figure. */
static legend make_legend(const cp_figure *f, const cp_panel *of) {
    legend l = {.count = 0};
    for (const cp_panel *p = f->first; p; p = p->next)
        for (const cp_series *s = p->first; s; s = s->next) {
            bool skip = (of && p != of) || !s->style.label || !s->mark->sample || l.count == LEGEND_MAX ||
                        is_shared(f, s->style.label) != !of;
            for (int i = 0; i < l.count && !skip; i++) skip = strcmp(l.entry[i]->style.label, s->style.label) == 0;
            if (skip) continue;
            l.width[l.count] = s->mark->sample_width + 8 + cp_text_width(s->style.label, TEXT) + 20;
            l.entry[l.count++] = s;
        }
    return l;
}

/* The entry after the last one that fits in a row of that width from `first` on; the row's own width. */
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

/* Balances the rows, without more of them than needed. */
static double legend_limit(const legend *l, double limit) {
    int rows = legend_rows(l, limit);
    while (limit > 60 && legend_rows(l, limit - 10) == rows) limit -= 10;
    return limit;
}

static const double LEGEND_LINE = 20;

/* In the middle of so much room. */
static void put_legend(cp_bytes *out, const legend *l, double left, double room, double y) {
    double limit = legend_limit(l, room), row;
    for (int first = 0, last; first < l->count; first = last, y += LEGEND_LINE) {
        last = legend_row(l, first, limit, &row);
        double x = left + (room - row) / 2 + 10;
        for (int i = first; i < last; i++) {
            const cp_series *s = l->entry[i];
            cp_svg_put(out, "<g class=\"sample\">\n");
            s->mark->sample(out, s, x, y + TEXT * 0.65);
            cp_svg_put(out, "</g>\n");
            cp_svg_text(out, x + s->mark->sample_width + 8, y + TEXT, TEXT, CP_ANCHOR_START, 0, false, s->style.label);
            x += l->width[i];
        }
    }
}

/* ---- the whole figure ---- */

typedef struct layout {
    int       columns, rows;
    cp_frame *frame;
    margins  *margin;
    double   *left, *right, *top, *bottom; /* by column, by row: the largest margins */
    double   *memory;
} layout;

static bool make_layout(const cp_figure *f, layout *l) {
    int n = f->panels > 0 ? f->panels : 1;
    *l = (layout){0};
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
        cp_frame_axes(p, frame);
        *m = measure(p, frame);
        legend own = make_legend(f, p);
        m->legend = m->bottom;
        m->bottom += LEGEND_LINE * legend_rows(&own, frame->w + m->right);
        l->left[column] = fmax(l->left[column], m->left);
        l->right[column] = fmax(l->right[column], m->right);
        l->top[row] = fmax(l->top[row], m->top);
        l->bottom[row] = fmax(l->bottom[row], m->bottom);
    }
    return true;
}

static void free_layout(layout *l) {
    free(l->frame);
    free(l->margin);
    free(l->memory);
}

/* Gives every panel its place; returns the width and height of all. */
static void place_panels(const cp_figure *f, layout *l, double left, double top, double *width, double *height) {
    double y = top;
    for (int row = 0; row < l->rows; row++) {
        double x = left, h = 0;
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

/* ---- for paper ---- */

static const double TEXT_ON_PAPER = 8 * 25.4 / 72; /* 8 points, in mm */

static double units_of(const cp_figure *f) { return f->paper * TEXT / TEXT_ON_PAPER; }

/* As many panels abreast as stay large enough, these as wide as the paper allows, and low enough for a page. */
static bool fit_to_paper(cp_figure *f) {
    enum { MIN_WIDTH = 120, MIN_HEIGHT = 75, ATTEMPTS = 3, PAGE = 230 }; /* in mm, with room for a caption */
    const double largest = 1.6; /* times the width on screens: less is not stretched to fill the paper */
    double       w = f->config.width > 0 ? f->config.width : 300, h = f->config.height > 0 ? f->config.height : 240;
    f->config.title = NULL; /* the caption says it */
    for (;;) {
        layout l = {.columns = 1};
        bool   made = true;
        for (int i = 0; made && i < ATTEMPTS; i++) { /* margins depend on the width */
            made = make_layout(f, &l);
            double room = units_of(f) - 2 * EDGE - (l.columns - 1) * GAP;
            for (int c = 0; made && c < l.columns; c++) room -= l.left[c] + l.right[c];
            f->config.width = fmax(20, fmin(room / l.columns, largest * w));
            room = PAGE * TEXT / TEXT_ON_PAPER - 3 * LEGEND_LINE - (l.rows - 1) * GAP / 2;
            for (int r = 0; made && r < l.rows; r++) room -= l.top[r] + l.bottom[r];
            f->config.height = fmin(h * fmin(1, f->config.width / w), fmax(MIN_HEIGHT, room / l.rows));
            free_layout(&l);
        }
        if (!made || l.columns == 1 || f->config.width >= MIN_WIDTH) return made;
        f->config.columns = l.columns - 1;
    }
}

/* ---- the file ---- */

/* The element itself, its title and description for screen readers, and the background. */
static void open_svg(cp_bytes *out, const cp_figure *f, const char *name, double width, double height) {
    const char *unit = f->paper > 0 ? "mm" : "";
    cp_svg_put(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.6g%s\" height=\"%.6g%s\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
        "font-family=\"'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\"",
        f->paper > 0 ? f->paper : width, unit, f->paper > 0 ? f->paper * height / width : height, unit, width, height);
    cp_svg_paint(out, &cp_ink, NULL);
    cp_svg_put(out, ">\n<title>");
    cp_svg_escape(out, f->config.title ? f->config.title : name);
    cp_svg_put(out, "</title>\n");
    if (f->config.caption) {
        cp_svg_put(out, "<desc>");
        cp_svg_escape(out, f->config.caption);
        cp_svg_put(out, "</desc>\n");
    }
    cp_bytes_text(out, cp_svg_dark_rule);
    cp_svg_put(out, "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"");
    cp_svg_paint(out, &cp_paper, NULL);
    cp_svg_put(out, "/>\n");
}

static void put_figure(const cp_figure *f, layout *l, const char *name, cp_bytes *out) {
    double height = 0, panels = 0;
    place_panels(f, l, EDGE, 0, &panels, &height);
    double width = fmax(panels, f->paper > 0 ? units_of(f) : 240), left = f->paper > 0 ? EDGE + (width - panels) / 2 : EDGE;
    lines  title = wrap(f->config.title, width - 2 * EDGE, HEADING);
    double top = EDGE / 2 + title.count * HEADING * LINE_GAP + (title.count ? 8 : 0);
    legend shared = make_legend(f, NULL);
    place_panels(f, l, left, top, &panels, &height);
    double legend_top = height + 6;
    height = legend_top + LEGEND_LINE * legend_rows(&shared, width - 2 * EDGE) + EDGE;
    open_svg(out, f, name, ceil(width), ceil(height));
    put_lines(out, &title, width / 2, EDGE / 2 + HEADING, HEADING, CP_ANCHOR_MIDDLE);
    int i = 0;
    for (const cp_panel *p = f->first; p; p = p->next, i++) {
        char clip[48];
        snprintf(clip, sizeof clip, "clip-%08x-%d", hash_of(name), i);
        margins m = l->margin[i];
        m.left = fmax(m.left, l->left[i % l->columns]);
        put_panel(out, p, &l->frame[i], &m, clip);
        const cp_frame *frame = &l->frame[i];
        legend          own = make_legend(f, p);
        put_legend(out, &own, frame->left - m.right / 2, frame->w + m.right, frame->top + frame->h + m.legend);
    }
    put_legend(out, &shared, EDGE, width - 2 * EDGE, legend_top);
    cp_svg_put(out, "</svg>\n");
}

void cp_figure_draw(const cp_figure *f, const char *name, cp_bytes *out) {
    layout    l = {0};
    cp_figure fitted = *f;
    if ((f->paper > 0 && !fit_to_paper(&fitted)) || !make_layout(&fitted, &l))
        out->failed = true;
    else
        put_figure(&fitted, &l, name, out);
    free_layout(&l);
}
