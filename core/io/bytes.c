/* The growable buffer and the checks that every file format shares. */
#include "core/io/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cp_bytes_free(cp_bytes *bytes) {
    free(bytes->data);
    *bytes = (cp_bytes){0};
}

bool cp_bytes_reserve(cp_bytes *bytes, size_t more) {
    size_t needed;
    if (bytes->failed || !cp_size_add(bytes->size, more, &needed)) {
        bytes->failed = true;
        return false;
    }
    if (needed <= bytes->capacity) return true;
    size_t         doubled = bytes->capacity <= SIZE_MAX / 2 ? bytes->capacity * 2 : SIZE_MAX;
    size_t         capacity = needed > doubled ? needed : doubled;
    unsigned char *data = realloc(bytes->data, capacity);
    if (!data && capacity > needed) data = realloc(bytes->data, capacity = needed);
    if (!data) {
        bytes->failed = true;
        return false;
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

bool cp_bytes_append(cp_bytes *bytes, const void *data, size_t size) {
    if (!cp_bytes_reserve(bytes, size)) return false;
    if (size > 0) memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return true;
}

bool cp_bytes_text(cp_bytes *bytes, const char *text) { return cp_bytes_append(bytes, text, strlen(text)); }

bool cp_size_mul(size_t a, size_t b, size_t *out) {
    *out = a * b;
    return b == 0 || a <= SIZE_MAX / b;
}

bool cp_size_add(size_t a, size_t b, size_t *out) {
    *out = a + b;
    return a <= SIZE_MAX - b;
}

bool cp_shape_count(int rank, const int64_t *dims, size_t width, size_t *count) {
    size_t extent = width;
    bool   empty = false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0 || (uint64_t)dims[i] > PTRDIFF_MAX) return false;
        if (dims[i] == 0)
            empty = true;
        else if (!cp_size_mul(extent, (size_t)dims[i], &extent) || extent > PTRDIFF_MAX)
            return false;
    }
    *count = empty ? 0 : extent / width;
    return true;
}

int cp_utf8_length(const unsigned char *p, size_t left) {
    if (left == 0) return 0;
    if (p[0] < 0x80) return 1;
    int length = p[0] >= 0xC2 && p[0] <= 0xDF ? 2 : (p[0] & 0xF0) == 0xE0 ? 3 : p[0] >= 0xF0 && p[0] <= 0xF4 ? 4 : 0;
    if (length == 0 || left < (size_t)length) return 0;
    for (int i = 1; i < length; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    bool too_long = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xED && p[1] >= 0xA0;
    bool too_high = p[0] == 0xF4 && p[1] >= 0x90;
    return too_long || surrogate || too_high ? 0 : length;
}

/* In place; returns the new length. C1 controls (U+0080..U+009F) control terminals like those below U+0020. */
static size_t clean(char *text, size_t length) {
    size_t used = 0;
    for (size_t i = 0, step; i < length; i += step) {
        const unsigned char *p = (const unsigned char *)text + i;
        int                  size = cp_utf8_length(p, length - i);
        bool                 control = size == 0 || p[0] < 0x20 || p[0] == 0x7F || (p[0] == 0xC2 && p[1] < 0xA0);
        step = size ? (size_t)size : 1;
        memmove(text + used, control ? (const void *)"?" : p, control ? 1 : step);
        used += control ? 1 : step;
    }
    return used;
}

void cp_text_printable(char *text) { text[clean(text, strlen(text))] = '\0'; }

size_t cp_text_cut(const char *text, size_t length, size_t room) {
    size_t cut = length < room ? length : room;
    while (cut < length && cut > 0 && (text[cut] & 0xC0) == 0x80) cut--;
    return cut;
}

cp_shown_text cp_shown(const char *text, size_t length) {
    cp_shown_text shown;
    size_t        cut = cp_text_cut(text, length, sizeof shown.text - sizeof "...");
    memcpy(shown.text, text, cut);
    strcpy(shown.text + clean(shown.text, cut), cut < length ? "..." : "");
    return shown;
}

cp_shown_text cp_shown_shape(int rank, const int64_t *dims) {
    char   text[256];
    size_t used = 1;
    text[0] = '(';
    for (int i = 0; i < rank && used + 32 < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, i ? ", %lld" : "%lld", (long long)dims[i]);
    used += (size_t)snprintf(text + used, sizeof text - used, rank == 1 ? ",)" : ")");
    return cp_shown(text, used);
}

bool cp_bytes_line(const cp_bytes *bytes, size_t *at, cp_line *line) {
    if (*at >= bytes->size) return false;
    const unsigned char *text = bytes->data + *at, *end = memchr(text, '\n', bytes->size - *at);
    size_t               length = end ? (size_t)(end - text) : bytes->size - *at;
    *line = (cp_line){.text = (const char *)text, .length = length, .whole = end != NULL};
    *at += length + line->whole;
    return true;
}

void cp_base64(cp_bytes *out, const void *data, size_t size) {
    static const char    digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = data;
    for (; size > 0; p += 3) {
        size_t   some = size < 3 ? size : 3;
        uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)(some > 1 ? p[1] : 0) << 8 | (some > 2 ? p[2] : 0);
        char     text[4] = {digits[bits >> 18], digits[bits >> 12 & 63], some > 1 ? digits[bits >> 6 & 63] : '=',
                        some > 2 ? digits[bits & 63] : '='};
        cp_bytes_append(out, text, 4);
        size -= some;
    }
}
