/* couplet data: shows the contents of a file. */
#include "core/io/nifti.h"
#include "core/io/npz.h"
#include "core/io/safetensors.h"
#include "experiments/commands.h"
#include "experiments/kit/data/check.h"
#include "experiments/kit/data/sheet.h"
#include "experiments/kit/metrics/metrics.h"
#include "experiments/kit/report/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "sheet", .kind = CP_OPTION_TEXT, .value = "OUT.png",
     .help = "file for a contact sheet of the training images, one row per class; an older one is replaced"},
    {.name = "columns", .kind = CP_OPTION_INT, .fallback = "16", .min = 1, .max = 1000, .unit = "images",
     .help = "images per row of the sheet"},
    {.name = "npz", .kind = CP_OPTION_TEXT, .value = "OUT.npz",
     .help = "file to write the image set to, such as phantom for use in Python"},
    {.name = "npy", .kind = CP_OPTION_TEXT, .value = "OUT.npy",
     .help = "file to write the values of a NIfTI volume to: scaled, as float32, in canonical order (RAS+), axes (x, y, z, t)"},
    {0}};
/* clang-format on */

/* ---- numbers about arrays ---- */

typedef struct summary {
    double min, max, mean, sd; /* of the finite values; NaN if there are none */
    size_t not_finite;
} summary;

static summary summarize(cp_dtype dtype, const void *data, size_t count) {
    enum { PIECE = 4096 };
    double  values[PIECE], first = NAN, sum = 0, squares = 0; /* of differences from the first number */
    summary s = {.min = NAN, .max = NAN};
    size_t  n = 0;
    for (size_t begin = 0; begin < count; begin += PIECE) {
        size_t some = count - begin < PIECE ? count - begin : PIECE;
        cp_elements_to_double(dtype, (const char *)data + begin * cp_dtype_size(dtype), some, values);
        for (size_t i = 0; i < some; i++) {
            if (!isfinite(values[i])) continue;
            if (n++ == 0) first = s.min = s.max = values[i];
            if (values[i] < s.min) s.min = values[i];
            if (values[i] > s.max) s.max = values[i];
            sum += values[i] - first, squares += (values[i] - first) * (values[i] - first);
        }
    }
    double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
    s.mean = first + mean;
    s.sd = n ? sqrt(variance > 0 ? variance : 0) : NAN;
    s.not_finite = count - n;
    return s;
}

static void put_summary(cp_json_writer *w, const summary *s) {
    cp_json_put_number(w, "min", s->min);
    cp_json_put_number(w, "max", s->max);
    cp_json_put_number(w, "mean", s->mean);
    cp_json_put_number(w, "sd", s->sd);
}

static void add_summary(cp_table *table, const summary *s) {
    const double values[] = {s->min, s->max, s->mean, s->sd};
    for (int i = 0; i < 4; i++) isfinite(values[i]) ? cp_table_text(table, "%.5g", values[i]) : cp_table_text(table, "-");
}

/* The name of the file may be untrusted. */
static void print_title(const char *path, const char *kind) {
    char name[1024];
    snprintf(name, sizeof name, "%s", path);
    cp_text_printable(name);
    printf("%s: %s\n\n", name, kind);
}

static void print_not_finite(size_t count) {
    if (count) printf("%zu number%s not finite\n", count, count == 1 ? " is" : "s are");
}

static void put_shape(cp_json_writer *w, int rank, const int64_t *dims) {
    cp_json_put_array(w, "shape");
    for (int i = 0; i < rank; i++) cp_json_put_integer(w, NULL, dims[i]);
    cp_json_put_end(w);
}

/* ---- any arrays ---- */

/* The arrays of a file, as a table and as JSON. */
typedef struct listing {
    cp_table       *table;
    cp_json_writer *json;
    size_t          not_finite;
    char            model[512]; /* its description, in a file of Couplet's */
} listing;

