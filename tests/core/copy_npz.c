/* Reads every array of the first .npz file and writes them to the second, for test_npz_python.py. With a third argument the
 * second file is a ZIP64 archive. */
#include "core/io/npz.h"
#include "core/io/zip.h"

#include <stdio.h>

/* The npz writer makes ZIP64 archives only of data that are too large for a test. */
static void add_wide(cp_zip_writer *w, const char *name, const cp_npy *npy) {
    cp_bytes bytes = {0};
    char     file_name[100];
    snprintf(file_name, sizeof file_name, "%s.npy", name);
    if (cp_npy_append(&bytes, npy, name, cp_zip_writer_error(w))) cp_zip_writer_add(w, file_name, bytes.data, bytes.size);
    cp_bytes_free(&bytes);
}

int main(int count, char **args) {
    cp_status status = {0};
    bool      wide = count == 4;
    if (count < 3) return 2;
    cp_npz        *in = cp_npz_open(args[1], &status);
    cp_npz_writer *out = in && !wide ? cp_npz_writer_new(args[2], &status) : NULL;
    cp_zip_writer *out_wide = in && wide ? cp_zip_writer_new(args[2], &status) : NULL;
    cp_zip_writer_wide(out_wide);
    for (size_t i = 0; (out || out_wide) && i < cp_npz_count(in); i++) {
        cp_npy npy;
        if (!cp_npz_read(in, cp_npz_name(in, i), &npy, &status)) break;
        cp_npz_writer_add(out, cp_npz_name(in, i), npy.dtype, npy.rank, npy.dims, npy.data);
        if (wide) add_wide(out_wide, cp_npz_name(in, i), &npy);
        cp_npy_free(&npy);
    }
    bool saved = wide ? cp_zip_writer_commit(out_wide, &status) : cp_npz_writer_commit(out, &status);
    cp_npz_close(in);
    if (status.message[0]) fprintf(stderr, "%s\n", status.message);
    return !saved || status.message[0];
}
