/* From the first stage of a training, a classifier, to the second, in which energies are learned: the averaged weights become the
 * weights, statistics of norms stay as they are for good, and the head is fitted to what the network has learned. */
#include "experiments/kit/train/trainer_parts.h"

#include <math.h>
#include <stdlib.h>

enum { FIT_ROWS = 2560, SLOPE_ROWS = 128, START_SLOPE_MAX = 200, BATCH = 64 };

/* Posteriors fitted in closed form are overconfident, since the features were learned from the same labels. Temperatures that calibrate them were
 * 4.4 to 11.7 on the tuning sets, with 1 and 10 labels per class; no rule was found that distinguishes them without more labels. */
static const double fitted_scale = 1 / 7.0;

/* Features and soft labels of images. */
typedef struct fit_data {
    int      n, room;
    cp_real *z, *weights; /* (room, features), (room, classes) */
    cp_real *pixels;      /* (BATCH, H, W, C) */
    int      lengths[BATCH];
} fit_data;

static const cp_split *training_split(const cp_trainer *t) { return &t->images->set->splits[CP_IMAGES_TRAIN]; }

static cp_tensor *read_rows(cp_trainer *t, fit_data *f, const int *rows, int count) {
    cp_split_read(training_split(t), rows, count, f->pixels);
    cp_tensor *x = cp_variable(t->tape, f->pixels, cp_shape_rows(count, t->images->set->shape));
    if (x) x->lengths = cp_split_lengths(training_split(t), rows, count, f->lengths);
    return x;
}

/* Up to BATCH images; labeled ones count for their class, others as the classifier sees them. False after misuse, which left no tensor. */
static bool add_rows(cp_trainer *t, fit_data *f, const int *rows, int count, bool labeled) {
    int        classes = t->images->classes, features = t->model->net->features;
    cp_tensor *z = cp_net_forward(t->tape, t->model->net, read_rows(t, f, rows, count), CP_EVALUATION); /* (count, features) */
    cp_tensor *p = cp_head_posterior(t->tape, t->model->head, z);                                       /* (count, classes) */
    for (int i = 0; p && i < count; i++, f->n++) {
        for (int j = 0; j < features; j++) f->z[f->n * features + j] = z->data[i * features + j];
        for (int c = 0; c < classes; c++)
            f->weights[f->n * classes + c] =
                labeled ? (cp_real)(training_split(t)->labels[rows[i]] == c) : p->data[i * classes + c];
    }
    cp_tape_reset(t->tape);
    return p;
}

static bool add_all(cp_trainer *t, fit_data *f) {
    const cp_split *train = training_split(t);
    bool            ok = true;
    int             spread[BATCH], count = train->count < FIT_ROWS ? train->count : FIT_ROWS;
    for (int done = 0, n; ok && done < t->labeled->count; done += n) {
        n = t->labeled->count - done < BATCH ? t->labeled->count - done : BATCH;
        ok = add_rows(t, f, t->labeled->rows + done, n, true);
    }
    for (int done = 0, n; ok && done < count; done += n) {
        n = count - done < BATCH ? count - done : BATCH;
        for (int i = 0; i < n; i++) spread[i] = (int)((int64_t)(done + i) * train->count / count);
        ok = add_rows(t, f, spread, n, false);
    }
    return ok;
}

/* The mean |dE/dx|^2 and the mean energy of training images, or of as many fresh chains if `starts` draws them. */
static void measure_energy(cp_trainer *t, fit_data *f, cp_rng *starts, double *slope, double *energy) {
    const cp_split *train = training_split(t);
    size_t          values = t->images->set->values;
    int             rows[BATCH], count = train->count < SLOPE_ROWS ? train->count : SLOPE_ROWS;
    *slope = *energy = 0;
    for (int done = 0, n; done < count; done += n) {
        n = count - done < BATCH ? count - done : BATCH;
        for (int i = 0; i < n; i++) rows[i] = (int)((int64_t)(done + i) * train->count / count);
        cp_tensor *x = read_rows(t, f, rows, n);
        for (int i = 0; starts && i < n; i++) cp_start_draw(&t->start, starts, -1, x->data + (size_t)i * values, values);
        cp_tensor *sum = cp_sum(t->tape, cp_model_energy(t->tape, t->model, x, CP_EVALUATION), CP_ALL, false), *dx = NULL;
        if (cp_grad(t->tape, sum, &x, 1, &dx))
            for (size_t i = 0; i < dx->size; i++) *slope += (double)dx->data[i] * (double)dx->data[i] / count;
        *energy += cp_item(sum) / count;
        cp_tape_reset(t->tape);
    }
}

/* The Gaussians are fitted to images. Where chains start, far from them, the energy may be so steep that no chain finds its way: then
 * the Gaussians are made wider, as slopes grow with the precision. */
static bool limit_start_slope(cp_trainer *t, fit_data *f) {
    cp_rng probe = cp_rng_named(t->config.seed, "probe");
    double energy;
    measure_energy(t, f, &probe, &t->start_slope, &energy);
    return !(t->start_slope > START_SLOPE_MAX) || cp_head_scale(t->model->head, sqrt(START_SLOPE_MAX / t->start_slope));
}

static bool fit_head(cp_trainer *t) {
    int      room = t->labeled->count + FIT_ROWS, features = t->model->net->features, classes = t->images->classes;
    size_t   all = (size_t)room;
    fit_data f = {.room = room,
                  .z = malloc(all * (size_t)features * sizeof *f.z),
                  .weights = malloc(all * (size_t)classes * sizeof *f.weights),
                  .pixels = malloc(BATCH * t->images->set->values * sizeof *f.pixels)};
    bool     ok = f.z && f.weights && f.pixels;
    if (ok) {
        bool was = cp_tape_pause(t->tape, true);
        ok = add_all(t, &f);
        cp_tape_pause(t->tape, was);
        ok = ok && cp_head_fit(t->model->head, f.n, f.z, f.weights);
    }
    if (ok) {
        double scale = t->config.scale > 0 ? t->config.scale : t->model->head->kind->fit ? fitted_scale : 1;
        ok = scale == 1 || cp_head_scale(t->model->head, scale); /* a head of a program's own may not have a scale */
        if (ok && t->replay && t->model->head->kind->fit) ok = limit_start_slope(t, &f);
        measure_energy(t, &f, NULL, &t->begin_slope, &t->begin_energy);
    }
    free(f.z);
    free(f.weights);
    free(f.pixels);
    return ok;
}

bool cp_trainer_begin_joint(cp_trainer *t, cp_status *status) {
    cp_ema_swap(t->ema);
    cp_ema_restart(t->ema);
    if (!cp_trainer_save_model(t, CP_TRAINER_PRETRAINED, cp_trainer_temperature(t), status)) return false;
    if (!fit_head(t))
        return cp_fail(status, "the head could not be fitted: not enough memory, or the model does not fit the images");
    cp_ema_restart(t->ema);
    cp_optim_restart(t->adam);
    cp_guard_restart(&t->guard);
    t->pretraining = 0;
    t->selected = 0;
    t->selected_nll = INFINITY;
    return true;
}
