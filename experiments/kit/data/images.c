/* Image sets: files in MedMNIST's layout, and the built-in one. */
#include "experiments/kit/data/images.h"

#include "core/io/file.h"
#include "core/io/md5.h"
#include "core/io/npz.h"
#include "experiments/kit/data/medmnist.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const cp_images_splits[] = {"train", "val", "test", "all"};

void cp_images_free(cp_images *images) {
    if (!images) return;
    for (int s = 0; s <= CP_IMAGES_SPLITS; s++) free(images->groups[s]);
    cp_dataset_free(images->set);
    free(images->mean);
    cp_json_free(images->made);
    cp_names_free(&images->classes_named);
    cp_names_free(&images->patients_named);
    free(images);
}

/* ---- reading a file ---- */

/* Images without labels may be in arrays of their own; they are appended to the training split. */
enum { UNLABELED = CP_IMAGES_SPLITS, ARRAYS };

/* A file that is being read. The arrays move into the set, or are freed at the end. */
typedef struct reading {
    cp_images      *images;
    const char     *path;
    const cp_model *model; /* for which the images are; NULL: for a training */
    bool            any;   /* splits and labels may be missing */
    int             first; /* split that there is */
    cp_npz         *npz;
    const char     *inputs; /* "images", or "x" of tables and sequences */
    cp_shape        shape;  /* of an input */
    cp_npy          pixels[ARRAYS];
    int             named; /* classes, by class_names or the model; 0: labels that are text name them */
    int            *labels[ARRAYS], *lengths[ARRAYS], *groups[ARRAYS];
    int             label_kinds, patient_kinds; /* see read_numbers */
    int             nameless;                   /* minus the rows whose patient's name is empty */
    cp_status      *status;
} reading;

static cp_text name_of(int split, const char *what) {
    cp_text name;
    snprintf(name.s, sizeof name.s, "%s_%s", split == UNLABELED ? "unlabeled" : cp_images_splits[split], what);
    return name;
}

/* ---- which arrays there are ---- */

static void list_arrays(const reading *r, char *text, size_t room) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < cp_npz_count(r->npz) && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%.40s", i ? ", " : "", cp_npz_name(r->npz, i));
}

static bool has_split(const reading *r, int split) { return cp_npz_has(r->npz, name_of(split, r->inputs).s); }

static bool has_arrays(reading *r) {
    char there[200];
    r->inputs = "x";
    for (int s = 0; s < CP_IMAGES_SPLITS; s++)
        if (cp_npz_has(r->npz, name_of(s, "images").s)) r->inputs = "images";
    while (r->first < CP_IMAGES_SPLITS && !has_split(r, r->first)) r->first++;
    if (r->first == CP_IMAGES_SPLITS) r->inputs = "images";
    if (r->any && r->first < CP_IMAGES_SPLITS) return true;
    const char *const kinds[] = {r->inputs, "labels"};
    for (int s = 0; s < CP_IMAGES_SPLITS; s++)
        for (int k = 0; k < 2; k++) {
            if (cp_npz_has(r->npz, name_of(s, kinds[k]).s)) continue;
            if (s > CP_IMAGES_TRAIN && k == 0)
                return cp_fail(r->status,
                               "%.150s has no array %s; couplet import %.150s --out NEW.npz takes the missing splits from its "
                               "training split, by class and patient",
                               r->path, name_of(s, kinds[k]).s, r->path);
            list_arrays(r, there, sizeof there);
            return cp_fail(
                r->status,
                "%.150s has no array %s; an image set has {train,val,test}_images and {train,val,test}_labels, this file has %s",
                r->path, name_of(s, kinds[k]).s, *there ? there : "none");
        }
    return true;
}

/* ---- inputs ---- */

static bool fail_shape(const reading *r, cp_text name, const cp_npy *npy, const char *expected) {
    return cp_fail(r->status, "%.200s: %s has shape %s; %s", r->path, name.s, cp_shown_shape(npy->rank - npy->text, npy->dims).text,
                   expected);
}

static bool of_images(const reading *r) { return strcmp(r->inputs, "images") == 0; }

static bool sizes_fit(const reading *r, int split) {
    const cp_npy *npy = &r->pixels[split];
    cp_text       name = name_of(split, r->inputs);
    if (!of_images(r) && (npy->rank < 2 || npy->rank > 3))
        return fail_shape(r, name, npy, "a table is (N, D), sequences are (N, T, D); images are in {train,val,test}_images");
    if (of_images(r) && (npy->rank < 3 || npy->rank > 4)) return fail_shape(r, name, npy, "images are (N, H, W) or (N, H, W, C)");
    if (npy->rank == 4 && (npy->dims[3] < 1 || npy->dims[3] > CP_IMAGES_CHANNELS))
        return fail_shape(r, name, npy,
                          "images are (N, H, W) or (N, H, W, C), the channels last and 1 to 4 of them; volumes are not supported");
    if (npy->dims[0] < 1) return fail_shape(r, name, npy, of_images(r) ? "every split needs images" : "every split needs rows");
    for (int i = 0; i < npy->rank; i++)
        if (npy->dims[i] < 1 || npy->dims[i] > INT_MAX) return fail_shape(r, name, npy, "such sizes cannot be used");
    return true;
}

/* Of one input: (H, W, C), (D) or (T, D). */
static cp_shape shape_of(const reading *r, int split) {
    const cp_npy *npy = &r->pixels[split];
    cp_shape      shape = {.rank = of_images(r) ? 3 : npy->rank - 1, .dims = {1, 1, 1}};
    for (int i = 1; i < npy->rank; i++) shape.dims[i - 1] = (int)npy->dims[i];
    return shape;
}

