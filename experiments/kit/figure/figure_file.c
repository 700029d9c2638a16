/* Figures in files: the numbers as CSV, and the description from which a figure is drawn again. */
#include "experiments/kit/figure/figure_parts.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- CSV ---- */

static void put_field(cp_bytes *out, const char *text) {
    cp_bytes_text(out, "\"");
    for (; text && *text; text++) cp_bytes_append(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    cp_bytes_text(out, "\"");
}

/* A number with nine significant digits, without trailing zeros; nothing for a value that this kind of series lacks. */
static void put_number(cp_bytes *out, const double *value) {
    char text[40] = "";
    if (value && !isnan(*value)) snprintf(text, sizeof text, "%.9g", *value);
    cp_bytes_text(out, ",");
    cp_bytes_text(out, value && isnan(*value) ? "nan" : text);
}

/* The title; where several panels have the same one, also what they show. */
static void put_panel(cp_bytes *out, const cp_panel *p) {
    const char *title = p->config.title ? p->config.title : "";
    bool        shared = false;
    char        full[400];
    for (const cp_panel *o = p->figure->first; o; o = o->next)
        shared = shared || (o != p && strcmp(o->config.title ? o->config.title : "", title) == 0);
    snprintf(full, sizeof full, "%s%s%s", title, *title ? ": " : "", p->config.y_label ? p->config.y_label : "");
    put_field(out, shared && p->config.y_label ? full : title);
}

/* On an axis of names, x is written as the nearest name; the cells of a grid have numbers in both directions. */
static void put_x(cp_bytes *out, const cp_panel *p, const cp_series *s, const double *x) {
    bool named = p->config.x_name_count && !(s->mark->needs & CP_NEEDS_GRID);
    long place = x && named && isfinite(*x) ? lround(*x) : -1;
    if (place >= 0 && place < p->config.x_name_count) {
        cp_bytes_text(out, ",");
        put_field(out, p->config.x_names[place]);
    } else {
        put_number(out, x);
    }
}

static void put_row(cp_bytes *out, const cp_panel *p, const cp_series *s, const double *x, const double *y, const double *error,
                    const double *value) {
    put_panel(out, p);
    cp_bytes_text(out, ",");
    put_field(out, s->style.label);
    cp_bytes_text(out, ",");
    cp_bytes_text(out, s->mark->name);
    put_x(out, p, s, x);
    put_number(out, y);
    put_number(out, error);
    put_number(out, value);
    cp_bytes_text(out, "\n");
}

static double between(double first, double last, int i, int count) {
    return count > 1 ? first + (last - first) * i / (count - 1) : first;
}

/* A grid's values, or the numbers written in its cells. */
static void put_grid(cp_bytes *out, const cp_panel *p, const cp_series *s) {
    const cp_grid *g = &s->grid;
    const double  *values = s->y ? s->y : g->values;
    for (int j = 0; j < g->ny; j++)
        for (int i = 0; i < g->nx; i++) {
            double x = between(g->x0, g->x1, i, g->nx), y = between(g->y0, g->y1, j, g->ny);
            put_row(out, p, s, &x, &y, NULL, &values[(size_t)j * (size_t)g->nx + (size_t)i]);
        }
}

static const double *at(const double *numbers, int i) { return numbers ? numbers + i : NULL; }

static void put_series(cp_bytes *out, const cp_panel *p, const cp_series *s) {
    if (s->mark->needs & CP_NEEDS_GRID) {
        put_grid(out, p, s);
    } else {
        for (int i = 0; i < s->n; i++)
            put_row(out, p, s, at(s->x, i), at(s->y, i), at(s->error, i),
                    s->from        ? at(s->from, i)
                    : s->width > 0 ? &s->width
                                   : NULL);
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

void cp_figure_csv(const cp_figure *f, cp_bytes *out) {
    cp_bytes_text(out, "panel,series,kind,x,y,error,value\n");
    for (const cp_panel *p = f->first; p; p = p->next)
        for (const cp_series *s = p->first; s; s = s->next)
            if (!same_grid_before(p, s)) put_series(out, p, s);
}

/* ---- the description, written and read by the same list of fields ---- */

/* Either direction: `to` when writing, `from` when reading. Fields of value zero are not written. */
typedef struct pass {
    cp_json_writer *to;
    const cp_json  *from;
    cp_figure      *figure; /* which owns what is read */
    const char     *error;
} pass;

static void pass_text(pass *p, const char *key, const char **text) {
    if (p->to && *text) cp_json_put_string(p->to, key, *text);
    if (p->from) *text = cp_figure_copy_text(p->figure, cp_json_string(cp_json_get(p->from, key), NULL));
}

static void pass_real(pass *p, const char *key, double *value) {
    if (p->to && *value != 0) cp_json_put_number(p->to, key, *value);
    if (p->from) *value = cp_json_number(cp_json_get(p->from, key), 0);
}

/* A length in the picture. */
static void pass_length(pass *p, const char *key, double *value) {
    enum { LENGTH_MAX = 20000 };
    pass_real(p, key, value);
    if (p->from && !(*value >= 0 && *value <= LENGTH_MAX)) p->error = key;
}

static void pass_int(pass *p, const char *key, int *value, int min, int max) {
    if (p->to && *value != 0) cp_json_put_integer(p->to, key, *value);
    if (!p->from) return;
    int64_t found = cp_json_integer(cp_json_get(p->from, key), 0);
    if (found < min || found > max) p->error = key;
    *value = p->error ? 0 : (int)found;
}

static void pass_bool(pass *p, const char *key, bool *value) {
    if (p->to && *value) cp_json_put_bool(p->to, key, true);
    if (p->from) *value = cp_json_bool(cp_json_get(p->from, key), false);
}

/* NaN is null in the file. Reading sets the count, or compares it when it is set already. */
static void pass_numbers(pass *p, const char *key, double **numbers, int *count) {
    if (p->to && *numbers) cp_json_put_numbers(p->to, key, *numbers, (size_t)*count);
    const cp_json *array = cp_json_get(p->from, key);
    if (!array) return;
    if (array->kind != CP_JSON_ARRAY || array->count > INT_MAX / 8 || (*count >= 0 && (size_t)*count != array->count)) {
        p->error = key;
        return;
    }
    *numbers = cp_figure_alloc(p->figure, array->count * sizeof **numbers);
    *count = (int)array->count;
    int i = 0;
    for (const cp_json *m = *numbers ? array->first : NULL; m; m = m->next) (*numbers)[i++] = cp_json_number(m, NAN);
}

static void pass_names(pass *p, const char *key, const char *const **names, int *count) {
    if (p->to && *count > 0) cp_json_put_strings(p->to, key, *names, (size_t)*count);
    const cp_json *array = cp_json_get(p->from, key);
    if (!array) return;
    const char **found = array->kind == CP_JSON_ARRAY ? cp_figure_alloc(p->figure, array->count * sizeof *found) : NULL;
    if (!found) p->error = key;
    for (const cp_json *m = found ? array->first : NULL; m; m = m->next)
        found[(*count)++] = cp_figure_copy_text(p->figure, cp_json_string(m, ""));
    *names = found;
}

static void pass_grid(pass *p, cp_grid *g) {
    enum { SIDE_MAX = 10000 };
    pass_int(p, "nx", &g->nx, 0, SIDE_MAX);
    pass_int(p, "ny", &g->ny, 0, SIDE_MAX);
    pass_real(p, "x0", &g->x0);
    pass_real(p, "x1", &g->x1);
    pass_real(p, "y0", &g->y0);
    pass_real(p, "y1", &g->y1);
    double *values = (double *)g->values;
    int     count = g->nx * g->ny;
    pass_numbers(p, "grid", &values, &count);
    g->values = values;
    if (!values) g->nx = g->ny = 0;
}

static void pass_series(pass *p, cp_series *s) {
    int marker = (int)s->style.marker, dash = (int)s->style.dash, ramp = (int)s->ramp, n = p->from ? -1 : s->n;
    pass_text(p, "label", &s->style.label);
    pass_int(p, "color", &s->style.color, -1000, 1000);
    pass_int(p, "marker", &marker, 0, CP_NO_MARK);
    pass_int(p, "dash", &dash, 0, CP_DASH_DOT);
    pass_bool(p, "ring", &s->style.ring);
    pass_bool(p, "band", &s->style.band);
    pass_length(p, "size", &s->style.size);
    pass_length(p, "opacity", &s->style.opacity);
    pass_numbers(p, "x", &s->x, &n);
    pass_numbers(p, "y", &s->y, &n);
    pass_numbers(p, "error", &s->error, &n);
    pass_numbers(p, "from", &s->from, &n);
    pass_real(p, "width", &s->width);
    pass_int(p, "place", &s->place, 0, 1000);
    pass_int(p, "places", &s->places, 1, 1000);
    pass_grid(p, &s->grid);
    pass_int(p, "ramp", &ramp, 0, CP_RAMP_ONE);
    pass_int(p, "bands", &s->bands, 0, 1000);
    pass_int(p, "decimals", &s->decimals, -1, 12);
    pass_bool(p, "shares", &s->shares);
    pass_real(p, "low", &s->low);
    pass_real(p, "high", &s->high);
    s->style.marker = (cp_marker)marker, s->style.dash = (cp_dash)dash, s->ramp = (cp_ramp)ramp;
    s->n = n > 0 ? n : 0;
}

static void pass_panel(pass *p, cp_panel_config *c) {
    pass_text(p, "title", &c->title);
    pass_text(p, "x_label", &c->x_label);
    pass_text(p, "y_label", &c->y_label);
    pass_real(p, "x_least", &c->x_min);
    pass_real(p, "x_most", &c->x_max);
    pass_real(p, "y_least", &c->y_min);
    pass_real(p, "y_most", &c->y_max);
    pass_bool(p, "x_log", &c->x_log);
    pass_bool(p, "y_log", &c->y_log);
    pass_bool(p, "equal", &c->equal);
    pass_names(p, "x_names", &c->x_names, &c->x_name_count);
    pass_names(p, "y_names", &c->y_names, &c->y_name_count);
}

static void pass_figure(pass *p, cp_figure_config *c) {
    pass_text(p, "title", &c->title);
    pass_text(p, "caption", &c->caption);
    pass_int(p, "columns", &c->columns, 0, 1000);
    pass_length(p, "width", &c->width);
    pass_length(p, "height", &c->height);
}

void cp_figure_describe(cp_figure *f, cp_json_writer *out) {
    pass p = {.to = out};
    cp_json_put_object(out, NULL);
    pass_figure(&p, &f->config);
    cp_json_put_array(out, "panels");
    for (cp_panel *panel = f->first; panel; panel = panel->next) {
        cp_json_put_object(out, NULL);
        pass_panel(&p, &panel->config);
        cp_json_put_array(out, "series");
        for (cp_series *s = panel->first; s; s = s->next) {
            cp_json_put_object(out, NULL);
            cp_json_put_string(out, "mark", s->mark->name);
            pass_series(&p, s);
            cp_json_put_end(out);
        }
        cp_json_put_end(out);
        cp_json_put_end(out);
    }
    cp_json_put_end(out);
    cp_json_put_end(out);
}

/* ---- reading ---- */

static const cp_mark *find_mark(const char *name) {
#define CP_MARK_LIST(name) &cp_mark_##name,
    static const cp_mark *const marks[] = {CP_MARKS(CP_MARK_LIST)};
    for (size_t i = 0; name && i < sizeof marks / sizeof *marks; i++)
        if (strcmp(marks[i]->name, name) == 0) return marks[i];
    return NULL;
}

/* Whether a series has everything that drawing needs. */
static bool is_complete(const cp_series *s) {
    int  needs = s->mark->needs;
    bool grid = s->grid.nx > 0 && s->grid.ny > 0 && s->grid.values;
    if ((needs & CP_NEEDS_X && !s->x) || (needs & CP_NEEDS_Y && !s->y) || (needs & CP_NEEDS_GRID && !grid)) return false;
    return !(needs & CP_NEEDS_GRID && s->y && s->n != s->grid.nx * s->grid.ny);
}

static void read_panel(pass *p, const cp_json *from) {
    cp_panel *panel = cp_figure_panel(p->figure, (cp_panel_config){0});
    if (!panel) return;
    p->from = from;
    pass_panel(p, &panel->config);
    const cp_json *list = cp_json_get(from, "series");
    for (const cp_json *one = list ? list->first : NULL; one && !p->error && !p->figure->failed; one = one->next) {
        const cp_mark *mark = find_mark(cp_json_string(cp_json_get(one, "mark"), NULL));
        cp_series     *s = mark ? cp_series_add(panel, mark, (cp_style){0}) : NULL;
        p->from = one;
        if (s) pass_series(p, s);
        if (!mark)
            p->error = "mark";
        else if (s && !p->error && !p->figure->failed && !is_complete(s))
            p->error = mark->name;
    }
}

cp_figure *cp_figure_read(const cp_json *description, const char *name, cp_status *status) {
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    pass       p = {.from = description, .figure = f};
    if (!f) return cp_null(cp_fail(status, "%.300s: not enough memory for the figure", name));
    if (!description || description->kind != CP_JSON_OBJECT) p.error = "panels";
    if (!p.error) pass_figure(&p, &f->config);
    const cp_json *panels = cp_json_get(description, "panels");
    for (const cp_json *one = panels ? panels->first : NULL; one && !p.error && !f->failed; one = one->next) read_panel(&p, one);
    if (!p.error && !f->failed) return f;
    if (f->failed)
        cp_fail(status, "%.300s: not enough memory for the figure", name);
    else
        cp_fail(status, "%.300s describes no figure: \"%s\" is missing or not as cp_figure_save writes it", name, p.error);
    cp_figure_free(f);
    return NULL;
}