/* `count` 0: there is nothing to summarize. */
static void list_array(listing *l, const char *name, const char *type, cp_dtype dtype, int rank, const int64_t *dims, size_t count,
                       const void *data) {
    summary s = summarize(dtype, data, count);
    l->not_finite += s.not_finite;
    cp_table_text(l->table, "%s", cp_shown(name, strlen(name)).text);
    cp_table_text(l->table, "%s", type);
    cp_table_text(l->table, "%s", cp_shown_shape(rank, dims).text);
    add_summary(l->table, &s);
    cp_json_put_object(l->json, NULL);
    cp_json_put_string(l->json, "name", name);
    cp_json_put_string(l->json, "dtype", type);
    put_shape(l->json, rank, dims);
    put_summary(l->json, &s);
    cp_json_put_integer(l->json, "not_finite", (int64_t)s.not_finite);
    cp_json_put_end(l->json);
}

static bool list_npy(listing *l, const char *path, cp_status *status) {
    cp_npy npy = {0};
    bool   ok = cp_npy_read(path, &npy, status);
    if (ok) list_array(l, "-", cp_dtype_numpy(npy.dtype), npy.dtype, npy.rank, npy.dims, npy.size, npy.data);
    cp_npy_free(&npy);
    return ok;
}

static bool list_npz(listing *l, const char *path, cp_status *status) {
    cp_npz *npz = cp_npz_open(path, status);
    bool    ok = npz != NULL;
    for (size_t i = 0; ok && i < cp_npz_count(npz); i++) {
        cp_npy npy = {0};
        ok = cp_npz_read_any(npz, cp_npz_name(npz, i), &npy, status);
        if (ok)
            list_array(l, cp_npz_name(npz, i), npy.text ? "text" : cp_dtype_numpy(npy.dtype), npy.dtype, npy.rank - npy.text,
                       npy.dims, npy.text ? 0 : npy.size, npy.data);
        cp_npy_free(&npy);
    }
    cp_npz_close(npz);
    return ok;
}

static bool list_safetensors(listing *l, const char *path, cp_status *status) {
    cp_safetensors *file = cp_st_read(path, status);
    const char     *model = file ? cp_st_metadata(file, "couplet") : NULL;
    if (model) snprintf(l->model, sizeof l->model, "%s", model), cp_text_printable(l->model);
    for (size_t i = 0; file && i < cp_st_count(file); i++) {
        const cp_st_entry *e = cp_st_entry_at(file, i);
        list_array(l, e->name, cp_dtype_name(e->dtype), e->dtype, e->rank, e->dims, e->count, e->data);
    }
    cp_st_free(file);
    return file != NULL;
}

/* ---- image sets ---- */

static const char *const kinds[] = {NULL, "rows", "sequences", "images"}; /* by the rank of an input */

/* In the file's units; pixels outside the range have been clamped. */
static summary summarize_split(const cp_images *images, const cp_split *split) {
    summary s = summarize(images->set->dtype, split->inputs, (size_t)split->count * images->set->values);
    if (images->set->dtype == CP_U8) return s;
    double middle = images->low / 2 + images->high / 2, half = images->high / 2 - images->low / 2;
    return (summary){middle + half * s.min, middle + half * s.max, middle + half * s.mean, half * s.sd, 0};
}

/* How many patients a split has; 0 when that is not known. */
static int count_patients(const cp_images *images, int split) {
    int  count = 0, unknown = 0; /* below 0; the numbers are in the order of the groups */
    int *number = images->groups[split] ? cp_groups_number(images->groups[split], images->set->splits[split].count, &count) : NULL;
    for (int i = 0; number && i < images->set->splits[split].count; i++)
        if (images->groups[split][i] < 0 && number[i] >= unknown) unknown = number[i] + 1;
    free(number);
    return count - unknown;
}

