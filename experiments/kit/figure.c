/* Figures: collecting what they show, and the CSV file. */
#include "experiments/kit/figure_parts.h"

#include "core/io/file.h"
#include "experiments/kit/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cp_series_names[CP_SERIES_KINDS] = {"grid", "images", "contours", "bars",   "histogram",
                                                      "box",  "level",  "line",     "points", "note"};

/* ---- making and freeing ---- */

static char *copy_text(cp_figure *f, const char *text) {
    char *copy = text ? strdup(text) : NULL;
    f->failed |= text && !copy;
    return copy;
}

static double *copy_numbers(cp_figure *f, const double *from, size_t n) {
    double *copy = from ? malloc((n + 1) * sizeof *copy) : NULL;
    if (copy && n > 0) memcpy(copy, from, n * sizeof *copy);
    f->failed |= from && !copy;
    return copy;
}

cp_figure *cp_figure_new(cp_figure_config config) {
    cp_figure *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->config = config;
    f->config.title = copy_text(f, config.title);
    return f;
}

cp_panel *cp_figure_panel(cp_figure *f, cp_panel_config config) {
    cp_panel *p = f ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        if (f) f->failed = true;
        return NULL;
    }
    p->figure = f;
    p->config = config;
    p->config.title = copy_text(f, config.title);
    p->config.x_label = copy_text(f, config.x_label);
    p->config.y_label = copy_text(f, config.y_label);
    char **names = config.x_name_count > 0 ? calloc((size_t)config.x_name_count, sizeof *names) : NULL;
    f->failed |= config.x_name_count > 0 && !names;
    for (int i = 0; names && i < config.x_name_count; i++) names[i] = copy_text(f, config.x_names[i]);
    p->config.x_names = (const char *const *)names;
    if (!names) p->config.x_name_count = 0;
    *(f->last ? &f->last->next : &f->first) = p;
    f->last = p;
    f->panels++;
    return p;
}

static void free_series(cp_series *s) {
    free((void *)s->style.label);
    free(s->x);
    free(s->y);
    free(s->error);
    free((void *)s->grid.values);
    cp_bytes_free(&s->png);
    free(s);
}

static void free_panel(cp_panel *p) {
    for (cp_series *s = p->first, *next; s; s = next) {
        next = s->next;
        free_series(s);
    }
    for (int i = 0; i < p->config.x_name_count; i++) free((void *)p->config.x_names[i]);
    free((void *)p->config.x_names);
    free((void *)p->config.title);
    free((void *)p->config.x_label);
    free((void *)p->config.y_label);
    free(p);
}

void cp_figure_free(cp_figure *f) {
    if (!f) return;
    for (cp_panel *p = f->first, *next; p; p = next) {
        next = p->next;
        free_panel(p);
    }
    free((void *)f->config.title);
    free(f);
}

/* ---- series ---- */

static cp_series *add(cp_panel *p, cp_series_kind kind, cp_style style) {
    cp_series *s = p ? calloc(1, sizeof *s) : NULL;
    if (!s) {
        if (p) p->figure->failed = true;
        return NULL;
    }
    s->kind = kind;
    s->style = style;
    s->style.label = copy_text(p->figure, style.label);
    *(p->last ? &p->last->next : &p->first) = s;
    p->last = s;
    return s;
}

static cp_series *add_data(cp_panel *p, cp_series_kind kind, cp_style style, int n, const double *x, const double *y,
                           const double *error) {
    cp_series *s = add(p, kind, style);
    if (!s) return NULL;
    size_t count = n > 0 ? (size_t)n : 0;
    s->x = copy_numbers(p->figure, x, count);
    s->y = copy_numbers(p->figure, y, count);
    s->error = copy_numbers(p->figure, error, count);
    s->n = p->figure->failed ? 0 : (int)count;
    return s;
}

void cp_panel_points(cp_panel *p, cp_style style, int n, const double *x, const double *y) {
    add_data(p, CP_SERIES_POINTS, style, n, x, y, NULL);
}

void cp_panel_line(cp_panel *p, cp_style style, int n, const double *x, const double *y, const double *error) {
    add_data(p, CP_SERIES_LINE, style, n, x, y, error);
}

void cp_panel_level(cp_panel *p, cp_style style, double y) {
    add_data(p, CP_SERIES_LEVEL, style, 1, &(double){NAN}, &y, NULL);
}

void cp_panel_note(cp_panel *p, const char *name, double value) {
    add_data(p, CP_SERIES_NOTE, (cp_style){.label = name}, 1, &(double){NAN}, &value, NULL);
}

