/* The tape's memory: values in the arena, tensors in a ring, nodes and attributes in slabs. */
#include "core/tape_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- the ring of tensors ---- */

enum { PART_TENSORS = 256, FIRST_PARTS = 32 };

typedef struct cp_ring_part {
    struct cp_ring_part *next, *older_block; /* in the circle; of those that were taken from the system */
    unsigned             step;               /* the last in which a tensor of it was made */
    cp_tensor            at[PART_TENSORS];
} part;

/* Links `count` parts into the circle, behind the present one. */
static bool ring_grow(cp_tape *tape, int count) {
    part *now = tape->ring.part, *parts = malloc((size_t)count * sizeof *parts);
    if (!parts) return false;
    for (int i = 0; i < count; i++) {
        parts[i].next = i + 1 < count ? &parts[i + 1] : now ? now->next : parts;
        parts[i].step = 0;
    }
    parts->older_block = tape->ring_blocks;
    tape->ring_blocks = parts;
    *(now ? &now->next : &tape->ring.part) = parts;
    return true;
}

static cp_tensor *ring_take(cp_tape *tape) {
    cp_tensor_ring *ring = &tape->ring;
    if (ring->free) {
        cp_tensor *t = ring->free;
        ring->free = t->next_made;
        return t;
    }
    if (ring->used == PART_TENSORS) {
        unsigned step = ring->part->next->step;
        bool     rested = step == 0 || (step != tape->step && step + 1 != tape->step);
        if (!rested && !ring_grow(tape, 1)) return NULL;
        ring->part = ring->part->next;
        ring->used = 0;
    }
    ring->part->step = tape->step;
    ring->count++;
    return &ring->part->at[ring->used++];
}

void cp_tensor_recycle(cp_tape *tape, cp_tensor *t) {
    t->next_made = tape->ring.free;
    tape->ring.free = t;
}

/* ---- slabs ---- */

enum { SLAB_BYTES = 32 << 10, SLAB_ITEM = 512, SLAB_ALIGN = 16 };

typedef struct cp_slab_part {
    struct cp_slab_part *next;
    _Alignas(SLAB_ALIGN) char bytes[SLAB_BYTES];
} slab_part;

typedef struct cp_loose {
    struct cp_loose *next;
    void            *block;
} loose;

static void *slab_take(cp_slab *slab, size_t bytes) {
    bytes = (bytes + SLAB_ALIGN - 1) / SLAB_ALIGN * SLAB_ALIGN;
    if (!slab->part || slab->used + bytes > SLAB_BYTES) {
        slab_part *next = slab->part ? slab->part->next : slab->first;
        if (!next) {
            if (!(next = malloc(sizeof *next))) return NULL;
            next->next = NULL;
            *(slab->part ? &slab->part->next : &slab->first) = next;
        }
        slab->part = next;
        slab->used = 0;
    }
    slab->used += bytes;
    slab->bytes += bytes;
    return slab->part->bytes + slab->used - bytes;
}

/* ---- all of it ---- */

bool cp_tape_memory_start(cp_tape *tape) {
    if ((tape->arena = cp_arena_new())) cp_arena_set_owner(tape->arena, tape, &tape->op);
    return tape->arena && ring_grow(tape, FIRST_PARTS);
}

void cp_tape_memory_free(cp_tape *tape) {
    cp_arena_free(tape->arena);
    for (part *p = tape->ring_blocks, *older; p; p = older) {
        older = p->older_block;
        free(p);
    }
    for (slab_part *p = tape->slab.first, *next; p; p = next) {
        next = p->next;
        free(p);
    }
}

/* Bytes in use now outside the arena; the peak is brought up to date before they become fewer. */
static size_t small_bytes(const cp_tape *tape) {
    return tape->ring.count * sizeof(cp_tensor) + tape->slab.bytes;
}

static void small_peak_update(cp_tape *tape) {
    if (small_bytes(tape) > tape->small_peak) tape->small_peak = small_bytes(tape);
}

size_t cp_tape_bytes(const cp_tape *tape) {
    return tape ? cp_arena_used(tape->arena) + small_bytes(tape) : 0;
}

size_t cp_tape_peak(const cp_tape *tape) {
    if (!tape) return 0;
    size_t now = small_bytes(tape);
    return cp_arena_peak(tape->arena) + (now > tape->small_peak ? now : tape->small_peak);
}

void cp_tape_memory_reset(cp_tape *tape) {
    small_peak_update(tape);
    cp_arena_reset(tape->arena);
    tape->ring.free = NULL;
    tape->ring.count = 0;
    tape->slab = (cp_slab){.first = tape->slab.first};
}

