/* Sums and maxima. A long axis is cut into blocks of fixed length, summed apart and added in order, so that the result does
 * not depend on the number of threads. */
#include "core/kernels/reduce.h"

#include "core/threads.h"

enum { BLOCK = 8192, GRAIN = 16384, MIN_ROWS = 64 }; /* values, values, rows */

typedef struct sum_job {
    size_t         count, inner, block, blocks; /* `block` rows make a block */
    const cp_real *x;
    double        *partial; /* (outer, blocks, inner) */
} sum_job;

static double sum_run(const cp_real *x, size_t n) {
    double s[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) s[k] += (double)x[i + (size_t)k];
    for (; i < n; i++) s[0] += (double)x[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static void sum_blocks(void *context, size_t begin, size_t end) {
    const sum_job *job = context;
    for (size_t b = begin; b < end; b++) {
        size_t         outer = b / job->blocks, first = b % job->blocks * job->block;
        size_t         rows = job->count - first < job->block ? job->count - first : job->block;
        const cp_real *x = job->x + (outer * job->count + first) * job->inner;
        double *restrict sum = job->partial + b * job->inner;
        if (job->inner == 1) {
            *sum = sum_run(x, rows);
            continue;
        }
        for (size_t i = 0; i < job->inner; i++) sum[i] = 0;
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < job->inner; i++) sum[i] += (double)x[r * job->inner + i];
    }
}

bool cp_kernel_sum(cp_arena *scratch, size_t outer, size_t count, size_t inner, const cp_real *x, cp_real *y) {
    if (!outer || !inner) return true;
    sum_job job = {.count = count, .inner = inner, .x = x};
    job.block = inner * MIN_ROWS < BLOCK ? BLOCK / inner : MIN_ROWS;
    job.blocks = count ? (count + job.block - 1) / job.block : 1;
    job.partial = cp_arena_alloc(scratch, outer * job.blocks * inner * sizeof(double));
    if (!job.partial) return false;
    size_t work = (count < job.block ? count + 1 : job.block) * inner;
    cp_parallel(outer * job.blocks, work < GRAIN ? GRAIN / work : 1, sum_blocks, &job);
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < inner; i++) {
            double sum = 0;
            for (size_t b = 0; b < job.blocks; b++) sum += job.partial[(o * job.blocks + b) * inner + i];
            y[o * inner + i] = (cp_real)sum;
        }
    cp_arena_release(scratch, job.partial);
    return true;
}

typedef struct max_job {
    size_t         count, inner;
    const cp_real *x;
    cp_real       *y;
} max_job;

static void max_part(void *context, size_t begin, size_t end) {
    const max_job *job = context;
    for (size_t o = begin; o < end; o++) {
        const cp_real *x = job->x + o * job->count * job->inner;
        cp_real       *y = job->y + o * job->inner;
        for (size_t i = 0; i < job->inner; i++) y[i] = x[i];
        for (size_t r = 1; r < job->count; r++)
            for (size_t i = 0; i < job->inner; i++) {
                cp_real value = x[r * job->inner + i];
                if (value > y[i] || value != value) y[i] = value;
            }
    }
}

void cp_kernel_max(size_t outer, size_t count, size_t inner, const cp_real *x, cp_real *y) {
    size_t work = count * inner;
    if (outer && inner) cp_parallel(outer, work < GRAIN ? GRAIN / (work + 1) + 1 : 1, max_part, &(max_job){count, inner, x, y});
}
