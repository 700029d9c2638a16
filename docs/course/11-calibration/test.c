/* The check of exercise 11. */
#include <couplet-kit.h>

#include "expect.h"

int    bin_of(double confidence);
double calibration_error(int n, const double *confidence, const int *right);

enum { MANY = 3000 };

static void check_bins(void) {
    static const struct {
        const char *text;
        double      confidence;
        int         bin;
    } cases[] = {
        {"0", 0, 0},
        {"0.001", 0.001, 0},
        {"1/15, the upper end of bin 0", 1 / 15.0, 0},
        {"1/15 + 1e-9", 1 / 15.0 + 1e-9, 1},
        {"0.5", 0.5, 7},
        {"10/15, the upper end of bin 9", 10 / 15.0, 9},
        {"10/15 + 1e-9", 10 / 15.0 + 1e-9, 10},
        {"0.99", 0.99, 14},
        {"1", 1, 14},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char what[64];
        snprintf(what, sizeof what, "bin_of(%s)", cases[i].text);
        expect_number(what, cases[i].bin, bin_of(cases[i].confidence), 0);
    }
}

static void check_error(const char *what, int n, const double *confidence, const int *right, double expected) {
    expect_number(what, expected, calibration_error(n, confidence, right), 1e-9);
}

/* Three thousand predictions of three classes, compared with the kit's ECE. */
static void check_against_kit(void) {
    static double probabilities[MANY][3], confidence[MANY];
    static int    labels[MANY], right[MANY];
    cp_rng        rng = cp_rng_named(9, "exercise");
    for (int i = 0; i < MANY; i++) {
        double q = confidence[i] = 0.34 + 0.66 * cp_rng_uniform(&rng);
        probabilities[i][0] = q, probabilities[i][1] = probabilities[i][2] = (1 - q) / 2;
        labels[i] = cp_rng_uniform(&rng) > q * q;
        right[i] = labels[i] == 0;
    }
    cp_status      status = {0};
    cp_predictions predictions = {.n = MANY, .classes = 3, .values = probabilities[0], .labels = labels};
    cp_metrics    *m = cp_metrics_new(&predictions, (cp_metrics_config){.resamples = -1}, &status);
    if (!m) return;
    expect_number("the ECE of 3,000 predictions, as computed by cp_metrics_new", m->of[CP_ECE].value,
                  calibration_error(MANY, confidence, right), 1e-9);
    cp_metrics_free(m);
}

int main(void) {
    check_bins();
    check_error("the page's example: 0.55 right, 0.95 0.95 0.95 wrong right right", 4, (double[]){0.55, 0.95, 0.95, 0.95},
                (int[]){1, 0, 1, 1}, 0.325);
    check_error("two in one bin, 0.94 wrong and 0.98 right: average before taking the difference", 2, (double[]){0.94, 0.98},
                (int[]){0, 1}, 0.46);
    check_error("two bins with errors of opposite sign, 0.4 right and 0.6 wrong: they do not cancel", 2, (double[]){0.4, 0.6},
                (int[]){1, 0}, 0.6);
    check_error("1 and 1, one right: a confidence of 1 is in the last bin", 2, (double[]){1, 1}, (int[]){1, 0}, 0.5);
    check_error("14/15 right and 1 wrong: two bins", 2, (double[]){14 / 15.0, 1}, (int[]){1, 0}, (1 / 15.0 + 1) / 2);
    check_error("one prediction, 1 and right: fourteen bins are empty", 1, (double[]){1}, (int[]){1}, 0);
    check_error("no predictions", 0, (double[]){0}, (int[]){0}, 0);
    check_against_kit();
    return expect_end();
}
