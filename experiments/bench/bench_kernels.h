/* The kernels' part of `couplet bench`. */
#ifndef CP_EXPERIMENTS_BENCH_KERNELS_H
#define CP_EXPERIMENTS_BENCH_KERNELS_H

#include <stdio.h>

void cp_bench_kernels(void);  /* prints a table; takes about half a minute */
void cp_bench_accuracy(void); /* the same for errors instead of times */

#endif
