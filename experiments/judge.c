/* Judging generated images by a classifier. */
#include "experiments/judge.h"

#include "experiments/kit/data/batches.h"
#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the Frechet distance ---- */

/* Jacobi's rotation that makes m[p][q] of a symmetric matrix 0. */
static void rotate(int d, double *m, int p, int q) {
    double half = (m[q * d + q] - m[p * d + p]) / (2 * m[p * d + q]);
    double t = copysign(1, half) / (fabs(half) + hypot(half, 1)), c = 1 / hypot(t, 1), s = t * c;
    for (int k = 0; k < 2 * d; k++) { /* first the columns p and q, then the rows */
        double *x = k < d ? &m[k * d + p] : &m[p * d + k - d], *y = k < d ? &m[k * d + q] : &m[q * d + k - d], old = *x;
        *x = c * old - s * *y;
        *y = s * old + c * *y;
    }
}

/* Leaves the eigenvalues of a symmetric matrix on its diagonal. */
static void diagonalize(int d, double *m) {
    double off = 1, all = 0;
    for (int i = 0; i < d * d; i++) all += m[i] * m[i];
    for (int sweep = 0; sweep < 50 && off > 1e-30 * all; sweep++) {
        off = 0;
        for (int p = 0; p < d; p++)
            for (int q = p + 1; q < d; q++) {
                off += m[p * d + q] * m[p * d + q];
                if (m[p * d + q] != 0) rotate(d, m, p, q);
            }
    }
}

/* With S = L L' the eigenvalues of S T are those of the symmetric matrix L' T L. */
double cp_frechet_distance(int d, const double *mean, const double *covariance, const double *mean2, const double *covariance2) {
    size_t  n = (size_t)d, all = n * n;
    double *l = calloc(3 * all, sizeof *l), *tl = l + all, *m = tl + all, distance = 0;
    if (!l) return NAN;
    memcpy(l, covariance, all * sizeof *l);
    cp_cholesky(l, n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j <= k; j++) tl[i * n + j] += covariance2[i * n + k] * l[k * n + j];
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i <= k; i++)
            for (size_t j = 0; j < n; j++) m[i * n + j] += l[k * n + i] * tl[k * n + j];
    diagonalize(d, m);
    for (size_t i = 0; i < n; i++)
        distance += pow(mean[i] - mean2[i], 2) + covariance[i * n + i] + covariance2[i * n + i] - 2 * sqrt(fmax(m[i * n + i], 0));
    free(l);
    return distance < 0 ? 0 : distance;
}

/* ---- opening ---- */

static bool fits(const char *name, cp_shape shape, int classes, const cp_run_model *trained, cp_status *status) {
    const int *a = shape.dims, *b = trained->shape.dims, wanted = trained->model->config.classes;
    return (classes == wanted && memcmp(a, b, 3 * sizeof *a) == 0) ||
           cp_fail(status, "%.200s has %d classes and images of %d x %d x %d; the samples have %d and are of %d x %d x %d", name,
                   classes, a[0], a[1], a[2], wanted, b[0], b[1], b[2]);
}

bool cp_judge_open(cp_judge *j, const char *path, const char *set, const cp_run_model *trained, cp_status *status) {
    cp_status missing = {0};
    j->model = cp_run_model_open(path, CP_WEIGHTS_SELECTED, status);
    if (!j->model) return false;
    j->features = j->model->model->head->features;
    cp_shape shape = j->model->shape.rank ? j->model->shape : trained->shape; /* a model's file does not have it */
    if (!fits(j->model->name, shape, j->model->model->config.classes, trained, status) ||
        !cp_run_model_fits(j->model, trained->name, trained->shape, 0, status))
        return false;
    const cp_preprocessing *own = &j->model->model->about.input, *other = &trained->model->about.input;
    if (own->high > own->low && other->high > other->low && (own->low != other->low || own->high != other->high))
        return cp_fail(status, "the judge %.100s was trained on pixels from %g to %g, %.100s on pixels from %g to %g",
                       j->model->name, own->low, own->high, trained->name, other->low, other->high);
    j->images = set ? cp_images_load_for(set, j->model->model, status) : cp_run_model_images(trained, &missing);
    if (missing.message[0]) cp_fail(status, "%s; its test images are needed: give --judge-set DATA", missing.message);
    if (!j->images || !fits(j->images->name, j->images->set->shape, j->images->classes, trained, status)) return false;
    return j->images->set->splits[CP_IMAGES_TEST].count > 0 || cp_fail(status, "%.200s has no test images", j->images->name);
}

void cp_judge_free(cp_judge *j) {
    for (cp_judged *of = j->of; of < j->of + CP_JUDGED; of++) {
        free(of->labels), free(of->count), free(of->right);
        free(of->features), free(of->mean), free(of->covariance);
    }
    cp_images_free(j->images);
    cp_run_model_free(j->model);
}

