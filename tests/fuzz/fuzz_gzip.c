/* Gunzip: reads the input as a file, and files of one and two members made from the input, which must give the input again. */
#include "core/io/deflate.h"
#include "tests/fuzz/target.h"
#include "tests/support/gzipped.h"

#include <string.h>

enum { LIMIT = 1 << 18 };

static void as_a_file(const uint8_t *data, size_t size) {
    cp_status status = {0};
    cp_bytes  out = {0}, start = {0};
    bool      done = cp_gunzip(data, size, LIMIT, &out, "fuzz", &status);
    if (done != !status.message[0] || out.size > LIMIT || out.size > (size + 1) * CP_INFLATE_RATIO) __builtin_trap();
    if (done && !cp_gzip_begins(data, size)) __builtin_trap();
    status = (cp_status){0};
    bool started = cp_gunzip_start(data, size, 100, &start, "fuzz", &status);
    if (started != !status.message[0] || (done && !started)) __builtin_trap();
    if (done && (start.size > out.size || (out.size >= 100 && start.size < 100))) __builtin_trap();
    if (done && start.size > 0 && memcmp(start.data, out.data, start.size) != 0) __builtin_trap();
    cp_bytes_free(&out);
    cp_bytes_free(&start);
}

static void there_and_back(const uint8_t *data, size_t size, size_t first) {
    cp_status status = {0};
    cp_bytes  packed = {0}, out = {0};
    if (!gzip_append(&packed, data, first) || !gzip_append(&packed, data + first, size - first)) __builtin_trap();
    if (!cp_gunzip(packed.data, packed.size, size, &out, "fuzz", &status)) __builtin_trap();
    if (out.size != size || (size > 0 && memcmp(out.data, data, size) != 0)) __builtin_trap();
    cp_bytes_free(&packed);
    cp_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    as_a_file(data, size);
    there_and_back(data, size, size > 0 ? data[0] % (size + 1) : 0);
    return 0;
}
