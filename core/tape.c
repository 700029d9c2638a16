/* The tape: its memory (values in the arena, tensors in a ring, nodes and attributes in slabs), leaves, results, and the nodes that record
 * how results were computed. */
#include "core/io/bytes.h"
#include "core/tape_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- the ring of tensors ---- */

enum { PART_TENSORS = 256, FIRST_PARTS = 32 };

typedef struct cp_ring_part {
    struct cp_ring_part *next, *older_block; /* in the circle; in the list of blocks to free */
    unsigned             step;               /* the last step that made a tensor in it */
    cp_tensor            at[PART_TENSORS];
} part;

/* Links `count` new parts into the circle, after the current one. */
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

/* ---- both, and the arena ---- */

/* Bytes in use outside the arena; the peak is updated before they decrease. */
static size_t small_bytes(const cp_tape *tape) { return tape->ring.count * sizeof(cp_tensor) + tape->slab.bytes; }

static void small_peak_update(cp_tape *tape) {
    if (small_bytes(tape) > tape->small_peak) tape->small_peak = small_bytes(tape);
}

size_t cp_tape_bytes(const cp_tape *tape) { return tape ? cp_arena_used(tape->arena) + small_bytes(tape) : 0; }

size_t cp_tape_peak(const cp_tape *tape) {
    if (!tape) return 0;
    size_t now = small_bytes(tape);
    return cp_tape_peak(tape->inner) + cp_arena_peak(tape->arena) + (now > tape->small_peak ? now : tape->small_peak);
}

cp_memory_mark cp_tape_memory_mark(const cp_tape *tape) { return (cp_memory_mark){tape->ring, tape->slab}; }

void cp_tape_memory_rewind(cp_tape *tape, cp_memory_mark mark) {
    slab_part *first = tape->slab.first;
    small_peak_update(tape);
    for (loose *l = tape->slab.loose; l != mark.slab.loose; l = l->next) cp_arena_release(tape->arena, l->block);
    for (part *p = mark.ring.part; p != tape->ring.part;) { /* the sweep's tensors are unused: the next step may take them */
        p = p->next;
        p->step = 0;
    }
    tape->ring = mark.ring;
    tape->slab = mark.slab;
    tape->slab.first = first; /* the sweep may have allocated the first slab */
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
    return cp_misuse(
        at, at.tape->op,
        "out of memory for %s: cannot get %zu bytes beyond the %zu in use; the tape has recorded %d nodes and computed %d "
        "gradients since its last cp_tape_reset%s",
        what, bytes, cp_tape_bytes(at.tape), at.tape->node_count, at.tape->loop.sweeps,
        at.tape->loop.sweeps > 1 ? ": is one missing at the end of the step?" : "");
}

static void refuse_scratch(cp_tape *tape, size_t bytes) { refused((cp_at){tape, tape->op_file, tape->op_line}, "scratch", bytes); }

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
    if (!cp_shape_size(shape, &size) && !cp_shape_check(at, at.tape->op, shape)) return NULL; /* the check reports it */
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

cp_arena *cp_scratch(cp_at at) { return at.tape->arena; }

/* ---- the tape ---- */

cp_tape *cp_tape_new(void) {
    cp_tape *tape = calloc(1, sizeof *tape);
    if (tape && (tape->arena = cp_arena_new()) && ring_grow(tape, FIRST_PARTS)) {
        cp_arena_set_owner(tape->arena, tape, refuse_scratch);
        tape->step = 1;
        tape->op = "tape";
        return tape;
    }
    cp_misuse((cp_at){0}, "tape_new", "out of memory");
    cp_tape_free(tape);
    return NULL;
}

