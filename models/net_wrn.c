/* The wide ResNet. */
#include "core/op.h"
#include "models/internal.h"

#include <stdlib.h>

typedef struct wrn {
    cp_net        net;
    cp_wrn_config config;
    cp_conv       stem;
    cp_norm       norm;
    int           blocks; /* of all stages */
    cp_block     *block;
} wrn;

static bool wrn_make(cp_at at, cp_net *net, cp_params *params, const char *path, const void *options, cp_rng *rng) {
    wrn                 *w = (wrn *)net;
    const cp_wrn_config *c = options;
    int                  per_stage = (c->depth - 4) / 6, in = 16;
    cp_conv_config       stem = {.in = c->channels, .out = in, .padding = 1, .init = c->init, .activation = c->activation};
    w->config = *c;
    w->block = calloc(3 * (size_t)per_stage, sizeof *w->block);
    if (!w->block) return cp_misuse(at, "wrn_new", "out of memory");
    w->stem = (cp_conv_make)(at, params, cp_path_join(path, "stem").s, stem, rng);
    if (!w->stem.weight) return false;
    for (int stage = 0; stage < 3; stage++)
        for (int b = 0; b < per_stage; b++) {
            cp_path         name = cp_path_index(cp_path_index(path, "stage", stage).s, "block", b);
            cp_block_config block = {.in = in,
                                     .out = (16 << stage) * c->width,
                                     .stride = stage && !b ? 2 : 1,
                                     .norm = c->norm,
                                     .activation = c->activation,
                                     .layout = c->layout,
                                     .init = c->init};
            w->block[w->blocks] = (cp_block_make)(at, params, name.s, block, rng);
            if (!w->block[w->blocks++].conv1.weight) return false;
            in = block.out;
        }
    cp_norm_config norm = {.kind = c->norm, .channels = in};
    if (norm.kind != CP_NORM_NONE) w->norm = (cp_norm_make)(at, params, cp_path_join(path, "norm").s, norm);
    w->net.features = in;
    w->net.input = (cp_net_input){.shape = CP_SHAPE(0, 0, c->channels), .min = 8};
    return c->norm == CP_NORM_NONE || w->norm.weight;
}

static cp_tensor *wrn_forward(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    const wrn *w = (const wrn *)net;
    x = cp_conv_forward(at, &w->stem, x);
    for (int i = 0; i < w->blocks; i++) {
        cp_tensor *before = x;
        x = cp_block_forward(at, &w->block[i], before, mode);
        cp_release(at, before);
    }
    cp_tensor *active = cp_norm_activate(at, &w->norm, x, w->config.activation, mode);
    x = cp_global_avg_pool(at, active);
    cp_release(at, active);
    return x;
}

static void wrn_free(cp_net *net) { free(((wrn *)net)->block); }

static const cp_choice norms[] = {
    {"none", CP_NORM_NONE}, {"batch", CP_NORM_BATCH}, {"group", CP_NORM_GROUP}, {"layer", CP_NORM_LAYER}, {0}};
static const cp_choice layouts[] = {{"jem", CP_BLOCK_JEM}, {"classic", CP_BLOCK_CLASSIC}, {0}};

static void wrn_adapt(void *options, cp_shape input) {
    cp_wrn_config *c = options;
    if (!c->channels && input.rank == 3) c->channels = input.dims[2];
}

static const cp_key keys[] = {
    {"depth", CP_KEY_INT, .offset = offsetof(cp_wrn_config, depth), .min = 10, .max = 1000, .step = 6, .fallback = 10},
    {"width", CP_KEY_INT, .offset = offsetof(cp_wrn_config, width), .min = 1, .max = 1000, .fallback = 1},
    {"channels", CP_KEY_INT, .offset = offsetof(cp_wrn_config, channels), .min = 1, .max = 4096, .fallback = 1},
    {"norm", CP_KEY_CHOICE, .offset = offsetof(cp_wrn_config, norm), .choices = norms},
    {"layout", CP_KEY_CHOICE, .offset = offsetof(cp_wrn_config, layout), .choices = layouts},
    {"activation", CP_KEY_CHOICE, .offset = offsetof(cp_wrn_config, activation), .choices = cp_activation_names},
    {0},
};

const cp_net_kind cp_net_wrn = {.base = {"wrn", sizeof(wrn), sizeof(cp_wrn_config), keys},
                                .make = wrn_make,
                                .forward = wrn_forward,
                                .adapt = wrn_adapt,
                                .free = wrn_free};
