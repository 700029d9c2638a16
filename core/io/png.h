/* PNG writer: gray or RGB, 8 bits per channel. */
#pragma once

#include "core/error.h"
#include "core/io/bytes.h"

typedef struct cp_image {
    int                  width, height; /* at least 1 */
    int                  channels;      /* 1: gray; 3: red, green, blue */
    const unsigned char *pixels;        /* rows from the top, channels interleaved */
} cp_image;

bool cp_png_encode(const cp_image *image, cp_bytes *out, cp_status *status); /* appends */
