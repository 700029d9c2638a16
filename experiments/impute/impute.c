/* couplet impute: missing pixels filled by Langevin chains of a trained model, the known ones held fixed. */
#include "core/io/npy.h"
#include "experiments/commands.h"
#include "experiments/impute/conditional.h"
#include "experiments/kit/data/sheet.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/progress.h"
#include "experiments/kit/train/run_model.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { START_AUTO, START_GAUSSIAN, START_MEAN };
enum { AT_ONCE = 64 };

/* clang-format off */
static const cp_option options[] = {
    {.name = "mask", .kind = CP_OPTION_TEXT, .value = "MASK.npy",
     .help = "mask, 1 where a pixel is missing, 0 elsewhere: (N, H, W), or (H, W) for all images; default: pixels that are NaN are missing; of "
             "tables and sequences a mask has the shape of the rows, or of one"},
    {.name = "length", .kind = CP_OPTION_TEXT, .value = "LENGTH.npy",
     .help = "steps of each sequence that count, whole numbers (N); what is behind them is neither missing nor looked at; default: all"},
    {.name = "from-set", .kind = CP_OPTION_TEXT, .value = "DATA",
     .help = "image set to use instead of IMAGES.npy: its test images, with holes made in them"},
    {.name = "count", .kind = CP_OPTION_INT, .fallback = "32", .min = 1, .max = 1e6, .unit = "images", .help = "number of images taken from --from-set"},
    {.name = "hole", .kind = CP_OPTION_CHOICE, .choices = "center|half|random", .fallback = "center",
     .help = "hole in the images of --from-set: the middle, the lower half, or half of the pixels at random"},
    {.name = "chains", .kind = CP_OPTION_INT, .fallback = "8", .min = 1, .max = 1000, .help = "chains per image, whose final values are averaged"},
    {.name = "start", .kind = CP_OPTION_CHOICE, .choices = "auto|gaussian|mean", .fallback = "auto",
     .help = "start of the missing pixels: drawn from the Gaussian of the training pixels given the known ones, or the mean training image; "
             "auto: the Gaussian, where the training had one"},
    {.name = "steps", .kind = CP_OPTION_INT, .word = "run", .fallback = "run", .min = 1, .max = CP_SAMPLER_STEPS_MAX,
     .help = "moves of each chain; run: as many as in a training step"},
    CP_OPTIONS_SAMPLER,
    CP_OPTION_WEIGHTS("end"),
    {0}};
/* clang-format on */

/* ---- images with missing pixels, rows with missing values ---- */

/* The middle, the lower half, half of all pixels at random. Of sequences the steps in the middle, or the later half; of tables the
 * features. */
typedef enum hole { HOLE_CENTER, HOLE_HALF, HOLE_RANDOM } hole;

typedef struct holes {
    int              count;
    cp_shape         shape;          /* (H, W, C), or (D), (T, D) */
    size_t           unit;           /* values that are missing together: C of images, 1 of rows */
    size_t           pixels, values; /* H W, and H W C; of rows both are the number of values */
    cp_real         *images;         /* (count, H, W, C) as the network takes them; 0 where it is not known */
    bool            *missing;        /* (count, H, W) */
    int             *lengths;        /* (count): of sequences, the steps that count; NULL: all */
    bool             truth;          /* the images are known where pixels are missing too: errors can be measured */
    size_t           missing_pixels; /* in all */
    int              untouched;      /* images without a missing pixel */
    int              unknown;        /* images without a known one */
    cp_dtype         dtype;          /* for a file of the same kind: CP_U8, CP_F32 or CP_F64 */
    int              rank;           /* and the same axes: (count, H, W) or (count, H, W, C) */
    cp_npy           given;          /* the file's own numbers; {0}: from a set */
    cp_preprocessing input;          /* the model's */
    cp_status        warning;        /* of cp_preprocessing_check */
} holes;

static void holes_free(holes *h) {
    free(h->images);
    free(h->missing);
    free(h->lengths);
    cp_npy_free(&h->given);
    *h = (holes){0};
}

static bool holes_alloc(holes *h, int count, cp_shape shape, cp_status *status) {
    size_t values, all, pixels;
    *h = (holes){.count = count, .shape = shape, .truth = true};
    bool fits = cp_shape_size(shape, &h->values);
    h->unit = shape.rank == 3 ? (size_t)shape.dims[2] : 1;
    h->pixels = h->values / h->unit;
    fits = fits && cp_size_mul((size_t)count, h->values, &values) && cp_size_mul(values, sizeof *h->images, &all) &&
           cp_size_mul((size_t)count, h->pixels, &pixels);
    h->images = fits ? malloc(all) : NULL;
    h->missing = fits ? calloc(pixels, sizeof *h->missing) : NULL;
    if (h->images && h->missing) return true;
    holes_free(h);
    return cp_fail(status, "not enough memory for %d images", count);
}

