/* Entries of a walk over an object's state. */
#include "optim/state.h"

#include <math.h>
#include <stdio.h>

cp_state cp_state_array(const char *path, const char *leaf, cp_dtype dtype, cp_shape shape, void *data) {
    cp_state state = {.dtype = dtype, .rank = shape.rank, .bytes = cp_dtype_size(dtype), .data = data};
    snprintf(state.name, sizeof state.name, "%s%s%s", path, *path ? "." : "", leaf);
    for (int i = 0; i < shape.rank; i++) {
        state.dims[i] = shape.dims[i];
        state.bytes *= (size_t)shape.dims[i];
    }
    return state;
}

cp_state cp_state_tensor(const char *path, const char *leaf, cp_tensor *tensor) {
    return cp_state_array(path, leaf, CP_REAL_DTYPE, tensor->shape, tensor->data);
}

cp_state cp_state_within(cp_state state, double min, double max) {
    state.min = min;
    state.max = max;
    return state;
}

cp_state cp_state_integer(const char *leaf, int64_t *value) {
    return cp_state_within(cp_state_array("", leaf, CP_I64, CP_SCALAR, value), 0, CP_STATE_MAX_COUNT);
}

cp_state cp_state_fixed(const char *leaf, cp_dtype dtype, void *value) {
    cp_state state = cp_state_array("", leaf, dtype, CP_SCALAR, value);
    state.fixed = true;
    return state;
}

bool cp_state_check(const cp_state *state, const void *values, const char *what, cp_status *status) {
    size_t width = cp_dtype_size(state->dtype), count = state->min == 0 && state->max == 0 ? 0 : state->bytes / width;
    for (size_t i = 0; i < count; i++) {
        double value;
        cp_elements_to_double(state->dtype, (const char *)values + i * width, 1, &value);
        bool passes = isnan(value) ? state->rank > 0 : value >= state->min && value <= state->max;
        if (!passes) return cp_fail(status, "%s: value %zu is %g; %g to %g is possible", what, i, value, state->min, state->max);
    }
    return true;
}