static bool same_sizes(const reading *r, int split) {
    const cp_npy    *npy = &r->pixels[split];
    const cp_images *images = r->images;
    char             expected[160];
    if (cp_shapes_equal(shape_of(r, split), r->shape)) {
        if (npy->dtype == images->stored) return true;
        return cp_fail(r->status, "%.200s: %s has elements of type %s, but %s %s; one type is expected", r->path,
                       name_of(split, r->inputs).s, cp_dtype_numpy(npy->dtype), name_of(r->first, r->inputs).s,
                       cp_dtype_numpy(images->stored));
    }
    if (of_images(r))
        snprintf(expected, sizeof expected, "the training images are %d x %d with %d channel%s", images->height, images->width,
                 images->channels, images->channels == 1 ? "" : "s");
    else
        snprintf(expected, sizeof expected, "a training row has shape %.95s", cp_dims_text(r->shape).s);
    return fail_shape(r, name_of(split, r->inputs), npy, expected);
}

static bool read_inputs(reading *r, int split) {
    cp_npy    *npy = &r->pixels[split];
    cp_images *images = r->images;
    if (!cp_npz_read(r->npz, name_of(split, r->inputs).s, npy, r->status) || !sizes_fit(r, split)) return false;
    if (split != r->first) return same_sizes(r, split);
    r->shape = shape_of(r, split);
    images->stored = npy->dtype;
    if (!of_images(r)) return true;
    images->height = r->shape.dims[0];
    images->width = r->shape.dims[1];
    images->channels = r->shape.dims[2];
    return true;
}

/* ---- labels, and other whole numbers that images have ---- */

/* The numbers of texts among the names; -1: empty. */
static int *number_texts(const reading *r, const cp_npy *npy, const char *shown, cp_names *names) {
    cp_texts texts;
    if (!cp_npy_to_texts(npy, shown, &texts, r->status)) return NULL;
    int *numbers = malloc((texts.count + 1) * sizeof *numbers);
    bool ok = numbers != NULL;
    for (size_t i = 0; ok && i < texts.count; i++) {
        numbers[i] = *texts.at[i] ? cp_names_add(names, texts.at[i]) : -1;
        ok = numbers[i] >= 0 || !*texts.at[i];
    }
    cp_texts_free(&texts);
    if (ok) return numbers;
    free(numbers);
    return cp_null(cp_fail(r->status, "%s: not enough memory for its texts", shown));
}

/* Labels that are text, for a trained model, have the numbers of its classes, unless the file has class_names. */
static bool take_model_names(reading *r) {
    const char *const *names = r->model && !r->named ? r->model->about.class_names : NULL;
    for (int c = 0; names && c < r->model->config.classes; c++)
        if (cp_names_add(&r->images->classes_named, names[c]) < 0)
            return cp_fail(r->status, "%.200s: not enough memory for the names of its classes", r->path);
    if (names) r->named = r->images->classes_named.count;
    return true;
}

enum { NUMBERS = 1, TEXT = 2 };

/* One number per image, as a new array; NULL after an error. With names, text is allowed too, but not text in one split and numbers in
 * another, which `kinds` remembers. */
static int *read_numbers(reading *r, int split, const char *what, cp_names *names, int *kinds) {
    cp_text name = name_of(split, what);
    int64_t count = r->pixels[split].dims[0];
    char    shown[300], expected[120];
    cp_npy  npy = {0};
    int    *numbers = NULL;
    if (!(names ? cp_npz_read_any(r->npz, name.s, &npy, r->status) : cp_npz_read(r->npz, name.s, &npy, r->status))) return NULL;
    int rank = npy.rank - npy.text;
    snprintf(shown, sizeof shown, "%.200s: %.80s", r->path, name.s);
    snprintf(expected, sizeof expected, "one %s %s is expected, (%lld) or (%lld, 1)", npy.text ? "text" : "number",
             of_images(r) ? "an image" : "a row", (long long)count, (long long)count);
    if (names) *kinds |= npy.text ? TEXT : NUMBERS;
    if (rank == 2 && npy.dims[0] == count && npy.dims[1] > 1)
        fail_shape(r, name, &npy, "several labels an image are not supported: (N) or (N, 1) with the number of the class");
    else if (rank < 1 || rank > 2 || npy.dims[0] != count || (rank == 2 && npy.dims[1] != 1))
        fail_shape(r, name, &npy, expected);
    else if (names && *kinds == (NUMBERS | TEXT))
        cp_fail(r->status, "%s is text, or numbers, unlike in another split", shown);
    else if (!npy.text)
        numbers = cp_npy_to_int32(&npy, shown, r->status);
    else if (names != &r->images->classes_named || take_model_names(r))
        numbers = number_texts(r, &npy, shown, names);
    cp_npy_free(&npy);
    return numbers;
}

/* Steps of each sequence, if the file has them. */
static bool read_lengths(reading *r, int split) {
    cp_text name = name_of(split, "length");
    if (r->shape.rank != 2 || !cp_npz_has(r->npz, name.s)) return true;
    int *lengths = r->lengths[split] = read_numbers(r, split, "length", NULL, NULL);
    for (int64_t i = 0; lengths && i < r->pixels[split].dims[0]; i++)
        if (lengths[i] < 1 || lengths[i] > r->shape.dims[0])
            return cp_fail(r->status, "%.200s: %s is %d in row %lld; a sequence here has 1 to %d steps", r->path, name.s,
                           lengths[i], (long long)i, r->shape.dims[0]);
    return lengths != NULL;
}

