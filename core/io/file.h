/* Whole files: read within a limit, written so that a reader sees the old bytes or the new ones and nothing between. */
#ifndef CP_IO_FILE_H
#define CP_IO_FILE_H

#include "core/error.h"
#include "core/io/bytes.h"

/* Reads all of `path` into `out`, which must be {0} and is {0} after an error. A file of more than `limit` bytes is
 * refused before memory is taken for it. Only regular files are read, so nothing waits for a FIFO or a device that never
 * ends. Pipes are read (up to 1 GiB) when the path asks for one, as shells write them: /dev/stdin, /dev/fd/N,
 * /proc/self/fd/N. A missing file gives CP_STATUS_MISSING. */
bool cp_file_read(const char *path, size_t limit, cp_bytes *out, cp_status *status);

/* The same for a file in a folder that came from somebody else: `name` may not contain a slash, and symbolic links are
 * refused, so nothing outside the folder is read. (The folder itself may be a link.) */
bool cp_file_read_inside(const char *folder, const char *name, size_t limit, cp_bytes *out, cp_status *status);

/* Bytes to be read at any offset: those of a file, which stays on the disk (a pipe is read whole first), or memory that the
 * caller keeps until the close and that messages call `name`. Opens what cp_file_read does. NULL after an error. */
typedef struct cp_source cp_source;

cp_source  *cp_source_open(const char *path, cp_status *status);
cp_source  *cp_source_memory(const void *bytes, size_t size, const char *name, cp_status *status);
uint64_t    cp_source_size(const cp_source *source);
const char *cp_source_name(const cp_source *source);
void        cp_source_close(cp_source *source); /* NULL is allowed */

/* `size` bytes from `offset` on, which must lie within the source. */
bool cp_source_read(const cp_source *source, uint64_t offset, void *out, size_t size, cp_status *status);

/* Writes a file under a temporary name in the same folder; commit flushes it to the disk and gives it its name, and
 * so replaces an older file (whose permissions it takes on) in one step. Until then, and after any error, the older
 * file is as it was. A symbolic link is replaced by the file. What is not a regular file (a pipe, /dev/stdout) is
 * written to directly. What writers that were killed have left of the same file is removed first. */
typedef struct cp_file_writer cp_file_writer;

cp_file_writer *cp_file_writer_new(const char *path, cp_status *status);
void            cp_file_writer_append(cp_file_writer *writer, const void *data, size_t size); /* errors wait for the commit */
bool            cp_file_writer_commit(cp_file_writer *writer, cp_status *status);             /* frees the writer, always */
void            cp_file_writer_cancel(cp_file_writer *writer); /* frees it and leaves no trace; NULL is allowed */

/* The three in one. */
bool cp_file_write(const char *path, const void *data, size_t size, cp_status *status);

bool cp_file_copy(const char *from, const char *to, cp_status *status); /* the contents, by cp_file_read and cp_file_write */

#endif
