/* The tape's inside, shared by the files that record, sweep and show it. */
#ifndef CP_TAPE_INTERNAL_H
#define CP_TAPE_INTERNAL_H

#include "core/op.h"

/* Persistent tensors carry no mark of the tapes that use them; each tape finds their ids here, by address. An entry counts
 * only when its step is the tape's: a reset empties the table by counting one up. */
typedef struct cp_external {
    const cp_tensor *tensor;
    unsigned         step;
    int              id; /* CP_ID_FROZEN: used, but as a constant */
} cp_external;

enum { CP_ID_FROZEN = -2 };

/* The tape's tensors, as opposed to their values: a ring, so that a pointer from before a reset still finds its tensor, whose step
 * tells. A place is used again only after all others, and never in the step after its own. */
typedef struct cp_tensor_ring {
    struct cp_ring_part *part;  /* where tensors are cut from now; the parts form a circle */
    int                  used;  /* in this part */
    cp_tensor           *free;  /* given back by a sweep, for its own use */
    size_t               count; /* made since the reset */
} cp_tensor_ring;

/* Small memory that lives until the reset, or, taken in a sweep that is not recorded, until its end: nodes and attributes. */
typedef struct cp_slab {
    struct cp_slab_part *first, *part; /* part: where memory is cut from now; those after it are empty */
    size_t               used;         /* bytes of this part */
    size_t               bytes;        /* of all since the reset */
    struct cp_loose     *loose;        /* larger memory from the arena that a sweep gives back */
} cp_slab;

/* What a sweep knows of a value. */
typedef struct cp_slot {
    cp_tensor *grad;
    enum { CP_MARK_NONE, CP_MARK_PATH, CP_MARK_TARGET } mark; /* leads to a wanted value; is one */
} cp_slot;

/* Who looks on while a sweep runs, to tell what it does. A watcher reads, and makes nothing on the tape. */
typedef struct cp_watcher {
    void *user;
    void (*rule)(void *user, const cp_node *node, const cp_tensor *g);           /* about to run; g is complete */
    void (*part)(void *user, const cp_node *node, int i, const cp_tensor *part); /* what it gave for input i */
    void (*sum)(void *user, const cp_node *node, int i, const cp_tensor *sum);   /* the gradient of input i with this part */
    void (*done)(void *user, const cp_node *node);                               /* what only this rule needed was given back */
} cp_watcher;

struct cp_tape {
    cp_arena            *arena; /* values */
    cp_tensor_ring       ring;
    struct cp_ring_part *ring_blocks; /* to be freed */
    cp_slab              slab;
    size_t               small_peak; /* the most that ring and slab ever had in use */
    bool                 paused, frozen;
    bool                 failed; /* an error was reported since the last reset: NULL arguments come from it and are no news */
    unsigned             step;   /* counts the resets, from 1 */
    const char          *op;     /* the one that checked its arguments last, for messages */

    cp_node **nodes;
    int       node_count, node_room;

    cp_tensor **values; /* the tracked tensors by id: leaves and results */
    int         value_count, value_room;

    cp_external *foreign;
    int          foreign_count, foreign_room; /* room is a power of two */

    /* The sweep's: by id. */
    cp_slot    *slots;
    int         slot_room;
    bool        collecting; /* list what is made, so that it can be given back early */
    cp_tensor  *made;
    cp_watcher *watch; /* or NULL */
};

/* ---- memory: core/tape_memory.c ---- */

bool cp_tape_memory_start(cp_tape *tape); /* false when out of memory */
void cp_tape_memory_reset(cp_tape *tape); /* after the step was counted */
void cp_tape_memory_free(cp_tape *tape);

/* What was taken after the mark and is not a value in the arena is gone with the rewinding. */
typedef struct cp_memory_mark {
    cp_tensor_ring ring;
    cp_slab        slab;
} cp_memory_mark;
cp_memory_mark cp_tape_memory_mark(const cp_tape *tape);
void           cp_tape_memory_rewind(cp_tape *tape, cp_memory_mark mark);

cp_tensor *cp_tensor_make(cp_at at, cp_shape shape, size_t size); /* without values */
bool       cp_values_take(cp_at at, cp_tensor *t);                /* gives it memory for them */
void       cp_values_release(cp_tape *tape, cp_tensor *t);        /* takes it back */
void       cp_tensor_recycle(cp_tape *tape, cp_tensor *t);        /* a sweep's: nothing refers to it any more */

/* realloc for arrays that grow by doubling; false after cp_misuse when out of memory. */
bool cp_tape_grow(cp_at at, void **array, int *room, int needed, size_t item);

/* ---- the record: core/tape.c ---- */

/* The id of a tensor among the tape's tracked values, -1 (a constant, or a parameter that was not used) or CP_ID_FROZEN. */
int cp_tape_find(const cp_tape *tape, const cp_tensor *t);

#endif
