/* Draws a kernel that slides over a row in steps of 2, and its adjoint with respect to the row. */
#include "draw.h"
#include <couplet.h>

enum { WIDTH = 5, KERNEL = 3, OUT = 3 };

int main(void) {
    const cp_real    x[] = {1, 2, 3, 4, 5}, w[] = {10, 20, 30}, g[] = {1, 2, 3}, padded[] = {0, 1, 2, 3, 4, 5, 0};
    cp_conv2d_config config = {.stride_h = 1, .stride_w = 2, .pad_left = 1, .pad_right = 1};
    cp_tape         *tape = cp_tape_new();
    cp_tensor       *in = cp_constant(tape, x, CP_SHAPE(1, 1, WIDTH, 1)), *kernel = cp_constant(tape, w, CP_SHAPE(1, KERNEL, 1, 1));
    cp_tensor       *y = cp_conv2d(tape, in, kernel, NULL, config);
    cp_tensor       *dx = cp_conv2d_input_grad(tape, cp_constant(tape, g, CP_SHAPE(1, 1, OUT, 1)), kernel, in->dims, config);

    FILE *file = draw_begin("kernel.svg", 740, 215);
    draw_text(file, 140, 16, "ink", "y[i]: the kernel moves in steps of 2");
    draw_table(file, 20, 34, 1, WIDTH + 2, padded, "ink");
    for (int i = 0; i < OUT; i++) {
        double left = 20 + 2 * i * DRAW_CELL, top = 74 + i * 44;
        draw_table(file, left, top, 1, KERNEL, w, "forward");
        draw_text(file, 300, top + 13, "forward", "y[%d] = %g", i, y->data[i]);
    }
    draw_text(file, 530, 16, "ink", "dx[j]: g[i] goes back through the same window");
    for (int i = 0; i < OUT; i++) {
        double parts[KERNEL], left = 400 + 2 * i * DRAW_CELL, top = 34 + i * 44;
        for (int k = 0; k < KERNEL; k++) parts[k] = g[i] * w[k];
        draw_table(file, left, top, 1, KERNEL, parts, "back");
        draw_text(file, 690, top + 13, "back", "g[%d] = %g", i, g[i]);
    }
    draw_table(file, 400 + DRAW_CELL, 168, 1, WIDTH, dx->data, "back");
    draw_text(file, 690, 181, "back", "sum: dx");
    draw_text(file, 417, 205, "soft", "(outside)");
    draw_text(file, 621, 205, "soft", "(outside)");
    draw_end(file);
    cp_tape_free(tape);
    return 0;
}
