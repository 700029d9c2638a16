/* Chooses the kernels that run: by the processor's features, or by the environment variables COUPLET_KERNELS and
 * COUPLET_CONV. */
#include "core/kernels/fast.h"
#include "core/threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cp_conv_method forced_method = CP_CONV_AUTO; /* AUTO: what the environment says */

#if !CP_DOUBLE
typedef struct candidate {
    const char *name;
    const cp_kernel_family *(*family)(void);
    bool (*runs_here)(void);
} candidate;

static bool always(void) {
    return true;
}

#if defined(__x86_64__) || defined(__i386__)
static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
static bool has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw");
}
#else
static bool has_avx2(void) {
    return false;
}
static bool has_avx512(void) {
    return false;
}
#endif

static const cp_kernel_family *no_family(void) {
    return NULL;
}

/* Best first; the reference is the family with no fast kernels, taken only when asked for. */
static const candidate candidates[] = {
    {"avx512", cp_family_avx512, has_avx512},
    {"avx2", cp_family_avx2, has_avx2},
    {"portable", cp_family_portable, always},
    {"reference", no_family, always},
};

static const candidate *candidate_named(const char *name) {
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        const candidate *c = &candidates[i];
        const bool       usable = c->runs_here() && (c->family() || c->family == no_family);
        if (usable && (!name || strcmp(name, c->name) == 0)) {
            return c;
        }
    }
    return NULL;
}

static const candidate *chosen; /* set once by whoever comes first; all would choose the same */

/* What COUPLET_CONV says; read once. */
static cp_conv_method environment_method(void) {
    static const char *const names[] = {"auto", "direct", "winograd2", "winograd4"}; /* in the order of cp_conv_method */
    static int               read = -1;
    int                      method = __atomic_load_n(&read, __ATOMIC_RELAXED);
    if (method >= 0) {
        return (cp_conv_method)method;
    }
    const char *wanted = getenv("COUPLET_CONV");
    for (method = 0; wanted && *wanted && method < 4 && strcmp(wanted, names[method]) != 0;) {
        method++;
    }
    if (method == 4) {
        fprintf(stderr, "couplet: COUPLET_CONV=%s is none of auto, direct, winograd2, winograd4; using auto\n", wanted);
        method = CP_CONV_AUTO;
    }
    __atomic_store_n(&read, method, __ATOMIC_RELAXED);
    return (cp_conv_method)method;
}

static const candidate *choose(void) {
    const char      *wanted = getenv("COUPLET_KERNELS");
    const candidate *c = candidate_named(wanted && *wanted ? wanted : NULL);
    if (!c) {
        c = candidate_named(NULL);
        fprintf(stderr,
                "couplet: COUPLET_KERNELS=%s: of avx512, avx2, portable and reference this machine runs no such; using %s\n",
                wanted, c->name);
    }
    return c;
}

static const candidate *current(void) {
    const candidate *c = __atomic_load_n(&chosen, __ATOMIC_ACQUIRE);
    if (!c) {
        c = choose();
        __atomic_store_n(&chosen, c, __ATOMIC_RELEASE);
    }
    return c;
}

static const cp_kernel_family *fast(void) {
    return current()->family();
}

static cp_conv_method method(void) {
    return forced_method ? forced_method : environment_method();
}

bool cp_kernels_force(const char *family, cp_conv_method wanted) {
    const candidate *c = family ? candidate_named(family) : choose();
    if (!c) {
        return false;
    }
    __atomic_store_n(&chosen, c, __ATOMIC_RELEASE);
    forced_method = wanted;
    return true;
}

const char *cp_kernels_family(void) {
    return current()->name;
}
#else
bool cp_kernels_force(const char *family, cp_conv_method method) {
    if (family && strcmp(family, "reference") != 0) {
        return false;
    }
    forced_method = method;
    return true;
}

const char *cp_kernels_family(void) {
    return "reference";
}
#endif

/* x through scale, shift and leaky ReLU, in scratch; x itself when there is nothing to do. */
static const cp_real *leaky_copy(cp_arena *scratch, const cp_conv_fusion *f, size_t count, size_t channels, const cp_real *x) {
    if (!f->leaky_input) {
        return x;
    }
    cp_real *copy = cp_arena_alloc(scratch, count * sizeof(cp_real));
    for (size_t i = 0; copy && i < count; i++) {
        const cp_real v = f->scale ? f->scale[i % channels] * x[i] + f->shift[i % channels] : x[i];
        copy[i] = v > 0 ? v : f->slope * v;
    }
    return copy;
}

static void leaky_release(cp_arena *scratch, const cp_real *copy, const cp_real *x) {
    if (copy != x) {
        cp_arena_release(scratch, (void *)copy);
    }
}

