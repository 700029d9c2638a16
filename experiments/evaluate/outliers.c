/* Outlier detection. */
#include "experiments/evaluate/evaluate.h"

#include "experiments/kit/metrics/stats.h"
#include "models/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores ---- */

static double *scores_of(const cp_scores *s, cp_outlier_kind kind, double temperature) {
    size_t  classes = (size_t)s->classes;
    double *all = malloc((size_t)s->n * sizeof *all), *row = malloc(classes * sizeof *row);
    for (int i = 0; all && row && i < s->n; i++) {
        double largest = -INFINITY;
        memcpy(row, s->logits + (size_t)i * classes, classes * sizeof *row);
        for (size_t c = 0; c < classes; c++) largest = fmax(largest, row[c]);
        if (kind == CP_OUTLIER_POSTERIOR)
            all[i] = exp(-cp_softmax_row(row, s->classes, temperature));
        else
            all[i] = kind == CP_OUTLIER_ENERGY ? largest + cp_softmax_row(row, s->classes, 1) : -s->energies[i];
    }
    bool ok = row != NULL;
    free(row);
    if (ok) return all;
    free(all);
    return NULL;
}

/* ---- AUROC ---- */

/* Numbers the patients from *groups on and adds their number to it; an image of an unknown patient is a group of its own. */
static bool number_patients(const cp_scores *s, int *to, int *groups) {
    int  count = s->n;
    int *number = s->groups ? cp_groups_number(s->groups, s->n, &count) : NULL;
    for (int i = 0; i < s->n; i++) to[i] = *groups + (number ? number[i] : i);
    *groups += count;
    free(number);
    return number || !s->groups;
}

static bool has_patients(const cp_evaluation *e) { return e->scores.groups || e->other_scores.groups; }

/* The AUC of a classifier of two classes with these scores, or rather with their ranks (equal for equal scores), which cannot saturate
 * as probabilities. */
static bool auroc(const cp_evaluation *e, cp_outlier_score *s, cp_status *status) {
    int         here = e->scores.n, n = here + e->other_scores.n, groups = 0;
    int        *order = malloc((size_t)n * sizeof *order);
    double     *scores = malloc((size_t)n * sizeof *scores), *logits = calloc(2 * (size_t)n, sizeof *logits);
    int        *labels = malloc((size_t)n * sizeof *labels), *patients = malloc((size_t)n * sizeof *patients);
    cp_metrics *m = NULL;
    for (int i = 0; scores && labels && i < n; i++) {
        scores[i] = i < here ? s->here[i] : s->there[i - here];
        labels[i] = i < here;
    }
    if (order && scores && logits && labels && patients && cp_values_order(scores, n, order) &&
        number_patients(&e->scores, patients, &groups) && number_patients(&e->other_scores, patients + here, &groups)) {
        for (int i = 0, rank = 0; i < n; i++) {
            if (i && scores[order[i]] > scores[order[i - 1]]) rank = i;
            logits[2 * order[i] + 1] = (double)rank / n;
        }
        cp_predictions two = {
            .n = n, .classes = 2, .values = logits, .logits = true, .labels = labels, .groups = has_patients(e) ? patients : NULL};
        m = cp_metrics_new(&two, (cp_metrics_config){.seed = (uint64_t)cp_option_int(e->options, "seed")}, status);
    } else {
        cp_fail(status, "not enough memory for the outliers' ranks");
    }
    if (m) s->auroc = m->of[CP_AUC];
    bool ok = m != NULL;
    cp_metrics_free(m);
    free(order), free(scores), free(logits), free(labels), free(patients);
    return ok;
}

bool cp_outliers_measure(cp_evaluation *e, cp_status *status) {
    static const cp_outlier_score kinds[CP_OUTLIERS] = {
        {.name = "posterior", .title = "maximum posterior", .meaning = "max p(c|x)"},
        {.name = "energy", .title = "energy of the logits", .meaning = "logsumexp of the logits"},
        {.name = "density", .title = "density", .meaning = "-E(x)"}};
    bool density = e->scores.energies && e->trained->model->head->kind->class_energy;
    for (int i = 0; i < (density ? CP_OUTLIERS : CP_OUTLIER_DENSITY); i++) {
        cp_outlier_score *s = &e->outliers[i];
        *s = kinds[i];
        s->here = scores_of(&e->scores, (cp_outlier_kind)i, e->trained->temperature);
        s->there = scores_of(&e->other_scores, (cp_outlier_kind)i, e->trained->temperature);
        if (!s->here || !s->there) return cp_fail(status, "not enough memory for the outliers' scores");
        if (!auroc(e, s, status)) return false;
    }
    return true;
}

/* ---- the result ---- */

void cp_outliers_put(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    cp_table *table = cp_table_new(3, "outliers by", "the score", "AUROC");
    cp_json_put_object(w, "ood");
    cp_images_put(e->other, w, "data");
    for (int i = 0; i < CP_OUTLIERS; i++) {
        const cp_outlier_score *s = &e->outliers[i];
        if (!s->here) continue;
        cp_json_put_object(w, s->name);
        cp_json_put_number(w, "auroc", s->auroc.value);
        cp_json_put_numbers(w, "interval", (double[]){s->auroc.low, s->auroc.high}, 2);
        cp_json_put_end(w);
        cp_table_text(table, "%s", s->title);
        cp_table_text(table, "%s", s->meaning);
        cp_table_text(table, "%.3f (%.3f to %.3f)", s->auroc.value, s->auroc.low, s->auroc.high);
    }
    cp_json_put_end(w);
    if (file) fputc('\n', file);
    cp_table_conclude(table, w, "ood_table", file);
}

void cp_outliers_put_notes(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    cp_note_put(
        w, file,
        "Outliers: the %d images of %s (%s) against the %d of %s. AUROC is the probability that an image of %s has the higher "
        "score than one of %s: 1 separates them, 0.5 is chance, below 0.5 the score takes the other set for the more usual.",
        e->scores.n, e->images->name, cp_images_splits[e->split], e->other_scores.n, e->other->name, e->images->name,
        e->other->name);
    if (has_patients(e)) cp_note_put(w, file, "The resamples behind the intervals of AUROC keep the images of a patient together.");
    if (e->scores.energies && !e->outliers[CP_OUTLIER_DENSITY].here)
        cp_note_put(w, file, "The density of a %s model is the energy of its logits: it has no AUROC of its own.",
                    e->trained->model->config.head);
}
