/* The Gaussian-coupled softmax layer. */
#include "layers/gaussian_softmax.h"

#include "core/op.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef cp_gaussian_softmax layer_t;

static bool possible(cp_at at, const cp_gaussian_softmax_config *c) {
    const char *op = "gaussian_softmax_make";
    if (c->features < 1 || c->classes < 1)
        return cp_misuse(at, op, "features is %d and classes is %d; both must be positive", c->features, c->classes);
    if (c->precision < CP_SPHERICAL || c->precision > CP_FULL) return cp_misuse(at, op, "%d is not a precision", (int)c->precision);
    return c->precision != CP_FULL || c->features <= CP_GAUSSIAN_MAX_FULL ||
           cp_misuse(at, op, "features is %d; a full precision matrix can have %d, CP_DIAGONAL any number", c->features,
                     CP_GAUSSIAN_MAX_FULL);
}

cp_gaussian_softmax(cp_gaussian_softmax_make)(cp_at at, cp_params *params, const char *path, cp_gaussian_softmax_config c,
                                              cp_rng *rng) {
    if (c.precision == CP_PRECISION_DEFAULT) c.precision = CP_FULL;
    if (!cp_make_ready(at, "gaussian_softmax_make", params, rng) || !possible(at, &c)) return (layer_t){0};
    int     size = cp_precision_size(c.precision, c.features);
    layer_t layer = {.config = c};
    if (!(layer.weight = (cp_params_add)(at, params, path, "weight", CP_LAYOUT_LINEAR, CP_SHAPE(c.features, c.classes))) ||
        !(layer.bias = (cp_params_add)(at, params, path, "bias", CP_LAYOUT_PLAIN, CP_SHAPE(c.classes))) ||
        !(layer.mean = (cp_params_add)(at, params, path, "mean", CP_LAYOUT_PLAIN, CP_SHAPE(c.classes, c.features))) ||
        !(layer.precision = (cp_params_add)(at, params, path, "precision", CP_LAYOUT_PLAIN, CP_SHAPE(size))) ||
        (c.learn_prior && !(layer.prior = (cp_params_add)(at, params, path, "prior", CP_LAYOUT_PLAIN, CP_SHAPE(c.classes)))))
        return (layer_t){0};
    cp_init_weight(layer.weight, CP_INIT_DEFAULT, c.features, c.classes, 0, rng);
    cp_init_bias(layer.bias, CP_INIT_DEFAULT, c.features, rng);
    cp_rng_fill_normal(rng, layer.mean->data, layer.mean->size, 0, c.mean_sd ? c.mean_sd : (cp_real)0.1);
    return layer;
}

/* Checks the layer and the tape. */
static bool usable(cp_at at, const layer_t *layer) {
    if (layer && layer->weight) return cp_check(at, "gaussian_softmax", 0, NULL);
    return cp_misuse(at, "gaussian_softmax",
                     layer ? "the layer has no weight (did cp_gaussian_softmax_make fail?)" : "the layer is NULL");
}

cp_gaussians(cp_gaussian_softmax_gaussians)(cp_at at, const layer_t *layer) {
    if (!usable(at, layer)) return (cp_gaussians){0};
    cp_gaussians g = {.mean = layer->mean, .precision = layer->precision, .kind = layer->config.precision};
    if (!layer->prior) return g;
    g.log_prior = cp_log_softmax(at, layer->prior, 0);
    return g.log_prior ? g : (cp_gaussians){0};
}

/* ---- posteriors, energies, densities ---- */

cp_tensor *(cp_gaussian_softmax_logits)(cp_at at, const layer_t *layer, cp_tensor *z) {
    if (!usable(at, layer)) return NULL;
    return cp_add(at, cp_matmul(at, z, layer->weight, 0), layer->bias);
}

cp_tensor *(cp_gaussian_softmax_posterior)(cp_at at, const layer_t *layer, cp_tensor *z) {
    return cp_softmax(at, cp_gaussian_softmax_logits(at, layer, z), 1);
}

cp_tensor *(cp_gaussian_softmax_class_energy)(cp_at at, const layer_t *layer, cp_tensor *z) {
    cp_gaussians g = cp_gaussian_softmax_gaussians(at, layer);
    if (!g.mean) return NULL; /* usable() has reported the error */
    cp_tensor *energy = cp_gaussian_energy(at, z, g);
    return g.log_prior ? cp_sub(at, energy, g.log_prior) : energy;
}

/* -E(z; c). */
static cp_tensor *joint(cp_at at, const layer_t *layer, cp_tensor *z) {
    return cp_neg(at, cp_gaussian_softmax_class_energy(at, layer, z));
}

cp_tensor *(cp_gaussian_softmax_bayes_posterior)(cp_at at, const layer_t *layer, cp_tensor *z) {
    return cp_softmax(at, joint(at, layer, z), 1);
}

