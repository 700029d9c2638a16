/* couplet data: image sets. */
#include "experiments/data/data_parts.h"
#include "experiments/kit/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In the file's numbers; those beyond the range have been taken to its ends. */
static cp_data_summary summarize_split(const cp_images *images, const cp_split *split) {
    cp_data_summary s = cp_data_summarize(images->set->dtype, split->inputs, (size_t)split->count * images->set->values);
    if (images->set->dtype == CP_U8) return s;
    double middle = images->low / 2 + images->high / 2, half = images->high / 2 - images->low / 2;
    return (cp_data_summary){middle + half * s.min, middle + half * s.max, middle + half * s.mean, half * s.sd, 0};
}

/* How many patients a split has; 0 when that is not known. */
static int count_patients(const cp_images *images, int split) {
    int  count = 0;
    int *number = images->groups[split] ? cp_groups_number(images->groups[split], images->set->splits[split].count, &count) : NULL;
    free(number);
    return count;
}

/* ---- as JSON ---- */

static void put_split(cp_json_writer *w, const cp_images *images, int split, const int *counts) {
    const cp_split *s = &images->set->splits[split];
    cp_data_summary about = summarize_split(images, s);
    cp_json_put_object(w, s->name);
    cp_json_put_integer(w, "images", s->count);
    cp_json_put_array(w, "classes");
    for (int c = 0; c < images->classes; c++) cp_json_put_integer(w, NULL, counts[c]);
    cp_json_put_end(w);
    cp_data_put_summary(w, &about);
    if (images->groups[split]) cp_json_put_integer(w, "patients", count_patients(images, split));
    cp_json_put_end(w);
}

static bool put_set(const cp_images *images, const char *path, int *const *counts, cp_status *status) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "data");
    cp_json_put_string(&w, "file", path);
    cp_json_put_string(&w, "kind", "images");
    cp_json_put_string(&w, "name", images->name);
    cp_json_put_string(&w, "origin", cp_images_origin(images));
    cp_json_put_bool(&w, "official", images->official);
    *images->md5 ? cp_json_put_string(&w, "md5", images->md5) : cp_json_put_null(&w, "md5");
    cp_json_put_integer(&w, "height", images->height);
    cp_json_put_integer(&w, "width", images->width);
    cp_json_put_integer(&w, "channels", images->channels);
    cp_json_put_integer(&w, "classes", images->classes);
    if (images->class_names) {
        cp_json_put_array(&w, "class_names");
        for (int c = 0; c < images->classes; c++) cp_json_put_string(&w, NULL, images->class_names[c]);
        cp_json_put_end(&w);
    }
    cp_json_put_string(&w, "dtype", cp_dtype_numpy(images->stored));
    cp_json_put_string(&w, "scaling", cp_images_scaling(images).s);
    cp_json_put_number(&w, "low", images->low);
    cp_json_put_number(&w, "high", images->high);
    cp_json_put_integer(&w, "clamped", (int64_t)images->clamped);
    cp_json_put_object(&w, "splits");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) put_split(&w, images, s, counts[s]);
    cp_json_put_end(&w);
    if (images->made) cp_json_put_copy(&w, "made", images->made);
    cp_json_put_end(&w);
    bool ok = cp_data_print_json(&w, status);
    cp_json_writer_free(&w);
    return ok;
}

/* ---- as text ---- */

static void print_classes(const cp_images *images, int *const *counts) {
    cp_table *table = cp_table_new(4, "class", "train", "val", "test");
    for (int c = 0; c < images->classes; c++) {
        cp_table_text(table, "%d%s%s", c, images->class_names ? " " : "", images->class_names ? images->class_names[c] : "");
        for (int s = 0; s < CP_IMAGES_SPLITS; s++) cp_table_text(table, "%d", counts[s][c]);
    }
    cp_table_text(table, "all");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) cp_table_text(table, "%d", images->set->splits[s].count);
    if (images->groups[CP_IMAGES_TRAIN] || images->groups[CP_IMAGES_VAL] || images->groups[CP_IMAGES_TEST]) {
        cp_table_text(table, "patients");
        for (int s = 0; s < CP_IMAGES_SPLITS; s++)
            cp_table_number(table, images->groups[s] ? (double)count_patients(images, s) : NAN, 0);
    }
    cp_table_print(table, stdout);
    cp_table_free(table);
}

static void print_pixels(const cp_images *images) {
    cp_table *table = cp_table_new(5, "pixels", "least", "most", "mean", "sd");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        cp_data_summary about = summarize_split(images, &images->set->splits[s]);
        cp_table_text(table, "%s", cp_images_splits[s]);
        cp_data_show_summary(table, &about);
    }
    cp_table_print(table, stdout);
    cp_table_free(table);
}

static void print_set(const cp_images *images, int *const *counts) {
    printf("%s: images of %d x %d, %d channel%s, %d classes\n", images->name, images->height, images->width, images->channels,
           images->channels == 1 ? "" : "s", images->classes);
    printf("%s%s%s\n", cp_images_origin(images), *images->md5 ? ", md5 " : "", images->md5);
    printf("pixels are %s\n\n", cp_images_scaling(images).s);
    print_classes(images, counts);
    printf("\n");
    print_pixels(images);
    if (images->clamped)
        printf("%zu pixels of val and test lie beyond the range and are taken to its ends, in this table too\n", images->clamped);
    if (images->made) cp_data_print_made(images->made);
}

bool cp_data_show_images(const cp_images *images, const char *path, bool json, cp_status *status) {
    int *counts[CP_IMAGES_SPLITS] = {NULL};
    bool ok = true;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) {
        counts[s] = malloc((size_t)images->classes * sizeof *counts[s]);
        ok = counts[s] || cp_fail(status, "not enough memory for %d classes", images->classes);
        if (ok) cp_split_class_counts(&images->set->splits[s], counts[s]);
    }
    if (ok && json)
        ok = put_set(images, path, counts, status);
    else if (ok)
        print_set(images, counts);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) free(counts[s]);
    return ok;
}
