/* How a value of a tape is shown: its name, its numbers in one line of text, and a picture for a page. */
#include "core/show/value.h"

#include "core/tape_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 64, MAX_KERNEL = 11 };

/* ---- names ---- */

cp_label cp_label_of(const char *name) {
    cp_label text = {""};
    memcpy(text.s, name, cp_text_cut(name, strlen(name), sizeof text.s - 1));
    return text;
}

cp_label cp_value_label(const cp_tape *tape, int id) {
    cp_label text;
    if (tape->values[id]->name) return cp_label_of(tape->values[id]->name);
    snprintf(text.s, sizeof text.s, "%%%d", id);
    return text;
}

cp_label cp_input_label(const cp_tape *tape, const cp_node *node, int i) {
    const cp_tensor *t = node->in[i];
    if (node->ids[i] >= 0) return cp_value_label(tape, node->ids[i]);
    if (t->tape == tape && t->id >= 0) return cp_value_label(tape, t->id); /* a value that this op treats as a constant */
    return cp_label_of(t->name ? t->name : "constant");
}

bool cp_is_leaf(const cp_tape *tape, int id, int *node) {
    bool result = *node < tape->node_count && tape->nodes[*node]->out->id == id;
    *node += result;
    return !result;
}

bool cp_has_gradient(const cp_tape *tape, const cp_tensor *value) { return value->tape || !tape->frozen; }

bool cp_show_check(cp_at at, const char *op, const FILE *file) {
    return (at.tape && file) || cp_misuse(at, op, "the %s is NULL", at.tape ? "file" : "tape");
}

/* ---- numbers ---- */

static cp_label number_text(double value) {
    cp_label text = {"nan"}; /* printf would write its sign */
    if (!isnan(value)) snprintf(text.s, sizeof text.s, "%.4g", value);
    return text;
}

cp_label cp_number_text(cp_real value) {
    cp_label text = {"nan"};
    for (int digits = 1; digits <= 17 && value == value; digits++) {
        snprintf(text.s, sizeof text.s, "%.*g", digits, (double)value);
        if ((cp_real)strtod(text.s, NULL) == value) break;
    }
    return text;
}

static void put_number(cp_json_writer *w, const char *key, double value) { cp_json_put_string(w, key, number_text(value).s); }

typedef struct summary {
    double low, high, mean, scale; /* of the finite ones; scale: the largest magnitude */
    size_t nans, infinities;
} summary;

static summary summary_of(const cp_tensor *t) {
    summary s = {.low = INFINITY, .high = -INFINITY};
    double  sum = 0;
    for (size_t i = 0; i < t->size; i++) {
        double value = (double)t->data[i];
        if (isnan(value)) s.nans++;
        if (isinf(value)) s.infinities++;
        if (!isfinite(value)) continue;
        s.low = value < s.low ? value : s.low;
        s.high = value > s.high ? value : s.high;
        sum += value;
    }
    size_t finite = t->size - s.nans - s.infinities;
    if (!finite) return (summary){NAN, NAN, NAN, 0, s.nans, s.infinities};
    s.mean = sum / (double)finite;
    s.scale = fmax(fabs(s.low), fabs(s.high));
    return s;
}

cp_values_line cp_values_text(const cp_tensor *t, size_t few) {
    cp_values_line line = {""};
    int            used = 0;
    if (!t->data && t->size) return (cp_values_line){"released"};
    for (size_t i = 0; t->size <= few && i < t->size; i++)
        used += snprintf(line.s + used, sizeof line.s - (size_t)used, "%s%s", i ? " " : "", number_text((double)t->data[i]).s);
    if (t->size <= few) return line;
    summary s = summary_of(t);
    used = snprintf(line.s, sizeof line.s, "%s .. %s, mean %s", number_text(s.low).s, number_text(s.high).s, number_text(s.mean).s);
    if (s.nans) used += snprintf(line.s + used, sizeof line.s - (size_t)used, ", %zu NaN", s.nans);
    if (s.infinities) snprintf(line.s + used, sizeof line.s - (size_t)used, ", %zu infinite", s.infinities);
    return line;
}

/* ---- which part of a tensor a picture shows ---- */

typedef struct view {
    size_t tiles, rows, columns;
    size_t tile_step, row_step, column_step;
    char   part[160];
} view;

static size_t min(size_t a, size_t b) { return a < b ? a : b; }

static view view_of_vector(const cp_tensor *t, size_t room) {
    view v = {.tiles = 1, .rows = 1, .columns = min(t->size, room), .column_step = 1};
    snprintf(v.part, sizeof v.part, "values 1 to %zu of %zu", v.columns, t->size);
    return v;
}

/* Matrices of the last two axes. */
static view view_of_matrices(const cp_tensor *t, size_t room) {
    size_t rows = (size_t)t->dims[t->rank - 2], columns = (size_t)t->dims[t->rank - 1], count = t->size / rows / columns;
    view   v = {.rows = rows, .columns = columns, .tile_step = rows * columns, .row_step = columns, .column_step = 1};
    int    used = 0;
    if (rows * columns > room) {
        v.columns = min(columns, min(MAX_COLUMNS, room));
        v.rows = min(rows, room / v.columns);
    }
    v.tiles = min(count, room / (v.rows * v.columns));
    if (count > 1) used = snprintf(v.part, sizeof v.part, "matrices 1 to %zu of %zu, ", v.tiles, count);
    snprintf(v.part + used, sizeof v.part - (size_t)used, "rows 1 to %zu of %zu, columns 1 to %zu of %zu", v.rows, rows, v.columns,
             columns);
    return v;
}

