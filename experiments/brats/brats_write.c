/* couplet brats: the arrays of the file. */
#include "couplet_config.h"
#include "experiments/brats/brats_set.h"

#include <stdlib.h>
#include <string.h>

/* The slices of a split, by patient, scan and level. */
typedef struct split_arrays {
    uint8_t *pixels, *labels;
    int32_t *patients, *levels;
    size_t   count;
} split_arrays;

/* Moves them, so that there are no two copies of all slices. */
static void fill(cp_brats_set *set, int split, size_t values, split_arrays *a) {
    for (int p = 0; p < set->patient_count; p++)
        for (int i = 0; set->splits[p] == split && i < set->subjects->count; i++) {
            cp_slices *s = &set->slices[i];
            size_t     some = (size_t)s->count;
            if (set->patients[i] != p) continue;
            memcpy(a->pixels + a->count * values, s->pixels, some * values);
            memcpy(a->labels + a->count, s->labels, some);
            memcpy(a->levels + a->count, s->levels, some * sizeof *a->levels);
            free(s->pixels);
            s->pixels = NULL;
            for (size_t k = 0; k < some; k++) a->patients[a->count + k] = p;
            a->count += some;
        }
}

static void add(cp_npz_writer *w, int split, const char *what, cp_dtype dtype, int rank, const int64_t *dims, const void *data) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", cp_images_splits[split], what);
    cp_npz_writer_add(w, name, dtype, rank, dims, data);
}

static bool add_split(cp_brats_set *set, int split, cp_npz_writer *w, cp_status *status) {
    const cp_slices_config *c = &set->config.slices;
    size_t                  count = (size_t)cp_brats_count(set, split).slices, values = (size_t)c->size * (size_t)c->size, bytes;
    values *= (size_t)c->channels;
    split_arrays a = {cp_size_mul(count, values, &bytes) ? malloc(bytes) : NULL, malloc(count), malloc(count * sizeof *a.patients),
                      malloc(count * sizeof *a.levels), 0};
    bool ok = (a.pixels && a.labels && a.patients && a.levels) || cp_fail(status, "not enough memory for %zu slices", count);
    if (ok) {
        int64_t n = (int64_t)count, size = c->size;
        fill(set, split, values, &a);
        add(w, split, "images", CP_U8, c->channels == 1 ? 3 : 4, (int64_t[]){n, size, size, c->channels}, a.pixels);
        add(w, split, "labels", CP_U8, 2, (int64_t[]){n, 1}, a.labels);
        add(w, split, "patients", CP_I32, 1, &n, a.patients);
        add(w, split, "slices", CP_I32, 1, &n, a.levels);
    }
    free(a.pixels), free(a.labels), free(a.patients), free(a.levels);
    return ok;
}

/* ---- how it was made ---- */

static void put_settings(const cp_brats_set *set, cp_json_writer *w) {
    const cp_brats_config *c = &set->config;
    size_t                 length = strlen(c->folder);
    while (length > 1 && c->folder[length - 1] == '/') length--;
    size_t begin = length;
    while (begin > 0 && c->folder[begin - 1] != '/') begin--;
    char folder[256];
    snprintf(folder, sizeof folder, "%.*s", (int)(length - begin), c->folder + begin);
    cp_json_put_string(w, "folder", folder);
    cp_json_put_array(w, "modality");
    for (int i = 0; i < c->slices.channels; i++) cp_json_put_string(w, NULL, cp_scan_names[c->slices.scans[i]]);
    cp_json_put_end(w);
    cp_json_put_integer(w, "size", c->slices.size);
    cp_json_put_integer(w, "tumor", c->slices.tumor);
    cp_json_put_number(w, "brain", c->slices.brain);
    cp_json_put_array(w, "percentiles");
    cp_json_put_number(w, NULL, c->slices.low);
    cp_json_put_number(w, NULL, c->slices.high);
    cp_json_put_end(w);
    cp_json_put_integer(w, "turn", set->turned ? 180 : 0);
    cp_json_put_array(w, "split");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) cp_json_put_integer(w, NULL, c->shares[s]);
    cp_json_put_end(w);
    cp_json_put_integer(w, "seed", (int64_t)c->seed);
}

static void put_patient(const cp_brats_set *set, int patient, cp_json_writer *w) {
    cp_json_put_object(w, NULL);
    cp_json_put_integer(w, "number", patient);
    cp_json_put_string(w, "name", set->names[patient]);
    cp_json_put_array(w, "scans");
    for (int i = 0; i < set->subjects->count; i++)
        if (set->patients[i] == patient) cp_json_put_string(w, NULL, set->subjects->at[i].name);
    cp_json_put_end(w);
    cp_json_put_end(w);
}

void cp_brats_put_left_out(const cp_brats_set *set, cp_json_writer *w) {
    cp_json_put_array(w, "left_out");
    for (int i = 0; i < set->left_out.count; i++) {
        cp_json_put_object(w, NULL);
        cp_json_put_string(w, "name", set->left_out.at[i].name);
        cp_json_put_string(w, "reason", set->left_out.at[i].text);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

static bool add_made(const cp_brats_set *set, cp_npz_writer *writer, cp_status *status) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "brats");
    cp_json_put_string(&w, "version", CP_VERSION);
    put_settings(set, &w);
    cp_json_put_array(&w, "class_names");
    cp_json_put_string(&w, NULL, "no tumor");
    cp_json_put_string(&w, NULL, "tumor");
    cp_json_put_end(&w);
    cp_json_put_object(&w, "patients");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        cp_json_put_array(&w, cp_images_splits[s]);
        for (int p = 0; p < set->patient_count; p++)
            if (set->splits[p] == s) put_patient(set, p, &w);
        cp_json_put_end(&w);
    }
    cp_json_put_end(&w);
    cp_brats_put_left_out(set, &w);
    cp_json_put_end(&w);
    bool ok = cp_json_writer_finish(&w, status);
    if (ok) cp_npz_writer_add(writer, "made", CP_U8, 1, (int64_t[]){(int64_t)w.out.size}, w.out.data);
    cp_json_writer_free(&w);
    return ok;
}

bool cp_brats_add_arrays(cp_brats_set *set, cp_npz_writer *writer, cp_status *status) {
    bool ok = true;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = add_split(set, s, writer, status);
    return ok && add_made(set, writer, status);
}
