/* Pictures of images side by side. */
#include "core/io/file.h"
#include "experiments/kit/figure/figure_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A picture of tiles, all lengths in its pixels. */
typedef struct canvas {
    int            scale, gap, unit; /* unit: side of a letter's pixels */
    int            tile_width, tile_height, left, top, width, height;
    unsigned char *pixels; /* RGB */
} canvas;

static void put_square(canvas *t, int x, int y, int side, const unsigned char rgb[3]) {
    for (int row = y; row < y + side; row++)
        for (int column = x; column < x + side; column++)
            memcpy(t->pixels + ((size_t)row * (size_t)t->width + (size_t)column) * 3, rgb, 3);
}

static void put_tile(canvas *t, const cp_image *image, int row, int column) {
    int left = t->left + column * (t->tile_width + t->gap), top = t->top + row * (t->tile_height + t->gap);
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width; x++) {
            const unsigned char *from = image->pixels + ((size_t)y * (size_t)image->width + (size_t)x) * (size_t)image->channels;
            unsigned char        rgb[3] = {from[0], from[image->channels == 3 ? 1 : 0], from[image->channels == 3 ? 2 : 0]};
            put_square(t, left + x * t->scale, top + y * t->scale, t->scale, rgb);
        }
}

/* ---- names ---- */

static bool continues(char c) { return ((unsigned char)c & 0xC0) == 0x80; } /* a character of UTF-8, which is one letter */

/* In units, with a gap behind each letter. */
static int width_of(const char *text, size_t bytes) {
    unsigned char columns[5];
    int           width = 0;
    for (size_t i = 0; i < bytes && text[i]; i++) width += continues(text[i]) ? 0 : cp_letter(text[i], columns) + 1;
    return width;
}

static int put_letters(canvas *t, int x, int y, const char *text, size_t bytes) {
    static const unsigned char ink[3] = {20, 20, 20};
    unsigned char              columns[5];
    for (size_t i = 0; i < bytes; i++) {
        int width = continues(text[i]) ? -1 : cp_letter(text[i], columns);
        for (int c = 0; c < width; c++)
            for (int row = 0; row < CP_LETTER_ROWS; row++)
                if (columns[c] >> row & 1) put_square(t, x + c * t->unit, y + row * t->unit, t->unit, ink);
        x += (width + 1) * t->unit;
    }
    return x;
}

/* A name in the middle of `room` or, when it is for a row, at its left end; cut short with two dots where it does not fit. */
static void put_name(canvas *t, int x, int y, int room, bool middle, const char *name) {
    size_t bytes = name ? strlen(name) : 0;
    int    units = room / t->unit + 1, dots = width_of("..", 2), width = width_of(name, bytes);
    bool   cut = width > units;
    while (cut && bytes && (continues(name[bytes]) || width_of(name, bytes) + dots > units)) bytes--;
    if (!bytes) return;
    if (middle && !cut) x += (room - (width - 1) * t->unit) / 2;
    x = put_letters(t, x, y, name, bytes);
    if (cut) put_letters(t, x, y, "..", 2);
}

static void put_names(canvas *t, const cp_tiles *tiles, int rows, int across) {
    int letters = CP_LETTER_ROWS * t->unit;
    for (int row = 0; tiles->row_names && row < rows; row++)
        put_name(t, t->gap, t->top + row * (t->tile_height + t->gap) + (t->tile_height - letters) / 2, t->left - 2 * t->gap, false,
                 tiles->row_names[row]);
    for (int column = 0; tiles->column_names && column < across; column++)
        put_name(t, t->left + column * (t->tile_width + t->gap), t->gap, t->tile_width, true, tiles->column_names[column]);
}

/* ---- the picture ---- */

/* Images are enlarged four times or to 64 pixels, unless the picture would become huge; letters stay readable when it is as wide as
 * a page. */
