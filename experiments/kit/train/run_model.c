/* Opening the model, the chains and the settings that a training saved. */
#include "experiments/kit/train/run_model.h"

#include "core/io/safetensors.h"
#include "experiments/kit/train/trainer.h"
#include "models/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static cp_file_path file_of(const cp_run_model *t, const char *name) { return cp_folder_path(t->folder, name); }

/* ---- opening ---- */

static void set_name(cp_run_model *t, const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    snprintf(t->name, sizeof t->name, "%.63s", base);
    char *end = strstr(t->name, ".safetensors");
    if (!*t->folder && end) *end = 0;
    cp_text_printable(t->name); /* it goes to terminals and reports */
}

static bool set_folder(cp_run_model *t, const char *path, cp_status *status) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    if (length + 32 >= sizeof t->folder) return cp_fail(status, "%.100s...: the path is too long", path);
    memcpy(t->folder, path, length);
    return true;
}

static void set_shape(cp_run_model *t) {
    const cp_json *shape = cp_json_get(cp_json_get(t->found, "data"), "shape");
    cp_shape       found = {.rank = shape && shape->count <= 3 ? (int)shape->count : 0};
    for (int i = 0; i < found.rank; i++)
        if ((found.dims[i] = (int)cp_json_integer(cp_json_at(shape, (size_t)i), 0)) < 1) return;
    t->shape = found;
}

static bool open_run(cp_run_model *t, cp_status *status) {
    cp_status   missing = {0}, unread = {0};
    const char *weights = t->weights == CP_WEIGHTS_END ? CP_TRAINER_END : CP_TRAINER_SELECTED;
    t->config = cp_json_read(file_of(t, "config.json").s, &missing);
    const char *experiment = cp_json_string(cp_json_get(t->config, "experiment"), NULL);
    if (!t->config && missing.kind != CP_STATUS_MISSING) return cp_fail(status, "%s", missing.message);
    if (!experiment ||
        (strcmp(experiment, "train") != 0 && access(file_of(t, weights).s, F_OK) != 0)) /* a program's own training */
        return cp_fail(status, "%.300s is not a run of couplet train; give its --out folder, or a model's file", t->folder);
    t->found = cp_json_read(file_of(t, "result.json").s, &unread);
    if (!t->found && unread.kind != CP_STATUS_MISSING) return cp_fail(status, "%s", unread.message);
    if (cp_json_bool(cp_json_get(t->found, "diverged"), false))
        return cp_fail(status, "%.300s: this training diverged and left no weights", t->folder);
    t->model = cp_model_load(file_of(t, weights).s, &unread);
    if (!t->model)
        return cp_fail(status, "%s%s", unread.message,
                       !t->found ? "; the training is not finished: the same command continues it" : "");
    if (!cp_md5_file(file_of(t, weights).s, t->md5, status) ||
        (t->found && !cp_md5_file(file_of(t, "result.json").s, t->result_md5, status)))
        return false;
    /* What a file of an older Couplet does not say of itself. */
    if (t->weights == CP_WEIGHTS_SELECTED && !(t->model->about.temperature > 0))
        t->model->about.temperature = cp_json_number(cp_json_get(t->found, "temperature"), 0);
    set_shape(t);
    return true;
}

cp_run_model *cp_run_model_open(const char *path, cp_weights weights, cp_status *status) {
    struct stat   about = {0};
    cp_run_model *t = calloc(1, sizeof *t);
    bool          ok = t || cp_fail(status, "not enough memory for a model");
    if (ok) {
        t->weights = weights;
        if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
            ok = set_folder(t, path, status) && open_run(t, status);
        else /* a pipe is read once */
            ok = (t->model = cp_model_load(path, status)) && (!S_ISREG(about.st_mode) || cp_md5_file(path, t->md5, status));
        set_name(t, *t->folder ? t->folder : path);
    }
    if (ok) t->temperature = cp_model_temperature(t->model);
    if (ok && t->model->about.input.shape.rank) t->shape = t->model->about.input.shape;
    if (ok) return t;
    cp_run_model_free(t);
    return NULL;
}

void cp_run_model_free(cp_run_model *t) {
    if (!t) return;
    cp_model_free(t->model);
    cp_json_free(t->config);
    cp_json_free(t->found);
    cp_replay_free(t->replay);
    cp_class_gaussian_free(t->gaussian);
    free(t);
}

bool cp_run_model_generative(const cp_run_model *t) { return t->model->head->kind->generative; }

bool cp_run_model_fits(const cp_run_model *t, const char *name, cp_shape input, int classes, cp_status *status) {
    const cp_net_input *net = &t->model->net->input;
    if (!cp_net_input_fits(net, cp_shape_rows(1, input)))
        return cp_fail(status, "%.200s has inputs of shape %s; the model %.100s takes %s", name, cp_dims_text(input).s, t->name,
                       cp_net_input_show(net).s);
    return !classes || classes == t->model->config.classes ||
           cp_fail(status, "%.200s has %d classes; the model %.100s has %d", name, classes, t->name, t->model->config.classes);
}

