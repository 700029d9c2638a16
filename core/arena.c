/* Arena memory: chunks are filled from the bottom up (bump allocation); blocks released early are in lists by size class
 * and merged with free neighbors.
 *
 * Small blocks (a tape's records) never split a large free block, which the next large allocation needs. They take a
 * small free block or the unused end of the newest chunk. */
#include "core/arena.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define CP_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CP_ASAN 1
#endif
#endif

#ifdef CP_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(start, bytes) __asan_poison_memory_region((start), (bytes))
#define UNPOISON(start, bytes) __asan_unpoison_memory_region((start), (bytes))
#else
#define POISON(start, bytes) ((void)(start), (void)(bytes))
#define UNPOISON(start, bytes) ((void)(start), (void)(bytes))
#endif

enum {
    ALIGN = 64,
    STEPS = 8, /* size classes in an octave: sizes in one class differ by less than 1/8 */
    CLASSES = 64 * STEPS,
    WORD_BITS = 64,
    SCAN_LIMIT = 16,        /* blocks looked at in one class before giving up */
    LARGE_BLOCK = 64 << 10, /* bytes */
    CHUNK_MIN = 1 << 20,
};

typedef struct chunk {
    struct chunk *older;
    struct block *last; /* at the highest address, NULL while there is none */
    char         *base; /* aligned start of the blocks */
    size_t        size; /* bytes from base on */
    size_t        top;  /* bytes cut into blocks */
    size_t        high; /* the maximum of top */
} chunk;

typedef enum block_state { BLOCK_USED = 0x75736564, BLOCK_FREE = 0x66726565 } block_state;

/* The header right before the memory of a block. */
typedef struct block {
    struct chunk *chunk;
    struct block *before; /* the neighbor at the lower address; NULL for the first of a chunk */
    struct block *next_free, *previous_free;
    size_t        size; /* of the memory, a multiple of ALIGN */
    block_state   state;
} block;

_Static_assert(sizeof(block) <= ALIGN, "the header of a block preserves the alignment");

struct cp_arena {
    struct cp_tape *tape; /* owner */
    void (*refuse)(struct cp_tape *tape, size_t bytes);
    chunk   *newest; /* the only one that new blocks come from */
    size_t   used, peak, reserved;
    size_t   next_size;                   /* of the single chunk that replaces those freed by the last reset */
    uint64_t filled[CLASSES / WORD_BITS]; /* one bit per class with free blocks; otherwise its head is invalid */
    block   *heads[CLASSES];
};

/* ---- blocks ---- */

static char  *block_memory(block *b) { return (char *)b + ALIGN; }
static block *block_of(void *memory) { return (block *)((char *)memory - ALIGN); }
static char  *block_end(block *b) { return block_memory(b) + b->size; }
static block *block_after(block *b) { return b == b->chunk->last ? NULL : (block *)block_end(b); }

/* Updates the `before` of the block that follows b, or the last block of the chunk. */
static void block_link(block *b) {
    if (b->chunk->top == (size_t)(block_end(b) - b->chunk->base)) {
        b->chunk->last = b;
    } else {
        ((block *)block_end(b))->before = b;
    }
}

static block *block_make(char *at, chunk *c, block *before, size_t size) {
    UNPOISON(at, sizeof(block));
    block *b = (block *)at;
    *b = (block){.chunk = c, .before = before, .size = size, .state = BLOCK_USED};
    return b;
}

/* ---- free lists ---- */

static int high_bit(size_t value) { return (int)(sizeof(unsigned long long) * CHAR_BIT) - 1 - __builtin_clzll(value); }

/* Sizes below STEPS * ALIGN have one class each; above, each octave has STEPS classes. */
static int class_of(size_t size) {
    size_t units = size / ALIGN;
    if (units < STEPS) return (int)units;
    int shift = high_bit(units) - high_bit(STEPS);
    return shift * STEPS + (int)(units >> shift);
}

static bool class_filled(const cp_arena *arena, int c) { return arena->filled[c / WORD_BITS] >> (c % WORD_BITS) & 1; }

