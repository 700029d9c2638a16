/* couplet predict: posteriors of a saved model for a batch of inputs, from files and into a file. */
#include "core/io/file.h"
#include "core/io/json.h"
#include "couplet.h"
#include "experiments/commands.h"
#include "experiments/kit/data/dataset.h"
#include "experiments/kit/report/table.h"
#include "models/checkpoint.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NCHW, NHWC };

/* clang-format off */
static const cp_option options[] = {
    {.name = "out", .kind = CP_OPTION_TEXT, .value = "PROBS.npy", .required = true,
     .help = "file for the posteriors, float32 of shape (N, classes); an older one is replaced"},
    {.name = "layout", .kind = CP_OPTION_CHOICE, .choices = "nchw|nhwc", .fallback = "nchw",
     .help = "order of the axes of images: nchw as in PyTorch, nhwc with the channels last"},
    {.name = "batch", .kind = CP_OPTION_INT, .fallback = "64", .min = 1, .max = 1 << 20, .unit = "inputs",
     .help = "inputs processed at once; fewer need less memory, and the result is the same"},
    {0}};
/* clang-format on */

/* How a row of the file becomes a row of the network's input. */
typedef struct input {
    cp_npy      npy;
    const char *path;
    int         n;
    int         rank;              /* of a batch; dims[0] is filled in for each */
    int         dims[CP_MAX_RANK]; /* images are (N, H, W, C) here */
    size_t      row;               /* values */
    bool        planes;            /* the file has each channel as a plane of its own */
} input;

/* ---- checking the input ---- */

static bool fail_shape(const input *in, const char *expected, cp_status *status) {
    return cp_fail(status, "%.200s has shape %s; this model takes %s", in->path, cp_shown_shape(in->npy.rank, in->npy.dims).text,
                   expected);
}

/* Images come in either order of axes. */
static bool fit_images(input *in, const cp_net_input *net, int layout, cp_status *status) {
    bool gray = in->npy.rank == 3 && net->shape.dims[2] == 1, planes = layout == NCHW && !gray;
    char expected[200];
    if (gray || in->npy.rank == 4) {
        const int64_t *d = in->npy.dims;
        int            from[] = {0, planes ? 2 : 1, planes ? 3 : 2, planes ? 1 : 3};
        in->rank = 4;
        for (int i = 1; i < 4; i++) in->dims[i] = gray && i == 3 ? 1 : (int)d[from[i]];
        in->planes = planes && in->dims[3] > 1;
        if (cp_net_input_fits(net, cp_shape_of(4, in->dims))) return true;
    }
    bool other = in->npy.rank == 4 && in->npy.dims[layout == NCHW ? 3 : 1] == net->shape.dims[2];
    snprintf(expected, sizeof expected, "(N, %s%d%s)%s: %d channel%s, H and W at least %d%s", layout == NCHW ? "" : "H, W, ",
             net->shape.dims[2], layout == NCHW ? ", H, W" : "", net->shape.dims[2] == 1 ? " or (N, H, W)" : "", net->shape.dims[2],
             net->shape.dims[2] == 1 ? "" : "s", net->min,
             !other           ? ""
             : layout == NCHW ? "; is it --layout nhwc?"
                              : "; is it --layout nchw?");
    return fail_shape(in, expected, status);
}

static bool fit_others(input *in, const cp_net_input *net, cp_status *status) {
    in->rank = in->npy.rank;
    for (int i = 1; i < in->rank; i++) in->dims[i] = (int)in->npy.dims[i];
    return cp_net_input_fits(net, cp_shape_of(in->rank, in->dims)) || fail_shape(in, cp_net_input_show(net).s, status);
}

static bool fit(input *in, const cp_model *model, int layout, cp_status *status) {
    const cp_npy *npy = &in->npy;
    if (npy->dtype != CP_F32 && npy->dtype != CP_F64 && npy->dtype != CP_U8)
        return cp_fail(status, "%.200s has elements of type %s; float32, float64 or uint8 (pixels) are expected", in->path,
                       cp_dtype_name(npy->dtype));
    if (npy->rank < 2) return fail_shape(in, "one input per row: at least two axes", status);
    in->row = 1;
    for (int i = 0; i < npy->rank; i++) {
        if (npy->dims[i] > INT_MAX) return fail_shape(in, "at most 2147483647 along each axis", status);
        if (i > 0) in->row *= (size_t)npy->dims[i];
    }
    in->n = (int)npy->dims[0];
    const cp_net_input *net = &model->net->input;
    return net->shape.rank == 3 ? fit_images(in, net, layout, status) : fit_others(in, net, status);
}

