/* The picture of `couplet bench`. */
#ifndef CP_EXPERIMENTS_BENCH_PLOT_H
#define CP_EXPERIMENTS_BENCH_PLOT_H

#include "experiments/kit/cli/options.h"

int cp_bench_plot(const cp_options *o); /* draws RATIOS.csv, the second argument, into --out; returns an exit code */

#endif
