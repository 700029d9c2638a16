/* The list of all kinds: a new one is a file of its own and a line here. */
#include "models/inside.h"

#include <string.h>

enum { MAX = 32 };

static struct {
    const char   *what;
    size_t        min_size, own_place;
    cp_kind_entry at[MAX + 1]; /* the rest are zeros; the first is the default */
} lists[] = {
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
    const cp_kind_entry *entry = lists[of].at;
    while (entry->kind && name && strcmp(entry->kind->name, name) != 0) entry++;
    return entry->kind ? entry : NULL;
}

cp_name_list cp_kinds_names(cp_kind_of of) {
    cp_name_list names = {""};
    for (const cp_kind_entry *entry = lists[of].at; entry->kind; entry++) cp_name_list_add(&names, entry->kind->name);
    return names;
}

/* ---- a program's own ---- */

static bool keys_fit(cp_at at, const char *op, const cp_kind *kind) {
    for (const cp_key *key = kind->keys; key && key->name; key++) {
        if (strcmp(key->name, "model") == 0 || strcmp(key->name, "head") == 0 || strcmp(key->name, "classes") == 0)
            return cp_misuse(at, op, "%s: the key \"%s\" is every model's own", kind->name, key->name);
        if (key->place + cp_key_size(key) > kind->options_size || (key->kind == CP_KEY_CHOICE && !key->choices))
            return cp_misuse(at, op, "%s: the key \"%s\" is %s", kind->name, key->name,
                             key->kind == CP_KEY_CHOICE && !key->choices ? "a choice without choices" : "outside the options");
    }
    return true;
}

static bool add(cp_at at, cp_kind_of of, const cp_kind *kind, bool whole) {
    char op[24];
    int  count = 0;
    snprintf(op, sizeof op, "%s_kind_add", lists[of].what);
    if (!kind || !kind->name || !*kind->name) return cp_misuse(at, op, "the kind is NULL or has no name");
    if (!whole) return cp_misuse(at, op, "%s: it needs make and %s", kind->name, of == CP_OF_NETS ? "forward" : "logits");
    const cp_kind_entry *known = cp_kinds_find(of, kind->name);
    if (known) return known->kind == kind || cp_misuse(at, op, "there is another %s of the name %s", lists[of].what, kind->name);
    if (kind->size < lists[of].min_size || kind->options_size > CP_KIND_OPTIONS)
        return cp_misuse(at, op, "%s: its struct takes %zu bytes, at least %zu are needed; its options %zu, %d are possible",
                         kind->name, kind->size, lists[of].min_size, kind->options_size, CP_KIND_OPTIONS);
    while (lists[of].at[count].kind) count++;
    if (count == MAX) return cp_misuse(at, op, "%s: there are %d kinds already", kind->name, MAX);
    if (!keys_fit(at, op, kind)) return false;
    lists[of].at[count] = (cp_kind_entry){kind, lists[of].own_place};
    return true;
}

bool(cp_net_kind_add)(cp_at at, const cp_net_kind *kind) {
    return add(at, CP_OF_NETS, kind ? &kind->base : NULL, kind && kind->make && kind->forward);
}

bool(cp_head_kind_add)(cp_at at, const cp_head_kind *kind) {
    return add(at, CP_OF_HEADS, kind ? &kind->base : NULL, kind && kind->make && kind->logits);
}
