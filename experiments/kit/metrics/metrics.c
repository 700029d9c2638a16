/* Metrics: predictions checked and scored, every formula of metrics.h, bootstrap intervals, and temperature scaling. */
#include "experiments/kit/metrics/metrics.h"

#include "core/threads.h"
#include "experiments/kit/metrics/calibration.h"
#include "experiments/kit/metrics/stats.h"
#include "models/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *title;
    bool        share;
} known[CP_METRICS] = {
    [CP_ACCURACY] = {"accuracy", "accuracy", true},
    [CP_BALANCED_ACCURACY] = {"balanced_accuracy", "balanced", true},
    [CP_AUC] = {"auc", "AUC", false},
    [CP_NLL] = {"nll", "NLL", false},
    [CP_BRIER] = {"brier", "Brier", false},
    [CP_ECE] = {"ece", "ECE", true},
    [CP_MCE] = {"mce", "MCE", true},
    [CP_ADAPTIVE_ECE] = {"adaptive_ece", "adaptive ECE", true},
};

const char *cp_metric_title(cp_metric metric) { return metric < CP_METRICS ? known[metric].title : NULL; }
const char *cp_metric_name(cp_metric metric) { return metric < CP_METRICS ? known[metric].name : NULL; }

bool cp_metric_is_share(cp_metric metric) { return metric < CP_METRICS && known[metric].share; }

/* ---- predictions ---- */

static void read_row(const cp_predictions *p, int i, double *row) {
    size_t classes = (size_t)p->classes, first = (size_t)i * classes;
    for (size_t c = 0; c < classes; c++) row[c] = p->values ? p->values[first + c] : (double)p->reals[first + c];
}

static bool row_fits(const cp_predictions *p, int i, const double *row, cp_status *status) {
    const double rounding = 1e-3;
    double       sum = 0;
    for (int c = 0; c < p->classes; c++) {
        if (!isfinite(row[c]))
            return cp_fail(status, "prediction %d of %d is not finite: class %d has %g; has the model diverged?", i, p->n, c,
                           row[c]);
        if (!p->logits && (row[c] < 0 || row[c] > 1 + rounding))
            return cp_fail(status, "prediction %d of %d: the probability of class %d is %g; are these logits?", i, p->n, c, row[c]);
        sum += row[c];
    }
    if (!p->logits && !(fabs(sum - 1) <= rounding))
        return cp_fail(status, "prediction %d of %d: the probabilities sum to %g, not 1", i, p->n, sum);
    if (p->labels[i] < 0 || p->labels[i] >= p->classes)
        return cp_fail(status, "label %d of prediction %d is not one of %d classes", p->labels[i], i, p->classes);
    return true;
}

static bool usable(cp_at at, const char *op, const cp_predictions *p, cp_status *status) {
    if (!p) return cp_misuse(at, op, "the predictions are NULL");
    if (p->n == 0) return cp_fail(status, "there are no predictions to measure");
    if (p->n < 0 || p->classes < 1 || (!p->values && !p->reals) || !p->labels)
        return cp_misuse(at, op, "%d predictions of %d classes, or their values or labels are NULL", p->n, p->classes);
    if (p->temperature != 0 && !(p->logits && p->temperature > 0 && isfinite(p->temperature)))
        return cp_misuse(at, op, "a temperature of %g does not fit %s", p->temperature, p->logits ? "logits" : "probabilities");
    double *row = malloc((size_t)p->classes * sizeof *row);
    bool    fits = row || cp_fail(status, "out of memory for %d classes", p->classes);
    for (int i = 0; fits && i < p->n; i++) {
        read_row(p, i, row);
        fits = row_fits(p, i, row, status);
    }
    free(row);
    return fits;
}

/* ---- scoring ---- */

/* The metrics' view of predictions; by_confidence and by_score list them in ascending order. */
typedef struct scored {
    int        n, classes;
    const int *labels;
    int       *predicted;                /* (n) */
    double    *confidence, *nll, *brier; /* (n) */
    int       *by_confidence;            /* (n) */
    int        first_auc, auc_classes;   /* the classes whose AUC is wanted */
    double    *scores;                   /* (auc_classes, n) */
    int       *by_score;                 /* (auc_classes, n) */
    int        groups;                   /* how many; n when there are none */
    int       *group;                    /* (n): 0..groups-1; NULL: there are none */
    double    *by_group;                 /* (n): the weights of metrics by group; NULL: there are none */
} scored;

