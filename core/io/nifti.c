/* NIfTI volumes: the file or pair of files that hold them, and the values in canonical order. */
#include "core/io/nifti.h"
#include "core/io/file.h"
#include "core/io/gzip.h"
#include "core/io/inflate.h"
#include "core/io/nifti_format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PADDING_MAX = 1 << 16 }; /* bytes that may follow the values */

/* ---- values ---- */

/* The place of the file's first value in the canonical order, and by how much that changes along each of the file's axes. */
typedef struct walk {
    size_t    start;
    ptrdiff_t step[CP_NIFTI_RANK];
} walk;

static walk canonical_walk(const cp_nifti *v, const cp_nifti_axes *axes) {
    walk      w = {0};
    ptrdiff_t extent = 1;
    for (int k = 0; k < CP_NIFTI_RANK; extent *= (ptrdiff_t)v->dims[k++]) {
        bool flip = k < 3 && axes->flip[k];
        w.step[k < 3 ? axes->from[k] : k] = flip ? -extent : extent;
        if (flip) w.start += (size_t)(extent * (ptrdiff_t)(v->dims[k] - 1));
    }
    return w;
}

/* One row of the file: `count` values, which come `step` from each other in `out`. */
static void fill_row(const cp_nifti_header *h, const unsigned char *bytes, size_t count, float *out, ptrdiff_t step) {
    enum { PIECE = 512 };
    double piece[PIECE], native[PIECE];
    size_t width = cp_dtype_size(h->dtype);
    for (size_t first = 0; first < count; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE;
        cp_elements_decode(h->dtype, h->big_endian, bytes + first * width, some, native);
        cp_elements_to_double(h->dtype, native, some, piece);
        for (size_t i = 0; i < some; i++) {
            double product = h->slope * piece[i];
            out[(ptrdiff_t)(first + i) * step] = (float)(product + h->intercept);
        }
    }
}

static void fill_values(const cp_nifti_header *h, const unsigned char *bytes, walk w, float *out) {
    size_t    row = (size_t)h->dims[0], rows = h->count / row;
    int64_t   index[CP_NIFTI_RANK] = {0};
    ptrdiff_t place = (ptrdiff_t)w.start;
    for (size_t i = 0; i < rows; i++, bytes += row * cp_dtype_size(h->dtype)) {
        fill_row(h, bytes, row, out + place, w.step[0]);
        for (int axis = 1; axis < CP_NIFTI_RANK; axis++) {
            place += w.step[axis];
            if (++index[axis] < h->dims[axis]) break;
            place -= w.step[axis] * (ptrdiff_t)h->dims[axis];
            index[axis] = 0;
        }
    }
}

/* ---- a volume ---- */

/* All but the values. */
static void describe(const cp_nifti_header *h, const cp_nifti_axes *axes, cp_nifti *v) {
    static const char ends[2][4] = {"RAS", "LPI"};
    *v = (cp_nifti){.version = h->version,
                    .stored = h->dtype,
                    .slope = h->slope,
                    .intercept = h->intercept,
                    .rank = CP_NIFTI_RANK,
                    .stored_rank = h->rank < CP_NIFTI_RANK ? h->rank : CP_NIFTI_RANK,
                    .frame = axes->frame,
                    .size = h->count};
    for (int i = 0; i < 3; i++) v->affine[i][3] = axes->affine[i][3];
    for (int k = 0; k < 3; k++) {
        int from = axes->from[k];
        v->dims[k] = h->dims[from];
        v->orientation[from] = ends[axes->flip[k]][k];
        for (int i = 0; i < 3; i++) {
            double step = axes->affine[i][from];
            v->affine[i][k] = axes->flip[k] ? 0 - step : step; /* never -0 */
            if (axes->flip[k]) v->affine[i][3] += step * (double)(v->dims[k] - 1);
        }
        v->spacing[k] = hypot(hypot(v->affine[0][k], v->affine[1][k]), v->affine[2][k]);
    }
    for (int k = 3; k < CP_NIFTI_RANK; k++) {
        v->dims[k] = h->dims[k];
        v->spacing[k] = k < h->rank ? h->spacing[k] : 1;
    }
    while (v->rank > 2 && v->dims[v->rank - 1] == 1) v->rank--;
}

