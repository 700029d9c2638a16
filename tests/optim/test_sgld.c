/* Tests of the sampler, on energies with known results. The golden values were printed by tests/golden/make_optim.py. The
 * program is linked with -Wl,--wrap for the memory calls, to count them. */
#include "optim/sgld.h"

#include "core/op.h"
#include "core/threads.h"
#include "ops/ops.h"
#include "optim/grads.h"

#include "support/wrapped_memory.h"
#include "tests/support/errors.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double sgld_golden[5][6] = {
    {-0.27044797933386611, 0.24228110879689438, 0.63868001952663045, 0.94628770617808122, 0.74909117872398445,
     -0.59102514000097728},
    {-0.75841755533103317, 0.4250349231334124, 1, 0.88099591216070527, 0.78482800881252746, -0.69533164693172989},
    {-0.77534186735618571, 0.44468922997074622, 1, 0.84692552108306962, 0.98837983152104658, -0.85058164730443098},
    {-0.93234413761272295, 0.59284409230518709, 1, 0.61457201135401585, 1, -0.7592404120883256},
    {-1, 0.5306135665186662, 1, 0.53562114331051081, 1, -0.85893786705523423},
};

static cp_tape *tape;
static cp_rng   rng;

void setUp(void) {
    errors_catch();
    tape = cp_tape_new();
    rng = cp_rng_named(11, "sgld");
}

void tearDown(void) {
    errors_release();
    cp_tape_free(tape);
    cp_threads_set(0);
}

/* ---- energies ---- */

/* 1/2 (x - mean)^T P (x - mean) in two dimensions. */
typedef struct gaussian {
    cp_real mean[2], precision[4];
} gaussian;

static cp_tensor *gaussian_energy(cp_at at, void *context, cp_tensor *x) {
    const gaussian *g = context;
    cp_tensor      *away = cp_sub(at, x, cp_constant(at, g->mean, CP_SHAPE(2)));
    cp_tensor      *pull = cp_matmul(at, away, cp_constant(at, g->precision, CP_SHAPE(2, 2)), 0);
    return cp_scale(at, cp_sum(at, cp_mul(at, away, pull), CP_AXES(1), false), 0.5);
}

/* Two modes of sd 1 at -4 and 4, in one dimension. */
static cp_tensor *mixture_energy(cp_at at, void *context, cp_tensor *x) {
    (void)context;
    cp_tensor *away = cp_sub(at, x, cp_constant(at, (cp_real[]){-4, 4}, CP_SHAPE(2))); /* (N, 2) */
    return cp_neg(at, cp_logsumexp(at, cp_scale(at, cp_square(at, away), -0.5), CP_AXES(1), false));
}

typedef struct network {
    cp_params *params;
    cp_tensor *weight, *out;
} network;

static network network_new(int in, int hidden, int classes) {
    network net = {.params = cp_params_new()};
    cp_rng  init = cp_rng_named(3, "init");
    net.weight = cp_params_add(net.params, "", "weight", CP_LAYOUT_LINEAR, CP_SHAPE(in, hidden));
    net.out = cp_params_add(net.params, "", "out", CP_LAYOUT_LINEAR, CP_SHAPE(hidden, classes));
    cp_rng_fill_normal(&init, net.weight->data, net.weight->size, 0, (cp_real)0.3);
    cp_rng_fill_normal(&init, net.out->data, net.out->size, 0, (cp_real)0.3);
    return net;
}

static cp_tensor *network_energy(cp_at at, void *context, cp_tensor *x) {
    network   *net = context;
    cp_tensor *hidden = cp_tanh(at, cp_matmul(at, x, net->weight, 0));
    return cp_neg(at, cp_logsumexp(at, cp_matmul(at, hidden, net->out, 0), CP_AXES(1), false));
}

/* Zero gradient: chains move only by noise. */
static cp_tensor *flat_energy(cp_at at, void *context, cp_tensor *x) {
    (void)context;
    return cp_scale(at, cp_sum(at, x, CP_AXES(1), false), 0);
}

static cp_tensor *log_energy(cp_at at, void *context, cp_tensor *x) {
    (void)context;
    return cp_sum(at, cp_log(at, x), CP_AXES(1), false);
}

