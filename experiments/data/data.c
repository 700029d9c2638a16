/* couplet data: what is in a file. */
#include "core/io/file.h"
#include "core/io/nifti.h"
#include "core/io/npz.h"
#include "core/io/safetensors.h"
#include "experiments/commands.h"
#include "experiments/data/data_parts.h"
#include "experiments/kit/data/sheet.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const cp_option options[] = {
    {.name = "sheet",
     .kind = CP_OPTION_TEXT,
     .value = "OUT.png",
     .help = "file for a contact sheet of the training images, one row a class; an older one is replaced"},
    {.name = "columns",
     .kind = CP_OPTION_INT,
     .fallback = "16",
     .min = 1,
     .max = 1000,
     .unit = "images",
     .help = "in a row of the sheet"},
    {.name = "npz",
     .kind = CP_OPTION_TEXT,
     .value = "OUT.npz",
     .help = "file to write the image set to, such as phantom for use in Python"},
    {.name = "npy",
     .kind = CP_OPTION_TEXT,
     .value = "OUT.npy",
     .help = "file to write the values of a NIfTI volume to: scaled, as float32, in canonical order (RAS+), axes (x, y, z, t)"},
    {0}};

/* ---- numbers about arrays ---- */

cp_data_summary cp_data_summarize(cp_dtype dtype, const void *data, size_t count) {
    enum { PIECE = 4096 };
    double          values[PIECE], first = NAN, sum = 0, squares = 0; /* of what exceeds the first number */
    cp_data_summary s = {.min = NAN, .max = NAN};
    size_t          n = 0;
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

void cp_data_put_summary(cp_json_writer *w, const cp_data_summary *s) {
    cp_json_put_number(w, "least", s->min);
    cp_json_put_number(w, "most", s->max);
    cp_json_put_number(w, "mean", s->mean);
    cp_json_put_number(w, "sd", s->sd);
}

void cp_data_show_summary(cp_table *table, const cp_data_summary *s) {
    const double values[] = {s->min, s->max, s->mean, s->sd};
    for (int i = 0; i < 4; i++) isfinite(values[i]) ? cp_table_text(table, "%.5g", values[i]) : cp_table_text(table, "-");
}

bool cp_data_print_json(cp_json_writer *w, cp_status *status) {
    bool ok = cp_json_writer_finish(w, status);
    if (ok) printf("%s\n", (const char *)w->out.data);
    return ok;
}

/* ---- any arrays ---- */

/* What is told about a file, array by array: a table or JSON. */
typedef struct listing {
    cp_table       *table;
    cp_json_writer *json;
    bool            numpy;
    size_t          not_finite;
    char            model[512]; /* its description, in a file of Couplet's */
} listing;

static void list_array(listing *l, const char *name, cp_dtype dtype, int rank, const int64_t *dims, size_t count,
                       const void *data) {
    cp_data_summary s = cp_data_summarize(dtype, data, count);
    const char     *type = l->numpy ? cp_dtype_numpy(dtype) : cp_dtype_name(dtype);
    l->not_finite += s.not_finite;
    cp_table_text(l->table, "%s", cp_shown(name, strlen(name)).text);
    cp_table_text(l->table, "%s", type);
    cp_table_text(l->table, "%s", cp_shown_shape(rank, dims).text);
    cp_data_show_summary(l->table, &s);
    cp_json_put_object(l->json, NULL);
    cp_json_put_string(l->json, "name", name);
    cp_json_put_string(l->json, "dtype", type);
    cp_json_put_array(l->json, "shape");
    for (int i = 0; i < rank; i++) cp_json_put_integer(l->json, NULL, dims[i]);
    cp_json_put_end(l->json);
    cp_data_put_summary(l->json, &s);
    cp_json_put_integer(l->json, "not_finite", (int64_t)s.not_finite);
    cp_json_put_end(l->json);
}

static bool list_npy(listing *l, const char *path, cp_status *status) {
    cp_npy npy = {0};
    bool   ok = cp_npy_read(path, &npy, status);
    if (ok) list_array(l, "-", npy.dtype, npy.rank, npy.dims, npy.size, npy.data);
    cp_npy_free(&npy);
    return ok;
}

static bool list_npz(listing *l, const char *path, cp_status *status) {
    cp_npz *npz = cp_npz_open(path, status);
    bool    ok = npz != NULL;
    for (size_t i = 0; ok && i < cp_npz_count(npz); i++) {
        cp_npy npy = {0};
        ok = cp_npz_read(npz, cp_npz_name(npz, i), &npy, status);
        if (ok) list_array(l, cp_npz_name(npz, i), npy.dtype, npy.rank, npy.dims, npy.size, npy.data);
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
        list_array(l, e->name, e->dtype, e->rank, e->dims, e->count, e->data);
    }
    cp_st_free(file);
    return file != NULL;
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
    FILE         *file = fopen(path, "rb");
    if (!file)
        return cp_fail_as(status, errno == ENOENT ? CP_STATUS_MISSING : CP_STATUS_FAILED, "cannot open %.300s: %s", path,
                          strerror(errno));
    size_t got = fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) ? fread(first, 1, sizeof first, file) : SIZE_MAX;
    fclose(file);
    if (got == SIZE_MAX) return cp_fail(status, "%.300s is a folder, a pipe or a device; a file is expected", path);
    *kind = cp_nifti_named(path) ? NIFTI : SAFETENSORS; /* which begin with a length, and then the brace of a JSON object */
    if (*kind == NIFTI || (got == 9 && first[8] == '{')) return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (got >= known[i].length && memcmp(first, known[i].begins, known[i].length) == 0) return *kind = known[i].kind, true;
    return cp_damaged(status, "%.300s is neither npz, npy, safetensors nor NIfTI", path);
}

