/* Each class against the rest: operating points, precision and recall, curves; and what is gained by abstaining. */
#include "experiments/evaluate/evaluate.h"
#include "experiments/kit/figure/figure.h"
#include "experiments/kit/train/predictions.h"

#include <math.h>
#include <stdlib.h>

/* ---- measuring ---- */

static int first_class(const cp_evaluation *e) { return e->scores.classes == 2 ? 1 : 0; }

static cp_text name_of(const cp_evaluation *e, int c) {
    const char *const *names = e->trained->model->about.class_names;
    return cp_class_text(names ? names : e->images->class_names, names || e->images->class_names ? "" : "class ", c);
}

/* The posterior of class c, and which labels are c. */
static bool take_class(const double *posterior, const cp_scores *s, int c, double **scores, bool **marked) {
    *scores = malloc(((size_t)s->n + 1) * sizeof **scores);
    *marked = malloc(((size_t)s->n + 1) * sizeof **marked);
    for (int i = 0; *scores && *marked && i < s->n; i++) {
        (*scores)[i] = posterior[(size_t)i * (size_t)s->classes + (size_t)c];
        (*marked)[i] = s->labels[i] == c;
    }
    return *scores && *marked;
}

static bool choose_all(cp_evaluation *e, const cp_scores *val, cp_status *status) {
    double *posterior = cp_scores_posterior(val, e->trained->temperature);
    bool    ok = posterior || cp_fail(status, "not enough memory for the validation split");
    for (int c = first_class(e); ok && c < val->classes; c++) {
        double   *scores = NULL;
        bool     *marked = NULL;
        cp_status why = {0};
        ok = take_class(posterior, val, c, &scores, &marked) || cp_fail(status, "not enough memory for the validation split");
        if (ok && !cp_operating_choose(e->rule, val->n, scores, marked, &e->ones[c].point.threshold, &why))
            ok = cp_fail(status, "--at %s, class %d of the validation split: %s", cp_option_text(e->options, "at"), c, why.message);
        free(scores), free(marked);
    }
    free(posterior);
    return ok;
}

bool cp_points_read(cp_evaluation *e, cp_status *status) {
    const char *at = cp_option_text(e->options, "at");
    bool        prevalence = cp_option_given(e->options, "prevalence");
    cp_status   why = {0};
    if (prevalence && !at) return cp_fail(status, "--prevalence is given without --at");
    if (prevalence && e->images->classes > 2)
        return cp_fail(status, "--prevalence is for two classes; %.200s has %d", e->images->name, e->images->classes);
    if (!at) return true;
    if (!cp_operating_read(at, &e->rule, &why)) return cp_fail(status, "--at %s", why.message);
    const cp_split *val = &e->images->set->splits[CP_IMAGES_VAL];
    bool            labeled = val->count && val->labels;
    for (int i = 0; labeled && i < val->count; i++) labeled = val->labels[i] >= 0;
    return labeled || e->rule.kind == CP_AT_THRESHOLD ||
           cp_fail(
               status,
               "%.200s has no validation images with labels, on which --at %s would choose a threshold; evaluate the set of the "
               "training first, and give the threshold that it prints: --at NUMBER",
               e->images->name, at);
}

/* On the validation split, unless they are given. */
static bool choose_thresholds(cp_evaluation *e, cp_tape *tape, cp_status *status) {
    cp_scores val = {0};
    for (int c = 0; c < e->scores.classes; c++) e->ones[c].point.threshold = e->rule.value;
    if (e->rule.kind == CP_AT_THRESHOLD) return true;
    bool ok = cp_scores_make(tape, e->trained->model, &e->images->set->splits[CP_IMAGES_VAL], &val, status) &&
              (val.finite || cp_fail(status, "the model's outputs on the validation split are not finite")) &&
              choose_all(e, &val, status);
    cp_scores_free(&val);
    return ok;
}

