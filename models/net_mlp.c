/* The multilayer perceptron. */
#include "models/internal.h"

#include <limits.h>
#include <string.h>

typedef struct mlp {
    cp_net        net;
    cp_mlp_config config;
    int           layers;
    cp_linear     layer[CP_MLP_MAX_SIZES];
} mlp;

static bool mlp_make(cp_at at, cp_net *net, cp_params *params, const char *path, const void *options, cp_rng *rng) {
    mlp                 *m = (mlp *)net;
    const cp_mlp_config *c = options;
    m->config = *c;
    while (m->layers + 1 < CP_MLP_MAX_SIZES && c->sizes[m->layers + 1]) {
        int              i = m->layers++;
        cp_linear_config layer = {.in = c->sizes[i], .out = c->sizes[i + 1], .init = c->init, .activation = c->activation};
        m->layer[i] = (cp_linear_make)(at, params, cp_path_index(path, "layer", i).s, layer, rng);
        if (!m->layer[i].weight) return false;
    }
    m->net.features = c->sizes[m->layers];
    m->net.input = (cp_net_input){.shape = CP_SHAPE(c->sizes[0]), .flattened = true};
    return true;
}

static cp_tensor *mlp_forward(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    (void)mode;
    const mlp *m = (const mlp *)net;
    x = cp_reshape(at, x, CP_SHAPE(x->dims[0], m->config.sizes[0]));
    for (int i = 0; i < m->layers; i++) x = cp_activate(at, cp_linear_forward(at, &m->layer[i], x), m->config.activation);
    return x;
}

/* Puts the number of inputs in front of the sizes. */
static void mlp_adapt(void *options, cp_shape input) {
    cp_mlp_config *c = options;
    size_t         values;
    if (!cp_shape_size(input, &values) || values > INT_MAX || c->sizes[CP_MLP_MAX_SIZES - 1]) return;
    memmove(c->sizes + 1, c->sizes, sizeof c->sizes - sizeof *c->sizes);
    c->sizes[0] = (int)values;
}

static const cp_key keys[] = {
    {"sizes", CP_KEY_SIZES, .offset = offsetof(cp_mlp_config, sizes), .min = 1, .max = 1 << 20, .count = CP_MLP_MAX_SIZES},
    {"activation", CP_KEY_CHOICE, .offset = offsetof(cp_mlp_config, activation), .choices = cp_activation_names},
    {0},
};

const cp_net_kind cp_net_mlp = {
    .base = {"mlp", sizeof(mlp), sizeof(cp_mlp_config), keys}, .make = mlp_make, .forward = mlp_forward, .adapt = mlp_adapt};
