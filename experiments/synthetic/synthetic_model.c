/* The synthetic experiment: data, objective, training. */
#include "experiments/synthetic/synthetic.h"

#include "core/op.h"

#include <math.h>
#include <stdlib.h>

/* ---- data ---- */

double cp_geometry_bayes(cp_geometry geometry) {
    double margin = geometry == CP_GEOMETRY_REPORTED ? 0.5 / 0.25 : 0.5 / sqrt(0.5);
    return 100 * 0.5 * erfc(-margin / sqrt(2));
}

static void draw(const cp_plane_data *data, cp_geometry geometry, cp_rng *rng) {
    bool   reported = geometry == CP_GEOMETRY_REPORTED;
    double sd = reported ? 0.25 : sqrt(0.5);
    for (int i = 0; i < data->count; i++) {
        double offset = i < data->count / 2 ? -0.5 : 0.5;
        data->label[i] = offset > 0;
        data->x[2 * i] = (cp_real)((reported ? offset : 0) + sd * cp_rng_normal(rng));
        data->x[2 * i + 1] = (cp_real)((reported ? 0 : offset) + sd * cp_rng_normal(rng));
    }
}

static bool hand_out_labels(const cp_plane_data *data) {
    size_t  n = (size_t)data->count;
    double *heights = malloc(n * sizeof *heights); /* the lower, the sooner a point gets a label */
    int    *order = malloc(n * sizeof *order), known = 0, unknown = 0;
    bool   *chosen = calloc(n, sizeof *chosen);
    bool    ok = heights && order && chosen;
    for (int class = 0; ok && class < 2; class ++) {
        int first = class * (data->count / 2), count = class ? data->count - first : data->count / 2;
        for (int i = 0; i < count; i++) heights[i] = (double)data->x[2 * (first + i) + 1] * (class ? 1 : -1);
        ok = cp_values_order(heights, count, order);
        for (int i = 0; ok && i < count && i < data->labeled; i++) chosen[first + order[i]] = true;
    }
    for (int i = 0; ok && i < data->count; i++) {
        if (chosen[i])
            data->known[known++] = i;
        else
            data->unknown[unknown++] = i;
    }
    free(heights), free(order), free(chosen);
    return ok;
}

bool cp_plane_make(cp_plane_data *data, cp_geometry geometry, int count, int labeled, cp_rng *rng) {
    size_t n = (size_t)count;
    *data = (cp_plane_data){.count = count,
                            .labeled = labeled,
                            .x = malloc(2 * n * sizeof *data->x),
                            .label = malloc(n * sizeof(int)),
                            .known = malloc(n * sizeof(int)),
                            .unknown = malloc(n * sizeof(int))};
    bool ok = data->x && data->label && data->known && data->unknown;
    if (ok) draw(data, geometry, rng);
    if (ok && hand_out_labels(data)) return true;
    cp_plane_free(data);
    return false;
}

void cp_plane_free(cp_plane_data *data) {
    free(data->x);
    free(data->label);
    free(data->known);
    free(data->unknown);
    *data = (cp_plane_data){0};
}

/* ---- models ---- */

const char *cp_plane_method_name(cp_plane_method method) {
    static const char *const names[] = {"labeled", "hybrid", "supervised"};
    return names[method];
}

bool cp_plane_model_new(cp_plane_model *model, cp_plane_method method, cp_precision precision, cp_rng *rng) {
    *model = (cp_plane_model){.method = method, .params = cp_params_new()};
    if (!model->params) return false;
    model->layer = cp_gaussian_softmax_make(model->params, "layer",
                                            (cp_gaussian_softmax_config){.features = 2, .classes = 2, .precision = precision}, rng);
    return model->layer.precision != NULL;
}

void cp_plane_model_free(cp_plane_model *model) {
    cp_params_free(model->params);
    *model = (cp_plane_model){0};
}

/* ---- the objective ---- */

static cp_tensor *points(cp_at at, const cp_plane_data *data) { return cp_constant(at, data->x, CP_SHAPE(data->count, 2)); }

/* The sum over rows, not the mean, of the cross entropy. */
static cp_tensor *classification(cp_at at, const cp_plane_model *model, cp_tensor *x, cp_labels labels) {
    cp_tensor *logits = cp_gaussian_softmax_logits(at, &model->layer, x);
    return cp_scale(at, cp_cross_entropy(at, logits, labels), (cp_real)labels.count);
}

/* The labels of the labeled points; none when there is no memory. */
static cp_labels known_labels(cp_at at, const cp_plane_data *data) {
    int  count = 2 * data->labeled;
    int *labels = cp_tape_alloc(at, (size_t)count * sizeof *labels);
    for (int i = 0; labels && i < count; i++) labels[i] = data->label[data->known[i]];
    return (cp_labels){labels, count};
}

