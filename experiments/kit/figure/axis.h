/* Axes: scales, round ticks and their labels. */
#pragma once

#include <stdbool.h>

enum { CP_TICKS_MAX = 24 };

typedef struct cp_axis {
    double min, max; /* min < max; above 0 when log */
    bool   log;
    int    ticks;
    double tick[CP_TICKS_MAX];
    char   text[CP_TICKS_MAX][40]; /* UTF-8, with a real minus sign */
} cp_axis;

/* An axis for the given range, with at most `max_ticks` (2 or more) round ticks in it. An empty or impossible range is widened. */
cp_axis cp_axis_make(double min, double max, bool log, int max_ticks);

double cp_axis_share(const cp_axis *axis, double value); /* 0 at min, 1 at max; NaN for values that a log axis cannot show */
