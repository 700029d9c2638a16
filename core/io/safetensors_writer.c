/* The safetensors writer: the header is made by a first pass over the tensors, which gives the checksum too; a
 * second pass writes them. */
#include "core/io/crc32.h"
#include "core/io/file.h"
#include "core/io/json.h"
#include "core/io/safetensors.h"
#include "core/io/safetensors_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct item {
    char       *name;
    cp_dtype    dtype;
    int         rank;
    int64_t     dims[CP_ST_RANK];
    size_t      count;
    const void *data;
    void       *owned; /* the same when the writer made it, else NULL */
} item;

typedef struct pair {
    char *key, *value;
} pair;

struct cp_st_writer {
    item     *items;
    pair     *pairs;
    size_t    item_count, item_room, pair_count, pair_room;
    cp_status error;
};

static char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char  *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* An array with room for one more element, perhaps moved; NULL, and the old one as it was, when there is no memory. */
static void *grown(void *array, size_t count, size_t *room, size_t width) {
    size_t bytes;
    if (count < *room) return array;
    size_t more = *room ? *room * 2 : 16;
    void  *moved = cp_size_mul(more, width, &bytes) ? realloc(array, bytes) : NULL;
    if (moved) *room = more;
    return moved;
}

static void *fail_memory(cp_st_writer *w) {
    return cp_null(cp_fail(&w->error, "not enough memory to collect the tensors"));
}

cp_st_writer *cp_st_writer_new(void) {
    return calloc(1, sizeof(cp_st_writer));
}

void cp_st_writer_free(cp_st_writer *w) {
    if (!w) return;
    for (size_t i = 0; i < w->item_count; i++) {
        free(w->items[i].name);
        free(w->items[i].owned);
    }
    for (size_t i = 0; i < w->pair_count; i++) {
        free(w->pairs[i].key);
        free(w->pairs[i].value);
    }
    free(w->items);
    free(w->pairs);
    free(w);
}

void cp_st_writer_metadata(cp_st_writer *w, const char *key, const char *value) {
    if (!w || w->error.message[0]) return;
    if (strcmp(key, CP_ST_FORMAT_KEY) == 0 || strcmp(key, CP_ST_CRC_KEY) == 0) {
        cp_fail(&w->error, "the metadata %s is the writer's own", key);
        return;
    }
    pair  added = {copy_text(key), copy_text(value)};
    pair *pairs = grown(w->pairs, w->pair_count, &w->pair_room, sizeof *pairs);
    w->pairs = pairs ? pairs : w->pairs;
    if (!added.key || !added.value || !pairs) {
        free(added.key);
        free(added.value);
        fail_memory(w);
        return;
    }
    w->pairs[w->pair_count++] = added;
}

static item *add_item(cp_st_writer *w, const char *name, cp_dtype dtype, int rank, const int64_t *dims) {
    if (!w || w->error.message[0]) return NULL;
    item added = {.dtype = dtype, .rank = rank};
    if (rank < 0 || rank > CP_ST_RANK || dtype < 0 || dtype >= CP_DTYPES ||
        !cp_shape_count(rank, dims, cp_dtype_size(dtype), &added.count) || strcmp(name, CP_ST_METADATA) == 0)
        return cp_null(cp_fail(&w->error,
                               "tensor \"%.80s\": a name other than " CP_ST_METADATA
                               ", a known type and a shape of rank 0 to %d, no dimension negative, were expected",
                               name, CP_ST_RANK));
    if (rank > 0) memcpy(added.dims, dims, (size_t)rank * sizeof *dims);
    added.name = copy_text(name);
    item *items = grown(w->items, w->item_count, &w->item_room, sizeof *items);
    w->items = items ? items : w->items;
    if (!added.name || !items) {
        free(added.name);
        return fail_memory(w);
    }
    w->items[w->item_count] = added;
    return &w->items[w->item_count++];
}

void cp_st_writer_add(cp_st_writer *w, const char *name, cp_dtype dtype, int rank, const int64_t *dims, const void *data) {
    item *added = add_item(w, name, dtype, rank, dims);
    if (added && !data && added->count > 0) cp_fail(&w->error, "tensor \"%.80s\": its data are NULL", name);
    if (added) added->data = data;
}

void *cp_st_writer_room(cp_st_writer *w, const char *name, cp_dtype dtype, int rank, const int64_t *dims) {
    item *added = add_item(w, name, dtype, rank, dims);
    if (!added) return NULL;
    added->data = added->owned = calloc(added->count ? added->count : 1, cp_dtype_size(dtype));
    return added->owned ? added->owned : fail_memory(w);
}

