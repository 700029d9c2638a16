/* NIfTI volumes: headers of both versions, the orientation of the axes, and the values in canonical order. */
#include "core/io/nifti.h"
#include "core/io/deflate.h"
#include "core/io/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- headers: the same fields at different offsets, of different widths ---- */

enum {
    FILE_RANK = 7,
    HEADER_MAX = 540,
    PADDING_MAX = 1 << 16, /* bytes that may follow the values */
};

/* The fields of a header, and the offsets of each in versions 1 and 2. */
enum { DIM, DATATYPE, BITPIX, PIXDIM, VOX_OFFSET, SCL_SLOPE, QFORM_CODE, SFORM_CODE, QUATERN_B, QOFFSET_X, SROW_X, MAGIC, FIELDS };

static const size_t offsets[FIELDS][2] = {
    [DIM] = {40, 16},          [DATATYPE] = {70, 12},    [BITPIX] = {72, 14},       [PIXDIM] = {76, 104},
    [VOX_OFFSET] = {108, 168}, [SCL_SLOPE] = {112, 176}, [QFORM_CODE] = {252, 344}, [SFORM_CODE] = {254, 348},
    [QUATERN_B] = {256, 352},  [QOFFSET_X] = {268, 376}, [SROW_X] = {280, 400},     [MAGIC] = {344, 4},
};

/* The other differences between the versions. */
static const struct {
    size_t   size, min_offset;   /* of the header; of values in the same file, after four bytes that announce extensions */
    cp_dtype length, real, code; /* types of dim, of real numbers, and of the codes of forms */
    cp_dtype offset;             /* type of vox_offset */
    size_t   magic_size;
    char     alone[9], pair[9];
} versions[] = {
    {348, 352, CP_I16, CP_F32, CP_I16, CP_F32, 4, "n+1", "ni1"},
    {HEADER_MAX, 544, CP_I64, CP_F64, CP_I32, CP_I64, 8, "n+2\0\r\n\032\n", "ni2\0\r\n\032\n"},
};

typedef struct header {
    int      version;
    bool     big_endian;
    bool     alone; /* the values are in the same file, not in the other one of a pair */
    cp_dtype dtype;
    int      rank;            /* dim[0] */
    int64_t  dims[FILE_RANK]; /* 1 beyond the rank */
    size_t   count;           /* of values */
    size_t   offset;          /* where they begin */
    double   slope, intercept;
    double   pixdim[1 + FILE_RANK]; /* the handedness of the qform, then the spacing along each axis */
    int      qform_code, sform_code;
    double   quatern[3], qoffset[3];
    double   sform[3][4];
} header;

static const struct {
    int         code, bits;
    cp_dtype    dtype;
    const char *refused; /* name of a type that is not supported; NULL: supported */
} types[] = {
    {2, 8, CP_U8, NULL},
    {4, 16, CP_I16, NULL},
    {8, 32, CP_I32, NULL},
    {16, 32, CP_F32, NULL},
    {64, 64, CP_F64, NULL},
    {256, 8, CP_I8, NULL},
    {512, 16, CP_U16, NULL},
    {768, 32, CP_U32, NULL},
    {1024, 64, CP_I64, NULL},
    {1280, 64, CP_U64, NULL},
    {1, 1, CP_DTYPES, "single bits"},
    {32, 64, CP_DTYPES, "complex numbers (complex64)"},
    {128, 24, CP_DTYPES, "colors (RGB24)"},
    {1536, 128, CP_DTYPES, "float128"},
    {1792, 128, CP_DTYPES, "complex numbers (complex128)"},
    {2048, 256, CP_DTYPES, "complex numbers (complex256)"},
    {2304, 32, CP_DTYPES, "colors (RGBA32)"},
};

typedef struct reader {
    const unsigned char *bytes;
    int                  version; /* 0 or 1, an index */
    bool                 big_endian;
    const char          *name;
    cp_status           *status;
} reader;

static size_t offset_of(const reader *r, int field) { return offsets[field][r->version]; }

