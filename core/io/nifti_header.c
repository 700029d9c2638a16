/* The headers of NIfTI-1 and NIfTI-2: the same fields at other places and in other widths. */
#include "core/io/bytes.h"
#include "core/io/nifti_format.h"

#include <math.h>
#include <string.h>

typedef struct layout {
    int      version;
    size_t   size, min_offset;   /* of the header; of values in the same file: four bytes tell whether extensions follow */
    cp_dtype length, real, code; /* types of dim, of real numbers, and of the codes of forms */
    cp_dtype offset;             /* type of vox_offset */
    size_t   dim, datatype, bitpix, pixdim, vox_offset, scl_slope, qform_code, sform_code, quatern_b, qoffset_x, srow_x, magic;
    size_t   magic_size;
    char     alone[9], pair[9];
} layout;

static const layout layouts[] = {
    {.version = 1,
     .size = 348,
     .min_offset = 352,
     .length = CP_I16,
     .real = CP_F32,
     .code = CP_I16,
     .offset = CP_F32,
     .dim = 40,
     .datatype = 70,
     .bitpix = 72,
     .pixdim = 76,
     .vox_offset = 108,
     .scl_slope = 112,
     .qform_code = 252,
     .sform_code = 254,
     .quatern_b = 256,
     .qoffset_x = 268,
     .srow_x = 280,
     .magic = 344,
     .magic_size = 4,
     .alone = "n+1",
     .pair = "ni1"},
    {.version = 2,
     .size = CP_NIFTI_HEADER_MAX,
     .min_offset = 544,
     .length = CP_I64,
     .real = CP_F64,
     .code = CP_I32,
     .offset = CP_I64,
     .dim = 16,
     .datatype = 12,
     .bitpix = 14,
     .pixdim = 104,
     .vox_offset = 168,
     .scl_slope = 176,
     .qform_code = 344,
     .sform_code = 348,
     .quatern_b = 352,
     .qoffset_x = 376,
     .srow_x = 400,
     .magic = 4,
     .magic_size = 8,
     .alone = "n+2\0\r\n\032\n",
     .pair = "ni2\0\r\n\032\n"},
};

static const struct {
    int         code, bits;
    cp_dtype    dtype;
    const char *refused; /* what other values are; NULL: they can be read */
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
    const layout        *at;
    bool                 big_endian;
    const char          *name;
    cp_status           *status;
} reader;

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
    unsigned char native[(1 + CP_NIFTI_FILE_RANK) * sizeof(double)];
    cp_elements_decode(r->at->real, r->big_endian, r->bytes + offset, (size_t)count, native);
    cp_elements_to_double(r->at->real, native, (size_t)count, out);
}

/* Which format it is, and its byte order: both are told by the length of the header, in the first four bytes. */
static bool find_layout(reader *r, size_t size) {
    for (int i = 0; size >= 4 && i < 4; i++) {
        r->at = &layouts[i / 2];
        r->big_endian = i % 2;
        if (whole(r, CP_I32, 0) != (int64_t)r->at->size) continue;
        return size >= r->at->size ||
               cp_damaged(r->status, "%.300s: the file ends at byte %zu, inside the header of %zu; it is truncated", r->name, size,
                          r->at->size);
    }
    return cp_damaged(r->status, "%.300s: byte 0: this is not a NIfTI file (sizeof_hdr 348 or 540 in either byte order)", r->name);
}

static bool read_magic(const reader *r, cp_nifti_header *h) {
    const unsigned char *magic = r->bytes + r->at->magic;
    h->alone = memcmp(magic, r->at->alone, r->at->magic_size) == 0;
    return h->alone || memcmp(magic, r->at->pair, r->at->magic_size) == 0 ||
           cp_damaged(r->status, "%.300s: byte %zu: the magic \"%s\" or \"%s\" is missing; %s", r->name, r->at->magic, r->at->alone,
                      r->at->pair,
                      r->at->version == 1 ? "ANALYZE 7.5 files have none, and do not tell left from right: convert them to NIfTI"
                                          : "the file is damaged");
}