void cp_panel_bars(cp_panel *p, cp_style style, int n, const double *heights, const double *error, int place, int places) {
    double *x = calloc((size_t)(n > 0 ? n : 1), sizeof *x);
    for (int i = 0; x && i < n; i++) x[i] = i;
    cp_series *s = x ? add_data(p, CP_SERIES_BARS, style, n, x, heights, error) : NULL;
    if (s)
        s->place = place, s->places = places > 0 ? places : 1;
    else if (p)
        p->figure->failed = true;
    free(x);
}

void cp_panel_box(cp_panel *p, cp_style style, double x, int n, const double *values, int place, int places) {
    cp_series *s = add_data(p, CP_SERIES_BOX, style, n, NULL, values, NULL);
    if (!s) return;
    s->x = copy_numbers(p->figure, &x, 1);
    if (!s->x) s->n = 0;
    s->place = place;
    s->places = places > 0 ? places : 1;
}

void cp_panel_histogram(cp_panel *p, cp_style style, int n, const double *values, int bins) {
    double  least = INFINITY, most = -INFINITY;
    int     count = bins > 0 ? bins : 20;
    double *left = calloc((size_t)count, sizeof *left), *height = calloc((size_t)count, sizeof *height);
    for (int i = 0; i < n; i++)
        if (isfinite(values[i])) least = fmin(least, values[i]), most = fmax(most, values[i]);
    if (least > most) least = 0, most = 1;
    if (least == most) least -= 0.5, most += 0.5;
    double width = (most - least) / count;
    for (int i = 0; left && height && i < n; i++)
        if (isfinite(values[i])) height[(int)fmin(floor((values[i] - least) / width), count - 1)]++;
    for (int i = 0; left && i < count; i++) left[i] = least + i * width;
    cp_series *s = left && height ? add_data(p, CP_SERIES_HISTOGRAM, style, count, left, height, NULL) : NULL;
    if (s)
        s->width = width;
    else if (p)
        p->figure->failed = true;
    free(left);
    free(height);
}

static void set_grid(cp_panel *p, cp_series *s, const cp_grid *grid) {
    s->grid = *grid;
    s->grid.values = copy_numbers(p->figure, grid->values, (size_t)grid->nx * (size_t)grid->ny);
    if (!s->grid.values) s->grid.nx = s->grid.ny = 0;
}

void cp_panel_fill(cp_panel *p, cp_style style, const cp_grid *grid, cp_ramp ramp, int bands, double low, double high) {
    cp_series *s = add(p, CP_SERIES_FILL, style);
    if (!s) return;
    set_grid(p, s, grid);
    s->ramp = ramp;
    s->bands = bands < 2 ? 2 : bands;
    s->low = low;
    s->high = high;
}

void cp_panel_contours(cp_panel *p, cp_style style, const cp_grid *grid, int n, const double *levels) {
    cp_series *s = add_data(p, CP_SERIES_CONTOURS, style, n, levels, NULL, NULL);
    if (s) set_grid(p, s, grid);
}

typedef struct tile_sheet {
    int            columns, gap, scale, width, height;
    unsigned char *pixels; /* RGB */
} tile_sheet;

static void put_tile(tile_sheet *sheet, const cp_image *image, int index) {
    int left = index % sheet->columns * (image->width * sheet->scale + sheet->gap);
    int top = index / sheet->columns * (image->height * sheet->scale + sheet->gap);
    for (int y = 0; y < image->height * sheet->scale; y++)
        for (int x = 0; x < image->width * sheet->scale; x++) {
            size_t               place = (size_t)(y / sheet->scale) * (size_t)image->width + (size_t)(x / sheet->scale);
            const unsigned char *from = image->pixels + place * (size_t)image->channels;
            unsigned char       *to = sheet->pixels + ((size_t)(top + y) * (size_t)sheet->width + (size_t)(left + x)) * 3;
            for (int c = 0; c < 3; c++) to[c] = from[image->channels == 3 ? c : 0];
        }
}

/* All tiles as one picture with white gaps, enlarged so that viewers which smooth have little to smooth. */
void cp_panel_tiles(cp_panel *p, int n, const cp_image *images, int columns) {
    cp_series *s = n > 0 && columns > 0 ? add(p, CP_SERIES_TILES, (cp_style){0}) : NULL;
    if (!s) return;
    int rows = (n + columns - 1) / columns, across = columns < n ? columns : n,
        largest = images->width > images->height ? images->width : images->height;
    tile_sheet t = {.columns = columns, .scale = largest < 64 ? 64 / largest : 1};
    t.gap = 2 * t.scale;
    t.width = across * (images->width * t.scale + t.gap) - t.gap;
    t.height = rows * (images->height * t.scale + t.gap) - t.gap;
    size_t bytes = (size_t)t.width * (size_t)t.height * 3;
    t.pixels = malloc(bytes);
    if (t.pixels) memset(t.pixels, 255, bytes);
    for (int k = 0; t.pixels && k < n; k++) put_tile(&t, &images[k], k);
    if (!t.pixels || !cp_png_encode(&(cp_image){t.width, t.height, 3, t.pixels}, &s->png, NULL)) p->figure->failed = true;
    s->image_width = t.width;
    s->image_height = t.height;
    s->n = n;
    free(t.pixels);
}

