/* Checkpoints, and models in files of their own. */
#include "models/checkpoint.h"

#include "models/internal.h"

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

static cp_params *params_of(const cp_checkpoint *c) { return c->model ? c->model->params : c->params; }

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
    cp_status_begin(status);
    if (!usable(c, path, status)) return false;
    cp_st_writer *writer = cp_st_writer_new();
    char         *text = c->model ? cp_model_config_text(&c->model->config) : NULL;
    char         *about = c->model ? cp_about_text(c->model) : NULL;
    bool          ok = !c->model || (text && about) || cp_fail(status, "%s: out of memory", path);
    if (text) cp_st_writer_metadata(writer, "couplet", text);
    if (about) cp_st_writer_metadata(writer, "about", about);
    for (int i = 0; i < c->metadata_count; i++) cp_st_writer_metadata(writer, c->metadata[i].key, c->metadata[i].value);
    if (params_of(c)) cp_params_store(params_of(c), writer);
    for (int i = 0; ok && i < c->part_count; i++) ok = store_part(&c->parts[i], writer, path, status);
    ok = ok && cp_st_writer_save(writer, path, status);
    free(text);
    free(about);
    cp_st_writer_free(writer);
    return ok;
}

/* ---- descriptions ---- */

static bool read_description(const cp_safetensors *file, const char *path, cp_model_config *config, cp_status *status) {
    const char *text = cp_st_metadata(file, "couplet");
    char        place[256];
    if (!text)
        return cp_fail(status,
                       "%s: metadata has no key \"couplet\"; it describes the model, such as {\"model\":\"wrn\",\"depth\":10,"
                       "\"width\":2,\"channels\":3,\"classes\":8,\"norm\":\"batch\",\"head\":\"softmax\"}. Without it, make the "
                       "model and load its params alone",
                       path);
    snprintf(place, sizeof place, "%s: metadata \"couplet\"", path);
    return cp_model_config_parse(text, place, config, status);
}

/* Whether the file describes this model. Descriptions are compared as text with all defaults spelled out. */
static bool model_described(const cp_model *model, const cp_safetensors *file, const char *path, cp_status *status) {
    cp_model_config config;
    if (!read_description(file, path, &config, status)) return false;
    char *expected = cp_model_config_text(&model->config), *found = cp_model_config_text(&config);
    bool  ok = expected && found && strcmp(found, expected) == 0;
    if (!expected || !found)
        cp_fail(status, "%s: out of memory", path);
    else if (!ok)
        cp_fail(status, "%s: metadata \"couplet\" is for another model: %s in the file, %s here", path, found, expected);
    free(expected);
    free(found);
    return ok;
}

/* ---- loading: everything is read into new memory first, then copied into place ---- */

typedef struct staged {
    struct staged *next;
    void          *to;
    size_t         bytes;
    _Alignas(8) unsigned char from[];
} staged;

/* Converts the values of an entry to the state's type. */
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

/* A file with values that no run can have. */
static bool damaged(cp_status *status) {
    if (status) status->kind = CP_STATUS_DAMAGED;
    return false;
}

/* Settings, which are single numbers, must be equal. */
static bool fixed_equal(const char *name, const cp_state *state, const void *saved, const char *path, cp_status *status) {
    cp_real was = 0, is = 0;
    if (memcmp(saved, state->data, state->bytes) == 0) return true;
    cp_elements_to_real(state->dtype, saved, 1, &was, name, NULL);
    cp_elements_to_real(state->dtype, state->data, 1, &is, name, NULL);
    return cp_fail(status, "%s: \"%s\" is %.7g in the file and %.7g here; create the object with the same settings", path, name,
                   (double)was, (double)is);
}

