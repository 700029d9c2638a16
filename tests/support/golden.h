/* Golden files: arrays that an independent program computed in float64, read with the library's own reader. A file
 * remembers which of its arrays were used, so that a test can check that all were. Failures are reported through Unity. */
#ifndef CP_TESTS_GOLDEN_H
#define CP_TESTS_GOLDEN_H

#include "core/io/safetensors.h"
#include "core/tensor.h"

typedef struct golden golden;

golden *golden_open(const char *name); /* a file of tests/golden */
void    golden_close(golden *file);

/* The array with the name given by the format, which now counts as used; NULL if there is none. */
const cp_st_entry *golden_find(golden *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
const cp_st_entry *golden_need(golden *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char        *golden_not_looked_at(const golden *file); /* the first unused name, or NULL */
size_t             golden_count(const golden *file);
const char        *golden_name(const golden *file, size_t index);

double golden_value(const cp_st_entry *entry, size_t index);                 /* of a float64 array */
int    golden_ints(const cp_st_entry *entry, int *out, int limit);           /* of an int64 array; returns their number */
int    golden_dims(const cp_st_entry *entry, int *dims);                     /* the rank */
void   golden_reals(const cp_st_entry *entry, cp_real *out);                 /* rounded to cp_real */
void   golden_synthetic(const char *name, double *out, size_t count);        /* golden_file.py's synthetic() */
void   golden_synthetic_reals(const char *name, cp_real *out, size_t count); /* the same numbers; they are exact */

#if CP_DOUBLE
#define GOLDEN_TOLERANCE 1e-12
#else
#define GOLDEN_TOLERANCE 1e-5
#endif

/* Checks for the same shape, and every value within tolerance times the largest finite value of the golden array. */
void golden_equals(const cp_st_entry *entry, const cp_tensor *got, double tolerance);

/* Checks for the same shape, and every value within tolerance times itself; values below the smallest normal number count
 * as zero, values beyond the largest as infinity. */
void golden_equals_each(const cp_st_entry *entry, const cp_tensor *got, double tolerance);

#endif