/* out = gain gate(sum) + residual; the sum must lie elsewhere than the residual. */
static void finish(const cp_conv_fusion *f, size_t count, size_t channels, const cp_real *sum, cp_real *out) {
    for (size_t i = 0; i < count; i++) {
        const cp_real gated = f->gate && !cp_signs_get(f->gate, i) ? sum[i] * f->slope : sum[i];
        const cp_real value = f->gain ? f->gain[i % channels] * gated : gated;
        out[i] = f->residual ? value + f->residual[i] : value;
    }
}

static size_t image_size(int n, int h, int w, int c) {
    return (size_t)n * (size_t)h * (size_t)w * (size_t)c;
}

/* The reference forward convolution or (backward) input gradient with everything that is fused. */
static void ref_fused(cp_arena *scratch, const cp_conv_shape *s, bool backward, const cp_real *in, const cp_real *w,
                      const cp_conv_fusion *f, cp_real *out) {
    const size_t   image = image_size(s->n, s->h, s->w, s->c), result = image_size(s->n, s->oh, s->ow, s->k);
    const size_t   count = backward ? image : result, channels = (size_t)(backward ? s->c : s->k);
    const cp_real *rectified = leaky_copy(scratch, f, backward ? result : image, (size_t)(backward ? s->k : s->c), in);
    cp_real       *sum = f->residual == out ? cp_arena_alloc(scratch, count * sizeof(cp_real)) : out;
    if (rectified && sum) {
        if (backward) {
            cp_ref_conv2d_input_grad(s, rectified, w, sum);
            for (size_t i = 0; f->bias && i < count; i++) {
                sum[i] += f->bias[i % channels];
            }
        } else {
            cp_ref_conv2d(s, rectified, w, f->bias, sum);
        }
        finish(f, count, channels, sum, out);
    }
    if (sum != out) {
        cp_arena_release(scratch, sum);
    }
    leaky_release(scratch, rectified, in);
}

static void ref_weight_grad_fused(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *gy,
                                  const cp_conv_fusion *f, cp_real *gw, cp_real *gb) {
    const cp_real *rectified = leaky_copy(scratch, f, image_size(s->n, s->h, s->w, s->c), (size_t)s->c, x);
    if (rectified) {
        cp_ref_conv2d_weight_grad(s, rectified, gy, gw);
    }
    for (int o = 0; gb && o < s->k; o++) {
        double sum = 0;
        for (size_t i = (size_t)o; i < image_size(s->n, s->oh, s->ow, s->k); i += (size_t)s->k) {
            sum += (double)gy[i];
        }
        gb[o] = (cp_real)sum;
    }
    leaky_release(scratch, rectified, x);
}