/* ---- results ---- */

bool cp_run_model_unfinished(const cp_run_model *t) { return *t->folder && !t->found; }

void cp_run_model_put(const cp_run_model *t, cp_json_writer *w) {
    cp_json_put_object(w, "model");
    cp_json_put_string(w, "name", t->name);
    cp_json_put_string(w, "head", t->model->config.head);
    if (*t->folder) cp_json_put_string(w, "weights", t->weights == CP_WEIGHTS_END ? "end" : "selected");
    if (*t->folder) cp_json_put_bool(w, "finished", !cp_run_model_unfinished(t));
    cp_json_put_number(w, "temperature", t->temperature);
    cp_json_put_string(w, "md5", t->md5);
    cp_json_put_string(w, "result_md5", t->result_md5);
    cp_json_put_end(w);
}

void cp_run_model_note(const cp_run_model *t, cp_json_writer *w, FILE *file) {
    if (cp_run_model_unfinished(t))
        cp_note_put(w, file, "The training in %s is not finished: its weights and their temperature may still change.", t->folder);
}

/* ---- chains ---- */

static bool make_replay(cp_run_model *t, const cp_st_entry *samples) {
    int dims[CP_MAX_RANK];
    if (samples->rank < 2 || samples->rank > 4) return false;
    for (int i = 0; i < samples->rank; i++) {
        if (samples->dims[i] < 1 || samples->dims[i] > INT32_MAX) return false;
        dims[i] = (int)samples->dims[i];
    }
    t->shape = cp_shape_of(samples->rank - 1, dims + 1);
    if (!cp_shape_size(t->shape, &t->values)) return false;
    if (!cp_net_input_fits(&t->model->net->input, cp_shape_rows(1, t->shape))) return false;
    t->replay = cp_replay_new((cp_replay_config){.capacity = dims[0], .shape = t->shape});
    return t->replay != NULL;
}

static bool make_gaussian(cp_run_model *t, const cp_st_entry *directions) {
    if (!directions) return true;
    const int64_t *d = directions->dims;
    if (directions->rank != 3 || d[0] != 1 || d[1] < 1 || d[1] > 1 << 20 || (size_t)d[2] != t->values) return false;
    t->gaussian = cp_class_gaussian_new((cp_class_gaussian_config){.classes = 1, .size = t->values, .directions = (int)d[1]});
    return t->gaussian != NULL;
}

bool cp_run_model_chains(cp_run_model *t, cp_status *status) {
    if (!cp_run_model_generative(t))
        return cp_fail(status, "%.200s is a %s model: it has no energies to sample from; train with --method hybrid or jem",
                       t->name, t->model->config.head);
    if (!*t->folder)
        return cp_fail(status, "%.200s is a model's file alone; give the folder of its run, where its chains are", t->name);
    cp_file_path    path = file_of(t, CP_TRAINER_CHAINS);
    cp_safetensors *file = cp_st_read(path.s, status);
    if (!file) return false;
    const cp_st_entry *samples = cp_st_find(file, "couplet.replay.samples");
    bool made = samples && make_replay(t, samples) && make_gaussian(t, cp_st_find(file, "couplet.gaussian.directions"));
    cp_st_free(file);
    if (!made) return cp_fail(status, "%.300s does not hold chains of this model", path.s);
    cp_checkpoint_part parts[] = {cp_part_replay(t->replay), cp_part_class_gaussian(t->gaussian)};
    cp_checkpoint      all = {.parts = parts, .part_count = t->gaussian ? 2 : 1};
    return cp_checkpoint_load(&all, path.s, status);
}

cp_real *cp_run_model_samples(const cp_run_model *t, int max, int *count, cp_status *status) {
    int      filled = cp_replay_filled(t->replay), wanted = filled < max ? filled : max, seen = 0;
    cp_real *all = malloc(((size_t)wanted * t->values + 1) * sizeof *all);
    *count = 0;
    if (!all) {
        cp_fail(status, "not enough memory for %d samples", wanted);
        return NULL;
    }
    for (int entry = 0; entry < cp_replay_capacity(t->replay) && *count < wanted; entry++) {
        if (!cp_replay_sample(t->replay, entry, all + (size_t)*count * t->values)) continue;
        if (seen++ == (int64_t)*count * filled / wanted) ++*count;
    }
    return all;
}

/* ---- the images, and their mean ---- */

/* The first class with another name than the model's; -1: none, as far as the names are known. */
static int other_class(const cp_images *images, const cp_about *about) {
    for (int c = 0; images->class_names && about->class_names && c < images->classes; c++)
        if (strcmp(images->class_names[c], about->class_names[c]) != 0) return c;
    return -1;
}