static bool read_labels(reading *r, int split) {
    if (r->any && !cp_npz_has(r->npz, name_of(split, "labels").s)) return true;
    r->labels[split] = read_numbers(r, split, "labels", &r->images->classes_named, &r->label_kinds);
    return r->labels[split] != NULL;
}

static bool read_patients(reading *r, int split) {
    const char *what = cp_npz_has(r->npz, name_of(split, "patients").s) ? "patients" : "subject";
    if (!cp_npz_has(r->npz, name_of(split, what).s)) return true;
    r->groups[split] = read_numbers(r, split, what, &r->images->patients_named, &r->patient_kinds);
    for (int64_t i = 0; r->groups[split] && r->patient_kinds == TEXT && i < r->pixels[split].dims[0]; i++)
        if (r->groups[split][i] < 0) r->groups[split][i] = --r->nameless;
    return r->groups[split] != NULL;
}

static bool read_split(reading *r, int split) {
    if (!has_split(r, split)) return true; /* has_arrays has seen that it may be missing */
    return read_inputs(r, split) && read_lengths(r, split) && (split == UNLABELED || read_labels(r, split)) &&
           read_patients(r, split);
}

/* Appends `more` numbers to *to; those that are not known, in either array, are `unknown`. */
static bool append(int **to, int64_t count, const int *more, int64_t more_count, int unknown) {
    if (!*to && !more) return true;
    bool had = *to != NULL;
    int *all = realloc(*to, (size_t)(count + more_count) * sizeof *all);
    if (!all) return false;
    *to = all;
    for (int64_t i = had ? count : 0; i < count + more_count; i++) all[i] = i < count || !more ? unknown : more[i - count];
    return true;
}

static bool append_unlabeled(reading *r) {
    cp_npy *train = &r->pixels[CP_IMAGES_TRAIN], *more = &r->pixels[UNLABELED];
    size_t  width = cp_dtype_size(train->dtype), old = train->size * width, added = more->size * width;
    int64_t count = train->dims[0], more_count = more->dims[0];
    if (!more->data || !train->data) return true;
    char *all = realloc(train->data, old + added);
    if (all) train->data = memcpy(all + old, more->data, added) - old;
    if (!all || !append(&r->labels[CP_IMAGES_TRAIN], count, NULL, more_count, -1) ||
        !append(&r->lengths[CP_IMAGES_TRAIN], count, r->lengths[UNLABELED], more_count, r->shape.dims[0]) ||
        !append(&r->groups[CP_IMAGES_TRAIN], count, r->groups[UNLABELED], more_count, -1))
        return cp_fail(r->status, "%.200s: not enough memory for its unlabeled rows", r->path);
    train->dims[0] += more_count;
    train->size += more->size;
    return true;
}

/* ---- classes ---- */

static bool labels_fit(const reading *r, int split, int *largest) {
    for (int64_t i = 0; r->labels[split] && i < r->pixels[split].dims[0]; i++) {
        int label = r->labels[split][i];
        if (label == -1 && split == CP_IMAGES_TRAIN) continue;
        if (label < 0 || label >= CP_IMAGES_CLASSES)
            return cp_fail(r->status,
                           "%.200s: %s has label %d in row %lld; classes are numbered 0, 1, ..., and at most %d are supported%s",
                           r->path, name_of(split, "labels").s, label, (long long)i, CP_IMAGES_CLASSES,
                           label == -1 ? "; only training images may be without a label (-1)" : "");
        if (label > *largest) *largest = label;
    }
    return true;
}

/* Labels that are text, without an array of the classes' names: the classes are in the order of their names. */
static bool sort_classes(reading *r) {
    if (r->images->classes_named.count == 0) return true;
    int *numbers = cp_names_sort(&r->images->classes_named, true);
    if (!numbers) return cp_fail(r->status, "%.200s: not enough memory for its classes", r->path);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++)
        for (int64_t i = 0; r->labels[s] && i < r->pixels[s].dims[0]; i++)
            if (r->labels[s][i] >= 0) r->labels[s][i] = numbers[r->labels[s][i]];
    free(numbers);
    return true;
}

static bool count_classes(reading *r) {
    int  largest = 0, named = r->images->classes_named.count;
    bool seen[CP_IMAGES_CLASSES] = {false};
    for (int s = 0; s < CP_IMAGES_SPLITS; s++)
        if (!labels_fit(r, s, &largest)) return false;
    if (r->model) {
        int classes = r->model->config.classes;
        r->images->classes = largest < classes ? classes : largest + 1;
        return true;
    }
    if (named > largest + 1 && named <= CP_IMAGES_CLASSES) largest = named - 1;
    r->images->classes = largest + 1;
    if (r->any) return true;
    if (largest == 0) return cp_fail(r->status, "%.200s: all labels are 0; at least two classes are needed", r->path);
    for (int64_t i = 0; i < r->pixels[CP_IMAGES_TRAIN].dims[0]; i++)
        if (r->labels[CP_IMAGES_TRAIN][i] >= 0) seen[r->labels[CP_IMAGES_TRAIN][i]] = true;
    for (int c = 0; c <= largest; c++)
        if (!seen[c])
            return cp_fail(r->status, "%.200s: no training %s has class %d, but labels reach from 0 to %d", r->path,
                           of_images(r) ? "image" : "row", c, largest);
    return true;
}

