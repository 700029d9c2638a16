/* Draws the error of two formulas for a derivative, over the step h: too large a step bends, too small a step rounds. */
#include <couplet-kit.h>
#include <math.h>

enum { STEPS = 66 };

static double f(double a) {
    return sqrt(a * a + 1);
}

int main(void) {
    double    h[STEPS], two[STEPS], four[STEPS], slope = 0.75 / 1.25;
    cp_status status = {0};
    for (int i = 0; i < STEPS; i++) {
        double s = h[i] = pow(10, -13 + i / 5.0), near = f(0.75 + s) - f(0.75 - s), far = f(0.75 + 2 * s) - f(0.75 - 2 * s);
        two[i] = fmax(1e-17, fabs(near / (2 * s) - slope));
        four[i] = fmax(1e-17, fabs((8 * near - far) / (12 * s) - slope));
    }
    cp_figure      *figure = cp_figure_new((cp_figure_config){.columns = 1, .width = 460, .height = 240});
    cp_panel_config config = {.x_label = "step h", .y_label = "error of the slope", .x_log = true, .y_log = true};
    cp_panel       *panel = cp_figure_panel(figure, config);
    cp_panel_line(panel, (cp_style){.color = 0, .size = 1.5, .marker = CP_NO_MARK, .label = "two points"}, STEPS, h, two, NULL);
    cp_panel_line(panel, (cp_style){.color = 1, .size = 1.5, .marker = CP_NO_MARK, .label = "four points"}, STEPS, h, four, NULL);
    cp_panel_vertical(panel, (cp_style){.color = 7, .size = 1, .dash = CP_DASHED, .label = "cp_gradcheck's h"}, 1e-3);
    if (!cp_figure_finish(figure, "differences", &status)) fprintf(stderr, "%s\n", status.message);
    return status.message[0] != 0;
}
