/* Cases of convolution, its two gradients, and pooling. */
#include "tests/support/cases.h"

static cp_tensor *build_conv2d(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_conv2d(tape, in[0], in[1], case_inputs(c) == 3 ? in[2] : NULL, c->conv);
}

/* Inputs: x, w, then bias if .flags has 1, residual if it has 2, scale and shift if it has 4. The shift is so small that x
 * does not reach the kink. */
static cp_tensor *small_shift(cp_tape *tape, cp_tensor *shift) { return cp_scale(tape, shift, (cp_real)0.001); }

static cp_tensor *build_leaky_conv2d(cp_tape *tape, cp_tensor **in, const op_case *c) {
    cp_conv_extras around = {.slope = (cp_real)c->real[0]};
    cp_tensor    **next = in + 2;
    if (c->flags & 1) around.bias = *next++;
    if (c->flags & 2) around.residual = *next++;
    if (c->flags & 4) around.scale = *next++, around.shift = small_shift(tape, *next++);
    return cp_leaky_conv2d(tape, in[0], in[1], around, c->conv);
}

/* With fixed weights the rule needs only the signs, so the inputs can be released. */
static cp_tensor *build_leaky_conv2d_fixed(cp_tape *tape, cp_tensor **in, const op_case *c) {
    cp_tensor     *x = cp_scale(tape, in[0], 1), *w = cp_detach(tape, in[1]);
    cp_conv_extras around = {
        .scale = cp_detach(tape, in[2]), .shift = small_shift(tape, cp_detach(tape, in[3])), .slope = (cp_real)c->real[0]};
    cp_tensor *y = cp_leaky_conv2d(tape, x, w, around, c->conv);
    cp_release(CP_AT(tape), x);
    return y;
}

/* The input is its own residual, as in a block without a shortcut. */
static cp_tensor *build_leaky_conv2d_self(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_leaky_conv2d(tape, in[0], in[1], (cp_conv_extras){.residual = in[0], .slope = (cp_real)c->real[0]}, c->conv);
}

static cp_tensor *build_conv2d_input_grad(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_conv2d_input_grad(tape, in[0], in[1], c->shape.dims, c->conv);
}

static cp_tensor *build_conv2d_weight_grad(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_conv2d_weight_grad(tape, in[0], in[1], c->shape.dims, c->conv);
}

static cp_tensor *build_max_pool(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_max_pool(tape, in[0], c->pool); }

static cp_tensor *build_avg_pool(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_avg_pool(tape, in[0], c->pool); }

static cp_tensor *build_avg_unpool(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_avg_unpool(tape, in[0], c->shape.dims, c->pool);
}

static cp_tensor *build_global_avg_pool(cp_tape *tape, cp_tensor **in, const op_case *c) {
    (void)c;
    return cp_global_avg_pool(tape, in[0]);
}

static cp_tensor *build_conv1d(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_conv1d(tape, in[0], in[1], case_inputs(c) == 3 ? in[2] : NULL, c->conv);
}

static cp_tensor *build_conv_transpose(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_conv_transpose(tape, in[0], in[1], case_inputs(c) == 3 ? in[2] : NULL, c->conv, c->number);
}

static cp_tensor *build_upsample_nearest(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_upsample_nearest(tape, in[0], c->start[0], c->start[1]);
}

static cp_tensor *build_upsample_bilinear(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_upsample_bilinear(tape, in[0], c->start[0], c->start[1]);
}

/* clang-format off */
#define OF(...) __VA_ARGS__

/* The three ops of one convolution: image X, kernel W, response Y (four sizes each, in OF()), K output channels. */
#define CONVOLUTION(text, X, W, Y, K, ...)                                                                             \
    {"conv2d", text,             build_conv2d, {ANY(X), ANY(W)}, .conv = {__VA_ARGS__}},                               \
    {"conv2d", text ", biased",  build_conv2d, {ANY(X), ANY(W), ANY(K)}, .conv = {__VA_ARGS__}},                       \
    {"conv2d_input_grad", text,  build_conv2d_input_grad, {ANY(Y), ANY(W)}, .shape = SHAPE(X), .conv = {__VA_ARGS__}}, \
    {"conv2d_weight_grad", text, build_conv2d_weight_grad, {ANY(X), ANY(Y)}, .shape = SHAPE(W), .conv = {__VA_ARGS__}}

