/* Metrics: predictions checked and scored, every formula of metrics.h, bootstrap intervals, and temperature scaling. */
#include "experiments/kit/metrics/metrics.h"

#include "experiments/kit/metrics/bootstrap.h"
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

/* The metrics' view of predictions; by_confidence and by_score list them in ascending order, and what a resample reads in that order is
 * stored in it. */
typedef struct scored {
    int        n, classes;
    const int *labels;
    int       *predicted;                /* (n) */
    double    *confidence, *nll, *brier; /* (n) */
    int       *by_confidence;            /* (n) */
    int        first_auc, auc_classes;   /* the classes whose AUC is wanted */
    double    *scores;                   /* (auc_classes, n), in their order */
    int       *by_score;                 /* (auc_classes, n) */
    bool      *ours;                     /* (auc_classes, n): of that class, in the order of the scores */
    bool      *right;                    /* (n), in the order of the confidence */
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

static bool sort_scores(scored *s, size_t a, double *memory) {
    size_t  n = (size_t)s->n;
    double *scores = memcpy(memory, s->scores + a * n, n * sizeof *memory);
    int    *order = s->by_score + a * n;
    if (!cp_values_order(scores, s->n, order)) return false;
    for (size_t i = 0; i < n; i++) {
        s->scores[a * n + i] = scores[order[i]];
        s->ours[a * n + i] = s->labels[order[i]] == s->first_auc + (int)a;
    }
    return true;
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
    s->ours = malloc(all * sizeof *s->ours);
    s->right = malloc(n * sizeof *s->right);
    double *row = malloc(((size_t)p->classes + n) * sizeof *row);
    bool    ok = s->predicted && s->confidence && s->nll && s->brier && s->by_confidence && s->scores && s->by_score && s->ours &&
              s->right && row && weigh_groups(s, p->groups);
    for (int i = 0; ok && i < p->n; i++) score_row(s, p, i, row);
    ok = ok && cp_values_order(s->confidence, s->n, s->by_confidence);
    for (size_t i = 0; ok && i < n; i++) s->right[i] = s->predicted[s->by_confidence[i]] == s->labels[s->by_confidence[i]];
    for (size_t a = 0; ok && a < (size_t)s->auc_classes; a++) ok = sort_scores(s, a, row);
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
    free(s->ours);
    free(s->right);
    free(s->group);
    free(s->by_group);
}

/* ---- every formula of metrics.h, with predictions of any weights: how often a resample has them, or by group ---- */

static double ratio(double a, double b) { return b > 0 ? a / b : NAN; }

/* By class: predicted right, labels, predictions, the AUC. */
enum { TALLIES = 4 };

/* Mean over the classes that occur of the share predicted right. */
static double balanced(const scored *s, const double *weights, double *tally) {
    double *right = tally, *all = right + s->classes, *given = all + s->classes, sum = 0;
    int     present = 0;
    memset(tally, 0, 3 * (size_t)s->classes * sizeof *tally);
    for (int i = 0; i < s->n; i++) {
        all[s->labels[i]] += weights[i];
        given[s->predicted[i]] += weights[i];
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
    const bool   *own = s->ours + (size_t)a * (size_t)s->n;
    double        below = 0, inside = 0, pairs = 0; /* others below this run of equal scores, and our own so far; pairs won */
    for (int first = 0, end; first < s->n; first = end) {
        double ours = 0, others = 0;
        for (end = first; end < s->n && scores[end] == scores[first]; end++) {
            double weight = weights[order[end]], mine = own[end] ? weight : 0;
            ours += mine, others += weight - mine;
        }
        pairs += ours * (below + others / 2);
        below += others;
        inside += ours;
    }
    return ratio(fmin(pairs, inside * below), inside * below);
}

static double auc(const scored *s, const double *weights, double *by_class) {
    double sum = 0;
    int    defined = 0;
    for (int a = 0; a < s->auc_classes; a++) {
        double one = auc_of(s, weights, a);
        by_class[a] = by_class[s->first_auc + a] = one; /* of two classes both have the same */
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
            right += s->right[end] ? weights[i] : 0;
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
    values[CP_AUC] = auc(s, weights, tally + 3 * s->classes);
    values[CP_NLL] = ratio(nll, total);
    values[CP_BRIER] = ratio(brier, total);
    equal_width(s, weights, total, values, bins);
    values[CP_ADAPTIVE_ECE] = whole ? equal_mass(s, weights, total) : NAN;
}

/* ---- classes, one against the rest ---- */

/* The values of a resample: the metrics, by group, by class and their means, the measures of agreement. */
static size_t by_class_at(void) { return 2 * CP_METRICS; }
static size_t agreement_at(const scored *s) { return by_class_at() + CP_CLASS_METRICS * ((size_t)s->classes + 1); }
static size_t values_of(const scored *s) { return agreement_at(s) + CP_AGREEMENTS; }

/* 1 - disagreement / disagreement expected by chance, each pair of classes weighing (difference)^power: 0 for all that differ, or 2. */
static double kappa_of(const scored *s, const double *weights, const double *tally, int power) {
    const double *right = tally, *all = right + s->classes, *given = all + s->classes;
    double        found = 0, n = 0, hits = 0, row = 0, rows = 0, column = 0, columns = 0;
    for (int c = 0; c < s->classes; c++) {
        n += all[c], hits += right[c];
        row += all[c] * c, rows += all[c] * c * c;
        column += given[c] * c, columns += given[c] * c * c;
    }
    if (power == 2) {
        for (int i = 0; i < s->n; i++) found += weights[i] * pow(s->predicted[i] - s->labels[i], 2);
        return 1 - ratio(found * n, rows * n + columns * n - 2 * row * column);
    }
    double chance = 0;
    for (int c = 0; c < s->classes; c++) chance += all[c] * given[c];
    return 1 - ratio((n - hits) * n, n * n - chance);
}

/* From the tally that measure_weighted leaves. A class that is never predicted has no precision. */
static void measure_classes(const scored *s, const double *weights, const double *tally, double *values) {
    const double *right = tally, *all = right + s->classes, *given = all + s->classes, *auc_by_class = given + s->classes;
    double       *mean = values + CP_CLASS_METRICS * s->classes;
    int           defined[CP_CLASS_METRICS] = {0};
    memset(mean, 0, CP_CLASS_METRICS * sizeof *mean);
    for (int c = 0; c < s->classes; c++, values += CP_CLASS_METRICS) {
        values[CP_RECALL] = ratio(right[c], all[c]);
        values[CP_PRECISION] = ratio(right[c], given[c]);
        values[CP_F1] = ratio(2 * right[c], all[c] + given[c]);
        values[CP_CLASS_AUC] = auc_by_class[c];
        for (int k = 0; k < CP_CLASS_METRICS; k++)
            if (!isnan(values[k])) mean[k] += values[k], defined[k]++;
    }
    for (int k = 0; k < CP_CLASS_METRICS; k++) mean[k] = ratio(mean[k], defined[k]);
    double *agreement = values + CP_CLASS_METRICS, error = 0, total = 0;
    for (int i = 0; i < s->n; i++) error += weights[i] * abs(s->predicted[i] - s->labels[i]), total += weights[i];
    agreement[CP_KAPPA] = kappa_of(s, weights, tally, 0);
    agreement[CP_KAPPA_QUADRATIC] = kappa_of(s, weights, tally, 2);
    agreement[CP_MAE] = ratio(error, total);
}

/* ---- all of it ---- */

/* What a resample gives; its memory has room for the tally and the weights by group. */
static void measure(const void *context, const double *times, double *scratch, double *values) {
    const scored *s = context;
    double       *tally = scratch, *by_group = scratch + TALLIES * s->classes;
    cp_bin        bins[CP_CALIBRATION_BINS];
    measure_weighted(s, times, true, tally, values, bins);
    measure_classes(s, times, tally, values + by_class_at());
    for (int i = 0; s->group && i < s->n; i++) by_group[i] = times[i] * s->by_group[i];
    for (int k = 0; !s->group && k < CP_METRICS; k++) values[CP_METRICS + k] = NAN;
    if (s->group) measure_weighted(s, by_group, false, tally, values + CP_METRICS, bins);
}

/* E|X| of a normal X with this mean and standard deviation. */
static double folded(double mean, double sd) {
    if (!(sd > 0)) return fabs(mean);
    return sd * sqrt(2 / acos(-1)) * exp(-mean * mean / (2 * sd * sd)) + mean * erf(mean / (sd * sqrt(2)));
}

static double debiased(const cp_metrics *m) {
    double noisy = 0;
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) {
        const cp_bin *bin = &m->bins[b];
        if (bin->count == 0) continue;
        double sd = sqrt(fmax(bin->accuracy * (1 - bin->accuracy), 0) / bin->count);
        noisy += (double)bin->count / m->n * folded(bin->accuracy - bin->confidence, sd);
    }
    return fmax(0, 2 * m->of[CP_ECE].value - noisy);
}

/* The reliability table, the confusion matrix and the mean confidence: every prediction has the weight 1. */
static bool count_predictions(const scored *s, cp_metrics *m) {
    double  values[CP_METRICS];
    double *once = malloc((size_t)s->n * sizeof *once);
    for (int i = 0; once && i < s->n; i++) {
        once[i] = 1;
        m->confusion[(size_t)s->labels[i] * (size_t)s->classes + (size_t)s->predicted[i]]++;
        m->mean_confidence += s->confidence[i];
    }
    m->mean_confidence /= s->n;
    if (once) equal_width(s, once, s->n, values, m->bins);
    free(once);
    return once;
}

/* The percentiles of a resample's ECE are reflected at the estimate, which takes the bias away once, as the resamples add it once. */
static void debias_interval(cp_metrics *m) {
    const cp_estimate *plain = &m->of[CP_ECE];
    cp_estimate       *own = &m->ece_debiased;
    if (isnan(plain->low)) return;
    own->low = fmin(own->value, fmax(0, 2 * plain->value - plain->high));
    own->high = fmax(own->value, fmax(0, 2 * plain->value - plain->low));
}

static bool estimate(const scored *s, cp_metrics_config config, cp_metrics *m) {
    cp_resampling r = {.n = s->n,
                       .groups = s->group,
                       .resamples = config.resamples,
                       .seed = config.seed,
                       .values = values_of(s),
                       .scratch = TALLIES * (size_t)s->classes + (s->group ? (size_t)s->n : 0),
                       .context = s,
                       .measure = measure};
    cp_estimate  *found = malloc(r.values * sizeof *found);
    double       *all = found && count_predictions(s, m) ? cp_resample(&r, found, &m->resamples) : NULL;
    if (all) {
        memcpy(m->of, found, sizeof m->of);
        memcpy(m->by_group, found + CP_METRICS, sizeof m->by_group);
        memcpy(m->by_class, found + by_class_at(), (agreement_at(s) - by_class_at()) * sizeof *found);
        memcpy(m->agreement, found + agreement_at(s), sizeof m->agreement);
        m->ece_debiased = (cp_estimate){debiased(m), NAN, NAN};
        debias_interval(m);
    }
    m->groups = s->groups;
    m->grouped = s->group;
    free(found);
    if (all && config.keep)
        m->resampled = all;
    else
        free(all);
    return all;
}

cp_metrics *(cp_metrics_new)(cp_at at, const cp_predictions *p, cp_metrics_config config, cp_status *status) {
    if (!usable(at, "metrics_new", p, status)) return NULL;
    size_t      classes = (size_t)p->classes;
    scored      scored = {0};
    cp_metrics *m = calloc(1, sizeof *m);
    if (m)
        *m = (cp_metrics){.n = p->n,
                          .classes = p->classes,
                          .confusion = calloc(classes * classes, sizeof *m->confusion),
                          .by_class = calloc((classes + 1) * CP_CLASS_METRICS, sizeof *m->by_class)};
    bool ok = m && m->confusion && m->by_class && scored_make(&scored, p) && estimate(&scored, config, m);
    scored_free(&scored);
    if (ok) return m;
    cp_metrics_free(m);
    return cp_null(cp_fail(status, "out of memory for the metrics of %d predictions of %d classes", p->n, p->classes));
}

void cp_metrics_free(cp_metrics *m) {
    if (!m) return;
    free(m->confusion);
    free(m->by_class);
    free(m->resampled);
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
