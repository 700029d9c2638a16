/* The tape's inside, shared by the files that record, sweep and show it. */
#ifndef CP_TAPE_INSIDE_H
#define CP_TAPE_INSIDE_H

#include "core/op.h"

/* Persistent tensors carry no mark of the tapes that use them; each tape finds their ids here, by address. An entry counts
 * only when its step is the tape's: a reset empties the table by counting one up. */
typedef struct cp_foreign {
    const cp_tensor *tensor;
    unsigned         step;
    int              id;
} cp_foreign;

struct cp_tape {
    cp_arena *arena;
    bool      paused, frozen;

    const char *op; /* the one that checked its arguments last, for messages */

    cp_node *nodes;
    int      node_count, node_room;

    cp_tensor **values; /* the tracked tensors by id: leaves and results */
    int         value_count, value_room;

    cp_foreign *foreign;
    int         foreign_count, foreign_room; /* room is a power of two */
    unsigned    step;

    /* The sweep's: by id. */
    cp_tensor    **grads;
    unsigned char *marks;
    int            sweep_room;
    bool           collecting; /* list what is made, so that it can be given back early */
    cp_tensor     *made;
    void         **loose; /* tensors and attributes made meanwhile: given back when the sweep ends */
    int            loose_count, loose_room;
};

enum { CP_ON_THE_WAY = 1, CP_WANTED = 2 }; /* marks: leads to a wanted value; is one */

/* The id of a tensor among the tape's tracked values, or -1: a constant, or a parameter that was not used. */
int cp_tape_find(const cp_tape *tape, const cp_tensor *t);

/* Marks what lies between the wanted ids (marked CP_WANTED by the caller, all else 0) and the end of the record. */
void cp_tape_mark(cp_tape *tape);

/* Makes grads and marks large enough for every id and clears them; false when out of memory. */
bool cp_tape_sweep_room(cp_at at);

/* realloc for arrays that grow by doubling; false after cp_misuse when out of memory. */
bool cp_tape_grow(cp_at at, void **array, int *room, int needed, size_t item);

#endif
