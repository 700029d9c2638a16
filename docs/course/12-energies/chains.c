/* Langevin chains on an energy in the plane. Draws them into chains.svg, in the current folder. */
#include <couplet-kit.h>
#include <math.h>

enum { CLASSES = 3, WALKERS = 9, MANY = 600, STEPS = 120, GRID = 57 };
static const double low = -2.8, high = 2.8;

/* Three tilted wells: means and precision set by hand. L has e^v0 and e^v2 on its diagonal and v1 below; P = L L^T. */
static cp_gaussian_softmax make_layer(cp_params *params) {
    cp_rng              rng = cp_rng_named(1, "init");
    cp_gaussian_softmax layer =
        cp_gaussian_softmax_make(params, "layer", (cp_gaussian_softmax_config){.features = 2, .classes = CLASSES}, &rng);
    const double means[] = {-1.2, -0.7, 0, 1.1, 1.2, -0.7}, v[] = {0.9, -1.3, 0.8};
    for (int i = 0; i < 2 * CLASSES; i++) layer.mean->data[i] = means[i];
    for (int i = 0; i < 3; i++) layer.precision->data[i] = v[i];
    return layer;
}

typedef struct landscape { /* the energy for the sampler, times a factor */
    const cp_gaussian_softmax *layer;
    cp_real                    factor;
} landscape;

static cp_tensor *energy_of(cp_at at, void *context, cp_tensor *x) {
    const landscape *l = context;
    return cp_scale(at, cp_gaussian_softmax_energy(at, l->layer, x), l->factor);
}

/* The chains start on a circle. */
static void start(cp_tensor *x) {
    for (int i = 0; i < x->dims[0]; i++) {
        double angle = 2 * acos(-1) * (i + 0.5) / x->dims[0];
        x->data[2 * i] = 2.5 * cos(angle), x->data[2 * i + 1] = 2.5 * sin(angle);
    }
}

typedef struct trail {
    double x[WALKERS][STEPS + 1], y[WALKERS][STEPS + 1];
    int    length;
} trail;

static bool remember(void *user, const cp_sgld_view *view) {
    trail *t = user;
    for (int i = 0; i < WALKERS; i++) {
        t->x[i][t->length] = view->x->data[2 * i];
        t->y[i][t->length] = view->x->data[2 * i + 1];
    }
    t->length++;
    return true;
}

static double mean_energy(cp_tape *tape, const cp_gaussian_softmax *layer, const cp_tensor *x) {
    cp_tensor *e = cp_gaussian_softmax_energy(tape, layer, cp_constant(tape, x->data, x->shape));
    double     mean = cp_item(cp_mean(tape, e, CP_ALL, false));
    cp_tape_reset(tape);
    return mean;
}

/* A panel with the energy: the lower, the darker. */
static cp_panel *draw_energy(cp_figure *figure, cp_tape *tape, const cp_gaussian_softmax *layer, const char *title) {
    static double  depth[GRID * GRID];
    static cp_real row[GRID][2];
    cp_panel      *panel = cp_figure_panel(figure, (cp_panel_config){.title = title,
                                                                     .x_label = "x",
                                                                     .y_label = "y",
                                                                     .x_min = low,
                                                                     .x_max = high,
                                                                     .y_min = low,
                                                                     .y_max = high,
                                                                     .equal = true});
    cp_grid        grid = {GRID, GRID, low, high, low, high, depth};
    for (int j = 0; j < GRID; j++) {
        for (int i = 0; i < GRID; i++) {
            row[i][0] = low + (high - low) * i / (GRID - 1);
            row[i][1] = low + (high - low) * j / (GRID - 1);
        }
        cp_tensor *e = cp_gaussian_softmax_energy(tape, layer, cp_constant(tape, row[0], CP_SHAPE(GRID, 2)));
        for (int i = 0; i < GRID; i++) depth[j * GRID + i] = -e->data[i];
        cp_tape_reset(tape);
    }
    cp_panel_fill(panel, (cp_style){.color = 0, .opacity = 0.4}, &grid, CP_RAMP_ONE, 10, -9, 0.5);
    cp_panel_contours(panel, (cp_style){.color = 7, .size = 0.5, .opacity = 0.5, .dash = CP_SOLID}, &grid, 5,
                      (double[]){-8, -5, -3, -1.5, -0.5});
    return panel;
}