static cp_tensor *steep_energy(cp_at at, void *context, cp_tensor *x) {
    return cp_sum(at, cp_scale(at, x, *(const cp_real *)context), CP_AXES(1), false);
}

/* ---- the formula ---- */

static void five_steps_with_scripted_noise_equal_pytorchs(void) {
    network net = network_new(3, 2, 2);
    memcpy(net.weight->data, (cp_real[]){0.5, -1.0, 0.25, 0.75, -1.5, 0.5}, 6 * sizeof(cp_real));
    memcpy(net.out->data, (cp_real[]){2.0, -1.0, 0.5, 1.5}, 4 * sizeof(cp_real));
    cp_real noise[30];
    for (int i = 0; i < 30; i++) noise[i] = (cp_real)sin(1.7 * i + 0.3);
    for (int steps = 1; steps <= 5; steps++) {
        cp_tensor *x = cp_tensor_new(CP_SHAPE(2, 3));
        memcpy(x->data, (cp_real[]){(cp_real)0.1, (cp_real)-0.2, (cp_real)0.3, 1, 0.5, -0.25}, 6 * sizeof(cp_real));
        cp_sgld_config config = {.step_size = 0.8,
                                 .noise = 0.1,
                                 .steps = steps,
                                 .gradient_clamp = 1,
                                 .clamp_low = -1,
                                 .clamp_high = 1,
                                 .scripted_noise = noise};
        TEST_ASSERT_TRUE(cp_sgld_run(tape, network_energy, &net, x, &config, NULL, NULL));
        for (int i = 0; i < 6; i++)
            TEST_ASSERT_DOUBLE_WITHIN(CP_DOUBLE ? 1e-12 : 2e-6, sgld_golden[steps - 1][i], (double)x->data[i]);
        cp_tensor_free(x);
    }
    cp_params_free(net.params);
}

/* The formula of the header in plain loops, with temperature and all clamps. */
static void five_steps_equal_an_independent_loop(void) {
    gaussian   g = {{0.5, -1}, {2, 0.5, 0.5, 1}};
    cp_real    noise[5 * 3 * 2];
    double     y[6] = {3, -2, 0.25, 0.5, -1.5, 2.5};
    cp_tensor *x = cp_tensor_new(CP_SHAPE(3, 2));
    cp_rng_fill_normal(&rng, noise, 30, 0, 1);
    for (int i = 0; i < 6; i++) x->data[i] = (cp_real)y[i];
    for (int step = 0; step < 5; step++)
        for (int n = 0; n < 3; n++) {
            double a = y[2 * n] - 0.5, b = y[2 * n + 1] + 1, slope[2] = {2 * a + 0.5 * b, 0.5 * a + b};
            for (int j = 0; j < 2; j++) {
                double pull = fmin(fmax(slope[j], -2), 2);
                y[2 * n + j] += -0.3 / 2 * pull + 0.2 * 3 * (double)noise[(step * 3 + n) * 2 + j];
                y[2 * n + j] = fmin(fmax(y[2 * n + j], -1.75), 2.25);
            }
        }
    cp_sgld_config config = {.step_size = 0.3,
                             .noise = 0.2,
                             .steps = 5,
                             .temperature = 9,
                             .gradient_clamp = 2,
                             .clamp_low = -1.75,
                             .clamp_high = 2.25,
                             .scripted_noise = noise};
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, x, &config, NULL, NULL));
    for (int i = 0; i < 6; i++) TEST_ASSERT_DOUBLE_WITHIN(CP_DOUBLE ? 1e-13 : 3e-6, y[i], (double)x->data[i]);
    cp_tensor_free(x);
}

static void the_noise_is_that_of_one_fill_for_chains_of_any_length(void) {
    const int chains[] = {1, 2, 3, 5, 701, 1500}, count = 29;
    for (int k = 0; k < 6; k++) {
        cp_tensor *x = cp_tensor_new(CP_SHAPE(count, chains[k])), *expected = cp_tensor_new(CP_SHAPE(count, chains[k]));
        cp_rng     sampling = rng, filling = rng;
        cp_rng_u32(&sampling); /* a stream in the middle of a block */
        cp_rng_u32(&filling);
        cp_sgld_config config = {.step_size = 1, .noise = 0.5, .steps = 2};
        TEST_ASSERT_TRUE(cp_sgld_run(tape, flat_energy, NULL, x, &config, &sampling, NULL));
        cp_tensor *noise = cp_tensor_new(CP_SHAPE(count, chains[k]));
        for (int step = 0; step < 2; step++) {
            cp_rng_fill_normal(&filling, noise->data, noise->size, 0, 1);
            for (size_t i = 0; i < noise->size; i++) expected->data[i] += (cp_real)0.5 * noise->data[i];
        }
        TEST_ASSERT_EQUAL_MEMORY(expected->data, x->data, x->size * sizeof *x->data);
        TEST_ASSERT_TRUE(sampling.position == filling.position);
        cp_tensor_free(noise);
        cp_tensor_free(expected);
        cp_tensor_free(x);
    }
}

