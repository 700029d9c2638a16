/* The fast kernels for x86-64 processors with AVX-512. Empty unless compiled with -mavx512f -mavx512dq -mavx512vl -mavx512bw. */
#include "core/kernels/kernels.h"

#if !CP_DOUBLE
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

#define HAS(feature) __builtin_cpu_supports(feature)
#define FAMILY avx512
#define SUPPORTED (HAS("avx512f") && HAS("avx512dq") && HAS("avx512vl") && HAS("avx512bw"))
#define VL 16
#define MR 8
#define vfma(a, b, c) ((vf)_mm512_fmadd_ps(a, b, c))
#define choose(mask, yes, no) ((vf)_mm512_mask_blend_ps((__mmask16)mask_bits(mask), no, yes))
#define mask_bits(mask) ((unsigned)_mm512_movepi32_mask((__m512i)(mask)))
#include "core/kernels/fast_family.inc"
#else
const cp_kernel_family cp_family_avx512 = {0};
#endif
#endif
