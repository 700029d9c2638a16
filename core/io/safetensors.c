/* safetensors. The reader checks every offset, shape and name of the header before it uses them. The writer makes two passes over the
 * tensors: one for the checksum in the header, one to write them. */
#include "core/io/safetensors.h"
#include "core/io/deflate.h"
#include "core/io/file.h"
#include "core/io/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_SIZE = 8,                  /* bytes of the header length */
    HEADER_LIMIT = 100 * 1000 * 1000, /* as in the reference implementation */
    CRC_DIGITS = 8,
};

#define METADATA "__metadata__"
#define FORMAT_KEY "couplet.format"
#define FORMAT "1"
#define CRC_KEY "couplet.crc32"
#define CRC_EMPTY "00000000"

struct cp_safetensors {
    cp_bytes       bytes;
    unsigned char *data; /* the elements, after the header */
    size_t         size; /* of the elements */
    cp_json       *header;
    const cp_json *metadata; /* NULL: none */
    cp_st_entry   *entries;  /* in the order of their bytes */
    size_t         count;
    char           name[]; /* for messages */
};

/* The name of a tensor in messages. */
static cp_shown_text shown(const char *name) { return cp_shown(name, strlen(name)); }

static bool fail_tensor(cp_status *status, const cp_safetensors *file, const cp_json *node, const char *problem) {
    return cp_damaged(status, "%.200s: byte %zu: tensor \"%s\": %s", file->name, node->offset + LENGTH_SIZE, shown(node->key).text,
                      problem);
}

/* ---- the header ---- */

static bool header_size(const cp_safetensors *file, size_t *size, cp_status *status) {
    const unsigned char *bytes = file->bytes.data;
    if (file->bytes.size < LENGTH_SIZE)
        return cp_damaged(status, "%.200s: the file has %zu bytes, a safetensors file at least 8; it is truncated", file->name,
                          file->bytes.size);
    uint64_t length = cp_get_le64(bytes), swapped = cp_get_be64(bytes), room = file->bytes.size - LENGTH_SIZE;
    if (length > room && swapped <= room && swapped > 1)
        return cp_damaged(status, "%.200s: byte 0: the header length is big-endian; safetensors is little-endian: convert the file",
                          file->name);
    if (length > HEADER_LIMIT)
        return cp_damaged(
            status,
            "%.200s: byte 0: a header of %llu bytes; at most %d are allowed: this is not a safetensors file, or a damaged one",
            file->name, (unsigned long long)length, HEADER_LIMIT);
    if (length > room)
        return cp_damaged(status, "%.200s: byte 0: a header of %llu bytes, but only %llu follow; the file is truncated or damaged",
                          file->name, (unsigned long long)length, (unsigned long long)room);
    *size = (size_t)length;
    return true;
}

static bool parse_header(cp_safetensors *file, size_t size, cp_status *status) {
    const char *text = (const char *)file->bytes.data + LENGTH_SIZE;
    if (size == 0 || text[0] != '{')
        return cp_damaged(
            status, "%.200s: byte 8: a header that begins with '{' was expected; this is not a safetensors file, or a damaged one",
            file->name);
    char what[240];
    snprintf(what, sizeof what, "%.200s: header (from byte 8)", file->name);
    file->header = cp_json_parse(text, size, what, status);
    if (!file->header) return false;
    file->metadata = cp_json_get(file->header, METADATA);
    if (!file->metadata) return true;
    if (file->metadata->kind != CP_JSON_OBJECT)
        return cp_damaged(status, "%.200s: header: __metadata__ must be an object of strings", file->name);
    for (const cp_json *value = file->metadata->first; value; value = value->next)
        if (value->kind != CP_JSON_STRING)
            return cp_damaged(status, "%.200s: byte %zu: metadata \"%s\" must be a string", file->name, value->offset + LENGTH_SIZE,
                              shown(value->key).text);
    return true;
}

