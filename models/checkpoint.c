/* Checkpoints. */
#include "models/checkpoint.h"

#include "models/inside.h"

#include <stdlib.h>
#include <string.h>

typedef struct state_name {
    char s[256];
} state_name;

static state_name full_name(const cp_checkpoint_part *part, const cp_state *state) {
    state_name name;
    snprintf(name.s, sizeof name.s, "%s%s.%s", CP_PARAMS_RESERVED, part->name, state->name);
    return name;
}

static cp_params *params_of(const cp_checkpoint *c) {
    return c->model ? c->model->params : c->params;
}

static bool part_usable(const cp_checkpoint_part *part, int i, const char *path, cp_status *status) {
    if (!part->name || !part->object || !part->walk)
        return cp_fail(status, "%s: part %d (%s) has no %s", path, i, part->name ? part->name : "unnamed",
                       !part->name    ? "name"
                       : part->object ? "walk"
                                      : "object");
    const char *busy = part->busy ? part->busy(part->object) : NULL;
    return !busy || cp_fail(status, "%s: part %s: %s", path, part->name, busy);
}

static bool usable(const cp_checkpoint *c, const char *path, cp_status *status) {
    if (!path || !c) return cp_fail(status, "checkpoint: the %s is NULL", path ? "checkpoint" : "path");
    if (c->part_count < 0 || (c->part_count && !c->parts) || c->metadata_count < 0 || (c->metadata_count && !c->metadata))
        return cp_fail(status, "%s: %d parts and %d pairs of metadata without a list of them", path, c->part_count,
                       c->metadata_count);
    if (!params_of(c) && !c->part_count)
        return cp_fail(status, "%s: the checkpoint has no model, no parameters and no parts", path);
    for (int i = 0; i < c->metadata_count; i++)
        if (!c->metadata[i].key || !c->metadata[i].value) return cp_fail(status, "%s: pair %d of the metadata has a NULL", path, i);
    for (int i = 0; i < c->part_count; i++)
        if (!part_usable(&c->parts[i], i, path, status)) return false;
    return true;
}

/* ---- saving ---- */

/* Where a part's values must fit each other. */
static bool candidate_fits(const cp_checkpoint_part *part, const void *candidate, const char *path, cp_status *status) {
    cp_status why = {0};
    return !part->check || part->check(candidate, &why) || cp_fail(status, "%s: part %s: %s", path, part->name, why.message);
}

static bool value_fits(const state_name *name, const cp_state *state, const void *values, const char *path, cp_status *status) {
    char what[512];
    snprintf(what, sizeof what, "%.200s: \"%s\"", path, name->s);
    return cp_state_check(state, values, what, status);
}

static bool store_part(const cp_checkpoint_part *part, cp_st_writer *writer, const char *path, cp_status *status) {
    cp_state state;
    if (!candidate_fits(part, part->object, path, status)) return false;
    for (int i = 0; part->walk(part->object, i, &state); i++) {
        state_name name = full_name(part, &state);
        if (!value_fits(&name, &state, state.data, path, status)) return false;
        if (state.dtype == CP_REAL_DTYPE && state.rank > 0)
            cp_reals_store(writer, name.s, state.rank, state.dims, state.data);
        else
            cp_st_writer_add(writer, name.s, state.dtype, state.rank, state.dims, state.data);
    }
    return true;
}

bool cp_checkpoint_save(const cp_checkpoint *c, const char *path, cp_status *status) {
    if (!usable(c, path, status)) return false;
    cp_st_writer *writer = cp_st_writer_new();
    char         *text = c->model ? cp_model_config_text(&c->model->config) : NULL;
    bool          ok = !c->model || text || cp_fail(status, "%s: out of memory", path);
    if (text) cp_st_writer_metadata(writer, "couplet", text);
    for (int i = 0; i < c->metadata_count; i++) cp_st_writer_metadata(writer, c->metadata[i].key, c->metadata[i].value);
    if (params_of(c)) cp_params_store(params_of(c), writer);
    for (int i = 0; ok && i < c->part_count; i++) ok = store_part(&c->parts[i], writer, path, status);
    ok = ok && cp_st_writer_save(writer, path, status);
    free(text);
    cp_st_writer_free(writer);
    return ok;
}

/* ---- loading: all is read into new memory first, then put in place ---- */

typedef struct staged {
    void          *from;
    void          *to;
    size_t         bytes;
    struct staged *next;
} staged;

/* The numbers of an entry in the state's own type. */
static bool convert(const cp_safetensors *file, const cp_st_entry *entry, const cp_state *state, void *to, cp_status *status) {
    if (entry->dtype == state->dtype) {
        memcpy(to, entry->data, state->bytes);
        return true;
    }
    bool float_to_real = state->dtype == CP_REAL_DTYPE && (entry->dtype == CP_F32 || entry->dtype == CP_F64);
    if (float_to_real) return cp_st_to_real(file, entry, to, status);
    return cp_fail(status, "tensor \"%s\" is %s; %s was expected", entry->name, cp_dtype_name(entry->dtype),
                   cp_dtype_name(state->dtype));
}

