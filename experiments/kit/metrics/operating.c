/* Operating points. */
#include "experiments/kit/metrics/operating.h"

#include "experiments/kit/metrics/bootstrap.h"
#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const cp_rate_names[CP_RATES] = {"sensitivity", "specificity", "ppv", "npv", "f1", "ppv_at", "npv_at"};
const char *const cp_rate_titles[CP_RATES] = {"sensitivity", "specificity", "PPV", "NPV", "F1", "PPV", "NPV"};

/* ---- rules ---- */

bool cp_operating_read(const char *text, cp_operating_rule *rule, cp_status *status) {
    static const struct {
        const char       *word;
        cp_operating_kind kind;
    } words[] = {{"sensitivity=", CP_AT_SENSITIVITY}, {"specificity=", CP_AT_SPECIFICITY}, {"", CP_AT_THRESHOLD}};
    char *end = NULL;
    *rule = (cp_operating_rule){CP_AT_YOUDEN, NAN};
    if (strcmp(text, "youden") == 0) return true;
    int i = 0;
    while (strncmp(text, words[i].word, strlen(words[i].word)) != 0) i++;
    const char *number = text + strlen(words[i].word);
    *rule = (cp_operating_rule){words[i].kind, strtod(number, &end)};
    bool ok = end != number && *end == '\0' && rule->value >= 0 && rule->value <= 1;
    return ok || cp_fail(status,
                         "\"%.60s\" is not sensitivity=S, specificity=S, youden or a threshold; all are numbers from 0 to 1", text);
}

bool cp_operating_choose(cp_operating_rule rule, int n, const double *scores, const bool *positive, double *threshold,
                         cp_status *status) {
    double ill = 0, hits = 0, alarms = 0, best = 0;
    *threshold = rule.value;
    if (rule.kind == CP_AT_THRESHOLD) return true;
    for (int i = 0; i < n; i++) ill += positive[i];
    if (ill == 0 || ill == n)
        return cp_fail(status, "no threshold can be chosen on %d images of which %s are of the class", n, ill ? "all" : "none");
    int *order = malloc((size_t)n * sizeof *order);
    if (!order || !cp_values_order(scores, n, order)) return free(order), cp_fail(status, "out of memory for a threshold");
    *threshold = INFINITY;
    for (int last = n - 1, i; last >= 0; last = i) { /* from the highest score down */
        for (i = last; i >= 0 && scores[order[i]] == scores[order[last]]; i--) *(positive[order[i]] ? &hits : &alarms) += 1;
        double sensitivity = hits / ill, gain = sensitivity - alarms / (n - ill), at = scores[order[last]];
        if (rule.kind == CP_AT_YOUDEN && gain > best) *threshold = at, best = gain;
        if (rule.kind == CP_AT_SPECIFICITY && (n - ill - alarms) / (n - ill) >= rule.value) *threshold = at;
        if (rule.kind == CP_AT_SENSITIVITY && rule.value > 0 && sensitivity >= rule.value && isinf(*threshold)) *threshold = at;
    }
    free(order);
    return true;
}

/* ---- rates ---- */

cp_estimate cp_wilson(double hits, double n) {
    const double z = 1.959963984540054, share = hits / n, below = 1 + z * z / n;
    double       middle = (share + z * z / (2 * n)) / below;
    double       half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / below;
    if (!(n > 0)) return (cp_estimate){NAN, NAN, NAN};
    return (cp_estimate){share, fmax(0, middle - half), fmin(1, middle + half)};
}

static double ratio(double a, double b) { return b > 0 ? a / b : NAN; }

static void rates_of(double counts[2][2], double q, double rates[CP_RATES]) {
    double hits = counts[1][1], alarms = counts[0][1], missed = counts[1][0], quiet = counts[0][0];
    double sensitivity = ratio(hits, hits + missed), specificity = ratio(quiet, quiet + alarms);
    rates[CP_SENSITIVITY] = sensitivity;
    rates[CP_SPECIFICITY] = specificity;
    rates[CP_PPV] = ratio(hits, hits + alarms);
    rates[CP_NPV] = ratio(quiet, quiet + missed);
    rates[CP_RATE_F1] = ratio(2 * hits, 2 * hits + alarms + missed);
    rates[CP_PPV_AT] = q > 0 ? ratio(q * sensitivity, q * sensitivity + (1 - q) * (1 - specificity)) : NAN;
    rates[CP_NPV_AT] = q > 0 ? ratio((1 - q) * specificity, (1 - q) * specificity + q * (1 - sensitivity)) : NAN;
}

static void measure(const void *context, const double *times, double *scratch, double *rates) {
    const cp_operating *p = context;
    double              counts[2][2] = {{0}};
    (void)scratch;
    for (int i = 0; i < p->n; i++) counts[p->positive[i]][p->scores[i] >= p->threshold] += times[i];
    rates_of(counts, p->prevalence, rates);
}

bool cp_operating_measure(cp_operating *p, cp_status *status) {
    cp_resampling r = {.n = p->n,
                       .groups = p->groups,
                       .resamples = p->resamples,
                       .seed = p->seed,
                       .values = CP_RATES,
                       .context = p,
                       .measure = measure};
    int           count;
    double       *all = cp_resample(&r, p->of, &count);
    memset(p->counts, 0, sizeof p->counts);
    for (int i = 0; i < p->n; i++) p->counts[p->positive[i]][p->scores[i] >= p->threshold]++;
    if (all && !p->groups) {
        double quiet = p->counts[0][0], alarms = p->counts[0][1], missed = p->counts[1][0], hits = p->counts[1][1];
        p->of[CP_SENSITIVITY] = cp_wilson(hits, hits + missed);
        p->of[CP_SPECIFICITY] = cp_wilson(quiet, quiet + alarms);
        p->of[CP_PPV] = cp_wilson(hits, hits + alarms);
        p->of[CP_NPV] = cp_wilson(quiet, quiet + missed);
    }
    free(all);
    return all || cp_fail(status, "out of memory for the rates of %d predictions", p->n);
}
