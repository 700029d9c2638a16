/* The gradient check's function f = sum out (w + c out), and its gradients. */
#include "ops/gradcheck_inside.h"

#include "ops/ops.h"
#include "ops/products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cp_gradcheck_unmade(cp_gradcheck_run *k, const char *why) {
    if (!*k->result.message) snprintf(k->result.message, sizeof k->result.message, "%s", why);
    k->result.made = false;
    return false;
}

bool cp_gradcheck_asked(const cp_gradcheck_run *k, int i) {
    return !k->in[i].constant && (k->alone == CP_ALL_INPUTS || k->alone == i);
}

size_t cp_gradcheck_size(const cp_gradcheck_input *in) {
    size_t size = 0;
    return cp_shape_size(in->shape, &size) ? size : 0;
}

double cp_gradcheck_weight(cp_rng *rng) {
    double w = 0.5 + cp_rng_uniform(rng);
    return cp_rng_u32(rng) & 1 ? w : -w;
}

static bool weights_fill(cp_gradcheck_run *k, size_t n) {
    cp_rng rng = cp_rng_named(21, "weights");
    if (k->outputs == n && k->w) return true;
    free(k->w);
    free(k->c);
    k->w = malloc((n + 1) * sizeof *k->w);
    k->c = malloc((n + 1) * sizeof *k->c);
    if (!k->w || !k->c) return cp_gradcheck_unmade(k, "out of memory");
    for (size_t i = 0; i < n; i++) {
        k->w[i] = (cp_real)cp_gradcheck_weight(&rng);
        k->c[i] = (cp_real)(0.3 * cp_gradcheck_weight(&rng));
    }
    k->outputs = n;
    return true;
}

/* The result at x + t v on a fresh tape; v may be NULL. */
static cp_tensor *build(cp_gradcheck_run *k, const double *v, double t, bool variables) {
    const double *at = k->moved;
    for (size_t i = 0; i < k->size; i++) k->moved[i] = k->x[i] + (v ? t * v[i] : 0);
    cp_tape_reset(k->at.tape);
    for (int i = 0; i < k->n; i++) {
        size_t size = cp_gradcheck_size(&k->in[i]);
        for (size_t j = 0; j < size; j++) k->row[j] = (cp_real)*at++;
        k->leaves[i] = variables && cp_gradcheck_asked(k, i) ? cp_variable(k->at, k->row, k->in[i].shape)
                                                             : cp_constant(k->at, k->row, k->in[i].shape);
        if (!k->leaves[i]) return cp_null(cp_gradcheck_unmade(k, "an input could not be made"));
        k->leaves[i]->name = k->in[i].name;
    }
    cp_tensor *out = k->build(k->at.tape, k->leaves, k->user);
    if (!out) return cp_null(cp_gradcheck_unmade(k, "the function gave no result"));
    return weights_fill(k, out->size) ? out : NULL;
}

/* Summed here rather than by ops. */
double cp_gradcheck_value(cp_gradcheck_run *k, const double *v, double t, double *terms) {
    double     f = 0, magnitude = 0;
    cp_tensor *out = build(k, v, t, false);
    for (size_t i = 0; out && i < out->size; i++) {
        double term = (double)out->data[i] * ((double)k->w[i] + (double)k->c[i] * (double)out->data[i]);
        f += term;
        magnitude += fabs(term);
    }
    if (terms) *terms = magnitude;
    return out ? f : NAN;
}

/* f on the tape; NULL after a failure, or when the result is a constant. */
static cp_tensor *loss(cp_gradcheck_run *k, const double *v, double t) {
    cp_tensor *out = build(k, v, t, true);
    if (!out || !(k->result.tracked = out->tracked)) return NULL;
    cp_tensor *w = cp_constant(k->at, k->w, out->shape), *c = cp_constant(k->at, k->c, out->shape);
    return cp_sum(k->at, cp_mul(k->at, out, cp_add(k->at, w, cp_mul(k->at, c, out))), CP_ALL, false);
}

static int wanted(cp_gradcheck_run *k) {
    int n = 0;
    for (int i = 0; i < k->n; i++)
        if (cp_gradcheck_asked(k, i)) k->wrt[n++] = k->leaves[i];
    return n;
}

/* The gradients of the inputs that were asked for into a vector; zeros for the others. */
static void collect(const cp_gradcheck_run *k, double *g) {
    int next = 0;
    for (int i = 0; i < k->n; i++) {
        const cp_tensor *grad = cp_gradcheck_asked(k, i) ? k->grads[next++] : NULL;
        for (size_t j = 0; j < cp_gradcheck_size(&k->in[i]); j++) *g++ = grad ? (double)grad->data[j] : 0;
    }
}

bool cp_gradcheck_gradient(cp_gradcheck_run *k, const double *v, double t, bool recorded, double *g) {
    memset(g, 0, k->size * sizeof *g);
    cp_tensor *f = loss(k, v, t);
    if (!f) return k->result.made;
    int  n = wanted(k);
    bool ok = recorded ? cp_grad_recorded(k->at, f, k->wrt, n, k->grads) : cp_grad(k->at, f, k->wrt, n, k->grads);
    if (ok) collect(k, g);
    return ok || cp_gradcheck_unmade(k, "the gradient could not be computed");
}

bool cp_gradcheck_gradient_along(cp_gradcheck_run *k, double *g) {
    const double *u = k->u;
    int           next = 0;
    memset(g, 0, k->size * sizeof *g);
    cp_tensor *f = loss(k, NULL, 0);
    if (!f) return k->result.made;
    int n = wanted(k);
    for (int i = 0; i < k->n; i++) {
        size_t size = cp_gradcheck_size(&k->in[i]);
        for (size_t j = 0; j < size; j++) k->row[j] = (cp_real)*u++;
        if (cp_gradcheck_asked(k, i)) k->directions[next++] = cp_constant(k->at, k->row, k->in[i].shape);
    }
    bool ok = cp_hvp(k->at, f, k->wrt, k->directions, n, k->grads);
    if (ok) collect(k, g);
    return ok || cp_gradcheck_unmade(k, "the gradient of the gradient could not be computed");
}