static bool measure_abstention(cp_evaluation *e, cp_status *status) {
    const cp_scores *s = &e->scores;
    cp_ranking       r = {.n = s->n, .groups = s->groups, .abstention = true, .seed = e->seed};
    double          *scores = malloc(((size_t)s->n + 1) * sizeof *scores);
    bool            *right = malloc(((size_t)s->n + 1) * sizeof *right), ok = scores && right;
    if (!ok) cp_fail(status, "not enough memory for the order of the answers");
    for (int kind = 0; ok && kind < (s->energies ? CP_ABSTENTIONS : CP_BY_DENSITY); kind++) {
        for (int i = 0; i < s->n; i++) {
            const double *p = e->posterior + (size_t)i * (size_t)s->classes;
            int           best = cp_prediction_next(p, s->classes, -1);
            scores[i] = kind == CP_BY_DENSITY ? -s->energies[i] : p[best];
            right[i] = best == s->labels[i];
        }
        e->abstention[kind] = r;
        e->abstention[kind].scores = scores, e->abstention[kind].marked = right;
        ok = cp_ranking_measure(&e->abstention[kind], status);
    }
    free(scores), free(right);
    return ok;
}

bool cp_points_measure(cp_evaluation *e, cp_tape *tape, cp_status *status) {
    const cp_scores *s = &e->scores;
    const char      *at = cp_option_text(e->options, "at");
    e->ones = calloc((size_t)s->classes, sizeof *e->ones);
    bool ok = e->ones || cp_fail(status, "not enough memory for %d classes", s->classes);
    if (ok && at) ok = choose_thresholds(e, tape, status);
    for (int c = first_class(e); ok && c < s->classes; c++) {
        cp_one *one = &e->ones[c];
        if (!take_class(e->posterior, s, c, &one->scores, &one->marked)) return cp_fail(status, "not enough memory for a class");
        one->ranking = (cp_ranking){.n = s->n,
                                    .scores = one->scores,
                                    .marked = one->marked,
                                    .groups = s->groups,
                                    .resamples = s->classes == 2 ? 0 : -1, /* bands of many curves cannot be distinguished */
                                    .seed = e->seed};
        ok = cp_ranking_measure(&one->ranking, status);
        if (!ok || !at) continue;
        cp_operating *p = &one->point;
        p->n = s->n, p->scores = one->scores, p->positive = one->marked, p->groups = s->groups, p->seed = e->seed;
        p->prevalence = cp_option_real_or(e->options, "prevalence", 0);
        ok = cp_operating_measure(p, status);
    }
    return ok && measure_abstention(e, status);
}

void cp_points_free(cp_evaluation *e) {
    for (int c = 0; e->ones && c < e->scores.classes; c++) free(e->ones[c].scores), free(e->ones[c].marked);
    free(e->ones);
}

/* ---- the figure ---- */

void cp_curve_draw(cp_panel *panel, int color, const char *label, bool band, const cp_estimate curve[CP_CURVE_POINTS]) {
    double x[CP_CURVE_POINTS], y[CP_CURVE_POINTS], low[CP_CURVE_POINTS], high[CP_CURVE_POINTS];
    bool   any = false;
    for (int i = 0; i < CP_CURVE_POINTS; i++) {
        x[i] = (double)i / (CP_CURVE_POINTS - 1);
        y[i] = curve[i].value, low[i] = curve[i].low, high[i] = curve[i].high;
        any = any || !isnan(low[i]);
    }
    if (band && any) cp_panel_band(panel, (cp_style){.color = color}, CP_CURVE_POINTS, x, low, high);
    cp_panel_line(panel, (cp_style){.color = color, .marker = CP_NO_MARK, .label = label}, CP_CURVE_POINTS, x, y, NULL);
}

static void draw_point(cp_panel *panel, int color, double x, double y) {
    cp_panel_points(panel, (cp_style){.color = color, .marker = CP_DIAMOND, .size = 5, .label = "operating point"}, 1, &x, &y);
}

