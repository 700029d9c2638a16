/* Compression (RFC 1951): LZ77 with the fixed code, or stored where that is smaller. */
#ifndef CP_IO_DEFLATE_H
#define CP_IO_DEFLATE_H

#include "core/io/bytes.h"

/* Appends a deflate stream of `data`; false when out of memory (see cp_bytes). The same input gives the same bytes. */
bool cp_deflate(const void *data, size_t size, cp_bytes *out);

/* The same with the frame of zlib (RFC 1950) around it. */
bool cp_zlib_compress(const void *data, size_t size, cp_bytes *out);

/* Adler-32 of what gave `adler` so far (1 for nothing yet) followed by `data`. */
uint32_t cp_adler32(uint32_t adler, const void *data, size_t size);

#endif
