/* A model as an ONNX file. */
#include "models/export.h"

#include "core/export.h"
#include "core/shape.h"

#include <stdlib.h>

typedef struct exported {
    const cp_model        *model;
    const cp_model_export *how;
} exported;

static cp_tensor *preprocess(cp_at at, const cp_model_export *how, cp_tensor *x) {
    double low = how->low, high = how->high;
    if (!(high > low)) return x;
    if (how->dtype != CP_U8) x = cp_clamp(at, x, (cp_real)low, (cp_real)high);
    return cp_scale(at, cp_affine(at, x, 1, (cp_real) - (low / 2 + high / 2)), (cp_real)(1 / (high / 2 - low / 2)));
}

static bool outputs_of(cp_at at, void *context, cp_tensor *x, cp_tensor **out) {
    const exported *e = context;
    const cp_head  *head = e->model->head;
    cp_tensor      *z = cp_net_forward(at, e->model->net, preprocess(at, e->how, x), CP_EVALUATION);
    out[0] = cp_softmax(at, cp_scale(at, cp_head_logits(at, head, z), (cp_real)(1 / e->how->temperature)), 1);
    if (!out[0] || !head->kind->generative) return out[0];
    out[1] = cp_head_energy(at, head, z);
    out[2] = cp_neg(at, out[1]);
    return out[2];
}

static bool complete(const cp_model *model, cp_model_export *how, cp_status *status) {
    const cp_net_input *net = &model->net->input;
    bool                fixed = net->shape.rank > 0;
    for (int i = 0; i < net->shape.rank; i++) fixed = fixed && net->shape.dims[i] > 0;
    if (!how->shape.rank && fixed) how->shape = net->shape;
    if (!(how->high > how->low)) how->dtype = CP_F32;
    if (!how->temperature) how->temperature = 1;
    if (!how->shape.rank)
        return cp_fail(status, "the shape of an input is needed; the network %s takes any %s", model->config.model,
                       cp_net_input_show(net).s);
    return cp_net_input_fits(net, cp_shape_rows(1, how->shape)) ||
           cp_fail(status, "an input has shape %s; the network %s takes %s", cp_dims_text(how->shape).s, model->config.model,
                   cp_net_input_show(net).s);
}

bool cp_model_export_onnx(const cp_model *model, cp_model_export *how, const char *path, cp_status *status) {
    cp_onnx  graph = {0};
    exported e = {model, how};
    if (!complete(model, how, status)) return false;
    cp_export_plan plan = {.compute = outputs_of,
                           .context = &e,
                           .input = "x",
                           .dtype = how->dtype,
                           .row = how->shape,
                           .outputs = model->head->kind->generative ? 3 : 1,
                           .names = {"posterior", "energy", "density"}};
    char          *description = cp_model_config_text(&model->config);
    bool           ok =
        (description || cp_fail(status, "not enough memory for the model's description")) && cp_export_onnx(&graph, &plan, status);
    if (ok) cp_onnx_metadata(&graph, "couplet", description);
    ok = ok && cp_onnx_save(&graph, path, status);
    cp_onnx_free(&graph);
    free(description);
    return ok;
}
