/* Time and medians, for all parts of `couplet bench`. */
#ifndef CP_EXPERIMENTS_BENCH_TIME_H
#define CP_EXPERIMENTS_BENCH_TIME_H

double cp_bench_seconds(void);                     /* of a clock that runs on its own */
double cp_bench_median(double *values, int count); /* sorts them; the larger of the middle two */

#endif
