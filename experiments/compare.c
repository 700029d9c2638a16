/* couplet compare: runs against each other on the same images, with intervals of their differences and tests. */
#include "experiments/commands.h"
#include "experiments/kit/metrics/paired.h"
#include "experiments/kit/train/predictions.h"
#include "experiments/kit/train/run_model.h"
#include "experiments/kit/train/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "split", .kind = CP_OPTION_CHOICE, .choices = "train|val|test|all", .fallback = "test", .help = "split to compare on"},
    CP_OPTION_WEIGHTS("selected"),
    {0}};
/* clang-format on */

static const cp_metric compared[] = {CP_ACCURACY, CP_BALANCED_ACCURACY, CP_AUC, CP_NLL, CP_BRIER, CP_ECE};
enum { COMPARED = sizeof compared / sizeof *compared };

typedef struct contestant {
    cp_run_model *trained;
    cp_images    *images;
    double       *posterior;
    cp_metrics   *metrics;
} contestant;

/* A metric of a run, less that of the first. */
typedef struct difference {
    int         run;
    cp_metric   metric;
    cp_estimate value;
    double      p, corrected;
    const char *test;
} difference;

typedef struct comparison {
    const cp_options *options;
    cp_run           *run;
    contestant       *of; /* (count) */
    int               count, split;
    const char       *data; /* DATA, or NULL: the set that the runs were trained on */
    const cp_split   *rows;
    const int        *patients;
    difference       *differences; /* (count - 1, COMPARED) */
    char             *sources;     /* md5 of all weights, one after another */
} comparison;

/* ---- loading ---- */

static bool is_data(const char *path) {
    size_t length = strlen(path);
    return strcmp(path, "phantom") == 0 || (length > 4 && strcmp(path + length - 4, ".npz") == 0);
}

/* The same images with the same labels in the same order, whatever the files. */
static bool same_rows(const cp_split *a, const cp_split *b) {
    size_t bytes = (size_t)a->count * a->set->values * cp_dtype_size(a->set->dtype);
    return a->count == b->count && cp_shapes_equal(a->set->shape, b->set->shape) && a->set->dtype == b->set->dtype && a->labels &&
           b->labels && memcmp(a->labels, b->labels, (size_t)a->count * sizeof *a->labels) == 0 &&
           memcmp(a->inputs, b->inputs, bytes) == 0;
}

static bool check_rows(comparison *c, int i, const cp_split *rows, cp_status *status) {
    const cp_images *images = c->of[i].images, *first = c->of[0].images;
    return i == 0 || strcmp(images->md5, first->md5) == 0 || same_rows(c->rows, rows) ||
           cp_fail(status,
                   "%.100s was trained on %.63s and %.100s on %.63s, whose %s splits have other rows; give the set on which both "
                   "are to "
                   "be compared: couplet compare RUN RUN DATA.npz",
                   c->of[0].trained->name, first->name, c->of[i].trained->name, images->name, cp_images_splits[c->split]);
}

static bool load_run(comparison *c, int i, cp_status *status) {
    contestant *of = &c->of[i];
    of->trained = cp_run_model_open(cp_argument(c->options, i), (cp_weights)cp_option_choice(c->options, "weights"), status);
    if (!of->trained) return false;
    if (!c->data && !of->trained->found)
        return cp_fail(status, "%.200s does not say what it was trained on; give the set too: couplet compare RUN RUN DATA.npz",
                       of->trained->name);
    of->images = c->data ? cp_run_model_load(of->trained, c->data, status) : cp_run_model_images(of->trained, status);
    if (!of->images || !cp_run_model_fits(of->trained, of->images->name, of->images->set->shape, of->images->classes, status))
        return false;
    const cp_split *rows = cp_images_rows(of->images, c->split, true, status);
    if (!rows) return false;
    if (i == 0) c->rows = rows, c->patients = of->images->groups[c->split];
    memcpy(c->sources + (size_t)i * (CP_MD5_TEXT - 1), of->trained->md5, CP_MD5_TEXT);
    return check_rows(c, i, rows, status);
}

