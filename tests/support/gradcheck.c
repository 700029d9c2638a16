/* The gradient check. */
#include "tests/support/gradcheck.h"

#include "core/tape_inside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#if CP_DOUBLE
#define FLOOR 1e-5
#else
#define FLOOR 3e-2
#endif

enum { DIRECTIONS = 3, OUTPUTS = 4096 };

/* One run of the check. Vectors hold all inputs, one after the other. */
typedef struct run {
    const op_case *c;
    cp_tape       *tape;
    unsigned       tracked; /* bit i: input i is a variable */
    size_t         size;
    double         x[CASE_VALUES];
    gradcheck      result;
} run;

typedef double vector[CASE_VALUES];

static bool refused(run *r, const char *what) {
    if (!r->result.failed && !*r->result.message) snprintf(r->result.message, sizeof r->result.message, "%s", what);
    r->result.failed = true;
    return false;
}

static void on_error(const cp_error *error, void *user) {
    char line[200];
    snprintf(line, sizeof line, "%s: %s", error->op, error->message);
    refused(user, line);
}

/* ---- f and its gradient ---- */

static double weight(cp_rng *rng) {
    double w = 0.5 + cp_rng_uniform(rng);
    return cp_rng_u32(rng) & 1 ? w : -w;
}

/* w and c, the same on every call. */
static void weights_fill(cp_real *w, cp_real *c, size_t n) {
    cp_rng rng = cp_rng_named(21, "weights");
    for (size_t i = 0; i < n; i++) {
        w[i] = (cp_real)weight(&rng);
        c[i] = (cp_real)(0.3 * weight(&rng));
    }
}

static cp_real weights_w[OUTPUTS], weights_c[OUTPUTS];

static cp_tensor *build(run *r, cp_tensor **in) {
    cp_tensor *out = r->c->build(r->tape, in, r->c);
    if (!out) return refused(r, "the op gave no result"), NULL;
    if (out->size > OUTPUTS) return refused(r, "the case is too large"), NULL;
    weights_fill(weights_w, weights_c, out->size);
    return out;
}

/* f at x + t v, summed here rather than by ops; `terms`, unless NULL, gets the sum of the absolute terms. */
static double value(run *r, const double *v, double t, double *terms) {
    static vector moved;
    cp_tensor    *in[CASE_INPUTS];
    double        f = 0, magnitude = 0;
    for (size_t i = 0; i < r->size; i++) moved[i] = r->x[i] + (v ? t * v[i] : 0);
    cp_tape_reset(r->tape);
    case_leaves(r->tape, r->c, moved, 0, in);
    cp_tensor *out = build(r, in);
    if (!out) return NAN;
    for (size_t i = 0; i < out->size; i++) {
        double term = (double)out->data[i] * ((double)weights_w[i] + (double)weights_c[i] * (double)out->data[i]);
        f += term;
        magnitude += fabs(term);
    }
    if (terms) *terms = magnitude;
    return f;
}

/* f on the tape; NULL after a failure, or when the op's result is a constant. */
static cp_tensor *loss(run *r, cp_tensor **in) {
    cp_tensor *out = build(r, in);
    if (!out || !(r->result.tracked = out->tracked)) return NULL;
    cp_tensor *w = cp_constant(r->tape, weights_w, out->shape);
    cp_tensor *c = cp_constant(r->tape, weights_c, out->shape);
    return cp_sum(r->tape, cp_mul(r->tape, out, cp_add(r->tape, w, cp_mul(r->tape, c, out))), CP_ALL, false);
}

/* Gradients of the tracked inputs into a vector; zeros for the others. */
static void collect(const run *r, cp_tensor *const *grads, double *g) {
    size_t at = 0;
    for (int i = 0, k = 0; i < case_inputs(r->c); i++) {
        size_t size = case_size(&r->c->in[i].shape);
        bool   own = r->tracked >> i & 1;
        for (size_t j = 0; j < size; j++) g[at + j] = own ? (double)grads[k]->data[j] : 0;
        at += size;
        k += own;
    }
}

static int tracked_inputs(const run *r, cp_tensor *const *in, cp_tensor **wrt) {
    int n = 0;
    for (int i = 0; i < case_inputs(r->c); i++)
        if (r->tracked >> i & 1) wrt[n++] = in[i];
    return n;
}

