/* Parameter sets in safetensors files, by name, in PyTorch's layout. */
#pragma once

#include "core/io/safetensors.h"
#include "layers/params.h"

/* The prefix of names that are not parameters but other parts of a checkpoint. */
#define CP_PARAMS_RESERVED "couplet."

/* Adds every entry to the writer; elements are F32, or F64 where F32 would lose precision (double builds only). */
void cp_params_store(const cp_params *params, cp_st_writer *writer);

/* Adds an array in the same way. */
void cp_reals_store(cp_st_writer *writer, const char *name, int rank, const int64_t *dims, const cp_real *data);

/* Reads and checks new values for every entry of a set without changing it: one entry after the other, in the layout of memory; free()
 * them. NULL, with a message, when an entry is missing or has another shape or type, or when the file has a tensor that is not in the set
 * (except PyTorch's num_batches_tracked). */
cp_real *cp_params_stage(const cp_params *params, const cp_safetensors *file, const char *path, cp_status *status);
void     cp_params_commit(cp_params *params, const cp_real *values); /* copies them into the set */

/* Until it is called with NULL, the set accepts only entries that the file has, with the same shape, and rejects others, with a message in
 * status, before memory is allocated for them. So a description in a file cannot make a model larger than the file. */
typedef struct cp_params_source {
    const cp_safetensors *file;
    cp_status            *status;
} cp_params_source;
void cp_params_expect(cp_params *params, cp_params_source *source);

/* Both steps: after an error the set is unchanged. */
bool cp_params_load(cp_params *params, const cp_safetensors *file, const char *path, cp_status *status);

/* The same with the file's path alone, and writing such a file: the values of a set, by name, without a model around them. */
bool cp_params_read(cp_params *params, const char *path, cp_status *status);
bool cp_params_save(const cp_params *params, const char *path, cp_status *status);

/* What became of each entry of the set, and of each further tensor of the file, in a partial load. */
typedef enum cp_match {
    CP_MATCH_LOADED,
    CP_MATCH_MISSING, /* the file has no tensor of this name: the entry keeps its values */
    CP_MATCH_SHAPE,   /* the file's tensor has another shape: the same */
    CP_MATCH_UNUSED,  /* the set has no entry of this name */
    CP_MATCHES,
} cp_match;

typedef struct cp_load_report {
    int counts[CP_MATCHES];
    int count; /* lines */
    struct cp_load_line {
        char     name[160];
        cp_match match;
    } * lines;
} cp_load_report;

/* Loads the entries whose names and shapes the file has; if there are none, that is an error. report may be NULL; free it otherwise. */
bool cp_params_load_some(cp_params *params, const char *path, cp_load_report *report, cp_status *status);
void cp_load_report_print(FILE *file, const cp_load_report *report); /* the counts, and the lines that were not loaded */
void cp_load_report_free(cp_load_report *report);
