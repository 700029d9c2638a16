/* Couplet: deep learning in C. This header is the whole library; each part's own header is its manual. */
#ifndef COUPLET_H
#define COUPLET_H

#include "core/arena.h"
#include "core/error.h"
#include "core/op.h"
#include "core/pool.h"
#include "core/random.h"
#include "core/real.h"
#include "core/shape.h"
#include "core/tape.h"
#include "core/tensor.h"
#include "ops/ops.h"

#endif