/* ---- computing ---- */

/* Inputs as the network takes them; channels that are planes in the file become the last axis. */
static cp_tensor *batch_of(cp_tape *tape, const input *in, int first, int rows, cp_status *status) {
    const int           *d = in->dims;
    int                  dims[CP_MAX_RANK];
    const unsigned char *from = (const unsigned char *)in->npy.data + (size_t)first * in->row * cp_dtype_size(in->npy.dtype);
    memcpy(dims, d, sizeof dims);
    dims[0] = rows;
    cp_tensor *x = cp_full(tape, 0, in->planes ? CP_SHAPE(rows, d[3], d[1], d[2]) : cp_shape_of(in->rank, dims));
    if (!x) return cp_null(cp_fail(status, "not enough memory for %d inputs; a smaller --batch needs less", rows));
    if (!cp_inputs_scale(in->npy.dtype, from, (size_t)rows * in->row, x->data, in->path, status)) return NULL;
    return in->planes ? cp_permute(tape, x, (int[]){0, 2, 3, 1}) : x;
}

static bool predict_rows(cp_tape *tape, const cp_model *model, const input *in, int first, int rows, float *out,
                         cp_status *status) {
    cp_tensor *x = batch_of(tape, in, first, rows, status), *p = x ? cp_model_posterior(tape, model, x, CP_EVALUATION) : NULL;
    if (!p) return *status->message ? false : cp_fail(status, "the network refused a batch of %d inputs", rows);
    for (size_t i = 0; i < p->size; i++) out[(size_t)first * (size_t)model->config.classes + i] = (float)p->data[i];
    cp_tape_reset(tape);
    return true;
}

/* The posteriors of all rows, to be freed; NULL after an error. */
static float *predict(const cp_model *model, const input *in, int max, cp_status *status) {
    size_t   count;
    bool     fits = cp_size_mul((size_t)in->n, (size_t)model->config.classes, &count) && count < SIZE_MAX / sizeof(float);
    float   *out = fits ? malloc((count + 1) * sizeof *out) : NULL;
    cp_tape *tape = cp_tape_new();
    bool     ok = (out && tape) || cp_fail(status, "not enough memory for %d inputs", in->n);
    if (ok) cp_tape_pause(tape, true);
    for (int first = 0; ok && first < in->n; first += max) {
        int rows = in->n - first < max ? in->n - first : max;
        ok = predict_rows(tape, model, in, first, rows, out, status);
    }
    cp_tape_free(tape);
    if (!ok) free(out);
    return ok ? out : NULL;
}

/* ---- the summary ---- */

typedef struct summary {
    int    n, classes;
    int    not_finite, first; /* rows; the first of them */
    double confidence;        /* mean over the others; NaN when there are none */
    int   *histogram;
} summary;

static bool summarize(const float *p, int n, int classes, summary *s, cp_status *status) {
    *s = (summary){.n = n, .classes = classes, .histogram = calloc((size_t)classes, sizeof *s->histogram)};
    if (!s->histogram) return cp_fail(status, "not enough memory for %d classes", classes);
    double sum = 0;
    for (int i = 0; i < n; i++, p += classes) {
        int  best = 0;
        bool finite = true;
        for (int c = 0; c < classes; c++) {
            finite &= isfinite(p[c]);
            if (p[c] > p[best]) best = c;
        }
        if (finite)
            s->histogram[best]++, sum += (double)p[best];
        else if (s->not_finite++ == 0)
            s->first = i;
    }
    s->confidence = sum / (double)(n - s->not_finite);
    return true;
}

static bool print_json(const summary *s, const char *model, const input *in, const char *out, cp_status *status) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "predict");
    cp_json_put_string(&w, "model", model);
    cp_json_put_string(&w, "input", in->path);
    cp_json_put_string(&w, "output", out);
    cp_json_put_integer(&w, "n", s->n);
    cp_json_put_integer(&w, "classes", s->classes);
    cp_json_put_integers(&w, "histogram", s->histogram, (size_t)s->classes);
    cp_json_put_number(&w, "mean_confidence", s->confidence);
    cp_json_put_integer(&w, "not_finite", s->not_finite);
    cp_json_put_end(&w);
    return cp_json_writer_print(&w, stdout, status);
}