/* The paths of the chains, from a ring to a dot. */
static void draw_trails(cp_panel *panel, const trail *t, const cp_tensor *end) {
    for (int i = 0; i < WALKERS; i++) {
        double   x = end->data[2 * i], y = end->data[2 * i + 1];
        cp_style line = {.color = 1, .dash = CP_SOLID, .marker = CP_NO_MARK, .size = 1.1, .opacity = 0.8, .label = "chain"};
        cp_panel_line(panel, line, t->length, t->x[i], t->y[i], NULL);
        cp_panel_points(panel, (cp_style){.color = 7, .marker = CP_CIRCLE, .ring = true, .label = "start"}, 1, t->x[i], t->y[i]);
        cp_panel_points(panel, (cp_style){.color = 7, .marker = CP_CIRCLE, .size = 3.6, .label = "end"}, 1, &x, &y);
    }
}

static void draw_ends(cp_panel *panel, const cp_tensor *end) {
    static double x[MANY], y[MANY];
    for (int i = 0; i < MANY; i++) x[i] = end->data[2 * i], y[i] = end->data[2 * i + 1];
    cp_panel_points(panel, (cp_style){.color = 7, .marker = CP_CIRCLE, .size = 1.9, .opacity = 1}, MANY, x, y);
}

/* Runs chains from the circle and prints how their energy changed. factor -1 goes uphill; 1 / chains uses the mean
 * instead of the sum. */
static void walk(cp_tape *tape, const cp_gaussian_softmax *layer, const char *what, cp_tensor *x, double factor, double noise,
                 trail *t) {
    cp_rng         rng = cp_rng_named(4, "chains");
    landscape      on = {layer, factor};
    cp_sgld_config config = {
        .step_size = 0.02, .noise = noise, .steps = STEPS, .observer = t ? remember : NULL, .observer_user = t};
    start(x);
    double before = mean_energy(tape, layer, x);
    if (t) t->length = 0;
    cp_sgld_run(tape, energy_of, &on, x, &config, &rng, NULL);
    double after = mean_energy(tape, layer, x);
    printf("%-32s mean energy %.1f -> ", what, before);
    if (after < 1000)
        printf("%.1f\n", after);
    else
        printf("above 1000\n");
}

int main(void) {
    static trail        t;
    cp_status           status = {0};
    cp_params          *params = cp_params_new();
    cp_gaussian_softmax layer = make_layer(params);
    cp_tape            *tape = cp_tape_new();
    cp_tensor          *x = cp_tensor_new(CP_SHAPE(WALKERS, 2)), *many = cp_tensor_new(CP_SHAPE(MANY, 2));
    cp_figure          *figure = cp_figure_new((cp_figure_config){.columns = 3, .width = 290, .height = 290});

    walk(tape, &layer, "9 chains, no noise", x, 1, 0, &t);
    draw_trails(draw_energy(figure, tape, &layer, "no noise: descent"), &t, x);
    walk(tape, &layer, "9 chains", x, 1, -1, &t); /* noise -1: sqrt(step_size), the true Langevin chain */
    draw_trails(draw_energy(figure, tape, &layer, "with noise: Langevin"), &t, x);
    walk(tape, &layer, "600 chains", many, 1, -1, NULL);
    draw_ends(draw_energy(figure, tape, &layer, "where 600 chains are"), many);
    walk(tape, &layer, "600 chains, mean instead of sum", many, 1.0 / MANY, -1, NULL);
    walk(tape, &layer, "600 chains, the wrong sign", many, -1, -1, NULL);

    bool ok = cp_figure_save(figure, "chains", &status);
    if (!ok) fprintf(stderr, "%s\n", status.message);
    cp_figure_free(figure), cp_tensor_free(x), cp_tensor_free(many), cp_tape_free(tape), cp_params_free(params);
    return !ok;
}
