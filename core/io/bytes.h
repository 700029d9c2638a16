/* Bytes: a growable buffer, integers with a fixed byte order, overflow-checked sizes, and cleaning of text from outside. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialize it with {0}. After a failed allocation it keeps its contents, ignores all further appends and sets `failed`,
 * so that a chain of appends needs one check, at its end. */
typedef struct cp_bytes {
    unsigned char *data;
    size_t         size;
    size_t         capacity;
    bool           failed;
} cp_bytes;

void cp_bytes_free(cp_bytes *bytes);                 /* resets it to {0} */
bool cp_bytes_reserve(cp_bytes *bytes, size_t more); /* room for `more` bytes after `size` */
bool cp_bytes_append(cp_bytes *bytes, const void *data, size_t size);
bool cp_bytes_text(cp_bytes *bytes, const char *text); /* appends without the final NUL */

void cp_base64(cp_bytes *out, const void *data, size_t size); /* appends the data in base64 */

typedef struct cp_line {
    const char *text;   /* points into the bytes; no terminating NUL */
    size_t      length; /* without the newline */
    bool        whole;  /* it ends with a newline; the last line may not */
} cp_line;

/* Reads the line that begins at byte *at and moves *at past it; false at the end of the bytes. */
bool cp_bytes_line(const cp_bytes *bytes, size_t *at, cp_line *line);

/* a * b and a + b into *out, or false when that does not fit. */
bool cp_size_mul(size_t a, size_t b, size_t *out);
bool cp_size_add(size_t a, size_t b, size_t *out);

/* The number of elements of a shape, or false when a dimension is negative or the elements, at `width` bytes each, could not be
 * addressed. Zeros do not count: (0, 2^40, 2^40) fails too, since strides computed from it would overflow. */
bool cp_shape_count(int rank, const int64_t *dims, size_t width, size_t *count);

/* Byte by byte, so that the byte order in files is the same on any machine. */
static inline uint16_t cp_get_le16(const unsigned char *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t cp_get_le32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t cp_get_le64(const unsigned char *p) { return cp_get_le32(p) | (uint64_t)cp_get_le32(p + 4) << 32; }
static inline uint32_t cp_get_be32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}
static inline uint64_t cp_get_be64(const unsigned char *p) { return (uint64_t)cp_get_be32(p) << 32 | cp_get_be32(p + 4); }
static inline void     cp_put_le16(unsigned char *p, uint16_t v) { p[0] = (unsigned char)v, p[1] = (unsigned char)(v >> 8); }
static inline void     cp_put_le32(unsigned char *p, uint32_t v) {
        p[0] = (unsigned char)v, p[1] = (unsigned char)(v >> 8), p[2] = (unsigned char)(v >> 16), p[3] = (unsigned char)(v >> 24);
}
static inline void cp_put_le64(unsigned char *p, uint64_t v) {
    cp_put_le32(p, (uint32_t)v), cp_put_le32(p + 4, (uint32_t)(v >> 32));
}
static inline void cp_put_be32(unsigned char *p, uint32_t v) {
    p[0] = (unsigned char)(v >> 24), p[1] = (unsigned char)(v >> 16), p[2] = (unsigned char)(v >> 8), p[3] = (unsigned char)v;
}

/* Length (1..4) of the UTF-8 character at `p`, of which `left` bytes may be read; 0 when it is invalid. */
int cp_utf8_length(const unsigned char *p, size_t left);

/* How many of `length` bytes of text fit into `room` without splitting a character. */
size_t cp_text_cut(const char *text, size_t length, size_t room);

/* Cleans text from outside (files, folders, other programs) before it is printed: control characters, which could control a
 * terminal, and bytes that are not UTF-8 become '?', in place. This includes newlines, so print such text line by line. cp_fail
 * and cp_shown call it; JSON has its own escapes. */
void cp_text_printable(char *text);

/* Text from outside, shortened and cleaned, for messages: cp_shown(name, length).text */
typedef struct cp_shown_text {
    char text[84];
} cp_shown_text;
cp_shown_text cp_shown(const char *text, size_t length);

/* "(2, 3)", "(5,)" or "()" for messages. */
cp_shown_text cp_shown_shape(int rank, const int64_t *dims);
