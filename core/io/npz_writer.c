/* The .npz writer: each array becomes the bytes of a .npy file, and those an entry of the archive. */
#include "core/io/npz.h"
#include "core/io/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cp_npz_writer {
    cp_zip_writer *zip;
};

cp_npz_writer *cp_npz_writer_new(const char *path, cp_status *status) {
    cp_npz_writer *writer = malloc(sizeof *writer);
    if (!writer) return cp_null(cp_fail(status, "%.300s: not enough memory to write it", path));
    writer->zip = cp_zip_writer_new(path, status);
    if (writer->zip) return writer;
    free(writer);
    return NULL;
}

void cp_npz_writer_add(cp_npz_writer *writer, const char *name, cp_dtype dtype, int rank, const int64_t *dims, const void *data) {
    if (!writer) return;
    cp_status    *error = cp_zip_writer_error(writer->zip);
    cp_shown_text shown = cp_shown(name, strlen(name));
    cp_bytes      bytes = {0};
    size_t        room = strlen(name) + sizeof ".npy";
    char         *file_name = malloc(room);
    if (!file_name)
        cp_fail(error, "array \"%s\": not enough memory to write it", shown.text);
    else if (cp_npy_append(&bytes, dtype, rank, dims, data, shown.text, error)) {
        snprintf(file_name, room, "%s.npy", name);
        cp_zip_writer_add(writer->zip, file_name, bytes.data, bytes.size);
    }
    free(file_name);
    cp_bytes_free(&bytes);
}

bool cp_npz_writer_commit(cp_npz_writer *writer, cp_status *status) {
    if (!writer) return false;
    bool done = cp_zip_writer_commit(writer->zip, status);
    free(writer);
    return done;
}

void cp_npz_writer_cancel(cp_npz_writer *writer) {
    if (!writer) return;
    cp_zip_writer_cancel(writer->zip);
    free(writer);
}
