/* The Gaussian-coupled softmax layer against what it is by definition. */
#include "layers/gaussian_softmax.h"

#include "tests/support/setup_layers.h"

#include <math.h>

enum { D = 4, C = 3, N = 7 };
static const cp_precision kinds[] = {CP_SPHERICAL, CP_DIAGONAL, CP_FULL};

/* A layer whose generative half is anything but neutral. */
static cp_gaussian_softmax layer_with(cp_precision kind, bool learn_prior, int d, int classes) {
    char path[32];
    snprintf(path, sizeof path, "layer%d", params->count);
    cp_gaussian_softmax layer = cp_gaussian_softmax_make(
        params, path,
        (cp_gaussian_softmax_config){.features = d, .classes = classes, .precision = kind, .learn_prior = learn_prior}, &rng);
    cp_rng_fill_normal(&rng, layer.mean->data, layer.mean->size, 0, 1);
    cp_rng_fill_normal(&rng, layer.precision->data, layer.precision->size, 0, (cp_real)0.5);
    if (layer.prior) cp_rng_fill_normal(&rng, layer.prior->data, layer.prior->size, 0, 1);
    return layer;
}

static cp_tensor *points(int n, int d) {
    static cp_real data[1024];
    cp_rng_fill_normal(&rng, data, (size_t)(n * d), 0, 1);
    return cp_constant(tape, data, CP_SHAPE(n, d));
}

/* P (D, D) in double, straight from the definition. */
static void precision_matrix(const cp_gaussian_softmax *layer, int d, double *p) {
    double l[16 * 16] = {0};
    for (int i = 0, k = 0; i < d; i++)
        for (int j = 0; j <= i; j++, k++) {
            double v = (double)layer->precision->data[layer->config.precision == CP_FULL       ? k
                                                      : layer->config.precision == CP_DIAGONAL ? i
                                                                                               : 0];
            if (layer->config.precision == CP_FULL)
                l[i * d + j] = i == j ? exp(v) : v;
            else if (i == j)
                l[i * d + j] = exp(v / 2);
        }
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            p[i * d + j] = 0;
            for (int k = 0; k < d; k++) p[i * d + j] += l[i * d + k] * l[j * d + k];
        }
}

static double quadratic(const double *p, int d, const double *v) {
    double sum = 0;
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) sum += v[i] * p[i * d + j] * v[j];
    return sum;
}

/* By elimination; P is positive definite. */
static double determinant(const double *matrix, int d) {
    double a[16 * 16], det = 1;
    for (int i = 0; i < d * d; i++) a[i] = matrix[i];
    for (int i = 0; i < d; i++) {
        det *= a[i * d + i];
        for (int r = i + 1; r < d; r++)
            for (int c = d - 1; c >= i; c--) a[r * d + c] -= a[r * d + i] / a[i * d + i] * a[i * d + c];
    }
    return det;
}

static double log_prior(const cp_gaussian_softmax *layer, int c) {
    if (!layer->prior) return -log(layer->config.classes);
    double sum = 0;
    for (int k = 0; k < layer->config.classes; k++) sum += exp((double)layer->prior->data[k]);
    return (double)layer->prior->data[c] - log(sum);
}

static void each_layer(void (*body)(cp_gaussian_softmax *layer)) {
    for (int k = 0; k < 3; k++)
        for (int prior = 0; prior < 2; prior++) {
            cp_gaussian_softmax layer = layer_with(kinds[k], prior, D, C);
            body(&layer);
            cp_tape_reset(tape);
        }
}

/* ---- energies and densities ---- */

static const double tolerance = CP_DOUBLE ? 1e-11 : 2e-5;

static void close_to(double expected, cp_real got) {
    TEST_ASSERT_DOUBLE_WITHIN(tolerance * (1 + fabs(expected)), expected, (double)got);
}

static void check_energy(cp_gaussian_softmax *layer) {
    double       p[D * D], v[D];
    cp_tensor   *z = points(N, D);
    cp_tensor   *energy = cp_gaussian_softmax_class_energy(tape, layer, z), *total = cp_gaussian_softmax_energy(tape, layer, z);
    cp_tensor   *density = cp_gaussian_softmax_log_density(tape, layer, z);
    cp_gaussians g = cp_gaussian_softmax_gaussians(tape, layer);
    cp_tensor   *joint = cp_gaussian_log_joint(tape, z, g);
    precision_matrix(layer, D, p);
    double level = 0.5 * log(determinant(p, D)) - 0.5 * D * log(2 * acos(-1));
    for (int n = 0; n < N; n++) {
        double sum = 0, mixture = 0;
        for (int c = 0; c < C; c++) {
            for (int i = 0; i < D; i++) v[i] = (double)z->data[n * D + i] - (double)layer->mean->data[c * D + i];
            double half = quadratic(p, D, v) / 2, e = half - (layer->prior ? log_prior(layer, c) : 0);
            close_to(e, energy->data[n * C + c]);
            close_to(log_prior(layer, c) + level - half, joint->data[n * C + c]);
            sum += exp(-e);
            mixture += exp(log_prior(layer, c) + level - half);
        }
        close_to(-log(sum), total->data[n]);
        close_to(log(mixture), density->data[n]);
    }
}

