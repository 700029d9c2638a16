/* .npz: arrays by name in a zip archive of .npy files. */
#include "core/io/npz.h"
#include "core/io/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ending[] = ".npy";

typedef struct array {
    char               *name; /* without the ending */
    const cp_zip_entry *entry;
} array;

struct cp_npz {
    cp_zip *zip;
    size_t  count;
    array   arrays[];
};

static cp_npz *npz_from(cp_zip *zip, cp_status *status) {
    if (!zip) return NULL;
    size_t  count = cp_zip_count(zip), ending_length = sizeof ending - 1;
    cp_npz *npz = malloc(sizeof *npz + count * sizeof *npz->arrays);
    bool    done = npz != NULL;
    if (npz) *npz = (cp_npz){.zip = zip};
    for (size_t i = 0; done && i < count; i++) {
        const cp_zip_entry *entry = cp_zip_entry_at(zip, i);
        size_t              length = strlen(entry->name);
        if (length < ending_length || strcmp(entry->name + length - ending_length, ending) != 0) continue;
        array *a = &npz->arrays[npz->count];
        *a = (array){strndup(entry->name, length - ending_length), entry};
        done = a->name != NULL;
        npz->count += done;
    }
    if (done) return npz;
    cp_fail(status, "%.200s: not enough memory for its names", cp_zip_path(zip));
    if (npz)
        cp_npz_close(npz);
    else
        cp_zip_close(zip);
    return NULL;
}

cp_npz *cp_npz_open(const char *path, cp_status *status) { return npz_from(cp_zip_open(path, status), status); }

cp_npz *cp_npz_parse(const void *bytes, size_t size, const char *name, cp_status *status) {
    return npz_from(cp_zip_parse(bytes, size, name, status), status);
}

void cp_npz_close(cp_npz *npz) {
    if (!npz) return;
    for (size_t i = 0; i < npz->count; i++) free(npz->arrays[i].name);
    cp_zip_close(npz->zip);
    free(npz);
}

size_t      cp_npz_count(const cp_npz *npz) { return npz->count; }
const char *cp_npz_name(const cp_npz *npz, size_t index) { return npz->arrays[index].name; }

static const cp_zip_entry *find(const cp_npz *npz, const char *name) {
    for (size_t i = 0; i < npz->count; i++)
        if (strcmp(npz->arrays[i].name, name) == 0) return npz->arrays[i].entry;
    return NULL;
}

bool cp_npz_has(const cp_npz *npz, const char *name) { return find(npz, name) != NULL; }

/* "a, b, c" for messages. */
static void list_names(const cp_npz *npz, char *text, size_t room) {
    size_t used = 0;
    strcpy(text, "none");
    for (size_t i = 0; i < npz->count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, i ? ", %s" : "%s",
                                 cp_shown(npz->arrays[i].name, strlen(npz->arrays[i].name)).text);
}

static bool read(const cp_npz *npz, const char *name, bool any, cp_npy *npy, cp_status *status) {
    const cp_zip_entry *entry = find(npz, name);
    cp_bytes            bytes;
    char                text[320];
    *npy = (cp_npy){0};
    if (!entry) {
        list_names(npz, text, 200);
        return cp_fail(status, "%.200s: there is no array \"%s\"; the file has: %s", cp_zip_path(npz->zip),
                       cp_shown(name, strlen(name)).text, text);
    }
    snprintf(text, sizeof text, "%.200s: array \"%s\"", cp_zip_path(npz->zip), cp_shown(name, strlen(name)).text);
    if (!cp_zip_read(npz->zip, entry, &bytes, status)) return false;
    return any ? cp_npy_take_any(bytes, text, npy, status) : cp_npy_take(bytes, text, npy, status);
}

bool cp_npz_read(const cp_npz *npz, const char *name, cp_npy *npy, cp_status *status) {
    return read(npz, name, false, npy, status);
}
bool cp_npz_read_any(const cp_npz *npz, const char *name, cp_npy *npy, cp_status *status) {
    return read(npz, name, true, npy, status);
}

/* ---- writing: each array becomes a .npy file in the archive ---- */

cp_npz_writer *cp_npz_writer_new(const char *path, cp_status *status) { return cp_zip_writer_new(path, status); }

/* Adds the bytes of a .npy file and frees them, unless there was an error. */
static void add_file(cp_npz_writer *writer, const char *name, cp_bytes *bytes, bool made) {
    cp_bytes file_name = {0};
    if (made && (!cp_bytes_text(&file_name, name) || !cp_bytes_append(&file_name, ending, sizeof ending)))
        cp_fail(cp_zip_writer_error(writer), "array \"%s\": not enough memory to write it", cp_shown(name, strlen(name)).text);
    else if (made)
        cp_zip_writer_add(writer, (const char *)file_name.data, bytes->data, bytes->size);
    cp_bytes_free(&file_name);
    cp_bytes_free(bytes);
}

void cp_npz_writer_add_npy(cp_npz_writer *writer, const char *name, const cp_npy *npy) {
    cp_bytes bytes = {0};
    if (!writer) return;
    add_file(writer, name, &bytes, cp_npy_append(&bytes, npy, cp_shown(name, strlen(name)).text, cp_zip_writer_error(writer)));
}

void cp_npz_writer_add(cp_npz_writer *writer, const char *name, cp_dtype dtype, int rank, const int64_t *dims, const void *data) {
    cp_npy npy = cp_npy_of(dtype, rank, dims, data);
    cp_npz_writer_add_npy(writer, name, &npy);
}

void cp_npz_writer_add_json(cp_npz_writer *writer, const char *name, cp_json_writer *json) {
    if (writer && cp_json_writer_finish(json, cp_zip_writer_error(writer)))
        cp_npz_writer_add(writer, name, CP_U8, 1, (int64_t[]){(int64_t)json->out.size}, json->out.data);
    cp_json_writer_free(json);
}

void cp_npz_writer_add_texts(cp_npz_writer *writer, const char *name, size_t count, const char *const *texts) {
    cp_bytes bytes = {0};
    if (!writer) return;
    add_file(writer, name, &bytes,
             cp_npy_append_texts(&bytes, count, texts, cp_shown(name, strlen(name)).text, cp_zip_writer_error(writer)));
}

bool cp_npz_writer_commit(cp_npz_writer *writer, cp_status *status) { return cp_zip_writer_commit(writer, status); }
void cp_npz_writer_cancel(cp_npz_writer *writer) { cp_zip_writer_cancel(writer); }
