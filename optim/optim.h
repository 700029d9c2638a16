/* Optimizers, which update the parameters of a set by their gradients. The formulas are PyTorch's.
 *
 *     cp_optim *adam = cp_adam_new(params, (cp_adam_config){.rate = 1e-3});
 *     ... each step: record a loss ...
 *     cp_backward(tape, loss, params);
 *     cp_grads_clip(params, 1.0);                          // optional
 *     cp_optim_rate_set(adam, cp_schedule_rate(&schedule, step));
 *     cp_optim_step(adam);
 *     cp_tape_reset(tape);
 *
 * A step is one pass over each parameter's memory, on all threads, without malloc; its result does not depend on the
 * number of threads. */
#pragma once

#include "optim/grads.h"
#include "optim/state.h"

typedef struct cp_optim cp_optim;

/* For each trained parameter p with gradient g (torch.optim.SGD, dampening 0):
 *     g <- g + weight_decay p
 *     b <- momentum b + g                             b is 0 at the start
 *     p <- p - rate (nesterov ? g + momentum b : b) */
typedef struct cp_sgd_config {
    double rate;     /* > 0 */
    double momentum; /* in [0, 1) */
    bool   nesterov; /* needs momentum */
    double weight_decay;
    bool   skip_nonfinite; /* see cp_optim_step */
} cp_sgd_config;

/* Step t = 1, 2, ... (torch.optim.Adam; with decoupled, torch.optim.AdamW):
 *     p <- decoupled ? p - rate weight_decay p : p
 *     g <- decoupled ? g : g + weight_decay p
 *     m <- beta1 m + (1 - beta1) g                    m and v are 0 at the start
 *     v <- beta2 v + (1 - beta2) g^2
 *     p <- p - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) */
typedef struct cp_adam_config {
    double rate;  /* > 0 */
    double beta1; /* 0: 0.9; below 0: 0, no momentum */
    double beta2; /* 0: 0.999; below 0: 0 */
    double eps;   /* 0: 1e-8 */
    double weight_decay;
    bool   decoupled;
    bool   skip_nonfinite; /* see cp_optim_step */
} cp_adam_config;

/* torch.optim.RMSprop, not centered:
 *     g <- g + weight_decay p
 *     v <- alpha v + (1 - alpha) g^2                   v and b are 0 at the start
 *     b <- momentum b + g / (sqrt(v) + eps)
 *     p <- p - rate b */
typedef struct cp_rmsprop_config {
    double rate;     /* > 0 */
    double alpha;    /* 0: 0.99; below 0: 0 */
    double eps;      /* 0: 1e-8 */
    double momentum; /* in [0, 1) */
    double weight_decay;
    bool   skip_nonfinite; /* see cp_optim_step */
} cp_rmsprop_config;

/* The set must outlive the optimizer and contain all its parameters already. NULL (misuse) for values out of range. */
cp_optim *cp_sgd_new(cp_at at, cp_params *params, cp_sgd_config config);
cp_optim *cp_adam_new(cp_at at, cp_params *params, cp_adam_config config);
cp_optim *cp_adamw_new(cp_at at, cp_params *params, cp_adam_config config); /* decoupled; weight_decay 0: 0.01, below 0: 0 */
cp_optim *cp_rmsprop_new(cp_at at, cp_params *params, cp_rmsprop_config config);
void      cp_optim_free(cp_optim *optim); /* NULL is allowed */

/* Settings for some of the parameters. Each call replaces those of the parameters that it selects. They are not part of the optimizer's
 * state: a program that resumes sets them again. */
typedef struct cp_optim_group {
    const char *prefix;                                    /* of their names; NULL: any */
    bool (*selects)(const cp_param *param, void *context); /* and which of these; NULL: all */
    void  *context;
    double rate;         /* a factor for the optimizer's rate; 0: 1 */
    double weight_decay; /* 0: the optimizer's; below 0: none */
    bool
        frozen; /* constants, for which no gradients are computed (their values' `tracked` is false); without it they are trained */
} cp_optim_group;

/* The number of parameters selected. None, or a setting out of range, is misuse: then 0, and nothing changes. */
int cp_optim_group_set(cp_at at, cp_optim *optim, cp_optim_group group);

/* One update with the gradients of cp_backward, which are then cleared, so that none is used twice. A missing gradient, or
 * one from before cp_tape_reset, is misuse, and nothing changes. Gradients that are not finite corrupt the parameters, as in
 * PyTorch, unless skip_nonfinite is set: then such a step only increments the count of skipped steps and returns false. */
bool cp_optim_step(cp_at at, cp_optim *optim);

/* 0 for NULL. */
bool    cp_optim_rate_set(cp_at at, cp_optim *optim, double rate); /* >= 0 */
double  cp_optim_rate(const cp_optim *optim);
int64_t cp_optim_steps(const cp_optim *optim);   /* updates made */
int64_t cp_optim_skipped(const cp_optim *optim); /* steps skipped by skip_nonfinite */

/* Resets momentum or m and v to 0 and the count of steps. The rate does not change. */
bool cp_optim_restart(cp_at at, cp_optim *optim);

/* The i-th piece of state, false past the last: "<parameter>.momentum" (SGD and RMSprop with momentum), "<parameter>.m" and
 * "<parameter>.v" (Adam) or "<parameter>.square" (RMSprop), then "steps", "skipped" and "rate", then the settings (fixed): "adam",
 * "weight_decay", "momentum", "nesterov", "beta1", "beta2", "eps", "decoupled", "skip_nonfinite". */
bool cp_optim_state(cp_optim *optim, int i, cp_state *state);

#define cp_sgd_new(...) cp_sgd_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_adam_new(...) cp_adam_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_adamw_new(...) cp_adamw_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_rmsprop_new(...) cp_rmsprop_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_optim_group_set(...) cp_optim_group_set(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_optim_step(...) cp_optim_step(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_optim_restart(...) cp_optim_restart(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_optim_rate_set(...) cp_optim_rate_set(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
