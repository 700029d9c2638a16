/* The Gaussian-coupled softmax layer compared with its definition. */
#include "layers/gaussian_softmax.h"

#include "tests/support/setup_layers.h"

#include <math.h>

enum { D = 4, C = 3, N = 7 };
static const cp_precision kinds[] = {CP_SPHERICAL, CP_DIAGONAL, CP_FULL};

/* A layer whose generative half has no neutral values such as 0 or 1. */
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

static void energies_joint_and_marginal_densities_follow_the_definition(void) { each_layer(check_energy); }

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

static void after_association_both_heads_agree_and_the_penalty_is_exactly_zero(void) { each_layer(check_association); }

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

static void the_penalty_is_the_sum_of_squared_differences_of_the_associated_parameters(void) { each_layer(check_penalty); }

/* ---- the closed-form fit ---- */

enum { POINTS = 12, QUERIES = 5 };

static void lda_points(cp_real *z, cp_real *weights, const int *labels) {
    for (int i = 0; i < POINTS; i++) {
        for (int j = 0; j < D; j++) z[i * D + j] = (cp_real)(sin(1 + 3 * i + 7 * j + i * j) + 0.8 * (i % C == j));
        for (int c = 0; c < C; c++) weights[i * C + c] = labels[i] == c;
    }
}

static cp_gaussian_softmax fitted(cp_precision kind, bool prior, int n, const cp_real *z, const cp_real *weights,
                                  double shrinkage) {
    cp_gaussian_softmax layer = layer_with(kind, prior, D, C);
    TEST_ASSERT_TRUE(cp_gaussian_softmax_fit(&layer, n, z, weights, shrinkage));
    TEST_ASSERT_TRUE(cp_gaussian_softmax_associate(tape, &layer));
    return layer;
}

/* scikit-learn's LinearDiscriminantAnalysis(solver="lsqr", shrinkage=...), posteriors of five points. */
static void the_full_fit_is_scikit_learns_linear_discriminant_analysis(void) {
    static const int even[POINTS] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}, uneven[POINTS] = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2};
    static const struct {
        const int *labels;
        double     shrinkage, posterior[QUERIES][C];
    } cases[] = {
        {even,
         0,
         {{6.876249845885070e-06, 9.961353935232371e-01, 3.857730226917021e-03},
          {3.764269252876441e-09, 9.999748887234472e-01, 2.510751228350104e-05},
          {3.862954896242099e-07, 9.996911696444213e-01, 3.084440600889520e-04},
          {8.122063510281949e-03, 8.282779820877245e-01, 1.635999544019935e-01},
          {1.816218638069540e-02, 6.029702736357440e-01, 3.788675399835606e-01}}},
        {even,
         0.3,
         {{1.701050426977946e-03, 9.470247737212009e-01, 5.127417585182133e-02},
          {6.009485640922414e-04, 9.755167407031188e-01, 2.388231073278904e-02},
          {4.338961563247636e-03, 9.444815162203630e-01, 5.117952221638918e-02},
          {3.404819237646278e-02, 8.130308179130615e-01, 1.529209897104757e-01},
          {1.650816594774932e-02, 8.390476144685524e-01, 1.444442195836982e-01}}},
        {uneven,
         0.3,
         {{0.500664616668890, 0.300142607095976, 0.199192776235134},
          {0.116388817167907, 0.010855531976978, 0.872755650855114},
          {0.439134321498046, 0.073656888134970, 0.487208790366984},
          {0.396207190148732, 0.595904509005165, 0.007888300846103},
          {0.255319688335770, 0.741169329480780, 0.003510982183450}}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        cp_real z[POINTS * D], weights[POINTS * C], queries[QUERIES * D];
        lda_points(z, weights, cases[k].labels);
        for (int i = 0; i < QUERIES * D; i++) queries[i] = (cp_real)cos(2 + 5 * (i / D) + 3 * (i % D));
        cp_gaussian_softmax layer = fitted(CP_FULL, true, POINTS, z, weights, cases[k].shrinkage);
        cp_tensor          *x = cp_constant(tape, queries, CP_SHAPE(QUERIES, D));
        cp_tensor          *p = cp_gaussian_softmax_posterior(tape, &layer, x);
        for (int i = 0; i < QUERIES * C; i++)
            TEST_ASSERT_DOUBLE_WITHIN(CP_DOUBLE ? 1e-12 : 1e-4, cases[k].posterior[i / C][i % C], (double)p->data[i]);
    }
}

