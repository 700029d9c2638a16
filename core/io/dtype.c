/* Conversions of arrays of elements. Macros generate a plain loop for each type. */
#include "core/io/dtype.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *numpy;
    size_t      size;
} types[CP_DTYPES] = {
    [CP_BOOL] = {"BOOL", "bool", 1},     [CP_U8] = {"U8", "uint8", 1},     [CP_I8] = {"I8", "int8", 1},
    [CP_I16] = {"I16", "int16", 2},      [CP_U16] = {"U16", "uint16", 2},  [CP_F16] = {"F16", "float16", 2},
    [CP_BF16] = {"BF16", "bfloat16", 2}, [CP_I32] = {"I32", "int32", 4},   [CP_U32] = {"U32", "uint32", 4},
    [CP_F32] = {"F32", "float32", 4},    [CP_F64] = {"F64", "float64", 8}, [CP_I64] = {"I64", "int64", 8},
    [CP_U64] = {"U64", "uint64", 8},
};

size_t      cp_dtype_size(cp_dtype dtype) { return types[dtype].size; }
const char *cp_dtype_name(cp_dtype dtype) { return types[dtype].name; }
const char *cp_dtype_numpy(cp_dtype dtype) { return types[dtype].numpy; }

bool cp_dtype_named(const char *name, cp_dtype *dtype) {
    for (int i = 0; i < CP_DTYPES; i++)
        if (strcmp(types[i].name, name) == 0) {
            *dtype = (cp_dtype)i;
            return true;
        }
    return false;
}

/* Reverses the bytes of each element, in place. */
static void reverse_each(unsigned char *element, size_t count, size_t width) {
    for (; count > 0; count--, element += width)
        for (size_t i = 0, j = width - 1; i < j; i++, j--) {
            unsigned char byte = element[i];
            element[i] = element[j];
            element[j] = byte;
        }
}

static void copy_ordered(cp_dtype dtype, bool big_endian, const void *from, size_t count, void *to) {
    bool   machine_big = *(const unsigned char *)&(uint16_t){1} == 0;
    size_t width = cp_dtype_size(dtype);
    if (count > 0) memmove(to, from, count * width);
    if (width > 1 && big_endian != machine_big) reverse_each(to, count, width);
}

void cp_elements_decode(cp_dtype dtype, bool big_endian, const void *bytes, size_t count, void *native) {
    unsigned char *flags = native;
    copy_ordered(dtype, big_endian, bytes, count, native);
    if (dtype == CP_BOOL) /* a malicious file may contain 2 */
        for (size_t i = 0; i < count; i++) flags[i] = flags[i] != 0;
}

void cp_elements_stream(cp_dtype dtype, const void *native, size_t count, cp_bytes_sink sink, void *user) {
    unsigned char        chunk[1 << 14];
    const unsigned char *from = native;
    size_t               width = cp_dtype_size(dtype);
    while (count > 0) {
        size_t some = count < sizeof chunk / width ? count : sizeof chunk / width;
        copy_ordered(dtype, false, from, some, chunk);
        sink(user, chunk, some * width);
        from += some * width;
        count -= some;
    }
}

float cp_f16_value(uint16_t bits) {
    int   exponent = bits >> 10 & 31, fraction = bits & 1023;
    float size = exponent == 31  ? (fraction ? NAN : INFINITY)
                 : exponent == 0 ? ldexpf((float)fraction, -24)
                                 : ldexpf((float)(fraction + 1024), exponent - 25);
    return bits & 0x8000 ? -size : size;
}

uint16_t cp_f16_bits(float value) {
    const uint32_t largest = 0x7bff, smallest_normal = 0x38800000; /* 65504; 2^-14 as a float */
    uint32_t       bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff, half;
    if (magnitude < smallest_normal) {
        half = (uint32_t)lrintf(fabsf(value) * 0x1p24f);
    } else {
        uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
        half = (rounded - 0x38000000) >> 13;
        if (half > largest) half = largest;
    }
    return (uint16_t)(sign | half);
}

static float bf16_value(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float    value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Converts each element, loaded by memcpy since it may be unaligned, to double. */
#define EACH(T, number)                                                                                                            \
    for (size_t i = 0; i < count; i++) {                                                                                           \
        T value;                                                                                                                   \
        memcpy(&value, from + i * sizeof value, sizeof value);                                                                     \
        out[i] = (double)(number);                                                                                                 \
    }                                                                                                                              \
    break;

void cp_elements_to_double(cp_dtype dtype, const void *native, size_t count, double *out) {
    const unsigned char *from = native;
    switch (dtype) {
    case CP_BOOL:
    case CP_U8: EACH(uint8_t, value)
    case CP_I8: EACH(int8_t, value)
    case CP_U16: EACH(uint16_t, value)
    case CP_I16: EACH(int16_t, value)
    case CP_U32: EACH(uint32_t, value)
    case CP_I32: EACH(int32_t, value)
    case CP_U64: EACH(uint64_t, value)
    case CP_I64: EACH(int64_t, value)
    case CP_F16: EACH(uint16_t, cp_f16_value(value))
    case CP_BF16: EACH(uint16_t, bf16_value(value))
    case CP_F32: EACH(float, value)
    case CP_F64: EACH(double, value)
    case CP_DTYPES: break;
    }
}

/* In pieces, through double, which represents all possible results exactly. */
#define BY_DOUBLE(fits, T, name)                                                                                                   \
    enum { CHUNK = 512 };                                                                                                          \
    double chunk[CHUNK];                                                                                                           \
    for (size_t first = 0; first < count; first += CHUNK) {                                                                        \
        size_t some = count - first < CHUNK ? count - first : CHUNK;                                                               \
        cp_elements_to_double(dtype, (const unsigned char *)native + first * cp_dtype_size(dtype), some, chunk);                   \
        for (size_t i = 0; i < some; i++) {                                                                                        \
            double value = chunk[i];                                                                                               \
            if (!(fits))                                                                                                           \
                return cp_fail(status, "%.300s: element %zu is %.17g, which does not fit into %s", what, first + i, value, name);  \
            out[first + i] = (T)value;                                                                                             \
        }                                                                                                                          \
    }                                                                                                                              \
    return true;

bool cp_elements_to_real(cp_dtype dtype, const void *native, size_t count, cp_real *out, const char *what, cp_status *status) {
    BY_DOUBLE(!isfinite(value) || fabs(value) <= (double)CP_REAL_MAX, cp_real, CP_REAL_NAME)
}

bool cp_elements_to_int32(cp_dtype dtype, const void *native, size_t count, int32_t *out, const char *what, cp_status *status) {
    BY_DOUBLE(value >= INT32_MIN && value <= INT32_MAX && value == floor(value), int32_t, "a 32-bit integer")
}