static void no_noise_is_gradient_descent_and_draws_nothing(void) {
    gaussian       g = {{1, -2}, {1, 0, 0, 1}};
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(4, 2));
    uint64_t       position = rng.position;
    cp_sgld_config config = {.step_size = 1, .steps = 60};
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, x, &config, &rng, NULL));
    TEST_ASSERT_TRUE(position == rng.position);
    for (int n = 0; n < 4; n++) {
        TEST_ASSERT_DOUBLE_WITHIN(1e-6, 1, (double)x->data[2 * n]);
        TEST_ASSERT_DOUBLE_WITHIN(1e-6, -2, (double)x->data[2 * n + 1]);
    }
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, x, &config, NULL, NULL));
    cp_tensor_free(x);
}

static void a_temperature_below_zero_is_zero(void) {
    gaussian       g = {{1, 2}, {1, 0, 0, 1}};
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(1, 2));
    cp_sgld_config config = {.step_size = 2, .noise = 5, .steps = 1, .temperature = -1};
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, x, &config, NULL, NULL)); /* no noise: it needs no rng */
    TEST_ASSERT_TRUE(x->data[0] == 1 && x->data[1] == 2);                             /* the whole way to the mean */
    cp_tensor_free(x);
}

static void negative_noise_means_the_root_of_the_step(void) {
    gaussian   g = {{0, 0}, {1, 0, 0, 1}};
    cp_tensor *a = cp_tensor_new(CP_SHAPE(5, 2)), *b = cp_tensor_new(CP_SHAPE(5, 2));
    cp_rng     same = rng;
    TEST_ASSERT_TRUE(
        cp_sgld_run(tape, gaussian_energy, &g, a, &(cp_sgld_config){.step_size = 0.25, .noise = -1, .steps = 7}, &rng, NULL));
    TEST_ASSERT_TRUE(
        cp_sgld_run(tape, gaussian_energy, &g, b, &(cp_sgld_config){.step_size = 0.25, .noise = 0.5, .steps = 7}, &same, NULL));
    TEST_ASSERT_EQUAL_MEMORY(a->data, b->data, 10 * sizeof(cp_real));
    cp_tensor_free(a);
    cp_tensor_free(b);
}

/* ---- distributions ---- */

/* With noise sqrt(alpha T) the chain x' = m + A (x - m) + noise, A = I - alpha/2 P, has the stationary covariance S = A S A
 * + alpha T I, i.e. S = T (P - alpha/4 P^2)^-1: T P^-1 except for the effect of the step size. */
