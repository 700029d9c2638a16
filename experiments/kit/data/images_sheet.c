/* Contact sheets of image sets. */
#include "experiments/kit/data/images.h"
#include "experiments/kit/figure/figure.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 26, PAPER = 150 }; /* pixels of a sheet; the gray of the gaps between tiles */

int cp_shown_channels(int channels) {
    return channels < 3 ? 1 : 3;
}

void cp_shown_pixels(const uint8_t *from, size_t pixels, int channels, uint8_t *to) {
    int shown = cp_shown_channels(channels);
    for (size_t i = 0; i < pixels; i++)
        for (int c = 0; c < shown; c++) to[i * (size_t)shown + (size_t)c] = from[i * (size_t)channels + (size_t)c];
}

typedef struct sheet_plan {
    int  rows, columns; /* of a class */
    bool spread;        /* images from all over the split, and an empty row between classes; else the first ones */
} sheet_plan;

/* Which of the `count` images of a class tile `tile` shows; beyond them: none. */
static int64_t image_of(const sheet_plan *plan, int64_t tile, int64_t count) {
    int64_t tiles = (int64_t)plan->rows * plan->columns;
    return plan->spread && count > tiles ? (2 * tile + 1) * count / (2 * tiles) : tile;
}

typedef struct sheet_work {
    uint8_t *pixels;               /* of all tiles; what a class lacks stays paper */
    uint8_t *bytes;                /* room for an image */
    cp_real *row;                  /* the same */
    int     *counts, *seen, *used; /* (classes): images of the split, those passed, those shown */
} sheet_work;

static void fill(const cp_images *images, const cp_split *split, const sheet_plan *plan, sheet_work *w) {
    size_t area = (size_t)images->height * (size_t)images->width, size = area * (size_t)cp_shown_channels(images->channels);
    cp_split_class_counts(split, w->counts);
    for (int i = 0; i < split->count; i++) {
        int c = split->labels[i], tile = w->used[c];
        if (w->seen[c]++ != image_of(plan, tile, w->counts[c]) || tile == plan->rows * plan->columns) continue;
        cp_split_read(split, &i, 1, w->row);
        cp_pixels_of(w->row, images->set->values, w->bytes);
        size_t place = (size_t)c * (size_t)(plan->rows + plan->spread) * (size_t)plan->columns + (size_t)w->used[c]++;
        cp_shown_pixels(w->bytes, area, images->channels, w->pixels + place * size);
    }
}

static bool write_sheet(const cp_images *images, int split, const sheet_plan *plan, const char *path, cp_status *status) {
    int    shown = cp_shown_channels(images->channels), rows = images->classes * (plan->rows + plan->spread) - plan->spread;
    double across = (double)plan->columns * images->width, down = (double)rows * images->height;
    if (plan->columns < 1 || plan->rows < 1 || across * down > LARGEST)
        return cp_fail(status, "a sheet of %d images of %d x %d for each of %d classes would be too large; ask for fewer",
                       plan->rows * plan->columns, images->height, images->width, images->classes);
    size_t     size = (size_t)images->height * (size_t)images->width * (size_t)shown, tiles = (size_t)rows * (size_t)plan->columns;
    size_t     classes = (size_t)images->classes;
    cp_image  *sheet = malloc(tiles * sizeof *sheet);
    int       *numbers = calloc(3 * classes, sizeof *numbers);
    sheet_work w = {malloc(tiles * size), malloc(images->set->values), malloc(images->set->values * sizeof *w.row), numbers,
                    numbers + classes,    numbers + 2 * classes};
    bool       ok =
        (w.pixels && w.bytes && w.row && sheet && numbers) || cp_fail(status, "%.300s: not enough memory for the picture", path);
    if (ok) {
        memset(w.pixels, PAPER, tiles * size);
        fill(images, &images->set->splits[split], plan, &w);
        for (size_t i = 0; i < tiles; i++) sheet[i] = (cp_image){images->width, images->height, shown, w.pixels + i * size};
        ok = cp_tiles_write(path, (int)tiles, sheet, plan->columns, status);
    }
    free(w.pixels), free(w.bytes), free(w.row), free(sheet), free(numbers);
    return ok;
}

bool cp_images_sheet(const cp_images *images, int split, int columns, const char *path, cp_status *status) {
    return write_sheet(images, split, &(sheet_plan){1, columns, false}, path, status);
}

bool cp_images_sheet_spread(const cp_images *images, int split, int rows, int columns, const char *path, cp_status *status) {
    return write_sheet(images, split, &(sheet_plan){rows, columns, true}, path, status);
}
