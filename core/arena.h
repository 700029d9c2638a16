/* Arena memory, for the values of a tape.
 *
 * Blocks are allocated one after the other; a reset releases all of them in constant time and keeps the memory for the
 * next step. Single blocks can be released early and are reused for blocks of similar size. After the first step or two
 * (warm-up) an arena that is used the same way in each step does not call malloc any more. Under the address sanitizer
 * released memory is poisoned, so access to values of an earlier step is reported (except single values, which are in
 * their tensors). An arena belongs to one thread. */
#pragma once

#include "core/error.h"

#include <stddef.h>

typedef struct cp_arena cp_arena;

cp_arena *cp_arena_new(void);
void      cp_arena_free(cp_arena *arena); /* NULL is allowed */

/* A block of at least `bytes` bytes, 64-byte aligned, not initialized. NULL (after cp_misuse) only when out of memory. */
void *cp_arena_alloc(cp_arena *arena, size_t bytes);
void *cp_arena_try(cp_arena *arena, size_t bytes); /* the same without cp_misuse: the caller reports the error */

/* The tape whose arena it is, and how it reports that it is out of memory. */
void cp_arena_set_owner(cp_arena *arena, struct cp_tape *tape, void (*refuse)(struct cp_tape *tape, size_t bytes));

/* Releases one block before the reset. NULL is allowed; releasing a block twice is misuse. */
void cp_arena_release(cp_arena *arena, void *block);

/* Releases all blocks, O(1). */
void cp_arena_reset(cp_arena *arena);

size_t cp_arena_used(const cp_arena *arena);     /* bytes in blocks now, each rounded up to a multiple of 64 */
size_t cp_arena_peak(const cp_arena *arena);     /* the maximum in use at once so far */
size_t cp_arena_reserved(const cp_arena *arena); /* bytes allocated from the system */
