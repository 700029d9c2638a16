/* One 3x3 convolution, computed in faster and faster ways, each compared with the first. Exits with 1 if a result is
 * wrong. Needs a float build: the fast kernels are for float. */
#include <couplet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N = 4, SIZE = 36, IN = SIZE + 2, C = 32, K = 32 }; /* images, their results' and their own size, channels in and out */
enum { ROWS = 6, TILES = SIZE / 2, POINTS = 16 };         /* of a tile in registers; Winograd's tiles in a row, and their points */
static cp_real x[N][IN][IN][C], w[3][3][C][K];            /* the input and the weights */
static cp_real y[N][SIZE][SIZE][K], expected[N][SIZE][SIZE][K]; /* a result, and that of the plain loops */

/* ---- 1: the formula ---- */

static void plain(void) {
    for (int n = 0; n < N; n++)
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++)
                for (int k = 0; k < K; k++) {
                    cp_real sum = 0;
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            for (int c = 0; c < C; c++) sum += x[n][i + r][j + s][c] * w[r][s][c][k];
                    y[n][i][j][k] = sum;
                }
}

/* ---- 2: the same products, k in the innermost loop: neighbors in memory are used one after the other ---- */

static void ordered(void) {
    for (int n = 0; n < N; n++)
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++) {
                cp_real sum[K] = {0};
                for (int r = 0; r < 3; r++)
                    for (int s = 0; s < 3; s++)
                        for (int c = 0; c < C; c++)
                            for (int k = 0; k < K; k++) sum[k] += x[n][i + r][j + s][c] * w[r][s][c][k];
                for (int k = 0; k < K; k++) y[n][i][j][k] = sum[k];
            }
}

/* ---- 3 and 4: tiles in registers and Winograd, twice: for any processor, and for one with wider vectors and multiply-adds ---- */

static cp_real u[POINTS][C][K], v[POINTS][TILES][C],
    m[POINTS][TILES][K]; /* Winograd's weights, one row of tiles, and their products */

#define LANES 4
#define TARGET
#define NAME(f) f
#include "tiles.inc"

#ifdef __x86_64__
#undef LANES
#undef TARGET
#undef NAME
#define LANES 8
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(f) f##_wide
#include "tiles.inc"

static bool is_wide(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

/* ---- measuring and comparing ---- */

static double         first;               /* seconds of the plain loops */
static const cp_real *result = y[0][0][0]; /* where the measured kernel stored it */

/* Processor time of this thread in seconds: other processes on the machine matter less than with wall-clock time. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Prints the shortest time of up to 60 runs, or of as many as fit into half a second, as a ratio; false if the result is wrong. */
static bool measure(const char *name, void (*run)(void)) {
    double         min = HUGE_VAL, max = 0, start = now();
    const cp_real *right = expected[0][0][0];
    for (int i = 0; i < 60 && now() - start < 0.5; i++) {
        double before = now();
        run();
        min = fmin(min, now() - before);
    }
    if (run == plain) first = min, memcpy(expected, y, sizeof y);
    for (size_t i = 0; i < sizeof y / sizeof(cp_real); i++) max = fmax(max, fabs((double)(result[i] - right[i])));
    bool ok = max < (sizeof(cp_real) == sizeof(float) ? 1e-4 : 1e-12);
    printf("%-34s %6.1f   %.0e%s\n", name, first / min, max, ok ? "" : "  WRONG");
    return ok;
}

/* ---- 5: the library ---- */

static cp_tape   *tape;
static cp_tensor *input, *weights;

static void library(void) {
    cp_tape_reset(tape);
    result = cp_conv2d(tape, input, weights, NULL, (cp_conv2d_config){0})->data; /* (N, SIZE, SIZE, K) */
}

/* A process chooses the algorithm once, from the environment, so each algorithm runs in its own child process. */
static bool measure_library(const char *kernels, const char *conv) {
    char name[64];
    int  code = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (kernels) setenv("COUPLET_KERNELS", kernels, 1);
        if (conv) setenv("COUPLET_CONV", conv, 1);
        tape = cp_tape_new(), input = cp_tensor_new(CP_SHAPE(N, IN, IN, C)), weights = cp_tensor_new(CP_SHAPE(3, 3, C, K));
        memcpy(input->data, x, sizeof x), memcpy(weights->data, w, sizeof w);
        cp_threads_set(1);
        cp_tape_pause(tape, true);
        snprintf(name, sizeof name, "cp_conv2d, %s", kernels ? kernels : conv);
        code = !measure(name, library);
        fflush(stdout);
        _exit(code);
    }
    return child > 0 && waitpid(child, &code, 0) == child && code == 0;
}

int main(void) {
    cp_rng rng = cp_rng_named(1, "kernels");
    cp_rng_fill_normal(&rng, x[0][0][0], sizeof x / sizeof(cp_real), 0, 1);
    cp_rng_fill_normal(&rng, w[0][0][0], sizeof w / sizeof(cp_real), 0, (cp_real)0.06); /* results of about 1 */
    printf("%-34s  times   differs\n%-34s  faster  by up to\n", "", "");
    bool ok = measure("1 the formula", plain);
    ok &= measure("2 loops in another order", ordered);
    ok &= measure("3 tiles in registers", tiled);
    ok &= measure("4 Winograd F(2x2), such tiles", winograd);
#ifdef __x86_64__
    if (is_wide()) ok &= measure("3 tiles, AVX2 and multiply-add", tiled_wide);
    if (is_wide()) ok &= measure("4 Winograd, AVX2 and multiply-add", winograd_wide);
#endif
    ok &= measure_library("reference", NULL);
    ok &= measure_library(NULL, "direct");
    ok &= measure_library(NULL, "winograd2");
    ok &= measure_library(NULL, "winograd4");
    return !ok;
}
