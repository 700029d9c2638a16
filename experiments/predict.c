/* couplet predict: posteriors and energies of a saved model for inputs from files. */
#include "models/predict.h"
#include "core/io/file.h"
#include "core/io/npz.h"
#include "core/io/picture.h"
#include "experiments/commands.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/train/predictions.h"
#include "experiments/kit/train/run_model.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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

enum { LAYOUT_AUTO, LAYOUT_NCHW, LAYOUT_NHWC };
enum { SPLIT_AUTO, SPLIT_TRAIN, SPLIT_VAL, SPLIT_TEST, SPLIT_ALL };

/* ---- the inputs ---- */

/* Inputs of one shape and type. */
typedef struct input_block {
    cp_npy       npy; /* images have their channels last */
    cp_inputs    inputs;
    int         *lengths; /* of sequences, or NULL */
    char       **files;   /* (inputs.count): of pictures, a path each; NULL: the rows of an array, in `name` */
    const char  *name;    /* the argument */
    cp_predicted found;
} input_block;

typedef struct input_blocks {
    input_block *at;
    int          count;
    int          inputs; /* in all */
} input_blocks;

typedef struct reading {
    input_blocks   *blocks;
    const cp_model *model;
    int             layout, split;
    bool            joining; /* the last block is of pictures, and takes more */
    cp_status      *status;
} reading;

static void input_blocks_free(input_blocks *blocks) {
    for (int b = 0; b < blocks->count; b++) {
        input_block *block = &blocks->at[b];
        for (int i = 0; block->files && i < block->inputs.count; i++) free(block->files[i]);
        free(block->files);
        free(block->lengths);
        cp_npy_free(&block->npy);
        cp_predicted_free(&block->found);
    }
    free(blocks->at);
    *blocks = (input_blocks){0};
}

static input_block *add_block(reading *r, const char *name) {
    input_block *more = realloc(r->blocks->at, ((size_t)r->blocks->count + 1) * sizeof *more);
    if (!more) return cp_null(cp_fail(r->status, "not enough memory for %.200s", name));
    r->blocks->at = more;
    r->joining = false;
    more += r->blocks->count++;
    *more = (input_block){.name = name};
    return more;
}

/* ---- arrays ---- */

static bool fail_shape(const cp_npy *npy, const char *name, const char *expected, cp_status *status) {
    return cp_fail(status, "%.200s has shape %s; %s", name, cp_shown_shape(npy->rank, npy->dims).text, expected);
}

/* (N, C, H, W) becomes (N, H, W, C). */
static bool planes_to_last(cp_npy *npy, cp_status *status) {
    size_t channels = (size_t)npy->dims[1], pixels = (size_t)(npy->dims[2] * npy->dims[3]), bytes = cp_dtype_size(npy->dtype);
    char  *to = malloc(npy->size * bytes + 1);
    if (!to) return cp_fail(status, "not enough memory for images");
    for (size_t i = 0; i < npy->size; i++) {
        size_t pixel = i / channels % pixels, image = i / channels / pixels, channel = i % channels;
        memcpy(to + i * bytes, (const char *)npy->data + ((image * channels + channel) * pixels + pixel) * bytes, bytes);
    }
    free(npy->data);
    npy->data = to;
    npy->dims[1] = npy->dims[2], npy->dims[2] = npy->dims[3], npy->dims[3] = (int64_t)channels;
    return true;
}

/* Of the images that the model takes; 0: it takes other inputs than images. */
static int channels_of(const cp_model *model) {
    const cp_net_input *net = &model->net->input;
    if (model->about.input.shape.rank == 3) return model->about.input.shape.dims[2];
    return net->shape.rank == 3 && !net->flattened ? net->shape.dims[2] : 0;
}

/* Whether images of four axes have their channels first, by --layout and by what is known of the training. */
static bool has_planes(const reading *r, const cp_npy *npy) {
    int channels = channels_of(r->model);
    if (r->layout != LAYOUT_AUTO) return r->layout == LAYOUT_NCHW;
    return r->model->about.input.shape.rank != 3 || (npy->dims[3] != channels && npy->dims[1] == channels);
}

