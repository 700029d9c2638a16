/* A family of kernels for tests only: the templates of core/kernels with vectors of 16 floats and tiles of 8 rows, as in
 * AVX-512, written with the compiler's vector extension. It runs on any processor and so finds errors in all code that
 * depends on the width; the intrinsics of core/kernels/kernels_avx512.c are tested only on processors that have them. */
#include "tests/support/kernel_calls.h"

#if !CP_DOUBLE
#define VL 16
#define MR 8
#define FAMILY wide
#define SUPPORTED true
#include "core/kernels/fast_family.inc"
#endif
