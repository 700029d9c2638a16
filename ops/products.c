/* Products with Jacobians, forward along the record, and with Hessians, by two sweeps. */
#include "ops/products.h"

#include "core/tape_internal.h"
#include "ops/ops.h"

#include <string.h>

static bool directions_fit(cp_at at, const char *op, cp_tensor *const *wrt, cp_tensor *const *directions, int n) {
    if (n < 1 || !wrt || !directions) return cp_misuse(at, op, "wrt or directions is NULL, or n = %d is below 1", n);
    if (!cp_check(at, op, n, directions)) return false;
    for (int i = 0; i < n; i++)
        if (wrt[i] && !cp_shape_same(wrt[i], directions[i]))
            return cp_misuse(at, op, "directions[%d] has shape %s, and wrt[%d] %s: they must be the same", i,
                             cp_shape_text(directions[i]).s, i, cp_shape_text(wrt[i]).s);
    return true;
}

/* sum_i <recorded[i], directions[i]>, recorded even when the tape is paused. The directions are constants here. */
static cp_tensor *inner(cp_at at, cp_tensor *const *recorded, cp_tensor *const *directions, int n) {
    cp_tensor *sum = cp_scalar(at, 0);
    bool       was = cp_tape_pause(at.tape, false);
    for (int i = 0; i < n; i++)
        sum = cp_add(at, sum, cp_sum(at, cp_mul(at, recorded[i], cp_detach(at, directions[i])), CP_ALL, false));
    cp_tape_pause(at.tape, was);
    return sum;
}

/* The gradient of a value that was not recorded is zero. */
static bool zeros(cp_at at, cp_tensor *const *like, int n, cp_tensor **out) {
    for (int i = 0; i < n; i++)
        if (!(out[i] = cp_full(at, 0, like[i]->shape))) return false;
    return true;
}

/* ---- forward mode ---- */

/* Ops whose value at an index depends on the inputs' values at that index only, when shapes are the same. Their Jacobians are diagonal, so
 * that the gradient rule, J^T g, is J u for g = u. */
/* clang-format off */
#define DIAGONAL(X)                                                                                          \
    X(abs) X(accumulate) X(add) X(affine) X(clamp) X(cos) X(div) X(erf) X(exp) X(gate) X(gelu) X(gelu_tanh)  \
    X(leaky_relu) X(log) X(log1p) X(maximum) X(minimum) X(mul) X(neg) X(pow) X(relu) X(rsqrt)                \
    X(scale_shift) X(sigmoid) X(sin) X(softplus) X(sqrt) X(square) X(sub) X(swish) X(tanh) X(where)
/* clang-format on */
#define DECLARE(name) extern const cp_op cp_op_##name;
#define POINTER(name) &cp_op_##name,
DIAGONAL(DECLARE)
extern const cp_op cp_op_conv2d, cp_op_matmul, cp_op_reshape;

static bool is_diagonal(const cp_node *node, int j) {
    static const cp_op *const ops[] = {DIAGONAL(POINTER)};
    bool                      found = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) found |= node->op == ops[i];
    return found && cp_shape_same(node->in[j], node->out);
}

/* Ops that are linear in each input, given u in the place of input j. NULL: another op. */
static cp_tensor *linear(cp_at at, const cp_node *node, int j, cp_tensor *u) {
    cp_tensor *a = j ? node->in[0] : u, *b = j ? u : node->in[node->inputs > 1];
    if (node->op == &cp_op_matmul) return cp_matmul(at, a, b, *(const unsigned *)node->attr);
    if (node->op == &cp_op_conv2d && j < 2) return cp_conv2d(at, a, b, NULL, *(const cp_conv2d_config *)node->attr);
    return node->op == &cp_op_reshape ? cp_reshape(at, u, node->out->shape) : NULL;
}

/* The rule of a diagonal op, whose tensors besides the result are released. */
static cp_tensor *diagonal(cp_at at, int i, int j, cp_tensor *u, cp_tensor **gin) {
    cp_tape *tape = at.tape;
    tape->collecting = true;
    cp_rule_run(at, "jvp", i, u, gin);
    tape->collecting = false;
    for (cp_tensor *t = tape->made; t; t = t->next_made) {
        t->holds = -1;
        if (gin[j] && t != gin[j] && t != gin[j]->base) cp_values_release(tape, t);
    }
    tape->made = NULL;
    return gin[j];
}

/* What a step u of input j adds to the result of node i. For other ops by a double reverse of the op alone: its rule's result J^T v is linear
 * in v, and the gradient of <J^T v, u> with respect to v is J u. The tape is paused. */
