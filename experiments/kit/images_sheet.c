/* Contact sheets of image sets. */
#include "experiments/kit/figure.h"
#include "experiments/kit/images.h"

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

/* The first images of every class; what a class lacks stays paper. `row` and `bytes` have room for an image. */
static void fill(const cp_images *images, const cp_split *split, int columns, int shown, uint8_t *pixels, cp_real *row,
                 uint8_t *bytes, int *found) {
    size_t size = (size_t)images->height * (size_t)images->width * (size_t)shown;
    for (int i = 0; i < split->count; i++) {
        int label = split->labels[i];
        if (found[label] == columns) continue;
        cp_split_read(split, &i, 1, row);
        cp_pixels_of(row, images->set->values, bytes);
        cp_shown_pixels(bytes, (size_t)images->height * (size_t)images->width, images->channels,
                        pixels + ((size_t)label * (size_t)columns + (size_t)found[label]++) * size);
    }
}

bool cp_images_sheet(const cp_images *images, int split, int columns, const char *path, cp_status *status) {
    int    shown = cp_shown_channels(images->channels), tiles;
    double across = (double)columns * images->width, down = (double)images->classes * images->height;
    if (columns < 1 || across * down > LARGEST)
        return cp_fail(status, "a sheet of %d images of %d x %d for each of %d classes would be too large; ask for fewer", columns,
                       images->height, images->width, images->classes);
    tiles = images->classes * columns;
    size_t    size = (size_t)images->height * (size_t)images->width * (size_t)shown;
    uint8_t  *pixels = malloc((size_t)tiles * size), *bytes = malloc(images->set->values);
    cp_real  *row = malloc(images->set->values * sizeof *row);
    cp_image *sheet = malloc((size_t)tiles * sizeof *sheet);
    int      *found = calloc((size_t)images->classes, sizeof *found);
    bool fine = (pixels && bytes && row && sheet && found) || cp_fail(status, "%.300s: not enough memory for the picture", path);
    if (fine) {
        memset(pixels, PAPER, (size_t)tiles * size);
        fill(images, &images->set->splits[split], columns, shown, pixels, row, bytes, found);
        for (int i = 0; i < tiles; i++) sheet[i] = (cp_image){images->width, images->height, shown, pixels + (size_t)i * size};
        fine = cp_tiles_write(path, tiles, sheet, columns, status);
    }
    free(pixels), free(bytes), free(row), free(sheet), free(found);
    return fine;
}