bool cp_points_draw(const cp_evaluation *e, cp_status *status) {
    enum { MAX = 8 }; /* more lines cannot be distinguished */
    static const char *const orders[CP_ABSTENTIONS] = {"by confidence", "by density"};
    const bool               at = cp_option_text(e->options, "at");
    int                      classes = e->scores.classes;
    cp_figure *figure = cp_figure_new((cp_figure_config){.title = "Curves", .columns = 3, .width = 240, .height = 240});
    cp_panel  *roc = cp_figure_panel(
         figure, (cp_panel_config){.title = "ROC", .x_label = "1 - specificity", .y_label = "sensitivity", .x_max = 1, .y_max = 1});
    cp_panel *pr = cp_figure_panel(
        figure,
        (cp_panel_config){.title = "Precision and recall", .x_label = "recall", .y_label = "precision", .x_max = 1, .y_max = 1});
    cp_panel *risk = cp_figure_panel(
        figure, (cp_panel_config){.title = "Risk and coverage", .x_label = "share answered", .y_label = "share wrong", .x_max = 1});
    cp_figure_caption(
        figure,
        "On the %s split, by the scaled posterior: %s against the rest; and the share of wrong answers when only the most "
        "confident (or most usual) images are answered.%s%s",
        cp_images_splits[e->split], classes == 2 ? name_of(e, 1).s : "each class",
        classes == 2 ? " Bands are bootstrap intervals of 95 %, point by point." : "",
        classes > MAX ? " Only the first eight classes are shown." : "");
    for (int c = first_class(e); c < classes && c < MAX; c++) {
        const cp_one *one = &e->ones[c];
        int           color = classes == 2 ? 0 : c;
        cp_curve_draw(roc, color, name_of(e, c).s, true, one->ranking.curves[CP_CURVE_ROC]);
        cp_curve_draw(pr, color, name_of(e, c).s, true, one->ranking.curves[CP_CURVE_PR]);
        if (!at) continue;
        draw_point(roc, color, 1 - one->point.of[CP_SPECIFICITY].value, one->point.of[CP_SENSITIVITY].value);
        draw_point(pr, color, one->point.of[CP_SENSITIVITY].value, one->point.of[CP_PPV].value);
    }
    for (int k = 0; k < CP_ABSTENTIONS; k++)
        if (e->abstention[k].n) cp_curve_draw(risk, k, orders[k], true, e->abstention[k].curves[CP_CURVE_RISK]);
    return cp_figure_finish(figure, cp_run_path(e->run, "curves").s, status);
}

/* ---- the result ---- */

