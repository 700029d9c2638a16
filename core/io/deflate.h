/* Deflate streams (RFC 1951), as zip, gzip and PNG contain them, gzip files (RFC 1952), and the checksums of these formats. */
#pragma once

#include "core/error.h"
#include "core/io/bytes.h"

/* Appends a deflate stream of `data`: LZ77 with the fixed code, or stored where that is smaller. false when out of memory (see cp_bytes).
 * The same input gives the same bytes. */
bool cp_deflate(const void *data, size_t size, cp_bytes *out);

/* The same with the header and trailer of zlib (RFC 1950). */
bool cp_zlib_compress(const void *data, size_t size, cp_bytes *out);

/* No stream expands to more than this many times its size: two bits give at most 258 bytes. */
enum { CP_INFLATE_RATIO = 1032 };

/* Appends to `out` the contents of the stream at `data`, at most `limit` bytes, and sets *used to the number of its bytes, of the `size`
 * available: the caller reads what follows, such as gzip's checksum. `out` grows as needed; a caller that knows the length reserves it.
 * After an error `out` holds part of the contents. `name` is what messages call the stream. */
bool cp_inflate(const void *data, size_t size, size_t limit, cp_bytes *out, size_t *used, const char *name, cp_status *status);

/* Appends to `out` the contents of a zlib stream (RFC 1950), which must have `wanted` bytes; their checksum is checked. */
bool cp_zlib_expand(const void *data, size_t size, size_t wanted, cp_bytes *out, const char *name, cp_status *status);

/* Whether these are the first bytes of a gzip file. */
bool cp_gzip_begins(const void *data, size_t size);

/* Appends to `out` the contents of all members, one after the other, at most `limit` bytes. Checksum and length of every member are
 * checked; only zeros may follow the last one. `out` grows as needed; a caller that knows the length reserves it. After an error `out` has
 * part of the contents. `name` is what messages call the file. */
bool cp_gunzip(const void *data, size_t size, size_t limit, cp_bytes *out, const char *name, cp_status *status);

/* Appends only the start of the contents: `wanted` bytes and up to 64 KiB more, or fewer if the contents are shorter. The rest of the file
 * and the checksums there are not read. */
bool cp_gunzip_start(const void *data, size_t size, size_t wanted, cp_bytes *out, const char *name, cp_status *status);

/* CRC-32 (polynomial 0xEDB88320, reflected) and Adler-32 of the bytes that gave `crc` (0 for none) or `adler` (1 for none), followed by
 * `data`. */
uint32_t cp_crc32(uint32_t crc, const void *data, size_t size);
uint32_t cp_adler32(uint32_t adler, const void *data, size_t size);
