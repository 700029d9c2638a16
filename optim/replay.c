/* The replay buffer. */
#include "optim/replay.h"

#include "core/shape.h"

#include <stdlib.h>
#include <string.h>

struct cp_replay {
    cp_replay_config config;  /* with the defaults filled in */
    size_t           size;    /* values of a sample */
    uint16_t        *samples; /* in half precision */
    int32_t         *visits;
    bool            *taken; /* entries of the current draw */
    int             *taken_by_class;
    int64_t          drawn, fresh, dropped;
};

/* ---- samples ---- */

static uint16_t *sample_of(const cp_replay *replay, int entry) { return replay->samples + (size_t)entry * replay->size; }

static void entry_write(cp_replay *replay, int entry, const cp_real *from) {
    uint16_t *to = sample_of(replay, entry);
    for (size_t i = 0; i < replay->size; i++) to[i] = cp_f16_bits((float)from[i]);
}

static void entry_read(const cp_replay *replay, int entry, cp_real *to) {
    cp_elements_to_real(CP_F16, sample_of(replay, entry), replay->size, to, "replay", NULL);
}

/* ---- making ---- */

static bool config_fits(cp_at at, const cp_replay_config *c, size_t *size) {
    const char *op = "replay_new";
    size_t      all;
    if (c->shape.rank < 0 || c->shape.rank > CP_MAX_RANK - 1)
        return cp_misuse(at, op, "a sample of rank %d does not fit", c->shape.rank);
    if (c->capacity < 1 || !cp_shape_size(cp_shape_rows(c->capacity, c->shape), &all))
        return cp_misuse(at, op, "capacity %d and samples %s are not possible", c->capacity, cp_dims_text(c->shape).s);
    if (!(c->fresh_share <= 1)) return cp_misuse(at, op, "fresh_share is %g; it must be at most 1", c->fresh_share);
    if (c->classes < 0 || c->classes > c->capacity)
        return cp_misuse(at, op, "%d classes do not fit into %d entries", c->classes, c->capacity);
    if (c->start.kind == CP_START_CLASS_GAUSSIAN && c->classes > cp_class_gaussian_classes(c->start.gaussian))
        return cp_misuse(at, op, "%d classes start from a Gaussian of %d", c->classes,
                         cp_class_gaussian_classes(c->start.gaussian));
    *size = all / (size_t)c->capacity;
    return cp_start_check(at, op, &c->start, *size);
}

cp_replay *(cp_replay_new)(cp_at at, cp_replay_config config) {
    size_t size = 0;
    if (config.capacity == 0) config.capacity = 10000;
    if (config.fresh_share == 0) config.fresh_share = 0.05;
    if (!config_fits(at, &config, &size)) return NULL;
    cp_replay *replay = calloc(1, sizeof *replay);
    if (replay) {
        size_t entries = (size_t)config.capacity;
        replay->config = config;
        replay->size = size;
        replay->samples = calloc(entries * size + 1, sizeof *replay->samples);
        replay->visits = calloc(entries, sizeof *replay->visits);
        replay->taken = calloc(entries, sizeof *replay->taken);
        replay->taken_by_class = calloc((size_t)config.classes + 1, sizeof *replay->taken_by_class);
        if (replay->samples && replay->visits && replay->taken && replay->taken_by_class) return replay;
    }
    cp_replay_free(replay);
    return cp_refuse(at, "replay_new", "out of memory for %d samples %s", config.capacity, cp_dims_text(config.shape).s);
}

void cp_replay_free(cp_replay *replay) {
    if (!replay) return;
    free(replay->samples);
    free(replay->visits);
    free(replay->taken);
    free(replay->taken_by_class);
    free(replay);
}

/* ---- drawing ---- */

static bool batch_fits(cp_at at, const char *op, const cp_replay *replay, const cp_tensor *x, const int *index) {
    if (!replay || !x || !index) return cp_misuse(at, op, "the buffer, x or index is NULL");
    if (x->tape) return cp_misuse(at, op, "x, of shape %s, is on a tape; a tensor of your own is needed", cp_shape_text(x).s);
    const cp_replay_config *c = &replay->config;
    cp_shape                all = cp_shape_rows(c->capacity, c->shape);
    if (x->rank == all.rank && memcmp(x->dims + 1, all.dims + 1, (size_t)c->shape.rank * sizeof *all.dims) == 0) return true;
    return cp_misuse(at, op, "x has shape %s; a batch of samples %s is needed", cp_shape_text(x).s, cp_dims_text(c->shape).s);
}

static int class_entries(const cp_replay *replay, int label) {
    int classes = replay->config.classes;
    return (replay->config.capacity - label + classes - 1) / classes;
}

/* Counts the chains requested of each class. */
static bool classes_fit(cp_at at, cp_replay *replay, const int *wanted, int n) {
    int classes = replay->config.classes;
    memset(replay->taken_by_class, 0, (size_t)classes * sizeof *replay->taken_by_class);
    for (int i = 0; wanted && i < n; i++) {
        if (wanted[i] < 0) continue;
        if (wanted[i] >= classes)
            return cp_misuse(at, "replay_draw", "class %d is wanted of a buffer with %d classes", wanted[i], classes);
        if (++replay->taken_by_class[wanted[i]] > class_entries(replay, wanted[i]))
            return cp_misuse(at, "replay_draw", "more chains of class %d are wanted than its %d entries", wanted[i],
                             class_entries(replay, wanted[i]));
    }
    return true;
}

/* Draws an entry that is not taken yet, uniformly, by rejection. */
static int entry_pick(cp_replay *replay, cp_rng *rng, int label) {
    int entry;
    do {
        if (label < 0)
            entry = (int)cp_rng_below(rng, (uint64_t)replay->config.capacity);
        else
            entry = label + replay->config.classes * (int)cp_rng_below(rng, (uint64_t)class_entries(replay, label));
    } while (replay->taken[entry]);
    replay->taken[entry] = true;
    return entry;
}

