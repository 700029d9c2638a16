/* couplet synthetic: the paper's first experiment. Two Gaussian classes, few labels in the wrong places, and three ways to learn. */
#include "experiments/synthetic.h"

#include "experiments/commands.h"
#include "experiments/figure.h"
#include "experiments/progress.h"
#include "experiments/report.h"
#include "experiments/run.h"
#include "experiments/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cp_option options[] = {
    {.name = "geometry", .kind = CP_OPTION_CHOICE, .choices = "reported|printed", .fallback = "reported",
     .help = "the data behind the reported numbers, or the data as the paper prints it (its best possible accuracy is 76.0 %)"},
    {.name = "lambda", .kind = CP_OPTION_REALS, .fallback = "10", .least = 0, .most = 1e9,
     .help = "how strongly the two heads are tied; several, such as 0,0.1,1,10, make a sweep"},
    {.name = "rate", .kind = CP_OPTION_REAL, .fallback = "0.001", .least = 1e-12, .most = 1e3, .help = "learning rate of gradient descent"},
    {.name = "steps", .kind = CP_OPTION_INT, .fallback = "3000", .least = 1, .most = 1e8, .unit = "steps", .help = "full-batch updates"},
    {.name = "repeats", .kind = CP_OPTION_INT, .fallback = "10", .least = 1, .most = 1000, .help = "repetitions, each with new data"},
    {.name = "precision", .kind = CP_OPTION_CHOICE, .choices = "spherical|diagonal|full", .fallback = "full",
     .help = "form of the shared precision matrix"},
    {.name = "points", .kind = CP_OPTION_INT, .fallback = "100", .least = 4, .most = 100000, .unit = "points", .help = "training points"},
    {.name = "labels", .kind = CP_OPTION_INT, .fallback = "5", .least = 1, .most = 50000, .unit = "points", .help = "labeled points of each class"},
    {.name = "test", .kind = CP_OPTION_INT, .fallback = "1000", .least = 2, .most = 1000000, .unit = "points", .help = "test points"},
    {.name = "report", .kind = CP_OPTION_FLAG, .incidental = true, .help = "also write report.html, with the table and the figures"},
    {0}};

/* Mean and standard deviation in the paper. */
static const double paper[CP_METHODS][2] = {{89.72, 3.842}, {97.54, 0.3507}, {97.32, 0.4723}};

typedef struct setting {
    cp_geometry  geometry;
    cp_precision precision;
    cp_reals     lambda;
    double       rate;
    int          steps, repeats, points, labels, test;
    uint64_t     seed;
} setting;

/* Accuracies in percent, by repetition; NaN: diverged. Those of the hybrid, and the distance of its heads, also by lambda. */
typedef struct outcome {
    double *labelled, *supervised, *hybrid, *distance;
} outcome;

static setting setting_of(const cp_options *o) {
    return (setting){.geometry = (cp_geometry)cp_option_choice(o, "geometry"), .precision = (cp_precision)cp_option_choice(o, "precision"),
                     .lambda = cp_option_reals(o, "lambda"), .rate = cp_option_real(o, "rate"), .steps = (int)cp_option_int(o, "steps"),
                     .repeats = (int)cp_option_int(o, "repeats"), .points = (int)cp_option_int(o, "points"),
                     .labels = (int)cp_option_int(o, "labels"), .test = (int)cp_option_int(o, "test"),
                     .seed = (uint64_t)cp_option_int(o, "seed")};
}

/* ---- one repetition ---- */

static cp_rng stream(const setting *s, const char *name, int repeat) {
    char numbered[64];
    snprintf(numbered, sizeof numbered, "%s.%d", name, repeat);
    return cp_rng_named(s->seed, numbered);
}

static bool data_make(const setting *s, int repeat, cp_plane_data *train, cp_plane_data *test) {
    cp_rng of_train = stream(s, "train", repeat), of_test = stream(s, "test", repeat);
    if (!cp_plane_make(train, s->geometry, s->points, s->labels, &of_train)) return false;
    if (cp_plane_make(test, s->geometry, s->test, 0, &of_test)) return true;
    cp_plane_free(train);
    return false;
}