/* The first class from c on that has blocks, or -1. */
static int class_next_filled(const cp_arena *arena, int c) {
    for (int word = c / WORD_BITS; word < CLASSES / WORD_BITS; word++) {
        uint64_t bits = arena->filled[word];
        if (word == c / WORD_BITS) bits &= ~(uint64_t)0 << (c % WORD_BITS);
        if (bits) return word * WORD_BITS + __builtin_ctzll(bits);
    }
    return -1;
}

static void list_add(cp_arena *arena, block *b) {
    int c = class_of(b->size);
    b->state = BLOCK_FREE;
    b->previous_free = NULL;
    b->next_free = class_filled(arena, c) ? arena->heads[c] : NULL;
    if (b->next_free) b->next_free->previous_free = b;
    arena->heads[c] = b;
    arena->filled[c / WORD_BITS] |= (uint64_t)1 << (c % WORD_BITS);
}

static void list_remove(cp_arena *arena, block *b) {
    int c = class_of(b->size);
    if (b->next_free) b->next_free->previous_free = b->previous_free;
    if (b->previous_free) {
        b->previous_free->next_free = b->next_free;
    } else {
        arena->heads[c] = b->next_free;
        if (!b->next_free) arena->filled[c / WORD_BITS] &= ~((uint64_t)1 << (c % WORD_BITS));
    }
    b->state = BLOCK_USED;
}

/* ---- chunks ---- */

static chunk *chunk_new(size_t size) {
    if (size > SIZE_MAX - sizeof(chunk) - ALIGN) return NULL;
    chunk *c = malloc(sizeof(chunk) + ALIGN + size);
    if (!c) return NULL;
    uintptr_t start = (uintptr_t)(c + 1);
    c->base = (char *)(c + 1) + (ALIGN - start % ALIGN) % ALIGN;
    c->last = NULL;
    c->size = size;
    c->top = c->high = 0;
    POISON(c->base, c->size);
    return c;
}

static void chunks_free(cp_arena *arena) {
    while (arena->newest) {
        chunk *c = arena->newest;
        arena->newest = c->older;
        UNPOISON(c->base, c->size);
        free(c);
    }
    arena->reserved = 0;
}

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* Adds a chunk with room for `needed` bytes, preferably much more, so that the number of chunks stays logarithmic. */
static bool chunk_add(cp_arena *arena, size_t needed) {
    size_t wanted = max_size(max_size(needed, CHUNK_MIN), max_size(arena->next_size, arena->reserved / 2));
    chunk *c = chunk_new(wanted);
    if (!c && wanted > needed) c = chunk_new(needed);
    if (!c) return false;
    c->older = arena->newest;
    arena->newest = c;
    arena->next_size = 0;
    arena->reserved += c->size;
    return true;
}

/* ---- allocating and releasing ---- */

/* A free block that is at most 1/8 too large, or NULL. */
static block *find_close(cp_arena *arena, size_t size) {
    size_t max = size + size / STEPS;
    int    last = class_of(max);
    for (int c = class_of(size); c <= last; c++) {
        if (!class_filled(arena, c)) continue;
        int seen = 0;
        for (block *b = arena->heads[c]; b && seen < SCAN_LIMIT; b = b->next_free, seen++) {
            if (b->size >= size && b->size <= max) return b;
        }
    }
    return NULL;
}

/* Shrinks a block to `size` bytes and frees the rest. */
static void split(cp_arena *arena, block *b, size_t size) {
    block *rest = block_make(block_memory(b) + size, b->chunk, b, b->size - size - ALIGN);
    b->size = size;
    block_link(rest);
    list_add(arena, rest);
}

static block *take_free(cp_arena *arena, size_t size) {
    block *b = find_close(arena, size);
    if (!b) {
        int c = class_next_filled(arena, class_of(size) + 1);
        if (c < 0) return NULL;
        b = arena->heads[c];
        if (size < LARGE_BLOCK && b->size >= LARGE_BLOCK) return NULL;
    }
    list_remove(arena, b);
    if (b->size - size > size / STEPS && b->size - size >= 2 * ALIGN) split(arena, b, size);
    return b;
}

