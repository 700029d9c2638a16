/* What the files of `couplet bench` share. */
#pragma once

#include "experiments/kit/cli/options.h"

double cp_bench_median(double *values, int count); /* sorts them; the upper median if the count is even */

int cp_bench_kernels(const cp_options *o); /* prints a table; takes about half a minute */
