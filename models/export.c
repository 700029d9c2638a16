/* A model as an ONNX file. */
#include "models/export.h"

#include "core/export.h"

static bool outputs_of(cp_at at, void *context, cp_tensor *x, cp_tensor **out) {
    const cp_model *model = context;
    cp_tensor      *z = cp_net_forward(at, model->net, x, CP_EVALUATION);
    out[0] = cp_softmax(at, cp_head_logits(at, model->head, z), 1);
    if (!out[0] || !model->head->kind->generative) return out[0];
    out[1] = cp_head_energy(at, model->head, z);
    out[2] = cp_neg(at, out[1]);
    return out[2];
}

bool cp_model_export_onnx(const cp_model *model, cp_shape shape, const char *path, cp_status *status) {
    cp_onnx        graph = {0};
    cp_export_plan plan = {.compute = outputs_of,
                           .context = (void *)(uintptr_t)model,
                           .input = "x",
                           .dtype = CP_F32,
                           .row = shape,
                           .outputs = model->head->kind->generative ? 3 : 1,
                           .names = {"posterior", "energy", "density"}};
    bool           ok = cp_net_input_fits(&model->net->input, cp_shape_rows(1, shape)) ||
              cp_fail(status, "an input has shape %s; the network %s takes %s", cp_dims_text(shape).s, model->config.model,
                      cp_net_input_show(&model->net->input).s);
    ok = ok && cp_export_onnx(&graph, &plan, status) && cp_onnx_save(&graph, path, status);
    cp_onnx_free(&graph);
    return ok;
}
