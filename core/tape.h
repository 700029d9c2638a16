/* The tape: a record of the ops as they ran, and the reverse sweep over it.
 *
 * Ops run at once and append one node each to the tape, so the record's order is a topological order and the sweep for
 * gradients is a loop from its end to its start. Values live in the tape's arena until cp_tape_reset.
 *
 *     cp_tape   *tape = cp_tape_new();
 *     cp_tensor *x    = cp_variable(tape, data, CP_SHAPE(3));
 *     cp_tensor *loss = cp_sum(tape, cp_square(tape, x), CP_ALL, false);
 *     cp_tensor *dx;
 *     cp_grad(tape, loss, &x, 1, &dx);             // dx = 2x
 *     cp_tape_reset(tape);                         // x, loss, dx are gone
 *     cp_tape_free(tape);
 *
 * A tensor from before a reset is stale. Every function reports a stale argument, with the op, the argument and the caller's line, during
 * the whole step after the reset and later until about 8,000 more tensors were made. It cannot detect a stale tensor after that, one whose
 * tape was freed, or values read through `data` without a call (the address sanitizer finds those too, unless the tensor has a single
 * value). After the first error in a step, functions silently return NULL for a NULL argument, which comes from that error. */
#pragma once

#include "core/random.h"
#include "core/shape.h"
#include "core/tensor.h"

typedef struct cp_tape cp_tape;

cp_tape *cp_tape_new(void);
void     cp_tape_free(cp_tape *tape);  /* NULL is allowed; all its tensors go with it */
void     cp_tape_reset(cp_tape *tape); /* forgets the record and all values, O(1); the memory is kept for the next step */

/* A tape belongs to the thread that uses it first after cp_tape_new or cp_tape_reset; use by another thread is misuse. After hand_over the
 * next thread that uses it owns it: for a tape that one thread records and another, while the first waits, goes on with. */
void cp_tape_hand_over(cp_tape *tape);

/* While paused, ops compute values and record nothing, for inference. Returns the previous setting; a new tape records. */
bool cp_tape_pause(cp_tape *tape, bool on);

/* While frozen, the tape treats persistent tensors as constants: only cp_variable leaves get gradients, and nothing is stored for the
 * gradients of parameters. Samplers use it. Returns the previous setting. */
bool cp_tape_freeze(cp_tape *tape, bool on);

/* Tensors on the tape, with the values copied. A variable has a gradient, a constant does not. */
cp_tensor *cp_constant(cp_at at, cp_reals_in data, cp_shape shape);
cp_tensor *cp_variable(cp_at at, cp_reals_in data, cp_shape shape);
/* The same with the shape, values and lengths of a tensor; the lengths are not copied. */
cp_tensor *cp_constant_of(cp_at at, const cp_tensor *t);
cp_tensor *cp_variable_of(cp_at at, const cp_tensor *t);
cp_tensor *cp_full(cp_at at, cp_real value, cp_shape shape); /* a constant filled with one value */
cp_tensor *cp_scalar(cp_at at, cp_real value);               /* a constant of shape () */
cp_tensor *cp_detach(cp_at at, cp_tensor *a);                /* the same values as a constant; no copy */

/* The gradients d loss / d wrt[i] in out[i], for i < n, each with the shape of wrt[i]; they live on the tape. loss has one
 * value. wrt are variables, parameters, or any values computed from them; branches that lead to none of them are
 * skipped. A wrt that loss does not depend on gets zeros. May be called any number of times.
 * false (after the error handler) on misuse; then out is all NULL. */
bool cp_grad(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out);

/* The same, and the sweep is recorded too: the gradients can be used in further ops and differentiated again. */
bool cp_grad_recorded(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out);

/* The same for a result of any shape: d sum(seed out) / d wrt[i] with the seed held fixed, a vector times the Jacobian, v^T J. seed has
 * out's shape; where it is tracked and the sweep is recorded, grads have a gradient with respect to it too, and may be the seed itself
 * (wrt[i] = out). cp_grad is the case of one value and the seed 1. */
bool cp_vjp(cp_at at, cp_tensor *out, cp_tensor *seed, cp_tensor *const *wrt, int n, cp_tensor **grads);
bool cp_vjp_recorded(cp_at at, cp_tensor *out, cp_tensor *seed, cp_tensor *const *wrt, int n, cp_tensor **grads);

/* Gradient checkpointing. The result of a segment of a computation, as segment(at, context, in) gives it, whose inner values are not kept:
 * the sweep computes them again where it needs them, one segment at a time. The segment uses `at` in place of a tape and the tensors `in`
 * in place of those given here; parameters it uses directly. Both runs must compute the same: random numbers come from rng only (or NULL),
 * whose state is repeated; context must last until the gradients are computed; and batch norm leaves its running statistics alone the second time. Other values are misuse.
 * The gradients have the same bits as without recomputing, unless a value is used both outside the segment and more than once inside: then
 * its parts are added in another order. A sweep that is recorded keeps the second run's values: it saves no memory. */
