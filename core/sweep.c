/* The reverse sweep: gradients by one loop over the record, from its end to its start.
 *
 * Unless the sweep is itself recorded, tensors that a rule made are released as soon as nothing refers to them, so gradients
 * of values that the sweep has passed take no memory. At its end the tape's memory is rewound to its start: only the results,
 * made before, remain. */
#include "core/kernels/kernels.h"
#include "core/tape_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- accumulation at fan-out, an op like any other ---- */

static void accumulate_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    (void)at, (void)node;
    gin[0] = gin[1] = g;
}

CP_OP(accumulate, .formula = "a + b", .rule = "a: g; b: g",
      .words = "Two gradients met at a value that is used twice. Both parts of the sum get the incoming gradient unchanged.");

cp_tensor *cp_accumulate(cp_at at, cp_tensor *a, cp_tensor *b) {
    cp_tensor *out = cp_out(at, a->shape);
    if (!out) return NULL;
    cp_kernels()->add(out->size, a->data, b->data, out->data);
    return cp_record(at, &cp_op_accumulate, out, NULL, 2, (cp_tensor *[]){a, b});
}

/* ---- references ----
 *
 * A slot has the gradient of one value, and holds its tensor. `holds` counts these references, in the tensor that owns the memory (a view
 * has another as its base): 0 for a tensor that a rule has just made; one more for each slot that it enters; one less when the slot is
 * done with it, because its value's rule has run or it was added to another. Back at 0 it is released. -1 is for tensors that the sweep must not release, because they are not its own:
 * values of the record, seeds from outside, results. They are not counted. */

static cp_tensor *owner(cp_tensor *t) { return t->base ? t->base : t; }

static cp_tensor *hold(cp_tensor *t) {
    if (owner(t)->holds >= 0) owner(t)->holds++;
    return t;
}

/* While a rule runs, its tensors stay on the list of those it made. */
static void release(cp_tape *tape, cp_tensor *t) {
    cp_values_release(tape, t);
    t->holds = -1;
    if (!tape->made) cp_tensor_recycle(tape, t);
}

static void drop(cp_tape *tape, cp_tensor *t) {
    if (!t || owner(t)->holds <= 0) return;
    if (--owner(t)->holds == 0) release(tape, owner(t));
}

/* Adds g to the slot, which takes over the caller's reference. A sum that this slot alone holds is added to in place; any other tensor may
 * be in use elsewhere, so the sum is a new one. */
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

/* Creates a slot for every value, and marks the requested values and those on the path from them to the end of the record. */
static bool mark(cp_at at, cp_tensor *const *wrt, int n) {
    cp_tape *tape = at.tape;
    if (!cp_tape_grow(at, (void **)&tape->slots, &tape->slot_room, tape->value_count, sizeof *tape->slots)) return false;
    for (int id = 0; id < tape->value_count; id++) tape->slots[id] = (cp_slot){0};
    for (int i = 0; i < n; i++) {
        int id = cp_tape_find(tape, wrt[i]);
        if (id >= 0) tape->slots[id].mark = CP_MARK_TARGET;
    }
    for (int i = tape->first; i < tape->node_count; i++) {
        const cp_node *node = tape->nodes[i];
        for (int j = 0; j < node->inputs; j++)
            if (node->ids[j] >= 0 && tape->slots[node->ids[j]].mark && !tape->slots[node->out->id].mark)
                tape->slots[node->out->id].mark = CP_MARK_PATH;
    }
    return true;
}

/* Adds a part to the gradient of input i, notifying the watcher. */
static bool part_add(cp_at at, const cp_node *node, int i, cp_tensor *part) {
    cp_tensor **slot = &at.tape->slots[node->ids[i]].grad;
    cp_watcher *watch = at.tape->watch;
    if (watch) watch->part(watch->user, node, i, part);
    if (!slot_add(at, slot, part)) return false;
    if (watch) watch->sum(watch->user, node, i, *slot);
    return true;
}

