/* The gradient check. */
#include "ops/gradcheck_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 3 };

/* ---- differences: of f (order 1), of <grad f, u> (order 2) ---- */

static double dot(const cp_gradcheck_run *k, const double *a, const double *b, double *terms) {
    double sum = 0, magnitude = 0;
    for (size_t i = 0; i < k->size; i++) {
        sum += a[i] * b[i];
        magnitude += fabs(a[i] * b[i]);
    }
    if (terms) *terms = magnitude;
    return sum;
}

static double along(cp_gradcheck_run *k, int order, const double *v, double t) {
    if (order == 1) return cp_gradcheck_value(k, v, t, NULL);
    return cp_gradcheck_gradient(k, v, t, false, k->other) ? dot(k, k->other, k->u, NULL) : NAN;
}

static double difference(cp_gradcheck_run *k, int order, const double *v, double h) {
    double near = along(k, order, v, h) - along(k, order, v, -h);
    return (8 * near - (along(k, order, v, 2 * h) - along(k, order, v, -2 * h))) / (12 * h);
}

/* The size of what is differentiated. */
static double terms_of(cp_gradcheck_run *k, int order) {
    double terms, more = 0;
    cp_gradcheck_value(k, NULL, 0, &terms);
    if (order == 2 && cp_gradcheck_gradient(k, NULL, 0, false, k->other)) dot(k, k->other, k->u, &more);
    return fmax(terms, more);
}

static double relative(double a, double b, double terms) {
    double scale = fmax(fmax(fabs(a), fabs(b)), CP_GRADCHECK_FLOOR * terms);
    if (!isfinite(a) || !isfinite(b)) return INFINITY;
    return a == b ? 0 : fabs(a - b) / scale;
}

/* The slope right of the point minus that left of it. For a smooth function it is proportional to s. */
static double bend(cp_gradcheck_run *k, int order, const double *v, double s) {
    return (along(k, order, v, s) - 2 * along(k, order, v, 0) + along(k, order, v, -s)) / s;
}

/* Is it not the slope g that is wrong by this much, but the difference? Then a smaller step comes near g, or what explains the error is
 * still in reach of it: a kink (at one place it escapes two scales, at none does it escape three) or a jump (at the point itself it bends
 * nothing, but differences grow when the step shrinks). */
static bool kinked(cp_gradcheck_run *k, int order, const double *v, double g, double error) {
    double h = k->config.step / 4, wide = bend(k, order, v, 2 * h), middle = bend(k, order, v, h),
           narrow = bend(k, order, v, h / 2);
    double bent = fmax(fabs(wide - 2 * middle), fabs(middle - 2 * narrow)), near = difference(k, order, v, h);
    return fabs(near - g) < error / 4 || fmax(bent, fabs(difference(k, order, v, h / 2) - near)) > error / 4;
}

/* ---- the comparison ---- */

static double tolerance(const cp_gradcheck_run *k, int order) {
    return order == 1 ? k->config.first : k->config.second;
}

/* Which input and which of its values place i of a vector is. */
static int input_at(const cp_gradcheck_run *k, size_t i, size_t *index) {
    int input = 0;
    while (i >= cp_gradcheck_size(&k->in[input])) i -= cp_gradcheck_size(&k->in[input++]);
    *index = i;
    return input;
}

typedef struct name_text {
    char s[64];
} name_text;

static name_text name_of(const cp_gradcheck_run *k, int input) {
    name_text text;
    if (input == CP_ALL_INPUTS)
        snprintf(text.s, sizeof text.s, "all inputs");
    else if (k->in[input].name)
        snprintf(text.s, sizeof text.s, "%s", k->in[input].name);
    else
        snprintf(text.s, sizeof text.s, "input %d", input + 1);
    return text;
}

static const char *order_name(int order) {
    return order == 1 ? "first order" : "second order";
}

static void report_place(cp_gradcheck_run *k, int order, size_t i, double expected, double received) {
    cp_gradcheck_result *r = &k->result;
    size_t               index;
    int                  input = input_at(k, i, &index);
    expected /= k->reach[i], received /= k->reach[i];
    r->order = order, r->asked = k->alone, r->input = input, r->index = index, r->expected = expected, r->received = received;
    snprintf(r->message, sizeof r->message, "%s, %s%s: expected %.6g by differences, received %.6g%s%s", order_name(order),
             name_of(k, input).s, cp_index_text(k->in[input].shape, index).s, expected, received,
             k->alone == CP_ALL_INPUTS && k->n > 1 ? ", all inputs asked for together" : "",
             k->recorded && order == 1 ? ", in a recorded sweep" : "");
}