/* The checksum counts its own digits as zeros. */
static bool check_sum(const cp_safetensors *file, cp_status *status) {
    const cp_json *format = cp_json_get(file->metadata, FORMAT_KEY), *sum = cp_json_get(file->metadata, CRC_KEY);
    if (!format && !sum) return true;
    if (!format || !sum)
        return cp_damaged(status, "%.200s: header: metadata has \"%s\" without \"%s\"; the file is damaged", file->name,
                          format ? FORMAT_KEY : CRC_KEY, format ? CRC_KEY : FORMAT_KEY);
    const unsigned char *bytes = file->bytes.data;
    size_t               start = LENGTH_SIZE + sum->offset + 1, end = start + CRC_DIGITS;
    if (strlen(sum->text) != CRC_DIGITS || memcmp(bytes + start, sum->text, CRC_DIGITS) != 0)
        return cp_damaged(status, "%.200s: byte %zu: metadata \"" CRC_KEY "\" must be %d plain digits; the file is damaged",
                          file->name, start, CRC_DIGITS);
    uint32_t crc = cp_crc32(0, bytes, start);
    crc = cp_crc32(crc, CRC_EMPTY, CRC_DIGITS);
    crc = cp_crc32(crc, bytes + end, file->bytes.size - end);
    char digits[CRC_DIGITS + 1];
    snprintf(digits, sizeof digits, "%08x", (unsigned)crc);
    if (strcmp(digits, sum->text) != 0)
        return cp_damaged(
            status,
            "%.200s: the checksum is %s, metadata \"" CRC_KEY
            "\" says %s: the file is damaged. Take another copy; if it was changed on purpose, remove the metadata " CRC_KEY
            " and " FORMAT_KEY,
            file->name, digits, shown(sum->text).text);
    return strcmp(format->text, FORMAT) == 0 ||
           cp_fail(status, "%.200s: written in format %s, this program knows format " FORMAT "; use a newer one", file->name,
                   shown(format->text).text);
}

/* ---- the tensors ---- */

/* A whole number written with digits only. */
static bool whole(const cp_json *node, int64_t *out) {
    *out = cp_json_integer(node, -1);
    return *out >= 0 && strspn(node->text, "0123456789") == strlen(node->text);
}

static bool parse_shape(const cp_safetensors *file, const cp_json *node, cp_st_entry *entry, cp_status *status) {
    const cp_json *shape = cp_json_get(node, "shape");
    if (!shape || shape->kind != CP_JSON_ARRAY)
        return fail_tensor(status, file, node, "the field shape, an array of numbers, is missing");
    if (shape->count > CP_ST_RANK) return fail_tensor(status, file, node, "it has more than 8 axes");
    for (const cp_json *dim = shape->first; dim; dim = dim->next)
        if (!whole(dim, &entry->dims[entry->rank++]))
            return fail_tensor(status, file, node, "shape must hold whole numbers, none negative");
    return cp_shape_count(entry->rank, entry->dims, cp_dtype_size(entry->dtype), &entry->count) ||
           fail_tensor(status, file, node, "its shape is larger than memory can be");
}

static bool parse_offsets(const cp_safetensors *file, const cp_json *node, cp_st_entry *entry, cp_status *status) {
    const cp_json *offsets = cp_json_get(node, "data_offsets");
    int64_t        begin = 0, end = 0;
    if (!offsets || offsets->kind != CP_JSON_ARRAY || offsets->count != 2 || !whole(cp_json_at(offsets, 0), &begin) ||
        !whole(cp_json_at(offsets, 1), &end) || begin > end)
        return fail_tensor(status, file, node, "the field data_offsets, of two rising numbers, is missing");
    char problem[200];
    if ((uint64_t)end > file->size) {
        snprintf(problem, sizeof problem,
                 "its data end at byte %lld of the elements, there are %zu; the file is truncated or damaged", (long long)end,
                 file->size);
        return fail_tensor(status, file, node, problem);
    }
    entry->data = file->data + begin;
    entry->bytes = (size_t)(end - begin);
    if (entry->bytes == entry->count * cp_dtype_size(entry->dtype)) return true;
    snprintf(problem, sizeof problem, "shape %s of %s needs %zu bytes, data_offsets give %zu; the file is damaged",
             cp_shown_shape(entry->rank, entry->dims).text, cp_dtype_name(entry->dtype), entry->count * cp_dtype_size(entry->dtype),
             entry->bytes);
    return fail_tensor(status, file, node, problem);
}

