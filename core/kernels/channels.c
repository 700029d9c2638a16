/* Per-channel work on (rows, channels). */
#include "core/kernels/channels.h"

#include "core/threads.h"

enum { BLOCK = 8192, GRAIN = 16384 }; /* values */

static size_t rows_in(size_t values, size_t channels) { return channels < values ? values / channels : 1; }

/* ---- sums over rows ---- */

typedef struct sums_job {
    size_t         rows, channels, block;
    const cp_real *g, *x, *mean, *rstd;
    cp_real       *first, *second; /* (blocks, channels): mean and sum of squares about it, or the two sums */
} sums_job;

static void moments_blocks(void *context, size_t begin, size_t end) {
    const sums_job *job = context;
    size_t          channels = job->channels;
    for (size_t b = begin; b < end; b++) {
        size_t         n = job->rows - b * job->block < job->block ? job->rows - b * job->block : job->block;
        const cp_real *x = job->x + b * job->block * channels;
        cp_real *restrict mean = job->first + b * channels, *restrict square = job->second + b * channels;
        for (size_t c = 0; c < channels; c++) mean[c] = square[c] = 0;
        for (size_t r = 1; r < n; r++) /* of differences from the first row: a large common offset would lose digits of the sum */
            for (size_t c = 0; c < channels; c++) mean[c] += x[r * channels + c] - x[c];
        for (size_t c = 0; c < channels; c++) mean[c] = x[c] + mean[c] / (cp_real)n;
        for (size_t r = 0; r < n; r++) /* the block is still in cache */
            for (size_t c = 0; c < channels; c++) {
                cp_real d = x[r * channels + c] - mean[c];
                square[c] += d * d;
            }
    }
}

static void sums_blocks(void *context, size_t begin, size_t end) {
    const sums_job *job = context;
    size_t          channels = job->channels;
    for (size_t b = begin; b < end; b++) {
        size_t         n = job->rows - b * job->block < job->block ? job->rows - b * job->block : job->block;
        const cp_real *g = job->g + b * job->block * channels, *x = job->x + b * job->block * channels;
        cp_real *restrict first = job->first + b * channels, *restrict second = job->second + b * channels;
        for (size_t c = 0; c < channels; c++) first[c] = second[c] = 0;
        for (size_t r = 0; r < n; r++)
            for (size_t c = 0; c < channels; c++) {
                cp_real v = g[r * channels + c];
                first[c] += v;
                second[c] += v * (x[r * channels + c] - job->mean[c]);
            }
    }
}

static size_t blocks_run(cp_arena *scratch, sums_job *job, cp_loop_fn body) {
    job->block = rows_in(BLOCK, job->channels);
    size_t blocks = (job->rows + job->block - 1) / job->block;
    job->first = cp_arena_alloc(scratch, 2 * blocks * job->channels * sizeof *job->first);
    if (!job->first) return 0;
    job->second = job->first + blocks * job->channels;
    cp_parallel(blocks, 2, body, job);
    return blocks;
}

bool cp_kernel_moments(cp_arena *scratch, size_t rows, size_t channels, const cp_real *x, cp_real *mean, cp_real *variance) {
    sums_job job = {.rows = rows, .channels = channels, .x = x};
    size_t   blocks = blocks_run(scratch, &job, moments_blocks);
    if (!blocks) return false;
    for (size_t c = 0; c < channels; c++) {
        double count = 0, center = 0, square = 0;
        for (size_t b = 0; b < blocks; b++) {
            double n = (double)(rows - b * job.block < job.block ? rows - b * job.block : job.block);
            double d = (double)job.first[b * channels + c] - center;
            center += d * n / (count + n);
            square += (double)job.second[b * channels + c] + d * d * count * n / (count + n);
            count += n;
        }
        mean[c] = (cp_real)center;
        variance[c] = (cp_real)(square / count);
    }
    cp_arena_release(scratch, job.first);
    return true;
}

bool cp_kernel_norm_sums(cp_arena *scratch, size_t rows, size_t channels, const cp_real *g, const cp_real *x, const cp_real *mean,
                         const cp_real *rstd, cp_real *sum_g, cp_real *sum_gx) {
    sums_job job = {.rows = rows, .channels = channels, .g = g, .x = x, .mean = mean};
    size_t   blocks = blocks_run(scratch, &job, sums_blocks);
    if (!blocks) return false;
    for (size_t c = 0; c < channels; c++) {
        double first = 0, second = 0;
        for (size_t b = 0; b < blocks; b++) {
            first += (double)job.first[b * channels + c];
            second += (double)job.second[b * channels + c];
        }
        sum_g[c] = (cp_real)first;
        sum_gx[c] = (cp_real)(second * (double)rstd[c]);
    }
    cp_arena_release(scratch, job.first);
    return true;
}

/* ---- one value at a time ---- */

typedef struct apply_job {
    size_t         channels;
    const cp_real *g, *of_g, *x, *center, *scale, *shift;
    cp_real       *y;
} apply_job;

static void scale_shift_rows(void *context, size_t begin, size_t end) {
    const apply_job *job = context;
    size_t           channels = job->channels;
    const cp_real   *center = job->center, *scale = job->scale, *shift = job->shift;
    for (size_t r = begin; r < end; r++) {
        const cp_real *x = job->x + r * channels;
        cp_real *restrict y = job->y + r * channels;
        if (center)
            for (size_t c = 0; c < channels; c++) y[c] = scale[c] * (x[c] - center[c]) + shift[c];
        else
            for (size_t c = 0; c < channels; c++) y[c] = scale[c] * x[c] + shift[c];
    }
}

static void norm_grad_rows(void *context, size_t begin, size_t end) {
    const apply_job *job = context;
    size_t           channels = job->channels;
    const cp_real   *of_g = job->of_g, *center = job->center, *scale = job->scale, *shift = job->shift;
    for (size_t r = begin; r < end; r++) {
        const cp_real *x = job->x + r * channels, *g = job->g + r * channels;
        cp_real *restrict y = job->y + r * channels;
        for (size_t c = 0; c < channels; c++) y[c] = of_g[c] * g[c] + (scale[c] * (x[c] - center[c]) + shift[c]);
    }
}

void cp_kernel_scale_shift(size_t rows, size_t channels, const cp_real *x, const cp_real *center, const cp_real *scale,
                           const cp_real *shift, cp_real *y) {
    apply_job job = {.channels = channels, .x = x, .center = center, .scale = scale, .shift = shift, .y = y};
    if (channels) cp_parallel(rows, rows_in(GRAIN, channels), scale_shift_rows, &job);
}

void cp_kernel_norm_grad(size_t rows, size_t channels, const cp_real *g, const cp_real *of_g, const cp_real *x,
                         const cp_real *center, const cp_real *scale, const cp_real *shift, cp_real *y) {
    apply_job job = {channels, g, of_g, x, center, scale, shift, y};
    if (channels) cp_parallel(rows, rows_in(GRAIN, channels), norm_grad_rows, &job);
}
