/* couplet synthetic: the paper's first experiment. Two Gaussian classes, few labels, in the wrong places, and three
 * ways to learn from them. */
#include "experiments/synthetic.h"

#include "experiments/commands.h"
#include "experiments/kit/progress.h"
#include "experiments/kit/report.h"
#include "experiments/kit/run.h"
#include "experiments/kit/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "geometry", .kind = CP_OPTION_CHOICE, .choices = "reported|printed", .fallback = "reported",
     .help = "the data behind the reported numbers, or the data as the paper prints it, where no classifier is right "
             "in more than 76.0 %"},
    {.name = "lambda", .kind = CP_OPTION_REALS, .fallback = "10", .least = 0, .most = 1e9,
     .help = "how strongly the two heads are tied; several, such as 0,0.1,1,10, make a sweep"},
    {.name = "rate", .kind = CP_OPTION_REAL, .fallback = "0.001", .least = 1e-12, .most = 1e3,
     .help = "learning rate of gradient descent"},
    {.name = "steps", .kind = CP_OPTION_INT, .fallback = "3000", .least = 1, .most = 1e8, .unit = "steps",
     .help = "length of a training; a step is an update on all points"},
    {.name = "repeats", .kind = CP_OPTION_INT, .fallback = "10", .least = 1, .most = 1000,
     .help = "repetitions, each with new data"},
    {.name = "precision", .kind = CP_OPTION_CHOICE, .choices = "spherical|diagonal|full", .fallback = "full",
     .help = "form of the covariance that the classes share (the layer holds its inverse)"},
    {.name = "points", .kind = CP_OPTION_INT, .fallback = "100", .least = 4, .most = 100000, .help = "training points"},
    {.name = "labels", .kind = CP_OPTION_INT, .fallback = "5", .least = 1, .most = 50000,
     .help = "labeled training points of each class"},
    {.name = "test", .kind = CP_OPTION_INT, .fallback = "1000", .least = 2, .most = 1000000, .help = "test points"},
    {.name = "report", .kind = CP_OPTION_FLAG, .incidental = true,
     .help = "also write report.html, with the table and the figures"},
    {0}};
/* clang-format on */

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

/* Accuracies in percent, by repetition; NaN: diverged. Those of the hybrid also by lambda, with the distance of its
 * heads and whether its loss was still swinging at the end (1) or not (0). */
typedef struct outcome {
    double *labeled, *supervised, *hybrid, *distance, *swings;
    bool   *complete; /* which repetitions are done */
} outcome;

