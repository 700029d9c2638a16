/* gzip: members one after the other, each a header, a deflate stream, and the checksum and length of its contents. */
#include "core/io/deflate.h"

#include <stdio.h>
#include <string.h>

enum {
    FIXED_SIZE = 10, /* of a header without its optional fields */
    TRAILER_SIZE = 8,
    DEFLATED = 8,
    HAS_CRC = 2,
    HAS_EXTRA = 4,
    HAS_NAME = 8,
    HAS_COMMENT = 16,
    RESERVED = 0xE0,
    LARGEST_STEP = 65535, /* bytes that a stream gives at once: of a stored block */
};

typedef struct reader {
    const unsigned char *bytes;
    size_t               size, at;
    int                  member; /* from 1 */
    const char          *name;
    cp_status           *status;
} reader;

bool cp_gzip_begins(const void *data, size_t size) { return size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0; }

static bool fail_at(const reader *r, size_t at, const char *problem) {
    return cp_damaged(r->status, "%.300s: gzip member %d, byte %zu: %s", r->name, r->member, at, problem);
}

/* Skips this many bytes. */
static bool skip(reader *r, size_t count) {
    if (r->size - r->at < count) return fail_at(r, r->size, "the file ends too early; it is truncated");
    r->at += count;
    return true;
}

/* Skips a NUL-terminated text. */
static bool skip_text(reader *r) {
    const unsigned char *end = memchr(r->bytes + r->at, '\0', r->size - r->at);
    return skip(r, end ? (size_t)(end - r->bytes) + 1 - r->at : SIZE_MAX);
}

static bool skip_extra(reader *r) { return skip(r, 2) && skip(r, cp_get_le16(r->bytes + r->at - 2)); }

static bool check_header_crc(reader *r, size_t start) {
    uint32_t crc = cp_crc32(0, r->bytes + start, r->at - start) & 0xFFFF;
    return skip(r, 2) && (crc == cp_get_le16(r->bytes + r->at - 2) || fail_at(r, r->at - 2, "the checksum of the header is wrong"));
}

static bool skip_header(reader *r) {
    const unsigned char *head = r->bytes + r->at;
    size_t               start = r->at;
    if (!skip(r, 2)) return false;
    if (!cp_gzip_begins(head, 2))
        return fail_at(r, start,
                       r->member == 1 ? "this is not a gzip file (the first two bytes 0x1f 0x8b)"
                                      : "neither a member nor zeros follow the previous member");
    if (!skip(r, FIXED_SIZE - 2)) return false;
    if (head[2] != DEFLATED) return fail_at(r, start + 2, "an unknown compression method; only deflate (8) is defined");
    if (head[3] & RESERVED) return fail_at(r, start + 3, "undefined flags");
    return (!(head[3] & HAS_EXTRA) || skip_extra(r)) && (!(head[3] & HAS_NAME) || skip_text(r)) &&
           (!(head[3] & HAS_COMMENT) || skip_text(r)) && (!(head[3] & HAS_CRC) || check_header_crc(r, start));
}

static bool inflate_member(reader *r, size_t limit, cp_bytes *out) {
    char   stream[400];
    size_t used = 0;
    snprintf(stream, sizeof stream, "%.300s: gzip member %d, data from byte %zu on", r->name, r->member, r->at);
    bool done = cp_inflate(r->bytes + r->at, r->size - r->at, limit, out, &used, stream, r->status);
    r->at += used;
    return done;
}

static bool check_trailer(reader *r, const unsigned char *contents, size_t size) {
    const unsigned char *trailer = r->bytes + r->at;
    if (!skip(r, TRAILER_SIZE)) return false;
    if (cp_get_le32(trailer) != cp_crc32(0, contents, size))
        return fail_at(r, r->at - 8, "the checksum of the contents is wrong; the file is damaged");
    return cp_get_le32(trailer + 4) == (uint32_t)size ||
           fail_at(r, r->at - 4, "the length of the contents is wrong; the file is damaged");
}

static bool only_zeros_follow(const reader *r) {
    for (size_t i = r->at; i < r->size; i++)
        if (r->bytes[i] != 0) return false;
    return true;
}

bool cp_gunzip(const void *data, size_t size, size_t limit, cp_bytes *out, const char *name, cp_status *status) {
    size_t before = out->size;
    reader r = {.bytes = size ? data : (const void *)"", .size = size, .name = name, .status = status};
    do {
        size_t start = out->size;
        r.member++;
        if (!skip_header(&r) || !inflate_member(&r, limit - (start - before), out)) return false;
        if (!check_trailer(&r, out->size > start ? out->data + start : (const void *)"", out->size - start)) return false;
    } while (r.at < r.size && (r.bytes[r.at] != 0 || !only_zeros_follow(&r)));
    return true;
}

bool cp_gunzip_start(const void *data, size_t size, size_t wanted, cp_bytes *out, const char *name, cp_status *status) {
    size_t    end;
    cp_status full = {0};
    bool      fits = cp_size_add(out->size, wanted, &end) && wanted <= SIZE_MAX - LARGEST_STEP;
    bool      done = fits && cp_gunzip(data, size, wanted + LARGEST_STEP, out, name, &full);
    return done || (fits && out->size >= end) || cp_fail_as(status, full.kind, "%s", full.message);
}
