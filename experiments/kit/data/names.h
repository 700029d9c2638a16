/* Texts as numbers: classes, patients and the like by their names, numbered 0, 1, ... in the order in which they are first seen.
 *
 *     cp_names names = {0};
 *     int number = cp_names_add(&names, "basophil");      // names.at[number] is "basophil"
 *     cp_names_free(&names);
 */
#pragma once

#include <stdbool.h>

typedef struct cp_names {
    char **at; /* (count) */
    int    count;
    int   *slots; /* of a hash table: 1 + number, or 0 */
    int    slot_count;
} cp_names;

int  cp_names_add(cp_names *names, const char *text);        /* the number of the text, which is copied; -1: not enough memory */
int  cp_names_find(const cp_names *names, const char *text); /* -1: it has not been added */
void cp_names_free(cp_names *names);                         /* resets it to {0} */

/* Sorts them by their bytes, or with `by_value` by their values when all are whole numbers. Returns the new number of each old one, (count),
 * to be freed; NULL: not enough memory. */
int *cp_names_sort(cp_names *names, bool by_value);