static int64_t whole(const reader *r, cp_dtype dtype, size_t offset) {
    union {
        int16_t i16;
        int32_t i32;
        int64_t i64;
    } value;
    cp_elements_decode(dtype, r->big_endian, r->bytes + offset, 1, &value);
    return dtype == CP_I16 ? value.i16 : dtype == CP_I32 ? value.i32 : value.i64;
}

static void reals(const reader *r, size_t offset, int count, double *out) {
    unsigned char native[(1 + FILE_RANK) * sizeof(double)];
    cp_elements_decode(versions[r->version].real, r->big_endian, r->bytes + offset, (size_t)count, native);
    cp_elements_to_double(versions[r->version].real, native, (size_t)count, out);
}

/* Finds version and byte order from the length of the header, in the first four bytes. */
static bool find_layout(reader *r, size_t size) {
    for (int i = 0; size >= 4 && i < 4; i++) {
        r->version = i / 2;
        r->big_endian = i % 2;
        if (whole(r, CP_I32, 0) != (int64_t)versions[r->version].size) continue;
        return size >= versions[r->version].size ||
               cp_damaged(r->status, "%.300s: the file ends at byte %zu, inside the header of %zu; it is truncated", r->name, size,
                          versions[r->version].size);
    }
    return cp_damaged(r->status, "%.300s: byte 0: this is not a NIfTI file (sizeof_hdr 348 or 540 in either byte order)", r->name);
}

static bool read_magic(const reader *r, header *h) {
    const unsigned char *magic = r->bytes + offset_of(r, MAGIC);
    h->alone = memcmp(magic, versions[r->version].alone, versions[r->version].magic_size) == 0;
    return h->alone || memcmp(magic, versions[r->version].pair, versions[r->version].magic_size) == 0 ||
           cp_damaged(r->status, "%.300s: byte %zu: the magic \"%s\" or \"%s\" is missing; %s", r->name, offset_of(r, MAGIC),
                      versions[r->version].alone, versions[r->version].pair,
                      r->version == 0 ? "ANALYZE 7.5 files have none and do not define left and right: convert them to NIfTI"
                                      : "the file is damaged");
}

static bool read_type(const reader *r, header *h) {
    int code = (int)whole(r, CP_I16, offset_of(r, DATATYPE)), bits = (int)whole(r, CP_I16, offset_of(r, BITPIX));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].code != code) continue;
        if (types[i].refused)
            return cp_fail(r->status, "%.300s: datatype %d: the values are %s; whole numbers, float32 and float64 can be read",
                           r->name, code, types[i].refused);
        h->dtype = types[i].dtype;
        return bits == types[i].bits ||
               cp_damaged(r->status, "%.300s: bitpix is %d, but datatype %d (%s) has %d bits; the header is damaged", r->name, bits,
                          code, cp_dtype_numpy(h->dtype), types[i].bits);
    }
    return cp_damaged(r->status, "%.300s: datatype %d does not exist; the header is damaged", r->name, code);
}

static bool read_dims(const reader *r, header *h) {
    size_t  width = cp_dtype_size(versions[r->version].length);
    int64_t rank = whole(r, versions[r->version].length, offset_of(r, DIM));
    if (rank < 1 || rank > FILE_RANK)
        return cp_damaged(r->status, "%.300s: dim[0], the number of axes, is %lld; 1 to 7 was expected", r->name, (long long)rank);
    h->rank = (int)rank;
    for (int i = 0; i < FILE_RANK; i++) {
        int64_t dim = h->dims[i] =
            i < h->rank ? whole(r, versions[r->version].length, offset_of(r, DIM) + (size_t)(i + 1) * width) : 1;
        if (dim < 1)
            return cp_damaged(r->status, "%.300s: dim[%d] is %lld; a length from 1 on was expected", r->name, i + 1,
                              (long long)dim);
        if (i >= CP_NIFTI_RANK && dim > 1)
            return cp_fail(r->status, "%.300s: dim[%d] is %lld; beyond axis %d lengths other than 1 cannot be read", r->name, i + 1,
                           (long long)dim, CP_NIFTI_RANK);
    }
    size_t type = cp_dtype_size(h->dtype), wider = type > sizeof(float) ? type : sizeof(float);
    return cp_shape_count(h->rank, h->dims, wider, &h->count) ||
           cp_damaged(r->status, "%.300s: dim: the shape %s is larger than memory can be", r->name,
                      cp_shown_shape(h->rank, h->dims).text);
}

