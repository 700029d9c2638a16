/* Models in files of their own, and the descriptions there. */
#include "models/checkpoint.h"
#include "models/inside.h"

#include <stdlib.h>
#include <string.h>

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

/* Descriptions are compared as they would be written today, with the defaults spelled out. */
bool cp_model_described(const cp_model *model, const cp_safetensors *file, const char *path, cp_status *status) {
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

/* ---- saving and loading ---- */

bool cp_model_save(cp_model *model, const char *path, cp_status *status) {
    if (!model) return cp_fail(status, "%s: the model is NULL", path ? path : "model_save");
    return cp_checkpoint_save(&(cp_checkpoint){.model = model}, path, status);
}

/* The set takes nothing that the file does not hold: a description cannot make a model larger than its file. */
static bool make_from(cp_model *m, const cp_safetensors *file, const char *path, cp_status *status) {
    cp_rng           rng = cp_rng_named(0, "unused");
    cp_params_source source = {file, status};
    cp_params_expect(m->params, &source);
    bool made = cp_model_make((cp_at){0}, m, &rng, status) || cp_fail(status, "%s: the model it describes could not be made", path);
    cp_params_expect(m->params, NULL);
    return made && cp_params_load(m->params, file, path, status);
}

static cp_model *model_from(const cp_safetensors *file, const char *path, cp_status *status) {
    cp_model *m = calloc(1, sizeof *m);
    if (m) m->params = cp_params_new();
    if (!m || !m->params) cp_fail(status, "%s: out of memory", path);
    if (m && m->params && read_description(file, path, &m->config, status) && make_from(m, file, path, status)) return m;
    cp_model_free(m);
    return NULL;
}

cp_model *cp_model_load(const char *path, cp_status *status) {
    if (!path) return cp_null(cp_fail(status, "model_load: the path is NULL"));
    cp_safetensors *file = cp_st_read(path, status);
    cp_model       *model = file ? model_from(file, path, status) : NULL;
    cp_st_free(file);
    return model;
}
