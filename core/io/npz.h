/* numpy's .npz: arrays by name, a zip archive of .npy files.
 *
 *     cp_npz *npz = cp_npz_open("set.npz", &status);
 *     cp_npy  images;
 *     if (npz && cp_npz_read(npz, "train_images", &images, &status)) ...
 *     cp_npz_close(npz);
 *
 * Reads files of numpy.savez and numpy.savez_compressed: arrays as cp_npy_read supports them, stored or deflated (see zip.h). Opening
 * reads the file; arrays are unpacked one by one. */
#pragma once

#include "core/io/json.h"
#include "core/io/npy.h"

typedef struct cp_npz cp_npz;

/* NULL after an error. Parse is for bytes that the caller keeps until the close; `name` is what messages call them. */
cp_npz *cp_npz_open(const char *path, cp_status *status);
cp_npz *cp_npz_parse(const void *bytes, size_t size, const char *name, cp_status *status);
void    cp_npz_close(cp_npz *npz); /* NULL is allowed */

/* The names of the arrays, in the order of the file and without ".npy"; other files in the archive are ignored. The
 * names come from outside: print them with cp_shown. */
size_t      cp_npz_count(const cp_npz *npz);
const char *cp_npz_name(const cp_npz *npz, size_t index);
bool        cp_npz_has(const cp_npz *npz, const char *name);

/* Fills `npy` (free it with cp_npy_free), or leaves it {0} with a message: the array is missing or damaged. */
bool cp_npz_read(const cp_npz *npz, const char *name, cp_npy *npy, cp_status *status);
bool cp_npz_read_any(const cp_npz *npz, const char *name, cp_npy *npy, cp_status *status); /* the same; text is allowed */

/* ---- writing ----
 *
 *     cp_npz_writer *w = cp_npz_writer_new("set.npz", &status);
 *     cp_npz_writer_add(w, "test_labels", CP_U8, 2, (int64_t[]){100, 1}, labels);
 *     bool saved = cp_npz_writer_commit(w, &status);
 *
 * Each array is compressed where that makes it smaller. The same arrays give the same bytes. commit writes the file
 * atomically and reports all errors: a name that appears twice, a type that numpy does not have, a full disk. */
typedef struct cp_zip_writer cp_npz_writer;

cp_npz_writer *cp_npz_writer_new(const char *path, cp_status *status); /* NULL after an error; commit then returns false */
void cp_npz_writer_add(cp_npz_writer *writer, const char *name, cp_dtype dtype, int rank, const int64_t *dims, const void *data);
void cp_npz_writer_add_npy(cp_npz_writer *writer, const char *name, const cp_npy *npy);
void cp_npz_writer_add_json(cp_npz_writer *writer, const char *name, cp_json_writer *json); /* its text as bytes; frees json */
void cp_npz_writer_add_texts(cp_npz_writer *writer, const char *name, size_t count, const char *const *texts);
bool cp_npz_writer_commit(cp_npz_writer *writer, cp_status *status); /* frees the writer */
void cp_npz_writer_cancel(cp_npz_writer *writer);                    /* frees it and leaves no file; NULL is allowed */