#define PADDED_3 CP_WINDOW(3), CP_STRIDE(2), CP_PAD(1)
#define SPARSE_1 CP_WINDOW(1), CP_STRIDE(2)
#define DENSE_3 CP_WINDOW(3), CP_STRIDE(1)
#define UNEVEN_2_3 .window_h = 2, .window_w = 3, CP_STRIDE(2), .pad_top = 1, .pad_right = 2
#define STRIDE_2_3 .stride_h = 2, .stride_w = 3
#define ASYMMETRIC .pad_top = 2, .pad_bottom = 0, .pad_left = 1, .pad_right = 2

#define LEAKY(text, X, W, K, Y, SLOPE, ...)                                                                            \
    {"leaky_conv2d", text,             build_leaky_conv2d, {OFF_WHOLE(X), ANY(W)}, .conv = {__VA_ARGS__}, .real = {SLOPE}}, \
    {"leaky_conv2d", text ", biased",  build_leaky_conv2d, {OFF_WHOLE(X), ANY(W), ANY(K)}, .flags = 1, .conv = {__VA_ARGS__}, .real = {SLOPE}}, \
    {"leaky_conv2d", text ", residual", build_leaky_conv2d, {OFF_WHOLE(X), ANY(W), ANY(Y)}, .flags = 2, .conv = {__VA_ARGS__}, .real = {SLOPE}}, \
    {"leaky_conv2d", text ", both",    build_leaky_conv2d, {OFF_WHOLE(X), ANY(W), ANY(K), ANY(Y)}, .flags = 3, .conv = {__VA_ARGS__}, .real = {SLOPE}}

#define LEAKY_SCALED(text, X, W, C, K, Y, SLOPE, ...)                                                                  \
    {"leaky_conv2d", text ", scaled", build_leaky_conv2d, {OFF_WHOLE(X), ANY(W), POSITIVE(C), ANY(C)}, .flags = 4, .conv = {__VA_ARGS__}, .real = {SLOPE}}, \
    {"leaky_conv2d", text ", scaled and all else", build_leaky_conv2d, {OFF_WHOLE(X), ANY(W), ANY(K), ANY(Y), POSITIVE(C), ANY(C)}, .flags = 7, .conv = {__VA_ARGS__}, .real = {SLOPE}}, \
    {"leaky_conv2d", text ", fixed weights", build_leaky_conv2d_fixed, {OFF_WHOLE(X), WHOLE(W), WHOLE(C), WHOLE(C)}, .conv = {__VA_ARGS__}, .real = {SLOPE}}

