/* Models: making them, describing them, using them. */
#include "models/model.h"

#include "core/io/json.h"
#include "core/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of choices, as descriptions have them ---- */

typedef struct choice {
    const char *name;
    int         value;
} choice;

static const choice norms[] = {
    {"none", CP_NORM_NONE}, {"batch", CP_NORM_BATCH}, {"group", CP_NORM_GROUP}, {"layer", CP_NORM_LAYER}, {0}};
static const choice activations[] = {{"leaky", CP_LEAKY_RELU}, {"relu", CP_RELU},         {"swish", CP_SWISH},
                                     {"tanh", CP_TANH},        {"identity", CP_IDENTITY}, {0}};
static const choice layouts[] = {{"jem", CP_BLOCK_JEM}, {"classic", CP_BLOCK_CLASSIC}, {0}};
static const choice precisions[] = {{"spherical", CP_SPHERICAL}, {"diagonal", CP_DIAGONAL}, {"full", CP_FULL}, {0}};
static const choice models[] = {{"wrn", 0}, {"mlp", 1}, {"lstm", 2}, {0}};
static const choice heads[] = {{"softmax", 0}, {"jem", 1}, {"hybrid", 2}, {0}};

static const char *choice_name(const choice *list, int value) {
    while (list->name && list->value != value) list++;
    return list->name;
}

static const choice *choice_find(const choice *list, const char *name) {
    while (list->name && strcmp(list->name, name) != 0) list++;
    return list->name ? list : NULL;
}

/* ---- making ---- */

/* "wrn, mlp, lstm", as messages have it; cut at the buffer's end. */
typedef struct choice_text {
    char s[200];
} choice_text;

static choice_text choice_list(const choice *list) {
    choice_text text = {{0}};
    size_t      used = 0;
    for (; list->name && used < sizeof text.s; list++)
        used += (size_t)snprintf(text.s + used, sizeof text.s - used, "%s%s", used ? ", " : "", list->name);
    return text;
}

static const char *choice_need(cp_at at, const char *what, const choice *list, const char *name) {
    const choice *found = choice_find(list, name ? name : list->name);
    if (!found) cp_misuse(at, "model_new", "\"%s\" is no %s; %s exist", name, what, choice_list(list).s);
    return found ? found->name : NULL;
}

static cp_net *net_make(cp_at at, cp_params *params, const cp_model_config *c, cp_rng *rng) {
    if (strcmp(c->model, "mlp") == 0) return (cp_mlp_new)(at, params, "", c->mlp, rng);
    if (strcmp(c->model, "lstm") == 0) return (cp_lstm_net_new)(at, params, "", c->lstm, rng);
    return (cp_wrn_new)(at, params, "", c->wrn, rng);
}

cp_model *(cp_model_new)(cp_at at, cp_model_config c, cp_rng *rng) {
    c.model = choice_need(at, "model", models, c.model);
    c.head = c.model ? choice_need(at, "head", heads, c.head) : NULL;
    if (!c.head) return NULL;
    if (c.classes < 1 || !rng) {
        cp_misuse(at, "model_new", rng ? "classes is %d; it must be positive" : "rng is NULL (%d classes)", c.classes);
        return NULL;
    }
    if (c.precision == CP_PRECISION_DEFAULT) c.precision = CP_DIAGONAL;
    cp_model *m = calloc(1, sizeof *m);
    if (!m) {
        cp_misuse(at, "model_new", "out of memory");
        return NULL;
    }
    m->config = c;
    m->params = cp_params_new();
    m->net = m->params ? net_make(at, m->params, &c, rng) : NULL;
    if (m->net)
        m->head =
            (cp_head_new)(at, cp_head_kind_named(c.head), m->params, "head", m->net->features,
                          (cp_head_config){.classes = c.classes, .precision = c.precision, .learn_prior = c.learn_prior}, rng);
    if (m->head) return m;
    cp_model_free(m);
    return NULL;
}

void cp_model_free(cp_model *m) {
    if (!m) return;
    cp_head_free(m->head);
    cp_net_free(m->net);
    cp_params_free(m->params);
    free(m);
}

/* ---- describing ---- */