static bool read_offset(const reader *r, header *h) {
    double offset;
    if (versions[r->version].offset == CP_I64)
        offset = (double)whole(r, CP_I64, offset_of(r, VOX_OFFSET));
    else
        reals(r, offset_of(r, VOX_OFFSET), 1, &offset);
    size_t min = h->alone ? versions[r->version].min_offset : 0, end;
    if (!(offset >= (double)min && offset < (double)(PTRDIFF_MAX / 2)) || offset != floor(offset))
        return cp_damaged(r->status, "%.300s: vox_offset, where the values begin, is %g; a whole number from %zu on was expected",
                          r->name, offset, min);
    h->offset = (size_t)offset;
    return (cp_size_add(h->offset, h->count * cp_dtype_size(h->dtype), &end) && end <= PTRDIFF_MAX) ||
           cp_damaged(r->status, "%.300s: vox_offset is %g, and the values end beyond what a file can be", r->name, offset);
}

static bool read_scaling(const reader *r, header *h) {
    double scaling[2];
    reals(r, offset_of(r, SCL_SLOPE), 2, scaling);
    h->slope = scaling[0], h->intercept = scaling[1];
    if (h->slope == 0 || (isnan(h->slope) && isnan(h->intercept))) h->slope = 1, h->intercept = 0;
    return (isfinite(h->slope) && isfinite(h->intercept)) ||
           cp_damaged(r->status, "%.300s: scl_slope %g and scl_inter %g are not finite", r->name, h->slope, h->intercept);
}

/* Parses the first bytes of a file: all of it, or at least HEADER_MAX. */
static bool header_parse(const unsigned char *bytes, size_t size, const char *name, header *h, cp_status *status) {
    reader r = {.bytes = bytes, .name = name, .status = status};
    *h = (header){0};
    if (!find_layout(&r, size)) return false;
    h->version = r.version + 1;
    h->big_endian = r.big_endian;
    if (!read_magic(&r, h) || !read_type(&r, h) || !read_dims(&r, h) || !read_offset(&r, h) || !read_scaling(&r, h)) return false;
    reals(&r, offset_of(&r, PIXDIM), 1 + FILE_RANK, h->pixdim);
    h->qform_code = (int)whole(&r, versions[r.version].code, offset_of(&r, QFORM_CODE));
    h->sform_code = (int)whole(&r, versions[r.version].code, offset_of(&r, SFORM_CODE));
    reals(&r, offset_of(&r, QUATERN_B), 3, h->quatern);
    reals(&r, offset_of(&r, QOFFSET_X), 3, h->qoffset);
    for (size_t i = 0; i < 3; i++)
        reals(&r, offset_of(&r, SROW_X) + i * 4 * cp_dtype_size(versions[r.version].real), 4, h->sform[i]);
    return true;
}

/* ---- the orientation of the axes ---- */

/* Canonical axis k is the file's axis `from[k]`, counted backward where `flip[k]`. */
typedef struct axes_found {
    cp_nifti_frame frame;
    int            from[3];
    bool           flip[3];
    double         affine[3][4]; /* of the file's own indices */
} axes_found;

typedef double matrix[3][3];

static double determinant(matrix m) {
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* The directions of the axes without their lengths and shear: the orthogonal matrix closest to the affine's columns of unit length, by
 * Newton's iteration R <- (R + R^-T) / 2. False when the columns do not span space or are not finite. */
static bool rotation_of(double affine[3][4], matrix r) {
    enum { STEPS = 100 };
    const double min_volume = 1e-9;
    for (int j = 0; j < 3; j++) {
        double largest = 0, squares = 0; /* the largest first, so that no square overflows */
        for (int i = 0; i < 3; i++) {
            if (!isfinite(affine[i][j])) return false;
            largest = fmax(largest, fabs(affine[i][j]));
        }
        if (!(largest > 0)) return false;
        for (int i = 0; i < 3; i++) r[i][j] = affine[i][j] / largest, squares += r[i][j] * r[i][j];
        for (int i = 0; i < 3; i++) r[i][j] /= sqrt(squares);
    }
    double volume = determinant(r), change = 1;
    for (int step = 0; step < STEPS && change > 1e-15 && fabs(volume) > min_volume; step++, volume = determinant(r)) {
        matrix next;
        change = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                int    a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
                double cofactor = r[a][c] * r[b][d] - r[a][d] * r[b][c];
                next[i][j] = (r[i][j] + cofactor / volume) / 2;
                change = fmax(change, fabs(next[i][j] - r[i][j]));
            }
        memcpy(r, next, sizeof next);
    }
    return fabs(volume) > min_volume;
}

