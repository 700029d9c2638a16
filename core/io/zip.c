/* Zip archives. The reader compares every number of the directory at the end of the file with the file's size before it uses it. The writer
 * puts entries into the file as they come and the directory behind them. All numbers are little-endian. */
#include "core/io/zip.h"
#include "core/io/deflate.h"
#include "core/io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMENT_MAX = 65535 };

struct cp_zip {
    cp_bytes             file; /* {0}: the caller keeps the bytes */
    const unsigned char *bytes;
    size_t               size;
    cp_zip_entry        *entries; /* in the order of their bytes */
    const cp_zip_entry **by_name;
    size_t               count;
    char                *names;
    char                 path[];
};

typedef unsigned long long number; /* for messages */

static cp_shown_text shown(const cp_zip_entry *entry) { return cp_shown(entry->name, strlen(entry->name)); }

/* ---- the end of the file ---- */

typedef struct directory {
    uint64_t offset, size, count;
    uint64_t end; /* where it ends: the offset of the record that follows it */
} directory;

/* The number is in the narrow field or, if that has the marker, in the wide one; when both are present they must agree. */
static bool choose(uint64_t narrow, uint64_t marker, uint64_t wide, uint64_t *out) {
    *out = wide;
    return narrow == marker || narrow == wide;
}

static bool fail_parts(const cp_zip *zip, cp_status *status) {
    return cp_fail(status, "%.200s: this is one part of an archive in several; join them into one file", zip->path);
}

/* The ZIP64 records are right before the end record. */
static bool read_end64(const cp_zip *zip, const unsigned char *end, directory *d, cp_status *status) {
    const unsigned char *locator = end - CP_ZIP_LOCATOR64_SIZE;
    if (d->end < CP_ZIP_LOCATOR64_SIZE + CP_ZIP_END64_SIZE || cp_get_le32(locator) != CP_ZIP_LOCATOR64) return true;
    uint64_t at = cp_get_le64(locator + 8), max = d->end - CP_ZIP_LOCATOR64_SIZE - CP_ZIP_END64_SIZE;
    if (cp_get_le32(locator + 4) != 0 || cp_get_le32(locator + 16) > 1) return fail_parts(zip, status);
    if (at > max)
        return cp_damaged(status, "%.200s: byte %llu: the ZIP64 end record should be at byte %llu, behind its locator", zip->path,
                          (number)(locator + 8 - zip->bytes), (number)at);
    const unsigned char *wide = zip->bytes + at;
    if (cp_get_le32(wide) != CP_ZIP_END64 || cp_get_le64(wide + 4) != max - at + CP_ZIP_END64_SIZE - 12)
        return cp_damaged(status, "%.200s: byte %llu: there is no ZIP64 end record of the right size; the file is damaged",
                          zip->path, (number)at);
    if (cp_get_le32(wide + 16) != 0 || cp_get_le32(wide + 20) != 0 || cp_get_le64(wide + 24) != cp_get_le64(wide + 32))
        return fail_parts(zip, status);
    d->end = at;
    return (choose(cp_get_le16(end + 10), 0xFFFF, cp_get_le64(wide + 32), &d->count) &&
            choose(cp_get_le32(end + 12), CP_ZIP_WIDE, cp_get_le64(wide + 40), &d->size) &&
            choose(cp_get_le32(end + 16), CP_ZIP_WIDE, cp_get_le64(wide + 48), &d->offset)) ||
           cp_damaged(status, "%.200s: byte %llu: the end record and that of ZIP64 disagree; the file is damaged", zip->path,
                      (number)at);
}

/* The end record is followed by a comment that fills the rest of the file. */
static const unsigned char *find_end(const cp_zip *zip) {
    for (size_t size = CP_ZIP_END_SIZE; size <= zip->size && size <= CP_ZIP_END_SIZE + COMMENT_MAX; size++) {
        const unsigned char *end = zip->bytes + zip->size - size;
        if (cp_get_le32(end) == CP_ZIP_END && cp_get_le16(end + 20) == size - CP_ZIP_END_SIZE) return end;
    }
    return NULL;
}