static bool parse_entry(const cp_safetensors *file, const cp_json *node, cp_st_entry *entry, cp_status *status) {
    *entry = (cp_st_entry){.name = node->key};
    const char *type = cp_json_string(cp_json_get(node, "dtype"), NULL);
    if (!type) return fail_tensor(status, file, node, "an object with the fields dtype, shape and data_offsets was expected");
    if (!cp_dtype_named(type, &entry->dtype)) {
        char problem[200];
        snprintf(problem, sizeof problem, "elements of type %s cannot be read; convert them to F32, F64, I64 or U8",
                 shown(type).text);
        return fail_tensor(status, file, node, problem);
    }
    return parse_shape(file, node, entry, status) && parse_offsets(file, node, entry, status);
}

static int compare_offsets(const void *a, const void *b) {
    const cp_st_entry *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1) : strcmp(x->name, y->name);
}

/* Entries in the order of their bytes must follow each other exactly, from the first byte to the last. Converts their elements. */
static bool check_offsets(const cp_safetensors *file, cp_status *status) {
    size_t next = 0;
    for (size_t i = 0; i < file->count; i++) {
        const cp_st_entry *entry = &file->entries[i];
        size_t             begin = (size_t)((const unsigned char *)entry->data - file->data);
        if (begin != next)
            return cp_damaged(
                status,
                "%.200s: tensor \"%s\" begins at byte %zu of the elements, %zu was expected: there is %s; the file is damaged",
                file->name, shown(entry->name).text, begin, next, begin > next ? "a gap" : "an overlap");
        cp_elements_decode(entry->dtype, false, entry->data, entry->count, file->data + begin);
        next += entry->bytes;
    }
    return next == file->size ||
           cp_damaged(status, "%.200s: %zu bytes follow the last tensor; the file is damaged", file->name, file->size - next);
}

static bool parse_entries(cp_safetensors *file, cp_status *status) {
    size_t room = file->header->count + 1;
    file->entries = calloc(room, sizeof *file->entries);
    if (!file->entries) return cp_fail(status, "%.200s: not enough memory for %zu tensors", file->name, room);
    for (const cp_json *node = file->header->first; node; node = node->next) {
        if (node == file->metadata) continue;
        if (!parse_entry(file, node, &file->entries[file->count], status)) return false;
        file->count++;
    }
    qsort(file->entries, file->count, sizeof *file->entries, compare_offsets);
    return check_offsets(file, status);
}

static bool parse_file(cp_safetensors *file, cp_status *status) {
    size_t header = 0;
    if (!header_size(file, &header, status) || !parse_header(file, header, status) || !check_sum(file, status)) return false;
    file->data = file->bytes.data + LENGTH_SIZE + header;
    file->size = file->bytes.size - LENGTH_SIZE - header;
    return parse_entries(file, status);
}

/* Takes ownership of the bytes. */
static cp_safetensors *file_new(cp_bytes bytes, const char *name, cp_status *status) {
    size_t          size = strlen(name) + 1;
    cp_safetensors *file = calloc(1, sizeof *file + size);
    if (!file) {
        cp_bytes_free(&bytes);
        return cp_null(cp_fail(status, "%.200s: not enough memory to read it", name));
    }
    memcpy(file->name, name, size);
    file->bytes = bytes;
    if (parse_file(file, status)) return file;
    cp_st_free(file);
    return NULL;
}

