/* A run's config.json: what determines its result, and whether a folder holds the same. */
#include "core/real.h"
#include "experiments/kit/run/run_parts.h"

#include <string.h>

static void put_option(cp_json_writer *w, const cp_options *options, const cp_option *o) {
    cp_reals list;
    bool     number = o->kind == CP_OPTION_INT || o->kind == CP_OPTION_REAL;
    if (number && !cp_option_text(options, o->name)) return; /* not given, and without a default */
    switch (o->word ? CP_OPTION_TEXT : o->kind) {            /* where a word is possible, numbers are texts too */
    case CP_OPTION_FLAG: cp_json_put_bool(w, o->name, cp_option_flag(options, o->name)); break;
    case CP_OPTION_INT: cp_json_put_integer(w, o->name, cp_option_int(options, o->name)); break;
    case CP_OPTION_REAL: cp_json_put_number(w, o->name, cp_option_real(options, o->name)); break;
    case CP_OPTION_REALS:
        list = cp_option_reals(options, o->name);
        cp_json_put_array(w, o->name);
        for (int i = 0; i < list.count; i++) cp_json_put_number(w, NULL, list.at[i]);
        cp_json_put_end(w);
        break;
    default: cp_json_put_string(w, o->name, cp_option_text(options, o->name));
    }
}

void cp_run_put_config(cp_json_writer *w, const cp_options *options) {
    const cp_option *o, *own[CP_OPTIONS_MAX];
    int              own_count = cp_command_own_options(cp_options_command(options), own);
    cp_json_put_object(w, NULL);
    cp_json_put_string(w, "experiment", cp_options_command(options)->name);
    cp_json_put_string(w, "version", CP_VERSION);
    cp_json_put_string(w, "number", CP_REAL_NAME);
    cp_json_put_object(w, "options");
    for (int i = 0; (o = cp_options_at(options, i)); i++)
        if (!o->incidental && (i < own_count || cp_option_given(options, o->name))) put_option(w, options, o);
    cp_json_put_end(w);
    if (cp_argument_count(options) > 0) {
        cp_json_put_array(w, "arguments");
        for (int i = 0; i < cp_argument_count(options); i++) cp_json_put_string(w, NULL, cp_argument(options, i));
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

static bool same_json(const cp_json *a, const cp_json *b) {
    if (!a || !b || a->kind != b->kind || a->count != b->count) return a == b;
    if (a->kind == CP_JSON_BOOL) return a->boolean == b->boolean;
    if (a->kind == CP_JSON_NUMBER) return a->number == b->number;
    if (a->kind == CP_JSON_STRING) return strcmp(a->text, b->text) == 0;
    for (const cp_json *x = a->first, *y = b->first; x; x = x->next, y = y->next)
        if ((x->key && strcmp(x->key, y->key) != 0) || !same_json(x, y)) return false;
    return true;
}

/* Arguments that are known by their md5 may lie anywhere: their names count, not their folders. */
static bool same_names(const cp_json *a, const cp_json *b) {
    if (!a || !b || a->count != b->count) return a == b;
    for (const cp_json *x = a->first, *y = b->first; x; x = x->next, y = y->next) {
        const char *p = cp_json_string(x, ""), *q = cp_json_string(y, ""), *s = strrchr(p, '/'), *t = strrchr(q, '/');
        if (strcmp(s ? s + 1 : p, t ? t + 1 : q) != 0) return false;
    }
    return true;
}

/* The first member of one object that is not so in the other; NULL: there is none, or one is no object. */
static const char *first_difference(const cp_json *a, const cp_json *b) {
    if (!a || !b || a->kind != CP_JSON_OBJECT || b->kind != CP_JSON_OBJECT) return NULL;
    for (const cp_json *m = a->first; m; m = m->next)
        if (!same_json(m, cp_json_get(b, m->key))) return m->key;
    for (const cp_json *m = b->first; m; m = m->next)
        if (!cp_json_get(a, m->key)) return m->key;
    return NULL;
}

static bool compare_config(cp_run *run, const cp_json *found, const cp_json *wanted) {
    const char *what = first_difference(found, wanted);
    bool        known = what && strcmp(what, "arguments") == 0 && cp_options_command(run->options)->arguments_by_md5 &&
                 same_names(cp_json_get(found, what), cp_json_get(wanted, what));
    if (!what || known) return true;
    bool        option = strcmp(what, "options") == 0;
    const char *name = option ? first_difference(cp_json_get(found, what), cp_json_get(wanted, what)) : what;
    return cp_fail(&run->status,
                   "%.200s holds %s run of %.40s with another %s%s (see its %s); give another --out, or "
                   "remove the folder",
                   run->folder, cp_run_has(run, CP_RUN_RESULT) ? "a finished" : "an unfinished",
                   cp_json_string(cp_json_get(found, "experiment"), "?"), option ? "--" : "", name ? name : what, CP_RUN_CONFIG);
}

bool cp_run_check_config(cp_run *run) {
    cp_json_writer w = {0};
    cp_json       *found = cp_json_read(cp_run_path(run, CP_RUN_CONFIG).s, &run->status), *wanted = NULL;
    cp_run_put_config(&w, run->options);
    if (found && found->kind != CP_JSON_OBJECT)
        cp_damaged(&run->status, "%.300s is no JSON object; give another --out, or remove the folder",
                   cp_run_path(run, CP_RUN_CONFIG).s);
    else if (found && cp_json_writer_finish(&w, &run->status))
        wanted = cp_json_parse(w.out.data, w.out.size, CP_RUN_CONFIG, &run->status);
    bool same = wanted && compare_config(run, found, wanted);
    cp_json_writer_free(&w);
    cp_json_free(found);
    cp_json_free(wanted);
    return same;
}