static bool count_missing(holes *h, const char *what, cp_status *status) {
    for (int i = 0; i < h->count; i++) {
        size_t here = 0;
        for (size_t p = 0; p < h->pixels; p++) here += h->missing[(size_t)i * h->pixels + p];
        h->missing_pixels += here;
        h->untouched += here == 0;
        h->unknown += here == h->pixels;
    }
    return h->missing_pixels > 0 ||
           cp_fail(status, "%.300s: no %s is missing, so there is nothing to fill", what, h->shape.rank == 3 ? "pixel" : "value");
}

/* ---- holes from files ---- */

static bool array_fits(const cp_npy *npy, const char *path, cp_shape shape, cp_status *status) {
    bool        image = shape.rank == 3, gray = image && shape.dims[2] == 1;
    bool        fits = npy->rank == shape.rank + 1 || (gray && npy->rank == 3);
    const char *rows = image ? "images" : "rows";
    for (int i = 0; fits && i + 1 < npy->rank; i++) fits = npy->dims[i + 1] == shape.dims[i];
    if (npy->dtype != CP_F32 && npy->dtype != CP_F64 && !(image && npy->dtype == CP_U8))
        return cp_fail(status, "%.300s has elements of type %s; %s are expected", path, cp_dtype_name(npy->dtype),
                       image ? "uint8 or floats" : "float32 or float64");
    if (!fits)
        return cp_fail(status, "%.300s has shape %s; the model's %s are (N, %s%s", path, cp_shown_shape(npy->rank, npy->dims).text,
                       rows, cp_dims_text(shape).s + 1, gray ? " or without the last axis" : "");
    if (npy->dims[0] < 1) return cp_fail(status, "%.300s holds no %s", path, rows);
    return npy->dims[0] <= INT_MAX / shape.dims[0] || cp_fail(status, "%.300s holds too many %s", path, rows);
}

static bool read_lengths(const char *path, holes *h, cp_status *status) {
    cp_npy npy = {0};
    if (h->shape.rank != 2) return cp_fail(status, "%.300s: only sequences have lengths", path);
    bool ok = cp_npy_read(path, &npy, status);
    if (ok && (npy.rank < 1 || npy.size != (size_t)h->count || npy.dims[0] != h->count))
        ok = cp_fail(status, "%.300s has shape %s; (%d) is expected, a length for each sequence", path,
                     cp_shown_shape(npy.rank, npy.dims).text, h->count);
    if (ok) h->lengths = cp_npy_to_int32(&npy, path, status);
    cp_npy_free(&npy);
    for (int i = 0; h->lengths && i < h->count; i++)
        if (h->lengths[i] < 1 || h->lengths[i] > h->shape.dims[0])
            return cp_fail(status, "%.300s: sequence %d has length %d; 1 to %d are possible", path, i, h->lengths[i],
                           h->shape.dims[0]);
    return h->lengths != NULL;
}

/* Whether value i of all is beyond the length of its sequence. */
static bool is_beyond(const holes *h, size_t i) {
    return h->lengths && i % h->values >= (size_t)h->lengths[i / h->values] * (size_t)h->shape.dims[1];
}

static bool mask_fits(const cp_npy *npy, const char *path, const holes *h, cp_status *status) {
    const int *d = h->shape.dims;
    int        axes = h->shape.rank == 3 ? 2 : h->shape.rank, extra = npy->rank - axes;
    bool       fits = extra == 0 || (extra == 1 && npy->dims[0] == h->count);
    for (int i = 0; fits && i < axes; i++) fits = npy->dims[extra + i] == d[i];
    if (!fits && h->shape.rank < 3)
        return cp_fail(status, "%.300s has shape %s; a mask has the shape of the rows, or of one row", path,
                       cp_shown_shape(npy->rank, npy->dims).text);
    return fits ||
           cp_fail(status, "%.300s has shape %s; (%d, %d, %d), a mask for each image, or (%d, %d), one for all, is expected", path,
                   cp_shown_shape(npy->rank, npy->dims).text, h->count, d[0], d[1], d[0], d[1]);
}

