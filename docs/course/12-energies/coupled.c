/* The Gaussian-coupled softmax layer on points of the plane: two heads, how they agree, and the effect of the coupling. */
#include <couplet.h>
#include <math.h>

enum { CLASSES = 3, LABELED = 9, POINTS = 300, TEST = 3000, STEPS = 3000 };
static cp_real labeled[LABELED][2], points[POINTS][2], test[TEST][2];
static int     labels[LABELED], hidden[POINTS], truth[TEST];

/* Three tilted clouds of one shape: a center, a step along the tilt and one across it. The labeled points are far out
 * along the tilt, on one side in class 1 and on the other side in the other classes: nine labels in misleading places.
 * */
static void draw(cp_rng *rng, int n, cp_real (*x)[2], int *y, bool misleading) {
    static const double centers[CLASSES][2] = {{-1.2, -0.5}, {0, 1}, {1.2, -0.5}};
    for (int i = 0; i < n; i++) {
        int    c = y[i] = i % CLASSES;
        double along = cp_rng_normal(rng), across = cp_rng_normal(rng);
        if (misleading) along = (c == 1 ? -1.6 : 1.6) + 0.2 * along;
        x[i][0] = centers[c][0] + 0.5 * along - 0.12 * across;
        x[i][1] = centers[c][1] + 0.3 * along + 0.2 * across;
    }
}

/* -ln p(c|x) - ln p(x, c) of the labeled points - ln p(x) of the others, and the penalty. */
static cp_tensor *loss_of(cp_at at, const cp_gaussian_softmax *layer, double lambda) {
    int place[LABELED]; /* the index of ln p(x_i, c_i) in the table of all classes */
    for (int i = 0; i < LABELED; i++) place[i] = CLASSES * i + labels[i];
    cp_tensor *x = cp_constant(at, labeled[0], CP_SHAPE(LABELED, 2)), *u = cp_constant(at, points[0], CP_SHAPE(POINTS, 2));
    cp_tensor *joint = cp_gaussian_log_joint(at, x, cp_gaussian_softmax_gaussians(at, layer)); /* (LABELED, CLASSES) */
    cp_tensor *of_class = cp_take(at, joint, (cp_indices){place, LABELED}, CP_SHAPE(LABELED));
    cp_tensor *loss = cp_cross_entropy(at, cp_gaussian_softmax_logits(at, layer, x), (cp_labels){labels, LABELED});
    loss = cp_sub(at, loss, cp_mean(at, of_class, CP_ALL, false));
    loss = cp_sub(at, loss, cp_mean(at, cp_gaussian_softmax_log_density(at, layer, u), CP_ALL, false));
    return cp_add(at, loss, cp_scale(at, cp_gaussian_softmax_penalty(at, layer), lambda));
}

static double accuracy(const cp_tensor *p) {
    int right = 0;
    for (int i = 0; i < TEST; i++) {
        const cp_real *row = p->data + CLASSES * i;
        int            best = 0;
        for (int c = 1; c < CLASSES; c++) best = row[c] > row[best] ? c : best;
        right += best == truth[i];
    }
    return 100.0 * right / TEST;
}

/* The largest difference between the two heads' posteriors on the test points. */
static double disagreement(const cp_tensor *p, const cp_tensor *q) {
    double max = 0;
    for (size_t i = 0; i < p->size; i++) max = fmax(max, fabs(p->data[i] - q->data[i]));
    return max;
}

static void report(cp_tape *tape, const cp_gaussian_softmax *layer, const char *what) {
    cp_tensor *x = cp_constant(tape, test[0], CP_SHAPE(TEST, 2));
    cp_tensor *p = cp_gaussian_softmax_posterior(tape, layer, x), *q = cp_gaussian_softmax_bayes_posterior(tape, layer, x);
    printf("%-15s softmax %3.0f %%   Gaussians %3.0f %%   posteriors differ by up to %.2f\n", what, accuracy(p), accuracy(q),
           disagreement(p, q));
    cp_tape_reset(tape);
}

/* E(x) is -ln p(x) up to a constant, ln Z. */
static void show_constant(cp_tape *tape, const cp_gaussian_softmax *layer) {
    const cp_real at[][2] = {{0, 0}, {-1, 1}, {2, -2}};
    cp_tensor    *x = cp_constant(tape, at[0], CP_SHAPE(3, 2));
    cp_tensor    *e = cp_gaussian_softmax_energy(tape, layer, x), *l = cp_gaussian_softmax_log_density(tape, layer, x);
    for (int i = 0; i < 3; i++)
        printf("x = (%2.0f, %2.0f)  E %5.2f   -ln p %5.2f   ln Z = -ln p - E = %.2f\n", at[i][0], at[i][1], e->data[i], -l->data[i],
               -(l->data[i] + e->data[i]));
    cp_tape_reset(tape);
}

int main(void) {
    cp_rng   data = cp_rng_named(1, "data");
    cp_tape *tape = cp_tape_new();
    draw(&data, LABELED, labeled, labels, true), draw(&data, POINTS, points, hidden, false), draw(&data, TEST, test, truth, false);
    const double lambdas[] = {0, 0.01, 1};
    for (int l = 0; l < 3; l++) {
        char                       what[32];
        cp_rng                     init = cp_rng_named(1, "init");
        cp_params                 *params = cp_params_new();
        cp_gaussian_softmax_config config = {.features = 2, .classes = CLASSES, .mean_sd = 0.5};
        cp_gaussian_softmax        layer = cp_gaussian_softmax_make(params, "layer", config, &init);
        if (l == 0) show_constant(tape, &layer);
        cp_optim *adam = cp_adam_new(params, (cp_adam_config){.rate = 0.05});
        for (int step = 0; step < STEPS; step++, cp_tape_reset(tape)) {
            cp_backward(tape, loss_of(CP_AT(tape), &layer, lambdas[l]), params);
            cp_optim_rate_set(adam, 0.05 * (STEPS - step) / STEPS);
            cp_optim_step(adam);
        }
        snprintf(what, sizeof what, "lambda %.2f", lambdas[l]);
        report(tape, &layer, what);
        if (l == 0) {
            cp_gaussian_softmax_associate(tape, &layer); /* w_c = P mu_c, b_c = ln pi_c - mu_c^T P mu_c / 2 */
            report(tape, &layer, "  associated");
        }
        cp_optim_free(adam), cp_params_free(params);
    }
    cp_tape_free(tape);
    return 0;
}
