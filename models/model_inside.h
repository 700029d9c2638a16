/* What the files of models share and programs do not need. */
#ifndef CP_MODEL_INSIDE_H
#define CP_MODEL_INSIDE_H

#include "layers/params_file.h"
#include "models/model.h"

/* Makes the network and the head of m->config in m->params, and completes the configuration. false with a message in status when that
 * is not possible; without one when cp_misuse or the set's own source (cp_params_expect) has told why. */
bool cp_model_make(cp_at at, cp_model *m, cp_rng *rng, cp_status *status);

/* Whether the file's description is that of the model. */
bool cp_model_described(const cp_model *model, const cp_safetensors *file, const char *path, cp_status *status);

#endif