/* Sets which inputs of the node lead to a requested value; false when none does. */
static bool needs_fill(const cp_tape *tape, const cp_node *node) {
    bool any = false;
    for (int j = 0; j < node->inputs; j++) {
        node->need[j] = node->ids[j] >= 0 && tape->slots[node->ids[j]].mark;
        any |= node->need[j];
    }
    return any;
}

static cp_text place_text(const char *file, int line) {
    cp_text text = {""};
    if (file) snprintf(text.s, sizeof text.s, " (%s:%d)", file, line);
    return text;
}

/* Whether the persistent tensors that the rule of node i reads are as its op saw them; `left` entries of the list concern nodes up to i. */
static bool reads_current(cp_at at, const char *op, int i, int *left) {
    cp_tape       *tape = at.tape;
    const cp_node *node = tape->nodes[i];
    unsigned       reads = 0;
    while (*left && tape->reads[*left - 1].node > i) --*left;
    if (!*left || tape->reads[*left - 1].node < i) return true;
    for (int j = 0; j < node->inputs && j < CP_OP_MAX; j++)
        if (node->need[j]) reads |= node->op->keeps[j];
    for (int k = *left - 1; k >= 0 && tape->reads[k].node == i; k--) {
        const cp_read   *read = &tape->reads[k];
        const cp_tensor *t = owner(node->in[read->input]);
        if (!(reads & CP_KEEPS_IN(read->input)) || t->version == read->version) continue;
        const cp_change *change = t->change;
        return cp_misuse(
            at, op,
            "the rule of %s%s reads %s, of shape %s, which %s%s has changed since: take gradients before changing the values",
            node->op->name, place_text(node->file, node->line).s, t->name ? t->name : "a persistent tensor", cp_shape_text(t).s,
            change && change->by ? change->by : "the program", change ? place_text(change->file, change->line).s : "");
    }
    return true;
}

/* Calls the rule, which fills gin: as if the program called it where it called the op, so that errors and second-order nodes name that
 * line and its scope, and with parameters as the node saw them. */
static void rule_call(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    bool was = cp_tape_freeze(at.tape, node->frozen);
    bool scoped = node->scope && cp_recording(at);
    if (scoped) (cp_scope_begin)(at, at.tape->scopes[node->scope - 1].name);
    node->op->grad(at, node, g, gin);
    if (scoped) (cp_scope_end)(at);
    cp_tape_freeze(at.tape, was);
}

/* Checks what the rule gave for each input that needs a gradient, and adds it to the gradient of that input. */
static bool parts_add(cp_at at, const cp_node *node, cp_tensor *const *gin) {
    for (int j = 0; j < node->inputs; j++)
        if (node->need[j] && gin[j]) hold(gin[j]); /* all of them first: two inputs may get the same tensor */
    for (int j = 0; j < node->inputs; j++) {
        if (!node->need[j]) continue;
        if (!gin[j] && at.tape->failed) return false; /* reported by the op that failed in the rule */
        if (!gin[j] || !cp_shape_same(gin[j], node->in[j]))
            return cp_misuse(at, node->op->name, "its gradient rule gave %s for input %d of shape %s", cp_shape_text(gin[j]).s,
                             j + 1, cp_shape_text(node->in[j]).s);
        if (!part_add(at, node, j, gin[j])) return false;
    }
    return true;
}

/* Releases the tensors that the rule made and no slot holds. */
static void leftovers_release(cp_tape *tape) {
    cp_tensor *made = tape->made;
    tape->made = NULL;
    for (cp_tensor *t = made, *next; t; t = next) {
        next = t->next_made;
        if (t->holds == 0)
            release(tape, t);
        else if (!t->data)
            cp_tensor_recycle(tape, t);
    }
}