/* A trained model; false when it diverged. */
static bool model_make(const setting *s, int repeat, cp_method method, double lambda, const cp_plane_data *train, cp_tape *tape,
                       cp_plane_model *model) {
    cp_rng init = stream(s, "init", repeat);
    return cp_plane_model_new(model, method, s->precision, &init) &&
           cp_plane_train(tape, model, train, (cp_plane_training){lambda, s->rate, s->steps});
}

static double measure(const setting *s, int repeat, cp_method method, double lambda, const cp_plane_data *train,
                      const cp_plane_data *test, double *distance) {
    cp_plane_model model = {0};
    cp_tape       *tape = cp_tape_new();
    bool           fine = tape && model_make(s, repeat, method, lambda, train, tape, &model);
    double         accuracy = fine ? cp_plane_accuracy(tape, &model, test) : NAN;
    if (distance) *distance = fine ? cp_gaussian_softmax_distance(tape, &model.layer) : NAN;
    cp_plane_model_free(&model);
    cp_tape_free(tape);
    return accuracy;
}

typedef struct repetition {
    const setting *s;
    int            first;
    outcome       *all;
} repetition;

/* Repetitions are independent, so they run side by side; what each computes does not depend on that. */
static void repeat_some(void *context, size_t begin, size_t end) {
    const repetition *job = context;
    const setting    *s = job->s;
    for (size_t i = begin; i < end; i++) {
        int           r = job->first + (int)i;
        cp_plane_data train, test;
        if (!data_make(s, r, &train, &test)) continue;
        job->all->labelled[r] = measure(s, r, CP_METHOD_LABELLED, 0, &train, &test, NULL);
        job->all->supervised[r] = measure(s, r, CP_METHOD_SUPERVISED, 0, &train, &test, NULL);
        for (int l = 0; l < s->lambda.count; l++)
            job->all->hybrid[l * s->repeats + r] =
                measure(s, r, CP_METHOD_HYBRID, s->lambda.at[l], &train, &test, &job->all->distance[l * s->repeats + r]);
        cp_plane_free(&train);
        cp_plane_free(&test);
    }
}

/* ---- the log ---- */

static void put_each(cp_json_writer *w, const char *key, const double *values, int count, int step) {
    cp_json_put_array(w, key);
    for (int i = 0; i < count; i++) cp_json_put_number(w, NULL, values[i * step]);
    cp_json_put_end(w);
}

static void log_repeat(cp_run *run, const setting *s, const outcome *all, int r) {
    cp_json_writer line = {0};
    cp_json_put_object(&line, NULL);
    cp_json_put_integer(&line, "repeat", r);
    cp_json_put_number(&line, "labelled", all->labelled[r]);
    cp_json_put_number(&line, "supervised", all->supervised[r]);
    put_each(&line, "hybrid", all->hybrid + r, s->lambda.count, s->repeats);
    put_each(&line, "distance", all->distance + r, s->lambda.count, s->repeats);
    cp_json_put_end(&line);
    cp_run_log(run, &line);
}

/* What a continued run has measured already. */
static bool recall(const cp_run *run, const setting *s, outcome *all, int r) {
    const cp_json *line = cp_run_past(run, "repeat", r);
    if (!line) return false;
    all->labelled[r] = cp_json_number(cp_json_get(line, "labelled"), NAN);
    all->supervised[r] = cp_json_number(cp_json_get(line, "supervised"), NAN);
    for (int l = 0; l < s->lambda.count; l++) {
        all->hybrid[l * s->repeats + r] = cp_json_number(cp_json_at(cp_json_get(line, "hybrid"), (size_t)l), NAN);
        all->distance[l * s->repeats + r] = cp_json_number(cp_json_at(cp_json_get(line, "distance"), (size_t)l), NAN);
    }
    return true;
}

static void compute(cp_run *run, const setting *s, outcome *all) {
    cp_progress progress = {.label = "synthetic", .unit = "repetitions", .total = s->repeats, .quiet = run->quiet};
    int         done = 0, threads = cp_threads();
    while (done < s->repeats && recall(run, s, all, done)) done++;
    progress.skipped = done;
    cp_progress_start(&progress);
    while (done < s->repeats && cp_run_goes_on(run)) {
        int some = s->repeats - done < threads ? s->repeats - done : threads;
        cp_parallel((size_t)some, 1, repeat_some, &(repetition){s, done, all});
        for (int i = 0; i < some; i++) log_repeat(run, s, all, done++);
        cp_progress_show(&progress, done, NAN);
    }
    cp_progress_end(&progress);
}

