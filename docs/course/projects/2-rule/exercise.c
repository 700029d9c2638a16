/* Project 2: the pseudo-Huber loss, an op with a rule of second order. */
#include <core/op.h>
#include <couplet.h>
#include <math.h>

static void huber_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    if (cp_needs(node, 0)) gin[0] = g;                                  /* not yet */
    if (cp_needs(node, 1)) gin[1] = cp_full(at, 0, node->in[1]->shape); /* not yet */
}

static const cp_op huber_op = {
    .name = "huber", .formula = "s sqrt(a^2 + s^2) - s^2", .grad = huber_grad, .keeps = {0, 0}, /* not yet */
};

/* a (n, m), s (m): the result (n, m). */
cp_tensor *huber(cp_at at, cp_tensor *a, cp_tensor *s) {
    cp_tensor *in[] = {a, s};
    cp_tensor *out = cp_out(at, a->shape);
    return out ? cp_record(at, &huber_op, out, NULL, 2, in) : NULL; /* not yet: the checks and the values */
}
