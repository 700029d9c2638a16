/* Draws Rosenbrock's valley with the paths of Newton's method and of gradient descent. */
#include <couplet-kit.h>
#include <math.h>

enum { GRID = 121, NEWTON = 7, DESCENT = 1000 };

/* The value of (1 - x)^2 + 100 (y - x^2)^2, its gradient, and its Hessian times u. */
static double valley(cp_tape *tape, const cp_real *at, const cp_real *u, cp_real *g, cp_real *hu) {
    cp_tensor *xy = cp_variable(tape, at, CP_SHAPE(2)), *along = cp_constant(tape, u, CP_SHAPE(2)), *grad, *product;
    cp_tensor *x = cp_slice(tape, xy, (int[]){0}, (int[]){1}, NULL), *y = cp_slice(tape, xy, (int[]){1}, (int[]){2}, NULL);
    cp_tensor *across = cp_square(tape, cp_sub(tape, y, cp_square(tape, x)));
    cp_tensor *f =
        cp_sum(tape, cp_add(tape, cp_square(tape, cp_affine(tape, x, -1, 1)), cp_scale(tape, across, 100)), CP_ALL, false);
    double value = cp_item(f);
    cp_grad(tape, f, &xy, 1, &grad);
    cp_hvp(tape, f, &xy, &along, 1, &product);
    for (int i = 0; i < 2; i++) g[i] = grad->data[i], hu[i] = product->data[i];
    cp_tape_reset(tape);
    return value;
}

int main(void) {
    static double height[GRID * GRID];
    const double  left = -1.6, right = 1.6, low = -3.5, high = 2.5;
    double        nx[NEWTON], ny[NEWTON], dx[DESCENT], dy[DESCENT];
    cp_real       at[2] = {-1.2, 1}, g[2], a[2], b[2];
    cp_tape      *tape = cp_tape_new();
    cp_status     status = {0};
    for (int k = 0; k < NEWTON; k++) {
        nx[k] = at[0], ny[k] = at[1];
        valley(tape, at, (cp_real[]){1, 0}, g, a);
        valley(tape, at, (cp_real[]){0, 1}, g, b);
        double det = a[0] * b[1] - a[1] * b[0];
        at[0] -= (b[1] * g[0] - a[1] * g[1]) / det, at[1] -= (a[0] * g[1] - b[0] * g[0]) / det;
    }
    at[0] = -1.2, at[1] = 1;
    for (int k = 0; k < DESCENT; k++) {
        dx[k] = at[0], dy[k] = at[1];
        valley(tape, at, at, g, a);
        for (int i = 0; i < 2; i++) at[i] -= 0.001 * g[i];
    }
    for (int j = 0; j < GRID; j++)
        for (int i = 0; i < GRID; i++) {
            double x = left + (right - left) * i / (GRID - 1), y = low + (high - low) * j / (GRID - 1);
            height[j * GRID + i] = log10(1e-3 + (1 - x) * (1 - x) + 100 * (y - x * x) * (y - x * x));
        }
    cp_figure      *figure = cp_figure_new((cp_figure_config){.columns = 1, .width = 420, .height = 300});
    cp_panel_config config = {.x_label = "x", .y_label = "y", .x_min = left, .x_max = right, .y_min = low, .y_max = high};
    cp_panel       *panel = cp_figure_panel(figure, config);
    cp_grid         grid = {GRID, GRID, left, right, low, high, height};
    double          levels[] = {0, 1, 2, 3};
    cp_panel_contours(panel, (cp_style){.color = 7, .size = 0.6, .opacity = 0.6, .dash = CP_SOLID, .label = "f = 1, 10, 100, 1000"},
                      &grid, 4, levels);
    cp_panel_line(panel, (cp_style){.color = 0, .size = 1.5, .dash = CP_SOLID, .label = "Newton"}, NEWTON, nx, ny, NULL);
    cp_style descent = {.color = 1, .size = 2, .dash = CP_SOLID, .marker = CP_NO_MARK, .label = "1000 steps downhill"};
    cp_panel_line(panel, descent, DESCENT, dx, dy, NULL);
    bool ok = cp_figure_finish(figure, "valley", &status);
    if (!ok) fprintf(stderr, "%s\n", status.message);
    cp_tape_free(tape);
    return !ok;
}
