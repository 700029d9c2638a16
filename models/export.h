/* A model as an ONNX file, with the preprocessing of its inputs and the temperature of its posteriors (models/about.h) inside.
 *
 * Input "x": (N, shape...), images with the channels last. Outputs: "posterior" (N, classes); of models with energies also
 * "energy", E(x), and "density", -E(x), each (N). N may differ from call to call. With
 * lengths there is a second input "length", (N) int64: of sequences (T, D), the steps that count; what is beyond them must be finite. The metadata
 * `couplet` and `about` are those of the model's file. */
#pragma once

#include "models/model.h"

/* `input` is {0}, or says what the model does not know, such as the shape. What it leaves open is filled in: as the model knows it,
 * or as its network demands it. If the range is not known, inputs are float32 as the network takes them. */
bool cp_model_export_onnx(const cp_model *model, cp_preprocessing *input, bool lengths, const char *path, cp_status *status);
