/* A family of kernels for tests only: the templates of core/kernels with vectors of 16 floats and tiles of 8 rows, as
 * AVX-512 has them, in the compiler's own notation. It runs on any processor and so finds errors in all that depends on
 * the width; the intrinsics of core/kernels/kernels_avx512.c themselves are tested only where they run. */
#include "tests/support/kernel_calls.h"

#if !CP_DOUBLE
#define VL 16
#define MR 8
typedef float   vf __attribute__((vector_size(64)));
typedef int32_t vi __attribute__((vector_size(64)));

static inline vf vsplat(float x) {
    return (vf){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

static inline vf vfma(vf a, vf b, vf c) {
    return a * b + c;
}

static inline vf choose(vi mask, vf yes, vf no) {
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

static inline unsigned mask_bits(vi mask) {
    unsigned bits = 0;
    for (int lane = 0; lane < VL; lane++) {
        bits |= (unsigned)(mask[lane] & 1) << lane;
    }
    return bits;
}

#define FAMILY_NAME "wide"
#include "core/kernels/fast_family.inc"

const cp_kernel_family *family_wide(void) {
    return &family;
}
#endif
