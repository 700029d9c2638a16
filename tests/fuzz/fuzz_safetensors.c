/* The safetensors reader. The target corrects the header length, which a fuzzer would hardly ever guess: byte 0 gives the
 * number of bytes of the header. */
#include "core/io/bytes.h"
#include "core/io/safetensors.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    cp_status status = {0};
    uint8_t  *bytes = malloc(size + 7);
    cp_put_le64(bytes, size - 1 - (data[0] < size ? data[0] : 0));
    memcpy(bytes + 8, data + 1, size - 1);
    cp_safetensors *file = cp_st_parse(bytes, size + 7, "fuzz", &status);
    free(bytes);
    if (!file == !status.message[0]) __builtin_trap();
    for (size_t i = 0; file && i < cp_st_count(file); i++) {
        const cp_st_entry *entry = cp_st_entry_at(file, i);
        cp_real           *out = malloc((entry->count + 1) * sizeof *out);
        if (cp_st_find(file, entry->name) != entry || !out) __builtin_trap();
        cp_st_to_real(file, entry, out, &status);
        free(out);
    }
    cp_st_free(file);
    return 0;
}