static bool read_end(const cp_zip *zip, directory *d, cp_status *status) {
    if (zip->size < CP_ZIP_END_SIZE)
        return cp_damaged(status, "%.200s: the file has %zu bytes, a zip archive (.npz) at least 22; it is truncated", zip->path,
                          zip->size);
    const unsigned char *end = find_end(zip);
    if (!end)
        return cp_damaged(status, "%.200s: this is not a zip archive (.npz), or a truncated one: it does not end in an end record",
                          zip->path);
    if (cp_get_le16(end + 4) != 0 || cp_get_le16(end + 6) != 0 || cp_get_le16(end + 8) != cp_get_le16(end + 10))
        return fail_parts(zip, status);
    *d = (directory){cp_get_le32(end + 16), cp_get_le32(end + 12), cp_get_le16(end + 10), (uint64_t)(end - zip->bytes)};
    if (!read_end64(zip, end, d, status)) return false;
    if (d->offset > d->end || d->size != d->end - d->offset)
        return cp_damaged(status,
                          "%.200s: a directory of %llu bytes at byte %llu was declared, it should end at byte %llu; the file is "
                          "damaged or has other bytes before the archive",
                          zip->path, (number)d->size, (number)d->offset, (number)d->end);
    return d->count <= d->size / CP_ZIP_CENTRAL_SIZE ||
           cp_damaged(status, "%.200s: %llu entries were declared, the directory of %llu bytes has no room for them", zip->path,
                      (number)d->count, (number)d->size);
}

/* ---- the directory ---- */

static bool fail_entry(const cp_zip *zip, const cp_zip_entry *entry, cp_status *status, const char *problem) {
    return cp_damaged(status, "%.200s: entry \"%s\" at byte %llu: %s; the file is damaged", zip->path, shown(entry).text,
                      (number)entry->offset, problem);
}

/* Takes wide numbers from the extra field, in this order; false when they are missing. */
static bool widen(const unsigned char *extra, size_t size, uint64_t *const numbers[], size_t count) {
    const unsigned char *wide = NULL;
    size_t               left = 0;
    while (size >= 4) {
        size_t length = cp_get_le16(extra + 2);
        if (length > size - 4) break;
        if (cp_get_le16(extra) == CP_ZIP_EXTRA64) wide = extra + 4, left = length;
        extra += 4 + length;
        size -= 4 + length;
    }
    for (size_t i = 0; i < count; i++) {
        if (*numbers[i] != CP_ZIP_WIDE) continue;
        if (left < 8) return false;
        *numbers[i] = cp_get_le64(wide);
        wide += 8, left -= 8;
    }
    return true;
}

/* Parses one record of the directory, of which `left` bytes remain; its size into *taken, its name to `name`. */
static bool parse_entry(const cp_zip *zip, const unsigned char *record, size_t left, char *name, cp_zip_entry *entry, size_t *taken,
                        cp_status *status) {
    size_t length = left < CP_ZIP_CENTRAL_SIZE ? 0 : cp_get_le16(record + 28);
    size_t extra = left < CP_ZIP_CENTRAL_SIZE ? 0 : cp_get_le16(record + 30);
    *taken = CP_ZIP_CENTRAL_SIZE + length + extra;
    if (left >= CP_ZIP_CENTRAL_SIZE) *taken += cp_get_le16(record + 32);
    if (*taken > left || cp_get_le32(record) != CP_ZIP_CENTRAL)
        return cp_damaged(status, "%.200s: entry %zu of the directory is cut off or not an entry; the file is damaged", zip->path,
                          zip->count);
    memcpy(name, record + CP_ZIP_CENTRAL_SIZE, length);
    name[length] = '\0';
    *entry = (cp_zip_entry){
        .name = name,
        .size = cp_get_le32(record + 24),
        .packed = cp_get_le32(record + 20),
        .offset = cp_get_le32(record + 42),
        .crc = cp_get_le32(record + 16),
        .method = cp_get_le16(record + 10),
        .flags = cp_get_le16(record + 8),
    };
    uint64_t *const numbers[] = {&entry->size, &entry->packed, &entry->offset};
    if (!widen(record + CP_ZIP_CENTRAL_SIZE + length, extra, numbers, 3))
        return fail_entry(zip, entry, status, "sizes beyond 32 bits were declared and are missing");
    if (cp_get_le16(record + 34) != 0 && cp_get_le16(record + 34) != 0xFFFF) return fail_parts(zip, status);
    return strlen(name) == length || fail_entry(zip, entry, status, "its name contains a NUL");
}

