/* Learning-rate schedules. */
#include "optim/schedule.h"

#include <math.h>

static double stepped(const cp_schedule *s, int64_t step) {
    int64_t drops = s->every > 0 ? step / s->every : 0;
    for (int i = 0; i < CP_SCHEDULE_DROPS; i++) drops += s->drops[i] > 0 && step >= s->drops[i];
    return s->rate * pow(s->factor != 0 ? s->factor : 0.1, (double)drops);
}

static int64_t falls_from(const cp_schedule *s) { return s->hold > s->warmup ? s->hold : s->warmup; }

static double cosine(const cp_schedule *s, int64_t step) {
    const double pi = 3.14159265358979323846;
    if (step >= s->total) return s->final_rate;
    if (step < s->hold) return s->rate;
    int64_t first = falls_from(s);
    double  u = (double)(step - first) / (double)(s->total - first);
    return s->final_rate + (s->rate - s->final_rate) * (1 + cos(pi * u)) / 2;
}

static bool usual(double rate) { return rate >= 0 && isfinite(rate); }

bool cp_schedule_check(const cp_schedule *s, cp_status *status) {
    cp_status_begin(status);
    if ((int)s->kind < CP_SCHEDULE_CONSTANT || s->kind > CP_SCHEDULE_COSINE)
        return cp_fail(status, "there is no schedule of kind %d", (int)s->kind);
    if (!usual(s->rate) || !usual(s->final_rate) || !usual(s->factor))
        return cp_fail(status, "rate is %g, final_rate %g and factor %g; they must be finite and not below 0", s->rate,
                       s->final_rate, s->factor);
    if (s->warmup < 0 || s->hold < 0)
        return cp_fail(status, "warmup is %lld and hold %lld steps", (long long)s->warmup, (long long)s->hold);
    return s->kind != CP_SCHEDULE_COSINE || s->total > falls_from(s) ||
           cp_fail(status, "total is %lld; a cosine needs a total above its warmup and hold of %lld", (long long)s->total,
                   (long long)falls_from(s));
}

static bool fits(cp_at at, const cp_schedule *s) {
    cp_status why = {0};
    if (!s) return cp_misuse(at, "schedule_rate", "the schedule is NULL");
    return cp_schedule_check(s, &why) || cp_misuse(at, "schedule_rate", "%s", why.message);
}

double(cp_schedule_rate)(cp_at at, const cp_schedule *schedule, int64_t step) {
    if (!fits(at, schedule)) return 0;
    if (step < 0) step = 0;
    if (step < schedule->warmup) return schedule->rate * (double)(step + 1) / (double)schedule->warmup;
    switch (schedule->kind) {
    case CP_SCHEDULE_STEP: return stepped(schedule, step);
    case CP_SCHEDULE_COSINE: return cosine(schedule, step);
    default: return schedule->rate;
    }
}