char *cp_model_config_text(const cp_model_config *c) {
    cp_json_writer w = {0};
    const char    *model = c->model ? c->model : "wrn", *head = c->head ? c->head : "softmax";
    cp_activation  activation = c->wrn.activation;
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "model", model);
    if (strcmp(model, "wrn") == 0) {
        cp_json_put_integer(&w, "depth", c->wrn.depth ? c->wrn.depth : 10);
        cp_json_put_integer(&w, "width", c->wrn.width ? c->wrn.width : 1);
        cp_json_put_integer(&w, "channels", c->wrn.channels ? c->wrn.channels : 1);
        cp_json_put_string(&w, "norm", choice_name(norms, (int)c->wrn.norm));
        cp_json_put_string(&w, "layout", choice_name(layouts, (int)c->wrn.layout));
    } else if (strcmp(model, "mlp") == 0) {
        activation = c->mlp.activation;
        cp_json_put_array(&w, "sizes");
        for (int i = 0; i < CP_MLP_MOST_SIZES && c->mlp.sizes[i] > 0; i++) cp_json_put_integer(&w, NULL, c->mlp.sizes[i]);
        cp_json_put_end(&w);
    } else {
        cp_json_put_integer(&w, "in", c->lstm.in);
        cp_json_put_integer(&w, "hidden", c->lstm.hidden);
        cp_json_put_integer(&w, "layers", c->lstm.layers ? c->lstm.layers : 1);
        cp_json_put_bool(&w, "bidirectional", c->lstm.bidirectional);
    }
    if (strcmp(model, "lstm") != 0) cp_json_put_string(&w, "activation", choice_name(activations, (int)activation));
    cp_json_put_integer(&w, "classes", c->classes);
    cp_json_put_string(&w, "head", head);
    if (strcmp(head, "hybrid") == 0) {
        cp_json_put_string(&w, "precision", choice_name(precisions, (int)(c->precision ? c->precision : CP_DIAGONAL)));
        cp_json_put_bool(&w, "learn_prior", c->learn_prior);
    }
    cp_json_put_end(&w);
    char *text = NULL;
    if (cp_json_writer_finish(&w, NULL) && (text = malloc(w.out.size + 1))) {
        memcpy(text, w.out.data, w.out.size);
        text[w.out.size] = 0;
    }
    cp_json_writer_free(&w);
    return text;
}

typedef struct description {
    const cp_json *root;
    const char    *name;
    cp_status     *status;
    bool           fine;
} description;

static int read_choice(description *d, const char *key, const choice *list, const char *fallback) {
    const cp_json *node = cp_json_get(d->root, key);
    const char    *name = cp_json_string(node, node ? NULL : fallback);
    const choice  *found = name ? choice_find(list, name) : NULL;
    if (found) return found->value;
    if (d->fine && name) cp_fail(d->status, "%s: \"%s\" is \"%s\"; %s exist", d->name, key, name, choice_list(list).s);
    if (d->fine && !name) cp_fail(d->status, "%s: \"%s\" must be a string: %s", d->name, key, choice_list(list).s);
    d->fine = false;
    return 0;
}

static bool read_bool(description *d, const char *key) {
    const cp_json *node = cp_json_get(d->root, key);
    if (node && node->kind != CP_JSON_BOOL && d->fine)
        d->fine = cp_fail(d->status, "%s: \"%s\" must be true or false", d->name, key);
    return cp_json_bool(node, false);
}

/* The keys of each model, those of all of them first. */
static const choice keys_of_wrn[] = {{"model", 0},       {"classes", 0},    {"head", 0},   {"precision", 0},
                                     {"learn_prior", 0}, {"depth", 0},      {"width", 0},  {"channels", 0},
                                     {"norm", 0},        {"activation", 0}, {"layout", 0}, {0}};
static const choice keys_of_mlp[] = {{"model", 0},       {"classes", 0}, {"head", 0},       {"precision", 0},
                                     {"learn_prior", 0}, {"sizes", 0},   {"activation", 0}, {0}};
static const choice keys_of_lstm[] = {{"model", 0}, {"classes", 0}, {"head", 0},   {"precision", 0},     {"learn_prior", 0},
                                      {"in", 0},    {"hidden", 0},  {"layers", 0}, {"bidirectional", 0}, {0}};

static void check_keys(description *d, const char *model) {
    const choice *keys = strcmp(model, "mlp") == 0 ? keys_of_mlp : strcmp(model, "lstm") == 0 ? keys_of_lstm : keys_of_wrn;
    for (const cp_json *member = d->root->first; member && d->fine; member = member->next)
        if (!choice_find(keys, member->key))
            d->fine = cp_fail(d->status, "%s: a %s has no key \"%s\"; %s exist", d->name, model, member->key, choice_list(keys).s);
}

static int read_size(description *d, const char *key, int fallback, int most) {
    const cp_json *node = cp_json_get(d->root, key);
    int64_t        value = node ? cp_json_integer(node, -1) : fallback;
    if (value >= 1 && value <= most) return (int)value;
    if (d->fine)
        cp_fail(d->status, node ? "%s: \"%s\" must be a whole number from 1 to %d" : "%s: \"%s\" is missing (1 to %d)", d->name,
                key, most);
    d->fine = false;
    return 1;
}

static void read_sizes(description *d, cp_mlp_config *mlp) {
    const cp_json *list = cp_json_get(d->root, "sizes");
    int            count = 0;
    bool           fine = list && list->kind == CP_JSON_ARRAY && list->count >= 1 && list->count <= CP_MLP_MOST_SIZES;
    for (const cp_json *item = fine ? list->first : NULL; item; item = item->next) {
        int64_t size = cp_json_integer(item, -1);
        fine &= size >= 1 && size <= 1 << 20;
        mlp->sizes[count++] = fine ? (int)size : 0;
    }
    if (!fine && d->fine) {
        cp_fail(d->status, "%s: \"sizes\" must be 1 to %d positive whole numbers", d->name, CP_MLP_MOST_SIZES);
        d->fine = false;
    }
}