/* ---- measuring ---- */

int cp_best_class(const cp_tensor *logits, int row) {
    int            classes = logits->dims[1], best = 0;
    const cp_real *z = logits->data + (size_t)row * (size_t)classes;
    for (int c = 1; c < classes; c++)
        if (z[c] > z[best]) best = c;
    return best;
}

static bool look_at_batch(const cp_judge *j, cp_tape *tape, const cp_batch *batch, cp_judged *to, int first) {
    const cp_model *model = j->model->model;
    cp_tensor      *z = cp_net_forward(tape, model->net, batch->x, CP_EVALUATION), *logits = cp_head_logits(tape, model->head, z);
    if (!logits || !cp_reals_finite(z->data, z->size) || !cp_reals_finite(logits->data, logits->size)) return false;
    for (size_t i = 0; i < z->size; i++) to->features[(size_t)first * (size_t)j->features + i] = (double)z->data[i];
    for (int i = 0; i < batch->count; i++) {
        int label = to->labels[first + i] = batch->labels.at[i];
        to->count[label]++;
        to->right[label] += cp_best_class(logits, i) == label;
    }
    return true;
}

/* Judges the given rows of a split; `rows` NULL: all of them. */
static bool look(const cp_judge *j, cp_tape *tape, const cp_split *split, const int *rows, int n, cp_judged *to,
                 cp_status *status) {
    size_t      classes = (size_t)j->images->classes, d = (size_t)j->features;
    cp_batches *all =
        cp_batches_new((cp_batches_config){.split = split, .rows = rows, .row_count = n, .size = 64, .in_order = true});
    *to = (cp_judged){.n = n, .frechet = NAN, .nearest = NAN};
    to->labels = calloc((size_t)n, sizeof *to->labels);
    to->count = calloc(classes, sizeof *to->count);
    to->right = calloc(classes, sizeof *to->right);
    to->features = calloc((size_t)n * d, sizeof *to->features);
    to->mean = calloc(d, sizeof *to->mean);
    to->covariance = calloc(d * d, sizeof *to->covariance);
    bool ok = all && to->labels && to->count && to->right && to->features && to->mean && to->covariance;
    if (!ok) cp_fail(status, "not enough memory for the features of %d images", n);
    for (int done = 0; ok && done < n; cp_tape_reset(tape)) {
        cp_batch batch = cp_batches_next(tape, all);
        ok = look_at_batch(j, tape, &batch, to, done) ||
             cp_fail(status, "the outputs of the judge %.200s are not finite", j->model->name);
        done += batch.count;
    }
    cp_batches_free(all);
    for (size_t c = 0; ok && c < classes; c++) {
        to->classes += to->count[c] > 0;
        to->right[c] *= 100.0 / to->count[c];
        if (to->count[c]) to->share += to->right[c];
    }
    to->share /= to->classes;
    return ok;
}

/* The weight of image i in a mean in which every class counts the same. */
static double weight_of(const cp_judged *of, int i) { return 1.0 / of->classes / of->count[of->labels[i]]; }

/* Computes the mean and the covariance, which are zero on entry; the covariance is unbiased if all weights are equal. */
static void fit(const cp_judge *j, const cp_judged *of) {
    size_t d = (size_t)j->features;
    double rest = 1;
    for (int i = 0; i < of->n; i++) {
        rest -= pow(weight_of(of, i), 2);
        for (size_t k = 0; k < d; k++) of->mean[k] += weight_of(of, i) * of->features[(size_t)i * d + k];
    }
    for (int i = 0; i < of->n; i++) {
        const double *z = of->features + (size_t)i * d, weight = weight_of(of, i) / rest;
        for (size_t k = 0; k < d; k++)
            for (size_t m = j->diagonal ? k : 0; m < (j->diagonal ? k + 1 : d); m++)
                of->covariance[k * d + m] += weight * (z[k] - of->mean[k]) * (z[m] - of->mean[m]);
    }
}

