/* couplet evaluate: figures. */
#include "experiments/evaluate/evaluate.h"

#include "experiments/kit/figure/figure.h"
#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <stdlib.h>

/* ---- confusion matrix ---- */

/* The classes' names, or their numbers, shortened to fit: an array of texts to be freed at once. */
static const char **class_labels(const cp_images *images) {
    enum { ROOM = 20 };
    size_t       n = (size_t)images->classes;
    const char **labels = malloc(n * (sizeof *labels + ROOM));
    char        *texts = labels ? (char *)(labels + n) : NULL;
    for (size_t c = 0; labels && c < n; c++, texts += ROOM) {
        labels[c] = texts;
        if (images->class_names)
            snprintf(texts, ROOM, "%s", images->class_names[c]);
        else
            snprintf(texts, ROOM, "%d", (int)(c % 10000));
    }
    return labels;
}

static bool draw_confusion(const cp_evaluation *e, cp_status *status) {
    enum { CELL = 42, MAX = 25 };
    const cp_metrics *m = e->measured[CP_READING_PLAIN].metrics;
    int               n = m->classes;
    if (n > MAX) return true; /* nobody reads such a matrix; result.json has it */
    const char **labels = class_labels(e->images);
    double      *counts = malloc((size_t)n * (size_t)n * sizeof *counts), side = CELL * n < 180 ? 180 : CELL * n;
    bool         ok = (labels && counts) || cp_fail(status, "not enough memory for a confusion matrix");
    for (int i = 0; ok && i < n * n; i++) counts[i] = m->confusion[i];
    cp_figure *figure = ok ? cp_figure_new((cp_figure_config){.title = "Confusion matrix", .width = side, .height = side}) : NULL;
    cp_figure_caption(
        figure,
        "How many images of each class (rows) were taken for which (columns), of the %d of the %s split; the color is "
        "the share of the row.",
        m->n, cp_images_splits[e->split]);
    cp_panel *panel = cp_figure_panel(figure, (cp_panel_config){.x_label = "predicted",
                                                                .y_label = "true class",
                                                                .x_names = labels,
                                                                .x_name_count = n,
                                                                .y_names = labels,
                                                                .y_name_count = n});
    if (ok) cp_panel_confusion(panel, (cp_style){.color = 0}, n, counts);
    ok = ok && cp_figure_save(figure, cp_run_path(e->run, "confusion").s, status);
    cp_figure_free(figure);
    free(counts);
    free(labels);
    return ok;
}

/* ---- histograms ---- */

/* Widened to hold all but the outermost hundredth on either side, so that a few strays do not squeeze the rest. */
static cp_bins over_max(cp_bins bins, int n, const double *values) {
    double *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
    if (!sorted || n == 0) {
        free(sorted);
        return bins;
    }
    for (int i = 0; i < n; i++) sorted[i] = values[i];
    cp_values_sort(sorted, n);
    bins = cp_bins_over(bins, 2, (double[]){sorted[n / 100], sorted[n - 1 - n / 100]});
    free(sorted);
    return bins;
}

static void draw_histogram(cp_panel *panel, int color, const char *label, int n, const double *values, cp_bins bins) {
    if (values && n) cp_panel_histogram(panel, (cp_style){.color = color, .opacity = 0.45, .label = label}, n, values, bins);
}

static bool draw_energies(const cp_evaluation *e, cp_status *status) {
    if (!e->scores.energies) return true;
    cp_figure *figure = cp_figure_new((cp_figure_config){.title = "Energies", .width = 420, .height = 220});
    cp_panel  *panel = cp_figure_panel(figure, (cp_panel_config){.x_label = "energy E(x)", .y_label = "share"});
    cp_bins    bins = {.count = 60, .share = true};
    bins = over_max(bins, e->scores.n, e->scores.energies);
    if (e->chains.at) bins = over_max(bins, e->chains.count, e->chains.at);
    bins = over_max(bins, e->noise.count, e->noise.at);
    draw_histogram(panel, 0, "data", e->scores.n, e->scores.energies, bins);
    draw_histogram(panel, 1, "chains", e->chains.count, e->chains.at, bins);
    draw_histogram(panel, 2, "uniform noise", e->noise.count, e->noise.at, bins);
    cp_figure_caption(
        figure,
        "The energy of the %d images of the %s split%s, and of %d images of uniform noise: lower is more probable, p(x) = "
        "exp(-E(x)) / Z. Where the model fits, data and chains lie over each other and noise lies far above. The "
        "outermost hundredths may lie beyond the picture.",
        e->scores.n, cp_images_splits[e->split], e->chains.at ? ", of the chains that the training left" : "", e->noise.count);
    bool ok = cp_figure_save(figure, cp_run_path(e->run, "energies").s, status);
    cp_figure_free(figure);
    return ok;
}

static bool draw_outliers(const cp_evaluation *e, cp_status *status) {
    if (!e->other) return true;
    cp_figure *figure = cp_figure_new((cp_figure_config){
        .title = "Telling outliers",
        .caption =
            "Scores that should be higher for images of this set than for those of another; AUROC is the probability that an "
            "image of this set has the higher one. 0.5 is chance; below it, the other set looks more like the training "
            "images than this one's.",
        .width = 240,
        .height = 200});
    for (int i = 0; i < CP_OUTLIERS; i++) {
        const cp_outlier_score *s = &e->outliers[i];
        char                    title[120];
        if (!s->here) continue;
        snprintf(title, sizeof title, "%s: AUROC %.3f", s->title, s->auroc.value);
        cp_panel *panel = cp_figure_panel(figure, (cp_panel_config){.title = title, .x_label = s->meaning, .y_label = "share"});
        cp_bins   bins = {.count = 30, .share = true};
        bins = over_max(bins, e->scores.n, s->here);
        bins = over_max(bins, e->other_scores.n, s->there);
        draw_histogram(panel, 0, e->images->name, e->scores.n, s->here, bins);
        draw_histogram(panel, 1, e->other->name, e->other_scores.n, s->there, bins);
    }
    bool ok = cp_figure_save(figure, cp_run_path(e->run, "outliers").s, status);
    cp_figure_free(figure);
    return ok;
}

bool cp_evaluation_draw(const cp_evaluation *e, cp_status *status) {
    return cp_measured_draw(CP_READINGS, e->measured, cp_images_splits[e->split], e->run, status) && draw_confusion(e, status) &&
           draw_energies(e, status) && draw_outliers(e, status);
}
