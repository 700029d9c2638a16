/* The zip reader. The directory at the end of the file tells where everything is; nothing in it is trusted before it was
 * compared with the size of the file. */
#include "core/io/zip.h"
#include "core/io/crc32.h"
#include "core/io/file.h"
#include "core/io/inflate.h"
#include "core/io/zip_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMENT_MAX = 65535 };

struct cp_zip {
    cp_source           *source;
    const char          *path;
    cp_zip_entry        *entries; /* in the order of their bytes */
    const cp_zip_entry **by_name;
    size_t               count;
    char                *names;
};

typedef unsigned long long number; /* for messages */

static cp_shown_text shown(const cp_zip_entry *entry) {
    return cp_shown(entry->name, strlen(entry->name));
}

/* ---- the end of the file ---- */

typedef struct directory {
    uint64_t offset, size, count;
    uint64_t end; /* where it ends: the place of the record that follows it */
} directory;

/* The narrow field where it has room for the number; else the wide one, and where both are there they agree. */
static bool choose(uint64_t narrow, uint64_t marker, uint64_t wide, uint64_t *out) {
    *out = wide;
    return narrow == marker || narrow == wide;
}

static bool fail_parts(const cp_zip *zip, cp_status *status) {
    return cp_fail(status, "%.200s: this is one part of an archive in several; join them into one file", zip->path);
}

/* The records of ZIP64 lie right before the end record at `place`. */
static bool read_end64(const cp_zip *zip, uint64_t place, const unsigned char *end, directory *d, cp_status *status) {
    unsigned char locator[CP_ZIP_LOCATOR64_SIZE], wide[CP_ZIP_END64_SIZE];
    if (place < sizeof locator + sizeof wide) return true;
    if (!cp_source_read(zip->source, place - sizeof locator, locator, sizeof locator, status)) return false;
    if (cp_get_le32(locator) != CP_ZIP_LOCATOR64) return true;
    uint64_t at = cp_get_le64(locator + 8), max = place - sizeof locator - sizeof wide;
    if (cp_get_le32(locator + 4) != 0 || cp_get_le32(locator + 16) > 1) return fail_parts(zip, status);
    if (at > max)
        return cp_damaged(status, "%.200s: byte %llu: the ZIP64 end record should be at byte %llu, behind its locator", zip->path,
                          (number)(place - sizeof locator + 8), (number)at);
    if (!cp_source_read(zip->source, at, wide, sizeof wide, status)) return false;
    if (cp_get_le32(wide) != CP_ZIP_END64 || cp_get_le64(wide + 4) != max - at + sizeof wide - 12)
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

/* The end record is followed by a comment that goes exactly to the end of the file. */
static const unsigned char *find_end(const unsigned char *tail, size_t size) {
    for (size_t at = size - CP_ZIP_END_SIZE + 1; at-- > 0;)
        if (cp_get_le32(tail + at) == CP_ZIP_END && at + CP_ZIP_END_SIZE + cp_get_le16(tail + at + 20) == size) return tail + at;
    return NULL;
}

static bool read_end(const cp_zip *zip, directory *d, cp_status *status) {
    uint64_t size = cp_source_size(zip->source);
    size_t   searched = size < CP_ZIP_END_SIZE + COMMENT_MAX ? (size_t)size : CP_ZIP_END_SIZE + COMMENT_MAX;
    if (searched < CP_ZIP_END_SIZE)
        return cp_damaged(status, "%.200s: the file has %llu bytes, a zip archive (.npz) at least 22; it is truncated", zip->path,
                          (number)size);
    unsigned char *tail = malloc(searched);
    if (!tail) return cp_fail(status, "%.200s: not enough memory to read it", zip->path);
    bool                 done = cp_source_read(zip->source, size - searched, tail, searched, status);
    const unsigned char *end = done ? find_end(tail, searched) : NULL;
    if (done && !end)
        done = cp_damaged(status, "%.200s: this is not a zip archive (.npz), or a truncated one: it does not end in an end record",
                          zip->path);
    if (done && (cp_get_le16(end + 4) != 0 || cp_get_le16(end + 6) != 0 || cp_get_le16(end + 8) != cp_get_le16(end + 10)))
        done = fail_parts(zip, status);
    if (done) {
        uint64_t place = size - searched + (uint64_t)(end - tail);
        *d = (directory){cp_get_le32(end + 16), cp_get_le32(end + 12), cp_get_le16(end + 10), place};
        done = read_end64(zip, place, end, d, status);
    }
    free(tail);
    if (!done) return false;
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

/* Numbers that are marked as wide come from the extra field, in this order; false when they are not there. */
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

/* One record of the directory of which `left` bytes are there; its size into *taken, its name to `name`. */
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

static int compare_places(const void *a, const void *b) {
    const cp_zip_entry *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const cp_zip_entry *const *)a)->name, (*(const cp_zip_entry *const *)b)->name);
}