static void a_diagonal_or_spherical_fit_has_the_variances_of_the_definition(void) {
    cp_real z[POINTS * D], weights[POINTS * C];
    double  mean[C][D] = {{0}}, mass[C] = {0}, variance[D] = {0}, v = 0;
    lda_points(z, weights, (int[POINTS]){0});
    for (int i = 0; i < POINTS * C; i++) weights[i] = (cp_real)((i * 7 % 5 + 1) / 8.0); /* soft labels */
    for (int i = 0; i < POINTS; i++)
        for (int c = 0; c < C; c++) {
            mass[c] += (double)weights[i * C + c];
            for (int j = 0; j < D; j++) mean[c][j] += (double)(weights[i * C + c] * z[i * D + j]);
        }
    for (int i = 0; i < POINTS; i++)
        for (int c = 0; c < C; c++)
            for (int j = 0; j < D; j++)
                variance[j] += (double)weights[i * C + c] * pow((double)z[i * D + j] - mean[c][j] / mass[c], 2) /
                               (mass[0] + mass[1] + mass[2]);
    for (int j = 0; j < D; j++) v += variance[j] / D;
    cp_gaussian_softmax diagonal = fitted(CP_DIAGONAL, false, POINTS, z, weights, 0.25);
    cp_gaussian_softmax spherical = fitted(CP_SPHERICAL, false, POINTS, z, weights, 0.25);
    for (int j = 0; j < D; j++) close_to(-log(0.75 * variance[j] + 0.25 * v), diagonal.precision->data[j]);
    close_to(-log(v), *spherical.precision->data);
    for (int i = 0; i < C * D; i++) close_to(mean[i / D][i % D] / mass[i / D], diagonal.mean->data[i]);
}

static void a_fit_handles_one_point_equal_points_empty_classes_and_more_features_than_points(void) {
    cp_real z[POINTS * D], weights[POINTS * C], one[C] = {0, 1, 0}, same[POINTS * D];
    lda_points(z, weights, (int[POINTS]){0});
    for (int i = 0; i < POINTS * D; i++) same[i] = (cp_real)(i % D);
    for (int k = 0; k < 3; k++) {
        cp_gaussian_softmax single = fitted(kinds[k], true, 1, z, one, 0),
                            equal = fitted(kinds[k], false, POINTS, same, weights, 0.5);
        cp_gaussian_softmax few = fitted(kinds[k], false, 2, z, weights, 0);
        for (int i = 0; i < C * D; i++) close_to((double)z[i % D], single.mean->data[i]); /* empty classes: the mean of all */
        for (size_t i = 0; i < single.precision->size; i++) close_to(0, single.precision->data[i]); /* the identity */
        for (size_t i = 0; i < equal.precision->size; i++) close_to(0, equal.precision->data[i]);
        for (size_t i = 0; i < few.precision->size; i++) TEST_ASSERT_TRUE(isfinite((double)few.precision->data[i]));
        for (int c = 0; c < C; c++) close_to(log(c == 1 ? 1 : 1e-6), single.prior->data[c]);
    }
}

static void a_fit_refuses_points_without_weight(void) {
    cp_real             z[D] = {0}, none[C] = {0};
    cp_gaussian_softmax layer = layer_with(CP_DIAGONAL, false, D, C);
    TEST_ASSERT_FALSE(cp_gaussian_softmax_fit(&layer, 1, z, none, 0));
    expect_error("sum to 0");
    TEST_ASSERT_FALSE(cp_gaussian_softmax_fit(&layer, 0, z, none, 0));
    expect_error("n is 0");
    TEST_ASSERT_FALSE(cp_gaussian_softmax_fit(&layer, 1, z, none, 2));
    expect_error("shrinkage is 2");
    TEST_ASSERT_FALSE(cp_gaussian_softmax_scale(&layer, 0));
    expect_error("not above 0");
}

static void check_scale(cp_gaussian_softmax *layer) {
    cp_tensor *z = points(N, D);
    cp_tensor *before = cp_gaussian_softmax_class_energy(tape, layer, z);
    TEST_ASSERT_TRUE(cp_gaussian_softmax_scale(layer, 3));
    cp_tensor *after = cp_gaussian_softmax_class_energy(tape, layer, z);
    for (int i = 0; i < N * C; i++) {
        double prior = layer->prior ? -log_prior(layer, i % C) : 0;
        close_to(3 * ((double)before->data[i] - prior) + prior, after->data[i]);
    }
}

static void scaling_the_precision_scales_the_energies(void) { each_layer(check_scale); }

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(energies_joint_and_marginal_densities_follow_the_definition);
    RUN_TEST(the_density_integrates_to_one_in_two_dimensions);
    RUN_TEST(a_point_far_from_every_mean_has_a_finite_log_density);
    RUN_TEST(after_association_both_heads_agree_and_the_penalty_is_exactly_zero);
    RUN_TEST(the_penalty_is_the_sum_of_squared_differences_of_the_associated_parameters);
    RUN_TEST(the_full_fit_is_scikit_learns_linear_discriminant_analysis);
    RUN_TEST(a_diagonal_or_spherical_fit_has_the_variances_of_the_definition);
    RUN_TEST(a_fit_handles_one_point_equal_points_empty_classes_and_more_features_than_points);
    RUN_TEST(a_fit_refuses_points_without_weight);
    RUN_TEST(scaling_the_precision_scales_the_energies);
    return UNITY_END();
}
