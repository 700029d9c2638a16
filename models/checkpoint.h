/* Checkpoints: everything a run needs to go on, in one safetensors file, written in one step.
 *
 *     cp_checkpoint_part parts[] = {cp_part_optim(adam), cp_part_rng("sgld", &noise), cp_part_replay(replay)};
 *     cp_checkpoint all = {.model = model, .parts = parts, .part_count = 3};
 *     cp_checkpoint_save(&all, "run.safetensors", &status);
 *     ... in another process, with objects made in the same way ...
 *     cp_checkpoint_load(&all, "run.safetensors", &status);
 *
 * Tensors of the model have PyTorch's names and layout; the other parts are under couplet.NAME. Metadata key `couplet` describes
 * the model. A load checks everything before it changes anything: after an error all objects are as they were. */
#ifndef CP_CHECKPOINT_H
#define CP_CHECKPOINT_H

#include "models/model.h"
#include "optim/ema.h"
#include "optim/optim.h"
#include "optim/replay.h"
#include "optim/schedule.h"

/* An object that can be walked as named arrays (see optim/state.h). */
typedef struct cp_checkpoint_part {
    const char *name; /* "optim", "sgld", ... */
    void       *object;
    bool (*walk)(void *object, int i, cp_state *state);
} cp_checkpoint_part;

cp_checkpoint_part cp_part_optim(cp_optim *optim);
cp_checkpoint_part cp_part_ema(cp_ema *ema);
cp_checkpoint_part cp_part_schedule(cp_schedule *schedule);
cp_checkpoint_part cp_part_replay(cp_replay *replay);
cp_checkpoint_part cp_part_rng(const char *name, cp_rng *rng);
cp_checkpoint_part cp_part_integer(const char *name, int64_t *value); /* a position in the data, a count of epochs */

typedef struct cp_checkpoint_pair {
    const char *key, *value;
} cp_checkpoint_pair;

typedef struct cp_checkpoint {
    cp_model                 *model; /* or, without a description: */
    cp_params                *params;
    const cp_checkpoint_part *parts;
    int                       part_count;
    const cp_checkpoint_pair *metadata; /* the user's; written by save */
    int                       metadata_count;
} cp_checkpoint;

bool cp_checkpoint_save(const cp_checkpoint *checkpoint, const char *path, cp_status *status);
bool cp_checkpoint_load(const cp_checkpoint *checkpoint, const char *path, cp_status *status);

/* A model on its own: made from the file's description, with its values. NULL after an error. */
cp_model *cp_model_load(const char *path, cp_status *status);
bool      cp_model_save(cp_model *model, const char *path, cp_status *status);

#endif
