/* The sampler: records the energies, computes dE/dx, moves the chains and resets the tape. */
#include "optim/sgld.h"

#include "core/op.h"
#include "core/threads.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

enum {
    NOISE_VALUES = 256 * CP_FILL_UNIT, /* normal numbers drawn at a time, to stay in the cache */
    CHUNK_VALUES = 8192,               /* of a thread's chunk, in whole chains */
    CHUNK_CHAINS = CP_FILL_UNIT,       /* and a multiple of this many, so that chunks can split the noise of all chains */
};

typedef struct walk {
    size_t         chain; /* values of a chain */
    cp_real       *x, *grad;
    const cp_real *energies;
    const cp_real *script; /* this step's, or NULL */
    cp_rng         rng;    /* before this step's noise, one fill */
    cp_real        rate, noise;
    bool           clamp_grad, clamp_x;
    cp_real        limit, low, high;
    double        *squares; /* by chain: the gradient's squared norm; not finite when the gradient is not, or absurdly large */
    bool          *stuck;   /* by chain */
} walk;

/* ---- moving ---- */

static inline cp_real clamp(cp_real value, cp_real low, cp_real high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

/* Writes the next state over the gradient. Returns whether all of it is finite. */
static bool propose(const walk *w, size_t n, const cp_real *restrict x, const cp_real *restrict noise, cp_real *restrict g) {
    if (w->clamp_grad)
        for (size_t i = 0; i < n; i++) g[i] = clamp(g[i], -w->limit, w->limit);
    for (size_t i = 0; i < n; i++) g[i] = x[i] - w->rate * g[i] + w->noise * noise[i];
    bool finite = cp_reals_finite(g, n);
    if (w->clamp_x)
        for (size_t i = 0; i < n; i++) g[i] = clamp(g[i], w->low, w->high);
    return finite;
}

static void measure_loop(void *context, size_t begin, size_t end) {
    walk *w = context;
    for (size_t c = begin; c < end; c++) {
        w->squares[c] = cp_reals_squares(w->grad + c * w->chain, w->chain, 1);
        w->stuck[c] = !isfinite(w->energies[c]) || !isfinite(w->squares[c]);
    }
}

/* The values of the chains [begin, end), in pieces that end where a chain or the drawn noise does. */
static void move_loop(void *context, size_t begin, size_t end) {
    walk   *w = context;
    size_t  first = begin * w->chain, last = end * w->chain, n;
    cp_rng  rng = cp_rng_inside_fill(w->rng, first);
    cp_real drawn[NOISE_VALUES] = {0};
    for (size_t i = first; i < last; i += n) {
        size_t used = (i - first) % NOISE_VALUES, ready = last - i < NOISE_VALUES - used ? last - i : NOISE_VALUES - used;
        if (!used && !w->script && w->noise != 0) cp_rng_fill_normal(&rng, drawn, ready, 0, 1);
        n = w->chain - i % w->chain < ready ? w->chain - i % w->chain : ready;
        if (!propose(w, n, w->x + i, w->script ? w->script + i : drawn + used, w->grad + i)) w->stuck[i / w->chain] = true;
    }
    for (size_t c = begin; c < end; c++)
        if (!w->stuck[c]) memcpy(w->x + c * w->chain, w->grad + c * w->chain, w->chain * sizeof *w->x);
}

static size_t chunk_of(size_t chain) {
    size_t chains = chain ? CHUNK_VALUES / chain : CHUNK_VALUES;
    return chains < CHUNK_CHAINS ? CHUNK_CHAINS : chains / CHUNK_CHAINS * CHUNK_CHAINS;
}

/* ---- a step ---- */

typedef struct run {
    cp_energy_fn          energy;
    void                 *context;
    cp_tensor            *x;
    const cp_sgld_config *config;
    cp_rng               *rng;
    cp_sgld_report        report;
    bool                  stopped;
    walk                  walk; /* the same in all steps */
} run;

static bool gradient(cp_at at, const run *r, cp_tensor **energies, cp_tensor **grad) {
    cp_tensor *x = cp_variable_of(at, r->x);
    cp_tensor *e = x ? r->energy(at, r->context, x) : NULL;
    if (!e) return false; /* reported already */
    if (e->rank != 1 || e->dims[0] != r->x->dims[0])
        return cp_misuse(at, "sgld_run", "the energy function gave shape %s; for x %s it must be (%d)", cp_shape_text(e).s,
                         cp_shape_text(x).s, x->dims[0]);
    *energies = e;
    return cp_grad(at, cp_sum(at, e, CP_ALL, false), &x, 1, grad);
}

/* Means over the chains with finite values, for the observer and the report. */
static cp_sgld_view view_of(run *r, const cp_tensor *energies, const walk *w) {
    cp_sgld_view view = {.step = r->report.steps, .x = r->x, .energies = energies};
    double       energy = 0, norm = 0;
    int          with_energy = 0, with_norm = 0;
    for (int c = 0; c < r->x->dims[0]; c++) {
        if (isfinite(w->energies[c])) energy += (double)w->energies[c], with_energy++;
        if (isfinite(w->squares[c])) norm += sqrt(w->squares[c]), with_norm++;
        view.stuck += w->stuck[c];
    }
    view.mean_energy = with_energy ? energy / with_energy : (double)NAN;
    view.gradient_norm = with_norm ? norm / with_norm : (double)NAN;
    if (view.step == 0) r->report.energy_first = view.mean_energy;
    r->report.energy_last = view.mean_energy;
    r->report.gradient_norm = view.gradient_norm;
    r->report.nonfinite = view.stuck;
    return view;
}

static void report_stuck(run *r, const walk *w) {
    int stuck = 0;
    for (int c = 0; c < r->x->dims[0]; c++) {
        stuck += w->stuck[c];
        if (r->config->stuck) r->config->stuck[c] = w->stuck[c];
    }
    r->report.nonfinite = stuck;
    r->report.refused += stuck;
    r->report.steps++;
}

static bool step(cp_at at, run *r) {
    cp_tensor *energies = NULL, *grad = NULL;
    size_t     chains = (size_t)r->x->dims[0];
    cp_tape_reset(at.tape);
    if (!gradient(at, r, &energies, &grad)) return false;
    walk w = r->walk;
    w.energies = energies->data;
    w.grad = grad->data;
    w.squares = cp_tape_alloc(at, chains * sizeof *w.squares);
    w.stuck = cp_tape_alloc(at, chains * sizeof *w.stuck);
    if (!w.squares || !w.stuck) return false;
    cp_parallel(chains, chunk_of(w.chain), measure_loop, &w);

    cp_sgld_view view = view_of(r, energies, &w);
    if (r->config->observer && !r->config->observer(r->config->observer_user, &view)) {
        r->stopped = true;
        return true;
    }
    if (w.script) {
        w.script += (size_t)r->report.steps * r->x->size;
    } else if (w.noise != 0 && r->x->size) {
        w.rng = *r->rng;
        cp_rng_skip_fill(r->rng, r->x->size);
    }
    cp_parallel(chains, chunk_of(w.chain), move_loop, &w);
    report_stuck(r, &w);
    return true;
}

/* ---- the run ---- */

static bool arguments_fit(cp_at at, cp_energy_fn energy, const cp_tensor *x, const cp_sgld_config *c) {
    const char *op = "sgld_run";
    if (!at.tape || !energy || !x || !c) return cp_misuse(at, op, "the tape, the energy function, x or the config is NULL");
    if (x->tape)
        return cp_misuse(at, op, "x %s is on a tape, which is reset at every step; it must be persistent", cp_shape_text(x).s);
    if (x->rank < 1) return cp_misuse(at, op, "x is a scalar; its first axis must be the chains");
    if (!(isfinite(c->step_size) && c->step_size > 0 && isfinite(c->noise)))
        return cp_misuse(at, op, "step_size is %g and noise %g; expected finite numbers and a step above 0", c->step_size,
                         c->noise);
    if (c->steps < 0) return cp_misuse(at, op, "steps is %d", c->steps);
    if (isnan(c->temperature) || !(c->gradient_clamp >= 0))
        return cp_misuse(at, op, "temperature is %g and gradient_clamp %g; expected numbers, and a clamp of 0 or more",
                         c->temperature, c->gradient_clamp);
    return c->clamp_low <= c->clamp_high || cp_misuse(at, op, "the samples' range [%g, %g] is empty", c->clamp_low, c->clamp_high);
}

static walk walk_of(const cp_sgld_config *config, cp_tensor *x) {
    double noise = config->noise < 0 ? sqrt(config->step_size) : config->noise;
    double temperature = config->temperature < 0 ? 0 : config->temperature != 0 ? config->temperature : 1;
    return (walk){.chain = x->dims[0] ? x->size / (size_t)x->dims[0] : 0,
                  .x = x->data,
                  .script = config->scripted_noise,
                  .rate = (cp_real)(config->step_size / 2),
                  .noise = (cp_real)(noise * sqrt(temperature)),
                  .clamp_grad = config->gradient_clamp > 0,
                  .limit = (cp_real)config->gradient_clamp,
                  .clamp_x = config->clamp_low < config->clamp_high,
                  .low = (cp_real)config->clamp_low,
                  .high = (cp_real)config->clamp_high};
}

bool(cp_sgld_run)(cp_at at, cp_energy_fn energy, void *context, cp_tensor *x, const cp_sgld_config *config, cp_rng *rng,
                  cp_sgld_report *report) {
    cp_sgld_report none = {.energy_first = (double)NAN, .energy_last = (double)NAN};
    if (report) *report = none;
    if (!arguments_fit(at, energy, x, config)) return false;
    run r = {
        .energy = energy, .context = context, .x = x, .config = config, .rng = rng, .report = none, .walk = walk_of(config, x)};
    if (r.walk.noise != 0 && !r.walk.script && !rng) return cp_misuse(at, "sgld_run", "there is noise to draw and rng is NULL");
    if (config->stuck) memset(config->stuck, 0, (size_t)x->dims[0] * sizeof *config->stuck);

    bool ok = true, frozen = cp_tape_freeze(at.tape, true), paused = cp_tape_pause(at.tape, false);
    for (int i = 0; i < config->steps && ok && !r.stopped; i++) ok = step(at, &r);
    if (config->steps) (cp_tensor_changed)(at, x, "cp_sgld_run");
    cp_tape_reset(at.tape);
    cp_tape_freeze(at.tape, frozen);
    cp_tape_pause(at.tape, paused);
    if (report) *report = r.report;
    return ok;
}