static void expect_gaussian(double alpha, double temperature) {
    enum { CHAINS = 4000 };
    gaussian       g = {{1.5, -0.5}, {2, -1, -1, 1.25}};
    double         p2[3] = {4 + 1, -2 - 1.25, 1 + 1.25 * 1.25}; /* P^2: xx, xy, yy */
    double         q[3] = {2 - alpha / 4 * p2[0], -1 - alpha / 4 * p2[1], 1.25 - alpha / 4 * p2[2]};
    double         det = q[0] * q[2] - q[1] * q[1];
    double         s[3] = {temperature * q[2] / det, -temperature * q[1] / det, temperature * q[0] / det};
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(CHAINS, 2));
    double         mean[2] = {0}, covariance[3] = {0};
    cp_sgld_config config = {.step_size = alpha, .noise = -1, .steps = (int)(60 / alpha), .temperature = temperature};
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, x, &config, &rng, NULL));
    for (int n = 0; n < CHAINS; n++)
        for (int j = 0; j < 2; j++) mean[j] += (double)x->data[2 * n + j] / CHAINS;
    for (int n = 0; n < CHAINS; n++) {
        double a = (double)x->data[2 * n] - mean[0], b = (double)x->data[2 * n + 1] - mean[1];
        covariance[0] += a * a / (CHAINS - 1), covariance[1] += a * b / (CHAINS - 1), covariance[2] += b * b / (CHAINS - 1);
    }
    const double sigmas = 4; /* chains are independent: the Monte-Carlo errors are those of 4000 draws */
    TEST_ASSERT_DOUBLE_WITHIN(sigmas * sqrt(s[0] / CHAINS), 1.5, mean[0]);
    TEST_ASSERT_DOUBLE_WITHIN(sigmas * sqrt(s[2] / CHAINS), -0.5, mean[1]);
    TEST_ASSERT_DOUBLE_WITHIN(sigmas * s[0] * sqrt(2.0 / CHAINS), s[0], covariance[0]);
    TEST_ASSERT_DOUBLE_WITHIN(sigmas * sqrt((s[0] * s[2] + s[1] * s[1]) / CHAINS), s[1], covariance[1]);
    TEST_ASSERT_DOUBLE_WITHIN(sigmas * s[2] * sqrt(2.0 / CHAINS), s[2], covariance[2]);
    cp_tensor_free(x);
}

static void a_gaussians_mean_and_covariance_are_recovered(void) { expect_gaussian(0.1, 1); }

static void a_coarse_step_has_exactly_the_covariance_that_theory_gives_it(void) { expect_gaussian(0.8, 1); }

static void temperature_multiplies_the_covariance(void) { expect_gaussian(0.4, 4); }

static void both_modes_of_a_mixture_are_visited_from_scattered_starts(void) {
    enum { CHAINS = 1000 };
    cp_tensor *x = cp_tensor_new(CP_SHAPE(CHAINS, 1));
    int        left = 0;
    double     spread = 0;
    cp_rng_fill_uniform(&rng, x->data, x->size, -8, 8);
    TEST_ASSERT_TRUE(
        cp_sgld_run(tape, mixture_energy, NULL, x, &(cp_sgld_config){.step_size = 0.1, .noise = -1, .steps = 300}, &rng, NULL));
    for (int n = 0; n < CHAINS; n++) {
        double away = fabs((double)x->data[n]) - 4;
        left += x->data[n] < 0;
        spread += away * away / CHAINS;
    }
    TEST_ASSERT_INT_WITHIN(64, CHAINS / 2, left);               /* 4 sigmas of a coin */
    TEST_ASSERT_DOUBLE_WITHIN(0.18, 1 / (1 - 0.1 / 4), spread); /* 4 sigmas of a variance */
    cp_tensor_free(x);
}

/* ---- clamps ---- */

typedef struct extent {
    double lowest, highest;
} extent;

static bool measure_extent(void *user, const cp_sgld_view *view) {
    extent *e = user;
    for (size_t i = 0; i < view->x->size; i++) {
        e->lowest = fmin(e->lowest, (double)view->x->data[i]);
        e->highest = fmax(e->highest, (double)view->x->data[i]);
    }
    return true;
}

static extent extent_of(double low, double high) {
    gaussian       g = {{0, 0}, {1, 0, 0, 1}};
    extent         e = {0, 0};
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(200, 2));
    cp_sgld_config config = {.step_size = 0.2,
                             .noise = -1,
                             .steps = 100,
                             .clamp_low = low,
                             .clamp_high = high,
                             .observer = measure_extent,
                             .observer_user = &e};
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, x, &config, &rng, NULL));
    measure_extent(&e, &(cp_sgld_view){.x = x});
    cp_tensor_free(x);
    return e;
}

static void samples_stay_in_the_range_only_if_they_are_clamped(void) {
    extent clamped = extent_of(-0.5, 1), open = extent_of(0, 0);
    TEST_ASSERT_EQUAL_DOUBLE(-0.5, clamped.lowest);
    TEST_ASSERT_EQUAL_DOUBLE(1, clamped.highest);
    TEST_ASSERT_TRUE(open.lowest < -2.5 && open.highest > 2.5);
}

