/* The LSTM as a network: the features are the last layer's final hidden state. */
#include "models/net.h"

typedef struct lstm_net {
    cp_net  net;
    cp_lstm lstm;
} lstm_net;

static bool lstm_make(cp_at at, cp_net *net, cp_params *params, const char *path, const void *options, cp_rng *rng) {
    lstm_net             *l = (lstm_net *)net;
    const cp_lstm_config *c = options;
    l->lstm = (cp_lstm_make)(at, params, path, *c, rng);
    l->net.features = c->hidden * (c->bidirectional ? 2 : 1);
    l->net.input = (cp_net_input){.shape = CP_SHAPE(0, c->in), .min = 1, .rows = true};
    return l->lstm.cell[0][0].weight_ih;
}

static cp_tensor *lstm_forward(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    (void)mode;
    cp_tensor *last = NULL;
    if (x->rank == 4) x = cp_reshape(at, x, CP_SHAPE(x->dims[0], x->dims[1], x->dims[2] * x->dims[3]));
    return cp_lstm_forward(at, &((const lstm_net *)net)->lstm, x, &last) ? last : NULL;
}

static void lstm_adapt(void *options, cp_shape input) {
    cp_lstm_config *c = options;
    if (!c->in && input.rank > 1) c->in = input.rank == 3 ? input.dims[1] * input.dims[2] : input.dims[1];
}

static const cp_key keys[] = {
    {"in", CP_KEY_INT, .offset = offsetof(cp_lstm_config, in), .min = 1, .max = 1 << 20},
    {"hidden", CP_KEY_INT, .offset = offsetof(cp_lstm_config, hidden), .min = 1, .max = 1 << 16},
    {"layers", CP_KEY_INT, .offset = offsetof(cp_lstm_config, layers), .min = 1, .max = CP_LSTM_MAX_LAYERS, .fallback = 1},
    {"bidirectional", CP_KEY_BOOL, .offset = offsetof(cp_lstm_config, bidirectional)},
    {0},
};

const cp_net_kind cp_net_lstm = {.base = {"lstm", sizeof(lstm_net), sizeof(cp_lstm_config), keys},
                                 .make = lstm_make,
                                 .forward = lstm_forward,
                                 .adapt = lstm_adapt};