void cp_tape_free(cp_tape *tape) {
    if (!tape) return;
    cp_arena_free(tape->arena);
    for (part *p = tape->ring_blocks, *older; p; p = older) {
        older = p->older_block;
        free(p);
    }
    for (slab_part *p = tape->slab.first, *next; p; p = next) {
        next = p->next;
        free(p);
    }
    free(tape->nodes);
    cp_tape_free(tape->inner);
    free(tape->reads);
    free(tape->values);
    free(tape->scopes);
    free(tape->externals);
    free(tape->slots);
    free(tape);
}

void cp_tape_reset(cp_tape *tape) {
    if (!tape) return;
    tape->node_count = tape->read_count = tape->value_count = tape->external_count = tape->scope_count = tape->scope = 0;
    tape->made = NULL;
    tape->failed = tape->collecting = false;
    tape->loop = (cp_loop_watch){.warned = tape->loop.warned};
    cp_tape_hand_over(tape);
    if (++tape->step == 0) { /* the counter overflowed: old entries must not match */
        if (tape->externals) memset(tape->externals, 0, (size_t)tape->external_room * sizeof *tape->externals);
        tape->step = 1;
    }
    small_peak_update(tape);
    cp_arena_reset(tape->arena);
    tape->ring.free = NULL;
    tape->ring.count = 0;
    tape->slab = (cp_slab){.first = tape->slab.first};
}

static bool swap(bool *flag, bool on) {
    bool was = *flag;
    *flag = on;
    return was;
}

void cp_tape_hand_over(cp_tape *tape) {
    if (tape) atomic_store(&tape->owner, NULL);
}

/* Whether the calling thread may use the tape, which is then its own. */
static bool owns(cp_tape *tape) {
    static _Thread_local char me;
    const void               *none = NULL;
    return atomic_load_explicit(&tape->owner, memory_order_relaxed) == &me ||
           atomic_compare_exchange_strong(&tape->owner, &none, &me);
}

bool cp_tape_pause(cp_tape *tape, bool on) {
    return tape ? swap(&tape->paused, on) : cp_misuse((cp_at){0}, "tape_pause", "the tape is NULL");
}

bool cp_tape_freeze(cp_tape *tape, bool on) {
    return tape ? swap(&tape->frozen, on) : cp_misuse((cp_at){0}, "tape_freeze", "the tape is NULL");
}

int      cp_tape_length(const cp_tape *tape) { return tape ? tape->node_count : 0; }
unsigned cp_tape_step(const cp_tape *tape) { return tape ? tape->step : 0; }

bool cp_recording(cp_at at) { return !at.tape->paused; }

/* ---- scopes ---- */

void(cp_scope_begin)(cp_at at, const char *name) {
    cp_tape *tape = at.tape;
    if (!tape || !name) {
        cp_misuse(at, "scope_begin", "the %s is NULL", tape ? "name" : "tape");
        return;
    }
    cp_scope added = {.parent = tape->scope, .first = tape->node_count}; /* first: the name may be one of those that move */
    memcpy(added.name, name, cp_text_cut(name, strlen(name), sizeof added.name - 1));
    if (!cp_tape_grow(at, (void **)&tape->scopes, &tape->scope_room, tape->scope_count + 1, sizeof added)) return;
    tape->scopes[tape->scope_count++] = added;
    tape->scope = tape->scope_count;
}

void(cp_scope_end)(cp_at at) {
    cp_tape *tape = at.tape;
    if (!tape || !tape->scope) {
        if (!tape || !tape->failed) cp_misuse(at, "scope_end", tape ? "no scope is open" : "the tape is NULL");
        return;
    }
    const cp_scope *ended = &tape->scopes[tape->scope - 1];
    if (tape->scope == tape->scope_count && ended->first == tape->node_count) tape->scope_count--; /* without nodes: paused */
    tape->scope = ended->parent;
}

/* ---- ids ----
 *
 * A tensor of the tape carries its id. A parameter may be on several tapes, so each tape has a hash table from the addresses of parameters
 * to ids, with open addressing. An entry of an earlier step counts as empty, so a reset empties the table in O(1). */