static bool take_mask(const cp_npy *npy, const char *path, holes *h, cp_status *status) {
    if (!mask_fits(npy, path, h, status)) return false;
    cp_real *values = cp_npy_to_real(npy, path, status);
    if (!values) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < (size_t)h->count * h->pixels; i++) {
        double value = (double)values[npy->size == h->pixels ? i % h->pixels : i];
        h->missing[i] = value == 1 && !is_beyond(h, i * h->unit);
        if (value != 0 && value != 1)
            ok = cp_fail(status, "%.300s has the value %g; a mask has 1 where a pixel is missing and 0 elsewhere", path, value);
    }
    free(values);
    return ok;
}

/* A NaN marks an unknown pixel, which must be missing in the mask, if there is one. */
static bool take_value(const char *path, bool masked, holes *h, size_t i, cp_status *status) {
    bool     image = h->shape.rank == 3;
    size_t   pixel = i / h->unit, width = h->shape.rank > 1 ? (size_t)h->shape.dims[1] : h->values, within = pixel % h->pixels;
    cp_real *value = &h->images[i];
    if (is_beyond(h, i)) *value = 0;
    if (isnan(*value)) {
        *value = 0;
        h->truth = false;
        if (!masked) h->missing[pixel] = true;
        return h->missing[pixel] ||
               cp_fail(status,
                       image ? "%.300s: image %zu has a NaN at row %zu, column %zu, which the mask has as known"
                             : "%.300s: row %zu has a NaN at step %zu, feature %zu, which the mask has as known",
                       path, pixel / h->pixels, within / width, within % width);
    }
    if (!image)
        return isfinite(*value) || cp_fail(status, "%.300s: row %zu has a value that is not finite at step %zu, feature %zu", path,
                                           pixel / h->pixels, within / width, within % width);
    return fabs((double)*value) <= 1.0001 || cp_fail(status,
                                                     "%.300s: image %zu has the value %g at row %zu, column %zu; for this model, "
                                                     "which does not say in which units it was trained, floats must be in [-1, 1]",
                                                     path, pixel / h->pixels, (double)*value, within / width, within % width);
}

/* Takes the array too. */
static bool take_images(cp_npy *npy, const char *path, const char *mask_path, const char *lengths, const cp_preprocessing *input,
                        cp_shape shape, holes *h, cp_status *status) {
    cp_npy mask = {0};
    if (!holes_alloc(h, (int)npy->dims[0], shape, status)) return false;
    h->dtype = npy->dtype;
    h->rank = npy->rank;
    h->given = *npy;
    h->input = *input;
    *npy = (cp_npy){0};
    bool ok = cp_preprocessing_check(input, h->dtype, h->given.data, h->given.size, path, &h->warning, status) &&
              cp_preprocess(input, h->dtype, h->given.data, h->given.size, h->images, path, status) &&
              (!lengths || read_lengths(lengths, h, status)) &&
              (!mask_path || (cp_npy_read(mask_path, &mask, status) && take_mask(&mask, mask_path, h, status)));
    for (size_t i = 0; ok && i < (size_t)h->count * h->values; i++) ok = take_value(path, mask_path != NULL, h, i, status);
    cp_npy_free(&mask);
    ok = ok && count_missing(h, mask_path ? mask_path : path, status);
    if (!ok) holes_free(h);
    return ok;
}

/* IMAGES is a .npy of uint8 or floats, (N, H, W, C) or, gray, (N, H, W), of the given shape, in the units of the model's training; floats
 * are in [-1, 1] when these are not known. MASK, a .npy with 1 where a pixel is missing and 0 elsewhere, is (N, H, W) or, for all images,
 * (H, W). Without it (NULL), NaN mark the missing pixels; with it, they may only be in the holes, and there is no truth. Rows are float32
 * or float64 (N, D) or (N, T, D), and their mask has the same shape, or that of one row. LENGTHS, a .npy of (N) whole numbers or NULL, has
 * the steps of each sequence that count. False with a message, and nothing to free: a shape or value that does not fit, a NaN that the mask
 * has as known, nothing missing at all. */
static bool read_holes(const char *images, const char *mask, const char *lengths, const cp_preprocessing *input, cp_shape shape,
                       holes *h, cp_status *status) {
    cp_npy npy = {0};
    *h = (holes){0};
    bool ok = cp_npy_read(images, &npy, status) && array_fits(&npy, images, shape, status) &&
              take_images(&npy, images, mask, lengths, input, shape, h, status);
    cp_npy_free(&npy);
    return ok;
}

/* ---- holes in a set ---- */