/* The gradient of f at x + t v, recorded or not. */
static bool gradient(run *r, const double *v, double t, bool recorded, double *g) {
    static vector moved;
    cp_tensor    *in[CASE_INPUTS], *wrt[CASE_INPUTS], *grads[CASE_INPUTS];
    for (size_t i = 0; i < r->size; i++) moved[i] = r->x[i] + (v ? t * v[i] : 0);
    memset(g, 0, sizeof(vector));
    cp_tape_reset(r->tape);
    case_leaves(r->tape, r->c, moved, r->tracked, in);
    cp_tensor *f = loss(r, in);
    if (!f) return !r->result.failed;
    int  n = tracked_inputs(r, in, wrt);
    bool fine = recorded ? cp_grad_recorded(r->tape, f, wrt, n, grads) : cp_grad(r->tape, f, wrt, n, grads);
    if (!fine) return refused(r, "grad gave no result");
    collect(r, grads, g);
    return true;
}

/* The gradient of <grad f, u>. */
static bool gradient_along(run *r, const double *u, double *g) {
    static cp_real data[CASE_VALUES];
    cp_tensor     *in[CASE_INPUTS], *wrt[CASE_INPUTS], *grads[CASE_INPUTS], *phi = NULL;
    memset(g, 0, sizeof(vector));
    cp_tape_reset(r->tape);
    case_leaves(r->tape, r->c, r->x, r->tracked, in);
    cp_tensor *f = loss(r, in);
    if (!f) return !r->result.failed;
    int n = tracked_inputs(r, in, wrt);
    if (!cp_grad_recorded(r->tape, f, wrt, n, grads)) return refused(r, "grad_recorded gave no result");
    for (int i = 0, k = 0; i < case_inputs(r->c); i++) {
        size_t size = case_size(&r->c->in[i].shape);
        for (size_t j = 0; j < size; j++) data[j] = (cp_real)u[j];
        u += size;
        if (!(r->tracked >> i & 1)) continue;
        cp_tensor *direction = cp_constant(r->tape, data, grads[k]->shape);
        cp_tensor *part = cp_sum(r->tape, cp_mul(r->tape, grads[k++], direction), CP_ALL, false);
        phi = phi ? cp_add(r->tape, phi, part) : part;
    }
    if (!phi) return refused(r, "the gradient has no value");
    if (!phi->tracked) return true; /* f is linear: zeros */
    if (!cp_grad(r->tape, phi, wrt, n, grads)) return refused(r, "grad of the gradient gave no result");
    collect(r, grads, g);
    return true;
}

/* ---- the comparison ---- */

/* A direction for the inputs in question; whole-number inputs stand still. */
static void direction_fill(const run *r, cp_rng *rng, double *v) {
    for (int i = 0; i < case_inputs(r->c); i++)
        for (size_t j = case_size(&r->c->in[i].shape); j > 0; j--) {
            double w = weight(rng) / 1.5;
            *v++ = r->tracked >> i & 1 && r->c->in[i].domain != FROM_WHOLE ? w : 0;
        }
}

static double dot(const run *r, const double *a, const double *b, double *terms) {
    double sum = 0, magnitude = 0;
    for (size_t i = 0; i < r->size; i++) {
        sum += a[i] * b[i];
        magnitude += fabs(a[i] * b[i]);
    }
    if (terms) *terms = magnitude;
    return sum;
}

static double difference(const double at[4]) {
    return (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * GRADCHECK_STEP);
}

static const double offsets[4] = {-2 * GRADCHECK_STEP, -GRADCHECK_STEP, GRADCHECK_STEP, 2 * GRADCHECK_STEP};

static double relative(double a, double b, double terms) {
    double scale = fmax(fmax(fabs(a), fabs(b)), FLOOR * terms);
    if (isnan(a) || isnan(b)) return INFINITY;
    return a == b ? 0 : fabs(a - b) / scale;
}

static void worse(double *worst, int *worst_at, double error, int at) {
    if (!(error <= *worst)) {
        *worst = error;
        *worst_at = at;
    }
}

static void check_first(run *r, const double *v, int argument) {
    static vector g;
    double        terms, at[4];
    value(r, NULL, 0, &terms);
    for (int k = 0; k < 4; k++) at[k] = value(r, v, offsets[k], NULL);
    for (int recorded = 0; recorded < 2; recorded++) {
        if (!gradient(r, NULL, 0, recorded, g)) return;
        worse(&r->result.first, &r->result.first_at, relative(dot(r, g, v, NULL), difference(at), terms), argument);
    }
}