static bool fit_images(const reading *r, cp_npy *npy, const char *name) {
    const cp_net_input *net = &r->model->net->input;
    bool                gray = npy->rank == 3 && channels_of(r->model) == 1, planes = npy->rank == 4 && has_planes(r, npy);
    int  h = (int)npy->dims[planes ? 2 : 1], w = (int)npy->dims[planes ? 3 : 2], c = gray ? 1 : (int)npy->dims[planes ? 1 : 3];
    char expected[320];
    if ((gray || npy->rank == 4) && cp_net_input_fits(net, CP_SHAPE(1, h, w, c))) {
        if (gray) npy->dims[npy->rank++] = 1;
        return !planes || planes_to_last(npy, r->status);
    }
    snprintf(expected, sizeof expected, "this model takes %s%s",
             net->flattened ? cp_dims_text(r->model->about.input.shape).s : cp_net_input_show(net).s,
             planes ? ", with the channels first unless you give --layout nhwc" : "; give --layout nchw if the channels are first");
    return fail_shape(npy, name, expected, r->status);
}

/* An array whose rows are inputs; the block takes it. */
static bool add_array(reading *r, cp_npy *npy, const char *name) {
    const cp_preprocessing *known = &r->model->about.input;
    input_block            *block = add_block(r, name);
    if (!block) return false;
    block->npy = *npy;
    *npy = (cp_npy){0};
    cp_npy *own = &block->npy;
    if (!cp_preprocessing_known(known) && own->dtype != CP_F32 && own->dtype != CP_F64 && own->dtype != CP_U8)
        return cp_fail(r->status, "%.200s has elements of type %s; float32, float64 or uint8 (pixels) are expected", name,
                       cp_dtype_name(own->dtype));
    if (own->rank < 2) return fail_shape(own, name, "this model takes one input per row: at least two axes", r->status);
    for (int i = 0; i < own->rank; i++)
        if (own->dims[i] > INT_MAX) return fail_shape(own, name, "at most 2147483647 along each axis", r->status);
    if (channels_of(r->model) && !fit_images(r, own, name)) return false;
    cp_shape shape = {.rank = own->rank - 1};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = (int)own->dims[i + 1];
    block->inputs = (cp_inputs){own->dtype, own->data, (int)own->dims[0], shape, .name = name};
    return true;
}

static bool is_inputs(const char *array) {
    const char *end = strrchr(array, '_');
    return strcmp(end ? end + 1 : array, "images") == 0 || strcmp(end ? end + 1 : array, "x") == 0;
}

/* The lengths of the sequences in array SPLIT_x, if there is an array SPLIT_length. */
static bool add_lengths(reading *r, const cp_npz *npz, const char *array, const char *name) {
    input_block *block = &r->blocks->at[r->blocks->count - 1];
    cp_npy       npy;
    char         lengths[80], what[300];
    const char  *end = strrchr(array, '_');
    snprintf(lengths, sizeof lengths, "%.*slength", end ? (int)(end - array) + 1 : 0, array);
    if (block->inputs.shape.rank != 2 || !cp_npz_has(npz, lengths)) return true;
    snprintf(what, sizeof what, "%.200s: %s", name, lengths);
    if (!cp_npz_read(npz, lengths, &npy, r->status)) return false;
    bool ok = npy.size == (size_t)block->inputs.count ||
              cp_fail(r->status, "%s has %zu numbers for %d sequences", what, npy.size, block->inputs.count);
    block->lengths = ok ? cp_npy_to_int32(&npy, what, r->status) : NULL;
    block->inputs.lengths = block->lengths;
    cp_npy_free(&npy);
    return block->lengths;
}

static bool add_entry(reading *r, const cp_npz *npz, const char *array, const char *name) {
    cp_npy npy;
    if (!cp_npz_read(npz, array, &npy, r->status)) return false;
    bool ok = add_array(r, &npy, name) && add_lengths(r, npz, array, name);
    cp_npy_free(&npy);
    return ok;
}

/* The only array of inputs, or else the only array; NULL: there are several. */
static const char *only_array(const cp_npz *npz) {
    const char *found = cp_npz_count(npz) == 1 ? cp_npz_name(npz, 0) : NULL;
    int         count = 0;
    for (size_t i = 0; i < cp_npz_count(npz); i++)
        if (is_inputs(cp_npz_name(npz, i))) found = cp_npz_name(npz, i), count++;
    return count > 1 ? NULL : found;
}

static bool add_npz(reading *r, const cp_bytes *file, const char *name) {
    static const char *const splits[] = {"test", "train", "val", "test"};
    cp_npz                  *npz = cp_npz_parse(file->data, file->size, name, r->status);
    int                      added = 0;
    bool                     ok = npz;
    for (int s = SPLIT_TRAIN; ok && s < SPLIT_ALL; s++) {
        char array[16];
        if (r->split != SPLIT_ALL && strcmp(splits[s], splits[r->split]) != 0) continue;
        snprintf(array, sizeof array, "%s_images", splits[s]);
        if (!cp_npz_has(npz, array)) snprintf(array, sizeof array, "%s_x", splits[s]);
        if (!cp_npz_has(npz, array)) continue;
        ok = add_entry(r, npz, array, name);
        added++;
    }
    const char *only = ok && !added && r->split == SPLIT_AUTO ? only_array(npz) : NULL;
    if (only) ok = add_entry(r, npz, only, name);
    if (ok && !added && !only)
        ok = cp_fail(r->status, "%.200s has no array %s_images or %s_x; give --split train, val or all", name,
                     r->split == SPLIT_ALL ? "SPLIT" : splits[r->split], r->split == SPLIT_ALL ? "SPLIT" : splits[r->split]);
    cp_npz_close(npz);
    return ok;
}