static bool rule_apply(cp_at at, const cp_node *node, cp_tensor *g) {
    cp_tensor *few[8] = {0}, **gin = few;
    if (node->inputs > 8) {
        if (!(gin = cp_tape_alloc(at, (size_t)node->inputs * sizeof *gin))) return false;
        memset(gin, 0, (size_t)node->inputs * sizeof *gin);
    }
    at.file = node->file;
    at.line = node->line;
    rule_call(at, node, g, gin);
    bool ok = parts_add(at, node, gin);
    leftovers_release(at.tape);
    return ok;
}

/* From out, whose gradient is the seed (NULL: ones), back to the requested values, whose gradients are then in their slots. */
static bool sweep(cp_at at, const char *op, cp_tensor *out, cp_tensor *seed) {
    cp_tape *tape = at.tape;
    int      reads_left = tape->read_count;
    tape->lowest = tape->node_count;
    if (!seed && !(seed = cp_full(at, 1, out->shape))) return false;
    tape->slots[out->id].grad = hold(seed);
    for (int i = tape->node_count - 1; i >= tape->first; i--) {
        const cp_node *node = tape->nodes[i];
        cp_tensor     *g = tape->slots[node->out->id].grad;
        if (!g) continue;
        bool kept = tape->slots[node->out->id].mark == CP_MARK_TARGET;
        bool runs = needs_fill(tape, node);
        if (runs) tape->lowest = i;
        if (tape->watch && runs) tape->watch->rule(tape->watch->user, node, g);
        if (runs && (!reads_current(at, op, i, &reads_left) || !rule_apply(at, node, g))) return false;
        if (!kept) {
            tape->slots[node->out->id].grad = NULL;
            drop(tape, g);
        }
        if (tape->watch && runs) tape->watch->done(tape->watch->user, node);
    }
    return true;
}

/* Fills a result from a slot, or with zeros. It never shares values with another result or a value on the record: it takes over the memory
 * of a tensor that this slot alone holds (which then is no longer the sweep's), and copies any other. */
static bool result_fill(cp_at at, cp_tensor *result, cp_tensor **slot) {
    cp_tensor *g = slot ? *slot : NULL;
    if (g && owner(g)->holds == 1 && g->size != 1) {
        result->data = g->data;
        owner(g)->holds = -1;
        *slot = result; /* a second request for it gets a copy */
        return true;
    }
    if (!cp_values_take(at, result)) return false;
    for (size_t i = 0; i < result->size; i++) result->data[i] = g ? g->data[i] : 0;
    return true;
}

/* The arguments of a sweep. */
typedef struct request {
    const char       *op; /* for messages */
    cp_tensor        *of, *seed;
    cp_tensor *const *wrt;
    int               n;
    cp_tensor       **out;
    bool              recorded, seeded;
} request;

/* NULL for a value that had no id when the sweep began: a seed that is a parameter may get its id during the sweep. */
static cp_tensor **slot_of(cp_tape *tape, int known, const cp_tensor *wrt) {
    int id = cp_tape_find(tape, wrt);
    return id >= 0 && id < known ? &tape->slots[id].grad : NULL;
}

/* A recorded sweep: its tensors are on the tape like any other. */
static bool grad_recorded(cp_at at, const request *q) {
    int  known = at.tape->value_count;
    bool grouped = at.tape->scope_count > 0;
    if (grouped) (cp_scope_begin)(at, "gradient");
    bool ok = sweep(at, q->op, q->of, q->seed);
    if (grouped) (cp_scope_end)(at);
    for (int i = 0; i < q->n && ok; i++) {
        cp_tensor **slot = slot_of(at.tape, known, q->wrt[i]);
        q->out[i] = slot && *slot ? *slot : cp_full(at, 0, q->wrt[i]->shape);
        ok = q->out[i];
    }
    return ok;
}