static bool read_type(const reader *r, cp_nifti_header *h) {
    int code = (int)whole(r, CP_I16, r->at->datatype), bits = (int)whole(r, CP_I16, r->at->bitpix);
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

static bool read_dims(const reader *r, cp_nifti_header *h) {
    size_t  width = cp_dtype_size(r->at->length);
    int64_t rank = whole(r, r->at->length, r->at->dim);
    if (rank < 1 || rank > CP_NIFTI_FILE_RANK)
        return cp_damaged(r->status, "%.300s: dim[0], the number of axes, is %lld; 1 to 7 was expected", r->name, (long long)rank);
    h->rank = (int)rank;
    for (int i = 0; i < CP_NIFTI_FILE_RANK; i++) {
        int64_t dim = h->dims[i] = i < h->rank ? whole(r, r->at->length, r->at->dim + (size_t)(i + 1) * width) : 1;
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

static bool read_offset(const reader *r, cp_nifti_header *h) {
    double  offset = 0;
    int64_t exact = 0;
    if (r->at->offset == CP_I64)
        offset = (double)(exact = whole(r, CP_I64, r->at->vox_offset));
    else
        reals(r, r->at->vox_offset, 1, &offset);
    size_t min = h->alone ? r->at->min_offset : 0, end;
    if (!(offset >= (double)min && offset < (double)(PTRDIFF_MAX / 2)) || offset != floor(offset))
        return cp_damaged(r->status, "%.300s: vox_offset, where the values begin, is %g; a whole number from %zu on was expected",
                          r->name, offset, min);
    h->offset = (size_t)(r->at->offset == CP_I64 ? exact : (int64_t)offset);
    return (cp_size_add(h->offset, h->count * cp_dtype_size(h->dtype), &end) && end <= PTRDIFF_MAX) ||
           cp_damaged(r->status, "%.300s: vox_offset is %g, and the values end beyond what a file can be", r->name, offset);
}

static bool read_scaling(const reader *r, cp_nifti_header *h) {
    double scaling[2];
    reals(r, r->at->scl_slope, 2, scaling);
    h->slope = scaling[0], h->intercept = scaling[1];
    if (h->slope == 0 || (isnan(h->slope) && isnan(h->intercept))) h->slope = 1, h->intercept = 0;
    return (isfinite(h->slope) && isfinite(h->intercept)) ||
           cp_damaged(r->status, "%.300s: scl_slope %g and scl_inter %g are not finite, so that there are no values", r->name,
                      h->slope, h->intercept);
}

bool cp_nifti_header_parse(const unsigned char *bytes, size_t size, const char *name, cp_nifti_header *h, cp_status *status) {
    reader r = {.bytes = bytes, .name = name, .status = status};
    double pixdim[1 + CP_NIFTI_FILE_RANK];
    *h = (cp_nifti_header){0};
    if (!find_layout(&r, size)) return false;
    h->version = r.at->version;
    h->big_endian = r.big_endian;
    if (!read_magic(&r, h) || !read_type(&r, h) || !read_dims(&r, h) || !read_offset(&r, h) || !read_scaling(&r, h)) return false;
    reals(&r, r.at->pixdim, 1 + CP_NIFTI_FILE_RANK, pixdim);
    h->handedness = pixdim[0];
    memcpy(h->spacing, pixdim + 1, sizeof h->spacing);
    h->qform_code = (int)whole(&r, r.at->code, r.at->qform_code);
    h->sform_code = (int)whole(&r, r.at->code, r.at->sform_code);
    reals(&r, r.at->quatern_b, 3, h->quatern);
    reals(&r, r.at->qoffset_x, 3, h->qoffset);
    for (size_t i = 0; i < 3; i++) reals(&r, r.at->srow_x + i * 4 * cp_dtype_size(r.at->real), 4, h->sform[i]);
    return true;
}
