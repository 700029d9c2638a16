/* The divergence guard. */
#include "experiments/kit/train/guard.h"

#include "experiments/kit/metrics/stats.h"

#include <math.h>
#include <string.h>

enum { STRIKE = 4 }; /* good steps that make up for a bad one */

/* Up to `harmless` a sign is good whatever its history; beyond `bad` it is bad even without a history. If the median of the history is
 * beyond `lost`, the chains are lost already, even if that happened slowly. */
static const struct {
    const char *name;
    double      harmless, bad, lost;
    bool        needed; /* not finite: bad. Otherwise: this method does not have it */
} signs[CP_GUARD_SIGNS] = {
    [CP_GUARD_LOSS] = {"loss", 50, 1e4, INFINITY, true},
    [CP_GUARD_GRADIENT] = {"norm of the gradients", 1e3, 1e7, INFINITY, true},
    [CP_GUARD_GAP] = {"samples' energy above the data's by", 5, 20, 5, false},
    [CP_GUARD_SLOPE] = {"|dE/dx|^2 at samples", 3, 1e3, 50, false},
    [CP_GUARD_CHAINS] = {"share of chains that are lost", 0.5, 0.5, 0.5, false},
    [CP_GUARD_WEIGHTS] = {"parameters that are not finite", 0, 0, 0, true},
    [CP_GUARD_OUTPUTS] = {"outputs that are not finite", 0, 0, 0, false},
};

static int patience(const cp_guard *g) { return g->patience ? g->patience : 3; }

static int rollbacks(const cp_guard *g) { return g->rollbacks < 0 ? 0 : g->rollbacks ? g->rollbacks : 8; }

/* The median of a sign's history; NaN while the history is too short. */
static double usual(const cp_guard *g, int sign) {
    enum { MIN = 8 };
    double sorted[CP_GUARD_HISTORY];
    int    n = g->seen < CP_GUARD_HISTORY ? (int)g->seen : CP_GUARD_HISTORY;
    if (n < MIN) return NAN;
    memcpy(sorted, g->history[sign], (size_t)n * sizeof *sorted);
    cp_values_sort(sorted, n);
    return sorted[n / 2];
}

/* Signs are bad when they are large; of the gap that is its negative. */
static double size_of(int sign, double value) { return sign == CP_GUARD_GAP ? -value : value; }

static bool is_bad(const cp_guard *g, int sign, double value) {
    double size = size_of(sign, value);
    if (!isfinite(value)) return signs[sign].needed || isinf(value);
    if (size <= (sign == CP_GUARD_SLOPE && g->slope > 0 ? g->slope : signs[sign].harmless)) return false;
    if (size > signs[sign].bad) return true;
    double median = usual(g, sign);
    return size > (g->factor > 0 ? g->factor : 20) * fabs(median) || size_of(sign, median) > signs[sign].lost;
}

static int kept(const cp_guard *g) { return g->event_count < CP_GUARD_EVENTS ? (int)g->event_count : CP_GUARD_EVENTS; }

static cp_guard_event event_at(const cp_guard *g, int i) {
    const cp_guard_events *e = &g->events;
    return (cp_guard_event){e->step[i], e->sign[i], e->verdict[i], e->value[i], e->usual[i]};
}

/* When there is no room, in place of the last one. */
static void add_event(cp_guard *g, int64_t step, int sign, double value, double before, cp_guard_verdict verdict) {
    g->event_count++;
    int i = kept(g) - 1;
    g->events.step[i] = step;
    g->events.sign[i] = sign;
    g->events.verdict[i] = (int32_t)verdict;
    g->events.value[i] = size_of(sign, value);
    g->events.usual[i] = size_of(sign, before);
}

static cp_guard_verdict verdict_of(cp_guard *g, int sign) {
    bool hopeless = sign == CP_GUARD_WEIGHTS || sign == CP_GUARD_OUTPUTS;
    g->bad++;
    g->strikes += STRIKE;
    if (!hopeless && g->strikes <= STRIKE * patience(g)) {
        g->skipped++;
        return CP_GUARD_SKIP;
    }
    g->bad = g->strikes = 0;
    if (g->rolled_back >= rollbacks(g)) return CP_GUARD_GIVE_UP;
    g->rolled_back++;
    return CP_GUARD_ROLL_BACK;
}