/* The array class_names, if there is one; an array that is no text is ignored. */
static bool read_class_names(reading *r) {
    cp_npy   npy = {0};
    cp_texts texts = {0};
    if (!cp_npz_has(r->npz, "class_names")) return true;
    bool ok = cp_npz_read_any(r->npz, "class_names", &npy, r->status) &&
              (!npy.text || cp_npy_to_texts(&npy, "class_names", &texts, r->status));
    for (size_t i = 0; ok && i < texts.count; i++)
        ok = cp_names_add(&r->images->classes_named, texts.at[i]) >= 0 ||
             cp_fail(r->status, "%.200s: not enough memory for the names of its classes", r->path);
    r->named = r->images->classes_named.count;
    cp_npy_free(&npy);
    cp_texts_free(&texts);
    return ok;
}

/* ---- pixels that are not bytes ---- */

static double pixel_at(const cp_npy *npy, size_t i) {
    double value;
    cp_elements_to_double(npy->dtype, (const char *)npy->data + i * cp_dtype_size(npy->dtype), 1, &value);
    return value;
}

/* Adds the pixels of a split to a range. */
static bool range_of(const reading *r, int split, double *min, double *max) {
    const cp_npy *npy = &r->pixels[split];
    for (size_t i = 0; i < npy->size; i++) {
        double value = pixel_at(npy, i);
        if (!isfinite(value))
            return cp_fail(r->status, "%.200s: %s has a pixel that is %g in row %zu; all must be finite", r->path,
                           name_of(split, "images").s, value, i / (npy->size / (size_t)npy->dims[0]));
        *min = fmin(*min, value), *max = fmax(*max, value);
    }
    return true;
}

/* By the model for which the images are, or else by the training images; the other splits are only looked at. */
static bool choose_scaling(reading *r) {
    cp_images       *images = r->images;
    cp_preprocessing input = r->model ? r->model->about.input : (cp_preprocessing){0};
    double           min = INFINITY, max = -INFINITY, other = 0;
    if (!range_of(r, r->first, &min, &max)) return false;
    for (int s = r->first + 1; s < CP_IMAGES_SPLITS; s++)
        if (!range_of(r, s, &other, &other)) return false;
    if (!(input.high > input.low)) cp_preprocessing_choose(&input, min, max);
    images->low = input.low, images->high = input.high;
    return images->high > images->low ||
           cp_fail(r->status, "%.200s: all pixels of the training images are %g; there is nothing to learn from", r->path, min);
}

/* The split's pixels as floats in [-1, 1], in place of the file's. */
static bool scale(reading *r, int split) {
    cp_npy          *npy = &r->pixels[split];
    cp_preprocessing input = cp_images_about(r->images).input;
    float           *scaled = npy->size <= SIZE_MAX / sizeof *scaled ? malloc((npy->size + 1) * sizeof *scaled) : NULL;
    if (!scaled) return cp_fail(r->status, "%.200s: not enough memory for %zu pixels", r->path, npy->size);
    for (size_t i = 0; i < npy->size; i++) {
        double  pixel = pixel_at(npy, i);
        cp_real value;
        cp_preprocess(&input, npy->dtype, (const char *)npy->data + i * cp_dtype_size(npy->dtype), 1, &value, r->path, NULL);
        r->images->clamped += pixel < input.low || pixel > input.high;
        scaled[i] = (float)value;
    }
    free(npy->data);
    npy->data = scaled;
    npy->dtype = CP_F32;
    return true;
}

/* ---- features of tables and sequences ---- */

static size_t features_of(cp_shape shape) { return (size_t)shape.dims[shape.rank - 1]; }

/* The values of a row that are not beyond its length. */
static size_t valid_values(const reading *r, int split, size_t row) {
    size_t values = r->pixels[split].size / (size_t)r->pixels[split].dims[0];
    return r->lengths[split] ? (size_t)r->lengths[split][row] * features_of(r->shape) : values;
}

static bool all_finite(const reading *r, int split) {
    const cp_npy *npy = &r->pixels[split];
    size_t        values = npy->size / (size_t)npy->dims[0], features = features_of(r->shape);
    for (size_t row = 0; row < (size_t)npy->dims[0]; row++)
        for (size_t i = 0, valid = valid_values(r, split, row); i < valid; i++) {
            double value = pixel_at(npy, row * values + i);
            char   step[40] = "";
            if (r->shape.rank == 2) snprintf(step, sizeof step, "step %zu, ", i / features);
            if (!isfinite(value))
                return cp_fail(
                    r->status,
                    "%.200s: %s has %g in row %zu, %sfeature %zu; all must be finite (couplet impute fills in what is missing)",
                    r->path, name_of(split, r->inputs).s, value, row, step, i % features);
        }
    return true;
}

/* The mean and standard deviation of each feature over the training split, or those of the model; a feature that never changes has a
 * deviation of 1. */
