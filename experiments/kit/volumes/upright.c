/* Slices: which side is up. */
#include "experiments/kit/volumes/slices_parts.h"

void cp_outline_add(cp_outline *outline, const float *slice, int rows, int columns) {
    static const float HEAD = 0.1f;
    int                first = -1, last = -1;
    double             area = 0, widths = 0, moment = 0;
    for (int y = 0; y < rows; y++) {
        int left = -1, right = -1;
        for (int x = 0; x < columns; x++) {
            if (slice[(size_t)y * (size_t)columns + (size_t)x] <= HEAD) continue;
            if (left < 0) left = x;
            right = x;
            area++;
        }
        if (left < 0) continue;
        if (first < 0) first = y;
        last = y;
        widths += right - left + 1;
        moment += (double)y * (right - left + 1);
    }
    if (area == 0) return;
    outline->area += area;
    outline->lean += area * (moment / widths - 0.5 * (first + last));
}

void cp_slices_turn(cp_slices *slices, const cp_slices_config *config) {
    size_t pixels = (size_t)config->size * (size_t)config->size, channels = (size_t)config->channels;
    for (int k = 0; k < slices->count; k++) {
        uint8_t *first = slices->pixels + (size_t)k * pixels * channels, *last = first + (pixels - 1) * channels;
        for (; first < last; first += channels, last -= channels)
            for (size_t c = 0; c < channels; c++) {
                uint8_t kept = first[c];
                first[c] = last[c];
                last[c] = kept;
            }
    }
    slices->upright = -slices->upright;
}