static int compare_offsets(const void *a, const void *b) {
    const cp_zip_entry *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const cp_zip_entry *const *)a)->name, (*(const cp_zip_entry *const *)b)->name);
}

/* Each entry, its header included, ends before the next one begins, and the last before the directory. */
static bool check_offsets(cp_zip *zip, uint64_t directory_offset, cp_status *status) {
    for (size_t i = 0; i < zip->count; i++) {
        cp_zip_entry *entry = &zip->entries[i];
        entry->end = i + 1 < zip->count ? entry[1].offset : directory_offset;
        uint64_t header = CP_ZIP_LOCAL_SIZE + strlen(entry->name);
        if (entry->offset > directory_offset || header > directory_offset - entry->offset ||
            entry->packed > directory_offset - entry->offset - header)
            return fail_entry(zip, entry, status, "it does not fit in front of the directory");
        if (header + entry->packed > entry->end - entry->offset)
            return fail_entry(zip, entry, status, "the next entry overlaps it");
    }
    return true;
}

static bool parse_directory(cp_zip *zip, const unsigned char *bytes, size_t size, size_t count, cp_status *status) {
    char  *name = zip->names;
    size_t at = 0, taken;
    for (; zip->count < count; zip->count++, at += taken) {
        if (!parse_entry(zip, bytes + at, size - at, name, &zip->entries[zip->count], &taken, status)) return false;
        name += strlen(name) + 1;
    }
    if (at != size)
        return cp_damaged(status, "%.200s: %zu bytes follow the last entry of the directory; the file is damaged", zip->path,
                          size - at);
    if (zip->count > 1) qsort(zip->entries, zip->count, sizeof *zip->entries, compare_offsets);
    for (size_t i = 0; i < zip->count; i++) zip->by_name[i] = &zip->entries[i];
    if (zip->count > 1) qsort(zip->by_name, zip->count, sizeof *zip->by_name, compare_names);
    for (size_t i = 1; i < zip->count; i++)
        if (strcmp(zip->by_name[i - 1]->name, zip->by_name[i]->name) == 0)
            return fail_entry(zip, zip->by_name[i], status, "another entry has the same name");
    return true;
}

static bool read_directory(cp_zip *zip, cp_status *status) {
    directory d = {0};
    if (!read_end(zip, &d, status)) return false;
    size_t size = (size_t)d.size, count = (size_t)d.count;
    zip->names = malloc(size + 1); /* a directory of n bytes has fewer than n bytes of names */
    zip->entries = calloc(count + 1, sizeof *zip->entries);
    zip->by_name = calloc(count + 1, sizeof *zip->by_name);
    if (!zip->names || !zip->entries || !zip->by_name)
        return cp_fail(status, "%.200s: not enough memory for a directory of %zu entries", zip->path, count);
    return parse_directory(zip, zip->bytes + d.offset, size, count, status) && check_offsets(zip, d.offset, status);
}

/* ---- opening ---- */

/* Owns the file, if there is one. */
static cp_zip *zip_new(cp_bytes file, const void *bytes, size_t size, const char *name, cp_status *status) {
    size_t  name_size = strlen(name) + 1;
    cp_zip *zip = malloc(sizeof *zip + name_size);
    if (!zip) {
        cp_bytes_free(&file);
        return cp_null(cp_fail(status, "%.200s: not enough memory to read it", name));
    }
    *zip = (cp_zip){.file = file, .bytes = bytes, .size = size};
    memcpy(zip->path, name, name_size);
    if (read_directory(zip, status)) return zip;
    cp_zip_close(zip);
    return NULL;
}

