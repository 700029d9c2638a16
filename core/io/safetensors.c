/* The safetensors reader. Nothing in the header is trusted: every offset, shape and name is checked before use. */
#include "core/io/safetensors.h"
#include "core/io/crc32.h"
#include "core/io/file.h"
#include "core/io/json.h"
#include "core/io/safetensors_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cp_safetensors {
    cp_bytes            bytes;
    cp_json            *header;
    const cp_json      *metadata; /* NULL: none */
    cp_st_entry        *entries;  /* in the order of their bytes */
    const cp_st_entry **by_name;
    size_t              count;
    char                name[]; /* for messages */
};

/* What a tensor is called in messages. */
static cp_shown_text shown(const char *name) {
    return cp_shown(name, strlen(name));
}

static bool fail_tensor(cp_status *status, const cp_safetensors *file, const cp_json *node, const char *problem) {
    return cp_damaged(status, "%.200s: byte %zu: tensor \"%s\": %s", file->name, node->offset + CP_ST_LENGTH, shown(node->key).text,
                      problem);
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static bool header_size(const cp_safetensors *file, size_t *size, cp_status *status) {
    const unsigned char *bytes = file->bytes.data;
    if (file->bytes.size < CP_ST_LENGTH)
        return cp_damaged(status, "%.200s: the file has %zu bytes, a safetensors file at least 8; it is truncated", file->name,
                          file->bytes.size);
    uint64_t length = cp_get_le64(bytes), swapped = cp_get_be64(bytes), room = file->bytes.size - CP_ST_LENGTH;
    if (length > room && swapped <= room && swapped > 1)
        return cp_damaged(status, "%.200s: byte 0: the header length is big-endian; safetensors is little-endian: convert the file",
                          file->name);
    if (length > CP_ST_HEADER_LIMIT)
        return cp_damaged(status,
                          "%.200s: byte 0: a header of %llu bytes; at most %d are allowed: this is not a safetensors file, or a "
                          "damaged one",
                          file->name, (unsigned long long)length, CP_ST_HEADER_LIMIT);
    if (length > room)
        return cp_damaged(status, "%.200s: byte 0: a header of %llu bytes, but only %llu follow; the file is truncated or damaged",
                          file->name, (unsigned long long)length, (unsigned long long)room);
    *size = (size_t)length;
    return true;
}

static bool parse_header(cp_safetensors *file, size_t size, cp_status *status) {
    const char *text = (const char *)file->bytes.data + CP_ST_LENGTH;
    if (size == 0 || text[0] != '{')
        return cp_damaged(status,
                          "%.200s: byte 8: a header that begins with '{' was expected; this is not a safetensors file, or a "
                          "damaged one",
                          file->name);
    char what[240];
    snprintf(what, sizeof what, "%.200s: header (from byte 8)", file->name);
    file->header = cp_json_parse(text, size, what, status);
    if (!file->header) return false;
    file->metadata = cp_json_get(file->header, CP_ST_METADATA);
    if (!file->metadata) return true;
    if (file->metadata->kind != CP_JSON_OBJECT)
        return cp_damaged(status, "%.200s: header: __metadata__ must be an object of strings", file->name);
    for (const cp_json *value = file->metadata->first; value; value = value->next)
        if (value->kind != CP_JSON_STRING)
            return cp_damaged(status, "%.200s: byte %zu: metadata \"%s\" must be a string", file->name,
                              value->offset + CP_ST_LENGTH, shown(value->key).text);
    return true;
}

/* The digits are in the sum as zeros: the sum of a file cannot contain itself. */
static bool check_sum(const cp_safetensors *file, cp_status *status) {
    const cp_json *format = cp_json_get(file->metadata, CP_ST_FORMAT_KEY), *sum = cp_json_get(file->metadata, CP_ST_CRC_KEY);
    if (!format && !sum) return true;
    if (!format || !sum)
        return cp_damaged(status, "%.200s: header: metadata has \"%s\" without \"%s\"; the file is damaged", file->name,
                          format ? CP_ST_FORMAT_KEY : CP_ST_CRC_KEY, format ? CP_ST_CRC_KEY : CP_ST_FORMAT_KEY);
    const unsigned char *bytes = file->bytes.data;
    size_t               start = CP_ST_LENGTH + sum->offset + 1, end = start + CP_ST_CRC_DIGITS;
    if (strlen(sum->text) != CP_ST_CRC_DIGITS || memcmp(bytes + start, sum->text, CP_ST_CRC_DIGITS) != 0)
        return cp_damaged(status, "%.200s: byte %zu: metadata \"" CP_ST_CRC_KEY "\" must be %d plain digits; the file is damaged",
                          file->name, start, CP_ST_CRC_DIGITS);
    uint32_t crc = cp_crc32(0, bytes, start);
    crc = cp_crc32(crc, CP_ST_CRC_EMPTY, CP_ST_CRC_DIGITS);
    crc = cp_crc32(crc, bytes + end, file->bytes.size - end);
    char digits[CP_ST_CRC_DIGITS + 1];
    snprintf(digits, sizeof digits, "%08x", (unsigned)crc);
    if (strcmp(digits, sum->text) != 0)
        return cp_damaged(status,
                          "%.200s: the checksum is %s, metadata \"" CP_ST_CRC_KEY "\" says %s: the file is damaged. Take "
                          "another copy; if it was changed on purpose, leave out the metadata " CP_ST_CRC_KEY
                          " and " CP_ST_FORMAT_KEY,
                          file->name, digits, shown(sum->text).text);
    return strcmp(format->text, CP_ST_FORMAT) == 0 ||
           cp_fail(status, "%.200s: written in format %s, this program knows format " CP_ST_FORMAT "; use a newer one", file->name,
                   shown(format->text).text);
}

/* ---- the tensors ------------------------------------------------------------------------------------------------- */

/* A whole number as the format has it: digits only. */
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

static bool parse_offsets(const cp_safetensors *file, const cp_json *node, const unsigned char *data, size_t size,
                          cp_st_entry *entry, cp_status *status) {
    const cp_json *offsets = cp_json_get(node, "data_offsets");
    int64_t        begin = 0, end = 0;
    if (!offsets || offsets->kind != CP_JSON_ARRAY || offsets->count != 2 || !whole(cp_json_at(offsets, 0), &begin) ||
        !whole(cp_json_at(offsets, 1), &end) || begin > end)
        return fail_tensor(status, file, node, "the field data_offsets, of two rising numbers, is missing");
    char problem[200];
    if ((uint64_t)end > size) {
        snprintf(problem, sizeof problem,
                 "its data end at byte %lld of the elements, there are %zu; the file is truncated or damaged", (long long)end,
                 size);
        return fail_tensor(status, file, node, problem);
    }
    entry->data = data + begin;
    entry->bytes = (size_t)(end - begin);
    if (entry->bytes == entry->count * cp_dtype_size(entry->dtype)) return true;
    snprintf(problem, sizeof problem, "shape %s of %s needs %zu bytes, data_offsets give %zu; the file is damaged",
             cp_shown_shape(entry->rank, entry->dims).text, cp_dtype_name(entry->dtype), entry->count * cp_dtype_size(entry->dtype),
             entry->bytes);
    return fail_tensor(status, file, node, problem);
}

static bool parse_entry(const cp_safetensors *file, const cp_json *node, const unsigned char *data, size_t size, cp_st_entry *entry,
                        cp_status *status) {
    *entry = (cp_st_entry){.name = node->key};
    const char *type = cp_json_string(cp_json_get(node, "dtype"), NULL);
    if (!type) return fail_tensor(status, file, node, "an object with the fields dtype, shape and data_offsets was expected");
    if (!cp_dtype_named(type, &entry->dtype)) {
        char problem[200];
        snprintf(problem, sizeof problem, "elements of type %s cannot be read; convert them to F32, F64, I64 or U8",
                 shown(type).text);
        return fail_tensor(status, file, node, problem);
    }
    return parse_shape(file, node, entry, status) && parse_offsets(file, node, data, size, entry, status);
}

static int compare_places(const void *a, const void *b) {
    const cp_st_entry *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1) : strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const cp_st_entry *const *)a)->name, (*(const cp_st_entry *const *)b)->name);
}

