/* The results of a training: result.json, tables and figures. */
#include "experiments/kit/data/sheet.h"
#include "experiments/kit/figure/figure.h"
#include "experiments/kit/metrics/calibration.h"
#include "experiments/kit/train/scores.h"
#include "experiments/kit/train/train.h"
#include "experiments/kit/train/trainer_parts.h"

#include <stdlib.h>
#include <string.h>

/* The weights and posteriors that are measured. */
typedef enum view { END, SELECTED, SCALED, BAYES, FIRST, VIEWS } view;
static const char *const view_names[VIEWS] = {"end", "selected", "scaled", "bayes", "first_stage"};
static const char *const view_titles[VIEWS] = {"end of training", "selected", "selected, scaled", "selected, Gaussians",
                                               "first stage"};

enum { VAL, TEST, MEASURED };
static const char *const measured_names[MEASURED] = {"validation", "test"};
static const int         measured_splits[MEASURED] = {CP_IMAGES_VAL, CP_IMAGES_TEST};

typedef struct findings {
    cp_measured    measured[MEASURED][VIEWS]; /* metrics NULL: bayes of a head without, a stage that there was not */
    cp_temperature fitted;                    /* on validation */
    const char    *not_finite;                /* the outputs on this split are not; NULL: all are */
} findings;

/* ---- measuring ---- */

static bool measure_scores(cp_trainer *t, findings *f, int s, view v, const cp_scores *scores) {
    cp_predictions predictions = cp_scores_predictions(scores, v == BAYES, v == SCALED ? f->fitted.temperature : 1);
    cp_metrics    *metrics = cp_metrics_new(&predictions, (cp_metrics_config){.seed = t->config.seed}, &t->run->status);
    f->measured[s][v] = (cp_measured){view_names[v], view_titles[v], metrics};
    return metrics != NULL;
}

static bool measure_split(cp_trainer *t, findings *f, const cp_model *model, view v, int s) {
    cp_scores  scores;
    cp_status *status = &t->run->status;
    if (!cp_scores_make(t->tape, model, &t->images->set->splits[measured_splits[s]], &scores, status)) return false;
    scores.groups = t->images->groups[measured_splits[s]];
    bool ok = scores.finite;
    if (!ok) f->not_finite = measured_names[s];
    if (ok && v == SELECTED && s == VAL) {
        cp_predictions plain = cp_scores_predictions(&scores, false, 1);
        ok = cp_temperature_fit(&plain, &f->fitted, status);
    }
    ok = ok && measure_scores(t, f, s, v, &scores);
    if (v == SELECTED) {
        ok = ok && measure_scores(t, f, s, SCALED, &scores);
        if (model->head->kind->class_energy) ok = ok && measure_scores(t, f, s, BAYES, &scores);
    }
    cp_scores_free(&scores);
    return ok;
}

static bool measure_model(cp_trainer *t, findings *f, const cp_model *model, view v) {
    return model && measure_split(t, f, model, v, VAL) && measure_split(t, f, model, v, TEST);
}

static bool measure_file(cp_trainer *t, findings *f, const char *name, view v) {
    cp_model *model = cp_model_load(cp_trainer_file(t, name).s, &t->run->status);
    bool      ok = measure_model(t, f, model, v);
    cp_model_free(model);
    return ok;
}

/* The averaged weights at the end are those of the trainer; the selected ones are in a file, unless they are the same. */
static bool measure(cp_trainer *t, findings *f) {
    cp_ema_swap(t->ema);
    bool ok = measure_model(t, f, t->model, END) && (t->selected == t->step ? measure_model(t, f, t->model, SELECTED)
                                                                            : measure_file(t, f, CP_TRAINER_SELECTED, SELECTED));
    cp_ema_swap(t->ema);
    return ok && (!t->config.pretrain || measure_file(t, f, CP_TRAINER_PRETRAINED, FIRST));
}

static void findings_free(findings *f) {
    for (int s = 0; s < MEASURED; s++)
        for (int v = 0; v < VIEWS; v++) cp_metrics_free(f->measured[s][v].metrics);
}

/* ---- figures ---- */

static void draw_trace(cp_panel *panel, const double *traces, int rows, cp_trace which, int color, const char *label) {
    double *x = malloc((size_t)(rows + 1) * sizeof *x), *y = malloc((size_t)(rows + 1) * sizeof *y);
    for (int i = 0; x && y && i < rows; i++)
        x[i] = traces[i * CP_TRACES + CP_TRACE_STEP], y[i] = traces[i * CP_TRACES + (int)which];
    if (x && y) cp_panel_line(panel, (cp_style){.color = color, .marker = CP_NO_MARK, .label = label}, rows, x, y, NULL);
    free(x);
    free(y);
}

