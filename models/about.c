/* What a model's file says of the model, and the preprocessing of its inputs. */
#include "models/about.h"

#include "models/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- preprocessing ---- */

bool cp_preprocessing_choose(cp_preprocessing *input, double min, double max) {
    static const double usual[][2] = {{-1, 1}, {0, 1}, {0, 255}};
    input->low = min, input->high = max;
    for (int i = min < 0 ? 0 : 1; i < 3; i++)
        if (min >= usual[i][0] && max <= usual[i][1]) {
            input->low = usual[i][0], input->high = usual[i][1];
            return true;
        }
    return false;
}

static bool has_range(const cp_preprocessing *input) { return input && input->high > input->low; }

static double element_at(cp_dtype dtype, const void *elements, size_t i) {
    double value;
    cp_elements_to_double(dtype, (const char *)elements + i * cp_dtype_size(dtype), 1, &value);
    return value;
}

static size_t feature_of(const cp_preprocessing *input, size_t i) { return i % (size_t)input->shape.dims[input->shape.rank - 1]; }

static double middle_of(const cp_preprocessing *input) { return input->low / 2 + input->high / 2; }
static double half_of(const cp_preprocessing *input) { return input->high / 2 - input->low / 2; }

bool cp_preprocess(const cp_preprocessing *input, cp_dtype dtype, const void *elements, size_t count, cp_real *out,
                   const char *what, cp_status *status) {
    const uint8_t *pixels = elements;
    bool           standardized = input && input->mean;
    if (dtype == CP_U8 && !standardized && (!has_range(input) || (input->low == 0 && input->high == 255))) {
        for (size_t i = 0; i < count; i++) out[i] = (cp_real)pixels[i] / (cp_real)127.5 - 1;
        return true;
    }
    if (!has_range(input) && !standardized) return cp_elements_to_real(dtype, elements, count, out, what, status);
    for (size_t i = 0; i < count; i++) {
        double x = element_at(dtype, elements, i), low = input->low, high = input->high;
        if (input->mean)
            out[i] = (float)((x - input->mean[feature_of(input, i)]) / input->sd[feature_of(input, i)]);
        else
            out[i] = (float)(((x < low ? low : x > high ? high : x) - middle_of(input)) / half_of(input)); /* NaN stays NaN */
    }
    return true;
}

double cp_preprocess_undo(const cp_preprocessing *input, size_t i, double value) {
    if (input->mean) return input->mean[feature_of(input, i)] + input->sd[feature_of(input, i)] * value;
    return middle_of(input) + half_of(input) * value;
}

/* ---- another range ---- */

typedef struct range {
    double min, max; /* max below min: there are no numbers */
    size_t outside;  /* of the model's range */
} range;

static range range_of(const cp_preprocessing *input, cp_dtype dtype, const void *elements, size_t count) {
    range r = {INFINITY, -INFINITY, 0};
    for (size_t i = 0; i < count; i++) {
        double x = element_at(dtype, elements, i);
        r.min = fmin(r.min, x), r.max = fmax(r.max, x);
        r.outside += x < input->low || x > input->high;
    }
    return r;
}

/* The range of the numbers is much narrower than that of the model: that of another convention, or a quarter of one of its own. */
static bool is_narrower(const cp_preprocessing *input, const range *r) {
    cp_preprocessing as = {0}, own = {0};
    if (r->max == r->min) return false; /* a black image is black in all of them */
    bool usual = cp_preprocessing_choose(&as, input->low, input->high) && as.low == input->low && as.high == input->high;
    if (!usual) return r->max - r->min < (input->high - input->low) / 4;
    return cp_preprocessing_choose(&own, r->min, r->max) && own.high - own.low < input->high - input->low;
}

/* A warning when the features are far from those of the training. */
static void check_features(const cp_preprocessing *input, cp_dtype dtype, const void *elements, size_t count, const char *what,
                           cp_status *warning) {
    size_t far = 0;
    for (size_t i = 0, f; i < count; i++) {
        f = feature_of(input, i);
        far += fabs(element_at(dtype, elements, i) - input->mean[f]) > 20 * input->sd[f];
    }
    if (far > count / 10)
        cp_fail(warning,
                "%zu of the %zu values of %.200s are more than 20 standard deviations away from the means of the training. Are "
                "these the same features, in the same units?",
                far, count, what);
}

