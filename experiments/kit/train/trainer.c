/* A training of one model on images. */
#include "experiments/kit/train/trainer_parts.h"

#include "core/io/csv.h"
#include "experiments/kit/metrics/calibration.h"
#include "experiments/kit/train/scores.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

const char *const cp_trace_names[CP_TRACES] = {
    "step",     "rate",      "loss",    "cross_entropy", "gap", "slope_data", "slope_samples", "penalty",
    "gradient", "restarted", "guessed", "accuracy",      "ece", "nll",        "scaled_nll",    "temperature",
};

/* ---- making ---- */

static cp_shape batch_shape(const cp_trainer *t, int count) { return cp_shape_rows(count, t->images->set->shape); }

/* The Gaussian of the training pixels, from as many of them as its directions need. */
static bool fit_start(cp_trainer *t, const cp_split *train) {
    enum { DIRECTIONS = 256, MAX = 3000, MAX_VALUES = 1 << 25 };
    size_t   values = t->images->set->values, max = values > MAX_VALUES / MAX ? MAX_VALUES / values + 1 : MAX;
    int      count = train->count < (int)max ? train->count : (int)max;
    int     *rows = malloc((size_t)count * sizeof *rows), *one_class = calloc((size_t)count, sizeof *one_class);
    cp_real *pixels = malloc((size_t)count * values * sizeof *pixels);
    bool     ok = rows && one_class && pixels;
    for (int i = 0; ok && i < count; i++) rows[i] = (int)((int64_t)i * train->count / count);
    if (ok) t->gaussian = cp_class_gaussian_new((cp_class_gaussian_config){.classes = 1, .size = values, .directions = DIRECTIONS});
    ok = t->gaussian && cp_split_read(train, rows, count, pixels) &&
         cp_class_gaussian_fit(t->gaussian, pixels, one_class, (size_t)count);
    free(rows);
    free(one_class);
    free(pixels);
    return ok;
}

static bool make_unlabeled(cp_trainer *t, const cp_split *train) {
    const cp_trainer_config *c = &t->config;
    t->unlabeled = cp_batches_new(
        (cp_batches_config){.split = train, .size = c->unlabeled, .last = CP_LAST_WRAP, .seed = c->seed, .stream = "unlabeled"});
    t->unlabeled_x = cp_tensor_new(batch_shape(t, c->unlabeled));
    t->augmented_x = cp_tensor_new(batch_shape(t, c->unlabeled));
    t->guesses = calloc((size_t)c->unlabeled, sizeof *t->guesses);
    t->unlabeled_lengths = calloc((size_t)c->unlabeled, sizeof *t->unlabeled_lengths);
    return t->unlabeled && t->unlabeled_x && t->augmented_x && t->guesses && t->unlabeled_lengths;
}

static bool make_chains(cp_trainer *t, const cp_split *train) {
    const cp_trainer_config *c = &t->config;
    t->start = (cp_start){.kind = CP_START_UNIFORM, .low = -cp_images_range(t->images), .high = cp_images_range(t->images)};
    if (c->gaussian_start) {
        if (!fit_start(t, train)) return false;
        t->start.kind = CP_START_CLASS_GAUSSIAN;
        t->start.gaussian = t->gaussian;
    }
    t->replay = cp_replay_new(
        (cp_replay_config){.capacity = c->buffer, .shape = t->images->set->shape, .fresh_share = c->fresh, .start = t->start});
    t->samples = cp_tensor_new(batch_shape(t, c->chains));
    t->entries = calloc((size_t)c->chains, sizeof *t->entries);
    t->sample_labels = calloc((size_t)c->chains, sizeof *t->sample_labels);
    t->sample_lengths = calloc((size_t)c->chains, sizeof *t->sample_lengths);
    t->stuck = calloc((size_t)c->chains, sizeof *t->stuck);
    t->drop = calloc((size_t)c->chains, sizeof *t->drop);
    return t->replay && t->samples && t->entries && t->sample_labels && t->sample_lengths && t->stuck && t->drop;
}

