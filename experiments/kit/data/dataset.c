/* Data sets: splits, the scaling convention, rows into batches, and draws of labeled rows. */
#include "experiments/kit/data/dataset.h"

#include "core/op.h"
#include "core/random.h"
#include "models/about.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the scaling convention ---- */

void cp_pixels_of(const cp_real *values, size_t count, uint8_t *pixels) {
    for (size_t i = 0; i < count; i++) {
        double pixel = floor(((double)values[i] + 1) * 127.5 + 0.5);
        pixels[i] = (uint8_t)(pixel >= 255 ? 255 : pixel > 0 ? pixel : 0);
    }
}

/* ---- making a set ---- */

static bool dtype_fits(cp_dtype dtype) { return dtype == CP_U8 || dtype == CP_F32 || dtype == CP_F64; }

cp_dataset *(cp_dataset_new)(cp_at at, cp_dataset_config config) {
    const char *op = "dataset_new";
    size_t      values;
    if (!dtype_fits(config.dtype))
        return cp_refuse(at, op, "inputs of dtype %d are not CP_U8, CP_F32 or CP_F64", (int)config.dtype);
    if (config.shape.rank < 1 || config.shape.rank >= CP_MAX_RANK || !cp_shape_size(config.shape, &values) || values == 0)
        return cp_refuse(at, op,
                         "an input of rank %d cannot have these sizes; a shape such as (H, W, C) or (D) is expected, without a 0",
                         config.shape.rank);
    if (config.classes < 0) return cp_refuse(at, op, "there cannot be %d classes", config.classes);
    cp_dataset *set = calloc(1, sizeof *set);
    if (!set) return cp_refuse(at, op, "out of memory");
    snprintf(set->name, sizeof set->name, "%s", config.name ? config.name : "data set");
    set->dtype = config.dtype;
    set->shape = config.shape;
    set->values = values;
    set->classes = config.classes;
    set->classes_given = config.classes > 0;
    return set;
}

void cp_dataset_free(cp_dataset *set) {
    if (!set) return;
    for (int i = 0; i < set->split_count; i++) {
        if (!set->splits[i].owned) continue;
        free((void *)set->splits[i].inputs);
        free((void *)set->splits[i].labels);
        free((void *)set->splits[i].lengths);
    }
    free(set);
}

static const cp_split *find(const cp_dataset *set, const char *name) {
    for (int i = 0; i < set->split_count; i++)
        if (strcmp(set->splits[i].name, name) == 0) return &set->splits[i];
    return NULL;
}

static bool usable(cp_at at, const cp_dataset *set, const cp_split_config *c) {
    const char *op = "dataset_add";
    if (!set) return cp_misuse(at, op, "the data set is NULL");
    if (!c->name || !*c->name || strlen(c->name) >= CP_SPLIT_NAME)
        return cp_misuse(at, op, "a split's name has 1 to %d characters, not \"%.40s\"", CP_SPLIT_NAME - 1, c->name ? c->name : "");
    if (find(set, c->name)) return cp_misuse(at, op, "%s has a split \"%s\" already", set->name, c->name);
    if (set->split_count == CP_SPLITS) return cp_misuse(at, op, "%s has %d splits already", set->name, CP_SPLITS);
    if (c->count < 0 || (c->count && !c->inputs))
        return cp_misuse(at, op, "split \"%s\" cannot have %d inputs%s", c->name, c->count, c->inputs ? "" : " at NULL");
    if ((size_t)c->count > SIZE_MAX / sizeof(double) / set->values)
        return cp_misuse(at, op, "%d inputs of %zu values do not fit into memory", c->count, set->values);
    return true;
}

/* The largest label, -1 when there is none; false when one is too large. */
static bool labels_fit(const cp_dataset *set, const cp_split_config *c, int *largest, cp_status *status) {
    *largest = -1;
    for (int i = 0; c->labels && i < c->count; i++) {
        if (set->classes_given && c->labels[i] >= set->classes)
            return cp_fail(status, "%s, split \"%s\": label %d of row %d is not below the number of classes, %d", set->name,
                           c->name, c->labels[i], i, set->classes);
        if (c->labels[i] == INT_MAX)
            return cp_fail(status, "%s, split \"%s\": label %d of row %d is too large", set->name, c->name, INT_MAX, i);
        if (c->labels[i] > *largest) *largest = c->labels[i];
    }
    return true;
}

