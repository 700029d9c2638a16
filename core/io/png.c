/* PNG: a signature, then chunks of length, name, data and CRC; the pixels are rows, each with its filter, compressed. */
#include "core/io/png.h"

#include "core/io/deflate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- filters: each byte is stored as its difference from what its neighbors predict ---- */

enum { FILTERS = 5 };

static int paeth(int left, int up, int corner) {
    int p = left + up - corner, a = abs(p - left), b = abs(p - up), c = abs(p - corner);
    return a <= b && a <= c ? left : b <= c ? up : corner;
}

/* From the rows of unfiltered bytes; `pixel` is the number of bytes to the left neighbor. */
static inline int predicted(int filter, const unsigned char *row, const unsigned char *above, size_t i, size_t pixel) {
    int left = i >= pixel ? row[i - pixel] : 0, up = above ? above[i] : 0;
    switch (filter) {
    case 1: return left;
    case 2: return up;
    case 3: return (left + up) / 2;
    case 4: return paeth(left, up, above && i >= pixel ? above[i - pixel] : 0);
    default: return 0;
    }
}

/* ---- writing ---- */

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

static unsigned char filtered(int filter, const unsigned char *row, const unsigned char *above, size_t i, size_t pixel) {
    return (unsigned char)(row[i] - predicted(filter, row, above, i, pixel));
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
    cp_bytes_append(out, CP_PNG_SIGNATURE, 8);
    put_chunk(out, "IHDR", header, sizeof header);
    bool done = put_pixels(image, out);
    put_chunk(out, "IEND", "", 0);
    return (done && !out->failed) ||
           cp_fail(status, "PNG: not enough memory for an image of %d x %d pixels", image->width, image->height);
}

/* ---- reading: chunks ---- */

enum { GRAY = 0, RGB = 2, PALETTE = 3, GRAY_ALPHA = 4, RGB_ALPHA = 6, COLOR_TYPES }; /* the format's numbers */

static const struct {
    int      samples; /* per pixel; 0: there is no such type */
    unsigned depths;  /* bit 1 << d: d bits per sample are allowed */
} types[COLOR_TYPES] = {
    [GRAY] = {1, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16},
    [RGB] = {3, 1 << 8 | 1 << 16},
    [PALETTE] = {1, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8},
    [GRAY_ALPHA] = {2, 1 << 8 | 1 << 16},
    [RGB_ALPHA] = {4, 1 << 8 | 1 << 16},
};

typedef struct reader {
    const unsigned char *bytes;
    size_t               size, at; /* `at`: of the next chunk */
    const char          *name;
    cp_status           *status;

    size_t        width, height;
    int           depth, type;
    bool          interlaced;
    size_t        colors;          /* of the palette */
    unsigned char palette[256][4]; /* red, green, blue, opacity */
    bool          transparent;
    uint16_t      key[3]; /* without a palette: the color that is transparent */
    cp_bytes      packed; /* the contents of all IDAT chunks */
    size_t        packed_at;
} reader;

typedef struct chunk {
    const unsigned char *data;
    size_t               size, at; /* `at`: of its length */
    char                 name[5];
} chunk;

static bool fail_at(const reader *r, size_t at, const char *problem) {
    return cp_damaged(r->status, "%.300s: PNG, byte %zu: %s", r->name, at, problem);
}

static bool next_chunk(reader *r, chunk *c) {
    const unsigned char *head = r->bytes + r->at;
    size_t               left = r->size - r->at;
    if (left < 12) return fail_at(r, r->size, "the file ends too early, before the chunk IEND; it is truncated");
    *c = (chunk){.data = head + 8, .size = cp_get_be32(head), .at = r->at};
    if (c->size > left - 12) return fail_at(r, r->at, "a chunk reaches beyond the end of the file; it is truncated or damaged");
    if (cp_crc32(0, head + 4, c->size + 4) != cp_get_be32(c->data + c->size))
        return fail_at(r, r->at, "the checksum of this chunk is wrong; the file is damaged");
    memcpy(c->name, head + 4, 4);
    r->at += c->size + 12;
    return true;
}

static bool take_header(reader *r, const chunk *c) {
    if (strcmp(c->name, "IHDR") != 0 || c->size != 13) return fail_at(r, c->at, "the first chunk must be an IHDR of 13 bytes");
    r->width = cp_get_be32(c->data), r->height = cp_get_be32(c->data + 4);
    r->depth = c->data[8], r->type = c->data[9], r->interlaced = c->data[12] == 1;
    if (r->width < 1 || r->height < 1 || r->width > INT32_MAX || r->height > INT32_MAX)
        return fail_at(r, c->at + 8, "width and height from 1 to 2147483647 were expected");
    if (r->type >= COLOR_TYPES || types[r->type].samples == 0)
        return fail_at(r, c->at + 17, "the color type 0, 2, 3, 4 or 6 was expected");
    if (r->depth > 16 || !(types[r->type].depths >> r->depth & 1))
        return fail_at(r, c->at + 16, "this color type has no such bit depth; the file is damaged");
    if (c->data[10] || c->data[11]) return fail_at(r, c->at + 18, "compression method 0 and filter method 0 were expected");
    return c->data[12] <= 1 || fail_at(r, c->at + 20, "interlace method 0 or 1 was expected");
}

