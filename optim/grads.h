/* The gradients of a parameter set: computing, accumulating, checking and clipping them. Those of cp_backward are on the tape: use them before
 * its reset (cp_sgld_run resets it too). Using them later is misuse, but a tape that was freed is not detected. */
#pragma once

#include "layers/params.h"

/* cp_grad for every trained parameter: fills each entry's grad, in place of the gradients of an earlier call. A parameter that the loss does
 * not depend on gets zeros; one that is a constant (its value's `tracked` is not set), or was used only while the tape was frozen, gets
 * NULL. A loss that depends on no parameter of the set is misuse. */
bool cp_backward(cp_at at, cp_tensor *loss, cp_params *params);

/* The same, added to the gradients that are there: of a batch in pieces, or of several losses. The sums are in memory of the set, so that
 * the tape may be reset between the calls; cp_optim_step and cp_grads_clear end the sum. The loss of a piece has the weight of the piece:
 *     for (int k = 0; k < 4; k++) {
 *         cp_backward_add(tape, cp_scale(tape, loss_of(tape, k), 0.25), params);
 *         cp_tape_reset(tape);
 *     }
 *     cp_optim_step(optim);
 * After misuse the sums are unchanged. */
bool cp_backward_add(cp_at at, cp_tensor *loss, cp_params *params);
void cp_grads_clear(cp_params *params); /* all gradients to NULL */

/* false, after misuse reported for `op`, when the set is NULL or a gradient is from before the tape's reset. Missing gradients are allowed. */
bool cp_grads_check(cp_at at, const char *op, const cp_params *params);

/* Whether every value of every gradient is finite. Missing gradients count as finite; false for stale ones, after misuse. */
bool cp_grads_finite(cp_at at, const cp_params *params);

/* The 2-norm of all gradients as one vector, summed in double in a fixed order. When it is larger than max_norm, all are then multiplied
 * by max_norm / (norm + 1e-6), as torch.nn.utils.clip_grad_norm_ does. Returns the norm before; when that is not finite nothing is
 * changed. max_norm = INFINITY only measures. NaN after misuse. */
double cp_grads_clip(cp_at at, cp_params *params, double max_norm);

#define cp_backward(t, ...) cp_backward(CP_AT(t), __VA_ARGS__)
#define cp_backward_add(t, ...) cp_backward_add(CP_AT(t), __VA_ARGS__)
#define cp_grads_finite(...) cp_grads_finite(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_grads_clip(...) cp_grads_clip(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