static bool draw_curves(cp_trainer *t) {
    int           rows = (int)t->trace_count;
    const double *traces = t->traces;
    cp_figure    *figure = cp_figure_new(
           (cp_figure_config){.title = "The training",
                              .caption = "Averaged weights on the validation split; the dashed line is the step whose weights were "
                                            "selected. Losses, gap and slopes are means over the steps between two validations.",
                              .columns = 2});
    cp_panel *accuracy = cp_figure_panel(figure, (cp_panel_config){.x_label = "step", .y_label = "validation, %"});
    draw_trace(accuracy, traces, rows, CP_TRACE_ACCURACY, 0, "accuracy");
    draw_trace(accuracy, traces, rows, CP_TRACE_ECE, 1, "ECE");
    cp_panel_vertical(accuracy, (cp_style){.color = 6, .dash = CP_DASHED, .label = "selected step"}, (double)t->selected);
    cp_panel *loss = cp_figure_panel(figure, (cp_panel_config){.x_label = "step", .y_label = "NLL, nats"});
    draw_trace(loss, traces, rows, CP_TRACE_NLL, 2, "validation");
    draw_trace(loss, traces, rows, CP_TRACE_SCALED_NLL, 3, "validation, scaled");
    draw_trace(loss, traces, rows, CP_TRACE_CROSS_ENTROPY, 4, "labeled images");
    if (t->replay) {
        cp_panel *gap = cp_figure_panel(figure, (cp_panel_config){.x_label = "step", .y_label = "E(data) - E(samples), nats"});
        draw_trace(gap, traces, rows, CP_TRACE_GAP, 5, "energy gap");
        cp_panel *slope = cp_figure_panel(
            figure, (cp_panel_config){.x_label = "step", .y_label = "|dE/dx|\xC2\xB2, nats\xC2\xB2", .y_log = true});
        draw_trace(slope, traces, rows, CP_TRACE_SLOPE_DATA, 7, "images");
        draw_trace(slope, traces, rows, CP_TRACE_SLOPE_SAMPLES, 8, "samples");
    }
    return cp_figure_finish(figure, cp_run_path(t->run, "training").s, &t->run->status);
}

/* Chains of the replay buffer, spread over its entries. */
static bool draw_chains(cp_trainer *t) {
    enum { ROWS = 6, COLUMNS = 12 };
    const cp_replay *replay = t->replay;
    int              filled = replay ? cp_replay_filled(replay) : 0, shown = 0;
    if (!filled || !t->images->height) return true; /* tables have no pictures */
    int       wanted = filled < ROWS * COLUMNS ? filled : ROWS * COLUMNS;
    cp_shape  shape = t->images->set->shape;
    cp_sheet *sheet = cp_sheet_new((wanted + COLUMNS - 1) / COLUMNS, COLUMNS, shape);
    cp_real  *pixels = malloc(t->images->set->values * sizeof *pixels);
    for (int entry = 0, n = 0; sheet && pixels && shown < wanted && entry < cp_replay_capacity(replay); entry++) {
        if (!cp_replay_sample(replay, entry, pixels)) continue;
        if ((int64_t)n++ * wanted / filled < shown) continue;
        cp_sheet_put(sheet, shown / COLUMNS, shown % COLUMNS, pixels);
        if (shown % COLUMNS == 0) cp_sheet_name_row(sheet, shown / COLUMNS, "%d", entry);
        shown++;
    }
    bool ok =
        sheet && pixels
            ? cp_sheet_save(
                  sheet, cp_run_path(t->run, "chains").s,
                  "Chains of the replay buffer at the end of the training: what the model takes for images. Beside each row is the "
                  "number of its first chain.",
                  &t->run->status)
            : cp_fail(&t->run->status, "not enough memory for a picture of the chains");
    free(pixels);
    cp_sheet_free(sheet);
    return ok;
}

/* ---- texts ---- */

typedef struct notes {
    char at[5][480];
    int  count;
} notes;

