/* The zip writer: entries go to the file as they come, their directory follows at the end. */
#include "core/io/crc32.h"
#include "core/io/deflate.h"
#include "core/io/file.h"
#include "core/io/zip.h"
#include "core/io/zip_format.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAME_MAX = 60000, /* the directory has 65535 bytes for it and the numbers of ZIP64 */
    VERSION = 20,     /* of the format, that a reader must know */
    VERSION_WIDE = 45,
    MADE_ON_UNIX = 3 << 8,
    DATE = 1 << 5 | 1,   /* 1980-01-01 */
    PLAIN_FILE = 0x81A4, /* with permissions rw-r--r-- */
};

struct cp_zip_writer {
    cp_file_writer *file;
    uint64_t        size; /* of the file so far */
    uint64_t        count;
    cp_bytes        directory;
    bool            wide;
    cp_status       error;
    char            path[];
};

cp_zip_writer *cp_zip_writer_new(const char *path, cp_status *status) {
    size_t         size = strlen(path) + 1;
    cp_zip_writer *writer = malloc(sizeof *writer + size);
    if (!writer) return cp_null(cp_fail(status, "%.300s: not enough memory to write it", path));
    *writer = (cp_zip_writer){.file = cp_file_writer_new(path, status)};
    memcpy(writer->path, path, size);
    if (writer->file) return writer;
    free(writer);
    return NULL;
}

void cp_zip_writer_wide(cp_zip_writer *writer) {
    if (writer) writer->wide = true;
}

cp_status *cp_zip_writer_error(cp_zip_writer *writer) {
    return &writer->error;
}

static void put(cp_zip_writer *writer, const void *bytes, size_t size) {
    cp_file_writer_append(writer->file, bytes, size);
    writer->size += size;
}

static uint32_t narrow(uint64_t value, bool wide) {
    return wide ? CP_ZIP_WIDE : (uint32_t)value;
}

static uint16_t flags_of(const char *name) {
    for (; *name; name++)
        if ((unsigned char)*name >= 0x80) return CP_ZIP_UTF8;
    return 0;
}

/* Its contents from byte 4 on (version needed to extract) to byte 30 are also those of the directory, two bytes later. */
static void make_local(unsigned char head[CP_ZIP_LOCAL_SIZE], const cp_zip_entry *entry, bool wide) {
    memset(head, 0, CP_ZIP_LOCAL_SIZE);
    cp_put_le32(head, CP_ZIP_LOCAL);
    cp_put_le16(head + 4, wide ? VERSION_WIDE : VERSION);
    cp_put_le16(head + 6, entry->flags);
    cp_put_le16(head + 8, entry->method);
    cp_put_le16(head + 12, DATE);
    cp_put_le32(head + 14, entry->crc);
    cp_put_le32(head + 18, narrow(entry->packed, wide));
    cp_put_le32(head + 22, narrow(entry->size, wide));
    cp_put_le16(head + 26, (uint16_t)strlen(entry->name));
    cp_put_le16(head + 28, wide ? 4 + 2 * 8 : 0);
}

static void put_entry(cp_zip_writer *writer, const cp_zip_entry *entry, const void *packed) {
    unsigned char head[CP_ZIP_LOCAL_SIZE], central[CP_ZIP_CENTRAL_SIZE] = {0}, extra[4 + 3 * 8];
    size_t        length = strlen(entry->name);
    bool          wide_sizes = writer->wide || entry->size >= CP_ZIP_WIDE || entry->packed >= CP_ZIP_WIDE;
    bool          wide = wide_sizes || entry->offset >= CP_ZIP_WIDE; /* then all three numbers are */
    cp_put_le16(extra, CP_ZIP_EXTRA64);
    cp_put_le16(extra + 2, 2 * 8);
    cp_put_le64(extra + 4, entry->size);
    cp_put_le64(extra + 12, entry->packed);
    cp_put_le64(extra + 20, entry->offset);
    make_local(head, entry, wide_sizes);
    put(writer, head, sizeof head);
    put(writer, entry->name, length);
    if (wide_sizes) put(writer, extra, 4 + 2 * 8);
    put(writer, packed, (size_t)entry->packed);

    make_local(head, entry, wide);
    cp_put_le32(central, CP_ZIP_CENTRAL);
    cp_put_le16(central + 4, MADE_ON_UNIX | (wide ? VERSION_WIDE : VERSION));
    memcpy(central + 6, head + 4, sizeof head - 4);
    cp_put_le16(central + 30, wide ? sizeof extra : 0);
    cp_put_le16(central + 40, PLAIN_FILE);
    cp_put_le32(central + 42, narrow(entry->offset, wide));
    cp_put_le16(extra + 2, 3 * 8);
    cp_bytes_append(&writer->directory, central, sizeof central);
    cp_bytes_append(&writer->directory, entry->name, length);
    if (wide) cp_bytes_append(&writer->directory, extra, sizeof extra);
    writer->count++;
}

