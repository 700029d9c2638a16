/* Checkpoints: everything a run needs to resume, in one safetensors file that is written atomically.
 *
 *     cp_checkpoint_part parts[] = {cp_part_optim(adam), cp_part_rng("sgld", &noise), cp_part_replay(replay)};
 *     cp_checkpoint all = {.model = model, .parts = parts, .part_count = 3};
 *     cp_checkpoint_save(&all, "run.safetensors", &status);
 *     ... in another process, with objects made in the same way ...
 *     cp_checkpoint_load(&all, "run.safetensors", &status);
 *
 * Tensors of the model have PyTorch's names and layout; the other parts are named couplet.NAME and
 * stored as in memory: Adam's m of a convolution is (kh,kw,in,out). Metadata key `couplet` describes the model.
 *
 * A load checks everything before it changes anything: after an error all objects are as they were. The description
 * must be the model's, and what was set when an object was made (an optimizer's kind, betas and weight decay, an
 * average's decay) must be the same; the rate is restored. Impossible state (a negative count, a rate of NaN) is neither
 * loaded nor saved. Parts in the file that the load does not ask for are ignored.
 *
 * When a load fails, status.kind says why: CP_STATUS_MISSING, the file does not exist, so a run may start from scratch;
 * CP_STATUS_DAMAGED, the file is corrupt; CP_STATUS_FAILED, it is for another model or could not be read. */
#pragma once

#include "models/model.h"
#include "optim/ema.h"
#include "optim/optim.h"
#include "optim/replay.h"
#include "optim/schedule.h"
#include "optim/start.h"

/* An object that can be walked as named arrays (see optim/state.h). */
typedef struct cp_checkpoint_part {
    const char *name; /* "optim", "sgld", ...; to be changed for a second part of its kind; lives as long as the part */
    void       *object;
    bool (*walk)(void *object, int i, cp_state *state);
    const char *(*busy)(const void *object); /* the reason it cannot be saved or loaded now, or NULL; optional */

    /* Checks values against each other, for an object that is one plain struct of `size` bytes: it sees a copy with the values that were
     * read before anything is changed. NULL: the ranges of the states are enough. */
    size_t size;
    bool (*check)(const void *candidate, cp_status *why);
} cp_checkpoint_part;

cp_checkpoint_part cp_part_optim(cp_optim *optim);
cp_checkpoint_part cp_part_ema(cp_ema *ema); /* an error while the average is swapped in */
cp_checkpoint_part cp_part_schedule(cp_schedule *schedule);
cp_checkpoint_part cp_part_replay(cp_replay *replay);
cp_checkpoint_part cp_part_class_gaussian(cp_class_gaussian *gaussian); /* of a replay buffer's start */
cp_checkpoint_part cp_part_rng(const char *name, cp_rng *rng);
cp_checkpoint_part cp_part_integer(const char *name, int64_t *value); /* a position in the data, a count of epochs: 0 to 2^53 */

typedef struct cp_checkpoint_pair {
    const char *key, *value;
} cp_checkpoint_pair;

typedef struct cp_checkpoint {
    cp_model                 *model;  /* or, without a description in the file: */
    cp_params                *params; /* both NULL: only the parts */
    const cp_checkpoint_part *parts;
    int                       part_count;
    const cp_checkpoint_pair *metadata; /* of the program; written by save, read by cp_checkpoint_metadata */
    int                       metadata_count;
} cp_checkpoint;

bool cp_checkpoint_save(const cp_checkpoint *checkpoint, const char *path, cp_status *status);
bool cp_checkpoint_load(const cp_checkpoint *checkpoint, const char *path, cp_status *status);

/* The value of a key: text to free, or NULL and a message when the file or the key is not there. */
char *cp_checkpoint_metadata(const char *path, const char *key, cp_status *status);

/* A model on its own: made from the file's description, with its values. NULL after an error. */
cp_model *cp_model_load(const char *path, cp_status *status);
bool      cp_model_save(cp_model *model, const char *path, cp_status *status);
