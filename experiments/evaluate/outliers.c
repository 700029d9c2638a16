/* Outlier detection. */
#include "experiments/kit/metrics/outliers.h"
#include "experiments/evaluate/evaluate.h"
#include "experiments/kit/train/predictions.h"
#include "models/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REFERENCE = 5000 }; /* training images whose features are compared with, at most */

static const struct {
    const char *name, *title, *meaning;
} kinds[CP_OUTLIERS] = {{"posterior", "maximum posterior", "max p(c|x)"},
                        {"energy", "energy of the logits", "logsumexp of the logits"},
                        {"density", "density", "-E(x)"},
                        {"mahalanobis", "Mahalanobis", "- distance of the features to the nearest class"},
                        {"neighbors", "neighbors", "- distance of the features to the 50th neighbor"}};

static bool no_memory(cp_status *status) { return cp_fail(status, "not enough memory for the outliers"); }

/* ---- which sets ---- */

static bool open_set(cp_evaluation *e, const char *path, cp_status *status) {
    cp_outlier_set *s = &e->outliers[e->outlier_count++];
    s->images = cp_images_load_for(path, e->trained->model, status);
    s->rows = s->images ? cp_images_rows(s->images, e->split, false, status) : NULL;
    if (!s->rows) return false;
    s->n = s->rows->count;
    snprintf(s->name.s, sizeof s->name.s, "%s", s->images->name);
    strcat(e->outliers_md5, s->images->md5);
    cp_shape here = e->images->set->shape, there = s->images->set->shape;
    return cp_shapes_equal(here, there) ||
           cp_fail(status, "--ood %.200s has inputs of shape %s, %.200s of %s; both must be the same, and nothing is resized here",
                   s->name.s, cp_dims_text(there).s, e->images->name, cp_dims_text(here).s);
}

bool cp_outliers_open(cp_evaluation *e, cp_status *status) {
    const char *list = cp_option_text(e->options, "ood");
    bool        copies = cp_option_flag(e->options, "corrupt"), ok = true;
    size_t      sets = list ? 1 : 0;
    for (const char *c = list; c && *c; c++) sets += *c == ',';
    if (copies && e->images->set->shape.rank != 3) return cp_fail(status, "--corrupt is for images, not for rows of numbers");
    e->outliers = calloc(sets + CP_CORRUPTIONS * CP_STRENGTHS, sizeof *e->outliers);
    e->outliers_md5 = calloc(sets + 1, sizeof e->images->md5);
    char *words = strdup(list ? list : ""), *rest = NULL;
    if (!e->outliers || !e->outliers_md5 || !words) ok = no_memory(status);
    for (char *path = ok ? strtok_r(words, ",", &rest) : NULL; ok && path; path = strtok_r(NULL, ",", &rest))
        ok = open_set(e, path, status);
    if (ok && list && !e->outlier_count) ok = cp_fail(status, "--ood %.100s names no set", list);
    for (int i = 0; ok && copies && i < CP_CORRUPTIONS * CP_STRENGTHS; i++) {
        cp_outlier_set *s = &e->outliers[e->outlier_count++];
        s->corruption = (cp_corruption)(i / CP_STRENGTHS), s->strength = i % CP_STRENGTHS + 1, s->n = e->rows->count;
        snprintf(s->name.s, sizeof s->name.s, "%s %d", cp_corruption_names[s->corruption], s->strength);
    }
    free(words);
    return ok;
}

void cp_outliers_free(cp_evaluation *e) {
    for (int i = 0; i < e->outlier_count; i++) {
        for (int k = 0; k < CP_OUTLIERS; k++) free(e->outliers[i].scores[k]);
        cp_images_free(e->outliers[i].images);
    }
    for (int k = 0; k < CP_OUTLIERS; k++) free(e->usual[k]);
    free(e->outliers), free(e->outliers_md5);
}

/* ---- scores ---- */

/* The classes that the softmax gives. */
static int best_of(const cp_scores *s, int i) {
    return cp_prediction_next(s->logits + (size_t)i * (size_t)s->classes, s->classes, -1);
}