static int best_of(const double *row, int classes) {
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (row[c] > row[best]) best = c;
    return best;
}

/* Turns row i into probabilities and stores what the metrics need. */
static void score_row(scored *s, const cp_predictions *p, int i, double *row) {
    double floor = DBL_EPSILON, squares = 0;
    int    label = s->labels[i];
    read_row(p, i, row);
    s->predicted[i] = best_of(row, s->classes); /* before a high temperature can make logits equal by rounding */
    if (p->logits) {
        double temperature = p->temperature != 0 ? p->temperature : 1;
        double of_label = (row[label] - row[s->predicted[i]]) / temperature;
        s->nll[i] = cp_softmax_row(row, s->classes, temperature) - of_label;
    } else {
        s->nll[i] = -log(fmax(row[label], floor));
    }
    for (int c = 0; c < s->classes; c++) squares += (row[c] - (c == label)) * (row[c] - (c == label));
    s->brier[i] = squares;
    s->confidence[i] = row[s->predicted[i]];
    for (int a = 0; a < s->auc_classes; a++) s->scores[(size_t)a * (size_t)s->n + (size_t)i] = row[s->first_auc + a];
}

int *cp_groups_number(const int *groups, int n, int *count) {
    double *values = malloc((size_t)n * sizeof *values);
    int    *order = malloc((size_t)n * sizeof *order), *number = malloc((size_t)n * sizeof *number);
    for (int i = 0; values && i < n; i++) values[i] = groups[i];
    bool ok = values && order && number && cp_values_order(values, n, order);
    *count = 0;
    for (int i = 0; ok && i < n; i++) {
        *count += i == 0 || groups[order[i]] != groups[order[i - 1]];
        number[order[i]] = *count - 1;
    }
    free(values), free(order);
    if (ok) return number;
    free(number);
    return NULL;
}

/* Weights of one sum for all groups, and of mean 1: groups of one size are weighed by exactly 1. */
static bool weigh_groups(scored *s, const int *groups) {
    s->groups = s->n;
    if (!groups) return true;
    s->group = cp_groups_number(groups, s->n, &s->groups);
    s->by_group = malloc((size_t)s->n * sizeof *s->by_group);
    int *sizes = calloc((size_t)s->groups, sizeof *sizes);
    bool ok = s->group && s->by_group && sizes;
    for (int i = 0; ok && i < s->n; i++) sizes[s->group[i]]++;
    for (int i = 0; ok && i < s->n; i++) s->by_group[i] = s->n / ((double)s->groups * sizes[s->group[i]]);
    free(sizes);
    return ok;
}

static bool scored_make(scored *s, const cp_predictions *p) {
    *s = (scored){.n = p->n, .classes = p->classes, .labels = p->labels};
    s->first_auc = p->classes == 2 ? 1 : 0;
    s->auc_classes = p->classes == 2 ? 1 : p->classes;
    size_t n = (size_t)p->n, all = n * (size_t)s->auc_classes;
    s->predicted = malloc(n * sizeof *s->predicted);
    s->confidence = malloc(n * sizeof *s->confidence);
    s->nll = malloc(n * sizeof *s->nll);
    s->brier = malloc(n * sizeof *s->brier);
    s->by_confidence = malloc(n * sizeof *s->by_confidence);
    s->scores = malloc(all * sizeof *s->scores);
    s->by_score = malloc(all * sizeof *s->by_score);
    double *row = malloc((size_t)p->classes * sizeof *row);
    bool    ok = s->predicted && s->confidence && s->nll && s->brier && s->by_confidence && s->scores && s->by_score && row &&
              weigh_groups(s, p->groups);
    for (int i = 0; ok && i < p->n; i++) score_row(s, p, i, row);
    ok = ok && cp_values_order(s->confidence, s->n, s->by_confidence);
    for (size_t a = 0; ok && a < (size_t)s->auc_classes; a++) ok = cp_values_order(s->scores + a * n, s->n, s->by_score + a * n);
    free(row);
    return ok;
}

static void scored_free(scored *s) {
    free(s->predicted);
    free(s->confidence);
    free(s->nll);
    free(s->brier);
    free(s->by_confidence);
    free(s->scores);
    free(s->by_score);
    free(s->group);
    free(s->by_group);
}