static bool in_hole(hole kind, int y, int x, int height, int width, cp_rng *rng) {
    switch (kind) {
    case HOLE_CENTER: return y >= height / 4 && y < height - height / 4 && x >= width / 4 && x < width - width / 4;
    case HOLE_HALF: return y >= height / 2;
    default: return cp_rng_uniform(rng) < 0.5;
    }
}

/* Holes in `count` images of a split, evenly spread over it. The random ones come from the seed. */
static bool make_holes(const cp_split *split, const cp_preprocessing *input, int count, hole kind, uint64_t seed, holes *h,
                       cp_status *status) {
    cp_rng rng = cp_rng_named(seed, "holes");
    *h = (holes){0};
    if (split->count < count)
        return cp_fail(status, "%d images are wanted, and the %s split has %d", count, split->name, split->count);
    if (!holes_alloc(h, count, split->set->shape, status)) return false;
    bool image = h->shape.rank == 3;
    int  height = h->shape.dims[0], width = image ? h->shape.dims[1] : 1;
    int  across = h->shape.rank == 1 ? 1 : h->shape.dims[1]; /* pixels of a row, features of a step */
    h->input = *input;
    h->dtype = !image || (input->high > input->low && input->dtype != CP_U8) ? CP_F32 : CP_U8;
    h->rank = image && h->shape.dims[2] == 1 ? 3 : 1 + h->shape.rank;
    if (split->lengths) h->lengths = calloc((size_t)count, sizeof *h->lengths);
    if (split->lengths && !h->lengths) {
        holes_free(h);
        return cp_fail(status, "not enough memory for %d lengths", count);
    }
    for (int i = 0; i < count; i++) {
        int row = (int)((int64_t)i * split->count / count);
        cp_split_read(split, &row, 1, h->images + (size_t)i * h->values);
        int steps = split->lengths ? (h->lengths[i] = split->lengths[row]) : height;
        for (int y = 0; y < steps; y++)
            for (int x = 0; x < across; x++)
                h->missing[(size_t)i * h->pixels + (size_t)y * (size_t)across + (size_t)x] =
                    in_hole(kind, y, image ? x : 0, steps, width, &rng);
    }
    if (count_missing(h, split->set->name, status)) return true;
    holes_free(h);
    return false;
}

/* ---- the filled images as a file ---- */

/* Values (count, H, W, C) in [-1, 1] as a .npy of the holes' dtype, axes and units; pixels that are not missing are as they were given. */
static bool write_filled(const holes *h, const cp_real *values, const char *path, cp_status *status) {
    size_t  all = (size_t)h->count * h->values, bytes = cp_dtype_size(h->dtype);
    int64_t dims[4] = {h->count, h->shape.dims[0], h->shape.dims[1], h->shape.dims[2]};
    bool    units = h->input.high > h->input.low || h->input.mean;
    char   *out = malloc(all * bytes);
    if (!out) return cp_fail(status, "not enough memory to write %.300s", path);
    if (h->dtype == CP_U8) cp_pixels_of(values, all, (uint8_t *)out);
    for (size_t i = 0; h->dtype != CP_U8 && i < all; i++) {
        double value = units ? cp_preprocess_undo(&h->input, i, (double)values[i]) : (double)values[i];
        if (h->dtype == CP_F32) ((float *)out)[i] = (float)value;
        if (h->dtype == CP_F64) ((double *)out)[i] = value;
    }
    for (size_t i = 0; h->given.data && i < all; i++)
        if (!h->missing[i / h->unit]) memcpy(out + i * bytes, (const char *)h->given.data + i * bytes, bytes);
    bool ok = cp_npy_write(path, h->dtype, h->rank, dims, out, status);
    free(out);
    return ok;
}

/* ---- walking ---- */

typedef struct imputation {
    const cp_options *options;
    cp_run           *run;
    cp_run_model     *trained;
    cp_sgld_config    sgld;
    holes             holes;
    char              data_md5[CP_MD5_TEXT], mask_md5[CP_MD5_TEXT];
    int               chains;
    cp_real          *mean;     /* (H, W, C): the mean training image */
    cp_real          *filled;   /* (count, H, W, C) */
    cp_conditional   *gaussian; /* where chains start; NULL: from the mean image */
    cp_real          *guess;    /* (count, H, W, C): its conditional mean, without any moves; or NULL */
    int               stuck;
    cp_progress       progress;
    int               first;            /* of the chains of the batch that is being moved; chain k is the image k / chains */
    cp_tensor        *x;                /* the batch */
    int               lengths[AT_ONCE]; /* of its sequences */
    cp_real          *known, *missing;  /* (AT_ONCE, H, W, C): 0 where missing; 1 where missing and 0 elsewhere */
} imputation;