static canvas lay_out(const cp_tiles *tiles, int rows, int across) {
    enum { MIN_SCALE = 4, MIN_SIDE = 64, LARGEST = 1 << 24, PAGE = 650 }; /* a page has so many of a letter's pixels */
    const cp_image *image = tiles->images;
    canvas          t = {.scale = MIN_SIDE / (image->width > image->height ? image->width : image->height)};
    double          area = (double)rows * across * image->width * image->height;
    int             widest = 0;
    t.scale = t.scale < MIN_SCALE ? MIN_SCALE : t.scale;
    while (t.scale > 1 && area * t.scale * t.scale > LARGEST) t.scale--;
    t.gap = t.scale;
    t.tile_width = image->width * t.scale, t.tile_height = image->height * t.scale;
    t.width = across * (t.tile_width + t.gap) - t.gap, t.height = rows * (t.tile_height + t.gap) - t.gap;
    t.unit = (t.width + PAGE - 1) / PAGE < 2 ? 2 : (t.width + PAGE - 1) / PAGE;
    if (t.unit * CP_LETTER_ROWS > t.tile_height) t.unit = t.tile_height / CP_LETTER_ROWS ? t.tile_height / CP_LETTER_ROWS : 1;
    for (int row = 0; tiles->row_names && row < rows; row++) {
        const char *name = tiles->row_names[row];
        int         width = name ? width_of(name, strlen(name)) * t.unit : 0;
        widest = width > widest ? width : widest;
    }
    if (widest > t.width / 3 && widest > 60 * t.unit) widest = t.width / 3 > 60 * t.unit ? t.width / 3 : 60 * t.unit;
    if (tiles->row_names) t.left = widest + 2 * t.gap;
    if (tiles->column_names) t.top = CP_LETTER_ROWS * t.unit + 2 * t.gap;
    t.width += t.left, t.height += t.top;
    return t;
}

/* One PNG, on a gray that suits light and dark pages. */
static bool make_picture(const cp_tiles *tiles, cp_bytes *png) {
    enum { GRAY = 150 };
    int    rows = (tiles->n + tiles->columns - 1) / tiles->columns, across = tiles->columns < tiles->n ? tiles->columns : tiles->n;
    canvas t = lay_out(tiles, rows, across);
    size_t bytes = (size_t)t.width * (size_t)t.height * 3;
    t.pixels = malloc(bytes);
    if (!t.pixels) return false;
    memset(t.pixels, GRAY, bytes);
    for (int k = 0; k < tiles->n; k++) put_tile(&t, &tiles->images[k], k / tiles->columns, k % tiles->columns);
    put_names(&t, tiles, rows, across);
    bool ok = cp_png_encode(&(cp_image){t.width, t.height, 3, t.pixels}, png, NULL);
    free(t.pixels);
    return ok;
}

bool cp_tiles_write(const char *path, const cp_tiles *tiles, cp_status *status) {
    cp_bytes png = {0};
    if (tiles->n <= 0 || tiles->columns <= 0) return cp_fail(status, "%.300s: there are no images to save", path);
    bool ok = make_picture(tiles, &png) || cp_fail(status, "%.300s: not enough memory for the picture", path);
    ok = ok && cp_file_write(path, png.data, png.size, status);
    cp_bytes_free(&png);
    return ok;
}

bool cp_tiles_save(const char *path, const char *caption, const cp_tiles *tiles, cp_status *status) {
    cp_json_writer description = {0};
    char           name[1100];
    cp_figure     *figure = cp_figure_new((cp_figure_config){.caption = caption});
    bool           ok = figure && !figure->failed;
    if (ok) cp_figure_describe(figure, &description);
    if (!ok) cp_fail(status, "%.300s: not enough memory for the picture", path);
    snprintf(name, sizeof name, "%.1000s.png", path);
    ok = ok && cp_tiles_write(name, tiles, status);
    snprintf(name, sizeof name, "%.1000s.figure.json", path);
    ok = ok && cp_json_writer_save(&description, name, status);
    cp_json_writer_free(&description);
    cp_figure_free(figure);
    return ok;
}
