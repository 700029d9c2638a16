/* The checks of all functions that make layers, networks and heads, before they add anything to a set. */
#ifndef CP_MAKE_H
#define CP_MAKE_H

#include "layers/params.h"

static inline bool cp_make_ready(cp_at at, const char *op, const cp_params *params, const cp_rng *rng) {
    if (!params) return cp_misuse(at, op, "the parameter set is NULL; cp_params_new makes one");
    return rng || cp_misuse(at, op, "rng is NULL; a stream such as cp_rng_named(seed, \"init\") is needed");
}

#endif
