/* An npz file as the source of couplet import: its missing splits are taken from its training split. */
#include "experiments/import/import.h"

#include <stdlib.h>
#include <string.h>

bool cp_import_is_npz(const cp_import *m) {
    size_t length = strlen(m->config.source);
    return length > 4 && strcmp(m->config.source + length - 4, ".npz") == 0;
}

static const char *patient_of(cp_import *m, const cp_images *images, int split, int row) {
    int  patient = images->groups[split] ? images->groups[split][row] : -1;
    char text[16];
    if (patient < 0) return "";
    if (images->patients_named.count) return images->patients_named.at[patient];
    snprintf(text, sizeof text, "%d", patient);
    int number = cp_names_add(&m->patients, text);
    return number < 0 ? NULL : m->patients.at[number];
}

static bool add_rows(cp_import *m, int split) {
    const cp_images *images = m->images;
    const cp_split  *s = &images->set->splits[split];
    for (int i = 0; i < s->count; i++) {
        const char *patient = patient_of(m, images, split, i);
        if (!patient) return false;
        memcpy(m->inputs + (size_t)m->count * m->width, (const char *)s->inputs + (size_t)i * m->width, m->width);
        m->rows[m->count++] =
            (cp_import_row){.patient = patient, .row = (size_t)i, .label = s->labels ? s->labels[i] : -1, .split = split};
    }
    m->has_patients = m->has_patients || images->groups[split];
    return true;
}

bool cp_import_list_npz(cp_import *m, cp_status *status) {
    cp_images *images = m->images = cp_images_load_any(m->config.source, status);
    size_t     total = 0, missing = 0;
    if (!images) return false;
    for (int s = 0; s < CP_IMAGES_SPLITS; s++)
        total += (size_t)images->set->splits[s].count, missing += !images->set->splits[s].count;
    if (!missing) return cp_fail(status, "%.300s has a training, a validation and a test split already", m->config.source);
    if (!images->set->splits[CP_IMAGES_TRAIN].labels)
        return cp_fail(status, "%.300s: a training split with labels is needed, from which the missing splits are taken",
                       m->config.source);
    m->width = images->set->values * cp_dtype_size(images->set->dtype);
    m->rows = malloc(total * sizeof *m->rows);
    m->inputs = malloc(total * m->width);
    bool ok = m->rows && m->inputs;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = add_rows(m, s);
    for (int c = 0; ok && c < images->classes; c++) {
        char number[16];
        snprintf(number, sizeof number, "%d", c);
        ok = cp_names_add(&m->classes, images->class_names ? images->class_names[c] : number) >= 0;
    }
    return ok || cp_fail(status, "%.300s: not enough memory for its rows", m->config.source);
}

/* The rows of a training array that are in the split now. `to` has room for all of them. Returns their number. */
static int64_t gather(const cp_import *m, int split, int64_t count, size_t width, const void *from, void *to) {
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) /* training rows come first; the last of them may be of unlabeled arrays */
        if (m->rows[i].split == split) memcpy((char *)to + (size_t)n++ * width, (const char *)from + (size_t)i * width, width);
    return n;
}

/* An array of the training split, a row for each of `count` labels, divided among the splits. */
static bool divide(const cp_import *m, const char *name, const cp_npy *from, int64_t count, cp_npz_writer *w, cp_status *status) {
    size_t width = count ? from->size / (size_t)count * cp_dtype_size(from->dtype) : 0;
    cp_npy to = *from;
    if (!(to.data = malloc((size_t)count * width + 1))) return cp_fail(status, "not enough memory for a copy of %.60s", name);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        char new_name[128];
        snprintf(new_name, sizeof new_name, "%s%.100s", cp_images_splits[s], name + strlen("train"));
        if (s > CP_IMAGES_TRAIN && m->images->set->splits[s].count) continue; /* it has its own */
        to.dims[0] = gather(m, s, count, width, from->data, to.data);
        if (to.dims[0]) cp_npz_writer_add_npy(w, new_name, &to);
    }
    free(to.data);
    return true;
}

bool cp_import_add_arrays_npz(const cp_import *m, cp_npz_writer *w, cp_status *status) {
    cp_npz     *npz = cp_npz_open(m->config.source, status);
    int64_t     count = m->images->set->splits[CP_IMAGES_TRAIN].count;
    cp_npy      more = {0};
    bool        ok = npz != NULL;
    const char *unlabeled = m->images->mean ? "unlabeled_x" : "unlabeled_images";
    if (ok && cp_npz_has(npz, unlabeled) && (ok = cp_npz_read(npz, unlabeled, &more, status))) count -= more.dims[0];
    cp_npy_free(&more);
    for (size_t i = 0; ok && i < cp_npz_count(npz); i++) {
        const char *name = cp_npz_name(npz, i);
        cp_npy      npy = {0};
        if (!(ok = cp_npz_read_any(npz, name, &npy, status))) break;
        if (strncmp(name, "train_", 6) == 0 && npy.rank && npy.dims[0] == count)
            ok = divide(m, name, &npy, count, w, status);
        else
            cp_npz_writer_add_npy(w, name, &npy);
        cp_npy_free(&npy);
    }
    cp_npz_close(npz);
    return ok;
}