bool cp_sweep_from(cp_at at, int first, cp_tensor *out, cp_tensor *seed, cp_tensor *const *wrt, int n, cp_tensor **grads) {
    cp_tape    *tape = at.tape;
    cp_slot    *slots = tape->slots;
    cp_watcher *watch = tape->watch;
    int         room = tape->slot_room, from = tape->first, lowest = tape->lowest;
    request     q = {"recompute", .of = out, .seed = seed, .wrt = wrt, .n = n, .out = grads, .recorded = true};
    tape->slots = NULL;
    tape->slot_room = 0;
    tape->watch = NULL;
    tape->first = first;
    bool ok = mark(at, wrt, n) && grad_recorded(at, &q);
    free(tape->slots);
    tape->slots = slots;
    tape->slot_room = room;
    tape->watch = watch;
    tape->first = from;
    tape->lowest = lowest;
    return ok;
}

static bool grad_only(cp_at at, const request *q) {
    cp_tape *tape = at.tape;
    int      known = tape->value_count;
    for (int i = 0; i < q->n; i++)
        if (!(q->out[i] = cp_tensor_make(at, q->wrt[i]->shape, q->wrt[i]->size))) return false;
    cp_memory_mark before = cp_tape_memory_mark(tape);
    tape->collecting = true;
    tape->made = NULL;
    bool ok = sweep(at, q->op, q->of, q->seed);
    tape->collecting = false;
    for (int i = 0; i < q->n && ok; i++) ok = result_fill(at, q->out[i], slot_of(tape, known, q->wrt[i]));
    for (int id = 0; id < known; id++) drop(tape, tape->slots[id].grad);
    for (int i = 0; i < q->n && !ok; i++)
        if (q->out[i]->data) cp_values_release(tape, q->out[i]);
    tape->made = NULL; /* perhaps no rule has run since it was filled; its tensors are rewound */
    cp_tape_memory_rewind(tape, before);
    return ok;
}

bool cp_depends(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n) {
    return loss->id >= 0 && mark(at, wrt, n) && at.tape->slots[loss->id].mark;
}

static bool wanted_fits(cp_at at, const char *op, const cp_tensor *t, int i) {
    cp_text what;
    snprintf(what.s, sizeof what.s, "wrt[%d]", i);
    if (!t) return !at.tape->failed && cp_misuse(at, op, "%s is NULL", what.s);
    const char *fault = t->tape && t->tape != at.tape        ? "belongs to another tape"
                        : !t->tracked                        ? "is a constant"
                        : !t->tape && at.tape->frozen        ? "is a parameter, and the tape is frozen"
                        : cp_use_of(at, t) == CP_USED_FROZEN ? "is a parameter that was used only while the tape was frozen"
                                                             : NULL;
    if (t->tape == at.tape && t->step != at.tape->step) return cp_tensor_usable(at, op, what.s, t);
    return !fault || cp_misuse(at, op, "%s, of shape %s, %s", what.s, cp_shape_text(t).s, fault);
}

static bool request_fits(cp_at at, const request *q) {
    if (q->n < 0 || (q->n > 0 && (!q->wrt || !q->out)))
        return cp_misuse(at, q->op, "wrt or out is NULL, or n = %d is negative", q->n);
    for (int i = 0; i < q->n; i++) q->out[i] = NULL;
    if (!cp_check(at, q->op, q->seeded ? 2 : 1, (cp_tensor *[]){q->of, q->seed})) return false;
    if (q->seeded && !cp_shape_same(q->seed, q->of))
        return cp_misuse(at, q->op, "the seed has shape %s, and the result %s: they must be the same", cp_shape_text(q->seed).s,
                         cp_shape_text(q->of).s);
    if (!q->seeded && q->of->size != 1)
        return cp_misuse(
            at, q->op, "loss has shape %s; only a single value has a gradient: take cp_mean or cp_sum first, or cp_vjp with a seed",
            cp_shape_text(q->of).s);
    for (int i = 0; i < q->n; i++)
        if (!wanted_fits(at, q->op, q->wrt[i], i)) return false;
    return (q->of->id >= 0 && q->of->tracked) ||
           cp_misuse(at, q->op,
                     "%s was not recorded: it depends on no variable or parameter, or the tape was paused (cp_tape_pause); "
                     "what cp_grad returns is constant, cp_grad_recorded records it",
                     q->seeded ? "the result" : "loss");
}

