/* Draws (x + y) y at x = 2, y = 3 as a graph, with the values and the gradients that the engine computes. */
#include "draw.h"
#include "engine.h"

int main(void) {
    static tape       t;
    static char       texts[4][2][30];
    const char *const titles[] = {"x", "y", "x + y", "(x + y) y"};
    const double      columns[] = {0, 0, 1, 2}, rows[] = {0, 1, 0, 0.5};
    draw_node         nodes[4];
    int               x = leaf(&t, 2), y = leaf(&t, 3);
    backward(&t, mul(&t, add(&t, x, y), y));
    for (int i = 0; i < t.length; i++) {
        const node *n = &t.nodes[i];
        snprintf(texts[i][0], sizeof texts[i][0], "%g", n->value);
        snprintf(texts[i][1], sizeof texts[i][1], i == y ? "gradient 5 + 3 = %g" : "gradient %g", n->grad);
        nodes[i] = (draw_node){1.5 * columns[i] + 0.3, rows[i], titles[i], texts[i][0], texts[i][1], {n->in[0], n->in[1]}};
    }
    FILE *file = draw_begin("graph.svg", 440, 160);
    draw_graph(file, nodes, t.length);
    draw_end(file);
    return 0;
}
