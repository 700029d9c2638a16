/* Draws a column plus a row, and the sums that go back to both. */
#include "draw.h"
#include <couplet.h>

int main(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *row = cp_variable(tape, (cp_real[]){1, 2, 3}, CP_SHAPE(3));
    cp_tensor *column = cp_variable(tape, (cp_real[]){10, 20}, CP_SHAPE(2, 1)), *grads[2];
    cp_tensor *sum = cp_add(tape, column, row);
    cp_tensor *g = cp_constant(tape, (cp_real[]){1, 2, 3, 4, 5, 6}, CP_SHAPE(2, 3));
    cp_vjp(tape, sum, g, (cp_tensor *[]){row, column}, 2, grads);

    FILE *file = draw_begin("broadcast.svg", 600, 170);
    draw_text(file, 145, 16, "ink", "values: repeated");
    draw_table(file, 102, 40, 1, 3, row->data, "forward");
    draw_table(file, 30, 92, 2, 1, column->data, "forward");
    draw_table(file, 102, 92, 2, 3, sum->data, "forward");
    draw_arrow(file, 153, 68, 153, 90, "forward");
    draw_arrow(file, 66, 118, 100, 118, "forward");
    draw_text(file, 440, 16, "ink", "gradients: summed");
    draw_table(file, 402, 40, 1, 3, grads[0]->data, "back");
    draw_table(file, 330, 92, 2, 1, grads[1]->data, "back");
    draw_table(file, 402, 92, 2, 3, g->data, "back");
    draw_arrow(file, 453, 90, 453, 68, "back");
    draw_arrow(file, 400, 118, 366, 118, "back");
    draw_text(file, 556, 53, "soft", "row");
    draw_text(file, 347, 158, "soft", "column");
    draw_end(file);
    cp_tape_free(tape);
    return 0;
}
