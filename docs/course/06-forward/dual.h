/* Dual numbers: a value and its slope, computed together. */
#ifndef COURSE_DUAL_H
#define COURSE_DUAL_H

#include <math.h>

typedef struct dual {
    double value, slope; /* slope: by how much the value grows, per unit, when the inputs move in the chosen direction */
} dual;

static long dual_products; /* how many multiplications of numbers were made, to compare costs */

static inline dual dual_make(double value, double slope) {
    return (dual){value, slope};
}

static inline dual dual_add(dual a, dual b) {
    return dual_make(a.value + b.value, a.slope + b.slope);
}

static inline dual dual_mul(dual a, dual b) {
    dual_products += 3;
    return dual_make(a.value * b.value, a.slope * b.value + a.value * b.slope);
}

static inline dual dual_tanh(dual a) {
    double y = tanh(a.value);
    dual_products += 2;
    return dual_make(y, a.slope * (1 - y * y));
}

/* A function of n numbers, written with these operations. */
typedef dual dual_function(int n, const dual *x);

#endif