/* The windows of a convolution's kernel (kh, kw, in, out). */
static view view_of_kernel(const cp_tensor *t, size_t room) {
    size_t rows = (size_t)t->dims[0], columns = (size_t)t->dims[1], count = t->size / rows / columns;
    view   v = {.tiles = min(count, room / (rows * columns)),
                .rows = rows,
                .columns = columns,
                .tile_step = 1,
                .row_step = columns * count,
                .column_step = count};
    snprintf(v.part, sizeof v.part, "windows 1 to %zu of %zu", v.tiles, count);
    return v;
}

/* The channels of the first image of (..., H, W, C), with fewer pixels when it is large. */
static view view_of_image(const cp_tensor *t, size_t room) {
    const int *d = t->dims + t->rank - 3;
    size_t     h = (size_t)d[0], w = (size_t)d[1], c = (size_t)d[2], images = t->size / (h * w * c), every = 1;
    while (((h + every - 1) / every) * ((w + every - 1) / every) > room) every++;
    view v = {.rows = (h + every - 1) / every,
              .columns = (w + every - 1) / every,
              .tile_step = 1,
              .row_step = every * w * c,
              .column_step = every * c};
    v.tiles = min(c, room / (v.rows * v.columns));
    int used = snprintf(v.part, sizeof v.part, "image 1 of %zu, channels 1 to %zu of %zu", images, v.tiles, c);
    if (every > 1) snprintf(v.part + used, sizeof v.part - (size_t)used, ", one of %zu pixels in each direction", every);
    return v;
}

/* A guess from the shape: kernels begin with a small square. */
static bool looks_like_kernel(const cp_tensor *t) { return t->rank == 4 && t->dims[0] == t->dims[1] && t->dims[0] <= MAX_KERNEL; }

typedef enum layout { MATRICES, WINDOWS, IMAGES } layout;
static const char *const layout_names[] = {[WINDOWS] = "windows", [IMAGES] = "images"};

static layout layout_of(const cp_tensor *t) {
    if (t->rank < 4 || (looks_like_kernel(t) && t->dims[0] == 1)) return MATRICES;
    return looks_like_kernel(t) ? WINDOWS : IMAGES;
}

static view view_of(const cp_tensor *t, size_t room) {
    layout how = layout_of(t);
    if (t->rank < 2) return view_of_vector(t, room);
    if (how == MATRICES) return view_of_matrices(t, room);
    return how == WINDOWS && (size_t)t->dims[0] * (size_t)t->dims[1] <= room ? view_of_kernel(t, room) : view_of_image(t, room);
}

/* ---- the picture ---- */

static unsigned char cell_of(double value, double scale) {
    if (isnan(value)) return 0;
    if (isinf(value)) return value < 0 ? 1 : 255;
    return (unsigned char)(128 + lround(scale > 0 ? 126 * (value / scale) : 0));
}

static void put_cells(cp_json_writer *w, const cp_tensor *t, const view *v, double scale) {
    unsigned char cells[CP_PICTURE_CELLS + 2] = {0};
    cp_bytes      text = {0};
    size_t        count = 0;
    for (size_t tile = 0; tile < v->tiles; tile++)
        for (size_t row = 0; row < v->rows; row++)
            for (size_t column = 0; column < v->columns; column++)
                cells[count++] = cell_of((double)t->data[tile * v->tile_step + row * v->row_step + column * v->column_step], scale);
    cp_base64(&text, cells, (count + 2) / 3 * 3); /* without a '=' */
    w->out.failed |= !cp_bytes_append(&text, "", 1);
    cp_json_put_string(w, "cells", text.failed ? NULL : (const char *)text.data);
    cp_bytes_free(&text);
}

static void put_overview(cp_json_writer *w, const cp_tensor *t, size_t cells) {
    summary s = summary_of(t);
    put_number(w, "low", s.low);
    put_number(w, "high", s.high);
    put_number(w, "mean", s.mean);
    if (s.nans) cp_json_put_integer(w, "nan", (int64_t)s.nans);
    if (s.infinities) cp_json_put_integer(w, "infinite", (int64_t)s.infinities);
    if (!cells) return;
    view v = view_of(t, min(cells, CP_PICTURE_CELLS));
    cp_json_put_integer(w, "tiles", (int64_t)v.tiles);
    cp_json_put_integer(w, "rows", (int64_t)v.rows);
    cp_json_put_integer(w, "columns", (int64_t)v.columns);
    put_number(w, "scale", s.scale);
    cp_json_put_string(w, "part", v.part);
    put_cells(w, t, &v, s.scale);
}

void cp_picture_put(cp_json_writer *w, const char *key, const cp_tensor *t, size_t cells) {
    cp_json_put_object(w, key);
    cp_json_put_integers(w, "dims", t->dims, (size_t)t->rank);
    if (!t->data && t->size) {
        cp_json_put_bool(w, "released", true);
    } else if (t->size <= CP_VALUES_MAX) {
        cp_json_put_array(w, "values");
        for (size_t i = 0; i < t->size; i++) put_number(w, NULL, (double)t->data[i]);
        cp_json_put_end(w);
        if (layout_of(t) != MATRICES) cp_json_put_string(w, "layout", layout_names[layout_of(t)]);
    } else {
        put_overview(w, t, cells);
    }
    cp_json_put_end(w);
}