cp_safetensors *cp_st_read(const char *path, cp_status *status) {
    cp_bytes bytes;
    return cp_file_read(path, PTRDIFF_MAX, &bytes, status) ? file_new(bytes, path, status) : NULL;
}

cp_safetensors *cp_st_parse(const void *data, size_t size, const char *name, cp_status *status) {
    cp_status_begin(status);
    cp_bytes bytes = {0};
    if (cp_bytes_append(&bytes, data, size)) return file_new(bytes, name, status);
    return cp_null(cp_fail(status, "%.200s: not enough memory for %zu bytes", name, size));
}

void cp_st_free(cp_safetensors *file) {
    if (!file) return;
    cp_json_free(file->header);
    cp_bytes_free(&file->bytes);
    free(file->entries);
    free(file);
}

/* ---- access ---- */

size_t cp_st_count(const cp_safetensors *file) { return file->count; }

const cp_st_entry *cp_st_entry_at(const cp_safetensors *file, size_t index) {
    return index < file->count ? &file->entries[index] : NULL;
}

const cp_st_entry *cp_st_find(const cp_safetensors *file, const char *name) {
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->entries[i].name, name) == 0) return &file->entries[i];
    return NULL;
}

const char *cp_st_metadata(const cp_safetensors *file, const char *key) {
    return cp_json_string(cp_json_get(file->metadata, key), NULL);
}

const cp_st_entry *cp_st_require(const cp_safetensors *file, const char *name, int rank, const int64_t *dims, cp_status *status) {
    const cp_st_entry *entry = cp_st_find(file, name);
    if (!entry)
        return cp_null(cp_fail(status, "%.200s: the tensor \"%s\" is missing; was the file saved by the same kind of model?",
                               file->name, shown(name).text));
    bool same = entry->rank == rank;
    for (int i = 0; same && i < rank; i++) same = entry->dims[i] == dims[i];
    if (same) return entry;
    return cp_null(cp_fail(status, "%.200s: tensor \"%s\" has shape %s, %s was expected", file->name, shown(name).text,
                           cp_shown_shape(entry->rank, entry->dims).text, cp_shown_shape(rank, dims).text));
}

bool cp_st_to_real(const cp_safetensors *file, const cp_st_entry *entry, cp_real *out, cp_status *status) {
    char what[320];
    snprintf(what, sizeof what, "%.200s: tensor \"%s\"", file->name, shown(entry->name).text);
    return cp_elements_to_real(entry->dtype, entry->data, entry->count, out, what, status);
}

/* ---- writing ---- */

/* A tensor, or a string of the metadata. */
typedef struct item {
    char       *name;
    void       *owned; /* the string, the elements if the writer allocated them, or NULL */
    const void *data;
    cp_dtype    dtype;
    int         rank;
    int64_t     dims[CP_ST_RANK];
    size_t      count;
} item;

typedef struct list {
    item  *items;
    size_t count, room;
} list;

struct cp_st_writer {
    list      tensors, metadata;
    cp_status error;
};

static void *fail_memory(cp_st_writer *w) { return cp_null(cp_fail(&w->error, "not enough memory to collect the tensors")); }

/* Takes ownership of the item; a NULL name means that memory ran out. Returns the new item, or NULL. */
static item *list_add(cp_st_writer *w, list *l, item added) {
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 16;
        item  *moved = realloc(l->items, room * sizeof *moved);
        if (moved) l->items = moved, l->room = room;
    }
    if (!added.name || l->count == l->room) {
        free(added.name);
        free(added.owned);
        return fail_memory(w);
    }
    l->items[l->count] = added;
    return &l->items[l->count++];
}

static void list_free(list *l) {
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].name);
        free(l->items[i].owned);
    }
    free(l->items);
}

