/* Columns of a set's file: what it says of each row besides its label. */
#include "core/io/npz.h"
#include "experiments/kit/data/images.h"

#include <stdlib.h>
#include <string.h>

/* The columns that import kept, for a message. */
static void list_columns(const cp_npz *npz, int split, char *text, size_t room) {
    char   prefix[40];
    size_t used = 0;
    snprintf(prefix, sizeof prefix, "%s_group_", cp_images_splits[split]);
    text[0] = '\0';
    for (size_t i = 0; i < cp_npz_count(npz) && used < room; i++)
        if (strncmp(cp_npz_name(npz, i), prefix, strlen(prefix)) == 0)
            used += (size_t)snprintf(text + used, room - used, "%s%.40s", used ? ", " : "", cp_npz_name(npz, i) + strlen(prefix));
}

/* Whole numbers as texts. */
static bool add_numbers(const cp_npy *npy, const char *shown, cp_names *names, int *to, cp_status *status) {
    int32_t *numbers = cp_npy_to_int32(npy, shown, status);
    bool     ok = numbers != NULL;
    for (size_t i = 0; ok && i < npy->size; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", (int)numbers[i]);
        ok = (to[i] = cp_names_add(names, text)) >= 0 || cp_fail(status, "%s: not enough memory for its values", shown);
    }
    free(numbers);
    return ok;
}

static bool add_texts(const cp_npy *npy, const char *shown, cp_names *names, int *to, cp_status *status) {
    cp_texts texts;
    if (!cp_npy_to_texts(npy, shown, &texts, status)) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < texts.count; i++)
        ok = (to[i] = cp_names_add(names, *texts.at[i] ? texts.at[i] : "(empty)")) >= 0 ||
             cp_fail(status, "%s: not enough memory for its values", shown);
    cp_texts_free(&texts);
    return ok;
}

static bool read_split(const cp_npz *npz, const char *file, int split, int count, const char *column, cp_names *names, int *to,
                       cp_status *status) {
    char   name[100], shown[320], there[200];
    cp_npy npy = {0};
    snprintf(name, sizeof name, "%s_group_%.60s", cp_images_splits[split], column);
    if (!cp_npz_has(npz, name)) snprintf(name, sizeof name, "%s_%.60s", cp_images_splits[split], column);
    if (!cp_npz_has(npz, name)) {
        list_columns(npz, split, there, sizeof there);
        return cp_fail(status, "%.200s has no column %.60s for its %s split; its columns are %s", file, column,
                       cp_images_splits[split], *there ? there : "none (couplet import keeps those of a CSV file)");
    }
    snprintf(shown, sizeof shown, "%.200s: %s", file, name);
    bool ok = cp_npz_read_any(npz, name, &npy, status);
    if (ok && (npy.rank - npy.text < 1 || npy.dims[0] != count || (npy.rank - npy.text > 1 && npy.dims[1] != 1)))
        ok = cp_fail(status, "%s has shape %s; one value for each of the %d rows is expected", shown,
                     cp_shown_shape(npy.rank - npy.text, npy.dims).text, count);
    ok = ok && (npy.text ? add_texts : add_numbers)(&npy, shown, names, to, status);
    cp_npy_free(&npy);
    return ok;
}

int *cp_images_column(const cp_images *images, const char *file, int split, const char *column, cp_names *names,
                      cp_status *status) {
    const cp_split *splits = images->set->splits;
    int             first = split == CP_IMAGES_SPLITS ? 0 : split, last = split == CP_IMAGES_SPLITS ? split - 1 : split, done = 0;
    if (!*images->md5) return cp_null(cp_fail(status, "%s is built in and has no columns", images->name));
    cp_npz *npz = cp_npz_open(file, status);
    if (!npz) return NULL;
    for (int s = first; s <= last; s++) done += splits[s].count;
    int *values = malloc(((size_t)done + 1) * sizeof *values), *sorted = NULL;
    bool ok = values || cp_fail(status, "not enough memory for the column %.60s", column);
    done = 0;
    for (int s = first; ok && s <= last; done += splits[s++].count)
        if (splits[s].count) ok = read_split(npz, file, s, splits[s].count, column, names, values + done, status);
    if (ok && !(sorted = cp_names_sort(names, true))) ok = cp_fail(status, "not enough memory for the column %.60s", column);
    for (int i = 0; ok && i < done; i++) values[i] = sorted[values[i]];
    cp_npz_close(npz);
    free(sorted);
    if (ok) return values;
    free(values);
    return NULL;
}
