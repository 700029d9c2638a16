/* Project 3: Hamiltonian Monte Carlo. */
#include <couplet.h>
#include <math.h>

/* x (N, D) is persistent; p has x->size numbers. Both are overwritten. */
void leapfrog(cp_tape *tape, cp_energy_fn energy, void *context, cp_tensor *x, cp_real *p, double eps, int steps) {
    (void)tape, (void)energy, (void)context, (void)x, (void)p, (void)eps, (void)steps; /* not yet */
}

/* noise has x->size numbers, uniform one for each chain. Returns how many chains were accepted. */
int hmc_step(cp_tape *tape, cp_energy_fn energy, void *context, cp_tensor *x, const cp_real *noise, const double *uniform,
             double eps, int steps) {
    (void)tape, (void)energy, (void)context, (void)x, (void)noise, (void)uniform, (void)eps, (void)steps;
    return 0; /* not yet */
}
