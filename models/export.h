/* A model as an ONNX file.
 *
 * Input "x": (N, shape...), as the network takes it: images with the channels last. Outputs: "posterior" (N, classes); of models with
 * energies also "energy", E(x), and "density", -E(x), each (N). N may differ from call to call; sequences have a fixed length. */
#pragma once

#include "models/model.h"

/* The shape is that of one input: (H, W, C), (D) or (T, D). */
bool cp_model_export_onnx(const cp_model *model, cp_shape shape, const char *path, cp_status *status);
