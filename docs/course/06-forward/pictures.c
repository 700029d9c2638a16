/* Draws tanh(w x + b) with dual numbers: each value with its slope along w. */
#include "draw.h"
#include "dual.h"

/* The texts of a node: its value and its slope. */
static draw_node shown(double column, double row, const char *title, dual d, int a, int b) {
    static char texts[12][40];
    static int  used;
    char       *value = texts[used++], *slope = texts[used++];
    snprintf(value, sizeof texts[0], "%.4g", d.value);
    snprintf(slope, sizeof texts[0], "slope %.4g", d.slope);
    return (draw_node){column, row, title, value, slope, {a, b}};
}

int main(void) {
    dual w = dual_make(0.8, 1), x = dual_make(0.5, 0), b = dual_make(-0.2, 0);
    dual product = dual_mul(w, x), sum = dual_add(product, b);

    const draw_node nodes[] = {
        shown(0, 0, "w", w, -1, -1),       shown(0, 1, "x", x, -1, -1),       shown(1, 1, "b", b, -1, -1),
        shown(1, 0, "w x", product, 0, 1), shown(2, 0, "w x + b", sum, 3, 2), shown(3, 0, "tanh", dual_tanh(sum), 4, -1),
    };
    FILE *file = draw_begin("dual.svg", 400, 160);
    draw_graph(file, nodes, 6);
    draw_end(file);
    return 0;
}
