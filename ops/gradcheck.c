/* The gradient check. */
#include "ops/gradcheck.h"

#include "ops/ops.h"
#include "ops/products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 3, ALL_INPUTS = -1 };

/* An element of the inputs, and what the check does with it. */
typedef struct element {
    int    input;
    size_t index;        /* in the input */
    double value, reach; /* at the point of the check; the scale of steps there */
    enum { ELEMENT_MOVED, ELEMENT_FIXED, ELEMENT_EXCLUDED } state;
} element;

/* How a gradient is computed. */
typedef enum sweep { SWEEP_PLAIN, SWEEP_RECORDED, SWEEP_ALONG } sweep;

/* Vectors hold the elements of all inputs, one input after the other. */
typedef struct run {
    cp_gradcheck_fn           build;
    const void               *user;
    const cp_gradcheck_input *in;
    int                       n;
    cp_gradcheck_config       config;
    cp_gradcheck_result       result;

    cp_at       at;                                   /* the check's tape, with the caller's file and line */
    bool        recorded;                             /* gradients come from a recorded sweep */
    cp_tensor **leaves, **wrt, **grads, **directions; /* n of each */
    int         alone;                                /* the input whose gradient is requested, or ALL_INPUTS */
    size_t      size;                                 /* of the vectors */
    element    *elements;                             /* of the vectors */
    double     *moved, *g, *other, *u, *v;            /* a point near that of the check; gradients; directions */
    cp_real    *row;                                  /* values converted for a tensor */
    cp_real    *w, *c;                                /* of f */
    size_t      outputs;
} run;

/* ---- the function f = sum out (w + c out), and its gradients ---- */

/* Notes why the check is impossible, unless something was noted before. Returns false. */
static bool impossible(run *k, const char *why) {
    if (!*k->result.message) snprintf(k->result.message, sizeof k->result.message, "%s", why);
    k->result.made = false;
    return false;
}

/* Whether the gradient of input i is requested now. */
static bool asked(const run *k, int i) { return !k->in[i].constant && (k->alone == ALL_INPUTS || k->alone == i); }

static size_t input_size(const cp_gradcheck_input *in) {
    size_t size = 0;
    return cp_shape_size(in->shape, &size) ? size : 0;
}

/* 0.5 to 1.5, of either sign. */
static double random_weight(cp_rng *rng) {
    double w = 0.5 + cp_rng_uniform(rng);
    return cp_rng_u32(rng) & 1 ? w : -w;
}

static bool weights_fill(run *k, size_t n) {
    cp_rng rng = cp_rng_named(21, "weights");
    if (k->outputs == n && k->w) return true;
    free(k->w);
    free(k->c);
    k->w = malloc((n + 1) * sizeof *k->w);
    k->c = malloc((n + 1) * sizeof *k->c);
    if (!k->w || !k->c) return impossible(k, "out of memory");
    for (size_t i = 0; i < n; i++) {
        k->w[i] = (cp_real)random_weight(&rng);
        k->c[i] = (cp_real)(0.3 * random_weight(&rng));
    }
    k->outputs = n;
    return true;
}

/* The result at x + t v on a fresh tape; v may be NULL. */
static cp_tensor *build(run *k, const double *v, double t, bool variables) {
    const double *at = k->moved;
    for (size_t i = 0; i < k->size; i++) k->moved[i] = k->elements[i].value + (v ? t * v[i] : 0);
    cp_tape_reset(k->at.tape);
    for (int i = 0; i < k->n; i++) {
        size_t size = input_size(&k->in[i]);
        for (size_t j = 0; j < size; j++) k->row[j] = (cp_real)*at++;
        k->leaves[i] =
            variables && asked(k, i) ? cp_variable(k->at, k->row, k->in[i].shape) : cp_constant(k->at, k->row, k->in[i].shape);
        if (!k->leaves[i]) return cp_null(impossible(k, "an input could not be made"));
        k->leaves[i]->name = k->in[i].name;
    }
    cp_tensor *out = k->build(k->at.tape, k->leaves, k->user);
    if (!out) return cp_null(impossible(k, "the function gave no result"));
    return weights_fill(k, out->size) ? out : NULL;
}

