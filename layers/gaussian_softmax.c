/* The Gaussian-coupled softmax layer. */
#include "layers/gaussian_softmax.h"

#include "core/op.h"

#include <math.h>
#include <string.h>

typedef cp_gaussian_softmax layer_t;

cp_gaussian_softmax cp_gaussian_softmax_make(cp_params *params, const char *path, cp_gaussian_softmax_config c, cp_rng *rng) {
    int     size = cp_precision_size(c.precision, c.features);
    layer_t layer = {.config = c};
    layer.weight = cp_params_add(params, path, "weight", CP_LAYOUT_LINEAR, 2, (int[]){c.features, c.classes});
    layer.bias = cp_params_add(params, path, "bias", CP_LAYOUT_PLAIN, 1, &c.classes);
    layer.mean = cp_params_add(params, path, "mean", CP_LAYOUT_PLAIN, 2, (int[]){c.classes, c.features});
    layer.precision = cp_params_add(params, path, "precision", CP_LAYOUT_PLAIN, 1, &size);
    if (c.learn_prior) layer.prior = cp_params_add(params, path, "prior", CP_LAYOUT_PLAIN, 1, &c.classes);
    if (!layer.weight || !layer.bias || !layer.mean) return layer;
    cp_init_weight(layer.weight, CP_INIT_DEFAULT, c.features, c.classes, 0, rng);
    cp_init_bias(layer.bias, CP_INIT_DEFAULT, c.features, rng);
    cp_rng_fill_normal(rng, layer.mean->data, layer.mean->size, 0, c.mean_sd ? c.mean_sd : (cp_real)0.1);
    return layer;
}

cp_gaussians(cp_gaussian_softmax_gaussians)(cp_at at, const layer_t *layer) {
    return (cp_gaussians){.mean = layer->mean,
                          .precision = layer->precision,
                          .kind = layer->config.precision,
                          .log_prior = layer->prior ? cp_log_softmax(at, layer->prior, 0) : NULL};
}

/* ---- posteriors, energies, densities ---- */

cp_tensor *(cp_gaussian_softmax_logits)(cp_at at, const layer_t *layer, cp_tensor *z) {
    return cp_add(at, cp_matmul(at, z, layer->weight, 0), layer->bias);
}

cp_tensor *(cp_gaussian_softmax_posterior)(cp_at at, const layer_t *layer, cp_tensor *z) {
    return cp_softmax(at, cp_gaussian_softmax_logits(at, layer, z), 1);
}

cp_tensor *(cp_gaussian_softmax_bayes_posterior)(cp_at at, const layer_t *layer, cp_tensor *z) {
    return cp_softmax(at, cp_neg(at, cp_gaussian_softmax_class_energy(at, layer, z)), 1);
}

cp_tensor *(cp_gaussian_softmax_class_energy)(cp_at at, const layer_t *layer, cp_tensor *z) {
    cp_gaussians g = cp_gaussian_softmax_gaussians(at, layer);
    cp_tensor   *energy = cp_gaussian_energy(at, z, g);
    return g.log_prior ? cp_sub(at, energy, g.log_prior) : energy;
}

cp_tensor *(cp_gaussian_softmax_energy)(cp_at at, const layer_t *layer, cp_tensor *z) {
    cp_tensor *joint = cp_neg(at, cp_gaussian_softmax_class_energy(at, layer, z));
    return cp_neg(at, cp_logsumexp(at, joint, CP_AXES(1), false));
}

cp_tensor *(cp_gaussian_softmax_log_density)(cp_at at, const layer_t *layer, cp_tensor *z) {
    return cp_gaussian_log_density(at, z, cp_gaussian_softmax_gaussians(at, layer));
}

cp_tensor *(cp_gaussian_softmax_penalty)(cp_at at, const layer_t *layer) {
    return cp_gaussian_penalty(at, layer->weight, layer->bias, cp_gaussian_softmax_gaussians(at, layer));
}

/* ---- association ---- */

typedef struct target {
    cp_tensor *weight, *bias;
} target;

static target associated(cp_at at, const layer_t *layer) {
    bool         was = cp_tape_record(at.tape, false);
    cp_gaussians g = cp_gaussian_softmax_gaussians(at, layer);
    target       t = {cp_gaussian_weight(at, g), cp_gaussian_bias(at, g)};
    cp_tape_record(at.tape, was);
    return t;
}

bool(cp_gaussian_softmax_associate)(cp_at at, layer_t *layer) {
    target t = associated(at, layer);
    if (!t.weight || !t.bias) return false;
    memcpy(layer->weight->data, t.weight->data, t.weight->size * sizeof(cp_real));
    memcpy(layer->bias->data, t.bias->data, t.bias->size * sizeof(cp_real));
    return true;
}

double(cp_gaussian_softmax_distance)(cp_at at, const layer_t *layer) {
    target t = associated(at, layer);
    if (!t.weight || !t.bias) return NAN;
    double sum = 0;
    for (size_t i = 0; i < t.weight->size; i++) sum += pow((double)(t.weight->data[i] - layer->weight->data[i]), 2);
    for (size_t i = 0; i < t.bias->size; i++) sum += pow((double)(t.bias->data[i] - layer->bias->data[i]), 2);
    return sqrt(sum / (double)(t.weight->size + t.bias->size));
}

/* Solves L L^T m = w in place. */
static void solve(const cp_tensor *l, double *x, int d) {
    const cp_real *at = l->data;
    for (int i = 0; i < d; i++) {
        for (int j = 0; j < i; j++) x[i] -= (double)at[i * d + j] * x[j];
        x[i] /= (double)at[i * d + i];
    }
    for (int i = d - 1; i >= 0; i--) {
        for (int j = i + 1; j < d; j++) x[i] -= (double)at[j * d + i] * x[j];
        x[i] /= (double)at[i * d + i];
    }
}

bool(cp_gaussian_softmax_associate_back)(cp_at at, layer_t *layer) {
    int          d = layer->config.features, c = layer->config.classes;
    cp_precision kind = layer->config.precision;
    bool         was = cp_tape_record(at.tape, false);
    cp_tensor   *l = kind == CP_FULL ? cp_tril_exp(at, layer->precision, d) : cp_exp(at, layer->precision);
    cp_tape_record(at.tape, was);
    double *x = l ? cp_keep(at, (size_t)d * sizeof *x) : NULL;
    if (!x) return false;
    for (int k = 0; k < c; k++) {
        double half = 0;
        for (int i = 0; i < d; i++) x[i] = (double)layer->weight->data[i * c + k];
        if (kind == CP_FULL) solve(l, x, d);
        else
            for (int i = 0; i < d; i++) x[i] /= (double)l->data[kind == CP_DIAGONAL ? i : 0];
        for (int i = 0; i < d; i++) {
            half += x[i] * (double)layer->weight->data[i * c + k] / 2; /* mu^T P mu / 2 */
            layer->mean->data[k * d + i] = (cp_real)x[i];
        }
        if (layer->prior) layer->prior->data[k] = (cp_real)((double)layer->bias->data[k] + half);
    }
    return true;
}
