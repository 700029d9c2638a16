/* What the safetensors reader and writer must agree on. */
#ifndef CP_IO_SAFETENSORS_FORMAT_H
#define CP_IO_SAFETENSORS_FORMAT_H

enum {
    CP_ST_LENGTH = 8,                       /* bytes of the header length */
    CP_ST_HEADER_LIMIT = 100 * 1000 * 1000, /* as the reference implementation has it */
    CP_ST_CRC_DIGITS = 8,
};

#define CP_ST_METADATA "__metadata__"
#define CP_ST_FORMAT_KEY "couplet.format"
#define CP_ST_FORMAT "1"
#define CP_ST_CRC_KEY "couplet.crc32"
#define CP_ST_CRC_EMPTY "00000000"

#endif