/* ---- tables ---- */

static int diverged(const double *values, int count) {
    int n = 0;
    for (int i = 0; i < count; i++) n += !isfinite(values[i]);
    return n;
}

/* The place of the lambda with the highest mean accuracy among those that did not diverge: the hybrid that is shown. */
static int best_lambda(const setting *s, const outcome *all) {
    int    best = 0;
    double most = -1;
    for (int l = 0; l < s->lambda.count; l++) {
        const double *accuracy = all->hybrid + l * s->repeats;
        double        mean = diverged(accuracy, s->repeats) ? -1 : cp_mean_sd_of(accuracy, s->repeats).mean;
        if (mean > most) best = l;
        if (mean > most) most = mean;
    }
    return best;
}

static const double *best_hybrid(const setting *s, const outcome *all) {
    return all->hybrid + best_lambda(s, all) * s->repeats;
}

static void put_cell(cp_table *table, const double *values, int count, int decimals) {
    int lost = diverged(values, count);
    if (lost) cp_table_text(table, "diverged (%d of %d)", lost, count);
    else {
        cp_mean_sd m = cp_mean_sd_of(values, count);
        cp_table_mean_sd(table, m.mean, m.sd, decimals);
    }
}

static cp_table *method_table(const setting *s, const outcome *all) {
    cp_table *table = cp_table_new(3, "method", "ours, accuracy %", "paper, accuracy %");
    for (int m = 0; m < CP_METHODS; m++) {
        const double *values = m == CP_METHOD_LABELLED ? all->labelled : m == CP_METHOD_HYBRID ? best_hybrid(s, all) : all->supervised;
        if (m == CP_METHOD_HYBRID && s->lambda.count > 1) cp_table_text(table, "hybrid, lambda %g", s->lambda.at[best_lambda(s, all)]);
        else cp_table_text(table, "%s", cp_method_name((cp_method)m));
        put_cell(table, values, s->repeats, 2);
        cp_table_mean_sd(table, paper[m][0], paper[m][1], 2);
    }
    return table;
}

static cp_table *sweep_table(const setting *s, const outcome *all) {
    cp_table *table = cp_table_new(3, "lambda", "accuracy %", "head distance");
    for (int l = 0; l < s->lambda.count; l++) {
        cp_table_text(table, "%g", s->lambda.at[l]);
        put_cell(table, all->hybrid + l * s->repeats, s->repeats, 2);
        put_cell(table, all->distance + l * s->repeats, s->repeats, 4);
    }
    return table;
}

/* What a reader must know beside the numbers; NULL past the last. */
static const char *remark(const setting *s, const outcome *all, int i) {
    int lost = diverged(all->hybrid, s->repeats * s->lambda.count) + diverged(all->labelled, s->repeats) +
               diverged(all->supervised, s->repeats);
    if (s->geometry == CP_GEOMETRY_PRINTED) {
        if (i == 0) return "As the paper prints the data, the classes overlap so much that the best possible accuracy is 76.0 %,";
        if (i == 1) return "and the labels are mostly misleading: the paper's numbers cannot come out. --geometry reported is for those.";
        i -= 2;
    }
    return lost && i == 0 ? "Training diverged: the loss grew without bound. Take a smaller --rate or a smaller --lambda." : NULL;
}

/* ---- the result ---- */

static void put_accuracy(cp_json_writer *w, const char *name, const double *values, int count) {
    int        lost = diverged(values, count);
    cp_mean_sd m = cp_mean_sd_of(values, count);
    cp_json_put_object(w, name);
    cp_json_put_object(w, "accuracy");
    cp_json_put_number(w, "mean", lost ? NAN : m.mean);
    cp_json_put_number(w, "sd", lost ? NAN : m.sd);
    put_each(w, "each", values, count, 1);
    cp_json_put_end(w);
    if (lost) cp_json_put_integer(w, "diverged", lost);
    cp_json_put_end(w);
}