/* f at x + t v, summed here rather than by ops; `terms`, unless NULL, gets the sum of its absolute terms. NaN after a failure. */
static double value_at(run *k, const double *v, double t, double *terms) {
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
static cp_tensor *loss(run *k, const double *v, double t) {
    cp_tensor *out = build(k, v, t, true);
    if (!out || !(k->result.tracked = out->tracked)) return NULL;
    cp_tensor *w = cp_constant(k->at, k->w, out->shape), *c = cp_constant(k->at, k->c, out->shape);
    return cp_sum(k->at, cp_mul(k->at, out, cp_add(k->at, w, cp_mul(k->at, c, out))), CP_ALL, false);
}

static int wanted(run *k) {
    int n = 0;
    for (int i = 0; i < k->n; i++)
        if (asked(k, i)) k->wrt[n++] = k->leaves[i];
    return n;
}

/* Copies the requested gradients into a vector, with zeros for the other inputs. */
static void collect(const run *k, double *g) {
    int next = 0;
    for (int i = 0; i < k->n; i++) {
        const cp_tensor *grad = asked(k, i) ? k->grads[next++] : NULL;
        for (size_t j = 0; j < input_size(&k->in[i]); j++) *g++ = grad ? (double)grad->data[j] : 0;
    }
}

/* The gradient of f at x + t v or, for SWEEP_ALONG, of <grad f, u>. */
static bool gradient(run *k, const double *v, double t, sweep how, double *g) {
    const double *u = k->u;
    int           next = 0;
    memset(g, 0, k->size * sizeof *g);
    cp_tensor *f = loss(k, v, t);
    if (!f) return k->result.made;
    int n = wanted(k);
    for (int i = 0; i < k->n && how == SWEEP_ALONG; i++) {
        size_t size = input_size(&k->in[i]);
        for (size_t j = 0; j < size; j++) k->row[j] = (cp_real)*u++;
        if (asked(k, i)) k->directions[next++] = cp_constant(k->at, k->row, k->in[i].shape);
    }
    bool ok = how == SWEEP_ALONG      ? cp_hvp(k->at, f, k->wrt, k->directions, n, k->grads)
              : how == SWEEP_RECORDED ? cp_grad_recorded(k->at, f, k->wrt, n, k->grads)
                                      : cp_grad(k->at, f, k->wrt, n, k->grads);
    if (ok) collect(k, g);
    return ok || impossible(k, how == SWEEP_ALONG ? "the gradient of the gradient could not be computed"
                                                  : "the gradient could not be computed");
}

/* ---- differences: of f (order 1), of <grad f, u> (order 2) ---- */

static double dot(const run *k, const double *a, const double *b, double *terms) {
    double sum = 0, magnitude = 0;
    for (size_t i = 0; i < k->size; i++) {
        sum += a[i] * b[i];
        magnitude += fabs(a[i] * b[i]);
    }
    if (terms) *terms = magnitude;
    return sum;
}

static double along(run *k, int order, const double *v, double t) {
    if (order == 1) return value_at(k, v, t, NULL);
    return gradient(k, v, t, SWEEP_PLAIN, k->other) ? dot(k, k->other, k->u, NULL) : NAN;
}

static double difference(run *k, int order, const double *v, double h) {
    double near = along(k, order, v, h) - along(k, order, v, -h);
    return (8 * near - (along(k, order, v, 2 * h) - along(k, order, v, -2 * h))) / (12 * h);
}

/* The magnitude of the differentiated value. */
static double terms_of(run *k, int order) {
    double terms, more = 0;
    value_at(k, NULL, 0, &terms);
    if (order == 2 && gradient(k, NULL, 0, SWEEP_PLAIN, k->other)) dot(k, k->other, k->u, &more);
    return fmax(terms, more);
}

static double relative(double a, double b, double terms) {
    double scale = fmax(fmax(fabs(a), fabs(b)), CP_GRADCHECK_FLOOR * terms);
    if (!isfinite(a) || !isfinite(b)) return INFINITY;
    return a == b ? 0 : fabs(a - b) / scale;
}

/* The slope to the right of the point minus the slope to the left. For a smooth function it is proportional to s. */
static double bend(run *k, int order, const double *v, double s) {
    return (along(k, order, v, s) - 2 * along(k, order, v, 0) + along(k, order, v, -s)) / s;
}

/* Whether the difference rather than the slope g is wrong by this much. Then a smaller step gives nearly g, or a kink or a jump within its
 * reach explains the error. A kink can hide from two of the three scales but not from all; a jump at the point itself shows no bend, but
 * differences grow as the step shrinks. */
static bool kinked(run *k, int order, const double *v, double g, double error) {
    double h = k->config.step / 4, wide = bend(k, order, v, 2 * h), middle = bend(k, order, v, h),
           narrow = bend(k, order, v, h / 2);
    double bent = fmax(fabs(wide - 2 * middle), fabs(middle - 2 * narrow)), near = difference(k, order, v, h);
    return fabs(near - g) < error / 4 || fmax(bent, fabs(difference(k, order, v, h / 2) - near)) > error / 4;
}

/* ---- the comparison ---- */

static double tolerance(const run *k, int order) { return order == 1 ? k->config.first : k->config.second; }

/* Whether element i is moved when the gradients that are requested now are compared. */
static bool moves(const run *k, size_t i) { return k->elements[i].state == ELEMENT_MOVED && asked(k, k->elements[i].input); }

static cp_text name_of(const run *k, int input) {
    cp_text text = {"all inputs"};
    if (input != ALL_INPUTS && k->in[input].name)
        snprintf(text.s, sizeof text.s, "%.90s", k->in[input].name);
    else if (input != ALL_INPUTS)
        snprintf(text.s, sizeof text.s, "input %d", input + 1);
    return text;
}

static void report_element(run *k, int order, size_t i, double expected, double received) {
    cp_gradcheck_result *r = &k->result;
    const element       *e = &k->elements[i];
    expected /= e->reach, received /= e->reach;
    r->order = order, r->asked = k->alone, r->input = e->input, r->index = e->index, r->expected = expected, r->received = received;
    snprintf(r->message, sizeof r->message, "%s order, %.95s%.95s: expected %.6g by differences, received %.6g%s%s",
             order == 1 ? "first" : "second", name_of(k, e->input).s, cp_index_text(k->in[e->input].shape, e->index).s, expected,
             received, k->alone == ALL_INPUTS && k->n > 1 ? ", all inputs together" : "",
             k->recorded && order == 1 ? ", in a recorded sweep" : "");
}

static void report_direction(run *k, int order, double expected, double received) {
    cp_gradcheck_result *r = &k->result;
    r->order = order, r->asked = k->alone, r->input = ALL_INPUTS, r->expected = expected, r->received = received;
    snprintf(r->message, sizeof r->message, "%s order, along a random direction of %s: expected %.6g by differences, received %.6g",
             order == 1 ? "first" : "second", name_of(k, k->alone).s, expected, received);
}

/* Checks single elements after the gradient g failed along a direction. Excludes elements at kinks from now on and reports the worst of the
 * others. Returns the number of kinks found, or -1 after a report. */
static int locate(run *k, int order, double terms) {
    double  worst = 0, expected = 0, received = 0;
    size_t  worst_at = k->size;
    int     kinks = 0;
    double *e = k->v; /* the direction is no longer needed */
    memset(e, 0, k->size * sizeof *e);
    for (size_t i = 0; i < k->size; i++) {
        if (!moves(k, i)) continue;
        e[i] = k->elements[i].reach;
        double slope = k->g[i] * e[i], by_difference = difference(k, order, e, k->config.step);
        double error = isfinite(slope - by_difference) ? fabs(slope - by_difference) : INFINITY;
        bool   wrong = relative(slope, by_difference, terms) > tolerance(k, order);
        if (wrong && kinked(k, order, e, slope, error)) {
            k->elements[i].state = ELEMENT_EXCLUDED;
            kinks++;
        } else if (wrong && error > worst) {
            worst = error, worst_at = i, expected = by_difference, received = slope;
        }
        e[i] = 0;
    }
    if (worst_at == k->size) return kinks;
    report_element(k, order, worst_at, expected, received);
    return -1;
}

typedef enum outcome { AGREES, AGAIN, DIFFERS } outcome;

/* The gradient in k->g against differences along k->v. */
static outcome compare(run *k, int order) {
    double terms = terms_of(k, order), received = dot(k, k->g, k->v, NULL), expected = difference(k, order, k->v, k->config.step);
    double error = relative(received, expected, terms), *worst = order == 1 ? &k->result.first : &k->result.second;
    if (!k->result.made) return DIFFERS;
    if (error > tolerance(k, order)) {
        int kinks = locate(k, order, terms);
        if (kinks > 0) {
            k->result.kinks += kinks;
            return AGAIN;
        }
        if (kinks == 0) report_direction(k, order, expected, received);
        *worst = error;
        return DIFFERS;
    }
    *worst = fmax(*worst, error);
    return AGREES;
}

static void direction_fill(const run *k, cp_rng *rng, double *v) {
    for (size_t i = 0; i < k->size; i++) {
        double w = random_weight(rng) / 1.5;
        v[i] = moves(k, i) ? w * k->elements[i].reach : 0;
    }
}

static outcome compare_all(run *k, cp_rng *rng) {
    for (int d = 0; d < DIRECTIONS; d++) {
        outcome found = AGREES;
        for (int recorded = 0; recorded < 2 && found == AGREES; recorded++) {
            direction_fill(k, rng, k->v);
            k->recorded = recorded;
            found = gradient(k, NULL, 0, recorded ? SWEEP_RECORDED : SWEEP_PLAIN, k->g) ? compare(k, 1) : DIFFERS;
        }
        if (found == AGREES && !k->config.first_only) {
            direction_fill(k, rng, k->u);
            direction_fill(k, rng, k->v);
            found = gradient(k, NULL, 0, SWEEP_ALONG, k->g) ? compare(k, 2) : DIFFERS;
        }
        if (found != AGREES) return found;
    }
    return AGREES;
}

/* No gradient may flow to inputs that are indices. */
static bool whole_numbers_get_none(run *k) {
    if (!gradient(k, NULL, 0, SWEEP_PLAIN, k->g)) return false;
    for (size_t i = 0; i < k->size; i++) {
        if (!k->in[k->elements[i].input].whole || k->g[i] == 0) continue;
        report_element(k, 1, i, 0, k->g[i] * k->elements[i].reach);
        k->result.first = INFINITY;
        return false;
    }
    return true;
}

/* Whether all elements of the requested inputs are excluded. */
static bool nothing_moves(const run *k) {
    bool left_out = false;
    for (size_t i = 0; i < k->size; i++) {
        if (moves(k, i)) return false;
        left_out |= k->elements[i].state == ELEMENT_EXCLUDED && asked(k, k->elements[i].input);
    }
    return left_out;
}

static bool check_inputs(run *k, int alone, cp_rng *rng) {
    outcome found = AGAIN;
    k->alone = alone;
    if (!whole_numbers_get_none(k)) return false;
    while (found == AGAIN) found = compare_all(k, rng);
    if (found == AGREES && nothing_moves(k))
        return impossible(k, "nothing was compared: every element of an input is at a kink or too steep for the step");
    return found == AGREES;
}

/* Differences need a finite function that gives the same value on every call. */
static bool function_fits(run *k) {
    double first = value_at(k, NULL, 0, NULL), second = value_at(k, NULL, 0, NULL);
    if (!k->result.made) return false;
    if (!isfinite(first)) return impossible(k, "the function is not finite at this point");
    return first == second || impossible(k, "the function gives a different value on its second call");
}

static bool check_everything(run *k) {
    cp_rng rng = cp_rng_named(22, "directions");
    int    variables = 0;
    for (int i = 0; i < k->n; i++) variables += !k->in[i].constant;
    if (!variables) return impossible(k, "no gradient can be checked: all inputs are constants");
    if (!function_fits(k)) return false;
    for (int i = 0; i < k->n && variables > 1; i++)
        if (!k->in[i].constant && !check_inputs(k, i, &rng)) return false;
    return check_inputs(k, ALL_INPUTS, &rng);
}

/* ---- setup and result ---- */

static bool vectors_make(run *k) {
    size_t inputs = (size_t)k->n, largest = 1;
    for (int i = 0; i < k->n; i++) {
        size_t size = input_size(&k->in[i]);
        k->size += size;
        largest = size > largest ? size : largest;
    }
    k->moved = calloc(5 * k->size + 1, sizeof *k->moved);
    k->leaves = calloc(4 * inputs, sizeof *k->leaves);
    k->row = calloc(largest, sizeof *k->row);
    k->elements = calloc(k->size + 1, sizeof *k->elements);
    k->at.tape = cp_tape_new();
    if (!k->moved || !k->leaves || !k->row || !k->elements || !k->at.tape) return impossible(k, "out of memory");
    k->g = k->moved + k->size;
    k->other = k->g + k->size;
    k->u = k->other + k->size;
    k->v = k->u + k->size;
    k->wrt = k->leaves + inputs;
    k->grads = k->wrt + inputs;
    k->directions = k->grads + inputs;
    return true;
}

static void point_fill(run *k) {
    element *e = k->elements;
    for (int i = 0; i < k->n; i++)
        for (size_t j = 0; j < input_size(&k->in[i]); j++) {
            double x = (double)k->in[i].data[j];
            bool   fixed = k->in[i].constant || k->in[i].whole;
            *e++ = (element){i, j, x, fmax(1, fabs(x) / 4), fixed ? ELEMENT_FIXED : ELEMENT_MOVED};
        }
}

static void check_free(run *k) {
    free(k->moved);
    free(k->leaves);
    free(k->row);
    free(k->elements);
    free(k->w);
    free(k->c);
    cp_tape_free(k->at.tape);
}

static bool askable(cp_at at, cp_gradcheck_fn function, const cp_gradcheck_input *in, int n) {
    if (!function || !in) return cp_misuse(at, "gradcheck", "%s NULL", function ? "the inputs are" : "the function is");
    if (n < 1) return cp_misuse(at, "gradcheck", "n = %d is below 1", n);
    for (int i = 0; i < n; i++) {
        if (!in[i].data) return cp_misuse(at, "gradcheck", "the data of input %d is NULL", i + 1);
        if (!cp_shape_check(at, "gradcheck", in[i].shape)) return false;
    }
    return true;
}

cp_gradcheck_result(cp_gradcheck)(cp_at at, cp_gradcheck_fn function, const void *user, const cp_gradcheck_input *in, int n,
                                  cp_gradcheck_config config) {
    run k = {.build = function, .user = user, .in = in, .n = n, .config = config, .at = at};
    k.result = (cp_gradcheck_result){.made = true, .input = ALL_INPUTS};
    if (!(config.step > 0)) k.config.step = CP_GRADCHECK_STEP;
    if (!(config.first > 0)) k.config.first = CP_GRADCHECK_FIRST;
    if (!(config.second > 0)) k.config.second = CP_GRADCHECK_SECOND;
    if (!askable(at, function, in, n)) {
        impossible(&k, "the arguments of the check are invalid");
        return k.result;
    }
    if (vectors_make(&k)) {
        point_fill(&k);
        k.result.passed = check_everything(&k);
    }
    check_free(&k);
    return k.result;
}
