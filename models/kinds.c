/* Kinds of networks and heads: how their keys set options, and the list of all kinds. */
#include "models/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const cp_choice cp_activation_names[] = {{"leaky", CP_LEAKY_RELU}, {"relu", CP_RELU},         {"swish", CP_SWISH},
                                         {"tanh", CP_TANH},        {"identity", CP_IDENTITY}, {0}};

void cp_name_list_add(cp_name_list *list, const char *name) {
    size_t used = strlen(list->s);
    snprintf(list->s + used, sizeof list->s - used, "%s%s", used ? ", " : "", name);
}

const cp_key *cp_keys_find(const cp_key *keys, const char *name) {
    while (keys && keys->name && strcmp(keys->name, name) != 0) keys++;
    return keys && keys->name ? keys : NULL;
}

static size_t key_size(const cp_key *key) {
    switch (key->kind) {
    case CP_KEY_NUMBER: return sizeof(double);
    case CP_KEY_BOOL: return sizeof(bool);
    case CP_KEY_SIZES: return (size_t)key->count * sizeof(int);
    default: return sizeof(int);
    }
}

static double value_get(const cp_key *key, const void *options) {
    const char *at = (const char *)options + key->offset;
    return key->kind == CP_KEY_NUMBER ? *(const double *)at
           : key->kind == CP_KEY_BOOL ? *(const bool *)at
                                      : (double)*(const int *)at;
}

static void value_set(const cp_key *key, void *options, double value) {
    char *at = (char *)options + key->offset;
    if (key->kind == CP_KEY_NUMBER)
        *(double *)at = value;
    else if (key->kind == CP_KEY_BOOL)
        *(bool *)at = value != 0;
    else
        *(int *)at = (int)value;
}

/* The choice with that name or, for NULL, that value; NULL when there is none. */
static const cp_choice *choice_find(const cp_key *key, const char *name, double value) {
    const cp_choice *choice = key->choices;
    while (choice->name && (name ? strcmp(choice->name, name) != 0 : choice->value != value)) choice++;
    return choice->name ? choice : NULL;
}

static bool in_range(const cp_key *key, double value) {
    if (key->kind == CP_KEY_BOOL) return true;
    if (key->kind == CP_KEY_CHOICE) return choice_find(key, NULL, value);
    bool within = value >= key->min && value <= key->max;
    return within && (key->kind == CP_KEY_NUMBER || fmod(value - key->min, key->step ? key->step : 1) == 0);
}

/* The values that a key accepts, for messages. */
static cp_name_list range_text(const cp_key *key) {
    cp_name_list text = {""}, names = {""};
    char        *s = text.s;
    size_t       size = sizeof text.s;
    switch (key->kind) {
    case CP_KEY_INT:
        if (key->step > 1)
            snprintf(s, size, "one of %g, %g, %g, ... up to %.9g", key->min, key->min + key->step, key->min + 2 * key->step,
                     key->max);
        else
            snprintf(s, size, "a whole number from %.9g to %.9g", key->min, key->max);
        break;
    case CP_KEY_NUMBER: snprintf(s, size, "a number from %g to %g", key->min, key->max); break;
    case CP_KEY_BOOL: snprintf(s, size, "true or false"); break;
    case CP_KEY_SIZES: snprintf(s, size, "1 to %d whole numbers from %.9g to %.9g", key->count, key->min, key->max); break;
    case CP_KEY_CHOICE:
        for (const cp_choice *choice = key->choices; choice->name; choice++) cp_name_list_add(&names, choice->name);
        snprintf(s, size, "one of %.200s", names.s);
    }
    return text;
}

/* ---- defaults and ranges ---- */

/* Sizes are in range up to the first 0, and only zeros follow it. */
static bool sizes_fit(const cp_key *key, const int *sizes, cp_status *status) {
    for (int i = 0; i < key->count; i++)
        if ((sizes[i] || i == 0) && (!in_range(key, sizes[i]) || (i && !sizes[i - 1])))
            return cp_fail(status, "%s[%d] is %d; %s must be %s, then zeros", key->name, i, sizes[i], key->name, range_text(key).s);
    return true;
}

