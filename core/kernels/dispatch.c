/* Chooses the kernels that run: by the processor's features, or by the environment variables COUPLET_KERNELS and COUPLET_CONV. */
#include "core/kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Best first; the reference is taken only when asked for or when there is nothing else. */
static const cp_kernel_family *const families[] = {
#if !CP_DOUBLE
    &cp_family_avx512, &cp_family_avx2, &cp_family_portable,
#endif
    &cp_family_reference};

enum { UNREAD = -1 };

/* Set by the first caller; all callers would choose the same. */
static const cp_kernel_family *chosen;
static int                     method = UNREAD;

const cp_kernel_family *cp_kernels_named(const char *name) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const cp_kernel_family *f = families[i];
        if (f->supported && f->supported() && (!name || strcmp(name, f->name) == 0)) return f;
    }
    return NULL;
}

static const cp_kernel_family *environment_family(void) {
    const char             *wanted = getenv("COUPLET_KERNELS");
    const cp_kernel_family *f = cp_kernels_named(wanted && *wanted ? wanted : NULL);
    if (!f) {
        f = cp_kernels_named(NULL);
        fprintf(stderr,
                "couplet: COUPLET_KERNELS=%s is none of avx512, avx2, portable, reference, or this machine cannot run it; "
                "using %s\n",
                wanted, f->name);
    }
    return f;
}

static int environment_method(void) {
    static const char *const names[] = {"auto", "direct", "winograd2", "winograd4"}; /* in the order of cp_conv_method */
    const char              *wanted = getenv("COUPLET_CONV");
    for (int m = 0; wanted && *wanted && m < 4; m++) {
        if (strcmp(wanted, names[m]) == 0) return m;
    }
    if (wanted && *wanted)
        fprintf(stderr, "couplet: COUPLET_CONV=%s is none of auto, direct, winograd2, winograd4; using auto\n", wanted);
    return CP_CONV_AUTO;
}

const cp_kernel_family *cp_kernels(void) {
    const cp_kernel_family *f = __atomic_load_n(&chosen, __ATOMIC_ACQUIRE);
    if (!f) {
        f = environment_family();
        __atomic_store_n(&chosen, f, __ATOMIC_RELEASE);
    }
    return f;
}

cp_conv_method cp_kernels_method(void) {
    int m = __atomic_load_n(&method, __ATOMIC_RELAXED);
    if (m == UNREAD) {
        m = environment_method();
        __atomic_store_n(&method, m, __ATOMIC_RELAXED);
    }
    return (cp_conv_method)m;
}

void cp_kernels_use(const cp_kernel_family *family, cp_conv_method wanted) {
    __atomic_store_n(&chosen, family, __ATOMIC_RELEASE);
    __atomic_store_n(&method, wanted == CP_CONV_AUTO ? UNREAD : (int)wanted, __ATOMIC_RELAXED);
}
