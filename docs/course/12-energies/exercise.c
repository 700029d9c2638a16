/* Exercise 12: one Langevin step. Fill it in; `docs/course/check 12` says what is still wrong. */
#include <couplet.h>

/* Moves all chains once. x (N, D) is a persistent tensor with a chain in each row, and is overwritten:
 *
 *     x <- x - alpha / 2 * dE/dx + sd * noise
 *
 * where dE/dx is each chain's own gradient of its own energy. `energy(CP_AT(tape), context, v)` records the energies (N) of
 * a tensor v of the tape. They depend on parameters, whose gradients are not needed: freeze the tape while they are
 * recorded, and unfreeze it afterwards. `noise` has x->size normal numbers. The tape is empty before, and must be empty
 * afterwards. */
void langevin_step(cp_tape *tape, cp_energy_fn energy, void *context, cp_tensor *x, double alpha, double sd, const cp_real *noise) {
    (void)tape, (void)energy, (void)context, (void)x, (void)alpha, (void)sd, (void)noise; /* write it here */
}
