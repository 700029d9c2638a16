/* The reverse sweep: gradients by one loop over the record, from its end to its start.
 *
 * Unless the sweep is itself recorded, whatever a rule made is given back as soon as nothing refers to it, so gradients of
 * values that were already passed take no memory. `holds` counts the references of gradient slots to a tensor that the
 * sweep made; -1 marks tensors that are not the sweep's to give back. The tensors themselves and their ops' attributes go when
 * the sweep ends: only its results stay. */
#include "core/kernels/kernels.h"
#include "core/tape_inside.h"

#include <string.h>

/* ---- accumulation at fan-out, an op like any other ---- */

static void accumulate_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    (void)at, (void)node;
    gin[0] = gin[1] = g;
}

const cp_op cp_op_accumulate = {.name = "accumulate", .formula = "a + b (gradients meeting at a fan-out)", .grad = accumulate_grad};

cp_tensor *cp_accumulate(cp_at at, cp_tensor *a, cp_tensor *b) {
    cp_tensor *out = cp_out(at, a->rank, a->dims);
    if (!out) return NULL;
    cp_kernels()->add(out->size, a->data, b->data, out->data);
    return cp_record(at, &cp_op_accumulate, out, NULL, 2, (cp_tensor *[]){a, b});
}

/* ---- who holds what ---- */

static cp_tensor *owner(cp_tensor *t) {
    return t->base ? t->base : t;
}

static cp_tensor *hold(cp_tensor *t) {
    if (owner(t)->holds >= 0) owner(t)->holds++;
    return t;
}

static void give_back(cp_tape *tape, cp_tensor *t) {
    if (t->holds != 0) return;
    cp_arena_release(tape->arena, t->data);
    t->data = NULL;
    t->holds = -1;
}

static void drop(cp_tape *tape, cp_tensor *t) {
    if (!t || owner(t)->holds <= 0) return;
    owner(t)->holds--;
    give_back(tape, owner(t));
}

/* Adds g, whose hold it takes over, into the slot. */
static bool slot_add(cp_at at, cp_tensor **slot, cp_tensor *g) {
    if (!*slot) {
        *slot = g;
        return true;
    }
    cp_tensor *sum = *slot;
    if (owner(sum)->holds == 1 && owner(sum) != owner(g)) {
        cp_kernels()->add(sum->size, sum->data, g->data, sum->data);
    } else {
        sum = cp_accumulate(at, *slot, g);
        if (!sum) return false;
        hold(sum);
        drop(at.tape, *slot);
        *slot = sum;
    }
    drop(at.tape, g);
    return true;
}

/* ---- the sweep ---- */

bool cp_tape_sweep_room(cp_at at) {
    cp_tape *tape = at.tape;
    int      room = tape->sweep_room;
    if (!cp_tape_grow(at, (void **)&tape->grads, &room, tape->value_count, sizeof *tape->grads)) return false;
    room = tape->sweep_room;
    if (!cp_tape_grow(at, (void **)&tape->marks, &room, tape->value_count, sizeof *tape->marks)) return false;
    tape->sweep_room = room;
    if (tape->value_count) {
        memset(tape->grads, 0, (size_t)tape->value_count * sizeof *tape->grads);
        memset(tape->marks, 0, (size_t)tape->value_count * sizeof *tape->marks);
    }
    return true;
}

void cp_tape_mark(cp_tape *tape) {
    for (int i = 0; i < tape->node_count; i++) {
        const cp_node *node = &tape->nodes[i];
        for (int j = 0; j < node->inputs; j++)
            if (node->ids[j] >= 0 && tape->marks[node->ids[j]]) tape->marks[node->out->id] |= CP_ON_THE_WAY;
    }
}

static bool rule_apply(cp_at at, const cp_node *node, cp_tensor *g) {
    cp_tape   *tape = at.tape;
    cp_tensor *few[8] = {0}, **gin = few;
    bool       any = false, fine = true;
    for (int j = 0; j < node->inputs; j++) {
        node->need[j] = node->ids[j] >= 0 && tape->marks[node->ids[j]];
        any |= node->need[j];
    }
    if (!any) return true;
    if (node->inputs > 8) {
        if (!(gin = cp_keep(at, (size_t)node->inputs * sizeof *gin))) return false;
        memset(gin, 0, (size_t)node->inputs * sizeof *gin);
    }
    at.file = node->file; /* errors and second-order nodes name the line that called the op */
    at.line = node->line;
    node->op->grad(at, node, g, gin);
    for (int j = 0; j < node->inputs; j++)
        if (node->need[j] && gin[j]) hold(gin[j]);
    for (int j = 0; j < node->inputs && fine; j++) {
        if (!node->need[j]) continue;
        if (!gin[j] || !cp_shape_same(gin[j], node->in[j]))
            fine = cp_misuse(at, node->op->name, "its gradient rule gave %s for input %d of shape %s", cp_shape_text(gin[j]).s,
                             j + 1, cp_shape_text(node->in[j]).s);
        else
            fine = slot_add(at, &tape->grads[node->ids[j]], gin[j]);
    }
    for (cp_tensor *t = tape->made; t; t = t->made_before) give_back(tape, t);
    tape->made = NULL;
    return fine;
}

