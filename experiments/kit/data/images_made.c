/* How an image set was made, as its file tells it: the array "made", JSON as bytes. */
#include "core/io/npz.h"
#include "experiments/kit/data/images_parts.h"

#include <stdlib.h>
#include <string.h>

void cp_images_read_made(cp_images *images, const cp_npz *npz) {
    cp_npy npy = {0};
    if (!cp_npz_has(npz, "made") || !cp_npz_read(npz, "made", &npy, NULL)) return;
    if (npy.dtype == CP_U8 && npy.rank == 1) images->made = cp_json_parse(npy.data, npy.size, "made", NULL);
    cp_npy_free(&npy);
    if (!images->made || images->made->kind == CP_JSON_OBJECT) return;
    cp_json_free(images->made);
    images->made = NULL;
}

static bool is_fit_to_print(const char *text) {
    return strcmp(cp_shown(text, strlen(text)).text, text) == 0;
}

void cp_images_take_class_names(cp_images *images) {
    const cp_json *names = cp_json_get(images->made, "class_names");
    if (images->class_names || !names || names->kind != CP_JSON_ARRAY || names->count != (size_t)images->classes) return;
    const char **taken = malloc(names->count * sizeof *taken);
    int          count = 0;
    for (const cp_json *n = names->first; taken && n; n = n->next)
        if (n->kind == CP_JSON_STRING && is_fit_to_print(n->text)) taken[count++] = n->text;
    if (!taken || count < images->classes) {
        free(taken);
        return;
    }
    images->own_names = taken;
    images->class_names = taken;
}
