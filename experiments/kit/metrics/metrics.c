/* Metrics: predictions checked and scored, and what is told of them. */
#include "experiments/kit/metrics/metrics.h"

#include "experiments/kit/metrics/metrics_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool        share;
} known[CP_METRICS] = {
    [CP_ACCURACY] = {"accuracy", true}, [CP_BALANCED_ACCURACY] = {"balanced_accuracy", true},
    [CP_AUC] = {"auc", false},          [CP_NLL] = {"nll", false},
    [CP_BRIER] = {"brier", false},      [CP_ECE] = {"ece", true},
    [CP_MCE] = {"mce", true},           [CP_ADAPTIVE_ECE] = {"adaptive_ece", true},
};

const char *cp_metric_name(cp_metric metric) {
    return metric < CP_METRICS ? known[metric].name : NULL;
}

bool cp_metric_is_share(cp_metric metric) {
    return metric < CP_METRICS && known[metric].share;
}

/* ---- predictions ---- */

void cp_predictions_row(const cp_predictions *p, int i, double *row) {
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

bool cp_predictions_check(cp_at at, const char *op, const cp_predictions *p, cp_status *status) {
    if (!p) return cp_misuse(at, op, "the predictions are NULL");
    if (p->n == 0) return cp_fail(status, "there are no predictions to measure");
    if (p->n < 0 || p->classes < 1 || (!p->values && !p->reals) || !p->labels)
        return cp_misuse(at, op, "%d predictions of %d classes, or their values or labels are NULL", p->n, p->classes);
    if (p->temperature != 0 && !(p->logits && p->temperature > 0 && isfinite(p->temperature)))
        return cp_misuse(at, op, "a temperature of %g does not fit %s", p->temperature, p->logits ? "logits" : "probabilities");
    double *row = malloc((size_t)p->classes * sizeof *row);
    bool    fits = row || cp_fail(status, "out of memory for %d classes", p->classes);
    for (int i = 0; fits && i < p->n; i++) {
        cp_predictions_row(p, i, row);
        fits = row_fits(p, i, row, status);
    }
    free(row);
    return fits;
}

/* ---- scoring ---- */

static int best_of(const double *row, int classes) {
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (row[c] > row[best]) best = c;
    return best;
}

/* Logits to probabilities, in place; returns ln of the label's. */
static double softmax(double *row, int classes, double temperature, int label) {
    double largest = row[best_of(row, classes)], sum = 0, of_label = (row[label] - largest) / temperature;
    for (int c = 0; c < classes; c++) sum += row[c] = exp((row[c] - largest) / temperature);
    for (int c = 0; c < classes; c++) row[c] /= sum;
    return of_label - log(sum);
}

/* Turns row i into probabilities and takes what the metrics need of it. */
static void score_row(cp_scored *s, const cp_predictions *p, int i, double *row) {
    double floor = DBL_EPSILON, squares = 0;
    int    label = s->labels[i];
    cp_predictions_row(p, i, row);
    s->predicted[i] = best_of(row, s->classes); /* before a high temperature can make logits equal by rounding */
    s->nll[i] =
        p->logits ? -softmax(row, s->classes, p->temperature != 0 ? p->temperature : 1, label) : -log(fmax(row[label], floor));
    for (int c = 0; c < s->classes; c++) squares += (row[c] - (c == label)) * (row[c] - (c == label));
    s->brier[i] = squares;
    s->confidence[i] = row[s->predicted[i]];
    for (int a = 0; a < s->auc_classes; a++) s->scores[(size_t)a * (size_t)s->n + (size_t)i] = row[s->first_auc + a];
}

typedef struct keyed {
    double score;
    int    at;
} keyed;

static int by_score(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    return x->score != y->score ? (x->score > y->score) - (x->score < y->score) : (x->at > y->at) - (x->at < y->at);
}

static void sort_by(const double *scores, int n, keyed *work, int *order) {
    for (int i = 0; i < n; i++) work[i] = (keyed){scores[i], i};
    qsort(work, (size_t)n, sizeof *work, by_score);
    for (int i = 0; i < n; i++) order[i] = work[i].at;
}

typedef struct member {
    int group, at;
} member;

static int by_group(const void *a, const void *b) {
    const member *x = a, *y = b;
    return x->group != y->group ? (x->group > y->group) - (x->group < y->group) : (x->at > y->at) - (x->at < y->at);
}

int *cp_groups_number(const int *groups, int n, int *count) {
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

/* Weights of one sum for all groups, and of mean 1: groups of one size are weighed by exactly 1. */
static bool weigh_groups(cp_scored *s, const int *groups) {
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

bool cp_scored_make(cp_scored *s, const cp_predictions *p) {
    *s = (cp_scored){.n = p->n, .classes = p->classes, .labels = p->labels};
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
    keyed  *work = malloc(n * sizeof *work);
    bool ok = s->predicted && s->confidence && s->nll && s->brier && s->by_confidence && s->scores && s->by_score && row && work &&
              weigh_groups(s, p->groups);
    for (int i = 0; ok && i < p->n; i++) score_row(s, p, i, row);
    if (ok) sort_by(s->confidence, s->n, work, s->by_confidence);
    for (size_t a = 0; ok && a < (size_t)s->auc_classes; a++) sort_by(s->scores + a * n, s->n, work, s->by_score + a * n);
    free(row);
    free(work);
    return ok;
}

void cp_scored_free(cp_scored *s) {
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

/* ---- all of it ---- */

/* The estimates themselves: every prediction counts once, or as its group has it. */
static bool estimate(const cp_scored *s, cp_metrics *m) {
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
    if (ok) cp_scored_measure(s, once, true, tally, values, m->bins);
    for (int k = 0; ok && k < CP_METRICS; k++) m->of[k] = (cp_estimate){values[k], NAN, NAN};
    if (ok && s->group) cp_scored_measure(s, s->by_group, false, tally, values, bins);
    for (int k = 0; ok && k < CP_METRICS; k++) m->by_group[k] = (cp_estimate){s->group ? values[k] : NAN, NAN, NAN};
    m->groups = s->groups;
    m->grouped = s->group;
    free(tally);
    free(once);
    return ok;
}

cp_metrics *(cp_metrics_new)(cp_at at, const cp_predictions *p, cp_metrics_config config, cp_status *status) {
    if (!cp_predictions_check(at, "metrics_new", p, status)) return NULL;
    size_t      classes = (size_t)p->classes;
    cp_scored   scored = {0};
    cp_metrics *m = calloc(1, sizeof *m);
    if (m) *m = (cp_metrics){.n = p->n, .classes = p->classes, .confusion = calloc(classes * classes, sizeof *m->confusion)};
    bool ok = m && m->confusion && cp_scored_make(&scored, p) && estimate(&scored, m) && cp_bootstrap(&scored, config, m);
    cp_scored_free(&scored);
    if (ok) return m;
    cp_metrics_free(m);
    cp_fail(status, "out of memory for the metrics of %d predictions of %d classes", p->n, p->classes);
    return NULL;
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
        cp_json_put_array(w, known[k].name);
        cp_json_put_number(w, NULL, of[k].low * unit);
        cp_json_put_number(w, NULL, of[k].high * unit);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

/* The reliability table, from which diagrams over several runs can be put together. */
static void put_bins(cp_json_writer *w, const cp_bin *bins) {
    cp_json_put_object(w, "bins");
    cp_json_put_array(w, "count");
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) cp_json_put_integer(w, NULL, bins[b].count);
    cp_json_put_end(w);
    cp_json_put_array(w, "confidence");
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) cp_json_put_number(w, NULL, bins[b].confidence);
    cp_json_put_end(w);
    cp_json_put_array(w, "accuracy");
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) cp_json_put_number(w, NULL, bins[b].accuracy);
    cp_json_put_end(w);
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
