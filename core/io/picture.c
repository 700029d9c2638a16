/* PGM and PPM, and pictures of any kind that can be read. */
#include "core/io/picture.h"
#include "core/io/file.h"
#include "core/io/png.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- PGM and PPM: "P5", width, height and maximum as text, one blank, and the values ---- */

typedef struct reader {
    const unsigned char *bytes;
    size_t               size, at;
    const char          *name;
    cp_status           *status;
} reader;

static bool fail_at(const reader *r, size_t at, const char *problem) {
    return cp_damaged(r->status, "%.300s: byte %zu: %s", r->name, at, problem);
}

static bool is_blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* A number from `min` to `max` behind blanks and comments, which reach from '#' to the end of the line. */
static bool take_number(reader *r, int min, int max, int *number) {
    int64_t value = 0;
    while (r->at < r->size && (is_blank(r->bytes[r->at]) || r->bytes[r->at] == '#'))
        if (r->bytes[r->at++] == '#')
            while (r->at < r->size && r->bytes[r->at] != '\n') r->at++;
    size_t start = r->at;
    while (r->at < r->size && r->bytes[r->at] >= '0' && r->bytes[r->at] <= '9' && value <= max)
        value = 10 * value + r->bytes[r->at++] - '0';
    *number = (int)value;
    return (r->at > start && value >= min && value <= max) ||
           cp_damaged(r->status, "%.300s: byte %zu: a number from %d to %d was expected%s", r->name, start, min, max,
                      start == r->size ? "; the file is truncated" : "");
}

static bool take_value(reader *r, bool plain, int max, int *value) {
    size_t start = r->at;
    if (plain) return take_number(r, 0, max, value);
    *value = r->bytes[r->at++];
    if (max > 255) *value = *value << 8 | r->bytes[r->at++];
    return *value <= max || fail_at(r, start, "a value exceeds the maximum in the header; the file is damaged");
}

static bool take_values(reader *r, bool plain, int max, const cp_picture *p, size_t count) {
    int64_t top = p->depth == 16 ? 65535 : 255;
    for (size_t i = 0; i < count; i++) {
        int value;
        if (!take_value(r, plain, max, &value)) return false;
        int64_t scaled = (2 * value * top + max) / (2 * max);
        if (p->depth == 16)
            ((uint16_t *)p->pixels)[i] = (uint16_t)scaled;
        else
            ((uint8_t *)p->pixels)[i] = (uint8_t)scaled;
    }
    return true;
}

static bool parse_pnm(reader *r, cp_picture *picture) {
    cp_picture p = {.channels = r->bytes[1] == '3' || r->bytes[1] == '6' ? 3 : 1};
    bool       plain = r->bytes[1] <= '3';
    int        max;
    r->at = 2;
    if (!take_number(r, 1, INT32_MAX, &p.width) || !take_number(r, 1, INT32_MAX, &p.height) || !take_number(r, 1, 65535, &max))
        return false;
    if (r->at == r->size || !is_blank(r->bytes[r->at++])) return fail_at(r, r->at - 1, "a blank was expected before the values");
    p.depth = max > 255 ? 16 : 8;
    if ((double)p.height * p.width * p.channels * p.depth / 8 > CP_PICTURE_MAX)
        return cp_fail(r->status, "%.300s: %d x %d pixels with %d channels are more than the %d bytes that can be read", r->name,
                       p.height, p.width, p.channels, CP_PICTURE_MAX);
    size_t count = (size_t)p.height * (size_t)p.width * (size_t)p.channels, width = (size_t)p.depth / 8;
    if (plain ? r->size - r->at < 2 * count - 1 : r->size - r->at < count * width)
        return fail_at(r, r->size, "the file ends before its last value; it is truncated");
    p.pixels = malloc(count * width);
    if (!p.pixels) return cp_fail(r->status, "%.300s: not enough memory for %d x %d pixels", r->name, p.height, p.width);
    if (take_values(r, plain, max, &p, count)) return *picture = p, true;
    free(p.pixels);
    return false;
}

/* ---- any kind ---- */

/* Kinds that cannot be read, by their bytes at an offset. */
static const struct {
    const char *name, *bytes;
    size_t      length, at;
} others[] = {
    {"JPEG", "\xff\xd8\xff", 3, 0}, {"JPEG 2000", "\0\0\0\x0cjP", 6, 0},
    {"GIF", "GIF8", 4, 0},          {"BMP", "BM", 2, 0},
    {"TIFF", "II*\0", 4, 0},        {"TIFF", "MM\0*", 4, 0},
    {"WebP", "WEBP", 4, 8},         {"DICOM", "DICM", 4, 128},
};

bool cp_picture_parse(const void *bytes, size_t size, const char *name, cp_picture *picture, cp_status *status) {
    cp_status_begin(status);
    reader r = {.bytes = bytes, .size = size, .name = name, .status = status};
    *picture = (cp_picture){0};
    if (size >= 2 && memcmp(bytes, CP_PNG_SIGNATURE, 2) == 0) return cp_png_parse(bytes, size, name, picture, status);
    if (size >= 2 && r.bytes[0] == 'P' && strchr("2356", r.bytes[1]) && r.bytes[1]) return parse_pnm(&r, picture);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (size >= others[i].at + others[i].length && memcmp(r.bytes + others[i].at, others[i].bytes, others[i].length) == 0)
            return cp_fail(status,
                           "%.200s is a %s file; PNG, PGM and PPM can be read. ImageMagick converts it: mogrify -format png %.200s",
                           name, others[i].name, name);
    return cp_damaged(status, "%.300s: byte 0: this is neither a PNG nor a PGM nor a PPM file", name);
}

bool cp_picture_read(const char *path, cp_picture *picture, cp_status *status) {
    cp_bytes file;
    *picture = (cp_picture){0};
    if (!cp_file_read(path, PTRDIFF_MAX, &file, status)) return false;
    bool ok = cp_picture_parse(file.data, file.size, path, picture, status);
    cp_bytes_free(&file);
    return ok;
}

void cp_picture_free(cp_picture *picture) {
    free(picture->pixels);
    *picture = (cp_picture){0};
}

bool cp_picture_named(const char *file) {
    static const char *const endings[] = {".png", ".pgm", ".ppm", ".pnm"};
    const char              *end = strrchr(file, '.');
    bool                     found = false;
    for (int i = 0; end && end > file && i < 4; i++) found = found || strcasecmp(end, endings[i]) == 0;
    return found;
}