static bool make_parts(cp_trainer *t) {
    const cp_trainer_config *c = &t->config;
    const cp_split          *train = &t->images->set->splits[CP_IMAGES_TRAIN];
    cp_rng                   init = cp_rng_named(c->seed, "init");
    t->model = cp_model_new(c->model, &init);
    cp_about about = cp_images_about(t->images);
    if (!t->model || !cp_model_about_set(t->model, &about, &t->run->status)) return false;
    t->adam =
        cp_adam_new(t->model->params,
                    (cp_adam_config){.rate = c->schedule.rate, .weight_decay = c->weight_decay, .decoupled = c->weight_decay > 0});
    t->ema = cp_ema_new(t->model->params, c->average);
    t->labeled = cp_batches_new((cp_batches_config){.split = train,
                                                    .rows = t->drawn,
                                                    .row_count = t->drawn_count,
                                                    .size = c->batch,
                                                    .last = CP_LAST_WRAP,
                                                    .seed = c->seed,
                                                    .stream = "labeled"});
    t->labeled_x = cp_tensor_new(batch_shape(t, c->batch));
    t->labeled_lengths = calloc((size_t)c->batch, sizeof *t->labeled_lengths);
    t->tape = cp_tape_new();
    t->trace_room = (int)(c->steps / c->every) + 4;
    t->pretraining = c->pretrain > 0;
    t->traces = calloc((size_t)t->trace_room * CP_TRACES, sizeof *t->traces);
    t->chain_noise = cp_rng_named(c->seed, "chains");
    return t->adam && t->ema && t->labeled && t->labeled_x && t->labeled_lengths && t->tape && t->traces &&
           (!c->method->unlabeled || make_unlabeled(t, train)) && (!c->method->samples || make_chains(t, train));
}

/* "weights@100,stop@120" */
static bool read_faults(cp_trainer *t, cp_status *status) {
    static const char *const names[CP_FAULTS] = {"weights", "gradients", "chains", "stop"};
    const char              *text = getenv("COUPLET_INJECT");
    for (int f = 0; f < CP_FAULTS; f++) t->fault_at[f] = -1;
    while (text && *text) {
        char      name[16];
        long long step = -1;
        int       f = 0, used = 0;
        if (sscanf(text, "%15[a-z]@%lld%n", name, &step, &used) < 2 || step < 0) f = CP_FAULTS;
        while (f < CP_FAULTS && strcmp(name, names[f]) != 0) f++;
        if (f == CP_FAULTS || (text[used] && text[used] != ','))
            return cp_fail(status, "COUPLET_INJECT: \"%.40s\" is no fault; weights, gradients, chains or stop @STEP is expected",
                           text);
        t->fault_at[f] = step;
        text += used + (text[used] == ',');
    }
    return true;
}

/* Marks the row of the split that a cell of the file names. */
static bool take_row(const char *path, const cp_csv *csv, size_t at, int column, const cp_split *split, bool *seen,
                     cp_status *status) {
    const char *text = cp_csv_cell(csv, at, (size_t)column), *problem;
    char       *end;
    long        row = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    if (row < 0 || *end || row >= split->count)
        problem = "is no row of the training split";
    else if (split->labels[row] < 0)
        problem = "has no label in the set";
    else if (seen[row])
        problem = "appears twice";
    else
        return seen[row] = true;
    return cp_fail(status, "%.200s, line %zu: \"%s\" %s, which has rows 0 to %d", path, csv->lines[at],
                   cp_shown(text, strlen(text)).text, problem, split->count - 1);
}

/* The rows that a file names: numbers, one in a line, or the column "row" of a CSV file. */
static int *read_rows(const char *path, const cp_split *split, int *count, cp_status *status) {
    cp_csv csv;
    if (!cp_csv_read(path, &csv, status)) return NULL;
    int    column = cp_csv_column(&csv, "row");
    size_t begin = column >= 0;
    int   *rows = malloc(csv.rows * sizeof *rows);
    bool  *seen = calloc((size_t)split->count, sizeof *seen);
    bool   ok = (rows && seen) || cp_fail(status, "%.200s: not enough memory for its rows", path);
    if (csv.rows == begin) ok = cp_fail(status, "%.200s: there are no rows below the first line", path);
    for (size_t i = begin; ok && i < csv.rows; i++) ok = take_row(path, &csv, i, column < 0 ? 0 : column, split, seen, status);
    *count = 0;
    for (int i = 0; ok && i < split->count; i++)
        if (seen[i]) rows[(*count)++] = i;
    cp_csv_free(&csv);
    free(seen);
    if (!ok) free(rows);
    return ok ? rows : NULL;
}

