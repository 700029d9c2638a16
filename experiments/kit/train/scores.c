/* Scores of a split, and how results show them. */
#include "experiments/kit/train/scores.h"

#include "experiments/kit/data/batches.h"
#include "experiments/kit/figure/figure.h"
#include "models/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool scores_alloc(cp_scores *s, bool generative, int features) {
    size_t n = (size_t)s->n, all = n * (size_t)s->classes;
    s->logits = malloc(all * sizeof *s->logits);
    s->bayes = generative ? malloc(all * sizeof *s->bayes) : NULL;
    s->energies = generative ? malloc(n * sizeof *s->energies) : NULL;
    s->features = features ? malloc(n * (size_t)features * sizeof *s->features) : NULL;
    return s->logits && (s->features || !features) && (!generative || (s->bayes && s->energies));
}

static bool score_batch(cp_tape *tape, const cp_model *model, cp_tensor *x, cp_scores *s, size_t first) {
    size_t     n = (size_t)x->dims[0], offset = first * (size_t)s->classes, all = n * (size_t)s->classes;
    cp_outputs to = {.logits = s->logits + offset};
    if (s->features) to.features = s->features + first * (size_t)model->head->features;
    if (s->bayes) to.class_logits = s->bayes + offset, to.energy = s->energies + first;
    if (!cp_model_outputs(tape, model, x, to)) return false;
    for (size_t i = 0; i < all; i++) s->finite &= isfinite(to.logits[i]) && (!s->bayes || isfinite(to.class_logits[i]));
    for (size_t i = 0; s->bayes && i < n; i++) s->finite &= (bool)isfinite(to.energy[i]);
    return true;
}

static bool make(cp_tape *tape, const cp_model *model, const cp_split *split, int features, cp_scores *scores, cp_status *status) {
    *scores = (cp_scores){.n = split->count, .classes = model->config.classes, .labels = split->labels};
    cp_batches *all = cp_batches_new((cp_batches_config){.split = split, .size = 64, .in_order = true});
    bool        ok = all && scores_alloc(scores, model->head->kind->generative, features), computed = true,
         was = cp_tape_pause(tape, true);
    scores->finite = ok;
    for (size_t done = 0; ok && computed && done < (size_t)split->count;) {
        cp_batch batch = cp_batches_next(tape, all);
        computed = score_batch(tape, model, batch.x, scores, done);
        done += (size_t)batch.count;
        cp_tape_reset(tape);
    }
    cp_tape_pause(tape, was);
    cp_batches_free(all);
    if (ok && computed) return true;
    cp_scores_free(scores);
    if (ok) return cp_fail(status, "the scores of the images could not be computed: the model does not fit them");
    return cp_fail(status, "not enough memory for the scores of %d images", split->count);
}

bool cp_scores_make(cp_tape *tape, const cp_model *model, const cp_split *split, cp_scores *scores, cp_status *status) {
    return make(tape, model, split, 0, scores, status);
}

bool cp_scores_make_features(cp_tape *tape, const cp_model *model, const cp_split *split, cp_scores *scores, cp_status *status) {
    return make(tape, model, split, model->head->features, scores, status);
}

void cp_scores_free(cp_scores *scores) {
    free(scores->features);
    free(scores->logits);
    free(scores->bayes);
    free(scores->energies);
    *scores = (cp_scores){0};
}

double *cp_scores_posterior(const cp_scores *s, double temperature) {
    size_t  classes = (size_t)s->classes, all = (size_t)s->n * classes;
    double *posterior = malloc(all * sizeof *posterior + 1);
    if (posterior) memcpy(posterior, s->logits, all * sizeof *posterior);
    for (size_t i = 0; posterior && i < all; i += classes) cp_softmax_row(posterior + i, s->classes, temperature);
    return posterior;
}

cp_predictions cp_scores_predictions(const cp_scores *s, bool bayes, double temperature) {
    return (cp_predictions){.n = s->n,
                            .classes = s->classes,
                            .values = bayes ? s->bayes : s->logits,
                            .logits = true,
                            .temperature = temperature,
                            .labels = s->labels,
                            .groups = s->groups};
}

/* ---- results ---- */

void cp_measured_put(int count, const cp_measured *all, cp_json_writer *w, const char *key) {
    cp_json_put_object(w, key);
    for (int i = 0; i < count; i++)
        if (all[i].metrics) cp_metrics_put(all[i].metrics, w, all[i].name);
    cp_json_put_end(w);
}

void cp_estimate_cell(cp_table *table, cp_json_writer *w, const char *key, cp_estimate e, bool share) {
    double unit = share ? 100 : 1;
    cp_table_interval(table, unit * e.value, unit * e.low, unit * e.high, share ? 1 : 3);
    if (w) cp_json_put_numbers(w, key, (double[]){unit * e.value, unit * e.low, unit * e.high}, 3);
}

