/* The state of an object that a run needs to resume: named arrays, visited one by one.
 *
 *     cp_state state;
 *     for (int i = 0; cp_optim_state(optim, i, &state); i++)
 *         cp_st_writer_add(writer, state.name, state.dtype, state.rank, state.dims, state.data);
 *
 * To restore it, visit an object with the same settings and write the saved bytes to state.data; `fixed` state is compared
 * instead. */
#pragma once

#include "core/io/dtype.h"
#include "core/tensor.h"

typedef struct cp_state {
    char     name[192]; /* "conv1.weight.momentum" */
    cp_dtype dtype;
    int      rank;
    int64_t  dims[CP_MAX_RANK];
    size_t   bytes;
    void    *data;     /* memory of the object, in this machine's byte order */
    bool     fixed;    /* a setting, which must be equal and is not restored */
    double   min, max; /* range of the values; both 0: unlimited */
} cp_state;

#define CP_STATE_MAX_COUNT 0x1p53 /* counts above it could overflow */

/* For writing such a function. The name is "path.leaf", or "leaf" when path is empty. */
cp_state cp_state_array(const char *path, const char *leaf, cp_dtype dtype, cp_shape shape, void *data);
cp_state cp_state_tensor(const char *path, const char *leaf, cp_tensor *tensor);
cp_state cp_state_integer(const char *leaf, int64_t *value);            /* an I64 of shape (), from 0 to CP_STATE_MAX_COUNT */
cp_state cp_state_fixed(const char *leaf, cp_dtype dtype, void *value); /* of shape () */
cp_state cp_state_within(cp_state state, double min, double max);

/* Whether values that were read are in the range of the state, with a message that begins with `what` if not. A NaN is out of range,
 * except in an array: a diverging run must resume bit for bit. */
bool cp_state_check(const cp_state *state, const void *values, const char *what, cp_status *status);