cp_zip *cp_zip_open(const char *path, cp_status *status) {
    cp_bytes file;
    return cp_file_read(path, PTRDIFF_MAX, &file, status) ? zip_new(file, file.data, file.size, path, status) : NULL;
}

cp_zip *cp_zip_parse(const void *bytes, size_t size, const char *name, cp_status *status) {
    cp_status_begin(status);
    return zip_new((cp_bytes){0}, bytes, size, name, status);
}

void cp_zip_close(cp_zip *zip) {
    if (!zip) return;
    cp_bytes_free(&zip->file);
    free(zip->entries);
    free(zip->by_name);
    free(zip->names);
    free(zip);
}

const char         *cp_zip_path(const cp_zip *zip) { return zip->path; }
size_t              cp_zip_count(const cp_zip *zip) { return zip->count; }
const cp_zip_entry *cp_zip_entry_at(const cp_zip *zip, size_t index) { return &zip->entries[index]; }

const cp_zip_entry *cp_zip_find(const cp_zip *zip, const char *name) {
    const cp_zip_entry *const *found = bsearch(&(const cp_zip_entry *){&(cp_zip_entry){.name = name}}, zip->by_name, zip->count,
                                               sizeof *zip->by_name, compare_names);
    return found ? *found : NULL;
}

/* ---- the contents ---- */

/* Checks against the directory alone, before memory is allocated. */
static bool check_entry(const cp_zip *zip, const cp_zip_entry *entry, cp_status *status) {
    if (entry->flags & (CP_ZIP_ENCRYPTED | CP_ZIP_STRONG | CP_ZIP_MASKED))
        return cp_fail(status, "%.200s: entry \"%s\" is encrypted; decrypt the archive first", zip->path, shown(entry).text);
    if (entry->method != CP_ZIP_STORED && entry->method != CP_ZIP_DEFLATED)
        return cp_fail(status,
                       "%.200s: entry \"%s\" is compressed by method %d; stored (0) and deflated (8) can be read: save it again "
                       "with numpy.savez or numpy.savez_compressed",
                       zip->path, shown(entry).text, entry->method);
    if (entry->method == CP_ZIP_STORED ? entry->size != entry->packed : entry->size / CP_INFLATE_RATIO > entry->packed)
        return cp_damaged(status, "%.200s: entry \"%s\": %llu bytes cannot hold the %llu declared; the file is damaged", zip->path,
                          shown(entry).text, (number)entry->packed, (number)entry->size);
    return true;
}

/* The local header must agree with the directory, except for numbers that are in the descriptor after the data. *data gets the offset of
 * the data. */
static bool check_local(const cp_zip *zip, const cp_zip_entry *entry, uint64_t *data, cp_status *status) {
    const unsigned char *head = zip->bytes + entry->offset, *name = head + CP_ZIP_LOCAL_SIZE;
    size_t               length = cp_get_le16(head + 26), extra = cp_get_le16(head + 28);
    uint64_t             size = cp_get_le32(head + 22), packed = cp_get_le32(head + 18);
    uint64_t *const      numbers[] = {&size, &packed};
    *data = entry->offset + CP_ZIP_LOCAL_SIZE + length + extra;
    if (cp_get_le32(head) != CP_ZIP_LOCAL) return fail_entry(zip, entry, status, "there is no local header");
    if (*data > entry->end || entry->packed > entry->end - *data)
        return fail_entry(zip, entry, status, "its data reach into what follows");
    if (length != strlen(entry->name) || memcmp(name, entry->name, length) != 0)
        return fail_entry(zip, entry, status, "its local header has another name than the directory");
    if (!(entry->flags & CP_ZIP_DESCRIPTOR) && (!widen(name + length, extra, numbers, 2) || size != entry->size ||
                                                packed != entry->packed || cp_get_le32(head + 14) != entry->crc))
        return fail_entry(zip, entry, status, "its local header has other sizes or another checksum than the directory");
    return (cp_get_le16(head + 8) == entry->method &&
            !((cp_get_le16(head + 6) ^ entry->flags) & (CP_ZIP_ENCRYPTED | CP_ZIP_DESCRIPTOR))) ||
           fail_entry(zip, entry, status, "its local header has another method or other flags than the directory");
}