static bool make_reference(cp_evaluation *e, cp_tape *tape, cp_reference *r, cp_status *status) {
    cp_images *images = cp_run_model_images(e->trained, &e->no_reference);
    if (!images) return true;
    cp_split  train = images->set->splits[CP_IMAGES_TRAIN];
    cp_scores scores = {0};
    size_t    d = (size_t)e->trained->model->head->features, n = 0;
    int      *classes = malloc(((size_t)train.count + 1) * sizeof *classes);
    bool      ok = classes ? cp_scores_make_features(tape, e->trained->model, &train, &scores, status) : no_memory(status);
    for (int i = 0; ok && i < train.count; i++) {
        if (train.count > REFERENCE && (int64_t)n * train.count / REFERENCE != i) continue; /* evenly spread */
        memmove(scores.features + n * d, scores.features + (size_t)i * d, d * sizeof *scores.features);
        classes[n++] = best_of(&scores, i);
    }
    ok = ok && (scores.finite || cp_fail(status, "the model's features of its training images are not finite")) &&
         cp_reference_make(r, (int)n, (int)d, scores.features, scores.classes, classes, status);
    cp_scores_free(&scores);
    cp_images_free(images);
    free(classes);
    return ok;
}

/* The scores of a split, an array each. */
static bool score(const cp_evaluation *e, cp_tape *tape, const cp_reference *r, const cp_split *split, double *to[CP_OUTLIERS],
                  double *accuracy, cp_status *status) {
    cp_scores s = {0};
    size_t    classes = (size_t)e->scores.classes;
    double   *row = malloc(classes * sizeof *row);
    bool      density = e->trained->model->head->kind->class_energy, ok = row || no_memory(status);
    ok = ok && (r->n ? cp_scores_make_features : cp_scores_make)(tape, e->trained->model, split, &s, status) &&
         (s.finite || cp_fail(status, "the model's outputs on outliers are not finite"));
    for (int k = 0; ok && k < CP_OUTLIERS; k++)
        if (k >= CP_OUTLIER_MAHALANOBIS ? r->n > 0 : k != CP_OUTLIER_DENSITY || (density && s.energies))
            ok = (to[k] = malloc((size_t)s.n * sizeof **to)) || no_memory(status);
    for (int i = 0; ok && i < s.n; i++) {
        *accuracy += split->labels && best_of(&s, i) == split->labels[i] ? 1.0 / s.n : 0;
        memcpy(row, s.logits + (size_t)i * classes, classes * sizeof *row);
        double largest = row[best_of(&s, i)];
        to[CP_OUTLIER_ENERGY][i] = largest + cp_softmax_row(row, s.classes, 1);
        memcpy(row, s.logits + (size_t)i * classes, classes * sizeof *row);
        to[CP_OUTLIER_POSTERIOR][i] = exp(-cp_softmax_row(row, s.classes, e->trained->temperature));
        if (to[CP_OUTLIER_DENSITY]) to[CP_OUTLIER_DENSITY][i] = -s.energies[i];
    }
    if (ok && r->n)
        ok = cp_reference_scores(r, s.n, s.features, to[CP_OUTLIER_MAHALANOBIS], to[CP_OUTLIER_NEIGHBORS]) || no_memory(status);
    cp_scores_free(&s);
    free(row);
    return ok;
}

static bool score_copies(const cp_evaluation *e, cp_tape *tape, const cp_reference *r, cp_outlier_set *s, cp_status *status) {
    size_t   values = e->images->set->values;
    cp_real *pixels = malloc(((size_t)s->n + 1) * values * sizeof *pixels), *one = pixels ? pixels + (size_t)s->n * values : NULL;
    cp_rng   rng = cp_rng_named(e->seed, s->name.s);
    cp_dataset *set =
        cp_dataset_new((cp_dataset_config){.dtype = CP_REAL_DTYPE, .shape = e->images->set->shape, .classes = e->scores.classes});
    bool ok = (pixels && set) || no_memory(status);
    for (int i = 0; ok && i < s->n; i++) {
        cp_split_read(e->rows, &i, 1, one);
        cp_corrupt(s->corruption, s->strength, one, e->images->set->shape, &rng, pixels + (size_t)i * values);
    }
    ok = ok && cp_dataset_add(set, (cp_split_config){"copies", s->n, pixels, e->rows->labels, .owned = false}, status) &&
         score(e, tape, r, &set->splits[0], s->scores, &s->accuracy, status);
    cp_dataset_free(set);
    free(pixels);
    return ok;
}

/* ---- how well the scores distinguish ---- */

/* Numbers the patients from *count on and adds their number, *own, to it; an image of an unknown patient is a group of its own. */
static bool number_patients(const int *groups, int n, int *to, int *count, int *own) {
    int *number = groups ? cp_groups_number(groups, n, own) : NULL;
    if (!groups) *own = n;
    for (int i = 0; i < n; i++) to[i] = *count + (number ? number[i] : i);
    *count += *own;
    free(number);
    return number || !groups;
}