bool cp_model_config_parse(const char *text, const char *name, cp_model_config *config, cp_status *status) {
    cp_json *root = cp_json_parse(text, strlen(text), name, status);
    if (!root) return false;
    if (root->kind != CP_JSON_OBJECT) {
        cp_json_free(root);
        return cp_fail(status, "%s: the description must be an object: {\"model\": ..., \"classes\": ...}", name);
    }
    description     d = {root, name, status, true};
    cp_model_config c = {0};
    c.model = models[read_choice(&d, "model", models, "wrn")].name;
    check_keys(&d, c.model);
    c.head = heads[read_choice(&d, "head", heads, "softmax")].name;
    c.classes = read_size(&d, "classes", 0, 1 << 20);
    cp_activation activation = (cp_activation)read_choice(&d, "activation", activations, "leaky");
    if (strcmp(c.model, "wrn") == 0) {
        c.wrn = (cp_wrn_config){.depth = read_size(&d, "depth", 10, 1000),
                                .width = read_size(&d, "width", 1, 1000),
                                .channels = read_size(&d, "channels", 1, 4096),
                                .activation = activation,
                                .norm = (cp_norm_kind)read_choice(&d, "norm", norms, "none"),
                                .layout = (cp_block_layout)read_choice(&d, "layout", layouts, "jem")};
        if (d.fine && (c.wrn.depth < 10 || (c.wrn.depth - 4) % 6))
            d.fine = cp_fail(status, "%s: \"depth\" is %d; a wide ResNet has depth 10, 16, 22, ... (6n + 4)", name, c.wrn.depth);
    } else if (strcmp(c.model, "mlp") == 0) {
        c.mlp.activation = activation;
        read_sizes(&d, &c.mlp);
    } else {
        c.lstm = (cp_lstm_config){.in = read_size(&d, "in", 0, 1 << 20),
                                  .hidden = read_size(&d, "hidden", 0, 1 << 16),
                                  .layers = read_size(&d, "layers", 1, CP_LSTM_MOST_LAYERS),
                                  .bidirectional = read_bool(&d, "bidirectional")};
    }
    c.precision = (cp_precision)read_choice(&d, "precision", precisions, "diagonal");
    c.learn_prior = read_bool(&d, "learn_prior");
    if (d.fine) *config = c;
    cp_json_free(root);
    return d.fine;
}

double cp_model_config_largest(const cp_model_config *c) {
    double largest = 0, features;
    if (strcmp(c->model, "mlp") == 0) {
        features = c->mlp.sizes[0];
        for (int i = 1; i < CP_MLP_MOST_SIZES && c->mlp.sizes[i] > 0; i++) {
            largest = fmax(largest, features * c->mlp.sizes[i]);
            features = c->mlp.sizes[i];
        }
    } else if (strcmp(c->model, "lstm") == 0) {
        features = c->lstm.hidden * (c->lstm.bidirectional ? 2.0 : 1.0);
        largest = 4.0 * c->lstm.hidden * fmax(c->lstm.in, c->lstm.layers > 1 ? features : c->lstm.hidden);
    } else {
        features = 64.0 * c->wrn.width;
        largest = fmax(9 * features * features, 9.0 * 16 * c->wrn.channels);
    }
    if (strcmp(c->head, "hybrid") == 0 && c->precision == CP_FULL) largest = fmax(largest, features * (features + 1) / 2);
    return fmax(largest, features * c->classes);
}

/* ---- using ---- */

static cp_tensor *features(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode) {
    if (!model) {
        cp_misuse(at, "model", "the model is NULL");
        return NULL;
    }
    return cp_net_forward(at, model->net, x, mode);
}

cp_tensor *(cp_model_logits)(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode) {
    cp_tensor *z = features(at, model, x, mode);
    return z ? cp_head_logits(at, model->head, z) : NULL;
}

cp_tensor *(cp_model_posterior)(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode) {
    cp_tensor *z = features(at, model, x, mode);
    return z ? cp_head_posterior(at, model->head, z) : NULL;
}

cp_tensor *(cp_model_class_energy)(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode) {
    cp_tensor *z = features(at, model, x, mode);
    return z ? cp_head_class_energy(at, model->head, z) : NULL;
}

cp_tensor *(cp_model_energy)(cp_at at, const cp_model *model, cp_tensor *x, cp_mode mode) {
    cp_tensor *z = features(at, model, x, mode);
    return z ? cp_head_energy(at, model->head, z) : NULL;
}

cp_tensor *cp_model_energy_of(cp_at at, void *context, cp_tensor *x) {
    const cp_model_target *target = context;
    if (!target) {
        cp_misuse(at, "model_energy_of", "the target is NULL; it is the address of a cp_model_target");
        return NULL;
    }
    if (!target->labels.at) return cp_model_energy(at, target->model, x, CP_EVALUATION);
    return cp_pick(at, cp_model_class_energy(at, target->model, x, CP_EVALUATION), target->labels);
}