/* Entries of requested classes come first, since other chains may take any entry. */
static void entries_pick(cp_replay *replay, cp_rng *rng, const int *wanted, int n, int *index) {
    for (int i = 0; wanted && i < n; i++)
        if (wanted[i] >= 0) index[i] = entry_pick(replay, rng, wanted[i]);
    for (int i = 0; i < n; i++)
        if (!wanted || wanted[i] < 0) index[i] = entry_pick(replay, rng, -1);
    for (int i = 0; i < n; i++) replay->taken[index[i]] = false;
}

/* The stream for the start of a fresh chain. Every chain takes a key from rng, fresh or not, so that later numbers of rng
 * do not depend on which entries are filled. */
static cp_rng chain_stream(cp_rng *rng) {
    cp_rng own = *rng;
    own.position = 0;
    own.key[0] = cp_rng_u32(rng);
    own.key[1] = cp_rng_u32(rng);
    return own;
}

static bool starts_afresh(cp_replay *replay, cp_rng *rng, int entry) {
    bool chosen = cp_rng_uniform(rng) < replay->config.fresh_share, empty = replay->visits[entry] == 0;
    replay->fresh += chosen && !empty;
    return chosen || empty;
}

bool(cp_replay_draw)(cp_at at, cp_replay *replay, cp_rng *rng, const int *wanted, cp_tensor *x, int *index, int *labels) {
    if (!batch_fits(at, "replay_draw", replay, x, index)) return false;
    int n = x->dims[0];
    if (!rng) return cp_misuse(at, "replay_draw", "rng is NULL");
    if (n > replay->config.capacity)
        return cp_misuse(at, "replay_draw", "%d chains are wanted of a buffer with %d entries", n, replay->config.capacity);
    if (!classes_fit(at, replay, wanted, n)) return false;
    entries_pick(replay, rng, wanted, n, index);
    for (int i = 0; i < n; i++) {
        cp_real *chain = x->data + (size_t)i * replay->size;
        int      label = cp_replay_label(replay, index[i]);
        if (labels) labels[i] = label;
        cp_rng own = chain_stream(rng);
        if (starts_afresh(replay, rng, index[i]))
            cp_start_draw(&replay->config.start, &own, label, chain, replay->size);
        else
            entry_read(replay, index[i], chain);
    }
    replay->drawn += n;
    (cp_tensor_changed)(at, x, "cp_replay_draw");
    return true;
}

/* ---- returning ---- */

int(cp_replay_return)(cp_at at, cp_replay *replay, const int *index, const cp_tensor *x, const bool *drop) {
    if (!batch_fits(at, "replay_return", replay, x, index)) return -1;
    int n = x->dims[0], stored = 0;
    for (int i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= replay->config.capacity) {
            cp_misuse(at, "replay_return", "there is no entry %d among %d", index[i], replay->config.capacity);
            return -1;
        }
    for (int i = 0; i < n; i++) {
        const cp_real *chain = x->data + (size_t)i * replay->size;
        int32_t       *visits = &replay->visits[index[i]];
        if ((drop && drop[i]) || !cp_reals_finite(chain, replay->size)) {
            *visits = 0;
            replay->dropped++;
            continue;
        }
        entry_write(replay, index[i], chain);
        if (*visits < INT32_MAX) ++*visits;
        stored++;
    }
    return stored;
}

void cp_replay_clear(cp_replay *replay) {
    if (replay) memset(replay->visits, 0, (size_t)replay->config.capacity * sizeof *replay->visits);
}

/* ---- access ---- */

int cp_replay_capacity(const cp_replay *replay) { return replay ? replay->config.capacity : 0; }

int cp_replay_filled(const cp_replay *replay) {
    int filled = 0;
    for (int i = 0; i < cp_replay_capacity(replay); i++) filled += replay->visits[i] != 0;
    return filled;
}

int cp_replay_label(const cp_replay *replay, int entry) {
    bool there = entry >= 0 && entry < cp_replay_capacity(replay);
    return there && replay->config.classes ? entry % replay->config.classes : -1;
}

bool cp_replay_sample(const cp_replay *replay, int entry, cp_real *out) {
    if (!out || entry < 0 || entry >= cp_replay_capacity(replay) || replay->visits[entry] == 0) return false;
    entry_read(replay, entry, out);
    return true;
}

cp_replay_counts cp_replay_counted(const cp_replay *replay) {
    if (!replay) return (cp_replay_counts){0};
    return (cp_replay_counts){replay->drawn, replay->fresh, replay->dropped};
}

bool cp_replay_state(cp_replay *replay, int i, cp_state *state) {
    _Static_assert(sizeof replay->config.classes == sizeof(int32_t), "an int is stored as I32");
    if (!replay) return false;
    const cp_replay_config *c = &replay->config;
    switch (i) {
    case 0: *state = cp_state_array("", "samples", CP_F16, cp_shape_rows(c->capacity, c->shape), replay->samples); return true;
    case 1:
        *state = cp_state_within(cp_state_array("", "visits", CP_I32, CP_SHAPE(c->capacity), replay->visits), 0, INT32_MAX);
        return true;
    case 2: *state = cp_state_integer("drawn", &replay->drawn); return true;
    case 3: *state = cp_state_integer("fresh", &replay->fresh); return true;
    case 4: *state = cp_state_integer("dropped", &replay->dropped); return true;
    case 5: *state = cp_state_fixed("classes", CP_I32, &replay->config.classes); return true;
    default: return false;
    }
}