/* ---- pictures ---- */

/* Opaque pictures lose their opacity, and gray ones have three equal colors where the model takes colors. */
static bool fit_channels(const reading *r, cp_picture *p, const char *name) {
    int      wanted = channels_of(r->model), colors = p->channels - (p->channels % 2 == 0);
    size_t   pixels = (size_t)p->height * (size_t)p->width, bytes = (size_t)p->depth / 8;
    bool     opaque = true, keep = p->channels == wanted || (colors != wanted && !(colors == 1 && wanted == 3));
    uint8_t *from = p->pixels, *to = keep ? NULL : malloc(pixels * (size_t)wanted * bytes);
    if (keep) return true; /* it fits, or the message about its shape says that it does not */
    if (!to) return cp_fail(r->status, "not enough memory for %.200s", name);
    for (size_t i = 0; i < pixels; i++) {
        const uint8_t *pixel = from + i * (size_t)p->channels * bytes;
        for (size_t b = 0; p->channels > colors && b < bytes; b++) opaque &= pixel[(size_t)colors * bytes + b] == 255;
        for (size_t c = 0; c < (size_t)wanted; c++)
            memcpy(to + (i * (size_t)wanted + c) * bytes, pixel + (colors == 1 ? 0 : c) * bytes, bytes);
    }
    free(p->pixels);
    p->pixels = to;
    p->channels = wanted;
    return opaque || cp_fail(r->status, "%.200s is partly transparent; put it on a background first", name);
}

static bool append_picture(reading *r, const cp_picture *p, const char *name) {
    cp_dtype     dtype = p->depth == 16 ? CP_U16 : CP_U8;
    cp_shape     shape = CP_SHAPE(p->height, p->width, p->channels);
    size_t       bytes = (size_t)p->height * (size_t)p->width * (size_t)p->channels * cp_dtype_size(dtype);
    input_block *block = r->joining ? &r->blocks->at[r->blocks->count - 1] : add_block(r, name);
    if (!block) return false;
    cp_inputs *in = &block->inputs;
    size_t     count = (size_t)in->count;
    if (!count) *in = (cp_inputs){.dtype = dtype, .shape = shape, .name = name};
    if (in->dtype != dtype || !cp_shapes_equal(in->shape, shape))
        return cp_fail(r->status, "%.150s is a picture %s of %s; %.150s is %s of %s. Pictures of one size are expected", name,
                       cp_dims_text(shape).s, cp_dtype_numpy(dtype), block->files[0], cp_dims_text(in->shape).s,
                       cp_dtype_numpy(in->dtype));
    char **files = realloc(block->files, (count + 1) * sizeof *files);
    if (files) block->files = files;
    char *data = realloc(block->npy.data, (count + 1) * bytes);
    if (data) in->elements = block->npy.data = data;
    if (!files || !data || !(files[count] = strdup(name))) return cp_fail(r->status, "not enough memory for %.200s", name);
    block->name = in->name = files[0]; /* `name` does not last */
    memcpy(data + count * bytes, p->pixels, bytes);
    in->count++;
    return r->joining = true;
}

static bool add_picture(reading *r, const cp_bytes *file, const char *name) {
    cp_picture p;
    if (!cp_picture_parse(file->data, file->size, name, &p, r->status)) return false;
    bool ok = fit_channels(r, &p, name) && append_picture(r, &p, name);
    cp_picture_free(&p);
    return ok;
}

/* ---- arguments ---- */

static bool add_path(reading *r, const char *path) {
    cp_bytes file;
    bool     ok = false;
    if (!cp_file_read(path, PTRDIFF_MAX, &file, r->status)) return false;
    if (file.size >= 4 && memcmp(file.data, "PK", 2) == 0) {
        ok = add_npz(r, &file, path);
    } else if (file.size >= 6 && memcmp(file.data, "\x93NUMPY", 6) != 0 && channels_of(r->model)) {
        ok = add_picture(r, &file, path);
    } else {
        cp_npy npy = {0};
        ok = cp_npy_parse(file.data, file.size, path, &npy, r->status) && add_array(r, &npy, path);
        cp_npy_free(&npy);
    }
    cp_bytes_free(&file);
    return ok;
}

