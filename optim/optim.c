/* SGD, Adam and RMSprop: one loop each, over one parameter's memory. */
#include "optim/optim.h"

#include "core/threads.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 16384 }; /* values in a thread's chunk */

/* One parameter's update. The factors are computed in double once per step. */
typedef struct update {
    cp_real       *value;
    const cp_real *grad;
    cp_real       *first, *second; /* momentum; or m and v */
    cp_real        rate, shrink, decay, momentum, lead;
    cp_real        keep1, add1, keep2, add2, scale2, eps;
} update;

/* The settings of an entry's group. */
typedef struct group {
    double rate, weight_decay; /* the factor; 0 and below as in cp_optim_group */
} group;

struct cp_optim {
    cp_params  *params;
    int         count; /* the set's entries when the optimizer was made */
    cp_loop_fn  loop;
    const char *names[2]; /* of the state tensors; NULL: not used */
    cp_tensor **state[2]; /* by entry; NULL for buffers */
    group      *groups;   /* by entry; NULL: none */
    double      rate, weight_decay, momentum, beta1, beta2, eps;
    bool        nesterov, decoupled, skip_nonfinite, adaptive;
    int64_t     steps, skipped;
};

/* ---- the loops ---- */

static void sgd_loop(void *context, size_t begin, size_t end) {
    const update u = *(const update *)context;
    cp_real *restrict p = u.value;
    const cp_real *restrict g = u.grad;
    for (size_t i = begin; i < end; i++) p[i] -= u.rate * (g[i] + u.decay * p[i]);
}

/* lead is the weight of g besides the momentum, for Nesterov. */
static void sgd_momentum_loop(void *context, size_t begin, size_t end) {
    const update u = *(const update *)context;
    cp_real *restrict p = u.value, *restrict b = u.first;
    const cp_real *restrict g = u.grad;
    const cp_real step = u.lead > 0 ? u.momentum : 1;
    for (size_t i = begin; i < end; i++) {
        cp_real slope = g[i] + u.decay * p[i];
        b[i] = u.momentum * b[i] + slope;
        p[i] -= u.rate * (u.lead * slope + step * b[i]);
    }
}

static inline cp_real root(cp_real x) {
#if CP_DOUBLE
    return sqrt(x);
#else
    return sqrtf(x);
#endif
}

static void adam_loop(void *context, size_t begin, size_t end) {
    const update u = *(const update *)context;
    cp_real *restrict p = u.value, *restrict m = u.first, *restrict v = u.second;
    const cp_real *restrict g = u.grad;
    for (size_t i = begin; i < end; i++) {
        cp_real slope = g[i] + u.decay * p[i];
        m[i] = u.keep1 * m[i] + u.add1 * slope;
        v[i] = u.keep2 * v[i] + u.add2 * slope * slope;
        p[i] = u.shrink * p[i] - u.rate * m[i] / (root(v[i]) * u.scale2 + u.eps);
    }
}

static void rmsprop_loop(void *context, size_t begin, size_t end) {
    const update u = *(const update *)context;
    cp_real *restrict p = u.value, *restrict b = u.first, *restrict v = u.second;
    const cp_real *restrict g = u.grad;
    for (size_t i = begin; i < end; i++) {
        cp_real slope = g[i] + u.decay * p[i];
        v[i] = u.keep2 * v[i] + u.add2 * slope * slope;
        cp_real step = slope / (root(v[i]) + u.eps);
        if (b) step = b[i] = u.momentum * b[i] + step;
        p[i] -= u.rate * step;
    }
}

/* ---- making and freeing ---- */

void cp_optim_free(cp_optim *optim) {
    if (!optim) return;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; optim->state[k] && i < optim->count; i++) cp_tensor_free(optim->state[k][i]);
        free(optim->state[k]);
    }
    free(optim->groups);
    free(optim);
}

