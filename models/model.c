/* Models: making them, describing them, using them. */
#include "models/model.h"

#include "models/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- configurations ---- */

static const cp_key keys_of_all[] = {
    {"classes", CP_KEY_INT, .offset = offsetof(cp_model_config, classes), .min = 1, .max = 1 << 20},
    {0},
};

/* The kinds that a configuration names, and their options in it. */
typedef struct chosen {
    const cp_kind *net, *head;
    void          *net_options, *head_options;
} chosen;

static const cp_kind_entry *kind_find(cp_kind_of of, const char *key, const char *name, const char *source, cp_status *status) {
    const cp_kind_entry *found = cp_kinds_find(of, name);
    if (!found)
        cp_fail(status, "%s%s\"%s\" is \"%s\"; it must be one of %s, or a kind that this program adds", source ? source : "",
                source ? ": " : "", key, cp_shown(name, strlen(name)).text, cp_kinds_names(of).s);
    return found;
}

/* Messages about a description in a file begin with `source`; it is NULL for a program's configuration. */
static bool choose(cp_model_config *c, const char *source, chosen *k, cp_status *status) {
    const cp_kind_entry *net = kind_find(CP_OF_NETS, "model", c->model, source, status);
    const cp_kind_entry *head = net ? kind_find(CP_OF_HEADS, "head", c->head, source, status) : NULL;
    if (!head) return false;
    *k = (chosen){net->kind, head->kind, (char *)c + net->offset, (char *)c + head->offset};
    c->model = k->net->name;
    c->head = k->head->name;
    for (const cp_key *key = k->head->keys; key && key->name; key++)
        if (cp_keys_find(k->net->keys, key->name))
            return cp_fail(status, "%s and %s cannot be combined: both have a key \"%s\"", c->model, c->head, key->name);
    return true;
}

static bool complete(cp_model_config *c, const char *source, const chosen *k, cp_status *status) {
    return cp_keys_complete(keys_of_all, c, source, status) && cp_keys_complete(k->net->keys, k->net_options, source, status) &&
           cp_keys_complete(k->head->keys, k->head_options, source, status);
}

/* ---- making ---- */

bool cp_model_make(cp_at at, cp_model *m, cp_rng *rng, cp_status *status) {
    chosen k;
    if (!choose(&m->config, NULL, &k, status) || !complete(&m->config, NULL, &k, status)) return false;
    const cp_head_kind *head = (const cp_head_kind *)k.head;
    m->net = (cp_net_new)(at, (const cp_net_kind *)k.net, m->params, "", k.net_options, rng);
    if (!m->net) return false;
    int max = head->max_features ? head->max_features(k.head_options) : m->net->features;
    if (m->net->features > max)
        return cp_fail(status, "the network has %d features; with these options a %s head can have %d", m->net->features,
                       k.head->name, max);
    m->head = (cp_head_new)(at, head, m->params, "head", m->net->features, m->config.classes, k.head_options, rng);
    return m->head;
}

cp_model *(cp_model_new)(cp_at at, cp_model_config config, cp_rng *rng) {
    cp_status why = {0};
    cp_model *m = calloc(1, sizeof *m);
    if (m) *m = (cp_model){.config = config, .params = cp_params_new()};
    if (!rng)
        cp_misuse(at, "model_new", "rng is NULL (%d classes)", config.classes);
    else if (!m || !m->params)
        cp_misuse(at, "model_new", "out of memory");
    else if (cp_model_make(at, m, rng, &why))
        return m;
    else if (why.message[0])
        cp_misuse(at, "model_new", "%s", why.message);
    cp_model_free(m);
    return NULL;
}

void cp_model_free(cp_model *m) {
    if (!m) return;
    cp_head_free(m->head);
    cp_net_free(m->net);
    cp_params_free(m->params);
    cp_about_free(m);
    free(m);
}

/* ---- describing ---- */

char *cp_model_config_text(const cp_model_config *config) {
    cp_model_config c = *config;
    cp_json_writer  w = {0};
    chosen          k;
    if (!choose(&c, NULL, &k, NULL) || !complete(&c, NULL, &k, NULL)) return NULL;
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "model", c.model);
    cp_keys_write(k.net->keys, k.net_options, &w);
    cp_keys_write(keys_of_all, &c, &w);
    cp_json_put_string(&w, "head", c.head);
    cp_keys_write(k.head->keys, k.head_options, &w);
    cp_json_put_end(&w);
    char *text = NULL;
    if (cp_json_writer_finish(&w, NULL) && (text = malloc(w.out.size + 1))) memcpy(text, w.out.data, w.out.size + 1);
    cp_json_writer_free(&w);
    return text;
}

