/* The feature networks. */
#include "models/net.h"

#include "core/op.h"
#include "layers/make.h"

#include <limits.h>
#include <stdlib.h>

cp_tensor *(cp_net_forward)(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    if (!net) {
        cp_misuse(at, "net_forward", "the network is NULL");
        return NULL;
    }
    if (!cp_check(at, "net_forward", 1, &x)) return NULL;
    return net->kind->forward(at, net, x, mode);
}

void cp_net_free(cp_net *net) {
    if (net) net->kind->free(net);
}

static void plain_free(cp_net *net) {
    free(net);
}

static void *net_alloc(cp_at at, const char *op, size_t bytes) {
    void *net = calloc(1, bytes);
    if (!net) cp_misuse(at, op, "out of memory");
    return net;
}

static cp_net *net_if(bool made, cp_net *net) {
    if (made) return net;
    free(net);
    return NULL;
}

/* ---- wide ResNet ---- */

typedef struct wrn {
    cp_net        net;
    cp_wrn_config config;
    cp_conv       stem;
    cp_norm       norm;
    int           blocks; /* in all */
    cp_block      block[];
} wrn;

static cp_tensor *wrn_forward(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    const wrn *w = (const wrn *)net;
    if (x->rank != 4 || x->dims[3] != w->config.channels || x->dims[1] < 8 || x->dims[2] < 8) {
        cp_misuse(at, "wrn", "x has shape %s; (N, H, W, %d) with H, W >= 8 is needed", cp_shape_text(x).s, w->config.channels);
        return NULL;
    }
    x = cp_conv_forward(at, &w->stem, x);
    for (int i = 0; i < w->blocks; i++) {
        cp_tensor *before = x;
        x = cp_block_forward(at, &w->block[i], before, mode);
        cp_release(at, before);
    }
    return cp_global_avg_pool(at, cp_activate(at, cp_norm_forward(at, &w->norm, x, mode), w->config.activation));
}

static const cp_net_kind wrn_kind = {"wrn", wrn_forward, plain_free};

static bool wrn_possible(cp_at at, const cp_wrn_config *c) {
    if (c->depth < 10 || (c->depth - 4) % 6)
        return cp_misuse(at, "wrn_new", "depth is %d; a wide ResNet has depth 10, 16, 22, ...: depth is 6n + 4", c->depth);
    return (c->width >= 1 && c->width <= INT_MAX / 64 / 9 && c->channels >= 1) ||
           cp_misuse(at, "wrn_new", "width is %d and channels is %d; both must be positive, and width at most %d", c->width,
                     c->channels, INT_MAX / 64 / 9);
}

static bool wrn_fill(cp_at at, wrn *w, cp_params *params, const char *path, cp_rng *rng) {
    const cp_wrn_config *c = &w->config;
    int                  per_stage = (c->depth - 4) / 6, in = 16;
    cp_conv_config       stem = {.in = c->channels, .out = in, .padding = 1, .init = c->init, .activation = c->activation};
    w->stem = (cp_conv_make)(at, params, cp_path_join(path, "stem").s, stem, rng);
    if (!w->stem.weight) return false;
    for (int stage = 0; stage < 3; stage++)
        for (int b = 0; b < per_stage; b++) {
            cp_path         place = cp_path_index(cp_path_index(path, "stage", stage).s, "block", b);
            cp_block_config block = {.in = in,
                                     .out = (16 << stage) * c->width,
                                     .stride = stage && !b ? 2 : 1,
                                     .norm = c->norm,
                                     .activation = c->activation,
                                     .layout = c->layout,
                                     .init = c->init};
            w->block[w->blocks] = (cp_block_make)(at, params, place.s, block, rng);
            if (!w->block[w->blocks++].conv1.weight) return false;
            in = block.out;
        }
    w->norm = (cp_norm_make)(at, params, cp_path_join(path, "norm").s, (cp_norm_config){.kind = c->norm, .channels = in});
    w->net = (cp_net){&wrn_kind, in};
    return c->norm == CP_NORM_NONE || w->norm.weight;
}

