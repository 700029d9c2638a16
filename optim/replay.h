/* The replay buffer: the samples of earlier steps, from which chains go on, so that many short runs make a long one.
 *
 *     cp_replay *replay = cp_replay_new((cp_replay_config){.shape = CP_SHAPE(28, 28, 3)});
 *     ... each training step ...
 *     cp_replay_draw(replay, &rng, NULL, x, index, NULL);       // x (64, 28, 28, 3), index (64)
 *     cp_model_target target = {.model = model};
 *     cp_sgld_run(tape, cp_model_energy_of, &target, x, &sgld, &rng, NULL);
 *     cp_replay_return(replay, index, x, NULL);
 *
 * A chain drawn from an entry that no chain was returned to yet starts afresh; so does a share of the others. */
#ifndef CP_REPLAY_H
#define CP_REPLAY_H

#include "core/random.h"
#include "core/tensor.h"
#include "optim/start.h"

typedef struct cp_replay cp_replay;

/* Half precision is the default: it halves the memory (10,000 images of 28x28x3 take 47 MB), and for values in [-1,
 * 1] its rounding (at most 2.5e-4) is far below the noise of a single step (0.01) and the steps of 8-bit images
 * (7.8e-3). A byte per value would round at the scale of the noise itself. Values beyond +-65504 are stored as
 * +-65504. */
typedef enum cp_replay_storage {
    CP_REPLAY_FLOAT16,
    CP_REPLAY_EXACT, /* cp_real: chains go on from the very bits they had */
} cp_replay_storage;

typedef struct cp_replay_config {
    int      capacity;    /* entries; 0: 10,000 */
    cp_shape shape;       /* of a sample, with at most CP_MAX_RANK - 1 axes */
    double   fresh_share; /* the probability that a chain is re-initialized; 0: 0.05; below 0: never */

    /* 0: chains without a class, of label -1. Otherwise entry i belongs to class i % classes for good, a fresh chain
     * starts from that class (with CP_START_CLASS_GAUSSIAN), and chains can be drawn by class. */
    int classes;

    cp_replay_storage storage;
    cp_start          start;
} cp_replay_config;

cp_replay *cp_replay_new(cp_at at, cp_replay_config config); /* NULL (misuse) when the config does not fit */
void       cp_replay_free(cp_replay *replay);                /* NULL is allowed */

/* Fills x (n, dims...), a tensor that is not on a tape, with n chains from n different entries, drawn uniformly: all
 * of the entries, or, when `wanted` (n) is not NULL, those of class wanted[i] for chain i (below 0: all). index (n)
 * gets the entries' numbers, for the return; labels (n), unless NULL, their classes. More chains than entries, of
 * the buffer or a class, is misuse. */
bool cp_replay_draw(cp_at at, cp_replay *replay, cp_rng *rng, const int *wanted, cp_tensor *x, int *index, int *labels);

/* Stores the chains of x at their entries. A chain that has a value that is not finite, or for which drop[i] is set
 * (drop may be NULL; cp_sgld_config's `stuck` fits), empties its entry instead: that starts afresh the next time.
 * Returns how many were stored, -1 after misuse. */
int cp_replay_return(cp_at at, cp_replay *replay, const int *index, const cp_tensor *x, const bool *drop);

/* Empties all entries: every chain starts afresh. The counts stay. */
void cp_replay_clear(cp_replay *replay);

/* A buffer that is NULL has no entries. */
int  cp_replay_capacity(const cp_replay *replay);
int  cp_replay_filled(const cp_replay *replay);                          /* entries that hold a chain */
int  cp_replay_label(const cp_replay *replay, int entry);                /* -1: it has no class, or there is no such entry */
bool cp_replay_sample(const cp_replay *replay, int entry, cp_real *out); /* false, and out untouched, when it is empty */

typedef struct cp_replay_counts {
    int64_t drawn;   /* chains handed out */
    int64_t fresh;   /* of these, started afresh from an entry that held a chain */
    int64_t dropped; /* chains that came back unusable */
} cp_replay_counts;
cp_replay_counts cp_replay_counted(const cp_replay *replay);

/* "samples" (capacity, dims...) F16 or cp_real; "visits" (capacity) I32, how often a chain came back to the entry,
 * 0: empty; "drawn", "fresh", "dropped"; "classes" (fixed). The start distribution is not part of it: a class
 * Gaussian has a walk of its own. */
bool cp_replay_state(cp_replay *replay, int i, cp_state *state);

#define cp_replay_new(...) cp_replay_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_replay_draw(...) cp_replay_draw(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_replay_return(...) cp_replay_return(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

#endif
