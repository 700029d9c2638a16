/* The inputs of couplet import, their splits, and the file. */
#include "core/io/picture.h"
#include "experiments/import/import.h"
#include "experiments/kit/data/check.h"
#include "experiments/kit/data/resize.h"
#include "experiments/kit/volumes/patients.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- pictures ---- */

enum { RGB = 3 };

static double sample(const cp_picture *p, size_t pixel, int channel) {
    size_t at = pixel * (size_t)p->channels + (size_t)channel;
    return p->depth == 16 ? (double)((const uint16_t *)p->pixels)[at] : (double)((const uint8_t *)p->pixels)[at];
}

/* A color channel of all pixels, blended with black where they are transparent. */
static void take_channel(const cp_picture *p, int channel, float *out) {
    bool opacity = p->channels % 2 == 0;
    int  colors = p->channels - opacity;
    for (size_t i = 0; i < (size_t)p->height * (size_t)p->width; i++) {
        double value = sample(p, i, channel % colors);
        out[i] = (float)(opacity ? value * sample(p, i, colors) / (p->depth == 16 ? 65535 : 255) : value);
    }
}

static cp_resize_axis axis_of(const cp_import_config *c, int from, int other) {
    int shorter = from < other ? from : other, longer = from < other ? other : from;
    return (cp_resize_axis){from, c->size, c->fit == CP_IMPORT_STRETCH ? 0 : c->fit == CP_IMPORT_CROP ? shorter : longer};
}

static void put_channel(const cp_import *m, const float *values, int channel, unsigned char *out) {
    for (size_t i = 0; i < (size_t)m->config.size * (size_t)m->config.size; i++) {
        float value = roundf(values[i]);
        if (m->dtype == CP_U16)
            ((uint16_t *)out)[i * RGB + (size_t)channel] = (uint16_t)value;
        else
            out[i * RGB + (size_t)channel] = (uint8_t)value;
    }
}

/* Into `out`, (size, size, 3); a gray picture has three equal channels. */
static bool put_picture(const cp_import *m, const cp_picture *p, unsigned char *out, cp_status *status) {
    size_t old = (size_t)p->height * (size_t)p->width, new = (size_t)m->config.size *(size_t)m->config.size;
    float *values = malloc((old + new) * sizeof *values);
    bool   ok = values || cp_fail(status, "not enough memory for %d x %d pixels", p->height, p->width);
    for (int c = 0, last = p->channels < RGB ? 1 : RGB; ok && c < RGB; c++) {
        if (c < last) {
            take_channel(p, c, values);
            ok = cp_resize_area(values, axis_of(&m->config, p->height, p->width), axis_of(&m->config, p->width, p->height),
                                values + old, status);
        }
        if (ok) put_channel(m, values + old, c, out);
    }
    free(values);
    return ok;
}

static double channel_at(const cp_import *m, size_t i) {
    return m->dtype == CP_U16 ? (double)((const uint16_t *)m->inputs)[i] : (double)m->inputs[i];
}

/* Keeps one channel: what the three have in common, or the brightness that television computes from them. */
static void make_gray(cp_import *m) {
    size_t pixels = (size_t)m->count * (size_t)m->config.size * (size_t)m->config.size;
    for (size_t i = 0; i < pixels; i++) {
        double gray = round(0.299 * channel_at(m, 3 * i) + 0.587 * channel_at(m, 3 * i + 1) + 0.114 * channel_at(m, 3 * i + 2));
        if (m->dtype == CP_U16)
            ((uint16_t *)m->inputs)[i] = (uint16_t)gray;
        else
            m->inputs[i] = (unsigned char)gray;
    }
    m->channels = 1;
    m->width /= RGB;
}

static bool is_gray(const cp_import *m) {
    size_t values = (size_t)m->count * m->width / cp_dtype_size(m->dtype);
    for (size_t i = 0; i < values; i += RGB)
        if (channel_at(m, i) != channel_at(m, i + 1) || channel_at(m, i) != channel_at(m, i + 2)) return false;
    return true;
}

static bool make_inputs(cp_import *m, cp_status *status) {
    size_t size;
    m->inputs = cp_size_mul((size_t)m->count, m->width, &size) ? malloc(size) : NULL;
    return m->inputs || cp_fail(status, "not enough memory for %d rows of %zu bytes", m->count, m->width);
}

static bool read_pictures(cp_import *m, cp_status *status) {
    bool ok = true;
    m->channels = RGB;
    for (int i = 0; ok && i < m->count; i++) {
        cp_picture picture;
        if (!cp_picture_read(m->rows[i].path, &picture, status)) return false;
        if (i == 0) {
            m->dtype = picture.depth == 16 ? CP_U16 : CP_U8;
            m->width = (size_t)m->config.size * (size_t)m->config.size * RGB * cp_dtype_size(m->dtype);
            ok = make_inputs(m, status);
        }
        if (ok && picture.depth != (m->dtype == CP_U16 ? 16 : 8))
            ok = cp_fail(status, "%.200s has %d bits per value, but %.200s has %d; one depth for all is expected", m->rows[i].path,
                         picture.depth, m->rows[0].path, m->dtype == CP_U16 ? 16 : 8);
        ok = ok && put_picture(m, &picture, m->inputs + (size_t)i * m->width, status);
        cp_picture_free(&picture);
    }
    if (ok && m->config.color != CP_IMPORT_RGB && (m->config.color == CP_IMPORT_GRAY || is_gray(m))) make_gray(m);
    return ok;
}