static double value_at(cp_dtype dtype, const void *inputs, size_t i) {
    return dtype == CP_F32 ? (double)((const float *)inputs)[i] : ((const double *)inputs)[i];
}

static bool inputs_fit(const cp_dataset *set, const cp_split_config *c, cp_status *status) {
    size_t count = set->dtype == CP_U8 ? 0 : (size_t)c->count * set->values;
    for (size_t i = 0; i < count; i++)
        if (!(fabs(value_at(set->dtype, c->inputs, i)) <= CP_REAL_MAX))
            return cp_fail(status, "%s, split \"%s\": value %zu of row %zu is %g, not a finite %s", set->name, c->name,
                           i % set->values, i / set->values, value_at(set->dtype, c->inputs, i), CP_REAL_NAME);
    return true;
}

bool(cp_dataset_add)(cp_at at, cp_dataset *set, cp_split_config c, cp_status *status) {
    int largest;
    if (!usable(at, set, &c) || !labels_fit(set, &c, &largest, status) || !inputs_fit(set, &c, status)) return false;
    if (largest >= set->classes) set->classes = largest + 1;
    cp_split *split = &set->splits[set->split_count++];
    *split = (cp_split){.count = c.count, .inputs = c.inputs, .labels = c.labels, .owned = c.owned, .set = set};
    strcpy(split->name, c.name);
    return true;
}

bool(cp_dataset_set_lengths)(cp_at at, cp_dataset *set, const char *name, const int *lengths) {
    cp_split *split = set && name ? (cp_split *)find(set, name) : NULL;
    int       steps = split && set->shape.rank == 2 ? set->shape.dims[0] : 0;
    if (!steps || !lengths)
        return cp_misuse(at, "dataset_set_lengths", "there is no split of sequences with that name, or no lengths");
    for (int i = 0; i < split->count; i++)
        if (lengths[i] < 1 || lengths[i] > steps)
            return cp_misuse(at, "dataset_set_lengths", "row %d of split \"%s\" has length %d; 1 to %d are possible", i, name,
                             lengths[i], steps);
    split->lengths = lengths;
    return true;
}

