/* Means, quantiles and the Cholesky factor. */
#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

cp_mean_sd cp_mean_sd_of(const double *values, int count) {
    double mean = 0, squares = 0;
    for (int i = 0; i < count; i++) mean += values[i] / count;
    for (int i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
    return (cp_mean_sd){count > 0 ? mean : NAN, count > 1 ? sqrt(squares / (count - 1)) : NAN};
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void cp_values_sort(double *values, int count) { qsort(values, (size_t)count, sizeof *values, ascending); }

double cp_values_quantile(const double *sorted, int count, double share) {
    double place = share * (count - 1);
    int    low = (int)place, high = low + 1 < count ? low + 1 : low;
    if (sorted[low] == sorted[high]) return sorted[low]; /* both may be infinite */
    return sorted[low] + (place - low) * (sorted[high] - sorted[low]);
}

typedef struct keyed {
    double value;
    int    at;
} keyed;

static int by_value(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : (x->at > y->at) - (x->at < y->at);
}

bool cp_values_order(const double *values, int count, int *order) {
    keyed *work = malloc(((size_t)count + 1) * sizeof *work);
    for (int i = 0; work && i < count; i++) work[i] = (keyed){values[i], i};
    if (work) qsort(work, (size_t)count, sizeof *work, by_value);
    for (int i = 0; work && i < count; i++) order[i] = work[i].at;
    bool ok = work != NULL;
    free(work);
    return ok;
}

/* ---- percentiles by radix selection: each pass counts a part of the bits, the upper ones first ---- */

/* Bits in the order of the numbers. */
static uint32_t ordered(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static float number_of(uint32_t order) {
    uint32_t bits = order >> 31 ? order & 0x7fffffffu : ~order;
    float    value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool cp_percentile_above(const float *values, size_t count, float above, double share, float *percentile) {
    enum { PASSES = 3, BITS = 11 };
    static const int shifts[PASSES] = {21, 10, 0};
    uint32_t         known = 0, mask = 0; /* the upper bits of the number found so far */
    size_t           rank = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        size_t   counts[1 << BITS] = {0}, n = 0;
        uint32_t digit = 0;
        for (size_t i = 0; i < count; i++) {
            uint32_t order = ordered(values[i]);
            if ((order & mask) != known || !(values[i] > above) || !isfinite(values[i])) continue;
            counts[order >> shifts[pass] & ((1 << BITS) - 1)]++, n++;
        }
        if (n == 0) return false;
        if (pass == 0) rank = (size_t)(share / 100 * (double)(n - 1));
        while (rank >= counts[digit]) rank -= counts[digit++];
        known |= digit << shifts[pass];
        mask |= ((1u << BITS) - 1) << shifts[pass];
    }
    *percentile = number_of(known);
    return true;
}

void cp_cholesky(double *a, size_t n) {
    for (size_t j = 0; j < n; j++) {
        double pivot = a[j * n + j];
        for (size_t k = 0; k < j; k++) pivot -= a[j * n + k] * a[j * n + k];
        bool any = pivot > 1e-14 * a[j * n + j];
        a[j * n + j] = any ? sqrt(pivot) : 0;
        for (size_t i = j + 1; i < n; i++) {
            for (size_t k = 0; k < j; k++) a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = any ? a[i * n + j] / a[j * n + j] : 0;
        }
    }
}

void cp_cholesky_solve(const double *l, size_t n, double *x) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
}