static bool measure_features(reading *r) {
    const cp_npy           *npy = &r->pixels[r->first];
    const cp_preprocessing *known = r->model ? &r->model->about.input : NULL;
    size_t                  values = npy->size / (size_t)npy->dims[0], features = features_of(r->shape);
    double                 *mean = calloc(2 * features, sizeof *mean), *sd = mean + features, counted = 0;
    if (!mean) return cp_fail(r->status, "%.200s: not enough memory for %zu features", r->path, features);
    r->images->mean = mean;
    r->images->sd = sd;
    if (known && known->mean && features == features_of(known->shape)) {
        memcpy(mean, known->mean, features * sizeof *mean);
        memcpy(sd, known->sd, features * sizeof *sd);
        return true;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t row = 0; row < (size_t)npy->dims[0]; row++)
            for (size_t i = 0, valid = valid_values(r, r->first, row), f; i < valid; i++) {
                double value = pixel_at(npy, row * values + i);
                f = i % features;
                if (pass)
                    sd[f] += (value - mean[f]) * (value - mean[f]);
                else
                    mean[f] += value;
                counted += !pass && f == 0;
            }
        for (size_t f = 0; f < features; f++) {
            if (pass)
                sd[f] = sqrt(sd[f] / counted);
            else
                mean[f] /= counted;
            if (pass && !(sd[f] > 1e-12 * fabs(mean[f]))) sd[f] = 1;
        }
    }
    return true;
}

/* (x - mean) / sd in floats in place of the file's, and 0 beyond a sequence's length. */
static bool standardize(reading *r, int split) {
    cp_npy *npy = &r->pixels[split];
    size_t  values = npy->size / (size_t)npy->dims[0], features = features_of(r->shape);
    float  *scaled = npy->size <= SIZE_MAX / sizeof *scaled ? calloc(npy->size, sizeof *scaled) : NULL;
    if (!scaled) return cp_fail(r->status, "%.200s: not enough memory for %zu values", r->path, npy->size);
    for (size_t row = 0; row < (size_t)npy->dims[0]; row++)
        for (size_t i = 0, valid = valid_values(r, split, row); i < valid; i++)
            scaled[row * values + i] =
                (float)((pixel_at(npy, row * values + i) - r->images->mean[i % features]) / r->images->sd[i % features]);
    free(npy->data);
    npy->data = scaled;
    npy->dtype = CP_F32;
    return true;
}

/* Whether the inputs have the range of the model's training. */
static bool range_fits(const reading *r) {
    bool ok = true;
    for (int s = r->first; ok && r->model && s < CP_IMAGES_SPLITS; s++)
        ok = cp_preprocessing_check(&r->model->about.input, r->pixels[s].dtype, r->pixels[s].data, r->pixels[s].size,
                                    name_of(s, r->inputs).s, &r->images->warning, r->status);
    return ok;
}

static bool standardize_all(reading *r) {
    bool ok = true;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = !r->pixels[s].size || all_finite(r, s);
    ok = ok && range_fits(r) && measure_features(r);
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = !r->pixels[s].size || standardize(r, s);
    return ok;
}

static bool scale_all(reading *r) {
    if (!of_images(r)) return standardize_all(r);
    const cp_preprocessing *input = r->model ? &r->model->about.input : NULL;
    bool                    bytes = !input || input->low == input->high || (input->low == 0 && input->high == 255);
    if (r->images->stored == CP_U8) r->images->high = 255;
    if (r->images->stored == CP_U8 && bytes) return true;
    bool ok = range_fits(r) && choose_scaling(r);
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = scale(r, s);
    return ok;
}

/* ---- how the set was made: the array "made", JSON as bytes ---- */

static void read_made(cp_images *images, const cp_npz *npz) {
    cp_npy npy = {0};
    if (!cp_npz_has(npz, "made") || !cp_npz_read(npz, "made", &npy, NULL)) return;
    if (npy.dtype == CP_U8 && npy.rank == 1) images->made = cp_json_parse(npy.data, npy.size, "made", NULL);
    cp_npy_free(&npy);
    if (!images->made || images->made->kind == CP_JSON_OBJECT) return;
    cp_json_free(images->made);
    images->made = NULL;
}

/* Names for all classes: those of the official file, those of the labels or the array class_names, or those in "made". */
static void take_class_names(cp_images *images) {
    cp_names      *named = &images->classes_named;
    const cp_json *names = cp_json_get(images->made, "class_names");
    if (images->class_names) return;
    if (named->count == 0 && names && names->kind == CP_JSON_ARRAY && names->count == (size_t)images->classes)
        for (const cp_json *n = names->first; n; n = n->next)
            if (n->kind == CP_JSON_STRING && strcmp(cp_shown(n->text, strlen(n->text)).text, n->text) == 0)
                cp_names_add(named, n->text);
    if (named->count != images->classes) return;
    for (int c = 0; c < named->count; c++) cp_text_printable(named->at[c]);
    images->class_names = (const char *const *)named->at;
}

/* ---- the set ---- */

static bool make_set(reading *r) {
    cp_images *images = r->images;
    size_t     values;
    if (!cp_shape_size(r->shape, &values)) return cp_fail(r->status, "%.200s: such large inputs cannot be used", r->path);
    images->set = cp_dataset_new((cp_dataset_config){
        .name = images->name, .dtype = r->pixels[r->first].dtype, .shape = r->shape, .classes = images->classes});
    bool ok = images->set || cp_fail(r->status, "%.200s: not enough memory", r->path);
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) {
        ok = cp_dataset_add(images->set,
                            (cp_split_config){.name = cp_images_splits[s],
                                              .count = (int)r->pixels[s].dims[0],
                                              .inputs = r->pixels[s].data,
                                              .labels = r->labels[s],
                                              .owned = true},
                            r->status);
        if (ok) r->pixels[s].data = NULL, r->labels[s] = NULL;
        images->groups[s] = r->groups[s], r->groups[s] = NULL;
        if (ok && r->lengths[s] && cp_dataset_set_lengths(images->set, cp_images_splits[s], r->lengths[s])) r->lengths[s] = NULL;
    }
    return ok;
}