int *cp_trainer_draw(const cp_trainer_config *c, const cp_images *images, int *count, cp_status *status) {
    const cp_split *split = &images->set->splits[CP_IMAGES_TRAIN];
    if (c->labeled_rows) return read_rows(c->labeled_rows, split, count, status);
    return cp_split_draw_some(split, c->labels ? c->labels : INT_MAX, c->seed, count, status);
}

cp_trainer *cp_trainer_new(const cp_trainer_config *config, const cp_images *images, cp_run *run) {
    cp_status  *status = &run->status;
    const char *folder = config->folder ? config->folder : run->folder;
    cp_trainer *t = calloc(1, sizeof *t);
    if (t && strlen(folder) >= sizeof t->folder)
        cp_fail(status, "%.100s...: the path of the training's folder is too long", folder);
    else if (t) {
        *t = (cp_trainer){
            .config = *config, .images = images, .run = run, .guard = config->guard, .rate_scale = 1, .selected_nll = INFINITY};
        snprintf(t->folder, sizeof t->folder, "%s", folder);
        t->config.folder = NULL; /* it may not live as long */
        t->drawn = cp_trainer_draw(config, images, &t->drawn_count, status);
        if (t->drawn && read_faults(t, status) && make_parts(t)) return t;
    }
    cp_trainer_free(t);
    cp_fail(status, "not enough memory for the training");
    return NULL;
}

void cp_trainer_free(cp_trainer *t) {
    if (!t) return;
    cp_batches_free(t->labeled);
    cp_batches_free(t->unlabeled);
    cp_tensor_free(t->labeled_x);
    cp_tensor_free(t->unlabeled_x);
    cp_tensor_free(t->augmented_x);
    cp_tensor_free(t->samples);
    cp_replay_free(t->replay);
    cp_class_gaussian_free(t->gaussian);
    cp_ema_free(t->ema);
    cp_optim_free(t->adam);
    cp_model_free(t->model);
    cp_tape_free(t->tape);
    free(t->drawn);
    free(t->entries);
    free(t->guesses);
    free(t->sample_labels);
    free(t->labeled_lengths);
    free(t->unlabeled_lengths);
    free(t->sample_lengths);
    free(t->stuck);
    free(t->drop);
    free(t->traces);
    free(t);
}

/* ---- measuring ---- */

/* Leaves *finite false, and the row as it is, when the model's outputs are not finite. */
static bool measure_validation(cp_trainer *t, double *row, bool *finite, cp_status *status) {
    cp_scores      scores;
    cp_temperature fitted = {0};
    cp_metrics    *plain = NULL, *scaled = NULL;
    if (!cp_scores_make(t->tape, t->model, &t->images->set->splits[CP_IMAGES_VAL], &scores, status)) return false;
    *finite = scores.finite;
    cp_predictions    predictions = cp_scores_predictions(&scores, false, 1);
    cp_metrics_config point = {.resamples = -1};
    if (*finite && cp_temperature_fit(&predictions, &fitted, status)) plain = cp_metrics_new(&predictions, point, status);
    predictions.temperature = fitted.temperature;
    if (plain) scaled = cp_metrics_new(&predictions, point, status);
    if (scaled) {
        row[CP_TRACE_ACCURACY] = 100 * plain->of[CP_ACCURACY].value;
        row[CP_TRACE_ECE] = 100 * plain->of[CP_ECE].value;
        row[CP_TRACE_NLL] = plain->of[CP_NLL].value;
        row[CP_TRACE_SCALED_NLL] = scaled->of[CP_NLL].value;
        row[CP_TRACE_TEMPERATURE] = fitted.temperature;
    }
    bool ok = scaled || !*finite;
    *finite = *finite && isfinite(row[CP_TRACE_SCALED_NLL]);
    cp_metrics_free(plain);
    cp_metrics_free(scaled);
    cp_scores_free(&scores);
    return ok;
}

double cp_trainer_temperature(const cp_trainer *t) {
    const double *row = t->trace_count ? t->traces + (t->trace_count - 1) * CP_TRACES : NULL;
    return row && (int64_t)row[CP_TRACE_STEP] == t->step ? row[CP_TRACE_TEMPERATURE] : 0;
}

