/* Element types of arrays in files, and conversions of arrays: of byte order, and to the types that the library computes
 * with. Arrays need not be aligned, since they may be in files. */
#pragma once

#include "core/error.h"
#include "core/real.h"

/* By size, then in the order of safetensors. */
typedef enum cp_dtype {
    CP_BOOL, /* one byte, 0 or 1 */
    CP_U8,
    CP_I8,
    CP_I16,
    CP_U16,
    CP_F16,
    CP_BF16, /* the upper half of an F32 */
    CP_I32,
    CP_U32,
    CP_F32,
    CP_F64,
    CP_I64,
    CP_U64,
    CP_DTYPES
} cp_dtype;

#if CP_DOUBLE
#define CP_REAL_DTYPE CP_F64
#else
#define CP_REAL_DTYPE CP_F32
#endif

size_t      cp_dtype_size(cp_dtype dtype);  /* bytes */
const char *cp_dtype_name(cp_dtype dtype);  /* in safetensors: "F32" */
const char *cp_dtype_numpy(cp_dtype dtype); /* in numpy: "float32" */
bool        cp_dtype_named(const char *name, cp_dtype *dtype);

/* From the byte order of a file to that of this machine. `native` may be `bytes` or start before it and overlap. */
void cp_elements_decode(cp_dtype dtype, bool big_endian, const void *bytes, size_t count, void *native);

/* Passes the little-endian bytes of native elements to `sink`, in pieces. */
typedef void (*cp_bytes_sink)(void *user, const void *bytes, size_t size);
void cp_elements_stream(cp_dtype dtype, const void *native, size_t count, cp_bytes_sink sink, void *user);

/* Native elements of any type as numbers; 64-bit integers are rounded. */
void cp_elements_to_double(cp_dtype dtype, const void *native, size_t count, double *out);

/* The same with a check: a value that the result cannot hold (finite and out of the range of cp_real; not whole or out of
 * the range of the integer) is an error that names `what`, the file or tensor, and the index. Rounding to cp_real is not an
 * error. After an error `out` has the elements before that index. */
bool cp_elements_to_real(cp_dtype dtype, const void *native, size_t count, cp_real *out, const char *what, cp_status *status);
bool cp_elements_to_int32(cp_dtype dtype, const void *native, size_t count, int32_t *out, const char *what, cp_status *status);

/* Half precision. cp_f16_bits rounds a finite number to the nearest half, ties to even, and clamps it to the largest. */
uint16_t cp_f16_bits(float value);
float    cp_f16_value(uint16_t bits);
