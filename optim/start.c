/* Start distributions of chains. */
#include "optim/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cp_class_gaussian {
    int      classes, size, directions;
    double   jitter;
    cp_real *mean;   /* (classes, size) */
    cp_real *spread; /* sd (classes, size), or the scaled directions (classes, directions, size) */
};

/* ---- class Gaussians ---- */

cp_class_gaussian *(cp_class_gaussian_new)(cp_at at, cp_class_gaussian_config config) {
    const char *op = "class_gaussian_new";
    size_t      rows = config.directions > 0 ? (size_t)config.directions : 1;
    if (config.classes < 1 || config.directions < 0 || config.size > INT32_MAX || !isfinite(config.jitter))
        return cp_refuse(at, op, "classes %d, directions %d, size %zu and jitter %g do not fit", config.classes, config.directions,
                         config.size, config.jitter);
    cp_class_gaussian *gaussian = calloc(1, sizeof *gaussian);
    bool               fits = config.size < SIZE_MAX / sizeof(cp_real) / rows / (size_t)config.classes;
    if (gaussian && fits) {
        size_t means = (size_t)config.classes * config.size + 1; /* never 0 */
        gaussian->classes = config.classes;
        gaussian->size = (int)config.size;
        gaussian->directions = config.directions;
        gaussian->jitter = config.jitter < 0 ? 0 : config.jitter != 0 ? config.jitter : 0.01;
        gaussian->mean = calloc(means, sizeof *gaussian->mean);
        gaussian->spread = calloc(means * rows, sizeof *gaussian->spread);
        if (gaussian->mean && gaussian->spread) return gaussian;
    }
    cp_class_gaussian_free(gaussian);
    return cp_refuse(at, op, "out of memory for %d classes of %zu x %zu values", config.classes, rows, config.size);
}

void cp_class_gaussian_free(cp_class_gaussian *gaussian) {
    if (!gaussian) return;
    free(gaussian->mean);
    free(gaussian->spread);
    free(gaussian);
}

typedef struct class_data {
    const cp_real *data;
    const int     *labels;
    size_t         count, size;
    int            label;
    size_t         members;
    double        *sums; /* (size), for one class at a time */
} class_data;

static size_t members_of(const class_data *d) {
    size_t members = 0;
    for (size_t i = 0; i < d->count; i++) members += d->labels[i] == d->label;
    return members;
}

static void fit_mean(const class_data *d, cp_real *mean) {
    memset(d->sums, 0, d->size * sizeof *d->sums);
    for (size_t i = 0; i < d->count; i++)
        for (size_t j = 0; d->labels[i] == d->label && j < d->size; j++) d->sums[j] += (double)d->data[i * d->size + j];
    for (size_t j = 0; j < d->size; j++) mean[j] = (cp_real)(d->sums[j] / (double)d->members);
}

/* Deviations are from the mean in double, which fit_mean left in `sums`: a mean rounded to cp_real would add to the variance. */
static void fit_sd(const class_data *d, double *squares, double jitter, cp_real *sd) {
    for (size_t j = 0; j < d->size; j++) d->sums[j] /= (double)d->members;
    memset(squares, 0, d->size * sizeof *squares);
    for (size_t i = 0; i < d->count; i++)
        for (size_t j = 0; d->labels[i] == d->label && j < d->size; j++) {
            double off = (double)d->data[i * d->size + j] - d->sums[j];
            squares[j] += off * off;
        }
    double divisor = d->members > 1 ? (double)d->members - 1 : 1;
    for (size_t j = 0; j < d->size; j++) sd[j] = (cp_real)sqrt(squares[j] / divisor + jitter * jitter);
}

static void fit_directions(const class_data *d, const cp_real *mean, size_t room, cp_real *rows) {
    size_t kept = d->members < room ? d->members : room, row = 0, member = 0;
    double scale = 1 / sqrt(kept < d->members ? (double)kept : kept > 1 ? (double)kept - 1 : 1);
    memset(rows, 0, room * d->size * sizeof *rows);
    for (size_t i = 0; i < d->count && row < kept; i++) {
        if (d->labels[i] != d->label || member++ != row * d->members / kept) continue;
        for (size_t j = 0; j < d->size; j++)
            rows[row * d->size + j] = (cp_real)(((double)d->data[i * d->size + j] - (double)mean[j]) * scale);
        row++;
    }
}

static bool labels_fit(cp_at at, const cp_class_gaussian *gaussian, class_data d) {
    const char *op = "class_gaussian_fit";
    for (size_t i = 0; i < d.count; i++)
        if (d.labels[i] >= gaussian->classes)
            return cp_misuse(at, op, "label %d of sample %zu is not below %d classes", d.labels[i], i, gaussian->classes);
    for (d.label = 0; d.label < gaussian->classes; d.label++)
        if (!members_of(&d)) return cp_misuse(at, op, "class %d has no samples among %zu", d.label, d.count);
    return true;
}

