/* The bootstrap. */
#include "experiments/kit/metrics/bootstrap.h"

#include "core/random.h"
#include "core/threads.h"
#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 8 }; /* resamples that share their memory */

typedef struct work {
    const cp_resampling *r;
    int                 *group, groups; /* (n): 0..groups-1; NULL: every prediction is on its own */
    double              *all;           /* (values, resamples) */
    size_t               resamples;
    bool                 failed;
} work;

static void draw(const cp_resampling *r, int groups, size_t resample, int *drawn) {
    cp_rng rng = cp_rng_named(r->seed, "bootstrap");
    rng.position = (uint64_t)resample << 33;
    memset(drawn, 0, (size_t)groups * sizeof *drawn);
    for (int i = 0; i < groups; i++) drawn[cp_rng_below(&rng, (uint64_t)groups)]++;
}

static void resample_some(void *context, size_t begin, size_t end) {
    work                *w = context;
    const cp_resampling *r = w->r;
    int                 *drawn = malloc((size_t)w->groups * sizeof *drawn);
    double              *values = malloc((r->values + r->scratch + (size_t)r->n) * sizeof *values);
    double              *scratch = values ? values + r->values : NULL, *times = values ? scratch + r->scratch : NULL;
    bool                 ok = drawn && values;
    if (!ok) __atomic_store_n(&w->failed, true, __ATOMIC_RELAXED);
    for (size_t resample = begin; ok && resample < end; resample++) {
        draw(r, w->groups, resample, drawn);
        for (int i = 0; i < r->n; i++) times[i] = drawn[w->group ? w->group[i] : i];
        r->measure(r->context, times, scratch, values);
        for (size_t k = 0; k < r->values; k++) w->all[k * w->resamples + resample] = values[k];
    }
    free(drawn), free(values);
}

static bool estimate(const work *w, cp_estimate *to) {
    const cp_resampling *r = w->r;
    size_t               room = w->resamples > (size_t)r->n ? w->resamples : (size_t)r->n; /* of `times`, and of a column's copy */
    double              *values = malloc((r->values + r->scratch + room) * sizeof *values);
    double              *scratch = values ? values + r->values : NULL, *times = values ? scratch + r->scratch : NULL;
    if (!values) return false;
    for (int i = 0; i < r->n; i++) times[i] = 1;
    r->measure(r->context, times, scratch, values);
    for (size_t k = 0; k < r->values; k++) {
        to[k] = (cp_estimate){values[k], NAN, NAN};
        memcpy(times, w->all + k * w->resamples, w->resamples * sizeof *times);
        cp_estimate_interval(&to[k], times, (int)w->resamples);
    }
    free(values);
    return true;
}

double *cp_resample(const cp_resampling *r, cp_estimate *to, int *count) {
    work w = {.r = r, .groups = r->n};
    w.group = r->groups ? cp_groups_number(r->groups, r->n, &w.groups) : NULL;
    w.failed = r->groups && !w.group;
    *count = r->resamples < 0 || (w.group && w.groups == 1) ? 0 : r->resamples ? r->resamples : 1000;
    w.resamples = (size_t)*count;
    w.all = malloc(r->values * w.resamples * sizeof *w.all + 1);
    if (w.all && !w.failed) cp_parallel(w.resamples, GRAIN, resample_some, &w);
    free(w.group);
    if (w.all && !w.failed && estimate(&w, to)) return w.all;
    free(w.all);
    return NULL;
}

void cp_estimate_interval(cp_estimate *estimate, double *values, int count) {
    int defined = 0;
    for (int i = 0; i < count; i++)
        if (!isnan(values[i])) values[defined++] = values[i];
    if (!defined || isnan(estimate->value)) return;
    cp_values_sort(values, defined);
    estimate->low = cp_values_quantile(values, defined, 0.025);
    estimate->high = cp_values_quantile(values, defined, 0.975);
}