static int is_picture(const struct dirent *entry) { return cp_picture_named(entry->d_name); }

/* The pictures of a folder, by name. */
static bool add_folder(reading *r, const char *path) {
    struct dirent **entries;
    int             count = scandir(path, &entries, is_picture, alphasort);
    bool            ok =
        count > 0 || cp_fail(r->status, "%.300s: %s", path, count ? "cannot read the folder" : "there is no PNG, PGM or PPM file");
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        ok = ok && add_path(r, file);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return ok;
}

/* Reads the arguments from `first` on. False with a message, and then there is something to free too. */
static bool read_inputs(const cp_options *o, int first, const cp_model *model, input_blocks *blocks, cp_status *status) {
    reading r = {.blocks = blocks,
                 .model = model,
                 .layout = cp_option_choice(o, "layout"),
                 .split = cp_option_choice(o, "split"),
                 .status = status};
    *blocks = (input_blocks){0};
    for (int i = first; i < cp_argument_count(o); i++) {
        struct stat about;
        const char *path = cp_argument(o, i);
        bool        folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
        if (!(folder ? add_folder(&r, path) : add_path(&r, path))) return false;
    }
    int64_t all = 0;
    for (int b = 0; b < blocks->count; b++) all += blocks->at[b].inputs.count;
    blocks->inputs = (int)all;
    return all <= INT_MAX || cp_fail(status, "%lld inputs are too many at once", (long long)all);
}

/* ---- computing ---- */

/* The predictions for all inputs. */
typedef struct prediction {
    const cp_options    *options;
    cp_run_model        *trained;
    input_blocks         blocks;
    cp_prediction_lines *lines; /* (blocks) */
    cp_prediction_table  table;
    int                 *histogram;      /* (classes) */
    int                  bad, first_bad; /* inputs */
    double               confidence;     /* mean over the others; NaN when there are none */
} prediction;

static bool predict_block(prediction *p, int b, cp_status *status) {
    input_block  *block = &p->blocks.at[b];
    cp_predicted *found = &block->found;
    block->inputs.batch = (int)cp_option_int(p->options, "batch");
    if (!cp_model_predict(p->trained->model, &block->inputs, found, status)) return false;
    if (*found->warning.message) cp_complain(p->options, "warning: %s", found->warning.message);
    p->lines[b] = (cp_prediction_lines){block->inputs.count, found->posterior, found->energy, block->name, block->files};
    return true;
}

/* Adds up the confidences of a block, before which there are `done` others. */
static double count_block(prediction *p, int b, int done) {
    const cp_predicted *found = &p->blocks.at[b].found;
    double              sum = 0;
    if (found->bad && !p->bad) p->first_bad = done + found->first_bad;
    p->bad += found->bad;
    for (int i = 0; i < p->lines[b].n; i++) {
        const double *row = found->posterior + (size_t)i * (size_t)p->table.classes;
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
    p->lines = calloc(count, sizeof *p->lines);
    p->histogram = calloc((size_t)classes, sizeof *p->histogram);
    if (!p->lines || !p->histogram) return cp_fail(status, "not enough memory for the predictions");
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
    cp_json_put_strings(w, "inputs", cp_arguments(o) + 1, (size_t)cp_argument_count(o) - 1);
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
        for (size_t i = 0; i < (size_t)p->lines[b].n * classes; i++) values[done++] = (float)p->lines[b].posterior[i];
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
    if (!p->trained || !read_inputs(o, 1, p->trained->model, &p->blocks, status)) return false;
    if (!predict(p, status) || !write_predictions(p, status)) return false;
    if (out && cp_option_flag(o, "json")) {
        cp_json_writer w = {.pretty = true};
        put_json(p, out, &w);
        if (!cp_json_writer_print(&w, stdout, status)) return false;
    } else if (out && !cp_option_flag(o, "quiet")) {
        print_summary(p, out);
    }
    if (!p->bad) return true; /* otherwise the file is there to show the rows at fault, and must not be taken for a result */
    return cp_fail(
        status, "%d of %d inputs gave posteriors or energies that are not finite, the first of them row %d of the predictions; %s",
        p->bad, p->blocks.inputs, p->first_bad,
        p->bad < p->blocks.inputs ? "look at these inputs" : "look at the model and its inputs");
}

static int run(const cp_options *o) {
    cp_status  status = {0};
    prediction p = {.options = o};
    work(&p, &status);
    free(p.lines), free(p.histogram);
    input_blocks_free(&p.blocks);
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
