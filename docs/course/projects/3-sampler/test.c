/* Checks project 3: leapfrog steps known by hand, reversibility, acceptance with given numbers, memory, and the variances of many chains. */
#include "expect.h"
#include <couplet.h>
#include <string.h>

void leapfrog(cp_tape *tape, cp_energy_fn energy, void *context, cp_tensor *x, cp_real *p, double eps, int steps);
int  hmc_step(cp_tape *tape, cp_energy_fn energy, void *context, cp_tensor *x, const cp_real *noise, const double *uniform,
              double eps, int steps);

enum { D = 2, MANY = 400 };

typedef struct bowl { /* E(x_n) = (k_0 x_n0^2 + k_1 x_n1^2) / 2 */
    cp_tensor *k;
    int        asked, tracked; /* how often energies were asked for, and how often of these not on a frozen or paused tape */
} bowl;

static cp_tensor *bowl_energy(cp_at at, void *context, cp_tensor *x) {
    bowl *b = context;
    bool  frozen = cp_tape_freeze(at.tape, true);
    cp_tape_freeze(at.tape, frozen);
    b->asked++, b->tracked += !frozen;
    return cp_scale(at, cp_sum(at, cp_mul(at, b->k, cp_square(at, x)), CP_AXES(1), false), 0.5);
}

static void fill(cp_tensor *x, const double *values) {
    memcpy(x->data, values, x->size * sizeof(double));
}

int main(void) {
    static const double start[3 * D] = {1, 2, -3, 1, 0, -1}, momentum[3 * D] = {0, 1, 1, 0, 2, -1};
    cp_tape            *tape = cp_tape_new();
    cp_tensor          *x = cp_tensor_new(CP_SHAPE(3, D)), *one = cp_tensor_new(CP_SHAPE(1, D));
    bowl                b = {.k = cp_parameter_new((cp_real[]){1, 4}, CP_SHAPE(D))};
    cp_real             p[3 * D];

    expect_part("part 1: leapfrog");
    fill(one, (double[]){1, 2});
    memcpy(p, (double[]){0, 1}, 2 * sizeof *p);
    leapfrog(tape, bowl_energy, &b, one, p, 0.1, 1);
    expect_numbers("one step with eps 0.1 from (1, 2), p (0, 1): x", D, (double[]){0.995, 2.06}, one->data, 1e-9);
    expect_numbers("one step with eps 0.1 from (1, 2), p (0, 1): p", D, (double[]){-0.09975, 0.188}, p, 1e-9);
    expect_number("gradients for one step", 2, b.asked, 0);
    b.asked = 0;
    fill(x, start), memcpy(p, momentum, sizeof p);
    leapfrog(tape, bowl_energy, &b, x, p, 0.2, 5);
    expect_number("gradients for five steps", 6, b.asked, 0);
    double moved = 0;
    for (int i = 0; i < 3 * D; i++) moved += fabs(x->data[i] - start[i]), p[i] = -p[i];
    expect_true("five steps move the chains", moved > 1);
    leapfrog(tape, bowl_energy, &b, x, p, 0.2, 5);
    expect_numbers("five steps back with p negated: x", 3 * D, start, x->data, 1e-9);

    expect_part("part 2: acceptance");
    fill(x, start);
    int accepted = hmc_step(tape, bowl_energy, &b, x, momentum, (double[]){0, 0, 0}, 0.2, 3);
    expect_number("accepted with uniform = 0", 3, accepted, 0);
    double     expected[3 * D];
    cp_tensor *copy = cp_tensor_new(CP_SHAPE(3, D));
    fill(copy, start), memcpy(p, momentum, sizeof p);
    leapfrog(tape, bowl_energy, &b, copy, p, 0.2, 3);
    memcpy(expected, copy->data, sizeof expected);
    expect_numbers("then x is where leapfrog leads", 3 * D, expected, x->data, 1e-9);
    fill(x, start);
    accepted = hmc_step(tape, bowl_energy, &b, x, momentum, (double[]){2, 2, 2}, 0.2, 3);
    expect_number("accepted with uniform = 2, which no step reaches here", 0, accepted, 0);
    expect_numbers("then x is where it was", 3 * D, start, x->data, 1e-12);
    fill(x, start);
    accepted = hmc_step(tape, bowl_energy, &b, x, momentum, (double[]){0, 0, 0}, 1e200, 3);
    expect_number("accepted with a step so large that energies are not finite", 0, accepted, 0);

    expect_part("part 3: memory");
    expect_number("nodes on the tape afterwards", 0, cp_tape_length(tape), 0);
    expect_true("energies were asked for", b.asked > 0);
    expect_number("of these not on a frozen tape", 0, b.asked ? b.tracked : 1, 0);
    bool frozen = cp_tape_freeze(tape, false);
    expect_true("the tape is not frozen afterwards", !frozen);

    expect_part("part 4: statistics");
    cp_rng     rng = cp_rng_named(3, "project");
    cp_tensor *many = cp_tensor_new(CP_SHAPE(MANY, D));
    double     squares[D] = {0}, uniform[MANY];
    long       taken = 0;
    cp_real    noise[MANY * D];
    b.k->data[1] = 16;
    for (int step = 0; step < 120; step++) {
        cp_rng_fill_normal(&rng, noise, MANY * D, 0, 1);
        for (int n = 0; n < MANY; n++) uniform[n] = cp_rng_uniform(&rng);
        taken += hmc_step(tape, bowl_energy, &b, many, noise, uniform, 0.35, 5);
        for (int i = 0; i < MANY * D && step >= 20; i++) squares[i % D] += many->data[i] * many->data[i] / (100.0 * MANY);
    }
    expect_number("variance along the curvature 1", 1, squares[0], 0.05);
    expect_number("16 times the variance along the curvature 16", 1, 16 * squares[1], 0.05);
    expect_true("between 60 and 99 percent are accepted", taken > 0.6 * 120 * MANY && taken < 0.99 * 120 * MANY);
    cp_tensor_free(x), cp_tensor_free(one), cp_tensor_free(copy), cp_tensor_free(many), cp_tensor_free(b.k), cp_tape_free(tape);
    return expect_end();
}
