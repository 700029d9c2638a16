/* Contents of gzip files (RFC 1952). */
#ifndef CP_IO_GZIP_H
#define CP_IO_GZIP_H

#include "core/error.h"
#include "core/io/bytes.h"

/* Whether these are the first bytes of such a file. */
bool cp_gzip_begins(const void *data, size_t size);

/* Appends to `out` the contents of all members, one after the other, at most `limit` bytes. Checksum and length of every member are
 * compared; zeros may follow the last one, as on tapes, and nothing else. `out` grows as needed; a caller that knows the length
 * reserves it. After an error `out` holds some of the contents. `name` is what messages call the file. */
bool cp_gunzip(const void *data, size_t size, size_t limit, cp_bytes *out, const char *name, cp_status *status);

/* Appends the beginning of the contents only: `wanted` bytes and up to 64 KiB more, fewer than wanted when there are no more. What comes
 * later in the file is not looked at, and so no checksum is compared that lies there. */
bool cp_gunzip_start(const void *data, size_t size, size_t wanted, cp_bytes *out, const char *name, cp_status *status);

#endif