/* The name of the file without folder and ending, or that of the official file that it is a copy of. */
static void identify(reading *r, const cp_bytes *contents) {
    cp_images  *images = r->images;
    const char *slash = strrchr(r->path, '/'), *file = slash ? slash + 1 : r->path, *dot = strrchr(file, '.');
    snprintf(images->name, sizeof images->name, "%.*s", dot && dot > file ? (int)(dot - file) : (int)strlen(file), file);
    cp_text_printable(images->name); /* it goes to terminals, tables and reports */
    cp_md5(contents->data, contents->size, images->md5);
    const cp_medmnist *known = cp_medmnist_of_md5(images->md5, &images->superseded);
    images->official = known != NULL;
    if (!known) return;
    snprintf(images->name, sizeof images->name, "%s", known->name);
    images->class_names = known->class_names;
}

static bool read_arrays(reading *r, const cp_bytes *file) {
    if (!has_arrays(r) || !read_class_names(r)) return false;
    for (int s = 0; s < ARRAYS; s++)
        if (!read_split(r, s)) return false;
    const cp_names *names = &r->images->classes_named;
    if (r->named && names->count > r->named)
        return cp_fail(r->status, "%.200s: there is a label \"%s\", which class_names does not have", r->path,
                       cp_shown(names->at[r->named], strlen(names->at[r->named])).text);
    read_made(r->images, r->npz);
    identify(r, file);
    return (r->named || sort_classes(r)) && append_unlabeled(r);
}

static bool read_file(cp_images *images, const char *path, const cp_model *model, bool any, cp_status *status) {
    cp_bytes  file;
    cp_status own = {0};
    if (!status) status = &own;
    if (!cp_file_read(path, PTRDIFF_MAX, &file, status)) return false;
    reading r = {.images = images,
                 .path = path,
                 .model = model,
                 .any = any || model,
                 .npz = cp_npz_parse(file.data, file.size, path, status),
                 .status = status};
    bool    ok = r.npz && read_arrays(&r, &file);
    cp_npz_close(r.npz);
    cp_bytes_free(&file);
    ok = ok && count_classes(&r) && scale_all(&r) && make_set(&r);
    if (ok) take_class_names(images);
    for (int s = 0; s < ARRAYS; s++) {
        cp_npy_free(&r.pixels[s]);
        free(r.labels[s]), free(r.lengths[s]), free(r.groups[s]);
    }
    return ok;
}

/* ---- the built-in set ---- */

static bool add_phantom_split(cp_images *images, int split, cp_status *status) {
    int      count = cp_phantom_counts[split];
    uint8_t *pixels = malloc((size_t)count * images->set->values);
    int     *labels = malloc((size_t)count * sizeof *labels);
    bool     ok = (pixels && labels) || cp_fail(status, "not enough memory for the images of phantom");
    if (ok) cp_phantom_draw(cp_images_splits[split], count, pixels, labels);
    ok =
        ok && cp_dataset_add(images->set, (cp_split_config){cp_images_splits[split], count, pixels, labels, .owned = true}, status);
    if (!ok) free(pixels), free(labels);
    return ok;
}

static bool make_phantom(cp_images *images, cp_status *status) {
    strcpy(images->name, "phantom");
    images->height = images->width = CP_PHANTOM_SIZE;
    images->channels = CP_PHANTOM_CHANNELS;
    images->classes = CP_PHANTOM_CLASSES;
    images->class_names = cp_phantom_class_names;
    images->stored = CP_U8;
    images->high = 255;
    images->set = cp_dataset_new((cp_dataset_config){.name = images->name,
                                                     .dtype = CP_U8,
                                                     .shape = CP_SHAPE(CP_PHANTOM_SIZE, CP_PHANTOM_SIZE, CP_PHANTOM_CHANNELS),
                                                     .classes = CP_PHANTOM_CLASSES});
    bool ok = images->set != NULL;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = add_phantom_split(images, s, status);
    return ok;
}

static cp_images *load(const char *file_or_name, const cp_model *model, bool any, cp_status *status) {
    cp_images *images = calloc(1, sizeof *images);
    if (!images) return cp_null(cp_fail(status, "not enough memory for an image set"));
    bool built_in = strcmp(file_or_name, "phantom") == 0;
    if (built_in ? make_phantom(images, status) : read_file(images, file_or_name, model, any, status)) return images;
    cp_images_free(images);
    return NULL;
}

cp_images *cp_images_load(const char *file_or_name, cp_status *status) { return load(file_or_name, NULL, false, status); }
cp_images *cp_images_load_any(const char *file_or_name, cp_status *status) { return load(file_or_name, NULL, true, status); }

double cp_shape_range(cp_shape input) { return input.rank == 3 ? 1 : 4; }

double cp_images_range(const cp_images *images) { return cp_shape_range(images->set->shape); }

cp_images *cp_images_load_for(const char *file_or_name, const cp_model *model, cp_status *status) {
    cp_images *images = load(file_or_name, model, true, status);
    if (!images) return NULL;
    if (!images->class_names && images->classes == model->config.classes) images->class_names = model->about.class_names;
    const cp_split *split = &images->set->splits[CP_IMAGES_TRAIN]; /* of the built-in set: files have been checked */
    if (*images->md5 || cp_preprocessing_check(&model->about.input, CP_U8, split->inputs,
                                               (size_t)split->count * images->set->values, images->name, &images->warning, status))
        return images;
    cp_images_free(images);
    return NULL;
}

