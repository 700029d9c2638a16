/* couplet evaluate: everything that can be measured of a trained model on a set of images. */
#include "experiments/evaluate/evaluate.h"

#include "experiments/commands.h"
#include "experiments/kit/figure/figure.h"
#include "experiments/kit/metrics/stats.h"
#include "experiments/kit/train/predictions.h"
#include "models/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "split", .kind = CP_OPTION_CHOICE, .choices = "train|val|test|all", .fallback = "test", .help = "split to measure"},
    {.name = "at", .kind = CP_OPTION_TEXT, .value = "RULE",
     .help = "operating point: sensitivity=S or specificity=S reached on the validation split, youden, or a threshold of the posterior; of "
             "two classes for class 1, otherwise for each class"},
    {.name = "prevalence", .kind = CP_OPTION_REAL, .min = 1e-9, .max = 1, .help = "share of class 1 among those who will be tested, for PPV and NPV with --at"},
    {.name = "ordered", .kind = CP_OPTION_FLAG, .help = "the classes are ordered, such as grades: adds the quadratically weighted kappa and the "
             "mean absolute error"},
    {.name = "by", .kind = CP_OPTION_TEXT, .value = "COLUMN",
     .help = "groups of images: adds the metrics of each and the largest gap; a column that couplet import kept, such as site or scanner"},
    {.name = "weights", .kind = CP_OPTION_CHOICE, .choices = "selected|end|auto", .fallback = "auto",
     .help = "weights of a run: those with the minimum validation NLL after temperature scaling, or those at the end; auto: at the end with "
             "--ood or --corrupt, otherwise selected"},
    {.name = "ood", .kind = CP_OPTION_TEXT, .value = "OTHER,...",
     .help = "image sets for outlier detection, of the same size and channels: measures how well their images are distinguished from those of DATA"},
    {.name = "corrupt", .kind = CP_OPTION_FLAG, .help = "outlier detection and accuracy on copies with noise, blur, low contrast or rotated, at five strengths"},
    {0}};
/* clang-format on */

#define OWN_PREDICTIONS "predictions.csv"
enum { COMPARED = 1000 }; /* chains and images of noise for the histogram of energies, at most */

/* ---- measuring ---- */

static bool finite_scores(const cp_scores *scores, const cp_images *images, cp_status *status) {
    return scores->finite ||
           cp_fail(status, "the model's outputs on %.100s are not finite: there is nothing to measure", images->name);
}

static bool measure_reading(cp_evaluation *e, cp_reading which, cp_status *status) {
    static const char *const names[CP_READINGS] = {"plain", "scaled", "bayes"};
    static const char *const titles[CP_READINGS] = {"softmax", "softmax, scaled", "Gaussians"};
    cp_predictions           predictions =
        cp_scores_predictions(&e->scores, which == CP_READING_BAYES, which == CP_READING_SCALED ? e->trained->temperature : 1);
    cp_metrics *metrics = cp_metrics_new(&predictions, (cp_metrics_config){.seed = e->seed}, status);
    e->measured[which] = (cp_measured){names[which], titles[which], metrics};
    return metrics != NULL;
}

/* Class energies that are not those of the logits. */
static bool has_own_energies(const cp_evaluation *e) { return e->scores.bayes && e->trained->model->head->kind->class_energy; }

static bool measure_split(cp_evaluation *e, cp_tape *tape, cp_status *status) {
    if (!cp_scores_make(tape, e->trained->model, e->rows, &e->scores, status)) return false;
    if (!finite_scores(&e->scores, e->images, status)) return false;
    e->scores.groups = e->images->groups[e->split];
    return measure_reading(e, CP_READING_PLAIN, status) &&
           (e->trained->temperature == 1 || measure_reading(e, CP_READING_SCALED, status)) &&
           (!has_own_energies(e) || measure_reading(e, CP_READING_BAYES, status)) &&
           ((e->posterior = cp_scores_posterior(&e->scores, e->trained->temperature)) ||
            cp_fail(status, "not enough memory for the predictions")) &&
           cp_points_measure(e, tape, status) && cp_groups_measure(e, status);
}

/* Of images (count, H, W, C), in the order given. */
static bool energies_of(const cp_evaluation *e, cp_tape *tape, const cp_real *values, int count, cp_shape shape, cp_energies *out,
                        cp_status *status) {
    cp_scores   scores = {0};
    cp_dataset *set = cp_dataset_new((cp_dataset_config){.dtype = CP_REAL_DTYPE, .shape = shape});
    bool        ok = set ? cp_dataset_add(set, (cp_split_config){"samples", count, values, NULL, .owned = false}, status)
                         : cp_fail(status, "not enough memory for energies");
    ok = ok && cp_scores_make(tape, e->trained->model, &set->splits[0], &scores, status);
    if (ok) {
        *out = (cp_energies){scores.energies, count};
        scores.energies = NULL;
    }
    cp_scores_free(&scores);
    cp_dataset_free(set);
    return ok;
}

