/* What the files of models share and programs do not need. */
#ifndef CP_MODELS_INSIDE_H
#define CP_MODELS_INSIDE_H

#include "core/io/json.h"
#include "layers/params_file.h"
#include "models/model.h"

/* ---- keys.c: the keys of a kind at work ---- */

/* Puts the defaults in the place of zeros and checks all values. A message about options from a file begins with `name` and tells
 * zeros as missing keys; it is NULL for options from a program. */
bool cp_keys_complete(const cp_key *keys, void *options, const char *name, cp_status *status);

/* Reads the keys that the object has; the others are left alone. */
bool cp_keys_read(const cp_key *keys, const cp_json *object, const char *name, void *options, cp_status *status);
void cp_keys_write(const cp_key *keys, const void *options, cp_json_writer *writer);

const cp_key *cp_keys_find(const cp_key *keys, const char *name); /* NULL when there is none; keys may be NULL */
size_t        cp_key_size(const cp_key *key);                     /* of its member */

/* "wrn, mlp, lstm" for messages, made by appending names; cut at the buffer's end. */
typedef struct cp_name_list {
    char s[240];
} cp_name_list;
void cp_name_list_add(cp_name_list *list, const char *name);

/* Memory, all zeros, for a new net or head, and its options: the given ones, or the defaults for NULL, completed. NULL, after
 * cp_misuse, when they are not possible or params or rng is missing. */
void *cp_kind_alloc(cp_at at, const cp_kind *kind, const cp_params *params, const void *given, cp_kind_options *options,
                    const cp_rng *rng);

/* Names that nets and heads share. */
extern const cp_choice cp_activation_names[];

/* ---- kinds.c: the list of all kinds ---- */

typedef struct cp_kind_entry {
    const cp_kind *kind;
    size_t         place; /* of its options in a cp_model_config */
} cp_kind_entry;

typedef enum cp_kind_of { CP_OF_NETS, CP_OF_HEADS } cp_kind_of;

/* The entry of that name, or the first for NULL; NULL when there is none. */
const cp_kind_entry *cp_kinds_find(cp_kind_of of, const char *name);
cp_name_list         cp_kinds_names(cp_kind_of of);

/* ---- model.c and model_file.c ---- */

/* Makes the network and the head of m->config in m->params, and completes the configuration. false with a message in status when that
 * is not possible; without one when cp_misuse or the set's own source (cp_params_expect) has told why. */
bool cp_model_make(cp_at at, cp_model *m, cp_rng *rng, cp_status *status);

/* Whether the file's description is that of the model. */
bool cp_model_described(const cp_model *model, const cp_safetensors *file, const char *path, cp_status *status);

#endif