static setting setting_of(const cp_options *o) {
    return (setting){.geometry = (cp_geometry)cp_option_choice(o, "geometry"),
                     .precision = (cp_precision)((int)CP_SPHERICAL + cp_option_choice(o, "precision")),
                     .lambda = cp_option_reals(o, "lambda"),
                     .rate = cp_option_real(o, "rate"),
                     .steps = (int)cp_option_int(o, "steps"),
                     .repeats = (int)cp_option_int(o, "repeats"),
                     .points = (int)cp_option_int(o, "points"),
                     .labels = (int)cp_option_int(o, "labels"),
                     .test = (int)cp_option_int(o, "test"),
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

static cp_training_end model_make(const setting *s, int repeat, cp_method method, double lambda, const cp_plane_data *train,
                                  cp_tape *tape, cp_plane_model *model) {
    cp_rng init = stream(s, "init", repeat);
    if (!cp_plane_model_new(model, method, s->precision, &init)) return CP_TRAINING_STOPPED;
    return cp_plane_train(tape, model, train, (cp_plane_training){lambda, s->rate, s->steps, cp_interrupted});
}

static bool trained(cp_training_end end) {
    return end == CP_TRAINING_SETTLED || end == CP_TRAINING_SWINGS;
}

typedef struct measured {
    double accuracy, distance, swings;
    bool   complete; /* not stopped by Ctrl-C */
} measured;

static measured measure(const setting *s, int repeat, cp_method method, double lambda, const cp_plane_data *train,
                        const cp_plane_data *test) {
    measured        m = {NAN, NAN, 0, false};
    cp_plane_model  model = {0};
    cp_tape        *tape = cp_tape_new();
    cp_training_end end = tape ? model_make(s, repeat, method, lambda, train, tape, &model) : CP_TRAINING_STOPPED;
    if (trained(end)) {
        m.accuracy = cp_plane_accuracy(tape, &model, test);
        m.distance = cp_gaussian_softmax_distance(tape, &model.layer);
        m.swings = end == CP_TRAINING_SWINGS;
    }
    m.complete = end != CP_TRAINING_STOPPED;
    cp_plane_model_free(&model);
    cp_tape_free(tape);
    return m;
}

static bool repeat_once(const setting *s, int r, const cp_plane_data *train, const cp_plane_data *test, const outcome *all) {
    measured labeled = measure(s, r, CP_METHOD_LABELED, 0, train, test);
    measured supervised = measure(s, r, CP_METHOD_SUPERVISED, 0, train, test);
    bool     complete = labeled.complete && supervised.complete;
    all->labeled[r] = labeled.accuracy;
    all->supervised[r] = supervised.accuracy;
    for (int l = 0; complete && l < s->lambda.count; l++) {
        measured hybrid = measure(s, r, CP_METHOD_HYBRID, s->lambda.at[l], train, test);
        int      place = l * s->repeats + r;
        all->hybrid[place] = hybrid.accuracy;
        all->distance[place] = hybrid.distance;
        all->swings[place] = hybrid.swings;
        complete = hybrid.complete;
    }
    return complete;
}

typedef struct repetition {
    const setting *s;
    int            first;
    outcome       *all;
} repetition;

/* Repetitions are independent, so they run side by side; what each computes does not depend on that. */
static void repeat_some(void *context, size_t begin, size_t end) {
    const repetition *job = context;
    for (size_t i = begin; i < end; i++) {
        int           r = job->first + (int)i;
        cp_plane_data train, test;
        if (!data_make(job->s, r, &train, &test)) continue; /* stays incomplete */
        job->all->complete[r] = repeat_once(job->s, r, &train, &test, job->all);
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
    cp_json_put_number(&line, "labeled", all->labeled[r]);
    cp_json_put_number(&line, "supervised", all->supervised[r]);
    put_each(&line, "hybrid", all->hybrid + r, s->lambda.count, s->repeats);
    put_each(&line, "distance", all->distance + r, s->lambda.count, s->repeats);
    put_each(&line, "swings", all->swings + r, s->lambda.count, s->repeats);
    cp_json_put_end(&line);
    cp_run_log(run, &line);
}

/* What a continued run has measured already. */
static bool recall(const cp_run *run, const setting *s, outcome *all, int r) {
    const cp_json *line = cp_run_past(run, "repeat", r);
    if (!line) return false;
    all->labeled[r] = cp_json_number(cp_json_get(line, "labeled"), NAN);
    all->supervised[r] = cp_json_number(cp_json_get(line, "supervised"), NAN);
    for (int l = 0; l < s->lambda.count; l++) {
        int place = l * s->repeats + r;
        all->hybrid[place] = cp_json_number(cp_json_at(cp_json_get(line, "hybrid"), (size_t)l), NAN);
        all->distance[place] = cp_json_number(cp_json_at(cp_json_get(line, "distance"), (size_t)l), NAN);
        all->swings[place] = cp_json_number(cp_json_at(cp_json_get(line, "swings"), (size_t)l), 0);
    }
    return true;
}

static void compute(cp_run *run, const setting *s, outcome *all) {
    cp_progress progress = {.label = "synthetic", .unit = "repetitions", .total = s->repeats, .quiet = run->quiet};
    int         done = 0, threads = cp_threads();
    while (done < s->repeats && recall(run, s, all, done)) done++;
    progress.skipped = done;
    cp_progress_start(&progress);
    cp_progress_show(&progress, done, NAN);
    while (done < s->repeats && cp_run_goes_on(run)) {
        int some = s->repeats - done < threads ? s->repeats - done : threads, end = done + some;
        cp_parallel((size_t)some, 1, repeat_some, &(repetition){s, done, all});
        while (done < end && all->complete[done]) log_repeat(run, s, all, done++);
        if (done < end && !cp_interrupted()) cp_fail(&run->status, "out of memory for %d points", s->points + s->test);
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

/* The place of the lambda that stands for the hybrid beside the other methods: the paper's 10, or else the first. Not
 * the best one: that would be chosen on the test points. */
static int main_lambda(const setting *s) {
    for (int l = 0; l < s->lambda.count; l++)
        if (s->lambda.at[l] == 10) return l;
    return 0;
}

static void put_cell(cp_table *table, const double *values, int count, int decimals) {
    int        lost = diverged(values, count);
    cp_mean_sd m = cp_mean_sd_of(values, count);
    if (lost)
        cp_table_text(table, "diverged (%d of %d)", lost, count);
    else if (count == 1)
        cp_table_number(table, m.mean, decimals);
    else
        cp_table_mean_sd(table, m.mean, m.sd, decimals);
}

static const double *of_method(const setting *s, const outcome *all, cp_method method) {
    return method == CP_METHOD_LABELED  ? all->labeled
           : method == CP_METHOD_HYBRID ? all->hybrid + main_lambda(s) * s->repeats
                                        : all->supervised;
}

static cp_table *method_table(const setting *s, const outcome *all) {
    cp_table *table = cp_table_new(3, "method", "accuracy, %", "paper, %");
    for (int m = 0; m < CP_METHODS; m++) {
        cp_table_text(table, "%s", cp_method_name((cp_method)m));
        put_cell(table, of_method(s, all, (cp_method)m), s->repeats, 2);
        cp_table_mean_sd(table, paper[m][0], paper[m][1], 2);
    }
    return table;
}

static cp_table *sweep_table(const setting *s, const outcome *all) {
    cp_table *table = cp_table_new(3, "lambda", "accuracy, %", "head distance");
    for (int l = 0; l < s->lambda.count; l++) {
        cp_table_text(table, "%g", s->lambda.at[l]);
        put_cell(table, all->hybrid + l * s->repeats, s->repeats, 2);
        put_cell(table, all->distance + l * s->repeats, s->repeats, 4);
    }
    return table;
}

/* ---- what a reader must know beside the numbers ---- */

enum { NOTES = 6 };

typedef struct notes {
    char at[NOTES][240];
    int  count;
} notes;

static void note(notes *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(notes *n, const char *format, ...) {
    va_list values;
    va_start(values, format);
    if (n->count < NOTES) vsnprintf(n->at[n->count++], sizeof n->at[0], format, values);
    va_end(values);
}

/* The lambdas where some of `values`, by lambda and repetition, are as `counted` counts them: "10, 100". */
static bool list_lambdas(const setting *s, const double *values, int (*counted)(const double *, int), char *text, size_t size) {
    size_t used = 0;
    *text = '\0';
    for (int l = 0; l < s->lambda.count; l++)
        if (counted(values + l * s->repeats, s->repeats) && used + 24 < size)
            used += (size_t)snprintf(text + used, size - used, "%s%g", used ? ", " : "", s->lambda.at[l]);
    return used > 0;
}

static int swinging(const double *values, int count) {
    int n = 0;
    for (int i = 0; i < count; i++) n += values[i] > 0;
    return n;
}

static notes notes_of(const setting *s, const outcome *all) {
    notes n = {.count = 0};
    char  lambdas[120];
    if (s->geometry == CP_GEOMETRY_PRINTED) {
        note(&n, "As the paper prints the data, the classes overlap so much that no classifier is right in more than "
                 "76.0 %%,");
        note(&n, "and the labels sit on the wrong side of the boundary: the paper's numbers come out with --geometry "
                 "reported.");
    }
    if (s->lambda.count > 1) note(&n, "The hybrid beside the other methods has lambda %g.", s->lambda.at[main_lambda(s)]);
    for (int m = 0; m < CP_METHODS; m++)
        if (m != CP_METHOD_HYBRID && diverged(of_method(s, all, (cp_method)m), s->repeats))
            note(&n, "%s diverged with rate %g: take a smaller --rate.", cp_method_name((cp_method)m), s->rate);
    if (list_lambdas(s, all->hybrid, diverged, lambdas, sizeof lambdas))
        note(&n, "lambda %s diverged with rate %g: take a smaller --rate (with more --steps) or a smaller --lambda.", lambdas,
             s->rate);
    if (s->lambda.count > 1 && list_lambdas(s, all->swings, swinging, lambdas, sizeof lambdas))
        note(&n,
             "lambda %s did not settle with rate %g, which keeps the heads apart: a smaller --rate with more --steps "
             "ties them.",
             lambdas, s->rate);
    return n;
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
        cp_json_put_integer(w, "unsettled", swinging(all->swings + l * s->repeats, s->repeats));
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

static const char *geometry_name(const setting *s) {
    return s->geometry == CP_GEOMETRY_REPORTED ? "reported" : "printed";
}

static void print_result(const setting *s, const cp_table *methods, const cp_table *sweep, const notes *n) {
    printf("Two Gaussian classes, %s geometry: %d points, %d labels a class, %d test points, %d repetition%s.\n"
           "Best possible accuracy: %.1f %%.\n\n",
           geometry_name(s), s->points, s->labels, s->test, s->repeats, s->repeats == 1 ? "" : "s", cp_geometry_bayes(s->geometry));
    cp_table_print(methods, stdout);
    if (sweep) printf("\n");
    if (sweep) cp_table_print(sweep, stdout);
    for (int i = 0; i < n->count; i++) printf("%s%s\n", i ? "" : "\n", n->at[i]);
}

static bool finish(cp_run *run, const setting *s, const outcome *all) {
    cp_json_writer w = {.pretty = true};
    cp_table      *methods = method_table(s, all), *sweep = s->lambda.count > 1 ? sweep_table(s, all) : NULL;
    notes          n = notes_of(s, all);
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "experiment", "synthetic");
    cp_json_put_string(&w, "title", "Two Gaussian classes, few labels");
    cp_json_put_array(&w, "notes");
    for (int i = 0; i < n.count; i++) cp_json_put_string(&w, NULL, n.at[i]);
    cp_json_put_end(&w);
    cp_json_put_string(&w, "geometry", geometry_name(s));
    cp_json_put_number(&w, "best_possible", cp_geometry_bayes(s->geometry));
    cp_json_put_object(&w, "methods");
    for (int m = 0; m < CP_METHODS; m++)
        put_accuracy(&w, cp_method_name((cp_method)m), of_method(s, all, (cp_method)m), s->repeats);
    cp_json_put_end(&w);
    cp_json_put_number(&w, "lambda", s->lambda.at[main_lambda(s)]);
    if (sweep) put_sweep(&w, s, all);
    cp_table_put(methods, &w, "table");
    if (sweep) cp_table_put(sweep, &w, "sweep_table");
    cp_json_put_end(&w);
    if (!run->quiet && !run->json) print_result(s, methods, sweep, &n);
    cp_table_free(methods);
    cp_table_free(sweep);
    return cp_run_finish(run, &w);
}

/* ---- figures ---- */

static bool save(cp_run *run, cp_figure *figure, const char *name) {
    bool fine = cp_figure_save(figure, cp_run_path(run, name).s, &run->status);
    cp_figure_free(figure);
    return fine;
}

/* The first repetition, as in the paper's figure. A method that diverged has no panel. */
static bool draw_methods(cp_run *run, const setting *s, double lambda, const cp_plane_data *train, const cp_plane_data *test,
                         double *room) {
    cp_tape   *tape = cp_tape_new();
    cp_figure *figure = cp_figure_new((cp_figure_config){.title = "Test data, posteriors and decision boundaries"});
    for (int m = 0; tape && m < CP_METHODS; m++) {
        cp_plane_model  model;
        cp_training_end end = model_make(s, 0, (cp_method)m, lambda, train, tape, &model);
        if (trained(end)) cp_plane_draw_method(figure, s->geometry, &model, test, tape, room);
        cp_plane_model_free(&model);
    }
    cp_tape_free(tape);
    return save(run, figure, "methods");
}

static bool draw_first(cp_run *run, const setting *s, double lambda) {
    cp_plane_data train = {0}, test = {0};
    double       *room = malloc(2 * (size_t)(s->points + s->test) * sizeof *room);
    bool          fine = (room && data_make(s, 0, &train, &test)) || cp_fail(&run->status, "out of memory for the figures");
    if (fine) {
        cp_figure *data = cp_figure_new((cp_figure_config){.title = "Training data"});
        cp_plane_draw_training(data, s->geometry, &train, room);
        fine = save(run, data, "data") && draw_methods(run, s, lambda, &train, &test, room);
    }
    free(room);
    cp_plane_free(&train);
    cp_plane_free(&test);
    return fine;
}

/* A panel of a value's mean and sd against lambda; lambdas are named, not measured, so that 0 has a place. */
static cp_panel *draw_against_lambda(cp_figure *figure, const setting *s, const char *const *names, cp_style style,
                                     const char *title, const char *y_label, const double *values, double *room) {
    int     n = s->lambda.count;
    double *x = room, *mean = x + n, *sd = mean + n;
    for (int l = 0; l < n; l++) {
        cp_mean_sd m = cp_mean_sd_of(values + l * s->repeats, s->repeats); /* NaN where one diverged: no mark */
        x[l] = l;
        mean[l] = m.mean;
        sd[l] = m.sd;
    }
    cp_panel *panel = cp_figure_panel(
        figure, (cp_panel_config){.title = title, .x_label = "lambda", .y_label = y_label, .x_names = names, .x_name_count = n});
    cp_panel_line(panel, style, n, x, mean, sd);
    return panel;
}

static bool draw_sweep(cp_run *run, const setting *s, const outcome *all) {
    size_t  n = (size_t)s->lambda.count;
    double *room = malloc(3 * n * sizeof *room);
    char(*texts)[24] = malloc(n * sizeof *texts);
    const char **names = malloc(n * sizeof *names);
    bool         fine = (room && texts && names) || cp_fail(&run->status, "out of memory for the figures");
    if (fine) {
        for (size_t l = 0; l < n; l++) {
            snprintf(texts[l], sizeof texts[l], "%g", s->lambda.at[l]);
            names[l] = texts[l];
        }
        cp_figure *figure =
            cp_figure_new((cp_figure_config){.title = "From two independent models to one: the strength of the coupling"});
        cp_panel *left = draw_against_lambda(figure, s, names, (cp_style){.color = 0, .label = "hybrid"}, "accuracy", "accuracy, %",
                                             all->hybrid, room);
        cp_panel_level(left, (cp_style){.color = 7, .dash = CP_DOTTED, .label = "best possible"}, cp_geometry_bayes(s->geometry));
        draw_against_lambda(figure, s, names, (cp_style){.color = 0}, "how far apart the heads are", "head distance", all->distance,
                            room);
        cp_figure_caption(
            figure,
            "The hybrid for each strength lambda of the coupling: mean over %d repetition%s, with bars of one standard "
            "deviation. Where a repetition diverged there is no mark.",
            s->repeats, s->repeats == 1 ? "" : "s");
        fine = save(run, figure, "sweep");
    }
    free(room);
    free(texts);
    free(names);
    return fine;
}

/* ---- the command ---- */

static bool outcome_new(outcome *all, const setting *s) {
    size_t  n = (size_t)s->repeats, many = n * (size_t)s->lambda.count;
    double *values = malloc((2 * n + 3 * many) * sizeof *values);
    bool   *complete = calloc(n, sizeof *complete);
    if (!values || !complete) {
        free(values);
        free(complete);
        return false;
    }
    for (size_t i = 0; i < 2 * n + 3 * many; i++) values[i] = NAN;
    double *by_lambda = values + 2 * n;
    *all = (outcome){values, values + n, by_lambda, by_lambda + many, by_lambda + 2 * many, complete};
    return true;
}

static void outcome_free(outcome *all) {
    free(all->labeled);
    free(all->complete);
}

static void write_report(cp_run *run) {
    cp_run_name path = cp_run_path(run, "report.html");
    if (cp_report_write((const char *[]){run->folder}, 1, path.s, &run->status) && !run->quiet)
        fprintf(run->json ? stderr : stdout, "Report: %s\n", path.s);
}

static void tell_folder(const cp_run *run, const setting *s) {
    if (run->quiet) return;
    fprintf(run->json ? stderr : stdout, "%sResults and figures: %s/ (result.json, data.svg, methods.svg%s)\n",
            run->json ? "" : "\n", run->folder, s->lambda.count > 1 ? ", sweep.svg" : "");
}

/* A run whose main table has a gap has failed, though what it found is saved. */
static void check_divergence(cp_run *run, const setting *s, const outcome *all) {
    for (int m = 0; m < CP_METHODS; m++) {
        int lost = diverged(of_method(s, all, (cp_method)m), s->repeats);
        if (!lost) continue;
        cp_fail(&run->status, "%s diverged in %d of %d repetitions with rate %g%s; the results are in %s",
                cp_method_name((cp_method)m), lost, s->repeats, s->rate,
                m == CP_METHOD_HYBRID ? ": take a smaller --rate or --lambda" : ": take a smaller --rate", run->folder);
        return;
    }
}

static int complete(cp_run *run, const setting *s, outcome *all) {
    compute(run, s, all);
    bool drawn = cp_run_goes_on(run) && draw_first(run, s, s->lambda.at[main_lambda(s)]) &&
                 (s->lambda.count == 1 || draw_sweep(run, s, all));
    if (drawn && cp_run_goes_on(run) && finish(run, s, all)) {
        tell_folder(run, s);
        if (cp_option_flag(run->options, "report")) write_report(run);
        check_divergence(run, s, all);
    }
    outcome_free(all);
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
    if (run->state == CP_RUN_FINISHED) {
        if (cp_option_flag(o, "report")) write_report(run);
        return cp_run_show(run);
    }
    if (!outcome_new(&all, &s)) {
        cp_fail(&run->status, "out of memory for %d repetitions", s.repeats);
        return cp_run_close(run);
    }
    return complete(run, &s, &all);
}

const cp_command cp_command_synthetic = {
    .name = "synthetic",
    .purpose = "the paper's first experiment: two Gaussian classes, few labels",
    .details = "Trains the Gaussian-coupled softmax layer on its own (hybrid), beside a softmax layer that sees only "
               "the labeled points (labeled) and one that sees all points with all labels (supervised). Prints "
               "accuracies beside the paper's and draws data, posteriors and decision boundaries.",
    .example = "couplet synthetic --lambda 0,0.1,1,10 --rate 0.0001 --steps 30000 --out runs/sweep --report",
    .options = options,
    .run = run_synthetic,
};