bool cp_preprocessing_check(const cp_preprocessing *input, cp_dtype dtype, const void *elements, size_t count, const char *what,
                            cp_status *warning, cp_status *status) {
    if (input && input->mean) check_features(input, dtype, elements, count, what, warning);
    bool same = has_range(input) && (dtype == CP_U8) == (input->dtype == CP_U8);
    if (!has_range(input) || (same && dtype == CP_U8)) return true;
    range r = range_of(input, dtype, elements, count);
    char  given[120], expected[120];
    snprintf(given, sizeof given, "%s from %.6g to %.6g", cp_dtype_numpy(dtype), r.min, r.max);
    snprintf(expected, sizeof expected, "%s, of which %.6g becomes -1 and %.6g becomes 1", cp_dtype_numpy(input->dtype), input->low,
             input->high);
    if (r.max < r.min) return true;
    bool narrow = is_narrower(input, &r), dark = narrow && r.max <= 1 && input->low == 0 && input->high == 255;
    if (dark || (r.outside && !same) || r.outside > count / 10)
        return cp_fail(status, "%.200s has %s; the model was trained on %s. Give it numbers as those of its training", what, given,
                       expected);
    if (r.outside)
        cp_fail(warning,
                "%zu of the %zu values of %.200s lie beyond the range of the training and are clamped: it has %s; the model was "
                "trained on %s",
                r.outside, count, what, given, expected);
    else if (narrow)
        cp_fail(warning, "%.200s has only %s; the model was trained on %s. Are these the same units?", what, given, expected);
    return true;
}

/* ---- as text ---- */

char *cp_about_text(const cp_model *model) {
    const cp_about         *about = &model->about;
    const cp_preprocessing *input = &about->input;
    cp_json_writer          w = {0};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "version", CP_VERSION);
    if (has_range(input) || input->shape.rank) {
        cp_json_put_object(&w, "input");
        cp_json_put_string(&w, "type", cp_dtype_numpy(input->dtype));
        if (has_range(input)) cp_json_put_numbers(&w, "range", (double[]){input->low, input->high}, 2);
        if (input->mean) cp_json_put_numbers(&w, "mean", input->mean, (size_t)input->shape.dims[input->shape.rank - 1]);
        if (input->mean) cp_json_put_numbers(&w, "sd", input->sd, (size_t)input->shape.dims[input->shape.rank - 1]);
        if (input->shape.rank) cp_json_put_integers(&w, "shape", input->shape.dims, (size_t)input->shape.rank);
        cp_json_put_end(&w);
    }
    if (about->class_names) cp_json_put_strings(&w, "classes", about->class_names, (size_t)model->config.classes);
    if (about->temperature > 0) cp_json_put_number(&w, "temperature", about->temperature);
    if (about->data) {
        cp_json_put_object(&w, "data");
        cp_json_put_string(&w, "name", about->data);
        cp_json_put_string(&w, "md5", about->md5 ? about->md5 : "");
        cp_json_put_end(&w);
    }
    cp_json_put_end(&w);
    char *text = cp_json_writer_finish(&w, NULL) ? strdup((const char *)w.out.data) : NULL;
    cp_json_writer_free(&w);
    return text;
}

/* A text that may go to a terminal; NULL when there is none. */
static bool read_text(const cp_json *node, const char **text) {
    *text = cp_json_string(node, NULL);
    char *printable = *text ? strdup(*text) : NULL;
    if (printable) cp_text_printable(printable);
    bool ok = !node || (printable && strcmp(printable, *text) == 0);
    free(printable);
    return ok;
}

static bool read_input(const cp_json *node, cp_preprocessing *input) {
    const cp_json *range = cp_json_get(node, "range"), *shape = cp_json_get(node, "shape");
    const char    *type = cp_json_string(cp_json_get(node, "type"), "");
    while (input->dtype < CP_DTYPES && strcmp(cp_dtype_numpy(input->dtype), type) != 0) input->dtype++;
    if (input->dtype == CP_DTYPES) return false;
    input->low = cp_json_number(cp_json_at(range, 0), 0);
    input->high = cp_json_number(cp_json_at(range, 1), 0);
    if (range && (range->count != 2 || !has_range(input))) return false;
    if (shape && (shape->kind != CP_JSON_ARRAY || shape->count < 1 || shape->count >= CP_MAX_RANK)) return false;
    input->shape.rank = shape ? (int)shape->count : 0;
    for (int i = 0; i < input->shape.rank; i++) {
        int64_t size = cp_json_integer(cp_json_at(shape, (size_t)i), 0);
        if (size < 1 || size > INT32_MAX) return false;
        input->shape.dims[i] = (int)size;
    }
    return true;
}