cp_tensor *(cp_gaussian_softmax_energy)(cp_at at, const layer_t *layer, cp_tensor *z) {
    return cp_neg(at, cp_logsumexp(at, joint(at, layer, z), CP_AXES(1), false));
}

cp_tensor *(cp_gaussian_softmax_log_density)(cp_at at, const layer_t *layer, cp_tensor *z) {
    cp_gaussians g = cp_gaussian_softmax_gaussians(at, layer);
    return g.mean ? cp_gaussian_log_density(at, z, g) : NULL;
}

cp_tensor *(cp_gaussian_softmax_penalty)(cp_at at, const layer_t *layer) {
    cp_gaussians g = cp_gaussian_softmax_gaussians(at, layer);
    return g.mean ? cp_gaussian_penalty(at, layer->weight, layer->bias, g) : NULL;
}

/* ---- association ---- */

typedef struct target {
    cp_tensor *weight, *bias;
} target;

static target associated(cp_at at, const layer_t *layer) {
    if (!usable(at, layer)) return (target){0};
    bool         was = cp_tape_pause(at.tape, true);
    cp_gaussians g = cp_gaussian_softmax_gaussians(at, layer);
    target       t = {cp_gaussian_weight(at, g), cp_gaussian_bias(at, g)};
    cp_tape_pause(at.tape, was);
    return t;
}

bool(cp_gaussian_softmax_associate)(cp_at at, layer_t *layer) {
    target t = associated(at, layer);
    if (!t.weight || !t.bias) return false;
    memcpy(layer->weight->data, t.weight->data, t.weight->size * sizeof(cp_real));
    memcpy(layer->bias->data, t.bias->data, t.bias->size * sizeof(cp_real));
    (cp_tensor_changed)(at, layer->weight, "cp_gaussian_softmax_associate");
    (cp_tensor_changed)(at, layer->bias, "cp_gaussian_softmax_associate");
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

/* ---- fitting ---- */

/* Computes the class means (C, D) and the weights of the classes, mass (C); returns the total weight. */
static double fit_means(int n, int d, int c, const cp_real *z, const cp_real *weights, double *mass, double *mean) {
    double total = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < c; k++) {
            double w = (double)weights[(size_t)i * (size_t)c + (size_t)k];
            mass[k] += w;
            for (int j = 0; j < d; j++) mean[k * d + j] += w * (double)z[(size_t)i * (size_t)d + (size_t)j];
        }
    for (int k = 0; k < c; k++) total += mass[k];
    for (int j = 0; j < d && total > 0; j++) {
        double all = 0;
        for (int k = 0; k < c; k++) all += mean[k * d + j] / total;
        for (int k = 0; k < c; k++) mean[k * d + j] = mass[k] > 0 ? mean[k * d + j] / mass[k] : all;
    }
    return total;
}

/* Computes the pooled covariance s: the lower triangle of (D, D) or, unless it is full, the diagonal (D). */
static void fit_covariance(int n, int d, int c, const cp_real *z, const cp_real *weights, const double *mean, bool full,
                           double *s) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < c; k++) {
            double         w = (double)weights[(size_t)i * (size_t)c + (size_t)k];
            const cp_real *x = z + (size_t)i * (size_t)d;
            const double  *m = mean + (size_t)k * (size_t)d;
            for (int a = 0; a < d && w > 0; a++) {
                double wa = w * ((double)x[a] - m[a]);
                if (!full) s[a] += wa * ((double)x[a] - m[a]);
                for (int b = 0; full && b <= a; b++) s[(size_t)a * (size_t)d + (size_t)b] += wa * ((double)x[b] - m[b]);
            }
        }
}

/* The lower factor of s = l l^T; false when s is not positive definite. */
static bool cholesky(int d, const double *s, double *l) {
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= i; j++) {
            double sum = s[i * d + j];
            for (int k = 0; k < j; k++) sum -= l[i * d + k] * l[j * d + k];
            if (i == j && !(sum > 0)) return false;
            l[i * d + j] = i == j ? sqrt(sum) : sum / l[j * d + j];
        }
    return true;
}

/* Replaces s by the lower factor of s^-1; adds `step` to the diagonal until that is possible. Needs work (D, D). */
static void factor_of_inverse(int d, double *s, double *work, double step) {
    for (; !cholesky(d, s, work); step *= 10)
        for (int i = 0; i < d; i++) s[i * d + i] += step;
    for (int i = 0; i < d; i++) { /* work becomes its own inverse, row by row */
        for (int j = 0; j < i; j++) {
            double sum = 0;
            for (int k = j; k < i; k++) sum += work[i * d + k] * work[k * d + j];
            work[i * d + j] = -sum / work[i * d + i];
        }
        work[i * d + i] = 1 / work[i * d + i];
    }
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= i; j++) {
            s[i * d + j] = 0;
            for (int k = i; k < d; k++) s[i * d + j] += work[k * d + i] * work[k * d + j];
        }
    cholesky(d, s, work);
    memcpy(s, work, (size_t)d * (size_t)d * sizeof *s);
}

