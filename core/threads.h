/* A pool of POSIX threads for loops over arrays.
 *
 * A loop is cut into chunks of `grain` items whatever the number of threads, so a result that depends only on the
 * chunks is bit-identical for any number of threads. Any thread may run any chunk. */
#pragma once

#include <stddef.h>

/* Sets the number of threads (the calling one included) for all later loops. 0 returns to the default: the environment
 * variable COUPLET_THREADS or else the number of processors available. More than 256 count as 256. */
void cp_threads_set(int threads);
int  cp_threads(void);

/* The body gets [begin, end) with begin a multiple of grain and end - begin <= grain. */
typedef void (*cp_loop_fn)(void *context, size_t begin, size_t end);

/* Runs body over 0..count in chunks of `grain` (0 counts as 1) and returns when all are done. A single chunk, and a loop started
 * from inside a loop's body, run on the calling thread. Safe to call from several threads: while one loop uses the pool, others run
 * on the threads that called them. A body must not leave by longjmp. After fork() the child has its own pool. */
void cp_parallel(size_t count, size_t grain, cp_loop_fn body, void *context);

/* Ends the pool's threads; the next loop starts them again. Also done at exit. Does nothing inside a loop's body. */
void cp_threads_stop(void);
