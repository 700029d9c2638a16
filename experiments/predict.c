/* couplet predict: posteriors and energies of a saved model for inputs from files. */
#include "core/io/file.h"
#include "experiments/commands.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/train/predictions.h"
#include "experiments/kit/train/run_model.h"
#include "experiments/predict_inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "out", .kind = CP_OPTION_TEXT, .value = "FILE",
     .help = "file for the predictions, which replaces an older one: CSV, or by its ending .json, or .npy: the posteriors alone, float32 of shape "
             "(N, classes); default: CSV on the standard output"},
    {.name = "top", .kind = CP_OPTION_INT, .word = "all", .fallback = "all", .min = 1, .max = 1 << 20, .unit = "classes",
     .help = "write only the most probable classes of each input"},
    {.name = "split", .kind = CP_OPTION_CHOICE, .choices = "auto|train|val|test|all", .fallback = "auto",
     .help = "split of an npz file; auto: test, or else its only array of inputs"},
    CP_OPTION_WEIGHTS("selected"),
    {.name = "layout", .kind = CP_OPTION_CHOICE, .choices = "auto|nchw|nhwc", .fallback = "auto",
     .help = "order of the axes of images in npy and npz files: nhwc with the channels last, nchw as in PyTorch; auto: nchw for a model that does "
             "not know its training images, otherwise the order that fits them"},
    {.name = "batch", .kind = CP_OPTION_INT, .fallback = "64", .min = 1, .max = 1 << 20, .unit = "inputs",
     .help = "inputs processed at once; fewer need less memory"},
    {0}};
/* clang-format on */

/* The predictions for all inputs. */
typedef struct prediction {
    const cp_options    *options;
    cp_run_model        *trained;
    cp_input_blocks      blocks;
    cp_predicted        *found; /* (blocks) */
    cp_prediction_lines *lines; /* (blocks) */
    cp_prediction_table  table;
    int                 *histogram;      /* (classes) */
    int                  bad, first_bad; /* inputs */
    double               confidence;     /* mean over the others; NaN when there are none */
} prediction;

/* ---- computing ---- */

static bool predict_block(prediction *p, int b, cp_status *status) {
    cp_input_block *block = &p->blocks.at[b];
    cp_predicted   *found = &p->found[b];
    block->inputs.batch = (int)cp_option_int(p->options, "batch");
    if (!cp_model_predict(p->trained->model, &block->inputs, found, status)) return false;
    if (*found->warning.message) cp_complain(p->options, "warning: %s", found->warning.message);
    p->lines[b] = (cp_prediction_lines){block->inputs.count, found->posterior, found->energy, block->name, block->files};
    return true;
}

/* Adds up the confidences of a block, before which there are `done` others. */
static double count_block(prediction *p, int b, int done) {
    double sum = 0;
    if (p->found[b].bad && !p->bad) p->first_bad = done + p->found[b].first_bad;
    p->bad += p->found[b].bad;
    for (int i = 0; i < p->lines[b].n; i++) {
        const double *row = p->found[b].posterior + (size_t)i * (size_t)p->table.classes;
        int           best = cp_prediction_next(row, p->table.classes, -1);
        if (best >= 0) p->histogram[best]++, sum += row[best];
    }
    return sum;
}

static bool predict(prediction *p, cp_status *status) {
    const cp_model *model = p->trained->model;
    size_t          count = (size_t)p->blocks.count;
    int             top = (int)cp_option_int(p->options, "top"), classes = model->config.classes, done = 0;
    double          sum = 0;
    p->found = calloc(count, sizeof *p->found);
    p->lines = calloc(count, sizeof *p->lines);
    p->histogram = calloc((size_t)classes, sizeof *p->histogram);
    if (!p->found || !p->lines || !p->histogram) return cp_fail(status, "not enough memory for the predictions");
    p->table = (cp_prediction_table){.lines = p->lines,
                                     .count = p->blocks.count,
                                     .classes = classes,
                                     .class_names = model->about.class_names,
                                     .top = top < classes ? top : classes};
    for (int b = 0; b < p->blocks.count; b++) {
        if (!predict_block(p, b, status)) return false;
        sum += count_block(p, b, done);
        done += p->lines[b].n;
    }
    p->confidence = sum / (done - p->bad);
    return true;
}

/* ---- writing ---- */

static void put_json(const prediction *p, const char *out, cp_json_writer *w) {
    const cp_options *o = p->options;
    size_t            classes = (size_t)p->table.classes;
    cp_json_put_object(w, NULL);
    cp_json_put_string(w, "command", "predict");
    cp_json_put_string(w, "model", cp_argument(o, 0));
    cp_json_put_number(w, "temperature", p->trained->temperature);
    cp_json_put_array(w, "inputs");
    for (int i = 1; i < cp_argument_count(o); i++) cp_json_put_string(w, NULL, cp_argument(o, i));
    cp_json_put_end(w);
    if (out) cp_json_put_string(w, "output", out);
    cp_json_put_integer(w, "n", p->blocks.inputs);
    cp_json_put_integer(w, "classes", p->table.classes);
    if (p->table.class_names) cp_json_put_strings(w, "class_names", p->table.class_names, classes);
    cp_json_put_integers(w, "histogram", p->histogram, classes);
    cp_json_put_number(w, "mean_confidence", p->confidence);
    cp_json_put_integer(w, "not_finite", p->bad);
    if (!out) cp_predictions_put(&p->table, w, "predictions");
    cp_json_put_end(w);
}