/* minus [ sum over labeled (ln p(c|x) + ln p(x|c)) + sum over unlabeled ln p(x) + ln prior ] */
static cp_tensor *hybrid_loss(cp_at at, const cp_plane_model *model, const cp_plane_data *data, double lambda) {
    cp_indices   known = {data->known, 2 * data->labeled}, unknown = {data->unknown, data->count - 2 * data->labeled};
    cp_labels    labels = known_labels(at, data);
    cp_gaussians g = cp_gaussian_softmax_gaussians(at, &model->layer);
    cp_tensor   *x = points(at, data), *joint = cp_gaussian_log_joint(at, x, g); /* ln p(x, c): (N, 2) */
    if (!labels.at || !joint) return NULL;
    cp_tensor *loss = cp_scale(at, cp_gaussian_softmax_penalty(at, &model->layer), (cp_real)lambda);
    if (known.count) {
        cp_tensor *given = cp_pick(at, cp_gather_rows(at, joint, known), labels); /* ln p(x|c) + ln pi, ln pi = -ln 2 */
        loss = cp_add(at, loss, classification(at, model, cp_gather_rows(at, x, known), labels));
        loss = cp_sub(at, loss, cp_affine(at, cp_sum(at, given, CP_ALL, false), 1, (cp_real)(known.count * log(2))));
    }
    if (!unknown.count) return loss;
    cp_tensor *density = cp_logsumexp(at, cp_gather_rows(at, joint, unknown), CP_AXES(1), false); /* ln p(x) */
    return cp_sub(at, loss, cp_sum(at, density, CP_ALL, false));
}

cp_tensor *cp_plane_loss(cp_at at, const cp_plane_model *model, const cp_plane_data *data, double lambda) {
    if (model->method == CP_METHOD_HYBRID) return hybrid_loss(at, model, data, lambda);
    if (model->method == CP_METHOD_SUPERVISED)
        return classification(at, model, points(at, data), (cp_labels){data->label, data->count});
    cp_labels labels = known_labels(at, data);
    if (!labels.at) return NULL;
    return classification(at, model, cp_gather_rows(at, points(at, data), (cp_indices){data->known, labels.count}), labels);
}

/* ---- training ---- */

cp_training_end cp_plane_train(cp_tape *tape, cp_plane_model *model, const cp_plane_data *data, cp_plane_training t) {
    cp_optim *sgd = cp_sgd_new(model->params, (cp_sgd_config){.rate = t.rate});
    double    last = INFINITY;
    bool      finite = sgd != NULL, stopped = false, swings = false;
    for (int step = 0; finite && !stopped && step < t.steps; step++) {
        cp_tensor *loss = cp_plane_loss(CP_AT(tape), model, data, t.lambda);
        double     now = loss ? cp_item(loss) : NAN;
        finite = isfinite(now) && cp_backward(tape, loss, model->params);
        if (finite) cp_optim_step(sgd);
        swings = swings || (step > t.steps - t.steps / 10 && now - last > 1e-4 * (1 + fabs(now)));
        last = now;
        stopped = t.stop && t.stop();
        cp_tape_reset(tape);
    }
    cp_optim_free(sgd);
    if (!finite || !cp_params_finite(model->params)) return CP_TRAINING_DIVERGED;
    return stopped ? CP_TRAINING_STOPPED : swings ? CP_TRAINING_SWINGS : CP_TRAINING_SETTLED;
}

double cp_plane_accuracy(cp_tape *tape, const cp_plane_model *model, const cp_plane_data *data) {
    bool       was = cp_tape_pause(tape, true);
    cp_tensor *logits = cp_gaussian_softmax_logits(tape, &model->layer, points(CP_AT(tape), data));
    int        right = 0;
    for (int i = 0; logits && i < data->count; i++) right += (logits->data[2 * i + 1] > logits->data[2 * i]) == data->label[i];
    cp_tape_pause(tape, was);
    cp_tape_reset(tape);
    return 100.0 * right / data->count;
}

/* ---- a trial of the study ---- */

bool cp_plane_trial_data(const cp_trial *trial, cp_plane_data *train, cp_plane_data *test) {
    const cp_options *o = trial->options;
    cp_geometry       geometry = (cp_geometry)cp_option_choice(o, "geometry");
    cp_rng            of_train = cp_trial_stream(trial, "train"), of_test = cp_trial_stream(trial, "test");
    if (!cp_plane_make(train, geometry, (int)cp_option_int(o, "points"), (int)cp_option_int(o, "labels"), &of_train)) return false;
    if (cp_plane_make(test, geometry, (int)cp_option_int(o, "test"), 0, &of_test)) return true;
    cp_plane_free(train);
    return false;
}

cp_training_end cp_plane_trial_train(const cp_trial *trial, const cp_plane_data *train, cp_tape *tape, cp_plane_model *model) {
    const cp_plane_variant *v = trial->study_case->data;
    const cp_options       *o = trial->options;
    cp_precision            precision = (cp_precision)((int)CP_SPHERICAL + cp_option_choice(o, "precision"));
    cp_rng                  init = cp_trial_stream(trial, "init");
    if (!cp_plane_model_new(model, v->method, precision, &init)) return CP_TRAINING_STOPPED;
    return cp_plane_train(
        tape, model, train,
        (cp_plane_training){v->lambda, cp_option_real(o, "rate"), (int)cp_option_int(o, "steps"), cp_interrupted});
}
