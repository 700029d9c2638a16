/* The softmax head and the JEM head: one linear layer. */
#include "models/head.h"

typedef struct linear_head {
    cp_head   head;
    cp_linear layer;
} linear_head;

static bool linear_make(cp_at at, cp_head *head, cp_params *params, const char *path, const void *options, cp_rng *rng) {
    (void)options;
    cp_linear_config config = {.in = head->features, .out = head->classes};
    ((linear_head *)head)->layer = (cp_linear_make)(at, params, path, config, rng);
    return ((linear_head *)head)->layer.weight;
}

static cp_tensor *linear_logits(cp_at at, const cp_head *head, cp_tensor *z) {
    return cp_linear_forward(at, &((const linear_head *)head)->layer, z);
}

static bool linear_scale(cp_at at, cp_head *head, double factor) {
    if (!(factor > 0)) return cp_misuse(at, "head_scale", "the factor is %g; it must be above 0", factor);
    cp_tensor_multiply(((linear_head *)head)->layer.weight, (cp_real)factor);
    cp_tensor_multiply(((linear_head *)head)->layer.bias, (cp_real)factor);
    return true;
}

const cp_head_kind cp_head_softmax = {
    .base = {.name = "softmax", .size = sizeof(linear_head)}, .make = linear_make, .logits = linear_logits, .scale = linear_scale};
const cp_head_kind cp_head_jem = {.base = {.name = "jem", .size = sizeof(linear_head)},
                                  .generative = true,
                                  .make = linear_make,
                                  .logits = linear_logits,
                                  .scale = linear_scale};