/* Cells of a table; empty ones become NaN. */
static bool read_table(cp_import *m, cp_status *status) {
    m->dtype = CP_F32;
    m->width = (size_t)m->feature_count * sizeof(float);
    if (!make_inputs(m, status)) return false;
    float *to = (float *)m->inputs;
    for (int i = 0; i < m->count; i++)
        for (int f = 0; f < m->feature_count; f++, to++) {
            const char *text = cp_csv_cell(&m->csv, m->rows[i].row, (size_t)m->features[f]);
            double      value = *text ? strtod(text, NULL) : NAN;
            if (fabs(value) > FLT_MAX)
                return cp_fail(status, "%.200s, line %zu: \"%s\" is too large for float32", m->config.source,
                               m->csv.lines[m->rows[i].row], cp_shown(text, strlen(text)).text);
            *to = (float)value;
            m->missing += !isfinite(*to);
        }
    return true;
}

bool cp_import_read(cp_import *m, cp_status *status) { return m->features ? read_table(m, status) : read_pictures(m, status); }

/* ---- groups: rows that belong into the same split ---- */

static int root_of(cp_import_row *rows, int i) {
    while (rows[i].group != i) i = rows[i].group = rows[rows[i].group].group;
    return i;
}

/* The group of each row is its first row. */
static void join(cp_import_row *rows, int a, int b) {
    a = root_of(rows, a), b = root_of(rows, b);
    rows[a > b ? a : b].group = a > b ? b : a;
}

static bool join_copies(cp_import *m) {
    const void **rows = malloc((size_t)m->count * sizeof *rows);
    for (int i = 0; rows && i < m->count; i++) rows[i] = m->inputs + (size_t)i * m->width;
    int *first = rows ? cp_copies_find(rows, m->width, m->count) : NULL;
    for (int i = 0; first && i < m->count; i++) {
        int a = m->rows[i].label, b = m->rows[first[i]].label;
        m->copies += first[i] != i;
        m->mislabeled += a >= 0 && b >= 0 && a != b;
        join(m->rows, first[i], i);
    }
    bool ok = first != NULL;
    free(rows), free(first);
    return ok;
}

static bool make_groups(cp_import *m, cp_status *status) {
    cp_names patients = {0};
    int     *first = malloc((size_t)m->count * sizeof *first);
    bool     ok = first != NULL;
    for (int i = 0; i < m->count; i++) m->rows[i].group = i;
    for (int i = 0; ok && m->has_patients && i < m->count; i++) {
        int before = patients.count, patient = *m->rows[i].patient ? cp_names_add(&patients, m->rows[i].patient) : -2;
        ok = patient != -1;
        if (patient >= 0 && patients.count > before) first[patient] = i;
        if (patient >= 0) join(m->rows, first[patient], i);
    }
    ok = ok && join_copies(m);
    cp_names_free(&patients);
    free(first);
    return ok || cp_fail(status, "not enough memory for the groups of %d rows", m->count);
}

/* ---- splits ---- */

/* Splits the groups whose first row has this class, of rows in training, by the shares. `work` has room for two numbers per row. */
static bool split_class(cp_import *m, int label, const bool *fixed, const int *shares, cp_rng *rng, int *work, cp_status *status) {
    int count = 0, *groups = work, *splits = work + m->count;
    for (int i = 0; i < m->count; i++)
        if (m->rows[i].group == i && m->rows[i].label == label && !fixed[i]) groups[count++] = i;
    if (count && !cp_patients_split(count, shares, rng, splits, status)) return false;
    for (int i = 0; i < count; i++) m->rows[groups[i]].split = splits[i];
    return true;
}

bool cp_import_split(cp_import *m, cp_status *status) {
    int    shares[CP_IMAGES_SPLITS], given = 0;
    cp_rng rng = cp_rng_named(m->config.seed, "split");
    if (!make_groups(m, status)) return false;
    memcpy(shares, m->config.shares, sizeof shares);
    for (int i = 0; i < m->count; i++) given |= m->rows[i].split >= 0 ? 1 << m->rows[i].split : 0;
    for (int s = CP_IMAGES_VAL; s < CP_IMAGES_SPLITS; s++)
        if (given >> s & 1) shares[s] = 0; /* what the source has is kept */
    if (shares[CP_IMAGES_TRAIN] + shares[CP_IMAGES_VAL] + shares[CP_IMAGES_TEST] == 0)
        return cp_fail(status, "%.300s has splits of its own for all shares of --split; give the training split a share",
                       m->config.source);
    int  *work = malloc(2 * (size_t)m->count * sizeof *work);
    bool *fixed = calloc((size_t)m->count, sizeof *fixed);
    bool  ok = (work && fixed) || cp_fail(status, "not enough memory to split %d rows", m->count);
    for (int i = 0; ok && i < m->count; i++) { /* groups with unlabeled rows, and with rows of other splits, stay as they are */
        int group = root_of(m->rows, i);
        m->rows[i].group = group;
        if (m->rows[i].label < 0 || m->rows[i].split > CP_IMAGES_TRAIN) fixed[group] = true;
        if (m->rows[i].split < 0) m->rows[i].split = CP_IMAGES_TRAIN;
    }
    for (int c = 0; ok && c < m->classes.count; c++) ok = split_class(m, c, fixed, shares, &rng, work, status);
    for (int i = 0; ok && i < m->count; i++)
        if (!fixed[m->rows[i].group]) m->rows[i].split = m->rows[m->rows[i].group].split;
    free(work), free(fixed);
    return ok;
}

