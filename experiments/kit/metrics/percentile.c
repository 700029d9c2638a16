/* Percentiles by radix selection: each pass counts a part of the bits, the upper ones first. */
#include "experiments/kit/metrics/percentile.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Bits in the order of the numbers. */
static uint32_t ordered(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static float number_of(uint32_t order) {
    uint32_t bits = order >> 31 ? order & 0x7fffffffu : ~order;
    float    value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool cp_percentile_above(const float *values, size_t count, float above, double share, float *percentile) {
    enum { PASSES = 3, BITS = 11 };
    static const int shifts[PASSES] = {21, 10, 0};
    uint32_t         known = 0, mask = 0; /* the upper bits of the number, as far as they are found */
    size_t           rank = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        size_t   counts[1 << BITS] = {0}, n = 0;
        uint32_t digit = 0;
        for (size_t i = 0; i < count; i++) {
            uint32_t order = ordered(values[i]);
            if ((order & mask) != known || !(values[i] > above) || !isfinite(values[i])) continue;
            counts[order >> shifts[pass] & ((1 << BITS) - 1)]++, n++;
        }
        if (n == 0) return false;
        if (pass == 0) rank = (size_t)(share / 100 * (double)(n - 1));
        while (rank >= counts[digit]) rank -= counts[digit++];
        known |= digit << shifts[pass];
        mask |= ((1u << BITS) - 1) << shifts[pass];
    }
    *percentile = number_of(known);
    return true;
}