static bool take_palette(reader *r, const chunk *c) {
    if (r->type == GRAY || r->type == GRAY_ALPHA) return fail_at(r, c->at, "a gray image has no palette (PLTE)");
    if (r->colors) return fail_at(r, c->at, "a second palette (PLTE)");
    r->colors = c->size / 3;
    if (c->size % 3 || r->colors < 1 || r->colors > (r->type == PALETTE ? 1u << r->depth : 256))
        return fail_at(r, c->at, "a palette (PLTE) of 1 to 2^depth colors, three bytes each, was expected");
    for (size_t i = 0; i < r->colors; i++) {
        memcpy(r->palette[i], c->data + 3 * i, 3);
        r->palette[i][3] = 255;
    }
    return true;
}

static bool take_transparency(reader *r, const chunk *c) {
    size_t samples = (size_t)types[r->type].samples;
    if (r->type >= GRAY_ALPHA) return fail_at(r, c->at, "an image with an opacity channel has no transparent color (tRNS)");
    if (r->transparent) return fail_at(r, c->at, "a second list of transparent colors (tRNS)");
    if (r->type == PALETTE ? c->size > r->colors : c->size != 2 * samples)
        return fail_at(r, c->at, "transparency (tRNS) of another length than the color type's, or before its palette");
    for (size_t i = 0; r->type == PALETTE && i < c->size; i++) r->palette[i][3] = c->data[i];
    for (size_t i = 0; r->type != PALETTE && i < samples; i++) /* of both bytes, as many bits as the image has */
        r->key[i] = (uint16_t)((c->data[2 * i] << 8 | c->data[2 * i + 1]) & ((1 << r->depth) - 1));
    return r->transparent = true;
}

static bool take_chunks(reader *r) {
    chunk c, before = {0};
    if (r->size < 8 || memcmp(r->bytes, CP_PNG_SIGNATURE, 8) != 0)
        return fail_at(r, 0, "this is not a PNG file (a signature of 8 bytes was expected)");
    r->at = 8;
    if (!next_chunk(r, &c) || !take_header(r, &c)) return false;
    for (bool done = false; !done; before = c) {
        bool ok = next_chunk(r, &c), data = ok && strcmp(c.name, "IDAT") == 0;
        if (!ok) return false;
        if (data && r->packed_at && strcmp(before.name, "IDAT") != 0)
            return fail_at(r, c.at, "the chunks IDAT must follow each other");
        if (data && r->type == PALETTE && !r->colors)
            return fail_at(r, c.at, "the palette (PLTE) must come before the pixels (IDAT)");
        if (data) {
            if (!r->packed_at) r->packed_at = c.at + 8;
            if (!cp_bytes_append(&r->packed, c.data, c.size)) return cp_fail(r->status, "%.300s: not enough memory", r->name);
        } else if (strcmp(c.name, "PLTE") == 0 || strcmp(c.name, "tRNS") == 0) {
            if (r->packed_at) return fail_at(r, c.at, "PLTE and tRNS must come before the pixels (IDAT)");
            if (!(*c.name == 'P' ? take_palette(r, &c) : take_transparency(r, &c))) return false;
        } else if (strcmp(c.name, "IEND") == 0) {
            if (!r->packed_at) return fail_at(r, c.at, "the file ends without pixels (IDAT)");
            done = true;
        } else if (!(*c.name & 32)) { /* a capital: the image cannot be shown without it */
            return fail_at(r, c.at, "an unknown chunk that is needed to show the image; the file is damaged");
        }
    }
    return true;
}

/* ---- reading: pixels ---- */

/* Where the pixels of each pass lie: one pass of all pixels, or the seven of Adam7. */
typedef struct pass {
    size_t x, y, dx, dy;
} pass;

static const pass whole = {0, 0, 1, 1};
static const pass adam7[7] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

static const pass *pass_at(const reader *r, int index) { return r->interlaced ? &adam7[index] : &whole; }
static int         pass_count(const reader *r) { return r->interlaced ? 7 : 1; }

static size_t steps(size_t length, size_t first, size_t step) { return length > first ? (length - first + step - 1) / step : 0; }

static size_t bits_per_pixel(const reader *r) { return (size_t)types[r->type].samples * (size_t)r->depth; }

/* Bytes of a row without its filter. */
static size_t row_size(const reader *r, size_t pixels) { return (pixels * bits_per_pixel(r) + 7) / 8; }

static size_t rows_size(const reader *r) {
    size_t size = 0;
    for (int i = 0; i < pass_count(r); i++) {
        const pass *p = pass_at(r, i);
        size_t      across = steps(r->width, p->x, p->dx);
        if (across) size += (row_size(r, across) + 1) * steps(r->height, p->y, p->dy);
    }
    return size;
}