static bool stage_state(const cp_checkpoint_part *part, const cp_state *state, const cp_safetensors *file, const char *path,
                        staged **list, cp_status *status) {
    state_name         name = full_name(part, state);
    const cp_st_entry *entry = cp_st_find(file, name.s);
    if (!entry) return cp_fail(status, "%s: tensor \"%s\" is missing; was the run saved with this part?", path, name.s);
    if (!cp_st_require(file, name.s, state->rank, state->dims, status)) return false;
    staged *item = malloc(sizeof *item + state->bytes);
    if (!item) return cp_fail(status, "%s: out of memory for tensor \"%s\"", path, name.s);
    *item = (staged){.next = *list, .to = state->data, .bytes = state->bytes};
    *list = item;
    if (!convert(file, entry, state, item->from, status)) return false;
    if (!value_fits(&name, state, item->from, path, status)) return damaged(status);
    return !state->fixed || fixed_equal(name.s, state, item->from, path, status);
}

static void list_end(staged *list, bool commit) {
    while (list) {
        staged *next = list->next;
        if (commit && list->bytes) memcpy(list->to, list->from, list->bytes);
        free(list);
        list = next;
    }
}

/* Checks a copy of the object that has the values that were read. Addresses are compared as numbers, since pointers into different objects
 * cannot be compared. */
static bool staged_fits(const cp_checkpoint_part *part, const staged *list, const char *path, cp_status *status) {
    if (!part->check) return true;
    char *copy = malloc(part->size);
    if (!copy) return cp_fail(status, "%s: out of memory for part %s", path, part->name);
    memcpy(copy, part->object, part->size);
    for (; list; list = list->next) {
        size_t offset = (uintptr_t)list->to - (uintptr_t)part->object; /* wraps to a large number for a value before the object */
        if (offset < part->size && list->bytes <= part->size - offset) memcpy(copy + offset, list->from, list->bytes);
    }
    bool fits = candidate_fits(part, copy, path, status);
    free(copy);
    return fits || damaged(status);
}

/* Fixed settings come first: a wrong kind of optimizer explains more than its missing tensors. */
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
    if (c->model && !model_described(c->model, file, path, status)) return false;
    cp_real *values = params ? cp_params_stage(params, file, path, status) : NULL;
    bool     ok = (values || !params) && stage_parts(c, file, path, &list, status);
    if (ok && params) cp_params_commit(params, values);
    free(values);
    list_end(list, ok);
    return ok;
}

bool cp_checkpoint_load(const cp_checkpoint *c, const char *path, cp_status *status) {
    cp_status_begin(status);
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
    if (found && !(value = strdup(found))) cp_fail(status, "%s: out of memory", path);
    cp_st_free(file);
    return value;
}

/* ---- models in files of their own ---- */

bool cp_model_save(cp_model *model, const char *path, cp_status *status) {
    if (!model) return cp_fail(status, "%s: the model is NULL", path ? path : "model_save");
    return cp_checkpoint_save(&(cp_checkpoint){.model = model}, path, status);
}

/* The set accepts only tensors that the file has: a description cannot make a model larger than its file. */
static bool make_from(cp_model *m, const cp_safetensors *file, const char *path, cp_status *status) {
    cp_rng           rng = cp_rng_named(0, "unused");
    cp_params_source source = {file, status};
    cp_params_expect(m->params, &source);
    bool made = cp_model_make((cp_at){0}, m, &rng, status) || cp_fail(status, "%s: the described model could not be made", path);
    cp_params_expect(m->params, NULL);
    return made && cp_params_load(m->params, file, path, status);
}

static cp_model *model_from(const cp_safetensors *file, const char *path, cp_status *status) {
    const char *about = cp_st_metadata(file, "about");
    cp_model   *m = calloc(1, sizeof *m);
    if (m) m->params = cp_params_new();
    if (!m || !m->params) cp_fail(status, "%s: out of memory", path);
    if (m && m->params && read_description(file, path, &m->config, status) && make_from(m, file, path, status) &&
        (!about || cp_about_read(m, about, path, status)))
        return m;
    cp_model_free(m);
    return NULL;
}