static void energies_joint_and_density_are_those_of_the_definition(void) {
    each_layer(check_energy);
}

static void the_density_integrates_to_one_in_two_dimensions(void) {
    enum { SIDE = 400 };
    for (int k = 0; k < 3; k++) {
        cp_gaussian_softmax layer = layer_with(kinds[k], true, 2, 3);
        double              sum = 0, step = 24.0 / SIDE;
        static cp_real      row[SIDE * 2];
        for (int i = 0; i < SIDE; i++) {
            for (int j = 0; j < SIDE; j++) {
                row[2 * j] = (cp_real)((i + 0.5) * step - 12);
                row[2 * j + 1] = (cp_real)((j + 0.5) * step - 12);
            }
            cp_tensor *density = cp_gaussian_softmax_log_density(tape, &layer, cp_constant(tape, row, CP_SHAPE(SIDE, 2)));
            for (int j = 0; j < SIDE; j++) sum += exp((double)density->data[j]) * step * step;
            cp_tape_reset(tape);
        }
        TEST_ASSERT_DOUBLE_WITHIN(1e-4, 1, sum);
    }
}

static void a_point_far_from_every_mean_has_a_finite_log_density(void) {
    cp_gaussian_softmax layer = layer_with(CP_DIAGONAL, false, 2, 3);
    cp_tensor          *far = cp_constant(tape, (cp_real[]){1000, -1000}, CP_SHAPE(1, 2));
    cp_real             density = cp_item(cp_gaussian_softmax_log_density(tape, &layer, far));
    TEST_ASSERT_TRUE(isfinite(density) && density < -1e5);
}

/* ---- association ---- */

static void check_association(cp_gaussian_softmax *layer) {
    TEST_ASSERT_TRUE(cp_gaussian_softmax_distance(tape, layer) > 0.01);
    TEST_ASSERT_TRUE(cp_item(cp_gaussian_softmax_penalty(tape, layer)) > 0);
    TEST_ASSERT_TRUE(cp_gaussian_softmax_associate(tape, layer));
    cp_tensor *z = points(N, D);
    cp_tensor *a = cp_gaussian_softmax_posterior(tape, layer, z), *b = cp_gaussian_softmax_bayes_posterior(tape, layer, z);
    for (size_t i = 0; i < a->size; i++) TEST_ASSERT_DOUBLE_WITHIN(1e-6, (double)a->data[i], (double)b->data[i]);
    TEST_ASSERT_EQUAL_DOUBLE(0, (double)cp_item(cp_gaussian_softmax_penalty(tape, layer)));
    TEST_ASSERT_EQUAL_DOUBLE(0, cp_gaussian_softmax_distance(tape, layer));
}

static void after_association_both_heads_agree_and_the_penalty_is_exactly_zero(void) {
    each_layer(check_association);
}

static void check_penalty(cp_gaussian_softmax *layer) {
    double p[D * D], sum = 0;
    precision_matrix(layer, D, p);
    for (int c = 0; c < C; c++) {
        const cp_real *mu = layer->mean->data + c * D;
        double         m[D];
        for (int i = 0; i < D; i++) {
            double pm = 0;
            for (int j = 0; j < D; j++) pm += p[i * D + j] * (double)mu[j];
            sum += pow((double)layer->weight->data[i * C + c] - pm, 2);
            m[i] = (double)mu[i];
        }
        sum += pow((double)layer->bias->data[c] - log_prior(layer, c) + quadratic(p, D, m) / 2, 2);
    }
    close_to(sum / 2, cp_item(cp_gaussian_softmax_penalty(tape, layer)));
    close_to(sqrt(sum / (C * D + C)), (cp_real)cp_gaussian_softmax_distance(tape, layer));
}

static void the_penalty_is_the_sum_of_squared_differences_of_the_associated_parameters(void) {
    each_layer(check_penalty);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(energies_joint_and_density_are_those_of_the_definition);
    RUN_TEST(the_density_integrates_to_one_in_two_dimensions);
    RUN_TEST(a_point_far_from_every_mean_has_a_finite_log_density);
    RUN_TEST(after_association_both_heads_agree_and_the_penalty_is_exactly_zero);
    RUN_TEST(the_penalty_is_the_sum_of_squared_differences_of_the_associated_parameters);
    return UNITY_END();
}