cp_st_writer *cp_st_writer_new(void) { return calloc(1, sizeof(cp_st_writer)); }

void cp_st_writer_free(cp_st_writer *w) {
    if (!w) return;
    list_free(&w->tensors);
    list_free(&w->metadata);
    free(w);
}

void cp_st_writer_metadata(cp_st_writer *w, const char *key, const char *value) {
    if (!w || w->error.message[0]) return;
    if (strcmp(key, FORMAT_KEY) == 0 || strcmp(key, CRC_KEY) == 0) {
        cp_fail(&w->error, "the metadata key %s is reserved", key);
        return;
    }
    char *copy = strdup(value);
    list_add(w, &w->metadata, (item){.name = copy ? strdup(key) : NULL, .owned = copy});
}

static item *add_item(cp_st_writer *w, const char *name, cp_dtype dtype, int rank, const int64_t *dims) {
    if (!w || w->error.message[0]) return NULL;
    item added = {.dtype = dtype, .rank = rank};
    if (rank < 0 || rank > CP_ST_RANK || dtype < 0 || dtype >= CP_DTYPES ||
        !cp_shape_count(rank, dims, cp_dtype_size(dtype), &added.count) || strcmp(name, METADATA) == 0)
        return cp_null(cp_fail(&w->error,
                               "tensor \"%.80s\": a name other than " METADATA
                               ", a known type and a shape of rank 0 to %d, no dimension negative, were expected",
                               name, CP_ST_RANK));
    if (rank > 0) memcpy(added.dims, dims, (size_t)rank * sizeof *dims);
    added.name = strdup(name);
    return list_add(w, &w->tensors, added);
}

void cp_st_writer_add(cp_st_writer *w, const char *name, cp_dtype dtype, int rank, const int64_t *dims, const void *data) {
    item *added = add_item(w, name, dtype, rank, dims);
    if (added && !data && added->count > 0) cp_fail(&w->error, "tensor \"%.80s\": its data is NULL", name);
    if (added) added->data = data;
}

void *cp_st_writer_room(cp_st_writer *w, const char *name, cp_dtype dtype, int rank, const int64_t *dims) {
    item *added = add_item(w, name, dtype, rank, dims);
    if (!added) return NULL;
    added->data = added->owned = calloc(added->count ? added->count : 1, cp_dtype_size(dtype));
    return added->owned ? added->owned : fail_memory(w);
}

/* The order of the reference implementation: larger types first, so that each tensor starts at a multiple of its type's size. */
static int compare_items(const void *a, const void *b) {
    const item *x = a, *y = b;
    return x->dtype != y->dtype ? (x->dtype > y->dtype ? -1 : 1) : strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b) { return strcmp(((const item *)a)->name, ((const item *)b)->name); }

/* Sorts by names and returns one that appears twice, which no reader would accept, or NULL. Equal contents give equal files. */
static const char *sort_by_name(list *l) {
    if (l->count > 1) qsort(l->items, l->count, sizeof *l->items, compare_names);
    for (size_t i = 1; i < l->count; i++)
        if (strcmp(l->items[i - 1].name, l->items[i].name) == 0) return l->items[i].name;
    return NULL;
}

static bool sort_all(cp_st_writer *w, cp_status *status) {
    const char *key = sort_by_name(&w->metadata), *name = sort_by_name(&w->tensors);
    if (key) return cp_fail(status, "the metadata \"%.80s\" appears twice", key);
    if (name) return cp_fail(status, "the tensor \"%.80s\" appears twice", name);
    if (w->tensors.count > 1) qsort(w->tensors.items, w->tensors.count, sizeof(item), compare_items);
    return true;
}