static block *take_top(cp_arena *arena, size_t size) {
    chunk *c = arena->newest;
    if (!c || c->size - c->top < size + ALIGN) {
        if (!chunk_add(arena, size + ALIGN)) return NULL;
        c = arena->newest;
    }
    block *b = block_make(c->base + c->top, c, c->last, size);
    c->last = b;
    c->top += size + ALIGN;
    c->high = max_size(c->high, c->top);
    return b;
}

/* Merges b and the block right after it. */
static void merge(block *b, block *after) {
    b->size += ALIGN + after->size;
    after->state = BLOCK_FREE;
    block_link(b);
    POISON(after, ALIGN);
}

static void release_block(cp_arena *arena, block *b) {
    block *after = block_after(b);
    if (after && after->state == BLOCK_FREE) {
        list_remove(arena, after);
        merge(b, after);
    }
    block *before = b->before;
    if (before && before->state == BLOCK_FREE) {
        list_remove(arena, before);
        merge(before, b);
        b = before;
    }
    chunk *c = b->chunk;
    if (b == c->last && c == arena->newest) {
        c->last = b->before;
        c->top = (size_t)((char *)b - c->base);
        b->state = BLOCK_FREE;
        POISON(b, ALIGN);
    } else {
        list_add(arena, b);
    }
}

/* ---- the interface ---- */

cp_arena *cp_arena_new(void) {
    cp_arena *arena = calloc(1, sizeof *arena);
    if (!arena) cp_misuse((cp_at){0}, "arena", "out of memory: cannot get %zu bytes", sizeof *arena);
    return arena;
}

void cp_arena_free(cp_arena *arena) {
    if (!arena) return;
    chunks_free(arena);
    free(arena);
}

void *cp_arena_try(cp_arena *arena, size_t bytes) {
    block *b = NULL;
    if (bytes <= SIZE_MAX / 4) {
        size_t size = bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
        b = take_free(arena, size);
        if (!b) b = take_top(arena, size);
    }
    if (!b) return NULL;
    arena->used += b->size;
    arena->peak = max_size(arena->peak, arena->used);
    UNPOISON(block_memory(b), bytes);
    return block_memory(b);
}

void cp_arena_set_owner(cp_arena *arena, struct cp_tape *tape, void (*refuse)(struct cp_tape *tape, size_t bytes)) {
    arena->tape = tape;
    arena->refuse = refuse;
}

void *cp_arena_alloc(cp_arena *arena, size_t bytes) {
    void *memory = cp_arena_try(arena, bytes);
    if (!memory && arena->refuse)
        arena->refuse(arena->tape, bytes);
    else if (!memory)
        cp_misuse((cp_at){0}, "arena", "out of memory for scratch: cannot get %zu bytes beyond the %zu in use", bytes, arena->used);
    return memory;
}

void cp_arena_release(cp_arena *arena, void *memory) {
    if (!memory) return;
    block *b = block_of(memory);
    if (b->state != BLOCK_USED) {
        cp_misuse((cp_at){0}, "arena_release", "not a block in use (released twice?)");
        return;
    }
    arena->used -= b->size;
    POISON(memory, b->size);
    release_block(arena, b);
    if (!arena->used && arena->newest->older) cp_arena_reset(arena);
}

void cp_arena_reset(cp_arena *arena) {
    chunk *c = arena->newest;
    arena->used = 0;
    memset(arena->filled, 0, sizeof arena->filled);
    if (!c) return;
    if (!c->older) {
        POISON(c->base, c->top);
        c->last = NULL;
        c->top = 0;
        return;
    }
    size_t high = 0;
    for (; c; c = c->older) high += c->high;
    chunks_free(arena);
    arena->next_size = high + high / 8; /* in one chunk, the same blocks may need slightly more */
}

size_t cp_arena_used(const cp_arena *arena) { return arena->used; }
size_t cp_arena_peak(const cp_arena *arena) { return arena->peak; }
size_t cp_arena_reserved(const cp_arena *arena) { return arena->reserved; }