cp_images *cp_run_model_load(const cp_run_model *t, const char *file_or_name, cp_status *status) {
    const cp_about *about = &t->model->about;
    cp_images      *images = cp_images_load_for(file_or_name, t->model, status);
    if (!images) return NULL;
    if (!cp_run_model_fits(t, images->name, images->set->shape, images->classes, status)) {
        cp_images_free(images);
        return NULL;
    }
    if (about->input.shape.rank && !cp_shapes_equal(images->set->shape, about->input.shape))
        cp_fail(&images->warning, "%.200s: an input has shape %s; the model was trained on inputs of shape %s", images->name,
                cp_dims_text(images->set->shape).s, cp_dims_text(about->input.shape).s);
    int other = other_class(images, about);
    if (other >= 0)
        cp_fail(&images->warning,
                "the model was trained for other classes than those of %.63s: class %d is \"%.80s\", not \"%.80s\"", images->name,
                other, about->class_names[other], images->class_names[other]);
    return images;
}

cp_images *cp_run_model_images(const cp_run_model *t, cp_status *status) {
    const char *name = cp_json_string(cp_json_at(cp_json_get(t->config, "arguments"), 0), "");
    cp_images  *images = cp_images_load(name, status);
    if (!images) return NULL;
    const char *md5 = cp_json_string(cp_json_get(cp_json_get(t->found, "data"), "md5"), images->md5);
    if ((!t->values || images->set->values == t->values) && strcmp(md5, images->md5) == 0) return images;
    cp_images_free(images);
    return cp_null(cp_fail(status, "%.200s is not what the model was trained on", name));
}

static bool mean_of(const cp_images *images, size_t values, cp_real *mean, cp_status *status) {
    const cp_split *train = &images->set->splits[CP_IMAGES_TRAIN];
    cp_real        *row = malloc(values * sizeof *row);
    double         *sum = calloc(values, sizeof *sum);
    bool            ok = (row && sum) || cp_fail(status, "not enough memory for a mean image");
    for (int i = 0; ok && i < train->count; i++) {
        cp_split_read(train, &i, 1, row);
        for (size_t k = 0; k < values; k++) sum[k] += (double)row[k];
    }
    for (size_t k = 0; ok && k < values; k++) mean[k] = (cp_real)(sum[k] / train->count);
    free(row);
    free(sum);
    return ok;
}

bool cp_run_model_mean(const cp_run_model *t, cp_real *mean, cp_status *status) {
    cp_state state;
    if (t->gaussian && cp_class_gaussian_state(t->gaussian, 0, &state)) {
        memcpy(mean, state.data, t->values * sizeof *mean);
        return true;
    }
    cp_images *images = cp_run_model_images(t, status);
    bool       ok = images && mean_of(images, t->values, mean, status);
    cp_images_free(images);
    return ok;
}

/* ---- the sampler ---- */

double cp_run_model_option(const cp_run_model *t, const char *name) {
    return cp_json_number(cp_json_get(cp_json_get(t->config, "options"), name), NAN);
}

/* The average number of draws of each chain in the buffer, less those before it was restarted. */
double cp_run_model_moves(const cp_run_model *t) {
    double fresh = cp_run_model_option(t, "fresh"), filled = cp_replay_filled(t->replay);
    double visits = filled > 0 ? (double)cp_replay_counted(t->replay).drawn / filled : 1;
    if (fresh > 0) visits = fmin(visits, 1 / fresh);
    return fmax(1, rint(visits * cp_run_model_option(t, "sgld")));
}

bool cp_run_model_sampler(const cp_run_model *t, const cp_options *o, double moves, cp_sgld_config *sgld, cp_status *status) {
    const struct {
        const char *name;
        double      by_run, *value;
    } settings[] = {{"alpha", cp_run_model_option(t, "alpha"), &sgld->step_size},
                    {"noise", cp_run_model_option(t, "noise"), &sgld->noise},
                    {"clamp", cp_run_model_option(t, "clamp"), &sgld->gradient_clamp}};
    const char *range = cp_json_string(cp_json_get(cp_json_get(t->config, "options"), "range"), "images"), *unknown = NULL;
    *sgld = (cp_sgld_config){0};
    if (strcmp(range, "any") != 0) sgld->clamp_high = cp_shape_range(t->shape), sgld->clamp_low = -sgld->clamp_high;
    sgld->steps = (int)cp_option_int_or(o, "steps", moves >= 1 && moves <= CP_SAMPLER_STEPS_MAX ? (int64_t)moves : 0);
    if (sgld->steps < 1) unknown = "steps";
    for (int i = 0; i < 3; i++)
        if (!isfinite(*settings[i].value = cp_option_real_or(o, settings[i].name, settings[i].by_run))) unknown = settings[i].name;
    return !unknown || cp_fail(status, "the run's config.json does not have its sampler's settings; give --%s", unknown);
}

void cp_sampler_put(const cp_sgld_config *sgld, cp_json_writer *w, const char *key) {
    cp_json_put_object(w, key);
    cp_json_put_integer(w, "steps", sgld->steps);
    cp_json_put_number(w, "alpha", sgld->step_size);
    cp_json_put_number(w, "noise", sgld->noise);
    cp_json_put_number(w, "clamp", sgld->gradient_clamp);
    cp_json_put_bool(w, "within_range", sgld->clamp_low < sgld->clamp_high);
    cp_json_put_end(w);
}
