/* Decompression of deflate streams (RFC 1951: stored, fixed and dynamic blocks), as zip and gzip have them. */
#ifndef CP_IO_INFLATE_H
#define CP_IO_INFLATE_H

#include "core/error.h"
#include "core/io/bytes.h"

/* No stream becomes longer than this many times its size: two bits give at most 258 bytes. */
enum { CP_INFLATE_RATIO = 1032 };

/* Appends to `out` the contents of the stream that begins at `data`, at most `limit` bytes, and says in *used how many bytes
 * the stream took of the `size` given: what follows it is the caller's, such as gzip's checksum and the next member. `out`
 * grows as needed; a caller that knows the length reserves it. After an error `out` holds some of the contents. `name` is
 * what messages call the stream. */
bool cp_inflate(const void *data, size_t size, size_t limit, cp_bytes *out, size_t *used, const char *name, cp_status *status);

#endif
