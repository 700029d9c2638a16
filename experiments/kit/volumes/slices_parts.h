/* What the files of slices share. */
#ifndef CP_KIT_SLICES_PARTS_H
#define CP_KIT_SLICES_PARTS_H

#include "experiments/kit/volumes/slices.h"

/* Sums over slices, from which `upright` is lean / area. */
typedef struct cp_outline {
    double area, lean;
} cp_outline;

void cp_outline_add(cp_outline *outline, const float *slice, int rows, int columns); /* (rows, columns), normalized */

#endif
