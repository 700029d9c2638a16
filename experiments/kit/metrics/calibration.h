/* Temperature scaling (Guo et al. 2017): one number that makes a classifier's confidence fit, without changing what it
 * predicts. It is fitted on a split other than the one that is measured, usually validation:
 *
 *     cp_temperature fitted;
 *     cp_predictions val = {.n = ..., .classes = 8, .values = val_logits, .logits = true, .labels = validation->labels};
 *     if (cp_temperature_fit(&val, &fitted, &status)) test.temperature = fitted.temperature;
 *
 * p = softmax(logits / T), with T the minimizer of the mean NLL within [1/100, 100]. The NLL is convex in 1/T, so its slope there,
 * the mean over the predictions of (sum_c p_c z_c) - z_y, has one root at most, and bisection finds it: nothing can diverge. When
 * every prediction is right the NLL keeps falling with T, and T is 1/100; when the logits are worse than guessing, T is 100; when the
 * logits of every prediction are all equal, T does not matter and is 1. */
#pragma once

#include "experiments/kit/metrics/metrics.h"

typedef struct cp_temperature {
    double temperature;
    bool   at_bound; /* it is 1/100 or 100: the NLL has no minimum between */
} cp_temperature;

/* False with a message as cp_metrics_new, whose rules for predictions hold; probabilities instead of logits are misuse. The
 * `temperature` of the predictions is ignored. */
bool cp_temperature_fit(cp_at at, const cp_predictions *logits, cp_temperature *fitted, cp_status *status);
#define cp_temperature_fit(...) cp_temperature_fit(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