int cp_import_count(const cp_import *m, int split, int label) {
    int count = 0;
    for (int i = 0; i < m->count; i++) count += m->rows[i].split == split && (label == -2 || m->rows[i].label == label);
    return count;
}

/* ---- the file ---- */

typedef struct array_name {
    char s[96];
} array_name;

static array_name name_of(int split, const char *what, const char *column) {
    array_name name;
    snprintf(name.s, sizeof name.s, "%s_%s%.60s", cp_images_splits[split], what, column);
    return name;
}

static const char *text_of(const cp_import *m, const cp_import_row *row, int column) {
    return column == -1 ? row->file : column == -2 ? row->patient : cp_csv_cell(&m->csv, row->row, (size_t)column);
}

/* Column -1: the files, -2: the patients. */
static void add_texts(const cp_import *m, int split, array_name name, int column, const char **texts, cp_npz_writer *w) {
    size_t count = 0;
    for (int i = 0; i < m->count; i++)
        if (m->rows[i].split == split) texts[count++] = text_of(m, &m->rows[i], column);
    cp_npz_writer_add_texts(w, name.s, count, texts);
}

static bool add_split(const cp_import *m, int split, cp_npz_writer *w, cp_status *status) {
    int64_t        count = cp_import_count(m, split, -2), n = 0, size = m->config.size;
    unsigned char *inputs = malloc((size_t)count * m->width + 1);
    int32_t       *labels = malloc((size_t)(count + 1) * sizeof *labels);
    const char   **texts = malloc((size_t)(count + 1) * sizeof *texts);
    bool           ok = (inputs && labels && texts) || cp_fail(status, "not enough memory for %lld rows", (long long)count);
    for (int i = 0; ok && i < m->count; i++) {
        if (m->rows[i].split != split) continue;
        memcpy(inputs + (size_t)n * m->width, m->inputs + (size_t)i * m->width, m->width);
        labels[n++] = m->rows[i].label;
    }
    if (ok && count) { /* a split without rows is missing */
        if (m->features)
            cp_npz_writer_add(w, name_of(split, "x", "").s, m->dtype, 2, (int64_t[]){count, m->feature_count}, inputs);
        else
            cp_npz_writer_add(w, name_of(split, "images", "").s, m->dtype, m->channels == 1 ? 3 : 4,
                              (int64_t[]){count, size, size, m->channels}, inputs);
        cp_npz_writer_add(w, name_of(split, "labels", "").s, CP_I32, 1, &count, labels);
        if (m->has_patients) add_texts(m, split, name_of(split, "patients", ""), -2, texts, w);
        if (!m->features) add_texts(m, split, name_of(split, "files", ""), -1, texts, w);
        for (int k = 0; k < m->kept_count; k++)
            add_texts(m, split, name_of(split, "group_", cp_csv_cell(&m->csv, 0, (size_t)m->kept[k])), m->kept[k], texts, w);
    }
    free(inputs), free(labels), free(texts);
    return ok;
}

static void add_made(const cp_import *m, cp_npz_writer *writer) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "import");
    cp_json_put_string(&w, "version", CP_VERSION);
    if (!m->features) {
        cp_json_put_integer(&w, "size", m->config.size);
        cp_json_put_string(&w, "fit", (const char *const[]){"crop", "pad", "stretch"}[m->config.fit]);
    }
    cp_json_put_integers(&w, "split", m->config.shares, CP_IMAGES_SPLITS);
    cp_json_put_integer(&w, "seed", (int64_t)m->config.seed);
    cp_json_put_end(&w);
    cp_npz_writer_add_json(writer, "made", &w);
}

bool cp_import_add_arrays(const cp_import *m, cp_npz_writer *w, cp_status *status) {
    bool         ok = true;
    const char **features = malloc(((size_t)m->feature_count + 1) * sizeof *features);
    for (int f = 0; features && f < m->feature_count; f++) features[f] = cp_csv_cell(&m->csv, 0, (size_t)m->features[f]);
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = add_split(m, s, w, status);
    cp_npz_writer_add_texts(w, "class_names", (size_t)m->classes.count, (const char *const *)m->classes.at);
    if (features && m->features) cp_npz_writer_add_texts(w, "feature_names", (size_t)m->feature_count, features);
    ok = ok && (features || cp_fail(status, "not enough memory for %d features", m->feature_count));
    if (ok) add_made(m, w);
    free(features);
    return ok;
}