/* Lengths as nibabel corrects them: the sign is ignored, and 0 counts as 1. */
static double corrected(double length) { return length == 0 ? 1 : fabs(length); }

/* The affine of the quaternion a + b i + c j + d k, where a follows from the others. False unless its length is 1, up to rounding. */
static bool qform_affine(const header *h, double affine[3][4]) {
    double b = h->quatern[0], c = h->quatern[1], d = h->quatern[2], rest = 1 - (b * b + c * c + d * d);
    if (!(rest > -1e-3)) return false;
    double       a = sqrt(fmax(rest, 0)), s = 2 / (a * a + b * b + c * c + d * d);
    const matrix turn = {{1 - s * (c * c + d * d), s * (b * c - a * d), s * (b * d + a * c)},
                         {s * (b * c + a * d), 1 - s * (b * b + d * d), s * (c * d - a * b)},
                         {s * (b * d - a * c), s * (c * d + a * b), 1 - s * (b * b + c * c)}};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            affine[i][j] = turn[i][j] * corrected(h->pixdim[1 + j]) * (j == 2 && h->pixdim[0] == -1 ? -1 : 1);
        affine[i][3] = h->qoffset[i];
    }
    return true;
}

/* nibabel's default, true of most ANALYZE files: the first axis runs to the left, and the origin is in the middle. */
static void assumed_affine(const header *h, double affine[3][4]) {
    memset(affine, 0, 3 * sizeof *affine);
    for (int i = 0; i < 3; i++) {
        affine[i][i] = (i == 0 ? -1 : 1) * (i < h->rank ? corrected(h->pixdim[1 + i]) : 1);
        affine[i][3] = -affine[i][i] * (double)(h->dims[i] - 1) / 2;
    }
}

static bool is_usable(double affine[3][4], matrix rotation) {
    return isfinite(affine[0][3]) && isfinite(affine[1][3]) && isfinite(affine[2][3]) && rotation_of(affine, rotation);
}

/* Finds the first usable form and its rotation. */
static bool find_frame(const header *h, axes_found *axes, matrix rotation) {
    axes->frame = CP_NIFTI_SFORM;
    memcpy(axes->affine, h->sform, sizeof axes->affine);
    if (h->sform_code > 0 && is_usable(axes->affine, rotation)) return true;
    axes->frame = CP_NIFTI_QFORM;
    if (h->qform_code > 0 && qform_affine(h, axes->affine) && is_usable(axes->affine, rotation)) return true;
    axes->frame = CP_NIFTI_ASSUMED;
    assumed_affine(h, axes->affine);
    return h->sform_code <= 0 && h->qform_code <= 0 && is_usable(axes->affine, rotation);
}

/* Each axis of the file in turn takes the closest of the remaining directions, as in nibabel. */
static bool orient(const header *h, const char *name, axes_found *axes, cp_status *status) {
    matrix rotation;
    bool   taken[3] = {false};
    if (!find_frame(h, axes, rotation))
        return cp_damaged(status,
                          "%.300s: the orientation of the axes is unknown: %s; finite numbers and axes that span space are needed. "
                          "Correct the header, or set both codes to 0",
                          name,
                          h->sform_code > 0   ? "the sform is unusable, and there is no usable qform"
                          : h->qform_code > 0 ? "the qform is unusable"
                                              : "the distances in pixdim are unusable");
    for (int j = 0; j < 3; j++) {
        int best = -1;
        for (int i = 0; i < 3; i++)
            if (!taken[i] && (best < 0 || fabs(rotation[i][j]) > fabs(rotation[best][j]))) best = i;
        taken[best] = true;
        axes->from[best] = j;
        axes->flip[best] = rotation[best][j] < 0;
    }
    return true;
}

