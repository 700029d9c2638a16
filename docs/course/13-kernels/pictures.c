/* Draws the tile of step 3: twelve vector sums in registers, fed by two loads of weights and six of pixels. */
#include "draw.h"

enum { ROWS = 6 };

int main(void) {
    FILE *file = draw_begin("tile.svg", 470, 262);
    for (int k = 0; k < 2; k++) {
        draw_box(file, 180 + 130 * k, 14, 110, 28, "forward");
        draw_text(file, 235 + 130 * k, 28, "forward", k ? "weights 4 to 7" : "weights 0 to 3");
        draw_arrow(file, 235 + 130 * k, 44, 235 + 130 * k, 62, "forward");
    }
    for (int p = 0; p < ROWS; p++) {
        double y = 66 + p * 28;
        draw_box(file, 20, y, 90, 22, "soft");
        draw_text(file, 65, y + 11, "soft", "pixel %d", p);
        draw_arrow(file, 112, y + 11, 172, y + 11, "soft");
        for (int k = 0; k < 2; k++) {
            draw_box(file, 180 + 130 * k, y, 110, 22, "ink");
            draw_text(file, 235 + 130 * k, y + 11, "ink", "sum[%d][%d]", p, k);
        }
    }
    draw_text(file, 235, 248, "ink", "%d loads, %d vector multiply-adds, no store", 2 + ROWS, 2 * ROWS);
    draw_end(file);
    return 0;
}
