/* The exponential moving average of a parameter set: a second, smoother model for evaluation.
 *
 *     cp_ema *ema = cp_ema_new(params, 0.999);
 *     ... cp_optim_step(optim); cp_ema_update(ema); ...
 *     cp_ema_swap(ema);      // the model now computes with the average
 *     ... evaluate ...
 *     cp_ema_swap(ema);      // and back
 */
#pragma once

#include "layers/params.h"
#include "optim/state.h"

typedef struct cp_ema cp_ema;

/* The average starts at the current values of the parameters. decay is in [0, 1). The set must outlive the average. */
cp_ema *cp_ema_new(cp_at at, cp_params *params, double decay);
void    cp_ema_free(cp_ema *ema); /* NULL is allowed; the parameters keep their current values */

/* average <- decay average + (1 - decay) parameter. Buffers (running statistics, averages already) are copied.
 * Misuse while swapped. */
bool cp_ema_update(cp_at at, cp_ema *ema);

/* Exchanges the average with the parameters, and back the next time. */
bool cp_ema_swap(cp_at at, cp_ema *ema);
/* Restarts the average at the current values of the model, and unswaps it. */
bool cp_ema_restart(cp_at at, cp_ema *ema);
bool cp_ema_swapped(const cp_ema *ema);

/* The i-th piece of state, false past the last: "<parameter>.ema" for every entry, then "updates" and "decay"
 * (fixed). Save and restore it unswapped. */
bool cp_ema_state(cp_ema *ema, int i, cp_state *state);

#define cp_ema_new(...) cp_ema_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_ema_update(...) cp_ema_update(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_ema_restart(...) cp_ema_restart(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_ema_swap(...) cp_ema_swap(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