static void set_precision(layer_t *layer, double *s, double *work, double total, double shrinkage) {
    int    d = layer->config.features;
    bool   full = layer->config.precision == CP_FULL;
    size_t size = full ? (size_t)d * (size_t)d : (size_t)d,
           next = full ? (size_t)d + 1 : 1; /* from one diagonal entry to the next */
    double   v = 0;
    cp_real *p = layer->precision->data;
    for (size_t i = 0; i < size; i++) s[i] /= total;
    for (int i = 0; i < d; i++) v += s[(size_t)i * next] / d;
    for (size_t i = 0; i < size && full; i++) s[i] *= 1 - shrinkage;
    for (int i = 0; i < d; i++) {
        double *at = &s[(size_t)i * next], shrunk = (full ? *at : (1 - shrinkage) * *at) + shrinkage * v;
        *at = v > DBL_MIN ? fmax(shrunk, 1e-6 * v) : 1;
    }
    if (full) {
        factor_of_inverse(d, s, work, 1e-6 * (v > DBL_MIN ? v : 1));
        for (int i = 0, k = 0; i < d; i++)
            for (int j = 0; j <= i; j++, k++) p[k] = (cp_real)(i == j ? log(s[i * d + i]) : s[i * d + j]);
    } else if (layer->config.precision == CP_DIAGONAL) {
        for (int i = 0; i < d; i++) p[i] = (cp_real)-log(s[i]);
    } else {
        *p = (cp_real)-log(v > DBL_MIN ? v : 1);
    }
}

bool(cp_gaussian_softmax_fit)(cp_at at, layer_t *layer, int n, const cp_real *z, const cp_real *weights, double shrinkage) {
    const char *op = "gaussian_softmax_fit";
    if (!layer || !layer->weight || n < 1 || !z || !weights)
        return cp_misuse(at, op, "the layer, the features or the weights are missing (n is %d)", n);
    if (!(shrinkage >= 0 && shrinkage <= 1)) return cp_misuse(at, op, "shrinkage is %g; it must be in [0, 1]", shrinkage);
    int     d = layer->config.features, c = layer->config.classes;
    bool    full = layer->config.precision == CP_FULL;
    size_t  size = full ? (size_t)d * (size_t)d : (size_t)d;
    double *mass = calloc((size_t)c, sizeof *mass), *mean = calloc((size_t)c * (size_t)d, sizeof *mean);
    double *s = calloc(size, sizeof *s), *work = calloc(size, sizeof *work), total = 0;
    bool    ok = mass && mean && s && work;
    if (ok) {
        total = fit_means(n, d, c, z, weights, mass, mean);
        ok = (total > 0 && isfinite(total)) || cp_misuse(at, op, "the weights of %d points sum to %g", n, total);
    }
    if (ok) {
        fit_covariance(n, d, c, z, weights, mean, full, s);
        set_precision(layer, s, work, total, shrinkage);
        for (size_t i = 0; i < layer->mean->size; i++) layer->mean->data[i] = (cp_real)mean[i];
        for (int k = 0; k < c && layer->prior; k++) layer->prior->data[k] = (cp_real)log(fmax(mass[k] / total, 1e-6));
        cp_tensor *fitted[] = {layer->precision, layer->mean, layer->prior};
        for (int k = 0; k < 3; k++) (cp_tensor_changed)(at, fitted[k], "cp_gaussian_softmax_fit");
    }
    free(mass);
    free(mean);
    free(s);
    free(work);
    return ok;
}

bool(cp_gaussian_softmax_scale)(cp_at at, layer_t *layer, double factor) {
    if (!layer || !layer->weight || !(factor > 0 && isfinite(factor)))
        return cp_misuse(at, "gaussian_softmax_scale", "the layer is missing, or the factor, %g, is not above 0", factor);
    int      d = layer->config.features;
    cp_real *p = layer->precision->data;
    if (layer->config.precision != CP_FULL)
        for (size_t i = 0; i < layer->precision->size; i++) p[i] += (cp_real)log(factor);
    else
        for (int i = 0, k = 0; i < d; i++)
            for (int j = 0; j <= i; j++, k++) p[k] = i == j ? p[k] + (cp_real)(log(factor) / 2) : p[k] * (cp_real)sqrt(factor);
    (cp_tensor_changed)(at, layer->precision, "cp_gaussian_softmax_scale");
    return true;
}