/* As the reference implementation orders them: larger types first, so that each begins at a multiple of its size. */
static int compare_items(const void *a, const void *b) {
    const item *x = a, *y = b;
    return x->dtype != y->dtype ? (x->dtype > y->dtype ? -1 : 1) : strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_pairs(const void *a, const void *b) {
    return strcmp(((const pair *)a)->key, ((const pair *)b)->key);
}

/* Names that come twice would make a file that no reader accepts. Sorts the metadata, which makes equal contents
 * equal files. */
static bool check_names(cp_st_writer *w, cp_status *status) {
    if (w->pair_count > 1) qsort(w->pairs, w->pair_count, sizeof *w->pairs, compare_pairs);
    for (size_t i = 1; i < w->pair_count; i++)
        if (strcmp(w->pairs[i - 1].key, w->pairs[i].key) == 0)
            return cp_fail(status, "the metadata \"%.80s\" comes twice", w->pairs[i].key);
    const char **names = malloc((w->item_count + 1) * sizeof *names);
    if (!names) return cp_fail(status, "not enough memory to collect the tensors");
    for (size_t i = 0; i < w->item_count; i++) names[i] = w->items[i].name;
    qsort(names, w->item_count, sizeof *names, compare_names);
    bool unique = true;
    for (size_t i = 1; i < w->item_count && unique; i++)
        if (strcmp(names[i - 1], names[i]) == 0) unique = cp_fail(status, "the tensor \"%.80s\" comes twice", names[i]);
    free(names);
    return unique;
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

/* The header with the digits of the checksum still empty, at *digits. */
static bool make_header(const cp_st_writer *w, cp_json_writer *json, size_t *digits, cp_status *status) {
    size_t place = 0;
    cp_json_put_object(json, NULL);
    cp_json_put_object(json, CP_ST_METADATA);
    cp_json_put_string(json, CP_ST_FORMAT_KEY, CP_ST_FORMAT);
    cp_json_put_string(json, CP_ST_CRC_KEY, CP_ST_CRC_EMPTY);
    *digits = json->out.size - CP_ST_CRC_DIGITS - 1;
    for (size_t i = 0; i < w->pair_count; i++) cp_json_put_string(json, w->pairs[i].key, w->pairs[i].value);
    cp_json_put_end(json);
    for (size_t i = 0; i < w->item_count; i++) {
        size_t begin = place;
        if (!cp_size_add(place, w->items[i].count * cp_dtype_size(w->items[i].dtype), &place) || place > PTRDIFF_MAX)
            return cp_fail(status, "the tensors are larger than a file can be");
        put_item(json, &w->items[i], begin, place);
    }
    cp_json_put_end(json);
    while (json->out.size % 8 && cp_bytes_append(&json->out, " ", 1)) continue;
    if (!cp_json_writer_finish(json, status)) return false;
    return json->out.size <= CP_ST_HEADER_LIMIT || cp_fail(status,
                                                           "a header of %zu bytes; at most %d are allowed: use shorter "
                                                           "metadata",
                                                           json->out.size, CP_ST_HEADER_LIMIT);
}

static void add_to_sum(void *crc, const void *bytes, size_t size) {
    *(uint32_t *)crc = cp_crc32(*(uint32_t *)crc, bytes, size);
}

static void add_to_file(void *writer, const void *bytes, size_t size) {
    cp_file_writer_append(writer, bytes, size);
}

/* The whole file, piece by piece, into a sink. */
static void stream(const cp_st_writer *w, const cp_bytes *header, cp_bytes_sink sink, void *user) {
    unsigned char length[CP_ST_LENGTH];
    cp_put_le64(length, header->size);
    sink(user, length, sizeof length);
    sink(user, header->data, header->size);
    for (size_t i = 0; i < w->item_count; i++)
        cp_elements_stream(w->items[i].dtype, w->items[i].data, w->items[i].count, sink, user);
}

static bool write_file(const cp_st_writer *w, cp_bytes *header, size_t digits, const char *path, cp_status *status) {
    uint32_t crc = 0;
    char     text[CP_ST_CRC_DIGITS + 1];
    stream(w, header, add_to_sum, &crc);
    snprintf(text, sizeof text, "%08x", (unsigned)crc);
    memcpy(header->data + digits, text, CP_ST_CRC_DIGITS);
    cp_file_writer *writer = cp_file_writer_new(path, status);
    if (!writer) return false;
    stream(w, header, add_to_file, writer);
    return cp_file_writer_commit(writer, status);
}

bool cp_st_writer_save(cp_st_writer *w, const char *path, cp_status *status) {
    cp_status error = {0};
    if (!w || w->error.message[0])
        return cp_fail(status, "%.200s: %s", path, w ? w->error.message : "not enough memory to collect the tensors");
    if (w->item_count > 1) qsort(w->items, w->item_count, sizeof *w->items, compare_items);
    cp_json_writer json = {0};
    size_t         digits;
    bool           made = check_names(w, &error) && make_header(w, &json, &digits, &error);
    bool saved = made ? write_file(w, &json.out, digits, path, status) : cp_fail(status, "%.200s: %s", path, error.message);
    cp_json_writer_free(&json);
    return saved;
}