static void report_direction(cp_gradcheck_run *k, int order, double expected, double received) {
    cp_gradcheck_result *r = &k->result;
    r->order = order, r->asked = k->alone, r->input = CP_ALL_INPUTS, r->expected = expected, r->received = received;
    snprintf(r->message, sizeof r->message, "%s, along a random direction of %s: expected %.6g by differences, received %.6g",
             order_name(order), name_of(k, k->alone).s, expected, received);
}

/* Looks at single places after the gradient g failed along a direction. Kinks are left out from now on; the worst of the others is
 * reported. Returns how many kinks it found, or -1 when it reported. */
static int locate(cp_gradcheck_run *k, int order, double terms) {
    double  worst = 0, expected = 0, received = 0;
    size_t  worst_at = k->size, index;
    int     kinks = 0;
    double *e = k->v; /* the direction has done its work */
    memset(e, 0, k->size * sizeof *e);
    for (size_t i = 0; i < k->size; i++) {
        if (k->places[i] != CP_PLACE_MOVED || !cp_gradcheck_asked(k, input_at(k, i, &index))) continue;
        e[i] = k->reach[i];
        double slope = k->g[i] * e[i], by_difference = difference(k, order, e, k->config.step);
        double error = isfinite(slope - by_difference) ? fabs(slope - by_difference) : INFINITY;
        bool   wrong = relative(slope, by_difference, terms) > tolerance(k, order);
        if (wrong && kinked(k, order, e, slope, error)) {
            k->places[i] = CP_PLACE_LEFT_OUT;
            kinks++;
        } else if (wrong && error > worst) {
            worst = error, worst_at = i, expected = by_difference, received = slope;
        }
        e[i] = 0;
    }
    if (worst_at == k->size) return kinks;
    report_place(k, order, worst_at, expected, received);
    return -1;
}

typedef enum outcome { AGREES, AGAIN, DIFFERS } outcome;

