/* Zip archives: files by name in one file. Read: entries stored or deflated, sizes of any width (ZIP64), data descriptors, a
 * comment at the end. Refused: encryption, other methods of compression, archives in several parts, and archives that do not
 * agree with themselves. */
#ifndef CP_IO_ZIP_H
#define CP_IO_ZIP_H

#include "core/error.h"
#include "core/io/bytes.h"

typedef struct cp_zip_entry {
    const char *name;   /* as in the file */
    uint64_t    size;   /* of the contents */
    uint64_t    packed; /* bytes that they take in the archive */
    uint64_t    offset; /* of the local header */
    uint64_t    end;    /* no byte of it lies here or behind */
    uint32_t    crc;
    uint16_t    method, flags;
} cp_zip_entry;

typedef struct cp_zip cp_zip;

/* NULL after an error. Opening reads the directory and checks that the entries have room in the file, side by side; the
 * contents stay there. Parse is for bytes that the caller keeps until the close; `name` is what messages call them. */
cp_zip *cp_zip_open(const char *path, cp_status *status);
cp_zip *cp_zip_parse(const void *bytes, size_t size, const char *name, cp_status *status);
void    cp_zip_close(cp_zip *zip); /* NULL is allowed */

const char         *cp_zip_path(const cp_zip *zip);
size_t              cp_zip_count(const cp_zip *zip);
const cp_zip_entry *cp_zip_entry_at(const cp_zip *zip, size_t index); /* in the order of their bytes */
const cp_zip_entry *cp_zip_find(const cp_zip *zip, const char *name); /* NULL when it is not there */

/* The contents of an entry into `out`, which must be {0} and is {0} after an error. They have the size and the checksum that
 * the directory tells. */
bool cp_zip_read(const cp_zip *zip, const cp_zip_entry *entry, cp_bytes *out, cp_status *status);

/* ---- writing ----
 *
 * Entries are deflated where that is smaller and stored otherwise; the same contents give the same bytes, since all have the
 * date 1980-01-01. Sizes of more than 32 bits make it a ZIP64 archive. The file appears in one step (see cp_file_writer). */
typedef struct cp_zip_writer cp_zip_writer;

/* NULL after an error; the others then do nothing and commit returns false. */
cp_zip_writer *cp_zip_writer_new(const char *path, cp_status *status);
void           cp_zip_writer_wide(cp_zip_writer *writer); /* ZIP64 from here on even where 32 bits would do, as numpy has it */
void           cp_zip_writer_add(cp_zip_writer *writer, const char *name, const void *contents, size_t size); /* errors wait */
cp_status     *cp_zip_writer_error(cp_zip_writer *writer);                     /* for a caller's own: commit tells the first */
bool           cp_zip_writer_commit(cp_zip_writer *writer, cp_status *status); /* frees it */
void           cp_zip_writer_cancel(cp_zip_writer *writer);                    /* frees it and leaves no file; NULL is allowed */

#endif