static void put_split(cp_json_writer *w, const cp_images *images, int split, const int *counts) {
    const cp_split *s = &images->set->splits[split];
    summary         about = summarize_split(images, s);
    cp_json_put_object(w, s->name);
    cp_json_put_integer(w, kinds[images->set->shape.rank], s->count);
    cp_json_put_integers(w, "classes", counts, (size_t)images->classes);
    if (!images->mean) put_summary(w, &about);
    if (images->groups[split]) cp_json_put_integer(w, "patients", count_patients(images, split));
    cp_json_put_end(w);
}

static bool put_set(const cp_images *images, const char *path, const int *counts, const cp_set_check *check, cp_status *status) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "data");
    cp_json_put_string(&w, "file", path);
    cp_json_put_string(&w, "kind", kinds[images->set->shape.rank]);
    cp_json_put_string(&w, "name", images->name);
    cp_json_put_string(&w, "origin", cp_images_origin(images));
    cp_json_put_bool(&w, "official", images->official);
    *images->md5 ? cp_json_put_string(&w, "md5", images->md5) : cp_json_put_null(&w, "md5");
    if (!images->mean) {
        cp_json_put_integer(&w, "height", images->height);
        cp_json_put_integer(&w, "width", images->width);
        cp_json_put_integer(&w, "channels", images->channels);
    } else {
        cp_json_put_integers(&w, "shape", images->set->shape.dims, (size_t)images->set->shape.rank);
    }
    cp_json_put_integer(&w, "classes", images->classes);
    if (images->class_names) cp_json_put_strings(&w, "class_names", images->class_names, (size_t)images->classes);
    cp_json_put_string(&w, "dtype", cp_dtype_numpy(images->stored));
    cp_json_put_string(&w, "scaling", cp_images_scaling(images).s);
    if (!images->mean) {
        cp_json_put_number(&w, "low", images->low);
        cp_json_put_number(&w, "high", images->high);
        cp_json_put_integer(&w, "clamped", (int64_t)images->clamped);
    }
    cp_json_put_object(&w, "splits");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) put_split(&w, images, s, counts + s * images->classes);
    cp_json_put_end(&w);
    cp_json_put_array(&w, "warnings");
    for (int i = 0; i < check->count; i++) cp_json_put_string(&w, NULL, check->lines[i]);
    cp_json_put_end(&w);
    if (images->made) cp_json_put_copy(&w, "made", images->made);
    cp_json_put_end(&w);
    return cp_json_writer_print(&w, stdout, status);
}

/* ---- how a set was made; all texts come from the file, so control characters are removed ---- */

enum { SHOWN = 6 }; /* patients of a split, and subjects left out, before "and 71 more" */

static void print_clean(const char *text) { printf("%s", cp_shown(text, strlen(text)).text); }

/* A number or text, or some of them: "flair t1ce". */
static void print_value(const cp_json *value) {
    if (value->kind == CP_JSON_ARRAY)
        for (const cp_json *v = value->first; v; v = v->next) printf("%s", v == value->first ? "" : " "), print_value(v);
    else if (value->text)
        print_clean(value->text);
}

static bool is_setting(const cp_json *member) {
    if (strcmp(member->key, "class_names") == 0) return false; /* the table has them */
    const cp_json *value = member->kind == CP_JSON_ARRAY ? member->first : member;
    return value && (value->kind == CP_JSON_NUMBER || value->kind == CP_JSON_STRING);
}

static void print_settings(const cp_json *made) {
    const char *before = "\nhow it was made: ";
    for (const cp_json *m = made->first; m; m = m->next) {
        if (!is_setting(m)) continue;
        printf("%s", before);
        print_clean(m->key);
        printf(" ");
        print_value(m);
        before = ", ";
    }
    printf("\n");
}

