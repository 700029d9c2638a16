/* couplet data: NIfTI volumes. */
#include "core/io/nifti.h"
#include "core/io/npy.h"
#include "experiments/data/data_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const frames[] = {[CP_NIFTI_SFORM] = "sform", [CP_NIFTI_QFORM] = "qform", [CP_NIFTI_ASSUMED] = "assumed"};

/* Axes of length 1 at the end are told when the file counts them, as Python's tools do. */
static int shown_rank(const cp_nifti *v) {
    return v->stored_rank > v->rank ? v->stored_rank : v->rank;
}

static bool print_json(const cp_nifti *v, const char *path, const cp_data_summary *s, cp_status *status) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "data");
    cp_json_put_string(&w, "file", path);
    cp_json_put_string(&w, "kind", "nifti");
    cp_json_put_integer(&w, "version", v->version);
    cp_json_put_string(&w, "dtype", cp_dtype_numpy(v->stored));
    cp_json_put_array(&w, "shape");
    for (int i = 0; i < shown_rank(v); i++) cp_json_put_integer(&w, NULL, v->dims[i]);
    cp_json_put_end(&w);
    cp_json_put_array(&w, "spacing");
    for (int i = 0; i < shown_rank(v); i++) cp_json_put_number(&w, NULL, v->spacing[i]);
    cp_json_put_end(&w);
    cp_json_put_string(&w, "orientation", v->orientation);
    cp_json_put_string(&w, "orientation_from", frames[v->frame]);
    cp_json_put_array(&w, "affine");
    for (int i = 0; i < 3; i++) {
        cp_json_put_array(&w, NULL);
        for (int j = 0; j < 4; j++) cp_json_put_number(&w, NULL, v->affine[i][j]);
        cp_json_put_end(&w);
    }
    cp_json_put_end(&w);
    cp_json_put_number(&w, "slope", v->slope);
    cp_json_put_number(&w, "intercept", v->intercept);
    cp_data_put_summary(&w, s);
    cp_json_put_integer(&w, "not_finite", (int64_t)s->not_finite);
    cp_json_put_end(&w);
    bool ok = cp_data_print_json(&w, status);
    cp_json_writer_free(&w);
    return ok;
}

static void print_text(const cp_nifti *v, const char *path, const cp_data_summary *s) {
    cp_table *table = cp_table_new(5, "shape", "least", "most", "mean", "sd");
    printf("%s: NIfTI-%d\n\n", path, v->version);
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
    cp_data_show_summary(table, s);
    cp_table_print(table, stdout);
    cp_table_free(table);
    if (s->not_finite) printf("%zu number%s not finite\n", s->not_finite, s->not_finite == 1 ? " is" : "s are");
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

bool cp_data_show_nifti(const char *path, const char *npy, bool json, cp_status *status) {
    cp_nifti volume = {0};
    bool     ok = cp_nifti_read(path, &volume, status);
    if (ok) {
        cp_data_summary s = cp_data_summarize(CP_F32, volume.values, volume.size);
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
