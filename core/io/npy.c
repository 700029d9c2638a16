/* .npy: the magic "\x93NUMPY", two version bytes, the length of a header that is a Python dict in text, then the elements. */
#include "core/io/npy.h"
#include "core/io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

enum { HEADER_LIMIT = 1 << 20, WRITE_ALIGN = 64 };

/* ---- the header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } ------------------------------------- */

typedef struct header {
    cp_npy npy;   /* without its data */
    size_t start; /* offset of the data */
    bool   big_endian, fortran;
    bool   any;   /* text is allowed */
    size_t width; /* characters of each text */
} header;

typedef struct parser {
    const char *text; /* the whole file, so that positions are offsets in it */
    size_t      at, end;
    const char *name;
    cp_status  *status;
} parser;

static bool fail_here(parser *p, const char *expected) {
    char found[16] = "the end";
    if (p->at < p->end) {
        unsigned char c = (unsigned char)p->text[p->at];
        snprintf(found, sizeof found, c >= 32 && c < 127 ? "'%c'" : "byte 0x%02x", c);
    }
    return cp_damaged(p->status, "%.200s: header, byte %zu: expected %s, found %s; is this a file made by numpy.save?", p->name,
                      p->at, expected, found);
}

static void skip_space(parser *p) {
    while (p->at < p->end && p->text[p->at] != '\0' && strchr(" \t\r\n\f", p->text[p->at])) p->at++;
}

static bool accept(parser *p, char c) {
    skip_space(p);
    if (p->at >= p->end || p->text[p->at] != c) return false;
    p->at++;
    return true;
}

static bool accept_word(parser *p, const char *word) {
    size_t length = strlen(word);
    skip_space(p);
    if (p->end - p->at < length || memcmp(p->text + p->at, word, length) != 0) return false;
    p->at += length;
    return true;
}

/* A quoted string without escapes, which numpy does not use in keys and types. */
static bool parse_string(parser *p, const char *expected, const char **text, size_t *length) {
    skip_space(p);
    char quote = p->at < p->end ? p->text[p->at] : '\0';
    if (quote != '\'' && quote != '"') return fail_here(p, expected);
    *text = p->text + ++p->at;
    while (p->at < p->end && p->text[p->at] != quote && p->text[p->at] != '\\') p->at++;
    *length = (size_t)(p->text + p->at - *text);
    return accept(p, quote) || fail_here(p, "the closing quote of a string");
}

/* numpy's codes: byte order, kind and size in bytes. numpy has no bfloat16. */
static const char *const codes[CP_DTYPES] = {
    [CP_BOOL] = "|b1", [CP_U8] = "|u1",  [CP_I8] = "|i1",  [CP_I16] = "<i2", [CP_U16] = "<u2", [CP_F16] = "<f2",
    [CP_I32] = "<i4",  [CP_U32] = "<u4", [CP_F32] = "<f4", [CP_F64] = "<f8", [CP_I64] = "<i8", [CP_U64] = "<u8",
};

/* What numpy saves with types that are not plain numbers. */
static const char *meaning_of_kind(char kind) {
    switch (kind) {
    case 'O': return ": they are Python objects, which only Python can load";
    case 'U':
    case 'S':
    case 'a': return ": they are text";
    case 'V': return ": they are records or raw bytes";
    case 'c': return ": they are complex numbers";
    case 'M':
    case 'm': return ": they are times";
    default: return "";
    }
}

static bool parse_text_type(const char *code, size_t length, header *h) {
    char *end, digits[10] = "";
    memcpy(digits, code + 2, length > 2 && length < 10 ? length - 2 : 0);
    h->npy.text = length > 2 && strchr("USa", code[1]) && digits[0] >= '1' && digits[0] <= '9';
    h->npy.dtype = h->npy.text && code[1] == 'U' ? CP_U32 : CP_U8;
    h->big_endian = code[0] == '>';
    h->width = strtoul(digits, &end, 10);
    return h->npy.text && *end == '\0';
}

