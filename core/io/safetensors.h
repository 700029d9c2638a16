/* safetensors: named arrays in one file, and a map of strings ("metadata"). Layout: the length of a JSON header as a
 * little-endian 64-bit number, the header, the elements of all tensors without gaps.
 *
 * The format has no checksum, so the writer adds one, as metadata: `couplet.format` ("1") and `couplet.crc32`, eight
 * hexadecimal digits: the CRC-32 of the whole file with those digits as "00000000". A file with either key must have
 * both and match; files of other programs have neither and are read unchecked. */
#pragma once

#include "core/io/dtype.h"

enum { CP_ST_RANK = 8 };

/* ---- reading ---- */

typedef struct cp_st_entry {
    const char *name;
    cp_dtype    dtype;
    int         rank;
    int64_t     dims[CP_ST_RANK];
    size_t      count; /* elements */
    size_t      bytes;
    const void *data; /* in this machine's byte order, perhaps not aligned: read it with memcpy or the functions below */
} cp_st_entry;

typedef struct cp_safetensors cp_safetensors;

/* NULL after an error. `name` is what messages call the bytes: a path. Parse copies them. */
cp_safetensors *cp_st_read(const char *path, cp_status *status);
cp_safetensors *cp_st_parse(const void *bytes, size_t size, const char *name, cp_status *status);
void            cp_st_free(cp_safetensors *file); /* NULL is allowed */

size_t             cp_st_count(const cp_safetensors *file);
const cp_st_entry *cp_st_entry_at(const cp_safetensors *file, size_t index);    /* in the order of the file */
const cp_st_entry *cp_st_find(const cp_safetensors *file, const char *name);    /* NULL when missing */
const char        *cp_st_metadata(const cp_safetensors *file, const char *key); /* NULL when missing */

/* The tensor with this name and shape, else NULL and a message with both shapes. */
const cp_st_entry *cp_st_require(const cp_safetensors *file, const char *name, int rank, const int64_t *dims, cp_status *status);

/* The elements, of any type, as entry->count numbers; false if one is out of range (see cp_elements_to_real). */
bool cp_st_to_real(const cp_safetensors *file, const cp_st_entry *entry, cp_real *out, cp_status *status);

/* ---- writing ----
 *
 *     cp_st_writer *w = cp_st_writer_new();
 *     cp_st_writer_metadata(w, "couplet", "{\"model\":\"wrn\"}");
 *     cp_st_writer_add(w, "head.weight", CP_F32, 2, (int64_t[]){10, 64}, weight);
 *     bool saved = cp_st_writer_save(w, "model.safetensors", &status);
 *     cp_st_writer_free(w);
 *
 * save reports errors of the calls before it (a name that appears twice, a lack of memory). Whatever the order of the calls,
 * tensors are stored by element size, largest first, and then by name, which aligns all of them. */
typedef struct cp_st_writer cp_st_writer;

cp_st_writer *cp_st_writer_new(void); /* NULL when out of memory; the others do nothing with NULL and save reports it */
void          cp_st_writer_free(cp_st_writer *writer);
void          cp_st_writer_metadata(cp_st_writer *writer, const char *key, const char *value); /* both copied */

/* `data` is read by save and must live until then; the name and dims are copied. */
void cp_st_writer_add(cp_st_writer *writer, const char *name, cp_dtype dtype, int rank, const int64_t *dims, const void *data);

/* The same with memory that the writer allocates, to be filled before save. NULL after an error. */
void *cp_st_writer_room(cp_st_writer *writer, const char *name, cp_dtype dtype, int rank, const int64_t *dims);

/* Writes the file atomically (see cp_file_writer). Can be called again. */
bool cp_st_writer_save(cp_st_writer *writer, const char *path, cp_status *status);
