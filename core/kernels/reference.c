/* The family of reference kernels: plain loops for any stride, padding, dilation and groups, in either precision. Sums are
 * in double, for a block of output channels at a time, so that the results are exact enough to test the fast kernels. */
#include "core/kernels/kernels.h"
#include "core/threads.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 64, GRAIN = 1 << 14 }; /* sums at a time; values in a thread's chunk */

static size_t min(size_t a, size_t b) { return a < b ? a : b; }

/* sums[j] += a * b[j] */
static void add_scaled(size_t n, double a, const cp_real *b, double *sums) {
    for (size_t j = 0; j < n; j++) sums[j] += a * (double)b[j];
}

/* sum a[j] b[j], in four interleaved sums: an order the compiler may vectorize. */
static double dot(size_t n, const cp_real *a, const cp_real *b) {
    double sums[4] = {0};
    size_t j = 0;
    for (; j + 4 <= n; j += 4)
        for (size_t lane = 0; lane < 4; lane++) sums[lane] += (double)a[j + lane] * (double)b[j + lane];
    for (; j < n; j++) sums[0] += (double)a[j] * (double)b[j];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

typedef struct matrices {
    bool           trans_a, trans_b, accumulate;
    size_t         m, n, k;
    const cp_real *a, *b;
    cp_real       *c;
} matrices;

static void gemm_rows(void *context, size_t begin, size_t end) {
    const matrices *g = context;
    const size_t    step = g->trans_a ? g->m : 1;
    for (size_t i = begin; i < end; i++) {
        const cp_real *a = g->trans_a ? g->a + i : g->a + i * g->k;
        for (size_t first = 0; first < g->n; first += BLOCK) {
            const size_t count = min(BLOCK, g->n - first);
            cp_real     *c = g->c + i * g->n + first;
            double       sums[BLOCK];
            for (size_t j = 0; j < count; j++) sums[j] = g->accumulate ? (double)c[j] : 0;
            if (!g->trans_b) {
                for (size_t p = 0; p < g->k; p++) add_scaled(count, (double)a[p * step], g->b + p * g->n + first, sums);
            } else {
                for (size_t j = 0; j < count; j++) {
                    const cp_real *b = g->b + (first + j) * g->k;
                    if (step == 1) {
                        sums[j] += dot(g->k, a, b);
                    } else {
                        for (size_t p = 0; p < g->k; p++) sums[j] += (double)a[p * step] * (double)b[p];
                    }
                }
            }
            for (size_t j = 0; j < count; j++) c[j] = (cp_real)sums[j];
        }
    }
}

static bool ref_gemm(cp_arena *scratch, bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const cp_real *a,
                     const cp_real *b, cp_real *c, bool accumulate) {
    (void)scratch;
    cp_parallel(m, 8, gemm_rows, &(matrices){trans_a, trans_b, accumulate, m, n, k, a, b, c});
    return true;
}

/* ---- convolutions ---- */

/* The result of a convolution or one of its gradients: channels in groups at [i][j][k], which are the pixels of images or,
 * for a weight gradient, rows, columns and input channels of the kernel. `add` adds to the sums of `count` channels of a group,
 * from `first` on. */
typedef struct result {
    const cp_conv_shape  *s;
    const cp_conv_fusion *fusion;
    const cp_real        *x, *w, *gy;
    cp_real              *out;
    int                   dims[4]; /* i, j, k and the channels of all groups */
    void (*add)(const struct result *r, const size_t at[3], size_t group, size_t first, size_t count, double *sums);
} result;

/* The image row (or column) that output row `i` reads with kernel row `u`; may be outside, in the padding. */
static long long source(int i, int u, int stride, int dilation, int pad) {
    return (long long)i * stride + (long long)u * dilation - pad;
}

/* The inverse: the output row that reads image row `y` with kernel row `u`, or -1 when there is none. */
static long long reader(int y, int u, int stride, int dilation, int pad, int rows) {
    const long long shifted = (long long)y + pad - (long long)u * dilation;
    if (shifted < 0 || shifted % stride != 0 || shifted / stride >= rows) return -1;
    return shifted / stride;
}

static size_t place(size_t n, size_t y, size_t x, int height, int width) { return (n * (size_t)height + y) * (size_t)width + x; }

static size_t tap(const cp_conv_shape *s, int u, int v) {
    return ((size_t)u * (size_t)s->kw + (size_t)v) * (size_t)(s->c / s->groups) * (size_t)s->k;
}

static void conv_add(const result *r, const size_t at[3], size_t group, size_t first, size_t count, double *sums) {
    const cp_conv_shape *s = r->s;
    const size_t         cg = (size_t)(s->c / s->groups), kg = (size_t)(s->k / s->groups);
    for (int u = 0; u < s->kh; u++) {
        const long long y = source((int)at[1], u, s->stride_h, s->dilation_h, s->pad_top);
        for (int v = 0; v < s->kw && y >= 0 && y < s->h; v++) {
            const long long x = source((int)at[2], v, s->stride_w, s->dilation_w, s->pad_left);
            if (x < 0 || x >= s->w) continue;
            const cp_real *in = r->x + place(at[0], (size_t)y, (size_t)x, s->h, s->w) * (size_t)s->c + group * cg;
            const cp_real *w = r->w + tap(s, u, v) + group * kg + first;
            for (size_t c = 0; c < cg; c++) add_scaled(count, (double)in[c], w + c * (size_t)s->k, sums);
        }
    }
}

static void input_grad_add(const result *r, const size_t at[3], size_t group, size_t first, size_t count, double *sums) {
    const cp_conv_shape *s = r->s;
    const size_t         kg = (size_t)(s->k / s->groups);
    for (int u = 0; u < s->kh; u++) {
        const long long i = reader((int)at[1], u, s->stride_h, s->dilation_h, s->pad_top, s->oh);
        for (int v = 0; v < s->kw && i >= 0; v++) {
            const long long j = reader((int)at[2], v, s->stride_w, s->dilation_w, s->pad_left, s->ow);
            if (j < 0) continue;
            const cp_real *gy = r->gy + place(at[0], (size_t)i, (size_t)j, s->oh, s->ow) * (size_t)s->k + group * kg;
            const cp_real *w = r->w + tap(s, u, v) + first * (size_t)s->k + group * kg;
            for (size_t c = 0; c < count; c++) sums[c] += dot(kg, gy, w + c * (size_t)s->k);
        }
    }
}

static void weight_grad_add(const result *r, const size_t at[3], size_t group, size_t first, size_t count, double *sums) {
    const cp_conv_shape *s = r->s;
    const size_t         channel = group * (size_t)(s->c / s->groups) + at[2], o = group * (size_t)(s->k / s->groups) + first;
    for (size_t n = 0; n < (size_t)s->n; n++)
        for (int i = 0; i < s->oh; i++) {
            const long long y = source(i, (int)at[0], s->stride_h, s->dilation_h, s->pad_top);
            for (int j = 0; j < s->ow && y >= 0 && y < s->h; j++) {
                const long long x = source(j, (int)at[1], s->stride_w, s->dilation_w, s->pad_left);
                if (x >= 0 && x < s->w) {
                    const cp_real in = r->x[place(n, (size_t)y, (size_t)x, s->h, s->w) * (size_t)s->c + channel];
                    add_scaled(count, (double)in, r->gy + place(n, (size_t)i, (size_t)j, s->oh, s->ow) * (size_t)s->k + o, sums);
                }
            }
        }
}

/* gain gate(sum) + residual, of number `at` of the output */
static cp_real finish(const cp_conv_fusion *f, size_t at, size_t channel, cp_real sum) {
    const cp_real gated = f->gate && !cp_signs_get(f->gate, at) ? sum * f->slope : sum;
    const cp_real value = f->gain ? f->gain[channel] * gated : gated;
    return f->residual ? value + f->residual[at] : value;
}

static void result_places(void *context, size_t begin, size_t end) {
    const result *r = context;
    const size_t  groups = (size_t)r->s->groups, all = (size_t)r->dims[3], channels = all / groups;
    const size_t  rows = (size_t)r->dims[1], columns = (size_t)r->dims[2];
    for (size_t i = begin; i < end; i++) {
        const size_t at[3] = {i / columns / rows, i / columns % rows, i % columns};
        for (size_t group = 0; group < groups; group++)
            for (size_t first = 0; first < channels; first += BLOCK) {
                const size_t count = min(BLOCK, channels - first), channel = group * channels + first;
                double       sums[BLOCK];
                for (size_t o = 0; o < count; o++) sums[o] = r->fusion->bias ? (double)r->fusion->bias[channel + o] : 0;
                r->add(r, at, group, first, count, sums);
                for (size_t o = 0; o < count; o++) {
                    const size_t to = i * all + channel + o;
                    r->out[to] = finish(r->fusion, to, channel + o, (cp_real)sums[o]);
                }
            }
    }
}

static size_t product(int a, int b, int c) { return (size_t)a * (size_t)b * (size_t)c; }

/* Computes r, with *in, the images that it reads, through scale, shift and leaky ReLU before. */
static bool result_run(cp_arena *scratch, result *r, const cp_conv_fusion *f, size_t pixels, int channels, const cp_real **in) {
    const size_t count = pixels * (size_t)channels;
    cp_real     *copy = f->leaky_input ? cp_arena_alloc(scratch, count * sizeof(cp_real)) : NULL;
    if (f->leaky_input && !copy) return false;
    for (size_t i = 0; copy && i < count; i++) {
        const size_t  c = i % (size_t)channels;
        const cp_real v = f->scale ? f->scale[c] * (*in)[i] + f->shift[c] : (*in)[i];
        copy[i] = v > 0 ? v : f->slope * v;
    }
    *in = copy ? copy : *in;
    cp_parallel(product(r->dims[0], r->dims[1], r->dims[2]), 4, result_places, r);
    cp_arena_release(scratch, copy);
    return true;
}

static bool ref_conv2d(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *w, const cp_conv_fusion *fusion,
                       cp_real *y) {
    result r = {.s = s, .fusion = fusion, .x = x, .w = w, .out = y, .dims = {s->n, s->oh, s->ow, s->k}, .add = conv_add};
    return result_run(scratch, &r, fusion, product(s->n, s->h, s->w), s->c, &r.x);
}

static bool ref_conv2d_input_grad(cp_arena *scratch, const cp_conv_shape *s, const cp_real *gy, const cp_real *w,
                                  const cp_conv_fusion *fusion, cp_real *gx) {
    result r = {.s = s, .fusion = fusion, .gy = gy, .w = w, .out = gx, .dims = {s->n, s->h, s->w, s->c}, .add = input_grad_add};
    return result_run(scratch, &r, fusion, product(s->n, s->oh, s->ow), s->k, &r.gy);
}

static bool ref_conv2d_weight_grad(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *gy,
                                   const cp_conv_fusion *fusion, cp_real *gw, cp_real *gb) {
    const cp_conv_fusion nothing = {0};
    result               r = {.s = s,
                              .fusion = &nothing,
                              .x = x,
                              .gy = gy,
                              .out = gw,
                              .dims = {s->kh, s->kw, s->c / s->groups, s->k},
                              .add = weight_grad_add};
    for (size_t o = 0; gb && o < (size_t)s->k; o++) {
        double sum = 0;
        for (size_t i = 0; i < product(s->n, s->oh, s->ow); i++) sum += (double)gy[i * (size_t)s->k + o];
        gb[o] = (cp_real)sum;
    }
    return result_run(scratch, &r, fusion, product(s->n, s->h, s->w), s->c, &r.x);
}

/* ---- one value at a time ---- */

static double logistic(double x) {
    const double e = exp(-fabs(x)); /* never overflows */
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

#define MAP(name, VALUE)                                                                                                           \
    static void ref_##name(size_t n, const cp_real *x, cp_real *y) {                                                               \
        for (size_t i = 0; i < n; i++) {                                                                                           \
            y[i] = (cp_real)VALUE;                                                                                                 \
        }                                                                                                                          \
    }
MAP(exp, exp((double)x[i]))
MAP(log, log((double)x[i]))
MAP(tanh, tanh((double)x[i]))
MAP(sigmoid, logistic((double)x[i]))

static void ref_leaky(size_t n, const cp_real *x, cp_real slope, cp_real *y) {
    for (size_t i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : slope * x[i];
}

static void ref_gate(size_t n, const cp_real *g, const cp_real *a, cp_real slope, cp_real *y) {
    for (size_t i = 0; i < n; i++) y[i] = a[i] > 0 ? g[i] : slope * g[i];
}

typedef struct addends {
    const cp_real *a, *b;
    cp_real       *y;
} addends;

static void add_part(void *context, size_t begin, size_t end) {
    const addends *s = context;
    for (size_t i = begin; i < end; i++) s->y[i] = s->a[i] + s->b[i];
}

static void ref_add(size_t n, const cp_real *a, const cp_real *b, cp_real *y) {
    cp_parallel(n, GRAIN, add_part, &(addends){a, b, y});
}

static void ref_signs(size_t rows, size_t channels, const cp_real *x, const cp_real *scale, const cp_real *shift,
                      unsigned char *signs) {
    memset(signs, 0, cp_signs_bytes(rows * channels));
    for (size_t i = 0; i < rows * channels; i++) {
        const cp_real v = scale ? scale[i % channels] * x[i] + shift[i % channels] : x[i];
        signs[i / 8] |= (unsigned char)((v > 0) << i % 8);
    }
}

#include "core/kernels/reference_norm.inc"

/* ---- the family ---- */

#define VL 1
typedef cp_real vf;

static inline vf vsplat(float x) { return x; }
static inline vf vfma(vf a, vf b, vf c) { return a * b + c; }

#include "core/kernels/fast_peak.inc"

static bool everywhere(void) { return true; }

const cp_kernel_family cp_family_reference = {.name = "reference", .supported = everywhere, CP_KERNELS_OF(ref)};