bool(cp_class_gaussian_fit)(cp_at at, cp_class_gaussian *gaussian, const cp_real *data, const int *labels, size_t count) {
    const char *op = "class_gaussian_fit";
    if (!gaussian || !data || !labels) return cp_misuse(at, op, "the Gaussian, the data or the labels are NULL");
    size_t     size = (size_t)gaussian->size;
    class_data d = {.data = data, .labels = labels, .count = count, .size = size};
    if (!labels_fit(at, gaussian, d)) return false;
    d.sums = malloc((2 * size + 1) * sizeof *d.sums);
    if (!d.sums) return cp_misuse(at, op, "out of memory");
    for (d.label = 0; d.label < gaussian->classes; d.label++) {
        size_t   c = (size_t)d.label, room = (size_t)gaussian->directions;
        cp_real *mean = gaussian->mean + c * size;
        d.members = members_of(&d);
        fit_mean(&d, mean);
        if (room)
            fit_directions(&d, mean, room, gaussian->spread + c * room * size);
        else
            fit_sd(&d, d.sums + size, gaussian->jitter, gaussian->spread + c * size);
    }
    free(d.sums);
    return true;
}

static void add_directions(const cp_class_gaussian *gaussian, cp_rng *rng, const cp_real *rows, cp_real *out) {
    cp_real weights[64];
    size_t  size = (size_t)gaussian->size, count = (size_t)gaussian->directions;
    for (size_t row = 0; row < count; row++) {
        if (row % 64 == 0) cp_rng_fill_normal(rng, weights, count - row < 64 ? count - row : 64, 0, 1);
        for (size_t j = 0; j < size; j++) out[j] += weights[row % 64] * rows[row * size + j];
    }
}

int cp_class_gaussian_classes(const cp_class_gaussian *gaussian) { return gaussian ? gaussian->classes : 0; }

void cp_class_gaussian_draw(const cp_class_gaussian *gaussian, cp_rng *rng, int label, cp_real *out) {
    if (!gaussian || !rng || !out || label >= gaussian->classes) {
        cp_misuse((cp_at){0}, "class_gaussian_draw", "class %d of %d, or a NULL", label, cp_class_gaussian_classes(gaussian));
        return;
    }
    size_t         c = (size_t)(label < 0 ? (int)cp_rng_below(rng, (uint64_t)gaussian->classes) : label);
    size_t         size = (size_t)gaussian->size, room = (size_t)gaussian->directions;
    const cp_real *mean = gaussian->mean + c * size;
    cp_rng_fill_normal(rng, out, size, 0, room ? (cp_real)gaussian->jitter : 1);
    if (room) {
        for (size_t j = 0; j < size; j++) out[j] += mean[j];
        add_directions(gaussian, rng, gaussian->spread + c * room * size, out);
    } else {
        for (size_t j = 0; j < size; j++) out[j] = mean[j] + gaussian->spread[c * size + j] * out[j];
    }
}

bool cp_class_gaussian_state(cp_class_gaussian *gaussian, int i, cp_state *state) {
    if (!gaussian) return false;
    int classes = gaussian->classes, size = gaussian->size, rows = gaussian->directions;
    if (i == 0) *state = cp_state_array("", "mean", CP_REAL_DTYPE, CP_SHAPE(classes, size), gaussian->mean);
    if (i == 1 && rows) *state = cp_state_array("", "directions", CP_REAL_DTYPE, CP_SHAPE(classes, rows, size), gaussian->spread);
    if (i == 1 && !rows)
        *state = cp_state_within(cp_state_array("", "sd", CP_REAL_DTYPE, CP_SHAPE(classes, size), gaussian->spread), 0, INFINITY);
    return i == 0 || i == 1;
}

/* ---- any start ---- */

bool cp_start_check(cp_at at, const char *op, const cp_start *start, size_t size) {
    if (!(start->low <= start->high && isfinite(start->low) && isfinite(start->high)))
        return cp_misuse(at, op, "the start's range [%g, %g] is empty or not finite", start->low, start->high);
    switch (start->kind) {
    case CP_START_UNIFORM: return true;
    case CP_START_CLASS_GAUSSIAN:
        if (!start->gaussian) return cp_misuse(at, op, "the start needs a class Gaussian, and it is NULL");
        if ((size_t)start->gaussian->size == size) return true;
        return cp_misuse(at, op, "the start's Gaussian has %d values a sample, not %zu", start->gaussian->size, size);
    }
    return cp_misuse(at, op, "there is no start of kind %d", (int)start->kind);
}

void cp_start_draw(const cp_start *start, cp_rng *rng, int label, cp_real *out, size_t size) {
    cp_real low = (cp_real)start->low, high = (cp_real)start->high;
    if (start->kind == CP_START_UNIFORM) {
        bool unset = low == 0 && high == 0;
        cp_rng_fill_uniform(rng, out, size, unset ? -1 : low, unset ? 1 : high);
        return;
    }
    cp_class_gaussian_draw(start->gaussian, rng, label, out);
    for (size_t i = 0; low < high && i < size; i++) out[i] = out[i] < low ? low : out[i] > high ? high : out[i];
}
