/* Entries of a walk over an object's state. */
#include "optim/state.h"

#include <stdio.h>

cp_state cp_state_array(const char *path, const char *leaf, cp_dtype dtype, int rank, const int *dims, void *data) {
    cp_state state = {.dtype = dtype, .rank = rank, .bytes = cp_dtype_size(dtype), .data = data};
    snprintf(state.name, sizeof state.name, "%s%s%s", path, *path ? "." : "", leaf);
    for (int i = 0; i < rank; i++) {
        state.dims[i] = dims[i];
        state.bytes *= (size_t)dims[i];
    }
    return state;
}

cp_state cp_state_tensor(const char *path, const char *leaf, cp_tensor *tensor) {
    return cp_state_array(path, leaf, CP_REAL_DTYPE, tensor->rank, tensor->dims, tensor->data);
}

cp_state cp_state_integer(const char *leaf, int64_t *value) {
    return cp_state_array("", leaf, CP_I64, 0, NULL, value);
}

cp_state cp_state_fixed(const char *leaf, cp_dtype dtype, void *value) {
    cp_state state = cp_state_array("", leaf, dtype, 0, NULL, value);
    state.fixed = true;
    return state;
}
