/* CRC-32 as zip, gzip, PNG and zlib have it (polynomial 0xEDB88320, reflected). */
#ifndef CP_IO_CRC32_H
#define CP_IO_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what gave `crc` so far (0 for nothing yet) followed by `data`. */
uint32_t cp_crc32(uint32_t crc, const void *data, size_t size);

#endif
