/* Arena memory: where a tape's values live.
 *
 * Blocks are handed out one after the other; a reset takes all of them back at once, in constant time, and keeps the
 * memory for the next step. Single blocks can be given back early and are used again for blocks of similar size. After
 * the first step or two (warm-up) an arena that is used the same way each step calls malloc no more. Under the address
 * sanitizer, memory that was given back is poisoned: touching values of an earlier step is reported (but for single values, which lie in their tensors). An arena belongs
 * to one thread. */
#ifndef CP_ARENA_H
#define CP_ARENA_H

#include "core/error.h"

#include <stddef.h>

typedef struct cp_arena cp_arena;

cp_arena *cp_arena_new(void);
void      cp_arena_free(cp_arena *arena); /* NULL is allowed */

/* A block of at least `bytes` bytes, 64-byte aligned, not initialized. NULL (after cp_misuse) only when out of
 * memory. */
void *cp_arena_alloc(cp_arena *arena, size_t bytes);
void *cp_arena_try(cp_arena *arena, size_t bytes); /* the same without cp_misuse: the caller has more to say */

/* Whose the arena is, and where the name of its op under way stands: that there is no memory for something is told for them. */
void cp_arena_set_owner(cp_arena *arena, struct cp_tape *tape, const char *const *op);
bool cp_arena_out_of_memory(const cp_arena *arena, const char *what, size_t bytes); /* cp_misuse, false */

/* Gives one block back before the reset. NULL is allowed; a block given back twice is misuse. */
void cp_arena_release(cp_arena *arena, void *block);

/* Takes all blocks back, O(1). */
void cp_arena_reset(cp_arena *arena);

size_t cp_arena_used(const cp_arena *arena);     /* bytes in blocks now, rounded up to 64 each */
size_t cp_arena_peak(const cp_arena *arena);     /* the most that was ever in use at once: the high-water mark */
size_t cp_arena_reserved(const cp_arena *arena); /* bytes held from the system */

#endif
