/* Paired tests. */
#include "experiments/kit/metrics/paired.h"

#include "experiments/kit/metrics/bootstrap.h"
#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <stdlib.h>

double cp_sign_test(int wins, int losses) {
    int    n = wins + losses, min = wins < losses ? wins : losses, halvings = n - 1;
    double ways = 1, tail = 1; /* n over k, and its sum so far; times a power of two that keeps thousands of runs in range */
    for (int k = 0; k < min; k++) {
        ways *= (double)(n - k) / (k + 1);
        tail += ways;
        if (tail > 0x1p500) ways = ldexp(ways, -500), tail = ldexp(tail, -500), halvings -= 500;
    }
    return fmin(1, ldexp(tail, -halvings));
}

/* ---- DeLong ---- */

/* Midranks, from 1, of the scores of rows that are wanted; `order` is that of all. */
static void midranks(int n, const double *scores, const int *order, const bool *marked, int wanted, double *rank) {
    for (int first = 0, end, before = 0; first < n; first = end) {
        int run = 0;
        for (end = first; end < n && scores[order[end]] == scores[order[first]]; end++)
            run += wanted < 0 || marked[order[end]] == wanted;
        for (int i = first; i < end; i++) rank[order[i]] = before + (run + 1) / 2.0;
        before += run;
    }
}

/* For a marked row the share of others below it, for another the share of marked rows above it; equal ones count half. */
static bool placements(int n, const double *scores, const bool *marked, const int *counts, double *placement) {
    int    *order = malloc((size_t)n * sizeof *order);
    double *own = malloc((size_t)n * sizeof *own);
    bool    ok = order && own && cp_values_order(scores, n, order);
    if (ok) midranks(n, scores, order, marked, -1, placement);
    for (int kind = 0; ok && kind < 2; kind++) {
        midranks(n, scores, order, marked, kind, own);
        for (int i = 0; i < n; i++)
            if (marked[i] == kind) {
                double below = (placement[i] - own[i]) / counts[!kind];
                placement[i] = kind ? below : 1 - below;
            }
    }
    free(order), free(own);
    return ok;
}

bool cp_delong_test(int n, const double *first, const double *second, const bool *marked, cp_delong *test) {
    double *v = malloc(2 * ((size_t)n + 1) * sizeof *v), *w = v ? v + n : NULL, sum[2] = {0}, squares[2] = {0};
    int     counts[2] = {0};
    for (int i = 0; i < n; i++) counts[marked[i]]++;
    *test = (cp_delong){{NAN, NAN}, NAN, NAN};
    bool ok = v && placements(n, first, marked, counts, v) && placements(n, second, marked, counts, w);
    for (int i = 0; ok && i < n; i++) sum[marked[i]] += v[i] - w[i];
    for (int i = 0; ok && i < n; i++) squares[marked[i]] += pow(v[i] - w[i] - sum[marked[i]] / counts[marked[i]], 2);
    if (ok && counts[0] && counts[1]) {
        test->auc[0] = test->auc[1] = 0;
        for (int i = 0; i < n; i++)
            if (marked[i]) test->auc[0] += v[i] / counts[1], test->auc[1] += w[i] / counts[1];
        double difference = sum[1] / counts[1];
        if (counts[0] > 1 && counts[1] > 1)
            test->variance = squares[0] / (counts[0] - 1) / counts[0] + squares[1] / (counts[1] - 1) / counts[1];
        if (test->variance > 0)
            test->p = erfc(fabs(difference) / sqrt(2 * test->variance));
        else if (test->variance == 0 && difference == 0)
            test->p = 1;
    }
    free(v);
    return ok;
}

/* ---- any number ---- */

double cp_bootstrap_p(const double *differences, int count) {
    int below = 0, above = 0, defined = 0;
    for (int i = 0; i < count; i++) {
        defined += !isnan(differences[i]);
        below += differences[i] <= 0;
        above += differences[i] >= 0;
    }
    return defined ? fmin(1, 2.0 * (1 + (below < above ? below : above)) / (1 + defined)) : NAN;
}

bool cp_metrics_subtract(const cp_metrics *a, const cp_metrics *b, cp_metric metric, cp_estimate *difference, double *p) {
    int           kept = a->resamples < b->resamples ? a->resamples : b->resamples;
    int           count = a->groups == 1 || b->groups == 1 ? 0 : kept;
    const double *of_a = a->resampled + (size_t)metric * (size_t)a->resamples;
    const double *of_b = b->resampled + (size_t)metric * (size_t)b->resamples;
    double       *differences = malloc(((size_t)count + 1) * sizeof *differences);
    if (!differences) return false;
    for (int i = 0; i < count; i++) differences[i] = of_a[i] - of_b[i];
    *difference = (cp_estimate){a->of[metric].value - b->of[metric].value, NAN, NAN};
    *p = cp_bootstrap_p(differences, count);
    cp_estimate_interval(difference, differences, count);
    free(differences);
    return true;
}

bool cp_holm(int count, const double *p, double *adjusted) {
    double *values = malloc(((size_t)count + 1) * sizeof *values), highest = 0;
    int    *order = malloc(((size_t)count + 1) * sizeof *order), left = 0;
    for (int i = 0; values && i < count; i++) {
        left += !isnan(p[i]);
        values[i] = isnan(p[i]) ? INFINITY : p[i];
    }
    bool ok = values && order && cp_values_order(values, count, order);
    for (int i = 0; ok && i < count; i++) {
        if (isinf(values[order[i]])) adjusted[order[i]] = NAN;
        if (isinf(values[order[i]])) continue;
        highest = fmax(highest, fmin(1, left-- * values[order[i]]));
        adjusted[order[i]] = highest;
    }
    free(values), free(order);
    return ok;
}
