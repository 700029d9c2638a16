/* The fast kernels for any processor: vectors of 16 bytes, in the compiler's own notation. */
#include "core/kernels/fast.h"

#if !CP_DOUBLE
#define VL 4
#define MR 6
typedef float   vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));

static inline vf vsplat(float x) {
    return (vf){x, x, x, x};
}

static inline vf vfma(vf a, vf b, vf c) {
    return a * b + c;
}

static inline vf choose(vi mask, vf yes, vf no) {
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

static inline unsigned mask_bits(vi mask) {
    const vi bits = mask & (vi){1, 2, 4, 8};
    return (unsigned)(bits[0] | bits[1] | bits[2] | bits[3]);
}

#define FAMILY_NAME "portable"
#include "core/kernels/fast_family.inc"

const cp_kernel_family *cp_family_portable(void) {
    return &family;
}
#endif
