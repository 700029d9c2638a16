/* PNG: a signature, then chunks of length, name, data and CRC; the pixels are rows, each with its filter, compressed. */
#include "core/io/png.h"

#include "core/io/deflate.h"

#include <stdlib.h>

enum { FILTERS = 5 };

static void put_chunk(cp_bytes *out, const char *name, const void *data, size_t size) {
    unsigned char word[4];
    cp_put_be32(word, (uint32_t)size);
    cp_bytes_append(out, word, 4);
    size_t start = out->size;
    cp_bytes_append(out, name, 4);
    cp_bytes_append(out, data, size);
    if (out->failed) return;
    cp_put_be32(word, cp_crc32(0, out->data + start, out->size - start));
    cp_bytes_append(out, word, 4);
}

static int paeth(int left, int up, int corner) {
    int p = left + up - corner, a = abs(p - left), b = abs(p - up), c = abs(p - corner);
    return a <= b && a <= c ? left : b <= c ? up : corner;
}

static unsigned char filtered(int filter, const unsigned char *row, const unsigned char *above, size_t i, size_t pixel) {
    int left = i >= pixel ? row[i - pixel] : 0, up = above ? above[i] : 0, corner = above && i >= pixel ? above[i - pixel] : 0;
    int guess[FILTERS] = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
    return (unsigned char)(row[i] - guess[filter]);
}

/* The filter with the smallest sum of differences, the usual heuristic for the best compression. */
static int best_filter(const unsigned char *row, const unsigned char *above, size_t size, size_t pixel) {
    int    best = 0;
    size_t min = SIZE_MAX;
    for (int filter = 0; filter < FILTERS; filter++) {
        size_t sum = 0;
        for (size_t i = 0; i < size; i++) sum += (size_t)abs((signed char)filtered(filter, row, above, i, pixel));
        if (sum < min) best = filter, min = sum;
    }
    return best;
}

static void filter_rows(const cp_image *image, size_t stride, unsigned char *out) {
    for (int y = 0; y < image->height; y++) {
        const unsigned char *row = image->pixels + (size_t)y * stride, *above = y ? row - stride : NULL;
        int                  filter = best_filter(row, above, stride, (size_t)image->channels);
        *out++ = (unsigned char)filter;
        for (size_t i = 0; i < stride; i++) *out++ = filtered(filter, row, above, i, (size_t)image->channels);
    }
}

static bool put_pixels(const cp_image *image, cp_bytes *out) {
    size_t stride, size, more;
    bool   fits = cp_size_mul((size_t)image->width, (size_t)image->channels, &stride) && cp_size_add(stride, 1, &more) &&
                cp_size_mul(more, (size_t)image->height, &size) && size <= INT32_MAX / 2;
    unsigned char *rows = fits ? malloc(size) : NULL;
    cp_bytes       packed = {0};
    if (rows) {
        filter_rows(image, stride, rows);
        if (cp_zlib_compress(rows, size, &packed)) put_chunk(out, "IDAT", packed.data, packed.size);
    }
    bool done = rows && !packed.failed;
    cp_bytes_free(&packed);
    free(rows);
    return done;
}

bool cp_png_encode(const cp_image *image, cp_bytes *out, cp_status *status) {
    unsigned char header[13] = {0};
    if (image->width < 1 || image->height < 1 || (image->channels != 1 && image->channels != 3) || !image->pixels)
        return cp_fail(status, "PNG: an image of %d x %d pixels with %d channels cannot be written; 1 or 3 channels are expected",
                       image->width, image->height, image->channels);
    cp_put_be32(header, (uint32_t)image->width);
    cp_put_be32(header + 4, (uint32_t)image->height);
    header[8] = 8;
    header[9] = image->channels == 3 ? 2 : 0;
    cp_bytes_append(out, "\x89PNG\r\n\x1a\n", 8);
    put_chunk(out, "IHDR", header, sizeof header);
    bool done = put_pixels(image, out);
    put_chunk(out, "IEND", "", 0);
    return (done && !out->failed) ||
           cp_fail(status, "PNG: not enough memory for an image of %d x %d pixels", image->width, image->height);
}