static const cp_metric columns[] = {CP_ACCURACY, CP_BALANCED_ACCURACY, CP_AUC, CP_ECE, CP_MCE, CP_NLL, CP_BRIER};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void table_row(cp_table *table, const cp_estimate of[CP_METRICS]) {
    for (int c = 0; c < COLUMNS; c++) {
        bool share = cp_metric_is_share(columns[c]);
        cp_table_number(table, (share ? 100 : 1) * of[columns[c]].value, share ? 1 : 3);
    }
}

cp_table *cp_measured_table(int count, const cp_measured *all, const char *split) {
    cp_table *table = cp_table_new(1, split);
    char      title[40];
    for (int c = 0; c < COLUMNS; c++) {
        snprintf(title, sizeof title, "%s%s", cp_metric_title(columns[c]), cp_metric_is_share(columns[c]) ? ", %" : "");
        cp_table_column(table, title);
    }
    for (int i = 0; i < count; i++) {
        if (!all[i].metrics) continue;
        cp_table_text(table, "%s%s", all[i].title, all[i].metrics->grouped ? ", by image" : "");
        table_row(table, all[i].metrics->of);
        if (!all[i].metrics->grouped) continue;
        cp_table_text(table, "%s, by patient", all[i].title);
        table_row(table, all[i].metrics->by_group);
    }
    return table;
}

cp_text cp_patients_of(const cp_metrics *m) {
    cp_text text;
    snprintf(text.s, sizeof text.s, "%d patient%s", m->groups, m->groups == 1 ? "" : "s");
    return text;
}

const char *cp_patients_few(const cp_metrics *m) {
    if (!m->grouped || m->groups >= 10) return "";
    return m->groups == 1 ? " One patient gives none." : " Over so few patients they are too narrow.";
}

static void draw_diagram(cp_figure *figure, const cp_measured *one) {
    double            confidence[CP_CALIBRATION_BINS], accuracy[CP_CALIBRATION_BINS];
    char              title[120];
    const cp_metrics *m = one->metrics;
    snprintf(title, sizeof title, "%s: ECE %.1f %%", one->title, 100 * m->of[CP_ECE].value);
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) confidence[b] = m->bins[b].confidence, accuracy[b] = m->bins[b].accuracy;
    cp_panel *panel = cp_figure_panel(
        figure, (cp_panel_config){.title = title, .x_label = "confidence", .y_label = "accuracy", .x_max = 1, .y_max = 1});
    cp_panel_reliability(panel, CP_CALIBRATION_BINS, confidence, accuracy);
}

static void draw_confidence(cp_figure *figure, const cp_measured *one) {
    double            left[CP_CALIBRATION_BINS], count[CP_CALIBRATION_BINS];
    const cp_metrics *m = one->metrics;
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) left[b] = (double)b / CP_CALIBRATION_BINS, count[b] = m->bins[b].count;
    cp_panel *panel =
        cp_figure_panel(figure, (cp_panel_config){.title = one->title, .x_label = "confidence", .y_label = "images", .x_max = 1});
    cp_panel_spans(panel, (cp_style){.color = 0, .opacity = 0.6}, CP_CALIBRATION_BINS, left, 1.0 / CP_CALIBRATION_BINS, NULL,
                   count);
    cp_panel_vertical(panel, (cp_style){.color = 1, .dash = CP_DASHED, .label = "mean confidence of all"}, m->mean_confidence);
    cp_panel_vertical(panel, (cp_style){.color = 2, .dash = CP_SOLID, .label = "accuracy of all"}, m->of[CP_ACCURACY].value);
}

bool cp_measured_draw(int count, const cp_measured *all, const char *split, const cp_run *run, cp_status *status) {
    char title[80];
    int  shown = 0;
    for (int i = 0; i < count; i++) shown += all[i].metrics != NULL;
    snprintf(title, sizeof title, "Reliability on the %s split", split);
    cp_figure *figure = cp_figure_new((cp_figure_config){
        .title = title,
        .caption =
            "First, the accuracy of the predictions in each of 15 bins of confidence, and what lies between it and their mean "
            "confidence; then, how many of the images are in each bin, with lines at the mean confidence and at the "
            "accuracy; the nearer they are, the better calibrated the model.",
        .columns = shown,
        .width = 240,
        .height = 200});
    for (int i = 0; i < count; i++)
        if (all[i].metrics) draw_diagram(figure, &all[i]);
    for (int i = 0; i < count; i++)
        if (all[i].metrics) draw_confidence(figure, &all[i]);
    return cp_figure_finish(figure, cp_run_path(run, "reliability").s, status);
}

void cp_images_put(const cp_images *images, cp_json_writer *w, const char *key) {
    cp_json_put_object(w, key);
    cp_json_put_string(w, "name", images->name);
    cp_json_put_string(w, "md5", images->md5);
    cp_json_put_bool(w, "official", images->official);
    cp_json_put_string(w, "origin", cp_images_origin(images));
    cp_json_put_integer(w, "classes", images->classes);
    cp_json_put_integers(w, "shape", images->set->shape.dims, (size_t)images->set->shape.rank);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) cp_json_put_integer(w, cp_images_splits[s], images->set->splits[s].count);
    cp_json_put_end(w);
}
