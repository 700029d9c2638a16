/* The NIfTI reader: reads the input as a file, and the compressed input, whose checksum no fuzzer would guess; both must
 * give the same result. */
#include "core/io/deflate.h"
#include "core/io/nifti.h"
#include "tests/fuzz/target.h"
#include "tests/support/gzipped.h"

#include <string.h>

static void is_sound(const cp_nifti *v, bool done, const cp_status *status) {
    if (done != !status->message[0] || done != (v->values != NULL)) __builtin_trap();
    if (!done) return;
    size_t size = 1;
    float  sum = 0;
    for (int i = 0; i < CP_NIFTI_RANK; i++) {
        if (v->dims[i] < 1 || (i >= v->rank && v->dims[i] != 1)) __builtin_trap();
        size *= (size_t)v->dims[i];
    }
    if (v->rank < 2 || v->rank > CP_NIFTI_RANK || size != v->size || strlen(v->orientation) != 3) __builtin_trap();
    for (size_t i = 0; i < size; i++) sum += v->values[i]; /* reads all values, for the sanitizers */
    if (sum > 0 && sum < 0) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cp_status plain_status = {0}, packed_status = {0};
    cp_nifti  plain = {0}, packed = {0};
    cp_bytes  bytes = {0};
    bool      plain_done = cp_nifti_parse(data, size, "fuzz", &plain, &plain_status);
    is_sound(&plain, plain_done, &plain_status);
    if (!gzip_append(&bytes, data, size)) __builtin_trap();
    bool packed_done = cp_nifti_parse(bytes.data, bytes.size, "fuzz", &packed, &packed_status);
    is_sound(&packed, packed_done, &packed_status);
    if (!cp_gzip_begins(data, size) && plain_done != packed_done) __builtin_trap();
    if (plain_done && packed_done && memcmp(plain.values, packed.values, plain.size * sizeof *plain.values) != 0) __builtin_trap();
    cp_bytes_free(&bytes);
    cp_nifti_free(&plain);
    cp_nifti_free(&packed);
    return 0;
}
