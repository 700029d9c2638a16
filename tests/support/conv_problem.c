/* Convolutions to test kernels with. */
#include "tests/support/conv_problem.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t product(int a, int b, int c, int d) { return (size_t)a * (size_t)b * (size_t)c * (size_t)d; }

size_t x_size(const cp_conv_shape *s) { return product(s->n, s->h, s->w, s->c); }

size_t y_size(const cp_conv_shape *s) { return product(s->n, s->oh, s->ow, s->k); }

size_t w_size(const cp_conv_shape *s) { return product(s->kh, s->kw, s->c / s->groups, s->k); }

cp_conv_shape with_output(cp_conv_shape s) {
    const int room_h = s.h + 2 * s.pad_top - (s.kh - 1) * s.dilation_h - 1;
    const int room_w = s.w + 2 * s.pad_left - (s.kw - 1) * s.dilation_w - 1;
    s.oh = room_h < 0 ? 0 : room_h / s.stride_h + 1;
    s.ow = room_w < 0 ? 0 : room_w / s.stride_w + 1;
    return s;
}

cp_conv_shape square(int n, int side, int c, int k, int kernel, int stride, int pad) {
    return with_output((cp_conv_shape){.n = n,
                                       .h = side,
                                       .w = side,
                                       .c = c,
                                       .kh = kernel,
                                       .kw = kernel,
                                       .k = k,
                                       .stride_h = stride,
                                       .stride_w = stride,
                                       .pad_top = pad,
                                       .pad_left = pad,
                                       .dilation_h = 1,
                                       .dilation_w = 1,
                                       .groups = 1});
}

const char *named(const cp_conv_shape *s, const char *what) {
    static char text[256];
    snprintf(text, sizeof text, "%s %s: n %d, %dx%dx%d -> %dx%dx%d, kernel %dx%d, stride %d,%d pad %d,%d dilation %d,%d groups %d",
             cp_kernels()->name, what, s->n, s->h, s->w, s->c, s->oh, s->ow, s->k, s->kh, s->kw, s->stride_h, s->stride_w,
             s->pad_top, s->pad_left, s->dilation_h, s->dilation_w, s->groups);
    return text;
}

/* A bit for each of `count` random numbers; those of the spare bytes are ones. */
static unsigned char *random_signs(size_t count) {
    unsigned char *signs = malloc(cp_signs_bytes(count));
    cp_real       *x = numbers(count);
    TEST_ASSERT_NOT_NULL(signs);
    memset(signs, 0xFF, cp_signs_bytes(count));
    cp_kernels()->signs(1, count, x, NULL, NULL, signs);
    free(x);
    return signs;
}

static cp_conv_fusion fusion_of(unsigned fused, int in_channels, int out_channels, size_t out_size, cp_real slope) {
    cp_conv_fusion f = {.leaky_input = fused & (LEAKY | SCALE), .slope = slope};
    if (fused & SCALE) {
        f.scale = numbers((size_t)in_channels);
        f.shift = numbers((size_t)in_channels);
    }
    f.bias = fused & BIAS ? numbers((size_t)out_channels) : NULL;
    f.gate = fused & GATE ? random_signs(out_size) : NULL;
    f.gain = fused & GAIN ? numbers((size_t)out_channels) : NULL;
    f.residual = fused & RESIDUAL ? numbers(out_size) : NULL;
    return f;
}

static void fusion_free(const cp_conv_fusion *f) {
    free((void *)f->scale), free((void *)f->shift), free((void *)f->bias);
    free((void *)f->gate), free((void *)f->gain), free((void *)f->residual);
}

problem problem_of(cp_conv_shape s, unsigned fused) {
    return (problem){.s = s,
                     .x = numbers(x_size(&s)),
                     .w = numbers(w_size(&s)),
                     .gy = numbers(y_size(&s)),
                     .forward = fusion_of(fused, s.c, s.k, y_size(&s), (cp_real)0.2),
                     .backward = fusion_of(fused, s.k, s.c, x_size(&s), (cp_real)0.3),
                     .weights = fusion_of(fused & (LEAKY | SCALE), s.c, 0, 0, (cp_real)0.2)};
}

void problem_free(problem *p) {
    free(p->x), free(p->w), free(p->gy);
    fusion_free(&p->forward), fusion_free(&p->backward), fusion_free(&p->weights);
}

outcome outcome_of(cp_arena *scratch, const problem *p) {
    outcome o = {numbers(y_size(&p->s)), numbers(x_size(&p->s)), numbers(w_size(&p->s)), numbers((size_t)p->s.k)};
    TEST_ASSERT_TRUE(cp_kernels()->conv2d(scratch, &p->s, p->x, p->w, &p->forward, o.y));
    TEST_ASSERT_TRUE(cp_kernels()->conv2d_input_grad(scratch, &p->s, p->gy, p->w, &p->backward, o.gx));
    TEST_ASSERT_TRUE(cp_kernels()->conv2d_weight_grad(scratch, &p->s, p->x, p->gy, &p->weights, o.gw, o.gb));
    return o;
}

void outcome_free(outcome *o) { free(o->y), free(o->gx), free(o->gw), free(o->gb); }
