/* The reference kernels: plain loops for any stride, padding, dilation and groups, in either precision. Sums are kept
 * in double, a block of output channels at a time, so that what the fast kernels are measured against is itself exact
 * enough. */
#include "core/kernels/kernels.h"
#include "core/threads.h"

enum { BLOCK = 64 }; /* sums kept at once */

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* sums[j] += a * b[j] */
static void add_scaled(size_t n, double a, const cp_real *b, double *sums) {
    for (size_t j = 0; j < n; j++) {
        sums[j] += a * (double)b[j];
    }
}

/* sum a[j] b[j], in four interleaved sums: an order the compiler may vectorize. */
static double dot(size_t n, const cp_real *a, const cp_real *b) {
    double sums[4] = {0};
    size_t j = 0;
    for (; j + 4 <= n; j += 4) {
        for (size_t lane = 0; lane < 4; lane++) {
            sums[lane] += (double)a[j + lane] * (double)b[j + lane];
        }
    }
    for (; j < n; j++) {
        sums[0] += (double)a[j] * (double)b[j];
    }
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
            const size_t count = least(BLOCK, g->n - first);
            cp_real     *c = g->c + i * g->n + first;
            double       sums[BLOCK];
            for (size_t j = 0; j < count; j++) {
                sums[j] = g->accumulate ? (double)c[j] : 0;
            }
            if (!g->trans_b) {
                for (size_t p = 0; p < g->k; p++) {
                    add_scaled(count, (double)a[p * step], g->b + p * g->n + first, sums);
                }
            } else {
                for (size_t j = 0; j < count; j++) {
                    const cp_real *b = g->b + (first + j) * g->k;
                    if (step == 1) {
                        sums[j] += dot(g->k, a, b);
                    } else {
                        for (size_t p = 0; p < g->k; p++) {
                            sums[j] += (double)a[p * step] * (double)b[p];
                        }
                    }
                }
            }
            for (size_t j = 0; j < count; j++) {
                c[j] = (cp_real)sums[j];
            }
        }
    }
}

void cp_ref_gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const cp_real *a, const cp_real *b, cp_real *c,
                 bool accumulate) {
    matrices g = {trans_a, trans_b, accumulate, m, n, k, a, b, c};
    cp_parallel(m, 8, gemm_rows, &g);
}

typedef struct images {
    const cp_conv_shape *s;
    const cp_real       *x, *w, *bias, *gy;
    cp_real             *out;
} images;

/* The image row (or column) that output row `i` reads with kernel row `u`; may lie outside, in the padding. */
static long long source(int i, int u, int stride, int dilation, int pad) {
    return (long long)i * stride + (long long)u * dilation - pad;
}

/* The other way round: the output row that reads image row `y` with kernel row `u`, or -1 when there is none. */
static long long reader(int y, int u, int stride, int dilation, int pad, int rows) {
    const long long shifted = (long long)y + pad - (long long)u * dilation;
    if (shifted < 0 || shifted % stride != 0 || shifted / stride >= rows) {
        return -1;
    }
    return shifted / stride;
}

static size_t pixel(size_t n, size_t y, size_t x, int height, int width) {
    return (n * (size_t)height + y) * (size_t)width + x;
}

static size_t tap(const cp_conv_shape *s, int u, int v) {
    return ((size_t)u * (size_t)s->kw + (size_t)v) * (size_t)(s->c / s->groups) * (size_t)s->k;
}

/* Output channels [first, first + count), all of one group, of the pixel (n, i, j). */
static void conv_pixel(const images *m, size_t n, int i, int j, size_t group, size_t first, size_t count) {
    const cp_conv_shape *s = m->s;
    const size_t         cg = (size_t)(s->c / s->groups);
    double               sums[BLOCK];
    for (size_t o = 0; o < count; o++) {
        sums[o] = m->bias ? (double)m->bias[first + o] : 0;
    }
    for (int u = 0; u < s->kh; u++) {
        const long long y = source(i, u, s->stride_h, s->dilation_h, s->pad_top);
        for (int v = 0; v < s->kw && y >= 0 && y < s->h; v++) {
            const long long x = source(j, v, s->stride_w, s->dilation_w, s->pad_left);
            if (x < 0 || x >= s->w) {
                continue;
            }
            const cp_real *in = m->x + pixel(n, (size_t)y, (size_t)x, s->h, s->w) * (size_t)s->c + group * cg;
            const cp_real *w = m->w + tap(s, u, v) + first;
            for (size_t c = 0; c < cg; c++) {
                add_scaled(count, (double)in[c], w + c * (size_t)s->k, sums);
            }
        }
    }
    cp_real *out = m->out + pixel(n, (size_t)i, (size_t)j, s->oh, s->ow) * (size_t)s->k + first;
    for (size_t o = 0; o < count; o++) {
        out[o] = (cp_real)sums[o];
    }
}

static void conv_rows(void *context, size_t begin, size_t end) {
    const images        *m = context;
    const cp_conv_shape *s = m->s;
    const size_t         kg = (size_t)(s->k / s->groups);
    for (size_t row = begin; row < end; row++) {
        const size_t n = row / (size_t)s->oh;
        const int    i = (int)(row % (size_t)s->oh);
        for (int j = 0; j < s->ow; j++) {
            for (size_t group = 0; group < (size_t)s->groups; group++) {
                for (size_t o = 0; o < kg; o += BLOCK) {
                    conv_pixel(m, n, i, j, group, group * kg + o, least(BLOCK, kg - o));
                }
            }
        }
    }
}