/* A tensor that takes over the memory of g, the last to hold it. */
static cp_tensor *take_over(cp_at at, cp_tensor *g) {
    cp_tensor *t = cp_view(at, g, g->rank, g->dims);
    if (!t) return NULL;
    t->base = NULL;
    owner(g)->holds = -1;
    return t;
}

/* A result of its own: not the memory of another result, nor of a value on the record. */
static cp_tensor *result(cp_at at, cp_tensor **slot, const cp_tensor *wrt, bool recorded) {
    cp_tensor *g = slot ? *slot : NULL;
    if (!g) return cp_full(at, 0, wrt->rank, wrt->dims);
    if (recorded) return g;
    if (owner(g)->holds == 1) return *slot = take_over(at, g); /* if it is asked for once more, that is a copy */
    return cp_constant(at, g->data, g->rank, g->dims);
}

/* What the sweep made and still has. */
static void sweep_clear(cp_tape *tape) {
    for (int id = 0; id < tape->value_count; id++) drop(tape, tape->grads[id]);
    while (tape->loose_count) cp_arena_release(tape->arena, tape->loose[--tape->loose_count]);
}

static bool sweep(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out, bool recorded) {
    cp_tape *tape = at.tape;
    for (int i = 0; i < n; i++) {
        int id = cp_tape_find(tape, wrt[i]);
        if (id >= 0) tape->marks[id] = CP_WANTED;
    }
    cp_tape_mark(tape);

    tape->collecting = !recorded;
    tape->made = NULL;
    cp_tensor *seed = cp_full(at, 1, loss->rank, loss->dims);
    if (!seed) return false;
    tape->grads[loss->id] = hold(seed);
    for (int i = tape->node_count - 1; i >= 0; i--) {
        cp_node    node = tape->nodes[i]; /* a copy: a recorded sweep moves the array */
        cp_tensor *g = tape->grads[node.out->id];
        if (!g) continue;
        if (!rule_apply(at, &node, g)) return false;
        if (!(tape->marks[node.out->id] & CP_WANTED)) {
            tape->grads[node.out->id] = NULL;
            drop(tape, g);
        }
    }
    tape->collecting = false;
    for (int i = 0; i < n; i++) {
        int id = cp_tape_find(tape, wrt[i]);
        if (!(out[i] = result(at, id >= 0 ? &tape->grads[id] : NULL, wrt[i], recorded))) return false;
    }
    return true;
}

static bool askable(cp_at at, const cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out) {
    const char *op = "grad";
    if (n < 0 || (n > 0 && (!wrt || !out))) return cp_misuse(at, op, "wrt or out is NULL, or n = %d is negative", n);
    for (int i = 0; i < n; i++) out[i] = NULL;
    if (!cp_check(at, op, 1, (cp_tensor *[]){(cp_tensor *)loss})) return false;
    if (loss->size != 1) return cp_misuse(at, op, "loss has shape %s; only a single value has a gradient", cp_shape_text(loss).s);
    for (int i = 0; i < n; i++) {
        if (!wrt[i]) return cp_misuse(at, op, "wrt[%d] is NULL", i);
        if (wrt[i]->tape && wrt[i]->tape != at.tape)
            return cp_misuse(at, op, "wrt[%d], of shape %s, belongs to another tape", i, cp_shape_text(wrt[i]).s);
        if (!wrt[i]->tracked) return cp_misuse(at, op, "wrt[%d], of shape %s, is a constant", i, cp_shape_text(wrt[i]).s);
        if (!wrt[i]->tape && at.tape->frozen)
            return cp_misuse(at, op, "wrt[%d], of shape %s, is a parameter, and the tape is frozen", i, cp_shape_text(wrt[i]).s);
    }
    if (loss->id < 0 || !loss->tracked)
        return cp_misuse(at, op,
                         "loss was not recorded: it depends on no variable or parameter, or recording was off "
                         "(what cp_grad returns is constant; cp_grad_recorded records it)");
    return true;
}

static bool grad(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out, bool recorded) {
    if (!askable(at, loss, wrt, n, out) || !cp_tape_sweep_room(at)) return false;
    bool was = cp_tape_pause(at.tape, !recorded), fine = sweep(at, loss, wrt, n, out, recorded);
    cp_tape_pause(at.tape, was);
    at.tape->collecting = false;
    if (!recorded) sweep_clear(at.tape);
    if (!fine)
        for (int i = 0; i < n; i++) out[i] = NULL;
    return fine;
}

bool(cp_grad)(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out) {
    return grad(at, loss, wrt, n, out, false);
}

bool(cp_grad_recorded)(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out) {
    return grad(at, loss, wrt, n, out, true);
}
