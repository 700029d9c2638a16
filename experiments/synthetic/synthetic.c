/* couplet synthetic: the paper's first experiment. Two Gaussian classes, few labels, in the wrong places, and three
 * ways to learn from them. */
#include "experiments/synthetic/synthetic.h"

#include "experiments/commands.h"

#include <math.h>
#include <stdlib.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "geometry", .kind = CP_OPTION_CHOICE, .choices = "reported|printed", .fallback = "reported",
     .help = "data behind the reported numbers, or data as printed in the paper, where no classifier is right "
             "in more than 76.0 %"},
    {.name = "lambda", .kind = CP_OPTION_REALS, .fallback = "10", .min = 0, .max = 1e9,
     .help = "strength of the coupling of the two heads; several, such as 0,0.1,1,10, make a sweep"},
    {.name = "rate", .kind = CP_OPTION_REAL, .fallback = "0.001", .min = 1e-12, .max = 1e3,
     .help = "learning rate of gradient descent"},
    {.name = "steps", .kind = CP_OPTION_INT, .fallback = "3000", .min = 1, .max = 1e8, .unit = "steps",
     .help = "length of training; a step is an update on all points"},
    {.name = "repeats", .kind = CP_OPTION_INT, .fallback = "10", .min = 1, .max = 1000,
     .help = "repetitions, each with new data"},
    {.name = "precision", .kind = CP_OPTION_CHOICE, .choices = "spherical|diagonal|full", .fallback = "full",
     .help = "form of the covariance that the classes share (the layer holds its inverse)"},
    {.name = "points", .kind = CP_OPTION_INT, .fallback = "100", .min = 4, .max = 100000, .help = "training points"},
    {.name = "labels", .kind = CP_OPTION_INT, .fallback = "5", .min = 1, .max = 50000,
     .help = "labeled training points per class"},
    {.name = "test", .kind = CP_OPTION_INT, .fallback = "1000", .min = 2, .max = 1000000, .help = "test points"},
    {0}};
/* clang-format on */

/* Mean and standard deviation in the paper. */
static const double paper[CP_METHODS][2] = {{89.72, 3.842}, {97.54, 0.3507}, {97.32, 0.4723}};

static const cp_measure measures[] = {
    {"accuracy", "accuracy, %", 2, false},
    {"distance", "head distance", 4, true},
    {"swings", NULL, 0, true}, /* 1: the loss still went up and down at the end */
    {0},
};

/* ---- the cases: the softmax methods, then the hybrid with each lambda ---- */

enum { LABELED, SUPERVISED, HYBRIDS };

/* The index of the lambda that represents the hybrid beside the other methods: the paper's 10, or else the first. Not
 * the best one: that would be chosen on the test points. */
static int main_lambda(cp_reals lambda) {
    for (int l = 0; l < lambda.count; l++)
        if (lambda.at[l] == 10) return l;
    return 0;
}

static int case_of_method(cp_reals lambda, cp_plane_method method) {
    return method == CP_METHOD_LABELED ? LABELED : method == CP_METHOD_SUPERVISED ? SUPERVISED : HYBRIDS + main_lambda(lambda);
}

/* All of them in one piece of memory with their variants, to be freed; NULL: not enough memory. */
static cp_case *cases_make(const cp_options *o) {
    cp_reals          lambda = cp_option_reals(o, "lambda");
    double            rate = cp_option_real(o, "rate");
    int               count = HYBRIDS + lambda.count;
    cp_case          *cases = calloc((size_t)count + 1, sizeof *cases + sizeof(cp_plane_variant));
    cp_plane_variant *v = cases ? (cp_plane_variant *)(cases + count + 1) : NULL;
    for (int i = 0; v && i < count; i++, v++) {
        bool hybrid = i >= HYBRIDS, secondary = hybrid && i != HYBRIDS + main_lambda(lambda);
        v->method = hybrid ? CP_METHOD_HYBRID : i == LABELED ? CP_METHOD_LABELED : CP_METHOD_SUPERVISED;
        v->lambda = hybrid ? lambda.at[i - HYBRIDS] : 0;
        if (secondary)
            snprintf(v->name, sizeof v->name, "lambda %g", v->lambda);
        else
            snprintf(v->name, sizeof v->name, "%s", cp_plane_method_name(v->method));
        snprintf(v->advice, sizeof v->advice, " with rate %g: take a smaller --rate%s", rate,
                 hybrid ? " (with more --steps) or a smaller --lambda" : "");
        cases[i] = (cp_case){.name = v->name, .data = v, .advice = v->advice, .secondary = secondary};
    }
    return cases;
}

