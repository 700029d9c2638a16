/* Element types of arrays in files, and arrays of them: between byte orders and into the numbers that the library
 * computes with. Arrays of elements may lie at any address: a file need not align them. */
#ifndef CP_IO_DTYPE_H
#define CP_IO_DTYPE_H

#include "core/error.h"
#include "core/real.h"

/* Ordered by size, and then as safetensors orders them. */
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
const char *cp_dtype_name(cp_dtype dtype);  /* as safetensors has it: "F32" */
const char *cp_dtype_numpy(cp_dtype dtype); /* as numpy has it: "float32" */
bool        cp_dtype_named(const char *name, cp_dtype *dtype);

/* File order to this machine's. `native` may be `bytes` itself or lie before it, overlapping. */
void cp_elements_decode(cp_dtype dtype, bool big_endian, const void *bytes, size_t count, void *native);

/* Hands the little-endian bytes of native elements to `sink`, some at a time. */
typedef void (*cp_bytes_sink)(void *user, const void *bytes, size_t size);
void cp_elements_stream(cp_dtype dtype, const void *native, size_t count, cp_bytes_sink sink, void *user);

/* Native elements of any type as numbers; 64-bit integers are rounded. */
void cp_elements_to_double(cp_dtype dtype, const void *native, size_t count, double *out);

/* The same with a check. A value that the result cannot hold is an error (finite and beyond the
 * range of cp_real; not whole or beyond the range of the integer) that names `what` and the index; rounding to
 * cp_real is not. `what` is the file or tensor. After an error `out` holds the elements before that index. */
bool cp_elements_to_real(cp_dtype dtype, const void *native, size_t count, cp_real *out, const char *what, cp_status *status);
bool cp_elements_to_int32(cp_dtype dtype, const void *native, size_t count, int32_t *out, const char *what, cp_status *status);

/* Half precision. cp_f16_bits is the nearest half, ties to even, of a finite number; beyond the largest half that one. */
uint16_t cp_f16_bits(float value);
float    cp_f16_value(uint16_t bits);

#endif