static void the_gradient_clamp_limits_each_value_of_a_step(void) {
    gaussian       g = {{0, 0}, {1, 0, 0, 1}};
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(1, 2));
    cp_sgld_report report;
    x->data[0] = 100, x->data[1] = (cp_real)-0.25;
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, x, &(cp_sgld_config){.step_size = 1, .steps = 1, .gradient_clamp = 3},
                                 NULL, &report));
    TEST_ASSERT_EQUAL_DOUBLE(100 - 1.5, (double)x->data[0]);
    TEST_ASSERT_EQUAL_DOUBLE(-0.125, (double)x->data[1]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-3, sqrt(100 * 100 + 0.0625), report.gradient_norm); /* before the clamp */
    cp_tensor_free(x);
}

/* ---- determinism and memory ---- */

static void the_same_seed_gives_the_same_chain_for_any_number_of_threads(void) {
    network        net = network_new(701, 16, 4);
    cp_tensor     *x[4];
    cp_sgld_report report[4];
    for (int k = 0; k < 4; k++) {
        cp_rng stream = cp_rng_named(k == 3 ? 6 : 5, "chains");
        x[k] = cp_tensor_new(CP_SHAPE(37, 701));
        cp_threads_set(k == 1 ? 1 : k == 2 ? 5 : 2);
        TEST_ASSERT_TRUE(cp_sgld_run(tape, network_energy, &net, x[k], &(cp_sgld_config){.step_size = 1, .noise = 0.1, .steps = 20},
                                     &stream, &report[k]));
    }
    size_t bytes = x[0]->size * sizeof(cp_real);
    TEST_ASSERT_EQUAL_MEMORY(x[0]->data, x[1]->data, bytes);
    TEST_ASSERT_EQUAL_MEMORY(x[0]->data, x[2]->data, bytes);
    TEST_ASSERT_TRUE(report[0].energy_last == report[1].energy_last && report[0].gradient_norm == report[1].gradient_norm);
    TEST_ASSERT_TRUE(memcmp(x[0]->data, x[3]->data, bytes) != 0);
    for (int k = 0; k < 4; k++) cp_tensor_free(x[k]);
    cp_params_free(net.params);
}

static void two_runs_of_fifty_steps_equal_one_of_a_hundred(void) {
    gaussian       g = {{0, 0}, {1, 0, 0, 1}};
    cp_tensor     *whole = cp_tensor_new(CP_SHAPE(3, 2)), *halves = cp_tensor_new(CP_SHAPE(3, 2));
    cp_rng         same = rng;
    cp_sgld_config config = CP_SGLD_PAPER;
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, whole, &config, &rng, NULL));
    config.steps = 50;
    for (int half = 0; half < 2; half++) TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, halves, &config, &same, NULL));
    TEST_ASSERT_EQUAL_MEMORY(whole->data, halves->data, 6 * sizeof(cp_real));
    cp_tensor_free(whole);
    cp_tensor_free(halves);
}

static void ten_thousand_steps_do_not_use_one_byte_more_memory(void) {
    network        net = network_new(6, 8, 3);
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(8, 6));
    cp_sgld_config config = {.step_size = 0.1, .noise = 0.01, .steps = 5};
    TEST_ASSERT_TRUE(cp_sgld_run(tape, network_energy, &net, x, &config, &rng, NULL));
    size_t peak = cp_tape_peak(tape);
    long   calls = memory_calls;
    config.steps = 10000;
    TEST_ASSERT_TRUE(cp_sgld_run(tape, network_energy, &net, x, &config, &rng, NULL));
    TEST_ASSERT_EQUAL_INT(0, memory_calls - calls);
    TEST_ASSERT_TRUE(cp_tape_peak(tape) == peak);
    TEST_ASSERT_EQUAL_INT(0, (int)cp_tape_bytes(tape));
    cp_tensor_free(x);
    cp_params_free(net.params);
}

/* ---- the weights ---- */

static int  input_gradients, weight_gradients;
static bool weights_tracked;

/* x w, which counts the gradients that its rule is asked for. */
static void probe_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    if (cp_needs(node, 0)) input_gradients++, gin[0] = cp_matmul(at, g, node->in[1], CP_TRANSPOSE_B);
    if (cp_needs(node, 1)) weight_gradients++, gin[1] = cp_matmul(at, node->in[0], g, CP_TRANSPOSE_A);
}

static const cp_op op_probe = {.name = "probe", .formula = "x w", .grad = probe_grad, .keeps = {CP_KEEPS_IN(1), CP_KEEPS_IN(0)}};