/* The entry of this parameter, or the empty one where it belongs. At least half of the table is empty. */
static cp_external *external_find(const cp_tape *tape, const cp_tensor *t) {
    size_t mask = (size_t)tape->external_room - 1, i = ((uintptr_t)t / 16 * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (tape->externals[i].step == tape->step && tape->externals[i].tensor != t) i = (i + 1) & mask;
    return &tape->externals[i];
}

static bool externals_grow(cp_at at) {
    cp_tape     *tape = at.tape;
    cp_external *old = tape->externals;
    int          old_room = tape->external_room, room = old_room ? 2 * old_room : 128;
    cp_external *table = calloc((size_t)room, sizeof *table);
    if (!table) return cp_misuse(at, "tape", "out of memory for %d parameters", room);
    tape->externals = table;
    tape->external_room = room;
    for (int i = 0; i < old_room; i++)
        if (old[i].step == tape->step) *external_find(tape, old[i].tensor) = old[i];
    free(old);
    return true;
}

/* The entry of a parameter, which is added if there is none; NULL when out of memory. */
static cp_external *external_add(cp_at at, cp_tensor *t) {
    cp_tape *tape = at.tape;
    if (2 * (tape->external_count + 1) > tape->external_room && !externals_grow(at)) return NULL;
    cp_external *entry = external_find(tape, t);
    if (entry->step != tape->step) {
        *entry = (cp_external){t, tape->step, CP_ID_FROZEN};
        tape->external_count++;
    }
    return entry;
}

int cp_tape_find(const cp_tape *tape, const cp_tensor *t) {
    if (t->tape) return t->tape == tape ? t->id : -1;
    if (!tape->external_room) return -1;
    const cp_external *entry = external_find(tape, t);
    return entry->step == tape->step ? entry->id : -1;
}

static int value_add(cp_at at, cp_tensor *t) {
    cp_tape *tape = at.tape;
    if (!cp_tape_grow(at, (void **)&tape->values, &tape->value_room, tape->value_count + 1, sizeof *tape->values)) return -1;
    tape->values[tape->value_count] = t;
    return tape->value_count++;
}

/* Sets the id of an op's input: -1 for a constant, and for a parameter while the tape is frozen; a parameter gets an id when it is first
 * used while the tape is not. false when out of memory: without an id, a parameter would silently get no gradient. */
static bool input_id(cp_at at, cp_tensor *t, int *id) {
    *id = t && t->tape ? t->id : -1;
    if (!t || t->tape || !t->tracked) return true;
    cp_external *entry = external_add(at, t);
    if (!entry) return false;
    if (at.tape->frozen) return true;
    if (entry->id == CP_ID_FROZEN) {
        int added = value_add(at, t);
        if (added < 0) return false;
        entry->id = added;
    }
    *id = entry->id;
    return true;
}

cp_use cp_use_of(cp_at at, const cp_tensor *t) {
    int id = cp_tape_find(at.tape, t);
    return id >= 0 ? CP_USED : id == CP_ID_FROZEN ? CP_USED_FROZEN : CP_UNUSED;
}

/* ---- leaves ---- */

static cp_tensor *leaf(cp_at at, const char *op, cp_reals_in data, cp_shape shape) {
    if (!cp_check(at, op, 0, NULL)) return NULL;
    if (!data.at) return cp_refuse(at, op, "data is NULL");
    cp_tensor *t = cp_out(at, shape);
    if (t && t->size) memcpy(t->data, data.at, t->size * sizeof *t->data);
    return t;
}

cp_tensor *(cp_constant)(cp_at at, cp_reals_in data, cp_shape shape) { return leaf(at, "constant", data, shape); }

cp_tensor *(cp_variable)(cp_at at, cp_reals_in data, cp_shape shape) {
    cp_tensor *t = leaf(at, "variable", data, shape);
    if (!t) return NULL;
    t->id = value_add(at, t);
    t->tracked = true;
    return t->id >= 0 ? t : NULL;
}

cp_tensor *(cp_constant_of)(cp_at at, const cp_tensor *t) {
    cp_tensor *copy = t ? (cp_constant)(at, t->data, t->shape) : cp_refuse(at, "constant", "the tensor is NULL");
    if (copy) copy->lengths = t->lengths;
    return copy;
}

cp_tensor *(cp_variable_of)(cp_at at, const cp_tensor *t) {
    cp_tensor *copy = t ? (cp_variable)(at, t->data, t->shape) : cp_refuse(at, "variable", "the tensor is NULL");
    if (copy) copy->lengths = t->lengths;
    return copy;
}

cp_tensor *(cp_full)(cp_at at, cp_real value, cp_shape shape) {
    if (!cp_check(at, "full", 0, NULL)) return NULL;
    cp_tensor *t = cp_out(at, shape);
    if (t)
        for (size_t i = 0; i < t->size; i++) t->data[i] = value;
    return t;
}

cp_tensor *(cp_scalar)(cp_at at, cp_real value) { return cp_full(at, value, CP_SCALAR); }

cp_tensor *(cp_detach)(cp_at at, cp_tensor *a) { return cp_check(at, "detach", 1, &a) ? cp_view(at, a, a->shape) : NULL; }

/* ---- recording ---- */

bool cp_tensor_usable(cp_at at, const char *op, const char *what, const cp_tensor *t) {
    if (t->tape && t->step != t->tape->step)
        return cp_misuse(at, op, "%s, of shape %s, is from before cp_tape_reset (cp_sgld_run resets too); make it in each step",
                         what, cp_shape_text(t).s);
    return t->data || cp_misuse(at, op, "%s, of shape %s, was given back by cp_release", what, cp_shape_text(t).s);
}

static bool fits(const cp_tape *tape, const cp_tensor *t) {
    return t && (!t->tape || (t->tape == tape && t->step == tape->step)) && t->data;
}

/* Reports why the tensor, called `what` (and `number`, when positive), is unusable. Returns false. `at` is a pointer to keep the check of
 * every op fast. */
static bool explain(const cp_at *at, const char *op, const char *what, int number, const cp_tensor *t) {
    if (!t && at->tape->failed) return false;
    cp_text text;
    snprintf(text.s, sizeof text.s, "%s%s%.0d", what, number ? " " : "",
             number); /* with a precision of 0, printf writes nothing for 0 */
    if (!t) return cp_misuse(*at, op, "%s is NULL (did an earlier call fail?)", text.s);
    if (t->tape && t->tape != at->tape)
        return cp_misuse(*at, op, "%s, of shape %s, belongs to another tape", text.s, cp_shape_text(t).s);
    return cp_tensor_usable(*at, op, text.s, t);
}

bool cp_check(cp_at at, const char *op, int n, cp_tensor *const *in) {
    if (!at.tape)
        return (!n || in[0]) && cp_misuse(at, op, "the tape is NULL"); /* the call that gave NULL has reported the error */
    for (int i = 0; i < n; i++)
        if (!fits(at.tape, in[i])) return explain(&at, op, "argument", i + 1, in[i]);
    if (!owns(at.tape))
        return cp_misuse(at, op,
                         "another thread uses this tape; each thread needs its own, or the other calls cp_tape_hand_over first");
    at.tape->op = op;
    at.tape->op_file = at.file;
    at.tape->op_line = at.line;
    return true;
}

bool cp_check_optional(cp_at at, const char *op, int n, cp_tensor *const *in, const char *const *names) {
    for (int i = 0; i < n; i++)
        if (in[i] ? !fits(at.tape, in[i]) : at.tape->failed) return explain(&at, op, names[i], 0, in[i]);
    return true;
}

/* Whether gradients flow to input i of a node recorded now. */
static bool gets_gradient(const cp_tape *tape, const cp_op *op, const cp_tensor *t, int i) {
    bool constant = i < CP_OP_MAX && op->constants & CP_KEEPS_IN(i);
    return t && t->tracked && !constant && (t->tape || !tape->frozen);
}

unsigned cp_keeps(cp_at at, const cp_op *op, int n, cp_tensor *const *in) {
    unsigned keeps = 0;
    for (int i = 0; i < n && i < CP_OP_MAX; i++)
        if (!at.tape->paused && gets_gradient(at.tape, op, in[i], i)) keeps |= op->keeps[i];
    return keeps;
}

/* Allocates a node with room for n inputs, and an entry for it on the record. */
static cp_node *node_new(cp_at at, int n) {
    cp_tape *tape = at.tape;
    size_t   count = (size_t)n, tensors = count * sizeof(cp_tensor *), ids = count * sizeof(int);
    cp_node *node = cp_tape_alloc(at, sizeof *node + tensors + ids + count * sizeof(bool));
    if (!node || !cp_tape_grow(at, (void **)&tape->nodes, &tape->node_room, tape->node_count + 1, sizeof *tape->nodes)) return NULL;
    *node = (cp_node){.in = (cp_tensor **)(node + 1),
                      .inputs = n,
                      .file = at.file,
                      .line = at.line,
                      .frozen = tape->frozen,
                      .scope = (uint16_t)(tape->scope <= UINT16_MAX ? tape->scope : 0),
                      .bytes = cp_tape_bytes(tape)};
    node->ids = (int *)((char *)node->in + tensors);
    node->need = (bool *)((char *)node->ids + ids);
    return node;
}

/* Keeps the values of input i of the node that is being recorded, which its rule will read; of a persistent tensor, notes the version. */
static bool keep(cp_at at, cp_tensor *t, int i) {
    cp_tape   *tape = at.tape;
    cp_tensor *owner = t && t->base ? t->base : t;
    if (!t) return true;
    if (owner->tape) return ++owner->kept; /* not of a persistent tensor: other threads may read it */
    if (!cp_tape_grow(at, (void **)&tape->reads, &tape->read_room, tape->read_count + 1, sizeof *tape->reads)) return false;
    tape->reads[tape->read_count++] = (cp_read){tape->node_count, i, owner->version};
    return true;
}

cp_tensor *cp_record(cp_at at, const cp_op *op, cp_tensor *out, const void *attr, int n, cp_tensor *const *in) {
    cp_tape *tape = at.tape;
    bool     any = false;
    if (!out || tape->paused) return out;
    for (int i = 0; i < n; i++) any |= gets_gradient(tape, op, in[i], i);
    if (!any) return out;
    if (!op->grad)
        return cp_refuse(at, op->name, "the op has no gradient rule (.grad; CP_OP sets it), and gradients flow to its inputs");

    cp_node *node = node_new(at, n);
    if (!node) return NULL;
    node->op = op;
    node->out = out;
    node->attr = attr;
    node->keeps = cp_keeps(at, op, n, in);
    for (int i = 0; i < n; i++) {
        node->in[i] = in[i];
        if (!input_id(at, in[i], &node->ids[i])) return NULL;
        if (!gets_gradient(tape, op, in[i], i)) node->ids[i] = -1;
        if (i < CP_OP_MAX && node->keeps & CP_KEEPS_IN(i) && !keep(at, in[i], i)) return NULL;
    }
    if (node->keeps & CP_KEEPS_OUT) out->kept++;
    if ((out->id = value_add(at, out)) < 0) return NULL;
    out->tracked = true;
    tape->nodes[tape->node_count++] = node;
    return out;
}

cp_tensor *cp_record_with(cp_at at, const cp_op *op, cp_tensor *out, const void *attr, size_t bytes, int n, cp_tensor *const *in) {
    const void *kept = out ? cp_tape_copy(at, attr, bytes) : NULL;
    return kept ? cp_record(at, op, out, kept, n, in) : NULL;
}
