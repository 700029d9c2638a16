/* The replay buffer: samples of earlier steps, from which chains continue, so that many short runs make a long one.
 *
 *     cp_replay *replay = cp_replay_new((cp_replay_config){.shape = CP_SHAPE(28, 28, 3)});
 *     ... each training step ...
 *     cp_replay_draw(replay, &rng, NULL, x, index, NULL);       // x (64, 28, 28, 3), index (64)
 *     cp_model_target target = {.model = model};
 *     cp_sgld_run(tape, cp_model_energy_of, &target, x, &sgld, &rng, NULL);
 *     cp_replay_return(replay, index, x, NULL);
 *
 * A chain drawn from an empty entry starts from scratch; so does a share of the others. */
#pragma once

#include "core/random.h"
#include "core/tensor.h"
#include "optim/start.h"

typedef struct cp_replay cp_replay;

/* Samples are stored in half precision: it halves the memory (10,000 images of 28x28x3 take 47 MB), and for values in [-1, 1] its
 * rounding (at most 2.5e-4) is far below the noise of a single step (0.01) and the steps of 8-bit images (7.8e-3). One byte per
 * value would round at the scale of the noise. Values beyond +-65504 are stored as +-65504. */
typedef struct cp_replay_config {
    int      capacity;    /* entries; 0: 10,000 */
    cp_shape shape;       /* of a sample, with at most CP_MAX_RANK - 1 axes */
    double   fresh_share; /* the probability that a chain is re-initialized; 0: 0.05; below 0: never */

    /* 0: chains without a class, of label -1. Otherwise entry i always belongs to class i % classes, a fresh chain
     * starts from that class (with CP_START_CLASS_GAUSSIAN), and chains can be drawn by class. */
    int classes;

    cp_start start;
} cp_replay_config;

cp_replay *cp_replay_new(cp_at at, cp_replay_config config); /* NULL (misuse) for an invalid config */
void       cp_replay_free(cp_replay *replay);                /* NULL is allowed */

/* Fills x (n, dims...), a tensor that is not on a tape, with n chains from n different entries, drawn uniformly: all
 * of the entries, or, when `wanted` (n) is not NULL, those of class wanted[i] for chain i (below 0: all). index (n)
 * gets the entries' numbers, for cp_replay_return; labels (n), unless NULL, their classes. More chains than entries, in
 * the buffer or a class, is misuse. */
bool cp_replay_draw(cp_at at, cp_replay *replay, cp_rng *rng, const int *wanted, cp_tensor *x, int *index, int *labels);

/* Stores the chains of x at their entries. A chain with a value that is not finite, or with drop[i] set (drop may be NULL;
 * `stuck` of cp_sgld_config is suitable), empties its entry instead, which then starts from scratch. Returns the number of
 * stored chains, -1 after misuse. */
int cp_replay_return(cp_at at, cp_replay *replay, const int *index, const cp_tensor *x, const bool *drop);

/* Empties all entries: every chain starts from scratch. The counts do not change. */
void cp_replay_clear(cp_replay *replay);

/* NULL has no entries. */
int  cp_replay_capacity(const cp_replay *replay);
int  cp_replay_filled(const cp_replay *replay);                          /* entries that hold a chain */
int  cp_replay_label(const cp_replay *replay, int entry);                /* -1: no class, or no such entry */
bool cp_replay_sample(const cp_replay *replay, int entry, cp_real *out); /* false, and out untouched, when it is empty */

typedef struct cp_replay_counts {
    int64_t drawn;   /* chains drawn */
    int64_t fresh;   /* of these, started from scratch although the entry had a chain */
    int64_t dropped; /* returned chains that were dropped */
} cp_replay_counts;
cp_replay_counts cp_replay_counted(const cp_replay *replay);

/* "samples" (capacity, dims...) F16 or cp_real; "visits" (capacity) I32, how often a chain was returned to the entry, 0: empty;
 * "drawn", "fresh", "dropped"; "classes" (fixed). The start distribution is not included: a class Gaussian has its own state. */
bool cp_replay_state(cp_replay *replay, int i, cp_state *state);

#define cp_replay_new(...) cp_replay_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_replay_draw(...) cp_replay_draw(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_replay_return(...) cp_replay_return(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
