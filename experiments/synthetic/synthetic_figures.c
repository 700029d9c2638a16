/* The synthetic experiment's figures: data, posteriors and densities. */
#include "experiments/synthetic/synthetic.h"

#include <math.h>
#include <stdlib.h>

enum { GRID = 81 };

static cp_panel_config panel_config(cp_geometry geometry) {
    bool   reported = geometry == CP_GEOMETRY_REPORTED;
    double wide = reported ? 1.5 : 2.8, tall = reported ? 1.1 : 2.8;
    return (cp_panel_config){
        .x_label = "x", .y_label = "y", .x_min = -wide, .x_max = wide, .y_min = -tall, .y_max = tall, .equal = true};
}

/* The points of one class, labeled or not, as doubles; returns how many. */
static int select_points(const cp_plane_data *data, int label, int labeled_only, double *x, double *y) {
    const int *places = labeled_only ? data->known : data->unknown;
    int        count = labeled_only ? 2 * data->labeled : data->count - 2 * data->labeled, n = 0;
    for (int i = 0; i < count; i++) {
        if (data->label[places[i]] != label) continue;
        x[n] = (double)data->x[2 * places[i]];
        y[n++] = (double)data->x[2 * places[i] + 1];
    }
    return n;
}

static void draw_test(cp_panel *panel, const cp_plane_data *data, double *x, double *y) {
    static const char *const names[] = {"class 1", "class 2"};
    for (int label = 0; label < 2; label++) {
        int n = select_points(data, label, false, x, y);
        cp_panel_points(panel, (cp_style){.color = label, .size = 1.6, .opacity = 0.75, .label = names[label]}, n, x, y);
    }
}

static void draw_training(cp_figure *figure, cp_geometry geometry, const cp_plane_data *data, double *room) {
    cp_panel_config          config = panel_config(geometry);
    cp_panel                *panel = cp_figure_panel(figure, config);
    double                  *x = room, *y = room + data->count;
    static const char *const known[] = {"class 1, labeled", "class 2, labeled"};
    static const char *const unknown[] = {"class 1, unlabeled", "class 2, unlabeled"};
    for (int label = 0; label < 2; label++) {
        int n = select_points(data, label, false, x, y);
        cp_panel_points(panel, (cp_style){.color = label, .ring = true, .label = unknown[label]}, n, x, y);
        n = select_points(data, label, true, x, y);
        cp_panel_points(panel, (cp_style){.color = label, .size = 4.5, .label = known[label]}, n, x, y);
    }
    cp_figure_caption(figure,
                      "The training data of the first repetition: %d points, of which %d in each class have a label (filled). The "
                      "classes of the open points are shown here but hidden from two of the methods: the hybrid learns from where "
                      "these points lie, the method with labels only does not see them.",
                      data->count, data->labeled);
}

/* A function of the plane on a grid: the posterior of class 2, or the density. */
static void fill_grid(cp_tape *tape, const cp_plane_model *model, const cp_panel_config *c, bool density, double *values) {
    static cp_real row[GRID * 2];
    bool           was = cp_tape_pause(tape, true);
    for (int j = 0; j < GRID; j++) {
        for (int i = 0; i < GRID; i++) {
            row[2 * i] = (cp_real)(c->x_min + (c->x_max - c->x_min) * i / (GRID - 1));
            row[2 * i + 1] = (cp_real)(c->y_min + (c->y_max - c->y_min) * j / (GRID - 1));
        }
        cp_tensor *x = cp_constant(tape, row, CP_SHAPE(GRID, 2));
        cp_tensor *v = density ? cp_gaussian_softmax_log_density(tape, &model->layer, x) /* (GRID)    */
                               : cp_gaussian_softmax_posterior(tape, &model->layer, x);  /* (GRID, 2) */
        for (int i = 0; i < GRID && v; i++) values[j * GRID + i] = density ? exp((double)v->data[i]) : (double)v->data[2 * i + 1];
        cp_tape_reset(tape);
    }
    cp_tape_pause(tape, was);
}

static void draw_density(cp_panel *panel, const cp_panel_config *config, const cp_plane_model *model, cp_tape *tape) {
    static double density[GRID * GRID];
    cp_grid       grid = {GRID, GRID, config->x_min, config->x_max, config->y_min, config->y_max, density};
    double        peak = 0;
    fill_grid(tape, model, config, true, density);
    for (int i = 0; i < GRID * GRID; i++) peak = fmax(peak, density[i]);
    cp_panel_contours(panel, (cp_style){.color = 2, .dash = CP_DASHED, .size = 1.3, .label = "density"}, &grid, 4,
                      (double[]){0.05 * peak, 0.25 * peak, 0.5 * peak, 0.75 * peak});
}

