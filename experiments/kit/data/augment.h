/* Augmentation: every image of a batch shifted and flipped at random, so that few labeled images stand for more.
 *
 *     cp_augment augment = {.shift = 2, .flip_x = true};
 *     cp_split_read(train, batch.rows, batch.count, images->data);
 *     cp_augment_images(&augment, images, seed, batch.step);            // images (N, H, W, C), not on a tape
 *
 * Pixels that come in from beyond the border repeat the border's. What is done to image i of batch `step` depends on the seed, the
 * step and i alone. */
#ifndef CP_KIT_AUGMENT_H
#define CP_KIT_AUGMENT_H

#include "core/random.h"
#include "core/tensor.h"

typedef struct cp_augment {
    int    shift;    /* by up to so many pixels to each side, each distance as often */
    bool   flip_x;   /* left and right change places in half of the images */
    bool   flip_y;   /* top and bottom */
    bool   turn;     /* quarter turns; only for square images, others are left as they are */
    double contrast; /* pixels times exp(N(0, contrast^2)) about their mean, plus N(0, contrast^2); kept within [-1, 1]. 0: no */
} cp_augment;

/* images: a tensor (N, H, W, C) of your own, changed in place. Another rank, or one on a tape, is misuse. */
bool cp_augment_images(cp_at at, const cp_augment *augment, cp_tensor *images, uint64_t seed, int64_t step);
#define cp_augment_images(...) cp_augment_images(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

#endif