/* A misspelled key would otherwise be ignored. */
static bool reject_unknown(const cp_json *root, const chosen *k, const char *name, cp_status *status) {
    for (const cp_json *member = root->first; member; member = member->next) {
        if (strcmp(member->key, "model") == 0 || strcmp(member->key, "head") == 0 || cp_keys_find(keys_of_all, member->key) ||
            cp_keys_find(k->net->keys, member->key) || cp_keys_find(k->head->keys, member->key))
            continue;
        cp_name_list names = {"model, head, classes"};
        for (const cp_key *key = k->net->keys; key && key->name; key++) cp_name_list_add(&names, key->name);
        for (const cp_key *key = k->head->keys; key && key->name; key++) cp_name_list_add(&names, key->name);
        return cp_fail(status, "%s: a %s with a %s head has no key \"%s\"; the keys are %s", name, k->net->name, k->head->name,
                       cp_shown(member->key, strlen(member->key)).text, names.s);
    }
    return true;
}

static bool read_name(const cp_json *root, const char *key, const char *name, const char **value, cp_status *status) {
    const cp_json *node = cp_json_get(root, key);
    *value = cp_json_string(node, NULL);
    return !node || *value || cp_fail(status, "%s: \"%s\" must be a string", name, key);
}

static bool read_config(const cp_json *root, const char *name, cp_model_config *c, cp_status *status) {
    chosen k;
    if (root->kind != CP_JSON_OBJECT)
        return cp_fail(status, "%s: the description must be an object: {\"model\": ..., \"classes\": ...}", name);
    return read_name(root, "model", name, &c->model, status) && read_name(root, "head", name, &c->head, status) &&
           choose(c, name, &k, status) && reject_unknown(root, &k, name, status) &&
           cp_keys_read(keys_of_all, root, name, c, status) && cp_keys_read(k.net->keys, root, name, k.net_options, status) &&
           cp_keys_read(k.head->keys, root, name, k.head_options, status) && complete(c, name, &k, status);
}

bool cp_model_config_parse(const char *text, const char *name, cp_model_config *config, cp_status *status) {
    cp_status_begin(status);
    cp_json *root = cp_json_parse(text, strlen(text), name, status);
    if (!root) return false;
    cp_model_config c = {0};
    bool            ok = read_config(root, name, &c, status);
    if (ok) *config = c;
    cp_json_free(root);
    return ok;
}

/* ---- in words ---- */

/* "16" is a number where the key has numbers, "64/64" a list; all else is a string, and refused where it does not belong. */
static void put_word(cp_json_writer *w, const cp_key *key, char *text) {
    char  *end;
    double value = strtod(text, &end);
    bool   number = end != text && !*end;
    if (key->kind == CP_KEY_SIZES) {
        cp_json_put_array(w, key->name);
        for (char *rest, *one = strtok_r(text, "/", &rest); one; one = strtok_r(NULL, "/", &rest))
            cp_json_put_number(w, NULL, strtod(one, &end));
        cp_json_put_end(w);
    } else if (key->kind == CP_KEY_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)) {
        cp_json_put_bool(w, key->name, *text == 't');
    } else if (key->kind != CP_KEY_CHOICE && number) {
        cp_json_put_number(w, key->name, value);
    } else {
        cp_json_put_string(w, key->name, text);
    }
}

/* "depth=16,norm=group", which is overwritten, as an object. */
static cp_json *words_read(const cp_kind *kind, char *words, const char *name, cp_status *status) {
    cp_json_writer w = {0};
    bool           ok = true;
    cp_json_put_object(&w, NULL);
    for (char *rest, *one = words ? strtok_r(words, ",", &rest) : NULL; one && ok; one = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(one, '=');
        if (equals) *equals = '\0';
        const cp_key *key = cp_keys_find(kind->keys, one);
        cp_name_list  names = {""};
        for (const cp_key *k = kind->keys; k && k->name; k++) cp_name_list_add(&names, k->name);
        if (!key)
            ok = cp_fail(status, "%s: %s has no key \"%s\"; the keys are %s", name, kind->name, cp_shown(one, strlen(one)).text,
                         *names.s ? names.s : "none");
        else if (!equals)
            ok = cp_fail(status, "%s: \"%s\" needs a value: %s=...", name, key->name, key->name);
        else
            put_word(&w, key, equals + 1);
    }
    cp_json_put_end(&w);
    cp_json *root = ok && cp_json_writer_finish(&w, status) ? cp_json_parse(w.out.data, w.out.size, name, status) : NULL;
    cp_json_writer_free(&w);
    return root;
}

