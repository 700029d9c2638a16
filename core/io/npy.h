/* numpy's .npy: one array per file.
 *
 * Reading supports versions 1.0, 2.0 and 3.0, both byte orders, b1 u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8, up to five axes, and C and Fortran
 * order; elements are returned in C order and this machine's byte order. Files are written in version 1.0, little-endian, with the header
 * padded to 64 bytes like numpy's. */
#pragma once

#include "core/io/bytes.h"
#include "core/io/dtype.h"

enum { CP_NPY_RANK = 5 };

typedef struct cp_npy {
    cp_dtype dtype;
    int      rank; /* 0: a single number */
    int64_t  dims[CP_NPY_RANK];
    size_t   size; /* number of elements */
    void    *data; /* owned; aligned like malloc's memory; never NULL after a successful read */
    bool     text; /* the elements are the characters of texts, U32 or U8: the last axis is that of the characters */
} cp_npy;

/* All fill `npy` (free it with cp_npy_free), or leave it {0} with a message. */
bool cp_npy_read(const char *path, cp_npy *npy, cp_status *status);
bool cp_npy_parse(const void *bytes, size_t size, const char *name, cp_npy *npy, cp_status *status); /* copies */
bool cp_npy_take(cp_bytes bytes, const char *name, cp_npy *npy, cp_status *status); /* takes ownership of the bytes */
void cp_npy_free(cp_npy *npy);                                                      /* resets it to {0} */

/* The elements as a new array (free it) of at least one element, or NULL: see cp_elements_to_real for values out of range. */
cp_real *cp_npy_to_real(const cp_npy *npy, const char *name, cp_status *status);
int32_t *cp_npy_to_int32(const cp_npy *npy, const char *name, cp_status *status);

/* The same for arrays of numbers or of text, numpy's types U and S, of shape (N) or (N, 1); the functions above refuse text. */
bool cp_npy_take_any(cp_bytes bytes, const char *name, cp_npy *npy, cp_status *status);

/* The texts of such an array, as UTF-8 without the zeros at the end of each. False for numbers. */
typedef struct cp_texts {
    size_t count;
    char **at; /* owned, with the texts; NULL after an error */
} cp_texts;
bool cp_npy_to_texts(const cp_npy *npy, const char *name, cp_texts *texts, cp_status *status);
void cp_texts_free(cp_texts *texts); /* resets it to {0} */

/* An array of the caller's elements. */
cp_npy cp_npy_of(cp_dtype dtype, int rank, const int64_t *dims, const void *data);

/* Writes the file atomically (see cp_file_writer). */
bool cp_npy_write(const char *path, cp_dtype dtype, int rank, const int64_t *dims, const void *data, cp_status *status);

/* Appends the bytes of that file to `out`; `name` is what messages call it. The second is for text, as type U. */
bool cp_npy_append(cp_bytes *out, const cp_npy *npy, const char *name, cp_status *status);
bool cp_npy_append_texts(cp_bytes *out, size_t count, const char *const *texts, const char *name, cp_status *status);