static bool measure_chains(cp_evaluation *e, cp_tape *tape, cp_status *status) {
    int count;
    if (!cp_run_model_chains(e->trained, &e->no_chains)) return true;
    if (e->rows->lengths) { /* a file of chains does not have theirs */
        cp_fail(&e->no_chains, "the sequences have several lengths");
        return true;
    }
    cp_real *samples = cp_run_model_samples(e->trained, COMPARED, &count, status);
    bool     ok = samples && (count == 0 || energies_of(e, tape, samples, count, e->trained->shape, &e->chains, status));
    free(samples);
    return ok;
}

static bool measure_noise(cp_evaluation *e, cp_tape *tape, cp_status *status) {
    int      count = e->rows->count < COMPARED ? e->rows->count : COMPARED;
    size_t   all = (size_t)count * e->images->set->values;
    cp_rng   rng = cp_rng_named(e->seed, "noise images");
    cp_real *pixels = malloc(all * sizeof *pixels);
    if (!pixels) return cp_fail(status, "not enough memory for images of noise");
    cp_rng_fill_uniform(&rng, pixels, all, (cp_real)-cp_images_range(e->images), (cp_real)cp_images_range(e->images));
    bool ok = energies_of(e, tape, pixels, count, e->images->set->shape, &e->noise, status);
    free(pixels);
    return ok;
}

static bool measure(cp_evaluation *e, cp_status *status) {
    cp_tape *tape = cp_tape_new();
    bool     ok = tape ? measure_split(e, tape, status) : cp_fail(status, "not enough memory for a tape");
    if (ok && cp_run_model_generative(e->trained)) ok = measure_chains(e, tape, status) && measure_noise(e, tape, status);
    ok = ok && cp_outliers_measure(e, tape, status);
    cp_tape_free(tape);
    return ok;
}

/* ---- predictions ---- */

static cp_text predictions_name(const cp_evaluation *e) {
    const cp_measured *m = &e->measured[e->trained->temperature == 1 ? CP_READING_PLAIN : CP_READING_SCALED];
    cp_text            name;
    snprintf(name.s, sizeof name.s, "%s_%s_[AUC]%.3f_[ACC]%.3f@%s.csv", e->images->name, cp_images_splits[e->split],
             m->metrics->of[CP_AUC].value, m->metrics->of[CP_ACCURACY].value, e->trained->name);
    return name;
}

/* What couplet predict writes, and for MedMNIST's sets the file of their evaluator. */
static bool write_predictions(const cp_evaluation *e, cp_status *status) {
    const char *const  *names = e->trained->model->about.class_names;
    cp_prediction_lines lines = {.n = e->scores.n, .posterior = e->posterior, .energy = e->scores.energies};
    cp_prediction_table table = {
        .lines = &lines, .count = 1, .classes = e->scores.classes, .class_names = names ? names : e->images->class_names};
    bool ok = cp_predictions_save(&table, cp_run_path(e->run, OWN_PREDICTIONS).s, status);
    table.bare = true;
    if (ok && cp_images_as_medmnist(e->images))
        ok = cp_predictions_save(&table, cp_run_path(e->run, predictions_name(e).s).s, status);
    return ok;
}

/* ---- figures ---- */

/* The classes' names, or their numbers, shortened to fit: an array of texts to be freed at once. */
static const char **class_labels(const cp_images *images) {
    enum { ROOM = 20 };
    size_t       n = (size_t)images->classes;
    const char **labels = malloc(n * (sizeof *labels + ROOM));
    char        *texts = labels ? (char *)(labels + n) : NULL;
    for (size_t c = 0; labels && c < n; c++, texts += ROOM) {
        labels[c] = texts;
        snprintf(texts, ROOM, "%.*s", ROOM - 1, cp_class_text(images->class_names, "", (int)c).s);
    }
    return labels;
}

