/* The parts of a checkpoint: how each object is walked. */
#include "models/checkpoint.h"

/* The walks of optim/ in the form that all parts have. */
#define WALK(name, type)                                                                                                           \
    static bool name##_walk(void *object, int i, cp_state *state) {                                                                \
        return cp_##type##_state(object, i, state);                                                                                \
    }

WALK(optim, optim)
WALK(ema, ema)
WALK(replay, replay)
WALK(gaussian, class_gaussian)

static const char *ema_busy(const void *object) {
    return cp_ema_swapped(object) ? "the average is swapped in; call cp_ema_swap first" : NULL;
}

static bool integer_walk(void *object, int i, cp_state *state) {
    if (i == 0) *state = cp_state_integer("value", object);
    return i == 0;
}

static bool rng_walk(void *object, int i, cp_state *state) {
    cp_rng *rng = object;
    switch (i) {
    case 0: *state = cp_state_array("", "key", CP_U32, CP_SHAPE(2), rng->key); return true;
    case 1: *state = cp_state_array("", "stream", CP_U32, CP_SHAPE(2), rng->stream); return true;
    case 2: *state = cp_state_array("", "position", CP_U64, CP_SCALAR, &rng->position); return true;
    }
    return false;
}

static bool schedule_walk(void *object, int i, cp_state *state) {
    cp_schedule *s = object;
    _Static_assert(sizeof s->kind == sizeof(int32_t), "an enum is stored as I32");
    switch (i) {
    case 0: *state = cp_state_array("", "kind", CP_I32, CP_SCALAR, &s->kind); return true;
    case 1: *state = cp_state_array("", "rate", CP_F64, CP_SCALAR, &s->rate); return true;
    case 2: *state = cp_state_array("", "warmup", CP_I64, CP_SCALAR, &s->warmup); return true;
    case 3: *state = cp_state_array("", "every", CP_I64, CP_SCALAR, &s->every); return true;
    case 4: *state = cp_state_array("", "drops", CP_I64, CP_SHAPE(CP_SCHEDULE_DROPS), s->drops); return true;
    case 5: *state = cp_state_array("", "factor", CP_F64, CP_SCALAR, &s->factor); return true;
    case 6: *state = cp_state_array("", "total", CP_I64, CP_SCALAR, &s->total); return true;
    case 7: *state = cp_state_array("", "final_rate", CP_F64, CP_SCALAR, &s->final_rate); return true;
    case 8: *state = cp_state_array("", "hold", CP_I64, CP_SCALAR, &s->hold); return true;
    }
    return false;
}

static bool schedule_check(const void *candidate, cp_status *why) {
    return cp_schedule_check(candidate, why);
}

cp_checkpoint_part cp_part_optim(cp_optim *optim) {
    return (cp_checkpoint_part){.name = "optim", .object = optim, .walk = optim_walk};
}

cp_checkpoint_part cp_part_ema(cp_ema *ema) {
    return (cp_checkpoint_part){.name = "ema", .object = ema, .walk = ema_walk, .busy = ema_busy};
}

cp_checkpoint_part cp_part_schedule(cp_schedule *schedule) {
    return (cp_checkpoint_part){
        .name = "schedule", .object = schedule, .walk = schedule_walk, .size = sizeof *schedule, .check = schedule_check};
}

cp_checkpoint_part cp_part_replay(cp_replay *replay) {
    return (cp_checkpoint_part){.name = "replay", .object = replay, .walk = replay_walk};
}

cp_checkpoint_part cp_part_class_gaussian(cp_class_gaussian *gaussian) {
    return (cp_checkpoint_part){.name = "gaussian", .object = gaussian, .walk = gaussian_walk};
}

cp_checkpoint_part cp_part_rng(const char *name, cp_rng *rng) {
    return (cp_checkpoint_part){.name = name, .object = rng, .walk = rng_walk};
}

cp_checkpoint_part cp_part_integer(const char *name, int64_t *value) {
    return (cp_checkpoint_part){.name = name, .object = value, .walk = integer_walk};
}

cp_checkpoint_part cp_part_named(cp_checkpoint_part part, const char *name) {
    part.name = name;
    return part;
}