/* The metrics of the scaled posterior; one seed, so that all runs have the same resamples. */
static bool measure_run(comparison *c, int i, cp_tape *tape, cp_status *status) {
    contestant         *of = &c->of[i];
    const cp_split     *rows = &of->images->set->splits[c->split];
    cp_scores           scores = {0};
    cp_metrics_config   config = {.seed = (uint64_t)cp_option_int(c->options, "seed"), .keep = true};
    const cp_run_model *t = of->trained;
    bool                ok = cp_scores_make(tape, t->model, rows, &scores, status) &&
              (scores.finite || cp_fail(status, "the outputs of %.100s are not finite: there is nothing to compare", t->name));
    if (ok) {
        scores.groups = c->patients;
        cp_predictions p = cp_scores_predictions(&scores, false, t->temperature);
        of->metrics = cp_metrics_new(&p, config, status);
        of->posterior = cp_scores_posterior(&scores, t->temperature);
        ok = of->metrics && (of->posterior || cp_fail(status, "not enough memory for the predictions of %.100s", t->name));
    }
    cp_scores_free(&scores);
    return ok;
}

static void comparison_free(comparison *c) {
    for (int i = 0; c->of && i < c->count; i++) {
        cp_images_free(c->of[i].images);
        cp_run_model_free(c->of[i].trained);
        cp_metrics_free(c->of[i].metrics);
        free(c->of[i].posterior);
    }
    free(c->of), free(c->differences), free(c->sources);
}

/* ---- tests ---- */

static double mcnemar(const comparison *c, int i) {
    int won = 0, lost = 0, classes = c->of[0].metrics->classes;
    for (int k = 0; k < c->rows->count; k++) {
        size_t at = (size_t)k * (size_t)classes;
        bool   first = cp_prediction_next(c->of[0].posterior + at, classes, -1) == c->rows->labels[k];
        bool   other = cp_prediction_next(c->of[i].posterior + at, classes, -1) == c->rows->labels[k];
        won += other && !first, lost += first && !other;
    }
    return cp_sign_test(won, lost);
}

/* Of two classes, by the posterior of the second. */
static bool delong(const comparison *c, int i, double *p, cp_status *status) {
    size_t    n = (size_t)c->rows->count;
    double   *scores = malloc(2 * n * sizeof *scores);
    bool     *marked = malloc(n * sizeof *marked);
    cp_delong test;
    for (size_t k = 0; scores && marked && k < n; k++) {
        scores[k] = c->of[0].posterior[2 * k + 1], scores[n + k] = c->of[i].posterior[2 * k + 1];
        marked[k] = c->rows->labels[k] == 1;
    }
    bool ok = (scores && marked && cp_delong_test((int)n, scores, scores + n, marked, &test)) ||
              cp_fail(status, "not enough memory for DeLong's test");
    if (ok) *p = test.p;
    free(scores), free(marked);
    return ok;
}

static bool compare(const comparison *c, difference *d, cp_status *status) {
    const cp_metrics *a = c->of[0].metrics, *b = c->of[d->run].metrics;
    d->test = "bootstrap";
    if (!cp_metrics_subtract(b, a, d->metric, &d->value, &d->p)) return cp_fail(status, "not enough memory for the differences");
    if (c->patients) return true;
    if (d->metric == CP_ACCURACY) d->p = mcnemar(c, d->run), d->test = "McNemar";
    if (d->metric != CP_AUC || a->classes != 2) return true;
    d->test = "DeLong";
    return delong(c, d->run, &d->p, status);
}

static bool compare_all(comparison *c, cp_status *status) {
    int     tests = (c->count - 1) * COMPARED;
    size_t  room = tests > 0 ? (size_t)tests : 0;
    double *p = calloc(room, sizeof *p);
    c->differences = calloc(room, sizeof *c->differences);
    bool ok = (p && c->differences) || cp_fail(status, "not enough memory for %d comparisons", tests);
    for (int k = 0; ok && k < tests; k++) {
        c->differences[k] = (difference){.run = 1 + k / COMPARED, .metric = compared[k % COMPARED]};
        ok = compare(c, &c->differences[k], status);
        p[k] = c->differences[k].p;
    }
    ok = ok && (cp_holm(tests, p, p) || cp_fail(status, "not enough memory for %d comparisons", tests));
    for (int k = 0; ok && k < tests; k++) c->differences[k].corrected = p[k];
    free(p);
    return ok;
}

