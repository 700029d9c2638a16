/* Inflate: reads the input as a stream, and a stream made from the input, which must give the input again. */
#include "core/io/deflate.h"
#include "tests/fuzz/target.h"

#include <string.h>

enum { LIMIT = 1 << 18 };

static void as_a_stream(const uint8_t *data, size_t size) {
    cp_status status = {0};
    cp_bytes  out = {0};
    size_t    used = 0;
    cp_bytes_append(&out, "before", 6);
    bool done = cp_inflate(data, size, LIMIT, &out, &used, "fuzz", &status);
    if (done != !status.message[0] || used > size || out.size > LIMIT + 6 || memcmp(out.data, "before", 6) != 0) __builtin_trap();
    if (out.size - 6 > (size + 1) * CP_INFLATE_RATIO) __builtin_trap();
    cp_bytes_free(&out);
}

static void there_and_back(const uint8_t *data, size_t size) {
    cp_status status = {0};
    cp_bytes  packed = {0}, out = {0};
    size_t    used = 0;
    if (!cp_deflate(data, size, &packed) || !cp_inflate(packed.data, packed.size, size, &out, &used, "fuzz", &status))
        __builtin_trap();
    if (used != packed.size || out.size != size || (size > 0 && memcmp(out.data, data, size) != 0)) __builtin_trap();
    cp_bytes_free(&packed);
    cp_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    as_a_stream(data, size);
    there_and_back(data, size);
    return 0;
}
