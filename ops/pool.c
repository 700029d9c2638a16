/* Pooling of images (N,H,W,C). */
#include "core/op.h"
#include "core/threads.h"
#include "ops/ops.h"

typedef struct window {
    int              x[4], y[4]; /* shapes of the image and of the result */
    cp_pool2d_config c;
} window;

static bool window_plan(cp_at at, const char *op, const int *x, cp_pool2d_config c, window *win) {
    if (!cp_shape_check(at, op, cp_shape_of(4, x))) return false;
    if (!c.stride_h) c.stride_h = c.window_h;
    if (!c.stride_w) c.stride_w = c.window_w;
    if (c.window_h < 1 || c.window_w < 1 || c.stride_h < 1 || c.stride_w < 1)
        return cp_misuse(at, op, "window (%d, %d) and stride (%d, %d) must be positive", c.window_h, c.window_w, c.stride_h,
                         c.stride_w);
    if (c.pad_top < 0 || c.pad_bottom < 0 || c.pad_left < 0 || c.pad_right < 0 || c.pad_top >= c.window_h ||
        c.pad_bottom >= c.window_h || c.pad_left >= c.window_w || c.pad_right >= c.window_w)
        return cp_misuse(at, op, "padding must be smaller than the window (%d, %d) and not negative", c.window_h, c.window_w);
    int64_t room_h = (int64_t)x[1] + c.pad_top + c.pad_bottom - c.window_h;
    int64_t room_w = (int64_t)x[2] + c.pad_left + c.pad_right - c.window_w;
    if (room_h < 0 || room_w < 0 || room_h >= INT32_MAX || room_w >= INT32_MAX || !x[1] || !x[2])
        return cp_misuse(at, op, "window (%d, %d) does not fit into the padded image %s", c.window_h, c.window_w,
                         cp_dims_text(cp_shape_of(4, x)).s);
    *win = (window){{x[0], x[1], x[2], x[3]}, {x[0], (int)room_h / c.stride_h + 1, (int)room_w / c.stride_w + 1, x[3]}, c};
    return true;
}

static bool is_image(cp_at at, const char *op, cp_tensor *x) {
    if (!cp_check(at, op, 1, &x)) return false;
    return x->rank == 4 || cp_misuse(at, op, "x has shape %s; an image batch is (N, H, W, C)", cp_shape_text(x).s);
}

/* The part of the image that window i covers along an axis: [*from, *to). */
static void span(int i, int stride, int pad, int size, int limit, int *from, int *to) {
    int first = i * stride - pad, last = first + size;
    *from = first > 0 ? first : 0;
    *to = last < limit ? last : limit;
}

/* The index of the first channel of pixel (n, i, j) in an array of shape d. */
static size_t pixel(const int *d, size_t n, int i, int j) {
    return ((n * (size_t)d[1] + (size_t)i) * (size_t)d[2] + (size_t)j) * (size_t)d[3];
}

/* The pixels that one window covers, rows [top, bottom) and columns [left, right) of image n, and where its result is. */
typedef struct patch {
    size_t n, result;
    int    top, bottom, left, right;
} patch;

typedef struct pool_job {
    void (*body)(const struct pool_job *job, patch p); /* for each window */
    const window *win;
    cp_real      *x, *y;  /* image side, result side */
    int          *places; /* indices of the largest values */
} pool_job;

static void pool_images(void *context, size_t begin, size_t end) {
    const pool_job *job = context;
    const window   *w = job->win;
    for (size_t n = begin; n < end; n++)
        for (int i = 0; i < w->y[1]; i++)
            for (int j = 0; j < w->y[2]; j++) {
                patch p = {.n = n, .result = pixel(w->y, n, i, j)};
                span(i, w->c.stride_h, w->c.pad_top, w->c.window_h, w->x[1], &p.top, &p.bottom);
                span(j, w->c.stride_w, w->c.pad_left, w->c.window_w, w->x[2], &p.left, &p.right);
                job->body(job, p);
            }
}

/* ---- max: take() of the largest values ---- */

const cp_op cp_op_max_pool = {.name = "max_pool", .formula = "max over windows", .kinked = true};

static void patch_argmax(const pool_job *job, patch p) {
    const int *x = job->win->x;
    for (int c = 0; c < x[3]; c++) {
        size_t best = pixel(x, p.n, p.top, p.left) + (size_t)c;
        for (int u = p.top; u < p.bottom; u++)
            for (int v = p.left; v < p.right; v++) {
                size_t  other = pixel(x, p.n, u, v) + (size_t)c;
                cp_real value = job->x[other];
                if (value > job->x[best] || (value != value && job->x[best] == job->x[best])) best = other;
            }
        job->places[p.result + (size_t)c] = (int)best;
    }
}