/* ---- values ---- */

/* One row of the file: `count` values, `step` apart in `out`. */
static void fill_row(const header *h, const unsigned char *bytes, size_t count, float *out, ptrdiff_t step) {
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

static void fill_values(const header *h, const unsigned char *bytes, const axes_found *axes, const cp_nifti *v) {
    size_t    row = (size_t)h->dims[0], rows = h->count / row;
    int64_t   index[CP_NIFTI_RANK] = {0};
    ptrdiff_t step[CP_NIFTI_RANK], offset = 0, extent = 1; /* the step of the offset along each axis of the file */
    for (int k = 0; k < CP_NIFTI_RANK; extent *= (ptrdiff_t)v->dims[k++]) {
        bool flip = k < 3 && axes->flip[k];
        step[k < 3 ? axes->from[k] : k] = flip ? -extent : extent;
        if (flip) offset += extent * (ptrdiff_t)(v->dims[k] - 1);
    }
    for (size_t i = 0; i < rows; i++, bytes += row * cp_dtype_size(h->dtype)) {
        fill_row(h, bytes, row, v->values + offset, step[0]);
        for (int axis = 1; axis < CP_NIFTI_RANK; axis++) {
            offset += step[axis];
            if (++index[axis] < h->dims[axis]) break;
            offset -= step[axis] * (ptrdiff_t)h->dims[axis];
            index[axis] = 0;
        }
    }
}

/* ---- a volume ---- */

/* Fills in everything but the values. */
static void describe(const header *h, const axes_found *axes, cp_nifti *v) {
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
        v->spacing[k] = k < h->rank ? h->pixdim[1 + k] : 1;
    }
    while (v->rank > 2 && v->dims[v->rank - 1] == 1) v->rank--;
}

/* The end of the values in their file; the header was checked for overflow. */
static size_t end_of_values(const header *h) { return h->offset + h->count * cp_dtype_size(h->dtype); }

/* `bytes` are the contents of the file with the values. */
static bool make_volume(const header *h, const unsigned char *bytes, size_t size, const char *name, cp_nifti *v,
                        cp_status *status) {
    axes_found axes;
    size_t     end = end_of_values(h);
    if (size < end)
        return cp_damaged(
            status,
            "%.300s: the values, %s of %s from byte %zu on, should end at byte %zu; there are %zu bytes: the file is truncated",
            name, cp_shown_shape(h->rank, h->dims).text, cp_dtype_numpy(h->dtype), h->offset, end, size);
    if (size - end > PADDING_MAX)
        return cp_damaged(status, "%.300s: the values, %s of %s, end at byte %zu, and %zu more follow; the header is damaged", name,
                          cp_shown_shape(h->rank, h->dims).text, cp_dtype_numpy(h->dtype), end, size - end);
    if (!orient(h, name, &axes, status)) return false;
    float *values = malloc(h->count * sizeof *values);
    if (!values) return cp_fail(status, "%.300s: not enough memory for %zu values", name, h->count);
    describe(h, &axes, v);
    v->values = values;
    fill_values(h, bytes + h->offset, &axes, v);
    return true;
}

