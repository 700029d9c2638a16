/* Parameter sets in safetensors files, by name, in PyTorch's layout. */
#ifndef CP_PARAMS_FILE_H
#define CP_PARAMS_FILE_H

#include "core/io/safetensors.h"
#include "layers/params.h"

/* Names with this prefix are not parameters: a checkpoint's other parts. */
#define CP_PARAMS_RESERVED "couplet."

/* Adds every entry to a file in the making; elements are F32, or F64 where F32 would lose something (double builds
 * only). */
void cp_params_store(const cp_params *params, cp_st_writer *writer);

/* Numbers of this build as F32, or F64 where that is needed to lose nothing. */
void cp_reals_store(cp_st_writer *writer, const char *name, int rank, const int64_t *dims, const cp_real *data);

/* New values for every entry of a set, read and checked, not yet in place: one entry after the other, in memory's layout; free()
 * them. NULL, with a message, when an entry is missing, has another shape or type, or when the file has a tensor that the set does
 * not know (PyTorch's num_batches_tracked excepted). */
cp_real *cp_params_stage(const cp_params *params, const cp_safetensors *file, const char *path, cp_status *status);
void     cp_params_commit(cp_params *params, const cp_real *values); /* puts them in place */

/* Until it is called with NULL, the set takes only entries that the file has, with the same shape: others are kept out, with a message
 * in status, before any memory is taken for them. What a file describes can then not be larger than what it holds. */
typedef struct cp_params_source {
    const cp_safetensors *file;
    cp_status            *status;
} cp_params_source;
void cp_params_expect(cp_params *params, cp_params_source *source);

/* Both steps: after an error the set is as it was. */
bool cp_params_load(cp_params *params, const cp_safetensors *file, const char *path, cp_status *status);

#endif