/* Entries in the order of their bytes must follow each other exactly, from the first byte to the last. */
static bool check_places(const cp_safetensors *file, const unsigned char *data, size_t size, cp_status *status) {
    const unsigned char *next = data;
    for (size_t i = 0; i < file->count; i++) {
        const cp_st_entry *entry = &file->entries[i];
        if (entry->data != next)
            return cp_damaged(status,
                              "%.200s: tensor \"%s\" begins at byte %zu of the elements, %zu was expected: there is %s; the "
                              "file is damaged",
                              file->name, shown(entry->name).text, (size_t)((const unsigned char *)entry->data - data),
                              (size_t)(next - data), (const unsigned char *)entry->data > next ? "a gap" : "an overlap");
        next += entry->bytes;
    }
    return next == data + size || cp_damaged(status, "%.200s: %zu bytes follow the last tensor; the file is damaged", file->name,
                                             (size_t)(data + size - next));
}

static bool parse_entries(cp_safetensors *file, unsigned char *data, size_t size, cp_status *status) {
    size_t room = file->header->count + 1;
    file->entries = calloc(room, sizeof *file->entries);
    file->by_name = calloc(room, sizeof *file->by_name);
    if (!file->entries || !file->by_name) return cp_fail(status, "%.200s: not enough memory for %zu tensors", file->name, room);
    for (const cp_json *node = file->header->first; node; node = node->next) {
        if (node == file->metadata) continue;
        if (!parse_entry(file, node, data, size, &file->entries[file->count], status)) return false;
        file->count++;
    }
    qsort(file->entries, file->count, sizeof *file->entries, compare_places);
    for (size_t i = 0; i < file->count; i++) file->by_name[i] = &file->entries[i];
    qsort(file->by_name, file->count, sizeof *file->by_name, compare_names);
    return check_places(file, data, size, status);
}