/* "the 44 patients of the test split and the 22 patients of the validation split", for the splits that have any; otherwise empty. */
static void name_patients(const findings *f, char *text, size_t size) {
    size_t length = 0;
    *text = '\0';
    for (int s = MEASURED - 1; s >= 0; s--) {
        const cp_metrics *m = f->measured[s][SELECTED].metrics;
        if (m->grouped)
            length += (size_t)snprintf(text + length, size - length, "%sthe %s of the %s split", length ? " and " : "",
                                       cp_patients_of(m).s, measured_names[s]);
    }
}

/* `f` is NULL for a training that diverged. */
static notes make_notes(const cp_trainer *t, const findings *f) {
    const cp_guard *guard = &t->guard;
    notes           n = {.count = 1};
    char            patients[160] = "";
    if (f) name_patients(f, patients, sizeof patients);
    snprintf(n.at[0], sizeof n.at[0], "Data: %s, %s.", t->images->name, cp_images_origin(t->images));
    if (*patients)
        snprintf(n.at[n.count++], sizeof n.at[0], CP_BY_PATIENT " Those in result.json are taken over %s.%s", patients,
                 cp_patients_few(f->measured[MEASURED - 1][SELECTED].metrics));
    if (guard->event_count)
        snprintf(n.at[n.count++], sizeof n.at[0], "The divergence guard left out %lld step%s and rolled back %lld time%s.",
                 (long long)guard->skipped, guard->skipped == 1 ? "" : "s", (long long)guard->rolled_back,
                 guard->rolled_back == 1 ? "" : "s");
    if (f && f->fitted.at_bound)
        snprintf(n.at[n.count++], sizeof n.at[0],
                 "The temperature %g is at the bound of what is tried: the validation images, which are %s, do not determine a "
                 "better one.",
                 f->fitted.temperature,
                 f->fitted.temperature < 1 ? "all classified correctly" : "predicted with an NLL worse than guessing");
    if (!f)
        snprintf(n.at[n.count++], sizeof n.at[0],
                 "The training diverged and was given up; there is nothing to report of its model.");
    return n;
}

/* The values that were chosen for "auto". */
static void put_settings(const cp_trainer *t, cp_json_writer *w) {
    const cp_trainer_config *c = &t->config;
    cp_json_put_object(w, "settings");
    cp_json_put_integer(w, "steps", c->steps);
    cp_json_put_integer(w, "batch", c->batch);
    cp_json_put_integer(w, "shift", c->augment.shift);
    cp_json_put_string(w, "flip", c->augment.flip_y ? "xy" : c->augment.flip_x ? "x" : "none");
    cp_json_put_number(w, "jitter", c->augment.contrast);
    if (t->replay) {
        cp_json_put_number(w, "energy", c->objective.energy);
        cp_json_put_number(w, "slope", c->objective.slope);
    }
    if (c->pretrain) cp_json_put_integer(w, "first_stage", c->pretrain);
    cp_json_put_end(w);
}

