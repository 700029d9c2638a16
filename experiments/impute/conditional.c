/* Conditional draws of a Gaussian of pixels. */
#include "experiments/impute/conditional.h"

#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <stdlib.h>

struct cp_conditional {
    size_t         rows, size; /* of D */
    double         range;
    const cp_real *mean, *directions;
    bool          *missing;            /* (size) */
    double        *factor;             /* (rows, rows): the lower Cholesky factor of K K^T + grain^2 I */
    double        *e, *values, *above; /* behind it: (rows), (size), (size): known values minus their prediction */
};

void cp_conditional_free(cp_conditional *c) {
    if (!c) return;
    free(c->missing);
    free(c->factor);
    free(c);
}

cp_conditional *cp_conditional_new(cp_class_gaussian *gaussian, double range) {
    cp_state mean, directions;
    if (!cp_class_gaussian_state(gaussian, 0, &mean) || !cp_class_gaussian_state(gaussian, 1, &directions)) return NULL;
    if (directions.rank != 3 || directions.dims[0] != 1) return NULL;
    cp_conditional *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    *c = (cp_conditional){.range = range,
                          .rows = (size_t)directions.dims[1],
                          .size = (size_t)directions.dims[2],
                          .mean = mean.data,
                          .directions = directions.data};
    c->missing = calloc(c->size, sizeof *c->missing);
    c->factor = malloc((c->rows * (c->rows + 1) + 2 * c->size) * sizeof *c->factor);
    if (!c->missing || !c->factor) {
        cp_conditional_free(c);
        return NULL;
    }
    c->e = c->factor + c->rows * c->rows;
    c->values = c->e + c->rows;
    c->above = c->values + c->size;
    return c;
}

static void solve(const double *factor, size_t n, double *x) {
    cp_cholesky_solve(factor, n, x);
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) x[i] -= factor[k * n + i] * x[k];
        x[i] /= factor[i * n + i];
    }
}

void cp_conditional_set(cp_conditional *c, const bool *missing, size_t channels) {
    for (size_t v = 0; v < c->size; v++) c->missing[v] = missing[v / channels];
    for (size_t i = 0; i < c->rows; i++)
        for (size_t j = 0; j <= i; j++) {
            const cp_real *a = c->directions + i * c->size, *b = c->directions + j * c->size;
            double         sum = i == j ? CP_CONDITIONAL_GRAIN * CP_CONDITIONAL_GRAIN : 0;
            for (size_t v = 0; v < c->size; v++)
                if (!c->missing[v]) sum += (double)a[v] * (double)b[v];
            c->factor[i * c->rows + j] = sum;
        }
    cp_cholesky(c->factor, c->rows);
}

static void add_directions(cp_conditional *c, const double *weights) {
    for (size_t i = 0; i < c->rows; i++)
        for (size_t v = 0; v < c->size; v++) c->values[v] += weights[i] * (double)c->directions[i * c->size + v];
}

void cp_conditional_draw(cp_conditional *c, const cp_real *image, cp_rng *rng, cp_real *out) {
    for (size_t i = 0; i < c->rows; i++) c->e[i] = rng ? cp_rng_normal(rng) : 0;
    for (size_t v = 0; v < c->size; v++) c->values[v] = (double)c->mean[v];
    if (rng) add_directions(c, c->e);
    for (size_t v = 0; v < c->size; v++) {
        double grain = rng ? CP_CONDITIONAL_GRAIN * cp_rng_normal(rng) : 0;
        c->above[v] = c->missing[v] ? 0 : (double)image[v] - c->values[v] - grain;
    }
    for (size_t i = 0; i < c->rows; i++) {
        const cp_real *d = c->directions + i * c->size;
        c->e[i] = 0;
        for (size_t v = 0; v < c->size; v++) c->e[i] += (double)d[v] * c->above[v];
    }
    solve(c->factor, c->rows, c->e);
    add_directions(c, c->e);
    for (size_t v = 0; v < c->size; v++) out[v] = (cp_real)fmin(c->range, fmax(-c->range, c->values[v]));
}
