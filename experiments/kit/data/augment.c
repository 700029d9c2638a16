/* Augmentation of images. */
#include "experiments/kit/data/augment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct view {
    int    dx, dy;
    bool   flip_x, flip_y, turn;
    double gain, offset;
} view;

/* Every image draws all numbers, used or not, so that a setting does not change the effect of the others. */
static view draw_view(const cp_augment *a, cp_rng *rng) {
    uint64_t places = 2 * (uint64_t)a->shift + 1;
    view     v = {.dx = (int)cp_rng_below(rng, places) - a->shift, .dy = (int)cp_rng_below(rng, places) - a->shift};
    uint32_t bits = cp_rng_u32(rng);
    v.flip_x = a->flip_x && (bits & 1);
    v.flip_y = a->flip_y && (bits & 2);
    v.turn = a->turn && (bits & 4); /* with both flips: all four quarter turns */
    v.gain = exp(a->contrast * cp_rng_normal(rng));
    v.offset = a->contrast * cp_rng_normal(rng);
    return v;
}

static int within(int i, int size) { return i < 0 ? 0 : i >= size ? size - 1 : i; }

static void move_pixels(const view *v, const cp_real *from, int height, int width, int channels, cp_real *to) {
    bool turn = v->turn && height == width;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++, to += channels) {
            int row = within(y - v->dy, height), column = within(x - v->dx, width);
            if (v->flip_y) row = height - 1 - row;
            if (v->flip_x) column = width - 1 - column;
            int at = turn ? column * width + row : row * width + column;
            memcpy(to, from + (size_t)at * (size_t)channels, (size_t)channels * sizeof *to);
        }
}

static void change_contrast(const view *v, cp_real *pixels, size_t size) {
    double mean = 0;
    for (size_t i = 0; i < size; i++) mean += (double)pixels[i];
    mean /= (double)size;
    for (size_t i = 0; i < size; i++)
        pixels[i] = (cp_real)fmin(1, fmax(-1, mean + v->gain * ((double)pixels[i] - mean) + v->offset));
}

static void add_noise(const cp_augment *a, cp_tensor *x, cp_rng *rng) {
    for (size_t i = 0; i < x->size; i++) x->data[i] += (cp_real)(a->contrast * cp_rng_normal(rng));
}

bool(cp_augment_images)(cp_at at, const cp_augment *augment, cp_tensor *images, uint64_t seed, int64_t step) {
    if (!augment || !images || images->tape || images->rank < 2 || images->size == 0)
        return cp_misuse(at, "augment_images", "images (N, H, W, C) of your own, or other rows, are needed");
    if (augment->shift < 0 || augment->shift > 1000 || !(augment->contrast >= 0))
        return cp_misuse(at, "augment_images", "a shift of %d and a contrast of %g are not possible", augment->shift,
                         augment->contrast);
    size_t   size = images->size / (size_t)images->dims[0];
    cp_real *copy = malloc(size * sizeof *copy);
    char     stream[48];
    if (!copy) return cp_misuse(at, "augment_images", "out of memory");
    snprintf(stream, sizeof stream, "augment/%lld", (long long)step);
    cp_rng rng = cp_rng_named(seed, stream);
    if (images->rank != 4 && augment->contrast > 0) add_noise(augment, images, &rng);
    for (int i = 0; images->rank == 4 && i < images->dims[0]; i++) {
        cp_real *pixels = images->data + (size_t)i * size;
        view     v = draw_view(augment, &rng);
        memcpy(copy, pixels, size * sizeof *copy);
        move_pixels(&v, copy, images->dims[1], images->dims[2], images->dims[3], pixels);
        if (augment->contrast > 0) change_contrast(&v, pixels, size);
    }
    free(copy);
    return true;
}
