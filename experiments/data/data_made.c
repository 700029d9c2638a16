/* couplet data: how an image set was made, and from whom. All texts come from the file, so they are cleaned. */
#include "experiments/data/data_parts.h"

#include <string.h>

enum { SHOWN = 6 }; /* patients of a split, and subjects left out, before "and 71 more" */

static void print_clean(const char *text) {
    printf("%s", cp_shown(text, strlen(text)).text);
}

/* A number or text, or some of them: "flair t1ce". */
static void print_value(const cp_json *value) {
    if (value->kind == CP_JSON_ARRAY)
        for (const cp_json *v = value->first; v; v = v->next) printf("%s", v == value->first ? "" : " "), print_value(v);
    else if (value->text)
        print_clean(value->text);
}

static bool is_setting(const cp_json *member) {
    if (strcmp(member->key, "class_names") == 0) return false; /* the table has them */
    const cp_json *value = member->kind == CP_JSON_ARRAY ? member->first : member;
    return value && (value->kind == CP_JSON_NUMBER || value->kind == CP_JSON_STRING);
}

static void print_settings(const cp_json *made) {
    const char *before = "\nhow it was made: ";
    for (const cp_json *m = made->first; m; m = m->next) {
        if (!is_setting(m)) continue;
        printf("%s", before);
        print_clean(m->key);
        printf(" ");
        print_value(m);
        before = ", ";
    }
    printf("\n");
}

/* "train: A, B, C and 74 more": the names of objects in a list. */
static void print_names(const cp_json *list, const char *title, const char *detail) {
    int shown = 0;
    for (const cp_json *m = list ? list->first : NULL; m && shown < SHOWN; m = m->next, shown++) {
        const char *text = detail ? cp_json_string(cp_json_get(m, detail), "") : "";
        printf("%s", shown ? ", " : title);
        print_clean(cp_json_string(cp_json_get(m, "name"), "?"));
        if (*text) printf(" "), print_clean(text);
    }
    if (shown && list->count > SHOWN) printf(" and %zu more (--json lists them)", list->count - SHOWN);
    if (shown) printf("\n");
}

void cp_data_print_made(const cp_json *made) {
    const cp_json *patients = cp_json_get(made, "patients");
    print_settings(made);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        char title[40];
        snprintf(title, sizeof title, "patients of %s: ", cp_images_splits[s]);
        print_names(cp_json_get(patients, cp_images_splits[s]), title, NULL);
    }
    print_names(cp_json_get(made, "left_out"), "left out: ", "reason");
}
