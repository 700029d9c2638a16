/* Segments that are computed again in the sweep, so that the values inside them need memory only while their gradients are computed. A
 * segment runs on a tape of its own, which is reset afterwards: once for its result, and once more when its rule runs. In a sweep that is
 * recorded it runs on the tape itself, because gradients of gradients need its values: then no memory is saved. */
#include "core/tape_internal.h"

#include <string.h>

typedef struct segment {
    cp_segment_fn call;
    void         *context;
    cp_rng       *rng, before; /* the stream, and its state at the first run */
    int           in;          /* the node's inputs of the caller; the others are parameters that the segment used */
} segment;

bool cp_recomputing(cp_at at) { return at.tape->recomputing; }

/* Runs the segment with the stream in its state of the first run. */
static cp_tensor *run_again(cp_at at, const segment *s, cp_tensor *const *in) {
    cp_rng now = s->rng ? *s->rng : (cp_rng){0};
    bool   was = at.tape->recomputing;
    at.tape->recomputing = true;
    if (s->rng) *s->rng = s->before;
    cp_tensor *out = s->call(at, s->context, in);
    if (s->rng) *s->rng = now;
    at.tape->recomputing = was;
    return out;
}

/* The inputs on the inner tape, as leaves: of the tape's tensors, copies. NULL after cp_misuse. */
static cp_tensor **leaves(cp_at at, cp_at inside, cp_tensor *const *in, int n) {
    cp_tensor **out = cp_tape_alloc(at, (size_t)(n ? n : 1) * sizeof *out);
    for (int i = 0; out && i < n; i++) {
        out[i] = !in[i]->tape ? in[i] : in[i]->tracked ? cp_variable_of(inside, in[i]) : cp_constant_of(inside, in[i]);
        if (!out[i]) return NULL;
    }
    return out;
}

/* A tensor of another tape as one of this. */
static cp_tensor *copied(cp_at at, const cp_tensor *t) {
    cp_tensor *copy = t ? cp_out(at, t->shape) : NULL;
    if (copy && t->size) memcpy(copy->data, t->data, t->size * sizeof *t->data);
    return copy;
}

static bool same_again(cp_at at, const cp_tensor *out, const cp_tensor *again) {
    if (!again) return false;
    return (cp_shape_same(out, again) && memcmp(out->data, again->data, out->size * sizeof *out->data) == 0) ||
           cp_misuse(at, "recompute",
                     "the segment gave other values when it was computed again: a parameter or its context has changed, or it "
                     "draws random numbers from a stream that was not given as rng");
}

/* An input that was given twice and is one leaf of the segment (of the tape's tensors, the inner tape has copies): its gradient is whole
 * already. */
static void count_once(cp_at at, const cp_node *node, const segment *s, bool copies, cp_tensor **gin) {
    for (int i = 1; i < s->in; i++)
        for (int j = 0; j < i; j++)
            if (node->in[i] == node->in[j] && gin[i] && !(copies && node->in[i]->tape)) gin[i] = cp_full(at, 0, gin[i]->shape);
}

/* Fills the gradients of all inputs that need one, from a recorded sweep over the nodes from `first` on. */
static void grads_recorded(cp_at at, const cp_node *node, const segment *s, cp_tensor *g, cp_tensor **gin) {
    int        first = at.tape->node_count;
    cp_tensor *again = run_again(at, s, node->in);
    if (!same_again(at, node->out, again) || !cp_sweep_from(at, first, again, g, node->in, node->inputs, gin)) return;
    count_once(at, node, s, false, gin);
}