/* The path of the images. */
static const char *data_path(const cp_options *o) {
    const char *set = cp_option_text(o, "from-set");
    return set ? set : cp_argument(o, 1);
}

/* The energy as a function of the missing values only: known values replace those of the chain. */
static cp_tensor *clamped_energy(cp_at at, void *context, cp_tensor *x) {
    const imputation *m = context;
    cp_tensor        *free_part = cp_mul(at, cp_constant(at, m->missing, x->shape), x);
    cp_tensor        *whole = cp_add(at, cp_constant(at, m->known, x->shape), free_part);
    if (whole) whole->lengths = x->lengths;
    return cp_model_energy_of(at, &(cp_model_target){.model = m->trained->model}, whole);
}

static bool look(void *user, const cp_sgld_view *view) {
    imputation *m = user;
    char        text[40];
    snprintf(text, sizeof text, "energy %.4g", view->mean_energy);
    cp_progress_update(&m->progress, (int64_t)m->first * m->sgld.steps + (int64_t)view->step * view->x->dims[0], text);
    return cp_run_should_continue(m->run);
}

/* Sets the missing pixels for the Gaussian, unless they are those of the image before, and computes its guess. */
static void look_at_image(imputation *m, size_t image) {
    size_t         values = m->holes.values, pixels = m->holes.pixels;
    const bool    *mask = m->holes.missing + image * pixels;
    const cp_real *known = m->holes.images + image * values;
    if (image == 0 || memcmp(mask, mask - pixels, pixels * sizeof *mask) != 0) cp_conditional_set(m->gaussian, mask, m->holes.unit);
    cp_conditional_draw(m->gaussian, known, NULL, m->guess + image * values);
}

static void begin_chain(imputation *m, int row, cp_rng *rng) {
    size_t   values = m->holes.values, channels = m->holes.unit;
    size_t   image = (size_t)((m->first + row) / m->chains);
    cp_real *x = m->x->data + (size_t)row * values, *missing = m->missing + (size_t)row * values;
    m->lengths[row] = m->holes.lengths ? m->holes.lengths[image] : 0;
    for (size_t i = 0; i < values; i++) {
        missing[i] = m->holes.missing[image * m->holes.pixels + i / channels];
        m->known[(size_t)row * values + i] = missing[i] != 0 ? 0 : m->holes.images[image * values + i];
    }
    if (m->gaussian && (m->first + row) % m->chains == 0) look_at_image(m, image);
    if (m->gaussian)
        cp_conditional_draw(m->gaussian, m->holes.images + image * values, rng, x);
    else
        memcpy(x, m->mean, values * sizeof *x);
}

/* Adds each chain's part of its image's mean. */
static void end_chain(imputation *m, int row) {
    size_t         values = m->holes.values, image = (size_t)((m->first + row) / m->chains);
    const cp_real *x = m->x->data + (size_t)row * values, *missing = m->missing + (size_t)row * values;
    for (size_t i = 0; i < values; i++)
        if (missing[i] != 0) m->filled[image * values + i] += x[i] / (cp_real)m->chains;
}

static bool walk_batch(imputation *m, cp_tape *tape, int rows, cp_rng *starts, cp_rng *noise, cp_status *status) {
    cp_sgld_report report = {0};
    m->x = cp_tensor_new(cp_shape_rows(rows, m->holes.shape));
    if (!m->x) return cp_fail(status, "not enough memory for %d chains", rows);
    for (int i = 0; i < rows; i++) begin_chain(m, i, starts);
    if (m->holes.lengths) m->x->lengths = m->lengths;
    m->sgld.observer = look;
    m->sgld.observer_user = m;
    bool ok = cp_sgld_run(tape, clamped_energy, m, m->x, &m->sgld, noise, &report) || cp_fail(status, "the sampler failed");
    for (int i = 0; ok && i < rows; i++) end_chain(m, i);
    m->stuck += report.nonfinite;
    cp_tensor_free(m->x);
    return ok;
}