/* ---- every formula of metrics.h, with predictions of any weights: how often a resample has them, or by group ---- */

static double ratio(double a, double b) { return b > 0 ? a / b : NAN; }

/* Mean over the classes that occur of the share predicted right. */
static double balanced(const scored *s, const double *weights, double *tally) {
    double *right = tally, *all = tally + s->classes, sum = 0;
    int     present = 0;
    memset(tally, 0, 2 * (size_t)s->classes * sizeof *tally);
    for (int i = 0; i < s->n; i++) {
        all[s->labels[i]] += weights[i];
        if (s->predicted[i] == s->labels[i]) right[s->labels[i]] += weights[i];
    }
    for (int c = 0; c < s->classes; c++) {
        if (all[c] == 0) continue;
        sum += right[c] / all[c];
        present++;
    }
    return ratio(sum, present);
}

/* The share of pairs in order, equal scores counting half. The sums of whole weights are exact; those of others are rounded, and
 * the share must not come out above 1 by that. */
static double auc_of(const scored *s, const double *weights, int a) {
    const double *scores = s->scores + (size_t)a * (size_t)s->n;
    const int    *order = s->by_score + (size_t)a * (size_t)s->n;
    double        below = 0, inside = 0, pairs = 0; /* others below this run of equal scores, and our own so far; pairs won */
    for (int first = 0, end; first < s->n; first = end) {
        double ours = 0, others = 0;
        for (end = first; end < s->n && scores[order[end]] == scores[order[first]]; end++)
            *(s->labels[order[end]] == s->first_auc + a ? &ours : &others) += weights[order[end]];
        pairs += ours * (below + others / 2);
        below += others;
        inside += ours;
    }
    return ratio(fmin(pairs, inside * below), inside * below);
}

static double auc(const scored *s, const double *weights) {
    double sum = 0;
    int    defined = 0;
    for (int a = 0; a < s->auc_classes; a++) {
        double one = auc_of(s, weights, a);
        if (isnan(one)) continue;
        sum += one;
        defined++;
    }
    return ratio(sum, defined);
}

/* The contents of a bin; all three are sums. */
typedef struct filling {
    double count, confidence, right;
} filling;

static double gap_of(const filling *f) { return fabs(f->right - f->confidence) / f->count; }

static int bin_of(double confidence) {
    int bin = (int)ceil(confidence * CP_CALIBRATION_BINS) - 1;
    return bin < 0 ? 0 : bin < CP_CALIBRATION_BINS ? bin : CP_CALIBRATION_BINS - 1;
}

static void equal_width(const scored *s, const double *weights, double total, double values[CP_METRICS],
                        cp_bin bins[CP_CALIBRATION_BINS]) {
    filling fill[CP_CALIBRATION_BINS] = {0};
    for (int i = 0; i < s->n; i++) {
        filling *f = &fill[bin_of(s->confidence[i])];
        f->count += weights[i];
        f->confidence += weights[i] * s->confidence[i];
        f->right += s->predicted[i] == s->labels[i] ? weights[i] : 0;
    }
    values[CP_ECE] = values[CP_MCE] = 0;
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) {
        const filling *f = &fill[b];
        bins[b] = (cp_bin){(int)f->count, ratio(f->confidence, f->count), ratio(f->right, f->count)};
        if (f->count == 0) continue;
        values[CP_ECE] += f->count / total * gap_of(f);
        values[CP_MCE] = fmax(values[CP_MCE], gap_of(f));
    }
}

/* Runs of equal confidence are dealt out to the bins until each has its number. */
static double equal_mass(const scored *s, const double *weights, double total) {
    double  small = floor(total / CP_CALIBRATION_BINS), larger = total - small * CP_CALIBRATION_BINS, sum = 0;
    filling now = {0};
    int     bin = 0;
    for (int first = 0, end; first < s->n; first = end) {
        double confidence = s->confidence[s->by_confidence[first]], count = 0, right = 0;
        for (end = first; end < s->n && s->confidence[s->by_confidence[end]] == confidence; end++) {
            int i = s->by_confidence[end];
            count += weights[i];
            right += s->predicted[i] == s->labels[i] ? weights[i] : 0;
        }
        for (double left = count; left > 0;) {
            double room = small + (bin < larger) - now.count, taken = fmin(left, room);
            now.count += taken;
            now.confidence += taken * confidence;
            now.right += taken * (right / count);
            left -= taken;
            if (taken < room) continue;
            sum += now.count / total * gap_of(&now);
            now = (filling){0};
            bin++;
        }
    }
    return sum;
}