static void recompute_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const segment *s = node->attr;
    if (cp_recording(at)) {
        grads_recorded(at, node, s, g, gin);
        return;
    }
    cp_tape    *tape = at.tape, *inner = tape->inner;
    cp_at       inside = {inner, at.file, at.line};
    cp_tensor **in = leaves(at, inside, node->in, s->in);
    cp_tensor **wrt = cp_tape_alloc(at, (size_t)node->inputs * sizeof *wrt), *seed = cp_constant_of(inside, g), *again;
    cp_tensor **grads = cp_tape_alloc(at, (size_t)node->inputs * sizeof *grads);
    int         n = 0;
    bool        was = cp_tape_freeze(inner, tape->frozen);
    if (in && wrt && grads && seed && (again = run_again(inside, s, in)) && same_again(at, node->out, again)) {
        for (int i = 0; i < node->inputs; i++)
            if (node->need[i]) wrt[n++] = i < s->in ? in[i] : node->in[i];
        bool ok = cp_vjp(inside, again, seed, wrt, n, grads);
        for (int i = 0, k = 0; ok && i < node->inputs; i++)
            if (node->need[i]) gin[i] = copied(at, grads[k++]);
        count_once(at, node, s, true, gin);
    }
    tape->failed |= inner->failed;
    cp_tape_freeze(inner, was);
    cp_tape_reset(inner);
}

CP_OP(recompute, .formula = "a segment of ops, computed again in the sweep", .rule = "the gradients of the segment",
      .words = "The segment is computed again with its values kept, and its own gradients are computed then.",
      .keeps = {CP_KEEPS_OUT, CP_KEEPS_OUT, CP_KEEPS_OUT, CP_KEEPS_OUT, CP_KEEPS_OUT, CP_KEEPS_OUT});

/* Records the result with the inputs and the parameters that the segment used as inputs of the node. */
static cp_tensor *record(cp_at at, const segment *s, cp_tensor *result, cp_tensor *const *in, const cp_tape *inner) {
    int         n = s->in;
    cp_tensor **all = cp_tape_alloc(at, (size_t)(n + inner->value_count) * sizeof *all);
    if (!all) return NULL;
    for (int i = 0; i < n; i++) all[i] = in[i];
    for (int id = 0; id < inner->value_count; id++) {
        bool parameter = !inner->values[id]->tape;
        for (int i = 0; i < s->in && parameter; i++) parameter = in[i] != inner->values[id];
        if (parameter) all[n++] = inner->values[id];
    }
    for (int i = 0; i < s->in; i++) /* the rule reads it for every gradient */
        if (in[i]->tape) (in[i]->base ? in[i]->base : in[i])->kept++;
    return cp_record_with(at, &cp_op_recompute, result, s, sizeof *s, n, all);
}

cp_tensor *(cp_recompute)(cp_at at, cp_segment_fn call, void *context, cp_tensor *const *in, int n, cp_rng *rng) {
    if (!call || n < 0 || (n && !in))
        return cp_refuse(at, "recompute", "the segment or its inputs are NULL, or n = %d is negative", n);
    if (!cp_check(at, "recompute", n, in)) return NULL;
    cp_tape *tape = at.tape;
    if (!tape->inner && !(tape->inner = cp_tape_new())) return NULL;
    cp_tape *inner = tape->inner;
    if (inner->ring.count)
        return cp_refuse(at, "recompute", "another segment of this tape is under way: nest with the segment's own tape");
    cp_at       inside = {inner, at.file, at.line};
    segment     s = {.call = call, .context = context, .rng = rng, .in = n};
    bool        frozen = cp_tape_freeze(inner, tape->frozen), paused = cp_tape_pause(inner, tape->paused);
    cp_tensor **copies = leaves(at, inside, in, n), *out = NULL, *result = NULL;
    inner->recomputing = tape->recomputing;
    if (rng) s.before = *rng;
    if (copies && (out = call(inside, context, copies)) && (out->tape == inner || !out->tape)) result = copied(at, out);
    if (out && out->tape && out->tape != inner)
        cp_misuse(at, "recompute", "the segment's result is not on the tape that it was given");
    if (result && out->tracked) result = record(at, &s, result, in, inner);
    tape->failed |= inner->failed;
    cp_tape_freeze(inner, frozen);
    cp_tape_pause(inner, paused);
    inner->recomputing = false;
    cp_tape_reset(inner);
    return result;
}