static bool walk(imputation *m, cp_status *status) {
    uint64_t seed = (uint64_t)cp_option_int(m->options, "seed");
    cp_rng   starts = cp_rng_named(seed, "start"), noise = cp_rng_named(seed, "chains");
    int64_t  chains = (int64_t)m->holes.count * m->chains;
    size_t   room = AT_ONCE * m->holes.values * sizeof(cp_real);
    cp_tape *tape = cp_tape_new();
    m->known = malloc(room);
    m->missing = malloc(room);
    m->progress = (cp_progress){.label = "filling", .unit = "moves", .total = chains * m->sgld.steps, .quiet = m->run->quiet};
    bool ok = (m->known && m->missing && tape) || cp_fail(status, "not enough memory for chains");
    cp_progress_start(&m->progress);
    for (; ok && m->first < chains && cp_run_should_continue(m->run); m->first += AT_ONCE)
        ok = walk_batch(m, tape, chains - m->first < AT_ONCE ? (int)(chains - m->first) : AT_ONCE, &starts, &noise, status);
    cp_progress_end(&m->progress);
    cp_tape_free(tape);
    return ok && cp_run_should_continue(m->run);
}

static bool is_missing(const holes *h, size_t value) { return h->missing[value / h->unit]; }

/* The root of the mean squared error over the missing values. `filled` is (count, H, W, C), or with step 0 one image for all. */
static double rmse(const holes *h, const cp_real *filled, size_t step) {
    double sum = 0, count = (double)(h->missing_pixels * h->unit);
    for (size_t i = 0; i < (size_t)h->count * h->values; i++)
        if (is_missing(h, i)) sum += pow((double)(filled[i / h->values * step + i % h->values] - h->images[i]), 2);
    return sqrt(sum / count);
}

/* ---- the result ---- */

static bool save_sheet(const imputation *m, cp_status *status) {
    enum { MASKED, MEAN, FILLED, TRUE, ROWS, MAX = 12 };
    static const char *const names[ROWS] = {"missing", "mean", "filled", "true"};
    const holes             *h = &m->holes;
    int                      columns = h->count < MAX ? h->count : MAX, rows = h->truth ? ROWS : TRUE;
    cp_sheet                *sheet = cp_sheet_new(rows, columns, h->shape);
    cp_real                 *work = malloc(h->values * sizeof *work);
    bool                     ok = (sheet && work) || cp_fail(status, "not enough memory for the picture");
    size_t                   channels = (size_t)h->shape.dims[2], width = (size_t)h->shape.dims[1];
    for (int r = 0; ok && r < rows; r++) cp_sheet_name_row(sheet, r, "%s", names[r]);
    for (int c = 0; ok && c < columns; c++) {
        cp_sheet_name_column(sheet, c, "%d", (int)((int64_t)c * h->count / columns));
        size_t first = (size_t)((int64_t)c * h->count / columns) * h->values;
        for (int r = 0; r < rows; r++) {
            for (size_t i = 0; i < h->values; i++) {
                size_t  pixel = i / channels;
                cp_real checker = (pixel / width + pixel % width) % 2 ? (cp_real)0.35 : (cp_real)-0.35;
                cp_real shown = r == MASKED ? checker : r == MEAN ? m->mean[i] : m->filled[first + i];
                work[i] = r == TRUE || !is_missing(h, first + i) ? h->images[first + i] : shown;
            }
            cp_sheet_put(sheet, r, c, work);
        }
    }
    ok = ok && cp_sheet_save(sheet, cp_run_path(m->run, "filled").s,
                             h->truth ? "From the top: the images with what is missing as a checkerboard, filled with the mean "
                                        "training image, filled by the model, and as they are."
                                      : "From the top: the images with what is missing as a checkerboard, filled with the mean "
                                        "training image, and filled by the model.",
                             status);
    cp_sheet_free(sheet);
    free(work);
    return ok;
}

/* Those within the lengths of sequences. */
static double all_pixels(const holes *h) {
    double all = 0;
    for (int i = 0; i < h->count; i++) all += h->lengths ? h->lengths[i] * h->shape.dims[1] : (double)h->pixels;
    return all;
}

