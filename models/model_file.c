/* Models in files of their own, and the descriptions there. */
#include "models/checkpoint.h"
#include "models/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- descriptions ---- */

/* The description as it would be written today; defaults are spelled out. Text to free, or NULL. */
static char *normalized(const char *text, const char *place, cp_status *status) {
    cp_model_config config;
    if (!cp_model_config_parse(text, place, &config, status)) return NULL;
    char *again = cp_model_config_text(&config);
    if (!again) cp_fail(status, "%s: out of memory", place);
    return again;
}

bool cp_model_described(const cp_model *model, const cp_safetensors *file, const char *path, cp_status *status) {
    const char *text = cp_st_metadata(file, "couplet");
    char        place[256];
    if (!text)
        return cp_fail(status, "%s: metadata has no key \"couplet\", a description of the model; load its params alone", path);
    snprintf(place, sizeof place, "%s: metadata \"couplet\"", path);
    char *own = cp_model_config_text(&model->config);
    char *expected = own ? normalized(own, "the model's description", status) : NULL;
    char *found = expected ? normalized(text, place, status) : NULL;
    bool  fine = found ? strcmp(found, expected) == 0 : cp_fail(status, "%s: out of memory", path);
    if (found && !fine) cp_fail(status, "%s is for another model: %s in the file, %s here", place, found, expected);
    free(own);
    free(expected);
    free(found);
    return fine;
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
    const char *text = cp_st_metadata(file, "couplet");
    char        place[256];
    if (!text) {
        cp_fail(status,
                "%s: metadata has no key \"couplet\"; it describes the model, such as {\"model\":\"wrn\",\"depth\":10,"
                "\"width\":2,\"channels\":3,\"classes\":8,\"norm\":\"batch\",\"head\":\"softmax\"}",
                path);
        return NULL;
    }
    snprintf(place, sizeof place, "%s: metadata \"couplet\"", path);
    cp_model *m = calloc(1, sizeof *m);
    if (m) m->params = cp_params_new();
    if (!m || !m->params) cp_fail(status, "%s: out of memory", path);
    if (m && m->params && cp_model_config_parse(text, place, &m->config, status) && make_from(m, file, path, status)) return m;
    cp_model_free(m);
    return NULL;
}

cp_model *cp_model_load(const char *path, cp_status *status) {
    if (!path) {
        cp_fail(status, "model_load: the path is NULL");
        return NULL;
    }
    cp_safetensors *file = cp_st_read(path, status);
    cp_model       *model = file ? model_from(file, path, status) : NULL;
    cp_st_free(file);
    return model;
}