static bool log_row(cp_trainer *t, const double *row) {
    cp_json_writer w = {0};
    cp_json_put_object(&w, NULL);
    for (int i = 0; i < CP_TRACES; i++)
        if (isfinite(row[i])) cp_json_put_number(&w, cp_trace_names[i], row[i]);
    cp_json_put_integer(&w, "steps", t->config.steps); /* how far that is */
    cp_json_put_end(&w);
    return cp_run_log(t->run, &w);
}

static bool log_event(cp_trainer *t) {
    cp_json_writer w = {0};
    cp_guard_event event = {0};
    cp_guard_last_event(&t->guard, &event);
    cp_text text = cp_guard_event_text(&event);
    cp_progress_end(&t->progress);
    if (!t->run->quiet) fprintf(stderr, "guard: %s\n", text.s);
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "guard", text.s);
    cp_json_put_end(&w);
    return cp_run_log(t->run, &w);
}

/* The averaged weights on the validation split; the best so far are saved to a file. */
static bool measure(cp_trainer *t, bool *finite, cp_status *status) {
    double *row = t->traces + t->trace_count * CP_TRACES;
    if (t->trace_count >= t->trace_room)
        return cp_fail(status, "%.300s has more measurements than steps; remove the folder to start over",
                       cp_trainer_file(t, CP_TRAINER_CHECKPOINT).s);
    for (int i = 0; i < CP_TRACES; i++) {
        bool    slope = i == CP_TRACE_SLOPE_DATA || i == CP_TRACE_SLOPE_SAMPLES;
        int64_t n = slope ? t->summed_slopes : t->summed;
        row[i] = n ? t->sums[i] / (double)n : NAN;
    }
    row[CP_TRACE_STEP] = (double)t->step;
    row[CP_TRACE_RATE] = cp_optim_rate(t->adam);
    cp_ema_swap(t->ema);
    bool ok = measure_validation(t, row, finite, status);
    if (ok && *finite && row[CP_TRACE_SCALED_NLL] < t->selected_nll) {
        t->selected = t->step;
        t->selected_nll = row[CP_TRACE_SCALED_NLL];
        ok = cp_trainer_save_model(t, CP_TRAINER_SELECTED, row[CP_TRACE_TEMPERATURE], status);
    }
    cp_ema_swap(t->ema);
    memset(t->sums, 0, sizeof t->sums);
    t->summed = t->summed_slopes = 0;
    if (!ok || !*finite) return ok;
    t->trace_count++;
    return log_row(t, row);
}

/* ---- running ---- */

static void show(cp_trainer *t) {
    char          text[120];
    const double *row = t->trace_count ? t->traces + (t->trace_count - 1) * CP_TRACES : NULL;
    double        n = t->summed ? (double)t->summed : NAN;
    int           used = snprintf(text, sizeof text, "loss %.3g", t->sums[CP_TRACE_LOSS] / n);
    if (t->replay && !t->pretraining)
        used += snprintf(text + used, sizeof text - (size_t)used, "  gap %+.3g  restarted %.0f %%", t->sums[CP_TRACE_GAP] / n,
                         100 * t->sums[CP_TRACE_RESTARTED] / n);
    if (row) snprintf(text + used, sizeof text - (size_t)used, "  val %.1f %%", row[CP_TRACE_ACCURACY]);
    if (t->summed) cp_progress_update(&t->progress, t->step, text);
}

static cp_trainer_end act_on(cp_trainer *t, cp_guard_verdict verdict, cp_status *status) {
    if (verdict != CP_GUARD_OK && !log_event(t)) return CP_TRAINER_STOPPED;
    if (verdict == CP_GUARD_GIVE_UP) return CP_TRAINER_DIVERGED;
    return verdict != CP_GUARD_ROLL_BACK || cp_trainer_roll_back(t, status) ? CP_TRAINER_DONE : CP_TRAINER_STOPPED;
}

/* The state becomes the checkpoint, unless steps were left out shortly before: then the older one stays the last good state. */
static cp_trainer_end keep(cp_trainer *t, cp_status *status) {
    bool finite = true;
    if (!cp_guard_steady(&t->guard) && t->step < t->config.steps) return CP_TRAINER_DONE;
    if (!measure(t, &finite, status)) return CP_TRAINER_STOPPED;
    if (!finite) return act_on(t, cp_guard_judge_outputs(&t->guard, t->step), status);
    return cp_trainer_save(t, status) ? CP_TRAINER_DONE : CP_TRAINER_STOPPED;
}

