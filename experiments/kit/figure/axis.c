/* Axes. */
#include "experiments/kit/figure/axis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* printf's number as print has it: U+2212 for the minus, raised powers of ten for an exponent. */
static void put_text(char *out, size_t size, const char *number) {
    static const char *const raised[] = {"\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",     "\xE2\x81\xB4",
                                         "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7", "\xE2\x81\xB8", "\xE2\x81\xB9"};
    const char              *e = strchr(number, 'e');
    int                      power = e ? atoi(e + 1) : 0;
    bool                     one = e && e[-1] == '1' && (e - number == 1 || (e - number == 2 && *number == '-'));
    const char              *end = one ? e - 1 : e;
    size_t                   at = 0;
    out[0] = '\0';
    for (const char *p = number; *p && p != end && at + 4 < size; p++)
        at += (size_t)snprintf(out + at, size - at, *p == '-' ? "\xE2\x88\x92" : "%c", *p);
    if (!e || at + 20 > size) return;
    at += (size_t)snprintf(out + at, size - at, "%s10%s", one ? "" : "\xC3\x97", power < 0 ? "\xE2\x81\xBB" : "");
    power = abs(power);
    if (power >= 100) at += (size_t)snprintf(out + at, size - at, "%s", raised[power / 100 % 10]);
    if (power >= 10) at += (size_t)snprintf(out + at, size - at, "%s", raised[power / 10 % 10]);
    snprintf(out + at, size - at, "%s", raised[power % 10]);
}

static void add_tick(cp_axis *a, double value, int decimals) {
    char number[40];
    if (a->ticks == CP_TICKS_MAX) return;
    if (decimals < 0)
        snprintf(number, sizeof number, "%.4g", value);
    else
        snprintf(number, sizeof number, "%.*f", decimals, value == 0 ? 0.0 : value);
    a->tick[a->ticks] = value;
    put_text(a->text[a->ticks++], sizeof a->text[0], number);
}

/* The smallest of 1, 2 or 5 times a power of ten that is at least `min`. */
static double round_step(double min) {
    double power = pow(10, floor(log10(min)));
    double share = min / power;
    return power * (share <= 1 + 1e-9 ? 1 : share <= 2 + 1e-9 ? 2 : share <= 5 + 1e-9 ? 5 : 10);
}

static void linear_ticks(cp_axis *a, int max_ticks) {
    double span = a->max - a->min, step = round_step(span / max_ticks);
    double large = fmax(fabs(a->min), fabs(a->max));
    int    decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
    if (large >= 1e6 || decimals > 6) decimals = -1;
    double first = ceil(a->min / step - 1e-9);
    for (int i = 0; (first + i) * step <= a->max + 1e-9 * span && i < CP_TICKS_MAX; i++) add_tick(a, (first + i) * step, decimals);
}

static void log_ticks(cp_axis *a, int max_ticks) {
    int low = (int)ceil(log10(a->min) - 1e-9), high = (int)floor(log10(a->max) + 1e-9), decades = high - low + 1;
    if (decades >= 2) {
        int every = (decades + max_ticks - 1) / max_ticks;
        for (int e = low; e <= high; e += every) add_tick(a, pow(10, e), -1);
        return;
    }
    static const double within[] = {1, 2, 5};
    for (int e = low - 1; e <= high + 1; e++)
        for (int k = 0; k < 3; k++) {
            double value = within[k] * pow(10, e);
            if (value >= a->min * (1 - 1e-9) && value <= a->max * (1 + 1e-9)) add_tick(a, value, -1);
        }
}

cp_axis cp_axis_make(double min, double max, bool log, int max_ticks) {
    cp_axis a = {.log = log};
    if (!isfinite(min) || !isfinite(max) || min > max || (log && max <= 0)) min = log ? 0.1 : 0, max = log ? 10 : 1;
    if (log && min <= 0) min = max / 1000;
    if (max - min <= 1e-12 * fmax(fabs(min), fabs(max))) {
        double margin = min == 0 ? 1 : 0.1 * fabs(min);
        min -= margin, max += margin;
    }
    if (max - min > 1e300) min /= 4, max /= 4;
    a.min = min, a.max = max;
    if (log)
        log_ticks(&a, max_ticks);
    else
        linear_ticks(&a, max_ticks);
    return a;
}

double cp_axis_share(const cp_axis *a, double value) {
    if (!a->log) return (value - a->min) / (a->max - a->min);
    return value > 0 ? log(value / a->min) / log(a->max / a->min) : NAN;
}