static const int *patients_of(const cp_evaluation *e, const cp_outlier_set *s) {
    return s->images ? s->images->groups[e->split] : e->scores.groups;
}

static bool rank(const cp_evaluation *e, cp_outlier_set *s, cp_status *status) {
    int     here = e->scores.n, n = here + s->n, groups = 0, ours = 0, theirs = 0;
    double *all = malloc((size_t)n * sizeof *all);
    bool   *marked = malloc((size_t)n * sizeof *marked), grouped = e->scores.groups || patients_of(e, s);
    int    *patients = malloc((size_t)n * sizeof *patients);
    bool    ok = (all && marked && patients && number_patients(e->scores.groups, here, patients, &groups, &ours) &&
               number_patients(patients_of(e, s), s->n, patients + here, &groups, &theirs)) ||
              no_memory(status);
    for (int k = 0; ok && k < CP_OUTLIERS; k++) {
        if (!s->scores[k]) continue;
        for (int i = 0; i < n; i++) all[i] = i < here ? e->usual[k][i] : s->scores[k][i - here], marked[i] = i < here;
        s->against[k] = (cp_ranking){.n = n,
                                     .scores = all,
                                     .marked = marked,
                                     .groups = grouped ? patients : NULL,
                                     .resamples = s->images && ours > 1 && theirs > 1 ? 0 : -1, /* one patient gives no interval */
                                     .seed = e->seed};
        ok = cp_ranking_measure(&s->against[k], status);
    }
    free(all), free(marked), free(patients);
    return ok;
}

bool cp_outliers_measure(cp_evaluation *e, cp_tape *tape, cp_status *status) {
    cp_reference r = {0};
    double       accuracy = 0;
    if (!e->outlier_count) return true;
    bool ok = make_reference(e, tape, &r, status) && score(e, tape, &r, e->rows, e->usual, &accuracy, status);
    for (int i = 0; ok && i < e->outlier_count; i++) {
        cp_outlier_set *s = &e->outliers[i];
        ok = cp_run_should_continue(e->run) &&
             (s->images ? score(e, tape, &r, s->rows, s->scores, &s->accuracy, status) : score_copies(e, tape, &r, s, status)) &&
             rank(e, s, status);
    }
    cp_reference_free(&r);
    return ok;
}

/* ---- figures: the ROC curves of each set, and the histograms of each score ---- */

static bool draw_curves(const cp_evaluation *e, int sets, cp_status *status) {
    cp_figure *figure = cp_figure_new((cp_figure_config){.title = "Outlier detection", .width = 240, .height = 240});
    cp_figure_caption(figure, "The share of %s's images whose score reaches a threshold, over the share of the outliers that do.",
                      e->images->name);
    for (int i = 0; i < sets; i++) {
        const cp_outlier_set *s = &e->outliers[i];
        cp_panel             *panel = cp_figure_panel(
                        figure, (cp_panel_config){.title = s->name.s, .x_label = "outliers", .y_label = "images", .x_max = 1, .y_max = 1});
        for (int k = 0; k < CP_OUTLIERS; k++)
            if (s->scores[k]) cp_curve_draw(panel, k, kinds[k].title, false, s->against[k].curves[CP_CURVE_ROC]);
    }
    return cp_figure_finish(figure, cp_run_path(e->run, "outliers").s, status);
}

static bool draw_scores(const cp_evaluation *e, int sets, cp_status *status) {
    cp_figure *figure = cp_figure_new((cp_figure_config){.title = "Scores of outliers", .width = 240, .height = 200});
    cp_figure_caption(figure, "Scores that should be higher for images of %s than for outliers.", e->images->name);
    for (int k = 0; k < CP_OUTLIERS; k++) {
        cp_bins bins = {.count = 30, .share = true};
        if (!e->usual[k]) continue;
        cp_panel *panel =
            cp_figure_panel(figure, (cp_panel_config){.title = kinds[k].title, .x_label = kinds[k].meaning, .y_label = "share"});
        bins = cp_bins_for(bins, e->scores.n, e->usual[k]);
        for (int i = 0; i < sets; i++) bins = cp_bins_for(bins, e->outliers[i].n, e->outliers[i].scores[k]);
        for (int i = -1; i < sets; i++)
            cp_panel_histogram(
                panel, (cp_style){.color = i + 1, .opacity = 0.45, .label = i < 0 ? e->images->name : e->outliers[i].name.s},
                i < 0 ? e->scores.n : e->outliers[i].n, i < 0 ? e->usual[k] : e->outliers[i].scores[k], bins);
    }
    return cp_figure_finish(figure, cp_run_path(e->run, "outlier-scores").s, status);
}