/* The gradient in k->g against differences along k->v. */
static outcome compare(cp_gradcheck_run *k, int order) {
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

static void direction_fill(const cp_gradcheck_run *k, cp_rng *rng, double *v) {
    for (size_t i = 0; i < k->size; i++) {
        double w = cp_gradcheck_weight(rng) / 1.5;
        size_t index;
        bool   moves = k->places[i] == CP_PLACE_MOVED && cp_gradcheck_asked(k, input_at(k, i, &index));
        v[i] = moves ? w * k->reach[i] : 0;
    }
}

static outcome compare_all(cp_gradcheck_run *k, cp_rng *rng) {
    for (int d = 0; d < DIRECTIONS; d++) {
        outcome found = AGREES;
        for (int recorded = 0; recorded < 2 && found == AGREES; recorded++) {
            direction_fill(k, rng, k->v);
            k->recorded = recorded;
            found = cp_gradcheck_gradient(k, NULL, 0, recorded, k->g) ? compare(k, 1) : DIFFERS;
        }
        if (found == AGREES && !k->config.first_only) {
            direction_fill(k, rng, k->u);
            direction_fill(k, rng, k->v);
            found = cp_gradcheck_gradient_along(k, k->g) ? compare(k, 2) : DIFFERS;
        }
        if (found != AGREES) return found;
    }
    return AGREES;
}

/* No gradient may flow to numbers that choose. */
static bool whole_numbers_get_none(cp_gradcheck_run *k) {
    if (!cp_gradcheck_gradient(k, NULL, 0, false, k->g)) return false;
    for (size_t i = 0; i < k->size; i++) {
        size_t index;
        if (!k->in[input_at(k, i, &index)].whole || k->g[i] == 0) continue;
        report_place(k, 1, i, 0, k->g[i] * k->reach[i]);
        k->result.first = INFINITY;
        return false;
    }
    return true;
}

/* Were all places of the inputs that are asked for left out? */
static bool nothing_moves(const cp_gradcheck_run *k) {
    bool   left_out = false;
    size_t index;
    for (size_t i = 0; i < k->size; i++) {
        if (!cp_gradcheck_asked(k, input_at(k, i, &index))) continue;
        if (k->places[i] == CP_PLACE_MOVED) return false;
        left_out |= k->places[i] == CP_PLACE_LEFT_OUT;
    }
    return left_out;
}

static bool check_inputs(cp_gradcheck_run *k, int alone, cp_rng *rng) {
    outcome found = AGAIN;
    k->alone = alone;
    if (!whole_numbers_get_none(k)) return false;
    while (found == AGAIN) found = compare_all(k, rng);
    if (found == AGREES && nothing_moves(k))
        return cp_gradcheck_unmade(k, "nothing was compared: every place of an input lies at a kink, or is too steep for the step");
    return found == AGREES;
}

/* Differences need a function that is finite and the same on every call. */
static bool function_fits(cp_gradcheck_run *k) {
    double first = cp_gradcheck_value(k, NULL, 0, NULL), second = cp_gradcheck_value(k, NULL, 0, NULL);
    if (!k->result.made) return false;
    if (!isfinite(first)) return cp_gradcheck_unmade(k, "the function is not finite at this point");
    return first == second || cp_gradcheck_unmade(k, "the function gives another value on its second call");
}

static bool check_everything(cp_gradcheck_run *k) {
    cp_rng rng = cp_rng_named(22, "directions");
    int    variables = 0;
    for (int i = 0; i < k->n; i++) variables += !k->in[i].constant;
    if (!variables) return cp_gradcheck_unmade(k, "no input is asked for its gradient: all are constants");
    if (!function_fits(k)) return false;
    for (int i = 0; i < k->n && variables > 1; i++)
        if (!k->in[i].constant && !check_inputs(k, i, &rng)) return false;
    return check_inputs(k, CP_ALL_INPUTS, &rng);
}

/* ---- from the inputs to a result ---- */

static bool vectors_make(cp_gradcheck_run *k) {
    size_t inputs = (size_t)k->n, largest = 1;
    for (int i = 0; i < k->n; i++) {
        size_t size = cp_gradcheck_size(&k->in[i]);
        k->size += size;
        largest = size > largest ? size : largest;
    }
    double *numbers = calloc(7 * k->size + 1, sizeof *numbers);
    k->x = numbers;
    k->leaves = calloc(4 * inputs, sizeof *k->leaves);
    k->row = calloc(largest, sizeof *k->row);
    k->places = calloc(k->size + 1, sizeof *k->places);
    k->at.tape = cp_tape_new();
    if (!k->x || !k->leaves || !k->row || !k->places || !k->at.tape) return cp_gradcheck_unmade(k, "out of memory");
    double **vectors[] = {&k->x, &k->reach, &k->moved, &k->g, &k->other, &k->u, &k->v};
    for (size_t i = 0; i < 7; i++) *vectors[i] = numbers + i * k->size;
    k->wrt = k->leaves + inputs;
    k->grads = k->wrt + inputs;
    k->directions = k->grads + inputs;
    return true;
}

static void point_fill(cp_gradcheck_run *k) {
    size_t at = 0;
    for (int i = 0; i < k->n; i++)
        for (size_t j = 0; j < cp_gradcheck_size(&k->in[i]); j++, at++) {
            k->x[at] = (double)k->in[i].data[j];
            k->reach[at] = fmax(1, fabs(k->x[at]) / 4);
            k->places[at] = k->in[i].constant || k->in[i].whole ? CP_PLACE_FIXED : CP_PLACE_MOVED;
        }
}

static void check_free(cp_gradcheck_run *k) {
    free(k->x);
    free(k->leaves);
    free(k->row);
    free(k->places);
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
    cp_gradcheck_run k = {.build = function, .user = user, .in = in, .n = n, .config = config, .at = at};
    k.result = (cp_gradcheck_result){.made = true, .input = CP_ALL_INPUTS};
    if (!(config.step > 0)) k.config.step = CP_GRADCHECK_STEP;
    if (!(config.first > 0)) k.config.first = CP_GRADCHECK_FIRST;
    if (!(config.second > 0)) k.config.second = CP_GRADCHECK_SECOND;
    if (!askable(at, function, in, n)) {
        cp_gradcheck_unmade(&k, "the check was called with inputs that it cannot use");
        return k.result;
    }
    if (vectors_make(&k)) {
        point_fill(&k);
        k.result.passed = check_everything(&k);
    }
    check_free(&k);
    return k.result;
}