/* All rows of all splits, one after another, as one more. */
static bool join_splits(cp_images *images, cp_status *status) {
    const cp_split *splits = images->set->splits;
    size_t          row = images->set->values * cp_dtype_size(images->set->dtype), done = 0;
    int             count = 0;
    bool            labeled = true, grouped = true, measured = true;
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        count += splits[s].count;
        labeled &= !splits[s].count || splits[s].labels;
        grouped &= !splits[s].count || images->groups[s];
        measured &= !splits[s].count || splits[s].lengths;
    }
    char *inputs = malloc((size_t)count * row + 1);
    int  *labels = labeled ? calloc((size_t)count + 1, sizeof *labels) : NULL;
    int  *groups = grouped ? calloc((size_t)count + 1, sizeof *groups) : NULL;
    int  *lengths = measured ? calloc((size_t)count + 1, sizeof *lengths) : NULL;
    bool  ok = (inputs && (labels || !labeled) && (groups || !grouped) && (lengths || !measured)) ||
              cp_fail(status, "not enough memory for all splits");
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) {
        size_t n = (size_t)splits[s].count;
        if (n) memcpy(inputs + done * row, splits[s].inputs, n * row);
        if (n && labels) memcpy(labels + done, splits[s].labels, n * sizeof *labels);
        if (n && groups) memcpy(groups + done, images->groups[s], n * sizeof *groups);
        if (n && lengths) memcpy(lengths + done, splits[s].lengths, n * sizeof *lengths);
        done += n;
    }
    images->groups[CP_IMAGES_SPLITS] = groups;
    ok = ok && cp_dataset_add(images->set, (cp_split_config){"all", count, inputs, labels, .owned = true}, status);
    if (!ok) free(inputs), free(labels);
    if (!ok || !lengths || !cp_dataset_set_lengths(images->set, "all", lengths)) free(lengths);
    return ok;
}

const cp_split *cp_images_rows(cp_images *images, int split, bool labeled, cp_status *status) {
    if (split == CP_IMAGES_SPLITS && !join_splits(images, status)) return NULL;
    const cp_split *rows = &images->set->splits[split];
    if (!rows->count)
        return cp_null(cp_fail(status, "%.200s has no images in its %s split", images->name, cp_images_splits[split]));
    for (int i = 0; labeled && i < rows->count; i++)
        if (!rows->labels || rows->labels[i] < 0)
            return cp_null(cp_fail(status, "%.200s: image %d of the %s split has no label; couplet predict needs none",
                                   images->name, i, cp_images_splits[split]));
    return rows;
}

/* ---- columns ---- */

/* The columns that import kept, for a message. */
static void list_columns(const reading *r, int split, char *text, size_t room) {
    cp_text prefix = name_of(split, "group_");
    size_t  length = strlen(prefix.s), used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < cp_npz_count(r->npz) && used < room; i++)
        if (strncmp(cp_npz_name(r->npz, i), prefix.s, length) == 0)
            used += (size_t)snprintf(text + used, room - used, "%s%.40s", used ? ", " : "", cp_npz_name(r->npz, i) + length);
}

/* The column's values of a split as numbers of names; numbers are named by their digits. */
static bool read_column(reading *r, int split, const char *column, cp_names *names, int *to) {
    char    what[80], there[200];
    int64_t count = r->pixels[split].dims[0];
    int     kinds = 0;
    snprintf(what, sizeof what, "group_%.60s", column);
    if (!cp_npz_has(r->npz, name_of(split, what).s)) snprintf(what, sizeof what, "%.60s", column);
    if (!cp_npz_has(r->npz, name_of(split, what).s)) {
        list_columns(r, split, there, sizeof there);
        return cp_fail(r->status, "%.200s has no column %.60s for its %s split; its columns are %s", r->path, column,
                       cp_images_splits[split], *there ? there : "none (couplet import keeps those of a CSV file)");
    }
    int *numbers = read_numbers(r, split, what, names, &kinds);
    bool ok = numbers != NULL, texts = kinds == TEXT;
    for (int64_t i = 0; ok && i < count; i++) {
        char digits[16] = "(empty)";
        if (!texts) snprintf(digits, sizeof digits, "%d", numbers[i]);
        to[i] = texts && numbers[i] >= 0 ? numbers[i] : cp_names_add(names, digits);
        ok = to[i] >= 0 || cp_fail(r->status, "%.200s: not enough memory for its column %.60s", r->path, column);
    }
    free(numbers);
    return ok;
}

int *cp_images_column(const cp_images *images, const char *file, int split, const char *column, cp_names *names,
                      cp_status *status) {
    const cp_split *splits = images->set->splits;
    reading         r = {.images = (cp_images *)images, .path = file, .inputs = images->mean ? "x" : "images", .status = status};
    int             done = 0, total = 0, *values = NULL, *sorted = NULL;
    if (!*images->md5) return cp_null(cp_fail(status, "%s is built in and has no columns", images->name));
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        r.pixels[s].dims[0] = split == s || split == CP_IMAGES_SPLITS ? splits[s].count : 0;
        total += (int)r.pixels[s].dims[0];
    }
    bool ok = (r.npz = cp_npz_open(file, status)) && ((values = malloc(((size_t)total + 1) * sizeof *values)) ||
                                                      cp_fail(status, "not enough memory for %d values", total));
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; done += (int)r.pixels[s++].dims[0])
        if (r.pixels[s].dims[0]) ok = read_column(&r, s, column, names, values + done);
    if (ok && !(sorted = cp_names_sort(names, true))) ok = cp_fail(status, "not enough memory for %d values", total);
    for (int i = 0; ok && i < total; i++) values[i] = sorted[values[i]];
    cp_npz_close(r.npz);
    free(sorted);
    if (ok) return values;
    free(values);
    return NULL;
}

