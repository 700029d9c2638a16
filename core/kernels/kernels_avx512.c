/* The fast kernels for x86-64 processors with AVX-512. Empty unless compiled with -mavx512f -mavx512dq -mavx512vl
 * -mavx512bw. */
#include "core/kernels/fast.h"

#if !CP_DOUBLE
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

#define VL 16
#define MR 8
typedef float   vf __attribute__((vector_size(64)));
typedef int32_t vi __attribute__((vector_size(64)));

static inline vf vsplat(float x) {
    return _mm512_set1_ps(x);
}

static inline vf vfma(vf a, vf b, vf c) {
    return _mm512_fmadd_ps(a, b, c);
}

static inline unsigned mask_bits(vi mask) {
    return _mm512_movepi32_mask((__m512i)mask);
}

static inline vf choose(vi mask, vf yes, vf no) {
    return _mm512_mask_blend_ps((__mmask16)mask_bits(mask), no, yes);
}

#define FAMILY_NAME "avx512"
#include "core/kernels/fast_family.inc"

const cp_kernel_family *cp_family_avx512(void) {
    return &family;
}
#else
const cp_kernel_family *cp_family_avx512(void) {
    return NULL;
}
#endif
#endif
