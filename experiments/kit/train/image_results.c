/* Results of commands on images. */
#include "experiments/kit/train/image_results.h"

#include "experiments/kit/figure/figure.h"

#include <stdarg.h>

/* ---- metrics ---- */

void cp_measured_put(int count, const cp_measured *all, cp_json_writer *w, const char *key) {
    cp_json_put_object(w, key);
    for (int i = 0; i < count; i++)
        if (all[i].metrics) cp_metrics_put(all[i].metrics, w, all[i].name);
    cp_json_put_end(w);
}

static void table_row(cp_table *table, const cp_estimate of[CP_METRICS]) {
    static const cp_metric columns[] = {CP_ACCURACY, CP_BALANCED_ACCURACY, CP_AUC, CP_ECE, CP_MCE, CP_NLL, CP_BRIER};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        bool share = cp_metric_is_share(columns[c]);
        cp_table_number(table, (share ? 100 : 1) * of[columns[c]].value, share ? 1 : 3);
    }
}

cp_table *cp_measured_table(int count, const cp_measured *all, const char *split) {
    cp_table *table = cp_table_new(8, split, "accuracy, %", "balanced, %", "AUC", "ECE, %", "MCE, %", "NLL", "Brier");
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

cp_patients_text cp_patients_of(const cp_metrics *m) {
    cp_patients_text text;
    snprintf(text.s, sizeof text.s, "%d patient%s", m->groups, m->groups == 1 ? "" : "s");
    return text;
}

const char *cp_patients_few(const cp_metrics *m) {
    if (!m->grouped || m->groups >= 10) return "";
    return m->groups == 1 ? " Of one patient there are none." : " Over so few patients they are too narrow.";
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
    double            left[CP_CALIBRATION_BINS], share[CP_CALIBRATION_BINS];
    const cp_metrics *m = one->metrics;
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) {
        left[b] = (double)b / CP_CALIBRATION_BINS;
        share[b] = 100.0 * m->bins[b].count / m->n;
    }
    cp_panel *panel = cp_figure_panel(figure, (cp_panel_config){.x_label = "confidence", .y_label = "images, %", .x_max = 1});
    cp_panel_spans(panel, (cp_style){.color = 0, .opacity = 0.6}, CP_CALIBRATION_BINS, left, 1.0 / CP_CALIBRATION_BINS, NULL,
                   share);
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
        .caption = "Above: accuracy of the predictions in each of 15 bins of confidence, and what lies between it and their mean "
                   "confidence. Below: how many of the images are in each bin, with lines at the mean confidence and at the "
                   "accuracy; the nearer they are, the better calibrated the model.",
        .columns = shown,
        .width = 240,
        .height = 200});
    for (int i = 0; i < count; i++)
        if (all[i].metrics) draw_diagram(figure, &all[i]);
    for (int i = 0; i < count; i++)
        if (all[i].metrics) draw_confidence(figure, &all[i]);
    bool ok = cp_figure_save(figure, cp_run_path(run, "reliability").s, status);
    cp_figure_free(figure);
    return ok;
}

/* ---- texts ---- */

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

void cp_table_conclude(cp_table *table, cp_json_writer *w, const char *key, FILE *file) {
    cp_table_put(table, w, key);
    if (file) cp_table_print(table, file);
    cp_table_free(table);
}

void cp_note_put(cp_json_writer *w, FILE *file, const char *format, ...) {
    char    note[600];
    va_list words;
    va_start(words, format);
    vsnprintf(note, sizeof note, format, words);
    va_end(words);
    cp_text_printable(note); /* names of files may be in it */
    cp_json_put_string(w, NULL, note);
    if (file) fprintf(file, "%s\n", note);
}

bool cp_run_conclude(cp_run *run, cp_json_writer *result) {
    if (!cp_run_finish(run, result)) return false;
    if (!run->quiet) fprintf(run->json ? stderr : stdout, "%sResults: %s/\n", run->json ? "" : "\n", run->folder);
    return true;
}
