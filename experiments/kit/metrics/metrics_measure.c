/* Every formula of metrics.h, with predictions of any weights: how often a resample has them, or by group. */
#include "experiments/kit/metrics/metrics_parts.h"

#include <math.h>
#include <string.h>

static double ratio(double a, double b) {
    return b > 0 ? a / b : NAN;
}

/* Mean over the classes that occur of the share predicted right. */
static double balanced(const cp_scored *s, const double *weights, double *tally) {
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
static double auc_of(const cp_scored *s, const double *weights, int a) {
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

static double auc(const cp_scored *s, const double *weights) {
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

/* What lies in a bin; the three are sums. */
typedef struct filling {
    double count, confidence, right;
} filling;

static double gap_of(const filling *f) {
    return fabs(f->right - f->confidence) / f->count;
}

static int bin_of(double confidence) {
    int bin = (int)ceil(confidence * CP_CALIBRATION_BINS) - 1;
    return bin < 0 ? 0 : bin < CP_CALIBRATION_BINS ? bin : CP_CALIBRATION_BINS - 1;
}

static void equal_width(const cp_scored *s, const double *weights, double total, double values[CP_METRICS],
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
static double equal_mass(const cp_scored *s, const double *weights, double total) {
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

void cp_scored_measure(const cp_scored *s, const double *weights, bool whole, double *tally, double values[CP_METRICS],
                       cp_bin bins[CP_CALIBRATION_BINS]) {
    double total = 0, right = 0, nll = 0, brier = 0;
    for (int i = 0; i < s->n; i++) {
        if (weights[i] == 0) continue; /* an infinite NLL that is not there */
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