static void put_notes(const imputation *m, cp_json_writer *w, FILE *file) {
    const holes *h = &m->holes;
    cp_json_put_array(w, "notes");
    cp_run_model_note(m->trained, w, file);
    if (*h->warning.message) cp_note_put(w, file, "Warning: %s.", h->warning.message);
    bool rows = h->shape.rank < 3;
    cp_note_put(w, file, "%zu %s are missing, %.1f %% of %d %s. What was filled in is in filled.npy.", h->missing_pixels,
                rows ? "values" : "pixels", 100.0 * (double)h->missing_pixels / all_pixels(h), h->count, rows ? "rows" : "images");
    if (h->truth)
        cp_note_put(w, file,
                    rows ? "Errors are roots of the mean squared error over the missing values, in standard deviations of the "
                           "training split; what the rows had there counts as the truth."
                         : "Errors are roots of the mean squared error over the missing pixels, scaled to the range from -1 to 1; "
                           "what the images had there counts as the truth.");
    else
        cp_note_put(w, file, "The missing values are not known (NaN), so no error can be measured.");
    if (h->untouched) cp_note_put(w, file, "%d images have no missing pixel and are unchanged.", h->untouched);
    if (h->unknown)
        cp_note_put(w, file, "%d images have no known pixel: they are filled with the mean of unconditional samples.", h->unknown);
    if (m->stuck) cp_note_put(w, file, "%d chains ended where their energy is not finite.", m->stuck);
    cp_json_put_end(w);
}

static void put_file(cp_json_writer *w, const char *key, const char *path, const char *md5) {
    if (!path) return;
    cp_json_put_object(w, key);
    cp_json_put_string(w, "file", path);
    cp_json_put_string(w, "md5", md5);
    cp_json_put_end(w);
}

static void put_errors(const imputation *m, cp_json_writer *w, FILE *file) {
    size_t values = m->holes.values;
    struct {
        const char    *key, *title;
        const cp_real *filled;
        size_t         step;
    } ways[] = {{"filled", "by the model", m->filled, values},
                {"gaussian", "by the Gaussian of the training pixels alone, where the chains start", m->guess, values},
                {"mean_filling", "with the mean training image", m->mean, 0}};
    cp_table *table = cp_table_new(2, "missing pixels filled", "RMSE");
    cp_json_put_object(w, "rmse");
    for (int i = 0; i < 3; i++) {
        if (!ways[i].filled) continue;
        double error = rmse(&m->holes, ways[i].filled, ways[i].step);
        cp_json_put_number(w, ways[i].key, error);
        cp_table_text(table, "%s", ways[i].title);
        cp_table_number(table, error, 4);
    }
    cp_json_put_end(w);
    cp_table_conclude(table, w, "table", file);
}

static bool write_result(imputation *m) {
    cp_json_writer w = {.pretty = true};
    FILE          *file = cp_run_begin_result(m->run, &w, "Missing pixels filled by %s", m->trained->name);
    cp_run_model_put(m->trained, &w);
    put_file(&w, "data", data_path(m->options), m->data_md5);
    put_file(&w, "mask", cp_option_text(m->options, "mask"), m->mask_md5);
    cp_json_put_integer(&w, "images", m->holes.count);
    cp_json_put_integer(&w, "missing_pixels", (int64_t)m->holes.missing_pixels);
    cp_json_put_integer(&w, "chains", m->chains);
    cp_sampler_put(&m->sgld, &w, "sampler");
    if (m->holes.truth) put_errors(m, &w, file);
    put_notes(m, &w, file);
    cp_json_put_end(&w);
    return cp_run_conclude(m->run, &w);
}

/* ---- the command ---- */

static bool work(imputation *m, cp_status *status) {
    size_t all = (size_t)m->holes.count * m->holes.values;
    m->filled = malloc(all * sizeof *m->filled);
    if (!m->filled) return cp_fail(status, "not enough memory for %d images", m->holes.count);
    for (size_t i = 0; i < all; i++) m->filled[i] = is_missing(&m->holes, i) ? 0 : m->holes.images[i];
    if (!walk(m, status)) return false;
    return (m->holes.shape.rank < 3 || save_sheet(m, status)) &&
           write_filled(&m->holes, m->filled, cp_run_path(m->run, "filled.npy").s, status) && write_result(m);
}

static bool prepare_start(imputation *m, cp_status *status) {
    int start = cp_option_choice(m->options, "start");
    if (start == START_MEAN || (start == START_AUTO && !m->trained->gaussian)) return true;
    if (!m->trained->gaussian)
        return cp_fail(
            status,
            "the chains of this training started from uniform noise, and it has no Gaussian of the pixels; give --start mean");
    m->gaussian = cp_conditional_new(m->trained->gaussian, cp_shape_range(m->holes.shape));
    m->guess = malloc((size_t)m->holes.count * m->holes.values * sizeof *m->guess);
    return (m->gaussian && m->guess) || cp_fail(status, "not enough memory for the Gaussian of the pixels");
}

