#include <core/op.h>
#include <couplet.h>
#include <math.h>

/* With r = sqrt(a^2 + s^2): dy/da = s a / r, dy/ds = r + s^2 / r - 2 s. */
static void huber_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor *a = node->in[0], *s = node->in[1];
    cp_tensor *r = cp_sqrt(at, cp_add(at, cp_square(at, a), cp_square(at, s)));
    if (cp_needs(node, 0)) gin[0] = cp_mul(at, g, cp_div(at, cp_mul(at, a, s), r));
    if (cp_needs(node, 1)) {
        cp_tensor *slope = cp_sub(at, cp_add(at, r, cp_div(at, cp_square(at, s), r)), cp_scale(at, s, 2));
        gin[1] = cp_sum_to(at, cp_mul(at, g, slope), s->shape);
    }
}

static const cp_op huber_op = {
    .name = "huber",
    .formula = "s sqrt(a^2 + s^2) - s^2",
    .grad = huber_grad,
    .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_IN(1), CP_KEEPS_IN(0) | CP_KEEPS_IN(1)},
};

cp_tensor *huber(cp_at at, cp_tensor *a, cp_tensor *s) {
    cp_tensor *in[] = {a, s};
    if (!cp_check(at, "huber", 2, in)) return NULL;
    if (a->rank != 2 || s->rank != 1 || s->dims[0] != a->dims[1]) {
        cp_misuse(at, "huber", "shapes %s and %s do not fit", cp_shape_text(a).s, cp_shape_text(s).s);
        return NULL;
    }
    cp_tensor *out = cp_out(at, a->shape);
    if (!out) return NULL;
    for (size_t i = 0; i < out->size; i++) {
        double scale = s->data[i % s->size];
        out->data[i] = scale * sqrt(a->data[i] * a->data[i] + scale * scale) - scale * scale;
    }
    return cp_record(at, &huber_op, out, NULL, 2, in);
}