static bool draw_confusion(const cp_evaluation *e, cp_status *status) {
    enum { CELL = 42, MAX = 25 };
    const cp_metrics *m = e->measured[CP_READING_PLAIN].metrics;
    int               n = m->classes;
    if (n > MAX) return true; /* such a matrix is unreadable; result.json has it */
    const char **labels = class_labels(e->images);
    double      *counts = malloc((size_t)n * (size_t)n * sizeof *counts), side = CELL * n < 180 ? 180 : CELL * n;
    bool         ok = (labels && counts) || cp_fail(status, "not enough memory for a confusion matrix");
    for (int i = 0; ok && i < n * n; i++) counts[i] = m->confusion[i];
    cp_figure *figure = ok ? cp_figure_new((cp_figure_config){.title = "Confusion matrix", .width = side, .height = side}) : NULL;
    cp_figure_caption(figure,
                      "How many images of each class (rows) were taken for which (columns), of the %d of the %s split; below the "
                      "number and as color its share of the row.",
                      m->n, cp_images_splits[e->split]);
    cp_panel *panel = cp_figure_panel(figure, (cp_panel_config){.x_label = "predicted",
                                                                .y_label = "true class",
                                                                .x_names = labels,
                                                                .x_name_count = n,
                                                                .y_names = labels,
                                                                .y_name_count = n});
    if (ok) cp_panel_confusion(panel, (cp_style){.color = 0}, n, counts);
    ok = cp_figure_finish(figure, cp_run_path(e->run, "confusion").s, status) && ok;
    free(counts);
    free(labels);
    return ok;
}

cp_bins cp_bins_for(cp_bins bins, int n, const double *values) {
    double *sorted = n ? malloc((size_t)n * sizeof *sorted) : NULL;
    if (!sorted) return bins;
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
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
    cp_panel  *panel = cp_figure_panel(figure, (cp_panel_config){.x_label = "energy E(x), nats", .y_label = "share of images"});
    cp_bins    bins = {.count = 60, .share = true};
    bins = cp_bins_for(bins, e->scores.n, e->scores.energies);
    if (e->chains.at) bins = cp_bins_for(bins, e->chains.count, e->chains.at);
    bins = cp_bins_for(bins, e->noise.count, e->noise.at);
    draw_histogram(panel, 0, "data", e->scores.n, e->scores.energies, bins);
    draw_histogram(panel, 1, "chains", e->chains.count, e->chains.at, bins);
    draw_histogram(panel, 2, "uniform noise", e->noise.count, e->noise.at, bins);
    cp_figure_caption(figure,
                      "The energy of the %d images of the %s split%s, and of %d images of uniform noise: lower is more probable, "
                      "p(x) = exp(-E(x)) / Z. Where the model fits, data and chains lie over each other and noise lies far above. "
                      "The outermost hundredths may lie beyond the picture.",
                      e->scores.n, cp_images_splits[e->split], e->chains.at ? ", of the chains that the training left" : "",
                      e->noise.count);
    return cp_figure_finish(figure, cp_run_path(e->run, "energies").s, status);
}

static bool draw_figures(const cp_evaluation *e, cp_status *status) {
    return cp_measured_draw(CP_READINGS, e->measured, cp_images_splits[e->split], e->run, status) && draw_confusion(e, status) &&
           draw_energies(e, status) && cp_points_draw(e, status) && cp_outliers_draw(e, status);
}

/* ---- the result ---- */

static void table_row(cp_table *table, const cp_evaluation *e, cp_metric metric, bool by_patient) {
    bool share = cp_metric_is_share(metric);
    cp_table_text(table, "%s%s%s", cp_metric_title(metric),
                  by_patient         ? " by patient"
                  : e->scores.groups ? " by image"
                                     : "",
                  share ? ", %" : "");
    for (int r = 0; r < CP_READINGS; r++) {
        const cp_metrics *m = e->measured[r].metrics;
        if (m) cp_estimate_cell(table, NULL, NULL, by_patient ? m->by_group[metric] : m->of[metric], share);
    }
}

/* What only evaluate shows: the ECE without its bias, and agreement. */
static const struct {
    const char *title, *name;
    bool        share, ordered; /* ordered: only of classes that are */
} own[1 + CP_AGREEMENTS] = {{"ECE, debiased, %", "ece_debiased", true, false},
                            {"kappa", "kappa", false, false},
                            {"kappa, quadratic", "kappa_quadratic", false, true},
                            {"mean absolute error", "mean_absolute_error", false, true}};

static void own_cell(cp_table *table, cp_json_writer *w, const cp_metrics *m, int k) {
    cp_estimate_cell(table, w, own[k].name, k ? m->agreement[k - 1] : m->ece_debiased, own[k].share);
}

