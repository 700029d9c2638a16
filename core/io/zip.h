/* Zip archives: files by name in one file. Read: entries stored or deflated, sizes of any width (ZIP64), data descriptors, a
 * comment at the end. Not supported: encryption, other compression methods and archives in several parts. Inconsistent archives are
 * errors. */
#pragma once

#include "core/error.h"
#include "core/io/bytes.h"

/* ---- the format; numbers are little-endian ---- */

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

    CP_ZIP_EXTRA64 = 1, /* the extra field with the wide numbers */
};
#define CP_ZIP_WIDE 0xFFFFFFFFu /* in a 32-bit field: the number is in the extra field */

/* ---- reading ---- */

typedef struct cp_zip_entry {
    const char *name;   /* as in the file */
    uint64_t    size;   /* of the contents */
    uint64_t    packed; /* bytes of the contents in the archive */
    uint64_t    offset; /* of the local header */
    uint64_t    end;    /* all bytes of the entry are before this offset */
    uint32_t    crc;
    uint16_t    method, flags;
} cp_zip_entry;

typedef struct cp_zip cp_zip;

/* NULL after an error. Opening reads the file and checks that the entries fit into it and do not overlap. Parse is for bytes that
 * the caller keeps until the close; `name` is what messages call them. */
cp_zip *cp_zip_open(const char *path, cp_status *status);
cp_zip *cp_zip_parse(const void *bytes, size_t size, const char *name, cp_status *status);
void    cp_zip_close(cp_zip *zip); /* NULL is allowed */

const char         *cp_zip_path(const cp_zip *zip);
size_t              cp_zip_count(const cp_zip *zip);
const cp_zip_entry *cp_zip_entry_at(const cp_zip *zip, size_t index); /* in the order of their bytes */
const cp_zip_entry *cp_zip_find(const cp_zip *zip, const char *name); /* NULL when it is not there */

/* The contents of an entry into `out`, which must be {0} and is {0} after an error. Their size and checksum
 * are compared with the directory. */
bool cp_zip_read(const cp_zip *zip, const cp_zip_entry *entry, cp_bytes *out, cp_status *status);

/* ---- writing ----
 *
 * Entries are deflated where that is smaller and stored otherwise; the same contents give the same bytes, since all have the
 * date 1980-01-01. Sizes of more than 32 bits make it a ZIP64 archive. The file is written atomically (see cp_file_writer). */
typedef struct cp_zip_writer cp_zip_writer;

/* NULL after an error; the others then do nothing and commit returns false. */
cp_zip_writer *cp_zip_writer_new(const char *path, cp_status *status);
void           cp_zip_writer_wide(cp_zip_writer *writer); /* ZIP64 from here on even if 32 bits are enough, as numpy writes it */
void cp_zip_writer_add(cp_zip_writer *writer, const char *name, const void *contents, size_t size); /* commit reports errors */
cp_status *cp_zip_writer_error(cp_zip_writer *writer); /* for the caller's own errors: commit reports the first */
bool       cp_zip_writer_commit(cp_zip_writer *writer, cp_status *status); /* frees it */
void       cp_zip_writer_cancel(cp_zip_writer *writer);                    /* frees it and leaves no file; NULL is allowed */
