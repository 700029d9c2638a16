/* The check of exercise 12. */
#include <couplet.h>

#include "expect.h"

void langevin_step(cp_tape *tape, cp_energy_fn energy, void *context, cp_tensor *x, double alpha, double sd, const cp_real *noise);

enum { CHAINS = 3, VALUES = 6 };

typedef struct bowl { /* E(x_n) = (k_0 x_n0^2 + k_1 x_n1^2) / 2, with the parameter k */
    cp_tensor *k;
    int        asked, frozen; /* how often the energy was recorded, and how often of these on a frozen tape */
} bowl;

static cp_tensor *bowl_energy(cp_at at, void *context, cp_tensor *x) {
    bowl *b = context;
    bool  was = cp_tape_freeze(at.tape, true);
    cp_tape_freeze(at.tape, was);
    b->asked++, b->frozen += was;
    return cp_scale(at, cp_sum(at, cp_mul(at, b->k, cp_square(at, x)), CP_AXES(1), false), 0.5);
}

static void set(cp_tensor *x, const cp_real *values) {
    for (size_t i = 0; i < x->size; i++) x->data[i] = values[i];
}

static void check_bowl(cp_tape *tape, cp_tensor *x) {
    static const cp_real start[VALUES] = {1, 2, -3, 1, 0, -1}, none[VALUES] = {0}, noise[VALUES] = {1, -1, 2, 0, -2, 1};
    cp_tensor           *k = cp_tensor_new(CP_SHAPE(2));
    bowl                 b = {.k = k};
    k->data[0] = 1, k->data[1] = 4;
    set(x, start);
    langevin_step(tape, bowl_energy, &b, x, 0.2, 0, none); /* dE/dx = (x_0, 4 x_1), times 0.1 */
    expect_tensor("no noise, one step down a bowl", CP_SHAPE(CHAINS, 2), (double[]){0.9, 1.2, -2.7, 0.6, 0, -0.6}, x, 1e-9);
    expect_number("recordings of the energy", 1, b.asked, 0);
    expect_number("of these on a frozen tape", 1, b.frozen, 0);
    expect_number("nodes on the tape after the step", 0, cp_tape_length(tape), 0);
    bool still = cp_tape_freeze(tape, false);
    expect_true("the tape is not frozen after the step", !still);
    set(x, start);
    cp_tape_reset(tape);
    langevin_step(tape, bowl_energy, &b, x, 0.2, 0.5, noise);
    expect_tensor("noise of sd 0.5", CP_SHAPE(CHAINS, 2), (double[]){1.4, 0.7, -1.7, 0.6, -1, -0.1}, x, 1e-9);
    cp_tape_reset(tape);
    cp_tensor_free(k);
}

static cp_tensor *layer_energy(cp_at at, void *layer, cp_tensor *x) {
    return cp_gaussian_softmax_energy(at, layer, x);
}

/* Five steps on the energy of the layer, compared with the library's sampler with the same noise. */
static void check_layer(cp_tape *tape, cp_tensor *x) {
    enum { STEPS = 5 };
    static const cp_real       start[VALUES] = {2, 2, -2, 1, 0, -1};
    cp_real                    noise[STEPS][VALUES];
    double                     expected[VALUES];
    cp_rng                     rng = cp_rng_named(10, "exercise");
    cp_params                 *params = cp_params_new();
    cp_gaussian_softmax_config config = {.features = 2, .classes = 3, .mean_sd = 1};
    cp_gaussian_softmax        layer = cp_gaussian_softmax_make(params, "layer", config, &rng);
    cp_rng_fill_normal(&rng, noise[0], (size_t)STEPS * VALUES, 0, 1);
    set(x, start);
    cp_sgld_config sgld = {.step_size = 0.3, .noise = 0.1, .steps = STEPS, .scripted_noise = noise[0]};
    cp_sgld_run(tape, layer_energy, &layer, x, &sgld, NULL, NULL);
    for (int i = 0; i < VALUES; i++) expected[i] = x->data[i];
    set(x, start);
    for (int step = 0; step < STEPS; step++) langevin_step(tape, layer_energy, &layer, x, 0.3, 0.1, noise[step]);
    expect_tensor("five steps on three wells, as cp_sgld_run makes them", CP_SHAPE(CHAINS, 2), expected, x, 1e-9);
    cp_params_free(params);
}

int main(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *x = cp_tensor_new(CP_SHAPE(CHAINS, 2));
    check_bowl(tape, x);
    check_layer(tape, x);
    cp_tensor_free(x), cp_tape_free(tape);
    return expect_end();
}
