/* Augmentation: every image of a batch shifted and flipped at random, to make more of few labeled images.
 *
 *     cp_augment augment = {.shift = 2, .flip_x = true};
 *     cp_split_read(train, batch.rows, batch.count, images->data);
 *     cp_augment_images(&augment, images, seed, batch.step);            // images (N, H, W, C), not on a tape
 *
 * Pixels shifted in from outside repeat the border. The change to image i of batch `step` depends only on the seed, the step and i. */
#pragma once

#include "core/random.h"
#include "core/tensor.h"

typedef struct cp_augment {
    int    shift;    /* maximum shift in pixels to each side; all distances are equally likely */
    bool   flip_x;   /* mirrors half of the images left to right */
    bool   flip_y;   /* the same, top to bottom */
    bool   turn;     /* quarter turns; only for square images, others are left as they are */
    double contrast; /* pixels times exp(N(0, contrast^2)) about their mean, plus N(0, contrast^2); clamped to [-1, 1]; 0: none. Of
                        tables and sequences: noise N(0, contrast^2) on every value, and nothing else */
} cp_augment;

/* images: a tensor (N, H, W, C) of your own, changed in place, or rows (N, D) or (N, T, D). One on a tape is misuse. */
bool cp_augment_images(cp_at at, const cp_augment *augment, cp_tensor *images, uint64_t seed, int64_t step);
#define cp_augment_images(...) cp_augment_images(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