static void draw_method(cp_figure *figure, cp_geometry geometry, const cp_plane_model *model, const cp_plane_data *test,
                        cp_tape *tape, double *room) {
    static double            posterior[GRID * GRID];
    static const char *const titles[] = {"labels only", "hybrid", "fully supervised"};
    char                     title[64];
    cp_panel_config          config = panel_config(geometry);
    cp_grid                  grid = {GRID, GRID, config.x_min, config.x_max, config.y_min, config.y_max, posterior};
    snprintf(title, sizeof title, "%s: %.1f %%", titles[model->method], cp_plane_accuracy(tape, model, test));
    config.title = title;
    cp_panel *panel = cp_figure_panel(figure, config);
    fill_grid(tape, model, &config, false, posterior);
    cp_panel_fill(panel, (cp_style){.opacity = 0.45}, &grid, CP_RAMP_TWO, 20, 0, 1);
    draw_test(panel, test, room, room + test->count);
    cp_style boundary = {.color = 7, .dash = CP_SOLID, .size = 2, .label = "decision boundary"};
    cp_panel_contours(panel, boundary, &grid, 1, (double[]){0.5});
    if (model->method == CP_METHOD_HYBRID) draw_density(panel, &config, model, tape);
    cp_figure_caption(
        figure,
        "Each method after training in the first repetition, with its %d test points and the accuracy on them. The background is "
        "the posterior probability, from class 1 (blue) over one half to class 2 (orange); the solid line is the decision "
        "boundary. The dashed lines are contours of the hybrid's density, at 5, 25, 50 and 75 %% of its peak.",
        test->count);
}

/* A method that diverged has no panel. */
static bool draw_methods(cp_study *study, cp_geometry geometry, cp_trial *first, const cp_case *const *of_method,
                         const cp_plane_data *train, const cp_plane_data *test, double *room) {
    cp_tape   *tape = cp_tape_new();
    cp_figure *figure = cp_figure_new((cp_figure_config){.title = "Test data, posteriors and decision boundaries"});
    for (int m = 0; tape && m < CP_METHODS; m++) {
        cp_plane_model model;
        first->study_case = of_method[m];
        cp_training_end end = cp_plane_trial_train(first, train, tape, &model);
        if (end == CP_TRAINING_SETTLED || end == CP_TRAINING_SWINGS) draw_method(figure, geometry, &model, test, tape, room);
        cp_plane_model_free(&model);
    }
    cp_tape_free(tape);
    return cp_study_add_figure(study, figure, "methods");
}

bool cp_plane_draw_first(cp_study *study, cp_geometry geometry, const cp_case *const *of_method) {
    cp_trial      first = {.options = study->run->options, .run = study->run, .repeat = 0};
    cp_plane_data train = {0}, test = {0};
    bool          ok = cp_plane_trial_data(&first, &train, &test);
    double       *room = ok ? malloc(2 * (size_t)(train.count + test.count) * sizeof *room) : NULL;
    ok = room || cp_fail(&study->run->status, "not enough memory for the figures");
    if (ok) {
        cp_figure *data = cp_figure_new((cp_figure_config){.title = "Training data"});
        draw_training(data, geometry, &train, room);
        ok = cp_study_add_figure(study, data, "data") && draw_methods(study, geometry, &first, of_method, &train, &test, room);
    }
    free(room);
    cp_plane_free(&train);
    cp_plane_free(&test);
    return ok;
}

/* ---- the sweep ---- */

/* A panel of a measure's mean and sd against lambda; where a repetition diverged there is no mark. numbers: (3, lambdas). */
static cp_panel *draw_against_lambda(cp_figure *figure, int count, const char *const *names, double *numbers,
                                     const cp_trials *trials, int first_case, const char *measure, cp_style style,
                                     const char *title, const char *y_label) {
    double *x = numbers, *mean = x + count, *sd = mean + count;
    for (int l = 0; l < count; l++) {
        cp_mean_sd m = cp_trials_mean_sd(trials, first_case + l, measure);
        x[l] = l, mean[l] = m.mean, sd[l] = m.sd;
    }
    cp_panel *panel = cp_figure_panel(
        figure,
        (cp_panel_config){.title = title, .x_label = "lambda", .y_label = y_label, .x_names = names, .x_name_count = count});
    cp_panel_line(panel, style, count, x, mean, sd);
    return panel;
}

/* Lambdas are named, not measured, on their axis, so that 0 has a place. */
bool cp_plane_draw_sweep(cp_study *study, cp_geometry geometry, cp_reals lambda, int first_case) {
    size_t       n = (size_t)lambda.count;
    const char **names = malloc(n * sizeof *names);
    double      *numbers = malloc(3 * n * sizeof *numbers);
    char(*texts)[24] = malloc(n * sizeof *texts);
    bool ok = (names && numbers && texts) || cp_fail(&study->run->status, "not enough memory for the figures");
    for (size_t l = 0; ok && l < n; l++) {
        snprintf(texts[l], sizeof texts[l], "%g", lambda.at[l]);
        names[l] = texts[l];
    }
    if (ok) {
        int        repeats = cp_trials_repeats(study->trials);
        cp_figure *figure =
            cp_figure_new((cp_figure_config){.title = "From two independent models to one: the strength of the coupling"});
        cp_panel *left = draw_against_lambda(figure, lambda.count, names, numbers, study->trials, first_case, "accuracy",
                                             (cp_style){.color = 0, .label = "hybrid"}, "accuracy", "accuracy, %");
        cp_panel_level(left, (cp_style){.color = 7, .dash = CP_DOTTED, .label = "best possible"}, cp_geometry_bayes(geometry));
        draw_against_lambda(figure, lambda.count, names, numbers, study->trials, first_case, "distance", (cp_style){.color = 0},
                            "how far apart the heads are", "head distance");
        cp_figure_caption(figure,
                          "The hybrid for each strength lambda of the coupling: mean over %d repetition%s, with bars of one "
                          "standard deviation. Where a repetition diverged there is no mark.",
                          repeats, repeats == 1 ? "" : "s");
        ok = cp_study_add_figure(study, figure, "sweep");
    }
    free(texts), free(names), free(numbers);
    return ok;
}