cp_net *(cp_wrn_new)(cp_at at, cp_params *params, const char *path, cp_wrn_config c, cp_rng *rng) {
    if (!c.depth) c.depth = 10;
    if (!c.width) c.width = 1;
    if (!c.channels) c.channels = 1;
    if (!cp_make_ready(at, "wrn_new", params, rng) || !wrn_possible(at, &c)) return NULL;
    wrn *w = net_alloc(at, "wrn_new", sizeof *w + (size_t)(c.depth - 4) / 2 * sizeof *w->block);
    if (!w) return NULL;
    w->config = c;
    return net_if(wrn_fill(at, w, params, path, rng), &w->net);
}

/* ---- multilayer perceptron ---- */

typedef struct mlp {
    cp_net        net;
    cp_mlp_config config;
    int           layers;
    cp_linear     layer[CP_MLP_MOST_SIZES];
} mlp;

static cp_tensor *mlp_forward(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    (void)mode;
    const mlp *m = (const mlp *)net;
    int        in = m->config.sizes[0];
    if (x->rank < 2 || x->size != (size_t)x->dims[0] * (size_t)in) {
        cp_misuse(at, "mlp", "x has shape %s; %d values a row are needed", cp_shape_text(x).s, in);
        return NULL;
    }
    x = cp_reshape(at, x, CP_SHAPE(x->dims[0], in));
    for (int i = 0; i < m->layers && x; i++) {
        x = cp_linear_forward(at, &m->layer[i], x);
        x = x ? cp_activate(at, x, m->config.activation) : NULL;
    }
    return x;
}

static const cp_net_kind mlp_kind = {"mlp", mlp_forward, plain_free};

/* Sizes are positive up to the first 0, and nothing comes after that. */
static bool mlp_possible(cp_at at, const int *sizes) {
    if (sizes[0] == 0) return cp_misuse(at, "mlp_new", "sizes[0], the number of inputs, is 0; it must be positive");
    for (int i = 0; i < CP_MLP_MOST_SIZES; i++)
        if (sizes[i] < 0 || (i && sizes[i] && !sizes[i - 1]))
            return cp_misuse(at, "mlp_new", "sizes[%d] is %d%s; sizes are positive and end at the first 0", i, sizes[i],
                             sizes[i] < 0 ? "" : " after a 0");
    return true;
}

cp_net *(cp_mlp_new)(cp_at at, cp_params *params, const char *path, cp_mlp_config c, cp_rng *rng) {
    if (!cp_make_ready(at, "mlp_new", params, rng) || !mlp_possible(at, c.sizes)) return NULL;
    mlp *m = net_alloc(at, "mlp_new", sizeof *m);
    if (!m) return NULL;
    m->config = c;
    bool made = true;
    while (made && m->layers + 1 < CP_MLP_MOST_SIZES && c.sizes[m->layers + 1]) {
        int              i = m->layers++;
        cp_linear_config layer = {.in = c.sizes[i], .out = c.sizes[i + 1], .init = c.init, .activation = c.activation};
        m->layer[i] = (cp_linear_make)(at, params, cp_path_index(path, "layer", i).s, layer, rng);
        made = m->layer[i].weight;
    }
    m->net = (cp_net){&mlp_kind, c.sizes[m->layers]};
    return net_if(made, &m->net);
}

/* ---- LSTM ---- */

typedef struct lstm_net {
    cp_net  net;
    cp_lstm lstm;
} lstm_net;

static cp_tensor *lstm_forward(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    (void)mode;
    cp_tensor *last = NULL;
    return cp_lstm_forward(at, &((const lstm_net *)net)->lstm, x, &last) ? last : NULL;
}

static const cp_net_kind lstm_kind = {"lstm", lstm_forward, plain_free};

cp_net *(cp_lstm_net_new)(cp_at at, cp_params *params, const char *path, cp_lstm_config c, cp_rng *rng) {
    lstm_net *l = net_alloc(at, "lstm_net_new", sizeof *l);
    if (!l) return NULL;
    l->lstm = (cp_lstm_make)(at, params, path, c, rng); /* checks the sizes */
    l->net = (cp_net){.kind = &lstm_kind};
    if (l->lstm.config.hidden) l->net.features = c.hidden * (c.bidirectional ? 2 : 1);
    return net_if(l->net.features, &l->net);
}