static cp_tensor *probe_energy(cp_at at, void *context, cp_tensor *x) {
    network   *net = context;
    bool       was = cp_tape_pause(at.tape, true);
    cp_tensor *product = cp_matmul(at, x, net->weight, 0);
    cp_tape_pause(at.tape, was);
    cp_tensor *hidden = cp_record(at, &op_probe, product, NULL, 2, (cp_tensor *[]){x, net->weight});
    weights_tracked = cp_square(at, net->weight)->tracked;
    return cp_sum(at, cp_square(at, cp_tanh(at, hidden)), CP_AXES(1), false);
}

static void sampling_computes_no_weight_gradient_and_does_not_change_the_weights(void) {
    network    net = network_new(3, 4, 2);
    cp_tensor *x = cp_tensor_new(CP_SHAPE(5, 3));
    cp_real    before[12];
    memcpy(before, net.weight->data, sizeof before);
    cp_rng_fill_normal(&rng, x->data, x->size, 0, 1);
    input_gradients = weight_gradients = 0;
    TEST_ASSERT_TRUE(
        cp_sgld_run(tape, probe_energy, &net, x, &(cp_sgld_config){.step_size = 1, .noise = 0.1, .steps = 9}, &rng, NULL));
    TEST_ASSERT_EQUAL_INT(9, input_gradients);
    TEST_ASSERT_EQUAL_INT(0, weight_gradients);
    TEST_ASSERT_FALSE(weights_tracked); /* frozen: values made only from weights are not recorded */
    TEST_ASSERT_EQUAL_MEMORY(before, net.weight->data, sizeof before);

    /* The probe does count them when a loss is trained afterwards on the same tape. */
    cp_tensor *batch = cp_constant(tape, x->data, x->shape);
    cp_tensor *loss = cp_sum(tape, probe_energy(CP_AT(tape), &net, batch), CP_ALL, false);
    TEST_ASSERT_TRUE(cp_backward(tape, loss, net.params));
    TEST_ASSERT_EQUAL_INT(1, weight_gradients);
    TEST_ASSERT_TRUE(weights_tracked);
    cp_tensor_free(x);
    cp_params_free(net.params);
}

static cp_tensor *no_energy(cp_at at, void *context, cp_tensor *x) {
    (void)at, (void)context, (void)x;
    return NULL;
}

static void the_tapes_modes_are_restored_whatever_happens(void) {
    gaussian   g = {{0, 0}, {1, 0, 0, 1}};
    cp_tensor *x = cp_tensor_new(CP_SHAPE(3, 2));
    for (int modes = 0; modes < 4; modes++)
        for (int failing = 0; failing < 2; failing++) {
            cp_tape_pause(tape, modes & 1);
            cp_tape_freeze(tape, modes & 2);
            bool ok = cp_sgld_run(tape, failing ? no_energy : gaussian_energy, &g, x, &CP_SGLD_JEM, &rng, NULL);
            TEST_ASSERT_TRUE(ok == !failing);
            TEST_ASSERT_TRUE(cp_tape_pause(tape, false) == (modes & 1));
            TEST_ASSERT_TRUE(cp_tape_freeze(tape, false) == !!(modes & 2));
            TEST_ASSERT_EQUAL_INT(0, cp_tape_length(tape));
        }
    cp_tensor_free(x);
}

/* ---- energies and steps that are not finite ---- */

