/* The number type of a build: float by default, double with -Dprecision=double. */
#pragma once

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
#define cp_built_for cp_built_for_double
#else
typedef float cp_real;
#define CP_REAL_NAME "float"
#define CP_REAL_EPSILON FLT_EPSILON
#define CP_REAL_MAX FLT_MAX
#define cp_built_for cp_built_for_float
#endif

/* An argument that is a pointer to cp_real, const or not, or NULL. Another type, such as double * in a float build, does not compile; as a
 * plain pointer it would be a warning only. (_Generic cannot do this where the macro's arguments contain commas, as in (cp_real[]){1, 2}.) */
typedef union cp_reals_in {
    const cp_real *at;
} __attribute__((transparent_union)) cp_reals_in;
typedef union cp_reals_out {
    cp_real *at;
} __attribute__((transparent_union)) cp_reals_out;

/* Whether all values are finite. */
bool cp_reals_finite(const cp_real *values, size_t count);

/* The sum of the squares of scale values[i], in double. */
double cp_reals_squares(const cp_real *values, size_t count, double scale);

/* Every program refers to this name, which depends on the precision: with a library of the other precision it does not link or start. */
extern const char                              cp_built_for[];
__attribute__((used)) static const char *const cp_precision_guard = cp_built_for;
