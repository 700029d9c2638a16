/* Curves of a score, their areas and bands. */
#include "experiments/kit/metrics/curves.h"

#include "experiments/kit/metrics/bootstrap.h"
#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const cp_ranking_names[CP_RANKING_NUMBERS] = {"auroc", "aupr", "aupr_out", "fpr95", "aurc", "accuracy_80"};

enum { VALUES = CP_RANKING_NUMBERS + CP_CURVES * CP_CURVE_POINTS };

/* The predictions from the highest score down, in runs of equal scores. */
typedef struct ranked {
    int   n;
    bool  abstention;
    bool *marked;    /* (n) */
    int  *row, *end; /* (n): which prediction; end of the run that begins here */
} ranked;

static double ratio(double a, double b) { return b > 0 ? a / b : NAN; }
static double at(int point) { return (double)point / (CP_CURVE_POINTS - 1); }

/* The weights of a run: marked and others. */
static int next_run(const ranked *r, const double *times, int first, double *marked, double *others) {
    *marked = *others = 0;
    for (int i = first; i < r->end[first]; i++) {
        double weight = times[r->row[i]], own = r->marked[i] ? weight : 0;
        *marked += own, *others += weight - own;
    }
    return r->end[first];
}

/* Both areas, the rate, and both curves in one pass; `total` are all marked, and all others. */
static void detect(const ranked *r, const double *times, double marked, double others, double *values) {
    double *roc = values + CP_RANKING_NUMBERS, *pr = roc + CP_CURVE_POINTS, hits = 0, alarms = 0, area = 0, average = 0, out = 0;
    int     roc_at = 0, pr_at = 0;
    if (marked == 0 || others == 0) return;
    for (int first = 0; first < r->n;) {
        double more, wrong, was = hits, alarmed = alarms;
        first = next_run(r, times, first, &more, &wrong);
        if (more + wrong == 0) continue;
        hits += more, alarms += wrong;
        area += wrong * (was + more / 2);
        if (more > 0) average += more / marked * (hits / (hits + alarms));
        if (wrong > 0) out += wrong / others * ((others - alarmed) / (marked - was + others - alarmed));
        double passed = alarms / others, found = hits / marked;
        if (isnan(values[CP_RANKING_FPR95]) && found >= 0.95) values[CP_RANKING_FPR95] = passed;
        for (; roc_at < CP_CURVE_POINTS && at(roc_at) < passed; roc_at++)
            roc[roc_at] = (was + more * (at(roc_at) * others - alarmed) / wrong) / marked;
        for (; pr_at < CP_CURVE_POINTS && at(pr_at) <= found; pr_at++) pr[pr_at] = hits / (hits + alarms);
    }
    for (; roc_at < CP_CURVE_POINTS; roc_at++) roc[roc_at] = 1;
    values[CP_RANKING_AUROC] = area / marked / others;
    values[CP_RANKING_AUPR] = average;
    values[CP_RANKING_AUPR_OUT] = out;
}

/* How many are answered at a coverage: at least one. */
static double answered(double coverage, double n) { return fmax(1, ceil(coverage * n - 1e-9)); }

static void abstain(const ranked *r, const double *times, double n, double *values) {
    double *risk = values + CP_RANKING_NUMBERS + CP_CURVE_RISK * CP_CURVE_POINTS, done = 0, mistakes = 0, sum = 0;
    int     risk_at = 0;
    for (int first = 0; first < r->n;) {
        double right, wrong, k = 0;
        first = next_run(r, times, first, &right, &wrong);
        double run = right + wrong;
        for (double share = wrong / run, j = 1; j <= run; j++) sum += (mistakes + share * j) / (done + j);
        for (; risk_at < CP_CURVE_POINTS && answered(at(risk_at), n) <= done + run; risk_at++) {
            k = answered(at(risk_at), n);
            risk[risk_at] = (mistakes + wrong * (k - done) / run) / k;
        }
        k = answered(0.8, n);
        if (k > done && k <= done + run) values[CP_RANKING_COVERED] = 1 - (mistakes + wrong * (k - done) / run) / k;
        done += run, mistakes += wrong;
    }
    values[CP_RANKING_AURC] = ratio(sum, n);
}

static void measure(const void *context, const double *times, double *scratch, double *values) {
    const ranked *r = context;
    double        marked = 0, others = 0;
    (void)scratch;
    for (int i = 0; i < VALUES; i++) values[i] = NAN;
    for (int i = 0; i < r->n; i++) {
        double weight = times[r->row[i]], own = r->marked[i] ? weight : 0;
        marked += own, others += weight - own;
    }
    if (r->abstention)
        abstain(r, times, marked + others, values);
    else
        detect(r, times, marked, others, values);
}

static bool rank(ranked *r, const cp_ranking *from) {
    size_t n = (size_t)from->n;
    int   *order = malloc(n * sizeof *order);
    *r = (ranked){.n = from->n, .abstention = from->abstention};
    r->marked = malloc(n * sizeof *r->marked), r->row = malloc(n * sizeof *r->row), r->end = malloc(n * sizeof *r->end);
    bool ok = order && r->marked && r->row && r->end && cp_values_order(from->scores, from->n, order);
    for (int i = 0; ok && i < r->n; i++) {
        r->row[i] = order[r->n - 1 - i];
        r->marked[i] = from->marked[r->row[i]];
    }
    for (int i = r->n - 1; ok && i >= 0; i--)
        r->end[i] = i + 1 < r->n && from->scores[r->row[i]] == from->scores[r->row[i + 1]] ? r->end[i + 1] : i + 1;
    free(order);
    return ok;
}

bool cp_ranking_measure(cp_ranking *ranking, cp_status *status) {
    ranked        own;
    cp_resampling r = {.n = ranking->n,
                       .groups = ranking->groups,
                       .resamples = ranking->resamples,
                       .seed = ranking->seed,
                       .values = VALUES,
                       .context = &own,
                       .measure = measure};
    cp_estimate   found[VALUES];
    int           count;
    double       *all = rank(&own, ranking) ? cp_resample(&r, found, &count) : NULL;
    if (all) memcpy(ranking->of, found, sizeof ranking->of);
    if (all) memcpy(ranking->curves, found + CP_RANKING_NUMBERS, sizeof ranking->curves);
    free(own.marked), free(own.row), free(own.end);
    free(all);
    return all || cp_fail(status, "out of memory for the curves of %d predictions", ranking->n);
}
