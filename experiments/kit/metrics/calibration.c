/* Temperature scaling. */
#include "experiments/kit/metrics/calibration.h"

#include "experiments/kit/metrics/metrics_parts.h"

#include <math.h>
#include <stdlib.h>

static const double bound = 100;

/* d NLL / d s of one prediction at s = 1/T, with logits less their largest, d: sum_c p_c d_c - d_y. */
static double slope_of(double *row, int classes, int label, double s) {
    double largest = row[0], sum = 0, mean = 0;
    for (int c = 1; c < classes; c++) largest = fmax(largest, row[c]);
    for (int c = 0; c < classes; c++) {
        double d = row[c] - largest, e = exp(s * d);
        sum += e;
        if (e > 0) mean += e * d; /* where e is 0, d may be -infinity */
    }
    return mean / sum - (row[label] - largest);
}

/* Of the sum over all predictions, which has the sign of the mean. */
static double slope(const cp_predictions *p, double temperature, double *row) {
    double sum = 0;
    for (int i = 0; i < p->n; i++) {
        cp_predictions_row(p, i, row);
        sum += slope_of(row, p->classes, p->labels[i], 1 / temperature);
    }
    return sum;
}

/* A slope above 0 asks for a smaller s, that is, a higher temperature. */
static cp_temperature minimize(const cp_predictions *p, double *row) {
    double cold = -log(bound), hot = log(bound), at_cold = slope(p, 1 / bound, row), at_hot = slope(p, bound, row);
    if (at_cold == 0 && at_hot == 0) return (cp_temperature){1, false};
    if (at_cold <= 0) return (cp_temperature){1 / bound, true};
    if (at_hot >= 0) return (cp_temperature){bound, true};
    while (hot - cold > 1e-14) {
        double middle = (cold + hot) / 2;
        if (middle == cold || middle == hot) break;
        *(slope(p, exp(middle), row) > 0 ? &cold : &hot) = middle;
    }
    return (cp_temperature){exp((cold + hot) / 2), false};
}

bool(cp_temperature_fit)(cp_at at, const cp_predictions *p, cp_temperature *fitted, cp_status *status) {
    const char *op = "temperature_fit";
    if (!fitted) return cp_misuse(at, op, "the place for the temperature is NULL");
    if (p && !p->logits) return cp_misuse(at, op, "a temperature is fitted to logits, not to probabilities");
    if (!cp_predictions_check(at, op, p, status)) return false;
    double *row = malloc((size_t)p->classes * sizeof *row);
    if (!row) return cp_fail(status, "out of memory for %d classes", p->classes);
    *fitted = minimize(p, row);
    free(row);
    return true;
}
