/* Stochastic gradient Langevin dynamics: samples from p(x) ~ exp(-E(x)) by walking down the energy with noise.
 *
 * Each row x_n of x is a chain of its own. A step is
 *     x_n <- clamp(x_n - step_size / 2 * clamp(dE(x_n)/dx_n) + noise sqrt(temperature) N(0, 1))
 * where dE(x_n)/dx_n is the chain's own gradient (that of the SUM of the energies, never of their mean). With
 * noise = sqrt(step_size) and a small step the chain samples exp(-E / temperature); in practice
 * the two are tuned apart.
 *
 *     cp_tensor     *x = ...;                             // persistent, (N, ...): where the chains start
 *     cp_sgld_config config = CP_SGLD_PAPER;
 *     cp_model_target target = {.model = model};          // see models/model.h
 *     cp_sgld_run(tape, cp_model_energy_of, &target, x, &config, &rng, NULL);
 *
 * The tape is reset at every step, so memory does not depend on the number of steps: sample before recording a loss,
 * not in between. It is frozen meanwhile: parameters are constants, no gradient of theirs is computed and nothing is
 * kept for it. After the first steps nothing is allocated. The energy function must use its network in evaluation
 * mode. */
#ifndef CP_SGLD_H
#define CP_SGLD_H

#include "core/random.h"
#include "core/tape.h"

/* The energies (N) of x (N, ...), recorded on at.tape; NULL after an error. `context` is the caller's: a model,
 * class labels. */
typedef cp_tensor *(*cp_energy_fn)(cp_at at, void *context, cp_tensor *x);

typedef struct cp_sgld_view {
    int              step;          /* moves made before this one: 0, 1, ... */
    const cp_tensor *x;             /* the chains now */
    const cp_tensor *energies;      /* their energies, (N) */
    double           mean_energy;   /* over the chains where it is finite; NaN if none */
    double           gradient_norm; /* mean over the chains of |dE(x_n)/dx_n|, unclamped, where it is finite */
    int              stuck;         /* chains that cannot move: see cp_sgld_report */
} cp_sgld_view;

/* Called at every step before the chains move; false ends the run where they are. */
typedef bool (*cp_sgld_observer)(void *user, const cp_sgld_view *view);

typedef struct cp_sgld_config {
    double step_size;             /* alpha; the gradient is multiplied by alpha / 2 */
    double noise;                 /* standard deviation; 0: none; below 0: sqrt(step_size), the true Langevin chain */
    int    steps;                 /* moves */
    double temperature;           /* multiplies the noise's variance; 0: 1; below 0: 0, no noise */
    double gradient_clamp;        /* each value of the gradient to +- this; 0: no */
    double clamp_low, clamp_high; /* each value of x into this range after every move; equal: no */

    cp_sgld_observer observer; /* or NULL */
    void            *observer_user;
    bool            *stuck;          /* (N), or NULL: filled with which chains were stuck at the last move */
    const cp_real   *scripted_noise; /* (steps, N, ...) in place of the normal numbers, for tests; or NULL */
} cp_sgld_config;

/* The paper's image experiments; JEM's. */
#define CP_SGLD_PAPER ((cp_sgld_config){.step_size = 2.0, .noise = 0.01, .steps = 100})
#define CP_SGLD_JEM ((cp_sgld_config){.step_size = 2.0, .noise = 0.01, .steps = 20})

/* A chain whose energy, gradient or next state is not finite does not move in that step: it stays at its last finite
 * state. */
typedef struct cp_sgld_report {
    int     steps;         /* moves made */
    double  energy_first;  /* mean energy at the start; NaN: none was finite */
    double  energy_last;   /* and where the last move began */
    double  gradient_norm; /* mean over the chains, unclamped, where the last move began */
    int     nonfinite;     /* chains stuck at the last move */
    int64_t refused;       /* moves refused in all: chains times steps */
} cp_sgld_report;

/* Runs the chains of x, a persistent tensor, which is overwritten. The noise of a move is cp_rng_fill_normal's,
 * x->size values; rng may be NULL when no noise is drawn. report may be NULL. The tape is left empty and with the
 * modes (recording, frozen) it had. false after misuse (of the energy function's too); the chains are then where the
 * last full move left them. */
bool cp_sgld_run(cp_at at, cp_energy_fn energy, void *context, cp_tensor *x, const cp_sgld_config *config, cp_rng *rng,
                 cp_sgld_report *report);
#define cp_sgld_run(t, ...) cp_sgld_run(CP_AT(t), __VA_ARGS__)

#endif