static void a_chain_without_a_finite_energy_stays_and_is_reported(void) {
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(4, 2)), *sound = cp_tensor_new(CP_SHAPE(4, 2));
    cp_rng         same = rng;
    bool           stuck[4] = {0};
    cp_sgld_report report;
    cp_sgld_config config = {.step_size = 0.01, .noise = 0.001, .steps = 6, .stuck = stuck};
    for (int i = 0; i < 8; i++) x->data[i] = sound->data[i] = (cp_real)(5 + i);
    x->data[3] = -1; /* ln is NaN there, its gradient is not */
    x->data[4] = 0;  /* ln is -infinity and its gradient infinite */
    TEST_ASSERT_TRUE(cp_sgld_run(tape, log_energy, NULL, x, &config, &rng, &report));
    TEST_ASSERT_EQUAL_INT(6, report.steps);
    TEST_ASSERT_EQUAL_INT(2, report.nonfinite);
    TEST_ASSERT_EQUAL_INT64(12, report.refused);
    TEST_ASSERT_TRUE(!stuck[0] && stuck[1] && stuck[2] && !stuck[3]);
    TEST_ASSERT_TRUE(x->data[2] == 7 && x->data[3] == -1 && x->data[4] == 0 && x->data[5] == 10);
    TEST_ASSERT_TRUE(isfinite(report.energy_first) && isfinite(report.gradient_norm));

    config.stuck = NULL; /* the other chains are not affected */
    TEST_ASSERT_TRUE(cp_sgld_run(tape, log_energy, NULL, sound, &config, &same, &report));
    TEST_ASSERT_EQUAL_INT(0, report.nonfinite);
    TEST_ASSERT_TRUE(x->data[0] == sound->data[0] && x->data[7] == sound->data[7] && x->data[0] != 5);
    cp_tensor_free(x);
    cp_tensor_free(sound);
}

static void a_step_that_would_overflow_is_refused(void) {
    cp_real        steep = (cp_real)(sqrt((double)CP_REAL_MAX) / 2); /* the gradient; its norm is finite */
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(2, 2));
    cp_sgld_report report;
    cp_sgld_config config = {.step_size = 12 * (double)steep, .steps = 1}; /* moves by 1.5 CP_REAL_MAX */
    TEST_ASSERT_TRUE(cp_sgld_run(tape, steep_energy, &steep, x, &config, NULL, &report));
    TEST_ASSERT_EQUAL_INT(2, report.nonfinite);
    TEST_ASSERT_TRUE(x->data[0] == 0 && x->data[3] == 0);
    config.step_size = 2 * (double)steep; /* by CP_REAL_MAX / 4 */
    TEST_ASSERT_TRUE(cp_sgld_run(tape, steep_energy, &steep, x, &config, NULL, &report));
    TEST_ASSERT_EQUAL_INT(0, report.nonfinite);
    TEST_ASSERT_TRUE(isfinite(x->data[0]) && x->data[0] < -CP_REAL_MAX / 5);
    cp_tensor_free(x);
}

/* ---- observer and report ---- */

static bool stop_at_three(void *user, const cp_sgld_view *view) {
    int *seen = user;
    TEST_ASSERT_EQUAL_INT(*seen, view->step);
    TEST_ASSERT_EQUAL_INT(4, view->energies->dims[0]);
    double energy = 0;
    for (int n = 0; n < 4; n++) {
        double a = (double)view->x->data[2 * n], b = (double)view->x->data[2 * n + 1];
        energy += (a * a + b * b) / 2;
        TEST_ASSERT_DOUBLE_WITHIN(1e-5, (a * a + b * b) / 2, (double)view->energies->data[n]);
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, energy / 4, view->mean_energy);
    return ++*seen <= 3;
}

static void the_observer_sees_every_step_and_may_stop(void) {
    gaussian       g = {{0, 0}, {1, 0, 0, 1}};
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(4, 2));
    int            seen = 0;
    cp_sgld_report report;
    for (int n = 0; n < 4; n++) x->data[2 * n] = 4, x->data[2 * n + 1] = 3;
    cp_sgld_config config = {.step_size = 1, .steps = 100, .observer = stop_at_three, .observer_user = &seen};
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, x, &config, NULL, &report));
    TEST_ASSERT_EQUAL_INT(4, seen);
    TEST_ASSERT_EQUAL_INT(3, report.steps);
    TEST_ASSERT_EQUAL_DOUBLE(0.5, (double)x->data[0]); /* 4 / 2^3 */
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 12.5, report.energy_first);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 12.5 / 64, report.energy_last);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 5.0 / 8, report.gradient_norm);
    cp_tensor_free(x);
}

static void no_steps_and_no_chains_are_ok(void) {
    gaussian       g = {{0, 0}, {1, 0, 0, 1}};
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(1, 2)), *none = cp_tensor_new(CP_SHAPE(0, 2));
    cp_sgld_report report;
    x->data[0] = 3;
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, x, &(cp_sgld_config){.step_size = 1, .noise = 1}, &rng, &report));
    TEST_ASSERT_TRUE(x->data[0] == 3 && report.steps == 0 && isnan(report.energy_first));
    TEST_ASSERT_TRUE(cp_sgld_run(tape, gaussian_energy, &g, none, &CP_SGLD_JEM, &rng, &report));
    TEST_ASSERT_EQUAL_INT(20, report.steps);
    TEST_ASSERT_EQUAL_INT(0, errors);
    cp_tensor_free(x);
    cp_tensor_free(none);
}