/* "train: A, B, C and 74 more": the names of objects in a list. */
static void print_names(const cp_json *list, const char *title, const char *detail) {
    int shown = 0;
    for (const cp_json *m = list ? list->first : NULL; m && shown < SHOWN; m = m->next, shown++) {
        const char *text = detail ? cp_json_string(cp_json_get(m, detail), "") : "";
        printf("%s", shown ? ", " : title);
        print_clean(cp_json_string(cp_json_get(m, "name"), "?"));
        if (*text) printf(" "), print_clean(text);
    }
    if (shown && list->count > SHOWN) printf(" and %zu more (--json lists them)", list->count - SHOWN);
    if (shown) printf("\n");
}

static void print_made(const cp_json *made) {
    const cp_json *patients = cp_json_get(made, "patients");
    print_settings(made);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        char title[40];
        snprintf(title, sizeof title, "patients of %s: ", cp_images_splits[s]);
        print_names(cp_json_get(patients, cp_images_splits[s]), title, NULL);
    }
    print_names(cp_json_get(made, "left_out"), "left out: ", "reason");
}

static void print_unlabeled(const cp_images *images, const int *counts, cp_table *table) {
    int left[CP_IMAGES_SPLITS], all = 0;
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        left[s] = images->set->splits[s].count;
        for (int c = 0; c < images->classes; c++) left[s] -= counts[s * images->classes + c];
        all += left[s];
    }
    if (all) cp_table_text(table, "unlabeled");
    for (int s = 0; all && s < CP_IMAGES_SPLITS; s++) cp_table_text(table, "%d", left[s]);
}

static void print_classes(const cp_images *images, const int *counts) {
    cp_table *table = cp_table_new(4, "class", "train", "val", "test");
    for (int c = 0; c < images->classes; c++) {
        cp_table_text(table, "%d%s%s", c, images->class_names ? " " : "", images->class_names ? images->class_names[c] : "");
        for (int s = 0; s < CP_IMAGES_SPLITS; s++) cp_table_text(table, "%d", counts[s * images->classes + c]);
    }
    print_unlabeled(images, counts, table);
    cp_table_text(table, "all");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) cp_table_text(table, "%d", images->set->splits[s].count);
    if (images->groups[CP_IMAGES_TRAIN] || images->groups[CP_IMAGES_VAL] || images->groups[CP_IMAGES_TEST]) {
        cp_table_text(table, "patients");
        for (int s = 0; s < CP_IMAGES_SPLITS; s++)
            cp_table_number(table, images->groups[s] ? (double)count_patients(images, s) : NAN, 0);
    }
    cp_table_conclude(table, NULL, NULL, stdout);
}

static void print_pixels(const cp_images *images) {
    cp_table *table = cp_table_new(5, "pixels", "min", "max", "mean", "sd");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        summary about = summarize_split(images, &images->set->splits[s]);
        cp_table_text(table, "%s", cp_images_splits[s]);
        add_summary(table, &about);
    }
    cp_table_conclude(table, NULL, NULL, stdout);
}

static void print_set(const cp_images *images, const int *counts, const cp_set_check *check) {
    const int *d = images->set->shape.dims;
    if (images->set->shape.rank == 1) printf("%s: a table of %d features, %d classes\n", images->name, d[0], images->classes);
    if (images->set->shape.rank == 2)
        printf("%s: sequences of %d steps of %d features%s, %d classes\n", images->name, d[0], d[1],
               images->set->splits[CP_IMAGES_TRAIN].lengths ? " or shorter" : "", images->classes);
    if (!images->mean)
        printf("%s: images of %d x %d, %d channel%s, %d classes\n", images->name, images->height, images->width, images->channels,
               images->channels == 1 ? "" : "s", images->classes);
    printf("%s%s%s\n", cp_images_origin(images), *images->md5 ? ", md5 " : "", images->md5);
    printf("%s are %s\n\n", images->mean ? "values" : "pixels", cp_images_scaling(images).s);
    print_classes(images, counts);
    if (!images->mean) printf("\n"), print_pixels(images);
    if (images->clamped)
        printf("%zu pixels of val and test are outside the range and are clamped to it, in this table too\n", images->clamped);
    for (int i = 0; i < check->count; i++) printf("%swarning: %s\n", i ? "" : "\n", check->lines[i]);
    if (images->made) print_made(images->made);
}