bool cp_keys_complete(const cp_key *keys, void *options, const char *name, cp_status *status) {
    for (const cp_key *key = keys; key && key->name; key++) {
        double value = value_get(key, options);
        if (name && value == 0 && !in_range(key, key->fallback))
            return cp_fail(status, "%s: \"%s\" is missing; it must be %s", name, key->name, range_text(key).s);
        if (key->kind == CP_KEY_SIZES) {
            if (!sizes_fit(key, (const int *)((const char *)options + key->offset), status)) return false;
            continue;
        }
        if (value == 0) value_set(key, options, value = key->fallback);
        if (!in_range(key, value)) return cp_fail(status, "%s is %g; it must be %s", key->name, value, range_text(key).s);
    }
    return true;
}

/* ---- descriptions ---- */

static bool read_sizes(const cp_key *key, const cp_json *list, int *sizes) {
    if (list->kind != CP_JSON_ARRAY || list->count < 1 || list->count > (size_t)key->count) return false;
    for (const cp_json *item = list->first; item; item = item->next) {
        double size = cp_json_number(item, 0);
        if (!in_range(key, size)) return false;
        *sizes++ = (int)size;
    }
    return true;
}

static bool read_value(const cp_key *key, const cp_json *node, void *options) {
    const cp_choice *choice = NULL;
    double           value = 0;
    bool             fits = false;
    switch (key->kind) {
    case CP_KEY_SIZES: return read_sizes(key, node, (int *)((char *)options + key->offset));
    case CP_KEY_BOOL:
        fits = node->kind == CP_JSON_BOOL;
        value = node->boolean;
        break;
    case CP_KEY_CHOICE:
        choice = node->kind == CP_JSON_STRING ? choice_find(key, node->text, 0) : NULL;
        fits = choice;
        value = choice ? choice->value : 0;
        break;
    default: fits = node->kind == CP_JSON_NUMBER && in_range(key, value = node->number);
    }
    if (fits) value_set(key, options, value);
    return fits;
}

bool cp_keys_read(const cp_key *keys, const cp_json *object, const char *name, void *options, cp_status *status) {
    for (const cp_key *key = keys; key && key->name; key++) {
        const cp_json *node = cp_json_get(object, key->name);
        if (!node || read_value(key, node, options)) continue;
        const char *quote = node->kind == CP_JSON_STRING ? "\"" : "";
        if (!node->text) return cp_fail(status, "%s: \"%s\" must be %s", name, key->name, range_text(key).s);
        return cp_fail(status, "%s: \"%s\" is %s%s%s; it must be %s", name, key->name, quote,
                       cp_shown(node->text, strlen(node->text)).text, quote, range_text(key).s);
    }
    return true;
}

void cp_keys_write(const cp_key *keys, const void *options, cp_json_writer *w) {
    for (const cp_key *key = keys; key && key->name; key++) {
        const int *sizes = (const int *)((const char *)options + key->offset);
        double     value = key->kind == CP_KEY_SIZES ? 0 : value_get(key, options);
        switch (key->kind) {
        case CP_KEY_INT: cp_json_put_integer(w, key->name, (int64_t)value); break;
        case CP_KEY_NUMBER: cp_json_put_number(w, key->name, value); break;
        case CP_KEY_BOOL: cp_json_put_bool(w, key->name, value != 0); break;
        case CP_KEY_CHOICE: cp_json_put_string(w, key->name, choice_find(key, NULL, value)->name); break;
        case CP_KEY_SIZES:
            cp_json_put_array(w, key->name);
            for (int i = 0; i < key->count && sizes[i]; i++) cp_json_put_integer(w, NULL, sizes[i]);
            cp_json_put_end(w);
        }
    }
}

/* ---- the list of all kinds: a new one is a file of its own and a line here ---- */

enum { MAX = 32 };

static struct {
    const char   *what;
    size_t        min_size, own_offset;
    cp_kind_entry at[MAX + 1]; /* ends with zeros; the first is the default */
} registered[] = {
    [CP_OF_NETS] = {"net",
                    sizeof(cp_net),
                    offsetof(cp_model_config, own_net),
                    {
                        {&cp_net_wrn.base, offsetof(cp_model_config, wrn)},
                        {&cp_net_mlp.base, offsetof(cp_model_config, mlp)},
                        {&cp_net_lstm.base, offsetof(cp_model_config, lstm)},
                    }},
    [CP_OF_HEADS] = {"head",
                     sizeof(cp_head),
                     offsetof(cp_model_config, own_head),
                     {
                         {&cp_head_softmax.base, 0},
                         {&cp_head_jem.base, 0},
                         {&cp_head_hybrid.base, offsetof(cp_model_config, hybrid)},
                     }},
};

