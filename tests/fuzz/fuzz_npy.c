/* The .npy reader. */
#include "core/io/npy.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cp_status status = {0};
    cp_npy    npy;
    if (cp_npy_parse(data, size, "fuzz", &npy, &status) != !status.message[0]) __builtin_trap();
    if (npy.data) {
        free(cp_npy_to_real(&npy, "fuzz", &status));
        free(cp_npy_to_int32(&npy, "fuzz", &status));
    }
    cp_npy_free(&npy);
    return 0;
}
