/* Patients and images that are in two splits. */
#include "experiments/kit/data/check.h"

#include "core/io/deflate.h"

#include <stdlib.h>
#include <string.h>

typedef struct hashed {
    uint32_t crc;
    int      row;
} hashed;

static int by_crc(const void *a, const void *b) {
    const hashed *x = a, *y = b;
    return x->crc != y->crc ? (x->crc < y->crc ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

int *cp_copies_find(const void *const *rows, size_t width, int count) {
    hashed *order = malloc(((size_t)count + 1) * sizeof *order);
    int    *first = malloc(((size_t)count + 1) * sizeof *first);
    for (int i = 0; order && i < count; i++) order[i] = (hashed){cp_crc32(0, rows[i], width), i};
    if (order && count) qsort(order, (size_t)count, sizeof *order, by_crc);
    for (int i = 0; order && first && i < count; i++) {
        int row = order[i].row;
        first[row] = row;
        for (int k = i - 1; k >= 0 && order[k].crc == order[i].crc && first[row] == row; k--)
            if (memcmp(rows[row], rows[order[k].row], width) == 0) first[row] = first[order[k].row];
    }
    if (!order) free(first), first = NULL;
    free(order);
    return first;
}

static char *add_line(cp_check *check) { return check->lines[check->count++]; }

/* ---- patients ---- */

static int ascending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void compare_patients(const cp_images *images, int a, int b, const int *sorted, int count, cp_check *check) {
    const int *others = images->groups[b];
    int        shared = 0, example = 0, *found = calloc((size_t)count + 1, sizeof *found);
    for (int i = 0; found && i < images->set->splits[b].count; i++) {
        const int *at = others[i] < 0 ? NULL : bsearch(&others[i], sorted, (size_t)count, sizeof *sorted, ascending);
        while (at && at > sorted && at[-1] == *at) at--;
        if (!at || found[at - sorted]) continue;
        found[at - sorted] = 1;
        if (shared++ == 0) example = *at;
    }
    free(found);
    if (!shared) return;
    char *line = add_line(check), name[84];
    snprintf(name, sizeof name, "%d", example);
    if (images->patients_named.count) {
        const char *text = images->patients_named.at[example];
        snprintf(name, sizeof name, "%s", cp_shown(text, strlen(text)).text);
    }
    snprintf(line, sizeof *check->lines, "%d patient%s in %s and in %s, such as %s", shared, shared == 1 ? " is" : "s are",
             cp_images_splits[a], cp_images_splits[b], name);
}

static bool check_patients(const cp_images *images, cp_check *check) {
    for (int a = 0; a < CP_IMAGES_SPLITS; a++) {
        int  count = images->groups[a] ? images->set->splits[a].count : 0;
        int *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
        if (!sorted) return false;
        if (count) {
            memcpy(sorted, images->groups[a], (size_t)count * sizeof *sorted);
            qsort(sorted, (size_t)count, sizeof *sorted, ascending);
        }
        for (int b = a + 1; count && b < CP_IMAGES_SPLITS; b++)
            if (images->groups[b]) compare_patients(images, a, b, sorted, count, check);
        free(sorted);
    }
    return true;
}

/* ---- images ---- */

static void compare_images(const cp_images *images, const int *first, cp_check *check) {
    const cp_split *splits = images->set->splits;
    int             start[CP_IMAGES_SPLITS + 1] = {0};
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) start[s + 1] = start[s] + splits[s].count;
    for (int a = 0; a < CP_IMAGES_SPLITS; a++)
        for (int b = a + 1; b < CP_IMAGES_SPLITS; b++) {
            int copies = 0, example = 0;
            for (int i = start[b]; i < start[b + 1]; i++)
                if (first[i] >= start[a] && first[i] < start[a + 1] && copies++ == 0) example = i;
            if (copies)
                snprintf(add_line(check), sizeof *check->lines, "%d of the %d rows of %s %s of %s, such as row %d of row %d",
                         copies, splits[b].count, cp_images_splits[b], copies == 1 ? "is a copy of one" : "are copies of some",
                         cp_images_splits[a], example - start[b], first[example] - start[a]);
        }
}

bool cp_images_check(const cp_images *images, cp_check *check, cp_status *status) {
    size_t width = images->set->values * cp_dtype_size(images->set->dtype);
    int    count = 0, total = 0;
    *check = (cp_check){.count = 0};
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) total += images->set->splits[s].count;
    const void **rows = malloc(((size_t)total + 1) * sizeof *rows);
    for (int s = 0; rows && s < CP_IMAGES_SPLITS; s++)
        for (int i = 0; i < images->set->splits[s].count; i++)
            rows[count++] = (const char *)images->set->splits[s].inputs + (size_t)i * width;
    int *first = rows ? cp_copies_find(rows, width, total) : NULL;
    bool ok =
        (first && check_patients(images, check)) || cp_fail(status, "%s: not enough memory to compare its splits", images->name);
    if (ok) compare_images(images, first, check);
    free(rows), free(first);
    return ok;
}

/* ---- classes and splits ---- */

void cp_images_check_classes(const cp_images *images, cp_check *check) {
    enum { RARE = 10 };
    const cp_split *splits = images->set->splits;
    int             rarest = 0, largest = 0, *counts = calloc((size_t)images->classes + 1, sizeof *counts);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++)
        if (splits[s].count == 0)
            snprintf(add_line(check), sizeof *check->lines,
                     "there is no %s split; a training needs all three, and couplet import makes them", cp_images_splits[s]);
    if (counts && splits[CP_IMAGES_TRAIN].count) cp_split_class_counts(&splits[CP_IMAGES_TRAIN], counts);
    for (int c = 0; counts && c < images->classes; c++) {
        if (counts[c] < counts[rarest]) rarest = c;
        if (counts[c] > counts[largest]) largest = c;
    }
    if (counts && splits[CP_IMAGES_TRAIN].count && counts[rarest] == 0)
        snprintf(add_line(check), sizeof *check->lines, "class %d has no labeled training rows", rarest);
    else if (counts && counts[largest] >= RARE * (int64_t)counts[rarest] && counts[rarest])
        snprintf(add_line(check), sizeof *check->lines,
                 "class %d has %d labeled training rows, class %d has %d: look at the balanced accuracy", largest, counts[largest],
                 rarest, counts[rarest]);
    free(counts);
}
