/* The record: leaves, results, and the nodes that tell how results came about. */
#include "core/tape_inside.h"

#include <stdlib.h>
#include <string.h>

cp_tape *cp_tape_new(void) {
    cp_tape *tape = calloc(1, sizeof *tape);
    if (tape) tape->arena = cp_arena_new();
    if (!tape || !tape->arena) {
        free(tape);
        cp_misuse((cp_at){0}, "tape_new", "out of memory");
        return NULL;
    }
    tape->step = 1;
    return tape;
}

void cp_tape_free(cp_tape *tape) {
    if (!tape) return;
    cp_arena_free(tape->arena);
    free(tape->nodes);
    free(tape->values);
    free(tape->foreign);
    free(tape->grads);
    free(tape->marks);
    free(tape->loose);
    free(tape);
}

void cp_tape_reset(cp_tape *tape) {
    if (!tape) return;
    cp_arena_reset(tape->arena);
    tape->node_count = tape->value_count = tape->foreign_count = 0;
    tape->made = NULL;
    tape->loose_count = 0;
    if (++tape->step == 0) { /* the counter came round: old entries must not look new */
        if (tape->foreign) memset(tape->foreign, 0, (size_t)tape->foreign_room * sizeof *tape->foreign);
        tape->step = 1;
    }
}

static bool swap(bool *flag, bool on) {
    bool was = *flag;
    *flag = on;
    return was;
}

bool cp_tape_pause(cp_tape *tape, bool on) {
    return tape ? swap(&tape->paused, on) : cp_misuse((cp_at){0}, "tape_pause", "the tape is NULL");
}

bool cp_tape_freeze(cp_tape *tape, bool on) {
    return tape ? swap(&tape->frozen, on) : cp_misuse((cp_at){0}, "tape_freeze", "the tape is NULL");
}

int cp_tape_length(const cp_tape *tape) {
    return tape ? tape->node_count : 0;
}

size_t cp_tape_bytes(const cp_tape *tape) {
    return tape ? cp_arena_used(tape->arena) : 0;
}

size_t cp_tape_peak(const cp_tape *tape) {
    return tape ? cp_arena_peak(tape->arena) : 0;
}

unsigned cp_tape_step(const cp_tape *tape) {
    return tape ? tape->step : 0;
}

bool cp_recording(cp_at at) {
    return !at.tape->paused;
}

static bool is_tracked(const cp_tape *tape, const cp_tensor *t) {
    return t->tracked && (t->tape || !tape->frozen);
}

bool cp_tracked(cp_at at, const cp_tensor *t) {
    return !at.tape->paused && is_tracked(at.tape, t);
}