static void put_item(cp_json_writer *json, const item *it, size_t begin, size_t end) {
    cp_json_put_object(json, it->name);
    cp_json_put_string(json, "dtype", cp_dtype_name(it->dtype));
    cp_json_put_array(json, "shape");
    for (int i = 0; i < it->rank; i++) cp_json_put_integer(json, NULL, it->dims[i]);
    cp_json_put_end(json);
    cp_json_put_array(json, "data_offsets");
    cp_json_put_integer(json, NULL, (int64_t)begin);
    cp_json_put_integer(json, NULL, (int64_t)end);
    cp_json_put_end(json);
    cp_json_put_end(json);
}

/* The header with the digits of the checksum still zero, at *digits. */
static bool make_header(const cp_st_writer *w, cp_json_writer *json, size_t *digits, cp_status *status) {
    size_t offset = 0;
    cp_json_put_object(json, NULL);
    cp_json_put_object(json, METADATA);
    cp_json_put_string(json, FORMAT_KEY, FORMAT);
    cp_json_put_string(json, CRC_KEY, CRC_EMPTY);
    *digits = json->out.size - CRC_DIGITS - 1;
    for (size_t i = 0; i < w->metadata.count; i++) cp_json_put_string(json, w->metadata.items[i].name, w->metadata.items[i].owned);
    cp_json_put_end(json);
    for (size_t i = 0; i < w->tensors.count; i++) {
        const item *it = &w->tensors.items[i];
        size_t      begin = offset;
        if (!cp_size_add(offset, it->count * cp_dtype_size(it->dtype), &offset) || offset > PTRDIFF_MAX)
            return cp_fail(status, "the tensors are larger than a file can be");
        put_item(json, it, begin, offset);
    }
    cp_json_put_end(json);
    while (json->out.size % 8 && cp_bytes_append(&json->out, " ", 1)) continue;
    if (!cp_json_writer_finish(json, status)) return false;
    return json->out.size <= HEADER_LIMIT ||
           cp_fail(status, "a header of %zu bytes; at most %d are allowed: use shorter metadata", json->out.size, HEADER_LIMIT);
}

static void add_to_sum(void *crc, const void *bytes, size_t size) { *(uint32_t *)crc = cp_crc32(*(uint32_t *)crc, bytes, size); }
static void add_to_file(void *writer, const void *bytes, size_t size) { cp_file_writer_append(writer, bytes, size); }

/* The whole file, piece by piece, into a sink. */
static void stream(const cp_st_writer *w, const cp_bytes *header, cp_bytes_sink sink, void *user) {
    unsigned char length[LENGTH_SIZE];
    cp_put_le64(length, header->size);
    sink(user, length, sizeof length);
    sink(user, header->data, header->size);
    for (size_t i = 0; i < w->tensors.count; i++) {
        const item *it = &w->tensors.items[i];
        cp_elements_stream(it->dtype, it->data, it->count, sink, user);
    }
}

static bool write_file(const cp_st_writer *w, cp_bytes *header, size_t digits, const char *path, cp_status *status) {
    uint32_t crc = 0;
    char     text[CRC_DIGITS + 1];
    stream(w, header, add_to_sum, &crc);
    snprintf(text, sizeof text, "%08x", (unsigned)crc);
    memcpy(header->data + digits, text, CRC_DIGITS);
    cp_file_writer *writer = cp_file_writer_new(path, status);
    if (!writer) return false;
    stream(w, header, add_to_file, writer);
    return cp_file_writer_commit(writer, status);
}

bool cp_st_writer_save(cp_st_writer *w, const char *path, cp_status *status) {
    cp_status error = {0};
    if (!w || w->error.message[0])
        return cp_fail(status, "%.200s: %s", path, w ? w->error.message : "not enough memory to collect the tensors");
    cp_json_writer json = {0};
    size_t         digits;
    bool           made = sort_all(w, &error) && make_header(w, &json, &digits, &error);
    bool saved = made ? write_file(w, &json.out, digits, path, status) : cp_fail(status, "%.200s: %s", path, error.message);
    cp_json_writer_free(&json);
    return saved;
}
