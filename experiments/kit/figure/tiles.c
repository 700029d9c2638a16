/* Pictures of images side by side. */
#include "core/io/file.h"
#include "experiments/kit/figure/figure_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* All tiles as one PNG with gaps of a gray that suits light and dark pages, enlarged so that viewers which smooth have
 * little to smooth. */
static bool make_sheet(int n, const cp_image *images, int columns, cp_bytes *png) {
    enum { GAP_GRAY = 150 };
    int rows = (n + columns - 1) / columns, across = columns < n ? columns : n,
        largest = images->width > images->height ? images->width : images->height;
    tile_sheet t = {.columns = columns, .scale = largest < 64 ? 64 / largest : 1};
    t.gap = 2 * t.scale;
    t.width = across * (images->width * t.scale + t.gap) - t.gap;
    t.height = rows * (images->height * t.scale + t.gap) - t.gap;
    size_t bytes = (size_t)t.width * (size_t)t.height * 3;
    t.pixels = malloc(bytes);
    if (!t.pixels) return false;
    memset(t.pixels, GAP_GRAY, bytes);
    for (int k = 0; k < n; k++) put_tile(&t, &images[k], k);
    bool ok = cp_png_encode(&(cp_image){t.width, t.height, 3, t.pixels}, png, NULL);
    free(t.pixels);
    return ok;
}

bool cp_tiles_write(const char *path, int n, const cp_image *images, int columns, cp_status *status) {
    cp_bytes png = {0};
    if (n <= 0 || columns <= 0) return cp_fail(status, "%.300s: there are no images to save", path);
    bool ok = make_sheet(n, images, columns, &png) || cp_fail(status, "%.300s: not enough memory for the picture", path);
    ok = ok && cp_file_write(path, png.data, png.size, status);
    cp_bytes_free(&png);
    return ok;
}

bool cp_tiles_save(const char *path, const char *caption, int n, const cp_image *images, int columns, cp_status *status) {
    cp_json_writer description = {0};
    char           name[1100];
    cp_figure     *figure = cp_figure_new((cp_figure_config){.caption = caption});
    bool           ok = figure && !figure->failed;
    if (ok) cp_figure_describe(figure, &description);
    if (!ok) cp_fail(status, "%.300s: not enough memory for the picture", path);
    snprintf(name, sizeof name, "%.1000s.png", path);
    ok = ok && cp_tiles_write(name, n, images, columns, status);
    snprintf(name, sizeof name, "%.1000s.figure.json", path);
    ok = ok && cp_json_writer_save(&description, name, status);
    cp_json_writer_free(&description);
    cp_figure_free(figure);
    return ok;
}
