/* Batches: which rows come next, and their inputs and labels. */
#include "experiments/kit/data/batches.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool usable(cp_at at, const cp_batches_config *c, int count, int size) {
    const char *op = "batches_new";
    if (!c->split) return cp_misuse(at, op, "the split is NULL");
    if (size < 1) return cp_misuse(at, op, "a batch cannot have %d rows", size);
    if (count < 1) return cp_misuse(at, op, "there are no rows to take from split \"%s\"", c->split->name);
    if (c->last < CP_LAST_SHORT || c->last > CP_LAST_WRAP)
        return cp_misuse(at, op, "there is no kind %d of last batch", (int)c->last);
    if (c->last == CP_LAST_DROP && count < size)
        return cp_misuse(at, op, "%d rows make no batch of %d, and CP_LAST_DROP leaves out what makes none", count, size);
    for (int i = 0; c->rows && i < count; i++)
        if (c->rows[i] < 0 || c->rows[i] >= c->split->count)
            return cp_misuse(at, op, "there is no row %d among the %d of split \"%s\"", c->rows[i], c->split->count,
                             c->split->name);
    return true;
}

cp_batches *(cp_batches_new)(cp_at at, cp_batches_config c) {
    int count = c.rows ? c.row_count : c.split ? c.split->count : 0, size = c.size ? c.size : 32;
    if (!usable(at, &c, count, size)) return NULL;
    cp_batches *b = calloc(1, sizeof *b);
    if (b) {
        *b = (cp_batches){.split = c.split, .count = count, .size = size, .last = c.last, .in_order = c.in_order, .seed = c.seed};
        b->ordered = -1;
        snprintf(b->stream, sizeof b->stream, "%s", c.stream ? c.stream : "batches");
        b->rows = malloc((size_t)count * sizeof *b->rows);
        b->order = malloc((size_t)count * sizeof *b->order);
        b->batch = malloc((size_t)size * sizeof *b->batch);
        b->labels = malloc((size_t)size * sizeof *b->labels);
    }
    if (!b || !b->rows || !b->order || !b->batch || !b->labels) {
        cp_batches_free(b);
        return cp_refuse(at, "batches_new", "out of memory for %d rows in batches of %d", count, size);
    }
    for (int i = 0; i < count; i++) b->rows[i] = c.rows ? c.rows[i] : i;
    return b;
}

void cp_batches_free(cp_batches *b) {
    if (!b) return;
    free(b->rows);
    free(b->order);
    free(b->batch);
    free(b->labels);
    free(b);
}

int64_t cp_batches_per_epoch(const cp_batches *b) {
    int64_t full = b->count / b->size;
    return b->last == CP_LAST_SHORT ? full + (b->count % b->size != 0) : full > 0 ? full : 1;
}

static void order_epoch(cp_batches *b, int64_t epoch) {
    if (b->ordered == epoch) return;
    if (b->in_order) {
        for (int i = 0; i < b->count; i++) b->order[i] = i;
    } else {
        char name[sizeof b->stream + 24];
        snprintf(name, sizeof name, "%s/%" PRId64, b->stream, epoch);
        cp_rng rng = cp_rng_named(b->seed, name);
        cp_rng_permutation(&rng, b->order, b->count);
    }
    b->ordered = epoch;
}

/* Where batch `step` starts: an epoch and a place in it. */
static int64_t start_of(const cp_batches *b, int64_t step, int *place) {
    int64_t per_epoch = cp_batches_per_epoch(b);
    if (b->last == CP_LAST_WRAP) {
        *place = (int)(step * b->size % b->count);
        return step * b->size / b->count;
    }
    *place = (int)(step % per_epoch) * b->size;
    return step / per_epoch;
}

cp_batch(cp_batches_next)(cp_at at, cp_batches *b) {
    const char *op = "batches_next";
    if (!b || b->step < 0 || b->step >= INT64_MAX / b->size) {
        cp_misuse(at, op, b ? "there is no batch number %" PRId64 : "the batches are NULL", b ? b->step : 0);
        return (cp_batch){0};
    }
    int      place;
    int64_t  epoch = start_of(b, b->step, &place);
    cp_batch batch = {.step = b->step, .epoch = epoch, .rows = b->batch};
    int      left = b->count - place;
    batch.count = b->last == CP_LAST_SHORT && left < b->size ? left : b->size;
    for (int i = 0; i < batch.count; i++, place++) {
        if (place == b->count) place = 0, epoch++;
        order_epoch(b, epoch);
        b->batch[i] = b->rows[b->order[place]];
        b->labels[i] = b->split->labels ? b->split->labels[b->batch[i]] : -1;
    }
    batch.labels = (cp_labels){b->labels, batch.count};
    if (at.tape && !(batch.x = cp_split_gather(at, b->split, b->batch, batch.count))) return (cp_batch){0};
    b->step++;
    return batch;
}

/* ---- checkpoints ---- */

static bool walk(void *object, int i, cp_state *state) {
    cp_batches *b = object;
    _Static_assert(sizeof b->last == sizeof(int32_t) && sizeof b->count == sizeof(int32_t), "an enum and an int are stored as I32");
    switch (i) {
    case 0: *state = cp_state_integer("step", &b->step); return true;
    case 1: *state = cp_state_fixed("seed", CP_U64, &b->seed); return true;
    case 2: *state = cp_state_fixed("count", CP_I32, &b->count); return true;
    case 3: *state = cp_state_fixed("size", CP_I32, &b->size); return true;
    case 4: *state = cp_state_fixed("last", CP_I32, &b->last); return true;
    }
    return false;
}

cp_checkpoint_part cp_part_batches(const char *name, cp_batches *batches) {
    return (cp_checkpoint_part){.name = name, .object = batches, .walk = walk};
}
