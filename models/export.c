/* A model as an ONNX file. */
#include "models/export.h"

#include "core/export.h"
#include "models/internal.h"
#include "models/predict.h"

#include <stdlib.h>

typedef struct exported {
    const cp_model         *model;
    const cp_preprocessing *input;
} exported;

/* Numbers for the last axis. */
static cp_tensor *features(cp_at at, const double *numbers, const cp_shape *input) {
    int        count = input->dims[input->rank - 1];
    cp_tensor *t = cp_full(at, 0, CP_SHAPE(count));
    for (int i = 0; t && i < count; i++) t->data[i] = (cp_real)numbers[i];
    return t;
}

/* cp_preprocess with ops. */
static cp_tensor *preprocess(cp_at at, const cp_preprocessing *p, cp_tensor *x) {
    double middle = p->low / 2 + p->high / 2, half = p->high / 2 - p->low / 2;
    if (!cp_preprocessing_known(p)) return x;
    if (p->mean) return cp_div(at, cp_sub(at, x, features(at, p->mean, &p->shape)), features(at, p->sd, &p->shape));
    if (p->dtype != CP_U8 || p->low > 0 || p->high < 255) x = cp_clamp(at, x, (cp_real)p->low, (cp_real)p->high);
    return cp_scale(at, cp_affine(at, x, 1, (cp_real)-middle), (cp_real)(1 / half));
}

static bool outputs_of(cp_at at, void *context, cp_tensor *x, cp_tensor **out) {
    const exported *e = context;
    const cp_head  *head = e->model->head;
    cp_tensor      *scaled = preprocess(at, e->input, x);
    if (scaled) scaled->length = x->length;
    cp_tensor *z = cp_net_forward(at, e->model->net, scaled, CP_EVALUATION);
    out[0] = cp_softmax(at, cp_scale(at, cp_head_logits(at, head, z), (cp_real)(1 / cp_model_temperature(e->model))), 1);
    if (!out[0] || !head->kind->generative) return out[0];
    out[1] = cp_head_energy(at, head, z);
    out[2] = cp_neg(at, out[1]);
    return out[2];
}

static bool complete(const cp_model *model, cp_preprocessing *input, cp_status *status) {
    const cp_preprocessing *own = &model->about.input;
    const cp_net_input     *net = &model->net->input;
    cp_shape                shape = input->shape.rank ? input->shape : own->shape;
    bool                    fixed = net->shape.rank > 0;
    for (int i = 0; i < net->shape.rank; i++) fixed = fixed && net->shape.dims[i] > 0;
    if (!cp_preprocessing_known(input)) *input = cp_preprocessing_known(own) ? *own : (cp_preprocessing){.dtype = CP_F32};
    input->shape = !shape.rank && fixed ? net->shape : shape;
    if (!input->shape.rank)
        return cp_fail(status, "the shape of an input is needed; the network %s takes any %s", model->config.model,
                       cp_net_input_show(net).s);
    bool same = !input->mean || input->shape.dims[input->shape.rank - 1] == own->shape.dims[own->shape.rank - 1];
    return (same && cp_net_input_fits(net, cp_shape_rows(1, input->shape))) ||
           cp_fail(status, "an input has shape %s; the network %s takes %s", cp_dims_text(input->shape).s, model->config.model,
                   cp_net_input_show(net).s);
}

static bool put_metadata(cp_onnx *graph, const cp_model *model, cp_status *status) {
    char *description = cp_model_config_text(&model->config), *about = cp_about_text(model);
    bool  ok = (description && about) || cp_fail(status, "not enough memory for the model's description");
    if (ok) cp_onnx_metadata(graph, "couplet", description);
    if (ok) cp_onnx_metadata(graph, "about", about);
    free(description);
    free(about);
    return ok;
}

bool cp_model_export_onnx(const cp_model *model, cp_preprocessing *input, bool lengths, const char *path, cp_status *status) {
    cp_status_begin(status);
    cp_onnx  graph = {0};
    exported e = {model, input};
    if (!complete(model, input, status)) return false;
    if (lengths && input->shape.rank != 2)
        return cp_fail(status, "lengths are for sequences (T, D); an input has shape %s", cp_dims_text(input->shape).s);
    cp_export_plan plan = {.compute = outputs_of,
                           .context = &e,
                           .input = "x",
                           .lengths = lengths ? "length" : NULL,
                           .dtype = input->dtype,
                           .row = input->shape,
                           .outputs = model->head->kind->generative ? 3 : 1,
                           .names = {"posterior", "energy", "density"}};
    bool ok = cp_export_onnx(&graph, &plan, status) && put_metadata(&graph, model, status) && cp_onnx_save(&graph, path, status);
    cp_onnx_free(&graph);
    return ok;
}