static int sample_at(const reader *r, const unsigned char *row, size_t index) {
    if (r->depth == 16) return row[2 * index] << 8 | row[2 * index + 1];
    size_t bit = index * (size_t)r->depth;
    return row[bit / 8] >> (8 - r->depth - (int)(bit % 8)) & ((1 << r->depth) - 1);
}

/* Pixel `x` of an unfiltered row. False: its color is not in the palette. */
static bool take_pixel(const reader *r, const unsigned char *row, size_t x, const cp_picture *picture, size_t to) {
    static const int scales[] = {[1] = 255, [2] = 85, [4] = 17, [8] = 1, [16] = 1};
    int              samples = types[r->type].samples, values[4] = {0}, channels = picture->channels;
    bool             is_key = r->transparent;
    for (int i = 0; i < samples; i++) {
        int sample = sample_at(r, row, x * (size_t)samples + (size_t)i);
        is_key = is_key && sample == r->key[i];
        values[i] = r->type == PALETTE ? sample : sample * scales[r->depth];
    }
    if (r->type == PALETTE) {
        size_t color = (size_t)values[0];
        if (color >= r->colors) return false;
        for (int i = 0; i < 4; i++) values[i] = r->palette[color][i];
    } else if (r->transparent) {
        values[samples] = is_key ? 0 : picture->depth == 16 ? 65535 : 255;
    }
    for (int i = 0; i < channels; i++)
        if (picture->depth == 16)
            ((uint16_t *)picture->pixels)[to + (size_t)i] = (uint16_t)values[i];
        else
            ((uint8_t *)picture->pixels)[to + (size_t)i] = (uint8_t)values[i];
    return true;
}

/* Unfilters the rows in place and copies their pixels. */
static bool take_rows(const reader *r, unsigned char *row, const cp_picture *picture) {
    size_t bits = bits_per_pixel(r), pixel = bits < 8 ? 1 : bits / 8, channels = (size_t)picture->channels;
    bool   as_stored = r->depth == 8 && r->type != PALETTE && !r->transparent && !r->interlaced;
    for (int i = 0; i < pass_count(r); i++) {
        const pass          *p = pass_at(r, i);
        const unsigned char *above = NULL;
        size_t               across = steps(r->width, p->x, p->dx), size = row_size(r, across);
        for (size_t y = p->y; across && y < r->height; y += p->dy, above = row, row += size) {
            int filter = *row++;
            if (filter >= FILTERS)
                return cp_damaged(r->status, "%.300s: PNG: row %zu has filter %d; 0 to 4 was expected", r->name, y, filter);
            for (size_t k = 0; filter && k < size; k++) row[k] = (unsigned char)(row[k] + predicted(filter, row, above, k, pixel));
            if (as_stored) memcpy((uint8_t *)picture->pixels + y * size, row, size);
            for (size_t k = 0; !as_stored && k < across; k++)
                if (!take_pixel(r, row, k, picture, (y * r->width + p->x + k * p->dx) * channels))
                    return cp_damaged(r->status, "%.300s: PNG: row %zu has a color beyond the palette of %zu", r->name, y,
                                      r->colors);
        }
    }
    return true;
}

static bool take_pixels(reader *r, cp_picture *picture) {
    cp_picture p = {.height = (int)r->height, .width = (int)r->width, .depth = r->depth == 16 ? 16 : 8};
    cp_bytes   rows = {0};
    char       name[400];
    p.channels = r->type == PALETTE ? 3 + r->transparent : types[r->type].samples + r->transparent;
    if ((double)r->height * (double)r->width * p.channels * p.depth / 8 > CP_PICTURE_MAX)
        return cp_fail(r->status, "%.300s: PNG: %zu x %zu pixels with %d channels are more than the %d bytes that can be read",
                       r->name, r->height, r->width, p.channels, CP_PICTURE_MAX);
    size_t expected = rows_size(r), bytes = r->height * r->width * (size_t)p.channels * (size_t)(p.depth / 8);
    if (expected / CP_INFLATE_RATIO > r->packed.size)
        return fail_at(r, r->packed_at, "the compressed data are too short for the pixels; the file is truncated or damaged");
    snprintf(name, sizeof name, "%.300s: PNG, pixels from byte %zu on", r->name, r->packed_at);
    bool ok = (cp_bytes_reserve(&rows, expected) && (p.pixels = malloc(bytes))) ||
              cp_fail(r->status, "%.300s: not enough memory for %zu x %zu pixels", r->name, r->height, r->width);
    ok = ok && cp_zlib_expand(r->packed.data, r->packed.size, expected, &rows, name, r->status) && take_rows(r, rows.data, &p);
    cp_bytes_free(&rows);
    if (ok)
        *picture = p;
    else
        free(p.pixels);
    return ok;
}

bool cp_png_parse(const void *bytes, size_t size, const char *name, cp_picture *picture, cp_status *status) {
    reader r = {.bytes = bytes, .size = size, .name = name, .status = status};
    *picture = (cp_picture){0};
    bool ok = take_chunks(&r) && take_pixels(&r, picture);
    cp_bytes_free(&r.packed);
    return ok;
}
