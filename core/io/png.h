/* PNG: a writer of gray or RGB, 8 bits per channel, and the reader behind cp_picture_parse (core/io/picture.h). */
#pragma once

#include "core/error.h"
#include "core/io/bytes.h"
#include "core/io/picture.h"

typedef struct cp_image {
    int                  width, height; /* at least 1 */
    int                  channels;      /* 1: gray; 3: red, green, blue */
    const unsigned char *pixels;        /* rows from the top, channels interleaved */
} cp_image;

bool cp_png_encode(const cp_image *image, cp_bytes *out, cp_status *status); /* appends */

#define CP_PNG_SIGNATURE "\x89PNG\r\n\x1a\n" /* the first 8 bytes of a file */
bool cp_png_parse(const void *bytes, size_t size, const char *name, cp_picture *picture, cp_status *status);
