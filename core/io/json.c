/* Looking things up in a JSON tree. */
#include "core/io/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is(const cp_json *node, cp_json_kind kind) {
    return node && node->kind == kind;
}

const cp_json *cp_json_get(const cp_json *object, const char *key) {
    const cp_json *member = is(object, CP_JSON_OBJECT) ? object->first : NULL;
    while (member && strcmp(member->key, key) != 0) member = member->next;
    return member;
}

const cp_json *cp_json_at(const cp_json *array, size_t index) {
    const cp_json *member = is(array, CP_JSON_ARRAY) ? array->first : NULL;
    while (member && index-- > 0) member = member->next;
    return member;
}

double cp_json_number(const cp_json *node, double fallback) {
    return is(node, CP_JSON_NUMBER) ? node->number : fallback;
}

bool cp_json_bool(const cp_json *node, bool fallback) {
    return is(node, CP_JSON_BOOL) ? node->boolean : fallback;
}

const char *cp_json_string(const cp_json *node, const char *fallback) {
    return is(node, CP_JSON_STRING) ? node->text : fallback;
}

int64_t cp_json_integer(const cp_json *node, int64_t fallback) {
    if (!is(node, CP_JSON_NUMBER)) return fallback;
    if (!strpbrk(node->text, ".eE")) { /* then its text is exact where the double is not */
        errno = 0;
        long long value = strtoll(node->text, NULL, 10);
        return errno ? fallback : value;
    }
    bool whole = node->number >= -0x1p63 && node->number < 0x1p63 && node->number == floor(node->number);
    return whole ? (int64_t)node->number : fallback;
}