static void measure_weighted(const scored *s, const double *weights, bool whole, double *tally, double values[CP_METRICS],
                             cp_bin bins[CP_CALIBRATION_BINS]) {
    double total = 0, right = 0, nll = 0, brier = 0;
    for (int i = 0; i < s->n; i++) {
        if (weights[i] == 0) continue; /* it does not count, and its NLL may be infinite */
        total += weights[i];
        right += s->predicted[i] == s->labels[i] ? weights[i] : 0;
        nll += weights[i] * s->nll[i];
        brier += weights[i] * s->brier[i];
    }
    values[CP_ACCURACY] = ratio(right, total);
    values[CP_BALANCED_ACCURACY] = balanced(s, weights, tally);
    values[CP_AUC] = auc(s, weights);
    values[CP_NLL] = ratio(nll, total);
    values[CP_BRIER] = ratio(brier, total);
    equal_width(s, weights, total, values, bins);
    values[CP_ADAPTIVE_ECE] = whole ? equal_mass(s, weights, total) : NAN;
}

/* ---- bootstrap intervals: percentiles over resamples of predictions, or of groups of them ---- */

enum { GRAIN = 8 }; /* resamples that share their memory */

typedef struct resampling {
    const scored *scored;
    uint64_t      seed;
    int           resamples;
    double       *values; /* (2, CP_METRICS, resamples): of the predictions, and by group */
    bool          failed;
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
    measure_weighted(r->scored, weights, !by_group, tally, values, bins);
    for (int k = 0; k < CP_METRICS; k++) to[(size_t)k * (size_t)r->resamples] = values[k];
}

