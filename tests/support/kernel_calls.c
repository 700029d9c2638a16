/* Calls kernels for tests, and makes the numbers to call them with. */
#include "tests/support/kernel_calls.h"

#include "core/threads.h"
#include "unity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static uint64_t random_state;

void random_restart(void) { random_state = 0x9E3779B97F4A7C15u; }

uint32_t random_u32(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

int random_between(int low, int high) { return low + (int)(random_u32() % (uint32_t)(high - low + 1)); }

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

static const char *const families[] = {"reference", "portable", "avx2", "avx512", "wide"};
enum { FAMILIES = sizeof families / sizeof *families };

bool kernels_next(int *next) {
    while (*next < FAMILIES) {
        const char             *name = families[(*next)++];
        const cp_kernel_family *family = cp_kernels_named(name);
#if !CP_DOUBLE
        family = family || strcmp(name, "wide") != 0 ? family : &cp_family_wide;
#endif
        if (family) {
            cp_kernels_use(family, CP_CONV_AUTO);
            return true;
        }
    }
    kernels_default();
    return false;
}

void kernels_reference(void) { cp_kernels_use(&cp_family_reference, CP_CONV_AUTO); }

void kernels_default(void) { cp_kernels_use(NULL, CP_CONV_AUTO); }

void kernels_method(cp_conv_method method) { cp_kernels_use(cp_kernels(), method); }

static cp_arena *arena;

cp_arena *kernels_begin(void) {
    random_restart();
    arena = cp_arena_new();
    TEST_ASSERT_NOT_NULL(arena);
    return arena;
}

void kernels_end(void) {
    TEST_ASSERT_EQUAL_MESSAGE(0, cp_arena_used(arena), "a kernel kept some of its scratch memory");
    cp_arena_free(arena);
    kernels_default();
    cp_threads_set(0);
}