bool cp_sweep_fits(cp_at at, const char *op, cp_tensor *of, cp_tensor *const *wrt, int n, cp_tensor **out) {
    return request_fits(at, &(request){op, .of = of, .seed = of, .wrt = wrt, .n = n, .out = out, .seeded = true});
}

bool cp_rule_run(cp_at at, const char *op, int i, cp_tensor *g, cp_tensor **gin) {
    int left = at.tape->read_count;
    if (!reads_current(at, op, i, &left)) return false;
    if (g) rule_call(at, at.tape->nodes[i], g, gin);
    return true;
}

enum { EQUAL_STEPS = 100, PLACES = 16 }; /* PLACES: a sweep's place may be this many other sweeps apart */

/* Warns once of a loop whose steps neither reset the tape nor use each other's nodes. */
static void loop_check(cp_at at, const char *op, bool recorded) {
    cp_tape       *tape = at.tape;
    cp_loop_watch *l = &tape->loop;
    int            growth = tape->node_count - l->length;
    bool           same = at.file == l->file && at.line == l->line;
    l->sweeps++;
    if (tape->lowest < l->reach) l->reach = tape->lowest;
    if (recorded || (!same && l->file && ++l->elsewhere <= PLACES)) return;
    l->equal = same && growth > 0 && growth == l->growth && l->reach >= l->length ? l->equal + 1 : 0;
    l->file = at.file;
    l->line = at.line;
    l->growth = growth;
    l->length = l->reach = tape->node_count;
    l->elsewhere = 0;
    if (l->equal < EQUAL_STEPS || l->warned) return;
    l->warned = true;
    cp_warn(at, op,
            "%d steps in a row recorded %d nodes each on this tape, which has %d nodes and %zu bytes now: is a cp_tape_reset "
            "missing at "
            "the end of the step?",
            EQUAL_STEPS, growth, tape->node_count, cp_tape_bytes(tape));
}

static bool run(cp_at at, const request *q) {
    if (!request_fits(at, q) || !mark(at, q->wrt, q->n)) return false;
    bool was = cp_tape_pause(at.tape, !q->recorded);
    bool ok = q->recorded ? grad_recorded(at, q) : grad_only(at, q);
    if (ok) loop_check(at, q->op, q->recorded);
    cp_tape_pause(at.tape, was);
    for (int i = 0; i < q->n && !ok; i++) q->out[i] = NULL;
    return ok;
}

bool(cp_grad)(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out) {
    return cp_grad_for(at, "grad", loss, wrt, n, out);
}

bool cp_grad_for(cp_at at, const char *op, cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out) {
    return run(at, &(request){op, .of = loss, .wrt = wrt, .n = n, .out = out});
}

bool(cp_grad_recorded)(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out) {
    return run(at, &(request){"grad", .of = loss, .wrt = wrt, .n = n, .out = out, .recorded = true});
}

bool(cp_vjp)(cp_at at, cp_tensor *out, cp_tensor *seed, cp_tensor *const *wrt, int n, cp_tensor **grads) {
    return run(at, &(request){"vjp", .seeded = true, .of = out, .seed = seed, .wrt = wrt, .n = n, .out = grads});
}

bool(cp_vjp_recorded)(cp_at at, cp_tensor *out, cp_tensor *seed, cp_tensor *const *wrt, int n, cp_tensor **grads) {
    return run(at, &(request){"vjp", .seeded = true, .of = out, .seed = seed, .wrt = wrt, .n = n, .out = grads, .recorded = true});
}