/* ---- one trial ---- */

static cp_trial_end measure(cp_trial *trial) {
    cp_plane_data   train = {0}, test = {0};
    cp_plane_model  model = {0};
    cp_tape        *tape = cp_tape_new();
    bool            ready = tape && cp_plane_trial_data(trial, &train, &test);
    cp_training_end end = ready ? cp_plane_trial_train(trial, &train, tape, &model) : CP_TRAINING_STOPPED;
    bool            trained = end == CP_TRAINING_SETTLED || end == CP_TRAINING_SWINGS;
    if (trained) {
        cp_trial_put(trial, "accuracy", cp_plane_accuracy(tape, &model, &test));
        cp_trial_put(trial, "distance", cp_gaussian_softmax_distance(tape, &model.layer));
        cp_trial_put(trial, "swings", end == CP_TRAINING_SWINGS);
    }
    cp_plane_model_free(&model);
    cp_plane_free(&train);
    cp_plane_free(&test);
    cp_tape_free(tape);
    return trained ? CP_TRIAL_DONE : end == CP_TRAINING_DIVERGED ? CP_TRIAL_DIVERGED : CP_TRIAL_STOPPED;
}

/* ---- tables, notes and the result ---- */

/* Into the result, and as a table. */
static void put_methods(cp_study *study, cp_json_writer *w, cp_reals lambda) {
    cp_table *table = cp_table_new(3, "method", "accuracy, %", "paper, %");
    cp_json_put_object(w, "methods");
    for (int m = 0; m < CP_METHODS; m++) {
        const char *name = cp_plane_method_name((cp_plane_method)m);
        int         of_case = case_of_method(lambda, (cp_plane_method)m);
        cp_trials_put_case(study->trials, w, name, of_case);
        cp_table_text(table, "%s", name);
        cp_trials_put_cell(study->trials, table, of_case, "accuracy");
        cp_table_mean_sd(table, paper[m][0], paper[m][1], 2);
    }
    cp_json_put_end(w);
    cp_study_add_table(study, "table", table);
}

static int unsettled(const cp_study *study, int of_case) {
    const double *swings = cp_trials_values(study->trials, of_case, "swings");
    int           n = 0;
    for (int r = 0; r < cp_trials_repeats(study->trials); r++) n += swings[r] > 0;
    return n;
}

static void note_sweep(cp_study *study, cp_reals lambda) {
    char   some[120];
    size_t used = 0;
    cp_study_add_note(study, "The hybrid beside the other methods has lambda %g.", lambda.at[main_lambda(lambda)]);
    for (int l = 0; l < lambda.count; l++)
        if (unsettled(study, HYBRIDS + l) && used + 24 < sizeof some)
            used += (size_t)snprintf(some + used, sizeof some - used, "%s%g", used ? ", " : "", lambda.at[l]);
    if (used)
        cp_study_add_note(study,
                          "lambda %s did not settle with rate %g, which keeps the heads apart: a smaller --rate with more --steps "
                          "ties them.",
                          some, cp_option_real(study->run->options, "rate"));
}

static void put_sweep(cp_study *study, cp_json_writer *w, cp_reals lambda) {
    cp_table *table = cp_table_new(3, "lambda", "accuracy, %", "head distance");
    cp_json_put_array(w, "sweep");
    for (int l = 0; l < lambda.count; l++) {
        cp_json_put_object(w, NULL);
        cp_json_put_number(w, "lambda", lambda.at[l]);
        cp_trials_put_case(study->trials, w, "hybrid", HYBRIDS + l);
        cp_json_put_number(w, "distance", cp_trials_mean_sd(study->trials, HYBRIDS + l, "distance").mean);
        cp_json_put_integer(w, "unsettled", unsettled(study, HYBRIDS + l));
        cp_json_put_end(w);
        cp_table_text(table, "%g", lambda.at[l]);
        cp_trials_put_cell(study->trials, table, HYBRIDS + l, "accuracy");
        cp_trials_put_cell(study->trials, table, HYBRIDS + l, "distance");
    }
    cp_json_put_end(w);
    cp_study_add_table(study, "sweep_table", table);
}

