/* The parameter set. */
#include "layers/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cp_params *cp_params_new(void) {
    cp_params *params = calloc(1, sizeof *params);
    if (!params) cp_misuse((cp_at){0}, "params_new", "out of memory");
    return params;
}

void cp_params_free(cp_params *params) {
    if (!params) return;
    for (int i = 0; i < params->count; i++) {
        cp_tensor_free(params->at[i].value);
        cp_tensor_free(params->at[i].sum);
        free(params->at[i].name);
    }
    free(params->at);
    free(params->wanted);
    free(params->grads);
    free(params);
}

bool cp_make_ready(cp_at at, const char *op, const cp_params *params, const cp_rng *rng) {
    if (!params) return cp_misuse(at, op, "the parameter set is NULL; cp_params_new makes one");
    return rng || cp_misuse(at, op, "rng is NULL; a stream such as cp_rng_named(seed, \"init\") is needed");
}

/* ---- names ---- */

cp_path cp_path_join(const char *path, const char *leaf) {
    cp_path joined;
    bool    both = path && *path && leaf && *leaf;
    snprintf(joined.s, sizeof joined.s, "%s%s%s", path ? path : "", both ? "." : "", leaf ? leaf : "");
    return joined;
}

cp_path cp_path_index(const char *path, const char *leaf, int index) {
    char numbered[64];
    snprintf(numbered, sizeof numbered, "%s%d", leaf, index);
    return cp_path_join(path, numbered);
}

cp_param *cp_params_find(const cp_params *params, const char *name) {
    for (int i = 0; params && name && i < params->count; i++)
        if (strcmp(params->at[i].name, name) == 0) return &params->at[i];
    return NULL;
}

/* ---- adding ---- */

static bool grow(cp_at at, cp_params *params) {
    if (params->count < params->room) return true;
    int       room = params->room ? 2 * params->room : 32;
    size_t    count = (size_t)room;
    cp_param *entries = realloc(params->at, count * sizeof *entries);
    if (entries) params->at = entries;
    cp_tensor **wanted = realloc(params->wanted, count * sizeof *wanted);
    if (wanted) params->wanted = wanted;
    cp_tensor **grads = realloc(params->grads, count * sizeof *grads);
    if (grads) params->grads = grads;
    if (!entries || !wanted || !grads) return cp_misuse(at, "params_add", "out of memory for %d parameters", room);
    params->room = room;
    return true;
}

static cp_tensor *insert(cp_at at, cp_params *params, const char *path, const char *leaf, cp_param entry, cp_shape shape) {
    cp_path name = cp_path_join(path, leaf);
    if (!params || cp_params_find(params, name.s))
        return cp_refuse(at, "params_add", params ? "the name %s is taken" : "the parameter set for %s is NULL", name.s);
    if (params->accepts && !params->accepts(params->accepts_context, name.s, entry.layout, shape)) return NULL;
    if (!grow(at, params)) return NULL;
    entry.name = strdup(name.s);
    entry.value = (cp_tensor_new)(at, shape);
    if (!entry.name || !entry.value) {
        free(entry.name);
        cp_tensor_free(entry.value);
        return NULL;
    }
    entry.value->name = entry.name;
    entry.value->tracked = !entry.buffer;
    params->at[params->count++] = entry;
    return entry.value;
}

cp_tensor *(cp_params_add)(cp_at at, cp_params *params, const char *path, const char *leaf, cp_layout layout, cp_shape shape) {
    return insert(at, params, path, leaf, (cp_param){.layout = layout}, shape);
}

cp_tensor *(cp_params_add_buffer)(cp_at at, cp_params *params, const char *path, const char *leaf, cp_shape shape) {
    return insert(at, params, path, leaf, (cp_param){.buffer = true}, shape);
}

/* ---- all of them ---- */