/* The means and standard deviations of features, if there are any. */
static bool read_features(cp_model *m, const cp_json *node) {
    cp_preprocessing *input = &m->about.input;
    const cp_json    *mean = cp_json_get(node, "mean"), *sd = cp_json_get(node, "sd");
    size_t            features = input->shape.rank ? (size_t)input->shape.dims[input->shape.rank - 1] : 0;
    if (!mean && !sd) return true;
    if (!mean || !sd || has_range(input) || !features || mean->count != features || sd->count != features) return false;
    double *at = m->about_numbers = malloc(2 * features * sizeof *at);
    if (!at) return false;
    for (mean = mean->first; mean; mean = mean->next) *at++ = cp_json_number(mean, NAN);
    for (sd = sd->first; sd; sd = sd->next) *at++ = cp_json_number(sd, NAN);
    for (size_t f = 0; f < features; f++)
        if (!isfinite(m->about_numbers[f]) || !(m->about_numbers[features + f] > 0)) return false;
    input->mean = m->about_numbers;
    input->sd = m->about_numbers + features;
    return true;
}

static bool read_class_names(const cp_json *list, int classes, const char **names) {
    if (list->kind != CP_JSON_ARRAY || list->count != (size_t)classes) return false;
    for (const cp_json *n = list->first; n; n = n->next)
        if (!read_text(n, names++)) return false;
    return true;
}

/* The key at fault; NULL: there is none. */
static const char *read_about(cp_model *m, const cp_json *root) {
    cp_about      *about = &m->about;
    const cp_json *input = cp_json_get(root, "input"), *names = cp_json_get(root, "classes"), *data = cp_json_get(root, "data");
    const cp_json *temperature = cp_json_get(root, "temperature");
    if (!read_text(cp_json_get(root, "version"), &about->version)) return "version";
    if (input && !(read_input(input, &about->input) && read_features(m, input))) return "input";
    if (names && !read_class_names(names, m->config.classes, m->about_names)) return "classes";
    about->class_names = names ? m->about_names : NULL;
    about->temperature = cp_json_number(temperature, 0);
    if (temperature && !(about->temperature > 0)) return "temperature";
    if (!read_text(cp_json_get(data, "name"), &about->data) || !read_text(cp_json_get(data, "md5"), &about->md5)) return "data";
    return NULL;
}

void cp_about_free(cp_model *m) {
    cp_json_free(m->about_kept);
    free(m->about_names);
    free(m->about_numbers);
    m->about = (cp_about){0};
    m->about_kept = NULL;
    m->about_names = NULL;
    m->about_numbers = NULL;
}

bool cp_about_read(cp_model *m, const char *text, const char *path, cp_status *status) {
    char name[256];
    snprintf(name, sizeof name, "%.200s: metadata \"about\"", path);
    cp_about_free(m);
    m->about_kept = cp_json_parse(text, strlen(text), name, status);
    m->about_names = malloc((size_t)m->config.classes * sizeof *m->about_names);
    if (!m->about_kept || !m->about_names) return cp_fail(status, "%s: out of memory", name);
    const char *wrong = m->about_kept->kind == CP_JSON_OBJECT ? read_about(m, m->about_kept) : "{";
    if (!wrong) return true;
    cp_about_free(m);
    return cp_fail(status, "%s: \"%s\" is missing or not as docs/formats.md has it", name, wrong);
}

bool cp_model_about_set(cp_model *model, const cp_about *about, cp_status *status) {
    cp_status_begin(status);
    cp_model as = {.config = model->config, .about = *about};
    char    *text = cp_about_text(&as);
    bool     ok = text ? cp_about_read(model, text, "model_about_set", status) : cp_fail(status, "model_about_set: out of memory");
    free(text);
    return ok;
}
