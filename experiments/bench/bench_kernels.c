/* couplet bench kernels: the measured multiply-add peak, and the convolutions of wide ResNets with their gradients and some matrix
 * products, in GFLOP/s (operations of the direct algorithm) and percent of the peak. */
#include "experiments/bench/bench.h"

#include "core/kernels/kernels.h"
#include "core/random.h"
#include "core/threads.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* With one thread, processor time: other programs disturb it less. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(cp_threads() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { RESULTS = 3 }; /* of a convolution and its gradients: y, gx and gw */

typedef struct job {
    cp_arena     *scratch;
    cp_conv_shape s;
    size_t        sizes[RESULTS]; /* of y, x and w */
    size_t        m, n, k;
    cp_real      *x, *w, *y;
} job;

static const cp_conv_fusion nothing_fused = {0};

typedef bool work(const job *j, int result, cp_real *out);

/* y, gx or gw into `out`. */
static bool conv(const job *j, int result, cp_real *out) {
    const cp_kernel_family *k = cp_kernels();
    if (result == 0) return k->conv2d(j->scratch, &j->s, j->x, j->w, &nothing_fused, out);
    if (result == 1) return k->conv2d_input_grad(j->scratch, &j->s, j->y, j->w, &nothing_fused, out);
    return k->conv2d_weight_grad(j->scratch, &j->s, j->x, j->y, &nothing_fused, out, NULL);
}

/* a b, with b transposed, or with a transposed. */
static bool gemm(const job *j, int result, cp_real *out) {
    return cp_kernels()->gemm(j->scratch, result == 2, result == 1, j->m, j->n, j->k, j->x, j->w, out, false);
}

/* The shortest time within a third of a second. */
static double best_time(work *run, const job *j, int result, cp_real *out) {
    double best = 1e9;
    run(j, result, out);
    for (double start = seconds(), now = start; now - start < 0.3;) {
        int repeats = 1;
        while ((double)repeats * best < 1e-4 && best < 1e8) repeats *= 2;
        const double before = seconds();
        for (int i = 0; i < repeats; i++) run(j, result, out);
        now = seconds();
        best = fmin(best, (now - before) / repeats);
    }
    return best;
}

static void *allocate(size_t bytes) {
    void *p = calloc(bytes + 1, 1);
    if (!p) {
        fprintf(stderr, "couplet bench: out of memory\n");
        exit(1);
    }
    return p;
}

static cp_real *numbers(size_t count) {
    static cp_rng rng;
    cp_real      *p = allocate(count * sizeof *p);
    if (!rng.position) rng = cp_rng_named(1, "bench");
    cp_rng_fill_uniform(&rng, p, count, -1, 1);
    return p;
}

static double conv_flops(const cp_conv_shape *s) { return 2.0 * s->n * s->oh * s->ow * s->k * s->kh * s->kw * s->c; }

/* Prints the name of a convolution of a wide ResNet, and makes it. */
static job conv_job(cp_arena *scratch, int n, const int shape[5]) {
    const int side = shape[0], kernel = shape[3], stride = shape[4], out = (side - 1) / stride + 1;
    job       j = {.scratch = scratch,
                   .s = {.n = n,
                         .h = side,
                         .w = side,
                         .c = shape[1],
                         .kh = kernel,
                         .kw = kernel,
                         .k = shape[2],
                         .oh = out,
                         .ow = out,
                         .stride_h = stride,
                         .stride_w = stride,
                         .pad_top = kernel / 2,
                         .pad_left = kernel / 2,
                         .dilation_h = 1,
                         .dilation_w = 1,
                         .groups = 1}};
    j.sizes[0] = (size_t)(n * out * out * shape[2]);
    j.sizes[1] = (size_t)(n * side * side * shape[1]);
    j.sizes[2] = (size_t)(kernel * kernel * shape[1] * shape[2]);
    j.x = numbers(j.sizes[1]), j.w = numbers(j.sizes[2]), j.y = numbers(j.sizes[0]);
    printf("%2dx%-2d %3d->%-3d %dx%d/%d", side, side, shape[1], shape[2], kernel, kernel, stride);
    return j;
}

static void job_free(job *j) { free(j->x), free(j->w), free(j->y); }

/* Prints the times of the three results, and frees the job. */
static void bench_job(job *j, work *run, cp_real *const out[RESULTS], double flops, double peak) {
    for (int r = 0; r < RESULTS; r++) {
        double time = best_time(run, j, r, out[r]);
        printf("  %8.3f ms %6.1f %4.0f%%", time * 1e3, flops / time * 1e-9, 100 * flops / time / peak);
        fflush(stdout);
    }
    printf("\n");
    job_free(j);
}

static void bench_conv(cp_arena *scratch, double peak, const int shape[5]) {
    job j = conv_job(scratch, 64, shape);
    bench_job(&j, conv, (cp_real *[]){j.y, j.x, j.w}, conv_flops(&j.s), peak);
}

static void bench_gemm(cp_arena *scratch, double peak, size_t m, size_t n, size_t k) {
    job j = {.scratch = scratch, .m = m, .n = n, .k = k, .x = numbers(m * k), .w = numbers(k * n), .y = numbers(m * n)};
    printf("gemm %4zux%4zux%4zu ", m, n, k);
    bench_job(&j, gemm, (cp_real *[]){j.y, j.y, j.y}, 2.0 * (double)m * (double)n * (double)k, peak);
}

/* side, channels in and out, kernel, stride */
static const int shapes[][5] = {{28, 1, 16, 3, 1},    {28, 3, 16, 3, 1},    {28, 16, 16, 3, 1},  {28, 16, 32, 3, 1},
                                {28, 32, 32, 3, 1},   {28, 32, 64, 3, 1},   {28, 64, 64, 3, 2},  {14, 64, 64, 3, 1},
                                {14, 64, 128, 3, 1},  {14, 128, 128, 3, 2}, {7, 128, 128, 3, 1}, {28, 16, 32, 1, 1},
                                {28, 32, 64, 1, 2},   {14, 64, 128, 1, 2},  {32, 64, 64, 3, 1},  {32, 128, 128, 3, 2},
                                {16, 128, 128, 3, 1}, {16, 256, 256, 3, 2}, {8, 256, 256, 3, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

int cp_bench_kernels(const cp_options *o) {
    const size_t products[][3] = {{2, 2, 2}, {64, 8, 128}, {64, 128, 128}, {64, 512, 128}, {512, 512, 512}, {1024, 1024, 1024}};
    cp_arena    *scratch = cp_arena_new();
    (void)o;
    if (!scratch) return CP_EXIT_FAILED;
    const double peak = 1e9 * cp_kernels()->fma_peak() * cp_threads();
    printf("kernels %s, %d thread%s, measured multiply-add peak %.0f GFLOP/s\n", cp_kernels()->name, cp_threads(),
           cp_threads() == 1 ? "" : "s", peak * 1e-9);
    printf("time, GFLOP/s, percent of the peak (above 100 where Winograd convolutions save multiplications)\n");
    printf("convolution, batch 64   forward                     input gradient              weight gradient\n");
    for (size_t i = 0; i < SHAPES; i++) bench_conv(scratch, peak, shapes[i]);
    printf("c = a b                 plain                       b transposed                a transposed\n");
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        bench_gemm(scratch, peak, products[i][0], products[i][1], products[i][2]);
    cp_arena_free(scratch);
    return CP_EXIT_OK;
}
