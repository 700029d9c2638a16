/* Pictures in files: PNG of all color types, depths and kinds of interlacing, and PGM and PPM, plain and binary, decoded to pixels.
 *
 *     cp_picture picture;
 *     if (cp_picture_read("cell.png", &picture, &status)) ...
 *     cp_picture_free(&picture);
 */
#pragma once

#include "core/error.h"

#include <stdint.h>

typedef struct cp_picture {
    int   height, width; /* at least 1 */
    int   channels;      /* 1: gray; 2: gray and opacity; 3: red, green, blue; 4: the same and opacity */
    int   depth;         /* bits per value: 8, uint8_t, or 16, uint16_t */
    void *pixels;        /* (height, width, channels), rows from the top */
} cp_picture;

/* From the bytes of a PNG, PGM or PPM file, distinguished by their first bytes; `name` is what messages call the file. False, with the
 * offset and what was expected, for damaged files, files of other kinds, and pictures of more than CP_PICTURE_MAX bytes; *picture is
 * {0} then.
 *
 * PNG: palettes are resolved, fewer than 8 bits are scaled to 8, and a palette or color marked as transparent gives an opacity channel.
 * The checksums of all chunks are checked. Color profiles and gamma do not change the values, and of an animation the first picture is read.
 * PGM and PPM: a maximum of at most 255 is scaled to 255, rounded to the nearest value, and any other to 65535. */
enum { CP_PICTURE_MAX = 1 << 30 };
bool cp_picture_parse(const void *bytes, size_t size, const char *name, cp_picture *picture, cp_status *status);

bool cp_picture_named(const char *file); /* it ends in .png, .pgm, .ppm or .pnm, in any case */
bool cp_picture_read(const char *path, cp_picture *picture, cp_status *status);
void cp_picture_free(cp_picture *picture); /* resets it to {0} */