static void put_lambda(const cp_trainer *t, cp_json_writer *w) {
    if (!cp_method_reads(t->config.method, "lambda")) return;
    cp_json_put_number(w, "lambda", t->config.objective.lambda);
    cp_json_put_bool(w, "lambda_chosen", t->tried);
    if (!t->tried) return;
    cp_json_put_array(w, "lambdas");
    for (int i = 0; i < CP_TRAIN_LAMBDAS; i++) {
        cp_json_put_object(w, NULL);
        cp_json_put_number(w, "lambda", cp_train_lambdas[i]);
        cp_json_put_number(w, "nll", t->tried[i]);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

static FILE *begin_result(const cp_trainer *t, const notes *notes, cp_json_writer *w) {
    const cp_trainer_config *c = &t->config;
    bool                     drawn = c->labels && !c->labeled_rows;
    FILE                    *file =
        cp_run_begin_result(t->run, w, "%s: %s, %d label%s%s", t->images->name, cp_method_title(c->method),
                            drawn ? c->labels : t->drawn_count, drawn && c->labels == 1 ? "" : "s", drawn ? " a class" : "");
    cp_json_put_array(w, "notes");
    for (int i = 0; i < notes->count; i++) cp_json_put_string(w, NULL, notes->at[i]);
    cp_json_put_end(w);
    cp_images_put(t->images, w, "data");
    cp_json_put_string(w, "method", c->method->name);
    cp_json_put_integer(w, "parameters", (int64_t)cp_params_size(t->model->params));
    cp_json_put_integers(w, "labeled", t->drawn, (size_t)t->drawn_count);
    put_settings(t, w);
    put_lambda(t, w);
    cp_guard_put(&t->guard, w, "guard");
    return file;
}

/* Of a training that diverged, without the figures of merit. */
static void put_trace(const cp_trainer *t, cp_json_writer *w) {
    cp_json_put_object(w, "trace");
    for (int k = 0; k < (t->end == CP_TRAINER_DIVERGED ? CP_TRACE_ACCURACY : CP_TRACES); k++) {
        if (k == CP_TRACE_GUESSED && t->config.objective.pseudo == 0) continue;
        cp_json_put_array(w, cp_trace_names[k]);
        for (int i = 0; i < t->trace_count; i++) cp_json_put_number(w, NULL, t->traces[i * CP_TRACES + k]);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

static void put_tables(const findings *f, cp_json_writer *w, FILE *file) {
    static const char *const keys[MEASURED] = {"validation_table", "table"};
    for (int s = MEASURED - 1; s >= 0; s--) {
        const cp_measured *m = f->measured[s];
        const cp_measured  shown[VIEWS] = {m[SELECTED], m[SCALED], m[BAYES], m[END], m[FIRST]}; /* what counts comes first */
        cp_table          *table = cp_measured_table(VIEWS, shown, measured_names[s]);
        cp_table_put(table, w, keys[s]);
        if (file) {
            if (s < MEASURED - 1) fputc('\n', file);
            cp_table_print(table, file);
        }
        cp_table_free(table);
    }
    if (file && f->measured[TEST][END].metrics->classes == 2) fputs("\n" CP_BRIER_OF_TWO "\n", file);
}

/* ---- the end ---- */

static bool write_result(cp_trainer *t, const findings *f) {
    cp_json_writer w = {.pretty = true};
    notes          notes = make_notes(t, f);
    FILE          *file = begin_result(t, &notes, &w);
    cp_json_put_integer(&w, "selected_step", t->selected);
    cp_json_put_number(&w, "temperature", f->fitted.temperature);
    for (int s = 0; s < MEASURED; s++) cp_measured_put(VIEWS, f->measured[s], &w, measured_names[s]);
    put_trace(t, &w);
    put_tables(f, &w, file);
    cp_json_put_end(&w);
    for (int i = 0; file && i < notes.count; i++) fprintf(file, "%s%s\n", i ? "" : "\n", notes.at[i]);
    return cp_run_conclude(t->run, &w);
}

static bool report_divergence(cp_trainer *t, const char *reason) {
    cp_run        *run = t->run;
    notes          notes = make_notes(t, NULL);
    cp_json_writer w = {.pretty = true};
    t->end = CP_TRAINER_DIVERGED;
    begin_result(t, &notes, &w);
    cp_json_put_bool(&w, "diverged", true);
    cp_json_put_string(&w, "reason", reason);
    put_trace(t, &w);
    cp_json_put_end(&w);
    if (!cp_run_finish(run, &w)) return false;
    return cp_fail(&run->status,
                   "the training diverged and was given up after %lld rollback%s (%s); take a smaller --rate%s. What happened is "
                   "in %.300s/result.json",
                   (long long)t->guard.rolled_back, t->guard.rolled_back == 1 ? "" : "s", reason,
                   !t->replay           ? ""
                   : t->config.pretrain ? ", a smaller --alpha or --preset quick"
                                        : ", a smaller --alpha or a larger --slope",
                   run->folder);
}

static bool conclude(cp_trainer *t) {
    findings f = {0};
    bool     ok = measure(t, &f);
    if (ok)
        ok = cp_measured_draw(BAYES, f.measured[TEST], "test", t->run, &t->run->status) && draw_curves(t) && draw_chains(t) &&
             write_result(t, &f);
    else if (f.not_finite) {
        char reason[80];
        snprintf(reason, sizeof reason, "the trained model's outputs on the %s split are not finite", f.not_finite);
        report_divergence(t, reason);
    }
    findings_free(&f);
    return ok;
}

bool cp_trainer_conclude(cp_trainer *t) {
    cp_guard_event last = {0};
    bool           diverged = t->end == CP_TRAINER_DIVERGED, ok = t->end == CP_TRAINER_DONE && conclude(t);
    if (diverged) {
        cp_guard_last_event(&t->guard, &last);
        report_divergence(t, cp_guard_event_text(&last).s);
    }
    if (t->run->finished) cp_trainer_clean_up(t->folder, t->end == CP_TRAINER_DIVERGED);
    return ok;
}
