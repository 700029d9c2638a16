/* Whole files: read up to a limit, and written atomically: a reader sees the old contents or the new ones. */
#pragma once

#include "core/error.h"
#include "core/io/bytes.h"

/* Reads all of `path` into `out`, which must be {0} and is {0} after an error. A file of more than `limit` bytes is an
 * error before memory is allocated for it. Only regular files are read, so a FIFO or device cannot block the program. Pipes
 * are read (up to 1 GiB) when the path names one as shells do: /dev/stdin, /dev/fd/N, /proc/self/fd/N. A missing file gives CP_STATUS_MISSING. */
bool cp_file_read(const char *path, size_t limit, cp_bytes *out, cp_status *status);

/* The same for a file in an untrusted folder: a slash in `name` and symbolic links are errors, so nothing outside the folder
 * is read. (The folder itself may be a link.) */
bool cp_file_read_inside(const char *folder, const char *name, size_t limit, cp_bytes *out, cp_status *status);

/* Writes a file under a temporary name in the same folder; commit flushes it to disk and renames it, which replaces an older
 * file atomically and keeps its permissions. Until then, and after any error, the older file is unchanged. A symbolic link is
 * replaced by the file. If the path is not a regular file (a pipe, /dev/stdout), it is written directly. Temporary files of
 * the same path from killed processes are removed first. */
typedef struct cp_file_writer cp_file_writer;

cp_file_writer *cp_file_writer_new(const char *path, cp_status *status);
void            cp_file_writer_append(cp_file_writer *writer, const void *data, size_t size); /* commit reports errors */
bool            cp_file_writer_commit(cp_file_writer *writer, cp_status *status);             /* always frees the writer */
void            cp_file_writer_cancel(cp_file_writer *writer); /* frees it and removes the temporary file; NULL is allowed */

/* Whether a writer could begin: reports before long work what would fail after it. */
bool cp_file_writable(const char *path, cp_status *status);

/* All three steps. */
bool cp_file_write(const char *path, const void *data, size_t size, cp_status *status);

bool cp_file_copy(const char *from, const char *to, cp_status *status); /* the contents, by cp_file_read and cp_file_write */

bool cp_path_ends_in(const char *path, const char *ending); /* with something before the ending */
