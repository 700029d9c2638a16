/* The ECE of a perfectly calibrated classifier, measured on few predictions and on many. It should be 0. */
#include <couplet-kit.h>

enum { MAX = 50000, REPEATS = 40 };
static double probabilities[MAX][2];
static int    labels[MAX];

/* Class 0 gets a probability between 0.5 and 1, and is right with that probability. */
static double measured(cp_rng *rng, int n) {
    for (int i = 0; i < n; i++) {
        double p = 0.5 + 0.5 * cp_rng_uniform(rng);
        probabilities[i][0] = p, probabilities[i][1] = 1 - p;
        labels[i] = cp_rng_uniform(rng) >= p;
    }
    cp_status      status = {0};
    cp_predictions predictions = {.n = n, .classes = 2, .values = probabilities[0], .labels = labels};
    cp_metrics    *m = cp_metrics_new(&predictions, (cp_metrics_config){.resamples = -1}, &status);
    double         ece = m ? m->of[CP_ECE].value : -1;
    cp_metrics_free(m);
    return ece;
}

int main(void) {
    const int counts[] = {50, 200, 1000, 5000, MAX};
    cp_rng    rng = cp_rng_named(1, "few");
    for (int k = 0; k < 5; k++) {
        double sum = 0;
        for (int r = 0; r < REPEATS; r++) sum += measured(&rng, counts[k]);
        printf("%5d predictions: ECE %4.1f %%\n", counts[k], 100 * sum / REPEATS);
    }
    return 0;
}
