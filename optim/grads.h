/* The gradients of a parameter set: computing, checking and clipping them. They are on the tape: use them before its reset (cp_sgld_run
 * resets it too). Using them later is misuse, but a tape that was freed is not detected. */
#pragma once

#include "layers/params.h"

/* cp_grad for every trained parameter: fills each entry's grad. A parameter that the loss does not depend on gets zeros, one that was used
 * only while the tape was frozen gets NULL. A loss that depends on no parameter of the set is misuse. */
bool cp_backward(cp_at at, cp_tensor *loss, cp_params *params);
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
#define cp_grads_finite(...) cp_grads_finite(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_grads_clip(...) cp_grads_clip(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
