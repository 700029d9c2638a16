#include <couplet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* p <- p - factor dE/dx. */
static void kick(cp_tape *tape, cp_energy_fn energy, void *context, const cp_tensor *x, cp_real *p, double factor) {
    bool       was = cp_tape_freeze(tape, true);
    cp_tensor *v = cp_variable(tape, x->data, x->shape), *grad;
    cp_grad(tape, cp_sum(tape, energy(CP_AT(tape), context, v), CP_ALL, false), &v, 1, &grad);
    for (size_t i = 0; i < x->size; i++) p[i] -= factor * grad->data[i];
    cp_tape_reset(tape);
    cp_tape_freeze(tape, was);
}

void leapfrog(cp_tape *tape, cp_energy_fn energy, void *context, cp_tensor *x, cp_real *p, double eps, int steps) {
    kick(tape, energy, context, x, p, eps / 2);
    for (int step = 1; step <= steps; step++) {
        for (size_t i = 0; i < x->size; i++) x->data[i] += eps * p[i];
        kick(tape, energy, context, x, p, step < steps ? eps : eps / 2);
    }
}

/* H of each chain. */
static void hamiltonian(cp_tape *tape, cp_energy_fn energy, void *context, const cp_tensor *x, const cp_real *p, double *h) {
    bool       was = cp_tape_freeze(tape, true), paused = cp_tape_pause(tape, true);
    cp_tensor *e = energy(CP_AT(tape), context, cp_constant(tape, x->data, x->shape));
    int        wide = x->dims[1];
    for (int n = 0; n < x->dims[0]; n++) {
        h[n] = e->data[n];
        for (int d = 0; d < wide; d++) h[n] += p[n * wide + d] * p[n * wide + d] / 2;
    }
    cp_tape_reset(tape);
    cp_tape_pause(tape, paused);
    cp_tape_freeze(tape, was);
}

int hmc_step(cp_tape *tape, cp_energy_fn energy, void *context, cp_tensor *x, const cp_real *noise, const double *uniform,
             double eps, int steps) {
    int      chains = x->dims[0], wide = x->dims[1], accepted = 0;
    size_t   bytes = x->size * sizeof(cp_real);
    cp_real *p = malloc(bytes), *start = malloc(bytes);
    double  *before = malloc((size_t)chains * sizeof *before), *after = malloc((size_t)chains * sizeof *after);
    memcpy(p, noise, bytes), memcpy(start, x->data, bytes);
    hamiltonian(tape, energy, context, x, p, before);
    leapfrog(tape, energy, context, x, p, eps, steps);
    hamiltonian(tape, energy, context, x, p, after);
    for (int n = 0; n < chains; n++) {
        if (isfinite(after[n]) && uniform[n] < exp(before[n] - after[n]))
            accepted++;
        else
            memcpy(x->data + n * wide, start + n * wide, (size_t)wide * sizeof(cp_real));
    }
    free(p), free(start), free(before), free(after);
    return accepted;
}