static bool state_make(cp_at at, cp_optim *optim, int k) {
    if (!optim->names[k]) return true;
    cp_tensor **state = optim->state[k] = calloc(optim->count ? (size_t)optim->count : 1, sizeof *state);
    if (!state) return cp_misuse(at, "optim", "out of memory for the state of %d parameters", optim->count);
    for (int i = 0; i < optim->count; i++) {
        const cp_param *entry = &optim->params->at[i];
        if (entry->buffer) continue;
        if (!(state[i] = (cp_tensor_new)(at, entry->value->shape))) return false;
    }
    return true;
}

static cp_optim *optim_make(cp_at at, const char *op, cp_params *params, cp_optim made) {
    if (!params) return cp_refuse(at, op, "the parameter set is NULL");
    if (!(made.rate > 0 && isfinite(made.rate))) return cp_refuse(at, op, "the rate is %g; it must be set, above 0", made.rate);
    if (!(made.weight_decay >= 0 && isfinite(made.weight_decay)))
        return cp_refuse(at, op, "weight_decay is %g; it must not be negative", made.weight_decay);
    cp_optim *optim = malloc(sizeof *optim);
    if (!optim) return cp_refuse(at, op, "out of memory");
    made.params = params;
    made.count = params->count;
    *optim = made;
    if (state_make(at, optim, 0) && state_make(at, optim, 1)) return optim;
    cp_optim_free(optim);
    return NULL;
}

cp_optim *(cp_sgd_new)(cp_at at, cp_params *params, cp_sgd_config config) {
    if (!(config.momentum >= 0 && config.momentum < 1) || (config.nesterov && config.momentum == 0))
        return cp_refuse(at, "sgd_new", "momentum is %g; it must be in [0, 1), and above 0 for nesterov", config.momentum);
    bool     moving = config.momentum > 0;
    cp_optim made = {.loop = moving ? sgd_momentum_loop : sgd_loop,
                     .names = {moving ? "momentum" : NULL},
                     .rate = config.rate,
                     .weight_decay = config.weight_decay,
                     .momentum = config.momentum,
                     .nesterov = config.nesterov,
                     .skip_nonfinite = config.skip_nonfinite};
    return optim_make(at, "sgd_new", params, made);
}

static double beta_of(double given, double fallback) { return given < 0 ? 0 : given != 0 ? given : fallback; }

static cp_optim *adam_make(cp_at at, const char *op, cp_params *params, cp_adam_config config) {
    cp_optim made = {.loop = adam_loop,
                     .names = {"m", "v"},
                     .rate = config.rate,
                     .weight_decay = config.weight_decay,
                     .beta1 = beta_of(config.beta1, 0.9),
                     .beta2 = beta_of(config.beta2, 0.999),
                     .eps = config.eps != 0 ? config.eps : 1e-8,
                     .decoupled = config.decoupled,
                     .adaptive = true,
                     .skip_nonfinite = config.skip_nonfinite};
    if (!(made.beta1 < 1 && made.beta2 < 1 && made.eps > 0))
        return cp_refuse(at, op, "beta1 %g, beta2 %g, eps %g; the betas must be below 1, eps above 0", made.beta1, made.beta2,
                         made.eps);
    return optim_make(at, op, params, made);
}

cp_optim *(cp_adam_new)(cp_at at, cp_params *params, cp_adam_config config) { return adam_make(at, "adam_new", params, config); }

cp_optim *(cp_adamw_new)(cp_at at, cp_params *params, cp_adam_config config) {
    config.decoupled = true;
    config.weight_decay = beta_of(config.weight_decay, 0.01);
    return adam_make(at, "adamw_new", params, config);
}

cp_optim *(cp_rmsprop_new)(cp_at at, cp_params *params, cp_rmsprop_config config) {
    cp_optim made = {.loop = rmsprop_loop,
                     .names = {config.momentum != 0 ? "momentum" : NULL, "square"},
                     .rate = config.rate,
                     .weight_decay = config.weight_decay,
                     .momentum = config.momentum,
                     .beta2 = beta_of(config.alpha, 0.99),
                     .eps = config.eps != 0 ? config.eps : 1e-8,
                     .skip_nonfinite = config.skip_nonfinite};
    if (!(made.momentum >= 0 && made.momentum < 1 && made.beta2 < 1 && made.eps > 0))
        return cp_refuse(at, "rmsprop_new", "momentum %g, alpha %g, eps %g; the first two must be in [0, 1), eps above 0",
                         made.momentum, made.beta2, made.eps);
    return optim_make(at, "rmsprop_new", params, made);
}