size_t cp_params_size(const cp_params *params) {
    size_t size = 0;
    for (int i = 0; params && i < params->count; i++)
        if (!params->at[i].buffer) size += params->at[i].value->size;
    return size;
}

bool cp_params_finite(const cp_params *params) {
    for (int i = 0; params && i < params->count; i++)
        if (!cp_reals_finite(params->at[i].value->data, params->at[i].value->size)) return false;
    return true;
}

void cp_params_print(FILE *file, const cp_params *params) {
    if (!file) return;
    for (int i = 0; params && i < params->count; i++)
        fprintf(file, "%-44s %s%s\n", params->at[i].name, cp_shape_text(params->at[i].value).s,
                params->at[i].buffer ? "  (buffer)" : "");
    fprintf(file, "%zu trained values\n", cp_params_size(params));
}

bool(cp_params_copy)(cp_at at, cp_params *to, const cp_params *from) {
    if (!to || !from) return cp_misuse(at, "params_copy", "a parameter set is NULL");
    if (to->count != from->count) return cp_misuse(at, "params_copy", "the sets have %d and %d entries", to->count, from->count);
    for (int i = 0; i < to->count; i++)
        if (strcmp(to->at[i].name, from->at[i].name) != 0 || !cp_shape_same(to->at[i].value, from->at[i].value))
            return cp_misuse(at, "params_copy", "%s %s and %s %s differ", to->at[i].name, cp_shape_text(to->at[i].value).s,
                             from->at[i].name, cp_shape_text(from->at[i].value).s);
    for (int i = 0; i < to->count; i++) {
        memcpy(to->at[i].value->data, from->at[i].value->data, to->at[i].value->size * sizeof(cp_real));
        (cp_tensor_changed)(at, to->at[i].value, "cp_params_copy");
    }
    return true;
}

/* ---- initializers ---- */

void cp_tensor_fill(cp_tensor *t, cp_real value) {
    for (size_t i = 0; t && i < t->size; i++) t->data[i] = value;
    (cp_tensor_changed)((cp_at){0}, t, "cp_tensor_fill");
}

void cp_tensor_multiply(cp_tensor *t, cp_real factor) {
    for (size_t i = 0; t && i < t->size; i++) t->data[i] *= factor;
    (cp_tensor_changed)((cp_at){0}, t, "cp_tensor_multiply");
}

static void fill(cp_tensor *t, bool normal, double spread, cp_rng *rng) {
    if (!t) return;
    if (normal)
        cp_rng_fill_normal(rng, t->data, t->size, 0, (cp_real)spread);
    else
        cp_rng_fill_uniform(rng, t->data, t->size, (cp_real)-spread, (cp_real)spread);
    (cp_tensor_changed)((cp_at){0}, t, "an initializer");
}

void cp_init_weight(cp_tensor *weight, cp_init init, int fan_in, int fan_out, cp_real slope, cp_rng *rng) {
    double in = fan_in, out = fan_out, gain = 2 / (1 + (double)slope * (double)slope);
    switch (init) {
    case CP_INIT_DEFAULT: fill(weight, false, sqrt(1 / in), rng); break;
    case CP_INIT_KAIMING_UNIFORM: fill(weight, false, sqrt(3 * gain / in), rng); break;
    case CP_INIT_KAIMING_NORMAL: fill(weight, true, sqrt(gain / in), rng); break;
    case CP_INIT_XAVIER_UNIFORM: fill(weight, false, sqrt(6 / (in + out)), rng); break;
    case CP_INIT_XAVIER_NORMAL: fill(weight, true, sqrt(2 / (in + out)), rng); break;
    case CP_INIT_ZERO: cp_tensor_fill(weight, 0); break;
    }
}

void cp_init_bias(cp_tensor *bias, cp_init init, int fan_in, cp_rng *rng) {
    if (init == CP_INIT_DEFAULT)
        fill(bias, false, sqrt(1.0 / fan_in), rng);
    else
        cp_tensor_fill(bias, 0);
}
