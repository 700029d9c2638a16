/* Draws the pictures of this chapter: the tape of one step, with the shapes of its tensors, and broadcasting in both directions. */
#include "draw.h"

static void tape_of_a_step(void) {
    enum { X, W1, MATMUL1, B1, ADD1, TANH1, W2, MATMUL2, B2, ADD2, TANH2, CLASS, ERROR, SQUARE, LOSS, COUNT };
    static const draw_node nodes[COUNT] = {
        [X] = {0, 0, "x", "(80, 2)", NULL, {-1, -1}},
        [W1] = {0, 1, "W1", "(2, 8)", "gets (2, 8)", {-1, -1}},
        [MATMUL1] = {1, 0, "matmul", "(80, 8)", NULL, {X, W1}},
        [B1] = {1, 1, "b1", "(1, 8)", "gets (1, 8)", {-1, -1}},
        [ADD1] = {2, 0, "add", "(80, 8)", NULL, {MATMUL1, B1}},
        [TANH1] = {3, 0, "tanh", "(80, 8)", NULL, {ADD1, -1}},
        [W2] = {3, 1, "W2", "(8, 1)", "gets (8, 1)", {-1, -1}},
        [MATMUL2] = {4, 0, "matmul", "(80, 1)", NULL, {TANH1, W2}},
        [B2] = {4, 1, "b2", "(1, 1)", "gets (1, 1)", {-1, -1}},
        [ADD2] = {5, 0, "add", "(80, 1)", NULL, {MATMUL2, B2}},
        [TANH2] = {6, 0, "tanh", "(80, 1)", NULL, {ADD2, -1}},
        [CLASS] = {6, 1, "-class", "(80, 1)", NULL, {-1, -1}},
        [ERROR] = {7, 0, "add", "(80, 1)", NULL, {TANH2, CLASS}},
        [SQUARE] = {8, 0, "mul", "(80, 1)", NULL, {ERROR, ERROR}},
        [LOSS] = {9, 0, "mean", "(1, 1)", "begins with 1", {SQUARE, -1}},
    };
    FILE *file = draw_begin("tape.svg", 990, 160);
    draw_graph(file, nodes, COUNT);
    draw_end(file);
}

/* The sums of the columns are computed as a rule computes them. */
static void broadcasting(void) {
    const double row[] = {1, 2, 3}, g[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    double       repeated[9], sums[3] = {0};
    for (int i = 0; i < 9; i++) repeated[i] = row[i % 3], sums[i % 3] += g[i];
    FILE *file = draw_begin("broadcast.svg", 640, 150);
    draw_text(file, 65, 14, "ink", "the row (1, 3)");
    draw_table(file, 14, 60, 1, 3, row, "forward");
    draw_arrow(file, 124, 73, 178, 73, "forward");
    draw_text(file, 240, 14, "ink", "as add and mul see it");
    draw_table(file, 188, 34, 3, 3, repeated, "forward");
    draw_text(file, 408, 14, "ink", "gradient at the result");
    draw_table(file, 356, 34, 3, 3, g, "back");
    draw_arrow(file, 466, 73, 520, 73, "back");
    draw_text(file, 577, 14, "ink", "at the row: sums");
    draw_table(file, 526, 60, 1, 3, sums, "back");
    draw_text(file, 65, 130, "soft", "read 3 times");
    draw_text(file, 577, 130, "soft", "+= 3 times");
    draw_end(file);
}

int main(void) {
    tape_of_a_step();
    broadcasting();
    return 0;
}
