/* Texts as numbers: a list with a hash table. */
#include "experiments/kit/data/names.h"

#include "core/io/deflate.h"

#include <stdlib.h>
#include <string.h>

/* The slot of the text, or the empty one where it belongs. */
static int *slot_of(const cp_names *names, const char *text) {
    unsigned at = cp_crc32(0, text, strlen(text)) % (unsigned)names->slot_count;
    while (names->slots[at] && strcmp(names->at[names->slots[at] - 1], text) != 0) at = (at + 1) % (unsigned)names->slot_count;
    return &names->slots[at];
}

/* So that at most half of the slots are taken. */
static bool make_room(cp_names *names) {
    if (2 * (names->count + 1) <= names->slot_count) return true;
    int    count = 2 * names->slot_count + 64;
    char **at = realloc(names->at, (size_t)count / 2 * sizeof *at);
    int   *slots = at ? calloc((size_t)count, sizeof *slots) : NULL;
    if (at) names->at = at;
    if (!slots) return false;
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    for (int i = 0; i < names->count; i++) *slot_of(names, names->at[i]) = i + 1;
    return true;
}

int cp_names_add(cp_names *names, const char *text) {
    if (!make_room(names)) return -1;
    int *slot = slot_of(names, text);
    if (*slot) return *slot - 1;
    if (!(names->at[names->count] = strdup(text))) return -1;
    return (*slot = ++names->count) - 1;
}

int cp_names_find(const cp_names *names, const char *text) { return names->count ? *slot_of(names, text) - 1 : -1; }

void cp_names_free(cp_names *names) {
    for (int i = 0; i < names->count; i++) free(names->at[i]);
    free(names->at);
    free(names->slots);
    *names = (cp_names){0};
}

static bool is_whole(const char *text) {
    size_t digits = strspn(text + (*text == '-'), "0123456789");
    return digits > 0 && digits < 10 && !text[(*text == '-') + digits];
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int by_number(const void *a, const void *b) {
    long x = atol(*(char *const *)a), y = atol(*(char *const *)b);
    return x == y ? by_text(a, b) : x < y ? -1 : 1;
}

int *cp_names_sort(cp_names *names, bool by_value) {
    size_t count = (size_t)names->count;
    bool   whole = by_value;
    char **old = malloc((count + 1) * sizeof *old);
    int   *numbers = malloc((count + 1) * sizeof *numbers);
    for (int i = 0; i < names->count; i++) whole = whole && is_whole(names->at[i]);
    if (old && numbers && count) {
        memcpy(old, names->at, count * sizeof *old);
        qsort(names->at, count, sizeof *names->at, whole ? by_number : by_text);
        memset(names->slots, 0, (size_t)names->slot_count * sizeof *names->slots);
        for (int i = 0; i < names->count; i++) *slot_of(names, names->at[i]) = i + 1;
        for (size_t i = 0; i < count; i++) numbers[i] = *slot_of(names, old[i]) - 1;
    }
    if (!old) free(numbers), numbers = NULL;
    free(old);
    return numbers;
}
