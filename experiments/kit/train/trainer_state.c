/* Saving and restoring a training. */
#include "experiments/kit/train/trainer_parts.h"

#include "core/io/file.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cp_file_path cp_trainer_file(const cp_trainer *t, const char *name) { return cp_folder_path(t->folder, name); }

static cp_state real(const char *name, double *value) { return cp_state_array("", name, CP_F64, CP_SCALAR, value); }

static bool trainer_walk(void *object, int i, cp_state *state) {
    cp_trainer *t = object;
    switch (i) {
    case 0: *state = cp_state_integer("step", &t->step); return true;
    case 1: *state = cp_state_within(real("rate_scale", &t->rate_scale), DBL_MIN, 1); return true;
    case 2: *state = cp_state_within(cp_state_integer("injected", &t->injected), 0, 1 << CP_FAULTS); return true;
    case 3: *state = cp_state_array("", "traces", CP_F64, CP_SHAPE(t->trace_room, CP_TRACES), t->traces); return true;
    case 4: *state = cp_state_within(cp_state_integer("trace_count", &t->trace_count), 0, t->trace_room); return true;
    case 5: *state = cp_state_integer("selected", &t->selected); return true;
    case 6: *state = cp_state_within(real("selected_nll", &t->selected_nll), 0, INFINITY); return true;
    case 7: *state = cp_state_within(cp_state_integer("pretraining", &t->pretraining), 0, 1); return true;
    case 8: *state = cp_state_within(cp_state_integer("stopped", &t->stopped), 0, 1); return true;
    case 9: *state = cp_state_array("", "sums", CP_F64, CP_SHAPE(CP_TRACES), t->sums); return true;
    case 10: *state = cp_state_integer("summed", &t->summed); return true;
    case 11: *state = cp_state_integer("summed_slopes", &t->summed_slopes); return true;
    }
    return false;
}

static bool trainer_check(const void *candidate, cp_status *why) {
    const cp_trainer *t = candidate;
    if ((t->selected == 0) != (bool)isinf(t->selected_nll) || t->selected > t->step)
        return cp_fail(why, "step %lld is selected with an NLL of %g at step %lld", (long long)t->selected, t->selected_nll,
                       (long long)t->step);
    return t->step < t->config.steps || t->selected || t->pretraining || !cp_guard_calm(&t->guard) ||
           cp_fail(why, "the training is at its end, step %lld, and no step is selected", (long long)t->step);
}

enum { PARTS = 8 };

static cp_checkpoint checkpoint_of(cp_trainer *t, cp_checkpoint_part *parts) {
    int n = 0;
    parts[n++] =
        (cp_checkpoint_part){.name = "trainer", .object = t, .walk = trainer_walk, .size = sizeof *t, .check = trainer_check};
    parts[n++] = cp_part_optim(t->adam);
    parts[n++] = cp_part_ema(t->ema);
    parts[n++] = cp_part_guard(&t->guard);
    parts[n++] = cp_part_batches("labeled", t->labeled);
    if (t->unlabeled) parts[n++] = cp_part_batches("unlabeled", t->unlabeled);
    if (t->replay) {
        parts[n++] = cp_part_replay(t->replay);
        parts[n++] = cp_part_rng("chain_noise", &t->chain_noise);
    }
    return (cp_checkpoint){.model = t->model, .parts = parts, .part_count = n};
}

/* Which images a checkpoint was trained on. */
static const char *data_mark(const cp_trainer *t) { return t->images->md5[0] ? t->images->md5 : t->images->name; }

static bool save(cp_trainer *t, bool stopped, cp_status *status) {
    cp_checkpoint_part parts[PARTS];
    t->stopped = stopped;
    cp_checkpoint all = checkpoint_of(t, parts);
    all.metadata = &(cp_checkpoint_pair){"data", data_mark(t)};
    all.metadata_count = 1;
    return t->saved = cp_checkpoint_save(&all, cp_trainer_file(t, CP_TRAINER_CHECKPOINT).s, status);
}

bool cp_trainer_save(cp_trainer *t, cp_status *status) {
    if (!save(t, false, status)) return false;
    unlink(cp_trainer_file(t, CP_TRAINER_GOOD).s); /* there may be none */
    return true;
}

/* Safe at any moment: a checkpoint that is not of a stop is its own last good state, even if last-good.safetensors exists too. */
bool cp_trainer_save_stopped(cp_trainer *t, cp_status *status) {
    cp_file_path checkpoint = cp_trainer_file(t, CP_TRAINER_CHECKPOINT), good = cp_trainer_file(t, CP_TRAINER_GOOD);
    return (t->stopped || cp_file_copy(checkpoint.s, good.s, status)) && save(t, true, status);
}

static bool is_of_these_images(const cp_trainer *t, const char *path, cp_status *why) {
    char *mark = cp_checkpoint_metadata(path, "data", why);
    bool  same = mark && strcmp(mark, data_mark(t)) == 0;
    if (mark && !same) cp_fail(why, "%.300s is of a training on other images: the data file has changed since", path);
    free(mark);
    return same;
}

static bool load(cp_trainer *t, const char *name, cp_status *why) {
    cp_checkpoint_part parts[PARTS];
    cp_checkpoint      all = checkpoint_of(t, parts);
    cp_file_path       path = cp_trainer_file(t, name);
    return is_of_these_images(t, path.s, why) && cp_checkpoint_load(&all, path.s, why);
}

bool cp_trainer_load(cp_trainer *t, cp_status *status) {
    cp_status why = {0};
    t->saved = load(t, CP_TRAINER_CHECKPOINT, &why);
    if (t->saved || why.kind == CP_STATUS_MISSING) return true;
    return cp_fail_as(status, why.kind, "%s; %sremove the folder to start over", why.message,
                      why.kind == CP_STATUS_DAMAGED ? "the checkpoint is damaged: " : "");
}

bool cp_trainer_roll_back(cp_trainer *t, cp_status *status) {
    cp_guard *guard = malloc(sizeof *guard);
    int64_t   injected = t->injected;
    if (!guard) return cp_fail(status, "not enough memory to roll back");
    *guard = t->guard;
    bool ok = load(t, t->stopped ? CP_TRAINER_GOOD : CP_TRAINER_CHECKPOINT, status);
    cp_guard_return(&t->guard, guard);
    t->injected = injected;
    free(guard);
    t->rate_scale /= 2;
    if (t->replay) cp_replay_clear(t->replay);
    memset(t->sums, 0, sizeof t->sums);
    t->summed = t->summed_slopes = 0;
    return ok && cp_trainer_save(t, status);
}

/* The temperature is that of the weights in the file; the model in memory, whose weights change, has none. */
bool cp_trainer_save_model(cp_trainer *t, const char *name, double temperature, cp_status *status) {
    t->model->about.temperature = temperature;
    bool ok = cp_model_save(t->model, cp_trainer_file(t, name).s, status);
    t->model->about.temperature = 0;
    return ok;
}

bool cp_trainer_save_chains(cp_trainer *t, cp_status *status) {
    cp_checkpoint_part parts[] = {cp_part_replay(t->replay), cp_part_class_gaussian(t->gaussian)};
    cp_checkpoint      all = {.parts = parts, .part_count = t->gaussian ? 2 : 1};
    return !t->replay || cp_checkpoint_save(&all, cp_trainer_file(t, CP_TRAINER_CHAINS).s, status);
}