cp_guard_verdict cp_guard_judge(cp_guard *g, int64_t step, const double *seen) {
    /* The weights come first: everything else follows from them. */
    for (int i = CP_GUARD_SIGNS - 1; i >= 0; i--) {
        if (!is_bad(g, i, seen[i])) continue;
        double           before = usual(g, i);
        cp_guard_verdict verdict = verdict_of(g, i);
        add_event(g, step, i, seen[i], before, verdict);
        return verdict;
    }
    for (int i = 0; i < CP_GUARD_SIGNS; i++) g->history[i][g->seen % CP_GUARD_HISTORY] = isfinite(seen[i]) ? seen[i] : 0;
    g->seen++;
    g->bad = 0;
    if (g->strikes > 0) g->strikes--;
    return CP_GUARD_OK;
}

cp_guard_verdict cp_guard_judge_outputs(cp_guard *g, int64_t step) {
    double seen[CP_GUARD_SIGNS] = {[CP_GUARD_OUTPUTS] = 1};
    return cp_guard_judge(g, step, seen);
}

void cp_guard_return(cp_guard *g, const cp_guard *before) {
    g->events = before->events;
    g->event_count = before->event_count;
    g->skipped = before->skipped;
    g->rolled_back = before->rolled_back;
    g->bad = g->strikes = 0;
}

void cp_guard_restart(cp_guard *g) { g->seen = g->bad = g->strikes = 0; }

bool cp_guard_calm(const cp_guard *g) { return g->bad == 0; }

bool cp_guard_steady(const cp_guard *g) { return g->strikes == 0; }

bool cp_guard_last_event(const cp_guard *g, cp_guard_event *event) {
    if (g->event_count) *event = event_at(g, kept(g) - 1);
    return g->event_count > 0;
}

cp_text cp_guard_event_text(const cp_guard_event *e) {
    static const char *const verdicts[] = {"ok", "skipped", "rolled back", "gave up"};
    cp_text                  text;
    bool                     known = e->sign >= 0 && e->sign < CP_GUARD_SIGNS;
    int                      used =
        snprintf(text.s, sizeof text.s, "step %lld: %s %.4g", (long long)e->step, known ? signs[e->sign].name : "?", e->value);
    if (isfinite(e->usual)) used += snprintf(text.s + used, sizeof text.s - (size_t)used, ", usually %.4g", e->usual);
    snprintf(text.s + used, sizeof text.s - (size_t)used, ": %s", e->verdict >= 0 && e->verdict < 4 ? verdicts[e->verdict] : "?");
    return text;
}

void cp_guard_put(const cp_guard *g, cp_json_writer *w, const char *key) {
    cp_json_put_object(w, key);
    cp_json_put_integer(w, "events", g->event_count);
    cp_json_put_integer(w, "skipped", g->skipped);
    cp_json_put_integer(w, "rollbacks", g->rolled_back);
    cp_json_put_array(w, "list");
    for (int i = 0; i < kept(g); i++) {
        cp_guard_event event = event_at(g, i);
        cp_json_put_string(w, NULL, cp_guard_event_text(&event).s);
    }
    cp_json_put_end(w);
    cp_json_put_end(w);
}

/* ---- state ---- */

static bool guard_walk(void *object, int i, cp_state *state) {
    cp_guard        *g = object;
    cp_guard_events *e = &g->events;
    cp_shape         all = CP_SHAPE(CP_GUARD_EVENTS);
    switch (i) {
    case 0: *state = cp_state_array("", "history", CP_F64, CP_SHAPE(CP_GUARD_SIGNS, CP_GUARD_HISTORY), g->history); return true;
    case 1: *state = cp_state_integer("seen", &g->seen); return true;
    case 2: *state = cp_state_integer("bad", &g->bad); return true;
    case 3: *state = cp_state_integer("strikes", &g->strikes); return true;
    case 4: *state = cp_state_integer("skipped", &g->skipped); return true;
    case 5: *state = cp_state_integer("rolled_back", &g->rolled_back); return true;
    case 6: *state = cp_state_integer("event_count", &g->event_count); return true;
    case 7: *state = cp_state_within(cp_state_array("event", "step", CP_I64, all, e->step), 0, CP_STATE_MAX_COUNT); return true;
    case 8: *state = cp_state_within(cp_state_array("event", "sign", CP_I32, all, e->sign), 0, CP_GUARD_SIGNS - 1); return true;
    case 9: *state = cp_state_within(cp_state_array("event", "verdict", CP_I32, all, e->verdict), 0, CP_GUARD_GIVE_UP); return true;
    case 10: *state = cp_state_array("event", "value", CP_F64, all, e->value); return true;
    case 11: *state = cp_state_array("event", "usual", CP_F64, all, e->usual); return true;
    }
    return false;
}

cp_checkpoint_part cp_part_guard(cp_guard *guard) {
    return (cp_checkpoint_part){.name = "guard", .object = guard, .walk = guard_walk};
}