cp_tensor *(cp_max_pool)(cp_at at, cp_tensor *x, cp_pool2d_config config) {
    window w;
    if (!is_image(at, "max_pool", x) || !window_plan(at, "max_pool", x->dims, config, &w)) return NULL;
    size_t size;
    if (x->size > INT32_MAX || !cp_shape_size(cp_shape_of(4, w.y), &size) || size > INT32_MAX)
        return cp_refuse(at, "max_pool", "%s has more values than max_pool can count", cp_shape_text(x).s);
    int *places = cp_arena_alloc(cp_scratch(at), size * sizeof *places);
    if (!places) return NULL;
    cp_parallel((size_t)w.x[0], 1, pool_images, &(pool_job){patch_argmax, &w, .x = x->data, .places = places});
    cp_tensor *out = cp_take(at, x, (cp_indices){places, (int)size}, cp_shape_of(4, w.y));
    cp_arena_release(cp_scratch(at), places);
    return out;
}

/* ---- average, and its inverse ---- */

static cp_real share(const window *w) { return 1 / ((cp_real)w->c.window_h * (cp_real)w->c.window_w); }

enum { SUMS = 64 }; /* channels summed at once, in double */

static void patch_average(const pool_job *job, patch p) {
    const int *x = job->win->x;
    double     part = (double)share(job->win);
    for (int first = 0; first < x[3]; first += SUMS) {
        double sum[SUMS] = {0};
        int    count = x[3] - first < SUMS ? x[3] - first : SUMS;
        for (int u = p.top; u < p.bottom; u++)
            for (int v = p.left; v < p.right; v++) {
                const cp_real *from = job->x + pixel(x, p.n, u, v) + first;
                for (int c = 0; c < count; c++) sum[c] += (double)from[c];
            }
        cp_real *y = job->y + p.result + first;
        for (int c = 0; c < count; c++) y[c] = (cp_real)(sum[c] * part);
    }
}

static void patch_spread(const pool_job *job, patch p) {
    const int     *x = job->win->x;
    const cp_real *y = job->y + p.result, part = share(job->win);
    for (int u = p.top; u < p.bottom; u++)
        for (int v = p.left; v < p.right; v++) {
            cp_real *to = job->x + pixel(x, p.n, u, v);
            for (int c = 0; c < x[3]; c++) to[c] += part * y[c];
        }
}

static void avg_pool_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const window *w = node->attr;
    gin[0] = cp_avg_unpool(at, g, w->x, w->c);
}

static void avg_unpool_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_avg_pool(at, g, ((const window *)node->attr)->c);
}

CP_OP(avg_pool, .formula = "mean over windows", .rule = "avg_unpool(g): each g / window size, added up",
      .words =
          "Each pixel of a window gets an equal share of the gradient of its mean; where windows overlap, the shares are summed.");
CP_OP(avg_unpool, .formula = "d sum(a avg_pool(x)) / dx", .rule = "avg_pool(g)",
      .words = "The op is linear: the gradient of a share is the mean over the window that it was spread to.");
const cp_op cp_op_global_avg_pool = {.name = "global_avg_pool", .formula = "mean over H and W"};

cp_tensor *(cp_avg_pool)(cp_at at, cp_tensor *x, cp_pool2d_config config) {
    window w;
    if (!is_image(at, "avg_pool", x) || !window_plan(at, "avg_pool", x->dims, config, &w)) return NULL;
    cp_tensor *out = cp_out(at, cp_shape_of(4, w.y));
    if (out) cp_parallel((size_t)w.x[0], 1, pool_images, &(pool_job){patch_average, &w, .x = x->data, .y = out->data});
    return cp_record_with(at, &cp_op_avg_pool, out, &w, sizeof w, 1, &x);
}

cp_tensor *(cp_avg_unpool)(cp_at at, cp_tensor *g, const int x_dims[4], cp_pool2d_config config) {
    window w;
    if (!is_image(at, "avg_unpool", g) || !window_plan(at, "avg_unpool", x_dims, config, &w)) return NULL;
    if (!cp_shape_is(g, cp_shape_of(4, w.y)))
        return cp_refuse(at, "avg_unpool", "g has shape %s; pooling gives %s", cp_shape_text(g).s,
                         cp_dims_text(cp_shape_of(4, w.y)).s);
    cp_tensor *out = cp_full(at, 0, cp_shape_of(4, x_dims));
    if (out) cp_parallel((size_t)w.x[0], 1, pool_images, &(pool_job){patch_spread, &w, .x = out->data, .y = g->data});
    return cp_record_with(at, &cp_op_avg_unpool, out, &w, sizeof w, 1, &g);
}

cp_tensor *(cp_global_avg_pool)(cp_at at, cp_tensor *x) {
    return is_image(at, "global_avg_pool", x) ? cp_mean(at, x, CP_AXES(1, 2), false) : NULL;
}
