/* Learning-rate schedules. */
#include "optim/schedule.h"

#include <math.h>

static double stepped(const cp_schedule *s, int64_t step) {
    int64_t drops = s->every > 0 ? step / s->every : 0;
    for (int i = 0; i < CP_SCHEDULE_DROPS; i++) drops += s->drops[i] > 0 && step >= s->drops[i];
    return s->rate * pow(s->factor != 0 ? s->factor : 0.1, (double)drops);
}

static double cosine(const cp_schedule *s, int64_t step) {
    const double pi = 3.14159265358979323846;
    if (step >= s->total) return s->final_rate;
    double u = (double)(step - s->warmup) / (double)(s->total - s->warmup);
    return s->final_rate + (s->rate - s->final_rate) * (1 + cos(pi * u)) / 2;
}

static bool fits(cp_at at, const cp_schedule *s) {
    const char *op = "schedule_rate";
    if (!s) return cp_misuse(at, op, "the schedule is NULL");
    if (s->warmup < 0) return cp_misuse(at, op, "warmup is %lld steps", (long long)s->warmup);
    if (s->kind == CP_SCHEDULE_COSINE && s->total <= s->warmup)
        return cp_misuse(at, op, "total is %lld; a cosine needs a total above its warmup of %lld", (long long)s->total,
                         (long long)s->warmup);
    return true;
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
