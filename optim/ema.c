/* The moving average: one more tensor for each entry of the set. */
#include "optim/ema.h"

#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN = 16384 }; /* values in a thread's chunk */

struct cp_ema {
    cp_params  *params;
    int         count;
    cp_tensor **average; /* by entry */
    double      decay;
    bool        swapped;
    int64_t     updates;
};

typedef struct pair {
    cp_real *average, *value;
    cp_real  keep;
} pair;

static void blend_loop(void *context, size_t begin, size_t end) {
    const pair p = *(const pair *)context;
    cp_real *restrict average = p.average;
    const cp_real *restrict value = p.value;
    const cp_real add = 1 - p.keep;
    for (size_t i = begin; i < end; i++) average[i] = p.keep * average[i] + add * value[i];
}

void cp_ema_free(cp_ema *ema) {
    if (!ema) return;
    for (int i = 0; i < ema->count; i++) cp_tensor_free(ema->average[i]);
    free(ema->average);
    free(ema);
}

static void copy_value(cp_tensor *to, const cp_tensor *from) {
    memcpy(to->data, from->data, from->size * sizeof *from->data);
    cp_tensor_changed(to, "cp_ema_new");
}

cp_ema *(cp_ema_new)(cp_at at, cp_params *params, double decay) {
    if (!params) return cp_refuse(at, "ema_new", "the parameter set is NULL");
    if (!(decay >= 0 && decay < 1)) return cp_refuse(at, "ema_new", "decay is %g; it must be in [0, 1)", decay);
    cp_ema *ema = malloc(sizeof *ema);
    if (ema) *ema = (cp_ema){.params = params, .decay = decay};
    if (!ema || !(ema->average = calloc((size_t)params->count + 1, sizeof *ema->average))) {
        free(ema);
        return cp_refuse(at, "ema_new", "out of memory");
    }
    for (; ema->count < params->count; ema->count++) {
        const cp_tensor *value = params->at[ema->count].value;
        cp_tensor       *copy = (cp_tensor_new)(at, value->shape);
        if (!copy) {
            cp_ema_free(ema);
            return NULL;
        }
        copy_value(copy, value);
        ema->average[ema->count] = copy;
    }
    return ema;
}

static bool usable(cp_at at, const char *op, const cp_ema *ema) {
    if (!ema) return cp_misuse(at, op, "the average is NULL");
    if (ema->params->count == ema->count) return true;
    return cp_misuse(at, op, "the set has %d entries, it had %d when the average was made", ema->params->count, ema->count);
}

bool(cp_ema_update)(cp_at at, cp_ema *ema) {
    if (!usable(at, "ema_update", ema)) return false;
    if (ema->swapped) return cp_misuse(at, "ema_update", "the average is swapped in; swap it back first");
    for (int i = 0; i < ema->count; i++) {
        cp_param *entry = &ema->params->at[i];
        pair      p = {ema->average[i]->data, entry->value->data, (cp_real)ema->decay};
        if (entry->buffer)
            copy_value(ema->average[i], entry->value);
        else
            cp_parallel(entry->value->size, GRAIN, blend_loop, &p);
        cp_tensor_changed(ema->average[i], "cp_ema_update");
    }
    ema->updates++;
    return true;
}

bool(cp_ema_swap)(cp_at at, cp_ema *ema) {
    if (!usable(at, "ema_swap", ema)) return false;
    for (int i = 0; i < ema->count; i++) {
        cp_tensor *average = ema->average[i], *value = ema->params->at[i].value;
        for (size_t j = 0; j < average->size; j++) {
            cp_real old = value->data[j];
            value->data[j] = average->data[j];
            average->data[j] = old;
        }
        unsigned version = value->version; /* swapped back, the values are those of before again */
        (cp_tensor_changed)(at, value, "cp_ema_swap");
        value->version = average->version;
        average->version = version;
    }
    ema->swapped = !ema->swapped;
    return true;
}

bool(cp_ema_restart)(cp_at at, cp_ema *ema) {
    if (!usable(at, "ema_restart", ema)) return false;
    for (int i = 0; i < ema->count; i++) copy_value(ema->average[i], ema->params->at[i].value);
    ema->swapped = false;
    ema->updates = 0;
    return true;
}

bool cp_ema_swapped(const cp_ema *ema) { return ema && ema->swapped; }

bool cp_ema_state(cp_ema *ema, int i, cp_state *state) {
    if (!ema || i < 0 || i > ema->count + 1) return false;
    if (i == ema->count + 1)
        *state = cp_state_fixed("decay", CP_F64, &ema->decay);
    else if (i == ema->count)
        *state = cp_state_integer("updates", &ema->updates);
    else
        *state = cp_state_tensor(ema->params->at[i].name, "ema", ema->average[i]);
    return true;
}