static bool load_holes(imputation *m, cp_status *status) {
    const cp_options *o = m->options;
    const char       *set = cp_option_text(o, "from-set"), *mask = cp_option_text(o, "mask"), *path = data_path(o);
    const char       *lengths = cp_option_text(o, "length");
    if (!set)
        return read_holes(path, mask, lengths, &m->trained->model->about.input, m->trained->shape, &m->holes, status) &&
               cp_md5_file(path, m->data_md5, status) && (!mask || cp_md5_file(mask, m->mask_md5, status));
    cp_images *images = cp_images_load_for(set, m->trained->model, status);
    if (images) memcpy(m->data_md5, images->md5, sizeof images->md5);
    cp_shape expected = m->trained->shape;
    bool     ok = images && (cp_shapes_equal(images->set->shape, expected) ||
                         cp_fail(status, "%.200s has inputs of shape %s; the model's have %s", images->name,
                                     cp_dims_text(images->set->shape).s, cp_dims_text(expected).s));
    ok = ok && make_holes(&images->set->splits[CP_IMAGES_TEST], &m->trained->model->about.input, (int)cp_option_int(o, "count"),
                          (hole)cp_option_choice(o, "hole"), (uint64_t)cp_option_int(o, "seed"), &m->holes, status);
    if (ok) m->holes.warning = images->warning;
    cp_images_free(images);
    return ok;
}

static bool load(imputation *m, cp_status *status) {
    const cp_options *o = m->options;
    m->trained = cp_run_model_open(cp_argument(o, 0), (cp_weights)cp_option_choice(o, "weights"), status);
    m->chains = (int)cp_option_int(o, "chains");
    if (!m->trained || !cp_run_model_chains(m->trained, status) ||
        !cp_run_model_sampler(m->trained, o, cp_run_model_option(m->trained, "sgld"), &m->sgld, status) || !load_holes(m, status))
        return false;
    if ((int64_t)m->holes.count * m->chains > INT32_MAX / 2)
        return cp_fail(status, "%d chains for each of %d images are too many", m->chains, m->holes.count);
    m->mean = calloc(m->trained->values, sizeof *m->mean);
    if (!m->mean) return cp_fail(status, "not enough memory for a mean image");
    return prepare_start(m, status) && cp_run_model_mean(m->trained, m->mean, status);
}

static bool right_words(const cp_options *o) {
    bool file = cp_argument_count(o) == 2, set = cp_option_text(o, "from-set") != NULL;
    if (file == set)
        cp_complain(o, file ? "give IMAGES.npy or --from-set, not both" : "give IMAGES.npy after RUN, or --from-set DATA");
    else if (set && (cp_option_text(o, "mask") || cp_option_text(o, "length")))
        cp_complain(o, "--from-set makes its own holes (--hole) and takes no --%s", cp_option_text(o, "mask") ? "mask" : "length");
    else
        return true;
    return false;
}

static int run_impute(const cp_options *o) {
    imputation m = {.options = o};
    cp_status  status = {0};
    int        code = CP_EXIT_FAILED;
    if (!right_words(o)) return CP_EXIT_USAGE;
    if (!load(&m, &status))
        code = cp_exit_code(o, &status);
    else if ((m.run = cp_run_open(o)) && m.run->state == CP_RUN_FINISHED)
        code = cp_run_show_unchanged(m.run, (cp_run_source[]){CP_RUN_MODEL_SOURCES(m.trained),
                                                              {"the data", "data/md5", m.data_md5},
                                                              {"the mask", "mask/md5", m.mask_md5},
                                                              {0}});
    else if (m.run) {
        work(&m, &m.run->status);
        code = cp_run_close(m.run);
    }
    cp_conditional_free(m.gaussian);
    free(m.guess), free(m.mean), free(m.filled), free(m.known), free(m.missing);
    holes_free(&m.holes);
    cp_run_model_free(m.trained);
    return code;
}

const cp_command cp_command_impute = {
    .name = "impute",
    .purpose = "fill in missing pixels of images with a trained model",
    .arguments = "RUN [IMAGES.npy]",
    .details = "RUN is the folder of a hybrid or jem model trained by couplet train. IMAGES.npy has the images, uint8 or floats in "
               "the units of the training, (N, H, W, C) or, gray, (N, H, W). Chains walk down the energy E(x) along the missing "
               "pixels only, with the training's sampler by default; the final values of an image's chains are averaged. The new "
               "run has the filled images as filled.npy, a picture, and the error next to that of the mean training image.",
    .example = "runs/blood --from-set bloodmnist.npz --hole center --out runs/blood-filled --report",
    .options = options,
    .run = run_impute,
};