/* ---- the result ---- */

static void put_p(cp_table *table, double p) {
    if (isnan(p))
        cp_table_text(table, "-");
    else
        cp_table_text(table, p < 1e-4 ? "< 0.0001" : "%.4f", p);
}

static cp_table *differences_table(const comparison *c, cp_json_writer *w) {
    cp_table *table = cp_table_new(8, "run", "metric", "the first's", "its own", "difference", "p", "p, Holm", "test");
    cp_json_put_array(w, "differences");
    for (const difference *d = c->differences, *end = d + (c->count - 1) * COMPARED; d < end; d++) {
        bool        share = cp_metric_is_share(d->metric);
        double      unit = share ? 100 : 1, a = unit * c->of[0].metrics->of[d->metric].value;
        double      b = unit * c->of[d->run].metrics->of[d->metric].value;
        int         decimals = share ? 1 : 3;
        const char *name = c->of[d->run].trained->name;
        cp_table_text(table, "%s", name);
        cp_table_text(table, "%s%s", cp_metric_title(d->metric), share ? ", %" : "");
        cp_table_number(table, a, decimals);
        cp_table_number(table, b, decimals);
        cp_json_put_object(w, NULL);
        cp_estimate_cell(table, w, "difference", d->value, share);
        put_p(table, d->p);
        put_p(table, d->corrected);
        cp_table_text(table, "%s", d->test);
        cp_json_put_string(w, "run", name);
        cp_json_put_string(w, "metric", cp_metric_name(d->metric));
        cp_json_put_number(w, "first", a);
        cp_json_put_number(w, "own", b);
        cp_json_put_number(w, "p", d->p);
        cp_json_put_number(w, "p_holm", d->corrected);
        cp_json_put_string(w, "test", d->test);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
    return table;
}

static void put_notes(const comparison *c, cp_json_writer *w, FILE *file) {
    const cp_images *images = c->of[0].images;
    const char      *delong = c->of[0].metrics->classes == 2 ? "DeLong's for the AUC, " : "";
    int              tests = 0;
    for (int k = 0; k < (c->count - 1) * COMPARED; k++) tests += !isnan(c->differences[k].p);
    cp_json_put_array(w, "notes");
    cp_note_put(w, file,
                "All runs are compared with %s on the same %d image%s of %s, %s, %s split, by the softmax, each scaled by its own "
                "temperature.",
                c->of[0].trained->name, c->rows->count, c->rows->count == 1 ? "" : "s", images->name, cp_images_origin(images),
                cp_images_splits[c->split]);
    if (c->of[0].metrics->groups == 1)
        cp_note_put(w, file, "One %s gives no intervals, and no p-values of the bootstrap.", c->patients ? "patient" : "image");
    else
        cp_note_put(w, file, "Differences have paired bootstrap intervals of 95 %%%s%s.%s", c->patients ? ", taken over " : "",
                    c->patients ? cp_patients_of(c->of[0].metrics).s : "", cp_patients_few(c->of[0].metrics));
    if (tests && c->patients)
        cp_note_put(w, file,
                    "All p-values are from the bootstrap over patients: the tests of McNemar and DeLong take images for "
                    "independent.");
    else if (tests)
        cp_note_put(w, file, "The p-values are two-sided: McNemar's exact test for the accuracy, %sthe bootstrap for the others.",
                    delong);
    if (tests) cp_note_put(w, file, "Holm's correction is over the %d test%s of this table.", tests, tests == 1 ? "" : "s");
    for (int i = 0; i < c->count; i++) cp_run_model_note(c->of[i].trained, w, file);
    if (*images->warning.message) cp_note_put(w, file, "Warning: %s.", images->warning.message);
    cp_json_put_end(w);
}

static bool write_result(comparison *c) {
    cp_json_writer   w = {.pretty = true};
    const cp_images *images = c->of[0].images;
    FILE *file = cp_run_begin_result(c->run, &w, "%d runs on %s, %s split", c->count, images->name, cp_images_splits[c->split]);
    cp_measured *measured = calloc((size_t)c->count, sizeof *measured);
    if (!measured) return cp_fail(&c->run->status, "not enough memory for the result"), cp_json_writer_free(&w), false;
    cp_images_put(images, &w, "data");
    cp_json_put_string(&w, "split", cp_images_splits[c->split]);
    cp_json_put_string(&w, "models_md5", c->sources);
    cp_json_put_array(&w, "runs");
    for (int i = 0; i < c->count; i++) {
        measured[i] = (cp_measured){c->of[i].trained->name, c->of[i].trained->name, c->of[i].metrics};
        cp_json_put_object(&w, NULL);
        cp_run_model_put(c->of[i].trained, &w);
        cp_metrics_put(c->of[i].metrics, &w, "metrics");
        cp_json_put_end(&w);
    }
    cp_json_put_end(&w);
    cp_table_conclude(differences_table(c, &w), &w, "table", file);
    if (file) fputc('\n', file);
    cp_table_conclude(cp_measured_table(c->count, measured, cp_images_splits[c->split]), &w, "runs_table", file);
    put_notes(c, &w, file);
    cp_json_put_end(&w);
    free(measured);
    return cp_run_conclude(c->run, &w);
}

/* ---- the command ---- */

static bool load(comparison *c, cp_status *status) {
    int given = cp_argument_count(c->options);
    c->data = is_data(cp_argument(c->options, given - 1)) ? cp_argument(c->options, given - 1) : NULL;
    c->count = c->data ? given - 1 : given;
    c->split = cp_option_choice(c->options, "split");
    if (c->count < 2) return cp_fail(status, "two runs or more are needed: couplet compare RUN RUN [DATA.npz]");
    c->of = calloc((size_t)c->count, sizeof *c->of);
    c->sources = calloc((size_t)c->count, CP_MD5_TEXT);
    if (!c->of || !c->sources) return cp_fail(status, "not enough memory for %d runs", c->count);
    for (int i = 0; i < c->count; i++) {
        if (is_data(cp_argument(c->options, i)))
            return cp_fail(status, "%.200s is a set of images; give it last: couplet compare RUN RUN DATA.npz",
                           cp_argument(c->options, i));
        if (!load_run(c, i, status)) return false;
    }
    for (int i = 1; i < c->count; i++)
        if (c->of[i].images->classes != c->of[0].images->classes)
            return cp_fail(status, "%.100s has other classes than %.100s", c->of[i].trained->name, c->of[0].trained->name);
    return true;
}

static bool measure(comparison *c, cp_status *status) {
    cp_tape *tape = cp_tape_new();
    bool     ok = tape || cp_fail(status, "not enough memory for a tape");
    for (int i = 0; ok && i < c->count; i++) ok = cp_run_should_continue(c->run) && measure_run(c, i, tape, status);
    cp_tape_free(tape);
    return ok && compare_all(c, status);
}

static int run_compare(const cp_options *o) {
    comparison c = {.options = o};
    cp_status  status = {0};
    int        code = CP_EXIT_FAILED;
    if (!load(&c, &status))
        code = cp_exit_code(o, &status);
    else if ((c.run = cp_run_open(o)) && c.run->state == CP_RUN_FINISHED)
        code = cp_run_show_unchanged(
            c.run, (cp_run_source[]){{"a model", "models_md5", c.sources}, {"the data", "data/md5", c.of[0].images->md5}, {0}});
    else if (c.run) {
        if (measure(&c, &c.run->status)) write_result(&c);
        code = cp_run_close(c.run);
    }
    comparison_free(&c);
    return code;
}

const cp_command cp_command_compare = {
    .name = "compare",
    .purpose = "compare trained models on the same images, with tests",
    .arguments = "RUN RUN... [DATA]",
    .details =
        "Each RUN is the folder of a model trained by couplet train, or a model's file; all are compared with the first. DATA is "
        "an npz file or phantom; without it, the runs must have been trained on the same set, or on sets with the same rows in the "
        "split. The result has the differences with paired bootstrap intervals, over patients if the set names them; p-values by "
        "McNemar's test for the accuracy, DeLong's for the AUC of two classes, and the bootstrap for the others; and Holm's "
        "correction for their number.",
    .example = "runs/softmax runs/hybrid --out runs/compared --report",
    .options = options,
    .run = run_compare,
};
