/* The errors of the convolution methods at the shapes of wide ResNets: median and largest, against sums in double, relative to the
 * results' root mean square. Fails if a method errs by more than usual. */
#include "core/random.h"
#include "experiments/kit/metrics/stats.h"
#include "tests/support/conv_problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RESULTS = 3 }; /* y, gx and gw */

static const double usual[2] = {2e-6, 5e-5}; /* the median and the largest error are below */

static void *allocate(size_t bytes) {
    void *p = calloc(bytes + 1, 1);
    if (!p) exit(1);
    return p;
}

/* Adds one product to each of the three results, which are summed in double. */
static void exact_tap(const problem *p, size_t in, size_t tap, size_t out, double *const of[RESULTS]) {
    const size_t c = (size_t)p->s.c, k = (size_t)p->s.k;
    double      *y = of[0] + out * k, *gx = of[1] + in * c, *gw = of[2] + tap * c * k;
    for (size_t i = 0; i < c; i++) {
        for (size_t o = 0; o < k; o++) {
            const double x = (double)p->x[in * c + i], w = (double)p->w[(tap * c + i) * k + o], gy = (double)p->gy[out * k + o];
            y[o] += x * w;
            gx[i] += gy * w;
            gw[i * k + o] += x * gy;
        }
    }
}

static void exact_make(const problem *p, const size_t sizes[RESULTS], double *of[RESULTS]) {
    const cp_conv_shape *s = &p->s;
    for (int i = 0; i < RESULTS; i++) of[i] = allocate(sizes[i] * sizeof(double));
    for (int out = 0; out < s->n * s->oh * s->ow; out++) {
        for (int tap = 0; tap < s->kh * s->kw; tap++) {
            const int n = out / (s->oh * s->ow), row = out / s->ow % s->oh, column = out % s->ow;
            const int y = row * s->stride_h + tap / s->kw - s->pad_top, x = column * s->stride_w + tap % s->kw - s->pad_left;
            if (y >= 0 && y < s->h && x >= 0 && x < s->w)
                exact_tap(p, (size_t)((n * s->h + y) * s->w + x), (size_t)tap, (size_t)out, of);
        }
    }
}

/* Relative to the root mean square of the exact values: [0] the median, [1] the largest. */
static void errors_of(size_t count, const cp_real *got, const double *right, double errors[2]) {
    double *difference = allocate(count * sizeof *difference), square = 0;
    for (size_t i = 0; i < count; i++) {
        difference[i] = fabs((double)got[i] - right[i]);
        square += right[i] * right[i];
    }
    const double size = sqrt(square / (double)count);
    cp_values_sort(difference, (int)count);
    errors[0] = difference[count / 2] / size;
    errors[1] = difference[count - 1] / size;
    free(difference);
}

/* Prints the two lines of a shape: for each method, the errors of y, gx and gw. */
static bool measure(cp_arena *scratch, cp_rng *rng, const cp_conv_shape *s) {
    problem      p = problem_of(*s, 0);
    const size_t sizes[RESULTS] = {y_size(s), x_size(s), w_size(s)};
    double      *exact[RESULTS], errors[CP_CONV_WINOGRAD_4 + 1][RESULTS][2];
    bool         ok = true;
    for (int i = 0; i < RESULTS; i++) cp_rng_fill_uniform(rng, (cp_real *[]){p.gy, p.x, p.w}[i], sizes[i], -1, 1);
    exact_make(&p, sizes, exact);
    for (int method = CP_CONV_DIRECT; method <= CP_CONV_WINOGRAD_4; method++) {
        cp_kernels_use(cp_kernels(), (cp_conv_method)method);
        outcome        o = outcome_of(scratch, &p);
        const cp_real *got[RESULTS] = {o.y, o.gx, o.gw};
        for (int r = 0; r < RESULTS; r++) errors_of(sizes[r], got[r], exact[r], errors[method][r]);
        outcome_free(&o);
    }
    for (int largest = 0; largest < 2; largest++) {
        if (largest)
            printf("%20s", "");
        else
            printf("%2dx%-2d %3d->%-3d %dx%d/%d", s->h, s->w, s->c, s->k, s->kh, s->kw, s->stride_h);
        for (int method = CP_CONV_DIRECT; method <= CP_CONV_WINOGRAD_4; method++)
            for (int r = 0; r < RESULTS; r++) {
                printf(r ? " %7.1e" : "  %7.1e", errors[method][r][largest]);
                ok = ok && errors[method][r][largest] < usual[largest];
            }
        printf(largest ? "  largest\n" : "  median\n");
    }
    for (int r = 0; r < RESULTS; r++) free(exact[r]);
    problem_free(&p);
    return ok;
}

int main(void) {
    static const int shapes[][4] = {/* side, channels in and out, stride */
                                    {28, 1, 16, 1},    {28, 3, 16, 1},    {28, 16, 16, 1},   {28, 16, 32, 1},
                                    {28, 32, 32, 1},   {28, 32, 64, 1},   {28, 64, 64, 2},   {14, 64, 64, 1},
                                    {14, 64, 128, 1},  {14, 128, 128, 2}, {7, 128, 128, 1},  {32, 64, 64, 1},
                                    {32, 128, 128, 2}, {16, 128, 128, 1}, {16, 256, 256, 2}, {8, 256, 256, 1}};
    cp_arena        *scratch = cp_arena_new();
    cp_rng           rng = cp_rng_named(1, "bench");
    bool             ok = scratch;
    printf("errors against sums in double, relative to the results' root mean square (kernels %s, batch 4, uniform numbers):\n"
           "forward, input gradient, weight gradient, for each method; direct where Winograd does not apply\n"
           "                        direct                     winograd2                  winograd4\n",
           cp_kernels()->name);
    for (size_t i = 0; scratch && i < sizeof shapes / sizeof *shapes; i++) {
        const cp_conv_shape s = square(4, shapes[i][0], shapes[i][1], shapes[i][2], 3, shapes[i][3], 1);
        ok = measure(scratch, &rng, &s) && ok;
    }
    cp_arena_free(scratch);
    return ok ? 0 : 1;
}
