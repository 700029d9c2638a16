/* What is needed to write a differentiable op. An op is three things in one place: a shape rule, a forward computation and a
 * gradient rule. The gradient rule is written with ops, so it can be recorded and differentiated again:
 *
 *     static void square_grad(cp_at at, const cp_node *n, cp_tensor *g, cp_tensor **gin) {
 *         gin[0] = cp_mul(at, g, cp_scale(at, n->in[0], 2));
 *     }
 *     const cp_op cp_op_square = {.name = "square", .formula = "a^2", .grad = square_grad, .keeps = CP_KEEPS_IN(0)};
 *
 *     cp_tensor *(cp_square)(cp_at at, cp_tensor *a) {
 *         if (!cp_check(at, "square", 1, &a)) return NULL;
 *         cp_tensor *out = cp_out(at, a->rank, a->dims);
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

typedef struct cp_op {
    const char *name;
    const char *formula;
    /* Sets gin[i] = gradient with respect to in[i], in in[i]'s shape, for every i with cp_needs(node, i); g is the gradient with
     * respect to out. NULL for ops that are made of other ops. */
    void (*grad)(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin);
    unsigned keeps;  /* the values the rule may read: CP_KEEPS_IN(i) | CP_KEEPS_OUT | CP_KEEPS_SAVED */
    bool     kinked; /* not smooth everywhere: second derivatives hold only away from the kinks */
} cp_op;

struct cp_node {
    const cp_op *op;
    cp_tensor   *out;
    cp_tensor  **in;
    int         *ids;  /* the inputs' places among the tracked values; -1: a constant */
    bool        *need; /* during a sweep: which inputs want a gradient */
    int          inputs;
    unsigned     keeps; /* the values this node's rule will read: the op's, or fewer */
    const void  *attr;  /* the op's own: strides, axes, saved values */
    const char  *file;  /* the caller's place */
    int          line;
};

static inline bool cp_needs(const cp_node *node, int i) {
    return node->need[i];
}

/* true when there is a tape and all inputs are tensors that it can use; else false, after cp_misuse. */
bool cp_check(cp_at at, const char *op, int n, cp_tensor *const *in);

cp_tensor *cp_out(cp_at at, int rank, const int *dims);                /* a result to fill; NULL when out of memory */
cp_tensor *cp_view(cp_at at, cp_tensor *a, int rank, const int *dims); /* a's values in another shape; no copy */

/* Arena memory that lives as long as the tape's values, in a gradient rule until the sweep ends unless that is recorded; attr
 * copies `bytes` from `from`. For what a function gives back itself there is cp_scratch. */
void *cp_keep(cp_at at, size_t bytes);
void *cp_attr(cp_at at, const void *from, size_t bytes);

/* Gives a value's memory back before the reset. The caller vouches that nobody reads it again: no rule on the record keeps it
 * (cp_node.keeps) and no view shares it. For layers with large intermediate values; views and persistent tensors are left alone. */
void cp_release(cp_at at, cp_tensor *t);

/* Appends a node when recording is on and one of the inputs is tracked; returns out in any case. */
cp_tensor *cp_record(cp_at at, const cp_op *op, cp_tensor *out, const void *attr, int n, cp_tensor *const *in);
/* The same for a rule that reads some values only for the gradients of some inputs (cp_tracked): these of the op's. */
cp_tensor *cp_record_keeping(cp_at at, const cp_op *op, unsigned keeps, cp_tensor *out, const void *attr, int n,
                             cp_tensor *const *in);

/* May what is recorded now be asked for gradients with respect to t? An op that keeps a value only for some of its inputs'
 * gradients asks this, and so does a layer before it gives that value back. */
bool      cp_tracked(cp_at at, const cp_tensor *t);
bool      cp_recording(cp_at at); /* is the tape recording now (in a rule: is the sweep recorded)? */
cp_arena *cp_scratch(cp_at at);   /* the tape's arena, for kernels */

#endif
