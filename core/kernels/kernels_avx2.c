/* The fast kernels for x86-64 processors with AVX2 and FMA. Empty unless compiled with -mavx2 -mfma. */
#include "core/kernels/kernels.h"

#if !CP_DOUBLE
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#define FAMILY avx2
#define SUPPORTED (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define VL 8
#define MR 6
#define vfma(a, b, c) ((vf)_mm256_fmadd_ps(a, b, c))
#define choose(mask, yes, no) ((vf)_mm256_blendv_ps(no, yes, (vf)(mask)))
#define mask_bits(mask) ((unsigned)_mm256_movemask_ps((vf)(mask)))
#include "core/kernels/fast_family.inc"
#else
const cp_kernel_family cp_family_avx2 = {0};
#endif
#endif