static bool show_images(const cp_images *images, const char *path, bool json, cp_status *status) {
    cp_set_check check;
    bool         ok = cp_images_check(images, &check, status);
    int         *counts = malloc((size_t)(CP_IMAGES_SPLITS * images->classes) * sizeof *counts); /* (splits, classes) */
    if (!counts) return cp_fail(status, "not enough memory for %d classes", images->classes);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) cp_split_class_counts(&images->set->splits[s], counts + s * images->classes);
    cp_images_check_classes(images, &check);
    if (ok && json)
        ok = put_set(images, path, counts, &check, status);
    else if (ok)
        print_set(images, counts, &check);
    free(counts);
    return ok;
}

/* ---- NIfTI volumes ---- */

static const char *const frames[] = {[CP_NIFTI_SFORM] = "sform", [CP_NIFTI_QFORM] = "qform", [CP_NIFTI_ASSUMED] = "assumed"};

/* Axes of length 1 at the end are shown when the file counts them, as Python's tools do. */
static int shown_rank(const cp_nifti *v) { return v->stored_rank > v->rank ? v->stored_rank : v->rank; }

static bool print_json(const cp_nifti *v, const char *path, const summary *s, cp_status *status) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "data");
    cp_json_put_string(&w, "file", path);
    cp_json_put_string(&w, "kind", "nifti");
    cp_json_put_integer(&w, "version", v->version);
    cp_json_put_string(&w, "dtype", cp_dtype_numpy(v->stored));
    put_shape(&w, shown_rank(v), v->dims);
    cp_json_put_numbers(&w, "spacing", v->spacing, (size_t)shown_rank(v));
    cp_json_put_string(&w, "orientation", v->orientation);
    cp_json_put_string(&w, "orientation_from", frames[v->frame]);
    cp_json_put_array(&w, "affine");
    for (int i = 0; i < 3; i++) cp_json_put_numbers(&w, NULL, v->affine[i], 4);
    cp_json_put_end(&w);
    cp_json_put_number(&w, "slope", v->slope);
    cp_json_put_number(&w, "intercept", v->intercept);
    put_summary(&w, s);
    cp_json_put_integer(&w, "not_finite", (int64_t)s->not_finite);
    cp_json_put_end(&w);
    return cp_json_writer_print(&w, stdout, status);
}

static void print_text(const cp_nifti *v, const char *path, const summary *s) {
    cp_table *table = cp_table_new(5, "shape", "min", "max", "mean", "sd");
    print_title(path, v->version == 2 ? "NIfTI-2" : "NIfTI-1");
    printf("type         %s, ", cp_dtype_numpy(v->stored));
    if (v->slope == 1 && v->intercept == 0)
        printf("not scaled\n");
    else
        printf("scaled: %g x %c %g\n", v->slope, v->intercept < 0 ? '-' : '+', fabs(v->intercept));
    printf("orientation  %s, ", v->orientation);
    v->frame == CP_NIFTI_ASSUMED ? printf("assumed: there is neither sform nor qform\n")
                                 : printf("from the %s\n", frames[v->frame]);
    printf("spacing      ");
    for (int i = 0; i < shown_rank(v); i++) printf(i ? " x %.5g" : "%.5g", v->spacing[i]);
    printf("\n\nin canonical order (RAS+), scaled:\n\n");
    cp_table_text(table, "%s", cp_shown_shape(shown_rank(v), v->dims).text);
    add_summary(table, s);
    cp_table_conclude(table, NULL, NULL, stdout);
    print_not_finite(s->not_finite);
}

