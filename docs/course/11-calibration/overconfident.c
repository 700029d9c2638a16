/* A classifier that overfits its few labels is overconfident. One number, the temperature, corrects that. Draws both into reliability.svg. */
#include <couplet-kit.h>
#include <math.h>

enum { FEATURES = 20, CLASSES = 3, TRAIN = 36, VAL = 600, TEST = 3000, STEPS = 400 };
static cp_real points[TEST][FEATURES];
static int     train_labels[TRAIN], val_labels[VAL], test_labels[TEST];
static double  train_logits[TRAIN * CLASSES], val_logits[VAL * CLASSES], test_logits[TEST * CLASSES];

/* Twenty normal numbers; in class c, number c is larger by 3. The other seventeen do not depend on the class. */
static void draw(cp_rng *rng, int n, int *labels) {
    cp_rng_fill_normal(rng, points[0], (size_t)n * FEATURES, 0, 1);
    for (int i = 0; i < n; i++) points[i][labels[i] = i % CLASSES] += 3;
}

static void train(cp_tape *tape, const cp_linear *layer, cp_params *params) {
    cp_optim *adam = cp_adam_new(params, (cp_adam_config){.rate = 0.05});
    for (int step = 1; step <= STEPS; step++) {
        cp_tensor *x = cp_constant(tape, points[0], CP_SHAPE(TRAIN, FEATURES));
        cp_tensor *loss = cp_cross_entropy(tape, cp_linear_forward(tape, layer, x), (cp_labels){train_labels, TRAIN});
        if (step == STEPS) printf("training loss: %.3f\n", cp_item(loss));
        cp_backward(tape, loss, params);
        cp_optim_step(adam);
        cp_tape_reset(tape);
    }
    cp_optim_free(adam);
}

static cp_predictions predict(cp_tape *tape, const cp_linear *layer, int n, const int *labels, double *logits) {
    cp_tensor *z = cp_linear_forward(tape, layer, cp_constant(tape, points[0], CP_SHAPE(n, FEATURES))); /* (n, CLASSES) */
    for (size_t i = 0; i < z->size; i++) logits[i] = z->data[i];
    cp_tape_reset(tape);
    return (cp_predictions){.n = n, .classes = CLASSES, .values = logits, .logits = true, .labels = labels};
}

static void show(const char *what, const cp_metrics *m) {
    printf("%-22s accuracy %4.1f %%  confidence %4.1f %%  ECE %4.1f %%  NLL %.2f\n", what, 100 * m->of[CP_ACCURACY].value,
           100 * m->mean_confidence, 100 * m->of[CP_ECE].value, m->of[CP_NLL].value);
}

/* The reliability diagram of a panel: accuracy over confidence. */
static void draw_bins(cp_figure *figure, const char *title, const cp_metrics *m) {
    double          confidence[CP_CALIBRATION_BINS], accuracy[CP_CALIBRATION_BINS];
    cp_panel_config config = {.title = title, .x_label = "confidence", .y_label = "accuracy", .x_max = 1, .y_max = 1};
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) {
        confidence[b] = m->bins[b].count ? m->bins[b].confidence : (double)NAN;
        accuracy[b] = m->bins[b].count ? m->bins[b].accuracy : (double)NAN;
    }
    cp_panel_reliability(cp_figure_panel(figure, config), CP_CALIBRATION_BINS, confidence, accuracy);
}

/* The bins that are not empty: the classifier's confidence in each, and how often it was right. */
static void show_bins(const cp_metrics *m) {
    printf("      bin        count  confidence  accuracy\n");
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) {
        if (m->bins[b].count)
            printf("(%.3f, %.3f]  %6d    %6.2f    %6.2f\n", (double)b / CP_CALIBRATION_BINS, (b + 1.0) / CP_CALIBRATION_BINS,
                   m->bins[b].count, m->bins[b].confidence, m->bins[b].accuracy);
    }
}

int main(void) {
    cp_status  status = {0};
    cp_rng     data = cp_rng_named(1, "data"), init = cp_rng_named(1, "init");
    cp_params *params = cp_params_new();
    cp_linear  layer = cp_linear_make(params, "layer", (cp_linear_config){.in = FEATURES, .out = CLASSES}, &init);
    cp_tape   *tape = cp_tape_new();

    draw(&data, TRAIN, train_labels);
    train(tape, &layer, params);
    cp_predictions seen = predict(tape, &layer, TRAIN, train_labels, train_logits);
    draw(&data, VAL, val_labels);
    cp_predictions val = predict(tape, &layer, VAL, val_labels, val_logits);
    draw(&data, TEST, test_labels);
    cp_predictions test = predict(tape, &layer, TEST, test_labels, test_logits);

    cp_temperature fitted = {0};
    cp_figure     *figure = cp_figure_new((cp_figure_config){.columns = 2, .width = 230, .height = 230});
    bool           ok = cp_temperature_fit(&seen, &fitted, &status);
    if (ok)
        printf("temperature, fitted on training data: %.2f%s\n", fitted.temperature,
               fitted.at_bound ? " (the smallest allowed)" : "");
    ok = ok && cp_temperature_fit(&val, &fitted, &status); /* on validation, never on test */
    if (ok) printf("temperature, fitted on validation data: %.2f\n", fitted.temperature);
    for (int scaled = 0; scaled < 2 && ok; scaled++) {
        test.temperature = scaled ? fitted.temperature : 1;
        cp_metrics *m = cp_metrics_new(&test, (cp_metrics_config){.resamples = -1}, &status);
        ok = m != NULL;
        if (ok)
            show(scaled ? "with the temperature" : "as it was trained", m), show_bins(m),
                draw_bins(figure, scaled ? "with the temperature" : "as it was trained", m);
        cp_metrics_free(m);
    }
    ok = cp_figure_finish(figure, "reliability", &status) && ok;
    if (!ok) fprintf(stderr, "%s\n", status.message);
    cp_tape_free(tape), cp_params_free(params);
    return !ok;
}
