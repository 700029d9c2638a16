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

static char *add_line(cp_set_check *check) { return check->lines[check->count++]; }

/* ---- two splits ---- */

/* The rows of a split as bytes: its inputs, or its patients, whose `width` is that of an int. */
static int list_rows(const cp_images *images, int split, bool patients, size_t width, const void **rows) {
    const char *from = patients ? (const char *)images->groups[split] : images->set->splits[split].inputs;
    int         count = from ? images->set->splits[split].count : 0;
    for (int i = 0; i < count; i++) rows[i] = from + (size_t)i * width;
    return count;
}

/* "17", or its name, cleaned. */
static cp_shown_text name_of(const char *const *names, int number) {
    char        text[16];
    const char *shown = names ? names[number] : text;
    snprintf(text, sizeof text, "%d", number);
    return cp_shown(shown, strlen(shown));
}

/* Adds a line when rows of split b are also in split a, or patients. */
static bool compare(const cp_images *images, int a, int b, bool patients, const void **rows, cp_set_check *check) {
    size_t width = patients ? sizeof(int) : images->set->values * cp_dtype_size(images->set->dtype);
    int    begin = list_rows(images, a, patients, width, rows), count = list_rows(images, b, patients, width, rows + begin);
    int    copies = 0, shared = 0, example = 0, *first = begin && count ? cp_copies_find(rows, width, begin + count) : NULL;
    bool  *seen = calloc((size_t)begin + 1, sizeof *seen), ok = seen && (first || !begin || !count);
    for (int i = 0; ok && first && i < count; i++) {
        int same = first[begin + i];
        if (same >= begin || (patients && images->groups[b][i] < 0)) continue; /* below 0: not known */
        if (copies++ == 0) example = i;
        if (!seen[same]) shared++, seen[same] = true;
    }
    if (copies && patients)
        snprintf(add_line(check), sizeof *check->lines, "%d patient%s in %s and in %s, such as %s", shared,
                 shared == 1 ? " is" : "s are", cp_images_splits[a], cp_images_splits[b],
                 name_of((const char *const *)images->patients_named.at, images->groups[b][example]).text);
    else if (copies)
        snprintf(add_line(check), sizeof *check->lines, "%d of the %d rows of %s %s of %s, such as row %d of row %d", copies, count,
                 cp_images_splits[b], copies == 1 ? "is a copy of one" : "are copies of some", cp_images_splits[a], example,
                 first[begin + example]);
    free(first), free(seen);
    return ok;
}

bool cp_images_check(const cp_images *images, cp_set_check *check, cp_status *status) {
    size_t total = 1;
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) total += (size_t)images->set->splits[s].count;
    const void **rows = malloc(total * sizeof *rows);
    bool         ok = rows != NULL;
    *check = (cp_set_check){.count = 0};
    for (int kind = 1; kind >= 0; kind--) /* patients first */
        for (int a = 0; a < CP_IMAGES_SPLITS; a++)
            for (int b = a + 1; b < CP_IMAGES_SPLITS; b++) ok = ok && compare(images, a, b, kind, rows, check);
    free(rows);
    return ok || cp_fail(status, "%s: not enough memory to compare its splits", images->name);
}

/* ---- classes and splits ---- */

void cp_images_check_classes(const cp_images *images, cp_set_check *check) {
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
        snprintf(add_line(check), sizeof *check->lines, "class %s has no labeled training rows",
                 name_of(images->class_names, rarest).text);
    else if (counts && counts[largest] >= RARE * (int64_t)counts[rarest] && counts[rarest])
        snprintf(add_line(check), sizeof *check->lines,
                 "class %s has %d labeled training rows, class %s has %d: look at the balanced accuracy",
                 name_of(images->class_names, largest).text, counts[largest], name_of(images->class_names, rarest).text,
                 counts[rarest]);
    free(counts);
}
