/* Contents of gzip files (RFC 1952). */
#ifndef CP_IO_GZIP_H
#define CP_IO_GZIP_H

#include "core/error.h"
#include "core/io/bytes.h"

/* Whether these are the first bytes of a gzip file. */
bool cp_gzip_begins(const void *data, size_t size);

/* Appends to `out` the contents of all members, one after the other, at most `limit` bytes. Checksum and length of every member are
 * checked; only zeros may follow the last one. `out` grows as needed; a caller that knows the length reserves it. After an error `out` has
 * part of the contents. `name` is what messages call the file. */
bool cp_gunzip(const void *data, size_t size, size_t limit, cp_bytes *out, const char *name, cp_status *status);

/* Appends only the start of the contents: `wanted` bytes and up to 64 KiB more, or fewer if the contents are shorter. The rest of the file
 * and the checksums there are not read. */
bool cp_gunzip_start(const void *data, size_t size, size_t wanted, cp_bytes *out, const char *name, cp_status *status);

#endif