static cp_tensor *along_input(cp_at at, int i, int j, cp_tensor *u, cp_jvp_ways *ways) {
    cp_node    *node = at.tape->nodes[i];
    cp_tensor **gin = cp_tape_alloc(at, (size_t)node->inputs * sizeof *gin), *product;
    if (!gin) return NULL;
    memset(gin, 0, (size_t)node->inputs * sizeof *gin);
    for (int k = 0; k < node->inputs; k++) node->need[k] = k == j;
    if (!cp_rule_run(at, "jvp", i, NULL, NULL)) return NULL;
    bool dual = (product = linear(at, node, j, u)) || is_diagonal(node, j);
    *(dual ? &ways->dual : &ways->reverse) += 1;
    if (dual) return product ? product : diagonal(at, i, j, u, gin);
    cp_tensor *zeros = cp_full(at, 0, node->out->shape), *v = zeros ? cp_variable_of(at, zeros) : NULL;
    if (!v) return NULL;
    int first = at.tape->first;
    at.tape->first = at.tape->node_count;
    cp_tape_pause(at.tape, false);
    cp_rule_run(at, "jvp", i, v, gin);
    cp_tensor *sum = gin[j] ? cp_sum(at, cp_mul(at, gin[j], cp_detach(at, u)), CP_ALL, false) : NULL;
    cp_tape_pause(at.tape, true);
    if (sum && sum->tracked)
        cp_grad(at, sum, &v, 1, &product);
    else
        product = sum ? zeros : NULL;
    at.tape->first = first;
    return product;
}

/* Steps of all values from those of wrt, in the order of the record, for the nodes that lead to out. NULL after cp_misuse. */
static cp_tensor *step_of(cp_at at, cp_tensor *out, cp_tensor *const *wrt, cp_tensor *const *directions, int n, cp_jvp_ways *ways) {
    cp_tape    *tape = at.tape;
    int         values = tape->value_count, nodes = tape->node_count;
    cp_tensor **step = cp_tape_alloc(at, (size_t)values * sizeof *step);
    bool       *leads = cp_tape_alloc(at, (size_t)values * sizeof *leads);
    if (!step || !leads) return NULL;
    memset(step, 0, (size_t)values * sizeof *step);
    memset(leads, 0, (size_t)values * sizeof *leads);
    leads[out->id] = true;
    for (int i = nodes - 1; i >= 0; i--)
        for (int j = 0; j < tape->nodes[i]->inputs; j++)
            if (leads[tape->nodes[i]->out->id] && tape->nodes[i]->ids[j] >= 0) leads[tape->nodes[i]->ids[j]] = true;
    for (int i = 0; i < n; i++) {
        int id = cp_tape_find(tape, wrt[i]);
        if (id >= 0 && id < values) step[id] = step[id] ? cp_add(at, step[id], directions[i]) : directions[i];
    }
    for (int i = 0; i < nodes; i++) {
        const cp_node *node = tape->nodes[i];
        for (int j = 0; j < node->inputs && leads[node->out->id]; j++) {
            cp_tensor **sum = &step[node->out->id], *u = node->ids[j] >= 0 ? step[node->ids[j]] : NULL;
            cp_tensor  *part = u ? along_input(at, i, j, u, ways) : NULL;
            if (u && !part) return NULL;
            if (part && !(*sum = *sum ? cp_add(at, *sum, part) : part)) return NULL;
        }
    }
    cp_tensor *result = cp_full(at, 0, out->shape);
    if (result && step[out->id] && result->size) memcpy(result->data, step[out->id]->data, result->size * sizeof *result->data);
    return result;
}

cp_tensor *(cp_jvp)(cp_at at, cp_tensor *out, cp_tensor *const *wrt, cp_tensor *const *directions, int n) {
    return cp_jvp_counted(at, out, wrt, directions, n, &(cp_jvp_ways){0});
}

cp_tensor *(cp_jvp_counted)(cp_at at, cp_tensor *out, cp_tensor *const *wrt, cp_tensor *const *directions, int n,
                            cp_jvp_ways *ways) {
    if (!ways) return cp_refuse(at, "jvp", "ways is NULL");
    *ways = (cp_jvp_ways){0};
    if (!cp_check(at, "jvp", 1, &out) || !directions_fit(at, "jvp", wrt, directions, n)) return NULL;
    cp_tensor **none = cp_tape_alloc(at, (size_t)n * sizeof *none);
    if (!none || !cp_sweep_fits(at, "jvp", out, wrt, n, none)) return NULL;
    bool          paused = cp_tape_pause(at.tape, true);
    cp_loop_watch loop = at.tape->loop;
    at.tape->loop.warned = true; /* the ops' own sweeps are no steps of a training loop */
    cp_tensor *product = step_of(at, out, wrt, directions, n, ways);
    at.tape->loop = loop;
    cp_tape_pause(at.tape, paused);
    return product;
}

/* ---- Hessians ---- */

bool(cp_hvp)(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, cp_tensor *const *directions, int n, cp_tensor **products) {
    if (!products) return cp_misuse(at, "hvp", "products is NULL");
    bool fits = cp_check(at, "hvp", 1, &loss) && directions_fit(at, "hvp", wrt, directions, n);
    for (int i = 0; i < n && !fits; i++) products[i] = NULL;
    if (!fits) return false;
    cp_tensor **gradient = cp_tape_alloc(at, (size_t)n * sizeof *gradient);
    if (!gradient || !cp_grad_recorded(at, loss, wrt, n, gradient)) return false;
    cp_tensor *along = inner(at, gradient, directions, n);
    if (!along) return false;
    return along->tracked ? cp_grad(at, along, wrt, n, products) : zeros(at, wrt, n, products);
}