typedef cp_tensor *(*cp_segment_fn)(cp_at at, void *context, cp_tensor *const *in);
cp_tensor *cp_recompute(cp_at at, cp_segment_fn segment, void *context, cp_tensor *const *in, int n, cp_rng *rng);

int    cp_tape_length(const cp_tape *tape); /* nodes recorded */
size_t cp_tape_bytes(const cp_tape *tape);  /* memory of values and record in use now */
size_t cp_tape_peak(const cp_tape *tape);   /* the maximum in use at once so far, that of cp_recompute's inner tape included */

/* A number that every reset changes; compare it with an earlier one to find out whether values of that time are still valid. */
unsigned cp_tape_step(const cp_tape *tape);

/* Groups the nodes recorded until the matching cp_scope_end under a name, which is copied (up to CP_SCOPE_NAME - 1 bytes). Listings show the
 * name, and the page of cp_tape_html draws the group as one box that opens. Scopes nest; layers open one with the path of their parameters. A
 * reset closes them. */
enum { CP_SCOPE_NAME = 64 };
void cp_scope_begin(cp_at at, const char *name);
void cp_scope_end(cp_at at);

/* The record as text: one line per node with the op, the shape and bytes of its result, what its gradient rule keeps (values, "out"
 * for the result, "+saved" for other data of the op), its inputs, the leaves its gradient is needed for, and its scope. */
void cp_tape_print(cp_tape *tape, FILE *file);
/* The same with the values: all if there are few, otherwise minimum, maximum and mean. */
void cp_tape_print_values(cp_tape *tape, FILE *file);

/* The sweep of cp_grad(tape, loss, wrt, n, ...) as text, one line per rule in the order in which they run: the value and its op, the
 * incoming gradient, and the part of each input; "+" marks a part that is added to an earlier one, followed by the sum. false on misuse. */
bool cp_tape_trace(cp_at at, FILE *file, cp_tensor *loss, cp_tensor *const *wrt, int n);

/* The record in Graphviz's language, with values and, when loss is not NULL, the gradient of loss at every node (on a frozen tape
 * not at parameters): `dot -Tsvg`. If loss has no gradient, that is reported and the graph written without gradients. */
void cp_tape_dot(cp_at at, FILE *file, cp_tensor *loss);

/* The record as a page that replays it in a browser: forward op by op, then the sweep for the gradient of loss at all leaves (on a
 * frozen tape: at all variables), rule by rule. One self-contained file, below 3 MB for tapes of up to 2,000 values; longer tapes are
 * shown without heat maps, at about 0.5 kB per node: 10 MB for 20,000. false on misuse, when out of memory and when the file cannot be
 * written. */
bool cp_tape_html(cp_at at, FILE *file, cp_tensor *loss);

/* The same with a title, and with the text of a source file that does not exist when the page is written. The page shows the source line of
 * each node; other source files are read if they exist. */
typedef struct cp_tape_page {
    const char *title;         /* NULL: the caller's file and line */
    const char *file, *source; /* the file as __FILE__ names it, and its text; or NULL */
} cp_tape_page;
bool cp_tape_html_with(cp_at at, FILE *file, cp_tensor *loss, cp_tape_page page);

#define cp_constant(t, ...) cp_constant(CP_AT(t), __VA_ARGS__)
#define cp_variable(t, ...) cp_variable(CP_AT(t), __VA_ARGS__)
#define cp_constant_of(t, ...) cp_constant_of(CP_AT(t), __VA_ARGS__)
#define cp_variable_of(t, ...) cp_variable_of(CP_AT(t), __VA_ARGS__)
#define cp_full(t, ...) cp_full(CP_AT(t), __VA_ARGS__)
#define cp_scalar(t, ...) cp_scalar(CP_AT(t), __VA_ARGS__)
#define cp_detach(t, ...) cp_detach(CP_AT(t), __VA_ARGS__)
#define cp_recompute(t, ...) cp_recompute(CP_AT(t), __VA_ARGS__)
#define cp_grad(t, ...) cp_grad(CP_AT(t), __VA_ARGS__)
#define cp_grad_recorded(t, ...) cp_grad_recorded(CP_AT(t), __VA_ARGS__)
#define cp_vjp(t, ...) cp_vjp(CP_AT(t), __VA_ARGS__)
#define cp_vjp_recorded(t, ...) cp_vjp_recorded(CP_AT(t), __VA_ARGS__)
#define cp_scope_begin(t, ...) cp_scope_begin(CP_AT(t), __VA_ARGS__)
#define cp_scope_end(t) cp_scope_end(CP_AT(t))
#define cp_tape_trace(t, ...) cp_tape_trace(CP_AT(t), __VA_ARGS__)
#define cp_tape_html(t, ...) cp_tape_html(CP_AT(t), __VA_ARGS__)
#define cp_tape_html_with(t, ...) cp_tape_html_with(CP_AT(t), __VA_ARGS__)
#define cp_tape_dot(t, ...) cp_tape_dot(CP_AT(t), __VA_ARGS__)