/* Each entry, its header included, ends before the next one begins, and the last before the directory. */
static bool check_places(cp_zip *zip, uint64_t directory_offset, cp_status *status) {
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
    if (zip->count > 1) qsort(zip->entries, zip->count, sizeof *zip->entries, compare_places);
    for (size_t i = 0; i < zip->count; i++) zip->by_name[i] = &zip->entries[i];
    if (zip->count > 1) qsort(zip->by_name, zip->count, sizeof *zip->by_name, compare_names);
    for (size_t i = 1; i < zip->count; i++)
        if (strcmp(zip->by_name[i - 1]->name, zip->by_name[i]->name) == 0)
            return fail_entry(zip, zip->by_name[i], status, "there are two entries of that name");
    return true;
}

static bool read_directory(cp_zip *zip, cp_status *status) {
    directory d = {0};
    if (!read_end(zip, &d, status)) return false;
    size_t         size = (size_t)d.size, count = (size_t)d.count;
    unsigned char *bytes = NULL;
    if (d.size <= PTRDIFF_MAX / 4) { /* a directory of n bytes has fewer than n / 46 entries and n bytes of names */
        bytes = malloc(size + 1);
        zip->names = malloc(size + 1);
        zip->entries = malloc((count + 1) * sizeof *zip->entries);
        zip->by_name = malloc((count + 1) * sizeof *zip->by_name);
    }
    bool done = (bytes && zip->names && zip->entries && zip->by_name) ||
                cp_fail(status, "%.200s: not enough memory for a directory of %zu entries", zip->path, count);
    done = done && cp_source_read(zip->source, d.offset, bytes, size, status) && parse_directory(zip, bytes, size, count, status) &&
           check_places(zip, d.offset, status);
    free(bytes);
    return done;
}

/* ---- opening ---- */

static cp_zip *zip_from(cp_source *source, cp_status *status) {
    cp_zip *zip = source ? malloc(sizeof *zip) : NULL;
    if (!zip) {
        if (source) cp_fail(status, "%.200s: not enough memory to read it", cp_source_name(source));
        cp_source_close(source);
        return NULL;
    }
    *zip = (cp_zip){.source = source, .path = cp_source_name(source)};
    if (read_directory(zip, status)) return zip;
    cp_zip_close(zip);
    return NULL;
}

cp_zip *cp_zip_open(const char *path, cp_status *status) {
    return zip_from(cp_source_open(path, status), status);
}

cp_zip *cp_zip_parse(const void *bytes, size_t size, const char *name, cp_status *status) {
    return zip_from(cp_source_memory(bytes, size, name, status), status);
}

void cp_zip_close(cp_zip *zip) {
    if (!zip) return;
    cp_source_close(zip->source);
    free(zip->entries);
    free(zip->by_name);
    free(zip->names);
    free(zip);
}

const char *cp_zip_path(const cp_zip *zip) {
    return zip->path;
}

size_t cp_zip_count(const cp_zip *zip) {
    return zip->count;
}

const cp_zip_entry *cp_zip_entry_at(const cp_zip *zip, size_t index) {
    return &zip->entries[index];
}

const cp_zip_entry *cp_zip_find(const cp_zip *zip, const char *name) {
    const cp_zip_entry *const *found = bsearch(&(const cp_zip_entry *){&(cp_zip_entry){.name = name}}, zip->by_name, zip->count,
                                               sizeof *zip->by_name, compare_names);
    return found ? *found : NULL;
}

/* ---- the contents ---- */

/* What can be told from the directory alone, before memory is taken. */
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

