/* The gradient of ln p without Z: minus the energy's gradient at the data, plus its mean over samples. Here Z is known, so
 * the estimate can be compared with the exact gradient. */
#include <couplet.h>

enum { CLASSES = 2, POINTS = 500, CHAINS = 20000, VALUES = 5 };
static cp_real points[POINTS][2];

/* Two round wells. The layer's numbers are set by hand: the means, and P = e^s I. */
static cp_gaussian_softmax make_layer(cp_params *params) {
    cp_rng              rng = cp_rng_named(1, "init");
    cp_gaussian_softmax layer = cp_gaussian_softmax_make(
        params, "layer", (cp_gaussian_softmax_config){.features = 2, .classes = CLASSES, .precision = CP_SPHERICAL}, &rng);
    const cp_real means[] = {-1, 0, 1, 0};
    for (int i = 0; i < 2 * CLASSES; i++) layer.mean->data[i] = means[i];
    layer.precision->data[0] = 1; /* e^1 = 2.718: a standard deviation of 0.61 */
    return layer;
}

static cp_tensor *mean_energy(cp_at at, const cp_gaussian_softmax *layer, cp_tensor *x) {
    return cp_mean(at, cp_gaussian_softmax_energy(at, layer, x), CP_ALL, false);
}

/* d scalar / d (means, s): five numbers. */
static void gradient(cp_tape *tape, const cp_gaussian_softmax *layer, cp_tensor *scalar, double *out) {
    cp_tensor *wrt[] = {layer->mean, layer->precision}, *grads[2];
    cp_grad(tape, scalar, wrt, 2, grads);
    for (int i = 0; i < VALUES; i++) out[i] = i < 4 ? grads[0]->data[i] : grads[1]->data[0];
}

static cp_tensor *energy_of(cp_at at, void *layer, cp_tensor *x) {
    return cp_gaussian_softmax_energy(at, layer, x);
}

int main(void) {
    double              exact[VALUES], positive[VALUES], negative[VALUES];
    cp_rng              rng = cp_rng_named(1, "phases");
    cp_params          *params = cp_params_new();
    cp_gaussian_softmax layer = make_layer(params);
    cp_tape            *tape = cp_tape_new();
    for (int i = 0; i < POINTS; i++) { /* the data are not where the model has its wells */
        points[i][0] = (i % 2 ? 1.5 : -1.0) + 0.4 * cp_rng_normal(&rng);
        points[i][1] = (i % 2 ? 0.5 : -0.2) + 0.4 * cp_rng_normal(&rng);
    }

    /* Samples first: cp_sgld_run resets the tape at every step, and freezes the parameters while it runs. */
    cp_tensor     *samples = cp_tensor_new(CP_SHAPE(CHAINS, 2));
    cp_sgld_config sgld = {.step_size = 0.02, .noise = -1, .steps = 300}; /* noise -1: sqrt(step_size), the true chain */
    cp_rng_fill_uniform(&rng, samples->data, samples->size, -2, 2);
    cp_sgld_run(tape, energy_of, &layer, samples, &sgld, &rng, NULL);

    cp_tensor *x = cp_constant(tape, points[0], CP_SHAPE(POINTS, 2));
    gradient(tape, &layer, cp_mean(tape, cp_gaussian_softmax_log_density(tape, &layer, x), CP_ALL, false), exact);
    gradient(tape, &layer, mean_energy(CP_AT(tape), &layer, x), positive);
    gradient(tape, &layer, mean_energy(CP_AT(tape), &layer, samples), negative);

    static const char *const names[VALUES] = {"mean 0, x", "mean 0, y", "mean 1, x", "mean 1, y", "s"};
    printf("d ln p / d      exact   -dE at data   +dE at samples     sum\n");
    for (int i = 0; i < VALUES; i++)
        printf("%-12s  %7.3f %13.3f %16.3f %7.3f\n", names[i], exact[i], -positive[i], negative[i], negative[i] - positive[i]);
    cp_tensor_free(samples), cp_tape_free(tape), cp_params_free(params);
    return 0;
}
