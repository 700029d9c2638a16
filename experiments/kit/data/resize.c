/* Area averaging. */
#include "experiments/kit/data/resize.h"

#include <math.h>
#include <stdlib.h>

/* What a new pixel covers, in old pixels: [begin, end), and the first and the last old pixel that it touches. */
typedef struct cover {
    double begin, end;
    int    first, last; /* last < first: none */
} cover;

static cover cover_of(cp_resize_axis axis, int pixel) {
    double field = axis.field > 0 ? axis.field : axis.from, before = (field - axis.from) / 2;
    cover  c = {field * pixel / axis.to - before, field * (pixel + 1) / axis.to - before, 0, axis.from - 1};
    if (c.begin > 0) c.first = c.begin < axis.from ? (int)c.begin : axis.from;
    if (c.end < axis.from) c.last = c.end > 0 ? (int)ceil(c.end) - 1 : -1;
    return c;
}

/* The share of the new pixel that old pixel `at` has. */
static double share_of(cover c, int at) { return (fmin(c.end, at + 1.0) - fmax(c.begin, at)) / (c.end - c.begin); }

bool cp_resize_area(const float *from, cp_resize_axis down, cp_resize_axis across, float *to, cp_status *status) {
    double *row = malloc((size_t)across.from * sizeof *row); /* old columns of a new row */
    if (!row) return cp_fail(status, "not enough memory for a row of %d pixels", across.from);
    for (int i = 0; i < down.to; i++) {
        cover rows = cover_of(down, i);
        for (int x = 0; x < across.from; x++) row[x] = 0;
        for (int y = rows.first; y <= rows.last; y++) {
            const float *old = from + (size_t)y * (size_t)across.from;
            double       share = share_of(rows, y);
            for (int x = 0; x < across.from; x++) row[x] += share * (double)old[x];
        }
        for (int k = 0; k < across.to; k++) {
            cover  columns = cover_of(across, k);
            double sum = 0;
            for (int x = columns.first; x <= columns.last; x++) sum += share_of(columns, x) * row[x];
            to[(size_t)i * (size_t)across.to + (size_t)k] = (float)sum;
        }
    }
    free(row);
    return true;
}