static bool log_stage(cp_trainer *t) {
    cp_json_writer w = {0};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "event", "stage 2");
    cp_json_put_integer(&w, "step", t->step);
    cp_json_put_number(&w, "energy", t->begin_energy);
    cp_json_put_number(&w, "slope_data", t->begin_slope);
    cp_json_put_number(&w, "slope_starts", t->start_slope);
    cp_json_put_end(&w);
    return cp_run_log(t->run, &w);
}

/* Not after a step that was left out, as is_over. */
static bool first_stage_is_over(const cp_trainer *t) {
    return t->pretraining && t->step >= t->config.pretrain && cp_guard_calm(&t->guard);
}

/* A state that is not steady does not become the checkpoint: then a rollback goes back into the first stage. */
static cp_trainer_end change_stage(cp_trainer *t, cp_status *status) {
    bool steady = cp_guard_steady(&t->guard), finite = true;
    if (!cp_trainer_begin_joint(t, status) || !log_stage(t) || !measure(t, &finite, status)) return CP_TRAINER_STOPPED;
    if (!finite) return act_on(t, cp_guard_judge_outputs(&t->guard, t->step), status);
    return !steady || cp_trainer_save(t, status) ? CP_TRAINER_DONE : CP_TRAINER_STOPPED;
}

static cp_trainer_end advance(cp_trainer *t, cp_status *status) {
    t->saved = false;
    if (cp_trainer_injects(t, CP_FAULT_STOP)) raise(SIGTERM);
    if (first_stage_is_over(t)) return change_stage(t, status);
    cp_guard_verdict verdict = cp_trainer_step(t);
    if (verdict != CP_GUARD_OK) return act_on(t, verdict, status);
    show(t);
    bool due = t->step % t->config.every == 0 || t->step >= t->config.steps || (t->pretraining && t->step >= t->config.pretrain);
    return due ? keep(t, status) : CP_TRAINER_DONE;
}

static bool finish(cp_trainer *t, cp_status *status) {
    cp_ema_swap(t->ema);
    bool ok = cp_trainer_save_model(t, CP_TRAINER_END, cp_trainer_temperature(t), status) && cp_trainer_save_chains(t, status);
    cp_ema_swap(t->ema);
    return ok;
}

/* Not after a step that was left out: then there are more until one is good or the guard gives up. */
static bool is_over(const cp_trainer *t) { return t->step >= t->config.steps && cp_guard_calm(&t->guard) && !t->pretraining; }

static cp_trainer_end stop(cp_trainer *t, cp_status *status) {
    if (t->saved || cp_trainer_save_stopped(t, status)) cp_run_log_event(t->run, "stop", t->step);
    return CP_TRAINER_STOPPED;
}

/* Until a stop, which is never before the first step: a task that is always stopped while it reads its data advances too. */
static cp_trainer_end run_steps(cp_trainer *t, cp_status *status) {
    cp_trainer_end end = CP_TRAINER_DONE;
    for (bool first = true; end == CP_TRAINER_DONE && !is_over(t); first = false) {
        if (t->run->status.message[0]) return CP_TRAINER_STOPPED;
        end = cp_interrupted() && !first ? stop(t, status) : advance(t, status);
    }
    return end;
}

cp_trainer_end cp_trainer_run(cp_trainer *t) {
    cp_status     *status = &t->run->status;
    cp_trainer_end end = cp_trainer_load(t, status) ? CP_TRAINER_DONE : CP_TRAINER_STOPPED;
    if (t->saved && !cp_run_log_event(t->run, "start", t->step)) end = CP_TRAINER_STOPPED;
    t->progress =
        (cp_progress){.label = "training", .unit = "steps", .total = t->config.steps, .skipped = t->step, .quiet = t->run->quiet};
    if (end == CP_TRAINER_DONE && !t->saved && !cp_trainer_save(t, status)) end = CP_TRAINER_STOPPED;
    cp_progress_start(&t->progress);
    if (end == CP_TRAINER_DONE) end = run_steps(t, status);
    cp_progress_end(&t->progress);
    return t->end = end == CP_TRAINER_DONE && !finish(t, status) ? CP_TRAINER_STOPPED : end;
}