static bool parse_descr(parser *p, header *h) {
    const char *code;
    size_t      length;
    skip_space(p);
    if (p->at < p->end && p->text[p->at] == '[')
        return cp_fail(p->status,
                       "%.200s: header, byte %zu: an array of records was found, one of plain numbers expected; save "
                       "each field as an array of its own",
                       p->name, p->at);
    if (!parse_string(p, "a type such as '<f4'", &code, &length)) return false;
    if (h->any && parse_text_type(code, length, h)) return true;
    int type = 0;
    while (type < CP_DTYPES && !(length == 3 && codes[type] && memcmp(codes[type] + 1, code + 1, 2) == 0)) type++;
    if (type == CP_DTYPES || !code[0] || !strchr("<>|", code[0]) || (code[0] == '|' && code[2] != '1'))
        return cp_fail(p->status,
                       "%.200s: header, byte %zu: elements of type '%s' cannot be read%s; convert them with astype() to "
                       "uint8, int32, int64, float32 or float64",
                       p->name, (size_t)(code - p->text), cp_shown(code, length).text, length > 1 ? meaning_of_kind(code[1]) : "");
    h->npy.dtype = (cp_dtype)type;
    h->big_endian = code[0] == '>';
    return true;
}

static bool parse_order(parser *p, header *h) {
    if (accept_word(p, "False")) return true;
    h->fortran = accept_word(p, "True");
    return h->fortran || fail_here(p, "True or False");
}

static bool parse_dimension(parser *p, int64_t *out) {
    int64_t value = 0;
    skip_space(p);
    size_t start = p->at;
    for (; p->at < p->end && p->text[p->at] >= '0' && p->text[p->at] <= '9'; p->at++) {
        int digit = p->text[p->at] - '0';
        if (value > (INT64_MAX - digit) / 10) return fail_here(p, "a dimension below 2^63");
        value = value * 10 + digit;
    }
    if (p->at == start) return fail_here(p, "a dimension (a whole number, not negative)");
    if (p->at < p->end && p->text[p->at] == 'L') /* Python 2 */
        p->at++;
    *out = value;
    return true;
}

static bool parse_shape(parser *p, header *h) {
    if (!accept(p, '(')) return fail_here(p, "a shape such as (2, 3)");
    while (!accept(p, ')')) {
        if (h->npy.rank == CP_NPY_RANK)
            return cp_fail(p->status, "%.200s: header, byte %zu: the array has more than %d axes; reshape it", p->name, p->at,
                           CP_NPY_RANK);
        if (!parse_dimension(p, &h->npy.dims[h->npy.rank++])) return false;
        if (accept(p, ',')) continue;
        if (h->npy.rank == 1) return fail_here(p, "the ',' of a tuple");
        if (!accept(p, ')')) return fail_here(p, "',' or ')'");
        break;
    }
    return true;
}

