/* Slices: which side is up. */
#include "experiments/kit/slices.h"

#include <math.h>

typedef struct outline {
    int    area;
    double lean; /* the mean row less the middle one */
} outline;

static outline outline_of(const uint8_t *pixels, int size, int channels) {
    enum { BRAIN = 25 };
    int    area = 0, first = -1, last = -1;
    double widths = 0, moment = 0;
    for (int y = 0; y < size; y++) {
        int left = -1, right = -1;
        for (int x = 0; x < size; x++) {
            if (pixels[((size_t)y * (size_t)size + (size_t)x) * (size_t)channels] <= BRAIN) continue;
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
    return (outline){area, area ? moment / widths - 0.5 * (first + last) : 0};
}

double cp_slices_upright(const cp_slices *slices, const cp_slices_config *config) {
    size_t image = (size_t)config->size * (size_t)config->size * (size_t)config->channels;
    int    largest = 0, counted = 0;
    double sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < slices->count; k++) {
            outline o = outline_of(slices->pixels + (size_t)k * image, config->size, config->channels);
            if (pass == 0) {
                if (o.area > largest) largest = o.area;
            } else if (o.area > 0 && 2 * o.area >= largest)
                sum += o.lean, counted++;
        }
    return counted ? sum / counted : NAN;
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
}
