/* The fast kernels for any processor: vectors of 16 bytes, in the compiler's own notation. */
#include "core/kernels/kernels.h"

#if !CP_DOUBLE
#define FAMILY portable
#define SUPPORTED true
#define VL 4
#define MR 6
#include "core/kernels/fast_family.inc"
#endif
