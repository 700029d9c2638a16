/* Images made smaller or larger by area averaging: a new pixel is the mean of what it covers, so nothing is skipped and nothing
 * is invented, and the mean of the image stays.
 *
 *     cp_resize_axis down = {.from = 240, .to = 32}, across = {.from = 240, .to = 32};
 *     cp_resize_area(slice, down, across, small, &status);
 */
#pragma once

#include "core/error.h"

/* One axis: `from` pixels in the middle of a field that `to` new pixels divide evenly. What of the field lies beyond the old
 * pixels is 0, so a field longer than `from` pads the image. */
typedef struct cp_resize_axis {
    int    from, to; /* at least 1 */
    double field;    /* in old pixels; 0: `from` */
} cp_resize_axis;

/* From (down.from, across.from) to (down.to, across.to), rows from the top. New pixel (i, k) is the sum over old ones of
 * value * overlap / area, in double and rounded once. False when there is no memory. */
bool cp_resize_area(const float *from, cp_resize_axis down, cp_resize_axis across, float *to, cp_status *status);