bool cp_outliers_draw(const cp_evaluation *e, cp_status *status) {
    int sets = 0;
    while (sets < e->outlier_count && e->outliers[sets].images) sets++;
    return !sets || (draw_curves(e, sets, status) && draw_scores(e, sets, status));
}

/* ---- the result ---- */

static void put_set(const cp_outlier_set *s, cp_json_writer *w, cp_table *table) {
    cp_json_put_object(w, NULL);
    cp_json_put_string(w, "name", s->name.s);
    if (s->images) cp_images_put(s->images, w, "data");
    if (!s->images) cp_json_put_number(w, "accuracy", 100 * s->accuracy);
    if (!s->images) cp_table_text(table, "%s", s->name.s), cp_table_number(table, 100 * s->accuracy, 1);
    for (int k = 0; k < CP_OUTLIERS; k++) {
        if (!s->scores[k]) continue;
        const cp_estimate *of = s->against[k].of;
        cp_json_put_object(w, kinds[k].name);
        if (s->images) cp_table_text(table, "%s", s->name.s), cp_table_text(table, "%s", kinds[k].title);
        for (int i = CP_RANKING_AUROC; i <= CP_RANKING_FPR95; i++) /* of a copy the table has the AUROC only */
            cp_estimate_cell(s->images || i == CP_RANKING_AUROC ? table : NULL, w, cp_ranking_names[i], of[i], false);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

void cp_outliers_put(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    if (!e->outlier_count) return;
    cp_table *sets = cp_table_new(6, "outliers", "score", "AUROC", "AUPR in", "AUPR out", "FPR at 95 %");
    cp_table *copies = cp_table_new(2, "AUROC against copies", "accuracy, %");
    bool      any[2] = {false};
    for (int k = 0; k < CP_OUTLIERS; k++)
        if (e->usual[k]) cp_table_column(copies, kinds[k].title);
    cp_json_put_string(w, "ood_md5", e->outliers_md5);
    cp_json_put_array(w, "ood");
    for (int i = 0; i < e->outlier_count; i++) {
        const cp_outlier_set *s = &e->outliers[i];
        any[!s->images] = true;
        put_set(s, w, s->images ? sets : copies);
    }
    cp_json_put_end(w);
    for (int k = 0; k < 2; k++) {
        if (any[k] && file) fputc('\n', file);
        if (any[k])
            cp_table_conclude(k ? copies : sets, w, k ? "corruption_table" : "ood_table", file);
        else
            cp_table_free(k ? copies : sets);
    }
}

void cp_outliers_put_notes(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    bool patients = e->scores.groups;
    if (!e->outlier_count) return;
    cp_note_put(
        w, file,
        "Outliers: the %d images of %s (%s) against other sets. AUROC is the probability that an image of %s has the higher "
        "score than an outlier: 1 separates them, 0.5 is chance, below 0.5 outliers have the higher scores. AUPR in and out: "
        "average precision of finding the images, and of finding the outliers, which depends on their numbers; FPR: the share of "
        "outliers that pass when 95 %% of the images do.",
        e->scores.n, e->images->name, cp_images_splits[e->split], e->images->name);
    for (int i = 0; i < e->outlier_count; i++) {
        const cp_images *images = e->outliers[i].images;
        patients = patients || patients_of(e, &e->outliers[i]);
        if (images && *images->warning.message) cp_note_put(w, file, "Warning: %s.", images->warning.message);
    }
    if (patients) cp_note_put(w, file, "The resamples behind the intervals of AUROC keep the images of a patient together.");
    if (e->no_reference.message[0])
        cp_note_put(w, file, "The scores of features are left out: %s.", e->no_reference.message);
    else
        cp_note_put(w, file,
                    "Mahalanobis and neighbors use the features of at most %d images of the training, with the classes that the "
                    "softmax gives them.",
                    REFERENCE);
    if (e->scores.energies && !e->usual[CP_OUTLIER_DENSITY])
        cp_note_put(w, file, "The density of a %s model is the energy of its logits: it has no AUROC of its own.",
                    e->trained->model->config.head);
}
