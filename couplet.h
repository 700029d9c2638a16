/* Couplet: deep learning in C. This header is what programs need; each part's own header is its manual. Two doors stand beside it:
 * core/op.h for those who write ops and layers of their own, core/io/bytes.h for those who write file formats. */
#ifndef COUPLET_H
#define COUPLET_H

#ifdef __cplusplus
#error "couplet.h is C11 (compound literals, _Generic) and not C++; put the calls into a C file with plain functions around them."
#endif

#include "core/error.h"
#include "core/io/dtype.h"
#include "core/io/md5.h"
#include "core/io/nifti.h"
#include "core/io/npy.h"
#include "core/io/npz.h"
#include "core/io/safetensors.h"
#include "core/random.h"
#include "core/real.h"
#include "core/shape.h"
#include "core/tape.h"
#include "core/tensor.h"
#include "core/threads.h"
#include "layers/gaussian_softmax.h"
#include "layers/layers.h"
#include "layers/params.h"
#include "layers/params_file.h"
#include "models/checkpoint.h"
#include "models/head.h"
#include "models/model.h"
#include "models/net.h"
#include "ops/gaussian.h"
#include "ops/gradcheck.h"
#include "ops/ops.h"
#include "ops/products.h"
#include "optim/ema.h"
#include "optim/grads.h"
#include "optim/optim.h"
#include "optim/replay.h"
#include "optim/schedule.h"
#include "optim/sgld.h"
#include "optim/start.h"
#include "optim/state.h"

#endif
