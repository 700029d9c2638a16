/* Trains the network on two moons with the engine of exercise.c and with the library, compares their numbers, and draws the boundary
 * into moons.svg. Links with exercise.c. */
#include "04-engine/moons.h"
#include <couplet-kit.h>

enum { STEPS = 1000, GRID = 61 };

static double accuracy(const moons *m, tensor *const *w) {
    static tape t;
    tensor     *out = network(&t, leaf(&t, POINTS, 2, m->x), w);
    int         right = 0;
    for (int i = 0; i < POINTS; i++) right += out->data[i] * m->y[i] > 0;
    tape_clear(&t);
    return 100.0 * right / POINTS;
}

/* What the network gives at each point of a grid, the line where it is 0, and the moons. */
static bool draw(const moons *m, tensor *const *w, cp_status *status) {
    static double height[GRID * GRID];
    static tape   t;
    const double  left = -1.6, right = 2.6, low = -1.1, high = 1.6;
    for (int j = 0; j < GRID; j++) {
        double row[2 * GRID];
        for (int i = 0; i < GRID; i++)
            row[2 * i] = left + (right - left) * i / (GRID - 1), row[2 * i + 1] = low + (high - low) * j / (GRID - 1);
        tensor *out = network(&t, leaf(&t, GRID, 2, row), w);
        for (int i = 0; i < GRID; i++) height[j * GRID + i] = out->data[i];
        tape_clear(&t);
    }
    cp_figure      *figure = cp_figure_new((cp_figure_config){.columns = 1, .width = 420, .height = 270});
    cp_panel_config config = {
        .x_label = "x[0]", .y_label = "x[1]", .x_min = left, .x_max = right, .y_min = low, .y_max = high, .equal = true};
    cp_panel *panel = cp_figure_panel(figure, config);
    cp_grid   grid = {GRID, GRID, left, right, low, high, height};
    cp_panel_fill(panel, (cp_style){.opacity = 0.6}, &grid, CP_RAMP_TWO, 10, -1, 1);
    cp_panel_contours(panel, (cp_style){.color = 7, .size = 1.5, .dash = CP_SOLID, .label = "boundary"}, &grid, 1, (double[]){0});
    for (int lower = 0; lower < 2; lower++) {
        double x[POINTS], y[POINTS];
        int    n = 0;
        for (int i = lower; i < POINTS; i += 2, n++) x[n] = m->x[2 * i], y[n] = m->x[2 * i + 1];
        cp_panel_points(panel, (cp_style){.color = lower ? 1 : 0, .size = 3, .label = lower ? "class 1" : "class -1"}, n, x, y);
    }
    return cp_figure_finish(figure, "moons", status);
}

int main(void) {
    static tape t;
    cp_status   status = {0};
    cp_tape    *library = cp_tape_new();
    cp_tensor  *parameters[WEIGHTS];
    tensor     *weights[WEIGHTS];
    moons       m = moons_make();
    double      loss = 0, theirs = 0, largest = 0, first = 0;
    weights_make(weights), parameters_make(weights, parameters);
    printf("step  loss    accuracy\n");
    for (int step = 0; step <= STEPS; step++) {
        tensor *l = loss_of(&t, &m, weights);
        loss = l->data[0];
        if (step == 0) first = loss;
        theirs = library_step(library, &m, parameters, 0.3);
        largest = fmax(largest, fabs(loss - theirs));
        if (step % 200 == 0) printf("%4d  %.4f  %5.1f %%\n", step, loss, accuracy(&m, weights));
        backward(&t, l);
        sgd(weights, WEIGHTS, 0.3);
        tape_clear(&t);
    }
    printf("the library's last loss: %.4f; the largest difference of a loss is %s 1e-12\n", theirs,
           largest < 1e-12 ? "below" : "above");
    bool ok = loss < first && draw(&m, weights, &status);
    if (!ok) fprintf(stderr, "%s\n", loss < first ? status.message : "the loss did not fall: run docs/course/check 4");
    for (int k = 0; k < WEIGHTS; k++) tensor_free(weights[k]), cp_tensor_free(parameters[k]);
    cp_tape_free(library);
    return !ok;
}