static bool read_entry(const cp_zip *zip, const cp_zip_entry *entry, cp_bytes *out, cp_status *status) {
    uint64_t data;
    size_t   packed = (size_t)entry->packed, used = packed;
    char     what[320];
    if (!check_entry(zip, entry, status) || !check_local(zip, entry, &data, status)) return false;
    snprintf(what, sizeof what, "%.200s: entry \"%s\"", zip->path, shown(entry).text);
    if (entry->size > PTRDIFF_MAX || !cp_bytes_reserve(out, (size_t)entry->size))
        return cp_fail(status, "%s: not enough memory for its %llu bytes", what, (number)entry->size);
    if (entry->method == CP_ZIP_STORED)
        cp_bytes_append(out, zip->bytes + data, packed);
    else if (!cp_inflate(zip->bytes + data, packed, (size_t)entry->size, out, &used, what, status))
        return false;
    if (used != packed || out->size != entry->size)
        return fail_entry(zip, entry, status, "its compressed data end before they have the declared sizes");
    return cp_crc32(0, out->data, out->size) == entry->crc ||
           fail_entry(zip, entry, status, "its contents do not have the declared checksum");
}

bool cp_zip_read(const cp_zip *zip, const cp_zip_entry *entry, cp_bytes *out, cp_status *status) {
    cp_status_begin(status);
    *out = (cp_bytes){0};
    if (read_entry(zip, entry, out, status)) return true;
    cp_bytes_free(out);
    return false;
}

/* ---- writing ---- */

enum {
    NAME_MAX = 60000, /* with the ZIP64 numbers below the 65535 bytes of the directory's field */
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

cp_status *cp_zip_writer_error(cp_zip_writer *writer) { return &writer->error; }

static void put(cp_zip_writer *writer, const void *bytes, size_t size) {
    cp_file_writer_append(writer->file, bytes, size);
    writer->size += size;
}

static uint32_t narrow(uint64_t value, bool wide) { return wide ? CP_ZIP_WIDE : (uint32_t)value; }

/* Bytes 4 to 29 are the same in the directory's record, two bytes later. */
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

/* Whether the name is UTF-8. Sets *ascii. */
static bool is_utf8(const char *name, size_t length, bool *ascii) {
    *ascii = true;
    for (size_t at = 0, step; at < length; at += step) {
        if (!(step = (size_t)cp_utf8_length((const unsigned char *)name + at, length - at))) return false;
        *ascii &= step == 1;
    }
    return true;
}

void cp_zip_writer_add(cp_zip_writer *writer, const char *name, const void *contents, size_t size) {
    if (!writer || writer->error.message[0]) return;
    bool          ascii;
    size_t        length = strlen(name);
    cp_shown_text shown = cp_shown(name, length);
    if (length == 0 || length > NAME_MAX || !is_utf8(name, length, &ascii)) {
        cp_fail(&writer->error, "entry \"%s\": a name of 1 to %d bytes of UTF-8 was expected", shown.text, NAME_MAX);
        return;
    }
    if (has_name(&writer->directory, name)) {
        cp_fail(&writer->error, "entry \"%s\": the name appears twice; give each entry its own", shown.text);
        return;
    }
    cp_bytes     packed = {0};
    cp_zip_entry entry = {.name = name,
                          .size = size,
                          .packed = size,
                          .offset = writer->size,
                          .crc = cp_crc32(0, contents, size),
                          .method = CP_ZIP_STORED,
                          .flags = ascii ? 0 : CP_ZIP_UTF8};
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
