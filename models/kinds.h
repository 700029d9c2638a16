/* The list of all kinds of networks and heads. */
#ifndef CP_KINDS_H
#define CP_KINDS_H

#include "models/keys.h"
#include "models/model.h"

typedef struct cp_kind_entry {
    const cp_kind *kind;
    size_t         place; /* of its options in a cp_model_config */
} cp_kind_entry;

typedef enum cp_kind_of { CP_OF_NETS, CP_OF_HEADS } cp_kind_of;

/* The entry of that name, or the first for NULL; NULL when there is none. */
const cp_kind_entry *cp_kinds_find(cp_kind_of of, const char *name);
cp_name_list         cp_kinds_names(cp_kind_of of);

#endif