static bool has_name(const cp_bytes *directory, const char *name) {
    size_t length = strlen(name), known;
    for (size_t at = 0; at < directory->size; at += CP_ZIP_CENTRAL_SIZE + known + cp_get_le16(directory->data + at + 30)) {
        known = cp_get_le16(directory->data + at + 28);
        if (known == length && memcmp(directory->data + at + CP_ZIP_CENTRAL_SIZE, name, length) == 0) return true;
    }
    return false;
}

static bool is_utf8(const char *name, size_t length) {
    for (size_t at = 0, step; at < length; at += step)
        if (!(step = (size_t)cp_utf8_length((const unsigned char *)name + at, length - at))) return false;
    return true;
}

void cp_zip_writer_add(cp_zip_writer *writer, const char *name, const void *contents, size_t size) {
    if (!writer || writer->error.message[0]) return;
    size_t        length = strlen(name);
    cp_shown_text shown = cp_shown(name, length);
    if (length == 0 || length > NAME_MAX || !is_utf8(name, length)) {
        cp_fail(&writer->error, "entry \"%s\": a name of 1 to %d bytes of UTF-8 was expected", shown.text, NAME_MAX);
        return;
    }
    if (has_name(&writer->directory, name)) {
        cp_fail(&writer->error, "entry \"%s\": this name came before; give each entry its own", shown.text);
        return;
    }
    cp_bytes     packed = {0};
    cp_zip_entry entry = {.name = name,
                          .size = size,
                          .packed = size,
                          .offset = writer->size,
                          .crc = cp_crc32(0, contents, size),
                          .method = CP_ZIP_STORED,
                          .flags = flags_of(name)};
    bool         smaller = cp_deflate(contents, size, &packed) && packed.size < size;
    if (smaller) entry.method = CP_ZIP_DEFLATED, entry.packed = packed.size;
    if (packed.failed || !cp_bytes_reserve(&writer->directory, CP_ZIP_CENTRAL_SIZE + length + 4 + 3 * 8))
        cp_fail(&writer->error, "entry \"%s\": not enough memory to compress %zu bytes", shown.text, size);
    else
        put_entry(writer, &entry, smaller ? packed.data : contents);
    cp_bytes_free(&packed);
}

static void put_end(cp_zip_writer *writer) {
    unsigned char wide_end[CP_ZIP_END64_SIZE] = {0}, locator[CP_ZIP_LOCATOR64_SIZE] = {0}, end[CP_ZIP_END_SIZE] = {0};
    uint64_t      offset = writer->size, size = writer->directory.size, count = writer->count;
    bool          wide = writer->wide || count >= 0xFFFF || size >= CP_ZIP_WIDE || offset >= CP_ZIP_WIDE;
    put(writer, writer->directory.data, (size_t)size);
    if (wide) {
        cp_put_le32(wide_end, CP_ZIP_END64);
        cp_put_le64(wide_end + 4, sizeof wide_end - 12);
        cp_put_le16(wide_end + 12, MADE_ON_UNIX | VERSION_WIDE);
        cp_put_le16(wide_end + 14, VERSION_WIDE);
        cp_put_le64(wide_end + 24, count);
        cp_put_le64(wide_end + 32, count);
        cp_put_le64(wide_end + 40, size);
        cp_put_le64(wide_end + 48, offset);
        cp_put_le32(locator, CP_ZIP_LOCATOR64);
        cp_put_le64(locator + 8, writer->size);
        cp_put_le32(locator + 16, 1);
        put(writer, wide_end, sizeof wide_end);
        put(writer, locator, sizeof locator);
    }
    cp_put_le32(end, CP_ZIP_END);
    cp_put_le16(end + 8, wide ? 0xFFFF : (uint16_t)count);
    cp_put_le16(end + 10, wide ? 0xFFFF : (uint16_t)count);
    cp_put_le32(end + 12, narrow(size, wide));
    cp_put_le32(end + 16, narrow(offset, wide));
    put(writer, end, sizeof end);
}

bool cp_zip_writer_commit(cp_zip_writer *writer, cp_status *status) {
    if (!writer) return false;
    bool done = !writer->error.message[0] || cp_fail(status, "%.200s: %s", writer->path, writer->error.message);
    if (done) {
        put_end(writer);
        done = cp_file_writer_commit(writer->file, status);
        writer->file = NULL;
    }
    cp_zip_writer_cancel(writer);
    return done;
}

void cp_zip_writer_cancel(cp_zip_writer *writer) {
    if (!writer) return;
    cp_file_writer_cancel(writer->file);
    cp_bytes_free(&writer->directory);
    free(writer);
}