static bool write_npy(const prediction *p, const char *out, cp_status *status) {
    size_t classes = (size_t)p->table.classes, done = 0;
    float *values = malloc(((size_t)p->blocks.inputs * classes + 1) * sizeof *values);
    if (!values) return cp_fail(status, "not enough memory for %s", out);
    for (int b = 0; b < p->blocks.count; b++)
        for (size_t i = 0; i < (size_t)p->lines[b].n * classes; i++) values[done++] = (float)p->found[b].posterior[i];
    bool ok = cp_npy_write(out, CP_F32, 2, (int64_t[]){p->blocks.inputs, p->table.classes}, values, status);
    free(values);
    return ok;
}

static bool write_predictions(const prediction *p, cp_status *status) {
    const char    *out = cp_option_text(p->options, "out");
    cp_json_writer w = {.pretty = true};
    if (out && cp_path_ends_in(out, ".npy")) return write_npy(p, out, status);
    if (!(out ? cp_path_ends_in(out, ".json") : cp_option_flag(p->options, "json")))
        return cp_predictions_save(&p->table, out, status);
    put_json(p, NULL, &w);
    return out ? cp_json_writer_save(&w, out, status) : cp_json_writer_print(&w, stdout, status);
}

static void print_summary(const prediction *p, const char *out) {
    enum { MAX_LINES = 24 }; /* with more classes, only those that were found */
    const cp_model *model = p->trained->model;
    int             n = p->blocks.inputs, classes = p->table.classes;
    cp_table       *table = cp_table_new(3, "class", "inputs", "share");
    printf("%s with %s head, %zu parameters: %d input%s, %d classes\n", model->config.model, model->config.head,
           cp_params_size(model->params), n, n == 1 ? "" : "s", classes);
    for (int c = 0; c < classes; c++) {
        if (classes > MAX_LINES && p->histogram[c] == 0) continue;
        cp_table_text(table, "%s", cp_class_text(p->table.class_names, "", c).s);
        cp_table_text(table, "%d", p->histogram[c]);
        cp_table_text(table, "%.1f %%", n ? 100.0 * p->histogram[c] / n : 0.0);
    }
    cp_table_conclude(table, NULL, NULL, stdout);
    if (isfinite(p->confidence)) printf("mean confidence %.4f\n", p->confidence);
    printf("predictions are in %s\n", out);
}

/* ---- the command ---- */

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A path that cannot be written is reported before the work, not after it. */
static bool can_write(const cp_options *o, cp_status *status) {
    const char *out = cp_option_text(o, "out");
    for (int i = 0; out && i < cp_argument_count(o); i++)
        if (same_file(out, cp_argument(o, i))) return cp_fail(status, "--out %.200s is one of the files to read", out);
    return !out || cp_file_writable(out, status);
}

static bool work(prediction *p, cp_status *status) {
    const cp_options *o = p->options;
    const char       *out = cp_option_text(o, "out");
    if (!can_write(o, status)) return false;
    p->trained = cp_run_model_open(cp_argument(o, 0), (cp_weights)cp_option_choice(o, "weights"), status);
    if (!p->trained || !cp_input_blocks_read(o, 1, p->trained->model, &p->blocks, status)) return false;
    if (!predict(p, status) || !write_predictions(p, status)) return false;
    if (out && cp_option_flag(o, "json")) {
        cp_json_writer w = {.pretty = true};
        put_json(p, out, &w);
        if (!cp_json_writer_print(&w, stdout, status)) return false;
    } else if (out && !cp_option_flag(o, "quiet")) {
        print_summary(p, out);
    }
    if (!p->bad) return true; /* otherwise the file is there, for a look at the rows at fault; nobody must take it for a result */
    return cp_fail(
        status, "%d of %d inputs gave posteriors or energies that are not finite, the first of them row %d of the predictions; %s",
        p->bad, p->blocks.inputs, p->first_bad,
        p->bad < p->blocks.inputs ? "look at these inputs" : "look at the model and its inputs");
}

static int run(const cp_options *o) {
    cp_status  status = {0};
    prediction p = {.options = o};
    work(&p, &status);
    for (int b = 0; p.found && b < p.blocks.count; b++) cp_predicted_free(&p.found[b]);
    free(p.found), free(p.lines), free(p.histogram);
    cp_input_blocks_free(&p.blocks);
    cp_run_model_free(p.trained);
    return cp_exit_code(o, &status);
}

const cp_command cp_command_predict = {
    .name = "predict",
    .purpose = "predict the classes of images and other inputs with a trained model",
    .arguments = "RUN|MODEL.safetensors INPUT...",
    .details = "RUN is the folder of a model trained by couplet train; MODEL.safetensors is a model's file, which PyTorch can "
               "write too. An INPUT is an npz file (a split, or its only array of inputs), an npy file with one input per row, a "
               "PNG, PGM or PPM picture, or a folder of pictures. Arrays are images (N, H, W, C) or, with --layout nchw, (N, C, H, "
               "W), gray ones also (N, H, W); vectors (N, D); sequences (N, T, D). They have the units of the training, which the "
               "model knows; other numbers are refused, or there is a warning. A model that does not know them takes float32 and "
               "float64 as they are, and uint8 as pixels: x / 127.5 - 1. Each line of the CSV has the input, its class, the "
               "probability of every class, scaled by the model's temperature, and for models with energies E(x) and the density "
               "score -E(x). These are the numbers of couplet evaluate. Files may be pipes of the shell, /dev/stdin or <(command), "
               "up to 1 GiB. Posteriors that are not finite are written too, but the command then fails.",
    .example = "runs/blood cells/ --out predictions.csv",
    .options = options,
    .without = "seed",
    .run = run,
};