cp_arena *cp_scratch(cp_at at) {
    return at.tape->arena;
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

/* ---- ids ---- */

static size_t foreign_slot(const cp_tape *tape, const cp_tensor *t) {
    size_t mask = (size_t)tape->foreign_room - 1, i = ((uintptr_t)t / 16 * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (tape->foreign[i].step == tape->step && tape->foreign[i].tensor != t) i = (i + 1) & mask;
    return i;
}

static bool foreign_grow(cp_at at) {
    cp_tape    *tape = at.tape;
    cp_foreign *old = tape->foreign;
    int         old_room = tape->foreign_room, room = old_room ? 2 * old_room : 128;
    cp_foreign *table = calloc((size_t)room, sizeof *table);
    if (!table) return cp_misuse(at, "tape", "out of memory for %d parameters", room);
    tape->foreign = table;
    tape->foreign_room = room;
    for (int i = 0; i < old_room; i++)
        if (old[i].step == tape->step) table[foreign_slot(tape, old[i].tensor)] = old[i];
    free(old);
    return true;
}

int cp_tape_find(const cp_tape *tape, const cp_tensor *t) {
    if (t->tape) return t->tape == tape ? t->id : -1;
    if (!tape->foreign_room) return -1;
    size_t slot = foreign_slot(tape, t);
    return tape->foreign[slot].step == tape->step ? tape->foreign[slot].id : -1;
}

static int value_add(cp_at at, cp_tensor *t) {
    cp_tape *tape = at.tape;
    if (!cp_tape_grow(at, (void **)&tape->values, &tape->value_room, tape->value_count + 1, sizeof *tape->values)) return -1;
    tape->values[tape->value_count] = t;
    return tape->value_count++;
}

/* false when out of memory: a parameter without an id would lose its gradient silently. */
static bool id_of(cp_at at, cp_tensor *t, int *id) {
    cp_tape *tape = at.tape;
    *id = -1;
    if (!is_tracked(tape, t)) return true;
    if (t->tape) {
        *id = t->id;
        return true;
    }
    if (2 * (tape->foreign_count + 1) > tape->foreign_room && !foreign_grow(at)) return false;
    cp_foreign *slot = &tape->foreign[foreign_slot(tape, t)];
    if (slot->step != tape->step) {
        int added = value_add(at, t);
        if (added < 0) return false;
        *slot = (cp_foreign){t, tape->step, added};
        tape->foreign_count++;
    }
    *id = slot->id;
    return true;
}

/* ---- making values ---- */

static const char *op_name(const cp_tape *tape) {
    return tape->op ? tape->op : "tape";
}

/* Arena memory for a tensor of this shape; when there is none, the message names the op and the caller's place. */
static void *memory_for(cp_at at, size_t bytes, int rank, const int *dims) {
    void *memory = cp_arena_try(at.tape->arena, bytes);
    if (!memory)
        cp_misuse(at, op_name(at.tape), "out of memory for %s: cannot get %zu bytes beyond the %zu in use",
                  cp_dims_text(rank, dims).s, bytes, cp_tape_bytes(at.tape));
    return memory;
}

/* Has the sweep that is under way give this memory back; false, and it is given back at once, when the list cannot grow. */
static bool collect(cp_at at, void *memory) {
    cp_tape *tape = at.tape;
    if (!tape->collecting) return true;
    if (!cp_tape_grow(at, (void **)&tape->loose, &tape->loose_room, tape->loose_count + 1, sizeof *tape->loose)) {
        cp_arena_release(tape->arena, memory);
        return false;
    }
    tape->loose[tape->loose_count++] = memory;
    return true;
}

static cp_tensor *tensor_make(cp_at at, int rank, const int *dims, size_t size) {
    cp_tensor *t = memory_for(at, sizeof *t, rank, dims);
    if (!t || !collect(at, t)) return NULL;
    *t = (cp_tensor){.rank = rank, .size = size, .tape = at.tape, .id = -1, .holds = -1};
    if (rank) memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
    return t;
}

cp_tensor *cp_out(cp_at at, int rank, const int *dims) {
    size_t size;
    if (!cp_shape_check(at, op_name(at.tape), rank, dims) || !cp_shape_size(rank, dims, &size)) return NULL;
    cp_tensor *t = tensor_make(at, rank, dims, size);
    if (!t || !(t->data = memory_for(at, size * sizeof *t->data, rank, dims))) return NULL;
    if (at.tape->collecting) {
        t->holds = 0;
        t->made_before = at.tape->made;
        at.tape->made = t;
    }
    return t;
}

cp_tensor *cp_view(cp_at at, cp_tensor *a, int rank, const int *dims) {
    cp_tensor *t = tensor_make(at, rank, dims, a->size);
    if (!t) return NULL;
    t->data = a->data;
    t->base = a->base ? a->base : a;
    return t;
}

void *cp_keep(cp_at at, size_t bytes) {
    void *memory = cp_arena_try(at.tape->arena, bytes);
    if (!memory) cp_misuse(at, op_name(at.tape), "out of memory: cannot get %zu bytes for what its gradient needs", bytes);
    return memory && collect(at, memory) ? memory : NULL;
}

void cp_release(cp_at at, cp_tensor *t) {
    if (!t || t->tape != at.tape || t->base || t->holds >= 0) return;
    cp_arena_release(at.tape->arena, t->data);
    t->data = NULL;
}

void *cp_attr(cp_at at, const void *from, size_t bytes) {
    void *copy = cp_keep(at, bytes);
    return copy && bytes ? memcpy(copy, from, bytes) : copy;
}

static cp_tensor *leaf(cp_at at, const char *op, const cp_real *data, int rank, const int *dims) {
    if (!cp_check(at, op, 0, NULL)) return NULL;
    if (!data) {
        cp_misuse(at, op, "data is NULL");
        return NULL;
    }
    cp_tensor *t = cp_out(at, rank, dims);
    if (t && t->size) memcpy(t->data, data, t->size * sizeof *data);
    return t;
}

cp_tensor *(cp_constant)(cp_at at, const cp_real *data, int rank, const int *dims) {
    return leaf(at, "constant", data, rank, dims);
}

cp_tensor *(cp_variable)(cp_at at, const cp_real *data, int rank, const int *dims) {
    cp_tensor *t = leaf(at, "variable", data, rank, dims);
    if (!t) return NULL;
    t->id = value_add(at, t);
    t->tracked = true;
    return t->id >= 0 ? t : NULL;
}

cp_tensor *(cp_full)(cp_at at, cp_real value, int rank, const int *dims) {
    if (!cp_check(at, "full", 0, NULL)) return NULL;
    cp_tensor *t = cp_out(at, rank, dims);
    if (t)
        for (size_t i = 0; i < t->size; i++) t->data[i] = value;
    return t;
}

cp_tensor *(cp_scalar)(cp_at at, cp_real value) {
    return cp_full(at, value, 0, NULL);
}

cp_tensor *(cp_detach)(cp_at at, cp_tensor *a) {
    return cp_check(at, "detach", 1, &a) ? cp_view(at, a, a->rank, a->dims) : NULL;
}

/* ---- recording ---- */

bool cp_check(cp_at at, const char *op, int n, cp_tensor *const *in) {
    if (!at.tape) return cp_misuse(at, op, "the tape is NULL");
    for (int i = 0; i < n; i++) {
        if (!in[i]) return cp_misuse(at, op, "argument %d is NULL (did an earlier call fail?)", i + 1);
        if (in[i]->tape && in[i]->tape != at.tape)
            return cp_misuse(at, op, "argument %d, of shape %s, belongs to another tape", i + 1, cp_shape_text(in[i]).s);
    }
    at.tape->op = op;
    return true;
}

cp_tensor *cp_record(cp_at at, const cp_op *op, cp_tensor *out, const void *attr, int n, cp_tensor *const *in) {
    return cp_record_keeping(at, op, op->keeps, out, attr, n, in);
}

cp_tensor *cp_record_keeping(cp_at at, const cp_op *op, unsigned keeps, cp_tensor *out, const void *attr, int n,
                             cp_tensor *const *in) {
    cp_tape *tape = at.tape;
    bool     any = false;
    if (!out || tape->paused) return out;
    for (int i = 0; i < n; i++) any |= is_tracked(tape, in[i]);
    if (!any) return out;

    size_t count = (size_t)n;
    char  *room = cp_keep(at, count * (sizeof(cp_tensor *) + sizeof(int) + sizeof(bool)));
    if (!room || !cp_tape_grow(at, (void **)&tape->nodes, &tape->node_room, tape->node_count + 1, sizeof *tape->nodes)) return NULL;
    cp_node node = {.op = op,
                    .out = out,
                    .in = (cp_tensor **)room,
                    .inputs = n,
                    .keeps = keeps,
                    .attr = attr,
                    .file = at.file,
                    .line = at.line};
    node.ids = (int *)(room + count * sizeof(cp_tensor *));
    node.need = (bool *)(room + count * (sizeof(cp_tensor *) + sizeof(int)));
    for (int i = 0; i < n; i++) {
        node.in[i] = in[i];
        if (!id_of(at, in[i], &node.ids[i])) return NULL;
    }
    if ((out->id = value_add(at, out)) < 0) return NULL;
    out->tracked = true;
    tape->nodes[tape->node_count++] = node;
    return out;
}
