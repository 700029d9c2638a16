/* The fast kernels for x86-64 processors with AVX2 and FMA. Empty unless compiled with -mavx2 -mfma. */
#include "core/kernels/fast.h"

#if !CP_DOUBLE
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#define VL 8
#define MR 6
typedef float   vf __attribute__((vector_size(32)));
typedef int32_t vi __attribute__((vector_size(32)));

static inline vf vsplat(float x) {
    return _mm256_set1_ps(x);
}

static inline vf vfma(vf a, vf b, vf c) {
    return _mm256_fmadd_ps(a, b, c);
}

static inline vf choose(vi mask, vf yes, vf no) {
    return _mm256_blendv_ps(no, yes, (vf)mask);
}

static inline unsigned mask_bits(vi mask) {
    return (unsigned)_mm256_movemask_ps((vf)mask);
}

#define FAMILY_NAME "avx2"
#include "core/kernels/fast_family.inc"

const cp_kernel_family *cp_family_avx2(void) {
    return &family;
}
#else
const cp_kernel_family *cp_family_avx2(void) {
    return NULL;
}
#endif
#endif