const cp_split *cp_dataset_split(const cp_dataset *set, const char *name, cp_status *status) {
    const cp_split *split = set && name ? find(set, name) : NULL;
    if (split) return split;
    char   names[CP_SPLITS * (CP_SPLIT_NAME + 2)] = "";
    size_t used = 0;
    for (int i = 0; set && i < set->split_count; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", set->splits[i].name);
    return cp_null(cp_fail(status, "%s has no split \"%s\"; it has %s", set ? set->name : "a data set that is NULL",
                           name ? name : "", *names ? names : "none"));
}

/* ---- rows ---- */

static bool rows_fit(cp_at at, const char *op, const cp_split *split, const int *rows, int count) {
    if (!split || count < 0 || (count && !rows)) return cp_misuse(at, op, "the split or its %d rows are NULL", count);
    for (int i = 0; i < count; i++)
        if (rows[i] < 0 || rows[i] >= split->count)
            return cp_misuse(at, op, "there is no row %d among the %d of split \"%s\"", rows[i], split->count, split->name);
    return true;
}

/* cp_dataset_add has seen that every value fits, so that scaling cannot fail. */
static void read_rows(const cp_split *split, const int *rows, int count, cp_real *out) {
    const cp_dataset *set = split->set;
    size_t            bytes = set->values * cp_dtype_size(set->dtype);
    for (int i = 0; i < count; i++, out += set->values)
        cp_preprocess(NULL, set->dtype, (const char *)split->inputs + (size_t)rows[i] * bytes, set->values, out, split->name, NULL);
}

bool(cp_split_read)(cp_at at, const cp_split *split, const int *rows, int count, cp_real *out) {
    const char *op = "split_read";
    if (!rows_fit(at, op, split, rows, count)) return false;
    if (!out) return cp_misuse(at, op, "the memory for %d rows is NULL", count);
    read_rows(split, rows, count, out);
    return true;
}

cp_tensor *(cp_split_gather)(cp_at at, const cp_split *split, const int *rows, int count) {
    const char *op = "split_gather";
    if (!cp_check(at, op, 0, NULL) || !rows_fit(at, op, split, rows, count)) return NULL;
    cp_tensor *x = cp_out(at, cp_shape_rows(count, split->set->shape));
    if (!x) return NULL;
    read_rows(split, rows, count, x->data);
    int *lengths = split->lengths ? cp_tape_alloc(at, (size_t)count * sizeof *lengths) : NULL;
    if (split->lengths && !lengths) return NULL;
    x->lengths = cp_split_lengths(split, rows, count, lengths);
    return x;
}

const int *cp_split_lengths(const cp_split *split, const int *rows, int count, int *lengths) {
    if (!split->lengths) return NULL;
    for (int i = 0; i < count; i++) lengths[i] = split->lengths[rows[i]];
    return lengths;
}

/* ---- draws of labeled rows ---- */

void cp_split_class_counts(const cp_split *split, int *counts) {
    memset(counts, 0, (size_t)split->set->classes * sizeof *counts);
    for (int i = 0; split->labels && i < split->count; i++)
        if (split->labels[i] >= 0) counts[split->labels[i]]++;
}

/* The rows that will be drawn, with at least `min` of each class; -1: a class has fewer. */
static int64_t count_drawn(const cp_split *split, const int *counts, int min, int max, cp_status *status) {
    int64_t total = 0;
    for (int c = 0; c < split->set->classes; total += counts[c] < max ? counts[c] : max, c++)
        if (counts[c] < min) {
            cp_fail(status, "%s: split \"%s\" has %d labeled rows of class %d; %d per class were requested", split->set->name,
                    split->name, counts[c], c, min);
            return -1;
        }
    return total;
}

static int ascending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Each class takes a whole permutation of its rows from the stream, so that a draw of fewer rows is part of a draw of more. */
static void draw(const cp_split *split, const int *counts, int per_class, cp_rng *rng, int *order, int *members, int *drawn) {
    for (int c = 0; c < split->set->classes; c++) {
        int found = 0;
        for (int i = 0; i < split->count; i++)
            if (split->labels[i] == c) members[found++] = i;
        cp_rng_permutation(rng, order, counts[c]);
        for (int i = 0; i < per_class && i < found; i++) *drawn++ = members[order[i]];
    }
}

/* From `min` to `max` of each class. */
static int *draw_rows(const cp_split *split, int min, int max, uint64_t seed, int *count, cp_status *status) {
    if (!split || !split->set->classes || min < 1)
        return cp_null(cp_fail(status, "%d rows of each class cannot be drawn from a split that has %s", min,
                               !split                ? "no set"
                               : split->set->classes ? "labels"
                                                     : "no labels"));
    size_t  classes = (size_t)split->set->classes, rows = (size_t)split->count;
    int    *work = calloc(classes + 2 * rows, sizeof *work), *drawn = NULL;
    int64_t total = -1;
    if (work) cp_split_class_counts(split, work);
    if (work) total = count_drawn(split, work, min, max, status);
    if (total >= 0) { /* at most `rows` */
        cp_rng rng = cp_rng_named(seed, "labels");
        drawn = malloc((size_t)total * sizeof *drawn);
        if (drawn) {
            draw(split, work, max, &rng, work + classes, work + classes + rows, drawn);
            qsort(drawn, (size_t)total, sizeof *drawn, ascending);
        }
    }
    *count = (int)total;
    if (!drawn) cp_fail(status, "out of memory to draw rows of split \"%s\"", split->name);
    free(work);
    return drawn;
}

int *cp_split_draw(const cp_split *split, int per_class, uint64_t seed, cp_status *status) {
    return draw_rows(split, per_class, per_class, seed, &(int){0}, status);
}

int *cp_split_draw_some(const cp_split *split, int per_class, uint64_t seed, int *count, cp_status *status) {
    return draw_rows(split, 1, per_class, seed, count, status);
}
