/* Bootstrap intervals of the metrics: percentiles over resamples of predictions, or of groups of them. */
#include "core/random.h"
#include "core/threads.h"
#include "experiments/kit/metrics_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 8 }; /* resamples that share their memory */

typedef struct resampling {
    const cp_scored *scored;
    const int       *group; /* (n): 0..groups-1; NULL: each prediction is its own */
    int              groups;
    uint64_t         seed;
    int              resamples;
    double          *values; /* (CP_METRICS, resamples) */
    bool             failed;
} resampling;

static void draw_weights(const resampling *r, size_t resample, int *times, int *weights) {
    cp_rng rng = cp_rng_named(r->seed, "bootstrap");
    rng.position = (uint64_t)resample << 33;
    memset(times, 0, (size_t)r->groups * sizeof *times);
    for (int i = 0; i < r->groups; i++) times[cp_rng_below(&rng, (uint64_t)r->groups)]++;
    for (int i = 0; r->group && i < r->scored->n; i++) weights[i] = times[r->group[i]];
}

static void resample_some(void *context, size_t begin, size_t end) {
    resampling *r = context;
    size_t      n = (size_t)r->scored->n, groups = (size_t)r->groups, classes = (size_t)r->scored->classes;
    int        *times = malloc(groups * sizeof *times), *weights = r->group ? malloc(n * sizeof *weights) : times;
    double     *tally = malloc(2 * classes * sizeof *tally), values[CP_METRICS];
    cp_bin      bins[CP_CALIBRATION_BINS];
    bool        fine = times && weights && tally;
    if (!fine) __atomic_store_n(&r->failed, true, __ATOMIC_RELAXED);
    for (size_t i = begin; fine && i < end; i++) {
        draw_weights(r, i, times, weights);
        cp_scored_measure(r->scored, weights, tally, values, bins);
        for (int k = 0; k < CP_METRICS; k++) r->values[(size_t)k * (size_t)r->resamples + i] = values[k];
    }
    if (weights != times) free(weights);
    free(times);
    free(tally);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear between neighbors, as numpy's default. */
static double percentile(const double *sorted, int count, double share) {
    double place = share * (count - 1);
    int    low = (int)place, high = low + 1 < count ? low + 1 : low;
    if (sorted[low] == sorted[high]) return sorted[low]; /* both may be infinite */
    return sorted[low] + (place - low) * (sorted[high] - sorted[low]);
}

static void interval(double *values, int count, cp_estimate *measure) {
    int defined = 0;
    for (int i = 0; i < count; i++)
        if (!isnan(values[i])) values[defined++] = values[i];
    if (!defined) return;
    qsort(values, (size_t)defined, sizeof *values, ascending);
    measure->low = percentile(values, defined, 0.025);
    measure->high = percentile(values, defined, 0.975);
}

typedef struct member {
    int group, at;
} member;

static int by_group(const void *a, const void *b) {
    const member *x = a, *y = b;
    return x->group != y->group ? (x->group > y->group) - (x->group < y->group) : (x->at > y->at) - (x->at < y->at);
}

/* Numbers the groups 0, 1, ... in ascending order: (n), to be freed. */
static int *number_groups(const int *groups, int n, int *count) {
    member *members = malloc((size_t)n * sizeof *members);
    int    *number = malloc((size_t)n * sizeof *number);
    if (members && number) {
        for (int i = 0; i < n; i++) members[i] = (member){groups[i], i};
        qsort(members, (size_t)n, sizeof *members, by_group);
        *count = 0;
        for (int i = 0; i < n; i++) {
            *count += i == 0 || members[i].group != members[i - 1].group;
            number[members[i].at] = *count - 1;
        }
    } else {
        free(number);
        number = NULL;
    }
    free(members);
    return number;
}

bool cp_bootstrap(const cp_scored *scored, const int *groups, cp_metrics_config config, cp_metrics *metrics) {
    resampling r = {.scored = scored, .groups = scored->n, .seed = config.seed};
    int       *number = groups ? number_groups(groups, scored->n, &r.groups) : NULL;
    r.group = number;
    r.resamples = config.resamples < 0 ? 0 : config.resamples ? config.resamples : 1000;
    metrics->groups = r.groups;
    r.values = malloc((size_t)CP_METRICS * (size_t)r.resamples * sizeof *r.values + 1);
    r.failed = !r.values || (groups && !number);
    if (!r.failed) cp_parallel((size_t)r.resamples, GRAIN, resample_some, &r);
    for (int k = 0; !r.failed && k < CP_METRICS; k++)
        interval(r.values + (size_t)k * (size_t)r.resamples, r.resamples, &metrics->of[k]);
    free(r.values);
    free(number);
    return !r.failed;
}
