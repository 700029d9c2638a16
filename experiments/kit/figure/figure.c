/* Figures: collecting what they show, and saving it. */
#include "core/io/file.h"
#include "experiments/kit/figure/figure_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory: everything belongs to the figure and is freed with it ---- */

struct cp_figure_block {
    cp_figure_block *next;
    double           data[];
};

void *cp_figure_alloc(cp_figure *f, size_t size) {
    cp_figure_block *block = calloc(1, sizeof *block + size);
    f->failed |= !block;
    if (!block) return NULL;
    block->next = f->blocks;
    f->blocks = block;
    return block->data;
}

char *cp_figure_copy_text(cp_figure *f, const char *text) {
    char *copy = text ? cp_figure_alloc(f, strlen(text) + 1) : NULL;
    return copy ? strcpy(copy, text) : NULL;
}

double *cp_figure_copy_numbers(cp_figure *f, const double *from, int n) {
    size_t  count = n > 0 ? (size_t)n : 0;
    double *copy = from ? cp_figure_alloc(f, count * sizeof *copy) : NULL;
    if (copy && count > 0) memcpy(copy, from, count * sizeof *copy);
    return copy;
}

void cp_figure_free(cp_figure *f) {
    for (cp_figure_block *block = f ? f->blocks : NULL, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(f);
}

/* ---- figures and panels ---- */

cp_figure *cp_figure_new(cp_figure_config config) {
    cp_figure *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->config = config;
    f->config.title = cp_figure_copy_text(f, config.title);
    f->config.caption = cp_figure_copy_text(f, config.caption);
    return f;
}

void cp_figure_caption(cp_figure *f, const char *format, ...) {
    char    text[2000];
    va_list values;
    if (!f) return;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    f->config.caption = cp_figure_copy_text(f, text);
}

static void copy_names(cp_figure *f, const char *const **names, int *count) {
    int    n = *names && *count > 0 ? *count : 0;
    char **copy = n > 0 ? cp_figure_alloc(f, (size_t)n * sizeof *copy) : NULL;
    for (int i = 0; copy && i < n; i++) copy[i] = cp_figure_copy_text(f, (*names)[i] ? (*names)[i] : "");
    *names = (const char *const *)copy;
    *count = copy ? n : 0;
}

cp_panel *cp_figure_panel(cp_figure *f, cp_panel_config config) {
    cp_panel *p = f ? cp_figure_alloc(f, sizeof *p) : NULL;
    if (!p) return NULL;
    p->figure = f;
    p->config = config;
    p->config.title = cp_figure_copy_text(f, config.title);
    p->config.x_label = cp_figure_copy_text(f, config.x_label);
    p->config.y_label = cp_figure_copy_text(f, config.y_label);
    copy_names(f, &p->config.x_names, &p->config.x_name_count);
    copy_names(f, &p->config.y_names, &p->config.y_name_count);
    *(f->last ? &f->last->next : &f->first) = p;
    f->last = p;
    f->panels++;
    return p;
}

/* ---- series ---- */

cp_series *cp_series_add(cp_panel *p, const cp_mark *mark, cp_style style) {
    cp_series *s = p ? cp_figure_alloc(p->figure, sizeof *s) : NULL;
    if (!s) return NULL;
    s->mark = mark;
    s->places = 1;
    s->style = style;
    s->style.label = cp_figure_copy_text(p->figure, style.label);
    *(p->last ? &p->last->next : &p->first) = s;
    p->last = s;
    return s;
}

bool cp_numbers_given(const char *mark, int n, const double *numbers) {
    return n <= 0 || numbers || cp_misuse((cp_at){0}, "panel", "%s: an array of %d numbers is NULL", mark, n);
}

cp_series *cp_series_add_data(cp_panel *p, const cp_mark *mark, cp_style style, int n, const double *x, const double *y,
                              const double *error) {
    bool given = (!(mark->needs & CP_NEEDS_X) || cp_numbers_given(mark->name, n, x)) &&
                 (!(mark->needs & CP_NEEDS_Y) || cp_numbers_given(mark->name, n, y));
    cp_series *s = given ? cp_series_add(p, mark, style) : NULL;
    if (!s) return NULL;
    s->x = cp_figure_copy_numbers(p->figure, x, n);
    s->y = cp_figure_copy_numbers(p->figure, y, n);
    s->error = cp_figure_copy_numbers(p->figure, error, n);
    s->n = p->figure->failed || n < 0 ? 0 : n;
    return s;
}

void cp_series_set_grid(cp_panel *p, cp_series *s, const cp_grid *grid) {
    if (!grid && !cp_misuse((cp_at){0}, "panel", "%s: the grid is NULL", s->mark->name)) return;
    s->grid = *grid;
    s->grid.values = cp_figure_copy_numbers(p->figure, grid->values, grid->nx * grid->ny);
    if (!s->grid.values) s->grid.nx = s->grid.ny = 0;
}

/* ---- saving ---- */

static bool write_part(const char *path, const char *end, const cp_bytes *part, cp_status *status) {
    char name[1100];
    snprintf(name, sizeof name, "%.1000s%s", path, end);
    return cp_file_write(name, part->data, part->size, status);
}

bool cp_figure_save(cp_figure *f, const char *path, cp_status *status) {
    cp_bytes       svg = {0}, csv = {0};
    cp_json_writer description = {0};
    const char    *slash = strrchr(path, '/');
    bool           done = f && !f->failed;
    if (done) {
        cp_figure_describe(f, &description);
        cp_figure_csv(f, &csv);
        cp_figures_share_axes(&f, 1);
        cp_figure_draw(f, slash ? slash + 1 : path, &svg);
        done = !svg.failed && !csv.failed && cp_json_writer_finish(&description, NULL);
    }
    if (!done)
        cp_fail(status, "%.300s: not enough memory to draw the figure", path);
    else
        done = write_part(path, ".csv", &csv, status) && write_part(path, ".figure.json", &description.out, status) &&
               write_part(path, ".svg", &svg, status);
    cp_bytes_free(&svg);
    cp_bytes_free(&csv);
    cp_json_writer_free(&description);
    return done;
}

bool cp_figure_finish(cp_figure *f, const char *path, cp_status *status) {
    bool saved = cp_figure_save(f, path, status);
    cp_figure_free(f);
    return saved;
}
