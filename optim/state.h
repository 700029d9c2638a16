/* What an object must remember so that a run can be continued: named arrays, walked one by one.
 *
 *     cp_state state;
 *     for (int i = 0; cp_optim_state(optim, i, &state); i++)
 *         cp_st_writer_add(writer, state.name, state.dtype, state.rank, state.dims, state.data);
 *
 * Restoring is the same walk over an object made in the same way, with the saved bytes written to state.data;
 * what is `fixed` is compared instead. */
#ifndef CP_STATE_H
#define CP_STATE_H

#include "core/io/dtype.h"
#include "core/tensor.h"

typedef struct cp_state {
    char     name[192]; /* "conv1.weight.momentum" */
    cp_dtype dtype;
    int      rank;
    int64_t  dims[CP_MAX_RANK];
    size_t   bytes;
    void    *data;     /* the object's own memory, in this machine's byte order */
    bool     fixed;    /* set when the object was made: it must be equal rather than be restored */
    double   min, max; /* what the values may be; both 0: anything */
} cp_state;

#define CP_STATE_MAX_COUNT 0x1p53 /* a count can go on from there without overflow */

/* For those who write such a walk. The name is "path.leaf", or "leaf" when path is empty. */
cp_state cp_state_array(const char *path, const char *leaf, cp_dtype dtype, cp_shape shape, void *data);
cp_state cp_state_tensor(const char *path, const char *leaf, cp_tensor *tensor);
cp_state cp_state_integer(const char *leaf, int64_t *value);            /* an I64 of shape (), from 0 to CP_STATE_MAX_COUNT */
cp_state cp_state_fixed(const char *leaf, cp_dtype dtype, void *value); /* of shape () */
cp_state cp_state_within(cp_state state, double min, double max);

/* Whether values that were read for a piece of state are within its range, with a message that begins with `what` if not. A NaN is
 * outside, but not in an array: a run that has gone astray must go on as it would have. */
bool cp_state_check(const cp_state *state, const void *values, const char *what, cp_status *status);

#endif