static void resample_some(void *context, size_t begin, size_t end) {
    resampling   *r = context;
    const scored *s = r->scored;
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

static bool bootstrap(const scored *scored, cp_metrics_config config, cp_metrics *metrics) {
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

/* ---- all of it ---- */

/* The estimates themselves: every prediction has the weight 1, or its weight by group. */
static bool estimate(const scored *s, cp_metrics *m) {
    double  values[CP_METRICS], *tally = malloc(2 * (size_t)s->classes * sizeof *tally);
    cp_bin  bins[CP_CALIBRATION_BINS];
    double *once = malloc((size_t)s->n * sizeof *once);
    bool    ok = tally && once;
    for (int i = 0; ok && i < s->n; i++) {
        once[i] = 1;
        m->confusion[(size_t)s->labels[i] * (size_t)s->classes + (size_t)s->predicted[i]]++;
        m->mean_confidence += s->confidence[i];
    }
    m->mean_confidence /= s->n;
    if (ok) measure_weighted(s, once, true, tally, values, m->bins);
    for (int k = 0; ok && k < CP_METRICS; k++) m->of[k] = (cp_estimate){values[k], NAN, NAN};
    if (ok && s->group) measure_weighted(s, s->by_group, false, tally, values, bins);
    for (int k = 0; ok && k < CP_METRICS; k++) m->by_group[k] = (cp_estimate){s->group ? values[k] : NAN, NAN, NAN};
    m->groups = s->groups;
    m->grouped = s->group;
    free(tally);
    free(once);
    return ok;
}

cp_metrics *(cp_metrics_new)(cp_at at, const cp_predictions *p, cp_metrics_config config, cp_status *status) {
    if (!usable(at, "metrics_new", p, status)) return NULL;
    size_t      classes = (size_t)p->classes;
    scored      scored = {0};
    cp_metrics *m = calloc(1, sizeof *m);
    if (m) *m = (cp_metrics){.n = p->n, .classes = p->classes, .confusion = calloc(classes * classes, sizeof *m->confusion)};
    bool ok = m && m->confusion && scored_make(&scored, p) && estimate(&scored, m) && bootstrap(&scored, config, m);
    scored_free(&scored);
    if (ok) return m;
    cp_metrics_free(m);
    return cp_null(cp_fail(status, "out of memory for the metrics of %d predictions of %d classes", p->n, p->classes));
}

void cp_metrics_free(cp_metrics *m) {
    if (!m) return;
    free(m->confusion);
    free(m);
}

static void put_estimates(cp_json_writer *w, int n, const cp_estimate of[CP_METRICS], int count) {
    cp_json_put_integer(w, "n", n);
    for (int k = 0; k < count; k++) cp_json_put_number(w, known[k].name, of[k].value * (known[k].share ? 100 : 1));
    cp_json_put_object(w, "intervals");
    for (int k = 0; k < count; k++) {
        double unit = known[k].share ? 100 : 1;
        cp_json_put_numbers(w, known[k].name, (double[]){of[k].low * unit, of[k].high * unit}, 2);
    }
    cp_json_put_end(w);
}

/* The reliability table, from which diagrams over several runs can be put together. */
static void put_bins(cp_json_writer *w, const cp_bin *bins) {
    double counts[CP_CALIBRATION_BINS], confidence[CP_CALIBRATION_BINS], accuracy[CP_CALIBRATION_BINS];
    for (int b = 0; b < CP_CALIBRATION_BINS; b++)
        counts[b] = bins[b].count, confidence[b] = bins[b].confidence, accuracy[b] = bins[b].accuracy;
    cp_json_put_object(w, "bins");
    cp_json_put_numbers(w, "count", counts, CP_CALIBRATION_BINS);
    cp_json_put_numbers(w, "confidence", confidence, CP_CALIBRATION_BINS);
    cp_json_put_numbers(w, "accuracy", accuracy, CP_CALIBRATION_BINS);
    cp_json_put_end(w);
}

void cp_metrics_put(const cp_metrics *m, cp_json_writer *w, const char *key) {
    cp_json_put_object(w, key);
    put_estimates(w, m->n, m->of, CP_METRICS);
    put_bins(w, m->bins);
    if (m->grouped) {
        cp_json_put_object(w, "by_patient");
        put_estimates(w, m->groups, m->by_group, CP_METRICS_BY_GROUP);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

/* ---- temperature scaling ---- */

static const double bound = 100;

/* d NLL / d s of one prediction at s = 1/T, with the largest logit subtracted, d: sum_c p_c d_c - d_y. */
static double slope_of(double *row, int classes, int label, double s) {
    double largest = row[0], sum = 0, mean = 0;
    for (int c = 1; c < classes; c++) largest = fmax(largest, row[c]);
    for (int c = 0; c < classes; c++) {
        double d = row[c] - largest, e = exp(s * d);
        sum += e;
        if (e > 0) mean += e * d; /* where e is 0, d may be -infinity */
    }
    return mean / sum - (row[label] - largest);
}

/* Of the sum over all predictions, which has the sign of the mean. */
static double slope(const cp_predictions *p, double temperature, double *row) {
    double sum = 0;
    for (int i = 0; i < p->n; i++) {
        read_row(p, i, row);
        sum += slope_of(row, p->classes, p->labels[i], 1 / temperature);
    }
    return sum;
}

/* A slope above 0 means a smaller s, that is, a higher temperature. */
static cp_temperature minimize(const cp_predictions *p, double *row) {
    double cold = -log(bound), hot = log(bound), at_cold = slope(p, 1 / bound, row), at_hot = slope(p, bound, row);
    if (at_cold == 0 && at_hot == 0) return (cp_temperature){1, false};
    if (at_cold <= 0) return (cp_temperature){1 / bound, true};
    if (at_hot >= 0) return (cp_temperature){bound, true};
    while (hot - cold > 1e-14) {
        double middle = (cold + hot) / 2;
        if (middle == cold || middle == hot) break;
        *(slope(p, exp(middle), row) > 0 ? &cold : &hot) = middle;
    }
    return (cp_temperature){exp((cold + hot) / 2), false};
}

bool(cp_temperature_fit)(cp_at at, const cp_predictions *p, cp_temperature *fitted, cp_status *status) {
    const char *op = "temperature_fit";
    if (!fitted) return cp_misuse(at, op, "the place for the temperature is NULL");
    if (p && !p->logits) return cp_misuse(at, op, "a temperature is fitted to logits, not to probabilities");
    if (!usable(at, op, p, status)) return false;
    double *row = malloc((size_t)p->classes * sizeof *row);
    if (!row) return cp_fail(status, "out of memory for %d classes", p->classes);
    *fitted = minimize(p, row);
    free(row);
    return true;
}