static bool read_part(cp_model_config *config, cp_kind_of of, const char *words, const cp_shape *input, const char *name,
                      cp_status *status) {
    cp_status_begin(status);
    bool   net = of == CP_OF_NETS;
    size_t length = strcspn(words, ":");
    char  *copy = strdup(words);
    if (!copy) return cp_fail(status, "%s: out of memory", name);
    copy[length] = '\0';
    const cp_kind_entry *entry = cp_kinds_find(of, copy);
    if (!entry) cp_fail(status, "%s: \"%s\" is not one of %s", name, cp_shown(copy, length).text, cp_kinds_names(of).s);
    cp_json *root = entry ? words_read(entry->kind, words[length] ? copy + length + 1 : NULL, name, status) : NULL;
    void    *options = entry ? (char *)config + entry->offset : NULL;
    if (root) memset(options, 0, entry->kind->options_size);
    bool ok = root && cp_keys_read(entry->kind->keys, root, name, options, status);
    if (ok && input && ((const cp_net_kind *)entry->kind)->adapt) ((const cp_net_kind *)entry->kind)->adapt(options, *input);
    ok = ok && cp_keys_complete(entry->kind->keys, options, name, status);
    if (ok) *(net ? &config->model : &config->head) = entry->kind->name;
    cp_json_free(root);
    free(copy);
    return ok;
}

bool cp_model_config_net(cp_model_config *config, const char *words, cp_shape input, const char *name, cp_status *status) {
    return read_part(config, CP_OF_NETS, words, &input, name, status);
}

bool cp_model_config_head(cp_model_config *config, const char *words, const char *name, cp_status *status) {
    return read_part(config, CP_OF_HEADS, words, NULL, name, status);
}

bool cp_model_part_has_key(const char *words, const char *key) {
    char name[64], set[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(words, ":"), words);
    snprintf(set, sizeof set, "%s=", key);
    const cp_kind_entry *entry = cp_kinds_find(CP_OF_NETS, name);
    if (!entry) entry = cp_kinds_find(CP_OF_HEADS, name);
    const char *found = strstr(words, set);
    return entry && cp_keys_find(entry->kind->keys, key) && !(found && found > words && strchr(":,", found[-1]));
}

bool cp_model_config_check(const cp_model_config *config, cp_shape input, cp_status *status) {
    cp_status_begin(status);
    cp_rng   rng = cp_rng_named(0, "unused");
    cp_model m = {.config = *config, .params = cp_params_new()};
    bool     ok = m.params ? cp_model_make((cp_at){0}, &m, &rng, status) : cp_fail(status, "out of memory");
    if (ok && !cp_net_input_fits(&m.net->input, cp_shape_rows(1, input)))
        ok = cp_fail(status, "an input has shape %s; the network %s takes %s", cp_dims_text(input).s, m.config.model,
                     cp_net_input_show(&m.net->input).s);
    cp_head_free(m.head);
    cp_net_free(m.net);
    cp_params_free(m.params);
    return ok;
}

/* ---- using ---- */

typedef cp_tensor *head_fn(cp_at at, const cp_head *head, cp_tensor *z);

static cp_tensor *apply(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode, head_fn *head) {
    if (!model) return cp_refuse(at, "model", "the model is NULL");
    cp_tensor *z = cp_net_forward(at, model->net, x, mode);
    return z ? head(at, model->head, z) : NULL;
}

#define APPLY(WHAT)                                                                                                                \
    cp_tensor *(cp_model_##WHAT)(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode) {                                    \
        return apply(at, model, x, mode, cp_head_##WHAT);                                                                          \
    }
APPLY(logits)
APPLY(posterior)
APPLY(class_energy)
APPLY(energy)

cp_tensor *cp_model_energy_of(cp_at at, void *context, cp_tensor *x) {
    const cp_model_target *target = context;
    if (!target) return cp_refuse(at, "model_energy_of", "the target is NULL; it is the address of a cp_model_target");
    if (!target->labels.at) return cp_model_energy(at, target->model, x, CP_EVALUATION);
    return cp_pick(at, cp_model_class_energy(at, target->model, x, CP_EVALUATION), target->labels);
}