static cp_tensor *mean_energy(cp_at at, void *context, cp_tensor *x) {
    return cp_mean(at, gaussian_energy(at, context, x), CP_ALL, false);
}

static void expect_refused(cp_energy_fn energy, cp_tensor *x, cp_sgld_config config, cp_rng *stream, const char *word) {
    gaussian g = {{0, 0}, {1, 0, 0, 1}};
    errors_forget();
    TEST_ASSERT_FALSE(cp_sgld_run(tape, energy, &g, x, &config, stream, NULL));
    expect_error(word);
}

static void misuse_is_refused_with_the_reason(void) {
    cp_tensor     *x = cp_tensor_new(CP_SHAPE(2, 2)), *scalar = cp_tensor_new(CP_SCALAR);
    cp_tensor     *taped = cp_constant(tape, x->data, x->shape);
    cp_sgld_config ok = {.step_size = 1, .noise = 1, .steps = 2};
    expect_refused(gaussian_energy, taped, ok, &rng, "persistent");
    expect_refused(gaussian_energy, scalar, ok, &rng, "chains");
    expect_refused(gaussian_energy, NULL, ok, &rng, "NULL");
    expect_refused(NULL, x, ok, &rng, "NULL");
    expect_refused(gaussian_energy, x, ok, NULL, "rng is NULL");
    expect_refused(mean_energy, x, ok, &rng, "gave shape ()");
    expect_refused(gaussian_energy, x, (cp_sgld_config){.noise = 1, .steps = 1}, &rng, "step_size");
    expect_refused(gaussian_energy, x, (cp_sgld_config){.step_size = (double)NAN, .steps = 1}, &rng, "step_size");
    expect_refused(gaussian_energy, x, (cp_sgld_config){.step_size = 1, .steps = -1}, &rng, "steps");
    expect_refused(gaussian_energy, x, (cp_sgld_config){.step_size = 1, .temperature = (double)NAN}, &rng, "temperature");
    expect_refused(gaussian_energy, x, (cp_sgld_config){.step_size = 1, .clamp_low = 1}, &rng, "range");
    cp_tensor_free(x);
    cp_tensor_free(scalar);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(five_steps_with_scripted_noise_equal_pytorchs);
    RUN_TEST(five_steps_equal_an_independent_loop);
    RUN_TEST(the_noise_is_that_of_one_fill_for_chains_of_any_length);
    RUN_TEST(no_noise_is_gradient_descent_and_draws_nothing);
    RUN_TEST(a_temperature_below_zero_is_zero);
    RUN_TEST(negative_noise_means_the_root_of_the_step);
    RUN_TEST(a_gaussians_mean_and_covariance_are_recovered);
    RUN_TEST(a_coarse_step_has_exactly_the_covariance_that_theory_gives_it);
    RUN_TEST(temperature_multiplies_the_covariance);
    RUN_TEST(both_modes_of_a_mixture_are_visited_from_scattered_starts);
    RUN_TEST(samples_stay_in_the_range_only_if_they_are_clamped);
    RUN_TEST(the_gradient_clamp_limits_each_value_of_a_step);
    RUN_TEST(the_same_seed_gives_the_same_chain_for_any_number_of_threads);
    RUN_TEST(two_runs_of_fifty_steps_equal_one_of_a_hundred);
    RUN_TEST(ten_thousand_steps_do_not_use_one_byte_more_memory);
    RUN_TEST(sampling_computes_no_weight_gradient_and_does_not_change_the_weights);
    RUN_TEST(the_tapes_modes_are_restored_whatever_happens);
    RUN_TEST(a_chain_without_a_finite_energy_stays_and_is_reported);
    RUN_TEST(a_step_that_would_overflow_is_refused);
    RUN_TEST(the_observer_sees_every_step_and_may_stop);
    RUN_TEST(no_steps_and_no_chains_are_ok);
    RUN_TEST(misuse_is_refused_with_the_reason);
    return UNITY_END();
}