/* In their file; the header was checked for it. */
static size_t end_of_values(const cp_nifti_header *h) {
    return h->offset + h->count * cp_dtype_size(h->dtype);
}

/* From the values' file, of which `bytes` are the contents. */
static bool make_volume(const cp_nifti_header *h, const unsigned char *bytes, size_t size, const char *name, cp_nifti *v,
                        cp_status *status) {
    cp_nifti_axes axes;
    size_t        end = end_of_values(h);
    if (size < end)
        return cp_damaged(
            status,
            "%.300s: the values, %s of %s from byte %zu on, should end at byte %zu; there are %zu bytes: the file is truncated",
            name, cp_shown_shape(h->rank, h->dims).text, cp_dtype_numpy(h->dtype), h->offset, end, size);
    if (size - end > PADDING_MAX)
        return cp_damaged(status, "%.300s: the values, %s of %s, end at byte %zu, and %zu more follow; the header is damaged", name,
                          cp_shown_shape(h->rank, h->dims).text, cp_dtype_numpy(h->dtype), end, size - end);
    if (!cp_nifti_orient(h, name, &axes, status)) return false;
    float *values = malloc(h->count * sizeof *values);
    if (!values) return cp_fail(status, "%.300s: not enough memory for %zu values", name, h->count);
    describe(h, &axes, v);
    fill_values(h, bytes + h->offset, canonical_walk(v, &axes), v->values = values);
    return true;
}

/* The header tells how long the contents are before memory is taken for them, and how long they can be follows from the file's size. */
static bool unpack_volume(const cp_nifti_header *h, const void *bytes, size_t size, const char *name, cp_nifti *v,
                          cp_status *status) {
    cp_bytes contents = {0};
    size_t   end = end_of_values(h), limit = end + PADDING_MAX;
    if (end / CP_INFLATE_RATIO > size)
        return cp_damaged(status, "%.300s: %zu compressed bytes cannot hold the %zu that the header's shape %s of %s needs", name,
                          size, end, cp_shown_shape(h->rank, h->dims).text, cp_dtype_numpy(h->dtype));
    if (!cp_bytes_reserve(&contents, limit)) return cp_fail(status, "%.300s: not enough memory for %zu bytes", name, limit);
    bool done =
        cp_gunzip(bytes, size, limit, &contents, name, status) && make_volume(h, contents.data, contents.size, name, v, status);
    cp_bytes_free(&contents);
    return done;
}

static bool read_header(const void *bytes, size_t size, const char *name, cp_nifti_header *h, cp_status *status) {
    cp_bytes start = {0};
    if (!cp_gzip_begins(bytes, size)) return cp_nifti_header_parse(bytes, size, name, h, status);
    bool done = cp_gunzip_start(bytes, size, CP_NIFTI_HEADER_MAX, &start, name, status) &&
                cp_nifti_header_parse(start.data, start.size, name, h, status);
    cp_bytes_free(&start);
    return done;
}

static bool read_values(const cp_nifti_header *h, const void *bytes, size_t size, bool packed, const char *name, cp_nifti *v,
                        cp_status *status) {
    return packed ? unpack_volume(h, bytes, size, name, v, status) : make_volume(h, bytes, size, name, v, status);
}

bool cp_nifti_parse(const void *bytes, size_t size, const char *name, cp_nifti *v, cp_status *status) {
    cp_nifti_header h;
    *v = (cp_nifti){0};
    if (!read_header(bytes, size, name, &h, status)) return false;
    if (!h.alone)
        return cp_fail(status, "%.300s: this is the header of a pair, without its values; read it by its name, .hdr or .img", name);
    return read_values(&h, bytes, size, cp_gzip_begins(bytes, size), name, v, status);
}

