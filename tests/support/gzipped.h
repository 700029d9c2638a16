/* Makes members of gzip files. */
#ifndef CP_TESTS_GZIPPED_H
#define CP_TESTS_GZIPPED_H

#include "core/io/deflate.h"

/* Appends a member with these contents; false if out of memory. */
static inline bool gzip_append(cp_bytes *out, const void *data, size_t size) {
    unsigned char trailer[8];
    cp_put_le32(trailer, cp_crc32(0, data, size));
    cp_put_le32(trailer + 4, (uint32_t)size);
    return cp_bytes_append(out, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10) && cp_deflate(data, size, out) &&
           cp_bytes_append(out, trailer, sizeof trailer);
}

#endif
