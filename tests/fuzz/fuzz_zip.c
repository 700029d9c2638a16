/* The zip reader: its entries as bytes and as the arrays of an .npz file. */
#include "core/io/bytes.h"
#include "core/io/npz.h"
#include "core/io/zip.h"
#include "tests/fuzz/target.h"

static void read_entries(const uint8_t *data, size_t size) {
    cp_status status = {0};
    cp_zip   *zip = cp_zip_parse(data, size, "fuzz", &status);
    if (!zip == !status.message[0]) __builtin_trap();
    for (size_t i = 0; zip && i < cp_zip_count(zip); i++) {
        const cp_zip_entry *entry = cp_zip_entry_at(zip, i);
        cp_bytes            bytes = {0};
        status = (cp_status){0};
        if (cp_zip_find(zip, entry->name) != entry || entry->end > size) __builtin_trap();
        bool done = cp_zip_read(zip, entry, &bytes, &status);
        if (done != !status.message[0] || (done && bytes.size != entry->size)) __builtin_trap();
        cp_bytes_free(&bytes);
    }
    cp_zip_close(zip);
}

static void read_arrays(const uint8_t *data, size_t size) {
    cp_status status = {0};
    cp_npz   *npz = cp_npz_parse(data, size, "fuzz", &status);
    if (!npz == !status.message[0]) __builtin_trap();
    for (size_t i = 0; npz && i < cp_npz_count(npz); i++) {
        cp_npy npy;
        status = (cp_status){0};
        bool done = cp_npz_read(npz, cp_npz_name(npz, i), &npy, &status);
        if (done != !status.message[0] || done != (npy.data != NULL)) __builtin_trap();
        cp_npy_free(&npy);
    }
    cp_npz_close(npz);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_entries(data, size);
    read_arrays(data, size);
    return 0;
}