static void put_sweep(cp_json_writer *w, const setting *s, const outcome *all) {
    cp_json_put_array(w, "sweep");
    for (int l = 0; l < s->lambda.count; l++) {
        const double *accuracy = all->hybrid + l * s->repeats, *distance = all->distance + l * s->repeats;
        cp_mean_sd    d = cp_mean_sd_of(distance, s->repeats);
        cp_json_put_object(w, NULL);
        cp_json_put_number(w, "lambda", s->lambda.at[l]);
        put_accuracy(w, "hybrid", accuracy, s->repeats);
        cp_json_put_number(w, "distance", diverged(distance, s->repeats) ? NAN : d.mean);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

static bool finish(cp_run *run, const setting *s, const outcome *all) {
    cp_json_writer w = {.pretty = true};
    cp_table      *methods = method_table(s, all), *sweep = s->lambda.count > 1 ? sweep_table(s, all) : NULL;
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "experiment", "synthetic");
    cp_json_put_string(&w, "title", "Two Gaussian classes, few labels");
    cp_json_put_array(&w, "notes");
    for (int i = 0; remark(s, all, i); i++) cp_json_put_string(&w, NULL, remark(s, all, i));
    cp_json_put_end(&w);
    cp_json_put_string(&w, "geometry", s->geometry == CP_GEOMETRY_REPORTED ? "reported" : "printed");
    cp_json_put_number(&w, "best_possible", cp_geometry_bayes(s->geometry));
    cp_json_put_object(&w, "methods");
    put_accuracy(&w, "labelled", all->labelled, s->repeats);
    put_accuracy(&w, "hybrid", best_hybrid(s, all), s->repeats);
    put_accuracy(&w, "supervised", all->supervised, s->repeats);
    cp_json_put_end(&w);
    cp_json_put_number(&w, "lambda", s->lambda.at[best_lambda(s, all)]);
    if (sweep) put_sweep(&w, s, all);
    cp_table_put(methods, &w, "table");
    if (sweep) cp_table_put(sweep, &w, "sweep_table");
    cp_json_put_end(&w);
    if (!run->quiet && !run->json) {
        printf("Synthetic data, %s geometry: %d points, %d labels a class, %d test points, %d repetition%s; best possible %.1f %%\n\n",
               s->geometry == CP_GEOMETRY_REPORTED ? "reported" : "printed", s->points, s->labels, s->test, s->repeats,
               s->repeats == 1 ? "" : "s", cp_geometry_bayes(s->geometry));
        cp_table_print(methods, stdout);
        if (sweep) printf("\n");
        if (sweep) cp_table_print(sweep, stdout);
        for (int i = 0; remark(s, all, i); i++) printf("%s%s\n", i ? "" : "\n", remark(s, all, i));
    }
    cp_table_free(methods);
    cp_table_free(sweep);
    return cp_run_finish(run, &w);
}

/* ---- figures ---- */

enum { GRID = 81 };

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

static const char *const class_names[] = {"class 1", "class 2"};

static void draw_points(cp_panel *panel, const cp_plane_data *data, double *x, double *y, bool rings) {
    for (int label = 0; label < 2; label++) {
        int n = select_points(data, label, false, x, y);
        cp_panel_points(panel, (cp_style){.color = label, .ring = rings, .size = rings ? 3 : 1.6, .opacity = rings ? 1 : 0.75, .label = rings ? "unlabeled" : class_names[label]}, n, x, y);
        if (!rings) continue;
        n = select_points(data, label, true, x, y);
        cp_panel_points(panel, (cp_style){.color = label, .size = 4.5, .label = class_names[label]}, n, x, y);
    }
}

/* A function of the plane on a grid: the posterior of class 2, or the density. */
static void fill_grid(cp_tape *tape, const cp_plane_model *model, const cp_panel_config *c, bool density, double *values) {
    static cp_real row[GRID * 2];
    bool           was = cp_tape_record(tape, false);
    for (int j = 0; j < GRID; j++) {
        for (int i = 0; i < GRID; i++) {
            row[2 * i] = (cp_real)(c->x_least + (c->x_most - c->x_least) * i / (GRID - 1));
            row[2 * i + 1] = (cp_real)(c->y_least + (c->y_most - c->y_least) * j / (GRID - 1));
        }
        cp_tensor *x = cp_constant(tape, row, 2, (int[]){GRID, 2});
        cp_tensor *v = density ? cp_gaussian_softmax_log_density(tape, &model->layer, x) : cp_gaussian_softmax_posterior(tape, &model->layer, x);
        for (int i = 0; i < GRID && v; i++) values[j * GRID + i] = density ? exp((double)v->data[i]) : (double)v->data[2 * i + 1];
        cp_tape_reset(tape);
    }
    cp_tape_record(tape, was);
}

static void draw_method(cp_figure *figure, cp_panel_config config, const cp_plane_model *model, const cp_plane_data *test, cp_tape *tape,
                        double *x, double *y) {
    static double posterior[GRID * GRID], density[GRID * GRID];
    static const char *const titles[] = {"labels only", "hybrid", "fully supervised"};
    char          title[64];
    double        accuracy = cp_plane_accuracy(tape, model, test), peak = 0;
    cp_grid       grid = {GRID, GRID, config.x_least, config.x_most, config.y_least, config.y_most, posterior};
    snprintf(title, sizeof title, "%s: %.1f %%", titles[model->method], accuracy);
    config.title = title;
    cp_panel *panel = cp_figure_panel(figure, config);
    fill_grid(tape, model, &config, false, posterior);
    cp_panel_fill(panel, (cp_style){.opacity = 0.45}, &grid, CP_RAMP_TWO, 20, 0, 1);
    draw_points(panel, test, x, y, false);
    cp_panel_contours(panel, (cp_style){.color = 7, .dash = CP_SOLID, .size = 2, .label = "decision boundary"}, &grid, 1, (double[]){0.5});
    if (model->method != CP_METHOD_HYBRID) return;
    fill_grid(tape, model, &config, true, density);
    grid.values = density;
    for (int i = 0; i < GRID * GRID; i++) peak = fmax(peak, density[i]);
    cp_panel_contours(panel, (cp_style){.color = 2, .dash = CP_DASHED, .size = 1.3, .label = "density"}, &grid, 4,
                      (double[]){0.05 * peak, 0.25 * peak, 0.5 * peak, 0.75 * peak});
}

static bool save(cp_run *run, cp_figure *figure, const char *name) {
    bool fine = cp_figure_save(figure, cp_run_path(run, name).s, &run->status);
    cp_figure_free(figure);
    return fine;
}

/* The first repetition, as in the paper's figure. */
static bool draw_first(cp_run *run, const setting *s, double lambda) {
    cp_plane_data   train, test;
    double          reach = s->geometry == CP_GEOMETRY_REPORTED ? 1.5 : 2.8, tall = s->geometry == CP_GEOMETRY_REPORTED ? 1.1 : 2.8;
    cp_panel_config config = {.x_label = "x", .y_label = "y", .x_least = -reach, .x_most = reach, .y_least = -tall, .y_most = tall, .equal = true};
    if (!data_make(s, 0, &train, &test)) return cp_fail(&run->status, "out of memory for the figures");
    size_t     room = (size_t)(s->points > s->test ? s->points : s->test) * sizeof(double);
    double    *x = malloc(room), *y = malloc(room);
    cp_tape   *tape = cp_tape_new();
    cp_figure *data = cp_figure_new((cp_figure_config){.title = "Training data"});
    cp_figure *results = cp_figure_new((cp_figure_config){.title = "Test data, posteriors and decision boundaries"});
    bool       fine = (x && y && tape) || cp_fail(&run->status, "out of memory for the figures");
    if (fine) draw_points(cp_figure_panel(data, config), &train, x, y, true);
    for (int m = 0; fine && m < CP_METHODS; m++) {
        cp_plane_model model;
        if (model_make(s, 0, (cp_method)m, lambda, &train, tape, &model)) draw_method(results, config, &model, &test, tape, x, y);
        cp_plane_model_free(&model);
    }
    bool first = save(run, data, "data"), second = save(run, results, "methods");
    free(x);
    free(y);
    cp_tape_free(tape);
    cp_plane_free(&train);
    cp_plane_free(&test);
    return fine && first && second;
}

/* Accuracy and head distance against lambda; lambdas are named, not measured, so that 0 has a place. */
static bool draw_sweep(cp_run *run, const setting *s, const outcome *all) {
    int     n = s->lambda.count;
    size_t  count = (size_t)n;
    double *x = malloc(5 * count * sizeof *x), *accuracy = x + n, *accuracy_sd = accuracy + n, *distance = accuracy_sd + n, *distance_sd = distance + n;
    char (*names)[24] = malloc(count * sizeof *names);
    const char **texts = malloc(count * sizeof *texts);
    bool         fine = (x && names && texts) || cp_fail(&run->status, "out of memory for the figures");
    for (int l = 0; fine && l < n; l++) {
        const double *a = all->hybrid + l * s->repeats, *d = all->distance + l * s->repeats;
        bool          lost = diverged(a, s->repeats) > 0;
        cp_mean_sd    of_a = cp_mean_sd_of(a, s->repeats), of_d = cp_mean_sd_of(d, s->repeats);
        x[l] = l;
        accuracy[l] = lost ? NAN : of_a.mean, accuracy_sd[l] = lost ? NAN : of_a.sd;
        distance[l] = lost ? NAN : of_d.mean, distance_sd[l] = lost ? NAN : of_d.sd;
        snprintf(names[l], sizeof names[l], "%g", s->lambda.at[l]);
        texts[l] = names[l];
    }
    if (fine) {
        cp_figure *figure = cp_figure_new((cp_figure_config){.title = "From two independent models to one: the strength of the coupling"});
        cp_panel  *left = cp_figure_panel(figure, (cp_panel_config){.title = "accuracy", .x_label = "lambda", .y_label = "accuracy, %", .x_names = texts, .x_name_count = n});
        cp_panel_line(left, (cp_style){.color = 0, .label = "hybrid"}, n, x, accuracy, accuracy_sd);
        cp_panel_level(left, (cp_style){.color = 7, .dash = CP_DOTTED, .label = "best possible"}, cp_geometry_bayes(s->geometry));
        cp_panel  *right = cp_figure_panel(figure, (cp_panel_config){.title = "how far apart the heads are", .x_label = "lambda", .y_label = "head distance", .x_names = texts, .x_name_count = n});
        cp_panel_line(right, (cp_style){.color = 1}, n, x, distance, distance_sd);
        fine = save(run, figure, "sweep");
    }
    free(x);
    free(names);
    free(texts);
    return fine;
}

/* ---- the command ---- */

static bool outcome_new(outcome *all, const setting *s) {
    size_t n = (size_t)s->repeats, many = n * (size_t)s->lambda.count;
    double *values = malloc((2 * n + 2 * many) * sizeof *values);
    if (!values) return false;
    for (size_t i = 0; i < 2 * n + 2 * many; i++) values[i] = NAN;
    *all = (outcome){values, values + n, values + 2 * n, values + 2 * n + many};
    return true;
}

static void write_report(cp_run *run) {
    cp_run_name path = cp_run_path(run, "report.html");
    if (cp_report_write((const char *[]){run->folder}, 1, path.s, &run->status) && !run->quiet && !run->json)
        printf("\nReport: %s\n", path.s);
}

static int complete(cp_run *run, const setting *s, outcome *all) {
    compute(run, s, all);
    if (cp_run_goes_on(run) && draw_first(run, s, s->lambda.at[best_lambda(s, all)]) && (s->lambda.count == 1 || draw_sweep(run, s, all)) && finish(run, s, all)) {
        if (cp_option_flag(run->options, "report")) write_report(run);
    }
    free(all->labelled);
    return cp_run_close(run);
}

static int run_synthetic(const cp_options *o) {
    setting s = setting_of(o);
    outcome all;
    if (2 * s.labels > s.points) {
        fprintf(stderr, "couplet synthetic: --labels %d for each of two classes are more than --points %d\n", s.labels, s.points);
        return CP_EXIT_USAGE;
    }
    cp_run *run = cp_run_open(o);
    if (!run) return CP_EXIT_FAILED;
    if (run->state == CP_RUN_FINISHED) return cp_run_show(run);
    if (!outcome_new(&all, &s)) {
        cp_fail(&run->status, "out of memory for %d repetitions", s.repeats);
        return cp_run_close(run);
    }
    return complete(run, &s, &all);
}

const cp_command cp_command_synthetic = {
    .name = "synthetic",
    .purpose = "the paper's first experiment: two Gaussian classes, few labels",
    .details = "Trains the Gaussian-coupled softmax layer on its own, against a softmax layer that sees only the labels and one that sees\n"
               "all of them; prints accuracies beside the paper's and draws the decision boundaries.",
    .example = "couplet synthetic --lambda 0,0.1,1,10 --out runs/sweep --report",
    .options = options,
    .run = run_synthetic,
};