void cp_nifti_free(cp_nifti *v) {
    free(v->values);
    *v = (cp_nifti){0};
}

/* ---- names ---- */

static bool ends_in(const char *path, const char *end) {
    size_t length = strlen(path), wanted = strlen(end);
    return length > wanted && strcasecmp(path + length - wanted, end) == 0;
}

static bool is_packed(const char *path) {
    return ends_in(path, ".gz");
}

bool cp_nifti_named(const char *path) {
    static const char *const ends[] = {".nii", ".nii.gz", ".hdr", ".hdr.gz", ".img", ".img.gz"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_in(path, ends[i])) return true;
    return false;
}

static bool is_half(const char *path, const char *end, const char *packed_end) {
    return ends_in(path, end) || ends_in(path, packed_end);
}

/* Reads the file of a pair that goes with `path`, its kind "hdr" or "img": packed like that one or, where there is no such file, not like
 * it. `found`, to be freed, is its name. */
static bool read_other_half(const char *path, const char *kind, size_t limit, cp_bytes *out, char **found, cp_status *status) {
    size_t length = strlen(path), stem = length - (is_packed(path) ? strlen(".hdr.gz") : strlen(".hdr"));
    bool   upper = path[stem + 1] < 'a';
    char  *other = malloc(length + sizeof ".gz");
    if (!other) return cp_fail(status, "%.300s: not enough memory to read it", path);
    memcpy(other, path, stem);
    for (int turn = 0; turn < 2; turn++) {
        cp_status here = {0};
        sprintf(other + stem, ".%s%s", kind, is_packed(path) == (turn == 0) ? ".gz" : "");
        for (char *c = other + stem; upper && *c; c++) *c = (char)(*c >= 'a' ? *c - 'a' + 'A' : *c);
        if (cp_file_read(other, is_packed(other) ? PTRDIFF_MAX : limit, out, &here)) return *found = other, true;
        if (here.kind != CP_STATUS_MISSING || turn == 1) {
            here.kind == CP_STATUS_MISSING
                ? cp_fail_as(status, here.kind, "%.300s is one file of a pair; the other one, .%s or .%s.gz beside it, is missing",
                             path, kind, kind)
                : cp_fail_as(status, here.kind, "%s", here.message);
            break;
        }
    }
    free(other);
    return false;
}

/* `path` is the header's. */
static bool read_with_header(const char *path, const cp_bytes *file, cp_nifti *v, cp_status *status) {
    cp_nifti_header h;
    cp_bytes        values = {0};
    char           *name = NULL;
    if (!read_header(file->data, file->size, path, &h, status)) return false;
    if (h.alone) return read_values(&h, file->data, file->size, cp_gzip_begins(file->data, file->size), path, v, status);
    if (!is_half(path, ".hdr", ".hdr.gz"))
        return cp_damaged(status, "%.300s: this is the header of a pair (by its magic); it should be named .hdr, beside an .img",
                          path);
    bool done = read_other_half(path, "img", end_of_values(&h) + PADDING_MAX, &values, &name, status) &&
                read_values(&h, values.data, values.size, is_packed(name), name, v, status);
    cp_bytes_free(&values);
    free(name);
    return done;
}

bool cp_nifti_read(const char *path, cp_nifti *v, cp_status *status) {
    cp_bytes file = {0};
    char    *header = NULL;
    *v = (cp_nifti){0};
    bool done = is_half(path, ".img", ".img.gz") ? read_other_half(path, "hdr", PTRDIFF_MAX, &file, &header, status)
                                                 : cp_file_read(path, PTRDIFF_MAX, &file, status);
    done = done && read_with_header(header ? header : path, &file, v, status);
    cp_bytes_free(&file);
    free(header);
    return done;
}
