/* A model as an ONNX file, with the preprocessing of its inputs and the temperature of its posteriors inside.
 *
 * Input "x": (N, shape...), images with the channels last. Outputs: "posterior" (N, classes); of models with energies also
 * "energy", E(x), and "density", -E(x), each (N). N may differ from call to call; sequences have a fixed length. The metadata
 * `couplet` is the model's description, as in the model's file. */
#pragma once

#include "core/io/dtype.h"
#include "models/model.h"

typedef struct cp_model_export {
    cp_shape shape;     /* of one input; rank 0: the network's own, if its sizes are fixed */
    cp_dtype dtype;     /* of the inputs */
    double   low, high; /* these inputs become -1 and 1, and those beyond are clamped; equal: float32, as the network takes them */
    double   temperature; /* posterior = softmax(logits / temperature); 0: 1 */
} cp_model_export;

/* Fills in what `how` leaves open. */
bool cp_model_export_onnx(const cp_model *model, cp_model_export *how, const char *path, cp_status *status);