/* An array's first axis is the slowest, a volume's the fastest. */
static bool write_npy(const cp_nifti *v, const char *path, cp_status *status) {
    const int64_t *n = v->dims;
    float         *array = malloc(v->size * sizeof *array), *to = array;
    if (!array) return cp_fail(status, "%.300s: not enough memory for %zu values", path, v->size);
    for (int64_t x = 0; x < n[0]; x++)
        for (int64_t y = 0; y < n[1]; y++)
            for (int64_t z = 0; z < n[2]; z++)
                for (int64_t t = 0; t < n[3]; t++)
                    for (int64_t c = 0; c < n[4]; c++) *to++ = v->values[x + n[0] * (y + n[1] * (z + n[2] * (t + n[3] * c)))];
    bool ok = cp_npy_write(path, CP_F32, shown_rank(v), v->dims, array, status);
    free(array);
    return ok;
}

static bool show_nifti(const char *path, const char *npy, bool json, cp_status *status) {
    cp_nifti volume = {0};
    bool     ok = cp_nifti_read(path, &volume, status);
    if (ok) {
        summary s = summarize(CP_F32, volume.values, volume.size);
        if (json)
            ok = print_json(&volume, path, &s, status);
        else
            print_text(&volume, path, &s);
    }
    ok = ok && (!npy || write_npy(&volume, npy, status));
    if (ok && npy && !json) printf("\nthe values are in %s, as float32\n", npy);
    cp_nifti_free(&volume);
    return ok;
}

/* ---- the command ---- */

typedef enum file_kind { NPY, NPZ, SAFETENSORS, NIFTI } file_kind;

/* By its first bytes, not by its name; but the values of a NIfTI pair may begin with any bytes. */
static bool kind_of(const char *path, file_kind *kind, cp_status *status) {
    static const struct {
        const char *begins;
        size_t      length;
        file_kind   kind;
    } known[] = {{"\x93NUMPY", 6, NPY},    {"PK\3\4", 4, NPZ},       {"PK\5\6", 4, NPZ},       {"\x1f\x8b", 2, NIFTI},
                 {"\x5c\1\0\0", 4, NIFTI}, {"\0\0\1\x5c", 4, NIFTI}, {"\x1c\2\0\0", 4, NIFTI}, {"\0\0\2\x1c", 4, NIFTI}};
    unsigned char first[9] = {0};
    struct stat   about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return cp_fail(status, "%.300s is a folder, a pipe or a device; a file is expected", path);
    FILE *file = fopen(path, "rb");
    if (!file)
        return cp_fail_as(status, errno == ENOENT ? CP_STATUS_MISSING : CP_STATUS_FAILED, "cannot open %.300s: %s", path,
                          strerror(errno));
    size_t got = fread(first, 1, sizeof first, file);
    fclose(file);
    *kind = cp_nifti_named(path) ? NIFTI : SAFETENSORS; /* which begin with a length, and then the brace of a JSON object */
    if (*kind == NIFTI || (got == 9 && first[8] == '{')) return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (got >= known[i].length && memcmp(first, known[i].begins, known[i].length) == 0) return *kind = known[i].kind, true;
    return cp_damaged(status, "%.300s is neither npz, npy, safetensors nor NIfTI", path);
}

static void print_table(const listing *l, const char *path, const char *kind, const char *no_set) {
    print_title(path, kind);
    cp_table_print(l->table, stdout);
    if (*l->model) printf("\nmodel %s\n", l->model);
    print_not_finite(l->not_finite);
    if (no_set) printf("\nNot an image set: %s\n", no_set);
}