static void check_second(run *r, const double *u, const double *v, int argument) {
    static vector g;
    double        terms, value_terms, at[4];
    value(r, NULL, 0, &value_terms);
    if (!gradient(r, NULL, 0, false, g)) return;
    dot(r, g, u, &terms);
    for (int k = 0; k < 4; k++) {
        if (!gradient(r, v, offsets[k], false, g)) return;
        at[k] = dot(r, g, u, NULL);
    }
    if (!gradient_along(r, u, g)) return;
    worse(&r->result.second, &r->result.second_at, relative(dot(r, g, v, NULL), difference(at), fmax(terms, value_terms)),
          argument);
}

/* No gradient may flow to inputs of whole numbers, which choose rather than count. */
static void check_whole(run *r, int argument) {
    static vector g;
    if (!gradient(r, NULL, 0, false, g)) return;
    const double *at = g;
    for (int i = 0; i < case_inputs(r->c); i++)
        for (size_t j = case_size(&r->c->in[i].shape); j > 0; j--, at++)
            if (r->c->in[i].domain == FROM_WHOLE && *at != 0) worse(&r->result.first, &r->result.first_at, INFINITY, argument);
}

static void check_tracked(run *r, unsigned tracked, int argument, cp_rng *rng) {
    static vector u, v;
    r->tracked = tracked;
    check_whole(r, argument);
    for (int k = 0; k < DIRECTIONS && !r->result.failed; k++) {
        direction_fill(r, rng, u);
        direction_fill(r, rng, v);
        check_first(r, v, argument);
        check_second(r, u, v, argument);
    }
}

static bool on_record(const cp_tape *tape, const char *op) {
    for (int i = 0; i < tape->node_count; i++)
        if (strcmp(tape->nodes[i]->op->name, op) == 0) return true;
    return false;
}

/* The same gradients with parameters in the place of variables. */
static void check_parameters(run *r) {
    static vector  with_variables, with_parameters;
    static cp_real data[CASE_VALUES];
    cp_tensor     *in[CASE_INPUTS] = {0}, *grads[CASE_INPUTS];
    int            n = case_inputs(r->c);
    if (!gradient(r, NULL, 0, false, with_variables)) return;
    r->result.reached = on_record(r->tape, r->c->op);
    cp_tape_reset(r->tape);
    const double *x = r->x;
    for (int i = 0; i < n; i++) {
        const cp_shape *shape = &r->c->in[i].shape;
        for (size_t j = 0; j < case_size(shape); j++) data[j] = (cp_real)*x++;
        in[i] = cp_parameter_new(data, *shape);
    }
    cp_tensor *f = loss(r, in);
    if (f && cp_grad(r->tape, f, in, n, grads)) {
        collect(r, grads, with_parameters);
        for (size_t i = 0; i < r->size; i++)
            r->result.parameters = fmax(r->result.parameters, fabs(with_variables[i] - with_parameters[i]));
    } else if (f) {
        refused(r, "grad for parameters gave no result");
    }
    cp_tape_reset(r->tape);
    for (int i = 0; i < n; i++) cp_tensor_free(in[i]);
}

gradcheck gradcheck_case(const op_case *c) {
    static run r;
    int        n = case_inputs(c);
    unsigned   all = (1u << n) - 1;
    cp_rng     rng = cp_rng_named(22, c->mode);
    r = (run){.c = c, .tape = cp_tape_new(), .size = case_values(c)};
    cp_error_handler(on_error, &r);
    if (r.size > CASE_VALUES) {
        refused(&r, "the case is too large");
    } else {
        case_fill(c, r.x);
        for (int i = 0; i < n && n > 1; i++) check_tracked(&r, 1u << i, i, &rng);
        check_tracked(&r, all, CASE_INPUTS, &rng);
        if (!r.result.failed) check_parameters(&r);
    }
    cp_error_handler(NULL, NULL);
    cp_tape_free(r.tape);
    return r.result;
}

bool gradcheck_passed(const gradcheck *result) {
    return !result->failed && result->parameters == 0 && result->first <= GRADCHECK_FIRST && result->second <= GRADCHECK_SECOND;
}