static double logistic(double x) {
    const double e = exp(-fabs(x)); /* never overflows */
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

typedef struct elements {
    const cp_real *a, *b;
    cp_real        slope, *y;
} elements;

/* y[i] = VALUE, in terms of a, b and slope; a part of the array at a time, on the pool. */
#define REFERENCE(name, VALUE)                                                                                                     \
    static void name##_part(void *context, size_t begin, size_t end) {                                                             \
        const elements *e = context;                                                                                               \
        const cp_real   slope = e->slope;                                                                                          \
        (void)slope;                                                                                                               \
        for (size_t i = begin; i < end; i++) {                                                                                     \
            const cp_real a = e->a[i], b = e->b[i];                                                                                \
            (void)b;                                                                                                               \
            e->y[i] = (cp_real)(VALUE);                                                                                            \
        }                                                                                                                          \
    }                                                                                                                              \
    static void name(size_t n, const cp_real *a, const cp_real *b, cp_real slope, cp_real *y) {                                    \
        cp_parallel(n, 1 << 14, name##_part, &(elements){a, b, slope, y});                                                         \
    }
REFERENCE(ref_exp, exp((double)a))
REFERENCE(ref_log, log((double)a))
REFERENCE(ref_tanh, tanh((double)a))
REFERENCE(ref_sigmoid, logistic((double)a))
REFERENCE(ref_add, a + b)
REFERENCE(ref_leaky, a > 0 ? a : slope * a)
REFERENCE(ref_gate, b > 0 ? a : slope * a)

static void ref_signs(size_t rows, size_t channels, const cp_real *x, const cp_real *scale, const cp_real *shift,
                      unsigned char *signs) {
    memset(signs, 0, cp_signs_bytes(rows * channels));
    for (size_t i = 0; i < rows * channels; i++) {
        const cp_real v = scale ? scale[i % channels] * x[i] + shift[i % channels] : x[i];
        signs[i / 8] |= (unsigned char)((v > 0) << i % 8);
    }
}

#define VL 1
typedef cp_real vf;

static inline vf vsplat(float x) {
    return x;
}

static inline vf vfma(vf a, vf b, vf c) {
    return a * b + c;
}

#include "core/kernels/fast_peak.inc"

#if CP_DOUBLE
#define RUN(fast_call, reference_call) reference_call
#else
#define RUN(fast_call, reference_call)                                                                                             \
    do {                                                                                                                           \
        const cp_kernel_family *family = fast();                                                                                   \
        if (family) {                                                                                                              \
            family->fast_call;                                                                                                     \
        } else {                                                                                                                   \
            reference_call;                                                                                                        \
        }                                                                                                                          \
    } while (0)
#endif

void cp_kernel_gemm(cp_arena *scratch, bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const cp_real *a, const cp_real *b,
                    cp_real *c, bool accumulate) {
    (void)scratch;
    RUN(gemm(scratch, trans_a, trans_b, m, n, k, a, b, c, accumulate), cp_ref_gemm(trans_a, trans_b, m, n, k, a, b, c, accumulate));
}

void cp_kernel_conv2d_fused(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *w,
                            const cp_conv_fusion *fusion, cp_real *y) {
    RUN(conv2d(scratch, s, method(), x, w, fusion, y), ref_fused(scratch, s, false, x, w, fusion, y));
}

void cp_kernel_conv2d_input_grad_fused(cp_arena *scratch, const cp_conv_shape *s, const cp_real *gy, const cp_real *w,
                                       const cp_conv_fusion *fusion, cp_real *gx) {
    RUN(conv2d_input_grad(scratch, s, method(), gy, w, fusion, gx), ref_fused(scratch, s, true, gy, w, fusion, gx));
}

void cp_kernel_conv2d_weight_grad_fused(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *gy,
                                        const cp_conv_fusion *fusion, cp_real *gw, cp_real *gb) {
    RUN(conv2d_weight_grad(scratch, s, method(), x, gy, fusion, gw, gb), ref_weight_grad_fused(scratch, s, x, gy, fusion, gw, gb));
}

void cp_kernel_conv2d(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *w, const cp_real *bias,
                      cp_real *y) {
    cp_kernel_conv2d_fused(scratch, s, x, w, &(cp_conv_fusion){.bias = bias}, y);
}

void cp_kernel_conv2d_input_grad(cp_arena *scratch, const cp_conv_shape *s, const cp_real *gy, const cp_real *w, cp_real *gx) {
    cp_kernel_conv2d_input_grad_fused(scratch, s, gy, w, &(cp_conv_fusion){0}, gx);
}

void cp_kernel_conv2d_weight_grad(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *gy, cp_real *gw) {
    cp_kernel_conv2d_weight_grad_fused(scratch, s, x, gy, &(cp_conv_fusion){0}, gw, NULL);
}

void cp_kernel_exp(size_t n, const cp_real *x, cp_real *y) {
    RUN(exp(n, x, y), ref_exp(n, x, x, 0, y));
}

void cp_kernel_log(size_t n, const cp_real *x, cp_real *y) {
    RUN(log(n, x, y), ref_log(n, x, x, 0, y));
}

void cp_kernel_tanh(size_t n, const cp_real *x, cp_real *y) {
    RUN(tanh(n, x, y), ref_tanh(n, x, x, 0, y));
}

void cp_kernel_sigmoid(size_t n, const cp_real *x, cp_real *y) {
    RUN(sigmoid(n, x, y), ref_sigmoid(n, x, x, 0, y));
}

void cp_kernel_add(size_t n, const cp_real *a, const cp_real *b, cp_real *y) {
    RUN(add(n, a, b, y), ref_add(n, a, b, 0, y));
}

void cp_kernel_leaky(size_t n, const cp_real *x, cp_real slope, cp_real *y) {
    RUN(leaky(n, x, slope, y), ref_leaky(n, x, x, slope, y));
}

void cp_kernel_gate(size_t n, const cp_real *g, const cp_real *a, cp_real slope, cp_real *y) {
    RUN(gate(n, g, a, slope, y), ref_gate(n, g, a, slope, y));
}

void cp_kernel_signs(size_t rows, size_t channels, const cp_real *x, const cp_real *scale, const cp_real *shift,
                     unsigned char *signs) {
    RUN(signs(rows, channels, x, scale, shift, signs), ref_signs(rows, channels, x, scale, shift, signs));
}

double cp_kernel_fma_peak(void) {
#if !CP_DOUBLE
    if (fast()) {
        return fast()->fma_peak();
    }
#endif
    return fma_peak();
}