cp_memory_mark cp_tape_memory_mark(const cp_tape *tape) {
    return (cp_memory_mark){tape->ring, tape->slab};
}

void cp_tape_memory_rewind(cp_tape *tape, cp_memory_mark mark) {
    slab_part *first = tape->slab.first;
    small_peak_update(tape);
    for (loose *l = tape->slab.loose; l != mark.slab.loose; l = l->next) cp_arena_release(tape->arena, l->block);
    for (part *p = mark.ring.part; p != tape->ring.part;) { /* what the sweep had is nobody's: the next step may use it */
        p = p->next;
        p->step = 0;
    }
    tape->ring = mark.ring;
    tape->slab = mark.slab;
    tape->slab.first = first; /* it may have been the first to take some */
}

bool cp_tape_grow(cp_at at, void **array, int *room, int needed, size_t item) {
    if (needed <= *room) return true;
    if (needed > INT32_MAX / 2) return cp_misuse(at, "tape", "a record of %d entries is too long", needed);
    int more = *room ? *room : 64;
    while (more < needed) more *= 2;
    void *grown = realloc(*array, (size_t)more * item);
    if (!grown) return cp_misuse(at, "tape", "out of memory for a record of %d entries", more);
    *array = grown;
    *room = more;
    return true;
}

/* ---- tensors and their values ---- */

static bool refused(cp_at at, const char *what, size_t bytes) {
    return cp_misuse(at, at.tape->op, "out of memory for %s: cannot get %zu bytes beyond the %zu in use", what, bytes,
                     cp_tape_bytes(at.tape));
}

cp_tensor *cp_tensor_make(cp_at at, cp_shape shape, size_t size) {
    cp_tensor *t = ring_take(at.tape);
    if (!t) return cp_null(refused(at, cp_dims_text(shape).s, sizeof *t));
    *t = (cp_tensor){.shape = shape, .size = size, .tape = at.tape, .step = at.tape->step, .id = -1, .holds = -1};
    return t;
}

bool cp_values_take(cp_at at, cp_tensor *t) {
    size_t bytes = t->size * sizeof *t->data;
    t->data = t->size == 1 ? &t->small : cp_arena_try(at.tape->arena, bytes);
    return t->data || refused(at, cp_shape_text(t).s, bytes);
}

void cp_values_release(cp_tape *tape, cp_tensor *t) {
    if (t->data != &t->small) cp_arena_release(tape->arena, t->data);
    t->data = NULL;
}

cp_tensor *cp_out(cp_at at, cp_shape shape) {
    size_t size;
    if (!cp_shape_check(at, at.tape->op, shape) || !cp_shape_size(shape, &size)) return NULL;
    cp_tensor *t = cp_tensor_make(at, shape, size);
    if (!t || !cp_values_take(at, t)) return NULL;
    if (at.tape->collecting) {
        t->holds = 0;
        t->next_made = at.tape->made;
        at.tape->made = t;
    }
    return t;
}

cp_tensor *cp_view(cp_at at, cp_tensor *a, cp_shape shape) {
    cp_tensor *t = a ? cp_tensor_make(at, shape, a->size) : NULL;
    if (!t) return NULL;
    t->data = a->data;
    t->base = a->base ? a->base : a;
    if (t->base->tape) t->base->kept++;
    return t;
}

void cp_release(cp_at at, cp_tensor *t) {
    if (!t || t->tape != at.tape || t->step != at.tape->step || t->base || t->kept || t->holds >= 0 || !t->data) return;
    cp_values_release(at.tape, t);
}

static void *keep_large(cp_tape *tape, size_t bytes) {
    loose *l = tape->collecting ? slab_take(&tape->slab, sizeof *l) : NULL;
    void  *memory = l || !tape->collecting ? cp_arena_try(tape->arena, bytes) : NULL;
    if (l && memory) {
        *l = (loose){tape->slab.loose, memory};
        tape->slab.loose = l;
    }
    return memory;
}

void *cp_tape_alloc(cp_at at, size_t bytes) {
    void *memory = bytes <= SLAB_ITEM ? slab_take(&at.tape->slab, bytes ? bytes : 1) : keep_large(at.tape, bytes);
    return memory ? memory : cp_null(refused(at, "what a gradient needs", bytes));
}

void *cp_tape_copy(cp_at at, const void *from, size_t bytes) {
    void *copy = cp_tape_alloc(at, bytes);
    return copy && bytes ? memcpy(copy, from, bytes) : copy;
}

cp_arena *cp_scratch(cp_at at) {
    return at.tape->arena;
}
