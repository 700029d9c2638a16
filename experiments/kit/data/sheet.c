/* Contact sheets. */
#include "experiments/kit/data/sheet.h"
#include "experiments/kit/figure/figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 26, PAPER = 150, NAME = 64 }; /* pixels of a sheet; the gray of empty tiles; bytes of a name */

struct cp_sheet {
    int       rows, columns, channels; /* of the images put in; shown are 1 or 3 */
    cp_image *tiles;                   /* (rows * columns) */
    size_t    area;
    uint8_t  *pixels, *bytes; /* of all tiles; of one image */
    char (*names)[NAME];      /* of the rows, then of the columns */
    const char **name;
    bool         has_rows, has_columns; /* names */
};

cp_sheet *cp_sheet_new(int rows, int columns, cp_shape shape) {
    int       channels = shape.dims[2], shown = channels < 3 ? 1 : 3;
    size_t    tiles = (size_t)rows * (size_t)columns, area = (size_t)shape.dims[0] * (size_t)shape.dims[1];
    size_t    size = area * (size_t)shown;
    cp_sheet *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    *s = (cp_sheet){.rows = rows, .columns = columns, .channels = channels, .area = area};
    s->tiles = calloc(tiles, sizeof *s->tiles);
    s->pixels = malloc(tiles * size);
    s->bytes = malloc(area * (size_t)channels);
    s->names = calloc((size_t)rows + (size_t)columns, sizeof *s->names);
    s->name = calloc((size_t)rows + (size_t)columns, sizeof *s->name);
    if (!s->tiles || !s->pixels || !s->bytes || !s->names || !s->name) {
        cp_sheet_free(s);
        return NULL;
    }
    memset(s->pixels, PAPER, tiles * size);
    for (int i = 0; i < rows + columns; i++) s->name[i] = s->names[i];
    for (size_t i = 0; i < tiles; i++) s->tiles[i] = (cp_image){shape.dims[1], shape.dims[0], shown, s->pixels + i * size};
    return s;
}

void cp_sheet_put(cp_sheet *s, int row, int column, const cp_real *values) {
    size_t   tile = (size_t)row * (size_t)s->columns + (size_t)column;
    size_t   channels = (size_t)s->channels, shown = (size_t)s->tiles->channels;
    uint8_t *to = s->pixels + tile * s->area * shown;
    cp_pixels_of(values, s->area * channels, s->bytes);
    for (size_t i = 0; i < s->area; i++)
        for (size_t c = 0; c < shown; c++) *to++ = s->bytes[i * channels + c];
}

void cp_sheet_name_row(cp_sheet *s, int row, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(s->names[row], NAME, format, values);
    va_end(values);
    s->has_rows = true;
}

void cp_sheet_name_column(cp_sheet *s, int column, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(s->names[s->rows + column], NAME, format, values);
    va_end(values);
    s->has_columns = true;
}

static cp_tiles tiles_of(const cp_sheet *s) {
    return (cp_tiles){.n = s->rows * s->columns,
                      .columns = s->columns,
                      .images = s->tiles,
                      .row_names = s->has_rows ? s->name : NULL,
                      .column_names = s->has_columns ? s->name + s->rows : NULL};
}

bool cp_sheet_save(const cp_sheet *s, const char *path, const char *caption, cp_status *status) {
    cp_tiles tiles = tiles_of(s);
    return cp_tiles_save(path, caption, &tiles, status);
}

void cp_sheet_free(cp_sheet *s) {
    if (!s) return;
    free(s->tiles);
    free(s->pixels);
    free(s->bytes);
    free(s->names);
    free(s->name);
    free(s);
}

/* ---- of an image set ---- */

typedef struct member {
    int group, row; /* the patient, the image */
} member;

static int by_group(const void *a, const void *b) {
    const member *x = a, *y = b;
    return x->group != y->group ? (x->group > y->group) - (x->group < y->group) : x->row - y->row;
}

