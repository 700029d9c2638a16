/* Kinds: what networks and heads have in common. A kind is a constant with a name, the size of its struct, and the keys by which a
 * description in a file sets its options. The built-in kinds are listed in models/kinds.c; a program adds its own with cp_net_kind_add
 * and cp_head_kind_add, and they are then made, saved and loaded like the others. */
#pragma once

#include <stddef.h>

typedef struct cp_choice {
    const char *name;
    int         value;
} cp_choice;

typedef enum cp_key_kind {
    CP_KEY_INT,    /* int: a whole number */
    CP_KEY_NUMBER, /* double */
    CP_KEY_BOOL,   /* bool; false by default */
    CP_KEY_CHOICE, /* an enum: one of the choices, by name */
    CP_KEY_SIZES,  /* int[count]: 1 to count whole numbers, then zeros */
} cp_key_kind;

/* A key of a description, and the member of the options' struct that it sets. As in all options, zero means the default. */
typedef struct cp_key {
    const char      *name; /* NULL ends a list */
    cp_key_kind      kind;
    size_t           offset;   /* offsetof(struct, member) */
    double           min, max; /* of numbers */
    int              step;     /* of an int: min, min + step, ...; 0: 1 */
    int              count;    /* of sizes */
    double           fallback; /* the default; outside min to max: the key is required */
    const cp_choice *choices;  /* {0} ends them */
} cp_key;

enum { CP_KIND_OPTIONS = 128 };

/* Room for the options of any kind. */
typedef union cp_kind_options {
    unsigned char bytes[CP_KIND_OPTIONS];
    double        number;
    void         *pointer;
} cp_kind_options;

typedef struct cp_kind {
    const char   *name;
    size_t        size;         /* of its struct, which begins with a cp_net or a cp_head; the library allocates and frees it */
    size_t        options_size; /* of the struct that the keys set, at most CP_KIND_OPTIONS; 0: no options */
    const cp_key *keys;         /* NULL: none */
} cp_kind;
