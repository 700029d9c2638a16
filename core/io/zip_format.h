/* What the reader and the writer of zip archives share. All numbers are little-endian. */
#ifndef CP_IO_ZIP_FORMAT_H
#define CP_IO_ZIP_FORMAT_H

/* The first four bytes of each record, and its size without the parts of varying length. */
#define CP_ZIP_LOCAL 0x04034b50u
#define CP_ZIP_CENTRAL 0x02014b50u
#define CP_ZIP_END 0x06054b50u
#define CP_ZIP_END64 0x06064b50u
#define CP_ZIP_LOCATOR64 0x07064b50u

enum {
    CP_ZIP_LOCAL_SIZE = 30,
    CP_ZIP_CENTRAL_SIZE = 46,
    CP_ZIP_END_SIZE = 22,
    CP_ZIP_END64_SIZE = 56,
    CP_ZIP_LOCATOR64_SIZE = 20,

    CP_ZIP_STORED = 0,
    CP_ZIP_DEFLATED = 8,

    CP_ZIP_ENCRYPTED = 1 << 0, /* flags */
    CP_ZIP_DESCRIPTOR = 1 << 3,
    CP_ZIP_STRONG = 1 << 6,
    CP_ZIP_UTF8 = 1 << 11,
    CP_ZIP_MASKED = 1 << 13,

    CP_ZIP_EXTRA64 = 1, /* the extra field with the numbers that are */
};
#define CP_ZIP_WIDE 0xFFFFFFFFu /* in their own place */

#endif
