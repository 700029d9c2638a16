/* Bootstrap intervals of the metrics: percentiles over resamples of predictions, or of groups of them. */
#include "core/random.h"
#include "core/threads.h"
#include "experiments/kit/metrics/metrics_parts.h"
#include "experiments/kit/report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 8 }; /* resamples that share their memory */

typedef struct resampling {
    const cp_scored *scored;
    uint64_t         seed;
    int              resamples;
    double          *values; /* (2, CP_METRICS, resamples): of the predictions, and by group */
    bool             failed;
} resampling;

static void draw_times(const resampling *r, size_t resample, double *times) {
    int    groups = r->scored->groups;
    cp_rng rng = cp_rng_named(r->seed, "bootstrap");
    rng.position = (uint64_t)resample << 33;
    memset(times, 0, (size_t)groups * sizeof *times);
    for (int i = 0; i < groups; i++) times[cp_rng_below(&rng, (uint64_t)groups)]++;
}

static void measure(resampling *r, size_t resample, const double *weights, bool by_group, double *tally) {
    double values[CP_METRICS], *to = r->values + (by_group ? CP_METRICS * (size_t)r->resamples : 0) + resample;
    cp_bin bins[CP_CALIBRATION_BINS];
    cp_scored_measure(r->scored, weights, !by_group, tally, values, bins);
    for (int k = 0; k < CP_METRICS; k++) to[(size_t)k * (size_t)r->resamples] = values[k];
}

static void resample_some(void *context, size_t begin, size_t end) {
    resampling      *r = context;
    const cp_scored *s = r->scored;
    double *times = malloc((size_t)s->groups * sizeof *times), *weights = s->group ? malloc((size_t)s->n * sizeof *weights) : times;
    double *tally = malloc(2 * (size_t)s->classes * sizeof *tally);
    bool    ok = times && weights && tally;
    if (!ok) __atomic_store_n(&r->failed, true, __ATOMIC_RELAXED);
    for (size_t resample = begin; ok && resample < end; resample++) {
        draw_times(r, resample, times);
        for (int i = 0; s->group && i < s->n; i++) weights[i] = times[s->group[i]];
        measure(r, resample, weights, false, tally);
        if (!s->group) continue;
        for (int i = 0; i < s->n; i++) weights[i] *= s->by_group[i];
        measure(r, resample, weights, true, tally);
    }
    if (weights != times) free(weights);
    free(times);
    free(tally);
}

static void interval(double *values, int count, cp_estimate *measure) {
    int defined = 0;
    for (int i = 0; i < count; i++)
        if (!isnan(values[i])) values[defined++] = values[i];
    if (!defined) return;
    cp_values_sort(values, defined);
    measure->low = cp_values_quantile(values, defined, 0.025);
    measure->high = cp_values_quantile(values, defined, 0.975);
}

bool cp_bootstrap(const cp_scored *scored, cp_metrics_config config, cp_metrics *metrics) {
    resampling r = {.scored = scored, .seed = config.seed};
    r.resamples = config.resamples < 0 ? 0 : config.resamples ? config.resamples : 1000;
    if (scored->group && scored->groups == 1) r.resamples = 0; /* they would all be the same */
    size_t resamples = (size_t)r.resamples;
    r.values = malloc(2 * CP_METRICS * resamples * sizeof *r.values + 1);
    r.failed = !r.values;
    if (!r.failed) cp_parallel(resamples, GRAIN, resample_some, &r);
    for (size_t k = 0; !r.failed && k < CP_METRICS; k++) {
        interval(r.values + k * resamples, r.resamples, &metrics->of[k]);
        if (scored->group) interval(r.values + (CP_METRICS + k) * resamples, r.resamples, &metrics->by_group[k]);
    }
    free(r.values);
    return !r.failed;
}
