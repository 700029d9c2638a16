/* Contact sheets. */
#include "experiments/kit/data/sheet.h"
#include "experiments/kit/figure/figure.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 26, PAPER = 150 }; /* pixels of a sheet; the gray of empty tiles */

struct cp_sheet {
    int       rows, columns, channels; /* of the images put in; shown are 1 or 3 */
    cp_image *tiles;                   /* (rows * columns) */
    size_t    area;
    uint8_t  *pixels, *bytes; /* of all tiles; of one image */
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
    if (!s->tiles || !s->pixels || !s->bytes) {
        cp_sheet_free(s);
        return NULL;
    }
    memset(s->pixels, PAPER, tiles * size);
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

bool cp_sheet_save(const cp_sheet *s, const char *path, const char *caption, cp_status *status) {
    return cp_tiles_save(path, caption, s->rows * s->columns, s->tiles, s->columns, status);
}

void cp_sheet_free(cp_sheet *s) {
    if (!s) return;
    free(s->tiles);
    free(s->pixels);
    free(s->bytes);
    free(s);
}

/* ---- of an image set ---- */

/* The image, of the `count` of a class, that tile `tile` shows; beyond them: none. */
static int64_t image_of(const cp_sheet_plan *plan, int64_t tile, int64_t count) {
    int64_t tiles = (int64_t)plan->rows * plan->columns;
    return plan->spread && count > tiles ? (2 * tile + 1) * count / (2 * tiles) : tile;
}

/* counts (3, classes): images of the split, those passed, those shown. */
static void fill(const cp_images *images, const cp_split *split, const cp_sheet_plan *plan, int *counts, cp_real *row,
                 cp_sheet *sheet) {
    int *seen = counts + images->classes, *used = seen + images->classes;
    cp_split_class_counts(split, counts);
    for (int i = 0; i < split->count; i++) {
        int c = split->labels[i], tile = c < 0 ? 0 : used[c];
        if (c < 0 || seen[c]++ != image_of(plan, tile, counts[c]) || tile == plan->rows * plan->columns) continue;
        cp_split_read(split, &i, 1, row);
        cp_sheet_put(sheet, c * (plan->rows + plan->spread) + tile / plan->columns, tile % plan->columns, row);
        used[c]++;
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
    cp_real  *row = malloc(images->set->values * sizeof *row);
    int      *counts = calloc(3 * (size_t)images->classes, sizeof *counts);
    bool      ok = (sheet && row && counts) || cp_fail(status, "%.300s: not enough memory for the picture", path);
    if (ok) {
        fill(images, &images->set->splits[split], plan, counts, row, sheet);
        ok = cp_tiles_write(path, rows * plan->columns, sheet->tiles, plan->columns, status);
    }
    cp_sheet_free(sheet), free(row), free(counts);
    return ok;
}