static void conclude(cp_study *study, const cp_options *o, cp_geometry geometry, cp_reals lambda) {
    double best = cp_geometry_bayes(geometry);
    int    repeats = cp_trials_repeats(study->trials);
    bool   sweep = lambda.count > 1;
    cp_study_say(study, "Two Gaussian classes, %s geometry: %d points, %d labels a class, %d test points, %d repetition%s.",
                 cp_option_text(o, "geometry"), (int)cp_option_int(o, "points"), (int)cp_option_int(o, "labels"),
                 (int)cp_option_int(o, "test"), repeats, repeats == 1 ? "" : "s");
    cp_study_say(study, "Best possible accuracy: %.1f %%.", best);
    if (geometry == CP_GEOMETRY_PRINTED) {
        cp_study_add_note(study, "As the paper prints the data, the classes overlap so much that no classifier is right in more "
                                 "than 76.0 %%,");
        cp_study_add_note(study, "and the labels sit on the wrong side of the boundary: the paper's numbers come out with "
                                 "--geometry reported.");
    }
    if (sweep) note_sweep(study, lambda);
    cp_json_writer *w = cp_study_result(study);
    cp_json_put_string(w, "geometry", cp_option_text(o, "geometry"));
    cp_json_put_number(w, "best_possible", best);
    put_methods(study, w, lambda);
    cp_json_put_number(w, "lambda", lambda.at[main_lambda(lambda)]);
    if (sweep) put_sweep(study, w, lambda);
}

/* ---- figures: data, posteriors and densities ---- */

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

/* The first repetition, as in the paper's figure: its data, and each method's posterior and boundary. */
static bool draw_first(cp_study *study, cp_geometry geometry, const cp_case *const *of_method) {
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

/* Accuracy and distance of the heads against lambda, whose cases are first_case, first_case + 1, ... Lambdas are named, not measured, on
 * their axis, so that 0 has a place. */
static bool draw_sweep(cp_study *study, cp_geometry geometry, cp_reals lambda, int first_case) {
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

/* ---- the command ---- */

static int run_synthetic(const cp_options *o) {
    int64_t labels = cp_option_int(o, "labels"), points = cp_option_int(o, "points");
    if (2 * labels > points)
        return cp_complain(o, "--labels %d for each of two classes are more than --points %d", (int)labels, (int)points),
               CP_EXIT_USAGE;
    cp_geometry geometry = (cp_geometry)cp_option_choice(o, "geometry");
    cp_reals    lambda = cp_option_reals(o, "lambda");
    cp_case    *cases = cases_make(o);
    if (!cases) return cp_complain(o, "not enough memory for %d lambdas", lambda.count), CP_EXIT_FAILED;
    cp_study *study = cp_study_new(
        o, "Two Gaussian classes, few labels",
        (cp_trials_config){.cases = cases, .measures = measures, .repeats = (int)cp_option_int(o, "repeats"), .trial = measure});
    if (cp_study_run(study)) {
        const cp_case *of_method[CP_METHODS];
        for (int m = 0; m < CP_METHODS; m++) of_method[m] = &cases[case_of_method(lambda, (cp_plane_method)m)];
        if (draw_first(study, geometry, of_method) && (lambda.count == 1 || draw_sweep(study, geometry, lambda, HYBRIDS)))
            conclude(study, o, geometry, lambda);
    }
    int code = cp_study_close(study);
    free(cases);
    return code;
}

const cp_command cp_command_synthetic = {
    .name = "synthetic",
    .purpose = "run the paper's first experiment: two Gaussian classes, few labels",
    .details = "Trains the Gaussian-coupled softmax layer on its own (hybrid), next to a softmax layer that sees only "
               "the labeled points (labeled) and one that sees all points with all labels (supervised). Prints accuracies next to "
               "the paper's and draws data, posteriors and decision boundaries.",
    .example = "--lambda 0,0.1,1,10 --rate 0.0001 --steps 30000 --out runs/sweep --report",
    .options = options,
    .study = true,
    .run = run_synthetic,
};