/* Compares the length of the contents from the header with the file's size before it allocates memory for them. */
static bool unpack_volume(const header *h, const void *bytes, size_t size, const char *name, cp_nifti *v, cp_status *status) {
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

static bool read_header(const void *bytes, size_t size, const char *name, header *h, cp_status *status) {
    cp_bytes start = {0};
    if (!cp_gzip_begins(bytes, size)) return header_parse(bytes, size, name, h, status);
    bool done =
        cp_gunzip_start(bytes, size, HEADER_MAX, &start, name, status) && header_parse(start.data, start.size, name, h, status);
    cp_bytes_free(&start);
    return done;
}

static bool read_values(const header *h, const void *bytes, size_t size, bool packed, const char *name, cp_nifti *v,
                        cp_status *status) {
    return packed ? unpack_volume(h, bytes, size, name, v, status) : make_volume(h, bytes, size, name, v, status);
}

void cp_nifti_free(cp_nifti *v) {
    free(v->values);
    *v = (cp_nifti){0};
}

/* ---- names ---- */

static bool is_packed(const char *path) {
    size_t length = strlen(path);
    return length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
}

/* The length of the path without this ending (and .gz), or 0 when it has another. */
static size_t stem_length(const char *path, const char *ending) {
    size_t length = strlen(path) - (is_packed(path) ? 3 : 0), wanted = strlen(ending);
    return length > wanted && strncasecmp(path + length - wanted, ending, wanted) == 0 ? length - wanted : 0;
}

bool cp_nifti_named(const char *path) {
    return stem_length(path, ".nii") || stem_length(path, ".hdr") || stem_length(path, ".img");
}

/* Reads the other file of a pair, of the kind "hdr" or "img": compressed like `path` or, if there is no such file, the other way. `found`,
 * to be freed, is its name. */
static bool read_other_half(const char *path, size_t stem, const char *kind, size_t limit, cp_bytes *out, char **found,
                            cp_status *status) {
    bool  upper = path[stem + 1] < 'a';
    char *other = malloc(strlen(path) + sizeof ".gz");
    if (!other) return cp_fail(status, "%.300s: not enough memory to read it", path);
    memcpy(other, path, stem);
    for (int turn = 0; turn < 2; turn++) {
        cp_status here = {0};
        sprintf(other + stem, ".%s%s", kind, is_packed(path) == (turn == 0) ? ".gz" : "");
        for (char *c = other + stem; upper && *c; c++) *c = (char)(*c >= 'a' ? *c - 'a' + 'A' : *c);
        if (cp_file_read(other, is_packed(other) ? PTRDIFF_MAX : limit, out, &here)) return *found = other, true;
        if (here.kind == CP_STATUS_MISSING && turn == 0) continue;
        if (here.kind == CP_STATUS_MISSING)
            snprintf(here.message, sizeof here.message,
                     "%.300s is one file of a pair; the other one, .%s or .%s.gz next to it, is missing", path, kind, kind);
        cp_fail_as(status, here.kind, "%s", here.message);
        break;
    }
    free(other);
    return false;
}

/* `path` is the header's; the values may be in the other file of a pair unless `alone`. */
static bool read_volume(const char *path, const void *bytes, size_t size, bool alone, cp_nifti *v, cp_status *status) {
    header   h;
    cp_bytes values = {0};
    char    *name = NULL;
    size_t   stem = stem_length(path, ".hdr");
    if (!read_header(bytes, size, path, &h, status)) return false;
    if (h.alone) return read_values(&h, bytes, size, cp_gzip_begins(bytes, size), path, v, status);
    if (alone)
        return cp_fail(status, "%.300s: this is the header of a pair, without its values; read it by its name, .hdr or .img", path);
    if (!stem)
        return cp_damaged(status, "%.300s: this is the header of a pair (by its magic); it should be named .hdr, next to an .img",
                          path);
    bool done = read_other_half(path, stem, "img", end_of_values(&h) + PADDING_MAX, &values, &name, status) &&
                read_values(&h, values.data, values.size, is_packed(name), name, v, status);
    cp_bytes_free(&values);
    free(name);
    return done;
}

bool cp_nifti_parse(const void *bytes, size_t size, const char *name, cp_nifti *v, cp_status *status) {
    cp_status_begin(status);
    *v = (cp_nifti){0};
    return read_volume(name, bytes, size, true, v, status);
}

bool cp_nifti_read(const char *path, cp_nifti *v, cp_status *status) {
    cp_bytes file = {0};
    char    *header = NULL;
    size_t   stem = stem_length(path, ".img");
    *v = (cp_nifti){0};
    bool done = stem ? read_other_half(path, stem, "hdr", PTRDIFF_MAX, &file, &header, status)
                     : cp_file_read(path, PTRDIFF_MAX, &file, status);
    done = done && read_volume(header ? header : path, file.data, file.size, false, v, status);
    cp_bytes_free(&file);
    free(header);
    return done;
}
