/* Predictions for inputs as files have them. */
#include "models/predict.h"

#include "core/io/bytes.h"

#include <math.h>
#include <stdlib.h>

double cp_softmax_row(double *row, int classes, double temperature) {
    double largest = row[0], sum = 0;
    for (int c = 1; c < classes; c++) largest = fmax(largest, row[c]);
    for (int c = 0; c < classes; c++) sum += row[c] = exp((row[c] - largest) / temperature);
    for (int c = 0; c < classes; c++) row[c] /= sum;
    return log(sum);
}

double cp_model_temperature(const cp_model *model) { return model->about.temperature > 0 ? model->about.temperature : 1; }

static bool copy_out(const cp_tensor *from, double *to) {
    for (size_t i = 0; from && i < from->size; i++) to[i] = (double)from->data[i];
    return from;
}

/* One forward pass gives all. */
bool cp_model_outputs(cp_tape *tape, const cp_model *model, cp_tensor *x, cp_outputs to) {
    cp_tensor *z = cp_net_forward(tape, model->net, x, CP_EVALUATION);
    if (to.features && !copy_out(z, to.features)) return false;
    if (to.logits && !copy_out(cp_head_logits(tape, model->head, z), to.logits)) return false;
    if (!to.class_logits && !to.energy) return z;
    cp_tensor *negative = cp_neg(tape, cp_head_class_energy(tape, model->head, z));
    return (!to.class_logits || copy_out(negative, to.class_logits)) &&
           (!to.energy || copy_out(cp_neg(tape, cp_logsumexp(tape, negative, CP_AXES(1), false)), to.energy));
}

/* ---- whole arrays ---- */

static bool fits(const cp_model *model, const cp_inputs *in, const char *name, cp_status *warning, cp_status *status) {
    const cp_shape *trained = &model->about.input.shape;
    if (!cp_net_input_fits(&model->net->input, cp_shape_rows(in->count, in->shape)))
        return cp_fail(status, "%.200s: an input has shape %s; this model takes %s", name, cp_dims_text(in->shape).s,
                       cp_net_input_show(&model->net->input).s);
    if (model->about.input.mean && in->shape.dims[in->shape.rank - 1] != trained->dims[trained->rank - 1])
        return cp_fail(status, "%.200s: an input has shape %s; the model was trained on inputs of shape %s", name,
                       cp_dims_text(in->shape).s, cp_dims_text(*trained).s);
    for (int i = 0; in->lengths && i < in->count; i++)
        if (in->shape.rank != 2 || in->lengths[i] < 1 || in->lengths[i] > in->shape.dims[0])
            return cp_fail(status, "%.200s: sequence %d has length %d; 1 to %d are possible", name, i, in->lengths[i],
                           in->shape.rank == 2 ? in->shape.dims[0] : 0);
    if (trained->rank && !cp_shapes_equal(*trained, in->shape))
        cp_fail(warning, "%.200s: an input has shape %s; the model was trained on inputs of shape %s", name,
                cp_dims_text(in->shape).s, cp_dims_text(*trained).s);
    return true;
}

static bool predict_rows(cp_tape *tape, const cp_model *model, const cp_inputs *in, int first, int rows, cp_predicted *out,
                         cp_status *status) {
    size_t     classes = (size_t)model->config.classes, at = (size_t)first;
    cp_tensor *x = cp_full(tape, 0, cp_shape_rows(rows, in->shape));
    if (!x) return cp_fail(status, "not enough memory for %d inputs; a smaller batch needs less", rows);
    const char *from = (const char *)in->elements + at * (x->size / (size_t)rows) * cp_dtype_size(in->dtype);
    if (!cp_preprocess(&model->about.input, in->dtype, from, x->size, x->data, in->name ? in->name : "the inputs", status))
        return false;
    for (size_t i = 0, row = x->size / (size_t)rows; in->lengths && i < x->size; i++) /* what is there may be anything */
        if (i % row / (size_t)in->shape.dims[1] >= (size_t)in->lengths[at + i / row]) x->data[i] = 0;
    x->lengths = in->lengths ? in->lengths + first : NULL;
    cp_outputs to = {.logits = out->posterior + at * classes, .energy = out->energy ? out->energy + at : NULL};
    if (!cp_model_outputs(tape, model, x, to)) return cp_fail(status, "the network refused a batch of %d inputs", rows);
    for (int i = first; i < first + rows; i++) {
        double *p = out->posterior + (size_t)i * classes, sum = out->energy ? out->energy[i] : 0;
        cp_softmax_row(p, model->config.classes, cp_model_temperature(model));
        if (out->density) out->density[i] = -out->energy[i];
        for (size_t c = 0; c < classes; c++) sum += p[c];
        if (!isfinite(sum) && out->bad++ == 0) out->first_bad = i;
    }
    cp_tape_reset(tape);
    return true;
}

bool cp_model_predict(const cp_model *model, const cp_inputs *in, cp_predicted *out, cp_status *status) {
    cp_status_begin(status);
    const char *name = in->name ? in->name : "the inputs";
    size_t      values, all, count = (size_t)in->count, classes = (size_t)model->config.classes;
    bool        generative = model->head->kind->generative;
    *out = (cp_predicted){0};
    if (!fits(model, in, name, &out->warning, status)) return false;
    if (!cp_shape_size(cp_shape_rows(in->count, in->shape), &values) || !cp_size_mul(count, (classes + 2) * sizeof(double), &all))
        return cp_fail(status, "not enough memory for %d inputs", in->count);
    if (!cp_preprocessing_check(&model->about.input, in->dtype, in->elements, values, name, &out->warning, status)) return false;
    cp_tape *tape = cp_tape_new();
    out->posterior = malloc(all + 1);
    bool ok = (tape && out->posterior) || cp_fail(status, "not enough memory for %d inputs", in->count);
    if (ok && generative) out->density = (out->energy = out->posterior + count * classes) + count;
    if (ok) cp_tape_pause(tape, true);
    for (int first = 0, rows; ok && first < in->count; first += rows) {
        int max = in->batch > 0 ? in->batch : 64;
        rows = in->count - first < max ? in->count - first : max;
        ok = predict_rows(tape, model, in, first, rows, out, status);
    }
    cp_tape_free(tape);
    if (!ok) free(out->posterior);
    if (!ok) *out = (cp_predicted){.warning = out->warning};
    return ok;
}

void cp_predicted_free(cp_predicted *predicted) {
    free(predicted->posterior);
    *predicted = (cp_predicted){0};
}