/* Settings are single numbers; equal ones are left as they are. */
static bool fixed_equal(const char *name, const cp_state *state, const void *saved, const char *path, cp_status *status) {
    cp_real was = 0, is = 0;
    if (memcmp(saved, state->data, state->bytes) == 0) return true;
    cp_elements_to_real(state->dtype, saved, 1, &was, name, NULL);
    cp_elements_to_real(state->dtype, state->data, 1, &is, name, NULL);
    return cp_fail(status, "%s: \"%s\" is %.7g in the file and %.7g here; make the object as the saved one was made", path, name,
                   (double)was, (double)is);
}

static bool stage_state(const cp_checkpoint_part *part, const cp_state *state, const cp_safetensors *file, const char *path,
                        staged **list, cp_status *status) {
    state_name         name = full_name(part, state);
    const cp_st_entry *entry = cp_st_find(file, name.s);
    if (!entry) return cp_fail(status, "%s: tensor \"%s\" is missing; was the run saved with this part?", path, name.s);
    if (!cp_st_require(file, name.s, state->rank, state->dims, status)) return false;
    staged *item = malloc(sizeof *item);
    void   *room = malloc(state->bytes ? state->bytes : 1);
    if (!item || !room) {
        free(item);
        free(room);
        return cp_fail(status, "%s: out of memory for tensor \"%s\"", path, name.s);
    }
    *item = (staged){room, state->data, state->bytes, *list};
    *list = item;
    if (!convert(file, entry, state, room, status) || !value_fits(&name, state, room, path, status)) return false;
    return !state->fixed || fixed_equal(name.s, state, room, path, status);
}

static void list_end(staged *list, bool commit) {
    while (list) {
        staged *next = list->next;
        if (commit && list->bytes) memcpy(list->to, list->from, list->bytes);
        free(list->from);
        free(list);
        list = next;
    }
}

/* The object as it would become, put together from all that was read. Offsets are taken from addresses as numbers: pointers into different
 * objects must not be compared. */
static bool staged_fits(const cp_checkpoint_part *part, const staged *list, const char *path, cp_status *status) {
    if (!part->check) return true;
    char *copy = malloc(part->size);
    if (!copy) return cp_fail(status, "%s: out of memory for part %s", path, part->name);
    memcpy(copy, part->object, part->size);
    for (; list; list = list->next) {
        size_t offset = (uintptr_t)list->to - (uintptr_t)part->object; /* of a value before the object: a very large one */
        if (offset < part->size && list->bytes <= part->size - offset) memcpy(copy + offset, list->from, list->bytes);
    }
    bool fits = candidate_fits(part, copy, path, status);
    free(copy);
    return fits;
}

/* What is fixed comes first: a wrong kind of optimizer says more than a tensor that it misses. */
static bool stage_parts(const cp_checkpoint *c, const cp_safetensors *file, const char *path, staged **list, cp_status *status) {
    cp_state state;
    for (int fixed = 1; fixed >= 0; fixed--)
        for (int p = 0; p < c->part_count; p++)
            for (int i = 0; c->parts[p].walk(c->parts[p].object, i, &state); i++)
                if (state.fixed == fixed && !stage_state(&c->parts[p], &state, file, path, list, status)) return false;
    for (int p = 0; p < c->part_count; p++)
        if (!staged_fits(&c->parts[p], *list, path, status)) return false;
    return true;
}

static bool load_from(const cp_checkpoint *c, const cp_safetensors *file, const char *path, cp_status *status) {
    staged    *list = NULL;
    cp_params *params = params_of(c);
    if (c->model && !cp_model_described(c->model, file, path, status)) return false;
    cp_real *values = params ? cp_params_stage(params, file, path, status) : NULL;
    bool     ok = (values || !params) && stage_parts(c, file, path, &list, status);
    if (ok && params) cp_params_commit(params, values);
    free(values);
    list_end(list, ok);
    return ok;
}

bool cp_checkpoint_load(const cp_checkpoint *c, const char *path, cp_status *status) {
    if (!usable(c, path, status)) return false;
    cp_safetensors *file = cp_st_read(path, status);
    if (!file) return false;
    bool ok = load_from(c, file, path, status);
    cp_st_free(file);
    return ok;
}

char *cp_checkpoint_metadata(const char *path, const char *key, cp_status *status) {
    char *value = NULL;
    if (!path || !key) return cp_null(cp_fail(status, "metadata: the %s is NULL", path ? "key" : "path"));
    cp_safetensors *file = cp_st_read(path, status);
    const char     *found = file ? cp_st_metadata(file, key) : NULL;
    if (file && !found) cp_fail(status, "%s: metadata has no key \"%s\"", path, key);
    if (found && (value = malloc(strlen(found) + 1))) strcpy(value, found);
    if (found && !value) cp_fail(status, "%s: out of memory", path);
    cp_st_free(file);
    return value;
}
