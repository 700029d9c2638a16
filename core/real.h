/* The number type of a build: float by default, double with -Dprecision=double. */
#ifndef CP_REAL_H
#define CP_REAL_H

#include "couplet_config.h"

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if CP_DOUBLE
typedef double cp_real;
#define CP_REAL_NAME "double"
#define CP_REAL_EPSILON DBL_EPSILON
#define CP_REAL_MAX DBL_MAX
/* The library has another name for it, so that a program for the one precision cannot start with the other's library. */
#define cp_tape_new cp_tape_new_double
#else
typedef float cp_real;
#define CP_REAL_NAME "float"
#define CP_REAL_EPSILON FLT_EPSILON
#define CP_REAL_MAX FLT_MAX
#endif

#endif