cp_model *cp_model_load(const char *path, cp_status *status) {
    cp_status_begin(status);
    if (!path) return cp_null(cp_fail(status, "model_load: the path is NULL"));
    cp_safetensors *file = cp_st_read(path, status);
    cp_model       *model = file ? model_from(file, path, status) : NULL;
    cp_st_free(file);
    return model;
}

/* ---- the parts: how each object is walked ---- */

/* The walks of optim/ in the form that all parts have. */
#define WALK(name, type)                                                                                                           \
    static bool name##_walk(void *object, int i, cp_state *state) { return cp_##type##_state(object, i, state); }

WALK(optim, optim)
WALK(ema, ema)
WALK(replay, replay)
WALK(gaussian, class_gaussian)

static const char *ema_busy(const void *object) {
    return cp_ema_swapped(object) ? "the average is swapped in; call cp_ema_swap first" : NULL;
}

static bool integer_walk(void *object, int i, cp_state *state) {
    if (i == 0) *state = cp_state_integer("value", object);
    return i == 0;
}

static bool rng_walk(void *object, int i, cp_state *state) {
    cp_rng *rng = object;
    switch (i) {
    case 0: *state = cp_state_array("", "key", CP_U32, CP_SHAPE(2), rng->key); return true;
    case 1: *state = cp_state_array("", "stream", CP_U32, CP_SHAPE(2), rng->stream); return true;
    case 2: *state = cp_state_array("", "position", CP_U64, CP_SCALAR, &rng->position); return true;
    }
    return false;
}

static bool schedule_walk(void *object, int i, cp_state *state) {
    cp_schedule *s = object;
    _Static_assert(sizeof s->kind == sizeof(int32_t), "an enum is stored as I32");
    switch (i) {
    case 0: *state = cp_state_array("", "kind", CP_I32, CP_SCALAR, &s->kind); return true;
    case 1: *state = cp_state_array("", "rate", CP_F64, CP_SCALAR, &s->rate); return true;
    case 2: *state = cp_state_array("", "warmup", CP_I64, CP_SCALAR, &s->warmup); return true;
    case 3: *state = cp_state_array("", "every", CP_I64, CP_SCALAR, &s->every); return true;
    case 4: *state = cp_state_array("", "drops", CP_I64, CP_SHAPE(CP_SCHEDULE_DROPS), s->drops); return true;
    case 5: *state = cp_state_array("", "factor", CP_F64, CP_SCALAR, &s->factor); return true;
    case 6: *state = cp_state_array("", "total", CP_I64, CP_SCALAR, &s->total); return true;
    case 7: *state = cp_state_array("", "final_rate", CP_F64, CP_SCALAR, &s->final_rate); return true;
    case 8: *state = cp_state_array("", "hold", CP_I64, CP_SCALAR, &s->hold); return true;
    }
    return false;
}

static bool schedule_check(const void *candidate, cp_status *why) { return cp_schedule_check(candidate, why); }

cp_checkpoint_part cp_part_ema(cp_ema *ema) {
    return (cp_checkpoint_part){.name = "ema", .object = ema, .walk = ema_walk, .busy = ema_busy};
}

cp_checkpoint_part cp_part_schedule(cp_schedule *schedule) {
    return (cp_checkpoint_part){
        .name = "schedule", .object = schedule, .walk = schedule_walk, .size = sizeof *schedule, .check = schedule_check};
}

#define PART(NAME, OBJECT, WALK) ((cp_checkpoint_part){.name = NAME, .object = OBJECT, .walk = WALK})
cp_checkpoint_part cp_part_optim(cp_optim *optim) { return PART("optim", optim, optim_walk); }
cp_checkpoint_part cp_part_replay(cp_replay *replay) { return PART("replay", replay, replay_walk); }
cp_checkpoint_part cp_part_class_gaussian(cp_class_gaussian *gaussian) { return PART("gaussian", gaussian, gaussian_walk); }
cp_checkpoint_part cp_part_rng(const char *name, cp_rng *rng) { return PART(name, rng, rng_walk); }
cp_checkpoint_part cp_part_integer(const char *name, int64_t *value) { return PART(name, value, integer_walk); }