/* ---- groups ---- */

static bool is_selected(const cp_optim_group *g, const cp_param *entry) {
    if (entry->buffer || (g->prefix && strncmp(entry->name, g->prefix, strlen(g->prefix)) != 0)) return false;
    return !g->selects || g->selects(entry, g->context);
}

int(cp_optim_group_set)(cp_at at, cp_optim *optim, cp_optim_group g) {
    const char *op = "optim_group_set";
    int         selected = 0;
    if (!optim) return cp_misuse(at, op, "the optimizer is NULL");
    if (!(g.rate >= 0 && isfinite(g.rate) && isfinite(g.weight_decay)))
        return cp_misuse(at, op, "the rate's factor is %g and weight_decay %g; the factor must not be negative", g.rate,
                         g.weight_decay);
    for (int i = 0; i < optim->count; i++) selected += is_selected(&g, &optim->params->at[i]);
    if (!selected) return cp_misuse(at, op, "no parameter is selected by the prefix \"%s\"", g.prefix ? g.prefix : "");
    if (!optim->groups && !(optim->groups = calloc((size_t)optim->count, sizeof *optim->groups)))
        return cp_misuse(at, op, "out of memory");
    for (int i = 0; i < optim->count; i++) {
        if (!is_selected(&g, &optim->params->at[i])) continue;
        optim->groups[i] = (group){g.rate, g.weight_decay};
        optim->params->at[i].value->tracked = !g.frozen;
    }
    return selected;
}

/* ---- stepping ---- */

static bool grads_ready(cp_at at, const cp_optim *optim) {
    const char *op = "optim_step";
    if (!cp_grads_check(at, op, optim->params)) return false;
    if (optim->params->count != optim->count)
        return cp_misuse(at, op, "the set has %d entries, it had %d when the optimizer was made", optim->params->count,
                         optim->count);
    for (int i = 0; i < optim->count; i++) {
        const cp_param *entry = &optim->params->at[i];
        if (!entry->value->tracked) continue;
        if (!entry->grad) return cp_misuse(at, op, "%s has no gradient; call cp_backward first", entry->name);
        if (entry->grad->size != entry->value->size)
            return cp_misuse(at, op, "%s %s has a gradient of shape %s", entry->name, cp_shape_text(entry->value).s,
                             cp_shape_text(entry->grad).s);
    }
    return true;
}

static update update_factors(const cp_optim *optim, int entry) {
    const group g = optim->groups ? optim->groups[entry] : (group){0};
    double      rate = optim->rate * (g.rate != 0 ? g.rate : 1), weight_decay = beta_of(g.weight_decay, optim->weight_decay);
    update      u = {.rate = (cp_real)rate, .decay = (cp_real)weight_decay, .momentum = (cp_real)optim->momentum};
    u.keep2 = (cp_real)optim->beta2;
    u.add2 = (cp_real)(1 - optim->beta2);
    u.eps = (cp_real)optim->eps;
    if (optim->adaptive) {
        double t = (double)optim->steps, decayed = optim->decoupled ? rate * weight_decay : 0;
        u.rate = (cp_real)(rate / (1 - pow(optim->beta1, t)));
        u.scale2 = (cp_real)(1 / sqrt(1 - pow(optim->beta2, t)));
        u.shrink = (cp_real)(1 - decayed);
        if (optim->decoupled) u.decay = 0;
        u.keep1 = (cp_real)optim->beta1;
        u.add1 = (cp_real)(1 - optim->beta1);
    } else {
        u.lead = optim->nesterov ? 1 : 0;
    }
    return u;
}

