/* The metrics of each group of images, and the largest gap between two groups. */
#include "experiments/evaluate/evaluate.h"
#include "experiments/kit/metrics/paired.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 50 };

static const cp_metric columns[] = {CP_ACCURACY, CP_BALANCED_ACCURACY, CP_AUC, CP_ECE, CP_NLL};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool measure_group(cp_evaluation *e, int g, double *logits, int *labels, int *patients, cp_status *status) {
    const cp_scores *s = &e->scores;
    size_t           classes = (size_t)s->classes;
    cp_predictions   p = cp_scores_predictions(s, false, e->trained->temperature);
    p.n = 0;
    for (int i = 0; i < s->n; i++) {
        if (e->by.of[i] != g) continue;
        memcpy(logits + (size_t)p.n * classes, s->logits + (size_t)i * classes, classes * sizeof *logits);
        labels[p.n] = s->labels[i];
        if (s->groups) patients[p.n] = s->groups[i];
        p.n++;
    }
    p.values = logits, p.labels = labels, p.groups = s->groups ? patients : NULL;
    e->by.count[g] = p.n;
    if (p.n == 0) return true;
    /* Seeds of their own, since the groups are resampled independently of each other. */
    cp_metrics_config config = {.seed = e->seed + (uint64_t)g, .keep = true};
    e->by.metrics[g] = cp_metrics_new(&p, config, status);
    return e->by.metrics[g] != NULL;
}

bool cp_groups_read(cp_evaluation *e, cp_status *status) {
    const char *column = cp_option_text(e->options, "by");
    cp_groups  *by = &e->by;
    if (!column) return true;
    by->of = cp_images_column(e->images, cp_argument(e->options, 1), e->split, column, &by->names, status);
    return by->of &&
           (by->names.count <= MAX_GROUPS || cp_fail(status, "--by %.60s: the column has %d values; at most %d groups are compared",
                                                     column, by->names.count, MAX_GROUPS));
}

bool cp_groups_measure(cp_evaluation *e, cp_status *status) {
    cp_groups *by = &e->by;
    if (!by->of) return true;
    size_t  n = (size_t)e->scores.n, count = (size_t)by->names.count;
    double *logits = malloc(n * (size_t)e->scores.classes * sizeof *logits);
    int    *labels = malloc(2 * n * sizeof *labels);
    by->count = calloc(count, sizeof *by->count);
    by->metrics = calloc(count, sizeof *by->metrics);
    bool ok = (logits && labels && by->count && by->metrics) || cp_fail(status, "not enough memory for %zu groups", count);
    for (int g = 0; ok && g < by->names.count; g++) ok = measure_group(e, g, logits, labels, labels + n, status);
    free(logits), free(labels);
    return ok;
}

void cp_groups_free(cp_groups *by) {
    for (int g = 0; by->metrics && g < by->names.count; g++) cp_metrics_free(by->metrics[g]);
    free(by->of), free(by->count), free(by->metrics);
    cp_names_free(&by->names);
}

/* The groups with the largest and the smallest value; false: fewer than two have any. */
static bool extremes(const cp_groups *by, cp_metric k, int *high, int *low) {
    *high = *low = -1;
    for (int g = 0; g < by->names.count; g++) {
        double value = by->metrics[g] ? by->metrics[g]->of[k].value : NAN;
        if (isnan(value)) continue;
        if (*high < 0 || value > by->metrics[*high]->of[k].value) *high = g;
        if (*low < 0 || value <= by->metrics[*low]->of[k].value) *low = g; /* of equal ones another */
    }
    return *high != *low;
}

/* Their difference, with the interval of independent resamples; false as above. */
static bool gap_of(const cp_groups *by, cp_metric k, int *high, int *low, cp_estimate *gap) {
    double p;
    return extremes(by, k, high, low) && cp_metrics_subtract(by->metrics[*high], by->metrics[*low], k, gap, &p);
}

static void put_gaps(const cp_groups *by, cp_json_writer *w, cp_table *table) {
    cp_table_text(table, "largest gap");
    cp_table_text(table, "%s", "");
    cp_json_put_object(w, "gaps");
    for (int c = 0; c < COLUMNS; c++) {
        int         high, low;
        cp_estimate gap = {NAN, NAN, NAN};
        bool        any = gap_of(by, columns[c], &high, &low, &gap);
        cp_json_put_object(w, cp_metric_name(columns[c]));
        cp_estimate_cell(table, w, "gap", gap, cp_metric_is_share(columns[c]));
        cp_json_put_string(w, "highest", any ? by->names.at[high] : NULL);
        cp_json_put_string(w, "lowest", any ? by->names.at[low] : NULL);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

void cp_groups_put(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    const cp_groups *by = &e->by;
    if (!by->of) return;
    cp_table *table = cp_table_new(2, cp_option_text(e->options, "by"), "images");
    for (int c = 0; c < COLUMNS; c++) {
        char title[60];
        snprintf(title, sizeof title, "%s%s", cp_metric_title(columns[c]), cp_metric_is_share(columns[c]) ? ", %" : "");
        cp_table_column(table, title);
    }
    cp_json_put_object(w, "groups");
    cp_json_put_string(w, "by", cp_option_text(e->options, "by"));
    cp_json_put_object(w, "of");
    for (int g = 0; g < by->names.count; g++) {
        const cp_metrics *m = by->metrics[g];
        if (!m) continue;
        cp_table_text(table, "%.60s", by->names.at[g]);
        cp_table_text(table, "%d", by->count[g]);
        for (int c = 0; c < COLUMNS; c++) cp_estimate_cell(table, NULL, NULL, m->of[columns[c]], cp_metric_is_share(columns[c]));
        cp_metrics_put(m, w, by->names.at[g]);
    }
    cp_json_put_end(w);
    put_gaps(by, w, table);
    cp_json_put_end(w);
    if (file) fputc('\n', file);
    cp_table_conclude(table, w, "groups_table", file);
}

void cp_groups_put_notes(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    int         high, low;
    cp_estimate gap;
    if (!e->by.of) return;
    cp_note_put(
        w, file,
        "Groups by %s, of the scaled softmax. The gap is between the groups with the highest and the lowest value, which are "
        "found on the same images: with many or small groups, large gaps come by chance.%s",
        cp_option_text(e->options, "by"), e->scores.groups ? " Its interval takes no account of patients that are in both." : "");
    if (gap_of(&e->by, CP_ACCURACY, &high, &low, &gap))
        cp_note_put(w, file, "The accuracy is highest for %s and lowest for %s.", e->by.names.at[high], e->by.names.at[low]);
}