const cp_kind_entry *cp_kinds_find(cp_kind_of of, const char *name) {
    const cp_kind_entry *entry = registered[of].at;
    while (entry->kind && name && strcmp(entry->kind->name, name) != 0) entry++;
    return entry->kind ? entry : NULL;
}

cp_name_list cp_kinds_names(cp_kind_of of) {
    cp_name_list names = {""};
    for (const cp_kind_entry *entry = registered[of].at; entry->kind; entry++) cp_name_list_add(&names, entry->kind->name);
    return names;
}

/* ---- kinds added by a program ---- */

static bool keys_fit(cp_at at, const char *op, const cp_kind *kind) {
    for (const cp_key *key = kind->keys; key && key->name; key++) {
        if (strcmp(key->name, "model") == 0 || strcmp(key->name, "head") == 0 || strcmp(key->name, "classes") == 0)
            return cp_misuse(at, op, "%s: every model has a key \"%s\" already", kind->name, key->name);
        if (key->offset + key_size(key) > kind->options_size || (key->kind == CP_KEY_CHOICE && !key->choices))
            return cp_misuse(at, op, "%s: the key \"%s\" is %s", kind->name, key->name,
                             key->kind == CP_KEY_CHOICE && !key->choices ? "a choice without choices"
                                                                         : "outside the options struct");
    }
    return true;
}

static bool add(cp_at at, cp_kind_of of, const cp_kind *kind, bool complete) {
    char op[24];
    int  count = 0;
    snprintf(op, sizeof op, "%s_kind_add", registered[of].what);
    if (!kind || !kind->name || !*kind->name) return cp_misuse(at, op, "the kind is NULL or has no name");
    if (!complete)
        return cp_misuse(at, op, "%s: the members make and %s must be set", kind->name, of == CP_OF_NETS ? "forward" : "logits");
    const cp_kind_entry *known = cp_kinds_find(of, kind->name);
    if (known) return known->kind == kind || cp_misuse(at, op, "another %s is already named %s", registered[of].what, kind->name);
    if (kind->size < registered[of].min_size || kind->options_size > CP_KIND_OPTIONS)
        return cp_misuse(at, op, "%s: size is %zu, at least %zu is needed; options_size is %zu, at most %d is possible", kind->name,
                         kind->size, registered[of].min_size, kind->options_size, CP_KIND_OPTIONS);
    while (registered[of].at[count].kind) count++;
    if (count == MAX) return cp_misuse(at, op, "%s: %d kinds are registered already, the maximum", kind->name, MAX);
    if (!keys_fit(at, op, kind)) return false;
    registered[of].at[count] = (cp_kind_entry){kind, registered[of].own_offset};
    return true;
}

bool(cp_net_kind_add)(cp_at at, const cp_net_kind *kind) {
    return add(at, CP_OF_NETS, kind ? &kind->base : NULL, kind && kind->make && kind->forward);
}

bool(cp_head_kind_add)(cp_at at, const cp_head_kind *kind) {
    return add(at, CP_OF_HEADS, kind ? &kind->base : NULL, kind && kind->make && kind->logits);
}

/* ---- making a net or a head ---- */

void *cp_kind_alloc(cp_at at, const cp_kind *kind, const cp_params *params, const void *given, cp_kind_options *options,
                    const cp_rng *rng) {
    cp_status why = {0};
    char      op[64];
    snprintf(op, sizeof op, "%.50s_new", kind->name);
    *options = (cp_kind_options){{0}};
    if (given) memcpy(options, given, kind->options_size);
    if (!cp_make_ready(at, op, params, rng)) return NULL;
    if (!cp_keys_complete(kind->keys, options, NULL, &why)) return cp_refuse(at, op, "%s", why.message);
    void *object = calloc(1, kind->size);
    return object ? object : cp_refuse(at, op, "out of memory");
}