bool(cp_optim_step)(cp_at at, cp_optim *optim) {
    if (!optim) return cp_misuse(at, "optim_step", "the optimizer is NULL");
    if (!grads_ready(at, optim)) return false;
    if (optim->skip_nonfinite && !(cp_grads_finite)(at, optim->params)) {
        optim->skipped++;
        cp_grads_clear(optim->params);
        return false;
    }
    optim->steps++;
    update u = update_factors(optim, 0);
    for (int i = 0; i < optim->count; i++) {
        cp_param *entry = &optim->params->at[i];
        if (!entry->value->tracked) continue;
        if (optim->groups) u = update_factors(optim, i);
        u.value = entry->value->data;
        u.grad = entry->grad->data;
        u.first = optim->state[0] ? optim->state[0][i]->data : NULL;
        u.second = optim->state[1] ? optim->state[1][i]->data : NULL;
        cp_parallel(entry->value->size, GRAIN, optim->loop, &u);
        (cp_tensor_changed)(at, entry->value, "cp_optim_step");
    }
    cp_grads_clear(optim->params);
    return true;
}

bool(cp_optim_rate_set)(cp_at at, cp_optim *optim, double rate) {
    if (!optim) return cp_misuse(at, "optim_rate_set", "the optimizer is NULL");
    if (!(rate >= 0 && isfinite(rate))) return cp_misuse(at, "optim_rate_set", "the rate is %g; it must not be negative", rate);
    optim->rate = rate;
    return true;
}

bool(cp_optim_restart)(cp_at at, cp_optim *optim) {
    if (!optim) return cp_misuse(at, "optim_restart", "the optimizer is NULL");
    for (int k = 0; k < 2; k++)
        for (int i = 0; optim->state[k] && i < optim->count; i++)
            if (optim->state[k][i]) cp_tensor_fill(optim->state[k][i], 0);
    optim->steps = optim->skipped = 0;
    return true;
}

double  cp_optim_rate(const cp_optim *optim) { return optim ? optim->rate : 0; }
int64_t cp_optim_steps(const cp_optim *optim) { return optim ? optim->steps : 0; }
int64_t cp_optim_skipped(const cp_optim *optim) { return optim ? optim->skipped : 0; }

static const struct {
    const char *name;
    cp_dtype    dtype;
    size_t      offset;
} settings[] = {
    {"adam", CP_BOOL, offsetof(cp_optim, adaptive)},
    {"weight_decay", CP_F64, offsetof(cp_optim, weight_decay)},
    {"momentum", CP_F64, offsetof(cp_optim, momentum)},
    {"nesterov", CP_BOOL, offsetof(cp_optim, nesterov)},
    {"beta1", CP_F64, offsetof(cp_optim, beta1)},
    {"beta2", CP_F64, offsetof(cp_optim, beta2)},
    {"eps", CP_F64, offsetof(cp_optim, eps)},
    {"decoupled", CP_BOOL, offsetof(cp_optim, decoupled)},
    {"skip_nonfinite", CP_BOOL, offsetof(cp_optim, skip_nonfinite)},
};

bool cp_optim_state(cp_optim *optim, int i, cp_state *state) {
    _Static_assert(sizeof(bool) == 1, "a flag is stored as BOOL, a byte");
    int left = i, count = sizeof settings / sizeof *settings;
    if (!optim || i < 0) return false;
    for (int e = 0; e < optim->count; e++)
        for (int k = 0; k < 2; k++) {
            if (!optim->state[k] || !optim->state[k][e] || left-- > 0) continue;
            *state = cp_state_tensor(optim->params->at[e].name, optim->names[k], optim->state[k][e]);
            if (k == 1) *state = cp_state_within(*state, 0, INFINITY); /* v: its root is taken */
            return true;
        }
    if (left >= 3 + count) return false;
    switch (left) {
    case 0: *state = cp_state_integer("steps", &optim->steps); return true;
    case 1: *state = cp_state_integer("skipped", &optim->skipped); return true;
    case 2: *state = cp_state_within(cp_state_array("", "rate", CP_F64, CP_SCALAR, &optim->rate), 0, DBL_MAX); return true;
    }
    *state = cp_state_fixed(settings[left - 3].name, settings[left - 3].dtype, (char *)optim + settings[left - 3].offset);
    return true;
}