/* The local header says the same as the directory, except what it leaves to the descriptor behind the data; the data begin
 * behind it, at *data. */
static bool check_local(const cp_zip *zip, const cp_zip_entry *entry, uint64_t *data, cp_status *status) {
    unsigned char head[CP_ZIP_LOCAL_SIZE], *rest;
    if (!cp_source_read(zip->source, entry->offset, head, sizeof head, status)) return false;
    size_t   length = cp_get_le16(head + 26), extra = cp_get_le16(head + 28);
    uint64_t size = cp_get_le32(head + 22), packed = cp_get_le32(head + 18);
    *data = entry->offset + sizeof head + length + extra;
    if (cp_get_le32(head) != CP_ZIP_LOCAL) return fail_entry(zip, entry, status, "there is no local header");
    if (*data > entry->end || entry->packed > entry->end - *data)
        return fail_entry(zip, entry, status, "its data reach into what follows");
    rest = malloc(length + extra + 1);
    if (!rest) return cp_fail(status, "%.200s: not enough memory to read it", zip->path);
    bool            done = cp_source_read(zip->source, entry->offset + sizeof head, rest, length + extra, status);
    uint64_t *const numbers[] = {&size, &packed};
    if (done && (length != strlen(entry->name) || memcmp(rest, entry->name, length) != 0))
        done = fail_entry(zip, entry, status, "its local header has another name than the directory");
    else if (done && !(entry->flags & CP_ZIP_DESCRIPTOR) &&
             (!widen(rest + length, extra, numbers, 2) || size != entry->size || packed != entry->packed ||
              cp_get_le32(head + 14) != entry->crc))
        done = fail_entry(zip, entry, status, "its local header has other sizes or another checksum than the directory");
    else if (done && (cp_get_le16(head + 8) != entry->method ||
                      (cp_get_le16(head + 6) ^ entry->flags) & (CP_ZIP_ENCRYPTED | CP_ZIP_DESCRIPTOR)))
        done = fail_entry(zip, entry, status, "its local header has another method or other flags than the directory");
    free(rest);
    return done;
}

static bool inflate_entry(const cp_zip *zip, const cp_zip_entry *entry, uint64_t data, cp_bytes *out, cp_status *status) {
    cp_bytes packed = {0};
    char     what[320];
    size_t   used = 0;
    snprintf(what, sizeof what, "%.200s: entry \"%s\"", zip->path, shown(entry).text);
    if (!cp_bytes_reserve(&packed, (size_t)entry->packed))
        return cp_fail(status, "%s: not enough memory for its %llu bytes", what, (number)entry->packed);
    bool done = cp_source_read(zip->source, data, packed.data, (size_t)entry->packed, status) &&
                cp_inflate(packed.data, (size_t)entry->packed, (size_t)entry->size, out, &used, what, status);
    cp_bytes_free(&packed);
    if (done && (used != entry->packed || out->size != entry->size))
        done = fail_entry(zip, entry, status, "its compressed data end before they have the declared sizes");
    return done;
}

static bool read_entry(const cp_zip *zip, const cp_zip_entry *entry, cp_bytes *out, cp_status *status) {
    uint64_t data;
    if (!check_entry(zip, entry, status) || !check_local(zip, entry, &data, status)) return false;
    if (entry->size > PTRDIFF_MAX || entry->packed > PTRDIFF_MAX || !cp_bytes_reserve(out, (size_t)entry->size))
        return cp_fail(status, "%.200s: entry \"%s\": not enough memory for its %llu bytes", zip->path, shown(entry).text,
                       (number)entry->size);
    if (entry->method == CP_ZIP_DEFLATED) {
        if (!inflate_entry(zip, entry, data, out, status)) return false;
    } else {
        if (!cp_source_read(zip->source, data, out->data, (size_t)entry->size, status)) return false;
        out->size = (size_t)entry->size;
    }
    return cp_crc32(0, out->data, out->size) == entry->crc ||
           fail_entry(zip, entry, status, "its contents do not have the declared checksum");
}

bool cp_zip_read(const cp_zip *zip, const cp_zip_entry *entry, cp_bytes *out, cp_status *status) {
    *out = (cp_bytes){0};
    if (read_entry(zip, entry, out, status)) return true;
    cp_bytes_free(out);
    return false;
}