static bool parse_file(cp_safetensors *file, cp_status *status) {
    size_t header = 0;
    if (!header_size(file, &header, status) || !parse_header(file, header, status) || !check_sum(file, status)) return false;
    unsigned char *data = file->bytes.data + CP_ST_LENGTH + header;
    if (!parse_entries(file, data, file->bytes.size - CP_ST_LENGTH - header, status)) return false;
    for (size_t i = 0; i < file->count; i++) {
        cp_st_entry *entry = &file->entries[i];
        cp_elements_decode(entry->dtype, false, entry->data, entry->count, data + ((const unsigned char *)entry->data - data));
    }
    return true;
}

/* Takes the bytes over. */
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
    cp_bytes bytes = {0};
    if (cp_bytes_append(&bytes, data, size)) return file_new(bytes, name, status);
    return cp_null(cp_fail(status, "%.200s: not enough memory for %zu bytes", name, size));
}

void cp_st_free(cp_safetensors *file) {
    if (!file) return;
    cp_json_free(file->header);
    cp_bytes_free(&file->bytes);
    free(file->by_name);
    free(file->entries);
    free(file);
}

/* ---- access ------------------------------------------------------------------------------------------------------ */

size_t cp_st_count(const cp_safetensors *file) {
    return file->count;
}

const cp_st_entry *cp_st_entry_at(const cp_safetensors *file, size_t index) {
    return index < file->count ? &file->entries[index] : NULL;
}

const cp_st_entry *cp_st_find(const cp_safetensors *file, const char *name) {
    cp_st_entry         wanted = {.name = name}, *key = &wanted;
    const cp_st_entry **found = bsearch(&key, file->by_name, file->count, sizeof *file->by_name, compare_names);
    return found ? *found : NULL;
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