static void print_table(const listing *l, const char *path, const char *kind, const char *no_set) {
    printf("%s: %s\n\n", path, kind);
    cp_table_print(l->table, stdout);
    if (*l->model) printf("\nmodel %s\n", l->model);
    if (l->not_finite) printf("%zu number%s not finite\n", l->not_finite, l->not_finite == 1 ? " is" : "s are");
    if (no_set) printf("\nNot an image set: %s\n", no_set);
}

/* `no_set` tells why an npz is not an image set. */
static bool show_arrays(const char *path, file_kind kind, const char *no_set, bool json, cp_status *status) {
    static const char *const kinds[] = {"npy", "npz", "safetensors"};
    cp_json_writer           w = {.pretty = true};
    listing                  l = {.table = cp_table_new(7, "array", "type", "shape", "least", "most", "mean", "sd"),
                                  .json = &w,
                                  .numpy = kind != SAFETENSORS};
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
        ok = cp_data_print_json(&w, status);
    else if (ok)
        print_table(&l, path, kinds[kind], no_set);
    cp_json_writer_free(&w);
    cp_table_free(l.table);
    return ok;
}

static bool show_set(const cp_options *o, const cp_images *images, cp_status *status) {
    const char *sheet = cp_option_text(o, "sheet"), *npz = cp_option_text(o, "npz");
    bool        json = cp_option_flag(o, "json");
    if (!cp_data_show_images(images, cp_argument(o, 0), json, status)) return false;
    if (sheet && !cp_images_sheet(images, CP_IMAGES_TRAIN, (int)cp_option_int(o, "columns"), sheet, status)) return false;
    if (npz && !cp_images_write(images, npz, status)) return false;
    if (sheet && !json) printf("\na contact sheet, one row a class, is in %s\n", sheet);
    if (npz && !json) printf("\nthe set is in %s\n", npz);
    return true;
}

static bool show(const cp_options *o, cp_status *status) {
    const char *path = cp_argument(o, 0), *npy = cp_option_text(o, "npy");
    file_kind   kind = NPZ;
    cp_status   no_set = {0};
    if (strcmp(path, "phantom") != 0 && !kind_of(path, &kind, status)) return false;
    if (npy && kind != NIFTI) return cp_fail(status, "--npy is for NIfTI volumes; %.300s is none", path);
    cp_images *images = kind == NPZ ? cp_images_load(path, &no_set) : NULL;
    bool       ok = images != NULL;
    if (ok)
        ok = show_set(o, images, status);
    else if (cp_option_text(o, "sheet") || cp_option_text(o, "npz"))
        cp_fail(status, "--sheet and --npz are for image sets; %s", *no_set.message ? no_set.message : "this file is none");
    else if (kind == NIFTI)
        ok = cp_data_show_nifti(path, npy, cp_option_flag(o, "json"), status);
    else
        ok = show_arrays(path, kind, *no_set.message ? no_set.message : NULL, cp_option_flag(o, "json"), status);
    cp_images_free(images);
    return ok;
}

static int run(const cp_options *o) {
    cp_status status = {0};
    if (show(o, &status)) return CP_EXIT_OK;
    cp_complain(o, "%s", status.message);
    return CP_EXIT_FAILED;
}

const cp_command cp_command_data = {
    .name = "data",
    .purpose = "what is in a file: an image set, arrays, tensors, a volume",
    .arguments = "FILE|phantom",
    .details =
        "FILE is an npz, npy or safetensors file, or a NIfTI volume (.nii, .nii.gz, or either file of a pair .hdr and .img). An "
        "npz with the arrays {train,val,test}_images, (N, H, W) or (N, H, W, C), and "
        "{train,val,test}_labels, (N) or (N, 1), is an image set: its classes are counted, and it is told how pixels are taken to "
        "[-1, 1] and whether it is one of MedMNIST's own files, by its md5. phantom is a set that is built in: stained cells, "
        "drawn "
        "by a formula.",
    .example = "pneumoniamnist.npz --sheet pneumonia.png",
    .options = options,
    .without = "seed|out|quiet|report",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