static void put_points(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    int       rates = e->ones[1].point.prevalence > 0 ? CP_RATES : CP_PPV_AT;
    cp_table *table = cp_table_new(2, "operating point", "threshold");
    for (int k = 0; k < rates; k++) {
        char title[60];
        snprintf(title, sizeof title, k < CP_PPV_AT ? "%s, %%" : "%s, %% (prevalence %.4g %%)", cp_rate_titles[k],
                 100 * e->ones[1].point.prevalence);
        cp_table_column(table, title);
    }
    cp_json_put_object(w, "operating_points");
    cp_json_put_string(w, "at", cp_option_text(e->options, "at"));
    if (rates == CP_RATES) cp_json_put_number(w, "prevalence", e->ones[1].point.prevalence);
    cp_json_put_object(w, "of");
    for (int c = first_class(e); c < e->scores.classes; c++) {
        const cp_operating *p = &e->ones[c].point;
        cp_text             name = name_of(e, c);
        cp_json_put_object(w, name.s);
        cp_json_put_number(w, "threshold", p->threshold);
        cp_json_put_integers(w, "counts", (int[]){p->counts[1][1], p->counts[0][1], p->counts[1][0], p->counts[0][0]}, 4);
        cp_table_text(table, "%s", name.s);
        cp_table_text(table, "%.6g", p->threshold);
        for (int k = 0; k < rates; k++) cp_estimate_cell(table, w, cp_rate_names[k], p->of[k], true);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
    cp_json_put_end(w);
    if (file) fputc('\n', file);
    cp_table_conclude(table, w, "operating_points_table", file);
}

/* The average precision of a class: of two, the first is what is not the second. */
static cp_estimate precision_of(const cp_evaluation *e, int c) {
    bool rest = c < first_class(e);
    return e->ones[rest ? 1 : c].ranking.of[rest ? CP_RANKING_AUPR_OUT : CP_RANKING_AUPR];
}

static cp_estimate mean_precision(const cp_evaluation *e) {
    double sum = 0, count = 0;
    for (int c = 0; c < e->scores.classes; c++) {
        double one = precision_of(e, c).value;
        if (!isnan(one)) sum += one, count++;
    }
    return (cp_estimate){count > 0 ? sum / count : NAN, NAN, NAN};
}

static void put_classes(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    static const char *const names[CP_CLASS_METRICS] = {"recall", "precision", "f1", "auc"};
    const cp_metrics        *m = e->measured[CP_READING_PLAIN].metrics;
    cp_table *table = cp_table_new(7, "class", "images", "recall, %", "precision, %", "F1, %", "AUC", "average precision");
    cp_json_put_object(w, "classes");
    for (int c = 0; c <= m->classes; c++) {
        const cp_estimate *of = m->by_class + CP_CLASS_METRICS * c;
        int                n = 0, last = c == m->classes;
        for (int k = 0; k < m->classes; k++) n += last ? 0 : m->confusion[c * m->classes + k];
        cp_text name = name_of(e, c % m->classes);
        cp_json_put_object(w, last ? "mean of the classes" : name.s);
        cp_table_text(table, "%s", last ? "mean of the classes" : name.s);
        cp_table_text(table, "%d", last ? m->n : n);
        cp_json_put_integer(w, "n", last ? m->n : n);
        for (int k = 0; k < CP_CLASS_METRICS; k++) cp_estimate_cell(table, w, names[k], of[k], k != CP_CLASS_AUC);
        cp_estimate_cell(table, w, "average_precision", last ? mean_precision(e) : precision_of(e, c), false);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
    if (file) fputc('\n', file);
    cp_table_conclude(table, w, "classes_table", file);
}

static void put_abstention(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    static const char *const names[CP_ABSTENTIONS] = {"confidence", "density"};
    cp_table *table = cp_table_new(3, "answered first by", "area under risk and coverage, %", "accuracy at 80 % coverage, %");
    cp_json_put_object(w, "abstention");
    for (int k = 0; k < CP_ABSTENTIONS; k++) {
        const cp_ranking *r = &e->abstention[k];
        if (!r->n) continue;
        cp_json_put_object(w, names[k]);
        cp_table_text(table, "%s", names[k]);
        for (int i = CP_RANKING_AURC; i <= CP_RANKING_COVERED; i++) cp_estimate_cell(table, w, cp_ranking_names[i], r->of[i], true);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
    if (file) fputc('\n', file);
    cp_table_conclude(table, w, "abstention_table", file);
}

void cp_points_put(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    put_classes(e, w, file);
    if (cp_option_text(e->options, "at")) put_points(e, w, file);
    put_abstention(e, w, file);
}

void cp_points_put_notes(const cp_evaluation *e, cp_json_writer *w, FILE *file) {
    const char *at = cp_option_text(e->options, "at");
    if (at && e->rule.kind == CP_AT_THRESHOLD)
        cp_note_put(w, file, "The threshold %s of the posterior was given.", at);
    else if (at)
        cp_note_put(w, file,
                    "Thresholds: %s on the %d images of the validation split; the table shows what they do on the %s split.%s", at,
                    e->images->set->splits[CP_IMAGES_VAL].count, cp_images_splits[e->split],
                    e->split == CP_IMAGES_VAL || e->split == CP_IMAGES_SPLITS
                        ? " Some of these are the same images, so the table is too good."
                        : "");
    if (at)
        cp_note_put(w, file,
                    e->scores.groups ? "The intervals of the rates are taken over patients."
                                     : "The intervals of sensitivity, specificity, PPV and NPV are Wilson's; the others are "
                                       "bootstrap intervals.");
    cp_note_put(
        w, file,
        "Abstention: images are answered from the highest confidence%s down; the area is the mean share of wrong answers over "
        "all coverages, lower is better.",
        e->scores.energies ? " (or density)" : "");
}
