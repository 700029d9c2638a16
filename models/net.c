/* The feature networks. */
#include "models/net.h"

#include <stdlib.h>

cp_tensor *(cp_net_forward)(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    if (!net || !x) {
        cp_misuse(at, "net_forward", net ? "x is NULL (did an earlier call fail?)" : "the network is NULL");
        return NULL;
    }
    return net->kind->forward(at, net, x, mode);
}

void cp_net_free(cp_net *net) {
    if (net) net->kind->free(net);
}

static void plain_free(cp_net *net) {
    free(net);
}

static void *net_alloc(const char *op, size_t bytes) {
    void *net = calloc(1, bytes);
    if (!net) cp_misuse((cp_at){0}, op, "out of memory");
    return net;
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
    for (int i = 0; i < w->blocks && x; i++) x = cp_block_forward(at, &w->block[i], x, mode);
    x = x ? cp_activate(at, cp_norm_forward(at, &w->norm, x, mode), w->config.activation) : NULL;
    return x ? cp_global_avg_pool(at, x) : NULL;
}

static const cp_net_kind wrn_kind = {"wrn", wrn_forward, plain_free};

cp_net *cp_wrn_new(cp_params *params, const char *path, cp_wrn_config c, cp_rng *rng) {
    if (!c.depth) c.depth = 10;
    if (!c.width) c.width = 1;
    if (!c.channels) c.channels = 1;
    if (c.depth < 10 || (c.depth - 4) % 6 || c.width < 1 || c.channels < 1) {
        cp_misuse((cp_at){0}, "wrn_new", "depth %d, width %d, %d channels: depth is 6n + 4 from 10 on, the others positive", c.depth,
                  c.width, c.channels);
        return NULL;
    }
    int  per_stage = (c.depth - 4) / 6, in = 16;
    wrn *w = net_alloc("wrn_new", sizeof *w + 3 * (size_t)per_stage * sizeof *w->block);
    if (!w) return NULL;
    w->config = c;
    w->stem = cp_conv_make(params, cp_path_join(path, "stem").s,
                           (cp_conv_config){.in = c.channels, .out = in, .padding = 1, .init = c.init}, rng);
    for (int stage = 0; stage < 3; stage++)
        for (int b = 0; b < per_stage; b++) {
            int     out = (16 << stage) * c.width;
            cp_path place = cp_path_index(cp_path_index(path, "stage", stage).s, "block", b);
            w->block[w->blocks++] = cp_block_make(params, place.s,
                                                  (cp_block_config){.in = in, .out = out, .stride = stage && !b ? 2 : 1, .norm = c.norm,
                                                                    .activation = c.activation, .layout = c.layout, .init = c.init},
                                                  rng);
            in = out;
        }
    w->norm = cp_norm_make(params, cp_path_join(path, "norm").s, (cp_norm_config){.kind = c.norm, .channels = in});
    w->net = (cp_net){&wrn_kind, in};
    return &w->net;
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
    x = cp_reshape(at, x, 2, (int[]){x->dims[0], in});
    for (int i = 0; i < m->layers && x; i++) x = cp_activate(at, cp_linear_forward(at, &m->layer[i], x), m->config.activation);
    return x;
}

static const cp_net_kind mlp_kind = {"mlp", mlp_forward, plain_free};

cp_net *cp_mlp_new(cp_params *params, const char *path, cp_mlp_config c, cp_rng *rng) {
    if (c.sizes[0] < 1) {
        cp_misuse((cp_at){0}, "mlp_new", "sizes[0], the number of inputs, is %d", c.sizes[0]);
        return NULL;
    }
    mlp *m = net_alloc("mlp_new", sizeof *m);
    if (!m) return NULL;
    m->config = c;
    while (m->layers + 1 < CP_MLP_MOST_SIZES && c.sizes[m->layers + 1] > 0) {
        int i = m->layers++;
        m->layer[i] = cp_linear_make(params, cp_path_index(path, "layer", i).s,
                                     (cp_linear_config){.in = c.sizes[i], .out = c.sizes[i + 1], .init = c.init}, rng);
    }
    m->net = (cp_net){&mlp_kind, c.sizes[m->layers]};
    return &m->net;
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

cp_net *cp_lstm_net_new(cp_params *params, const char *path, cp_lstm_config c, cp_rng *rng) {
    if (c.in < 1 || c.hidden < 1) {
        cp_misuse((cp_at){0}, "lstm_net_new", "in %d and hidden %d must be positive", c.in, c.hidden);
        return NULL;
    }
    lstm_net *l = net_alloc("lstm_net_new", sizeof *l);
    if (!l) return NULL;
    l->lstm = cp_lstm_make(params, path, c, rng);
    l->net = (cp_net){&lstm_kind, c.hidden * (c.bidirectional ? 2 : 1)};
    return &l->net;
}
