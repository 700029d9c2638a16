/* Scores of outliers from features. */
#include "experiments/kit/metrics/outliers.h"

#include "core/threads.h"
#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void normalize(const double *z, size_t d, double *unit) {
    double length = 0;
    for (size_t k = 0; k < d; k++) length += z[k] * z[k];
    for (size_t k = 0; k < d; k++) unit[k] = length > 0 ? z[k] / sqrt(length) : 0;
}

static void fit(cp_reference *r, const double *z, const int *labels, int *count) {
    size_t d = (size_t)r->features;
    double trace = 0;
    for (int i = 0; i < r->n; i++) {
        count[labels[i]]++;
        for (size_t k = 0; k < d; k++) r->means[(size_t)labels[i] * d + k] += z[(size_t)i * d + k];
        normalize(z + (size_t)i * d, d, r->unit + (size_t)i * d);
    }
    for (size_t k = 0; k < (size_t)r->classes * d; k++) r->means[k] /= count[k / d]; /* 0 / 0 is NaN */
    for (int i = 0; i < r->n; i++) {
        const double *x = z + (size_t)i * d, *mean = r->means + (size_t)labels[i] * d;
        for (size_t k = 0; k < d; k++)
            for (size_t m = 0; m <= k; m++) r->factor[k * d + m] += (x[k] - mean[k]) * (x[m] - mean[m]) / r->n;
    }
    for (size_t k = 0; k < d; k++) trace += r->factor[k * d + k];
    for (size_t k = 0; k < d; k++) r->factor[k * d + k] += trace > 0 ? 1e-6 * trace / (double)d : 1;
    cp_cholesky(r->factor, d);
}

bool cp_reference_make(cp_reference *r, int n, int features, const double *z, int classes, const int *labels, cp_status *status) {
    size_t d = (size_t)features;
    *r = (cp_reference){.n = n, .features = features, .classes = classes};
    if (n < 1) return cp_fail(status, "there are no training images to compare features with");
    r->unit = malloc((size_t)n * d * sizeof *r->unit);
    r->means = calloc((size_t)classes * d, sizeof *r->means);
    r->factor = calloc(d * d, sizeof *r->factor);
    int *count = calloc((size_t)classes, sizeof *count);
    bool ok = r->unit && r->means && r->factor && count;
    if (ok) fit(r, z, labels, count);
    free(count);
    return ok || cp_fail(status, "not enough memory for the features of %d training images", n);
}

void cp_reference_free(cp_reference *r) {
    free(r->unit), free(r->means), free(r->factor);
    *r = (cp_reference){0};
}

/* ---- scores ---- */

typedef struct scoring {
    const cp_reference *r;
    const double       *z;
    double             *mahalanobis, *neighbors;
    bool                failed;
} scoring;

/* |L^-1 (z - mean)|^2, with memory for the solution. */
static double distance(const cp_reference *r, const double *z, const double *mean, double *solution) {
    size_t d = (size_t)r->features;
    double sum = 0;
    for (size_t k = 0; k < d; k++) solution[k] = z[k] - mean[k];
    cp_cholesky_solve(r->factor, d, solution);
    for (size_t k = 0; k < d; k++) sum += solution[k] * solution[k];
    return sum;
}

/* The k-th smallest squared distance: those found so far are kept in order. */
static double neighbor(const cp_reference *r, const double *unit) {
    double nearest[CP_NEIGHBORS];
    size_t d = (size_t)r->features;
    int    found = 0;
    for (int i = 0; i < r->n; i++) {
        const double *other = r->unit + (size_t)i * d;
        double        sum = 0;
        for (size_t k = 0; k < d; k++) sum += (unit[k] - other[k]) * (unit[k] - other[k]);
        if (found == CP_NEIGHBORS && sum >= nearest[found - 1]) continue;
        int at = found < CP_NEIGHBORS ? found++ : found - 1;
        for (; at > 0 && nearest[at - 1] > sum; at--) nearest[at] = nearest[at - 1];
        nearest[at] = sum;
    }
    return nearest[found - 1];
}

static void score_some(void *context, size_t begin, size_t end) {
    scoring *s = context;
    size_t   d = (size_t)s->r->features;
    double  *memory = malloc(d * sizeof *memory);
    if (!memory) __atomic_store_n(&s->failed, true, __ATOMIC_RELAXED);
    for (size_t i = begin; memory && i < end; i++) {
        double min = INFINITY;
        for (int c = 0; c < s->r->classes; c++) min = fmin(min, distance(s->r, s->z + i * d, s->r->means + (size_t)c * d, memory));
        s->mahalanobis[i] = -min;
        normalize(s->z + i * d, d, memory);
        s->neighbors[i] = -sqrt(neighbor(s->r, memory));
    }
    free(memory);
}

bool cp_reference_scores(const cp_reference *r, int n, const double *z, double *mahalanobis, double *neighbors) {
    scoring s = {r, z, mahalanobis, neighbors, false};
    cp_parallel((size_t)n, 16, score_some, &s);
    return !s.failed;
}
