/* For writing a differentiable op: a shape rule, a forward computation and a gradient rule, side by side. The gradient rule is written with
 * ops, so it can be recorded and differentiated again:
 *
 *     static void square_grad(cp_at at, const cp_node *n, cp_tensor *g, cp_tensor **gin) {
 *         gin[0] = cp_mul(at, g, cp_scale(at, n->in[0], 2));
 *     }
 *     CP_OP(square, .formula = "a^2", .keeps = {CP_KEEPS_IN(0)});
 *
 *     cp_tensor *(cp_square)(cp_at at, cp_tensor *a) {
 *         if (!cp_check(at, "square", 1, &a)) return NULL;
 *         cp_tensor *out = cp_out(at, a->shape);
 *         if (!out) return NULL;
 *         ... fill out->data ...
 *         return cp_record(at, &cp_op_square, out, NULL, 1, &a);
 *     }
 */
#pragma once

#include "core/arena.h"
#include "core/tape.h"

#include <stdint.h>

typedef struct cp_node   cp_node;
typedef struct cp_export cp_export;
struct cp_json_writer;

#define CP_KEEPS_IN(i) (1u << (i))
#define CP_KEEPS_OUT (1u << 31)
#define CP_KEEPS_SAVED (1u << 30) /* values in attr: a condition, indices, statistics */

enum { CP_OP_MAX = 6 }; /* inputs whose gradients may read different values */

typedef struct cp_op {
    const char *name;
    const char *formula;
    /* Sets gin[i] = gradient with respect to in[i], in in[i]'s shape, for every i with cp_needs(node, i); g is the gradient with
     * respect to out. NULL for ops that consist of other ops. */
    void (*grad)(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin);
    unsigned keeps[CP_OP_MAX]; /* what the rule reads for the gradient of input i: CP_KEEPS_IN(j) | CP_KEEPS_OUT | CP_KEEPS_SAVED */
    unsigned constants;        /* inputs that get no gradient: CP_KEEPS_IN(i) | ... */
    bool     kinked;           /* not smooth everywhere: second derivatives are valid only away from the kinks */

    /* For display (cp_tape_html): the gradient rule as a formula and as a sentence, or NULL. The page puts names and numbers into the
     * formulas, and computes with those of elementwise ops, whose inputs are a, b and c. */
    const char *rule;       /* "a: g b; b: g a", with g for the gradient at out */
    const char *words;      /* "Each factor gets the incoming gradient times the other factor." */
    const char *numbers[2]; /* the names of the cp_real values at attr, as the formulas use them: "slope" */
    void (*attributes)(struct cp_json_writer *w, const cp_node *node); /* writes what else attr has, as members: "labels": [0, 2] */

    /* In an ONNX file: the operator of the same value, such as "Mul", of elementwise ops (core/export.c has the rest of the notation),
     * or a function that writes the node (core/export.h). Neither: a computation with this op cannot be exported. */
    const char *onnx;
    int (*to_onnx)(cp_export *e, const cp_node *node);
} cp_op;

/* Defines cp_op_NAME, an op with the gradient rule NAME_grad. */
#define CP_OP(NAME, ...) const cp_op cp_op_##NAME = {.name = #NAME, .grad = NAME##_grad, __VA_ARGS__}

struct cp_node {
    const cp_op *op;
    cp_tensor   *out;
    cp_tensor  **in;   /* NULL: an optional input that was omitted */
    int         *ids;  /* of the inputs among the tracked values; -1: a constant */
    bool        *need; /* during a sweep: which inputs need a gradient */
    int          inputs;
    unsigned     keeps; /* the values this node's rule will read */
    const void  *attr;  /* strides, axes, saved numbers; tensors are inputs instead */
    const char  *file;  /* the caller's file and line */
    int          line;
    bool         frozen; /* the tape was frozen: parameters among the inputs are constants */
    uint16_t     scope;  /* among the tape's scopes, from 1; 0: none */
    size_t       bytes;  /* of the tape in use when the node was recorded */
};

static inline bool cp_needs(const cp_node *node, int i) { return node->need[i]; }

/* Whether a tensor, called `what` in the message, is valid: not from before its tape's reset and not released. Otherwise false, after
 * cp_misuse. For functions without a tape. */
bool cp_tensor_usable(cp_at at, const char *op, const char *what, const cp_tensor *t);

/* true when there is a tape and all inputs are tensors that it can use. Otherwise false, after cp_misuse, or silently for a NULL that
 * comes from an error since the tape's reset, so that formulas need no checks of their own. */
bool cp_check(cp_at at, const char *op, int n, cp_tensor *const *in);
/* The same for named optional inputs: they may be NULL unless the tape has reported an error. */
bool cp_check_optional(cp_at at, const char *op, int n, cp_tensor *const *in, const char *const *names);

cp_tensor *cp_out(cp_at at, cp_shape shape);                /* a result for the op to fill; NULL when out of memory */
cp_tensor *cp_view(cp_at at, cp_tensor *a, cp_shape shape); /* the values of a in another shape; no copy */

/* Memory that lives as long as the tape's values or, in a gradient rule of a sweep that is not recorded, until the sweep ends;
 * cp_tape_copy fills it from `from`. For memory that the function releases itself use cp_scratch. */
void *cp_tape_alloc(cp_at at, size_t bytes);
void *cp_tape_copy(cp_at at, const void *from, size_t bytes);

/* Releases a value's memory before the reset, unless a rule on the record (cp_node.keeps) or a view still needs it. Using the tensor
 * afterwards is misuse. For layers with large intermediate values; does nothing to persistent tensors. */
void cp_release(cp_at at, cp_tensor *t);

/* Appends a node if the tape is recording and one of the inputs is tracked; returns out in any case. */
cp_tensor *cp_record(cp_at at, const cp_op *op, cp_tensor *out, const void *attr, int n, cp_tensor *const *in);
/* The same with a copy of an attribute of `bytes` bytes; NULL when out of memory, or when out is. */
cp_tensor *cp_record_with(cp_at at, const cp_op *op, cp_tensor *out, const void *attr, size_t bytes, int n, cp_tensor *const *in);

/* The `keeps` that cp_record would set, 0 if it would record nothing: whether the op has to save something. */
unsigned cp_keeps(cp_at at, const cp_op *op, int n, cp_tensor *const *in);

/* cp_grad for a function that computes gradients itself: misuse is reported for `op`. */
bool cp_grad_for(cp_at at, const char *op, cp_tensor *loss, cp_tensor *const *wrt, int n, cp_tensor **out);

/* Whether values are computed again, by cp_recompute: an op must not repeat its effects on persistent tensors. */
bool cp_recomputing(cp_at at);

bool      cp_recording(cp_at at); /* whether the tape is recording; in a rule, whether the sweep is recorded */
cp_arena *cp_scratch(cp_at at);   /* the tape's arena, for kernels */

/* How the record uses a tensor: a frozen tape treats parameters as constants. */
typedef enum cp_use { CP_UNUSED, CP_USED, CP_USED_FROZEN } cp_use;
cp_use cp_use_of(cp_at at, const cp_tensor *t);
bool   cp_depends(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, int n); /* whether loss depends on any of wrt */
