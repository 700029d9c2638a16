/* The hybrid's part of `couplet bench`. */
#ifndef CP_EXPERIMENTS_BENCH_HYBRID_H
#define CP_EXPERIMENTS_BENCH_HYBRID_H

/* Prints what a training step of the hybrid costs without and with the gradient penalty; returns an exit code. */
int cp_bench_hybrid(void);

#endif
