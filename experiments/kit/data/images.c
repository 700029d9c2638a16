/* Image sets: the built-in one, and files in MedMNIST's layout. */
#include "experiments/kit/data/images_parts.h"

#include <stdlib.h>
#include <string.h>

const char *const cp_images_splits[] = {"train", "val", "test"};

void cp_images_free(cp_images *images) {
    if (!images) return;
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) free(images->groups[s]);
    cp_dataset_free(images->set);
    cp_json_free(images->made);
    free(images->own_names);
    free(images);
}

/* ---- the built-in set ---- */

static bool add_phantom_split(cp_images *images, int split, cp_status *status) {
    int      count = cp_phantom_counts[split];
    uint8_t *pixels = malloc((size_t)count * images->set->values);
    int     *labels = malloc((size_t)count * sizeof *labels);
    bool     ok = (pixels && labels) || cp_fail(status, "not enough memory for the images of phantom");
    if (ok) cp_phantom_draw(cp_images_splits[split], count, pixels, labels);
    ok =
        ok && cp_dataset_add(images->set, (cp_split_config){cp_images_splits[split], count, pixels, labels, .owned = true}, status);
    if (!ok) free(pixels), free(labels);
    return ok;
}

static bool make_phantom(cp_images *images, cp_status *status) {
    strcpy(images->name, "phantom");
    images->height = images->width = CP_PHANTOM_SIZE;
    images->channels = CP_PHANTOM_CHANNELS;
    images->classes = CP_PHANTOM_CLASSES;
    images->class_names = cp_phantom_class_names;
    images->stored = CP_U8;
    images->high = 255;
    images->set = cp_dataset_new((cp_dataset_config){.name = images->name,
                                                     .dtype = CP_U8,
                                                     .shape = CP_SHAPE(CP_PHANTOM_SIZE, CP_PHANTOM_SIZE, CP_PHANTOM_CHANNELS),
                                                     .classes = CP_PHANTOM_CLASSES});
    bool ok = images->set != NULL;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = add_phantom_split(images, s, status);
    return ok;
}

cp_images *cp_images_load(const char *file_or_name, cp_status *status) {
    cp_images *images = calloc(1, sizeof *images);
    if (!images) return cp_null(cp_fail(status, "not enough memory for an image set"));
    bool built_in = strcmp(file_or_name, "phantom") == 0;
    if (built_in ? make_phantom(images, status) : cp_images_read(images, file_or_name, status)) return images;
    cp_images_free(images);
    return NULL;
}

/* ---- telling ---- */

cp_images_text cp_images_scaling(const cp_images *images) {
    cp_images_text text;
    const char    *type = cp_dtype_numpy(images->stored);
    if (images->low == -1 && images->high == 1)
        snprintf(text.s, sizeof text.s, "%s in [-1, 1], as they are", type);
    else if (images->low == 0 && images->high == 1)
        snprintf(text.s, sizeof text.s, "%s in [0, 1], 2 x - 1", type);
    else if (images->low == 0 && images->high == 255)
        snprintf(text.s, sizeof text.s, "%s in [0, 255], x / 127.5 - 1", type);
    else
        snprintf(text.s, sizeof text.s, "%s, from the training split's [%.6g, %.6g] to [-1, 1]", type, images->low, images->high);
    return text;
}

const char *cp_images_origin(const cp_images *images) {
    if (!*images->md5) return "built in";
    if (strcmp(cp_json_string(cp_json_get(images->made, "command"), ""), "brats") == 0) return "made by couplet brats";
    if (!images->official) return "not the official file";
    return images->superseded ? "the official file from before 2024" : "the official file";
}
