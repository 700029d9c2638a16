/* The struct of the tape, for the files that record, sweep and show it. */
#pragma once

#include "core/op.h"

/* Maps persistent tensors, which do not know the tapes that use them, to ids on this tape. An entry is valid only when its step is the
 * tape's: a reset empties the table by incrementing the step. */
typedef struct cp_external {
    const cp_tensor *tensor;
    unsigned         step;
    int              id; /* CP_ID_FROZEN: used as a constant */
} cp_external;

enum { CP_ID_FROZEN = -2 };

/* The structs of the tape's tensors: a ring, so that a pointer from before a reset still finds its tensor, whose step shows that it is
 * stale. An element is reused only after all others, and never in the step after its own. */
typedef struct cp_tensor_ring {
    struct cp_ring_part *part;  /* the part in use; the parts form a circle */
    int                  used;  /* tensors of this part */
    cp_tensor           *free;  /* released by a sweep, for reuse in it */
    size_t               count; /* made since the reset */
} cp_tensor_ring;

/* Memory for nodes and attributes, which lives until the reset or, in a sweep that is not recorded, until the end of the sweep. */
typedef struct cp_slab {
    struct cp_slab_part *first, *part; /* part: the one in use; those after it are empty */
    size_t               used;         /* bytes of this part */
    size_t               bytes;        /* since the reset */
    struct cp_loose     *loose;        /* larger blocks from the arena that the sweep releases */
} cp_slab;

/* A persistent tensor that the rule of a node reads, input `input`, and its version when the node was recorded. */
typedef struct cp_read {
    int      node, input;
    unsigned version;
} cp_read;

/* The state of a value in a sweep. */
typedef struct cp_slot {
    cp_tensor *grad;
    enum { CP_MARK_NONE, CP_MARK_PATH, CP_MARK_TARGET } mark; /* on the path to a requested value; requested */
} cp_slot;

/* A named group of neighboring nodes. */
typedef struct cp_scope {
    char name[CP_SCOPE_NAME];
    int  parent; /* from 1; 0: none */
    int  first;  /* number of nodes when it began */
} cp_scope;

/* Callbacks that observe a sweep, such as a trace. They only read the tape. */
typedef struct cp_watcher {
    void *user;
    void (*rule)(void *user, const cp_node *node, const cp_tensor *g);           /* the rule is about to run; g is complete */
    void (*part)(void *user, const cp_node *node, int i, const cp_tensor *part); /* its gradient for input i */
    void (*sum)(void *user, const cp_node *node, int i, const cp_tensor *sum);   /* the sum for input i including this part */
    void (*done)(void *user, const cp_node *node);                               /* memory that only this rule needed is released */
} cp_watcher;

/* Finds a program's loop without cp_tape_reset: sweeps at one place, each over nodes recorded since the one before. */
typedef struct cp_loop_watch {
    const char *file; /* the place; NULL: none yet */
    int         line;
    int         length, growth; /* nodes at the last sweep there, and how many were new */
    int         reach;          /* the first node that a sweep has used since */
    int         equal;          /* sweeps in a row with the same growth */
    int         elsewhere;      /* sweeps at other places since */
    int         sweeps;         /* all since the reset */
    bool        warned;
} cp_loop_watch;

struct cp_tape {
    cp_arena            *arena; /* values */
    cp_tensor_ring       ring;
    struct cp_ring_part *ring_blocks; /* all parts, to free them */
    cp_slab              slab;
    size_t               small_peak; /* peak number of bytes in ring and slabs */
    bool                 paused, frozen;
    bool                 recomputing;
    struct cp_tape      *inner;  /* of cp_recompute; NULL: not used yet */
    bool                 failed; /* an error was reported since the last reset: NULL arguments come from it */
    unsigned             step;   /* counts the resets, from 1 */
    const char          *op;     /* the last op that checked its arguments, and its caller's place, for messages */
    const char          *op_file;
    int                  op_line;
    cp_loop_watch        loop;
    _Atomic(const void *)
        owner; /* the thread that uses the tape: the address of something of its own; NULL: none since the reset */

    cp_node **nodes;
    int       node_count, node_room;

    cp_read *reads; /* in the order of the nodes */
    int      read_count, read_room;

    cp_tensor **values; /* the tracked tensors by id: leaves and results */
    int         value_count, value_room;

    cp_scope *scopes;
    int       scope_count, scope_room;
    int       scope; /* the open one, from 1; 0: none */

    cp_external *externals;
    int          external_count, external_room; /* room is a power of two */

    /* Of the sweep, by id: */
    cp_slot    *slots;
    int         slot_room;
    bool        collecting; /* list new tensors, so that they can be released early */
    cp_tensor  *made;
    int         lowest; /* the node of its last rule */
    int         first;  /* the node that it ends with */
    cp_watcher *watch;  /* or NULL */
};

/* Rewinding to a mark releases all tensors, nodes and attributes since then, but not values in the arena. */
typedef struct cp_memory_mark {
    cp_tensor_ring ring;
    cp_slab        slab;
} cp_memory_mark;
cp_memory_mark cp_tape_memory_mark(const cp_tape *tape);
void           cp_tape_memory_rewind(cp_tape *tape, cp_memory_mark mark);

cp_tensor *cp_tensor_make(cp_at at, cp_shape shape, size_t size); /* without values */
bool       cp_values_take(cp_at at, cp_tensor *t);                /* allocates its values */
void       cp_values_release(cp_tape *tape, cp_tensor *t);        /* releases its values */
void       cp_tensor_recycle(cp_tape *tape, cp_tensor *t);        /* of a sweep, when nothing refers to it any more */

/* For forward mode: the checks of a sweep of `op` from `of`, and the rule of node i alone (g NULL: its checks) for the inputs in `need`. */
bool cp_sweep_fits(cp_at at, const char *op, cp_tensor *of, cp_tensor *const *wrt, int n, cp_tensor **out);
bool cp_rule_run(cp_at at, const char *op, int i, cp_tensor *g, cp_tensor **gin);

/* A recorded sweep within a rule, over the nodes from `first` on: d sum(seed out) / d wrt[i] through these. */
bool cp_sweep_from(cp_at at, int first, cp_tensor *out, cp_tensor *seed, cp_tensor *const *wrt, int n, cp_tensor **grads);

/* Doubles an array until it has room for `needed` items; false after cp_misuse when out of memory. */
bool cp_tape_grow(cp_at at, void **array, int *room, int needed, size_t item);

/* The id of a tensor among the tape's tracked values, -1 (a constant, or a parameter that was not used) or CP_ID_FROZEN. */
int cp_tape_find(const cp_tape *tape, const cp_tensor *t);
