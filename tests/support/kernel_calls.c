/* Kernels called by tests, and numbers to call them with. */
#include "tests/support/kernel_calls.h"

#include "unity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- numbers ---- */

static uint64_t random_state;

void random_restart(void) {
    random_state = 0x9E3779B97F4A7C15u;
}

uint32_t random_u32(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

int random_between(int low, int high) {
    return low + (int)(random_u32() % (uint32_t)(high - low + 1));
}

cp_real *numbers(size_t count) {
    cp_real *p = malloc(count * sizeof(cp_real) + (count == 0));
    TEST_ASSERT_NOT_NULL(p);
    for (size_t i = 0; i < count; i++) {
        p[i] = (cp_real)((double)random_u32() / 2147483648.0 - 1.0);
    }
    return p;
}

static double distance(size_t count, const cp_real *got, const cp_real *expected, size_t depth) {
    double scale = sqrt((double)depth) / 3, worst = 0;
    for (size_t i = 0; i < count; i++) {
        const double size = fabs((double)expected[i]), difference = fabs((double)got[i] - (double)expected[i]);
        if (isnan(difference)) {
            return INFINITY;
        }
        scale = size > scale ? size : scale;
        worst = difference > worst ? difference : worst;
    }
    return worst == 0 ? 0 : worst / scale;
}

void assert_close(size_t count, const cp_real *got, const cp_real *expected, size_t depth, double tolerance, const char *message) {
    const double d = distance(count, got, expected, depth);
    if (!(d <= tolerance)) {
        char text[400];
        snprintf(text, sizeof text, "%s differs by %g, allowed %g", message, d, tolerance);
        TEST_FAIL_MESSAGE(text);
    }
}

void assert_rounded(size_t count, const cp_real *got, const double *expected, const char *message) {
    const double tolerance = sizeof(cp_real) == 4 ? 2e-7 : 1e-13;
    for (size_t i = 0; i < count; i++) {
        if (!(fabs((double)got[i] - expected[i]) <= tolerance * (1 + fabs(expected[i])))) {
            TEST_FAIL_MESSAGE(message);
        }
    }
}

/* ---- families ---- */

static const char *const families[] = {"reference", "portable", "avx2", "avx512", NULL}; /* NULL: wide */
enum { FAMILIES = sizeof families / sizeof *families };

#if CP_DOUBLE
static bool use_wide(bool on) {
    return !on;
}

#define RUN(family_call, library_call) library_call
#else
static const cp_kernel_family *own; /* NULL: the library chooses */
static cp_conv_method          own_method;

static bool use_wide(bool on) {
    own = on ? family_wide() : NULL;
    own_method = CP_CONV_AUTO;
    return true;
}

#define RUN(family_call, library_call)                                                                                             \
    do {                                                                                                                           \
        if (own) {                                                                                                                 \
            own->family_call;                                                                                                      \
        } else {                                                                                                                   \
            library_call;                                                                                                          \
        }                                                                                                                          \
    } while (0)
#endif

bool kernels_next(int *next) {
    while (*next < FAMILIES) {
        const char *family = families[(*next)++];
        if (use_wide(!family) && cp_kernels_force(family, CP_CONV_AUTO)) {
            return true;
        }
    }
    kernels_default();
    return false;
}

void kernels_reference(void) {
    use_wide(false);
    TEST_ASSERT_TRUE(cp_kernels_force("reference", CP_CONV_AUTO));
}

void kernels_default(void) {
    use_wide(false);
    TEST_ASSERT_TRUE(cp_kernels_force(NULL, CP_CONV_AUTO));
}

void kernels_method(cp_conv_method method) {
#if !CP_DOUBLE
    own_method = method;
#endif
    TEST_ASSERT_TRUE(cp_kernels_force(cp_kernels_family(), method));
}

const char *kernels_used(void) {
#if !CP_DOUBLE
    if (own) {
        return own->name;
    }
#endif
    return cp_kernels_family();
}

/* ---- calls ---- */

void call_gemm(cp_arena *scratch, bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const cp_real *a, const cp_real *b,
               cp_real *c, bool accumulate) {
    RUN(gemm(scratch, trans_a, trans_b, m, n, k, a, b, c, accumulate),
        cp_kernel_gemm(scratch, trans_a, trans_b, m, n, k, a, b, c, accumulate));
}

void call_conv2d(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *w, const cp_conv_fusion *fusion,
                 cp_real *y) {
    RUN(conv2d(scratch, s, own_method, x, w, fusion, y), cp_kernel_conv2d_fused(scratch, s, x, w, fusion, y));
}

void call_conv2d_input_grad(cp_arena *scratch, const cp_conv_shape *s, const cp_real *gy, const cp_real *w,
                            const cp_conv_fusion *fusion, cp_real *gx) {
    RUN(conv2d_input_grad(scratch, s, own_method, gy, w, fusion, gx),
        cp_kernel_conv2d_input_grad_fused(scratch, s, gy, w, fusion, gx));
}

void call_conv2d_weight_grad(cp_arena *scratch, const cp_conv_shape *s, const cp_real *x, const cp_real *gy,
                             const cp_conv_fusion *fusion, cp_real *gw, cp_real *gb) {
    RUN(conv2d_weight_grad(scratch, s, own_method, x, gy, fusion, gw, gb),
        cp_kernel_conv2d_weight_grad_fused(scratch, s, x, gy, fusion, gw, gb));
}

#define CALL_FUNCTION(name)                                                                                                        \
    void call_##name(size_t n, const cp_real *x, cp_real *y) {                                                                     \
        RUN(name(n, x, y), cp_kernel_##name(n, x, y));                                                                             \
    }
CALL_FUNCTION(exp)
CALL_FUNCTION(log)
CALL_FUNCTION(tanh)
CALL_FUNCTION(sigmoid)

void call_add(size_t n, const cp_real *a, const cp_real *b, cp_real *y) {
    RUN(add(n, a, b, y), cp_kernel_add(n, a, b, y));
}

void call_leaky(size_t n, const cp_real *x, cp_real slope, cp_real *y) {
    RUN(leaky(n, x, slope, y), cp_kernel_leaky(n, x, slope, y));
}

void call_gate(size_t n, const cp_real *g, const cp_real *a, cp_real slope, cp_real *y) {
    RUN(gate(n, g, a, slope, y), cp_kernel_gate(n, g, a, slope, y));
}

void call_signs(size_t rows, size_t channels, const cp_real *x, const cp_real *scale, const cp_real *shift, unsigned char *signs) {
    RUN(signs(rows, channels, x, scale, shift, signs), cp_kernel_signs(rows, channels, x, scale, shift, signs));
}

double call_fma_peak(void) {
#if !CP_DOUBLE
    if (own) {
        return own->fma_peak();
    }
#endif
    return cp_kernel_fma_peak();
}
