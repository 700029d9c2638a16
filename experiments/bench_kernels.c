/* The kernels' part of `couplet bench`: the machine's measured multiply-add peak, then each convolution of the wide ResNets with its
 * gradients and some matrix products, in GFLOP/s (counted as the direct algorithm counts) and percent of the peak. */
#include "experiments/bench_kernels.h"

#include "core/kernels/fast.h"
#include "core/pool.h"

#include <stdlib.h>
#include <time.h>

/* With one thread the processor's time is taken: other programs disturb it less. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(cp_threads() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct job {
    cp_arena      *scratch;
    cp_conv_shape  s;
    size_t         m, n, k;
    cp_real       *x, *w, *y;
} job;

static void forward(job *j) {
    cp_kernel_conv2d(j->scratch, &j->s, j->x, j->w, NULL, j->y);
}

static void input_grad(job *j) {
    cp_kernel_conv2d_input_grad(j->scratch, &j->s, j->y, j->w, j->x);
}

static void weight_grad(job *j) {
    cp_kernel_conv2d_weight_grad(j->scratch, &j->s, j->x, j->y, j->w);
}

static void gemm(job *j) {
    cp_kernel_gemm(j->scratch, false, false, j->m, j->n, j->k, j->x, j->w, j->y, false);
}

static void gemm_b_transposed(job *j) {
    cp_kernel_gemm(j->scratch, false, true, j->m, j->n, j->k, j->x, j->w, j->y, false);
}

static void gemm_a_transposed(job *j) {
    cp_kernel_gemm(j->scratch, true, false, j->m, j->n, j->k, j->x, j->w, j->y, false);
}

/* The best of a number of runs within a third of a second: the least disturbed one. */
static double best_time(void (*run)(job *), job *j) {
    double best = 1e9;
    run(j);
    for (double start = seconds(), now = start; now - start < 0.3;) {
        int repeats = 1;
        while ((double)repeats * best < 1e-4 && best < 1e8) {
            repeats *= 2;
        }
        const double before = seconds();
        for (int i = 0; i < repeats; i++) {
            run(j);
        }
        now  = seconds();
        best = (now - before) / repeats < best ? (now - before) / repeats : best;
    }
    return best;
}

static cp_real *numbers(size_t count) {
    cp_real *p = malloc((count + 1) * sizeof(cp_real));
    if (!p) {
        fprintf(stderr, "couplet bench: out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        p[i] = (cp_real)((double)((i * 2654435761u) % 1000003u) / 500001.5 - 1.0);
    }
    return p;
}

static double conv_flops(const cp_conv_shape *s) {
    return 2.0 * s->n * s->oh * s->ow * s->k * s->kh * s->kw * s->c;
}

static double print_rate(double flops, double time, double peak) {
    printf("  %8.3f ms %6.1f %4.0f%%", time * 1e3, flops / time * 1e-9, 100 * flops / time / peak);
    fflush(stdout);
    return time;
}

static void bench_conv(cp_arena *scratch, double peak, int side, int c, int k, int kernel, int stride) {
    job j = {.scratch = scratch, .s = {.n = 64, .h = side, .w = side, .c = c, .kh = kernel, .kw = kernel, .k = k,
                                       .oh = (side - 1) / stride + 1, .ow = (side - 1) / stride + 1, .stride_h = stride,
                                       .stride_w = stride, .pad_top = kernel / 2, .pad_left = kernel / 2, .dilation_h = 1,
                                       .dilation_w = 1, .groups = 1}};
    j.x = numbers((size_t)(64 * side * side * c));
    j.w = numbers((size_t)(kernel * kernel * c * k));
    j.y = numbers((size_t)(64 * j.s.oh * j.s.ow * k));
    printf("%2dx%-2d %3d->%-3d %dx%d/%d", side, side, c, k, kernel, kernel, stride);
    print_rate(conv_flops(&j.s), best_time(forward, &j), peak);
    print_rate(conv_flops(&j.s), best_time(input_grad, &j), peak);
    print_rate(conv_flops(&j.s), best_time(weight_grad, &j), peak);
    printf("\n");
    free(j.x), free(j.w), free(j.y);
}

static void bench_gemm(cp_arena *scratch, double peak, size_t m, size_t n, size_t k) {
    job          j     = {.scratch = scratch, .m = m, .n = n, .k = k, .x = numbers(m * k), .w = numbers(k * n), .y = numbers(m * n)};
    const double flops = 2.0 * (double)m * (double)n * (double)k;
    printf("gemm %4zux%4zux%4zu ", m, n, k);
    print_rate(flops, best_time(gemm, &j), peak);
    print_rate(flops, best_time(gemm_b_transposed, &j), peak);
    print_rate(flops, best_time(gemm_a_transposed, &j), peak);
    printf("\n");
    free(j.x), free(j.w), free(j.y);
}

void cp_bench_kernels(void) {
    const int shapes[][5] = {{28, 1, 16, 3, 1},   {28, 3, 16, 3, 1},    {28, 16, 16, 3, 1},   {28, 16, 32, 3, 1},
                             {28, 32, 32, 3, 1},  {28, 32, 64, 3, 1},   {28, 64, 64, 3, 2},   {14, 64, 64, 3, 1},
                             {14, 64, 128, 3, 1}, {14, 128, 128, 3, 2}, {7, 128, 128, 3, 1},  {28, 16, 32, 1, 1},
                             {28, 32, 64, 1, 2},  {14, 64, 128, 1, 2},  {32, 64, 64, 3, 1},   {16, 128, 128, 3, 1},
                             {8, 256, 256, 3, 1}};
    const size_t products[][3] = {{2, 2, 2}, {64, 8, 128}, {64, 128, 128}, {64, 512, 128}, {512, 512, 512}, {1024, 1024, 1024}};
    cp_arena *scratch = cp_arena_new();
    if (!scratch) return;
    const double peak = 1e9 * cp_kernel_fma_peak() * cp_threads();
    printf("kernels %s, %d threads, measured multiply-add peak %.0f GFLOP/s\n", cp_kernels_family(), cp_threads(), peak * 1e-9);
    printf("convolution, batch 64   forward                     input gradient              weight gradient\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        bench_conv(scratch, peak, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], shapes[i][4]);
    printf("c = a b                 plain                       b transposed                a transposed\n");
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        bench_gemm(scratch, peak, products[i][0], products[i][1], products[i][2]);
    cp_arena_free(scratch);
}