/* `no_set` is the reason why an npz is not an image set. */
static bool show_arrays(const char *path, file_kind kind, const char *no_set, bool json, cp_status *status) {
    static const char *const kinds[] = {"npy", "npz", "safetensors"};
    cp_json_writer           w = {.pretty = true};
    listing                  l = {.table = cp_table_new(7, "array", "type", "shape", "min", "max", "mean", "sd"), .json = &w};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "data");
    cp_json_put_string(&w, "file", path);
    cp_json_put_string(&w, "kind", kinds[kind]);
    if (no_set) cp_json_put_string(&w, "no_image_set", no_set);
    cp_json_put_array(&w, "arrays");
    bool ok = kind == NPY   ? list_npy(&l, path, status)
              : kind == NPZ ? list_npz(&l, path, status)
                            : list_safetensors(&l, path, status);
    cp_json_put_end(&w);
    if (*l.model) cp_json_put_string(&w, "couplet", l.model);
    cp_json_put_end(&w);
    if (ok && json)
        ok = cp_json_writer_print(&w, stdout, status);
    else if (ok)
        print_table(&l, path, kinds[kind], no_set);
    cp_json_writer_free(&w);
    cp_table_free(l.table);
    return ok;
}

static bool show_set(const cp_options *o, const cp_images *images, cp_status *status) {
    const char   *sheet = cp_option_text(o, "sheet"), *npz = cp_option_text(o, "npz");
    bool          json = cp_option_flag(o, "json");
    cp_sheet_plan plan = {.rows = 1, .columns = (int)cp_option_int(o, "columns")};
    if (!show_images(images, cp_argument(o, 0), json, status)) return false;
    if (sheet && images->mean) return cp_fail(status, "--sheet is for images; %.200s has none", images->name);
    if (sheet && !cp_images_sheet(images, CP_IMAGES_TRAIN, &plan, sheet, status)) return false;
    if (npz && !cp_images_write(images, npz, status)) return false;
    if (sheet && !json) printf("\na contact sheet, one row per class, is in %s\n", sheet);
    if (npz && !json) printf("\nthe set is in %s\n", npz);
    return true;
}

static bool show(const cp_options *o, cp_status *status) {
    const char *path = cp_argument(o, 0), *npy = cp_option_text(o, "npy");
    file_kind   kind = NPZ;
    cp_status   no_set = {0};
    if (strcmp(path, "phantom") != 0 && !kind_of(path, &kind, status)) return false;
    if (npy && kind != NIFTI) return cp_fail(status, "--npy is for NIfTI volumes; %.300s is not one", path);
    cp_images *images = kind == NPZ ? cp_images_load_any(path, &no_set) : NULL;
    bool       ok = images != NULL;
    if (ok)
        ok = show_set(o, images, status);
    else if (cp_option_text(o, "sheet") || cp_option_text(o, "npz"))
        cp_fail(status, "--sheet and --npz are for image sets; %s", *no_set.message ? no_set.message : "this file is not one");
    else if (kind == NIFTI)
        ok = show_nifti(path, npy, cp_option_flag(o, "json"), status);
    else
        ok = show_arrays(path, kind, *no_set.message ? no_set.message : NULL, cp_option_flag(o, "json"), status) &&
             (kind != NPZ || cp_fail(status, "%s", no_set.message));
    cp_images_free(images);
    return ok;
}

static int run(const cp_options *o) {
    cp_status status = {0};
    show(o, &status);
    return cp_exit_code(o, &status);
}

const cp_command cp_command_data = {
    .name = "data",
    .purpose = "show what is in a file: an image set, arrays, tensors or a volume",
    .arguments = "FILE|phantom",
    .details = "FILE is an npz, npy or safetensors file, or a NIfTI volume (.nii, .nii.gz, or either file of a pair .hdr and "
               ".img). An npz with the arrays {train,val,test}_images, (N, H, W) or (N, H, W, C), and {train,val,test}_labels, (N) "
               "or (N, 1), is an image set: the command shows its classes, how pixels become numbers in [-1, 1], whether its "
               "md5 is that of one of MedMNIST's own files, and warnings about patients and images in two splits. The exit code is "
               "1 for an npz that is no set. phantom is a built-in set: stained cells, drawn by a formula.",
    .example = "pneumoniamnist.npz --sheet pneumonia.png",
    .options = options,
    .without = "seed|out|quiet|report",
    .run = run,
};