static double nearest(const cp_judge *j, const cp_judged *of) {
    size_t d = (size_t)j->features;
    double mean = 0;
    for (int i = 0; i < of->n; i++) {
        const double *a = of->features + (size_t)i * d, *b = j->of[CP_JUDGED_TEST].features;
        double        min = INFINITY;
        for (int t = 0; t < j->of[CP_JUDGED_TEST].n; t++, b += d) {
            double sum = 0;
            for (size_t k = 0; k < d; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
            min = fmin(min, sum);
        }
        mean += weight_of(of, i) * sqrt(min);
    }
    return mean;
}

bool cp_judge_measure(cp_judge *j, const uint8_t *pixels, const int *labels, int n, uint64_t seed, cp_status *status) {
    const cp_split *train = &j->images->set->splits[CP_IMAGES_TRAIN], *test = &j->images->set->splits[CP_IMAGES_TEST];
    int             classes = j->images->classes, each = (n + classes - 1) / classes, drawn_count = 0;
    cp_tape        *tape = cp_tape_new();
    cp_dataset     *set = cp_dataset_new((cp_dataset_config){.dtype = CP_U8, .shape = j->images->set->shape, .classes = classes});
    int            *drawn = cp_split_draw_some(train, each, seed, &drawn_count, status); /* a class may have fewer */
    bool            ok = (tape && set && drawn) || cp_fail(status, "not enough memory for the judge");
    if (ok) cp_tape_pause(tape, true);
    ok = ok && cp_dataset_add(set, (cp_split_config){"samples", n, pixels, labels, .owned = false}, status) &&
         look(j, tape, test, NULL, test->count, &j->of[CP_JUDGED_TEST], status) &&
         look(j, tape, train, drawn, drawn_count, &j->of[CP_JUDGED_TRAINING], status) &&
         look(j, tape, &set->splits[0], NULL, n, &j->of[CP_JUDGED_SAMPLES], status);
    for (int i = 0; i < CP_JUDGED; i++) j->diagonal = j->diagonal || j->of[i].n <= j->features;
    for (int i = 0; ok && i < CP_JUDGED; i++) fit(j, &j->of[i]);
    for (cp_judged *own = j->of, *to = own + CP_JUDGED_TEST; ok && own < to; own++) {
        own->frechet = cp_frechet_distance(j->features, own->mean, own->covariance, to->mean, to->covariance);
        own->nearest = nearest(j, own);
    }
    free(drawn);
    cp_dataset_free(set);
    cp_tape_free(tape);
    return ok;
}

/* ---- the result ---- */

void cp_judge_put(const cp_judge *j, cp_json_writer *w, FILE *file) {
    static const char *const keys[CP_JUDGED] = {"samples", "training", "test"};
    cp_table                *table = cp_table_new(4, "the judge", "samples", "training images", "test images");
    cp_json_put_object(w, "judge");
    cp_json_put_string(w, "name", j->model->name);
    cp_json_put_string(w, "md5", j->model->md5);
    cp_images_put(j->images, w, "data");
    cp_json_put_integer(w, "features", j->features);
    cp_json_put_bool(w, "diagonal", j->diagonal);
    for (int i = 0; i < CP_JUDGED; i++) {
        cp_json_put_object(w, keys[i]);
        cp_json_put_integer(w, "n", j->of[i].n);
        cp_json_put_number(w, "share", j->of[i].share);
        cp_json_put_numbers(w, "by_class", j->of[i].right, (size_t)j->images->classes);
        cp_json_put_number(w, "frechet", j->of[i].frechet);
        cp_json_put_number(w, "nearest", j->of[i].nearest);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
    cp_table_text(table, "gives them their class, %%");
    for (int i = 0; i < CP_JUDGED; i++) cp_table_number(table, j->of[i].share, 1);
    for (int c = 0; c < j->images->classes; c++) {
        const char *name = j->images->class_names ? j->images->class_names[c] : "";
        cp_table_text(table, "class %d%s%.60s", c, *name ? ", " : "", name);
        for (int i = 0; i < CP_JUDGED; i++) cp_table_number(table, j->of[i].right[c], 1);
    }
    cp_table_text(table, "Frechet distance to test images");
    for (int i = 0; i < CP_JUDGED; i++) cp_table_number(table, j->of[i].frechet, 3);
    cp_table_text(table, "distance to the nearest test image");
    for (int i = 0; i < CP_JUDGED; i++) cp_table_number(table, j->of[i].nearest, 3);
    if (file) fputc('\n', file);
    cp_table_conclude(table, w, "judge_table", file);
}

void cp_judge_put_notes(const cp_judge *j, cp_json_writer *w, FILE *file) {
    cp_note_put(w, file,
                "Judged by %s on %s, %s; the %d training images are for comparison. Distances are of the %d features in front of "
                "its head, with every class counting the same; the Frechet distance is that of Gaussians with %s covariances%s.",
                j->model->name, j->images->name, cp_images_origin(j->images), j->of[CP_JUDGED_TRAINING].n, j->features,
                j->diagonal ? "diagonal" : "full", j->diagonal ? ", since there are no more images than features" : "");
    if (j->of[CP_JUDGED_TEST].classes < j->images->classes)
        cp_note_put(w, file, "Classes that have no test images add to the distances.");
    cp_run_model_note(j->model, w, file);
}
