/* Stochastic gradient Langevin dynamics: samples from p(x) ~ exp(-E(x)) by gradient descent on the energy with noise.
 *
 * Each row x_n of x is a separate chain. A step is
 *     x_n <- clamp(x_n - step_size / 2 * clamp(dE(x_n)/dx_n) + noise sqrt(temperature) N(0, 1))
 * where dE(x_n)/dx_n is the chain's own gradient (that of the SUM of the energies, never of their mean). With
 * noise = sqrt(step_size) and a small step the chain samples exp(-E / temperature); in practice
 * the two are tuned separately.
 *
 *     cp_tensor     *x = ...;                             // persistent, (N, ...): where the chains start
 *     cp_sgld_config config = CP_SGLD_PAPER;
 *     cp_model_target target = {.model = model};          // see models/model.h
 *     cp_sgld_run(tape, cp_model_energy_of, &target, x, &config, &rng, NULL);
 *
 * The tape is reset at every step, so memory does not depend on the number of steps: sample before recording a loss, not in
 * between. It is frozen meanwhile: parameters are constants without gradients. After the first steps nothing is allocated. The
 * energy function must use its network in evaluation mode. */
#pragma once

#include "core/random.h"
#include "core/tape.h"

/* The energies (N) of x (N, ...), recorded on at.tape; NULL after an error. `context` is the caller's: a model, class labels. */
typedef cp_tensor *(*cp_energy_fn)(cp_at at, void *context, cp_tensor *x);

typedef struct cp_sgld_view {
    int              step;          /* number of earlier moves: 0, 1, ... */
    const cp_tensor *x;             /* the current chains */
    const cp_tensor *energies;      /* their energies, (N) */
    double           mean_energy;   /* over the chains where it is finite; NaN if none */
    double           gradient_norm; /* mean over the chains of |dE(x_n)/dx_n|, unclamped, where it is finite */
    int              stuck;         /* number of chains that cannot move: see cp_sgld_report */
} cp_sgld_view;

/* Called at every step before the chains move; false ends the run. */
typedef bool (*cp_sgld_observer)(void *user, const cp_sgld_view *view);

typedef struct cp_sgld_config {
    double step_size;             /* alpha; the gradient is multiplied by alpha / 2 */
    double noise;                 /* standard deviation; 0: none; below 0: sqrt(step_size), the true Langevin chain */
    int    steps;                 /* moves */
    double temperature;           /* multiplies the noise's variance; 0: 1; below 0: 0, no noise */
    double gradient_clamp;        /* limits each value of the gradient to +- this; 0: no limit */
    double clamp_low, clamp_high; /* limits each value of x to this range after every move; equal: no limit */

    cp_sgld_observer observer; /* or NULL */
    void            *observer_user;
    bool            *stuck;          /* (N), or NULL: set for the chains that were stuck at the last move */
    const cp_real   *scripted_noise; /* (steps, N, ...) in place of the normal numbers, for tests; or NULL */
} cp_sgld_config;

/* The paper's image experiments; JEM's. */
#define CP_SGLD_PAPER ((cp_sgld_config){.step_size = 2.0, .noise = 0.01, .steps = 100})
#define CP_SGLD_JEM ((cp_sgld_config){.step_size = 2.0, .noise = 0.01, .steps = 20})

/* A chain whose energy, gradient or next state is not finite does not move in that step. */
typedef struct cp_sgld_report {
    int     steps;         /* moves made */
    double  energy_first;  /* mean energy at the start; NaN: none is finite */
    double  energy_last;   /* and before the last move */
    double  gradient_norm; /* mean over the chains before the last move, unclamped */
    int     nonfinite;     /* chains stuck at the last move */
    int64_t refused;       /* total number of rejected moves, over chains and steps */
} cp_sgld_report;

/* Runs the chains of x, a persistent tensor, which is overwritten. The noise of a move is x->size values of cp_rng_fill_normal; rng
 * may be NULL when no noise is drawn. report may be NULL. Afterwards the tape is empty and in its earlier modes (recording,
 * frozen). false after misuse, also in the energy function; the chains are then in the state after the last complete move. */
bool cp_sgld_run(cp_at at, cp_energy_fn energy, void *context, cp_tensor *x, const cp_sgld_config *config, cp_rng *rng,
                 cp_sgld_report *report);
#define cp_sgld_run(t, ...) cp_sgld_run(CP_AT(t), __VA_ARGS__)
