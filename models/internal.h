/* Declarations shared by the files of models/ that programs do not need. */
#pragma once

#include "core/io/json.h"
#include "layers/params_file.h"
#include "models/model.h"

/* ---- the keys of a kind ---- */

/* Replaces zeros by the defaults and checks all values. For options from a file, messages begin with `name` and report a zero as a missing
 * key; `name` is NULL for options from a program. */
bool cp_keys_complete(const cp_key *keys, void *options, const char *name, cp_status *status);

/* Reads the keys that the object has and leaves the other options as they are. */
bool cp_keys_read(const cp_key *keys, const cp_json *object, const char *name, void *options, cp_status *status);
void cp_keys_write(const cp_key *keys, const void *options, cp_json_writer *writer);

const cp_key *cp_keys_find(const cp_key *keys, const char *name); /* NULL when there is none; keys may be NULL */

/* "wrn, mlp, lstm" for messages, made by appending names; cut at the buffer's end. */
typedef struct cp_name_list {
    char s[240];
} cp_name_list;
void cp_name_list_add(cp_name_list *list, const char *name);

/* The names of activations, which nets and heads share. */
extern const cp_choice cp_activation_names[];

/* ---- the list of all kinds ---- */

typedef struct cp_kind_entry {
    const cp_kind *kind;
    size_t         offset; /* of its options in a cp_model_config */
} cp_kind_entry;

typedef enum cp_kind_of { CP_OF_NETS, CP_OF_HEADS } cp_kind_of;

/* The entry with that name, or the first for NULL; NULL when there is none. */
const cp_kind_entry *cp_kinds_find(cp_kind_of of, const char *name);
cp_name_list         cp_kinds_names(cp_kind_of of);

/* Allocates a net or head, all zeros, and completes its options: the given ones, or the defaults for NULL. NULL, after cp_misuse, when an
 * option is out of range or params or rng is NULL. */
void *cp_kind_alloc(cp_at at, const cp_kind *kind, const cp_params *params, const void *given, cp_kind_options *options,
                    const cp_rng *rng);

/* ---- models ---- */

/* Makes the network and the head of m->config in m->params, and completes the configuration. false on failure; the reason is then in status
 * or was reported by cp_misuse or by the set's own source (cp_params_expect). */
bool cp_model_make(cp_at at, cp_model *m, cp_rng *rng, cp_status *status);

/* The metadata `about` as text to free, NULL when out of memory, and from text into the model, whose number of classes is known. */
char *cp_about_text(const cp_model *model);
bool  cp_about_read(cp_model *model, const char *text, const char *path, cp_status *status);
void  cp_about_free(cp_model *model);