static const op_case cases[] = {
    LEAKY("3x3, padded",        OF(2, 4, 5, 3), OF(3, 3, 3, 2), 2, OF(2, 4, 5, 2), 0.2, CP_PAD(1)),
    LEAKY("slope 0",            OF(1, 4, 4, 2), OF(3, 3, 2, 3), 3, OF(1, 4, 4, 3), 0, CP_PAD(1)),
    LEAKY("stride 2, odd size", OF(2, 5, 3, 2), OF(3, 3, 2, 2), 2, OF(2, 3, 2, 2), 0.2, CP_PAD(1), CP_STRIDE(2)),
    LEAKY("1x1, one pixel",     OF(1, 1, 1, 1), OF(1, 1, 1, 1), 1, OF(1, 1, 1, 1), 0.5, .groups = 1),
    LEAKY("more channels than a vector", OF(1, 4, 4, 17), OF(3, 3, 17, 18), 18, OF(1, 4, 4, 18), 0.2, CP_PAD(1)),
    LEAKY_SCALED("3x3, padded",        OF(2, 4, 5, 3), OF(3, 3, 3, 2), 3, 2, OF(2, 4, 5, 2), 0.2, CP_PAD(1)),
    LEAKY_SCALED("stride 2, odd size", OF(2, 5, 3, 2), OF(3, 3, 2, 2), 2, 2, OF(2, 3, 2, 2), 0.2, CP_PAD(1), CP_STRIDE(2)),
    LEAKY_SCALED("slope 0, two groups", OF(1, 3, 4, 4), OF(3, 3, 2, 2), 4, 2, OF(1, 3, 4, 2), 0, CP_PAD(1), .groups = 2),
    LEAKY_SCALED("1x1, one pixel",     OF(1, 1, 1, 1), OF(1, 1, 1, 1), 1, 1, OF(1, 1, 1, 1), 0.5, .groups = 1),
    LEAKY_SCALED("more channels than a vector", OF(1, 4, 4, 17), OF(3, 3, 17, 18), 17, 18, OF(1, 4, 4, 18), 0.2, CP_PAD(1)),
    {"leaky_conv2d", "no activation", build_leaky_conv2d, {ANY(2, 4, 3, 2), ANY(3, 3, 2, 3), ANY(3), ANY(2, 4, 3, 3)}, .flags = 3, .conv = {CP_PAD(1)}, .real = {1}},
    {"leaky_conv2d", "no activation, scaled", build_leaky_conv2d, {ANY(2, 4, 3, 2), ANY(3, 3, 2, 3), ANY(2), ANY(2)}, .flags = 4, .conv = {CP_PAD(1)}, .real = {1}},
    {"leaky_conv2d", "its own residual", build_leaky_conv2d_self, {OFF_WHOLE(1, 4, 3, 2), ANY(3, 3, 2, 2)}, .conv = {CP_PAD(1)}, .real = {0.2}},
    CONVOLUTION("1x1 kernel",               OF(2, 3, 5, 3), OF(1, 1, 3, 4), OF(2, 3, 5, 4), 4, .groups = 1),
    CONVOLUTION("all sizes 1",              OF(1, 1, 1, 1), OF(1, 1, 1, 1), OF(1, 1, 1, 1), 1, .groups = 0),
    CONVOLUTION("1x1 kernel, stride 2",     OF(1, 5, 4, 2), OF(1, 1, 2, 3), OF(1, 3, 2, 3), 3, CP_STRIDE(2)),
    CONVOLUTION("3x3 kernel",               OF(2, 5, 4, 2), OF(3, 3, 2, 3), OF(2, 3, 2, 3), 3, .groups = 1),
    CONVOLUTION("3x3 kernel, padded",       OF(2, 5, 4, 2), OF(3, 3, 2, 3), OF(2, 5, 4, 3), 3, CP_PAD(1)),
    CONVOLUTION("3x3 kernel, 8 channels",   OF(1, 6, 7, 8), OF(3, 3, 8, 8), OF(1, 6, 7, 8), 8, CP_PAD(1)),
    CONVOLUTION("3x3 kernel, stride 2",     OF(2, 5, 7, 2), OF(3, 3, 2, 3), OF(2, 3, 4, 3), 3, CP_STRIDE(2), CP_PAD(1)),
    CONVOLUTION("3x3, stride 2, 8 wide",    OF(1, 8, 7, 8), OF(3, 3, 8, 8), OF(1, 4, 4, 8), 8, CP_STRIDE(2), CP_PAD(1)),
    CONVOLUTION("a rest beyond the stride", OF(1, 6, 8, 2), OF(3, 3, 2, 2), OF(1, 2, 2, 2), 2, STRIDE_2_3),
    CONVOLUTION("2x3 kernel",               OF(1, 4, 5, 2), OF(2, 3, 2, 3), OF(1, 3, 3, 3), 3, .groups = 1),
    CONVOLUTION("2x3, asymmetric padding",  OF(1, 4, 3, 2), OF(2, 3, 2, 3), OF(1, 5, 4, 3), 3, ASYMMETRIC),
    CONVOLUTION("3x3, stride 2, asymmetric padding", OF(1, 4, 5, 2), OF(3, 3, 2, 3), OF(1, 2, 3, 3), 3,
                                            CP_STRIDE(2), ASYMMETRIC),
    CONVOLUTION("dilation 2",               OF(1, 6, 7, 2), OF(3, 3, 2, 2), OF(1, 2, 3, 2), 2, CP_DILATION(2)),
    CONVOLUTION("dilation 2x3, padded",     OF(1, 5, 6, 2), OF(2, 3, 2, 2), OF(1, 5, 2, 2), 2,
                                            .dilation_h = 2, .dilation_w = 3, CP_PAD(1)),
    CONVOLUTION("dilation 2, stride 2, asymmetric padding", OF(1, 5, 6, 2), OF(3, 2, 2, 3), OF(1, 2, 4, 3), 3,
                                            CP_DILATION(2), CP_STRIDE(2), ASYMMETRIC),
    CONVOLUTION("two groups",               OF(2, 4, 3, 4), OF(3, 3, 2, 6), OF(2, 4, 3, 6), 6, .groups = 2, CP_PAD(1)),
    CONVOLUTION("depthwise",                OF(1, 4, 5, 3), OF(3, 3, 1, 3), OF(1, 4, 5, 3), 3, .groups = 3, CP_PAD(1)),
    CONVOLUTION("depthwise, two of each",   OF(1, 4, 5, 3), OF(2, 2, 1, 6), OF(1, 2, 2, 6), 6,
                                            CP_STRIDE(2), .groups = 3),
    CONVOLUTION("groups, dilation, stride", OF(1, 6, 5, 4), OF(2, 2, 2, 4), OF(1, 3, 2, 4), 4,
                                            .groups = 2, CP_DILATION(2), CP_STRIDE(2), .pad_top = 1),
    CONVOLUTION("kernel as large as the image", OF(2, 3, 4, 2), OF(3, 4, 2, 3), OF(2, 1, 1, 3), 3, .groups = 1),
    CONVOLUTION("one pixel, padded",        OF(2, 1, 1, 3), OF(3, 3, 3, 2), OF(2, 1, 1, 2), 2, CP_PAD(1)),
    CONVOLUTION("a row of pixels",          OF(1, 1, 7, 2), OF(1, 3, 2, 2), OF(1, 1, 5, 2), 2, .groups = 1),

    {"max_pool", "2x2",                         build_max_pool, {APART(2, 4, 6, 3)}, .pool = {CP_WINDOW(2)}},
    {"max_pool", "2x2, odd sizes",              build_max_pool, {APART(1, 5, 7, 2)}, .pool = {CP_WINDOW(2)}},
    {"max_pool", "3x3, stride 2, padded",       build_max_pool, {APART(1, 5, 6, 2)}, .pool = {PADDED_3}},
    {"max_pool", "3x3, stride 1, overlapping",  build_max_pool, {APART(1, 5, 6, 2)}, .pool = {DENSE_3}},
    {"max_pool", "2x3, asymmetric padding",     build_max_pool, {APART(1, 4, 5, 2)}, .pool = {UNEVEN_2_3}},
    {"max_pool", "1x1, stride 2",               build_max_pool, {APART(1, 4, 5, 2)}, .pool = {SPARSE_1}},
    {"max_pool", "one pixel",                   build_max_pool, {APART(2, 1, 1, 3)}, .pool = {CP_WINDOW(1)}},

    {"avg_pool", "2x2",                         build_avg_pool, {ANY(2, 4, 6, 3)}, .pool = {CP_WINDOW(2)}},
    {"avg_pool", "2x2, odd sizes",              build_avg_pool, {ANY(1, 5, 7, 2)}, .pool = {CP_WINDOW(2)}},
    {"avg_pool", "3x3, stride 2, padded",       build_avg_pool, {ANY(1, 5, 6, 2)}, .pool = {PADDED_3}},
    {"avg_pool", "3x3, stride 1, overlapping",  build_avg_pool, {ANY(1, 5, 6, 2)}, .pool = {DENSE_3}},
    {"avg_pool", "2x3, asymmetric padding",     build_avg_pool, {ANY(1, 4, 5, 2)}, .pool = {UNEVEN_2_3}},
    {"avg_pool", "one pixel",                   build_avg_pool, {ANY(2, 1, 1, 3)}, .pool = {CP_WINDOW(1)}},

    {"avg_unpool", "2x2",                         build_avg_unpool, {ANY(2, 2, 3, 3)},
                   .shape = SHAPE(2, 4, 6, 3), .pool = {CP_WINDOW(2)}},
    {"avg_unpool", "2x2, odd sizes",              build_avg_unpool, {ANY(1, 2, 3, 2)},
                   .shape = SHAPE(1, 5, 7, 2), .pool = {CP_WINDOW(2)}},
    {"avg_unpool", "3x3, stride 2, padded",       build_avg_unpool, {ANY(1, 3, 3, 2)},
                   .shape = SHAPE(1, 5, 6, 2), .pool = {PADDED_3}},
    {"avg_unpool", "3x3, stride 1, overlapping",  build_avg_unpool, {ANY(1, 3, 4, 2)},
                   .shape = SHAPE(1, 5, 6, 2), .pool = {DENSE_3}},

    {"conv1d", "kernel 3",             build_conv1d, {ANY(2, 5, 2), ANY(3, 2, 3)}},
    {"conv1d", "biased",               build_conv1d, {ANY(2, 5, 2), ANY(3, 2, 3), ANY(3)}, .conv = {CP_PAD(1)}},
    {"conv1d", "causal, dilated",      build_conv1d, {ANY(1, 7, 2), ANY(2, 2, 2), ANY(2)}, .conv = {.pad_left = 3, .dilation_w = 3}},
    {"conv1d", "stride 2, two groups", build_conv1d, {ANY(1, 6, 4), ANY(3, 2, 2)}, .conv = {CP_STRIDE(2), CP_PAD(1), .groups = 2}},
    {"conv1d", "one step",             build_conv1d, {ANY(1, 1, 1), ANY(1, 1, 1), ANY(1)}},

    {"conv_transpose", "2x2, stride 2",  build_conv_transpose, {ANY(2, 3, 2, 3), ANY(2, 2, 2, 3)}, .conv = {CP_STRIDE(2)}},
    {"conv_transpose", "biased",         build_conv_transpose, {ANY(1, 2, 3, 2), ANY(3, 3, 4, 2), ANY(4)}, .conv = {CP_STRIDE(2), CP_PAD(1)}},
    {"conv_transpose", "padded output",  build_conv_transpose, {ANY(1, 2, 3, 2), ANY(3, 3, 2, 2), ANY(2)}, .conv = {CP_STRIDE(2), CP_PAD(1)}, .number = 1},
    {"conv_transpose", "two groups",     build_conv_transpose, {ANY(1, 2, 2, 4), ANY(2, 3, 1, 4), ANY(2)}, .conv = {.groups = 2, .stride_w = 2}},
    {"conv_transpose", "dilated, uneven", build_conv_transpose, {ANY(1, 3, 2, 2), ANY(2, 3, 2, 2)}, .conv = {CP_DILATION(2), .pad_top = 1, .pad_right = 2}},
    {"conv_transpose", "one pixel",      build_conv_transpose, {ANY(1, 1, 1, 1), ANY(1, 1, 1, 1), ANY(1)}},

    {"upsample_nearest", "by two",        build_upsample_nearest, {ANY(2, 2, 3, 2)}, .start = {2, 2}},
    {"upsample_nearest", "by one, three", build_upsample_nearest, {ANY(1, 3, 2, 1)}, .start = {1, 3}},
    {"upsample_nearest", "one pixel",     build_upsample_nearest, {ANY(1, 1, 1, 2)}, .start = {3, 2}},
    {"upsample_nearest", "no images",     build_upsample_nearest, {ANY(0, 2, 2, 3)}, .start = {2, 2}},
    {"upsample_bilinear", "by two",        build_upsample_bilinear, {ANY(2, 2, 3, 2)}, .start = {2, 2}},
    {"upsample_bilinear", "by one, three", build_upsample_bilinear, {ANY(1, 3, 2, 1)}, .start = {1, 3}},
    {"upsample_bilinear", "one pixel",     build_upsample_bilinear, {ANY(1, 1, 1, 2)}, .start = {3, 2}},
    {"upsample_bilinear", "no images",     build_upsample_bilinear, {ANY(0, 2, 2, 3)}, .start = {2, 2}},

    {"global_avg_pool", "odd sizes",             build_global_avg_pool, {ANY(2, 3, 5, 3)}},
    {"global_avg_pool", "one pixel",             build_global_avg_pool, {ANY(2, 1, 1, 3)}},
    {"global_avg_pool", "one image, one channel", build_global_avg_pool, {ANY(1, 4, 3, 1)}},
};
/* clang-format on */

CASE_TABLE(cases_image);