/* ---- CSV ---- */

static void put_field(cp_bytes *out, const char *text) {
    cp_bytes_text(out, "\"");
    for (; text && *text; text++) cp_bytes_append(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    cp_bytes_text(out, "\"");
}

/* A number in nine digits, or fewer where they say the same; nothing for one that a kind of series does not have. */
static void put_number(cp_bytes *out, const double *value) {
    char text[40] = "";
    if (value && !isnan(*value)) snprintf(text, sizeof text, "%.9g", *value);
    cp_bytes_text(out, ",");
    cp_bytes_text(out, value && isnan(*value) ? "nan" : text);
}

static void put_row(cp_bytes *out, const cp_panel *p, const cp_series *s, const double *x, const double *y, const double *error,
                    const double *value) {
    put_field(out, p->config.title);
    cp_bytes_text(out, ",");
    put_field(out, s->style.label);
    cp_bytes_text(out, ",");
    cp_bytes_text(out, cp_series_names[s->kind]);
    put_number(out, x);
    put_number(out, y);
    put_number(out, error);
    put_number(out, value);
    cp_bytes_text(out, "\n");
}

static void put_grid(cp_bytes *out, const cp_panel *p, const cp_series *s) {
    const cp_grid *g = &s->grid;
    for (int j = 0; j < g->ny; j++)
        for (int i = 0; i < g->nx; i++) {
            double x = g->x0 + (g->x1 - g->x0) * i / (g->nx - 1), y = g->y0 + (g->y1 - g->y0) * j / (g->ny - 1);
            put_row(out, p, s, &x, &y, NULL, &g->values[(size_t)j * (size_t)g->nx + (size_t)i]);
        }
}

static void put_series(cp_bytes *out, const cp_panel *p, const cp_series *s) {
    bool lone = s->kind == CP_SERIES_LEVEL || s->kind == CP_SERIES_NOTE;
    if (s->kind == CP_SERIES_FILL || s->kind == CP_SERIES_CONTOURS) {
        put_grid(out, p, s);
    } else if (s->kind == CP_SERIES_TILES) {
        put_row(out, p, s, &(double){s->image_width}, &(double){s->image_height}, NULL, &(double){s->n});
    } else {
        for (int i = 0; i < s->n; i++)
            put_row(out, p, s, lone ? NULL : &s->x[s->kind == CP_SERIES_BOX ? 0 : i], &s->y[i], s->error ? &s->error[i] : NULL,
                    s->kind == CP_SERIES_HISTOGRAM ? &s->width : NULL);
    }
}

/* Panels that show one grid both as bands and as lines have it once in the file. */
static bool same_grid_before(const cp_panel *p, const cp_series *s) {
    size_t bytes = (size_t)s->grid.nx * (size_t)s->grid.ny * sizeof(double);
    if (!bytes) return false;
    for (const cp_series *o = p->first; o != s; o = o->next)
        if (o->grid.nx == s->grid.nx && o->grid.ny == s->grid.ny && memcmp(o->grid.values, s->grid.values, bytes) == 0) return true;
    return false;
}

static void put_csv(const cp_figure *f, cp_bytes *out) {
    cp_bytes_text(out, "panel,series,kind,x,y,error,value\n");
    for (const cp_panel *p = f->first; p; p = p->next)
        for (const cp_series *s = p->first; s; s = s->next)
            if (!same_grid_before(p, s)) put_series(out, p, s);
}

bool cp_figure_save(cp_figure *f, const char *path, cp_status *status) {
    cp_bytes    svg = {0}, csv = {0};
    char        name[1100];
    const char *slash = strrchr(path, '/');
    bool        done = f && !f->failed;
    if (done) {
        cp_figure_draw(f, slash ? slash + 1 : path, &svg);
        put_csv(f, &csv);
        done = !svg.failed && !csv.failed;
    }
    if (!done) {
        cp_fail(status, "%.300s: not enough memory to draw the figure", path);
    } else {
        snprintf(name, sizeof name, "%.1000s.csv", path);
        done = cp_file_write(name, csv.data, csv.size, status);
        snprintf(name, sizeof name, "%.1000s.svg", path);
        done = done && cp_file_write(name, svg.data, svg.size, status);
    }
    cp_bytes_free(&svg);
    cp_bytes_free(&csv);
    return done;
}