static bool parse_dict(parser *p, header *h) {
    enum { KEYS = 3 };
    static const char *const keys[KEYS] = {"descr", "fortran_order", "shape"};
    static bool (*const parse[KEYS])(parser *, header *) = {parse_descr, parse_order, parse_shape};
    bool seen[KEYS] = {false};
    if (!accept(p, '{')) return fail_here(p, "'{'");
    while (!accept(p, '}')) {
        const char *key;
        size_t      length;
        int         k = 0;
        if (!parse_string(p, "a key in quotes or '}'", &key, &length)) return false;
        if (!accept(p, ':')) return fail_here(p, "':'");
        while (k < KEYS && (strlen(keys[k]) != length || memcmp(key, keys[k], length) != 0)) k++;
        if (k == KEYS || seen[k])
            return cp_damaged(p->status,
                              "%.200s: header, byte %zu: %s key '%s'; expected descr, fortran_order and shape, once each", p->name,
                              (size_t)(key - p->text), k < KEYS ? "a second" : "the unknown", cp_shown(key, length).text);
        seen[k] = true;
        if (!parse[k](p, h)) return false;
        if (accept(p, ',')) continue;
        if (!accept(p, '}')) return fail_here(p, "',' or '}'");
        break;
    }
    skip_space(p);
    if (p->at < p->end) return fail_here(p, "nothing more");
    for (int k = 0; k < KEYS; k++)
        if (!seen[k]) return cp_damaged(p->status, "%.200s: header: the key '%s' is missing", p->name, keys[k]);
    return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Parses everything before the elements, and compares the shape with the number of bytes that follow it. */
static bool parse_front(const unsigned char *bytes, size_t size, const char *name, header *h, cp_status *status) {
    if (size < 10 || memcmp(bytes, magic, sizeof magic) != 0)
        return cp_damaged(status,
                          "%.200s: byte 0: this is not a .npy file (of at least 10 bytes, the first six \\x93NUMPY); make one "
                          "with numpy.save",
                          name);
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return cp_fail(status, "%.200s: byte 6: .npy version %d.%d; versions 1.0, 2.0 and 3.0 can be read", name, bytes[6],
                       bytes[7]);
    size_t front = bytes[6] == 1 ? 10 : 12;
    if (size < front)
        return cp_damaged(status, "%.200s: the file ends inside the header length, at byte %zu; it is truncated", name, size);
    size_t length = bytes[6] == 1 ? cp_get_le16(bytes + 8) : cp_get_le32(bytes + 8);
    if (length > HEADER_LIMIT)
        return cp_damaged(status, "%.200s: byte 8: a header of %zu bytes; at most %d were expected, the file is damaged", name,
                          length, HEADER_LIMIT);
    if (length > size - front)
        return cp_damaged(status, "%.200s: the header should end at byte %zu, the file ends at %zu; it is truncated", name,
                          front + length, size);
    h->start = front + length;
    parser p = {(const char *)bytes, front, h->start, name, status};
    if (!parse_dict(&p, h)) return false;
    cp_npy *npy = &h->npy;
    if (npy->text && npy->rank != 1 && (npy->rank != 2 || npy->dims[1] != 1))
        return cp_damaged(status, "%.200s: text of shape %s was found, (N) or (N, 1) was expected", name,
                          cp_shown_shape(npy->rank, npy->dims).text);
    if (npy->text) npy->dims[npy->rank++] = (int64_t)h->width;
    size_t        width = cp_dtype_size(npy->dtype);
    cp_shown_text shape = cp_shown_shape(npy->rank, npy->dims);
    if (!cp_shape_count(npy->rank, npy->dims, width, &npy->size))
        return cp_damaged(status, "%.200s: header: the shape %s is larger than memory can be", name, shape.text);
    size_t expected = npy->size * width, found = size - h->start;
    return expected == found ||
           cp_damaged(status, "%.200s: byte %zu: %zu bytes of elements follow the header, shape %s of %s needs %zu; the file is %s",
                      name, h->start, found, shape.text, cp_dtype_name(npy->dtype), expected,
                      found < expected ? "truncated" : "damaged or holds more than one array");
}

/* Converts from Fortran order, in which the first axis varies fastest, to a new array in C order; NULL when out of memory. */
static void *to_c_order(const cp_npy *npy, const unsigned char *from) {
    size_t         width = cp_dtype_size(npy->dtype), step[CP_NPY_RANK], offset = 0, extent = width;
    int64_t        index[CP_NPY_RANK] = {0};
    unsigned char *to = malloc(npy->size * width);
    for (int axis = npy->rank - 1; axis >= 0; extent *= (size_t)npy->dims[axis--]) step[axis] = extent;
    for (size_t i = 0; to && i < npy->size; i++, from += width) {
        memcpy(to + offset, from, width);
        for (int axis = 0; axis < npy->rank; axis++) {
            offset += step[axis];
            if (++index[axis] < npy->dims[axis]) break;
            offset -= step[axis] * (size_t)npy->dims[axis];
            index[axis] = 0;
        }
    }
    return to;
}

/* Moves the elements to the front of their buffer, which is aligned and saves a second buffer for large arrays. */
static bool take(cp_bytes bytes, const char *name, bool any, cp_npy *npy, cp_status *status) {
    header h = {.any = any};
    *npy = (cp_npy){0};
    if (!parse_front(bytes.data, bytes.size, name, &h, status)) {
        cp_bytes_free(&bytes);
        return false;
    }
    cp_elements_decode(h.npy.dtype, h.big_endian, bytes.data + h.start, h.npy.size, bytes.data);
    h.npy.data = bytes.data;
    if (h.fortran && !h.npy.text && h.npy.rank > 1 && h.npy.size > 1) {
        h.npy.data = to_c_order(&h.npy, bytes.data);
        cp_bytes_free(&bytes);
        if (!h.npy.data) return cp_fail(status, "%.200s: not enough memory for %zu elements in C order", name, h.npy.size);
    }
    *npy = h.npy;
    return true;
}

bool cp_npy_take(cp_bytes bytes, const char *name, cp_npy *npy, cp_status *status) { return take(bytes, name, false, npy, status); }
bool cp_npy_take_any(cp_bytes bytes, const char *name, cp_npy *npy, cp_status *status) {
    return take(bytes, name, true, npy, status);
}

bool cp_npy_parse(const void *bytes, size_t size, const char *name, cp_npy *npy, cp_status *status) {
    cp_status_begin(status);
    cp_bytes copy = {0};
    *npy = (cp_npy){0};
    if (!cp_bytes_append(&copy, bytes, size)) return cp_fail(status, "%.200s: not enough memory for %zu bytes", name, size);
    return cp_npy_take(copy, name, npy, status);
}

bool cp_npy_read(const char *path, cp_npy *npy, cp_status *status) {
    cp_bytes file;
    *npy = (cp_npy){0};
    return cp_file_read(path, PTRDIFF_MAX, &file, status) && cp_npy_take(file, path, npy, status);
}

void cp_npy_free(cp_npy *npy) {
    free(npy->data);
    *npy = (cp_npy){0};
}

/* To cp_real or, if `whole`, to int32_t. */
static void *converted(const cp_npy *npy, bool whole, const char *name, cp_status *status) {
    size_t bytes, width = whole ? sizeof(int32_t) : sizeof(cp_real);
    void  *out = cp_size_mul(npy->size ? npy->size : 1, width, &bytes) ? malloc(bytes) : NULL;
    if (!out) return cp_null(cp_fail(status, "%.200s: not enough memory for %zu elements", name, npy->size));
    if (whole ? cp_elements_to_int32(npy->dtype, npy->data, npy->size, out, name, status)
              : cp_elements_to_real(npy->dtype, npy->data, npy->size, out, name, status))
        return out;
    free(out);
    return NULL;
}

cp_real *cp_npy_to_real(const cp_npy *npy, const char *name, cp_status *status) { return converted(npy, false, name, status); }
int32_t *cp_npy_to_int32(const cp_npy *npy, const char *name, cp_status *status) { return converted(npy, true, name, status); }

/* ---- text ---- */

void cp_texts_free(cp_texts *texts) {
    free(texts->at);
    *texts = (cp_texts){0};
}

/* A character in UTF-8; returns the bytes. Numbers that are no characters become '?'. */
static size_t put_character(uint32_t c, char *to) {
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = '?';
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = (char)(more ? (0xFF00 >> (more + 1) & 0xFF) | c >> 6 * more : c);
    for (int i = more - 1; i >= 0; i--) *to++ = (char)(0x80 | (c >> 6 * i & 63));
    return (size_t)more + 1;
}

static uint32_t take_character(const char **text) {
    const unsigned char *p = (const unsigned char *)*text;
    int                  length = cp_utf8_length(p, strlen(*text));
    uint32_t             c = length == 0 ? '?' : length == 1 ? *p : *p & (0x7Fu >> length);
    for (int i = 1; i < length; i++) c = c << 6 | (p[i] & 63);
    *text += length ? length : 1;
    return c;
}

static uint32_t character_at(const cp_npy *npy, size_t i) {
    return npy->dtype == CP_U8 ? ((const uint8_t *)npy->data)[i] : ((const uint32_t *)npy->data)[i];
}

bool cp_npy_to_texts(const cp_npy *npy, const char *name, cp_texts *texts, cp_status *status) {
    size_t room, pointers, count = npy->text ? (size_t)npy->dims[0] : 0, width = count ? npy->size / count : 0;
    *texts = (cp_texts){0};
    if (!npy->text)
        return cp_fail(status, "%.200s: elements of type %s were found, text was expected", name, cp_dtype_name(npy->dtype));
    bool ok = cp_size_mul(count + 1, sizeof *texts->at, &pointers) && cp_size_add(pointers, count + 4, &room) &&
              cp_size_add(room, npy->size * cp_dtype_size(npy->dtype), &room);
    texts->at = ok ? malloc(room) : NULL;
    if (!texts->at) return cp_fail(status, "%.200s: not enough memory for its texts", name);
    char *to = (char *)(texts->at + count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t length = width;
        texts->at[texts->count++] = to;
        while (length > 0 && character_at(npy, i * width + length - 1) == 0) length--;
        for (size_t k = 0; k < length; k++) {
            uint32_t c = character_at(npy, i * width + k);
            if (npy->dtype == CP_U8)
                *to++ = (char)c;
            else
                to += put_character(c, to);
        }
        *to++ = '\0';
    }
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void append_to_bytes(void *out, const void *bytes, size_t size) { cp_bytes_append(out, bytes, size); }

bool cp_npy_append(cp_bytes *out, const cp_npy *npy, const char *name, cp_status *status) {
    unsigned char front[256]; /* enough for five dimensions of at most 19 digits */
    char         *text = (char *)front, type[32];
    const char   *code = npy->text ? type : npy->dtype >= 0 && npy->dtype < CP_DTYPES ? codes[npy->dtype] : NULL;
    int           rank = npy->rank - npy->text;
    size_t        count, used = 10;
    if (!code) return cp_fail(status, "%.200s: numpy has no type for these elements; convert them to F32 first", name);
    if (rank < 0 || rank > CP_NPY_RANK || !cp_shape_count(npy->rank, npy->dims, cp_dtype_size(npy->dtype), &count))
        return cp_fail(status, "%.200s: a shape of rank 0 to %d, no dimension negative, was expected", name, CP_NPY_RANK);
    if (npy->text) snprintf(type, sizeof type, npy->dtype == CP_U8 ? "|S%lld" : "<U%lld", (long long)npy->dims[rank]);
    used += (size_t)sprintf(text + used, "{'descr': '%s', 'fortran_order': False, 'shape': (", code);
    for (int i = 0; i < rank; i++) used += (size_t)sprintf(text + used, i ? ", %lld" : "%lld", (long long)npy->dims[i]);
    used += (size_t)sprintf(text + used, rank == 1 ? ",), }" : "), }");
    while ((used + 1) % WRITE_ALIGN) front[used++] = ' ';
    front[used++] = '\n';
    memcpy(front, magic, sizeof magic);
    front[6] = 1, front[7] = 0;
    cp_put_le16(front + 8, (uint16_t)(used - 10));
    if (cp_bytes_reserve(out, used + count * cp_dtype_size(npy->dtype))) {
        cp_bytes_append(out, front, used);
        cp_elements_stream(npy->dtype, npy->data, count, append_to_bytes, out);
    }
    return !out->failed || cp_fail(status, "%.200s: not enough memory for %zu elements", name, count);
}

cp_npy cp_npy_of(cp_dtype dtype, int rank, const int64_t *dims, const void *data) {
    cp_npy npy = {.dtype = dtype, .rank = rank, .data = (void *)data};
    for (int i = 0; i < rank && i < CP_NPY_RANK; i++) npy.dims[i] = dims[i];
    return npy;
}

bool cp_npy_append_texts(cp_bytes *out, size_t count, const char *const *texts, const char *name, cp_status *status) {
    size_t longest = 1, size;
    for (size_t i = 0; i < count; i++)
        if (strlen(texts[i]) > longest) longest = strlen(texts[i]);
    uint32_t *characters = cp_size_mul(count + 1, longest, &size) ? calloc(size, sizeof *characters) : NULL;
    if (!characters) return cp_fail(status, "%.200s: not enough memory for %zu texts", name, count);
    for (size_t i = 0; i < count; i++) {
        const char *text = texts[i];
        for (uint32_t *to = characters + i * longest; *text; to++) *to = take_character(&text);
    }
    cp_npy npy = cp_npy_of(CP_U32, 2, (int64_t[]){(int64_t)count, (int64_t)longest}, characters);
    npy.text = true;
    bool ok = cp_npy_append(out, &npy, name, status);
    free(characters);
    return ok;
}

bool cp_npy_write(const char *path, cp_dtype dtype, int rank, const int64_t *dims, const void *data, cp_status *status) {
    cp_bytes file = {0};
    cp_npy   npy = cp_npy_of(dtype, rank, dims, data);
    bool     done = cp_npy_append(&file, &npy, path, status) && cp_file_write(path, file.data, file.size, status);
    cp_bytes_free(&file);
    return done;
}