static int group_end(const member *of, int count, int from) {
    int end = from;
    while (end < count && of[end].group == of[from].group) end++;
    return end;
}

/* The images that so many tiles show, in their order, evenly spread over the groups and over the images of each; where there are more
 * groups than tiles, one image each, from places all over the groups. Returns how many. */
static int choose(const member *of, int count, int tiles, int *shown) {
    int groups = 0, chosen = 0, from = 0, end = group_end(of, count, 0);
    for (int i = 0; i < count; i = group_end(of, count, i)) groups++;
    for (int64_t t = 0, number = 0; t < tiles; t++) {
        double place = (double)((2 * t + 1) * groups) / (2 * tiles), share = place - floor(place);
        for (; number < (int64_t)place; number++) from = end, end = group_end(of, count, from);
        if (groups > tiles) share = fmod(share + 0.618034 * (double)t, 1); /* multiples of the golden ratio are spread evenly */
        int row = of[from + (int)((end - from) * share)].row;
        if (chosen == 0 || shown[chosen - 1] != row) shown[chosen++] = row;
    }
    return chosen;
}

typedef struct filling {
    cp_real *row;     /* of one image */
    member  *members; /* (images of the split): those of a class */
    int     *shown;   /* (tiles of a class) */
} filling;

static void fill(const cp_images *images, int which, const cp_sheet_plan *plan, filling *f, cp_sheet *sheet) {
    const cp_split *split = &images->set->splits[which];
    const int      *groups = plan->spread ? images->groups[which] : NULL;
    int             tiles = plan->rows * plan->columns;
    for (int c = 0; c < images->classes; c++) {
        int count = 0, top = c * (plan->rows + plan->spread);
        for (int i = 0; i < split->count && (plan->spread || count < tiles); i++)
            if (split->labels[i] == c) f->members[count++] = (member){groups ? groups[i] : 0, i};
        if (count) qsort(f->members, (size_t)count, sizeof *f->members, by_group);
        int chosen = count ? choose(f->members, count, count < tiles ? count : tiles, f->shown) : 0;
        for (int t = 0; t < chosen; t++) {
            cp_split_read(split, &f->shown[t], 1, f->row);
            cp_sheet_put(sheet, top + t / plan->columns, t % plan->columns, f->row);
        }
        if (images->class_names)
            cp_sheet_name_row(sheet, top, "%s", images->class_names[c]);
        else
            cp_sheet_name_row(sheet, top, "class %d", c);
    }
}

bool cp_images_sheet(const cp_images *images, int split, const cp_sheet_plan *plan, const char *path, cp_status *status) {
    int    rows = images->classes * (plan->rows + plan->spread) - plan->spread;
    double across = (double)plan->columns * images->width, down = (double)rows * images->height;
    if (!images->set->splits[split].labels)
        return cp_fail(status, "%s has no labels in its %s split; a sheet shows the classes", images->name,
                       cp_images_splits[split]);
    if (plan->columns < 1 || plan->rows < 1 || across * down > LARGEST)
        return cp_fail(status, "a sheet of %d images of %d x %d for each of %d classes would be too large; ask for fewer",
                       plan->rows * plan->columns, images->height, images->width, images->classes);
    cp_sheet *sheet = cp_sheet_new(rows, plan->columns, images->set->shape);
    filling   f = {malloc(images->set->values * sizeof *f.row),
                   malloc(((size_t)images->set->splits[split].count + 1) * sizeof *f.members),
                   malloc((size_t)plan->rows * (size_t)plan->columns * sizeof *f.shown)};
    bool      ok = (sheet && f.row && f.members && f.shown) || cp_fail(status, "%.300s: not enough memory for the picture", path);
    if (ok) {
        fill(images, split, plan, &f, sheet);
        cp_tiles tiles = tiles_of(sheet);
        ok = cp_tiles_write(path, &tiles, status);
    }
    cp_sheet_free(sheet), free(f.row), free(f.members), free(f.shown);
    return ok;
}
