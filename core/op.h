/* What is needed to write a differentiable op. An op is three things in one place: a shape rule, a forward computation and a
 * gradient rule. The gradient rule is written with ops, so it can be recorded and differentiated again:
 *
 *     static void square_grad(cp_at at, const cp_node *n, cp_tensor *g, cp_tensor **gin) {
 *         gin[0] = cp_mul(at, g, cp_scale(at, n->in[0], 2));
 *     }
 *     const cp_op cp_op_square = {.name = "square", .formula = "a^2", .grad = square_grad, .keeps = {CP_KEEPS_IN(0)}};
 *
 *     cp_tensor *(cp_square)(cp_at at, cp_tensor *a) {
 *         if (!cp_check(at, "square", 1, &a)) return NULL;
 *         cp_tensor *out = cp_out(at, a->shape);
 *         if (!out) return NULL;
 *         ... fill out->data ...
 *         return cp_record(at, &cp_op_square, out, NULL, 1, &a);
 *     }
 */
#ifndef CP_OP_H
#define CP_OP_H

#include "core/arena.h"
#include "core/tape.h"

typedef struct cp_node cp_node;

#define CP_KEEPS_IN(i) (1u << (i))
#define CP_KEEPS_OUT (1u << 31)
#define CP_KEEPS_SAVED (1u << 30) /* values in attr: a condition, places, statistics */

enum { CP_OP_MAX = 6 }; /* inputs whose gradients may read different values */

typedef struct cp_op {
    const char *name;
    const char *formula;
    /* Sets gin[i] = gradient with respect to in[i], in in[i]'s shape, for every i with cp_needs(node, i); g is the gradient with
     * respect to out. NULL for ops that are made of other ops. */
    void (*grad)(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin);
    unsigned keeps[CP_OP_MAX]; /* what the rule reads for the gradient of input i: CP_KEEPS_IN(j) | CP_KEEPS_OUT | CP_KEEPS_SAVED */
    unsigned constants;        /* inputs that get no gradient: CP_KEEPS_IN(i) | ... */
    bool     kinked;           /* not smooth everywhere: second derivatives hold only away from the kinks */

    /* For those who look on (cp_tape_html): the gradient rule as a formula and in a sentence; NULL where nobody wrote them. */
    const char *rule;  /* "a: g b; b: g a", with g for the gradient at out */
    const char *words; /* "Each factor gets the incoming gradient times the other factor." */
} cp_op;

struct cp_node {
    const cp_op *op;
    cp_tensor   *out;
    cp_tensor  **in;   /* NULL: an optional one that was not given */
    int         *ids;  /* the inputs' places among the tracked values; -1: a constant */
    bool        *need; /* during a sweep: which inputs want a gradient */
    int          inputs;
    unsigned     keeps; /* the values this node's rule will read */
    const void  *attr;  /* the op's own: strides, axes, saved numbers; no tensors, which are inputs */
    const char  *file;  /* the caller's place */
    int          line;
    bool         frozen; /* the tape was: parameters among the inputs are constants */
    size_t       bytes;  /* the tape's memory in use when it was recorded */
};

static inline bool cp_needs(const cp_node *node, int i) {
    return node->need[i];
}

/* Whether a tensor, called `what` in the message, can be read now: not from before its tape's reset, not given back. Else false, after
 * cp_misuse. For functions that take no tape. */
bool cp_tensor_usable(cp_at at, const char *op, const char *what, const cp_tensor *t);

/* true when there is a tape and all inputs are tensors that it can use; else false, after cp_misuse, or silently for a NULL when the
 * tape has reported an error since its reset: that error is where it comes from. So formulas need no checks of their own. */
bool cp_check(cp_at at, const char *op, int n, cp_tensor *const *in);
/* The same for inputs with names, any of which may be absent: NULL, unless the tape has reported an error. */
bool cp_check_optional(cp_at at, const char *op, int n, cp_tensor *const *in, const char *const *names);

cp_tensor *cp_out(cp_at at, cp_shape shape);                /* a result to fill; NULL when out of memory */
cp_tensor *cp_view(cp_at at, cp_tensor *a, cp_shape shape); /* a's values in another shape; no copy */

/* Memory that lives as long as the tape's values, in a gradient rule until the sweep ends unless that is recorded; attr copies
 * `bytes` from `from`. For what a function gives back itself there is cp_scratch. */
void *cp_tape_alloc(cp_at at, size_t bytes);
void *cp_tape_copy(cp_at at, const void *from, size_t bytes);

/* Gives a value's memory back before the reset, unless somebody will still read it: a rule on the record (cp_node.keeps), a view.
 * Using the tensor afterwards is misuse. For layers with large intermediate values; persistent tensors are left alone. */
void cp_release(cp_at at, cp_tensor *t);

/* Appends a node when recording is on and one of the inputs is tracked; returns out in any case. */
cp_tensor *cp_record(cp_at at, const cp_op *op, cp_tensor *out, const void *attr, int n, cp_tensor *const *in);
/* The same with a copy of an attribute of `bytes` bytes; NULL when out of memory, or when out is. */
cp_tensor *cp_record_with(cp_at at, const cp_op *op, cp_tensor *out, const void *attr, size_t bytes, int n, cp_tensor *const *in);

/* What cp_record would write into the node's keeps: 0 when it would record nothing. Tells whether to save something. */
unsigned cp_keeps(cp_at at, const cp_op *op, int n, cp_tensor *const *in);

bool      cp_recording(cp_at at); /* is the tape recording now (in a rule: is the sweep recorded)? */
cp_arena *cp_scratch(cp_at at);   /* the tape's arena, for kernels */

/* How the record knows a tensor: a frozen tape takes parameters as constants. */
typedef enum cp_use { CP_UNUSED, CP_USED, CP_USED_FROZEN } cp_use;
cp_use cp_use_of(cp_at at, const cp_tensor *t);
bool   cp_depends(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n); /* does loss depend on any of wrt? */

#endif
