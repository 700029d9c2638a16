/* The tables of tests/ops/cases_*.c as one list, and the inputs of a case. */
#include "tests/support/cases.h"

#include <math.h>

extern const case_table cases_arithmetic, cases_unary, cases_reduce, cases_shape, cases_matmul, cases_image, cases_norm,
    cases_gaussian;

static const case_table *const tables[] = {&cases_arithmetic, &cases_unary, &cases_reduce, &cases_shape,
                                           &cases_matmul,     &cases_image, &cases_norm,   &cases_gaussian};
enum { TABLES = sizeof tables / sizeof *tables };

int case_count(void) {
    int count = 0;
    for (int t = 0; t < TABLES; t++) count += tables[t]->count;
    return count;
}

const op_case *case_at(int i) {
    int t = 0;
    while (i >= tables[t]->count) i -= tables[t++]->count;
    return &tables[t]->cases[i];
}

int case_inputs(const op_case *c) {
    int n = 0;
    while (n < CASE_INPUTS && c->in[n].domain != NO_INPUT) n++;
    return n;
}

size_t case_size(const cp_shape *shape) {
    size_t size = 1;
    for (int i = 0; i < shape->rank; i++) size *= (size_t)shape->dims[i];
    return size;
}

static size_t values_from(const op_case *c, case_domain only) {
    size_t count = 0;
    for (int i = 0; i < case_inputs(c); i++)
        if (only == NO_INPUT || c->in[i].domain == only) count += case_size(&c->in[i].shape);
    return count;
}

size_t case_values(const op_case *c) { return values_from(c, NO_INPUT); }

/* A uniform number of 20 bits: sums with small whole numbers are exact even in float. */
static double draw(cp_rng *rng, double low, double high) {
    double step = 1.0 / (1 << 20);
    return floor((low + (high - low) * cp_rng_uniform(rng)) / step) * step;
}

/* Point `rank` of a grid over [-2, 2), moved by less than a fifth of its step: neighbors stay 0.6 steps apart. */
static double grid_value(cp_rng *rng, int rank, size_t count) {
    double step = 4.0 / (double)count;
    return draw(rng, -2 + step * (rank + 0.3), -2 + step * (rank + 0.7));
}

static double domain_value(cp_rng *rng, case_domain domain) {
    switch (domain) {
    case FROM_POSITIVE: return draw(rng, 0.4, 2.4);
    case FROM_OFF_WHOLE: return (double)cp_rng_below(rng, 6) - 3 + draw(rng, 0.1, 0.9);
    case FROM_WHOLE: return (double)cp_rng_below(rng, 5) - 2;
    default: return draw(rng, -2, 2);
    }
}

void case_fill(const op_case *c, double *values) {
    static int order[CASE_VALUES];
    cp_rng     rng = cp_rng_named(20, c->mode);
    size_t     apart = values_from(c, FROM_APART), next = 0;
    cp_rng_permutation(&rng, order, (int)apart);
    for (int i = 0; i < case_inputs(c); i++)
        for (size_t j = case_size(&c->in[i].shape); j > 0; j--)
            *values++ =
                c->in[i].domain == FROM_APART ? grid_value(&rng, order[next++], apart) : domain_value(&rng, c->in[i].domain);
}

void case_leaves(cp_tape *tape, const op_case *c, const double *values, unsigned tracked, cp_tensor **in) {
    static cp_real data[CASE_VALUES];
    for (int i = 0; i < case_inputs(c); i++) {
        const cp_shape *shape = &c->in[i].shape;
        size_t          size = case_size(shape);
        for (size_t j = 0; j < size; j++) data[j] = (cp_real)*values++;
        in[i] = tracked >> i & 1 ? cp_variable(tape, data, *shape) : cp_constant(tape, data, *shape);
    }
}

cp_tensor *case_value(cp_tape *tape, const op_case *c) {
    static double values[CASE_VALUES];
    cp_tensor    *in[CASE_INPUTS];
    case_fill(c, values);
    case_leaves(tape, c, values, 0, in);
    return c->build(tape, in, c);
}