void cp_ref_conv2d(const cp_conv_shape *s, const cp_real *x, const cp_real *w, const cp_real *bias, cp_real *y) {
    images m = {.s = s, .x = x, .w = w, .bias = bias, .out = y};
    cp_parallel((size_t)s->n * (size_t)s->oh, 1, conv_rows, &m);
}

/* Channels [first, first + count), all of one group, of the gradient at the pixel (n, y, x). */
static void input_grad_pixel(const images *m, size_t n, int y, int x, size_t group, size_t first, size_t count) {
    const cp_conv_shape *s = m->s;
    const size_t         cg = (size_t)(s->c / s->groups), kg = (size_t)(s->k / s->groups);
    double               sums[BLOCK] = {0};
    for (int u = 0; u < s->kh; u++) {
        const long long i = reader(y, u, s->stride_h, s->dilation_h, s->pad_top, s->oh);
        for (int v = 0; v < s->kw && i >= 0; v++) {
            const long long j = reader(x, v, s->stride_w, s->dilation_w, s->pad_left, s->ow);
            if (j < 0) {
                continue;
            }
            const cp_real *gy = m->gy + pixel(n, (size_t)i, (size_t)j, s->oh, s->ow) * (size_t)s->k + group * kg;
            const cp_real *w = m->w + tap(s, u, v) + (first - group * cg) * (size_t)s->k + group * kg;
            for (size_t c = 0; c < count; c++) {
                sums[c] += dot(kg, gy, w + c * (size_t)s->k);
            }
        }
    }
    cp_real *out = m->out + pixel(n, (size_t)y, (size_t)x, s->h, s->w) * (size_t)s->c + first;
    for (size_t c = 0; c < count; c++) {
        out[c] = (cp_real)sums[c];
    }
}

static void input_grad_rows(void *context, size_t begin, size_t end) {
    const images        *m = context;
    const cp_conv_shape *s = m->s;
    const size_t         cg = (size_t)(s->c / s->groups);
    for (size_t row = begin; row < end; row++) {
        const size_t n = row / (size_t)s->h;
        const int    y = (int)(row % (size_t)s->h);
        for (int x = 0; x < s->w; x++) {
            for (size_t group = 0; group < (size_t)s->groups; group++) {
                for (size_t c = 0; c < cg; c += BLOCK) {
                    input_grad_pixel(m, n, y, x, group, group * cg + c, least(BLOCK, cg - c));
                }
            }
        }
    }
}

void cp_ref_conv2d_input_grad(const cp_conv_shape *s, const cp_real *gy, const cp_real *w, cp_real *gx) {
    images m = {.s = s, .w = w, .gy = gy, .out = gx};
    cp_parallel((size_t)s->n * (size_t)s->h, 1, input_grad_rows, &m);
}

/* gw[u, v, c, first .. first + count): one channel of the images against `count` channels of the output's gradient. */
static void weight_grad_block(const images *m, int u, int v, size_t c, size_t channel, size_t first, size_t count) {
    const cp_conv_shape *s = m->s;
    double               sums[BLOCK] = {0};
    for (size_t n = 0; n < (size_t)s->n; n++) {
        for (int i = 0; i < s->oh; i++) {
            const long long y = source(i, u, s->stride_h, s->dilation_h, s->pad_top);
            for (int j = 0; j < s->ow && y >= 0 && y < s->h; j++) {
                const long long x = source(j, v, s->stride_w, s->dilation_w, s->pad_left);
                if (x < 0 || x >= s->w) {
                    continue;
                }
                const cp_real in = m->x[pixel(n, (size_t)y, (size_t)x, s->h, s->w) * (size_t)s->c + channel];
                add_scaled(count, (double)in, m->gy + pixel(n, (size_t)i, (size_t)j, s->oh, s->ow) * (size_t)s->k + first, sums);
            }
        }
    }
    cp_real *out = m->out + tap(s, u, v) + c * (size_t)s->k + first;
    for (size_t o = 0; o < count; o++) {
        out[o] = (cp_real)sums[o];
    }
}

static void weight_grad_rows(void *context, size_t begin, size_t end) {
    const images        *m = context;
    const cp_conv_shape *s = m->s;
    const size_t         cg = (size_t)(s->c / s->groups), kg = (size_t)(s->k / s->groups);
    for (size_t row = begin; row < end; row++) {
        const size_t c = row % cg;
        const int    u = (int)(row / cg / (size_t)s->kw), v = (int)(row / cg % (size_t)s->kw);
        for (size_t group = 0; group < (size_t)s->groups; group++) {
            for (size_t o = 0; o < kg; o += BLOCK) {
                weight_grad_block(m, u, v, c, group * cg + c, group * kg + o, least(BLOCK, kg - o));
            }
        }
    }
}

void cp_ref_conv2d_weight_grad(const cp_conv_shape *s, const cp_real *x, const cp_real *gy, cp_real *gw) {
    images m = {.s = s, .x = x, .gy = gy, .out = gw};
    cp_parallel((size_t)s->kh * (size_t)s->kw * (size_t)(s->c / s->groups), 1, weight_grad_rows, &m);
}