/* One row per metric, one column per reading; if there are patients, more rows by patient. */
static cp_table *metrics_table(const cp_evaluation *e) {
    cp_table *table = cp_table_new(1, cp_images_splits[e->split]);
    for (int r = 0; r < CP_READINGS; r++)
        if (e->measured[r].metrics) cp_table_column(table, e->measured[r].title);
    for (cp_metric m = 0; m < CP_METRICS; m++) table_row(table, e, m, false);
    for (int k = 0; k <= CP_AGREEMENTS; k++) {
        if (own[k].ordered && !cp_option_flag(e->options, "ordered")) continue;
        cp_table_text(table, "%s", own[k].title);
        for (int r = 0; r < CP_READINGS; r++)
            if (e->measured[r].metrics) own_cell(table, NULL, e->measured[r].metrics, k);
    }
    for (cp_metric m = 0; e->scores.groups && m < CP_METRICS_BY_GROUP; m++) table_row(table, e, m, true);
    return table;
}

static void put_mean(cp_json_writer *w, const char *key, int n, const double *values) {
    if (values && n) cp_json_put_number(w, key, cp_mean_sd_of(values, n).mean);
}

static void put_own(const cp_evaluation *e, cp_json_writer *w) {
    cp_json_put_object(w, "agreement");
    for (int r = 0; r < CP_READINGS; r++) {
        if (!e->measured[r].metrics) continue;
        cp_json_put_object(w, e->measured[r].name);
        for (int k = 0; k <= CP_AGREEMENTS; k++) own_cell(NULL, w, e->measured[r].metrics, k);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

static void put_energies(const cp_evaluation *e, cp_json_writer *w) {
    if (!e->scores.energies) return;
    cp_json_put_object(w, "mean_energy");
    put_mean(w, "data", e->scores.n, e->scores.energies);
    put_mean(w, "chains", e->chains.count, e->chains.at);
    put_mean(w, "noise", e->noise.count, e->noise.at);
    cp_json_put_end(w);
}

static void put_confusion(const cp_evaluation *e, cp_json_writer *w) {
    const cp_metrics *m = e->measured[CP_READING_PLAIN].metrics;
    cp_json_put_array(w, "confusion");
    for (int i = 0; i < m->classes; i++) cp_json_put_integers(w, NULL, m->confusion + i * m->classes, (size_t)m->classes);
    cp_json_put_end(w);
}

static void put_notes(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    const cp_run_model *t = e->trained;
    const cp_images    *images = e->images;
    cp_json_put_array(w, "notes");
    cp_note_put(w, file, "Data: %s, %s; the intervals are bootstrap intervals of 95 %%%s%s.%s", images->name,
                cp_images_origin(images), e->scores.groups ? ", taken over " : "",
                e->scores.groups ? cp_patients_of(e->measured[CP_READING_PLAIN].metrics).s : "",
                cp_patients_few(e->measured[CP_READING_PLAIN].metrics));
    if (e->scores.groups) cp_note_put(w, file, CP_BY_PATIENT);
    cp_note_put(
        w, file,
        "Noise within the bins adds to the ECE of few images, and resampling adds it once more, so that its interval may lie above "
        "it; the debiased ECE is without the noise that is expected.");
    cp_run_model_note(t, w, file);
    if (*images->warning.message) cp_note_put(w, file, "Warning: %s.", images->warning.message);
    if (t->model->about.md5 && strcmp(t->model->about.md5, images->md5) != 0)
        cp_note_put(w, file, "The model was trained on %s; %s is another set.", t->model->about.data, images->name);
    if (t->temperature == 1)
        cp_note_put(w, file, "The predictions in %s are the softmax's, without a temperature.", OWN_PREDICTIONS);
    else
        cp_note_put(w, file,
                    "The predictions in %s are the softmax's, scaled by the temperature %.3f that was fitted on validation.",
                    OWN_PREDICTIONS, t->temperature);
    if (cp_images_as_medmnist(images)) cp_note_put(w, file, "For MedMNIST's evaluator they are in %s.", predictions_name(e).s);
    if (e->scores.classes == 2) cp_note_put(w, file, CP_BRIER_OF_TWO);
    if (t->shape.rank == 3 && (t->shape.dims[0] != images->height || t->shape.dims[1] != images->width))
        cp_note_put(w, file, "The model was trained on images of %d x %d; these are of %d x %d.", t->shape.dims[0],
                    t->shape.dims[1], images->height, images->width);
    if (!cp_run_model_generative(t))
        cp_note_put(w, file, "A %s model has no energies: their histogram%s left out.", t->model->config.head,
                    e->outlier_count ? " and the density's AUROC are" : " is");
    else if (e->no_chains.message[0])
        cp_note_put(w, file, "The histogram of energies is without chains: %s.", e->no_chains.message);
    cp_points_put_notes(e, w, file);
    cp_groups_put_notes(e, w, file);
    cp_outliers_put_notes(e, w, file);
    cp_json_put_end(w);
}

static bool write_result(cp_evaluation *e) {
    cp_json_writer w = {.pretty = true};
    FILE          *file =
        cp_run_begin_result(e->run, &w, "%s on %s, %s split", e->trained->name, e->images->name, cp_images_splits[e->split]);
    cp_images_put(e->images, &w, "data");
    cp_run_model_put(e->trained, &w);
    cp_json_put_string(&w, "split", cp_images_splits[e->split]);
    cp_measured_put(CP_READINGS, e->measured, &w, "metrics");
    put_own(e, &w);
    put_confusion(e, &w);
    put_energies(e, &w);
    cp_json_put_string(&w, "predictions", OWN_PREDICTIONS);
    if (cp_images_as_medmnist(e->images)) cp_json_put_string(&w, "medmnist_predictions", predictions_name(e).s);
    cp_table_conclude(metrics_table(e), &w, "table", file);
    cp_points_put(e, &w, file);
    cp_groups_put(e, &w, file);
    cp_outliers_put(e, &w, file);
    put_notes(e, &w, file);
    cp_json_put_end(&w);
    return cp_run_conclude(e->run, &w);
}

/* ---- the command ---- */

static bool load(cp_evaluation *e, cp_status *status) {
    const cp_options *o = e->options;
    bool              outliers = cp_option_text(o, "ood") || cp_option_flag(o, "corrupt");
    e->split = cp_option_choice(o, "split");
    e->seed = (uint64_t)cp_option_int(o, "seed");
    int weights = cp_option_choice(o, "weights");
    if (weights > CP_WEIGHTS_END) weights = outliers ? CP_WEIGHTS_END : CP_WEIGHTS_SELECTED; /* see CP_OPTION_WEIGHTS */
    e->trained = cp_run_model_open(cp_argument(o, 0), (cp_weights)weights, status);
    e->images = e->trained ? cp_run_model_load(e->trained, cp_argument(o, 1), status) : NULL;
    e->rows = e->images ? cp_images_rows(e->images, e->split, true, status) : NULL;
    return e->rows && cp_points_read(e, status) && cp_groups_read(e, status) && cp_outliers_open(e, status);
}

static void evaluation_free(cp_evaluation *e) {
    cp_points_free(e);
    cp_groups_free(&e->by);
    free(e->posterior);
    for (int i = 0; i < CP_READINGS; i++) cp_metrics_free(e->measured[i].metrics);
    cp_outliers_free(e);
    cp_scores_free(&e->scores);
    free(e->chains.at);
    free(e->noise.at);
    cp_images_free(e->images);
    cp_run_model_free(e->trained);
}

static int run_loaded(cp_evaluation *e) {
    cp_run *run = e->run = cp_run_open(e->options);
    if (!run) return CP_EXIT_FAILED;
    if (run->state == CP_RUN_FINISHED)
        return cp_run_show_unchanged(run, (cp_run_source[]){CP_RUN_MODEL_SOURCES(e->trained),
                                                            {"the data", "data/md5", e->images->md5},
                                                            {"the other data", "ood_md5", e->outliers_md5},
                                                            {0}});
    if (measure(e, &run->status) && cp_run_should_continue(run) && draw_figures(e, &run->status) &&
        write_predictions(e, &run->status))
        write_result(e);
    return cp_run_close(run);
}

static int run_evaluate(const cp_options *o) {
    cp_evaluation e = {.options = o};
    cp_status     status = {0};
    int           code = load(&e, &status) ? run_loaded(&e) : cp_exit_code(o, &status);
    evaluation_free(&e);
    return code;
}

const cp_command cp_command_evaluate = {
    .name = "evaluate",
    .purpose = "measure a trained model on a set of images, with figures and predictions",
    .arguments = "RUN|MODEL.safetensors DATA",
    .details =
        "RUN is the folder of a model trained by couplet train; --weights chooses its weights. DATA is an npz file in "
        "MedMNIST's layout, of which only the split to be measured must exist, or phantom. Images are scaled as those of the "
        "training, whatever their file contains. The new run has the reliability diagram, the confusion matrix, ROC, "
        "precision-recall and risk-coverage curves, the histogram of energies and, as predictions.csv, what couplet predict "
        "writes: for each image its number, its class, the probability of each class and its energy. For MedMNIST's sets there is "
        "also the file that their evaluator reads.",
    .example = "runs/pneumonia pneumoniamnist.npz --ood breastmnist.npz --out runs/pneumonia-test",
    .options = options,
    .run = run_evaluate,
};
