/* Writes a small set of images in MedMNIST's layout, for tests of commands:
 *     draw_images FILE HEIGHT WIDTH CHANNELS CLASSES TRAIN VAL TEST [SEED [SPLIT...]]
 * The rows of an image are brighter at the height of its class; a fifth of the images have a wrong label. The named splits
 * have patients, of one to five images each: the first has one, the second two, the sixth one again. The word "half" in place of a
 * SPLIT takes the label from every second training image.
 *
 * With HEIGHT 0 the set has rows: tables (N, CHANNELS) if WIDTH is 0, otherwise sequences (N, WIDTH, CHANNELS), with lengths if one of the
 * words in place of SPLIT is "lengths". Values are around the class times 3, and what is beyond a length is 1000. */
#include "core/io/npz.h"
#include "core/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct images {
    int height, width, channels, classes;
} images;

static int draw_class(cp_rng *rng, const images *set, int i, uint8_t *pixels) {
    int label = i % 7 == 6 ? 0 : i % set->classes; /* more of the first class */
    int shown = cp_rng_below(rng, 5) ? label : (int)cp_rng_below(rng, (uint64_t)set->classes);
    for (int y = 0; y < set->height; y++)
        for (int x = 0; x < set->width * set->channels; x++)
            *pixels++ = (uint8_t)(cp_rng_below(rng, 100) + (y * set->classes / set->height == shown ? 120 : 0));
    return label;
}

static bool add_rows(cp_npz_writer *w, const char *name, const images *set, int count, bool lengths, cp_rng *rng) {
    size_t   steps = set->width ? (size_t)set->width : 1, size = steps * (size_t)set->channels;
    float   *values = malloc((size_t)count * size * sizeof *values);
    int32_t *numbers = malloc(2 * (size_t)count * sizeof *numbers), *length = numbers + count;
    char     entry[40];
    bool     ok = values && numbers;
    for (int i = 0; ok && i < count; i++) {
        numbers[i] = i % set->classes;
        length[i] = lengths ? 1 + i % set->width : (int)steps;
        for (size_t k = 0; k < size; k++) {
            bool within = k < (size_t)length[i] * (size_t)set->channels;
            values[(size_t)i * size + k] = within ? (float)(3 * numbers[i] + cp_rng_normal(rng)) : 1000;
        }
    }
    snprintf(entry, sizeof entry, "%s_x", name);
    if (ok && set->width) cp_npz_writer_add(w, entry, CP_F32, 3, (int64_t[]){count, set->width, set->channels}, values);
    if (ok && !set->width) cp_npz_writer_add(w, entry, CP_F32, 2, (int64_t[]){count, set->channels}, values);
    snprintf(entry, sizeof entry, "%s_labels", name);
    if (ok) cp_npz_writer_add(w, entry, CP_I32, 1, (int64_t[]){count}, numbers);
    snprintf(entry, sizeof entry, "%s_length", name);
    if (ok && lengths) cp_npz_writer_add(w, entry, CP_I32, 1, (int64_t[]){count}, length);
    free(values);
    free(numbers);
    return ok;
}

static bool add_split(cp_npz_writer *w, const char *name, const images *set, int count, bool half, cp_rng *rng) {
    size_t   size = (size_t)set->height * (size_t)set->width * (size_t)set->channels;
    uint8_t *pixels = malloc((size_t)count * size), *labels = malloc((size_t)count);
    char     entry[40];
    bool     ok = pixels && labels;
    for (int i = 0; ok && i < count; i++) labels[i] = (uint8_t)draw_class(rng, set, i, pixels + (size_t)i * size);
    for (int i = 1; ok && half && i < count; i += 2) labels[i] = 255; /* as int8: -1 */
    snprintf(entry, sizeof entry, "%s_images", name);
    if (ok)
        cp_npz_writer_add(w, entry, CP_U8, set->channels > 1 ? 4 : 3, (int64_t[]){count, set->height, set->width, set->channels},
                          pixels);
    snprintf(entry, sizeof entry, "%s_labels", name);
    if (ok) cp_npz_writer_add(w, entry, half ? CP_I8 : CP_U8, 2, (int64_t[]){count, 1}, labels);
    free(pixels);
    free(labels);
    return ok;
}

static bool add_patients(cp_npz_writer *w, const char *name, int first, int count) {
    int32_t *patients = malloc((size_t)count * sizeof *patients);
    char     entry[40];
    for (int i = 0, patient = 0, left = 1; patients && i < count; i++) {
        patients[i] = first - patient; /* any numbers, also negative ones */
        if (--left == 0) left = 1 + ++patient % 5;
    }
    snprintf(entry, sizeof entry, "%s_patients", name);
    if (patients) cp_npz_writer_add(w, entry, CP_I32, 1, (int64_t[]){count}, patients);
    bool ok = patients != NULL;
    free(patients);
    return ok;
}

int main(int count, char **words) {
    static const char *const splits[] = {"train", "val", "test"};
    cp_status                status = {0};
    if (count < 9) return 2;
    images         set = {atoi(words[2]), atoi(words[3]), atoi(words[4]), atoi(words[5])};
    cp_rng         rng = cp_rng_named(count > 9 ? (uint64_t)atoi(words[9]) : 1, "images");
    cp_npz_writer *w = cp_npz_writer_new(words[1], &status);
    bool           ok = w != NULL;
    for (int s = 0; ok && s < 3; s++) {
        bool lengths = count > 10 && strcmp(words[10], "lengths") == 0;
        bool half = !s && count > 10 && strcmp(words[10], "half") == 0;
        ok = set.height ? add_split(w, splits[s], &set, atoi(words[6 + s]), half, &rng)
                        : add_rows(w, splits[s], &set, atoi(words[6 + s]), lengths, &rng);
        for (int i = 10; ok && i < count; i++)
            if (strcmp(words[i], splits[s]) == 0) ok = add_patients(w, splits[s], 1000 * s, atoi(words[6 + s]));
    }
    if (w) ok = cp_npz_writer_commit(w, &status) && ok;
    if (!ok) fprintf(stderr, "draw_images: %s\n", status.message);
    return ok ? 0 : 1;
}