/* ---- descriptions ---- */

cp_about cp_images_about(const cp_images *images) {
    return (cp_about){.input = {.dtype = images->stored,
                                .low = images->low,
                                .high = images->high,
                                .shape = images->set ? images->set->shape : (cp_shape){0},
                                .mean = images->mean,
                                .sd = images->sd},
                      .class_names = images->class_names,
                      .data = images->name,
                      .md5 = images->md5};
}

cp_text cp_images_scaling(const cp_images *images) {
    cp_text     text;
    const char *type = cp_dtype_numpy(images->stored);
    if (images->mean)
        snprintf(text.s, sizeof text.s, "%s, each feature less its mean, divided by its standard deviation in the training split",
                 type);
    else if (images->low == -1 && images->high == 1)
        snprintf(text.s, sizeof text.s, "%s in [-1, 1], as they are", type);
    else if (images->low == 0 && images->high == 1)
        snprintf(text.s, sizeof text.s, "%s in [0, 1], 2 x - 1", type);
    else if (images->low == 0 && images->high == 255)
        snprintf(text.s, sizeof text.s, "%s in [0, 255], x / 127.5 - 1", type);
    else
        snprintf(text.s, sizeof text.s, "%s, from the training split's [%.6g, %.6g] to [-1, 1]", type, images->low, images->high);
    return text;
}

bool cp_images_as_medmnist(const cp_images *images) { return strstr(images->name, "mnist"); }

const char *cp_images_origin(const cp_images *images) {
    if (!*images->md5) return "built in";
    if (strcmp(cp_json_string(cp_json_get(images->made, "command"), ""), "brats") == 0) return "made by couplet brats";
    if (strcmp(cp_json_string(cp_json_get(images->made, "command"), ""), "import") == 0) return "made by couplet import";
    if (!images->official) return cp_images_as_medmnist(images) ? "not the official file" : "your own file";
    return images->superseded ? "the official file from before 2024" : "the official file";
}

/* ---- writing ---- */

/* The inputs of a split as the file had them, to be freed, in float32; NULL when out of memory. */
static float *unscaled(const cp_images *images, const cp_split *split) {
    size_t           count = (size_t)split->count * images->set->values;
    cp_preprocessing input = cp_images_about(images).input;
    const float     *scaled = split->inputs;
    float           *out = malloc(count * sizeof *out);
    for (size_t i = 0; out && i < count; i++) out[i] = (float)cp_preprocess_undo(&input, i, (double)scaled[i]);
    return out;
}

static bool write_split(const cp_images *images, int split, cp_npz_writer *w) {
    const cp_split *s = &images->set->splits[split];
    bool            bytes = images->set->dtype == CP_U8;
    float          *pixels = bytes ? NULL : unscaled(images, s);
    const char    **names = malloc(((size_t)s->count + 1) * sizeof *names);
    if ((!bytes && !pixels) || !names) return free(pixels), free(names), false;
    if (s->count == 0) return free(pixels), free(names), true;
    cp_shape shape = images->set->shape;
    cp_npz_writer_add(w, name_of(split, images->mean ? "x" : "images").s, images->set->dtype,
                      images->channels == 1 ? 3 : 1 + shape.rank,
                      (int64_t[]){s->count, shape.dims[0], shape.dims[1], shape.dims[2]}, bytes ? s->inputs : pixels);
    if (s->lengths) cp_npz_writer_add(w, name_of(split, "length").s, CP_I32, 1, (int64_t[]){s->count}, s->lengths);
    if (s->labels) cp_npz_writer_add(w, name_of(split, "labels").s, CP_I32, 2, (int64_t[]){s->count, 1}, s->labels);
    for (int i = 0; images->groups[split] && images->patients_named.count && i < s->count; i++)
        names[i] = images->groups[split][i] < 0 ? "" : images->patients_named.at[images->groups[split][i]];
    if (images->groups[split] && images->patients_named.count)
        cp_npz_writer_add_texts(w, name_of(split, "patients").s, (size_t)s->count, names);
    else if (images->groups[split])
        cp_npz_writer_add(w, name_of(split, "patients").s, CP_I32, 1, (int64_t[]){s->count}, images->groups[split]);
    free(pixels), free(names);
    return true;
}

bool cp_images_write(const cp_images *images, const char *path, cp_status *status) {
    cp_npz_writer *w = cp_npz_writer_new(path, status);
    bool           ok = w != NULL;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = write_split(images, s, w);
    if (images->classes_named.count == images->classes)
        cp_npz_writer_add_texts(w, "class_names", (size_t)images->classes, images->class_names);
    if (ok && images->made) {
        cp_json_writer made = {0};
        cp_json_put_copy(&made, NULL, images->made);
        cp_npz_writer_add_json(w, "made", &made);
    }
    if (ok) return cp_npz_writer_commit(w, status);
    cp_npz_writer_cancel(w);
    return cp_fail(status, "%.300s: not enough memory for the pixels", path); /* unless the writer has said why */
}