static void print_summary(const summary *s, const cp_model *model, const char *out) {
    enum { MAX_LINES = 24 };
    printf("%s with %s head, %zu parameters: %d input%s, %d classes\n", model->config.model, model->config.head,
           cp_params_size(model->params), s->n, s->n == 1 ? "" : "s", s->classes);
    cp_table *table = cp_table_new(3, "class", "inputs", "share");
    int       shown = 0, rest = 0;
    for (int c = 0; c < s->classes; c++) {
        if (s->classes > MAX_LINES && (s->histogram[c] == 0 || shown >= MAX_LINES)) {
            rest += s->histogram[c] > 0;
            continue;
        }
        cp_table_text(table, "%d", c);
        cp_table_text(table, "%d", s->histogram[c]);
        cp_table_text(table, "%.1f %%", s->n ? 100.0 * s->histogram[c] / s->n : 0.0);
        shown++;
    }
    cp_table_print(table, stdout);
    cp_table_free(table);
    if (rest) printf("and %d more classes\n", rest);
    if (isfinite(s->confidence)) printf("mean confidence %.4f\n", s->confidence);
    printf("posteriors are in %s\n", out);
}

/* ---- the command ---- */

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Reports a path that cannot be written before the work, not after it. */
static bool can_write(const char *out, const char *model, const char *in, cp_status *status) {
    if (same_file(out, model) || same_file(out, in)) return cp_fail(status, "--out %.200s is one of the files to read", out);
    cp_file_writer *probe = cp_file_writer_new(out, status);
    cp_file_writer_cancel(probe);
    return probe != NULL;
}

static bool work(const cp_options *o, const cp_model *model, input *in, cp_status *status) {
    const char *out = cp_option_text(o, "out");
    summary     s = {0};
    if (!fit(in, model, cp_option_choice(o, "layout"), status)) return false;
    float *p = predict(model, in, (int)cp_option_int(o, "batch"), status);
    bool   ok = p && cp_npy_write(out, CP_F32, 2, (int64_t[]){in->n, model->config.classes}, p, status) &&
              summarize(p, in->n, model->config.classes, &s, status);
    if (ok && cp_option_flag(o, "json"))
        ok = print_json(&s, cp_argument(o, 0), in, out, status);
    else if (ok && !cp_option_flag(o, "quiet"))
        print_summary(&s, model, out);
    if (ok && s.not_finite) /* the file is kept so that the bad rows can be inspected */
        ok = cp_fail(status, "%d of %d inputs gave posteriors that are not finite, the first of them row %d of %.200s; %s",
                     s.not_finite, s.n, s.first, out,
                     s.not_finite < s.n ? "look at these inputs" : "look at the model and its inputs");
    free(s.histogram);
    free(p);
    return ok;
}

static int run(const cp_options *o) {
    cp_status   status = {0};
    const char *path = cp_argument(o, 0), *out = cp_option_text(o, "out");
    input       in = {.path = cp_argument(o, 1)};
    cp_model   *model = can_write(out, path, in.path, &status) ? cp_model_load(path, &status) : NULL;
    if (model && cp_npy_read(in.path, &in.npy, &status)) work(o, model, &in, &status);
    cp_npy_free(&in.npy);
    cp_model_free(model);
    return cp_exit_code(o, &status);
}

const cp_command cp_command_predict = {
    .name = "predict",
    .purpose = "compute the posteriors of a saved model for a batch of inputs",
    .arguments = "MODEL.safetensors INPUT.npy",
    .details = "MODEL.safetensors has the tensors of a model and, as metadata `couplet`, its description; Couplet writes such "
               "files, and so can PyTorch. INPUT.npy has one input per row: images (N, C, H, W), or with --layout nhwc (N, H, W, "
               "C), gray ones also (N, H, W); vectors (N, D); sequences (N, T, D). float32 and float64 are used as they are, uint8 "
               "as pixels: x / 127.5 - 1. The network is in evaluation mode. Either file may be a pipe of the shell, /dev/stdin or "
               "<(command), up to 1 GiB. Posteriors that are not finite are written too, but the command then fails.",
    .example = "model.safetensors test.npy --out probs.npy",
    .options = options,
    .without = "seed",
    .min_arguments = 2,
    .max_arguments = 2,
    .run = run,
};
