/* The keys of a kind at work: options are completed and checked, read from a description and written into one. */
#ifndef CP_KEYS_H
#define CP_KEYS_H

#include "core/io/json.h"
#include "models/kind.h"

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

/* The options of a new net or head: the given ones, or the defaults for NULL, completed. Misuse when they are not possible. */
bool cp_kind_options_ready(cp_at at, const cp_kind *kind, const void *given, cp_kind_options *options);

/* Names that nets and heads share. */
extern const cp_choice cp_activation_names[];

#endif
