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
#else
typedef float cp_real;
#define CP_REAL_NAME "float"
#define CP_REAL_EPSILON FLT_EPSILON
#define CP_REAL_MAX FLT_MAX
#endif

#endif
