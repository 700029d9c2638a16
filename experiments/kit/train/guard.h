/* The divergence guard: it looks at numbers of every training step and decides what to do.
 *
 *     switch (cp_guard_judge(&guard, step, &seen)) {
 *     case CP_GUARD_OK: cp_optim_step(adam); break;
 *     case CP_GUARD_SKIP: break;                                    // leave this step out
 *     case CP_GUARD_ROLL_BACK: ...                                  // to the last good state, half the rate, fresh chains
 *     case CP_GUARD_GIVE_UP: ...                                    // report
 *     }
 *
 * Energy-based training fails in a way that loss values hide: the energy grows steeper until the sampler's step overshoots, samples
 * end above the data's energy, and the loss pushes them further up. The guard compares each sign with the median of its recent
 * values over good steps, beside bounds below which nothing is wrong. */
#pragma once

#include "core/io/json.h"
#include "models/checkpoint.h"

/* What is seen at a step; NaN for what a method does not have, except where that itself is a sign. */
typedef enum cp_guard_sign {
    CP_GUARD_LOSS,     /* the loss: must be finite, and not far above its history */
    CP_GUARD_GRADIENT, /* the norm of all gradients: must be finite, and not far above its history */
    CP_GUARD_GAP,      /* E(data) - E(samples): not far below zero */
    CP_GUARD_SLOPE,    /* |dE/dx|^2 at the samples: not far above its history */
    CP_GUARD_CHAINS,   /* the share of chains that are lost, which cannot move or must be restarted: at most a half */
    CP_GUARD_WEIGHTS,  /* parameters that are not finite: there are some (1) or none (0). Cannot be skipped */
    CP_GUARD_OUTPUTS,  /* the model's outputs on validation data are not finite (1) or are (0). Cannot be skipped */
    CP_GUARD_SIGNS
} cp_guard_sign;

enum { CP_GUARD_HISTORY = 64, CP_GUARD_EVENTS = 200 };

typedef enum cp_guard_verdict { CP_GUARD_OK, CP_GUARD_SKIP, CP_GUARD_ROLL_BACK, CP_GUARD_GIVE_UP } cp_guard_verdict;

typedef struct cp_guard_event {
    int64_t step;
    int32_t sign;    /* cp_guard_sign */
    int32_t verdict; /* cp_guard_verdict */
    double  value, usual;
} cp_guard_event;

/* The same, an array for each member: what a checkpoint has by name. */
typedef struct cp_guard_events {
    int64_t step[CP_GUARD_EVENTS];
    int32_t sign[CP_GUARD_EVENTS], verdict[CP_GUARD_EVENTS];
    double  value[CP_GUARD_EVENTS], usual[CP_GUARD_EVENTS];
} cp_guard_events;

typedef struct cp_guard {
    int patience;  /* bad steps, in a row or with fewer than four good ones for each, that are skipped before it rolls back; 0: 3 */
    int rollbacks; /* that are tried before it gives up; 0: 8, below 0: none */
    double factor; /* above `factor` times the median of its history a sign is bad; 0: 20 */
    double slope;  /* |dE/dx|^2 at the samples up to which nothing is wrong; 0: 3 */

    /* The guard's own; saved by cp_part_guard. */
    double          history[CP_GUARD_SIGNS][CP_GUARD_HISTORY]; /* of good steps: a ring */
    int64_t         seen;                                      /* good steps, those of the state that was rolled back to included */
    int64_t         bad;                                       /* bad steps in a row */
    int64_t         strikes;                                   /* four for each bad step, less one for each good one */
    int64_t         skipped, rolled_back;                      /* in all */
    int64_t         event_count;
    cp_guard_events events; /* when there are more, the last place has the last one */
} cp_guard;

/* `seen` has a number for each sign. An event of every verdict but CP_GUARD_OK is kept. */
cp_guard_verdict cp_guard_judge(cp_guard *guard, int64_t step, const double *seen);

/* The model's outputs were found not to be finite. */
cp_guard_verdict cp_guard_judge_outputs(cp_guard *guard, int64_t step);

/* After a rollback, of a guard that was restored with the state: its history is that state's, and the events since then stay. */
void cp_guard_return(cp_guard *guard, const cp_guard *before);

/* Clears the history, since another loss begins. Events and counts stay. */
void cp_guard_restart(cp_guard *guard);

bool cp_guard_calm(const cp_guard *guard);   /* the last step was good */
bool cp_guard_steady(const cp_guard *guard); /* so were those before: the state is worth keeping as the last good one */

/* The event of the last verdict but CP_GUARD_OK. False: there was none. */
bool cp_guard_last_event(const cp_guard *guard, cp_guard_event *event);

/* "step 412: |dE/dx|^2 at samples 53.1, usually 0.12: rolled back" */
cp_text cp_guard_event_text(const cp_guard_event *event);

/* KEY: {"events": 3, "skipped": 2, "rollbacks": 1, "list": ["step 412: ...", ...]} */
void cp_guard_put(const cp_guard *guard, cp_json_writer *writer, const char *key);

cp_checkpoint_part cp_part_guard(cp_guard *guard);
